//! Wires: loss, jitter and overhead as configured.

use std::collections::BTreeMap;

use roundelay::Seed;
use roundelay::{Billionths, Duration, FlowId, Instant, LinkLayer, Packet};
use roundelay_sim::{
    Agent, Context, Direction, FlowSpec, LinkConfig, LinkCounts, LinkId, Network, NodeId, Outgoing,
    PacketState, Probe, Tag,
};

use crate::Observed;

const PACKETS: u64 = 20_000;
const LEN: u32 = 1000;
const PERIOD: Duration = Duration::from_millis(2);
const DELAY: Duration = Duration::from_millis(5);

/// Sends a packet every 2 ms.
struct Metronome {
    to: NodeId,
    left: u64,
    flow: Option<FlowId>,
}

impl Agent for Metronome {
    fn wake(&mut self, context: &mut Context<'_>) {
        let spec = FlowSpec {
            from: NodeId(0),
            to: self.to,
            config: None,
        };
        let flow = *self.flow.get_or_insert_with(|| context.open(spec));
        context.send(Outgoing::new(flow, LEN));
        self.left -= 1;
        if self.left == 0 {
            context.close(flow);
            return context.leave();
        }
        context.wake_at(context.now() + PERIOD);
    }
}

/// For each packet and link: the time when the last bit left, and the time of arrival; None if
/// lost.
#[derive(Default)]
struct Wires {
    flights: BTreeMap<(u32, u64), (Instant, Option<Instant>)>,
    spans: BTreeMap<(u32, u64), Duration>,
    lens: Vec<u32>,
    last: BTreeMap<u64, u32>,
}

impl Wires {
    fn land(&mut self, now: Instant, state: &PacketState) {
        if let Some(link) = self.last.remove(&state.number) {
            self.flights
                .get_mut(&(link, state.number))
                .expect("it left")
                .1 = Some(now);
        }
    }

    /// Excess over the propagation delay on a link, in the order of departures.
    fn excess(&self, link: u32) -> Vec<Duration> {
        let of = self.flights.range((link, 0)..(link + 1, 0));
        of.filter_map(|(_, (left, came))| came.map(|came| came.since(*left) - DELAY))
            .collect()
    }

    fn lost(&self, link: u32) -> Vec<u64> {
        self.flights
            .range((link, 0)..(link + 1, 0))
            .filter(|(_, (_, came))| came.is_none())
            .map(|((_, packet), _)| *packet)
            .collect()
    }
}

impl Probe for Wires {
    fn arrived(&mut self, now: Instant, _: LinkId, _: &Packet<Tag>, state: &PacketState) {
        self.land(now, state);
    }

    fn transmitted(
        &mut self,
        link: LinkId,
        _: &Packet<Tag>,
        state: &PacketState,
        [start, end]: [Instant; 2],
    ) {
        self.flights.insert((link.0, state.number), (end, None));
        self.spans.insert((link.0, state.number), end.since(start));
        self.last.insert(state.number, link.0);
    }

