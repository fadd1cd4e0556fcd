//! Outputs of `roundelay papers`.

use roundelay_report::Chart;
#[cfg(feature = "parquet")]
use roundelay_report::write_measurements;

use super::result::ItemResult;
#[cfg(feature = "parquet")]
use crate::failure::Failure;
use crate::outputs::{One, Output, Target, Write, Writes};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Publishing;

static ITEM: One = One {
    name: "item",
    several: "items",
    instead: "name one with a plan",
};

impl Writes for Publishing {
    type Results<'a> = ItemResult<'a>;
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] = &[
        // One array of all items.
        Output {
            option: "json",
            help: "Print JSON instead of text",
            target: Target::Printed,
            only: None,
            write: Write::Command,
        },
        Output {
            option: "html",
            help: "Write one item as a self-contained HTML page with charts",
            target: Target::File,
            only: Some(&ITEM),
            write: Write::Text(|result| Ok(result.html())),
        },
        Output {
            option: "markdown",
            help: "Write one item as Markdown",
            target: Target::File,
            only: Some(&ITEM),
            write: Write::Text(|result| Ok(result.markdown())),
        },
        Output {
            option: "svg",
            help: "Write the first chart of one item, as SVG",
            target: Target::File,
            only: Some(&ITEM),
            write: Write::Text(|result| {
                let charts = result.judged.charts();
                Ok(charts.first().map(Chart::svg).unwrap_or_default())
            }),
        },
        #[cfg(feature = "parquet")]
        Output {
            option: "parquet",
            help: "Write the raw rows of one item to Parquet: variation, figure, x, seed, value",
            target: Target::File,
            only: Some(&ITEM),
            write: Write::After(|path, result| {
                write_measurements(path, &result.measurements(), &result.metadata())
                    .map_err(Failure::run)
            }),
        },
        // Records of the items, and the documents made from these.
        Output {
            option: "pages",
            help: "Write records, pages and charts into this folder; without a paper: pages and \
                charts from the existing records",
            target: Target::Tree,
            only: None,
            write: Write::Command,
        },
    ];
}
