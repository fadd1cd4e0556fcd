//! Packet FQ: the claims of `packet_fq.rs`, and disciplines that break them.

use proptest::prelude::*;
use roundelay::Seed;
use roundelay::schedulers::{Discipline, drr, fifo, packet_fq, sfq};
use roundelay::{DropReason, FlowId, Instant, Packet, Scheduler};

use crate::theorems::fq_codel::{Offers, fperf_patterns, shares_beside_on_off, worst_on_off_share};
use crate::theorems::ranked::dropped;
use crate::theorems::sfq::{NewFirst, is_as_chance_has_it, meet};

const LEN: u32 = 1514;

/// With seed 1 none of the first flows share a bin (`sfq.rs` checks the same hash).
fn build() -> packet_fq::PacketFq<u64> {
    packet_fq::Config::default()
        .build(Seed::new(1))
        .expect("legal parameters")
}

/// The largest difference between packets served of two flows over an interval in which both have
/// packets: arrivals of flow and length, or departures.
fn worst_difference(mut scheduler: impl Scheduler<u64>, steps: &[Option<(u32, u32)>]) -> i64 {
    const FLOWS: usize = 5;
    let mut waiting = [0u64; FLOWS];
    // The service of a less that of b since both have packets: now, and the least since then.
    let mut leads = [[(0i64, 0i64); FLOWS]; FLOWS];
    let mut worst = 0;
    for step in steps {
        if let Some((flow, len)) = *step {
            assert!(
                scheduler
                    .enqueue(Instant::ZERO, Packet::new(FlowId(flow), len, 0))
                    .is_ok()
            );
            waiting[flow as usize] += 1;
            if waiting[flow as usize] == 1 {
                (0..FLOWS).for_each(|other| {
                    (leads[flow as usize][other], leads[other][flow as usize]) = ((0, 0), (0, 0))
                });
            }
        } else if let Some(packet) = scheduler.dequeue(Instant::ZERO) {
            let served = packet.flow.index();
            for other in (0..FLOWS).filter(|other| *other != served && waiting[*other] > 0) {
                let (lead, least) = &mut leads[served][other];
                *lead += 1;
                worst = worst.max(*lead - *least);
                let (lead, least) = &mut leads[other][served];
                *lead -= 1;
                *least = (*least).min(*lead);
            }
            waiting[served] -= 1;
        }
        scheduler.check_invariants();
    }
    worst
}

fn steps() -> impl Strategy<Value = Vec<Option<(u32, u32)>>> {
    let arrival = prop_oneof![(0u32..2, 1000u32..1515), (0u32..5, 40u32..1515)];
    prop::collection::vec(prop::option::weighted(0.6, arrival), 50..600)
}

fn fixed_steps() -> Vec<Option<(u32, u32)>> {
    (0..600u32)
        .map(|step| (step % 5 < 3).then_some((step * step % 7 % 5, 40 + step * 397 % 1400)))
        .collect()
}

proptest! {
    #[test]
    fn backlogged_bins_share_evenly(steps in steps()) {
        prop_assert!(worst_difference(build(), &steps) <= 1);
    }
}

#[test]
fn the_check_finds_unfairness() {
    assert!(worst_difference(build(), &fixed_steps()) == 1);
    assert!(worst_difference(fifo::Fifo::default(), &fixed_steps()) > 1);
    let drr: drr::Drr<u64> = drr::Config::default().build(Seed::new(1)).expect("legal");
    assert!(
        worst_difference(drr, &fixed_steps()) > 1,
        "DRR is fair in bytes, not in packets"
    );
}

/// Bytes of two flows among 300 packets, one flow's packets ten times as long.
fn bytes_of_long_and_short(mut scheduler: impl Scheduler<u64>) -> [u64; 2] {
    for number in 0..1000 {
        for (flow, len) in [(0, 1500), (1, 150)] {
            assert!(
                scheduler
                    .enqueue(Instant::ZERO, Packet::new(FlowId(flow), len, number))
                    .is_ok()
            );
        }
    }
    let mut bytes = [0; 2];
    for packet in (0..300).filter_map(|_| scheduler.dequeue(Instant::ZERO)) {
        bytes[packet.flow.index()] += u64::from(packet.len);
    }
    bytes
}

#[test]
fn it_is_fair_in_packets_not_in_bytes() {
    assert_eq!(bytes_of_long_and_short(build()), [150 * 1500, 150 * 150]);
    let [long, short] = bytes_of_long_and_short(
        sfq::Config {
            depth: 65_535,
            ..Default::default()
        }
        .build(Seed::new(1))
        .expect("legal"),
    );
    assert!(
        long.abs_diff(short) < 2 * 1514,
        "SFQ counts bytes: {long} and {short}"
    );
}

