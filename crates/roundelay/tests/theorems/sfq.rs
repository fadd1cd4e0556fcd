//! SFQ: the claims of `sfq.rs`, and disciplines that break them.

use std::collections::{HashMap, VecDeque};

use proptest::prelude::*;
use roundelay::schedulers::{Discipline, drr, fifo, fq_codel, sfq};
use roundelay::{
    Backlog, Buffer, DropReason, Duration, FlowId, Footprint, Instant, Limit, Packet, QueueSpec,
    Refused, Scheduler,
};
use roundelay::{Control, Seed};

use crate::theorems::fq_codel::{
    greedy_steps, shares_beside_on_off, steps, worst_difference_of, worst_on_off_share,
};

const LEN: u32 = 1514;

fn millis(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Room for any test.
fn deep() -> sfq::Config {
    sfq::Config {
        flows: 65_408,
        depth: 65_535,
        ..Default::default()
    }
}

fn build(config: sfq::Config, seed: u64) -> sfq::Sfq<u64> {
    config.build(Seed::new(seed)).expect("legal parameters")
}

/// Whether two flows share a bucket: then the second packet of the first flow leaves before the
/// other flow's packet.
pub(crate) fn meet(scheduler: &mut impl Scheduler<u64>, a: u32, b: u32) -> bool {
    for flow in [a, a, b] {
        assert!(
            scheduler
                .enqueue(Instant::ZERO, Packet::new(FlowId(flow), LEN, 0))
                .is_ok()
        );
    }
    let order: Vec<_> = std::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
        .map(|packet| packet.flow.0)
        .collect();
    order == [a, a, b]
}

/// Whether the share of `seeds` hashes that put two flows together matches chance: 1 / divisor, to
/// within 5 standard deviations.
pub(crate) fn is_as_chance_has_it(meetings: u32, seeds: u32, divisor: u32) -> bool {
    let (seeds, p) = (f64::from(seeds), 1.0 / f64::from(divisor));
    (f64::from(meetings) - seeds * p).abs() <= 5.0 * (seeds * p * (1.0 - p)).sqrt()
}

#[test]
fn two_flows_meet_in_one_of_divisor_seeds() {
    const SEEDS: u32 = 20_000;
    for (a, b, divisor) in [
        (0, 1, 64),
        (5, 5 + 64, 64),
        (0, u32::MAX, 16),
        (1 << 31, 0, 16),
        (7, 8, 2),
    ] {
        let config = sfq::Config { divisor, ..deep() };
        let meetings = (0..SEEDS)
            .filter(|&seed| meet(&mut build(config, seed.into()), a, b))
            .count() as u32;
        assert!(
            is_as_chance_has_it(meetings, SEEDS, divisor),
            "{a} and {b} met {meetings} times"
        );
    }
    // With a hash of the low bits 5 and 69 of 64 always meet, whatever the seed.
    assert!(
        !is_as_chance_has_it(SEEDS, SEEDS, 64),
        "the check finds a hash without a key"
    );
}

#[test]
fn one_bucket_is_fifo_and_many_keep_flows_apart() {
    assert!(meet(
        &mut build(
            sfq::Config {
                divisor: 1,
                ..deep()
            },
            1
        ),
        0,
        1
    ));
    for other in 1..6 {
        assert!(
            (0..other).all(|flow| !meet(&mut build(deep(), 1), flow, other)),
            "the tests with seed 1 rely on it"
        );
        let codel = fq_codel::Config {
            target: Duration::from_secs(3600),
            ..Default::default()
        };
        assert!(
            (0..other).all(|flow| !meet(
                &mut codel.build(Seed::new(1)).expect("legal"),
                flow,
                other
            )),
            "and those of fq_codel"
        );
    }
    let mut scheduler = build(
        sfq::Config {
            divisor: 1,
            ..deep()
        },
        1,
    );
    for number in 0..1000u64 {
        let packet = Packet::new(
            FlowId(number as u32 * 7919 % 50),
            40 + number as u32 % 1400,
            number,
        );
        assert!(scheduler.enqueue(Instant::ZERO, packet).is_ok());
    }
    let order: Vec<_> = std::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
        .map(|packet| packet.payload)
        .collect();
    assert!(order.is_sorted(), "first in first out in a bucket");
}

proptest! {
    #[test]
    fn buckets_share_within_the_bound(steps in steps(), quantum in 1u32..4000) {
        let scheduler = build(sfq::Config { quantum, ..deep() }, 1);
        prop_assert!(worst_difference_of(scheduler, &steps) <= i64::from(quantum + 2 * LEN));
    }
}

#[test]
fn fifo_does_not_share_within_the_bound() {
    let bound = i64::from(LEN + 2 * LEN);
    assert!(worst_difference_of(build(deep(), 1), &greedy_steps()) <= bound);
    let fifo = fifo::Config
        .build::<u64>(Seed::new(1))
        .expect("no parameters");
    assert!(
        worst_difference_of(fifo, &greedy_steps()) > bound,
        "the check finds unfairness"
    );
}

/// SFQ with returning buckets put at the front, as in Linux for a while in 2012.
#[derive(Default)]
pub(crate) struct NewFirst {
    queues: [VecDeque<Packet<u64>>; 5],
    ring: VecDeque<usize>,
}

impl Scheduler<u64> for NewFirst {
    fn enqueue(&mut self, _now: Instant, packet: Packet<u64>) -> Result<(), Refused<u64>> {
        let number = packet.flow.index();
        if self.queues[number].is_empty() {
            self.ring.push_front(number);
        }
        self.queues[number].push_back(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<u64>> {
        let number = self.ring.pop_front()?;
        let packet = self.queues[number].pop_front();
        if !self.queues[number].is_empty() {
            self.ring.push_back(number);
        }
        packet
    }

    fn evict(&mut self) -> Option<Packet<u64>> {
        None
    }

    fn backlog(&self) -> Backlog {
        let packets = self.queues.iter().map(VecDeque::len).sum::<usize>() as u64;
        Backlog {
            packets,
            bytes: packets * u64::from(LEN),
        }
    }
}

impl Control for NewFirst {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

#[test]
fn known_bug_30_new_flow_does_not_starve_others() {
    for (slots, packets) in [(14, 1), (1004, 1), (1004, 2), (1004, 4)] {
        let ours = || {
            build(
                sfq::Config {
                    quantum: packets * LEN,
                    ..deep()
                },
                1,
            )
        };
        let bound = slots / 5 + 2 * u64::from(packets);
        assert!(worst_on_off_share(3, slots, ours) <= bound);
        assert!(
            worst_on_off_share(3, slots, NewFirst::default) > bound,
            "the check finds the bug"
        );
    }
}

proptest! {
    #[test]
    fn on_off_flows_of_any_pattern_get_their_share(offers in prop::collection::vec(any::<bool>(), 50..400), packets in 1u32..6) {
        let (slots, config) = (offers.len() as u64, sfq::Config { quantum: packets * LEN, ..deep() });
        let sent = shares_beside_on_off(&mut build(config, 1), slots, &|slot| offers[slot as usize]);
        prop_assert!(sent[4] <= slots / 5 + 2 * u64::from(packets), "{:?}", sent);
    }
}

/// A perturbation that leaves waiting packets in place and puts later packets into their flow's new
/// bucket.
struct LeavesPacketsBehind {
    queues: [VecDeque<Packet<u64>>; 8],
    next: usize,
}

impl Scheduler<u64> for LeavesPacketsBehind {
    fn enqueue(&mut self, now: Instant, packet: Packet<u64>) -> Result<(), Refused<u64>> {
        let period = now.since(Instant::ZERO).as_nanos() / 50_000_000;
        let bucket = (packet.flow.index() * 5 + period as usize * 3) % 8;
        self.queues[bucket].push_back(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<u64>> {
        (0..8).find_map(|_| {
            self.next = (self.next + 1) % 8;
            self.queues[self.next].pop_front()
        })
    }

    fn evict(&mut self) -> Option<Packet<u64>> {
        None
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.queues.iter().map(VecDeque::len).sum::<usize>() as u64,
            bytes: 0,
        }
    }
}

impl Control for LeavesPacketsBehind {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

/// Departures, with a millisecond between two steps: a packet of the flow arrives, or one leaves.
fn departures(scheduler: &mut impl Scheduler<u64>, steps: &[Option<u32>]) -> Vec<Packet<u64>> {
    let mut departures = Vec::new();
    for (number, flow) in steps.iter().enumerate() {
        let now = millis(number as u64);
        match flow {
            Some(flow) => assert!(
                scheduler
                    .enqueue(
                        now,
                        Packet::new(FlowId(*flow), 100 + flow * 100, number as u64)
                    )
                    .is_ok()
            ),
            None => departures.extend(scheduler.dequeue(now)),
        }
    }
    let end = millis(steps.len() as u64);
    departures.extend(std::iter::from_fn(|| scheduler.dequeue(end)));
    departures
}

fn keeps_order(departures: &[Packet<u64>]) -> bool {
    let mut last = HashMap::new();
    departures.iter().all(|packet| {
        last.insert(packet.flow, packet.payload)
            .is_none_or(|before| before < packet.payload)
    })
}

/// Three arrivals for every two departures, so that each perturbation finds packets.
fn growing() -> Vec<Option<u32>> {
    (0..2000u32)
        .map(|step| (step % 5 < 3).then_some(step * 7 % 11))
        .collect()
}

proptest! {
    #[test]
    fn known_bug_31_perturbation_keeps_order(
        steps in prop::collection::vec(prop::option::weighted(0.6, 0u32..12), 1..1000),
        (perturb, divisor, seed) in (1u64..100, 0u32..5, any::<u64>()),
    ) {
        let config = sfq::Config { perturb: Duration::from_millis(perturb), divisor: 1 << divisor, ..deep() };
        let departures = departures(&mut build(config, seed), &steps);
        prop_assert_eq!(departures.len(), steps.iter().flatten().count(), "a perturbation drops nothing");
        prop_assert!(keeps_order(&departures));
    }
}

#[test]
fn perturbation_changes_who_meets_whom_and_the_check_finds_reordering() {
    let config = |perturb| sfq::Config {
        perturb: Duration::from_millis(perturb),
        divisor: 8,
        ..deep()
    };
    let with = departures(&mut build(config(50), 1), &growing());
    let without = departures(&mut build(config(0), 1), &growing());
    assert!(keeps_order(&with) && keeps_order(&without));
    assert_ne!(with, without);
    let mut careless = LeavesPacketsBehind {
        queues: Default::default(),
        next: 0,
    };
    assert!(
        !keeps_order(&departures(&mut careless, &growing())),
        "the check finds reordering"
    );
    // Two flows with two buckets: in half of the periods, they do not share one.
    let mut scheduler = build(
        sfq::Config {
            perturb: Duration::from_secs(1),
            divisor: 2,
            ..deep()
        },
        1,
    );
    let mut met = 0;
    for period in 1..1000 {
        let now = millis(period * 1001);
        for flow in [0, 0, 1] {
            assert!(
                scheduler
                    .enqueue(now, Packet::new(FlowId(flow), LEN, 0))
                    .is_ok()
            );
        }
        let flows: Vec<_> = std::iter::from_fn(|| scheduler.dequeue(now))
            .map(|packet| packet.flow.0)
            .collect();
        met += u32::from(flows == [0, 0, 1]);
    }
    assert!(is_as_chance_has_it(met, 999, 2), "{met} of 999");
}

/// Linux, 2025: periods out of range, or a clock that jumped, made the timer fire without end.
#[test]
fn known_bug_27_extreme_perturbations() {
    let perturb = |perturb| sfq::Config { perturb, ..deep() }.check();
    assert!(
        [
            Duration::ZERO,
            Duration::from_millis(1),
            Duration::from_secs(3600)
        ]
        .into_iter()
        .all(|period| perturb(period).is_ok())
    );
    let illegal = [
        Duration::from_picos(1),
        Duration::from_micros(999),
        Duration::from_picos(3_600_000_000_000_001),
        Duration::MAX,
    ];
    assert!(illegal.into_iter().all(|period| perturb(period).is_err()));
    let mut scheduler = build(
        sfq::Config {
            perturb: Duration::from_millis(1),
            ..deep()
        },
        1,
    );
    for (now, flow) in [
        Instant::ZERO,
        millis(1),
        millis(3_600_000),
        Instant::MAX,
        Instant::MAX,
    ]
    .into_iter()
    .zip(0..)
    {
        assert!(
            scheduler
                .enqueue(now, Packet::new(FlowId(flow), LEN, 0))
                .is_ok()
        );
    }
    assert_eq!(
        std::iter::from_fn(|| scheduler.dequeue(Instant::MAX)).count(),
        5
    );
}

/// Linux, 2024 and 2025: with a limit of one packet, the index of the longest queue exceeded its
/// table.
#[test]
fn known_bug_26_limit_of_one() {
    for (limit, depth, flows, divisor, headdrop) in [
        (1, 127, 127, 1024, false),
        (1, 1, 1, 1, true),
        (1, 1, 127, 2, false),
        (2, 1, 1, 1, true),
        (2, 1, 1, 65_536, false),
    ] {
        let config = sfq::Config {
            depth,
            flows,
            divisor,
            headdrop,
            ..Default::default()
        };
        let mut buffer = Buffer::new(Limit::of_packets(limit), build(config, 1));
        let (mut dropped, mut sent) = (0, 0);
        for number in 0..300 {
            buffer.enqueue(
                millis(number),
                Packet::new(FlowId(number as u32 % 5), LEN, number),
                |_, _| dropped += 1,
            );
            assert!((1..=limit).contains(&buffer.scheduler().backlog().packets));
            if number % 7 == 0 {
                sent += u64::from(buffer.dequeue(millis(number), |_, _| ()).is_some());
            }
        }
        assert_eq!(dropped + sent + buffer.scheduler().backlog().packets, 300);
    }
}

#[test]
fn known_bug_22_silly_parameters_are_refused() {
    let quantum = |quantum| sfq::Config { quantum, ..deep() }.check().is_ok();
    assert!([1, 255, 256, 1 << 20].into_iter().all(quantum));
    assert!(
        ![0, (1 << 20) + 1, i32::MAX as u32, u32::MAX]
            .into_iter()
            .any(quantum)
    );
    let flows = |flows| sfq::Config { flows, ..deep() }.check().is_ok();
    assert!(flows(1) && flows(65_408) && !flows(0) && !flows(65_409));
    let depth = |depth| sfq::Config { depth, ..deep() }.check().is_ok();
    assert!(depth(1) && depth(65_535) && !depth(0) && !depth(65_536));
    let divisor = |divisor| sfq::Config { divisor, ..deep() }.check();
    assert!(
        [1, 2, 1024, 65_536]
            .into_iter()
            .all(|buckets| divisor(buckets).is_ok())
    );
    assert!(
        [0, 3, 1000, 65_535, 65_537, 1 << 17]
            .into_iter()
            .all(|buckets| divisor(buckets).is_err())
    );
    assert_eq!(
        divisor(1000).unwrap_err().to_string(),
        "sfq: divisor 1000: expected a power of two from 1 to 65536"
    );
}

/// Linux, 2012: packets above 64 KB, and quanta of a byte.
#[test]
fn known_bug_28_huge_packets_and_tiny_quanta() {
    for quantum in [1, 1 << 20] {
        let mut scheduler = build(sfq::Config { quantum, ..deep() }, 1);
        for number in 0..500u32 {
            let packet = Packet::new(FlowId(number % 20), u32::MAX - number * 1_000_000, 0);
            assert!(scheduler.enqueue(Instant::ZERO, packet).is_ok());
        }
        assert_eq!(
            std::iter::from_fn(|| scheduler.dequeue(Instant::ZERO)).count(),
            500
        );
    }
}

/// Ten packets of one flow and one of another, in buckets of four: drops with their reasons, and
/// departures.
fn at_depth(headdrop: bool) -> (Vec<(u64, DropReason)>, Vec<u64>) {
    let mut buffer = Buffer::new(
        Limit::of_packets(127),
        build(
            sfq::Config {
                depth: 4,
                headdrop,
                ..deep()
            },
            1,
        ),
    );
    let (mut dropped, mut offered_bytes, mut dropped_bytes) = (Vec::new(), 0, 0);
    for number in 0..11 {
        let packet = Packet::new(FlowId(number as u32 / 10), 100 + number as u32, number);
        offered_bytes += u64::from(packet.len);
        buffer.enqueue(millis(number), packet, |packet, reason| {
            dropped_bytes += u64::from(packet.len);
            dropped.push((packet.payload, reason));
        });
        assert_eq!(
            buffer.scheduler().backlog().bytes,
            offered_bytes - dropped_bytes,
            "nothing vanishes"
        );
    }
    let left = std::iter::from_fn(|| buffer.dequeue(millis(11), |_, _| ()))
        .map(|packet| packet.payload)
        .collect();
    (dropped, left)
}

#[test]
fn a_bucket_at_its_depth_gives_up_its_newest_or_its_oldest() {
    let (dropped, left) = at_depth(false);
    assert_eq!(
        dropped,
        [4, 5, 6, 7, 8, 9].map(|number| (number, DropReason::Refused))
    );
    assert_eq!(left, [0, 1, 2, 3, 10]);
    let (dropped, left) = at_depth(true);
    assert_eq!(
        dropped,
        [0, 1, 2, 3, 4, 5].map(|number| (number, DropReason::PushedOut))
    );
    assert_eq!(left, [6, 7, 8, 9, 10]);
}

#[test]
fn a_full_buffer_costs_the_longest_bucket() {
    for (headdrop, expected) in [(false, 49), (true, 0)] {
        let mut buffer = Buffer::new(
            Limit::of_packets(100),
            build(sfq::Config { headdrop, ..deep() }, 1),
        );
        let mut dropped = Vec::new();
        for number in 0..101u64 {
            let flow = if number < 50 {
                0
            } else {
                1 + number as u32 % 5
            };
            buffer.enqueue(
                millis(number),
                Packet::new(FlowId(flow), 1000, number),
                |packet, reason| dropped.push((packet.payload, reason)),
            );
        }
        assert_eq!(dropped, [(expected, DropReason::PushedOut)]);
    }
}

/// A bucket emptied by an eviction keeps its place: packets arriving before the next turn of the
/// bucket leave in this turn, not a round later.
#[test]
fn a_bucket_that_an_eviction_emptied_loses_no_turn() {
    let order = |evicted: u32, flows: &[(u32, u32)]| {
        let mut scheduler = build(deep(), 1);
        for (flow, len) in flows {
            assert!(
                scheduler
                    .enqueue(Instant::ZERO, Packet::new(FlowId(*flow), *len, 0))
                    .is_ok()
            );
        }
        assert_eq!(scheduler.evict().map(|packet| packet.flow.0), Some(evicted));
        assert!(
            scheduler
                .enqueue(Instant::ZERO, Packet::new(FlowId(evicted), LEN, 0))
                .is_ok()
        );
        std::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
            .map(|packet| packet.flow.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        order(1, &[(0, LEN), (0, LEN), (1, 60_000), (2, LEN), (2, LEN)]),
        [0, 1, 2, 0, 2]
    );
    // If the evicted bucket had the current turn, the turn is over.
    assert_eq!(order(0, &[(0, 60_000), (1, LEN), (1, LEN)]), [1, 0, 1]);
}

/// A turn of a megabyte, already begun, ends when the quantum becomes a packet.
#[test]
fn a_turn_is_cut_when_the_quantum_is_lowered() {
    let config = sfq::Config {
        quantum: 1 << 20,
        depth: 1000,
        ..deep()
    };
    let mut scheduler = build(config, 1);
    let put = |scheduler: &mut sfq::Sfq<u64>, flow, packets| {
        (0..packets).for_each(|_| {
            assert!(
                scheduler
                    .enqueue(Instant::ZERO, Packet::new(FlowId(flow), LEN, 0))
                    .is_ok()
            )
        });
    };
    put(&mut scheduler, 0, 900);
    assert!(scheduler.dequeue(Instant::ZERO).is_some());
    sfq::Config {
        quantum: LEN,
        ..config
    }
    .reconfigure(&mut scheduler)
    .expect("live");
    put(&mut scheduler, 1, 10);
    let order: Vec<_> = (0..6)
        .filter_map(|_| scheduler.dequeue(Instant::ZERO))
        .map(|packet| packet.flow.0)
        .collect();
    assert_eq!(
        order.iter().sum::<u32>(),
        3,
        "in turns of a packet from then on: {order:?}"
    );
}

/// Newest in, oldest dropped: a bucket at its depth keeps its deficit for a long packet, otherwise
/// the bucket would wait for ever.
#[test]
fn a_bucket_that_drops_its_head_keeps_its_deficit() {
    let mut scheduler = build(
        sfq::Config {
            depth: 1,
            headdrop: true,
            quantum: 100,
            ..deep()
        },
        1,
    );
    let put = |scheduler: &mut sfq::Sfq<u64>, flow, len| {
        assert!(
            scheduler
                .enqueue(Instant::ZERO, Packet::new(FlowId(flow), len, 0))
                .is_ok()
        );
        while scheduler.take_dropped().is_some() {}
    };
    put(&mut scheduler, 0, 1000);
    put(&mut scheduler, 1, 100);
    let mut turns = 0;
    while scheduler.dequeue(Instant::ZERO).expect("backlogged").flow != FlowId(0) {
        put(&mut scheduler, 0, 1000);
        put(&mut scheduler, 1, 100);
        turns += 1;
    }
    assert_eq!(turns, 9, "1000 bytes take ten turns of 100");
}

#[test]
fn no_more_buckets_than_flows_are_used() {
    let mut scheduler = build(
        sfq::Config {
            flows: 3,
            ..Default::default()
        },
        1,
    );
    let taken = |scheduler: &mut sfq::Sfq<u64>, flow| {
        scheduler
            .enqueue(Instant::ZERO, Packet::new(FlowId(flow), LEN, 0))
            .is_ok()
    };
    assert!((0..3).all(|flow| taken(&mut scheduler, flow)));
    assert!(
        !taken(&mut scheduler, 3) && taken(&mut scheduler, 2),
        "a fourth bucket is not to be had"
    );
    scheduler.dequeue(Instant::ZERO);
    assert!(taken(&mut scheduler, 3), "one has become idle");
}

#[test]
fn memory_does_not_grow_with_flows() {
    let mut scheduler = build(deep(), 1);
    let before = scheduler.footprint();
    for flow in 0..100_000u32 {
        assert!(
            scheduler
                .enqueue(
                    Instant::ZERO,
                    Packet::new(FlowId(flow.wrapping_mul(0x9e37_79b9)), 100, 0)
                )
                .is_ok()
        );
        assert!(flow < 1000 || scheduler.evict().is_some());
    }
    assert_eq!(scheduler.footprint(), before);
    assert_eq!(before.bytes_per_flow, 0);
    let per_flow = drr::Config::default()
        .build::<u64>(Seed::new(1))
        .expect("legal");
    assert_ne!(per_flow.footprint().bytes_per_flow, 0, "DRR's does");
    let with = |divisor| {
        build(sfq::Config { divisor, ..deep() }, 1)
            .footprint()
            .fixed_bytes
    };
    assert_eq!(
        with(4096) - with(2048),
        2 * (with(2048) - with(1024)),
        "the buckets are what it takes"
    );
}

#[test]
fn it_reads_as_tc_writes_it() {
    let period = |text: &str| {
        text.parse::<QueueSpec>()
            .map(|spec| spec.discipline.to_string())
    };
    assert_eq!(
        period("sfq perturb 10"),
        period("sfq perturb 10s"),
        "a bare number is seconds, as in tc"
    );
    assert_ne!(period("sfq perturb 10"), period("sfq perturb 10ms"));
    let spec: QueueSpec = "sfq perturb 10s depth 64 divisor 512 headdrop"
        .parse()
        .expect("legal");
    assert_eq!(
        spec.discipline.to_string(),
        "sfq perturb 10s divisor 512 depth 64 headdrop"
    );
    assert_eq!(spec.limit_or_default(), Limit::of_packets(127));
    assert!("sfq divisor 131072".parse::<QueueSpec>().is_err());
    let not_a_power_of_two = "sfq divisor 1000"
        .parse::<QueueSpec>()
        .and_then(|spec| spec.discipline.build::<u64>(Seed::new(1)));
    assert!(not_a_power_of_two.is_err());
}
