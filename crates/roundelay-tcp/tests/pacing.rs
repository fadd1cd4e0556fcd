//! Pacing: gaps between segments.

use roundelay::{Duration, Instant};
use roundelay_tcp::{Config, Control, Flags, Segment, Sender, State};

const LEN: u64 = 1000;
const ROUND_TRIP: Duration = Duration::from_millis(100);

/// A sender of 1000-byte segments with a measured round trip of 100 ms and the first ten segments
/// acknowledged.
fn sender(threshold: u32) -> Sender {
    let config = Config {
        control: Control::Reno,
        segment_len: LEN as u32,
        initial_threshold: Some(threshold),
        syn_exchange: false,
        timestamps: false,
        pacing: true,
        granularity: Duration::from_micros(1),
        ..Config::rfc()
    };
    let mut sender = Sender::new(config, None).expect("legal");
    sender.open(Instant::ZERO);
    let first: Vec<_> = std::iter::from_fn(|| sender.poll(Instant::ZERO)).collect();
    assert_eq!(
        first.len(),
        10,
        "no round trip is known yet: nothing to pace by"
    );
    let acknowledgement = Segment {
        acknowledgement: 10 * LEN,
        flags: Flags::ACK,
        ..Segment::default()
    };
    sender.on_segment(Instant::ZERO + ROUND_TRIP, &acknowledgement);
    assert_eq!(sender.round_trip(), Some(ROUND_TRIP));
    sender
}

/// Departure times of the next segments, each as soon as the sender allows.
fn departures(sender: &mut Sender, segments: usize) -> Vec<Instant> {
    let mut now = Instant::ZERO + ROUND_TRIP;
    let mut departures = Vec::new();
    while departures.len() < segments {
        match sender.poll(now) {
            Some(_) => departures.push(now),
            None => {
                now = sender
                    .timer()
                    .filter(|timer| *timer > now)
                    .expect("it will send more")
            }
        }
    }
    departures
}

/// In slow start twice a window a round trip, later six fifths of one: gaps are a half and five
/// sixths of a segment's share, to a microsecond.
#[test]
fn gaps_are_shares_of_the_round_trip() {
    for (threshold, state, [part, of]) in [
        (1000, State::SlowStart, [1, 2]),
        (5, State::CongestionAvoidance, [5, 6]),
    ] {
        let mut sender = sender(threshold);
        assert_eq!(sender.state(), state);
        let share = ROUND_TRIP.as_picos() * LEN / sender.window();
        let departures = departures(&mut sender, 8);
        for pair in departures.windows(2) {
            let gap = pair[1].since(pair[0]);
            assert!(
                gap.as_picos().abs_diff(share * part / of) < 1_000_000,
                "{state:?}: {gap} for {part}/{of} of {share} ps"
            );
        }
    }
}

/// A silent sender may not catch up on unused time.
#[test]
fn silence_saves_up_nothing() {
    let mut sender = sender(5);
    departures(&mut sender, 1);
    let later = Instant::ZERO + ROUND_TRIP + Duration::from_millis(50);
    let sent = std::iter::from_fn(|| sender.poll(later)).count();
    assert_eq!(sent, 1);
}

/// Segments of the first window that leave at once, after a handshake that took a round trip.
fn unpaced(unpaced_start: bool) -> usize {
    let config = Config {
        control: Control::Bbr,
        syn_exchange: false,
        unpaced_start,
        ..Config::linux()
    };
    let mut sender = Sender::new(config, None).expect("legal");
    sender.open(Instant::ZERO);
    sender.learn_round_trip(Instant::ZERO, ROUND_TRIP);
    std::iter::from_fn(|| sender.poll(Instant::ZERO)).count()
}

/// BBR's draft paces the first window by the handshake's round trip. Linux, as measured, does not.
#[test]
fn linux_does_not_pace_the_first_ten_segments() {
    assert_eq!([unpaced(true), unpaced(false)], [10, 1]);
}
