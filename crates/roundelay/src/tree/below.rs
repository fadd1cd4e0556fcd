//! The nodes below the root: packets wait in leaves until a class asks for them.
//!
//! `asking.rs` has the calls by which classes ask what is below them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::asleep::{Asleep, Wake};
use super::class::Class;
use super::config::{Config, Node, ROOT};
use super::offer::{Inner, Offer};
use super::stand_in::StandIn;
use crate::buffer::Buffer;
use crate::drops::{DropReason, Refusal, Refused};
use crate::limit::{Backlog, Limit};
use crate::mechanisms::longest::Longest;
use crate::packet::{FlowId, Packet};
use crate::scheduler::Scheduler;
use crate::time::{Instant, Slack};

/// Dropped packets with the reason, oldest first.
type Dropped<T> = VecDeque<(Packet<T>, DropReason)>;

/// The nodes below the root.
pub(super) struct Below<T, L, I> {
    pub(super) plan: Config,
    /// By number, as in `plan`.
    pub(super) nodes: Vec<State<T, L, I>>,
    pub(super) backlog: Backlog,
    /// Leaves by backlog.
    pub(super) longest: Longest,
    /// Nodes that hold packets but gave none when asked.
    pub(super) asleep: Asleep,
    /// Those that are due, while they are asked again.
    pub(super) due: Vec<usize>,
    /// Of the buffer in front of the tree.
    pub(super) limit: Limit,
    /// Dropped packets, until the caller takes them.
    pub(super) dropped: Dropped<T>,
    /// The latest time argument of all calls.
    pub(super) now: Instant,
}

#[allow(
    clippy::large_enum_variant,
    reason = "nodes are few, and a box would cost each call a pointer chase"
)]
pub(super) enum State<T, L, I> {
    /// The root, or an inner class in another node's scheduler, or removed.
    Absent,
    Leaf(Leaf<T, L>),
    Class(Inner<T, I>),
}

pub(super) struct Leaf<T, L> {
    pub(super) buffer: Buffer<L>,
    /// The next packet to leave, already out of the buffer because a class must know its length.
    pub(super) head: Option<Packet<T>>,
    /// The scheduler's backlog at the last query.
    pub(super) told: Backlog,
    /// The class has the leaf's stand-in, or has chosen the leaf.
    pub(super) is_offered: bool,
    /// When it is asked again, while it holds packets and gives none.
    pub(super) asleep_until: Option<Wake>,
}

impl<T, L: Scheduler<T>, I> State<T, L, I> {
    pub(super) fn leaf(node: &Node, scheduler: L) -> Self {
        Self::Leaf(Leaf {
            buffer: Buffer::new(node.limit(), scheduler),
            head: None,
            told: Backlog::default(),
            is_offered: false,
            asleep_until: None,
        })
    }
}

impl<T, L, I: Scheduler<StandIn>> State<T, L, I> {
    pub(super) const fn class(offer: Offer, scheduler: I) -> Self {
        Self::Class(Inner::new(offer, scheduler))
    }
}

impl<T, L: Scheduler<T>> Leaf<T, L> {
    pub(super) fn size(&self) -> u64 {
        let head = self
            .head
            .as_ref()
            .map_or((0, 0), |packet| (1, u64::from(packet.len)));
        self.told
            .bytes
            .saturating_add(head.1)
            .max(self.told.packets.saturating_add(head.0))
    }

    /// The length of the packet that is out of the buffer.
    pub(super) fn head_len(&self) -> Option<u32> {
        Some(self.head.as_ref()?.len)
    }

    fn has_packets(&self) -> bool {
        self.head.is_some() || !self.told.is_empty()
    }
}

impl<T, L: Scheduler<T>, I: Scheduler<StandIn>> Below<T, L, I> {
    /// The node whose scheduler orders this one's packets.
    pub(super) fn parent(&self, number: usize) -> usize {
        self.plan.entry(number).map_or(ROOT, |entry| entry.server)
    }

    pub(super) fn flow_of(&self, number: usize) -> FlowId {
        self.plan
            .entry(number)
            .map_or(FlowId::default(), |entry| entry.flow)
    }

