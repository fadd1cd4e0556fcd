//! Preemptive port: interrupted packets worked by hand, conservation, and equality with a plain
//! port without preemption.

use std::collections::VecDeque;

use proptest::prelude::*;
use roundelay::schedulers::{
    Discipline, drr, edf, fifo, fq_codel, lifo, lstf, qfq, random, sfq, srpt, wf2q_plus,
};
use roundelay::{
    Backlog, DropReason, Duration, FlowId, Footprint, Instant, Limit, Observer, Packet, Partial,
    Port, PreemptivePort, QueueSpec, Rate, Refused, Scheduler, Slack,
};
use roundelay::{Control, Seed};

/// The events reported by a port.
#[derive(Debug, Default, PartialEq, Eq)]
struct Log {
    sent: Vec<(Packet<u64>, Instant, Instant)>,
    dropped: Vec<(Packet<u64>, Instant, DropReason)>,
}

impl Observer<u64> for Log {
    fn sent(&mut self, packet: Packet<u64>, start: Instant, end: Instant) {
        self.sent.push((packet, start, end));
    }

    fn dropped(&mut self, packet: Packet<u64>, now: Instant, reason: DropReason) {
        self.dropped.push((packet, now, reason));
    }
}

/// A byte takes a nanosecond.
fn rate() -> Rate {
    Rate::from_bits_per_second(8_000_000_000).expect("not zero")
}

fn lstf(preempt: bool) -> lstf::Lstf<Partial<u64>> {
    lstf::Config { preempt }.build(Seed::new(0)).expect("legal")
}

/// Arrival, length and slack in nanoseconds and bytes.
type Arrivals<'a> = &'a [(u64, u32, i64)];

fn packets(arrivals: Arrivals) -> impl Iterator<Item = (Instant, Packet<u64>)> {
    (0..).zip(arrivals).map(|(number, &(at, len, slack))| {
        let packet = Packet {
            slack: Slack::from_picos(slack * 1000),
            ..Packet::new(FlowId(number as u32 % 4), len, number)
        };
        (Instant::from_nanos(at), packet)
    })
}

fn preemptive<S: Scheduler<Partial<u64>>>(scheduler: S, limit: Limit, arrivals: Arrivals) -> Log {
    let (mut port, mut log) = (
        PreemptivePort::new(scheduler, limit, rate()),
        Log::default(),
    );
    for (now, packet) in packets(arrivals) {
        port.advance(now, &mut log);
        port.arrive(now, packet, &mut log);
    }
    let free = port.drain(&mut log);
    assert!(port.backlog().is_empty() && port.next_event().is_none());
    assert!(log.sent.last().is_none_or(|(.., end)| *end == free));
    log
}

fn plain<S: Scheduler<u64>>(scheduler: S, limit: Limit, arrivals: Arrivals) -> Log {
    let (mut port, mut log) = (Port::new(scheduler, limit, rate()), Log::default());
    for (now, packet) in packets(arrivals) {
        port.advance(now, &mut log);
        port.arrive(now, packet, &mut log);
    }
    port.drain(&mut log);
    log
}

/// Packet, first and last bit in nanoseconds.
fn times(log: &Log) -> Vec<(u64, u64, u64)> {
    let nanos = |at: Instant| at.as_picos() / 1000;
    log.sent
        .iter()
        .map(|(packet, start, end)| (packet.payload, nanos(*start), nanos(*end)))
        .collect()
}

#[test]
fn interruptions_worked_by_hand() {
    let run = |arrivals: Arrivals| times(&preemptive(lstf(true), Limit::UNBOUNDED, arrivals));
    // 0 is due at 1000 + 5000; 1 comes at 300 and is due at 300 + 0 + 200. 0 has 700 ns left and
    // goes on at 500.
    assert_eq!(
        run(&[(0, 1000, 5000), (300, 200, 0)]),
        [(1, 300, 500), (0, 0, 1200)]
    );
    // Packet 0 is interrupted twice, the second time by a packet that arrived during the first
    // interruption; the first interruption is interrupted once.
    assert_eq!(
        run(&[
            (0, 1000, 5000),
            (300, 200, 1000),
            (400, 50, 0),
            (600, 100, 0)
        ]),
        [(2, 400, 450), (1, 300, 550), (3, 600, 700), (0, 0, 1350)]
    );
    // Due at the same instant, 1300: no interruption. With a picosecond less slack there is one.
    assert_eq!(
        run(&[(0, 1000, 300), (500, 800, 0)]),
        [(0, 0, 1000), (1, 1000, 1800)]
    );
    let one_earlier = preemptive(
        lstf(true),
        Limit::UNBOUNDED,
        &[(0, 1000, 301), (500, 800, 0)],
    );
    assert_eq!(times(&one_earlier), [(1, 500, 1300), (0, 0, 1800)]);
    // Three arrive at one instant: the most urgent of the three takes the link.
    assert_eq!(
        run(&[
            (0, 100, 900),
            (50, 100, 500),
            (50, 100, 100),
            (50, 100, 300)
        ]),
        [(2, 50, 150), (3, 150, 250), (1, 250, 350), (0, 0, 400)]
    );
    // One arrives as the last bit leaves: there is nothing to interrupt.
    assert_eq!(
        run(&[(0, 100, 900), (100, 100, 0)]),
        [(0, 0, 100), (1, 100, 200)]
    );
    assert!(
        run(&[(0, 0, 0), (0, 0, -5), (0, 10, -90)])
            .iter()
            .all(|(.., end)| *end <= 10)
    );
}

