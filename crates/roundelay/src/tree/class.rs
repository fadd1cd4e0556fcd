//! A class in the tree: its scheduler, the children's stand-ins in there, and the child chosen
//! ahead.

use alloc::vec::Vec;

use super::config::{NONE, PlanEntry, ROOT};
use super::stand_in::StandIn;
use crate::config::ConfigError;
use crate::control::Footprint;
use crate::packet::{FlowId, Packet};
use crate::scheduler::Scheduler;
use crate::service::Service;
use crate::time::Instant;

pub(super) struct Class<I> {
    pub(super) scheduler: I,
    /// By position (the child's flow number in the scheduler).
    pub(super) children: Vec<Child>,
    /// The chosen child's stand-in. Always `None` in the root, where a chosen packet leaves at
    /// once.
    pub(super) head: Option<Packet<StandIn>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Child {
    pub(super) node: u32,
    pub(super) priority: u32,
    /// A packet without length holds the child's position in the scheduler.
    pub(super) holds_place: bool,
}

impl Child {
    pub(super) const ABSENT: Self = Self {
        node: NONE,
        priority: 0,
        holds_place: false,
    };

    /// The packet to enqueue in exchange for the dequeued one: a place holder for a stand-in, and
    /// nothing for a place holder.
    pub(super) fn take_turns(&mut self, flow: FlowId) -> Option<Packet<StandIn>> {
        self.holds_place = !self.holds_place;
        self.holds_place.then(|| Packet {
            priority: self.priority,
            ..Packet::new(flow, 0, StandIn::Place)
        })
    }
}

impl<I: Scheduler<StandIn>> Class<I> {
    pub(super) const fn new(scheduler: I) -> Self {
        Self {
            scheduler,
            children: Vec::new(),
            head: None,
        }
    }

    /// Takes a child, with its way through the classes that this scheduler orders.
    pub(super) fn adopt(
        &mut self,
        number: usize,
        entry: &PlanEntry,
        way: &[(u32, Service)],
    ) -> Result<(), ConfigError> {
        self.scheduler
            .set_flow(entry.flow, entry.node.flow_config())?;
        if !way.is_empty() {
            self.scheduler.set_class(entry.flow, way)?;
        }
        let flow = entry.flow.index();
        self.children
            .resize(self.children.len().max(flow + 1), Child::ABSENT);
        self.children[flow] = Child {
            node: number as u32,
            priority: entry.node.priority,
            holds_place: false,
        };
        Ok(())
    }

    /// Enqueues a child's new stand-in, or nothing if the child is empty. A place holder then
    /// leaves in its turn. False if the discipline refuses the stand-in.
    pub(super) fn hear(&mut self, now: Instant, stand_in: Option<Packet<StandIn>>) -> bool {
        stand_in.is_none_or(|stand_in| self.scheduler.enqueue(now, stand_in).is_ok())
    }

    /// Removes the child's stand-in and place holder.
    pub(super) fn withdraw(&mut self, flow: FlowId) {
        while self.scheduler.evict_flow(flow).is_some() {}
        self.children[flow.index()].holds_place = false;
    }

    /// Chooses a child ahead. `head` stays `None` if no child has a packet.
    pub(super) fn choose(&mut self, now: Instant) {
        while self.head.is_none() {
            let children = &mut self.children;
            let next = self.scheduler.dequeue_refilled(now, &mut |flow| {
                children.get_mut(flow.index())?.take_turns(flow)
            });
            let Some(next) = next else { return };
            self.head = Some(next).filter(|next| next.payload == StandIn::Head);
        }
    }

    pub(super) fn child(&self, flow: FlowId) -> usize {
        self.children
            .get(flow.index())
            .map_or(ROOT, |child| child.node as usize)
    }

    pub(super) fn footprint(&self) -> Footprint {
        let Footprint {
            fixed_bytes,
            bytes_per_flow,
        } = self.scheduler.footprint();
        Footprint {
            fixed_bytes: fixed_bytes + self.children.len() * (bytes_per_flow + size_of::<Child>()),
            bytes_per_flow: 0,
        }
    }
}
