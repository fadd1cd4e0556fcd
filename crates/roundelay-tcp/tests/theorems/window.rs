//! Receive window that grows: limits of a long fat path, and none on a short one.

use roundelay::{Duration, Instant};
use roundelay_tcp::{Config, Control, Segment, SlowStart};

use super::link::{Fate, Link, Step, World};

fn at(seconds: f64) -> Instant {
    Instant::from_nanos((seconds * 1e9) as u64)
}

/// A link of some Mbit/s with a round trip of some milliseconds, and a queue of some segments.
fn link(mbit: u64, millis: u64, queue_limit: usize) -> Link {
    Link {
        time_per_byte: Duration::from_picos(8_000_000 / mbit),
        round_trip: Duration::from_millis(millis),
        queue_limit,
        ..Link::default()
    }
}

fn constant() -> Config {
    Config {
        window_growth: false,
        receive_window: 45_000,
        ..Config::linux()
    }
}

/// Bytes a second that arrive between two times.
fn rate(config: Config, link: Link, from: f64, to: f64) -> f64 {
    let mut world = World::new(config, None, link);
    world.open();
    while world.now < at(from) && world.step(Instant::MAX) {}
    let before = world.receiver.delivered();
    while world.now < at(to) && world.step(Instant::MAX) {}
    (world.receiver.delivered() - before) as f64 / (to - from)
}

/// 1 Gbit/s with a round trip of 200 ms holds 25 MB: a window of 3 MiB leaves 15.7 MB/s of 125, and
/// one of 65,535 bytes 328 kB/s.
#[test]
fn a_long_fat_path_carries_a_window_each_round_trip() {
    let config = Config::linux();
    let most = f64::from(config.receive_window * config.segment_len);
    let limited = rate(config, link(1000, 200, usize::MAX), 10.0, 14.0);
    let small = Config {
        receive_window: 45,
        ..config
    };
    let small = rate(small, link(1000, 200, usize::MAX), 10.0, 14.0);
    let free = rate(constant(), link(1000, 200, usize::MAX), 10.0, 14.0);
    println!(
        "3 MiB: {limited:.0}, 45 segments: {small:.0}, without limit: {free:.0} bytes a second"
    );
    assert!(
        (0.98..=1.0).contains(&(limited / (most / 0.2))),
        "{limited}"
    );
    assert!(
        (0.98..=1.0).contains(&(small / (45.0 * 1448.0 / 0.2))),
        "{small}"
    );
    assert!(free > 3.0 * limited, "{free}");
}

fn steps(config: Config, link: Link) -> Vec<Step> {
    let mut world = World::new(config, Some(3_000_000), link);
    world.keeps_steps = true;
    world.open();
    assert!(world.run(at(60.0)), "3 MB arrive in a minute");
    world.steps
}

/// What is sent, and when.
fn sent(steps: &[Step]) -> Vec<(Instant, u64)> {
    let mut sent = Vec::new();
    for step in steps {
        for segment in &step.sent {
            sent.push((step.now, segment.sequence));
        }
    }
    sent
}

/// On paths that hold less than half of the most, the window is never the limit: the same segments
/// leave at the same times as with a window without limit, in each slow start, with losses and
/// without.
#[test]
fn a_slow_start_finds_room() {
    let paths = [
        (2, 10, 20),
        (20, 40, 100),
        (20, 200, 1000),
        (50, 100, 100),
        (100, 60, 300),
        (1000, 5, 1000),
    ];
    let starts = [
        (Control::Cubic, SlowStart::HyStart),
        (Control::Cubic, SlowStart::HyStartPlusPlus),
        (Control::Reno, SlowStart::ByBytes),
        (Control::Bbr, SlowStart::HyStart),
    ];
    for (control, slow_start) in starts {
        for (mbit, millis, queue) in paths {
            let grown = Config {
                control,
                slow_start,
                ..Config::linux()
            };
            let free = Config {
                control,
                slow_start,
                ..constant()
            };
            let grown = sent(&steps(grown, link(mbit, millis, queue)));
            let free = sent(&steps(free, link(mbit, millis, queue)));
            let first = grown
                .iter()
                .zip(&free)
                .position(|(one, other)| one != other);
            assert_eq!(
                first, None,
                "{control:?}, {slow_start:?}, {mbit} Mbit/s, {millis} ms"
            );
            assert_eq!(grown.len(), free.len());
        }
    }
}

