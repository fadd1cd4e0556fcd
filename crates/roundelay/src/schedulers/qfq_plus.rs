//! QFQ+: quick fair queueing among aggregates of flows that are alike, round robin inside: several packets for the price of one decision.
//!
//! Flows of the same weight and the same longest packet share aggregates of at most M. QFQ schedules the aggregates, each with the weights
//! of its flows added up. The aggregate chosen is served until its budget, a longest packet for each of its flows, cannot take its next
//! packet, or until nothing of it waits; then it is charged for what it sent. Inside, its flows take turns by DRR. The times of an aggregate
//! depend on what it has sent, not on what it will send, so whoever stands behind a flow may change its mind about the next packet: QFQ+ is
//! right inside a hierarchy too.
//!
//! Source: P. Valente, "Reducing the Execution Time of Fair-Queueing Packet Schedulers", Computer Communications 47, 2014, by the author's
//! summary that came with Linux's `sch_qfq`; the paper itself was not at hand, so the proofs are ours. Groups, slots and sets are QFQ's
//! (`src/groups.rs`).
//!
//! | paper | here |
//! |---|---|
//! | M | `Config::aggregate` |
//! | aggregate: S, F | `Aggregate`: `Entity::start`, `Entity::finish` |
//! | budget | `Aggregate::budget` |
//! | quantum, deficit | `Aggregate::max_packet_len`, `Flow::deficit` |
//! | aggregate in service, what it has used | `in_service`, `served` |
//!
//! With n <= M flows in the aggregate, sigma the slot size of each of its flows under QFQ (n budgets at n weights make the same slot), L the
//! longest packet of any flow and B <= M L the largest budget:
//!
//! | guarantee | value | test in `theorems/qfq_plus.rs` |
//! |---|---|---|
//! | B-WFI | 3 phi sigma + L_k + phi (B + L) + 3 L_k (n - 1) / n | `b_wfi_stays_within_the_bound` |
//! | T-WFI | (3 sigma + L_k / phi + B + L) / R + 3 L_k (n - 1) / (n phi R) | `t_wfi_stays_within_the_bound` |
//! | latency: the B-WFI at the flow's share | the same as T-WFI | `latency_is_that_of_the_b_wfi` |
//! | Theorems 3 to 8 of QFQ | with B for L | `theorems_3_to_8_of_qfq_hold_after_each_operation` |
//!
//! Proof: to QFQ a service is one packet of up to B bytes, so an aggregate of share n phi stays within QFQ's bound, 3 n phi sigma + n L_k +
//! n phi (B + L), L being the rest of a packet on the link. A flow with c whole turns in an interval has sent more than (c - 1) L_k, each
//! other flow of the aggregate less than (c + 2) L_k: so the flow is less than 3 L_k (n - 1) / n behind the mean of its aggregate.
//!
//! Number format: as in `qfq`; the virtual time of a byte of an aggregate has 16 binary places more.
//!
//! Cost: O(1), and most packets cost no more than a turn of DRR. Settings cost O(log N) to find an aggregate. Memory: a record a flow and one
//! an aggregate.
//!
//! Differences from the paper, and from Linux:
//! - The summary promises QFQ's bound and 3 L_k / (phi R). On a bare link B - L has to be added, since nobody else is served while an aggregate
//!   is: `the_summarys_bound_is_exceeded_on_a_bare_link`. Linux has M <= `txqueuelen` + 1, so that the device's own queue is as long.
//! - An aggregate in service stays in its group and V rests until it has been served; then group and V move as for one packet. So there is no
//!   state in which the sets know nothing of whom is served: V cannot jump and nobody is unblocked too early. Flows that come meanwhile start
//!   at the V of the service's begin.
//! - A service ends as soon as it must, not when the next packet is asked for; and with any change of flows or weights, so that each service
//!   is charged at one weight.
//! - A budget is at most 64 KB: flows with very long packets share aggregates of fewer. With 512 KB of eight such flows the slots would have to
//!   be eight times as long for all others (Theorem 5).
//! - Packets longer than any that has come do not count in budgets, so that a `maxpkt` set too large holds up nobody.
//! - A flow whose longest packet is lowered stands with longer packets until those that wait have left, so that a budget is always enough for
//!   the next packet.
//! - An aggregate that a flow joins while others wait in it starts anew (Eq. 29): what it was owed counts for fewer.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::{ConfigError, Kind, Parameter, saturated};
use crate::groups::{Entity, Groups, MAX_SERVICE, slot_bytes};
use crate::guarantees::{Bound, Guarantees, Share};
use crate::longest::Longest;
use crate::packet::{FlowId, Packet};
use crate::pool::{Backlog, Pool, Queue};
use crate::scheduler::{FlowConfig, Footprint, Scheduler, is_time_to_check};
use crate::schedulers::Discipline;
use crate::time::Instant;

