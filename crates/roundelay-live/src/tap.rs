//! A device that is the other end of a TAP interface. What this machine, a bridge or a container
//! sends out at the interface comes to the bottleneck, and what leaves the bottleneck comes in
//! there.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::{Duration, Instant};

use crate::books::LostOutside;
use crate::device::{Device, Received};
use crate::frame_lengths::FrameLengths;
use crate::offloads;
use crate::slots::Slots;
use crate::sys::{self, BATCH};

/// How many frames may wait for this end to read them. With the system's default, a burst of 1,000
/// loses some.
const WAITING: u32 = 8192;

/// How often we look at losses.
const LOOK: Duration = Duration::from_millis(100);

/// The other end of a TAP interface.
#[derive(Debug)]
pub struct Tap {
    name: String,
    file: File,
    /// The interface was not there before, so it vanishes with this end.
    is_ours: bool,
    lengths: FrameLengths,
    /// Frames lost before we opened this end.
    lost_before: u64,
    lost_outside: LostOutside,
    /// The interface was moved to another namespace, where we cannot read its losses.
    is_away: bool,
    last_look: Instant,
}

impl Tap {
    /// Opens the other end of a TAP interface in this namespace. If no interface has this name,
    /// makes one and turns it on.
    ///
    /// # Errors
    /// You have no right to, or the interface is of another kind or in use.
    pub fn open(name: &str) -> io::Result<Self> {
        // For such a name, the kernel would make one up.
        if name.is_empty() || name.contains('%') {
            return Err(refusal(name, true, io::ErrorKind::InvalidInput.into()));
        }
        let is_ours = sys::interface_index(name).is_err();
        let mut open = File::options();
        open.read(true).write(true).custom_flags(libc::O_NONBLOCK);
        let file = open.open("/dev/net/tun").map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::PermissionDenied => "run as root",
                _ => "expected Linux with TUN",
            };
            let text = format!("tap:{name}: /dev/net/tun: {error}; {hint}");
            io::Error::new(error.kind(), text)
        })?;
        sys::attach_tap(file.as_fd(), name).map_err(|error| refusal(name, is_ours, error))?;
        if is_ours {
            sys::set_queue_len(name, WAITING)?;
            // The queue has to see packets as they are on the link.
            offloads::turn_off(name)?;
        }
        sys::turn_on(name)?;
        Ok(Self {
            name: name.to_owned(),
            file,
            is_ours,
            lengths: FrameLengths::of(name)?,
            lost_before: lost(name).unwrap_or(0),
            lost_outside: LostOutside::default(),
            is_away: false,
            last_look: Instant::now(),
        })
    }

    /// Looks up how many frames were lost, because later the interface may be gone or away.
    fn look(&mut self) {
        self.last_look = Instant::now();
        match lost(&self.name) {
            Some(lost) => self.lost_outside.ring = lost.saturating_sub(self.lost_before),
            None => self.is_away = !self.is_gone(),
        }
    }

    /// Whether the interface was not there before, so that it vanishes with this end.
    pub const fn is_ours(&self) -> bool {
        self.is_ours
    }
}

/// A refusal that says what to do.
fn refusal(name: &str, is_ours: bool, error: io::Error) -> io::Error {
    let hint = match error.raw_os_error() {
        Some(libc::EBUSY) => "another program has its other end",
        Some(libc::EPERM) if is_ours => {
            "run as root, or let root make it for you: ip tuntap add dev NAME mode tap user USER"
        }
        Some(libc::EPERM) => "it belongs to another user",
        _ => "expected the name of a TAP interface, or of none, with 15 bytes at most",
    };
    io::Error::new(error.kind(), format!("tap:{name}: {error}; {hint}"))
}

/// Frames that an interface did not hand to its other end because nobody read them in time.
fn lost(name: &str) -> Option<u64> {
    /// The columns in front of drops when sending.
    const BEFORE: usize = 11;
    let table = fs::read_to_string("/proc/thread-self/net/dev").ok()?;
    for line in table.lines() {
        if let Some((found, figures)) = line.split_once(':')
            && found.trim() == name
        {
            return figures.split_whitespace().nth(BEFORE)?.parse().ok();
        }
    }
    None
}

impl Device for Tap {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, slots: &mut Slots, received: &mut Vec<Received>) -> io::Result<()> {
        if self.last_look.elapsed() > LOOK {
            self.look();
        }
        for _ in 0..BATCH {
            let Some(slot) = slots.take() else { break };
            let room = slots.room(slot);
            let size = room.len();
            match self.file.read(room) {
                // The system cuts a longer frame silently, so a full slot means a longer frame.
                Ok(len) if len == size => {
                    self.lost_outside.too_long += 1;
                    slots.release(slot);
                }
                Ok(len) => {
                    slots.set_len(slot, len);
                    // These frames have no stamp.
                    received.push(Received {
                        slot,
                        unix_nanos: None,
                    });
                }
                Err(error) => {
                    slots.release(slot);
                    if sys::is_for_later(&error) {
                        break;
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        let fit = self.lengths.fitting(frames, usize::MAX)?;
        for (count, frame) in frames[..fit].iter().enumerate() {
            match self.file.write(frame) {
                Ok(_) => (),
                Err(error) if count > 0 || sys::is_for_later(&error) => return Ok(count),
                Err(error) => return Err(error),
            }
        }
        Ok(fit)
    }

    fn is_gone(&self) -> bool {
        // The interface may also have moved to another namespace.
        !sys::has_tap(self.file.as_fd())
    }

    fn is_blind(&self) -> bool {
        self.is_away
    }

    fn lost_outside(&mut self) -> LostOutside {
        self.look();
        self.lost_outside
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }
}
