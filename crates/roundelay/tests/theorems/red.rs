//! RED: the claims of `red.rs`, and disciplines that break them; also constant-rate and responsive
//! senders for other tests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::schedulers::{Discipline, choke, fifo, red};
use roundelay::{
    Backlog, Billionths, Buffer, DropReason, Duration, Ecn, FlowId, Footprint, Instant, Limit,
    Observer, Packet, Port, QueueSpec, Rate, Refused, Scheduler,
};
use roundelay::{Control, Seed};

pub(crate) const LEN: u32 = 1000;

fn millis(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Results of senders at a link, each a flow, counted after a settling time.
#[derive(Debug, Clone)]
pub(crate) struct Traffic {
    pub(crate) offered: Vec<u64>,
    /// Bytes sent.
    pub(crate) sent: Vec<u64>,
    /// Packets dropped.
    pub(crate) dropped: Vec<u64>,
    /// Packets dropped by a full buffer.
    pub(crate) full: u64,
    /// Waiting bytes, as the mean over arrivals.
    pub(crate) mean_backlog: f64,
    /// The mean fraction of senders with a loss, over round-trip intervals with at least one loss.
    pub(crate) told_at_once: f64,
}

impl Traffic {
    fn new(senders: usize) -> Self {
        let zeros = vec![0; senders];
        Self {
            offered: zeros.clone(),
            sent: zeros.clone(),
            dropped: zeros,
            full: 0,
            mean_backlog: 0.0,
            told_at_once: 0.0,
        }
    }

    /// A flow's share of the bytes sent.
    pub(crate) fn share(&self, flow: usize) -> f64 {
        self.sent[flow] as f64 / self.sent.iter().sum::<u64>() as f64
    }

    /// The fraction of a flow's packets lost.
    pub(crate) fn loss(&self, flow: usize) -> f64 {
        self.dropped[flow] as f64 / self.offered[flow].max(1) as f64
    }
}

/// Senders, a link and the duration of the run.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) link: u64,
    pub(crate) limit: Limit,
    /// Rates of the constant senders, in bits a second.
    pub(crate) constant: Vec<u64>,
    /// Number of responsive senders, after the constant ones: the window grows by a packet a round
    /// trip and is halved in a round trip with a loss.
    pub(crate) responsive: usize,
    pub(crate) round_trip: Duration,
    pub(crate) seconds: u64,
    pub(crate) settle: u64,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            link: 5_000_000,
            limit: Limit::of_packets(100),
            constant: Vec::new(),
            responsive: 0,
            round_trip: Duration::from_millis(100),
            seconds: 60,
            settle: 10,
        }
    }
}

struct Meter {
    settled_at: Instant,
    window: Vec<f64>,
    has_lost: Vec<bool>,
    lost_lately: Vec<bool>,
    traffic: Traffic,
}

impl Observer<()> for Meter {
    fn sent(&mut self, packet: Packet<()>, start: Instant, _end: Instant) {
        if start >= self.settled_at {
            self.traffic.sent[packet.flow.index()] += u64::from(packet.len);
        }
    }