const NONE: u32 = u32::MAX;

/// Parameters of QFQ+.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// M, the most flows of an aggregate: 1 to 64.
    pub aggregate: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { aggregate: 8 }
    }
}

impl Config {
    /// Flows of this longest packet that an aggregate takes.
    fn capacity(&self, max_packet_len: u32) -> u32 {
        (MAX_SERVICE / max_packet_len.clamp(1, MAX_SERVICE)).min(self.aggregate)
    }
}

impl Discipline for Config {
    const NAME: &'static str = "qfq_plus";
    const ABOUT: &'static str = "quick fair queueing plus: QFQ among aggregates of like flows, DRR inside; Linux's qfq";
    const SOURCE: &'static str =
        "Valente, Reducing the Execution Time of Fair-Queueing Packet Schedulers, Computer Communications 47, 2014";
    const PARAMETERS: &'static [Parameter<Self>] = &[Parameter {
        name: "aggregate",
        kind: Kind::Count,
        min: 1,
        max: 64,
        about: "most flows of like weight and longest packet that are scheduled as one: more is cheaper, fewer is fairer",
        read: |config| config.aggregate.into(),
        write: |config, value| config.aggregate = saturated(value),
    }];
    const LIVE: &'static [&'static str] = &["aggregate"];
    const WEIGHTED: bool = true;
    const INTERIOR: bool = true;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = QfqPlus<T>;

    fn build<T: Send>(&self, _seed: u64) -> Result<QfqPlus<T>, ConfigError> {
        QfqPlus::new(*self)
    }

    fn configuration<T: Send>(scheduler: &mut QfqPlus<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    fn adopt<T: Send>(scheduler: &mut QfqPlus<T>, _before: &Self) {
        scheduler.fit_aggregates();
    }

    fn guarantees(&self, share: &Share) -> Guarantees {
        let (own_len, any_len) = (u64::from(share.max_packet_len), u64::from(share.link_max_packet_len));
        let flows = share.flows.max(1);
        let members = u64::from(self.capacity(share.max_packet_len)).min(flows);
        let turns = (3 * own_len * (members - 1)).div_ceil(members);
        let own = 3 * slot_bytes(share.max_packet_len, share.weight) + own_len + turns;
        let budget = (any_len * u64::from(self.aggregate).min(flows)).min(MAX_SERVICE.into()).max(any_len);
        let value = own + share.of(budget + any_len);
        let b_wfi = Bound { value, source: "from QFQ's Theorem 1, corrected: 3 phi sigma + L_k + phi (B + L) + 3 L_k (n - 1) / n" };
        let value = share.rate.time_of(share.per_share(own) + budget + any_len);
        let t_wfi = Bound { value, source: "from QFQ's Theorem 2, corrected: (3 sigma + L_k / phi + B + L + 3 L_k (n - 1) / (n phi)) / R" };
        let source = "from the B-WFI, sent at the flow's share: (3 sigma + L_k / phi + B + L + 3 L_k (n - 1) / (n phi)) / R";
        Guarantees { b_wfi: Some(b_wfi), t_wfi: Some(t_wfi), latency: Some(Bound { value, source }), fairness: None }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct QfqPlus<T> {
    pool: Pool<T>,
    flows: Vec<Flow>,
    groups: Groups<Aggregate>,
    /// The aggregate in service; it has packets. None is [`NONE`].
    in_service: u32,
    /// Bytes that it has been served since it was chosen.
    served: u32,
    /// The longest packet that has come.
    longest_packet: u32,
    /// Aggregates that have flows and take more: weight, longest packet, number.
    open: BTreeSet<(u16, u32, u32)>,
    /// Numbers of aggregates without flows.
    free: Vec<u32>,
    /// Aggregates that there have been.
    created: u32,
    longest: Longest,
    config: Config,
}

#[derive(Debug, Clone)]
struct Flow {
    queue: Queue,
    aggregate: u32,
    /// Neighbours in the ring of its aggregate, if it is backlogged.
    next: u32,
    previous: u32,
    /// Bytes that it may still send in this turn, or carries to its next.
    deficit: u32,
    /// Longest packet that is taken.
    max_packet_len: u32,
    /// Packets at its head that came while longer ones were taken.
    longer: u32,
    /// Zero: the flow is not known.
    weight: u16,
    /// It was removed and goes with its last packet.
    leaves: bool,
}

#[derive(Debug, Clone)]
struct Aggregate {
    entity: Entity,
    /// Virtual time of a byte of the whole aggregate, in 2^-16 of the usual unit.
    byte_time: u64,
    /// Whose weights V counts under this name. An aggregate created anew is another one.
    owner: FlowId,
    /// The flow whose turn it is, in a ring of the backlogged ones; none is [`NONE`].
    turn: u32,
    members: u32,
    /// Longest packet of each of its flows.
    max_packet_len: u32,
    /// Weight of each of its flows.
    weight: u16,
}

const _: () = assert!(size_of::<Flow>() <= 64 && size_of::<Aggregate>() <= 64, "what a packet touches lies in a cache line each");

impl Flow {
    const UNKNOWN: Self = Self {
        queue: Queue::EMPTY,
        aggregate: NONE,
        next: NONE,
        previous: NONE,
        deficit: 0,
        max_packet_len: FlowConfig::DEFAULT.max_packet_len,
        longer: 0,
        weight: 0,
        leaves: false,
    };

    const fn config(&self) -> FlowConfig {
        FlowConfig { weight: self.weight as u32, max_packet_len: self.max_packet_len }
    }
}

impl Aggregate {
    #[inline]
    const fn is_backlogged(&self) -> bool {
        self.turn != NONE
    }

    /// A longest packet for each flow, as far as packets of that length have come.
    #[inline]
    fn budget(&self, longest_packet: u32) -> u32 {
        self.members * self.max_packet_len.min(longest_packet)
    }

    /// Virtual time of the whole budget.
    #[inline]
    const fn span(&self) -> u64 {
        self.entity.span_of(self.max_packet_len)
    }

    /// F = S + service / weight.
    #[inline]
    fn charge(&mut self, served: u32) {
        let charge = (u64::from(served) * self.byte_time).div_ceil(1 << 16);
        self.entity.finish = self.entity.start.plus(charge.min(self.span()));
    }

    fn set_members(&mut self, members: u32) {
        self.members = members;
        self.byte_time = (u64::from(self.entity.byte_time()) << 16).div_ceil(members.max(1).into());
    }
}

impl AsRef<Entity> for Aggregate {
    #[inline]
    fn as_ref(&self) -> &Entity {
        &self.entity
    }
}

impl AsMut<Entity> for Aggregate {
    #[inline]
    fn as_mut(&mut self) -> &mut Entity {
        &mut self.entity
    }
}

/// Flows and aggregates. Whoever changes them ends the service in progress.
impl<T> QfqPlus<T> {
    /// # Errors
    /// A parameter is out of its range.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            pool: Pool::default(),
            flows: Vec::new(),
            groups: Groups::default(),
            in_service: NONE,
            served: 0,
            longest_packet: 0,
            open: BTreeSet::new(),
            free: Vec::new(),
            created: 0,
            longest: Longest::default(),
            config,
        })
    }

    #[inline]
    fn is_known(&self, number: usize) -> bool {
        self.flows.get(number).is_some_and(|flow| flow.weight > 0)
    }

    #[cold]
    fn join(&mut self, number: usize, config: FlowConfig) {
        if number >= self.flows.len() {
            self.flows.resize(number + 1, Flow::UNKNOWN);
        }
        self.flows[number].max_packet_len = config.max_packet_len;
        self.enter(number, config.weight as u16, config.max_packet_len);
    }

    /// Makes a flow, backlogged or not, a member of an aggregate of this kind.
    fn enter(&mut self, number: usize, weight: u16, max_packet_len: u32) {
        self.end_service();
        let place = self.open_aggregate(weight, max_packet_len);
        let flow = &mut self.flows[number];
        (flow.aggregate, flow.weight) = (place, weight);
        let place = place as usize;
        let starts_anew = self.groups.entities[place].is_backlogged();
        if starts_anew {
            self.groups.withdraw(place);
        }
        self.resize(place, 1);
        let aggregate = &self.groups.entities[place];
        let (owner, span) = (aggregate.owner, aggregate.span());
        self.groups.change_weight(owner, 0, weight.into(), self.groups.now());
        if starts_anew {
            self.groups.activate(place, span);
        }
        if !self.flows[number].queue.is_empty() {
            self.join_ring(number);
        }
    }

    /// Takes a flow, backlogged or not, out of its aggregate.
    fn leave(&mut self, number: usize) {
        self.end_service();
        let (place, weight) = (self.flows[number].aggregate as usize, self.flows[number].weight);
        if !self.flows[number].queue.is_empty() {
            self.leave_ring(number);
            if !self.groups.entities[place].is_backlogged() {
                self.groups.withdraw(place);
            }
        }
        self.resize(place, -1);
        let aggregate = &self.groups.entities[place];
        let (owner, finish) = (aggregate.owner, aggregate.entity.finish);
        self.groups.change_weight(owner, weight.into(), 0, finish);
    }

    /// An aggregate of this kind with room for a flow.
    fn open_aggregate(&mut self, weight: u16, max_packet_len: u32) -> u32 {
        if let Some((.., number)) = self.open.range((weight, max_packet_len, 0)..=(weight, max_packet_len, NONE)).next() {
            return *number;
        }
        let mut entity = Entity::UNKNOWN;
        entity.finish = self.groups.now();
        entity.set(weight.into(), max_packet_len);
        let owner = FlowId(self.created);
        self.created = self.created.wrapping_add(1);
        let aggregate = Aggregate { entity, byte_time: 0, owner, turn: NONE, members: 0, max_packet_len, weight };
        if let Some(number) = self.free.pop() {
            self.groups.entities[number as usize] = aggregate;
            return number;
        }
        self.groups.entities.push(aggregate);
        self.groups.entities.len() as u32 - 1
    }

    /// A flow more or less, and where the aggregate is known then.
    fn resize(&mut self, place: usize, by: i32) {
        let aggregate = &mut self.groups.entities[place];
        aggregate.set_members(aggregate.members.saturating_add_signed(by));
        let (members, kind) = (aggregate.members, (aggregate.weight, aggregate.max_packet_len, place as u32));
        if (1..self.config.capacity(aggregate.max_packet_len)).contains(&members) {
            self.open.insert(kind);
        } else {
            self.open.remove(&kind);
        }
        if members == 0 {
            self.free.push(place as u32);
        }
    }

    /// After M has changed: aggregates that have become too large lose flows. Those that could take more now get them as flows come.
    fn fit_aggregates(&mut self) {
        for number in 0..self.flows.len() {
            if !self.is_known(number) {
                continue;
            }
            let (place, weight) = (self.flows[number].aggregate as usize, self.flows[number].weight);
            self.resize(place, 0);
            let Aggregate { members, max_packet_len, .. } = self.groups.entities[place];
            if members > self.config.capacity(max_packet_len) {
                self.leave(number);
                self.enter(number, weight, max_packet_len);
            }
        }
    }

    /// Puts a flow where it belongs, once the packets that kept it elsewhere have left.
    #[cold]
    fn settle(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        flow.longer = flow.longer.min(flow.queue.packets());
        if flow.leaves && flow.queue.is_empty() {
            self.forget(number);
        } else if flow.longer == 0 {
            let FlowConfig { weight, max_packet_len } = flow.config();
            self.move_to(number, weight as u16, max_packet_len);
        }
    }

    fn move_to(&mut self, number: usize, weight: u16, max_packet_len: u32) {
        let Aggregate { weight: own_weight, max_packet_len: own_len, .. } = self.groups.entities[self.flows[number].aggregate as usize];
        if (own_weight, own_len) != (weight, max_packet_len) {
            self.leave(number);
            self.enter(number, weight, max_packet_len);
        }
    }

    fn forget(&mut self, number: usize) {
        self.leave(number);
        self.flows[number] = Flow::UNKNOWN;
    }
}

