//! The reading of a capture: what is known of its packets, whatever is done with them.

use roundelay_trace::connections::Applications;
use roundelay_trace::{Comparison, Observed};

/// A reading.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// What it met.
    pub(crate) observed: &'a Observed,
    /// Packets taken from the capture.
    pub(crate) packets: u64,
    /// Time from the first packet to the last.
    pub(crate) seconds: f64,
}

impl<'a> Reading<'a> {
    /// That of a replay.
    pub(crate) const fn of(comparison: &'a Comparison) -> Self {
        Self {
            observed: &comparison.observed,
            packets: comparison.capture.packets,
            seconds: comparison.capture.seconds,
        }
    }

    /// That of applications.
    pub(crate) fn of_applications(applications: &'a Applications) -> Self {
        Self {
            observed: &applications.observed,
            packets: applications.packets,
            seconds: applications.length.as_secs_f64(),
        }
    }
}
