//! The theorems of sections 2.2 and A.2 to A.7 over random viable schedules, including idling ones;
//! each with a rule that breaks it.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay_reference::replay::transformation::{
    AtNode, in_lstf_order, in_original_order, is_feasible, transform,
};
use roundelay_reference::replay::{
    Counts, Network, RandomNetwork, Reading, Replayer, Rule, Schedule, by_arrivals,
    other_decisions, priorities, slack_equation,
};

const SCHEDULES: u64 = 4_000;

/// Networks with random schedules; a packet shares at most `passes` nodes with others.
fn worlds(passes: usize) -> impl Iterator<Item = (u64, Network, Schedule)> {
    drawn(
        RandomNetwork {
            nodes: passes + 1,
            passes,
            packets: 10,
            transmission: 4,
            len: 3,
            propagation: 3,
        },
        SCHEDULES,
    )
}

fn drawn(limits: RandomNetwork, schedules: u64) -> impl Iterator<Item = (u64, Network, Schedule)> {
    (0..schedules).map(move |seed| {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut draw = |below: u64| random.random_range(0..below);
        let network = limits.network(&mut draw).expect("within range");
        let original = RandomNetwork::schedule(&network, seed % 2 == 0, &mut draw);
        assert_eq!(original.is_viable(&network), Ok(()), "seed {seed}");
        (seed, network, original)
    })
}

/// Number of packets made overdue by a rule, over schedules with at most `at_most` congestion
/// points per packet, and number of these schedules.
fn overdue(
    passes: usize,
    at_most: usize,
    reading: Reading,
    rule: &Rule,
    preempts: bool,
) -> (usize, usize) {
    let (mut packets, mut schedules) = (0, 0);
    for (_, network, original) in worlds(passes) {
        let replay = Replayer {
            preempts,
            ..Replayer::new(&network, &original, rule.clone())
        }
        .run();
        if reading.most(&network, &original, &replay) <= at_most {
            schedules += 1;
            packets += replay.overdue(&original).len();
        }
    }
    assert!(schedules > 300, "{schedules} schedules tell little");
    (packets, schedules)
}

fn of_rule(passes: usize, at_most: usize, rule: &Rule) -> usize {
    overdue(passes, at_most, Reading::CanWait, rule, true).0
}

/// A.2.
#[test]
fn omniscient_headers_replay_every_schedule() {
    let anywhere = usize::MAX;
    for passes in 1..=5 {
        assert_eq!(
            of_rule(passes, anywhere, &Rule::Omniscient),
            0,
            "{passes} nodes"
        );
    }
    for rule in [Rule::Lstf, Rule::ByExit, Rule::Fifo, Rule::Lifo] {
        assert!(of_rule(5, anywhere, &rule) > 0, "{rule:?}");
    }
    assert!(
        overdue(3, anywhere, Reading::CanWait, &Rule::Omniscient, false).0 > 0,
        "nor without preemption"
    );
}

/// Key result 1 with the priority of A.6, which needs the position of the congestion point; o(p)
/// alone is not enough.
#[test]
fn priorities_replay_one_congestion_point_and_not_two() {
    assert_eq!(of_rule(2, 1, &Rule::ByExitFromCongestion), 0);
    assert!(
        of_rule(2, 1, &Rule::ByExit) > 0,
        "o(p) leaves out the way ahead"
    );
    assert!(of_rule(2, 1, &Rule::Fifo) > 0);
    assert!(
        of_rule(2, 2, &Rule::ByExitFromCongestion) > 0,
        "two are too many"
    );
}

/// Key result 1, second half: schedules of up to three packets not replayed by any priorities, with
/// or without preemption, but replayed by LSTF.
#[test]
fn some_schedules_of_two_congestion_points_have_no_priorities() {
    let (mut none, mut lstf) = (0, 0);
    let limits = RandomNetwork {
        nodes: 2,
        passes: 2,
        packets: 3,
        transmission: 2,
        len: 1,
        propagation: 3,
    };
    for (_, network, original) in drawn(limits, 5 * SCHEDULES) {
        if Reading::CanWait.most(&network, &original, &original) > 2 {
            continue;
        }
        let is_late = |rule: Rule, preempts| {
            !Replayer {
                preempts,
                ..Replayer::new(&network, &original, rule)
            }
            .run()
            .overdue(&original)
            .is_empty()
        };
        let fails = |priorities: &Vec<i64>| {
            [true, false]
                .iter()
                .all(|preempts| is_late(Rule::Static(priorities.clone()), *preempts))
        };
        let all = priorities(network.packets().len());
        none += usize::from(all.iter().all(fails));
        lstf += usize::from(is_late(Rule::Lstf, true));
    }
    assert!(
        none > 0 && lstf == 0,
        "{none} without priorities, {lstf} that LSTF does not replay"
    );
}

