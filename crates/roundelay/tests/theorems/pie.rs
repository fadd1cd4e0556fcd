//! PIE: the claims of `pie.rs`, the RFC's updates in real numbers, and disciplines and models that
//! break the claims.

use std::collections::VecDeque;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::schedulers::{Discipline, fifo, pie};
use roundelay::{Control, Seed};
use roundelay::{
    DropReason, Duration, Ecn, FlowId, Instant, Limit, Observer, Packet, Port, QueueSpec, Rate,
    Scheduler,
};

const LEN: u32 = 1000;
/// Bytes of a queue that loses nothing: two frames.
const SHORT_QUEUE: u64 = 2 * 1514;

fn probability<T>(scheduler: &pie::Pie<T>) -> f64 {
    scheduler.probability() as f64 / 2f64.powi(60)
}

fn seconds(time: Duration) -> f64 {
    time.as_picos() as f64 / 1e12
}

/// A rule that a wrong model of PIE lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lack {
    Nothing,
    Tuning,
    Trend,
    Decay,
    Cap,
    EmptyQueue,
}

/// PIE in real numbers, with an update at each `tupdate`.
struct Model {
    config: pie::Config,
    lack: Lack,
    waiting: VecDeque<(Instant, u32)>,
    sojourn: Duration,
    probability: f64,
    old_delay: Duration,
    allowance: i128,
    accumulated: f64,
    updated: Option<Instant>,
}

impl Model {
    fn new(config: pie::Config, lack: Lack) -> Self {
        let allowance = config.burst.as_picos().into();
        let (sojourn, old_delay) = (Duration::ZERO, Duration::ZERO);
        Self {
            config,
            lack,
            waiting: VecDeque::new(),
            sojourn,
            probability: 0.0,
            old_delay,
            allowance,
            accumulated: 0.0,
            updated: None,
        }
    }

    fn delay(&self) -> Duration {
        if self.waiting.is_empty() && self.lack != Lack::EmptyQueue {
            Duration::ZERO
        } else {
            self.sojourn
        }
    }

    fn advance(&mut self, now: Instant) {
        let updated = *self.updated.get_or_insert(now);
        for number in 1..=now.since(updated).as_picos() / self.config.tupdate.as_picos() {
            self.update();
            self.updated =
                Some(updated + Duration::from_picos(number * self.config.tupdate.as_picos()));
        }
    }

