//! Tree configuration as data: named nodes, each checked when added.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;

use super::stand_in::StandIn;
use super::{hfsc, htb};
use crate::service::Service;

use crate::acknowledgement::Acknowledgement;
use crate::config::{ConfigError, FORMER_FQ};
use crate::control::Control;
use crate::fault::Fault;
use crate::flow_config::FlowConfig;
use crate::limit::Limit;
use crate::packet::{FlowId, Packet};
use crate::scheduler::Scheduler;
use crate::schedulers::{AnyDiscipline, Discipline, fifo, wf2q_plus};
use crate::seed::Seed;
use crate::spec::QueueSpec;
use crate::time::Instant;

/// Stands for "no node".
pub(super) const NONE: u32 = u32::MAX;
/// The root's number.
pub(super) const ROOT: usize = 0;

/// A node in a tree: a class, which shares its service among its children, or a leaf, which holds
/// packets.
#[derive(Debug, Clone)]
pub struct Node {
    /// The node's name, unique in the tree.
    pub name: String,
    /// The discipline for the packets or the children. A limit is the leaf's own, in addition to
    /// the buffer in front of the tree.
    pub spec: QueueSpec,
    /// Share of the parent's service, relative to the siblings' weights: 1 to 1024, under DRR 1 to
    /// 65535.
    pub weight: u32,
    /// Longest packet in bytes, 512 to 65536. Longer packets are refused, unless a flow with a
    /// larger maximum is set.
    pub max_packet_len: u32,
    /// Smaller goes first, if the parent's discipline uses priorities.
    pub priority: u32,
    /// What the parent gives the node, if not a share by weight or priority.
    pub service: Service,
}

impl Node {
    /// A node of weight 1 and priority 0 with packets of up to 2048 bytes. Its service is shared.
    pub fn new(name: &str, spec: QueueSpec) -> Self {
        let FlowConfig {
            weight,
            max_packet_len,
        } = FlowConfig::DEFAULT;
        Self {
            name: name.to_owned(),
            spec,
            weight,
            max_packet_len,
            priority: 0,
            service: Service::Shared,
        }
    }

    pub(super) const fn flow_config(&self) -> FlowConfig {
        FlowConfig {
            weight: self.weight,
            max_packet_len: self.max_packet_len,
        }
    }

    pub(super) fn limit(&self) -> Limit {
        self.spec.limit.unwrap_or(Limit::UNBOUNDED)
    }
}

/// A node with its position in the tree.
#[derive(Debug, Clone)]
pub(super) struct PlanEntry {
    pub(super) node: Node,
    /// The root is its own parent.
    pub(super) parent: usize,
    /// The node whose scheduler orders this one's packets: the parent, or above a parent that is an
    /// inner class of that scheduler.
    pub(super) server: usize,
    /// The node's flow number in the server's scheduler.
    pub(super) flow: FlowId,
    /// The node is not a flow in the server's scheduler, but a class there that has children.
    pub(super) is_inner: bool,
    pub(super) is_class: bool,
    /// Zero for the root.
    depth: usize,
    /// Longest packet that every node on the path to the root accepts.
    pub(super) longest: u32,
    /// By number.
    children: Vec<u32>,
    /// Of a node whose scheduler orders others' packets: how many flow numbers it has given, and
    /// which of these are free again.
    flows: u32,
    free_flows: BTreeSet<u32>,
}

