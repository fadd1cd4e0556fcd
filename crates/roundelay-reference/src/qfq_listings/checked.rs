//! QFQ listings with a check of each claim after each call.

use super::state::{State, bits};
use super::{
    Claim, EB, ER, Flow, IB, IR, IllegalShare, QfqListings, Reading, lowest, rounded, slot_size,
};

/// The listings, and the claims violated in a run.
#[derive(Debug, Clone)]
pub struct Checked {
    listings: QfqListings,
    /// In order of violation.
    broken: Vec<Claim>,
    /// V after its last jump.
    jumped_to: u64,
}

impl Checked {
    /// As [`QfqListings::new`].
    ///
    /// # Errors
    /// The same.
    pub fn new(reading: Reading, shares: &[(u64, u64)]) -> Result<Self, IllegalShare> {
        Ok(Self {
            listings: QfqListings::new(reading, shares)?,
            broken: Vec::new(),
            jumped_to: 0,
        })
    }

    /// The listings in their present state.
    pub const fn listings(&self) -> &QfqListings {
        &self.listings
    }

    /// Violated claims, in order of violation. After the first, the sets are inconsistent, and
    /// further violations may follow from it.
    pub fn broken(&self) -> &[Claim] {
        &self.broken
    }

    /// [`QfqListings::enqueue`].
    pub fn enqueue(&mut self, flow: usize, len: u64) {
        let before = State::of(&self.listings);
        self.listings.enqueue(flow, len);
        let after = State::of(&self.listings);
        if after.now > before.now {
            self.jumped_to = after.now;
        }
        let own = self.listings.flows[flow].group;
        let moved = |(group, ..): (usize, u64, u64)| {
            group != own && before.set_of(group) != after.set_of(group)
        };
        self.note(Claim::Enqueue, before.backlogged().any(moved));
        self.check(&before, &after);
    }

    /// [`QfqListings::dequeue`].
    pub fn dequeue(&mut self) -> Option<(usize, u64)> {
        let before = State::of(&self.listings);
        let first = lowest(self.listings.sets[ER]);
        let served = self.listings.dequeue();
        let after = State::of(&self.listings);
        if let Some(((_, len), group)) = served.zip(first) {
            if after.now > before.now + len {
                self.jumped_to = after.now;
            }
            self.note(
                Claim::Theorem8,
                !unblocks_the_groups_below(&before, &after, group),
            );
        }
        self.note(
            Claim::WorkConserving,
            served.is_none() && before.backlogged().next().is_some(),
        );
        self.check(&before, &after);
        served
    }

    fn note(&mut self, claim: Claim, is_broken: bool) {
        if is_broken && !self.broken.contains(&claim) {
            self.broken.push(claim);
        }
    }

    fn check(&mut self, before: &State, after: &State) {
        let longest = self.listings.longest;
        self.note(Claim::Lemma3, !newcomers_finish_last(before, after));
        self.note(
            Claim::Theorem3,
            after
                .backlogged()
                .any(|(group, start, _)| start > after.now.next_multiple_of(slot_size(group))),
        );
        self.note(
            Claim::Theorem4,
            after
                .backlogged()
                .any(|(.., finish)| after.now > finish + longest),
        );
        self.note(
            Claim::Theorem5,
            after
                .backlogged()
                .any(|(group, ..)| !self.slots_are_few(group)),
        );
        self.check_sets(after);
        self.note(Claim::Lemma1, self.sum_of_late_starts() > 0);
        self.note(Claim::Lemma2, !self.lemma_2_holds(self.jumped_to));
        self.note(Claim::Lemma2IdleAtV, !self.lemma_2_holds(after.now));
        let blocked = after.blocked();
        let is_blocked = |group: usize| blocked >> group & 1 == 1;
        let late = |(lower, start, _)| {
            after
                .backlogged()
                .any(|(higher, _, finish)| higher > lower && is_blocked(higher) && start > finish)
        };
        self.note(
            Claim::Lemma4,
            after
                .backlogged()
                .filter(|(group, ..)| is_blocked(*group))
                .any(late),
        );
    }

    /// Checks of section 4.1.3 and Theorems 6 and 7.
    fn check_sets(&mut self, after: &State) {
        let sets = self.listings.sets;
        let members = |set: u64| bits(set).filter_map(|group| after.times(group));
        let by_finish = |set: u64| members(set).is_sorted_by_key(|(_, finish)| finish);
        let ineligible = sets[IR] | sets[IB];
        let in_its_set = |group: usize| {
            (0..4).all(|set| (sets[set] >> group & 1 == 1) == (set == after.set_of(group)))
        };
        let earliest = after
            .backlogged()
            .filter(|(group, ..)| after.is_eligible(*group))
            .map(|(.., finish)| finish)
            .min();
        self.note(Claim::Theorem6, !by_finish(sets[ER]));
        self.note(Claim::Theorem7, !by_finish(sets[EB]));
        self.note(
            Claim::IneligibleOrder,
            !by_finish(ineligible) || !members(ineligible).is_sorted_by_key(|(start, _)| start),
        );
        self.note(
            Claim::FirstServed,
            members(sets[ER]).next().map(|(_, finish)| finish) != earliest,
        );
        self.note(
            Claim::Sets,
            !after.backlogged().all(|(group, ..)| in_its_set(group)),
        );
    }

