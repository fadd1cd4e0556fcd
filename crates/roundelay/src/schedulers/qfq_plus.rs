//! QFQ+: quick fair queueing among aggregates of like flows, with DRR inside each aggregate, so
//! that one scheduling decision serves several packets.
//!
//! Flows with the same weight and the same longest packet share aggregates of at most M flows. QFQ
//! schedules the aggregates, each with the sum of its flows' weights. The chosen aggregate is
//! served until its budget (one longest packet for each of its flows) cannot cover the next packet,
//! or until it is empty. Then it is charged for the bytes sent. Inside, flows take turns by DRR. An
//! aggregate's times depend on bytes already sent, not on the next packet, so a class may still
//! replace its next packet. QFQ+ is therefore also correct inside a hierarchy.
//!
//! Source: P. Valente, "Reducing the Execution Time of Fair-Queueing Packet Schedulers", Computer
//! Communications 47, 2014, by the author's summary in Linux's `sch_qfq`. The paper itself was not
//! at hand, and the proofs are our own. Groups, slots and sets are QFQ's (`mechanisms/groups.rs`),
//! and `mechanisms/aggregates.rs` assigns flows to aggregates.
//!
//! | paper | here |
//! |---|---|
//! | M | `Config::aggregate` |
//! | aggregate: S, F | `Aggregate`: `Entity::time`; F is computed at the end of a service |
//! | budget | `Aggregate::budget` |
//! | quantum, deficit | `FlowKind::max_packet_len`, `Flow::deficit` |
//! | aggregate in service, budget used so far | `in_service`, `served` |
//!
//! With n <= M flows in the aggregate, sigma the slot size that each of its flows has under QFQ (n
//! budgets at n weights make the same slot), L the longest packet of any flow and B <= M L the
//! largest budget:
//!
//! | guarantee | value | test in `theorems/qfq_plus.rs` |
//! |---|---|---|
//! | B-WFI | 3 phi sigma + L_k + phi (B + L) + 3 L_k (n - 1) / n | `b_wfi_stays_within_the_bound` |
//! | T-WFI | (3 sigma + L_k / phi + B + L) / R + 3 L_k (n - 1) / (n phi R) | `t_wfi_stays_within_the_bound` |
//! | latency: the B-WFI at the flow's share | the same as T-WFI | `latency_is_that_of_the_b_wfi` |
//! | Theorems 3 to 8 of QFQ | with B for L | `theorems_3_to_8_of_qfq_hold_after_each_operation` |
//! | share unused by light flows | goes by weight to flows of the same aggregate; none of it to other aggregates | `what_a_light_flow_leaves_goes_to_its_aggregate` |
//!
//! Proof: to QFQ a service is one packet of up to B bytes. So an aggregate with the share n phi
//! stays within QFQ's bound, 3 n phi sigma + n L_k + n phi (B + L), where L is the rest of a packet
//! on the link. A flow with c whole turns in an interval has sent more than (c - 1) L_k, each other
//! flow in the aggregate less than (c + 2) L_k. So the flow is less than 3 L_k (n - 1) / n behind
//! its aggregate's mean.
//!
//! Number format: as in `qfq`, but a byte's virtual time in an aggregate has 16 binary places more.
//!
//! Cost: O(1), and most packets cost no more than a turn of DRR. Settings cost O(log N) to find an
//! aggregate. Memory: a record for each flow and one for each aggregate, see `footprint`.
//!
//! Differences from the paper, and from Linux:
//! - The summary promises QFQ's bound and 3 L_k / (phi R). On a bare link B - L must be added,
//!   because an aggregate in service excludes all others:
//!   `the_summarys_bound_is_exceeded_on_a_bare_link`. Linux has M <= `txqueuelen` + 1, which makes
//!   the device's own queue as long.
//! - As in the paper, an aggregate keeps the weights of all its flows while one of the flows has
//!   packets. Backlogged flows therefore share by weight only within aggregates, unless M = 1.
//! - An aggregate in service stays in its group, and V rests until the service ends. Then group and
//!   V move as for one packet. So the sets never ignore the served aggregate, V cannot jump, and no
//!   group is unblocked too early. Flows that arrive in the meantime start at V as it was when the
//!   service began.
//! - A service ends as soon as necessary, not at the next dequeue. Any change of flows or weights
//!   also ends it, because each service is charged at one weight.
//! - A budget is at most 64 KB, so flows with very long packets share aggregates of fewer flows.
//!   With 512 KB for eight such flows, the slots of all others would have to be eight times as long
//!   (Theorem 5).
//! - Budgets count packet lengths only up to the longest packet seen. A `maxpkt` set too large
//!   delays no other flow.
//! - A flow whose longest packet has been lowered stays among flows with longer packets until the
//!   waiting packets have left, because a budget must always cover the next packet.
//! - Flows that come and go must not reduce an aggregate's lag. So a new flow joins an aggregate
//!   that is not late, or a new one, and a leaving flow keeps its membership reserved for a while
//!   (`mechanisms/aggregates.rs`).
//! - A reconfigured flow with packets stays in its aggregate for one more packet, so that settings
//!   do not cost a flow its turn.

