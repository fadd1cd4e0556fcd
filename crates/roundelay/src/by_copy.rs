//! Handles ordered by a by-value scheduler: the whole description of each packet is kept beside its
//! links.
//!
//! For disciplines that read more of a queued packet than its length: rank, flow, ECN mark. Side
//! tables by handle with all those fields would be as large as the descriptions, and their memory
//! would depend on the largest handle, not on the backlog. A description takes 48 bytes.

use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::ConfigError;
use crate::links::{Departure, Handle};
use crate::packet::{Ecn, FlowId, Packet};
use crate::pool::Backlog;
use crate::scheduler::{DropReason, FlowConfig, Footprint, Refusal, Scheduler};
use crate::time::Instant;
use crate::units::Rate;

/// A scheduler by value for descriptions that carry handles.
#[derive(Debug, Clone)]
pub struct ByCopy<S> {
    by_value: S,
    /// Scratch space of a burst.
    burst: Vec<Packet<Handle>>,
}

impl<S> ByCopy<S> {
    /// Orders handles by `by_value`.
    pub const fn new(by_value: S) -> Self {
        Self { by_value, burst: Vec::new() }
    }
}

fn departure(packet: Packet<Handle>) -> Departure {
    Departure { handle: packet.payload, mark: packet.ecn == Ecn::Marked }
}

impl<S: Scheduler<Handle>> Scheduler<Handle, Departure> for ByCopy<S> {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet<Handle>) -> Result<(), Packet<Handle>> {
        self.by_value.enqueue(now, packet)
    }

    fn refusal(&self, packet: &Packet<Handle>) -> Option<Refusal> {
        self.by_value.refusal(packet)
    }

    #[inline]
    fn dequeue(&mut self, now: Instant) -> Option<Departure> {
        self.by_value.dequeue(now).map(departure)
    }

    fn enqueue_burst(&mut self, now: Instant, packets: &mut Vec<Packet<Handle>>) {
        self.by_value.enqueue_burst(now, packets);
    }

    fn dequeue_burst(&mut self, now: Instant, most: usize, into: &mut Vec<Departure>) {
        self.by_value.dequeue_burst(now, most, &mut self.burst);
        into.extend(self.burst.drain(..).map(departure));
    }

    fn dequeue_refilled(&mut self, now: Instant, refill: &mut dyn FnMut(FlowId) -> Option<Packet<Handle>>) -> Option<Departure> {
        self.by_value.dequeue_refilled(now, refill).map(departure)
    }

    fn evict(&mut self) -> Option<Departure> {
        self.by_value.evict().map(departure)
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<Departure> {
        self.by_value.evict_flow(flow).map(departure)
    }

    fn backlog(&self) -> Backlog {
        self.by_value.backlog()
    }

    fn ready_at(&self) -> Option<Instant> {
        self.by_value.ready_at()
    }

    fn has_decided(&self) -> bool {
        self.by_value.has_decided()
    }

    fn take_dropped(&mut self) -> Option<(Departure, DropReason)> {
        self.by_value.take_dropped().map(|(packet, reason)| (departure(packet), reason))
    }

    fn preempts(&self, now: Instant, sending: &Packet<Handle>) -> bool {
        self.by_value.preempts(now, sending)
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.by_value.set_link_rate(rate);
    }

    fn set_buffer_limit(&mut self, limit: Limit) {
        self.by_value.set_buffer_limit(limit);
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        self.by_value.set_flow(flow, config)
    }

    fn remove_flow(&mut self, flow: FlowId) {
        self.by_value.remove_flow(flow);
    }

    fn total_weight(&self) -> Option<u64> {
        self.by_value.total_weight()
    }

    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        self.by_value.queues_of(flow)
    }

    fn footprint(&self) -> Footprint {
        self.by_value.footprint()
    }

    fn footprint_parts(&self) -> Vec<(&'static str, Footprint)> {
        self.by_value.footprint_parts()
    }

    fn check_invariants(&self) {
        self.by_value.check_invariants();
    }
}
