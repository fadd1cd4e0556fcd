//! The kinds of devices, and an end of the bottleneck that is one of them.

use std::io;
use std::os::fd::BorrowedFd;

use crate::books::LostOutside;
use crate::device::{Device, Received};
use crate::packet_socket::PacketSocket;
use crate::slots::Slots;
use crate::tap::Tap;
use crate::xdp_socket::XdpSocket;

/// How frames come from an interface and get there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeviceKind {
    /// A packet socket (packet(7)).
    #[default]
    Packet,
    /// An `AF_XDP` socket in copy mode.
    Xdp,
}

impl DeviceKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Packet, Self::Xdp];

    /// The kind's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packet => "packet",
            Self::Xdp => "xdp",
        }
    }
}

/// An open interface.
pub struct Interface(Box<dyn Device + Send>);

impl std::fmt::Debug for Interface {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("Interface")
            .field(&self.0.name())
            .finish()
    }
}

/// A name that begins like this stands for a TAP interface.
const TAP: &str = "tap:";

impl Interface {
    /// Opens the other end of the TAP interface that `text` names, as in `tap:home`. None if `text`
    /// names an ordinary interface. Open such an end before anything looks at the interface,
    /// because it may not exist earlier. The flag says that this call made the interface.
    ///
    /// # Errors
    /// You have no right to make it, or the interface with this name cannot be a TAP interface.
    pub fn tap(text: &str) -> io::Result<Option<(Self, bool)>> {
        let Some(name) = text.strip_prefix(TAP) else {
            return Ok(None);
        };
        let tap = Tap::open(name)?;
        let is_ours = tap.is_ours();
        Ok(Some((Self(Box::new(tap)), is_ours)))
    }

    /// Opens an interface in this namespace.
    ///
    /// # Errors
    /// The interface or the kind of device does not exist here, or you have no right to open it.
    pub fn open(kind: DeviceKind, name: &str) -> io::Result<Self> {
        Ok(Self(match kind {
            DeviceKind::Packet => Box::new(PacketSocket::open(name)?),
            DeviceKind::Xdp => Box::new(XdpSocket::open(name)?),
        }))
    }
}

impl Device for Interface {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn receive(&mut self, slots: &mut Slots, received: &mut Vec<Received>) -> io::Result<()> {
        self.0.receive(slots, received)
    }

    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        self.0.send(frames)
    }

    fn flush(&mut self) -> bool {
        self.0.flush()
    }

    fn close(&mut self) {
        self.0.close();
    }

    fn is_gone(&self) -> bool {
        self.0.is_gone()
    }

    fn is_blind(&self) -> bool {
        self.0.is_blind()
    }

    fn unfinished(&self) -> u64 {
        self.0.unfinished()
    }

    fn lost_outside(&mut self) -> LostOutside {
        self.0.lost_outside()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.0.descriptor()
    }
}
