//! Worst-case Fair Indices (WFI), measured: how far a backlogged flow falls behind its share.
//!
//! Sources: J. C. R. Bennett and H. Zhang, "WF2Q: Worst-case Fair Weighted Fair Queueing", INFOCOM
//! 1996; definitions as in F. Checconi, P. Valente, L. Rizzo, "QFQ: Efficient Packet Scheduling
//! with Tight Bandwidth Distribution Guarantees", Eq. 7 (bits) and Eq. 11 (time).

use roundelay::{FlowId, Instant, Rate};

use crate::table::FlowTable;
use crate::totals::Totals;

/// Binary places of normalised service.
const PLACES: u32 = 64;
/// Binary places of 1 / sum of weights: the most for which a product with 2^32 - 1 bytes fits into
/// 128 bits.
const INVERSE_PLACES: u32 = 96;

/// Measures the Bit Worst-case Fair Index of each flow: the largest phi_k W(t1, t2) - W_k(t1, t2)
/// over the intervals in which the flow stays backlogged (Eq. 7), in bytes.
///
/// **Weights that change.** phi_k is the flow's weight over the current sum of registered weights,
/// so phi_k W becomes the integral of phi_k dW. One accumulator G for all flows grows by len / (sum
/// of weights) with each packet served: a flow of weight w is due w times the growth of G.
///
/// **O(1).** Let X = (service due to the flow) - (service received). The index is the largest rise
/// X(t2) - X(t1), t1 <= t2, within a backlogged period. Two numbers suffice: D = X - (smallest X in
/// the period), updated by D <- max(0, D + due - got), and the largest D seen.
///
/// **Which instants count.** X rises during the service of other flows and falls during the service
/// of the flow itself. Maxima of X lie just before packets of the flow; minima lie just after these
/// packets, or at the start of the period. D is evaluated just before and just after each packet of
/// the flow is counted. X is monotone between these instants, whether a packet is sent at once or
/// evenly over its transmission time: no other interval is worse.
///
/// **Convention.** A packet counts entirely when dequeued, for W as for W_k, and a flow is
/// backlogged until its last packet is dequeued, when schedulers consider the flow idle; the
/// paper's section 3 has the flow backlogged until the end of this packet's transmission. If a
/// backlogged period starts during the transmission of another flow's packet, the rest of the
/// packet does not count against the flow: the index may be lower than with a bit-by-bit clock, by
/// at most phi_k L.
///
/// **Precision.** 64 binary places; the error is below w * 2^-64 bytes a packet, always downwards.
#[derive(Debug, Clone, Default)]
pub struct BitWfi {
    total_weight: u64,
    /// 2^96 / `total_weight`, rounded down; zero without weights.
    inverse: u128,
    /// G: bytes served per unit of weight.
    granted: u128,
    /// G at the last restart of all flows.
    restarted: u128,
    flows: FlowTable<BitFlow>,
}

#[derive(Debug, Clone, Default)]
struct BitFlow {
    /// G at the last update of `lag`.
    seen: u128,
    /// D: how far the flow is behind its best moment in the current backlogged period.
    lag: u128,
    worst: u128,
    /// Bytes.
    backlog: u64,
    /// Zero if not registered.
    weight: u32,
}

impl BitFlow {
    fn lag_at(&self, granted: u128, restarted: u128) -> u128 {
        let (lag, since) = if self.seen <= restarted {
            (0, restarted)
        } else {
            (self.lag, self.seen)
        };
        if self.backlog == 0 {
            0
        } else {
            lag + u128::from(self.weight) * (granted - since)
        }
    }

    /// Updates the lag, which has only risen since the last update.
    fn settle(&mut self, granted: u128, restarted: u128) {
        self.lag = self.lag_at(granted, restarted);
        self.seen = granted;
        self.worst = self.worst.max(self.lag);
    }

    fn shrink(&mut self, bytes: u32) {
        debug_assert!(
            self.backlog >= u64::from(bytes),
            "more leaves than has arrived"
        );
        self.backlog = self.backlog.saturating_sub(u64::from(bytes));
        if self.backlog == 0 {
            self.lag = 0;
        }
    }
}

