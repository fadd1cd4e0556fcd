//! Acknowledgements of a receiver: selective blocks, timestamps, marks, and delays.

use roundelay::{Duration, Instant};
use roundelay_tcp::{Config, Flags, Receiver, Segment};

fn receiver(config: Config) -> Receiver {
    Receiver::new(Config {
        segment_len: 500,
        ..config
    })
    .expect("legal")
}

fn data(sequence: u64) -> Segment {
    Segment {
        sequence,
        len: 500,
        ..Segment::default()
    }
}

/// The examples of RFC 2018, section 4, with numbers from 0 instead of 5000: the segment, the
/// acknowledgement, the blocks.
#[test]
fn blocks_are_those_of_rfc_2018() {
    type Step = (u64, u64, &'static [(u64, u64)]);
    let first_lost: &[Step] = &[
        (500, 0, &[(500, 1000)]),
        (1000, 0, &[(500, 1500)]),
        (1500, 0, &[(500, 2000)]),
        (2000, 0, &[(500, 2500)]),
    ];
    let every_second_lost: &[Step] = &[
        (0, 500, &[]),
        (1000, 500, &[(1000, 1500)]),
        (2000, 500, &[(2000, 2500), (1000, 1500)]),
        (3000, 500, &[(3000, 3500), (2000, 2500), (1000, 1500)]),
        (1500, 500, &[(1000, 2500), (3000, 3500)]),
        (500, 2500, &[(3000, 3500)]),
    ];
    for steps in [first_lost, every_second_lost] {
        let mut receiver = receiver(Config::rfc());
        // The first segment of the RFC's example follows others in order: no delay.
        for (sequence, acknowledgement, blocks) in steps {
            let mut answer = receiver.on_segment(Instant::ZERO, &data(*sequence), false);
            answer = answer.or_else(|| {
                receiver.on_timer(receiver.timer().expect("an acknowledgement is held back"))
            });
            let answer = answer.expect("an acknowledgement");
            assert_eq!(answer.acknowledgement, *acknowledgement);
            assert_eq!(
                answer.selective().collect::<Vec<_>>(),
                *blocks,
                "after {sequence}"
            );
        }
    }
}

/// Three blocks fit; of more blocks, those changed last are sent.
#[test]
fn the_latest_blocks_are_told() {
    let mut receiver = receiver(Config::rfc());
    let latest = [1000, 2000, 3000, 4000, 1500]
        .map(|sequence| receiver.on_segment(Instant::ZERO, &data(sequence), false));
    let blocks: Vec<_> = latest[3].expect("out of order").selective().collect();
    assert_eq!(blocks, [(4000, 4500), (3000, 3500), (2000, 2500)]);
    let blocks: Vec<_> = latest[4].expect("out of order").selective().collect();
    assert_eq!(blocks, [(1000, 2500), (4000, 4500), (3000, 3500)]);
}

/// RFC 7323, section 4.3: segments acknowledged together echo the first timestamp (A), segments
/// after a gap the last timestamp in order (B), and a segment that fills a gap its own (C).
#[test]
fn timestamps_come_back_as_rfc_7323_says() {
    let at = |sequence, second| Segment {
        timestamp: Instant::ZERO + Duration::from_secs(second),
        ..data(sequence)
    };
    let mut receiver = receiver(Config::rfc());
    let mut echo = |sequence, second| {
        let answer = receiver.on_segment(Instant::ZERO, &at(sequence, second), false)?;
        Some(answer.echo.as_picos() / 1_000_000_000_000)
    };
    assert_eq!((echo(0, 1), echo(500, 2)), (None, Some(1)));
    assert_eq!((echo(1000, 3), echo(2000, 4)), (None, Some(3)));
    assert_eq!(echo(2500, 5), Some(3));
    assert_eq!(echo(1500, 6), Some(6));
}

#[test]
fn every_second_segment_is_acknowledged_and_none_waits_long() {
    let mut receiver = receiver(Config::rfc());
    assert_eq!(receiver.on_segment(Instant::ZERO, &data(0), false), None);
    assert_eq!(
        receiver.timer(),
        Some(Instant::ZERO + Duration::from_millis(200))
    );
    assert!(
        receiver
            .on_segment(Instant::from_nanos(1), &data(500), false)
            .is_some_and(|answer| answer.acknowledgement == 1000)
    );
    assert_eq!(receiver.timer(), None);
    assert_eq!(
        receiver.on_segment(Instant::from_nanos(2), &data(1000), false),
        None
    );
    assert_eq!(receiver.on_timer(Instant::from_nanos(3)), None, "too early");
    assert!(
        receiver
            .on_timer(Instant::ZERO + Duration::from_secs(1))
            .is_some_and(|answer| answer.acknowledgement == 1500)
    );
    assert!(
        receiver
            .on_segment(Instant::from_nanos(4), &data(0), false)
            .is_some(),
        "what comes again is acknowledged at once"
    );
    assert_eq!(receiver.statistics().duplicate_bytes, 500);
}

/// RFC 3168, section 6.1.3.
#[test]
fn a_mark_is_told_until_the_window_was_reduced() {
    let config = Config {
        ecn: true,
        delayed_acknowledgement: None,
        ..Config::rfc()
    };
    let mut receiver = receiver(config);
    let told = |receiver: &mut Receiver, segment: &Segment, marked| {
        receiver
            .on_segment(Instant::ZERO, segment, marked)
            .expect("each is acknowledged")
            .flags
            .has(Flags::ECE)
    };
    let reduced = Segment {
        flags: Flags::CWR,
        ..data(1500)
    };
    let marks = [
        (data(0), false),
        (data(500), true),
        (data(1000), false),
        (reduced, false),
        (
            Segment {
                sequence: 2000,
                ..reduced
            },
            true,
        ),
    ];
    assert_eq!(
        marks.map(|(segment, marked)| told(&mut receiver, &segment, marked)),
        [false, true, true, false, true]
    );
    let mut deaf = self::receiver(Config {
        ecn: false,
        ..config
    });
    assert!(!told(&mut deaf, &data(0), true));
}

#[test]
fn what_lies_beyond_the_window_is_dropped_and_counted() {
    let mut receiver = receiver(Config {
        receive_window: 3,
        ..Config::rfc()
    });
    let answer = receiver
        .on_segment(Instant::ZERO, &data(1001), false)
        .expect("an acknowledgement");
    assert_eq!(
        (
            answer.acknowledgement,
            answer.selective().count(),
            receiver.statistics().outside_window
        ),
        (0, 0, 1)
    );
    assert!(
        receiver
            .on_segment(Instant::ZERO, &data(u64::MAX), false)
            .is_some_and(|answer| answer.acknowledgement == 0)
    );
}

/// How many segments each acknowledgement tells of. Before the segments of `pauses` nothing comes for
/// a second.
fn acknowledged_together(config: Config, count: u64, pauses: &[u64]) -> Vec<u64> {
    let mut receiver = receiver(config);
    let (mut now, mut told, mut together) = (Instant::ZERO, 0, Vec::new());
    for number in 0..count {
        now += Duration::from_millis(1);
        if pauses.contains(&number) {
            now += Duration::from_secs(1);
        }
        let due = receiver.timer().is_some_and(|timer| timer <= now);
        let late = due.then(|| receiver.on_timer(now)).flatten();
        let answer = receiver.on_segment(now, &data(number * 500), false);
        for acknowledgement in late.into_iter().chain(answer) {
            together.push((acknowledgement.acknowledgement - told) / 500);
            told = acknowledgement.acknowledgement;
        }
    }
    together
}

/// What Linux's receiver does in `peers/tcp/capture.pcap.gz`: sixteen by one, eight by two, more
/// than a hundred by one while its window grows, then by two.
#[test]
fn quick_acknowledgements_are_linux_s() {
    let all = acknowledged_together(Config::linux(), 300, &[]);
    let expected: Vec<u64> = [(1, 16), (2, 8), (1, 128), (2, 70)]
        .into_iter()
        .flat_map(|(segments, times)| vec![segments; times])
        .collect();
    assert_eq!(all, expected);
    let slow = Config {
        quick_acknowledgements: false,
        ..Config::linux()
    };
    assert_eq!(acknowledged_together(slow, 300, &[]), [2; 150]);
    let each = Config {
        delayed_acknowledgement: None,
        ..Config::linux()
    };
    assert_eq!(acknowledged_together(each, 300, &[]), [1; 300]);
}

/// After a pause, as before each chunk of a video, sixteen come by one again.
#[test]
fn a_pause_brings_quick_acknowledgements_back() {
    let all = acknowledged_together(Config::linux(), 300, &[200]);
    let behind = &all[16 + 8 + 128 + 20..];
    assert_eq!(behind[..16], [1; 16]);
    assert_eq!(behind[16..18], [2; 2]);
}
