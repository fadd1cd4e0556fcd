//! Content of a simulation's page.

use roundelay_sim::scenario::Curves;

use crate::simulation::Simulated;

/// Content of the page.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The simulation's results.
    pub simulated: &'a Simulated,
    /// Curves over time of the first replica.
    pub curves: &'a Curves,
    /// Text of the scenario's file.
    pub scenario: &'a str,
    /// Origin of the figures, by name: see [`provenance`](crate::provenance).
    pub provenance: &'a [(String, String)],
}

/// Names the replica of the curves, since curves are not averaged.
pub(super) fn of_first(simulated: &Simulated, what: &str) -> String {
    match &simulated.replicas[..] {
        [first, _, ..] => format!("{what} of the first replica, seed {}.", first.seed),
        _ => String::new(),
    }
}
