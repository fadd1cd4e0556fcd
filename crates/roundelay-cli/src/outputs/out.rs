//! Output `--out`: the dataset of a sweep, which later sweeps continue.

use super::{Output, Target, Use, Write};

pub(super) static OUTPUT: Output = Output {
    sweep: Some(Use {
        help: "Folder of the dataset [default: NAME.sweep in the working directory]",
        target: Target::Tree,
        only: None,
        write: Write::Command,
    }),
    ..Output::new("out")
};
