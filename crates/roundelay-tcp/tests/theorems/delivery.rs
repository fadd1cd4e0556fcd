//! Delivery: all bytes arrive once and in order, whatever the network does; and a sender with data
//! in flight always has a timer.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::{Duration, Instant};
use roundelay_tcp::{
    Config, Control, Flavour, IdleRestart, Offload, PartialTimer, Segment, Sender, SlowStart,
};

use super::link::{Fate, Link, World};

pub(super) const FLAVOURS: [Flavour; 4] = [
    Flavour::Tahoe,
    Flavour::Reno,
    Flavour::NewReno,
    Flavour::Sack,
];

/// A network that drops, marks, duplicates and reorders.
pub(super) fn hostile(seed: u64, harm: f64) -> impl FnMut(u64, &Segment) -> Fate {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    move |_, _| {
        let later = Duration::from_millis(random.random_range(1..40));
        match random.random_bool(harm).then(|| random.random_range(0..6)) {
            None => Fate::Deliver,
            Some(0..3) => Fate::Drop,
            Some(3) => Fate::Mark,
            Some(4) => Fate::Duplicate(later),
            Some(_) => Fate::Delay(later),
        }
    }
}

pub(super) fn random_config(random: &mut Pcg64Mcg) -> Config {
    let mut coin = || random.random_bool(0.5);
    let mut config = Config {
        control: if coin() {
            Control::Cubic
        } else {
            Control::Reno
        },
        limited_transmit: coin(),
        timestamps: coin(),
        delayed_acknowledgement: coin().then(|| Duration::from_millis(100)),
        ecn: coin(),
        pacing: coin(),
        syn_exchange: coin(),
        idle_restart: if coin() {
            IdleRestart::ByHalves
        } else {
            IdleRestart::AtOnce
        },
        window_validation: coin(),
        fast_convergence: coin(),
        partial_deflation: coin(),
        partial_timer: if coin() {
            PartialTimer::First
        } else {
            PartialTimer::Each
        },
        burst_avoidance: coin(),
        header_len: 0,
        min_timeout: Duration::from_millis(200),
        max_timeout: Duration::from_secs(2),
        ..Config::rfc()
    };
    config.flavour = FLAVOURS[random.random_range(0..4)];
    config.segment_len = random.random_range(1..20);
    config.initial_window = random.random_range(1..12);
    config.receive_window = random.random_range(1..60);
    config.duplicate_threshold = random.random_range(1..5);
    config
}

/// Invariants of a sender.
fn check_sender(sender: &Sender, config: &Config) {
    assert!(sender.acknowledged() <= sender.highest());
    assert!(
        sender.highest() - sender.acknowledged()
            <= u64::from(config.receive_window * config.segment_len)
    );
    assert!(sender.window() >= u64::from(config.segment_len));
    assert!(sender.threshold() >= 2 * u64::from(config.segment_len));
    assert!(
        (config.min_timeout..=config.max_timeout.max(Duration::from_secs(3)))
            .contains(&sender.timeout())
    );
}

/// One connection with writes of random length; `arrived` is the oracle, with one flag for each
/// byte.
fn run_one(seed: u64, control: Option<Control>) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut config = random_config(&mut random);
    config.slow_start = [
        SlowStart::UntilLoss,
        SlowStart::HyStartPlusPlus,
        SlowStart::HyStart,
        SlowStart::ByBytes,
    ][seed as usize % 4];
    config.constant_friendliness = seed % 5 < 2;
    config.least_growth = seed % 5 > 2;
    config.whole_segments = seed % 3 > 1;
    config.quick_acknowledgements = seed % 7 < 3;
    config.proportional_reduction = seed % 3 == 1;
    config.timeout_above_round_trip = seed % 4 == 1;
    config.window_growth = config.timestamps && seed % 3 < 2;
    let is_sack = control.is_some() || config.flavour == Flavour::Sack;
    config.rack = is_sack && seed % 5 < 3;
    config.tail_loss_probe = config.rack && seed % 5 < 2;
    if let Some(control) = control {
        config.flavour = Flavour::Sack;
        config.control = control;
        config.ecn = false;
    }
    if config.flavour == Flavour::Sack {
        config.offload =
            [Offload::None, Offload::None, Offload::Split, Offload::Whole][seed as usize % 9 % 4];
    }
    let harm = [0.0, 0.02, 0.1, 0.4][random.random_range(0..4)];
    let mut link = Link {
        fate: Box::new(hostile(seed, harm)),
        fate_back: Box::new(hostile(seed + 1, harm)),
        ..Link::default()
    };
    link.time_per_byte = Duration::from_micros(random.random_range(1..200));
    link.round_trip = Duration::from_millis(random.random_range(1..150));
    let mut world = World::new(config, Some(0), link);
    world.arrived = Some(Vec::new());
    world.open();
    let mut written = 0;
    while written < 2000 || !world.sender.is_done() {
        if written < 2000 && (world.sender.is_done() || random.random_bool(0.1)) {
            let bytes = random.random_range(1..100);
            written += bytes;
            world.sender.supply(bytes);
            world.send(None);
        }
        assert!(
            world.step(Instant::MAX),
            "seed {seed}: nothing is left to happen, and {written} bytes are not delivered: {config:?}"
        );
        check_sender(&world.sender, &config);
        let arrived = world.arrived.as_ref().expect("kept");
        let prefix = arrived
            .iter()
            .position(|byte| !byte)
            .unwrap_or(arrived.len());
        assert_eq!(
            world.receiver.delivered(),
            prefix as u64,
            "seed {seed}: delivered is what has come without a gap"
        );
    }
    assert_eq!(
        (world.receiver.delivered(), world.sender.acknowledged()),
        (written, written),
        "seed {seed}"
    );
}

