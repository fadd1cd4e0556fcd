//! Priority levels: an array of FIFO queues, with the first and the last backlogged queue found by
//! find-first-set.
//!
//! A switch port has such an array, served in strict priority. `sp_pifo` and `lstf_levels` choose a
//! packet's queue. The array may be read as a ring from any queue, which makes it a rotating
//! calendar. A bit for each queue tells whether it is backlogged, and a bit for each word whether
//! it is non-zero, so two find-first-set instructions find a queue.
//!
//! Cost: O(1) for each call, for up to [`MOST`] queues. Memory: 24 bytes and a bit for each queue.

use alloc::vec::Vec;

use crate::limit::Backlog;
use crate::packet::Packet;
use crate::pool::{Pool, Queue};

/// Largest number of queues: one word of words.
pub(crate) const MOST: u32 = WORD * WORD;

const WORD: u32 = u64::BITS;

/// FIFO queues by number, and one pool for their packets.
#[derive(Debug, Clone)]
pub(crate) struct Levels<T> {
    pool: Pool<T>,
    queues: Vec<Queue>,
    /// Backlogged queues: bit `n % 64` of word `n / 64`.
    backlogged: Vec<u64>,
    /// The non-zero words.
    summary: u64,
}

impl<T> Levels<T> {
    /// `queues` empty queues: 1 to [`MOST`].
    pub(crate) fn new(queues: u32) -> Self {
        let queues = queues.clamp(1, MOST);
        let words = alloc::vec![0; queues.div_ceil(WORD) as usize];
        Self {
            pool: Pool::default(),
            queues: alloc::vec![Queue::EMPTY; queues as usize],
            backlogged: words,
            summary: 0,
        }
    }

    /// Bytes of the tables, packets excluded.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(self.queues.as_slice()) + size_of_val(self.backlogged.as_slice())
    }

    /// Number of queues.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.queues.len()
    }

    /// Backlog of all queues.
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    /// Appends a packet to a queue. A number beyond the last queue means the last queue.
    #[inline]
    pub(crate) fn push(&mut self, number: usize, packet: Packet<T>) {
        let number = number.min(self.queues.len() - 1);
        self.pool.push(&mut self.queues[number], packet);
        self.backlogged[number / WORD as usize] |= bit(number);
        self.summary |= bit(number / WORD as usize);
    }

    /// Removes the head packet of a queue.
    #[inline]
    pub(crate) fn pop(&mut self, number: usize) -> Option<Packet<T>> {
        let packet = self.pool.pop(self.queues.get_mut(number)?);
        self.note_emptiness(number);
        packet
    }

    /// Removes the tail packet of a queue.
    pub(crate) fn pop_tail(&mut self, number: usize) -> Option<Packet<T>> {
        let packet = self.pool.pop_tail(self.queues.get_mut(number)?);
        self.note_emptiness(number);
        packet
    }

    #[inline]
    fn note_emptiness(&mut self, number: usize) {
        if !self.queues[number].is_empty() {
            return;
        }
        let word = number / WORD as usize;
        self.backlogged[word] &= !bit(number);
        if self.backlogged[word] == 0 {
            self.summary &= !bit(word);
        }
    }

    /// The head packet of a queue.
    pub(crate) fn head(&self, number: usize) -> Option<&Packet<T>> {
        self.pool.head(self.queues.get(number)?)
    }

    /// The first backlogged queue in the ring from `from`.
    #[inline]
    pub(crate) fn first_from(&self, from: usize) -> Option<usize> {
        self.at_or_after(from).or_else(|| self.at_or_after(0))
    }

    /// The last backlogged queue in the ring from `from`.
    pub(crate) fn last_from(&self, from: usize) -> Option<usize> {
        self.before(from).or_else(|| self.before(self.queues.len()))
    }

    #[inline]
    fn at_or_after(&self, number: usize) -> Option<usize> {
        let word = number / WORD as usize;
        let here = self.backlogged.get(word)? & (u64::MAX << (number as u32 % WORD));
        if here != 0 {
            return Some(lowest(word, here));
        }
        let later = self.summary & (u64::MAX - 1).checked_shl(word as u32)?;
        let word = (later != 0).then_some(later.trailing_zeros() as usize)?;
        Some(lowest(word, self.backlogged[word]))
    }

    /// The highest backlogged number below this one.
    fn before(&self, number: usize) -> Option<usize> {
        let last = number.checked_sub(1)?;
        let word = last / WORD as usize;
        let here = self.backlogged.get(word)? & (u64::MAX >> (WORD - 1 - last as u32 % WORD));
        if here != 0 {
            return Some(highest(word, here));
        }
        let word = (self.summary & (bit(word) - 1)).checked_ilog2()? as usize;
        Some(highest(word, self.backlogged[word]))
    }

    /// Panics if bits, queues and counts disagree. For `check_invariants`.
    pub(crate) fn check(&self) {
        for (number, queue) in self.queues.iter().enumerate() {
            let is_marked = self.backlogged[number / WORD as usize] & bit(number) != 0;
            assert_eq!(
                is_marked,
                !queue.is_empty(),
                "levels: a bit for each queue that holds packets"
            );
            self.pool.check_queue(queue);
        }
        for (word, bits) in self.backlogged.iter().enumerate() {
            assert_eq!(
                self.summary & bit(word) != 0,
                *bits != 0,
                "levels: a bit for each word that is not zero"
            );
        }
        let packets: u64 = self
            .queues
            .iter()
            .map(|queue| u64::from(queue.packets()))
            .sum();
        let bytes: u64 = self.queues.iter().map(Queue::bytes).sum();
        assert_eq!(
            Backlog { packets, bytes },
            self.pool.backlog(),
            "levels: the queues' backlogs add up"
        );
    }
}