/// DRR in an aggregate.
impl<T> QfqPlus<T> {
    /// A flow becomes backlogged: it goes behind the others.
    #[inline]
    fn join_ring(&mut self, number: usize) {
        let place = self.flows[number].aggregate as usize;
        let aggregate = &mut self.groups.entities[place];
        self.flows[number].deficit = aggregate.max_packet_len;
        if aggregate.is_backlogged() {
            let next = aggregate.turn;
            let previous = core::mem::replace(&mut self.flows[next as usize].previous, number as u32);
            self.flows[previous as usize].next = number as u32;
            (self.flows[number].next, self.flows[number].previous) = (next, previous);
        } else {
            aggregate.turn = number as u32;
            (self.flows[number].next, self.flows[number].previous) = (number as u32, number as u32);
            let span = aggregate.span();
            self.groups.activate(place, span);
        }
    }

    /// A flow is no longer backlogged. If no other one is, the groups are to be told.
    #[inline]
    fn leave_ring(&mut self, number: usize) {
        let Flow { next, previous, aggregate, .. } = self.flows[number];
        let turn = &mut self.groups.entities[aggregate as usize].turn;
        if next == number as u32 {
            *turn = NONE;
            return;
        }
        *turn = if *turn == number as u32 { next } else { *turn };
        self.flows[previous as usize].next = next;
        self.flows[next as usize].previous = previous;
    }

