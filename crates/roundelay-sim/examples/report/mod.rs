//! Output of the examples: one key with its values a line, as in the scripts in `peers/`, for
//! comparison of runs.

use roundelay::Instant;
use roundelay_sim::topologies::{Queues, Topology};
use roundelay_sim::{LinkCounts, Probe, Simulation};

/// Runs until `end`, or until no event is left, and prints results of flows and links, and the
/// speed.
pub(crate) fn run<P: Probe>(simulation: &mut Simulation<P>, end: Instant) {
    let clock = std::time::Instant::now();
    simulation.run(end).expect("all nodes are connected");
    let wall = clock.elapsed().as_secs_f64();
    let hops: u64 = simulation.links().map(|link| link.packets).sum();
    println!("packet_hops {hops}");
    println!("events {}", simulation.events());
    println!("in_flight {}", simulation.on_their_way());
    println!(
        "dropped {}",
        simulation.links().map(|link| drops(&link)).sum::<u64>()
    );
    println!("wall_seconds {wall:.3}");
    println!(
        "million_packet_hops_a_second {:.2}",
        hops as f64 / wall / 1e6
    );
    if let Some(peak) = peak_kilobytes() {
        println!("peak_memory_mb {:.1}", peak / 1024.0);
    }
}

/// Peak memory of the process, if the system reports it.
fn peak_kilobytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

fn drops(link: &LinkCounts) -> u64 {
    link.dropped.iter().sum()
}

/// The number at this position on the command line.
pub(crate) fn argument<T: std::str::FromStr>(place: usize, default: T) -> T {
    std::env::args()
        .nth(place)
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// The MQFQ paper's network: 50 senders, 50 receivers, and drop tail with 100 packets at the
/// bottleneck.
#[allow(dead_code, reason = "not all examples are on the dumbbell")]
pub(crate) mod dumbbell {
    use roundelay_sim::topologies::Dumbbell;

    use super::*;

    pub(crate) fn built() -> Topology {
        let queues = Queues {
            core: "fifo limit 100".parse().expect("a queue"),
            ..Queues::default()
        };
        Dumbbell::default()
            .build(&queues)
            .expect("the paper's network")
    }

    /// Start times of the flows in seconds, one a line, from the file given as the second argument.
    /// By default all flows start at once.
    pub(crate) fn starts() -> Vec<Instant> {
        let Some(path) = std::env::args().nth(2) else {
            return vec![Instant::ZERO; 50];
        };
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let start = |line: &str| {
            Instant::from_nanos(
                (line.parse::<f64>().expect("a number of seconds a line") * 1e9).round() as u64,
            )
        };
        let starts: Vec<_> = text.lines().map(start).collect();
        assert_eq!(starts.len(), 50, "{path}: a line for each of 50 flows");
        starts
    }

    /// Prints the number of packets received by flow, in the order of starts, and the counts of the
    /// bottleneck.
    pub(crate) fn report<P: Probe>(simulation: &Simulation<P>, seconds: u64, flows: &[u64]) {
        println!(
            "flows {}",
            flows
                .iter()
                .map(u64::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        );
        let bottleneck = simulation.links().next().expect("the first link");
        println!("bottleneck_arrived {}", bottleneck.arrived);
        println!("bottleneck_dropped {}", drops(&bottleneck));
        println!("bottleneck_departed {}", bottleneck.packets);
        println!(
            "bottleneck_queue {:.4}",
            bottleneck.waits as f64 / 1e12 / seconds as f64
        );
    }
}
