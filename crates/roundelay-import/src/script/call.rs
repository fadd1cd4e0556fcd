//! A call of `tc` in a script.

/// A `tc` command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// Line of the script.
    pub(crate) line: usize,
    /// The words after `tc`.
    pub(crate) words: Vec<String>,
}
