//! The nodes below the root: packets wait in leaves and move up from class to class as they are
//! chosen.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::asleep::{Asleep, Wake};
use super::class::Class;
use super::config::{Config, Node, PlanEntry, ROOT};
use super::shaper::{Offer, Shaper};
use super::stand_in::StandIn;
use crate::buffer::Buffer;
use crate::drops::{DropReason, Refusal};
use crate::limit::Backlog;
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
    /// Leaves and shapers that hold packets but gave none when asked.
    pub(super) asleep: Asleep,
    /// Those that are due, while they are asked again.
    pub(super) due: Vec<usize>,
    /// A shaper waits for the next call of `Tree::dequeue`.
    pub(super) has_put_off: bool,
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
    Class(Class<I>),
    /// A class that may wait though its children have packets.
    Shaper(Box<Shaper<T, I>>),
}

pub(super) struct Leaf<T, L> {
    pub(super) buffer: Buffer<L>,
    /// The next packet to leave, already out of the buffer. Its stand-in is queued in the class, or
    /// chosen there.
    pub(super) head: Option<Packet<T>>,
    /// The scheduler's backlog at the last query.
    pub(super) told: Backlog,
    /// When it is asked again, while it holds packets and has no head.
    pub(super) asleep_until: Option<Wake>,
}

impl<T, L: Scheduler<T>, I> State<T, L, I> {
    pub(super) fn leaf(node: &Node, scheduler: L) -> Self {
        Self::Leaf(Leaf {
            buffer: Buffer::new(node.limit(), scheduler),
            head: None,
            told: Backlog::default(),
            asleep_until: None,
        })
    }

