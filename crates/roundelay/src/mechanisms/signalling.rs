//! FIFO queue with congestion signals: it marks a packet that is ECN-capable, and drops others.
//!
//! Shared by the disciplines that keep one queue short (`red`, `choke`, `pie`, `sfb`, `afd`,
//! `aifo`), which differ in when they signal.

use alloc::collections::VecDeque;

use crate::drops::DropReason;
use crate::limit::Backlog;
use crate::packet::{Ecn, Packet};
use crate::pool::{Pool, Queue};

/// Packets that wait, first in, first out.
pub trait Waiting<T>: Default {
    /// Appends a packet.
    fn push(&mut self, packet: Packet<T>);
    /// Removes the oldest packet.
    fn pop(&mut self) -> Option<Packet<T>>;
    /// Removes the newest packet.
    fn pop_tail(&mut self) -> Option<Packet<T>>;
    /// Packets and bytes that wait.
    fn backlog(&self) -> Backlog;
    /// Panics if a packet is not in its place, or not counted.
    fn check(&self);
}

/// A queue with a pool of its own.
#[derive(Debug, Clone)]
pub struct OneQueue<T> {
    pool: Pool<T>,
    queue: Queue,
}

impl<T> Default for OneQueue<T> {
    fn default() -> Self {
        Self {
            pool: Pool::default(),
            queue: Queue::EMPTY,
        }
    }
}

impl<T> Waiting<T> for OneQueue<T> {
    #[inline]
    fn push(&mut self, packet: Packet<T>) {
        self.pool.push(&mut self.queue, packet);
    }

    #[inline]
    fn pop(&mut self) -> Option<Packet<T>> {
        self.pool.pop(&mut self.queue)
    }

    fn pop_tail(&mut self) -> Option<Packet<T>> {
        self.pool.pop_tail(&mut self.queue)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn check(&self) {
        self.pool.check_queue(&self.queue);
        let counted = Backlog {
            packets: self.queue.packets().into(),
            bytes: self.queue.bytes(),
        };
        assert_eq!(counted, self.pool.backlog(), "the queue is all that waits");
    }
}

/// The queue, and the dropped packets until the caller takes them.
#[derive(Debug, Clone)]
pub(crate) struct SignallingQueue<T, Q = OneQueue<T>> {
    pub(crate) waiting: Q,
    dropped: VecDeque<(Packet<T>, DropReason)>,
}

impl<T, Q: Waiting<T>> Default for SignallingQueue<T, Q> {
    fn default() -> Self {
        Self {
            waiting: Q::default(),
            dropped: VecDeque::new(),
        }
    }
}

impl<T, Q: Waiting<T>> SignallingQueue<T, Q> {
    #[inline]
    pub(crate) fn push(&mut self, packet: Packet<T>) {
        self.waiting.push(packet);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Packet<T>> {
        self.waiting.pop()
    }

    pub(crate) fn pop_tail(&mut self) -> Option<Packet<T>> {
        self.waiting.pop_tail()
    }

    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }

    /// Shows each queued packet, oldest first.
    pub(crate) fn for_each(&mut self, mut show: impl FnMut(&Packet<T>)) {
        for _ in 0..self.backlog().packets {
            if let Some(packet) = self.pop() {
                show(&packet);
                self.push(packet);
            }
        }
    }

    /// Marks and returns the packet if marking is allowed. Otherwise drops it early.
    #[inline]
    pub(crate) fn signal(&mut self, mut packet: Packet<T>, marks: bool) -> Option<Packet<T>> {
        if marks && mark(&mut packet) {
            return Some(packet);
        }
        self.drop_early(packet);
        None
    }

    pub(crate) fn drop_early(&mut self, packet: Packet<T>) {
        self.dropped.push_back((packet, DropReason::Early));
    }

    #[inline]
    pub(crate) fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
        self.dropped.pop_front()
    }

    pub(crate) fn check(&self) {
        self.waiting.check();
    }
}

/// Marks an ECN-capable packet. Returns whether the packet is marked.
pub(crate) fn mark<T>(packet: &mut Packet<T>) -> bool {
    if packet.ecn == Ecn::Capable {
        packet.ecn = Ecn::Marked;
    }
    packet.ecn == Ecn::Marked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use alloc::vec::Vec;

    #[test]
    fn it_marks_what_may_be_marked_and_drops_the_rest() {
        let mut queue: SignallingQueue<_> = SignallingQueue::default();
        for (number, ecn, marks, stays) in [
            (0, Ecn::NotCapable, true, false),
            (1, Ecn::Capable, true, true),
            (2, Ecn::Capable, false, false),
            (3, Ecn::Marked, true, true),
            (4, Ecn::Marked, false, false),
        ] {
            let left = queue.signal(
                Packet {
                    ecn,
                    ..Packet::new(FlowId(0), 100, number)
                },
                marks,
            );
            assert_eq!(
                left.map(|packet| packet.ecn),
                stays.then_some(Ecn::Marked),
                "packet {number}"
            );
        }
        let dropped: Vec<_> = core::iter::from_fn(|| queue.take_dropped())
            .map(|(packet, _)| packet.payload)
            .collect();
        assert_eq!(dropped, [0, 2, 4]);
    }

    #[test]
    fn showing_all_changes_nothing() {
        let mut queue: SignallingQueue<_> = SignallingQueue::default();
        (0..5).for_each(|number| queue.push(Packet::new(FlowId(0), 100, number)));
        let mut shown = Vec::new();
        queue.for_each(|packet| shown.push(packet.payload));
        queue.check();
        assert_eq!(
            shown,
            core::iter::from_fn(|| queue.pop())
                .map(|packet| packet.payload)
                .collect::<Vec<_>>()
        );
        assert_eq!(shown, [0, 1, 2, 3, 4]);
    }
}
