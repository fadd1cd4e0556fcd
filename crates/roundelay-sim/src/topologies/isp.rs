//! ISP topology: a random network like an Internet service provider's. Preferential attachment
//! joins the core routers, and each host has an edge router.
//!
//! It stands in for the Rocketfuel map in the UPS paper (R. Mittal, R. Agarwal, S. Ratnasamy, S.
//! Shenker, "Universal Packet Scheduling", NSDI 2016, section 2.3: 83 routers, 131 core links, half
//! of them slower than the access links). The paper does not name its map, and no published map has
//! this size. Measured maps have a few routers with many links and many with one (N. Spring, R.
//! Mahajan, D. Wetherall, "Measuring ISP Topologies with Rocketfuel", SIGCOMM 2002). Preferential
//! attachment gives the same (A.-L. Barabasi, R. Albert, "Emergence of Scaling in Random Networks",
//! Science 286, 1999): each new router joins an existing one, drawn with a probability in
//! proportion to its links. Each remaining link joins two routers that are drawn in the same way.
//! All draws use `graph_seed`, so runs with other seeds have the same network.
//!
//! **Rates of core links** are the loads that arise when each host sends at its edge link's rate,
//! evenly to the hosts at other routers. So when hosts send at a fraction `u` of this, every link's
//! load is `u`, as in [`Internet2`](super::Internet2). Then the fraction `slower` of the links,
//! those with the smallest loads, is limited to at most `slower_rate`, which is below the edge
//! links' rate. All others get at least the edge links' rate.
//!
//! Nodes are `core0` ..., then `edge0` ..., then `host0` ..., and `edge i` is at
//! `core (i mod routers)`.

use std::collections::BTreeSet;

use rand_pcg::Pcg64Mcg;
use roundelay::{Billionths, Duration, Fault, Purpose, Rate, Seed};
use roundelay_files::{InWords, whole};
use serde::Deserialize;

use super::{Builder, MOST_NODES, Queues, Topology, TopologyError, Wire, mbit, within};
use crate::ids::NodeId;
use crate::network::{LinkClass, LinkConfig, Network};
use crate::random::generator;
use crate::routing::Routes;
use crate::sources::draw;

#[cfg(feature = "schema")]
pub(super) const NODES: &str =
    "A random network like a provider's: `host0`, ... from router to router.";
pub(super) const SOURCE: &str = "UPS, section 2.3, in place of Rocketfuel";

/// The most core routers, because we need the routes between all pairs for the rates.
const MOST_ROUTERS: u64 = 1_000;
/// The most links between these and the most hosts: such a network is built in three seconds.
const MOST_LINKS: u64 = 150_000;
const MOST_HOSTS: u64 = 150_000;
/// How often we draw a pair of routers before we take the first free pair.
const MOST_DRAWS: u32 = 1_000;

/// Parameters of the network.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Isp {
    /// Core routers: 3 to 1,000.
    #[serde(deserialize_with = "whole::<_, _, 3, 1_000>")]
    #[cfg_attr(feature = "schema", schemars(range(min = 3, max = 1_000)))]
    pub routers: u32,
    /// Links between core routers: from `routers` - 1, a tree, to one for each pair, and at most
    /// 150,000.
    #[serde(deserialize_with = "whole::<_, _, 2, MOST_LINKS>")]
    #[cfg_attr(feature = "schema", schemars(range(min = 2, max = 150_000)))]
    pub links: u32,
    /// Seed of all draws.
    #[serde(deserialize_with = "whole::<_, _, 0, { u64::MAX }>")]
    pub graph_seed: u64,
    /// Hosts, dealt out to the routers in turn: 2 to 150,000.
    #[serde(deserialize_with = "whole::<_, _, 2, MOST_HOSTS>")]
    #[cfg_attr(feature = "schema", schemars(range(min = 2, max = 150_000)))]
    pub hosts: u32,
    /// Rate of links from edge routers to core routers.
    #[serde(with = "InWords::<Rate>")]
    pub access_rate: Rate,
    /// Rate of links from hosts to edge routers.
    #[serde(with = "InWords::<Rate>")]
    pub host_rate: Rate,
    /// Delay of both kinds of links.
    #[serde(with = "InWords::<Duration>")]
    pub access_delay: Duration,
    /// The fraction of core links slower than `access_rate`, rounded to a whole number of links.
    #[serde(with = "InWords::<Billionths>")]
    pub slower: Billionths,
    /// Maximum rate of these links: below `access_rate`.
    #[serde(with = "InWords::<Rate>")]
    pub slower_rate: Rate,
    /// Minimum delay of a core link. Delays are drawn evenly.
    #[serde(with = "InWords::<Duration>")]
    pub delay: Duration,
    /// Maximum delay of a core link.
    #[serde(with = "InWords::<Duration>")]
    pub most_delay: Duration,
}

