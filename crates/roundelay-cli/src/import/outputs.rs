//! Outputs of `roundelay import`.

use roundelay_import::{Imported, Remark};
use roundelay_report::{Printed, json};
use schemars::JsonSchema;
use serde::Serialize;

use crate::outputs::{Output, Target, Write, Writes};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Importing;

impl Writes for Importing {
    type Results<'a> = Imported;
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] = &[Output {
        option: "json",
        help: "Print JSON: the tree's file as text, and the remarks",
        target: Target::Printed,
        only: None,
        write: Write::Text(|imported| Ok(json(&Report::of(imported)))),
    }];
}

/// The tree of a script, and what is to be said about it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Report<'a> {
    /// The interface.
    device: &'a str,
    /// Other interfaces of the script that have qdiscs.
    others: &'a [String],
    /// The tree's file, in TOML; remarks are comments.
    tree: &'a str,
    /// Remarks in the order of their lines.
    remarks: Vec<About<'a>>,
}

impl Printed for Report<'_> {
    const SCHEMA: &'static str = "import/1";
}

/// What is left out, or means something else than it looks like.
#[derive(Serialize, JsonSchema)]
struct About<'a> {
    /// Line of the script, counted from 1: the first for which it holds.
    line: usize,
    /// All lines for which it holds.
    lines: &'a [usize],
    /// The node that it is about, if it is about one.
    node: Option<&'a str>,
    /// The remark.
    text: &'a str,
}

impl<'a> Report<'a> {
    fn of(imported: &'a Imported) -> Self {
        let mut remarks = Vec::new();
        for remark in &imported.remarks {
            let Remark {
                line,
                lines,
                node,
                text,
            } = remark;
            remarks.push(About {
                line: *line,
                lines,
                node: node.as_deref(),
                text,
            });
        }
        Self {
            device: &imported.device,
            others: &imported.others,
            tree: &imported.tree,
            remarks,
        }
    }
}
