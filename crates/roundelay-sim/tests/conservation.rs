//! Packet conservation at every node and event, on random networks, disciplines and sources. A
//! ledger observes each event and tracks each packet. After each instant the ledger is compared
//! with the counts of ports and links, and at the end the log with the verifier.

use std::collections::{BTreeMap, BTreeSet};

use rand::{RngExt as _, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::Seed;
use roundelay::schedulers::AnyDiscipline;
use roundelay::{
    Billionths, Bytes, DropReason, Duration, FlowConfig, Framing, Instant, Limit, LinkLayer,
    Packet, QueueSpec, Rate,
};
use roundelay_sim::log::Log;
use roundelay_sim::sources::{
    Protocol, Sizes, Span, Terms, Urgency, arrivals, burst, cbr, on_off, poisson, request_response,
    tcp, video, voip, web_page,
};
use roundelay_sim::{
    Agent, Direction, FlowCounts, FlowNumber, LinkConfig, LinkId, Metric, Network, NodeId, Opening,
    PacketState, Probe, Routing, Simulation, Tag,
};
use roundelay_tcp::{Config, Control, Flavour};
use roundelay_verify::verify;

/// Position of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Location {
    Node(NodeId),
    Queue(LinkId),
    Wire(LinkId),
}

/// Counts of a link in the ledger.
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    arrived: u64,
    transmitted: u64,
    dropped: [u64; DropReason::ALL.len()],
    lost: u64,
    waiting_bytes: u64,
    on_wire: u64,
}

impl Account {
    fn waiting(&self) -> u64 {
        self.arrived - self.transmitted - self.dropped.iter().sum::<u64>()
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    sent: u64,
    delivered: u64,
    dropped: u64,
    lost: u64,
}

struct Ledger {
    /// Ends of each link.
    ends: Vec<[NodeId; 2]>,
    links: Vec<Account>,
    /// By node: packets sent by the node's agents, and packets delivered to the node.
    sent: Vec<u64>,
    delivered: Vec<u64>,
    packets: BTreeMap<u64, (Location, FlowNumber)>,
    flows: BTreeMap<FlowNumber, ([NodeId; 2], Totals)>,
    closed: u64,
    totals: Totals,
    events: u64,
}

impl Ledger {
    fn new(network: &Network) -> Self {
        let ends: Vec<_> = network
            .links()
            .iter()
            .map(|link| [link.from, link.to])
            .collect();
        let (links, nodes) = (
            vec![Account::default(); ends.len()],
            vec![0; network.nodes()],
        );
        let (packets, flows) = (BTreeMap::new(), BTreeMap::new());
        let (closed, totals, events) = (0, Totals::default(), 0);
        Self {
            ends,
            links,
            sent: nodes.clone(),
            delivered: nodes,
            packets,
            flows,
            closed,
            totals,
            events,
        }
    }

    fn link(&mut self, link: LinkId) -> &mut Account {
        &mut self.links[link.0 as usize]
    }

    /// The current node of a packet, taken off the wire if necessary.
    fn reach(&mut self, packet: u64) -> NodeId {
        match self
            .packets
            .get(&packet)
            .unwrap_or_else(|| panic!("packet {packet} is nowhere"))
            .0
        {
            Location::Node(node) => node,
            Location::Wire(link) => {
                self.link(link).on_wire -= 1;
                self.ends[link.0 as usize][1]
            }
            Location::Queue(link) => panic!("packet {packet} waits at {link:?}"),
        }
    }

    fn put(&mut self, packet: u64, place: Location) {
        self.packets.get_mut(&packet).expect("it is there").0 = place;
    }

    /// Removes a packet from the queue of a link.
    fn leave(&mut self, link: LinkId, packet: &Packet<Tag>, state: &PacketState) {
        assert_eq!(
            self.packets.get(&state.number).map(|(place, _)| *place),
            Some(Location::Queue(link)),
            "packet {}",
            state.number
        );
        let account = self.link(link);
        account.waiting_bytes -= u64::from(packet.len);
    }

