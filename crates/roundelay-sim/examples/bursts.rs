//! UPS's Internet2 with 100 hosts, each flow a burst over UDP: results, and packet-hops a second.
//!
//! `bursts [SECONDS] [UTILISATION] [tenth] [drained] [FOLDER]`: half a second at 70 % by default.
//! `tenth` uses a tenth of the rates of I2:1Gbps-1Gbps. `drained` runs on without new flows until
//! all packets have arrived. With a folder, the network and the flows are written there, for other
//! simulators.

mod report;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use roundelay::Seed;
use roundelay::{Duration, Instant, Packet};
use roundelay_sim::sources::arrivals::{Arrivals, Carrier, Host};
use roundelay_sim::sources::{Sizes, Terms};
use roundelay_sim::topologies::{Internet2, Queues, Topology, Variant};
use roundelay_sim::{
    FlowCounts, FlowNumber, Network, NodeId, Opening, PacketState, Probe, Simulation, Tag,
};

/// Delays of ended flows, the peak number of packets on their way, and all flows if these are to be
/// written.
#[derive(Default)]
struct Delays {
    flows: u64,
    packets: u64,
    picos: u128,
    in_flight: u64,
    most_in_flight: u64,
    written: Option<BTreeMap<FlowNumber, (Instant, NodeId, NodeId, u64)>>,
}

impl Probe for Delays {
    fn opened(&mut self, now: Instant, flow: FlowNumber, Opening { from, to, .. }: Opening) {
        if let Some(written) = &mut self.written {
            written.insert(flow, (now, from, to, 0));
        }
    }

    fn sent(&mut self, _: Instant, _: &Packet<Tag>, _: &PacketState) {
        self.in_flight += 1;
        self.most_in_flight = self.most_in_flight.max(self.in_flight);
    }

    fn delivered(&mut self, _: Instant, _: &Packet<Tag>, _: &PacketState) {
        self.in_flight -= 1;
    }

    fn closed(&mut self, _: Instant, flow: FlowNumber, counts: &FlowCounts) {
        self.flows += 1;
        self.packets += counts.delivered;
        self.picos += counts.delays;
        if let Some((.., packets)) = self
            .written
            .as_mut()
            .and_then(|written| written.get_mut(&flow))
        {
            *packets = counts.sent;
        }
    }
}

fn main() {
    let (seconds, utilisation) = (report::argument(1, 0.5), report::argument(2, 0.7));
    let [is_tenth, is_drained] =
        ["tenth", "drained"].map(|word| std::env::args().any(|argument| argument == word));
    let folder = std::env::args()
        .skip(3)
        .find(|argument| !["tenth", "drained"].contains(&argument.as_str()));
    let queues = Queues::routers("fifo limit 100000000".parse().expect("a queue"));
    let variant = if is_tenth {
        Variant::Tenth
    } else {
        Variant::OneTen
    };
    let Topology { network, hosts, .. } = Internet2 {
        variant,
        ..Internet2::default()
    }
    .build(&queues)
    .expect("the paper's network");
    let end = Instant::ZERO + Duration::from_micros((seconds * 1e6) as u64);
    let hosts = hosts
        .into_iter()
        .zip(0..)
        .map(|(node, number)| Host {
            node,
            group: number % 10,
        })
        .collect();
    let link_rate = if is_tenth { "100mbit" } else { "1gbit" }
        .parse()
        .expect("a rate");
    let terms = Terms {
        stop: is_drained.then_some(end),
        ..Terms::new(NodeId(0), NodeId(0))
    };
    let (sizes, carrier) = (
        Sizes::named("ups").expect("it is built in"),
        Carrier::Burst { packet_len: 1460 },
    );
    let source = Arrivals::new(terms, hosts, link_rate, utilisation, sizes, carrier)
        .expect("a legal source");
    let probe = Delays {
        written: folder.is_some().then(BTreeMap::new),
        ..Delays::default()
    };
    let mut simulation =
        Simulation::with_probe(network, Seed::new(1), probe).expect("the queues are legal");
    simulation.spawn(Box::new(source), Instant::ZERO);
    report::run(&mut simulation, if is_drained { Instant::MAX } else { end });
    let Delays {
        flows,
        packets,
        picos,
        most_in_flight,
        ref written,
        ..
    } = *simulation.probe();
    println!("most_in_flight {most_in_flight}");
    println!("flows_over {flows}");
    println!("delivered {packets}");
    println!("mean_delay_ms {:.4}", picos as f64 / packets as f64 / 1e9);
    let waits: u128 = simulation.links().map(|link| link.waits).sum();
    println!("mean_wait_ms {:.6}", waits as f64 / packets as f64 / 1e9);
    if let (Some(folder), Some(flows)) = (folder, written) {
        let write = |name, text| {
            std::fs::write(format!("{folder}/{name}"), text)
                .unwrap_or_else(|error| panic!("{folder}: {error}"))
        };
        write("network.txt", network_as_text(simulation.network()));
        write("flows.txt", flows_as_text(flows));
    }
}

/// `link FROM TO BITS_PER_SECOND SECONDS` for each link, one way; `route NODE TO NEXT` for the
/// first hop between any two core routers.
fn network_as_text(network: &Network) -> String {
    let mut text = String::new();
    for link in network.links() {
        let _ = writeln!(
            text,
            "link {} {} {} {}",
            link.from.0,
            link.to.0,
            link.rate.bits_per_second(),
            link.delay.as_secs_f64()
        );
    }
    let cores = (0..10)
        .flat_map(|from| (0..10).map(move |to| (NodeId(from), NodeId(to))))
        .filter(|(from, to)| from != to);
    for (from, to) in cores {
        let first = network.route(from, to).expect("the cores are connected")[0];
        let _ = writeln!(
            text,
            "route {} {} {}",
            from.0,
            to.0,
            network.links()[first.0 as usize].to.0
        );
    }
    text
}

/// `SECONDS FROM TO PACKETS` for each flow.
fn flows_as_text(flows: &BTreeMap<FlowNumber, (Instant, NodeId, NodeId, u64)>) -> String {
    let mut text = String::new();
    for (start, from, to, packets) in flows.values() {
        let _ = writeln!(
            text,
            "{:.12} {} {} {packets}",
            start.as_picos() as f64 / 1e12,
            from.0,
            to.0
        );
    }
    text
}
