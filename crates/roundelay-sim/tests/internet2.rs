//! Flows of UPS's workload on its idle network: completion times that follow from the network, the sizes and TCP alone.

use roundelay::{Duration, Instant};
use roundelay_sim::sources::Terms;
use roundelay_sim::sources::tcp::{Config, Tcp};
use roundelay_sim::topologies::{Internet2, Queues, Topology};
use roundelay_sim::{FlowNumber, Probe, Report, Simulation};

#[derive(Default)]
struct Reports(Vec<Report>);

impl Probe for Reports {
    fn reported(&mut self, _: Instant, _: FlowNumber, report: &Report) {
        self.0.push(*report);
    }
}

/// Sizes in packets, and their parts in 10,000.
const SIZES: [(u64, f64); 11] = [
    (1, 5000.0),
    (2, 1000.0),
    (3, 1000.0),
    (5, 500.0),
    (7, 500.0),
    (40, 125.0),
    (72, 125.0),
    (137, 250.0),
    (267, 500.0),
    (1187, 500.0),
    (2107, 500.0),
];

/// A pair of hosts for each distance from one to four core links, and how many of the 90 ordered pairs of core routers are so far apart.
const PAIRS: [([usize; 2], f64); 4] = [([0, 1], 32.0), ([0, 4], 34.0), ([0, 8], 18.0), ([2, 9], 6.0)];

/// One flow after the other, of each size over each distance.
fn reports() -> Vec<Report> {
    let queues = Queues::routers("fifo limit 1000000".parse().expect("a queue"));
    let Topology { network, hosts } = Internet2::default().build(&queues).expect("the paper's network");
    let mut simulation = Simulation::with_probe(network, 1, Reports::default()).expect("the queues are legal");
    let mut start = Instant::ZERO;
    for (([from, to], _), core_links) in PAIRS.into_iter().zip(1..) {
        let [from, to] = [hosts[from], hosts[to]];
        assert_eq!(simulation.network().route(from, to).expect("connected").len(), 4 + core_links);
        for (packets, _) in SIZES {
            let terms = Terms { start, ..Terms::new(from, to) };
            let config = Config { terms, protocol: roundelay_tcp::Config::ns2_newreno_sack1(), size_bytes: Some(packets * 1460) };
            simulation.spawn(Box::new(Tcp::new(config).expect("a legal source")), Instant::ZERO);
            start += Duration::from_secs(5);
        }
    }
    simulation.run(start).expect("all nodes are connected");
    std::mem::take(&mut simulation.probe_mut().0)
}

/// What follows from distances, sizes, a SYN exchange and a first window of two packets by arithmetic alone is a mean of 181.3 ms, and 536
/// ms if each flow counts by its bytes; the paper has 182 ms for SJF and 537 ms for FQ at 30 % load. A flow is over when its sender knows
/// that it is.
#[test]
fn completion_times_on_an_idle_network() {
    let (mut mean, mut by_bytes, mut packets) = (0.0, 0.0, 0.0);
    for (place, report) in reports().iter().enumerate() {
        let (size, part) = (SIZES[place % 11].0 as f64, SIZES[place % 11].1 / 10_000.0 * PAIRS[place / 11].1 / 90.0);
        let seconds = report.acknowledged_after().expect("nothing is lost").as_secs_f64();
        assert_eq!((report.is_complete, report.retransmissions), (true, 0));
        mean += part * seconds;
        by_bytes += part * size * seconds;
        packets += part * size;
    }
    assert!((packets - 184.475).abs() < 1e-9);
    assert!((mean / 0.1813 - 1.0).abs() < 0.005, "{mean}");
    assert!((by_bytes / packets / 0.536 - 1.0).abs() < 0.005, "{}", by_bytes / packets);
}
