//! LSTF on levels: the claims of `lstf_levels.rs`, and disciplines that break them.

use proptest::prelude::*;
use roundelay::Seed;
use roundelay::schedulers::lstf_levels::{Config, LstfLevels, Map};
use roundelay::schedulers::{Discipline, fifo, lstf};
use roundelay::{DropReason, Duration, FlowId, Instant, Packet, Scheduler, Slack};

use crate::theorems::ranked::{
    Coming, Step, dropped, fixed_steps, inversions, largest, newest, obeys, smallest, steps,
    with_slack,
};

const MAPS: [Map; 3] = [Map::Uniform, Map::Exponential, Map::Rotating];

fn build(queues: u32, step_picos: u64, map: Map) -> LstfLevels<u64> {
    Config {
        queues,
        step: Duration::from_picos(step_picos),
        map,
    }
    .build(Seed::new(0))
    .expect("legal")
}

fn lstf() -> lstf::Lstf<u64> {
    lstf::Config::default().build(Seed::new(0)).expect("legal")
}

/// The same steps with slack never overdue: whole microseconds up to 20.
fn in_time(steps: Vec<Step>) -> Vec<Step> {
    let spared = |step: Step| match step {
        Step::Arrive {
            flow,
            len,
            priority,
            slack,
            deadline,
        } => Step::Arrive {
            flow,
            len,
            priority,
            slack: slack.abs() * 2,
            deadline,
        },
        other => other,
    };
    steps.into_iter().map(spared).collect()
}

/// Strict priority of the level, computed by division, or by doubling the threshold until the slack
/// is below.
fn is_by_level(
    scheduler: impl Scheduler<u64>,
    (queues, step): (u32, u64),
    map: Map,
    steps: &[Step],
) -> bool {
    let level = |packet: &Packet<u64>| {
        let slack = i128::from(packet.slack.as_picos());
        let threshold = |level: u32| {
            i128::from(step)
                * if map == Map::Uniform {
                    i128::from(level) + 1
                } else {
                    1 << level
                }
        };
        (0..queues - 1)
            .find(|level| slack < threshold(*level))
            .unwrap_or(queues - 1)
    };
    obeys(
        scheduler,
        steps,
        |waiting| smallest(waiting, level),
        |waiting| largest(waiting, level),
    )
}

/// By the slot in which the slack runs out; first come, first served within a slot.
fn is_by_slot(scheduler: impl Scheduler<u64>, step: u64, steps: &[Step]) -> bool {
    let slot = |packet: &Packet<u64>| {
        (i128::from(packet.arrival.as_picos()) + i128::from(packet.slack.as_picos()))
            .div_euclid(i128::from(step))
    };
    obeys(
        scheduler,
        steps,
        |waiting| smallest(waiting, slot),
        |waiting| largest(waiting, slot),
    )
}

/// LSTF on packets of one length.
fn is_lstf(scheduler: impl Scheduler<u64>, steps: &[Step]) -> bool {
    is_by_slot(scheduler, 1, steps)
}

fn is_fifo(scheduler: impl Scheduler<u64>, steps: &[Step]) -> bool {
    obeys(
        scheduler,
        steps,
        |waiting| (!waiting.is_empty()).then_some(0),
        newest,
    )
}

/// All packets arrive at once, and then leave.
fn at_once(steps: Vec<Step>) -> Vec<Step> {
    steps
        .into_iter()
        .filter(|step| matches!(step, Step::Arrive { .. }))
        .collect()
}

proptest! {
    #[test]
    fn slack_on_arrival_chooses_the_level(steps in steps(), queues in 1u32..12, step in 1000u64..4_000_000) {
        for map in [Map::Uniform, Map::Exponential] {
            prop_assert!(is_by_level(build(queues, step, map), (queues, step), map, &steps));
        }
    }

    #[test]
    fn a_calendar_sorts_to_a_step(steps in steps(), step in 200_000u64..4_000_000) {
        prop_assert!(is_by_slot(build(4096, step, Map::Rotating), step, &in_time(steps)));
    }

    /// All times are multiples of half a microsecond: each due time has a queue of its own.
    #[test]
    fn a_level_for_each_rank_is_lstf(steps in steps()) {
        let steps = in_time(steps);
        prop_assert!(is_lstf(lstf(), &steps) && is_lstf(build(4096, 500_000, Map::Rotating), &steps));
        prop_assert!(is_lstf(build(64, 500_000, Map::Uniform), &at_once(steps)));
    }

    #[test]
    fn one_queue_is_fifo(steps in steps(), map in prop::sample::select(&MAPS)) {
        prop_assert!(is_fifo(build(1, 1_000_000, map), &steps));
    }
}

