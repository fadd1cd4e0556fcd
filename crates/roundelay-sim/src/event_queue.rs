//! What happens next.
//!
//! Most delays in a network are constants: packets on a link leave it in the order in which they entered, so a link needs to be known by its
//! first one alone. So there is a fixed place for each thing that something can happen to (a link: its first packet arrives, or it picks one; an
//! agent: it is called), and a tournament of those places. It is as small as what can happen next, not as what is on its way.

use roundelay::Instant;

const ARITY: usize = 4;

/// When, and among events at one instant in which order: 64 bits of picoseconds, one that says that it is a pick, 41 of the event's number.
/// The last 22 are for the place in the queue, so that an entry is one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u128);

/// The bit that says that it is a pick.
const PICK: u128 = 1 << 63;
/// Bits of a place.
const PLACE: u32 = 22;
/// Most places.
pub(crate) const PLACES: usize = 1 << PLACE;
/// Most events.
pub(crate) const EVENTS: u64 = 1 << (63 - PLACE);

impl Key {
    /// Nothing is to come.
    pub(crate) const NEVER: Self = Self(!(PLACES as u128 - 1));

    /// An arrival or a call at `at`, known as the event of number `sequence`.
    #[inline]
    pub(crate) const fn new(at: Instant, sequence: u64) -> Self {
        Self((at.as_picos() as u128) << 64 | (sequence << PLACE) as u128)
    }

    /// A link's pick, after all arrivals at the same instant.
    #[inline]
    pub(crate) const fn pick(at: Instant, sequence: u64) -> Self {
        Self(Self::new(at, sequence).0 | PICK)
    }

    /// Whether it is a link's pick.
    #[inline]
    pub(crate) const fn is_pick(self) -> bool {
        self.0 & PICK != 0
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

/// Four entries, in a cache line of their own.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Block([Entry; ARITY]);

impl Block {
    const EMPTY: Self = Self([Entry::NEVER; ARITY]);

    /// The first of the four, without a branch.
    #[inline]
    fn first(&self) -> Entry {
        let [a, b, c, d] = self.0;
        a.min(b).min(c.min(d))
    }
}

/// The next event of each place, and the first of all.
///
/// A tournament: each place has its entry on the lowest level, and of each block of four the first goes one level up. So an entry never
/// moves, and a change costs a few comparisons on each level, up to the one where it does not change who is first.
#[derive(Debug, Clone)]
pub(crate) struct EventQueue {
    /// From the lowest level, which has an entry for each place, to the one with a single block.
    levels: Vec<Vec<Block>>,
    first: Entry,
}

impl EventQueue {
    /// A queue of so many places, with nothing to come.
    pub(crate) fn new(places: usize) -> Self {
        let mut queue = Self { levels: vec![vec![Block::EMPTY]], first: Entry::NEVER };
        queue.make_room(places);
        queue
    }

    /// Makes room for a place.
    pub(crate) fn ensure_place(&mut self, place: usize) {
        if place >= self.levels[0].len() * ARITY {
            // Twice as many as before, since those who ask add places one by one.
            self.make_room((place + 1).next_power_of_two());
        }
    }

    fn make_room(&mut self, places: usize) {
        let (mut level, mut entries) = (0, places);
        loop {
            let blocks = entries.div_ceil(ARITY).max(1);
            if level == self.levels.len() {
                // The level that was the highest has one block more above it now.
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

    /// The first event and its place.
    #[inline]
    pub(crate) const fn first(&self) -> (Key, usize) {
        (self.first.key(), self.first.place())
    }

    /// The next event of a place is now this one. [`Key::NEVER`]: it has none.
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

    /// Against a list that is searched.
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
            // At times nearly nothing is to come.
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

    /// Whatever is there stays when there is suddenly room for more, on several levels more.
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
