//! `compare`, a simulated link and a live port agree: packets depart at the same instants. The live
//! port is a loop that sleeps until a packet arrives or the port is due, with a clock that may be
//! late; the clock is simulated, the loop is real.

use std::collections::VecDeque;
use std::error::Error;
use std::sync::mpsc::{Sender, channel};

use rand::{RngExt as _, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::Purpose;
use roundelay::Seed;
use roundelay::schedulers::AnyDiscipline;
use roundelay::{
    Control as _, DropReason, Duration, FlowConfig, FlowId, Hosts, Instant, Limit, Observer,
    Packet, Port, QueueSpec,
};
use roundelay_sim::{
    Agent, Content, Context, FlowSpec, LinkConfig, LinkId, Network, NodeId, Outgoing, PacketState,
    Probe, Tag,
};
use roundelay_trace::{
    Capture, Options, PacketFate, PacketRecord, PacketSink, ReplayObserver, compare,
};

use crate::Observed;

const FLOWS: u32 = 12;
const SEED: u64 = 7;
const LIMIT: Limit = Limit::of_packets(25);
const RATE: &str = "10mbit";
/// The flow configuration that `compare` sets before a flow's first packet.
const FLOW: FlowConfig = FlowConfig {
    weight: 1,
    max_packet_len: 1514,
};

/// A packet: arrival time, flow, length.
type Arrival = (Instant, u32, u32);

/// Fate of each packet, in the order of arrival: start and end of the transmission, or the drop
/// reason.
type Fates = Vec<Result<[Instant; 2], DropReason>>;

/// Each flow once, then random flows; many packets arrive at the same instant, some exactly at the
/// end of a packet of 1000 bytes.
fn arrivals() -> Vec<Arrival> {
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let mut now = Instant::ZERO;
    let mut arrival = |number: u32| {
        if number > 0 {
            now += Duration::from_micros(
                [0, 0, 100, 800, 800, random.random_range(0..2000)][random.random_range(0..6)],
            );
        }
        let len = if random.random() {
            1000
        } else {
            random.random_range(64..=1500)
        };
        (
            now,
            if number < FLOWS {
                number
            } else {
                random.random_range(0..FLOWS)
            },
            len,
        )
    };
    (0..2_000).map(&mut arrival).collect()
}

/// A capture of raw IP packets, headers only, with timestamps in nanoseconds.
fn capture(arrivals: &[Arrival]) -> Vec<u8> {
    let mut bytes: Vec<u8> = [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 101]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    for (now, flow, len) in arrivals {
        let nanos = now.as_picos() / 1000;
        let header = [
            (nanos / 1_000_000_000) as u32,
            (nanos % 1_000_000_000) as u32,
            28,
            *len,
        ];
        bytes.extend(header.iter().flat_map(|word| word.to_le_bytes()));
        let [high, low] = (*len as u16).to_be_bytes();
        bytes.extend([
            0x45, 0, high, low, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 1, 1,
        ]);
        let [high, low] = (*len as u16 - 20).to_be_bytes();
        bytes.extend([0x30, *flow as u8, 0, 80, high, low, 0, 0]);
    }
    bytes
}

struct Sink(Sender<PacketRecord>);

impl PacketSink for Sink {
    fn record(&mut self, packet: &PacketRecord) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.0.send(*packet)?)
    }

    fn finish(self: Box<Self>) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}

impl ReplayObserver for Sink {
    fn sink(
        &mut self,
        _: &str,
        _: usize,
        _: i64,
    ) -> Result<Option<Box<dyn PacketSink>>, Box<dyn Error + Send + Sync>> {
        Ok(Some(Box::new(Sink(self.0.clone()))))
    }
}

