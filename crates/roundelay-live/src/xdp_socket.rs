//! A device over an `AF_XDP` socket in copy mode. It takes less work for each frame than a packet
//! socket, but has more conditions.

use std::ffi::c_int;
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::books::LostOutside;
use crate::checksum;
use crate::device::{Device, Received};
use crate::frame_lengths::{FrameLengths, HEADER, TAG};
use crate::slots::Slots;
use crate::sys::{self, BATCH, Kicked, XdpDescriptor};

/// How long we wait for a queue that another socket had.
const PATIENCE: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(20);

/// An interface in Linux. All its frames come here and nowhere else.
pub struct XdpSocket {
    name: String,
    index: c_int,
    descriptor: XdpDescriptor,
    /// Frames that were longer than their slots, and frames that the interface threw away.
    lost_outside: LostOutside,
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
    /// Opens an interface in this namespace. From now on all frames that come in there are received
    /// here, and no longer by the system.
    ///
    /// # Errors
    /// The interface does not exist, or the kernel refuses a step. The message says which, and what
    /// to do.
    pub fn open(name: &str) -> io::Result<Self> {
        let index = sys::interface_index(name)?;
        let lengths = FrameLengths::of(name)?;
        let mtu = lengths.mtu();
        let longest = mtu + HEADER + 2 * TAG;
        if longest > sys::XDP_LONGEST {
            let most = sys::XDP_LONGEST - HEADER - 2 * TAG;
            return Err(io::Error::other(format!(
                "MTU {mtu} is too long for AF_XDP; expected {most} at most: ip link set dev {name} \
                 mtu {most}, or --device packet"
            )));
        }
        let queues = sys::receive_queues(name)
            .or_else(|| listed_queues(Path::new(INTERFACES), name, index))
            .unwrap_or(1);
        if queues > 1 {
            return Err(io::Error::other(format!(
                "{queues} receive queues, and AF_XDP reads one; make it one (ethtool -L {name} \
                 combined 1), or use --device packet"
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
            lost_outside: LostOutside::default(),
            unfinished: 0,
            lengths,
        })
    }
}

/// The folder in which the system describes interfaces.
const INTERFACES: &str = "/sys/class/net";

/// How many receive queues the system lists for an interface, for drivers that do not say. None if
/// the folder describes another network namespace.
fn listed_queues(folder: &Path, name: &str, index: c_int) -> Option<u32> {
    let folder = folder.join(name);
    let number = fs::read_to_string(folder.join("ifindex")).ok()?;
    if number.trim().parse() != Ok(index) {
        return None;
    }
    let mut count = 0;
    for entry in fs::read_dir(folder.join("queues")).ok()? {
        let name = entry.ok()?.file_name();
        count += u32::from(name.to_string_lossy().starts_with("rx-"));
    }
    Some(count)
}

/// Where we put frames to be sent.
trait Outgoing {
    /// Makes the kernel send what was put.
    fn kick(&mut self) -> io::Result<Kicked>;

    /// Puts as many of the first frames as have room. Returns how many.
    fn put(&mut self, frames: &[&[u8]]) -> usize;
}

impl Outgoing for XdpDescriptor {
    fn kick(&mut self) -> io::Result<Kicked> {
        self.kick()
    }

    fn put(&mut self, frames: &[&[u8]]) -> usize {
        self.put(frames)
    }
}

/// Sends the first frames. Returns how many were taken. `unsent` counts those that the interface
/// threw away.
fn send(ring: &mut impl Outgoing, frames: &[&[u8]], unsent: &mut u64) -> io::Result<usize> {
    let mut taken = 0;
    loop {
        let kicked = match ring.kick() {
            Ok(kicked) => kicked,
            // Frames already taken are in the ring and must not be offered again. The next call
            // meets the error.
            Err(_) if taken > 0 => break,
            Err(error) => return Err(error),
        };
        *unsent += kicked.dropped;
        // We put more into the ring only when all that it holds has gone out.
        if !kicked.is_done {
            break;
        }
        let put = ring.put(&frames[taken..]);
        if put == 0 {
            break;
        }
        taken += put;
    }
    Ok(taken)
}

/// Opens an interface. If its queue is taken we try again for a while, because the kernel frees a
/// socket's queue only some time after its end.
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

/// What to do when a step is refused.
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
                self.lost_outside.too_long += 1;
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
        let fit = self.lengths.fitting(frames, self.descriptor.room())?;
        send(
            &mut self.descriptor,
            &frames[..fit],
            &mut self.lost_outside.unsent,
        )
    }

    fn flush(&mut self) -> bool {
        // An interface that is down keeps what is in the ring.
        let Ok(kicked) = self.descriptor.kick() else {
            return false;
        };
        self.lost_outside.unsent += kicked.dropped;
        !kicked.is_done
    }

    fn close(&mut self) {
        self.lost_outside.unsent += u64::from(self.descriptor.pending());
    }

    fn is_gone(&self) -> bool {
        !sys::has_interface(self.index)
    }

    fn unfinished(&self) -> u64 {
        self.unfinished
    }

    fn lost_outside(&mut self) -> LostOutside {
        let lost = self.descriptor.lost().unwrap_or_default();
        LostOutside {
            ring: lost.full,
            too_long: self.lost_outside.too_long + lost.too_long,
            unsent: self.lost_outside.unsent + lost.invalid,
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.descriptor.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring with room for two frames, whose interface goes down after some kicks.
    struct GoesDown {
        kicks: u32,
        put: u32,
    }

    impl Outgoing for GoesDown {
        fn kick(&mut self) -> io::Result<Kicked> {
            self.kicks = self
                .kicks
                .checked_sub(1)
                .ok_or(io::ErrorKind::NetworkDown)?;
            Ok(Kicked {
                is_done: true,
                dropped: 1,
            })
        }

        fn put(&mut self, frames: &[&[u8]]) -> usize {
            let put = frames.len().min(2);
            self.put += put as u32;
            put
        }
    }

    #[test]
    fn frames_in_the_ring_are_taken_even_if_the_interface_goes_down() {
        let frames: [&[u8]; 5] = [&[0; 60]; 5];
        let mut unsent = 0;
        for (kicks, taken) in [(1, 2), (2, 4), (3, 5), (4, 5)] {
            let mut ring = GoesDown { kicks, put: 0 };
            let found = send(&mut ring, &frames, &mut unsent).expect("frames are taken");
            assert_eq!((found, ring.put), (taken, taken as u32));
        }
        assert_eq!(unsent, 1 + 2 + 3 + 4);
        let mut down = GoesDown { kicks: 0, put: 0 };
        let error = send(&mut down, &frames, &mut unsent).expect_err("it is down");
        assert_eq!(error.kind(), io::ErrorKind::NetworkDown);
    }

    #[test]
    fn queues_are_counted_where_the_driver_does_not_say() {
        let folder = std::env::temp_dir().join(format!("roundelay-net-{}", std::process::id()));
        for queue in ["rx-0", "rx-1", "rx-2", "tx-0"] {
            fs::create_dir_all(folder.join("a0/queues").join(queue)).expect("a folder");
        }
        fs::write(folder.join("a0/ifindex"), "7\n").expect("a file");
        assert_eq!(listed_queues(&folder, "a0", 7), Some(3));
        assert_eq!(listed_queues(&folder, "a0", 8), None, "another namespace");
        assert_eq!(listed_queues(&folder, "b0", 7), None);
        fs::remove_dir_all(folder).expect("a folder of ours");
    }
}
