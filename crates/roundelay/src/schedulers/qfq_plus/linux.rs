//! QFQ+ by the rules of Linux's qfq, for the parameter `linux`.
//!
//! | | Linux | without `linux` |
//! |---|---|---|
//! | idle scheduler | V becomes the start time of the first aggregate | V becomes the start of its group's slot |
//! | end of a service | at the next dequeue: what arrives meanwhile for the aggregate in service may still go | as soon as the budget or the packets end |
//! | order within a slot | last in, first out | first in, first out |
//! | V | moves with each packet, by the packet's length times 2^30 / (sum of weights), rounded down | rests until the service ends; the sum of weights with fewer rounding errors |
//! | budget | `maxpkt` for each flow of the aggregate | at most the longest packet seen for each flow, 64 KB in all |
//! | aggregate in service | belongs to no group | stays in its group |
//! | start time of an aggregate that becomes backlogged | V, or the finish time of a group that would be overtaken; its own finish time if that is ahead of V by at most a slot | V, or its own finish time |
//! | a packet longer than `maxpkt` | raises the flow's `maxpkt` | is refused |
//! | flows that join or leave | fill the newest aggregate with room, at once | `mechanisms/aggregates.rs` |
//! | M | 1, 2, 4 or 8 | any number up to 64 |
//!
//! Groups and slots are those of QFQ (Checconi, Rizzo, Valente, "the QFQ paper"), with the papers'
//! names: eligible or not, ready or blocked. A group's state changes only where the kernel's
//! changes: at insertions, and for all groups when the next aggregate is chosen.
//!
//! Source: P. Valente, "Reducing the Execution Time of Fair-Queueing Packet Schedulers", Computer
//! Communications 47, 2014. tc-qfq(8). The order in which packets leave Linux 6.1 (`peers/linux`).
//! A full buffer takes the tail of the longest backlog, as without `linux`, whereas in Linux each
//! class has a queue and a limit of its own.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::control::Footprint;
use crate::drops::{Refusal, Refused};
use crate::flow_config::FlowConfig;
use crate::limit::Backlog;
use crate::mechanisms::longest::Longest;
use crate::packet::{FlowId, Packet};
use crate::pool::{Pool, Queue, Storage};

const NONE: u32 = u32::MAX;
/// A byte's virtual time at weight 1.
const ONE: u64 = 1 << 30;
/// With M = 1, group 0 has slots of 2^22 in virtual time.
const FIRST_SLOT_BITS: u32 = 22;
/// The longest slot holds 8 packets of 2^16 bytes at weight 1, and group numbers count from slots
/// for M = 1.
const GROUPS: usize = 28;
/// Slots of a group.
const SLOTS: usize = 32;
/// Largest M.
const MOST: u32 = 8;

/// Aggregates and their flows.
#[derive(Debug, Clone)]
pub(super) struct Scheduler<T, P> {
    pool: Pool<T, P>,
    flows: Vec<Flow>,
    aggregates: Vec<Aggregate>,
    /// Numbers of removed aggregates.
    free: Vec<u32>,
    /// Aggregates with less than M flows, the newest last.
    roomy: Vec<u32>,
    groups: Vec<Group>,
    slot_bits: u32,
    /// M.
    most: u32,
    v: u64,
    /// V at the last choice of an aggregate.
    chosen_at: u64,
    total_weight: u64,
    in_service: Option<u32>,
    /// The aggregate in service has had packets since its service began.
    has_decided: bool,
    longest: Longest,
}

#[derive(Debug, Clone, Default)]
struct Flow {
    queue: Queue,
    weight: u16,
    /// Forgotten with the last packet.
    leaves: bool,
    /// NONE: unknown flow.
    aggregate: u32,
    deficit: i64,
}

