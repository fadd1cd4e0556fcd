//! An interface's offloads: work that the kernel leaves to hardware, or does for several packets at
//! once. They must be off because a queue has to see packets as they are on the link.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::sys;

/// An offload, with ethtool's commands to get and to set it.
const OFFLOADS: [(&str, u32, u32); 4] = [
    ("tx", 0x16, 0x17),
    ("tso", 0x1e, 0x1f),
    ("gso", 0x23, 0x24),
    ("gro", 0x2b, 0x2c),
];

/// The offloads that were on before we turned them off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    interface: String,
    on: Vec<String>,
}

impl Before {
    /// The offloads that are on now. One that the interface does not have is left alone.
    ///
    /// # Errors
    /// The interface does not exist.
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

    /// Turns off those that are on.
    ///
    /// # Errors
    /// You have no right to set the interface.
    pub fn turn_off(&self) -> io::Result<()> {
        self.set(0)
    }

    /// Turns them on again.
    ///
    /// # Errors
    /// The interface is gone, or you have no right to set it.
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

    /// The names of the offloads.
    pub fn on(&self) -> &[String] {
        &self.on
    }
}

/// Turns off all offloads of an interface. Returns those that were on.
///
/// # Errors
/// The interface does not exist, or you have no right to set it.
pub fn turn_off(interface: &str) -> io::Result<Before> {
    let before = Before::of(interface)?;
    before.turn_off()?;
    Ok(before)
}

/// The folder for notes on interfaces whose settings a run has changed.
const FOLDER: &str = "/run";
const PREFIX: &str = "roundelay-live-offloads-";

/// What a run has changed at an interface.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Note {
    /// The network namespace, because another one may have an interface with the same number.
    namespace: u64,
    /// The interface's number, which stays when the name changes.
    index: i32,
    before: Before,
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

    /// Restores the interface, whatever its name is now.
    fn restore(&self) -> io::Result<()> {
        let now = Before {
            interface: sys::interface_name(self.index)?,
            on: self.before.on.clone(),
        };
        now.restore()
    }
}

/// The number of this thread's network namespace.
fn namespace() -> u64 {
    fs::metadata("/proc/thread-self/ns/net").map_or(0, |file| file.ino())
}

/// An interface that a run has to itself, with its note.
#[derive(Debug)]
struct Kept {
    note: Note,
    path: PathBuf,
    /// The lock lasts as long as the run, however it ends. None where we cannot write notes. There
    /// a crash leaves the offloads off, which only costs speed.
    file: Option<File>,
    /// What a crashed run left behind, until we restore it.
    left: Option<Note>,
}

impl Kept {
    /// Locks an interface. The lock stays the same under another name.
    fn lock(interface: &str) -> io::Result<Self> {
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{interface}: {error}"));
        let index = sys::interface_index(interface).map_err(named)?;
        let namespace = namespace();
        let path = PathBuf::from(format!("{FOLDER}/{PREFIX}{namespace}-{index}"));
        let mut file = locked(&path).map_err(named)?;
        let left = file.as_mut().and_then(Note::read);
        let before = Before {
            interface: interface.to_owned(),
            on: Vec::new(),
        };
        Ok(Self {
            note: Note {
                namespace,
                index,
                before,
            },
            path,
            file,
            left,
        })
    }

    /// Turns the offloads off. Writes the note before it changes anything.
    fn turn_off(&mut self) -> io::Result<()> {
        let mut still_off = Vec::new();
        if let Some(left) = &self.left
            && left.restore().is_err()
        {
            still_off.clone_from(&left.before.on);
        }
        let now = Before::of(&self.note.before.interface)?;
        self.note.before = now.clone();
        for name in still_off {
            if !now.on.contains(&name) {
                self.note.before.on.push(name);
            }
        }
        if let Some(file) = &mut self.file {
            self.note.write(file)?;
        }
        self.left = None;
        now.turn_off()
    }

