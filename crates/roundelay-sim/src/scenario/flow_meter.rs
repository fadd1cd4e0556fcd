//! What is counted for a flow.

use roundelay::{DropReason, Duration, Instant};

use super::ratio::ratio;
use crate::ids::NodeId;
use crate::probe::Effort;

/// What happened to the packets of a flow, or of all flows in a group.
#[derive(Debug, Clone, Default)]
pub(super) struct Packets {
    pub(super) sent: u64,
    pub(super) delivered: u64,
    pub(super) dropped: [u64; DropReason::ALL.len()],
    pub(super) lost: u64,
    pub(super) edge_dropped: u64,
    pub(super) edge_marked: u64,
    /// Delivered packets that were late.
    pub(super) late: u64,
    /// Bytes that arrived after the warm-up.
    pub(super) bytes: u64,
    /// Sum of the delays of packets that arrived, in picoseconds.
    delays: u128,
    /// Sum of these delays' squares, in square nanoseconds.
    squares: u128,
    pub(super) longest: Duration,
}

impl Packets {
    #[inline]
    pub(super) fn time(&mut self, delay: Duration) {
        self.delays += u128::from(delay.as_picos());
        self.squares += u128::from(delay.as_nanos()).pow(2);
        self.longest = self.longest.max(delay);
    }

    /// Mean delay in seconds.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.delivered > 0).then(|| self.delays as f64 / 1e12 / self.delivered as f64)
    }

    /// The delays' standard deviation, in seconds. `timed` is how many delays there are. In a group
    /// they are fewer than the received packets if `[meter] started` excludes flows.
    pub(super) fn deviation(&self, timed: u64) -> Option<f64> {
        let timed = timed as f64;
        let square = ratio(self.squares as f64 / 1e18, timed)?;
        let mean = ratio(self.delays as f64 / 1e12, timed)?;
        let square = square - mean.powi(2);
        // Rounding to nanoseconds may make the difference negative.
        Some(square.max(0.0).sqrt())
    }
}

/// A flow.
#[derive(Debug, Clone)]
pub(super) struct FlowMeter {
    pub(super) number: u64,
    pub(super) group: u32,
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) opened: Instant,
    pub(super) is_open: bool,
    /// Ended after the first 4,096 flows, so it is listed only on request.
    pub(super) is_late: bool,
    /// Whether the group counts this flow's packet delays. It does not if `[meter] started`
    /// excludes the flow, which is a burst.
    pub(super) is_timed: bool,
    pub(super) packets: Packets,
    /// How much the sender repaired after the warm-up. None if the agent reports nothing.
    pub(super) repairs: Option<Effort>,
}
