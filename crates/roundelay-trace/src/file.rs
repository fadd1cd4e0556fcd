//! Files in TOML: serde reads them, and error messages have file, line, owner, key and legal
//! values.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::ops::Range;
use std::str::FromStr;

use roundelay::{Bytes, Duration, Fault, FlowConfig, Rate};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Location in the text, and the fault.
pub type Located = (Range<usize>, Fault);

pub use carried::custom;

mod carried;

/// A string with its location in the file.
pub type Text = Spanned<String>;

/// Maximum length of a file in bytes.
const MOST_BYTES: usize = 1 << 24;

/// Maximum length of any file of text, in bytes. Longer ones are most likely devices, or captures.
pub const LONGEST_TEXT: u64 = 64 << 20;

/// Reads all bytes of a file of text, up to [`LONGEST_TEXT`].
///
/// # Errors
/// The reader's error, or the file is longer.
pub fn read_text(file: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LONGEST_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST_TEXT {
        let megabytes = LONGEST_TEXT >> 20;
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("longer than {megabytes} MB, the limit for text"),
        ));
    }
    Ok(bytes)
}

/// Characters of a value shown in a message.
const SHOWN: usize = 60;

/// Positions of the keys and of the values of lists, by dotted path: `duration`, `source.0.rate`.
#[derive(Debug, Default)]
struct KeyPositions {
    spans: BTreeMap<String, Range<usize>>,
    /// Owners of keys: tables of a list that have a name, as `node 'web'`.
    owners: BTreeMap<String, String>,
}

impl KeyPositions {
    fn of(table: &DeTable<'_>) -> Self {
        let mut positions = Self::default();
        positions.note("", table);
        positions
    }

