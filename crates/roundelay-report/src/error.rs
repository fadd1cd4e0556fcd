//! Errors when writing a report.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a report could not be written. Each message names the file.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The operating system's error: no such folder, no permission, no space left.
    #[error("{}: cannot {action}: {source}", path.display())]
    File {
        /// The failed operation: `create`, `write`, `move into place`.
        action: &'static str,
        /// The file to be written.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The rows could not be encoded as Parquet.
    #[error("{}: cannot encode as Parquet: {reason}", path.display())]
    Encoding {
        /// The file to be written.
        path: PathBuf,
        /// The encoder's error.
        reason: String,
    },
}

impl ReportError {
    /// Adds the file's name to the operating system's error.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File {
            action,
            path: path.to_owned(),
            source,
        }
    }
}
