//! Output `--pages`: records of the papers' items, and the documents made from these.

use super::{Output, Target, Use, Write};

pub(super) static OUTPUT: Output = Output {
    papers: Some(Use {
        help: "Write records, pages and charts into this folder; without a paper: pages and charts from the existing records",
        target: Target::Tree,
        only: None,
        write: Write::Command,
    }),
    ..Output::new("pages")
};