    fn forget(&mut self, state: &PacketState, count: impl Fn(&mut Totals)) {
        let (_, flow) = self.packets.remove(&state.number).expect("it is there");
        assert_eq!(flow, state.flow);
        count(&mut self.totals);
        if state.direction == Direction::Forward {
            count(&mut self.flows.get_mut(&flow).expect("its flow is there").1);
        }
    }

    /// After each event: packets sent equal packets delivered, dropped, lost or in the network; at
    /// each node, packets in equal packets out plus packets held.
    fn holds_at_event(&mut self) {
        self.events += 1;
        let Totals {
            sent,
            delivered,
            dropped,
            lost,
        } = self.totals;
        assert_eq!(
            sent,
            delivered + dropped + lost + self.packets.len() as u64,
            "event {}",
            self.events
        );
    }

    /// After each instant: the ledger agrees with ports, links and flows.
    fn holds_after_instant<P: Probe>(&self, simulation: &Simulation<P>, preempts: &[bool]) {
        let now = simulation.now();
        assert_eq!(self.packets.len(), simulation.on_their_way(), "at {now}");
        let mut nodes: Vec<i128> = self
            .sent
            .iter()
            .zip(&self.delivered)
            .map(|(sent, delivered)| i128::from(*sent) - i128::from(*delivered))
            .collect();
        for (number, (account, counts)) in self.links.iter().zip(simulation.links()).enumerate() {
            let waiting = simulation.backlog(LinkId(number as u32));
            let told = (counts.arrived, counts.packets, counts.dropped, counts.lost);
            assert_eq!(
                told,
                (
                    account.arrived,
                    account.transmitted,
                    account.dropped,
                    account.lost
                ),
                "link {number} at {now}"
            );
            if preempts[number] {
                // One packet is on the link and not yet reported.
                assert!(
                    (0..=1).contains(&(account.waiting() - waiting.packets)),
                    "link {number} at {now}"
                );
            } else {
                assert_eq!(
                    (account.waiting(), account.waiting_bytes),
                    (waiting.packets, waiting.bytes),
                    "link {number} at {now}"
                );
            }
            let [from, to] = self.ends[number];
            nodes[from.0 as usize] -= i128::from(
                account.transmitted + account.dropped.iter().sum::<u64>() + account.waiting(),
            );
            nodes[to.0 as usize] +=
                i128::from(account.transmitted - account.lost - account.on_wire);
        }
        // A packet that came to a node has left or waits in one of the node's queues.
        assert!(
            nodes.iter().all(|rest| *rest == 0),
            "nodes keep {nodes:?} at {now}"
        );
        for (flow, counts) in simulation.flows() {
            let Totals {
                sent,
                delivered,
                dropped,
                lost,
            } = self.flows[&flow].1;
            let told = (
                counts.sent,
                counts.delivered,
                counts.dropped.iter().sum::<u64>(),
                counts.lost,
            );
            assert_eq!(told, (sent, delivered, dropped, lost), "{flow:?} at {now}");
        }
    }
}

impl Probe for Ledger {
    fn opened(&mut self, _: Instant, flow: FlowNumber, Opening { from, to, .. }: Opening) {
        assert!(
            self.flows
                .insert(flow, ([from, to], Totals::default()))
                .is_none()
        );
        self.holds_at_event();
    }

    fn sent(&mut self, _: Instant, _: &Packet<Tag>, state: &PacketState) {
        let (ends, flow) = self.flows.get_mut(&state.flow).expect("its flow is open");
        let node = if state.direction == Direction::Forward {
            ends[0]
        } else {
            ends[1]
        };
        flow.sent += u64::from(state.direction == Direction::Forward);
        self.totals.sent += 1;
        self.sent[node.0 as usize] += 1;
        assert!(
            self.packets
                .insert(state.number, (Location::Node(node), state.flow))
                .is_none()
        );
        self.holds_at_event();
    }

    fn arrived(&mut self, _: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState) {
        let node = self.reach(state.number);
        assert_eq!(
            node, self.ends[link.0 as usize][0],
            "it comes to a link of another node"
        );
        self.put(state.number, Location::Queue(link));
        let account = self.link(link);
        account.arrived += 1;
        account.waiting_bytes += u64::from(packet.len);
        self.holds_at_event();
    }

    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        [start, end]: [Instant; 2],
    ) {
        assert!(start <= end);
        self.leave(link, packet, state);
        self.put(state.number, Location::Wire(link));
        let account = self.link(link);
        account.transmitted += 1;
        account.on_wire += 1;
        self.holds_at_event();
    }

