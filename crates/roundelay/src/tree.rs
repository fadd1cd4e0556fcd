//! Tree: a hierarchy of disciplines. Classes share the link among their children, and leaves hold
//! the packets.
//!
//! Any discipline can be a leaf. A class is a discipline whose flows are its children. For each
//! child with a packet to send, a stand-in waits in the class's scheduler. Bandwidth that a class
//! leaves unused goes to its siblings first, then to its parent's siblings, which is called link
//! sharing. A child reports each change to its class, and a class never inspects a child's queue.
//!
//! **A class does not change its leaf.** One child with the whole rate is the child alone. So a
//! class asks a child for its packet as late as its scheduler allows
//! ([`Reads`]): when the packet is sent, or in the child's turn. Only where the order
//! depends on lengths are all next packets known ahead. The stand-in is then as long as the child's
//! next packet, and a class below has chosen one child ahead. See `offer.rs` and `asking.rs`.
//!
//! Source: J. Bennett, H. Zhang, "Hierarchical Packet Fair Queueing Algorithms", IEEE/ACM ToN 5(5),
//! 1997. With WF2Q+ in each class this is their H-WF2Q+.
//!
//! | paper | here |
//! |---|---|
//! | logical queue Q_n of a node | `Leaf::head`, `Inner::chosen` |
//! | ActiveChild_n | the flow of `Inner::chosen` |
//! | RESTART-NODE | `Below::choose_known`, `Below::enter` |
//! | RESET-PATH | `Below::take_chosen` |
//! | phi of a leaf in the link | the product of the shares on its way to the root |
//!
//! | guarantee | value | test in `theorems/tree.rs` |
//! |---|---|---|
//! | link sharing | what a class leaves goes to its siblings before anyone else | `what_a_class_leaves_goes_to_its_siblings` |
//! | one level | serves as its root's discipline alone would | `one_level_of_wf2q_plus_is_wf2q_plus` |
//! | B-WFI of a leaf | B(n) = alpha(n) + phi(n) (B(m) + L(m)), m its class; alpha(n) alone below the root | `b_wfi_stays_within_the_bound` |
//! | T-WFI of a first-in-first-out leaf | B over the leaf's rate | `t_wfi_stays_within_the_bound` |
//! | one child with the whole rate | is the child alone, or with a packet ahead where lengths are read ahead | `tests/tree/law.rs` |
//! | a leaf that gives nothing, or lies | does not hold up its siblings | unit tests, `known_bug_38...` |
//!
//! **Stand-ins and place holders.** A class that has chosen a child removes the child's stand-in
//! from the scheduler, and the child's next packet is unknown until the chosen packet has left. In
//! the meantime the child must not look idle, because it would lose its virtual time each time, and
//! a sender with one packet waiting at a time would fall behind without bound. So a packet without
//! length holds the child's place (`StandIn::Place`). The place holder costs no virtual time and no
//! deficit. The next stand-in is enqueued behind it, with S = F, as if it had waited there all the
//! time. Without a next stand-in the place holder leaves in its turn, at the latest when the class
//! becomes idle. The root needs no place holders, and neither does a class that is asked when its
//! packet is sent: a packet that it chooses leaves at once, so it gets the next stand-in with its
//! choice.
//!
//! **Difference from the paper: one packet ahead.** RESTART-NODE chooses when the previous packet
//! has been transmitted. Here the classes on a packet's path choose again when its transmission
//! starts, since a scheduler is not told of the end. So, unlike in the paper, a newly backlogged
//! leaf finds that each class below the root has already chosen up to one packet. This is the
//! bound's term L(m). A class that is asked in its turn chooses later, and has the same bound.
//!
//! **Proof of the bound.** Packets of class m leave by the link in the order in which m chose them.
//! Let m's leaf n be backlogged over (t1, t2), W the link's service, and W_m, W_n that of m and n.
//! If m chose after the previous packet had left, its discipline's B-WFI would give
//! W_n >= phi W_m - alpha over (t1, t2), since the B-WFI holds for a server of any, even changing,
//! rate. Choosing at the start of the previous packet has one effect: a leaf n that becomes
//! backlogged later takes part from the next choice on, as if n had arrived at the start of the
//! chosen packet. Until then m sends the rest of the packet on the link, at most L(m). So W_n >=
//! phi (W_m - L(m)) - alpha, and with W_m >= phi_m W - B(m) for the class, which is backlogged as
//! long as n is, the bound follows from the root down. When a first-in-first-out leaf's packet
//! starts, the leaf has been backlogged since the packet's arrival, with Q bytes at first, so the
//! link has sent at most (Q - len + B) / phi in between. This is the T-WFI.
//!
//! **Shapers.** A class of `tbf`, `htb` or `hfsc` may give nothing although its children have
//! packets. It is then out of its class's scheduler, and `Below::asleep` has it with the time at
//! which it is asked again. See `offer.rs`. Such a class is asked as the root is, so it needs no
//! place holders. The bound's proof holds for its siblings, because to them it is a child that is
//! idle now and then.
//!
//! Cost: at each level what its discipline costs, three times where a class chooses ahead: for place
//! holder, stand-in and choice. With n nodes asleep, a node that falls asleep, wakes up or gets another
//! time costs O(log n), and a decision costs O(1) for all that sleep on. Memory: see `footprint`.
//!
//! Invariants are at `check_invariants`. The backlog is counted once, as the leaves' reported
//! backlogs plus their chosen packets.

