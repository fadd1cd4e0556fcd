//! Output `--json`: all results on standard output, in place of the table.

use roundelay_report::json;

use super::{Output, Target, Use, Write};
use crate::{bench, verify};

const HELP: &str = "Print JSON instead of the table";

pub(super) static OUTPUT: Output = Output {
    compare: Some(Use::printed(HELP, |compared| {
        Ok(json(&compared.comparison))
    })),
    simulate: Some(Use::printed(HELP, |ran| Ok(json(&ran.simulated)))),
    replay: Some(Use::printed(HELP, |replays| Ok(json(replays.replayed)))),
    objective: Some(Use::printed(
        "Print JSON instead of the table; no costs unless --cost is given",
        |result| Ok(json(result)),
    )),
    sweep: Some(Use::printed(HELP, |summary| Ok(summary.json()))),
    // One array of all items.
    papers: Some(Use {
        help: "Print JSON instead of text",
        target: Target::Printed,
        only: None,
        write: Write::Command,
    }),
    bench: Some(Use::printed(
        "Print JSON instead of the tables",
        |measured| Ok(bench::json(measured)),
    )),
    bounds: Some(Use::printed(HELP, |report| Ok(json(report)))),
    verify: Some(Use::printed(HELP, |inspection| {
        Ok(verify::json(inspection))
    })),
    ..Output::new("json")
};
