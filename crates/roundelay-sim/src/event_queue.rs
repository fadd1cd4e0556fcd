//! Event queue: a tournament tree with one slot for each link and agent.
//!
//! Most delays in a network are constants: packets leave a link in the order in which they entered,
//! and the queue needs only the first packet of each link. Each link has one slot (the first packet
//! arrives, or the port picks one), and each agent has one (the timer). The size of the queue is
//! the number of links and agents, not the number of packets on their way.

use roundelay::Instant;

const ARITY: usize = 4;

/// Sort key of an event: 64 bits of picoseconds, one bit for a pick, 41 bits of sequence number.
/// The low 22 bits are left for the slot, so an [`Entry`] is a single number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u128);

/// The bit of a pick.
const PICK: u128 = 1 << 63;
/// Bits of a slot number.
const PLACE: u32 = 22;
/// Most slots.
pub(crate) const PLACES: usize = 1 << PLACE;
/// Most events.
pub(crate) const EVENTS: u64 = 1 << (63 - PLACE);

impl Key {
    /// No event.
    pub(crate) const NEVER: Self = Self(!(PLACES as u128 - 1));

    /// An arrival or a timer at `at`, with sequence number `sequence`.
    #[inline]
    pub(crate) const fn new(at: Instant, sequence: u64) -> Self {
        Self((at.as_picos() as u128) << 64 | (sequence << PLACE) as u128)
    }

    /// A link's pick, after all arrivals and timers of the same instant.
    #[inline]
    pub(crate) const fn pick(at: Instant, sequence: u64) -> Self {
        Self(Self::new(at, sequence).0 | PICK)
    }

    /// Whether the event is a link's pick.
    #[inline]
    pub(crate) const fn is_pick(self) -> bool {
        self.0 & PICK != 0
    }

    /// The time of the event.
    #[inline]
    pub(crate) const fn time(self) -> Instant {
        Instant::from_picos((self.0 >> 64) as u64)
    }
}

/// A key with the slot in the low 22 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    const NEVER: Self = Self::new(Key::NEVER, 0);

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

/// Four entries in one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Block([Entry; ARITY]);

impl Block {
    const EMPTY: Self = Self([Entry::NEVER; ARITY]);

    /// The earliest of the four entries, without a branch.
    #[inline]
    fn first(&self) -> Entry {
        let [a, b, c, d] = self.0;
        a.min(b).min(c.min(d))
    }
}

/// The next event of each slot, and the first of all.
///
/// A tournament: each slot has an entry on the lowest level, and the earliest entry of each block
/// of four goes one level up. Entries keep their slots. A change costs a few comparisons on each
/// level, and stops at the level where the earliest entry stays the same.
#[derive(Debug, Clone)]
pub(crate) struct EventQueue {
    /// From the lowest level, with one entry for each slot, to a level with a single block.
    levels: Vec<Vec<Block>>,
    first: Entry,
}

impl EventQueue {
    /// A queue of `places` slots without events.
    pub(crate) fn new(places: usize) -> Self {
        let mut queue = Self { levels: vec![vec![Block::EMPTY]], first: Entry::NEVER };
        queue.make_room(places);
        queue
    }

    /// Grows the queue to include a slot.
    pub(crate) fn ensure_place(&mut self, place: usize) {
        if place >= self.levels[0].len() * ARITY {
            // Doubles the size, because callers add slots one by one.
            self.make_room((place + 1).next_power_of_two());
        }
    }

    fn make_room(&mut self, places: usize) {
        let (mut level, mut entries) = (0, places);
        loop {
            let blocks = entries.div_ceil(ARITY).max(1);
            if level == self.levels.len() {
                // The old top level has one block above it now.
                let first = self.levels[level - 1][0].first();
                self.levels.push(vec![Block::EMPTY]);
                self.levels[level][0].0[0] = first;
            }
            let room = blocks.max(self.levels[level].len());
            self.levels[level].resize(room, Block::EMPTY);
            if room == 1 {
                return;
            }
            (level, entries) = (level + 1, room);
        }
    }

    /// The first event and its slot.
    #[inline]
    pub(crate) const fn first(&self) -> (Key, usize) {
        (self.first.key(), self.first.place())
    }

    /// Sets the next event of a slot. [`Key::NEVER`]: none.
    #[inline]
    pub(crate) fn set(&mut self, place: usize, key: Key) {
        let (mut at, mut entry) = (place, Entry::new(key, place));
        for level in &mut self.levels {
            let block = &mut level[at / ARITY];
            let before = core::mem::replace(&mut block.0[at % ARITY], entry);
            if before == entry {
                return;
            }
            entry = block.first();
            at /= ARITY;
        }
        self.first = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt as _, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    /// Compares with a linear search.
    #[test]
    fn the_first_of_all_is_found() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let (mut queue, mut list) = (EventQueue::new(0), vec![]);
        let mut idle = 0;
        for sequence in 0..40_000 {
            if sequence % 400 == 0 {
                queue.ensure_place(list.len());
                list.push(Key::NEVER);
            }
            let place = random.random_range(0..list.len());
            let at = Instant::from_picos(random.random_range(0..100));
            // In some phases most slots have no event.
            let never = if sequence / 5000 % 2 == 0 { 1 } else { 15 };
            let key = if random.random_range(0..16) < never { Key::NEVER } else { Key::new(at, sequence) };
            queue.set(place, key);
            list[place] = key;
            let first = *list.iter().min().unwrap();
            assert_eq!(queue.first().0, first);
            assert!(first == Key::NEVER || list[queue.first().1] == first);
            idle += u32::from(first == Key::NEVER);
        }
        assert!(idle > 100 && list.len() == 100, "{idle}");
    }

    /// Entries survive a growth by several levels.
    #[test]
    fn room_is_made_around_what_is_there() {
        for places in [1, 4, 5, 16, 17, 63] {
            let mut queue = EventQueue::new(places);
            let at = |place: usize| Instant::from_picos(100 + (place * 7 % places) as u64);
            (0..places).for_each(|place| queue.set(place, Key::new(at(place), place as u64)));
            queue.ensure_place(5000);
            queue.set(5000, Key::new(Instant::from_picos(50), 9));
            let taken = |queue: &mut EventQueue| {
                let (key, place) = queue.first();
                queue.set(place, Key::NEVER);
                (key != Key::NEVER).then_some((key.time(), place))
            };
            let order: Vec<_> = std::iter::from_fn(|| taken(&mut queue)).collect();
            assert!(order.len() == places + 1 && order[0].1 == 5000 && order.is_sorted_by_key(|(at, _)| *at), "{places}: {order:?}");
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
