//! Packets in storage: one pool a scheduler, any number of FIFO queues in it.

use alloc::vec::Vec;

use crate::packet::Packet;
use crate::prefetch::prefetch;

const NONE: u32 = u32::MAX;

/// How much waits: packets and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Backlog {
    /// Whether nothing waits.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.packets == 0
    }
}

/// A packet in storage, by its place and its length: who links to it need not look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Link {
    place: u32,
    len: u32,
}

impl Link {
    const NONE: Self = Self { place: NONE, len: 0 };
}

/// A first-in-first-out queue whose packets live in a [`Pool`]: 24 bytes, to sit inside a flow's record.
///
/// A queue belongs to the pool that it was first used with.
#[derive(Debug, Clone)]
pub struct Queue {
    head: Link,
    tail: u32,
    packets: u32,
    bytes: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Queue {
    /// A queue with nothing in it.
    pub const EMPTY: Self = Self { head: Link::NONE, tail: NONE, packets: 0, bytes: 0 };

    /// Whether no packet waits here.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Bytes of the packet that came first, or zero if none waits. The packet itself is not looked at.
    #[inline]
    pub const fn head_len(&self) -> u32 {
        self.head.len
    }

    /// [`head_len`](Self::head_len), if a packet waits.
    #[inline]
    pub const fn next_len(&self) -> Option<u32> {
        if self.is_empty() { None } else { Some(self.head.len) }
    }

    /// Packets that wait here.
    #[inline]
    pub const fn packets(&self) -> u32 {
        self.packets
    }

    /// Bytes that wait here.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that wait here, at least one a packet, so that it is zero only if none waits: by this the longest queue is found.
    #[inline]
    pub const fn size(&self) -> u64 {
        let packets = self.packets as u64;
        if self.bytes > packets { self.bytes } else { packets }
    }

    /// [`size`](Self::size) of what waits behind the packet that came first. There must be one.
    #[inline]
    pub(crate) const fn size_behind_head(&self) -> u64 {
        let (packets, bytes) = (self.packets as u64 - 1, self.bytes - self.head.len as u64);
        if bytes > packets { bytes } else { packets }
    }
}

/// A packet and its neighbours, in a cache line of their own if the packet has no more than 48 bytes.
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
    const FREE: Self = Self { packet: None, next: Link::NONE, previous: NONE };
}

/// Storage for the packets of one scheduler, and the one place where its backlog is counted.
///
/// Storage of packets that have left is used again, last out first in, so that it grows with the largest backlog and nothing is
/// allocated after that. What is free is known ahead, in an array: who is about to push several packets can ask for their places.
#[derive(Debug, Clone)]
pub struct Pool<T> {
    nodes: Vec<Node<T>>,
    /// Places of nodes without a packet; the last one is used next. It has room for all there are.
    free: Vec<u32>,
    bytes: u64,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), bytes: 0 }
    }
}

impl<T> Pool<T> {
    /// Places that are few enough to stay in a near cache, where nothing is gained by asking for them: 256 KiB.
    const NEAR: usize = (1 << 18) / size_of::<Node<u32>>();

    /// What waits in all queues of this pool.
    #[inline]
    pub const fn backlog(&self) -> Backlog {
        Backlog { packets: (self.nodes.len() - self.free.len()) as u64, bytes: self.bytes }
    }

    /// Bytes of storage for one packet, links and its place among the free ones included.
    pub const fn bytes_per_packet() -> usize {
        size_of::<Node<T>>() + size_of::<u32>()
    }

    /// Whether so much is stored that it pays to ask for packets before they are needed, with the `prefetch` calls.
    #[inline]
    pub const fn is_far(&self) -> bool {
        self.nodes.len() > Self::NEAR
    }

    /// Asks for the packet that came first, which [`pop`](Self::pop) takes.
    #[inline]
    pub fn prefetch_head(&self, queue: &Queue) {
        prefetch(&self.nodes, queue.head.place as usize);
    }

    /// Asks for the packet so many links behind the one that came first, if all of them together have no more than `most` bytes. Those before
    /// it are looked at, and so should be there.
    #[inline]
    pub(crate) fn prefetch_behind_head(&self, queue: &Queue, links: usize, most: u32) {
        let (mut link, mut bytes) = (queue.head, u64::from(queue.head.len));
        for _ in 0..links {
            let Some(node) = self.nodes.get(link.place as usize) else { return };
            link = node.next;
            bytes += u64::from(link.len);
            if bytes > most.into() {
                return;
            }
        }
        prefetch(&self.nodes, link.place as usize);
    }

    /// Asks for the packet that came last, to which [`push`](Self::push) links the next one.
    #[inline]
    pub fn prefetch_tail(&self, queue: &Queue) {
        prefetch(&self.nodes, queue.tail as usize);
    }

    /// Asks for the places of the next `packets` packets that are pushed.
    #[inline]
    pub fn prefetch_free(&self, packets: usize) {
        for place in self.free.iter().rev().take(packets) {
            prefetch(&self.nodes, *place as usize);
        }
    }

