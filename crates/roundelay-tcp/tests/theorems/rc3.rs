//! RC3: the tail of a flow, sent beside the usual loop.

use rand::{RngExt, SeedableRng};
use roundelay::{Duration, Instant};
use roundelay_tcp::rc3::Tail;
use roundelay_tcp::{Config, Control, Flags, Flavour, Segment, Sender};

use super::link::{Fate, Link, World};

fn config() -> Config {
    Config {
        control: Control::Reno,
        segment_len: 1000,
        header_len: 0,
        initial_window: 4,
        delayed_acknowledgement: None,
        syn_exchange: false,
        min_timeout: Duration::from_millis(300),
        ..Config::rfc()
    }
}

/// A link with 1 us for each segment and a round trip of 100 ms.
fn fast(fate: impl FnMut(u64, &Segment) -> Fate + 'static) -> Link {
    Link {
        time_per_byte: Duration::from_nanos(1),
        round_trip: Duration::from_millis(100),
        fate: Box::new(fate),
        ..Link::default()
    }
}

fn run(segments: u64, tail: Option<Tail>, link: Link) -> World {
    let mut world = World::new(config(), Some(segments * 1000), link);
    world.tail = tail;
    world.open();
    assert!(world.run(Instant::MAX));
    assert_eq!(world.receiver.delivered(), segments * 1000);
    world
}

fn is_tail(segment: &Segment) -> bool {
    segment.flags.has(Flags::OUT_OF_BAND)
}

#[test]
fn priorities_follow_the_distance_from_the_end() {
    let (mut sender, mut tail) = (
        Sender::new(config(), Some(4_999_500)).expect("legal"),
        Tail::default(),
    );
    assert!(tail.poll(Instant::ZERO, &mut sender).is_none(), "not open");
    sender.open(Instant::ZERO);
    assert_eq!(std::iter::from_fn(|| sender.poll(Instant::ZERO)).count(), 4);
    let sent: Vec<_> = std::iter::from_fn(|| tail.poll(Instant::ZERO, &mut sender)).collect();
    assert_eq!(sent.len(), 5000 - 4);
    let count = |level| {
        sent.iter()
            .filter(|(_, priority)| *priority == level)
            .count()
    };
    assert_eq!([0, 1, 2, 3, 4, 5].map(count), [0, 40, 400, 4000, 556, 0]);
    assert_eq!(
        (sent[0].0.sequence, sent[0].0.len, sent[1].0.sequence),
        (4_999_000, 500, 4_998_000)
    );
    assert!(
        sent.windows(2)
            .all(|pair| pair[0].1 <= pair[1].1 && pair[1].0.end() == pair[0].0.sequence)
    );
    assert_eq!(
        sent[4995].0.sequence, 4000,
        "up to what the window has sent"
    );
}

/// Segments of the tail end at segment boundaries, and never overlap data sent by the window.
#[test]
fn a_tail_stops_where_the_window_is() {
    let (mut sender, mut tail) = (
        Sender::new(config(), Some(500)).expect("legal"),
        Tail::default(),
    );
    sender.open(Instant::ZERO);
    assert!(sender.poll(Instant::ZERO).is_some());
    sender.supply(10_000);
    while sender.poll(Instant::ZERO).is_some() {}
    let sent: Vec<_> = std::iter::from_fn(|| tail.poll(Instant::ZERO, &mut sender))
        .map(|(segment, _)| segment.sequence)
        .collect();
    assert_eq!(sent, [10_000, 9000, 8000, 7000, 6000, 5000, 4000, 3500]);
}

