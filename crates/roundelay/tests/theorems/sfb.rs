//! SFB: the claims of `sfb.rs`, and disciplines that break them.

use proptest::prelude::*;
use roundelay::schedulers::{Discipline, fifo, sfb};
use roundelay::{Billionths, Duration, Ecn, FlowId, Instant, Limit, Packet, QueueSpec, Scheduler};
use roundelay::{Control, Seed};

use crate::theorems::choke::is_as_chance_has_it;
use crate::theorems::red::{LEN, Scene, Traffic};

fn millis(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn build(config: sfb::Config, seed: u64) -> sfb::Sfb<u64> {
    config.build(Seed::new(seed)).expect("legal parameters")
}

fn offer(scheduler: &mut sfb::Sfb<u64>, now: Instant, flow: u32) -> bool {
    assert!(
        scheduler
            .enqueue(now, Packet::new(FlowId(flow), LEN, 0))
            .is_ok()
    );
    scheduler.take_dropped().is_none()
}

/// The number of seeds for which a flow shares all its bins with some of `others`: with bins of one
/// packet, there is no room for the flow then.
fn caught(levels: u32, bins: u32, others: u32, seeds: u64) -> u64 {
    let config = sfb::Config {
        levels,
        bins,
        max: 1,
        increment: Billionths(0),
        ..Default::default()
    };
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
    assert!(
        (formula(8, 16, 10) - 0.0026).abs() < 0.0001,
        "tc-sfb(8) rounds it to 0.2 %"
    );
    const SEEDS: u64 = 4_000;
    for (levels, bins, others) in [
        (1, 16, 3),
        (2, 23, 5),
        (2, 8, 10),
        (4, 10, 10),
        (8, 16, 10),
        (8, 16, 30),
    ] {
        let (caught, p) = (
            caught(levels, bins, others, SEEDS),
            formula(levels, bins, others),
        );
        assert!(
            is_as_chance_has_it(caught, SEEDS, p),
            "{caught} of {SEEDS} where {p} is due: {levels} levels, {bins} bins, {others} flows"
        );
    }
    assert!(
        !is_as_chance_has_it(caught(1, 23, 5, SEEDS), SEEDS, formula(2, 23, 5)),
        "the check finds a level that is missing"
    );
}

/// 49 flows of 0.1 Mbit/s and one of 2.5 at 5 Mbit/s: experiment 2 of the MQFQ paper (section V.A).
fn one_misbehaves() -> Scene {
    let constant = [vec![2_500_000], vec![100_000; 49]].concat();
    Scene {
        constant,
        seconds: 60,
        settle: 20,
        ..Default::default()
    }
}

/// 45 flows of 0.1 Mbit/s and five of 1.5: experiment 3.
fn five_misbehave() -> Scene {
    Scene {
        constant: [vec![1_500_000; 5], vec![100_000; 45]].concat(),
        ..one_misbehaves()
    }
}

/// A bin's size is 1.5 times the buffer over the bins of a level, and a known unresponsive flow
/// gets nothing.
fn of_the_paper(levels: u32, bins: u32) -> sfb::Config {
    let (increment, decrement) = (Billionths(2_500_000), Billionths(250_000));
    sfb::Config {
        levels,
        bins,
        target: 150 / bins,
        increment,
        decrement,
        penalty_rate: 0,
        ..Default::default()
    }
}

/// The largest loss among flows from `first` on, and the mean.
fn losses(traffic: &Traffic, first: usize) -> (f64, f64) {
    let losses: Vec<f64> = (first..traffic.offered.len())
        .map(|flow| traffic.loss(flow))
        .collect();
    (
        losses.iter().copied().fold(0.0, f64::max),
        losses.iter().sum::<f64>() / losses.len() as f64,
    )
}

fn kbit(traffic: &Traffic, scene: &Scene, flow: usize) -> f64 {
    traffic.sent[flow] as f64 * 8.0 / 1000.0 / (scene.seconds - scene.settle) as f64
}

fn utilisation(traffic: &Traffic, scene: &Scene) -> f64 {
    (0..traffic.sent.len())
        .map(|flow| kbit(traffic, scene, flow))
        .sum::<f64>()
        * 1000.0
        / scene.link as f64
}

#[test]
fn a_misbehaving_flow_is_limited_and_others_are_not() {
    let scene = one_misbehaves();
    let report = |traffic: &Traffic| (kbit(traffic, &scene, 0).round(), losses(traffic, 1).1);
    let is_fair =
        |traffic: &Traffic| kbit(traffic, &scene, 0) < 300.0 && losses(traffic, 1).1 < 0.03;
    for config in [of_the_paper(2, 23), of_the_paper(8, 16)] {
        let sfb = scene.run(&config, 1);
        println!(
            "{} x {}: (kbit/s, mean loss of the others) {:.3?}",
            config.levels,
            config.bins,
            report(&sfb)
        );
        assert!(is_fair(&sfb));
    }
    let fifo = scene.run(&fifo::Config, 1);
    println!("FIFO: {:.3?}", report(&fifo));
    assert!(
        !is_fair(&fifo),
        "the check finds a queue that serves whoever sends most"
    );
}

/// The MQFQ paper measured 207 kbit/s for the one misbehaving flow in experiment 2, and a link
/// utilization of 60 % in experiment 3, with unpublished parameters and code. The first is close to
/// the result here. The second is not: flows at their fair rate keep the link busy, since their
/// bins run empty under frequent drops, and an empty bin lowers its probability. The paper's other
/// flaw does appear: innocent flows in polluted bins get next to nothing.
#[test]
fn experiments_of_the_mqfq_paper() {
    const SEEDS: u64 = 40;
    for (name, scene, misbehaving) in [
        ("49 x 0.1 + 2.5", one_misbehaves(), 1),
        ("45 x 0.1 + 5 x 1.5", five_misbehave(), 5),
    ] {
        let (mut paid, mut losses_of_others) = (0, 0.0);
        let (mut got_in_all, mut most) = (0.0, 0.0);
        for seed in 0..SEEDS {
            let traffic = scene.run(&of_the_paper(2, 23), seed);
            let got: Vec<f64> = (0..misbehaving as usize)
                .map(|flow| kbit(&traffic, &scene, flow).round())
                .collect();
            let (worst, mean) = losses(&traffic, misbehaving as usize);
            let used = utilisation(&traffic, &scene);
            println!(
                "{name}: misbehaving flows get {got:?} kbit/s, others lose {mean:.3}, one of them {worst:.3}, link used {used:.3}"
            );
            most = got.iter().copied().fold(most, f64::max);
            got_in_all += got.iter().sum::<f64>() / f64::from(misbehaving) / SEEDS as f64;
            assert!(used > 0.98, "the link is never idle for long");
            paid += u64::from(worst > 0.5);
            losses_of_others += mean / SEEDS as f64;
        }
        println!(
            "{name}: in {paid} of {SEEDS} runs one flow loses more than a half; the misbehaving get {got_in_all:.0}, at most {most:.0}"
        );
        assert!(
            got_in_all < 300.0 && most < 500.0,
            "the misbehaving are held down to a few fair shares: {got_in_all}, {most}"
        );
        assert!(
            losses_of_others < 0.15,
            "most do not pay: {losses_of_others}"
        );
        // With 23 bins, both bins of some flow are a single misbehaving flow's in 9% of the runs.
        assert!(
            paid >= 1,
            "somebody pays for the company that he is in, where the hash puts him there"
        );
    }
}

/// Offers a packet of a flow each millisecond with no departures: the flow's bins overflow. Returns
/// the number of accepted packets.
fn offer_for(scheduler: &mut sfb::Sfb<u64>, range: std::ops::Range<u64>, flow: u32) -> usize {
    range
        .filter(|milli| offer(scheduler, millis(*milli), flow))
        .count()
}

fn quick() -> sfb::Config {
    sfb::Config {
        target: 2,
        max: 100_000,
        increment: Billionths(100_000_000),
        ..Default::default()
    }
}

#[test]
fn a_penalty_is_a_rate() {
    for (penalty_rate, penalty_burst) in [(10, 20), (100, 5), (0, 7), (10, 0)] {
        let mut scheduler = build(
            sfb::Config {
                penalty_rate,
                penalty_burst,
                ..quick()
            },
            1,
        );
        offer_for(&mut scheduler, 0..1000, 0);
        let before = scheduler.backlog().packets;
        let let_in = offer_for(&mut scheduler, 1000..21_000, 0);
        let expected = if penalty_burst == 0 {
            0
        } else {
            20 * penalty_rate as usize
        };
        assert!(
            let_in.abs_diff(expected) <= 1,
            "{let_in} in 20 s at {penalty_rate} a second"
        );
        assert_eq!(scheduler.backlog().packets, before + let_in as u64);
        // After a quiet period, a burst passes and no more.
        let burst = (0..100)
            .filter(|_| offer(&mut scheduler, millis(120_000), 0))
            .count();
        assert_eq!(
            burst,
            if penalty_rate == 0 {
                0
            } else {
                penalty_burst as usize
            }
        );
        assert!(
            offer(&mut scheduler, millis(120_000), 1),
            "another flow does not notice"
        );
    }
}

/// Packets accepted just after the change of hashes at ten seconds, of a flow unresponsive for some
/// time before: the second filter decides whether the flow is held down.
fn let_in_after_rehash(db: u64, offered: std::ops::Range<u64>) -> usize {
    let (rehash, db) = (Duration::from_secs(10), Duration::from_millis(db));
    let mut scheduler = build(
        sfb::Config {
            rehash,
            db,
            penalty_rate: 0,
            penalty_burst: 0,
            ..quick()
        },
        1,
    );
    offer_for(&mut scheduler, offered, 0);
    offer_for(&mut scheduler, 10_000..10_500, 0)
}

#[test]
fn a_warmed_filter_holds_down_from_the_start() {
    assert_eq!(let_in_after_rehash(1_000, 0..10_000), 0);
    assert!(
        let_in_after_rehash(0, 0..10_000) > 2,
        "a cold filter has to learn first"
    );
}

/// For the last `db` before the change, as in Linux; the whole time if `db` is longer.
#[test]
fn the_next_filter_warms_up_before_the_change_of_hashes() {
    assert_eq!(let_in_after_rehash(1_000, 8_900..10_000), 0);
    assert_eq!(let_in_after_rehash(20_000, 0..10_000), 0);
    assert_eq!(let_in_after_rehash(20_000, 0..2_000), 0);
    assert!(
        let_in_after_rehash(1_000, 0..9_000) > 2,
        "who behaves from then on is not known"
    );
    assert!(
        let_in_after_rehash(1, 0..10_000) > 2,
        "a millisecond is too short to learn"
    );
}

#[test]
fn hashes_change_the_company() {
    // Two flows with all bins of one level of two in common are separated in half of the changes.
    let config = sfb::Config {
        levels: 1,
        bins: 2,
        max: 1,
        increment: Billionths(0),
        rehash: Duration::from_secs(1),
        ..Default::default()
    };
    let mut scheduler = build(config, 1);
    let meet = |period: &u64| {
        let now = millis(period * 1001);
        offer(&mut scheduler, now, 0);
        let meets = !offer(&mut scheduler, now, 1);
        while scheduler.dequeue(now).is_some() {}
        meets
    };
    let meetings = (1..=2000).filter(meet).count() as u64;
    assert!(
        is_as_chance_has_it(meetings, 2000, 0.5),
        "{meetings} of 2000"
    );
}

#[test]
fn capable_packets_are_marked_not_dropped() {
    // A constant probability: the increment once, no decrement.
    let signals = |increment, ecn| {
        let config = sfb::Config {
            target: 1,
            max: 100,
            increment: Billionths(increment),
            decrement: Billionths(0),
            ..Default::default()
        };
        let mut scheduler = build(config, 1);
        offer(&mut scheduler, Instant::ZERO, 0);
        sfb::Config {
            target: 100,
            ..config
        }
        .reconfigure(&mut scheduler)
        .expect("live");
        let again = sfb::Config {
            increment: Billionths(increment),
            target: 1,
            ..config
        };
        again.reconfigure(&mut scheduler).expect("live");
        offer(&mut scheduler, Instant::ZERO, 0);
        sfb::Config {
            target: 100,
            ..config
        }
        .reconfigure(&mut scheduler)
        .expect("live");
        let (mut dropped, mut marked) = (0, 0);
        for _ in 0..10_000 {
            assert!(
                scheduler
                    .enqueue(
                        Instant::ZERO,
                        Packet {
                            ecn,
                            ..Packet::new(FlowId(0), LEN, 1)
                        }
                    )
                    .is_ok()
            );
            dropped += u64::from(scheduler.take_dropped().is_some());
            while scheduler.backlog().packets > 1 {
                marked += u64::from(
                    scheduler
                        .dequeue(Instant::ZERO)
                        .is_some_and(|packet| packet.payload == 1 && packet.ecn == Ecn::Marked),
                );
            }
        }
        (dropped, marked)
    };
    let (dropped, marked) = signals(200_000_000, Ecn::NotCapable);
    assert!(
        is_as_chance_has_it(dropped, 10_000, 0.2) && marked == 0,
        "{dropped}"
    );
    let (dropped, marked) = signals(200_000_000, Ecn::Capable);
    assert!(
        is_as_chance_has_it(marked, 10_000, 0.2) && dropped == 0,
        "{marked}"
    );
    // 2 (.6 - .5) is dropped, because so many marks would go unread, and the rest of .6 is marked.
    let (dropped, marked) = signals(600_000_000, Ecn::Capable);
    assert!(
        is_as_chance_has_it(dropped, 10_000, 0.2) && is_as_chance_has_it(marked, 10_000, 0.4),
        "{dropped} dropped, {marked} marked"
    );
    let (dropped, marked) = signals(600_000_000, Ecn::NotCapable);
    assert!(
        is_as_chance_has_it(dropped, 10_000, 0.6) && marked == 0,
        "{dropped}"
    );
}

/// Linux: a change of parameters zeroed the bins while their packets waited, and counts went below
/// zero. `check_invariants` adds the bins up.
#[test]
fn known_bug_33_parameters_change_while_packets_wait() {
    let mut scheduler = build(sfb::Config::default(), 1);
    for flow in 0..50 {
        offer(&mut scheduler, Instant::ZERO, flow % 7);
    }
    for config in [
        sfb::Config {
            target: 1,
            max: 1,
            ..Default::default()
        },
        sfb::Config {
            rehash: Duration::from_millis(1),
            db: Duration::ZERO,
            ..Default::default()
        },
    ] {
        config.reconfigure(&mut scheduler).expect("live");
        scheduler.check_invariants();
        offer(&mut scheduler, millis(5), 3);
        assert!(scheduler.dequeue(millis(5)).is_some());
    }
    assert!(
        sfb::Config {
            levels: 3,
            ..Default::default()
        }
        .reconfigure(&mut scheduler)
        .is_err(),
        "the bins themselves stay"
    );
    while scheduler.evict().is_some() {}
    scheduler.check_invariants();
    assert!(scheduler.backlog().is_empty());
}

proptest! {
    /// Arrivals, departures, evictions, time and changes of parameters, with frequent changes of
    /// hashes.
    #[test]
    fn counts_survive_whatever_happens(
        seed in any::<u64>(),
        (levels, bins, db) in (1u32..6, 1u32..6, 0u64..4),
        calls in prop::collection::vec((0u8..10, 0u32..8, 0u64..2_000_000), 1..300),
    ) {
        let config = |max| sfb::Config {
            levels, bins, max, increment: Billionths(300_000_000), decrement: Billionths(100_000_000),
            rehash: Duration::from_millis(3), db: Duration::from_millis(db), ..Default::default()
        };
        let (mut scheduler, mut now, mut expected) = (build(config(5), seed), Instant::ZERO, 0u64);
        for (call, flow, gap) in calls {
            now += Duration::from_nanos(gap);
            match call {
                0..=4 => expected += u64::from(offer(&mut scheduler, now, flow)),
                5..=6 => expected -= u64::from(scheduler.dequeue(now).is_some()),
                7 => expected -= u64::from(scheduler.evict().is_some()),
                _ => config(1 + flow).reconfigure(&mut scheduler).expect("live"),
            }
            scheduler.check_invariants();
            prop_assert_eq!(scheduler.backlog().packets, expected);
        }
    }
}

#[test]
fn it_reads_as_tc_writes_it() {
    let spec: QueueSpec =
        "sfb rehash 600000 db 60000 limit 1000 max 25 target 20 increment 0.00050 decrement 0.00005 penalty_rate 10 penalty_burst 20"
            .parse()
            .expect("legal");
    assert_eq!(
        spec.discipline.to_string(),
        "sfb target 20 max 25",
        "bare times are milliseconds, as in tc"
    );
    assert_eq!(spec.limit_or_default(), Limit::of_packets(1000));
    let error = |text: &str| {
        text.parse::<QueueSpec>()
            .map(|spec| panic!("{spec:?}"))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error("sfb target 30 max 25"),
        "sfb: target 30: expected no more than max, which is 25"
    );
    assert!(
        error("sfb levels 17").contains("1 to 16") && error("sfb increment 1.5").contains("0 to 1")
    );
}

/// `target` is four fifths of `max` if one of the two is left out.
#[test]
fn sizes_of_bins_that_are_left_out_follow_from_the_other() {
    let sizes = |target, max| {
        sfb::Config {
            target,
            max,
            ..Default::default()
        }
        .bin_sizes()
    };
    assert_eq!(
        [sizes(3, 9), sizes(8, 0), sizes(0, 9), sizes(0, 1)],
        [(3, 9), (8, 10), (7, 9), (1, 1)]
    );
    let (target, max) = sizes(0, u32::MAX);
    assert_eq!(
        (u64::from(target), max),
        (u64::from(u32::MAX) * 4 / 5, u32::MAX)
    );
    let (target, max) = sfb::Config::default().bin_sizes();
    assert_eq!(5 * target, 4 * max);
}
