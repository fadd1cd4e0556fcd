//! QFQ's groups, slots and sets: finds, in constant time, who of all that is backlogged has begun in a fluid server and would finish first.
//!
//! What is scheduled is an [`Entity`] with a start and a finish time: a flow in `qfq`, an aggregate of flows in `qfq_plus`. Entities with
//! like ratios of longest packet to weight form a group. In a group start times are rounded to slots, so that sorting is an index into an
//! array. Groups are in one of four sets, bitmaps of a machine word: eligible or ineligible (has the fluid server begun it?), and ready or
//! blocked (is there an eligible group of higher index that finishes earlier?). In the set of the eligible and ready ones the index sorts by
//! finish time, so the first bit set is the group to serve; and whole sets move by AND, OR and XOR.
//!
//! Source: F. Checconi, P. Valente, L. Rizzo, "QFQ: Efficient Packet Scheduling with Tight Bandwidth Distribution Guarantees", section 4
//! and appendix A.
//!
//! | paper | here |
//! |---|---|
//! | S^k, F^k (Eq. 2, 29) | `Entity::start`, `Entity::finish` |
//! | S_i, F_i (Eq. 6) | `Group::start`, `finish_of` |
//! | sigma_i, slot size | 2^(`MIN_SLOT_SHIFT` + i) |
//! | V(t) (Eq. 3) | `clock` |
//! | ER, IR, EB, IB | `sets` |
//! | L | the most that is served between two calls of [`Groups::served`] |
//!
//! What was served need not be a single packet, nor first in its slot by then: an aggregate sends several while others come. To the groups it
//! is one long packet, and Theorems 3 to 8 hold with its length for L. They are the numbered invariants below.
//!
//! Differences from the paper:
//! - The start time of whatever becomes backlogged is Eq. 29's. The listing (Fig. 4) omits it, and the text applies it only where the group
//!   was idle: both break Theorems 6 and 7 when V uses the true sum of weights and the link is fully allocated.
//! - Fig. 5 takes a group's times from its head; they are the rounded ones (Eq. 6).
//! - Fig. 4 adds a group to its new set without clearing the old one; here it is in one set.
//! - Fig. 6 takes the group that was served for the lowest one that is eligible and ready. A lower one may have become so since it was
//!   chosen, so those that can block are looked for above it (`unblock`).
//! - An entity whose group changes is taken out and comes back as a newly backlogged one when it has been served, so that no list is
//!   searched. While it is further ahead of V than entities of its new group may be (Theorem 3), it stays in a higher one.
//! - Packets below 1088 bytes are grouped as if they were that long: then 2 + L / sigma_i <= 64 slots (Theorem 5) suffice however much others
//!   are served at a time, up to 64 KB.

use alloc::vec::Vec;

use crate::packet::FlowId;
use crate::scheduler::FlowConfig;
use crate::virtual_time::{VirtualClock, VirtualTime, byte_time};

const NONE: u32 = u32::MAX;
/// Slots of a group, one bit each.
const SLOTS: u32 = u64::BITS;
/// Entities are grouped as if their longest packet had at least this many bytes.
const MIN_GROUPED_LEN: u32 = 1088;
/// Most bytes that can be served at a time.
pub(crate) const MAX_SERVICE: u32 = FlowConfig::MAX_PACKET_LEN;
/// Group 0 has slots of 2 to this: the shortest packets at the largest weight.
const MIN_SLOT_SHIFT: u32 = slot_shift(MIN_GROUPED_LEN, FlowConfig::MAX_WEIGHT);
/// The last group has the longest packets at the smallest weight.
const GROUPS: usize = (slot_shift(FlowConfig::MAX_PACKET_LEN, 1) - MIN_SLOT_SHIFT + 1) as usize;

const _: () = assert!(GROUPS <= Set::BITS as usize);
const _: () = assert!(2 + MAX_SERVICE.div_ceil(MIN_GROUPED_LEN) <= SLOTS, "Theorem 5");

/// The smallest power of two that holds a packet's virtual time: Eq. 4.
const fn slot_shift(len: u32, weight: u32) -> u32 {
    let len = if len < MIN_GROUPED_LEN { MIN_GROUPED_LEN } else { len };
    (len as u64 * byte_time(weight)).next_power_of_two().trailing_zeros()
}

