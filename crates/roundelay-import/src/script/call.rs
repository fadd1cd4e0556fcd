//! Calls of `tc` in a script, and of programs that mark packets.

/// A `tc` command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// Line of the script.
    pub(crate) line: usize,
    /// The words after `tc`.
    pub(crate) words: Vec<String>,
}

/// A command of a packet filter that marks packets, writes code points or chooses classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marking {
    /// Line of the script.
    pub(crate) line: usize,
    /// The words, the program's name first.
    pub(crate) words: Vec<String>,
}
