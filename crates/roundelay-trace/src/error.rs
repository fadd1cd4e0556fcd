//! Errors in input files and rules. Each message says where, what was found and what is legal.

use std::io;

use roundelay::Fault;
use thiserror::Error;

/// Why a capture cannot be opened or read further.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The file cannot be opened.
    #[error("{name}: cannot open: {reason}")]
    Open {
        /// The capture's name, as the user gave it.
        name: String,
        /// The operating system's error.
        reason: io::Error,
    },
    /// Reading failed midway.
    #[error("{name}: offset {offset}: cannot read: {reason}")]
    Read {
        /// The capture's name, as the user gave it.
        name: String,
        /// Bytes of the file that were read before.
        offset: u64,
        /// The operating system's error.
        reason: io::Error,
    },
    /// The bytes are not a legal capture.
    #[error("{name}: offset {offset}: {found}; expected {expected}")]
    Malformed {
        /// The capture's name, as the user gave it.
        name: String,
        /// Where the faulty record, block or field starts, in bytes from the start of the file.
        offset: u64,
        /// What was found.
        found: String,
        /// What is legal: a value or a range.
        expected: String,
    },
}

/// An illegal weight rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("rule `{rule}`: column {column}: found {found}; expected {expected}")]
pub struct RuleError {
    /// The rule as the user wrote it.
    pub rule: String,
    /// Where the error is, in characters counted from 1.
    pub column: usize,
    /// The text found.
    pub found: String,
    /// The wrong word, or none at the end of the rule.
    pub word: Option<String>,
    /// The legal text.
    pub expected: String,
}

/// An illegal filter.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("filter `{}`: column {}: found {}; expected {}", .0.rule, .0.column, .0.found, .0.expected)]
pub struct FilterError(pub RuleError);

/// An illegal value of `--direction`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("direction `{found}`: expected {expected}")]
pub struct DirectionError {
    /// The text found.
    pub found: String,
    /// The legal text.
    pub expected: String,
}

impl From<RuleError> for Fault {
    fn from(error: RuleError) -> Self {
        of_rule(error.to_string(), error)
    }
}

impl From<FilterError> for Fault {
    fn from(error: FilterError) -> Self {
        of_rule(error.to_string(), error.0)
    }
}

/// The wrong word in a rule. At the rule's end, the whole rule.
fn of_rule(message: String, error: RuleError) -> Fault {
    Fault::new(message)
        .with_given(error.word.unwrap_or(error.rule))
        .with_legal(error.expected.replace('`', ""))
}

impl From<DirectionError> for Fault {
    fn from(error: DirectionError) -> Self {
        Self::new(error.to_string())
            .with_given(error.found)
            .with_legal(error.expected)
    }
}

impl From<CaptureError> for Fault {
    /// The file is part of the data. Faults in its bytes are not, because nobody has written these
    /// values.
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Open { name, reason } => {
                Self::new(format!("cannot open: {reason}")).in_file(name, 0)
            }
            CaptureError::Read {
                name,
                offset,
                reason,
            } => Self::new(format!("offset {offset}: cannot read: {reason}")).in_file(name, 0),
            CaptureError::Malformed {
                name,
                offset,
                found,
                expected,
            } => Self::new(format!("offset {offset}: {found}; expected {expected}"))
                .with_legal(expected)
                .in_file(name, 0),
        }
    }
}

/// A [`CaptureError`] before we know the file's name.
#[derive(Debug)]
pub(crate) enum Broken {
    /// Reading failed at this offset.
    Read { offset: u64, reason: io::Error },
    /// The bytes at this offset are not legal.
    Malformed {
        offset: u64,
        found: String,
        expected: String,
    },
}

impl Broken {
    /// The error for illegal bytes at `offset`.
    #[cold]
    pub(crate) fn malformed(
        offset: u64,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Malformed {
            offset,
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// The error that the user sees, with the file's name.
    #[cold]
    pub(crate) fn in_file(self, name: &str) -> CaptureError {
        let name = name.to_owned();
        match self {
            Self::Read { offset, reason } => CaptureError::Read {
                name,
                offset,
                reason,
            },
            Self::Malformed {
                offset,
                found,
                expected,
            } => CaptureError::Malformed {
                name,
                offset,
                found,
                expected,
            },
        }
    }
}