#[derive(Debug, Clone, Default)]
struct Aggregate {
    /// Of each flow.
    weight: u32,
    max_packet_len: u32,
    flows: u32,
    group: usize,
    start: u64,
    finish: u64,
    budget: u64,
    budget_at_start: u64,
    /// The entry below in the slot, if any.
    below: u32,
    /// Backlogged flows. The front one has the turn.
    ring: VecDeque<u32>,
}

#[derive(Debug, Clone)]
struct Group {
    /// The rounded start time of the first slot's aggregates.
    start: u64,
    bits: u32,
    /// Each a stack of aggregates, linked by `below`. The first slot is not empty.
    slots: [u32; SLOTS],
    /// Aggregates in all slots.
    len: u32,
    is_eligible: bool,
    is_blocked: bool,
}

/// Why an aggregate gets new times.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Backlogged,
    Served,
}

const fn is_after(one: u64, other: u64) -> bool {
    one.wrapping_sub(other) as i64 > 0
}

const fn round_down(time: u64, bits: u32) -> u64 {
    time >> bits << bits
}

impl Aggregate {
    /// Virtual time of a byte.
    fn per_byte(&self) -> u64 {
        ONE / (self.weight as u64 * self.flows as u64).max(1)
    }

    fn largest_budget(&self) -> u64 {
        u64::from(self.max_packet_len) * u64::from(self.flows)
    }

    fn settle_finish(&mut self, bytes: u64) {
        // Eq. 2: F = S + l / phi, here with the bytes of a whole service.
        self.finish = self.start.wrapping_add(bytes * self.per_byte());
    }
}

impl Group {
    const fn finish(&self) -> u64 {
        // Eq. 6: F_i = S_i + 2 sigma_i.
        self.start.wrapping_add(2 << self.bits)
    }

    fn is_ready(&self) -> bool {
        self.is_eligible && !self.is_blocked && !self.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes empty slots in front, so the start moves along.
    fn trim(&mut self) {
        while self.len > 0 && self.slots[0] == NONE {
            self.slots.rotate_left(1);
            self.start = self.start.wrapping_add(1 << self.bits);
        }
    }
}

impl<T, P: Storage<T>> Scheduler<T, P> {
    pub(super) fn new(wanted: u32) -> Self {
        let most = most_flows(wanted);
        let slot_bits = FIRST_SLOT_BITS + most.ilog2();
        let mut groups = Vec::new();
        for number in 0..GROUPS as u32 {
            groups.push(Group {
                start: 0,
                bits: slot_bits + number,
                slots: [NONE; SLOTS],
                len: 0,
                is_eligible: false,
                is_blocked: false,
            });
        }
        Self {
            pool: Pool::empty(),
            flows: Vec::new(),
            aggregates: Vec::new(),
            free: Vec::new(),
            roomy: Vec::new(),
            groups,
            slot_bits,
            most,
            v: 0,
            chosen_at: 0,
            total_weight: 0,
            in_service: None,
            has_decided: false,
            longest: Longest::default(),
        }
    }

    pub(super) fn footprint() -> Footprint {
        let bytes_per_flow = size_of::<Flow>()
            + size_of::<Aggregate>()
            + 4 * size_of::<u32>()
            + Longest::BYTES_PER_QUEUE;
        Footprint {
            fixed_bytes: size_of::<Self>() + GROUPS * size_of::<Group>() + Longest::FIXED_BYTES,
            bytes_per_flow,
        }
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    pub(super) const fn total_weight(&self) -> u64 {
        self.total_weight
    }

    /// Within a service, unless it is over.
    pub(super) fn has_decided(&self) -> bool {
        self.has_decided && self.in_service.is_some_and(|number| self.goes_on(number))
    }

    /// Sets M, and lists anew the aggregates that have room: those with at least one flow and fewer
    /// than M.
    pub(super) fn set_most(&mut self, wanted: u32) {
        self.most = most_flows(wanted);
        self.roomy.clear();
        for (number, aggregate) in (0..).zip(&self.aggregates) {
            if (1..self.most).contains(&aggregate.flows) {
                self.roomy.push(number);
            }
        }
    }
}

/// M as Linux derives it from the device's queue length.
const fn most_flows(wanted: u32) -> u32 {
    let wanted = if wanted > MOST { MOST } else { wanted };
    1 << wanted.ilog2()
}

/// Flows in aggregates.
impl<T, P: Storage<T>> Scheduler<T, P> {
    fn is_known(&self, number: usize) -> bool {
        self.flows.get(number).is_some_and(|flow| flow.weight > 0)
    }

