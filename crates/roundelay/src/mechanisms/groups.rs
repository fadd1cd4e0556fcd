//! QFQ's groups, slots and sets: finds in constant time the backlogged entity that has started in a
//! fluid server and would finish first.
//!
//! The scheduled unit is an [`Entity`] with a start and a finish time: a flow in `qfq`, an
//! aggregate of flows in `qfq_plus`. Entities whose ratios of longest packet to weight are alike
//! form a group. Start times in a group are rounded to slots, so an index into an array sorts them
//! (`calendar.rs`). Each group is in one of four sets, which are bitmaps in a machine word:
//! eligible or ineligible (has the fluid server started the group?), and ready or blocked (does an
//! eligible group with a higher index finish earlier?). In the set of eligible and ready groups the
//! index sorts by finish time, so the first bit set is the group to serve. Whole sets move by AND,
//! OR and XOR.
//!
//! Most packets leave the sets alone, because a served entity moves to a later slot and V advances
//! while the first slot of the first group still holds entities. So this slot is kept (`front`).
//! The sets are updated when the slot empties, when V may make groups eligible, and when an entity
//! becomes backlogged with an earlier start than the rest of its group.
//!
//! Source: F. Checconi, P. Valente, L. Rizzo, "QFQ: Efficient Packet Scheduling with Tight
//! Bandwidth Distribution Guarantees", section 4 and appendix A.
//!
//! | paper | here |
//! |---|---|
//! | S^k (Eq. 2, 29) | `Entity::time`; F^k is worked out when it is served |
//! | S_i, F_i (Eq. 6) | `Calendar::start`, `Calendar::finish_of` |
//! | sigma_i, slot size | 2^(`MIN_SLOT_SHIFT` + i) |
//! | V(t) (Eq. 3) | `clock` |
//! | ER, IR, EB, IB | `sets` |
//! | L | the most that is served between two calls of [`Groups::served`] |
//!
//! A service need not be a single packet, nor the first of its slot by then: an aggregate sends
//! several packets while others arrive. The groups see one long packet, and Theorems 3 to 8 hold
//! with its length for L. The theorems are the numbered invariants below.
//!
//! Differences from the paper:
//! - The start time of every newly backlogged entity follows Eq. 29. The listing (Fig. 4) omits Eq.
//!   29, and the text applies it only to an idle group. Both break Theorems 6 and 7 if V uses the
//!   true sum of weights and the link is fully allocated.
//! - Fig. 5 takes a group's times from its head entity. Here they are the rounded ones (Eq. 6).
//! - Fig. 4 adds a group to its new set without clearing the old one. Here a group is in one set.
//! - Fig. 6 assumes that the served group is the lowest eligible and ready one. A lower group may
//!   have become ready since the choice, so blocking groups are searched above the served one
//!   (`unblock`).
//! - An entity with a new group is removed and, after its service, inserted as newly backlogged, so
//!   no list is searched. While its lead over V is too large for the new group (Theorem 3), the
//!   entity stays in a higher one.
//! - Packets below 1088 bytes are grouped as if they were 1088 bytes long, because then 2 + L /
//!   sigma_i <= 64 slots (Theorem 5) suffice when other entities are served up to 64 KB.

mod invariants;
mod view;

use alloc::vec::Vec;

use crate::mechanisms::calendar::{Calendar, list_at};
use crate::mechanisms::entity::{Entity, GROUPS, MIN_SLOT_SHIFT};
use crate::packet::FlowId;
use crate::virtual_clock::VirtualClock;
use crate::virtual_time::VirtualTime;

/// A set of groups, one bit each.
type Set = u32;

const _: () = assert!(GROUPS <= Set::BITS as usize);

/// Indices into [`Groups::sets`]: bit 0 for ineligible, bit 1 for blocked. A state is their sum.
const ER: usize = 0;
const IR: usize = 1;
const EB: usize = 2;
const IB: usize = 3;

/// A service: bytes, charge, and the entity's next state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Service {
    pub(crate) len: u32,
    /// The charge in virtual time.
    pub(crate) charge: u64,
    pub(crate) next: Next,
}

/// The entity's state after a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Idle,
    /// Stays backlogged in its group.
    Stays,
    /// May belong in another group. The value is the span of its next service.
    Moves(u64),
}

/// Entities by number. Backlogged ones are in service order.
#[derive(Debug, Clone)]
pub(crate) struct Groups<E> {
    /// All entities, idle ones included.
    pub(crate) entities: Vec<E>,
    clock: VirtualClock,
    sets: [Set; 4],
    calendar: Calendar,
    /// The first slot of the first eligible and ready group. Most packets do not change it.
    front: Front,
    /// V's largest step since the last idle period: L in Theorems 4 and 5. Kept in debug builds.
    largest_step: u64,
}

