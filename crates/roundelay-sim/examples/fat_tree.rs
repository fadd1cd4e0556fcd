//! A fat tree of 10 Gbit/s with flows spread over many shortest paths: packet-hops a second, and
//! memory.
//!
//! `fat_tree [MILLISECONDS] [K] [LOAD] [tcp]`: by default 10 ms, 16 (1,024 hosts) and 0.3 of each
//! host's link. Each host sends a Poisson process of packets of 1500 bytes to the host half the
//! tree away: six links. With `tcp`, flows with the sizes of web search arrive at the same load
//! between random hosts.

mod report;

use roundelay::Seed;
use roundelay::{Duration, Instant, Rate};
use roundelay_sim::sources::arrivals::{Arrivals, Carrier, Host};
use roundelay_sim::sources::poisson::{Lengths, Poisson};
use roundelay_sim::sources::{Sizes, Terms};
use roundelay_sim::topologies::{FatTree, Queues, Topology};
use roundelay_sim::{NodeId, Routing, Simulation};

fn main() {
    let (millis, k, load) = (
        report::argument(1, 10),
        report::argument(2, 16_u32),
        report::argument(3, 0.3),
    );
    let tree = FatTree {
        k,
        ..FatTree::default()
    };
    let Topology {
        mut network, hosts, ..
    } = tree.build(&Queues::default()).expect("a legal tree");
    network.set_routing(Routing {
        spread: Some(1),
        ..Routing::default()
    });
    println!("hosts {}", hosts.len());
    println!("links {}", network.links().len());
    let mut simulation = Simulation::new(network, Seed::new(1)).expect("the queues are legal");
    if std::env::args().any(|argument| argument == "tcp") {
        simulation.spawn(Box::new(web_search(&hosts, tree.rate, load)), Instant::ZERO);
    } else {
        datagrams(&mut simulation, &hosts, tree.rate, load);
    }
    report::run(
        &mut simulation,
        Instant::ZERO + Duration::from_millis(millis),
    );
}

fn datagrams(simulation: &mut Simulation, hosts: &[NodeId], link: Rate, load: f64) {
    let rate = Rate::from_bits_per_second((link.bits_per_second() as f64 * load) as u64)
        .expect("a load above 0");
    for (number, &from) in hosts.iter().enumerate() {
        let to = hosts[(number + hosts.len() / 2) % hosts.len()];
        let source = Poisson::new(Terms::new(from, to), rate, Lengths::Fixed(1500), None);
        simulation.spawn(Box::new(source.expect("a legal source")), Instant::ZERO);
    }
}

fn web_search(hosts: &[NodeId], link_rate: Rate, utilisation: f64) -> Arrivals {
    let min_timeout = Duration::from_millis(10);
    let protocol = roundelay_tcp::Config {
        min_timeout,
        delayed_acknowledgement: None,
        ..roundelay_tcp::Config::rfc()
    };
    let (terms, hosts) = (
        Terms::new(hosts[0], hosts[0]),
        hosts
            .iter()
            .zip(0..)
            .map(|(&node, group)| Host { node, group })
            .collect(),
    );
    let sizes = Sizes::named("web_search").expect("it is built in");
    Arrivals::new(
        terms,
        hosts,
        link_rate,
        utilisation,
        sizes,
        Carrier::Tcp(protocol),
    )
    .expect("a legal source")
}
