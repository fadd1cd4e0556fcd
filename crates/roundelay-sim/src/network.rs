//! Network: nodes and links.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use roundelay::schedulers::{AnyDiscipline, Discipline as _, Priority};
use roundelay::{Billionths, ConfigError, Duration, Limit, LinkLayer, QueueSpec, Rate};
use roundelay_trace::{LinkTrace, Stop, TreeFile};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::decision::{DecisionCost, TREE};
use crate::ids::{LinkId, NodeId};

/// Class of a link: scenarios set queues by class, and results are summed by class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

    /// The name in scenarios and results.
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

/// One direction of a link: its ends, and its [`LinkSettings`], whose fields it shows as its own.
///
/// A network may have millions of links, and most of them are alike. These share their settings
/// until they are changed for one of them.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// The node at the beginning.
    pub from: NodeId,
    /// The node at the end.
    pub to: NodeId,
    settings: Arc<LinkSettings>,
}

/// What a link has between its ends: queue and wire.
#[derive(Debug, Clone)]
pub struct LinkSettings {
    /// The rate. If the link has a trace, the trace's mean rate.
    pub rate: Rate,
    /// If set, a trace replaces the rate: see [`set_trace`](Self::set_trace).
    pub trace: Option<LinkTrace>,
    /// The propagation delay.
    pub delay: Duration,
    /// The queue's discipline, or tree, and its limit.
    pub queue: QueueSpec,
    /// If the queue is a tree, its name and the rules that send each flow to a leaf.
    pub tree: Option<Arc<TreeFile>>,
    /// What share of packets is lost on the wire. Each packet is lost independently.
    pub loss: Billionths,
    /// The longest extra delay. Each packet's is drawn uniformly, but packets keep their order.
    pub jitter: Duration,
    /// Overhead, minimum length and framing. Packet lengths are those that sources give, `raw` or
    /// not.
    pub layer: LinkLayer,
    /// The class.
    pub class: LinkClass,
    /// What the link costs, for routing by cost.
    pub cost: u64,
    /// How long each of the queue's decisions takes. Meanwhile the link is idle.
    pub decision: DecisionCost,
}

impl Deref for LinkConfig {
    type Target = LinkSettings;

    fn deref(&self) -> &LinkSettings {
        &self.settings
    }
}

impl DerefMut for LinkConfig {
    /// The settings, from now on this link's alone.
    fn deref_mut(&mut self) -> &mut LinkSettings {
        Arc::make_mut(&mut self.settings)
    }
}

impl LinkConfig {
    /// A core link without loss, jitter, overhead or decision cost. In routing it costs 1.
    pub fn new(from: NodeId, to: NodeId, rate: Rate, delay: Duration, queue: QueueSpec) -> Self {
        Self::sharing(from, to, Arc::new(LinkSettings::new(rate, delay, queue)))
    }

    /// A link that shares its settings with others.
    pub const fn sharing(from: NodeId, to: NodeId, settings: Arc<LinkSettings>) -> Self {
        Self { from, to, settings }
    }
}

impl LinkSettings {
    /// Whether the queue divides the link among hosts.
    pub(crate) fn reads_hosts(&self) -> bool {
        self.queue.discipline.info().reads_hosts
    }

    /// Whether the queue, or a node in its tree, takes packets' priorities for code points.
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

    /// Those of a core link without loss, jitter, overhead or decision cost. In routing it costs 1.
    pub const fn new(rate: Rate, delay: Duration, queue: QueueSpec) -> Self {
        Self {
            rate,
            trace: None,
            delay,
            queue,
            tree: None,
            loss: Billionths(0),
            jitter: Duration::ZERO,
            layer: LinkLayer::NONE,
            class: LinkClass::Core,
            cost: 1,
            decision: DecisionCost::NONE,
        }
    }

    /// Sets the queue's discipline and limit. If there was a tree, it goes.
    pub fn set_queue(&mut self, queue: QueueSpec) {
        (self.queue, self.tree) = (queue, None);
    }

