//! Smoothed round robin (SRR): the binary digits of a flow's weight spread its turns over the
//! round.
//!
//! If a round robin gives a flow of weight w its w quanta in one turn, the flow sends a burst, and
//! then nothing until all other flows had their turns. Under SRR it has w turns of one quantum in a
//! round. Each set bit in the weight puts the flow into a column. The column for bit b is visited
//! 2^b times a round, evenly spaced, and each visit gives all flows in the column a turn. The
//! trailing zeros of a counter select the next column. SRR is as cheap as DRR and smoother. But
//! delay grows with the number of flows, because a visit serves *all* flows in a column.
//!
//! Source: C. Guo, "SRR: An O(1) Time-Complexity Packet Scheduler for Flows in Multiservice Packet
//! Networks", SIGCOMM 2001, IEEE/ACM ToN 12(6), 2004. The paper's text was not at hand. The
//! sequence and the matrix follow common descriptions, and the bounds are derived in this file.
//!
//! | paper | here |
//! |---|---|
//! | weight spread sequence: S_1 = 1; S_k = S_(k-1), k, S_(k-1) | term n is 1 + the trailing zeros of n; `next_term` |
//! | order of the sequence, k_max | the highest column with flows; the counter moves in steps of `PERIOD` / 2^k_max |
//! | weight matrix: row of a flow, column of a bit | `FlowRecord::weight`, `columns` |
//! | deficit | `FlowRecord::deficit` |
//!
//! | guarantee | value | test in `theorems/srr.rs` |
//! |---|---|---|
//! | turns in a round | as many as the weight | `a_round_has_as_many_turns_of_a_flow_as_its_weight` |
//! | spread: between two turns of flow k, turns of flow j | at most w_j / 2^h + B_j | `turns_are_spread` |
//! | B-WFI, of flows within their longest packet | (1 - phi)(Q B_k + L_k) + phi (Q sum of B_j + (N - 1) L) | `bounds_hold_in_random_and_adversarial_workloads` |
//! | T-WFI and latency | (B-WFI / phi + L) / R | the same |
//! | fairness | (Q B_k + L_k) / r_k + (Q B_j + L_j) / r_j | the same |
//!
//! Q is the quantum, B_k the number of set bits in the weight w_k (at most 10, at most w_k), h the
//! highest of these bits. Sums are over the other flows. r = phi R.
//!
//! **Proof.** Count terms as if no column were ever empty. An empty column has no turns, so
//! skipping one changes nothing. With 2^11 terms a round, the last of them without a column, the
//! column for bit b comes at every 2^(11 - b)-th term exactly, also across rounds. In x consecutive
//! terms the column comes at least (x + 1) / 2^(11 - b) - 1 times and at most
//! (x - 1) / 2^(11 - b) + 1 times. Take an interval with y terms between the term in which it
//! begins (not counted) and the term in which it ends. Flow k, backlogged throughout, has its turns
//! in the y - 1 terms within: at least m = w_k y / 2^11 - B_k. Flow j has turns in the y + 1 terms
//! touched: at most w_j y / 2^11 + B_j = w_j / w_k (m + B_k) + B_j. In m turns flow k sends more
//! than m Q - L_k bytes, because the deficit carried over is less than a packet. In n turns flow j
//! sends less than n Q + L_j. Weighted with phi and 1 - phi, the terms with m cancel, which leaves
//! the B-WFI. The difference of both, divided by the weights, is the fairness. Before a packet is
//! taken, the link has sent at most (the flow's bytes before this packet + B-WFI) / phi and the
//! rest of a packet. Less the time that a link with the flow's share needs, this gives T-WFI and
//! latency. Since B_j <= w_j, the sum is at most the sum of the other weights.
//!
//! DRR has Q w_k in place of Q B_k here, and no other term with Q, because each flow there has one
//! turn a round. The gain is for flows with large weights among few other flows. All bounds are
//! O(N), like those of any round robin.
//!
//! Cost: O(1) a packet if the quantum is at least the longest packet, because one of two
//! consecutive terms belongs to the highest column. A longer packet costs O(B) for B backlogged
//! flows, even with a quantum of one byte, because after more fruitless turns than backlogged
//! flows, the terms until some flow can send are counted, not walked (`skip_terms`). The total is
//! at most about 4 B terms and turns, and two walks of the columns' lists, which contain each of
//! these flows once for each set bit in its weight. Idle flows cost nothing. Memory: one record and
//! eleven pairs of links for each flow, see `footprint`.
//!
//! Beyond the published description: the position counts on when the order changes, because flows
//! that come and go could otherwise hold up the light flows. A newly backlogged flow is put before
//! the flows still to be served in the present visit, and waits for the next visit, so an immediate
//! return gains no turn. A flow with a new weight keeps its position in the columns common to both
//! weights.

