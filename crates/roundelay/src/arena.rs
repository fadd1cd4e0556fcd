//! Arena: the owner of queued packets, around a scheduler by handle.
//!
//! A scheduler by handle is one type for packets with any payload. The arena stores each packet in
//! a slot, enqueues the packet's description, with the slot's index as the handle, and returns the
//! packet at its departure, which makes it a [`Scheduler`] by value. Slots of departed packets are
//! used again, the newest first, so handles stay below the largest backlog so far.
//!
//! You can cancel a queued packet. It leaves at once, with its part of the backlog, and the
//! scheduler skips the slot in its turn.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::control::{Control, forward_control};
use crate::drops::{DropReason, Refusal, Refused};
use crate::handle::{Departure, Handle};
use crate::limit::Backlog;
use crate::packet::{Ecn, FlowId, Packet};
use crate::scheduler::Scheduler;
use crate::time::Instant;

/// Queued packets, and the scheduler by handle that orders them.
///
/// ```
/// use roundelay::schedulers::{Discipline, drr};
/// use roundelay::{Arena, FlowId, Instant, Packet, Scheduler, Seed};
///
/// let mut drr = Arena::new(drr::Config { quantum: 1500 }.build_by_handle(Seed::new(1))?);
/// drr.enqueue(Instant::ZERO, Packet::new(FlowId(0), 1500, "a")).expect("DRR takes every packet");
/// assert_eq!(drr.dequeue(Instant::ZERO).map(|packet| packet.payload), Some("a"));
/// # Ok::<(), roundelay::ConfigError>(())
/// ```
///
/// A [ticket](Self::newest) cancels a packet. A cancelled packet's slot stays in the order, and its
/// flow is charged for the packet when the scheduler reaches the slot.
/// [`Charges::charge`](crate::Charges::charge) compensates the flow.
///
/// ```
/// # use roundelay::schedulers::{Discipline, drr};
/// # use roundelay::{Arena, FlowId, Instant, Packet, Scheduler, Seed};
/// # let mut drr = Arena::new(drr::Config { quantum: 1500 }.build_by_handle(Seed::new(1))?);
/// drr.enqueue(Instant::ZERO, Packet::new(FlowId(0), 1500, "a")).expect("DRR takes every packet");
/// let ticket = drr.newest().expect("a packet was enqueued");
/// drr.enqueue(Instant::ZERO, Packet::new(FlowId(0), 1500, "b")).expect("DRR takes every packet");
/// assert_eq!(drr.cancel(ticket).map(|packet| packet.payload), Some("a"));
/// assert_eq!((drr.backlog().packets, drr.cancel(ticket)), (1, None));
/// assert_eq!(drr.dequeue(Instant::ZERO).map(|packet| packet.payload), Some("b"));
/// # Ok::<(), roundelay::ConfigError>(())
/// ```
///
/// # Panics
/// Calls panic if the scheduler returns a handle that does not wait.
#[derive(Debug, Clone)]
pub struct Arena<T, S> {
    order: S,
    slots: Slots<T>,
    /// Scratch space for a burst.
    departures: Vec<Departure>,
}

impl<T, S> Arena<T, S> {
    /// Owns the packets ordered by `order`, which must be empty.
    pub const fn new(order: S) -> Self {
        Self {
            order,
            slots: Slots::EMPTY,
            departures: Vec::new(),
        }
    }

    /// [`new`](Self::new) with the first 2^`bits` slots in an order that puts neighbours in a queue
    /// far apart in the table. This is for tests, because a caller's handles have any order.
    ///
    /// # Panics
    /// `bits` is above 26, because a slot would be beyond [`Handle::LARGEST`].
    pub fn scattered(order: S, bits: u32) -> Self {
        assert!(bits <= Handle::LARGEST.0.count_ones(), "2^{bits} slots");
        let slots = 1_u32 << bits;
        let free = (0..slots)
            .map(|number| Handle((u64::from(number.reverse_bits()) >> (32 - bits)) as u32))
            .collect();
        Self {
            slots: Slots {
                mark: Some(Box::default()),
                slots: (0..slots).map(|_| Slot::FREE).collect(),
                free,
                ..Slots::EMPTY
            },
            ..Self::new(order)
        }
    }
}

