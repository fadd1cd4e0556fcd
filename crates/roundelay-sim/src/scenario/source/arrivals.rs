//! Source `arrivals`, as plain data: sizes, rate and transport of arriving flows, and their hosts.

use std::collections::{BTreeSet, VecDeque};

use roundelay::Rate;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::protocol::Protocol;
use crate::network::{LinkClass, Network, NodeId};
use crate::sources::{Sizes, SourceError, Terms, arrivals};
use crate::written::{InWords, read};

/// Transport of arriving flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// All at once.
    #[default]
    Burst,
    /// Over TCP.
    Tcp,
}

/// Hosts that send no flows to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Apart {
    /// Only the host itself.
    #[default]
    Host,
    /// Hosts behind one router.
    Router,
    /// Hosts with the same nearest router with core links, as in UPS, where flows go to hosts of
    /// other core routers.
    Core,
}

/// Distribution of flow sizes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SizesSpec {
    /// A built-in distribution: ups, data_mining or web_search.
    Named(String),
    /// Bytes, and the fraction of all flows of this size or smaller: [[1460, 0.5], [14600, 1.0]].
    Points(Vec<(u64, f64)>),
}

/// Flows with random arrivals.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// Load of each host as a fraction of `link_rate`: above 0, to 10.
    #[schemars(range(min = 0, max = 10))]
    pub utilisation: f64,
    /// The rate of a host's link.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Rate>")]
    pub link_rate: Rate,
    /// Distribution of flow sizes.
    pub sizes: SizesSpec,
    /// Whether sizes between the points occur, too.
    #[serde(default)]
    pub interpolated: bool,
    /// Hosts that send no flows to each other.
    #[serde(default)]
    pub apart: Apart,
    /// Transport of the flows.
    #[serde(default)]
    pub transport: Transport,
    /// Bytes of a packet of a burst: 1 to 65,535.
    #[serde(default = "full_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
    /// TCP parameters of both ends, for flows over TCP.
    #[serde(default)]
    pub tcp: Protocol,
}

pub(in crate::scenario) const fn full_len() -> u32 {
    1460
}

impl Transport {
    pub(in crate::scenario) fn with(self, packet_len: u32, tcp: &Protocol) -> arrivals::Transport {
        match self {
            Self::Burst => arrivals::Transport::Burst { packet_len },
            Self::Tcp => arrivals::Transport::Tcp(tcp.config()),
        }
    }
}

impl Arrivals {
    pub(super) fn config(&self, terms: Terms, hosts: &[arrivals::Host]) -> Result<arrivals::Config, SourceError> {
        let transport = self.transport.with(self.packet_len, &self.tcp);
        Ok(arrivals::Config {
            hosts: hosts.to_vec(),
            link_rate: self.link_rate,
            utilisation: self.utilisation,
            sizes: self.sizes()?,
            transport,
            start: terms.start,
            stop: terms.stop,
            urgency: terms.urgency,
            flow: terms.flow.config,
        })
    }

    pub(in crate::scenario) fn sizes(&self) -> Result<Sizes, SourceError> {
        let sizes = match &self.sizes {
            SizesSpec::Named(name) => Sizes::named(name).ok_or_else(|| SourceError {
                kind: "arrivals",
                parameter: "sizes",
                value: name.clone(),
                range: format!("{}, or points", Sizes::NAMES.join(", ")),
            })?,
            SizesSpec::Points(points) => Sizes::discrete(points.clone())?,
        };
        Ok(if self.interpolated { sizes.interpolated() } else { sizes })
    }

    /// The hosts with their groups for `apart`.
    pub(in crate::scenario) fn hosts(&self, network: &Network, hosts: &[NodeId]) -> Vec<arrivals::Host> {
        let group = |host: NodeId| match self.apart {
            Apart::Host => host,
            Apart::Router => network.leaving(host).first().map_or(host, |link| network.links()[link.index()].to),
            Apart::Core => nearest_core(network, host),
        };
        hosts.iter().map(|host| arrivals::Host { node: *host, group: group(*host).0 }).collect()
    }
}

/// The nearest router with core links, the first found at equal distance; the host itself if there
/// is none.
fn nearest_core(network: &Network, host: NodeId) -> NodeId {
    let (mut queue, mut seen) = (VecDeque::from([host]), BTreeSet::from([host]));
    while let Some(node) = queue.pop_front() {
        let links = || network.leaving(node).iter().map(|link| &network.links()[link.index()]);
        if links().any(|link| link.class == LinkClass::Core) {
            return node;
        }
        queue.extend(links().map(|link| link.to).filter(|next| seen.insert(*next)));
    }
    host
}
