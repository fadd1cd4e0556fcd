//! Output `--save`: the measurements of a benchmark, for `--against` and `--check` of a later one.

use super::{Output, Use};
use crate::bench;

pub(super) static OUTPUT: Output = Output {
    bench: Some(Use::text(
        "Write the measurements to a file, for --against and --check",
        |measured| Ok(bench::json(measured)),
    )),
    ..Output::new("save")
};