    /// RFC 8033, sections 4.2, 4.4 and 5.5.
    fn update(&mut self) {
        let (delay, old, target) = (
            seconds(self.delay()),
            seconds(self.old_delay),
            seconds(self.config.target),
        );
        let trend = if self.lack == Lack::Trend {
            0.0
        } else {
            f64::from(self.config.beta) / 16.0 * (delay - old)
        };
        let mut step = f64::from(self.config.alpha) / 16.0 * (delay - target) + trend;
        step /= match self.probability {
            _ if self.lack == Lack::Tuning => 1.0,
            p if p < 1e-6 => 2048.0,
            p if p < 1e-5 => 512.0,
            p if p < 1e-4 => 128.0,
            p if p < 1e-3 => 32.0,
            p if p < 1e-2 => 8.0,
            p if p < 1e-1 => 2.0,
            _ => 1.0,
        };
        if self.probability >= 0.1 && self.lack != Lack::Cap {
            step = step.min(0.02);
        }
        self.probability += step;
        if delay == 0.0 && old == 0.0 && self.lack != Lack::Decay {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.old_delay = self.delay();
        self.allowance = (self.allowance - i128::from(self.config.tupdate.as_picos())).max(0);
    }

    /// Whether a signal for the arriving packet, or none, is against the rules.
    fn forbids(&mut self, is_signalled: bool) -> bool {
        let is_short = |delay: Duration| delay.as_picos() * 2 < self.config.target.as_picos();
        if self.probability == 0.0 && is_short(self.delay()) && is_short(self.old_delay) {
            self.allowance = self.config.burst.as_picos().into();
        }
        let is_calm = is_short(self.old_delay) && self.probability < 0.2;
        if self.allowance > 0
            || is_calm
            || self
                .waiting
                .iter()
                .map(|(_, len)| u64::from(*len))
                .sum::<u64>()
                <= SHORT_QUEUE
        {
            return is_signalled;
        }
        self.accumulated = if self.probability == 0.0 {
            0.0
        } else {
            self.accumulated + self.probability
        };
        let is_wrong = if is_signalled {
            self.accumulated < 0.85 - 1e-9
        } else {
            self.accumulated > 8.5 + 1e-9
        };
        if is_signalled {
            self.accumulated = 0.0;
        }
        is_wrong
    }

    /// Whether both probabilities are the same, up to the rounding of a few hundred updates.
    fn agrees(&self, scheduler: &pie::Pie<()>) -> bool {
        (probability(scheduler) - self.probability).abs() < 1e-12
    }
}

fn any_config(random: &mut Pcg64) -> pie::Config {
    pie::Config {
        target: Duration::from_micros(random.random_range(500..50_000)),
        tupdate: Duration::from_micros(random.random_range(1_000..40_000)),
        alpha: random.random_range(0..=32),
        beta: random.random_range(0..=32),
        burst: Duration::from_millis(random.random_range(0..200)),
        ..Default::default()
    }
}

/// Random arrivals at a link of 10 Mbit/s, with changing load, pauses of the senders and of the
/// link. Returns what differs between the scheduler and the model, and the largest probability.
fn differs(seed: u64, lack: Lack) -> (Option<String>, f64) {
    let random = &mut Pcg64::seed_from_u64(seed);
    let config = any_config(random);
    let (mut scheduler, mut model) = (
        config.build::<()>(Seed::new(seed)).expect("legal"),
        Model::new(config, lack),
    );
    let (mut now, mut free_at, mut load, mut largest) =
        (Instant::from_nanos(17), Instant::ZERO, 1.0, 0f64);
    for number in 0..6_000 {
        if number % 500 == 0 {
            load = [0.6, 1.1, 1.5, 3.0][random.random_range(0..4)];
        }
        let mean = 0.8e9 / load;
        now += Duration::from_picos((mean * random.random_range(0.2..1.8)) as u64);
        if random.random_bool(0.002) {
            now += Duration::from_micros(random.random_range(0..2_000_000));
        }
        if random.random_bool(0.002) {
            free_at = now + Duration::from_micros(random.random_range(0..500_000));
        }
        while free_at < now && !model.waiting.is_empty() {
            model.advance(free_at);
            let packet = scheduler.dequeue(free_at).expect("packets wait");
            let (arrival, len) = model.waiting.pop_front().expect("packets wait");
            assert_eq!((packet.arrival, packet.len), (arrival, len));
            model.sojourn = free_at.since(arrival);
            free_at += Duration::from_picos(u64::from(len) * 800_000);
            if !model.agrees(&scheduler) {
                return (
                    Some(format!(
                        "{config:?}: {} and {}",
                        probability(&scheduler),
                        model.probability
                    )),
                    largest,
                );
            }
        }
        free_at = free_at.max(now);
        let len = random.random_range(64..1514);
        scheduler
            .enqueue(now, Packet::new(FlowId(0), len, ()))
            .expect("PIE takes every packet");
        model.advance(now);
        if !model.agrees(&scheduler) {
            return (
                Some(format!(
                    "{config:?}: {} and {} at {now:?}",
                    probability(&scheduler),
                    model.probability
                )),
                largest,
            );
        }
        largest = largest.max(model.probability);
        let is_dropped = scheduler.take_dropped().is_some();
        if model.forbids(is_dropped) {
            return (
                Some(format!(
                    "{config:?}: a drop, or none, against the rules at {now:?}"
                )),
                largest,
            );
        }
        if !is_dropped {
            model.waiting.push_back((now, len));
        }
        scheduler.check_invariants();
    }
    (None, largest)
}

#[test]
fn the_probability_is_the_papers() {
    let runs: Vec<_> = (0..100).map(|seed| differs(seed, Lack::Nothing)).collect();
    for (differs, _) in &runs {
        assert_eq!(*differs, None);
    }
    let large = runs.iter().filter(|(_, largest)| *largest > 0.3).count();
    assert!(large > 20, "{large} runs have large probabilities");
    for lack in [
        Lack::Tuning,
        Lack::Trend,
        Lack::Decay,
        Lack::Cap,
        Lack::EmptyQueue,
    ] {
        let found = (0..100)
            .filter(|seed| differs(*seed, lack).0.is_some())
            .count();
        assert!(
            found > 10,
            "a model without {lack:?} differs in {found} of 100 runs only"
        );
    }
}

/// Delays and losses after a settling time.
#[derive(Debug, Default)]
struct Meter {
    settled_at: Instant,
    offered: u64,
    dropped: u64,
    full: u64,
    marked: u64,
    delays: Vec<f64>,
}

impl Observer<Instant> for Meter {
    fn sent(&mut self, packet: Packet<Instant>, start: Instant, _end: Instant) {
        if start >= self.settled_at {
            self.delays.push(seconds(start.since(packet.payload)));
            self.marked += u64::from(packet.ecn == Ecn::Marked);
        }
    }

