//! The MQFQ paper's dumbbell with 50 bulk TCP flows: how many packet-hops a second? `bulk_tcp [SECONDS]`.
use roundelay::{Duration, Instant};
use roundelay_sim::Simulation;
use roundelay_sim::sources::Terms;
use roundelay_sim::sources::tcp::{Config, Tcp};
use roundelay_sim::topologies::{Dumbbell, Queues, Topology};

fn main() {
    let seconds: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    let queues = Queues { core: "fifo limit 100".parse().expect("a queue"), ..Queues::default() };
    let Topology { network, hosts } = Dumbbell::default().build(&queues).expect("the paper's network");
    let mut simulation = Simulation::new(network, 1).expect("the queues are legal");
    let protocol = roundelay_tcp::Config { segment_len: 960, header_len: 40, ..roundelay_tcp::Config::ns2_newreno_sack1() };
    for (&from, &to) in hosts[..50].iter().zip(&hosts[50..]) {
        let terms = Terms { start_jitter: Duration::from_secs(1), ..Terms::new(from, to) };
        simulation.spawn(Box::new(Tcp::new(Config { terms, protocol, size_bytes: None }).expect("a legal source")), Instant::ZERO);
    }
    let start = std::time::Instant::now();
    simulation.run(Instant::ZERO + Duration::from_secs(seconds)).expect("all nodes are connected");
    let wall = start.elapsed().as_secs_f64();
    let hops: u64 = simulation.links().map(|link| link.packets).sum();
    let bottleneck = simulation.links().next().expect("the first link");
    let utilisation = bottleneck.bytes as f64 * 8.0 / 5e6 / seconds as f64;
    let arrived: Vec<u64> = simulation.flows().map(|(_, counts)| counts.delivered).collect();
    let (sum, squares) = arrived.iter().fold((0.0, 0.0), |(s, q), &x| (s + x as f64, q + (x as f64).powi(2)));
    println!(
        "utilisation {utilisation:.4}, loss {:.4}, mean wait {:.1} ms, Jain {:.3}",
        bottleneck.dropped.iter().sum::<u64>() as f64 / bottleneck.arrived as f64,
        bottleneck.waits as f64 / bottleneck.packets as f64 / 1e9,
        sum * sum / 50.0 / squares
    );
    println!("{hops} packet-hops, {} events in {wall:.3} s: {:.1} M packet-hops a second", simulation.events(), hops as f64 / wall / 1e6);
}