#[test]
fn without_the_switch_nothing_is_interrupted() {
    let arrivals = [(0, 1000, 5000), (300, 200, 0)];
    assert_eq!(
        times(&preemptive(lstf(false), Limit::UNBOUNDED, &arrivals)),
        [(0, 0, 1000), (1, 1000, 1200)]
    );
}

/// A packet leaves unchanged, with its instant of arrival at the port, after any number of
/// interruptions.
#[test]
fn packets_are_told_as_they_came() {
    let arrivals = [
        (0, 1000, 5000),
        (300, 200, 1000),
        (400, 50, 0),
        (600, 100, 0),
    ];
    let mut sent: Vec<_> = preemptive(lstf(true), Limit::UNBOUNDED, &arrivals)
        .sent
        .into_iter()
        .map(|(packet, ..)| packet)
        .collect();
    sent.sort_by_key(|packet| packet.payload);
    assert!(
        sent.into_iter()
            .eq(packets(&arrivals).map(|(arrival, packet)| Packet { arrival, ..packet }))
    );
}

/// At a rate with no whole picoseconds a byte, the remainder is exact: the link is busy for the sum
/// of all transmission times.
#[test]
fn what_is_left_is_exact() {
    let rate = Rate::from_bits_per_second(6_999_999_937).expect("not zero");
    let (mut port, mut log) = (
        PreemptivePort::new(lstf(true), Limit::UNBOUNDED, rate),
        Log::default(),
    );
    let mut now = Instant::ZERO;
    for number in 0..200u64 {
        port.advance(now, &mut log);
        let slack = Slack::from_picos(400_000_000 - 3_000_000 * number as i64);
        port.arrive(
            now,
            Packet {
                slack,
                ..Packet::new(FlowId(0), 1499, number)
            },
            &mut log,
        );
        now += Duration::from_picos(777_777);
    }
    let expected = 200 * rate.time_of(1499).as_picos();
    assert_eq!(port.drain(&mut log), Instant::from_picos(expected));
    let interrupted = log
        .sent
        .iter()
        .filter(|(_, start, end)| end.since(*start) > rate.time_of(1499))
        .count();
    assert_eq!(
        (log.sent.len(), interrupted),
        (200, 199),
        "each but the last one was interrupted"
    );
}

fn arrivals() -> impl Strategy<Value = Vec<(u64, u32, i64)>> {
    let arrival = (
        0u64..1500,
        prop_oneof![Just(0u32), Just(1500u32), 40u32..1500],
        -2000i64..8000,
    );
    prop::collection::vec(arrival, 1..80).prop_map(|mut arrivals| {
        let mut now = 0;
        arrivals.iter_mut().for_each(|(at, ..)| {
            now += if *at < 500 { 0 } else { *at };
            *at = now;
        });
        arrivals
    })
}

