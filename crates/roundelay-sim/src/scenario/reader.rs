//! TOML reader with positions of values, for line numbers in messages.

use std::fmt;

use roundelay_trace::file::{Places, line};
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

use super::ScenarioError;
use super::suggestion::with_suggestion;

/// The maximum length of a scenario.
const MOST_BYTES: usize = 1 << 24;

/// A file and the positions of its values.
pub(super) struct Reader<'a> {
    name: &'a str,
    text: &'a str,
    places: Places,
}

impl<'a> Reader<'a> {
    /// The reader and the file's table.
    ///
    /// # Errors
    /// The file is not TOML.
    pub(super) fn parse(name: &'a str, text: &'a str) -> Result<(Self, Spanned<DeTable<'a>>), ScenarioError> {
        let reader = Self { name, text, places: Places::default() };
        if text.len() > MOST_BYTES {
            return Err(reader.at_line(0, format!("{} bytes, legal range up to {MOST_BYTES}", text.len())));
        }
        let table = DeTable::parse(text).map_err(|error| reader.no_toml(&error))?;
        Ok((Self { places: Places::of(table.get_ref()), ..reader }, table))
    }

    /// The file's name in messages.
    pub(super) const fn name(&self) -> &'a str {
        self.name
    }

    /// The whole file.
    pub(super) const fn text(&self) -> &'a str {
        self.text
    }

    /// Whether a value is written in the file.
    pub(super) fn has(&self, path: &str) -> bool {
        self.places.exact(path).is_some()
    }

    fn at_line(&self, line: usize, message: impl fmt::Display) -> ScenarioError {
        ScenarioError { file: self.name.to_owned(), line, message: message.to_string() }
    }

    /// A message about a value, with its line; for a missing value, with the line of the enclosing
    /// table.
    pub(super) fn at(&self, path: &str, message: impl fmt::Display) -> ScenarioError {
        let line = self.places.nearest(path).map_or(0, |span| line(self.text, span.start));
        self.at_line(line, message)
    }

    /// # Errors
    /// A key is unknown or missing, or a value is out of range.
    pub(super) fn take<V: DeserializeOwned>(&self, table: Spanned<DeTable<'a>>) -> Result<V, ScenarioError> {
        self.take_rest(&[], table, V::deserialize)
    }

    /// Reads the rest of a table, from which `keys` were read already.
    ///
    /// # Errors
    /// As [`Reader::take`]. For an unknown key, all keys are listed.
    pub(super) fn take_rest<V>(
        &self,
        keys: &[&str],
        table: Spanned<DeTable<'a>>,
        read: impl FnOnce(Deserializer<'a>) -> Result<V, toml::de::Error>,
    ) -> Result<V, ScenarioError> {
        let start = table.span().start;
        let unknown: Vec<_> = table.get_ref().keys().map(|key| format!("unknown field `{}`", key.get_ref())).collect();
        read(Deserializer::from(table)).map_err(|error| {
            let mut refusal = match error.span() {
                Some(_) => self.no_toml(&error),
                None => self.at_line(line(self.text, start), error.message()),
            };
            // Only for a key of this table, not of a nested one.
            if !keys.is_empty() && unknown.iter().any(|key| refusal.message.starts_with(key)) {
                let others: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
                refusal.message += &format!("; beside {}", others.join(", "));
            }
            ScenarioError { message: with_suggestion(&refusal.message), ..refusal }
        })
    }

    fn no_toml(&self, error: &toml::de::Error) -> ScenarioError {
        let Some(span) = error.span() else { return self.at_line(0, error.message()) };
        self.at_line(line(self.text, span.start), self.named(span.start, error.message()))
    }

    /// Puts the key before a message that begins with a value: a number, or a text in quotes that is
    /// not what the key expects.
    fn named(&self, at: usize, message: &str) -> String {
        let key = self.places.path_at(at).and_then(|path| path.rsplit('.').find(|part| part.parse::<usize>().is_err()));
        let is_number = message.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let is_value = message.starts_with('\'') && message.contains(": expected ");
        match key {
            Some(key) if is_number || is_value => format!("{key}: {message}"),
            _ => message.to_owned(),
        }
    }
}
