//! Congestion controls from outside the crate: a Reno written here sends the segments of the
//! built-in one, on the same network at the same times.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::{Duration, Instant};
use roundelay_tcp::{
    Config, CongestionControl, Control, Cubic, CustomControl, Feedback, Flavour, MAX_WINDOW, Reno,
    Segment, Sender,
};

use super::delivery::{FLAVOURS, hostile, random_config};
use super::link::{Fate, Link, World};

/// RFC 5681 without a look at the built-in Reno: slow start by equation 2, a segment more for each
/// window of acknowledged data, half of the flight on losses.
#[derive(Default)]
struct OwnReno {
    towards_next: u64,
}

impl CongestionControl for OwnReno {
    fn on_ack(&mut self, feedback: &Feedback) -> u64 {
        let Feedback {
            window,
            threshold,
            acknowledged,
            segment_len,
            ..
        } = *feedback;
        if window < threshold {
            return window + acknowledged.min(segment_len);
        }
        self.towards_next += acknowledged;
        let is_full = self.towards_next >= window;
        self.towards_next -= if is_full { window } else { 0 };
        window + if is_full { segment_len } else { 0 }
    }

    fn on_loss(&mut self, feedback: &Feedback) -> u64 {
        self.towards_next = 0;
        (feedback.in_flight / 2).max(2 * feedback.segment_len)
    }
}

/// As [`OwnReno`], but a segment more at a window one byte later.
struct LateReno(OwnReno);

impl CongestionControl for LateReno {
    fn on_ack(&mut self, feedback: &Feedback) -> u64 {
        self.0.on_ack(&Feedback {
            window: feedback.window + 1,
            ..*feedback
        }) - 1
    }

    fn on_loss(&mut self, feedback: &Feedback) -> u64 {
        self.0.on_loss(feedback)
    }
}

/// Segments with their times, of 60,000 bytes over a hostile network.
fn segments(config: Config, control: Option<CustomControl>, seed: u64) -> Vec<(Instant, Segment)> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let harm = [0.0, 0.01, 0.05, 0.2][random.random_range(0..4)];
    let mut link = Link {
        fate: Box::new(hostile(seed, harm)),
        fate_back: Box::new(hostile(seed + 1, harm)),
        ..Link::default()
    };
    link.time_per_byte = Duration::from_micros(random.random_range(1..100));
    let bytes = 1000 * u64::from(config.segment_len);
    let mut world = World::new(config, Some(bytes), link);
    if let Some(control) = control {
        world.sender =
            Sender::with_control(config, Some(bytes), control).expect("a legal configuration");
    }
    world.keeps_steps = true;
    world.open();
    assert!(world.run(Instant::MAX), "seed {seed}");
    world
        .steps
        .iter()
        .flat_map(|step| step.sent.iter().map(|segment| (step.now, *segment)))
        .collect()
}

fn own_reno() -> CustomControl {
    CustomControl::new("own reno", |_| OwnReno::default())
}

#[test]
fn a_reno_from_outside_sends_the_segments_of_the_built_in_one() {
    let mut random = Pcg64Mcg::seed_from_u64(5);
    let (mut late_differs, mut reduced) = (0, 0);
    for seed in 0..200 {
        let config = Config {
            control: Control::Reno,
            receive_window: 100,
            ..random_config(&mut random)
        };
        let native = segments(config, None, seed);
        reduced += u32::from(
            native
                .iter()
                .any(|(_, segment)| segment.is_retransmission()),
        );
        // The configuration's own law has no effect.
        let config = Config {
            control: Control::Cubic,
            ..config
        };
        assert_eq!(
            segments(config, Some(own_reno()), seed),
            native,
            "seed {seed}: {config:?}"
        );
        let late = CustomControl::new("late", |_| LateReno(OwnReno::default()));
        late_differs += u32::from(segments(config, Some(late), seed) != native);
    }
    assert!(
        reduced > 100 && late_differs > 20,
        "{reduced} runs with losses, {late_differs} show one byte's difference"
    );
}