    fn dropped(
        &mut self,
        _: Instant,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        reason: DropReason,
    ) {
        self.leave(link, packet, state);
        self.link(link).dropped[reason as usize] += 1;
        self.forget(state, |totals| totals.dropped += 1);
        self.holds_at_event();
    }

    fn lost(&mut self, _: Instant, link: LinkId, _: &Packet<Tag>, state: &PacketState) {
        assert_eq!(
            self.packets.get(&state.number).map(|(place, _)| *place),
            Some(Location::Wire(link))
        );
        let account = self.link(link);
        account.on_wire -= 1;
        account.lost += 1;
        self.forget(state, |totals| totals.lost += 1);
        self.holds_at_event();
    }

    fn delivered(&mut self, _: Instant, _: &Packet<Tag>, state: &PacketState) {
        let node = self.reach(state.number);
        let [from, to] = self.flows[&state.flow].0;
        assert_eq!(
            node,
            if state.direction == Direction::Forward {
                to
            } else {
                from
            },
            "it is at its end"
        );
        self.delivered[node.0 as usize] += 1;
        self.forget(state, |totals| totals.delivered += 1);
        self.holds_at_event();
    }

    fn closed(&mut self, _: Instant, flow: FlowNumber, counts: &FlowCounts) {
        let (
            _,
            Totals {
                sent,
                delivered,
                dropped,
                lost,
            },
        ) = self.flows.remove(&flow).expect("it was open");
        assert_eq!(
            (counts.sent, counts.delivered, counts.lost),
            (sent, delivered, lost)
        );
        assert_eq!(
            (counts.dropped.iter().sum::<u64>(), sent),
            (dropped, delivered + dropped + lost),
            "none is on its way"
        );
        self.closed += 1;
        self.holds_at_event();
    }
}

/// A random discipline with a small limit, to cause many drops.
fn queue(random: &mut Pcg64Mcg, disciplines: &[AnyDiscipline]) -> QueueSpec {
    let discipline = disciplines[random.random_range(0..disciplines.len())].clone();
    QueueSpec {
        discipline,
        limit: Some(Limit::of_packets(random.random_range(1..80))),
    }
}

/// A tree of routers plus extra links: there are cycles, parallel links and one-way links.
fn network(random: &mut Pcg64Mcg, disciplines: &[AnyDiscipline]) -> (Network, Vec<bool>) {
    let (mut network, mut preempts) = (Network::default(), Vec::new());
    let nodes: Vec<_> = (0..random.random_range(2..9))
        .map(|_| network.add_node())
        .collect();
    let mut link = |random: &mut Pcg64Mcg, from, to| {
        let rate =
            Rate::from_bits_per_second(random.random_range(1_000_000..20_000_000)).expect("a rate");
        let queue = queue(random, disciplines);
        preempts.push(queue.discipline.to_string().contains("preempt"));
        let mut config = LinkConfig::new(
            from,
            to,
            rate,
            Duration::from_picos(random.random_range(0..3_000_000_000)),
            queue,
        );
        config.loss = Billionths(random.random_range(0..3) * 10_000_000);
        config.jitter = Duration::from_micros(random.random_range(0..2) * 500);
        let framing = Framing::ALL[random.random_range(0..3)];
        let layer = LinkLayer {
            raw: true,
            overhead: random.random_range(-20..40),
            mpu: random.random_range(0..2) * 84,
            framing,
        };
        config.layer = layer;
        config.cost = random.random_range(0..4);
        network.add_link(config).expect("both ends are there");
    };
    for (place, node) in nodes.iter().enumerate().skip(1) {
        let other = nodes[random.random_range(0..place)];
        link(random, *node, other);
        link(random, other, *node);
    }
    for _ in 0..random.random_range(0..nodes.len()) {
        let from = random.random_range(0..nodes.len());
        let to = (from + random.random_range(1..nodes.len())) % nodes.len();
        link(random, nodes[from], nodes[to]);
    }
    let spread = random.random::<bool>().then(|| random.random());
    network.set_routing(Routing {
        metric: Metric::ALL[random.random_range(0..3)],
        spread,
    });
    (network, preempts)
}

