//! Lateness of a flow against a dedicated link: the promise of guaranteed-rate and latency-rate
//! servers.
//!
//! Sources: P. Goyal, S. S. Lam, H. M. Vin, "Determining End-to-End Delay Bounds in Heterogeneous
//! Networks", NOSSDAV 1995 (guaranteed rate clock); D. Stiliadis, A. Varma, "Latency-Rate Servers:
//! A General Model for Analysis of Traffic Scheduling Algorithms", IEEE/ACM ToN 6(5), 1998.

use roundelay::{FlowId, Instant, Rate};

use crate::table::FlowTable;
use crate::totals::Totals;
use crate::wfi::Stamp;

/// Measures each flow's lateness: the largest delay of a completion beyond its GRC, where `GRC(p) =
/// max(arrival(p), GRC(p - 1)) + len(p) / r` is the completion time if the flow were alone on a
/// link of its share r of the rate.
///
/// **Drops.** GRC runs over completed packets, in order of completion: dropped packets do not exist
/// for GRC.
///
/// **Weights that change.** A packet's part of GRC uses the smallest share of the flow from the
/// packet's arrival until GRC, or until the packet's completion if later. A flow served ahead of
/// its GRC has completed packets with a GRC in the future: these are kept as one sum of bytes,
/// charged at the smallest share since the arrival of the first one. The measure is therefore never
/// larger than the lateness against the true shares, and smaller for flows that run far ahead while
/// shares shrink.
///
/// **Precision.** `f64` seconds since the last instant at which the flow was late, or since the
/// start of GRC: a relative error below 2^-50 of this time span.
#[derive(Debug, Clone)]
pub struct Lateness {
    /// 1 / R.
    seconds_per_byte: f64,
    totals: Totals,
    /// Earlier arrivals count as arrived at this time.
    restarted: Instant,
    flows: FlowTable<FlowLateness>,
}

#[derive(Debug, Clone)]
struct FlowLateness {
    /// Zero if not registered.
    weight: u32,
    /// Packets with an earlier arrival are not measured.
    since: Instant,
    base: Instant,
    /// GRC without the packets ahead, in seconds after `base`; negative if earlier.
    settled: f64,
    ahead: Ahead,
    /// Seconds; minus infinity before the first packet has completed.
    worst: f64,
}

/// Packets completed before their GRC.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    bytes: u64,
    /// Arrival of the first of these packets.
    since: Instant,
    /// The flow's smallest weight during these packets.
    weight: u32,
}

impl Ahead {
    const NOTHING: Self = Self {
        bytes: 0,
        since: Instant::ZERO,
        weight: 1,
    };
}

impl Default for FlowLateness {
    fn default() -> Self {
        let base = Instant::ZERO;
        let since = Instant::ZERO;
        Self {
            weight: 0,
            since,
            base,
            settled: 0.0,
            ahead: Ahead::NOTHING,
            worst: f64::NEG_INFINITY,
        }
    }
}

/// `later` - `earlier` in seconds, of either sign.
fn span(later: Instant, earlier: Instant) -> f64 {
    if later >= earlier {
        later.since(earlier).as_secs_f64()
    } else {
        -earlier.since(later).as_secs_f64()
    }
}

impl Lateness {
    /// A meter for a link of this constant rate.
    pub fn new(rate: Rate) -> Self {
        let seconds_per_byte = 8.0 / rate.bits_per_second() as f64;
        Self {
            seconds_per_byte,
            totals: Totals::default(),
            restarted: Instant::ZERO,
            flows: FlowTable::default(),
        }
    }

    /// Registers a flow with this weight, or changes its weight from now on.
    ///
    /// # Panics
    /// If the weight is zero.
    pub fn set_weight(&mut self, now: Instant, flow: FlowId, weight: u32) {
        assert!(weight > 0, "a weight of zero is due no service");
        self.change_weight(now, flow, weight);
    }

    /// Ends a flow's registration. Later completions of its packets use the weight at arrival.
    pub fn remove(&mut self, now: Instant, flow: FlowId) {
        self.change_weight(now, flow, 0);
    }

    fn change_weight(&mut self, now: Instant, flow: FlowId, weight: u32) {
        let state = self.flows.entry(flow);
        if state.weight != weight {
            let total =
                self.totals.present().saturating_sub(state.weight.into()) + u64::from(weight);
            state.weight = weight;
            self.totals.set(now, total);
        }
    }

    /// Sets the sum of weights from now on: see
    /// [`BitWfi::set_total_weight`](crate::BitWfi::set_total_weight).
    pub fn set_total_weight(&mut self, now: Instant, total: u64) {
        self.totals.set(now, total);
    }

    /// Excludes packets with an arrival before `now`: see
    /// [`BitWfi::restart`](crate::BitWfi::restart).
    pub fn restart(&mut self, now: Instant, flow: FlowId) {
        self.flows.entry(flow).since = now;
    }

    /// Treats all waiting packets as arriving now: see
    /// [`BitWfi::restart_all`](crate::BitWfi::restart_all).
    pub const fn restart_all(&mut self, now: Instant) {
        self.restarted = now;
    }