    /// Sets the trace that replaces the rate, if any, and the link layer. The two belong together,
    /// because how many bytes a trace carries at each time depends on what the link adds to them.
    pub fn set_trace(&mut self, trace: Option<LinkTrace>, layer: LinkLayer) {
        if let Some(trace) = &trace {
            self.rate = trace.mean_rate(layer);
        }
        (self.trace, self.layer) = (trace, layer);
    }

    /// Replaces the queue's discipline by a tree with this limit, or that of its leaves.
    pub fn set_tree(&mut self, tree: Arc<TreeFile>, limit: Option<Limit>) {
        let limit = limit.unwrap_or_else(|| tree.config().default_limit());
        let discipline = AnyDiscipline::Tree(tree.config().clone());
        (self.queue, self.tree) = (
            QueueSpec {
                discipline,
                limit: Some(limit),
            },
            Some(tree),
        );
    }

    /// The queue's discipline as `tc` writes it, or `tree` and the tree's name.
    pub fn ordering(&self) -> String {
        self.tree.as_ref().map_or_else(
            || self.queue.discipline.to_string(),
            |tree| format!("{TREE} {}", tree.name()),
        )
    }

    /// How long each of the queue's decisions takes.
    ///
    /// # Errors
    /// The table does not list the discipline. Or decisions cost time on a link that is preemptive
    /// or has a trace, or a link with a trace is preemptive: a trace goes with neither.
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

    /// The queue's disciplines: one, or those of all nodes in its tree.
    pub fn disciplines(&self) -> impl Iterator<Item = &AnyDiscipline> {
        let (tree, alone) = match &self.queue.discipline {
            AnyDiscipline::Tree(tree) => (Some(tree), None),
            discipline => (None, Some(discipline)),
        };
        let nodes = tree.into_iter().flat_map(|tree| tree.nodes());
        nodes.map(|node| &node.spec.discipline).chain(alone)
    }

    /// The rate, if one packet may interrupt another on the link. A preemptive link reports a
    /// packet when its transmission ends, not when it starts.
    pub fn preempted_at(&self) -> Option<Rate> {
        self.queue.discipline.preempts().then_some(self.rate)
    }
}

/// A link's name, made from the names of both ends: FROM > TO.
pub fn link_name(from: &str, to: &str) -> String {
    format!("{from} > {to}")
}

/// Length of a link in route computation. Every link counts at least 1, so no route has a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Each link counts 1.
    #[default]
    Hops,
    /// The propagation delay, in picoseconds.
    Delay,
    /// The link's cost.
    Cost,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 3] = [Self::Hops, Self::Delay, Self::Cost];

    pub(crate) fn of(self, link: &LinkConfig) -> u64 {
        let length = match self {
            Self::Hops => 1,
            Self::Delay => link.delay.as_picos(),
            Self::Cost => link.cost,
        };
        if length == 0 { 1 } else { length }
    }
}

/// How routes are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Routing {
    /// How a link's length is measured.
    pub metric: Metric,
    /// Equal-cost multipath: the key for the hash that spreads flows over all shortest routes. If
    /// None, all flows take the first route.
    pub spread: Option<u64>,
}

