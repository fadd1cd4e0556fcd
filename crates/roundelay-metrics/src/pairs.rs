//! Measured fairness between pairs of flows.
//!
//! Source: S. J. Golestani, "A Self-Clocked Fair Queueing Scheme for Broadband Applications",
//! INFOCOM 1994: |W_i / r_i - W_j / r_j| over any interval in which both flows are backlogged.

use roundelay::FlowId;

use crate::table::FlowTable;

/// How many flows are compared at the same time.
const SLOTS: usize = 64;
const NO_SLOT: u8 = u8::MAX;

/// Measures the largest difference between the service per weight of a flow and of any other flow,
/// over any interval in which both were backlogged: bytes per unit of weight.
///
/// **Exact for up to 64 flows at a time.** A newly backlogged flow takes one of 64 slots, if one is
/// free, and keeps the slot until idle. All flows with slots are compared with each other. A flow
/// without a slot is left out until its next backlogged period. With more than 64 backlogged flows
/// some pairs are not compared, so the measure may be below the true value, but never above.
///
/// **Cost.** Each served packet costs a step for each slot up to the highest one taken, several
/// slots at once. A pair needs only one flow's smallest lead over the other since both are
/// backlogged, which we compare when the first is served. The other flow's lead follows by
/// symmetry.
///
/// **Convention.** As in [`BitWfi`](crate::BitWfi), a packet counts entirely when dequeued, and a
/// flow is backlogged until its last packet is dequeued. Counting bits during transmission gives no
/// larger value, because only one flow is served at a time.
#[derive(Debug, Clone)]
pub struct PairFairness {
    flows: FlowTable<FlowSlot>,
    /// Bit i: slot i is taken.
    taken: u64,
    /// Bytes over weight since the slot was taken.
    served: Row,
    /// Largest difference since the slot was taken.
    worst: Row,
    /// Term added to each difference: zero for a taken slot, minus infinity for a free slot, whose
    /// differences must not count.
    free_penalty: Row,
    /// How far each slot's flow has led each other slot's flow at least, since both are backlogged.
    least_lead: Vec<Row>,
}

/// One number per slot.
type Row = [f64; SLOTS];

#[derive(Debug, Clone)]
struct FlowSlot {
    weight: u32,
    packets: u64,
    slot: u8,
    worst: f64,
}

impl Default for FlowSlot {
    fn default() -> Self {
        Self {
            weight: 1,
            packets: 0,
            slot: NO_SLOT,
            worst: 0.0,
        }
    }
}

impl Default for PairFairness {
    fn default() -> Self {
        let zero = [0.0; SLOTS];
        Self {
            flows: FlowTable::default(),
            taken: 0,
            served: zero,
            worst: zero,
            free_penalty: [f64::NEG_INFINITY; SLOTS],
            least_lead: vec![zero; SLOTS],
        }
    }
}

impl PairFairness {
    /// Sets a flow's weight, by default 1. A change restarts the flow's comparison.
    ///
    /// # Panics
    /// If the weight is zero.
    pub fn set_weight(&mut self, flow: FlowId, weight: u32) {
        assert!(weight > 0, "a weight of zero is due no service");
        let state = self.flows.entry(flow);
        if state.weight != weight {
            state.weight = weight;
            self.restart(flow);
        }
    }

    /// Restarts the flow's comparison and keeps the largest difference. See
    /// [`BitWfi::restart`](crate::BitWfi::restart).
    pub fn restart(&mut self, flow: FlowId) {
        let slot = self.flows.entry(flow).slot;
        if slot != NO_SLOT {
            self.begin(usize::from(slot));
        }
    }

    /// Asks for the memory that holds the flow's record, for a packet that arrives soon.
    #[inline]
    pub fn prefetch(&self, flow: FlowId) {
        self.flows.prefetch(flow);
    }

