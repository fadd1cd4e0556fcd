//! Measurements on received packets with deadlines: latencies, missed deadlines, and how each flow
//! is served over its life.

use roundelay::{Duration, Instant, Packet};
use roundelay_metrics::Delays;

use super::sources::Sources;

/// How often we look at a flow's service during its life.
const LOOKS: u32 = 100;

/// All that a run measures.
#[derive(Debug, Clone)]
pub(super) struct Meter {
    pub(super) flows: Vec<Received>,
    pub(super) latencies: Delays,
    /// Packets received after their deadlines.
    pub(super) missed: u64,
    pub(super) decisions: u64,
    /// One look at a flow for each hundredth of its packets received.
    pub(super) looks: Vec<Look>,
    lifetime: Duration,
    /// Packets between two looks at a flow.
    look_every: u32,
    /// For each flow: a packet's bits over the rate, and the start.
    requested: Vec<(f64, Instant)>,
}

/// A flow's packets, as its receiver sees them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Received {
    pub(super) packets: u32,
    /// When the last packet arrived.
    pub(super) last: Instant,
    /// The packets' longest latency.
    pub(super) longest: Duration,
}

/// A flow at a moment in its life.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Look {
    pub(super) flow: u32,
    /// Packets received.
    pub(super) packets: u32,
    /// The last received packet's latency.
    pub(super) latency: Duration,
    /// Bennett-Zhang's ratio: throughput so far over requested rate.
    pub(super) ratio: f64,
}

impl Meter {
    pub(super) fn new(sources: &Sources) -> Self {
        let bits = f64::from(sources.packet_len()) * 8.0;
        let requested = sources
            .flows()
            .iter()
            .map(|flow| (bits / flow.rate.bits_per_second() as f64, flow.start))
            .collect();
        Self {
            flows: vec![Received::default(); sources.flows().len()],
            latencies: Delays::default(),
            missed: 0,
            decisions: 0,
            looks: Vec::new(),
            lifetime: sources.lifetime(),
            look_every: sources.packets.div_ceil(LOOKS),
            requested,
        }
    }

    #[inline]
    pub(super) fn received(&mut self, packet: &Packet<()>, decisions: u64, at: Instant) {
        let latency = at.since(packet.arrival);
        self.latencies.record(latency);
        self.missed += u64::from(latency > self.lifetime);
        self.decisions += decisions;
        let flow = &mut self.flows[packet.flow.index()];
        flow.packets += 1;
        flow.last = at;
        flow.longest = flow.longest.max(latency);
        if flow.packets.is_multiple_of(self.look_every) {
            self.look(packet.flow.0, latency);
        }
    }

    fn look(&mut self, number: u32, latency: Duration) {
        let (interval, start) = self.requested[number as usize];
        let Received { packets, last, .. } = self.flows[number as usize];
        let ratio = f64::from(packets) * interval / last.since(start).as_secs_f64().max(interval);
        self.looks.push(Look {
            flow: number,
            packets,
            latency,
            ratio,
        });
    }
}
