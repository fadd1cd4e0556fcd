//! Packet storage: one pool for each scheduler, with any number of FIFO queues.
//!
//! A pool either holds packets by value, each with its links in a slot ([`Nodes`]), or orders
//! handles, with links in a table indexed by the handle ([`Links`](crate::author::Links)). The
//! choice is a type parameter ([`Storage`]), so a discipline is written once and compiled for both.

use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::drops::Refusal;
use crate::handle::Leaving;
use crate::limit::Backlog;
use crate::packet::{Ecn, FlowId, Packet};
use crate::prefetch::prefetch;
use crate::time::Instant;

pub(crate) const NONE: u32 = u32::MAX;

/// Bytes that stay in a near cache, where prefetching gains nothing.
const NEAR_CACHE: usize = 1 << 18;
/// Bytes that stay in a small machine's last cache, where the processor itself waits for several
/// packets at once.
const LAST_CACHE: usize = 1 << 22;

/// Packet data that AQM needs at departure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age {
    /// Arrival time.
    pub(crate) arrival: Instant,
    /// The ECN field, which says whether the packet may be marked.
    pub(crate) ecn: Ecn,
}

/// A link to a stored packet: slot and length. The length is known without a look at the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    pub(crate) slot: u32,
    pub(crate) len: u32,
}

impl Link {
    pub(crate) const NONE: Self = Self { slot: NONE, len: 0 };
}

/// A first-in-first-out queue whose packets live in a [`Pool`]: 24 bytes, to sit inside a flow's
/// record.
///
/// A queue belongs to the pool that it was first used with.
#[derive(Debug, Clone)]
pub struct Queue {
    pub(crate) head: Link,
    pub(crate) tail: u32,
    pub(crate) packets: u32,
    bytes: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Queue {
    /// An empty queue.
    pub const EMPTY: Self = Self {
        head: Link::NONE,
        tail: NONE,
        packets: 0,
        bytes: 0,
    };

    /// Whether the queue has no packet.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Bytes of the head packet, or zero if the queue is empty. The packet itself is not read.
    #[inline]
    pub const fn head_len(&self) -> u32 {
        self.head.len
    }

    /// [`head_len`](Self::head_len), or None if the queue is empty.
    #[inline]
    pub const fn next_len(&self) -> Option<u32> {
        if self.is_empty() {
            None
        } else {
            Some(self.head.len)
        }
    }

    /// Packets in the queue.
    #[inline]
    pub const fn packets(&self) -> u32 {
        self.packets
    }

    /// Bytes in the queue.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Size for finding the longest queue: bytes, but at least one for each packet, so that it is
    /// zero only for an empty queue.
    #[inline]
    pub const fn size(&self) -> u64 {
        let packets = self.packets as u64;
        if self.bytes > packets {
            self.bytes
        } else {
            packets
        }
    }

    /// [`size`](Self::size) without the head packet. The queue must not be empty.
    #[inline]
    pub(crate) const fn size_behind_head(&self) -> u64 {
        let packets = self.packets as u64 - 1;
        let bytes = self.bytes - self.head.len as u64;
        if bytes > packets { bytes } else { packets }
    }
}

/// A packet and its neighbours, in one cache line for packets of up to 48 bytes.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Node<T> {
    packet: Option<Packet<T>>,
    /// Towards the tail.
    next: Link,
    /// Towards the head. Stale in the head itself.
    previous: u32,
}

impl<T> Node<T> {
    const FREE: Self = Self {
        packet: None,
        next: Link::NONE,
        previous: NONE,
    };
}

/// Storage for a pool's packets. There are two implementations: [`Nodes`] holds the packets
/// themselves, [`Links`](crate::author::Links) holds links to packets that the caller keeps.
///
/// The [`Pool`] passes in the queues and counts their bytes.
pub trait Storage<T>: sealed::Sealed + Default {
    /// What a dequeue returns: the packet, or a [`Departure`](crate::Departure).
    type Leaving: Leaving;

