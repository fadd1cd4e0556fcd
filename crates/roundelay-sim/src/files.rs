//! Files named in a scenario: paths, text and captures.

use std::cell::RefCell;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use roundelay::{Duration, Fault};
use roundelay_files::read_text;

use crate::sources::captured::{Captured, Entry};

/// Reads captures. The simulator does not know any capture format, so it calls this function for
/// each binary file. It returns the packets up to a time, or the error in the file. The first
/// packet is at time zero, times do not decrease, and flows are numbered from 0 in the order of
/// their first packets.
pub type ReadCapture<'a> = dyn Fn(&Path, &Captured, Duration) -> Result<Vec<Entry>, Fault> + 'a;

/// The scenario's folder, the reader of captures, and the files that were asked for.
pub(crate) struct Files<'a> {
    folder: &'a Path,
    pub(crate) capture: &'a ReadCapture<'a>,
    wanted: RefCell<Vec<PathBuf>>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(folder: &'a Path, capture: &'a ReadCapture<'a>) -> Self {
        Self {
            folder,
            capture,
            wanted: RefCell::default(),
        }
    }

    /// The path of the scenario's file `name`, which from now on counts as wanted.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        self.wanted.borrow_mut().push(path.clone());
        path
    }

    /// The text of the scenario's file `name`. Errors say that `what` was expected.
    ///
    /// # Errors
    /// As [`text`].
    pub(crate) fn text(&self, name: &str, what: &str) -> Result<String, Fault> {
        text(&self.path(name), name, what)
    }

    /// All files that were asked for.
    pub(crate) fn wanted(self) -> Vec<PathBuf> {
        self.wanted.into_inner()
    }
}

/// Refuses captures, because there is no reader for them.
pub(crate) fn no_captures(path: &Path, _: &Captured, _: Duration) -> Result<Vec<Entry>, Fault> {
    let path = path.display();
    Err(Fault::new(format!(
        "'{path}' is no text, and there is nobody to read captures: Scenario::from_toml_with"
    ))
    .with_given(path))
}

/// Whether a file goes to the reader of captures: its first bytes are not text, as in all captures.
/// If the file has some other binary format, the reader's error names it.
pub(crate) fn is_capture(path: &Path) -> bool {
    let mut head = Vec::new();
    // A list may come through a pipe, which can be read only once.
    path.is_file()
        && File::open(path)
            .and_then(|file| file.take(64).read_to_end(&mut head))
            .is_ok()
        && !is_text(&head)
}

fn is_text(head: &[u8]) -> bool {
    let valid = match str::from_utf8(head) {
        Ok(_) => head.len(),
        // The head may end in the middle of a character.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return false,
    };
    head[..valid]
        .iter()
        .all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
}

/// The text of the scenario's file `name`. Errors say that `what` was expected.
///
/// # Errors
/// The file is missing, a folder, unreadable, or not text.
pub(crate) fn text(path: &Path, name: &str, what: &str) -> Result<String, Fault> {
    let wrong = |problem: &str| {
        Fault::wanted(what)
            .behind(format_args!("cannot read '{name}': {problem}; "))
            .with_given(name)
    };
    if path.is_dir() {
        return Err(wrong("a folder"));
    }
    let read = File::open(path).and_then(read_text);
    let bytes = read.map_err(|error| match error.kind() {
        ErrorKind::NotFound => wrong("there is no such file"),
        _ => wrong(&error.to_string()),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        wrong(&format!("offset {valid}: no text in UTF-8"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_no_text_and_lists_are() {
        let pcap = [0xa1b2_c3d4_u32, 0xa1b2_3c4d];
        assert!(
            pcap.iter()
                .all(|magic| !is_text(&magic.to_le_bytes()) && !is_text(&magic.to_be_bytes()))
        );
        let pcapng = [
            &b"\n\r\r\n\x1c\0\0\0"[..],
            b"\n\r\r\n\0\0\0\x1c",
            b"\x1f\x8b\x08",
        ];
        assert!(pcapng.iter().all(|head| !is_text(head)));
        let lists = ["", "0.1 1500\r\n", "\u{feff}0\t1", "0 1 m\u{fc}nchen"];
        assert!(lists.iter().all(|list| is_text(list.as_bytes())));
        assert!(is_text(&"\u{fc}".as_bytes()[..1]), "half a character");
    }
}
