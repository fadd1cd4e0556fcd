//! Strata: flows grouped by the virtual time of their longest packet, shared by `gfq` and `s_kps`.
//! Each of the two orders the slots in its own way.
//!
//! A group has all flows whose L_k / phi is the same after rounding up to a power of two. This
//! power is the group's slot size sigma_i. This module holds the flows' records with their exact
//! times (Eq. 2 in the QFQ paper), chooses their groups, and has one list of flows for each slot.
//! The discipline numbers the slots.

use alloc::vec::Vec;

use crate::config::ConfigError;
use crate::drops::{Refusal, Refused};
use crate::flow_config::FlowConfig;
use crate::guarantees::Share;
use crate::mechanisms::lists::{List, Lists};
use crate::mechanisms::longest::Longest;
use crate::packet::{FlowId, Packet};
use crate::pool::{Nodes, Pool, Queue, Storage};
use crate::virtual_clock::VirtualClock;
use crate::virtual_time::{VirtualTime, byte_time};

/// Slots of a group, one bit each.
pub(crate) const SLOTS: u32 = u64::BITS;
/// Flows are grouped as if their longest packet had at least this many bytes, because then 2 + L /
/// sigma_i, plus one, is at most [`SLOTS`], however long the other flows' packets are.
const MIN_GROUPED_LEN: u32 = 1088;
/// Group 0 has slots of 2 to this: the shortest packets at the largest weight.
pub(crate) const MIN_SLOT_SHIFT: u32 = slot_shift(MIN_GROUPED_LEN, charge(FlowConfig::MAX_WEIGHT));
/// The last group has the longest packets at the smallest weight.
pub(crate) const GROUPS: usize =
    (slot_shift(FlowConfig::MAX_PACKET_LEN, charge(1)) - MIN_SLOT_SHIFT + 1) as usize;
/// Factor on all weights, for flows and for V alike, so that four of the largest slots stay within
/// [`MAX_AHEAD`](crate::virtual_time::MAX_AHEAD).
const SCALE: u32 = 2;

const _: () = assert!(
    2 + FlowConfig::MAX_PACKET_LEN.div_ceil(MIN_GROUPED_LEN) <= SLOTS,
    "Theorem 5 of the QFQ paper"
);
const _: () = assert!(
    4 << shift_of(GROUPS - 1) <= crate::virtual_time::MAX_AHEAD,
    "four slots are no stale timestamp"
);

/// Virtual time of a byte at this weight.
const fn charge(weight: u32) -> u64 {
    byte_time(SCALE * weight)
}

/// The smallest power of two that holds a packet's virtual time (Eq. 4).
const fn slot_shift(len: u32, byte_time: u64) -> u32 {
    (len as u64 * byte_time)
        .next_power_of_two()
        .trailing_zeros()
}

const fn group_of(max_packet_len: u32, byte_time: u64) -> usize {
    let len = if max_packet_len < MIN_GROUPED_LEN {
        MIN_GROUPED_LEN
    } else {
        max_packet_len
    };
    (slot_shift(len, byte_time) - MIN_SLOT_SHIFT) as usize
}

/// log2 of a group's slot size.
#[inline]
pub(crate) const fn shift_of(group: usize) -> u32 {
    MIN_SLOT_SHIFT + group as u32
}

/// phi sigma_i of a flow, in bytes: from L_k to below 2 L_k.
pub(crate) fn own_slot(share: &Share) -> u64 {
    let group = group_of(
        share.max_packet_len.min(FlowConfig::MAX_PACKET_LEN),
        charge(share.weight.max(1)),
    );
    u64::from(SCALE * share.weight) << (shift_of(group) - VirtualTime::FRACTION_BITS)
}

/// A flow's record, in one cache line: everything in its flow that a packet touches. Not in a
/// `FlowTable`, whose records are not aligned and so may lie across two lines.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(crate) struct Flow {
    pub(crate) queue: Queue,
    /// S^k of the head packet.
    pub(crate) start: VirtualTime,
    /// F^k of the head packet, or of the last one if the flow is idle.
    pub(crate) finish: VirtualTime,
    byte_time: u32,
    /// Packets shorter than this are accepted. Zero: unknown flow.
    shorter_than: u32,
    /// Position in its slot's list, if backlogged.
    position: u32,
    weight: u16,
    /// The list's slot, if backlogged.
    slot: u16,
    /// The group used for rounding the flow's times.
    group: u8,
    /// The settings have changed and may require another group.
    regroup: bool,
    /// Removed. Forget the flow when its last packet leaves.
    leaves: bool,
}