/// Key result 2: preemptive LSTF, with congestion points where a packet can wait, or where a packet
/// waits in either run.
#[test]
fn lstf_replays_two_congestion_points_and_not_three() {
    for reading in [Reading::CanWait, Reading::AnyInEither] {
        assert_eq!(
            overdue(4, 2, reading, &Rule::Lstf, true).0,
            0,
            "{reading:?}"
        );
        assert!(
            overdue(4, 3, reading, &Rule::Lstf, true).0 > 0,
            "{reading:?}: three"
        );
        assert!(
            overdue(4, 2, reading, &Rule::Lstf, false).0 > 0,
            "{reading:?}: without preemption"
        );
        assert!(
            overdue(4, 2, reading, &Rule::Fifo, true).0 > 0,
            "{reading:?}: first in, first out"
        );
    }
}

/// Key result 2 fails if only congestion points of the original count, or only those where the
/// packet itself waits.
#[test]
fn lstf_fails_where_congestion_points_of_the_replay_do_not_count() {
    for reading in [
        Reading::OwnInOriginal,
        Reading::AnyInOriginal,
        Reading::OwnInEither,
    ] {
        assert!(
            overdue(4, 2, reading, &Rule::Lstf, true).0 > 0,
            "{reading:?}"
        );
    }
}

/// A.5: the same packet at the same instant at each node.
#[test]
fn edf_with_static_headers_decides_as_lstf_does() {
    let (mut decisions, mut by_exit, mut fifo) = (0, 0, 0);
    for (seed, network, original) in worlds(4) {
        let preempts = seed % 4 < 2;
        let other = |rule| other_decisions(&network, &original, rule, preempts);
        let [count, differ] = other(Rule::Edf);
        assert_eq!(differ, 0, "seed {seed}");
        decisions += count;
        by_exit += other(Rule::ByExit)[1];
        fifo += other(Rule::Fifo)[1];
    }
    assert!(
        decisions > 50_000 && by_exit > 1_000 && fifo > 1_000,
        "{decisions} decisions; {by_exit} and {fifo} differ"
    );
}

/// A.4 at each decision.
#[test]
fn slack_in_the_header_is_that_of_the_equation() {
    let mut counts = [[0; 2]; 2];
    for (seed, network, original) in worlds(4) {
        for (counts, rule) in counts.iter_mut().zip([Rule::Lstf, Rule::ByExit]) {
            let [compared, broken] = slack_equation(&network, &original, rule, seed % 4 < 2);
            *counts = [counts[0] + compared, counts[1] + broken];
        }
    }
    let [lstf, by_exit] = counts;
    assert!(lstf[0] > 100_000 && lstf[1] == 0, "{lstf:?}");
    assert!(by_exit[1] > 100_000, "{by_exit:?}");
}

/// Counts over replays with random extra delays of packets before hops.
fn held_up(rule: &Rule, preempts: bool) -> Counts {
    let mut counts = Counts::default();
    for (seed, network, original) in worlds(4) {
        let mut random = Pcg64::seed_from_u64(seed + SCHEDULES);
        let mut delay = |_| {
            if random.random_range(0..6) == 0 {
                random.random_range(1..12)
            } else {
                0
            }
        };
        let delays: Vec<Vec<u64>> = original
            .0
            .iter()
            .map(|stays| (0..stays.len()).map(&mut delay).collect())
            .collect();
        let replay = Replayer {
            preempts,
            delays: &delays,
            ..Replayer::new(&network, &original, rule.clone())
        }
        .run();
        counts.add(&by_arrivals(&network, &original, &replay));
    }
    counts
}

/// A.2, Theorem 1: a packet leaves a node late only after a late arrival at the node.
#[test]
fn theorem_1_of_omniscient_headers() {
    let counts = held_up(&Rule::Omniscient, true);
    assert!(
        counts.late_ends > 5_000 && counts.late_ends_alone == 0,
        "{counts:?}"
    );
    for (rule, preempts) in [
        (Rule::Fifo, true),
        (Rule::Lstf, true),
        (Rule::Omniscient, false),
    ] {
        let counts = held_up(&rule, preempts);
        assert!(counts.late_ends_alone > 0, "{rule:?}: {counts:?}");
    }
}

fn undisturbed(
    passes: usize,
    rule: &Rule,
    preempts: bool,
    is_counted: impl Fn(&Network, &Schedule, &Schedule) -> bool,
) -> Counts {
    let mut counts = Counts::default();
    for (_, network, original) in worlds(passes) {
        let replay = Replayer {
            preempts,
            ..Replayer::new(&network, &original, rule.clone())
        }
        .run();
        if is_counted(&network, &original, &replay) {
            counts.add(&by_arrivals(&network, &original, &replay));
        }
    }
    counts
}

