//! QFQ's groups, slots and sets: finds, in constant time, who of all that is backlogged has begun in a fluid server and would finish first.
//!
//! What is scheduled is an [`Entity`] with a start and a finish time: a flow in `qfq`, an aggregate of flows in `qfq_plus`. Entities with
//! like ratios of longest packet to weight form a group. In a group start times are rounded to slots, so that sorting is an index into an
//! array (`calendar.rs`). Groups are in one of four sets, bitmaps of a machine word: eligible or ineligible (has the fluid server begun it?),
//! and ready or blocked (is there an eligible group of higher index that finishes earlier?). In the set of the eligible and ready ones the
//! index sorts by finish time, so the first bit set is the group to serve; and whole sets move by AND, OR and XOR.
//!
//! Most packets change none of that: while the first slot of the first group holds entities, who is served goes from there to a later slot and
//! V counts on. So that slot is kept (`front`), and the sets are looked at when it empties, when V may make groups eligible, and when
//! something becomes backlogged before all others of its group.
//!
//! Source: F. Checconi, P. Valente, L. Rizzo, "QFQ: Efficient Packet Scheduling with Tight Bandwidth Distribution Guarantees", section 4
//! and appendix A.
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

mod invariants;

use alloc::vec::Vec;

use crate::mechanisms::calendar::{Calendar, list_at};
use crate::mechanisms::entity::{Entity, GROUPS, MIN_SLOT_SHIFT};
use crate::packet::FlowId;
use crate::virtual_time::{VirtualClock, VirtualTime};

/// A set of groups, one bit each.
type Set = u32;

const _: () = assert!(GROUPS <= Set::BITS as usize);

/// Places in [`Groups::sets`]: bit 0 for ineligible, bit 1 for blocked, so that a state is computed by adding.
const ER: usize = 0;
const IR: usize = 1;
const EB: usize = 2;
const IB: usize = 3;

/// What an entity was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Service {
    pub(crate) len: u32,
    /// What it is charged, in virtual time.
    pub(crate) charge: u64,
    pub(crate) next: Next,
}

/// What becomes of it then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Idle,
    /// It goes on in its group.
    Stays,
    /// It belongs in another group, or may; what it sends next takes so long.
    Moves(u64),
}

/// Entities by number, the backlogged ones in order of service.
#[derive(Debug, Clone)]
pub(crate) struct Groups<E> {
    /// All of them, idle ones too.
    pub(crate) entities: Vec<E>,
    clock: VirtualClock,
    sets: [Set; 4],
    calendar: Calendar,
    /// The first slot of the first group that is eligible and ready. Most packets leave it as it is.
    front: Front,
    /// Largest step of V since nothing was backlogged: L in Theorems 4 and 5. Kept in debug builds.
    largest_step: u64,
}

/// Where those are that are to be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Front {
    group: u8,
    /// No list if nothing is backlogged.
    list: u16,
}

impl Front {
    const NONE: Self = Self { group: 0, list: u16::MAX };
}

impl<E> Default for Groups<E> {
    fn default() -> Self {
        let (entities, clock, calendar) = (Vec::new(), VirtualClock::default(), Calendar::default());
        Self { entities, clock, sets: [0; 4], calendar, front: Front::NONE, largest_step: 0 }
    }
}

