//! What is known of a capture's packets, whatever is done with them.

use roundelay_trace::connections::Applications;
use roundelay_trace::{Comparison, Observed};

/// A reading.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// What the reader met.
    pub(crate) observed: &'a Observed,
    /// Packets taken from the capture.
    pub(crate) packets: u64,
    /// Time from the first packet to the last.
    pub(crate) seconds: f64,
}

impl<'a> Reading<'a> {
    /// The reading behind a replay.
    pub(crate) const fn of(comparison: &'a Comparison) -> Self {
        Self {
            observed: &comparison.observed,
            packets: comparison.capture.packets,
            seconds: comparison.capture.seconds,
        }
    }

    /// The reading behind applications.
    pub(crate) fn of_applications(applications: &'a Applications) -> Self {
        Self {
            observed: &applications.observed,
            packets: applications.packets,
            seconds: applications.length.as_secs_f64(),
        }
    }
}
