//! Sorted packet queue: serves the smallest key first (a class, a size, a deadline, a slack). All
//! disciplines by rank use this queue.
//!
//! The smallest key leaves first, among equal keys the first arrival. A full buffer takes the
//! largest key, among equal keys the newest packet: the one with the longest wait ahead. Packets
//! lie in a slab and do not move. A [`Heap`] has each one's rank at the same position. The heap for
//! the largest key sleeps until its first use, so a port that never overflows does not pay.
//!
//! A rank is one number, the key followed by the arrival number, so one comparison decides. Its
//! complement sorts in the opposite order.
//!
//! Cost: O(log n) for insertion and removal, where n is the largest number of packets so far.
//! Nothing is allocated below this number.

use alloc::vec::Vec;

use crate::limit::Backlog;
use crate::mechanisms::heap::Heap;
use crate::packet::{FlowId, Packet};
use crate::time::Instant;

const NONE: u32 = u32::MAX;

/// Bits of the arrival number in a rank: more arrivals than ever occur.
const ARRIVAL_BITS: u32 = 62;

/// A key type for ranks.
pub trait Ordinal: Copy + Ord {
    /// A number below 2^66 in the same order.
    fn ordinal(self) -> u128;
}

impl Ordinal for u32 {
    #[inline]
    fn ordinal(self) -> u128 {
        self.into()
    }
}

impl Ordinal for Instant {
    #[inline]
    fn ordinal(self) -> u128 {
        self.as_picos().into()
    }
}

/// Picoseconds: the sum of an instant, a slack and a time on the link.
impl Ordinal for i128 {
    #[inline]
    fn ordinal(self) -> u128 {
        (self + (1 << 63)) as u128
    }
}

/// By key, then by arrival.
#[inline]
fn rank(key: impl Ordinal, arrival: u64) -> u128 {
    debug_assert!(key.ordinal() < 1 << (u128::BITS - ARRIVAL_BITS));
    key.ordinal() << ARRIVAL_BITS | u128::from(arrival)
}

/// Slot of a packet while queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot(u32);

impl Slot {
    /// Index into a table beside the packets.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Queued packets, by key and then by arrival.
#[derive(Debug, Clone)]
pub(crate) struct Ranked<K, T> {
    nodes: Vec<Node<K, T>>,
    free: u32,
    newest: u32,
    /// Ranks, at the packets' slots.
    smallest: Heap<u128>,
    /// Complements of the ranks. None while asleep.
    largest: Option<Heap<u128>>,
    /// Number of the next arrival, starting at 1, because the complement of rank 0 would stand for
    /// an empty slot.
    arrivals: u64,
    backlog: Backlog,
}

#[derive(Debug, Clone)]
struct Node<K, T> {
    packet: Option<Packet<T>>,
    key: K,
    /// The previous arrival. In the free list, the next free node.
    older: u32,
    newer: u32,
}

impl<K, T> Default for Ranked<K, T> {
    fn default() -> Self {
        let nodes = Vec::new();
        let backlog = Backlog {
            packets: 0,
            bytes: 0,
        };
        Self {
            nodes,
            free: NONE,
            newest: NONE,
            smallest: Heap::default(),
            largest: None,
            arrivals: 1,
            backlog,
        }
    }
}

impl<K: Ordinal, T> Ranked<K, T> {
    /// Queued packets and bytes.
    #[inline]
    pub(crate) const fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Inserts a packet behind all packets with the same key.
    pub(crate) fn push(&mut self, key: K, packet: Packet<T>) -> Slot {
        let rank = rank(key, self.arrivals);
        self.arrivals += 1;
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len);
        let slot = self.store(Node {
            packet: Some(packet),
            key,
            older: self.newest,
            newer: NONE,
        });
        if let Some(before) = self.nodes.get_mut(self.newest as usize) {
            before.newer = slot;
        }
        self.newest = slot;
        self.smallest.insert(slot as usize, rank);
        if let Some(largest) = &mut self.largest {
            largest.insert(slot as usize, !rank);
        }
        Slot(slot)
    }

