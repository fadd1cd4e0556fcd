//! Priority queue as a tournament tree. A key can be inserted, changed or removed at any position,
//! and a descent finds the position of the smallest key.
//!
//! Keys stand in an array. Each family of eight sends its smallest key up to a position on the next
//! level, and so on to a single key. A change climbs only as far as it changes the smallest key. A
//! level costs the same for every winner: eight loads and seven selections from one or two cache
//! lines, with no branch that depends on keys. The tree needs no index from keys to positions.
//!
//! Cost: when the smallest key changes, one level for each factor of eight in the number of
//! positions. Other changes cost less. All positions count, also those without a key. Among equal
//! keys the smallest position wins, so with many equal keys a change mostly ends on its first
//! level. Memory: 8/7 of a key for each position.

use alloc::vec::Vec;

use crate::virtual_time::VirtualTime;

/// Positions in a family, which compete for one position on the next level.
const ARITY: usize = 8;

/// A sortable key.
pub(crate) trait Key: Copy + Ord {
    /// Larger than all keys: an empty position.
    const NONE: Self;
}

impl Key for u64 {
    const NONE: Self = Self::MAX;
}

impl Key for u128 {
    const NONE: Self = Self::MAX;
}

type Family<K> = [K; ARITY];

/// Positions by key, smallest first. Among equal keys the smaller position comes first.
#[derive(Debug, Clone)]
pub(crate) struct Heap<K> {
    /// The key of each position.
    keys: Vec<Family<K>>,
    /// Level by level, the smallest key of each family on the level below.
    winners: Vec<Vec<Family<K>>>,
    /// The smallest key of all.
    first: K,
}

impl<K: Key> Default for Heap<K> {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            winners: Vec::new(),
            first: K::NONE,
        }
    }
}

#[inline]
fn smallest<K: Key>(&[a, b, c, d, e, f, g, h]: &Family<K>) -> K {
    a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)))
}

impl<K: Key> Heap<K> {
    /// Memory for each position, higher levels included.
    pub(crate) const BYTES_PER_POSITION: usize = size_of::<Family<K>>().div_ceil(ARITY - 1);

    /// The smallest key.
    #[inline]
    pub(crate) fn first_key(&self) -> Option<K> {
        (self.first != K::NONE).then_some(self.first)
    }

    /// The smallest key and its position.
    #[inline]
    pub(crate) fn first(&self) -> Option<(K, usize)> {
        let first = self.first_key()?;
        let family = self.family_of_first();
        Some((
            first,
            family * ARITY + position_in(&self.keys[family], first),
        ))
    }

    #[inline]
    fn family_of_first(&self) -> usize {
        let down = |family: usize, level: &Vec<Family<K>>| {
            family * ARITY + position_in(&level[family], self.first)
        };
        self.winners.iter().rev().fold(0, down)
    }

    /// The key at a position.
    #[inline]
    pub(crate) fn key(&self, position: usize) -> Option<K> {
        let key = self.keys.get(position / ARITY)?[position % ARITY];
        (key != K::NONE).then_some(key)
    }

    /// Inserts a key at an empty position.
    #[inline]
    pub(crate) fn insert(&mut self, position: usize, key: K) {
        debug_assert!(self.key(position).is_none() && key != K::NONE);
        if position / ARITY >= self.keys.len() {
            self.grow(position / ARITY + 1);
        }
        self.lower(position, key);
    }

    /// Replaces the key at a position.
    #[inline]
    pub(crate) fn change(&mut self, position: usize, key: K) {
        if key < self.keys[position / ARITY][position % ARITY] {
            self.lower(position, key);
        } else {
            self.raise(position, key);
        }
    }

    /// Removes the key at a position, if any.
    #[inline]
    pub(crate) fn remove(&mut self, position: usize) {
        if self.key(position).is_some() {
            self.raise(position, K::NONE);
        }
    }

    /// Removes all keys up to `limit` and reports their positions, in no order.
    #[inline]
    pub(crate) fn take_up_to(&mut self, limit: K, mut take: impl FnMut(usize)) {
        debug_assert!(limit != K::NONE);
        while self.first <= limit {
            let number = self.family_of_first();
            let mut left = K::NONE;
            for (position, key) in (number * ARITY..).zip(&mut self.keys[number]) {
                if *key <= limit {
                    *key = K::NONE;
                    take(position);
                } else {
                    left = left.min(*key);
                }
            }
            self.settle(number, left);
        }
    }

    /// Calls `visit` for positions whose keys are below a limit, in no order. `visit` returns the
    /// limit for those to come.
    pub(crate) fn visit_below(&self, limit: K, visit: &mut impl FnMut(usize) -> K) {
        if !self.keys.is_empty() {
            self.visit_family(self.winners.len(), 0, limit, visit);
        }
    }

