//! The Internet2 network in the UPS paper (R. Mittal, R. Agarwal, S. Ratnasamy, S. Shenker,
//! "Universal Packet Scheduling", NSDI 2016): 10 core routers, 100 edge routers, 100 hosts.
//!
//! Nodes have the numbers that they have in the authors' files: cores 0 to 9 (`core0` ...), edge
//! routers 10 to 109 (`edge0` ...), hosts 110 to 209 (`host0` ...). `edge i` is at
//! `core (i mod 10)`. Core links have a delay of 10 ms, others of 1 ms.
//!
//! **Rates of core links.** Each core has ten edge links with 1 Gbit/s, so 10 Gbit/s in all. We
//! spread these evenly over the nine other cores, so a pair has 10/9 Gbit/s. If `k` pairs cross a
//! link, counted one way, it has `ceil(k * 10000 / 9)` Mbit/s. When each host sends at a fraction
//! `u` of its edge link's rate to hosts at other cores, the load on every core link is therefore
//! `u`, too. This rule gives all sixteen rates in the authors' file.

use roundelay::{Duration, Rate};
use roundelay_files::whole;
use serde::Deserialize;

use super::{Builder, Queues, Topology, TopologyError, Wire, mbit};
use crate::ids::NodeId;
use crate::network::{LinkClass, LinkConfig, Network};

#[cfg(feature = "schema")]
pub(super) const NODES: &str = "The Internet2 network of the UPS paper: `host0` to `host99`.";
pub(super) const SOURCE: &str = "UPS, section 2.3";

/// Which cores are joined, in the order of the authors' file.
const CORE: [(u32, u32); 16] = [
    (0, 1),
    (0, 2),
    (0, 3),
    (1, 2),
    (2, 4),
    (1, 5),
    (4, 5),
    (3, 5),
    (3, 4),
    (5, 6),
    (3, 6),
    (3, 7),
    (7, 8),
    (6, 8),
    (8, 9),
    (7, 9),
];

/// Rates of access links, as varied in the paper's experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Variant {
    /// I2:1Gbps-10Gbps, the default: 1 Gbit/s from edge to core, 10 Gbit/s from host to edge.
    #[default]
    #[serde(rename = "1g-10g")]
    OneTen,
    /// I2:1Gbps-1Gbps.
    #[serde(rename = "1g-1g")]
    OneOne,
    /// I2:10Gbps-10Gbps.
    #[serde(rename = "10g-10g")]
    TenTen,
    /// I2/10: a tenth of the rates of I2:1Gbps-1Gbps.
    #[serde(rename = "tenth")]
    Tenth,
    /// For the fairness of long-lived flows: hosts at 10 Gbit/s directly at the cores, delays of 10
    /// and 1 microseconds. Hosts are nodes 10 to 109.
    #[serde(rename = "long-lived")]
    LongLived,
}

impl Variant {
    /// The rates of core (in tenths), edge and host links in Mbit/s, and the delays of core and
    /// other links.
    const fn wires(self) -> (u64, Rate, Rate, Duration, Duration) {
        let core = Duration::from_millis(10);
        let other = Duration::from_millis(1);
        match self {
            Self::OneTen => (10, mbit(1_000), mbit(10_000), core, other),
            Self::OneOne => (10, mbit(1_000), mbit(1_000), core, other),
            Self::TenTen => (10, mbit(10_000), mbit(10_000), core, other),
            Self::Tenth => (1, mbit(100), mbit(100), core, other),
            Self::LongLived => (
                10,
                mbit(10_000),
                mbit(10_000),
                Duration::from_micros(10),
                Duration::from_micros(1),
            ),
        }
    }
}

/// Parameters of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Internet2 {
    /// Rates of access links.
    pub variant: Variant,
    /// Delays in percent of the paper's: 50 and 200 in its Figure 7.
    #[serde(deserialize_with = "whole::<_, _, 0, 100_000>")]
    pub delay_percent: u32,
}

impl Default for Internet2 {
    fn default() -> Self {
        Self {
            variant: Variant::OneTen,
            delay_percent: 100,
        }
    }
}

