//! CHOKe: the claims of `choke.rs`, and disciplines that break them.

use roundelay::schedulers::{Discipline, choke, fifo, red};
use roundelay::{
    Billionths, DropReason, Ecn, FlowId, Instant, Limit, Packet, QueueSpec, Scheduler,
};
use roundelay::{Control, Seed};

use crate::theorems::red::{LEN, Scene, Traffic, average_after};

fn build(config: choke::Config, seed: u64) -> choke::Choke<u64> {
    config.build(Seed::new(seed)).expect("legal parameters")
}

/// A configuration with no RED drops.
fn plain() -> choke::Config {
    choke::Config {
        min: 100,
        max: 200,
        probability: Billionths(0),
        ..Default::default()
    }
}

/// The number of seeds, of `seeds`, for which a packet of flow 0 is dropped together with a waiting
/// one, if `of_flow` of a hundred waiting packets are of flow 0. The queue fills while it counts as
/// short.
fn matches(of_flow: u64, seeds: u64) -> u64 {
    let mut matches = 0;
    for seed in 0..seeds {
        let mut scheduler = build(
            choke::Config {
                min: 1000,
                ..plain_above(1000)
            },
            seed,
        );
        for number in 0..100 {
            // Spread over the queue.
            let flow = if number * of_flow / 100 != (number + 1) * of_flow / 100 {
                0
            } else {
                1 + number as u32
            };
            assert!(
                scheduler
                    .enqueue(Instant::ZERO, Packet::new(FlowId(flow), LEN, number))
                    .is_ok()
            );
            scheduler.check_invariants();
        }
        choke::Config {
            min: 1,
            ..plain_above(1000)
        }
        .reconfigure(&mut scheduler)
        .expect("live");
        assert!(
            scheduler
                .enqueue(Instant::ZERO, Packet::new(FlowId(0), LEN, 100))
                .is_ok()
        );
        let dropped: Vec<_> = std::iter::from_fn(|| scheduler.take_dropped()).collect();
        assert!(
            dropped
                .iter()
                .all(|(packet, reason)| packet.flow == FlowId(0) && *reason == DropReason::Early)
        );
        assert!(matches!(dropped.len(), 0 | 2), "both or none");
        matches += dropped.len() as u64 / 2;
    }
    matches
}

/// Whether `hits` of `trials` matches `p`, to within five standard deviations.
pub(crate) fn is_as_chance_has_it(hits: u64, trials: u64, p: f64) -> bool {
    let trials = trials as f64;
    (hits as f64 - trials * p).abs() <= 5.0 * (trials * p * (1.0 - p)).sqrt()
}

const fn plain_above(min: u32) -> choke::Config {
    choke::Config {
        min,
        max: 1 << 22,
        avpkt: 1000,
        burst: 1,
        bandwidth: None,
        probability: Billionths(0),
        ecn: false,
        linux: false,
    }
}

#[test]
fn an_arrival_meets_its_like_as_often_as_the_queue_holds_it() {
    const SEEDS: u64 = 3_000;
    for of_flow in [0, 1, 10, 30, 70, 100] {
        let matches = matches(of_flow, SEEDS);
        assert!(
            is_as_chance_has_it(matches, SEEDS, of_flow as f64 / 100.0),
            "{matches} of {SEEDS} with {of_flow} of 100"
        );
    }
    assert!(
        !is_as_chance_has_it(matches(30, SEEDS), SEEDS, 0.4),
        "the check finds another share"
    );
}

/// The paper's scene: 32 responsive senders at a link of 1 Mbit/s, and one of constant rate; room
/// for 300 packets.
fn scene(rate: u64) -> Scene {
    let round_trip = roundelay::Duration::from_millis(200);
    Scene {
        link: 1_000_000,
        limit: Limit::of_packets(300),
        constant: vec![rate],
        responsive: 32,
        round_trip,
        seconds: 150,
        settle: 50,
    }
}

fn choke_of_the_paper() -> choke::Config {
    choke::Config {
        min: 100,
        max: 200,
        ..Default::default()
    }
}

fn red_of_the_paper() -> red::Config {
    red::Config {
        min: 100_000,
        max: 200_000,
        ..Default::default()
    }
}

fn share(traffic: &Traffic) -> f64 {
    traffic.share(0)
}

#[test]
fn an_unresponsive_flow_is_held_down() {
    // At twice the link's rate the paper has about 23 %, RED over 90 %.
    let choke = share(&scene(2_000_000).run(&choke_of_the_paper(), 1));
    let red = share(&scene(2_000_000).run(&red_of_the_paper(), 1));
    let fifo = share(&scene(2_000_000).run(&fifo::Config, 1));
    println!(
        "unresponsive flow at twice the link's rate: CHOKe {choke:.3}, RED {red:.3}, FIFO {fifo:.3}"
    );
    let is_held_down = |share: f64| share < 0.35;
    assert!(is_held_down(choke) && !is_held_down(red) && !is_held_down(fifo));
}

/// A. Tang, J. Wang, S. Low, "Understanding CHOKe", 2004: the share of the unresponsive flow is at
/// most 1 / (e + 1) = 26.9 %, and goes to zero as its rate grows without bound.
#[test]
fn sending_more_yields_less_beyond_a_point() {
    let shares = |run: &dyn Fn(&Scene) -> Traffic| {
        [500_000, 1_000_000, 2_000_000, 5_000_000].map(|rate| share(&run(&scene(rate))))
    };
    let choke = shares(&|scene| scene.run(&choke_of_the_paper(), 2));
    let red = shares(&|scene| scene.run(&red_of_the_paper(), 2));
    println!(
        "unresponsive flow's share at 0.5, 1, 2, 5 times the link's rate: CHOKe {choke:.3?}, RED {red:.3?}"
    );
    let yields_less = |shares: &[f64; 4]| shares[3] < shares[1];
    assert!(
        yields_less(&choke) && !yields_less(&red),
        "with RED whoever sends more gets more"
    );
}

