//! The first run, which the call's outputs observe.

use std::sync::{Mutex, OnceLock, PoisonError};

use roundelay_sim::Probe;
use roundelay_sim::scenario::{Curves, Progress, Results, RunError, Scenario};

use super::outputs::Simulating;
use crate::outputs::Opened;

type Observers = Vec<Box<dyn Opened<Simulating>>>;

/// What is kept over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Curved {
    Nothing,
    /// The sources' delays.
    Sources,
    /// Sources and links.
    All,
}

/// Runs the first replica, with its observers.
pub(super) struct FirstRun {
    outputs: Mutex<Observers>,
    curved: Curved,
    curves: OnceLock<Curves>,
}

impl FirstRun {
    pub(super) fn new(outputs: Observers, curved: Curved) -> Self {
        Self {
            outputs: Mutex::new(outputs),
            curved,
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
        let (results, curves) = match (probes.is_empty(), self.curved) {
            (true, Curved::Nothing) => return scenario.run(scenario.seed, progress),
            (true, Curved::Sources) => scenario.run_with_groups(scenario.seed, progress)?,
            (_, _) => scenario.run_with(scenario.seed, &mut probes, progress)?,
        };
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