/// Location of the entities to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Front {
    group: u8,
    /// An invalid list if nothing is backlogged.
    list: u16,
}

impl Front {
    const NONE: Self = Self {
        group: 0,
        list: u16::MAX,
    };
}

impl<E> Default for Groups<E> {
    fn default() -> Self {
        let entities = Vec::new();
        let clock = VirtualClock::default();
        let calendar = Calendar::default();
        Self {
            entities,
            clock,
            sets: [0; 4],
            calendar,
            front: Front::NONE,
            largest_step: 0,
        }
    }
}

/// Weights and queries.
impl<E: AsRef<Entity> + AsMut<Entity>> Groups<E> {
    #[inline]
    fn entity(&self, number: usize) -> &Entity {
        self.entities[number].as_ref()
    }

    /// V.
    pub(crate) const fn now(&self) -> VirtualTime {
        self.clock.now()
    }

    /// The sum of the weights that share V.
    pub(crate) const fn total_weight(&self) -> u64 {
        self.clock.total_weight()
    }

    /// Whether nothing is backlogged.
    #[inline]
    pub(crate) const fn is_idle(&self) -> bool {
        self.sets[ER] == 0
    }

    /// Whether a removed weight of this owner still counts.
    pub(crate) fn has_leaving_weight(&self, owner: FlowId) -> bool {
        self.clock.is_leaving(owner)
    }

