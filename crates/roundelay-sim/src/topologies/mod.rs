//! Topologies: networks for experiments, one a file, and networks that are read from files.
//!
//! A topology's file has its parameters (a struct that builds a [`Topology`]), `NODES`, which is a
//! sentence on the nodes, and `SOURCE`, the publication. A scenario lies beside the file. Links
//! have three classes ([`LinkClass`]), and [`Queues`] sets each class's discipline.

pub mod files;
#[macro_use]
mod registry;

use std::sync::Arc;

use roundelay::{Duration, Fault, Purpose, QueueSpec, Rate, Seed};
use rustc_hash::FxHashMap;

use crate::ids::{LinkId, NodeId};
use crate::network::{LinkClass, LinkConfig, LinkSettings, Network, NetworkError};
use crate::random::generator;
use crate::sources::draw;

pub use access::Line;
pub use internet2::Variant;

// A new topology is a file, a scenario and a line here. The reader of scenarios, `--template`, the
// JSON Schema, the documented table and the tests of all templates follow. `make sources` writes
// the generated files.
topologies! {
    Dumbbell = dumbbell,
    ParkingLot = parking_lot,
    QfqFigure8 = qfq_figure8,
    Internet2 = internet2,
    Isp = isp,
    FatTree = fat_tree,
    LeafSpine = leaf_spine,
    Access = access,
}

/// A network and its hosts.
#[derive(Debug, Clone, Default)]
pub struct Topology {
    /// Nodes and links, by number and by name.
    pub network: Network,
    /// Nodes that send and receive, in the topology's order.
    pub hosts: Vec<NodeId>,
    /// What is odd about the network's file, if anything.
    pub oddities: files::Oddities,
    /// Links whose delay each run draws.
    pub drawn: Vec<DrawnDelay>,
}

/// A link whose delay each run draws from its seed. Both ways get the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawnDelay {
    /// The link's two directions.
    pub links: [LinkId; 2],
    /// The longest extra delay.
    pub most: Duration,
}

impl Topology {
    /// The network with the delays and link traces that a run with this seed has. Each link in
    /// [`drawn`](Self::drawn) uses its own stream, and so does each link with a model.
    pub fn drawn(&self, seed: Seed) -> Network {
        let mut network = self.network.clone();
        for (number, DrawnDelay { links, most }) in (0..).zip(&self.drawn) {
            let mut random = generator(seed.derive(Purpose::Length, number));
            let more = draw::up_to(&mut random, *most);
            for link in links {
                let delay = self.network.links()[link.index()].delay + more;
                network.change_link(*link, |link| link.delay = delay);
            }
        }
        for (number, link) in (0..).zip(self.network.links()) {
            let model = link.trace.as_ref().filter(|trace| trace.model().is_some());
            if let Some(trace) = model {
                let drawn = trace.drawn(seed.derive(Purpose::LinkTrace, number.into()));
                network.change_link(LinkId(number), |link| {
                    link.set_trace(Some(drawn), link.layer);
                });
            }
        }
        network
    }
}

/// A buffer with this many packets is never full, so it is as good as no limit.
pub(crate) const NO_LIMIT: u64 = 100_000_000;

/// Which discipline each class's queues have.
#[derive(Debug, Clone)]
pub struct Queues {
    /// Queues between core routers.
    pub core: QueueSpec,
    /// The queues of all other router outputs.
    pub edge: QueueSpec,
    /// Queues of hosts' network interfaces.
    pub host: QueueSpec,
}

impl Queues {
    /// A class's discipline.
    pub const fn of(&self, class: LinkClass) -> &QueueSpec {
        match class {
            LinkClass::Core => &self.core,
            LinkClass::Edge => &self.edge,
            LinkClass::Host => &self.host,
        }
    }

    /// A class's discipline, so that you can change it.
    pub const fn of_mut(&mut self, class: LinkClass) -> &mut QueueSpec {
        match class {
            LinkClass::Core => &mut self.core,
            LinkClass::Edge => &mut self.edge,
            LinkClass::Host => &mut self.host,
        }
    }

    /// One discipline for all routers. Hosts' interfaces are first in, first out without a limit,
    /// so losses occur only in the network.
    ///
    /// # Panics
    /// Never, because the interfaces' discipline is legal.
    pub fn routers(router: QueueSpec) -> Self {
        let host = format!("fifo limit {NO_LIMIT}")
            .parse()
            .expect("first in, first out takes a limit");
        Self {
            core: router.clone(),
            edge: router,
            host,
        }
    }
}

impl Default for Queues {
    /// First in, first out everywhere. In routers no limit is set, so it is the default of 1,000
    /// packets.
    fn default() -> Self {
        Self::routers("fifo".parse().expect("first in, first out is a discipline"))
    }
}

/// A topology's parameter is out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {fault}")]
pub struct TopologyError {
    /// The parameter.
    pub parameter: &'static str,
    /// The value, and the legal range.
    pub fault: Fault,
}

impl TopologyError {
    pub(crate) fn new(parameter: &'static str, fault: impl Into<Fault>) -> Self {
        Self {
            parameter,
            fault: fault.into(),
        }
    }
}

impl From<TopologyError> for Fault {
    fn from(error: TopologyError) -> Self {
        error.fault.behind(format_args!("{}: ", error.parameter))
    }
}

