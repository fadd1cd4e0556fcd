//! Output `--svg`: a chart as a drawing, for documents.

use roundelay_report::Chart;

use super::{One, Output, Use};
use crate::bench;

pub(super) static OUTPUT: Output = Output {
    papers: Some(Use {
        only: Some(&One::ITEM),
        ..Use::text("Write the first chart of one item, as SVG", |result| {
            Ok(result
                .judged
                .charts()
                .first()
                .map(Chart::svg)
                .unwrap_or_default())
        })
    }),
    bench: Some(Use::text(
        "Write a chart of cost against number of flows, as SVG",
        |measured| Ok(bench::svg(measured)),
    )),
    ..Output::new("svg")
};
