//! Quick fair queueing: WF2Q+ to within a few packets, at a cost that depends neither on flows, nor on groups, nor on lengths.
//!
//! Flows with like ratios of packet length to weight form a group. Inside a group virtual times are rounded to slots, so that sorting is an
//! index into an array. Groups are kept in four sets, bitmaps of a machine word: eligible or ineligible (has the fluid server begun it?), and
//! ready or blocked (is there an eligible group of higher index that finishes earlier?). The sets are built so that among the eligible and
//! ready ones the index sorts by finish time: the next packet is found by find-first-set, and whole sets move by AND, OR and XOR.
//!
//! Source: F. Checconi, P. Valente, L. Rizzo, "QFQ: Efficient Packet Scheduling with Tight Bandwidth Distribution Guarantees", sections 4
//! and 5 and appendix A; weights and lengths in the ranges of tc-qfq(8).
//!
//! | paper | here |
//! |---|---|
//! | S^k, F^k (Eq. 2, 29) | `Flow::start`, `Flow::finish` |
//! | S_i, F_i (Eq. 6) | `Group::start`, `finish_of` |
//! | sigma_i, slot size | 2^(`MIN_SLOT_SHIFT` + i) |
//! | V(t) (Eq. 3) | `clock` |
//! | ER, IR, EB, IB | `sets` |
//!
//! | guarantee | value | test in `theorems/qfq.rs` |
//! |---|---|---|
//! | Theorem 1, corrected: B-WFI | 3 phi sigma_i + L_k + 2 phi L | `theorem_1_b_wfi` |
//! | Theorem 2, corrected: T-WFI | (3 sigma_i + L_k / phi + 2 L) / R | `theorem_2_t_wfi` |
//! | Theorems 3 to 8 | order of the sets, range of the slots | `theorems_3_to_8_hold_after_each_operation`; invariants below |
//!
//! Number format: virtual time in 2^-30 bytes per unit of weight, wrapping at 2^64. A flow's bytes are charged rounded up and V advances
//! rounded down, by less than one part in 2^20 with weights up to 1024, so that shares never add up to more than the link.
//!
//! Cost: O(1), no loop but over dropped weights. Memory: one record a flow, and the groups.
//!
//! Differences from the paper:
//! - Its Theorems 1 and 2 lack L_k and L_k / phi. Their proofs take a flow to be at most sigma_i ahead of V; but a flow is eligible when its
//!   slot is, so its packet may start sigma_i ahead of V, and the flow is then ahead by that and its packet, L_k / phi. The test
//!   `theorems_1_and_2_as_printed_are_exceeded` shows a flow that falls behind by a quarter more than they allow.
//! - The start time of a newly backlogged flow is Eq. 29's for every flow. The listing (Fig. 4) omits it, and the text applies it only where
//!   the group was idle: both break Theorems 6 and 7 when V uses the true sum of weights and the link is fully allocated. The experiment is
//!   in `theorems/qfq_start_time.rs`, the finding in `docs/schedulers/qfq.md`.
//! - Fig. 5 takes a group's times from its head flow; they are the rounded ones (Eq. 6).
//! - Fig. 4 adds a group to its new set without clearing the old one; here it is in one set.
//! - A flow whose group changes (weight or longest packet set at run time) is taken out and comes back as a newly backlogged one when its
//!   next packet reaches the head, so that no list is searched. While it is further ahead of V than flows of its new group may be
//!   (Theorem 3), it stays in a higher one.
//! - Flows whose longest packet is below 1088 bytes are grouped as if it were that: then 2 + L / sigma_i <= 64 slots (Theorem 5) suffice
//!   however long the packets of other flows are, up to 64 KB.

