//! What happens next.
//!
//! Most delays in a network are constants: packets on a link leave it in the order in which they entered, so a link needs to be known by its
//! first one alone. So there is a fixed place for each thing that can happen next (the first packet on a link arrives, a link picks, an agent
//! is called), and a heap of those places at which something will. It is as small as what is going on at once, not as what is on its way.

use roundelay::Instant;

const ARITY: usize = 4;
const NONE: u32 = u32::MAX;

/// When, and among events at one instant in which order: 64 bits of picoseconds, one that says that it is a pick, 41 of the event's number.
/// The last 22 are for the place in the queue, so that an entry is one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u128);

/// Bits of a place.
const PLACE: u32 = 22;
/// Most places.
pub(crate) const PLACES: usize = 1 << PLACE;
/// Most events.
pub(crate) const EVENTS: u64 = 1 << (63 - PLACE);

impl Key {
    /// Nothing is to come.
    pub(crate) const NEVER: Self = Self(u128::MAX);

    /// An arrival or a call at `at`, known as the event of number `sequence`.
    #[inline]
    pub(crate) const fn new(at: Instant, sequence: u64) -> Self {
        Self((at.as_picos() as u128) << 64 | (sequence << PLACE) as u128)
    }

    /// A link's pick, after all arrivals at the same instant.
    #[inline]
    pub(crate) const fn pick(at: Instant, sequence: u64) -> Self {
        Self(Self::new(at, sequence).0 | 1 << 63)
    }

    /// When.
    #[inline]
    pub(crate) const fn time(self) -> Instant {
        Instant::from_picos((self.0 >> 64) as u64)
    }
}

/// A key with its place in the last bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    #[inline]
    const fn new(key: Key, place: usize) -> Self {
        Self(key.0 | place as u128)
    }

    #[inline]
    const fn place(self) -> usize {
        self.0 as usize & (PLACES - 1)
    }

    #[inline]
    const fn key(self) -> Key {
        Key(self.0 & !(PLACES as u128 - 1))
    }
}

/// The next event of each place, the first of all on top.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventQueue {
    heap: Vec<Entry>,
    /// Where each place stands in the heap.
    positions: Vec<u32>,
}

impl EventQueue {
    /// A queue of so many places, with nothing to come.
    pub(crate) fn new(places: usize) -> Self {
        Self { heap: Vec::new(), positions: vec![NONE; places] }
    }

    /// Makes room for a place.
    pub(crate) fn ensure_place(&mut self, place: usize) {
        if self.positions.len() <= place {
            self.positions.resize(place + 1, NONE);
        }
    }

    /// The first event and its place.
    #[inline]
    pub(crate) fn first(&self) -> (Key, usize) {
        self.heap.first().map_or((Key::NEVER, 0), |entry| (entry.key(), entry.place()))
    }

    /// The next event of a place is now this one. [`Key::NEVER`]: it has none.
    #[inline]
    pub(crate) fn set(&mut self, place: usize, key: Key) {
        let entry = Entry::new(key, place);
        let position = self.positions[place] as usize;
        if position == NONE as usize {
            if key != Key::NEVER {
                self.heap.push(entry);
                self.rise(self.heap.len() - 1, entry);
            }
        } else if key == Key::NEVER {
            self.remove(place, position);
        } else if entry < self.heap[position] {
            self.rise(position, entry);
        } else {
            self.sink(position, entry);
        }
    }

    #[inline]
    fn remove(&mut self, place: usize, position: usize) {
        self.positions[place] = NONE;
        let Some(last) = self.heap.pop() else { return };
        if position == self.heap.len() {
            return;
        }
        if last < self.heap[position] {
            self.rise(position, last);
        } else {
            self.sink(position, last);
        }
    }

    #[inline]
    fn put(&mut self, position: usize, entry: Entry) {
        self.heap[position] = entry;
        self.positions[entry.place()] = position as u32;
    }

    #[inline]
    fn rise(&mut self, mut position: usize, entry: Entry) {
        while position > 0 {
            let parent = (position - 1) / ARITY;
            if entry > self.heap[parent] {
                break;
            }
            self.put(position, self.heap[parent]);
            position = parent;
        }
        self.put(position, entry);
    }

    #[inline]
    fn sink(&mut self, mut position: usize, entry: Entry) {
        loop {
            let from = position * ARITY + 1;
            let until = (from + ARITY).min(self.heap.len());
            if from >= until {
                break;
            }
            let mut first = from;
            for child in from + 1..until {
                first = if self.heap[child] < self.heap[first] { child } else { first };
            }
            if entry < self.heap[first] {
                break;
            }
            self.put(position, self.heap[first]);
            position = first;
        }
        self.put(position, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt as _, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    /// Against a list that is searched.
    #[test]
    fn the_first_of_all_is_on_top() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let (mut queue, mut list) = (EventQueue::new(40), vec![Key::NEVER; 40]);
        for sequence in 0..20_000 {
            let place = random.random_range(0..40);
            let at = Instant::from_picos(random.random_range(0..100));
            let key = if random.random_range(0..4) == 0 { Key::NEVER } else { Key::new(at, sequence) };
            queue.set(place, key);
            list[place] = key;
            let first = *list.iter().min().unwrap();
            assert_eq!(queue.first().0, first);
            assert!(first == Key::NEVER || list[queue.first().1] == first);
        }
    }

    #[test]
    fn at_one_instant_what_was_known_first_comes_first_and_picks_come_last() {
        let mut queue = EventQueue::new(3);
        let at = Instant::from_picos(7);
        queue.set(0, Key::new(at, 3));
        queue.set(1, Key::pick(at, 1));
        queue.set(2, Key::new(at, 2));
        for (place, key) in [(2, Key::new(at, 2)), (0, Key::new(at, 3)), (1, Key::pick(at, 1))] {
            assert_eq!(queue.first(), (key, place));
            assert_eq!(key.time(), at);
            queue.set(place, Key::NEVER);
        }
    }
}
