//! Files of outputs: open during the run, or written after it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use roundelay_report::PartialFile;

use super::{Opened, TextOf, Writes};
use crate::failure::Failure;

/// A file that is open during the run. Clones write to the same file.
#[derive(Clone)]
pub(super) struct OpenFile {
    path: PathBuf,
    file: Arc<Mutex<PartialFile>>,
}

impl OpenFile {
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(Failure::run(format!(
                "{}: cannot create: there is no folder {}",
                path.display(),
                folder.display()
            )));
        }
        let file = PartialFile::create(path).map_err(Failure::run)?;
        Ok(Self {
            path: path.to_owned(),
            file: Arc::new(Mutex::new(file)),
        })
    }

    /// Gives the file its name, if all was written. Other clones are gone by then.
    pub(super) fn finish(self, written: io::Result<()>) -> Result<(), Failure> {
        written.map_err(|error| {
            Failure::run(format!("{}: cannot write: {error}", self.path.display()))
        })?;
        let file = Arc::into_inner(self.file)
            .ok_or_else(|| Failure::run(format!("{}: still being written", self.path.display())))?;
        file.into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .finish()
            .map_err(Failure::run)
    }
}

impl io::Write for OpenFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .flush()
    }
}

/// A file for a text of the results.
pub(super) struct OpenText<C: Writes> {
    pub(super) file: OpenFile,
    pub(super) text: TextOf<C>,
}

impl<C: Writes> Opened<C> for OpenText<C> {
    fn finish(mut self: Box<Self>, results: &C::Results<'_>) -> Result<(), Failure> {
        let written = io::Write::write_all(&mut self.file, (self.text)(results)?.as_bytes());
        self.file.finish(written)
    }
}

/// A file, or a folder, created after the run.
pub(super) struct Unopened<C: Writes> {
    pub(super) path: PathBuf,
    pub(super) write: fn(&Path, &C::Results<'_>) -> Result<(), Failure>,
}

impl<C: Writes> Opened<C> for Unopened<C> {
    fn finish(self: Box<Self>, results: &C::Results<'_>) -> Result<(), Failure> {
        (self.write)(&self.path, results)
    }
}