    pub(super) fn set_flow(&mut self, number: usize, config: FlowConfig) {
        if !self.is_known(number) {
            return self.join(number, config);
        }
        self.flows[number].leaves = false;
        self.flows[number].weight = config.weight as u16;
        let aggregate = &self.aggregates[self.flows[number].aggregate as usize];
        if (aggregate.weight, aggregate.max_packet_len) != (config.weight, config.max_packet_len) {
            self.leave(number);
            self.enter(number, config);
        }
    }

    pub(super) fn remove_flow(&mut self, number: usize) {
        if self.is_known(number) {
            self.flows[number].leaves = true;
            self.forget_if_gone(number);
        }
    }

    fn forget_if_gone(&mut self, number: usize) {
        let flow = &self.flows[number];
        if flow.leaves && flow.queue.is_empty() {
            self.leave(number);
            self.flows[number] = Flow::default();
        }
    }

    fn join(&mut self, number: usize, config: FlowConfig) {
        if number >= self.flows.len() {
            self.flows.resize(number + 1, Flow::default());
        }
        self.flows[number].weight = config.weight as u16;
        self.enter(number, config);
    }

    /// Puts a flow into the newest aggregate of its kind that has room, or into a new one.
    fn enter(&mut self, number: usize, kind: FlowConfig) {
        let is_alike = |index: &&u32| {
            let aggregate = &self.aggregates[**index as usize];
            (aggregate.weight, aggregate.max_packet_len) == (kind.weight, kind.max_packet_len)
        };
        let index = match self.roomy.iter().rev().find(is_alike) {
            Some(index) => *index,
            None => self.begin(kind),
        };
        self.flows[number].aggregate = index;
        self.change_size(index, 1);
        if !self.flows[number].queue.is_empty() {
            self.join_ring(number, index);
        }
    }

    fn begin(&mut self, kind: FlowConfig) -> u32 {
        let index = self.free.pop().unwrap_or(self.aggregates.len() as u32);
        let group = self.group_of(kind);
        let aggregate = Aggregate {
            weight: kind.weight,
            max_packet_len: kind.max_packet_len,
            group,
            ..Aggregate::default()
        };
        match self.aggregates.get_mut(index as usize) {
            Some(record) => *record = aggregate,
            None => self.aggregates.push(aggregate),
        }
        self.roomy.push(index);
        index
    }

    /// The group whose slots hold a single flow's longest packet.
    fn group_of(&self, kind: FlowConfig) -> usize {
        let slot = u64::from(kind.max_packet_len) * (ONE / u64::from(kind.weight));
        (slot
            .div_ceil(1 << self.slot_bits)
            .next_power_of_two()
            .ilog2() as usize)
            .min(GROUPS - 1)
    }

    /// Adds a flow to an aggregate, or removes one (-1).
    fn change_size(&mut self, index: u32, flows: i32) {
        let aggregate = &mut self.aggregates[index as usize];
        let before = aggregate.flows;
        aggregate.flows = before.saturating_add_signed(flows);
        let now = aggregate.flows;
        let weight = u64::from(aggregate.weight);
        self.total_weight =
            self.total_weight - weight * u64::from(before) + weight * u64::from(now);
        let was_full = before >= self.most;
        if now == 0 || now >= self.most {
            self.roomy.retain(|other| *other != index);
        } else if was_full {
            self.roomy.push(index);
        }
    }