    /// A class, or a shaper that offers its packets so.
    pub(super) fn class(offer: Option<Offer>, scheduler: I) -> Self
    where
        I: Scheduler<StandIn>,
    {
        match offer {
            Some(offer) => Self::Shaper(Box::new(Shaper::new(offer, scheduler))),
            None => Self::Class(Class::new(scheduler)),
        }
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

    pub(super) fn class_mut(&mut self, number: usize) -> Option<&mut Class<I>> {
        match self.nodes.get_mut(number) {
            Some(State::Class(class)) => Some(class),
            Some(State::Shaper(shaper)) => shaper.class_mut(),
            _ => None,
        }
    }

    pub(super) fn leaf(&self, number: usize) -> Option<&Leaf<T, L>> {
        if let Some(State::Leaf(leaf)) = self.nodes.get(number) {
            Some(leaf)
        } else {
            None
        }
    }

    /// The leaf, and the list for its dropped packets.
    pub(super) fn leaf_mut(&mut self, number: usize) -> Option<(&mut Leaf<T, L>, &mut Dropped<T>)> {
        if let Some(State::Leaf(leaf)) = self.nodes.get_mut(number) {
            Some((leaf, &mut self.dropped))
        } else {
            None
        }
    }

    pub(super) fn has_head(&self, number: usize) -> bool {
        match self.nodes.get(number) {
            Some(State::Leaf(leaf)) => leaf.head.is_some(),
            Some(State::Class(class)) => class.head.is_some(),
            Some(State::Shaper(shaper)) => shaper.is_offered,
            Some(State::Absent) | None => false,
        }
    }

    /// Whether the child's next packet is the one that the class gives next.
    pub(super) fn has_chosen(&self, class: usize, child: usize) -> bool {
        match self.nodes.get(class) {
            Some(State::Class(class)) => {
                let head = class.head.as_ref();
                head.is_some_and(|head| head.flow == self.flow_of(child))
            }
            Some(State::Shaper(shaper)) => shaper.is_bound(),
            _ => false,
        }
    }

    /// Why a leaf would refuse a packet.
    pub(super) fn refusal(&self, number: usize, packet: &Packet<T>) -> Option<Refusal> {
        self.leaf(number).map_or(Some(Refusal::NoClass), |leaf| {
            leaf.buffer.scheduler().refusal(packet)
        })
    }

    /// Enqueues a packet in a leaf, which is then asked for a packet if it has no head. A refused
    /// packet is returned.
    pub(super) fn arrive(&mut self, number: usize, packet: Packet<T>) -> Result<(), Packet<T>> {
        let now = self.now;
        let arrival = packet.arrival;
        let Some((leaf, dropped)) = self.leaf_mut(number) else {
            return Err(packet);
        };
        let mut refused = None;
        leaf.buffer
            .enqueue(now, packet, |packet, reason| match reason {
                DropReason::Refused => refused = Some(Packet { arrival, ..packet }),
                _ => dropped.push_back((packet, reason)),
            });
        self.count(number);
        let Some(refused) = refused else {
            return Ok(());
        };
        self.note_sleep(number);
        Err(refused)
    }

    /// Updates what is recorded about a leaf, after a call to its scheduler.
    pub(super) fn listen(&mut self, number: usize) {
        self.count(number);
        self.note_sleep(number);
    }

    /// Updates a leaf's recorded backlog.
    fn count(&mut self, number: usize) {
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

    /// Notes whether a leaf sleeps, and until when. Call this after each call that may change its
    /// scheduler's time.
    pub(super) fn note_sleep(&mut self, number: usize) {
        let Some(State::Leaf(leaf)) = self.nodes.get_mut(number) else {
            return;
        };
        let before = leaf.asleep_until;
        let sleeps = leaf.head.is_none() && !leaf.told.is_empty();
        leaf.asleep_until = if sleeps {
            Some(Wake::told(leaf.buffer.scheduler().ready_at()))
        } else {
            None
        };
        self.asleep.change(number, before, leaf.asleep_until);
    }

    /// When a node that sleeps is asked again. None: it does not sleep.
    pub(super) fn asleep_until(&self, number: usize) -> Option<Wake> {
        match self.nodes.get(number)? {
            State::Leaf(leaf) => leaf.asleep_until,
            State::Shaper(shaper) => shaper.asleep_until,
            State::Absent | State::Class(_) => None,
        }
    }

    /// Moves a leaf's next packet from its buffer to `head`, if the leaf gives one.
    pub(super) fn commit(&mut self, number: usize) {
        let now = self.now;
        let Some((leaf, dropped)) = self.leaf_mut(number) else {
            return;
        };
        leaf.head = leaf
            .buffer
            .dequeue(now, |packet, reason| dropped.push_back((packet, reason)));
        if let Some(head) = &leaf.head {
            let len = u64::from(head.len);
            self.backlog.packets = self.backlog.packets.wrapping_add(1);
            self.backlog.bytes = self.backlog.bytes.wrapping_add(len);
        }
        self.listen(number);
    }

    /// Takes a node's head packet. Its leaf then prepares the next packet, and the classes on the
    /// path choose again.
    pub(super) fn take_head(&mut self, number: usize) -> Option<Packet<T>> {
        match self.nodes.get_mut(number)? {
            State::Absent => None,
            State::Leaf(leaf) => {
                let packet = leaf.head.take()?;
                self.backlog.packets = self.backlog.packets.wrapping_sub(1);
                self.backlog.bytes = self.backlog.bytes.wrapping_sub(packet.len.into());
                self.commit(number);
                Some(packet)
            }
            State::Class(class) => {
                let flow = class.head.take()?.flow;
                let child = class.child(flow);
                let packet = self.take_head(child);
                self.report(child);
                let now = self.now;
                self.class_mut(number)?.choose(now);
                packet
            }
            State::Shaper(_) => self.take_offered(number),
        }
    }

    /// Length, slack and deadline of a node's next packet.
    #[inline]
    pub(super) fn next_of(&self, number: usize) -> Option<(u32, Slack, Instant)> {
        match self.nodes.get(number)? {
            State::Absent => None,
            State::Leaf(leaf) => {
                let head = leaf.head.as_ref()?;
                Some((head.len, head.slack, head.deadline))
            }
            State::Class(class) => {
                let head = class.head.as_ref()?;
                Some((head.len, head.slack, head.deadline))
            }
            State::Shaper(shaper) => self.offered(shaper),
        }
    }

    /// A node's stand-in for its parent. Packets longer than the node's present limit are dropped
    /// on the way.
    pub(super) fn stand_in(&mut self, number: usize) -> Option<Packet<StandIn>> {
        loop {
            let PlanEntry {
                node,
                flow,
                longest,
                ..
            } = self.plan.entry(number)?;
            let (len, slack, deadline) = self.next_of(number)?;
            if len <= *longest {
                let arrival = self.now;
                let priority = node.priority;
                return Some(Packet {
                    arrival,
                    priority,
                    slack,
                    deadline,
                    ..Packet::new(*flow, len, StandIn::Head)
                });
            }
            self.refuse_head(number);
        }
    }

    pub(super) fn refuse_head(&mut self, number: usize) {
        let packet = self.take_head(number);
        self.dropped
            .extend(packet.map(|packet| (packet, DropReason::Refused)));
    }

    /// Reports a child's new stand-in to its class.
    pub(super) fn report(&mut self, child: usize) {
        loop {
            let now = self.now;
            let parent = self.parent(child);
            let stand_in = self.stand_in(child);
            if self
                .class_mut(parent)
                .is_none_or(|class| class.hear(now, stand_in))
            {
                return;
            }
            self.refuse_head(child);
        }
    }

    /// Evicts a packet from a leaf's scheduler. The leaf's head packet stays.
    pub(super) fn evict_waiting(&mut self, number: usize) -> Option<Packet<T>> {
        let (leaf, dropped) = self.leaf_mut(number)?;
        let scheduler = leaf.buffer.scheduler_mut();
        let victim = scheduler.evict();
        dropped.extend(core::iter::from_fn(|| scheduler.take_dropped()));
        self.listen(number);
        victim
    }
}