impl BitWfi {
    /// Registers a flow with this weight, or changes its weight from now on.
    ///
    /// # Panics
    /// If the weight is zero.
    #[inline]
    pub fn set_weight(&mut self, flow: FlowId, weight: u32) {
        assert!(weight > 0, "a weight of zero is due no service");
        self.change_weight(flow, weight);
    }

    /// Ends a flow's registration: from now on no service is due. The largest index is kept.
    pub fn remove(&mut self, flow: FlowId) {
        self.change_weight(flow, 0);
    }

    /// Restarts the flow's measurement, as if its backlogged period began now, and keeps the
    /// largest index. For a flow whose settings changed: bounds hold from the change on.
    pub fn restart(&mut self, flow: FlowId) {
        let granted = self.granted;
        let restarted = self.restarted;
        let state = self.flows.entry(flow);
        state.settle(granted, restarted);
        state.lag = 0;
    }

    /// Restarts the measurement of all flows in constant time: each flow's lag since its own last
    /// packet is discarded. For bounds that assume a constant set of flows.
    pub const fn restart_all(&mut self) {
        self.restarted = self.granted;
    }

    /// Restarts the measurement of all flows and discards the largest indices, for example after a
    /// warm-up. Touches each flow.
    pub fn forget(&mut self) {
        let granted = self.granted;
        for flow in self.flows.iter_mut() {
            flow.seen = granted;
            flow.lag = 0;
            flow.worst = 0;
        }
    }

    /// Asks for the memory of the flow's record, for a packet that arrives soon.
    #[inline]
    pub fn prefetch(&self, flow: FlowId) {
        self.flows.prefetch(flow);
    }

    /// A packet of `bytes` bytes has been accepted. Registers a new flow with weight 1.
    #[inline]
    pub fn arrive(&mut self, flow: FlowId, bytes: u32) {
        let granted = self.granted;
        let mut state = self.flows.entry(flow);
        if state.weight == 0 {
            self.change_weight(flow, 1);
            state = self.flows.entry(flow);
        }
        if state.backlog == 0 {
            state.seen = granted;
        }
        state.backlog += u64::from(bytes);
    }

    /// A packet of `bytes` bytes is dequeued.
    #[inline]
    pub fn serve(&mut self, flow: FlowId, bytes: u32) {
        let before = self.granted;
        let restarted = self.restarted;
        self.granted += (u128::from(bytes) * self.inverse) >> (INVERSE_PLACES - PLACES);
        let state = self.flows.entry(flow);
        state.settle(before, restarted);
        // The flow's own packet: a share of the packet is due, all of it is received.
        state.lag = state
            .lag_at(self.granted, restarted)
            .saturating_sub(u128::from(bytes) << PLACES);
        state.seen = self.granted;
        state.shrink(bytes);
    }

    /// An accepted packet of `bytes` bytes is dropped. The flow's lag stays, unless no other packet
    /// waits.
    pub fn withdraw(&mut self, flow: FlowId, bytes: u32) {
        let granted = self.granted;
        let restarted = self.restarted;
        let state = self.flows.entry(flow);
        state.settle(granted, restarted);
        state.shrink(bytes);
    }

    /// The largest index in bytes, including the current backlogged period; 0 for a flow never
    /// backlogged.
    pub fn worst(&self, flow: FlowId) -> f64 {
        let worst = match self.flows.known(flow) {
            Some(state) => state.worst.max(state.lag_at(self.granted, self.restarted)),
            None => 0,
        };
        worst as f64 / (1u128 << PLACES) as f64
    }

    /// The sum of weights, the denominator of shares.
    pub fn total_weight(&self) -> u64 {
        self.total_weight
    }

    fn change_weight(&mut self, flow: FlowId, weight: u32) {
        let granted = self.granted;
        let restarted = self.restarted;
        let state = self.flows.entry(flow);
        if state.weight == weight {
            return;
        }
        state.settle(granted, restarted);
        let total = self.total_weight.saturating_sub(state.weight.into()) + u64::from(weight);
        state.weight = weight;
        self.set_total_weight(total);
    }

