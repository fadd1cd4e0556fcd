//! A heap of flows by virtual time, or by whatever else a discipline serves them, from which a flow can be taken out of the middle.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::virtual_time::VirtualTime;

const ABSENT: u32 = u32::MAX;
/// Children of a node. Four keep the tree flat and lie in one cache line.
const ARITY: usize = 4;

/// What flows are sorted by.
pub(crate) trait Key: Copy {
    /// Which of two comes first. The keys of one heap are in a row, also where they wrap.
    fn order(self, other: Self) -> Ordering;
}

impl Key for VirtualTime {
    #[inline]
    fn order(self, other: Self) -> Ordering {
        self.since(other).cmp(&0)
    }
}

/// Flows by key, smallest first; of equal keys the flow with the smaller number.
#[derive(Debug, Clone)]
pub(crate) struct FlowHeap<K = VirtualTime> {
    entries: Vec<Entry<K>>,
    /// Where each flow stands in `entries`.
    places: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Entry<K> {
    key: K,
    flow: u32,
}

impl<K: Key> Entry<K> {
    #[inline]
    fn comes_before(self, other: Self) -> bool {
        match self.key.order(other.key) {
            Ordering::Less => true,
            Ordering::Equal => self.flow < other.flow,
            Ordering::Greater => false,
        }
    }
}

impl<K> Default for FlowHeap<K> {
    fn default() -> Self {
        Self { entries: Vec::new(), places: Vec::new() }
    }
}

impl<K: Key> FlowHeap<K> {
    /// The first flow and its key.
    #[inline]
    pub(crate) fn first(&self) -> Option<(K, usize)> {
        self.entries.first().map(|entry| (entry.key, entry.flow as usize))
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The flow's key, if it is in this heap.
    #[inline]
    pub(crate) fn key(&self, flow: usize) -> Option<K> {
        let place = *self.places.get(flow)?;
        self.entries.get(place as usize).map(|entry| entry.key)
    }

    /// Whether the flow is in this heap.
    #[inline]
    pub(crate) fn contains(&self, flow: usize) -> bool {
        self.places.get(flow).is_some_and(|place| *place != ABSENT)
    }

    /// Puts in a flow that is not in it.
    pub(crate) fn insert(&mut self, flow: usize, key: K) {
        if flow >= self.places.len() {
            self.places.resize(flow + 1, ABSENT);
        }
        debug_assert!(!self.contains(flow));
        self.entries.push(Entry { key, flow: flow as u32 });
        self.rise(self.entries.len() - 1);
    }

    /// Gives a flow that is in it another key.
    pub(crate) fn change(&mut self, flow: usize, key: K) {
        let place = self.places[flow] as usize;
        self.entries[place].key = key;
        self.sink(place);
        self.rise(self.places[flow] as usize);
    }

    /// Takes a flow out, if it is in it.
    pub(crate) fn remove(&mut self, flow: usize) {
        if !self.contains(flow) {
            return;
        }
        let place = self.places[flow] as usize;
        self.places[flow] = ABSENT;
        self.entries.swap_remove(place);
        if place < self.entries.len() {
            self.sink(place);
            self.rise(place);
        }
    }

    fn rise(&mut self, mut place: usize) {
        let entry = self.entries[place];
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if !entry.comes_before(self.entries[parent]) {
                break;
            }
            self.put(place, self.entries[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sink(&mut self, mut place: usize) {
        let entry = self.entries[place];
        while let Some(child) = self.first_child(place) {
            if !self.entries[child].comes_before(entry) {
                break;
            }
            self.put(place, self.entries[child]);
            place = child;
        }
        self.put(place, entry);
    }

    fn first_child(&self, place: usize) -> Option<usize> {
        let from = place * ARITY + 1;
        let until = (from + ARITY).min(self.entries.len());
        (from..until).reduce(|best, child| if self.entries[child].comes_before(self.entries[best]) { child } else { best })
    }

    #[inline]
    fn put(&mut self, place: usize, entry: Entry<K>) {
        self.entries[place] = entry;
        self.places[entry.flow as usize] = place as u32;
    }

    /// Panics if the heap is out of order.
    pub(crate) fn check(&self) {
        for (place, entry) in self.entries.iter().enumerate() {
            assert_eq!(self.places[entry.flow as usize] as usize, place, "flows know their place");
            assert!(place == 0 || !entry.comes_before(self.entries[(place - 1) / ARITY]), "parents come before children");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_sorts_across_the_wrap_and_gives_up_any_flow(
            keys in prop::collection::vec(0u64..50, 1..60),
            removed in prop::collection::vec(0usize..60, 0..30),
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
            for (key, flow) in expected {
                prop_assert_eq!(heap.first(), Some((near_the_end.plus(key), flow)));
                heap.remove(flow);
            }
            prop_assert!(heap.is_empty());
        }
    }
}
