//! The names of a dataset's files and folders.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::hash::hash;

/// The folder that holds the journals.
pub(super) const JOURNAL: &str = ".journal";
/// The file that holds all runs.
pub(super) const RUNS_FILE: &str = "runs.parquet";
/// Longest key or value in a folder's name, in bytes, before a hash replaces the rest. File systems
/// allow 255 for both.
const LONGEST_NAME: usize = 80;
/// The key in a file's metadata under which its point's labels stand.
pub(super) const LABELS: &str = "roundelay.labels";

/// Writes to disk what the folder's file system still holds in memory.
#[cfg(target_os = "linux")]
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    rustix::fs::syncfs(File::open(folder)?).map_err(io::Error::from)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    for path in entries(folder)? {
        if path.is_dir() {
            sync(&path)?;
        } else if is_parquet(&path) {
            File::open(&path)?.sync_all()?;
        }
    }
    Ok(())
}

pub(super) fn is_parquet(path: &Path) -> bool {
    has_extension(path, "parquet")
}

pub(super) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension() == Some(OsStr::new(extension))
}

/// Paths in a folder, sorted. There are none if the folder is missing.
pub(super) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut all = Vec::new();
    for entry in entries {
        all.push(entry?.path());
    }
    all.sort();
    Ok(all)
}

/// The files of points that a folder has.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = entries(folder).unwrap_or_default();
    files.retain(|path| is_parquet(path) && !path.ends_with(RUNS_FILE));
    files
}

/// The values of a point's keys, by its file's metadata.
pub(super) fn labels_of(metadata: &[(String, String)]) -> Option<Vec<String>> {
    let mut known = metadata.iter();
    let (_, labels) = known.find(|(key, _)| key == LABELS)?;
    serde_json::from_str(labels).ok()
}

/// The folder of a point: `KEY=VALUE` for each key, with special characters as in URLs.
pub(super) fn folder_of(labels: &[(String, String)]) -> PathBuf {
    let mut folder = PathBuf::new();
    for (key, value) in labels {
        folder.push(format!("{}={}", escaped(key), escaped(value)));
    }
    folder
}

/// A key or value as a part of a folder's name.
pub(super) fn escaped(text: &str) -> String {
    let mut all = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
            all.push(byte.into());
        } else {
            all += &format!("%{byte:02X}");
        }
        if all.len() > LONGEST_NAME {
            return format!("{all}-{}", hash(&[text]));
        }
    }
    // An empty value is no folder's name. Hive's readers take this one for none.
    if all.is_empty() {
        "__HIVE_DEFAULT_PARTITION__".to_owned()
    } else {
        all
    }
}