    /// Sets the sum of weights from now on, if different from the sum of the registered weights: a
    /// scheduler may count a weight for a while after its flow left. Later registrations and
    /// removals change this sum.
    pub fn set_total_weight(&mut self, total: u64) {
        self.total_weight = total;
        self.inverse = (1u128 << INVERSE_PLACES)
            .checked_div(total.into())
            .unwrap_or(0);
    }
}

/// Data of a packet for [`TimeWfi`] and [`Lateness`](crate::Lateness) at its completion; the driver
/// stores the stamp with the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// t_a.
    pub(crate) arrival: Instant,
    /// Q_k(t_a+) in bytes.
    backlog: u64,
    /// Length of this packet.
    pub(crate) bytes: u32,
    /// The flow's weight at t_a.
    pub(crate) weight: u32,
}

/// Measures the Time Worst-case Fair Index of each flow: the largest
/// `t_c - t_a - Q_k(t_a+) / (phi_k R)` over its packets (Eq. 11), where t_a is a packet's arrival
/// and t_c the end of its transmission.
///
/// **Backlog.** Q_k(t_a+) includes the packet itself and all earlier packets of the flow not yet
/// completely transmitted: the packet on the link counts in full (the paper's section 3: a flow
/// with such packets is backlogged). Packets dropped later stay in the stamps of packets behind
/// them, which can only reduce the index. Packets that never complete are not measured.
///
/// **Weights that change.** phi_k is the smallest possible share of the flow during the packet's
/// stay: the smaller of the weights at t_a and t_c over the largest sum of registered weights in
/// between. The largest sum since any past time is kept in a stack of falling maxima, searched by
/// t_a, with at most one entry for each distinct sum. For a flow with two weight changes during one
/// packet's stay, only the two ends count.
///
/// **Precision.** `f64`: relative error of Q / (phi R) below 2^-50.
#[derive(Debug, Clone)]
pub struct TimeWfi {
    /// 1 / R.
    seconds_per_byte: f64,
    totals: Totals,
    flows: FlowTable<TimeFlow>,
    /// Packets of any flow with an earlier arrival are not measured.
    anew_since: Instant,
}

#[derive(Debug, Clone)]
struct TimeFlow {
    /// Bytes not yet completely transmitted.
    backlog: u64,
    /// Seconds; minus infinity before the first packet has completed.
    worst: f64,
    /// Zero if not registered.
    weight: u32,
    /// Packets with an earlier arrival are not measured.
    since: Instant,
}

impl Default for TimeFlow {
    fn default() -> Self {
        Self {
            backlog: 0,
            worst: f64::NEG_INFINITY,
            weight: 0,
            since: Instant::ZERO,
        }
    }
}

impl TimeWfi {
    /// A meter for a link of this constant rate.
    pub fn new(rate: Rate) -> Self {
        Self {
            seconds_per_byte: 8.0 / rate.bits_per_second() as f64,
            totals: Totals::default(),
            flows: FlowTable::default(),
            anew_since: Instant::ZERO,
        }
    }

    /// Registers a flow with this weight, or changes its weight from now on.
    ///
    /// # Panics
    /// If the weight is zero.
    #[inline]
    pub fn set_weight(&mut self, now: Instant, flow: FlowId, weight: u32) {
        assert!(weight > 0, "a weight of zero is due no service");
        self.change_weight(now, flow, weight);
    }

    /// Ends a flow's registration. Later completions of its packets use the weight at arrival.
    pub fn remove(&mut self, now: Instant, flow: FlowId) {
        self.change_weight(now, flow, 0);
    }

    /// Asks for the memory of the flow's record, for a packet that arrives soon.
    #[inline]
    pub fn prefetch(&self, flow: FlowId) {
        self.flows.prefetch(flow);
    }