#[test]
fn built_in_laws_are_the_same_through_the_trait() {
    let mut random = Pcg64Mcg::seed_from_u64(6);
    for seed in 0..100 {
        let config = Config {
            receive_window: 100,
            ..random_config(&mut random)
        };
        let boxed = match config.control {
            Control::Bbr | Control::Bbr3 | Control::Ledbat => {
                unreachable!("random configurations have a law of the trait")
            }
            Control::Reno => CustomControl::new("reno", |_| Reno::default()),
            Control::Cubic => CustomControl::new("cubic", Cubic::new),
        };
        assert_eq!(
            segments(config, Some(boxed), seed),
            segments(config, None, seed),
            "seed {seed}: {config:?}"
        );
    }
}

/// A call with its feedback.
type Calls = Arc<Mutex<Vec<(&'static str, Feedback)>>>;

struct Recorder(Calls, OwnReno);

impl Recorder {
    fn control(calls: &Calls) -> CustomControl {
        let calls = Arc::clone(calls);
        CustomControl::new("recorder", move |_| {
            Self(Arc::clone(&calls), OwnReno::default())
        })
    }

    fn note(&self, call: &'static str, feedback: &Feedback) {
        self.0.lock().expect("one thread").push((call, *feedback));
    }
}

impl CongestionControl for Recorder {
    fn on_ack(&mut self, feedback: &Feedback) -> u64 {
        self.note("ack", feedback);
        self.1.on_ack(feedback)
    }

    fn on_limited(&mut self, feedback: &Feedback) {
        self.note("limited", feedback);
    }

    fn on_loss(&mut self, feedback: &Feedback) -> u64 {
        self.note("loss", feedback);
        self.1.on_loss(feedback)
    }

    fn on_mark(&mut self, feedback: &Feedback) -> u64 {
        self.note("mark", feedback);
        self.1.on_mark(feedback)
    }

    fn on_timeout(&mut self, feedback: &Feedback) -> u64 {
        self.note("timeout", feedback);
        self.1.on_timeout(feedback)
    }
}

fn plain(flavour: Flavour) -> Config {
    Config {
        flavour,
        segment_len: 1000,
        header_len: 0,
        granularity: Duration::from_micros(1),
        delayed_acknowledgement: None,
        syn_exchange: false,
        ..Config::rfc()
    }
}

/// The first window has ten segments of 1 ms, and the first acknowledgement comes after 100 ms.
#[test]
fn the_feedback_of_the_first_acknowledgement() {
    for flavour in FLAVOURS {
        let (calls, config) = (Calls::default(), plain(flavour));
        let mut world = World::new(config, None, Link::default());
        world.sender =
            Sender::with_control(config, None, Recorder::control(&calls)).expect("legal");
        world.open();
        world.run(Instant::ZERO + Duration::from_micros(100_500));
        let round_trip = Some(Duration::from_millis(100));
        let expected = Feedback {
            now: Instant::ZERO + Duration::from_millis(100),
            window: 10_000,
            threshold: 45_000_000,
            segment_len: 1000,
            acknowledged: 1000,
            in_flight: 9000,
            round_trip,
            smoothed_round_trip: round_trip,
        };
        assert_eq!(
            *calls.lock().expect("one thread"),
            [("ack", expected)],
            "{flavour:?}"
        );
    }
}

/// Names of the calls, each run of equal ones once.
fn called(calls: &Calls) -> Vec<&'static str> {
    let mut names: Vec<_> = calls
        .lock()
        .expect("one thread")
        .iter()
        .map(|(name, _)| *name)
        .collect();
    names.dedup();
    names
}

