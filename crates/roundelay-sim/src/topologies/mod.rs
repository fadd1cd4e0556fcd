//! Networks that experiments share, one a file, and networks read from files.
//!
//! Each is a struct of parameters with a [`Topology`] to be built from it. Links come in three classes ([`LinkClass`]), and [`Queues`] says what
//! orders the queues of each class.

mod dumbbell;
mod fat_tree;
pub mod files;
mod internet2;
mod isp;
mod leaf_spine;
mod parking_lot;
mod qfq_figure8;

use roundelay::schedulers::Spec;
use roundelay::{Duration, Rate};

use crate::network::{LinkClass, LinkConfig, LinkId, Network, NetworkError, NodeId};
use crate::random::{Drawer, stream};
use crate::sources::draw;

pub use dumbbell::Dumbbell;
pub use fat_tree::FatTree;
pub use internet2::{Internet2, Variant};
pub use isp::Isp;
pub use leaf_spine::LeafSpine;
pub use parking_lot::ParkingLot;
pub use qfq_figure8::QfqFigure8;

/// A network and who lives in it.
#[derive(Debug, Clone, Default)]
pub struct Topology {
    /// Nodes and links, by number and by name.
    pub network: Network,
    /// The nodes that send and receive, in the order in which the topology counts them.
    pub hosts: Vec<NodeId>,
    /// What is odd about the file that it was read from, if it was.
    pub oddities: files::Oddities,
    /// Links whose delay each run draws.
    pub drawn: Vec<DrawnDelay>,
}

/// A link whose delay each run draws from its seed, the same both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawnDelay {
    /// Its two ways.
    pub links: [LinkId; 2],
    /// Up to so much more than the network has.
    pub most: Duration,
}

impl Topology {
    /// The network with delays as a run with this seed has them: each link of [`drawn`](Self::drawn) by a stream of its own.
    pub fn drawn(&self, seed: u64) -> Network {
        let mut network = self.network.clone();
        for (number, DrawnDelay { links, most }) in (0..).zip(&self.drawn) {
            let more = draw::up_to(&mut stream(seed, Drawer::Length(number)), *most);
            for link in links {
                let delay = self.network.links()[link.index()].delay + more;
                network.link_mut(*link).into_iter().for_each(|mut link| link.set_delay(delay));
            }
        }
        network
    }
}

/// Packets that no queue ever holds: a buffer of so many is as good as one without a limit.
pub(crate) const NO_LIMIT: u64 = 100_000_000;

/// What orders the queues of each class of links.
#[derive(Debug, Clone)]
pub struct Queues {
    /// Between core routers.
    pub core: Spec,
    /// Other outputs of routers.
    pub edge: Spec,
    /// Hosts' network interfaces.
    pub host: Spec,
}

impl Queues {
    /// What orders the queues of a class.
    pub const fn of(&self, class: LinkClass) -> &Spec {
        match class {
            LinkClass::Core => &self.core,
            LinkClass::Edge => &self.edge,
            LinkClass::Host => &self.host,
        }
    }

    /// What orders the queues of a class, to be changed.
    pub const fn of_mut(&mut self, class: LinkClass) -> &mut Spec {
        match class {
            LinkClass::Core => &mut self.core,
            LinkClass::Edge => &mut self.edge,
            LinkClass::Host => &mut self.host,
        }
    }

    /// Routers with one discipline; hosts' interfaces first in, first out and without a limit, so that all that is lost is lost in the network.
    ///
    /// # Panics
    /// Never: the interfaces' discipline is legal.
    pub fn routers(router: Spec) -> Self {
        let host = format!("fifo limit {NO_LIMIT}").parse().expect("first in, first out takes a limit");
        Self { core: router.clone(), edge: router, host }
    }
}

impl Default for Queues {
    /// First in, first out everywhere, 1,000 packets in routers.
    fn default() -> Self {
        Self::routers("fifo limit 1000".parse().expect("first in, first out takes a limit"))
    }
}

/// A parameter of a topology is out of its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {message}")]
pub struct TopologyError {
    /// The parameter.
    pub parameter: &'static str,
    /// What is wrong with it, and its legal range.
    pub message: String,
}

impl TopologyError {
    pub(crate) fn new(parameter: &'static str, message: impl Into<String>) -> Self {
        Self { parameter, message: message.into() }
    }
}

