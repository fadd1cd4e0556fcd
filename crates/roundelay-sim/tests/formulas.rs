//! Formulas of queueing theory and fluid models, compared with long runs.

use roundelay::Seed;
use roundelay::{Bytes, Duration, FlowConfig, Instant};
use roundelay_sim::sources::Terms;
use roundelay_sim::sources::burst::{self, Burst};
use roundelay_sim::sources::poisson::{Lengths, Poisson};
use roundelay_sim::{
    FlowCounts, FlowNumber, FlowSpec, LinkConfig, Network, NodeId, Probe, Simulation,
};

use crate::Observed;

/// Two nodes with a link in each direction, without delay.
fn line(rate: &str, queue: &str) -> (Network, [NodeId; 2]) {
    let mut network = Network::default();
    let [from, to] = [network.add_node(), network.add_node()];
    for (from, to) in [(from, to), (to, from)] {
        let link = LinkConfig::new(
            from,
            to,
            rate.parse().expect("a rate"),
            Duration::ZERO,
            queue.parse().expect("a queue"),
        );
        network.add_link(link).expect("both ends are there");
    }
    (network, [from, to])
}

const BATCHES: u64 = 20;
/// Student's t for 95 % with 19 degrees of freedom.
const STUDENT: f64 = 2.093;

/// The mean wait in units of a mean packet's transmission time, and half the width of the 95 %
/// confidence interval, from the means of 20 batches. The mean packet is 1000 bytes; the link sends
/// 2000 such packets a second.
fn mean_wait(lengths: Lengths, load_percent: u64, packets: u64) -> (f64, f64) {
    let (network, [from, to]) = line("16mbit", "fifo limit 100000000");
    let rate = format!("{}kbit", 160 * load_percent)
        .parse()
        .expect("a rate");
    let source = Poisson::new(Terms::new(from, to), rate, lengths, None).expect("a legal source");
    let mut simulation =
        Simulation::new(network, Seed::new(load_percent)).expect("the queue is legal");
    simulation.spawn(Box::new(source), Instant::ZERO);
    let batch_millis = packets / BATCHES * 1000 / (20 * load_percent);
    let mut link = |end: u64| {
        simulation
            .run(Instant::ZERO + Duration::from_millis(batch_millis * end))
            .expect("the nodes are connected");
        simulation.links().next().expect("the first link")
    };
    // The first batch starts with an empty queue and is not counted.
    let mut before = link(1);
    let means: Vec<f64> = (2..BATCHES + 2)
        .map(|end| {
            let now = link(end);
            let mean =
                (now.waits - before.waits) as f64 / (now.packets - before.packets) as f64 / 0.5e9;
            before = now;
            mean
        })
        .collect();
    let mean = means.iter().sum::<f64>() / BATCHES as f64;
    let variance = means.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (BATCHES - 1) as f64;
    (mean, STUDENT * (variance / BATCHES as f64).sqrt())
}

/// Pollaczek-Khinchine: load / (1 - load) x E[S^2] / (2 E[S]^2), with E[S^2] / E[S]^2 = 1, 2 and
/// 1.5 (500 and 2000 bytes, two to one). The error is below 1 %; to make this significant, half the
/// width of the confidence interval is below 1 % too.
#[test]
#[ignore = "465 million packets: make test-full"]
fn waits_are_those_of_pollaczek_and_khinchine_within_one_percent() {
    let mix = Lengths::Mix(vec![(500, 2), (2000, 1)]);
    println!("queue load expected measured interval off_percent");
    for (name, lengths, squares) in [
        ("M/D/1", Lengths::Fixed(1000), 1.0),
        ("M/M/1", Lengths::Exponential(1000), 2.0),
        ("M/G/1", mix, 1.5),
    ] {
        for load_percent in (1..=9).map(|tenth| 10 * tenth) {
            let packets = match load_percent {
                90 => 100_000_000,
                80 => 20_000_000,
                _ => 5_000_000,
            };
            let load = load_percent as f64 / 100.0;
            let expected = load / (1.0 - load) * squares / 2.0;
            let (measured, interval) = mean_wait(lengths.clone(), load_percent, packets);
            println!(
                "{name} {load} {expected:.4} {measured:.4} {interval:.4} {:.2}",
                100.0 * (measured / expected - 1.0)
            );
            assert!(
                (measured / expected - 1.0).abs() < 0.01,
                "{name} at {load}: {measured} for {expected}"
            );
            assert!(
                interval / expected < 0.01,
                "{name} at {load}: the run is too short to say so: {interval}"
            );
        }
    }
}