use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::{ConfigError, Parameter};
use crate::guarantees::{Bound, Guarantees, Share};
use crate::longest::Longest;
use crate::packet::{FlowId, Packet};
use crate::pool::{Backlog, Pool, Queue};
use crate::scheduler::{FlowConfig, Footprint, Scheduler, is_time_to_check};
use crate::schedulers::Discipline;
use crate::time::Instant;
use crate::virtual_time::{VirtualClock, VirtualTime, byte_time};

const NONE: u32 = u32::MAX;
/// Slots of a group, one bit each.
const SLOTS: u32 = u64::BITS;
/// Flows are grouped as if their longest packet had at least this many bytes.
const MIN_GROUPED_LEN: u32 = 1088;
/// Group 0 has slots of 2 to this: the shortest packets at the largest weight.
const MIN_SLOT_SHIFT: u32 = slot_shift(MIN_GROUPED_LEN, byte_time(FlowConfig::MAX_WEIGHT));
/// The last group has the longest packets at the smallest weight.
const GROUPS: usize = (slot_shift(FlowConfig::MAX_PACKET_LEN, byte_time(1)) - MIN_SLOT_SHIFT + 1) as usize;

/// The smallest power of two that holds a packet's virtual time: Eq. 4.
const fn slot_shift(len: u32, byte_time: u64) -> u32 {
    (len as u64 * byte_time).next_power_of_two().trailing_zeros()
}

/// The group of a flow (Eq. 4).
const fn group_of(max_packet_len: u32, byte_time: u64) -> usize {
    let len = if max_packet_len < MIN_GROUPED_LEN { MIN_GROUPED_LEN } else { max_packet_len };
    (slot_shift(len, byte_time) - MIN_SLOT_SHIFT) as usize
}

const fn shift_of(group: usize) -> u32 {
    MIN_SLOT_SHIFT + group as u32
}

/// QFQ has no parameters but its flows' weights and longest packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "qfq";
    const ABOUT: &'static str = "quick fair queueing: near-optimal shares and delays at constant cost";
    const SOURCE: &'static str = "Checconi, Valente, Rizzo, QFQ: Efficient Packet Scheduling with Tight Bandwidth Distribution Guarantees";
    const PARAMETERS: &'static [Parameter<Self>] = &[];
    const WEIGHTED: bool = true;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Qfq<T>;

    fn build<T: Send>(&self, _seed: u64) -> Result<Qfq<T>, ConfigError> {
        Ok(Qfq::default())
    }

    fn guarantees(&self, share: &Share) -> Guarantees {
        let shift = shift_of(group_of(share.max_packet_len.min(FlowConfig::MAX_PACKET_LEN), byte_time(share.weight.max(1))));
        // phi sigma_i = weight x sigma_i, sigma_i in bytes per unit of weight.
        let own_slot = u64::from(share.weight) << (shift - VirtualTime::FRACTION_BITS);
        let own = 3 * own_slot + u64::from(share.max_packet_len);
        let any = 2 * u64::from(share.link_max_packet_len);
        let b_wfi = Bound { value: own + share.of(any), source: "QFQ paper, Theorem 1, corrected: 3 phi sigma_i + L_k + 2 phi L" };
        let late = share.rate.time_of(share.per_share(own) + any);
        let t_wfi = Bound { value: late, source: "QFQ paper, Theorem 2, corrected: (3 sigma_i + L_k / phi + 2 L) / R" };
        Guarantees { b_wfi: Some(b_wfi), t_wfi: Some(t_wfi), ..Guarantees::default() }
    }
}

/// A set of groups, one bit each.
type Set = u32;

/// Places in [`Qfq::sets`]: bit 0 for ineligible, bit 1 for blocked, so that a state is computed by adding.
const ER: usize = 0;
const IR: usize = 1;
const EB: usize = 2;
const IB: usize = 3;

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Qfq<T> {
    pool: Pool<T>,
    flows: Vec<Flow>,
    clock: VirtualClock,
    sets: [Set; 4],
    groups: [Group; GROUPS],
    longest: Longest,
    /// Largest step of V since the scheduler was last empty: L in Theorems 4 and 5. Kept in debug builds.
    largest_step: u64,
}

