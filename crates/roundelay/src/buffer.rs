//! Buffer: the limit on queued packets and bytes, the same for all disciplines.

use crate::debug_check::DebugCheck;
use crate::drops::{DropReason, Refused};
use crate::limit::Limit;
use crate::packet::Packet;
use crate::scheduler::Scheduler;
use crate::time::Instant;

/// A scheduler with a limit on its backlog. The packet on the link does not count.
///
/// A packet beyond the limit is enqueued first, and then the discipline gives up packets until the
/// limit holds again: the arriving packet (drop tail) or another one (push-out).
#[derive(Debug, Clone)]
pub struct Buffer<S> {
    limit: Limit,
    /// What the limit leaves to the scheduler: less than the limit while a tree holds a packet that
    /// a class took out ahead.
    room: Limit,
    scheduler: S,
    check: DebugCheck,
}

impl<S> Buffer<S> {
    /// A buffer in front of `scheduler`, which is told the limit. The payload type `T` follows from
    /// the scheduler.
    pub fn new<T>(limit: Limit, mut scheduler: S) -> Self
    where
        S: Scheduler<T>,
    {
        scheduler.set_buffer_limit(limit);
        Self {
            limit,
            room: limit,
            scheduler,
            check: DebugCheck::NEW,
        }
    }

    /// The scheduler.
    pub const fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// Mutable access to the scheduler, to set its flows. Packets are enqueued and dequeued through
    /// the buffer, but an [`Arena`](crate::Arena) may cancel them.
    pub const fn scheduler_mut(&mut self) -> &mut S {
        &mut self.scheduler
    }

    /// Enqueues a packet. Each dropped packet goes to `dropped` with its reason, possibly the
    /// arriving packet.
    #[inline]
    pub fn enqueue<T>(
        &mut self,
        now: Instant,
        packet: Packet<T>,
        mut dropped: impl FnMut(Packet<T>, DropReason),
    ) where
        S: Scheduler<T>,
    {
        if let Err(refused) = self.offer(now, packet, &mut dropped) {
            dropped(refused.packet, DropReason::Refused);
        }
    }

    /// [`enqueue`](Self::enqueue), but a packet that the scheduler refuses comes back.
    ///
    /// # Errors
    /// The refused packet, with the reason.
    #[inline]
    pub fn offer<T>(
        &mut self,
        now: Instant,
        mut packet: Packet<T>,
        mut dropped: impl FnMut(Packet<T>, DropReason),
    ) -> Result<(), Refused<T>>
    where
        S: Scheduler<T>,
    {
        packet.arrival = now;
        if u64::from(packet.len) > self.room.bytes || self.room.packets == 0 {
            dropped(packet, DropReason::Full);
            return Ok(());
        }
        let flow = packet.flow;
        let outcome = self.scheduler.enqueue(now, packet);
        self.check.after_call(&self.scheduler);
        outcome?;
        self.check.names(flow);
        self.take_dropped(&mut dropped);
        // The last packet of this flow with this arrival time is the arriving one, or cannot be
        // distinguished from it.
        self.keep_limit(
            |victim| victim.flow == flow && victim.arrival == now,
            &mut dropped,
        );
        Ok(())
    }

    /// Counts a packet that was taken out ahead, and still waits, towards the limit.
    pub(crate) fn hold(&mut self, len: u32) {
        self.room.packets = self.room.packets.saturating_sub(1);
        self.room.bytes = self.room.bytes.saturating_sub(len.into());
    }

    /// The packet that was taken out ahead no longer waits.
    pub(crate) const fn release(&mut self) {
        self.room = self.limit;
    }

    /// Changes the limit. Excess packets go to `dropped`. No packet is taken out ahead.
    pub fn set_limit<T>(&mut self, limit: Limit, mut dropped: impl FnMut(Packet<T>, DropReason))
    where
        S: Scheduler<T>,
    {
        self.set_limit_beside(limit, None, &mut dropped);
    }

    /// [`set_limit`](Self::set_limit) while a packet of this length is held ahead.
    pub(crate) fn set_limit_beside<T>(
        &mut self,
        limit: Limit,
        held: Option<u32>,
        mut dropped: impl FnMut(Packet<T>, DropReason),
    ) where
        S: Scheduler<T>,
    {
        self.limit = limit;
        self.room = limit;
        if let Some(len) = held {
            self.hold(len);
        }
        self.scheduler.set_buffer_limit(limit);
        self.keep_limit(|_| false, &mut dropped);
    }

    #[inline]
    fn keep_limit<T>(
        &mut self,
        has_just_come: impl Fn(&Packet<T>) -> bool,
        mut dropped: impl FnMut(Packet<T>, DropReason),
    ) where
        S: Scheduler<T>,
    {
        while self.exceeds_limit() {
            let victim = self.scheduler.evict();
            self.check.after_call(&self.scheduler);
            let Some(victim) = victim else { break };
            let reason = if has_just_come(&victim) {
                DropReason::Full
            } else {
                DropReason::PushedOut
            };
            dropped(victim, reason);
            self.take_dropped(&mut dropped);
        }
    }

    /// Passes on packets that the discipline dropped in addition.
    #[inline]
    fn take_dropped<T>(&mut self, mut dropped: impl FnMut(Packet<T>, DropReason))
    where
        S: Scheduler<T>,
    {
        while let Some((packet, reason)) = self.scheduler.take_dropped() {
            dropped(packet, reason);
        }
    }

    /// The next packet for the link. Packets dropped by the discipline before it go to `dropped`.
    #[inline]
    pub fn dequeue<T>(
        &mut self,
        now: Instant,
        mut dropped: impl FnMut(Packet<T>, DropReason),
    ) -> Option<Packet<T>>
    where
        S: Scheduler<T>,
    {
        let packet = self.scheduler.dequeue(now);
        self.check.after_call(&self.scheduler);
        self.take_dropped(&mut dropped);
        packet
    }

    #[inline]
    fn exceeds_limit<T>(&self) -> bool
    where
        S: Scheduler<T>,
    {
        let backlog = self.scheduler.backlog();
        backlog.packets > self.room.packets || backlog.bytes > self.room.bytes
    }
}
