//! The MQFQ paper's dumbbell with 50 bulk TCP flows (NewReno): results, and packet-hops a second.
//! `bulk_tcp [SECONDS] [STARTS] [LEAST_TIMEOUT_MILLISECONDS]`.

mod report;

use roundelay::Seed;
use roundelay::{Duration, Instant};
use roundelay_sim::sources::Terms;
use roundelay_sim::sources::tcp::Tcp;
use roundelay_sim::topologies::Topology;
use roundelay_sim::{FlowNumber, Probe, Report, Simulation};
use roundelay_tcp::Config as Protocol;

/// Reports of the flows when they were stopped.
#[derive(Default)]
struct Reports(Vec<(FlowNumber, Report)>);

impl Probe for Reports {
    fn reported(&mut self, _: Instant, flow: FlowNumber, report: &Report) {
        self.0.push((flow, *report));
    }
}

fn main() {
    let seconds = report::argument(1, 1000);
    let stop = Instant::ZERO + Duration::from_secs(seconds);
    let Topology { network, hosts, .. } = report::dumbbell::built();
    let mut simulation = Simulation::with_probe(network, Seed::new(1), Reports::default())
        .expect("the queues are legal");
    // 1000 bytes on the wire and a clock of a millisecond, as set for ns-2 and ns-3.
    let (granularity, min_timeout) = (
        Duration::from_millis(1),
        Duration::from_millis(report::argument(3, 200)),
    );
    let protocol = Protocol {
        segment_len: 960,
        header_len: 40,
        granularity,
        min_timeout,
        ..Protocol::ns2_newreno_sack1()
    };
    for ((&from, &to), start) in hosts[..50]
        .iter()
        .zip(&hosts[50..])
        .zip(report::dumbbell::starts())
    {
        let terms = Terms {
            start,
            stop: Some(stop),
            ..Terms::new(from, to)
        };
        simulation.spawn(
            Box::new(Tcp::new(terms, protocol, None).expect("a legal source")),
            Instant::ZERO,
        );
    }
    report::run(&mut simulation, stop + Duration::from_picos(1));
    let Reports(reports) = simulation.probe_mut();
    reports.sort_by_key(|(flow, _)| *flow);
    println!(
        "retransmissions {}",
        reports
            .iter()
            .map(|(_, report)| report.retransmissions)
            .sum::<u64>()
    );
    let flows: Vec<_> = reports
        .iter()
        .map(|(_, report)| report.bytes / 960)
        .collect();
    report::dumbbell::report(&simulation, seconds, &flows);
}