    /// The part below a family, `level` levels above the keys. Returns the last limit.
    fn visit_family(
        &self,
        level: usize,
        family: usize,
        mut limit: K,
        visit: &mut impl FnMut(usize) -> K,
    ) -> K {
        let keys = match level {
            0 => &self.keys[family],
            _ => &self.winners[level - 1][family],
        };
        for (position, key) in (family * ARITY..).zip(keys) {
            if *key >= limit {
                continue;
            }
            limit = match level {
                0 => visit(position),
                _ => self.visit_family(level - 1, position, limit, visit),
            };
        }
        limit
    }

    /// Sets a key that is at most the present one.
    #[inline]
    fn lower(&mut self, mut position: usize, key: K) {
        self.keys[position / ARITY][position % ARITY] = key;
        for level in &mut self.winners {
            position /= ARITY;
            let winner = &mut level[position / ARITY][position % ARITY];
            if key >= *winner {
                return;
            }
            *winner = key;
        }
        self.first = self.first.min(key);
    }

    /// Sets a key that is at least the present one.
    #[inline(always)]
    fn raise(&mut self, position: usize, key: K) {
        let family = &mut self.keys[position / ARITY];
        family[position % ARITY] = key;
        let winner = smallest(family);
        self.settle(position / ARITY, winner);
    }

    /// Propagates `winner`, the smallest key of this family.
    fn settle(&mut self, mut family: usize, mut winner: K) {
        for level in &mut self.winners {
            let rivals = &mut level[family / ARITY];
            let before = core::mem::replace(&mut rivals[family % ARITY], winner);
            if before == winner {
                return;
            }
            winner = smallest(rivals);
            family /= ARITY;
        }
        self.first = winner;
    }

    /// Makes room for this many positions.
    pub(crate) fn make_room(&mut self, positions: usize) {
        if positions > self.keys.len() * ARITY {
            self.grow(positions.div_ceil(ARITY));
        }
    }

    /// Makes room for `families` families of keys.
    #[cold]
    fn grow(&mut self, mut families: usize) {
        const fn empty<K: Key>() -> Family<K> {
            [K::NONE; ARITY]
        }
        self.keys.resize(families, empty());
        for level in 0.. {
            if families == 1 {
                break;
            }
            families = families.div_ceil(ARITY);
            if level == self.winners.len() {
                let mut top = empty();
                top[0] = self.first;
                self.winners.push(alloc::vec![top]);
            }
            self.winners[level].resize(families, empty());
        }
    }

    /// Maps every key with a function that preserves their order.
    #[cold]
    fn change_all(&mut self, change: impl Fn(K) -> K) {
        let levels = self.winners.iter_mut().chain([&mut self.keys]);
        for key in levels.flatten().flatten() {
            if *key != K::NONE {
                *key = change(*key);
            }
        }
        if self.first != K::NONE {
            self.first = change(self.first);
        }
    }

    /// Number of keys: O(n), for `check_invariants`.
    pub(crate) fn len(&self) -> usize {
        self.keys
            .iter()
            .flatten()
            .filter(|key| **key != K::NONE)
            .count()
    }

    /// Panics if a winner is not the smallest of its family.
    pub(crate) fn check(&self) {
        let mut below = &self.keys;
        for level in &self.winners {
            assert_eq!(
                level.len(),
                below.len().div_ceil(ARITY),
                "a place for each family"
            );
            for (number, key) in level.iter().flatten().enumerate() {
                let winner = below.get(number).map_or(K::NONE, smallest);
                assert!(*key == winner, "above a family is its smallest");
            }
            below = level;
        }
        assert!(
            below.len() <= 1 && below.first().map_or(K::NONE, smallest) == self.first,
            "the smallest of all is first"
        );
    }
}

/// The position of this key in a family, the first of several.
#[inline]
fn position_in<K: Key>(family: &Family<K>, key: K) -> usize {
    (0..ARITY - 1)
        .find(|position| family[*position] == key)
        .unwrap_or(ARITY - 1)
}

/// Flows by virtual time. As this wraps, any two times must be within 2^62.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlowHeap {
    /// Times relative to `origin`.
    tree: Heap<u64>,
    origin: VirtualTime,
}

/// `REACH`: times up to this far from the origin are in order. `ROOM`: a new origin is half of this
/// before the first time.
const REACH: u64 = 1 << 63;
const ROOM: u64 = 1 << 62;

impl FlowHeap {
    /// Memory for a flow.
    pub(crate) const BYTES_PER_FLOW: usize = Heap::<u64>::BYTES_PER_POSITION;

    /// The first time and its flow. Among equal times it is the smallest flow number.
    #[inline]
    pub(crate) fn first(&self) -> Option<(VirtualTime, usize)> {
        self.tree
            .first()
            .map(|(span, flow)| (self.origin.plus(span), flow))
    }

    /// The first time.
    #[inline]
    pub(crate) fn first_key(&self) -> Option<VirtualTime> {
        self.tree.first_key().map(|span| self.origin.plus(span))
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.tree.first == u64::NONE
    }

