//! Events at one instant come in the order in which they were scheduled, whatever the numbers of
//! links and agents.

use std::sync::{Arc, Mutex};

use roundelay::Seed;
use roundelay::{Duration, FlowId, Instant, Packet};
use roundelay_sim::{
    Agent, Context, FlowNumber, FlowSpec, LinkConfig, LinkId, Network, NodeId, Outgoing,
    PacketState, Probe, Simulation, Tag,
};

use crate::Observed;

fn millis(count: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(count)
}

/// Called at 1 ms if second, at 2 ms if first, and then at 10 ms.
struct Sleeper {
    number: u32,
    decides: Instant,
    called: Arc<Mutex<Vec<u32>>>,
}

impl Agent for Sleeper {
    fn wake(&mut self, context: &mut Context<'_>) {
        if context.now() == self.decides {
            return context.wake_at(millis(10));
        }
        self.called.lock().expect("nobody else").push(self.number);
    }
}

#[test]
fn who_asked_first_is_called_first() {
    for decides in [[1, 2, 3], [3, 2, 1], [2, 1, 3]] {
        let called = Arc::default();
        let mut simulation = Simulation::new(Network::default(), Seed::new(1)).expect("legal");
        for (number, decides) in (0..).zip(decides.map(millis)) {
            simulation.spawn(
                Box::new(Sleeper {
                    number,
                    decides,
                    called: Arc::clone(&called),
                }),
                decides,
            );
        }
        simulation.run(Instant::MAX).expect("nothing is sent");
        let mut expected = [0, 1, 2];
        expected.sort_by_key(|number| decides[*number as usize]);
        assert_eq!(*called.lock().expect("nobody else"), expected);
    }
}

/// Sends one packet at the given time.
struct Once(FlowSpec, Option<FlowId>);

impl Agent for Once {
    fn wake(&mut self, context: &mut Context<'_>) {
        let flow = *self.1.get_or_insert_with(|| context.open(self.0));
        context.send(Outgoing::new(flow, 1000));
    }
}

/// Flows of the arrivals at a link, in order.
#[derive(Default)]
struct Comers(Vec<FlowNumber>);

impl Probe for Comers {
    fn arrived(&mut self, now: Instant, link: LinkId, _: &Packet<Tag>, state: &PacketState) {
        if link == LinkId(2) {
            assert_eq!(now, millis(10));
            self.0.push(state.flow);
        }
    }
}

/// Two packets arrive at a node at 10 ms, one over link 0 and one over link 1. The first to leave
/// is the first to arrive.
#[test]
fn the_packet_that_left_first_comes_first() {
    for departures in [[1, 5], [5, 1]] {
        let mut network = Network::default();
        let nodes: Vec<_> = (0..4).map(|_| network.add_node()).collect();
        // A packet takes one millisecond to leave, and the rest of 10 ms to arrive.
        let delays = departures.map(|departure| Duration::from_millis(10 - 1 - departure));
        for (from, to, delay) in [(0, 2, delays[0]), (1, 2, delays[1]), (2, 3, Duration::ZERO)] {
            let (rate, queue) = (
                "8mbit".parse().expect("a rate"),
                "fifo".parse().expect("a queue"),
            );
            network
                .add_link(LinkConfig::new(nodes[from], nodes[to], rate, delay, queue))
                .expect("both ends are there");
        }
        for (from, to) in [(2, 0), (2, 1), (3, 2)] {
            let (rate, queue) = (
                "8mbit".parse().expect("a rate"),
                "fifo".parse().expect("a queue"),
            );
            network
                .add_link(LinkConfig::new(
                    nodes[from],
                    nodes[to],
                    rate,
                    Duration::ZERO,
                    queue,
                ))
                .expect("both ends are there");
        }
        let mut comers = Comers::default();
        let mut simulation =
            Observed::with_probe(network, Seed::new(1), &mut comers).expect("legal");
        for (from, departure) in (0..).zip(departures) {
            let spec = FlowSpec {
                from: NodeId(from),
                to: NodeId(3),
                config: None,
            };
            simulation.spawn(Box::new(Once(spec, None)), millis(departure));
        }
        simulation.run(Instant::MAX).expect("a route");
        // Flows are numbered in the order of opening.
        assert_eq!(comers.0, [FlowNumber(0), FlowNumber(1)], "{departures:?}");
    }
}
