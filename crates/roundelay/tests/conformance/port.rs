//! Ports and buffers, tested with every discipline.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::author::{Pool, Queue};
use roundelay::schedulers::{AnyDiscipline, AnyScheduler, Discipline, afq};
use roundelay::{
    Backlog, Bytes, DropReason, Duration, FlowId, Footprint, Instant, Limit, Observer, Packet,
    Port, Rate, Refused, Scheduler,
};
use roundelay::{Control, Seed};
use roundelay_conformance::subjects;

/// Transmissions on a link, and drops.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) sent: Vec<(Packet<u64>, Instant, Instant)>,
    pub(crate) dropped: Vec<(Packet<u64>, Instant, DropReason)>,
}

impl Observer<u64> for Log {
    fn sent(&mut self, packet: Packet<u64>, start: Instant, end: Instant) {
        self.sent.push((packet, start, end));
    }

    fn dropped(&mut self, packet: Packet<u64>, now: Instant, reason: DropReason) {
        self.dropped.push((packet, now, reason));
    }
}

impl Log {
    pub(crate) fn order(&self) -> Vec<u64> {
        self.sent
            .iter()
            .map(|(packet, ..)| packet.payload)
            .collect()
    }

    fn reasons(&self) -> BTreeMap<DropReason, usize> {
        self.dropped
            .iter()
            .fold(BTreeMap::new(), |mut counts, (.., reason)| {
                *counts.entry(*reason).or_default() += 1;
                counts
            })
    }
}

pub(crate) fn mbit(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1_000_000).expect("not zero")
}

/// Arrivals in the order of time: bursts at one instant, pauses that empty the port, lengths from 0
/// to 70,000 bytes.
pub(crate) fn arrivals(seed: u64, count: u64) -> Vec<(Instant, Packet<u64>)> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut now = Instant::ZERO;
    let mut next = |number| {
        let pause = match random.random_range(0..100) {
            0..60 => 0,
            60..98 => random.random_range(0..3_000),
            _ => 5_000_000,
        };
        now += Duration::from_nanos(pause);
        let len = if random.random_bool(0.05) {
            [0, 1, 1 << 16, 70_000][random.random_range(0..4)]
        } else {
            random.random_range(64..=1514)
        };
        (
            now,
            Packet::new(FlowId(random.random_range(0..8)), len, number),
        )
    };
    (0..count).map(&mut next).collect()
}

fn fits(backlog: Backlog, limit: Limit) -> bool {
    backlog.packets <= limit.packets && backlog.bytes <= limit.bytes
}

/// Plays arrivals into a port, the limit checked after each.
fn play<S: Scheduler<u64>>(scheduler: S, limit: Limit, arrivals: &[(Instant, Packet<u64>)]) -> Log {
    let (mut port, mut log) = (Port::new(scheduler, limit, mbit(1_000)), Log::default());
    for (now, packet) in arrivals {
        port.advance(*now, &mut log);
        port.arrive(*now, *packet, &mut log);
        assert!(
            fits(port.scheduler().backlog(), limit),
            "{:?} exceeds {limit}",
            port.scheduler().backlog()
        );
    }
    let free = port.drain(&mut log);
    assert!(port.scheduler().backlog().is_empty() && port.next_event::<u64>().is_none());
    assert!(log.sent.last().is_none_or(|(.., end)| *end <= free));
    log
}

/// Each packet occupies the link for exactly its transmission time, without overlap; an idle link
/// starts only at an arrival.
fn check_link(log: &Log, arrivals: &[(Instant, Packet<u64>)]) {
    let mut free = Instant::ZERO;
    for (packet, start, end) in &log.sent {
        assert!(
            *start >= free && *start >= packet.arrival,
            "busy intervals are disjoint, and begin when the packet is there"
        );
        assert_eq!(end.since(*start), mbit(1_000).time_of(packet.len.into()));
        assert!(
            *start == free
                || arrivals
                    .binary_search_by_key(start, |(now, _)| *now)
                    .is_ok(),
            "the link rests until an arrival"
        );
        free = *end;
    }
}

/// Each packet is sent or dropped once, unchanged.
fn check_fates(log: &Log, arrivals: &[(Instant, Packet<u64>)]) {
    let fates = log
        .sent
        .iter()
        .map(|(packet, ..)| *packet)
        .chain(log.dropped.iter().map(|(packet, ..)| *packet));
    let mut fates: Vec<_> = fates.collect();
    fates.sort_by_key(|packet| packet.payload);
    let arrived = arrivals.iter().map(|(now, packet)| Packet {
        arrival: *now,
        ..*packet
    });
    assert!(
        fates.into_iter().eq(arrived),
        "what arrived is what was sent and dropped"
    );
}