mod asking;
mod asleep;
mod below;
mod bounds;
mod changes;
mod class;
mod config;
mod discipline;
pub mod hfsc;
pub mod htb;
mod offer;
mod stand_in;

use alloc::collections::VecDeque;
use alloc::string::ToString as _;
use alloc::vec::Vec;

pub use crate::service::Service;
use asleep::{Asleep, Wake};
use below::{Below, State};
use class::Class;
pub use config::{Config, Node, Problem, TreeError};
use config::{NONE, PlanEntry, ROOT, problem, setting};
use offer::Offer;
pub use stand_in::StandIn;

use crate::acknowledgement::Acknowledgement;
use crate::config::ConfigError;
use crate::control::{Control, Footprint, Reads};
use crate::drops::{DropReason, Refusal, Refused};
use crate::flow_config::FlowConfig;
use crate::limit::{Backlog, Limit};
use crate::mechanisms::longest::Longest;
use crate::packet::{FlowId, Hosts, Packet};
use crate::scheduler::Scheduler;
use crate::schedulers::{AnyDiscipline, AnyScheduler};
use crate::seed::{Purpose, Seed};
use crate::time::Instant;
use crate::units::Rate;

/// The disciplines that are classes of trees and nothing else, with their default parameters:
/// [`QueueSpec::read`](crate::QueueSpec::read) knows their names if given these.
pub fn only_classes() -> Vec<AnyDiscipline> {
    alloc::vec![
        AnyDiscipline::Htb(htb::Config::default()),
        AnyDiscipline::Hfsc(hfsc::Config),
    ]
}

/// A node's seed, so that nodes draw and hash independently of each other.
const fn seed_of(tree: Seed, number: usize) -> Seed {
    tree.derive(Purpose::Class, number as u64)
}

/// A working hierarchy: see [`Config`] for the construction.
///
/// `L` orders a leaf's packets and `I` a class's children. [`Tree::with`] takes schedulers of any
/// type.
pub struct Tree<T: Send, L = AnyScheduler<T>, I = AnyScheduler<StandIn>> {
    root: Class<I>,
    below: Below<T, L, I>,
    default_leaf: usize,
    seed: Seed,
    /// The leaf for the next packet of this flow, which is a short acknowledgement.
    short: Option<(FlowId, usize)>,
}

