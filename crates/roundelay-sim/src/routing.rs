//! Routing: static shortest paths, if asked for with equal-cost multipath.
//!
//! Each node has a table with the next link to every destination, and packets follow these tables
//! from node to node, as in ns-2's static routing. A node's table is a shortest-path tree
//! (Dijkstra): the nearest node outside the tree joins next, and among equally near nodes the one
//! with the lowest number. A path to a node that is found later counts only if it is strictly
//! shorter. So among equally short routes the one through low numbers wins.
//!
//! If load is spread over routes, each node may use any next link on a shortest route, and a keyed
//! hash of the flow chooses (RFC 2992 describes the method and what it does to flows).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use rustc_hash::FxHashMap;

use crate::ids::{LinkId, NodeId};
use crate::network::{LinkConfig, Network, NetworkError, Routing};
use crate::random::mix;

/// A route: the index of its first hop in the table of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route(pub(crate) u32);

/// Marks the end of a route.
pub(crate) const ARRIVED: u32 = u32::MAX;
/// The distance to a node that cannot be reached.
const UNREACHED: u64 = u64::MAX;

/// The routes in use, each stored once. Memory grows with the pairs of nodes that communicate and
/// the routes between them, not with flows.
///
/// A *leaf* is a node with a single neighbour, as hosts are, or a node that has a single one without
/// such leaves, as edge routers may be. All routes out of it go through that neighbour, its
/// *parent*, so we keep tables only for the other nodes. In a fat-tree with 27,648 hosts there are
/// 2,880 of these.
#[derive(Debug)]
pub(crate) struct Routes {
    /// The links of all routes in sequence, each route ended by [`ARRIVED`]. The first is the empty
    /// route [`NOWHERE`](Self::NOWHERE).
    pub(crate) hops: Vec<u32>,
    /// Without spread: the route for each pair.
    of_pair: FxHashMap<(NodeId, NodeId), Route>,
    /// With spread: routes by their links.
    of_links: FxHashMap<Vec<u32>, Route>,
    /// By source: the first link to each node that is no leaf.
    tables: BTreeMap<NodeId, Vec<u32>>,
    /// With spread: by destination, how far each node that is no leaf is from it.
    distances: BTreeMap<NodeId, Search>,
    /// Filled on first use.
    inner: Inner,
}

impl Default for Routes {
    fn default() -> Self {
        let of_pair = FxHashMap::default();
        let of_links = FxHashMap::default();
        let tables = BTreeMap::new();
        Self {
            hops: vec![ARRIVED],
            of_pair,
            of_links,
            tables,
            distances: BTreeMap::new(),
            inner: Inner::default(),
        }
    }
}

impl Routes {
    /// The empty route, which stands for a destination that cannot be reached.
    pub(crate) const NOWHERE: Route = Route(0);

    /// The route that flow number 0 takes between two nodes.
    pub(crate) fn between(
        &mut self,
        network: &Network,
        from: NodeId,
        to: NodeId,
    ) -> Result<Route, NetworkError> {
        self.of_flow(network, from, to, 0)
    }

    /// The route that a flow takes from one node to the other. The flow number matters only with
    /// spread.
    pub(crate) fn of_flow(
        &mut self,
        network: &Network,
        from: NodeId,
        to: NodeId,
        flow: u64,
    ) -> Result<Route, NetworkError> {
        network.check(from)?;
        network.check(to)?;
        if from == to {
            return Err(NetworkError::SameNode(from));
        }
        match network.routing().spread {
            None => self.first(network, from, to),
            Some(key) => self.spread(
                network,
                from,
                to,
                mix(key ^ mix(flow ^ mix(u64::from(from.0) << 32 | u64::from(to.0)))),
            ),
        }
    }

    /// A flow's routes, there and back. If there is no route back, it is
    /// [`NOWHERE`](Self::NOWHERE).
    pub(crate) fn there_and_back(
        &mut self,
        network: &Network,
        from: NodeId,
        to: NodeId,
        flow: u64,
    ) -> Result<[Route; 2], NetworkError> {
        let there = self.of_flow(network, from, to, flow)?;
        match self.of_flow(network, to, from, flow) {
            Err(NetworkError::Unroutable(..)) => Ok([there, Self::NOWHERE]),
            back => Ok([there, back?]),
        }
    }

    /// The network without its leaves.
    pub(crate) fn inner(&mut self, network: &Network) -> &Inner {
        self.inner.fill(network);
        &self.inner
    }

