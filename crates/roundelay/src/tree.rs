//! Tree: a hierarchy of disciplines. Classes share the link among their children, and leaves hold
//! the packets.
//!
//! Any discipline can be a leaf. A class is a discipline whose flows are its children. For each
//! child with a packet to send, a stand-in as long as the child's next packet waits in the class's
//! scheduler. A class other than the root has chosen one child ahead, so that the parent knows the
//! length of the class's next packet. Bandwidth that a class leaves unused goes to its siblings
//! first, then to its parent's siblings, which is called link sharing. A child reports each change
//! to its class, and a class never inspects a child's queue.
//!
//! Source: J. Bennett, H. Zhang, "Hierarchical Packet Fair Queueing Algorithms", IEEE/ACM ToN 5(5),
//! 1997. With WF2Q+ in each class this is their H-WF2Q+.
//!
//! | paper | here |
//! |---|---|
//! | logical queue Q_n of a node | `Leaf::head`, `Class::head` |
//! | ActiveChild_n | the flow of `Class::head` |
//! | RESTART-NODE | `Class::choose`, `Below::report` |
//! | RESET-PATH | `Below::take_head` |
//! | phi of a leaf in the link | the product of the shares on its way to the root |
//!
//! | guarantee | value | test in `theorems/tree.rs` |
//! |---|---|---|
//! | link sharing | what a class leaves goes to its siblings before anyone else | `what_a_class_leaves_goes_to_its_siblings` |
//! | one level | serves as its root's discipline alone would | `one_level_of_wf2q_plus_is_wf2q_plus` |
//! | B-WFI of a leaf | B(n) = alpha(n) + phi(n) (B(m) + L(m)), m its class; alpha(n) alone below the root | `b_wfi_stays_within_the_bound` |
//! | T-WFI of a first-in-first-out leaf | B over the leaf's rate | `t_wfi_stays_within_the_bound` |
//! | a leaf that gives nothing, or lies | does not hold up its siblings | unit tests, `known_bug_38...` |
//!
//! **Stand-ins and place holders.** A class that has chosen a child removes the child's stand-in
//! from the scheduler, and the child's next packet is unknown until the chosen packet has left. In
//! the meantime the child must not look idle, because it would lose its virtual time each time, and
//! a sender with one packet waiting at a time would fall behind without bound. So a packet without
//! length holds the child's place (`StandIn::Place`). The place holder costs no virtual time and no
//! deficit. The next stand-in is enqueued behind it, with S = F, as if it had waited there all the
//! time. Without a next stand-in the place holder leaves in its turn, at the latest when the class
//! becomes idle. The root needs no place holders, because a packet that it chooses leaves at once,
//! so the root gets the next stand-in with its choice.
//!
//! **Difference from the paper: one packet ahead.** RESTART-NODE chooses when the previous packet
//! has been transmitted. Here the classes on a packet's path choose again when its transmission
//! starts, since a scheduler is not told of the end. So, unlike in the paper, a newly backlogged
//! leaf finds that each class below the root has already chosen up to one packet. This is the
//! bound's term L(m).
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
//! which it is asked again. See `shaper.rs`. Such a class is asked as the root is, so it needs no
//! place holders. The bound's proof holds for its siblings, because to them it is a child that is
//! idle now and then.
//!
//! Cost: at each level what its discipline costs, three times below the root: for place holder,
//! stand-in and choice. With n nodes asleep, a node that falls asleep, wakes up or gets another
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
mod shaper;
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
use shaper::Offer;
pub use stand_in::StandIn;