    fn dropped(&mut self, packet: Packet<()>, now: Instant, reason: DropReason) {
        self.has_lost[packet.flow.index()] = true;
        self.lost_lately[packet.flow.index()] = true;
        if now >= self.settled_at {
            self.traffic.dropped[packet.flow.index()] += 1;
            self.traffic.full += u64::from(reason != DropReason::Early);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Packet(usize),
    /// A responsive sender starts a round.
    Round(usize),
    /// Counts the senders with a recent loss.
    Count,
}

impl Scene {
    /// Runs the scene with a discipline.
    pub(crate) fn run<D: Discipline>(&self, discipline: &D, seed: u64) -> Traffic {
        self.drive(
            discipline
                .build::<()>(Seed::new(seed))
                .expect("legal parameters"),
            seed,
        )
    }

    /// Runs the scene with a scheduler.
    pub(crate) fn drive(&self, scheduler: impl Scheduler<()>, seed: u64) -> Traffic {
        let (mut random, senders) = (
            Pcg64::seed_from_u64(seed),
            self.constant.len() + self.responsive,
        );
        let mut port = Port::new(
            scheduler,
            self.limit,
            Rate::from_bits_per_second(self.link).expect("not zero"),
        );
        let mut meter = Meter {
            settled_at: millis(self.settle * 1000),
            window: vec![2.0; senders],
            has_lost: vec![false; senders],
            lost_lately: vec![false; senders],
            traffic: Traffic::new(senders),
        };
        let (mut events, end) = (BinaryHeap::new(), millis(self.seconds * 1000));
        let round_trip = self.round_trip.as_picos();
        for sender in 0..senders {
            let event = if sender < self.constant.len() {
                Event::Packet(sender)
            } else {
                Event::Round(sender)
            };
            events.push(Reverse((
                Instant::from_picos(random.random_range(0..round_trip)),
                event,
            )));
        }
        events.push(Reverse((meter.settled_at, Event::Count)));
        let (mut arrivals, mut backlog, mut intervals) = (0u64, 0u64, 0u64);
        while let Some(Reverse((now, event))) = events.pop().filter(|Reverse((now, _))| *now < end)
        {
            match event {
                Event::Packet(sender) => {
                    port.advance(now, &mut meter);
                    if now >= meter.settled_at {
                        (arrivals, backlog) =
                            (arrivals + 1, backlog + port.scheduler().backlog().bytes);
                        meter.traffic.offered[sender] += 1;
                    }
                    port.arrive(now, Packet::new(FlowId(sender as u32), LEN, ()), &mut meter);
                    if let Some(rate) = self.constant.get(sender) {
                        // Random gaps keep senders out of step.
                        let gap = u64::from(LEN) * 8_000_000_000_000 / rate;
                        events.push(Reverse((
                            now + Duration::from_picos(random.random_range(gap / 2..gap * 3 / 2)),
                            event,
                        )));
                    }
                }
                Event::Round(sender) => {
                    let window = &mut meter.window[sender];
                    *window = if std::mem::take(&mut meter.has_lost[sender]) {
                        (*window / 2.0).max(1.0)
                    } else {
                        *window + 1.0
                    };
                    let packets = *window as u64;
                    for packet in 0..packets {
                        let at = random.random_range(
                            round_trip * packet / packets..round_trip * (packet + 1) / packets,
                        );
                        events.push(Reverse((
                            now + Duration::from_picos(at),
                            Event::Packet(sender),
                        )));
                    }
                    events.push(Reverse((now + self.round_trip, event)));
                }
                Event::Count => {
                    let lost = meter.lost_lately[self.constant.len()..]
                        .iter()
                        .filter(|lost| **lost)
                        .count();
                    meter.lost_lately.fill(false);
                    if lost > 0 {
                        intervals += 1;
                        meter.traffic.told_at_once += lost as f64 / self.responsive as f64;
                    }
                    events.push(Reverse((now + self.round_trip, event)));
                }
            }
        }
        meter.traffic.mean_backlog = backlog as f64 / arrivals.max(1) as f64;
        meter.traffic.told_at_once /= intervals.max(1) as f64;
        meter.traffic
    }
}

fn build(config: red::Config) -> red::Red<u64> {
    config.build(Seed::new(1)).expect("legal parameters")
}

fn with_probability(billionths: u64) -> red::Config {
    red::Config {
        probability: Billionths(billionths),
        ..Default::default()
    }
}

/// Offers packets with `waiting` packets in the queue at each arrival, and returns which were
/// dropped. The average settles first.
fn dropped_at(
    scheduler: &mut impl Scheduler<u64>,
    waiting: u64,
    packets: u64,
    ecn: Ecn,
) -> Vec<bool> {
    let mut offer = |number| {
        let packet = Packet {
            ecn,
            ..Packet::new(FlowId(0), LEN, number)
        };
        assert!(scheduler.enqueue(Instant::ZERO, packet).is_ok());
        let is_dropped = std::iter::from_fn(|| scheduler.take_dropped()).count() > 0;
        while scheduler.backlog().packets > waiting {
            scheduler.dequeue(Instant::ZERO);
        }
        is_dropped
    };
    for number in 0..5_000 {
        offer(number);
    }
    (0..packets).map(offer).collect()
}

/// Numbers of packets from one drop to the next.
fn distances(dropped: &[bool]) -> Vec<usize> {
    let all: Vec<_> = dropped
        .split(|is_dropped| *is_dropped)
        .map(|kept| kept.len() + 1)
        .collect();
    all[1..all.len().max(2) - 1].to_vec()
}

/// A queue that drops each packet with the same probability, independent of earlier packets.
struct Memoryless {
    probability: f64,
    random: Pcg64,
    backlog: Backlog,
    dropped: Option<Packet<u64>>,
}

impl Memoryless {
    fn new(probability: f64) -> Self {
        Self {
            probability,
            random: Pcg64::seed_from_u64(1),
            backlog: Backlog::default(),
            dropped: None,
        }
    }
}

impl Scheduler<u64> for Memoryless {
    fn enqueue(&mut self, _now: Instant, packet: Packet<u64>) -> Result<(), Refused<u64>> {
        if self.random.random_bool(self.probability) {
            self.dropped = Some(packet);
        } else {
            self.backlog.packets += 1;
        }
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<u64>> {
        self.backlog.packets -= 1;
        None
    }

    fn evict(&mut self) -> Option<Packet<u64>> {
        None
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn take_dropped(&mut self) -> Option<(Packet<u64>, DropReason)> {
        self.dropped
            .take()
            .map(|packet| (packet, DropReason::Early))
    }
}

impl Control for Memoryless {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

const OFFERED: u64 = 100_000;

/// Whether the number of drops matches distances uniform from 1 to 1 / p, to within five standard
/// deviations.
fn drops_as_uniform_distances_do(drops: usize, p: f64) -> bool {
    let mean = (1.0 / p + 1.0) / 2.0;
    let deviation = ((1.0 / (p * p) - 1.0) / 12.0).sqrt();
    let expected = OFFERED as f64 / mean;
    (drops as f64 - expected).abs() <= 5.0 * deviation / mean * expected.sqrt() + 1.0
}

#[test]
fn the_drop_rate_grows_linearly() {
    for probability in [0.02, 0.1] {
        for waiting in [33, 45, 60, 75, 87] {
            let p = probability * (waiting as f64 - 30.0) / 60.0;
            let drops = |scheduler: &mut dyn FnMut() -> Vec<bool>| {
                scheduler()
                    .into_iter()
                    .filter(|is_dropped| *is_dropped)
                    .count()
            };
            let config = with_probability((probability * 1e9) as u64);
            let ours =
                drops(&mut || dropped_at(&mut build(config), waiting, OFFERED, Ecn::NotCapable));
            assert!(
                drops_as_uniform_distances_do(ours, p),
                "{ours} at {waiting} packets, p_b {p}"
            );
            let fifo = drops(&mut || {
                dropped_at(
                    &mut fifo::Config.build(Seed::new(1)).expect("legal"),
                    waiting,
                    OFFERED,
                    Ecn::NotCapable,
                )
            });
            assert!(
                !drops_as_uniform_distances_do(fifo, p),
                "the check finds a queue that drops nothing"
            );
            let memoryless = drops(&mut || {
                dropped_at(&mut Memoryless::new(p), waiting, OFFERED, Ecn::NotCapable)
            });
            assert!(
                p < 0.005 || !drops_as_uniform_distances_do(memoryless, p),
                "and one with another rate"
            );
        }
    }
}

/// Whether each distance from 1 to `most` is as frequent, to within five standard deviations, and
/// no other occurs.
fn is_uniform(distances: &[usize], most: usize) -> bool {
    let expected = distances.len() as f64 / most as f64;
    let mut counts = vec![0.0; most];
    distances.iter().all(|distance| {
        (1..=most).contains(distance) && {
            counts[distance - 1] += 1.0;
            true
        }
    }) && counts
        .iter()
        .all(|count| (count - expected).abs() <= 5.0 * expected.sqrt())
}

/// The paper's second method of spacing (section VII) against its first.
#[test]
fn drops_are_spaced_uniformly_not_geometrically() {
    let red = dropped_at(
        &mut build(with_probability(100_000_000)),
        60,
        OFFERED,
        Ecn::NotCapable,
    );
    // p_b is a twentieth.
    assert!(is_uniform(&distances(&red), 20));
    let memoryless = dropped_at(
        &mut Memoryless::new(2.0 / 21.0),
        60,
        OFFERED,
        Ecn::NotCapable,
    );
    let count = |dropped: &[bool]| dropped.iter().filter(|is_dropped| **is_dropped).count();
    assert!(
        count(&red).abs_diff(count(&memoryless)) < count(&red) / 20,
        "as many drops"
    );
    assert!(
        !is_uniform(&distances(&memoryless), 20),
        "the check finds geometric distances"
    );
}

/// Packets dropped of bursts of 50, one burst each 200 ms, on a link of 10 Mbit/s.
fn dropped_of_bursts<D: Discipline>(discipline: &D, limit: Limit) -> u64 {
    let mut buffer = Buffer::new(limit, discipline.build::<u64>(Seed::new(1)).expect("legal"));
    let mut dropped = 0;
    for burst in 0..100 {
        (0..50).for_each(|number| {
            buffer.enqueue(
                millis(burst * 200),
                Packet::new(FlowId(0), LEN, number),
                |_, _| dropped += 1,
            )
        });
        for number in 0..50 {
            buffer.dequeue(
                millis(burst * 200) + Duration::from_micros(800 * number),
                |_, _| (),
            );
        }
    }
    dropped
}

#[test]
fn short_queues_and_bursts_lose_nothing() {
    assert_eq!(
        dropped_of_bursts(&red::Config::default(), Limit::of_packets(90)),
        0
    );
    assert!(
        dropped_of_bursts(
            &red::Config {
                burst: 1,
                probability: Billionths(500_000_000),
                ..Default::default()
            },
            Limit::UNBOUNDED
        ) > 100,
        "an average that follows the queue at once drops of each burst"
    );
    assert!(
        dropped_of_bursts(&fifo::Config, Limit::of_packets(30)) > 1000,
        "and so does a buffer of min"
    );
}

#[test]
fn a_queue_beyond_max_takes_nothing() {
    let most = |scheduler: &mut dyn Scheduler<u64>| {
        (0..5_000).for_each(|number| {
            assert!(
                scheduler
                    .enqueue(Instant::ZERO, Packet::new(FlowId(0), LEN, number))
                    .is_ok()
            )
        });
        scheduler.backlog().packets
    };
    let ours = most(&mut build(Default::default()));
    // While the average climbs to 90 the queue grows past 90.
    assert!((90..150).contains(&ours), "{ours}");
    assert_eq!(
        most(&mut fifo::Config.build(Seed::new(1)).expect("legal")),
        5_000,
        "FIFO takes all"
    );
    let gentle = most(&mut build(red::Config {
        gentle: true,
        ..Default::default()
    }));
    assert!(
        gentle > ours,
        "{gentle}: gentle RED takes some up to twice max"
    );
}

/// Dropped and marked packets, of packets offered while `waiting` wait.
fn signals(config: red::Config, waiting: u64, ecn: Ecn) -> (usize, usize) {
    let mut scheduler = build(config);
    let (mut dropped, mut marked) = (0, 0);
    for number in 0..20_000 {
        assert!(
            scheduler
                .enqueue(
                    Instant::ZERO,
                    Packet {
                        ecn,
                        ..Packet::new(FlowId(0), LEN, number)
                    }
                )
                .is_ok()
        );
        dropped += std::iter::from_fn(|| scheduler.take_dropped()).count();
        while scheduler.backlog().packets > waiting {
            marked += usize::from(
                scheduler
                    .dequeue(Instant::ZERO)
                    .is_some_and(|packet| packet.ecn == Ecn::Marked && ecn == Ecn::Capable),
            );
        }
    }
    (dropped, marked)
}

#[test]
fn capable_packets_are_marked_not_dropped() {
    let ecn = red::Config {
        ecn: true,
        ..with_probability(100_000_000)
    };
    let (dropped, none) = signals(red::Config { ecn: false, ..ecn }, 60, Ecn::Capable);
    assert!(dropped > 1000 && none == 0);
    let (none, marked) = signals(ecn, 60, Ecn::Capable);
    assert!(
        none == 0 && marked.abs_diff(dropped) < dropped / 10,
        "marks come where drops would"
    );
    assert!(signals(ecn, 60, Ecn::NotCapable).0 > 1000);
    assert_eq!(
        signals(ecn, 60, Ecn::Marked),
        (0, 0),
        "what another queue has marked says so already"
    );
    // Beyond max every packet is marked, or dropped with `harddrop`.
    assert!(signals(ecn, 120, Ecn::Capable).1 > 19_000);
    let hard = signals(
        red::Config {
            harddrop: true,
            ..ecn
        },
        120,
        Ecn::Capable,
    );
    assert!(hard.0 > 19_000, "{hard:?}");
    let nodrop = red::Config {
        nodrop: true,
        ..ecn
    };
    assert_eq!(signals(nodrop, 60, Ecn::NotCapable), (0, 0));
    assert!(signals(nodrop, 60, Ecn::Capable).1 > 1000);
    // As in tc-red(8): `nodrop` holds beyond max too, unless `harddrop` is set.
    assert_eq!(signals(nodrop, 120, Ecn::NotCapable), (0, 0));
    assert!(signals(nodrop, 120, Ecn::Capable).1 > 19_000);
    let both = red::Config {
        harddrop: true,
        ..nodrop
    };
    assert!(
        [Ecn::NotCapable, Ecn::Capable]
            .into_iter()
            .all(|ecn| signals(both, 120, ecn).0 > 19_000)
    );
    assert_eq!(signals(both, 60, Ecn::NotCapable), (0, 0));
    assert!(
        red::Config {
            ecn: false,
            ..nodrop
        }
        .check()
        .is_err(),
        "without ecn it says nothing, and tc refuses it"
    );
}

/// Twenty senders at a link of 20 Mbit/s, with a buffer of twice the packets in flight.
fn twenty() -> Scene {
    Scene {
        link: 20_000_000,
        limit: Limit::of_packets(360),
        responsive: 20,
        ..Default::default()
    }
}

#[test]
fn senders_do_not_go_back_all_together() {
    let (red, fifo) = (
        twenty().run(&red::Config::default(), 1),
        twenty().run(&fifo::Config, 1),
    );
    println!(
        "told at once: RED {:.2}, FIFO {:.2}; queue: RED {:.0}, FIFO {:.0} bytes",
        red.told_at_once, fifo.told_at_once, red.mean_backlog, fifo.mean_backlog
    );
    let is_spread = |traffic: &Traffic| {
        traffic.told_at_once < 0.4 && traffic.mean_backlog < 90_000.0 && traffic.full == 0
    };
    assert!(is_spread(&red), "{red:?}");
    assert!(
        !is_spread(&fifo),
        "the check finds senders that are all told at once: {fifo:?}"
    );
    let sent = |traffic: &Traffic| traffic.sent.iter().sum::<u64>() as f64 * 8.0 / (50.0 * 20e6);
    assert!(sent(&red) > 0.9, "the link is used: {}", sent(&red));
}

#[test]
fn adaptation_keeps_the_queue_in_the_middle() {
    let many = Scene {
        responsive: 60,
        seconds: 120,
        settle: 60,
        ..twenty()
    };
    let fixed = red::Config {
        probability: Billionths(10_000_000),
        ..Default::default()
    };
    let adaptive = red::Config {
        adaptive: true,
        ..fixed
    };
    let queue = |config| many.run(&config, 1).mean_backlog;
    let (fixed, adaptive) = (queue(fixed), queue(adaptive));
    println!(
        "queue of 60 senders: {fixed:.0} with a probability of 1 %, {adaptive:.0} with one that adapts"
    );
    assert!(
        (45_000.0..75_000.0).contains(&adaptive) && fixed > 75_000.0,
        "{adaptive} {fixed}"
    );
}

/// Linux: bounds on parameters were off by one, and min above max was accepted.
#[test]
fn known_bug_45_thresholds_out_of_order_are_refused() {
    let error = |text: &str| {
        text.parse::<QueueSpec>()
            .map(|spec| panic!("{spec:?}"))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error("red min 90000b max 90000b"),
        "red: min 90000b: expected less than max, which is 90000b"
    );
    assert_eq!(
        error("red min 100001b max 100000b"),
        "red: min 100001b: expected less than max, which is 100000b"
    );
    for text in [
        "red probability 1.1",
        "red min 2gb",
        "red burst 1048577",
        "red avpkt 0b",
        "red avpkt 65537b",
    ] {
        assert!(error(text).contains("legal range"), "{text}");
    }
    let legal = |text: &str| {
        text.parse::<QueueSpec>()
            .map(|spec| spec.discipline.to_string())
            .unwrap()
    };
    assert_eq!(
        legal(
            "red min 30000b max 90000b avpkt 1000b burst 55 ecn adaptive bandwidth link probability 0.02"
        ),
        "red min 30000b max 90000b burst 55 ecn adaptive"
    );
    for text in [
        "red min 1gb",
        "red max 1b",
        "red min 1b max 2b burst 1048576 avpkt 65536b",
        "red probability 0",
        "red probability 1",
    ] {
        legal(text);
    }
}

#[test]
fn parameters_change_while_packets_wait() {
    let mut scheduler = build(Default::default());
    let none = dropped_at(&mut scheduler, 20, 1000, Ecn::NotCapable);
    assert!(none.iter().all(|is_dropped| !is_dropped));
    red::Config {
        max: 15_000,
        ..Default::default()
    }
    .reconfigure(&mut scheduler)
    .expect("live");
    let all = dropped_at(&mut scheduler, 20, 1000, Ecn::NotCapable);
    assert!(
        all.iter().filter(|is_dropped| **is_dropped).count() > 10,
        "the queue is beyond max, and drains to it"
    );
    assert!(
        red::Config {
            min: 20_000,
            max: 15_000,
            ..Default::default()
        }
        .reconfigure(&mut scheduler)
        .is_err()
    );
    scheduler.check_invariants();
}

/// Drops at one instant after two seconds of adaptation have raised the probability, with and
/// without a change of parameters before.
#[test]
fn what_adaptation_has_found_survives_other_changes() {
    let config = red::Config {
        adaptive: true,
        ..with_probability(10_000_000)
    };
    let drops = |change: Option<red::Config>| {
        let mut scheduler = build(config);
        let mut dropped = 0;
        for number in 0..250_000u64 {
            if number == 200_000 {
                change
                    .into_iter()
                    .for_each(|change| change.reconfigure(&mut scheduler).expect("live"));
                dropped = 0;
            }
            let now = Instant::ZERO + Duration::from_micros(10 * number.min(200_000));
            assert!(
                scheduler
                    .enqueue(now, Packet::new(FlowId(0), LEN, number))
                    .is_ok()
            );
            dropped += std::iter::from_fn(|| scheduler.take_dropped()).count();
            while scheduler.backlog().packets > 75 {
                scheduler.dequeue(now);
            }
        }
        dropped
    };
    let (kept, other) = (
        drops(None),
        drops(Some(red::Config {
            harddrop: true,
            ..config
        })),
    );
    assert_eq!(kept, other);
    assert!(
        drops(Some(red::Config {
            adaptive: false,
            ..config
        })) < kept * 2 / 3,
        "without adaptation it is what is set"
    );
}

proptest! {
    /// Any legal parameters, any arrivals: each packet is sent or dropped, and a packet alone in a
    /// cold queue is never dropped.
    #[test]
    fn nothing_vanishes(
        (min, max, burst, wait) in (0u64..5_000, 5_001u64..20_000, 0u32..200, 0u64..3_000_000),
        lens in prop::collection::vec(0u32..3000, 1..300),
    ) {
        let mut scheduler = build(red::Config { min, max, burst, probability: Billionths(500_000_000), ..Default::default() });
        let (mut sent, mut dropped, mut now) = (0, 0, Instant::ZERO);
        for (number, len) in (0u64..).zip(&lens) {
            now += Duration::from_nanos(wait);
            prop_assert!(scheduler.enqueue(now, Packet::new(FlowId(0), *len, number)).is_ok());
            dropped += std::iter::from_fn(|| scheduler.take_dropped()).count();
            prop_assert!(number > 0 || dropped == 0);
            if number % 3 == 0 {
                sent += usize::from(scheduler.dequeue(now).is_some());
            }
        }
        sent += std::iter::from_fn(|| scheduler.dequeue(now)).count();
        prop_assert_eq!(sent + dropped, lens.len());
    }
}

/// `min` is a third of `max`, and `burst` is as tc's manual page advises: (2 min + max) / (3
/// avpkt).
#[test]
fn lengths_that_are_left_out_follow_from_the_others() {
    let lengths = |min, max, burst| {
        red::Config {
            min,
            max,
            burst,
            avpkt: 500,
            ..Default::default()
        }
        .thresholds_and_burst()
    };
    assert_eq!(lengths(30_000, 60_000, 7), (30_000, 60_000, 7));
    assert_eq!(lengths(0, 60_000, 0), (20_000, 60_000, 66));
    assert_eq!(lengths(30_000, 0, 0), (30_000, 90_000, 100));
    let (min, max, _) = red::Config::default().thresholds_and_burst();
    assert_eq!(3 * min, max);
}

/// The average, in packets, after a burst into an empty queue: section VI of the paper, in real
/// numbers.
pub(crate) fn average_after(burst: u32, weight_log: u32) -> f64 {
    let (weight, packets) = (0.5f64.powi(weight_log as i32), f64::from(burst) + 1.0);
    packets + ((1.0 - weight).powf(packets) - 1.0) / weight
}

#[test]
fn the_weight_is_the_largest_that_lets_a_burst_pass() {
    for (min, burst) in [(5u32, 10), (5, 50), (20, 100), (20, 3_000)] {
        let config = red::Config {
            min: u64::from(min) * 1_000,
            max: 100_000,
            avpkt: 1_000,
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

/// Departures of bursts with pauses, behind a link of `link` bits per second.
fn behind_a_link<D: Discipline>(discipline: &D, link: u64) -> Vec<u64> {
    let mut scheduler = discipline.build::<u64>(Seed::new(1)).expect("legal");
    scheduler.set_link_rate(Rate::from_bits_per_second(link).expect("not zero"));
    let mut sent = Vec::new();
    for burst in 0..50 {
        for number in 0..40 {
            scheduler
                .enqueue(
                    millis(20 * burst),
                    Packet::new(FlowId(0), LEN, 40 * burst + number),
                )
                .expect("taken");
        }
        sent.extend(
            core::iter::from_fn(|| scheduler.dequeue(millis(20 * burst + 1)))
                .map(|packet| packet.payload),
        );
        while scheduler.take_dropped().is_some() {}
    }
    sent
}

/// Without `bandwidth` the average of an empty queue falls at the link's rate.
#[test]
fn the_average_of_an_empty_queue_falls_at_the_links_rate() {
    fn check<D: Discipline>(text: &str, with_bandwidth: impl Fn(D) -> D, discipline: D) {
        let slow = behind_a_link(&discipline, 1_000_000);
        assert_ne!(
            slow,
            behind_a_link(&discipline, 1_000_000_000),
            "{text}: the rate makes no difference"
        );
        let written = with_bandwidth(discipline);
        for link in [1_000_000, 1_000_000_000] {
            assert_eq!(
                slow,
                behind_a_link(&written, link),
                "{text} at {link} bit/s"
            );
        }
    }
    let bandwidth = Rate::from_bits_per_second(1_000_000);
    let red = red::Config {
        min: 5_000,
        max: 20_000,
        burst: 8,
        ..red::Config::default()
    };
    check("red", |red| red::Config { bandwidth, ..red }, red);
    let choke = choke::Config {
        min: 5,
        max: 20,
        burst: 8,
        ..choke::Config::default()
    };
    check("choke", |choke| choke::Config { bandwidth, ..choke }, choke);
}
