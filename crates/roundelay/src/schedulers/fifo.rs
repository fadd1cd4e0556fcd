//! FIFO: first in, first out, with drop tail. The default for a queue without a chosen discipline.
//!
//! All packets wait in one queue in order of arrival. A full buffer drops the arriving packet. FIFO
//! costs nothing and limits no flow, so a flow with more than its share delays all others by as
//! much as the buffer holds.
//!
//! Source: tc-pfifo(8), tc-bfifo(8): the limit counts packets (`limit 1000`) or bytes (`limit
//! 150kb`).
//!
//! | guarantee | value | test |
//! |---|---|---|
//! | order | packets leave in order of arrival, over all flows | `theorems/fifo.rs` |
//! | delay | at most the buffer's bytes at the link's rate | `theorems/fifo.rs` |
//! | fairness | none | `theorems/fifo.rs` shows a flow starving another |
//!
//! Cost: O(1), no state per flow. Packets are contiguous in memory, in order of arrival, so access
//! is sequential.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::author::{
    Backlog, ConfigError, Configured, Control, Discipline, DropReason, Handle, Instant, Linux,
    LinuxFlows, LinuxLimit, Packet, Queues, Refused, Scheduler, Seed, prefetch,
};
use crate::mechanisms::line::{InLine, Waits};

/// FIFO has no parameters besides the buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "fifo";
    const ABOUT: &'static str = "first in, first out, with drop tail";
    const SOURCE: &'static str = "tc-pfifo(8), tc-bfifo(8)";
    const LINUX: Linux = Linux::Qdisc {
        name: "pfifo",
        flows: LinuxFlows::Unread,
        limit: LinuxLimit::Either,
    };
    const DROPS: &'static [DropReason] = &[DropReason::Full];
    const QUEUES: Queues = Queues::One;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Fifo<T>;
    type ByHandle = Fifo<Handle, InLine>;
}

/// One queue: contiguous packets in order of arrival.
#[derive(Debug, Clone)]
pub struct Fifo<T, W = Packet<T>> {
    line: VecDeque<W>,
    bytes: u64,
    carries: PhantomData<T>,
}

impl<T, W: Waits<T>> Configured<Config> for Fifo<T, W> {
    fn configured(_: Config, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            line: VecDeque::new(),
            bytes: 0,
            carries: PhantomData,
        })
    }
}

impl<T, W: Waits<T>> Fifo<T, W> {
    /// Length of the packet that leaves next.
    #[inline]
    pub(crate) fn head_len(&self) -> Option<u32> {
        Some(self.line.front()?.bytes())
    }

    /// Sets the length of the packet that leaves next.
    pub(crate) fn set_head_len(&mut self, len: u32) {
        if let Some(front) = self.line.front_mut() {
            self.bytes = self.bytes - u64::from(front.bytes()) + u64::from(len);
            front.set_bytes(len);
        }
    }
}

impl<T, W: Waits<T>> Scheduler<T, W::Leaving> for Fifo<T, W> {
    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        self.bytes += u64::from(packet.len);
        self.line.push_back(W::from_packet(packet));
        Ok(())
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant) -> Option<W::Leaving> {
        self.bytes -= u64::from(self.line.front()?.bytes());
        let packet = self.line.pop_front();
        // Many queues take turns in a network, so the next packet is far from the caches by then.
        prefetch(self.line.as_slices().0, 0);
        packet.map(W::leave)
    }

    #[inline]
    fn enqueue_burst(&mut self, _now: Instant, packets: &mut Vec<Packet<T>>) {
        self.bytes += packets
            .iter()
            .map(|packet| u64::from(packet.len))
            .sum::<u64>();
        W::extend(&mut self.line, packets);
    }

    #[inline]
    fn dequeue_burst(&mut self, _now: Instant, most: usize, into: &mut Vec<W::Leaving>) {
        let most = most.min(self.line.len());
        self.bytes -= W::leave_together(&mut self.line, most, into);
    }

    /// Drop tail: the newest packet.
    fn evict(&mut self) -> Option<W::Leaving> {
        let packet = self.line.pop_back()?;
        self.bytes -= u64::from(packet.bytes());
        Some(packet.leave())
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.line.len() as u64,
            bytes: self.bytes,
        }
    }
}

impl<T, W: Waits<T>> Control for Fifo<T, W> {
    /// `bytes` is the sum of the packets' lengths.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        let bytes: u64 = self
            .line
            .iter()
            .map(|packet| u64::from(packet.bytes()))
            .sum();
        assert_eq!(bytes, self.bytes, "the bytes are those of the packets");
    }
}
