//! LSTF: order, equivalence with EDF, and the schedules that LSTF can and cannot replay; also
//! disciplines that fail.

use std::collections::BTreeSet;

use proptest::prelude::*;
use roundelay::schedulers::{Discipline, edf, fifo, lstf, sjf};
use roundelay::{Control, Seed};
use roundelay::{DropReason, Duration, FlowId, Instant, Packet, Rate, Scheduler, Slack};
use roundelay_reference::Lstf as Reference;

use crate::theorems::network::{
    Header, Journey, Network, Schedule, Stay, Stop, Ticket, exit, overdue,
};
use crate::theorems::ranked::{Step, dropped, fixed_steps, largest, obeys, smallest, steps};

/// A byte takes a nanosecond.
fn rate() -> Rate {
    Rate::from_bits_per_second(8_000_000_000).expect("not zero")
}

fn build(rate: Option<Rate>) -> lstf::Lstf<u64> {
    let mut lstf = lstf::Config::default().build(Seed::new(0)).expect("legal");
    if let Some(rate) = rate {
        lstf.set_link_rate(rate);
    }
    lstf
}

fn arrival(now: Instant, number: u64, flow: u32, len: u32, slack: i64) -> Packet<u64> {
    Packet {
        arrival: now,
        slack: Slack::from_picos(slack),
        ..Packet::new(FlowId(flow), len, number)
    }
}

/// Whether a scheduler dequeues and evicts the same packets as the reference, one by one.
fn is_as_the_reference(
    mut scheduler: impl Scheduler<u64>,
    rate: Option<Rate>,
    steps: &[Step],
) -> bool {
    let (mut reference, mut now) = (Reference::new(rate), Instant::ZERO);
    for (number, step) in (0..).zip(steps) {
        let agrees = match *step {
            Step::Arrive {
                flow, len, slack, ..
            } => {
                let packet = arrival(now, number, flow, len, slack);
                reference.enqueue(now, packet);
                scheduler.enqueue(now, packet).is_ok()
            }
            Step::Leave => scheduler.dequeue(now) == reference.dequeue(now),
            Step::Evict => scheduler.evict() == reference.evict(now),
            Step::Wait(picos) => {
                now += Duration::from_picos(picos);
                true
            }
        };
        scheduler.check_invariants();
        if !agrees {
            return false;
        }
    }
    std::iter::from_fn(|| Some((scheduler.dequeue(now), reference.dequeue(now))))
        .take_while(|(ours, theirs)| ours.is_some() || theirs.is_some())
        .all(|(ours, theirs)| ours == theirs)
}

/// Whether EDF with the deadline arrival + slack + T takes the same packets as LSTF with or without
/// a known rate.
fn edf_agrees(lstf_knows: Option<Rate>, steps: &[Step]) -> bool {
    let (mut lstf, mut edf): (_, edf::Edf<u64>) = (build(lstf_knows), edf::Edf::default());
    let start = 1 << 40;
    let mut now = Instant::from_picos(start);
    let numbers = |packets: [Option<Packet<u64>>; 2]| {
        packets.map(|packet| packet.map(|packet| packet.payload))
    };
    let mut log = Vec::new();
    for (number, step) in (0..).zip(steps) {
        match *step {
            Step::Arrive {
                flow, len, slack, ..
            } => {
                let packet = arrival(now, number, flow, len, slack);
                let due = now.as_picos().saturating_add_signed(slack)
                    + rate().time_of(len.into()).as_picos();
                assert!(lstf.enqueue(now, packet).is_ok());
                assert!(
                    edf.enqueue(
                        now,
                        Packet {
                            deadline: Instant::from_picos(due),
                            ..packet
                        }
                    )
                    .is_ok()
                );
            }
            Step::Leave => log.push(numbers([lstf.dequeue(now), edf.dequeue(now)])),
            Step::Evict => log.push(numbers([lstf.evict(), edf.evict()])),
            Step::Wait(picos) => now += Duration::from_picos(picos),
        }
    }
    while !lstf.backlog().is_empty() {
        log.push(numbers([lstf.dequeue(now), edf.dequeue(now)]));
    }
    log.into_iter().all(|[lstf, edf]| lstf == edf)
}

