//! A shell script: the `tc` commands that it runs, with their words as the shell would pass them.
//!
//! This is no shell. Variables, arithmetic, quotes, functions, loops, `case` and tests of known
//! values are followed; what depends on the machine is left out, with a remark.

mod arithmetic;
mod expand;
mod machine;
mod parse;
mod pattern;
mod programs;

use std::fmt;

pub(crate) use machine::{Ran, run};

/// A `tc` command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// Line of the script.
    pub(crate) line: usize,
    /// The words after `tc`.
    pub(crate) words: Vec<String>,
}

/// The script cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptError {
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl ScriptError {
    pub(crate) fn new(line: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { line, message }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.line, self.message)
    }
}