const _: () = assert!(
    size_of::<Flow>() <= 64,
    "what a packet touches of its flow lies in one cache line"
);

impl Flow {
    const UNKNOWN: Self = Self {
        queue: Queue::EMPTY,
        start: VirtualTime::ZERO,
        finish: VirtualTime::ZERO,
        byte_time: 0,
        shorter_than: 0,
        position: 0,
        weight: 0,
        slot: 0,
        group: 0,
        regroup: false,
        leaves: false,
    };

    #[inline]
    const fn span_of(&self, len: u32) -> u64 {
        len as u64 * self.byte_time as u64
    }

    /// Stamps the next packet, if it fits the flow's group.
    #[inline(always)]
    fn restamp(&mut self) -> Next {
        if self.queue.is_empty() {
            return Next::Idle;
        }
        // Eq. 2, for a flow that stays backlogged: S^k = F^k, F^k = S^k + l / phi^k.
        self.start = self.finish;
        let len = self.queue.head_len();
        let span = self.span_of(self.queue.head_len());
        if self.regroup || span > 1 << self.shift() {
            self.regroup = true;
            return Next::Moves(len);
        }
        self.finish = self.start.plus(span);
        Next::Stays
    }

    #[inline]
    pub(crate) const fn group(&self) -> usize {
        self.group as usize
    }

    /// log2 of the flow's slot size.
    #[inline]
    pub(crate) const fn shift(&self) -> u32 {
        shift_of(self.group as usize)
    }

    /// The key for finding the longest backlog.
    const fn size(&self) -> u64 {
        self.queue.size()
    }
}

/// The next step for a served flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Idle,
    /// Already stamped, and to be listed.
    Stays,
    /// To be moved to another group after V has advanced. The value is the head packet's bytes.
    Moves(u32),
}

/// A departing packet and its flow.
#[derive(Debug)]
pub(crate) struct Served<L> {
    pub(crate) packet: Option<L>,
    /// Bytes of the packet, kept here so that the packet itself is moved whole, without a read.
    len: u32,
    pub(crate) flow: usize,
    /// The flow's slot has no other flow.
    pub(crate) is_vacated: bool,
    next: Next,
}

impl<L> Served<L> {
    /// Whether the flow stays backlogged in its group.
    pub(crate) fn stays(&self) -> bool {
        self.next == Next::Stays
    }
}

/// Flows in lists, and V.
#[derive(Debug, Clone)]
pub(crate) struct Strata<T, P = Nodes<T>> {
    pub(crate) pool: Pool<T, P>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) clock: VirtualClock,
    /// Flows with the same rounded times, first come, first served: a list for each slot.
    lists: Vec<List>,
    numbers: Lists,
    longest: Longest,
    /// No flow's F is ahead of V by more than 2^reach slots.
    reach: u32,
    /// V's largest step since the scheduler was last empty: the theorems' L. Kept in debug builds.
    largest_step: u64,
}

impl<T, P: Storage<T>> Strata<T, P> {
    pub(crate) fn new(slots: usize, reach: u32) -> Self {
        Self {
            pool: Pool::empty(),
            flows: Vec::new(),
            clock: VirtualClock::default(),
            lists: alloc::vec![List::default(); slots],
            numbers: Lists::default(),
            longest: Longest::default(),
            reach,
            largest_step: 0,
        }
    }

    /// Memory beside the flows' records.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.lists.len() * size_of::<List>() + Longest::FIXED_BYTES
    }

    /// Memory for each flow.
    pub(crate) const BYTES_PER_FLOW: usize =
        size_of::<Flow>() + Lists::BYTES_PER_NUMBER + Longest::BYTES_PER_QUEUE;

    /// The sum of the weights that share V.
    pub(crate) const fn total_weight(&self) -> u64 {
        self.clock.total_weight() / SCALE as u64
    }

    /// L in virtual time, kept in debug builds.
    pub(crate) const fn largest_step(&self) -> u64 {
        self.largest_step
    }
}

