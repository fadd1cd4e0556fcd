//! Reads TOML files through serde. Error messages give file, line, owner, key and legal values.

use std::ops::Range;

use roundelay::Fault;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::carried;
use crate::deserializer::{Misread, ValueDeserializer};
use crate::positions::KeyPositions;
use crate::serde_message::{SerdeMessage, header, hint_for_missing_key, in_words, is_index};

/// A location in the text, in bytes, and the fault there.
pub type Located = (Range<usize>, Fault);

/// A string with its location in the file.
pub type Text = Spanned<String>;

/// How many characters of a value a message shows.
const SHOWN: usize = 60;

/// A file, and where its values stand.
#[derive(Debug)]
pub struct Reader<'a> {
    name: &'a str,
    text: &'a str,
    positions: KeyPositions,
}

impl<'a> Reader<'a> {
    /// Reads a file. Its `name` appears in messages.
    ///
    /// # Errors
    /// The file is not TOML, a key is unknown or missing, or a value is out of range.
    pub fn read<V: DeserializeOwned>(name: &'a str, text: &'a str) -> Result<(Self, V), Fault> {
        let (reader, table) = Self::parse(name, text)?;
        let value = reader.take(table)?;
        Ok((reader, value))
    }

    /// Parses a file, and returns its reader and its table.
    ///
    /// # Errors
    /// The file is not TOML.
    pub fn parse(name: &'a str, text: &'a str) -> Result<(Self, Spanned<DeTable<'a>>), Fault> {
        let reader = Self {
            name,
            text,
            positions: KeyPositions::default(),
        };
        let table = DeTable::parse(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let before = text.get(..start).unwrap_or_default();
            let line_start = before.rfind('\n').map_or(0, |end| end + 1);
            let line = shown(text.get(line_start..).unwrap_or_default());
            let message = format!("not legal TOML: {} in `{line}`", error.message());
            reader.fault((start..start, message.into()))
        })?;
        Ok((
            Self {
                positions: KeyPositions::of(table.get_ref()),
                ..reader
            },
            table,
        ))
    }

    /// The file's name in messages.
    pub const fn name(&self) -> &'a str {
        self.name
    }

    /// Whether the file has a value at this path.
    pub fn has(&self, path: &str) -> bool {
        self.positions.spans.contains_key(path)
    }

    /// The line of a key, or of its nearest parent if the file does not have the key. 0 if it has
    /// neither.
    pub fn line(&self, path: &str) -> usize {
        self.positions
            .nearest(path)
            .map_or(0, |span| self.line_at(span.start))
    }

    /// The path of the last key at or above a line. Empty if there is none.
    pub fn path(&self, line: usize) -> &str {
        let mut end = 0;
        for line in self.text.split_inclusive('\n').take(line) {
            end += line.len();
        }
        match end.checked_sub(1) {
            Some(at) => self.path_at(at),
            None => "",
        }
    }

    /// The path of the last key that begins at or before a position. If two begin there, the longer
    /// path counts. Empty if there is none.
    pub fn path_at(&self, at: usize) -> &str {
        let mut last = "";
        let mut last_rank = (0, 0);
        for (path, span) in &self.positions.spans {
            let rank = (span.start, path.len());
            if span.start <= at && rank >= last_rank {
                last = path;
                last_rank = rank;
            }
        }
        last
    }

    /// Takes a value that must be a table.
    ///
    /// # Errors
    /// The value of `key` is no table.
    pub fn table(
        &self,
        key: &str,
        value: Spanned<DeValue<'a>>,
    ) -> Result<Spanned<DeTable<'a>>, Fault> {
        let span = value.span();
        match value.into_inner() {
            DeValue::Table(table) => Ok(Spanned::new(span, table)),
            _ => {
                let fault = Fault::wanted(format_args!("a table, as in [{key}]"));
                Err(self.at(key, fault))
            }
        }
    }

    /// Adds file, line and key to a value's fault. A missing value gets the line of the enclosing
    /// table.
    pub fn at(&self, path: &str, fault: impl Into<Fault>) -> Fault {
        self.keyed(path, fault.into())
            .in_file(self.name, self.line(path))
    }

    /// Adds the key to a fault, and the named table that has the key.
    fn keyed(&self, path: &str, fault: Fault) -> Fault {
        if path.is_empty() {
            return fault;
        }
        fault.at_path(path, self.positions.owner(path))
    }

    /// Adds the file's name and line to a fault at a location in the text.
    pub fn fault(&self, (span, fault): Located) -> Fault {
        fault.in_file(self.name, self.line_at(span.start))
    }

    /// The line of the byte at `at`, counted from 1.
    fn line_at(&self, at: usize) -> usize {
        let mut line = 1;
        for byte in self.text.bytes().take(at) {
            line += usize::from(byte == b'\n');
        }
        line
    }

    /// Reads a table.
    ///
    /// # Errors
    /// A key is unknown or missing, or a value is out of range.
    pub fn take<V: DeserializeOwned>(&self, table: Spanned<DeTable<'a>>) -> Result<V, Fault> {
        self.take_rest(&[], table, V::deserialize)
    }

    /// Reads what is left of a table when `keys` have been read already.
    ///
    /// # Errors
    /// The same as for [`Reader::take`]. If a key is unknown, the message lists all keys.
    pub fn take_rest<V>(
        &self,
        keys: &[&str],
        table: Spanned<DeTable<'a>>,
        read: impl FnOnce(ValueDeserializer<'a>) -> Result<V, Misread>,
    ) -> Result<V, Fault> {
        self.take_rest_located(keys, table, read)
            .map_err(|fault| self.fault(fault))
    }

    /// Like [`Reader::take_rest`], but an error comes with its location rather than its line.
    ///
    /// # Errors
    /// The same as for [`Reader::take`].
    pub fn take_rest_located<V>(
        &self,
        keys: &[&str],
        table: Spanned<DeTable<'a>>,
        read: impl FnOnce(ValueDeserializer<'a>) -> Result<V, Misread>,
    ) -> Result<V, Located> {
        let table_span = table.span();
        // Reading consumes the table, so we first note how serde would refuse each of its keys.
        let mut unknown = Vec::new();
        for key in table.get_ref().keys() {
            unknown.push(format!("unknown field `{}`", key.get_ref()));
        }
        carried::clear();
        read(ValueDeserializer::from(table)).map_err(|error| {
            let span = error.span().unwrap_or(table_span);
            let mut fault = self.fault_of_serde(&span, error.message());
            // The hint is about this table, so a nested table's key gets none.
            if !keys.is_empty() && unknown.iter().any(|key| error.message().starts_with(key)) {
                let others: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
                fault = fault.with_hint(&format!("; beside {}", others.join(", ")));
            }
            (span, fault)
        })
    }

    /// The path of the key or value that fills a span.
    fn path_of(&self, span: &Range<usize>) -> Option<&str> {
        for (path, own) in &self.positions.spans {
            if own == span {
                return Some(path);
            }
        }
        None
    }

    /// Makes a fault from serde's message about a value. It has the owner, the key and the value as
    /// written.
    fn fault_of_serde(&self, span: &Range<usize>, message: &str) -> Fault {
        let KeyAt {
            path,
            key,
            is_listed,
            is_of_value,
            written,
        } = self.key_at(span);
        // If a key is unknown or missing, serde's message already quotes it.
        let after_key = message.strip_prefix(key);
        let names_key = after_key.is_some_and(|rest| rest.starts_with([' ', ':']));
        let needs_key = is_of_value && !names_key && !message.contains(" field `");
        // Our own faults pass through serde as text, so we take them from where they were left.
        let fault = match (carried::take(message), SerdeMessage::of(message)) {
            // If a fault has only a range, that range is about the value as written.
            (Some(fault), _) if fault.given().is_none() && !names_key => fault
                .behind(format_args!("{key} {written}: "))
                .with_given(unquoted(&written)),
            (Some(fault), _) => behind_key(fault, key, needs_key),
            (None, SerdeMessage::OtherKind(expected)) => {
                let expected = in_words(&header(path), expected, is_listed);
                Fault::expected(&written, expected)
                    .behind(format_args!("{key} "))
                    .with_given(unquoted(&written))
            }
            (None, SerdeMessage::Expected(legal)) => {
                let fault = Fault::wanted(legal).with_given(unquoted(&written));
                behind_key(fault, key, needs_key)
            }
            (None, SerdeMessage::Missing) => {
                let line = hint_for_missing_key(message, path, span.is_empty());
                Fault::new(message.to_owned() + &line)
            }
            (None, SerdeMessage::Unknown(name, known)) => {
                let fault = Fault::unknown(name, &known, |meant| {
                    let quoted = format!("`{name}`");
                    message
                        .replacen("unknown variant", "unknown value", 1)
                        .replacen(&quoted, &format!("{quoted}{meant}"), 1)
                });
                behind_key(fault, key, needs_key)
            }
            (None, SerdeMessage::Other) => behind_key(message.into(), key, needs_key),
        };
        let fault = match self.positions.owner(path) {
            Some(owner) => fault.behind(format_args!("{owner}: ")),
            None => fault,
        };
        self.keyed(path, fault)
    }

    /// Finds the key that a span in serde's error belongs to. The span covers a key, its value or a
    /// table.
    fn key_at(&self, span: &Range<usize>) -> KeyAt<'_> {
        // A table's span begins with the brackets in its header, so its key comes after them.
        let before = self.text.get(..span.start);
        let is_header = before.is_some_and(|text| text.is_empty() || text.ends_with('\n'));
        let rest = self.text.get(span.start..).unwrap_or_default();
        let brackets = rest.len() - rest.trim_start_matches('[').len();
        let path = match self.path_of(span) {
            Some(path) => path,
            None if is_header => self.path_at(span.start + brackets),
            None => self.path_at(span.start),
        };
        let mut is_listed = false;
        let mut key = "";
        for part in path.rsplit('.') {
            if !is_index(part) {
                key = part;
                break;
            }
            is_listed = true;
        }
        // A value stands behind its key, so its span begins later.
        let key_span = self.positions.spans.get(path);
        let is_of_value = key_span.is_none_or(|key| key.start < span.start);
        KeyAt {
            path,
            key,
            is_listed,
            is_of_value,
            written: shown(self.text.get(span.clone()).unwrap_or_default()),
        }
    }
}

