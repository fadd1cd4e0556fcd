//! Flows and their traffic, and a scheduler's setup for them.

use roundelay::schedulers::{AnyDiscipline, Discipline};
use roundelay::{ConfigError, FlowConfig, FlowId, Guarantees, Rate, Scheduler, Seed, Share};

use super::lengths::Lengths;
use crate::Stamp;

/// The link's rate in bits per second: a byte takes a nanosecond.
pub const RATE: u64 = 8_000_000_000;
/// Picoseconds per nanosecond.
pub(super) const NANO: u64 = 1_000;

/// Refill for a flow: more packets arrive after a departure that leaves at most `low` packets.
#[derive(Debug, Clone, Copy)]
pub struct Refill {
    /// Largest backlog in packets at a refill.
    pub low: u64,
    /// Packets per refill.
    pub burst: u64,
    /// Nanoseconds from the departure to the refill.
    pub after: u64,
    /// Packets in all refills together.
    pub packets: u64,
}

/// One flow and its traffic.
#[derive(Debug, Clone)]
pub struct Source {
    /// Weight and longest packet, as configured in the scheduler.
    pub config: FlowConfig,
    /// Packet lengths.
    pub lengths: Lengths,
    /// Arrival times in nanoseconds, ascending, one per packet.
    pub arrivals: Vec<u64>,
    /// Arrivals triggered by service.
    pub refill: Option<Refill>,
}

impl Source {
    /// A flow with `packets` packets at time zero, each with `len` bytes.
    pub fn burst(weight: u32, len: u32, packets: usize) -> Self {
        let config = FlowConfig {
            weight,
            max_packet_len: len.max(FlowConfig::MIN_MAX_PACKET_LEN),
        };
        Self {
            config,
            lengths: Lengths::Fixed(len),
            arrivals: vec![0; packets],
            refill: None,
        }
    }

    /// The flow's longest packet, in bytes.
    pub fn longest(&self) -> u32 {
        self.lengths.longest()
    }
}

/// Flows, numbered from 0, and their traffic.
#[derive(Debug, Clone)]
pub struct Workload {
    /// The kind, for failure messages and tables.
    pub name: &'static str,
    /// Seed for the scheduler and for random lengths.
    pub seed: u64,
    /// The flows.
    pub sources: Vec<Source>,
}

impl Workload {
    /// Sum of all flows' weights, including idle flows.
    pub fn total_weight(&self) -> u64 {
        self.sources
            .iter()
            .map(|source| u64::from(source.config.weight))
            .sum()
    }

    /// The flow's share, the input of its bounds. L is the longest packet in the traffic, which can
    /// be below the configured limit.
    pub fn share(&self, flow: usize) -> Share {
        Share {
            weight: self.sources[flow].config.weight,
            total_weight: self.total_weight(),
            least_weight: self
                .sources
                .iter()
                .map(|source| source.config.weight)
                .min()
                .unwrap_or(1),
            flows: self.sources.len() as u64,
            max_packet_len: self.sources[flow].config.max_packet_len,
            link_max_packet_len: self.sources.iter().map(Source::longest).max().unwrap_or(0),
            rate: rate(),
        }
    }

    /// A discipline's guarantees to a flow.
    pub fn guarantees<D: Discipline>(&self, discipline: &D, flow: usize) -> Guarantees {
        discipline.guarantees(&self.share(flow))
    }

    /// A scheduler with all flows configured.
    ///
    /// # Errors
    /// A parameter, weight or longest packet out of range.
    pub fn build<D: Discipline>(&self, discipline: &D) -> Result<D::Scheduler<Stamp>, ConfigError> {
        let mut scheduler = discipline.build(Seed::new(self.seed))?;
        self.set_flows(&mut scheduler)?;
        Ok(scheduler)
    }

    /// The same by handle, in an arena, because the core has compiled those schedulers.
    pub(super) fn build_any(
        &self,
        discipline: &AnyDiscipline,
    ) -> Result<Box<dyn Scheduler<Stamp>>, ConfigError> {
        let mut scheduler = discipline.build_arena(Seed::new(self.seed))?;
        self.set_flows(&mut scheduler)?;
        Ok(Box::new(scheduler))
    }

    fn set_flows(&self, scheduler: &mut impl Scheduler<Stamp>) -> Result<(), ConfigError> {
        for (flow, source) in (0..).zip(&self.sources) {
            scheduler.set_flow(FlowId(flow), source.config)?;
        }
        Ok(())
    }
}

pub(super) fn rate() -> Rate {
    const { Rate::from_bits_per_second(RATE).expect("not zero") }
}