/// FPerf's finding: a bin counts as idle when empty, and as new with the next packet.
#[test]
fn known_bug_30_on_off_flow_gets_its_share() {
    for slots in [14, 1004] {
        let bound = slots / 5 + 2;
        assert!(worst_on_off_share(3, slots, build) <= bound);
        assert!(
            worst_on_off_share(3, slots, NewFirst::default) > bound,
            "the check finds the bug"
        );
    }
}

/// As FPerf's synthesized arrivals: silent until slot 5, then a packet a slot, four flows always
/// backlogged.
#[test]
fn known_bug_30_no_flow_is_starved_by_one_that_returns() {
    let least = |scheduler: &mut dyn FnMut(Offers) -> [u64; 5]| {
        let of_pattern = |(start, gap): (u64, u64)| {
            let sent = scheduler(&|slot| slot >= start && (slot - start).is_multiple_of(gap));
            sent.into_iter().take(4).min()
        };
        fperf_patterns()
            .filter_map(of_pattern)
            .min()
            .expect("patterns")
    };
    assert!(least(&mut |offers| shares_beside_on_off(&mut build(), 1004, offers)) >= 199);
    assert!(least(&mut |offers| shares_beside_on_off(&mut NewFirst::default(), 1004, offers)) <= 2);
}

proptest! {
    #[test]
    fn on_off_flows_of_any_pattern_get_their_share(offers in prop::collection::vec(any::<bool>(), 50..400)) {
        let slots = offers.len() as u64;
        let sent = shares_beside_on_off(&mut build(), slots, &|slot| offers[slot as usize]);
        prop_assert!(sent[4] <= slots / 5 + 2, "{:?}", sent);
    }
}

/// Packets that leave before the first one of an idle flow, beside flows with many packets.
fn wait_of_the_idle(mut scheduler: impl Scheduler<u64>) -> usize {
    for number in 0..40 {
        assert!(
            scheduler
                .enqueue(Instant::ZERO, Packet::new(FlowId(number % 4), LEN, 0))
                .is_ok()
        );
    }
    (0..5).for_each(|_| assert!(scheduler.dequeue(Instant::ZERO).is_some()));
    assert!(
        scheduler
            .enqueue(Instant::ZERO, Packet::new(FlowId(4), LEN, 0))
            .is_ok()
    );
    (0..36)
        .take_while(|_| {
            scheduler
                .dequeue(Instant::ZERO)
                .is_some_and(|packet| packet.flow != FlowId(4))
        })
        .count()
}

#[test]
fn idle_flows_go_first() {
    assert_eq!(wait_of_the_idle(build()), 0);
    assert!(
        wait_of_the_idle(
            sfq::Config::default()
                .build::<u64>(Seed::new(1))
                .expect("legal")
        ) >= 3,
        "SFQ puts them at the end"
    );
    assert_eq!(wait_of_the_idle(fifo::Fifo::default()), 35);
}

#[test]
fn the_longest_bin_gives_up_its_newest() {
    let packets = [
        (0, 100),
        (1, 700),
        (1, 700),
        (2, 900),
        (1, 10),
        (0, 100),
        (2, 900),
    ];
    let packets = packets.map(|(flow, len)| Packet::new(FlowId(flow), len, 0));
    let expected = [
        (4, DropReason::Full),
        (2, DropReason::PushedOut),
        (6, DropReason::Full),
    ];
    assert_eq!(dropped(build(), &packets), expected);
    assert_ne!(dropped(fifo::Fifo::default(), &packets), expected);
}

#[test]
fn one_bin_is_fifo() {
    let mut scheduler: packet_fq::PacketFq<u64> = packet_fq::Config { flows: 1 }
        .build(Seed::new(9))
        .expect("legal");
    (0..50).for_each(|number| {
        assert!(
            scheduler
                .enqueue(
                    Instant::ZERO,
                    Packet::new(FlowId(number * 7 % 5), 100, number.into())
                )
                .is_ok()
        )
    });
    assert!(
        std::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
            .map(|packet| packet.payload)
            .is_sorted()
    );
}

/// The hash has a key: nobody can choose flow numbers that share a bin with another flow for every
/// seed.
#[test]
fn two_flows_meet_in_one_of_so_many_seeds_as_there_are_bins() {
    const SEEDS: u32 = 5_000;
    for (a, b, flows) in [(0, 1, 16), (5, 5 + 16, 16), (7, 1 << 31, 2)] {
        let bins = |seed: u32| {
            packet_fq::Config { flows }
                .build(Seed::new(seed.into()))
                .expect("legal parameters")
        };
        let meetings = (0..SEEDS)
            .filter(|seed| meet(&mut bins(*seed), a, b))
            .count() as u32;
        assert!(
            is_as_chance_has_it(meetings, SEEDS, flows),
            "{a} and {b} met {meetings} times"
        );
    }
}