const LIMITS: [Limit; 8] = [
    Limit::of_packets(0),
    Limit::of_packets(1),
    Limit::of_packets(7),
    Limit::of_bytes(0),
    Limit::of_bytes(100),
    Limit::of_bytes(20_000),
    Limit {
        packets: 20,
        bytes: 9_000,
    },
    Limit::UNBOUNDED,
];

#[test]
fn a_port_sends_or_drops_each_packet_once_within_its_limit() {
    for discipline in subjects() {
        for (limit, seed) in LIMITS.into_iter().zip(0..) {
            let arrivals = arrivals(seed, 3_000);
            let log = play(
                discipline.build(Seed::new(1)).expect("legal parameters"),
                limit,
                &arrivals,
            );
            check_link(&log, &arrivals);
            check_fates(&log, &arrivals);
            if limit.packets == 0 || limit.bytes == 0 {
                assert!(
                    log.sent
                        .iter()
                        .all(|(packet, ..)| packet.len == 0 && limit.packets > 0),
                    "{discipline}: nothing fits"
                );
            }
        }
    }
}

fn fifo() -> AnyScheduler<u64> {
    AnyDiscipline::named("fifo")
        .and_then(|fifo| fifo.build(Seed::new(0)))
        .expect("fifo has no parameters")
}

fn packet(flow: u32, len: u32, payload: u64) -> Packet<u64> {
    Packet::new(FlowId(flow), len, payload)
}

/// Packets at instant 0, all enqueued before the link picks.
fn burst<S: Scheduler<u64>>(scheduler: S, limit: Limit, packets: &[Packet<u64>]) -> Log {
    let at_once: Vec<_> = packets
        .iter()
        .map(|packet| (Instant::ZERO, *packet))
        .collect();
    play(scheduler, limit, &at_once)
}

/// Start times in milliseconds of packets of 1,000 bytes at 8 Mbit/s. Arrival times and the
/// decision cost are in milliseconds.
fn starts<S: Scheduler<u64>>(
    scheduler: S,
    cost: u64,
    arrivals: &[(u64, Packet<u64>)],
) -> Vec<(u64, u64)> {
    let (mut port, mut log) = (
        Port::new(scheduler, Limit::UNBOUNDED, mbit(8)),
        Log::default(),
    );
    port.set_decision_cost(Duration::from_millis(cost));
    for (at, packet) in arrivals {
        let now = Instant::ZERO + Duration::from_millis(*at);
        port.advance(now, &mut log);
        port.arrive(now, *packet, &mut log);
    }
    port.drain(&mut log);
    log.sent
        .iter()
        .map(|(packet, start, _)| (packet.payload, start.as_picos() / 1_000_000_000))
        .collect()
}

#[test]
fn a_link_stands_still_while_its_discipline_decides() {
    let arrivals = [
        (0, packet(0, 1000, 0)),
        (0, packet(0, 1000, 1)),
        (20, packet(0, 1000, 2)),
    ];
    assert_eq!(starts(fifo(), 0, &arrivals), [(0, 0), (1, 1), (2, 20)]);
    assert_eq!(starts(fifo(), 2, &arrivals), [(0, 2), (1, 5), (2, 22)]);
}

#[test]
fn a_turn_is_one_decision() {
    let afq = afq::Config { quantum: 3000 }
        .build(Seed::new(0))
        .expect("a legal quantum");
    let arrivals = (0..7)
        .map(|number| (0, packet(0, 1000, number)))
        .collect::<Vec<_>>();
    let starts = starts(afq, 10, &arrivals);
    assert_eq!(
        starts.iter().map(|(_, start)| *start).collect::<Vec<_>>(),
        [10, 11, 12, 23, 24, 25, 36]
    );
}

#[test]
fn what_comes_while_the_port_decides_can_be_chosen() {
    let due = |at: u64, payload| Packet {
        deadline: Instant::from_nanos(at),
        ..packet(0, 1000, payload)
    };
    let edf = || {
        AnyDiscipline::named("edf")
            .and_then(|edf| edf.build(Seed::new(0)))
            .expect("a discipline")
    };
    assert_eq!(
        starts(edf(), 2, &[(0, due(9, 0)), (1, due(5, 1))]),
        [(1, 2), (0, 5)]
    );
    assert_eq!(
        starts(edf(), 0, &[(0, due(9, 0)), (1, due(5, 1))]),
        [(0, 0), (1, 1)]
    );
}

