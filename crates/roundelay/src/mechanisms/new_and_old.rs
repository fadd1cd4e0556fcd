//! Turns of queues by deficit round robin, new queues before old ones: the order of `fq_codel`,
//! `fq_pie` and `fq`.
//!
//! A queue that was idle joins the list of new queues. Without credit, a queue at the front gets a
//! quantum and goes to the end of the old list. A new queue found empty passes through the old list
//! before it is idle. Otherwise a flow that sends one packet at a time would always be new.
//!
//! The credits stand in the disciplines' own records of their queues ([`Turns`]), because a packet
//! touches both.
//!
//! Source: T. Hoeiland-Joergensen et al., RFC 8290, 2018, section 4.2.
//!
//! Cost: O(1) a packet, because rounds without credit for any queue are counted, not walked.

use alloc::collections::VecDeque;

use crate::time::Instant;

/// Both lists, of queues by number.
#[derive(Debug, Clone)]
pub(crate) struct NewAndOld {
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Turns since the last sent packet, all of them only for credit.
    fruitless_turns: usize,
}

/// What a queue's record keeps for its turns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Credit {
    /// Bytes that the queue may still send in this turn. The turn's last packet may overdraw them.
    deficit: i64,
    is_listed: bool,
}

/// A queue that takes turns.
pub(crate) trait Turns {
    fn credit(&mut self) -> &mut Credit;

    fn is_empty(&self) -> bool;

    /// The queue had its turn without a packet, and is idle.
    fn became_idle(&mut self, now: Instant) {
        let _ = now;
    }
}

impl NewAndOld {
    /// Memory for each queue, beside its record.
    pub(crate) const BYTES_PER_QUEUE: usize = 2 * size_of::<u32>();

    /// Lists with room for this many queues.
    pub(crate) fn with_capacity(queues: usize) -> Self {
        Self {
            new: VecDeque::with_capacity(queues),
            old: VecDeque::with_capacity(queues),
            fruitless_turns: 0,
        }
    }

    /// A queue gets a packet. An idle one joins the new queues with so many bytes of credit, and
    /// the answer is true.
    #[inline]
    pub(crate) fn join(&mut self, number: u32, queue: &mut impl Turns, deficit: i64) -> bool {
        let credit = queue.credit();
        if credit.is_listed {
            return false;
        }
        credit.begin(deficit);
        self.new.push_back(number);
        true
    }

    /// The queue that joined last did not get its packet after all, because the buffer is full. It
    /// is idle with the credit it had.
    pub(crate) fn take_back(&mut self, queue: &mut impl Turns, deficit: i64) {
        self.new.pop_back();
        queue.credit().take_back(deficit);
    }

    /// The queue whose turn it is, with credit. If it is empty, [`found_empty`](Self::found_empty)
    /// is due. None: no queue is listed.
    #[inline]
    pub(crate) fn next(
        &mut self,
        now: Instant,
        queues: &mut [impl Turns],
        quantum: u32,
    ) -> Option<u32> {
        loop {
            let list = if self.new.is_empty() {
                &mut self.old
            } else {
                &mut self.new
            };
            let number = *list.front()?;
            let credit = queues[number as usize].credit();
            if credit.deficit > 0 {
                return Some(number);
            }
            // RFC 8290, section 4.2: a quantum more, and to the end of the old list.
            list.pop_front();
            credit.deficit += i64::from(quantum);
            self.old.push_back(number);
            self.fruitless_turns += 1;
            if self.fruitless_turns > self.old.len() && self.new.is_empty() {
                self.skip_rounds(now, queues, quantum.into());
            }
        }
    }

    /// The queue whose turn it is has sent a packet of `len` bytes.
    #[inline]
    pub(crate) fn sent(&mut self, queue: &mut impl Turns, len: u32) {
        queue.credit().deficit -= i64::from(len);
        self.fruitless_turns = 0;
    }

    /// The queue whose turn it is has no packet. A new one passes through the old list before it is
    /// idle, but with `linux` not through an empty list. True: it is idle.
    pub(crate) fn found_empty(&mut self, queue: &mut impl Turns, linux: bool) -> bool {
        if let Some(number) = self.new.pop_front() {
            if !(linux && self.old.is_empty()) {
                self.old.push_back(number);
                return false;
            }
        } else {
            self.old.pop_front();
        }
        queue.credit().is_listed = false;
        true
    }

