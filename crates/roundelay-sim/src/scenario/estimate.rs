//! What a run will take, before it runs.

use roundelay::Duration;

use super::Scenario;
use super::pairs::Pairing;
use crate::random::{Drawer, stream};
use crate::routing::Routes;

/// A run that would take more events is refused.
pub const MOST_EVENTS: f64 = 1e12;

/// What a run will take, roughly: losses not counted, queues full.
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
            let mut random = stream(scenario.seed, Drawer::Agent(u32::MAX));
            let pairs = Pairing::pairs(group.pairs, &group.from, &group.to, &mut random);
            let step = pairs.len().div_ceil(SAMPLE).max(1);
            let sample: Vec<_> = pairs.iter().step_by(step).collect();
            let length = |pair: &(_, _)| routes.between(network, pair.0, pair.1).map_or(0, |route| routes.links(route).count());
            let hops = sample.iter().copied().map(length).sum::<usize>() as f64 / sample.len().max(1) as f64;
            let end = group.stop.map_or(scenario.duration, |stop| stop.min(scenario.duration));
            let span = end - group.start.min(end);
            let count = pairs.len() as f64 * f64::from(group.count);
            let sent = group.source.packets(span) * count;
            packets += sent;
            packet_hops += sent * hops;
            sources += count;
            offered += group.source.packets(Duration::from_secs(1).min(span)) * count;
        }
        let memory = network.links().len() as f64 * PER_LINK + sources * PER_SOURCE + Self::waiting(scenario, offered) * PER_PACKET;
        Self { packets, packet_hops, events: 2.0 * packet_hops + packets, memory }
    }

    /// Packets in the network at once: what the limits of queues allow, and no more than come in a second.
    fn waiting(scenario: &Scenario, offered: f64) -> f64 {
        let of_link = |link: &crate::LinkConfig| {
            let limit = link.queue.limit_or_default();
            let flying = link.rate.bits_per_second() as f64 * link.delay.as_secs_f64() / 8_000.0;
            (limit.packets as f64).min(limit.bytes as f64 / 1_000.0) + flying
        };
        scenario.topology.network.links().iter().map(of_link).sum::<f64>().min(offered)
    }
}