/// Each discipline sends or drops each packet once. By the contract, the link stands still only for
/// calls of `dequeue` with no packet decided before.
#[test]
fn decisions_cost_no_packets() {
    let cost = Duration::from_micros(3);
    for discipline in subjects() {
        let (name, arrivals) = (discipline.name(), arrivals(5, 2_000));
        let (mut port, mut log) = (
            Port::new(
                discipline.build(Seed::new(1)).expect("legal"),
                Limit::of_packets(50),
                mbit(1_000),
            ),
            Log::default(),
        );
        port.set_decision_cost(cost);
        for (now, packet) in &arrivals {
            port.advance(*now, &mut log);
            port.arrive(*now, *packet, &mut log);
        }
        port.drain(&mut log);
        check_fates(&log, &arrivals);
        assert!(log.sent.iter().all(
            |(packet, start, end)| end.since(*start) == mbit(1_000).time_of(packet.len.into())
        ));
        let gaps = log.sent.windows(2).map(|pair| pair[1].1.since(pair[0].2));
        let (at_once, later): (Vec<_>, Vec<_>) = gaps.partition(|gap| *gap == Duration::ZERO);
        assert!(later.iter().all(|gap| *gap >= cost), "{name}");
        assert!(
            ["afq", "qfq_plus"].contains(&name) || at_once.is_empty(),
            "{name}: {} at once",
            at_once.len()
        );
        assert!(name != "afq" || !at_once.is_empty(), "{name}");
    }
}

#[test]
fn known_bug_39_limit_0_drops_each_packet_and_says_so() {
    for limit in [Limit::of_packets(0), Limit::of_bytes(0)] {
        let log = burst(fifo(), limit, &[packet(0, 100, 0), packet(1, 100, 1)]);
        assert_eq!(
            (log.order(), log.reasons()),
            (vec![], BTreeMap::from([(DropReason::Full, 2)]))
        );
    }
}

#[test]
fn a_packet_longer_than_the_limit_costs_no_other_packet() {
    let log = burst(
        fifo(),
        Limit::of_bytes(1_000),
        &[
            packet(0, 600, 0),
            packet(0, 1_001, 1),
            packet(0, 400, 2),
            packet(0, 1, 3),
        ],
    );
    assert_eq!(log.order(), [0, 2]);
    assert_eq!(log.reasons(), BTreeMap::from([(DropReason::Full, 2)]));
    // The same if eviction would take another packet; a packet exactly as long as the limit is
    // accepted.
    let log = burst(
        Stack::default(),
        Limit::of_bytes(1_000),
        &[packet(0, 1_000, 0), packet(0, 1_001, 1)],
    );
    assert_eq!(
        (log.order(), log.reasons()),
        (vec![0], BTreeMap::from([(DropReason::Full, 1)]))
    );
}

#[test]
fn known_bug_41_a_limit_near_2_to_the_32_is_kept() {
    let limit = Limit::of_bytes(u64::from(u32::MAX));
    let log = burst(
        fifo(),
        limit,
        &[
            packet(0, u32::MAX - 9, 0),
            packet(0, 10, 1),
            packet(0, 8, 2),
            packet(0, 1, 3),
        ],
    );
    assert_eq!(
        (log.order(), log.reasons()),
        (vec![0, 2, 3], BTreeMap::from([(DropReason::Full, 1)]))
    );
}

#[test]
fn what_a_discipline_will_not_take_is_refused_not_lost() {
    let scheduler = AnyDiscipline::named("wf2q_plus")
        .and_then(|discipline| discipline.build(Seed::new(0)))
        .expect("no parameters");
    let log = burst(
        scheduler,
        Limit::UNBOUNDED,
        &[packet(0, 1 << 16, 0), packet(0, (1 << 16) + 1, 1)],
    );
    assert_eq!(
        (log.order(), log.reasons()),
        (vec![0], BTreeMap::from([(DropReason::Refused, 1)]))
    );
}

/// Last in, first out: the first departure shows the latest packet available to the link.
#[derive(Default)]
struct Stack(Pool<u64>, Queue);

