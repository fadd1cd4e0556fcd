//! How a class asks what is below it for packets.
//!
//! A class asks a child for its packet, or only for the length of its next packet, at the moment
//! that its scheduler's [`Reads`] say. What was told stays so until the packet leaves.

use super::below::{Below, State};
use super::class::Class;
use super::offer::Offer;
use super::stand_in::StandIn;
use crate::control::Reads;
use crate::drops::DropReason;
use crate::packet::{FlowId, Packet};
use crate::scheduler::Scheduler;
use crate::time::{Instant, Slack};

/// A node's next packet: length, slack, deadline.
type Next = (u32, Slack, Instant);

impl<T, L: Scheduler<T>, I: Scheduler<StandIn>> Below<T, L, I> {
    /// Asks a class's scheduler for a packet, as the link asks the root.
    #[inline]
    pub(super) fn serve(&mut self, class: &mut Class<I>) -> Option<Packet<T>> {
        if class.scheduler.names_turns() {
            self.serve_in_turn(class)
        } else {
            self.serve_known(class)
        }
    }

    /// [`serve`](Self::serve), if all children's lengths are known.
    fn serve_known(&mut self, class: &mut Class<I>) -> Option<Packet<T>> {
        let now = self.now;
        let children = &class.children;
        loop {
            let mut sent = None;
            let chosen = class.scheduler.dequeue_refilled(now, &mut |flow| {
                let child = children.get(flow.index())?.node as usize;
                sent = self.take(child);
                self.offer(child, Reads::Ahead)
            });
            if sent.is_some() || chosen.is_none() {
                return sent;
            }
        }
    }

    /// [`serve`](Self::serve), if the scheduler names the child whose turn it is.
    fn serve_in_turn(&mut self, class: &mut Class<I>) -> Option<Packet<T>> {
        let now = self.now;
        let mut told = None;
        loop {
            let flow = self.turn(class)?;
            let child = class.node(flow);
            let reads = class.reads(flow);
            let mut packet = None;
            if class.child(flow).is_known || told == Some(flow) {
                packet = self.take(child);
            } else if reads == Reads::WhenSent {
                packet = self.ask(child);
                if let Some(packet) = &packet {
                    class.learn(flow, packet.len, false);
                }
            } else if self.learn(class, flow) {
                told = Some(flow);
                continue;
            }
            let Some(packet) = packet else {
                class.withdraw(flow);
                self.set_offered(child, false);
                continue;
            };
            let mut next = self.offer(child, reads);
            if next.is_none() && !self.has_packets(child) {
                class.note_idle(flow);
            }
            class.children[flow.index()].is_known = next.is_some() && reads == Reads::Ahead;
            class.scheduler.dequeue_refilled(now, &mut |_| next.take());
            return Some(packet);
        }
    }

    /// The child whose turn it is. Idle children that the class would ask before this one are asked
    /// on the way: `fq_codel` and `fq_pie` end the turns of their flows when they are found empty.
    fn turn(&mut self, class: &mut Class<I>) -> Option<FlowId> {
        let turn = class.scheduler.turn(self.now);
        while let Some(flow) = class.take_idle(turn) {
            self.ask_idle(class.node(flow));
        }
        turn
    }

    /// Asks a node without packets.
    fn ask_idle(&mut self, number: usize) {
        if self.has_packets(number) {
            return;
        }
        let now = self.now;
        if let Some((leaf, dropped)) = self.leaf_mut(number) {
            let packet = leaf
                .buffer
                .dequeue(now, |packet, reason| dropped.push_back((packet, reason)));
            debug_assert!(packet.is_none(), "an idle leaf has no packet");
        } else {
            self.serve_node(number);
        }
    }

    /// Asks a child for the length of its next packet, and tells the class's scheduler. False if the
    /// child gives none.
    fn learn(&mut self, class: &mut Class<I>, flow: FlowId) -> bool {
        let child = class.node(flow);
        let Some((len, ..)) = self.peek(child) else {
            return false;
        };
        let is_first = self
            .inner(child)
            .is_some_and(|inner| inner.offer == Offer::First);
        class.learn(flow, len, !is_first);
        true
    }

