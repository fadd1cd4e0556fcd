//! A view for drawings: a copy of the sets, times and slots in QFQ's groups.

use alloc::vec::Vec;

use crate::mechanisms::calendar::group_of;
use crate::mechanisms::entity::{Entity, GROUPS, shift_of};
use crate::mechanisms::groups::Groups;
use crate::packet::FlowId;
use crate::schedulers::qfq::{GroupSet, GroupView};
use crate::virtual_time::VirtualTime;

impl<E: AsRef<Entity> + AsMut<Entity>> Groups<E> {
    /// Backlogged groups, lowest index first.
    pub(crate) fn view(&self) -> Vec<GroupView> {
        let mut groups: Vec<_> = (0..GROUPS)
            .filter(|group| !self.calendar.is_idle(*group))
            .map(|group| self.view_of(group))
            .collect();
        for (list, _, number) in self.calendar.iter() {
            let Some(group) = groups
                .iter_mut()
                .find(|group| group.index == group_of(list))
            else {
                continue;
            };
            let start = self
                .entity(number as usize)
                .time
                .slot_start(shift_of(group.index));
            match group.slots.iter_mut().find(|(slot, _)| *slot == start) {
                Some((_, flows)) => flows.push(FlowId(number)),
                None => group.slots.push((start, alloc::vec![FlowId(number)])),
            }
        }
        for group in &mut groups {
            let first = group.start;
            group
                .slots
                .sort_by_key(|(start, _): &(VirtualTime, _)| start.since(first));
        }
        groups
    }

    fn view_of(&self, group: usize) -> GroupView {
        let set = GroupSet::ALL
            .into_iter()
            .zip(self.sets)
            .find(|(_, set)| set >> group & 1 == 1);
        GroupView {
            index: group,
            set: set.map_or(GroupSet::IneligibleBlocked, |(set, _)| set),
            slot_size: 1 << shift_of(group),
            start: self.calendar.start(group),
            finish: self.calendar.finish_of(group),
            slots: Vec::new(),
        }
    }
}