const fn shift_of(group: usize) -> u32 {
    MIN_SLOT_SHIFT + group as u32
}

/// phi sigma_i times the sum of weights, in bytes: what an entity of this weight sends in a slot of its group.
pub(crate) fn slot_bytes(max_packet_len: u32, weight: u32) -> u64 {
    let shift = slot_shift(max_packet_len.min(FlowConfig::MAX_PACKET_LEN), weight.max(1));
    u64::from(weight) << (shift - VirtualTime::FRACTION_BITS)
}

/// What is scheduled: its times and its place.
#[derive(Debug, Clone)]
pub(crate) struct Entity {
    /// S of what it sends next.
    pub(crate) start: VirtualTime,
    /// F of what it sends next; of what it sent last if it is idle.
    pub(crate) finish: VirtualTime,
    /// Neighbours in the list of its slot.
    next: u32,
    previous: u32,
    /// Virtual time of a byte, at most 2^30.
    byte_time: u32,
    /// The group that it is listed in, if it is backlogged.
    group: u8,
    /// The group that it belongs in by what was set.
    home: u8,
    /// What was set since it was listed may belong in another group.
    regroup: bool,
}

impl Entity {
    pub(crate) const UNKNOWN: Self = Self {
        start: VirtualTime::ZERO,
        finish: VirtualTime::ZERO,
        next: NONE,
        previous: NONE,
        byte_time: 0,
        group: 0,
        home: 0,
        regroup: false,
    };

    /// Sets its share and its longest packet. If that is another group, it goes there when it is next listed.
    pub(crate) fn set(&mut self, weight: u32, max_packet_len: u32) {
        self.byte_time = byte_time(weight) as u32;
        self.home = (slot_shift(max_packet_len, weight) - MIN_SLOT_SHIFT) as u8;
        self.regroup = true;
    }

    /// Virtual time of a byte.
    pub(crate) const fn byte_time(&self) -> u32 {
        self.byte_time
    }

    /// Virtual time of `len` bytes.
    #[inline]
    pub(crate) const fn span_of(&self, len: u32) -> u64 {
        len as u64 * self.byte_time as u64
    }

    /// How far F is ahead of V. None if it is further than it can be in its group: then it is from before the clock wrapped.
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

/// A set of groups, one bit each.
type Set = u32;

/// Places in [`Groups::sets`]: bit 0 for ineligible, bit 1 for blocked, so that a state is computed by adding.
const ER: usize = 0;
const IR: usize = 1;
const EB: usize = 2;
const IB: usize = 3;

/// Entities by number, the backlogged ones in order of service.
#[derive(Debug, Clone)]
pub(crate) struct Groups<E> {
    /// All of them, idle ones too.
    pub(crate) entities: Vec<E>,
    clock: VirtualClock,
    sets: [Set; 4],
    groups: [Group; GROUPS],
    /// Largest step of V since nothing was backlogged: L in Theorems 4 and 5. Kept in debug builds.
    largest_step: u64,
}

#[derive(Debug, Clone, Copy)]
struct Group {
    /// S_i: start of the first slot that holds an entity.
    start: VirtualTime,
    /// Which slots hold entities; slot n of virtual time is bit n modulo [`SLOTS`].
    occupied: u64,
    slots: [Slot; SLOTS as usize],
}

/// Entities with the same rounded times, first come, first served.
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

impl<E> Default for Groups<E> {
    fn default() -> Self {
        Self { entities: Vec::new(), clock: VirtualClock::default(), sets: [0; 4], groups: [EMPTY_GROUP; GROUPS], largest_step: 0 }
    }
}

/// Weights, and what the discipline asks.
impl<E: AsRef<Entity> + AsMut<Entity>> Groups<E> {
    #[inline]
    fn entity(&self, number: usize) -> &Entity {
        self.entities[number].as_ref()
    }

    #[inline]
    fn entity_mut(&mut self, number: usize) -> &mut Entity {
        self.entities[number].as_mut()
    }

    /// V.
    pub(crate) const fn now(&self) -> VirtualTime {
        self.clock.now()
    }

    /// The sum of the weights that V is shared by.
    pub(crate) const fn total_weight(&self) -> u64 {
        self.clock.total_weight()
    }

