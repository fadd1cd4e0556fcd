//! Output `--json`: all results on standard output, in place of the table.

use super::{Output, Target, Use};

const fn printed<O>() -> Option<Use<O>> {
    Some(Use { help: "Print JSON instead of the table", files: &[], only: None, open: None })
}

pub(super) static OUTPUT: Output =
    Output { option: "json", target: Target::Printed, compare: printed(), simulate: printed(), replay: printed() };