    /// The position of a key, or of its nearest parent in the file.
    fn nearest(&self, path: &str) -> Option<&Range<usize>> {
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
    fn owner(&self, path: &str) -> Option<&str> {
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

/// A file and the positions of its values.
#[derive(Debug)]
pub struct Reader<'a> {
    name: &'a str,
    text: &'a str,
    positions: KeyPositions,
}

impl<'a> Reader<'a> {
    /// Reads a file; `name` appears in messages.
    ///
    /// # Errors
    /// The file is not TOML, a key is unknown or missing, or a value is out of range.
    pub fn read<V: DeserializeOwned>(name: &'a str, text: &'a str) -> Result<(Self, V), Fault> {
        let (reader, table) = Self::parse(name, text)?;
        let value = reader.take(table)?;
        Ok((reader, value))
    }

    /// The reader and the file's table.
    ///
    /// # Errors
    /// The file is not TOML.
    pub fn parse(name: &'a str, text: &'a str) -> Result<(Self, Spanned<DeTable<'a>>), Fault> {
        let reader = Self {
            name,
            text,
            positions: KeyPositions::default(),
        };
        if text.len() > MOST_BYTES {
            let bytes = text.len();
            let legal = format!("up to {MOST_BYTES}");
            let fault = Fault::new(format!("{bytes} bytes, legal range {legal}"));
            return Err(fault.with_given(bytes).with_legal(legal).in_file(name, 0));
        }
        let table = DeTable::parse(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let first = text
                .get(..start)
                .map_or(0, |before| before.rfind('\n').map_or(0, |end| end + 1));
            let line = shown(text.get(first..).unwrap_or_default());
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

    /// Whether a value is written in the file.
    pub fn has(&self, path: &str) -> bool {
        self.positions.spans.contains_key(path)
    }

    /// The line of a key, or of its nearest parent; 0 if there is none.
    pub fn line(&self, path: &str) -> usize {
        self.positions
            .nearest(path)
            .map_or(0, |span| self.line_at(span.start))
    }

    /// The last key at or above a line.
    pub fn path(&self, line: usize) -> &str {
        let end = self
            .text
            .split_inclusive('\n')
            .take(line)
            .map(str::len)
            .sum::<usize>();
        end.checked_sub(1)
            .map(|at| self.path_at(at))
            .unwrap_or_default()
    }

    /// The last key that begins at or before a position; of two at one position the longer path.
    pub fn path_at(&self, at: usize) -> &str {
        let before = self
            .positions
            .spans
            .iter()
            .filter(|(_, span)| span.start <= at);
        before
            .max_by_key(|(path, span)| (span.start, path.len()))
            .map(|(path, _)| path.as_str())
            .unwrap_or_default()
    }

    /// A fault of a value, with its line; for a missing value, with the line of the enclosing
    /// table.
    pub fn at(&self, path: &str, fault: impl Into<Fault>) -> Fault {
        fault.into().in_file(self.name, self.line(path))
    }

    /// A fault of a location in the text.
    pub fn fault(&self, (place, fault): Located) -> Fault {
        fault.in_file(self.name, self.line_at(place.start))
    }

    /// The line of the byte at `at`, counted from 1.
    fn line_at(&self, at: usize) -> usize {
        1 + self
            .text
            .as_bytes()
            .iter()
            .take(at)
            .filter(|byte| **byte == b'\n')
            .count()
    }

    /// # Errors
    /// A key is unknown or missing, or a value is out of range.
    pub fn take<V: DeserializeOwned>(&self, table: Spanned<DeTable<'a>>) -> Result<V, Fault> {
        self.take_rest(&[], table, V::deserialize)
    }

    /// Reads the rest of a table, from which `keys` were read already.
    ///
    /// # Errors
    /// As [`Reader::take`]. For an unknown key, all keys are listed.
    pub fn take_rest<V>(
        &self,
        keys: &[&str],
        table: Spanned<DeTable<'a>>,
        read: impl FnOnce(toml::Deserializer<'a>) -> Result<V, toml::de::Error>,
    ) -> Result<V, Fault> {
        self.placed(keys, table, read)
            .map_err(|fault| self.fault(fault))
    }

    /// As [`Reader::take_rest`], with the location in place of the line.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn placed<V>(
        &self,
        keys: &[&str],
        table: Spanned<DeTable<'a>>,
        read: impl FnOnce(toml::Deserializer<'a>) -> Result<V, toml::de::Error>,
    ) -> Result<V, Located> {
        let span = table.span();
        let unknown: Vec<_> = table
            .get_ref()
            .keys()
            .map(|key| format!("unknown field `{}`", key.get_ref()))
            .collect();
        carried::clear();
        read(toml::Deserializer::from(table)).map_err(|error| {
            let place = error.span().unwrap_or(span);
            let mut fault = self.told(&place, error.message());
            // Only for a key of this table, not of a nested one.
            if !keys.is_empty() && unknown.iter().any(|key| error.message().starts_with(key)) {
                let others: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
                fault = fault.with_hint(&format!("; beside {}", others.join(", ")));
            }
            (place, fault)
        })
    }

    /// The fault of a value for which serde has this message, with the owner, the key and the
    /// value as written.
    fn told(&self, place: &Range<usize>, message: &str) -> Fault {
        // The place of a table begins with the brackets of its header, before the key.
        let is_header = self
            .text
            .get(..place.start)
            .is_some_and(|before| before.is_empty() || before.ends_with('\n'));
        let brackets = self
            .text
            .get(place.start..)
            .map_or(0, |text| text.len() - text.trim_start_matches('[').len());
        let of_list = self
            .positions
            .spans
            .iter()
            .find(|(_, span)| *span == place)
            .map(|(path, _)| path.as_str());
        let path = of_list
            .unwrap_or_else(|| self.path_at(place.start + if is_header { brackets } else { 0 }));
        let key = path
            .rsplit('.')
            .find(|part| part.parse::<usize>().is_err())
            .unwrap_or_default();
        let written = shown(self.text.get(place.clone()).unwrap_or_default());
        let is_of_value = self
            .positions
            .spans
            .get(path)
            .is_none_or(|span| span.start < place.start);
        let names_key = message
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with([' ', ':']));
        let lacks_key = is_of_value && !names_key && !message.contains(" field `");
        let fault = match (carried::take(message), Serde::of(message)) {
            // A range alone is one of the value as written.
            (Some(fault), _) if fault.given().is_none() && !names_key => fault
                .behind(format_args!("{key} {written}: "))
                .with_given(unquoted(&written)),
            (Some(fault), _) => keyed(fault, key, lacks_key),
            (None, Serde::OtherKind(expected)) => {
                Fault::expected(&written, in_words(key, expected))
                    .behind(format_args!("{key} "))
                    .with_given(unquoted(&written))
            }
            (None, Serde::Expected(legal)) => {
                let fault = Fault::wanted(legal).with_given(unquoted(&written));
                keyed(fault, key, lacks_key)
            }
            (None, Serde::Missing) => {
                let line = right_line(message, path, place.is_empty());
                Fault::new(message.to_owned() + &line)
            }
            (None, Serde::Unknown(name, known)) => {
                let fault = Fault::unknown(name, &known, |meant| {
                    let quoted = format!("`{name}`");
                    message.replacen(&quoted, &format!("{quoted}{meant}"), 1)
                });
                keyed(fault, key, lacks_key)
            }
            (None, Serde::Other) => keyed(message.into(), key, lacks_key),
        };
        match self.positions.owner(path) {
            Some(owner) => fault.behind(format_args!("{owner}: ")),
            None => fault,
        }
    }
}

/// The fault with the key before it, where it lacks the key.
fn keyed(fault: Fault, key: &str, lacks_key: bool) -> Fault {
    match lacks_key {
        true => fault.behind(format_args!("{key}: ")),
        false => fault,
    }
}

/// The text of a value in TOML, without quotes.
fn unquoted(written: &str) -> &str {
    written.trim_matches(['"', '\''])
}

/// The errors that serde makes itself, which have no other form than the message.
enum Serde<'a> {
    /// A value of another type than this.
    OtherKind(&'a str),
    /// A value of none of several types, which are these.
    Expected(&'a str),
    /// A key is missing.
    Missing,
    /// A key or a word that is none of these.
    Unknown(&'a str, Vec<&'a str>),
    Other,
}

impl<'a> Serde<'a> {
    fn of(message: &'a str) -> Self {
        let of_other_kind = message
            .strip_prefix("invalid type: ")
            .or_else(|| message.strip_prefix("invalid value: "));
        if let Some((_, expected)) = of_other_kind.and_then(|rest| rest.rsplit_once(", expected "))
        {
            return Self::OtherKind(expected);
        }
        if message.starts_with("missing field `") {
            return Self::Missing;
        }
        if let Some(expected) = message.strip_prefix("expected ") {
            return Self::Expected(expected);
        }
        let is_unknown =
            message.starts_with("unknown field `") || message.starts_with("unknown variant `");
        let mut names = message.split('`').skip(1).step_by(2);
        match names.next().filter(|_| is_unknown) {
            Some(name) => Self::Unknown(name, names.collect()),
            None => Self::Other,
        }
    }
}

/// The header of the table at `path` and a right line, for serde's message on a missing key.
fn right_line(message: &str, path: &str, is_top: bool) -> String {
    let (names, numbers): (Vec<_>, Vec<_>) = path
        .split('.')
        .partition(|part| part.parse::<usize>().is_err());
    let header = match names.join(".") {
        _ if is_top => String::new(),
        name if !numbers.is_empty() => format!(" in [[{name}]]"),
        name => format!(" in [{name}]"),
    };
    let key = message.split('`').nth(1).unwrap_or_default();
    let table = names.last().unwrap_or(&"");
    let value = |key: &str| {
        RIGHT_LINES
            .iter()
            .find(|(known, _)| *known == key)
            .map(|(_, value)| value)
    };
    let known = value(&format!("{table}.{key}")).or_else(|| value(key));
    header
        + &known
            .map(|value| format!(", as in {key} = {value}"))
            .unwrap_or_default()
}

/// A legal value for each key that a table must have; for keys of several tables with different
/// values, of the table too.
const RIGHT_LINES: [(&str, &str); 34] = [
    ("connections", "[{ messages = [\"> 300b\", \"< 14kb\"] }]"),
    ("discipline", "\"fq_codel\""),
    ("document", "\"40kb\""),
    ("duration", "\"10s\""),
    ("file", "\"flows.txt\""),
    ("flows", "[\"0.5 1500\"]"),
    ("from", "\"s0\""),
    ("interval", "\"4s\""),
    ("kind", "\"cbr\""),
    ("link.from", "\"left\""),
    ("link.to", "\"right\""),
    ("link_rate", "\"50mbit\""),
    ("match", "\"dst port 443\""),
    ("measure", "\"completion\""),
    ("name", "\"calls\""),
    ("node", "[{ name = \"all\", discipline = \"fifo\" }]"),
    ("object", "\"20kb\""),
    ("objects", "12"),
    ("off", "\"50ms\""),
    ("on", "\"50ms\""),
    ("port.from", "\"left\""),
    ("port.to", "\"right\""),
    ("rate", "\"10mbit\""),
    ("request", "500"),
    ("response", "\"4kb\""),
    ("segment", "\"2mb\""),
    ("size", "\"100kb\""),
    ("sizes", "[[3000, 0.5], [9000, 1.0]]"),
    ("template", "\"dumbbell\""),
    ("think", "\"1s\""),
    ("to", "\"r0\""),
    ("topology.file", "\"network.gml\""),
    ("utilisation", "0.7"),
    ("weight", "10"),
];

/// Serde's name for a type, in the words of a file's author.
fn in_words(key: &str, expected: &str) -> String {
    match expected {
        "a string" => "a text in quotes".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => format!("a list in brackets, or tables headed [[{key}]]"),
        "a map" => "a table".to_owned(),
        _ => expected.to_owned(),
    }
}

/// The first line of a value, cut to a length for messages.
fn shown(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .trim()
        .chars()
        .take(SHOWN)
        .collect()
}

/// Tables written as `[[key]]`. (Serde also accepts lists of values in place of tables.)
///
/// # Errors
/// The value is not a list of tables.
pub fn tables<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let tables = Vec::<Entry<T>>::deserialize(deserializer)?;
    Ok(tables.into_iter().map(|Entry(table)| table).collect())
}

/// A table, never a list of its values.
#[derive(Debug)]
pub struct Entry<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entry<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfMap<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OfMap<T> {
            type Value = Entry<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Entry)
            }
        }

        deserializer.deserialize_map(OfMap(PhantomData))
    }
}

