//! Tables of a TOML file with the location of each key and value, for error messages with line,
//! owner and legal values.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

use roundelay::Bytes;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Location in the text, and the error message.
pub type Fault = (Range<usize>, String);

/// A string with its location in the file.
pub type Text = Spanned<String>;

/// Characters of a value shown in a message.
const SHOWN: usize = 60;

/// The line of the byte at `at`, counted from 1.
pub fn line(text: &str, at: usize) -> usize {
    1 + text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count()
}

/// Positions of the keys and of the values of lists, by dotted path: `duration`, `source.0.rate`.
#[derive(Debug, Clone, Default)]
pub struct Places {
    spans: BTreeMap<String, Range<usize>>,
}

impl Places {
    /// The positions in a parsed file.
    pub fn of(table: &DeTable<'_>) -> Self {
        let mut places = Self::default();
        places.note("", table);
        places
    }

    /// The position of a key; none if the file has no such key.
    pub fn exact(&self, path: &str) -> Option<&Range<usize>> {
        self.spans.get(path)
    }

    /// The position of a key, or of its nearest parent in the file.
    pub fn nearest(&self, path: &str) -> Option<&Range<usize>> {
        let mut path = path;
        loop {
            match (self.spans.get(path), path.rsplit_once('.')) {
                (Some(span), _) => return Some(span),
                (None, Some((parent, _))) => path = parent,
                (None, None) => return None,
            }
        }
    }

    /// The last key that begins at or before a position; of two at one position the longer path.
    pub fn path_at(&self, at: usize) -> Option<&str> {
        let before = self.spans.iter().filter(|(_, span)| span.start <= at);
        before.max_by_key(|(path, span)| (span.start, path.len())).map(|(path, _)| path.as_str())
    }

    fn note(&mut self, path: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let path = if path.is_empty() { key.get_ref().to_string() } else { format!("{path}.{}", key.get_ref()) };
            self.spans.insert(path.clone(), key.span());
            self.note_value(&path, value);
        }
    }

    fn note_value(&mut self, path: &str, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => self.note(path, table),
            DeValue::Array(values) => {
                for (number, value) in values.iter().enumerate() {
                    let path = format!("{path}.{number}");
                    self.spans.insert(path.clone(), value.span());
                    self.note_value(&path, value);
                }
            }
            _ => {}
        }
    }
}

/// A whole file, or a table of it.
#[derive(Debug, Clone)]
pub struct Table<'a> {
    text: &'a str,
    entries: DeTable<'a>,
    /// Location of the table.
    pub place: Range<usize>,
    /// Prefix of error messages about this table: `node 'web'`.
    whose: String,
}

impl<'a> Table<'a> {
    /// Reads a file.
    ///
    /// # Errors
    /// The text is not TOML.
    pub fn of_file(text: &'a str) -> Result<Self, Fault> {
        let entries = DeTable::parse(text).map_err(|error| not_toml(text, &error))?.into_inner();
        Ok(Self { text, entries, place: 0..0, whose: String::new() })
    }

    /// A table of a file parsed elsewhere: `text` is the text of the whole file.
    pub const fn of_table(text: &'a str, entries: DeTable<'a>, place: Range<usize>) -> Self {
        Self { text, entries, place, whose: String::new() }
    }

