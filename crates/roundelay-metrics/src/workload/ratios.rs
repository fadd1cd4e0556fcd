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

    /// Ratios to the bounds promised to each flow, by its number. `rounding` is as in
    /// [`Self::ratios`].
    pub fn ratios_to(
        &self,
        outcome: &Outcome,
        rounding: f64,
        promised: impl Fn(usize) -> Guarantees,
    ) -> Ratios {
        let tolerance_bytes = rounding * outcome.total() as f64;
        let mut largest = Ratios::default();
        for flow in 0..self.sources.len() {
            // Without a bound the ratio is zero.
            let Guarantees { b_wfi, t_wfi, .. } = promised(flow);
            let bytes = match b_wfi {
                Some(bound) => bound.value as f64 + tolerance_bytes,
                None => f64::INFINITY,
            };
            let seconds = match t_wfi {
                Some(bound) => bound.value.as_secs_f64() + tolerance_bytes * 8.0 / RATE as f64,
                None => f64::INFINITY,
            };
            largest = largest.max(Ratios {
                b_wfi: outcome.b_wfi[flow] / bytes,
                b_wfi_by_bit: outcome.b_wfi_by_bit[flow] / bytes,
                // Negative if each packet was faster than at the flow's share.
                t_wfi: (outcome.t_wfi[flow] / seconds).max(0.0),
            });
        }
        largest
    }
}