proptest! {
    #[test]
    fn it_decides_as_the_reference_sorts(steps in steps()) {
        prop_assert!(is_as_the_reference(build(Some(rate())), Some(rate()), &steps));
        prop_assert!(is_as_the_reference(build(None), None, &steps));
    }

    #[test]
    fn edf_with_the_same_deadlines_decides_alike_at_one_node(steps in steps()) {
        prop_assert!(edf_agrees(Some(rate()), &steps));
    }
}

#[test]
fn the_checks_find_other_orders() {
    let steps = fixed_steps();
    assert!(
        is_as_the_reference(build(Some(rate())), Some(rate()), &steps)
            && edf_agrees(Some(rate()), &steps)
    );
    assert!(!is_as_the_reference(
        fifo::Fifo::default(),
        Some(rate()),
        &steps
    ));
    assert!(
        !is_as_the_reference(build(None), Some(rate()), &steps),
        "lengths matter"
    );
    assert!(!edf_agrees(None, &steps), "without T it is not EDF");
}

/// With packets of one length T is the same for all, and a scheduler without the rate decides as
/// one with the rate.
#[test]
fn the_rate_matters_only_where_lengths_differ() {
    let alike = |step: Step| match step {
        Step::Arrive {
            flow,
            priority,
            slack,
            deadline,
            ..
        } => Step::Arrive {
            flow,
            len: 1500,
            priority,
            slack,
            deadline,
        },
        other => other,
    };
    let steps: Vec<_> = fixed_steps().into_iter().map(alike).collect();
    assert!(
        is_as_the_reference(build(None), Some(rate()), &steps)
            && is_as_the_reference(build(Some(rate())), None, &steps)
    );
}

/// Instants and slacks with sums beyond 64 bits.
#[test]
fn extremes_do_not_wrap() {
    let mut lstf = build(Some(Rate::from_bits_per_second(1).expect("not zero")));
    let extremes = [
        (0, i64::MIN),
        (0, i64::MAX),
        (u64::MAX, i64::MAX),
        (u64::MAX, i64::MIN),
    ];
    for (number, (now, slack)) in (0..).zip(extremes) {
        let now = Instant::from_picos(now);
        assert!(
            lstf.enqueue(now, arrival(now, number, 0, u32::MAX, slack))
                .is_ok()
        );
    }
    let order: Vec<_> = std::iter::from_fn(|| lstf.dequeue(Instant::MAX))
        .map(|packet| packet.payload)
        .collect();
    assert_eq!(order, [0, 1, 3, 2]);
}

/// Slack is the remainder on arrival at this node; the time to get here, as in the stamp of the
/// node before, is already subtracted.
#[test]
fn slack_counts_from_the_arrival_at_this_node() {
    let mut lstf = build(None);
    let stamped =
        |stamp, number, slack| arrival(Instant::from_picos(stamp), number, 0, 1000, slack);
    assert!(
        lstf.enqueue(Instant::from_picos(500), stamped(500, 0, 300))
            .is_ok(),
        "due at 800"
    );
    assert!(
        lstf.enqueue(Instant::from_picos(600), stamped(0, 1, 400))
            .is_ok(),
        "due at 1000, not at 400"
    );
    let order: Vec<_> = std::iter::from_fn(|| lstf.dequeue(Instant::from_picos(600)))
        .map(|packet| packet.payload)
        .collect();
    assert_eq!(order, [0, 1]);
}

#[test]
fn a_full_buffer_gives_up_the_most_slack() {
    let packets = [20, 50, 50, 5, 10, 50, 70, 5]
        .map(|slack| arrival(Instant::ZERO, 0, 0, 1000, slack * 1000));
    let expected = [
        (2, DropReason::PushedOut),
        (5, DropReason::Full),
        (6, DropReason::Full),
        (1, DropReason::PushedOut),
    ];
    assert_eq!(dropped(build(None), &packets), expected);
    assert_ne!(
        dropped(
            fifo::Config.build(Seed::new(0)).expect("no parameters"),
            &packets
        ),
        expected
    );
}