impl<T: Send, L: Scheduler<T>, I: Scheduler<StandIn>> Tree<T, L, I> {
    /// Builds a tree. The two functions make the scheduler for each leaf and each class from its
    /// node and its seed, which is derived from `seed` by the node's number.
    ///
    /// # Errors
    /// No leaf is the default, or a scheduler could not be made.
    pub fn with(
        plan: &Config,
        seed: Seed,
        mut leaf: impl FnMut(&Node, Seed) -> Result<L, ConfigError>,
        mut class: impl FnMut(&Node, Seed) -> Result<I, ConfigError>,
    ) -> Result<Self, TreeError> {
        let default_leaf = plan.default_leaf()?;
        let mut root = None;
        let mut nodes = Vec::new();
        for (number, entry) in plan.nodes.iter().enumerate() {
            let Some(PlanEntry {
                node,
                is_class,
                is_inner: false,
                ..
            }) = entry
            else {
                nodes.push(State::Absent);
                continue;
            };
            let seed = seed_of(seed, number);
            let fails = |error| setting(&node.name, error);
            if number == ROOT {
                nodes.push(State::Absent);
                root = Some(Class::new(class(node, seed).map_err(fails)?));
            } else if *is_class {
                let scheduler = class(node, seed).map_err(fails)?;
                nodes.push(State::class(plan.offer_of(number), scheduler));
            } else {
                let scheduler = leaf(node, seed).map_err(fails)?;
                nodes.push(State::leaf(node, scheduler));
            }
        }
        let Some(root) = root else {
            return Err(problem("", Problem::NoDefault));
        };
        let backlog = Backlog::default();
        let longest = Longest::default();
        let asleep = Asleep::default();
        let dropped = VecDeque::new();
        let below = Below {
            plan: plan.clone(),
            nodes,
            backlog,
            longest,
            asleep,
            due: Vec::new(),
            limit: Limit::UNBOUNDED,
            dropped,
            now: Instant::ZERO,
        };
        let mut tree = Self {
            root,
            below,
            default_leaf,
            seed,
            short: None,
        };
        for number in ROOT + 1..tree.below.nodes.len() {
            tree.adopt(number)?;
        }
        Ok(tree)
    }

    /// The present configuration of the tree.
    pub const fn config(&self) -> &Config {
        &self.below.plan
    }

    /// The seed of a node.
    const fn seed_of(&self, number: usize) -> Seed {
        seed_of(self.seed, number)
    }

    /// The leaf of a flow.
    pub fn leaf_of(&self, flow: FlowId) -> &str {
        let number = self.below.plan.leaf_of(flow, self.default_leaf);
        self.below
            .plan
            .entry(number)
            .map_or("", |entry| &entry.node.name)
    }

    /// The leaf for the next packet of a flow.
    #[inline]
    fn leaf_for(&self, flow: FlowId) -> usize {
        match self.short {
            Some((of, leaf)) if of == flow => leaf,
            _ => self.below.plan.leaf_of(flow, self.default_leaf),
        }
    }

    /// The leaves that a flow's packets go to: one, or two if its short acknowledgements have their
    /// own.
    fn leaves_for(&self, flow: FlowId) -> impl Iterator<Item = usize> + use<T, L, I> {
        let plan = &self.below.plan;
        let leaf = plan.leaf_of(flow, self.default_leaf);
        let short = plan.leaf_of_acknowledgements(flow);
        [Some(leaf), short.filter(|other| *other != leaf)]
            .into_iter()
            .flatten()
    }

    /// A node's backlog, with everything below. None if there is no such node.
    pub fn backlog_of(&self, name: &str) -> Option<Backlog> {
        let node = self.below.plan.number(name)?;
        let mut sum = Backlog::default();
        for (number, state) in self.below.nodes.iter().enumerate() {
            let (told, head) = match state {
                State::Leaf(leaf) => (leaf.told, &leaf.head),
                State::Class(inner) => (Backlog::default(), &inner.held),
                State::Absent => continue,
            };
            if node == ROOT || self.below.plan.path(number).any(|above| above == node) {
                let len = head.as_ref().map_or(0, |head| u64::from(head.len));
                sum.packets = sum
                    .packets
                    .saturating_add(told.packets)
                    .saturating_add(head.is_some().into());
                sum.bytes = sum.bytes.saturating_add(told.bytes).saturating_add(len);
            }
        }
        Some(sum)
    }

    fn class_mut(&mut self, number: usize) -> Option<&mut Class<I>> {
        if number == ROOT {
            Some(&mut self.root)
        } else {
            self.below.class_mut(number)
        }
    }

    fn adopt(&mut self, number: usize) -> Result<(), TreeError> {
        let Some(entry) = self.below.plan.entry(number) else {
            return Ok(());
        };
        if entry.is_inner {
            return Ok(());
        }
        let way = self.below.plan.way(number);
        let (server, entry) = (entry.server, entry.clone());
        let class = match self.below.class_mut(server) {
            Some(class) => class,
            None => &mut self.root,
        };
        class
            .adopt(number, &entry, &way)
            .map_err(|error| setting(&entry.node.name, error))
    }

