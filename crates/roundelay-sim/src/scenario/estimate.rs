//! Estimates a run's events and memory before it starts.

use std::collections::BTreeMap;

use roundelay::{Duration, Instant, Rate};

use super::yardsticks::measured_class;
use super::{FlowRates, Group, Scenario};
use crate::decision::DecisionCost;
use crate::ids::LinkId;
use crate::network::{LinkConfig, Network};
use crate::routing::Routes;
use crate::sources::load::Load;
use crate::sources::source::Conditions;
use crate::topologies::Topology;

/// The most events that a run may have.
pub const MOST_EVENTS: f64 = 1e12;

/// An upper estimate for a run, but an approximate one: dropped packets count for the whole route,
/// random amounts are four standard deviations above their mean, and TCP sends at the links' rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Packets sent.
    pub packets: f64,
    /// Packets sent, counted once at every link on their way.
    pub packet_hops: f64,
    /// Arrivals, departures, calls when timers expire, and on-times without a packet.
    pub events: f64,
    /// Bytes of memory.
    pub memory: f64,
}

/// Bytes that a packet takes in a queue, in the arena and on the wire.
const PER_PACKET: f64 = 160.0;
/// Bytes that a source takes, with its flow and its counters.
const PER_SOURCE: f64 = 1_000.0;
/// Bytes that a link with an empty queue takes.
const PER_LINK: f64 = 4_000.0;
/// Bytes for a flow measured over its own life, for a flow at a measured link, and for a packet
/// that waits there.
const PER_LIFE: f64 = 200.0;
const PER_PASSING: f64 = 300.0;
const PER_STAMP: f64 = 50.0;
/// Bytes for an entry in the list of transfers, and for an interval in a flow's series of rates. A
/// list that grows has up to twice the room that it needs.
const PER_TRANSFER: f64 = 2.0 * size_of::<super::Transfer>() as f64;
const PER_INTERVAL: f64 = 2.0 * size_of::<(u32, u64)>() as f64;
/// Bytes for an interval in each group, because of Jain's index.
const PER_INDEX: f64 = 16.0;
/// We look at the routes of at most this many pairs in a group.
const SAMPLE: usize = 1_000;
/// Segments sent for each segment that gets through a link. Senders do not sustain the loss of a
/// fifth for long.
const WITH_LOSSES: f64 = 1.25;

impl Estimate {
    /// The estimate for one run of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let network = &scenario.topology.network;
        let plan = Plan::new(scenario);
        let [packets, packet_hops] = plan.traffic(scenario.duration);
        let [at_once, _] = plan.traffic(scenario.duration.min(Duration::from_secs(1)));
        let lists: f64 = scenario.groups.iter().map(list_bytes).sum();
        let links = network.links().len() as f64;
        let sources = scenario.sources() as f64;
        let waiting = room(&scenario.topology).min(at_once);
        let mut measured = measured(scenario, sources, waiting) + plan.listed();
        if let Some(rates) = plan.rates(packets) {
            measured += rates.memory;
        }
        let memory = lists
            + plan.table_bytes as f64
            + links * PER_LINK
            + sources * PER_SOURCE
            + waiting * PER_PACKET
            + measured;
        // A port has one more event for each packet if its decisions take time or if it waits for
        // its trace. If any port does, we count this for all.
        let mut all = network.links().iter();
        let waits = all.any(|link| link.decision != DecisionCost::NONE || link.trace.is_some());
        let per_hop = if waits { 3.0 } else { 2.0 };
        let mut idle_rounds = 0.0;
        for (group, ways) in &plan.groups {
            idle_rounds += ways.load(group, scenario.duration).idle_rounds * group.senders();
        }
        Self {
            packets,
            packet_hops,
            events: per_hop * packet_hops + packets + idle_rounds,
            memory,
        }
    }
}

/// An upper estimate for series of rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RatesEstimate {
    pub(super) flows: f64,
    pub(super) intervals: f64,
    /// Bytes of memory.
    pub(super) memory: f64,
}

impl RatesEstimate {
    /// None if the scenario does not ask for series of rates.
    pub(super) fn of(scenario: &Scenario) -> Option<Self> {
        scenario.measures.rates?;
        let plan = Plan::new(scenario);
        plan.rates(plan.traffic(scenario.duration)[0])
    }
}

/// A scenario's groups, and the routes that their packets take.
struct Plan<'a> {
    scenario: &'a Scenario,
    groups: Vec<(&'a Group, Ways)>,
    /// Bytes that the route tables take. Groups that join the same hosts share theirs.
    table_bytes: u64,
}

