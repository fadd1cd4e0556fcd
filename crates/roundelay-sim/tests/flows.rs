//! Flows at links: weights, random draws, routes, deadlines, and the end of agents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use roundelay::Seed;
use roundelay::{Bytes, Duration, FlowConfig, FlowId, Instant, Packet};
use roundelay_sim::scenario::Scenario;
use roundelay_sim::sources::Terms;
use roundelay_sim::sources::burst::{self, Burst};
use roundelay_sim::sources::cbr::{self, Cbr};
use roundelay_sim::{
    Agent, Arrival, Context, FlowCounts, FlowNumber, FlowSpec, LinkConfig, LinkId, Network, NodeId,
    Opening, Outgoing, PacketState, Probe, Tag,
};

use crate::Observed;

/// A chain of links with these rates, in both directions.
fn chain(rates: &[&str], queue: &str) -> Network {
    let mut network = Network::default();
    let nodes: Vec<_> = (0..=rates.len()).map(|_| network.add_node()).collect();
    for (pair, rate) in nodes.windows(2).zip(rates) {
        for [from, to] in [[pair[0], pair[1]], [pair[1], pair[0]]] {
            let (rate, queue) = (
                rate.parse().expect("a rate"),
                queue.parse().expect("a queue"),
            );
            network
                .add_link(LinkConfig::new(
                    from,
                    to,
                    rate,
                    Duration::from_millis(1),
                    queue,
                ))
                .expect("both ends are there");
        }
    }
    network
}

/// A source of 10 Mbit/s from the first node of a chain to the last.
fn cbr(network: &Network, weight: Option<u32>, [start, stop]: [u64; 2]) -> Box<Cbr> {
    let mut terms = Terms::new(NodeId(0), NodeId(network.nodes() as u32 - 1));
    terms.flow.config = weight.map(|weight| FlowConfig {
        weight,
        ..FlowConfig::default()
    });
    terms.start = Instant::ZERO + Duration::from_millis(start);
    terms.stop = Some(Instant::ZERO + Duration::from_millis(stop));
    Box::new(
        Cbr::new(
            terms,
            cbr::Config::new("10mbit".parse().expect("a rate"), 1000),
        )
        .expect("legal"),
    )
}

/// Final counts of each flow, by flow number.
#[derive(Default)]
struct Closed(BTreeMap<u64, FlowCounts>);

impl Probe for Closed {
    fn closed(&mut self, _: Instant, flow: FlowNumber, counts: &FlowCounts) {
        self.0.insert(flow.0, *counts);
    }
}

/// Weights hold wherever the bottleneck is on a flow's route.
#[test]
fn weights_hold_on_every_link_of_the_way() {
    for bottleneck in 0..3 {
        let mut rates = ["100mbit"; 3];
        rates[bottleneck] = "8mbit";
        let network = chain(&rates, "wf2q_plus limit 100");
        let sources = [1, 3].map(|weight| cbr(&network, Some(weight), [0, 10_000]));
        let mut closed = Closed::default();
        let mut simulation =
            Observed::with_probe(network, Seed::new(1), &mut closed).expect("legal queues");
        sources
            .into_iter()
            .for_each(|source| _ = simulation.spawn(source, Instant::ZERO));
        simulation.run(Instant::MAX).expect("a route");
        let delivered = |flow| closed.0[&flow].delivered as f64;
        let ratio = delivered(1) / delivered(0);
        assert!(
            (2.95..3.05).contains(&ratio),
            "bottleneck {bottleneck}: {ratio}"
        );
    }
}

/// A closed flow takes its weight along: a later flow with the same `FlowId` and no configured
/// weight has weight one.
#[test]
fn a_flow_takes_its_weight_with_it() {
    let network = chain(&["8mbit"], "wf2q_plus limit 100");
    let sources = [
        cbr(&network, Some(8), [0, 1_000]),
        cbr(&network, None, [2_000, 12_000]),
        cbr(&network, None, [2_000, 12_000]),
    ];
    let mut closed = Closed::default();
    let mut simulation =
        Observed::with_probe(network, Seed::new(1), &mut closed).expect("legal queues");
    sources
        .into_iter()
        .for_each(|source| _ = simulation.spawn(source, Instant::ZERO));
    simulation.run(Instant::MAX).expect("a route");
    let delivered = |flow| closed.0[&flow].delivered as f64;
    let ratio = delivered(1) / delivered(2);
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
}

/// Packets in the order of transmission on each link.
#[derive(Default)]
struct Order(BTreeMap<u32, Vec<u64>>);

impl Probe for Order {
    fn transmitted(&mut self, link: LinkId, _: &Packet<Tag>, state: &PacketState, _: [Instant; 2]) {
        self.0.entry(link.0).or_default().push(state.number);
    }
}

/// Two queues with random draws draw differently, and so do queues of another seed; the same seed
/// gives the same draws.
#[test]
fn queues_draw_by_themselves() {
    let run = |seed| {
        let network = chain(&["8mbit", "8mbit"], "random limit 1000");
        let mut order = Order::default();
        let mut simulation = Observed::with_probe(network, seed, &mut order).expect("legal queues");
        for (from, to) in [(0, 1), (1, 2)] {
            let terms = Terms::new(NodeId(from), NodeId(to));
            let source = Burst::new(
                terms,
                burst::Config {
                    size: Bytes(100_000),
                    packet_len: 1000,
                },
            )
            .expect("legal");
            simulation.spawn(Box::new(source), Instant::ZERO);
        }
        simulation.run(Instant::MAX).expect("a route");
        let mut orders = order.0.into_values();
        let [first, second] = [(); 2].map(|()| orders.next().expect("two links"));
        assert_eq!((first.len(), second.len()), (100, 100));
        let from = second.iter().min().copied().expect("packets");
        (
            first,
            second
                .into_iter()
                .map(|packet| packet - from)
                .collect::<Vec<_>>(),
        )
    };
    let (first, second) = run(Seed::new(1));
    assert_ne!(first, second, "two queues of one network");
    assert_ne!(first, run(Seed::new(2)).0, "another seed");
    assert_eq!((first, second), run(Seed::new(1)));
}

