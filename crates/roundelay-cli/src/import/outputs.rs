//! Outputs of `roundelay import`.

use roundelay_import::Remark;
use roundelay_report::{Printed, json};
use serde::Serialize;

use super::Read;
use crate::outputs::{Output, Target, Write, Writes};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Importing;

impl Writes for Importing {
    type Results<'a> = Read;
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] = &[Output {
        option: "json",
        help: "Print JSON: the tree's file as text, and the remarks",
        target: Target::Printed,
        only: None,
        write: Write::Text(|read| Ok(json(&Report::of(read)))),
    }];
}

/// The tree of a script, and what is to be said about it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Report<'a> {
    /// The interface.
    device: &'a str,
    /// Other interfaces of the script that have qdiscs.
    others: &'a [String],
    /// The tree's file, in TOML; remarks are comments.
    tree: &'a str,
    /// With --run: the commands that the script ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<&'a str>,
    /// Remarks in the order of their lines.
    remarks: Vec<About<'a>>,
}

impl Printed for Report<'_> {
    const SCHEMA: &'static str = "import/1";
}

/// What is left out, or means something else than it looks like.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    fn of(read: &'a Read) -> Self {
        let imported = &read.imported;
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
            recorded: read.recorded.as_deref(),
            remarks,
        }
    }
}