use alloc::vec::Vec;

use crate::author::{
    Backlog, Bound, ConfigError, Configured, Control, Discipline, DropReason, FlowConfig, FlowId,
    Footprint, Guarantees, Handle, Instant, Links, Linux, Nodes, Packet, Parameter, Queues,
    Refused, Scheduler, Seed, Share, Storage,
};
use crate::mechanisms::flow_table::{FlowRecord, FlowTable};
use crate::mechanisms::longest::Longest;

const NONE: u32 = u32::MAX;
/// Columns: one for each bit of the largest weight.
const COLUMNS: usize = FlowConfig::MAX_WEIGHT.ilog2() as usize + 1;
/// Terms in a round, the last of them without a column.
const PERIOD: u32 = 1 << COLUMNS;

/// Parameters of SRR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Bytes that a flow may send in a turn: 1 to 2^20.
    pub quantum: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { quantum: 1514 }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "srr";
    const ABOUT: &'static str = "smoothed round robin: as many turns in a round as the flow's weight, spread over the round";
    const SOURCE: &'static str = "Guo, SRR: An O(1) Time-Complexity Packet Scheduler for Flows in Multiservice Packet Networks, SIGCOMM 2001";
    const LINUX: Linux = Linux::Absent;
    const PARAMETERS: &'static [Parameter<Self>] = &[Parameter::size(
        "quantum",
        1..=1 << 20,
        "bytes that a flow may send in a turn; the longest packet or more for constant cost",
        |config| &mut config.quantum,
    )];
    const LIVE: &'static [&'static str] = &["quantum"];
    const WEIGHTED: bool = true;
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    const QUEUES: Queues = Queues::PerFlow;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Srr<T>;
    type ByHandle = Srr<Handle, Links>;

    fn configuration<T: Send>(scheduler: &mut Srr<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    /// A turn in progress is cut as if begun with the smaller quantum.
    fn adopt<T: Send>(scheduler: &mut Srr<T>, before: &Self) {
        if let Some(flow) = scheduler.flows.get_mut(scheduler.serving as usize) {
            flow.state.deficit = flow.state.deficit.saturating_sub(
                before
                    .quantum
                    .saturating_sub(scheduler.config.quantum)
                    .into(),
            );
        }
    }

    fn guarantees(&self, share: &Share) -> Guarantees {
        let own = self.around(share.weight, share.max_packet_len);
        let any = u64::from(share.link_max_packet_len);
        let others = share.flows.saturating_sub(1);
        let bits = share
            .total_weight
            .saturating_sub(share.weight.into())
            .min(others * MOST_BITS);
        let b_wfi = own - share.of(own).saturating_sub(1).min(own)
            + share.of(u64::from(self.quantum) * bits + others * any);
        let late = share.rate.time_of(share.per_share(b_wfi) + any);
        let of_other = |weight| {
            Share { weight, ..*share }.per_share(self.around(weight, share.link_max_packet_len))
        };
        let other = (share.least_weight.max(1)..=FlowConfig::MAX_WEIGHT)
            .map(of_other)
            .max()
            .unwrap_or(0);
        let unfair = share.rate.time_of(share.per_share(own) + other);
        let source = "schedulers/srr.rs: (1 - phi)(Q B_k + L_k) + phi (Q sum of B_j + (N - 1) L)";
        let late = Some(Bound {
            value: late,
            source: "schedulers/srr.rs: (B-WFI / phi + L) / R",
        });
        let fairness = Bound {
            value: unfair,
            source: "schedulers/srr.rs: (Q B_k + L_k) / r_k + (Q B_j + L_j) / r_j",
        };
        Guarantees {
            b_wfi: Some(Bound {
                value: b_wfi,
                source,
            }),
            t_wfi: late,
            latency: late,
            fairness: Some(fairness),
            ..Guarantees::default()
        }
    }
}

