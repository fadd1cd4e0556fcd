//! Devices: where frames come in and go out.

use std::io;
use std::os::fd::BorrowedFd;

use crate::books::Outside;
use crate::slots::{Slot, Slots};

/// A frame that came in, in its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The slot.
    pub slot: Slot,
    /// When, in nanoseconds since 1970, if the device knows.
    pub unix_nanos: Option<i64>,
}

/// An end of the bottleneck.
pub trait Device {
    /// The name in messages.
    fn name(&self) -> &str;

    /// Adds the frames that have come, each in a slot of its own, in order, without waiting. Without
    /// free slots frames stay where they are.
    ///
    /// # Errors
    /// The interface is down or gone.
    fn receive(&mut self, slots: &mut Slots, received: &mut Vec<Received>) -> io::Result<()>;

    /// Sends the first frames, in order, without waiting. The number of those taken; the others may
    /// be offered again.
    ///
    /// # Errors
    /// The first frame can never be sent.
    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize>;

    /// Sends on what [`send`](Self::send) has taken and the interface could not take yet. Whether
    /// some is left: then the driver calls again soon.
    fn flush(&mut self) -> bool {
        false
    }

    /// Ends sending: what [`send`](Self::send) has taken and the interface has not counts as lost from
    /// now on.
    fn close(&mut self) {}

    /// Frames that came without a checksum, because the sender leaves that to its hardware.
    fn unfinished(&self) -> u64 {
        0
    }

    /// Whether frames may have been lost here that [`outside`](Self::outside) cannot count.
    fn is_blind(&self) -> bool {
        false
    }

    /// Whether the interface does not exist any more. Asked after it went down.
    fn is_gone(&self) -> bool {
        false
    }

    /// Frames lost here since the start, where no queue saw them.
    fn outside(&mut self) -> Outside;

    /// The descriptor to wait for.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
