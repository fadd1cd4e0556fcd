//! What a link has done up to some instant.

use roundelay::Duration;

use crate::ids::LinkId;
use crate::link::LinkCounts;
use crate::probe::Probe;
use crate::simulation::Simulation;

/// A link's counters at some instant.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkState {
    pub(super) counts: LinkCounts,
    pub(super) at_work: Duration,
    /// If the link has a trace: how many bytes it carried, and how many it could have carried.
    pub(super) traced: Option<[u64; 2]>,
}

impl LinkState {
    pub(super) fn of<P: Probe>(
        simulation: &Simulation<P>,
        link: LinkId,
        counts: LinkCounts,
    ) -> Self {
        Self {
            counts,
            at_work: simulation.at_work(link),
            traced: simulation.trace_work(link),
        }
    }

    /// Which part of its time a link was at work since `before`, `seconds` ago. If it has a trace,
    /// which part of the trace's bytes it carried.
    pub(super) fn utilisation(&self, before: &Self, seconds: f64) -> f64 {
        let Some([carried, possible]) = self.traced else {
            return (self.at_work - before.at_work).as_secs_f64() / seconds;
        };
        let [carried_before, possible_before] = before.traced.unwrap_or_default();
        let possible = possible - possible_before;
        (carried - carried_before) as f64 / possible.max(1) as f64
    }
}