    /// A packet of `bytes` bytes has been accepted. Registers a new flow with weight 1.
    #[inline]
    pub fn arrive(&mut self, now: Instant, flow: FlowId, bytes: u32) -> Stamp {
        let mut state = self.flows.entry(flow);
        if state.weight == 0 {
            self.change_weight(now, flow, 1);
            state = self.flows.entry(flow);
        }
        state.backlog += u64::from(bytes);
        Stamp {
            arrival: now,
            backlog: state.backlog,
            bytes,
            weight: state.weight,
        }
    }

    /// Excludes packets with an arrival before `now`: see [`BitWfi::restart`].
    pub fn restart(&mut self, now: Instant, flow: FlowId) {
        self.flows.entry(flow).since = now;
    }

    /// Excludes all packets with an arrival before `now` and discards the largest indices, for
    /// example after a warm-up. Touches each flow.
    pub fn forget(&mut self, now: Instant) {
        for flow in self.flows.iter_mut() {
            flow.worst = f64::NEG_INFINITY;
        }
        self.anew_since = now;
    }

    /// The packet with this stamp has completed transmission at `now`.
    #[inline]
    pub fn complete(&mut self, now: Instant, flow: FlowId, stamp: Stamp) {
        let total = self.totals.largest_since(stamp.arrival);
        let state = self.flows.entry(flow);
        let weight = if state.weight == 0 {
            stamp.weight
        } else {
            stamp.weight.min(state.weight)
        };
        let due = stamp.backlog as f64 * self.seconds_per_byte * (total as f64 / f64::from(weight));
        if stamp.arrival >= state.since.max(self.anew_since) {
            state.worst = state
                .worst
                .max(now.since(stamp.arrival).as_secs_f64() - due);
        }
        state.shrink(stamp.bytes);
    }

    /// The packet with this stamp, accepted before, is dropped.
    pub fn withdraw(&mut self, flow: FlowId, stamp: Stamp) {
        self.flows.entry(flow).shrink(stamp.bytes);
    }

    /// The largest index in seconds: negative if each packet was faster than at the flow's share;
    /// None if no packet has completed.
    pub fn worst(&self, flow: FlowId) -> Option<f64> {
        let worst = self.flows.known(flow)?.worst;
        worst.is_finite().then_some(worst)
    }

    fn change_weight(&mut self, now: Instant, flow: FlowId, weight: u32) {
        let state = self.flows.entry(flow);
        if state.weight == weight {
            return;
        }
        let total = self.totals.present().saturating_sub(state.weight.into()) + u64::from(weight);
        state.weight = weight;
        self.totals.set(now, total);
    }

    /// Sets the sum of weights from now on, if different from the sum of the registered weights:
    /// see [`BitWfi::set_total_weight`].
    pub fn set_total_weight(&mut self, now: Instant, total: u64) {
        self.totals.set(now, total);
    }
}

