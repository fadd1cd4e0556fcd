//! QFQ (quick fair queueing): WF2Q+ to within a few packets, at a cost that depends neither on the
//! numbers of flows and groups nor on packet lengths.
//!
//! Each backlogged flow has a virtual start and finish time, as in WF2Q+. But it is sorted only by
//! a group's index, a slot in the group and a bit in one of four sets, so find-first-set finds the
//! next packet. Groups, slots and sets are in `mechanisms/groups.rs`. This file schedules flows in
//! them, packet by packet.
//!
//! Source: F. Checconi, P. Valente, L. Rizzo, "QFQ: Efficient Packet Scheduling with Tight
//! Bandwidth Distribution Guarantees", sections 4 and 5 and appendix A. Weights and lengths have
//! the ranges of tc-qfq(8).
//!
//! | paper | here |
//! |---|---|
//! | S^k (Eq. 2, 29) | `Entity::time`; F^k is computed on departure |
//! | sigma_i, S_i, F_i, V(t), ER, IR, EB, IB | in `mechanisms/groups.rs` |
//! | phi_k | weight over the sum of all flows' weights |
//! | L_k, L | `Flow::max_packet_len()`; the longest packet of any flow |
//!
//! | guarantee | value | test in `theorems/qfq.rs` |
//! |---|---|---|
//! | Theorem 1, corrected: B-WFI | 3 phi sigma_i + L_k + 2 phi L | `theorem_1_b_wfi` |
//! | Theorem 2, corrected: T-WFI | (3 sigma_i + L_k / phi + 2 L) / R | `theorem_2_t_wfi` |
//! | latency: the B-WFI at the flow's share | the same as T-WFI | `latency_is_that_of_the_b_wfi` |
//! | Theorems 3 to 8 | order of the sets, range of the slots | `theorems_3_to_8_hold_after_each_operation` |
//!
//! The latency: since its backlog began, a flow has received its share except for the B-WFI. A flow
//! alone on a link with this share has received no more.
//!
//! Number format: virtual time in 2^-30 bytes per unit of weight, wrapping at 2^64. A flow's bytes
//! are charged rounded up, by less than one part in 2^20 with weights up to 1024, and V advances
//! rounded down, by less than one part in 2^30 whatever the lengths and the sum of weights (the
//! rounded-off part is kept for the next step). So shares never add up to more than the link.
//!
//! Cost: O(1), no loop except over dropped weights. A packet touches four cache lines unlikely to
//! be in the cache: the flow's record and the packet's own slot, both on arrival and on departure,
//! and the slot of the packet before. Bursts prefetch these lines. Memory: for each flow a record,
//! its number in a list and its key in the index of the longest. Also the groups.
//!
//! Differences from the paper, besides those of `mechanisms/groups.rs`:
//! - Theorems 1 and 2 of the paper lack L_k and L_k / phi. The proofs assume that a flow is at most
//!   sigma_i ahead of V. But a flow becomes eligible with its slot, so its packet may start sigma_i
//!   ahead of V, and the flow is then ahead by sigma_i and the packet, L_k / phi. The test
//!   `theorems_1_and_2_as_printed_are_exceeded` shows a flow a quarter further behind than the
//!   printed bounds allow.
//! - The start time of a newly backlogged flow is Eq. 29's for every flow. The experiment that
//!   decides between the paper's two rules is in `theorems/qfq_start_time.rs`, the finding in
//!   `docs/schedulers/qfq.md`.

mod view;

use alloc::vec::Vec;

pub use view::{FlowView, GroupSet, GroupView, View};

use crate::author::{
    Backlog, Bound, ConfigError, Configured, Control, Discipline, DropReason, FlowConfig, FlowId,
    Footprint, Guarantees, Handle, Instant, Links, Linux, LinuxFlows, LinuxLimit, Nodes, Packet,
    Pool, Queue, Queues, Refusal, Refused, Scheduler, Seed, Share, Storage, prefetch,
};
use crate::guarantees::Printed;
use crate::mechanisms::calendar::Calendar;
use crate::mechanisms::entity::{Entity, slot_bytes};
use crate::mechanisms::groups::{Groups, Next, Service};
use crate::mechanisms::lists::Lists;
use crate::mechanisms::longest::Longest;
use crate::prefetch::{WINDOW, dequeue_in_windows, enqueue_in_windows};

