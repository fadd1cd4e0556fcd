//! Outputs of `roundelay bounds`.

use roundelay_report::json;

use super::report::Report;
use crate::outputs::{Output, Writes};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Bounding;

impl Writes for Bounding {
    type Results<'a> = Report;
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] = &[Output::json(|report| Ok(json(report)))];
}
