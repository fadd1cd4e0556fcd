//! BBR: what its draft and its paper (Cardwell et al., ACM Queue 14(5), 2016) claim, on a link of a
//! megabyte a second with a round trip of 100 ms: 100 segments of 1,000 bytes are on the way.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::{Duration, Instant};
use roundelay_tcp::{Config, Control, Flavour};

use super::link::{Fate, Link, World};

/// Bytes that the path holds.
pub(super) const PATH: u64 = 100_000;

fn config(control: Control) -> Config {
    Config {
        flavour: Flavour::Sack,
        control,
        segment_len: 1000,
        header_len: 0,
        bare_len: 40,
        delayed_acknowledgement: None,
        granularity: Duration::from_micros(1),
        min_timeout: Duration::from_millis(200),
        ..Config::rfc()
    }
}

pub(super) fn at(seconds: f64) -> Instant {
    Instant::from_nanos((seconds * 1e9) as u64)
}

fn opened(control: Control, link: Link) -> World {
    let mut world = World::new(config(control), None, link);
    world.open();
    world
}

/// The part of the link that new data has between two times, in seconds.
pub(super) fn part(world: &mut World, from: f64, to: f64) -> f64 {
    while world.now < at(from) && world.step(Instant::MAX) {}
    let before = world.receiver.delivered();
    while world.now < at(to) && world.step(Instant::MAX) {}
    (world.receiver.delivered() - before) as f64 / (to - from) / 1e6
}

/// ProbeRTT leaves the link idle for some 300 ms in 10 s, and packets are paced 1% below the rate.
#[test]
fn a_lone_flow_fills_the_link_and_keeps_the_queue_short() {
    let mut world = opened(Control::Bbr, Link::default());
    let start = part(&mut world, 0.0, 2.0);
    let (mut most, mut total, mut steps) = (0, 0, 0_u64);
    let before = world.receiver.delivered();
    while world.now < at(42.0) && world.step(Instant::MAX) {
        let in_flight = world.sender.in_flight();
        most = most.max(in_flight);
        total += in_flight;
        steps += 1;
    }
    let rate = (world.receiver.delivered() - before) as f64 / 40e6;
    let mean = total / steps;
    println!("{start:.3} in 2 s, then {rate:.3}; {mean} bytes in flight, {most} at most");
    assert!(start > 0.7, "{start}");
    assert!(rate > 0.94 && rate <= 1.0, "{rate}");
    // Twice the path and three bursts, by a bandwidth that a sample may find a little too high.
    assert!(most < 2 * PATH + PATH / 5, "{most}");
    assert!(mean < PATH + PATH / 4, "{mean}");
    assert_eq!(world.sender.statistics().retransmissions, 0);
    // CUBIC fills a queue without limit as far as the window goes.
    let mut cubic = opened(Control::Cubic, Link::default());
    part(&mut cubic, 0.0, 42.0);
    assert!(cubic.sender.in_flight() > 10 * PATH);
}

/// The path grows longer by 10 us with each hundred segments, so the shortest round trip is never seen
/// again. Where it is, as in the drained queue of a lone flow, nothing is probed.
#[test]
fn each_ten_seconds_the_window_is_four_segments_for_two_hundred_milliseconds() {
    let longer = Link {
        fate: Box::new(|number, _| Fate::Delay(Duration::from_micros(number / 10))),
        ..Link::default()
    };
    let mut world = opened(Control::Bbr, longer);
    let mut probes: Vec<(Instant, Instant)> = Vec::new();
    part(&mut world, 0.0, 3.0);
    while world.now < at(45.0) && world.step(Instant::MAX) {
        if world.sender.in_flight() > 4000 {
            continue;
        }
        match probes.last_mut() {
            Some((_, end)) if world.now.since(*end) < Duration::from_secs(1) => *end = world.now,
            _ => probes.push((world.now, world.now)),
        }
    }
    assert_eq!(probes.len(), 4, "{probes:?}");
    for pair in probes.windows(2) {
        let apart = pair[1].0.since(pair[0].0).as_secs_f64();
        assert!((10.0..11.0).contains(&apart), "{probes:?}");
    }
    for (start, end) in probes {
        let long = end.since(start).as_secs_f64();
        assert!((0.2..0.45).contains(&long), "{long}");
    }
}

/// With a round trip of 10 ms, ProbeRTT lasts for twenty rounds, twice as long as rates are kept: those of
/// the small window, 4% of what the path holds, must not count.
#[test]
fn the_bandwidth_survives_a_probe_of_many_rounds() {
    let near = Link {
        time_per_byte: Duration::from_nanos(100),
        round_trip: Duration::from_millis(10),
        fate: Box::new(|number, _| Fate::Delay(Duration::from_nanos(20 * number))),
        ..Link::default()
    };
    let mut world = opened(Control::Bbr, near);
    let rate = part(&mut world, 1.0, 35.0) / 10.0;
    println!("a round trip of 10 ms: {rate:.3}");
    // Three probes of 200 ms in 34 s, and 1% below the bandwidth.
    assert!(rate > 0.97, "{rate}");
}