impl TimeFlow {
    fn shrink(&mut self, bytes: u32) {
        debug_assert!(
            self.backlog >= u64::from(bytes),
            "more leaves than has arrived"
        );
        self.backlog = self.backlog.saturating_sub(u64::from(bytes));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use roundelay::Duration;

    use super::*;

    const A: FlowId = FlowId(0);
    const B: FlowId = FlowId(1);

    #[test]
    fn what_was_before_a_restart_counts_no_more() {
        for all in [false, true] {
            let mut wfi = BitWfi::default();
            [A, B].iter().for_each(|flow| wfi.set_weight(*flow, 1));
            (0..20).for_each(|_| wfi.arrive(B, 100));
            wfi.arrive(A, 100);
            (0..6).for_each(|_| wfi.serve(B, 100));
            assert_eq!(wfi.worst(A), 300.0);
            if all {
                wfi.restart_all()
            } else {
                wfi.restart(A)
            }
            (0..4).for_each(|_| wfi.serve(B, 100));
            assert_eq!(wfi.worst(A), if all { 200.0 } else { 300.0 }, "{all}");
            (0..6).for_each(|_| wfi.serve(B, 100));
            assert_eq!(wfi.worst(A), 500.0);
        }
    }

    #[test]
    fn what_was_before_is_forgotten() {
        let mut bits = BitWfi::default();
        let mut time = TimeWfi::new(Rate::from_bits_per_second(8_000).unwrap());
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        bits.set_weight(A, 1);
        bits.set_weight(B, 1);
        let stamps = [0, 0, 6].map(|seconds| time.arrive(at(seconds), A, 1000));
        (0..20).for_each(|_| bits.arrive(B, 100));
        bits.arrive(A, 100);
        (0..6).for_each(|_| bits.serve(B, 100));
        time.complete(at(5), A, stamps[0]);
        assert_eq!((bits.worst(A), time.worst(A)), (300.0, Some(4.0)));
        bits.forget();
        time.forget(at(6));
        assert_eq!((bits.worst(A), time.worst(A)), (0.0, None));
        (0..4).for_each(|_| bits.serve(B, 100));
        time.complete(at(7), A, stamps[1]);
        assert_eq!(
            (bits.worst(A), time.worst(A)),
            (200.0, None),
            "it came before"
        );
        time.complete(at(10), A, stamps[2]);
        assert_eq!(time.worst(A), Some(1.0), "three packets in four seconds");
    }

    #[test]
    fn a_flow_that_waits_for_a_burst_is_behind_by_its_share_of_it() {
        let mut wfi = BitWfi::default();
        wfi.set_weight(A, 3);
        wfi.set_weight(B, 1);
        for _ in 0..10 {
            wfi.arrive(A, 1_000);
            wfi.arrive(B, 1_000);
        }
        for _ in 0..10 {
            wfi.serve(A, 1_000);
        }
        assert_eq!(
            (wfi.worst(A), wfi.worst(B)),
            (0.0, 2_500.0),
            "the open period counts"
        );
        wfi.serve(B, 1_000);
        wfi.serve(B, 1_000);
        assert_eq!(wfi.worst(B), 2_500.0, "being served cannot make it worse");
    }

    #[test]
    fn only_backlogged_time_counts() {
        let mut wfi = BitWfi::default();
        wfi.arrive(A, 9_000);
        wfi.set_weight(B, 1);
        wfi.serve(A, 4_000);
        wfi.arrive(B, 100);
        wfi.serve(A, 1_000);
        wfi.withdraw(B, 100);
        wfi.serve(A, 1_000);
        wfi.arrive(B, 100);
        wfi.serve(A, 600);
        assert_eq!(wfi.worst(B), 500.0);
        assert_eq!(wfi.worst(FlowId(9)), 0.0);
    }

    #[test]
    fn shares_follow_the_registered_weights() {
        let mut wfi = BitWfi::default();
        wfi.arrive(A, 9_000);
        wfi.arrive(B, 9_000);
        wfi.serve(A, 1_000);
        wfi.set_weight(FlowId(2), 2);
        wfi.serve(A, 1_000);
        wfi.remove(FlowId(2));
        wfi.set_weight(B, 3);
        wfi.serve(A, 1_000);
        assert_eq!(wfi.worst(B), 500.0 + 250.0 + 750.0);
        assert_eq!(wfi.total_weight(), 4);
        wfi.remove(B);
        wfi.serve(A, 1_000);
        assert_eq!(
            wfi.worst(B),
            1_500.0,
            "a flow that has gone is due nothing more"
        );
    }

    #[test]
    fn the_error_of_long_runs_is_far_below_a_byte() {
        let mut wfi = BitWfi::default();
        wfi.set_weight(A, 3);
        wfi.set_weight(B, 4);
        wfi.arrive(B, 1);
        wfi.arrive(A, u32::MAX);
        for _ in 0..1_000_000 {
            wfi.serve(A, 1_001);
        }
        assert!(
            (wfi.worst(B) - 1_001e6 * 4.0 / 7.0).abs() < 1e-6,
            "{}",
            wfi.worst(B)
        );
    }

    #[derive(Debug, Clone, Copy)]
    enum Event {
        Arrive(u32, u32),
        Serve(u32),
        Withdraw(u32),
        Weigh(u32, u32),
        Remove(u32),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            4 => (0u32..4, 1u32..1_500).prop_map(|(flow, len)| Event::Arrive(flow, len)),
            4 => (0u32..4).prop_map(Event::Serve),
            1 => (0u32..4).prop_map(Event::Withdraw),
            1 => (0u32..4, 1u32..9).prop_map(|(flow, weight)| Event::Weigh(flow, weight)),
            1 => (0u32..4).prop_map(Event::Remove),
        ]
    }