#[test]
fn short_queues_are_not_drawn_from() {
    // One flow alone: each draw would be a match.
    let lost = |config, waiting| {
        let mut scheduler = build(config, 1);
        let mut dropped = 0;
        for number in 0..5_000 {
            assert!(
                scheduler
                    .enqueue(Instant::ZERO, Packet::new(FlowId(0), LEN, number))
                    .is_ok()
            );
            dropped += std::iter::from_fn(|| scheduler.take_dropped()).count();
            while scheduler.backlog().packets > waiting {
                scheduler.dequeue(Instant::ZERO);
            }
        }
        dropped
    };
    assert_eq!(lost(plain(), 99), 0);
    assert!(
        lost(plain(), 120) > 1000,
        "a flow alone above min meets itself"
    );
}

#[test]
fn red_decides_on_what_was_not_matched() {
    // Every packet is a flow of its own: no match is possible.
    let lost = |config: choke::Config, ecn| {
        let mut scheduler = build(config, 1);
        let (mut dropped, mut marked) = (0, 0);
        for number in 0..20_000 {
            assert!(
                scheduler
                    .enqueue(
                        Instant::ZERO,
                        Packet {
                            ecn,
                            ..Packet::new(FlowId(number), LEN, 0)
                        }
                    )
                    .is_ok()
            );
            dropped += std::iter::from_fn(|| scheduler.take_dropped()).count();
            while scheduler.backlog().packets > 150 {
                marked += usize::from(
                    scheduler
                        .dequeue(Instant::ZERO)
                        .is_some_and(|packet| packet.ecn == Ecn::Marked),
                );
            }
        }
        (dropped, marked)
    };
    let red = choke::Config {
        probability: Billionths(100_000_000),
        ..plain()
    };
    let (dropped, none) = lost(red, Ecn::Capable);
    // p_b is a twentieth: 2 in 21.
    assert!((1500..2100).contains(&dropped) && none == 0, "{dropped}");
    let (none, marked) = lost(choke::Config { ecn: true, ..red }, Ecn::Capable);
    assert!(none == 0 && marked.abs_diff(dropped) < 200, "{marked}");
    assert_eq!(lost(plain(), Ecn::NotCapable), (0, 0));
}

#[test]
fn thresholds_out_of_order_are_refused() {
    let error = |text: &str| {
        text.parse::<QueueSpec>()
            .map(|spec| panic!("{spec:?}"))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error("choke min 200 max 200"),
        "choke: min 200: expected less than max, which is 200"
    );
    let spec: QueueSpec =
        "choke limit 1000 min 83 max 250 avpkt 1000b burst 138 ecn probability 0.02"
            .parse()
            .expect("legal");
    assert_eq!(
        spec.discipline.to_string(),
        "choke min 83 max 250 burst 138 ecn"
    );
    assert_eq!(spec.limit_or_default(), Limit::of_packets(1000));
}

/// The last packet may leave as the match of an arrival, and the queue is idle from then on: the
/// average decays with time.
#[test]
fn a_queue_that_a_match_emptied_is_idle() {
    let mut scheduler = build(plain_above(2), 1);
    let lost = |scheduler: &mut choke::Choke<u64>, now, flow| {
        assert!(
            scheduler
                .enqueue(now, Packet::new(FlowId(flow), LEN, 0))
                .is_ok()
        );
        std::iter::from_fn(|| scheduler.take_dropped()).count()
    };
    // Each packet is a flow of its own: nothing is lost and the average is far above min.
    assert!((1..1000).all(|flow| lost(&mut scheduler, Instant::ZERO, flow) == 0));
    (1..999).for_each(|_| _ = scheduler.dequeue(Instant::ZERO));
    assert_eq!(
        (
            lost(&mut scheduler, Instant::ZERO, 999),
            scheduler.backlog().packets
        ),
        (2, 0),
        "the last one is drawn"
    );
    let later = Instant::ZERO + roundelay::Duration::from_secs(60);
    assert_eq!(
        [
            lost(&mut scheduler, later, 1),
            lost(&mut scheduler, later, 1)
        ],
        [0, 0],
        "a short queue is not drawn from"
    );
}

/// As in RED, in packets; but `max` is 250 without one, as in tc.
#[test]
fn lengths_that_are_left_out_follow_from_the_others() {
    let lengths = |min, max, burst| {
        choke::Config {
            min,
            max,
            burst,
            ..Default::default()
        }
        .thresholds_and_burst()
    };
    assert_eq!(lengths(30, 60, 7), (30, 60, 7));
    assert_eq!(lengths(0, 60, 0), (20, 60, 33));
    assert_eq!(lengths(30, 0, 0), (30, 250, 103));
    let (min, max, _) = choke::Config::default().thresholds_and_burst();
    assert_eq!(min, max / 3);
}

#[test]
fn the_weight_is_the_largest_that_lets_a_burst_pass() {
    for (min, burst) in [(5u32, 10), (5, 50), (20, 100), (20, 3_000)] {
        let config = choke::Config {
            min,
            max: 100,
            burst,
            ..Default::default()
        };
        let [passes, next] = [0, 1].map(|less| average_after(burst, config.weight_log() - less));
        assert!(
            passes <= f64::from(min) && next > f64::from(min),
            "a burst of {burst}, min {min}: {passes}, {next}"
        );
    }
}
