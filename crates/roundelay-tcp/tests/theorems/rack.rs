//! RACK and tail loss probes: RFC 8985, with its example (section 3.4), step by step and at random.
//! A sender with the scoreboard alone must fail.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::{Duration, Instant};
use roundelay_tcp::{Block, Config, Control, Flags, Flavour, Segment, Sender, SlowStart, State};

use super::link::{Fate, Link, World};

/// Segments of 1000 bytes, of which the test link carries one each millisecond, with a round trip
/// of 100 ms.
fn rack() -> Config {
    Config {
        rack: true,
        tail_loss_probe: true,
        ..plain()
    }
}

/// The scoreboard alone.
fn plain() -> Config {
    Config {
        flavour: Flavour::Sack,
        control: Control::Reno,
        segment_len: 1000,
        header_len: 0,
        initial_window: 30,
        min_timeout: millis(200),
        timeout_above_round_trip: true,
        granularity: Duration::from_micros(1),
        delayed_acknowledgement: None,
        ..Config::rfc()
    }
}

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A link that loses segments by number: listed twice, a segment and its repair are lost.
fn losing(lost: &[u64]) -> Link {
    let mut lost = lost.to_vec();
    let fate = move |_, segment: &Segment| {
        let number = segment.sequence / 1000;
        let found = lost.iter().position(|lost| *lost == number);
        match found.filter(|_| segment.len > 0) {
            Some(at) => {
                lost.remove(at);
                Fate::Drop
            }
            None => Fate::Deliver,
        }
    };
    Link {
        fate: Box::new(fate),
        ..Link::default()
    }
}

fn world(config: Config, segments: u64, link: Link) -> World {
    let mut world = World::new(config, Some(segments * 1000), link);
    world.keeps_steps = true;
    world.open();
    assert!(world.run(Instant::MAX));
    world
}

/// When segments were sent, and which: without the SYN, from the first on.
fn sent(world: &World) -> Vec<(Duration, Vec<u64>)> {
    let mut all: Vec<(Instant, Vec<u64>)> = Vec::new();
    for step in &world.steps {
        let data = step.sent.iter().filter(|segment| segment.len > 0);
        let numbers: Vec<_> = data.map(|segment| segment.sequence / 1000).collect();
        if !numbers.is_empty() {
            all.push((step.now, numbers));
        }
    }
    let begin = all[0].0;
    all.into_iter()
        .map(|(at, numbers)| (at.since(begin), numbers))
        .collect()
}

/// Section 3.4: of P0 to P3 the last three are lost, and then the repair of P1. The probe is P3; its
/// acknowledgement tells that P1 and P2 are lost, and that of P2 that P1 is lost again.
#[test]
fn the_example_of_the_rfc() {
    let found = world(rack(), 4, losing(&[1, 2, 3, 1]));
    let sent = sent(&found);
    let numbers: Vec<_> = sent.iter().map(|(_, numbers)| numbers.clone()).collect();
    assert_eq!(numbers, [vec![0, 1, 2, 3], vec![3], vec![1, 2], vec![1]]);
    let times: Vec<_> = sent.iter().map(|(at, _)| *at).collect();
    // P0 is acknowledged after 100 ms, the probe goes out two round trips later, and each answer
    // takes a round trip. P2 is the second in its queue. The round trip of the SYN is shorter by
    // the 948 bytes that it lacks, which shows in an eighth of SRTT, twice.
    let early = Duration::from_micros(2 * 948 * 7 / 8);
    let expected = [0, 300, 400, 501].map(millis);
    assert_eq!(times[0], expected[0]);
    for (time, expected) in times.iter().zip(expected).skip(1) {
        assert_eq!(*time + early, expected, "{times:?}");
    }
    let statistics = found.sender.statistics();
    assert_eq!((statistics.timeouts, statistics.probes), (0, 1));
    assert_eq!(statistics.fast_retransmits, 1);
    let plain = world(plain(), 4, losing(&[1, 2, 3, 1]));
    assert!(plain.sender.statistics().timeouts >= 2);
    assert!(plain.now.since(found.now) > millis(300));
}