/// Output of `compare`: lengths on the wire in the order of arrival, and the packets' fates.
fn compared(
    discipline: &AnyDiscipline,
    arrivals: &[Arrival],
) -> Vec<(Arrival, Result<[Instant; 2], DropReason>)> {
    let (sender, receiver) = channel();
    let spec = QueueSpec {
        discipline: discipline.clone(),
        limit: Some(LIMIT),
    };
    let options = Options {
        seed: SEED,
        measure_cost: false,
        // As in the other two worlds.
        shapes_cake: false,
        ..Options::new(RATE.parse().expect("a rate"), vec![spec])
    };
    let reader = std::io::Cursor::new(capture(arrivals));
    let capture = Capture::from_reader("made", reader).expect("a capture");
    compare(capture, &options, &mut Sink(sender))
        .unwrap_or_else(|error| panic!("{discipline}: {error}"));
    let fate = |record: PacketRecord| {
        let fate = match record.fate {
            PacketFate::Sent { start, end, .. } => Ok([start, end]),
            PacketFate::Dropped(reason) => Err(reason),
        };
        ((record.arrival, record.flow.0, record.len), fate)
    };
    sorted(receiver.into_iter().map(fate))
}

/// Sorts by arrival, flow and length; equal packets by fate.
fn sorted(
    packets: impl Iterator<Item = (Arrival, Result<[Instant; 2], DropReason>)>,
) -> Vec<(Arrival, Result<[Instant; 2], DropReason>)> {
    let mut packets: Vec<_> = packets.collect();
    packets.sort_by_key(|(arrival, fate)| (*arrival, fate.map_err(|reason| reason as u8)));
    packets
}

/// Fates by packet number.
struct Listener(Fates);

impl Listener {
    fn new(packets: usize) -> Self {
        Self(vec![Err(DropReason::Refused); packets])
    }
}

impl Observer<u32> for Listener {
    fn sent(&mut self, packet: Packet<u32>, start: Instant, end: Instant) {
        self.0[packet.payload as usize] = Ok([start, end]);
    }

    fn dropped(&mut self, packet: Packet<u32>, _: Instant, reason: DropReason) {
        self.0[packet.payload as usize] = Err(reason);
    }
}

impl Probe for Listener {
    fn transmitted(&mut self, _: LinkId, _: &Packet<Tag>, state: &PacketState, span: [Instant; 2]) {
        let Content::Number(number) = state.content else {
            panic!("a packet with a number")
        };
        self.0[number as usize] = Ok(span);
    }

    fn dropped(
        &mut self,
        _: Instant,
        _: LinkId,
        _: &Packet<Tag>,
        state: &PacketState,
        reason: DropReason,
    ) {
        let Content::Number(number) = state.content else {
            panic!("a packet with a number")
        };
        self.0[number as usize] = Err(reason);
    }
}

/// A clock with late wake-ups, by up to `late`.
struct Clock {
    now: Instant,
    late: Duration,
    random: Pcg64Mcg,
}

impl Clock {
    fn sleep_until(&mut self, at: Instant) {
        let late = Duration::from_picos(self.random.random_range(0..=self.late.as_picos()));
        self.now = self.now.max(at + late);
    }
}

/// Fates at a live port: packets from a socket, with the system's timestamps.
fn live(discipline: &AnyDiscipline, arrivals: &[Arrival], late: Duration) -> Fates {
    let mut port = Port::new(
        discipline
            .build(Seed::new(SEED).derive(Purpose::Queue, 0))
            .expect("legal parameters"),
        LIMIT,
        RATE.parse().expect("a rate"),
    );
    let mut socket: VecDeque<_> = (0..).zip(arrivals).collect();
    let mut clock = Clock {
        now: Instant::ZERO,
        late,
        random: Pcg64Mcg::seed_from_u64(3),
    };
    let mut listener = Listener::new(arrivals.len());
    loop {
        let next = [socket.front().map(|(_, (at, ..))| *at), port.next_event()]
            .into_iter()
            .flatten()
            .min();
        let Some(next) = next else { return listener.0 };
        clock.sleep_until(next);
        while let Some(&(number, (at, flow, len))) =
            socket.front().filter(|(_, (at, ..))| *at <= clock.now)
        {
            socket.pop_front();
            port.advance(*at, &mut listener);
            if number == *flow {
                port.scheduler_mut()
                    .set_flow(FlowId(*flow), FLOW)
                    .expect("a legal flow");
                // The nodes of the simulation, and the addresses of the capture.
                let hosts = Hosts {
                    source: 0,
                    destination: 1,
                };
                port.scheduler_mut()
                    .set_hosts(FlowId(*flow), hosts)
                    .expect("a legal flow");
            }
            port.arrive(*at, Packet::new(FlowId(*flow), *len, number), &mut listener);
        }
        // Packets of this very instant may still be on their way to the socket: the port picks only
        // at past instants.
        port.advance(clock.now, &mut listener);
        if late == Duration::ZERO
            && port.next_event() == Some(clock.now)
            && socket.front().is_none_or(|(_, (at, ..))| *at > clock.now)
        {
            port.pick(&mut listener);
        }
    }
}

