//! Loops: between two interfaces of one network, a bottleneck would send each frame around for
//! ever.

use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::device::Device as _;
use crate::interface::Interface;
use crate::slots::Slots;
use crate::sys::{self, BATCH, PacketDescriptor};

/// The first EtherType for local experiments (IEEE 802, section 9.2.3).
const EXPERIMENT: u16 = 0x88b5;
/// How long to wait for a probe. A switch takes far less to pass a frame from port to port.
const PATIENCE: Duration = Duration::from_millis(200);
/// The shortest Ethernet frame, without its checksum.
const LEN: usize = 60;
const TEXT: &[u8] = b"roundelay looks for a loop";
/// Bytes in front of the text: two addresses, the type, a number.
const TEXT_AT: usize = 14 + 8;

/// How often to send the probe again, because a port of a switch may just be coming up.
const AGAIN: Duration = Duration::from_millis(50);
/// The longest wait until the system knows that a TAP interface has another end.
const COMES_UP: Duration = Duration::from_secs(2);

/// An end at which we look for a loop.
enum End<'a> {
    Socket(PacketDescriptor),
    /// What the bottleneck sends through this end comes in at the interface instead of going out.
    Tap(&'a mut Interface, Slots),
}

impl<'a> End<'a> {
    fn open(name: &str, tap: Option<&'a mut Interface>) -> io::Result<Self> {
        let Some(tap) = tap else {
            let index = sys::interface_index(name)?;
            let socket = PacketDescriptor::open(index, EXPERIMENT, LEN, BATCH)?;
            return Ok(Self::Socket(socket));
        };
        let end = Instant::now() + COMES_UP;
        while !sys::is_running(name)? && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        // There is room for all that its queue may hold, however long.
        Ok(Self::Tap(tap, Slots::new(BATCH as u32, 1 << 17)))
    }

    /// Sends a frame. If the interface cannot send, it closes no loop, so errors do not matter.
    fn send(&mut self, frame: &[u8; LEN]) {
        _ = match self {
            Self::Socket(socket) => sys::send(socket.as_fd(), &[frame]),
            Self::Tap(tap, _) => tap.send(&[frame]),
        };
    }

    /// Whether the frame is among those that came.
    fn has_come(&mut self, frame: &[u8; LEN]) -> bool {
        let (tap, slots) = match self {
            Self::Socket(socket) => return has_come(socket, frame),
            Self::Tap(tap, slots) => (tap, slots),
        };
        let mut received = Vec::new();
        // An interface that is down receives nothing.
        _ = tap.receive(slots, &mut received);
        let mut found = false;
        for came in received {
            found |= slots.frame(came.slot).starts_with(frame);
            slots.release(came.slot);
        }
        found
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Socket(socket) => Some(socket.as_fd()),
            Self::Tap(tap, _) => tap.descriptor(),
        }
    }
}

/// The folder in which the system describes interfaces.
pub(crate) const INTERFACES: &str = "/sys/class/net";

/// The bridge, or the like, that both interfaces belong to, because it would forward each frame
/// once more. None if the folder describes another network namespace.
pub(crate) fn shared_master(folder: &Path, interfaces: [(&str, i32); 2]) -> Option<String> {
    let mut masters = Vec::new();
    for (name, index) in interfaces {
        let folder = folder.join(name);
        let number = fs::read_to_string(folder.join("ifindex")).ok()?;
        if number.trim().parse() != Ok(index) {
            return None;
        }
        let master = fs::read_link(folder.join("master")).ok()?;
        masters.push(master.file_name()?.to_string_lossy().into_owned());
    }
    masters.dedup();
    (masters.len() == 1).then(|| masters.remove(0))
}

/// Whether frames that leave at one of two interfaces come in again at one of them. We send a frame
/// to all stations at both. `taps` holds the ends of those that are TAP interfaces, which are
/// already open.
///
/// # Errors
/// An interface cannot be opened.
pub(crate) fn is_there(
    interfaces: [&str; 2],
    taps: [Option<&mut Interface>; 2],
) -> io::Result<bool> {
    let [near, far] = taps;
    let mut ends = [
        End::open(interfaces[0], near)?,
        End::open(interfaces[1], far)?,
    ];
    // The number is random, because another session may look for loops in the same network.
    let frame = probe(RandomState::new().hash_one(std::process::id()));
    let end = Instant::now() + PATIENCE;
    let mut next = Instant::now();
    loop {
        let now = Instant::now();
        if now >= next {
            next = now + AGAIN;
            for end in &mut ends {
                end.send(&frame);
            }
        }
        for end in &mut ends {
            if end.has_come(&frame) {
                return Ok(true);
            }
        }
        let left = next.min(end).saturating_duration_since(Instant::now());
        if Instant::now() >= end {
            return Ok(false);
        }
        let mut both = Vec::with_capacity(2);
        for end in &ends {
            both.extend(end.descriptor());
        }
        sys::wait(&both, left.as_nanos() as u64)?;
    }
}

fn probe(number: u64) -> [u8; LEN] {
    let mut frame = [0; LEN];
    frame[..6].fill(0xff);
    // A locally administered address, which belongs to no vendor.
    frame[6..12].copy_from_slice(&[2, 0x52, 0x4c, 0x4f, 0x4f, 0x50]);
    frame[12..14].copy_from_slice(&EXPERIMENT.to_be_bytes());
    frame[14..TEXT_AT].copy_from_slice(&number.to_be_bytes());
    frame[TEXT_AT..TEXT_AT + TEXT.len()].copy_from_slice(TEXT);
    frame
}

/// Whether the frame is among those that came.
fn has_come(socket: &mut PacketDescriptor, frame: &[u8; LEN]) -> bool {
    let mut room = [0; LEN];
    // An interface that is down receives nothing.
    while let Some(came) = socket.take(&mut room) {
        if came.copied == LEN && room == *frame {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn two_ports_of_a_bridge_are_told_from_those_of_two() {
        let folder = std::env::temp_dir().join(format!("roundelay-masters-{}", std::process::id()));
        for (number, (name, master)) in [("a", "br0"), ("b", "br0"), ("c", "br1"), ("d", "")]
            .into_iter()
            .enumerate()
        {
            fs::create_dir_all(folder.join(name)).unwrap();
            fs::write(folder.join(name).join("ifindex"), format!("{number}\n")).unwrap();
            if !master.is_empty() {
                symlink(format!("../{master}"), folder.join(name).join("master")).unwrap();
            }
        }
        let found = |one, other| shared_master(&folder, [one, other]);
        assert_eq!(found(("a", 0), ("b", 1)).as_deref(), Some("br0"));
        assert_eq!(found(("a", 0), ("c", 2)), None);
        assert_eq!(found(("a", 0), ("d", 3)), None);
        assert_eq!(found(("a", 0), ("b", 7)), None, "another namespace's");
        fs::remove_dir_all(folder).unwrap();
    }
}
