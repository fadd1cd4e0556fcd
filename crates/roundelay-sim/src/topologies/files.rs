//! Network files: Rocketfuel's edge lists, Topology Zoo's GraphML and GML, plain edge lists.
//!
//! [`FromFile`] completes what files lack: links' rate and delay, and hosts. If a link has no delay
//! but both its nodes have coordinates, its delay is what light takes in fibre along the great circle. A link goes both ways, unless the file lists
//! the way back separately.

mod coordinates;
mod edge_list;
mod gml;
mod graphml;
mod rocketfuel;
mod unread;

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use roundelay::{Duration, Fault, Rate};
use roundelay_files::{InWords, whole};
use serde::Deserialize;

use super::{Builder, MOST_NODES, Queues, Topology, Wire, mbit};
use crate::ids::NodeId;
use crate::network::LinkClass;
use coordinates::Coordinates;

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// A line for each link: `node node [rate] [delay] [cost]`.
    #[serde(rename = "edges")]
    EdgeList,
    /// Topology Zoo's GML.
    Gml,
    /// Topology Zoo's GraphML.
    GraphMl,
    /// Rocketfuel's `weights.intra`; the second file is its `latencies.intra`.
    Rocketfuel,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::EdgeList, Self::Gml, Self::GraphMl, Self::Rocketfuel];

    /// Name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EdgeList => "edges",
            Self::Gml => "gml",
            Self::GraphMl => "graphml",
            Self::Rocketfuel => "rocketfuel",
        }
    }

    /// The format that a file name stands for: `.gml`, `.graphml` or `.xml`, `.intra`. Any
    /// other name is an edge list.
    pub fn of_name(name: &str) -> Self {
        let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let last = last.to_ascii_lowercase();
        match last.rsplit('.').next() {
            Some("gml") => Self::Gml,
            Some("graphml" | "xml") => Self::GraphMl,
            Some("intra") => Self::Rocketfuel,
            _ => Self::EdgeList,
        }
    }

    /// What the second file contains, if the format has two.
    pub const fn second(self) -> Option<&'static str> {
        match self {
            Self::Rocketfuel => Some("latencies"),
            Self::EdgeList | Self::Gml | Self::GraphMl => None,
        }
    }
}

impl FromStr for Format {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let format = Self::ALL.into_iter().find(|format| format.name() == text);
        format.ok_or_else(|| {
            let legal = "edges, gml, graphml or rocketfuel";
            Fault::new(format!("'{text}' is no format: {legal}"))
                .with_given(text)
                .with_legal(legal)
        })
    }
}

/// What is odd about a file that can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Notes, a sentence each.
    pub notes: Vec<String>,
    /// One more note, which holds if routing does not go by cost: the file has costs.
    pub costs: Option<String>,
}

/// A file in memory.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// The name for messages.
    pub name: &'a str,
    /// The file's text.
    pub text: &'a str,
}

impl Text<'_> {
    /// Removes the byte order mark that some editors write.
    fn without_mark(self) -> Self {
        Self {
            text: self.text.trim_start_matches('\u{feff}'),
            ..self
        }
    }

    fn error(&self, line: usize, fault: impl Into<Fault>) -> Fault {
        fault.into().in_file(self.name, line)
    }

    /// Lines with their numbers. Empty lines and comments are left out.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self
            .text
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim());
        (1..).zip(lines).filter(|(_, line)| !line.is_empty())
    }
}

/// Defaults for data missing in a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FromFile {
    /// Rate of links without a rate.
    #[serde(with = "InWords::<Rate>")]
    pub rate: Rate,
    /// Delay of links without a delay and without coordinates of both ends.
    #[serde(with = "InWords::<Duration>")]
    pub delay: Duration,
    /// Hosts to attach to each router: `host0`, `host1`, ... from router to router. With 0, nodes
    /// with one neighbour are the hosts.
    #[serde(deserialize_with = "whole::<_, _, 0, 1_048_575>")]
    pub hosts_per_router: u32,
    /// Rate of an attached host's link.
    #[serde(with = "InWords::<Rate>")]
    pub access_rate: Rate,
    /// Delay of an attached host's link.
    #[serde(with = "InWords::<Duration>")]
    pub access_delay: Duration,
}

impl Default for FromFile {
    fn default() -> Self {
        let unit = Duration::from_millis(1);
        Self {
            rate: mbit(10_000),
            delay: unit,
            hosts_per_router: 1,
            access_rate: mbit(1_000),
            access_delay: unit,
        }
    }
}

/// The longest file, in bytes.
pub const MOST_BYTES: usize = 1 << 26;

impl FromFile {
    /// Reads a network. `second` is the second file, if the format has two.
    ///
    /// # Errors
    /// The file does not follow the format, or is too large.
    pub fn read(
        &self,
        format: Format,
        first: Text<'_>,
        second: Option<Text<'_>>,
        queues: &Queues,
    ) -> Result<Topology, Fault> {
        for file in [Some(first), second].into_iter().flatten() {
            let bytes = file.text.len();
            if bytes > MOST_BYTES {
                let legal = format!("up to {MOST_BYTES}");
                let fault = Fault::new(format!("{bytes} bytes, legal range {legal}"));
                return Err(file.error(0, fault.with_given(bytes).with_legal(legal)));
            }
        }
        let first = first.without_mark();
        let second = second.map(Text::without_mark);
        let graph = match format {
            Format::EdgeList => edge_list::read(first)?,
            Format::Gml => gml::read(first)?,
            Format::GraphMl => graphml::read(first)?,
            Format::Rocketfuel => rocketfuel::read(first, second)?,
        };
        self.build(graph, first, queues)
    }

