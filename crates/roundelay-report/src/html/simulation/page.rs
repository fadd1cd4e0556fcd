//! Content of a simulation's page.

use roundelay_sim::scenario::Curves;

use crate::simulation::Simulated;

/// What the page contains.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The simulation's results.
    pub simulated: &'a Simulated,
    /// The first replica's curves over time.
    pub curves: &'a Curves,
    /// The text of the scenario's file.
    pub scenario: &'a str,
    /// Where the figures come from, by name: see [`provenance`](crate::provenance).
    pub provenance: &'a [(String, String)],
}

/// Names the replica that the curves show, since curves are not averaged.
pub(super) fn note_on_first_replica(simulated: &Simulated, what: &str) -> String {
    match &simulated.replicas[..] {
        [first, _, ..] => format!("{what} of the first replica, seed {}.", first.seed),
        _ => String::new(),
    }
}
