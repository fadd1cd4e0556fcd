//! QFQ listings that check each claim after each call.

use super::state::State;
use super::{
    Claim, EB, ER, Flow, IB, IR, IllegalShare, QfqListings, Reading, lowest, rounded, slot_size,
};

/// The listings, and the claims that a run has violated so far.
#[derive(Debug, Clone)]
pub struct Checked {
    listings: QfqListings,
    /// In the order in which they were violated.
    broken: Vec<Claim>,
    /// V after its last jump.
    jumped_to: u64,
}

impl Checked {
    /// Like [`QfqListings::new`].
    ///
    /// # Errors
    /// As for [`QfqListings::new`].
    pub fn new(reading: Reading, shares: &[(u64, u64)]) -> Result<Self, IllegalShare> {
        Ok(Self {
            listings: QfqListings::new(reading, shares)?,
            broken: Vec::new(),
            jumped_to: 0,
        })
    }

    /// The listings as they are now.
    pub const fn listings(&self) -> &QfqListings {
        &self.listings
    }

    /// Violated claims, in the order of violation. After the first, the sets may be inconsistent,
    /// so further violations can be mere consequences.
    pub fn broken(&self) -> &[Claim] {
        &self.broken
    }

    /// Calls [`QfqListings::enqueue`], then checks.
    pub fn enqueue(&mut self, flow: usize, len: u64) {
        let before = State::of(&self.listings);
        self.listings.enqueue(flow, len);
        let after = State::of(&self.listings);
        if after.now > before.now {
            self.jumped_to = after.now;
        }
        // Section 4.2.1: only the flow's own group may change its set.
        let own = self.listings.flows[flow].group;
        let mut others_stay = true;
        for (group, ..) in before.backlogged() {
            others_stay &= group == own || before.set_of(group) == after.set_of(group);
        }
        self.require(Claim::Enqueue, others_stay);
        self.check(&before, &after);
    }

    /// Calls [`QfqListings::dequeue`], then checks.
    pub fn dequeue(&mut self) -> Option<(usize, u64)> {
        let before = State::of(&self.listings);
        let first = lowest(self.listings.sets[ER]);
        let served = self.listings.dequeue();
        let after = State::of(&self.listings);
        if let (Some((_, len)), Some(group)) = (served, first) {
            if after.now > before.now + len {
                self.jumped_to = after.now;
            }
            let unblocks = unblocks_the_groups_below(&before, &after, group);
            self.require(Claim::Theorem8, unblocks);
        }
        let is_idle = before.backlogged().next().is_none();
        self.require(Claim::WorkConserving, served.is_some() || is_idle);
        self.check(&before, &after);
        served
    }

    /// Notes the claim as broken unless it holds.
    fn require(&mut self, claim: Claim, holds: bool) {
        if !holds && !self.broken.contains(&claim) {
            self.broken.push(claim);
        }
    }

    fn check(&mut self, before: &State, after: &State) {
        self.require(Claim::Lemma3, newcomers_finish_last(before, after));
        let mut theorem_3 = true;
        let mut theorem_4 = true;
        let mut theorem_5 = true;
        for (group, start, finish) in after.backlogged() {
            theorem_3 &= start <= after.now.next_multiple_of(slot_size(group));
            theorem_4 &= after.now <= finish + self.listings.longest;
            theorem_5 &= self.slots_are_few(group);
        }
        self.require(Claim::Theorem3, theorem_3);
        self.require(Claim::Theorem4, theorem_4);
        self.require(Claim::Theorem5, theorem_5);
        self.check_sets(after);
        self.require(Claim::Lemma1, self.sum_of_late_starts() <= 0);
        self.require(Claim::Lemma2, self.lemma_2_holds(self.jumped_to));
        self.require(Claim::Lemma2IdleAtV, self.lemma_2_holds(after.now));
        self.require(Claim::Lemma4, lemma_4_holds(after));
    }

    /// Checks section 4.1.3 and Theorems 6 and 7.
    fn check_sets(&mut self, after: &State) {
        let sets = self.listings.sets;
        let ready = after.times_in(sets[ER]);
        self.require(Claim::Theorem6, is_sorted_by_finish(&ready));
        let blocked = after.times_in(sets[EB]);
        self.require(Claim::Theorem7, is_sorted_by_finish(&blocked));

        // Items 1 and 2: IB and IR together are sorted by S, and by F too.
        let ineligible = after.times_in(sets[IR] | sets[IB]);
        let is_sorted_by_start = ineligible.is_sorted_by_key(|(start, _)| *start);
        self.require(
            Claim::IneligibleOrder,
            is_sorted_by_start && is_sorted_by_finish(&ineligible),
        );

        let mut earliest: Option<u64> = None;
        for (group, _, finish) in after.backlogged() {
            if after.is_eligible(group) {
                earliest = Some(earliest.unwrap_or(finish).min(finish));
            }
        }
        let first_finish = ready.first().map(|(_, finish)| *finish);
        self.require(Claim::FirstServed, first_finish == earliest);

        let mut are_in_their_sets = true;
        for (group, ..) in after.backlogged() {
            for (number, set) in sets.iter().enumerate() {
                let is_in_set = set >> group & 1 == 1;
                are_in_their_sets &= is_in_set == (number == after.set_of(group));
            }
        }
        self.require(Claim::Sets, are_in_their_sets);
    }