    /// The tables written as `[[key]]`, each with these keys and no other.
    ///
    /// # Errors
    /// The key holds another type, or a table has another key.
    pub fn tables(&self, key: &str, keys: &[&str]) -> Result<Vec<Self>, Fault> {
        let expected = || format!("tables, each headed [[{key}]]");
        let Some(value) = self.entries.get(key) else { return Ok(Vec::new()) };
        let tables = value.get_ref().as_array().ok_or_else(|| self.unlike(key, value, expected()))?;
        let table = |value: &Spanned<DeValue<'a>>| {
            let entries = value.get_ref().as_table().ok_or_else(|| self.unlike(key, value, expected()))?.clone();
            let table = Self { text: self.text, entries, place: value.span(), whose: String::new() };
            table.named(key).check_keys(keys)
        };
        tables.iter().map(table).collect()
    }

    /// Returns the table if all its keys are in `keys`.
    ///
    /// # Errors
    /// The table has another key.
    pub fn check_keys(self, keys: &[&str]) -> Result<Self, Fault> {
        let unknown = self.entries.keys().find(|key| !keys.contains(&key.get_ref().as_ref()));
        match unknown {
            None => Ok(self),
            Some(key) => Err(self.fault(key.span(), format!("no key is called '{}'; expected {}", key.get_ref(), keys.join(", ")))),
        }
    }

    /// Error messages about this table start with its name, if any: `node 'web'`.
    fn named(mut self, kind: &str) -> Self {
        if let Some(name) = self.entries.get("name").and_then(|name| name.get_ref().as_str()) {
            self.whose = format!("{kind} '{name}'");
        }
        self
    }

    /// An error at a location in this table.
    pub fn fault(&self, place: Range<usize>, message: impl Display) -> Fault {
        (place, if self.whose.is_empty() { message.to_string() } else { format!("{}: {message}", self.whose) })
    }

    /// A quoted string, if the key is present.
    ///
    /// # Errors
    /// The value has another type.
    pub fn text(&self, key: &str) -> Result<Option<Text>, Fault> {
        self.entries.get(key).map(|value| self.as_text(key, value)).transpose()
    }

    /// A mandatory string; `what` describes the value.
    ///
    /// # Errors
    /// The key is missing, or the value has another type.
    pub fn required(&self, key: &str, what: &str) -> Result<Text, Fault> {
        self.text(key)?.ok_or_else(|| self.fault(self.place.clone(), format!("no `{key}`: expected {what}")))
    }

    /// A list of strings; empty if the key is missing.
    ///
    /// # Errors
    /// The value has another type.
    pub fn texts(&self, key: &str) -> Result<Vec<Text>, Fault> {
        let Some(value) = self.entries.get(key) else { return Ok(Vec::new()) };
        let list =
            value.get_ref().as_array().ok_or_else(|| self.unlike(key, value, "texts in quotes between brackets, [\"..\", \"..\"]"))?;
        list.iter().map(|value| self.as_text(key, value)).collect()
    }

    fn as_text(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Text, Fault> {
        let text = value.get_ref().as_str().ok_or_else(|| self.unlike(key, value, "a text in quotes"))?;
        Ok(Spanned::new(value.span(), text.to_owned()))
    }

    /// A boolean, if the key is present.
    ///
    /// # Errors
    /// The value has another type.
    pub fn switch(&self, key: &str) -> Result<Option<Spanned<bool>>, Fault> {
        let switch = |value: &Spanned<DeValue<'_>>| {
            let is_on = value.get_ref().as_bool().ok_or_else(|| self.unlike(key, value, "true or false"))?;
            Ok(Spanned::new(value.span(), is_on))
        };
        self.entries.get(key).map(switch).transpose()
    }

    /// An integer within its range, if the key is present.
    ///
    /// # Errors
    /// The value has another type or is out of range.
    pub fn number(&self, key: &str, range: RangeInclusive<u32>) -> Result<Option<Spanned<u32>>, Fault> {
        self.quantity(key, range, "a whole number", integer)
    }

    /// A number of bytes within its range, as `1514` or `"1514b"`, if the key is present.
    ///
    /// # Errors
    /// The value has another type or is out of range.
    pub fn size(&self, key: &str, range: RangeInclusive<u32>) -> Result<Option<Spanned<u32>>, Fault> {
        let read = |value: &DeValue<'_>| {
            let written = value.as_str().map(|text| text.parse::<Bytes>().ok().and_then(|bytes| i64::try_from(bytes.0).ok()));
            written.unwrap_or_else(|| integer(value))
        };
        self.quantity(key, range, "a number of bytes, as 1514 or \"1514b\"", read)
    }

    fn quantity(
        &self,
        key: &str,
        range: RangeInclusive<u32>,
        what: &str,
        read: impl Fn(&DeValue<'_>) -> Option<i64>,
    ) -> Result<Option<Spanned<u32>>, Fault> {
        let Some(value) = self.entries.get(key) else { return Ok(None) };
        let legal = format!("legal range {} to {}", range.start(), range.end());
        let number = read(value.get_ref()).ok_or_else(|| self.unlike(key, value, format!("{what}, {legal}")))?;
        let number = u32::try_from(number).ok().filter(|number| range.contains(number));
        let number = number.ok_or_else(|| self.fault(value.span(), format!("{key} {}: {legal}", self.written(value))))?;
        Ok(Some(Spanned::new(value.span(), number)))
    }

    /// A number with a unit in quotes, as in `example`, or a bare number in the unit assumed by
    /// `V`. `legal` ends each message.
    ///
    /// # Errors
    /// The value has another type, or `V` cannot parse the number.
    pub fn with_unit<V: FromStr<Err: Display>>(&self, key: &str, example: &str, legal: &str) -> Result<Option<Spanned<V>>, Fault> {
        let Some(value) = self.entries.get(key) else { return Ok(None) };
        let bare = || integer(value.get_ref()).filter(|number| *number >= 0).map(|number| number.to_string());
        let expected = || format!("a whole number, or a number and its unit in quotes, as in {example}{legal}");
        let text = value.get_ref().as_str().map(str::to_owned).or_else(bare).ok_or_else(|| self.unlike(key, value, expected()))?;
        let read = text.parse().map_err(|error| self.fault(value.span(), format!("{key}: {error}{legal}")))?;
        Ok(Some(Spanned::new(value.span(), read)))
    }

    /// The error for a value of the wrong type.
    fn unlike(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: impl Display) -> Fault {
        self.fault(value.span(), format!("{key} {}: expected {expected}", self.written(value)))
    }

    /// A value as written in the file.
    fn written(&self, value: &Spanned<DeValue<'_>>) -> String {
        shown(self.text.get(value.span()).unwrap_or_default())
    }
}

fn integer(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn shown(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().chars().take(SHOWN).collect()
}

/// The syntax error of the TOML parser with its line.
fn not_toml(text: &str, error: &toml::de::Error) -> Fault {
    let place = error.span().unwrap_or(0..0);
    let start = text.get(..place.start).map_or(0, |before| before.rfind('\n').map_or(0, |end| end + 1));
    let line = shown(text.get(start..).unwrap_or_default());
    (place, format!("not legal TOML: {} in `{line}`", error.message()))
}