fn protocol(random: &mut Pcg64Mcg) -> Config {
    let config = match random.random_range(0..5) {
        0 => Config::rfc(),
        1 => Config {
            ecn: true,
            pacing: true,
            ..Config::rfc()
        },
        2 => Config {
            flavour: Flavour::NewReno,
            control: Control::Reno,
            ..Config::rfc()
        },
        3 => Config::ns2_newreno_sack1(),
        _ => Config::ns2_classic([Flavour::Tahoe, Flavour::Reno][random.random_range(0..2)]),
    };
    Config {
        min_timeout: Duration::from_millis(20),
        initial_timeout: Duration::from_millis(50),
        ..config
    }
}

const KINDS: usize = 11;

/// A source of one of ten kinds between two random nodes.
fn source(kind: usize, random: &mut Pcg64Mcg, nodes: u32) -> Box<dyn Agent> {
    let from = random.random_range(0..nodes);
    let to = (from + random.random_range(1..nodes)) % nodes;
    let mut terms = Terms::new(NodeId(from), NodeId(to));
    terms.start_jitter = Duration::from_millis(20);
    terms.stop = random
        .random::<bool>()
        .then(|| Instant::ZERO + Duration::from_millis(random.random_range(40..150)));
    let urgencies = [
        Urgency::None,
        Urgency::Constant(Duration::from_millis(5)),
        Urgency::FlowSize(Duration::from_millis(1)),
        Urgency::Priority(2),
    ];
    terms.urgency = urgencies[random.random_range(0..urgencies.len())].clone();
    let weight = random.random_range(1..5);
    terms.flow.config = random.random::<bool>().then(|| FlowConfig {
        weight,
        ..FlowConfig::default()
    });
    let rate = Rate::from_bits_per_second(random.random_range(200_000..4_000_000)).expect("a rate");
    // Some packets are longer than the maximum length known to queues.
    let packet_len = random.random_range(40..1600);
    let protocol = protocol(random);
    let times = [Duration::from_millis(10); 2];
    match kind {
        0 => Box::new(cbr::Cbr::new(terms, cbr::Config::new(rate, packet_len)).expect("legal")),
        1 => {
            let lengths = poisson::Lengths::Exponential(packet_len);
            Box::new(poisson::Poisson::new(terms, rate, lengths, None).expect("legal"))
        }
        2 => {
            let config = on_off::Config {
                shape: Some(1.5),
                ..on_off::Config::new(rate, packet_len, times)
            };
            Box::new(on_off::OnOff::new(terms, config).expect("legal"))
        }
        3 => Box::new(voip::new(terms, voip::Config::default()).expect("legal")),
        4 => {
            let size = Bytes(random.random_range(1..60_000));
            Box::new(burst::Burst::new(terms, burst::Config { size, packet_len }).expect("legal"))
        }
        5 | 6 => {
            let size_bytes = random
                .random::<bool>()
                .then(|| random.random_range(1..100_000));
            Box::new(tcp::Tcp::new(terms, protocol, size_bytes).expect("legal"))
        }
        7 => {
            let think = Span::Exponential(Duration::from_millis(5));
            Box::new(
                request_response::RequestResponse::new(terms, protocol, [300, 20_000], think)
                    .expect("legal"),
            )
        }
        8 => Box::new(
            video::Video::new(terms, protocol, 15_000, Duration::from_millis(30)).expect("legal"),
        ),
        9 => {
            let (document, object, request, think) = (
                Bytes(5_000),
                Bytes(3_000),
                Bytes(400),
                Duration::from_millis(5),
            );
            let config = web_page::Config {
                document,
                object,
                objects: 5,
                connections: 3,
                request,
                think,
                tcp: Protocol::default(),
            };
            Box::new(
                web_page::WebPage::new(terms, &config, Span::Exponential(think)).expect("legal"),
            )
        }
        _ => {
            let hosts = (0..nodes)
                .map(|node| arrivals::Host {
                    node: NodeId(node),
                    group: node,
                })
                .collect();
            let carriers = [
                arrivals::Carrier::Burst { packet_len: 1460 },
                arrivals::Carrier::Tcp(protocol),
            ];
            let sizes = Sizes::discrete(vec![(1000, 0.8), (20_000, 1.0)]).expect("legal");
            let mut of_flows = Terms::new(NodeId(0), NodeId(0));
            (of_flows.stop, of_flows.urgency) = (terms.stop, terms.urgency);
            let carrier = carriers[random.random_range(0..2)];
            Box::new(
                arrivals::Arrivals::new(
                    of_flows,
                    hosts,
                    "2mbit".parse().expect("a rate"),
                    0.5,
                    sizes,
                    carrier,
                )
                .expect("legal"),
            )
        }
    }
}