    /// Enters a node's stand-in in the class above, and so on up to the root. Stops where the class
    /// above counts on a node already, or a node gives nothing now.
    fn activate(&mut self, node: usize) {
        let mut number = node;
        while number != ROOT {
            if self.below.is_offered(number) {
                // A class that gives its child's packet may have another first one now.
                let is_first = self
                    .below
                    .inner(number)
                    .is_some_and(|inner| inner.offer == Offer::First);
                if !is_first {
                    return;
                }
                self.doubt(number);
            } else {
                self.report(number);
                if !self.below.is_offered(number) {
                    return;
                }
            }
            number = self.below.parent(number);
        }
    }

    /// Enters a node's stand-in in the class above, if the node gives a packet.
    fn report(&mut self, number: usize) {
        let parent = self.below.parent(number);
        if parent == ROOT {
            return self.below.enter(&mut self.root, number);
        }
        let Some(mut class) = self
            .below
            .inner_mut(parent)
            .and_then(|inner| inner.class.take())
        else {
            return;
        };
        self.below.enter(&mut class, number);
        if let Some(inner) = self.below.inner_mut(parent) {
            inner.class = Some(class);
        }
    }

    /// Removes a node's stand-in from the class above, and those of classes that become empty.
    fn retire(&mut self, node: usize) {
        let mut number = node;
        while number != ROOT && !self.below.has_packets(number) {
            self.below.drop_places(number);
            let is_offered = self.below.is_offered(number);
            let parent = self.below.parent(number);
            let flow = self.below.flow_of(number);
            if let Some(class) = self.class_mut(parent) {
                if is_offered {
                    class.clear(flow);
                }
                class.note_idle(flow);
            }
            self.below.set_offered(number, false);
            number = parent;
        }
    }

    /// What a class that gives its child's packet has told the class above may be wrong, because
    /// something below it has changed.
    fn doubt(&mut self, node: usize) {
        let mut number = node;
        while number != ROOT && self.below.is_offered(number) {
            let offer = self.below.inner(number).map(|inner| inner.offer);
            if !matches!(offer, Some(Offer::First | Offer::OfChild)) {
                return;
            }
            let parent = self.below.parent(number);
            let flow = self.below.flow_of(number);
            let is_chosen = self.below.has_chosen(parent, number);
            let Some(class) = self.class_mut(parent).filter(|_| !is_chosen) else {
                return;
            };
            if class.reads(flow) == Reads::Ahead {
                class.withdraw(flow);
                self.below.set_offered(number, false);
                self.report(number);
            } else {
                class.doubt(flow);
            }
            number = parent;
        }
    }

    /// Asks the sleeping nodes again that are due, in the order of their times.
    #[cold]
    fn wake(&mut self) {
        let mut due = core::mem::take(&mut self.below.due);
        due.extend(self.below.asleep.due(self.below.now));
        for number in due.drain(..) {
            // One that slept above another may have been asked since.
            if self.below.asleep_until(number).is_some() {
                self.activate(number);
            }
        }
        self.below.due = due;
    }

    /// Looks at a node again after something below it, or its settings, have changed.
    fn look_again(&mut self, number: usize) {
        if number == ROOT {
            return;
        }
        let parent = self.below.parent(number);
        let flow = self.below.flow_of(number);
        let is_offered = self.below.is_offered(number);
        if let Some(class) = self.class_mut(parent)
            && is_offered
            && class.reads(flow) == Reads::Ahead
            && !class.child(flow).is_known
            && !class.child(flow).holds_place
        {
            // The class must know a length now that it did not read before.
            class.withdraw(flow);
            self.below.set_offered(number, false);
        }
        self.doubt(number);
        if is_offered {
            self.activate(number);
        }
        self.below.note_sleep(number);
        self.retire(number);
    }

    fn dequeue_packet(&mut self) -> Option<Packet<T>> {
        if !self.below.asleep.is_empty() {
            self.wake();
        }
        self.below.serve(&mut self.root)
    }

    /// Takes back a packet that is out of its leaf's scheduler. Classes that have chosen the packet
    /// count it as sent.
    fn withdraw(&mut self, holder: usize) -> Option<Packet<T>> {
        match self.below.nodes.get(holder)? {
            State::Leaf(leaf) => leaf.head.as_ref()?,
            State::Class(inner) => inner.held.as_ref()?,
            State::Absent => return None,
        };
        let mut top = holder;
        while self.below.is_bound(top) {
            top = self.below.parent(top);
        }
        let parent = self.below.parent(top);
        let flow = self.below.flow_of(top);
        self.class_mut(parent)?.withdraw(flow);
        self.below.set_offered(top, false);
        let packet = self.below.take(top);
        self.doubt(parent);
        self.activate(top);
        self.retire(parent);
        packet
    }