/// Section 3.5: the probe is lost too, so the timeout comes, one of its own time after the probe.
#[test]
fn a_lost_probe_leaves_it_to_the_timeout() {
    let found = world(rack(), 4, losing(&[1, 2, 3, 3]));
    let sent = sent(&found);
    let numbers: Vec<_> = sent.iter().map(|(_, numbers)| numbers.clone()).collect();
    assert_eq!(numbers, [vec![0, 1, 2, 3], vec![3], vec![1], vec![2, 3]]);
    // A probe comes after two round trips, a timeout 200 ms after one.
    let round_trip = Duration::from_picos((sent[1].0 - millis(100)).as_picos() / 2);
    assert_eq!(sent[2].0 - sent[1].0, millis(200) + round_trip);
    assert_eq!(found.sender.statistics().timeouts, 1);
}

/// After a timeout what is found lost is sent again at once, also behind the flight that timed out.
#[test]
fn losses_after_a_timeout_do_not_wait_for_its_repair() {
    // The first flight is lost, and so are two repairs of 20, which hold the timeout's repair up, and
    // 33, sent in the meantime.
    let lost: Vec<u64> = (0..=30).chain([20, 20, 33]).collect();
    let found = world(rack(), 100, losing(&lost));
    let sent = sent(&found);
    let last_of = |number: u64| {
        let mut times = sent.iter().filter(|(_, numbers)| numbers.contains(&number));
        times.next_back().expect("sent").0
    };
    let waited = last_of(33) - last_of(20);
    assert!(waited < millis(50), "{waited:?} of a round trip of 100 ms");
    assert_eq!(found.sender.statistics().timeouts, 1);
}

/// A retransmission that is lost after a timeout is a second sign of congestion (RFC 5681, section
/// 4.3): a fast recovery begins, and the threshold falls again. As in Linux.
#[test]
fn a_repair_lost_after_a_timeout_reduces_the_window_again() {
    // With the probe, which is new data.
    let flight: Vec<u64> = (0..=30).collect();
    let repairs = [&flight[..], &[20]].concat();
    let once = world(rack(), 100, losing(&flight));
    let twice = world(rack(), 100, losing(&repairs));
    for found in [&once, &twice] {
        assert_eq!(found.sender.statistics().timeouts, 1);
    }
    assert_eq!(once.sender.statistics().fast_retransmits, 0);
    assert_eq!(twice.sender.statistics().fast_retransmits, 1);
    let [before, after] = [once.sender.threshold(), twice.sender.threshold()];
    assert!(after < before, "{after} after {before}");
}

/// The end that answers a SYN knows the handshake's round trip, too. A first flight of which nothing
/// arrives is probed after two of these, and not after the second of an unknown round trip.
#[test]
fn the_handshake_times_the_first_flight_of_a_server() {
    let config = Config {
        syn_exchange: false,
        ..rack()
    };
    let mut sender = Sender::new(config, Some(10_000)).expect("legal");
    sender.open(Instant::ZERO);
    sender.learn_round_trip(Instant::ZERO, millis(100));
    while sender.poll(Instant::ZERO).is_some() {}
    let probed = Instant::ZERO + millis(200);
    assert_eq!(sender.timer(), Some(probed));
    sender.on_timer(probed);
    assert!(sender.poll(probed).is_some());
    let statistics = sender.statistics();
    assert_eq!((statistics.probes, statistics.timeouts), (1, 0));
}

/// The last but one is lost, and one arrival tells. It is lost after a quarter of the shortest
/// round trip, without a probe or a third duplicate.
#[test]
fn the_reordering_timer_repairs_what_one_arrival_tells() {
    let found = world(rack(), 4, losing(&[2]));
    let sent = sent(&found);
    // P3 arrives after 103 ms. The SYN had the shortest round trip, without 948 of 1000 bytes.
    let shortest = millis(100) - Duration::from_micros(948);
    let window = Duration::from_picos(shortest.as_picos() / 4);
    assert_eq!(sent[1..], [(millis(103) + window, vec![2])]);
    let statistics = found.sender.statistics();
    assert_eq!((statistics.timeouts, statistics.probes), (0, 0));
    let plain = world(plain(), 4, losing(&[2]));
    assert_eq!(plain.sender.statistics().timeouts, 1);
}

