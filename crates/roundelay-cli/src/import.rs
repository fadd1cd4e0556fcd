//! `roundelay import`: makes a tree from a script of tc commands. docs/import.md explains it.

pub(crate) mod arguments;
pub(crate) mod outputs;

use std::io;
use std::path::Path;

use roundelay_files::read_text;
use roundelay_import::{Imported, Settings};
use roundelay_report::clean;
use roundelay_trace::{Stop, TreeFile};

use crate::failure::Failure;
use crate::terminal::{print, tell};
use crate::text_file;
use arguments::Import;

pub(crate) fn run(arguments: &Import) -> Result<(), Failure> {
    let (name, text) = read(&arguments.script)?;
    let settings = Settings {
        name: name.clone(),
        device: arguments.dev.clone(),
        variables: arguments.set.clone(),
    };
    let imported = roundelay_import::import(&settings, &text).map_err(Failure::usage)?;
    check(&name, &imported)?;
    if let Some(text) = arguments.outputs.printed(&imported)? {
        return print(&text);
    }
    print(&imported.tree)?;
    for remark in &imported.remarks {
        let node = match &remark.node {
            Some(node) => format!("{node}: "),
            None => String::new(),
        };
        let more = match &remark.lines[1..] {
            [] => String::new(),
            [line] => format!(" (and line {line})"),
            lines => {
                let lines = Vec::from_iter(lines.iter().map(usize::to_string));
                format!(" (and lines {})", lines.join(", "))
            }
        };
        tell(&format!(
            "{name}:{}: {node}{}{more}",
            remark.line, remark.text
        ));
    }
    Ok(())
}

/// The script's name and text.
fn read(script: &Path) -> Result<(String, String), Failure> {
    const EXPECTED: &str = "a shell script with tc commands";
    if script.as_os_str() != "-" {
        let name = clean(&script.display().to_string());
        return Ok((name, text_file::read(script, EXPECTED, &Stop::default())?));
    }
    let name = "standard input";
    let wrong = |problem: String| Failure::usage(format!("{name}: {problem}; expected {EXPECTED}"));
    let bytes = read_text(io::stdin()).map_err(|error| wrong(format!("cannot read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("no text in UTF-8".to_owned()))?;
    Ok((name.to_owned(), text))
}

/// Checks that other commands can read the tree.
fn check(name: &str, imported: &Imported) -> Result<(), Failure> {
    match TreeFile::from_toml(&imported.device, &imported.tree) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::usage(format!(
            "{name}: a tree cannot be what this script sets up at {}: {error}",
            imported.device
        ))),
    }
}
