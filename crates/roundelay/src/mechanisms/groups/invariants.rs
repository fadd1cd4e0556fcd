//! Invariants of QFQ's groups, to hold after each operation.

use crate::mechanisms::calendar::list_at;
use crate::mechanisms::entity::{Entity, GROUPS, SLOTS, shift_of};
use crate::mechanisms::groups::{EB, ER, Groups, IB, IR, Set};

/// Invariants: the theorems in appendix A, where sigma_i is the group's slot size and L is V's
/// largest step.
impl<E: AsRef<Entity> + AsMut<Entity>> Groups<E> {
    /// The invariants' L is that of one busy period.
    #[inline]
    pub(super) const fn forget_steps_if_idle(&mut self) {
        if cfg!(debug_assertions) && self.is_idle() {
            self.largest_step = 0;
        }
    }

    /// Panics if an invariant is broken. `next` is the span of an entity's next service, None if
    /// idle.
    pub(crate) fn check(&self, next: impl Fn(&E) -> Option<u64>) {
        self.check_entities(&next);
        for group in 0..GROUPS {
            self.check_group(group);
        }
        self.check_order();
        assert_eq!(
            self.front,
            self.find_front(),
            "invariant 10: the first slot of the first group"
        );
        assert_eq!(
            self.is_idle(),
            self.entities.iter().all(|entity| next(entity).is_none()),
            "invariant 9"
        );
    }

    /// 1. A backlogged entity is once on its slot's list, an idle entity on no list. The next
    ///    service fits the slot.
    fn check_entities(&self, next: &impl Fn(&E) -> Option<u64>) {
        let mut listed = alloc::vec![0; self.entities.len()];
        for (list, position, number) in self.calendar.iter() {
            let entity = self.entity(number as usize);
            listed[number as usize] += 1;
            assert_eq!(
                (list_at(entity.time, entity.group()), entity.position),
                (list, position),
                "invariant 1: listed by its start time"
            );
        }
        for (number, listed) in listed.into_iter().enumerate() {
            let entity = self.entity(number);
            let next = next(&self.entities[number]);
            assert_eq!(
                listed,
                u32::from(next.is_some()),
                "invariant 1: listed once if backlogged"
            );
            let slot_size = 1 << shift_of(entity.group());
            assert!(
                next.is_none_or(|span| entity.charge(span) <= slot_size),
                "invariant 1: F - S <= sigma"
            );
        }
    }

    /// 2. S_i is the start of the group's first occupied slot.
    /// 3. Theorem 3: S_i is no later than the end of the slot around V.
    /// 4. Theorem 4: V <= F_i + L, in debug builds, which record L.
    /// 5. The group is in exactly the set that its times give. An idle group is in none.
    fn check_group(&self, group: usize) {
        let start = self.calendar.start(group);
        let shift = shift_of(group);
        let now = self.clock.now();
        let sets = self.sets.map(|set| set >> group & 1);
        if self.calendar.is_idle(group) {
            return assert_eq!(sets, [0; 4], "invariant 5: an idle group is in no set");
        }
        assert!(self.calendar.has_front(group), "invariant 2");
        assert_eq!(start, start.slot_start(shift), "invariant 2");
        let slot_end = now.plus((1 << shift) - 1).slot_start(shift);
        assert!(!start.is_after(slot_end), "invariant 3: Theorem 3");
        let is_kept = cfg!(debug_assertions);
        assert!(
            !is_kept || !now.is_after(self.calendar.finish_of(group).plus(self.largest_step)),
            "invariant 4: Theorem 4"
        );
        let mut expected = [0; 4];
        expected[self.state_of(group)] = 1;
        assert_eq!(sets, expected, "invariant 5: group {group} is in its set");
    }

    /// 6. Theorems 6 and 7: ER and EB are sorted by finish time.
    /// 7. Section 4.1.3: IR and IB together are sorted by start and by finish time.
    /// 8. Lemma 4: of two blocked groups the lower does not start after the higher one finishes.
    /// 9. If anything is backlogged, a group is eligible and ready (`check`).
    fn check_order(&self) {
        let ineligible = self.sets[IR] | self.sets[IB];
        let blocked = self.sets[EB] | self.sets[IB];
        for j in 0..GROUPS {
            for i in 0..j {
                let both = |set: Set| set >> i & set >> j & 1 == 1;
                let finish_of_j = self.calendar.finish_of(j);
                let is_sorted = !self.calendar.finish_of(i).is_after(finish_of_j);
                let start_of_i = self.calendar.start(i);
                let starts_in_order = !start_of_i.is_after(self.calendar.start(j));
                assert!(!both(self.sets[ER]) || is_sorted, "invariant 6: Theorem 6");
                assert!(!both(self.sets[EB]) || is_sorted, "invariant 6: Theorem 7");
                assert!(
                    !both(ineligible) || is_sorted,
                    "invariant 7: by finish time"
                );
                assert!(
                    !both(ineligible) || starts_in_order,
                    "invariant 7: by start time"
                );
                assert!(
                    !both(blocked) || !start_of_i.is_after(finish_of_j),
                    "invariant 8: Lemma 4"
                );
            }
        }
    }

    /// Theorem 5: an entity starts within the first 2 + L / sigma slots of its group.
    pub(super) fn is_in_range(&self, number: usize) -> bool {
        let entity = self.entity(number);
        let group = entity.group();
        let shift = shift_of(entity.group());
        let distance = entity
            .time
            .slot_start(shift)
            .since(self.calendar.start(group))
            >> shift;
        let slots = 2 + (self.largest_step >> shift) as i64 + 1;
        self.calendar.is_idle(group) || (0..slots.min(SLOTS.into())).contains(&distance)
    }
}
