//! FIFO lists of numbers with shared storage. A list's next numbers can be read ahead without a
//! look at the records behind the numbers.
//!
//! A list is a chain of chunks of one cache line: fifteen numbers and the link to the next chunk.
//! An empty list has no chunk, a non-empty one has one or two partly filled chunks. Emptied chunks
//! are reused, last out first in.

use alloc::vec::Vec;

const NONE: u32 = u32::MAX;
/// Words of a chunk. The first word links to the next chunk or, in the free list, to the next free
/// chunk.
const CHUNK: u32 = 16;

/// Positions of the first and last number, never 0. Both are 0 if the list is empty.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

impl List {
    #[inline]
    pub(crate) const fn is_empty(self) -> bool {
        self.head == 0
    }

    /// Position of the first number.
    #[inline]
    pub(crate) const fn head(self) -> u32 {
        self.head
    }
}

/// The storage.
#[derive(Debug, Clone)]
pub(crate) struct Lists {
    words: Vec<u32>,
    /// The first free chunk.
    free: u32,
}

impl Default for Lists {
    fn default() -> Self {
        Self {
            words: Vec::new(),
            free: NONE,
        }
    }
}

impl Lists {
    /// Average memory for a number, partly filled chunks included.
    pub(crate) const BYTES_PER_NUMBER: usize = 2 * size_of::<u32>();

    /// The number at a position.
    #[inline]
    pub(crate) fn at(&self, position: u32) -> u32 {
        self.words[position as usize]
    }

    /// Starts a list with one number.
    #[inline]
    pub(crate) fn begin(&mut self, number: u32) -> List {
        let position = self.take_chunk() + 1;
        self.words[position as usize] = number;
        List {
            head: position,
            tail: position,
        }
    }

    /// Appends to a non-empty list. Returns the position of the number.
    #[inline(always)]
    pub(crate) fn append(&mut self, list: &mut List, number: u32) -> u32 {
        let mut position = list.tail + 1;
        if position.is_multiple_of(CHUNK) {
            position = self.extend(list.tail);
        }
        self.words[position as usize] = number;
        list.tail = position;
        position
    }

    /// Appends a chunk behind a full last chunk. Returns the first position.
    #[inline(never)]
    fn extend(&mut self, tail: u32) -> u32 {
        let position = self.take_chunk() + 1;
        self.words[(tail / CHUNK * CHUNK) as usize] = position;
        position
    }

    /// Removes the first number of a list. Returns whether the list is then empty.
    #[inline(always)]
    pub(crate) fn remove_first(&mut self, list: &mut List) -> bool {
        let head = list.head;
        if head == list.tail {
            *list = List::default();
            self.free_chunk(head);
            return true;
        }
        list.head = head + 1;
        if list.head.is_multiple_of(CHUNK) {
            list.head = self.free_chunk(head);
        }
        false
    }

    /// Copies up to `into.len()` numbers from the front of a non-empty list. Returns their count.
    pub(crate) fn peek(&self, list: List, into: &mut [u32]) -> usize {
        let mut from = list.head;
        for (taken, number) in into.iter_mut().enumerate() {
            *number = self.at(from);
            if from == list.tail {
                return taken + 1;
            }
            from = self.after(from);
        }
        into.len()
    }

    /// The next position.
    #[inline]
    fn after(&self, position: u32) -> u32 {
        let next = position + 1;
        if next.is_multiple_of(CHUNK) {
            self.at(position / CHUNK * CHUNK)
        } else {
            next
        }
    }

    /// All numbers of a non-empty list with their positions. For checks.
    pub(crate) fn iter(&self, list: List) -> impl Iterator<Item = (u32, u32)> {
        let next = move |position: &u32| (*position != list.tail).then(|| self.after(*position));
        core::iter::successors(Some(list.head), next).map(|position| (position, self.at(position)))
    }

    /// Replaces the number at a position.
    pub(crate) fn put(&mut self, position: u32, number: u32) {
        self.words[position as usize] = number;
    }

    #[inline]
    fn take_chunk(&mut self) -> u32 {
        let free = self.free;
        let Some(link) = self.words.get(free as usize) else {
            return self.add_chunk();
        };
        self.free = *link;
        free
    }

    #[cold]
    fn add_chunk(&mut self) -> u32 {
        let fresh = self.words.len() as u32;
        self.words.resize(self.words.len() + CHUNK as usize, NONE);
        fresh
    }

    /// Frees a chunk. Returns the chunk's former link.
    #[inline(never)]
    fn free_chunk(&mut self, position: u32) -> u32 {
        let chunk = position / CHUNK * CHUNK;
        let next = core::mem::replace(&mut self.words[chunk as usize], self.free);
        self.free = chunk;
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        /// Two growing and shrinking lists behave as two queues, and storage is reused.
        #[test]
        fn lists_are_queues(steps in prop::collection::vec((0usize..2, 0u8..9), 0..400)) {
            let mut lists = Lists::default();
            let mut pair = [List::default(); 2];
            let mut models = [const { VecDeque::new() }; 2];
            for (serial, (which, step)) in (0u32..).zip(steps) {
                let list = &mut pair[which];
                let model = &mut models[which];
                if step < 5 && model.is_empty() {
                    *list = lists.begin(serial);
                    model.push_back(serial);
                } else if step < 5 {
                    let position = lists.append(list, serial);
                    prop_assert_eq!(lists.at(position), serial);
                    model.push_back(serial);
                } else if !model.is_empty() {
                    prop_assert_eq!(Some(lists.at(list.head())), model.pop_front());
                    prop_assert_eq!(lists.remove_first(list), model.is_empty());
                }
                for (list, model) in pair.iter().zip(&models).filter(|(_, model)| !model.is_empty()) {
                    prop_assert!(lists.iter(*list).map(|(_, number)| number).eq(model.iter().copied()));
                    let mut ahead = [0; 20];
                    let seen = lists.peek(*list, &mut ahead);
                    prop_assert!(ahead[..seen].iter().eq(model.iter().take(20)));
                }
            }
            let most = models.iter().map(|model| model.len() / 15 + 2).sum::<usize>() * CHUNK as usize;
            let free = core::iter::successors(Some(lists.free), |chunk| lists.words.get(*chunk as usize).copied());
            let free = free.take_while(|chunk| *chunk != NONE).count() * CHUNK as usize;
            prop_assert!(lists.words.len() - free <= most, "{} words, {free} of them free", lists.words.len());
        }
    }
}