    /// Events of one flow between two instants.
    #[derive(Debug, Clone, Copy)]
    struct Step {
        due: f64,
        got: f64,
        backlogged_after: bool,
    }

    /// Queues and weights of four flows, with the complete history.
    #[derive(Debug, Default)]
    struct Model {
        queues: [VecDeque<u32>; 4],
        weights: [u32; 4],
        steps: [Vec<Step>; 4],
    }

    impl Model {
        /// Applies an event, unless impossible, to the model and to the meter.
        fn play(&mut self, event: Event, wfi: &mut BitWfi) {
            let mut service = (0, 0);
            match event {
                Event::Arrive(flow, len) => {
                    let weight = &mut self.weights[flow as usize];
                    *weight = (*weight).max(1);
                    self.queues[flow as usize].push_back(len);
                    wfi.arrive(FlowId(flow), len);
                }
                Event::Serve(flow) => {
                    let Some(len) = self.queues[flow as usize].pop_front() else {
                        return;
                    };
                    service = (flow as usize, len);
                    wfi.serve(FlowId(flow), len);
                }
                Event::Withdraw(flow) => {
                    let Some(len) = self.queues[flow as usize].pop_back() else {
                        return;
                    };
                    wfi.withdraw(FlowId(flow), len);
                }
                Event::Weigh(flow, weight) => {
                    self.weights[flow as usize] = weight;
                    wfi.set_weight(FlowId(flow), weight);
                }
                Event::Remove(flow) => {
                    self.weights[flow as usize] = 0;
                    wfi.remove(FlowId(flow));
                }
            }
            self.log(service);
        }

        fn log(&mut self, (served, len): (usize, u32)) {
            let total: u32 = self.weights.iter().sum();
            for flow in 0..4 {
                let due = f64::from(len) * f64::from(self.weights[flow]) / f64::from(total.max(1));
                let got = if flow == served { f64::from(len) } else { 0.0 };
                self.steps[flow].push(Step {
                    due,
                    got,
                    backlogged_after: !self.queues[flow].is_empty(),
                });
            }
        }

        /// Eq. 7 over all intervals.
        fn worst(&self, flow: usize) -> f64 {
            let steps = &self.steps[flow];
            let mut worst = 0.0f64;
            for first in (0..steps.len()).filter(|&at| steps[at].backlogged_after) {
                let mut behind = 0.0;
                for step in &steps[first + 1..] {
                    behind += step.due - step.got;
                    worst = worst.max(behind);
                    if !step.backlogged_after {
                        break;
                    }
                }
            }
            worst
        }
    }

    proptest! {
        #[test]
        fn the_bit_index_is_the_worst_of_all_intervals(events in prop::collection::vec(event(), 0..300)) {
            let mut model = Model::default();
            let mut wfi = BitWfi::default();
            for (number, &event) in events.iter().enumerate() {
                model.play(event, &mut wfi);
                if number % 37 == 0 || number == events.len() - 1 {
                    for flow in 0..4 {
                        let measured = wfi.worst(FlowId(flow));
                        let exact = model.worst(flow as usize);
                        prop_assert!((measured - exact).abs() < 1e-6, "flow {}: {} for {}", flow, measured, exact);
                    }
                }
            }
        }
    }

    const fn at(micros: u64) -> Instant {
        Instant::from_nanos(1_000 * micros)
    }

    fn mega_bytes_per_second() -> Rate {
        Rate::from_bits_per_second(8_000_000).expect("not zero")
    }

    /// Completes a packet and returns the flow's index in microseconds.
    fn complete(wfi: &mut TimeWfi, micros: u64, stamp: Stamp) -> f64 {
        wfi.complete(at(micros), A, stamp);
        wfi.worst(A)
            .map_or(f64::NAN, |seconds| (seconds * 1e9).round() / 1e3)
    }

