//! Outputs of `roundelay bench`.

use roundelay_report::json;

use super::chart;
use super::measured::Measured;
use super::saved::Report;
use crate::outputs::{Output, Target, Write, Writes};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Measuring;

impl Writes for Measuring {
    type Results<'a> = [Measured];
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] = &[
        Output {
            option: "json",
            help: "Print JSON instead of the tables",
            target: Target::Printed,
            only: None,
            write: Write::Text(|measured| Ok(json(&Report::of(measured)))),
        },
        Output::text(
            "svg",
            "Write a chart of cost against number of flows, as SVG",
            |measured| Ok(chart::svg(measured)),
        ),
        Output::text(
            "save",
            "Write the measurements to a file, for --against and --check",
            |measured| Ok(json(&Report::of(measured))),
        ),
    ];
}