    /// Whether nothing is backlogged.
    #[inline]
    pub(crate) const fn is_idle(&self) -> bool {
        self.sets[ER] == 0
    }

    /// Whether a weight that was taken away still counts under this name.
    pub(crate) fn has_leaving_weight(&self, owner: FlowId) -> bool {
        self.clock.is_leaving(owner)
    }

    /// A weight changes. `owner` is whose it is, wherever it is taken up again; `finish` is its last finish time.
    pub(crate) fn change_weight(&mut self, owner: FlowId, before: u32, after: u32, finish: VirtualTime) {
        if after > before {
            self.clock.add_weight(owner, after - before);
        } else if after < before {
            self.clock.remove_weight(owner, before - after, finish);
            self.let_weights_go();
        }
    }

    #[inline]
    fn let_weights_go(&mut self) {
        if self.clock.has_leaving() {
            self.clock.let_go(self.is_idle());
        }
    }
}

/// Fig. 4: something becomes backlogged.
impl<E: AsRef<Entity> + AsMut<Entity>> Groups<E> {
    /// Stamps and lists an idle entity that is to send what takes `span`.
    pub(crate) fn activate(&mut self, number: usize, span: u64) {
        let group = self.choose_group(number, span);
        let start = self.start_time(number, group);
        let entity = self.entity_mut(number);
        entity.start = start;
        entity.finish = start.plus(span);
        if self.groups[group].is_idle() || self.groups[group].start.is_after(start) {
            // The group was idle, or its start time comes down to this one's: its state may change.
            self.leave_sets(group);
            self.groups[group].start = start.slot_start(shift_of(group));
            self.list(number);
            self.jump_if_nobody_is_eligible(group);
            self.sets[self.state_of(group)] |= 1 << group;
        } else {
            self.list(number);
        }
    }

    /// The group by what is set, or a higher one: while what is to be sent is longer than what is now the longest, or while it is further
    /// ahead of V than may be in that group, since it was served with a smaller weight or longer packets (Theorem 3).
    #[inline]
    fn choose_group(&mut self, number: usize, span: u64) -> usize {
        let now = self.clock.now();
        let entity = self.entity_mut(number);
        if entity.regroup {
            let by_span = span.next_power_of_two().trailing_zeros().saturating_sub(MIN_SLOT_SHIFT) as u8;
            let lead = entity.lead(now).unwrap_or(0).max(0);
            let by_lead = (i64::BITS - lead.leading_zeros()).saturating_sub(MIN_SLOT_SHIFT) as u8;
            entity.group = by_lead.min(entity.group).max(entity.home.max(by_span));
            entity.regroup = entity.group > entity.home;
        }
        usize::from(entity.group)
    }

    /// Eq. 29: S = max(min(V, F_b), F), with b the lowest group above `group` that is eligible and ready.
    ///
    /// Without the minimum, a group that becomes backlogged while V is beyond F_b would be out of order among the blocked ones.
    #[inline]
    fn start_time(&self, number: usize, group: usize) -> VirtualTime {
        let now = self.clock.now();
        let blocker = lowest(self.sets[ER] & above(group));
        let earliest = blocker.map_or(now, |b| now.earlier(self.finish_of(b)));
        let entity = self.entity(number);
        entity.lead(now).map_or(earliest, |_| earliest.later(entity.finish))
    }

    /// Appends an entity to the list of its slot.
    fn list(&mut self, number: usize) {
        let entity = self.entity(number);
        let (group, slot) = (usize::from(entity.group), entity.slot());
        debug_assert!(self.is_in_range(number), "Theorem 5");
        let Group { occupied, slots, .. } = &mut self.groups[group];
        let tail = slots[slot].tail;
        if *occupied & (1 << slot) == 0 {
            *occupied |= 1 << slot;
            slots[slot].head = number as u32;
        } else {
            self.entities[tail as usize].as_mut().next = number as u32;
        }
        slots[slot].tail = number as u32;
        let entity = self.entity_mut(number);
        entity.previous = tail;
        entity.next = NONE;
    }