/// Where in a file serde found an error.
struct KeyAt<'a> {
    /// The dotted path, as `source.0.rate`.
    path: &'a str,
    /// The last name in the path.
    key: &'a str,
    /// Whether the path ends at a value in a list.
    is_listed: bool,
    /// Whether the span covers a value, and not the key itself.
    is_of_value: bool,
    /// What the file says there, cut for messages.
    written: String,
}

/// Puts the key before the message, if the message does not have it.
fn behind_key(fault: Fault, key: &str, needs_key: bool) -> Fault {
    match needs_key {
        true => fault.behind(format_args!("{key}: ")),
        false => fault,
    }
}

/// A value's TOML text without quotes.
fn unquoted(written: &str) -> &str {
    written.trim_matches(['"', '\''])
}

/// A value's first line, cut to [`SHOWN`] characters so that messages stay short.
fn shown(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .trim()
        .chars()
        .take(SHOWN)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    const TEXT: &str = "a = 1\n[b]\nc = { d = 2 }\n[[e]]\nf = 3\n\n[[e]]\nf = 4\n";

    #[test]
    fn keys_have_lines_and_lines_have_keys() {
        let (reader, _) = Reader::parse("", TEXT).unwrap();
        let lines = ["a", "b.c", "b.c.d", "e.0.f", "e.1", "e.1.f", "e.1.g", "x.y"]
            .map(|path| reader.line(path));
        assert_eq!(lines, [1, 3, 3, 5, 7, 8, 7, 0]);
        assert_eq!(
            [1, 5, 6, 8].map(|line| reader.path(line)),
            ["a", "e.0.f", "e.0.f", "e.1.f"]
        );
    }

    #[test]
    fn a_missing_key_has_its_table_and_a_right_line() {
        #[derive(Debug, Deserialize)]
        #[allow(dead_code, reason = "only read")]
        struct File {
            duration: Option<u8>,
            link: Vec<Link>,
            topology: Option<Link>,
        }
        #[derive(Debug, Deserialize)]
        #[allow(dead_code, reason = "only read")]
        struct Link {
            rate: String,
            other: Option<u8>,
        }
        let cases = [
            ("[topology]\nrate = ''\n", "f:1: missing field `link`"),
            (
                "link = []\n\n[topology]\nother = 1\n",
                "f:3: missing field `rate` in [topology], as in rate = \"10mbit\"",
            ),
            (
                "\n[[link]]\nother = 1\n",
                "f:2: missing field `rate` in [[link]], as in rate = \"10mbit\"",
            ),
            (
                "link = [{ rate = '' },\n{ other = 1 }]",
                "f:2: missing field `rate` in [[link]], as in rate = \"10mbit\"",
            ),
            (
                "[[link]]\nname = 'up'\n",
                "f:1: link 'up': missing field `rate` in [[link]], as in rate = \"10mbit\"",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(
                Reader::read::<File>("f", text).unwrap_err().to_string(),
                expected
            );
        }
    }
}