/// A whole number in a legal range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole<const LEAST: u32, const MOST: u32>(pub u32);

impl<'de, const LEAST: u32, const MOST: u32> Deserialize<'de> for Whole<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Within<const LEAST: u32, const MOST: u32>;

        impl<const LEAST: u32, const MOST: u32> Visitor<'_> for Within<LEAST, MOST> {
            type Value = Whole<LEAST, MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number, legal range {LEAST} to {MOST}")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                let legal = u32::try_from(number)
                    .ok()
                    .filter(|number| (LEAST..=MOST).contains(number));
                legal
                    .map(Whole)
                    .ok_or_else(|| custom(Fault::of_range(format_args!("{LEAST} to {MOST}"))))
            }
        }

        deserializer.deserialize_any(Within)
    }
}

/// A number of bytes in a legal range, as `1514` or `"1514b"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size<const LEAST: u64, const MOST: u64>(pub u64);

impl<'de, const LEAST: u64, const MOST: u64> Deserialize<'de> for Size<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Within<const LEAST: u64, const MOST: u64>;

        impl<const LEAST: u64, const MOST: u64> Visitor<'_> for Within<LEAST, MOST> {
            type Value = Size<LEAST, MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "a number of bytes, as 1514 or \"1514b\", legal range {} to {}",
                    Bytes(LEAST),
                    Bytes(MOST)
                )
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                let legal = u64::try_from(number)
                    .ok()
                    .filter(|bytes| (LEAST..=MOST).contains(bytes));
                legal
                    .map(Size)
                    .ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                let bytes = text
                    .parse()
                    .ok()
                    .map(|Bytes(bytes)| bytes)
                    .filter(|bytes| (LEAST..=MOST).contains(bytes));
                bytes
                    .map(Size)
                    .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(Within)
    }
}

