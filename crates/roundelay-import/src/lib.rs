//! Scripts of `tc` commands, read into trees of disciplines.
//!
//! [`import`] follows a shell script as far as it is the same on every machine, keeps what its `tc`
//! commands leave on each interface, and writes the qdiscs, classes and filters of an interface as
//! a tree in TOML. What a tree cannot have, and words that mean something else than they look like,
//! are [`Remark`]s with the line of the script. No file is read and no command is run.

mod commands;
mod filters;
mod leaf;
mod noted;
mod remarks;
mod script;
mod tree;
mod units;

use std::fmt;

use commands::{Device, Setup};
use noted::Noted;
use roundelay::Fault;
use script::{Ran, ScriptError};

/// How to read a script.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Name of the script, for messages.
    pub name: String,
    /// The interface; none: the one with the most classes and qdiscs.
    pub device: Option<String>,
    /// Values of variables, which win over those of the script.
    pub variables: Vec<(String, String)>,
}

/// Something to know about the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Line of the script, counted from 1.
    pub line: usize,
    /// The node that it is about, if it is about one.
    pub node: Option<String>,
    /// What is left out, or means something else than it looks like.
    pub text: String,
}

/// A tree, and what is to be said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The interface.
    pub device: String,
    /// Other interfaces of the script that have qdiscs.
    pub others: Vec<String>,
    /// The tree's file, in TOML; remarks are comments.
    pub tree: String,
    /// Remarks in the order of their lines.
    pub remarks: Vec<Remark>,
}

/// The script has no tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    name: String,
    line: Option<usize>,
    message: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.name, self.message),
            None => write!(formatter, "{}: {}", self.name, self.message),
        }
    }
}

impl std::error::Error for ImportError {}

impl From<ImportError> for Fault {
    fn from(error: ImportError) -> Self {
        Self::new(error.message).in_file(error.name, error.line.unwrap_or(0))
    }
}

/// Reads a script, and makes a tree of one of its interfaces.
///
/// # Errors
/// The script is no shell script, a command is none of `tc`, a variable of a command has no value,
/// or there is no such interface.
pub fn import(settings: &Settings, text: &str) -> Result<Imported, ImportError> {
    let at_line = |error: ScriptError| ImportError {
        name: settings.name.clone(),
        line: Some(error.line),
        message: error.message,
    };
    let Ran {
        calls,
        remarks,
        lost_classes,
    } = script::run(text, &settings.variables).map_err(at_line)?;
    let setup = commands::set_up(&calls).map_err(|error| {
        let mut error = at_line(error);
        // What was left out may be what the command needs.
        if let Some((line, left_out)) = remarks.first() {
            error.message += &format!(" (line {line}: {left_out})");
        }
        error
    })?;
    let (name, device) = chosen(settings, &setup)?;
    let Some(root) = device.root() else {
        return Err(ImportError {
            name: settings.name.clone(),
            line: None,
            message: format!(
                "{name} has no qdisc at its root; expected `tc qdisc add dev {name} root`"
            ),
        });
    };
    let (nodes, mut notes) = tree::plant(name, device, root, !lost_classes).map_err(at_line)?;
    let of_commands = setup.remarks.iter().chain(&device.remarks).cloned();
    for (line, text) in remarks.into_iter().chain(of_commands) {
        let node = None;
        notes.push(Noted { line, node, text });
    }
    notes.sort_by_key(|note| note.line);
    let mut others = Vec::new();
    for (other, device) in &setup.devices {
        if other != name && device.root().is_some() {
            others.push(other.clone());
        }
    }
    let head = head(settings, name, &others);
    let tree = tree::written(name, &head, &nodes, &notes);
    let mut all = Vec::new();
    for Noted { line, node, text } in notes {
        all.push(Remark { line, node, text });
    }
    Ok(Imported {
        device: name.to_owned(),
        others,
        tree,
        remarks: all,
    })
}

/// The comments at the top of the file.
fn head(settings: &Settings, name: &str, others: &[String]) -> Vec<String> {
    let mut head = vec![format!("Interface {name} of {}.", settings.name)];
    if name.starts_with("ifb") {
        head.push(
            "An ifb has what comes in at another interface, so its tree is of downloads."
                .to_owned(),
        );
    }
    if !others.is_empty() {
        head.push(format!("Other interfaces: {}.", others.join(", ")));
    }
    head.push(
        "The link of compare --rate is the interface, such as 1gbit: shapers are in the tree."
            .to_owned(),
    );
    head
}

/// The interface that is asked for, or the one with the most to import.
fn chosen<'a>(
    settings: &'a Settings,
    setup: &'a Setup,
) -> Result<(&'a str, &'a Device), ImportError> {
    let error = |message: String| ImportError {
        name: settings.name.clone(),
        line: None,
        message,
    };
    let names: Vec<&str> = setup.devices.keys().map(String::as_str).collect();
    if let Some(wanted) = &settings.device {
        return match setup.devices.get_key_value(wanted) {
            Some((name, device)) => Ok((name, device)),
            None => Err(error(format!(
                "there is no interface '{wanted}'; choose one of {}",
                names.join(", ")
            ))),
        };
    }
    let mut best: Option<(&str, &Device)> = None;
    for (name, device) in &setup.devices {
        if device.root().is_none() {
            continue;
        }
        let size = |device: &Device| (device.classes.len(), device.qdiscs.len());
        if best.is_none_or(|(_, other)| size(device) > size(other)) {
            best = Some((name, device));
        }
    }
    best.ok_or_else(|| {
        error(
            "no command of tc adds a qdisc at an interface's root; expected `tc qdisc add dev NAME \
             root ..`. If the script builds its commands itself, give them as they are run (see \
             docs/import.md)"
                .to_owned(),
        )
    })
}