/// Under losses, reordering and duplicates the end of what is offered moves forward only, and what
/// is sent stays within it.
#[test]
fn the_window_never_shrinks_and_is_kept() {
    let mut harsh = link(20, 40, 100);
    harsh.fate = Box::new(|number, _: &Segment| match number % 97 {
        11 => Fate::Drop,
        23 => Fate::Delay(Duration::from_millis(3)),
        59 => Fate::Duplicate(Duration::from_millis(7)),
        _ => Fate::Deliver,
    });
    let steps = steps(Config::linux(), harsh);
    // 3 MiB need a shift of 6.
    let mut offered = 65_535;
    let mut window = 0;
    let mut highest = 0;
    for step in steps {
        if let Some(told) = step.acknowledgement
            && !told.is_syn()
        {
            let end = told.acknowledgement + (u64::from(told.window) << 6);
            assert!(end >= offered, "{end} after {offered}");
            assert!(told.window >= window, "{} after {window}", told.window);
            offered = end;
            window = told.window;
        }
        for segment in step.sent {
            highest = highest.max(segment.end());
        }
        assert!(highest <= offered, "{highest} of {offered}");
    }
    assert!(window > 2000, "it has grown: {window}");
}

/// Without growth no header tells of a window, and data echoes nothing.
#[test]
fn a_constant_window_is_not_told() {
    for step in steps(constant(), link(20, 40, 100)) {
        assert_eq!(step.acknowledgement.map_or(0, |told| told.window), 0);
        assert!(
            step.sent
                .iter()
                .all(|segment| segment.echo == Instant::ZERO)
        );
    }
}

/// A first flight of 100 segments: 45 of them fit into 65,535 bytes, and the others wait for
/// acknowledgements that offer more. The receiver's own window, which grows before they arrive, does
/// not count.
#[test]
fn the_sender_keeps_what_was_offered_to_it() {
    let config = Config {
        initial_window: 100,
        ..Config::linux()
    };
    let steps = steps(config, link(20, 40, 1000));
    let syn_exchange = steps.iter().position(|step| step.acknowledgement.is_some());
    let first = &steps[syn_exchange.expect("a SYN-ACK")];
    assert_eq!(first.sent.len(), 45);
    let mut offered = 65_535;
    for step in &steps {
        if let Some(told) = step.acknowledgement.filter(|told| !told.is_syn()) {
            offered = told.acknowledgement + (u64::from(told.window) << 6);
        }
        for segment in &step.sent {
            assert!(segment.end() <= offered, "{} of {offered}", segment.end());
        }
    }
}

/// After a silence the window is the initial one again, and slow start leads back to three quarters of
/// what it was: RFC 2861, section 3.2.
#[test]
fn slow_start_after_a_silence_leads_back() {
    let config = Config {
        control: Control::Reno,
        segment_len: 1000,
        initial_threshold: Some(20),
        ..Config::rfc()
    };
    let mut world = World::new(config, Some(400_000), Link::default());
    world.open();
    assert!(world.run(Instant::MAX));
    let before = world.sender.window();
    assert!(before / 4 * 3 > 20_000, "{before}");
    world.now += Duration::from_secs(10);
    world.sender.supply(100_000);
    world.send(None);
    assert_eq!(world.sender.window(), 10_000);
    assert_eq!(world.sender.threshold(), before / 4 * 3);
}

/// RFC 5681 begins anew after any silence of more than a timeout. Linux halves the window for each
/// timeout that has gone by, which RFC 2861, section 3.2, has too.
#[test]
fn a_silence_halves_the_window_of_linux_for_each_timeout() {
    let window_after = |config: Config, timeouts: f64| {
        let config = Config {
            control: Control::Reno,
            segment_len: 1000,
            slow_start: SlowStart::ByBytes,
            ..config
        };
        let mut world = World::new(config, Some(400_000), Link::default());
        world.open();
        assert!(world.run(Instant::MAX));
        let before = world.sender.window();
        assert!((100_000..1_000_000).contains(&before), "{before}");
        let silence = world.sender.timeout().as_secs_f64() * timeouts;
        world.now += Duration::from_nanos((silence * 1e9) as u64);
        world.sender.supply(100_000);
        world.send(None);
        let after = world.sender.window();
        assert_eq!(
            world.sender.threshold().max(before / 4 * 3),
            world.sender.threshold()
        );
        (before / 1000, after / 1000)
    };
    // Less than a timeout has gone by since the last segment was sent.
    for (timeouts, halvings) in [(0.2, 0), (1.2, 1), (2.2, 2), (3.2, 3)] {
        let (before, after) = window_after(Config::linux(), timeouts);
        assert_eq!(after, before >> halvings, "{timeouts} timeouts");
    }
    assert_eq!(window_after(Config::linux(), 40.0).1, 10);
    assert_eq!(window_after(Config::rfc(), 1.5).1, 10);
}
