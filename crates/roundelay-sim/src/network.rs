//! Nodes, links and routes.

use std::collections::{HashMap, VecDeque};

use roundelay::schedulers::Spec;
use roundelay::{Billionths, Duration, Rate};

/// A host or a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A link, one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId(pub u32);

/// One way of a link: its queue and its wire.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// Where it begins.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// Its rate.
    pub rate: Rate,
    /// Its propagation delay.
    pub delay: Duration,
    /// What orders its queue, with its limit.
    pub queue: Spec,
    /// The part of its packets that do not survive the wire, each for itself.
    pub loss: Billionths,
    /// Up to so much more delay, drawn evenly for each packet. Packets keep their order.
    pub jitter: Duration,
    /// Bytes that it adds to each packet.
    pub overhead: u32,
}

impl LinkConfig {
    /// A link that loses nothing, delays all alike and adds nothing.
    pub const fn new(from: NodeId, to: NodeId, rate: Rate, delay: Duration, queue: Spec) -> Self {
        Self { from, to, rate, delay, queue, loss: Billionths(0), jitter: Duration::ZERO, overhead: 0 }
    }
}

/// What is wrong with a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// There is no way from one node to the other.
    #[error("there is no way from node {} to node {}", .0.0, .1.0)]
    Unroutable(NodeId, NodeId),
    /// There is no such node.
    #[error("there is no node {}", .0.0)]
    NoNode(NodeId),
}

/// Nodes and links.
#[derive(Debug, Clone, Default)]
pub struct Network {
    links: Vec<LinkConfig>,
    /// Links that leave each node.
    leaving: Vec<Vec<LinkId>>,
}

impl Network {
    /// A new node.
    pub fn add_node(&mut self) -> NodeId {
        self.leaving.push(Vec::new());
        NodeId((self.leaving.len() - 1) as u32)
    }

    /// A new link, one way. Both its ends must be there.
    ///
    /// # Errors
    /// One of them is not.
    pub fn add_link(&mut self, link: LinkConfig) -> Result<LinkId, NetworkError> {
        let missing = [link.from, link.to].into_iter().find(|node| node.0 as usize >= self.leaving.len());
        if let Some(node) = missing {
            return Err(NetworkError::NoNode(node));
        }
        let id = LinkId(self.links.len() as u32);
        self.leaving[link.from.0 as usize].push(id);
        self.links.push(link);
        Ok(id)
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.leaving.len()
    }

    /// All links in the order of their numbers.
    pub fn links(&self) -> &[LinkConfig] {
        &self.links
    }

    /// The links of a shortest path by hops, the first found of those.
    ///
    /// # Errors
    /// There is none.
    pub fn route(&self, from: NodeId, to: NodeId) -> Result<Vec<LinkId>, NetworkError> {
        if let Some(node) = [from, to].into_iter().find(|node| node.0 as usize >= self.leaving.len()) {
            return Err(NetworkError::NoNode(node));
        }
        let mut reached_by: Vec<Option<LinkId>> = vec![None; self.leaving.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                break;
            }
            for &link in &self.leaving[node.0 as usize] {
                let next = self.links[link.0 as usize].to;
                if next != from && reached_by[next.0 as usize].is_none() {
                    reached_by[next.0 as usize] = Some(link);
                    queue.push_back(next);
                }
            }
        }
        let mut route = Vec::new();
        let mut at = to;
        while at != from {
            let link = reached_by[at.0 as usize].ok_or(NetworkError::Unroutable(from, to))?;
            route.push(link);
            at = self.links[link.0 as usize].from;
        }
        route.reverse();
        Ok(route)
    }
}

impl Network {
    /// How long a packet of `len` bytes takes over some links if it waits nowhere: the tmin of the paper on universal packet scheduling.
    pub fn fastest(&self, links: impl IntoIterator<Item = LinkId>, len: u32) -> Duration {
        let time = |link: LinkId| {
            let LinkConfig { rate, delay, overhead, .. } = self.links[link.0 as usize];
            rate.time_of(u64::from(len + overhead)) + delay
        };
        links.into_iter().map(time).fold(Duration::ZERO, |sum, time| sum + time)
    }
}

/// A route: where it begins in the table of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route(pub(crate) u32);

/// Ends a route.
pub(crate) const ARRIVED: u32 = u32::MAX;

/// The routes in use, each once.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// Links one after the other, each route ended by [`ARRIVED`].
    pub(crate) hops: Vec<u32>,
    known: HashMap<(NodeId, NodeId), Route>,
}

impl Routes {
    /// The route from one node to the other.
    pub(crate) fn between(&mut self, network: &Network, from: NodeId, to: NodeId) -> Result<Route, NetworkError> {
        if let Some(route) = self.known.get(&(from, to)) {
            return Ok(*route);
        }
        let route = Route(self.hops.len() as u32);
        self.hops.extend(network.route(from, to)?.iter().map(|link| link.0).chain([ARRIVED]));
        self.known.insert((from, to), route);
        Ok(route)
    }

    /// Its links.
    pub(crate) fn links(&self, route: Route) -> impl Iterator<Item = usize> + '_ {
        self.hops[route.0 as usize..].iter().take_while(|link| **link != ARRIVED).map(|link| *link as usize)
    }
}
