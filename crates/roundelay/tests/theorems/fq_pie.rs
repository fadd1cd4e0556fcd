//! FQ-PIE: the claims of `fq_pie.rs`, and disciplines that break them.

use roundelay::schedulers::{AnyScheduler, Discipline, fq_pie};
use roundelay::{
    Buffer, Control, DropReason, Ecn, FlowId, Instant, Limit, Observer, Packet, Port, QueueSpec,
    Rate, Scheduler, Seed,
};

pub(super) const NOW: Instant = Instant::ZERO;

pub(super) fn build(text: &str) -> AnyScheduler<u64> {
    let spec: QueueSpec = text.parse().expect("legal");
    spec.discipline.build(Seed::new(7)).expect("legal")
}

pub(super) fn micros(number: u64) -> Instant {
    Instant::from_nanos(number * 1000)
}

/// Largest difference of two backlogged queues' services over any interval of the choices from `first` on,
/// over 2 (Q + L).
pub(super) fn unevenness(mut scheduler: impl Scheduler<u64>, quantum: f64, first: u32) -> f64 {
    let len = |number: u64| 64 + (number * 7919 % 1451) as u32;
    let mut number = 0;
    let mut arrive = |scheduler: &mut dyn Scheduler<u64>, flow: u32| {
        number += 1;
        let packet = Packet::new(FlowId(flow), len(number), number);
        scheduler.enqueue(NOW, packet).expect("room");
    };
    for _ in 0..50 {
        (0..2).for_each(|flow| arrive(&mut scheduler, flow));
    }
    let mut ahead = 0i64;
    let (mut least, mut most) = (0, 0);
    for turn in 0..20_000 {
        let packet = scheduler.dequeue(NOW).expect("backlogged");
        arrive(&mut scheduler, packet.flow.0);
        if turn >= first {
            let sign = if packet.flow.0 == 0 { 1 } else { -1 };
            ahead += sign * i64::from(packet.len);
            (least, most) = (least.min(ahead), most.max(ahead));
        }
    }
    (most - least) as f64 / (2.0 * (quantum + 1514.0))
}

#[test]
fn backlogged_queues_share_evenly() {
    let even = unevenness(build("fq_pie"), 1514.0, 0);
    assert!((0.3..=1.0).contains(&even), "{even} of the bound");
    let random = unevenness(build("random"), 1514.0, 0);
    assert!(random > 1.0, "random must break it: {random}");
}

/// Packets of other flows before the first packet of a flow that was idle.
fn before_a_sparse_packet(mut scheduler: impl Scheduler<u64>) -> usize {
    for number in 0..300 {
        let packet = Packet::new(FlowId(number as u32 % 3), 1000, number);
        scheduler.enqueue(NOW, packet).expect("room");
    }
    for _ in 0..30 {
        scheduler.dequeue(NOW).expect("backlogged");
    }
    let sparse = Packet::new(FlowId(77), 100, 1_000);
    scheduler.enqueue(NOW, sparse).expect("room");
    let order = std::iter::from_fn(|| scheduler.dequeue(NOW));
    order.take_while(|packet| packet.flow != FlowId(77)).count()
}

#[test]
fn sparse_flows_go_first() {
    assert_eq!(before_a_sparse_packet(build("fq_pie")), 0);
    assert!(before_a_sparse_packet(build("drr")) > 2, "drr takes turns");
    assert!(
        before_a_sparse_packet(build("pie")) > 200,
        "pie has one queue"
    );
}

/// Of each of two flows: packets sent and dropped, and the mean wait in the second half of the run.
#[derive(Default, Clone)]
struct Of {
    sent: u32,
    dropped: u32,
    waits: Vec<f64>,
}

struct Log([Of; 2]);

impl Observer<u64> for Log {
    fn sent(&mut self, packet: Packet<u64>, start: Instant, _end: Instant) {
        let of = &mut self.0[packet.flow.index()];
        of.sent += 1;
        if start > micros(20_000_000) {
            let wait = start.since(Instant::from_nanos(packet.payload));
            of.waits.push(wait.as_secs_f64());
        }
    }

    fn dropped(&mut self, packet: Packet<u64>, _now: Instant, reason: DropReason) {
        assert_eq!(reason, DropReason::Early);
        self.0[packet.flow.index()].dropped += 1;
    }
}

/// 40 s of a link of 8 Mbit/s: flow 0 offers 12 Mbit/s, flow 1 a packet of 200 bytes each 20 ms.
fn overload(text: &str) -> [Of; 2] {
    let mut port = Port::new(
        build(text),
        Limit::UNBOUNDED,
        "8mbit".parse::<Rate>().unwrap(),
    );
    let mut log = Log(Default::default());
    let mut next = [0u64, 0];
    while next[0] < 40_000_000 {
        let flow = usize::from(next[1] < next[0]);
        let now = micros(next[flow]);
        let len = [1000, 200][flow];
        port.advance(now, &mut log);
        let packet = Packet::new(FlowId(flow as u32), len, next[flow] * 1000);
        port.arrive(now, packet, &mut log);
        next[flow] += [667, 20_000][flow];
    }
    log.0
}

fn mean(waits: &[f64]) -> f64 {
    waits.iter().sum::<f64>() / waits.len() as f64
}

