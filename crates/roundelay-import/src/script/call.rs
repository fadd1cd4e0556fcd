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
    /// Lines of the file that nft reads, with their numbers in the script. Empty if it reads none, or
    /// one that the script does not hold.
    pub(crate) rules: Vec<(usize, String)>,
}

/// The file that `nft -f FILE` reads.
pub(crate) fn file_of_nft(words: &[String]) -> Option<&str> {
    let at = words
        .iter()
        .position(|word| ["-f", "--file"].contains(&word.as_str()))?;
    words.get(at + 1).map(String::as_str)
}
