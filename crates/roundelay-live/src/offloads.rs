//! Offloads of an interface: work on packets that the kernel leaves to hardware, or does for several
//! packets at once. A queue must see packets as they are on the link.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::sys;

/// An offload, with ethtool's commands to get and to set it.
const OFFLOADS: [(&str, u32, u32); 4] = [
    ("tx", 0x16, 0x17),
    ("tso", 0x1e, 0x1f),
    ("gso", 0x23, 0x24),
    ("gro", 0x2b, 0x2c),
];

/// Offloads that were on before they were turned off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    interface: String,
    on: Vec<String>,
}

/// Turns all offloads off; those that were on. An interface without an offload is left alone.
///
/// # Errors
/// There is no such interface, or no right to set it.
pub fn turn_off(interface: &str) -> io::Result<Before> {
    sys::interface_index(interface)?;
    let mut before = Before {
        interface: interface.to_owned(),
        on: Vec::new(),
    };
    for (name, get, set) in OFFLOADS {
        if sys::ethtool_get(interface, get).is_ok_and(|value| value != 0) {
            sys::ethtool_set(interface, set, 0)?;
            before.on.push(name.to_owned());
        }
    }
    Ok(before)
}

impl Before {
    /// Turns the offloads on again.
    ///
    /// # Errors
    /// The interface is gone, or there is no right to set it.
    pub fn restore(&self) -> io::Result<()> {
        for (name, _, set) in OFFLOADS {
            if self.on.iter().any(|on| on == name) {
                sys::ethtool_set(&self.interface, set, 1)?;
            }
        }
        Ok(())
    }

    /// The interface.
    pub fn interface(&self) -> &str {
        &self.interface
    }
}

/// Folder of notes on interfaces whose settings a run has changed.
const FOLDER: &str = "/run";
const PREFIX: &str = "roundelay-live-offloads-";

/// Settings that a run has changed, with a note in a file, so that they can be restored after a
/// crash.
#[derive(Debug)]
pub struct Changed {
    before: Vec<Before>,
    note: PathBuf,
}

impl Changed {
    /// Turns off the offloads of interfaces.
    ///
    /// # Errors
    /// An interface cannot be set: nothing has changed.
    pub fn turn_off(interfaces: &[&str]) -> io::Result<Self> {
        let note = PathBuf::from(format!("{FOLDER}/{PREFIX}{}", interfaces.join("-")));
        let mut changed = Self {
            before: Vec::new(),
            note,
        };
        for interface in interfaces {
            match turn_off(interface) {
                Ok(before) => changed.before.push(before),
                Err(error) => {
                    changed.restore();
                    return Err(error);
                }
            }
        }
        if changed.before.iter().any(|before| !before.on.is_empty()) {
            // Without a note, a crash leaves the offloads off, which costs speed alone.
            let text = serde_json::to_string(&changed.before).unwrap_or_default();
            _ = fs::write(&changed.note, text);
        }
        Ok(changed)
    }

    /// Restores what was changed; the messages of those interfaces that cannot be set.
    pub fn restore(&self) -> Vec<String> {
        let mut messages = Vec::new();
        for before in &self.before {
            if let Err(error) = before.restore() {
                messages.push(format!("{}: {error}", before.interface));
            }
        }
        if messages.is_empty() {
            _ = fs::remove_file(&self.note);
        }
        messages
    }
}

/// Restores what runs that ended without a chance to have left: a line for each interface.
///
/// # Errors
/// The notes cannot be read.
pub fn restore_all() -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(FOLDER)? {
        let note = entry?.path();
        let name = note.file_name().and_then(|name| name.to_str());
        if !name.is_some_and(|name| name.starts_with(PREFIX)) {
            continue;
        }
        let text = fs::read_to_string(&note)?;
        let before: Vec<Before> = serde_json::from_str(&text).unwrap_or_default();
        let names: Vec<_> = before
            .iter()
            .map(|before| before.interface.clone())
            .collect();
        let failed = Changed { before, note }.restore();
        if failed.is_empty() {
            lines.push(format!("{}: offloads restored", names.join(", ")));
        }
        lines.extend(failed);
    }
    Ok(lines)
}
