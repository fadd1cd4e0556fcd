//! Flows that arrive by themselves, as plain data: how large, how often, how sent, and between which hosts.

use std::collections::{BTreeSet, VecDeque};

use roundelay::Rate;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::protocol::Protocol;
use crate::network::{LinkClass, Network, NodeId};
use crate::sources::{Sizes, SourceError, Terms, arrivals};
use crate::written::{InWords, read};

/// How flows that arrive are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// All at once.
    #[default]
    Burst,
    /// Over TCP.
    Tcp,
}

/// Which hosts do not send flows to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Apart {
    /// Each sends to all others.
    #[default]
    Host,
    /// Those behind one router.
    Router,
    /// Those whose nearest router with core links is the same: as in UPS, where flows go to hosts of other core routers.
    Core,
}

/// How large flows are.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SizesSpec {
    /// A distribution that is built in: ups, data_mining or web_search.
    Named(String),
    /// Bytes, and the part of all flows that are as large or smaller: [[1460, 0.5], [14600, 1.0]].
    Points(Vec<(u64, f64)>),
}

/// Flows that arrive.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// The part of its link that each host offers: above 0, to 10.
    #[schemars(range(min = 0, max = 10))]
    pub utilisation: f64,
    /// The rate that this is a part of.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Rate>")]
    pub link_rate: Rate,
    /// How large flows are.
    pub sizes: SizesSpec,
    /// Whether sizes between the points are drawn, too.
    #[serde(default)]
    pub interpolated: bool,
    /// Which hosts do not send to each other.
    #[serde(default)]
    pub apart: Apart,
    /// How flows are sent.
    #[serde(default)]
    pub transport: Transport,
    /// Bytes of a packet of a burst: 1 to 65,535.
    #[serde(default = "full_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
    /// What both ends do, where flows go over TCP.
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

    /// The hosts with the groups that keep apart.
    pub(in crate::scenario) fn hosts(&self, network: &Network, hosts: &[NodeId]) -> Vec<arrivals::Host> {
        let group = |host: NodeId| match self.apart {
            Apart::Host => host,
            Apart::Router => network.leaving(host).first().map_or(host, |link| network.links()[link.index()].to),
            Apart::Core => nearest_core(network, host),
        };
        hosts.iter().map(|host| arrivals::Host { node: *host, group: group(*host).0 }).collect()
    }
}

/// The nearest router with core links, the first found of those; the host itself if there is none.
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