#[test]
fn an_overload_is_its_own_and_waits_for_the_target() {
    let [bulk, calls] = overload("fq_pie target 20ms");
    let loss = f64::from(bulk.dropped) / f64::from(bulk.dropped + bulk.sent);
    assert!(
        (0.30..0.37).contains(&loss),
        "offers 1.5 times the link: {loss}"
    );
    let wait = mean(&bulk.waits);
    assert!((0.015..0.025).contains(&wait), "{wait}");
    assert_eq!(calls.dropped, 0);
    assert!(mean(&calls.waits) < 0.0015, "{}", mean(&calls.waits));
    let [_, calls] = overload("pie target 20ms");
    assert!(
        calls.dropped > 0 && mean(&calls.waits) > 0.015,
        "under pie all flows lose and wait"
    );
}

/// Arrivals of one flow, faster than departures, with and without ECN: drops and marks.
fn signals(mut scheduler: impl Scheduler<u64>, ecn: Ecn) -> Vec<(u64, bool)> {
    let mut signals = Vec::new();
    let mut marked = Vec::new();
    for number in 0..30_000 {
        let now = micros(number * 500);
        let packet = Packet {
            ecn,
            ..Packet::new(FlowId(3), 1000, number)
        };
        scheduler.enqueue(now, packet).expect("room");
        while let Some((packet, reason)) = scheduler.take_dropped() {
            assert_eq!(reason, DropReason::Early);
            signals.push((packet.payload, false));
        }
        if number % 5 != 0 {
            let sent = scheduler.dequeue(now).expect("backlogged");
            if sent.ecn == Ecn::Marked {
                marked.push((sent.payload, true));
            }
        }
        scheduler.check_invariants();
    }
    signals.extend(marked);
    signals.sort_unstable();
    signals
}

#[test]
fn one_flow_is_pie() {
    // As fq_pie's, the random numbers of pie come from the seed as it is.
    for (words, ecn) in [
        ("", Ecn::NotCapable),
        (" ecn", Ecn::Capable),
        (" bytemode", Ecn::NotCapable),
    ] {
        let of_pie = signals(build(&format!("pie{words}")), ecn);
        assert!(of_pie.len() > 1_000, "{} signals", of_pie.len());
        assert_eq!(
            signals(build(&format!("fq_pie{words}")), ecn),
            of_pie,
            "{words}"
        );
    }
    let other = signals(build("fq_pie target 16ms"), Ecn::NotCapable);
    assert_ne!(other, signals(build("pie"), Ecn::NotCapable));
}

#[test]
fn capable_packets_are_marked_below_ecn_prob() {
    let counts = |text: &str| {
        let signals = signals(build(text), Ecn::Capable);
        let marks = signals.iter().filter(|(_, mark)| *mark).count();
        (signals.len() - marks, marks)
    };
    let (drops, marks) = counts("fq_pie ecn");
    assert!(
        drops > 1_000 && marks > 10,
        "a load of 1.25: {drops} drops, {marks} marks"
    );
    let (_, more) = counts("fq_pie ecn ecn_prob 100");
    assert!(
        more > 2 * marks,
        "{more} marks below a probability of one, {marks} below a tenth"
    );
    assert_eq!(counts("fq_pie").1, 0, "off by default");
}

/// The dropped packets of a buffer of four packets, all arriving at once.
fn lost(text: &str) -> Vec<(u64, DropReason)> {
    let mut buffer = Buffer::new(Limit::of_packets(4), build(text));
    let mut lost = Vec::new();
    for (number, flow) in (0..).zip([0, 0, 0, 1, 2, 0, 1]) {
        let packet = Packet::new(FlowId(flow), 1000, number);
        buffer.enqueue(NOW, packet, |packet, reason| {
            lost.push((packet.payload, reason))
        });
    }
    lost
}

#[test]
fn a_full_buffer_drops_the_arriving_packet() {
    let full = DropReason::Full;
    assert_eq!(lost("fq_pie"), [(4, full), (5, full), (6, full)]);
    assert_ne!(
        lost("fq_codel"),
        lost("fq_pie"),
        "fq_codel takes the longest queue's"
    );
}

#[test]
fn memory_does_not_grow_with_flows() {
    let mut scheduler = build("fq_pie flows 64");
    let before = scheduler.footprint();
    for number in 0..10_000 {
        let packet = Packet::new(FlowId(number as u32 * 7919), 100, number);
        scheduler.enqueue(NOW, packet).expect("room");
    }
    assert_eq!(scheduler.footprint(), before);
    assert_eq!(before.bytes_per_flow, 0);
}

/// An idle queue's probability falls as if its updates had come in time: updates of all queues are
/// due at the same times.
#[test]
fn an_absence_equals_its_updates() {
    let config = fq_pie::Config::default();
    let after = |visits: bool| {
        let mut scheduler: fq_pie::FqPie<u64> = config.build(Seed::new(1)).expect("legal");
        for number in 0..8_000 {
            let now = micros(number * 500);
            let packet = Packet::new(FlowId(3), 1000, number);
            scheduler.enqueue(now, packet).expect("room");
            if number % 5 != 0 {
                scheduler.dequeue(now);
            }
            while scheduler.take_dropped().is_some() {}
        }
        let full = scheduler.probability_of(FlowId(3));
        while scheduler.dequeue(micros(4_000_000)).is_some() {}
        for step in 0..100 {
            if visits {
                // A look at the queue: nothing waits.
                scheduler.dequeue(micros(4_000_000 + step * 15_000));
            }
        }
        let packet = Packet::new(FlowId(3), 100, 0);
        scheduler.enqueue(micros(5_500_000), packet).expect("room");
        (full, scheduler.probability_of(FlowId(3)))
    };
    let (full, left) = after(false);
    assert!(left < full / 2, "{left} of {full}");
    assert_eq!(after(true), (full, left));
}