/// Flows and their weights.
impl<T, P: Storage<T>> Strata<T, P> {
    /// The flow's record. An unknown flow joins with [`FlowConfig::DEFAULT`].
    #[inline]
    fn know(&mut self, flow: usize) -> &mut Flow {
        if self.flows.get(flow).is_none_or(|flow| flow.weight == 0) {
            self.join(flow);
        }
        &mut self.flows[flow]
    }

    #[cold]
    fn join(&mut self, flow: usize) {
        if flow >= self.flows.len() {
            self.flows.resize(flow + 1, Flow::UNKNOWN);
        }
        self.flows[flow].shorter_than = FlowConfig::DEFAULT.max_packet_len + 1;
        self.set_weight(flow, FlowConfig::DEFAULT.weight);
    }

    pub(crate) fn set_flow(
        &mut self,
        discipline: &'static str,
        flow: FlowId,
        config: FlowConfig,
    ) -> Result<(), ConfigError> {
        config.check(discipline, flow)?;
        let record = self.know(flow.index());
        record.leaves = false;
        // Unchanged settings must not count as a change, which would cost a late flow its lag.
        if (u32::from(record.weight), record.shorter_than)
            != (config.weight, config.max_packet_len + 1)
        {
            record.shorter_than = config.max_packet_len + 1;
            record.regroup = true;
            self.set_weight(flow.index(), config.weight);
        }
        Ok(())
    }

    pub(crate) fn remove_flow(&mut self, flow: FlowId) {
        let Some(record) = self
            .flows
            .get_mut(flow.index())
            .filter(|record| record.weight > 0)
        else {
            return;
        };
        record.leaves = true;
        if record.queue.is_empty() {
            self.leave_if_removed(flow.index());
        }
    }

    fn set_weight(&mut self, number: usize, weight: u32) {
        let id = FlowId(number as u32);
        let flow = &mut self.flows[number];
        let before = u32::from(flow.weight);
        flow.weight = weight as u16;
        if weight > 0 {
            flow.byte_time = charge(weight) as u32;
            flow.regroup = true;
        } else {
            flow.shorter_than = 0;
        }
        if weight > before {
            self.clock.add_weight(id, SCALE * (weight - before));
        } else if weight < before {
            self.clock
                .remove_weight(id, SCALE * (before - weight), flow.finish);
            self.let_weights_go();
        }
    }

    fn let_weights_go(&mut self) {
        if self.clock.has_leaving() {
            self.clock.let_go(self.pool.backlog().is_empty());
        }
    }

    fn leave_if_removed(&mut self, number: usize) {
        if self.flows[number].leaves {
            self.flows[number].leaves = false;
            self.set_weight(number, 0);
        }
    }
}