    /// The flow's time, if present.
    #[inline]
    pub(crate) fn key(&self, flow: usize) -> Option<VirtualTime> {
        self.tree.key(flow).map(|span| self.origin.plus(span))
    }

    /// Whether the flow is present.
    #[inline]
    pub(crate) fn contains(&self, flow: usize) -> bool {
        self.tree.key(flow).is_some()
    }

    /// Inserts a flow that is not present.
    #[inline]
    pub(crate) fn insert(&mut self, flow: usize, time: VirtualTime) {
        let span = self.span_to(time);
        self.tree.insert(flow, span);
    }

    /// Changes the time of a present flow.
    #[inline]
    pub(crate) fn change(&mut self, flow: usize, time: VirtualTime) {
        let span = self.span_to(time);
        self.tree.change(flow, span);
    }

    /// Removes a flow, if present.
    #[inline]
    pub(crate) fn remove(&mut self, flow: usize) {
        self.tree.remove(flow);
    }

    /// Removes all flows with times up to `limit` and reports them, in no order.
    #[inline]
    pub(crate) fn take_up_to(&mut self, limit: VirtualTime, take: impl FnMut(usize)) {
        let span = self.span_to(limit);
        self.tree.take_up_to(span, take);
    }

    #[inline]
    fn span_to(&mut self, time: VirtualTime) -> u64 {
        let span = time.bits().wrapping_sub(self.origin.bits());
        if span >= REACH {
            self.move_origin(time)
        } else {
            span
        }
    }

    /// Moves the origin so far back that present and future times stay within reach for long.
    #[cold]
    fn move_origin(&mut self, time: VirtualTime) -> u64 {
        let first = self.first_key().map_or(time, |first| first.earlier(time));
        let origin = first.minus(ROOM / 2);
        let moved = origin.bits().wrapping_sub(self.origin.bits());
        self.tree.change_all(|span| span.wrapping_sub(moved));
        self.origin = origin;
        time.bits().wrapping_sub(origin.bits())
    }

    /// Panics if the heap is out of order.
    pub(crate) fn check(&self) {
        self.tree.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_sorts_across_the_wrap_and_gives_up_any_flow(
            keys in prop::collection::vec(0u64..50, 1..200),
            removed in prop::collection::vec(0usize..200, 0..60),
            limit in 0u64..50,
        ) {
            let mut heap = FlowHeap::default();
            let near_the_end = VirtualTime::from_bits(u64::MAX - 20);
            for (flow, key) in keys.iter().enumerate() {
                heap.insert(flow, near_the_end.plus(*key));
                heap.check();
            }
            for flow in &removed {
                heap.remove(*flow);
                heap.check();
            }
            let mut expected: Vec<_> = keys.iter().copied().zip(0..).filter(|(_, flow)| !removed.contains(flow)).collect();
            for (key, flow) in &mut expected {
                *key = *key * 7 % 50;
                heap.change(*flow, near_the_end.plus(*key));
                heap.check();
            }
            expected.sort_unstable();
            let mut taken = Vec::new();
            heap.take_up_to(near_the_end.plus(limit), |flow| taken.push(flow));
            heap.check();
            taken.sort_unstable();
            let (mut early, late): (Vec<_>, Vec<_>) = expected.into_iter().partition(|(key, _)| *key <= limit);
            early.sort_unstable_by_key(|(_, flow)| *flow);
            prop_assert_eq!(taken, early.into_iter().map(|(_, flow)| flow).collect::<Vec<_>>());
            for (key, flow) in late {
                prop_assert_eq!(heap.first(), Some((near_the_end.plus(key), flow)));
                prop_assert_eq!(heap.key(flow), Some(near_the_end.plus(key)));
                heap.remove(flow);
            }
            prop_assert!(heap.is_empty());
        }

        /// Steps of a quarter of the largest distance between two times, for several wraps of the
        /// clock.
        #[test]
        fn times_go_round_and_round(steps in prop::collection::vec((0usize..100, 0u64..1 << 60), 1..300)) {
            let mut heap = FlowHeap::default();
            let mut now = VirtualTime::ZERO;
            let mut expected = Vec::new();
            for (flow, ahead) in steps {
                if let Some(at) = expected.iter().position(|(_, other)| *other == flow) {
                    expected.remove(at);
                    heap.remove(flow);
                }
                heap.insert(flow, now.plus(ahead));
                expected.push((now.plus(ahead), flow));
                heap.check();
                let first = expected.iter().copied().min_by_key(|(time, flow)| (time.since(now), *flow));
                prop_assert_eq!(heap.first(), first);
                if flow % 3 > 0 && let Some((time, flow)) = first {
                    now = time;
                    heap.remove(flow);
                    expected.retain(|(_, other)| *other != flow);
                }
            }
        }
    }
}
