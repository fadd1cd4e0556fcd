//! Packets in storage: one pool a scheduler, any number of FIFO queues in it.

use alloc::vec::Vec;

use crate::packet::Packet;

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

    #[inline]
    const fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += len as u64;
    }

    #[inline]
    const fn subtract(&mut self, len: u32) {
        self.packets -= 1;
        self.bytes -= len as u64;
    }
}

/// A first-in-first-out queue whose packets live in a [`Pool`]: 24 bytes, to sit inside a flow's record.
///
/// A queue belongs to the pool that it was first used with.
#[derive(Debug, Clone)]
pub struct Queue {
    head: u32,
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
    pub const EMPTY: Self = Self { head: NONE, tail: NONE, packets: 0, bytes: 0 };

    /// Whether no packet waits here.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.head == NONE
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
}

#[derive(Debug, Clone)]
struct Node<T> {
    packet: Option<Packet<T>>,
    /// Towards the tail; in the free list, the next free node.
    next: u32,
    /// Towards the head. Stale in the head itself.
    previous: u32,
}

/// Storage for the packets of one scheduler, and the one place where its backlog is counted.
///
/// Storage of packets that have left is used again, last out first in, so that it grows with the largest backlog and nothing is
/// allocated after that.
#[derive(Debug, Clone)]
pub struct Pool<T> {
    nodes: Vec<Node<T>>,
    free: u32,
    backlog: Backlog,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: NONE, backlog: Backlog::default() }
    }
}

impl<T> Pool<T> {
    /// What waits in all queues of this pool.
    #[inline]
    pub const fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Bytes of storage for one packet, links included.
    pub const fn bytes_per_packet() -> usize {
        size_of::<Node<T>>()
    }

    /// Appends a packet.
    #[inline]
    pub fn push(&mut self, queue: &mut Queue, packet: Packet<T>) {
        let len = packet.len;
        let node = self.store(packet, queue.tail);
        if queue.tail == NONE {
            queue.head = node;
        } else {
            self.nodes[queue.tail as usize].next = node;
        }
        queue.tail = node;
        queue.packets += 1;
        queue.bytes += u64::from(len);
        self.backlog.add(len);
    }

    /// Takes the packet that came first.
    #[inline]
    pub fn pop(&mut self, queue: &mut Queue) -> Option<Packet<T>> {
        let head = queue.head;
        let node = self.nodes.get_mut(head as usize)?;
        let packet = node.packet.take()?;
        if head == queue.tail {
            queue.head = NONE;
            queue.tail = NONE;
        } else {
            queue.head = node.next;
        }
        node.next = self.free;
        self.free = head;
        self.forget(queue, packet.len);
        Some(packet)
    }

    /// Takes the packet that came last.
    #[inline]
    pub fn pop_tail(&mut self, queue: &mut Queue) -> Option<Packet<T>> {
        let tail = queue.tail;
        let node = self.nodes.get_mut(tail as usize)?;
        let packet = node.packet.take()?;
        if tail == queue.head {
            queue.head = NONE;
            queue.tail = NONE;
        } else {
            queue.tail = node.previous;
        }
        node.next = self.free;
        self.free = tail;
        self.forget(queue, packet.len);
        Some(packet)
    }

    /// The packet that came first.
    #[inline]
    pub fn head(&self, queue: &Queue) -> Option<&Packet<T>> {
        self.nodes.get(queue.head as usize)?.packet.as_ref()
    }

    #[inline]
    fn store(&mut self, packet: Packet<T>, previous: u32) -> u32 {
        let node = Node { packet: Some(packet), next: NONE, previous };
        let free = self.free;
        if let Some(place) = self.nodes.get_mut(free as usize) {
            self.free = place.next;
            *place = node;
            return free;
        }
        let fresh = self.nodes.len() as u32;
        assert!(fresh != NONE, "a pool holds fewer than 2^32 - 1 packets");
        self.nodes.push(node);
        fresh
    }

    #[inline]
    fn forget(&mut self, queue: &mut Queue, len: u32) {
        queue.packets -= 1;
        queue.bytes -= u64::from(len);
        self.backlog.subtract(len);
    }

    /// Walks a queue and panics if its links, its counts or its packets are not what they should be. For `check_invariants`.
    pub fn check_queue(&self, queue: &Queue) {
        let (mut at, mut before, mut packets, mut bytes) = (queue.head, NONE, 0u32, 0u64);
        while at != NONE {
            let node = &self.nodes[at as usize];
            let packet = node.packet.as_ref().expect("a queued node holds a packet");
            assert!(before == NONE || node.previous == before, "links of the queue agree in both directions");
            packets += 1;
            bytes += u64::from(packet.len);
            before = at;
            at = if at == queue.tail { NONE } else { node.next };
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
    fn an_option_of_a_packet_costs_nothing() {
        assert_eq!(size_of::<Option<Packet<u64>>>(), size_of::<Packet<u64>>());
    }
}