    fn leave(&mut self, number: usize) {
        let index = self.flows[number].aggregate;
        if !self.flows[number].queue.is_empty() {
            self.leave_ring(number);
        }
        self.change_size(index, -1);
        self.flows[number].aggregate = NONE;
        self.free_if_unused(index);
    }

    /// An aggregate without flows remains while it is in service.
    fn free_if_unused(&mut self, index: u32) {
        if self.aggregates[index as usize].flows == 0 && self.in_service != Some(index) {
            self.free.push(index);
        }
    }

    fn join_ring(&mut self, number: usize, index: u32) {
        let aggregate = &mut self.aggregates[index as usize];
        aggregate.ring.push_back(number as u32);
        if aggregate.ring.len() == 1 && self.in_service != Some(index) {
            self.activate(index);
        }
    }

    /// A flow has lost its packets without service, or leaves with them.
    fn leave_ring(&mut self, number: usize) {
        let index = self.flows[number].aggregate;
        let aggregate = &mut self.aggregates[index as usize];
        aggregate.ring.retain(|flow| *flow as usize != number);
        if aggregate.ring.is_empty() && self.in_service != Some(index) {
            aggregate.finish = aggregate.start;
            self.withdraw(index);
        }
    }
}

/// Times and groups.
impl<T, P: Storage<T>> Scheduler<T, P> {
    /// An aggregate has become backlogged.
    fn activate(&mut self, index: u32) {
        let aggregate = &mut self.aggregates[index as usize];
        aggregate.budget = aggregate.largest_budget();
        aggregate.budget_at_start = aggregate.budget;
        self.set_times(index, Cause::Backlogged);
        if self.in_service.is_none() {
            self.in_service = Some(index);
            // Eq. 3: V jumps, as nothing else is backlogged.
            self.v = self.aggregates[index as usize].start;
            self.chosen_at = self.v;
        } else {
            self.insert(index);
        }
    }

    fn set_times(&mut self, index: u32, cause: Cause) {
        let start = match cause {
            Cause::Served => self.aggregates[index as usize].finish,
            Cause::Backlogged => self.start_of(&self.aggregates[index as usize]),
        };
        let aggregate = &mut self.aggregates[index as usize];
        aggregate.start = start;
        aggregate.settle_finish(aggregate.largest_budget());
    }

    /// The finish time of the last service if it is ahead of V, but by a slot at most. Otherwise V,
    /// or the finish time of the next ready group if that one would be overtaken.
    fn start_of(&self, aggregate: &Aggregate) -> u64 {
        let bits = self.groups[aggregate.group].bits;
        let finish = round_down(aggregate.finish, bits);
        let limit = round_down(self.v, bits).wrapping_add(1 << bits);
        if is_after(aggregate.finish, self.v) && !is_after(finish, limit) {
            // Eq. 2: S = F, for an aggregate that is ahead of V.
            return aggregate.finish;
        }
        // Linux's form of Eq. 29, which keeps blocked groups in order: F_b of the next ready group,
        // its own included, but only if the last finish time is beyond F_b, and no more than a slot
        // after V.
        match self.first_ready(aggregate.group) {
            Some(next) if is_after(finish, self.groups[next].finish()) => {
                let next = self.groups[next].finish();
                if is_after(limit, next) { next } else { limit }
            }
            _ => self.v,
        }
    }

    /// The ready group with the smallest number from `from` on.
    fn first_ready(&self, from: usize) -> Option<usize> {
        (from..GROUPS).find(|group| self.groups[*group].is_ready())
    }