    fn slots_are_few(&self, group: usize) -> bool {
        let slots = &self.listings.groups[group].slots;
        let allowed = 2 + self.listings.longest.div_ceil(slot_size(group));
        let ends = slots.first_key_value().zip(slots.last_key_value());
        ends.is_none_or(|((first, _), (last, _))| (last - first) / slot_size(group) < allowed)
    }

    /// Left side of Lemma 1 at V' = V, in bytes over the smallest share; larger V' only lower it.
    fn sum_of_late_starts(&self) -> i128 {
        let now = i128::from(self.listings.now);
        let flows = self
            .listings
            .flows
            .iter()
            .filter(|flow| !flow.queue.is_empty() && flow.start >= self.listings.now);
        flows
            .map(|flow| {
                (now - i128::from(flow.start)) * i128::from(self.unit() / flow.inverse_share)
            })
            .sum()
    }

    /// 1 / phi of the smallest share; all other shares are multiples of the smallest.
    fn unit(&self) -> u64 {
        self.listings
            .flows
            .iter()
            .map(|flow| flow.inverse_share)
            .max()
            .unwrap_or(1)
    }

    /// Checks Lemma 2 at each V' where a flow enters the sum, and at the least V', V - L: between
    /// these points the left side grows no faster than the right. The times of idle flows are moved
    /// up to `idle_from`.
    fn lemma_2_holds(&self, idle_from: u64) -> bool {
        let QfqListings { now, longest, .. } = self.listings;
        let unit = self.unit();
        let mut terms: Vec<Term> = self
            .listings
            .flows
            .iter()
            .map(|flow| Term::of(flow, unit, idle_from))
            .collect();
        terms.sort_unstable_by_key(|term| term.rounded_finish);
        let least = now.saturating_sub(longest);
        // The left side is `heads + shares x V' - finishes`, in bytes over the smallest share.
        let mut heads = 0;
        let mut shares = 0;
        let mut finishes = 0;
        let mut holds = true;
        for (place, term) in terms.iter().enumerate() {
            heads += i128::from(term.head * unit);
            shares += i128::from(term.share);
            finishes += i128::from(term.share) * i128::from(term.finish);
            let is_last_here = terms
                .get(place + 1)
                .is_none_or(|next| next.rounded_finish > term.rounded_finish.max(least));
            if is_last_here {
                let until = term.rounded_finish.max(least);
                let right = i128::from(unit) * (i128::from(longest + until) - i128::from(now));
                holds &= heads + shares * i128::from(until) - finishes <= right;
            }
        }
        holds
    }
}

/// Contribution of a flow to the sum of Lemma 2.
struct Term {
    /// Length of the head packet; 0 if the flow is idle.
    head: u64,
    finish: u64,
    rounded_finish: u64,
    /// phi over the smallest share.
    share: u64,
}

impl Term {
    fn of(flow: &Flow, unit: u64, idle_from: u64) -> Self {
        let idle = flow.finish.max(idle_from);
        let (start, finish, head) = flow
            .queue
            .front()
            .map_or((idle, idle, 0), |head| (flow.start, flow.finish, *head));
        let rounded_finish = rounded(start, flow.group) + 2 * slot_size(flow.group);
        Self {
            head,
            finish,
            rounded_finish,
            share: unit / flow.inverse_share,
        }
    }
}

/// Checks Lemma 3, with the times before the call for the groups below.
fn newcomers_finish_last(before: &State, after: &State) -> bool {
    let is_new = |group: usize, finish: u64| match before.times(group) {
        None => true,
        Some((start, old)) => finish < old || start > before.now && after.is_eligible(group),
    };
    let mut newcomers = after
        .backlogged()
        .filter(|(group, _, finish)| is_new(*group, *finish));
    let is_last = |(group, _, finish): (usize, u64, u64)| {
        before
            .backlogged()
            .all(|(lower, _, other)| lower >= group || other <= finish)
    };
    newcomers.all(is_last)
}

/// Checks Theorem 8, with V at the time of the group's service.
fn unblocks_the_groups_below(before: &State, after: &State, served: usize) -> bool {
    let Some((_, old)) = before.times(served) else {
        return true;
    };
    let tied = before
        .backlogged()
        .any(|(group, _, finish)| group > served && finish == old);
    if tied || after.times(served).is_some_and(|(_, finish)| finish <= old) {
        return true;
    }
    let others = !(1 << served);
    let was_blocked = before.blocked() & others;
    let is_blocked = after.at(before.now).blocked() & others;
    was_blocked & !is_blocked == was_blocked & ((1 << served) - 1)
}
