//! Line numbers of TOML keys by dotted path, for error messages with file and line.

use std::fmt;

use roundelay_trace::file::{Places, line};
use serde::de::DeserializeOwned;
use toml::Table;
use toml::de::DeTable;

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
pub(crate) struct Lines<'a> {
    text: &'a str,
    places: Places,
}

impl<'a> Lines<'a> {
    /// Reads the keys of a text; empty if the text is not TOML.
    pub(crate) fn of(text: &'a str) -> Self {
        let places = DeTable::parse(text).map(|table| Places::of(table.get_ref())).unwrap_or_default();
        Self { text, places }
    }

    /// The line of a key, or of its nearest parent; 0 if there is none.
    pub(crate) fn line(&self, path: &str) -> usize {
        self.places.nearest(path).map_or(0, |span| line(self.text, span.start))
    }

    /// The last key at or above a line.
    pub(crate) fn path(&self, line: usize) -> &str {
        let end = self.text.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
        end.checked_sub(1).and_then(|at| self.places.path_at(at)).unwrap_or_default()
    }

    /// Converts an error to one with a line number.
    pub(crate) fn error(&self, wrong: &Wrong) -> PlanError {
        PlanError { line: self.line(&wrong.path), message: wrong.message.clone() }
    }
}

/// An error of the TOML parser, with its line in the text.
pub(crate) fn located(text: &str, error: &toml::de::Error) -> PlanError {
    PlanError { line: error.span().map_or(0, |span| line(text, span.start)), message: error.message().to_owned() }
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
        let at = error.span().map_or(0, |span| span.start);
        Wrong::new(Lines::of(&text).places.path_at(at).unwrap_or_default(), error.message())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\n[b]\nc = { d = 2 }\n[[e]]\nf = 3\n\n[[e]]\nf = 4\n";

    #[test]
    fn keys_have_lines_and_lines_have_keys() {
        let places = Lines::of(TEXT);
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
