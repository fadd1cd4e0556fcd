//! LEDBAT: what RFC 6817 claims, on a link of a megabyte a second with a round trip of 100 ms.

use roundelay::{Duration, Instant};
use roundelay_tcp::{Config, CongestionControl, Control, CustomControl, Feedback, Segment, Sender};

use super::link::{Fate, Link, World};

const SEGMENT: u64 = 1000;
const ROUND_TRIP: Duration = Duration::from_millis(100);

fn config(control: Control, target_millis: u64, gain: u32) -> Config {
    Config {
        control,
        ledbat_target: Duration::from_millis(target_millis),
        ledbat_gain: gain,
        segment_len: SEGMENT as u32,
        header_len: 0,
        bare_len: 40,
        initial_window: 2,
        delayed_acknowledgement: None,
        granularity: Duration::from_micros(1),
        min_timeout: Duration::from_millis(200),
        ..Config::rfc()
    }
}

fn opened(config: Config, link: Link) -> World {
    let mut world = World::new(config, None, link);
    world.open();
    world
}

/// The mean delay that queues add from 60 to 120 s, in milliseconds.
fn added_delay(config: Config) -> f64 {
    let mut world = opened(config, Link::default());
    let mut sum = 0.0;
    for tick in 0..1200_u64 {
        let until = Instant::ZERO + Duration::from_millis(100 * tick);
        while world.now < until && world.step(Instant::MAX) {}
        if tick >= 600 {
            let round_trip = world.sender.round_trip().expect("a round trip");
            sum += (round_trip - ROUND_TRIP.min(round_trip)).as_secs_f64() * 1e3;
        }
    }
    sum / 600.0
}

/// Section 2.1, goals 1 and 2: the delay that a lone flow adds is the target, and its link is busy.
#[test]
fn the_delay_that_it_adds_is_the_target() {
    for (target, gain) in [(5, 1), (25, 1), (100, 1), (25, 10)] {
        let delay = added_delay(config(Control::Ledbat, target, gain));
        let ratio = delay / target as f64;
        println!("target {target} ms, gain {gain}: {delay:.2} ms");
        assert!((0.7..1.3).contains(&ratio), "{target}, {gain}: {delay}");
    }
    // Seven milliseconds of the link are 7 segments: with a gain of 10 the window overshoots.
    let delay = added_delay(config(Control::Ledbat, 5, 10));
    assert!((1.0..20.0).contains(&delay), "{delay}");
    let of_reno = added_delay(config(Control::Reno, 25, 1));
    assert!(of_reno > 500.0, "Reno fills any queue: {of_reno}");
}

/// The windows each 100 ms, over ten seconds without loss, in an endless link.
fn windows(config: Config, control: Option<CustomControl>) -> Vec<u64> {
    let link = Link {
        time_per_byte: Duration::from_picos(1),
        ..Link::default()
    };
    let mut world = World::new(config, None, link);
    if let Some(control) = control {
        world.sender = Sender::with_control(config, None, control).expect("a legal configuration");
    }
    world.open();
    let mut windows = Vec::new();
    for tick in 0..70_u64 {
        let until = Instant::ZERO + Duration::from_millis(100 * tick);
        while world.now < until && world.step(Instant::MAX) {}
        windows.push(world.sender.window());
    }
    windows
}

/// By how many segments the first windows are ahead of the others, at most.
fn ahead(windows: &[u64], others: &[u64]) -> u64 {
    let pairs = windows.iter().zip(others);
    let ahead = pairs.map(|(window, other)| window.saturating_sub(*other));
    ahead.max().unwrap_or(0) / SEGMENT
}

/// Adds two segments with each acknowledgement: twice slow start.
struct Eager;

impl CongestionControl for Eager {
    fn on_ack(&mut self, feedback: &Feedback) -> u64 {
        feedback.window + 2 * feedback.segment_len
    }

    fn on_loss(&mut self, feedback: &Feedback) -> u64 {
        feedback.window / 2
    }
}

/// Section 2.4.2: with a gain of 1, an idle path lets the window grow as Reno's in congestion
/// avoidance. A gain of 10 breaks that, and a control that adds two segments an acknowledgement
/// breaks the bound for any gain, slow start (ALLOWED_INCREASE).
#[test]
fn it_grows_no_faster_than_reno_and_with_any_gain_no_faster_than_slow_start() {
    let reno = Config {
        initial_threshold: Some(2),
        ..config(Control::Reno, 100, 1)
    };
    let reno = windows(reno, None);
    let gentle = windows(config(Control::Ledbat, 100, 1), None);
    assert_eq!(ahead(&gentle, &reno), 0);
    // It grows by less than a segment in a round trip, because the window does while it is added to.
    assert!(ahead(&reno, &gentle) <= 8, "nearly as fast: {gentle:?}");
    let eager = windows(config(Control::Ledbat, 100, 10), None);
    assert!(ahead(&eager, &reno) > 10, "{eager:?}");

    let slow_start = windows(config(Control::Reno, 100, 1), None);
    assert_eq!(ahead(&eager, &slow_start), 0);
    let planted = CustomControl::new("eager", |_| Eager);
    let planted = windows(config(Control::Reno, 100, 1), Some(planted));
    assert!(ahead(&planted[..6], &slow_start) > 10, "{planted:?}");
}

/// The window before the loss of a segment at 20 s, and once it is repaired.
fn around_a_loss(control: Control) -> [u64; 2] {
    let mut is_lost = false;
    let at = 12_000 * SEGMENT;
    let fate = move |_, segment: &Segment| {
        if !is_lost && segment.sequence >= at {
            is_lost = true;
            return Fate::Drop;
        }
        Fate::Deliver
    };
    let link = Link {
        fate: Box::new(fate),
        ..Link::default()
    };
    let limited = Config {
        receive_window: 150,
        ..config(control, 25, 1)
    };
    let mut world = opened(limited, link);
    let mut before = 0;
    while world.sender.acknowledged() < at + 400 * SEGMENT && world.step(Instant::MAX) {
        if world.sender.acknowledged() < at {
            before = world.sender.window();
        }
        if world.sender.acknowledged() > at + 200 * SEGMENT {
            return [before, world.sender.window()];
        }
    }
    panic!("the loss was not repaired");
}

/// Section 2.4.2: a loss halves the window, at most once a round trip. CUBIC keeps more.
#[test]
fn a_loss_halves_the_window() {
    let [before, after] = around_a_loss(Control::Ledbat);
    let half = before / 2;
    assert!(before > 100 * SEGMENT, "{before}");
    assert!(
        (half..half + 4 * SEGMENT).contains(&after),
        "{before}, {after}"
    );
    let [before, after] = around_a_loss(Control::Cubic);
    assert!(after > before / 2 + 4 * SEGMENT, "{before}, {after}");
}
