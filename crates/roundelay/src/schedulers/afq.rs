//! Approximate Fair Queueing of Ghosh and Givargis, not the AFQ of NSDI 2018: the flow whose head packet is due first sends a credit of bytes.
//!
//! A flow is as urgent as the packet at its head. Of the backlogged flows the most urgent one is taken, and it sends as many packets in a
//! row as its credit, which is proportional to its weight, covers; then its next head says how urgent it is. Flows are sorted once a turn
//! and not once a packet, which is what the authors are after. Deadlines are what the senders say: who stamps earlier ones goes first, so
//! this is earliest deadline first with turns, and fair only among those that tie.
//!
//! Source: A. Ghosh, T. Givargis, "Approximate Fair Queueing: A Low Complexity Packet Scheduler for Embedded Networks", technical report
//! CECS-09-02, University of California, Irvine, 2009.
//!
//! | paper | here |
//! |---|---|
//! | deadline of a flow | [`Packet::deadline`] of its head |
//! | r_i, requested bandwidth | `Flow::weight` |
//! | b_i, allocated bandwidth | what the weight comes to among the others; it is not computed |
//! | c_i, credit, proportional to b_i | weight x `Config::quantum`, added to `Flow::deficit` |
//! | num_i = floor(c_i / p) | packets in a row while `Flow::deficit` covers the head |
//!
//! | property | value | test in `theorems/afq.rs` |
//! |---|---|---|
//! | each turn is that of the flow with the earliest head | | `equals_its_definition` |
//! | m turns of a flow send at most m c_i bytes | | `turns_stay_within_their_credit` |
//! | decisions | one a turn, at most one a packet | `flows_are_sorted_once_a_turn` |
//! | shares | by weight among flows that tie, to within a credit and a packet each | `flows_that_tie_share_by_weight` |
//! | wait of a packet | turns that begin with a packet due no later, and the turn that it finds | `a_packet_waits_for_turns_due_no_later` |
//!
//! No B-WFI, no T-WFI, no latency, no fairness: each would bound one flow's service whatever the others stamp, and
//! `earlier_deadlines_starve_everybody_else` shows that there is no such bound.
//!
//! Cost: one insertion and one removal in a heap a turn, O(log N); constant for the other packets of a turn. Memory: one record a flow,
//! see `footprint`.
//!
//! What the report leaves open, and what is done here:
//!
//! * *Credit.* "Similar to deficit round robin": what a turn leaves is carried to the flow's next one, and a flow that empties forfeits it.
//! * *A credit below the head packet.* The flow would be taken again and again, its deadline being what it was, and gain a credit each
//!   time. It gets these credits at once. Among flows that tie it takes that many rounds for them, so that shares hold.
//! * *Equal deadlines.* Round robin: of flows whose heads are due alike, the one of the earlier round, then of the smaller number.
//! * *No deadline.* Such packets come after all that have one. Without any deadlines this is deficit round robin.
//! * *A packet that becomes more urgent than the flow whose turn it is* waits for the end of the turn.
//! * *Figures.* The captions give f_1 a requested bandwidth of 4 where the figure's is 3, and f_3 an allocated one of 4 where the text's is
//!   8. That f_3 sends 4 packets of 2 units with b_3 = 8 needs a credit of at least 1 a unit of b; then f_1 and f_4, with b = 6, may send 3,
//!   not 2. The figures agree with the rule if they have 2 packets (`tests/traces/afq-figures.md`).

use crate::buffer::Limit;
use crate::config::{ConfigError, Kind, Parameter, saturated};
use crate::mechanisms::heap::{Heap, Key};
use crate::mechanisms::longest::Longest;
use crate::packet::{FlowId, Packet};
use crate::pool::{Backlog, Pool, Queue};
use crate::scheduler::{FlowConfig, Footprint, Scheduler, is_time_to_check};
use crate::schedulers::{Discipline, Times};
use crate::time::Instant;
use alloc::vec::Vec;