    /// Appends a packet.
    #[inline(always)]
    pub fn push(&mut self, queue: &mut Queue, packet: Packet<T>) {
        let len = packet.len;
        let place = match self.free.pop() {
            Some(place) => place,
            None => self.add_place(),
        };
        let link = Link { place, len };
        let nodes = self.nodes.as_mut_slice();
        match nodes.get_mut(queue.tail as usize) {
            Some(tail) => tail.next = link,
            None => queue.head = link,
        }
        nodes[place as usize] = Node { packet: Some(packet), next: Link::NONE, previous: queue.tail };
        queue.tail = place;
        queue.packets += 1;
        queue.bytes += u64::from(len);
        self.bytes += u64::from(len);
    }

    /// Takes the packet that came first.
    #[inline(always)]
    pub fn pop(&mut self, queue: &mut Queue) -> Option<Packet<T>> {
        let Link { place, len } = queue.head;
        let node = self.nodes.get_mut(place as usize)?;
        queue.head = node.next;
        queue.packets -= 1;
        if queue.packets == 0 {
            queue.tail = NONE;
        }
        queue.bytes -= u64::from(len);
        self.bytes -= u64::from(len);
        self.free.push(place);
        // Last, as it moves the packet to where the caller wants it.
        node.packet.take()
    }

    /// Takes the packet that came last.
    #[inline]
    pub fn pop_tail(&mut self, queue: &mut Queue) -> Option<Packet<T>> {
        let place = queue.tail;
        let node = self.nodes.get_mut(place as usize)?;
        let (packet, previous) = (node.packet.take()?, node.previous);
        queue.packets -= 1;
        match self.nodes.get_mut(previous as usize) {
            Some(node) if queue.packets > 0 => {
                node.next = Link::NONE;
                queue.tail = previous;
            }
            _ => (queue.head, queue.tail) = (Link::NONE, NONE),
        }
        queue.bytes -= u64::from(packet.len);
        self.bytes -= u64::from(packet.len);
        self.free.push(place);
        Some(packet)
    }

    /// The packet that came first.
    #[inline]
    pub fn head(&self, queue: &Queue) -> Option<&Packet<T>> {
        self.nodes.get(queue.head.place as usize)?.packet.as_ref()
    }

    #[cold]
    #[inline(never)]
    fn add_place(&mut self) -> u32 {
        let fresh = self.nodes.len() as u32;
        assert!(fresh != NONE, "a pool holds fewer than 2^32 - 1 packets");
        self.nodes.push(Node::FREE);
        self.free.reserve(self.nodes.len());
        fresh
    }

    /// Walks a queue and panics if its links, its counts or its packets are not what they should be. For `check_invariants`.
    pub fn check_queue(&self, queue: &Queue) {
        let (mut at, mut before, mut packets, mut bytes) = (queue.head, NONE, 0u32, 0u64);
        while at != Link::NONE {
            let node = &self.nodes[at.place as usize];
            let packet = node.packet.as_ref().expect("a queued node holds a packet");
            assert_eq!(packet.len, at.len, "a link knows the length of what it links to");
            assert!(before == NONE || node.previous == before, "links of the queue agree in both directions");
            packets += 1;
            bytes += u64::from(packet.len);
            (before, at) = (at.place, node.next);
        }
        assert_eq!(before, queue.tail, "the queue ends at its tail");
        assert_eq!((packets, bytes), (queue.packets, queue.bytes), "the queue's counts are those of its packets");
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
        let (mut a, mut b) = (Queue::default(), Queue::default());
        for len in 1..=4 {
            pool.push(if len % 2 == 0 { &mut a } else { &mut b }, packet(len));
        }
        assert_eq!(pool.backlog(), Backlog { packets: 4, bytes: 10 });
        assert_eq!(pool.pop(&mut a).map(|p| p.len), Some(2));
        assert_eq!(pool.pop_tail(&mut b).map(|p| p.len), Some(3));
        pool.check_queue(&a);
        pool.check_queue(&b);
        for len in 5..=6 {
            pool.push(&mut a, packet(len));
        }
        assert_eq!(pool.nodes.len(), 4, "storage is used again");
        assert_eq!(core::iter::from_fn(|| pool.pop(&mut a)).map(|p| p.len).collect::<Vec<_>>(), [4, 5, 6]);
        assert_eq!(pool.pop(&mut a), None);
        assert_eq!(pool.pop_tail(&mut a), None);
        assert_eq!(pool.head(&b).map(|p| p.len), Some(1));
        pool.check_queue(&b);
        assert_eq!(pool.backlog(), Backlog { packets: 1, bytes: 1 });
    }

    #[test]
    fn a_queue_knows_the_length_of_its_head() {
        let mut pool = Pool::default();
        let mut queue = Queue::default();
        let mut lens = alloc::collections::VecDeque::new();
        for step in 0..300u32 {
            let (first, last) = match step * 7 % 11 {
                0..3 => (pool.pop(&mut queue).map(|packet| packet.len), lens.pop_front()),
                3 | 4 => (pool.pop_tail(&mut queue).map(|packet| packet.len), lens.pop_back()),
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
    fn a_place_is_one_cache_line() {
        assert_eq!((size_of::<Node<u32>>(), align_of::<Node<u32>>()), (64, 64));
        assert_eq!(size_of::<Queue>(), 24);
    }

    #[test]
    fn an_option_of_a_packet_costs_nothing() {
        assert_eq!(size_of::<Option<Packet<u64>>>(), size_of::<Packet<u64>>());
    }
}