    #[test]
    fn the_time_index_is_the_delay_beyond_the_backlog_at_its_share() {
        // A byte takes a microsecond, or two at half of the link.
        let mut wfi = TimeWfi::new(mega_bytes_per_second());
        wfi.set_weight(at(0), B, 1);
        let first = wfi.arrive(at(0), A, 100);
        let second = wfi.arrive(at(50), A, 200);
        assert_eq!(wfi.worst(A), None);
        assert_eq!(
            complete(&mut wfi, 100, first),
            100.0 - 200.0,
            "faster than its share"
        );
        let third = wfi.arrive(at(150), A, 100);
        assert_eq!(
            complete(&mut wfi, 700, second),
            650.0 - 600.0,
            "both packets waited"
        );
        assert_eq!(
            complete(&mut wfi, 800, third),
            650.0 - 600.0,
            "the first had gone"
        );
    }

    #[test]
    fn dropped_packets_leave_the_backlog() {
        let mut wfi = TimeWfi::new(mega_bytes_per_second());
        let dropped = wfi.arrive(at(0), A, 500);
        wfi.withdraw(A, dropped);
        let packet = wfi.arrive(at(0), A, 100);
        assert_eq!(complete(&mut wfi, 150, packet), 50.0);
    }

    #[test]
    fn the_smallest_share_during_the_stay_is_what_is_owed() {
        let mut wfi = TimeWfi::new(mega_bytes_per_second());
        let packet = wfi.arrive(at(0), A, 100);
        wfi.set_weight(at(10), B, 3);
        wfi.remove(at(20), B);
        assert_eq!(complete(&mut wfi, 500, packet), 500.0 - 400.0);
        let packet = wfi.arrive(at(500), A, 100);
        assert_eq!(
            complete(&mut wfi, 700, packet),
            100.0,
            "B had gone when this one came"
        );
        let packet = wfi.arrive(at(700), A, 100);
        wfi.remove(at(710), A);
        assert_eq!(
            complete(&mut wfi, 901, packet),
            101.0,
            "a flow that has gone is judged by what it weighed"
        );
        wfi.set_weight(at(1_000), B, 1);
        let packet = wfi.arrive(at(1_000), A, 100);
        wfi.set_weight(at(1_010), A, 3);
        assert_eq!(
            complete(&mut wfi, 1_500, packet),
            101.0,
            "500 less 400: the weight was 1 when it came, and the sum rose to 4"
        );
        wfi.remove(at(1_500), B);
        let packet = wfi.arrive(at(1_500), A, 100);
        wfi.set_weight(at(1_510), A, 1);
        assert_eq!(
            complete(&mut wfi, 1_950, packet),
            450.0 - 300.0,
            "a weight that has fallen counts, too"
        );
    }

    #[test]
    fn a_fluid_like_scheduler_has_a_small_index_and_a_blind_one_a_large_one() {
        // Two greedy flows of equal weight: strict alternation stays within a packet, serving all
        // of B first does not.
        let run = |alternate: bool| {
            let mut wfi = TimeWfi::new(mega_bytes_per_second());
            let stamps = |wfi: &mut TimeWfi, flow| {
                (0..10)
                    .map(|_| wfi.arrive(at(0), flow, 100))
                    .collect::<Vec<_>>()
            };
            let a = stamps(&mut wfi, A);
            let b = stamps(&mut wfi, B);
            let a = a.into_iter().map(|stamp| (A, stamp));
            let b = b.into_iter().map(|stamp| (B, stamp));
            let order: Vec<_> = if alternate {
                b.zip(a).flat_map(|(b, a)| [b, a]).collect()
            } else {
                b.chain(a).collect()
            };
            for (turn, (flow, stamp)) in order.into_iter().enumerate() {
                wfi.complete(
                    Instant::ZERO + Duration::from_micros(100 * (turn as u64 + 1)),
                    flow,
                    stamp,
                );
            }
            wfi.worst(A).map(|seconds| (seconds * 1e6).round())
        };
        assert_eq!((run(true), run(false)), (Some(0.0), Some(900.0)));
    }
}