    /// Takes the queue whose turn it is out of the lists, although it has packets, until
    /// [`come_back`](Self::come_back).
    pub(crate) fn set_aside(&mut self) {
        if self.new.pop_front().is_none() {
            self.old.pop_front();
        }
    }

    /// A queue set aside goes to the end of the old list.
    pub(crate) fn come_back(&mut self, number: u32) {
        self.old.push_back(number);
    }

    /// After a whole round without credit for any queue, adds the credit of all further such rounds
    /// at once. Empty queues with a turn in these rounds leave the list.
    #[cold]
    fn skip_rounds(&mut self, now: Instant, queues: &mut [impl Turns], quantum: i64) {
        self.fruitless_turns = 0;
        let mut rounds = i64::MAX;
        for number in &self.old {
            let queue = &mut queues[*number as usize];
            if !queue.is_empty() {
                rounds = rounds.min(queue.credit().rounds_short(quantum));
            }
        }
        self.old.retain(|number| {
            let queue = &mut queues[*number as usize];
            let short = queue.credit().rounds_short(quantum);
            let stays = !queue.is_empty() || short >= rounds;
            // An empty queue has its turn without a packet in the round that gives it credit.
            let added = if stays { rounds } else { short }.saturating_mul(quantum);
            let credit = queue.credit();
            credit.deficit = credit.deficit.saturating_add(added);
            credit.is_listed = stays;
            if !stays {
                queue.became_idle(now);
            }
            stays
        });
    }

    /// Whether no queue is listed.
    pub(crate) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.old.is_empty()
    }

    /// Lists' entries of each queue, for [`check`](Self::check).
    pub(crate) fn entries(&self, queues: usize) -> alloc::vec::Vec<u32> {
        let mut entries = alloc::vec![0; queues];
        for number in self.new.iter().chain(&self.old) {
            entries[*number as usize] += 1;
        }
        entries
    }
}

impl Credit {
    /// Whether the queue takes turns: it is listed or set aside.
    pub(crate) const fn is_listed(&self) -> bool {
        self.is_listed
    }

    /// Bytes of credit left.
    pub(crate) const fn bytes(&self) -> i64 {
        self.deficit
    }

    /// The queue takes turns from now on, in a list of the discipline's own, with this credit.
    pub(crate) fn begin(&mut self, deficit: i64) {
        self.is_listed = true;
        self.deficit = deficit;
    }

    /// Undoes [`begin`](Self::begin), with the credit that was before.
    pub(crate) fn take_back(&mut self, deficit: i64) {
        self.is_listed = false;
        self.deficit = deficit;
    }

    /// Another quantum.
    pub(crate) fn add(&mut self, quantum: u32) {
        self.deficit += i64::from(quantum);
    }

    /// The credit of a queue that begins anew in the middle of its turn.
    pub(crate) fn renew(&mut self, deficit: i64) {
        self.deficit = deficit;
    }

    /// No more credit than this: for a quantum that has changed, and for a turn that ends early.
    pub(crate) fn limit(&mut self, most: i64) {
        self.deficit = self.deficit.min(most);
    }

    /// Rounds until the queue has credit.
    const fn rounds_short(&self, quantum: i64) -> i64 {
        if self.deficit > 0 {
            0
        } else {
            -self.deficit / quantum + 1
        }
    }