    /// Restores the interface. The note stays if this fails now but may succeed later.
    fn restore(&self) -> io::Result<()> {
        if self.left.is_some() {
            return Ok(());
        }
        let outcome = self.note.restore();
        if outcome.as_ref().err().is_none_or(is_gone) {
            _ = fs::remove_file(&self.path);
        }
        outcome
    }
}

/// Whether an interface no longer exists, so that nothing is left to restore.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ENXIO))
}

/// Opens and locks a note's file. None where such files cannot be written.
fn locked(path: &Path) -> io::Result<Option<File>> {
    let mut open = File::options();
    open.read(true).write(true).create(true).truncate(false);
    loop {
        let Ok(file) = open.open(path) else {
            return Ok(None);
        };
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(io::Error::other("another run uses this interface"));
        }
        // The run before may have ended between the two calls and removed the file.
        let ours = file.metadata()?.ino();
        if fs::metadata(path).is_ok_and(|there| there.ino() == ours) {
            return Ok(Some(file));
        }
    }
}

/// The settings that a run has changed. For each interface a file holds a note, so that you can
/// restore it after a crash.
#[derive(Debug)]
pub struct Changed(Vec<Kept>);

impl Changed {
    /// Turns off the offloads of interfaces. First restores what a crashed run left.
    ///
    /// # Errors
    /// Another run uses one of the interfaces, or one cannot be set. What was changed is restored.
    pub fn turn_off(interfaces: &[&str]) -> io::Result<Self> {
        let mut changed = Self(Vec::new());
        let outcome = changed.set(interfaces);
        if outcome.is_err() {
            changed.restore();
        }
        outcome.map(|()| changed)
    }

    /// Locks all interfaces before it changes one.
    fn set(&mut self, interfaces: &[&str]) -> io::Result<()> {
        for interface in interfaces {
            self.0.push(Kept::lock(interface)?);
        }
        for kept in &mut self.0 {
            kept.turn_off()?;
        }
        Ok(())
    }

    /// Restores what was changed. Returns a message for each interface that cannot be set.
    pub fn restore(&self) -> Vec<String> {
        let mut messages = Vec::new();
        for kept in &self.0 {
            let Err(error) = kept.restore() else { continue };
            let Before { interface, on } = &kept.note.before;
            messages.push(if is_gone(&error) && !on.is_empty() {
                format!(
                    "{interface}: not here any more. If it was moved to another network namespace, \
                     its offloads are still off. There, ethtool -K {interface} {} on turns them on",
                    on.join(" on ")
                )
            } else {
                format!("{interface}: {error}")
            });
        }
        messages
    }
}

/// What [`restore_all`] did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// A line for each interface.
    pub lines: Vec<String>,
    /// An interface could not be restored. Its note is still there.
    pub has_failed: bool,
}

/// Restores what runs left behind that ended without a chance to do so.
///
/// # Errors
/// The notes cannot be read.
pub fn restore_all() -> io::Result<Restored> {
    let mut restored = Restored::default();
    for entry in fs::read_dir(FOLDER)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if !name.is_some_and(|name| name.starts_with(PREFIX)) {
            continue;
        }
        // A run that is just ending has removed its note.
        let Ok(mut file) = File::open(&path) else {
            continue;
        };
        let is_used = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        // A run that is just starting has not written its note yet.
        let Some(note) = Note::read(&mut file) else {
            continue;
        };
        let name = &note.before.interface;
        let line = if is_used {
            "left alone, because a run uses it".to_owned()
        } else if note.namespace != namespace() {
            "left alone, because it is in another network namespace".to_owned()
        } else if let Err(error) = note.restore() {
            restored.has_failed = true;
            let path = path.display();
            format!(
                "{error}; its note stays, so try again, or remove {path} if the interface is gone \
                 for good"
            )
        } else {
            _ = fs::remove_file(&path);
            "offloads restored".to_owned()
        };
        restored.lines.push(format!("{name}: {line}"));
    }
    // A folder lists its files in no order.
    restored.lines.sort();
    Ok(restored)
}