    /// A backlogged aggregate that is not in service enters its group.
    fn insert(&mut self, index: u32) {
        let number = self.aggregates[index as usize].group;
        let group = &mut self.groups[number];
        let start = round_down(self.aggregates[index as usize].start, group.bits);
        if group.is_empty() {
            group.start = start;
            self.judge(number);
        } else if is_after(group.start, self.aggregates[index as usize].start) {
            let slots = group.start.wrapping_sub(start) >> group.bits;
            group.slots.rotate_right((slots % SLOTS as u64) as usize);
            group.start = start;
            self.judge(number);
        }
        let group = &mut self.groups[number];
        let ahead = start.wrapping_sub(group.start);
        // Fig. 4 of the QFQ paper, `bucket_insert`. An aggregate beyond the last slot is drawn
        // back.
        let slot = (ahead >> group.bits).min(SLOTS as u64 - 2);
        let excess = ahead.wrapping_sub(slot << group.bits);
        let aggregate = &mut self.aggregates[index as usize];
        aggregate.start = aggregate.start.wrapping_sub(excess);
        aggregate.finish = aggregate.finish.wrapping_sub(excess);
        aggregate.below = core::mem::replace(&mut group.slots[slot as usize], index);
        group.len += 1;
    }

    /// Sets the state of a group whose start has changed.
    fn judge(&mut self, number: usize) {
        let group = &mut self.groups[number];
        // Eligible: S_i <= V.
        group.is_eligible = !is_after(group.start, self.v);
        // It does not block itself.
        group.is_blocked = true;
        let finish = group.finish();
        let next = self.first_ready(number);
        // Blocked: a ready group of longer slots finishes before.
        self.groups[number].is_blocked =
            next.is_some_and(|next| is_after(finish, self.groups[next].finish()));
    }

    /// Takes an aggregate out of its group.
    fn withdraw(&mut self, index: u32) {
        let number = self.aggregates[index as usize].group;
        let group = &mut self.groups[number];
        let aggregates = &mut self.aggregates;
        let below = aggregates[index as usize].below;
        for slot in &mut group.slots {
            let mut at = *slot;
            if at == index {
                *slot = below;
            }
            while let Some(above) = aggregates.get_mut(at as usize) {
                at = above.below;
                if at == index {
                    above.below = below;
                }
            }
        }
        group.len -= 1;
        let before = group.start;
        group.trim();
        if group.is_empty() || group.start != before {
            if !group.is_empty() {
                group.is_eligible = !is_after(group.start, self.v);
            }
            self.unblock_all();
        }
    }

    /// Blocked groups as QFQ defines them: a group is blocked if an eligible one with longer slots
    /// finishes before.
    fn unblock_all(&mut self) {
        let mut first = None;
        for group in self.groups.iter_mut().rev() {
            if group.is_empty() {
                continue;
            }
            let finish = group.finish();
            group.is_blocked = first.is_some_and(|first| is_after(finish, first));
            if group.is_eligible && first.is_none_or(|first| is_after(first, finish)) {
                first = Some(finish);
            }
        }
    }

    /// Groups become eligible because V has passed the starts of slots.
    fn update_eligible(&mut self) {
        if let Some(first) = self
            .groups
            .iter()
            .find(|group| !group.is_empty() && !group.is_eligible)
        {
            if self.first_ready(0).is_none() && is_after(first.start, self.v) {
                // Eq. 3: without a ready group, V jumps to the first start time.
                self.v = first.start;
            }
            // Fig. 6, `make_eligible`: the highest bit of V that has changed tells which groups
            // have begun a slot.
            let passed = (self.v ^ self.chosen_at) >> self.slot_bits;
            let groups = (u64::BITS - passed.leading_zeros()) as usize;
            for group in self.groups.iter_mut().take(groups) {
                group.is_eligible = true;
            }
        }
        self.chosen_at = self.v;
    }

    /// Takes the next aggregate from the ready group with the shortest slots.
    fn choose(&mut self) -> Option<u32> {
        self.update_eligible();
        let number = self
            .first_ready(0)
            .or_else(|| self.groups.iter().position(|group| !group.is_empty()))?;
        let group = &mut self.groups[number];
        // Fig. 5: the first aggregate of the group that finishes first.
        let finish = group.finish();
        let index = group.slots[0];
        group.slots[0] = self.aggregates.get(index as usize)?.below;
        group.len -= 1;
        let before = group.start;
        group.trim();
        if group.is_empty() || group.start != before {
            if !group.is_empty() {
                self.judge(number);
            }
            self.unblock(number, finish);
        }
        Some(index)
    }

