//! LSTF, EDF and FIFO on real ports against the model of universal packet scheduling: same network,
//! same original, same stays to the nanosecond.

use std::cell::Cell;

use roundelay::schedulers::edf;
use roundelay_reference::replay as model;

use crate::theorems::network::{Header, Network, Schedule, exit};

const NANO: u64 = 1_000;

fn in_nanos(picos: u64) -> u64 {
    assert_eq!(picos % NANO, 0, "times are whole nanoseconds");
    picos / NANO
}

fn model_of(network: &Network) -> model::Network {
    let node = |(number, picos): (usize, &u64)| model::Node {
        name: number.to_string(),
        transmission: in_nanos(*picos),
    };
    let nodes = network
        .picos_per_byte
        .iter()
        .enumerate()
        .map(node)
        .collect();
    let packet = |(number, journey): (usize, &crate::theorems::network::Journey)| model::Packet {
        name: number.to_string(),
        input: in_nanos(journey.arrival),
        len: journey.len.into(),
        path: journey
            .path
            .iter()
            .map(|stop| model::Hop {
                node: stop.node,
                propagation: in_nanos(stop.propagation),
            })
            .collect(),
    };
    model::Network::new(
        nodes,
        network.journeys.iter().enumerate().map(packet).collect(),
    )
    .expect("within range")
}

fn schedule_of(schedule: &Schedule) -> model::Schedule {
    let stay = |stay: &crate::theorems::network::Stay| model::Stay {
        arrival: in_nanos(stay.arrival),
        start: in_nanos(stay.start),
        end: in_nanos(stay.end),
    };
    model::Schedule(
        schedule
            .iter()
            .map(|stays| stays.iter().map(stay).collect())
            .collect(),
    )
}

/// Whether an interrupted packet ties with another for the link. The port then puts the interrupted
/// packet behind its equals, and the model keeps its place.
fn is_tied(decision: &model::Decision, network: &model::Network) -> bool {
    let least = decision.keys[decision.sent];
    let equals = || {
        decision
            .waiting
            .iter()
            .zip(&decision.keys)
            .filter(|(_, key)| **key == least)
            .map(|(waiting, _)| waiting)
    };
    equals().count() > 1
        && equals()
            .any(|waiting| waiting.remaining < network.transmission(waiting.packet, waiting.hop))
}

/// Runs of the model that differ from runs of the ports, over random networks; `rule` is the rule
/// of the model, `ports` runs the ports.
fn that_differ(
    rule: &model::Rule,
    preempts: bool,
    ports: impl Fn(&Network, &Schedule) -> Schedule,
) -> usize {
    let ties = Cell::new(0);
    let differs = |seed: &u64| {
        let network = Network::random(*seed, 5, 1 + *seed as usize % 5);
        let original = network.at_random(*seed);
        let (of_model, recorded) = (model_of(&network), schedule_of(&original));
        assert_eq!(
            recorded.is_viable(&of_model),
            Ok(()),
            "seed {seed}: what ports record is viable"
        );
        let replayer = model::Replayer {
            preempts,
            ..model::Replayer::new(&of_model, &recorded, rule.clone())
        };
        let mut tied = false;
        let replay = replayer.watched(|decision| tied |= is_tied(&decision, &of_model));
        ties.set(ties.get() + usize::from(tied));
        !tied && replay != schedule_of(&ports(&network, &original))
    };
    let differing = (0..400).filter(differs).count();
    assert!(
        ties.get() <= 40,
        "a tenth at most is left out: {}",
        ties.get()
    );
    differing
}

fn edf(network: &Network, original: &Schedule) -> Schedule {
    let deadline = |(journey, stop)| {
        exit(original, journey) - network.least_time_from(journey, stop)
            + network.transmission(journey, stop)
    };
    network.run(network.ports(|_| edf::Edf::default()), |ticket, _, _| {
        Header {
            deadline: deadline(ticket),
            ..Header::default()
        }
    })
}

#[test]
fn ports_do_as_the_model_of_replay_does() {
    let lstf = |preempts| {
        move |network: &Network, original: &Schedule| network.replay(original, preempts, true)
    };
    assert_eq!(
        that_differ(&model::Rule::Lstf, true, lstf(true)),
        0,
        "lstf preempt"
    );
    assert_eq!(
        that_differ(&model::Rule::Lstf, false, lstf(false)),
        0,
        "lstf"
    );
    assert_eq!(that_differ(&model::Rule::Edf, false, edf), 0, "edf");
    assert_eq!(
        that_differ(&model::Rule::Fifo, false, |network, _| network
            .first_come_first_served()),
        0,
        "fifo"
    );
    let omniscient = |network: &Network, original: &Schedule| {
        network.replay_by(|(journey, stop)| original[journey][stop].start)
    };
    assert_eq!(
        that_differ(&model::Rule::Omniscient, true, omniscient),
        0,
        "o(p, a) as priorities"
    );
    let by_exit = |network: &Network, original: &Schedule| {
        network.replay_by(|(journey, _)| exit(original, journey))
    };
    assert_eq!(
        that_differ(&model::Rule::ByExit, true, by_exit),
        0,
        "o(p) as priority"
    );
}

#[test]
fn the_comparison_with_the_model_finds_other_rules() {
    let untold = |network: &Network, original: &Schedule| network.replay(original, false, false);
    assert!(
        that_differ(&model::Rule::Lstf, false, untold) > 20,
        "slack without the transmission time"
    );
    assert!(
        that_differ(&model::Rule::Lstf, true, |network, original| network
            .replay(original, false, true))
            > 20,
        "no preemption"
    );
    assert!(
        that_differ(&model::Rule::Edf, false, |network, _| network
            .first_come_first_served())
            > 20,
        "fifo"
    );
}