/// What is wrong with a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// No route leads from the first node to the second.
    #[error("there is no way from node {} to node {}", .0.0, .1.0)]
    Unroutable(NodeId, NodeId),
    /// A route starts and ends at the same node.
    #[error("node {} needs no way to itself", .0.0)]
    SameNode(NodeId),
    /// The network has no such node.
    #[error("there is no node {}", .0.0)]
    NoNode(NodeId),
    /// This node already has the name.
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
    /// Empty if the node has no name.
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

    /// Adds a link in one direction, between nodes that exist.
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

    /// Sets how routes are chosen. What is set last before a simulation starts counts.
    pub const fn set_routing(&mut self, routing: Routing) {
        self.routing = routing;
    }

    /// How routes are chosen.
    pub const fn routing(&self) -> Routing {
        self.routing
    }

    /// Ends runs over this network and its clones with [`SimulationError::Stopped`], once a stop is
    /// requested through `stop`.
    ///
    /// [`SimulationError::Stopped`]: crate::SimulationError::Stopped
    pub fn set_stop(&mut self, stop: Stop) {
        self.stop = stop;
    }

    /// The request that ends runs.
    pub const fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.leaving.len()
    }

    /// All links, in the order of their numbers.
    pub fn links(&self) -> &[LinkConfig] {
        &self.links
    }

    /// Changes a link's wire or queue.
    ///
    /// # Panics
    /// The network has no such link.
    pub fn change_link(&mut self, link: LinkId, change: impl FnOnce(&mut LinkSettings)) {
        change(&mut Arc::make_mut(&mut self.links)[link.index()]);
    }

    /// Changes several links alike. Those that shared their settings share them afterwards, too.
    ///
    /// # Panics
    /// The network lacks one of the links.
    pub fn change_links(&mut self, links: &[LinkId], change: impl Fn(&mut LinkSettings)) {
        let all = Arc::make_mut(&mut self.links);
        // The settings before, which stay until the end, so that no others get their address.
        let mut changed: FxHashMap<*const LinkSettings, [Arc<LinkSettings>; 2]> =
            FxHashMap::default();
        for link in links {
            let settings = &mut all[link.index()].settings;
            let [_, after] = changed.entry(Arc::as_ptr(settings)).or_insert_with(|| {
                let mut after = settings.clone();
                change(Arc::make_mut(&mut after));
                [settings.clone(), after]
            });
            *settings = after.clone();
        }
    }

    /// The links that leave a node, in the order of their numbers.
    pub fn leaving(&self, node: NodeId) -> &[LinkId] {
        self.nodes
            .leaving
            .get(node.index())
            .map_or(&[], Vec::as_slice)
    }

    /// The node that has this name.
    pub fn named(&self, name: &str) -> Option<NodeId> {
        self.nodes.named.get(name).copied()
    }

    /// A node's name, or its number if it has no name.
    pub fn name(&self, node: NodeId) -> String {
        self.nodes
            .names
            .get(node.index())
            .filter(|name| !name.is_empty())
            .map_or_else(|| node.0.to_string(), Clone::clone)
    }

    /// The first link that leads from one node to the other.
    pub fn link_between(&self, from: NodeId, to: NodeId) -> Option<LinkId> {
        self.leaving(from)
            .iter()
            .copied()
            .find(|link| self.links[link.index()].to == to)
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

    /// How long a packet of `len` bytes takes over these links if it never waits: tmin in the paper
    /// on universal packet scheduling.
    pub fn fastest(&self, links: impl IntoIterator<Item = LinkId>, len: u32) -> Duration {
        let time = |link: LinkId| {
            let LinkSettings {
                rate, delay, layer, ..
            } = &*self.links[link.index()];
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

    /// Code points go into priorities for a queue that orders by them, alone or below a tree.
    #[test]
    fn cake_reads_code_points() {
        let link = |queue: &str| {
            LinkConfig::new(
                NodeId(0),
                NodeId(1),
                "1mbit".parse().unwrap(),
                Duration::ZERO,
                queue.parse().unwrap(),
            )
        };
        assert!(link("cake").reads_code_points());
        assert!(!link("cake besteffort").reads_code_points());
        assert!(!link("fifo").reads_code_points());
        let under_a_tree = |leaf: &str| {
            let text = format!(
                "[[node]]\nname = 'link'\ndiscipline = 'drr'\n[[node]]\nname = 'leaf'\nparent = \
                 'link'\ndiscipline = '{leaf}'\ndefault = true\n"
            );
            let tree = TreeFile::from_toml("tree.toml", &text).unwrap();
            let mut link = link("fifo");
            link.set_tree(Arc::new(tree), Some(Limit::of_packets(9)));
            link.reads_code_points()
        };
        assert!(under_a_tree("cake"));
        assert!(!under_a_tree("fifo"));
    }

    #[test]
    fn a_link_needs_both_its_ends() {
        let mut network = Network::default();
        let node = network.add_node();
        let link = LinkConfig::new(
            node,
            NodeId(1),
            "1mbit".parse().unwrap(),
            Duration::ZERO,
            "fifo".parse().unwrap(),
        );
        assert_eq!(network.add_link(link), Err(NetworkError::NoNode(NodeId(1))));
        assert!(network.links().is_empty());
    }
}
