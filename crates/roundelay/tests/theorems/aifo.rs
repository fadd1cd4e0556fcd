//! AIFO: the claims of `aifo.rs`, and disciplines that break them.

use std::collections::VecDeque;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::Seed;
use roundelay::schedulers::aifo::{Aifo, Config};
use roundelay::schedulers::{Discipline, RankBy, fifo, priority};
use roundelay::{
    Billionths, Buffer, Control, DropReason, FlowId, Instant, Limit, Packet, Scheduler,
};

use crate::theorems::ranked::{Step, newest, obeys, steps, with_priority};

fn build(window: u32, tenths_of_headroom: u64) -> Aifo<u64> {
    Config {
        window,
        headroom: Billionths(tenths_of_headroom * 100_000_000),
        ..Config::default()
    }
    .build(Seed::new(0))
    .expect("legal")
}

/// The result of offering a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Admitted,
    Dropped(DropReason),
}

/// Sends packets of these ranks through a buffer of `limit` packets, one leaving after every
/// `every`th, and returns each packet's fate.
fn fates(scheduler: impl Scheduler<u64>, limit: u64, every: u64, ranks: &[u32]) -> Vec<Fate> {
    let mut buffer = Buffer::new(Limit::of_packets(limit), scheduler);
    let mut fates = vec![Fate::Admitted; ranks.len()];
    for (number, rank) in (0..).zip(ranks) {
        let now = Instant::from_nanos(number);
        buffer.enqueue(now, with_priority(0, *rank, number), |packet, reason| {
            fates[packet.payload as usize] = Fate::Dropped(reason)
        });
        if number % every == every - 1 {
            buffer.dequeue(now, |_, _| panic!("nothing is dropped on the way out"));
        }
    }
    fates
}

/// The paper's rule, with its fractions scaled to whole numbers: (1 - k) = tenths / 10.
fn expected(window: usize, headroom: u64, limit: u64, every: u64, ranks: &[u32]) -> Vec<Fate> {
    let (mut recent, mut waiting, mut fates) = (VecDeque::new(), 0u64, Vec::new());
    for (number, rank) in (0u64..).zip(ranks) {
        let smaller = recent.iter().filter(|recent| *recent < rank).count() as u64;
        let is_small =
            smaller * (10 - headroom) * limit <= recent.len() as u64 * 10 * (limit - waiting);
        fates.push(match (is_small, waiting < limit) {
            (false, _) => Fate::Dropped(DropReason::Early),
            (true, false) => Fate::Dropped(DropReason::Full),
            (true, true) => Fate::Admitted,
        });
        waiting += u64::from(fates.last() == Some(&Fate::Admitted));
        recent.push_back(*rank);
        if recent.len() > window {
            recent.pop_front();
        }
        if number % every == every - 1 {
            waiting = waiting.saturating_sub(1);
        }
    }
    fates
}

fn is_fifo(scheduler: impl Scheduler<u64>, steps: &[Step]) -> bool {
    obeys(
        scheduler,
        steps,
        |waiting| (!waiting.is_empty()).then_some(0),
        newest,
    )
}

proptest! {
    #[test]
    fn admission_is_the_inequality(
        (window, headroom, limit, every) in (1u32..30, 0u64..10, 1u64..40, 1u64..5),
        ranks in prop::collection::vec(0u32..20, 1..300),
    ) {
        let found = fates(build(window, headroom), limit, every, &ranks);
        prop_assert_eq!(found, expected(window as usize, headroom, limit, every, &ranks));
    }

    /// With k = 0.3 and 20 packets of room: up to 6 wait.
    #[test]
    fn an_empty_queue_lets_everything_in(ranks in prop::collection::vec(0u32..1000, 1..=6)) {
        let mut falling = ranks.clone();
        falling.sort_by(|one, other| other.cmp(one));
        for ranks in [&ranks, &falling] {
            prop_assert!(fates(build(4, 3), 20, u64::MAX, ranks).iter().all(|fate| *fate == Fate::Admitted));
        }
    }

    #[test]
    fn the_smallest_rank_gets_in(ranks in prop::collection::vec(1u32..1000, 1..200)) {
        let mut buffer = Buffer::new(Limit::of_packets(30), build(20, 1));
        let mut dropped = Vec::new();
        for (number, rank) in (0..).zip(ranks) {
            buffer.enqueue(Instant::ZERO, with_priority(0, rank, number), |_, _| {});
        }
        while buffer.scheduler().backlog().packets > 29 {
            buffer.dequeue(Instant::ZERO, |_, _| {});
        }
        buffer.enqueue(Instant::ZERO, with_priority(0, 0, 0), |_, reason| dropped.push(reason));
        prop_assert!(dropped.is_empty(), "{dropped:?}");
    }

    #[test]
    fn without_a_limit_it_is_fifo(steps in steps()) {
        for rank in [RankBy::Slack, RankBy::Priority, RankBy::Deadline] {
            let mut scheduler = Config { rank, ..Config::default() }.build(Seed::new(0)).expect("legal");
            scheduler.set_buffer_limit(Limit::UNBOUNDED);
            prop_assert!(is_fifo(scheduler, &steps));
        }
    }
}

