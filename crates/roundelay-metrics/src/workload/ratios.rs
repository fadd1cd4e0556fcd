//! Ratios of measured indices to their bounds.

use roundelay::Guarantees;
use roundelay::schedulers::Discipline;

use super::load::{RATE, Workload};
use super::meter::Outcome;

/// Measured index divided by the promised bound: the largest ratio over all flows. Zero without a
/// bound.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Ratios {
    /// B-WFI as measured by [`BitWfi`](crate::BitWfi).
    pub b_wfi: f64,
    /// B-WFI as measured by [`Lags`](super::Lags).
    pub b_wfi_by_bit: f64,
    /// T-WFI.
    pub t_wfi: f64,
}

impl Ratios {
    /// The larger ratio in each pair.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            b_wfi: self.b_wfi.max(other.b_wfi),
            b_wfi_by_bit: self.b_wfi_by_bit.max(other.b_wfi_by_bit),
            t_wfi: self.t_wfi.max(other.t_wfi),
        }
    }
}

impl Workload {
    /// Ratios of an outcome to the bounds proven for a discipline. `rounding` is the fraction of
    /// the bytes served that fixed-point arithmetic may add to each bound.
    pub fn ratios<D: Discipline>(
        &self,
        promised_by: &D,
        outcome: &Outcome,
        rounding: f64,
    ) -> Ratios {
        self.ratios_to(outcome, rounding, |flow| self.guarantees(promised_by, flow))
    }

    /// Ratios to the bounds promised to each flow, by its number.
    pub fn ratios_to(
        &self,
        outcome: &Outcome,
        rounding: f64,
        promised: impl Fn(usize) -> Guarantees,
    ) -> Ratios {
        let slack = rounding * outcome.total() as f64;
        let of_flow = |flow| {
            let Guarantees { b_wfi, t_wfi, .. } = promised(flow);
            let bytes = b_wfi.map_or(f64::INFINITY, |bound| bound.value as f64 + slack);
            let seconds = t_wfi.map_or(f64::INFINITY, |bound| {
                bound.value.as_secs_f64() + slack * 8.0 / RATE as f64
            });
            let [b_wfi, by_bit] = [outcome.b_wfi[flow], outcome.b_wfi_by_bit[flow]];
            Ratios {
                b_wfi: b_wfi / bytes,
                b_wfi_by_bit: by_bit / bytes,
                t_wfi: (outcome.t_wfi[flow] / seconds).max(0.0),
            }
        };
        (0..self.sources.len())
            .map(of_flow)
            .fold(Ratios::default(), Ratios::max)
    }
}