    fn evict_from(&mut self, leaf: usize) -> Option<Packet<T>> {
        let Some(victim) = self.below.evict_waiting(leaf) else {
            return self.withdraw(leaf);
        };
        self.retire(leaf);
        Some(victim)
    }
}

impl<T: Send, L: Scheduler<T>, I: Scheduler<StandIn>> Tree<T, L, I> {
    /// When a root without times of its own can send a packet. None: now.
    ///
    /// A root that asks its children in their turn counts on those that have packets, which may
    /// have none for now. So it can send when the first of them can.
    fn first_turn_at(&self) -> Option<Instant> {
        let mut earliest: Option<Instant> = None;
        for child in &self.root.children {
            let number = child.node as usize;
            if !self.below.is_offered(number) {
                continue;
            }
            let ready = match self.below.nodes.get(number)? {
                State::Leaf(leaf) if leaf.head.is_none() => leaf.buffer.scheduler().ready_at()?,
                State::Class(inner) if inner.offer == Offer::WhenSent => inner.ready_at()?,
                _ => return None,
            };
            earliest = Some(earliest.map_or(ready, |earliest| earliest.min(ready)));
        }
        earliest
    }
}

impl<T: Send, L: Scheduler<T>, I: Scheduler<StandIn>> Scheduler<T> for Tree<T, L, I> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        let number = self.leaf_for(packet.flow);
        let reason = match self.below.plan.entry(number) {
            None => Some(Refusal::NoClass),
            Some(entry) if packet.len > entry.longest => Some(Refusal::TooLong {
                most: entry.longest,
            }),
            Some(_) => None,
        };
        if let Some(reason) = reason {
            self.set_acknowledgement(packet.flow, None);
            return Err(packet.refused(reason));
        }
        self.short = None;
        self.below.now = self.below.now.max(now);
        self.below.arrive(number, packet)?;
        self.activate(number);
        self.retire(number);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        self.below.now = self.below.now.max(now);
        self.dequeue_packet()
    }

    /// Evicts from the leaf with the largest backlog: a packet that its discipline gives up, else
    /// the one that is out of the scheduler already.
    fn evict(&mut self) -> Option<Packet<T>> {
        let sizes = self.below.nodes.iter().map(|state| match state {
            State::Leaf(leaf) => leaf.size(),
            State::Absent | State::Class(_) => 0,
        });
        if let Some(leaf) = self.below.longest.find(sizes)
            && let Some(victim) = self.evict_from(leaf)
        {
            return Some(victim);
        }
        // A leaf that gives nothing up must not block evictions from other leaves. A class may hold
        // the last packet.
        (0..self.below.nodes.len()).find_map(|other| self.evict_from(other))
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.below.backlog
    }

    /// The root's time, if it may idle. If no packet is ready, the earliest time of a leaf or
    /// shaper that holds packets and gave none. A leaf without a time is never ready.
    fn ready_at(&self) -> Option<Instant> {
        let mut earliest = None;
        if !self.root.scheduler.backlog().is_empty() {
            let ready = self.root.scheduler.ready_at();
            earliest = Some(ready.or_else(|| self.first_turn_at())?);
        }
        match (earliest, self.below.asleep.earliest()) {
            (Some(awake), Some(asleep)) => Some(awake.min(asleep)),
            (awake, asleep) => awake.or(asleep),
        }
    }

    fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
        self.below.dropped.pop_front()
    }
}

/// The error of a flow that goes to no leaf.
fn not_a_leaf(TreeError { node, problem }: TreeError) -> ConfigError {
    ConfigError::NotALeaf {
        node,
        problem: problem.to_string(),
    }
}

impl<T: Send, L: Scheduler<T>, I: Scheduler<StandIn>> Control for Tree<T, L, I> {
    /// Packets of the flow that wait in another leaf stay there and may leave later.
    fn assign(&mut self, flow: FlowId, leaf: &str) -> Result<(), ConfigError> {
        self.below.plan.assign(flow, leaf).map_err(not_a_leaf)
    }

    /// As [`assign`](Self::assign).
    fn assign_acknowledgements(&mut self, flow: FlowId, leaf: &str) -> Result<(), ConfigError> {
        let assigned = self.below.plan.assign_acknowledgements(flow, leaf);
        assigned.map_err(not_a_leaf)
    }

