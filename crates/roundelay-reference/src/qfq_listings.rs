//! QFQ's pseudo-code as printed in its paper (Figures 4 to 6), in exact integers. It is slow, and
//! it holds only the listings.
//!
//! Source: F. Checconi, P. Valente, L. Rizzo, "QFQ: Efficient Packet Scheduling with Tight
//! Bandwidth Distribution Guarantees". Shares are 1 / n, where n is a power of two. If the shares
//! fill the link exactly, V can overtake finish times, so such shares test the claims hardest.
//!
//! The listings leave three points open, and [`Reading`] selects an interpretation for each:
//!
//! | what | as printed | repaired |
//! |---|---|---|
//! | start time of a newly backlogged flow, Fig. 4 line 8 | Eq. 2 | Eq. 29 for every newly backlogged flow |
//! | times of the served group, Fig. 5 lines 26 and 27 | exact times of its head flow | rounded ones, as in Fig. 4 lines 17 and 18 |
//! | `fls`, Fig. 6 line 14 | the C library's, which counts from 1 | counts from 0 |
//!
//! [`Checked`] runs the listings. After each call it checks what section 4 and appendix A claim
//! about them, with one [`Claim`] for each statement.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

pub use checked::Checked;
pub use claims::Claim;

mod checked;
mod claims;
mod state;

const GROUPS: usize = 64;

/// Which rule gives a newly backlogged flow its start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartTime {
    /// Fig. 4: Eq. 2, S = max(V, F).
    AsPrinted,
    /// The paper's text: Eq. 29 if the flow's group was idle, else Eq. 2.
    IdleGroups,
    /// Eq. 29, S = max(min(V, F_b), F), for every newly backlogged flow.
    EveryFlow,
    /// As Linux 3.6. A flow whose F is not stale starts there, S = F: this F is after V, and F
    /// rounded down is at most the end of V's slot. For any other flow, let F_b be the finish time
    /// of the first eligible and ready group, counted from the flow's own. If F_b is before the
    /// flow's rounded F, then S = min(F_b, end of V's slot). Otherwise, or if there is no such
    /// group, S = V.
    Linux,
    /// As FreeBSD, which follows Linux's rule but without the bound by V's slot: S = F_b where
    /// Linux has S = min(F_b, end of V's slot).
    FreeBsd,
}

impl StartTime {
    /// All rules, with their names.
    pub const ALL: [(&str, Self); 5] = [
        ("as printed", Self::AsPrinted),
        ("idle groups", Self::IdleGroups),
        ("every flow", Self::EveryFlow),
        ("linux", Self::Linux),
        ("freebsd", Self::FreeBsd),
    ];
}

/// Which times a group gets after service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupTimes {
    /// Eq. 6: S is the first slot's, and F is two slots later.
    Rounded,
    /// Fig. 5 lines 26 and 27 to the letter: S and F are those of the head flow.
    OfHeadFlow,
}

/// How `fls` numbers the bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindLastSet {
    /// The lowest bit is 0.
    FromZero,
    /// The lowest bit is 1, as in the C library.
    FromOne,
}

/// An interpretation of the listings where they leave a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Fig. 4 line 8.
    pub start_time: StartTime,
    /// Fig. 5 lines 26 and 27.
    pub group_times: GroupTimes,
    /// Fig. 6 line 14.
    pub find_last_set: FindLastSet,
}

impl Reading {
    /// The reading under which all claims but [`Claim::Lemma2`] hold.
    pub const REPAIRED: Self = Self::starting(StartTime::EveryFlow);

    /// Repaired in all but the start time.
    pub const fn starting(start_time: StartTime) -> Self {
        Self {
            start_time,
            group_times: GroupTimes::Rounded,
            find_last_set: FindLastSet::FromZero,
        }
    }
}

/// Error: 1 / phi is not a power of two, or its product with the longest packet is not within 1 to
/// 2^40.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IllegalShare {
    /// Number of the flow.
    pub flow: usize,
    /// The flow's 1 / phi.
    pub inverse_share: u64,
    /// The flow's longest packet in bytes.
    pub longest: u64,
}

impl fmt::Display for IllegalShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            flow,
            inverse_share,
            longest,
        } = self;
        write!(
            f,
            "flow {flow}: 1 / phi = {inverse_share} with packets of {longest} bytes; expected a \
             power of two, and a product of 1 to 2^40"
        )
    }
}

