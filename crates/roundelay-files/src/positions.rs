//! Where keys and values stand in a file.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Positions of the keys and of the values of lists, by dotted path: `duration`, `source.0.rate`.
#[derive(Debug, Default)]
pub(crate) struct KeyPositions {
    pub(crate) spans: BTreeMap<String, Range<usize>>,
    /// Owners of keys: tables of a list that have a name, as `node 'web'`.
    owners: BTreeMap<String, String>,
}

impl KeyPositions {
    pub(crate) fn of(table: &DeTable<'_>) -> Self {
        let mut positions = Self::default();
        positions.note("", table);
        positions
    }

    /// The position of a key, or of its nearest parent in the file.
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

    /// The named table at a path, or the one that has the key.
    pub(crate) fn owner(&self, path: &str) -> Option<&str> {
        let own = self.owners.get(path).map(String::as_str);
        own.or_else(|| {
            path.rsplit_once('.')
                .and_then(|(above, _)| self.owner(above))
        })
    }

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

    fn note_value(&mut self, path: &str, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => self.note(path, table),
            DeValue::Array(values) => {
                let key = path.rsplit('.').next().unwrap_or_default();
                for (number, value) in values.iter().enumerate() {
                    let name = value
                        .get_ref()
                        .get("name")
                        .and_then(|name| name.get_ref().as_str());
                    let owner = name.map(|name| format!("{key} '{name}'"));
                    let path = format!("{path}.{number}");
                    self.owners.extend(owner.map(|owner| (path.clone(), owner)));
                    self.spans.insert(path.clone(), value.span());
                    self.note_value(&path, value);
                }
            }
            _ => {}
        }
    }
}