    /// Bytes for one packet, links included.
    const BYTES_PER_PACKET: usize;

    /// Packets in storage.
    #[doc(hidden)]
    fn packets(&self) -> u64;

    /// Slots in the table that a packet's links are read from, and one slot's bytes.
    #[doc(hidden)]
    fn slots(&self) -> usize;
    #[doc(hidden)]
    const BYTES_PER_SLOT: usize;

    /// Prefetches a slot.
    #[doc(hidden)]
    fn prefetch(&self, slot: u32);

    /// Prefetches the slots of the next `packets` pushes, as far as known.
    #[doc(hidden)]
    fn prefetch_free(&self, packets: usize);

    /// A packet's neighbours: towards the tail, towards the head.
    #[doc(hidden)]
    fn neighbours(&self, slot: u32) -> Option<(Link, u32)>;

    /// Makes a slot for this packet. Returns whether there is one.
    #[doc(hidden)]
    fn make_room(&mut self, packet: &Packet<T>) -> bool;

    /// Links a packet to the end of a queue. The caller updates the queue's counts.
    #[doc(hidden)]
    fn push(&mut self, queue: &mut Queue, packet: Packet<T>);

    /// Removes the head packet and updates the queue's packet count.
    #[doc(hidden)]
    fn pop(&mut self, queue: &mut Queue) -> Option<Self::Leaving>;

    /// Removes the tail packet and updates the queue's packet count. Also returns the packet's
    /// length.
    #[doc(hidden)]
    fn pop_tail(&mut self, queue: &mut Queue) -> Option<(Self::Leaving, u32)>;

    /// Removes a packet that is neither head nor tail, and updates the queue's packet count. Also
    /// returns the packet's length.
    #[doc(hidden)]
    fn remove_inner(&mut self, queue: &mut Queue, slot: u32) -> Option<(Self::Leaving, u32)>;

    /// Moves the head packet of `from` to the end of `to`, and updates `from`'s packet count. The
    /// caller updates `to`'s.
    #[doc(hidden)]
    fn move_head(&mut self, from: &mut Queue, to: &mut Queue) -> bool;

    /// Sets the length of a queued packet, which only a packet by value has.
    #[doc(hidden)]
    fn set_len(&mut self, _slot: u32, _len: u32) {}

    /// A queued packet's flow, if recorded.
    #[doc(hidden)]
    fn flow(&self, slot: u32) -> Option<FlowId>;

    /// A queued packet's arrival time and ECN field, if recorded.
    #[doc(hidden)]
    fn age(&self, slot: u32) -> Option<Age>;

    /// Panics if this slot does not hold a packet as long as the link says.
    #[doc(hidden)]
    fn check(&self, link: Link);
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// Packets by value, each with its links in one cache line.
///
/// Slots of departed packets are reused, last out first in, so storage grows to the largest backlog
/// and is not reallocated after. The free slots are an array, so a caller about to push several
/// packets can prefetch them.
#[derive(Debug, Clone)]
pub struct Nodes<T> {
    nodes: Vec<Node<T>>,
    /// Slots without a packet, of which the last one is used next. Capacity for all slots.
    free: Vec<u32>,
}

impl<T> Default for Nodes<T> {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Nodes<T> {
    #[cold]
    #[inline(never)]
    fn add_slot(&mut self) -> u32 {
        let fresh = self.nodes.len() as u32;
        assert!(fresh != NONE, "a pool holds fewer than 2^32 - 1 packets");
        self.nodes.push(Node::FREE);
        self.free.reserve(self.nodes.len());
        fresh
    }

    #[inline]
    fn packet(&self, slot: u32) -> Option<&Packet<T>> {
        self.nodes.get(slot as usize)?.packet.as_ref()
    }
}

impl<T> sealed::Sealed for Nodes<T> {}

impl<T> Storage<T> for Nodes<T> {
    type Leaving = Packet<T>;