impl Default for Isp {
    fn default() -> Self {
        Self {
            routers: 83,
            links: 131,
            graph_seed: 1,
            hosts: 83,
            access_rate: mbit(1_000),
            host_rate: mbit(10_000),
            access_delay: Duration::from_millis(1),
            slower: Billionths(Billionths::ONE.0 / 2),
            slower_rate: mbit(900),
            delay: Duration::from_millis(1),
            most_delay: Duration::from_millis(13),
        }
    }
}

// Each host has an edge router, but even so no network that passes the checks has too many nodes.
const _: () = assert!(MOST_ROUTERS + 2 * MOST_HOSTS <= MOST_NODES);

impl Isp {
    /// Builds the network.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn build(&self, queues: &Queues) -> Result<Topology, TopologyError> {
        self.check()?;
        let mut random = generator(Seed::new(self.graph_seed).derive(Purpose::Graph, 0));
        let pairs = self.pairs(&mut random);
        let mut builder = Builder::new(queues);
        let mut cores = Vec::new();
        for number in 0..self.routers {
            cores.push(builder.router(&format!("core{number}")));
        }
        for ((one, other), rate) in pairs.iter().zip(self.rates(&pairs)) {
            let delay = self.delay + draw::up_to(&mut random, self.most_delay - self.delay);
            builder.join(
                cores[*one],
                cores[*other],
                Wire { rate, delay },
                LinkClass::Core,
            );
        }
        let [edge, host] = [self.access_rate, self.host_rate].map(|rate| Wire {
            rate,
            delay: self.access_delay,
        });
        let mut edges = Vec::new();
        for number in 0..self.hosts {
            edges.push(builder.router(&format!("edge{number}")));
        }
        for (router, core) in edges.iter().zip(cores.iter().cycle()) {
            builder.join(*router, *core, edge, LinkClass::Edge);
        }
        for (number, router) in edges.into_iter().enumerate() {
            builder.host(&format!("host{number}"), router, host);
        }
        Ok(builder.topology)
    }

    fn check(&self) -> Result<(), TopologyError> {
        let routers = within("routers", self.routers.into(), 3, MOST_ROUTERS)?;
        within(
            "links",
            self.links.into(),
            routers - 1,
            MOST_LINKS.min(routers * (routers - 1) / 2),
        )?;
        within("hosts", self.hosts.into(), 2, MOST_HOSTS)?;
        if self.slower_rate >= self.access_rate {
            let legal = format_args!("1bit to less than access_rate, {}", self.access_rate);
            let fault = Fault::range(self.slower_rate, legal);
            return Err(TopologyError::new("slower_rate", fault));
        }
        if self.most_delay < self.delay {
            let legal = format_args!("from delay, {}", self.delay);
            let fault = Fault::range(self.most_delay, legal);
            return Err(TopologyError::new("most_delay", fault));
        }
        Ok(())
    }

    /// Which routers are joined, the lower number first: a tree, then the remaining links.
    fn pairs(&self, random: &mut Pcg64Mcg) -> Vec<(usize, usize)> {
        // Each router stands here once for each of its links, so an even draw from this list is in
        // proportion to links.
        let mut pairs = vec![(0, 1)];
        let mut ends = vec![0, 1];
        for router in 2..self.routers as usize {
            let other = ends[draw::below(random, ends.len() as u64) as usize];
            pairs.push((other, router));
            ends.extend([other, router]);
        }
        let mut joined: BTreeSet<_> = pairs.iter().copied().collect();
        while pairs.len() < self.links as usize {
            let pair = self.free_pair(&ends, &joined, random);
            joined.insert(pair);
            pairs.push(pair);
            ends.extend([pair.0, pair.1]);
        }
        pairs
    }

    /// Two routers that are not joined, drawn in proportion to their links.
    fn free_pair(
        &self,
        ends: &[usize],
        joined: &BTreeSet<(usize, usize)>,
        random: &mut Pcg64Mcg,
    ) -> (usize, usize) {
        let is_free = |one, other| one != other && !joined.contains(&(one, other));
        for _ in 0..MOST_DRAWS {
            let [one, other] =
                [(); 2].map(|()| ends[draw::below(random, ends.len() as u64) as usize]);
            let pair = (one.min(other), one.max(other));
            if is_free(pair.0, pair.1) {
                return pair;
            }
        }
        let routers = self.routers as usize;
        for one in 0..routers {
            for other in one + 1..routers {
                if is_free(one, other) {
                    return (one, other);
                }
            }
        }
        unreachable!("there are fewer links than pairs")
    }

    /// The core links' rates.
    fn rates(&self, pairs: &[(usize, usize)]) -> Vec<Rate> {
        let loads = self.loads(pairs);
        let mut by_load: Vec<_> = (0..loads.len()).collect();
        by_load.sort_by_key(|link| loads[*link]);
        let one = u128::from(Billionths::ONE.0);
        let slower = ((loads.len() as u128 * u128::from(self.slower.0) + one / 2) / one) as usize;
        let mut rates = loads;
        for (rank, link) in by_load.into_iter().enumerate() {
            let load = rates[link];
            rates[link] = if rank < slower {
                load.min(self.slower_rate)
            } else {
                load.max(self.access_rate)
            };
        }
        rates
    }

    /// Each link's load in its busier direction if all hosts send at `access_rate`, evenly to hosts
    /// at other routers. Rounded up to whole Mbit/s.
    fn loads(&self, pairs: &[(usize, usize)]) -> Vec<Rate> {
        const PARTS: u128 = 1 << 20;
        let network = core(self.routers, pairs);
        let hosts = |router: u32| {
            u128::from(self.hosts / self.routers + u32::from(router < self.hosts % self.routers))
        };
        let mut routes = Routes::default();
        let mut loads = vec![0; 2 * pairs.len()];
        for from in 0..self.routers {
            if hosts(from) == 0 {
                continue;
            }
            let others = (u128::from(self.hosts) - hosts(from)).max(1);
            let each =
                u128::from(self.access_rate.bits_per_second()) * hosts(from) * PARTS / others;
            for to in 0..self.routers {
                if to == from {
                    continue;
                }
                let route = routes
                    .between(&network, NodeId(from), NodeId(to))
                    .expect("the core is connected");
                for link in routes.links(route) {
                    loads[link] += each * hosts(to);
                }
            }
        }
        let mut rates = Vec::new();
        for ways in loads.chunks(2) {
            let mbits = ways[0].max(ways[1]).div_ceil(PARTS * 1_000_000);
            rates.push(mbit(mbits.clamp(1, 1 << 40) as u64));
        }
        rates
    }
}

