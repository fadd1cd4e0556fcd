//! Network: nodes and links.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use roundelay::schedulers::{AnyDiscipline, Discipline as _, Priority};
use roundelay::{Billionths, ConfigError, Duration, Limit, LinkLayer, QueueSpec, Rate, tree};
use roundelay_trace::{LinkTrace, Stop, TreeFile};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::decision::DecisionCost;
use crate::routing::Routing;
pub(crate) use crate::routing::{ARRIVED, Route, Routes};

/// A host or a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A link, one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId(pub u32);

impl LinkId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Class of a link: scenarios set queues by class, and results are summed by class.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum LinkClass {
    /// Between routers of the core.
    #[default]
    Core,
    /// Any other link leaving a router: to or from an edge router, or to a host.
    Edge,
    /// Leaves a host: the queue is the host's network interface.
    Host,
}

impl LinkClass {
    /// All classes.
    pub const ALL: [Self; 3] = [Self::Core, Self::Edge, Self::Host];

    /// Name in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Edge => "edge",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for LinkClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One direction of a link: queue and wire.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// The node at the beginning.
    pub from: NodeId,
    /// The node at the end.
    pub to: NodeId,
    /// The rate; of a link with a trace, the mean.
    pub rate: Rate,
    /// The trace in place of the rate: see [`set_trace`](Self::set_trace).
    pub trace: Option<LinkTrace>,
    /// The propagation delay.
    pub delay: Duration,
    /// The queue's discipline, or tree, and limit.
    pub queue: QueueSpec,
    /// The name and the rules of the queue's tree: which flow goes to which leaf.
    pub tree: Option<Arc<TreeFile>>,
    /// Share of packets lost on the wire, each packet independently.
    pub loss: Billionths,
    /// Upper bound of the random extra delay, drawn uniformly for each packet. Packets keep their
    /// order.
    pub jitter: Duration,
    /// Overhead, minimum and framing of packets. Lengths are those of sources, `raw` or not.
    pub layer: LinkLayer,
    /// The class.
    pub class: LinkClass,
    /// The cost in routing by cost.
    pub cost: u64,
    /// Time for each decision of the queue, during which the link is idle.
    pub decision: DecisionCost,
}

impl LinkConfig {
    /// Whether the queue shares the link among hosts.
    pub(crate) fn reads_hosts(&self) -> bool {
        self.queue.discipline.info().reads_hosts
    }

    /// Whether priorities of packets are code points to the queue, or to a node of its tree.
    pub(crate) fn reads_code_points(&self) -> bool {
        if let AnyDiscipline::Tree(tree) = &self.queue.discipline {
            for node in tree.nodes() {
                if node.spec.discipline.info().priority == Priority::CodePoint {
                    return true;
                }
            }
        }
        self.queue.discipline.info().priority == Priority::CodePoint
    }

    /// Whether the queue drops redundant acknowledgements.
    pub(crate) fn reads_acknowledgements(&self) -> bool {
        self.queue.discipline.info().reads_acknowledgements
    }

    /// A core link without loss, jitter, overhead or decision cost, with routing cost 1.
    pub const fn new(
        from: NodeId,
        to: NodeId,
        rate: Rate,
        delay: Duration,
        queue: QueueSpec,
    ) -> Self {
        let loss = Billionths(0);
        let jitter = Duration::ZERO;
        Self {
            from,
            to,
            rate,
            trace: None,
            delay,
            queue,
            tree: None,
            loss,
            jitter,
            layer: LinkLayer::NONE,
            class: LinkClass::Core,
            cost: 1,
            decision: DecisionCost::NONE,
        }
    }

    /// Sets the queue's discipline and limit, in place of any tree.
    pub fn set_queue(&mut self, queue: QueueSpec) {
        (self.queue, self.tree) = (queue, None);
    }

    /// Sets a trace in place of the rate, or what the link makes of lengths, on which the bytes at each
    /// time of a trace depend.
    pub fn set_trace(&mut self, trace: Option<LinkTrace>, layer: LinkLayer) {
        if let Some(trace) = &trace {
            self.rate = trace.mean_rate(layer);
        }
        (self.trace, self.layer) = (trace, layer);
    }

    /// Sets a tree in place of the queue's discipline, with this limit.
    pub fn set_tree(&mut self, tree: Arc<TreeFile>, limit: Limit) {
        let discipline = AnyDiscipline::Tree(tree.config().clone());
        (self.queue, self.tree) = (
            QueueSpec {
                discipline,
                limit: Some(limit),
            },
            Some(tree),
        );
    }

