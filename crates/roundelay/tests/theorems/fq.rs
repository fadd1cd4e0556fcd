//! FQ: the claims of `fq.rs`, and disciplines that break them.

use std::collections::BTreeMap;

use roundelay::schedulers::{AnyScheduler, Discipline as _, fq};
use roundelay::{
    Buffer, Control, DropReason, Duration, Ecn, FlowId, Instant, Limit, Observer, Packet, Port,
    QueueSpec, Rate, Refusal, Scheduler, Seed,
};

use super::fq_pie::{NOW, build, micros, unevenness};

#[test]
fn backlogged_flows_share_evenly() {
    let even = unevenness(build("fq"), 3028.0, 100);
    assert!((0.3..=1.0).contains(&even), "{even} of the bound");
    let random = unevenness(build("random"), 3028.0, 100);
    assert!(random > 1.0, "random must break it: {random}");
}

/// Packets of 1000 bytes of a new flow that leave before any of three old ones.
fn first_in_a_row(text: &str) -> usize {
    let mut scheduler = build(text);
    for number in 0..300 {
        let packet = Packet::new(FlowId(number as u32 % 3), 1000, number);
        scheduler.enqueue(NOW, packet).expect("room");
    }
    for _ in 0..60 {
        scheduler.dequeue(NOW).expect("backlogged");
    }
    for number in 0..40 {
        let packet = Packet::new(FlowId(77), 1000, 1000 + number);
        scheduler.enqueue(NOW, packet).expect("room");
    }
    let order = std::iter::from_fn(|| scheduler.dequeue(NOW));
    order.take_while(|packet| packet.flow == FlowId(77)).count()
}

/// With 140 bytes left of 15,140, the sixteenth packet is sent, too. Linux 7.3 lists a new flow in
/// the first band, so it waits until the second one has used its credit of 196,608 bytes.
#[test]
fn a_new_flow_sends_its_first_window_at_once() {
    assert_eq!(first_in_a_row("fq linux 6.1"), 16);
    assert_eq!(first_in_a_row("fq initial_quantum 2500b linux 6.1"), 3);
    assert_eq!(first_in_a_row("fq"), 0);
    let mut scheduler = build("fq initial_quantum 1500 flow_limit 1000");
    let arrive = |scheduler: &mut AnyScheduler<u64>, flow, count| {
        for number in 0..count {
            let packet = Packet::new(FlowId(flow), 1000, number);
            scheduler.enqueue(NOW, packet).expect("room");
        }
    };
    arrive(&mut scheduler, 0, 400);
    for _ in 0..20 {
        scheduler.dequeue(NOW).expect("backlogged");
    }
    arrive(&mut scheduler, 1, 10);
    let order = std::iter::from_fn(|| scheduler.dequeue(NOW));
    let waits = order.take_while(|packet| packet.flow == FlowId(0)).count();
    // Eight took the fast path, two were the first window, and ten were of the second band.
    assert_eq!(waits, 197 - 10, "197 packets of 1000 bytes use the credit");
    assert_eq!(first_in_a_row("fq_codel"), 2, "a quantum of 1514 bytes");
    assert_eq!(first_in_a_row("drr"), 0);
}

/// A flow that was silent for `refill_delay` has at least a quantum again; after a shorter silence
/// what was left.
#[test]
fn a_flow_that_returns_gets_a_quantum_after_the_delay() {
    let sent_at_once = |silence: u64| {
        let mut scheduler = build("fq initial_quantum 3kb linux 6.1");
        let arrive = |scheduler: &mut AnyScheduler<u64>, now, flow, count| {
            for number in 0..count {
                let packet = Packet::new(FlowId(flow), 1000, number);
                scheduler.enqueue(now, packet).expect("room");
            }
        };
        arrive(&mut scheduler, NOW, 0, 3);
        arrive(&mut scheduler, NOW, 2, 10);
        for _ in 0..13 {
            scheduler.dequeue(NOW).expect("backlogged");
        }
        assert_eq!(scheduler.dequeue(NOW), None);
        let now = micros(silence);
        arrive(&mut scheduler, now, 1, 50);
        arrive(&mut scheduler, now, 0, 10);
        let order = std::iter::from_fn(|| scheduler.dequeue(now));
        let of_other = order.take_while(|packet| packet.flow == FlowId(1)).count();
        assert!(of_other >= 3, "the new flow came first");
        let order = std::iter::from_fn(|| scheduler.dequeue(now));
        // The one that ended `take_while` is of flow 0, too.
        1 + order.take_while(|packet| packet.flow == FlowId(0)).count()
    };
    // 72 of 3,072 bytes were left, and the next turn is behind the other flow's.
    assert_eq!(sent_at_once(40_000), 1);
    // A quantum of 3,028 bytes.
    assert_eq!(sent_at_once(40_001), 4);
}