    pub(super) fn inner(&self, number: usize) -> Option<&Inner<T, I>> {
        match self.nodes.get(number) {
            Some(State::Class(inner)) => Some(inner),
            _ => None,
        }
    }

    pub(super) fn inner_mut(&mut self, number: usize) -> Option<&mut Inner<T, I>> {
        match self.nodes.get_mut(number) {
            Some(State::Class(inner)) => Some(inner),
            _ => None,
        }
    }

    pub(super) fn class_mut(&mut self, number: usize) -> Option<&mut Class<I>> {
        self.inner_mut(number)?.class.as_mut()
    }

    /// The leaf, and the list for its dropped packets.
    pub(super) fn leaf_mut(&mut self, number: usize) -> Option<(&mut Leaf<T, L>, &mut Dropped<T>)> {
        if let Some(State::Leaf(leaf)) = self.nodes.get_mut(number) {
            Some((leaf, &mut self.dropped))
        } else {
            None
        }
    }

    /// Whether the class above has the node's stand-in, or has chosen the node.
    pub(super) fn is_offered(&self, number: usize) -> bool {
        match self.nodes.get(number) {
            Some(State::Leaf(leaf)) => leaf.is_offered,
            Some(State::Class(inner)) => inner.is_offered,
            Some(State::Absent) | None => false,
        }
    }

    /// Notes whether the class above counts on the node. A node that holds packets sleeps if it does
    /// not.
    pub(super) fn set_offered(&mut self, number: usize, is_offered: bool) {
        match self.nodes.get_mut(number) {
            Some(State::Leaf(leaf)) => leaf.is_offered = is_offered,
            Some(State::Class(inner)) => inner.is_offered = is_offered,
            Some(State::Absent) | None => return,
        }
        self.note_sleep(number);
    }

    /// Whether a node holds packets, as far as those below have told.
    pub(super) fn has_packets(&self, number: usize) -> bool {
        match self.nodes.get(number) {
            Some(State::Leaf(leaf)) => leaf.has_packets(),
            Some(State::Class(inner)) => inner.has_packets(),
            Some(State::Absent) | None => false,
        }
    }

    /// Whether the child's next packet is the one that the class gives next.
    pub(super) fn has_chosen(&self, class: usize, child: usize) -> bool {
        let chosen = self.inner(class).and_then(|inner| inner.chosen.as_ref());
        chosen.is_some_and(|chosen| chosen.flow == self.flow_of(child))
    }

    /// Whether the class above has decided on the packet that a node gives next: it has chosen the
    /// node, or is a token bucket that has been chosen for it.
    pub(super) fn is_bound(&self, number: usize) -> bool {
        let parent = self.parent(number);
        let is_bucket = self
            .inner(parent)
            .is_some_and(|inner| inner.offer == Offer::OfChild);
        let is_chosen = is_bucket && self.has_chosen(self.parent(parent), parent);
        is_chosen || self.has_chosen(parent, number)
    }

    /// Removes the place holders of a class without packets.
    pub(super) fn drop_places(&mut self, number: usize) {
        let now = self.now;
        if let Some(class) = self.class_mut(number) {
            class.drop_places(now);
        }
    }

    /// Enqueues a packet in a leaf. A refused packet is returned.
    pub(super) fn arrive(&mut self, number: usize, packet: Packet<T>) -> Result<(), Refused<T>> {
        let now = self.now;
        let arrival = packet.arrival;
        let Some((leaf, dropped)) = self.leaf_mut(number) else {
            return Err(packet.refused(Refusal::NoClass));
        };
        let taken = leaf.buffer.offer(now, packet, |packet, reason| {
            dropped.push_back((packet, reason))
        });
        self.count(number);
        let Err(Refused { packet, reason }) = taken else {
            return Ok(());
        };
        self.note_sleep(number);
        Err(Packet { arrival, ..packet }.refused(reason))
    }

