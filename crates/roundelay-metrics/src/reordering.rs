//! Reordering: packets of a flow that depart after a later arrival (RFC 4737, section 3:
//! Type-P-Reordered).

use roundelay::FlowId;

use crate::table::FlowTable;

/// Counts how many packets of each flow are reordered.
///
/// A packet is reordered if its sequence number is below the largest departed number (RFC 4737's
/// `s < NextExp`). Whoever observes the arrivals assigns consecutive numbers, so there are no
/// duplicates, and a gap is a dropped packet.
#[derive(Debug, Clone, Default)]
pub struct Reordering {
    flows: FlowTable<Departures>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Departures {
    /// RFC 4737's NextExp: the largest departed number plus one.
    next_expected: u64,
    reordered: u64,
}

impl Reordering {
    /// A packet departs, the flow's `sequence`-th arrival, counted from zero and below 2^64 - 1.
    /// Returns whether the packet is reordered.
    #[inline]
    pub fn depart(&mut self, flow: FlowId, sequence: u64) -> bool {
        let departures = self.flows.entry(flow);
        let late = sequence < departures.next_expected;
        if !late {
            departures.next_expected = sequence + 1;
        }
        departures.reordered += u64::from(late);
        late
    }

    /// How many of the flow's packets were reordered.
    pub fn reordered(&self, flow: FlowId) -> u64 {
        self.flows
            .known(flow)
            .map_or(0, |departures| departures.reordered)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_overtaken_count() {
        let mut reordering = Reordering::default();
        let late: Vec<bool> = [0, 1, 4, 2, 3, 5]
            .into_iter()
            .map(|sequence| reordering.depart(FlowId(7), sequence))
            .collect();
        assert_eq!(late, [false, false, false, true, true, false]);
        reordering.depart(FlowId(2), 9);
        assert_eq!(
            [7, 2, 0, 99].map(|flow| reordering.reordered(FlowId(flow))),
            [2, 0, 0, 0]
        );
    }

    proptest! {
        #[test]
        fn as_many_as_have_a_later_one_before_them(order in Just((0..30u64).collect::<Vec<_>>()).prop_shuffle()) {
            let mut reordering = Reordering::default();
            for (position, &sequence) in order.iter().enumerate() {
                let overtaken = order[..position].iter().any(|&earlier| earlier > sequence);
                prop_assert_eq!(reordering.depart(FlowId(0), sequence), overtaken);
            }
        }
    }
}
