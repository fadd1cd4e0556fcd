//! The MQFQ paper's dumbbell with 50 CBR flows: how many packet-hops a second? `dumbbell [SECONDS]`.

use roundelay::{Duration, Instant};
use roundelay_sim::Simulation;
use roundelay_sim::sources::Terms;
use roundelay_sim::sources::cbr::{Cbr, Config};
use roundelay_sim::topologies::{Dumbbell, Queues, Topology};

fn main() {
    let seconds: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    let queues = Queues { core: "fifo limit 100".parse().expect("a queue"), ..Queues::default() };
    let Topology { network, hosts } = Dumbbell::default().build(&queues).expect("the paper's network");
    let mut simulation = Simulation::new(network, 1).expect("the queues are legal");
    for (&from, &to) in hosts[..50].iter().zip(&hosts[50..]) {
        let config = Config { terms: Terms::new(from, to), rate: "150kbit".parse().expect("a rate"), packet_len: 1000 };
        simulation.spawn(Box::new(Cbr::new(config).expect("a legal source")), Instant::ZERO);
    }
    let start = std::time::Instant::now();
    simulation.run(Instant::ZERO + Duration::from_secs(seconds)).expect("all nodes are connected");
    let wall = start.elapsed().as_secs_f64();
    let hops: u64 = simulation.links().map(|link| link.packets).sum();
    let arrived: Vec<u64> = simulation.flows().map(|(_, counts)| counts.delivered).collect();
    let (sum, squares) = arrived.iter().fold((0.0, 0.0), |(s, q), &x| (s + x as f64, q + (x as f64).powi(2)));
    println!("{sum} packets delivered, Jain {:.3}", sum * sum / 50.0 / squares);
    println!("{hops} packet-hops, {} events in {wall:.3} s: {:.1} M packet-hops a second", simulation.events(), hops as f64 / wall / 1e6);
}