/// Packets and times.
impl<T, P: Storage<T>> Strata<T, P> {
    /// Enqueues a packet. If the flow was idle, it gets its times and is returned, to be listed.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, packet: Packet<T>) -> Result<Option<usize>, Refused<T>> {
        self.forget_steps_if_idle();
        let number = packet.flow.index();
        let len = packet.len;
        let flow = match self.flows.get_mut(number) {
            Some(flow) if len < flow.shorter_than => flow,
            _ => {
                if let Err(reason) = self.welcome(packet.flow, len) {
                    return Err(packet.refused(reason));
                }
                &mut self.flows[number]
            }
        };
        if let Err(reason) = self.pool.make_room_for(&packet) {
            return Err(packet.refused(reason));
        }
        let was_idle = flow.queue.is_empty();
        self.pool.push(&mut flow.queue, packet);
        self.longest.changed(number, flow.size());
        if was_idle {
            self.stamp(number, len);
        }
        Ok(was_idle.then_some(number))
    }

    /// Lets an unknown flow join with its first packet.
    ///
    /// # Errors
    /// The flow is known, and the packet too long for it, or the flow or its packet does not fit.
    #[cold]
    fn welcome(&mut self, flow: FlowId, len: u32) -> Result<(), Refusal> {
        let number = flow.index();
        if let Some(record) = self.flows.get(number)
            && record.weight > 0
        {
            let most = record.shorter_than - 1;
            return Err(Refusal::TooLong { most });
        }
        Refusal::check_tabled(flow, len, FlowConfig::DEFAULT.max_packet_len)?;
        self.join(number);
        Ok(())
    }

    /// Eq. 2 for a newly backlogged flow: S = max(V, F).
    #[inline]
    fn stamp(&mut self, number: usize, len: u32) {
        if self.flows[number].regroup {
            self.choose_group(number, len);
        }
        let now = self.clock.now();
        let lead = self.lead(number);
        let flow = &mut self.flows[number];
        flow.start = if lead.is_some_and(|lead| lead > 0) {
            flow.finish
        } else {
            now
        };
        flow.finish = flow.start.plus(flow.span_of(len));
    }

    /// How far F is ahead of V. None beyond the largest lead in the flow's group, because the
    /// timestamp is then from before the clock wrapped.
    #[inline]
    fn lead(&self, number: usize) -> Option<i64> {
        let flow = &self.flows[number];
        let lead = flow.finish.since(self.clock.now());
        (lead <= 1 << (flow.shift() + self.reach)).then_some(lead)
    }

    /// The configured group, or a higher one while the head packet is longer than the configured
    /// longest packet, or while the flow's lead over V is too large for the configured group after
    /// service at a smaller weight or with longer packets.
    #[cold]
    fn choose_group(&mut self, number: usize, len: u32) {
        let lead = self.lead(number).unwrap_or(0).max(0) >> (self.reach - 1);
        let by_lead = (i64::BITS - lead.leading_zeros()).saturating_sub(MIN_SLOT_SHIFT) as u8;
        let flow = &mut self.flows[number];
        let by_config = group_of(flow.shorter_than - 1, flow.byte_time.into()) as u8;
        let by_packet = group_of(len, flow.byte_time.into()) as u8;
        flow.group = by_lead.min(flow.group).max(by_config).max(by_packet);
        flow.regroup = flow.group > by_config;
    }

    /// Sends the head packet of a slot's first flow, and stamps the flow's next packet. The slot
    /// must have a flow.
    #[inline(always)]
    pub(crate) fn serve(&mut self, slot: usize) -> Served<P::Leaving> {
        let list = &mut self.lists[slot];
        let number = self.numbers.at(list.head()) as usize;
        let flow = &mut self.flows[number];
        let len = flow.queue.head_len();
        let packet = self.pool.pop(&mut flow.queue);
        self.longest.changed(number, flow.size());
        let is_vacated = self.numbers.remove_first(list);
        Served {
            packet,
            len,
            flow: number,
            is_vacated,
            next: flow.restamp(),
        }
    }

    /// Advances V by a served packet. Then leaving flows remove their weights. Returns whether the
    /// flow must be listed in another group.
    #[inline(always)]
    pub(crate) fn advance(&mut self, served: &Served<P::Leaving>) -> bool {
        if cfg!(debug_assertions) {
            self.largest_step = self.largest_step.max(self.clock.span_of(served.len));
        }
        // Eq. 3.
        self.clock.advance(served.len);
        self.let_weights_go();
        match served.next {
            Next::Stays => {}
            Next::Idle => self.leave_if_removed(served.flow),
            Next::Moves(len) => self.stamp(served.flow, len),
        }
        matches!(served.next, Next::Moves(_))
    }

    /// The tail packet of the longest backlog, and its flow.
    pub(crate) fn evict(&mut self) -> Option<(P::Leaving, usize)> {
        let number = self.longest.find(self.flows.iter().map(Flow::size))?;
        let flow = &mut self.flows[number];
        let packet = self.pool.pop_tail(&mut flow.queue)?;
        self.longest.changed(number, flow.size());
        Some((packet, number))
    }

    /// A flow has lost its last packet without service and without charge. Returns whether its
    /// slot is now empty.
    pub(crate) fn withdraw(&mut self, number: usize) -> bool {
        let is_vacated = self.unlist(number);
        self.flows[number].finish = self.flows[number].start;
        self.leave_if_removed(number);
        self.let_weights_go();
        is_vacated
    }
}