    /// The queue's discipline as `tc` writes it, or `tree` and the name of the tree.
    pub fn ordering(&self) -> String {
        self.tree.as_ref().map_or_else(
            || self.queue.discipline.to_string(),
            |tree| format!("{TREE} {}", tree.name()),
        )
    }

    /// Time for each decision of the queue.
    ///
    /// # Errors
    /// The table has no entry for the discipline, or the link is preemptive and its decisions cost
    /// time. A link with a trace interrupts no packet, and its decisions cost no time.
    pub fn decision_cost(&self) -> Result<Duration, ConfigError> {
        let discipline = self.queue.discipline.name();
        let wrong = |parameter: &str, expected: String| ConfigError::BadValue {
            discipline,
            parameter: parameter.to_owned(),
            value: None,
            expected,
        };
        let cost = self.decision.of(discipline);
        let known = self.decision.disciplines().collect::<Vec<_>>().join(", ");
        let expected = || {
            format!("a time for {discipline}, 0 if its decisions cost none; the table has {known}")
        };
        let cost = cost.ok_or_else(|| wrong("decision", expected()))?;
        if cost > Duration::ZERO && self.queue.discipline.preempts() {
            return Err(wrong(
                "preempt",
                "off, as decisions of the port cost time".to_owned(),
            ));
        }
        if self.trace.is_some() && cost > Duration::ZERO {
            return Err(wrong("decision", "0 on a link with a trace".to_owned()));
        }
        if self.trace.is_some() && self.queue.discipline.preempts() {
            return Err(wrong("preempt", "off on a link with a trace".to_owned()));
        }
        Ok(cost)
    }

    /// The disciplines of the queue: one, or those of all nodes of a tree.
    pub fn disciplines(&self) -> impl Iterator<Item = &AnyDiscipline> {
        let (tree, alone) = match &self.queue.discipline {
            AnyDiscipline::Tree(tree) => (Some(tree), None),
            discipline => (None, Some(discipline)),
        };
        let nodes = tree.into_iter().flat_map(|tree| tree.nodes());
        nodes.map(|node| &node.spec.discipline).chain(alone)
    }

    /// The rate, if a packet may interrupt another one on the link. A preemptive link reports a
    /// packet at the end of the transmission, not at the start.
    pub fn preempted_at(&self) -> Option<Rate> {
        self.queue.discipline.preempts().then_some(self.rate)
    }
}

/// Name of a link, from the names of both ends: FROM > TO.
pub fn link_name(from: &str, to: &str) -> String {
    format!("{from} > {to}")
}

/// Prefix of a tree's name, where a discipline could stand.
pub(crate) const TREE: &str = tree::Config::NAME;

/// A fault in a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// There is no route from the first node to the second.
    #[error("there is no way from node {} to node {}", .0.0, .1.0)]
    Unroutable(NodeId, NodeId),
    /// Source and destination of a route are the same node.
    #[error("node {} needs no way to itself", .0.0)]
    SameNode(NodeId),
    /// There is no such node.
    #[error("there is no node {}", .0.0)]
    NoNode(NodeId),
    /// The name is already in use, by this node.
    #[error("node {} has that name", .0.0)]
    NameTaken(NodeId),
}

/// Nodes and links. Clones share them until one is changed.
#[derive(Debug, Clone, Default)]
pub struct Network {
    links: Arc<Vec<LinkConfig>>,
    nodes: Arc<Nodes>,
    routing: Routing,
    stop: Stop,
}

#[derive(Debug, Clone, Default)]
struct Nodes {
    /// Outgoing links of each node.
    leaving: Vec<Vec<LinkId>>,
    /// Empty for a node without a name.
    names: Vec<String>,
    named: BTreeMap<String, NodeId>,
}

impl Network {
    /// Adds a node without a name.
    pub fn add_node(&mut self) -> NodeId {
        let nodes = Arc::make_mut(&mut self.nodes);
        nodes.leaving.push(Vec::new());
        nodes.names.push(String::new());
        NodeId((nodes.leaving.len() - 1) as u32)
    }

    /// Adds a node with a name.
    ///
    /// # Errors
    /// Another node has the same name.
    pub fn add_named(&mut self, name: &str) -> Result<NodeId, NetworkError> {
        if let Some(node) = self.nodes.named.get(name) {
            return Err(NetworkError::NameTaken(*node));
        }
        let node = self.add_node();
        let nodes = Arc::make_mut(&mut self.nodes);
        name.clone_into(&mut nodes.names[node.index()]);
        nodes.named.insert(name.to_owned(), node);
        Ok(node)
    }

