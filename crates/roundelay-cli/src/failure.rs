//! Why the command did not succeed, and with which status it ends.

use std::error::Error;
use std::fmt;

/// A message for people and a status for scripts.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    message: String,
}

impl Failure {
    /// What was asked for cannot be: an argument is wrong, or a file that is to be read is not there or not what it should be. Status 2.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self { status: 2, message: message.to_string() }
    }

    /// The run failed, as where results cannot be written, or found what must not be: a bound that is broken, a log that cannot be. Status 1.
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
