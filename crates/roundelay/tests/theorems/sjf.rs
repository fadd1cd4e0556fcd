//! SJF: the claims of `sjf.rs`, and disciplines that break them.

use proptest::prelude::*;
use roundelay::Seed;
use roundelay::schedulers::{Discipline, fifo, sjf};
use roundelay::{DropReason, FlowId, Instant, Scheduler};

use crate::theorems::ranked::{
    completion, dropped, fixed_steps, flows_at_once, largest, least_completion, obeys, order,
    smallest, some_flows, steps, with_priority,
};

fn build() -> sjf::Sjf<u64> {
    sjf::Config.build(Seed::new(0)).expect("no parameters")
}

fn fifo() -> fifo::Fifo<u64> {
    fifo::Config.build(Seed::new(0)).expect("no parameters")
}

fn is_by_size(scheduler: impl Scheduler<u64>, steps: &[crate::theorems::ranked::Step]) -> bool {
    obeys(
        scheduler,
        steps,
        |waiting| smallest(waiting, |p| p.priority),
        |waiting| largest(waiting, |p| p.priority),
    )
}

/// The sum of completion times less the least possible sum, in bytes.
fn excess(scheduler: impl Scheduler<u64>, flows: &[Vec<u32>]) -> u64 {
    let sizes: Vec<u64> = flows
        .iter()
        .map(|lens| lens.iter().map(|len| u64::from(*len)).sum())
        .collect();
    completion(
        &order(scheduler, &flows_at_once(flows, |size, _| size)),
        flows.len(),
    ) - least_completion(&sizes)
}

proptest! {
    #[test]
    fn the_smallest_flow_leaves_first(steps in steps()) {
        prop_assert!(is_by_size(build(), &steps));
    }

    /// Flows of one size are served packet by packet in turn, and none completes earlier than with
    /// one flow after the other. Sizes differ here.
    #[test]
    fn flows_that_come_together_complete_as_early_as_can_be(flows in some_flows()) {
        let mut sizes: Vec<u32> = flows.iter().map(|lens| lens.iter().sum()).collect();
        sizes.sort_unstable();
        prop_assume!(sizes.is_sorted_by(|a, b| a < b));
        prop_assert_eq!(excess(build(), &flows), 0);
    }
}

#[test]
fn the_checks_find_fifo() {
    assert!(is_by_size(build(), &fixed_steps()) && !is_by_size(fifo(), &fixed_steps()));
    let flows = [vec![1500, 1500, 1500], vec![100], vec![700, 700]];
    assert_eq!(excess(build(), &flows), 0);
    assert!(excess(fifo(), &flows) > 0);
}

/// Slots until a packet of a large flow leaves if a packet of another small flow arrives in each
/// slot.
fn slots_waited(mut scheduler: impl Scheduler<u64>) -> u64 {
    assert!(
        scheduler
            .enqueue(Instant::ZERO, with_priority(0, 1_000_000, 0))
            .is_ok()
    );
    let is_small = |slot: &u64| {
        let now = Instant::from_nanos(*slot);
        assert!(
            scheduler
                .enqueue(now, with_priority(1 + *slot as u32, 1000, *slot))
                .is_ok()
        );
        scheduler
            .dequeue(now)
            .is_some_and(|packet| packet.flow != FlowId(0))
    };
    (0..1000).take_while(is_small).count() as u64
}

#[test]
fn small_flows_starve_a_large_one() {
    assert_eq!(slots_waited(build()), 1000);
    assert_eq!(slots_waited(fifo()), 0);
}

#[test]
fn a_full_buffer_gives_up_the_largest_flow() {
    let packets =
        [3000, 9000, 9000, 1000, 500, 9000, 20_000, 3000].map(|size| with_priority(size, size, 0));
    let expected = [
        (2, DropReason::PushedOut),
        (5, DropReason::Full),
        (6, DropReason::Full),
        (1, DropReason::PushedOut),
    ];
    assert_eq!(dropped(build(), &packets), expected);
    assert_ne!(dropped(fifo(), &packets), expected);
}
