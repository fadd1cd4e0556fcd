//! What a run will take, before it runs.

use roundelay::Duration;

use super::{Group, Scenario, SourceSpec};
use crate::network::{LinkClass, LinkConfig, Network};
use crate::routing::Routes;

/// A run that would take more events is refused.
pub const MOST_EVENTS: f64 = 1e12;

/// What a run will take, roughly: losses not counted, queues full, TCP as fast as its links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Packets sent.
    pub packets: f64,
    /// Packets sent, each counted at every link.
    pub packet_hops: f64,
    /// Arrivals, departures and calls by time.
    pub events: f64,
    /// Bytes of memory.
    pub memory: f64,
}

/// Bytes that a packet takes in a queue, in the arena and on the wire.
const PER_PACKET: f64 = 160.0;
/// Bytes that a source and its flow take, with what is counted of them.
const PER_SOURCE: f64 = 1_000.0;
/// Bytes that a link and its queue take, empty.
const PER_LINK: f64 = 4_000.0;
/// Pairs of a group whose routes are looked at.
const SAMPLE: usize = 1_000;

impl Estimate {
    /// Of one run of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let network = &scenario.topology.network;
        let (mut packets, mut packet_hops, mut sources, mut offered) = (0.0, 0.0, 0.0, 0.0);
        let mut routes = Routes::default();
        for group in &scenario.groups {
            let span = group.span(scenario.duration);
            let (hops, bottleneck) = ways(network, group, &mut routes);
            let sent = |span| sent(network, group, span, bottleneck);
            packets += sent(span);
            packet_hops += sent(span) * hops;
            sources += group.sources() as f64;
            offered += sent(span.min(Duration::from_secs(1)));
        }
        let lists: f64 = scenario.groups.iter().map(list_bytes).sum();
        // Groups that join the same hosts share their tables.
        let tables = scenario.groups.iter().map(|group| group.route_bytes(network)).max().unwrap_or(0) as f64;
        let memory =
            lists + tables + network.links().len() as f64 * PER_LINK + sources * PER_SOURCE + room(network).min(offered) * PER_PACKET;
        Self { packets, packet_hops, events: 2.0 * packet_hops + packets, memory }
    }
}

/// Mean length and mean bottleneck, in bits a second, of a group's routes.
fn ways(network: &Network, group: &Group, routes: &mut Routes) -> (f64, f64) {
    let pairs = group.possible_pairs();
    let sample: Vec<_> = pairs.iter().step_by(pairs.len().div_ceil(SAMPLE).max(1)).collect();
    let (mut links, mut rates) = (0, 0.0);
    for (from, to) in &sample {
        let Ok(route) = routes.between(network, *from, *to) else { continue };
        links += routes.links(route).count();
        rates += routes.links(route).map(|link| network.links()[link].rate.bits_per_second()).min().unwrap_or(0) as f64;
    }
    let count = sample.len().max(1) as f64;
    (links as f64 / count, rates / count)
}

/// Bytes that lists take: as they were read, and with those who send them.
fn list_bytes(group: &Group) -> f64 {
    match &group.source {
        SourceSpec::Trace(trace) => size_of_val(&trace.packets[..]) as f64 * (1.0 + group.senders()),
        SourceSpec::Workload(workload) => size_of_val(&workload.flows[..]) as f64 * (1.0 + group.senders()),
        _ => 0.0,
    }
}

/// Packets that a group sends. Those that take what they can get share the core.
fn sent(network: &Network, group: &Group, span: Duration, bottleneck: f64) -> f64 {
    let all = group.source.packets(span, bottleneck, group.from.len() as f64) * group.senders();
    if !group.source.is_greedy() {
        return all;
    }
    let has_core = network.links().iter().any(|link| link.class == LinkClass::Core);
    let core = network.links().iter().filter(|link| !has_core || link.class == LinkClass::Core);
    let rate: f64 = core.map(|link| link.rate.bits_per_second() as f64).sum();
    all.min(group.source.packets(span, rate, 1.0))
}

/// Packets that fit into all queues and wires.
fn room(network: &Network) -> f64 {
    let of_link = |link: &LinkConfig| {
        let limit = link.queue.limit_or_default();
        let flying = link.rate.bits_per_second() as f64 * link.delay.as_secs_f64() / 8_000.0;
        (limit.packets as f64).min(limit.bytes as f64 / 1_000.0) + flying
    };
    network.links().iter().map(of_link).sum()
}
