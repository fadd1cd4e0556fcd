//! Routing: static shortest paths, with optional equal-cost multipath.
//!
//! Each node has a table with the next link to every destination, and packets follow these tables
//! from node to node, as in ns-2's static routing. A node's table is a shortest-path tree
//! (Dijkstra): the nearest node outside the tree joins next, the lowest number first among equally
//! near nodes. A later path to a node counts only if strictly shorter. Among equally short routes
//! the route through low numbers wins.
//!
//! With load spread over routes, each node may use any next link on a shortest route, and a keyed
//! hash of the flow chooses (RFC 2992 describes the method and the effect on flows).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::network::{LinkConfig, LinkId, Network, NetworkError, NodeId};
use crate::random::mix;

/// Length of a link in route computation. Every link counts at least 1, so no route has a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize, JsonSchema)]
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

    /// Name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hops => "hops",
            Self::Delay => "delay",
            Self::Cost => "cost",
        }
    }

    const fn of(self, link: &LinkConfig) -> u64 {
        let length = match self {
            Self::Hops => 1,
            Self::Delay => link.delay.as_picos(),
            Self::Cost => link.cost,
        };
        if length == 0 { 1 } else { length }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let metric = Self::ALL.into_iter().find(|metric| metric.name() == text);
        metric.ok_or_else(|| format!("'{text}' makes no route short: hops, delay or cost"))
    }
}

/// How routes are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Routing {
    /// The length of a link.
    pub metric: Metric,
    /// Equal-cost multipath: the key of the hash that spreads flows over all shortest routes. None:
    /// all flows take the first route.
    pub spread: Option<u64>,
}

/// A route: index of the first hop in the table of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route(pub(crate) u32);

/// End mark of a route.
pub(crate) const ARRIVED: u32 = u32::MAX;
/// Distance of an unreachable node.
const UNREACHED: u64 = u64::MAX;

/// The routes in use, each stored once. Memory grows with the pairs of communicating nodes and the
/// routes between them, not with flows.
#[derive(Debug)]
pub(crate) struct Routes {
    /// Links of all routes in sequence, each route ended by [`ARRIVED`]; first the empty route
    /// [`NOWHERE`](Self::NOWHERE).
    pub(crate) hops: Vec<u32>,
    /// Without spread: the route of each pair.
    of_pair: HashMap<(NodeId, NodeId), Route>,
    /// With spread: routes by their links.
    of_links: HashMap<Vec<u32>, Route>,
    /// By source: the first link to each node.
    tables: BTreeMap<NodeId, Vec<u32>>,
    /// By destination: the distance of each node.
    distances: BTreeMap<NodeId, Vec<u64>>,
    /// Incoming links of each node, filled on first use.
    coming: Vec<Vec<LinkId>>,
}

impl Default for Routes {
    fn default() -> Self {
        let (of_pair, of_links, tables) = (HashMap::new(), HashMap::new(), BTreeMap::new());
        Self { hops: vec![ARRIVED], of_pair, of_links, tables, distances: BTreeMap::new(), coming: Vec::new() }
    }
}

impl Routes {
    /// The empty route: destination unreachable.
    pub(crate) const NOWHERE: Route = Route(0);

    /// The route of flow number 0 of a pair.
    pub(crate) fn between(&mut self, network: &Network, from: NodeId, to: NodeId) -> Result<Route, NetworkError> {
        self.of_flow(network, from, to, 0)
    }

    /// The route of a flow from one node to the other. The flow number matters only with spread.
    pub(crate) fn of_flow(&mut self, network: &Network, from: NodeId, to: NodeId, flow: u64) -> Result<Route, NetworkError> {
        network.check(from)?;
        network.check(to)?;
        if from == to {
            return Err(NetworkError::SameNode(from));
        }
        match network.routing().spread {
            None => self.first(network, from, to),
            Some(key) => self.spread(network, from, to, mix(key ^ mix(flow ^ mix(u64::from(from.0) << 32 | u64::from(to.0))))),
        }
    }

    /// The routes of a flow, there and back. The route back is [`NOWHERE`](Self::NOWHERE) if there
    /// is none.
    pub(crate) fn there_and_back(&mut self, network: &Network, from: NodeId, to: NodeId, flow: u64) -> Result<[Route; 2], NetworkError> {
        let there = self.of_flow(network, from, to, flow)?;
        match self.of_flow(network, to, from, flow) {
            Err(NetworkError::Unroutable(..)) => Ok([there, Self::NOWHERE]),
            back => Ok([there, back?]),
        }
    }