    /// The flow whose turn it is has sent `len` bytes.
    #[inline]
    fn count_turn(&mut self, number: usize, len: u32) {
        let flow = &mut self.flows[number];
        flow.deficit = flow.deficit.saturating_sub(len);
        match self.pool.head(&flow.queue) {
            None => self.leave_ring(number),
            Some(head) if head.len > flow.deficit => {
                let aggregate = &mut self.groups.entities[flow.aggregate as usize];
                flow.deficit += aggregate.max_packet_len;
                aggregate.turn = flow.next;
            }
            Some(_) => {}
        }
    }
}

/// QFQ among aggregates.
impl<T> QfqPlus<T> {
    #[inline]
    fn dequeue_packet(&mut self, mut refill: impl FnMut(FlowId) -> Option<Packet<T>>) -> Option<Packet<T>> {
        if self.in_service == NONE {
            self.in_service = self.groups.first()? as u32;
        }
        let number = self.groups.entities[self.in_service as usize].turn as usize;
        let flow = &mut self.flows[number];
        let packet = self.pool.pop(&mut flow.queue)?;
        let refilled = refill(FlowId(number as u32));
        let refilled_len = refilled.as_ref().map_or(0, |next| next.len);
        if let Some(next) = refilled {
            self.pool.push(&mut flow.queue, next);
        }
        self.longest.changed(number, flow.queue.size());
        self.served = self.served.saturating_add(packet.len).min(MAX_SERVICE);
        let is_unsettled = flow.longer > 0 || flow.leaves;
        flow.longer = flow.longer.saturating_sub(1);
        self.count_turn(number, packet.len);
        self.end_service_if_over();
        if refilled_len > 0 {
            self.make_room(number, refilled_len);
        }
        if is_unsettled {
            self.settle(number);
        }
        Some(packet)
    }

