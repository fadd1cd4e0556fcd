//! Outputs of `roundelay evaluate`.

use roundelay_report::{Evaluated, json};

use crate::outputs::{Output, Target, Write, Writes};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Evaluating;

impl Writes for Evaluating {
    type Results<'a> = Evaluated;
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] = &[
        Output::json(|result| Ok(json(result))),
        Output::html(|result| Ok(result.html())),
        Output::markdown(|result| Ok(result.document().markdown())),
        // The dataset, which later evaluations continue.
        Output {
            option: "out",
            help: "Folder of the dataset [default: rfc7928.sweep in the working directory, \
                   rfc7928-quick.sweep with --quick]",
            target: Target::Tree,
            only: None,
            write: Write::Command,
        },
    ];
}