    /// Group `number` was ready with this finish time, and has another aggregate or none now. So
    /// groups with shorter slots are no longer blocked, unless by a group that finishes as early.
    fn unblock(&mut self, number: usize, finish: u64) {
        let next = self.first_ready(number + 1);
        if next.is_none_or(|next| is_after(self.groups[next].finish(), finish)) {
            // Fig. 6, `unblock_groups`.
            for group in &mut self.groups[..number] {
                group.is_blocked = false;
            }
        }
    }
}

/// Packets.
impl<T, P: Storage<T>> Scheduler<T, P> {
    #[cold]
    #[inline(never)]
    pub(super) fn enqueue(&mut self, packet: Packet<T>) -> Result<(), Refused<T>> {
        let number = packet.flow.index();
        let len = packet.len;
        let has_room = Refusal::check_tabled(packet.flow, packet.len, FlowConfig::MAX_PACKET_LEN);
        if let Err(reason) = has_room.and_then(|()| self.pool.make_room_for(&packet)) {
            return Err(packet.refused(reason));
        }
        if !self.is_known(number) {
            self.join(number, FlowConfig::DEFAULT);
        }
        self.make_room_for(number, len);
        let flow = &mut self.flows[number];
        let was_idle = flow.queue.is_empty();
        self.pool.push(&mut flow.queue, packet);
        self.longest.changed(number, flow.queue.size());
        if was_idle {
            let index = flow.aggregate;
            flow.deficit = self.aggregates[index as usize].max_packet_len.into();
            self.join_ring(number, index);
        }
        Ok(())
    }

    /// A longer packet raises the flow's maximum.
    fn make_room_for(&mut self, number: usize, len: u32) {
        let Aggregate {
            weight,
            max_packet_len,
            ..
        } = self.aggregates[self.flows[number].aggregate as usize];
        if len > max_packet_len {
            self.leave(number);
            self.enter(
                number,
                FlowConfig {
                    weight,
                    max_packet_len: len.min(FlowConfig::MAX_PACKET_LEN),
                },
            );
        }
    }

    /// Whether an aggregate in service may send its next packet.
    fn goes_on(&self, index: u32) -> bool {
        let aggregate = &self.aggregates[index as usize];
        let Some(&flow) = aggregate.ring.front() else {
            return false;
        };
        u64::from(self.flows[flow as usize].queue.head_len()) <= aggregate.budget
    }

    /// Ends an aggregate's service and begins the next one.
    fn next_service(&mut self, index: u32) -> Option<u32> {
        let aggregate = &mut self.aggregates[index as usize];
        // F by the bytes that were sent, not by the budget.
        aggregate.settle_finish(aggregate.budget_at_start - aggregate.budget);
        aggregate.budget = aggregate.largest_budget();
        aggregate.budget_at_start = aggregate.budget;
        if !aggregate.ring.is_empty() {
            self.set_times(index, Cause::Served);
            self.insert(index);
        }
        self.in_service = if self.pool.backlog().packets > 0 {
            self.choose()
        } else {
            None
        };
        self.free_if_unused(index);
        self.in_service
    }