    /// What a node of a hierarchy refills may be longer than what the flow was set for.
    fn make_room(&mut self, number: usize, len: u32) {
        let (flow, len) = (&mut self.flows[number], len.min(FlowConfig::MAX_PACKET_LEN));
        self.longest_packet = self.longest_packet.max(len);
        if len > flow.max_packet_len {
            flow.longer = flow.queue.packets();
            let (weight, longest) = (flow.weight, self.groups.entities[flow.aggregate as usize].max_packet_len);
            self.move_to(number, weight, len.max(longest));
        }
    }

    /// The service is over when nothing waits in the aggregate or its next packet is beyond its budget.
    #[inline]
    fn end_service_if_over(&mut self) {
        let aggregate = &self.groups.entities[self.in_service as usize];
        let left = aggregate.budget(self.longest_packet).saturating_sub(self.served);
        let next = self.flows.get(aggregate.turn as usize).filter(|_| left > 0);
        let next = next.and_then(|flow| self.pool.head(&flow.queue));
        if next.is_none_or(|next| next.len > left) {
            self.end_service();
        }
    }

    /// Charges the aggregate in service, if one is, for what it was served, and gives it its new place.
    #[inline]
    fn end_service(&mut self) {
        let (number, served) = (self.in_service as usize, core::mem::take(&mut self.served));
        self.in_service = NONE;
        if let Some(aggregate) = self.groups.entities.get_mut(number) {
            aggregate.charge(served);
            let next = aggregate.is_backlogged().then(|| aggregate.span());
            self.groups.served(number, served, next);
        }
    }

