//! Changes of a tree while packets wait: add, set and remove nodes.

use alloc::vec::Vec;

use super::Tree;
use super::below::State;
use super::class::Child;
use super::config::{self, Config, Node, Problem, ROOT, TreeError, of_classes, problem, setting};
use super::stand_in::StandIn;

use crate::config::ConfigError;
use crate::control::Control as _;
use crate::drops::DropReason;
use crate::flow_config::FlowConfig;
use crate::packet::FlowId;
use crate::scheduler::Scheduler;
use crate::schedulers::Discipline;
use crate::seed::Seed;
use crate::service::Service;

impl<T: Send> Tree<T> {
    /// An empty tree. Each node's random draws and hashes have a seed of their own, derived from
    /// `seed` by the node's number.
    ///
    /// # Errors
    /// No leaf is the default.
    pub fn new(plan: &Config, seed: Seed) -> Result<Self, TreeError> {
        Self::with(
            plan,
            seed,
            |node, seed| node.spec.discipline.build(seed),
            |node, seed| node.spec.discipline.build_class(seed),
        )
    }

    /// Adds a class below another one, or below the root.
    ///
    /// # Errors
    /// See [`Config::add_class`]. The tree stays as before.
    pub fn add_class(&mut self, parent: &str, node: Node) -> Result<(), TreeError> {
        self.add(parent, node, true)
    }

    /// Adds a leaf below a class.
    ///
    /// # Errors
    /// See [`Config::add_leaf`]. The tree stays as before.
    pub fn add_leaf(&mut self, parent: &str, node: Node) -> Result<(), TreeError> {
        self.add(parent, node, false)
    }

    fn add(&mut self, parent: &str, node: Node, is_class: bool) -> Result<(), TreeError> {
        let number = self.below.plan.add(parent, node.clone(), is_class)?;
        let nodes = &mut self.below.nodes;
        nodes.resize_with(nodes.len().max(number + 1), || State::Absent);
        let added = self.enter(number, &node, is_class);
        if added.is_err() {
            self.below.nodes[number] = State::Absent;
            self.below.plan.forget(number);
        }
        added
    }

    /// Makes the state for a node that the plan has just got, and reports the node to its class.
    fn enter(&mut self, number: usize, node: &Node, is_class: bool) -> Result<(), TreeError> {
        if self.below.plan.is_inner(number) {
            return Ok(());
        }
        let seed = self.seed_of(number);
        let discipline = &node.spec.discipline;
        let made = if is_class {
            discipline
                .build_class(seed)
                .map(|scheduler| State::class(self.below.plan.offer_of(number), scheduler))
        } else {
            discipline
                .build(seed)
                .map(|scheduler| State::leaf(node, scheduler))
        };
        self.below.nodes[number] = made.map_err(|error| setting(&node.name, error))?;
        self.below.tell_limit(number);
        self.adopt(number)
    }

    /// Changes the weight, longest packet, priority, limit or discipline parameters of the node
    /// with this name, from its next packet on. The root has discipline parameters only. Queued
    /// packets longer than a new longest packet are dropped in their turn.
    ///
    /// # Errors
    /// There is no such node, a value is out of range, or a parameter cannot change at run time.
    /// The tree stays as before.
    pub fn set_node(&mut self, node: Node) -> Result<(), TreeError> {
        let Some(number) = self.below.plan.number(&node.name) else {
            return Err(problem(&node.name, Problem::Unknown));
        };
        let fails = |error| setting(&node.name, error);
        let before = self.flow_config(number);
        node.flow_config()
            .check(Config::NAME, FlowId(0))
            .map_err(fails)?;
        if node.spec.limit.is_some() && !matches!(self.below.nodes[number], State::Leaf(_)) {
            return Err(problem(&node.name, Problem::LimitOfClass));
        }
        self.check_service(number, &node)?;
        self.set_flow_config(number, node.flow_config())
            .map_err(fails)?;
        let reconfigured = match &mut self.below.nodes[number] {
            State::Leaf(leaf) => node
                .spec
                .discipline
                .reconfigure(leaf.buffer.scheduler_mut()),
            State::Class(inner) => match &mut inner.class {
                Some(class) => node.spec.discipline.reconfigure(&mut class.scheduler),
                None => Ok(()),
            },
            State::Absent if self.below.plan.is_inner(number) => Ok(()),
            State::Absent => node.spec.discipline.reconfigure(&mut self.root.scheduler),
        };
        if let Err(error) = reconfigured {
            self.set_flow_config(number, before).map_err(fails)?;
            return Err(fails(error));
        }
        self.settle(number, node);
        self.classify(number);
        self.look_again(number);
        self.look_again(self.below.parent(number));
        Ok(())
    }

    /// Checks a node's service after its settings have changed.
    fn check_service(&self, number: usize, node: &Node) -> Result<(), TreeError> {
        let plan = &self.below.plan;
        if number == ROOT {
            return match node.service.discipline() {
                Some(discipline) => Err(problem(&node.name, Problem::NoClassOf { discipline })),
                None => Ok(()),
            };
        }
        if let Some(entry) = plan.entry(number)
            && let Some(above) = plan.entry(entry.parent)
        {
            config::check_service(node, &above.node.spec.discipline)?;
            let is_direct = node.service == Service::Direct;
            if is_direct != (entry.node.service == Service::Direct) {
                return Err(problem(&node.name, Problem::NotDirect));
            }
            if entry.is_inner {
                config::check_inner(node)?;
            }
            if entry.is_inner && of_classes(&node.spec.discipline).is_none() {
                let discipline = above.node.spec.discipline.name();
                let error = ConfigError::OtherDiscipline { discipline };
                return Err(setting(&node.name, error));
            }
        }
        Ok(())
    }

