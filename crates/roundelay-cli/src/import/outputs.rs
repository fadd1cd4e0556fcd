//! Outputs of `roundelay import`.

use roundelay_import::Imported;

use crate::outputs::{Output, Writes};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Importing;

impl Writes for Importing {
    type Results<'a> = Imported;
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] = &[Output::json(|imported| Ok(json(imported)))];
}

/// The output of `--json`.
fn json(imported: &Imported) -> String {
    let Imported {
        device,
        others,
        tree,
        remarks,
    } = imported;
    let mut all = Vec::new();
    for remark in remarks {
        let (line, node, text) = (remark.line, &remark.node, &remark.text);
        all.push(serde_json::json!({ "line": line, "node": node, "text": text }));
    }
    let all =
        serde_json::json!({ "device": device, "others": others, "tree": tree, "remarks": all });
    format!("{all:#}\n")
}
