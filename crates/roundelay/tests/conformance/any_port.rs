//! `AnyPort` against the port with the discipline's static type: the same packets at the same
//! times.

use roundelay::Seed;
use roundelay::schedulers::{AnyDiscipline, Discipline, lstf};
use roundelay::tree::{Config, Node};
use roundelay::{
    AnyPort, Duration, FlowConfig, FlowId, Instant, Limit, Packet, Port, PreemptivePort, QueueSpec,
    Slack,
};
use roundelay_conformance::subjects;

use super::port::{Log, arrivals, mbit};

const LIMIT: Limit = Limit {
    packets: 40,
    bytes: 50_000,
};

/// The arrivals through an `AnyPort`, event by event.
fn log_of(mut port: AnyPort<u64>, arrivals: &[(Instant, Packet<u64>)]) -> Log {
    let mut log = Log::default();
    for (now, packet) in arrivals {
        while port.next_event().is_some_and(|next| next < *now) {
            port.work(&mut log);
        }
        port.arrive(*now, *packet, &mut log);
    }
    port.advance(Instant::MAX, &mut log);
    assert!(port.backlog().is_empty());
    log
}

fn port_of(discipline: AnyDiscipline) -> AnyPort<u64> {
    AnyPort::new(
        &QueueSpec {
            discipline,
            limit: Some(LIMIT),
        },
        mbit(1_000),
        Seed::new(1),
    )
    .expect("legal parameters")
}

#[test]
fn any_port_sends_what_the_disciplines_own_port_sends() {
    let arrivals = arrivals(7, 2_000);
    for discipline in subjects()
        .into_iter()
        .filter(|discipline| !discipline.preempts())
    {
        let mut port = Port::new(
            discipline.build(Seed::new(1)).expect("legal parameters"),
            LIMIT,
            mbit(1_000),
        );
        let mut own = Log::default();
        for (now, packet) in &arrivals {
            port.advance(*now, &mut own);
            port.arrive(*now, *packet, &mut own);
        }
        port.drain(&mut own);
        let any = log_of(port_of(discipline.clone()), &arrivals);
        assert_eq!(
            any.sent.len() + any.dropped.len(),
            arrivals.len(),
            "{discipline}"
        );
        assert!(
            any.sent.len() > 10 && any.sent == own.sent && any.dropped == own.dropped,
            "{discipline}"
        );
    }
}

/// Urgent packets come while long ones are on the link.
#[test]
fn a_preempting_discipline_gets_a_port_that_interrupts() {
    let urgent = |(now, packet): (Instant, Packet<u64>)| {
        let slack = Slack::of(Duration::from_nanos(if packet.flow == FlowId(0) {
            0
        } else {
            1_000_000
        }));
        (now, Packet { slack, ..packet })
    };
    let arrivals: Vec<_> = arrivals(3, 2_000).into_iter().map(urgent).collect();
    let config = lstf::Config { preempt: true };
    let mut port = PreemptivePort::new(
        config.build(Seed::new(0)).expect("legal"),
        LIMIT,
        mbit(1_000),
    );
    let mut own = Log::default();
    for (now, packet) in &arrivals {
        port.advance(*now, &mut own);
        port.arrive(*now, *packet, &mut own);
    }
    port.advance(Instant::MAX, &mut own);
    let [any, waits] = [true, false].map(|preempt| {
        log_of(
            port_of(AnyDiscipline::Lstf(lstf::Config { preempt })),
            &arrivals,
        )
    });
    assert!(any.sent == own.sent && any.dropped == own.dropped);
    assert_ne!(any.sent, waits.sent, "some packet was interrupted");
}

#[test]
fn flows_go_to_the_leaves_of_a_tree() {
    let node = |name, text: &str| Node::new(name, text.parse().expect("legal"));
    let mut tree = Config::new(node("link", "priority")).expect("legal");
    tree.add_leaf(
        "link",
        Node {
            priority: 0,
            ..node("first", "fifo")
        },
    )
    .expect("legal");
    tree.add_leaf(
        "link",
        Node {
            priority: 1,
            ..node("last", "fifo")
        },
    )
    .expect("legal");
    tree.set_default("last").expect("a leaf");
    let mut port = port_of(AnyDiscipline::Tree(tree));
    port.assign(FlowId(1), "first").expect("a leaf");
    let error = port
        .assign(FlowId(1), "middle")
        .expect_err("no node has this name")
        .to_string();
    assert_eq!(error, "node 'middle': no node has this name");
    let packets = [(0, 0), (0, 1), (1, 2), (1, 3)]
        .map(|(flow, number)| (Instant::ZERO, Packet::new(FlowId(flow), 1_000, number)));
    assert_eq!(log_of(port, &packets).order(), [2, 3, 0, 1]);
    let error = port_of(AnyDiscipline::named("drr").expect("known"))
        .assign(FlowId(1), "middle")
        .expect_err("no tree, no leaves");
    assert_eq!(error.to_string(), "node 'middle': the scheduler is no tree");
}

#[test]
fn settings_reach_the_scheduler_and_the_link() {
    let mut port = port_of(AnyDiscipline::named("wf2q_plus").expect("known"));
    assert!(
        port.set_flow(
            FlowId(0),
            FlowConfig {
                weight: 0,
                ..FlowConfig::DEFAULT
            }
        )
        .is_err()
    );
    port.set_flow(
        FlowId(0),
        FlowConfig {
            weight: 3,
            ..FlowConfig::DEFAULT
        },
    )
    .expect("legal");
    port.set_decision_cost(Duration::from_nanos(100));
    assert_eq!(port.rate(), mbit(1_000));
    let packets: Vec<_> = (0..8)
        .map(|number| {
            (
                Instant::ZERO,
                Packet::new(FlowId(number % 2), 1_000, number.into()),
            )
        })
        .collect();
    let log = log_of(port, &packets);
    // Weight 3 to 1: three packets of flow 0 among the first four.
    assert_eq!(
        log.order()
            .iter()
            .take(4)
            .filter(|number| *number % 2 == 0)
            .count(),
        3
    );
    assert_eq!(
        log.sent[0].1,
        Instant::from_nanos(100),
        "a decision takes 100 ns"
    );
}

#[test]
fn a_lower_limit_drops_packets_at_once() {
    for text in ["fifo", "lstf", "lstf preempt"] {
        let (mut port, mut log) = (
            port_of(text.parse::<QueueSpec>().expect("legal").discipline),
            Log::default(),
        );
        (0..10).for_each(|number| {
            port.arrive(
                Instant::ZERO,
                Packet::new(FlowId(0), 1_000, number),
                &mut log,
            )
        });
        port.set_limit(Instant::ZERO, Limit::of_packets(4), &mut log);
        assert_eq!(
            (port.backlog().packets, log.dropped.len()),
            (4, 6),
            "{text}"
        );
    }
}
