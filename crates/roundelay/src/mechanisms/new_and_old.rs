//! Turns of queues by deficit round robin, new queues before old ones: the order of `fq_codel` and
//! its kin, for schedulers whose queues lose no packets on departure.
//!
//! A queue that was idle joins the list of new queues. Without credit, a queue at the front gets a
//! quantum and goes to the end of the old list. A new queue found empty passes through the old list
//! before it is idle, unless nobody else waits there; otherwise a flow that sends one packet at a
//! time would always be new.
//!
//! Source: T. Hoeiland-Joergensen et al., RFC 8290, 2018, section 4.2. As in Linux, a new queue
//! that is found empty while the old list is empty is idle at once.
//!
//! Cost: O(1) a packet; rounds without credit for any queue are counted, not walked.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The queues' credits and both lists.
#[derive(Debug, Clone)]
pub(crate) struct NewAndOld {
    credits: Vec<Credit>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Turns since the last sent packet, all of them only for credit.
    fruitless_turns: usize,
}

#[derive(Debug, Clone, Default)]
struct Credit {
    /// Bytes that the queue may still send in this turn. The turn's last packet may overdraw them.
    deficit: i64,
    is_listed: bool,
}

impl NewAndOld {
    /// Memory for each queue.
    pub(crate) const BYTES_PER_QUEUE: usize = size_of::<Credit>() + 2 * size_of::<u32>();

    /// `queues` idle queues.
    pub(crate) fn new(queues: usize) -> Self {
        Self {
            credits: alloc::vec![Credit::default(); queues],
            new: VecDeque::with_capacity(queues),
            old: VecDeque::with_capacity(queues),
            fruitless_turns: 0,
        }
    }

    /// The queue gets a packet.
    pub(crate) fn join(&mut self, number: u32, quantum: u32) {
        let credit = &mut self.credits[number as usize];
        if !credit.is_listed {
            credit.is_listed = true;
            credit.deficit = quantum.into();
            self.new.push_back(number);
        }
    }

    /// The queue whose head packet is next. None: all are empty.
    pub(crate) fn next(
        &mut self,
        quantum: u32,
        head_len: impl Fn(u32) -> Option<u32>,
    ) -> Option<u32> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let credit = &mut self.credits[number as usize];
            if credit.deficit <= 0 {
                list.pop_front();
                credit.deficit += i64::from(quantum);
                self.old.push_back(number);
                self.fruitless_turns += 1;
                if self.fruitless_turns > self.old.len() && self.new.is_empty() {
                    self.skip_rounds(quantum.into(), &head_len);
                }
            } else if head_len(number).is_some() {
                return Some(number);
            } else {
                list.pop_front();
                if is_new && !self.old.is_empty() {
                    self.old.push_back(number);
                } else {
                    credit.is_listed = false;
                }
            }
        }
    }

    /// The queue has sent a packet of `len` bytes.
    pub(crate) fn sent(&mut self, number: u32, len: u32) {
        self.credits[number as usize].deficit -= i64::from(len);
        self.fruitless_turns = 0;
    }

    /// Limits credits to a quantum that has changed.
    pub(crate) fn limit_credits(&mut self, quantum: u32) {
        for credit in &mut self.credits {
            credit.deficit = credit.deficit.min(quantum.into());
        }
    }

    /// After a whole round without credit for any queue: adds the credit of all further such rounds
    /// at once. Empty queues with a turn in these rounds leave the list.
    fn skip_rounds(&mut self, quantum: i64, head_len: &impl Fn(u32) -> Option<u32>) {
        self.fruitless_turns = 0;
        let mut rounds = i64::MAX;
        for number in &self.old {
            if head_len(*number).is_some() {
                rounds = rounds.min(self.credits[*number as usize].rounds_short(quantum));
            }
        }
        let credits = &mut self.credits;
        self.old.retain(|number| {
            let credit = &mut credits[*number as usize];
            credit.is_listed =
                head_len(*number).is_some() || credit.rounds_short(quantum) >= rounds;
            if credit.is_listed {
                credit.deficit = credit
                    .deficit
                    .saturating_add(rounds.saturating_mul(quantum));
            }
            credit.is_listed
        });
    }

    /// 1. A queue marked as listed is in one list, once; other queues are in none. Queues with
    ///    packets are listed.
    /// 2. Credit never exceeds a quantum.
    pub(crate) fn check(&self, quantum: u32, head_len: impl Fn(u32) -> Option<u32>) {
        let mut places = alloc::vec![0; self.credits.len()];
        for number in self.new.iter().chain(&self.old) {
            places[*number as usize] += 1;
        }
        for (number, credit) in (0..).zip(&self.credits) {
            let place = places[number as usize];
            assert_eq!(
                place,
                u32::from(credit.is_listed),
                "invariant 1: in one list"
            );
            assert!(
                credit.is_listed || head_len(number).is_none(),
                "invariant 1: a backlogged queue is in a list"
            );
            assert!(
                credit.deficit <= quantum.into(),
                "invariant 2: no credit beyond a quantum"
            );
        }
    }
}