    /// The packet with this stamp has completed transmission at `now`.
    #[inline]
    pub fn complete(&mut self, now: Instant, flow: FlowId, stamp: Stamp) {
        let totals = &self.totals;
        let seconds_per_byte = self.seconds_per_byte;
        let grc = |state: &FlowLateness| {
            let Ahead {
                bytes,
                since,
                weight,
            } = state.ahead;
            let per_share = if bytes == 0 {
                0.0
            } else {
                totals.largest_since(since) as f64 / f64::from(weight)
            };
            state.settled + bytes as f64 * seconds_per_byte * per_share
        };
        let arrival = stamp.arrival.max(self.restarted);
        let state = self.flows.entry(flow);
        let weight = if state.weight == 0 {
            stamp.weight
        } else {
            stamp.weight.min(state.weight)
        };
        if span(arrival, state.base) >= grc(state) {
            (state.base, state.settled, state.ahead) = (arrival, 0.0, Ahead::NOTHING);
        }
        if state.ahead.bytes == 0 {
            state.ahead = Ahead {
                bytes: 0,
                since: arrival,
                weight,
            };
        }
        state.ahead.bytes += u64::from(stamp.bytes);
        state.ahead.weight = state.ahead.weight.min(weight);
        let late = span(now, state.base) - grc(state);
        if stamp.arrival >= state.since {
            state.worst = state.worst.max(late);
        }
        if late >= 0.0 {
            (state.base, state.settled, state.ahead) = (now, -late, Ahead::NOTHING);
        }
    }

    /// The largest lateness in seconds: negative if each packet completed earlier than on the
    /// flow's dedicated link; None if no packet has completed.
    pub fn worst(&self, flow: FlowId) -> Option<f64> {
        let worst = self.flows.known(flow)?.worst;
        worst.is_finite().then_some(worst)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::TimeWfi;

    const A: FlowId = FlowId(0);
    const B: FlowId = FlowId(1);

    /// At this rate one byte takes a microsecond.
    fn rate() -> Rate {
        Rate::from_bits_per_second(8_000_000).expect("not zero")
    }

    const fn at(micros: u64) -> Instant {
        Instant::from_nanos(1_000 * micros)
    }

    /// Both meters: stamps come from the first.
    struct Pair(TimeWfi, Lateness);

    impl Pair {
        fn new() -> Self {
            let mut pair = Self(TimeWfi::new(rate()), Lateness::new(rate()));
            pair.weigh(0, A, 1);
            pair.weigh(0, B, 1);
            pair
        }

        fn weigh(&mut self, now: u64, flow: FlowId, weight: u32) {
            self.0.set_weight(at(now), flow, weight);
            self.1.set_weight(at(now), flow, weight);
        }

        /// Arrival, length and completion of a packet of A; returns the largest lateness in
        /// microseconds.
        fn packet(&mut self, arrival: u64, bytes: u32, completion: u64) -> f64 {
            let stamp = self.0.arrive(at(arrival), A, bytes);
            self.1.complete(at(completion), A, stamp);
            self.1
                .worst(A)
                .map_or(f64::NAN, |seconds| (seconds * 1e9).round() / 1e3)
        }
    }

    #[test]
    fn lateness_is_against_a_link_of_ones_own() {
        let mut pair = Pair::new();
        assert_eq!(pair.1.worst(A), None);
        assert_eq!(pair.packet(0, 100, 150), -50.0, "due at 200");
        assert_eq!(
            pair.packet(0, 100, 410),
            10.0,
            "due at 400, whenever the first was complete"
        );
        assert_eq!(
            pair.packet(390, 100, 620),
            20.0,
            "due at 600, as it came before the link of its own was free"
        );
        assert_eq!(
            pair.packet(1_000, 100, 1_230),
            30.0,
            "due at 1200: it came to an idle link"
        );
    }

    #[test]
    fn a_late_packet_does_not_excuse_the_next() {
        let mut pair = Pair::new();
        assert_eq!(pair.packet(0, 100, 300), 100.0);
        assert_eq!(pair.packet(0, 100, 550), 150.0, "due at 400");
    }

    #[test]
    fn the_smallest_share_until_grc_counts() {
        let mut pair = Pair::new();
        assert_eq!(pair.packet(0, 100, 100), -100.0);
        // The dedicated link is busy with the first packet until 200; from 150 on a third flow has
        // half.
        pair.weigh(150, FlowId(2), 2);
        assert_eq!(
            pair.packet(120, 100, 850),
            50.0,
            "due at 800, both at a quarter"
        );
        assert_eq!(pair.packet(900, 100, 1_360), 60.0, "due at 1300");
    }

    #[test]
    fn flows_that_restart_are_judged_anew() {
        let mut pair = Pair::new();
        pair.1.restart(at(50), A);
        assert!(pair.packet(0, 100, 5_000).is_nan());
        assert_eq!(pair.packet(6_000, 100, 6_230), 30.0);
        pair.1.restart_all(at(7_000));
        assert_eq!(pair.packet(6_400, 100, 7_240), 40.0, "due at 7200");
    }

    proptest! {
        #[test]
        fn it_is_the_definition_while_weights_stay(packets in prop::collection::vec((0u64..400, 0u32..200, 0u64..500), 1..80)) {
            let mut pair = Pair::new();
            let mut arrival = 0;
            let mut completion = 0;
            let mut grc = 0.0f64;
            let mut worst = f64::NEG_INFINITY;
            for (gap, bytes, wait) in packets {
                arrival += gap;
                completion = arrival.max(completion) + wait;
                grc = grc.max(arrival as f64) + 2.0 * f64::from(bytes);
                worst = worst.max(completion as f64 - grc);
                let measured = pair.packet(arrival, bytes, completion);
                prop_assert!((measured - worst).abs() < 1e-2, "{} for {}", measured, worst);
            }
        }
    }
}