#[test]
fn all_bytes_arrive_once_and_in_order() {
    for seed in 0..500 {
        run_one(seed, None);
        run_one(seed, Some(Control::Bbr));
        run_one(seed, Some(Control::Bbr3));
    }
}

/// A network that loses thirty acknowledgements in a row: the connection recovers after timeouts.
#[test]
fn blackouts_end() {
    for flavour in FLAVOURS {
        let config = Config {
            flavour,
            ..Config::rfc()
        };
        let fate_back = |number: u64, _: &Segment| {
            if (10..40).contains(&number) {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        };
        let mut world = World::new(
            config,
            Some(300_000),
            Link {
                fate_back: Box::new(fate_back),
                ..Link::default()
            },
        );
        world.open();
        assert!(world.run(Instant::MAX));
        assert_eq!(world.receiver.delivered(), 300_000);
        assert!(world.sender.statistics().timeouts > 0);
    }
}

/// The same calls give the same segments.
#[test]
fn runs_repeat() {
    let run = || {
        let config = Config {
            segment_len: 100,
            ..Config::rfc()
        };
        let link = Link {
            fate: Box::new(hostile(7, 0.1)),
            ..Link::default()
        };
        let mut world = World::new(config, Some(200_000), link);
        world.keeps_steps = true;
        world.open();
        assert!(world.run(Instant::MAX));
        world
            .steps
            .into_iter()
            .flat_map(|step| step.sent)
            .collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

/// Only new data may be marked by queues (RFC 3168, section 6.1.5).
#[test]
fn only_new_data_may_be_marked() {
    let config = Config {
        ecn: true,
        ..Config::rfc()
    };
    let mut world = World::new(
        config,
        Some(300_000),
        Link {
            fate: Box::new(hostile(3, 0.1)),
            ..Link::default()
        },
    );
    world.keeps_steps = true;
    world.open();
    assert!(world.run(Instant::MAX));
    let sent = world.steps.iter().flat_map(|step| &step.sent);
    let may_be_marked = |segment: &Segment| segment.len > 0 && !segment.is_retransmission();
    assert!(
        sent.clone().any(|segment| segment.is_retransmission())
            && sent.clone().any(Segment::is_syn)
    );
    assert!(
        sent.clone()
            .all(|segment| segment.is_ecn_capable() == may_be_marked(segment))
    );
    assert!(
        world
            .steps
            .iter()
            .filter_map(|step| step.acknowledgement)
            .all(|answer| !answer.is_ecn_capable())
    );
}

/// Old acknowledgements, and acknowledgements of data never sent, have no effect.
#[test]
fn nonsense_is_ignored_and_counted() {
    let config = Config {
        syn_exchange: false,
        ..Config::rfc()
    };
    let mut sender = Sender::new(config, Some(100_000)).expect("legal");
    let reply = |number| Segment {
        acknowledgement: number,
        ..Segment::default()
    };
    sender.on_segment(Instant::ZERO, &reply(0));
    sender.open(Instant::ZERO);
    let sent = std::iter::from_fn(|| sender.poll(Instant::ZERO)).count();
    assert_eq!(sent, 10);
    sender.on_segment(Instant::ZERO, &reply(14_481));
    sender.on_segment(Instant::ZERO, &reply(u64::MAX));
    sender.on_segment(Instant::ZERO, &reply(2896));
    sender.on_segment(Instant::ZERO, &reply(1448));
    assert_eq!(
        (sender.acknowledged(), sender.statistics().ignored),
        (2896, 3)
    );
}
