//! Outputs of `roundelay advise`.

use roundelay_report::json;

use super::report::Report;
use crate::outputs::{Output, Writes};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Advising;

impl Writes for Advising {
    type Results<'a> = Report;
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] = &[Output::json(|report| Ok(json(report)))];
}