    /// The next packet to leave, with its slot.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Slot, &Packet<T>)> {
        let slot = Slot(self.smallest.first()?.1 as u32);
        Some((slot, self.packet(slot)?))
    }

    /// Sets the length of the packet with the smallest key.
    pub(crate) fn set_first_len(&mut self, len: u32) {
        let Some((_, slot)) = self.smallest.first() else {
            return;
        };
        if let Some(packet) = &mut self.nodes[slot].packet {
            self.backlog.bytes += u64::from(len);
            self.backlog.bytes -= u64::from(packet.len);
            packet.len = len;
        }
    }

    /// The packet in a slot.
    #[inline]
    pub(crate) fn packet(&self, slot: Slot) -> Option<&Packet<T>> {
        self.nodes.get(slot.index())?.packet.as_ref()
    }

    /// The smallest key.
    #[inline]
    pub(crate) fn first_key(&self) -> Option<K> {
        self.smallest.first().map(|(_, slot)| self.nodes[slot].key)
    }

    /// Removes the packet with the smallest key. Among equal keys, the first arrival.
    #[inline]
    pub(crate) fn pop_first(&mut self) -> Option<Packet<T>> {
        let (_, slot) = self.smallest.first()?;
        self.take(Slot(slot as u32))
    }

    /// Slot of the packet with the largest key. Among equal keys, the last arrival.
    pub(crate) fn last(&mut self) -> Option<Slot> {
        let waking = || {
            let mut heap = Heap::default();
            for slot in 0..self.nodes.len() {
                self.smallest
                    .key(slot)
                    .into_iter()
                    .for_each(|rank| heap.insert(slot, !rank));
            }
            heap
        };
        self.largest
            .get_or_insert_with(waking)
            .first()
            .map(|(_, slot)| Slot(slot as u32))
    }

    /// Removes the packet with the largest key. Among equal keys, the last arrival.
    pub(crate) fn pop_last(&mut self) -> Option<Packet<T>> {
        let slot = self.last()?;
        self.take(slot)
    }

    /// Removes the packet that arrived last.
    pub(crate) fn pop_newest(&mut self) -> Option<Packet<T>> {
        self.take(Slot(self.newest))
    }

    /// Removes a flow's newest packet. Searches from the newest packet of all: O(n).
    pub(crate) fn pop_newest_of(&mut self, flow: FlowId) -> Option<Packet<T>> {
        let mut slot = self.newest;
        while let Some(node) = self.nodes.get(slot as usize) {
            if node
                .packet
                .as_ref()
                .is_some_and(|packet| packet.flow == flow)
            {
                break;
            }
            slot = node.older;
        }
        self.take(Slot(slot))
    }

    /// Removes the packet in a slot.
    pub(crate) fn take(&mut self, Slot(slot): Slot) -> Option<Packet<T>> {
        let node = self.nodes.get_mut(slot as usize)?;
        let packet = node.packet.take()?;
        let older = node.older;
        let newer = node.newer;
        node.older = core::mem::replace(&mut self.free, slot);
        match self.nodes.get_mut(newer as usize) {
            Some(neighbour) => neighbour.older = older,
            None => self.newest = older,
        }
        if let Some(neighbour) = self.nodes.get_mut(older as usize) {
            neighbour.newer = newer;
        }
        self.smallest.remove(slot as usize);
        if let Some(largest) = &mut self.largest {
            largest.remove(slot as usize);
        }
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len);
        Some(packet)
    }

    fn store(&mut self, node: Node<K, T>) -> u32 {
        let free = self.free;
        if let Some(slot) = self.nodes.get_mut(free as usize) {
            self.free = slot.older;
            *slot = node;
            return free;
        }
        let fresh = self.nodes.len() as u32;
        assert!(fresh != NONE, "fewer than 2^32 - 1 packets can wait");
        self.nodes.push(node);
        fresh
    }

    /// Panics if heaps, list and counts disagree. For `check_invariants`.
    pub(crate) fn check(&self) {
        let mut slot = self.newest;
        let mut after = (NONE, u64::MAX);
        let mut expected = Backlog::default();
        while slot != NONE {
            let node = &self.nodes[slot as usize];
            let packet = node.packet.as_ref().expect("a listed node holds a packet");
            let rank = self
                .smallest
                .key(slot as usize)
                .expect("a packet has a rank");
            let arrival = rank as u64 & ((1 << ARRIVAL_BITS) - 1);
            assert!(
                node.newer == after.0 && arrival < after.1,
                "the list goes from the newest to the oldest"
            );
            assert!(
                rank >> ARRIVAL_BITS == node.key.ordinal(),
                "a packet is ranked by its key"
            );
            assert!(
                self.largest
                    .as_ref()
                    .is_none_or(|heap| heap.key(slot as usize) == Some(!rank)),
                "both ways"
            );
            expected.packets += 1;
            expected.bytes += u64::from(packet.len);
            after = (slot, arrival);
            slot = node.older;
        }
        assert_eq!(self.backlog, expected, "packets and bytes are counted");
        for heap in [&self.smallest].into_iter().chain(&self.largest) {
            heap.check();
            assert_eq!(
                heap.len() as u64,
                expected.packets,
                "each packet stands here once"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Call {
        Push { key: u32, flow: u32 },
        First,
        Last,
        Newest,
        NewestOf(u32),
        Take(usize),
    }

    fn call() -> impl Strategy<Value = Call> {
        prop_oneof![
            6 => (0u32..6, 0u32..4).prop_map(|(key, flow)| Call::Push { key, flow }),
            3 => Just(Call::First),
            1 => Just(Call::Last),
            1 => Just(Call::Newest),
            1 => (0u32..4).prop_map(Call::NewestOf),
            1 => any::<usize>().prop_map(Call::Take),
        ]
    }

    /// Queued packets in a sorted `Vec`: key, number, flow, slot.
    type Model = Vec<(u32, u64, u32, Slot)>;

    fn newest(model: &Model, of: impl Fn(u32) -> bool) -> Option<usize> {
        (0..model.len())
            .filter(|at| of(model[*at].2))
            .max_by_key(|at| model[*at].1)
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_vec(calls in prop::collection::vec(call(), 1..300)) {
            let mut ranked: Ranked<u32, u64> = Ranked::default();
            let mut model: Model = Vec::new();
            for (number, call) in (0..).zip(calls) {
                let (at, taken) = match call {
                    Call::Push { key, flow } => {
                        let slot = ranked.push(key, Packet::new(FlowId(flow), 100 + number as u32, number));
                        let at = model.partition_point(|(other, ..)| *other <= key);
                        model.insert(at, (key, number, flow, slot));
                        (None, None)
                    }
                    Call::First => (Some(0).filter(|_| !model.is_empty()), ranked.pop_first()),
                    Call::Last => (model.len().checked_sub(1), ranked.pop_last()),
                    Call::Newest => (newest(&model, |_| true), ranked.pop_newest()),
                    Call::NewestOf(flow) => (newest(&model, |other| other == flow), ranked.pop_newest_of(FlowId(flow))),
                    Call::Take(at) if !model.is_empty() => {
                        let at = at % model.len();
                        (Some(at), ranked.take(model[at].3))
                    }
                    Call::Take(_) => (None, None),
                };
                let expected = at.map(|at| model.remove(at).1);
                prop_assert_eq!(taken.map(|packet| packet.payload), expected);
                prop_assert_eq!(ranked.first_key(), model.first().map(|(key, ..)| *key));
                let first = ranked.first().map(|(slot, packet)| (slot, packet.payload));
                prop_assert_eq!(first, model.first().map(|(_, number, _, slot)| (*slot, *number)));
                ranked.check();
            }
            prop_assert!(ranked.nodes.len() <= 300);
        }
    }

    #[test]
    fn storage_is_used_again_and_what_is_gone_cannot_be_taken() {
        let mut ranked: Ranked<u32, ()> = Ranked::default();
        let mut last = None;
        for round in 0..100 {
            last = (0..10)
                .map(|number| ranked.push(number * round % 7, Packet::new(FlowId(0), 1, ())))
                .last();
            assert!(ranked.last().is_some());
            while ranked.pop_first().is_some() {}
        }
        assert_eq!(
            (ranked.nodes.len(), ranked.backlog()),
            (10, Backlog::default())
        );
        assert!(ranked.take(last.expect("ten were put in")).is_none());
        assert!(
            ranked.pop_last().is_none()
                && ranked.pop_newest().is_none()
                && ranked.pop_newest_of(FlowId(0)).is_none()
        );
        ranked.check();
    }
}