impl std::error::Error for IllegalShare {}

/// Where `sets` keeps the sets of section 4.1.3. In the index, bit 0 means ineligible, bit 1
/// blocked.
const ER: usize = 0;
const IR: usize = 1;
const EB: usize = 2;
const IB: usize = 3;

#[derive(Debug, Clone, Default)]
struct Flow {
    queue: VecDeque<u64>,
    start: u64,
    finish: u64,
    inverse_share: u64,
    group: usize,
}

#[derive(Debug, Clone, Default)]
struct Group {
    start: u64,
    finish: u64,
    /// Flows by rounded start time.
    slots: BTreeMap<u64, VecDeque<usize>>,
}

/// Figures 4 to 6. Virtual time is in bytes, because the shares add up to at most 1.
#[derive(Debug, Clone)]
pub struct QfqListings {
    reading: Reading,
    now: u64,
    sets: [u64; 4],
    groups: Vec<Group>,
    flows: Vec<Flow>,
    /// L in bytes.
    longest: u64,
}

/// `ffs`: the number of the lowest bit that is set.
fn lowest(set: u64) -> Option<usize> {
    if set == 0 {
        None
    } else {
        Some(set.trailing_zeros() as usize)
    }
}

const fn slot_size(group: usize) -> u64 {
    1 << group
}

const fn rounded(time: u64, group: usize) -> u64 {
    time & !(slot_size(group) - 1)
}