/// Parameters of AFQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The credit of a turn, in bytes a unit of weight: 1 to 2^20.
    pub quantum: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { quantum: 1514 }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "afq";
    const ABOUT: &'static str =
        "approximate fair queueing (Ghosh, Givargis): the flow that is due first sends its credit of bytes in a row";
    const SOURCE: &'static str = "Ghosh, Givargis, Approximate Fair Queueing, technical report CECS-09-02, UC Irvine, 2009";
    const PARAMETERS: &'static [Parameter<Self>] = &[Parameter {
        name: "quantum",
        kind: Kind::Size,
        min: 1,
        max: 1 << 20,
        about: "bytes that a flow of weight 1 may send in a turn; the larger, the fewer decisions and the longer the wait for one",
        read: |config| config.quantum.into(),
        write: |config, value| config.quantum = saturated(value),
    }];
    const LIVE: &'static [&'static str] = &["quantum"];
    const WEIGHTED: bool = true;
    const TIMES: Times = Times::Deadline;
    const INTERIOR: bool = true;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    const COMPLEXITY: &'static str = "O(log N)";
    type Scheduler<T: Send> = Afq<T>;

    fn build<T: Send>(&self, _seed: u64) -> Result<Afq<T>, ConfigError> {
        Afq::new(*self)
    }

    fn configuration<T: Send>(scheduler: &mut Afq<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Afq<T> {
    pool: Pool<T>,
    flows: Vec<Flow>,
    /// Backlogged flows that wait for a turn.
    waiting: Heap<Urgency>,
    /// The flow whose turn it is: its credit covers its head.
    in_turn: Option<u32>,
    /// The latest round in which a flow had a turn.
    round: u64,
    decisions: u64,
    longest: Longest,
    config: Config,
}

#[derive(Debug, Clone)]
struct Flow {
    queue: Queue,
    /// Bytes that it may send in its turn: of a backlogged flow at least those of its head.
    deficit: u64,
    weight: u32,
    /// It was removed and loses its weight with its last packet.
    leaves: bool,
}

impl Flow {
    const UNKNOWN: Self = Self { queue: Queue::EMPTY, deficit: 0, weight: FlowConfig::DEFAULT.weight, leaves: false };
}

/// By what the next turn is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Urgency {
    /// Of the head packet.
    deadline: Instant,
    /// In which the flow's credit will have come to cover it.
    round: u64,
}

impl Key for Urgency {
    const NONE: Self = Self { deadline: Instant::MAX, round: u64::MAX };
}

impl<T> Afq<T> {
    /// # Errors
    /// A parameter is out of its range.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let (pool, flows, waiting, longest) = (Pool::default(), Vec::new(), Heap::default(), Longest::default());
        Ok(Self { pool, flows, waiting, in_turn: None, round: 0, decisions: 0, longest, config })
    }

    /// How often flows were sorted to find the next one: the turns given so far.
    pub const fn decisions(&self) -> u64 {
        self.decisions
    }

    fn flow_mut(&mut self, flow: usize) -> &mut Flow {
        if flow >= self.flows.len() {
            self.flows.resize(flow + 1, Flow::UNKNOWN);
        }
        &mut self.flows[flow]
    }

    fn enqueue_packet(&mut self, packet: Packet<T>) {
        let number = packet.flow.index();
        self.flow_mut(number);
        let flow = &mut self.flows[number];
        let was_idle = flow.queue.is_empty();
        self.pool.push(&mut flow.queue, packet);
        self.longest.changed(number, flow.queue.size());
        if was_idle {
            self.await_turn(number);
        }
    }

    /// Credits a backlogged flow until it can send its head, and sorts it in.
    fn await_turn(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        let Some(head) = self.pool.head(&flow.queue) else { return };
        let credit = u64::from(flow.weight) * u64::from(self.config.quantum);
        let short = u64::from(head.len).saturating_sub(flow.deficit);
        let rounds = short.div_ceil(credit).max(1);
        flow.deficit += rounds * credit;
        self.waiting.insert(number, Urgency { deadline: head.deadline, round: self.round + rounds });
    }

    /// The flow whose turn it is; if that is over, the most urgent one.
    fn take_turn(&mut self) -> Option<usize> {
        if let Some(number) = self.in_turn {
            return Some(number as usize);
        }
        let (urgency, number) = self.waiting.first()?;
        self.waiting.remove(number);
        self.in_turn = Some(number as u32);
        self.round = self.round.max(urgency.round);
        self.decisions += 1;
        Some(number)
    }

    fn dequeue_packet(&mut self, mut refill: impl FnMut(FlowId) -> Option<Packet<T>>) -> Option<Packet<T>> {
        let number = self.take_turn()?;
        let flow = &mut self.flows[number];
        let packet = self.pool.pop(&mut flow.queue)?;
        flow.deficit -= u64::from(packet.len);
        if let Some(next) = refill(packet.flow) {
            self.pool.push(&mut flow.queue, next);
        }
        self.longest.changed(number, flow.queue.size());
        match self.pool.head(&flow.queue) {
            Some(head) if u64::from(head.len) <= flow.deficit => {}
            Some(_) => {
                self.in_turn = None;
                self.await_turn(number);
            }
            None => self.end_backlog(number),
        }
        Some(packet)
    }

    /// The flow has lost its last packet: it forfeits its credit, and its turn if it has it.
    fn end_backlog(&mut self, number: usize) {
        self.waiting.remove(number);
        self.in_turn = self.in_turn.filter(|flow| *flow as usize != number);
        let flow = &mut self.flows[number];
        flow.deficit = 0;
        if flow.leaves {
            *flow = Flow::UNKNOWN;
        }
    }

    fn evict_tail(&mut self, number: usize) -> Option<Packet<T>> {
        let flow = self.flows.get_mut(number)?;
        let packet = self.pool.pop_tail(&mut flow.queue)?;
        self.longest.changed(number, flow.queue.size());
        if flow.queue.is_empty() {
            self.end_backlog(number);
        }
        self.debug_check();
        Some(packet)
    }

    #[inline]
    fn debug_check(&self) {
        if is_time_to_check(self.flows.len(), self.pool.backlog()) {
            self.check_invariants();
        }
    }
}

