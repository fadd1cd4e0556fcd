//! Arena: owner of queued packets, around a scheduler of handles.
//!
//! A scheduler of handles is one type for packets with any payload. The arena stores each packet in
//! a slot, enqueues the slot's number as the packet's handle, and returns the packet at its
//! departure: a [`Scheduler`] by value. Slots of departed packets are used again, the newest first,
//! so handles stay below the largest backlog so far.

use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::ConfigError;
use crate::links::{Departure, Handle};
use crate::packet::{Ecn, FlowId, Packet};
use crate::pool::Backlog;
use crate::scheduler::{DropReason, FlowConfig, Footprint, Scheduler};
use crate::time::Instant;
use crate::units::Rate;

/// Queued packets, and a scheduler of their handles.
///
/// ```
/// use roundelay::schedulers::{Discipline, drr};
/// use roundelay::{Arena, FlowId, Instant, Packet, Scheduler};
///
/// let mut drr = Arena::new(drr::Config { quantum: 1500 }.build_by_handle(1)?);
/// drr.enqueue(Instant::ZERO, Packet::new(FlowId(0), 1500, "a")).expect("DRR takes every packet");
/// assert_eq!(drr.dequeue(Instant::ZERO).map(|packet| packet.payload), Some("a"));
/// # Ok::<(), roundelay::ConfigError>(())
/// ```
///
/// # Panics
/// Calls panic if the scheduler returns a handle that does not wait.
#[derive(Debug, Clone)]
pub struct Arena<T, S> {
    order: S,
    slots: Slots<T>,
    /// Scratch space of a burst.
    departures: Vec<Departure>,
}

impl<T, S> Arena<T, S> {
    /// Owns the packets ordered by `order`, which must be empty.
    pub const fn new(order: S) -> Self {
        Self { order, slots: Slots { packets: Vec::new(), free: Vec::new() }, departures: Vec::new() }
    }

    /// The same with the first 2^`bits` slots in an order that puts neighbours in a queue far apart
    /// in the table: for tests, as handles of a caller have any order.
    ///
    /// # Panics
    /// `bits` is above 26: a slot would be beyond [`Handle::LARGEST`].
    pub fn scattered(order: S, bits: u32) -> Self {
        assert!(bits <= Handle::LARGEST.0.count_ones(), "2^{bits} slots");
        let slots = 1_u32 << bits;
        let free = (0..slots).map(|number| Handle((u64::from(number.reverse_bits()) >> (32 - bits)) as u32)).collect();
        Self { slots: Slots { packets: (0..slots).map(|_| None).collect(), free }, ..Self::new(order) }
    }
}

/// Packets by handle.
#[derive(Debug, Clone)]
struct Slots<T> {
    packets: Vec<Option<Packet<T>>>,
    /// Slots without a packet.
    free: Vec<Handle>,
}

impl<T> Slots<T> {
    /// Stores a packet. Returns its description, with the handle as the payload; a packet beyond
    /// [`Handle::LARGEST`] is returned.
    fn store(&mut self, packet: Packet<T>) -> Result<Packet<Handle>, Packet<T>> {
        let handle = match self.free.pop() {
            Some(handle) => handle,
            None if self.packets.len() > Handle::LARGEST.index() => return Err(packet),
            None => {
                self.packets.push(None);
                Handle((self.packets.len() - 1) as u32)
            }
        };
        let description = carrying(&packet, handle);
        self.packets[handle.index()] = Some(packet);
        Ok(description)
    }

    fn take(&mut self, handle: Handle) -> Packet<T> {
        let packet = self.packets.get_mut(handle.index()).and_then(Option::take);
        let Some(packet) = packet else { panic!("the scheduler returned handle {}, which does not wait", handle.0) };
        self.free.push(handle);
        packet
    }

    /// The refused packet, with the fields that the scheduler returned.
    fn refuse(&mut self, refused: Packet<Handle>) -> Packet<T> {
        let packet = self.take(refused.payload);
        carrying(&refused, packet.payload)
    }

    fn depart(&mut self, Departure { handle, mark }: Departure) -> Packet<T> {
        let mut packet = self.take(handle);
        if mark {
            packet.ecn = Ecn::Marked;
        }
        packet
    }
}

/// The packet's fields with another payload.
fn carrying<T, U>(packet: &Packet<T>, payload: U) -> Packet<U> {
    let Packet { flow, len, arrival, ecn, priority, slack, deadline, .. } = *packet;
    Packet { flow, len, arrival, ecn, priority, slack, deadline, payload }
}

impl<T, S: Scheduler<Handle, Departure>> Scheduler<T> for Arena<T, S> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        let description = self.slots.store(packet)?;
        self.order.enqueue(now, description).map_err(|refused| self.slots.refuse(refused))
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        self.order.dequeue(now).map(|departure| self.slots.depart(departure))
    }

    fn dequeue_burst(&mut self, now: Instant, most: usize, into: &mut Vec<Packet<T>>) {
        self.order.dequeue_burst(now, most, &mut self.departures);
        into.extend(self.departures.drain(..).map(|departure| self.slots.depart(departure)));
    }

    fn dequeue_refilled(&mut self, now: Instant, refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>) -> Option<Packet<T>> {
        let slots = &mut self.slots;
        let departure = self.order.dequeue_refilled(now, &mut |flow| refill(flow).and_then(|packet| slots.store(packet).ok()))?;
        Some(self.slots.depart(departure))
    }

    fn evict(&mut self) -> Option<Packet<T>> {
        self.order.evict().map(|departure| self.slots.depart(departure))
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<Packet<T>> {
        self.order.evict_flow(flow).map(|departure| self.slots.depart(departure))
    }

    fn backlog(&self) -> Backlog {
        self.order.backlog()
    }

    fn ready_at(&self) -> Option<Instant> {
        self.order.ready_at()
    }

    fn has_decided(&self) -> bool {
        self.order.has_decided()
    }

    fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
        self.order.take_dropped().map(|(departure, reason)| (self.slots.depart(departure), reason))
    }

    fn preempts(&self, now: Instant, sending: &Packet<T>) -> bool {
        self.order.preempts(now, &carrying(sending, Handle::default()))
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.order.set_link_rate(rate);
    }

    fn set_buffer_limit(&mut self, limit: Limit) {
        self.order.set_buffer_limit(limit);
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        self.order.set_flow(flow, config)
    }

    fn remove_flow(&mut self, flow: FlowId) {
        self.order.remove_flow(flow);
    }

    fn total_weight(&self) -> Option<u64> {
        self.order.total_weight()
    }

    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        self.order.queues_of(flow)
    }

    fn footprint(&self) -> Footprint {
        self.order.footprint()
    }

    fn footprint_parts(&self) -> Vec<(&'static str, Footprint)> {
        self.order.footprint_parts()
    }

    fn check_invariants(&self) {
        self.order.check_invariants();
    }
}