/// A tree's configuration: a root, classes and leaves below it, and each flow's leaf.
///
/// ```
/// use roundelay::tree::{Config, Node};
/// use roundelay::{FlowId, Instant, Packet, Scheduler, Seed};
///
/// let mut tree = Config::new(Node::new("link", "wf2q_plus".parse()?))?;
/// tree.add_leaf("link", Node { weight: 3, ..Node::new("calls", "fifo limit 50".parse()?) })?;
/// tree.add_leaf("link", Node::new("rest", "fq_codel".parse()?))?;
/// tree.set_default("rest")?;
/// tree.assign(FlowId(7), "calls")?;
/// let mut tree = tree.build_tree(Seed::new(1))?;
/// tree.enqueue(Instant::ZERO, Packet::new(FlowId(7), 200, "a word")).expect("it is short enough");
/// assert_eq!(tree.dequeue(Instant::ZERO).map(|packet| packet.payload), Some("a word"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    /// By number. None for a removed node.
    pub(super) nodes: Vec<Option<PlanEntry>>,
    /// Numbers of nodes by name.
    names: BTreeMap<String, u32>,
    /// Numbers of removed nodes.
    free: BTreeSet<u32>,
    default_leaf: Option<usize>,
    /// Each flow's leaf. [`NONE`] for the default one.
    flows: Vec<u32>,
    /// Each flow's leaf for short acknowledgements. [`NONE`] for that of its other packets.
    acknowledgements: Vec<u32>,
    /// Acknowledgements are short if their IP packet is shorter than this. Zero: none is.
    short: u32,
}

/// A WF2Q+ root with one first-in-first-out leaf: a link with a single queue.
impl Default for Config {
    fn default() -> Self {
        let spec = |discipline| QueueSpec {
            discipline,
            limit: None,
        };
        let root = Node::new("root", spec(AnyDiscipline::Wf2qPlus(wf2q_plus::Config)));
        let mut config = Self::of_root(root);
        let leaf = config.add_leaf(
            "root",
            Node::new("default", spec(AnyDiscipline::Fifo(fifo::Config))),
        );
        debug_assert!(leaf.is_ok());
        config.default_leaf = Some(1);
        config
    }
}

impl PlanEntry {
    fn root(node: Node) -> Self {
        let longest = FlowConfig::MAX_PACKET_LEN;
        Self {
            node,
            parent: ROOT,
            server: ROOT,
            flow: FlowId(0),
            is_inner: false,
            is_class: true,
            depth: 0,
            longest,
            children: Vec::new(),
            flows: 0,
            free_flows: BTreeSet::new(),
        }
    }
}

impl Config {
    /// Largest number of levels below the root.
    pub const MOST_LEVELS: usize = 8;

    /// A tree with a root only, which shares the link among nodes added later.
    ///
    /// # Errors
    /// The root cannot be a class, or a value is out of its range.
    pub fn new(root: Node) -> Result<Self, TreeError> {
        check_node(&root, true)?;
        if let Some(discipline) = root.service.discipline() {
            return Err(problem(&root.name, Problem::NoClassOf { discipline }));
        }
        Ok(Self::of_root(root))
    }

    fn of_root(root: Node) -> Self {
        Self {
            names: [(root.name.clone(), ROOT as u32)].into(),
            free: BTreeSet::new(),
            nodes: alloc::vec![Some(PlanEntry::root(root))],
            default_leaf: None,
            flows: Vec::new(),
            acknowledgements: Vec::new(),
            short: 0,
        }
    }

    /// Adds a class, which shares its part of `parent` among its own children.
    ///
    /// # Errors
    /// See [`Problem`]. Nothing is added.
    pub fn add_class(&mut self, parent: &str, node: Node) -> Result<(), TreeError> {
        self.add(parent, node, true)?;
        Ok(())
    }

    /// Adds a leaf, which holds packets.
    ///
    /// # Errors
    /// See [`Problem`]. Nothing is added.
    pub fn add_leaf(&mut self, parent: &str, node: Node) -> Result<(), TreeError> {
        self.add(parent, node, false)?;
        Ok(())
    }

    /// Sends all flows without an assigned leaf to this leaf.
    ///
    /// # Errors
    /// There is no such leaf.
    pub fn set_default(&mut self, leaf: &str) -> Result<(), TreeError> {
        self.default_leaf = Some(self.leaf(leaf)?);
        Ok(())
    }