/// UPS, section 3.1: with slack = flow size times a time longer than any packet's wait, LSTF is
/// shortest job first.
#[test]
fn slack_by_the_size_of_the_flow_is_sjf() {
    let by_size = |step: Step| match step {
        Step::Arrive {
            flow,
            len,
            priority,
            deadline,
            ..
        } => Step::Arrive {
            flow,
            len,
            priority,
            slack: i64::from(priority) * 1_000_000_000_000,
            deadline,
        },
        other => other,
    };
    let steps: Vec<_> = fixed_steps().into_iter().map(by_size).collect();
    let first = |waiting: &[Packet<u64>]| smallest(waiting, |packet| packet.priority);
    let last = |waiting: &[Packet<u64>]| largest(waiting, |packet| packet.priority);
    assert!(
        obeys(build(Some(rate())), &steps, first, last)
            && obeys(sjf::Sjf::default(), &steps, first, last)
    );
    assert!(!obeys(fifo::Fifo::default(), &steps, first, last));
}

/// Packets sent for each of two flows in the first 900 slots of a link: flow 0 offers four packets
/// a slot, flow 1 one in two slots, its share. Slack is set as in UPS, section 3.3: the wait of a
/// packet at the flow's share of the link.
fn shares(mut scheduler: impl Scheduler<u64>) -> [u32; 2] {
    const SLOT: u64 = 1_000_000;
    let (mut due, mut sent) = ([0; 2], [0; 2]);
    for slot in 0..900 {
        let now = Instant::from_picos(slot * SLOT);
        for flow in if slot % 2 == 0 {
            vec![0, 0, 0, 0, 1]
        } else {
            vec![0, 0, 0, 0]
        } {
            // slack(p) = max(0, slack(p - 1) + time at the share - gap), stored as an instant.
            due[flow] = now.as_picos().max(due[flow] + 2 * SLOT);
            let slack = (due[flow] - now.as_picos()) as i64;
            assert!(
                scheduler
                    .enqueue(now, arrival(now, slot, flow as u32, 1000, slack))
                    .is_ok()
            );
        }
        sent[scheduler.dequeue(now).expect("packets wait").flow.index()] += 1;
    }
    sent
}

#[test]
fn slack_by_the_time_at_a_rate_is_fair() {
    let [greedy, meek] = shares(build(None));
    assert!(greedy.abs_diff(meek) <= 2, "{greedy} and {meek}");
    let [greedy, meek] = shares(fifo::Fifo::default());
    assert!(greedy > 6 * meek, "FIFO: {greedy} and {meek}");
}

/// Deadlines of the appendix: o(p) - tmin(p, a, dest(p)) + T(p, a).
fn local_deadline(network: &Network, original: &Schedule, (journey, stop): Ticket) -> u64 {
    exit(original, journey) - network.least_time_from(journey, stop)
        + network.transmission(journey, stop)
}

fn replay_by_deadlines(network: &Network, deadline: impl Fn(Ticket) -> u64) -> Schedule {
    let ports = network.ports(|_| edf::Edf::default());
    network.run(ports, |ticket, _, _| Header {
        deadline: deadline(ticket),
        ..Header::default()
    })
}

/// UPS, A.5: each node takes the same packets, so packets are everywhere at the same times.
#[test]
fn edf_with_static_deadlines_decides_as_lstf_does() {
    let (mut static_differs, mut untold_differs) = (0, 0);
    for seed in 0..150 {
        let network = Network::random(seed, 4, 1 + seed as usize % 4);
        let original = network.at_random(seed);
        let replay = network.replay(&original, false, true);
        assert_eq!(
            replay_by_deadlines(&network, |ticket| local_deadline(
                &network, &original, ticket
            )),
            replay,
            "seed {seed}"
        );
        static_differs += u32::from(
            replay_by_deadlines(&network, |(journey, _)| exit(&original, journey)) != replay,
        );
        untold_differs += u32::from(network.replay(&original, false, false) != replay);
    }
    assert!(
        static_differs > 20,
        "deadlines of the whole network are others at each node: {static_differs}"
    );
    assert!(
        untold_differs > 20,
        "and so is slack without T: {untold_differs}"
    );
}

/// Overdue packets of many random schedules in which each packet passes at most `stops` of the
/// nodes.
fn overdue_of(stops: usize, replay: impl Fn(&Network, &Schedule) -> Schedule) -> usize {
    let of_seed = |seed| {
        let network = Network::random(seed, stops + 1, stops);
        let original = network.at_random(seed);
        overdue(&original, &replay(&network, &original))
    };
    (0..1000).map(of_seed).sum()
}

fn preemptive(network: &Network, original: &Schedule) -> Schedule {
    network.replay(original, true, true)
}