/// The most nodes that a network may have.
pub const MOST_NODES: u64 = 1 << 20;

/// # Errors
/// `value` is not between `least` and `most`.
pub(crate) fn within(
    parameter: &'static str,
    value: u64,
    least: u64,
    most: u64,
) -> Result<u64, TopologyError> {
    let legal = (least..=most).contains(&value);
    if legal {
        Ok(value)
    } else {
        let legal = format!("{least} to {most}");
        let fault = Fault::new(format!("{value} is not in the legal range {legal}"));
        let fault = fault.with_given(value).with_legal(legal);
        Err(TopologyError::new(parameter, fault))
    }
}

/// # Errors
/// `nodes` is more than a network may have.
pub(crate) fn not_too_many(parameter: &'static str, nodes: u64) -> Result<(), TopologyError> {
    if nodes <= MOST_NODES {
        return Ok(());
    }
    Err(TopologyError::new(parameter, too_many_nodes(nodes)))
}

pub(crate) fn too_many_nodes(nodes: u64) -> Fault {
    let legal = format!("up to {MOST_NODES}");
    Fault::new(format!("that makes {nodes} nodes, legal range {legal}"))
        .with_given(nodes)
        .with_legal(legal)
}

/// A link's rate and delay, the same both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Wire {
    pub(crate) rate: Rate,
    pub(crate) delay: Duration,
}

/// A topology while it is built. Names are unique, and links join nodes that exist.
pub(crate) struct Builder<'a> {
    pub(crate) topology: Topology,
    queues: &'a Queues,
    /// Links that are alike share their settings.
    settings: FxHashMap<(Wire, LinkClass), Arc<LinkSettings>>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(queues: &'a Queues) -> Self {
        Self {
            topology: Topology::default(),
            queues,
            settings: FxHashMap::default(),
        }
    }

    pub(crate) fn router(&mut self, name: &str) -> NodeId {
        self.topology
            .network
            .add_named(name)
            .expect("a topology uses a name once")
    }

    /// Adds a host with its access link.
    pub(crate) fn host(&mut self, name: &str, router: NodeId, access: Wire) -> NodeId {
        let host = self.router(name);
        self.adopt(host, router, access);
        host
    }

    /// Makes a node a host behind a router, and adds links to and from it.
    pub(crate) fn adopt(&mut self, host: NodeId, router: NodeId, access: Wire) -> [LinkId; 2] {
        self.topology.hosts.push(host);
        [
            self.link(host, router, access, LinkClass::Host),
            self.link(router, host, access, LinkClass::Edge),
        ]
    }

    /// Adds a host with an access link. Each run draws an extra delay for it, up to `most`.
    pub(crate) fn host_within(&mut self, name: &str, router: NodeId, access: Wire, most: Duration) {
        let host = self.router(name);
        let links = self.adopt(host, router, access);
        self.topology
            .drawn
            .extend((most > Duration::ZERO).then_some(DrawnDelay { links, most }));
    }

    /// Joins two routers by a link both ways.
    pub(crate) fn join(&mut self, one: NodeId, other: NodeId, wire: Wire, class: LinkClass) {
        self.link(one, other, wire, class);
        self.link(other, one, wire, class);
    }

    pub(crate) fn link(
        &mut self,
        from: NodeId,
        to: NodeId,
        wire: Wire,
        class: LinkClass,
    ) -> LinkId {
        let settings = self.settings.entry((wire, class)).or_insert_with(|| {
            Arc::new(LinkSettings {
                class,
                ..LinkSettings::new(wire.rate, wire.delay, self.queues.of(class).clone())
            })
        });
        self.topology
            .network
            .add_link(LinkConfig::sharing(from, to, settings.clone()))
            .expect("a topology's links join its nodes")
    }

    /// # Errors
    /// As [`Network::add_named`].
    pub(crate) fn named(&mut self, name: &str) -> Result<NodeId, NetworkError> {
        self.topology.network.add_named(name)
    }
}

/// A rate that the code itself contains.
pub(crate) const fn mbit(number: u64) -> Rate {
    match Rate::from_bits_per_second(number.saturating_mul(1_000_000)) {
        Some(rate) => rate,
        None => panic!("no link carries nothing"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The names along a route, without both ends.
    pub(crate) fn way(topology: &Topology, from: &str, to: &str) -> Vec<String> {
        let network = &topology.network;
        let node = |name: &str| {
            network
                .named(name)
                .unwrap_or_else(|| panic!("no node {name}"))
        };
        let route = network.route(node(from), node(to)).unwrap();
        route[1..]
            .iter()
            .map(|link| network.name(network.links()[link.index()].from))
            .collect()
    }

    /// The number of links in a class, both ways counted.
    pub(crate) fn links_of(topology: &Topology, class: LinkClass) -> usize {
        topology
            .network
            .links()
            .iter()
            .filter(|link| link.class == class)
            .count()
    }

    #[test]
    fn queues_go_by_class() {
        let queues = Queues::routers("qfq".parse().unwrap());
        let topology = Dumbbell {
            pairs: 2,
            ..Dumbbell::default()
        }
        .build(&queues)
        .unwrap();
        for link in topology.network.links() {
            let name = link.queue.discipline.name();
            assert_eq!(
                name,
                if link.class == LinkClass::Host {
                    "fifo"
                } else {
                    "qfq"
                }
            );
        }
    }
}