/// End time of each flow.
#[derive(Default)]
struct Ends(Vec<(FlowNumber, Instant)>);

impl Probe for Ends {
    fn closed(&mut self, now: Instant, flow: FlowNumber, _: &FlowCounts) {
        self.0.push((flow, now));
    }
}

/// Weights and bytes of simultaneous bursts.
const BURSTS: [(u32, u64); 5] = [
    (1, 30_000),
    (2, 90_000),
    (4, 60_000),
    (8, 400_000),
    (1, 100_000),
];
const PACKET: u64 = 1000;

/// Seconds until the fluid server has served each flow `bytes_per_weight` for each unit of weight,
/// or the whole burst, at 8 Mbit/s.
fn fluid(bytes_per_weight: f64) -> f64 {
    BURSTS
        .iter()
        .map(|(weight, bytes)| (bytes_per_weight * f64::from(*weight)).min(*bytes as f64))
        .sum::<f64>()
        / 1e6
}

/// How much later each burst ends than in the fluid server, and how much later than the last packet
/// but one ends there, in packet transmission times.
fn lags(queue: &str) -> Vec<[f64; 2]> {
    let (network, [from, to]) = line("8mbit", queue);
    let mut ends = Ends::default();
    let mut simulation =
        Observed::with_probe(network, Seed::new(1), &mut ends).expect("the queue is legal");
    for (weight, size_bytes) in BURSTS {
        let flow = FlowSpec {
            from,
            to,
            config: Some(FlowConfig {
                weight,
                ..FlowConfig::default()
            }),
        };
        let config = burst::Config {
            size: Bytes(size_bytes),
            packet_len: PACKET as u32,
        };
        simulation.spawn(
            Box::new(
                Burst::new(
                    Terms {
                        flow,
                        ..Terms::new(from, to)
                    },
                    config,
                )
                .expect("a legal source"),
            ),
            Instant::ZERO,
        );
    }
    simulation
        .run(Instant::MAX)
        .expect("the nodes are connected");
    let Ends(mut ends) = ends;
    ends.sort_by_key(|(flow, _)| *flow);
    let lag = |((_, end), (weight, bytes)): (&(FlowNumber, Instant), (u32, u64))| {
        let ended = end.since(Instant::ZERO).as_secs_f64();
        [bytes, bytes - PACKET].map(|bytes| (ended - fluid(bytes as f64 / f64::from(weight))) * 1e3)
    };
    ends.iter().zip(BURSTS).map(lag).collect()
}

/// Fluid sharing in closed form: with all flows backlogged from time 0, flow i ends at the sum over
/// j of min(B_j, w_j B_i / w_i), divided by the rate. WF2Q+ ends each burst at most one packet
/// later, and not before the fluid server begins the last packet (J. C. R. Bennett, H. Zhang,
/// "WF2Q: Worst-case Fair Weighted Fair Queueing", INFOCOM 1996). FIFO must fail this test.
#[test]
fn bursts_end_with_those_of_the_fluid_server() {
    let is_near = |[after_end, after_last_but_one]: &[f64; 2]| {
        *after_end <= 1.0 + 1e-6 && *after_last_but_one >= -1e-6
    };
    for queue in ["wf2q limit 100000", "wf2q_plus limit 100000"] {
        let lags = lags(queue);
        assert_eq!(lags.len(), BURSTS.len());
        assert!(lags.iter().all(is_near), "{queue}: {lags:.3?}");
    }
    assert!(!lags("fifo limit 100000").iter().all(is_near));
}