/// UPS, A.7: with at most two nodes where a packet can wait, none is overdue.
#[test]
fn two_congestion_points_are_replayed() {
    assert_eq!(
        (overdue_of(1, preemptive), overdue_of(2, preemptive)),
        (0, 0)
    );
    let plain = overdue_of(2, |network, original| network.replay(original, false, true));
    let untold = overdue_of(2, |network, original| network.replay(original, true, false));
    let fifo = overdue_of(2, |network, _| network.first_come_first_served());
    assert!(plain > 0, "not without preemption");
    assert!(untold > plain, "nor by slack without T: {untold}");
    assert!(fifo > 500, "nor by FIFO: {fifo}");
}

/// UPS, A.7.3, beside the figure: with three nodes some packets are overdue.
#[test]
fn three_congestion_points_can_fail() {
    assert!(overdue_of(3, preemptive) > 0);
}

/// UPS, A.6: the time of exit as a priority replays one congestion point and not two.
#[test]
fn priorities_replay_one_congestion_point_and_not_two() {
    let by_exit = |network: &Network, original: &Schedule| {
        network.replay_by(|(journey, _)| exit(original, journey))
    };
    assert_eq!(overdue_of(1, by_exit), 0);
    assert!(overdue_of(2, by_exit) > 0);
}

/// UPS, A.2: with each packet's transmission start at each node known, any schedule is replayed.
#[test]
fn omniscient_priorities_replay_anything() {
    let omniscient = |network: &Network, original: &Schedule| {
        network.replay_by(|(journey, stop)| original[journey][stop].start)
    };
    for stops in 1..=6 {
        assert_eq!(overdue_of(stops, omniscient), 0, "{stops} nodes");
    }
}

/// A packet's remaining slack is its exit time in the original less its exit time in the replay,
/// whether packets are interrupted or not.
#[test]
fn slack_left_at_the_exit_tells_who_is_overdue() {
    for (seed, preempt) in (0..60).flat_map(|seed| [(seed, true), (seed, false)]) {
        let network = Network::random(seed, 4, 3);
        let original = network.at_random(seed);
        let replay = network.replay(&original, preempt, true);
        for (journey, stays) in replay.iter().enumerate() {
            let left = network.dynamic_slack(&original, journey, stays).slack;
            assert_eq!(
                left,
                exit(&original, journey) as i64 - exit(&replay, journey) as i64,
                "seed {seed}"
            );
        }
    }
}

/// Nodes of a packet's path at which any packet waits.
fn congestion_points(network: &Network, schedule: &Schedule, journey: usize) -> usize {
    let nodes_of = |journey: usize| network.journeys[journey].path.iter().map(|stop| stop.node);
    let waits = |stay: &Stay| stay.start > stay.arrival;
    let of_journey = |number: usize| {
        nodes_of(number)
            .zip(&schedule[number])
            .filter(|(_, stay)| waits(stay))
            .map(|(node, _)| node)
    };
    let congested: BTreeSet<_> = (0..schedule.len()).flat_map(of_journey).collect();
    nodes_of(journey)
        .filter(|node| congested.contains(node))
        .count()
}

/// The theorem is about nodes where a packet can wait. The nodes with a wait in the original are
/// not enough: an uncongested node in between can become a third one in the replay. Smallest case
/// found: three packets, two nodes with a queue, one without.
#[test]
fn a_node_without_a_queue_in_the_original_counts() {
    let long = Journey::new(3_000_000, 1500, &[0, 1, 2]);
    let journeys = vec![
        long,
        Journey::new(3_000_000, 1000, &[0, 2]),
        Journey::new(6_000_000, 1000, &[1]),
    ];
    let network = Network {
        picos_per_byte: vec![1000, 1000, 2000],
        journeys,
    };
    let original = network.first_come_first_served();
    let passed: Vec<_> = (0..3)
        .map(|journey| congestion_points(&network, &original, journey))
        .collect();
    assert_eq!(passed, [2, 2, 0], "node 1 makes nobody wait");
    let replay = preemptive(&network, &original);
    assert_eq!(
        (
            overdue(&original, &replay),
            exit(&replay, 0) - exit(&original, 0)
        ),
        (1, 500_000)
    );
}

/// A worked example of the paper, as in its file. Times are in units.
#[derive(Debug, Default)]
struct Figure {
    nodes: Vec<String>,
    packets: Vec<String>,
    network: Option<Network>,
    /// For each packet: exit and slack as written.
    written: Vec<(u64, u64)>,
    original: Schedule,
    replay: Schedule,
    slacks: Vec<Vec<i64>>,
}

