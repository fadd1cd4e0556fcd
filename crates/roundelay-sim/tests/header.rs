//! What a packet says of its urgency on its way: slack is taken off hop by hop by what it waited, what it was sent with is told at its end, deadline and
//! priority are left alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rand::RngExt as _;
use roundelay::{Duration, FlowId, Instant, Packet, Slack};
use roundelay_sim::{
    Agent, Arrival, Cargo, Carried, Content, Context, FlowSpec, LinkConfig, LinkId, Network, NodeId, Outgoing, Probe, Simulation,
};

const HOPS: u32 = 3;

/// What was said of a packet as it was sent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Said {
    slack: Slack,
    deadline: Instant,
    priority: u32,
}

impl Said {
    const fn of<T>(packet: &Packet<T>) -> Self {
        Self { slack: packet.slack, deadline: packet.deadline, priority: packet.priority }
    }
}

/// Sends bursts, each packet with an urgency of its own, and keeps what comes of it.
struct Sender {
    flow: Option<FlowId>,
    sent: Vec<Said>,
    heard: Arc<Mutex<Vec<(u64, Slack, Slack)>>>,
}

impl Agent for Sender {
    fn wake(&mut self, context: &mut Context<'_>) {
        let spec = FlowSpec { from: NodeId(0), to: NodeId(HOPS), config: None };
        let flow = *self.flow.get_or_insert_with(|| context.open(spec));
        for _ in 0..context.random().random_range(1..8) {
            let slack = Slack::from_picos(context.random().random_range(0..20_000_000_000));
            let deadline = context.now() + Duration::from_picos(context.random().random_range(0..1_000_000_000));
            let priority = context.random().random_range(0..100);
            let content = Content::Number(self.sent.len() as u64);
            self.sent.push(Said { slack, deadline, priority });
            let len = context.random().random_range(64..1500);
            context.send(Outgoing { slack, deadline, priority, content, ..Outgoing::new(flow, len) });
        }
        if self.sent.len() < 400 {
            context.wake_at(context.now() + Duration::from_millis(4));
        }
    }

    fn arrive(&mut self, arrival: &Arrival, _: &mut Context<'_>) {
        let Content::Number(number) = arrival.content else { panic!("a packet with a number") };
        assert_eq!(arrival.initial_slack, self.sent[number as usize].slack);
        self.heard.lock().expect("nobody else").push((number, arrival.initial_slack, arrival.slack));
    }
}

/// What each packet said as it came to each queue, and for how long it waited there.
#[derive(Default)]
struct Hops {
    came: BTreeMap<(u64, u32), (Instant, Said)>,
    went: BTreeMap<(u64, u32), (Duration, Said)>,
}

impl Probe for Hops {
    fn arrived(&mut self, now: Instant, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo) {
        self.came.insert((cargo.number, link.0), (now, Said::of(packet)));
    }

    fn transmitted(&mut self, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo, [start, _]: [Instant; 2]) {
        let (came, _) = self.came[&(cargo.number, link.0)];
        self.went.insert((cargo.number, link.0), (start.since(came), Said::of(packet)));
    }
}

#[test]
fn slack_is_rewritten_hop_by_hop_and_the_rest_is_carried() {
    for queue in ["fifo limit 1000", "lstf limit 1000", "lifo limit 1000"] {
        let mut network = Network::default();
        let nodes: Vec<_> = (0..=HOPS).map(|_| network.add_node()).collect();
        for (pair, rate) in nodes.windows(2).zip(["20mbit", "10mbit", "8mbit"]) {
            let link =
                LinkConfig::new(pair[0], pair[1], rate.parse().expect("a rate"), Duration::from_millis(1), queue.parse().expect("a queue"));
            network.add_link(link).expect("both ends are there");
            let back = LinkConfig::new(pair[1], pair[0], rate.parse().expect("a rate"), Duration::ZERO, "fifo".parse().expect("a queue"));
            network.add_link(back).expect("both ends are there");
        }
        let on_way: Vec<_> = network.route(NodeId(0), NodeId(HOPS)).expect("a route").into_iter().map(|link| link.0).collect();
        let heard = Arc::default();
        let mut simulation = Simulation::with_probe(network, 5, Hops::default()).expect("legal queues");
        simulation.spawn(Box::new(Sender { flow: None, sent: Vec::new(), heard: Arc::clone(&heard) }), Instant::ZERO);
        simulation.run(Instant::MAX).expect("a route");
        let Hops { came, went } = simulation.probe();
        let heard = heard.lock().expect("nobody else");
        assert!(heard.len() >= 400);
        let mut waited = [0; HOPS as usize];
        for (number, initial, left) in heard.iter() {
            let mut slack = *initial;
            for (hop, link) in on_way.iter().enumerate() {
                let (_, comes) = came[&(*number, *link)];
                assert_eq!(comes.slack, slack, "{queue}: packet {number} as it comes to hop {hop}");
                let (wait, goes) = went[&(*number, *link)];
                slack = slack.after(wait);
                assert_eq!(goes.slack, slack, "{queue}: packet {number} as it leaves hop {hop}");
                assert_eq!((goes.deadline, goes.priority), (comes.deadline, comes.priority));
                waited[hop] += u32::from(wait > Duration::ZERO);
            }
            assert_eq!(*left, slack, "{queue}: packet {number} at its end");
        }
        assert!(waited.iter().all(|packets| *packets > 50), "{queue}: {waited:?} waited");
    }
}
