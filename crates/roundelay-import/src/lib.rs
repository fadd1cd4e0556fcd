//! Reads scripts of `tc` commands into trees of disciplines.
//!
//! [`import`] follows a shell script as far as it runs the same way on every machine. It keeps what
//! the `tc` commands leave on each interface, and writes one interface's qdiscs, classes and
//! filters as a tree in TOML. Some things a tree cannot have, and some words do not mean what they
//! seem to. Each of these becomes a [`Remark`] with its line in the script. We read no files and
//! run no commands. A [`RECORDER`] in place of tc shows what a script runs that we cannot follow.

mod commands;
mod faults;
mod filters;
mod leaf;
mod marks;
mod noted;
mod remarks;
mod routeros;
mod ruleset;
mod script;
mod tree;
mod uci;
mod units;

use std::collections::HashMap;

use commands::{Device, Setup};
use marks::Marks;
use noted::Noted;
use roundelay::Fault;
use script::Ran;

/// A program of the shell that records a command in place of running it, in the file that the
/// variable `ROUNDELAY_RECORD` names, or in `/tmp/commands.sh`.
pub const RECORDER: &str = include_str!("record.sh");

/// The programs whose commands are recorded.
pub const RECORDED: [&str; 14] = [
    "tc",
    "ip",
    "nft",
    "iptables",
    "ip6tables",
    "iptables-restore",
    "ip6tables-restore",
    "ipset",
    "modprobe",
    "insmod",
    "uci",
    "ethtool",
    "ifconfig",
    "sysctl",
];

/// How to read a script.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The script's name, for messages.
    pub name: String,
    /// The interface. If none, the one with the most classes and qdiscs.
    pub device: Option<String>,
    /// Values for variables. They win over the script's own.
    pub variables: Vec<(String, String)>,
    /// The text holds the commands that a script ran, so that its lines are not those of the script.
    pub is_recording: bool,
}

/// Something to know about the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Line of the script, counted from 1: the first for which it holds.
    pub line: usize,
    /// All lines for which it holds.
    pub lines: Vec<usize>,
    /// The node that it concerns, if it concerns one only.
    pub node: Option<String>,
    /// What is left out, or does not mean what it seems to.
    pub text: String,
}

/// A tree, with remarks on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The interface.
    pub device: String,
    /// Other interfaces of the script that have qdiscs.
    pub others: Vec<String>,
    /// The tree's file, in TOML. Its comments hold the remarks.
    pub tree: String,
    /// Remarks in the order of their lines.
    pub remarks: Vec<Remark>,
}

/// Reads a script and makes a tree from one of its interfaces.
///
/// # Errors
/// The script is no shell script, a command is not one that `tc` has, a command needs a variable
/// without a value, the script has no variable of that name, or the interface does not exist.
pub fn import(settings: &Settings, text: &str) -> Result<Imported, Fault> {
    let name = &settings.name;
    read(settings, text).map_err(|fault| fault.with_file(name))
}

/// The longest script in bytes. Together with what its commands may cost, this bounds memory and time.
const LONGEST: usize = 4 << 20;

/// Reads a script. The faults do not have its name yet.
fn read(settings: &Settings, text: &str) -> Result<Imported, Fault> {
    if text.len() > LONGEST {
        let found = format!("a script of {} MB; ", text.len() >> 20);
        return Err(Fault::wanted(format!("at most {} MB", LONGEST >> 20)).behind(found));
    }
    let mut configured = None;
    if uci::is_one(text) {
        configured = Some(uci::translated(text)?);
    } else if routeros::is_one(text) {
        configured = Some(routeros::translated(text)?);
    }
    let script = match &configured {
        Some(translated) => &translated.script,
        None => text,
    };
    let Ran {
        calls,
        markings,
        mut remarks,
        lost_classes,
    } = script::run(script, &settings.variables)?;
    if let Some(translated) = &mut configured {
        remarks.append(&mut translated.remarks);
    }
    let setup = commands::set_up(&calls).map_err(|fault| match remarks.first() {
        // What was left out may be just what the command needs.
        Some((line, left_out)) => fault.with_hint(&format!(" (line {line}: {left_out})")),
        None => fault,
    })?;
    let (name, device) = chosen(settings, &setup).map_err(|fault| match settings.device {
        Some(_) => fault,
        None => because(fault, &remarks),
    })?;
    let Some(root) = device.root() else {
        let expected = format!("`tc qdisc add dev {name} root`");
        return Err(
            Fault::wanted(expected).behind(format_args!("{name} has no qdisc at its root; "))
        );
    };
    let marks = Marks::read(&markings, name);
    let mut planted = tree::plant(name, device, root, !lost_classes, &marks)?;
    if let Some(translated) = &configured {
        planted.name_nodes(name, &translated.names);
    }
    let notes = &mut planted.notes;
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
    let tree = tree::written(name, &head, &planted, settings.is_recording);
    Ok(Imported {
        device: name.to_owned(),
        others,
        tree,
        remarks: by_kind(planted.notes),
    })
}

/// One remark for each text, with its lines.
fn by_kind(notes: Vec<Noted>) -> Vec<Remark> {
    let mut all: Vec<Remark> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for Noted { line, node, text } in notes {
        let Some(place) = places.get(&text) else {
            places.insert(text.clone(), all.len());
            let lines = vec![line];
            all.push(Remark {
                line,
                lines,
                node,
                text,
            });
            continue;
        };
        let known = &mut all[*place];
        if known.node != node {
            known.node = None;
        }
        // They come in the order of their lines.
        if known.lines.last() != Some(&line) {
            known.lines.push(line);
        }
    }
    all
}

/// The comments at the top of the tree's file.
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

/// The reason why no command was found, if commands were left out: the first of these.
fn because(fault: Fault, left_out: &[(usize, String)]) -> Fault {
    for (line, text) in left_out {
        if text.starts_with("left out: ") && text.contains("tc ") {
            return Fault::new(format!("nothing is left to import: {text}")).in_file("", *line);
        }
    }
    fault
}

/// The interface that the user asks for, or the one with the most to import.
fn chosen<'a>(settings: &'a Settings, setup: &'a Setup) -> Result<(&'a str, &'a Device), Fault> {
    if let Some(wanted) = &settings.device {
        if let Some((name, device)) = setup.devices.get_key_value(wanted) {
            return Ok((name, device));
        }
        let names: Vec<&str> = setup.devices.keys().map(String::as_str).collect();
        return Err(Fault::no_such("interface", wanted, &names));
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
        Fault::wanted("`tc qdisc add dev NAME root ..`")
            .behind("no command of tc adds a qdisc at an interface's root; ")
            .with_hint(
                ". If the script builds its commands itself, let \
                 `roundelay import --run -- SCRIPT` run it in a sandbox",
            )
    })
}