    /// Changes a weight. `owner` identifies the weight if it is added again. `finish` is the
    /// owner's last finish time.
    pub(crate) fn change_weight(
        &mut self,
        owner: FlowId,
        before: u32,
        after: u32,
        finish: VirtualTime,
    ) {
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

/// Fig. 4: an entity becomes backlogged.
impl<E: AsRef<Entity> + AsMut<Entity>> Groups<E> {
    /// Stamps and lists an idle entity with a next service of this `span`.
    #[inline(never)]
    pub(crate) fn activate(&mut self, number: usize, span: u64) {
        self.forget_steps_if_idle();
        let now = self.clock.now();
        let entity = self.entities[number].as_mut();
        if !entity.is_settled() {
            entity.choose_group(now, span);
        }
        let group = entity.group();
        // Fig. 4, lines 8 and 9, with min(V, F_b) of Eq. 29 in place of V: S = max(F, ..).
        let earliest = earliest_start(now, self.sets[ER] & above(group), &self.calendar);
        let start = entity
            .lead(now)
            .map_or(earliest, |_| earliest.later(entity.time));
        entity.start(start, span);
        // Line 11: the group was idle, or the flow lowers its start time.
        if self.calendar.is_idle(group) || self.calendar.start(group).is_after(start) {
            self.bring_down(group, number);
        } else {
            debug_assert!(self.is_in_range(number), "Theorem 5");
            // Line 20, `bucket_insert`.
            list(
                &mut self.calendar,
                self.entities[number].as_mut(),
                number,
                group,
            );
        }
    }

    /// The group was idle, or a new entity lowers its start time: the group's state may change.
    #[inline(never)]
    fn bring_down(&mut self, group: usize, number: usize) {
        // Fig. 4, lines 15 to 20: out of the ineligible sets, new S_i and F_i, `bucket_insert`.
        self.leave_sets(group);
        let entity = self.entities[number].as_mut();
        self.calendar.begin_at(group, entity.time);
        list(&mut self.calendar, entity, number, group);
        if self.sets[ER] == 0 {
            // Lines 24 and 25, Eq. 3: no eligible group means that nothing else is backlogged, so V
            // jumps to the group's start.
            self.clock.jump_to(self.calendar.start(group));
        }
        // Lines 28 and 29.
        self.sets[self.state_of(group)] |= 1 << group;
        self.front = self.find_front();
    }
}

/// Eq. 29: S = max(min(V, F_b), F), with b the lowest group above its own that is eligible and
/// ready: here the minimum.
///
/// Without Eq. 29, a group that becomes backlogged while V is beyond F_b would break the order of
/// the blocked groups.
#[inline]
fn earliest_start(now: VirtualTime, above: Set, calendar: &Calendar) -> VirtualTime {
    lowest(above).map_or(now, |b| now.earlier(calendar.finish_of(b)))
}

/// Appends an entity to the list of its slot.
#[inline(always)]
fn list(calendar: &mut Calendar, entity: &mut Entity, number: usize, group: usize) {
    entity.position = calendar.list(list_at(entity.time, group), number);
}

/// Fig. 5: the link asks for a packet.
impl<E: AsRef<Entity> + AsMut<Entity>> Groups<E> {
    /// The entity to serve.
    #[inline]
    pub(crate) fn first(&self) -> Option<usize> {
        self.calendar.first_of(self.front.list)
    }

    /// Writes the next entities of the front slot, in service order, into `numbers`. Returns their
    /// count.
    pub(crate) fn peek(&self, numbers: &mut [u32]) -> usize {
        self.calendar.peek(self.front.list, numbers)
    }

    /// Fast path: serves the [`first`](Self::first). `send` removes the packet and returns (length,
    /// still backlogged), or None to leave the work to [`served`](Self::served). Returns true if no
    /// call of `served` is needed.
    #[inline(always)]
    pub(crate) fn serve_first(
        &mut self,
        number: usize,
        send: impl FnOnce(&mut E) -> Option<(u32, bool)>,
    ) -> bool {
        let record = &mut self.entities[number];
        let Some((len, goes_on)) = send(record) else {
            return false;
        };
        let entity = record.as_mut();
        let group = usize::from(self.front.group);
        // Fig. 5, line 12: S = F.
        entity.time = entity.time.plus(entity.span_of(len));
        // Line 8, `bucket_head_remove`.
        let is_vacated = self.calendar.remove_first(self.front.list).1;
        if goes_on {
            // Lines 14 to 17: another packet, `bucket_insert`.
            list(&mut self.calendar, entity, number, group);
        }
        self.count(group, len, is_vacated);
        self.let_weights_go();
        true
    }

    /// Accounts for a service of a backlogged entity, first or not.
    #[inline]
    pub(crate) fn served(&mut self, number: usize, service: Service) {
        let (group, is_vacated) = self.unlist(number);
        let entity = self.entities[number].as_mut();
        // Fig. 5, line 12: S = F.
        entity.time = entity.time.plus(service.charge);
        if service.next == Next::Stays {
            // Line 16, `bucket_insert`.
            list(&mut self.calendar, entity, number, group);
        }
        self.count(group, service.len, is_vacated);
        if let Next::Moves(span) = service.next {
            self.entities[number].as_mut().unsettle(span);
            self.activate(number, span);
        }
        self.let_weights_go();
    }

    /// Removes an entity from its list, where the first entity fills the gap. Returns the group and
    /// whether the slot is now empty.
    #[inline]
    fn unlist(&mut self, number: usize) -> (usize, bool) {
        let entity = self.entity(number);
        let group = entity.group();
        let position = entity.position;
        let (head, is_vacated) = self.calendar.remove_first(list_at(entity.time, group));
        if head != position {
            let moved = self.calendar.fill(position, head);
            self.entities[moved].as_mut().position = position;
        }
        (group, is_vacated)
    }

    /// Advances V for a service of `len` bytes and updates the sets.
    #[inline(always)]
    fn count(&mut self, group: usize, len: u32, is_vacated: bool) {
        let before = self.clock.now();
        // Fig. 5, line 20.
        self.advance(len);
        // Line 33: F_i can only have grown if the first slot is empty.
        if is_vacated && !self.calendar.has_front(group) {
            self.come_up(group);
        }
        // Lines 39 and 40: someone is ineligible.
        let ineligible = self.sets[IR] | self.sets[IB];
        if ineligible != 0 {
            self.make_eligible(before, ineligible);
        }
    }

    /// Advances V.
    #[inline(always)]
    fn advance(&mut self, len: u32) {
        if cfg!(debug_assertions) {
            self.largest_step = self.largest_step.max(self.clock.span_of(len));
        }
        self.clock.advance(len);
    }

    /// The first slot of a served group is empty: the group's finish time rises, or the group is
    /// idle. The group has been in ER since it was chosen, because a group that arrives meanwhile
    /// blocks no eligible group.
    #[inline(never)]
    fn come_up(&mut self, group: usize) {
        let old_finish = self.calendar.finish_of(group);
        // Fig. 5, line 34.
        self.sets[ER] &= !(1 << group);
        if !self.calendar.is_idle(group) {
            // Lines 26 to 28 and 35: the times of the first slot, and the state that they give.
            self.calendar.settle(group);
            self.sets[self.state_of(group)] |= 1 << group;
        }
        // Line 36, `unblock_groups`.
        self.unblock(group, old_finish);
        self.front = self.find_front();
    }

    /// Fig. 6, `unblock_groups`: the finish time of a served group rose. If no eligible group above
    /// finishes as early, all groups below become ready (Theorem 8).
    ///
    /// A group below may have become eligible and ready since the choice. Lemma 3: its finish time
    /// is no earlier than those of lower groups, so no lower group is blocked.
    #[inline]
    fn unblock(&mut self, group: usize, old_finish: VirtualTime) {
        // Fig. 6, lines 24 and 25.
        let blocker = lowest(self.sets[ER] & above(group));
        if blocker.is_none_or(|b| self.calendar.finish_of(b).is_after(old_finish)) {
            // Lines 28 to 30.
            let below = (1 << group) - 1;
            self.move_groups(below, EB, ER);
            self.move_groups(below, IB, IR);
        }
    }

    /// Fig. 6, `make_eligible`: V has moved from `before`. A group has entered a new slot if V
    /// changed in a bit at or above the group's slot size.
    #[inline(never)]
    fn make_eligible(&mut self, before: VirtualTime, ineligible: Set) {
        if self.sets[ER] == 0
            && let Some(first) = lowest(ineligible)
        {
            // Fig. 5, line 43: Eq. 3's minimum over the backlogged start times.
            self.clock.jump_to(self.calendar.start(first));
        }
        // Fig. 6, line 14: the highest bit of V that changed.
        let changed = (before.bits() ^ self.clock.now().bits()) >> MIN_SLOT_SHIFT;
        if let Some(highest) = changed.checked_ilog2() {
            // Lines 16 to 18.
            let entered = Set::MAX >> (Set::BITS - 1).saturating_sub(highest);
            self.move_groups(entered, IR, ER);
            self.move_groups(entered, IB, EB);
            self.front = self.find_front();
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
    /// Fig. 4, `compute_group_state`.
    #[inline]
    fn state_of(&self, group: usize) -> usize {
        // Fig. 4, line 36: the eligibility test.
        let ineligible = self.calendar.start(group).is_after(self.clock.now());
        // Lines 41 and 42: the lowest group above that might block this one.
        let blocker = lowest(self.sets[ER] & above(group));
        let blocked = blocker.is_some_and(|b| {
            self.calendar
                .finish_of(group)
                .is_after(self.calendar.finish_of(b))
        });
        usize::from(ineligible) + 2 * usize::from(blocked)
    }

    #[inline]
    fn leave_sets(&mut self, group: usize) {
        self.sets.iter_mut().for_each(|set| *set &= !(1 << group));
    }

    fn find_front(&self) -> Front {
        lowest(self.sets[ER]).map_or(Front::NONE, |group| Front {
            group: group as u8,
            list: self.calendar.front(group),
        })
    }

    /// Removes an entity without service and without charge. Rare, so the sets are rebuilt from
    /// their definitions.
    #[cold]
    pub(crate) fn withdraw(&mut self, number: usize) {
        self.unlist(number);
        let entity = self.entities[number].as_mut();
        entity.start(entity.time, 0);
        let backlogged = (0..GROUPS)
            .filter(|group| !self.calendar.is_idle(*group))
            .fold(0, |set, group| set | 1 << group);
        self.sets = [0; 4];
        let mut first = None;
        for group in groups_of(backlogged) {
            self.calendar.settle(group);
            let start = self.calendar.start(group);
            first = Some(first.map_or(start, |first| start.earlier(first)));
        }
        if let Some(first) = first {
            self.clock.jump_to(first);
        }
        for group in groups_of(backlogged).rev() {
            self.sets[self.state_of(group)] |= 1 << group;
        }
        self.front = self.find_front();
        self.let_weights_go();
    }
}

#[inline]
const fn lowest(set: Set) -> Option<usize> {
    if set == 0 {
        None
    } else {
        Some(set.trailing_zeros() as usize % GROUPS)
    }
}

fn groups_of(set: Set) -> impl DoubleEndedIterator<Item = usize> {
    (0..GROUPS).filter(move |group| set >> group & 1 == 1)
}

/// All groups of higher index.
#[inline]
const fn above(group: usize) -> Set {
    (Set::MAX - 1) << group
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
        entity.set(weight, max_packet_len, 0);
        Plain(entity)
    }

    /// V has wrapped once while an entity was idle and is a little before the entity's finish time:
    /// a larger lead than the group allows.
    #[test]
    fn a_finish_time_from_before_the_wrap_is_forgotten() {
        let mut groups = Groups {
            entities: alloc::vec![plain(1024, 1024), plain(1, 1 << 16)],
            ..Groups::default()
        };
        groups.change_weight(FlowId(0), 0, 1025, VirtualTime::ZERO);
        let spans = [
            groups.entity(0).span_of(1024),
            groups.entity(1).span_of(1 << 16),
        ];
        groups.activate(0, spans[0]);
        groups.served(
            0,
            Service {
                len: 1024,
                charge: spans[0],
                next: Next::Idle,
            },
        );
        let now = groups.entity(0).time.minus(1 << 46);
        groups.clock = VirtualClock::start_at(now);
        groups.clock.add_weight(FlowId(0), 1025);
        groups.entities[1].0.time = now;
        groups.activate(1, spans[1]);
        groups.activate(0, spans[0]);
        assert_eq!(groups.entity(0).time, now, "a new start");
        assert_eq!(groups.first(), Some(0), "the heavy one goes first");
    }
}