const UNIT: u64 = 1_000_000;
const LEN: u32 = 1000;

fn units(text: &str) -> u64 {
    (text
        .parse::<f64>()
        .unwrap_or_else(|_| panic!("'{text}' is no time"))
        * UNIT as f64)
        .round() as u64
}

fn place(names: &[String], name: &str) -> usize {
    names
        .iter()
        .position(|known| known == name)
        .unwrap_or_else(|| panic!("'{name}' is not known"))
}

impl Figure {
    /// Reads a file's tables: the tables before the first section, and the tables of section
    /// `number`.
    fn read(markdown: &str, number: usize) -> Self {
        let sections: Vec<_> = markdown.split("\n## ").collect();
        let (mut figure, mut table) = (Self::default(), String::new());
        let mut picos_per_byte = Vec::new();
        for line in sections[0]
            .lines()
            .chain(sections[number].lines())
            .filter(|line| line.starts_with('|') && !line.starts_with("|--"))
        {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            match (table.as_str(), cells.as_slice()) {
                (_, [kind @ ("node" | "packet" | "original" | "arrives at"), ..]) => {
                    table = (*kind).to_owned()
                }
                ("node", [node, time]) => {
                    figure.nodes.push((*node).to_owned());
                    picos_per_byte.push(units(time) / u64::from(LEN));
                }
                ("packet", [packet, enters, path, exits, slack]) => {
                    figure.packets.push((*packet).to_owned());
                    figure.written.push((units(exits), units(slack)));
                    let journey = Journey {
                        arrival: units(enters),
                        len: LEN,
                        path: figure.path(path),
                    };
                    let network = figure.network.get_or_insert(Network {
                        picos_per_byte: picos_per_byte.clone(),
                        journeys: Vec::new(),
                    });
                    network.journeys.push(journey);
                    figure.original.push(Vec::new());
                    figure.replay.push(Vec::new());
                    figure.slacks.push(Vec::new());
                }
                ("original", [node, stays]) => {
                    for stay in stays.split("),") {
                        let (packet, times) =
                            stay.split_once('(').expect("packet(arrival, scheduling)");
                        let (arrival, start) = times
                            .trim_end_matches(')')
                            .split_once(',')
                            .expect("two times");
                        let journey = place(&figure.packets, packet.trim());
                        let stay = figure.stay(node, arrival.trim(), start.trim());
                        figure.original[journey].push(stay);
                    }
                }
                ("arrives at", [node, packet, arrives, slack, sent, _]) => {
                    let journey = place(&figure.packets, packet);
                    let stay = figure.stay(node, arrives, sent);
                    figure.replay[journey].push(stay);
                    figure.slacks[journey].push(units(slack) as i64);
                }
                _ => panic!("a row is not understood: {line}"),
            }
        }
        figure
    }

    /// Nodes, with `+2` between two nodes for a link of two units.
    fn path(&self, text: &str) -> Vec<Stop> {
        let (mut path, mut propagation) = (Vec::new(), 0);
        for word in text.split_whitespace() {
            match word.strip_prefix('+') {
                Some(time) => propagation = units(time),
                None => path.push(Stop {
                    node: place(&self.nodes, word),
                    propagation: std::mem::take(&mut propagation),
                }),
            }
        }
        path
    }

    fn stay(&self, node: &str, arrival: &str, start: &str) -> Stay {
        let transmission = self.network().picos_per_byte[place(&self.nodes, node)] * u64::from(LEN);
        Stay {
            arrival: units(arrival),
            start: units(start),
            end: units(start) + transmission,
        }
    }

    fn network(&self) -> &Network {
        self.network.as_ref().expect("packets were read")
    }

