//! FIFO: the claims of `fifo.rs`, their limits, and disciplines that differ.

use proptest::prelude::*;
use roundelay::Seed;
use roundelay::schedulers::{Discipline, drr, fifo};
use roundelay::{
    Buffer, DropReason, Duration, FlowId, Instant, Limit, Observer, Packet, Port, Rate, Scheduler,
};

fn fifo() -> fifo::Fifo<u64> {
    fifo::Config.build(Seed::new(0)).expect("no parameters")
}

fn drr() -> drr::Drr<u64> {
    drr::Config::default()
        .build(Seed::new(0))
        .expect("legal parameters")
}

fn mbit() -> Rate {
    Rate::from_bits_per_second(1_000_000).expect("not zero")
}

/// Packets sent by a port with their times, and packets dropped.
#[derive(Default)]
struct Log {
    sent: Vec<(Packet<u64>, Instant)>,
    dropped: Vec<(Packet<u64>, DropReason)>,
}

impl Observer<u64> for Log {
    fn sent(&mut self, packet: Packet<u64>, _start: Instant, end: Instant) {
        self.sent.push((packet, end));
    }

    fn dropped(&mut self, packet: Packet<u64>, _now: Instant, reason: DropReason) {
        self.dropped.push((packet, reason));
    }
}

/// Packets (flow, length, milliseconds since the previous packet) through a port of 1 Mbit/s,
/// numbered by arrival.
fn run(scheduler: impl Scheduler<u64>, limit: Limit, arrivals: &[(u32, u32, u64)]) -> Log {
    let (mut port, mut log, mut now) = (
        Port::new(scheduler, limit, mbit()),
        Log::default(),
        Instant::ZERO,
    );
    for (number, &(flow, len, gap)) in arrivals.iter().enumerate() {
        now += Duration::from_millis(gap);
        port.advance(now, &mut log);
        port.arrive(now, Packet::new(FlowId(flow), len, number as u64), &mut log);
    }
    port.drain(&mut log);
    log
}

fn leave_as_they_came(log: &Log) -> bool {
    log.sent.is_sorted_by_key(|(packet, _)| packet.payload)
}

/// Whether no sent packet took longer than the limit's bytes and the packet on the link.
fn delay_is_bounded(log: &Log, limit_bytes: u64, max_packet_len: u32) -> bool {
    let bound = mbit().time_of(limit_bytes + u64::from(max_packet_len));
    log.sent
        .iter()
        .all(|(packet, end)| end.since(packet.arrival) <= bound)
}

fn arrivals() -> impl Strategy<Value = Vec<(u32, u32, u64)>> {
    prop::collection::vec((0u32..5, 40u32..1515, 0u64..12), 1..500)
}

/// Flow 0 sends four packets for each packet of flow 1; the load is 2.5 times the link's rate.
fn greedy() -> Vec<(u32, u32, u64)> {
    (0..2500)
        .map(|number| (u32::from(number % 5 == 4), 1250, 4))
        .collect()
}

proptest! {
    #[test]
    fn packets_leave_as_they_came(arrivals in arrivals(), limit in 1u64..100) {
        let log = run(fifo(), Limit::of_packets(limit), &arrivals);
        prop_assert!(leave_as_they_came(&log));
        prop_assert_eq!(log.sent.len() + log.dropped.len(), arrivals.len());
        prop_assert!(log.dropped.iter().all(|(_, reason)| *reason == DropReason::Full), "drop tail");
    }

    #[test]
    fn delay_is_at_most_the_buffer(arrivals in arrivals(), limit_bytes in 1515u64..20_000) {
        let log = run(fifo(), Limit::of_bytes(limit_bytes), &arrivals);
        prop_assert!(delay_is_bounded(&log, limit_bytes, 1514));
    }
}

#[test]
fn the_checks_find_another_discipline() {
    let limit_bytes = 15_000;
    let (fifo, drr) = (
        run(fifo(), Limit::of_bytes(limit_bytes), &greedy()),
        run(drr(), Limit::of_bytes(limit_bytes), &greedy()),
    );
    assert!(leave_as_they_came(&fifo) && delay_is_bounded(&fifo, limit_bytes, 1250));
    assert!(!leave_as_they_came(&drr), "DRR lets flow 1 pass");
    let unlimited = run(self::fifo(), Limit::UNBOUNDED, &greedy());
    assert!(
        !delay_is_bounded(&unlimited, limit_bytes, 1250),
        "no limit, no bound"
    );
}

/// Bytes of the two flows that leave in 10 s.
fn service(log: &Log) -> [u64; 2] {
    [0, 1].map(|flow| {
        let of_flow = log.sent.iter().filter(|(packet, end)| {
            packet.flow == FlowId(flow) && end.since(Instant::ZERO) < Duration::from_secs(10)
        });
        of_flow.map(|(packet, _)| u64::from(packet.len)).sum()
    })
}

/// Flow 1 asks for half of the link. FIFO gives flow 1 its share of the arrivals, DRR its demand.
#[test]
fn a_greedy_flow_starves_another() {
    let [greedy_got, meek_got] = service(&run(fifo(), Limit::of_packets(50), &greedy()));
    assert!(greedy_got > 3 * meek_got, "{greedy_got} and {meek_got}");
    let [greedy_got, meek_got] = service(&run(drr(), Limit::of_packets(50), &greedy()));
    assert!(
        meek_got * 100 > greedy_got * 95,
        "{greedy_got} and {meek_got}"
    );
}

/// Linux, 2025: a head-drop queue with a limit of zero accepted a packet. Here a limit of zero
/// accepts none, and a limit of one accepts one.
#[test]
fn known_bug_39_limit_zero_and_one() {
    for limit in [0, 1] {
        let mut buffer = Buffer::new(Limit::of_packets(limit), fifo());
        let mut dropped = 0;
        (0..10).for_each(|number| {
            buffer.enqueue(
                Instant::ZERO,
                Packet::new(FlowId(0), 100, number),
                |_, _| dropped += 1,
            )
        });
        assert_eq!(
            (buffer.scheduler().backlog().packets, dropped),
            (limit, 10 - limit)
        );
    }
}

/// Linux, 2026: the backlog wrapped and exceeded a limit near 2^32 bytes.
#[test]
fn known_bug_41_backlog_does_not_wrap() {
    let limit = u64::from(u32::MAX) - 10;
    let mut buffer = Buffer::new(Limit::of_bytes(limit), fifo());
    let mut dropped = 0;
    for number in 0..12 {
        buffer.enqueue(
            Instant::ZERO,
            Packet::new(FlowId(0), 1 << 29, number),
            |_, _| dropped += 1,
        );
        assert!(buffer.scheduler().backlog().bytes <= limit);
    }
    assert_eq!(dropped, 5);
}