impl<'a> Plan<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let network = &scenario.topology.network;
        let mut routes = Routes::default();
        let mut groups = Vec::new();
        let mut table_bytes = 0;
        for group in &scenario.groups {
            groups.push((group, Ways::of(network, group, &mut routes)));
            table_bytes = table_bytes.max(group.route_bytes(network, routes.inner(network)));
        }
        Self {
            scenario,
            groups,
            table_bytes,
        }
    }

    /// Bytes that the list of transfers takes.
    fn listed(&self) -> f64 {
        let Scenario {
            measures,
            warmup,
            duration,
            ..
        } = self.scenario;
        if !measures.transfers {
            return 0.0;
        }
        let [from, until] = measures.window(*warmup, *duration);
        let mut transfers = 0.0;
        for (group, ways) in &self.groups {
            let span = group.span(*duration).min(until.since(from));
            transfers += ways.load_in(group, span).transfers.of(group.senders());
        }
        transfers * PER_TRANSFER
    }

    /// Series of rates. A flow receives bytes in no more intervals than it sends packets.
    fn rates(&self, packets: f64) -> Option<RatesEstimate> {
        let interval = self.scenario.measures.rates?;
        let duration = self.scenario.duration;
        let intervals = (duration.as_secs_f64() / interval.as_secs_f64()).ceil();
        let mut flows = 0.0;
        for (group, ways) in &self.groups {
            flows += ways.load(group, duration).flows.of(group.senders());
        }
        let indices = (self.groups.len() + 1) as f64 * intervals * PER_INDEX;
        let memory = flows * size_of::<FlowRates>() as f64 * 2.0
            + packets.min(flows * intervals) * PER_INTERVAL
            + indices;
        Some(RatesEstimate {
            flows,
            intervals,
            memory,
        })
    }

    /// Packets, and packets times hops, that all groups send within `most`.
    fn traffic(&self, most: Duration) -> [f64; 2] {
        let network = &self.scenario.topology.network;
        let mut packets = 0.0;
        let mut packet_hops = 0.0;
        let mut shared = Shared::new(network);
        for (group, ways) in &self.groups {
            let span = group.span(self.scenario.duration).min(most);
            let load = ways.load_in(group, span).packets.of(group.senders());
            match group.source.protocol() {
                Some(tcp) => shared.add(
                    ways,
                    load,
                    f64::from(tcp.config().segment_len.max(1)) * 8.0,
                    group.senders(),
                    span.as_secs_f64(),
                ),
                None => {
                    packets += load;
                    packet_hops += load * ways.hops();
                }
            }
        }
        let [transfers, transfer_hops] = shared.traffic();
        [packets + transfers, packet_hops + transfer_hops]
    }
}

/// The routes between some of a group's pairs.
struct Ways {
    routes: Vec<Vec<usize>>,
    /// The shortest round trip on any route.
    round_trip: Duration,
    /// The highest rate that a route's bottleneck has, in bits a second.
    fastest: f64,
}

impl Ways {
    fn of(network: &Network, group: &Group, routes: &mut Routes) -> Self {
        let mut ways = Vec::new();
        let mut shortest = Duration::MAX;
        let mut fastest = 0;
        for (from, to) in group.some_pairs(SAMPLE) {
            let Ok(route) = routes.between(network, from, to) else {
                continue;
            };
            let links: Vec<usize> = routes.links(route).collect();
            let there = network.fastest(links.iter().map(|link| LinkId(*link as u32)), 0);
            shortest = shortest.min(there + there);
            let rates = links.iter().map(|link| network.links()[*link].rate);
            let narrowest = rates.map(Rate::bits_per_second).min();
            fastest = fastest.max(narrowest.unwrap_or(0));
            ways.push(links);
        }
        Self {
            round_trip: if ways.is_empty() {
                Duration::ZERO
            } else {
                shortest
            },
            routes: ways,
            fastest: fastest as f64,
        }
    }

    /// How much one of the group's sources sends in a run of `duration`.
    fn load(&self, group: &Group, duration: Duration) -> Load {
        self.load_in(group, group.span(duration))
    }

    /// How much one of the group's sources sends in `span`.
    fn load_in(&self, group: &Group, span: Duration) -> Load {
        let Self {
            round_trip,
            fastest,
            ..
        } = *self;
        group.source.source().load(&Conditions {
            span,
            round_trip,
            fastest,
            hosts: group.from.len() as f64,
        })
    }

    /// The mean number of links on a route.
    fn hops(&self) -> f64 {
        let hops: usize = self.routes.iter().map(Vec::len).sum();
        hops as f64 / self.routes.len().max(1) as f64
    }
}