#[derive(Debug, Clone)]
struct Flow {
    queue: Queue,
    /// S^k of the head packet.
    start: VirtualTime,
    /// F^k of the head packet; of the last one if the flow is idle.
    finish: VirtualTime,
    /// Neighbours in the list of its slot.
    next: u32,
    previous: u32,
    /// Virtual time of a byte, at most 2^30.
    byte_time: u32,
    /// Longest packet that is taken.
    max_packet_len: u32,
    /// Zero: the flow is not known.
    weight: u16,
    /// The group that it is listed in, if it is backlogged.
    group: u8,
    /// What was set since it was listed may belong in another group.
    regroup: bool,
    /// It was removed and goes with its last packet.
    leaves: bool,
}

const _: () = assert!(size_of::<Flow>() <= 64, "what a packet touches of its flow lies in one cache line");
const _: () = assert!(GROUPS <= Set::BITS as usize);
const _: () = assert!(2 + FlowConfig::MAX_PACKET_LEN.div_ceil(MIN_GROUPED_LEN) <= SLOTS, "Theorem 5");

#[derive(Debug, Clone, Copy)]
struct Group {
    /// S_i: start of the first slot that holds a flow.
    start: VirtualTime,
    /// Which slots hold flows; slot n of virtual time is bit n modulo [`SLOTS`].
    occupied: u64,
    slots: [Slot; SLOTS as usize],
}

/// Flows with the same rounded times, first come, first served.
#[derive(Debug, Clone, Copy)]
struct Slot {
    head: u32,
    tail: u32,
}

const EMPTY_GROUP: Group = Group { start: VirtualTime::ZERO, occupied: 0, slots: [Slot { head: NONE, tail: NONE }; SLOTS as usize] };

impl Group {
    #[inline]
    const fn is_idle(&self) -> bool {
        self.occupied == 0
    }

    /// The first occupied slot, and `start` brought up to it. Not to be called on an idle group.
    #[inline]
    fn first_slot(&mut self, shift: u32) -> usize {
        let front = self.start.bits() >> shift;
        let distance = u64::from(self.occupied.rotate_right(front as u32 % SLOTS).trailing_zeros());
        self.start = self.start.plus(distance << shift);
        ((front + distance) % u64::from(SLOTS)) as usize
    }
}

impl Flow {
    const UNKNOWN: Self = Self {
        queue: Queue::EMPTY,
        start: VirtualTime::ZERO,
        finish: VirtualTime::ZERO,
        next: NONE,
        previous: NONE,
        byte_time: 0,
        max_packet_len: FlowConfig::DEFAULT.max_packet_len,
        weight: 0,
        group: 0,
        regroup: false,
        leaves: false,
    };

    #[inline]
    const fn span_of(&self, len: u32) -> u64 {
        len as u64 * self.byte_time as u64
    }

    /// How far F is ahead of V. None if it is further than a flow of its group can be: then it is from before the clock wrapped.
    #[inline]
    fn lead(&self, now: VirtualTime) -> Option<i64> {
        let lead = self.finish.since(now);
        (lead < 2 << shift_of(self.group.into())).then_some(lead)
    }

    #[inline]
    const fn slot(&self) -> usize {
        ((self.start.bits() >> shift_of(self.group as usize)) % SLOTS as u64) as usize
    }
}

impl<T> Default for Qfq<T> {
    fn default() -> Self {
        Self {
            pool: Pool::default(),
            flows: Vec::new(),
            clock: VirtualClock::default(),
            sets: [0; 4],
            groups: [EMPTY_GROUP; GROUPS],
            longest: Longest::default(),
            largest_step: 0,
        }
    }
}