impl Credit {
    /// Rounds until the queue has credit.
    const fn rounds_short(&self, quantum: i64) -> i64 {
        if self.deficit > 0 {
            0
        } else {
            -self.deficit / quantum + 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Queues of lengths beside their turns.
    struct Queues {
        turns: NewAndOld,
        lens: Vec<VecDeque<u32>>,
        counts_rounds: bool,
    }

    impl Queues {
        const QUANTUM: u32 = 256;

        fn new(counts_rounds: bool) -> Self {
            Self {
                turns: NewAndOld::new(8),
                lens: alloc::vec![VecDeque::new(); 8],
                counts_rounds,
            }
        }

        fn push(&mut self, number: u32, len: u32) {
            self.lens[number as usize].push_back(len);
            self.turns.join(number, Self::QUANTUM);
        }

        fn pull(&mut self) -> Option<(u32, u32)> {
            if !self.counts_rounds {
                // Below, a count that never reaches the number of queues.
                return self.walk();
            }
            let lens = &self.lens;
            let head_len = |number: u32| lens[number as usize].front().copied();
            let number = self.turns.next(Self::QUANTUM, head_len)?;
            self.send(number)
        }

        fn send(&mut self, number: u32) -> Option<(u32, u32)> {
            let len = self.lens[number as usize].pop_front()?;
            self.turns.sent(number, len);
            let lens = &self.lens;
            self.turns.check(Self::QUANTUM, |number| {
                lens[number as usize].front().copied()
            });
            Some((number, len))
        }

        /// The RFC's rounds, one by one.
        fn walk(&mut self) -> Option<(u32, u32)> {
            loop {
                let turns = &mut self.turns;
                let is_new = !turns.new.is_empty();
                let list = if is_new {
                    &mut turns.new
                } else {
                    &mut turns.old
                };
                let number = list.pop_front()?;
                let credit = &mut turns.credits[number as usize];
                let is_empty = self.lens[number as usize].is_empty();
                if credit.deficit <= 0 {
                    credit.deficit += i64::from(Self::QUANTUM);
                    turns.old.push_back(number);
                } else if !is_empty {
                    list.push_front(number);
                    return self.send(number);
                } else if is_new && !turns.old.is_empty() {
                    turns.old.push_back(number);
                } else {
                    credit.is_listed = false;
                }
            }
        }
    }

    proptest! {
        #[test]
        fn skipping_rounds_changes_nothing(steps in prop::collection::vec((0u32..8, prop::option::of(1u32..100_000)), 1..400)) {
            let mut ours = Queues::new(true);
            let mut naive = Queues::new(false);
            for (number, len) in steps {
                if let Some(len) = len {
                    ours.push(number, len);
                    naive.push(number, len);
                } else {
                    prop_assert_eq!(ours.pull(), naive.pull());
                    prop_assert_eq!(&ours.turns.old, &naive.turns.old);
                    prop_assert_eq!(&ours.turns.new, &naive.turns.new);
                }
            }
            while let Some(sent) = ours.pull() {
                prop_assert_eq!(Some(sent), naive.pull());
            }
        }
    }

    /// A flow that sends one packet whenever found empty is not new each time.
    #[test]
    fn a_queue_found_empty_passes_through_the_old_list() {
        let mut queues = Queues::new(true);
        for _ in 0..4 {
            queues.push(0, 256);
        }
        assert_eq!(queues.pull(), Some((0, 256)));
        let mut order = Vec::new();
        for _ in 0..4 {
            queues.push(1, 256);
            order.extend(queues.pull().map(|(number, _)| number));
        }
        assert_eq!(order, [1, 0, 1, 0], "new once, then in turn");
    }
}
