//! Faults of a script's lines, and of words of tc.

use std::fmt;

use roundelay::Fault;
use roundelay::suggestion::alternatives;

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

/// A word that is none of those that tc knows there.
pub(crate) fn word(word: &str, owner: &str, known: &[&str]) -> Fault {
    let expected = alternatives(known);
    Fault::unknown(word, known, |meant| {
        format!("`{word}` of {owner}{meant}; expected {expected}")
    })
    .with_owner(owner)
}

/// Something that tc demands and that is not there.
pub(crate) fn missing(owner: &str, what: &str, legal: &str) -> Fault {
    Fault::wanted(legal)
        .behind(format_args!("{owner} has {what}; "))
        .with_owner(owner)
}