    /// Tells the root, and a leaf that is the only one, without a shaper above. These have the whole
    /// link. Other nodes' bandwidth changes all the time.
    fn set_link_rate(&mut self, rate: Rate) {
        self.root.scheduler.set_link_rate(rate);
        if let Some(leaf) = self.below.plan.only_leaf()
            && let Some((leaf, _)) = self.below.leaf_mut(leaf)
        {
            leaf.buffer.scheduler_mut().set_link_rate(rate);
        }
    }

    /// Tells the leaves without a limit of their own, whose packets fill the buffer in front of the
    /// tree.
    fn set_buffer_limit(&mut self, limit: Limit) {
        self.below.limit = limit;
        for number in ROOT + 1..self.below.nodes.len() {
            self.below.tell_limit(number);
        }
    }

    /// Sets the flow in its leaves, and raises the longest packet in the nodes above to the flow's.
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        for number in self.leaves_for(flow) {
            if let Some((leaf, _)) = self.below.leaf_mut(number) {
                leaf.buffer.scheduler_mut().set_flow(flow, config)?;
                self.below.note_sleep(number);
            }
            if let Some(entry) = self.below.plan.entry(number)
                && entry.longest < config.max_packet_len
            {
                let len = config.max_packet_len.min(FlowConfig::MAX_PACKET_LEN);
                self.lengthen(number, len)?;
            }
        }
        Ok(())
    }

    fn set_hosts(&mut self, flow: FlowId, hosts: Hosts) -> Result<(), ConfigError> {
        for number in self.leaves_for(flow) {
            if let Some((leaf, _)) = self.below.leaf_mut(number) {
                leaf.buffer.scheduler_mut().set_hosts(flow, hosts)?;
                self.below.note_sleep(number);
            }
        }
        Ok(())
    }

    /// Of None, the leaf that was told last forgets.
    fn set_acknowledgement(&mut self, flow: FlowId, acknowledgement: Option<&Acknowledgement>) {
        let plan = &self.below.plan;
        let leaf = acknowledgement.and_then(|ack| plan.leaf_of_acknowledgement(flow, ack));
        let before = self.short.take();
        self.short = leaf.map(|leaf| (flow, leaf));
        let number = match (acknowledgement, before) {
            (None, Some((known, leaf))) if known == flow => leaf,
            _ => self.leaf_for(flow),
        };
        if let Some((leaf, _)) = self.below.leaf_mut(number) {
            let scheduler = leaf.buffer.scheduler_mut();
            scheduler.set_acknowledgement(flow, acknowledgement);
            self.below.note_sleep(number);
        }
    }

    fn remove_flow(&mut self, flow: FlowId) {
        for number in self.leaves_for(flow) {
            if let Some((leaf, _)) = self.below.leaf_mut(number) {
                leaf.buffer.scheduler_mut().remove_flow(flow);
                self.below.note_sleep(number);
            }
        }
    }

    fn footprint(&self) -> Footprint {
        let mut sum = Footprint {
            fixed_bytes: self.root.footprint().fixed_bytes
                + size_of::<Self>()
                + Longest::FIXED_BYTES,
            bytes_per_flow: 0,
        };
        for state in &self.below.nodes {
            let of_node = match state {
                State::Absent => Footprint::default(),
                State::Leaf(leaf) => leaf.buffer.scheduler().footprint(),
                State::Class(inner) => inner.footprint(),
            };
            let node = size_of::<State<T, L, I>>() + size_of::<Option<PlanEntry>>();
            sum.fixed_bytes += of_node.fixed_bytes + node;
            sum.bytes_per_flow = sum.bytes_per_flow.max(of_node.bytes_per_flow);
        }
        sum.bytes_per_flow += size_of::<u32>();
        sum
    }

    /// 1. A class's scheduler holds exactly the place holders, and the stand-ins of children that
    ///    are offered and not chosen, with the lengths of their next packets as far as known.
    /// 2. A chosen stand-in has the length of its child's next packet.
    /// 3. A child that is chosen is offered and has a place holder. There are no place holders
    ///    where no child has a packet, and none in the root or where a class takes packets out.
    /// 4. The backlog is the leaves' reported backlogs plus the packets that are out of them.
    /// 5. A node that holds packets is offered or asleep, and none else is, except a leaf that
    ///    tells a backlog of none. Each that sleeps is listed once, a leaf with the time that its
    ///    scheduler says, and the earliest of all times is known.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.check_tree();
        self.root.scheduler.check_invariants();
        for state in &self.below.nodes {
            match state {
                State::Absent => {}
                State::Class(inner) => {
                    if let Some(class) = &inner.class {
                        class.scheduler.check_invariants();
                    }
                }
                State::Leaf(leaf) => leaf.buffer.scheduler().check_invariants(),
            }
        }
    }
}