/// Transfers over TCP, which links limit. Flows share a link's rate, so a transfer counts at the
/// link on its route that has the smallest rate per flow.
struct Shared<'a> {
    network: &'a Network,
    transfers: Vec<Transfer<'a>>,
    /// By link: how many flows cross it. Few links of a large network have any.
    flows: BTreeMap<usize, f64>,
}

/// Segments one way: `segments` full ones of `bits` each, which `sources` sources send in
/// `seconds`.
struct Transfer<'a> {
    links: &'a [usize],
    segments: f64,
    bits: f64,
    sources: f64,
    seconds: f64,
}

/// Segments over one link.
#[derive(Debug, Clone, Copy, Default)]
struct Carried {
    segments: f64,
    segment_hops: f64,
    /// The most that the link can carry.
    most: f64,
    longest_way: f64,
}

impl<'a> Shared<'a> {
    fn new(network: &'a Network) -> Self {
        Self {
            network,
            transfers: Vec::new(),
            flows: BTreeMap::new(),
        }
    }

    fn add<'w: 'a>(
        &mut self,
        ways: &'w Ways,
        segments: f64,
        bits: f64,
        sources: f64,
        seconds: f64,
    ) {
        let part = 1.0 / ways.routes.len().max(1) as f64;
        for links in &ways.routes {
            for link in links {
                *self.flows.entry(*link).or_default() += sources * part;
            }
            self.transfers.push(Transfer {
                links,
                segments: segments * part,
                bits,
                sources: sources * part,
                seconds,
            });
        }
    }

    fn rate(&self, link: usize) -> f64 {
        self.network.links()[link].rate.bits_per_second() as f64
    }

    /// Packets, and packets times hops. There are as many acknowledgements as segments.
    fn traffic(&self) -> [f64; 2] {
        let mut carried: BTreeMap<usize, Carried> = BTreeMap::new();
        for transfer in &self.transfers {
            let share = |link: usize| self.rate(link) / self.flows[&link].max(f64::MIN_POSITIVE);
            let links = transfer.links.iter().copied();
            let narrowest = links.min_by(|one, other| share(*one).total_cmp(&share(*other)));
            let Some(narrowest) = narrowest else {
                continue;
            };
            let at_rate = self.rate(narrowest) * transfer.seconds / transfer.bits;
            // A flow sends no more than its narrowest link can carry.
            let segments = transfer.segments.min(at_rate * transfer.sources.max(1.0));
            let at = carried.entry(narrowest).or_default();
            let hops = transfer.links.len() as f64;
            at.segments += segments;
            at.segment_hops += segments * hops;
            at.most = at.most.max(at_rate);
            at.longest_way = at.longest_way.max(hops);
        }
        let mut packets = 0.0;
        let mut packet_hops = 0.0;
        for at in carried.into_values() {
            let segments = at.segments.min(at.most);
            let segment_hops = at.segment_hops.min(segments * at.longest_way);
            packets += 2.0 * WITH_LOSSES * segments;
            packet_hops += 2.0 * WITH_LOSSES * segment_hops;
        }
        [packets, packet_hops]
    }
}

/// Bytes that lists take: as read, plus a copy for each sender.
fn list_bytes(group: &Group) -> f64 {
    match group.source.source().listed(Instant::ZERO) {
        Some(listed) => listed.memory as f64 * (1.0 + group.senders()),
        None => 0.0,
    }
}

/// Bytes that [`Measures`](super::Measures) take for `flows` flows and `waiting` packets.
fn measured(scenario: &Scenario, flows: f64, waiting: f64) -> f64 {
    let lives = if scenario.measures.flows {
        flows * PER_LIFE
    } else {
        0.0
    };
    let mut links = 0.0;
    if scenario.measures.wfi {
        let network = &scenario.topology.network;
        let class = measured_class(network);
        let measured = network
            .links()
            .iter()
            .filter(|link| Some(link.class) == class);
        links = measured.count() as f64;
    }
    lives
        + links * flows * PER_PASSING
        + if links > 0.0 {
            waiting * PER_STAMP
        } else {
            0.0
        }
}

/// Packets that all queues and wires can hold, with drawn delays at their maximum.
fn room(topology: &Topology) -> f64 {
    let links = topology.network.links();
    let mut room = 0.0;
    for link in links {
        let limit = link.queue.limit_or_default();
        room += (limit.packets as f64).min(limit.bytes as f64 / 1_000.0) + flying(link, link.delay);
    }
    for drawn in &topology.drawn {
        for link in drawn.links {
            room += flying(&links[link.index()], drawn.most);
        }
    }
    room
}

/// Packets of 1,000 bytes on a wire with this delay.
fn flying(link: &LinkConfig, delay: Duration) -> f64 {
    link.rate.bits_per_second() as f64 * delay.as_secs_f64() / 8_000.0
}