/// Bytes of the longest packet of a flow or link.
pub type PacketLen =
    Size<{ FlowConfig::MIN_MAX_PACKET_LEN as u64 }, { FlowConfig::MAX_PACKET_LEN as u64 }>;

impl PacketLen {
    /// The number of bytes.
    pub fn bytes(self) -> Option<u32> {
        u32::try_from(self.0).ok()
    }
}

/// A quantity with a unit.
pub trait Quantity: FromStr<Err: Into<Fault>> {
    /// An example for messages.
    const EXAMPLE: &'static str;
}

impl Quantity for Rate {
    const EXAMPLE: &'static str = "\"20mbit\"";
}

impl Quantity for Duration {
    const EXAMPLE: &'static str = "\"5ms\"";
}

/// A number with a unit in quotes, or a bare number in the unit assumed by `V`.
#[derive(Debug, Clone, Copy)]
pub struct WithUnit<V>(pub V);

impl<'de, V: Quantity> Deserialize<'de> for WithUnit<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfUnit<V>(PhantomData<V>);

        impl<V: Quantity> Visitor<'_> for OfUnit<V> {
            type Value = WithUnit<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "a whole number, or a number and its unit in quotes, as in {}",
                    V::EXAMPLE
                )
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                if number < 0 {
                    return Err(E::invalid_value(Unexpected::Signed(number), &self));
                }
                self.visit_str(&number.to_string())
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                text.parse().map(WithUnit).map_err(custom)
            }
        }

        deserializer.deserialize_any(OfUnit(PhantomData))
    }
}

/// A text in quotes that `V` can read.
///
/// # Errors
/// The value is not a text, or `V` cannot read the text.
pub fn quoted<'de, D: Deserializer<'de>, V: FromStr<Err: Into<Fault>>>(
    deserializer: D,
) -> Result<Option<V>, D::Error> {
    String::deserialize(deserializer)?
        .parse()
        .map(Some)
        .map_err(custom)
}

#[cfg(test)]
mod tests {
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