/// A loss of segment 30, a blackout from segment 200 on and a mark, each alone, and a write of
/// single segments that leaves the window unused.
#[test]
fn losses_marks_timeouts_and_unused_windows_are_told_apart() {
    let run = |fate: fn(u64) -> Fate, segments: u64, ecn: bool| {
        let (calls, config) = (
            Calls::default(),
            Config {
                ecn,
                ..plain(Flavour::Sack)
            },
        );
        let mut world = World::new(
            config,
            Some(segments * 1000),
            Link {
                fate: Box::new(move |number, _| fate(number)),
                ..Link::default()
            },
        );
        world.sender =
            Sender::with_control(config, Some(segments * 1000), Recorder::control(&calls))
                .expect("legal");
        world.open();
        assert!(world.run(Instant::MAX));
        (called(&calls), calls.lock().expect("one thread").clone())
    };
    let (names, calls) = run(
        |number| {
            if number == 30 {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        },
        200,
        false,
    );
    assert_eq!(names, ["ack", "loss", "ack", "limited"]);
    let loss = calls
        .iter()
        .find(|(name, _)| *name == "loss")
        .expect("one")
        .1;
    assert_eq!(
        (loss.acknowledged, loss.round_trip, loss.in_flight % 1000),
        (0, None, 0)
    );
    assert_eq!(
        run(
            |number| if number == 30 {
                Fate::Mark
            } else {
                Fate::Deliver
            },
            200,
            true
        )
        .0,
        ["ack", "mark", "limited", "ack", "limited"]
    );
    let (names, calls) = run(
        |number| {
            if (20..60).contains(&number) {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        },
        200,
        false,
    );
    assert!(names.starts_with(&["ack", "timeout", "ack"]), "{names:?}");
    assert_eq!(
        calls.iter().filter(|(name, _)| *name == "timeout").count(),
        1,
        "not at the timeouts that follow at once"
    );
    assert_eq!(run(|_| Fate::Deliver, 1, false).0, ["limited"]);
}

/// Results out of range.
struct Wild(u64);

impl CongestionControl for Wild {
    fn on_ack(&mut self, _: &Feedback) -> u64 {
        self.0
    }

    fn on_loss(&mut self, _: &Feedback) -> u64 {
        self.0
    }
}

#[test]
fn results_out_of_range_are_brought_into_range() {
    for (result, expected) in [(0, 1000), (999, 1000), (1001, 1001), (u64::MAX, MAX_WINDOW)] {
        let config = plain(Flavour::NewReno);
        let fate = |number: u64, _: &Segment| {
            if number % 50 == 49 {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        };
        let mut world = World::new(
            config,
            Some(500_000),
            Link {
                fate: Box::new(fate),
                ..Link::default()
            },
        );
        world.sender = Sender::with_control(
            config,
            Some(500_000),
            CustomControl::new("wild", move |_| Wild(result)),
        )
        .expect("legal");
        world.open();
        world.run(Instant::ZERO + Duration::from_millis(150));
        assert_eq!(world.sender.window(), expected);
        assert!(
            world.run(Instant::MAX),
            "{result}: no connection stands still"
        );
        assert_eq!(world.sender.threshold(), expected);
    }
}

/// Instances are made at the first call: one for each connection, also for copies.
#[test]
fn each_connection_has_an_instance() {
    let made = Arc::new(AtomicU64::new(0));
    let control = CustomControl::new("counted", {
        let made = Arc::clone(&made);
        move |config| {
            assert_eq!(config.segment_len, 1000);
            made.fetch_add(1, Relaxed);
            OwnReno::default()
        }
    });
    let prototype =
        Sender::with_control(plain(Flavour::Sack), Some(5000), control.clone()).expect("legal");
    let acknowledge = |sender: &mut Sender| {
        sender.open(Instant::ZERO);
        while sender.poll(Instant::ZERO).is_some() {}
        sender.on_segment(
            Instant::ZERO + Duration::from_millis(1),
            &Segment {
                acknowledgement: 1000,
                ..Segment::default()
            },
        );
    };
    let mut copies = [prototype.clone(), prototype.clone()];
    assert_eq!(made.load(Relaxed), 0);
    copies.iter_mut().for_each(acknowledge);
    assert_eq!(made.load(Relaxed), 2);
    assert!(
        control == control.clone()
            && control != own_reno()
            && format!("{control:?}").contains("counted")
    );
}
