//! SRPT: the claims of `srpt.rs`, and disciplines that break them.

use proptest::prelude::*;
use roundelay::Seed;
use roundelay::schedulers::{Discipline, fifo, sjf, srpt};
use roundelay::{DropReason, FlowId, Instant, Packet, Scheduler};

use crate::theorems::ranked::{
    Step, completion, dropped, fixed_steps, flows_at_once, largest, least_completion, obeys,
    one_by_one, order, smallest, some_flows, steps, with_priority,
};

fn build() -> srpt::Srpt<u64> {
    srpt::Config.build(Seed::new(0)).expect("no parameters")
}

fn sjf() -> sjf::Sjf<u64> {
    sjf::Config.build(Seed::new(0)).expect("no parameters")
}

fn fifo() -> fifo::Fifo<u64> {
    fifo::Config.build(Seed::new(0)).expect("no parameters")
}

/// Starvation prevention as in pFabric: of the flow that owns the packet with the least remaining,
/// the packet that arrived first.
fn oldest_of_the_shortest(waiting: &[Packet<u64>]) -> Option<usize> {
    let shortest = waiting[smallest(waiting, |packet| packet.priority)?].flow;
    waiting.iter().position(|packet| packet.flow == shortest)
}

fn is_srpt(scheduler: impl Scheduler<u64>, steps: &[Step]) -> bool {
    obeys(scheduler, steps, oldest_of_the_shortest, |waiting| {
        largest(waiting, |packet| packet.priority)
    })
}

proptest! {
    #[test]
    fn no_flow_has_less_left_than_the_one_served(steps in steps()) {
        prop_assert!(is_srpt(build(), &steps));
    }

    #[test]
    fn flows_that_start_together_complete_as_early_as_can_be(flows in some_flows()) {
        prop_assert_eq!(excess(build(), &flows), 0);
    }
}

/// The sum of completion times less the least possible sum, in bytes, of flows with one packet each
/// in the queue.
fn excess(scheduler: impl Scheduler<u64>, flows: &[Vec<u32>]) -> u64 {
    completion(&one_by_one(scheduler, flows), flows.len()) - least_completion(&sizes(flows))
}

fn sizes(flows: &[Vec<u32>]) -> Vec<u64> {
    flows
        .iter()
        .map(|lens| lens.iter().map(|len| u64::from(*len)).sum())
        .collect()
}

/// The cost of pFabric's rule: the packet with the least remaining is the last one of its flow; if
/// this packet waits too, it does not show the flow's remaining size. Flow 0 has 3100 bytes to
/// send, and goes first for its last 100.
#[test]
fn a_flow_that_waits_whole_is_taken_for_its_last_packet() {
    let flows = [vec![1500, 1500, 100], vec![700]];
    let sent = order(build(), &flows_at_once(&flows, |_, remaining| remaining));
    assert_eq!(
        sent.iter().map(|packet| packet.flow.0).collect::<Vec<_>>(),
        [0, 0, 0, 1]
    );
    assert_eq!(
        (
            completion(&sent, 2),
            least_completion(&sizes(&flows)),
            excess(build(), &flows)
        ),
        (3100 + 3800, 700 + 3800, 0)
    );
}

#[test]
fn the_checks_find_other_disciplines() {
    assert!(is_srpt(build(), &fixed_steps()));
    assert!(!is_srpt(sjf(), &fixed_steps()) && !is_srpt(fifo(), &fixed_steps()));
    let flows = [vec![1500, 1500, 1500], vec![100], vec![700, 700]];
    assert_eq!(excess(build(), &flows), 0);
    assert!(excess(fifo(), &flows) > 0);
}

/// Two flows of one size: SJF cannot tell the two apart and completes both late, SRPT completes one
/// first.
#[test]
fn what_is_left_tells_flows_of_one_size_apart() {
    let flows = [vec![1000; 4], vec![1000; 4]];
    let by_size = completion(&order(sjf(), &flows_at_once(&flows, |size, _| size)), 2);
    assert_eq!(
        (
            completion(
                &order(build(), &flows_at_once(&flows, |_, remaining| remaining)),
                2
            ),
            by_size
        ),
        (12_000, 15_000)
    );
}

/// A retransmission carries more remaining bytes than the packets before it. By rank alone, it
/// would wait behind all of these, and behind packets of later flows; SRPT sends it in its turn.
#[test]
fn starvation_prevention_keeps_flows_in_order() {
    let packets = [
        (0, 900, 0),
        (0, 300, 1),
        (1, 500, 2),
        (0, 200, 3),
        (1, 400, 4),
    ];
    let packets = packets.map(|(flow, remaining, number)| with_priority(flow, remaining, number));
    let numbers = |sent: Vec<Packet<u64>>| {
        sent.into_iter()
            .map(|packet| packet.payload)
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(order(build(), &packets)), [0, 1, 3, 2, 4]);
    assert_eq!(
        numbers(order(sjf(), &packets)),
        [3, 1, 4, 2, 0],
        "a queue by rank alone"
    );
}

/// Slots until the only packet of a long flow leaves if a packet of another short flow arrives in
/// each slot.
fn slots_waited(mut scheduler: impl Scheduler<u64>) -> u64 {
    assert!(
        scheduler
            .enqueue(Instant::ZERO, with_priority(0, 1_000_000, 0))
            .is_ok()
    );
    let is_short = |slot: &u64| {
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
    (0..1000).take_while(is_short).count() as u64
}

#[test]
fn short_flows_starve_a_long_one() {
    assert_eq!(slots_waited(build()), 1000);
    assert_eq!(slots_waited(fifo()), 0);
}

#[test]
fn a_full_buffer_gives_up_the_most_remaining() {
    let packets = [3000, 9000, 9000, 1000, 500, 9000, 20_000, 3000]
        .map(|remaining| with_priority(remaining, remaining, 0));
    let expected = [
        (2, DropReason::PushedOut),
        (5, DropReason::Full),
        (6, DropReason::Full),
        (1, DropReason::PushedOut),
    ];
    assert_eq!(dropped(build(), &packets), expected);
    assert_ne!(dropped(fifo(), &packets), expected);
    // Also from the middle of a flow: its other packets stay in order.
    let packets = [(0, 100), (0, 800), (0, 300), (0, 200), (0, 50)]
        .map(|(flow, remaining)| with_priority(flow, remaining, 0));
    assert_eq!(dropped(build(), &packets), [(1, DropReason::PushedOut)]);
}

#[test]
fn a_flow_beyond_the_table_is_refused() {
    let packet = Packet {
        flow: FlowId(FlowId::LARGEST_TABLED.0 + 1),
        ..with_priority(0, 1, 0)
    };
    assert_eq!(
        build()
            .enqueue(Instant::ZERO, packet)
            .map_err(|refused| refused.packet),
        Err(packet)
    );
}
