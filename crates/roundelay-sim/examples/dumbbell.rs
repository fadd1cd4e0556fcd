//! The MQFQ paper's dumbbell with 50 CBR flows: how many packet-hops a second?
use roundelay::{Duration, FlowId, Instant};
use roundelay_sim::{Agent, Context, FlowSpec, LinkConfig, Network, NodeId, Outgoing, Simulation};

struct Cbr {
    from: NodeId,
    to: NodeId,
    interval: Duration,
    flow: Option<FlowId>,
}

impl Agent for Cbr {
    fn wake(&mut self, context: &mut Context<'_>) {
        let flow = *self.flow.get_or_insert_with(|| context.open(FlowSpec { from: self.from, to: self.to, config: None }));
        context.send(Outgoing::new(flow, 1000));
        context.wake_at(context.now() + self.interval);
    }
}

fn main() {
    let seconds: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    let mut network = Network::default();
    let [left, right] = [0; 2].map(|_| network.add_node());
    let link = |network: &mut Network, from, to, rate: &str, delay, queue: &str| {
        let (rate, queue) = (rate.parse().unwrap(), queue.parse().unwrap());
        network.add_link(LinkConfig::new(from, to, rate, Duration::from_millis(delay), queue)).unwrap();
    };
    let both = |network: &mut Network, from, to, rate: &str, delay, queue: &str| {
        link(network, from, to, rate, delay, queue);
        link(network, to, from, rate, delay, queue);
    };
    both(&mut network, left, right, "5mbit", 10, "fifo limit 100");
    let pairs: Vec<_> = (0..50)
        .map(|_| {
            let [from, to] = [0; 2].map(|_| network.add_node());
            both(&mut network, from, left, "100mbit", 10, "fifo limit 1000");
            both(&mut network, right, to, "100mbit", 10, "fifo limit 1000");
            (from, to)
        })
        .collect();
    let mut simulation = Simulation::new(network, 1).unwrap();
    for (from, to) in pairs {
        let interval = Duration::from_picos(8_000 * 1_000_000_000_000 / 150_000);
        simulation.spawn(Box::new(Cbr { from, to, interval, flow: None }), Instant::ZERO);
    }
    let start = std::time::Instant::now();
    simulation.run(Instant::ZERO + Duration::from_secs(seconds)).unwrap();
    let wall = start.elapsed().as_secs_f64();
    let hops: u64 = simulation.links().map(|link| link.arrived).sum();
    let arrived: Vec<u64> = simulation.flows().map(|(_, counts)| counts.delivered).collect();
    let (sum, squares) = arrived.iter().fold((0.0, 0.0), |(s, q), &x| (s + x as f64, q + (x as f64).powi(2)));
    println!(
        "arrived {sum}, Jain {:.3}, {hops} packet-hops in {wall:.3} s: {:.1} M a second",
        sum * sum / 50.0 / squares,
        hops as f64 / wall / 1e6
    );
}
