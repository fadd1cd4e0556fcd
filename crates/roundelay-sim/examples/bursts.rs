//! UPS's Internet2 with 100 hosts, each flow a burst over UDP: how many packet-hops a second? `bursts [SECONDS] [UTILISATION] [tenth]`:
//! half a second at 70 % if not said otherwise; with `tenth` at a tenth of the rates of I2:1Gbps-1Gbps.

use roundelay::{Duration, Instant};
use roundelay_sim::sources::arrivals::{Arrivals, Config, Host, Transport};
use roundelay_sim::sources::{Sizes, Urgency};
use roundelay_sim::topologies::{Internet2, Queues, Topology, Variant};
use roundelay_sim::{FlowCounts, FlowNumber, Probe, Simulation};

/// What flows that are over had of delay.
#[derive(Default)]
struct Delays {
    flows: u64,
    packets: u64,
    picos: u128,
}

impl Probe for Delays {
    fn closed(&mut self, _: Instant, _: FlowNumber, counts: &FlowCounts) {
        self.flows += 1;
        self.packets += counts.delivered;
        self.picos += counts.delays;
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let argument = |place: usize, default: f64| arguments.get(place).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (seconds, utilisation) = (argument(0, 0.5), argument(1, 0.7));
    let is_tenth = arguments.get(2).is_some_and(|text| text == "tenth");
    let variant = if is_tenth { Variant::Tenth } else { Variant::OneTen };
    let queues = Queues::routers("fifo limit 100000000".parse().expect("a queue"));
    let Topology { network, hosts } = Internet2 { variant, ..Internet2::default() }.build(&queues).expect("the paper's network");
    let hosts = hosts.into_iter().zip(0..).map(|(node, number)| Host { node, group: number % 10 }).collect();
    let mut simulation = Simulation::with_probe(network, 1, Delays::default()).expect("the queues are legal");
    let config = Config {
        hosts,
        link_rate: if is_tenth { "100mbit" } else { "1gbit" }.parse().expect("a rate"),
        utilisation,
        sizes: Sizes::named("ups").expect("it is built in"),
        transport: Transport::Burst { packet_len: 1460 },
        start: Instant::ZERO,
        stop: None,
        urgency: Urgency::None,
        flow: None,
    };
    simulation.spawn(Box::new(Arrivals::new(config).expect("a legal source")), Instant::ZERO);
    let start = std::time::Instant::now();
    simulation.run(Instant::ZERO + Duration::from_micros((seconds * 1e6) as u64)).expect("all nodes are connected");
    let wall = start.elapsed().as_secs_f64();
    let hops: u64 = simulation.links().map(|link| link.packets).sum();
    let Delays { flows, packets, picos } = *simulation.probe();
    let delay = picos as f64 / packets as f64 / 1e9;
    println!("{flows} flows are over: {packets} packets, mean delay {delay:.2} ms; {} are on their way", simulation.on_their_way());
    println!("{hops} packet-hops, {} events in {wall:.3} s: {:.1} M packet-hops a second", simulation.events(), hops as f64 / wall / 1e6);
}