    fn delivered(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {
        assert_eq!(state.direction, Direction::Forward);
        self.lens.push(packet.len);
        self.land(now, state);
    }
}

/// A chain of links of 8 Mbit/s and 5 ms, each modified by `change`; returns the flights of packets
/// over all links, and the links' counts.
fn run(links: u32, seed: u64, change: impl Fn(u32, &mut LinkConfig)) -> (Wires, Vec<LinkCounts>) {
    let mut network = Network::default();
    let nodes: Vec<_> = (0..=links).map(|_| network.add_node()).collect();
    for (number, pair) in (0..).zip(nodes.windows(2)) {
        let queue = || "fifo limit 100000".parse().expect("a queue");
        let mut link = LinkConfig::new(
            pair[0],
            pair[1],
            "8mbit".parse().expect("a rate"),
            DELAY,
            queue(),
        );
        change(number, &mut link);
        network.add_link(link).expect("both ends are there");
    }
    for pair in nodes.windows(2) {
        let back = LinkConfig::new(
            pair[1],
            pair[0],
            "8mbit".parse().expect("a rate"),
            DELAY,
            "fifo".parse().expect("a queue"),
        );
        network.add_link(back).expect("both ends are there");
    }
    let mut wires = Wires::default();
    let mut simulation =
        Observed::with_probe(network, Seed::new(seed), &mut wires).expect("legal queues");
    simulation.spawn(
        Box::new(Metronome {
            to: NodeId(links),
            left: PACKETS,
            flow: None,
        }),
        Instant::ZERO,
    );
    simulation.run(Instant::MAX).expect("a route");
    assert_eq!(simulation.on_their_way(), 0);
    let counts = simulation.links().take(links as usize).collect();
    (wires, counts)
}

/// Each link loses the configured share, within five standard deviations, and packets are lost
/// independently: losses of neighbouring packets and common losses of two links are as frequent as
/// by chance.
#[test]
fn a_wire_loses_its_part_each_packet_by_itself() {
    let parts = [0.02, 0.02, 0.2];
    let (wires, counts) = run(3, 1, |link, config| {
        config.loss = Billionths((parts[link as usize] * 1e9) as u64)
    });
    let mut came = PACKETS as f64;
    for (link, part) in (0..).zip(parts) {
        let (lost, expected) = (wires.lost(link), came * part);
        assert_eq!(lost.len() as u64, counts[link as usize].lost);
        assert!(
            (lost.len() as f64 - expected).abs() < 5.0 * (expected * (1.0 - part)).sqrt(),
            "link {link}: {} for {expected}",
            lost.len()
        );
        came -= lost.len() as f64;
        let neighbours = lost
            .windows(2)
            .filter(|pair| pair[1] == pair[0] + 1)
            .count() as f64;
        let by_chance = expected * part;
        assert!(
            (neighbours - by_chance).abs() < 5.0 * by_chance.sqrt(),
            "link {link}: {neighbours} for {by_chance}"
        );
    }
    // Links with the same share lose different packets: separate runs, for each link to carry all
    // packets.
    let alone = |link: u32| {
        run(3, 1, |number, config| {
            config.loss = Billionths(if number == link { 20_000_000 } else { 0 })
        })
        .0
        .lost(link)
    };
    let (first, second) = (alone(0), alone(1));
    let both = first
        .iter()
        .filter(|packet| second.contains(packet))
        .count() as f64;
    let by_chance = PACKETS as f64 * 0.02 * 0.02;
    assert!(
        (both - by_chance).abs() < 5.0 * by_chance.sqrt(),
        "{both} for {by_chance}"
    );
    assert_ne!(
        first,
        run(3, 2, |number, config| config.loss =
            Billionths(if number == 0 { 20_000_000 } else { 0 }))
        .0
        .lost(0),
        "by the seed"
    );
}

#[test]
fn a_wire_that_loses_nothing_or_all_does_so() {
    let (wires, counts) = run(1, 1, |_, config| config.loss = Billionths(0));
    assert_eq!((wires.lens.len() as u64, counts[0].lost), (PACKETS, 0));
    let (wires, counts) = run(1, 1, |_, config| config.loss = Billionths::ONE);
    assert_eq!(
        (wires.lens.len() as u64, counts[0].lost, counts[0].packets),
        (0, PACKETS, PACKETS)
    );
}

/// Jitter is uniform from 0 to the maximum. With a maximum below the gap between packets, no packet
/// waits for the previous one and the jitter is fully visible: mean and variance are those of a
/// uniform distribution within five standard errors, and both ends are reached.
#[test]
fn jitter_is_even_up_to_its_most() {
    let most = Duration::from_millis(1);
    let (wires, _) = run(2, 1, |_, config| config.jitter = most);
    let [first, second] = [0, 1].map(|link| -> Vec<f64> {
        wires
            .excess(link)
            .iter()
            .map(|span| span.as_secs_f64() * 1e3)
            .collect()
    });
    for draws in [&first, &second] {
        let count = draws.len() as f64;
        assert_eq!(count, PACKETS as f64);
        let mean = draws.iter().sum::<f64>() / count;
        assert!(
            (mean - 0.5).abs() < 5.0 * (1.0 / 12.0 / count).sqrt(),
            "{mean}"
        );
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / count;
        assert!((variance * 12.0 - 1.0).abs() < 0.05, "{variance}");
        assert!(draws.iter().all(|draw| (0.0..=1.0).contains(draw)));
        assert!(draws.iter().any(|draw| *draw < 0.001) && draws.iter().any(|draw| *draw > 0.999));
    }
    let mean = |product: &dyn Fn(usize) -> f64| {
        (0..PACKETS as usize).map(product).sum::<f64>() / PACKETS as f64
    };
    let covariance = mean(&|at| (first[at] - 0.5) * (second[at] - 0.5));
    assert!(
        covariance.abs() < 5.0 / 12.0 / (PACKETS as f64).sqrt(),
        "links draw by themselves: {covariance}"
    );
}

/// With jitter longer than the gap packets could overtake: they keep their order, and none arrives
/// before the propagation delay.
#[test]
fn jitter_keeps_the_order() {
    let most = Duration::from_millis(50);
    let (wires, _) = run(1, 1, |_, config| config.jitter = most);
    let came: Vec<_> = wires
        .flights
        .values()
        .map(|(_, came)| came.expect("none is lost"))
        .collect();
    assert!(came.is_sorted(), "in order");
    let held = came.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(
        held > PACKETS as usize / 4,
        "many wait for one before them: {held}"
    );
    assert!(wires.excess(0).iter().all(|excess| *excess <= most));
}

/// A link's overhead takes link time and counts in the link's bytes, on this link only: the packet
/// arrives with the length sent.
#[test]
fn overhead_is_a_link_s_own() {
    let bytes = [0, 38, 5_u32];
    let (wires, counts) = run(3, 1, |link, config| {
        config.layer = LinkLayer::with_overhead(bytes[link as usize] as i32)
    });
    for (link, more) in (0..).zip(bytes) {
        let span = Duration::from_micros(u64::from(LEN + more));
        assert!(
            (0..PACKETS).all(|packet| wires.spans[&(link, packet)] == span),
            "link {link}"
        );
        assert_eq!(counts[link as usize].bytes, PACKETS * u64::from(LEN + more));
    }
    assert_eq!(wires.lens, vec![LEN; PACKETS as usize]);
}

/// Cells and minima are a link's own as well: no length follows from the one before, and the packet
/// keeps its own from link to link.
#[test]
fn framing_is_a_link_s_own() {
    let layers =
        ["pppoe-llcsnap", "pppoe-ptm", "raw"].map(|link| link.parse::<LinkLayer>().unwrap());
    let lengths = [
        (LEN + 40).div_ceil(48) * 53,
        LEN + 30 + (LEN + 30).div_ceil(64),
        LEN,
    ];
    let (wires, counts) = run(3, 1, |link, config| config.layer = layers[link as usize]);
    for (link, len) in (0..).zip(lengths) {
        let span = Duration::from_micros(len.into());
        assert!(
            (0..PACKETS).all(|packet| wires.spans[&(link, packet)] == span),
            "link {link}"
        );
        assert_eq!(counts[link as usize].bytes, PACKETS * u64::from(len));
    }
    assert_eq!(wires.lens, vec![LEN; PACKETS as usize]);
}