/// More nodes than this are refused.
pub const MOST_NODES: u64 = 1 << 20;

/// # Errors
/// `value` is not between `least` and `most`.
pub(crate) fn within(parameter: &'static str, value: u64, least: u64, most: u64) -> Result<u64, TopologyError> {
    let legal = (least..=most).contains(&value);
    if legal { Ok(value) } else { Err(TopologyError::new(parameter, format!("{value} is not in the legal range {least} to {most}"))) }
}

/// # Errors
/// So many nodes are more than a network may have.
pub(crate) fn not_too_many(parameter: &'static str, nodes: u64) -> Result<(), TopologyError> {
    if nodes <= MOST_NODES {
        return Ok(());
    }
    Err(TopologyError::new(parameter, format!("that makes {nodes} nodes, legal range up to {MOST_NODES}")))
}

/// Rate and delay of a link, the same both ways.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wire {
    pub(crate) rate: Rate,
    pub(crate) delay: Duration,
}

/// A topology as it grows. All names in it are its own, and links join nodes that are there.
pub(crate) struct Builder<'a> {
    pub(crate) topology: Topology,
    queues: &'a Queues,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(queues: &'a Queues) -> Self {
        Self { topology: Topology::default(), queues }
    }

    pub(crate) fn router(&mut self, name: &str) -> NodeId {
        self.topology.network.add_named(name).expect("a topology uses a name once")
    }

    /// A host and its access link.
    pub(crate) fn host(&mut self, name: &str, router: NodeId, access: Wire) -> NodeId {
        let host = self.router(name);
        self.adopt(host, router, access);
        host
    }

    /// Makes a node a host behind a router: the links to it and from it.
    pub(crate) fn adopt(&mut self, host: NodeId, router: NodeId, access: Wire) -> [LinkId; 2] {
        self.topology.hosts.push(host);
        [self.link(host, router, access, LinkClass::Host), self.link(router, host, access, LinkClass::Edge)]
    }

    /// A host whose access link is up to `most` longer, as each run draws it.
    pub(crate) fn host_within(&mut self, name: &str, router: NodeId, access: Wire, most: Duration) {
        let host = self.router(name);
        let links = self.adopt(host, router, access);
        self.topology.drawn.extend((most > Duration::ZERO).then_some(DrawnDelay { links, most }));
    }

    /// A link between routers.
    pub(crate) fn join(&mut self, one: NodeId, other: NodeId, wire: Wire, class: LinkClass) {
        self.link(one, other, wire, class);
        self.link(other, one, wire, class);
    }

    pub(crate) fn link(&mut self, from: NodeId, to: NodeId, wire: Wire, class: LinkClass) -> LinkId {
        let mut link = LinkConfig::new(from, to, wire.rate, wire.delay, self.queues.of(class).clone());
        link.class = class;
        self.topology.network.add_link(link).expect("a topology's links join its nodes")
    }

    /// # Errors
    /// As [`Network::add_named`].
    pub(crate) fn named(&mut self, name: &str) -> Result<NodeId, NetworkError> {
        self.topology.network.add_named(name)
    }
}

/// A rate that is written in the code.
pub(crate) const fn mbit(number: u64) -> Rate {
    match Rate::from_bits_per_second(number.saturating_mul(1_000_000)) {
        Some(rate) => rate,
        None => panic!("no link carries nothing"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Names along a route, both ends left out.
    pub(crate) fn way(topology: &Topology, from: &str, to: &str) -> Vec<String> {
        let network = &topology.network;
        let node = |name: &str| network.named(name).unwrap_or_else(|| panic!("no node {name}"));
        let route = network.route(node(from), node(to)).unwrap();
        route[1..].iter().map(|link| network.name(network.links()[link.index()].from)).collect()
    }

    /// Links of a class, both ways counted.
    pub(crate) fn links_of(topology: &Topology, class: LinkClass) -> usize {
        topology.network.links().iter().filter(|link| link.class == class).count()
    }

    #[test]
    fn queues_go_by_class() {
        let queues = Queues::routers("qfq".parse().unwrap());
        let topology = Dumbbell { pairs: 2, ..Dumbbell::default() }.build(&queues).unwrap();
        for link in topology.network.links() {
            let name = link.queue.discipline.name();
            assert_eq!(name, if link.class == LinkClass::Host { "fifo" } else { "qfq" });
        }
    }
}
