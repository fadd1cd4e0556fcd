//! Line numbers of TOML keys by dotted path, for error messages with file and line.

use std::fmt;

use roundelay::Fault;
use roundelay_files::Reader;
use serde::de::DeserializeOwned;
use toml::Table;

/// An error about a value in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Dotted path of the value. Empty means the table as a whole.
    pub path: String,
    /// The fault and the legal values.
    pub fault: Fault,
}

impl Wrong {
    /// An error about the value at a path.
    pub fn new(path: impl Into<String>, fault: impl Into<Fault>) -> Self {
        Self {
            path: path.into(),
            fault: fault.into(),
        }
    }

    /// The same error, with this table under a key of another one.
    pub(crate) fn below(self, key: &str) -> Self {
        let path = if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{key}.{}", self.path)
        };
        Self { path, ..self }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

/// True if a path is `top`, or a key below.
pub(crate) fn is_at_or_below(path: &str, top: &str) -> bool {
    match path.strip_prefix(top) {
        Some(rest) => rest.is_empty() || rest.starts_with('.'),
        None => false,
    }
}

/// What is wrong with a plan, with the line in its file. It has another name, because plans have
/// faults that are planted.
pub type PlanError = Fault;

/// The error at a path of a plan, with the line in the plan's text.
pub(crate) fn located(text: &str, wrong: Wrong) -> PlanError {
    let line = Reader::parse("", text).map_or(0, |(reader, _)| reader.line(&wrong.path));
    wrong.fault.in_file("", line)
}

/// Reads a table.
///
/// # Errors
/// A key is unknown or missing, or a value has the wrong type.
pub(crate) fn read<V: DeserializeOwned>(table: &Table) -> Result<V, Wrong> {
    // Converted to text first: a table built by code has no spans, and in the text each key has its
    // own line.
    let text = toml::to_string(table).map_err(|error| Wrong::new("", error.to_string()))?;
    let (reader, table) =
        Reader::parse("", &text).map_err(|error| Wrong::new("", error.to_string()))?;
    reader
        .take_rest_located(&[], table, V::deserialize)
        .map_err(|(span, message)| Wrong::new(reader.path_at(span.start), message))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(
            wrong("inner = [{ number = 1 }, { number = 300 }]").path,
            "inner.1.number"
        );
        assert_eq!(
            wrong("inner = [{ number = 1, other = 2 }]").path,
            "inner.0.other"
        );
        assert_eq!(Wrong::new("b", "c").below("a").path, "a.b");
    }
}