    /// The links on a route.
    pub(crate) fn links(&self, route: Route) -> impl Iterator<Item = usize> + '_ {
        self.hops[route.0 as usize..]
            .iter()
            .take_while(|link| **link != ARRIVED)
            .map(|link| *link as usize)
    }

    fn first(
        &mut self,
        network: &Network,
        from: NodeId,
        to: NodeId,
    ) -> Result<Route, NetworkError> {
        if let Some(route) = self.of_pair.get(&(from, to)) {
            return Ok(*route);
        }
        let links = self.walk(network, from, to, |routes, at, aim| {
            let Routes { tables, inner, .. } = routes;
            if inner.is_leaf(at) || inner.is_leaf(aim) {
                return inner.beside(network, at, aim).first().map(|link| link.0);
            }
            let table = tables.entry(at).or_insert_with(|| inner.table(at));
            Some(table[inner.number(aim)]).filter(|link| *link != ARRIVED)
        });
        let links = links.ok_or(NetworkError::Unroutable(from, to))?;
        let route = self.append(&links);
        self.of_pair.insert((from, to), route);
        Ok(route)
    }

    fn append(&mut self, links: &[u32]) -> Route {
        let route = Route(self.hops.len() as u32);
        self.hops.extend(links.iter().copied().chain([ARRIVED]));
        route
    }

    /// Each node on the route draws separately from the flow's hash, so that choices at different
    /// nodes are independent.
    fn spread(
        &mut self,
        network: &Network,
        from: NodeId,
        to: NodeId,
        hash: u64,
    ) -> Result<Route, NetworkError> {
        let choose = |at: NodeId, links: &[LinkId]| {
            let chosen = mix(hash ^ u64::from(at.0)).checked_rem(links.len() as u64)?;
            Some(links[chosen as usize].0)
        };
        let links = self.walk(network, from, to, |routes, at, aim| {
            let Routes {
                distances, inner, ..
            } = routes;
            if inner.is_leaf(at) || inner.is_leaf(aim) {
                return choose(at, &inner.beside(network, at, aim));
            }
            let [at_number, aim_number] = [at, aim].map(|node| inner.number(node));
            let search = distances
                .entry(aim)
                .or_insert_with(|| Search::from(aim_number, inner.nodes.len()));
            let here = search.reach(inner, at_number);
            if here == UNREACHED {
                return None;
            }
            let mut links = Vec::new();
            for edge in inner.leaving.of(at_number) {
                let there = search.distances[edge.node as usize];
                if there.saturating_add(edge.length) == here {
                    links.push(edge.link);
                }
            }
            choose(at, &links)
        });
        let links = links.ok_or(NetworkError::Unroutable(from, to))?;
        if let Some(route) = self.of_links.get(&links) {
            return Ok(*route);
        }
        let route = self.append(&links);
        self.of_links.insert(links, route);
        Ok(route)
    }

    /// The links from node to node: from a leaf up to its parents, on to the first node above the
    /// destination that is no leaf, and down to the destination. `next` gives the next link from a
    /// node towards another. If one of the two is a leaf, they are neighbours. None: no route.
    fn walk(
        &mut self,
        network: &Network,
        from: NodeId,
        to: NodeId,
        mut next: impl FnMut(&mut Self, NodeId, NodeId) -> Option<u32>,
    ) -> Option<Vec<u32>> {
        self.inner.fill(network);
        let mut links = Vec::new();
        let mut at = from;
        let above = self.inner.first_inner(to);
        while at != to {
            let aim = match (self.inner.step_down(at, to), self.inner.parent(at)) {
                (Some(child), _) => child,
                (None, Some(parent)) => parent,
                (None, None) => above,
            };
            let link = next(self, at, aim)?;
            links.push(link);
            at = network.links()[link as usize].to;
        }
        Some(links)
    }
}

impl Network {
    /// The links on the route between two nodes. If flows are spread over several routes, this is
    /// the one that flow number 0 takes.
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
}

/// The nodes that are no leaves, numbered from 0, and the links between them. It leaves out what
/// routes do not need, because a search reads every link, often thousands of times.
#[derive(Debug, Default)]
pub(crate) struct Inner {
    nodes: Vec<NodeId>,
    /// By node.
    roles: Vec<Role>,
    /// By number: the links that lead from the node to others that are no leaves.
    leaving: Lists<Edge>,
    /// The same against the links' direction. Filled only with spread.
    coming: Lists<Edge>,
    /// By leaf: the links from its parent.
    descending: Lists<LinkId>,
    /// By leaf: the links to its parent.
    ascending: Lists<LinkId>,
    /// The length of the shortest link between nodes that are no leaves.
    least: u64,
}

/// A link as a search sees it.
#[derive(Debug, Clone, Copy)]
struct Edge {
    length: u64,
    link: LinkId,
    /// The number of the node at its other end.
    node: u32,
}

/// Numbered lists, stored one behind the other.
#[derive(Debug)]
struct Lists<T> {
    items: Vec<T>,
    /// Where each list begins, and where the last one ends.
    starts: Vec<u32>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        let items = Vec::new();
        let starts = vec![0];
        Self { items, starts }
    }
}