#[test]
fn an_empty_path_takes_a_round_trip() {
    let world = run(1000, Some(Tail::default()), fast(|_, _| Fate::Deliver));
    assert!(
        world.now < Instant::ZERO + Duration::from_millis(102),
        "{}",
        world.now
    );
    // The first four acknowledgements arrive before those of the tail, and each lets two more
    // segments go, without effect.
    assert_eq!(
        (
            world.sender.statistics().segments,
            world.receiver.statistics().duplicate_bytes
        ),
        (12, 0)
    );
    // Without a tail: 4, 8, 16 .. segments each round trip.
    let world = run(1000, None, fast(|_, _| Fate::Deliver));
    assert!(
        world.now > Instant::ZERO + Duration::from_millis(800),
        "{}",
        world.now
    );
}

#[test]
fn a_lost_tail_costs_nothing() {
    let lossy = run(
        1000,
        Some(Tail::default()),
        fast(|_, segment| {
            if is_tail(segment) {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        }),
    );
    let plain = run(1000, None, fast(|_, _| Fate::Deliver));
    assert_eq!(lossy.sender.statistics().retransmissions, 0);
    // Segments of the tail in transmission delay others by a microsecond.
    assert!(
        lossy.now.since(plain.now) < Duration::from_micros(50),
        "{} {}",
        lossy.now,
        plain.now
    );
}

/// Half of the tail is lost: the window sends this half, without any loss detected.
#[test]
fn holes_in_the_tail_are_filled() {
    let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(5);
    let world = run(
        1000,
        Some(Tail::default()),
        fast(move |_, s| {
            if is_tail(s) && random.random_bool(0.5) {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        }),
    );
    let (sender, receiver) = (world.sender.statistics(), world.receiver.statistics());
    assert_eq!((sender.retransmissions, sender.fast_retransmits), (0, 0));
    assert!(
        receiver.duplicate_bytes <= 8000,
        "only what went before the tail was acknowledged: {}",
        receiver.duplicate_bytes
    );
    assert!((450..560).contains(&sender.segments), "{}", sender.segments);
}

/// The window overtakes a tail that arrives late: no segment counts as lost.
#[test]
fn a_late_tail_tells_of_no_losses() {
    let late = |_, segment: &Segment| {
        if is_tail(segment) {
            Fate::Delay(Duration::from_millis(350))
        } else {
            Fate::Deliver
        }
    };
    let world = run(200, Some(Tail::default()), fast(late));
    assert_eq!(
        (
            world.sender.statistics().retransmissions,
            world.sender.statistics().fast_retransmits
        ),
        (0, 0)
    );
    assert!(world.receiver.statistics().duplicate_bytes > 0);
}

#[test]
fn all_bytes_arrive_whatever_is_lost() {
    for seed in 0..200 {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
        let (tail_loss, loss) = (
            random.random_range(0.0..1.0),
            [0.0, 0.01, 0.1][random.random_range(0..3)],
        );
        let segments = random.random_range(1..300);
        let mut fate = move |segment: &Segment| match random.random_bool(if is_tail(segment) {
            tail_loss
        } else {
            loss
        }) {
            true => Fate::Drop,
            false if random.random_bool(0.1) => {
                Fate::Delay(Duration::from_millis(random.random_range(1..400)))
            }
            false => Fate::Deliver,
        };
        let mut link = fast(move |_, segment| fate(segment));
        link.time_per_byte = Duration::from_nanos([1, 100, 1000][seed as usize % 3]);
        let world = run(segments, Some(Tail::new([3, 9, 27])), link);
        assert!(world.sender.is_done(), "seed {seed}");
    }
}

/// Flows without the preconditions have no tail.
#[test]
fn a_tail_needs_an_end_and_selective_acknowledgements() {
    for (config, bytes) in [
        (config(), None),
        (
            Config {
                flavour: Flavour::NewReno,
                ..config()
            },
            Some(100_000),
        ),
        (config(), Some(100_000_000)),
    ] {
        let (mut sender, mut tail) = (Sender::new(config, bytes).expect("legal"), Tail::default());
        sender.open(Instant::ZERO);
        while sender.poll(Instant::ZERO).is_some() {}
        assert!(tail.poll(Instant::ZERO, &mut sender).is_none());
    }
}
