//! Approximate Fair Queueing (AFQ) by Ghosh and Givargis, not NSDI 2018's AFQ: the flow with the
//! earliest head deadline sends a credit of bytes.
//!
//! The urgency of a flow is the deadline of the head packet. The most urgent backlogged flow gets a
//! turn and sends packets in a row as far as its credit reaches, which is proportional to the
//! flow's weight. After the turn, the next head sets the urgency. Flows are sorted once a turn and
//! not once a packet, which is the authors' goal. Senders choose the deadlines, and earlier
//! deadlines go first. So AFQ is earliest deadline first with turns, fair only among flows with
//! equal deadlines.
//!
//! Source: A. Ghosh, T. Givargis, "Approximate Fair Queueing: A Low Complexity Packet Scheduler for
//! Embedded Networks", technical report CECS-09-02, University of California, Irvine, 2009.
//!
//! | paper | here |
//! |---|---|
//! | deadline of a flow | [`Packet::deadline`] of its head |
//! | r_i, requested bandwidth | `Flow::weight` |
//! | b_i, allocated bandwidth | the weight relative to the other weights; not computed |
//! | c_i, credit, proportional to b_i | weight x `Config::quantum`, added to `Flow::deficit` |
//! | num_i = floor(c_i / p) | packets in a row while `Flow::deficit` covers the head |
//!
//! | property | value | test in `theorems/afq.rs` |
//! |---|---|---|
//! | each turn goes to the flow with the earliest head | | `equals_its_definition` |
//! | m turns of a flow send at most m c_i bytes | | `turns_stay_within_their_credit` |
//! | decisions | one a turn, at most one a packet | `flows_are_sorted_once_a_turn` |
//! | shares | by weight among flows with equal deadlines, to within a credit and a packet each | `flows_that_tie_share_by_weight` |
//! | wait of a packet | turns that begin with a packet due no later, and the turn in progress on arrival | `a_packet_waits_for_turns_due_no_later` |
//!
//! No B-WFI, no T-WFI, no latency, no fairness: each would bound one flow's service whatever
//! deadlines the others have. `earlier_deadlines_starve_everybody_else` shows that there is no such
//! bound.
//!
//! Cost: one insertion and one removal in a heap for each turn, O(log N). A turn's other packets
//! cost a constant. Memory: one record for each flow, see `footprint`.
//!
//! Open points of the report, and the choices here:
//!
//! * *Credit.* "Similar to deficit round robin": what is left of a turn's credit is carried to the
//!   flow's next turn, and an emptied flow forfeits it.
//! * *A credit below the head packet.* The flow would be selected again and again, because its
//!   deadline does not change, and gain a credit each time. Here the flow gets these credits at
//!   once. Among flows with equal deadlines it waits as many rounds as it gets credits, so that the
//!   shares stay.
//! * *Equal deadlines.* Round robin: among equal head deadlines, the flow of the earlier round,
//!   then of the smaller number.
//! * *No deadline.* Packets without a deadline come last. Without any deadlines, AFQ is deficit
//!   round robin.
//! * *A packet more urgent than the flow in turn* waits for the end of the turn.
//! * *Figures.* The captions give f_1 a requested bandwidth of 4 (3 in the figure), and f_3 an
//!   allocated bandwidth of 4 (8 in the text). For f_3 to send 4 packets of 2 units with b_3 = 8,
//!   the credit must be at least 1 a unit of b. Then f_1 and f_4, with b = 6, may send 3, not 2.
//!   The figures agree with the rule if f_1 and f_4 have 2 packets (`tests/traces/afq-figures.md`).

use crate::author::{
    Backlog, ByCopy, ConfigError, Configured, Control, Discipline, DropReason, FlowConfig, FlowId,
    Footprint, Handle, Instant, Linux, Packet, Parameter, Queues, Refused, Scheduler, Seed, Times,
};
use crate::mechanisms::flow_table::FlowTable;
use crate::mechanisms::heap::{Heap, Key};
use crate::mechanisms::longest::Longest;

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
    const ABOUT: &'static str = "approximate fair queueing (Ghosh, Givargis): the flow with the earliest deadline sends its whole credit of bytes";
    const SOURCE: &'static str =
        "Ghosh, Givargis, Approximate Fair Queueing, technical report CECS-09-02, UC Irvine, 2009";
    const LINUX: Linux = Linux::Absent;
    const PARAMETERS: &'static [Parameter<Self>] = &[Parameter::size(
        "quantum",
        1..=1 << 20,
        "bytes that a flow of weight 1 may send in a turn; a larger quantum means fewer decisions and longer waits",
        |config| &mut config.quantum,
    )];
    const LIVE: &'static [&'static str] = &["quantum"];
    const WEIGHTED: bool = true;
    const TIMES: Times = Times::Deadline;
    const INTERIOR: bool = true;
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    const QUEUES: Queues = Queues::PerFlow;
    const COMPLEXITY: &'static str = "O(log N)";
    type Scheduler<T: Send> = Afq<T>;
    /// By copy. The deadline of a packet is read when the packet becomes the flow's head.
    type ByHandle = ByCopy<Afq<Handle>>;

    fn configuration<T: Send>(scheduler: &mut Afq<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Afq<T> {
    flows: FlowTable<T, Credit>,
    /// Backlogged flows waiting for a turn.
    waiting: Heap<Urgency>,
    /// The flow in turn. Its credit covers the head packet.
    in_turn: Option<u32>,
    /// The latest round in which a flow had a turn.
    round: u64,
    decisions: u64,
    config: Config,
}

#[derive(Debug, Clone, Default)]
struct Credit {
    /// Bytes the flow may send in a turn: for a backlogged flow, at least the head packet's length.
    deficit: u64,
}

/// Key of a flow that waits for a turn. The smallest key is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Urgency {
    /// Deadline of the head packet.
    deadline: Instant,
    /// Round in which the flow's credit covers the head packet.
    round: u64,
}