/// Of 5,000 flows with room for a packet each, how many lose their first packet, and how many their
/// second.
fn lost(text: &str) -> [usize; 2] {
    let mut buffer = Buffer::new(Limit::UNBOUNDED, build(text));
    let mut lost = [0, 0];
    for round in 0..2 {
        for flow in 0..5_000 {
            let packet = Packet::new(FlowId(flow), 100, round);
            buffer.enqueue(NOW, packet, |packet, _| lost[packet.payload as usize] += 1);
        }
    }
    lost
}

#[test]
fn flows_never_share_a_queue() {
    assert_eq!(lost("fq flow_limit 1 linux 6.1"), [0, 5_000]);
    assert_eq!(
        lost("fq flow_limit 1"),
        [0, 4_992],
        "eight took the fast path"
    );
    let [first, _] = lost("sfq depth 1");
    assert!(first > 3_000, "sfq has 1024 buckets: {first}");
}

/// Starts of transmissions, by flow, with lengths.
#[derive(Default)]
struct Starts(BTreeMap<u32, Vec<(Instant, u32)>>);

impl Observer<u64> for Starts {
    fn sent(&mut self, packet: Packet<u64>, start: Instant, _end: Instant) {
        let of_flow = self.0.entry(packet.flow.0).or_default();
        of_flow.push((start, packet.len));
    }

    fn dropped(&mut self, _packet: Packet<u64>, _now: Instant, reason: DropReason) {
        panic!("dropped: {}", reason.name());
    }
}

/// Starts on a link of 100 Mbit/s: so many flows, each with 300 packets at once.
fn paced(text: &str, flows: u32, len: impl Fn(u64) -> u32) -> Starts {
    let link: Rate = "100mbit".parse().expect("legal");
    let mut port = Port::new(build(text), Limit::UNBOUNDED, link);
    let mut starts = Starts::default();
    for number in 0..300 {
        for flow in 0..flows {
            port.arrive(
                NOW,
                Packet::new(FlowId(flow), len(number), number),
                &mut starts,
            );
        }
    }
    port.advance(micros(1_000_000_000), &mut starts);
    assert_eq!(
        starts.0.values().map(Vec::len).sum::<usize>(),
        300 * flows as usize
    );
    starts
}

/// Most bytes of a flow in any interval beyond what the rate brings.
fn beyond_the_rate(starts: &Starts, bytes_a_second: f64) -> f64 {
    let mut most: f64 = 0.0;
    for of_flow in starts.0.values() {
        // The leaky bucket that would hold what was sent.
        let mut level: f64 = 0.0;
        let mut before = NOW;
        for (start, len) in of_flow {
            level = (level - start.since(before).as_secs_f64() * bytes_a_second).max(0.0);
            level += f64::from(*len);
            most = most.max(level);
            before = *start;
        }
    }
    most
}

#[test]
fn no_interval_has_more_than_the_rate() {
    let len = |number: u64| 64 + (number * 7919 % 1451) as u32;
    let bound = 15_140.0 + 3_028.0 + 1_514.0;
    for flows in [1, 3] {
        let starts = paced("fq maxrate 8mbit flow_limit 1000", flows, len);
        let most = beyond_the_rate(&starts, 1e6);
        assert!(most <= bound && most > 0.5 * bound, "{most} of {bound}");
        let free = paced("fq flow_limit 1000", flows, len);
        let most = beyond_the_rate(&free, 1e6);
        assert!(
            most > 2.0 * bound,
            "without a rate nothing holds it: {most}"
        );
    }
}

/// Two packets a quantum, so both at once and then the pause of two; below the threshold, and with
/// a quantum of one packet, a packet at a time, to the picosecond.
#[test]
fn packets_leave_at_the_pace() {
    for (text, gaps) in [
        ("quantum 3028b initial_quantum 3028b", [121, 2_907]),
        ("quantum 1514b initial_quantum 1514b", [1_514, 1_514]),
        (
            "low_rate_threshold 8mbit initial_quantum 1514b",
            [1_514, 1_514],
        ),
        (
            "low_rate_threshold unlimited initial_quantum 1514b",
            [1_514, 1_514],
        ),
    ] {
        let text = format!("fq maxrate 8mbit flow_limit 1000 {text}");
        let starts = paced(&text, 1, |_| 1514);
        let of_flow = &starts.0[&0];
        let mut pauses = Vec::new();
        for pair in of_flow.windows(2) {
            pauses.push(pair[1].0.since(pair[0].0).as_picos().div_ceil(1_000_000));
        }
        for pair in pauses.chunks_exact(2).skip(1) {
            let mut pair = [pair[0], pair[1]];
            pair.sort_unstable();
            let mut gaps: [u64; 2] = gaps;
            gaps.sort_unstable();
            assert!(
                pair[0].abs_diff(gaps[0]) <= 1 && pair[1].abs_diff(gaps[1]) <= 1,
                "{text}: {pair:?} us, expected {gaps:?}"
            );
        }
        let (first, last) = (of_flow[0].0, of_flow[298].0);
        let rate = 298.0 * 1514.0 / last.since(first).as_secs_f64();
        assert!((rate - 1e6).abs() < 4e3, "{text}: {rate} bytes a second");
    }
}

