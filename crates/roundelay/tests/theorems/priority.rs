//! Strict priority: the claims of `priority.rs`, and disciplines that break them.

use proptest::prelude::*;
use roundelay::Seed;
use roundelay::schedulers::{Discipline, drr, fifo, priority};
use roundelay::{DropReason, FlowId, Instant, Packet, Scheduler};

use crate::theorems::ranked::{
    dropped, fixed_steps, largest, obeys, order, smallest, steps, with_priority,
};

fn build() -> priority::Priority<u64> {
    priority::Config.build(Seed::new(0)).expect("no parameters")
}

fn drr() -> drr::Drr<u64> {
    drr::Config::default()
        .build(Seed::new(0))
        .expect("legal parameters")
}

fn is_strict(scheduler: impl Scheduler<u64>, steps: &[crate::theorems::ranked::Step]) -> bool {
    obeys(
        scheduler,
        steps,
        |waiting| smallest(waiting, |p| p.priority),
        |waiting| largest(waiting, |p| p.priority),
    )
}

proptest! {
    #[test]
    fn the_most_urgent_leaves_first_and_a_class_is_fifo(steps in steps()) {
        prop_assert!(is_strict(build(), &steps));
    }
}

#[test]
fn the_check_finds_other_orders() {
    assert!(is_strict(build(), &fixed_steps()));
    assert!(!is_strict(
        fifo::Config.build(Seed::new(0)).expect("no parameters"),
        &fixed_steps()
    ));
    assert!(!is_strict(drr(), &fixed_steps()));
}

/// The order of departures in class `class`, with or without the packets of later classes in the
/// arrivals.
fn seen_by(scheduler: impl Scheduler<u64>, class: u32, with_later: bool) -> Vec<u64> {
    let packets: Vec<_> = (0..200)
        .map(|number| with_priority(number as u32 * 7 % 4, number as u32 * 13 % 5, number))
        .collect();
    let kept: Vec<_> = packets
        .into_iter()
        .filter(|packet| with_later || packet.priority <= class)
        .collect();
    let sent = order(scheduler, &kept);
    let before: Vec<_> = sent
        .iter()
        .take_while(|packet| packet.priority <= class)
        .map(|packet| packet.payload)
        .collect();
    let of_class = sent
        .iter()
        .filter(|packet| packet.priority <= class)
        .count();
    if before.len() == of_class {
        before
    } else {
        Vec::new()
    }
}

#[test]
fn a_class_does_not_feel_those_behind_it() {
    for class in 0..5 {
        assert_eq!(
            seen_by(build(), class, true),
            seen_by(build(), class, false)
        );
    }
    assert_ne!(
        seen_by(drr(), 1, true),
        seen_by(drr(), 1, false),
        "the check finds a discipline that mixes"
    );
}

/// Slots in which a packet of the second class is blocked, with a packet of the first class in each
/// slot.
fn blocked(mut scheduler: impl Scheduler<u64>, slots: u64) -> u64 {
    assert!(
        scheduler
            .enqueue(Instant::ZERO, with_priority(1, 1, 0))
            .is_ok()
    );
    let mut blocked = 0;
    for slot in 0..slots {
        assert!(
            scheduler
                .enqueue(Instant::from_nanos(slot), with_priority(0, 0, slot))
                .is_ok()
        );
        let sent = scheduler
            .dequeue(Instant::from_nanos(slot))
            .expect("work-conserving");
        if sent.flow == FlowId(1) {
            break;
        }
        blocked += 1;
    }
    blocked
}

/// FPerf's case study of a strict priority scheduler asks for arrivals that block a queue for more
/// than 5 of 7 slots. Strict priority allows these arrivals by definition; the documents say this.
#[test]
fn known_bug_fperf_a_busy_class_starves_those_behind_it() {
    assert_eq!((blocked(build(), 7), blocked(build(), 10_000)), (7, 10_000));
    assert!(blocked(drr(), 7) <= 1, "round robin does not");
}

#[test]
fn a_full_buffer_gives_up_the_newest_of_the_last_class() {
    let packets = [2, 5, 5, 0, 1, 5, 7, 0].map(|priority| with_priority(0, priority, 0));
    let expected = [
        (2, DropReason::PushedOut),
        (5, DropReason::Full),
        (6, DropReason::Full),
        (1, DropReason::PushedOut),
    ];
    assert_eq!(dropped(build(), &packets), expected);
    assert_ne!(
        dropped(
            fifo::Config.build(Seed::new(0)).expect("no parameters"),
            &packets
        ),
        expected
    );
}

/// A node of a hierarchy: each child has one packet in the queue, of its class, and is refilled
/// when the packet leaves.
fn children_served(classes: &[u32], packets: u64) -> Vec<u32> {
    let mut node = build();
    let stands_for = |child: u32| with_priority(child, classes[child as usize], 0);
    let mut left = vec![packets; classes.len()];
    for child in 0..classes.len() as u32 {
        assert!(node.enqueue(Instant::ZERO, stands_for(child)).is_ok());
    }
    let mut served = Vec::new();
    let mut refill = |FlowId(child): FlowId| {
        left[child as usize] -= 1;
        (left[child as usize] > 0).then(|| stands_for(child))
    };
    while let Some(packet) = node.dequeue_refilled(Instant::ZERO, &mut refill) {
        served.push(packet.flow.0);
    }
    served
}

#[test]
fn a_node_serves_its_children_strictly_and_equals_in_turn() {
    assert_eq!(
        children_served(&[1, 0, 1, 2], 3),
        [1, 1, 1, 0, 2, 0, 2, 0, 2, 3, 3, 3]
    );
}

#[test]
fn a_child_that_lost_its_packet_is_taken_out() {
    let mut node = build();
    let packets = [(0, 1, 0), (1, 0, 1), (0, 2, 2), (2, 1, 3)]
        .map(|(flow, priority, number)| with_priority(flow, priority, number));
    packets
        .iter()
        .for_each(|packet: &Packet<u64>| assert!(node.enqueue(Instant::ZERO, *packet).is_ok()));
    let newest_of = |node: &mut priority::Priority<u64>, flow| {
        node.evict_flow(FlowId(flow)).map(|packet| packet.payload)
    };
    assert_eq!(
        [
            newest_of(&mut node, 0),
            newest_of(&mut node, 3),
            newest_of(&mut node, 1)
        ],
        [Some(2), None, Some(1)]
    );
    let rest: Vec<_> = std::iter::from_fn(|| node.dequeue(Instant::ZERO))
        .map(|packet| packet.payload)
        .collect();
    assert_eq!(rest, [0, 3]);
}