    fn enqueue_packet(&mut self, packet: Packet<T>) -> Result<(), Packet<T>> {
        let (number, len) = (packet.flow.index(), packet.len);
        let known = self.flows.get(number).filter(|flow| flow.weight > 0);
        if len > known.map_or(FlowConfig::DEFAULT.max_packet_len, |flow| flow.max_packet_len) || !packet.flow.fits_a_table() {
            return Err(packet);
        }
        if known.is_none() {
            self.join(number, FlowConfig::DEFAULT);
        }
        self.longest_packet = self.longest_packet.max(len);
        let flow = &mut self.flows[number];
        let was_idle = flow.queue.is_empty();
        self.pool.push(&mut flow.queue, packet);
        self.longest.changed(number, flow.queue.size());
        if was_idle {
            self.join_ring(number);
        }
        Ok(())
    }

    /// The newest packet of a flow. An aggregate that loses its last one is not charged for a packet that was not sent.
    fn evict_from(&mut self, number: usize) -> Option<Packet<T>> {
        let flow = self.flows.get_mut(number)?;
        let packet = self.pool.pop_tail(&mut flow.queue)?;
        self.longest.changed(number, flow.queue.size());
        let (place, is_unsettled) = (flow.aggregate, flow.longer > 0 || flow.leaves);
        if flow.queue.is_empty() {
            self.leave_ring(number);
            if self.in_service == place {
                self.end_service_if_over();
            } else if !self.groups.entities[place as usize].is_backlogged() {
                self.groups.withdraw(place as usize);
            }
        }
        if is_unsettled {
            self.settle(number);
        }
        self.debug_check();
        Some(packet)
    }
}

impl<T> Scheduler<T> for QfqPlus<T> {
    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        let result = self.enqueue_packet(packet);
        self.debug_check();
        result
    }

    #[inline]
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
        self.evict_from(number)
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<Packet<T>> {
        self.evict_from(flow.index())
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(Config::NAME, flow)?;
        let number = flow.index();
        if !self.is_known(number) {
            self.join(number, config);
        } else {
            let record = &mut self.flows[number];
            record.leaves = false;
            let longest = if record.queue.is_empty() { 0 } else { self.groups.entities[record.aggregate as usize].max_packet_len };
            record.longer = if longest > config.max_packet_len { record.queue.packets() } else { 0 };
            record.max_packet_len = config.max_packet_len;
            self.move_to(number, config.weight as u16, config.max_packet_len.max(longest));
        }
        self.debug_check();
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        if !self.is_known(flow.index()) {
            return;
        }
        self.flows[flow.index()].leaves = true;
        self.settle(flow.index());
        self.debug_check();
    }

    fn total_weight(&self) -> Option<u64> {
        Some(self.groups.total_weight())
    }

    /// If flows are alike and fill their aggregates.
    fn footprint(&self) -> Footprint {
        let of_aggregate = size_of::<Aggregate>().div_ceil(self.config.aggregate as usize);
        let bytes_per_flow = size_of::<Flow>() + of_aggregate + Longest::BYTES_PER_QUEUE;
        Footprint { fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES, bytes_per_flow }
    }

    fn check_invariants(&self) {
        self.groups.check(Aggregate::is_backlogged);
        let mut members = alloc::vec![0; self.groups.entities.len()];
        for flow in self.flows.iter().filter(|flow| flow.weight > 0) {
            members[flow.aggregate as usize] += 1;
            self.check_flow(flow);
        }
        for (number, members) in members.into_iter().enumerate() {
            self.check_aggregate(number, members);
        }
        if let Some(aggregate) = self.groups.entities.get(self.in_service as usize) {
            assert!(aggregate.is_backlogged(), "invariant 5: who is served has packets");
            assert!(self.served <= aggregate.budget(self.longest_packet), "invariant 5: within its budget");
        }
        let bytes: u64 = self.flows.iter().map(|flow| flow.queue.bytes()).sum();
        assert_eq!(bytes, self.pool.backlog().bytes, "flows' backlogs add up");
    }
}

