//! Finds where keys and values stand in a TOML file, so that errors can give the line.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Positions of keys and list values, by dotted path: `duration`, `source.0.rate`.
#[derive(Debug, Default)]
pub(crate) struct KeyPositions {
    pub(crate) spans: BTreeMap<String, Range<usize>>,
    /// Owners by path. A table in a list owns its keys if it has a name, as `node 'web'`.
    owners: BTreeMap<String, String>,
}

impl KeyPositions {
    pub(crate) fn of(table: &DeTable<'_>) -> Self {
        let mut positions = Self::default();
        positions.note("", table);
        positions
    }

    /// The position of a key, or of its nearest parent if the file does not have the key.
    pub(crate) fn nearest(&self, path: &str) -> Option<&Range<usize>> {
        let mut path = path;
        loop {
            match (self.spans.get(path), path.rsplit_once('.')) {
                (Some(span), _) => return Some(span),
                (None, Some((parent, _))) => path = parent,
                (None, None) => return None,
            }
        }
    }

    /// The named table at a path, or else the one that encloses it.
    pub(crate) fn owner(&self, path: &str) -> Option<&str> {
        match (self.owners.get(path), path.rsplit_once('.')) {
            (Some(owner), _) => Some(owner),
            (None, Some((above, _))) => self.owner(above),
            (None, None) => None,
        }
    }

    /// Notes where this table's keys stand, and those of the tables below.
    fn note(&mut self, path: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let path = if path.is_empty() {
                key.get_ref().to_string()
            } else {
                format!("{path}.{}", key.get_ref())
            };
            self.spans.insert(path.clone(), key.span());
            self.note_value(&path, value);
        }
    }

    /// Notes what a value holds: a table's keys or a list's values. If a table in a list has a
    /// name, it becomes the owner of its keys.
    fn note_value(&mut self, path: &str, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => self.note(path, table),
            DeValue::Array(values) => {
                let key = path.rsplit('.').next().unwrap_or_default();
                for (number, value) in values.iter().enumerate() {
                    let path = format!("{path}.{number}");
                    if let Some(name) = value.get_ref().get("name")
                        && let Some(name) = name.get_ref().as_str()
                    {
                        self.owners.insert(path.clone(), format!("{key} '{name}'"));
                    }
                    self.spans.insert(path.clone(), value.span());
                    self.note_value(&path, value);
                }
            }
            _ => {}
        }
    }
}