/// Largest number of set bits in a weight: that of 1023.
const MOST_BITS: u64 = FlowConfig::MAX_WEIGHT.ilog2() as u64;

impl Config {
    /// Q B_k + L_k: how far a flow's bytes can be from its share of the past terms.
    fn around(self, weight: u32, max_packet_len: u32) -> u64 {
        u64::from(self.quantum) * u64::from(weight.count_ones()) + u64::from(max_packet_len)
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Srr<T, P = Nodes<T>> {
    flows: FlowTable<T, Turn, P>,
    /// Each flow's neighbours in the columns of its weight, while it is backlogged.
    links: Vec<[ColumnLinks; COLUMNS]>,
    /// First flow of each column. Column b stands for bit b.
    columns: [u32; COLUMNS],
    /// Columns with flows, one bit each.
    occupied: u32,
    /// Number of the present term in its round, below [`PERIOD`].
    position: u32,
    /// Flow with the next turn in the visit to this term's column.
    cursor: u32,
    /// Flow with the present turn.
    serving: u32,
    backlogged: usize,
    /// Turns without a packet since the last packet.
    fruitless_turns: usize,
    config: Config,
    /// Terms, turns and links walked.
    #[cfg(test)]
    steps: u64,
}

#[derive(Debug, Clone, Default)]
struct Turn {
    /// Bytes left in this turn, or carried to the next.
    deficit: u64,
}

#[derive(Debug, Clone, Copy)]
struct ColumnLinks {
    previous: u32,
    next: u32,
}

const UNLINKED: [ColumnLinks; COLUMNS] = [ColumnLinks {
    previous: NONE,
    next: NONE,
}; COLUMNS];

/// The column of a term. None: the last term of a round.
#[inline]
const fn column_of(position: u32) -> Option<usize> {
    if position == 0 {
        None
    } else {
        // S_k = S_(k-1), k, S_(k-1): term n is 1 + the trailing zeros of n.
        Some(COLUMNS - 1 - position.trailing_zeros() as usize)
    }
}

/// A weight's columns, which are its set bits.
fn bits(mut weight: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = weight.checked_ilog2()?;
        weight &= !(1 << bit);
        Some(bit as usize)
    })
}

/// How many turns a flow of this weight has in the first `terms` terms of all rounds.
fn turns(weight: u32, terms: u64) -> u64 {
    let of_column = |bit: usize| (terms + (1 << (COLUMNS - 1 - bit))) >> (COLUMNS - bit);
    bits(weight).map(of_column).sum()
}

impl<T, P: Storage<T>> Configured<Config> for Srr<T, P> {
    fn configured(config: Config, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            flows: FlowTable::default(),
            links: Vec::new(),
            columns: [NONE; COLUMNS],
            occupied: 0,
            position: 0,
            cursor: NONE,
            serving: NONE,
            backlogged: 0,
            fruitless_turns: 0,
            config,
            #[cfg(test)]
            steps: 0,
        })
    }
}

impl<T, P: Storage<T>> Srr<T, P> {
    /// An unknown flow joins with weight 1.
    fn enqueue_packet(&mut self, packet: Packet<T>) {
        let number = packet.flow.index();
        if self.flows.record(number).weight == 0 {
            self.set_weight(number, FlowConfig::DEFAULT.weight);
        }
        if self.flows.push(packet) {
            self.backlogged += 1;
            for column in bits(self.flows[number].weight) {
                self.link(number, column);
            }
        }
    }