/// The link by its definition, nanosecond by nanosecond: the packet due first among all waiting is
/// on the link.
fn by_nanoseconds(arrivals: Arrivals) -> Vec<(u64, u64)> {
    let due = |number: usize| {
        arrivals[number].0 as i64 + arrivals[number].2 + i64::from(arrivals[number].1)
    };
    let mut left: Vec<u32> = arrivals.iter().map(|(_, len, _)| *len).collect();
    let mut ends = Vec::new();
    let mut now = 0;
    while left.iter().any(|left| *left > 0) {
        let there =
            (0..arrivals.len()).filter(|number| left[*number] > 0 && arrivals[*number].0 <= now);
        let first = there.min_by_key(|number| due(*number));
        now += 1;
        if let Some(number) = first {
            left[number] -= 1;
            if left[number] == 0 {
                ends.push((number as u64, now));
            }
        }
    }
    ends
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The instants at which the link finishes a packet are as in the definition. The order of
    /// packets due at the same instant is undefined, so no two are due at once here.
    #[test]
    fn it_works_on_what_is_due_first(mut arrivals in arrivals()) {
        for (number, (_, len, slack)) in (0..).zip(&mut arrivals) {
            *len = (*len).max(1);
            *slack = *slack * 100 + number;
        }
        let dues: std::collections::BTreeSet<_> = arrivals.iter().map(|(at, len, slack)| *at as i64 + slack + i64::from(*len)).collect();
        prop_assume!(dues.len() == arrivals.len());
        let log = preemptive(lstf(true), Limit::UNBOUNDED, &arrivals);
        let ends: Vec<_> = times(&log).iter().map(|(number, _, end)| (*number, *end)).collect();
        prop_assert_eq!(ends, by_nanoseconds(&arrivals));
    }

    #[test]
    fn packets_and_bytes_are_conserved(arrivals in arrivals(), limit in 1u64..12, bytes in 1500u64..9000) {
        for limit in [Limit::of_packets(limit), Limit::of_bytes(bytes), Limit { packets: limit, bytes }] {
            let log = preemptive(lstf(true), limit, &arrivals);
            let fates = log.sent.iter().map(|(packet, ..)| *packet).chain(log.dropped.iter().map(|(packet, ..)| *packet));
            let mut fates: Vec<_> = fates.collect();
            fates.sort_by_key(|packet| packet.payload);
            let arrived = packets(&arrivals).map(|(arrival, packet)| Packet { arrival, ..packet });
            prop_assert!(fates.into_iter().eq(arrived));
            let takes = |packet: &Packet<u64>| rate().time_of(packet.len.into());
            prop_assert!(log.sent.iter().all(|(packet, start, end)| *start >= packet.arrival && end.since(*start) >= takes(packet)));
        }
    }

    #[test]
    fn a_scheduler_that_never_preempts_sends_as_in_a_plain_port(arrivals in arrivals(), limit in 1u64..12) {
        fn alike<D: Discipline>(discipline: &D, limit: Limit, arrivals: Arrivals) -> bool {
            let build = "a legal configuration";
            preemptive(discipline.build(Seed::new(1)).expect(build), limit, arrivals) == plain(discipline.build(Seed::new(1)).expect(build), limit, arrivals)
        }
        for limit in [Limit::of_packets(limit), Limit::UNBOUNDED] {
            prop_assert!(alike(&fifo::Config, limit, &arrivals));
            prop_assert!(alike(&drr::Config::default(), limit, &arrivals));
            prop_assert!(alike(&sfq::Config::default(), limit, &arrivals));
            prop_assert!(alike(&wf2q_plus::Config, limit, &arrivals));
            prop_assert!(alike(&qfq::Config, limit, &arrivals));
            prop_assert!(alike(&fq_codel::Config::default(), limit, &arrivals));
            prop_assert!(alike(&lifo::Config, limit, &arrivals));
            prop_assert!(alike(&random::Config, limit, &arrivals));
            prop_assert!(alike(&edf::Config, limit, &arrivals));
            prop_assert!(alike(&srpt::Config, limit, &arrivals));
            prop_assert!(alike(&lstf::Config::default(), limit, &arrivals));
        }
    }
}

#[test]
fn the_checks_find_preemption() {
    let arrivals = [(0, 1000, 5000), (300, 200, 0)];
    let interrupted = preemptive(lstf(true), Limit::UNBOUNDED, &arrivals);
    assert_ne!(
        interrupted,
        plain(
            lstf::Config { preempt: true }
                .build(Seed::new(0))
                .expect("legal"),
            Limit::UNBOUNDED,
            &arrivals
        )
    );
}

#[test]
fn the_switch_is_read() {
    let spec = |text: &str| {
        text.parse::<QueueSpec>()
            .map(|spec| spec.discipline.to_string())
    };
    assert_eq!(spec("lstf preempt"), Ok("lstf preempt".to_owned()));
    assert_eq!(spec("lstf nopreempt"), Ok("lstf".to_owned()));
}

