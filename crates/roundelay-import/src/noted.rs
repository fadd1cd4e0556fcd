//! A remark about lines of the script.

use std::collections::HashMap;

/// A remark about lines of the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Noted {
    /// The first line for which it holds.
    pub(crate) line: usize,
    /// The node that it concerns.
    pub(crate) node: Option<String>,
    pub(crate) text: String,
}

/// Parts of remarks on words that have no effect in Linux, or none on a capture's packets.
const WITHOUT_EFFECT: [&str; 6] = [
    "in Linux neither",
    "in Linux too",
    "tc takes the last one",
    "stays empty in Linux",
    "no packet of a capture",
    "Linux has no use for it",
];

impl Noted {
    /// Whether the tree lacks something of the script that changes what packets meet. Remarks on
    /// that say what is left out, except for words without an effect in Linux.
    pub(crate) fn is_reserve(&self) -> bool {
        let is_idle = WITHOUT_EFFECT.iter().any(|part| self.text.contains(part));
        self.text.contains("left out") && !is_idle
    }

    /// The remark, with its line.
    pub(crate) fn told(&self) -> String {
        format!("line {}: {}", self.line, self.text)
    }
}

/// The reserves, each once with its lines.
pub(crate) fn reserves(notes: &[Noted]) -> Vec<String> {
    let mut found: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for note in notes {
        if !note.is_reserve() {
            continue;
        }
        match places.get(note.text.as_str()) {
            Some(place) => found[*place].1.push(note.line),
            None => {
                places.insert(&note.text, found.len());
                found.push((&note.text, vec![note.line]));
            }
        }
    }
    let mut told = Vec::new();
    for (text, lines) in found {
        let lines = Vec::from_iter(lines.iter().map(usize::to_string));
        let s = if lines.len() > 1 { "s" } else { "" };
        told.push(format!("line{s} {}: {text}", lines.join(", ")));
    }
    told
}