    /// Includes the entry in `free`.
    const BYTES_PER_PACKET: usize = size_of::<Node<T>>() + size_of::<u32>();

    const BYTES_PER_SLOT: usize = size_of::<Node<T>>();

    #[inline]
    fn packets(&self) -> u64 {
        (self.nodes.len() - self.free.len()) as u64
    }

    #[inline]
    fn slots(&self) -> usize {
        self.nodes.len()
    }

    #[inline(always)]
    fn prefetch(&self, slot: u32) {
        prefetch(&self.nodes, slot as usize);
    }

    #[inline]
    fn prefetch_free(&self, packets: usize) {
        for slot in self.free.iter().rev().take(packets) {
            prefetch(&self.nodes, *slot as usize);
        }
    }

    #[inline(always)]
    fn neighbours(&self, slot: u32) -> Option<(Link, u32)> {
        self.nodes
            .get(slot as usize)
            .map(|node| (node.next, node.previous))
    }

    #[inline(always)]
    fn make_room(&mut self, _packet: &Packet<T>) -> bool {
        true
    }

    #[inline(always)]
    fn push(&mut self, queue: &mut Queue, packet: Packet<T>) {
        let len = packet.len;
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => self.add_slot(),
        };
        let link = Link { slot, len };
        let nodes = self.nodes.as_mut_slice();
        match nodes.get_mut(queue.tail as usize) {
            Some(tail) => tail.next = link,
            None => queue.head = link,
        }
        nodes[slot as usize] = Node {
            packet: Some(packet),
            next: Link::NONE,
            previous: queue.tail,
        };
        queue.tail = slot;
    }

    #[inline(always)]
    fn pop(&mut self, queue: &mut Queue) -> Option<Packet<T>> {
        let slot = queue.head.slot;
        let node = self.nodes.get_mut(slot as usize)?;
        queue.head = node.next;
        queue.packets -= 1;
        if queue.packets == 0 {
            queue.tail = NONE;
        }
        self.free.push(slot);
        // Last, as `take` moves the packet directly to the caller's memory.
        node.packet.take()
    }

    #[inline]
    fn pop_tail(&mut self, queue: &mut Queue) -> Option<(Packet<T>, u32)> {
        let slot = queue.tail;
        let node = self.nodes.get_mut(slot as usize)?;
        let packet = node.packet.take()?;
        let previous = node.previous;
        queue.packets -= 1;
        match self.nodes.get_mut(previous as usize) {
            Some(node) if queue.packets > 0 => {
                node.next = Link::NONE;
                queue.tail = previous;
            }
            _ => (queue.head, queue.tail) = (Link::NONE, NONE),
        }
        self.free.push(slot);
        let len = packet.len;
        Some((packet, len))
    }

    fn remove_inner(&mut self, queue: &mut Queue, slot: u32) -> Option<(Packet<T>, u32)> {
        let node = self.nodes.get_mut(slot as usize)?;
        let packet = node.packet.take()?;
        let (next, previous) = (node.next, node.previous);
        self.nodes[previous as usize].next = next;
        self.nodes[next.slot as usize].previous = previous;
        queue.packets -= 1;
        self.free.push(slot);
        let len = packet.len;
        Some((packet, len))
    }

    fn move_head(&mut self, from: &mut Queue, to: &mut Queue) -> bool {
        self.pop(from).map(|packet| self.push(to, packet)).is_some()
    }

    fn set_len(&mut self, slot: u32, len: u32) {
        let node = self.nodes.get_mut(slot as usize);
        if let Some(packet) = node.and_then(|node| node.packet.as_mut()) {
            packet.len = len;
        }
    }

    #[inline]
    fn flow(&self, slot: u32) -> Option<FlowId> {
        self.packet(slot).map(|packet| packet.flow)
    }

