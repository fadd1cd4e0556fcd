//! UPS's Internet2 with 100 hosts, each flow a burst over UDP, at 70 %: how many packet-hops a second? `bursts [SECONDS] [SLOWER]`, where
//! all rates are divided by SLOWER.

mod networks;

use roundelay::{Duration, Instant, Rate};
use roundelay_sim::Simulation;
use roundelay_sim::sources::arrivals::{Arrivals, Config, Transport};
use roundelay_sim::sources::{Sizes, Urgency};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(0.5);
    let slower: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (network, hosts) = networks::internet2(slower, "fifo limit 100000000");
    let mut simulation = Simulation::new(network, 1).expect("the queues are legal");
    let config = Config {
        hosts,
        link_rate: Rate::from_bits_per_second(1_000_000_000 / slower).expect("not zero"),
        utilisation: 0.7,
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
    println!("{} packets are on their way", simulation.on_their_way());
    println!("{hops} packet-hops, {} events in {wall:.3} s: {:.1} M packet-hops a second", simulation.events(), hops as f64 / wall / 1e6);
}