impl<T: Copy> Lists<T> {
    /// Sorts links into lists: `sort` gives what to put into which list, if anything. A list keeps the
    /// links' order. All links are gone through twice, because a network may have millions of them:
    /// first for the lengths of the lists.
    fn sorted(
        lists: usize,
        links: &[LinkConfig],
        sort: impl Fn(LinkId, &LinkConfig) -> Option<(usize, T)>,
    ) -> Self {
        let mut starts = vec![0; lists + 1];
        let mut any = None;
        for (number, link) in (0..).zip(links) {
            if let Some((list, item)) = sort(LinkId(number), link) {
                starts[list + 1] += 1;
                any = Some(item);
            }
        }
        for list in 0..lists {
            starts[list + 1] += starts[list];
        }
        let mut items = any.map_or_else(Vec::new, |item| vec![item; starts[lists] as usize]);
        let mut next = starts.clone();
        for (number, link) in (0..).zip(links) {
            if let Some((list, item)) = sort(LinkId(number), link) {
                items[next[list] as usize] = item;
                next[list] += 1;
            }
        }
        Self { items, starts }
    }

    fn of(&self, list: usize) -> &[T] {
        &self.items[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}

#[derive(Debug, Clone, Copy)]
enum Role {
    /// A node whose routes go through more than one neighbour, and its number.
    Inner(u32),
    /// A leaf, and its parent.
    Leaf(NodeId),
}

/// Where a link is, among leaves and other nodes.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Between two nodes that are no leaves: their numbers.
    Between([u32; 2]),
    /// From a parent to its leaf.
    Down(NodeId),
    /// From a leaf to its parent.
    Up(NodeId),
}

impl Inner {
    pub(crate) fn of(network: &Network) -> Self {
        let mut inner = Self::default();
        inner.fill(network);
        inner
    }

    /// The most bytes that the tables for routes between these nodes take. A table has the next
    /// link to each inner node, at any inner node on the way. With spread, there is a table for
    /// each destination, which tells how far all inner nodes are from it.
    pub(crate) fn route_bytes<'a>(
        &self,
        network: &Network,
        ends: impl Iterator<Item = &'a NodeId>,
    ) -> u64 {
        let nodes = self.nodes.len();
        let bytes = if network.routing().spread.is_some() {
            let ends: BTreeSet<_> = ends.map(|node| self.first_inner(*node)).collect();
            ends.len() * nodes * size_of::<u64>()
        } else {
            nodes * nodes * size_of::<u32>()
        };
        bytes as u64
    }

    /// Takes leaves off twice: hosts, and then routers that have only hosts behind them.
    fn fill(&mut self, network: &Network) {
        if !self.roles.is_empty() {
            return;
        }
        let mut parents = vec![None; network.nodes()];
        for _ in 0..2 {
            take_leaves(network, &mut parents);
        }
        for (node, parent) in (0..).map(NodeId).zip(parents) {
            self.roles.push(match parent {
                Some(parent) => Role::Leaf(parent),
                None => {
                    self.nodes.push(node);
                    Role::Inner(self.nodes.len() as u32 - 1)
                }
            });
        }
        self.fill_links(network);
    }

    fn fill_links(&mut self, network: &Network) {
        let Routing { metric, spread } = network.routing();
        let links = network.links();
        let nodes = self.nodes.len();
        let edge = |id, link: &LinkConfig, node| Edge {
            length: metric.of(link),
            link: id,
            node,
        };
        self.leaving = Lists::sorted(nodes, links, |id, link| match self.place(link) {
            Place::Between([from, to]) => Some((from as usize, edge(id, link, to))),
            Place::Down(_) | Place::Up(_) => None,
        });
        if spread.is_some() {
            self.coming = Lists::sorted(nodes, links, |id, link| match self.place(link) {
                Place::Between([from, to]) => Some((to as usize, edge(id, link, from))),
                Place::Down(_) | Place::Up(_) => None,
            });
        }
        self.descending =
            Lists::sorted(network.nodes(), links, |id, link| match self.place(link) {
                Place::Down(leaf) => Some((leaf.index(), id)),
                Place::Between(_) | Place::Up(_) => None,
            });
        self.ascending = Lists::sorted(network.nodes(), links, |id, link| match self.place(link) {
            Place::Up(leaf) => Some((leaf.index(), id)),
            Place::Between(_) | Place::Down(_) => None,
        });
        self.least = UNREACHED;
        for edge in &self.leaving.items {
            self.least = self.least.min(edge.length);
        }
    }

    fn place(&self, link: &LinkConfig) -> Place {
        match (self.roles[link.from.index()], self.roles[link.to.index()]) {
            (Role::Inner(from), Role::Inner(to)) => Place::Between([from, to]),
            (_, Role::Leaf(parent)) if parent == link.from => Place::Down(link.to),
            _ => Place::Up(link.from),
        }
    }

    /// The node that all routes out of a leaf go through.
    fn parent(&self, node: NodeId) -> Option<NodeId> {
        match self.roles[node.index()] {
            Role::Leaf(parent) => Some(parent),
            Role::Inner(_) => None,
        }
    }