/// Invariants, beside those of the groups, which hold the aggregates that have packets.
impl<T> QfqPlus<T> {
    /// 1. A flow is in an aggregate of its weight and its longest packet, of a longer one only while packets of that time wait.
    /// 2. The deficit of a flow with packets is less than two longest packets.
    fn check_flow(&self, flow: &Flow) {
        let aggregate = &self.groups.entities[flow.aggregate as usize];
        assert_eq!(aggregate.weight, flow.weight, "invariant 1: weight");
        let is_longer = aggregate.max_packet_len > flow.max_packet_len && flow.longer > 0;
        assert!(is_longer || aggregate.max_packet_len == flow.max_packet_len, "invariant 1: longest packet");
        assert!(flow.longer <= flow.queue.packets(), "invariant 1: they wait");
        assert!(flow.queue.is_empty() || flow.deficit < 2 * aggregate.max_packet_len, "invariant 2");
        self.pool.check_queue(&flow.queue);
    }

    /// 3. An aggregate has no more flows than it takes, and is open while it takes more and free when it has none.
    /// 4. Its ring holds those of its flows that have packets, once each.
    /// 5. The aggregate in service has packets and has not used more than its budget.
    fn check_aggregate(&self, number: usize, members: u32) {
        let aggregate = &self.groups.entities[number];
        let capacity = self.config.capacity(aggregate.max_packet_len);
        let kind = (aggregate.weight, aggregate.max_packet_len, number as u32);
        assert_eq!(aggregate.members, members, "invariant 3: counted");
        assert!(members <= capacity, "invariant 3: no more than it takes");
        assert_eq!(self.open.contains(&kind), (1..capacity).contains(&members), "invariant 3: open");
        assert_eq!(self.free.contains(&(number as u32)), members == 0, "invariant 3: free");
        let (mut at, mut found) = (aggregate.turn, 0);
        while at != NONE {
            let flow = &self.flows[at as usize];
            assert!(flow.aggregate == number as u32 && !flow.queue.is_empty(), "invariant 4: its own, with packets");
            assert_eq!(self.flows[flow.next as usize].previous, at, "invariant 4: links agree");
            found += 1;
            at = if flow.next == aggregate.turn { NONE } else { flow.next };
        }
        let is_backlogged = |flow: &&Flow| flow.weight > 0 && flow.aggregate == number as u32 && !flow.queue.is_empty();
        assert_eq!(self.flows.iter().filter(is_backlogged).count(), found, "invariant 4: all of them");
    }

    #[inline]
    fn debug_check(&mut self) {
        self.groups.forget_steps_if_idle();
        if is_time_to_check(self.flows.len(), self.pool.backlog()) {
            self.check_invariants();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a division by the number of flows leaves over: F is as far from S as a slot is long, not a bit further.
    #[test]
    fn a_budget_used_up_is_charged_exactly() {
        for (members, max_packet_len) in (1..=64).flat_map(|members| [512, 1000, 1024, 65_536].map(|len| (members, len))) {
            let mut scheduler = QfqPlus::<()>::new(Config { aggregate: 64 }).expect("legal");
            (0..members).for_each(|flow| scheduler.set_flow(FlowId(flow), FlowConfig { weight: 1, max_packet_len }).expect("legal"));
            let aggregate = &mut scheduler.groups.entities[0];
            let served = aggregate.budget(max_packet_len);
            assert_eq!(served, aggregate.members * max_packet_len);
            aggregate.charge(served);
            assert_eq!(aggregate.entity.finish.since(aggregate.entity.start), i64::from(max_packet_len) << 30);
            aggregate.charge(served - 1);
            assert!(aggregate.entity.finish.since(aggregate.entity.start) < i64::from(max_packet_len) << 30);
        }
    }
}
