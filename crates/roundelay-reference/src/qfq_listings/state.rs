//! The state that the claims look at: V, and each backlogged group's S and F.

use super::{GROUPS, QfqListings};

#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    pub(super) now: u64,
    /// One bit for each backlogged group.
    backlogged: u64,
    /// Each group's S and F.
    times: [(u64, u64); GROUPS],
}

/// Numbers of the bits that are set, lowest first.
pub(super) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = super::lowest(set)?;
        set &= set - 1;
        Some(lowest)
    })
}

impl State {
    pub(super) fn of(listings: &QfqListings) -> Self {
        let mut state = Self {
            now: listings.now,
            backlogged: 0,
            times: [(0, 0); GROUPS],
        };
        for (number, group) in listings.groups.iter().enumerate() {
            if !group.slots.is_empty() {
                state.backlogged |= 1 << number;
                state.times[number] = (group.start, group.finish);
            }
        }
        state
    }

    /// The same groups with another V.
    pub(super) fn at(&self, now: u64) -> Self {
        Self { now, ..*self }
    }

    /// S and F of a group, or None if the group is idle.
    pub(super) fn times(&self, group: usize) -> Option<(u64, u64)> {
        if self.backlogged >> group & 1 == 1 {
            Some(self.times[group])
        } else {
            None
        }
    }

    /// S and F of the set's backlogged groups, by index.
    pub(super) fn times_in(&self, set: u64) -> Vec<(u64, u64)> {
        let mut times = Vec::new();
        for group in bits(set & self.backlogged) {
            times.push(self.times[group]);
        }
        times
    }

    /// Number, S and F of each backlogged group.
    pub(super) fn backlogged(&self) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
        bits(self.backlogged).map(|group| (group, self.times[group].0, self.times[group].1))
    }

    /// A group is eligible if S <= V.
    pub(super) fn is_eligible(&self, group: usize) -> bool {
        match self.times(group) {
            Some((start, _)) => start <= self.now,
            None => false,
        }
    }

    /// Section 4.1.3: a group is blocked if an eligible group with a higher index finishes earlier.
    pub(super) fn is_blocked(&self, group: usize) -> bool {
        let Some((_, finish)) = self.times(group) else {
            return false;
        };
        for higher in bits(self.backlogged & (u64::MAX << group << 1)) {
            let (start, earlier) = self.times[higher];
            if start <= self.now && earlier < finish {
                return true;
            }
        }
        false
    }

    /// Index of the set that a group belongs to by definition.
    pub(super) fn set_of(&self, group: usize) -> usize {
        usize::from(!self.is_eligible(group)) + 2 * usize::from(self.is_blocked(group))
    }

    /// The blocked groups, one bit each.
    pub(super) fn blocked(&self) -> u64 {
        let mut blocked = 0;
        for group in bits(self.backlogged) {
            if self.is_blocked(group) {
                blocked |= 1 << group;
            }
        }
        blocked
    }
}