/// A full buffer: the interrupted packet is evicted like any other if its slack is largest, once,
/// and the rest of the buffer stays.
#[test]
fn an_interrupted_packet_can_be_given_up() {
    // The buffer holds one packet of 1000 bytes; 0 has the link, 1 waits. 2 arrives and cannot
    // wait, 1 is pushed out. Then 0 is interrupted, and fits into the buffer.
    let log = preemptive(
        lstf(true),
        Limit::of_bytes(1000),
        &[(0, 1000, 9000), (10, 800, 9500), (20, 300, 0)],
    );
    assert_eq!(times(&log), [(2, 20, 320), (0, 0, 1300)]);
    assert_eq!(
        log.dropped
            .iter()
            .map(|(packet, ..)| packet.payload)
            .collect::<Vec<_>>(),
        [1]
    );
    // Two more urgent packets arrive, and 0 does not fit beside the second: 0 is evicted, although
    // a hundred bytes of it are sent.
    let log = preemptive(
        lstf(true),
        Limit::of_bytes(1200),
        &[(0, 1000, 9000), (100, 800, 7000), (100, 300, 0)],
    );
    assert_eq!(times(&log), [(2, 100, 400), (1, 400, 1200)]);
    assert_eq!(
        log.dropped
            .iter()
            .map(|(packet, _, reason)| (packet.payload, *reason))
            .collect::<Vec<_>>(),
        [(0, DropReason::PushedOut)]
    );
}

/// At each nanosecond: the link has been busy since the first arrival, for any packet, including an
/// evicted one.
#[test]
fn what_an_interrupted_packet_has_sent_counts_when_it_is_sent() {
    let cases: [(Limit, Arrivals, u64); 3] = [
        (
            Limit::UNBOUNDED,
            &[
                (0, 1000, 5000),
                (300, 200, 1000),
                (400, 50, 0),
                (600, 100, 0),
            ],
            1350,
        ),
        (
            Limit::of_bytes(1200),
            &[(0, 1000, 9000), (100, 800, 7000), (100, 300, 0)],
            1200,
        ),
        (Limit::UNBOUNDED, &[(0, 100, 900), (100, 100, 0)], 200),
    ];
    for (limit, arrivals, busy) in cases {
        let (mut port, mut log) = (
            PreemptivePort::new(lstf(true), limit, rate()),
            Log::default(),
        );
        for nanos in 0..2000 {
            let now = Instant::from_nanos(nanos);
            port.advance(now, &mut log);
            assert_eq!(
                port.at_work(now),
                Duration::from_nanos(nanos.min(busy)),
                "before what comes at {nanos}"
            );
            packets(arrivals)
                .filter(|(at, _)| *at == now)
                .for_each(|(_, packet)| port.arrive(now, packet, &mut log));
            assert_eq!(
                port.at_work(now),
                Duration::from_nanos(nanos.min(busy)),
                "after it"
            );
        }
    }
}

/// Releases each packet a microsecond after its arrival, packets of flow 3 never.
#[derive(Default)]
struct Shaper(VecDeque<(Instant, Packet<Partial<u64>>)>);

impl Scheduler<Partial<u64>> for Shaper {
    fn enqueue(
        &mut self,
        now: Instant,
        packet: Packet<Partial<u64>>,
    ) -> Result<(), Refused<Partial<u64>>> {
        let ready = if packet.flow == FlowId(3) {
            Instant::MAX
        } else {
            now + Duration::from_micros(1)
        };
        self.0.push_back((ready, packet));
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<Partial<u64>>> {
        if self.ready_at()? <= now {
            self.evict()
        } else {
            None
        }
    }

    fn evict(&mut self) -> Option<Packet<Partial<u64>>> {
        self.0.pop_front().map(|(_, packet)| packet)
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.0.len() as u64,
            bytes: self.0.iter().map(|(_, packet)| u64::from(packet.len)).sum(),
        }
    }

    fn ready_at(&self) -> Option<Instant> {
        self.0.front().map(|(ready, _)| *ready)
    }
}

impl Control for Shaper {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

#[test]
fn a_discipline_that_idles_is_asked_again_when_it_is_ready() {
    let (mut port, mut log) = (
        PreemptivePort::new(Shaper::default(), Limit::UNBOUNDED, rate()),
        Log::default(),
    );
    for (now, packet) in packets(&[(0, 100, 0), (50, 100, 0), (5000, 100, 0), (7000, 100, 0)]) {
        port.advance(now, &mut log);
        port.arrive(now, packet, &mut log);
    }
    port.drain(&mut log);
    assert_eq!(
        times(&log),
        [(0, 1000, 1100), (1, 1100, 1200), (2, 6000, 6100)]
    );
    assert_eq!(
        port.backlog().packets,
        1,
        "what is never ready does not keep a drain from ending"
    );
}
