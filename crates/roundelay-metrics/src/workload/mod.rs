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

use roundelay::schedulers::AnyDiscipline;
use roundelay::{ConfigError, FlowId, Instant, Limit, Packet, Port, Scheduler};

use crate::Stamp;
use arrivals::Arrivals;
pub use bursts::SaturatedBursts;
pub use lags::Lags;
pub use lengths::Lengths;
use load::rate;
pub use load::{RATE, Refill, Source, Workload};
use meter::Meter;
pub use meter::{Event, EventKind, Outcome};
pub use ratios::Ratios;

pub mod adversaries;
mod arrivals;
mod bursts;
mod lags;
mod lengths;
mod load;
mod meter;
mod random;
mod ratios;

impl Workload {
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
                // `advance` stops just before its time, so a picosecond more lets the link pick.
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
