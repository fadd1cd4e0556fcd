//! EDF: the claims of `edf.rs`, and disciplines that break them. `lstf.rs` tests that EDF and LSTF
//! decide alike.

use proptest::prelude::*;
use roundelay::Seed;
use roundelay::schedulers::{Discipline, edf, fifo};
use roundelay::{DropReason, FlowId, Instant, Packet, Scheduler};

use crate::theorems::ranked::{Step, dropped, fixed_steps, largest, obeys, order, smallest, steps};

fn build() -> edf::Edf<u64> {
    edf::Config.build(Seed::new(0)).expect("no parameters")
}

fn fifo() -> fifo::Fifo<u64> {
    fifo::Config.build(Seed::new(0)).expect("no parameters")
}

fn is_by_deadline(scheduler: impl Scheduler<u64>, steps: &[Step]) -> bool {
    obeys(
        scheduler,
        steps,
        |waiting| smallest(waiting, |p| p.deadline),
        |waiting| largest(waiting, |p| p.deadline),
    )
}

/// A packet with a deadline in bytes sent from the start.
fn due(len: u32, deadline: u64) -> Packet<u64> {
    Packet {
        deadline: Instant::from_picos(deadline),
        ..Packet::new(FlowId(0), len, 0)
    }
}

/// The largest lateness, in bytes; negative if all are early.
fn lateness(sent: &[Packet<u64>]) -> i64 {
    let mut bytes = 0;
    let late = |packet: &Packet<u64>| {
        bytes += i64::from(packet.len);
        bytes - packet.deadline.as_picos() as i64
    };
    sent.iter().map(late).max().unwrap_or(0)
}

/// The least possible largest lateness, by trying each order.
fn least_lateness(packets: &[Packet<u64>]) -> i64 {
    fn least(left: &mut Vec<Packet<u64>>, sent: &mut Vec<Packet<u64>>) -> i64 {
        if left.is_empty() {
            return lateness(sent);
        }
        let count = left.len();
        let with = |at: usize| {
            sent.push(left.remove(at));
            let worst = least(left, sent);
            left.insert(at, sent.pop().expect("just put there"));
            worst
        };
        (0..count).map(with).min().expect("one is left")
    }
    least(&mut packets.to_vec(), &mut Vec::new())
}

proptest! {
    #[test]
    fn the_earliest_deadline_leaves_first(steps in steps()) {
        prop_assert!(is_by_deadline(build(), &steps));
    }

    #[test]
    fn no_order_is_less_late(packets in prop::collection::vec((40u32..1515, 0u64..5000), 1..7)) {
        let packets: Vec<_> = packets.into_iter().map(|(len, deadline)| due(len, deadline)).collect();
        prop_assert_eq!(lateness(&order(build(), &packets)), least_lateness(&packets));
    }
}

#[test]
fn the_checks_find_fifo() {
    assert!(is_by_deadline(build(), &fixed_steps()) && !is_by_deadline(fifo(), &fixed_steps()));
    let packets = [due(1000, 3000), due(1000, 1000), due(500, 2500)];
    assert_eq!(
        (
            lateness(&order(build(), &packets)),
            lateness(&order(fifo(), &packets))
        ),
        (0, 1000)
    );
}

#[test]
fn packets_without_a_deadline_go_last_in_order() {
    let packets = [
        Packet::new(FlowId(0), 100, 0),
        Packet {
            payload: 1,
            ..due(100, u64::MAX - 1)
        },
        Packet::new(FlowId(0), 100, 2),
    ];
    assert_eq!(
        order(build(), &packets)
            .iter()
            .map(|packet| packet.payload)
            .collect::<Vec<_>>(),
        [1, 0, 2]
    );
}

#[test]
fn a_full_buffer_gives_up_the_latest_deadline() {
    let packets = [20, 50, 50, 5, 10, 50, 70, 5].map(|deadline| due(1000, deadline));
    let expected = [
        (2, DropReason::PushedOut),
        (5, DropReason::Full),
        (6, DropReason::Full),
        (1, DropReason::PushedOut),
    ];
    assert_eq!(dropped(build(), &packets), expected);
    assert_ne!(dropped(fifo(), &packets), expected);
}