    /// Takes an entity off the list of its slot.
    #[inline(always)]
    fn unlist(&mut self, number: usize) {
        let entity = self.entity(number);
        let (next, previous, slot) = (entity.next, entity.previous, entity.slot());
        let group = &mut self.groups[usize::from(entity.group)];
        let Slot { head, tail } = group.slots[slot];
        if head == tail {
            group.occupied &= !(1 << slot);
        } else if head == number as u32 {
            group.slots[slot].head = next;
        } else if tail == number as u32 {
            group.slots[slot].tail = previous;
        } else {
            self.entity_mut(previous as usize).next = next;
            self.entity_mut(next as usize).previous = previous;
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
impl<E: AsRef<Entity> + AsMut<Entity>> Groups<E> {
    /// Who is to be served.
    #[inline]
    pub(crate) fn first(&mut self) -> Option<usize> {
        let group = lowest(self.sets[ER])?;
        let slot = self.groups[group].first_slot(shift_of(group));
        Some(self.groups[group].slots[slot].head as usize)
    }

    /// A backlogged entity has been sent `len` bytes, up to its finish time. `next` is the span of what it sends next; none if it is idle now.
    #[inline(always)]
    pub(crate) fn served(&mut self, number: usize, len: u32, next: Option<u64>) {
        let group = usize::from(self.entity(number).group);
        self.unlist(number);
        let comes_back = next.filter(|span| !self.relist(number, *span));
        self.advance(len, group);
        if let Some(span) = comes_back {
            self.activate(number, span);
        }
        self.let_weights_go();
    }

    /// Gives an entity just served its new place in its group. False if it belongs in another one.
    #[inline]
    fn relist(&mut self, number: usize, span: u64) -> bool {
        let entity = self.entity_mut(number);
        entity.start = entity.finish;
        if entity.regroup || span > 1 << shift_of(entity.group.into()) {
            entity.regroup = true;
            return false;
        }
        entity.finish = entity.start.plus(span);
        self.list(number);
        true
    }

    /// V counts the service, and every group finds the set that it is now in. The group that was served has been in ER since it was chosen: who
    /// comes meanwhile blocks no group that is eligible.
    #[inline(always)]
    fn advance(&mut self, len: u32, group: usize) {
        let (old_now, old_finish) = (self.clock.now(), self.finish_of(group));
        if cfg!(debug_assertions) {
            self.largest_step = self.largest_step.max(self.clock.span_of(len));
        }
        self.clock.advance(len);
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

    /// Fig. 6, `unblock_groups`: a group was served and its finish time rose. If no eligible group above still finishes as early, all groups
    /// below it are ready again (Theorem 8).
    ///
    /// Below it there may be a group that is eligible and ready since this one was chosen. It finishes no earlier than the groups below it do
    /// (Lemma 3), so it blocks none of them.
    #[inline]
    fn unblock(&mut self, group: usize, old_finish: VirtualTime) {
        let blocker = lowest(self.sets[ER] & above(group));
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
impl<E: AsRef<Entity> + AsMut<Entity>> Groups<E> {
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

    /// Takes out an entity that was not served. It is not charged. Rare, so the sets are rebuilt from their definitions.
    #[cold]
    pub(crate) fn withdraw(&mut self, number: usize) {
        self.unlist(number);
        let entity = self.entity_mut(number);
        entity.finish = entity.start;
        let is_backlogged = |group: &usize| !self.groups[*group].is_idle();
        let backlogged = (0..GROUPS).filter(is_backlogged).fold(0, |set, group| set | 1 << group);
        self.sets = [0; 4];
        let mut first = None;
        for group in groups_of(backlogged) {
            self.groups[group].first_slot(shift_of(group));
            let start = self.groups[group].start;
            first = Some(first.map_or(start, |first| start.earlier(first)));
        }
        if let Some(first) = first {
            self.clock.jump_to(first);
        }
        for group in groups_of(backlogged).rev() {
            self.sets[self.state_of(group)] |= 1 << group;
        }
        self.let_weights_go();
    }
}

#[inline]
const fn lowest(set: Set) -> Option<usize> {
    if set == 0 { None } else { Some(set.trailing_zeros() as usize) }
}

fn groups_of(set: Set) -> impl DoubleEndedIterator<Item = usize> {
    (0..GROUPS).filter(move |group| set >> group & 1 == 1)
}

/// All groups of higher index.
#[inline]
const fn above(group: usize) -> Set {
    (Set::MAX - 1) << group
}

/// Invariants: the theorems of appendix A; sigma_i is the group's slot size, L the largest step of V.
impl<E: AsRef<Entity> + AsMut<Entity>> Groups<E> {
    /// To be called before `check`.
    #[inline]
    pub(crate) const fn forget_steps_if_idle(&mut self) {
        if cfg!(debug_assertions) && self.is_idle() {
            self.largest_step = 0;
        }
    }

    /// Panics if an invariant is broken. `is_backlogged` says what the discipline knows of it.
    pub(crate) fn check(&self, is_backlogged: impl Fn(&E) -> bool) {
        self.check_entities(&is_backlogged);
        for group in 0..GROUPS {
            self.check_group(group);
        }
        self.check_order();
        assert_eq!(self.is_idle(), !self.entities.iter().any(is_backlogged), "invariant 9");
    }

    /// 1. An entity is on the list of its slot once if it is backlogged, and on none if it is idle; what it sends next fits its slot.
    fn check_entities(&self, is_backlogged: &impl Fn(&E) -> bool) {
        let mut listed = alloc::vec![0; self.entities.len()];
        for group in &self.groups {
            for slot in (0..SLOTS as usize).filter(|slot| group.occupied & (1 << slot) != 0) {
                let mut at = group.slots[slot].head;
                while at != NONE {
                    listed[at as usize] += 1;
                    let entity = self.entity(at as usize);
                    assert_eq!(entity.slot(), slot, "invariant 1: listed in the slot of its start time");
                    at = if at == group.slots[slot].tail { NONE } else { entity.next };
                }
            }
        }
        for (number, listed) in listed.into_iter().enumerate() {
            let (entity, is_backlogged) = (self.entity(number), is_backlogged(&self.entities[number]));
            assert_eq!(listed, u32::from(is_backlogged), "invariant 1: listed once if backlogged");
            let slot_size = 1 << shift_of(entity.group.into());
            assert!(!is_backlogged || (0..=slot_size).contains(&entity.finish.since(entity.start)), "invariant 1: F - S <= sigma");
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
    /// 9. If anything is backlogged, a group is eligible and ready (`check`).
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
    }

    /// Theorem 5: an entity starts within the first 2 + L / sigma slots of its group.
    fn is_in_range(&self, number: usize) -> bool {
        let entity = self.entity(number);
        let (group, shift) = (usize::from(entity.group), shift_of(entity.group.into()));
        let distance = entity.start.slot_start(shift).since(self.groups[group].start) >> shift;
        let slots = 2 + (self.largest_step >> shift) as i64 + 1;
        self.groups[group].is_idle() || (0..slots.min(SLOTS.into())).contains(&distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain(Entity);

    impl AsRef<Entity> for Plain {
        fn as_ref(&self) -> &Entity {
            &self.0
        }
    }

    impl AsMut<Entity> for Plain {
        fn as_mut(&mut self) -> &mut Entity {
            &mut self.0
        }
    }

    fn plain(weight: u32, max_packet_len: u32) -> Plain {
        let mut entity = Entity::UNKNOWN;
        entity.set(weight, max_packet_len);
        Plain(entity)
    }

    /// V has gone once around while an entity was idle, and stands a little before where it left: further than its group allows.
    #[test]
    fn a_finish_time_from_before_the_wrap_is_forgotten() {
        let mut groups = Groups { entities: alloc::vec![plain(1024, 1024), plain(1, 1 << 16)], ..Groups::default() };
        groups.change_weight(FlowId(0), 0, 1025, VirtualTime::ZERO);
        let spans = [groups.entity(0).span_of(1024), groups.entity(1).span_of(1 << 16)];
        groups.activate(0, spans[0]);
        groups.served(0, 1024, None);
        let now = groups.entity(0).finish.minus(1 << 46);
        groups.clock = VirtualClock::start_at(now);
        groups.clock.add_weight(FlowId(0), 1025);
        groups.entity_mut(1).finish = now;
        groups.activate(1, spans[1]);
        groups.activate(0, spans[0]);
        assert_eq!(groups.entity(0).start, now, "a new start");
        assert_eq!(groups.first(), Some(0), "the heavy one goes first");
    }
}
