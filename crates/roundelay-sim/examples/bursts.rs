//! UPS's Internet2 with 100 hosts, each flow a burst over UDP: how many packet-hops a second? `bursts [SECONDS] [UTILISATION] [SLOWER]`:
//! half a second at 70 % if not said otherwise; all rates are divided by SLOWER.

mod networks;

use roundelay::{Duration, Instant, Rate};
use roundelay_sim::sources::arrivals::{Arrivals, Config, Transport};
use roundelay_sim::sources::{Sizes, Urgency};
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
    let arguments: Vec<f64> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let argument = |place: usize, default| arguments.get(place).copied().unwrap_or(default);
    let (seconds, utilisation, slower) = (argument(0, 0.5), argument(1, 0.7), argument(2, 1.0) as u64);
    let (network, hosts) = networks::internet2(slower, "fifo limit 100000000");
    let mut simulation = Simulation::with_probe(network, 1, Delays::default()).expect("the queues are legal");
    let config = Config {
        hosts,
        link_rate: Rate::from_bits_per_second(1_000_000_000 / slower).expect("not zero"),
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
