//! What can be wrong with the files and rules that a user hands over: each message names the place, what was found there and what is legal.

use std::io;

use thiserror::Error;

/// Why a capture cannot be read, or not read further.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The file cannot be opened.
    #[error("{name}: cannot open: {reason}")]
    Open {
        /// The capture's name, as the user gave it.
        name: String,
        /// What the operating system said.
        reason: io::Error,
    },
    /// Reading failed midway.
    #[error("{name}: offset {offset}: cannot read: {reason}")]
    Read {
        /// The capture's name, as the user gave it.
        name: String,
        /// Bytes of the file that were read before.
        offset: u64,
        /// What the operating system said.
        reason: io::Error,
    },
    /// The bytes are not those of a legal capture.
    #[error("{name}: offset {offset}: {found}; expected {expected}")]
    Malformed {
        /// The capture's name, as the user gave it.
        name: String,
        /// Where the record, block or field at fault starts, in bytes from the start of the file.
        offset: u64,
        /// What is there.
        found: String,
        /// What may be there: a value, or the legal range.
        expected: String,
    },
}

/// A weight rule that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("rule `{rule}`: column {column}: found {found}; expected {expected}")]
pub struct RuleError {
    /// The rule as the user wrote it.
    pub rule: String,
    /// Where the trouble is, in characters, counted from 1.
    pub column: usize,
    /// What is there.
    pub found: String,
    /// What may be there.
    pub expected: String,
}

/// A file of weights that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name}:{line}: {message}")]
pub struct WeightsError {
    /// The file's name, as the user gave it.
    pub name: String,
    /// The line at fault, counted from 1.
    pub line: usize,
    /// What is wrong, and what would be legal.
    pub message: String,
}

/// A word that names no way to tell flows apart.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("flows by `{found}`: expected 5tuple, src, dst or dscp")]
pub struct FlowByError {
    /// The word found.
    pub found: String,
}

/// A [`CaptureError`] before the file's name is known.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Reading failed after so many bytes.
    Read { offset: u64, reason: io::Error },
    /// The bytes at this offset are not legal.
    Malformed { offset: u64, found: String, expected: String },
}

impl Fault {
    /// Illegal bytes at `offset`.
    #[cold]
    pub(crate) fn malformed(offset: u64, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Malformed { offset, found: found.into(), expected: expected.into() }
    }

    /// The error for the user, now that the file's name is known.
    #[cold]
    pub(crate) fn in_file(self, name: &str) -> CaptureError {
        let name = name.to_owned();
        match self {
            Self::Read { offset, reason } => CaptureError::Read { name, offset, reason },
            Self::Malformed { offset, found, expected } => CaptureError::Malformed { name, offset, found, expected },
        }
    }
}
