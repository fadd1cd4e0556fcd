//! Outputs of `roundelay objective`.

use roundelay_report::{ObjectiveResult, json};

use crate::outputs::{Output, Target, Write, Writes};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Judging;

impl Writes for Judging {
    type Results<'a> = ObjectiveResult;
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] = &[
        Output {
            option: "json",
            help: "Print JSON instead of the table; no costs unless --cost is given",
            target: Target::Printed,
            only: None,
            write: Write::Text(|result| Ok(json(result))),
        },
        Output::html(|result| Ok(result.html())),
        Output::markdown(|result| Ok(result.document().markdown())),
    ];
}