/// QFQ has no parameters besides the flows' weights and longest packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "qfq";
    const ABOUT: &'static str =
        "quick fair queueing: near-optimal shares and delays at constant cost";
    const SOURCE: &'static str = "Checconi, Valente, Rizzo, QFQ: Efficient Packet Scheduling with Tight Bandwidth Distribution Guarantees";
    const LINUX: Linux = Linux::Qdisc {
        name: "qfq",
        flows: LinuxFlows::Classes,
        limit: LinuxLimit::OfClasses,
    };
    const WEIGHTED: bool = true;
    const INTERIOR: bool = true;
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    const QUEUES: Queues = Queues::PerFlow;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Qfq<T>;
    type ByHandle = Qfq<Handle, Links>;

    fn guarantees(&self, share: &Share) -> Guarantees {
        // phi sigma_i = weight x sigma_i, sigma_i in bytes per unit of weight.
        let slots = 3 * slot_bytes(share.max_packet_len, share.weight);
        let own = slots + u64::from(share.max_packet_len);
        let any = 2 * u64::from(share.link_max_packet_len);
        let b_wfi = Bound {
            value: own + share.of(any),
            source: "QFQ paper, Theorem 1, corrected: 3 phi sigma_i + L_k + 2 phi L",
        };
        let late = share.rate.time_of(share.per_share(own) + any);
        let t_wfi = Bound {
            value: late,
            source: "QFQ paper, Theorem 2, corrected: (3 sigma_i + L_k / phi + 2 L) / R",
        };
        let latency = Bound {
            value: late,
            source: "from the B-WFI, sent at the flow's share: (3 sigma_i + L_k / phi + 2 L) / R",
        };
        let printed = Printed {
            b_wfi: Some(Bound {
                value: slots + share.of(any),
                source: "QFQ paper, Theorem 1: 3 phi sigma_i + 2 phi L",
            }),
            t_wfi: Some(Bound {
                value: share.rate.time_of(share.per_share(slots) + any),
                source: "QFQ paper, Theorem 2: (3 sigma_i + 2 L) / R",
            }),
        };
        Guarantees {
            b_wfi: Some(b_wfi),
            t_wfi: Some(t_wfi),
            latency: Some(latency),
            fairness: None,
            service: None,
            printed,
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Qfq<T, P = Nodes<T>> {
    pool: Pool<T, P>,
    groups: Groups<Flow>,
    longest: Longest,
}

/// A flow. Not in a `FlowTable`, where it would have 72 bytes, and because the groups own it.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Flow {
    queue: Queue,
    /// S of the head packet.
    entity: Entity,
    /// Packets shorter than this are accepted. Zero: unknown flow.
    shorter_than: u32,
    weight: u16,
    /// Removed: forgotten with the last packet.
    leaves: bool,
    /// Waiting packets may be longer than the present limit.
    has_longer: bool,
}

const _: () = assert!(
    size_of::<Flow>() <= 64,
    "what a packet touches of its flow lies in one cache line"
);

impl Flow {
    const UNKNOWN: Self = Self {
        queue: Queue::EMPTY,
        entity: Entity::UNKNOWN,
        shorter_than: 0,
        weight: 0,
        leaves: false,
        has_longer: false,
    };

    /// Longest accepted packet.
    const fn max_packet_len(&self) -> u32 {
        self.shorter_than.saturating_sub(1)
    }

    /// A packet's virtual time. A packet that a hierarchy's node refills may have any length.
    #[inline]
    fn span_of(&self, len: u32) -> u64 {
        self.entity.span_of(len.min(FlowConfig::MAX_PACKET_LEN))
    }

    /// Whether the fast path applies: no change of settings, no waiting packets above the present
    /// limit, and no removal. The next packet then needs no check.
    #[inline]
    const fn is_as_ever(&self) -> bool {
        self.entity.is_settled() & !self.has_longer & !self.leaves
    }
}

impl AsRef<Entity> for Flow {
    #[inline]
    fn as_ref(&self) -> &Entity {
        &self.entity
    }
}

impl AsMut<Entity> for Flow {
    #[inline]
    fn as_mut(&mut self) -> &mut Entity {
        &mut self.entity
    }
}

impl<T, P: Storage<T>> Configured<Config> for Qfq<T, P> {
    fn configured(_: Config, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            pool: Pool::empty(),
            groups: Groups::default(),
            longest: Longest::default(),
        })
    }
}

/// Flows and their weights.
impl<T, P: Storage<T>> Qfq<T, P> {
    /// The flow's record. An unknown flow joins with [`FlowConfig::DEFAULT`].
    #[inline]
    fn know(&mut self, flow: usize) -> &mut Flow {
        if self
            .groups
            .entities
            .get(flow)
            .is_none_or(|flow| flow.weight == 0)
        {
            self.join(flow);
        }
        &mut self.groups.entities[flow]
    }

