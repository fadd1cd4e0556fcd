//! Outputs of `roundelay verify`.

use roundelay_report::{Printed, json};
use roundelay_verify::{Checks, Fault, Inspection, Verified};
use serde::Serialize;

use crate::outputs::{Output, Writes};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Verifying;

impl Writes for Verifying {
    type Results<'a> = Inspection;
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] =
        &[Output::json(|inspection| Ok(json(&Report::of(inspection))))];
}

/// Contents of a log, what was checked, and the faults found.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Report<'a> {
    /// Time of the last line.
    seconds: f64,
    /// Number of nodes.
    nodes: u32,
    /// Number of links.
    links: usize,
    /// Packets and their fates.
    totals: Verified,
    /// Number of checks of each kind.
    checks: Checks,
    /// The first faults, one for each link, plus any not about a link.
    faults: &'a [Fault],
    /// Whether reading stopped at the last of these faults; there may be more.
    more_possible: bool,
}

impl Printed for Report<'_> {
    const SCHEMA: &'static str = "verify/1";
}

impl<'a> Report<'a> {
    fn of(inspection: &'a Inspection) -> Self {
        Self {
            seconds: inspection.time as f64 / 1e12,
            nodes: inspection.header.nodes,
            links: inspection.header.links.len(),
            totals: inspection.totals,
            checks: inspection.checks,
            faults: &inspection.faults,
            more_possible: inspection.is_cut,
        }
    }
}