mod invariants;
mod linux;
mod members;

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::author::{
    Backlog, Bound, ConfigError, Configured, Control, Discipline, DropReason, FlowConfig, FlowId,
    Footprint, Guarantees, Handle, Instant, Links, Linux, LinuxFlows, LinuxLimit, Nodes, Packet,
    Parameter, Pool, Queue, Queues, Refusal, Refused, Scheduler, Seed, Share, Storage, prefetch,
};
use crate::guarantees::Printed;
use crate::mechanisms::aggregates::{Aggregate, Aggregates, FlowKind};
use crate::mechanisms::entity::{MAX_SERVICE, slot_bytes};
use crate::mechanisms::lists::Lists;
use crate::mechanisms::longest::Longest;
use crate::prefetch::{WINDOW, dequeue_in_windows, enqueue_in_windows};

const NONE: u32 = u32::MAX;

/// Parameters of QFQ+.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// M, the largest number of flows in an aggregate: 1 to 64.
    pub aggregate: u32,
    /// Whether to follow the rules of Linux's qfq.
    pub linux: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            aggregate: 8,
            linux: false,
        }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "qfq_plus";
    const ABOUT: &'static str = "quick fair queueing plus: QFQ between aggregates of similar flows, DRR within; Linux's qfq";
    const SOURCE: &'static str = "Valente, Reducing the Execution Time of Fair-Queueing Packet Schedulers, Computer Communications 47, 2014";
    const LINUX: Linux = Linux::Qdisc {
        name: "qfq",
        flows: LinuxFlows::Classes,
        limit: LinuxLimit::OfClasses,
    };
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::count(
            "aggregate",
            1..=64,
            "largest number of flows in an aggregate, of one weight and longest packet: more flows cost less, fewer are fairer",
            |config| &mut config.aggregate,
        ),
        Parameter::switch(
            "linux",
            "the rules of Linux's qfq; aggregates of 1, 2, 4 or 8 flows at most",
            |config| &mut config.linux,
        ),
    ];
    const LIVE: &'static [&'static str] = &["aggregate"];
    const WEIGHTED: bool = true;
    const INTERIOR: bool = true;
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    const QUEUES: Queues = Queues::PerFlow;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = QfqPlus<T>;
    type ByHandle = QfqPlus<Handle, Links>;

    fn configuration<T: Send>(scheduler: &mut QfqPlus<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    fn adopt<T: Send>(scheduler: &mut QfqPlus<T>, _before: &Self) {
        if let Some(linux) = &mut scheduler.linux {
            return linux.set_most(scheduler.config.aggregate);
        }
        scheduler.fit_aggregates();
    }

    /// None proven for Linux's rules.
    fn guarantees(&self, share: &Share) -> Guarantees {
        if self.linux {
            return Guarantees::default();
        }
        let own_len = u64::from(share.max_packet_len);
        let any_len = u64::from(share.link_max_packet_len);
        let flows = share.flows.max(1);
        let kind = FlowKind {
            weight: 1,
            max_packet_len: share.max_packet_len,
        };
        let members = u64::from(kind.capacity(self.aggregate)).min(flows);
        let turns = (3 * own_len * (members - 1)).div_ceil(members);
        let slots = 3 * slot_bytes(share.max_packet_len, share.weight);
        let own = slots + own_len + turns;
        let budget = (any_len * u64::from(self.aggregate).min(flows))
            .min(MAX_SERVICE.into())
            .max(any_len);
        let value = own + share.of(budget + any_len);
        let b_wfi = Bound {
            value,
            source: "from QFQ's Theorem 1, corrected: 3 phi sigma + L_k + phi (B + L) + 3 L_k (n - 1) / n",
        };
        let value = share.rate.time_of(share.per_share(own) + budget + any_len);
        let t_wfi = Bound {
            value,
            source: "from QFQ's Theorem 2, corrected: (3 sigma + L_k / phi + B + L + 3 L_k (n - 1) / (n phi)) / R",
        };
        let source = "from the B-WFI, sent at the flow's share: (3 sigma + L_k / phi + B + L + 3 L_k (n - 1) / (n phi)) / R";
        let latency = Some(Bound { value, source });
        let value = share
            .rate
            .time_of(share.per_share(slots + 3 * own_len) + 2 * any_len);
        let source = "QFQ+'s summary: QFQ's Theorem 2 and three packets at the class's rate: (3 sigma + 3 L_k / phi + 2 L) / R";
        let printed = Printed {
            b_wfi: None,
            t_wfi: Some(Bound { value, source }),
        };
        Guarantees {
            b_wfi: Some(b_wfi),
            t_wfi: Some(t_wfi),
            latency,
            fairness: None,
            service: None,
            printed,
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct QfqPlus<T, P = Nodes<T>> {
    pool: Pool<T, P>,
    flows: Vec<Flow>,
    aggregates: Aggregates,
    /// The aggregate in service, backlogged.
    in_service: u32,
    /// Bytes sent in the present service.
    served: u32,
    /// While `served` is less, the next packet is within the budget, however long.
    roomy_below: u32,
    /// The longest packet seen.
    longest_packet: u32,
    longest: Longest,
    /// In place of all the above, with [`Config::linux`].
    linux: Option<Box<linux::Scheduler<T, P>>>,
    config: Config,
}

/// A flow. Not in a `FlowTable`, whose records are not aligned and so may lie across two lines.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Flow {
    queue: Queue,
    aggregate: u32,
    /// Neighbours in its aggregate's ring, if backlogged.
    next: u32,
    previous: u32,
    /// Bytes left in this turn, or carried to the next.
    deficit: u32,
    /// Packets shorter than this are accepted. Zero: unknown flow.
    shorter_than: u32,
    /// Packets at the head accepted under a larger limit.
    longer: u32,
    /// Reconfigured: moves to its new aggregate after the next packet.
    moves: bool,
    weight: u16,
    /// Removed: forgotten with the last packet.
    leaves: bool,
}

const _: () = assert!(
    size_of::<Flow>() <= 64,
    "what a packet touches of its flow lies in one cache line"
);

impl Flow {
    const UNKNOWN: Self = Self {
        queue: Queue::EMPTY,
        aggregate: NONE,
        next: NONE,
        previous: NONE,
        deficit: 0,
        shorter_than: 0,
        longer: 0,
        moves: false,
        weight: 0,
        leaves: false,
    };

    /// Whether the flow's aggregate differs from its kind, or will.
    #[inline]
    const fn is_unsettled(&self) -> bool {
        (self.longer > 0) | self.moves | self.leaves
    }

    /// Ends the turn of a backlogged flow if the deficit does not cover the next packet.
    #[inline(always)]
    const fn end_turn_if_over(&mut self, aggregate: &mut Aggregate) {
        if self.queue.head_len() > self.deficit {
            // DRR: the next turn's quantum is one longest packet.
            self.deficit += aggregate.max_packet_len();
            aggregate.turn = self.next;
        }
    }

    /// The flow's kind: configured weight and maximum packet length.
    const fn kind(&self) -> FlowKind {
        FlowKind {
            weight: self.weight,
            max_packet_len: self.shorter_than.saturating_sub(1),
        }
    }
}

impl<T, P: Storage<T>> Configured<Config> for QfqPlus<T, P> {
    fn configured(config: Config, _: Seed) -> Result<Self, ConfigError> {
        let pool = Pool::empty();
        let flows = Vec::new();
        let aggregates = Aggregates::default();
        let longest = Longest::default();
        let linux = config
            .linux
            .then(|| Box::new(linux::Scheduler::new(config.aggregate)));
        Ok(Self {
            pool,
            flows,
            aggregates,
            in_service: NONE,
            served: 0,
            roomy_below: 0,
            longest_packet: 0,
            longest,
            linux,
            config,
        })
    }
}

/// QFQ among aggregates.
impl<T, P: Storage<T>> QfqPlus<T, P> {
    #[inline(always)]
    fn dequeue_packet(
        &mut self,
        mut refill: impl FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<P::Leaving> {
        if self.in_service == NONE {
            self.begin_service();
        }
        let index = self.in_service;
        let Some(aggregate) = self.aggregates.groups.entities.get_mut(index as usize) else {
            let mut leaving = None;
            self.dequeue_by_linux(&mut refill, &mut leaving);
            return leaving;
        };
        let number = aggregate.turn as usize;
        let flow = self.flows.get_mut(number)?;
        let len = flow.queue.head_len();
        let packet = self.pool.pop(&mut flow.queue);
        let mut refilled_len = 0;
        if let Some(next) = refill(FlowId(number as u32)) {
            refilled_len = next.len;
            self.pool.refill(&mut flow.queue, next);
        }
        self.longest.changed(number, flow.queue.size());
        if flow.is_unsettled() || refilled_len > 0 {
            self.sent_otherwise(number, len, refilled_len);
            return packet;
        }
        self.served += len;
        flow.deficit -= len;
        if flow.queue.is_empty() {
            if flow.next as usize == number {
                // No other flow has packets.
                self.roomy_below = 0;
            }
            self.leave_ring(number);
        } else {
            flow.end_turn_if_over(aggregate);
        }
        if self.served >= self.roomy_below {
            self.end_service_if_over();
        }
        packet
    }

    /// Chooses the next aggregate, if any has packets.
    #[inline(never)]
    fn begin_service(&mut self) {
        // QFQ schedules aggregates in place of single flows.
        if let Some(index) = self.aggregates.groups.first() {
            self.in_service = index as u32;
            let aggregate = self.aggregates.at(self.in_service);
            let longest = aggregate.max_packet_len().min(self.longest_packet);
            self.roomy_below = aggregate.budget(self.longest_packet) - longest + longest.min(1);
        }
    }

    /// Slow path of `dequeue_packet`: the flow is unsettled, or was refilled.
    #[cold]
    fn sent_otherwise(&mut self, number: usize, len: u32, refilled_len: u32) {
        self.served = self.served.saturating_add(len).min(MAX_SERVICE);
        let flow = &mut self.flows[number];
        let is_unsettled = flow.is_unsettled();
        flow.longer = flow.longer.saturating_sub(1);
        flow.deficit = flow.deficit.saturating_sub(len);
        if flow.queue.is_empty() {
            self.leave_ring(number);
        } else {
            flow.end_turn_if_over(self.aggregates.at_mut(self.in_service));
        }
        self.end_service_if_over();
        if refilled_len > 0 {
            self.make_room(number, refilled_len);
        }
        if is_unsettled {
            self.settle(number);
        }
    }

    /// A packet that a hierarchy's node refills may exceed the flow's configured length.
    fn make_room(&mut self, number: usize, len: u32) {
        let len = len.min(FlowConfig::MAX_PACKET_LEN);
        if len > self.longest_packet {
            (self.longest_packet, self.roomy_below) = (len, 0);
        }
        let flow = &mut self.flows[number];
        if len >= flow.shorter_than {
            flow.longer = flow.queue.packets();
            let kind = self.aggregates.at(flow.aggregate).kind();
            self.move_to(
                number,
                FlowKind {
                    max_packet_len: len.max(kind.max_packet_len),
                    ..kind
                },
            );
        }
    }

    /// Ends the service if the aggregate is empty or its next packet is beyond the budget.
    #[inline(never)]
    fn end_service_if_over(&mut self) {
        let aggregate = self.aggregates.at(self.in_service);
        // Only packets of this aggregate leave until its budget is finished.
        let left = aggregate
            .budget(self.longest_packet)
            .saturating_sub(self.served);
        let next = aggregate
            .turn()
            .filter(|_| left > 0)
            .map(|flow| self.flows[flow as usize].queue.head_len());
        if next.is_none_or(|next| next > left) {
            self.end_service();
        }
    }

    /// Charges the aggregate in service, if any, for the bytes sent, and gives it a new position.
    fn end_service(&mut self) {
        let index = core::mem::replace(&mut self.in_service, NONE);
        if index != NONE {
            let served = core::mem::take(&mut self.served);
            // QFQ: F = S + (bytes sent) / weight, and V rises by the same service.
            self.aggregates.served(index, served);
        }
    }

    #[inline(always)]
    fn enqueue_packet(&mut self, packet: Packet<T>) -> Result<(), Refused<T>> {
        match self.enqueue_here(packet) {
            Ok(()) => Ok(()),
            Err(refused) => self.enqueue_by_linux(refused),
        }
    }

    /// With Linux's rules no aggregate is known here, and none enters service. The packet leaves by
    /// way of memory, because as the result it would send every packet that way.
    #[cold]
    #[inline(never)]
    fn dequeue_by_linux(
        &mut self,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>,
        leaving: &mut Option<P::Leaving>,
    ) {
        *leaving = self.linux.as_mut().and_then(|linux| linux.dequeue(refill));
    }

    /// With Linux's rules no flow is known here.
    #[cold]
    #[inline(never)]
    fn enqueue_by_linux(&mut self, refused: Refused<T>) -> Result<(), Refused<T>> {
        match &mut self.linux {
            Some(linux) => linux.enqueue(refused.packet),
            None => Err(refused),
        }
    }

    #[inline(always)]
    fn enqueue_here(&mut self, packet: Packet<T>) -> Result<(), Refused<T>> {
        let number = packet.flow.index();
        let len = packet.len;
        let flow = match self.flows.get_mut(number) {
            Some(flow) if len < flow.shorter_than => flow,
            _ => {
                let has_room = self.pool.make_room_for(&packet);
                if let Err(reason) = has_room.and_then(|()| self.welcome(packet.flow, len)) {
                    return Err(packet.refused(reason));
                }
                &mut self.flows[number]
            }
        };
        if let Err(reason) = self.pool.make_room_for(&packet) {
            return Err(packet.refused(reason));
        }
        if len > self.longest_packet {
            (self.longest_packet, self.roomy_below) = (len, 0);
        }
        let was_idle = flow.queue.is_empty();
        self.pool.push(&mut flow.queue, packet);
        self.longest.changed(number, flow.queue.size());
        if was_idle {
            self.join_ring(number);
        }
        Ok(())
    }

    /// Lets an unknown flow join with its first packet.
    ///
    /// # Errors
    /// The flow is known, and the packet too long for it, or the flow or its packet does not fit. With
    /// Linux's rules no flow joins here.
    #[cold]
    fn welcome(&mut self, flow: FlowId, len: u32) -> Result<(), Refusal> {
        if self.linux.is_some() {
            return Err(Refusal::Other);
        }
        let number = flow.index();
        if self.is_known(number) {
            let most = self.flows[number].shorter_than - 1;
            return Err(Refusal::TooLong { most });
        }
        Refusal::check_tabled(flow, len, FlowConfig::DEFAULT.max_packet_len)?;
        self.join(number, FlowConfig::DEFAULT);
        Ok(())
    }

    /// Prefetches memory for enqueueing these packets: flows first, then free slots and the queues'
    /// tails.
    fn ask_for_arrivals(&self, packets: &[Packet<T>]) {
        if !self.pool.is_far() {
            return;
        }
        for packet in packets {
            prefetch(&self.flows, packet.flow.index());
        }
        self.pool.prefetch_free(packets.len());
        for packet in packets {
            if let Some(flow) = self.flows.get(packet.flow.index()) {
                self.pool.prefetch_tail(&flow.queue);
            }
        }
    }

    /// Prefetches memory for dequeueing this many packets: aggregates in the order of service, then
    /// a flow in each with its head, then the next flow in each.
    fn ask_for_departures(&self, packets: usize) {
        if !self.pool.is_far() {
            return;
        }
        let aggregates = &self.aggregates.groups.entities;
        let mut turns = [0; WINDOW];
        let wanted = packets
            .div_ceil(self.config.aggregate as usize)
            .min(WINDOW - 1)
            + 1;
        let known = self.aggregates.groups.peek(&mut turns[..wanted]);
        let turns = &mut turns[..known];
        for index in &*turns {
            prefetch(aggregates, *index as usize);
        }
        for turn in &mut *turns {
            *turn = aggregates[*turn as usize].turn;
            prefetch(&self.flows, *turn as usize);
        }
        for _ in 0..self.config.aggregate.min(packets as u32) {
            for turn in &mut *turns {
                let Some(flow) = self.flows.get(*turn as usize) else {
                    continue;
                };
                self.pool.prefetch_head(&flow.queue);
                *turn = flow.next;
                prefetch(&self.flows, flow.next as usize);
            }
        }
    }

    /// A flow's newest packet. An emptied aggregate is not charged for the packet, which was not
    /// sent.
    fn evict_from(&mut self, number: usize) -> Option<P::Leaving> {
        let flow = self.flows.get_mut(number)?;
        let packet = self.pool.pop_tail(&mut flow.queue)?;
        self.longest.changed(number, flow.queue.size());
        let index = flow.aggregate;
        let is_unsettled = flow.is_unsettled();
        flow.longer = flow.longer.min(flow.queue.packets());
        if flow.queue.is_empty() {
            self.leave_ring(number);
            if self.in_service == index {
                self.end_service_if_over();
            } else {
                self.withdraw_if_idle(index);
            }
            if is_unsettled {
                self.settle(number);
            }
        }
        Some(packet)
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for QfqPlus<T, P> {
    #[inline(always)]
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        self.enqueue_packet(packet)
    }

    #[inline(always)]
    fn dequeue(&mut self, _now: Instant) -> Option<P::Leaving> {
        self.dequeue_packet(|_| None)
    }

    fn enqueue_burst(&mut self, _now: Instant, packets: &mut Vec<Packet<T>>) {
        enqueue_in_windows(self, packets, Self::ask_for_arrivals, Self::enqueue_packet);
    }

    fn dequeue_burst(&mut self, _now: Instant, most: usize, into: &mut Vec<P::Leaving>) {
        dequeue_in_windows(self, most, into, Self::ask_for_departures, |scheduler| {
            scheduler.dequeue_packet(|_| None)
        });
    }

    fn dequeue_refilled(
        &mut self,
        _now: Instant,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<P::Leaving> {
        self.dequeue_packet(refill)
    }

    /// The tail of the longest backlog.
    fn evict(&mut self) -> Option<P::Leaving> {
        if let Some(linux) = &mut self.linux {
            return linux.evict();
        }
        let number = self
            .longest
            .find(self.flows.iter().map(|flow| flow.queue.size()))?;
        self.evict_from(number)
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<P::Leaving> {
        if let Some(linux) = &mut self.linux {
            return linux.evict_from(flow.index());
        }
        self.evict_from(flow.index())
    }

    /// True during an aggregate's service.
    fn has_decided(&self) -> bool {
        self.linux
            .as_ref()
            .map_or(self.in_service != NONE, |linux| linux.has_decided())
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.linux
            .as_ref()
            .map_or_else(|| self.pool.backlog(), |linux| linux.backlog())
    }
}

impl<T, P: Storage<T>> Control for QfqPlus<T, P> {
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(Config::NAME, flow)?;
        let number = flow.index();
        if let Some(linux) = &mut self.linux {
            linux.set_flow(number, config);
        } else if !self.is_known(number) {
            self.join(number, config);
        } else {
            let record = &mut self.flows[number];
            record.leaves = false;
            if (u32::from(record.weight), record.shorter_than)
                == (config.weight, config.max_packet_len + 1)
            {
                // Treated as a change, the call would count recent packets as longer than the
                // flow's longest packet.
                return Ok(());
            }
            let taken = self.aggregates.at(record.aggregate).kind().max_packet_len;
            record.longer = if taken > config.max_packet_len {
                record.queue.packets()
            } else {
                0
            };
            (record.weight, record.shorter_than) =
                (config.weight as u16, config.max_packet_len + 1);
            record.moves = true;
            if record.queue.is_empty() || config.max_packet_len > taken {
                self.settle(number);
            }
        }
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        if let Some(linux) = &mut self.linux {
            linux.remove_flow(flow.index());
            return;
        }
        if !self.is_known(flow.index()) {
            return;
        }
        let record = &mut self.flows[flow.index()];
        record.leaves = true;
        if record.queue.is_empty() {
            self.settle(flow.index());
        }
    }

    fn total_weight(&self) -> Option<u64> {
        Some(self.linux.as_ref().map_or_else(
            || self.aggregates.groups.total_weight(),
            |linux| linux.total_weight(),
        ))
    }

    /// If flows are alike and fill their aggregates.
    fn footprint(&self) -> Footprint {
        if self.linux.is_some() {
            let Footprint {
                fixed_bytes,
                bytes_per_flow,
            } = linux::Scheduler::<T, P>::footprint();
            return Footprint {
                fixed_bytes: fixed_bytes + size_of::<Self>(),
                bytes_per_flow,
            };
        }
        // Flows that differ in kind, or that come while others of their kind have a lag, have an
        // aggregate each.
        let bytes_per_flow = size_of::<Flow>()
            + size_of::<Aggregate>()
            + Lists::BYTES_PER_NUMBER
            + Longest::BYTES_PER_QUEUE;
        Footprint {
            fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES,
            bytes_per_flow,
        }
    }

    /// 1. and 2. are the invariants of the aggregates.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        if let Some(linux) = &self.linux {
            return linux.check_invariants();
        }
        let mut members = alloc::vec![0; self.aggregates.groups.entities.len()];
        for flow in self.flows.iter().filter(|flow| flow.weight > 0) {
            members[flow.aggregate as usize] += 1;
            self.check_flow(flow);
        }
        self.aggregates.check(&members, self.config.aggregate);
        (0..members.len() as u32).for_each(|number| self.check_ring(number));
        if self.in_service != NONE {
            let aggregate = self.aggregates.at(self.in_service);
            assert!(
                aggregate.is_backlogged(),
                "invariant 6: who is served has packets"
            );
            assert!(
                self.served <= aggregate.budget(self.longest_packet),
                "invariant 6: within its budget"
            );
        }
        let bytes: u64 = self.flows.iter().map(|flow| flow.queue.bytes()).sum();
        assert_eq!(bytes, self.pool.backlog().bytes, "flows' backlogs add up");
    }
}