#[derive(Debug, Default)]
struct Seen {
    kinds: [u32; KINDS],
    disciplines: BTreeSet<String>,
    events: u64,
    totals: Totals,
    closed: u64,
    early: u64,
}

/// One network with sources, checked after each instant with events.
fn check(seed: u64, disciplines: &[AnyDiscipline], seen: &mut Seen) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (network, preempts) = network(&mut random, disciplines);
    seen.disciplines.extend(
        network
            .links()
            .iter()
            .map(|link| link.queue.discipline.to_string()),
    );
    let nodes = network.nodes() as u32;
    let mut bytes = Vec::new();
    let probe = (Ledger::new(&network), Log::new(&mut bytes, &network));
    let mut simulation =
        Simulation::with_probe(network, Seed::new(seed), probe).expect("legal queues");
    for _ in 0..random.random_range(1..6) {
        let kind = random.random_range(0..KINDS);
        seen.kinds[kind] += 1;
        simulation.spawn(source(kind, &mut random, nodes), Instant::ZERO);
    }
    let end = Instant::ZERO + Duration::from_millis(random.random_range(40..200));
    while let Some(next) = simulation.next_event().filter(|next| *next < end) {
        simulation
            .run(next + Duration::from_picos(1))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        simulation
            .probe()
            .0
            .holds_after_instant(&simulation, &preempts);
    }
    simulation.run(end).expect("nothing is left until then");
    let (ledger, log) = simulation.probe_mut();
    log.finish(end).expect("memory takes all");
    let totals = ledger.totals;
    seen.early += ledger
        .links
        .iter()
        .map(|link| link.dropped[DropReason::Early as usize])
        .sum::<u64>();
    (seen.events, seen.closed) = (seen.events + ledger.events, seen.closed + ledger.closed);
    seen.totals.sent += totals.sent;
    seen.totals.delivered += totals.delivered;
    seen.totals.dropped += totals.dropped;
    seen.totals.lost += totals.lost;
    drop(simulation);
    let verified = verify(&bytes[..]).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let told = (
        verified.sent,
        verified.delivered,
        verified.dropped,
        verified.lost,
    );
    assert_eq!(
        told,
        (totals.sent, totals.delivered, totals.dropped, totals.lost),
        "seed {seed}"
    );
}

#[test]
fn packets_are_conserved_at_every_node_at_every_event() {
    let mut disciplines = AnyDiscipline::all();
    disciplines.push(
        "lstf preempt"
            .parse::<QueueSpec>()
            .expect("a discipline")
            .discipline,
    );
    let mut seen = Seen::default();
    (0..400).for_each(|seed| check(seed, &disciplines, &mut seen));
    println!(
        "{} events, {:?}, {} flows closed, {} drops early",
        seen.events, seen.totals, seen.closed, seen.early
    );
    assert!(
        seen.kinds.iter().all(|times| *times > 50),
        "{:?}",
        seen.kinds
    );
    assert_eq!(
        seen.disciplines.len(),
        disciplines.len(),
        "each has been in a queue"
    );
    let Totals {
        sent,
        delivered,
        dropped,
        lost,
    } = seen.totals;
    assert!(
        sent > 50_000
            && delivered > 20_000
            && dropped > 2_000
            && lost > 500
            && seen.closed > 500
            && seen.early > 30,
        "{seen:?}"
    );
}
