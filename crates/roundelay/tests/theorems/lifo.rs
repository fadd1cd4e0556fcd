//! LIFO: the claims of `lifo.rs`, and a discipline that breaks them.

use proptest::prelude::*;
use roundelay::Seed;
use roundelay::schedulers::{Discipline, fifo, lifo};
use roundelay::{DropReason, Instant, Scheduler};

use crate::theorems::ranked::{Step, dropped, fixed_steps, newest, obeys, steps, with_priority};

fn build() -> lifo::Lifo<u64> {
    lifo::Config.build(Seed::new(0)).expect("no parameters")
}

fn fifo() -> fifo::Fifo<u64> {
    fifo::Config.build(Seed::new(0)).expect("no parameters")
}

fn is_a_stack(scheduler: impl Scheduler<u64>, steps: &[Step]) -> bool {
    obeys(scheduler, steps, newest, |waiting| {
        (!waiting.is_empty()).then_some(0)
    })
}

proptest! {
    #[test]
    fn the_newest_leaves_first(steps in steps()) {
        prop_assert!(is_a_stack(build(), &steps));
    }
}

#[test]
fn the_check_finds_fifo() {
    assert!(is_a_stack(build(), &fixed_steps()) && !is_a_stack(fifo(), &fixed_steps()));
}

/// Slots of waiting for the last packet behind `before` others.
fn slots_behind(mut scheduler: impl Scheduler<u64>, before: u64) -> usize {
    (0..=before).for_each(|number| {
        assert!(
            scheduler
                .enqueue(Instant::from_nanos(number), with_priority(0, 0, number))
                .is_ok()
        )
    });
    let order: Vec<_> =
        std::iter::from_fn(|| scheduler.dequeue(Instant::from_nanos(before))).collect();
    order
        .iter()
        .position(|packet| packet.payload == before)
        .expect("it leaves")
}

#[test]
fn an_arrival_passes_whatever_waits() {
    assert_eq!(
        (slots_behind(build(), 500), slots_behind(fifo(), 500)),
        (0, 500)
    );
}

/// Whether the first packet has left after a thousand slots, with another arrival in each slot.
fn first_leaves(mut scheduler: impl Scheduler<u64>) -> bool {
    assert!(
        scheduler
            .enqueue(Instant::ZERO, with_priority(0, 0, 0))
            .is_ok()
    );
    (1..=1000).any(|slot| {
        let now = Instant::from_nanos(slot);
        assert!(scheduler.enqueue(now, with_priority(0, 0, slot)).is_ok());
        scheduler
            .dequeue(now)
            .is_some_and(|packet| packet.payload == 0)
    })
}

#[test]
fn what_came_first_starves() {
    assert!(!first_leaves(build()) && first_leaves(fifo()));
}

#[test]
fn a_full_buffer_gives_up_the_oldest() {
    let packets = [(); 6].map(|()| with_priority(0, 0, 0));
    assert_eq!(
        dropped(build(), &packets),
        [(0, DropReason::PushedOut), (1, DropReason::PushedOut)]
    );
    assert_eq!(
        dropped(fifo(), &packets),
        [(4, DropReason::Full), (5, DropReason::Full)]
    );
}