    /// Sends a flow to a leaf.
    ///
    /// # Errors
    /// There is no such leaf, or the flow's number is beyond [`FlowId::LARGEST_TABLED`].
    pub fn assign(&mut self, flow: FlowId, leaf: &str) -> Result<(), TreeError> {
        let number = self.leaf_for(flow, leaf)?;
        note(&mut self.flows, flow, number);
        Ok(())
    }

    /// Lets flows have a leaf of their own for short acknowledgements: TCP segments without data,
    /// with no flag but ACK, whose IP packet is shorter than this many bytes.
    pub fn sort_acknowledgements(&mut self, below: u32) {
        self.short = below;
    }

    /// Whether short acknowledgements may have leaves of their own.
    pub(super) const fn sorts_acknowledgements(&self) -> bool {
        self.short > 0
    }

    /// Sends a flow's short acknowledgements to a leaf, in place of that of its other packets.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn assign_acknowledgements(&mut self, flow: FlowId, leaf: &str) -> Result<(), TreeError> {
        let number = self.leaf_for(flow, leaf)?;
        note(&mut self.acknowledgements, flow, number);
        Ok(())
    }

    /// The number of a leaf to which a flow may go.
    fn leaf_for(&self, flow: FlowId, leaf: &str) -> Result<usize, TreeError> {
        let number = self.leaf(leaf)?;
        let most = FlowId::LARGEST_TABLED.0.into();
        match ConfigError::in_range(Self::NAME, "flow", flow.0.into(), 0, most) {
            Ok(()) => Ok(number),
            Err(error) => Err(setting(leaf, error)),
        }
    }

    /// The nodes, parents before their children.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        let mut order = alloc::vec![ROOT];
        let mut at = 0;
        while let Some(&number) = order.get(at) {
            order.extend(self.children(number));
            at += 1;
        }
        order.into_iter().filter_map(|number| self.node(number))
    }

    /// The nodes that hold packets.
    pub(super) fn leaves(&self) -> impl Iterator<Item = &Node> {
        let leaves = self.nodes.iter().flatten().filter(|entry| !entry.is_class);
        leaves.map(|entry| &entry.node)
    }

    /// A class's children, in the order in which they were added. A leaf or an unknown node has
    /// none.
    pub fn children_of(&self, name: &str) -> Vec<&Node> {
        let Some(parent) = self.number(name) else {
            return Vec::new();
        };
        let children = self.children(parent);
        children.filter_map(|child| self.node(child)).collect()
    }

    /// Whether the way from `name` to the root passes `ancestor`, or starts there.
    pub fn is_below(&self, name: &str, ancestor: &str) -> bool {
        match (self.number(name), self.number(ancestor)) {
            (Some(_), Some(ROOT)) => true,
            (Some(number), Some(above)) => self.path(number).any(|node| node == above),
            _ => false,
        }
    }

    /// A node's settings in its parent.
    pub(super) fn flow_config(&self, number: usize) -> FlowConfig {
        let node = self.node(number);
        node.map_or(FlowConfig::DEFAULT, Node::flow_config)
    }

    /// Adds a checked node. Returns its number.
    pub(super) fn add(
        &mut self,
        parent: &str,
        node: Node,
        is_class: bool,
    ) -> Result<usize, TreeError> {
        check_node(&node, is_class)?;
        if self.number(&node.name).is_some() {
            return Err(problem(&node.name, Problem::NameTaken));
        }
        let Some(parent_number) = self.number(parent) else {
            let parent = parent.to_owned();
            return Err(problem(&node.name, Problem::UnknownParent { parent }));
        };
        let above = match self.entry(parent_number) {
            Some(above) if above.is_class => above,
            _ => return Err(problem(&node.name, Problem::ParentIsLeaf)),
        };
        let depth = above.depth + 1;
        if depth > Self::MOST_LEVELS {
            return Err(problem(&node.name, Problem::TooDeep));
        }
        let shares = &above.node.spec.discipline;
        check_service(&node, shares)?;
        let own = of_classes(&node.spec.discipline);
        let is_inner = is_class && own.is_some() && own == of_classes(shares);
        if is_inner {
            check_inner(&node)?;
        }
        if node.service == Service::Direct {
            let mut siblings = self.children_of(parent).into_iter();
            let has_other = siblings.any(|sibling| sibling.service == Service::Direct);
            if is_class || above.is_inner || has_other {
                return Err(problem(&node.name, Problem::NotDirect));
            }
        }
        if has_one_child(shares) && self.children(parent_number).next().is_some() {
            let parent = parent.to_owned();
            return Err(problem(&node.name, Problem::OneChild { parent }));
        }
        let server = if above.is_inner {
            above.server
        } else {
            parent_number
        };
        let flow = self.free_flow(server);
        let longest = above
            .longest
            .min(node.max_packet_len)
            .min(self.longest_below(parent_number));
        let info = shares.info();
        node.flow_config()
            .check_up_to(info.max_weight, info.name, flow)
            .map_err(|error| setting(&node.name, error))?;
        let is_shared = of_classes(shares).is_none() && !has_one_child(shares);
        if is_shared && !takes(shares, &node) {
            let parent = parent.to_owned();
            return Err(problem(&node.name, Problem::NotTaken { parent }));
        }
        let entry = PlanEntry {
            node,
            parent: parent_number,
            server,
            flow,
            is_inner,
            is_class,
            depth,
            longest,
            children: Vec::new(),
            flows: 0,
            free_flows: BTreeSet::new(),
        };
        Ok(self.enter(entry))
    }

    /// Gives a node the smallest free number, and notes its name, its parent, and its flow number.
    fn enter(&mut self, entry: PlanEntry) -> usize {
        let number = match self.free.pop_first() {
            Some(free) => free as usize,
            None => {
                self.nodes.push(None);
                self.nodes.len() - 1
            }
        };
        self.names.insert(entry.node.name.clone(), number as u32);
        if let Some(parent) = &mut self.nodes[entry.parent] {
            let before = parent
                .children
                .partition_point(|other| (*other as usize) < number);
            parent.children.insert(before, number as u32);
        }
        if !entry.is_inner
            && let Some(server) = &mut self.nodes[entry.server]
            && !server.free_flows.remove(&entry.flow.0)
        {
            server.flows = entry.flow.0 + 1;
        }
        self.nodes[number] = Some(entry);
        number
    }

    /// The nodes that go together with `name`: the node and everything below, children before their
    /// parents.
    pub(super) fn subtree(&self, name: &str) -> Result<Vec<usize>, TreeError> {
        let Some(number) = self.number(name) else {
            return Err(problem(name, Problem::Unknown));
        };
        if number == ROOT {
            return Err(problem(name, Problem::IsRoot));
        }
        let mut gone = Vec::new();
        for (candidate, entry) in self.nodes.iter().enumerate() {
            if let Some(entry) = entry
                && self.path(candidate).any(|node| node == number)
            {
                gone.push((Reverse(entry.depth), candidate));
            }
        }
        gone.sort_by_key(|(depth, _)| *depth);
        let gone: Vec<usize> = gone.into_iter().map(|(_, node)| node).collect();
        if self.default_leaf.is_some_and(|leaf| gone.contains(&leaf)) {
            return Err(problem(name, Problem::HoldsDefault));
        }
        Ok(gone)
    }

    /// Removes a node without children. Its flows go to the default leaf.
    pub(super) fn forget(&mut self, number: usize) {
        let Some(entry) = self.nodes[number].take() else {
            return;
        };
        self.names.remove(&entry.node.name);
        self.free.insert(number as u32);
        if let Some(parent) = &mut self.nodes[entry.parent] {
            parent.children.retain(|child| *child as usize != number);
        }
        if !entry.is_inner
            && let Some(server) = &mut self.nodes[entry.server]
        {
            server.free_flows.insert(entry.flow.0);
        }
        for leaf in self.flows.iter_mut().chain(&mut self.acknowledgements) {
            if *leaf as usize == number {
                *leaf = NONE;
            }
        }
    }

    /// Recomputes `longest` for all nodes: the minimum over the path to the root.
    pub(super) fn find_longest(&mut self) {
        for number in 0..self.nodes.len() {
            let mut longest = FlowConfig::MAX_PACKET_LEN;
            for node in self.path(number) {
                longest = longest.min(self.node(node).map_or(longest, |node| node.max_packet_len));
                // What the class above can carry: a token bucket lets no packet through that is
                // longer than it.
                longest = longest.min(self.longest_below(self.above(node)));
            }
            if let Some(entry) = &mut self.nodes[number] {
                entry.longest = longest;
            }
        }
    }

    /// The longest packet that a class lets pass from its children.
    fn longest_below(&self, class: usize) -> u32 {
        let through = self
            .node(class)
            .and_then(|node| longest_through(&node.spec.discipline));
        through.unwrap_or(FlowConfig::MAX_PACKET_LEN)
    }

    /// The default leaf.
    pub(super) fn default_leaf(&self) -> Result<usize, TreeError> {
        let Some(leaf) = self.default_leaf else {
            let name = self.node(ROOT).map_or("", |root| &root.name);
            return Err(problem(name, Problem::NoDefault));
        };
        Ok(leaf)
    }

    #[inline]
    pub(super) fn leaf_of(&self, flow: FlowId, default: usize) -> usize {
        match self.flows.get(flow.index()) {
            Some(&leaf) if leaf != NONE => leaf as usize,
            _ => default,
        }
    }

    /// The leaf for an acknowledgement, if it goes to another one than the flow's other packets.
    pub(super) fn leaf_of_acknowledgement(
        &self,
        flow: FlowId,
        acknowledgement: &Acknowledgement,
    ) -> Option<usize> {
        if !acknowledgement.is_below(self.short) {
            return None;
        }
        self.leaf_of_acknowledgements(flow)
    }

    /// The leaf for a flow's short acknowledgements, if they have one of their own.
    pub(super) fn leaf_of_acknowledgements(&self, flow: FlowId) -> Option<usize> {
        let leaf = *self.acknowledgements.get(flow.index())?;
        (leaf != NONE).then_some(leaf as usize)
    }

    #[inline]
    pub(super) fn entry(&self, number: usize) -> Option<&PlanEntry> {
        self.nodes.get(number)?.as_ref()
    }

    /// A node's parent.
    pub(super) fn above(&self, number: usize) -> usize {
        self.entry(number).map_or(ROOT, |entry| entry.parent)
    }

    /// Whether the node is an inner class of another node's scheduler.
    pub(super) fn is_inner(&self, number: usize) -> bool {
        self.entry(number).is_some_and(|entry| entry.is_inner)
    }

    pub(super) fn node(&self, number: usize) -> Option<&Node> {
        Some(&self.entry(number)?.node)
    }

    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.names.get(name).map(|number| *number as usize)
    }

    pub(super) fn leaf(&self, name: &str) -> Result<usize, TreeError> {
        let Some(number) = self.number(name) else {
            return Err(problem(name, Problem::Unknown));
        };
        if self.entry(number).is_some_and(|entry| entry.is_class) {
            return Err(problem(name, Problem::IsClass));
        }
        Ok(number)
    }

    /// The children of a node, in the order of their numbers.
    pub(super) fn children(&self, parent: usize) -> impl Iterator<Item = usize> {
        let parent = self.entry(parent).into_iter();
        parent.flat_map(|parent| parent.children.iter().map(|child| *child as usize))
    }

    /// The node and its ancestors, the root excluded.
    pub(super) fn path(&self, number: usize) -> impl Iterator<Item = usize> {
        let mut next = number;
        core::iter::from_fn(move || {
            let number = next;
            next = self.entry(number)?.parent;
            (number != ROOT).then_some(number)
        })
    }

    /// The node and the inner classes above, as the server's scheduler knows them. Empty if its
    /// children are not classes.
    pub(super) fn way(&self, number: usize) -> Vec<(u32, Service)> {
        let mut way = Vec::new();
        for number in self.path(number) {
            let Some(entry) = self.entry(number) else {
                break;
            };
            if entry.node.service == Service::Shared || (!way.is_empty() && !entry.is_inner) {
                break;
            }
            way.push((number as u32, entry.node.service));
        }
        way
    }

    /// The nodes whose packets a server's scheduler orders.
    pub(super) fn served_by(&self, server: usize) -> impl Iterator<Item = usize> {
        (ROOT + 1..self.nodes.len()).filter(move |number| {
            let entry = self.entry(*number);
            entry.is_some_and(|entry| entry.server == server && !entry.is_inner)
        })
    }

    /// The leaf that has the whole link: the only one, without a shaper above.
    pub(super) fn only_leaf(&self) -> Option<usize> {
        let mut number = ROOT;
        loop {
            let node = self.node(number)?;
            let is_shaper =
                has_one_child(&node.spec.discipline) || of_classes(&node.spec.discipline).is_some();
            if !self.entry(number)?.is_class {
                return Some(number);
            }
            let mut children = self.children(number);
            number = children.next().filter(|_| !is_shaper)?;
            if children.next().is_some() {
                return None;
            }
        }
    }

    /// The smallest flow number that a node's scheduler has to give.
    fn free_flow(&self, server: usize) -> FlowId {
        let Some(server) = self.entry(server) else {
            return FlowId(0);
        };
        FlowId(server.free_flows.first().copied().unwrap_or(server.flows))
    }
}