    /// Tells the scheduler a node's settings, if the node is one of its classes, leaf or inner.
    fn classify(&mut self, number: usize) {
        let server = self.below.parent(number);
        let below: Vec<usize> = self.below.plan.served_by(server).collect();
        for leaf in below {
            let plan = &self.below.plan;
            if !plan.path(leaf).any(|node| node == number) {
                continue;
            }
            let way = plan.way(leaf);
            let flow = self.below.flow_of(leaf);
            if !way.is_empty()
                && let Some(class) = self.class_mut(server)
            {
                let set = class.scheduler.set_class(flow, &way);
                debug_assert!(set.is_ok(), "services are checked before");
            }
        }
    }

    fn settle(&mut self, number: usize, node: Node) {
        if let Some((leaf, dropped)) = self.below.leaf_mut(number) {
            let held = leaf.head_len();
            leaf.buffer
                .set_limit_beside(node.limit(), held, |packet, reason| {
                    dropped.push_back((packet, reason));
                });
            self.below.listen(number);
        }
        let Some(entry) = self
            .below
            .plan
            .nodes
            .get_mut(number)
            .and_then(Option::as_mut)
        else {
            return;
        };
        let priority = node.priority;
        let before = core::mem::replace(&mut entry.node, node).priority;
        self.below.tell_limit(number);
        self.below.plan.find_longest();
        if priority != before && number != ROOT && !self.below.plan.is_inner(number) {
            self.enter_anew(number, priority);
        }
    }

    /// Removes a node's stand-in from its class's scheduler and enqueues a new one with this
    /// priority.
    fn enter_anew(&mut self, number: usize, priority: u32) {
        let now = self.below.now;
        let parent = self.below.parent(number);
        let flow = self.below.flow_of(number);
        let is_chosen = self.below.has_chosen(parent, number);
        let Some(class) = self.class_mut(parent) else {
            return;
        };
        class.clear(flow);
        class.children[flow.index()].priority = priority;
        class.rank_anew();
        if is_chosen {
            class.hold_place(now, flow);
        } else if self.below.is_offered(number) {
            self.below.set_offered(number, false);
            self.activate(number);
        }
    }
}

impl<T: Send, L: Scheduler<T>, I: Scheduler<StandIn>> Tree<T, L, I> {
    /// Removes a leaf, or a class with everything below. Its packets are dropped with the reason
    /// `PushedOut`, and its flows go to the default leaf.
    ///
    /// # Errors
    /// There is no such node, the node is the root, or it contains the default leaf. The tree stays
    /// as before.
    pub fn remove(&mut self, name: &str) -> Result<(), TreeError> {
        for number in self.below.plan.subtree(name)? {
            self.empty(number);
            self.below.nodes[number] = State::Absent;
            self.below.longest.changed(number, 0);
            let parent = self.below.parent(number);
            let flow = self.below.flow_of(number);
            let is_inner = self.below.plan.is_inner(number);
            if let Some(class) = self.class_mut(parent).filter(|_| !is_inner) {
                class.clear(flow);
                class.scheduler.remove_flow(flow);
                class.children[flow.index()] = Child::ABSENT;
                class.rank_anew();
            }
            self.below.plan.forget(number);
            self.doubt(parent);
            self.retire(parent);
        }
        Ok(())
    }

    fn empty(&mut self, leaf: usize) {
        while let Some(packet) = self.below.evict_waiting(leaf) {
            self.below
                .dropped
                .push_back((packet, DropReason::PushedOut));
        }
        while let Some(packet) = self.withdraw(leaf) {
            self.below
                .dropped
                .push_back((packet, DropReason::PushedOut));
        }
        // Packets that the leaf reported but never gave out leave the backlog with the leaf.
        if let Some((leaf, _)) = self.below.leaf_mut(leaf) {
            let told = core::mem::take(&mut leaf.told);
            self.below.backlog.packets = self.below.backlog.packets.wrapping_sub(told.packets);
            self.below.backlog.bytes = self.below.backlog.bytes.wrapping_sub(told.bytes);
        }
        let before = self.below.asleep_until(leaf);
        self.below.asleep.change(leaf, before, None);
    }

    fn flow_config(&self, number: usize) -> FlowConfig {
        self.below
            .plan
            .entry(number)
            .map_or(FlowConfig::DEFAULT, |entry| entry.node.flow_config())
    }

    fn set_flow_config(&mut self, number: usize, config: FlowConfig) -> Result<(), ConfigError> {
        if number == ROOT || self.below.plan.is_inner(number) {
            return Ok(());
        }
        let parent = self.below.parent(number);
        let flow = self.below.flow_of(number);
        let class = self.class_mut(parent);
        class.map_or(Ok(()), |class| class.scheduler.set_flow(flow, config))
    }

    /// Raises the longest packet to `len` for a leaf and all nodes on its path.
    pub(super) fn lengthen(&mut self, leaf: usize, len: u32) -> Result<(), ConfigError> {
        let mut number = leaf;
        while number != ROOT {
            let config = self.flow_config(number);
            if config.max_packet_len < len {
                self.set_flow_config(
                    number,
                    FlowConfig {
                        max_packet_len: len,
                        ..config
                    },
                )?;
                if let Some(entry) = &mut self.below.plan.nodes[number] {
                    entry.node.max_packet_len = len;
                }
            }
            number = self.below.plan.above(number);
        }
        self.below.plan.find_longest();
        Ok(())
    }
}