    /// Asks a class below the root for a packet.
    fn serve_node(&mut self, number: usize) -> Option<Packet<T>> {
        let mut class = self.inner_mut(number)?.class.take()?;
        let packet = self.serve(&mut class);
        self.inner_mut(number)?.class = Some(class);
        packet
    }

    /// Asks a node for a packet that leaves at once.
    fn ask(&mut self, number: usize) -> Option<Packet<T>> {
        if self.next_of(number).is_some() {
            return self.take(number);
        }
        if let Some(State::Class(_)) = self.nodes.get(number) {
            return self.serve_node(number);
        }
        self.ask_leaf(number)
    }

    /// Dequeues a leaf's next packet. Packets longer than the leaf's present limit are dropped on
    /// the way. Empty leaves are asked by [`ask_idle`](Self::ask_idle).
    fn ask_leaf(&mut self, number: usize) -> Option<Packet<T>> {
        let now = self.now;
        let longest = self.plan.entry(number)?.longest;
        let (leaf, dropped) = self.leaf_mut(number)?;
        let mut packet = None;
        while !leaf.buffer.scheduler().backlog().is_empty() {
            packet = leaf
                .buffer
                .dequeue(now, |packet, reason| dropped.push_back((packet, reason)));
            match packet.take_if(|packet| packet.len > longest) {
                Some(too_long) => dropped.push_back((too_long, DropReason::Refused)),
                None => break,
            }
        }
        self.count(number);
        packet
    }

    /// Length, slack and deadline of a node's next packet, which is decided with this call.
    pub(super) fn peek(&mut self, number: usize) -> Option<Next> {
        if let Some(next) = self.next_of(number) {
            return Some(next);
        }
        match self.nodes.get(number)? {
            State::Absent => return None,
            State::Leaf(_) => {
                let packet = self.ask_leaf(number)?;
                self.count_ahead(packet.len);
                let (leaf, _) = self.leaf_mut(number)?;
                leaf.buffer.hold(packet.len);
                leaf.head = Some(packet);
                let size = leaf.size();
                self.longest.changed(number, size);
            }
            // Who reads lengths ahead asks no class without packets.
            State::Class(inner) if !inner.has_packets() => return None,
            State::Class(inner) => match inner.offer {
                Offer::OfChild | Offer::First => return self.look(number),
                Offer::Chosen => self.choose(number),
                Offer::Held | Offer::WhenSent => {
                    let packet = self.serve_node(number)?;
                    self.count_ahead(packet.len);
                    self.inner_mut(number)?.held = Some(packet);
                }
            },
        }
        self.next_of(number)
    }

    /// The next packet of a class that gives its child's, without a decision.
    fn look(&mut self, number: usize) -> Option<Next> {
        let mut class = self.inner_mut(number)?.class.take()?;
        let next = self.look_into(&mut class);
        self.inner_mut(number)?.class = Some(class);
        next
    }

    fn look_into(&mut self, class: &mut Class<I>) -> Option<Next> {
        loop {
            let flow = self.turn(class)?;
            let child = class.node(flow);
            if let Some(next) = self.peek(child) {
                if class.child(flow).is_known || class.reads(flow) == Reads::WhenSent {
                    return Some(next);
                }
                class.learn(flow, next.0, true);
            } else {
                class.withdraw(flow);
                self.set_offered(child, false);
            }
        }
    }

    /// Has a class choose a child, if any gives a packet.
    fn choose(&mut self, number: usize) {
        let Some(inner) = self.inner_mut(number) else {
            return;
        };
        let Some(mut class) = inner.class.take() else {
            return;
        };
        let chosen = if class.scheduler.names_turns() {
            self.choose_in_turn(&mut class)
        } else {
            self.choose_known(&mut class)
        };
        if let Some(inner) = self.inner_mut(number) {
            inner.class = Some(class);
            inner.chosen = chosen;
        }
    }

