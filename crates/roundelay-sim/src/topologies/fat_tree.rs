//! Fat-tree: a data centre's network made from switches with `k` ports (M. Al-Fares, A. Loukissas,
//! A. Vahdat, "A Scalable, Commodity Data Center Network Architecture", SIGCOMM 2008, section 3).
//!
//! There are `k` pods with `k/2` edge and `k/2` aggregation switches each, `(k/2)^2` core switches,
//! and `k^3/4` hosts. Switches are numbered across pods: `core0`, `aggregation0`, `edge0`. Hosts
//! are `host0`, ... from pod to pod and from edge to edge. Aggregation switch `a` in a pod is
//! joined to the `k/2` cores from `a * k/2` on. Many routes are equally short, so spread flows over
//! them ([`Routing::spread`](crate::Routing)).

use roundelay::{Duration, Fault, Rate};
use roundelay_files::{InWords, whole};
use serde::Deserialize;

use super::{Builder, Queues, Topology, TopologyError, Wire, mbit, within};
use crate::network::LinkClass;

#[cfg(feature = "schema")]
pub(super) const NODES: &str = "Switches with k ports: `host0`, ... from pod to pod.";
pub(super) const SOURCE: &str = "Al-Fares, Loukissas, Vahdat, SIGCOMM 2008";

/// Parameters of the fat-tree.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FatTree {
    /// Ports of a switch: even, 2 to 64.
    #[serde(deserialize_with = "whole::<_, _, 2, 64>")]
    pub k: u32,
    /// Rate of all links.
    #[serde(with = "InWords::<Rate>")]
    pub rate: Rate,
    /// Delay of a link between switches.
    #[serde(with = "InWords::<Duration>")]
    pub delay: Duration,
    /// Delay of a host's link.
    #[serde(with = "InWords::<Duration>")]
    pub host_delay: Duration,
}

impl Default for FatTree {
    fn default() -> Self {
        Self {
            k: 4,
            rate: mbit(10_000),
            delay: Duration::from_micros(1),
            host_delay: Duration::from_micros(1),
        }
    }
}

impl FatTree {
    /// Builds the network.
    ///
    /// # Errors
    /// `k` is odd or out of range.
    pub fn build(&self, queues: &Queues) -> Result<Topology, TopologyError> {
        within("k", self.k.into(), 2, 64)?;
        if !self.k.is_multiple_of(2) {
            let fault = Fault::of_range("2 to 64")
                .behind(format_args!("{} is odd: an even number, ", self.k));
            return Err(TopologyError::new("k", fault.with_given(self.k)));
        }
        let half = self.k as usize / 2;
        let between = Wire {
            rate: self.rate,
            delay: self.delay,
        };
        let mut builder = Builder::new(queues);
        let mut switches = |name: &str, count: usize| -> Vec<_> {
            (0..count)
                .map(|number| builder.router(&format!("{name}{number}")))
                .collect()
        };
        let cores = switches("core", half * half);
        let aggregations = switches("aggregation", 2 * half * half);
        let edges = switches("edge", 2 * half * half);
        for (number, aggregation) in aggregations.iter().enumerate() {
            let first = number % half * half;
            for core in &cores[first..first + half] {
                builder.join(*aggregation, *core, between, LinkClass::Core);
            }
        }
        for (number, edge) in edges.iter().enumerate() {
            let first = number / half * half;
            for aggregation in &aggregations[first..first + half] {
                builder.join(*edge, *aggregation, between, LinkClass::Edge);
            }
        }
        let access = Wire {
            rate: self.rate,
            delay: self.host_delay,
        };
        for number in 0..2 * half * half * half {
            builder.host(&format!("host{number}"), edges[number / half], access);
        }
        Ok(builder.topology)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::tests::{links_of, way};
    use super::*;
    use crate::network::{Metric, Routing};
    use crate::routing::Routes;

    fn built(k: u32) -> Topology {
        FatTree {
            k,
            ..FatTree::default()
        }
        .build(&Queues::default())
        .unwrap()
    }

    #[test]
    fn there_are_as_many_of_each_as_the_paper_says() {
        for (k, hosts, switches) in [(2, 2, 5), (4, 16, 20), (6, 54, 45), (8, 128, 80)] {
            let topology = built(k);
            assert_eq!(
                (topology.hosts.len(), topology.network.nodes()),
                (hosts, hosts + switches),
                "k = {k}"
            );
            assert_eq!(
                LinkClass::ALL.map(|class| links_of(&topology, class)),
                [2 * hosts, 3 * hosts, hosts]
            );
            let ports = topology.network.nodes() - hosts;
            assert!((0..ports).all(|switch| {
                topology.network.leaving(crate::NodeId(switch as u32)).len() == k as usize
            }));
        }
    }

    #[test]
    fn pods_are_four_switches_apart() {
        let topology = built(4);
        assert_eq!(way(&topology, "host0", "host1"), ["edge0"]);
        assert_eq!(
            way(&topology, "host0", "host2"),
            ["edge0", "aggregation0", "edge1"]
        );
        assert_eq!(
            way(&topology, "host0", "host15"),
            ["edge0", "aggregation0", "core0", "aggregation6", "edge7"]
        );
    }

    /// Between two pods there are `(k/2)^2` shortest routes.
    #[test]
    fn flows_take_every_core() {
        let mut topology = built(8);
        topology.network.set_routing(Routing {
            metric: Metric::Hops,
            spread: Some(1),
        });
        let mut routes = Routes::default();
        let mut found = BTreeSet::new();
        for flow in 0..1000 {
            let route = routes
                .of_flow(
                    &topology.network,
                    topology.hosts[0],
                    topology.hosts[127],
                    flow,
                )
                .unwrap();
            found.insert(routes.links(route).collect::<Vec<_>>());
        }
        assert_eq!(found.len(), 16);
    }

    #[test]
    fn a_thousand_hosts_are_routed_at_once() {
        let topology = built(16);
        let mut routes = Routes::default();
        let hosts = &topology.hosts;
        assert_eq!(hosts.len(), 1024);
        let mut lengths = [0; 7];
        for pair in 0..20_000 {
            let from = hosts[pair % 1024];
            let to = hosts[(pair * 37 + pair / 1024 + 512) % 1024];
            if from != to {
                let route = routes.between(&topology.network, from, to).unwrap();
                lengths[routes.links(route).count()] += 1;
            }
        }
        assert!(
            lengths[6] > 15_000 && lengths[1] + lengths[3] + lengths[5] == 0,
            "{lengths:?}"
        );
    }

    #[test]
    fn odd_switches_are_refused() {
        let error = FatTree {
            k: 5,
            ..FatTree::default()
        }
        .build(&Queues::default())
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "k: 5 is odd: an even number, legal range 2 to 64"
        );
    }
}
