//! Faults of a script's lines, and of words of tc.

use std::fmt;

use roundelay::Fault;

/// The fault in this line. The script gets its name later.
pub(crate) fn at_line(line: usize, fault: impl Into<Fault>) -> Fault {
    fault.into().in_file("", line)
}

/// The value of a word that tc cannot read.
pub(crate) fn value(word: &str, text: &str, legal: impl fmt::Display) -> Fault {
    Fault::expected(format_args!("`{word} {text}`"), legal)
        .with_given(text)
        .with_key(word)
}
