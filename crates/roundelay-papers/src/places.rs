//! Line numbers of TOML keys by dotted path, for error messages with file and line.

use std::fmt;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table};

/// An error about a value of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Dotted path of the value; empty: the table as a whole.
    pub path: String,
    /// The fault and the legal values.
    pub message: String,
}

impl Wrong {
    /// An error about the value at a path.
    pub fn new(path: impl Into<String>, message: impl fmt::Display) -> Self {
        Self { path: path.into(), message: message.to_string() }
    }

    /// The same error, with this table under a key of another one.
    pub(crate) fn below(self, key: &str) -> Self {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{key}.{}", self.path) };
        Self { path, ..self }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// An error about a plan, with the line in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    /// Line number from 1; 0: the file as a whole.
    pub line: usize,
    /// The fault and the legal values.
    pub message: String,
}

impl PlanError {
    /// The message with the file's name.
    pub fn in_file(&self, name: impl fmt::Display) -> String {
        match self.line {
            0 => format!("{name}: {}", self.message),
            line => format!("{name}:{line}: {}", self.message),
        }
    }
}

/// Line numbers of the keys of a text.
pub(crate) struct Places {
    lines: Vec<(String, usize)>,
}

impl Places {
    /// Reads the keys of a text; empty if the text is not TOML.
    pub(crate) fn of(text: &str) -> Self {
        let mut lines = Vec::new();
        if let Ok(table) = DeTable::parse(text) {
            note(&mut lines, "", table.get_ref(), &|span| line_of(text, span.start));
        }
        Self { lines }
    }

    /// The line of a key, or of its nearest parent; 0 if there is none.
    pub(crate) fn line(&self, path: &str) -> usize {
        let known = self.lines.iter().find(|(other, _)| other == path);
        match (known, path.rsplit_once('.')) {
            (Some((_, line)), _) => *line,
            (None, Some((parent, _))) => self.line(parent),
            (None, None) => 0,
        }
    }

    /// The last key at or above a line.
    pub(crate) fn path(&self, line: usize) -> &str {
        let above = self.lines.iter().filter(|(_, other)| *other <= line);
        above.max_by_key(|(_, other)| *other).map_or("", |(path, _)| path)
    }

    /// Converts an error to one with a line number.
    pub(crate) fn error(&self, wrong: &Wrong) -> PlanError {
        PlanError { line: self.line(&wrong.path), message: wrong.message.clone() }
    }
}

/// An error of the TOML parser, with its line in the text.
pub(crate) fn located(text: &str, error: &toml::de::Error) -> PlanError {
    PlanError { line: error.span().map_or(0, |span| line_of(text, span.start)), message: error.message().to_owned() }
}

/// Reads a table.
///
/// # Errors
/// A key is unknown or missing, or a value has the wrong type.
pub(crate) fn read<V: DeserializeOwned>(table: &Table) -> Result<V, Wrong> {
    // Converted to text first: a table built by code has no spans, and in the text each key has its
    // own line.
    let text = toml::to_string(table).map_err(|error| Wrong::new("", error))?;
    toml::from_str(&text).map_err(|error| {
        let PlanError { line, message } = located(&text, &error);
        Wrong::new(Places::of(&text).path(line), message)
    })
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

fn note(lines: &mut Vec<(String, usize)>, path: &str, table: &DeTable<'_>, line: &dyn Fn(Range<usize>) -> usize) {
    for (key, value) in table {
        let path = if path.is_empty() { key.get_ref().to_string() } else { format!("{path}.{}", key.get_ref()) };
        lines.push((path.clone(), line(key.span())));
        note_value(lines, &path, value, line);
    }
}

fn note_value(lines: &mut Vec<(String, usize)>, path: &str, value: &Spanned<DeValue<'_>>, line: &dyn Fn(Range<usize>) -> usize) {
    match value.get_ref() {
        DeValue::Table(table) => note(lines, path, table, line),
        DeValue::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                let path = format!("{path}.{number}");
                lines.push((path.clone(), line(value.span())));
                note_value(lines, &path, value, line);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\n[b]\nc = { d = 2 }\n[[e]]\nf = 3\n\n[[e]]\nf = 4\n";

    #[test]
    fn keys_have_lines_and_lines_have_keys() {
        let places = Places::of(TEXT);
        let lines = ["a", "b.c", "b.c.d", "e.0.f", "e.1", "e.1.f", "e.1.g", "x.y"].map(|path| places.line(path));
        assert_eq!(lines, [1, 3, 3, 5, 7, 8, 7, 0]);
        assert_eq!([1, 5, 6, 8].map(|line| places.path(line)), ["a", "e.0.f", "e.0.f", "e.1.f"]);
    }

    #[test]
    fn an_error_names_the_key() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Top {
            #[allow(dead_code, reason = "it is read")]
            inner: Vec<Inner>,
        }
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Inner {
            #[allow(dead_code, reason = "it is read")]
            number: u8,
        }
        let wrong = |text: &str| read::<Top>(&text.parse().unwrap()).unwrap_err();
        assert_eq!(wrong("inner = [{ number = 1 }, { number = 300 }]").path, "inner.1.number");
        assert_eq!(wrong("inner = [{ number = 1, other = 2 }]").path, "inner.0.other");
        assert_eq!(Wrong::new("b", "c").below("a").path, "a.b");
    }
}