/// Names one queued packet, for [`Arena::cancel`]. A ticket is void once its packet has left, and in
/// every other arena that there is beside its own, clones among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket {
    arena: usize,
    handle: Handle,
    use_of_slot: u32,
}

/// A clone has tickets of its own, because slots of both are used again for different packets.
impl<T: Clone> Clone for Slots<T> {
    fn clone(&self) -> Self {
        Self {
            mark: self.mark.clone(),
            slots: self.slots.clone(),
            free: self.free.clone(),
            newest: self.newest,
            cancelled: self.cancelled,
        }
    }
}

/// Room for a packet.
#[derive(Debug, Clone)]
struct Slot<T> {
    content: Content<T>,
    /// Counts packets that were stored here, without carry.
    uses: u32,
}

impl<T> Slot<T> {
    const FREE: Self = Self {
        content: Content::Free,
        uses: 0,
    };
}

#[derive(Debug, Clone)]
enum Content<T> {
    Free,
    Waits(Packet<T>),
    /// The handle is still in the scheduler.
    Cancelled {
        len: u32,
    },
}

/// Packets by handle.
#[derive(Debug)]
struct Slots<T> {
    /// A byte whose address no other arena has. It stands in tickets alone, so no order of packets
    /// depends on it. None before the first packet.
    mark: Option<Box<u8>>,
    slots: Vec<Slot<T>>,
    /// Slots without a packet.
    free: Vec<Handle>,
    newest: Option<Handle>,
    cancelled: Backlog,
}

impl<T> Slots<T> {
    const EMPTY: Self = Self {
        mark: None,
        slots: Vec::new(),
        free: Vec::new(),
        newest: None,
        cancelled: Backlog {
            packets: 0,
            bytes: 0,
        },
    };

    /// Stores a packet. Returns its description, with the handle as the payload, or the packet if
    /// its handle would be beyond [`Handle::LARGEST`].
    fn store(&mut self, packet: Packet<T>) -> Result<Packet<Handle>, Refused<T>> {
        let handle = self.next();
        if handle > Handle::LARGEST {
            return Err(packet.refused(Refusal::HandleNumber));
        }
        if self.free.pop().is_none() {
            self.mark.get_or_insert_default();
            self.slots.push(Slot::FREE);
        }
        let description = carrying(&packet, handle);
        let slot = &mut self.slots[handle.index()];
        *slot = Slot {
            content: Content::Waits(packet),
            uses: slot.uses.wrapping_add(1),
        };
        self.newest = Some(handle);
        Ok(description)
    }

    /// The handle of the next packet.
    fn next(&self) -> Handle {
        self.free
            .last()
            .copied()
            .unwrap_or(Handle(self.slots.len() as u32))
    }

    fn ticket(&self, handle: Handle) -> Option<Ticket> {
        let slot = self.slots.get(handle.index())?;
        matches!(slot.content, Content::Waits(_)).then_some(Ticket {
            arena: core::ptr::from_ref(self.mark.as_deref()?).addr(),
            handle,
            use_of_slot: slot.uses,
        })
    }

    fn cancel(&mut self, ticket: Ticket) -> Option<Packet<T>> {
        if self.ticket(ticket.handle) != Some(ticket) {
            return None;
        }
        let slot = &mut self.slots[ticket.handle.index()].content;
        let Content::Waits(packet) = core::mem::replace(slot, Content::Free) else {
            return None;
        };
        *slot = Content::Cancelled { len: packet.len };
        self.cancelled.packets += 1;
        self.cancelled.bytes += u64::from(packet.len);
        Some(packet)
    }

    /// A slot's packet. The slot becomes free. None if the packet was cancelled.
    fn take(&mut self, handle: Handle) -> Option<Packet<T>> {
        let content = self
            .slots
            .get_mut(handle.index())
            .map_or(Content::Free, |slot| {
                core::mem::replace(&mut slot.content, Content::Free)
            });
        let packet = match content {
            Content::Free => panic!(
                "the scheduler returned handle {}, which does not wait",
                handle.0
            ),
            Content::Waits(packet) => Some(packet),
            Content::Cancelled { len } => {
                self.cancelled.packets -= 1;
                self.cancelled.bytes -= u64::from(len);
                None
            }
        };
        self.free.push(handle);
        packet
    }

