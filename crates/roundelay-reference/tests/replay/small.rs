//! Exhaustive searches: the smallest counterexamples, and the coverage of the search.

use roundelay_reference::replay::search::{Bounds, Outcome, Question, Search};
use roundelay_reference::replay::{
    Hop, Network, Node, Packet, Reading, Replayer, Rule, Schedule, TooMany, each_replay, priorities,
};

const fn within(packets: usize, nodes: usize, exit: u64, delay: u64) -> Bounds {
    Bounds {
        packets,
        nodes,
        exit,
        delay,
    }
}

fn search(question: Question, at_most: usize, reading: Reading, bounds: &[Bounds]) -> Outcome {
    let outcome = Search {
        question,
        at_most,
        reading,
        may_idle: true,
        bounds: bounds.to_vec(),
    }
    .run()
    .expect("bounds are within range");
    for (network, original) in outcome.found.iter().flat_map(|found| &found.cases) {
        assert_eq!(original.is_viable(network), Ok(()));
    }
    outcome
}

type Case = (Network, Schedule);

/// Packets, nodes and last exit of the counterexample, with its cases.
fn smallest(outcome: &Outcome) -> ((usize, usize, u64), &[Case]) {
    let found = outcome.found.as_ref().expect("within the bounds");
    (
        (found.size.packets, found.size.nodes, found.size.exit),
        &found.cases,
    )
}

fn is_late((network, original): &Case, rule: Rule, preempts: bool) -> bool {
    !Replayer {
        preempts,
        ..Replayer::new(network, original, rule)
    }
    .run()
    .overdue(original)
    .is_empty()
}

fn loads(outcome: &Outcome) -> u64 {
    outcome.covered.iter().map(|size| size.loads).sum()
}

#[test]
fn smallest_counterexample_to_lstf() {
    let outcome = search(
        Question::Lstf,
        3,
        Reading::CanWait,
        &[within(1, 4, 6, 0), within(2, 4, 7, 0), within(3, 3, 6, 0)],
    );
    let (size, cases) = smallest(&outcome);
    assert_eq!(size, (3, 3, 5), "Figure 10 has 6 packets");
    assert!(
        is_late(&cases[0], Rule::Lstf, true)
            && is_late(&cases[0], Rule::Lstf, false)
            && !is_late(&cases[0], Rule::Omniscient, true)
    );
    let busy = Search {
        question: Question::Lstf,
        at_most: 3,
        reading: Reading::CanWait,
        may_idle: false,
        bounds: vec![within(3, 3, 7, 0)],
    };
    let busy = busy.run().expect("bounds are within range");
    assert_eq!(
        smallest(&busy).0,
        (3, 3, 5),
        "nor does it take an original that idles"
    );
}

/// Key result 2: no counterexample with two congestion points, unless those of the replay, or those
/// of other packets, are left out.
#[test]
fn which_reading_of_congestion_points_lstf_needs() {
    let bounds = [within(2, 4, 6, 0), within(3, 3, 6, 0), within(3, 4, 5, 0)];
    for reading in [Reading::AnyInEither, Reading::CanWait] {
        let outcome = search(Question::LstfFirstCome, 2, reading, &bounds);
        assert!(
            outcome.found.is_none() && loads(&outcome) > 100_000,
            "{reading:?}: {} loads",
            loads(&outcome)
        );
        assert!(
            outcome.covered.iter().map(|size| size.failing).sum::<u64>() > 1_000,
            "loads that fail, of more congestion points, are among them"
        );
    }
    for reading in [
        Reading::OwnInOriginal,
        Reading::AnyInOriginal,
        Reading::OwnInEither,
    ] {
        let outcome = search(Question::Lstf, 2, reading, &bounds);
        let (size, cases) = smallest(&outcome);
        assert_eq!(size, (3, 3, 5), "{reading:?}");
        assert!(is_late(&cases[0], Rule::Lstf, true));
    }
}

#[test]
fn smallest_counterexamples_to_priorities() {
    let one = search(Question::ByExit, 1, Reading::CanWait, &[within(2, 4, 5, 0)]);
    assert_eq!(
        smallest(&one).0,
        (2, 3, 3),
        "o(p) fails with one congestion point"
    );
    let bounds = [within(2, 3, 7, 2), within(3, 3, 6, 2)];
    let outcome = search(Question::AnyPriorities, 2, Reading::CanWait, &bounds);
    let (size, cases) = smallest(&outcome);
    assert_eq!(size, (3, 2, 5), "Figure 9 has three nodes");
    let (network, original) = &cases[0];
    let all = priorities(network.packets().len());
    assert_eq!(all.len(), 13);
    assert!(
        all.into_iter()
            .all(|priorities| is_late(&cases[0], Rule::Static(priorities), true)),
        "{}",
        original.lines(network).join("\n")
    );
    assert!(!is_late(&cases[0], Rule::Lstf, true));
    let without_delays = search(
        Question::AnyPriorities,
        2,
        Reading::CanWait,
        &[within(2, 4, 6, 0), within(3, 4, 5, 0)],
    );
    assert_eq!(smallest(&without_delays).0, (3, 4, 5));
    let three = search(Question::AnyPriorities, 3, Reading::CanWait, &bounds);
    assert_eq!(
        smallest(&three).0,
        (2, 3, 4),
        "two packets are enough where three nodes are shared"
    );
    assert!(
        search(
            Question::AnyPriorities,
            1,
            Reading::CanWait,
            &[within(2, 3, 6, 0), within(3, 3, 6, 0)]
        )
        .found
        .is_none()
    );
}

