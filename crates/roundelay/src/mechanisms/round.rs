//! The ring of a round robin: flow numbers in an array, so that the next flows can be read ahead
//! without a look at their records.
//!
//! With links inside the records, each next number would be known only when the record before had
//! been read, so waits for memory would follow one another.

use alloc::vec::Vec;

/// Stands for "no number".
const NOBODY: u32 = u32::MAX;

/// A first-in-first-out queue of numbers.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    /// The length is a power of two, or zero.
    slots: Vec<u32>,
    /// The front's slot, counted without wrapping. The index is this modulo the length.
    first: usize,
    len: usize,
    /// The front number, or `NOBODY`.
    front: u32,
}

impl Default for Round {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            first: 0,
            len: 0,
            front: NOBODY,
        }
    }
}

impl Round {
    /// With room for at least `numbers` numbers.
    pub(crate) fn with_room(numbers: usize) -> Self {
        Self {
            slots: alloc::vec![0; numbers.next_power_of_two()],
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The front number. A number too large for any table if the round is empty.
    #[inline]
    pub(crate) const fn front(&self) -> usize {
        self.front as usize
    }

    /// The number `behind` positions after the front.
    #[inline]
    pub(crate) fn get(&self, behind: usize) -> Option<usize> {
        (behind < self.len).then(|| self.slots[self.slot(behind)] as usize)
    }

    /// From front to back.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..self.len).map(|behind| self.slots[self.slot(behind)])
    }

    #[inline]
    pub(crate) fn push_back(&mut self, number: u32) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.len);
        self.slots[slot] = number;
        if self.len == 0 {
            self.front = number;
        }
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop_front(&mut self) {
        self.len -= 1;
        self.first = self.first.wrapping_add(1);
        self.front = if self.len == 0 {
            NOBODY
        } else {
            self.slots[self.slot(0)]
        };
    }

    /// Moves the front to the back. The round must not be empty.
    #[inline]
    pub(crate) fn rotate(&mut self) {
        let back = self.slot(self.len);
        let next = self.slot(1);
        let slots = self.slots.as_mut_slice();
        slots[back] = self.front;
        self.front = slots[next];
        self.first = self.first.wrapping_add(1);
    }

    #[inline]
    const fn slot(&self, behind: usize) -> usize {
        self.first.wrapping_add(behind) & self.slots.len().wrapping_sub(1)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut slots: Vec<_> = self.iter().collect();
        slots.resize((2 * self.len).max(4), 0);
        (self.slots, self.first) = (slots, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_queue(room in 0usize..9, steps in prop::collection::vec((0u8..9, 0u32..100), 0..200)) {
            let mut round = Round::with_room(room);
            let mut model = VecDeque::new();
            for (step, number) in steps {
                match step {
                    0..=4 => {
                        round.push_back(number);
                        model.push_back(number);
                    }
                    5 | 6 if !model.is_empty() => {
                        round.pop_front();
                        model.pop_front();
                    }
                    7 | 8 if !model.is_empty() => {
                        round.rotate();
                        model.rotate_left(1);
                    }
                    _ => {}
                }
                prop_assert_eq!((round.len(), round.front()), (model.len(), model.front().map_or(u32::MAX as usize, |front| *front as usize)));
                prop_assert!(round.iter().eq(model.iter().copied()));
                prop_assert_eq!(round.get(2), model.get(2).map(|number| *number as usize));
            }
        }
    }
}
