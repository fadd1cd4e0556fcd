//! Charges: costs known only after service (an answer's tokens, a request's time), for fair shares
//! of the actual cost.
//!
//! A scheduler orders requests by an estimated cost. The flow owes the difference to the actual
//! cost, or is owed it, and it goes into the lengths of the flow's next requests. So in the long
//! run the scheduler counts what each flow has used, with any discipline and in any tree.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use crate::packet::FlowId;

/// Differences between actual and estimated costs, by flow.
///
/// ```
/// use roundelay::schedulers::drr::Drr;
/// use roundelay::{Charges, FlowId, Instant, Packet, Scheduler};
///
/// let (mut queue, mut charges) = (Drr::default(), Charges::default());
/// let mut request = |queue: &mut Drr<&'static str>, charges: &mut Charges, flow, name| {
///     // An estimate of 500 tokens, at most 65,536 at a time.
///     let len = charges.len(FlowId(flow), 500, 65_536);
///     queue.enqueue(Instant::ZERO, Packet::new(FlowId(flow), len, name)).expect("DRR takes every packet");
///     len
/// };
/// assert_eq!(request(&mut queue, &mut charges, 0, "summarise"), 500);
/// let served = queue.dequeue(Instant::ZERO).expect("one request waits");
/// // The answer took 1,700 tokens.
/// charges.charge(served.flow, 1_700 - 500);
/// assert_eq!(request(&mut queue, &mut charges, 0, "translate"), 500 + 1_200);
/// ```
///
/// For costs above 65,536, the longest packet in most weighted disciplines, choose a larger unit.
/// Lengths are then multiples of the unit, and remainders are owed.
///
/// ```
/// use core::num::NonZeroU32;
/// use roundelay::{Charges, FlowId};
///
/// let mut charges = Charges::in_units_of(NonZeroU32::new(1_000).expect("not zero"));
/// // Two requests of 1,500,600 each.
/// assert_eq!(charges.len(FlowId(0), 1_500_600, 65_536), 1_500);
/// assert_eq!(charges.len(FlowId(0), 1_500_600, 65_536), 1_501);
/// ```
#[derive(Debug, Clone)]
pub struct Charges {
    /// What a byte of length costs.
    unit: NonZeroU32,
    /// Cost by flow. Positive: the flow has used more than it was charged.
    owed: Vec<i64>,
}

impl Default for Charges {
    /// One unit of cost is one byte of length.
    fn default() -> Self {
        Self::in_units_of(NonZeroU32::MIN)
    }
}

impl Charges {
    /// `unit` units of cost are one byte of length.
    pub const fn in_units_of(unit: NonZeroU32) -> Self {
        Self {
            unit,
            owed: Vec::new(),
        }
    }

    /// Adds a difference: the actual cost less the estimate, after service. A request that was
    /// cancelled costs nothing, so its difference is the estimate with a minus sign.
    pub fn charge(&mut self, flow: FlowId, difference: i64) {
        if flow.fits_a_table() {
            let owed = self.owed_mut(flow);
            *owed = owed.saturating_add(difference);
        }
    }

    /// Takes back the charge for a request with this `len` and estimate that was dropped before
    /// service. The part of `len` beyond the estimate is owed again.
    pub fn dropped(&mut self, flow: FlowId, len: u32, estimate: u32) {
        let charged = i64::from(len) * i64::from(self.unit.get());
        self.charge(flow, charged - i64::from(estimate));
    }

    fn owed_mut(&mut self, flow: FlowId) -> &mut i64 {
        if self.owed.len() <= flow.index() {
            self.owed.resize(flow.index() + 1, 0);
        }
        &mut self.owed[flow.index()]
    }