impl Key for Urgency {
    const NONE: Self = Self {
        deadline: Instant::MAX,
        round: u64::MAX,
    };
}

impl<T> Configured<Config> for Afq<T> {
    fn configured(config: Config, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            flows: FlowTable::default(),
            waiting: Heap::default(),
            in_turn: None,
            round: 0,
            decisions: 0,
            config,
        })
    }
}

impl<T> Afq<T> {
    /// Turns given so far. Each turn sorts the flows once.
    pub const fn decisions(&self) -> u64 {
        self.decisions
    }

    /// Queues a packet. The first packet of an idle flow makes the flow wait for a turn. An unknown
    /// flow joins with weight 1.
    fn enqueue_packet(&mut self, packet: Packet<T>) {
        let number = packet.flow.index();
        let flow = self.flows.record(number);
        if flow.weight == 0 {
            flow.weight = FlowConfig::DEFAULT.weight;
        }
        let was_idle = self.flows.push(packet);
        if was_idle {
            self.await_turn(number);
        }
    }

    /// Adds at least one credit to a backlogged flow, as many as the head packet needs, and inserts
    /// the flow into `waiting`.
    fn await_turn(&mut self, number: usize) {
        let Some((len, deadline)) = self
            .flows
            .head(number)
            .map(|head| (u64::from(head.len), head.deadline))
        else {
            return;
        };
        let flow = &mut self.flows[number];
        // c_i, in proportion to the allocated bandwidth b_i.
        let credit = u64::from(flow.weight) * u64::from(self.config.quantum);
        let rounds = len
            .saturating_sub(flow.state.deficit)
            .div_ceil(credit)
            .max(1);
        flow.state.deficit += rounds * credit;
        self.waiting.insert(
            number,
            Urgency {
                deadline,
                round: self.round + rounds,
            },
        );
    }

    /// The flow in turn. Between turns, the most urgent flow, which gets the next turn.
    fn take_turn(&mut self) -> Option<usize> {
        if let Some(number) = self.in_turn {
            return Some(number as usize);
        }
        // Section 4.2: the flow with the earliest deadline is scheduled.
        let (urgency, number) = self.waiting.first()?;
        self.waiting.remove(number);
        self.in_turn = Some(number as u32);
        self.round = self.round.max(urgency.round);
        self.decisions += 1;
        Some(number)
    }

