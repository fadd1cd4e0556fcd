//! Calendar of QFQ's groups: each group's entities, sorted by start time into slots. Within a slot
//! the order is first come, first served. If an entity is removed out of turn, the slot's first
//! entity fills the gap.
//!
//! A group's entities start within [`SLOTS`] slots (Theorem 5), so slot n in virtual time has bit,
//! and list, n modulo [`SLOTS`].

use crate::mechanisms::entity::{GROUPS, SLOTS, shift_of};
use crate::mechanisms::lists::{List, Lists};
use crate::virtual_time::VirtualTime;

/// Lists of all groups.
const LISTS: usize = GROUPS * SLOTS as usize;

/// The slots of all groups.
#[derive(Debug, Clone)]
pub(crate) struct Calendar {
    groups: [Group; GROUPS],
    /// The list of each slot, valid while the slot is occupied.
    lists_of: [List; LISTS],
    numbers: Lists,
}

/// State of a group.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    /// S_i: start of the first occupied slot.
    start: VirtualTime,
    /// Bitmap of occupied slots.
    occupied: u64,
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            groups: [Group::default(); GROUPS],
            lists_of: [List::default(); LISTS],
            numbers: Lists::default(),
        }
    }
}

/// The list of a group's slot around `time`.
#[inline]
pub(crate) const fn list_at(time: VirtualTime, group: usize) -> u16 {
    (group as u64 * SLOTS as u64 + slot_of(time, group)) as u16
}

#[inline]
const fn slot_of(time: VirtualTime, group: usize) -> u64 {
    (time.bits() >> shift_of(group)) % SLOTS as u64
}

/// Group and slot of a list.
#[inline]
const fn group_and_slot(list: u16) -> (usize, u32) {
    (list as usize / SLOTS as usize % GROUPS, list as u32 % SLOTS)
}

/// The group of a list.
pub(crate) const fn group_of(list: u16) -> usize {
    group_and_slot(list).0
}

impl Calendar {
    /// Memory of the slots' lists: first and last position of each.
    pub(crate) const SLOT_BYTES: usize = size_of::<[List; LISTS]>();
    /// Memory of the groups: S_i and the bitmap of occupied slots.
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

    /// Whether a group is empty.
    #[inline]
    pub(crate) const fn is_idle(&self, group: usize) -> bool {
        self.groups[group % GROUPS].occupied == 0
    }

    /// Whether the slot at S_i is still occupied.
    #[inline]
    pub(crate) const fn has_front(&self, group: usize) -> bool {
        let Group { start, occupied } = self.groups[group % GROUPS];
        occupied >> slot_of(start, group) & 1 == 1
    }

    /// The first number of a non-empty list. None for an invalid list.
    #[inline]
    pub(crate) fn first_of(&self, list: u16) -> Option<usize> {
        self.lists_of
            .get(usize::from(list))
            .map(|list| self.numbers.at(list.head()) as usize)
    }

    /// The list for the slot at S_i.
    #[inline]
    pub(crate) const fn front(&self, group: usize) -> u16 {
        list_at(self.start(group), group)
    }

    /// Sets S_i for an entity that starts at `start`, before all others of the group.
    #[inline]
    pub(crate) fn begin_at(&mut self, group: usize, start: VirtualTime) {
        self.groups[group % GROUPS].start = start.slot_start(shift_of(group));
    }

    /// Moves S_i up to the first occupied slot. The group must not be idle.
    #[inline]
    pub(crate) fn settle(&mut self, group: usize) {
        let Group { start, occupied } = &mut self.groups[group % GROUPS];
        let distance = u64::from(
            occupied
                .rotate_right(slot_of(*start, group) as u32)
                .trailing_zeros(),
        );
        *start = start.plus(distance << shift_of(group));
    }

    /// Appends a number to a list. Returns its position.
    #[inline(always)]
    pub(crate) fn list(&mut self, list: u16, number: usize) -> u32 {
        let (group, slot) = group_and_slot(list);
        if self.groups[group].occupied >> slot & 1 == 0 {
            return self.begin(list, number);
        }
        self.numbers
            .append(&mut self.lists_of[usize::from(list) % LISTS], number as u32)
    }

    #[inline(never)]
    fn begin(&mut self, list: u16, number: usize) -> u32 {
        let (group, slot) = group_and_slot(list);
        self.groups[group].occupied |= 1 << slot;
        let list = &mut self.lists_of[usize::from(list) % LISTS];
        *list = self.numbers.begin(number as u32);
        list.head()
    }

    /// Removes the first number of a list. Returns its former position, and whether the list is now
    /// empty.
    #[inline(always)]
    pub(crate) fn remove_first(&mut self, list: u16) -> (u32, bool) {
        let (group, slot) = group_and_slot(list);
        let list = &mut self.lists_of[usize::from(list) % LISTS];
        let head = list.head();
        let is_last = self.numbers.remove_first(list);
        if is_last {
            self.groups[group].occupied ^= 1 << slot;
        }
        (head, is_last)
    }

    /// Moves the number just removed at `head` to `position` in the same list. Returns the
    /// number.
    #[cold]
    pub(crate) fn fill(&mut self, position: u32, head: u32) -> usize {
        let number = self.numbers.at(head);
        self.numbers.put(position, number);
        number as usize
    }

    /// Copies the first numbers of a list into `numbers`. Returns their count.
    pub(crate) fn peek(&self, list: u16, numbers: &mut [u32]) -> usize {
        self.lists_of
            .get(usize::from(list))
            .map_or(0, |list| self.numbers.peek(*list, numbers))
    }

    /// All listed entities: list, position and number. For checks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, u32, u32)> {
        let is_occupied = |list: &u16| {
            let (group, slot) = group_and_slot(*list);
            self.groups[group].occupied >> slot & 1 == 1
        };
        let positions = |list: u16| {
            self.numbers
                .iter(self.lists_of[usize::from(list)])
                .map(move |(position, number)| (list, position, number))
        };
        (0..LISTS as u16).filter(is_occupied).flat_map(positions)
    }
}