impl<T: Send, L: Scheduler<T>, I: Scheduler<StandIn>> Tree<T, L, I> {
    fn check_tree(&self) {
        self.check_class(&self.root, None, false);
        let mut sum = Backlog::default();
        let mut sleepers = 0;
        let mut earliest = None;
        for (number, state) in self.below.nodes.iter().enumerate() {
            if let Some(wake) = self.below.asleep_until(number) {
                assert!(self.below.asleep.has(number, wake), "invariant 5");
                sleepers += 1;
                let time = match wake {
                    Wake::At(time) => time,
                    Wake::Always => Instant::MAX,
                };
                earliest = Some(earliest.map_or(time, |earliest: Instant| earliest.min(time)));
            }
            let is_offered = self.below.is_offered(number);
            match state {
                State::Absent => {}
                State::Class(inner) => {
                    let class = inner.class.as_ref().expect("it is put back");
                    self.check_class(class, inner.chosen.as_ref(), inner.offer == Offer::Chosen);
                    if let Some(held) = &inner.held {
                        sum.packets = sum.packets.wrapping_add(1);
                        sum.bytes = sum.bytes.wrapping_add(held.len.into());
                    }
                    assert!(
                        !is_offered || inner.has_packets(),
                        "invariant 5 {number} {:?}",
                        inner.offer
                    );
                    let sleeps = !is_offered && inner.has_packets();
                    assert_eq!(inner.asleep_until.is_some(), sleeps, "invariant 5");
                }
                State::Leaf(leaf) => {
                    let head = leaf.head.as_ref().map_or(0, |head| u64::from(head.len));
                    sum.packets = sum
                        .packets
                        .wrapping_add(leaf.told.packets)
                        .wrapping_add(leaf.head.is_some().into());
                    sum.bytes = sum.bytes.wrapping_add(leaf.told.bytes).wrapping_add(head);
                    let has_packets = leaf.head.is_some() || !leaf.told.is_empty();
                    assert!(!is_offered || has_packets, "invariant 5");
                    let wake = Wake::told(leaf.buffer.scheduler().ready_at());
                    let expected = Some(wake).filter(|_| !is_offered && has_packets);
                    assert_eq!(leaf.asleep_until, expected, "invariant 5");
                }
            }
        }
        assert_eq!(sum, self.below.backlog, "invariant 4");
        assert_eq!(self.below.asleep.len(), sleepers, "invariant 5");
        assert_eq!(self.below.asleep.earliest(), earliest, "invariant 5");
    }

    fn check_class(&self, class: &Class<I>, chosen: Option<&Packet<StandIn>>, can_choose: bool) {
        let mut expected = Backlog::default();
        let mut places = 0;
        for (flow, child) in class.children.iter().enumerate() {
            if child.node == NONE {
                continue;
            }
            let number = child.node as usize;
            let is_offered = self.below.is_offered(number);
            let len = self.below.next_of(number).map(|(len, ..)| len);
            places += u64::from(child.holds_place);
            if let Some(chosen) = chosen.filter(|chosen| chosen.flow.index() == flow) {
                // A token bucket asks its child.
                assert!(len.is_none_or(|len| len == chosen.len), "invariant 2");
                assert!(is_offered && child.holds_place, "invariant 3");
            } else if is_offered {
                expected.packets += 1;
                if child.is_known
                    && let Some(len) = len
                {
                    expected.bytes += u64::from(len);
                }
            }
        }
        let backlog = class.scheduler.backlog();
        let waits = expected.packets > 0 || chosen.is_some();
        assert!(places == 0 || (can_choose && waits), "invariant 3");
        expected.packets += places;
        assert_eq!(backlog.packets, expected.packets, "invariant 1");
        // A token bucket's length is that of its child.
        assert!(backlog.bytes >= expected.bytes, "invariant 1");
    }
}