/// The paper's figure 8: losses by chance hardly slow BBR down, and CUBIC by far.
#[test]
fn losses_by_chance_do_not_slow_it_down() {
    let lossy = || {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        Link {
            fate: Box::new(move |_, _| {
                if random.random_bool(0.01) {
                    Fate::Drop
                } else {
                    Fate::Deliver
                }
            }),
            ..Link::default()
        }
    };
    // Losses may end the start early; then the rate grows by a quarter each eight round trips.
    let bbr = part(&mut opened(Control::Bbr, lossy()), 15.0, 55.0);
    let cubic = part(&mut opened(Control::Cubic, lossy()), 15.0, 55.0);
    println!("1% lost: bbr {bbr:.3}, cubic {cubic:.3}");
    assert!(bbr > 0.9, "{bbr}");
    assert!(cubic < 0.4, "{cubic}");
}

/// A tenth of the path fits into the buffer: CUBIC's window falls below the path at each loss.
#[test]
fn a_short_buffer_does_not_slow_it_down() {
    let short = || Link {
        queue_limit: 10,
        ..Link::default()
    };
    let bbr = part(&mut opened(Control::Bbr, short()), 5.0, 45.0);
    let cubic = part(&mut opened(Control::Cubic, short()), 5.0, 45.0);
    println!("a buffer of ten: bbr {bbr:.3}, cubic {cubic:.3}");
    assert!(bbr > 0.95 && cubic < 0.93, "{bbr}, {cubic}");
}

#[test]
fn after_seconds_without_a_path_it_goes_on() {
    let mut world = opened(
        Control::Bbr,
        Link {
            fate: Box::new(|number, _| {
                if (3000..3203).contains(&number) {
                    Fate::Drop
                } else {
                    Fate::Deliver
                }
            }),
            ..Link::default()
        },
    );
    let before = part(&mut world, 1.0, 2.5);
    let after = part(&mut world, 8.0, 18.0);
    assert!(before > 0.9 && after > 0.9, "{before}, {after}");
    assert!(world.sender.statistics().retransmissions >= 200);
}

/// Seconds that 3 MB take after writes of 5 kB each tenth of a second, which follow 3 MB.
pub(super) fn after_little(config: Config, writes: u32) -> f64 {
    let mut world = World::new(config, Some(3_000_000), Link::default());
    world.open();
    assert!(world.run(at(20.0)), "all that was written has arrived");
    let mut supplied = world.now;
    for _ in 0..writes {
        supplied += Duration::from_millis(100);
        while world.now < supplied && world.step(Instant::MAX) {}
        world.now = world.now.max(supplied);
        world.sender.supply(5_000);
        world.send(None);
    }
    world.sender.supply(3_000_000);
    world.send(None);
    let start = world.now;
    assert!(world.run(start + Duration::from_secs(20)));
    world.now.since(start).as_secs_f64()
}

/// Writes of an application far below the link's rate leave the bandwidth found as it is.
#[test]
fn an_application_that_writes_little_does_not_lower_the_rate() {
    let took = after_little(config(Control::Bbr), 50);
    println!("3 MB after 5 s of little: {took:.3} s");
    // 3 s on the link and a round trip; a rate of 50 kB/s would take a minute.
    assert!(took < 4.0, "{took}");
}

#[test]
fn only_selective_acknowledgements_tell_enough() {
    let error = Config {
        flavour: Flavour::NewReno,
        ..config(Control::Bbr)
    }
    .check()
    .expect_err("no SACK");
    assert_eq!(
        error.to_string(),
        "tcp: flavour is NewReno with control bbr, but must be sack, as bbr counts what selective acknowledgements tell"
    );
}

/// A video of a chunk each second and a half, in front of a short buffer: the first chunks lose packets,
/// and what is repaired behind their end shows that the rate grows no more. When such repairs
/// counted as the application's silence, the start never ended: each chunk was sent at 2.9 times
/// the bandwidth, and lost a hundred packets and more.
#[test]
fn repairs_behind_the_end_of_the_data_end_the_start() {
    for (queue_limit, chunk) in [(20, 200_000), (40, 300_000), (80, 300_000)] {
        let short = Link {
            queue_limit,
            ..Link::default()
        };
        let mut world = World::new(config(Control::Bbr), Some(chunk), short);
        world.open();
        let mut repairs = Vec::new();
        let mut before = 0;
        for number in 1..12 {
            let next = at(1.5 * f64::from(number));
            assert!(world.run(next), "a chunk takes less");
            world.now = next;
            let all = world.sender.statistics().retransmissions;
            repairs.push(all - before);
            before = all;
            world.sender.supply(chunk);
            world.send(None);
        }
        println!("{queue_limit} packets, {chunk} bytes: {repairs:?}");
        assert!(
            repairs[..3].iter().any(|repairs| *repairs > 50),
            "{repairs:?}"
        );
        assert!(
            repairs[3..].iter().all(|repairs| *repairs <= 1),
            "{repairs:?}"
        );
    }
}

/// Receivers acknowledge every second segment, so a window is an even number of these, as in Linux.
#[test]
fn a_window_is_an_even_number_of_segments() {
    let mut world = opened(Control::Bbr, Link::default());
    part(&mut world, 0.0, 3.0);
    let (mut even, mut all) = (0, 0);
    while world.now < at(8.0) && world.step(Instant::MAX) {
        all += 1;
        even += u32::from(world.sender.window().is_multiple_of(2000));
    }
    // A window that grows passes odd ones.
    assert!(even > all / 10 * 9, "{even} of {all}");
}
