//! Why a report could not be written.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a report could not be written: each message names the file.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The operating system would not have it: no such folder, no permission, no space left.
    #[error("{}: cannot {action}: {source}", path.display())]
    File {
        /// What was asked of it: `create`, `write`, `move into place`.
        action: &'static str,
        /// The file that was to be written.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The rows could not be encoded as Parquet.
    #[error("{}: cannot encode as Parquet: {reason}", path.display())]
    Encoding {
        /// The file that was to be written.
        path: PathBuf,
        /// What the encoder said.
        reason: String,
    },
}

impl ReportError {
    /// Turns what the operating system said into an error that names the file.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { action, path: path.to_owned(), source }
    }
}