/// Lists.
impl<T, P: Storage<T>> Strata<T, P> {
    /// Appends a flow to a slot's list. Returns whether the flow is the first there.
    #[inline(always)]
    pub(crate) fn list(&mut self, number: usize, slot: usize) -> bool {
        let list = &mut self.lists[slot];
        let flow = &mut self.flows[number];
        flow.slot = slot as u16;
        let is_first = list.is_empty();
        if is_first {
            *list = self.numbers.begin(number as u32);
            flow.position = list.head();
        } else {
            flow.position = self.numbers.append(list, number as u32);
        }
        is_first
    }

    /// Removes a flow from its list, where the first flow fills the gap. Returns whether the slot
    /// is now empty.
    fn unlist(&mut self, number: usize) -> bool {
        let Flow { slot, position, .. } = self.flows[number];
        let list = &mut self.lists[usize::from(slot)];
        let head = list.head();
        let is_vacated = self.numbers.remove_first(list);
        if head != position {
            let moved = self.numbers.at(head);
            self.numbers.put(position, moved);
            self.flows[moved as usize].position = position;
        }
        is_vacated
    }

    /// Number of non-empty lists, for checks.
    pub(crate) fn occupied_slots(&self) -> usize {
        self.lists.iter().filter(|list| !list.is_empty()).count()
    }

    /// Backlogged flows, by number.
    pub(crate) fn backlogged(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().filter(|flow| !flow.queue.is_empty())
    }
}

/// Invariants.
impl<T, P: Storage<T>> Strata<T, P> {
    /// The invariants' L is that of one busy period.
    #[inline]
    fn forget_steps_if_idle(&mut self) {
        if cfg!(debug_assertions) && self.pool.backlog().is_empty() {
            self.largest_step = 0;
        }
    }

    /// 1. A backlogged flow is once on its slot's list, at its recorded position. An idle flow is
    ///    on no list.
    /// 2. A packet fits its slot: 0 <= F - S <= sigma.
    pub(crate) fn check(&self, slot_of: impl Fn(&Flow) -> usize) {
        let mut listed = alloc::vec![0; self.flows.len()];
        for (slot, list) in self
            .lists
            .iter()
            .enumerate()
            .filter(|(_, list)| !list.is_empty())
        {
            for (position, number) in self.numbers.iter(*list) {
                let flow = &self.flows[number as usize];
                listed[number as usize] += 1;
                assert_eq!(
                    (slot_of(flow), usize::from(flow.slot)),
                    (slot, slot),
                    "invariant 1: listed by its times"
                );
                assert_eq!(
                    flow.position, position,
                    "invariant 1: it knows where it stands"
                );
            }
        }
        for (flow, listed) in self.flows.iter().zip(listed) {
            assert_eq!(
                listed,
                u32::from(!flow.queue.is_empty()),
                "invariant 1: listed once if backlogged"
            );
            let fits = (0..=1 << flow.shift()).contains(&flow.finish.since(flow.start));
            assert!(flow.queue.is_empty() || fits, "invariant 2: F - S <= sigma");
            self.pool.check_queue(&flow.queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    #[test]
    fn a_slot_holds_the_longest_packet_and_less_than_twice_as_much() {
        let rate = Rate::from_bits_per_second(1).expect("not zero");
        for weight in 1..=FlowConfig::MAX_WEIGHT {
            for max_packet_len in [1088, 1500, 2048, 2049, 9000, 1 << 16] {
                let share = Share {
                    weight,
                    total_weight: 1 << 20,
                    least_weight: 1,
                    flows: 1,
                    max_packet_len,
                    link_max_packet_len: 1,
                    rate,
                };
                // Byte times are rounded up, so an exact fit can take the next slot size.
                let len = u64::from(max_packet_len);
                let slot = own_slot(&share);
                assert!(
                    (len..=2 * len).contains(&slot),
                    "weight {weight}, {len} bytes: {slot}"
                );
            }
        }
    }
}