impl Internet2 {
    /// Builds the network.
    ///
    /// # Errors
    /// The delays are out of range.
    pub fn build(&self, queues: &Queues) -> Result<Topology, TopologyError> {
        super::within("delay_percent", self.delay_percent.into(), 0, 100_000)?;
        let (tenths, edge, host, far, near) = self.variant.wires();
        let [far, near] = [far, near].map(|delay| {
            Duration::from_picos(delay.as_picos() * u64::from(self.delay_percent) / 100)
        });
        let mut builder = Builder::new(queues);
        let cores: [NodeId; 10] =
            std::array::from_fn(|number| builder.router(&format!("core{number}")));
        for ((one, other), rate) in CORE.into_iter().zip(core_rates()) {
            let wire = Wire {
                rate: scaled(rate, tenths),
                delay: far,
            };
            builder.join(
                cores[one as usize],
                cores[other as usize],
                wire,
                LinkClass::Core,
            );
        }
        let edge = Wire {
            rate: edge,
            delay: near,
        };
        let host = Wire {
            rate: host,
            delay: near,
        };
        if self.variant == Variant::LongLived {
            for number in 0..100 {
                builder.host(&format!("host{number}"), cores[number % 10], host);
            }
            return Ok(builder.topology);
        }
        let mut edges = Vec::new();
        for number in 0..100 {
            edges.push(builder.router(&format!("edge{number}")));
        }
        for (number, router) in edges.iter().enumerate() {
            builder.join(*router, cores[number % 10], edge, LinkClass::Edge);
        }
        for (number, router) in edges.into_iter().enumerate() {
            builder.host(&format!("host{number}"), router, host);
        }
        Ok(builder.topology)
    }
}

/// A rate of `mbits` Mbit/s times `tenths` / 10.
const fn scaled(mbits: u64, tenths: u64) -> Rate {
    match Rate::from_bits_per_second(mbits * tenths * 100_000) {
        Some(rate) => rate,
        None => panic!("each core link is crossed"),
    }
}

/// The core links' rates in Mbit/s, which follow from the routes between cores.
fn core_rates() -> [u64; 16] {
    let network = core();
    let mut crossings = [0; 2 * CORE.len()];
    for from in (0..10).map(NodeId) {
        for to in (0..10).map(NodeId) {
            if from == to {
                continue;
            }
            let route = network.route(from, to).expect("the core is connected");
            for link in route {
                crossings[link.index()] += 1;
            }
        }
    }
    std::array::from_fn(|link| (crossings[2 * link] * 10_000_u64).div_ceil(9))
}

/// Only the core, with links in pairs.
fn core() -> Network {
    let mut network = Network::default();
    (0..10).for_each(|_| _ = network.add_node());
    for (one, other) in CORE {
        for (from, to) in [(one, other), (other, one)] {
            let link = LinkConfig::new(
                NodeId(from),
                NodeId(to),
                mbit(1),
                Duration::ZERO,
                Queues::default().core,
            );
            network.add_link(link).expect("ends are there");
        }
    }
    network
}

#[cfg(test)]
mod tests {
    use super::super::tests::{links_of, way};
    use super::*;

    fn built(variant: Variant) -> Topology {
        Internet2 {
            variant,
            ..Internet2::default()
        }
        .build(&Queues::default())
        .unwrap()
    }

    /// What the authors' file says.
    const PRINTED: [u64; 16] = [
        5556, 7778, 14445, 3334, 3334, 5556, 1112, 3334, 5556, 4445, 10000, 14445, 1112, 8889,
        2223, 7778,
    ];

    #[test]
    fn rates_follow_from_routes() {
        assert_eq!(core_rates(), PRINTED);
    }

    #[test]
    fn both_ways_are_crossed_alike() {
        let network = core();
        for (from, to) in (0..10).flat_map(|from| (0..from).map(move |to| (from, to))) {
            let nodes = |from, to| -> Vec<_> {
                let route = network.route(NodeId(from), NodeId(to)).unwrap();
                route
                    .iter()
                    .map(|link| network.links()[link.index()].from.0)
                    .skip(1)
                    .collect()
            };
            let mut back = nodes(to, from);
            back.reverse();
            assert_eq!(nodes(from, to), back, "{from} to {to}");
        }
    }

