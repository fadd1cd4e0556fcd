//! SP-PIFO: the claims of `sp_pifo.rs`, and disciplines that break them.

use std::collections::VecDeque;

use proptest::prelude::*;
use roundelay::schedulers::sp_pifo::{Config, SpPifo};
use roundelay::schedulers::{Discipline, RankBy, fifo, lstf, priority};
use roundelay::{Control, Seed};
use roundelay::{DropReason, FlowId, Instant, Packet, Scheduler, Slack};

use crate::theorems::ranked::{
    Coming, Step, dropped, fixed_steps, inversions, largest, newest, obeys, smallest, steps,
    with_priority, with_slack,
};

fn build(queues: u32, rank: RankBy) -> SpPifo<u64> {
    Config { queues, rank }.build(Seed::new(0)).expect("legal")
}

fn pifo() -> priority::Priority<u64> {
    priority::Config.build(Seed::new(0)).expect("no parameters")
}

/// The algorithm as in the authors' public simulator (github.com/nsg-ethz/SP-PIFO): a scan from the
/// last queue to the first.
struct Model {
    queues: Vec<VecDeque<(i64, u64)>>,
    bounds: Vec<i64>,
    /// Whether a packet came below the first bound.
    pushed_down: bool,
}

impl Model {
    fn new(queues: usize) -> Self {
        Self {
            queues: vec![VecDeque::new(); queues],
            bounds: vec![0; queues],
            pushed_down: false,
        }
    }

    fn enqueue(&mut self, rank: i64, number: u64) {
        let mut queue = self.queues.len() - 1;
        while queue > 0 && rank < self.bounds[queue] {
            queue -= 1;
        }
        let cost = self.bounds[queue] - rank;
        if cost > 0 {
            self.pushed_down = true;
            self.bounds[1..].iter_mut().for_each(|bound| *bound -= cost);
        }
        self.bounds[queue] = rank;
        self.queues[queue].push_back((rank, number));
    }

    fn dequeue(&mut self) -> Option<u64> {
        self.queues
            .iter_mut()
            .find_map(VecDeque::pop_front)
            .map(|(_, number)| number)
    }

    fn evict(&mut self) -> Option<u64> {
        self.queues
            .iter_mut()
            .rev()
            .find_map(VecDeque::pop_back)
            .map(|(_, number)| number)
    }

    fn is_sorted(&self) -> bool {
        self.queues
            .iter()
            .all(|queue| queue.iter().is_sorted_by_key(|(rank, _)| *rank))
    }
}

/// Whether a scheduler sends the same packets as the model, and whether the model's queues were
/// sorted until the first push-down.
fn run(mut scheduler: impl Scheduler<u64>, queues: usize, steps: &[Step]) -> (bool, bool) {
    let (mut model, mut agrees, mut is_sorted) = (Model::new(queues), true, true);
    for (number, step) in (0..).zip(steps) {
        let number_of = |packet: Option<Packet<u64>>| packet.map(|packet| packet.payload);
        agrees &= match *step {
            Step::Arrive {
                flow,
                len,
                priority,
                ..
            } => {
                model.enqueue(priority.into(), number);
                scheduler
                    .enqueue(
                        Instant::ZERO,
                        Packet {
                            priority,
                            ..Packet::new(FlowId(flow), len, number)
                        },
                    )
                    .is_ok()
            }
            Step::Leave => number_of(scheduler.dequeue(Instant::ZERO)) == model.dequeue(),
            Step::Evict => number_of(scheduler.evict()) == model.evict(),
            Step::Wait(_) => true,
        };
        is_sorted &= model.pushed_down || model.is_sorted();
    }
    let rest = std::iter::from_fn(|| scheduler.dequeue(Instant::ZERO)).map(|packet| packet.payload);
    agrees &= rest.eq(std::iter::from_fn(|| model.dequeue()));
    (agrees, is_sorted)
}

proptest! {
    #[test]
    fn it_decides_as_the_paper_scans(steps in steps(), queues in 1u32..9) {
        prop_assert!(run(build(queues, RankBy::Priority), queues as usize, &steps).0);
    }

    #[test]
    fn without_a_push_down_each_queue_is_sorted(steps in steps(), queues in 1u32..9) {
        prop_assert!(run(build(queues, RankBy::Priority), queues as usize, &steps).1);
    }

    /// Debug builds check the invariants after each call, release builds here.
    #[test]
    fn invariants_hold_whatever_comes(steps in steps(), queues in 1u32..70, rank in prop::sample::select(&[RankBy::Slack, RankBy::Deadline])) {
        let mut scheduler = build(queues, rank);
        for (number, step) in (0..).zip(steps) {
            match step {
                Step::Arrive { flow, len, slack, deadline, .. } => {
                    let (slack, deadline) = (Slack::from_picos(slack), Instant::from_picos(deadline));
                    let packet = Packet { slack, deadline, ..Packet::new(FlowId(flow), len, number) };
                    assert!(scheduler.enqueue(Instant::ZERO, packet).is_ok());
                }
                Step::Leave => drop(scheduler.dequeue(Instant::ZERO)),
                Step::Evict => drop(scheduler.evict()),
                Step::Wait(_) => {}
            }
            scheduler.check_invariants();
        }
    }

    #[test]
    fn one_queue_is_fifo(steps in steps()) {
        prop_assert!(is_fifo(build(1, RankBy::Priority), &steps) && is_fifo(build(1, RankBy::Slack), &steps));
    }

    #[test]
    fn a_queue_for_each_rank_sorts(steps in steps()) {
        prop_assert!(is_sorted(warmed(6), &steps));
    }
}