/// Only the core, with links in pairs.
fn core(routers: u32, pairs: &[(usize, usize)]) -> Network {
    let mut network = Network::default();
    for _ in 0..routers {
        network.add_node();
    }
    for (one, other) in pairs {
        for (from, to) in [(one, other), (other, one)] {
            let [from, to] = [from, to].map(|node| NodeId(*node as u32));
            network
                .add_link(LinkConfig::new(
                    from,
                    to,
                    mbit(1),
                    Duration::ZERO,
                    Queues::default().core,
                ))
                .expect("ends are there");
        }
    }
    network
}

#[cfg(test)]
mod tests {
    use super::super::tests::links_of;
    use super::*;

    fn built(isp: &Isp) -> Topology {
        isp.build(&Queues::default()).unwrap()
    }

    fn core_links(topology: &Topology) -> impl Iterator<Item = &LinkConfig> {
        topology
            .network
            .links()
            .iter()
            .filter(|link| link.class == LinkClass::Core)
            .step_by(2)
    }

    /// How many links each core router has, the least first.
    fn degrees(topology: &Topology) -> Vec<usize> {
        let links = |node: u32| {
            let leaving = topology.network.leaving(NodeId(node)).iter();
            leaving
                .filter(|link| topology.network.links()[link.index()].class == LinkClass::Core)
                .count()
        };
        let mut degrees: Vec<_> = (0..83).map(links).collect();
        degrees.sort_unstable();
        degrees
    }