    /// A packet of the flow has been accepted.
    #[inline]
    pub fn arrive(&mut self, flow: FlowId) {
        let state = self.flows.entry(flow);
        state.packets += 1;
        let free = (!self.taken).trailing_zeros() as usize;
        if state.packets == 1 && free < SLOTS {
            state.slot = free as u8;
            self.taken |= 1 << free;
            (self.served[free], self.worst[free], self.free_penalty[free]) = (0.0, 0.0, 0.0);
            self.begin(free);
        }
    }

    /// A packet with `bytes` bytes is dequeued.
    #[inline]
    pub fn serve(&mut self, flow: FlowId, bytes: u32) {
        let state = self.flows.entry(flow);
        let slot = usize::from(state.slot);
        if slot < SLOTS {
            let grown = f64::from(bytes) / f64::from(state.weight);
            self.compare(slot, grown);
        }
        self.leave_backlog(flow);
    }

    /// An accepted packet is dropped.
    pub fn withdraw(&mut self, flow: FlowId) {
        self.leave_backlog(flow);
    }

    /// The flow's largest difference to any other, in bytes per unit of weight.
    pub fn worst(&self, flow: FlowId) -> f64 {
        let Some(state) = self.flows.known(flow) else {
            return 0.0;
        };
        match self.worst.get(usize::from(state.slot)) {
            Some(worst) => state.worst.max(*worst),
            None => state.worst,
        }
    }

    /// Starts all comparisons with a slot. A slot beyond the highest one taken starts its own when
    /// it is taken.
    fn begin(&mut self, slot: usize) {
        for other in 0..self.slots() {
            let lead = self.served[slot] - self.served[other];
            self.least_lead[slot][other] = lead;
            self.least_lead[other][slot] = -lead;
        }
    }

    /// Slots up to the highest one taken.
    fn slots(&self) -> usize {
        SLOTS - self.taken.leading_zeros() as usize
    }

    /// Compares all slots up to the highest one taken, without a branch, to process several at
    /// once.
    fn compare(&mut self, slot: usize, grown: f64) {
        let slots = self.slots();
        let before = self.served[slot];
        let mut most = f64::NEG_INFINITY;
        self.free_penalty[slot] = f64::NEG_INFINITY;
        let others = self.served[..slots].iter().zip(&self.free_penalty[..slots]);
        let kept = self.least_lead[slot][..slots]
            .iter_mut()
            .zip(&mut self.worst[..slots]);
        for ((served, penalty), (least, worst)) in others.zip(kept) {
            let lead = before - served;
            *least = if lead < *least { lead } else { *least };
            let difference = lead + grown - *least + penalty;
            *worst = if difference > *worst {
                difference
            } else {
                *worst
            };
            most = if difference > most { difference } else { most };
        }
        self.free_penalty[slot] = 0.0;
        self.worst[slot] = self.worst[slot].max(most);
        self.served[slot] += grown;
    }

