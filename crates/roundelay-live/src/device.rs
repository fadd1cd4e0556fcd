//! Devices: where frames come in and go out.

use std::io;
use std::os::fd::BorrowedFd;

use crate::books::LostOutside;
use crate::slots::{Slot, Slots};

/// A frame that came in, in its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The slot.
    pub slot: Slot,
    /// When it came, in nanoseconds since 1970, if the device knows.
    pub unix_nanos: Option<i64>,
}

/// One end of the bottleneck.
pub trait Device {
    /// The name for messages.
    fn name(&self) -> &str;

    /// Adds the frames that have come, in order, each in its own slot. Does not wait. Frames that
    /// find no free slot stay where they are.
    ///
    /// # Errors
    /// The interface is down or gone.
    fn receive(&mut self, slots: &mut Slots, received: &mut Vec<Received>) -> io::Result<()>;

    /// Sends the first frames, in order, without waiting. Returns how many it took. You may offer
    /// the others again.
    ///
    /// # Errors
    /// The first frame can never be sent.
    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize>;

    /// Sends on what [`send`](Self::send) took while the interface was full. Returns whether some
    /// is still left, so that the driver calls again soon.
    fn flush(&mut self) -> bool {
        false
    }

    /// Ends sending. What [`send`](Self::send) took but the interface did not counts as lost from
    /// now on.
    fn close(&mut self) {}

    /// How many frames came without a checksum because the sender leaves it to its hardware.
    fn unfinished(&self) -> u64 {
        0
    }

    /// Whether this end may have lost frames that [`lost_outside`](Self::lost_outside) cannot count.
    fn is_blind(&self) -> bool {
        false
    }

    /// Whether the interface no longer exists. The driver asks once it went down.
    fn is_gone(&self) -> bool {
        false
    }

    /// Frames lost here since the start, where no queue saw them.
    fn lost_outside(&mut self) -> LostOutside;

    /// The descriptor to wait on.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