    /// 1. A queue marked as listed is in one list, once (`entries`). Other queues are in none.
    ///    Queues with packets are listed.
    /// 2. Credit never exceeds `most`.
    pub(crate) fn check(&self, entries: u32, is_empty: bool, most: u32) {
        assert_eq!(
            entries,
            u32::from(self.is_listed),
            "invariant 1: in one list"
        );
        assert!(
            self.is_listed || is_empty,
            "invariant 1: a backlogged queue is in a list"
        );
        assert!(
            self.deficit <= most.into(),
            "invariant 2: no credit beyond a quantum"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[derive(Debug, Clone, Default)]
    struct Lens {
        lens: VecDeque<u32>,
        credit: Credit,
        idle: u32,
    }

    impl Turns for Lens {
        fn credit(&mut self) -> &mut Credit {
            &mut self.credit
        }

        fn is_empty(&self) -> bool {
            self.lens.is_empty()
        }

        fn became_idle(&mut self, _now: Instant) {
            self.idle += 1;
        }
    }

    /// Queues of lengths beside their turns.
    struct Queues {
        turns: NewAndOld,
        queues: Vec<Lens>,
        aside: Option<u32>,
        counts_rounds: bool,
        linux: bool,
    }

    impl Queues {
        const QUANTUM: u32 = 256;

        fn new(counts_rounds: bool, linux: bool) -> Self {
            Self {
                turns: NewAndOld::with_capacity(8),
                queues: alloc::vec![Lens::default(); 8],
                aside: None,
                counts_rounds,
                linux,
            }
        }

        fn push(&mut self, number: u32, len: u32) {
            let queue = &mut self.queues[number as usize];
            queue.lens.push_back(len);
            self.turns.join(number, queue, Self::QUANTUM.into());
        }

        fn pull(&mut self) -> Option<(u32, u32)> {
            loop {
                if !self.counts_rounds {
                    // The RFC's rounds, one by one.
                    self.turns.fruitless_turns = 0;
                    self.walk();
                }
                let number = self
                    .turns
                    .next(Instant::ZERO, &mut self.queues, Self::QUANTUM)?;
                let queue = &mut self.queues[number as usize];
                if let Some(len) = queue.lens.pop_front() {
                    self.turns.sent(queue, len);
                    self.check();
                    return Some((number, len));
                }
                if self.turns.found_empty(queue, self.linux) {
                    queue.became_idle(Instant::ZERO);
                }
            }
        }

        /// Gives credit until a queue with credit is at the front.
        fn walk(&mut self) {
            loop {
                let list = if self.turns.new.is_empty() {
                    &mut self.turns.old
                } else {
                    &mut self.turns.new
                };
                let Some(&number) = list.front() else {
                    return;
                };
                let credit = &mut self.queues[number as usize].credit;
                if credit.deficit > 0 {
                    return;
                }
                list.pop_front();
                credit.deficit += i64::from(Self::QUANTUM);
                self.turns.old.push_back(number);
            }
        }

        fn check(&self) {
            let mut entries = self.turns.entries(self.queues.len());
            if let Some(aside) = self.aside {
                entries[aside as usize] += 1;
            }
            for (queue, entries) in self.queues.iter().zip(entries) {
                queue.credit.check(entries, queue.is_empty(), Self::QUANTUM);
            }
        }
    }

    proptest! {
        #[test]
        fn skipping_rounds_changes_nothing(
            linux: bool,
            steps in prop::collection::vec((0u32..8, prop::option::of(1u32..100_000)), 1..400),
        ) {
            let mut ours = Queues::new(true, linux);
            let mut naive = Queues::new(false, linux);
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
            prop_assert_eq!(naive.pull(), None);
            for (ours, naive) in ours.queues.iter().zip(&naive.queues) {
                prop_assert_eq!(ours.idle, naive.idle, "each that leaves is told");
                prop_assert_eq!(ours.credit.deficit, naive.credit.deficit);
            }
        }
    }

    /// A flow that sends one packet whenever found empty is not new each time.
    #[test]
    fn a_queue_found_empty_passes_through_the_old_list() {
        let mut queues = Queues::new(true, true);
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

    /// Alone, a queue found empty is idle at once as in Linux, and by the RFC only from the old list.
    #[test]
    fn linux_lets_a_lone_queue_go_at_once() {
        for (linux, passes) in [(true, false), (false, true)] {
            let mut queues = Queues::new(true, linux);
            queues.push(0, 100);
            queues.pull();
            let number = queues
                .turns
                .next(Instant::ZERO, &mut queues.queues, Queues::QUANTUM)
                .unwrap();
            let queue = &mut queues.queues[number as usize];
            assert_eq!(queues.turns.found_empty(queue, linux), !passes);
            assert_eq!(queues.turns.old.len(), usize::from(passes));
        }
    }

    #[test]
    fn a_queue_set_aside_comes_back_behind_the_others() {
        let mut queues = Queues::new(true, true);
        for number in 0..3 {
            queues.push(number, 300);
            queues.push(number, 300);
        }
        queues.aside = queues
            .turns
            .next(Instant::ZERO, &mut queues.queues, Queues::QUANTUM);
        queues.turns.set_aside();
        let mut order = Vec::new();
        for _ in 0..4 {
            order.extend(queues.pull().map(|(number, _)| number));
        }
        assert_eq!(order, [1, 2, 1, 2], "0 is away");
        queues.push(1, 300);
        queues.turns.come_back(0);
        queues.aside = None;
        assert_eq!(queues.pull(), Some((1, 300)), "before 0 in the list");
        assert_eq!(queues.pull(), Some((0, 300)));
    }
}
