//! Error of a command: message and exit status.

use std::error::Error;
use std::fmt;

/// A message for people and an exit status for scripts.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    message: String,
}

impl Failure {
    /// Status 2: an argument is wrong, or an input file is missing or invalid.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self { status: 2, message: message.to_string() }
    }

    /// Status 1: the run failed (results cannot be written), or a check failed (a bound is
    /// violated, a log is inconsistent).
    pub(crate) fn run(message: impl fmt::Display) -> Self {
        Self { status: 1, message: message.to_string() }
    }

    pub(crate) const fn status(&self) -> u8 {
        self.status
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}
