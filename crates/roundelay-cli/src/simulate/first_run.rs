//! The first run, which the call's outputs observe.

use std::sync::{Mutex, OnceLock, PoisonError};

use roundelay_sim::Probe;
use roundelay_sim::scenario::{Curves, Progress, Results, RunError, Scenario};

use super::outputs::Simulating;
use crate::outputs::Opened;

type Observers = Vec<Box<dyn Opened<Simulating>>>;

/// Runs the first replica, with its observers.
pub(super) struct FirstRun {
    outputs: Mutex<Observers>,
    has_curves: bool,
    curves: OnceLock<Curves>,
}

impl FirstRun {
    /// `has_curves` says whether to keep curves over time.
    pub(super) fn new(outputs: Observers, has_curves: bool) -> Self {
        Self {
            outputs: Mutex::new(outputs),
            has_curves,
            curves: OnceLock::new(),
        }
    }

    /// Runs the scenario, with observers only if one is needed.
    pub(super) fn run(
        &self,
        scenario: &Scenario,
        progress: impl FnMut(Progress),
    ) -> Result<Results, RunError> {
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut probes: Vec<&mut dyn Probe> = outputs
            .iter_mut()
            .filter_map(|output| output.probe())
            .collect();
        if probes.is_empty() && !self.has_curves {
            return scenario.run(scenario.seed, progress);
        }
        let (results, curves) = scenario.run_with(scenario.seed, &mut probes, progress)?;
        self.curves.get_or_init(|| curves);
        Ok(results)
    }

    /// The outputs, and the curves over time.
    pub(super) fn finish(self) -> (Observers, Curves) {
        (
            self.outputs
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner),
            self.curves.into_inner().unwrap_or_default(),
        )
    }
}