use crate::acknowledgement::Acknowledgement;
use crate::config::ConfigError;
use crate::control::Control;
use crate::control::Footprint;
use crate::drops::{DropReason, Refusal};
use crate::flow_config::FlowConfig;
use crate::limit::Backlog;
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
            has_put_off: false,
            dropped,
            now: Instant::ZERO,
        };
        let mut tree = Self {
            root,
            below,
            default_leaf,
            seed,
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

    /// A node's backlog, with everything below. None if there is no such node.
    pub fn backlog_of(&self, name: &str) -> Option<Backlog> {
        let node = self.below.plan.number(name)?;
        let mut sum = Backlog::default();
        for (number, state) in self.below.nodes.iter().enumerate() {
            let (told, head) = match state {
                State::Leaf(leaf) => (leaf.told, &leaf.head),
                State::Shaper(shaper) => (Backlog::default(), &shaper.head),
                State::Absent | State::Class(_) => continue,
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

    /// A node has a new head. Reports it to the class, and if the class chooses it, to the class
    /// above, and so on.
    fn activate(&mut self, leaf: usize) {
        let mut number = leaf;
        while self.below.has_head(number) {
            let now = self.below.now;
            let parent = self.below.parent(number);
            if parent == ROOT {
                return self.report_to_root(number);
            }
            self.below.report(number);
            match self.below.nodes.get_mut(parent) {
                // RESTART-NODE: the class chooses, and is reported in turn.
                Some(State::Class(class)) if class.head.is_none() => class.choose(now),
                Some(State::Shaper(shaper)) if shaper.is_offered => {
                    if shaper.offer() == Offer::First {
                        self.renew(parent);
                    }
                    return;
                }
                Some(State::Shaper(shaper)) if shaper.offer() == Offer::Peeked => {
                    self.below.put_off(parent);
                    return;
                }
                Some(State::Shaper(_)) => self.below.prepare(parent),
                _ => return,
            }
            number = parent;
        }
    }

    fn report_to_root(&mut self, child: usize) {
        let now = self.below.now;
        while let Some(stand_in) = self.below.stand_in(child) {
            if self.root.hear(now, Some(stand_in)) {
                return;
            }
            self.below.refuse_head(child);
        }
    }

    /// Asks the sleeping leaves and shapers again that are due, in the order of their times.
    #[cold]
    fn wake(&mut self) {
        self.below.has_put_off = false;
        let mut due = core::mem::take(&mut self.below.due);
        due.extend(self.below.asleep.due(self.below.now));
        for number in due.drain(..) {
            // One that slept above another may have been asked since.
            if self.below.asleep_until(number).is_some() {
                self.ask_again(number);
            }
        }
        self.below.due = due;
    }

    /// Asks a leaf or a shaper that offers no packet.
    fn ask_again(&mut self, number: usize) {
        match self.below.nodes.get(number) {
            Some(State::Leaf(_)) => self.below.commit(number),
            Some(State::Shaper(_)) => self.below.prepare(number),
            _ => return,
        }
        self.activate(number);
    }

    /// Looks at a shaper again after something below it, or its settings, have changed.
    fn look_again(&mut self, number: usize) {
        let Some(shaper) = self.below.shaper(number) else {
            return;
        };
        let is_empty = shaper.backlog().is_empty();
        if !shaper.is_offered {
            self.ask_again(number);
            return;
        }
        match shaper.offer() {
            Offer::First => self.renew(number),
            Offer::InTurn if is_empty => {
                let flow = self.below.flow_of(number);
                self.root.withdraw(flow);
                self.below.set_offered(number, false);
            }
            _ => {}
        }
    }

    /// The class below a token bucket has another first packet, or none, so the bucket waits for
    /// its length.
    fn renew(&mut self, number: usize) {
        let bucket = self.below.parent(number);
        let flow = self.below.flow_of(number);
        if let Some(class) = self.class_mut(bucket) {
            class.withdraw(flow);
        }
        if bucket != ROOT {
            let flow = self.below.flow_of(bucket);
            self.root.withdraw(flow);
            self.below.set_offered(bucket, false);
        }
        self.below.set_offered(number, false);
        self.ask_again(number);
    }

    fn dequeue_packet(&mut self) -> Option<Packet<T>> {
        loop {
            if !self.below.asleep.is_empty() {
                self.wake();
            }
            let packet = self.ask_root();
            // A shaper may have lost its packet on the way, and chooses another.
            if packet.is_some() || !core::mem::take(&mut self.below.has_put_off) {
                return packet;
            }
        }
    }

    #[inline]
    fn ask_root(&mut self) -> Option<Packet<T>> {
        let root = &mut self.root;
        let below = &mut self.below;
        loop {
            let children = &root.children;
            let now = below.now;
            let mut sent = None;
            let chosen = root.scheduler.dequeue_refilled(now, &mut |flow| {
                let child = children.get(flow.index())?.node as usize;
                sent = below.take_head(child);
                below.stand_in(child)
            });
            if sent.is_some() || chosen.is_none() {
                return sent;
            }
        }
    }

    /// Takes back a leaf's ready packet, or one that a shaper holds. Classes that have chosen the
    /// packet count it as sent.
    fn withdraw(&mut self, holder: usize) -> Option<Packet<T>> {
        match self.below.nodes.get(holder)? {
            State::Leaf(leaf) => leaf.head.as_ref()?,
            State::Shaper(shaper) => shaper.head.as_ref()?,
            State::Absent | State::Class(_) => return None,
        };
        let mut top = holder;
        while self.below.has_chosen(self.below.parent(top), top) {
            top = self.below.parent(top);
        }
        let parent = self.below.parent(top);
        let flow = self.below.flow_of(top);
        self.class_mut(parent)?.scheduler.evict_flow(flow);
        let packet = self.below.take_head(top);
        if parent == ROOT {
            self.report_to_root(top)
        } else {
            self.below.report(top)
        }
        self.look_again(parent);
        packet
    }

    fn evict_from(&mut self, leaf: usize) -> Option<Packet<T>> {
        self.below
            .evict_waiting(leaf)
            .or_else(|| self.withdraw(leaf))
    }
}

impl<T: Send, L: Scheduler<T>, I: Scheduler<StandIn>> Tree<T, L, I> {
    /// When a root without times of its own can send a packet. None: now.
    ///
    /// A root of `priority` counts on `htb` and `hfsc` right below it while these have packets, but
    /// asks them only in their turn ([`Offer::InTurn`]), and they may have none for now. So if no
    /// other child has a packet, the root can send when the first of them can.
    fn first_turn_at(&self) -> Option<Instant> {
        let mut earliest: Option<Instant> = None;
        for child in &self.root.children {
            let number = child.node as usize;
            if !self.below.has_head(number) {
                continue;
            }
            // Any other child has its packet ready.
            let shaper = self.below.shaper(number);
            let shaper = shaper.filter(|shaper| shaper.offer() == Offer::InTurn)?;
            let ready = shaper.ready_at()?;
            earliest = Some(earliest.map_or(ready, |earliest| earliest.min(ready)));
        }
        earliest
    }
}

impl<T: Send, L: Scheduler<T>, I: Scheduler<StandIn>> Scheduler<T> for Tree<T, L, I> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        let number = self.below.plan.leaf_of(packet.flow, self.default_leaf);
        match self.below.plan.entry(number) {
            Some(entry) if packet.len <= entry.longest => {}
            _ => return Err(packet),
        }
        self.below.now = self.below.now.max(now);
        self.below.arrive(number, packet)?;
        if !self.below.has_head(number) {
            self.below.commit(number);
            self.activate(number);
        }
        Ok(())
    }

    fn refusal(&self, packet: &Packet<T>) -> Option<Refusal> {
        let number = self.below.plan.leaf_of(packet.flow, self.default_leaf);
        match self.below.plan.entry(number) {
            None => Some(Refusal::NoClass),
            Some(entry) if packet.len > entry.longest => Some(Refusal::TooLong {
                most: entry.longest,
            }),
            Some(_) => self.below.refusal(number, packet),
        }
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        self.below.now = self.below.now.max(now);
        self.dequeue_packet()
    }

    /// Evicts from the leaf with the largest backlog: a packet that its discipline gives up, else
    /// the leaf's ready packet.
    fn evict(&mut self) -> Option<Packet<T>> {
        let sizes = self.below.nodes.iter().map(|state| match state {
            State::Leaf(leaf) => leaf.size(),
            State::Absent | State::Class(_) | State::Shaper(_) => 0,
        });
        if let Some(leaf) = self.below.longest.find(sizes)
            && let Some(victim) = self.evict_from(leaf)
        {
            return Some(victim);
        }
        // A leaf that gives nothing up must not block evictions from other leaves. A shaper may
        // hold the last packet.
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

impl<T: Send, L: Scheduler<T>, I: Scheduler<StandIn>> Control for Tree<T, L, I> {
    /// Packets of the flow that wait in another leaf stay there and may leave later.
    fn assign(&mut self, flow: FlowId, leaf: &str) -> Result<(), ConfigError> {
        let assigned = self.below.plan.assign(flow, leaf);
        assigned.map_err(|TreeError { node, problem }| ConfigError::NotALeaf {
            node,
            problem: problem.to_string(),
        })
    }

    /// Tells the root, which has the whole link. Other classes' bandwidth changes all the time.
    fn set_link_rate(&mut self, rate: Rate) {
        self.root.scheduler.set_link_rate(rate);
    }

    /// Sets the flow in its leaf, and raises the longest packet in the nodes above to the flow's.
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        let number = self.below.plan.leaf_of(flow, self.default_leaf);
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
        Ok(())
    }

    fn set_hosts(&mut self, flow: FlowId, hosts: Hosts) -> Result<(), ConfigError> {
        let number = self.below.plan.leaf_of(flow, self.default_leaf);
        let Some((leaf, _)) = self.below.leaf_mut(number) else {
            return Ok(());
        };
        leaf.buffer.scheduler_mut().set_hosts(flow, hosts)?;
        self.below.note_sleep(number);
        Ok(())
    }

    fn set_acknowledgement(&mut self, flow: FlowId, acknowledgement: Option<&Acknowledgement>) {
        let number = self.below.plan.leaf_of(flow, self.default_leaf);
        if let Some((leaf, _)) = self.below.leaf_mut(number) {
            let scheduler = leaf.buffer.scheduler_mut();
            scheduler.set_acknowledgement(flow, acknowledgement);
            self.below.note_sleep(number);
        }
    }

    fn remove_flow(&mut self, flow: FlowId) {
        let number = self.below.plan.leaf_of(flow, self.default_leaf);
        if let Some((leaf, _)) = self.below.leaf_mut(number) {
            leaf.buffer.scheduler_mut().remove_flow(flow);
            self.below.note_sleep(number);
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
                State::Class(class) => class.footprint(),
                State::Shaper(shaper) => shaper.footprint(),
            };
            let node = size_of::<State<T, L, I>>() + size_of::<Option<PlanEntry>>();
            sum.fixed_bytes += of_node.fixed_bytes + node;
            sum.bytes_per_flow = sum.bytes_per_flow.max(of_node.bytes_per_flow);
        }
        sum.bytes_per_flow += size_of::<u32>();
        sum
    }

    /// 1. A class's scheduler holds exactly the place holders, and the stand-ins of children that
    ///    have a head and are not chosen.
    /// 2. A class other than the root has chosen a child if any child has a packet, and has the
    ///    length of the child's head. The root has chosen none.
    /// 3. The chosen child has a place holder. There are no place holders where no child has a
    ///    packet, and none in the root.
    /// 4. The backlog is the leaves' reported backlogs plus the heads of leaves and shapers.
    /// 5. A leaf is asleep if it holds packets and has no head, a shaper if it has packets and
    ///    offers none. No other node is. Each is listed once, a leaf with the time that its
    ///    scheduler says, and the earliest of all times is known.
    /// 6. Shapers choose nothing ahead within their schedulers and have no place holders, as the
    ///    root.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.check_tree();
        self.root.scheduler.check_invariants();
        for state in &self.below.nodes {
            match state {
                State::Absent => {}
                State::Class(class) => class.scheduler.check_invariants(),
                State::Shaper(shaper) => {
                    if let Some(class) = shaper.class() {
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
        self.check_class(&self.root, true);
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
            match state {
                State::Absent => {}
                State::Class(class) => self.check_class(class, false),
                State::Shaper(shaper) => {
                    let class = shaper.class().expect("it is put back");
                    self.check_class(class, true);
                    if let Some(head) = &shaper.head {
                        sum.packets = sum.packets.wrapping_add(1);
                        sum.bytes = sum.bytes.wrapping_add(head.len.into());
                    }
                    let sleeps = !shaper.is_offered && !shaper.backlog().is_empty();
                    assert_eq!(shaper.asleep_until.is_some(), sleeps, "invariant 5");
                }
                State::Leaf(leaf) => {
                    let head = leaf.head.as_ref().map_or(0, |head| u64::from(head.len));
                    sum.packets = sum
                        .packets
                        .wrapping_add(leaf.told.packets)
                        .wrapping_add(leaf.head.is_some().into());
                    sum.bytes = sum.bytes.wrapping_add(leaf.told.bytes).wrapping_add(head);
                    let sleeps = leaf.head.is_none() && !leaf.told.is_empty();
                    let wake = Wake::told(leaf.buffer.scheduler().ready_at());
                    let expected = Some(wake).filter(|_| sleeps);
                    assert_eq!(leaf.asleep_until, expected, "invariant 5");
                }
            }
        }
        assert_eq!(sum, self.below.backlog, "invariant 4");
        assert_eq!(self.below.asleep.len(), sleepers, "invariant 5");
        assert_eq!(self.below.asleep.earliest(), earliest, "invariant 5");
    }

    fn check_class(&self, class: &Class<I>, is_root: bool) {
        let mut expected = Backlog::default();
        let mut some = false;
        for (flow, child) in class.children.iter().enumerate() {
            if child.node == NONE {
                continue;
            }
            let next = self.below.next_of(child.node as usize);
            let len = next.map(|(len, ..)| len);
            let chosen = class.head.as_ref().filter(|head| head.flow.index() == flow);
            expected.packets +=
                u64::from(child.holds_place) + u64::from(len.is_some() && chosen.is_none());
            expected.bytes += len.filter(|_| chosen.is_none()).map_or(0, u64::from);
            some |= len.is_some();
            assert!(
                chosen.is_none_or(|head| len == Some(head.len)),
                "invariant 2: the length of the child's head"
            );
            assert!(
                !child.holds_place || class.head.is_some(),
                "invariant 3: places go with the last packet"
            );
            assert!(
                chosen.is_none() || child.holds_place,
                "invariant 3: the child that is chosen holds its place"
            );
        }
        assert_eq!(class.scheduler.backlog(), expected, "invariant 1");
        assert_eq!(class.head.is_some(), some && !is_root, "invariant 2");
    }
}
