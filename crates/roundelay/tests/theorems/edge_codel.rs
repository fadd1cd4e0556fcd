//! Edge-CoDel: the claims of `edge_codel.rs`, and control loops that break them.

use roundelay::Seed;
use roundelay::edge_codel::{Config, queueing_delay};
use roundelay::schedulers::{Discipline, codel};
use roundelay::{Duration, EdgeCodel, FlowId, Instant, Packet, Resume, Scheduler, Slack};

use crate::theorems::codel::follows_the_control_law;

fn millis(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn edge(config: Config) -> EdgeCodel {
    EdgeCodel::new(config).expect("legal parameters")
}

#[test]
fn queueing_delay_is_the_slack_that_is_gone() {
    let slack = |millis: i64| Slack::from_picos(millis * 1_000_000_000);
    assert_eq!(
        queueing_delay(slack(10), slack(3)),
        Duration::from_millis(7)
    );
    assert_eq!(
        queueing_delay(slack(10), slack(-5)),
        Duration::from_millis(15),
        "a packet that is late"
    );
    assert_eq!(
        queueing_delay(slack(3), slack(10)),
        Duration::ZERO,
        "slack that somebody gave back"
    );
    assert_eq!(
        queueing_delay(Slack::from_picos(i64::MAX), Slack::from_picos(i64::MIN)),
        Duration::MAX
    );
    assert_eq!(
        queueing_delay(slack(10), slack(10).after(Duration::from_millis(4))),
        Duration::from_millis(4)
    );
}

/// A packet each millisecond with a wait of `wait` milliseconds: the times of bad verdicts.
fn signals(codel: &mut EdgeCodel, range: std::ops::Range<u64>, wait: u64) -> Vec<Instant> {
    let judged = |milli: &u64| {
        codel.judges_bad(
            millis(*milli),
            millis(milli - wait),
            Duration::from_millis(wait),
        )
    };
    range.filter(judged).map(millis).collect()
}

#[test]
fn signals_follow_the_control_law() {
    let fine = |codel: &mut EdgeCodel| -> Vec<Instant> {
        let at = |slot: u64| Instant::ZERO + Duration::from_micros(100 * slot);
        (100..50_000)
            .map(at)
            .filter(|now| codel.judges_bad(*now, *now, Duration::from_millis(6)))
            .collect()
    };
    let signals = fine(&mut edge(Config::default()));
    assert!(
        signals.len() > 400 && signals[0] == millis(110),
        "an interval after the first"
    );
    assert!(follows_the_control_law(&signals, 0.1));
    assert!(
        !follows_the_control_law(&signals, 0.11),
        "the check finds another interval"
    );
}

#[test]
fn good_packets_are_left_alone() {
    let mut codel = edge(Config::default());
    assert!(signals(&mut codel, 100..5_000, 4).is_empty());
    assert!(!signals(&mut codel, 5_000..6_000, 5).is_empty());
}

#[test]
fn a_gap_starts_a_new_interval() {
    for (gap, first_after) in [(20, 571), (21, 671)] {
        // One packet a millisecond until 550, and the next one is sent `gap` after the last.
        let mut codel = edge(Config::default());
        let before = signals(&mut codel, 100..551, 10);
        assert!(before.len() > 5 && before.last().is_some_and(|last| *last < millis(550)));
        let start = 550 + gap;
        let after = signals(&mut codel, start..start + 300, 10);
        assert!(
            after[0] <= millis(first_after + 40) && (gap == 20) == (after[0] < millis(start + 100)),
            "{gap}: {after:?}"
        );
    }
}

/// Ten packets in a row with waits of up to 30 ms in their own burst, every 50 ms: CoDel in the
/// queue would see an empty queue in between.
#[test]
fn bursts_with_gaps_are_left_alone() {
    let run = |config: Config| {
        let mut codel = edge(config);
        let packets = (0..100u64)
            .flat_map(|burst| (3..10u64).map(move |packet| (1000 + burst * 50, packet * 3)));
        packets
            .filter(|(sent, wait)| {
                codel.judges_bad(
                    millis(sent + wait),
                    millis(*sent),
                    Duration::from_millis(*wait),
                )
            })
            .count()
    };
    assert_eq!(run(Config::default()), 0);
    let without_the_rule = Config {
        refresh: Duration::from_secs(3600),
        ..Config::default()
    };
    assert!(
        run(without_the_rule) > 20,
        "the check finds a loop that never hears that the queue emptied"
    );
}

/// One queue of a packet a millisecond, always backlogged: CoDel in the queue and Edge-CoDel behind
/// it drop the same packets.
#[test]
fn it_decides_as_codel_in_the_queue_does() {
    let config = codel::Config {
        target: Duration::from_millis(5),
        ..Default::default()
    };
    let mut queue = config.build::<u64>(Seed::new(1)).expect("legal");
    let (mut edge, mut theirs, mut ours) = (edge(Config::default()), Vec::new(), Vec::new());
    for milli in 0..3_000u64 {
        let now = millis(milli);
        // A backlog of 20, of 2 for a while, and of 20 again.
        let backlog = if (1_000..1_400).contains(&milli) {
            3
        } else {
            20
        };
        while queue.backlog().packets < backlog {
            assert!(
                queue
                    .enqueue(now, Packet::new(FlowId(0), 1514, milli))
                    .is_ok()
            );
        }
        let sent = queue.dequeue(now);
        let dropped: Vec<_> = std::iter::from_fn(|| queue.take_dropped())
            .map(|(packet, _)| packet)
            .collect();
        theirs.extend(dropped.iter().map(|_| milli));
        for packet in dropped.into_iter().chain(sent) {
            if edge.judges_bad(now, packet.arrival, now.since(packet.arrival)) {
                ours.push(milli);
            }
        }
    }
    assert!(theirs.len() > 20, "{theirs:?}");
    assert_eq!(ours, theirs);
}

#[test]
fn either_rule_of_starting_again_can_be_had() {
    let again = |resume| {
        let mut codel = edge(Config {
            resume,
            ..Config::default()
        });
        assert!(signals(&mut codel, 100..1_000, 10).len() > 10);
        assert!(signals(&mut codel, 1_000..1_010, 1).is_empty());
        let signals = signals(&mut codel, 1_010..1_400, 10);
        signals[1].since(signals[0])
    };
    // The same count; or two less; or the signals since the start of the dropping state, one less
    // than the count.
    assert!(again(Resume::TwoLess) > again(Resume::Rfc8289));
    // After 8 intervals, but within 16, only the RFC's rule still resumes.
    let later = |resume| {
        let mut codel = edge(Config {
            resume,
            ..Config::default()
        });
        signals(&mut codel, 100..1_000, 10);
        signals(&mut codel, 1_000..2_000, 1);
        let signals = signals(&mut codel, 2_000..2_400, 10);
        signals[1].since(signals[0])
    };
    assert!(
        later(Resume::TwoLess) == Duration::from_millis(100)
            && later(Resume::Rfc8289) < Duration::from_millis(50)
    );
}

#[test]
fn packets_out_of_order_are_no_gap() {
    let mut codel = edge(Config::default());
    // Every second packet was sent 15 ms before the packet that overtook it.
    let judged = |milli: &u64| {
        codel.judges_bad(
            millis(*milli),
            millis(milli - 10 - 15 * (milli % 2)),
            Duration::from_millis(10),
        )
    };
    assert!((100..1_000).filter(judged).count() > 10);
}

#[test]
fn silly_parameters_are_refused() {
    let error = |config: Config| {
        EdgeCodel::new(config)
            .map(|_| panic!("{config:?}"))
            .unwrap_err()
            .to_string()
    };
    let (zero, long) = (Duration::ZERO, Duration::from_secs(3601));
    assert!(
        error(Config {
            target: zero,
            ..Config::default()
        })
        .contains("legal range 1us to 3600s")
    );
    assert!(
        error(Config {
            interval: long,
            ..Config::default()
        })
        .contains("edge_codel: interval")
    );
    // Below the target every packet would start a new interval.
    assert!(
        error(Config {
            refresh: Duration::from_millis(5),
            ..Config::default()
        })
        .contains("refresh")
    );
}