    fn is_leaf(&self, node: NodeId) -> bool {
        self.parent(node).is_some()
    }

    /// The next node from `at` down to a node below it. None: the node is not below.
    fn step_down(&self, at: NodeId, to: NodeId) -> Option<NodeId> {
        let mut child = to;
        loop {
            let parent = self.parent(child)?;
            if parent == at {
                return Some(child);
            }
            child = parent;
        }
    }

    /// The node itself, or the first one above a leaf that is none.
    fn first_inner(&self, node: NodeId) -> NodeId {
        let mut last = node;
        while let Some(parent) = self.parent(last) {
            last = parent;
        }
        last
    }

    /// The number that a node has if it is no leaf.
    fn number(&self, node: NodeId) -> usize {
        match self.roles[node.index()] {
            Role::Inner(number) => number as usize,
            Role::Leaf(_) => unreachable!("a leaf has no table"),
        }
    }

    /// The shortest links between a leaf and its parent, either way, in the order of their numbers.
    fn beside(&self, network: &Network, from: NodeId, to: NodeId) -> Vec<LinkId> {
        let links = if self.parent(from) == Some(to) {
            self.ascending.of(from.index())
        } else {
            self.descending.of(to.index())
        };
        let mut shortest = Vec::new();
        let mut least = UNREACHED;
        for link in links {
            let config = &network.links()[link.index()];
            let length = network.routing().metric.of(config);
            if length > least {
                continue;
            }
            if length < least {
                shortest.clear();
            }
            least = length;
            shortest.push(*link);
        }
        shortest
    }

    /// The first link from a node to each other node, or [`ARRIVED`] if that node cannot be
    /// reached.
    fn table(&self, from: NodeId) -> Vec<u32> {
        let root = self.number(from);
        let mut first = vec![ARRIVED; self.nodes.len()];
        let mut search = Search::from(root, self.nodes.len());
        while let Some(node) = search.next() {
            for edge in self.leaving.of(node) {
                if search.improve(node, edge) {
                    first[edge.node as usize] = if node == root {
                        edge.link.0
                    } else {
                        first[node]
                    };
                }
            }
        }
        first
    }
}

/// Gives each node a parent that has a single neighbour among the nodes without one. If two nodes
/// have no neighbours but each other, neither gets the other.
fn take_leaves(network: &Network, parents: &mut [Option<NodeId>]) {
    let mut neighbours = vec![[None; 2]; network.nodes()];
    for link in network.links() {
        if parents[link.from.index()].is_some() || parents[link.to.index()].is_some() {
            continue;
        }
        for (node, other) in [(link.from, link.to), (link.to, link.from)] {
            let [first, second] = &mut neighbours[node.index()];
            match *first {
                None => *first = Some(other),
                Some(first) if first != other => *second = Some(other),
                Some(_) => (),
            }
        }
    }
    let only = |node: NodeId| match neighbours[node.index()] {
        [Some(neighbour), None] => Some(neighbour),
        _ => None,
    };
    for (node, parent) in (0..).map(NodeId).zip(parents) {
        if let Some(neighbour) = only(node)
            && only(neighbour).is_none()
        {
            *parent = Some(neighbour);
        }
    }
}

/// A search from a root through all nodes: Dijkstra's algorithm ("A note on two problems in
/// connexion with graphs", Numerische Mathematik 1, 1959). Among equally near nodes the one with
/// the lowest number comes first. The search goes only as far as asked, and on from there when
/// asked again.
#[derive(Debug)]
struct Search {
    /// By number: the length of the shortest path found so far.
    distances: Vec<u64>,
    /// Nodes to go on from. Some may be outdated, because a shorter path was found later.
    open: BinaryHeap<Reverse<(u64, u32)>>,
    /// Nodes that have no path so far.
    unmet: usize,
    /// The longest path found by now.
    farthest: u64,
}

impl Search {
    fn from(root: usize, nodes: usize) -> Self {
        let mut distances = vec![UNREACHED; nodes];
        distances[root] = 0;
        let open = BinaryHeap::from([Reverse((0, root as u32))]);
        let unmet = nodes - 1;
        let farthest = 0;
        Self {
            distances,
            open,
            unmet,
            farthest,
        }
    }

    /// The nearest node to go on from.
    fn next(&mut self) -> Option<usize> {
        while let Some(Reverse((distance, node))) = self.open.pop() {
            if distance == self.distances[node as usize] {
                return Some(node as usize);
            }
        }
        None
    }

    /// Follows a link from a node. Returns whether this path is now the shortest to the link's
    /// other end.
    fn improve(&mut self, node: usize, edge: &Edge) -> bool {
        let through = self.distances[node].saturating_add(edge.length);
        let distance = &mut self.distances[edge.node as usize];
        let is_shorter = through < *distance;
        if is_shorter {
            self.unmet -= usize::from(*distance == UNREACHED);
            self.farthest = self.farthest.max(through);
            *distance = through;
            self.open.push(Reverse((through, edge.node)));
        }
        is_shorter
    }

