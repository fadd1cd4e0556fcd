//! Rounds before service (Equation 1 of the MQFQ paper) in two queues, all small states: an exact
//! model without the scheduler's code.
//!
//! A flow has both queues. One queue has the turn, with part of its credit left; both may hold a
//! packet of other flows. Three packets of the flow arrive at the same time; each goes into the
//! queue with fewer rounds before service (ties: the queue served sooner); then all leave.

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

/// The flow's packets have numbers; other packets have none.
#[derive(Debug, Clone, Default)]
struct Queue {
    packets: Vec<(u32, Option<usize>)>,
    /// Bytes left for its turn: deficit, plus the quantum if the turn has not begun.
    credit: u32,
}

impl Queue {
    fn with(packet: Option<u32>, credit: u32) -> Self {
        let packets: Vec<_> = packet.map(|len| (len, None)).into_iter().collect();
        let credit = if packets.is_empty() { QUANTUM } else { credit };
        Self { packets, credit }
    }

    fn rounds(&self, len: u32) -> u32 {
        let queued: u32 = self.packets.iter().map(|packet| packet.0).sum();
        (queued + len).saturating_sub(self.credit).div_ceil(QUANTUM)
    }
}

/// The order of departure of three packets. The first queue has the turn, if it holds a packet.
fn served(mut queues: [Queue; 2], lengths: [u32; 3], rule: Rule) -> Vec<usize> {
    let mut ring: Vec<usize> = (0..2)
        .filter(|queue| !queues[*queue].packets.is_empty())
        .collect();
    for (number, len) in lengths.into_iter().enumerate() {
        let asked = if rule == Rule::Longest { 1500 } else { len };
        let place = |queue: &usize| {
            ring.iter()
                .position(|member| member == queue)
                .unwrap_or(usize::MAX)
        };
        let soonest = [0, 1]
            .into_iter()
            .min_by_key(|queue| (queues[*queue].rounds(asked), place(queue)))
            .unwrap_or(0);
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
fn states() -> impl Iterator<Item = [Queue; 2]> {
    let held = || std::iter::once(None).chain(LENGTHS.map(Some));
    let credits = |least: u32| (0..3).map(move |step| least + 500 * step);
    held().flat_map(move |one| {
        held().flat_map(move |two| {
            credits(500).flat_map(move |turn| {
                let carried = credits(QUANTUM)
                    .filter(move |credit| two.is_none_or(|len| credit - QUANTUM < len));
                carried.map(move |credit| [Queue::with(one, turn), Queue::with(two, credit)])
            })
        })
    })
}

/// The part of all states and length triples with reordering.
fn reordered(rule: Rule, triples: &[[u32; 3]]) -> f64 {
    let cases =
        || states().flat_map(|state| triples.iter().map(move |lengths| (state.clone(), *lengths)));
    let bad = cases()
        .filter(|(state, lengths)| !served(state.clone(), *lengths, rule).is_sorted())
        .count();
    bad as f64 / cases().count() as f64
}

/// Figures of the exhaustive search.
pub(super) fn figures() -> Vec<(String, f64)> {
    let equal = LENGTHS.map(|len| [len; 3]);
    let all = LENGTHS
        .map(|one| LENGTHS.map(|two| LENGTHS.map(|three| [one, two, three])))
        .concat()
        .concat();
    let unequal: Vec<_> = all
        .into_iter()
        .filter(|triple| !equal.contains(triple))
        .collect();
    let rows = [
        (
            "model: reordered, equal lengths, Equation 1",
            Rule::Own,
            &equal[..],
        ),
        (
            "model: reordered, unequal lengths, Equation 1",
            Rule::Own,
            &unequal,
        ),
        (
            "model: reordered, unequal lengths, longest packet for p",
            Rule::Longest,
            &unequal,
        ),
    ];
    rows.map(|(figure, rule, triples)| (figure.to_owned(), reordered(rule, triples)))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lengths_keep_order_in_all_states_and_no_rule_on_p_saves_the_others() {
        let figures = figures();
        println!("{figures:?}, {} states", states().count());
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