#[test]
fn the_checks_find_other_orders() {
    let steps = in_time(fixed_steps());
    assert!(is_by_level(
        build(6, 2_000_000, Map::Uniform),
        (6, 2_000_000),
        Map::Uniform,
        &steps
    ));
    assert!(!is_by_level(
        build(6, 2_000_000, Map::Exponential),
        (6, 2_000_000),
        Map::Uniform,
        &steps
    ));
    assert!(!is_by_level(lstf(), (6, 2_000_000), Map::Uniform, &steps));
    assert!(!is_by_slot(lstf(), 2_000_000, &steps), "a slot is FIFO");
    assert!(
        !is_by_slot(build(4096, 2_000_000, Map::Uniform), 2_000_000, &steps),
        "slack on arrival is not slack that is left"
    );
    assert!(
        !is_lstf(build(8, 500_000, Map::Rotating), &steps),
        "8 slots of half a microsecond are too few"
    );
    assert!(!is_fifo(build(8, 4_000_000, Map::Rotating), &steps));
}

/// Packets overdue on arrival stand behind the packets of the first slot: a calendar does not sort
/// the past.
#[test]
fn what_comes_overdue_is_not_sorted() {
    let order = |scheduler: &mut dyn Scheduler<u64>| {
        for (number, micros) in [(0, -10), (1, -20), (2, 0)] {
            let slack = Slack::from_picos(micros * 1_000_000);
            let packet = Packet {
                slack,
                ..Packet::new(FlowId(0), 1000, number)
            };
            assert!(
                scheduler
                    .enqueue(Instant::from_nanos(100_000), packet)
                    .is_ok()
            );
        }
        std::iter::from_fn(|| scheduler.dequeue(Instant::from_nanos(100_000)))
            .map(|packet| packet.payload)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        [
            order(&mut build(4096, 500_000, Map::Rotating)),
            order(&mut lstf())
        ],
        [[0, 1, 2], [1, 0, 2]]
    );
}

/// Inversions with the range of slack, 100 microseconds, divided among `queues` queues.
fn found(map: Map, coming: Coming, queues: u32) -> usize {
    inversions(
        &mut build(queues, 100_000_000 / u64::from(queues), map),
        coming,
        with_slack,
    )
}

#[test]
fn inversions_fall_with_the_number_of_queues() {
    for coming in [Coming::InBursts, Coming::Steadily] {
        let fifo = inversions(&mut fifo::Fifo::default(), coming, with_slack);
        assert_eq!(inversions(&mut lstf(), coming, with_slack), 0);
        for map in [Map::Uniform, Map::Rotating] {
            let all: Vec<_> = [1, 2, 4, 8, 16, 32, 64, 1024]
                .map(|queues| found(map, coming, queues))
                .to_vec();
            assert_eq!(all[0], fifo, "{map:?} {coming:?}");
            // Without a calendar this holds only if no packet waits during later arrivals.
            if (map, coming) != (Map::Uniform, Coming::Steadily) {
                assert!(
                    all.windows(2).all(|pair| pair[1] < pair[0]) && all[7] * 50 < fifo,
                    "{map:?} {coming:?}: {all:?}"
                );
            }
        }
    }
}

/// Strict priority by the slack on arrival starves packets with much slack until they are overdue:
/// in a queue that never empties this is worse than FIFO, and worse with more levels.
#[test]
fn levels_by_slack_on_arrival_starve_packets_in_a_standing_queue() {
    let fifo = inversions(&mut fifo::Fifo::default(), Coming::Steadily, with_slack);
    let uniform = [4, 8, 16, 64].map(|queues| found(Map::Uniform, Coming::Steadily, queues));
    assert!(
        uniform[0] > fifo && uniform.is_sorted(),
        "{uniform:?}, {fifo} by FIFO"
    );
    assert!(found(Map::Rotating, Coming::Steadily, 8) * 2 < fifo);
}

#[test]
fn a_full_buffer_gives_up_the_newest_of_the_last_queue() {
    let packets = [2, 5, 5, 0, 1, 5, 7, 0].map(|slack| {
        let slack = Slack::of(Duration::from_millis(slack));
        Packet {
            slack,
            ..Packet::new(FlowId(0), 1000, 0)
        }
    });
    let expected = [
        (2, DropReason::PushedOut),
        (5, DropReason::Full),
        (6, DropReason::Full),
        (1, DropReason::PushedOut),
    ];
    for map in MAPS {
        assert_eq!(
            dropped(build(8, 1_000_000_000, map), &packets),
            expected,
            "{map:?}"
        );
    }
    // 5 and 7 ms share a level.
    let coarse = [
        (2, DropReason::PushedOut),
        (5, DropReason::Full),
        (6, DropReason::Full),
        (1, DropReason::PushedOut),
    ];
    assert_eq!(
        dropped(build(2, 1_500_000_000, Map::Uniform), &packets),
        coarse
    );
    assert_ne!(
        dropped(build(1, 1_000_000_000, Map::Uniform), &packets),
        expected,
        "one queue drops the tail"
    );
}
