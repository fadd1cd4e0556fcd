//! A device over a socket of `AF_XDP` in copy mode: less work for each frame than a packet socket,
//! and more conditions.

use std::ffi::c_int;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use crate::books::Outside;
use crate::checksum;
use crate::device::{Device, Received};
use crate::frame_lengths::{FrameLengths, HEADER, TAG};
use crate::slots::Slots;
use crate::sys::{self, BATCH, XdpDescriptor, XdpLost};

/// Longest wait for a queue that another socket had.
const PATIENCE: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_millis(20);

/// An interface of Linux, all of whose frames come here and nowhere else.
pub struct XdpSocket {
    name: String,
    index: c_int,
    descriptor: XdpDescriptor,
    /// Frames that were longer than their slots, and those that the interface has thrown away.
    outside: Outside,
    unfinished: u64,
    lengths: FrameLengths,
}

impl std::fmt::Debug for XdpSocket {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("XdpSocket");
        shown.field("name", &self.name).finish_non_exhaustive()
    }
}

impl XdpSocket {
    /// Opens an interface of this namespace: all frames that come in there are received from now on,
    /// and no longer by the system.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refuses a step: the message says which, and what
    /// to do.
    pub fn open(name: &str) -> io::Result<Self> {
        let index = sys::interface_index(name)?;
        let lengths = FrameLengths::of(name)?;
        let mtu = lengths.mtu();
        let longest = mtu + HEADER + 2 * TAG;
        if longest > sys::XDP_LONGEST {
            let most = sys::XDP_LONGEST - HEADER - 2 * TAG;
            return Err(io::Error::other(format!(
                "MTU {mtu} is too long for AF_XDP; expected {most} at most: ip link set dev {name} mtu {most}, or --device packet"
            )));
        }
        let queues = sys::receive_queues(name);
        if queues > 1 {
            return Err(io::Error::other(format!(
                "{queues} receive queues, and AF_XDP reads one; make it one (ethtool -L {name} combined 1), or use --device packet"
            )));
        }
        let descriptor = open_when_free(index, longest).map_err(|(step, error)| {
            let hint = hint(step, &error);
            io::Error::new(
                error.kind(),
                format!("AF_XDP, {step}: {error}; {hint}, or use --device packet"),
            )
        })?;
        Ok(Self {
            name: name.to_owned(),
            index,
            descriptor,
            outside: Outside::default(),
            unfinished: 0,
            lengths,
        })
    }

    fn kick(&mut self) -> io::Result<bool> {
        let kicked = self.descriptor.kick()?;
        self.outside.unsent += kicked.dropped;
        Ok(kicked.is_done)
    }
}

/// Opens an interface. The kernel frees the queue of a socket a moment after its end, so one that is
/// taken is tried again for a while.
fn open_when_free(index: c_int, longest: usize) -> Result<XdpDescriptor, sys::XdpRefused> {
    let end = Instant::now() + PATIENCE;
    loop {
        let outcome = XdpDescriptor::open(index, longest);
        let is_taken = |(_, error): &sys::XdpRefused| error.raw_os_error() == Some(libc::EBUSY);
        if !outcome.as_ref().is_err_and(is_taken) || Instant::now() > end {
            return outcome;
        }
        std::thread::sleep(AGAIN);
    }
}

/// What to do about a refusal of a step.
fn hint(step: &str, error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "run as root, outside of containers and user namespaces, which may not load programs"
        }
        Some(libc::EBUSY) if step == "bind" => {
            "another program has a socket of AF_XDP on the interface: end it"
        }
        Some(libc::EBUSY) => {
            "another XDP program is on the interface: take it off (ip link set dev DEV xdp off)"
        }
        Some(libc::EAFNOSUPPORT | libc::ENOSYS) => {
            "this kernel was built without AF_XDP (CONFIG_XDP_SOCKETS)"
        }
        Some(libc::ENOBUFS | libc::ENOMEM) => "free some memory (24 MB an interface)",
        _ => "Linux 5.9 or newer is needed",
    }
}

impl Device for XdpSocket {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, slots: &mut Slots, received: &mut Vec<Received>) -> io::Result<()> {
        let count = (self.descriptor.readable() as usize).min(BATCH);
        if count == 0 {
            return self.descriptor.state();
        }
        let offset = sys::unix_minus_monotonic();
        for _ in 0..count {
            let Some(slot) = slots.take() else { break };
            let Some((len, stamp)) = self.descriptor.take(slots.room(slot)) else {
                slots.release(slot);
                break;
            };
            if len > slots.size() {
                self.outside.too_long += 1;
                slots.release(slot);
                continue;
            }
            slots.set_len(slot, len);
            self.unfinished += u64::from(checksum::is_unfinished(slots.frame(slot)));
            received.push(Received {
                slot,
                unix_nanos: stamp.map(|nanos| offset.saturating_add_unsigned(nanos)),
            });
        }
        Ok(())
    }

    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        self.descriptor.state()?;
        let fit = self.lengths.fitting(frames)?;
        let mut taken = 0;
        // All that lies in the ring goes out before more is put there.
        while self.kick()? {
            let put = self.descriptor.put(&frames[taken..fit]);
            if put == 0 {
                break;
            }
            taken += put;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> bool {
        // An interface that is down keeps what lies in the ring.
        !self.kick().unwrap_or(true)
    }

    fn is_gone(&self) -> bool {
        !sys::has_interface(self.index)
    }

    fn unfinished(&self) -> u64 {
        self.unfinished
    }

    fn outside(&mut self) -> Outside {
        let XdpLost { full, too_long } = self.descriptor.lost().unwrap_or_default();
        Outside {
            ring: full,
            too_long: self.outside.too_long + too_long,
            unsent: self.outside.unsent,
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.descriptor.as_fd())
    }
}