/// Sends the given arrivals.
struct Player {
    arrivals: Vec<Arrival>,
    next: usize,
    flows: Vec<FlowId>,
}

impl Agent for Player {
    fn wake(&mut self, context: &mut Context<'_>) {
        while let Some((at, flow, len)) = self.arrivals.get(self.next) {
            if *at > context.now() {
                return context.wake_at(*at);
            }
            if self.next == *flow as usize {
                let spec = FlowSpec {
                    from: NodeId(0),
                    to: NodeId(1),
                    config: Some(FLOW),
                };
                self.flows.push(context.open(spec));
            }
            let content = Content::Number(self.next as u64);
            context.send(Outgoing {
                content,
                ..Outgoing::new(self.flows[*flow as usize], *len)
            });
            self.next += 1;
        }
    }
}

fn simulated(discipline: &AnyDiscipline, arrivals: &[Arrival]) -> Fates {
    let mut network = Network::default();
    let [from, to] = [0; 2].map(|_| network.add_node());
    let queue = QueueSpec {
        discipline: discipline.clone(),
        limit: Some(LIMIT),
    };
    for (from, to) in [(from, to), (to, from)] {
        let link = LinkConfig::new(
            from,
            to,
            RATE.parse().expect("a rate"),
            Duration::from_millis(3),
            queue.clone(),
        );
        network.add_link(link).expect("both ends are there");
    }
    let mut listener = Listener::new(arrivals.len());
    let mut simulation =
        Observed::with_probe(network, Seed::new(SEED), &mut listener).expect("legal parameters");
    simulation.spawn(
        Box::new(Player {
            arrivals: arrivals.to_vec(),
            next: 0,
            flows: Vec::new(),
        }),
        Instant::ZERO,
    );
    simulation.run(Instant::MAX).expect("a route");
    listener.0
}

/// Disciplines with an urgency set by `compare`: deadlines, priorities, slack.
const STAMPED: [&str; 10] = [
    "aifo",
    "edf",
    "ets",
    "fifo_plus",
    "lstf",
    "lstf_levels",
    "priority",
    "sjf",
    "sp_pifo",
    "srpt",
];

#[test]
fn compare_a_simulation_and_a_live_port_send_the_same_at_the_same_time() {
    let arrivals = arrivals();
    let mut disciplines = 0;
    for discipline in AnyDiscipline::all() {
        let simulated = simulated(&discipline, &arrivals);
        let dropped = simulated.iter().filter(|fate| fate.is_err()).count();
        assert!(dropped > 50, "{discipline}: {dropped} were dropped");
        for late in [
            Duration::ZERO,
            Duration::from_micros(700),
            Duration::from_millis(40),
        ] {
            assert_eq!(
                live(&discipline, &arrivals, late),
                simulated,
                "{discipline}, a clock that is late by up to {late}"
            );
        }
        if STAMPED.contains(&discipline.name()) {
            continue;
        }
        disciplines += 1;
        let compared = compared(&discipline, &arrivals);
        let packets = arrivals.iter().copied().zip(simulated);
        assert_eq!(compared, sorted(packets), "{discipline}");
    }
    assert!(disciplines > 20, "{disciplines}");
}