    #[inline]
    fn age(&self, slot: u32) -> Option<Age> {
        self.packet(slot).map(|packet| Age {
            arrival: packet.arrival,
            ecn: packet.ecn,
        })
    }

    fn check(&self, link: Link) {
        let packet = self
            .packet(link.slot)
            .expect("a queued node holds a packet");
        assert_eq!(
            packet.len, link.len,
            "a link knows the length of what it links to"
        );
    }
}

/// Storage for one scheduler's packets, with the only count of the backlog. By value by default,
/// by handle with [`Links`](crate::author::Links) for `P`.
#[derive(Debug, Clone)]
pub struct Pool<T, P = Nodes<T>> {
    storage: P,
    bytes: u64,
    carries: PhantomData<T>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self::empty()
    }
}

impl<T> Pool<T> {
    /// Bytes of storage for one packet, including links and the entry in the free list.
    pub const fn bytes_per_packet() -> usize {
        Nodes::<T>::BYTES_PER_PACKET
    }

    /// A queue's head packet.
    #[inline]
    pub fn head(&self, queue: &Queue) -> Option<&Packet<T>> {
        self.storage.packet(queue.head.slot)
    }
}

impl<T, P: Storage<T>> Pool<T, P> {
    /// An empty pool.
    pub fn empty() -> Self {
        Self {
            storage: P::default(),
            bytes: 0,
            carries: PhantomData,
        }
    }

