//! A scheduler by handle around a scheduler by value: the whole description of each packet is kept
//! beside its links.
//!
//! For disciplines that read more in a queued packet than its length, such as rank, flow or ECN
//! mark. Side tables by handle with all those fields would be as large as the descriptions, and
//! their memory would depend on the largest handle, not on the backlog. A description takes 48
//! bytes.

use alloc::vec::Vec;

use crate::config::ConfigError;
use crate::control::{Control, forward_control};
use crate::drops::{DropReason, Refusal, Refused};
use crate::handle::{Departure, Handle};
use crate::limit::Backlog;
use crate::packet::{Ecn, FlowId, Packet};
use crate::scheduler::Scheduler;
use crate::schedulers::Configured;
use crate::seed::Seed;
use crate::time::Instant;

/// A scheduler by handle around a scheduler by value, whose packets are descriptions.
#[derive(Debug, Clone)]
pub struct ByCopy<S> {
    by_value: S,
    /// Scratch space for a burst.
    burst: Vec<Packet<Handle>>,
}

impl<S> ByCopy<S> {
    /// A scheduler by handle with the order of `by_value`.
    pub const fn new(by_value: S) -> Self {
        Self {
            by_value,
            burst: Vec::new(),
        }
    }
}

impl<C, S: Configured<C>> Configured<C> for ByCopy<S> {
    fn configured(config: C, seed: Seed) -> Result<Self, ConfigError> {
        S::configured(config, seed).map(Self::new)
    }
}

/// Set in the handle if the packet was marked on arrival, because the mark is then not the
/// discipline's.
const CAME_MARKED: u32 = 1 << 31;
const _: () = assert!(Handle::LARGEST.0 < CAME_MARKED);

fn arrival(packet: Packet<Handle>) -> Packet<Handle> {
    let came_marked = if packet.ecn == Ecn::Marked {
        CAME_MARKED
    } else {
        0
    };
    Packet {
        payload: Handle(packet.payload.0 | came_marked),
        ..packet
    }
}

fn handle(packet: &Packet<Handle>) -> Handle {
    Handle(packet.payload.0 & !CAME_MARKED)
}

fn departure(packet: Packet<Handle>) -> Departure {
    let came_marked = packet.payload.0 & CAME_MARKED != 0;
    Departure {
        handle: handle(&packet),
        mark: packet.ecn == Ecn::Marked && !came_marked,
    }
}

impl<S: Scheduler<Handle>> Scheduler<Handle, Departure> for ByCopy<S> {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet<Handle>) -> Result<(), Refused<Handle>> {
        if packet.payload > Handle::LARGEST {
            return Err(packet.refused(Refusal::HandleNumber));
        }
        let taken = self.by_value.enqueue(now, arrival(packet));
        taken.map_err(|Refused { packet, reason }| {
            let payload = handle(&packet);
            Packet { payload, ..packet }.refused(reason)
        })
    }

    #[inline]
    fn dequeue(&mut self, now: Instant) -> Option<Departure> {
        self.by_value.dequeue(now).map(departure)
    }

    fn dequeue_burst(&mut self, now: Instant, most: usize, into: &mut Vec<Departure>) {
        self.by_value.dequeue_burst(now, most, &mut self.burst);
        into.extend(self.burst.drain(..).map(departure));
    }

    fn dequeue_refilled(
        &mut self,
        now: Instant,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<Handle>>,
    ) -> Option<Departure> {
        let fitting = |packet: Packet<Handle>| {
            assert!(packet.payload <= Handle::LARGEST, "a refilled packet fits");
            arrival(packet)
        };
        self.by_value
            .dequeue_refilled(now, &mut |flow| refill(flow).map(fitting))
            .map(departure)
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
        self.by_value
            .take_dropped()
            .map(|(packet, reason)| (departure(packet), reason))
    }

    fn preempts(&self, now: Instant, sending: &Packet<Handle>) -> bool {
        self.by_value.preempts(now, sending)
    }
}

impl<S: Control> Control for ByCopy<S> {
    forward_control!(self, self.by_value, self.by_value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::AnyDiscipline;

    /// By copy and over links: a packet that arrives marked has no new mark.
    #[test]
    fn marks_of_arrivals_are_no_marks_of_the_discipline() {
        for discipline in AnyDiscipline::all() {
            let mut order = discipline
                .build_by_handle(Seed::new(1))
                .expect("legal parameters");
            let packet = Packet {
                ecn: Ecn::Marked,
                ..Packet::new(FlowId(0), 100, Handle(7))
            };
            order
                .enqueue(Instant::ZERO, packet)
                .expect("a legal packet");
            let departure = order.dequeue(Instant::ZERO);
            assert_eq!(
                departure,
                Some(Departure {
                    handle: Handle(7),
                    mark: false
                }),
                "{discipline}"
            );
        }
    }

    /// FIFO keeps the handles themselves, in no table.
    #[test]
    fn large_handles_are_refused_unchanged() {
        for discipline in AnyDiscipline::all()
            .into_iter()
            .filter(|discipline| !["fifo", "tbf"].contains(&discipline.name()))
        {
            let mut order = discipline
                .build_by_handle(Seed::new(1))
                .expect("legal parameters");
            let packet = Packet {
                ecn: Ecn::Marked,
                ..Packet::new(FlowId(0), 100, Handle(Handle::LARGEST.0 + 1))
            };
            assert_eq!(
                order.enqueue(Instant::ZERO, packet),
                Err(packet.refused(Refusal::HandleNumber)),
                "{discipline}"
            );
        }
    }
}