    #[cold]
    fn join(&mut self, number: usize) {
        if number >= self.groups.entities.len() {
            self.groups.entities.resize(number + 1, Flow::UNKNOWN);
        }
        self.groups.entities[number].shorter_than = FlowConfig::DEFAULT.max_packet_len + 1;
        self.set_weight(number, FlowConfig::DEFAULT.weight);
    }

    fn set_weight(&mut self, number: usize, weight: u32) {
        let flow = &mut self.groups.entities[number];
        let before = u32::from(flow.weight);
        flow.weight = weight as u16;
        let next = flow.span_of(flow.queue.head_len());
        let finish = flow.entity.finish(next);
        if weight > 0 {
            flow.entity.set(weight, flow.max_packet_len(), next);
        } else {
            flow.shorter_than = 0;
        }
        self.groups
            .change_weight(FlowId(number as u32), before, weight, finish);
    }

    #[inline]
    fn leave_if_removed(&mut self, number: usize) {
        if self.groups.entities[number].leaves {
            self.leave(number);
        }
    }

    #[cold]
    fn leave(&mut self, number: usize) {
        self.groups.entities[number].leaves = false;
        self.set_weight(number, 0);
    }
}

/// Arrival and departure of packets.
impl<T, P: Storage<T>> Qfq<T, P> {
    #[inline(always)]
    fn enqueue_packet(&mut self, packet: Packet<T>) -> Result<(), Refused<T>> {
        let number = packet.flow.index();
        let len = packet.len;
        let flow = match self.groups.entities.get_mut(number) {
            Some(flow) if len < flow.shorter_than => flow,
            _ => {
                if let Err(reason) = self.welcome(packet.flow, len) {
                    return Err(packet.refused(reason));
                }
                &mut self.groups.entities[number]
            }
        };
        if let Err(reason) = self.pool.make_room_for(&packet) {
            return Err(packet.refused(reason));
        }
        let was_idle = flow.queue.is_empty();
        self.pool.push(&mut flow.queue, packet);
        self.longest.changed(number, flow.queue.size());
        if was_idle {
            let span = flow.span_of(len);
            self.groups.activate(number, span);
        }
        Ok(())
    }

    /// Lets an unknown flow join with its first packet.
    ///
    /// # Errors
    /// The flow is known, and the packet too long for it, or the flow or its packet does not fit.
    #[cold]
    fn welcome(&mut self, flow: FlowId, len: u32) -> Result<(), Refusal> {
        let number = flow.index();
        if let Some(record) = self.groups.entities.get(number)
            && record.weight > 0
        {
            let most = record.shorter_than - 1;
            return Err(Refusal::TooLong { most });
        }
        Refusal::check_tabled(flow, len, FlowConfig::DEFAULT.max_packet_len)?;
        self.join(number);
        Ok(())
    }