fn check_node(node: &Node, is_class: bool) -> Result<(), TreeError> {
    let info = node.spec.discipline.info();
    if node.name.trim().is_empty() || node.name.contains(char::is_control) {
        return Err(problem(&node.name, Problem::BadName));
    }
    if is_class && !info.interior && !has_one_child(&node.spec.discipline) {
        let discipline = info.name;
        return Err(problem(&node.name, Problem::NotInterior { discipline }));
    }
    if !is_class && of_classes(&node.spec.discipline).is_some() {
        let discipline = info.name;
        return Err(problem(&node.name, Problem::NoLeaf { discipline }));
    }
    if is_class && (node.spec.limit.is_some() || has_latency(&node.spec.discipline)) {
        return Err(problem(&node.name, Problem::LimitOfClass));
    }
    let built = node.spec.discipline.build::<StandIn>(Seed::new(0));
    built.map_err(|error| setting(&node.name, error))?;
    let config = node.flow_config();
    let checked = config.check_up_to(FlowConfig::LARGEST_WEIGHT, Config::NAME, FlowId(0));
    checked.map_err(|error| setting(&node.name, error))
}

/// The longest packet that a node's buckets ever let pass.
pub(super) fn longest_through(discipline: &AnyDiscipline) -> Option<u32> {
    match discipline {
        AnyDiscipline::Tbf(config) => Some(config.longest()),
        _ => None,
    }
}