    /// Checks that the original is viable and has the written exits and slacks, that each node
    /// alone sends as written for the written arrivals and slacks, and that the whole network does
    /// too. Returns the overdue packets.
    fn check(&self) -> Vec<&str> {
        let network = self.network();
        let viable = network.replay_by(|(journey, stop)| self.original[journey][stop].start);
        assert_eq!(
            viable, self.original,
            "the original is a schedule of this network"
        );
        let computed: Vec<_> = (0..self.packets.len())
            .map(|journey| (exit(&viable, journey), network.slack(&viable, journey)))
            .collect();
        assert_eq!(computed, self.written, "exits and slacks");
        for node in 0..self.nodes.len() {
            self.check_node(node);
        }
        for preempt in [false, true] {
            assert_eq!(
                network.replay(&self.original, preempt, true),
                self.replay,
                "preempt: {preempt}"
            );
        }
        let is_overdue =
            |journey: &usize| exit(&self.replay, *journey) > exit(&self.original, *journey);
        (0..self.packets.len())
            .filter(is_overdue)
            .map(|journey| self.packets[journey].as_str())
            .collect()
    }

    fn check_node(&self, node: usize) {
        let (mut journeys, mut expected, mut slacks) = (Vec::new(), Vec::new(), Vec::new());
        for (journey, stays) in self.replay.iter().enumerate() {
            let path = &self.network().journeys[journey].path;
            for (stop, stay) in stays
                .iter()
                .enumerate()
                .filter(|(stop, _)| path[*stop].node == node)
            {
                journeys.push(Journey::new(stay.arrival, LEN, &[0]));
                expected.push(vec![*stay]);
                slacks.push(self.slacks[journey][stop]);
            }
        }
        let alone = Network {
            picos_per_byte: vec![self.network().picos_per_byte[node]],
            journeys,
        };
        let ports = alone.ports(|_| Network::lstf(false, true));
        let sent = alone.run(ports, |(journey, _), _, _| Header {
            slack: slacks[journey],
            ..Header::default()
        });
        assert_eq!(sent, expected, "{} alone", self.nodes[node]);
    }
}

#[test]
fn figure_8() {
    let cases = [1, 2].map(|case| Figure::read(include_str!("../traces/ups-figure-8.txt"), case));
    assert_eq!(cases[0].check(), ["b2", "b3"]);
    assert_eq!(cases[1].check(), [] as [&str; 0]);
    // Nothing about a or x distinguishes the cases.
    let [first, second] = &cases;
    for packet in ["a", "x"].map(|name| place(&first.packets, name)) {
        assert_eq!(first.written[packet], second.written[packet]);
    }
    // With a in front at α0 the first case is replayed, and the second one is not.
    let a_first = cases.map(|figure| {
        let header = |(journey, stop): Ticket, _, stays: &[Stay]| {
            let header = figure
                .network()
                .dynamic_slack(&figure.original, journey, stays);
            if journey == 0 && stop == 0 {
                Header { slack: 0, ..header }
            } else {
                header
            }
        };
        let network = figure.network();
        overdue(
            &figure.original,
            &network.run(
                network.preemptive_ports(|_| Network::lstf(true, true)),
                header,
            ),
        )
    });
    assert!(a_first[0] == 0 && a_first[1] > 0, "{a_first:?}");
}

#[test]
fn figure_9() {
    let figure = Figure::read(include_str!("../traces/ups-figure-9.md"), 1);
    assert_eq!(figure.check(), [] as [&str; 0]);
    assert_eq!(figure.replay, figure.original);
    // For any priorities of a, b and c, one of the three is overdue.
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let replay = figure.network().replay_by(|(journey, _)| order[journey]);
        assert!(overdue(&figure.original, &replay) > 0, "{order:?}");
    }
}

#[test]
fn figure_10() {
    let figure = Figure::read(include_str!("../traces/ups-figure-10.md"), 1);
    assert_eq!(figure.check(), ["c2"]);
    assert_eq!(
        congestion_points(figure.network(), &figure.original, 0),
        2,
        "by what waits in the original"
    );
    assert_eq!(
        congestion_points(figure.network(), &figure.replay, 0),
        2,
        "and in the replay"
    );
    // With c2 in front of a at α1, a is overdue.
    let header = |(journey, stop): Ticket, _, stays: &[Stay]| {
        let header = figure
            .network()
            .dynamic_slack(&figure.original, journey, stays);
        if (journey, stop) == (0, 1) {
            Header {
                slack: header.slack + 1,
                ..header
            }
        } else {
            header
        }
    };
    let network = figure.network();
    let replay = network.run(network.ports(|_| Network::lstf(false, true)), header);
    assert_eq!(
        (
            overdue(&figure.original, &replay),
            exit(&replay, 0) - exit(&figure.original, 0)
        ),
        (1, UNIT)
    );
}