/// Without reordering, three arrivals tell at once: section 6.2, step 4.
#[test]
fn three_arrivals_tell_at_once() {
    let found = world(rack(), 5, losing(&[1]));
    assert_eq!(sent(&found)[1..], [(millis(104), vec![1])]);
}

/// Once reordering was seen, a segment has a quarter of the shortest round trip, though twenty may
/// overtake; the scoreboard repairs what is not lost.
#[test]
fn reordering_within_the_window_repairs_nothing() {
    let reordered = |late: u64| {
        let fate = move |_, segment: &Segment| match segment.sequence / 1000 {
            // Overtaken by two.
            5 if segment.len > 0 => Fate::Delay(Duration::from_micros(2500)),
            35 => Fate::Delay(millis(late)),
            _ => Fate::Deliver,
        };
        Link {
            fate: Box::new(fate),
            ..Link::default()
        }
    };
    let repairs = |config, late| {
        let found = world(config, 100, reordered(late));
        found.sender.statistics().retransmissions
    };
    assert_eq!(repairs(rack(), 20), 0);
    assert!(repairs(plain(), 20) > 0);
    // Longer than the window.
    assert_eq!(repairs(rack(), 60), 1);
}

/// A retransmission is lost, and data sent after it arrives.
#[test]
fn lost_retransmissions_are_found() {
    let config = Config {
        initial_window: 20,
        ..rack()
    };
    let found = world(config, 200, losing(&[3, 3, 3]));
    assert_eq!(found.sender.statistics().timeouts, 0);
    assert_eq!(found.sender.statistics().retransmissions, 3);
    let config = Config {
        initial_window: 20,
        ..plain()
    };
    let plain = world(config, 200, losing(&[3, 3, 3]));
    assert!(plain.sender.statistics().timeouts > 0);
}

/// New data is the better probe; the receive window may forbid it.
#[test]
fn a_probe_is_new_data_if_there_is_some() {
    let probe = |receive_window| {
        let config = Config {
            initial_window: 4,
            receive_window,
            ..rack()
        };
        sent(&world(config, 8, losing(&[0, 1, 2, 3])))[1].clone()
    };
    assert_eq!(probe(100).1, [4]);
    assert_eq!(probe(4).1, [3]);
}

/// A probe of new data is not a repair: when all acknowledgements are late, nothing is reduced.
#[test]
fn a_probe_of_new_data_reduces_nothing() {
    let config = Config {
        initial_window: 4,
        ..rack()
    };
    let late = |number, _: &Segment| match number {
        // Not that of the SYN.
        1.. => Fate::Delay(millis(250)),
        0 => Fate::Deliver,
    };
    let link = Link {
        fate_back: Box::new(late),
        ..Link::default()
    };
    let found = world(config, 8, link);
    let statistics = found.sender.statistics();
    assert_eq!(statistics.losses_repaired_by_probes, 0);
    assert!(statistics.probes > 0);
    assert!(found.sender.window() >= 4000);
}

/// A single segment may wait for its acknowledgement: section 7.2.
#[test]
fn a_probe_waits_for_a_delayed_acknowledgement() {
    let first_repair = |delay: Option<Duration>| {
        let config = Config {
            delayed_acknowledgement: delay,
            min_timeout: millis(400),
            timeout_above_round_trip: false,
            ..rack()
        };
        sent(&world(config, 1, losing(&[0])))[1].0
    };
    let delayed = first_repair(Some(millis(40)));
    assert_eq!(delayed, first_repair(None) + millis(40));
}