/// Whether this is a discipline of leaves that is also a class of a single child.
pub(super) const fn has_one_child(discipline: &AnyDiscipline) -> bool {
    matches!(discipline, AnyDiscipline::Tbf(_))
}

/// Whether the discipline has a limit of its own, in place of one written beside it.
const fn has_latency(discipline: &AnyDiscipline) -> bool {
    matches!(discipline, AnyDiscipline::Tbf(tbf) if tbf.latency.is_some())
}

/// The discipline's name, if its children are classes with settings of their own.
pub(super) const fn of_classes(discipline: &AnyDiscipline) -> Option<&'static str> {
    match discipline {
        AnyDiscipline::Htb(_) => Some(htb::Config::NAME),
        AnyDiscipline::Hfsc(_) => Some(hfsc::Config::NAME),
        _ => None,
    }
}

/// Whether a node's service is one of those that the parent's discipline gives.
pub(super) fn check_service(node: &Node, parent: &AnyDiscipline) -> Result<(), TreeError> {
    let wanted = of_classes(parent).map_or(Ok(()), |name| {
        if node.service.discipline() == Some(name) {
            return Ok(());
        }
        let discipline = name;
        Err(problem(&node.name, Problem::NoService { discipline }))
    });
    wanted?;
    if let Some(discipline) = node.service.discipline()
        && of_classes(parent) != Some(discipline)
    {
        return Err(problem(&node.name, Problem::NoClassOf { discipline }));
    }
    let checked = node.service.check();
    checked.map_err(|error| setting(&node.name, error))
}

