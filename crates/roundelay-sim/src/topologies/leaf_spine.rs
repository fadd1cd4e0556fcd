//! Leaf-spine network: racks of hosts under leaves, with each leaf joined to each spine.
//!
//! Defaults come from pFabric's data centre (M. Alizadeh and others, "pFabric: Minimal Near-Optimal
//! Datacenter Transport", SIGCOMM 2013, section 5: 9 racks of 16 hosts, 4 spines, 10 and 40
//! Gbit/s). Nodes are `leaf0`, `spine0`, `host0`, ..., and hosts are numbered from rack to rack.
//! Spread flows over the spines ([`Routing::spread`](crate::Routing)).

use roundelay::{Duration, Fault, Rate};
use roundelay_files::{InWords, whole};
use serde::Deserialize;

use super::{Builder, Queues, Topology, TopologyError, Wire, mbit, not_too_many, within};
use crate::network::LinkClass;

#[cfg(feature = "schema")]
pub(super) const NODES: &str =
    "Racks under leaves, leaves under spines: `host0`, ... from rack to rack.";
pub(super) const SOURCE: &str = "pFabric, SIGCOMM 2013";

/// Most pairs of a leaf and a spine, each with two links: ten times as many take ten gigabytes and half
/// a minute to build.
const MOST_PAIRS: u64 = 1_000_000;

/// Parameters of the network.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct LeafSpine {
    /// Racks: 1 or more.
    #[serde(deserialize_with = "whole::<_, _, 1, 10_000>")]
    pub leaves: u32,
    /// Spines: 1 or more. At most a million pairs of a leaf and a spine.
    #[serde(deserialize_with = "whole::<_, _, 1, 1_000>")]
    pub spines: u32,
    /// Hosts in a rack: 1 or more.
    #[serde(deserialize_with = "whole::<_, _, 1, 10_000>")]
    pub hosts_per_leaf: u32,
    /// Rate of a host's link.
    #[serde(with = "InWords::<Rate>")]
    pub host_rate: Rate,
    /// Rate of a link between leaf and spine.
    #[serde(with = "InWords::<Rate>")]
    pub rate: Rate,
    /// Delay of a link between leaf and spine.
    #[serde(with = "InWords::<Duration>")]
    pub delay: Duration,
    /// Delay of a host's link.
    #[serde(with = "InWords::<Duration>")]
    pub host_delay: Duration,
}

impl Default for LeafSpine {
    fn default() -> Self {
        let delay = Duration::from_nanos(200);
        let host_delay = Duration::from_nanos(200);
        Self {
            leaves: 9,
            spines: 4,
            hosts_per_leaf: 16,
            host_rate: mbit(10_000),
            rate: mbit(40_000),
            delay,
            host_delay,
        }
    }
}

impl LeafSpine {
    /// Builds the network.
    ///
    /// # Errors
    /// A number is out of range.
    pub fn build(&self, queues: &Queues) -> Result<Topology, TopologyError> {
        let leaves = within("leaves", self.leaves.into(), 1, 10_000)?;
        let spines = within("spines", self.spines.into(), 1, 1_000)?;
        let hosts = within("hosts_per_leaf", self.hosts_per_leaf.into(), 1, 10_000)?;
        not_too_many("hosts_per_leaf", leaves + spines + leaves * hosts)?;
        let most = MOST_PAIRS / leaves;
        if spines > most {
            let legal = format!("1 to {most}, as {MOST_PAIRS} pairs of both are the most");
            let fault = Fault::new(format!(
                "{spines} above {leaves} leaves, legal range {legal}"
            ));
            let fault = fault.with_given(spines).with_legal(legal);
            return Err(TopologyError::new("spines", fault));
        }
        let mut builder = Builder::new(queues);
        let spines: Vec<_> = (0..spines)
            .map(|number| builder.router(&format!("spine{number}")))
            .collect();
        let leaves: Vec<_> = (0..leaves)
            .map(|number| builder.router(&format!("leaf{number}")))
            .collect();
        let up = Wire {
            rate: self.rate,
            delay: self.delay,
        };
        for leaf in &leaves {
            for spine in &spines {
                builder.join(*leaf, *spine, up, LinkClass::Core);
            }
        }
        let access = Wire {
            rate: self.host_rate,
            delay: self.host_delay,
        };
        let mut number = 0;
        for leaf in leaves {
            for _ in 0..hosts {
                builder.host(&format!("host{number}"), leaf, access);
                number += 1;
            }
        }
        Ok(builder.topology)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{links_of, way};
    use super::*;

    #[test]
    fn a_million_pairs_are_the_most() {
        let network = LeafSpine {
            leaves: 4_000,
            spines: 251,
            hosts_per_leaf: 1,
            ..LeafSpine::default()
        };
        let error = network.build(&Queues::default()).unwrap_err().to_string();
        assert!(
            error.contains("spines") && error.contains("1 to 250"),
            "{error}"
        );
    }

    #[test]
    fn racks_are_joined_by_spines() {
        let topology = LeafSpine::default().build(&Queues::default()).unwrap();
        assert_eq!((topology.hosts.len(), topology.network.nodes()), (144, 157));
        assert_eq!(way(&topology, "host0", "host15"), ["leaf0"]);
        assert_eq!(
            way(&topology, "host0", "host143"),
            ["leaf0", "spine0", "leaf8"]
        );
        assert_eq!(
            LinkClass::ALL.map(|class| links_of(&topology, class)),
            [72, 144, 144]
        );
    }

    #[test]
    fn too_many_hosts_are_refused() {
        let error = LeafSpine {
            leaves: 9_000,
            hosts_per_leaf: 9_000,
            ..LeafSpine::default()
        }
        .build(&Queues::default())
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "hosts_per_leaf: that makes 81009004 nodes, legal range up to 1048576"
        );
    }
}