/// Flows and their weights.
impl<T> Qfq<T> {
    /// The flow's record; a flow that is not known joins with what [`FlowConfig::DEFAULT`] says.
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
        self.flows[flow].max_packet_len = FlowConfig::DEFAULT.max_packet_len;
        self.set_weight(flow, FlowConfig::DEFAULT.weight);
    }

    fn set_weight(&mut self, number: usize, weight: u32) {
        let (id, flow) = (FlowId(number as u32), &mut self.flows[number]);
        let before = u32::from(flow.weight);
        flow.weight = weight as u16;
        if weight > 0 {
            flow.byte_time = byte_time(weight) as u32;
            flow.regroup = true;
        }
        if weight > before {
            self.clock.add_weight(id, weight - before);
        } else if weight < before {
            self.clock.remove_weight(id, before - weight, flow.finish);
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

/// Fig. 4: a packet comes.
impl<T> Qfq<T> {
    fn enqueue_packet(&mut self, packet: Packet<T>) -> Result<(), Packet<T>> {
        let (number, len) = (packet.flow.index(), packet.len);
        let known = self.flows.get(number).filter(|flow| flow.weight > 0);
        if len > known.map_or(FlowConfig::DEFAULT.max_packet_len, |flow| flow.max_packet_len) || !packet.flow.fits_a_table() {
            return Err(packet);
        }
        self.know(number);
        let flow = &mut self.flows[number];
        let was_idle = flow.queue.is_empty();
        self.pool.push(&mut flow.queue, packet);
        self.longest.changed(number, flow.queue.size());
        if was_idle {
            self.activate(number, len);
        }
        Ok(())
    }

    /// Stamps and lists a newly backlogged flow whose head packet has `len` bytes.
    fn activate(&mut self, number: usize, len: u32) {
        let group = self.choose_group(number, len);
        let start = self.start_time(number, group);
        let flow = &mut self.flows[number];
        flow.start = start;
        flow.finish = start.plus(flow.span_of(len));
        if self.groups[group].is_idle() || self.groups[group].start.is_after(start) {
            // The group was idle, or its start time comes down to this flow's: its state may change.
            self.leave_sets(group);
            self.groups[group].start = start.slot_start(shift_of(group));
            self.list(number);
            self.jump_if_nobody_is_eligible(group);
            self.sets[self.state_of(group)] |= 1 << group;
        } else {
            self.list(number);
        }
    }

    /// The group by what is set for the flow, or a higher one: while its head packet is longer than what is now its longest, or while it is
    /// further ahead of V than a flow of that group may be, since it was served with a smaller weight or longer packets (Theorem 3).
    fn choose_group(&mut self, number: usize, len: u32) -> usize {
        let flow = &mut self.flows[number];
        if flow.regroup {
            let by_config = group_of(flow.max_packet_len, flow.byte_time.into());
            let by_packet = group_of(len, flow.byte_time.into());
            let lead = flow.lead(self.clock.now()).unwrap_or(0).max(0);
            let by_lead = (i64::BITS - lead.leading_zeros()).saturating_sub(MIN_SLOT_SHIFT) as u8;
            flow.group = by_lead.min(flow.group).max(by_config.max(by_packet) as u8);
            flow.regroup = usize::from(flow.group) > by_config;
        }
        usize::from(flow.group)
    }

    /// Eq. 29: S = max(min(V, F_b), F), with b the lowest group above `group` that is eligible and ready.
    ///
    /// Without the minimum, a group that becomes backlogged while V is beyond F_b would be out of order among the blocked ones.
    #[inline]
    fn start_time(&self, number: usize, group: usize) -> VirtualTime {
        let now = self.clock.now();
        let blocker = lowest(self.sets[ER] & above(group));
        let earliest = blocker.map_or(now, |b| now.earlier(self.finish_of(b)));
        let flow = &self.flows[number];
        flow.lead(now).map_or(earliest, |_| earliest.later(flow.finish))
    }

    /// Appends a flow to the list of its slot.
    fn list(&mut self, number: usize) {
        let flow = &self.flows[number];
        let (group, slot) = (usize::from(flow.group), flow.slot());
        debug_assert!(self.is_in_range(number), "Theorem 5");
        let Group { occupied, slots, .. } = &mut self.groups[group];
        let tail = slots[slot].tail;
        if *occupied & (1 << slot) == 0 {
            *occupied |= 1 << slot;
            slots[slot].head = number as u32;
        } else {
            self.flows[tail as usize].next = number as u32;
        }
        slots[slot].tail = number as u32;
        self.flows[number].previous = tail;
        self.flows[number].next = NONE;
    }

    /// Takes a flow off the list of its slot.
    fn unlist(&mut self, number: usize) {
        let Flow { next, previous, group, .. } = self.flows[number];
        let slot = self.flows[number].slot();
        let group = &mut self.groups[usize::from(group)];
        let Slot { head, tail } = group.slots[slot];
        if head == tail {
            group.occupied &= !(1 << slot);
        } else if head == number as u32 {
            group.slots[slot].head = next;
        } else if tail == number as u32 {
            group.slots[slot].tail = previous;
        } else {
            self.flows[previous as usize].next = next;
            self.flows[next as usize].previous = previous;
        }
    }

    /// If nothing is eligible nothing else is backlogged: V comes up to the group (Eq. 3).
    fn jump_if_nobody_is_eligible(&mut self, group: usize) {
        if self.sets[ER] == 0 {
            self.clock.jump_to(self.groups[group].start);
        }
    }
}

/// Fig. 5: the link is free.
impl<T> Qfq<T> {
    fn dequeue_packet(&mut self) -> Option<Packet<T>> {
        let group = lowest(self.sets[ER])?;
        let shift = shift_of(group);
        let slot = self.groups[group].first_slot(shift);
        let number = self.groups[group].slots[slot].head as usize;
        let packet = self.pool.pop(&mut self.flows[number].queue)?;
        self.longest.changed(number, self.flows[number].queue.size());
        let comes_back = self.relist(number);
        self.advance(packet.len, group);
        if let Some(len) = comes_back {
            self.activate(number, len);
        } else if self.flows[number].queue.is_empty() {
            self.leave_if_removed(number);
        }
        Some(packet)
    }

    /// Gives the flow just served its new place in its group. If it belongs in another one, returns its head packet's length.
    #[inline]
    fn relist(&mut self, number: usize) -> Option<u32> {
        self.unlist(number);
        let flow = &mut self.flows[number];
        let len = self.pool.head(&flow.queue)?.len;
        flow.start = flow.finish;
        let span = flow.span_of(len);
        if flow.regroup || span > 1 << shift_of(flow.group.into()) {
            flow.regroup = true;
            return Some(len);
        }
        flow.finish = flow.start.plus(span);
        self.list(number);
        None
    }

    /// V counts the packet, and every group finds the set that it is now in.
    #[inline]
    fn advance(&mut self, len: u32, group: usize) {
        let (old_now, old_finish) = (self.clock.now(), self.finish_of(group));
        if cfg!(debug_assertions) {
            self.largest_step = self.largest_step.max(self.clock.span_of(len));
        }
        self.clock.advance(len);
        self.let_weights_go();
        let is_idle = self.groups[group].is_idle();
        if !is_idle {
            self.groups[group].first_slot(shift_of(group));
        }
        if is_idle || self.finish_of(group).is_after(old_finish) {
            self.sets[ER] &= !(1 << group);
            if !is_idle {
                self.sets[self.state_of(group)] |= 1 << group;
            }
            self.unblock(group, old_finish);
        }
        self.make_eligible(old_now);
    }

    /// Fig. 6, `unblock_groups`: a group was served and its finish time rose. If no eligible group still finishes as early, all groups below
    /// it are ready again (Theorem 8).
    #[inline]
    fn unblock(&mut self, group: usize, old_finish: VirtualTime) {
        let blocker = lowest(self.sets[ER]);
        if blocker.is_none_or(|b| self.finish_of(b).is_after(old_finish)) {
            let below = (1 << group) - 1;
            self.move_groups(below, EB, ER);
            self.move_groups(below, IB, IR);
        }
    }

    /// Fig. 6, `make_eligible`: V has moved from `old_now`. A group has entered a new slot if a bit of V at or above its slot size changed.
    #[inline]
    fn make_eligible(&mut self, old_now: VirtualTime) {
        let ineligible = self.sets[IR] | self.sets[IB];
        if ineligible == 0 {
            return;
        }
        if self.sets[ER] == 0
            && let Some(first) = lowest(ineligible)
        {
            self.clock.jump_to(self.groups[first].start);
        }
        let changed = (old_now.bits() ^ self.clock.now().bits()) >> MIN_SLOT_SHIFT;
        if let Some(highest) = changed.checked_ilog2() {
            let entered = Set::MAX >> (Set::BITS - 1).saturating_sub(highest);
            self.move_groups(entered, IR, ER);
            self.move_groups(entered, IB, EB);
        }
    }

    #[inline]
    fn move_groups(&mut self, which: Set, from: usize, to: usize) {
        let moving = self.sets[from] & which;
        self.sets[to] |= moving;
        self.sets[from] ^= moving;
    }
}

/// The state of a group.
impl<T> Qfq<T> {
    /// F_i = S_i + 2 sigma_i (Eq. 6).
    #[inline]
    const fn finish_of(&self, group: usize) -> VirtualTime {
        self.groups[group].start.plus(2 << shift_of(group))
    }

    /// Fig. 4, `compute_group_state`.
    #[inline]
    fn state_of(&self, group: usize) -> usize {
        let ineligible = self.groups[group].start.is_after(self.clock.now());
        let blocker = lowest(self.sets[ER] & above(group));
        let blocked = blocker.is_some_and(|b| self.finish_of(group).is_after(self.finish_of(b)));
        usize::from(ineligible) + 2 * usize::from(blocked)
    }

    fn leave_sets(&mut self, group: usize) {
        self.sets.iter_mut().for_each(|set| *set &= !(1 << group));
    }

    /// Takes out a flow that lost its last packet without being served. Rare, so the sets are rebuilt from their definitions.
    #[cold]
    fn withdraw(&mut self, number: usize) {
        self.unlist(number);
        self.flows[number].finish = self.flows[number].start;
        self.leave_if_removed(number);
        let backlogged = (0..GROUPS).filter(|group| !self.groups[*group].is_idle());
        let backlogged: Vec<usize> = backlogged.collect();
        for group in &backlogged {
            self.groups[*group].first_slot(shift_of(*group));
        }
        self.sets = [0; 4];
        let starts = backlogged.iter().map(|group| self.groups[*group].start);
        if let Some(first) = starts.reduce(VirtualTime::earlier) {
            self.clock.jump_to(first);
        }
        for group in backlogged.into_iter().rev() {
            self.sets[self.state_of(group)] |= 1 << group;
        }
    }
}

#[inline]
const fn lowest(set: Set) -> Option<usize> {
    if set == 0 { None } else { Some(set.trailing_zeros() as usize) }
}

/// All groups of higher index.
#[inline]
const fn above(group: usize) -> Set {
    (Set::MAX - 1) << group
}

impl<T> Scheduler<T> for Qfq<T> {
    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        let result = self.enqueue_packet(packet);
        self.debug_check();
        result
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant) -> Option<Packet<T>> {
        let packet = self.dequeue_packet();
        self.debug_check();
        packet
    }

    /// The tail of the longest backlog. A flow that it empties is not charged for a packet that was not sent.
    fn evict(&mut self) -> Option<Packet<T>> {
        let number = self.longest.find(self.flows.iter().map(|flow| flow.queue.size()))?;
        let packet = self.pool.pop_tail(&mut self.flows[number].queue);
        self.longest.changed(number, self.flows[number].queue.size());
        if self.flows[number].queue.is_empty() {
            self.withdraw(number);
        }
        self.debug_check();
        packet
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(Config::NAME, flow)?;
        let record = self.know(flow.index());
        record.leaves = false;
        if (u32::from(record.weight), record.max_packet_len) == (config.weight, config.max_packet_len) {
            // Taken for a change, it would cost a flow that is behind what it is due.
            return Ok(());
        }
        record.max_packet_len = config.max_packet_len;
        record.regroup = true;
        self.set_weight(flow.index(), config.weight);
        self.debug_check();
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        let Some(record) = self.flows.get_mut(flow.index()).filter(|record| record.weight > 0) else { return };
        record.leaves = true;
        if record.queue.is_empty() {
            self.leave_if_removed(flow.index());
        }
        self.debug_check();
    }

    fn total_weight(&self) -> Option<u64> {
        Some(self.clock.total_weight())
    }

    fn footprint(&self) -> Footprint {
        Footprint { fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES, bytes_per_flow: size_of::<Flow>() + Longest::BYTES_PER_QUEUE }
    }

    /// The theorems of appendix A; sigma_i is the group's slot size, L the largest step of V.
    fn check_invariants(&self) {
        self.check_flows();
        for group in 0..GROUPS {
            self.check_group(group);
        }
        self.check_order();
    }
}

/// Invariants.
impl<T> Qfq<T> {
    #[inline]
    fn debug_check(&mut self) {
        if cfg!(debug_assertions) && self.pool.backlog().is_empty() {
            self.largest_step = 0;
        }
        if is_time_to_check(self.flows.len(), self.pool.backlog()) {
            self.check_invariants();
        }
    }

    /// 1. A flow is on the list of its slot once if it is backlogged, and on none if it is idle; its packet fits its slot.
    fn check_flows(&self) {
        let mut listed = alloc::vec![0; self.flows.len()];
        for group in &self.groups {
            for slot in (0..SLOTS as usize).filter(|slot| group.occupied & (1 << slot) != 0) {
                let mut at = group.slots[slot].head;
                while at != NONE {
                    listed[at as usize] += 1;
                    assert_eq!(self.flows[at as usize].slot(), slot, "invariant 1: listed in the slot of its start time");
                    at = if at == group.slots[slot].tail { NONE } else { self.flows[at as usize].next };
                }
            }
        }
        for (flow, listed) in self.flows.iter().zip(listed) {
            assert_eq!(listed, u32::from(!flow.queue.is_empty()), "invariant 1: listed once if backlogged");
            let slot_size = 1 << shift_of(flow.group.into());
            assert!(flow.queue.is_empty() || (0..=slot_size).contains(&flow.finish.since(flow.start)), "invariant 1: F - S <= sigma");
            self.pool.check_queue(&flow.queue);
        }
    }

    /// 2. S_i is the start of the group's first occupied slot.
    /// 3. Theorem 3: S_i is no later than the end of the slot that V is in.
    /// 4. Theorem 4: V <= F_i + L, in debug builds, which keep L.
    /// 5. The group is in exactly the set that its times say; an idle group is in none.
    fn check_group(&self, group: usize) {
        let (state, shift, now) = (&self.groups[group], shift_of(group), self.clock.now());
        let sets = self.sets.map(|set| set >> group & 1);
        if state.is_idle() {
            return assert_eq!(sets, [0; 4], "invariant 5: an idle group is in no set");
        }
        let front = state.start.bits() >> shift;
        assert!(state.occupied >> (front % u64::from(SLOTS)) & 1 == 1, "invariant 2");
        assert_eq!(state.start, state.start.slot_start(shift), "invariant 2");
        let slot_end = now.plus((1 << shift) - 1).slot_start(shift);
        assert!(!state.start.is_after(slot_end), "invariant 3: Theorem 3");
        let is_kept = cfg!(debug_assertions);
        assert!(!is_kept || !now.is_after(self.finish_of(group).plus(self.largest_step)), "invariant 4: Theorem 4");
        let mut expected = [0; 4];
        expected[self.state_of(group)] = 1;
        assert_eq!(sets, expected, "invariant 5: group {group} is in its set");
    }

    /// 6. Theorems 6 and 7: ER and EB are sorted by finish time.
    /// 7. Section 4.1.3: IR and IB together are sorted by start and by finish time.
    /// 8. Lemma 4: of two blocked groups the lower does not start after the higher one finishes.
    /// 9. If anything is backlogged, a group is eligible and ready.
    fn check_order(&self) {
        let pairs =
            |set: Set| (0..GROUPS).flat_map(move |j| (0..j).map(move |i| (i, j))).filter(move |(i, j)| set >> i & set >> j & 1 == 1);
        let in_order = |(i, j): (usize, usize)| !self.finish_of(i).is_after(self.finish_of(j));
        assert!(pairs(self.sets[ER]).all(in_order), "invariant 6: Theorem 6");
        assert!(pairs(self.sets[EB]).all(in_order), "invariant 6: Theorem 7");
        let ineligible = self.sets[IR] | self.sets[IB];
        assert!(pairs(ineligible).all(in_order), "invariant 7: by finish time");
        assert!(pairs(ineligible).all(|(i, j)| !self.groups[i].start.is_after(self.groups[j].start)), "invariant 7: by start time");
        let blocked = self.sets[EB] | self.sets[IB];
        assert!(pairs(blocked).all(|(i, j)| !self.groups[i].start.is_after(self.finish_of(j))), "invariant 8: Lemma 4");
        assert_eq!(self.sets[ER] == 0, self.pool.backlog().is_empty(), "invariant 9");
    }

    /// Theorem 5: a flow starts within the first 2 + L / sigma slots of its group.
    fn is_in_range(&self, number: usize) -> bool {
        let flow = &self.flows[number];
        let (group, shift) = (usize::from(flow.group), shift_of(flow.group.into()));
        let distance = flow.start.slot_start(shift).since(self.groups[group].start) >> shift;
        let slots = 2 + (self.largest_step >> shift) as i64 + 1;
        self.groups[group].is_idle() || (0..slots.min(SLOTS.into())).contains(&distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;

    /// V has gone once around while the flow was idle, and stands a little before where the flow left: further than its group allows.
    #[test]
    fn a_finish_time_from_before_the_wrap_is_forgotten() {
        let mut qfq = Qfq::default();
        qfq.set_flow(FlowId(0), FlowConfig { weight: 1024, max_packet_len: 1024 }).expect("legal");
        qfq.set_flow(FlowId(1), FlowConfig { weight: 1, max_packet_len: 1 << 16 }).expect("legal");
        qfq.enqueue(Instant::ZERO, Packet::new(FlowId(0), 1024, ())).expect("short");
        assert!(qfq.dequeue(Instant::ZERO).is_some());
        let now = qfq.flows[0].finish.minus(1 << 46);
        qfq.clock = VirtualClock::start_at(now);
        qfq.clock.add_weight(FlowId(0), 1025);
        qfq.flows[1].finish = now;
        qfq.enqueue(Instant::ZERO, Packet::new(FlowId(1), 1 << 16, ())).expect("short");
        qfq.enqueue(Instant::ZERO, Packet::new(FlowId(0), 1024, ())).expect("short");
        assert_eq!(qfq.flows[0].start, now, "a new start");
        assert_eq!(qfq.dequeue(Instant::ZERO).map(|packet| packet.flow), Some(FlowId(0)), "the heavy flow goes first");
    }
}