/// In Linux a probe of a single segment waits for as long as a timeout does, in whose place it comes.
#[test]
fn a_probe_of_a_single_segment_is_no_sooner_than_linux_s_timeout() {
    let found = world(rack(), 1, losing(&[0]));
    // A round trip of 100 ms, of which the SYN lacks 948 of 1000 bytes.
    let round_trip = millis(100) - Duration::from_micros(948);
    assert_eq!(sent(&found)[1].0, round_trip + millis(200));
    let statistics = found.sender.statistics();
    assert_eq!((statistics.probes, statistics.timeouts), (1, 0));
}

/// Section 7.4.2: a loss that the probe repairs halves the window, once the acknowledgement of later
/// data tells so. An original that was late halves nothing, even if the answer to the probe is lost:
/// the echo tells.
#[test]
fn a_loss_repaired_by_a_probe_reduces_the_window() {
    let run = |fate: Fate, loses_answer: bool| {
        let mut is_first = true;
        let judge = move |_, segment: &Segment| {
            let is_hit = segment.sequence == 9000 && std::mem::take(&mut is_first);
            if is_hit { fate } else { Fate::Deliver }
        };
        let config = Config {
            initial_window: 10,
            min_timeout: millis(400),
            timeout_above_round_trip: false,
            ..rack()
        };
        let mut answers = 0;
        let judge_back = move |_, segment: &Segment| {
            answers += u32::from(segment.acknowledgement == 10_000);
            if loses_answer && answers == 2 {
                answers += 1;
                Fate::Drop
            } else {
                Fate::Deliver
            }
        };
        let link = Link {
            fate: Box::new(judge),
            fate_back: Box::new(judge_back),
            ..Link::default()
        };
        let mut world = World::new(config, Some(10_000), link);
        world.open();
        assert!(world.run(Instant::MAX));
        let before = world.sender.window();
        // What the link still carries, then more data.
        while world.step(world.now + millis(150)) {}
        world.sender.supply(3000);
        world.send(None);
        assert!(world.run(Instant::MAX));
        let statistics = *world.sender.statistics();
        assert_eq!((statistics.probes, statistics.timeouts), (1, 0));
        (
            before,
            world.sender.window(),
            statistics.losses_repaired_by_probes,
        )
    };
    let (before, after, repaired) = run(Fate::Drop, false);
    assert!(after <= before / 2 + 3000, "{before} {after}");
    assert_eq!(repaired, 1);
    for loses_answer in [false, true] {
        let (before, after, repaired) = run(Fate::Delay(millis(220)), loses_answer);
        assert!(after >= before, "{before} {after}");
        assert_eq!(repaired, 0);
    }
}

/// The first segment of two waits for its acknowledgement, and the probe for the second one arrives
/// first: one acknowledgement of both, with the echo of the first. That is not the original.
#[test]
fn an_acknowledgement_that_waited_is_not_that_of_the_original() {
    let config = Config {
        delayed_acknowledgement: Some(millis(400)),
        ..rack()
    };
    let mut world = World::new(config, Some(2000), losing(&[1]));
    world.open();
    assert!(world.run(Instant::MAX));
    world.sender.supply(2000);
    world.send(None);
    assert!(world.run(Instant::MAX));
    let statistics = world.sender.statistics();
    assert_eq!((statistics.probes, statistics.timeouts), (1, 0));
    assert_eq!(statistics.losses_repaired_by_probes, 1);
}

/// The numbers of lost segments.
type Lost = Rc<RefCell<BTreeSet<u64>>>;

/// A link that loses new data at random, and lists it.
fn losing_new_data(seed: u64, harm: f64) -> (Link, Lost) {
    let lost = Lost::default();
    let list = Rc::clone(&lost);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let fate = move |_, segment: &Segment| {
        let is_new = segment.len > 0 && !segment.is_retransmission();
        if !is_new || !random.random_bool(harm) {
            return Fate::Deliver;
        }
        list.borrow_mut().insert(segment.sequence / 1000);
        Fate::Drop
    };
    let link = Link {
        fate: Box::new(fate),
        ..Link::default()
    };
    (link, lost)
}

