//! AFD: claims of `afd.rs`, and disciplines that break them. Drop probabilities and missed updates
//! are tested beside the code.

use roundelay::schedulers::{Discipline, afd, drr, fifo};
use roundelay::{Control, Seed};
use roundelay::{FlowId, Instant, Limit, Packet, QueueSpec, Scheduler};
use roundelay_metrics::jain_index;

use crate::theorems::red::{LEN, Scene, Traffic};

fn build(config: afd::Config) -> afd::Afd<u64> {
    config.build(Seed::new(1)).expect("legal parameters")
}

/// Twelve senders from 0.1 to 4.3 times an equal share of 10 Mbit/s: a load of 1.6.
const RATES: [u64; 12] = [
    80, 120, 200, 400, 600, 1000, 1200, 1500, 1900, 2400, 3000, 3600,
];

fn scene() -> Scene {
    Scene {
        link: 10_000_000,
        limit: Limit::of_packets(300),
        constant: RATES.map(|kbit| kbit * 1000).to_vec(),
        seconds: 30,
        ..Default::default()
    }
}

/// Max-min fair rates: the fair rate is an equal share, among the flows that want more, of the
/// bandwidth left by the others.
fn max_min(rates: &[u64], link: u64) -> Vec<f64> {
    let mut sorted = rates.to_vec();
    sorted.sort_unstable();
    let (mut left, mut fair) = (link as f64, 0.0);
    for (served, rate) in sorted.iter().enumerate() {
        fair = left / (rates.len() - served) as f64;
        if *rate as f64 > fair {
            break;
        }
        left -= *rate as f64;
    }
    rates.iter().map(|rate| (*rate as f64).min(fair)).collect()
}

/// Jain's index of the flows' rates over their fair rates, and the largest deviation.
fn fairness(scene: &Scene, traffic: &Traffic) -> (f64, f64) {
    let seconds = (scene.seconds - scene.settle) as f64;
    let got = traffic
        .sent
        .iter()
        .map(|bytes| *bytes as f64 * 8.0 / seconds);
    let ratios: Vec<f64> = got
        .zip(max_min(&scene.constant, scene.link))
        .map(|(got, due)| got / due)
        .collect();
    let worst = ratios
        .iter()
        .map(|ratio| (ratio - 1.0).abs())
        .fold(0.0, f64::max);
    (jain_index(&ratios).unwrap_or(0.0), worst)
}

#[test]
fn unequal_senders_get_max_min_fair_rates() {
    let scene = scene();
    let of = |traffic: &Traffic| fairness(&scene, traffic);
    let afd = of(&scene.run(&afd::Config::default(), 1));
    let (fifo, drr) = (
        of(&scene.run(&fifo::Config, 1)),
        of(&scene.run(&drr::Config::default(), 1)),
    );
    println!("(Jain, largest deviation): AFD {afd:.3?}, FIFO {fifo:.3?}, DRR {drr:.3?}");
    let is_fair = |(jain, worst): (f64, f64)| jain > 0.99 && worst < 0.15;
    assert!(is_fair(afd) && is_fair(drr));
    assert!(
        !is_fair(fifo),
        "the check finds a queue that gives whoever sends more, more"
    );
}

#[test]
fn slow_flows_are_left_alone() {
    let loss = |traffic: &Traffic| (0..5).map(|flow| traffic.loss(flow)).fold(0.0, f64::max);
    let (afd, fifo) = (
        loss(&scene().run(&afd::Config::default(), 1)),
        loss(&scene().run(&fifo::Config, 1)),
    );
    println!("largest loss of flows below half of the fair rate: AFD {afd:.4}, FIFO {fifo:.4}");
    assert!(afd < 0.02 && fifo > 0.2, "{afd} {fifo}");
}

#[test]
fn the_queue_stays_around_its_target() {
    for target in [25_000, 50_000, 100_000] {
        let afd = scene().run(
            &afd::Config {
                target,
                ..Default::default()
            },
            1,
        );
        let ratio = |traffic: &Traffic| traffic.mean_backlog / target as f64;
        assert!(
            (0.6..1.4).contains(&ratio(&afd)) && afd.full == 0,
            "{:.2} of {target}",
            ratio(&afd)
        );
        assert!(
            ratio(&scene().run(&fifo::Config, 1)) > 2.0,
            "FIFO's is as long as the buffer"
        );
    }
}

/// Responsive senders and one unresponsive sender: the latter gets twice the fair rate, since
/// responsive senders stay below the fair rate half of the time.
#[test]
fn an_unresponsive_flow_gets_little_more_than_the_others() {
    let scene = Scene {
        constant: vec![5_000_000],
        responsive: 19,
        link: 10_000_000,
        limit: Limit::of_packets(300),
        ..Default::default()
    };
    let times_fair = |traffic: &Traffic| traffic.share(0) * 20.0;
    let (afd, fifo) = (
        times_fair(&scene.run(&afd::Config::default(), 1)),
        times_fair(&scene.run(&fifo::Config, 1)),
    );
    println!(
        "a flow of half the link's rate among 19 that respond, over its fair share: AFD {afd:.2}, FIFO {fifo:.2}"
    );
    assert!(afd < 2.5 && fifo > 5.0, "{afd} {fifo}");
}

#[test]
fn memory_does_not_grow_with_flows() {
    let mut scheduler = build(Default::default());
    let before = scheduler.footprint();
    for flow in 0..100_000u32 {
        assert!(
            scheduler
                .enqueue(
                    Instant::ZERO,
                    Packet::new(FlowId(flow.wrapping_mul(0x9e37_79b9)), LEN, 0)
                )
                .is_ok()
        );
        assert!(scheduler.dequeue(Instant::ZERO).is_some() || scheduler.take_dropped().is_some());
    }
    assert_eq!(scheduler.footprint(), before);
    assert_eq!(before.bytes_per_flow, 0);
}

#[test]
fn it_reads_as_it_is_written() {
    let spec: QueueSpec = "afd limit 300 target 25kb shadow 1000 sample 10 alpha 1.7 beta 1.9"
        .parse()
        .expect("legal");
    assert_eq!(
        spec.discipline.to_string(),
        "afd target 25kb shadow 1000 sample 10 beta 1.9"
    );
    assert!(
        "afd shadow 0".parse::<QueueSpec>().is_err()
            && "afd sample 0".parse::<QueueSpec>().is_err()
    );
}