/// Others leave while a flow waits for its time.
#[test]
fn a_paced_flow_holds_up_no_other() {
    let mut scheduler = build("fq maxrate 8kbit initial_quantum 1kb quantum 1kb");
    for number in 0..5 {
        scheduler
            .enqueue(NOW, Packet::new(FlowId(0), 1024, number))
            .expect("room");
    }
    assert_eq!(scheduler.dequeue(NOW).map(|packet| packet.payload), Some(0));
    assert_eq!(scheduler.dequeue(NOW), None, "the next in a second");
    let ready = micros(1_000_000);
    assert_eq!(scheduler.ready_at(), Some(ready), "capped at a second");
    scheduler
        .enqueue(NOW, Packet::new(FlowId(1), 1024, 9))
        .expect("room");
    assert_eq!(scheduler.dequeue(NOW).map(|packet| packet.payload), Some(9));
    assert_eq!(scheduler.dequeue(NOW), None);
    let early = Instant::from_picos(ready.as_picos() - 1);
    assert_eq!(scheduler.dequeue(early), None);
    assert_eq!(
        scheduler.dequeue(ready).map(|packet| packet.payload),
        Some(1)
    );
}

#[test]
fn nopacing_leaves_at_once() {
    let starts = paced("fq maxrate 8mbit nopacing flow_limit 1000", 1, |_| 1514);
    let last = starts.0[&0][299].0;
    assert_eq!(
        last,
        Instant::from_nanos(299 * 121_120),
        "at the link's rate"
    );
}

#[test]
fn a_flow_has_its_own_limit() {
    let mut scheduler = build("fq flow_limit 3 linux 6.1");
    for number in 0..3 {
        scheduler
            .enqueue(NOW, Packet::new(FlowId(5), 100, number))
            .expect("room");
    }
    let fourth = Packet::new(FlowId(5), 100, 3);
    let refused = Err(fourth.refused(Refusal::QueueFull));
    assert_eq!(scheduler.enqueue(NOW, fourth), refused);
    let other = Packet::new(FlowId(6), 100, 4);
    assert!(scheduler.enqueue(NOW, other).is_ok());
    scheduler.dequeue(NOW);
    assert!(scheduler.enqueue(NOW, fourth).is_ok());
}

/// Numbers of the packets that a buffer of four drops.
fn dropped_by(text: &str) -> Vec<u64> {
    let mut buffer = Buffer::new(Limit::of_packets(4), build(text));
    let mut dropped = Vec::new();
    for number in 0..8 {
        let packet = Packet::new(FlowId((number / 4) as u32), 100, number);
        buffer.enqueue(NOW, packet, |packet, _| dropped.push(packet.payload));
    }
    dropped
}

#[test]
fn a_full_buffer_drops_the_arriving_packet() {
    assert_eq!(dropped_by("fq"), [4, 5, 6, 7]);
    assert_ne!(dropped_by("drr"), [4, 5, 6, 7], "drr takes the longest");
}

#[test]
fn capable_packets_are_marked_above_the_threshold() {
    for (ecn, wait, marked) in [
        (Ecn::Capable, 1_001, true),
        (Ecn::Capable, 1_000, false),
        (Ecn::NotCapable, 1_001, false),
    ] {
        let mut scheduler = build("fq ce_threshold 1ms linux 6.1");
        let packet = Packet {
            ecn,
            ..Packet::new(FlowId(0), 100, 0)
        };
        scheduler.enqueue(NOW, packet).expect("room");
        let left = scheduler.dequeue(micros(wait)).expect("waits");
        assert_eq!(left.ecn == Ecn::Marked, marked, "{ecn:?} after {wait} us");
    }
}

/// Ten packets at once, paced 10 ms apart: they wait for their pace, not for the link. Asked 2 ms
/// late, the link is at fault.
#[test]
fn a_wait_for_the_pace_marks_nothing() {
    for (lateness, marked) in [(0, 0), (2_000, 9)] {
        let mut scheduler = build("fq ce_threshold 1ms maxrate 800kbit initial_quantum 1000");
        let mut marks = 0;
        for number in 0..10 {
            let packet = Packet {
                ecn: Ecn::Capable,
                ..Packet::new(FlowId(0), 1000, number)
            };
            scheduler.enqueue(NOW, packet).expect("room");
        }
        let mut now = NOW;
        while !scheduler.backlog().is_empty() {
            if let Some(left) = scheduler.dequeue(now) {
                marks += u32::from(left.ecn == Ecn::Marked);
            } else {
                let ready = scheduler.ready_at().expect("it waits for its time");
                now = ready + Duration::from_micros(lateness);
            }
        }
        assert_eq!(marks, marked, "{lateness} us late");
    }
}