    #[test]
    fn it_has_the_numbers_of_the_paper_and_is_connected() {
        for graph_seed in 0..20 {
            let topology = built(&Isp {
                graph_seed,
                ..Isp::default()
            });
            let network = &topology.network;
            assert_eq!(
                LinkClass::ALL.map(|class| links_of(&topology, class)),
                [2 * 131, 3 * 83, 83]
            );
            assert_eq!((network.nodes(), topology.hosts.len()), (3 * 83, 83));
            let pairs: BTreeSet<_> = core_links(&topology)
                .map(|link| (link.from.min(link.to), link.from.max(link.to)))
                .collect();
            assert_eq!(pairs.len(), 131, "no two join the same routers");
            assert!(
                topology.hosts[1..]
                    .iter()
                    .all(|host| network.route(topology.hosts[0], *host).is_ok()),
                "{graph_seed}"
            );
            let slower = core_links(&topology)
                .filter(|link| link.rate < mbit(1000))
                .count();
            assert_eq!(slower, 66, "half of 131");
            let least = Duration::from_millis(1);
            assert!(
                core_links(&topology)
                    .all(|link| (least..=Duration::from_millis(13)).contains(&link.delay))
            );
        }
    }

    /// A third of the routers have one link, and a few have many. If the same number of links were
    /// drawn evenly, neither would be so.
    #[test]
    fn links_are_dealt_as_in_maps_of_providers() {
        for graph_seed in 0..20 {
            let degrees = degrees(&built(&Isp {
                graph_seed,
                ..Isp::default()
            }));
            assert_eq!(degrees.iter().sum::<usize>(), 2 * 131);
            let single = degrees.iter().filter(|degree| **degree == 1).count();
            assert!(
                (20..50).contains(&single) && degrees[82] >= 12,
                "{graph_seed}: {degrees:?}"
            );
        }
    }

    /// For all ordered pairs of hosts: how many core links lie between them, and the route's delay
    /// in microseconds.
    fn ways(topology: &Topology) -> (Vec<u64>, Vec<u64>) {
        let network = &topology.network;
        let mut routes = Routes::default();
        let hosts = || topology.hosts.iter().copied();
        let pairs = hosts()
            .flat_map(|from| hosts().map(move |to| (from, to)))
            .filter(|(from, to)| from != to);
        let way = |(from, to)| {
            let route = routes.between(network, from, to).unwrap();
            let links: Vec<_> = routes
                .links(route)
                .map(|link| &network.links()[link])
                .collect();
            let delay: u64 = links
                .iter()
                .map(|link| link.delay.as_picos() / 1_000_000)
                .sum();
            (links.len() as u64 - 4, delay)
        };
        pairs.map(way).unzip()
    }