    #[inline(always)]
    fn dequeue_packet(
        &mut self,
        mut refill: impl FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<P::Leaving> {
        let number = self.groups.first()?;
        let mut packet = None;
        let mut len = 0;
        let is_done = self.groups.serve_first(number, |flow| {
            len = flow.queue.head_len();
            packet = self.pool.pop(&mut flow.queue);
            if let Some(next) = refill(FlowId(number as u32)) {
                flow.has_longer |= next.len >= flow.shorter_than;
                self.pool.refill(&mut flow.queue, next);
            }
            self.longest.changed(number, flow.queue.size());
            flow.is_as_ever().then(|| (len, !flow.queue.is_empty()))
        });
        if !is_done {
            self.served_otherwise(number, len);
        }
        packet
    }

    /// Slow path: the served flow is not as ever.
    #[cold]
    fn served_otherwise(&mut self, number: usize, len: u32) {
        let flow = &mut self.groups.entities[number];
        let charge = flow.entity.charge(flow.span_of(len));
        let span = flow.span_of(flow.queue.head_len());
        let next = match flow.queue.packets() {
            0 => Next::Idle,
            _ if flow.entity.fits(span) => Next::Stays,
            _ => Next::Moves(span),
        };
        flow.has_longer &= next != Next::Idle;
        self.groups.served(
            number,
            Service {
                len: len.min(FlowConfig::MAX_PACKET_LEN),
                charge,
                next,
            },
        );
        if next == Next::Idle {
            self.leave_if_removed(number);
        }
    }

    /// Prefetches memory for enqueueing these packets: flows first, then free slots and the queues'
    /// tails.
    fn ask_for_arrivals(&self, packets: &[Packet<T>]) {
        if !self.pool.is_far() {
            return;
        }
        let flows = &self.groups.entities;
        for packet in packets {
            prefetch(flows, packet.flow.index());
        }
        self.pool.prefetch_free(packets.len());
        for packet in packets {
            if let Some(flow) = flows.get(packet.flow.index()) {
                self.pool.prefetch_tail(&flow.queue);
            }
        }
    }

    /// Prefetches memory for dequeueing this many packets: the next flows' heads, in the order of
    /// service, and the records of the flows after those, for the next call.
    fn ask_for_departures(&self, packets: usize) {
        if !self.pool.is_far() {
            return;
        }
        let flows = &self.groups.entities;
        let mut numbers = [0; 2 * WINDOW];
        let known = self.groups.peek(&mut numbers[..2 * packets]);
        let (next, later) = numbers[..known].split_at(packets.min(known));
        for number in later {
            prefetch(flows, *number as usize);
        }
        for number in next {
            self.pool.prefetch_head(&flows[*number as usize].queue);
        }
    }

    /// A flow's newest packet. An emptied flow is not charged for the packet, which was not sent.
    fn evict_from(&mut self, number: usize) -> Option<P::Leaving> {
        let flow = self.groups.entities.get_mut(number)?;
        let packet = self.pool.pop_tail(&mut flow.queue)?;
        self.longest.changed(number, flow.queue.size());
        if flow.queue.is_empty() {
            self.groups.withdraw(number);
            self.leave_if_removed(number);
        }
        Some(packet)
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for Qfq<T, P> {
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
        let number = self
            .longest
            .find(self.groups.entities.iter().map(|flow| flow.queue.size()))?;
        self.evict_from(number)
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<P::Leaving> {
        self.evict_from(flow.index())
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }
}

impl<T, P: Storage<T>> Control for Qfq<T, P> {
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(Config::NAME, flow)?;
        let record = self.know(flow.index());
        record.leaves = false;
        if (u32::from(record.weight), record.max_packet_len())
            == (config.weight, config.max_packet_len)
        {
            // Treated as a change, the call would take from a flow with a lag the service still
            // due.
            return Ok(());
        }
        record.has_longer |= config.max_packet_len < record.max_packet_len();
        record.shorter_than = config.max_packet_len + 1;
        self.set_weight(flow.index(), config.weight);
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        let record = match self.groups.entities.get_mut(flow.index()) {
            Some(record) if record.weight > 0 => record,
            _ => return,
        };
        record.leaves = true;
        if record.queue.is_empty() {
            self.leave_if_removed(flow.index());
        }
    }

    fn total_weight(&self) -> Option<u64> {
        Some(self.groups.total_weight())
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES,
            bytes_per_flow: size_of::<Flow>() + Lists::BYTES_PER_NUMBER + Longest::BYTES_PER_QUEUE,
        }
    }

    /// Separates the queue, which the paper does not count. The settings fill up a cache line.
    fn footprint_parts(&self) -> Vec<(&'static str, Footprint)> {
        let settings = size_of::<Flow>() - size_of::<Queue>() - size_of::<Entity>();
        let rest = size_of::<Self>() - Calendar::SLOT_BYTES - Calendar::GROUP_BYTES;
        alloc::vec![
            ("queue", Footprint::of_a_flow(size_of::<Queue>())),
            (
                "times, share, group and place",
                Footprint::of_a_flow(size_of::<Entity>())
            ),
            ("settings", Footprint::of_a_flow(settings)),
            (
                "number in its slot's list",
                Footprint::of_a_flow(Lists::BYTES_PER_NUMBER)
            ),
            (
                "search for the longest queue",
                Footprint::of_a_flow(Longest::BYTES_PER_QUEUE)
            ),
            ("slots", Footprint::fixed(Calendar::SLOT_BYTES)),
            ("groups", Footprint::fixed(Calendar::GROUP_BYTES)),
            (
                "search for the longest queue",
                Footprint::fixed(Longest::FIXED_BYTES)
            ),
            ("V, sets and the heads of tables", Footprint::fixed(rest)),
        ]
    }

    /// 1. The groups hold the flows with packets (`Groups::check`).
    /// 2. Queues are consistent, and their bytes add up to the backlog.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.groups
            .check(|flow| flow.queue.next_len().map(|len| flow.span_of(len)));
        let mut bytes = 0;
        for flow in &self.groups.entities {
            self.pool.check_queue(&flow.queue);
            bytes += flow.queue.bytes();
        }
        assert_eq!(
            bytes,
            self.pool.backlog().bytes,
            "invariant 2: flows' backlogs add up"
        );
    }
}
