//! Boxed schedulers: a `Box` of any [`Scheduler`] is one.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::config::ConfigError;
use crate::drops::{DropReason, Refusal};
use crate::flow_config::FlowConfig;
use crate::handle::Leaving;
use crate::limit::{Backlog, Limit};
use crate::packet::{FlowId, Packet};
use crate::scheduler::{Footprint, Scheduler};
use crate::time::Instant;
use crate::units::Rate;

impl<T, L: Leaving, S: Scheduler<T, L> + ?Sized> Scheduler<T, L> for Box<S> {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        (**self).enqueue(now, packet)
    }

    fn refusal(&self, packet: &Packet<T>) -> Option<Refusal> {
        (**self).refusal(packet)
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Instant) -> Option<L> {
        (**self).dequeue(now)
    }

    fn enqueue_burst(&mut self, now: Instant, packets: &mut Vec<Packet<T>>) {
        (**self).enqueue_burst(now, packets);
    }

    fn dequeue_burst(&mut self, now: Instant, most: usize, into: &mut Vec<L>) {
        (**self).dequeue_burst(now, most, into);
    }

    fn dequeue_refilled(
        &mut self,
        now: Instant,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<L> {
        (**self).dequeue_refilled(now, refill)
    }

    fn evict(&mut self) -> Option<L> {
        (**self).evict()
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<L> {
        (**self).evict_flow(flow)
    }

    #[inline(always)]
    fn backlog(&self) -> Backlog {
        (**self).backlog()
    }

    #[inline(always)]
    fn ready_at(&self) -> Option<Instant> {
        (**self).ready_at()
    }

    #[inline(always)]
    fn has_decided(&self) -> bool {
        (**self).has_decided()
    }

    #[inline(always)]
    fn take_dropped(&mut self) -> Option<(L, DropReason)> {
        (**self).take_dropped()
    }

    fn preempts(&self, now: Instant, sending: &Packet<T>) -> bool {
        (**self).preempts(now, sending)
    }

    fn set_link_rate(&mut self, rate: Rate) {
        (**self).set_link_rate(rate);
    }

    fn set_buffer_limit(&mut self, limit: Limit) {
        (**self).set_buffer_limit(limit);
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        (**self).set_flow(flow, config)
    }

    fn remove_flow(&mut self, flow: FlowId) {
        (**self).remove_flow(flow);
    }

    fn total_weight(&self) -> Option<u64> {
        (**self).total_weight()
    }

    fn assign(&mut self, flow: FlowId, leaf: &str) -> Result<(), ConfigError> {
        (**self).assign(flow, leaf)
    }

    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        (**self).queues_of(flow)
    }

    fn footprint(&self) -> Footprint {
        (**self).footprint()
    }

    fn footprint_parts(&self) -> Vec<(&'static str, Footprint)> {
        (**self).footprint_parts()
    }

    fn check_invariants(&self) {
        (**self).check_invariants();
    }
}
