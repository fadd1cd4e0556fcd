//! Outputs of `roundelay verify`.

use roundelay_verify::Inspection;

use crate::outputs::{Output, Writes};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Verifying;

impl Writes for Verifying {
    type Results<'a> = Inspection;
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] = &[Output::json(|inspection| Ok(json(inspection)))];
}

/// The output of `--json`.
fn json(inspection: &Inspection) -> String {
    let Inspection {
        header,
        time,
        totals,
        checks,
        faults,
        is_cut,
    } = inspection;
    let nodes = header.nodes;
    let links = header.links.len();
    let seconds = *time as f64 / 1e12;
    let all = serde_json::json!({ "seconds": seconds, "nodes": nodes, "links": links, "totals": totals, "checks": checks, "faults": faults, "more_possible": is_cut });
    format!("{all:#}\n")
}
