//! Urgency fields in packet headers: each hop subtracts the waiting time from the slack, the
//! initial slack is reported on arrival, and deadline and priority stay.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rand::RngExt as _;
use roundelay::Seed;
use roundelay::{Duration, FlowId, Instant, Packet, Slack};
use roundelay_sim::{
    Agent, Arrival, Content, Context, FlowSpec, LinkConfig, LinkId, Network, NodeId, Outgoing,
    PacketState, Probe, Tag,
};

use crate::Observed;

const HOPS: u32 = 3;

/// Header fields at sending.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Said {
    slack: Slack,
    deadline: Instant,
    priority: u32,
}

impl Said {
    const fn of<T>(packet: &Packet<T>) -> Self {
        Self {
            slack: packet.slack,
            deadline: packet.deadline,
            priority: packet.priority,
        }
    }
}

/// Sends bursts, each packet with a different urgency, and records arrivals.
struct Sender {
    flow: Option<FlowId>,
    sent: Vec<Said>,
    heard: Arc<Mutex<Vec<Heard>>>,
}

/// An arrival: packet number, initial slack, remaining slack, delay, length.
type Heard = (u64, Slack, Slack, Duration, u32);

impl Agent for Sender {
    fn wake(&mut self, context: &mut Context<'_>) {
        let spec = FlowSpec {
            from: NodeId(0),
            to: NodeId(HOPS),
            config: None,
        };
        let flow = *self.flow.get_or_insert_with(|| context.open(spec));
        for _ in 0..context.random().random_range(1..8) {
            let slack = Slack::from_picos(context.random().random_range(0..20_000_000_000));
            let deadline = context.now()
                + Duration::from_picos(context.random().random_range(0..1_000_000_000));
            let priority = context.random().random_range(0..100);
            let content = Content::Number(self.sent.len() as u64);
            self.sent.push(Said {
                slack,
                deadline,
                priority,
            });
            let len = context.random().random_range(64..1500);
            context.send(Outgoing {
                slack,
                deadline,
                priority,
                content,
                ..Outgoing::new(flow, len)
            });
        }
        if self.sent.len() < 400 {
            context.wake_at(context.now() + Duration::from_millis(4));
        }
    }

    fn arrive(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        let Content::Number(number) = arrival.content else {
            panic!("a packet with a number")
        };
        assert_eq!(arrival.initial_slack, self.sent[number as usize].slack);
        let Arrival {
            initial_slack,
            slack,
            sent,
            len,
            ..
        } = *arrival;
        self.heard.lock().expect("nobody else").push((
            number,
            initial_slack,
            slack,
            context.now().since(sent),
            len,
        ));
    }
}

/// Header fields on arrival at each queue, and the waiting time there.
#[derive(Default)]
struct Hops {
    came: BTreeMap<(u64, u32), (Instant, Said)>,
    went: BTreeMap<(u64, u32), (Duration, Said)>,
}

impl Probe for Hops {
    fn arrived(&mut self, now: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState) {
        self.came
            .insert((state.number, link.0), (now, Said::of(packet)));
    }

    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        [start, _]: [Instant; 2],
    ) {
        let (came, _) = self.came[&(state.number, link.0)];
        self.went.insert(
            (state.number, link.0),
            (start.since(came), Said::of(packet)),
        );
    }
}

/// A chain of three links with the same queue, each slower than the previous link. Returns the
/// simulation and the recorded arrivals.
fn run<'a>(queue: &str, hops: &'a mut Hops) -> (Observed<'a>, Vec<Heard>) {
    let mut network = Network::default();
    let nodes: Vec<_> = (0..=HOPS).map(|_| network.add_node()).collect();
    for (pair, rate) in nodes.windows(2).zip(["20mbit", "10mbit", "8mbit"]) {
        let rate = || rate.parse().expect("a rate");
        let link = LinkConfig::new(
            pair[0],
            pair[1],
            rate(),
            Duration::from_millis(1),
            queue.parse().expect("a queue"),
        );
        network.add_link(link).expect("both ends are there");
        let back = LinkConfig::new(
            pair[1],
            pair[0],
            rate(),
            Duration::ZERO,
            "fifo".parse().expect("a queue"),
        );
        network.add_link(back).expect("both ends are there");
    }
    let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
    let mut simulation = Observed::with_probe(network, Seed::new(5), hops).expect("legal queues");
    simulation.spawn(
        Box::new(Sender {
            flow: None,
            sent: Vec::new(),
            heard: Arc::clone(&heard),
        }),
        Instant::ZERO,
    );
    simulation.run(Instant::MAX).expect("a route");
    let heard = std::mem::take(&mut *heard.lock().expect("nobody else"));
    assert!(heard.len() >= 400);
    (simulation, heard)
}

fn way(simulation: &Observed) -> Vec<LinkId> {
    simulation
        .network()
        .route(NodeId(0), NodeId(HOPS))
        .expect("a route")
}

#[test]
fn slack_is_rewritten_hop_by_hop_and_the_rest_is_carried() {
    for queue in ["fifo limit 1000", "lstf limit 1000", "lifo limit 1000"] {
        let mut hops = Hops::default();
        let (simulation, heard) = run(queue, &mut hops);
        let way = way(&simulation);
        let Hops { came, went } = hops;
        let mut waited = [0; HOPS as usize];
        for (number, initial, left, ..) in &heard {
            let mut slack = *initial;
            for (hop, LinkId(link)) in way.iter().enumerate() {
                let (_, comes) = came[&(*number, *link)];
                assert_eq!(
                    comes.slack, slack,
                    "{queue}: packet {number} as it comes to hop {hop}"
                );
                let (wait, goes) = went[&(*number, *link)];
                slack = slack.after(wait);
                assert_eq!(
                    goes.slack, slack,
                    "{queue}: packet {number} as it leaves hop {hop}"
                );
                assert_eq!(
                    (goes.deadline, goes.priority),
                    (comes.deadline, comes.priority)
                );
                waited[hop] += u32::from(wait > Duration::ZERO);
            }
            assert_eq!(*left, slack, "{queue}: packet {number} at its end");
        }
        assert!(
            waited.iter().all(|packets| *packets > 50),
            "{queue}: {waited:?} waited"
        );
    }
}

/// The remaining slack is the initial slack minus all time above the minimum for the route,
/// interruptions included. The result is negative if this time exceeds the initial slack.
#[test]
fn slack_is_what_is_left_of_the_time_that_could_be_lost() {
    for queue in [
        "fifo limit 1000",
        "lstf limit 1000",
        "lstf preempt limit 1000",
    ] {
        let mut hops = Hops::default();
        let (simulation, heard) = run(queue, &mut hops);
        let way = way(&simulation);
        for (number, initial, left, took, len) in &heard {
            let least = simulation.network().fastest(way.iter().copied(), *len);
            assert_eq!(
                *left,
                initial.after(*took - least),
                "{queue}: packet {number}"
            );
        }
        assert!(
            heard.iter().any(|(_, _, left, ..)| *left < Slack::ZERO),
            "{queue}: none is late"
        );
        let waits: u128 = simulation.links().map(|link| link.waits).sum();
        let lost = |(_, _, _, took, len): &Heard| {
            u128::from((*took - simulation.network().fastest(way.iter().copied(), *len)).as_picos())
        };
        assert_eq!(
            waits,
            heard.iter().map(lost).sum::<u128>(),
            "{queue}: what links count as waits"
        );
    }
}