    /// RESTART-NODE.
    fn choose_known(&mut self, class: &mut Class<I>) -> Option<Packet<StandIn>> {
        loop {
            let chosen = class.choose(self.now)?;
            if chosen.payload == StandIn::Head {
                return Some(chosen);
            }
        }
    }

    fn choose_in_turn(&mut self, class: &mut Class<I>) -> Option<Packet<StandIn>> {
        loop {
            let flow = self.turn(class)?;
            let child = class.node(flow);
            let state = class.child(flow);
            if state.holds_place {
                class.choose(self.now);
            } else if state.is_known || class.reads(flow) == Reads::WhenSent {
                let Some((len, slack, deadline)) = self.peek(child) else {
                    class.withdraw(flow);
                    self.set_offered(child, false);
                    continue;
                };
                if !state.is_known {
                    class.learn(flow, len, true);
                }
                let stand_in = class.choose(self.now)?;
                return Some(Packet {
                    len,
                    slack,
                    deadline,
                    ..stand_in
                });
            } else if !self.learn(class, flow) {
                class.withdraw(flow);
                self.set_offered(child, false);
            }
        }
    }

    /// Takes the packet that a node was asked for by [`peek`](Self::peek).
    pub(super) fn take(&mut self, number: usize) -> Option<Packet<T>> {
        match self.nodes.get_mut(number)? {
            State::Absent => None,
            State::Leaf(leaf) => {
                let packet = leaf.head.take()?;
                leaf.buffer.release();
                let size = leaf.size();
                self.longest.changed(number, size);
                self.count_gone(packet.len);
                Some(packet)
            }
            State::Class(inner) => {
                if let Some(packet) = inner.held.take() {
                    self.count_gone(packet.len);
                    return Some(packet);
                }
                match inner.offer {
                    Offer::Chosen => self.take_chosen(number),
                    _ => self.serve_node(number),
                }
            }
        }
    }

    /// Takes the packet of the child that a class has chosen. The child's next stand-in goes behind
    /// the place holder.
    fn take_chosen(&mut self, number: usize) -> Option<Packet<T>> {
        let inner = self.inner_mut(number)?;
        let flow = inner.chosen.take()?.flow;
        let mut class = inner.class.take()?;
        let child = class.node(flow);
        let packet = self.take(child);
        self.enter(&mut class, child);
        if !self.has_packets(child) {
            class.note_idle(flow);
        }
        if class.stand_ins() == 0 {
            // Place holders do not outlast the packets.
            class.drop_places(self.now);
        }
        self.inner_mut(number)?.class = Some(class);
        packet
    }

    /// A stand-in of a node for the class above, if the node has a packet to give. A class that
    /// reads no length yet gets one without a length.
    pub(super) fn offer(&mut self, number: usize, reads: Reads) -> Option<Packet<StandIn>> {
        let mut next = Some((0, Slack::ZERO, Instant::MAX));
        if reads == Reads::Ahead {
            next = self.peek(number);
        } else if !self.has_packets(number) {
            next = None;
        }
        self.set_offered(number, next.is_some());
        let (len, slack, deadline) = next?;
        let entry = self.plan.entry(number)?;
        Some(Packet {
            arrival: self.now,
            priority: entry.node.priority,
            slack,
            deadline,
            ..Packet::new(entry.flow, len, StandIn::Head)
        })
    }

    /// Enters a node's stand-in in the class above. A packet whose stand-in the class refuses is
    /// dropped.
    pub(super) fn enter(&mut self, class: &mut Class<I>, number: usize) {
        let reads = class.reads(self.flow_of(number));
        while let Some(stand_in) = self.offer(number, reads) {
            if class.hear(self.now, stand_in) {
                return;
            }
            let refused = self.take(number);
            self.dropped
                .extend(refused.map(|packet| (packet, DropReason::Refused)));
        }
    }
}