    fn dequeue_packet(
        &mut self,
        refill: impl FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<Packet<T>> {
        let number = self.take_turn()?;
        let (packet, flow) = self.flows.pop(number, refill);
        let packet = packet?;
        flow.state.deficit -= u64::from(packet.len);
        match flow.queue.next_len() {
            // num_i: packets follow as long as the credit c_i covers them.
            Some(len) if u64::from(len) <= flow.state.deficit => {}
            // The flow's deadline is now that of its new head.
            Some(_) => {
                self.in_turn = None;
                self.await_turn(number);
            }
            None => self.end_backlog(number),
        }
        Some(packet)
    }

    /// Ends an empty flow's backlog: the credit is forfeited, and a current turn ends.
    fn end_backlog(&mut self, number: usize) {
        self.waiting.remove(number);
        self.in_turn = self.in_turn.filter(|flow| *flow as usize != number);
        let has_left = self.flows.has_left(number);
        let flow = &mut self.flows[number];
        flow.state.deficit = 0;
        if has_left {
            flow.weight = 0;
        }
    }

    fn evict_tail(&mut self, number: usize) -> Option<Packet<T>> {
        let packet = self.flows.pop_tail(number)?;
        if self.flows[number].queue.is_empty() {
            self.end_backlog(number);
        }
        Some(packet)
    }
}

impl<T> Scheduler<T> for Afq<T> {
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        if let Err(reason) = self.flows.make_room_for(&packet, u32::MAX) {
            return Err(packet.refused(reason));
        }
        self.enqueue_packet(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<T>> {
        self.dequeue_packet(|_| None)
    }

    fn dequeue_refilled(
        &mut self,
        _now: Instant,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<Packet<T>> {
        self.dequeue_packet(refill)
    }

    /// The tail of the longest backlog.
    fn evict(&mut self) -> Option<Packet<T>> {
        let number = self.flows.longest()?;
        self.evict_tail(number)
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<Packet<T>> {
        self.evict_tail(flow.index())
    }

    /// True within a turn.
    fn has_decided(&self) -> bool {
        self.in_turn.is_some()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }
}

impl<T> Control for Afq<T> {
    /// A new weight counts from the flow's next credit on.
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(Config::NAME, flow)?;
        self.flows.stay(flow.index());
        self.flows[flow.index()].weight = config.weight;
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        if self.flows.remove(flow) {
            self.flows[flow.index()].weight = 0;
        }
    }

    fn footprint(&self) -> Footprint {
        let bytes_per_flow =
            FlowTable::<T, Credit>::BYTES_PER_FLOW + Heap::<Urgency>::BYTES_PER_POSITION;
        Footprint {
            fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES,
            bytes_per_flow,
        }
    }

    /// 1. A backlogged flow either waits for a turn or is in turn. An idle flow does neither.
    /// 2. A backlogged flow's credit covers the head packet. An idle flow has no credit.
    /// 3. Flows wait in order of their heads' deadlines (checked for the first).
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        for (number, flow) in self.flows.iter().enumerate() {
            let entries = usize::from(self.waiting.key(number).is_some())
                + usize::from(self.in_turn == Some(number as u32));
            assert_eq!(entries, usize::from(!flow.queue.is_empty()), "invariant 1");
            let covered = flow
                .queue
                .next_len()
                .map_or(flow.state.deficit == 0, |len| {
                    u64::from(len) <= flow.state.deficit
                });
            assert!(covered, "invariant 2");
        }
        self.flows.check();
        let deadline = |number: usize| self.flows.head(number).map(|head| head.deadline);
        let sorted_by = self
            .waiting
            .first()
            .map(|(urgency, number)| (Some(urgency.deadline), deadline(number)));
        assert!(
            sorted_by.is_none_or(|(kept, head)| kept == head),
            "invariant 3"
        );
        self.waiting.check();
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Order of service for 100-byte packets, each given as (flow, deadline).
    fn order(quantum: u32, heads: &[(u32, u64)]) -> Vec<u32> {
        let mut scheduler = Config { quantum }.build(Seed::new(0)).unwrap();
        for &(flow, deadline) in heads {
            let packet = Packet {
                deadline: Instant::from_picos(deadline),
                ..Packet::new(FlowId(flow), 100, ())
            };
            scheduler.enqueue(Instant::ZERO, packet).unwrap();
        }
        core::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
            .map(|packet| packet.flow.0)
            .collect()
    }

    #[test]
    fn a_turn_takes_packets_along_that_are_not_due() {
        let heads = [(0, 9), (1, 5), (1, 50), (1, 60), (2, 7)];
        assert_eq!(
            order(100, &heads),
            [1, 2, 0, 1, 1],
            "one packet a turn: earliest deadline first"
        );
        assert_eq!(order(250, &heads), [1, 1, 2, 0, 1]);
    }

    #[test]
    fn flows_that_tie_take_turns() {
        assert_eq!(
            order(100, &[(0, 5), (0, 5), (0, 5), (1, 5), (1, 5), (2, 5)]),
            [0, 1, 2, 0, 1, 0]
        );
        assert_eq!(
            order(30, &[(0, 5), (0, 5), (1, 5), (1, 5)]),
            [0, 1, 0, 1],
            "four credits a packet"
        );
    }

    #[test]
    fn a_removed_flow_keeps_its_weight_until_it_is_empty() {
        let mut scheduler = Config { quantum: 100 }.build(Seed::new(0)).unwrap();
        scheduler
            .set_flow(
                FlowId(0),
                FlowConfig {
                    weight: 3,
                    ..FlowConfig::DEFAULT
                },
            )
            .unwrap();
        for flow in [0, 0, 0, 1] {
            scheduler
                .enqueue(Instant::ZERO, Packet::new(FlowId(flow), 100, ()))
                .unwrap();
        }
        scheduler.remove_flow(FlowId(0));
        assert_eq!(
            core::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
                .map(|packet| packet.flow.0)
                .collect::<Vec<_>>(),
            [0, 0, 0, 1]
        );
        assert_eq!(scheduler.flows[0].weight, 0);
    }
}
