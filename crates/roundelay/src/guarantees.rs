//! What a discipline promises a flow, as formulas with their sources.

use crate::time::Duration;
use crate::units::Rate;

/// What the formulas need to know of a flow and its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The flow's weight; its share phi is `weight / total_weight`.
    pub weight: u32,
    /// Sum of the weights of all flows, idle ones too.
    pub total_weight: u64,
    /// Smallest weight of any flow.
    pub least_weight: u32,
    /// Number of flows.
    pub flows: u64,
    /// L_k: the longest packet of the flow in bytes.
    pub max_packet_len: u32,
    /// L: the longest packet of any flow in bytes.
    pub link_max_packet_len: u32,
    /// R: the link's rate.
    pub rate: Rate,
}

impl Share {
    /// `bytes` times phi, rounded up.
    pub const fn of(&self, bytes: u64) -> u64 {
        let product = bytes as u128 * self.weight as u128;
        let total = if self.total_weight == 0 { 1 } else { self.total_weight as u128 };
        let quotient = product.div_ceil(total);
        if quotient > u64::MAX as u128 { u64::MAX } else { quotient as u64 }
    }

    /// `bytes` divided by phi, rounded up: what the link sends while the flow is due that much.
    pub const fn per_share(&self, bytes: u64) -> u64 {
        let weight = if self.weight == 0 { 1 } else { self.weight as u128 };
        let quotient = (bytes as u128 * self.total_weight as u128).div_ceil(weight);
        if quotient > u64::MAX as u128 { u64::MAX } else { quotient as u64 }
    }
}

/// A proven bound and where the proof stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound<V> {
    /// The bound.
    pub value: V,
    /// Paper, theorem or equation.
    pub source: &'static str,
}

/// What a discipline promises a flow. None: nothing is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Guarantees {
    /// Bit Worst-case Fair Index in bytes: most that the flow falls behind its share of the service over any interval in which it is
    /// backlogged (QFQ paper, Eq. 7).
    pub b_wfi: Option<Bound<u64>>,
    /// Time Worst-case Fair Index: most that a packet completes after the flow's backlog at its arrival, served at the flow's share of
    /// the rate (QFQ paper, Eq. 11).
    pub t_wfi: Option<Bound<Duration>>,
    /// Most that a packet completes after the flow, alone on a link of its share of the rate, would have completed it: after
    /// GRC(p) = max(arrival(p), GRC(p - 1)) + len(p) / r. The Theta of a latency-rate server has this property (Stiliadis and Varma,
    /// "Latency-Rate Servers", IEEE/ACM ToN 6(5), 1998), and the constant of a guaranteed-rate server is it (Goyal, Lam, Vin, 1995).
    pub latency: Option<Bound<Duration>>,
    /// Most by which the service of the flow and of any other one can differ while both are backlogged, each taken as the time that it
    /// is worth at the flow's own share of the rate: |W_i / r_i - W_j / r_j| (Golestani's fairness).
    pub fairness: Option<Bound<Duration>>,
}

impl Guarantees {
    /// Most that a packet of a flow waits and takes to be sent, if the flow brings no more than `burst` bytes at once beyond its share of
    /// the rate (a token bucket of that depth): `burst / r` and what the discipline adds. None: nothing is proven.
    pub fn delay(&self, share: &Share, burst: u64) -> Option<Bound<Duration>> {
        let added = [self.t_wfi, self.latency].into_iter().flatten().min_by_key(|bound| bound.value)?;
        Some(Bound { value: share.rate.time_of(share.per_share(burst)) + added.value, source: added.source })
    }
}