    /// A packet leaves the flow's backlog.
    fn leave_backlog(&mut self, flow: FlowId) {
        let state = self.flows.entry(flow);
        debug_assert!(state.packets > 0, "more leaves than has arrived");
        state.packets = state.packets.saturating_sub(1);
        if state.packets == 0 && state.slot != NO_SLOT {
            let slot = std::mem::replace(&mut state.slot, NO_SLOT);
            state.worst = state.worst.max(self.worst[usize::from(slot)]);
            self.taken &= !(1 << slot);
            self.free_penalty[usize::from(slot)] = f64::NEG_INFINITY;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: FlowId = FlowId(0);
    const B: FlowId = FlowId(1);

    #[test]
    fn only_what_both_could_have_had_counts() {
        let mut pairs = PairFairness::default();
        (0..6).for_each(|_| pairs.arrive(A));
        pairs.serve(A, 1_000);
        pairs.arrive(B);
        pairs.serve(A, 300);
        pairs.serve(A, 300);
        assert_eq!(
            (pairs.worst(A), pairs.worst(B)),
            (600.0, 600.0),
            "before B came it was due nothing"
        );
        pairs.serve(B, 100);
        pairs.serve(A, 300);
        assert_eq!(pairs.worst(A), 600.0, "B has gone");
        pairs.arrive(B);
        pairs.serve(A, 500);
        assert_eq!(pairs.worst(B), 600.0, "B is compared anew");
    }

    #[test]
    fn service_is_held_against_weights() {
        let mut pairs = PairFairness::default();
        pairs.set_weight(A, 4);
        (0..9).for_each(|_| [A, B].into_iter().for_each(|flow| pairs.arrive(flow)));
        pairs.serve(A, 400);
        pairs.serve(B, 100);
        pairs.serve(A, 400);
        assert_eq!(pairs.worst(A), 100.0);
        pairs.withdraw(B);
        pairs.restart(A);
        pairs.serve(B, 90);
        assert_eq!(pairs.worst(B), 100.0);
    }

    #[test]
    fn with_more_flows_than_slots_some_are_left_out_and_none_is_wronged() {
        let mut pairs = PairFairness::default();
        (0..100).for_each(|flow| pairs.arrive(FlowId(flow)));
        (0..100).for_each(|_| pairs.arrive(FlowId(99)));
        (0..100).for_each(|_| pairs.serve(FlowId(99), 1_000));
        assert_eq!(pairs.worst(FlowId(99)), 0.0, "it found no slot");
        pairs.serve(FlowId(0), 10);
        assert_eq!(
            (
                pairs.worst(FlowId(0)),
                pairs.worst(FlowId(63)),
                pairs.worst(FlowId(64))
            ),
            (10.0, 10.0, 0.0)
        );
        pairs.arrive(FlowId(0));
        assert_eq!(pairs.flows.known(FlowId(0)).map(|flow| flow.slot), Some(0));
    }

    /// The definition: service of both flows of a pair in each interval between events in which
    /// both were backlogged.
    fn definition(events: &[(u32, u32, bool)], weights: [u32; 4], of: usize) -> f64 {
        let mut worst = 0.0f64;
        for other in (0..4).filter(|other| *other != of) {
            let mut packets = [0u32; 4];
            let mut leads: Vec<f64> = vec![];
            for &(flow, bytes, arrives) in events {
                let flow = flow as usize;
                if arrives {
                    packets[flow] += 1;
                } else if packets[flow] > 0 {
                    packets[flow] -= 1;
                    let signed = f64::from(bytes) / f64::from(weights[flow]);
                    if !leads.is_empty() {
                        let last = leads[leads.len() - 1];
                        leads.push(
                            last + if flow == of {
                                signed
                            } else if flow == other {
                                -signed
                            } else {
                                0.0
                            },
                        );
                        for (at, early) in leads.iter().enumerate() {
                            worst = leads[at..]
                                .iter()
                                .map(|late: &f64| (late - early).abs())
                                .fold(worst, f64::max);
                        }
                    }
                }
                if packets[of] == 0 || packets[other] == 0 {
                    leads.clear();
                } else if leads.is_empty() {
                    leads.push(0.0);
                }
            }
        }
        worst
    }

    proptest! {
        #[test]
        fn it_is_the_worst_of_all_pairs_and_intervals(
            events in prop::collection::vec((0u32..4, 1u32..1_500, prop::bool::weighted(0.55)), 0..80),
            weights in prop::array::uniform4(1u32..9),
        ) {
            let mut pairs = PairFairness::default();
            let mut packets = [0; 4];
            (0..4).for_each(|flow| pairs.set_weight(FlowId(flow), weights[flow as usize]));
            for &(flow, bytes, arrives) in &events {
                if arrives {
                    packets[flow as usize] += 1;
                    pairs.arrive(FlowId(flow));
                } else if packets[flow as usize] > 0 {
                    packets[flow as usize] -= 1;
                    pairs.serve(FlowId(flow), bytes);
                }
            }
            for flow in 0..4 {
                let measured = pairs.worst(FlowId(flow));
                let exact = definition(&events, weights, flow as usize);
                prop_assert!((measured - exact).abs() < 1e-6, "flow {}: {} for {}", flow, measured, exact);
            }
        }
    }
}