    /// Checks Theorem 5: a group's occupied slots lie within 2 + ceil(L / sigma_i).
    fn slots_are_few(&self, group: usize) -> bool {
        let slots = &self.listings.groups[group].slots;
        let Some((first, _)) = slots.first_key_value() else {
            return true;
        };
        let last = slots.keys().next_back().unwrap_or(first);
        let allowed = 2 + self.listings.longest.div_ceil(slot_size(group));
        (last - first) / slot_size(group) < allowed
    }

    /// Left side of Lemma 1 at V' = V, in bytes over the smallest share. The right side is 0 there.
    /// One V' is enough, because a larger V' raises the left side no more than the right.
    fn sum_of_late_starts(&self) -> i128 {
        let now = self.listings.now;
        let unit = self.unit();
        let mut sum = 0;
        for flow in &self.listings.flows {
            if !flow.queue.is_empty() && flow.start >= now {
                let until_start = i128::from(now) - i128::from(flow.start);
                sum += until_start * i128::from(unit / flow.inverse_share);
            }
        }
        sum
    }

    /// 1 / phi of the smallest share. All other shares are its multiples.
    fn unit(&self) -> u64 {
        let flows = self.listings.flows.iter();
        flows.map(|flow| flow.inverse_share).max().unwrap_or(1)
    }

    /// Checks Lemma 2 at each V' where a flow enters the sum, and at the least V', V - L. These
    /// points are enough, because between them the left side grows no faster than the right. Idle
    /// flows' times are moved up to `idle_from`.
    fn lemma_2_holds(&self, idle_from: u64) -> bool {
        let QfqListings { now, longest, .. } = self.listings;
        let unit = self.unit();
        let mut terms = Vec::new();
        for flow in &self.listings.flows {
            terms.push(Term::of(flow, unit, idle_from));
        }
        terms.sort_unstable_by_key(|term| term.rounded_finish);
        let least = now.saturating_sub(longest);
        // The left side is `heads + shares x V' - finishes`, in bytes over the smallest share.
        let mut heads = 0;
        let mut shares = 0;
        let mut finishes = 0;
        let mut holds = true;
        for (index, term) in terms.iter().enumerate() {
            heads += i128::from(term.head * unit);
            shares += i128::from(term.share);
            finishes += i128::from(term.share) * i128::from(term.finish);
            // Flows that enter the sum at the same V' all belong to it, so we add them before we
            // compare.
            let until = term.rounded_finish.max(least);
            let next = terms.get(index + 1);
            if next.is_none_or(|next| next.rounded_finish > until) {
                let right = i128::from(unit) * (i128::from(longest + until) - i128::from(now));
                holds &= heads + shares * i128::from(until) - finishes <= right;
            }
        }
        holds
    }
}

fn is_sorted_by_finish(times: &[(u64, u64)]) -> bool {
    times.is_sorted_by_key(|(_, finish)| *finish)
}

/// Checks Lemma 4: of two blocked groups, the lower one starts no later than the higher one
/// finishes.
fn lemma_4_holds(after: &State) -> bool {
    let blocked = after.times_in(after.blocked());
    for (index, (start, _)) in blocked.iter().enumerate() {
        for (_, finish) in &blocked[index + 1..] {
            if start > finish {
                return false;
            }
        }
    }
    true
}

/// What a flow contributes to the sum in Lemma 2.
struct Term {
    /// Length of the head packet, or 0 if the flow is idle.
    head: u64,
    finish: u64,
    rounded_finish: u64,
    /// phi over the smallest share.
    share: u64,
}

impl Term {
    fn of(flow: &Flow, unit: u64, idle_from: u64) -> Self {
        let idle = flow.finish.max(idle_from);
        let (start, finish, head) = match flow.queue.front() {
            Some(head) => (flow.start, flow.finish, *head),
            None => (idle, idle, 0),
        };
        let rounded_finish = rounded(start, flow.group) + 2 * slot_size(flow.group);
        Self {
            head,
            finish,
            rounded_finish,
            share: unit / flow.inverse_share,
        }
    }
}

/// Checks Lemma 3. For the groups below, the times before the call count.
fn newcomers_finish_last(before: &State, after: &State) -> bool {
    for (group, _, finish) in after.backlogged() {
        let is_newcomer = match before.times(group) {
            None => true,
            Some((start, old)) => finish < old || start > before.now && after.is_eligible(group),
        };
        for (lower, _, other) in before.backlogged() {
            if is_newcomer && lower < group && other > finish {
                return false;
            }
        }
    }
    true
}

/// Checks Theorem 8, with V as it was when the group was served.
fn unblocks_the_groups_below(before: &State, after: &State, served: usize) -> bool {
    let Some((_, old)) = before.times(served) else {
        return true;
    };
    // The theorem speaks only about a group that becomes idle or whose F rises.
    if let Some((_, finish)) = after.times(served)
        && finish <= old
    {
        return true;
    }
    // A higher group with the same F goes on blocking the groups below.
    for (group, _, finish) in before.backlogged() {
        if group > served && finish == old {
            return true;
        }
    }
    let others = !(1 << served);
    let was_blocked = before.blocked() & others;
    let is_blocked = after.at(before.now).blocked() & others;
    was_blocked & !is_blocked == was_blocked & ((1 << served) - 1)
}