fn is_fifo(scheduler: impl Scheduler<u64>, steps: &[Step]) -> bool {
    obeys(
        scheduler,
        steps,
        |waiting| (!waiting.is_empty()).then_some(0),
        newest,
    )
}

fn is_sorted(scheduler: impl Scheduler<u64>, steps: &[Step]) -> bool {
    let rank = |packet: &Packet<u64>| packet.priority;
    obeys(
        scheduler,
        steps,
        |waiting| smallest(waiting, rank),
        |waiting| largest(waiting, rank),
    )
}

/// Bounds are the ranks 0 to 5, as far as there are queues: each rank came once, the largest first.
fn warmed(queues: u32) -> SpPifo<u64> {
    let mut scheduler = build(queues, RankBy::Priority);
    (0..6).rev().for_each(|rank| {
        assert!(
            scheduler
                .enqueue(Instant::ZERO, with_priority(0, rank, 0))
                .is_ok()
        )
    });
    while scheduler.dequeue(Instant::ZERO).is_some() {}
    scheduler
}

#[test]
fn the_checks_find_other_orders() {
    let few_ranks = |step: Step| match step {
        Step::Arrive {
            flow,
            len,
            priority,
            slack,
            deadline,
        } => Step::Arrive {
            flow,
            len,
            priority: priority % 6,
            slack,
            deadline,
        },
        other => other,
    };
    let steps: Vec<_> = fixed_steps().into_iter().map(few_ranks).collect();
    assert!(is_sorted(pifo(), &steps) && is_sorted(warmed(6), &steps));
    assert!(
        !is_sorted(build(6, RankBy::Priority), &steps),
        "bounds are not the ranks yet"
    );
    assert!(!is_sorted(warmed(3), &steps), "fewer queues than ranks");
    assert!(!run(pifo(), 6, &steps).0 && !is_fifo(build(2, RankBy::Priority), &steps));
}

/// Ranks below 1000. With about as many queues as waiting packets, more queues help no further.
#[test]
fn inversions_fall_with_the_number_of_queues() {
    let by_priority =
        |_: Instant, number: u64| (i128::from(number), with_priority(0, number as u32, 0));
    for coming in [Coming::InBursts, Coming::Steadily] {
        let fifo = inversions(&mut fifo::Fifo::default(), coming, by_priority);
        assert_eq!(inversions(&mut pifo(), coming, by_priority), 0);
        let of = |queues| inversions(&mut build(queues, RankBy::Priority), coming, by_priority);
        let found: Vec<_> = [1, 2, 4, 8, 16, 32].map(of).to_vec();
        assert_eq!(found[0], fifo);
        assert!(
            found.windows(2).all(|pair| pair[1] < pair[0]),
            "{coming:?}: {found:?}"
        );
        assert!(found[3] * 2 < fifo && found[5] > 0, "{coming:?}: {found:?}");
    }
}

/// Ranks by slack grow with time, and so do the bounds, but a waiting packet stays in its queue: in
/// a queue that never empties, packets with much slack starve until they are overdue.
#[test]
fn what_waits_does_not_move_up() {
    let of = |coming, queues| inversions(&mut build(queues, RankBy::Slack), coming, with_slack);
    let fifo = |coming| inversions(&mut fifo::Fifo::default(), coming, with_slack);
    let [bursts, steady] =
        [Coming::InBursts, Coming::Steadily].map(|coming| (of(coming, 32), fifo(coming)));
    assert!(
        bursts.0 * 2 < bursts.1 && steady.0 > steady.1,
        "{bursts:?} {steady:?}"
    );
    assert_eq!(
        inversions(
            &mut lstf::Config::default().build(Seed::new(0)).expect("legal"),
            Coming::Steadily,
            with_slack
        ),
        0
    );
}

/// All packets leave in the order of arrival, each behind all packets of larger rank, except the
/// packets that opened the other queues.
#[test]
fn falling_ranks_are_reversed() {
    let mut scheduler = build(8, RankBy::Priority);
    let mut pifo = pifo();
    for rank in (0..100).rev() {
        let packet = with_priority(0, rank, rank.into());
        assert!(
            scheduler.enqueue(Instant::ZERO, packet).is_ok()
                && pifo.enqueue(Instant::ZERO, packet).is_ok()
        );
    }
    let order = |scheduler: &mut dyn Scheduler<u64>| {
        std::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
            .map(|packet| packet.payload)
            .collect::<Vec<_>>()
    };
    let found = order(&mut scheduler);
    assert!(found[..93].iter().copied().eq((0..93).rev()), "{found:?}");
    assert!(order(&mut pifo).into_iter().eq(0..100));
}

#[test]
fn a_full_buffer_gives_up_the_newest_of_the_last_queue() {
    let packets = [2, 5, 5, 0, 1, 5, 7, 0].map(|rank| with_priority(0, rank, 0));
    let expected = [
        (2, DropReason::PushedOut),
        (5, DropReason::Full),
        (6, DropReason::Full),
        (1, DropReason::PushedOut),
    ];
    assert_eq!(dropped(build(8, RankBy::Priority), &packets), expected);
    assert_ne!(dropped(fifo::Fifo::default(), &packets), expected);
}