/// Whatever new data of a flight is lost, all of it is repaired without a timeout, and nothing is
/// sent again that arrived, but for the probe.
#[test]
fn no_flight_needs_a_timeout() {
    let mut timeouts_of_plain = 0;
    for seed in 0..500 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let segments = random.random_range(1..=30);
        let harm = [0.02, 0.1, 0.5, 1.0][seed as usize % 4];
        let mut config = rack();
        config.proportional_reduction = seed % 3 == 0;
        config.timestamps = seed % 5 > 0;
        config.delayed_acknowledgement = (seed % 7 > 3).then_some(millis(40));
        let (link, lost) = losing_new_data(seed, harm);
        let found = world(config, segments, link);
        let statistics = found.sender.statistics();
        assert_eq!(statistics.timeouts, 0, "seed {seed}");
        for (_, numbers) in &sent(&found)[1..] {
            for number in numbers {
                let is_lost = lost.borrow().contains(number);
                assert!(is_lost || *number == segments - 1, "seed {seed}: {number}");
            }
        }
        let lost = lost.borrow().len() as u64;
        let repairs = statistics.retransmissions;
        assert!(repairs <= lost + statistics.probes, "seed {seed}");
        let plain = Config {
            rack: false,
            tail_loss_probe: false,
            ..config
        };
        let (link, _) = losing_new_data(seed, harm);
        timeouts_of_plain += world(plain, segments, link).sender.statistics().timeouts;
    }
    assert!(timeouts_of_plain > 150, "{timeouts_of_plain}");
}

/// A retransmission is lost, so the recovery takes a round trip more, in which new data is sent. What
/// is lost of that belongs to another window: it reduces the window again, as RFC 5681 has it, although
/// the same recovery has sent it again. Regression, found beside a real Linux under fq_codel.
#[test]
fn what_is_lost_in_a_recovery_reduces_the_window_again() {
    let reductions = |lost: &[u64]| {
        let found = world(rack(), 100, losing(lost));
        let statistics = found.sender.statistics();
        assert_eq!(statistics.timeouts, 0, "{lost:?}");
        (statistics.fast_retransmits, found.sender.threshold())
    };
    let (once, threshold) = reductions(&[5, 5]);
    assert_eq!(once, 1);
    let (twice, lower) = reductions(&[5, 5, 47]);
    assert_eq!(twice, 2, "47 is new in the recovery");
    // Data that has arrived behind the gap is no flight: the second half is one of the window.
    assert!(lower <= threshold / 2 + 1000, "{lower} after {threshold}");
}

/// An acknowledgement of all segments before `number`, and of those from `first` to before `behind`.
fn told(number: u64, [first, behind]: [u64; 2], echo: Instant) -> Segment {
    let mut segment = Segment {
        acknowledgement: 1000 * number,
        echo,
        flags: Flags::ACK,
        ..Segment::default()
    };
    if behind > first {
        segment.blocks[0] = Block {
            offset: (1000 * (first - number)) as u32,
            len: (1000 * (behind - first)) as u32,
        };
    }
    segment
}

/// What a sender sends after an acknowledgement, by number.
fn after(sender: &mut Sender, now: Instant, told: Option<&Segment>) -> Vec<u64> {
    match told {
        Some(told) => sender.on_segment(now, told),
        None => sender.on_timer(now),
    }
    let mut sent = Vec::new();
    while let Some(segment) = sender.poll(now) {
        sent.push(segment.sequence / 1000);
    }
    sent
}

