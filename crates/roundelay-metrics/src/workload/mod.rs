//! Workload generator for service bounds: random and adversarial loads, and a discipline's B-WFI
//! and T-WFI under them.
//!
//! A [`Workload`] is a set of flows with weights, packet lengths and arrivals. Some flows react to
//! service: a [`Refill`] keeps the backlog between two levels, or reactivates the flow right after
//! the departure of its last packet. [`Workload::run`] drives a discipline through a [`Port`] and
//! measures the B-WFI and the T-WFI of each flow. The seed determines everything.
//!
//! | load | where |
//! |---|---|
//! | seven random kinds | [`Workload::random`] |
//! | constructed against rounded timestamps | [`adversaries`] |
//! | bursts on a fully allocated link, for models of listings | [`SaturatedBursts`] |

use roundelay::Seed;
use roundelay::schedulers::{AnyDiscipline, Discipline};
use roundelay::{
    ConfigError, FlowConfig, FlowId, Guarantees, Instant, Limit, Packet, Port, Rate, Scheduler,
    Share,
};

use crate::Stamp;
use arrivals::Arrivals;
pub use bursts::SaturatedBursts;
pub use lags::Lags;
pub use lengths::Lengths;
use meter::Meter;
pub use meter::{Event, EventKind, Outcome};
pub use ratios::Ratios;

pub mod adversaries;
mod arrivals;
mod bursts;
mod lags;
mod lengths;
mod meter;
mod random;
mod ratios;

/// The link's rate in bits per second: a byte takes a nanosecond.
pub const RATE: u64 = 8_000_000_000;
/// Picoseconds per nanosecond.
const NANO: u64 = 1_000;

/// Refill of a flow: more packets arrive after a departure that leaves at most `low` packets.
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
    /// A flow with `packets` packets of `len` bytes at time zero.
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
    /// Seed of the scheduler and of random lengths.
    pub seed: u64,
    /// The flows.
    pub sources: Vec<Source>,
}

impl Workload {
    /// Sum of the weights of all flows, including idle flows.
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

    /// The same over handles, whose schedulers the core has compiled.
    fn build_any(
        &self,
        discipline: &AnyDiscipline,
    ) -> Result<Box<dyn Scheduler<Stamp>>, ConfigError> {
        let mut scheduler = discipline.build_arena(Seed::new(self.seed))?;
        self.set_flows(&mut scheduler)?;
        Ok(Box::new(scheduler))
    }

    fn set_flows(&self, scheduler: &mut impl Scheduler<Stamp>) -> Result<(), ConfigError> {
        let mut flows = (0..).map(FlowId).zip(&self.sources);
        flows.try_for_each(|(flow, source)| scheduler.set_flow(flow, source.config))
    }

    /// Drives a discipline through the load until the queue is empty.
    ///
    /// # Errors
    /// See [`build`](Self::build).
    pub fn run(&self, discipline: &AnyDiscipline) -> Result<Outcome, ConfigError> {
        Ok(self
            .drive_with(self.build_any(discipline)?, Meter::new(self))
            .finish()
            .0)
    }

    /// Runs the load and records each arrival and departure with the lag of one flow.
    ///
    /// # Errors
    /// See [`build`](Self::build).
    pub fn record(
        &self,
        discipline: &AnyDiscipline,
        flow: usize,
    ) -> Result<(Outcome, Vec<Event>), ConfigError> {
        Ok(self
            .drive_with(self.build_any(discipline)?, Meter::watching(self, flow))
            .finish())
    }

    /// Drives a scheduler with configured flows through the load until the queue is empty.
    pub fn drive<'a>(&self, scheduler: impl Scheduler<Stamp> + 'a) -> Outcome {
        self.drive_with(Box::new(scheduler), Meter::new(self))
            .finish()
            .0
    }

    fn drive_with(&self, scheduler: Box<dyn Scheduler<Stamp> + '_>, mut meter: Meter) -> Meter {
        let mut port = Port::new(scheduler, Limit::UNBOUNDED, rate());
        let mut arrivals = Arrivals::of(self);
        loop {
            let pick = port.next_event();
            if let Some((now, flow)) = arrivals.take_until(pick) {
                let len = arrivals.next_length(self, flow);
                meter.complete_until(now);
                let packet = Packet::new(FlowId(flow as u32), len, meter.arrive(now, flow, len));
                port.arrive(now, packet, &mut meter);
            } else if let Some(pick) = pick {
                port.advance(Instant::from_picos(pick.as_picos() + 1), &mut meter);
                while let Some((flow, start, left)) = meter.next_departure() {
                    arrivals.served(self, flow, start, left);
                }
            } else {
                return meter;
            }
        }
    }
}

fn rate() -> Rate {
    const { Rate::from_bits_per_second(RATE).expect("not zero") }
}