    #[cold]
    #[inline(never)]
    pub(super) fn dequeue(
        &mut self,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<P::Leaving> {
        let mut index = self.in_service?;
        if !self.goes_on(index) {
            index = self.next_service(index)?;
        }
        let number = *self.aggregates[index as usize].ring.front()? as usize;
        let flow = &mut self.flows[number];
        let len = flow.queue.head_len();
        let packet = self.pool.pop(&mut flow.queue);
        let mut refilled_len = 0;
        if let Some(next) = refill(FlowId(number as u32)) {
            refilled_len = next.len;
            self.pool.refill(&mut flow.queue, next);
        }
        self.longest.changed(number, flow.queue.size());
        let aggregate = &mut self.aggregates[index as usize];
        flow.deficit -= i64::from(len);
        if flow.queue.is_empty() {
            aggregate.ring.pop_front();
        // DRR within the aggregate.
        } else if flow.deficit < i64::from(flow.queue.head_len()) {
            flow.deficit += i64::from(aggregate.max_packet_len);
            aggregate.ring.rotate_left(1);
        }
        aggregate.budget = aggregate.budget.saturating_sub(len.into());
        self.has_decided = !aggregate.ring.is_empty();
        // Eq. 3: V rises by l / (sum of weights).
        self.v = self
            .v
            .wrapping_add(u64::from(len) * (ONE / self.total_weight.max(1)));
        self.make_room_for(number, refilled_len);
        self.forget_if_gone(number);
        packet
    }

    pub(super) fn evict(&mut self) -> Option<P::Leaving> {
        let number = self
            .longest
            .find(self.flows.iter().map(|flow| flow.queue.size()))?;
        self.evict_from(number)
    }

    pub(super) fn evict_from(&mut self, number: usize) -> Option<P::Leaving> {
        let flow = self.flows.get_mut(number)?;
        let packet = self.pool.pop_tail(&mut flow.queue)?;
        self.longest.changed(number, flow.queue.size());
        if flow.queue.is_empty() {
            self.leave_ring(number);
            self.forget_if_gone(number);
        }
        Some(packet)
    }

    /// All aggregates of a group.
    fn entries(&self, group: &Group) -> Vec<u32> {
        let mut entries = Vec::new();
        for head in group.slots {
            let mut index = head;
            while index != NONE {
                entries.push(index);
                index = self.aggregates[index as usize].below;
            }
        }
        entries
    }

    /// 1. Each known flow counts in its aggregate. The sum of weights is that of all known flows.
    /// 2. A backlogged flow is once in its aggregate's ring, an idle one is not.
    /// 3. An aggregate is once in its group if it is backlogged and not in service, else not.
    /// 4. The first slot of a group is not empty.
    #[cfg(any(test, debug_assertions))]
    pub(super) fn check_invariants(&self) {
        let mut members = alloc::vec![0; self.aggregates.len()];
        let mut weights = 0;
        for (number, flow) in self.flows.iter().enumerate() {
            if flow.weight == 0 {
                continue;
            }
            let aggregate = &self.aggregates[flow.aggregate as usize];
            members[flow.aggregate as usize] += 1;
            weights += u64::from(aggregate.weight);
            let turns = aggregate.ring.iter();
            let turns = turns.filter(|member| **member as usize == number).count();
            assert_eq!(
                turns,
                usize::from(!flow.queue.is_empty()),
                "linux, invariant 2: a backlogged flow has one turn"
            );
            self.pool.check_queue(&flow.queue);
        }
        assert_eq!(
            weights, self.total_weight,
            "linux, invariant 1: weights add up"
        );
        for (index, aggregate) in (0..).zip(&self.aggregates) {
            assert_eq!(
                aggregate.flows, members[index as usize],
                "linux, invariant 1: flows are counted"
            );
            let entries = self.entries(&self.groups[aggregate.group]).into_iter();
            let listed = entries.filter(|other| *other == index).count();
            let waits = !aggregate.ring.is_empty() && self.in_service != Some(index);
            assert_eq!(
                listed,
                usize::from(waits),
                "linux, invariant 3: a waiting aggregate is in its group"
            );
        }
        for group in &self.groups {
            assert_eq!(
                self.entries(group).len(),
                group.len as usize,
                "linux, invariant 3: entries are counted"
            );
            assert!(
                group.is_empty() || group.slots[0] != NONE,
                "linux, invariant 4: a group begins with its first aggregate"
            );
        }
        let bytes: u64 = self.flows.iter().map(|flow| flow.queue.bytes()).sum();
        assert_eq!(
            bytes,
            self.pool.backlog().bytes,
            "linux: flows' backlogs add up"
        );
    }
}
