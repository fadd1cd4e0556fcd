//! What is measured while packets with deadlines are received: latencies, deadlines missed, the service of each flow over its life.

use roundelay::{Duration, Instant, Packet};
use roundelay_metrics::Delays;

use super::sources::Sources;

/// How often in its life a flow's service so far is looked at.
const LOOKS: u32 = 100;

/// All that a run measures.
#[derive(Debug, Clone)]
pub(super) struct Meter {
    pub(super) flows: Vec<Received>,
    pub(super) latencies: Delays,
    /// Packets received after their deadlines.
    pub(super) missed: u64,
    pub(super) decisions: u64,
    /// Bennett-Zhang's ratio each time that a flow has received another hundredth of its packets: throughput so far over requested rate.
    pub(super) ratios: Vec<f64>,
    lifetime: Duration,
    /// Packets between two looks at a flow.
    look_every: u32,
    /// Bits of a packet over the rate and start of each flow: what a look needs.
    requested: Vec<(f64, Instant)>,
}

/// What the receiver of a flow has seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Received {
    pub(super) packets: u32,
    /// When the last packet came.
    pub(super) last: Instant,
    /// The longest latency of a packet.
    pub(super) longest: Duration,
}

impl Meter {
    pub(super) fn new(sources: &Sources) -> Self {
        let bits = f64::from(sources.packet_len()) * 8.0;
        let requested = sources.flows().iter().map(|flow| (bits / flow.rate.bits_per_second() as f64, flow.start)).collect();
        Self {
            flows: vec![Received::default(); sources.flows().len()],
            latencies: Delays::default(),
            missed: 0,
            decisions: 0,
            ratios: Vec::new(),
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
            self.look(packet.flow.index());
        }
    }

    fn look(&mut self, number: usize) {
        let (interval, start) = self.requested[number];
        let flow = self.flows[number];
        self.ratios.push(f64::from(flow.packets) * interval / flow.last.since(start).as_secs_f64().max(interval));
    }
}