/// A tree: leaf a and a class with leaves x and y.
fn turns_of(class: &str) -> roundelay::tree::Tree<u64> {
    use roundelay::tree::{Config, Node};
    let node = |name: &str, spec: &str| Node::new(name, spec.parse().expect("a legal spec"));
    let mut plan = Config::new(node("link", class)).unwrap();
    plan.add_leaf("link", node("a", "fifo")).unwrap();
    plan.add_class("link", node("class", class)).unwrap();
    plan.add_leaf("class", node("x", "sjf")).unwrap();
    plan.add_leaf("class", node("y", "fifo")).unwrap();
    plan.set_default("a").unwrap();
    ["a", "x", "y"]
        .into_iter()
        .zip(0..)
        .for_each(|(leaf, flow)| plan.assign(FlowId(flow), leaf).unwrap());
    plan.build_tree(Seed::new(1)).unwrap()
}

/// The flows in the order in which their packets leave, each backlogged until its last packet, with
/// packets of 1514, 700 and 64 bytes.
fn served_in_turn(class: &str, packets: u64) -> Vec<u32> {
    let mut tree = turns_of(class);
    for number in 0..packets {
        for (flow, len) in [(0, 1514), (1, 700), (2, 64)] {
            let packet = Packet {
                priority: (packets - number) as u32,
                ..Packet::new(FlowId(flow), len, number)
            };
            assert!(tree.enqueue(Instant::ZERO, packet).is_ok());
        }
    }
    (0..packets)
        .filter_map(|_| tree.dequeue(Instant::ZERO))
        .map(|packet| packet.flow.0)
        .collect()
}

/// Children take turns, a packet each, at every level, for packets of any length: a place held for
/// a child below the root takes no turn. One bin, shared by all hashed flows, makes no difference.
#[test]
fn classes_take_turns_a_packet_each() {
    for class in ["packet_fq", "packet_fq flows 1"] {
        let order = served_in_turn(class, 400);
        assert!(
            order.chunks(2).all(|pair| pair.contains(&0)),
            "{class}: a and the class in turn"
        );
        let of_class: Vec<_> = order.iter().filter(|flow| **flow > 0).collect();
        assert!(
            of_class.windows(2).all(|pair| pair[0] != pair[1]),
            "{class}: x and y in turn"
        );
    }
    let by_bytes = served_in_turn("drr", 400);
    assert!(
        by_bytes.iter().filter(|flow| **flow == 2).count() > 200,
        "drr goes by bytes"
    );
}

/// A child's packets leave in the order of its own discipline, and the other children use its
/// unused share.
#[test]
fn leaves_of_classes_keep_their_order() {
    let mut tree = turns_of("packet_fq");
    for (flow, size) in [(1, 30), (1, 20), (1, 10), (1, 40), (0, 0)] {
        assert!(
            tree.enqueue(
                Instant::ZERO,
                Packet {
                    priority: size,
                    ..Packet::new(FlowId(flow), 100, u64::from(size))
                }
            )
            .is_ok()
        );
    }
    let order: Vec<_> = core::iter::from_fn(|| tree.dequeue(Instant::ZERO))
        .map(|packet| packet.payload)
        .collect();
    // The packets of x leave by their size.
    assert_eq!(order, [10, 0, 20, 30, 40]);
}

/// In a class: `evict_flow` removes the newest packet of one child only.
#[test]
fn a_child_is_withdrawn_alone() {
    let mut class = packet_fq::PacketFq::of_children(packet_fq::Config { flows: 1 }).unwrap();
    for (flow, number) in [(0, 1), (3, 2), (0, 3)] {
        assert!(
            class
                .enqueue(Instant::ZERO, Packet::new(FlowId(flow), LEN, number))
                .is_ok()
        );
    }
    let mut newest = |flow| class.evict_flow(FlowId(flow)).map(|packet| packet.payload);
    assert_eq!(
        [newest(0), newest(0), newest(0), newest(2), newest(9)],
        [Some(3), Some(1), None, None, None]
    );
    assert_eq!(
        class.dequeue(Instant::ZERO).map(|packet| packet.payload),
        Some(2)
    );
    assert!(
        class
            .enqueue(Instant::ZERO, Packet::new(FlowId(u32::MAX), LEN, 4))
            .is_err(),
        "no child has such a number"
    );
}