    fn dequeue_packet(&mut self) -> Option<P::Leaving> {
        loop {
            if let Some(flow) = self.flows.get(self.serving as usize) {
                if u64::from(flow.queue.next_len()?) <= flow.state.deficit {
                    return self.send(self.serving as usize);
                }
                self.serving = NONE;
                self.fruitless_turns += 1;
            }
            self.serving = self.next_turn()?;
            // A term of the weight spread sequence gives each flow in its column one quantum.
            self.flows[self.serving as usize].state.deficit += u64::from(self.config.quantum);
        }
    }

    fn send(&mut self, number: usize) -> Option<P::Leaving> {
        let flow = &mut self.flows[number];
        flow.state.deficit -= u64::from(flow.queue.head_len());
        let (packet, flow) = self.flows.pop(number, |_| None);
        self.fruitless_turns = 0;
        if flow.queue.is_empty() {
            self.end_backlog(number);
        }
        packet
    }

    /// The flow has lost its last packet, so it forfeits the credit, and the turn if it has it.
    fn end_backlog(&mut self, number: usize) {
        for column in bits(self.flows[number].weight) {
            self.unlink(number, column);
        }
        self.backlogged -= 1;
        if self.serving == number as u32 {
            self.serving = NONE;
        }
        self.flows[number].state.deficit = 0;
        if self.flows.has_left(number) {
            self.set_weight(number, 0);
        }
    }

    /// The flow with the next turn: in the present visit, or in the next one.
    fn next_turn(&mut self) -> Option<u32> {
        while self.cursor == NONE {
            if self.fruitless_turns > self.backlogged {
                self.skip_terms();
            }
            self.next_term()?;
        }
        let number = self.cursor;
        let column = column_of(self.position)?;
        self.cursor = self.links[number as usize][column].next;
        #[cfg(test)]
        {
            self.steps += 1;
        }
        Some(number)
    }

    /// Moves to the next term of the sequence. The highest column sets the order. The step is the
    /// distance between its terms in the longest sequence.
    fn next_term(&mut self) -> Option<()> {
        let step = PERIOD >> (self.occupied.checked_ilog2()? + 1);
        // The next term of S_k, in the longest sequence.
        self.position = (self.position / step + 1) * step % PERIOD;
        self.cursor = column_of(self.position).map_or(NONE, |column| self.columns[column]);
        #[cfg(test)]
        {
            self.steps += 1;
        }
        Some(())
    }

    /// After more fruitless turns than backlogged flows, counts at once all terms before the first
    /// one in which a flow can send.
    #[cold]
    fn skip_terms(&mut self) {
        self.fruitless_turns = 0;
        let from = u64::from(self.position);
        let quantum = self.config.quantum;
        let mut least = None;
        self.for_each_backlogged(|flow, head| {
            least = Some(
                least
                    .unwrap_or(u64::MAX)
                    .min(terms_short(flow, head, from, quantum)),
            )
        });
        let to = from + least.unwrap_or(1) - 1;
        self.for_each_backlogged(|flow, _| {
            flow.state.deficit +=
                u64::from(quantum) * (turns(flow.weight, to) - turns(flow.weight, from))
        });
        self.position = (to % u64::from(PERIOD)) as u32;
    }

    /// Shows each backlogged flow and its head's length once, on the walk through the flow's
    /// highest column.
    fn for_each_backlogged(&mut self, mut show: impl FnMut(&mut FlowRecord<Turn>, u32)) {
        for (column, first) in self.columns.into_iter().enumerate() {
            let mut at = first;
            while let Some(flow) = self.flows.get_mut(at as usize) {
                at = self.links[at as usize][column].next;
                if let Some(len) = flow
                    .queue
                    .next_len()
                    .filter(|_| flow.weight.ilog2() as usize == column)
                {
                    show(flow, len);
                }
                #[cfg(test)]
                {
                    self.steps += 1;
                }
            }
        }
    }
}