/// A.2, Theorem 2: no packet arrives at any node later than in the original.
#[test]
fn theorem_2_of_omniscient_headers() {
    assert_eq!(
        undisturbed(4, &Rule::Omniscient, true, |_, _, _| true),
        Counts::default()
    );
    for rule in [Rule::Lstf, Rule::Fifo] {
        assert!(
            undisturbed(4, &rule, true, |_, _, _| true).late_arrivals > 0,
            "{rule:?}"
        );
    }
}

/// A.7.2: negative slack at a node implies an arrival there after the packet's o(p, a); and
/// Observation 1.
#[test]
fn necessary_condition_of_lstf() {
    let counts = undisturbed(5, &Rule::Lstf, true, |_, _, _| true);
    assert!(
        counts.negative > 100 && counts.negative_alone == 0 && counts.negative_in_time == 0,
        "{counts:?}"
    );
    for (rule, preempts) in [(Rule::Fifo, true), (Rule::Lstf, false)] {
        let counts = undisturbed(5, &rule, preempts, |_, _, _| true);
        assert!(
            counts.negative_alone > 0 && counts.negative_in_time == 0,
            "{rule:?}: {counts:?}"
        );
    }
}

/// Packets at one node of an original schedule without preemption, some of them late in the replay.
fn at_node(draw: &mut dyn FnMut(u64) -> u64, may_be_late: bool) -> Vec<AtNode> {
    let mut start = 0;
    let mut packets = Vec::new();
    for _ in 0..8 {
        start += draw(3);
        let bits = 1 + draw(4);
        let latest = if may_be_late { start + 3 } else { start };
        packets.push(AtNode {
            arrival: draw(latest + 1),
            bits,
            start,
            deadline: start + bits + draw(12),
        });
        start += bits;
    }
    packets
}

/// A.7.2: if all packets arrive by their o(p, a), the order of o(p, a) is feasible, and remains so
/// with each exchange of two bits until it is LSTF's.
#[test]
fn a_feasible_schedule_of_a_node_is_transformed_into_lstfs() {
    let mut random = Pcg64::seed_from_u64(72);
    let mut draw = |below| random.random_range(0..below);
    let mut exchanges = 0;
    for _ in 0..2000 {
        let packets = at_node(&mut draw, false);
        let mut slices = in_original_order(&packets);
        assert!(is_feasible(&packets, &slices), "{packets:?}");
        transform(&packets, &mut slices, |slices| {
            assert!(is_feasible(&packets, slices), "{packets:?} {slices:?}");
            exchanges += 1;
        });
        assert_eq!(slices, in_lstf_order(&packets), "{packets:?}");
    }
    assert!(exchanges > 4_000, "{exchanges}");
    // A late arrival is what the condition is about: there the first schedule may not be feasible.
    let mut failed = 0;
    for _ in 0..2000 {
        let packets = at_node(&mut draw, true);
        let is_late = packets.iter().any(|packet| packet.arrival > packet.start);
        if !is_feasible(&packets, &in_lstf_order(&packets)) {
            assert!(is_late, "{packets:?}");
            failed += 1;
        }
    }
    assert!(failed > 100, "{failed}");
}

/// A.7.1: with at most two congestion points no packet arrives at one after its o(p, a).
#[test]
fn key_observation_of_lstf() {
    let within = |most| {
        move |network: &Network, original: &Schedule, replay: &Schedule| {
            Reading::AnyInEither.most(network, original, replay) <= most
        }
    };
    assert_eq!(
        undisturbed(4, &Rule::Lstf, true, within(2)).arrivals_after_start,
        0
    );
    assert!(undisturbed(4, &Rule::Lstf, true, within(3)).arrivals_after_start > 0);
    assert!(undisturbed(4, &Rule::Fifo, true, within(2)).arrivals_after_start > 0);
}

#[test]
fn limits_out_of_range_are_errors() {
    let limits = RandomNetwork {
        nodes: 1,
        passes: 1,
        packets: 1,
        transmission: 1,
        len: 1,
        propagation: 0,
    };
    assert!(
        limits
            .network(&mut |_| 0)
            .unwrap_err()
            .0
            .contains("legal range 2 and more of packets")
    );
    let large = RandomNetwork {
        packets: 3,
        transmission: 3_000_000,
        ..limits
    };
    assert!(
        large
            .network(&mut |below| below - 1)
            .unwrap_err()
            .0
            .contains("transmission = 3000000: legal range 1 to 1000000")
    );
}