/// A sender that has seen reordering and repairs after a timeout, with the retransmissions 9 to 16
/// and 17 on their way, of which only 16 has arrived. Its reordering timer is at the time returned.
fn repairing_after_a_timeout() -> (Sender, Instant) {
    let config = Config {
        syn_exchange: false,
        tail_loss_probe: false,
        slow_start: SlowStart::ByBytes,
        proportional_reduction: true,
        ..rack()
    };
    let mut sender = Sender::new(config, Some(1_000_000)).expect("legal");
    sender.open(Instant::ZERO);
    sender.learn_round_trip(Instant::ZERO, millis(100));
    while sender.poll(Instant::ZERO).is_some() {}
    let mut now = Instant::ZERO + millis(100);
    after(&mut sender, now, Some(&told(0, [1, 2], Instant::ZERO)));
    now += millis(10);
    after(&mut sender, now, Some(&told(2, [0, 0], Instant::ZERO)));
    now = sender.timer().expect("a timeout");
    assert_eq!(after(&mut sender, now, None), [2]);
    assert_eq!(sender.state(), State::Loss);
    for (acknowledged, sent) in [(3, 3..5), (5, 5..9), (9, 9..17)] {
        let echo = now;
        now += millis(100);
        let answer = told(acknowledged, [0, 0], echo);
        let sent: Vec<u64> = sent.collect();
        assert_eq!(after(&mut sender, now, Some(&answer)), sent);
    }
    let sent_at = now;
    now += millis(100);
    let answer = told(9, [16, 17], sent_at);
    assert_eq!(after(&mut sender, now, Some(&answer)), [17]);
    let timer = sender.timer().expect("a timer");
    assert_eq!(timer, now + millis(25), "a quarter of the round trip");
    (sender, timer)
}

/// The reordering timer finds seven of eight retransmissions lost. As with each fast recovery the
/// window shrinks with what arrives, so nothing but the first one goes out.
#[test]
fn a_recovery_that_a_timer_begins_after_a_timeout_is_no_burst() {
    let (mut sender, timer) = repairing_after_a_timeout();
    assert_eq!(after(&mut sender, timer, None), [9]);
    assert_eq!(sender.state(), State::Recovery);
    assert_eq!(sender.threshold(), 4000, "half of eight");
}

/// A timeout in a fast recovery reduces no further, and leaves what was sent lately in flight, with
/// room for one more.
#[test]
fn a_timeout_in_a_recovery_keeps_its_threshold() {
    let (mut sender, timer) = repairing_after_a_timeout();
    after(&mut sender, timer, None);
    // New data arrives each 100 ms, and 9 does not.
    let mut now = timer;
    let mut arrived = 17;
    while sender.state() == State::Recovery {
        let next = now + millis(50);
        let deadline = sender.timer().expect("a timer");
        now = deadline.min(next);
        if deadline <= next {
            after(&mut sender, now, None);
        } else if sender.in_flight() > 0 && arrived < 30 {
            let answer = told(9, [16, arrived + 1], now);
            after(&mut sender, now, Some(&answer));
            arrived += 1;
        }
    }
    assert_eq!(sender.state(), State::Loss);
    assert_eq!(sender.threshold(), 4000);
    assert!(
        sender.window() <= sender.in_flight().max(1000),
        "{}",
        sender.window()
    );
}

/// The last segment of much data is lost, and the probe of it repairs it. The window of a hundred
/// segments and more is halved for that, and not the one segment that was in flight.
#[test]
fn a_loss_at_the_end_halves_the_window_and_not_its_last_segment() {
    let config = Config {
        slow_start: SlowStart::ByBytes,
        initial_threshold: Some(1000),
        ..rack()
    };
    let mut is_first = true;
    let judge = move |_, segment: &Segment| {
        if segment.sequence == 299_000 && std::mem::take(&mut is_first) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    };
    let link = Link {
        fate: Box::new(judge),
        ..Link::default()
    };
    let mut world = World::new(config, Some(300_000), link);
    world.open();
    assert!(world.run(Instant::MAX));
    let before = world.sender.window();
    assert!(before >= 100_000, "{before}");
    while world.step(world.now + millis(150)) {}
    world.sender.supply(3000);
    world.send(None);
    assert!(world.run(Instant::MAX));
    assert_eq!(world.sender.statistics().losses_repaired_by_probes, 1);
    let after = world.sender.threshold();
    assert!(after >= before * 2 / 5, "{before}, {after}");
}