    /// The length for a flow's next request, from 1 to `most` (the flow's longest packet):
    /// estimated cost plus debt, in units. The remainder stays in the debt.
    ///
    /// While actual costs exceed `most` units on average, debts grow without end and shares follow
    /// the lengths, so choose the unit by the largest actual cost. Flows beyond
    /// [`FlowId::LARGEST_TABLED`] have no debts.
    pub fn len(&mut self, flow: FlowId, estimate: u32, most: u32) -> u32 {
        let unit = i64::from(self.unit.get());
        if !flow.fits_a_table() {
            return (i64::from(estimate) / unit).clamp(1, i64::from(most.max(1))) as u32;
        }
        let owed = self.owed_mut(flow);
        let due = i64::from(estimate).saturating_add(*owed);
        let len = (due / unit).clamp(1, i64::from(most.max(1)));
        *owed = due.saturating_sub(len * unit);
        len as u32
    }

    /// The difference that is not yet in a request's length. Positive: the flow has used more than
    /// it was charged.
    pub fn owed(&self, flow: FlowId) -> i64 {
        self.owed.get(flow.index()).copied().unwrap_or(0)
    }

    /// Forgets a flow that has left.
    pub fn remove_flow(&mut self, flow: FlowId) {
        if let Some(owed) = self.owed.get_mut(flow.index()) {
            *owed = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Lengths and what is owed always add up to the actual costs.
        #[test]
        fn nothing_is_forgotten_or_charged_twice(
            unit in 1u32..2_000,
            requests in prop::collection::vec((0u32..3, 1u32..200_000, 0u32..3_000_000), 1..200),
        ) {
            let unit = NonZeroU32::new(unit).expect("not zero");
            let mut charges = Charges::in_units_of(unit);
            let mut used = [0i64; 3];
            let mut charged = [0i64; 3];
            for (flow, estimate, actual) in requests {
                let len = charges.len(FlowId(flow), estimate, 65_536);
                prop_assert!((1..=65_536).contains(&len));
                charges.charge(FlowId(flow), i64::from(actual) - i64::from(estimate));
                used[flow as usize] += i64::from(actual);
                charged[flow as usize] += i64::from(len) * i64::from(unit.get());
            }
            for flow in 0..3 {
                prop_assert_eq!(used[flow] - charged[flow], charges.owed(FlowId(flow as u32)));
            }
        }
    }

    #[test]
    fn an_estimate_beyond_the_longest_packet_is_owed() {
        let mut charges = Charges::default();
        assert_eq!(
            (
                charges.len(FlowId(0), 100_000, 65_536),
                charges.owed(FlowId(0))
            ),
            (65_536, 100_000 - 65_536)
        );
        assert_eq!(
            (charges.len(FlowId(0), 1, 65_536), charges.owed(FlowId(0))),
            (100_001 - 65_536, 0)
        );
    }

    #[test]
    fn a_dropped_request_leaves_debts_as_they_were() {
        let mut charges = Charges::in_units_of(NonZeroU32::new(10).expect("not zero"));
        charges.charge(FlowId(0), 1_234);
        let len = charges.len(FlowId(0), 500, 100);
        assert_eq!((len, charges.owed(FlowId(0))), (100, 734));
        charges.dropped(FlowId(0), len, 500);
        assert_eq!(charges.owed(FlowId(0)), 1_234);
    }

    #[test]
    fn a_stray_flow_number_costs_no_memory() {
        let mut charges = Charges::default();
        let stray = FlowId(u32::MAX);
        charges.charge(stray, 5);
        assert_eq!(
            (
                charges.len(stray, 500, 100),
                charges.owed(stray),
                charges.owed.len()
            ),
            (100, 0, 0)
        );
    }

    #[test]
    fn a_flow_that_left_owes_nothing() {
        let mut charges = Charges::default();
        charges.charge(FlowId(2), 700);
        charges.charge(FlowId(1), i64::MAX);
        charges.charge(FlowId(1), 1);
        charges.remove_flow(FlowId(2));
        charges.remove_flow(FlowId(9));
        assert_eq!(
            (charges.owed(FlowId(2)), charges.len(FlowId(2), 10, 100)),
            (0, 10)
        );
        assert_eq!(
            (charges.len(FlowId(1), 10, 100), charges.owed(FlowId(1))),
            (100, i64::MAX - 100),
            "saturated, not wrapped"
        );
    }
}
