//! What happens next, where each of a fixed number of places knows its own next event.
//!
//! Most delays in a network are constants: packets on a link leave it in the order in which they entered, so a link needs to be known by its
//! first one alone. What is left is to find the smallest of as many keys as there are links, over and over, while one key at a time changes: a
//! tournament. Its tree is an array, half full of keys and half of the winners above them, and a change replays one path.

/// When, and among events at one instant in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u128);

impl Key {
    /// Nothing is to come.
    pub(crate) const NEVER: Self = Self(u128::MAX);

    /// The event of number `sequence` at `picos`.
    #[inline]
    pub(crate) const fn new(picos: u64, sequence: u64) -> Self {
        Self((picos as u128) << 64 | sequence as u128)
    }

    /// When.
    #[inline]
    pub(crate) const fn picos(self) -> u64 {
        (self.0 >> 64) as u64
    }
}

/// The tournament.
#[derive(Debug, Clone)]
pub(crate) struct EventQueue {
    /// Node n has the children 2 n and 2 n + 1; the places are the leaves, from `leaves` on.
    keys: Vec<Key>,
    /// The place whose key each node holds.
    winners: Vec<u32>,
    leaves: usize,
}

impl EventQueue {
    /// A queue of so many places, with nothing to come.
    pub(crate) fn new(places: usize) -> Self {
        let leaves = places.next_power_of_two().max(2);
        let mut winners = vec![0; 2 * leaves];
        (0..leaves).for_each(|place| winners[leaves + place] = place as u32);
        (1..leaves).rev().for_each(|node| winners[node] = winners[2 * node]);
        Self { keys: vec![Key::NEVER; 2 * leaves], winners, leaves }
    }

    /// The first event and its place.
    #[inline]
    pub(crate) fn first(&self) -> (Key, usize) {
        (self.keys[1], self.winners[1] as usize)
    }

    /// The next event of a place is now this one.
    #[inline]
    pub(crate) fn set(&mut self, place: usize, key: Key) {
        let mut node = self.leaves + place;
        self.keys[node] = key;
        while node > 1 {
            let (left, right) = (node & !1, node | 1);
            let winner = if self.keys[right] < self.keys[left] { right } else { left };
            let (key, place) = (self.keys[winner], self.winners[winner]);
            node /= 2;
            if self.keys[node] == key && self.winners[node] == place {
                return;
            }
            self.keys[node] = key;
            self.winners[node] = place;
        }
    }
}