    /// Which cores lie between each pair of cores, as in ns-2's static routing.
    #[test]
    fn routes_are_those_of_ns_2() {
        let expected: [&[(u32, &[u32])]; 9] = [
            &[
                (1, &[]),
                (2, &[]),
                (3, &[]),
                (4, &[2]),
                (5, &[1]),
                (6, &[3]),
                (7, &[3]),
                (8, &[3, 6]),
                (9, &[3, 7]),
            ],
            &[
                (2, &[]),
                (3, &[0]),
                (4, &[2]),
                (5, &[]),
                (6, &[5]),
                (7, &[0, 3]),
                (8, &[5, 6]),
                (9, &[0, 3, 7]),
            ],
            &[
                (3, &[0]),
                (4, &[]),
                (5, &[1]),
                (6, &[0, 3]),
                (7, &[0, 3]),
                (8, &[0, 3, 6]),
                (9, &[0, 3, 7]),
            ],
            &[(4, &[]), (5, &[]), (6, &[]), (7, &[]), (8, &[6]), (9, &[7])],
            &[(5, &[]), (6, &[3]), (7, &[3]), (8, &[3, 6]), (9, &[3, 7])],
            &[(6, &[]), (7, &[3]), (8, &[6]), (9, &[3, 7])],
            &[(7, &[3]), (8, &[]), (9, &[8])],
            &[(8, &[]), (9, &[])],
            &[(9, &[])],
        ];
        let topology = built(Variant::OneTen);
        let mut count = 0;
        for (from, ways) in expected.iter().enumerate() {
            for (to, between) in *ways {
                let names: Vec<_> = between.iter().map(|core| format!("core{core}")).collect();
                assert_eq!(
                    way(&topology, &format!("core{from}"), &format!("core{to}")),
                    names,
                    "{from} to {to}"
                );
                count += 1;
            }
        }
        assert_eq!(count, 45);
    }

    #[test]
    fn ordered_pairs_have_as_many_hops_as_the_paper_s() {
        let network = core();
        let mut pairs = [0; 5];
        for (from, to) in (0..10)
            .flat_map(|from| (0..10).map(move |to| (from, to)))
            .filter(|(from, to)| from != to)
        {
            pairs[network.route(NodeId(from), NodeId(to)).unwrap().len()] += 1;
        }
        assert_eq!(pairs, [0, 32, 34, 18, 6]);
    }

    #[test]
    fn nodes_have_the_numbers_of_the_authors_files() {
        let topology = built(Variant::OneTen);
        let network = &topology.network;
        let numbers = ["core9", "edge0", "edge99", "host0", "host99"]
            .map(|name| network.named(name).unwrap().0);
        assert_eq!(numbers, [9, 10, 109, 110, 209]);
        assert_eq!(
            (network.nodes(), network.links().len(), topology.hosts.len()),
            (210, 2 * 216, 100)
        );
        assert_eq!(
            LinkClass::ALL.map(|class| links_of(&topology, class)),
            [32, 300, 100]
        );
        assert_eq!(
            way(&topology, "host12", "host29"),
            [
                "edge12", "core2", "core0", "core3", "core7", "core9", "edge29"
            ]
        );
    }

    /// Between hosts at different cores, propagation one way takes 4 ms plus 10 ms for each core
    /// link, which is 23.78 ms on average.
    #[test]
    fn propagation_is_the_papers() {
        let topology = built(Variant::OneTen);
        let mut sum = 0;
        let mut count = 0;
        for (at, from) in topology.hosts.iter().enumerate() {
            for (_, to) in topology
                .hosts
                .iter()
                .enumerate()
                .filter(|(other, _)| other % 10 != at % 10)
            {
                let route = topology.network.route(*from, *to).unwrap();
                sum += route
                    .iter()
                    .map(|link| topology.network.links()[link.index()].delay.as_picos())
                    .sum::<u64>()
                    / 1_000_000;
                count += 1;
            }
        }
        assert_eq!((count, sum / count), (9_000, 23_777));
    }

    #[test]
    fn variants_have_their_rates() {
        let rates = |variant, from, to| {
            let topology = built(variant);
            let node = |name| topology.network.named(name).unwrap();
            let link = topology.network.link_between(node(from), node(to)).unwrap();
            topology.network.links()[link.index()].rate.to_string()
        };
        let access = |variant| {
            [
                rates(variant, "edge0", "core0"),
                rates(variant, "host0", "edge0"),
            ]
        };
        assert_eq!(access(Variant::OneTen), ["1gbit", "10gbit"]);
        assert_eq!(access(Variant::OneOne), ["1gbit", "1gbit"]);
        assert_eq!(access(Variant::TenTen), ["10gbit", "10gbit"]);
        assert_eq!(access(Variant::Tenth), ["100mbit", "100mbit"]);
        assert_eq!(rates(Variant::Tenth, "core0", "core1"), "555600kbit");
        assert_eq!(rates(Variant::LongLived, "host99", "core9"), "10gbit");
        let topology = built(Variant::LongLived);
        assert_eq!(
            (
                topology.network.nodes(),
                topology.network.links().len(),
                topology.hosts[0]
            ),
            (110, 2 * 116, NodeId(10))
        );
    }
}