/// Checks an inner class's service. One of HFSC's shares what its children have no deadline for.
pub(super) fn check_inner(node: &Node) -> Result<(), TreeError> {
    match &node.service {
        Service::Hfsc(class) if class.ls.is_none() => {
            let expected = "ls or sc too, as it has children: ls = \"m2 10mbit\"";
            let error = ConfigError::beside(hfsc::Config::NAME, "class", "with rt alone", expected);
            Err(setting(&node.name, error))
        }
        _ => Ok(()),
    }
}

/// Whether a class with this discipline takes a child's longest packet.
fn takes(discipline: &AnyDiscipline, child: &Node) -> bool {
    let Ok(mut scheduler) = discipline.build_class(Seed::new(0)) else {
        return false;
    };
    let packet = Packet {
        priority: child.priority,
        ..Packet::new(FlowId(0), child.max_packet_len, StandIn::Head)
    };
    scheduler.set_flow(FlowId(0), child.flow_config()).is_ok()
        && scheduler.enqueue(Instant::ZERO, packet).is_ok()
}

/// An error in a tree: the node and the problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeError {
    /// The node's name.
    pub node: String,
    /// The problem.
    pub problem: Problem,
}

impl From<TreeError> for ConfigError {
    fn from(error: TreeError) -> Self {
        Self::BadValue {
            discipline: Config::NAME,
            parameter: error.node,
            value: None,
            expected: error.problem.to_string(),
        }
    }
}

