//! Rounds before service (Equation 1 of the MQFQ paper) in two queues, all small states: an exact
//! model without the scheduler's code.
//!
//! A flow has both queues. One queue has the turn, with part of its credit left, and both may hold
//! a packet of other flows. Three packets of the flow arrive at the same time. Each goes into the
//! queue with fewer rounds before service, or on a tie into the queue that is served sooner. Then
//! all leave.

const QUANTUM: u32 = 1500;
const LENGTHS: [u32; 3] = [500, 1000, 1500];

/// The packet length used for p in Equation 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The packet's own length.
    Own,
    /// The longest possible length: the paper's "naive attempt".
    Longest,
}

/// A queue's packets. The flow's packets have numbers, but others have none.
#[derive(Debug, Clone, Default)]
struct Queue {
    packets: Vec<(u32, Option<usize>)>,
    /// Bytes left for its turn: deficit, plus the quantum if the turn has not begun.
    credit: u32,
}

impl Queue {
    fn with(packet: Option<u32>, credit: u32) -> Self {
        let packets = Vec::from_iter(packet.map(|len| (len, None)));
        let credit = if packets.is_empty() { QUANTUM } else { credit };
        Self { packets, credit }
    }

    fn rounds(&self, len: u32) -> u32 {
        let queued: u32 = self.packets.iter().map(|packet| packet.0).sum();
        (queued + len).saturating_sub(self.credit).div_ceil(QUANTUM)
    }
}

/// The order in which three packets leave. The first queue has the turn, if it holds a packet.
fn served(mut queues: [Queue; 2], lengths: [u32; 3], rule: Rule) -> Vec<usize> {
    let mut ring = Vec::new();
    for (queue, content) in queues.iter().enumerate() {
        if !content.packets.is_empty() {
            ring.push(queue);
        }
    }
    for (number, len) in lengths.into_iter().enumerate() {
        let asked = if rule == Rule::Longest { 1500 } else { len };
        // Equation 1. On a tie, the queue that is served sooner.
        let [first, second] = [0, 1].map(|queue| {
            let turn = ring.iter().position(|member| *member == queue);
            (queues[queue].rounds(asked), turn.unwrap_or(usize::MAX))
        });
        let soonest = usize::from(second < first);
        if queues[soonest].packets.is_empty() {
            ring.push(soonest);
        }
        queues[soonest].packets.push((len, Some(number)));
    }
    let mut order = Vec::new();
    while let Some(front) = ring.first().copied() {
        let queue = &mut queues[front];
        match queue.packets.first().copied() {
            Some((len, number)) if len <= queue.credit => {
                queue.packets.remove(0);
                queue.credit -= len;
                order.extend(number);
            }
            Some(_) => {
                queue.credit += QUANTUM;
                ring.rotate_left(1);
            }
            None => drop(ring.remove(0)),
        }
    }
    order
}

/// All states: other flows' packets in each queue, the rest of the turn's credit, and the carried
/// credit.
fn states() -> Vec<[Queue; 2]> {
    let held = [None, Some(LENGTHS[0]), Some(LENGTHS[1]), Some(LENGTHS[2])];
    let mut states = Vec::new();
    for one in held {
        for two in held {
            for turn in [500, 1000, 1500] {
                for carried in [0, 500, 1000] {
                    // A carried credit is too small for the queue's first packet.
                    if two.is_none_or(|len| carried < len) {
                        let credit = QUANTUM + carried;
                        states.push([Queue::with(one, turn), Queue::with(two, credit)]);
                    }
                }
            }
        }
    }
    states
}

/// The fraction of states and length triples in which packets are reordered.
fn reordered(rule: Rule, triples: &[[u32; 3]]) -> f64 {
    let mut cases = 0;
    let mut reordered = 0;
    for state in states() {
        for lengths in triples {
            cases += 1;
            let order = served(state.clone(), *lengths, rule);
            reordered += u32::from(!order.is_sorted());
        }
    }
    f64::from(reordered) / f64::from(cases)
}

/// Figures that the exhaustive search finds.
pub(super) fn figures() -> Vec<(String, f64)> {
    let equal = LENGTHS.map(|len| [len; 3]);
    let mut unequal = Vec::new();
    for one in LENGTHS {
        for two in LENGTHS {
            for three in LENGTHS {
                if one != two || two != three {
                    unequal.push([one, two, three]);
                }
            }
        }
    }
    let figures = [
        (
            "model: reordered, equal lengths, Equation 1",
            reordered(Rule::Own, &equal),
        ),
        (
            "model: reordered, unequal lengths, Equation 1",
            reordered(Rule::Own, &unequal),
        ),
        (
            "model: reordered, unequal lengths, longest packet for p",
            reordered(Rule::Longest, &unequal),
        ),
    ];
    figures
        .map(|(figure, part)| (figure.to_owned(), part))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lengths_keep_order_in_all_states_and_no_rule_on_p_saves_the_others() {
        let figures = figures();
        println!("{figures:?}, {} states", states().len());
        assert_eq!(figures[0].1, 0.0);
        assert!(figures[1].1 > 0.01 && figures[2].1 > 0.01);
    }

    #[test]
    fn the_example_is_one_of_them() {
        let state = || {
            [
                Queue {
                    packets: vec![(200, None)],
                    credit: 1200,
                },
                Queue::with(None, 0),
            ]
        };
        assert_eq!(served(state(), [1500, 1000, 1500], Rule::Own)[..2], [1, 0]);
        assert!(served(state(), [1000; 3], Rule::Own).is_sorted());
    }
}