    /// The refused packet, with the fields that the scheduler returned.
    fn refuse(&mut self, Refused { packet, reason }: Refused<Handle>) -> Refused<T> {
        let Some(stored) = self.take(packet.payload) else {
            panic!("a refused packet cannot be cancelled")
        };
        carrying(&packet, stored.payload).refused(reason)
    }

    /// The departed packet. None if the packet was cancelled.
    fn depart(&mut self, Departure { handle, mark }: Departure) -> Option<Packet<T>> {
        let mut packet = self.take(handle)?;
        if mark {
            packet.ecn = Ecn::Marked;
        }
        Some(packet)
    }
}

impl<T, S> Arena<T, S> {
    /// How many cancelled packets' slots may await their turns, however few packets are queued.
    /// This bounds memory, and the slots that one dequeue may have to skip.
    pub const MOST_CANCELLED: u64 = 1024;

    /// The ticket of the packet that was enqueued last. None if this packet has left.
    pub fn newest(&self) -> Option<Ticket> {
        self.slots
            .newest
            .and_then(|handle| self.slots.ticket(handle))
    }

    /// Takes a packet out of the queue. None if the packet has left already, or if at least as many
    /// cancelled packets' slots still await their turns as there are queued packets, and as
    /// [`MOST_CANCELLED`](Self::MOST_CANCELLED). The packet then stays. Call
    /// [`take_dropped`](Scheduler::take_dropped) first, as after each call of a scheduler.
    ///
    /// Until its turn, a cancelled packet's slot counts in the flow's queue, also when the
    /// scheduler looks for the longest queue to push out from.
    pub fn cancel(&mut self, ticket: Ticket) -> Option<Packet<T>>
    where
        S: Scheduler<Handle, Departure>,
    {
        let queued = self.order.backlog().packets;
        let cancelled = self.slots.cancelled.packets;
        if cancelled >= Self::MOST_CANCELLED.max(queued.saturating_sub(cancelled)) {
            return None;
        }
        let packet = self.slots.cancel(ticket)?;
        if self.slots.cancelled.packets == queued {
            // Nothing else is queued, so no slot need wait for its turn.
            while let Some(departure) = self.order.evict() {
                self.slots.depart(departure);
            }
            while let Some((departure, _)) = self.order.take_dropped() {
                self.slots.depart(departure);
            }
        }
        Some(packet)
    }
}

/// The packet's fields with another payload.
fn carrying<T, U>(packet: &Packet<T>, payload: U) -> Packet<U> {
    let Packet {
        flow,
        len,
        arrival,
        ecn,
        priority,
        slack,
        deadline,
        ..
    } = *packet;
    Packet {
        flow,
        len,
        arrival,
        ecn,
        priority,
        slack,
        deadline,
        payload,
    }
}

impl<T, S: Scheduler<Handle, Departure>> Scheduler<T> for Arena<T, S> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        let description = self.slots.store(packet)?;
        self.order
            .enqueue(now, description)
            .map_err(|refused| self.slots.refuse(refused))
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        loop {
            let departed = self.slots.depart(self.order.dequeue(now)?);
            if departed.is_some() {
                return departed;
            }
        }
    }

    fn dequeue_burst(&mut self, now: Instant, most: usize, into: &mut Vec<Packet<T>>) {
        let full = into.len() + most;
        while into.len() < full {
            self.order
                .dequeue_burst(now, full - into.len(), &mut self.departures);
            if self.departures.is_empty() {
                return;
            }
            into.extend(
                self.departures
                    .drain(..)
                    .filter_map(|departure| self.slots.depart(departure)),
            );
        }
    }

    fn dequeue_refilled(
        &mut self,
        now: Instant,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<Packet<T>> {
        loop {
            let slots = &mut self.slots;
            let departure = self.order.dequeue_refilled(now, &mut |flow| {
                let stored = slots.store(refill(flow)?).ok();
                assert!(stored.is_some(), "a refilled packet fits");
                stored
            })?;
            let departed = self.slots.depart(departure);
            if departed.is_some() {
                return departed;
            }
        }
    }

    fn evict(&mut self) -> Option<Packet<T>> {
        loop {
            let departed = self.slots.depart(self.order.evict()?);
            if departed.is_some() {
                return departed;
            }
        }
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<Packet<T>> {
        loop {
            let departed = self.slots.depart(self.order.evict_flow(flow)?);
            if departed.is_some() {
                return departed;
            }
        }
    }

    /// Without cancelled packets.
    fn backlog(&self) -> Backlog {
        let queued = self.order.backlog();
        let cancelled = self.slots.cancelled;
        Backlog {
            packets: queued.packets.saturating_sub(cancelled.packets),
            bytes: queued.bytes.saturating_sub(cancelled.bytes),
        }
    }

    fn ready_at(&self) -> Option<Instant> {
        self.order.ready_at()
    }

    fn has_decided(&self) -> bool {
        self.order.has_decided()
    }

    fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
        loop {
            let (departure, reason) = self.order.take_dropped()?;
            if let Some(packet) = self.slots.depart(departure) {
                return Some((packet, reason));
            }
        }
    }

    fn preempts(&self, now: Instant, sending: &Packet<T>) -> bool {
        self.order
            .preempts(now, &carrying(sending, Handle::default()))
    }
}

