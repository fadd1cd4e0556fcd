//! The variables that a script reads or sets. A value for any other one is a mistake.

use std::collections::BTreeSet;

use roundelay::Fault;

use super::parse::{Token, tokens};

/// Commands whose words are names of variables.
const DECLARING: [&str; 10] = [
    "export",
    "local",
    "readonly",
    "declare",
    "typeset",
    "read",
    "unset",
    "getopts",
    "mapfile",
    "readarray",
];

/// Stands for all arguments of the script.
const ARGUMENTS: &str = "@";
/// Stands for the variables of other files, which the script may read or set there.
const SOURCED: &str = ".";

/// The names of variables, wherever they stand in a script.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// Adds the names that a script has.
    pub(super) fn read(&mut self, script: &str) {
        // If it cannot be read, the parser says so.
        let all = tokens(script, 1).unwrap_or_default();
        let mut declares = false;
        let mut counts = false;
        let mut previous = "";
        for (number, (token, _)) in all.iter().enumerate() {
            match token {
                Token::Word(word) => {
                    let is_declared = declares || ["for", "-v"].contains(&previous);
                    if is_declared && is_name(word) {
                        self.0.insert(word.clone());
                    }
                    if let Some((left, _)) = word.split_once('=') {
                        let left = left.trim_end_matches('+');
                        if is_name(left) {
                            self.0.insert(left.to_owned());
                        }
                    }
                    if counts {
                        self.add_counted(word);
                    }
                    self.add_read(word);
                    if previous.is_empty() && ["source", SOURCED].contains(&word.as_str()) {
                        self.0.insert(SOURCED.to_owned());
                    }
                    declares |= DECLARING.contains(&word.as_str());
                    counts |= word == "let";
                    let takes_all = match word.as_str() {
                        "shift" | "getopts" => true,
                        "for" => !is_in(all.get(number + 2)),
                        _ => false,
                    };
                    if takes_all {
                        self.0.insert(ARGUMENTS.to_owned());
                    }
                    previous = word;
                }
                Token::Operator(_) => {
                    declares = false;
                    counts = false;
                    previous = "";
                }
                Token::Into(text, _) => self.add_read(text),
                // It may be a script for another shell.
                Token::Here(here) => {
                    self.add_read(&here.body);
                    self.read(&here.body);
                }
                Token::Arithmetic(text) => {
                    self.add_counted(text);
                    self.add_read(text);
                }
            }
        }
    }

    /// Adds what stands behind `$` in a text.
    fn add_read(&mut self, text: &str) {
        for part in text.split('$').skip(1) {
            let is_braced = part.starts_with('{');
            let inner = part.trim_start_matches('{');
            let name = name_at_start(inner.trim_start_matches(['#', '!']));
            let is_argument = name.starts_with(|letter: char| letter.is_ascii_digit());
            if is_argument && !is_braced {
                self.0.insert(name[..1].to_owned());
            } else if !name.is_empty() {
                self.0.insert(name.to_owned());
            } else if inner.starts_with(['@', '*', '#']) {
                self.0.insert(ARGUMENTS.to_owned());
            }
        }
        for (start, end) in [("$((", "))"), ("$[", "]")] {
            for part in text.split(start).skip(1) {
                let (inside, _) = part.rsplit_once(end).unwrap_or((part, ""));
                self.add_counted(inside);
            }
        }
    }

    /// Adds the names in a text of arithmetic, where they need no `$`.
    fn add_counted(&mut self, text: &str) {
        for part in text.split(|letter: char| !is_of_name(letter)) {
            if is_name(part) {
                self.0.insert(part.to_owned());
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        let is_argument = name != "0" && name.chars().all(|letter| letter.is_ascii_digit());
        self.0.contains(SOURCED)
            || self.0.contains(name)
            || (is_argument && self.0.contains(ARGUMENTS))
    }

    /// Checks that the script has these variables.
    pub(super) fn check(&self, variables: &[(String, String)]) -> Result<(), Fault> {
        let mut known: Vec<&str> = self.0.iter().map(String::as_str).collect();
        known.retain(|name| ![ARGUMENTS, SOURCED].contains(name));
        for (name, _) in variables {
            if self.has(name) {
                continue;
            }
            let fault = Fault::no_such("variable of the script", name, &known);
            if known.is_empty() {
                return Err(fault.with_hint(": the script has none"));
            }
            return Err(fault);
        }
        Ok(())
    }
}

/// Whether a `for` has words, or goes over all arguments.
fn is_in(token: Option<&(Token, usize)>) -> bool {
    matches!(token, Some((Token::Word(word), _)) if word == "in")
}

fn is_of_name(letter: char) -> bool {
    letter == '_' || letter.is_ascii_alphanumeric()
}

fn is_name(word: &str) -> bool {
    let is_number = word.starts_with(|letter: char| letter.is_ascii_digit());
    !word.is_empty() && !is_number && word.chars().all(is_of_name)
}

/// The name, or the number of an argument, with which a text begins.
fn name_at_start(text: &str) -> &str {
    let end = text.find(|letter| !is_of_name(letter));
    &text[..end.unwrap_or(text.len())]
}
