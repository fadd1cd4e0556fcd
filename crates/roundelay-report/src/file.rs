//! Atomic file output: a file is either complete or absent.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ReportError;

/// Writes `text` to `path`, completely or not at all.
///
/// # Errors
///
/// The operating system's error, with the file's name; an older file of the same name is left
/// unchanged.
pub fn write_text(path: &Path, text: &str) -> Result<(), ReportError> {
    let mut file = PartialFile::create(path)?;
    file.write_all(text.as_bytes())
        .map_err(ReportError::file("write", path))?;
    file.finish()
}

/// Incomplete files.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes incomplete files, for a process about to end: no file can be started after this call.
pub fn abandon_files() {
    abandon(unfinished());
}

fn abandon(unfinished: MutexGuard<'static, BTreeSet<PathBuf>>) {
    unfinished.iter().for_each(|partial| remove(partial));
    std::mem::forget(unfinished);
}

/// As [`abandon_files`], for a process that cannot allocate memory: without effect while a file is
/// started or finished.
pub fn try_abandon_files() {
    UNFINISHED.try_lock().into_iter().for_each(abandon);
}

/// A file that gets its name only when complete and is removed otherwise.
///
/// A path other than a regular file, such as `/dev/stdout` or a pipe, is written directly: no
/// rename is possible.
#[derive(Debug)]
pub struct PartialFile {
    file: File,
    path: PathBuf,
    /// Temporary path of the bytes; none if written directly to `path`.
    partial: Option<PathBuf>,
}

impl PartialFile {
    /// Starts a file with the final name `path`.
    ///
    /// # Errors
    ///
    /// The operating system's error, with the file's name.
    pub fn create(path: &Path) -> Result<Self, ReportError> {
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            let file = OpenOptions::new()
                .write(true)
                .open(path)
                .map_err(ReportError::file("create", path))?;
            return Ok(Self {
                file,
                path: path.to_owned(),
                partial: None,
            });
        }
        // Follows a symbolic link: the target is replaced, not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        remove_leftovers(&target);
        let partial = beside(&target);
        let mut unfinished = unfinished();
        if !unfinished.insert(partial.clone()) {
            return Err(ReportError::file("create", path)(
                io::ErrorKind::AlreadyExists.into(),
            ));
        }
        let file = File::create(&partial)
            .inspect_err(|_| _ = unfinished.remove(&partial))
            .map_err(ReportError::file("create", path))?;
        Ok(Self {
            file,
            path: target,
            partial: Some(partial),
        })
    }

    /// Another handle with the same file position, for a writer that needs ownership.
    #[cfg(feature = "parquet")]
    pub(crate) fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Renames the file to its final name. The bytes are synced to disk first: some file systems
    /// detect a full disk only here.
    ///
    /// # Errors
    ///
    /// The operating system's error, with the file's name; an older file of the same name is left
    /// unchanged.
    pub fn finish(mut self) -> Result<(), ReportError> {
        let Some(partial) = self.partial.take() else {
            return self
                .file
                .flush()
                .map_err(ReportError::file("write", &self.path));
        };
        let written = self
            .file
            .sync_all()
            .map_err(ReportError::file("write", &self.path));
        let moved = written.and_then(|()| {
            fs::rename(&partial, &self.path)
                .map_err(ReportError::file("move into place", &self.path))
        });
        unfinished().remove(&partial);
        moved.inspect_err(|_| remove(&partial))
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            unfinished().remove(partial);
            remove(partial);
        }
    }
}

/// A name in the same folder, hence on the same file system, unique to this process among all
/// machines that share the folder.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.{}.partial", host(), process::id()))
}

/// This machine until its next start, and the namespace of process numbers, which containers have
/// of their own: first digits of the boot's random number, and the number of the namespace. A
/// constant where the system has neither.
fn host() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let boot = boot.chars().filter(char::is_ascii_hexdigit).take(12);
    let digits: String = boot
        .chain(
            namespace
                .to_string_lossy()
                .chars()
                .filter(char::is_ascii_digit),
        )
        .collect();
    if digits.is_empty() {
        "local".to_owned()
    } else {
        digits
    }
}

/// Removes temporary files of killed processes of this machine in the folder of `path`, for all
/// outputs. Files of other machines, and of processes that run, stay.
fn remove_leftovers(path: &Path) {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let host = format!(".{}", host());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let parts = name
            .strip_suffix(".partial")
            .and_then(|rest| rest.rsplit_once('.'));
        let of_this_machine =
            parts.filter(|(before, _)| before.starts_with('.') && before.ends_with(&host));
        let process = of_this_machine.and_then(|(_, id)| id.parse::<u32>().ok());
        if process.is_some_and(|id| id != process::id() && has_ended(id)) {
            remove(&entry.path());
        }
    }
}

/// Whether a process does not exist. False where the system does not tell, or hides the processes
/// of others, as the first one.
fn has_ended(id: u32) -> bool {
    let exists = |process: &str| Path::new("/proc").join(process).exists();
    exists("self") && exists("1") && !exists(&id.to_string())
}

/// Ignores a failure: the error that led here is the one to report.
fn remove(partial: &Path) {
    drop(fs::remove_file(partial));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("roundelay-report-{name}-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_finished_file_replaces_the_old_one_and_leaves_nothing_else() {
        let folder = folder("finished");
        let path = folder.join("report.html");
        fs::write(&path, "old").unwrap();
        write_text(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(&folder), ["report.html"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_abandoned_file_leaves_the_old_one_as_it_was() {
        let folder = folder("abandoned");
        let path = folder.join("report.html");
        fs::write(&path, "old").unwrap();
        let mut file = PartialFile::create(&path).unwrap();
        file.write_all(b"half of the").unwrap();
        assert_eq!(names(&folder).len(), 2);
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(&folder), ["report.html"]);
        fs::remove_dir_all(folder).unwrap();
    }

    /// Regression: a process ended by SIGKILL left its temporary file for ever.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_killed_run_has_left_is_removed_by_the_next() {
        let folder = folder("killed");
        let path = folder.join("report.html");
        let mut child = process::Command::new("true").spawn().unwrap();
        let ended = child.id();
        child.wait().unwrap();
        let leftover = |host: &str, id: u32| format!(".report.html.{host}.{id}.partial");
        let kept = [
            leftover("0123456789ab", ended),
            leftover(&host(), 1),
            format!("a.{}.{ended}.partial", host()),
        ];
        let removed = [
            leftover(&host(), ended),
            format!(".other.html.{}.{ended}.partial", host()),
        ];
        for name in kept.iter().chain(&removed) {
            fs::write(folder.join(name), "half").unwrap();
        }
        write_text(&path, "new").unwrap();
        let mut expected = Vec::from(kept);
        expected.push("report.html".to_owned());
        expected.sort();
        let mut found = names(&folder);
        found.sort();
        assert_eq!(
            found, expected,
            "files of other machines, of processes that run, and of other names stay"
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_error_names_the_file_that_was_asked_for() {
        let path = Path::new("no-such-folder/report.html");
        let message = write_text(path, "text").unwrap_err().to_string();
        assert!(
            message.starts_with("no-such-folder/report.html: cannot create: "),
            "{message}"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error() {
        let error = write_text(Path::new("/dev/full"), "text").unwrap_err();
        let ReportError::File { source, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(source.kind(), io::ErrorKind::StorageFull, "{error}");
        assert!(
            error.to_string().starts_with("/dev/full: cannot write: "),
            "{error}"
        );
    }
}
