//! Totals over a set of packets: what was sent, dropped and marked, and the delay.

use serde::Serialize;

/// Totals over a set of packets.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Bits sent, divided by the time from the first arrival to the last departure.
    pub throughput: f64,
    /// Packets dropped.
    pub drops: Drops,
    /// Dropped packets divided by offered packets, without those that a filter took out.
    pub loss: f64,
    /// Packets marked with ECN's CE instead of dropped.
    pub marked: u64,
    /// None if nothing was sent.
    pub delay: Option<Delay>,
    /// Packets that left after a later packet of their flow.
    pub reordered: u64,
}

impl Outcome {
    /// The fraction of the sent packets that are marked; 0 if nothing was sent.
    pub fn part_marked(&self) -> f64 {
        self.marked as f64 / self.packets.max(1) as f64
    }
}

/// Packets dropped, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Drops {
    /// Tail drops: the buffer was full and the arriving packet was dropped.
    pub full: u64,
    /// Push-outs: the buffer was full and a waiting packet was dropped.
    pub pushed_out: u64,
    /// Drops by active queue management.
    pub early: u64,
    /// Arriving packets refused by the discipline.
    pub refused: u64,
    /// Acknowledgements that later ones repeat (`cake ack-filter`), so nothing is lost.
    #[serde(skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub filtered: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Drops {
    /// Total over all reasons for which packets are lost.
    pub const fn total(&self) -> u64 {
        self.full + self.pushed_out + self.early + self.refused
    }
}

/// Quantiles of delay in seconds.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delay {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest.
    pub max: f64,
}
