//! Schedules recorded and replayed: LSTF as a universal scheduler (R. Mittal et al., NSDI 2016, sections 2.2 and 2.3).

use rand::{RngExt as _, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::{Duration, Instant, Slack};
use roundelay_sim::{Agent, Context, FlowSpec, LinkConfig, Network, NodeId, Outgoing, Recorder, Schedule, Simulation};

/// A packet to be sent.
#[derive(Debug, Clone, Copy)]
struct Planned {
    at: Instant,
    from: NodeId,
    to: NodeId,
    len: u32,
    slack: Slack,
}

/// Sends what is planned, in order.
struct Plan {
    packets: Vec<Planned>,
    next: usize,
}

impl Agent for Plan {
    fn wake(&mut self, context: &mut Context<'_>) {
        while let Some(packet) = self.packets.get(self.next) {
            if packet.at > context.now() {
                return context.wake_at(packet.at);
            }
            let flow = context.open(FlowSpec { from: packet.from, to: packet.to, config: None });
            context.send(Outgoing { slack: packet.slack, ..Outgoing::new(flow, packet.len) });
            context.close(flow);
            self.next += 1;
        }
    }
}

/// `senders` sources and as many sinks around a chain of routers; sources' own links never hold anything up.
fn chain(routers: usize, senders: usize, queue: &str) -> (Network, Vec<NodeId>, Vec<NodeId>) {
    let mut network = Network::default();
    let link = |network: &mut Network, from, to, rate: &str, queue: &str| {
        let config = LinkConfig::new(from, to, rate.parse().unwrap(), Duration::from_micros(20), queue.parse().unwrap());
        network.add_link(config).unwrap();
    };
    let core: Vec<_> = (0..routers).map(|_| network.add_node()).collect();
    for pair in core.windows(2) {
        link(&mut network, pair[0], pair[1], "100mbit", queue);
        link(&mut network, pair[1], pair[0], "100mbit", queue);
    }
    let edge = |network: &mut Network, router| {
        let host = network.add_node();
        link(network, host, router, "1000gbit", "fifo limit 100000");
        link(network, router, host, "1000gbit", "fifo limit 100000");
        host
    };
    let sources = (0..senders).map(|_| edge(&mut network, core[0])).collect();
    let sinks = (0..senders).map(|_| edge(&mut network, core[routers - 1])).collect();
    (network, sources, sinks)
}

fn plan(seed: u64, sources: &[NodeId], sinks: &[NodeId]) -> Vec<Planned> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut at = Instant::ZERO;
    let mut packet = || {
        at += Duration::from_picos(random.random_range(0..130_000_000));
        let (from, to) = (sources[random.random_range(0..sources.len())], sinks[random.random_range(0..sinks.len())]);
        Planned { at, from, to, len: random.random_range(64..=1500), slack: Slack::ZERO }
    };
    (0..1_000).map(|_| packet()).collect()
}

fn run(network: Network, packets: Vec<Planned>) -> Vec<Schedule> {
    let mut simulation = Simulation::with_probe(network, 1, Recorder::default()).unwrap();
    let last = packets.last().expect("packets").at;
    simulation.spawn(Box::new(Plan { packets, next: 0 }), Instant::ZERO);
    simulation.run(last + Duration::from_secs(1)).unwrap();
    assert_eq!(simulation.on_their_way(), 0);
    std::mem::take(&mut simulation.probe_mut().schedules)
}

/// Packets that waited in the original schedule, and those that the replay made later than that by more than `grace`.
fn overdue(seed: u64, routers: usize, original: &str, replay: &str, grace: Duration) -> (usize, usize) {
    let (network, sources, sinks) = chain(routers, 5, original);
    let mut packets = plan(seed, &sources, &sinks);
    let first = run(network.clone(), packets.clone());
    for (packet, schedule) in packets.iter_mut().zip(&first) {
        packet.slack = schedule.slack(&network).expect("it got out");
    }
    let second = run(chain(routers, 5, replay).0, packets);
    let waited = first.iter().filter(|schedule| schedule.slack(&network).expect("it got out") > Slack::ZERO).count();
    (waited, first.iter().zip(&second).filter(|(first, second)| second.output > first.output.map(|output| output + grace)).count())
}

/// One link that holds packets up: whatever the order was, LSTF that may interrupt gives no packet later.
#[test]
fn lstf_replays_any_schedule_of_one_congestion_point() {
    for (seed, original) in
        (0..).zip(["fifo limit 100000", "lifo limit 100000", "random limit 100000", "drr limit 100000", "sjf limit 100000"])
    {
        let (waited, late) = overdue(seed, 2, original, "lstf preempt limit 100000", Duration::ZERO);
        assert!(waited > 300, "{original}: only {waited} packets waited");
        assert_eq!(late, 0, "{original}");
    }
}

/// What does not know the schedule fails the same test.
#[test]
fn fifo_replays_no_schedule_but_its_own() {
    let (_, late) = overdue(2, 2, "random limit 100000", "fifo limit 100000", Duration::ZERO);
    assert!(late > 100, "only {late} packets were late");
    assert_eq!(overdue(2, 2, "fifo limit 100000", "fifo limit 100000", Duration::ZERO).1, 0);
}

/// Over several links that interrupt nothing, nine of ten packets are in time but for T, the time of a longest packet.
#[test]
fn lstf_replays_nearly_all_of_a_path() {
    let longest = Duration::from_micros(120);
    let (waited, late) = overdue(3, 5, "random limit 100000", "lstf limit 100000", longest);
    let (_, with_fifo) = overdue(3, 5, "random limit 100000", "fifo limit 100000", longest);
    assert!(waited > 300 && late < waited / 10 && late * 4 < with_fifo, "{waited} waited, {late} were late, {with_fifo} with FIFO");
}

/// A packet's schedule adds up: the time that it took is what it needs and what it waited.
#[test]
fn a_schedule_adds_up() {
    let (network, sources, sinks) = chain(4, 3, "random limit 100000");
    let packets = plan(4, &sources, &sinks);
    for schedule in run(network.clone(), packets) {
        assert_eq!(schedule.path.len(), 5);
        let waited = schedule.path.iter().map(|hop| hop.span[0].since(hop.arrival)).fold(Duration::ZERO, |sum, wait| sum + wait);
        let took = schedule.output.expect("it got out").since(schedule.input);
        assert_eq!(took, schedule.fastest(&network) + waited);
        assert_eq!(schedule.slack(&network), Some(Slack::of(waited)));
    }
}
