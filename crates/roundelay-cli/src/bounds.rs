//! `roundelay bounds`: the worst-case delay under each discipline, link by link and end to end.
//! docs/bounds.md states the theorems.

pub(crate) mod arguments;
mod bands;
pub(crate) mod outputs;
mod plan;
pub(crate) mod report;
mod trees;

use std::path::Path;

use crate::compare::read_tree;
use crate::failure::Failure;
use crate::host::{Host, Text};
use crate::terminal::print;
use crate::text_file;
use arguments::Bounds;
use plan::{Defaults, Plan};
use report::Report;

pub(crate) fn run(arguments: &Bounds) -> Result<(), Failure> {
    print(&text(arguments, &Host::default())?)
}

/// The bounds as text or JSON.
///
/// # Errors
/// The file with the flows is wrong, or no discipline has a bound.
pub(crate) fn text(arguments: &Bounds, host: &Host) -> Result<String, Failure> {
    let plan = read(
        &arguments.flows,
        host,
        Defaults {
            rate: arguments.rate,
            hops: arguments.hops,
            has_tree: arguments.tree.is_some(),
        },
    )?;
    let with_sources = arguments.sources || arguments.outputs.has("json");
    let report = match &arguments.tree {
        Some(path) => {
            let (tree, _) = read_tree(path, &host.stop)?;
            let name = arguments.flows.display();
            Report::of_tree(&plan, &tree).map_err(|fault| fault.in_file(name.to_string(), 0))
        }
        None => Report::new(&plan, &arguments.disciplines, with_sources),
    };
    let report = report.map_err(Failure::usage)?;
    Ok(arguments
        .outputs
        .printed(&report)?
        .unwrap_or_else(|| report.to_text(arguments.sources)))
}

fn read(path: &Path, host: &Host, defaults: Defaults) -> Result<Plan, Failure> {
    if let (Some(Text { name, text }), "-") =
        (&host.text, path.as_os_str().to_str().unwrap_or_default())
    {
        return Plan::from_toml(name, text, defaults).map_err(Failure::usage);
    }
    let name = path.display().to_string();
    let text = text_file::read(
        path,
        "flows in TOML, as docs/bounds.md describes them",
        &host.stop,
    )?;
    Plan::from_toml(&name, &text, defaults).map_err(Failure::usage)
}