    /// How far a node is from the root, where the paths end. Afterwards the distances of all nearer
    /// nodes are known too, because a path to one of them is at least one link shorter than any
    /// path yet to be found.
    fn reach(&mut self, inner: &Inner, node: usize) -> u64 {
        while self.next_path(inner) < self.distances[node] {
            let Some(next) = self.next() else { break };
            for edge in inner.coming.of(next) {
                self.improve(next, edge);
            }
        }
        if self.unmet == 0 && self.next_path(inner) >= self.farthest {
            // All distances are known.
            self.open = BinaryHeap::new();
        }
        self.distances[node]
    }

    /// The least length that a path yet to be found may have.
    fn next_path(&self, inner: &Inner) -> u64 {
        let nearest = self.open.peek();
        nearest.map_or(UNREACHED, |Reverse((distance, _))| {
            distance.saturating_add(inner.least)
        })
    }
}

/// Which nodes a node can reach, and which nodes can reach it.
pub(crate) struct Reach {
    pub(crate) node: NodeId,
    pub(crate) there: Vec<bool>,
    pub(crate) back: Vec<bool>,
}

impl Reach {
    pub(crate) fn of(network: &Network, node: NodeId) -> Self {
        let mut coming = vec![Vec::new(); network.nodes()];
        for link in network.links() {
            coming[link.to.index()].push(link.from);
        }
        let there = |node: NodeId| {
            let links = network.leaving(node).iter();
            links.map(|link| network.links()[link.index()].to).collect()
        };
        Self {
            node,
            there: reached(network, node, there),
            back: reached(network, node, |node| coming[node.index()].clone()),
        }
    }
}