/// Weights, and what the discipline asks.
impl<E: AsRef<Entity> + AsMut<Entity>> Groups<E> {
    #[inline]
    fn entity(&self, number: usize) -> &Entity {
        self.entities[number].as_ref()
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
    #[inline(never)]
    pub(crate) fn activate(&mut self, number: usize, span: u64) {
        let now = self.clock.now();
        let entity = self.entities[number].as_mut();
        if !entity.is_settled() {
            entity.choose_group(now, span);
        }
        let group = entity.group();
        let earliest = earliest_start(now, self.sets[ER] & above(group), &self.calendar);
        let start = entity.lead(now).map_or(earliest, |_| earliest.later(entity.time));
        entity.start(start, span);
        if self.calendar.is_idle(group) || self.calendar.start(group).is_after(start) {
            self.bring_down(group, number);
        } else {
            debug_assert!(self.is_in_range(number), "Theorem 5");
            list(&mut self.calendar, self.entities[number].as_mut(), number, group);
        }
    }

    /// The group was idle, or its start time comes down to that of an entity that comes: its state may change.
    #[inline(never)]
    fn bring_down(&mut self, group: usize, number: usize) {
        self.leave_sets(group);
        let entity = self.entities[number].as_mut();
        self.calendar.begin_at(group, entity.time);
        list(&mut self.calendar, entity, number, group);
        if self.sets[ER] == 0 {
            // Nothing else is backlogged if nothing is eligible: V comes up to the group (Eq. 3).
            self.clock.jump_to(self.calendar.start(group));
        }
        self.sets[self.state_of(group)] |= 1 << group;
        self.front = self.find_front();
    }
}

/// Eq. 29: S = max(min(V, F_b), F), with b the lowest group above its own that is eligible and ready: here the minimum.
///
/// Without it, a group that becomes backlogged while V is beyond F_b would be out of order among the blocked ones.
#[inline]
fn earliest_start(now: VirtualTime, above: Set, calendar: &Calendar) -> VirtualTime {
    lowest(above).map_or(now, |b| now.earlier(calendar.finish_of(b)))
}

/// Appends an entity to the list of its slot.
#[inline(always)]
fn list(calendar: &mut Calendar, entity: &mut Entity, number: usize, group: usize) {
    entity.place = calendar.list(list_at(entity.time, group), number);
}

/// Fig. 5: the link is free.
impl<E: AsRef<Entity> + AsMut<Entity>> Groups<E> {
    /// Who is to be served.
    #[inline]
    pub(crate) fn first(&self) -> Option<usize> {
        self.calendar.first_of(self.front.list)
    }

    /// Those that are to be served one after the other, as far as they are in one slot, and into `numbers`: how many there are.
    pub(crate) fn peek(&self, numbers: &mut [u32]) -> usize {
        self.calendar.peek(self.front.list, numbers)
    }

    /// Serves the [`first`](Self::first): `send` takes what is sent out of its record and says how long that was and whether there is more; or
    /// nothing, if the rest is left to [`served`](Self::served). Whether it was not.
    #[inline(always)]
    pub(crate) fn serve_first(&mut self, number: usize, send: impl FnOnce(&mut E) -> Option<(u32, bool)>) -> bool {
        let record = &mut self.entities[number];
        let Some((len, goes_on)) = send(record) else { return false };
        let (entity, group) = (record.as_mut(), usize::from(self.front.group));
        entity.time = entity.time.plus(entity.span_of(len));
        let is_vacated = self.calendar.remove_first(self.front.list).1;
        if goes_on {
            list(&mut self.calendar, entity, number, group);
        }
        self.count(group, len, is_vacated);
        self.let_weights_go();
        true
    }

    /// A backlogged entity was served, the first one or not.
    #[inline]
    pub(crate) fn served(&mut self, number: usize, service: Service) {
        let (group, is_vacated) = self.unlist(number);
        let entity = self.entities[number].as_mut();
        entity.time = entity.time.plus(service.charge);
        if service.next == Next::Stays {
            list(&mut self.calendar, entity, number, group);
        }
        self.count(group, service.len, is_vacated);
        if let Next::Moves(span) = service.next {
            self.entities[number].as_mut().unsettle(span);
            self.activate(number, span);
        }
        self.let_weights_go();
    }

    /// Takes an entity off its list: if it is not the first one there, the first one takes its place. Says in which group that was, and whether
    /// nobody else is in its slot.
    #[inline]
    fn unlist(&mut self, number: usize) -> (usize, bool) {
        let entity = self.entity(number);
        let (group, place) = (entity.group(), entity.place);
        let (head, is_vacated) = self.calendar.remove_first(list_at(entity.time, group));
        if head != place {
            let moved = self.calendar.fill(place, head);
            self.entities[moved].as_mut().place = place;
        }
        (group, is_vacated)
    }

    /// V and the sets count a service of `len` bytes to a group.
    #[inline(always)]
    fn count(&mut self, group: usize, len: u32, is_vacated: bool) {
        let before = self.clock.now();
        self.advance(len);
        if is_vacated && !self.calendar.has_front(group) {
            self.come_up(group);
        }
        let ineligible = self.sets[IR] | self.sets[IB];
        if ineligible != 0 {
            self.make_eligible(before, ineligible);
        }
    }