impl<T, S: Control> Control for Arena<T, S> {
    forward_control!(self, self.order, self.order);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::{Discipline, qfq};
    use crate::seed::Seed;

    fn cancelled(
        times: usize,
        others: u64,
    ) -> (Arena<usize, <qfq::Config as Discipline>::ByHandle>, usize) {
        let mut arena = Arena::new(
            qfq::Config
                .build_by_handle(Seed::new(1))
                .expect("legal parameters"),
        );
        for other in 0..others {
            arena
                .enqueue(Instant::ZERO, Packet::new(FlowId(1), 100, other as usize))
                .expect("a legal packet");
        }
        let mut refused = 0;
        for number in 0..times {
            arena
                .enqueue(Instant::ZERO, Packet::new(FlowId(0), 100, number))
                .expect("a legal packet");
            let ticket = arena.newest().expect("a packet was enqueued");
            refused += usize::from(arena.cancel(ticket).is_none());
        }
        (arena, refused)
    }

    /// An interpreter that looks for undefined behaviour, `make miri`, is slow.
    const TIMES: usize = if cfg!(miri) { 100 } else { 10_000 };

    #[test]
    fn cancelled_packets_alone_leave_no_slot() {
        let (mut arena, refused) = cancelled(TIMES, 0);
        assert_eq!(
            (refused, arena.slots.slots.len(), arena.backlog().packets),
            (0, 1, 0)
        );
        assert_eq!(arena.dequeue(Instant::ZERO), None);
        arena.check_invariants();
    }

    #[test]
    fn slots_of_cancelled_packets_are_bounded() {
        let most = Arena::<usize, ()>::MOST_CANCELLED as usize;
        let (mut arena, refused) = cancelled(most + 500, 1);
        assert_eq!(
            (refused, arena.backlog().packets),
            (500, 501),
            "the packets stay"
        );
        let sent = core::iter::from_fn(|| arena.dequeue(Instant::ZERO)).count();
        assert_eq!((sent, arena.slots.cancelled), (501, Backlog::default()));
        let (_, refused) = cancelled(3 * most, 2 * most as u64);
        assert!(
            refused > 0 && refused < most,
            "as many as there are packets: {refused}"
        );
    }

    /// Regression: a ticket cancelled whatever packet had its number in another arena.
    #[test]
    fn a_ticket_is_void_in_another_arena() {
        let arena = || {
            let order = qfq::Config.build_by_handle(Seed::new(1));
            let mut arena = Arena::new(order.expect("legal parameters"));
            arena
                .enqueue(Instant::ZERO, Packet::new(FlowId(0), 100, "a packet"))
                .expect("a legal packet");
            arena
        };
        let mut own = arena();
        let mut clone = own.clone();
        let mut other = arena();
        let ticket = own.newest().expect("a packet was enqueued");
        assert_eq!(other.cancel(ticket), None);
        assert_eq!(clone.cancel(ticket), None);
        assert_eq!(
            own.cancel(ticket).map(|packet| packet.payload),
            Some("a packet")
        );
        let ticket = clone.newest().expect("the clone has the packet");
        assert_eq!(
            clone.cancel(ticket).map(|packet| packet.payload),
            Some("a packet")
        );
    }
}
