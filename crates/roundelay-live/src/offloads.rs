//! Offloads of an interface: work on packets that the kernel leaves to hardware, or does for several
//! packets at once. A queue must see packets as they are on the link.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
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

impl Before {
    /// The offloads that are on now. An interface without an offload is left alone.
    ///
    /// # Errors
    /// There is no such interface.
    pub fn of(interface: &str) -> io::Result<Self> {
        sys::interface_index(interface)?;
        let mut on = Vec::new();
        for (name, get, _) in OFFLOADS {
            if sys::ethtool_get(interface, get).is_ok_and(|value| value != 0) {
                on.push(name.to_owned());
            }
        }
        Ok(Self {
            interface: interface.to_owned(),
            on,
        })
    }

    /// Turns those off that are on.
    ///
    /// # Errors
    /// There is no right to set the interface.
    pub fn turn_off(&self) -> io::Result<()> {
        self.set(0)
    }

    /// Turns them on again.
    ///
    /// # Errors
    /// The interface is gone, or there is no right to set it.
    pub fn restore(&self) -> io::Result<()> {
        self.set(1)
    }

    fn set(&self, value: u32) -> io::Result<()> {
        for (name, _, set) in OFFLOADS {
            if self.on.iter().any(|on| on == name) {
                sys::ethtool_set(&self.interface, set, value)?;
            }
        }
        Ok(())
    }

    /// The interface.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// The offloads.
    pub fn on(&self) -> &[String] {
        &self.on
    }
}

/// Turns all offloads of an interface off; those that were on.
///
/// # Errors
/// There is no such interface, or no right to set it.
pub fn turn_off(interface: &str) -> io::Result<Before> {
    let before = Before::of(interface)?;
    before.turn_off()?;
    Ok(before)
}

/// Folder of notes on interfaces whose settings a run has changed.
const FOLDER: &str = "/run";
const PREFIX: &str = "roundelay-live-offloads-";

/// What a run has changed.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// The network namespace: other interfaces may have the same names in another.
    namespace: u64,
    before: Vec<Before>,
}

impl Note {
    fn read(file: &mut File) -> Option<Self> {
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn write(&self, file: &mut File) -> io::Result<()> {
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(serde_json::to_string(self)?.as_bytes())
    }

    /// Restores the interfaces: the messages of those that cannot be set.
    fn restore(&self) -> Vec<String> {
        let mut messages = Vec::new();
        for before in &self.before {
            if let Err(error) = before.restore() {
                messages.push(format!("{}: {error}", before.interface));
            }
        }
        messages
    }
}

/// The number of this thread's network namespace.
fn namespace() -> u64 {
    fs::metadata("/proc/thread-self/ns/net").map_or(0, |file| file.ino())
}

/// Settings that a run has changed, with a note in a file, so that they can be restored after a
/// crash. The file is locked as long as the run lives, however it ends.
#[derive(Debug)]
pub struct Changed {
    note: Note,
    path: PathBuf,
    /// None where notes cannot be written: then a crash leaves the offloads off, which costs speed
    /// alone.
    file: Option<File>,
}

impl Changed {
    /// Turns off the offloads of interfaces. What a crashed run has left is restored first.
    ///
    /// # Errors
    /// Another run uses the interfaces, or an interface cannot be set: nothing has changed.
    pub fn turn_off(interfaces: &[&str]) -> io::Result<Self> {
        let namespace = namespace();
        let names = interfaces.join("-");
        let path = PathBuf::from(format!("{FOLDER}/{PREFIX}{namespace}-{names}"));
        let mut open = File::options();
        open.read(true).write(true).create(true).truncate(false);
        let mut file = open.open(&path).ok();
        if let Some(file) = &mut file {
            if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
                return Err(io::Error::other("another run is between them"));
            }
            if let Some(left) = Note::read(file) {
                left.restore();
            }
        }
        let mut changed = Self {
            note: Note {
                namespace,
                before: Vec::new(),
            },
            path,
            file,
        };
        let outcome = changed.set(interfaces);
        if outcome.is_err() {
            changed.restore();
        }
        outcome.map(|()| changed)
    }

    /// The note is written before anything changes.
    fn set(&mut self, interfaces: &[&str]) -> io::Result<()> {
        for interface in interfaces {
            self.note.before.push(Before::of(interface)?);
        }
        if let Some(file) = &mut self.file {
            self.note.write(file)?;
        }
        for before in &self.note.before {
            before.turn_off()?;
        }
        Ok(())
    }

    /// Restores what was changed; the messages of those interfaces that cannot be set.
    pub fn restore(&self) -> Vec<String> {
        let messages = self.note.restore();
        // An interface that is gone has nothing left to restore.
        _ = fs::remove_file(&self.path);
        messages
    }
}

/// Restores what runs that ended without a chance to have left: a line for each.
///
/// # Errors
/// The notes cannot be read.
pub fn restore_all() -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(FOLDER)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if !name.is_some_and(|name| name.starts_with(PREFIX)) {
            continue;
        }
        let mut file = File::open(&path)?;
        let is_used = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        // A run that starts right now has not written its note yet.
        let Some(note) = Note::read(&mut file) else {
            continue;
        };
        let mut names = Vec::new();
        for before in &note.before {
            names.push(before.interface.as_str());
        }
        let names = names.join(", ");
        if is_used {
            lines.push(format!("{names}: left alone, because a run uses them"));
        } else if note.namespace != namespace() {
            lines.push(format!(
                "{names}: left alone, because they are in another network namespace"
            ));
        } else {
            let failed = note.restore();
            if failed.is_empty() {
                lines.push(format!("{names}: offloads restored"));
            }
            lines.extend(failed);
            _ = fs::remove_file(&path);
        }
    }
    Ok(lines)
}
