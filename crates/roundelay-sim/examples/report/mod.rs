//! What the examples print: a key and its values a line, as the scripts in `peers/` do, so that runs stand side by side.

use roundelay::Instant;
use roundelay_sim::topologies::{Queues, Topology};
use roundelay_sim::{LinkCounts, Probe, Simulation};

/// Lets time go on until `end`, or until nothing is left to happen, and prints what came of flows and links and how fast that was.
pub(crate) fn run<P: Probe>(simulation: &mut Simulation<P>, end: Instant) {
    let clock = std::time::Instant::now();
    simulation.run(end).expect("all nodes are connected");
    let wall = clock.elapsed().as_secs_f64();
    let hops: u64 = simulation.links().map(|link| link.packets).sum();
    println!("packet_hops {hops}");
    println!("events {}", simulation.events());
    println!("in_flight {}", simulation.on_their_way());
    println!("dropped {}", simulation.links().map(|link| drops(&link)).sum::<u64>());
    println!("wall_seconds {wall:.3}");
    println!("million_packet_hops_a_second {:.2}", hops as f64 / wall / 1e6);
    if let Some(peak) = peak_kilobytes() {
        println!("peak_memory_mb {:.1}", peak / 1024.0);
    }
}

/// The largest part of memory that the process has had, where the system tells.
fn peak_kilobytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

fn drops(link: &LinkCounts) -> u64 {
    link.dropped.iter().sum()
}

/// The number given in this place on the command line.
pub(crate) fn argument<T: std::str::FromStr>(place: usize, default: T) -> T {
    std::env::args().nth(place).and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The MQFQ paper's network: 50 senders, 50 receivers, drop tail with 100 packets before the link between.
#[allow(dead_code, reason = "not all examples are on the dumbbell")]
pub(crate) mod dumbbell {
    use roundelay_sim::topologies::Dumbbell;

    use super::*;

    pub(crate) fn built() -> Topology {
        let queues = Queues { core: "fifo limit 100".parse().expect("a queue"), ..Queues::default() };
        Dumbbell::default().build(&queues).expect("the paper's network")
    }

    /// Starts of the flows: a line each in the file given second on the command line, in seconds. Without it all start at once.
    pub(crate) fn starts() -> Vec<Instant> {
        let Some(path) = std::env::args().nth(2) else { return vec![Instant::ZERO; 50] };
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let start = |line: &str| Instant::from_nanos((line.parse::<f64>().expect("a number of seconds a line") * 1e9).round() as u64);
        let starts: Vec<_> = text.lines().map(start).collect();
        assert_eq!(starts.len(), 50, "{path}: a line for each of 50 flows");
        starts
    }

    /// Prints how many packets of each flow came, in the order of their starts, and what came of the bottleneck.
    pub(crate) fn report<P: Probe>(simulation: &Simulation<P>, seconds: u64, flows: &[u64]) {
        println!("flows {}", flows.iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
        let bottleneck = simulation.links().next().expect("the first link");
        println!("bottleneck_arrived {}", bottleneck.arrived);
        println!("bottleneck_dropped {}", drops(&bottleneck));
        println!("bottleneck_departed {}", bottleneck.packets);
        println!("bottleneck_queue {:.4}", bottleneck.waits as f64 / 1e12 / seconds as f64);
    }
}
