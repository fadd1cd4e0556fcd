//! State of the listings for the claims: V, and S and F of the backlogged groups.

use super::{GROUPS, QfqListings};

#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    pub(super) now: u64,
    /// One bit for each backlogged group.
    backlogged: u64,
    /// S and F of each group.
    times: [(u64, u64); GROUPS],
}

/// Numbers of the set bits, lowest first.
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

    /// S and F of a backlogged group.
    pub(super) fn times(&self, group: usize) -> Option<(u64, u64)> {
        if self.backlogged >> group & 1 == 1 {
            Some(self.times[group])
        } else {
            None
        }
    }

    /// S and F of the backlogged groups of a set, by index.
    pub(super) fn times_in(&self, set: u64) -> Vec<(u64, u64)> {
        let mut times = Vec::new();
        for group in bits(set & self.backlogged) {
            times.push(self.times[group]);
        }
        times
    }

    /// Group, S and F of each backlogged group.
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

    /// Section 4.1.3: a group is blocked if an eligible group of higher index finishes earlier.
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

    /// Index of the set of a group by definition.
    pub(super) fn set_of(&self, group: usize) -> usize {
        usize::from(!self.is_eligible(group)) + 2 * usize::from(self.is_blocked(group))
    }

    /// Bits of the blocked groups.
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
