//! Journal: hears what happens in a bottleneck.

use std::any::Any;

use roundelay::{DropReason, Instant};

use crate::settings::{Change, Way};

/// A frame's fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The frame got the link.
    Sent {
        /// When the transmission started.
        start: Instant,
        /// When the transmission ended.
        end: Instant,
        /// When the frame is due at the other end.
        due: Instant,
        /// The queue asked for a CE mark.
        marked: bool,
        /// The wire loses the frame.
        lost: bool,
    },
    /// The queue dropped the frame.
    Dropped {
        /// When it was dropped.
        at: Instant,
        /// The reason.
        reason: DropReason,
    },
}

/// Hears everything in the bottleneck, in the order in which it happens. Each direction numbers its
/// frames from 0 as they arrive.
pub trait Journal: Any + Send {
    /// A frame arrives. `frame` is cut to [`Settings::snap`](crate::Settings::snap) bytes, and
    /// `len` is its whole length.
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

    /// Writes what the journal holds back, so that it survives if the run is killed. The driver
    /// calls this several times a second.
    ///
    /// # Errors
    /// The journal ended before the run. The error says why.
    fn flush(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A journal that nobody reads.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJournal;

impl Journal for NoJournal {}