    /// Adds a link in one direction, between existing nodes.
    ///
    /// # Errors
    /// One of the nodes does not exist.
    pub fn add_link(&mut self, link: LinkConfig) -> Result<LinkId, NetworkError> {
        self.check(link.from)?;
        self.check(link.to)?;
        let id = LinkId(self.links.len() as u32);
        Arc::make_mut(&mut self.nodes).leaving[link.from.index()].push(id);
        Arc::make_mut(&mut self.links).push(link);
        Ok(id)
    }

    /// Sets how routes are chosen. The last setting before a simulation starts counts.
    pub const fn set_routing(&mut self, routing: Routing) {
        self.routing = routing;
    }

    /// How routes are chosen.
    pub const fn routing(&self) -> Routing {
        self.routing
    }

    /// Ends runs over this network and its clones, with [`SimulationError::Stopped`], once `stop`
    /// is requested.
    ///
    /// [`SimulationError::Stopped`]: crate::SimulationError::Stopped
    pub fn set_stop(&mut self, stop: Stop) {
        self.stop = stop;
    }

    /// The request that ends runs.
    pub const fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.leaving.len()
    }

    /// All links in the order of their numbers.
    pub fn links(&self) -> &[LinkConfig] {
        &self.links
    }

    /// Changes the wire or the queue of a link. The ends are fixed.
    ///
    /// # Panics
    /// The network has no such link.
    pub fn change_link(&mut self, link: LinkId, change: impl FnOnce(&mut LinkConfig)) {
        let link = &mut Arc::make_mut(&mut self.links)[link.index()];
        let ends = (link.from, link.to);
        change(link);
        (link.from, link.to) = ends;
    }

    /// The outgoing links of a node, in the order of their numbers.
    pub fn leaving(&self, node: NodeId) -> &[LinkId] {
        self.nodes
            .leaving
            .get(node.index())
            .map_or(&[], Vec::as_slice)
    }

    /// The node with a name.
    pub fn named(&self, name: &str) -> Option<NodeId> {
        self.nodes.named.get(name).copied()
    }

    /// A node's name, or the number if the node has no name.
    pub fn name(&self, node: NodeId) -> String {
        self.nodes
            .names
            .get(node.index())
            .filter(|name| !name.is_empty())
            .map_or_else(|| node.0.to_string(), Clone::clone)
    }

    /// The first link from one node to the other.
    pub fn link_between(&self, from: NodeId, to: NodeId) -> Option<LinkId> {
        self.leaving(from)
            .iter()
            .copied()
            .find(|link| self.links[link.index()].to == to)
    }

    /// The links on the route between two nodes: the route of flow number 0, if flows are spread
    /// over several.
    ///
    /// # Errors
    /// There is no route.
    pub fn route(&self, from: NodeId, to: NodeId) -> Result<Vec<LinkId>, NetworkError> {
        let mut routes = Routes::default();
        let route = routes.between(self, from, to)?;
        Ok(routes
            .links(route)
            .map(|link| LinkId(link as u32))
            .collect())
    }

    /// # Errors
    /// There is no such node.
    pub(crate) fn check(&self, node: NodeId) -> Result<(), NetworkError> {
        if node.index() < self.nodes() {
            Ok(())
        } else {
            Err(NetworkError::NoNode(node))
        }
    }

    /// Time of a packet of `len` bytes over some links without waiting: tmin in the paper on
    /// universal packet scheduling.
    pub fn fastest(&self, links: impl IntoIterator<Item = LinkId>, len: u32) -> Duration {
        let time = |link: LinkId| {
            let LinkConfig {
                rate, delay, layer, ..
            } = &self.links[link.index()];
            rate.time_of(layer.len_on_link(len).into()) + *delay
        };
        links
            .into_iter()
            .map(time)
            .fold(Duration::ZERO, |sum, time| sum + time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_found_by_name() {
        let mut network = Network::default();
        let one = network.add_named("one").unwrap();
        let two = network.add_node();
        assert_eq!(
            (network.named("one"), network.named("two")),
            (Some(one), None)
        );
        assert_eq!(
            (network.name(one), network.name(two)),
            ("one".to_owned(), "1".to_owned())
        );
        assert_eq!(network.add_named("one"), Err(NetworkError::NameTaken(one)));
        assert_eq!(network.nodes(), 2);
    }

    #[test]
    fn a_link_needs_both_its_ends() {
        let mut network = Network::default();
        let node = network.add_node();
        let link = LinkConfig::new(
            node,
            NodeId(7),
            "1mbit".parse().unwrap(),
            Duration::ZERO,
            "fifo".parse().unwrap(),
        );
        assert_eq!(network.add_link(link), Err(NetworkError::NoNode(NodeId(7))));
        assert!(network.links().is_empty());
    }
}