/// What can be wrong with a node.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// A name is empty or contains control characters.
    BadName,
    /// Another node has the name.
    NameTaken,
    /// No node has the name.
    Unknown,
    /// No node has the parent's name.
    UnknownParent {
        /// The parent.
        parent: String,
    },
    /// A leaf was named as the parent.
    ParentIsLeaf,
    /// The node would be more than [`Config::MOST_LEVELS`] below the root.
    TooDeep,
    /// The discipline cannot share a link among children.
    NotInterior {
        /// The discipline.
        discipline: &'static str,
    },
    /// The discipline orders classes only, and the node has no children.
    NoLeaf {
        /// The discipline.
        discipline: &'static str,
    },
    /// The parent's discipline has one child, and another node is it.
    OneChild {
        /// The parent.
        parent: String,
    },
    /// The parent's discipline needs settings for its classes, and the node has none.
    NoService {
        /// The discipline.
        discipline: &'static str,
    },
    /// The node has settings for a class of this discipline, and its parent has another discipline.
    NoClassOf {
        /// The discipline.
        discipline: &'static str,
    },
    /// Packets of no class have one leaf below the topmost node of an `htb`.
    NotDirect,
    /// A class holds no packets.
    LimitOfClass,
    /// The parent's discipline does not accept the node's longest packet.
    NotTaken {
        /// The parent.
        parent: String,
    },
    /// A class was named where a leaf is needed.
    IsClass,
    /// The root cannot be removed or changed like this.
    IsRoot,
    /// The node contains the default leaf.
    HoldsDefault,
    /// No leaf is the default.
    NoDefault,
    /// A value is out of range, or the discipline rejects a setting.
    Setting(Box<ConfigError>),
}