    /// The links of a route.
    pub(crate) fn links(&self, route: Route) -> impl Iterator<Item = usize> + '_ {
        self.hops[route.0 as usize..].iter().take_while(|link| **link != ARRIVED).map(|link| *link as usize)
    }

    fn first(&mut self, network: &Network, from: NodeId, to: NodeId) -> Result<Route, NetworkError> {
        if let Some(route) = self.of_pair.get(&(from, to)) {
            return Ok(*route);
        }
        let (mut links, mut at) = (Vec::new(), from);
        while at != to {
            let link = self.tables.entry(at).or_insert_with(|| table(network, at))[to.index()];
            if link == ARRIVED {
                return Err(NetworkError::Unroutable(from, to));
            }
            links.push(link);
            at = network.links()[link as usize].to;
        }
        let route = self.append(&links);
        self.of_pair.insert((from, to), route);
        Ok(route)
    }

    fn append(&mut self, links: &[u32]) -> Route {
        let route = Route(self.hops.len() as u32);
        self.hops.extend(links.iter().copied().chain([ARRIVED]));
        route
    }

    /// Each node on the route draws separately from the flow's hash: choices at different nodes are
    /// independent.
    fn spread(&mut self, network: &Network, from: NodeId, to: NodeId, hash: u64) -> Result<Route, NetworkError> {
        let metric = network.routing().metric;
        self.measure(network, to);
        let distances = &self.distances[&to];
        if distances[from.index()] == UNREACHED {
            return Err(NetworkError::Unroutable(from, to));
        }
        let (mut links, mut at) = (Vec::new(), from);
        while at != to {
            let is_shortest = |link: &&LinkId| {
                let config = &network.links()[link.index()];
                distances[config.to.index()].saturating_add(metric.of(config)) == distances[at.index()]
            };
            let shortest: Vec<_> = network.leaving(at).iter().filter(is_shortest).collect();
            let link = shortest[(mix(hash ^ u64::from(at.0)) % shortest.len() as u64) as usize];
            links.push(link.0);
            at = network.links()[link.index()].to;
        }
        if let Some(route) = self.of_links.get(&links) {
            return Ok(*route);
        }
        let route = self.append(&links);
        self.of_links.insert(links, route);
        Ok(route)
    }

    fn measure(&mut self, network: &Network, to: NodeId) {
        if self.coming.is_empty() {
            self.coming = vec![Vec::new(); network.nodes()];
            for (number, link) in network.links().iter().enumerate() {
                self.coming[link.to.index()].push(LinkId(number as u32));
            }
        }
        let coming = &self.coming;
        let links = |node: NodeId| coming[node.index()].iter().map(|link| (*link, network.links()[link.index()].from));
        self.distances.entry(to).or_insert_with(|| grow(network, to, links, |_, _, _| ()));
    }
}

/// The first link from a node to each other node; [`ARRIVED`] for an unreachable node.
fn table(network: &Network, from: NodeId) -> Vec<u32> {
    let mut first = vec![ARRIVED; network.nodes()];
    let links = |node: NodeId| network.leaving(node).iter().map(|link| (*link, network.links()[link.index()].to));
    grow(network, from, links, |node, link, next| first[next.index()] = if node == from { link.0 } else { first[node.index()] });
    first
}