/// A set's name, and the index, S and F of each group in the set.
pub type NamedSet = (&'static str, Vec<(usize, u64, u64)>);

impl QfqListings {
    /// Idle flows, each given by its 1 / phi and its longest packet in bytes.
    ///
    /// # Errors
    /// A 1 / phi that is not a power of two, a packet of zero bytes, or a slot of more than 2^40
    /// bytes.
    pub fn new(reading: Reading, shares: &[(u64, u64)]) -> Result<Self, IllegalShare> {
        let mut flows = Vec::new();
        let mut longest_of_all = 0;
        for (flow, &(inverse_share, longest)) in shares.iter().enumerate() {
            let product = match inverse_share.checked_mul(longest) {
                Some(product)
                    if inverse_share.is_power_of_two() && (1..=1 << 40).contains(&product) =>
                {
                    product
                }
                _ => {
                    return Err(IllegalShare {
                        flow,
                        inverse_share,
                        longest,
                    });
                }
            };
            flows.push(Flow {
                inverse_share,
                // Eq. 4: the lowest group whose slot has at least L_k / phi_k bytes.
                group: product.next_power_of_two().trailing_zeros() as usize,
                ..Flow::default()
            });
            longest_of_all = longest_of_all.max(longest);
        }
        Ok(Self {
            reading,
            now: 0,
            sets: [0; 4],
            groups: vec![Group::default(); GROUPS],
            flows,
            longest: longest_of_all,
        })
    }

    /// The virtual time V.
    pub const fn virtual_time(&self) -> u64 {
        self.now
    }

    /// Exact S and F of a flow's head packet. For an idle flow, both are its last packet's F.
    pub fn times(&self, flow: usize) -> (u64, u64) {
        (self.flows[flow].start, self.flows[flow].finish)
    }

    /// Slot size sigma_i of the group that the flow belongs to.
    pub fn slot_size(&self, flow: usize) -> u64 {
        slot_size(self.flows[flow].group)
    }

    /// How many packets of a flow wait.
    pub fn waiting(&self, flow: usize) -> usize {
        self.flows[flow].queue.len()
    }

    /// The four sets by name, with each group's index, S and F.
    pub fn sets(&self) -> [NamedSet; 4] {
        let names = ["ER", "IR", "EB", "IB"];
        std::array::from_fn(|set| {
            let mut groups = Vec::new();
            for index in state::bits(self.sets[set]) {
                let group = &self.groups[index];
                groups.push((index, group.start, group.finish));
            }
            (names[set], groups)
        })
    }

    /// A group's occupied slots, earliest first: the rounded start time, and the flows in the order
    /// of service. Empty for a group that is idle or does not exist.
    pub fn slots(&self, group: usize) -> Vec<(u64, Vec<usize>)> {
        let Some(group) = self.groups.get(group) else {
            return Vec::new();
        };
        let mut slots = Vec::new();
        for (start, flows) in &group.slots {
            slots.push((*start, flows.iter().copied().collect()));
        }
        slots
    }

    /// Fig. 4. Panics if the flow does not exist.
    pub fn enqueue(&mut self, number: usize, len: u64) {
        // Lines 4 to 6: a backlogged flow keeps its times.
        self.flows[number].queue.push_back(len);
        if self.flows[number].queue.len() > 1 {
            return;
        }
        // Lines 8 and 9.
        let group = self.flows[number].group;
        let start = self.start_time(number);
        self.flows[number].start = start;
        self.flows[number].finish = start + len * self.flows[number].inverse_share;
        // Line 11. A group that keeps its times also stays in its set.
        if !self.groups[group].slots.is_empty() && start >= self.groups[group].start {
            return self.insert_into_slot(number);
        }
        // Lines 15 and 16 clear only IR and IB. We clear all four sets, because Eq. 29 can start a
        // flow before V, when its group may be in ER or EB.
        for set in &mut self.sets {
            *set &= !(1 << group);
        }
        // Line 20. It can come before lines 17 and 18, because they do not depend on it.
        self.insert_into_slot(number);
        // Lines 17 and 18, Eq. 5.
        self.groups[group].start = rounded(start, group);
        self.groups[group].finish = self.groups[group].start + 2 * slot_size(group);
        // Lines 24 and 25, Eq. 3.
        if self.sets[ER] == 0 {
            self.now = self.now.max(self.groups[group].start);
        }
        // Lines 28 and 29.
        self.sets[self.compute_group_state(group)] |= 1 << group;
    }

    /// Fig. 4 line 8: S of a newly backlogged flow, by the reading that was chosen.
    fn start_time(&self, number: usize) -> u64 {
        let Flow { finish, group, .. } = self.flows[number];
        let eq_2 = self.now.max(finish);
        // Eq. 29 takes F_b from the lowest group in ER above the flow's own.
        let eq_29 = match self.first_finish_from(group + 1) {
            Some(blocker) => self.now.min(blocker).max(finish),
            None => eq_2,
        };
        match self.reading.start_time {
            StartTime::AsPrinted => eq_2,
            StartTime::IdleGroups if self.groups[group].slots.is_empty() => eq_29,
            StartTime::IdleGroups => eq_2,
            StartTime::EveryFlow => eq_29,
            kernel @ (StartTime::Linux | StartTime::FreeBsd) => {
                let slot_end = rounded(self.now, group) + slot_size(group);
                if finish > self.now && rounded(finish, group) <= slot_end {
                    return finish;
                }
                let cap = if kernel == StartTime::Linux {
                    slot_end
                } else {
                    u64::MAX
                };
                match self.first_finish_from(group) {
                    Some(next) if next < rounded(finish, group) => next.min(cap),
                    _ => self.now,
                }
            }
        }
    }

    /// F of the first eligible and ready group at or above `group`.
    fn first_finish_from(&self, group: usize) -> Option<u64> {
        let first = lowest(self.sets[ER] >> group << group)?;
        Some(self.groups[first].finish)
    }

    /// `bucket_insert`: queues the flow in the slot of its rounded S.
    fn insert_into_slot(&mut self, number: usize) {
        let Flow { start, group, .. } = self.flows[number];
        self.groups[group]
            .slots
            .entry(rounded(start, group))
            .or_default()
            .push_back(number);
    }

    /// Fig. 5: returns the flow and the length of the packet sent, or None if no group is eligible
    /// and ready.
    pub fn dequeue(&mut self) -> Option<(usize, u64)> {
        // Lines 3 to 9.
        let group = lowest(self.sets[ER])?;
        let mut slot = self.groups[group].slots.first_entry()?;
        let number = slot.get_mut().pop_front()?;
        if slot.get().is_empty() {
            slot.remove();
        }
        let flow = &mut self.flows[number];
        let len = flow.queue.pop_front()?;
        // Lines 12 to 17: Eq. 2 for a flow that stays backlogged.
        flow.start = flow.finish;
        if let Some(next) = flow.queue.front() {
            flow.finish = flow.start + next * flow.inverse_share;
            self.insert_into_slot(number);
        }
        // Lines 19 and 20: V counts a packet as soon as it is taken, not when it has been sent.
        let old_now = self.now;
        self.now += len;
        // Lines 22 to 37.
        self.update_group(group);
        // Lines 39 to 46: if no group is eligible, V jumps until one is, Eq. 3.
        if let Some(first) = lowest(self.sets[IR] | self.sets[IB]) {
            if self.sets[ER] == 0 {
                self.now = self.now.max(self.groups[first].start);
            }
            self.make_eligible(old_now);
        }
        Some((number, len))
    }

    /// Fig. 5 lines 22 to 37.
    fn update_group(&mut self, group: usize) {
        let old_finish = self.groups[group].finish;
        // Lines 23 to 28. An idle group's F is "not significant".
        let times = self.times_of_head(group);
        (self.groups[group].start, self.groups[group].finish) = times.unwrap_or((0, old_finish));
        // Lines 33 to 36.
        if times.is_none() || self.groups[group].finish > old_finish {
            self.sets[ER] &= !(1 << group);
            if times.is_some() {
                self.sets[self.compute_group_state(group)] |= 1 << group;
            }
            self.unblock_groups(group, old_finish);
        }
    }

    /// Fig. 5 lines 26 and 27, by the reading that was chosen. None if the group is idle.
    fn times_of_head(&self, group: usize) -> Option<(u64, u64)> {
        let (start, flows) = self.groups[group].slots.first_key_value()?;
        let head = &self.flows[*flows.front()?];
        Some(match self.reading.group_times {
            // Eq. 6.
            GroupTimes::Rounded => (*start, start + 2 * slot_size(group)),
            GroupTimes::OfHeadFlow => (head.start, head.finish),
        })
    }

    /// Fig. 4 lines 33 to 45: to which set a group belongs.
    fn compute_group_state(&self, group: usize) -> usize {
        // Line 36.
        let ineligible = self.groups[group].start > self.now;
        // Lines 41 to 43.
        let blocker = self.first_finish_from(group + 1);
        let blocked = blocker.is_some_and(|finish| finish < self.groups[group].finish);
        usize::from(ineligible) + 2 * usize::from(blocked)
    }

    /// Fig. 6 lines 22 to 32.
    fn unblock_groups(&mut self, group: usize, old_finish: u64) {
        // Lines 24 and 25: a group in ER that finishes no later than the served one still blocks.
        let first = self.first_finish_from(0);
        if first.is_none_or(|finish| finish > old_finish) {
            // Lines 28 to 30, Theorem 8.
            self.move_groups((1 << group) - 1, EB, ER);
            self.move_groups((1 << group) - 1, IB, IR);
        }
    }

    /// Fig. 6 lines 11 to 19.
    fn make_eligible(&mut self, old_now: u64) {
        // Line 14. While V stands still, no group becomes eligible.
        if let Some(highest) = (old_now ^ self.now).checked_ilog2() {
            let one_more = u32::from(self.reading.find_last_set == FindLastSet::FromOne);
            // Lines 16 to 18: all groups up to the highest bit in which V has changed.
            let entered = u64::MAX >> (63 - highest).saturating_sub(one_more);
            self.move_groups(entered, IR, ER);
            self.move_groups(entered, IB, EB);
        }
    }

    /// Fig. 6 lines 2 to 6.
    fn move_groups(&mut self, which: u64, from: usize, to: usize) {
        self.sets[to] |= self.sets[from] & which;
        self.sets[from] &= !which;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two flows have half the link each, so F rises by twice the length and V by the length.
    #[test]
    fn equal_flows_take_turns() {
        let mut listings = QfqListings::new(Reading::REPAIRED, &[(2, 64), (2, 64)]).unwrap();
        (0..4).for_each(|packet| listings.enqueue(packet % 2, 64));
        assert_eq!((listings.times(0), listings.slot_size(0)), ((0, 128), 128));
        let order: Vec<_> = std::iter::from_fn(|| listings.dequeue())
            .map(|(flow, _)| flow)
            .collect();
        assert_eq!((order, listings.virtual_time()), (vec![0, 1, 0, 1], 256));
    }

    #[test]
    fn shares_out_of_range_are_refused() {
        for share in [(3, 64), (0, 64), (2, 0), (1 << 40, 2), (1 << 63, 1 << 63)] {
            let error = QfqListings::new(Reading::REPAIRED, &[(1, 1), share]).unwrap_err();
            assert_eq!((error.flow, error.inverse_share), (1, share.0), "{error}");
        }
    }
}
