//! Boxed schedulers: a `Box` of any [`Scheduler`] is one.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::control::{Control, forward_control};
use crate::drops::{DropReason, Refused};
use crate::handle::Leaving;
use crate::limit::Backlog;
use crate::packet::{FlowId, Packet};
use crate::scheduler::Scheduler;
use crate::time::Instant;

impl<T, L: Leaving, S: Scheduler<T, L> + ?Sized> Scheduler<T, L> for Box<S> {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        (**self).enqueue(now, packet)
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

    fn turn(&mut self, now: Instant) -> Option<FlowId> {
        (**self).turn(now)
    }

    fn set_len(&mut self, flow: FlowId, len: u32) {
        (**self).set_len(flow, len);
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
}

impl<S: Control + ?Sized> Control for Box<S> {
    forward_control!(self, (**self), (**self));
}