/// A removed flow is a new one when it comes back.
#[test]
fn a_removed_flow_is_forgotten_with_its_last_packet() {
    for removes in [false, true] {
        let mut scheduler = build("fq initial_quantum 10kb linux 6.1");
        let arrive = |scheduler: &mut AnyScheduler<u64>, flow: u32| {
            for number in 0..30 {
                let packet = Packet::new(FlowId(flow), 1000, number);
                scheduler.enqueue(NOW, packet).expect("room");
            }
        };
        arrive(&mut scheduler, 0);
        if removes {
            scheduler.remove_flow(FlowId(0));
        }
        while scheduler.dequeue(NOW).is_some() {}
        arrive(&mut scheduler, 1);
        scheduler.dequeue(NOW);
        arrive(&mut scheduler, 0);
        let order = std::iter::from_fn(|| scheduler.dequeue(NOW));
        let behind = order.skip_while(|packet| packet.flow == FlowId(1));
        let of_flow = behind.take_while(|packet| packet.flow == FlowId(0)).count();
        assert_eq!(of_flow > 5, removes, "{of_flow} packets");
    }
}

/// The order of twelve packets of flow 0 and two of flow 1, 1000 bytes each.
fn order_of(text: &str) -> Vec<u64> {
    let mut scheduler = build(text);
    for number in 0..14 {
        let packet = Packet::new(FlowId(number as u32 / 12), 1000, number);
        scheduler.enqueue(NOW, packet).expect("room");
    }
    let order = std::iter::from_fn(|| scheduler.dequeue(NOW));
    order.map(|packet| packet.payload).collect()
}

/// Eight packets find no flow's packets before them and leave in the order of arrival. The others
/// take turns, with the whole initial quantum.
#[test]
fn a_packet_alone_takes_the_fast_path() {
    let newest = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 9, 10, 11, 13];
    for text in ["fq", "fq linux", "fq linux 7.3"] {
        let order = order_of(&format!("{text} initial_quantum 1000"));
        assert_eq!(order, newest, "{text}");
    }
    let before = [0, 12, 1, 2, 3, 4, 13, 5, 6, 7, 8, 9, 10, 11];
    assert_eq!(order_of("fq initial_quantum 1000 linux 6.1"), before);
    assert_ne!(
        order_of("fq initial_quantum 1000 maxrate 1tbit"),
        newest,
        "a rate closes the fast path"
    );
}

#[test]
fn the_word_linux_names_a_kernel() {
    let written = |text: &str| {
        let spec = text.parse::<QueueSpec>().map_err(|error| error.to_string());
        spec.map(|spec| spec.discipline.to_string())
    };
    assert_eq!(written("fq linux"), Ok("fq".to_owned()));
    assert_eq!(written("fq linux limit 10"), Ok("fq".to_owned()));
    assert_eq!(written("fq linux 6.1"), Ok("fq linux 6.1".to_owned()));
    let error = written("fq linux 5.10").unwrap_err();
    assert!(error.contains("7.3") && error.contains("6.1"), "{error}");
}

#[test]
fn who_means_packet_fq_is_told() {
    let unknown = "fq flows 4".parse::<QueueSpec>().unwrap_err().to_string();
    assert!(
        unknown.ends_with("that had this name is packet_fq"),
        "{unknown}"
    );
}

/// A flow whose packet is given up right after the quanta were lowered has no more credit than they
/// allow.
#[test]
fn known_bug_a_credit_given_back_is_within_new_quanta() {
    let before = fq::Config {
        initial_quantum: 20_000,
        ..fq::Config::default()
    };
    let mut fq = before.build::<u32>(Seed::new(0)).expect("legal");
    let now = Instant::ZERO;
    for flow in [0, 1, 1] {
        fq.enqueue(now, Packet::new(FlowId(flow), 1000, 0))
            .expect("it is taken");
        assert!(fq.dequeue(now).is_some());
    }
    // Flow 0's turns have ended with 19,000 bytes of credit.
    fq.enqueue(now, Packet::new(FlowId(0), 1000, 0))
        .expect("it is taken");
    let lower = fq::Config {
        initial_quantum: 256,
        quantum: 256,
        ..fq::Config::default()
    };
    lower
        .reconfigure(&mut fq)
        .expect("both change while packets wait");
    assert!(fq.evict().is_some());
    fq.check_invariants();
}