impl Scheduler<u64> for Stack {
    fn enqueue(&mut self, _now: Instant, packet: Packet<u64>) -> Result<(), Refused<u64>> {
        self.0.push(&mut self.1, packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<u64>> {
        self.0.pop_tail(&mut self.1)
    }

    fn evict(&mut self) -> Option<Packet<u64>> {
        self.0.pop(&mut self.1)
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
}

impl Control for Stack {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

#[test]
fn all_arrivals_of_an_instant_come_before_the_link_picks() {
    let log = burst(
        Stack::default(),
        Limit::UNBOUNDED,
        &[
            packet(0, 1_000, 0),
            packet(0, 1_000, 1),
            packet(0, 1_000, 2),
        ],
    );
    assert_eq!(log.order(), [2, 1, 0]);
    // The link takes packet 0 at zero and falls free just as packet 2 arrives.
    let end = Instant::ZERO + mbit(1_000).time_of(1_000);
    let early = Instant::from_nanos(1);
    for (when, order) in [
        (end, [0, 2, 1]),
        (Instant::from_picos(end.as_picos() + 1), [0, 1, 2]),
    ] {
        let log = play(
            Stack::default(),
            Limit::UNBOUNDED,
            &[
                (Instant::ZERO, packet(0, 1_000, 0)),
                (early, packet(0, 1_000, 1)),
                (when, packet(0, 1_000, 2)),
            ],
        );
        assert_eq!(log.order(), order);
    }
}

#[test]
fn the_pushed_out_and_the_arriving_are_told_apart() {
    // The stack evicts its oldest packet: packet 0 was there before, packet 1 arrives.
    let (mut port, mut log) = (
        Port::new(Stack::default(), Limit::of_packets(1), mbit(1)),
        Log::default(),
    );
    port.arrive(Instant::ZERO, packet(0, 100, 0), &mut log);
    port.arrive(Instant::ZERO, packet(1, 100, 1), &mut log);
    assert_eq!(log.reasons(), BTreeMap::from([(DropReason::PushedOut, 1)]));
    let log = burst(
        fifo(),
        Limit::of_packets(1),
        &[packet(0, 100, 0), packet(1, 100, 1)],
    );
    assert_eq!(log.reasons(), BTreeMap::from([(DropReason::Full, 1)]));
}

/// Holds each packet back: flow f for f milliseconds, odd flows for ever.
#[derive(Default)]
struct Shaper {
    waiting: Vec<(Instant, Packet<u64>)>,
}

impl Scheduler<u64> for Shaper {
    fn enqueue(&mut self, now: Instant, packet: Packet<u64>) -> Result<(), Refused<u64>> {
        let ready = if packet.flow.0 % 2 == 1 {
            Instant::MAX
        } else {
            now + Duration::from_millis(packet.flow.0.into())
        };
        self.waiting.push((ready, packet));
        self.waiting.sort_by_key(|(ready, _)| *ready);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<u64>> {
        let (ready, _) = self.waiting.first()?;
        if *ready <= now {
            Some(self.waiting.remove(0).1)
        } else {
            None
        }
    }

    fn evict(&mut self) -> Option<Packet<u64>> {
        self.waiting.pop().map(|(_, packet)| packet)
    }

    fn backlog(&self) -> Backlog {
        let bytes = self
            .waiting
            .iter()
            .map(|(_, packet)| u64::from(packet.len))
            .sum();
        Backlog {
            packets: self.waiting.len() as u64,
            bytes,
        }
    }

    fn ready_at(&self) -> Option<Instant> {
        self.waiting.first().map(|(ready, _)| *ready)
    }
}

impl Control for Shaper {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

#[test]
fn a_link_that_was_told_to_wait_sends_what_is_ready_sooner() {
    let at = |millis: u64| Instant::ZERO + Duration::from_millis(millis);
    let (mut port, mut log) = (
        Port::new(Shaper::default(), Limit::UNBOUNDED, mbit(1_000)),
        Log::default(),
    );
    let arrivals = [
        (0, packet(20, 100, 0)),
        (1, packet(31, 100, 1)),
        (2, packet(0, 100, 2)),
        (3, packet(4, 100, 3)),
    ];
    for (millis, packet) in arrivals {
        port.advance(at(millis), &mut log);
        port.arrive(at(millis), packet, &mut log);
    }
    port.advance(at(100), &mut log);
    let starts: Vec<_> = log
        .sent
        .iter()
        .map(|(packet, start, _)| (packet.payload, *start))
        .collect();
    assert_eq!(starts, [(2, at(2)), (3, at(7)), (0, at(20))]);
    // A packet that is never ready blocks neither the end of a drain nor later packets.
    port.drain(&mut log);
    port.arrive(at(200), packet(0, 100, 4), &mut log);
    assert_eq!(
        port.drain(&mut log),
        at(200) + mbit(1_000).time_of(100),
        "the link falls free when its last packet has left"
    );
    assert_eq!(
        (log.order(), port.scheduler().backlog().packets),
        (vec![2, 3, 0, 4], 1)
    );
}

#[test]
fn time_that_runs_out_does_not_keep_a_drain_from_ending() {
    let (mut port, mut log) = (
        Port::new(
            fifo(),
            Limit::UNBOUNDED,
            Rate::from_bits_per_second(1).expect("not zero"),
        ),
        Log::default(),
    );
    for number in 0..4 {
        port.arrive(
            Instant::from_picos(u64::MAX - 1),
            packet(0, 1 << 20, number),
            &mut log,
        );
    }
    assert_eq!(port.drain(&mut log), Instant::MAX);
}

#[test]
fn limits_are_written_as_they_are_read() {
    for (limit, text) in [
        (Limit::of_packets(7), "7p"),
        (Limit::of_bytes(2048), "2kb"),
        (Limit::UNBOUNDED, "unlimited"),
    ] {
        assert_eq!(limit.to_string(), text);
    }
    assert_eq!(
        Limit {
            packets: 7,
            bytes: 9
        }
        .to_string(),
        format!("7p, {}", Bytes(9))
    );
}