    fn dropped(&mut self, _packet: Packet<Instant>, now: Instant, reason: DropReason) {
        if now >= self.settled_at {
            self.dropped += 1;
            self.full += u64::from(reason == DropReason::Full);
        }
    }
}

impl Meter {
    fn mean_delay(&self) -> f64 {
        self.delays.iter().sum::<f64>() / self.delays.len() as f64
    }

    fn loss(&self) -> f64 {
        self.dropped as f64 / self.offered as f64
    }
}

/// Constant `load` of unresponsive senders at a link of 10 Mbit/s for two minutes, the first one
/// for settling. Gaps vary by a fifth.
fn overload<D: Discipline>(discipline: &D, load: f64) -> Meter {
    let rate = Rate::from_bits_per_second(10_000_000).expect("not zero");
    let mut port = Port::new(
        discipline.build::<Instant>(Seed::new(1)).expect("legal"),
        Limit::of_packets(1000),
        rate,
    );
    let mut meter = Meter {
        settled_at: Instant::from_nanos(60_000_000_000),
        ..Default::default()
    };
    let (mut random, mut now) = (Pcg64::seed_from_u64(3), Instant::ZERO);
    while now < Instant::from_nanos(120_000_000_000) {
        now += Duration::from_picos((0.8e9 / load * random.random_range(0.8..1.2)) as u64);
        meter.offered += u64::from(now >= meter.settled_at);
        port.advance(now, &mut meter);
        port.arrive(now, Packet::new(FlowId(0), LEN, now), &mut meter);
    }
    meter
}

/// With r > 1 the link carries 1 / r of the packets; the controller finds the probability for that
/// loss at which the delay stays at the target.
#[test]
fn a_constant_overload_waits_for_the_target() {
    let waits_for = |meter: &Meter, target: f64, load: f64| {
        (meter.loss() - (1.0 - 1.0 / load)).abs() < 0.01
            && (meter.mean_delay() / target - 1.0).abs() < 0.1
            && meter.full == 0
    };
    for (load, config) in [
        (1.05, pie::Config::default()),
        (1.2, pie::Config::default()),
        (1.5, pie::Config::default()),
        (
            1.2,
            pie::Config {
                target: Duration::from_millis(40),
                ..Default::default()
            },
        ),
        (
            1.5,
            pie::Config {
                dq_rate_estimator: true,
                ..Default::default()
            },
        ),
        (
            1.2,
            pie::Config {
                dq_rate_estimator: true,
                ..Default::default()
            },
        ),
    ] {
        let meter = overload(&config, load);
        let target = seconds(config.target);
        println!(
            "load {load}: loss {:.4}, delay {:.1} ms of {:.0}",
            meter.loss(),
            meter.mean_delay() * 1e3,
            target * 1e3
        );
        assert!(
            waits_for(&meter, target, load),
            "load {load}, {config:?}: loss {}, delay {}",
            meter.loss(),
            meter.mean_delay()
        );
        let without_integral = overload(&pie::Config { alpha: 0, ..config }, load);
        assert!(
            !waits_for(&without_integral, target, load),
            "without the integral: {}",
            without_integral.mean_delay()
        );
    }
    assert!(
        !waits_for(&overload(&fifo::Config, 1.2), 0.015, 1.2),
        "a full buffer waits longer"
    );
}

/// Drops of ten bursts, each 135 ms long at eight times the rate of the link, with ten seconds
/// between.
fn dropped_of_bursts(config: pie::Config) -> u64 {
    let rate = Rate::from_bits_per_second(10_000_000).expect("not zero");
    let mut port = Port::new(
        config.build::<Instant>(Seed::new(1)).expect("legal"),
        Limit::UNBOUNDED,
        rate,
    );
    let mut meter = Meter::default();
    for burst in 0..10 {
        for number in 0..1350 {
            let now = Instant::from_nanos(burst * 10_000_000_000 + number * 100_000);
            port.advance(now, &mut meter);
            port.arrive(now, Packet::new(FlowId(0), LEN, now), &mut meter);
        }
    }
    meter.dropped
}

/// The allowance is counted in whole updates: 150 ms are 10 updates, the first after 0 to 15 ms.
#[test]
fn bursts_within_the_allowance_lose_nothing() {
    let config = pie::Config {
        alpha: 32,
        beta: 32,
        ..Default::default()
    };
    assert_eq!(dropped_of_bursts(config), 0);
    let short = dropped_of_bursts(pie::Config {
        burst: Duration::from_millis(30),
        ..config
    });
    assert!(
        short > 100,
        "an allowance of 30 ms lets {short} drops through"
    );
}

/// A scheduler whose probability stays at about `wanted`, with a standing queue, and the time.
fn frozen(config: pie::Config, wanted: f64) -> (pie::Pie<u64>, Instant) {
    let moving = pie::Config {
        alpha: 2,
        beta: 0,
        burst: Duration::ZERO,
        ..config
    };
    let mut scheduler = moving.build::<u64>(Seed::new(5)).expect("legal");
    let mut now = Instant::ZERO;
    (0..10).for_each(|number| push(&mut scheduler, now, number, LEN, Ecn::NotCapable));
    // A packet has waited four targets, and no other leaves.
    now += Duration::from_picos(config.target.as_picos() * 4);
    scheduler.dequeue(now);
    while probability(&scheduler) < wanted {
        now += config.tupdate;
        push(&mut scheduler, now, 0, LEN, Ecn::NotCapable);
        scheduler.take_dropped();
    }
    pie::Config {
        alpha: 0,
        beta: 0,
        burst: Duration::ZERO,
        ..config
    }
    .reconfigure(&mut scheduler)
    .expect("live");
    assert!(
        (probability(&scheduler) / wanted - 1.0).abs() < 0.2,
        "{}",
        probability(&scheduler)
    );
    (scheduler, now)
}

fn push(scheduler: &mut pie::Pie<u64>, now: Instant, number: u64, len: u32, ecn: Ecn) {
    scheduler
        .enqueue(
            now,
            Packet {
                ecn,
                ..Packet::new(FlowId(0), len, number)
            },
        )
        .expect("PIE takes every packet");
}

/// The fates of packets offered at a frozen probability: dropped, marked.
fn fates(
    config: pie::Config,
    wanted: f64,
    packets: u64,
    ecn: Ecn,
    len: impl Fn(u64) -> u32,
) -> (Vec<bool>, Vec<bool>, f64) {
    let (mut scheduler, now) = frozen(config, wanted);
    let (mut dropped, mut marked) = (Vec::new(), Vec::new());
    let waiting = scheduler.backlog().packets;
    for number in 0..packets {
        push(&mut scheduler, now, number, len(number), ecn);
        dropped.push(scheduler.take_dropped().is_some());
        let leaves = if scheduler.backlog().packets > 2 * waiting {
            scheduler.dequeue(now)
        } else {
            None
        };
        marked.push(leaves.is_some_and(|packet| packet.ecn == Ecn::Marked));
    }
    (dropped, marked, probability(&scheduler))
}

/// Numbers of packets from one drop to the next.
fn distances(dropped: &[bool]) -> Vec<usize> {
    let all: Vec<_> = dropped
        .split(|is_dropped| *is_dropped)
        .map(|kept| kept.len() + 1)
        .collect();
    all[1..all.len().max(2) - 1].to_vec()
}

/// Mean distance: none before ceil(0.85 / p), then geometric, cut at ceil(8.5 / p).
fn mean_distance(p: f64) -> f64 {
    let (first, last) = ((0.85 / p).ceil(), (8.5 / p).ceil());
    first - 1.0 + (1.0 - (1.0 - p).powf(last - first + 1.0)) / p
}

#[test]
fn drops_are_neither_close_nor_far_apart() {
    for wanted in [0.02, 0.1, 0.4] {
        let (dropped, _, p) = fates(
            pie::Config::default(),
            wanted,
            400_000,
            Ecn::NotCapable,
            |_| LEN,
        );
        let distances = distances(&dropped);
        let (least, most) = ((0.85 / p).ceil() as usize, (8.5 / p).ceil() as usize);
        let keeps = |distances: &[usize]| {
            distances
                .iter()
                .all(|distance| (least..=most).contains(distance))
        };
        let mean = distances.iter().sum::<usize>() as f64 / distances.len() as f64;
        println!(
            "p {p:.4}: {} drops, {least} to {most} apart, mean {mean:.2}",
            distances.len()
        );
        assert!(
            keeps(&distances),
            "p {p}: {:?} to {:?}",
            distances.iter().min(),
            distances.iter().max()
        );
        // The deviation of a geometric distance is below 1 / p.
        assert!(
            (mean - mean_distance(p)).abs() < 5.0 / p / (distances.len() as f64).sqrt(),
            "p {p}: {mean}"
        );
        // With a constant probability some are close, and some far apart.
        let mut random = Pcg64::seed_from_u64(1);
        let memoryless: Vec<_> = (0..400_000).map(|_| random.random_bool(p)).collect();
        assert!(
            !keeps(&self::distances(&memoryless)),
            "the check finds a queue without memory"
        );
    }
    let certain = distances(
        &fates(
            pie::Config::default(),
            0.4,
            400_000,
            Ecn::NotCapable,
            |_| LEN,
        )
        .0,
    );
    assert!(
        certain.iter().any(|distance| *distance > 15),
        "some distances are near the largest: {:?}",
        certain.iter().max()
    );
}

#[test]
fn capable_packets_are_marked_below_a_tenth() {
    let ecn = pie::Config {
        ecn: true,
        ..Default::default()
    };
    let signals = |config, wanted, ecn| {
        let (dropped, marked, _) = fates(config, wanted, 100_000, ecn, |_| LEN);
        [dropped, marked].map(|fates| fates.into_iter().filter(|is_so| *is_so).count())
    };
    let [dropped, none] = signals(pie::Config::default(), 0.06, Ecn::Capable);
    assert!(dropped > 1000 && none == 0, "{dropped} {none}");
    let [none, marked] = signals(ecn, 0.06, Ecn::Capable);
    assert!(
        none == 0 && marked.abs_diff(dropped) < 30,
        "marks come where drops would: {marked} and {dropped}"
    );
    let [as_many, none] = signals(ecn, 0.06, Ecn::NotCapable);
    assert!(as_many == dropped && none == 0);
    let [dropped, none] = signals(ecn, 0.13, Ecn::Capable);
    assert!(
        dropped > 4000 && none == 0,
        "from a tenth on: {dropped} {none}"
    );
}

/// A delay below half of the target and a probability below 0.2: the RFC's safeguard.
#[test]
fn a_short_delay_loses_nothing() {
    let drops = |target, wanted| {
        let (mut scheduler, mut now) = frozen(pie::Config::default(), wanted);
        let alpha_less = pie::Config {
            alpha: 0,
            beta: 0,
            burst: Duration::ZERO,
            target,
            ..Default::default()
        };
        alpha_less.reconfigure(&mut scheduler).expect("live");
        let mut dropped = 0;
        for number in 0..10_000 {
            push(&mut scheduler, now, number, LEN, Ecn::NotCapable);
            dropped += usize::from(scheduler.take_dropped().is_some());
            now += Duration::from_micros(100);
            while scheduler.backlog().packets > 10 {
                scheduler.dequeue(now);
            }
            // The first updates have the delay of before.
            dropped *= usize::from(number > 2_000);
        }
        dropped
    };
    // Packets wait 1.1 ms.
    let half = Duration::from_micros(2_300);
    assert_eq!(drops(half, 0.15), 0);
    let (longer, more) = (drops(Duration::from_micros(2_100), 0.15), drops(half, 0.25));
    assert!(
        longer > 200 && more > 200,
        "a delay above half of the target: {longer} drops, a probability above 0.2: {more}"
    );
}

#[test]
fn bytemode_spares_short_packets() {
    let length = |number: u64| if number.is_multiple_of(2) { 1514 } else { 757 };
    let drops = |bytemode| {
        let (dropped, ..) = fates(
            pie::Config {
                bytemode,
                ..Default::default()
            },
            0.1,
            200_000,
            Ecn::NotCapable,
            length,
        );
        let [long, short] = [0, 1].map(|first| {
            dropped
                .iter()
                .skip(first)
                .step_by(2)
                .filter(|is_dropped| **is_dropped)
                .count() as f64
        });
        short / long
    };
    let (with, without) = (drops(true), drops(false));
    assert!(
        (with - 0.5).abs() < 0.05 && (without - 1.0).abs() < 0.1,
        "{with} {without}"
    );
}

/// Pauses of the senders and of the link. One update a step would take months.
#[test]
fn a_long_pause_equals_its_updates() {
    let config = pie::Config {
        tupdate: Duration::from_micros(1),
        ..Default::default()
    };
    for (target, alpha) in [(15_000, 2), (15_000, 0), (1, 1), (3_600_000_000, 32)] {
        let config = pie::Config {
            target: Duration::from_micros(target),
            alpha,
            ..config
        };
        for waiting in [0, 5] {
            let mut scheduler = config.build::<u64>(Seed::new(1)).expect("legal");
            (0..waiting + 1).for_each(|number| {
                push(&mut scheduler, Instant::ZERO, number, LEN, Ecn::NotCapable)
            });
            let day = Duration::from_secs(86_400);
            let mut now = Instant::from_nanos(20_000_000);
            scheduler.dequeue(now);
            for _ in 0..200 {
                now += day;
                push(&mut scheduler, now, 9, LEN, Ecn::NotCapable);
                scheduler.take_dropped();
                while scheduler.backlog().packets > waiting {
                    scheduler.evict();
                }
                scheduler.check_invariants();
            }
            // The delay of the last departure, 20 ms, stays while packets wait.
            let probability = probability(&scheduler);
            let is_expected = match (waiting, alpha, target) {
                (0, ..) | (_, _, 3_600_000_000) => probability == 0.0,
                (_, 0, _) => (1e-6..1e-4).contains(&probability),
                _ => probability == 1.0,
            };
            assert!(
                is_expected,
                "{probability}: target {target} us, alpha {alpha}, {waiting} waiting"
            );
        }
    }
    // One call after a pause, and a call at each update in the pause: the queue is empty.
    let config = pie::Config::default();
    for updates in [1, 2, 3, 10, 50, 200, 1000] {
        let pause = |steps: u64| {
            let (mut scheduler, mut now) = frozen(pie::Config::default(), 0.3);
            config.reconfigure(&mut scheduler).expect("live");
            while scheduler.dequeue(now).is_some() {}
            for _ in 0..updates / steps {
                now += Duration::from_picos(config.tupdate.as_picos() * steps);
                scheduler.dequeue(now);
            }
            scheduler.probability()
        };
        assert_eq!(pause(1), pause(updates), "{updates} updates");
        assert_eq!(
            pause(1) > 0,
            updates < 100,
            "a hundred updates and more end at 0"
        );
    }
    assert!(
        differs(1, Lack::Decay).0.is_some(),
        "the model does one update a step, and finds a wrong decay"
    );
}

#[test]
fn parameters_change_while_packets_wait() {
    let mut scheduler = pie::Config::default()
        .build::<u64>(Seed::new(1))
        .expect("legal");
    push(&mut scheduler, Instant::ZERO, 0, LEN, Ecn::NotCapable);
    pie::Config {
        burst: Duration::from_millis(1),
        tupdate: Duration::from_millis(1),
        ..Default::default()
    }
    .reconfigure(&mut scheduler)
    .expect("live");
    scheduler.check_invariants();
    assert!(
        pie::Config {
            alpha: 33,
            ..Default::default()
        }
        .reconfigure(&mut scheduler)
        .is_err()
    );
    let error = |text: &str| {
        text.parse::<QueueSpec>()
            .map(|spec| panic!("{spec:?}"))
            .unwrap_err()
            .to_string()
    };
    for text in [
        "pie alpha 33",
        "pie beta 33",
        "pie target 0",
        "pie tupdate 0",
        "pie burst 3601s",
    ] {
        assert!(
            error(text).contains("legal range"),
            "{text}: {}",
            error(text)
        );
    }
    let written = "pie target 20ms tupdate 16ms alpha 4 beta 10 ecn bytemode dq_rate_estimator";
    assert_eq!(
        written
            .parse::<QueueSpec>()
            .expect("legal")
            .discipline
            .to_string(),
        written
    );
}

proptest! {
    /// Any legal parameters, any arrivals: each packet is sent, marked or dropped.
    #[test]
    fn nothing_vanishes(
        (target, tupdate, alpha, beta, burst) in (1u64..100_000, 1u64..100_000, 0u32..=32, 0u32..=32, 0u64..100_000),
        (bytemode, dq_rate_estimator, ecn, linux, wait) in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 0u64..3_000_000),
        lens in prop::collection::vec(0u32..3000, 1..300),
    ) {
        let [target, tupdate, burst] = [target, tupdate, burst].map(Duration::from_micros);
        let config = pie::Config { target, tupdate, alpha, beta, burst, ecn, bytemode, dq_rate_estimator, linux };
        let mut scheduler = config.build::<u64>(Seed::new(1)).expect("legal");
        let (mut sent, mut dropped, mut now) = (0, 0, Instant::ZERO);
        for (number, len) in (0u64..).zip(&lens) {
            now += Duration::from_nanos(wait);
            push(&mut scheduler, now, number, *len, if number % 2 == 0 { Ecn::Capable } else { Ecn::NotCapable });
            dropped += std::iter::from_fn(|| scheduler.take_dropped()).count();
            if number % 3 == 0 {
                sent += usize::from(scheduler.dequeue(now).is_some());
            }
            scheduler.check_invariants();
        }
        sent += std::iter::from_fn(|| scheduler.dequeue(now)).count();
        prop_assert_eq!(sent + dropped, lens.len());
    }
}
