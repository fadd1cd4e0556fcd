//! The slots of QFQ's groups: a calendar for each group, in which entities are sorted by start time as far as slots tell. Within a slot they
//! are first come, first served; only one that leaves out of turn lets the first one take its place.
//!
//! A group's entities start within [`SLOTS`] slots (Theorem 5), so slot n of virtual time is bit, and list, n modulo that.

use crate::mechanisms::entity::{GROUPS, SLOTS, shift_of};
use crate::mechanisms::lists::{List, Lists};
use crate::virtual_time::VirtualTime;

/// Lists of all groups.
const LISTS: usize = GROUPS * SLOTS as usize;

/// Slots and who is in them.
#[derive(Debug, Clone)]
pub(crate) struct Calendar {
    groups: [Group; GROUPS],
    /// Who is in each slot, while it is occupied.
    lists_of: [List; LISTS],
    numbers: Lists,
}

/// What is known of a group.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    /// S_i: start of the first slot that holds an entity.
    start: VirtualTime,
    /// Which slots hold entities.
    occupied: u64,
}

impl Default for Calendar {
    fn default() -> Self {
        Self { groups: [Group::default(); GROUPS], lists_of: [List::default(); LISTS], numbers: Lists::default() }
    }
}

/// The list of the slot of a group in which `time` lies.
#[inline]
pub(crate) const fn list_at(time: VirtualTime, group: usize) -> u16 {
    (group as u64 * SLOTS as u64 + slot_of(time, group)) as u16
}

#[inline]
const fn slot_of(time: VirtualTime, group: usize) -> u64 {
    (time.bits() >> shift_of(group)) % SLOTS as u64
}

/// Whose list it is: group and slot.
#[inline]
const fn place_of(list: u16) -> (usize, u32) {
    (list as usize / SLOTS as usize % GROUPS, list as u32 % SLOTS)
}

impl Calendar {
    /// Memory of the lists of slots: where each begins and ends.
    pub(crate) const SLOT_BYTES: usize = size_of::<[List; LISTS]>();
    /// Memory of the groups: S_i and which slots are occupied.
    pub(crate) const GROUP_BYTES: usize = size_of::<[Group; GROUPS]>();

    /// S_i.
    #[inline]
    pub(crate) const fn start(&self, group: usize) -> VirtualTime {
        self.groups[group % GROUPS].start
    }

    /// F_i = S_i + 2 sigma_i (Eq. 6).
    #[inline]
    pub(crate) const fn finish_of(&self, group: usize) -> VirtualTime {
        self.start(group).plus(2 << shift_of(group))
    }

    /// Whether a group holds nobody.
    #[inline]
    pub(crate) const fn is_idle(&self, group: usize) -> bool {
        self.groups[group % GROUPS].occupied == 0
    }

    /// Whether the slot that S_i is the start of still holds somebody.
    #[inline]
    pub(crate) const fn has_front(&self, group: usize) -> bool {
        let Group { start, occupied } = self.groups[group % GROUPS];
        occupied >> slot_of(start, group) & 1 == 1
    }

    /// The first number of a list that is not empty. None if there is no such list.
    #[inline]
    pub(crate) fn first_of(&self, list: u16) -> Option<usize> {
        self.lists_of.get(usize::from(list)).map(|list| self.numbers.at(list.head()) as usize)
    }

    /// The list of the slot that S_i is the start of.
    #[inline]
    pub(crate) const fn front(&self, group: usize) -> u16 {
        list_at(self.start(group), group)
    }

    /// The group has somebody who starts at `start`, before all others.
    #[inline]
    pub(crate) fn begin_at(&mut self, group: usize, start: VirtualTime) {
        self.groups[group % GROUPS].start = start.slot_start(shift_of(group));
    }

    /// Brings S_i up to the first slot that holds somebody. Not to be called on an idle group.
    #[inline]
    pub(crate) fn settle(&mut self, group: usize) {
        let Group { start, occupied } = &mut self.groups[group % GROUPS];
        let distance = u64::from(occupied.rotate_right(slot_of(*start, group) as u32).trailing_zeros());
        *start = start.plus(distance << shift_of(group));
    }

    /// Appends a number to a list. Says where it is.
    #[inline(always)]
    pub(crate) fn list(&mut self, list: u16, number: usize) -> u32 {
        let (group, slot) = place_of(list);
        if self.groups[group].occupied >> slot & 1 == 0 {
            return self.begin(list, number);
        }
        self.numbers.append(&mut self.lists_of[usize::from(list) % LISTS], number as u32)
    }

    #[inline(never)]
    fn begin(&mut self, list: u16, number: usize) -> u32 {
        let (group, slot) = place_of(list);
        self.groups[group].occupied |= 1 << slot;
        let list = &mut self.lists_of[usize::from(list) % LISTS];
        *list = self.numbers.begin(number as u32);
        list.head()
    }

    /// Takes the first number off a list. Says where it was, and whether nobody else is there.
    #[inline(always)]
    pub(crate) fn remove_first(&mut self, list: u16) -> (u32, bool) {
        let (group, slot) = place_of(list);
        let list = &mut self.lists_of[usize::from(list) % LISTS];
        let head = list.head();
        let is_last = self.numbers.remove_first(list);
        if is_last {
            self.groups[group].occupied ^= 1 << slot;
        }
        (head, is_last)
    }

    /// The number that was at `head`, which was taken off, takes a place in the same list. Says which one it is.
    #[cold]
    pub(crate) fn fill(&mut self, place: u32, head: u32) -> usize {
        let number = self.numbers.at(head);
        self.numbers.put(place, number);
        number as usize
    }

    /// The first numbers of a list into `numbers`: how many there are.
    pub(crate) fn peek(&self, list: u16, numbers: &mut [u32]) -> usize {
        self.lists_of.get(usize::from(list)).map_or(0, |list| self.numbers.peek(*list, numbers))
    }

    /// All that are listed: list, place and number. For checks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, u32, u32)> {
        let is_occupied = |list: &u16| {
            let (group, slot) = place_of(*list);
            self.groups[group].occupied >> slot & 1 == 1
        };
        let places = |list: u16| self.numbers.iter(self.lists_of[usize::from(list)]).map(move |(place, number)| (list, place, number));
        (0..LISTS as u16).filter(is_occupied).flat_map(places)
    }
}