    /// V counts the service.
    #[inline(always)]
    fn advance(&mut self, len: u32) {
        if cfg!(debug_assertions) {
            self.largest_step = self.largest_step.max(self.clock.span_of(len));
        }
        self.clock.advance(len);
    }

    /// The first slot of a group that was served has emptied: its finish time rises, or it is idle. The group has been in ER since it was chosen:
    /// who comes meanwhile blocks no group that is eligible.
    #[inline(never)]
    fn come_up(&mut self, group: usize) {
        let old_finish = self.calendar.finish_of(group);
        self.sets[ER] &= !(1 << group);
        if !self.calendar.is_idle(group) {
            self.calendar.settle(group);
            self.sets[self.state_of(group)] |= 1 << group;
        }
        self.unblock(group, old_finish);
        self.front = self.find_front();
    }

    /// Fig. 6, `unblock_groups`: a group was served and its finish time rose. If no eligible group above still finishes as early, all groups
    /// below it are ready again (Theorem 8).
    ///
    /// Below it there may be a group that is eligible and ready since this one was chosen. It finishes no earlier than the groups below it do
    /// (Lemma 3), so it blocks none of them.
    #[inline]
    fn unblock(&mut self, group: usize, old_finish: VirtualTime) {
        let blocker = lowest(self.sets[ER] & above(group));
        if blocker.is_none_or(|b| self.calendar.finish_of(b).is_after(old_finish)) {
            let below = (1 << group) - 1;
            self.move_groups(below, EB, ER);
            self.move_groups(below, IB, IR);
        }
    }

    /// Fig. 6, `make_eligible`: V has moved from `before`. A group has entered a new slot if a bit of V at or above its slot size changed.
    #[inline(never)]
    fn make_eligible(&mut self, before: VirtualTime, ineligible: Set) {
        if self.sets[ER] == 0
            && let Some(first) = lowest(ineligible)
        {
            self.clock.jump_to(self.calendar.start(first));
        }
        let changed = (before.bits() ^ self.clock.now().bits()) >> MIN_SLOT_SHIFT;
        if let Some(highest) = changed.checked_ilog2() {
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
        let ineligible = self.calendar.start(group).is_after(self.clock.now());
        let blocker = lowest(self.sets[ER] & above(group));
        let blocked = blocker.is_some_and(|b| self.calendar.finish_of(group).is_after(self.calendar.finish_of(b)));
        usize::from(ineligible) + 2 * usize::from(blocked)
    }

    #[inline]
    fn leave_sets(&mut self, group: usize) {
        self.sets.iter_mut().for_each(|set| *set &= !(1 << group));
    }

    fn find_front(&self) -> Front {
        lowest(self.sets[ER]).map_or(Front::NONE, |group| Front { group: group as u8, list: self.calendar.front(group) })
    }

    /// Takes out an entity that was not served. It is not charged. Rare, so the sets are rebuilt from their definitions.
    #[cold]
    pub(crate) fn withdraw(&mut self, number: usize) {
        self.unlist(number);
        let entity = self.entities[number].as_mut();
        entity.start(entity.time, 0);
        let backlogged = (0..GROUPS).filter(|group| !self.calendar.is_idle(*group)).fold(0, |set, group| set | 1 << group);
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
    if set == 0 { None } else { Some(set.trailing_zeros() as usize % GROUPS) }
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

    /// V has gone once around while an entity was idle, and stands a little before where it left: further than its group allows.
    #[test]
    fn a_finish_time_from_before_the_wrap_is_forgotten() {
        let mut groups = Groups { entities: alloc::vec![plain(1024, 1024), plain(1, 1 << 16)], ..Groups::default() };
        groups.change_weight(FlowId(0), 0, 1025, VirtualTime::ZERO);
        let spans = [groups.entity(0).span_of(1024), groups.entity(1).span_of(1 << 16)];
        groups.activate(0, spans[0]);
        groups.served(0, Service { len: 1024, charge: spans[0], next: Next::Idle });
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