/// Number of replays without idling nodes, without overdue packets, and with `first` sent at its
/// first node at time 0.
fn replays_in_time((network, original): &Case, first: usize) -> usize {
    let mut in_time = 0;
    let is_in_time =
        |replay: &Schedule| replay.0[first][0].start == 0 && replay.overdue(original).is_empty();
    each_replay(network, 10_000, |replay| {
        in_time += usize::from(is_in_time(replay))
    })
    .expect("few enough");
    in_time
}

/// The first two packets have the same attributes in both cases and are alone at their first node.
#[test]
fn smallest_pair_that_no_scheduler_replays() {
    let bounds = [within(2, 3, 6, 0), within(3, 3, 4, 0)];
    let outcome = search(Question::NoScheduler, 3, Reading::CanWait, &bounds);
    let (size, cases) = smallest(&outcome);
    assert_eq!(size, (3, 3, 4), "Figure 8 has 10 packets and 5 nodes");
    let [one, other] = cases else {
        panic!("two cases")
    };
    for packet in [0, 1] {
        assert_eq!(
            one.0.packets()[packet],
            other.0.packets()[packet],
            "input time and path"
        );
        assert_eq!(one.1.exit(packet), other.1.exit(packet), "exit time");
        assert_eq!(
            (
                one.0.packets()[packet].input,
                one.0.packets()[packet].path[0].node
            ),
            (0, 0)
        );
    }
    for (case, first) in [(one, 0), (other, 1)] {
        let [with, without] = [first, 1 - first].map(|first| replays_in_time(case, first));
        assert!(
            with > 0 && without == 0,
            "{with} replays in time with the demanded order, {without} with the other"
        );
    }
    let by_original = search(Question::NoScheduler, 2, Reading::AnyInOriginal, &bounds);
    assert_eq!(
        smallest(&by_original).0,
        (3, 3, 4),
        "by the original alone two congestion points are too many for any scheduler"
    );
    let two = search(Question::NoScheduler, 2, Reading::CanWait, &bounds);
    assert!(
        two.found.is_none() && two.covered.iter().map(|size| size.failing).sum::<u64>() > 100,
        "and where packets can wait they are not"
    );
}

/// Half a minute in release.
#[test]
#[ignore = "longer: a few minutes in debug"]
fn four_packets_at_two_congestion_points() {
    let bounds = [within(3, 4, 7, 0), within(3, 3, 7, 1), within(4, 3, 6, 0)];
    for reading in [Reading::AnyInEither, Reading::CanWait] {
        let outcome = search(Question::LstfFirstCome, 2, reading, &bounds);
        assert!(outcome.found.is_none(), "{reading:?}");
    }
    assert!(
        search(
            Question::NoScheduler,
            2,
            Reading::CanWait,
            &[within(3, 3, 6, 0), within(3, 4, 5, 0)]
        )
        .found
        .is_none()
    );
}

/// All orders of three packets at one node, or at two nodes in a row, where packets meet only once.
#[test]
fn each_replay_is_visited_once() {
    let visited = |nodes: usize| {
        let path = || {
            (0..nodes)
                .map(|node| Hop {
                    node,
                    propagation: 0,
                })
                .collect()
        };
        let packets = ["a", "b", "c"].map(|name| Packet {
            name: name.to_owned(),
            input: 0,
            len: 1,
            path: path(),
        });
        let nodes = (0..nodes).map(|node| Node {
            name: node.to_string(),
            transmission: 1,
        });
        let network = Network::new(nodes.collect(), packets.to_vec()).expect("within range");
        let mut all = Vec::new();
        each_replay(&network, 1_000, |replay| all.push(replay.clone())).expect("few enough");
        assert!(
            (1..all.len()).all(|place| !all[..place].contains(&all[place])),
            "none twice"
        );
        assert_eq!(each_replay(&network, 2, |_| ()), Err(TooMany));
        all.len()
    };
    assert_eq!(
        [visited(1), visited(2)],
        [6, 6],
        "in a row of equal nodes packets meet only once"
    );
}

#[test]
fn searches_out_of_range_are_errors() {
    let error = |question, reading, bounds| {
        Search {
            question,
            at_most: 2,
            reading,
            may_idle: true,
            bounds: vec![bounds],
        }
        .run()
        .unwrap_err()
        .0
    };
    assert_eq!(
        error(Question::Lstf, Reading::CanWait, within(7, 3, 5, 0)),
        "packets = 7: legal range 1 to 6"
    );
    assert_eq!(
        error(
            Question::AnyPriorities,
            Reading::CanWait,
            within(5, 3, 5, 0)
        ),
        "packets = 5: legal range 1 to 4"
    );
    assert_eq!(
        error(Question::Lstf, Reading::CanWait, within(2, 3, 16, 0)),
        "exit = 16: legal range 1 to 15"
    );
    assert!(
        error(
            Question::NoScheduler,
            Reading::AnyInEither,
            within(2, 3, 5, 0)
        )
        .starts_with("congestion points in either run")
    );
}