    /// Tells a leaf without a limit of its own the limit of the buffer in front of the tree.
    pub(super) fn tell_limit(&mut self, number: usize) {
        let limit = self.limit;
        let has_own = self
            .plan
            .node(number)
            .is_some_and(|node| node.limit() != Limit::UNBOUNDED);
        if let Some((leaf, _)) = self.leaf_mut(number).filter(|_| !has_own) {
            leaf.buffer.scheduler_mut().set_buffer_limit(limit);
        }
    }

    /// Updates what is recorded about a leaf, after a call to its scheduler.
    pub(super) fn listen(&mut self, number: usize) {
        self.count(number);
        self.note_sleep(number);
    }

    /// Updates a leaf's recorded backlog.
    pub(super) fn count(&mut self, number: usize) {
        let Some(State::Leaf(leaf)) = self.nodes.get_mut(number) else {
            return;
        };
        let told = leaf.buffer.scheduler().backlog();
        self.backlog.packets = self
            .backlog
            .packets
            .wrapping_sub(leaf.told.packets)
            .wrapping_add(told.packets);
        self.backlog.bytes = self
            .backlog
            .bytes
            .wrapping_sub(leaf.told.bytes)
            .wrapping_add(told.bytes);
        leaf.told = told;
        self.longest.changed(number, leaf.size());
    }

    /// A packet is out of its leaf's scheduler, and waits.
    pub(super) fn count_ahead(&mut self, len: u32) {
        self.backlog.packets = self.backlog.packets.wrapping_add(1);
        self.backlog.bytes = self.backlog.bytes.wrapping_add(len.into());
    }

    /// A packet that was out of its leaf's scheduler no longer waits.
    pub(super) fn count_gone(&mut self, len: u32) {
        self.backlog.packets = self.backlog.packets.wrapping_sub(1);
        self.backlog.bytes = self.backlog.bytes.wrapping_sub(len.into());
    }

    /// Notes whether a node sleeps, and until when. Call this after each call that may change its
    /// scheduler's time.
    pub(super) fn note_sleep(&mut self, number: usize) {
        let sleeps = !self.is_offered(number) && self.has_packets(number);
        let (before, after) = match self.nodes.get_mut(number) {
            Some(State::Leaf(leaf)) => {
                let wake = sleeps.then(|| Wake::told(leaf.buffer.scheduler().ready_at()));
                let before = core::mem::replace(&mut leaf.asleep_until, wake);
                (before, wake)
            }
            Some(State::Class(inner)) => {
                let ready = sleeps.then(|| inner.ready_at().unwrap_or(Instant::MAX));
                let wake = ready.map(Wake::At);
                (core::mem::replace(&mut inner.asleep_until, wake), wake)
            }
            Some(State::Absent) | None => return,
        };
        self.asleep.change(number, before, after);
    }

    /// When a node that sleeps is asked again. None: it does not sleep.
    pub(super) fn asleep_until(&self, number: usize) -> Option<Wake> {
        match self.nodes.get(number)? {
            State::Leaf(leaf) => leaf.asleep_until,
            State::Class(inner) => inner.asleep_until,
            State::Absent => None,
        }
    }

    /// Length, slack and deadline of a node's next packet, if it is decided.
    pub(super) fn next_of(&self, number: usize) -> Option<(u32, Slack, Instant)> {
        match self.nodes.get(number)? {
            State::Absent => None,
            State::Leaf(leaf) => {
                let head = leaf.head.as_ref()?;
                Some((head.len, head.slack, head.deadline))
            }
            State::Class(inner) => {
                if let Some(chosen) = &inner.chosen {
                    return Some((chosen.len, chosen.slack, chosen.deadline));
                }
                let held = inner.held.as_ref()?;
                Some((held.len, held.slack, held.deadline))
            }
        }
    }

    /// Evicts a packet from a leaf's scheduler. A packet that is out of it stays.
    pub(super) fn evict_waiting(&mut self, number: usize) -> Option<Packet<T>> {
        let (leaf, dropped) = self.leaf_mut(number)?;
        let scheduler = leaf.buffer.scheduler_mut();
        let victim = scheduler.evict();
        dropped.extend(core::iter::from_fn(|| scheduler.take_dropped()));
        self.listen(number);
        victim
    }
}
