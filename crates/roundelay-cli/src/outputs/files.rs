//! Output files, which are open during the run or written after it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use roundelay_report::PartialFile;
use roundelay_trace::Stop;

use super::output::{Opened, TextOf, Writes};
use crate::failure::Failure;

/// A file that is open during the run. Clones write to the same file.
#[derive(Clone)]
pub(crate) struct OpenFile {
    path: PathBuf,
    file: Arc<Mutex<PartialFile>>,
    /// The message of the first failed write.
    failure: Arc<OnceLock<String>>,
    /// Requested at the first failed write, because the run would go on in vain.
    stop: Stop,
}

impl OpenFile {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
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
            failure: Arc::default(),
            stop: Stop::default(),
        })
    }

    /// Requests this stop at the first failed write.
    pub(crate) fn stopping(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// The failure of the first failed write, if any failed.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure.get().map(Failure::run)
    }

    fn message(&self, error: &io::Error) -> String {
        format!("{}: cannot write: {error}", self.path.display())
    }

    /// Notes an error, and ends the run.
    fn noted<T>(&self, written: io::Result<T>) -> io::Result<T> {
        written.inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                self.failure.get_or_init(|| self.message(error));
                self.stop.request();
            }
        })
    }

    /// Gives the file its name, if all was written. Other clones must be gone by then.
    pub(crate) fn finish(self, written: io::Result<()>) -> Result<(), Failure> {
        written.map_err(|error| Failure::run(self.message(&error)))?;
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
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        self.noted(file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        self.noted(file.flush())
    }
}

/// A file that will hold a text about the results.
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

/// A file or a folder that is created after the run.
pub(super) struct Unopened<C: Writes> {
    pub(super) path: PathBuf,
    pub(super) write: fn(&Path, &C::Results<'_>) -> Result<(), Failure>,
}

impl<C: Writes> Opened<C> for Unopened<C> {
    fn finish(self: Box<Self>, results: &C::Results<'_>) -> Result<(), Failure> {
        (self.write)(&self.path, results)
    }
}