/// Distances of all nodes from the root: Dijkstra's algorithm ("A note on two problems in connexion
/// with graphs", Numerische Mathematik 1, 1959). Among equally near nodes the lowest number comes
/// first. `improve` is called for each link on a shorter path to a node.
fn grow<I: Iterator<Item = (LinkId, NodeId)>>(
    network: &Network,
    root: NodeId,
    links: impl Fn(NodeId) -> I,
    mut improve: impl FnMut(NodeId, LinkId, NodeId),
) -> Vec<u64> {
    let metric = network.routing().metric;
    let mut distances = vec![UNREACHED; network.nodes()];
    distances[root.index()] = 0;
    let mut heap = BinaryHeap::from([Reverse((0, root))]);
    while let Some(Reverse((distance, node))) = heap.pop() {
        if distance > distances[node.index()] {
            continue;
        }
        for (link, next) in links(node) {
            let through = distance.saturating_add(metric.of(&network.links()[link.index()]));
            if through < distances[next.index()] {
                distances[next.index()] = through;
                improve(node, link, next);
                heap.push(Reverse((through, next)));
            }
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use roundelay::Duration;

    use super::*;

    /// Nodes 0 to `nodes - 1` and links in both directions: ends, delay in milliseconds, cost.
    fn network(nodes: u32, edges: &[(u32, u32, u64, u64)]) -> Network {
        let mut network = Network::default();
        for _ in 0..nodes {
            network.add_node();
        }
        for &(a, b, delay, cost) in edges {
            for (from, to) in [(a, b), (b, a)] {
                let (rate, delay) = ("1mbit".parse().unwrap(), Duration::from_millis(delay));
                let mut link = LinkConfig::new(NodeId(from), NodeId(to), rate, delay, "fifo".parse().unwrap());
                link.cost = cost;
                network.add_link(link).unwrap();
            }
        }
        network
    }

    fn nodes(network: &Network, route: &[LinkId]) -> Vec<u32> {
        route.iter().map(|link| network.links()[link.index()].to.0).collect()
    }

    fn way(network: &Network, from: u32, to: u32) -> Vec<u32> {
        nodes(network, &network.route(NodeId(from), NodeId(to)).unwrap())
    }

    /// Four routes from 0 to 3: 0-1-3, 0-2-3 and 0-6-3 have two hops each, 0-6-3 with the lowest
    /// cost; 0-4-5-3 has the lowest delay.
    fn square() -> Network {
        let (ms, cost) = (10, 5);
        let edges = [(0, 2, ms, cost), (2, 3, ms, cost), (0, 1, ms, cost), (1, 3, ms, cost)];
        let more = [(0, 4, 1, 9), (4, 5, 1, 9), (5, 3, 1, 9), (0, 6, 50, 1), (6, 3, 50, 1)];
        network(7, &[&edges[..], &more[..]].concat())
    }

    #[test]
    fn the_lowest_number_of_equally_short_ways_wins() {
        assert_eq!(way(&square(), 0, 3), [1, 3]);
        assert_eq!(way(&square(), 3, 0), [1, 0]);
    }

    #[test]
    fn routes_go_by_what_is_asked_for() {
        let mut square = square();
        let by = |metric| Routing { metric, spread: None };
        square.set_routing(by(Metric::Delay));
        assert_eq!(way(&square, 0, 3), [4, 5, 3]);
        square.set_routing(by(Metric::Cost));
        assert_eq!(way(&square, 0, 3), [6, 3]);
        square.set_routing(by(Metric::Hops));
        assert_eq!(way(&square, 0, 3), [1, 3]);
    }

    #[test]
    fn links_that_cost_nothing_do_not_lead_in_circles() {
        let mut ring = network(5, &[(0, 1, 0, 0), (1, 2, 0, 0), (2, 3, 0, 0), (3, 4, 0, 0), (4, 0, 0, 0), (1, 3, 0, 0)]);
        for metric in Metric::ALL {
            for spread in [None, Some(3)] {
                ring.set_routing(Routing { metric, spread });
                let pairs = (0..5).flat_map(|from| (0..5).map(move |to| (from, to))).filter(|(from, to)| from != to);
                assert!(pairs.clone().all(|(from, to)| way(&ring, from, to).len() <= 2));
            }
        }
    }

    #[test]
    fn what_cannot_be_reached_is_said() {
        let two = network(3, &[(0, 1, 1, 1)]);
        assert_eq!(two.route(NodeId(0), NodeId(2)), Err(NetworkError::Unroutable(NodeId(0), NodeId(2))));
        assert_eq!(two.route(NodeId(0), NodeId(9)), Err(NetworkError::NoNode(NodeId(9))));
        assert_eq!(two.route(NodeId(1), NodeId(1)), Err(NetworkError::SameNode(NodeId(1))));
        let mut spread = two.clone();
        spread.set_routing(Routing { metric: Metric::Hops, spread: Some(1) });
        assert_eq!(spread.route(NodeId(0), NodeId(2)), Err(NetworkError::Unroutable(NodeId(0), NodeId(2))));
    }

    #[test]
    fn flows_are_spread_over_all_shortest_routes_and_routes_are_kept_once() {
        let mut square = square();
        square.set_routing(Routing { metric: Metric::Hops, spread: Some(1) });
        let mut routes = Routes::default();
        let mut through = [0; 7];
        for flow in 0..3000 {
            let route = routes.of_flow(&square, NodeId(0), NodeId(3), flow).unwrap();
            let links: Vec<_> = routes.links(route).map(|link| LinkId(link as u32)).collect();
            assert_eq!(links.len(), 2);
            through[nodes(&square, &links)[0] as usize] += 1;
        }
        assert!([1, 2, 6].iter().all(|node| (900..1100).contains(&through[*node])), "{through:?}");
        assert_eq!(routes.hops.len(), 1 + 9, "and that to nowhere");
    }

    #[test]
    fn another_key_spreads_otherwise_and_the_same_key_alike() {
        let choices = |key| {
            let mut square = square();
            square.set_routing(Routing { metric: Metric::Hops, spread: Some(key) });
            let mut routes = Routes::default();
            (0..64)
                .map(|flow| routes.of_flow(&square, NodeId(0), NodeId(3), flow).map(|route| routes.links(route).collect::<Vec<_>>()))
                .collect::<Vec<_>>()
        };
        assert_eq!(choices(1), choices(1));
        assert_ne!(choices(1), choices(2));
        let distinct: BTreeSet<_> = choices(1).into_iter().flatten().collect();
        assert_eq!(distinct.len(), 3);
    }

    #[test]
    fn a_pair_is_routed_once() {
        let square = square();
        let mut routes = Routes::default();
        let first = routes.between(&square, NodeId(0), NodeId(3)).unwrap();
        (0..100).for_each(|flow| assert_eq!(routes.of_flow(&square, NodeId(0), NodeId(3), flow), Ok(first)));
        assert_eq!(routes.hops.len(), 1 + 3, "and that to nowhere");
    }
}