    /// Backlog of all queues in this pool.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.storage.packets(),
            bytes: self.bytes,
        }
    }

    /// Whether the storage exceeds a near cache, so that the `prefetch` calls for a burst pay.
    #[inline]
    pub fn is_far(&self) -> bool {
        self.storage.slots() > NEAR_CACHE / P::BYTES_PER_SLOT
    }

    /// Whether the storage exceeds a share of the last cache, so that prefetching for a single call
    /// pays.
    #[inline]
    pub fn is_very_far(&self) -> bool {
        self.storage.slots() > LAST_CACHE / P::BYTES_PER_SLOT
    }

    /// Prefetches the head packet, for [`pop`](Self::pop).
    #[inline]
    pub fn prefetch_head(&self, queue: &Queue) {
        self.storage.prefetch(queue.head.slot);
    }

    /// Prefetches the packet `links` links behind the head, if all packets up to it have at most
    /// `most` bytes together. The packets before it are read and should be in the cache.
    #[inline]
    pub(crate) fn prefetch_behind_head(&self, queue: &Queue, links: usize, most: u32) {
        let mut link = queue.head;
        let mut bytes = u64::from(queue.head.len);
        for _ in 0..links {
            let Some((next, _)) = self.storage.neighbours(link.slot) else {
                return;
            };
            link = next;
            bytes += u64::from(link.len);
            if bytes > most.into() {
                return;
            }
        }
        self.storage.prefetch(link.slot);
    }

    /// Prefetches the tail packet, to which [`push`](Self::push) links the next one.
    #[inline]
    pub fn prefetch_tail(&self, queue: &Queue) {
        self.storage.prefetch(queue.tail);
    }

    /// Prefetches the slots of the next `packets` pushes.
    #[inline]
    pub fn prefetch_free(&self, packets: usize) {
        self.storage.prefetch_free(packets);
    }

    /// Makes room for this packet, before it is pushed.
    ///
    /// # Errors
    /// Its handle is beyond [`Handle::LARGEST`](crate::Handle::LARGEST).
    #[inline(always)]
    pub fn make_room_for(&mut self, packet: &Packet<T>) -> Result<(), Refusal> {
        if self.storage.make_room(packet) {
            Ok(())
        } else {
            Err(Refusal::HandleNumber)
        }
    }

    /// Appends a packet. Requires [room](Self::make_room_for).
    #[inline(always)]
    pub fn push(&mut self, queue: &mut Queue, packet: Packet<T>) {
        let len = packet.len;
        self.storage.push(queue, packet);
        queue.packets += 1;
        queue.bytes += u64::from(len);
        self.bytes += u64::from(len);
    }

    /// Appends a packet that a hierarchy's node got from a child.
    ///
    /// # Panics
    /// The packet has no [room](Self::make_room_for).
    #[inline(always)]
    pub(crate) fn refill(&mut self, queue: &mut Queue, packet: Packet<T>) {
        assert!(
            self.make_room_for(&packet).is_ok(),
            "a refilled packet fits"
        );
        self.push(queue, packet);
    }

    /// Removes the head packet.
    #[inline(always)]
    pub fn pop(&mut self, queue: &mut Queue) -> Option<P::Leaving> {
        let len = u64::from(queue.head.len);
        queue.bytes -= len;
        self.bytes -= len;
        self.storage.pop(queue)
    }

    /// Sets the length of the head packet, which is by value and stands for a child of a tree's
    /// class.
    pub(crate) fn set_head_len(&mut self, queue: &mut Queue, len: u32) {
        if queue.is_empty() {
            return;
        }
        let before = u64::from(queue.head.len);
        queue.bytes = queue.bytes - before + u64::from(len);
        self.bytes = self.bytes - before + u64::from(len);
        queue.head.len = len;
        self.storage.set_len(queue.head.slot, len);
    }

    /// Moves one queue's head packet to the end of another. False if there is none.
    pub(crate) fn move_head(&mut self, from: &mut Queue, to: &mut Queue) -> bool {
        let len = u64::from(from.head.len);
        let moves = self.storage.move_head(from, to);
        if moves {
            from.bytes -= len;
            (to.packets, to.bytes) = (to.packets + 1, to.bytes + len);
        }
        moves
    }

    /// Removes the tail packet.
    #[inline]
    pub fn pop_tail(&mut self, queue: &mut Queue) -> Option<P::Leaving> {
        let (packet, len) = self.storage.pop_tail(queue)?;
        queue.bytes -= u64::from(len);
        self.bytes -= u64::from(len);
        Some(packet)
    }

    /// Removes a slot's packet from its queue, wherever it stands. Also returns the packet's
    /// length.
    pub(crate) fn remove(&mut self, queue: &mut Queue, slot: u32) -> Option<(P::Leaving, u32)> {
        if slot == queue.head.slot {
            let len = queue.head.len;
            return Some((self.pop(queue)?, len));
        }
        let (packet, len) = if slot == queue.tail {
            self.storage.pop_tail(queue)?
        } else {
            self.storage.remove_inner(queue, slot)?
        };
        queue.bytes -= u64::from(len);
        self.bytes -= u64::from(len);
        Some((packet, len))
    }

    /// The link from a queued packet to the one behind it.
    #[inline]
    pub(crate) fn behind(&self, slot: u32) -> Option<Link> {
        self.storage.neighbours(slot).map(|(next, _)| next)
    }

    /// The head packet's flow. By handle only if the discipline has flows recorded.
    #[inline]
    pub(crate) fn head_flow(&self, queue: &Queue) -> Option<FlowId> {
        self.storage.flow(queue.head.slot)
    }

    /// The head packet's arrival time and ECN field. By handle only if the discipline has ages
    /// recorded.
    #[inline]
    pub(crate) fn head_age(&self, queue: &Queue) -> Option<Age> {
        self.storage.age(queue.head.slot)
    }

    /// Walks a queue and panics if links, counts or packets disagree. For `check_invariants`.
    pub fn check_queue(&self, queue: &Queue) {
        let mut at = queue.head;
        let mut before = NONE;
        let mut packets = 0u32;
        let mut bytes = 0u64;
        while at != Link::NONE {
            self.storage.check(at);
            let (next, previous) = self
                .storage
                .neighbours(at.slot)
                .expect("a link leads to a place");
            assert!(
                before == NONE || previous == before,
                "links of the queue agree in both directions"
            );
            packets += 1;
            bytes += u64::from(at.len);
            (before, at) = (at.slot, next);
        }
        assert_eq!(before, queue.tail, "the queue ends at its tail");
        assert_eq!(
            (packets, bytes),
            (queue.packets, queue.bytes),
            "the queue's counts are those of its packets"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;

    fn packet(len: u32) -> Packet<u32> {
        Packet::new(FlowId(0), len, len)
    }

    #[test]
    fn two_queues_share_a_pool_and_its_storage() {
        let mut pool = Pool::default();
        let mut a = Queue::default();
        let mut b = Queue::default();
        for len in 1..=4 {
            pool.push(if len % 2 == 0 { &mut a } else { &mut b }, packet(len));
        }
        assert_eq!(
            pool.backlog(),
            Backlog {
                packets: 4,
                bytes: 10
            }
        );
        assert_eq!(pool.pop(&mut a).map(|p| p.len), Some(2));
        assert_eq!(pool.pop_tail(&mut b).map(|p| p.len), Some(3));
        pool.check_queue(&a);
        pool.check_queue(&b);
        for len in 5..=6 {
            pool.push(&mut a, packet(len));
        }
        assert_eq!(pool.storage.nodes.len(), 4, "storage is used again");
        assert_eq!(
            core::iter::from_fn(|| pool.pop(&mut a))
                .map(|p| p.len)
                .collect::<Vec<_>>(),
            [4, 5, 6]
        );
        assert_eq!(pool.pop(&mut a), None);
        assert_eq!(pool.pop_tail(&mut a), None);
        assert_eq!(pool.head(&b).map(|p| p.len), Some(1));
        pool.check_queue(&b);
        assert_eq!(
            pool.backlog(),
            Backlog {
                packets: 1,
                bytes: 1
            }
        );
    }

    #[test]
    fn a_queue_knows_the_length_of_its_head() {
        let mut pool = Pool::default();
        let mut queue = Queue::default();
        let mut lens = alloc::collections::VecDeque::new();
        for step in 0..300u32 {
            let (first, last) = match step * 7 % 11 {
                0..3 => (
                    pool.pop(&mut queue).map(|packet| packet.len),
                    lens.pop_front(),
                ),
                3 | 4 => (
                    pool.pop_tail(&mut queue).map(|packet| packet.len),
                    lens.pop_back(),
                ),
                _ => {
                    pool.push(&mut queue, packet(step));
                    lens.push_back(step);
                    (None, None)
                }
            };
            assert_eq!(first, last);
            assert_eq!(queue.head_len(), lens.front().copied().unwrap_or(0));
            pool.check_queue(&queue);
        }
        assert!(lens.len() > 20);
    }

    #[test]
    fn a_packet_leaves_from_the_middle() {
        let mut pool = Pool::default();
        let mut queue = Queue::default();
        for len in 1..=5 {
            pool.push(&mut queue, packet(len));
        }
        // In a fresh pool, packets have the slots 0 to 4.
        for (slot, len) in [(2, 3), (0, 1), (4, 5), (3, 4), (1, 2)] {
            let removed = pool.remove(&mut queue, slot);
            assert_eq!(
                removed.map(|(packet, len)| (packet.len, len)),
                Some((len, len))
            );
            pool.check_queue(&queue);
        }
        assert!(queue.is_empty() && pool.backlog().is_empty());
    }

    #[test]
    fn a_slot_is_one_cache_line() {
        assert_eq!((size_of::<Node<u32>>(), align_of::<Node<u32>>()), (64, 64));
        assert_eq!(size_of::<Queue>(), 24);
    }

    #[test]
    fn an_option_of_a_packet_costs_nothing() {
        assert_eq!(size_of::<Option<Packet<u64>>>(), size_of::<Packet<u64>>());
    }
}