impl<T> Scheduler<T> for Afq<T> {
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        if !packet.flow.fits_a_table() {
            return Err(packet);
        }
        self.enqueue_packet(packet);
        self.debug_check();
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<T>> {
        let packet = self.dequeue_packet(|_| None);
        self.debug_check();
        packet
    }

    fn dequeue_refilled(&mut self, _now: Instant, refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>) -> Option<Packet<T>> {
        let packet = self.dequeue_packet(refill);
        self.debug_check();
        packet
    }

    /// The tail of the longest backlog.
    fn evict(&mut self) -> Option<Packet<T>> {
        let number = self.longest.find(self.flows.iter().map(|flow| flow.queue.size()))?;
        self.evict_tail(number)
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<Packet<T>> {
        self.evict_tail(flow.index())
    }

    /// Within a turn.
    fn has_decided(&self) -> bool {
        self.in_turn.is_some()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    /// A weight that changes counts from the flow's next credit on.
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(Config::NAME, flow)?;
        let flow = self.flow_mut(flow.index());
        flow.weight = config.weight;
        flow.leaves = false;
        self.debug_check();
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        let Some(record) = self.flows.get_mut(flow.index()) else { return };
        record.leaves = true;
        if record.queue.is_empty() {
            *record = Flow::UNKNOWN;
        }
        self.debug_check();
    }

    fn footprint(&self) -> Footprint {
        let bytes_per_flow = size_of::<Flow>() + Heap::<Urgency>::BYTES_PER_PLACE + Longest::BYTES_PER_QUEUE;
        Footprint { fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES, bytes_per_flow }
    }

    /// 1. A backlogged flow waits for its turn or has it; an idle one does neither.
    /// 2. The credit of a backlogged flow covers its head; an idle one carries nothing.
    /// 3. Flows wait under their heads' deadlines, in order.
    fn check_invariants(&self) {
        for (number, flow) in self.flows.iter().enumerate() {
            let places = usize::from(self.waiting.key(number).is_some()) + usize::from(self.in_turn == Some(number as u32));
            assert_eq!(places, usize::from(!flow.queue.is_empty()), "invariant 1");
            let covered = self.pool.head(&flow.queue).map_or(flow.deficit == 0, |head| u64::from(head.len) <= flow.deficit);
            assert!(covered, "invariant 2");
            self.pool.check_queue(&flow.queue);
        }
        let deadline = |number: usize| self.pool.head(&self.flows[number].queue).map(|head| head.deadline);
        let sorted_by = self.waiting.first().map(|(urgency, number)| (Some(urgency.deadline), deadline(number)));
        assert!(sorted_by.is_none_or(|(kept, head)| kept == head), "invariant 3");
        self.waiting.check();
        let bytes: u64 = self.flows.iter().map(|flow| flow.queue.bytes()).sum();
        assert_eq!(bytes, self.pool.backlog().bytes, "flows' backlogs add up");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flows with these deadlines at their heads and 100-byte packets; the order of service.
    fn order(quantum: u32, heads: &[(u32, u64)]) -> Vec<u32> {
        let mut scheduler = Afq::new(Config { quantum }).unwrap();
        for &(flow, deadline) in heads {
            let packet = Packet { deadline: Instant::from_picos(deadline), ..Packet::new(FlowId(flow), 100, ()) };
            scheduler.enqueue(Instant::ZERO, packet).unwrap();
        }
        core::iter::from_fn(|| scheduler.dequeue(Instant::ZERO)).map(|packet| packet.flow.0).collect()
    }

    #[test]
    fn a_turn_takes_packets_along_that_are_not_due() {
        let heads = [(0, 9), (1, 5), (1, 50), (1, 60), (2, 7)];
        assert_eq!(order(100, &heads), [1, 2, 0, 1, 1], "one packet a turn: earliest deadline first");
        assert_eq!(order(250, &heads), [1, 1, 2, 0, 1]);
    }

    #[test]
    fn flows_that_tie_take_turns() {
        assert_eq!(order(100, &[(0, 5), (0, 5), (0, 5), (1, 5), (1, 5), (2, 5)]), [0, 1, 2, 0, 1, 0]);
        assert_eq!(order(30, &[(0, 5), (0, 5), (1, 5), (1, 5)]), [0, 1, 0, 1], "four credits a packet");
    }

    #[test]
    fn a_removed_flow_keeps_its_weight_until_it_is_empty() {
        let mut scheduler = Afq::new(Config { quantum: 100 }).unwrap();
        scheduler.set_flow(FlowId(0), FlowConfig { weight: 3, ..FlowConfig::DEFAULT }).unwrap();
        for flow in [0, 0, 0, 1] {
            scheduler.enqueue(Instant::ZERO, Packet::new(FlowId(flow), 100, ())).unwrap();
        }
        scheduler.remove_flow(FlowId(0));
        assert_eq!(core::iter::from_fn(|| scheduler.dequeue(Instant::ZERO)).map(|packet| packet.flow.0).collect::<Vec<_>>(), [0, 0, 0, 1]);
        assert_eq!(scheduler.flows[0].weight, 1);
    }
}