fn reached(network: &Network, root: NodeId, next: impl Fn(NodeId) -> Vec<NodeId>) -> Vec<bool> {
    let mut reached = vec![false; network.nodes()];
    let mut nodes = vec![root];
    reached[root.index()] = true;
    while let Some(node) = nodes.pop() {
        for next in next(node) {
            if !std::mem::replace(&mut reached[next.index()], true) {
                nodes.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_pcg::Pcg64Mcg;
    use roundelay::Duration;

    use super::*;
    use crate::network::Metric;
    use crate::topologies::{FatTree, Isp, LeafSpine, Queues};

    /// Nodes 0 to `nodes - 1`, joined by links in both directions. Each edge has two ends, a delay
    /// in milliseconds, and a cost.
    fn network(nodes: u32, edges: &[(u32, u32, u64, u64)]) -> Network {
        let mut network = Network::default();
        for _ in 0..nodes {
            network.add_node();
        }
        for &(a, b, delay, cost) in edges {
            for (from, to) in [(a, b), (b, a)] {
                let rate = "1mbit".parse().unwrap();
                let delay = Duration::from_millis(delay);
                let mut link = LinkConfig::new(
                    NodeId(from),
                    NodeId(to),
                    rate,
                    delay,
                    "fifo".parse().unwrap(),
                );
                link.cost = cost;
                network.add_link(link).unwrap();
            }
        }
        network
    }

    fn nodes(network: &Network, route: &[LinkId]) -> Vec<u32> {
        route
            .iter()
            .map(|link| network.links()[link.index()].to.0)
            .collect()
    }

    fn way(network: &Network, from: u32, to: u32) -> Vec<u32> {
        nodes(network, &network.route(NodeId(from), NodeId(to)).unwrap())
    }

    /// Four routes from 0 to 3. Of these, 0-1-3, 0-2-3 and 0-6-3 have two hops each, and 0-6-3 has
    /// the lowest cost. 0-4-5-3 has the lowest delay.
    fn square() -> Network {
        let ms = 10;
        let cost = 5;
        let edges = [
            (0, 2, ms, cost),
            (2, 3, ms, cost),
            (0, 1, ms, cost),
            (1, 3, ms, cost),
        ];
        let more = [
            (0, 4, 1, 9),
            (4, 5, 1, 9),
            (5, 3, 1, 9),
            (0, 6, 50, 1),
            (6, 3, 50, 1),
        ];
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
        let by = |metric| Routing {
            metric,
            spread: None,
        };
        square.set_routing(by(Metric::Delay));
        assert_eq!(way(&square, 0, 3), [4, 5, 3]);
        square.set_routing(by(Metric::Cost));
        assert_eq!(way(&square, 0, 3), [6, 3]);
        square.set_routing(by(Metric::Hops));
        assert_eq!(way(&square, 0, 3), [1, 3]);
    }

    #[test]
    fn links_that_cost_nothing_do_not_lead_in_circles() {
        let mut ring = network(
            5,
            &[
                (0, 1, 0, 0),
                (1, 2, 0, 0),
                (2, 3, 0, 0),
                (3, 4, 0, 0),
                (4, 0, 0, 0),
                (1, 3, 0, 0),
            ],
        );
        for metric in Metric::ALL {
            for spread in [None, Some(3)] {
                ring.set_routing(Routing { metric, spread });
                let pairs = (0..5)
                    .flat_map(|from| (0..5).map(move |to| (from, to)))
                    .filter(|(from, to)| from != to);
                assert!(
                    pairs
                        .clone()
                        .all(|(from, to)| way(&ring, from, to).len() <= 2)
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_reached_is_said() {
        let two = network(3, &[(0, 1, 1, 1)]);
        assert_eq!(
            two.route(NodeId(0), NodeId(2)),
            Err(NetworkError::Unroutable(NodeId(0), NodeId(2)))
        );
        assert_eq!(
            two.route(NodeId(0), NodeId(9)),
            Err(NetworkError::NoNode(NodeId(9)))
        );
        assert_eq!(
            two.route(NodeId(1), NodeId(1)),
            Err(NetworkError::SameNode(NodeId(1)))
        );
        let mut spread = two.clone();
        spread.set_routing(Routing {
            metric: Metric::Hops,
            spread: Some(1),
        });
        assert_eq!(
            spread.route(NodeId(0), NodeId(2)),
            Err(NetworkError::Unroutable(NodeId(0), NodeId(2)))
        );
    }

    #[test]
    fn flows_are_spread_over_all_shortest_routes_and_routes_are_kept_once() {
        let mut square = square();
        square.set_routing(Routing {
            metric: Metric::Hops,
            spread: Some(1),
        });
        let mut routes = Routes::default();
        let mut through = [0; 7];
        for flow in 0..3000 {
            let route = routes.of_flow(&square, NodeId(0), NodeId(3), flow).unwrap();
            let links: Vec<_> = routes
                .links(route)
                .map(|link| LinkId(link as u32))
                .collect();
            assert_eq!(links.len(), 2);
            through[nodes(&square, &links)[0] as usize] += 1;
        }
        assert!(
            [1, 2, 6]
                .iter()
                .all(|node| (900..1100).contains(&through[*node])),
            "{through:?}"
        );
        assert_eq!(routes.hops.len(), 1 + 9, "and that to nowhere");
    }

    #[test]
    fn another_key_spreads_otherwise_and_the_same_key_alike() {
        let choices = |key| {
            let mut square = square();
            square.set_routing(Routing {
                metric: Metric::Hops,
                spread: Some(key),
            });
            let mut routes = Routes::default();
            (0..64)
                .map(|flow| {
                    routes
                        .of_flow(&square, NodeId(0), NodeId(3), flow)
                        .map(|route| routes.links(route).collect::<Vec<_>>())
                })
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
        (0..100).for_each(|flow| {
            assert_eq!(
                routes.of_flow(&square, NodeId(0), NodeId(3), flow),
                Ok(first)
            )
        });
        assert_eq!(routes.hops.len(), 1 + 3, "and that to nowhere");
    }

    /// How far all nodes are from the root, by a search to the end. Calls `improve` for each link
    /// on a shorter path to a node.
    fn grow<I: Iterator<Item = (LinkId, usize)>>(
        network: &Network,
        nodes: usize,
        root: usize,
        links: impl Fn(usize) -> I,
        mut improve: impl FnMut(usize, LinkId, usize),
    ) -> Vec<u64> {
        let metric = network.routing().metric;
        let mut distances = vec![UNREACHED; nodes];
        distances[root] = 0;
        let mut heap = BinaryHeap::from([Reverse((0, root))]);
        while let Some(Reverse((distance, node))) = heap.pop() {
            if distance > distances[node] {
                continue;
            }
            for (link, next) in links(node) {
                let through = distance.saturating_add(metric.of(&network.links()[link.index()]));
                if through < distances[next] {
                    distances[next] = through;
                    improve(node, link, next);
                    heap.push(Reverse((through, next)));
                }
            }
        }
        distances
    }

    /// Routes found without leaves: with a table, or distances, for each node.
    fn plain(network: &Network, from: NodeId, to: NodeId, flow: u64) -> Option<Vec<u32>> {
        let Routing { metric, spread } = network.routing();
        let end = |link: &LinkId| network.links()[link.index()].to.index();
        let towards = |node: usize| {
            network
                .leaving(NodeId(node as u32))
                .iter()
                .map(move |link| (*link, end(link)))
        };
        let table = |at: NodeId| {
            let mut first = vec![ARRIVED; network.nodes()];
            grow(
                network,
                first.len(),
                at.index(),
                towards,
                |node, link, next| {
                    first[next] = if node == at.index() {
                        link.0
                    } else {
                        first[node]
                    };
                },
            );
            first
        };
        let coming = |node: usize| {
            (0..)
                .map(LinkId)
                .zip(network.links())
                .filter(move |(_, link)| link.to.index() == node)
        };
        let distances = grow(
            network,
            network.nodes(),
            to.index(),
            |node| coming(node).map(|(number, link)| (number, link.from.index())),
            |_, _, _| (),
        );
        let next = |at: NodeId| {
            let Some(key) = spread else {
                return Some(table(at)[to.index()]).filter(|link| *link != ARRIVED);
            };
            let hash = mix(key ^ mix(flow ^ mix(u64::from(from.0) << 32 | u64::from(to.0))));
            let is_shortest = |link: &&LinkId| {
                distances[end(link)].saturating_add(metric.of(&network.links()[link.index()]))
                    == distances[at.index()]
            };
            let links: Vec<_> = network.leaving(at).iter().filter(is_shortest).collect();
            let chosen = mix(hash ^ u64::from(at.0)).checked_rem(links.len() as u64)?;
            Some(links[chosen as usize].0).filter(|_| distances[at.index()] != UNREACHED)
        };
        let mut links = Vec::new();
        let mut at = from;
        while at != to {
            let link = next(at)?;
            links.push(link);
            at = network.links()[link as usize].to;
        }
        Some(links)
    }

    /// Random networks with leaves, parallel links, links in one direction and parts that are not
    /// joined.
    #[test]
    fn leaves_change_no_route() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut found = 0;
        let mut none = 0;
        let mut leaves = 0;
        let mut twice = 0;
        for number in 0..300 {
            let nodes = random.random_range(2..12);
            let mut network = Network::default();
            for _ in 0..nodes {
                network.add_node();
            }
            for _ in 0..random.random_range(1..2 * nodes) {
                let ends = [(); 2].map(|()| NodeId(random.random_range(0..nodes)));
                let directions = random.random_range(1..3);
                for [from, to] in [ends, [ends[1], ends[0]]].into_iter().take(directions) {
                    let delay = Duration::from_millis(random.random_range(0..4));
                    let mut link = LinkConfig::new(
                        from,
                        to,
                        "1mbit".parse().unwrap(),
                        delay,
                        "fifo".parse().unwrap(),
                    );
                    link.cost = random.random_range(0..4);
                    network.add_link(link).unwrap();
                }
            }
            let metric = Metric::ALL[number % 3];
            network.set_routing(Routing {
                metric,
                spread: (number % 2 == 1).then_some(number as u64),
            });
            let mut routes = Routes::default();
            let reach: Vec<_> = (0..nodes)
                .map(|node| Reach::of(&network, NodeId(node)))
                .collect();
            for (from, to) in (0..nodes)
                .flat_map(|from| (0..nodes).map(move |to| (NodeId(from), NodeId(to))))
                .filter(|(from, to)| from != to)
            {
                for flow in 0..4 {
                    let route = routes.of_flow(&network, from, to, flow).ok();
                    let links = route.map(|route| {
                        routes
                            .links(route)
                            .map(|link| link as u32)
                            .collect::<Vec<_>>()
                    });
                    let expected = plain(&network, from, to, flow);
                    assert_eq!(
                        links, expected,
                        "network {number}, {} to {}, flow {flow}",
                        from.0, to.0
                    );
                    assert_eq!(reach[from.index()].there[to.index()], expected.is_some());
                    assert_eq!(reach[to.index()].back[from.index()], expected.is_some());
                    *if expected.is_some() {
                        &mut found
                    } else {
                        &mut none
                    } += 1;
                }
            }
            leaves += nodes as usize - routes.inner.nodes.len();
            for node in (0..nodes).map(NodeId) {
                let parent = routes.inner.parent(node);
                twice += usize::from(parent.is_some_and(|parent| routes.inner.is_leaf(parent)));
            }
        }
        assert!(
            found > 10_000 && none > 10_000 && leaves > 300 && twice > 100,
            "{found} {none} {leaves} {twice}"
        );
    }

    /// In a network with leaves and spines, all spines are equally far from a leaf, and the first
    /// of them leads to all other leaves.
    #[test]
    fn a_search_goes_no_farther_than_asked() {
        let topology = LeafSpine {
            leaves: 50,
            spines: 40,
            hosts_per_leaf: 1,
            ..LeafSpine::default()
        };
        let mut network = topology.build(&Queues::default()).unwrap().network;
        network.set_routing(Routing {
            metric: Metric::Hops,
            spread: Some(1),
        });
        let inner = Inner::of(&network);
        let [near, far] = ["leaf0", "leaf7"].map(|name| inner.number(network.named(name).unwrap()));
        let mut search = Search::from(near, inner.nodes.len());
        assert_eq!((search.reach(&inner, near), search.unmet), (0, 89));
        let mut steps = 0;
        let mut counted = Search::from(near, inner.nodes.len());
        while counted.distances[far] == UNREACHED {
            let next = counted.next().unwrap();
            inner
                .coming
                .of(next)
                .iter()
                .for_each(|edge| _ = counted.improve(next, edge));
            steps += 1;
        }
        assert_eq!(search.reach(&inner, far), 2);
        assert_eq!((steps, &search.distances), (2, &counted.distances));
    }

    /// Many hosts behind one router are common, and flows open one by one.
    #[test]
    fn the_links_of_a_host_are_found_without_those_of_its_neighbours() {
        let mut network = network(5, &[(0, 1, 1, 1), (0, 2, 1, 1), (0, 3, 1, 1), (0, 4, 1, 1)]);
        for delay in [1, 1, 3] {
            let rate = "1mbit".parse().unwrap();
            let delay = Duration::from_millis(delay);
            let queue = "fifo".parse().unwrap();
            let link = LinkConfig::new(NodeId(0), NodeId(2), rate, delay, queue);
            network.add_link(link).unwrap();
        }
        network.set_routing(Routing {
            metric: Metric::Delay,
            spread: None,
        });
        let inner = Inner::of(&network);
        assert_eq!(inner.descending.of(2), [2, 8, 9, 10].map(LinkId));
        assert_eq!(
            inner.beside(&network, NodeId(0), NodeId(2)),
            [2, 8, 9].map(LinkId)
        );
        assert_eq!(inner.beside(&network, NodeId(2), NodeId(0)), [LinkId(3)]);
    }

    /// Regression test: routers with only hosts behind them had tables, a gigabyte for ten thousand
    /// hosts of an ISP network.
    #[test]
    fn only_core_routers_of_a_provider_have_tables() {
        let isp = Isp {
            routers: 20,
            links: 60,
            hosts: 45,
            ..Isp::default()
        };
        let network = isp.build(&Queues::default()).unwrap().network;
        let inner = Inner::of(&network);
        assert_eq!((network.nodes(), inner.nodes.len()), (110, 20));
        let [host, edge, core] =
            ["host21", "edge21", "core1"].map(|name| network.named(name).unwrap());
        let up = [inner.parent(host), inner.parent(edge), inner.parent(core)];
        assert_eq!(up, [Some(edge), Some(core), None]);
        let route = network
            .route(host, network.named("host1").unwrap())
            .unwrap();
        let mut names = Vec::new();
        for link in route {
            names.push(network.name(network.links()[link.index()].to));
        }
        assert_eq!(names, ["edge21", "core1", "edge1", "host1"]);
    }

    #[test]
    fn tables_of_routes_are_as_large_as_their_estimate() {
        for (k, spread, bytes) in [
            (16, None, 409_600),
            (16, Some(1), 327_680),
            (48, None, 33_177_600),
            (48, Some(1), 26_542_080),
        ] {
            let topology = FatTree {
                k,
                ..FatTree::default()
            }
            .build(&Queues::default())
            .unwrap();
            let mut network = topology.network;
            network.set_routing(Routing {
                metric: Metric::Hops,
                spread,
            });
            assert_eq!(
                Inner::of(&network).route_bytes(&network, topology.hosts.iter()),
                bytes,
                "k = {k}"
            );
            if k > 16 {
                continue;
            }
            let mut routes = Routes::default();
            for (number, from) in (0..).zip(&topology.hosts) {
                for to in topology.hosts.iter().filter(|to| *to != from) {
                    routes.of_flow(&network, *from, *to, number).unwrap();
                }
            }
            let tables = routes.tables.values().map(|table| table.len() * 4);
            let bytes_of = |search: &Search| search.distances.len() * 8 + search.open.capacity();
            let made: usize = tables.chain(routes.distances.values().map(bytes_of)).sum();
            assert!(
                made as u64 == bytes || spread.is_none() && made as u64 <= bytes,
                "{made} of {bytes}: all hosts talk"
            );
        }
    }

    /// A fat-tree with k = 16 has 1,024 hosts and 320 switches. Hosts hang at 128 of these.
    #[test]
    fn hosts_have_no_tables() {
        let mut network = FatTree {
            k: 16,
            ..FatTree::default()
        }
        .build(&Queues::default())
        .unwrap()
        .network;
        for spread in [None, Some(1)] {
            network.set_routing(Routing {
                metric: Metric::Hops,
                spread,
            });
            let mut routes = Routes::default();
            for host in 1..1024 {
                let [from, to] =
                    [0, host].map(|host| network.named(&format!("host{host}")).unwrap());
                routes.there_and_back(&network, from, to, host).unwrap();
            }
            let sizes: Vec<_> = routes
                .tables
                .values()
                .map(Vec::len)
                .chain(
                    routes
                        .distances
                        .values()
                        .map(|search| search.distances.len()),
                )
                .collect();
            assert!(
                sizes.len() <= 320 && sizes.iter().all(|size| *size == 320),
                "{} tables",
                sizes.len()
            );
        }
    }
}