    /// The table on the page. Idle round trips are 1.05, .99 and 1.05 times Internet2's, which are
    /// 47.6 ms on average.
    #[test]
    fn the_page_has_the_first_networks() {
        let page = std::fs::read_to_string(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/simulator/topologies.md"
        ))
        .unwrap();
        for graph_seed in 1..=3 {
            let topology = built(&Isp {
                graph_seed,
                ..Isp::default()
            });
            let (degrees, (hops, delays)) = (degrees(&topology), ways(&topology));
            let mean = |all: &[u64]| all.iter().sum::<u64>() as f64 / all.len() as f64;
            let single = degrees.iter().filter(|degree| **degree == 1).count();
            let longest = hops.iter().max().unwrap();
            let delay = mean(&delays) / 1000.0;
            let row = format!(
                "| {graph_seed} | {single} | {} | {:.2} | {longest} | {delay:.1} ms |",
                degrees[82],
                mean(&hops)
            );
            assert!(page.contains(&row), "{row}");
            let times = [1.05, 0.99, 1.05][graph_seed as usize - 1];
            assert!((delay / 23.78 - times).abs() < 0.005, "{delay}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_network() {
        let links = |graph_seed| {
            let topology = built(&Isp {
                graph_seed,
                ..Isp::default()
            });
            core_links(&topology)
                .map(|link| (link.from, link.to, link.rate, link.delay))
                .collect::<Vec<_>>()
        };
        assert_eq!(links(7), links(7));
        assert_ne!(links(7), links(8));
    }

    /// In a star with one host at each router, a host sends a third of its rate to each of three
    /// others, and a leaf's link carries all that its host sends or receives.
    #[test]
    fn rates_are_what_links_carry() {
        let isp = Isp {
            routers: 4,
            links: 3,
            hosts: 4,
            slower: Billionths(0),
            ..Isp::default()
        };
        let star = [(0, 1), (0, 2), (0, 3)];
        assert_eq!(isp.loads(&star), [mbit(1000); 3]);
        let chain = [(0, 1), (1, 2), (2, 3)];
        assert_eq!(
            isp.loads(&chain),
            [1000, 1334, 1000].map(mbit),
            "4 of 12 ordered pairs cross the middle one way"
        );
        let slow = Isp {
            slower: Billionths(Billionths::ONE.0 / 3),
            ..isp
        };
        assert_eq!(slow.rates(&chain), [900, 1334, 1000].map(mbit));
        let two = Isp { hosts: 8, ..slow };
        assert_eq!(
            two.rates(&chain),
            [900, 2667, 2000].map(mbit),
            "two hosts a router: twice the load"
        );
    }

    #[test]
    fn all_pairs_may_be_joined() {
        let isp = Isp {
            routers: 12,
            links: 66,
            hosts: 12,
            ..Isp::default()
        };
        assert_eq!(links_of(&built(&isp), LinkClass::Core), 132);
        let tree = Isp {
            routers: 12,
            links: 11,
            hosts: 5,
            ..Isp::default()
        };
        assert_eq!(built(&tree).hosts.len(), 5);
    }

    #[test]
    fn errors_name_the_parameter_and_the_range() {
        let message = |isp: Isp| isp.build(&Queues::default()).unwrap_err().to_string();
        let plain = Isp::default;
        assert_eq!(
            message(Isp {
                links: 81,
                ..plain()
            }),
            "links: 81 is not in the legal range 82 to 3403"
        );
        assert_eq!(
            message(Isp {
                links: 3404,
                ..plain()
            }),
            "links: 3404 is not in the legal range 82 to 3403"
        );
        assert_eq!(
            message(Isp {
                routers: 2,
                ..plain()
            }),
            "routers: 2 is not in the legal range 3 to 1000"
        );
        assert_eq!(
            message(Isp {
                hosts: 1,
                ..plain()
            }),
            "hosts: 1 is not in the legal range 2 to 150000"
        );
        assert_eq!(
            message(Isp {
                hosts: 150_001,
                ..plain()
            }),
            "hosts: 150001 is not in the legal range 2 to 150000"
        );
        let rate = message(Isp {
            slower_rate: mbit(1000),
            ..plain()
        });
        assert_eq!(
            rate,
            "slower_rate: 1gbit: legal range 1bit to less than access_rate, 1gbit"
        );
        let delay = message(Isp {
            most_delay: Duration::ZERO,
            ..plain()
        });
        assert_eq!(delay, "most_delay: 0s: legal range from delay, 1ms");
    }
}
