//! The limit on what may wait, in one place for all disciplines.

use core::fmt;

use crate::packet::Packet;
use crate::scheduler::{DropReason, Scheduler};
use crate::time::Instant;
use crate::units::Bytes;

/// How much a buffer holds. Both bounds hold at once; [`Limit::UNBOUNDED`] has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limit {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Limit {
    /// No limit.
    pub const UNBOUNDED: Self = Self { packets: u64::MAX, bytes: u64::MAX };

    /// A limit by packets alone.
    pub const fn of_packets(packets: u64) -> Self {
        Self { packets, bytes: u64::MAX }
    }

    /// A limit by bytes alone.
    pub const fn of_bytes(bytes: u64) -> Self {
        Self { packets: u64::MAX, bytes }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.packets, self.bytes) {
            (u64::MAX, u64::MAX) => write!(f, "unlimited"),
            (packets, u64::MAX) => write!(f, "{packets}p"),
            (u64::MAX, bytes) => Bytes(bytes).fmt(f),
            (packets, bytes) => write!(f, "{packets}p, {}", Bytes(bytes)),
        }
    }
}

/// A scheduler with a limit on what may wait in it, the packet on the link not counted.
///
/// A packet that does not fit is taken all the same, and then the discipline gives up packets until the limit holds again: its choice
/// may be the arriving one (drop tail) or another (push-out).
#[derive(Debug, Clone)]
pub struct Buffer<S> {
    limit: Limit,
    scheduler: S,
}

impl<S> Buffer<S> {
    /// A buffer in front of `scheduler`.
    pub const fn new(limit: Limit, scheduler: S) -> Self {
        Self { limit, scheduler }
    }

    /// The scheduler.
    pub const fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// The scheduler, to set its flows. Packets go in and out through the buffer.
    pub const fn scheduler_mut(&mut self) -> &mut S {
        &mut self.scheduler
    }

    /// Takes a packet. Whatever has to go is handed to `dropped` with its reason, the packet itself among them if it was not taken.
    #[inline]
    pub fn enqueue<T>(&mut self, now: Instant, mut packet: Packet<T>, mut dropped: impl FnMut(Packet<T>, DropReason))
    where
        S: Scheduler<T>,
    {
        packet.arrival = now;
        if u64::from(packet.len) > self.limit.bytes || self.limit.packets == 0 {
            return dropped(packet, DropReason::Full);
        }
        let flow = packet.flow;
        if let Err(packet) = self.scheduler.enqueue(now, packet) {
            return dropped(packet, DropReason::Refused);
        }
        self.push_out(&mut dropped);
        while self.exceeds_limit() {
            let Some(victim) = self.scheduler.evict() else { break };
            // The last packet of this flow to come at this instant is the arriving one, or cannot be told from it.
            let arrived = victim.flow == flow && victim.arrival == now;
            dropped(victim, if arrived { DropReason::Full } else { DropReason::PushedOut });
            self.push_out(&mut dropped);
        }
    }

    /// Hands on what the discipline gave up beside the packet that it was asked for, or for one that it took.
    #[inline]
    fn push_out<T>(&mut self, mut dropped: impl FnMut(Packet<T>, DropReason))
    where
        S: Scheduler<T>,
    {
        while let Some(packet) = self.scheduler.take_dropped() {
            dropped(packet, DropReason::PushedOut);
        }
    }

    /// The next packet for the link, and to `dropped` what the discipline dropped on the way to it.
    #[inline]
    pub fn dequeue<T>(&mut self, now: Instant, mut dropped: impl FnMut(Packet<T>, DropReason)) -> Option<Packet<T>>
    where
        S: Scheduler<T>,
    {
        let packet = self.scheduler.dequeue(now);
        while let Some(victim) = self.scheduler.take_dropped() {
            dropped(victim, DropReason::Early);
        }
        packet
    }

    #[inline]
    fn exceeds_limit<T>(&self) -> bool
    where
        S: Scheduler<T>,
    {
        let backlog = self.scheduler.backlog();
        backlog.packets > self.limit.packets || backlog.bytes > self.limit.bytes
    }
}
