//! A class and its children: who stands in its scheduler, and whom it has chosen.

use alloc::vec::Vec;

use super::StandIn;
use super::config::{NONE, Placed, ROOT};
use crate::config::ConfigError;
use crate::packet::{FlowId, Packet};
use crate::scheduler::{Footprint, Scheduler};
use crate::time::Instant;

pub(super) struct Class<I> {
    pub(super) scheduler: I,
    /// By place.
    pub(super) children: Vec<Child>,
    /// The stand-in of the child that it has chosen. The root's is none: what it chooses is gone.
    pub(super) head: Option<Packet<StandIn>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Child {
    pub(super) node: u32,
    pub(super) priority: u32,
    /// A packet without length holds its place in the scheduler.
    pub(super) holds_place: bool,
}

impl Child {
    pub(super) const ABSENT: Self = Self { node: NONE, priority: 0, holds_place: false };

    /// What comes into the queue for what goes out of it: its place for its stand-in, and for its place nothing.
    pub(super) fn take_turns(&mut self, place: FlowId) -> Option<Packet<StandIn>> {
        self.holds_place = !self.holds_place;
        self.holds_place.then(|| Packet { priority: self.priority, ..Packet::new(place, 0, StandIn::Place) })
    }
}

impl<I: Scheduler<StandIn>> Class<I> {
    pub(super) const fn new(scheduler: I) -> Self {
        Self { scheduler, children: Vec::new(), head: None }
    }

    pub(super) fn adopt(&mut self, number: usize, placed: &Placed) -> Result<(), ConfigError> {
        self.scheduler.set_flow(placed.place, placed.node.flow_config())?;
        let place = placed.place.index();
        self.children.resize(self.children.len().max(place + 1), Child::ABSENT);
        self.children[place] = Child { node: number as u32, priority: placed.node.priority, holds_place: false };
        Ok(())
    }

    /// A child tells what stands for it from now on: nothing if it has nothing to send. A place that is held for it then goes in its turn.
    /// False if the discipline does not take the stand-in.
    pub(super) fn hear(&mut self, now: Instant, stand_in: Option<Packet<StandIn>>) -> bool {
        stand_in.is_none_or(|stand_in| self.scheduler.enqueue(now, stand_in).is_ok())
    }

    /// Takes out all that stands for a child.
    pub(super) fn withdraw(&mut self, place: FlowId) {
        while self.scheduler.evict_flow(place).is_some() {}
        self.children[place.index()].holds_place = false;
    }

    /// Chooses a child ahead. None if no child has anything.
    pub(super) fn choose(&mut self, now: Instant) {
        while self.head.is_none() {
            let children = &mut self.children;
            let next = self.scheduler.dequeue_refilled(now, &mut |place| children.get_mut(place.index())?.take_turns(place));
            let Some(next) = next else { return };
            self.head = Some(next).filter(|next| next.payload == StandIn::Head);
        }
    }

    pub(super) fn child(&self, place: FlowId) -> usize {
        self.children.get(place.index()).map_or(ROOT, |child| child.node as usize)
    }

    pub(super) fn footprint(&self) -> Footprint {
        let Footprint { fixed_bytes, bytes_per_flow } = self.scheduler.footprint();
        Footprint { fixed_bytes: fixed_bytes + self.children.len() * (bytes_per_flow + size_of::<Child>()), bytes_per_flow: 0 }
    }
}
