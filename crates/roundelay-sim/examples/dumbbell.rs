//! The MQFQ paper's dumbbell with 50 CBR flows: results, and packet-hops a second.
//! `dumbbell [SECONDS] [STARTS]`.

mod report;

use roundelay::Seed;
use roundelay::{Duration, Instant};
use roundelay_sim::Simulation;
use roundelay_sim::sources::Terms;
use roundelay_sim::sources::cbr::{Cbr, Config};
use roundelay_sim::topologies::Topology;

fn main() {
    let seconds = report::argument(1, 1000);
    let Topology { network, hosts, .. } = report::dumbbell::built();
    let mut simulation = Simulation::new(network, Seed::new(1)).expect("the queues are legal");
    for ((&from, &to), start) in hosts[..50]
        .iter()
        .zip(&hosts[50..])
        .zip(report::dumbbell::starts())
    {
        let terms = Terms {
            start,
            ..Terms::new(from, to)
        };
        let config = Config::new("150kbit".parse().expect("a rate"), 1000);
        simulation.spawn(
            Box::new(Cbr::new(terms, config).expect("a legal source")),
            Instant::ZERO,
        );
    }
    report::run(
        &mut simulation,
        Instant::ZERO + Duration::from_secs(seconds),
    );
    let flows: Vec<_> = simulation
        .flows()
        .map(|(_, counts)| counts.delivered)
        .collect();
    report::dumbbell::report(&simulation, seconds, &flows);
}
