//! What `sfb.rs` claims, and disciplines that break it.

use proptest::prelude::*;
use roundelay::schedulers::{Discipline, Spec, fifo, sfb};
use roundelay::{Billionths, Duration, Ecn, FlowId, Instant, Limit, Packet, Scheduler};

use crate::choke::is_as_chance_has_it;
use crate::red::{LEN, Scene, Traffic};

fn millis(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn build(config: sfb::Config, seed: u64) -> sfb::Sfb<u64> {
    config.build(seed).expect("legal parameters")
}

fn offer(scheduler: &mut sfb::Sfb<u64>, now: Instant, flow: u32) -> bool {
    assert!(scheduler.enqueue(now, Packet::new(FlowId(flow), LEN, 0)).is_ok());
    scheduler.take_dropped().is_none()
}

/// Of so many seeds, those with which a flow shares all its bins with some of `others`: with bins of one packet, it finds no room then.
fn caught(levels: u32, bins: u32, others: u32, seeds: u64) -> u64 {
    let config = sfb::Config { levels, bins, max: 1, increment: Billionths(0), ..Default::default() };
    let is_caught = |seed: &u64| {
        let mut scheduler = build(config, *seed);
        (1..=others).for_each(|flow| {
            offer(&mut scheduler, Instant::ZERO, flow);
        });
        !offer(&mut scheduler, Instant::ZERO, 0)
    };
    (0..seeds).filter(is_caught).count() as u64
}

fn formula(levels: u32, bins: u32, others: u32) -> f64 {
    (1.0 - (1.0 - 1.0 / f64::from(bins)).powi(others as i32)).powi(levels as i32)
}

/// Section 3 of the paper; tc-sfb(8) has the example of 8 levels of 16 bins and ten flows: 0.2 %.
#[test]
fn innocents_are_caught_as_often_as_the_formula_says() {
    assert!((formula(8, 16, 10) - 0.0026).abs() < 0.0001, "tc-sfb(8) rounds it to 0.2 %");
    const SEEDS: u64 = 20_000;
    for (levels, bins, others) in [(1, 16, 3), (2, 23, 5), (2, 8, 10), (4, 10, 10), (8, 16, 10), (8, 16, 30), (11, 5, 10)] {
        let (caught, p) = (caught(levels, bins, others, SEEDS), formula(levels, bins, others));
        assert!(
            is_as_chance_has_it(caught, SEEDS, p),
            "{caught} of {SEEDS} where {p} is due: {levels} levels, {bins} bins, {others} flows"
        );
    }
    assert!(!is_as_chance_has_it(caught(1, 23, 5, SEEDS), SEEDS, formula(2, 23, 5)), "the check finds a level that is missing");
}

/// 49 flows of 0.1 Mbit/s and one of 2.5 at 5 Mbit/s: experiment 2 of the MQFQ paper (section V.A).
fn one_misbehaves() -> Scene {
    let constant = [vec![2_500_000], vec![100_000; 49]].concat();
    Scene { constant, seconds: 200, settle: 100, ..Default::default() }
}

/// 45 flows of 0.1 Mbit/s and five of 1.5: experiment 3.
fn five_misbehave() -> Scene {
    Scene { constant: [vec![1_500_000; 5], vec![100_000; 45]].concat(), ..one_misbehaves() }
}

/// Two levels of 23 bins, the bin's size 1.5 times the buffer over 23 as in the SFB paper, no packets for whoever does not respond.
fn of_the_paper() -> sfb::Config {
    let (increment, decrement) = (Billionths(2_500_000), Billionths(250_000));
    sfb::Config { levels: 2, bins: 23, target: 6, max: 8, increment, decrement, penalty_rate: 0, ..Default::default() }
}

/// The largest loss among flows from `first` on, and the mean.
fn losses(traffic: &Traffic, first: usize) -> (f64, f64) {
    let losses: Vec<f64> = (first..traffic.offered.len()).map(|flow| traffic.loss(flow)).collect();
    (losses.iter().copied().fold(0.0, f64::max), losses.iter().sum::<f64>() / losses.len() as f64)
}

fn kbit(traffic: &Traffic, scene: &Scene, flow: usize) -> f64 {
    traffic.sent[flow] as f64 * 8.0 / 1000.0 / (scene.seconds - scene.settle) as f64
}

fn utilisation(traffic: &Traffic, scene: &Scene) -> f64 {
    (0..traffic.sent.len()).map(|flow| kbit(traffic, scene, flow)).sum::<f64>() * 1000.0 / scene.link as f64
}

#[test]
fn a_misbehaving_flow_is_limited_and_others_are_not() {
    let scene = one_misbehaves();
    let sfb = scene.run(&sfb::Config { increment: Billionths(5_000_000), decrement: Billionths(500_000), ..Default::default() }, 1);
    let fifo = scene.run(&fifo::Config, 1);
    let report = |traffic: &Traffic| (kbit(traffic, &scene, 0), losses(traffic, 1), utilisation(traffic, &scene));
    println!("8 x 16 (kbit/s, (largest loss, mean loss), utilisation): {:.3?}; FIFO {:.3?}", report(&sfb), report(&fifo));
    let is_fair = |traffic: &Traffic| kbit(traffic, &scene, 0) < 400.0 && losses(traffic, 1).1 < 0.02;
    assert!(is_fair(&sfb) && !is_fair(&fifo));
}

#[test]
fn experiments_of_the_mqfq_paper() {
    for (name, scene, misbehaving) in [("49 x 0.1 + 2.5", one_misbehaves(), 1), ("45 x 0.1 + 5 x 1.5", five_misbehave(), 5)] {
        for (kind, config) in [("2 x 23", of_the_paper()), ("8 x 16", sfb::Config { levels: 8, bins: 16, ..of_the_paper() })] {
            for seed in 1..=3 {
                let traffic = scene.run(&config, seed);
                let misbehaving_got: Vec<f64> = (0..misbehaving).map(|flow| kbit(&traffic, &scene, flow).round()).collect();
                println!(
                    "{name}, {kind}, seed {seed}: misbehaving {misbehaving_got:?} kbit/s, others lose {:.3?}, link used {:.3}",
                    losses(&traffic, misbehaving),
                    utilisation(&traffic, &scene)
                );
            }
        }
    }
}
