//! Journal: hears what happens in a bottleneck.

use std::any::Any;

use roundelay::{DropReason, Instant};

use crate::settings::{Change, Way};

/// Fate of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The frame got the link.
    Sent {
        /// Start of the transmission.
        start: Instant,
        /// End of the transmission.
        end: Instant,
        /// The time at which the frame is due at the other end.
        due: Instant,
        /// The queue asked for CE.
        marked: bool,
        /// The wire loses the frame.
        lost: bool,
    },
    /// The queue dropped the frame.
    Dropped {
        /// The time of the drop.
        at: Instant,
        /// The reason.
        reason: DropReason,
    },
}

/// Hears everything that happens in the bottleneck, in the order in which it happens. Frames of a
/// direction are numbered from 0 in the order of arrival.
pub trait Journal: Any + Send {
    /// A frame arrives. `frame` is cut to [`Settings::snap`](crate::Settings::snap) bytes, `len` is
    /// its whole length.
    fn arrived(&mut self, way: Way, at: Instant, frame: &[u8], len: u32) {
        let _ = (way, at, frame, len);
    }

    /// The fate of a frame, and its flow.
    fn fate(&mut self, way: Way, number: u64, flow: u32, fate: Fate) {
        let _ = (way, number, flow, fate);
    }

    /// A change takes effect.
    fn changed(&mut self, way: Way, at: Instant, change: &Change) {
        let _ = (way, at, change);
    }

    /// Hands on what is kept back, so that a run that is killed leaves it behind. Called several
    /// times a second.
    ///
    /// # Errors
    /// The journal ended before the run, for this reason.
    fn pass_on(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A journal that nobody reads.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJournal;

impl Journal for NoJournal {}