#[test]
fn equal_ranks_are_a_fifo() {
    let ranks = [7; 60];
    let found = fates(build(20, 1), 30, 3, &ranks);
    assert_eq!(found, fates(fifo::Fifo::default(), 30, 3, &ranks));
    assert!(
        found.contains(&Fate::Dropped(DropReason::Full))
            && !found.contains(&Fate::Dropped(DropReason::Early))
    );
}

/// One packet in two leaves: the half with the smaller ranks should be admitted.
#[test]
fn it_admits_what_a_sorted_queue_keeps() {
    let mut random = Pcg64::seed_from_u64(1);
    let ranks: Vec<u32> = (0..20_000).map(|_| random.random_range(0..1000)).collect();
    let small_part = |fates: Vec<Fate>| {
        let admitted: Vec<_> = fates
            .iter()
            .zip(&ranks)
            .filter(|(fate, _)| **fate == Fate::Admitted)
            .collect();
        admitted.iter().filter(|(_, rank)| **rank < 500).count() as f64 / admitted.len() as f64
    };
    let sorted = small_part(fates(
        priority::Config.build(Seed::new(0)).expect("no parameters"),
        100,
        2,
        &ranks,
    ));
    let (admission, longer) = (
        small_part(fates(build(20, 1), 100, 2, &ranks)),
        small_part(fates(build(200, 1), 100, 2, &ranks)),
    );
    let drop_tail = small_part(fates(fifo::Fifo::default(), 100, 2, &ranks));
    assert!(
        sorted > 0.99 && (drop_tail - 0.5).abs() < 0.03,
        "{sorted} sorted, {drop_tail} FIFO"
    );
    assert!(
        admission > 0.85 && longer > admission,
        "{admission} with 20 ranks, {longer} with 200"
    );
}

/// The buffer's limit counts, also after a change.
#[test]
fn a_limit_that_changes_is_told() {
    let mut buffer = Buffer::new(Limit::of_packets(1_000_000), build(4, 0));
    let mut early = 0;
    let mut put = |buffer: &mut Buffer<Aifo<u64>>, packets: u32| {
        for rank in 0..packets {
            let packet = Packet {
                priority: rank,
                ..Packet::new(FlowId(0), 100, 0)
            };
            buffer.enqueue(Instant::ZERO, packet, |_, reason| {
                early += u32::from(reason == DropReason::Early)
            });
        }
        early
    };
    // Ranks rise, and all ranks in the window are smaller: with k = 0 a packet of larger rank needs
    // an empty buffer.
    assert_eq!(
        [put(&mut buffer, 1), put(&mut buffer, 11)],
        [0, 10],
        "rank 0 is not above itself"
    );
    buffer.set_limit(Limit::UNBOUNDED, |_, _| panic!("nothing has to go"));
    assert_eq!(put(&mut buffer, 11), 10, "no more are dropped early");
    buffer.set_limit(Limit::of_packets(1_000), |_, _| panic!("nothing has to go"));
    assert_eq!(
        put(&mut buffer, 11),
        17,
        "ranks 4 to 10 are above all four before them"
    );
}
