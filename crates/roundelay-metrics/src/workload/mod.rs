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

use roundelay::schedulers::Discipline;
use roundelay::{ConfigError, FlowConfig, FlowId, Guarantees, Instant, Limit, Packet, Port, Rate, Scheduler, Share};

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
        let config = FlowConfig { weight, max_packet_len: len.max(FlowConfig::MIN_MAX_PACKET_LEN) };
        Self { config, lengths: Lengths::Fixed(len), arrivals: vec![0; packets], refill: None }
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
        self.sources.iter().map(|source| u64::from(source.config.weight)).sum()
    }

    /// The flow's share, the input of its bounds. L is the longest packet in the traffic, which can
    /// be below the configured limit.
    pub fn share(&self, flow: usize) -> Share {
        Share {
            weight: self.sources[flow].config.weight,
            total_weight: self.total_weight(),
            least_weight: self.sources.iter().map(|source| source.config.weight).min().unwrap_or(1),
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
        let mut scheduler = discipline.build(self.seed)?;
        for (flow, source) in (0..).zip(&self.sources) {
            scheduler.set_flow(FlowId(flow), source.config)?;
        }
        Ok(scheduler)
    }

    /// Drives a discipline through the load until the queue is empty.
    ///
    /// # Errors
    /// See [`build`](Self::build).
    pub fn run<D: Discipline>(&self, discipline: &D) -> Result<Outcome, ConfigError> {
        Ok(self.drive(self.build(discipline)?))
    }

    /// Runs the load and records each arrival and departure with the lag of one flow.
    ///
    /// # Errors
    /// See [`build`](Self::build).
    pub fn record<D: Discipline>(&self, discipline: &D, flow: usize) -> Result<(Outcome, Vec<Event>), ConfigError> {
        let scheduler = self.build(discipline)?;
        let meter = self.drive_with(scheduler, Meter::watching(self, flow));
        Ok(meter.finish())
    }

    /// Drives a scheduler with configured flows through the load until the queue is empty.
    pub fn drive<S: Scheduler<Stamp>>(&self, scheduler: S) -> Outcome {
        self.drive_with(scheduler, Meter::new(self)).finish().0
    }

    fn drive_with<S: Scheduler<Stamp>>(&self, scheduler: S, mut meter: Meter) -> Meter {
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