/// Number of terms after `from` until the flow can send a packet of `len` bytes.
fn terms_short(flow: &FlowRecord<Turn>, len: u32, from: u64, quantum: u32) -> u64 {
    let short = u64::from(len).saturating_sub(flow.state.deficit);
    let turns_short = short.div_ceil(quantum.into()).max(1) - 1;
    let rounds = turns_short / u64::from(flow.weight);
    let rest = turns_short % u64::from(flow.weight);
    let has_turns = |terms: u64| turns(flow.weight, from + terms) - turns(flow.weight, from) > rest;
    // Bisection: a whole round has enough turns, zero terms have none.
    let mut too_few = 0;
    let mut enough = u64::from(PERIOD);
    while enough - too_few > 1 {
        let middle = u64::midpoint(too_few, enough);
        if has_turns(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    rounds * u64::from(PERIOD) + enough
}

/// Columns.
impl<T, P: Storage<T>> Srr<T, P> {
    /// Puts a flow at the front of a column. If the column is being visited, the flow waits for the
    /// next visit.
    fn link(&mut self, number: usize, column: usize) {
        let next = self.columns[column];
        self.links[number][column] = ColumnLinks {
            previous: NONE,
            next,
        };
        if let Some(neighbour) = self.links.get_mut(next as usize) {
            neighbour[column].previous = number as u32;
        }
        self.columns[column] = number as u32;
        self.occupied |= 1 << column;
    }

    fn unlink(&mut self, number: usize, column: usize) {
        let ColumnLinks { previous, next } = self.links[number][column];
        if self.cursor == number as u32 && column_of(self.position) == Some(column) {
            self.cursor = next;
        }
        if let Some(neighbour) = self.links.get_mut(next as usize) {
            neighbour[column].previous = previous;
        }
        match self.links.get_mut(previous as usize) {
            Some(neighbour) => neighbour[column].next = next,
            None => self.columns[column] = next,
        }
        if self.columns[column] == NONE {
            self.occupied &= !(1 << column);
        }
    }

    fn set_weight(&mut self, number: usize, weight: u32) {
        if number >= self.links.len() {
            self.links.resize(number + 1, UNLINKED);
        }
        let flow = self.flows.record(number);
        let before = core::mem::replace(&mut flow.weight, weight);
        if !flow.queue.is_empty() {
            for column in bits(before & !weight) {
                self.unlink(number, column);
            }
            for column in bits(weight & !before) {
                self.link(number, column);
            }
        }
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for Srr<T, P> {
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        if let Err(reason) = self.flows.make_room_for(&packet, u32::MAX) {
            return Err(packet.refused(reason));
        }
        self.enqueue_packet(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<P::Leaving> {
        self.dequeue_packet()
    }

    /// The tail of the longest backlog.
    fn evict(&mut self) -> Option<P::Leaving> {
        let number = self.flows.longest()?;
        let packet = self.flows.pop_tail(number);
        if self.flows[number].queue.is_empty() {
            self.end_backlog(number);
        }
        packet
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }
}

impl<T, P: Storage<T>> Control for Srr<T, P> {
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(Config::NAME, flow)?;
        self.flows.stay(flow.index());
        self.set_weight(flow.index(), config.weight);
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        if self.flows.remove(flow) {
            self.set_weight(flow.index(), 0);
        }
    }

    fn footprint(&self) -> Footprint {
        let bytes_per_flow = FlowTable::<T, Turn, P>::BYTES_PER_FLOW + size_of_val(&UNLINKED);
        Footprint {
            fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES,
            bytes_per_flow,
        }
    }

    /// 1. A backlogged flow is once in each of its weight's columns and in no other, an idle flow
    ///    in none. Columns are doubly linked and marked in `occupied`.
    /// 2. An idle flow has no deficit and no turn.
    /// 3. The cursor is on a flow of the visited column.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        let mut found = alloc::vec![0; self.flows.iter().len()];
        for (column, first) in self.columns.iter().enumerate() {
            assert_eq!(
                self.occupied >> column & 1 == 1,
                *first != NONE,
                "invariant 1: occupied columns are known"
            );
            let mut at = *first;
            let mut before = NONE;
            while at != NONE {
                let ColumnLinks { previous, next } = self.links[at as usize][column];
                assert_eq!(previous, before, "invariant 1: linked both ways");
                assert_eq!(
                    found[at as usize] & 1 << column,
                    0,
                    "invariant 1: once in a column"
                );
                found[at as usize] |= 1 << column;
                (before, at) = (at, next);
            }
        }
        let mut backlogged = 0;
        for (flow, found) in self.flows.iter().zip(&found) {
            let is_idle = flow.queue.is_empty();
            backlogged += usize::from(!is_idle);
            assert_eq!(
                *found,
                if is_idle { 0 } else { flow.weight },
                "invariant 1: in the columns of its weight"
            );
            assert!(
                !is_idle || flow.state.deficit == 0,
                "invariant 2: an idle flow carries nothing"
            );
        }
        self.flows.check();
        assert_eq!(
            self.backlogged, backlogged,
            "flows that are backlogged are counted"
        );
        assert!(
            self.flows
                .get(self.serving as usize)
                .is_none_or(|flow| !flow.queue.is_empty()),
            "invariant 2: no turn for an idle flow"
        );
        let visited = column_of(self.position).map_or(0, |column| 1 << column);
        assert!(
            found
                .get(self.cursor as usize)
                .is_none_or(|columns| columns & visited != 0),
            "invariant 3"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S_k = S_(k-1), k, S_(k-1).
    fn spread(order: u32) -> Vec<u32> {
        if order == 0 {
            Vec::new()
        } else {
            [spread(order - 1), alloc::vec![order], spread(order - 1)].concat()
        }
    }

    #[test]
    fn terms_are_those_of_the_weight_spread_sequence() {
        for order in 1..=COLUMNS as u32 {
            let mut srr = Config::default().build::<()>(Seed::new(0)).expect("legal");
            srr.occupied = 1 << (order - 1);
            let terms = core::iter::from_fn(|| {
                srr.next_term()?;
                column_of(srr.position).map(|column| order - column as u32)
            });
            assert_eq!(terms.collect::<Vec<_>>(), spread(order), "order {order}");
        }
    }

    /// Idle flows, however many, add nothing to the cost of a packet longer than the quantum.
    #[test]
    fn a_long_packet_costs_a_look_at_the_flows_that_are_backlogged() {
        for (known, backlogged, weight, quantum) in [
            (20_000, 2, 1, 1514),
            (20_000, 2, 1023, 1),
            (20_000, 40, 700, 100),
            (300, 300, 1, 1514),
            (300, 300, 1023, 1),
        ] {
            let mut srr = Config { quantum }.build(Seed::new(0)).expect("legal");
            (0..known).for_each(|flow| srr.enqueue_packet(Packet::new(FlowId(flow), 1, ())));
            while srr.dequeue_packet().is_some() {}
            for flow in 0..backlogged {
                srr.set_weight(flow as usize, 1 + (weight - 1) * (flow % 2));
                (0..5).for_each(|_| srr.enqueue_packet(Packet::new(FlowId(flow), 9000, ())));
            }
            while !srr.backlog().is_empty() {
                let bits: u32 = (0..backlogged as usize)
                    .map(|flow| srr.flows[flow].weight.count_ones())
                    .sum();
                srr.steps = 0;
                assert!(srr.dequeue_packet().is_some());
                assert!(
                    srr.steps <= u64::from(4 * backlogged + 2 * bits + 10),
                    "{} of {backlogged} flows, {bits} bits",
                    srr.steps
                );
            }
        }
    }

    #[test]
    fn turns_are_counted_as_the_terms_come() {
        for weight in [1, 2, 3, 511, 640, 1023, 1024] {
            let mut counted = 0;
            for term in 1..=u64::from(2 * PERIOD) {
                let column = column_of((term % u64::from(PERIOD)) as u32);
                counted += column.map_or(0, |column| u64::from(weight >> column & 1));
                assert_eq!(turns(weight, term), counted, "weight {weight}, term {term}");
            }
            assert_eq!(
                counted,
                2 * u64::from(weight),
                "as many in a round as the weight"
            );
        }
    }
}