/// The bit of a number within its word.
#[inline]
const fn bit(number: usize) -> u64 {
    1 << (number as u32 % WORD)
}

#[inline]
const fn lowest(word: usize, bits: u64) -> usize {
    word * WORD as usize + bits.trailing_zeros() as usize
}

const fn highest(word: usize, bits: u64) -> usize {
    word * WORD as usize + (WORD - 1 - bits.leading_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    fn packet(number: u64) -> Packet<u64> {
        Packet::new(FlowId(0), 100, number)
    }

    /// The first backlogged queue in this order.
    fn found(model: &[VecDeque<u64>], mut order: impl Iterator<Item = usize>) -> Option<usize> {
        order.find(|number| !model[*number].is_empty())
    }

    proptest! {
        #[test]
        fn levels_are_queues_in_a_ring(
            queues in prop_oneof![1u32..8, 60u32..140, Just(MOST)],
            steps in prop::collection::vec((any::<u32>(), 0u8..8), 1..200),
        ) {
            let mut levels = Levels::new(queues);
            let count = queues as usize;
            let mut model = alloc::vec![VecDeque::new(); count];
            for (serial, (number, step)) in (0u64..).zip(steps) {
                let number = number as usize % count;
                let (taken, expected) = match step {
                    0..5 => {
                        levels.push(number, packet(serial));
                        model[number].push_back(serial);
                        (None, None)
                    }
                    5 | 6 => (levels.pop(number), model[number].pop_front()),
                    _ => (levels.pop_tail(number), model[number].pop_back()),
                };
                prop_assert_eq!(taken.map(|packet| packet.payload), expected);
                let ring = || (number..count).chain(0..number);
                prop_assert_eq!(levels.first_from(number), found(&model, ring()));
                prop_assert_eq!(levels.last_from(number), found(&model, ring().collect::<Vec<_>>().into_iter().rev()));
                prop_assert_eq!(levels.head(number).map(|packet| packet.payload), model[number].front().copied());
            }
            levels.check();
        }
    }

    #[test]
    fn numbers_out_of_range_are_the_last_queue_or_none() {
        let mut levels = Levels::new(0);
        assert_eq!(levels.count(), 1);
        levels.push(9, packet(0));
        assert_eq!(
            (levels.first_from(0), levels.last_from(0)),
            (Some(0), Some(0))
        );
        assert!(
            levels.pop(1).is_none() && levels.pop_tail(1).is_none() && levels.head(1).is_none()
        );
        assert_eq!(Levels::<u64>::new(u32::MAX).count(), MOST as usize);
    }
}
