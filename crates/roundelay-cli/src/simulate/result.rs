//! The result of a simulation.

use roundelay_report::{Page, Simulated, simulation_html};
use roundelay_sim::scenario::Curves;

/// The result of [`simulate`](crate::call::simulate).
#[derive(Debug)]
pub struct Ran {
    /// The results.
    pub simulated: Simulated,
    pub(crate) curves: Curves,
    pub(crate) text: String,
    /// Version, seed and hash of the scenario, as in the Parquet files.
    pub metadata: Vec<(String, String)>,
}

impl Ran {
    /// The page of `--html`. Its curves over time are empty unless the call had `--html`.
    pub fn html(&self) -> String {
        let Self {
            simulated,
            curves,
            text,
            metadata,
        } = self;
        simulation_html(&Page {
            simulated,
            curves,
            scenario: text,
            provenance: metadata,
        })
    }
}