    fn build(&self, mut graph: Graph, file: Text<'_>, queues: &Queues) -> Result<Topology, Fault> {
        if graph.edges.is_empty() {
            return Err(file.error(0, "no link: a network has one or more"));
        }
        let nodes = graph.nodes.len() as u64 * (1 + u64::from(self.hosts_per_router));
        if nodes > MOST_NODES {
            return Err(file.error(0, super::too_many_nodes(nodes)));
        }
        if self.hosts_per_router == 0 {
            graph.make_leaves_hosts();
        }
        let mut builder = Builder::new(queues);
        let mut ids = Vec::new();
        for node in &graph.nodes {
            let id = builder
                .named(&node.name)
                .map_err(|error| file.error(0, format!("name '{}': {error}", node.name)))?;
            ids.push(id);
            if node.is_host {
                builder.topology.hosts.push(id);
            }
        }
        self.join(&graph, &ids, &mut builder);
        self.attach(&ids, &mut builder)
            .map_err(|name| file.error(0, format!("two nodes are called '{name}'")))?;
        builder.topology.oddities = graph.oddities;
        Ok(builder.topology)
    }

    fn join(&self, graph: &Graph, ids: &[NodeId], builder: &mut Builder<'_>) {
        let classes = Classes::new(graph);
        for edge in &graph.edges {
            let by_distance = match (
                graph.nodes[edge.from].coordinates,
                graph.nodes[edge.to].coordinates,
            ) {
                (Some(from), Some(to)) => Some(from.light_to(to)),
                _ => None,
            };
            let wire = Wire {
                rate: edge.rate.unwrap_or(self.rate),
                delay: edge.delay.or(by_distance).unwrap_or(self.delay),
            };
            let ways = [(edge.from, edge.to), (edge.to, edge.from)];
            for (from, to) in ways.into_iter().take(if edge.one_way { 1 } else { 2 }) {
                let link = builder.link(ids[from], ids[to], wire, classes.of(from, to));
                builder
                    .topology
                    .network
                    .change_link(link, |link| link.cost = edge.cost.unwrap_or(link.cost));
            }
        }
    }

    /// # Errors
    /// A node already has the name that a new host would get.
    fn attach(&self, routers: &[NodeId], builder: &mut Builder<'_>) -> Result<(), Fault> {
        let access = Wire {
            rate: self.access_rate,
            delay: self.access_delay,
        };
        let mut number = 0;
        for router in routers {
            for _ in 0..self.hosts_per_router {
                let name = format!("host{number}");
                let host = builder.named(&name).map_err(|_| name)?;
                builder.adopt(host, *router, access);
                number += 1;
            }
        }
        Ok(())
    }
}

/// What all formats tell about a network.
#[derive(Debug, Default)]
struct Graph {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    by_name: BTreeMap<String, usize>,
    oddities: Oddities,
}

#[derive(Debug, Default)]
struct Node {
    name: String,
    coordinates: Option<Coordinates>,
    is_host: bool,
}

#[derive(Debug, Default)]
struct Edge {
    from: usize,
    to: usize,
    rate: Option<Rate>,
    delay: Option<Duration>,
    cost: Option<u64>,
    one_way: bool,
}

impl Graph {
    /// The node that has this name. It is added if it is new.
    fn node(&mut self, name: &str) -> usize {
        if let Some(node) = self.by_name.get(name) {
            return *node;
        }
        self.by_name.insert(name.to_owned(), self.nodes.len());
        self.nodes.push(Node {
            name: name.to_owned(),
            ..Node::default()
        });
        self.nodes.len() - 1
    }

    /// A link goes one way if the file also lists the way back.
    fn find_ways_back(&mut self) {
        let listed: BTreeSet<_> = self.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        for edge in &mut self.edges {
            edge.one_way = listed.contains(&(edge.to, edge.from));
        }
    }

    fn make_leaves_hosts(&mut self) {
        let mut neighbours = vec![BTreeSet::new(); self.nodes.len()];
        for edge in &self.edges {
            neighbours[edge.from].insert(edge.to);
            neighbours[edge.to].insert(edge.from);
        }
        for (node, neighbours) in self.nodes.iter_mut().zip(neighbours) {
            node.is_host = neighbours.len() == 1;
        }
    }
}

/// Decides which class each link has.
struct Classes<'a> {
    graph: &'a Graph,
    /// By node: whether the file has hosts behind it.
    has_hosts: Vec<bool>,
}

impl<'a> Classes<'a> {
    fn new(graph: &'a Graph) -> Self {
        let mut has_hosts = vec![false; graph.nodes.len()];
        for edge in &graph.edges {
            has_hosts[edge.from] |= graph.nodes[edge.to].is_host;
            has_hosts[edge.to] |= graph.nodes[edge.from].is_host;
        }
        Self { graph, has_hosts }
    }

    /// A link between a router that has hosts and one that has none is an edge link.
    fn of(&self, from: usize, to: usize) -> LinkClass {
        match (self.graph.nodes[from].is_host, self.graph.nodes[to].is_host) {
            (true, _) => LinkClass::Host,
            (false, true) => LinkClass::Edge,
            (false, false) if self.has_hosts[from] != self.has_hosts[to] => LinkClass::Edge,
            (false, false) => LinkClass::Core,
        }
    }
}

#[cfg(test)]
mod tests;