/// Notes a flow's leaf.
fn note(leaves: &mut Vec<u32>, flow: FlowId, leaf: usize) {
    if flow.index() >= leaves.len() {
        leaves.resize(flow.index() + 1, NONE);
    }
    leaves[flow.index()] = leaf as u32;
}

/// Wraps a configuration error.
pub(super) fn setting(node: &str, error: ConfigError) -> TreeError {
    problem(node, Problem::Setting(Box::new(error)))
}

pub(super) fn problem(node: &str, problem: Problem) -> TreeError {
    TreeError {
        node: node.to_owned(),
        problem,
    }
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node '{}': {}", self.node, self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName => write!(
                f,
                "a name has at least one character, and none that controls a terminal"
            ),
            Self::NameTaken => write!(f, "another node has this name"),
            Self::Unknown => write!(f, "no node has this name"),
            Self::UnknownParent { parent } => {
                write!(f, "no node is called '{parent}', which is to be its parent")
            }
            Self::ParentIsLeaf => write!(f, "its parent is a leaf, and only a class has children"),
            Self::TooDeep => write!(
                f,
                "a tree has at most {} levels below its root",
                Config::MOST_LEVELS
            ),
            Self::NotInterior { discipline } => {
                let mut able = alloc::vec![htb::Config::NAME, hfsc::Config::NAME];
                for info in AnyDiscipline::all().iter().map(AnyDiscipline::info) {
                    if info.interior {
                        able.push(info.name);
                    }
                }
                able.push("tbf (to one child)");
                write!(
                    f,
                    "{discipline} cannot share a link among children; {} can",
                    able.join(", ")
                )?;
                if *discipline == "fq" {
                    write!(f, " ({FORMER_FQ})")?;
                }
                Ok(())
            }
            Self::NoLeaf { discipline } => write!(
                f,
                "{discipline} holds no packets, it shares the link among classes: name the node \
                 as the parent of others"
            ),
            Self::OneChild { parent } => write!(
                f,
                "its parent '{parent}' is of tbf, which has one child: put a class such as drr \
                 between them to share the rate"
            ),
            Self::NoService { discipline } => write!(
                f,
                "its parent is of {discipline}, whose classes have {}",
                match *discipline {
                    hfsc::Config::NAME => "a curve: ls = \"m2 10mbit\"",
                    _ => "a rate: rate = \"10mbit\"",
                }
            ),
            Self::NoClassOf { discipline } => write!(
                f,
                "it has the settings of a class of {discipline}, and its parent is not of \
                 {discipline}"
            ),
            Self::NotDirect => write!(
                f,
                "direct is for a leaf below the topmost node of htb, and for one only"
            ),
            Self::LimitOfClass => write!(
                f,
                "a class holds no packets, so it has no limit; its leaves can have one each"
            ),
            Self::NotTaken { parent } => write!(
                f,
                "its parent '{parent}' does not take packets as long as its longest"
            ),
            Self::IsClass => write!(f, "it is a class, and packets go to leaves"),
            Self::IsRoot => write!(f, "it is the root"),
            Self::HoldsDefault => write!(
                f,
                "the leaf of the flows that are assigned nowhere cannot be removed"
            ),
            Self::NoDefault => write!(
                f,
                "no leaf below it is the default, for flows that are assigned nowhere"
            ),
            Self::Setting(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for TreeError {}

impl From<TreeError> for Fault {
    /// The data of the setting that is wrong, or else the node's name.
    fn from(error: TreeError) -> Self {
        let TreeError { node, problem } = error;
        let known = match problem {
            Problem::Setting(error) => Self::from(*error),
            Problem::UnknownParent { ref parent } => {
                Self::new(problem.to_string()).with_given(parent)
            }
            other => Self::new(other.to_string()).with_given(&node),
        };
        let owner = format!("node '{node}'");
        known.behind(format_args!("{owner}: ")).with_owner(owner)
    }
}
