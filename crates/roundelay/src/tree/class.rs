//! A class in the tree: its scheduler, and the children's stand-ins in there.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::config::{NONE, PlanEntry, ROOT};
use super::stand_in::StandIn;
use crate::config::ConfigError;
use crate::control::{Footprint, Reads};
use crate::packet::{FlowId, Packet};
use crate::scheduler::Scheduler;
use crate::service::Service;
use crate::time::Instant;

pub(super) struct Class<I> {
    pub(super) scheduler: I,
    /// By position (the child's flow number in the scheduler).
    pub(super) children: Vec<Child>,
    /// Place holders in the scheduler.
    places: u64,
    /// Children that came without packets, or have lost their last one, and were not asked since, in
    /// the order in which the scheduler has such children asked
    /// ([`asks_idle`](crate::Control::asks_idle)).
    idle: BTreeSet<(u32, FlowId)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Child {
    pub(super) node: u32,
    pub(super) priority: u32,
    /// A packet without length holds the child's position in the scheduler.
    pub(super) holds_place: bool,
    /// The child's stand-in has the length of the child's next packet.
    pub(super) is_known: bool,
}

impl Child {
    pub(super) const ABSENT: Self = Self {
        node: NONE,
        priority: 0,
        holds_place: false,
        is_known: false,
    };
}

impl<I: Scheduler<StandIn>> Class<I> {
    pub(super) const fn new(scheduler: I) -> Self {
        Self {
            scheduler,
            children: Vec::new(),
            places: 0,
            idle: BTreeSet::new(),
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
            ..Child::ABSENT
        };
        // A link asks a queue before its first packet, too.
        self.note_idle(entry.flow);
        Ok(())
    }

    /// Enqueues a child's new stand-in. False if the discipline refuses it.
    pub(super) fn hear(&mut self, now: Instant, stand_in: Packet<StandIn>) -> bool {
        let flow = stand_in.flow;
        let is_known = self.reads(flow) == Reads::Ahead;
        if self.scheduler.enqueue(now, stand_in).is_err() {
            return false;
        }
        self.children[flow.index()].is_known = is_known;
        true
    }

    pub(super) fn reads(&self, flow: FlowId) -> Reads {
        self.scheduler.reads(flow)
    }

    pub(super) fn child(&self, flow: FlowId) -> Child {
        let child = self.children.get(flow.index());
        child.copied().unwrap_or(Child::ABSENT)
    }

    /// The node of a child.
    pub(super) fn node(&self, flow: FlowId) -> usize {
        match self.child(flow).node {
            NONE => ROOT,
            node => node as usize,
        }
    }

    /// The length of a child's next packet, whose turn it is.
    pub(super) fn learn(&mut self, flow: FlowId, len: u32, stays: bool) {
        self.scheduler.set_len(flow, len);
        self.children[flow.index()].is_known = stays;
    }

    /// The child may have another next packet, so its length is asked for again in its turn.
    pub(super) fn doubt(&mut self, flow: FlowId) {
        if self.reads(flow) == Reads::InTurn {
            self.learn(flow, 0, false);
        }
    }

    /// Removes the child's stand-in, which is its newest packet. A place holder stays.
    pub(super) fn withdraw(&mut self, flow: FlowId) {
        self.scheduler.evict_flow(flow);
        self.children[flow.index()].is_known = false;
    }

    /// A child has no packet, or none any more.
    pub(super) fn note_idle(&mut self, flow: FlowId) {
        if let Some(rank) = self.scheduler.asks_idle(self.child(flow).priority) {
            self.idle.insert((rank, flow));
        }
    }

    /// After a change of settings idle children may be asked in another order. One with packets may be
    /// among them, as [`take_idle`](Self::take_idle) finds out.
    pub(super) fn rank_anew(&mut self) {
        self.idle.clear();
        for flow in 0..self.children.len() {
            if self.children[flow].node != NONE {
                self.note_idle(FlowId(flow as u32));
            }
        }
    }

    /// The next idle child that is asked before the one that has the turn. Without a turn all are
    /// asked.
    pub(super) fn take_idle(&mut self, turn: Option<FlowId>) -> Option<FlowId> {
        let (rank, _) = *self.idle.first()?;
        let limit = turn.and_then(|flow| self.scheduler.asks_idle(self.child(flow).priority));
        if limit.is_some_and(|limit| limit <= rank) {
            return None;
        }
        let (_, flow) = self.idle.pop_first()?;
        Some(flow)
    }

    /// Removes the child's stand-in and place holder.
    pub(super) fn clear(&mut self, flow: FlowId) {
        while self.scheduler.evict_flow(flow).is_some() {}
        let child = &mut self.children[flow.index()];
        self.places -= u64::from(child.holds_place);
        child.holds_place = false;
        child.is_known = false;
    }

    /// Stand-ins of children in the scheduler.
    pub(super) fn stand_ins(&self) -> u64 {
        self.scheduler.backlog().packets.saturating_sub(self.places)
    }

    /// The packet to enqueue in exchange for the dequeued one: a place holder for a stand-in, and
    /// nothing for a place holder.
    fn take_turns(&mut self, flow: FlowId) -> Option<Packet<StandIn>> {
        let child = self.children.get_mut(flow.index())?;
        take_turns(child, &mut self.places, flow)
    }

    /// Removes the place holders of a class that has no stand-in.
    pub(super) fn drop_places(&mut self, now: Instant) {
        while self.places > 0 && self.choose(now).is_some() {}
    }

    /// Enqueues a place holder for a child that is chosen.
    pub(super) fn hold_place(&mut self, now: Instant, flow: FlowId) {
        let place = self.take_turns(flow);
        let is_taken = place.is_none_or(|place| self.scheduler.enqueue(now, place).is_ok());
        debug_assert!(is_taken, "a class takes packets of no length");
    }

    /// Dequeues the next stand-in or place holder. A place holder takes the place of a stand-in.
    pub(super) fn choose(&mut self, now: Instant) -> Option<Packet<StandIn>> {
        let children = &mut self.children;
        let places = &mut self.places;
        let chosen = self.scheduler.dequeue_refilled(now, &mut |flow| {
            take_turns(children.get_mut(flow.index())?, places, flow)
        })?;
        if chosen.payload == StandIn::Head {
            self.children[chosen.flow.index()].is_known = false;
        }
        Some(chosen)
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

fn take_turns(child: &mut Child, places: &mut u64, flow: FlowId) -> Option<Packet<StandIn>> {
    child.holds_place = !child.holds_place;
    if !child.holds_place {
        *places -= 1;
        return None;
    }
    *places += 1;
    Some(Packet {
        priority: child.priority,
        ..Packet::new(flow, 0, StandIn::Place)
    })
}