/// Ends of the flows opened, and the links used by their packets.
#[derive(Default)]
struct Ways {
    pairs: Vec<[NodeId; 2]>,
    links: BTreeMap<u64, BTreeSet<u32>>,
    deadlines: BTreeSet<Duration>,
}

impl Probe for Ways {
    fn opened(&mut self, _: Instant, _: FlowNumber, Opening { from, to, .. }: Opening) {
        self.pairs.push([from, to]);
    }

    fn sent(&mut self, now: Instant, packet: &Packet<Tag>, _: &PacketState) {
        self.deadlines.insert(packet.deadline.since(now));
    }

    fn arrived(&mut self, _: Instant, link: LinkId, _: &Packet<Tag>, state: &PacketState) {
        self.links.entry(state.flow.0).or_default().insert(link.0);
    }
}

fn ways(text: &str, seed: u64) -> Ways {
    let mut scenario =
        Scenario::from_toml("mine", text, Path::new(".")).unwrap_or_else(|error| panic!("{error}"));
    scenario.seed = seed;
    let mut ways = Ways::default();
    scenario
        .run_with(seed, &mut ways, |_| ())
        .unwrap_or_else(|error| panic!("{error}"));
    ways
}

/// Random pairs and choices among equally short routes depend on the seed: replicas differ in both.
/// A flow keeps one route.
#[test]
fn replicas_have_pairs_and_routes_of_their_own() {
    let source = "[[source]]\nkind = \"cbr\"\nrate = \"1mbit\"\nfrom = \"host*\"\nto = \"host*\"\n";
    let text = |pairs: &str, spread: bool| {
        format!(
            "duration = \"100ms\"\n[topology]\ntemplate = \"fat_tree\"\nk = 4\n[routing]\nspread = {spread}\n{source}pairs = \"{pairs}\"\n"
        )
    };
    let random = text("random", false);
    assert_ne!(ways(&random, 1).pairs, ways(&random, 2).pairs);
    assert_eq!(ways(&random, 1).pairs, ways(&random, 1).pairs);
    let [alone, spread] = [false, true].map(|spread| text("all", spread));
    let (first, second) = (ways(&spread, 1), ways(&spread, 2));
    assert_eq!(first.pairs, second.pairs);
    assert_ne!(first.links, second.links);
    assert_eq!(first.links, ways(&spread, 1).links);
    // All packets of a flow between pods take the same six links; which six depends on the flow.
    assert_eq!(first.links.values().map(BTreeSet::len).max(), Some(6));
    let used = |ways: &Ways| {
        ways.links
            .values()
            .flatten()
            .copied()
            .collect::<BTreeSet<_>>()
            .len()
    };
    let all = 16 * 6;
    assert_eq!(used(&first), all, "each link both ways");
    assert!(
        used(&ways(&alone, 1)) < all,
        "the first routes leave some idle"
    );
}

/// Speech has a deadline of 150 ms, unless the scenario sets another.
#[test]
fn speech_is_due() {
    let text = |urgency: &str| {
        let source = format!("[[source]]\nkind = \"voip\"\nfrom = \"s0\"\nto = \"r0\"\n{urgency}");
        format!("duration = \"5s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 1\n{source}")
    };
    assert_eq!(
        ways(&text(""), 1).deadlines,
        BTreeSet::from([Duration::from_millis(150)])
    );
    assert_eq!(
        ways(&text("urgency = \"deadline 5ms\"\n"), 1).deadlines,
        BTreeSet::from([Duration::from_millis(5)])
    );
}

/// Sends a packet and asks to leave at once; closes the flow when the packet has arrived.
struct Leaver {
    flow: Option<FlowId>,
    heard: Arc<Mutex<u32>>,
}

impl Agent for Leaver {
    fn wake(&mut self, context: &mut Context<'_>) {
        let flow = context.open(FlowSpec {
            from: NodeId(0),
            to: NodeId(1),
            config: None,
        });
        self.flow = Some(flow);
        context.send(Outgoing::new(flow, 1000));
        context.leave();
    }

    fn arrive(&mut self, _: &Arrival, context: &mut Context<'_>) {
        *self.heard.lock().expect("nobody else") += 1;
        context.close(self.flow.expect("it was called"));
    }
}

/// A leaving agent stays until all flows of the agent are closed; only then the slot is reused.
#[test]
fn agents_leave_once_their_flows_are_closed() {
    let heard = Arc::default();
    let mut closed = Closed::default();
    let mut simulation = Observed::with_probe(chain(&["8mbit"], "fifo"), Seed::new(1), &mut closed)
        .expect("legal queues");
    let leaver = || {
        Box::new(Leaver {
            flow: None,
            heard: Arc::clone(&heard),
        })
    };
    let first = simulation.spawn(leaver(), Instant::ZERO);
    simulation.run(Instant::from_nanos(1)).expect("a route");
    let second = simulation.spawn(leaver(), Instant::ZERO);
    assert_ne!(first, second);
    simulation.run(Instant::MAX).expect("a route");
    let third = simulation.spawn(leaver(), Instant::ZERO);
    assert!([first, second].contains(&third), "a place is used again");
    assert_eq!(
        (*heard.lock().expect("nobody else"), closed.0.len()),
        (2, 2)
    );
}
