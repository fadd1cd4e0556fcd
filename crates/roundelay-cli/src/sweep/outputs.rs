//! Outputs of `roundelay sweep`.

use super::report::Summary;
use crate::outputs::{Output, Target, Write, Writes};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Sweeping;

impl Writes for Sweeping {
    type Results<'a> = Summary;
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] = &[
        Output::json(|summary| Ok(summary.json())),
        Output::text(
            "html",
            "Write a self-contained HTML page: the figure of --figure [default: delay_p99] over \
             the swept keys",
            |summary| Ok(summary.html()),
        ),
        // The dataset, which later sweeps continue.
        Output {
            option: "out",
            help: "Folder of the dataset [default: NAME.sweep in the working directory]",
            target: Target::Tree,
            only: None,
            write: Write::Command,
        },
    ];
}
