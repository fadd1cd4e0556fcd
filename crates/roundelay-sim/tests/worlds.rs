//! Two worlds agree: a port driven by a loop and a port in a simulation give equal departures for
//! equal arrivals.

use rand::{RngExt as _, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::Purpose;
use roundelay::Seed;
use roundelay::schedulers::AnyDiscipline;
use roundelay::{
    Control as _, DropReason, Duration, Ecn, FlowId, Hosts, Instant, Limit, Observer, Packet, Port,
    Slack,
};
use roundelay_sim::{
    Agent, Content, Context, FlowSpec, LinkConfig, LinkId, Network, NodeId, Outgoing, PacketState,
    Probe, Tag,
};

use crate::Observed;

const FLOWS: u32 = 12;
const SEED: u64 = 7;
const LIMIT: Limit = Limit::of_packets(25);

/// Fate of a packet, with the packet number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Sent {
        packet: u64,
        span: [Instant; 2],
    },
    Dropped {
        packet: u64,
        now: Instant,
        reason: DropReason,
    },
}

#[derive(Debug, Default)]
struct Fates(Vec<Fate>);

impl Observer<u64> for Fates {
    fn sent(&mut self, packet: Packet<u64>, start: Instant, end: Instant) {
        self.0.push(Fate::Sent {
            packet: packet.payload,
            span: [start, end],
        });
    }

    fn dropped(&mut self, packet: Packet<u64>, now: Instant, reason: DropReason) {
        self.0.push(Fate::Dropped {
            packet: packet.payload,
            now,
            reason,
        });
    }
}

impl Probe for Fates {
    fn transmitted(
        &mut self,
        _link: LinkId,
        _packet: &Packet<Tag>,
        state: &PacketState,
        span: [Instant; 2],
    ) {
        let Content::Number(packet) = state.content else {
            panic!("a packet with a number")
        };
        self.0.push(Fate::Sent { packet, span });
    }

    fn dropped(
        &mut self,
        now: Instant,
        _link: LinkId,
        _packet: &Packet<Tag>,
        state: &PacketState,
        reason: DropReason,
    ) {
        let Content::Number(packet) = state.content else {
            panic!("a packet with a number")
        };
        self.0.push(Fate::Dropped {
            packet,
            now,
            reason,
        });
    }
}

/// Packets of many flows at random times, many at the same instant, some exactly at the end of a
/// packet of 1000 bytes.
fn arrivals() -> Vec<(Instant, Packet<u64>)> {
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let mut now = Instant::ZERO;
    let mut arrival = |number| {
        now += Duration::from_micros(
            [0, 0, 100, 800, 800, random.random_range(0..2000)][random.random_range(0..6)],
        );
        let len = if random.random() {
            1000
        } else {
            random.random_range(64..=1500)
        };
        let slack = Slack::of(Duration::from_micros(random.random_range(0..20_000)));
        let (priority, ecn) = (
            random.random_range(0..5),
            if random.random() {
                Ecn::Capable
            } else {
                Ecn::NotCapable
            },
        );
        (
            now,
            Packet {
                slack,
                priority,
                ecn,
                ..Packet::new(FlowId(random.random_range(0..FLOWS)), len, number)
            },
        )
    };
    (0..3_000).map(&mut arrival).collect()
}

/// The loop in the documentation.
fn in_a_loop(discipline: &AnyDiscipline, arrivals: &[(Instant, Packet<u64>)]) -> Vec<Fate> {
    let scheduler = discipline
        .build(Seed::new(SEED).derive(Purpose::Queue, 0))
        .expect("legal parameters");
    let mut port = Port::new(scheduler, LIMIT, "10mbit".parse().expect("a rate"));
    // The nodes of the simulation.
    let hosts = Hosts {
        source: 0,
        destination: 1,
    };
    for flow in 0..FLOWS {
        let named = port.scheduler_mut().set_hosts(FlowId(flow), hosts);
        named.expect("a legal flow");
    }
    let mut fates = Fates::default();
    for (now, packet) in arrivals {
        port.advance(*now, &mut fates);
        port.arrive(*now, *packet, &mut fates);
    }
    port.drain(&mut fates);
    fates.0
}

/// Sends the arrivals of the loop.
struct Player {
    arrivals: Vec<(Instant, Packet<u64>)>,
    next: usize,
    flows: Vec<FlowId>,
}

impl Agent for Player {
    fn wake(&mut self, context: &mut Context<'_>) {
        if self.flows.is_empty() {
            let spec = FlowSpec {
                from: NodeId(0),
                to: NodeId(1),
                config: None,
            };
            self.flows = (0..FLOWS).map(|_| context.open(spec)).collect();
        }
        while let Some((at, packet)) = self.arrivals.get(self.next) {
            if *at > context.now() {
                return context.wake_at(*at);
            }
            let Packet {
                flow,
                len,
                slack,
                priority,
                ecn,
                payload,
                ..
            } = *packet;
            let content = Content::Number(payload);
            context.send(Outgoing {
                content,
                slack,
                priority,
                ecn,
                ..Outgoing::new(self.flows[flow.index()], len)
            });
            self.next += 1;
        }
    }
}

fn in_a_simulation(discipline: &AnyDiscipline, arrivals: &[(Instant, Packet<u64>)]) -> Vec<Fate> {
    let mut network = Network::default();
    let [from, to] = [0; 2].map(|_| network.add_node());
    let queue = roundelay::QueueSpec {
        discipline: discipline.clone(),
        limit: Some(LIMIT),
    };
    let link = |from, to| {
        LinkConfig::new(
            from,
            to,
            "10mbit".parse().expect("a rate"),
            Duration::from_millis(3),
            queue.clone(),
        )
    };
    network
        .add_link(link(from, to))
        .expect("both ends are there");
    network
        .add_link(link(to, from))
        .expect("both ends are there");
    let mut fates = Fates::default();
    let mut simulation =
        Observed::with_probe(network, Seed::new(SEED), &mut fates).expect("legal parameters");
    simulation.spawn(
        Box::new(Player {
            arrivals: arrivals.to_vec(),
            next: 0,
            flows: Vec::new(),
        }),
        Instant::ZERO,
    );
    simulation.run(Instant::MAX).expect("a route");
    fates.0
}

#[test]
fn a_port_does_the_same_in_a_loop_and_in_a_simulation() {
    let arrivals = arrivals();
    for discipline in AnyDiscipline::all() {
        let (looped, simulated) = (
            in_a_loop(&discipline, &arrivals),
            in_a_simulation(&discipline, &arrivals),
        );
        let dropped = looped
            .iter()
            .filter(|fate| matches!(fate, Fate::Dropped { .. }))
            .count();
        assert!(
            looped.len() == arrivals.len() && dropped > 100,
            "{discipline}: {} packets have a fate, {dropped} were dropped",
            looped.len()
        );
        assert_eq!(looped, simulated, "{discipline}");
    }
}
