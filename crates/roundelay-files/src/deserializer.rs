//! Hands TOML values to serde: one deserializer for tables, lists, texts, numbers and keys.
//!
//! The `toml` crate has one for each, and each is compiled again for every type that somebody reads,
//! together with the ways to read dates. Here a type's code is compiled once, and what a value is
//! instead of the expected one is found out in one place.

use std::fmt;
use std::ops::Range;
use std::vec::IntoIter;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, Expected, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use toml::Spanned;
use toml::de::{DeFloat, DeInteger, DeString, DeTable, DeValue};

/// Why a value could not be read, and the range of bytes in the text where the fault is, if known.
#[derive(Debug)]
pub struct Misread(Box<(String, Option<Range<usize>>)>);

impl Misread {
    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.0.0
    }

    /// The bytes of the text that the message is about.
    pub fn span(&self) -> Option<Range<usize>> {
        self.0.1.clone()
    }

    /// Sets the range, if the error has none from a value further in.
    fn within(mut self, span: Range<usize>) -> Self {
        self.0.1.get_or_insert(span);
        self
    }
}

/// What was read from a range. An error without a range gets this one.
fn located<V>(read: Result<V, Misread>, span: Range<usize>) -> Result<V, Misread> {
    read.map_err(|error| error.within(span))
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Misread {}

impl Error for Misread {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Box::new((message.to_string(), None)))
    }
}

/// A value of a TOML file, for serde.
#[derive(Debug)]
pub struct ValueDeserializer<'de> {
    given: Given<'de>,
    span: Range<usize>,
}

/// What a deserializer hands over.
#[derive(Debug)]
enum Given<'de> {
    Value(DeValue<'de>),
    /// An end of a [`Spanned`] value's range.
    Offset(usize),
}

impl<'de> From<Spanned<DeTable<'de>>> for ValueDeserializer<'de> {
    fn from(table: Spanned<DeTable<'de>>) -> Self {
        Self {
            span: table.span(),
            given: Given::Value(DeValue::Table(table.into_inner())),
        }
    }
}

impl<'de> From<Spanned<DeValue<'de>>> for ValueDeserializer<'de> {
    fn from(value: Spanned<DeValue<'de>>) -> Self {
        Self {
            span: value.span(),
            given: Given::Value(value.into_inner()),
        }
    }
}

impl<'de> ValueDeserializer<'de> {
    fn text(text: DeString<'de>, span: Range<usize>) -> Self {
        Self {
            given: Given::Value(DeValue::String(text)),
            span,
        }
    }

    /// The error of a value of another kind than the expected one.
    #[cold]
    fn other_kind(self, expected: &dyn Expected) -> Misread {
        let error = match &self.given {
            Given::Offset(offset) => {
                Misread::invalid_type(Unexpected::Unsigned(*offset as u64), expected)
            }
            Given::Value(DeValue::String(text)) => {
                Misread::invalid_type(Unexpected::Str(text), expected)
            }
            Given::Value(DeValue::Integer(number)) => match Whole::of(number) {
                Some(Whole::Signed(number)) => {
                    Misread::invalid_type(Unexpected::Signed(number), expected)
                }
                Some(Whole::Unsigned(number)) => {
                    Misread::invalid_type(Unexpected::Unsigned(number), expected)
                }
                None => too_large(number, expected),
            },
            Given::Value(DeValue::Float(number)) => match fraction(number) {
                Ok(number) => Misread::invalid_type(Unexpected::Float(number), expected),
                Err(error) => error,
            },
            Given::Value(DeValue::Boolean(value)) => {
                Misread::invalid_type(Unexpected::Bool(*value), expected)
            }
            Given::Value(DeValue::Datetime(_)) => {
                Misread::invalid_type(Unexpected::Other("a date or a time"), expected)
            }
            Given::Value(DeValue::Array(_)) => Misread::invalid_type(Unexpected::Seq, expected),
            Given::Value(DeValue::Table(_)) => Misread::invalid_type(Unexpected::Map, expected),
        };
        error.within(self.span)
    }

    /// A whole number, for a visitor of whole numbers or of fractions.
    fn whole<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        let Given::Value(DeValue::Integer(number)) = &self.given else {
            return match self.given {
                Given::Offset(offset) => visitor.visit_u64(offset as u64),
                Given::Value(_) => Err(self.other_kind(&visitor)),
            };
        };
        let read = match Whole::of(number) {
            Some(Whole::Signed(number)) => visitor.visit_i64(number),
            Some(Whole::Unsigned(number)) => visitor.visit_u64(number),
            None => Err(too_large(number, &visitor)),
        };
        located(read, self.span)
    }

    /// A fraction, or a whole number in its place.
    fn number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        let Given::Value(DeValue::Float(number)) = &self.given else {
            return self.whole(visitor);
        };
        let read = fraction(number).and_then(|number| visitor.visit_f64(number));
        located(read, self.span)
    }

    /// A text, for a visitor of texts.
    fn string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        let Given::Value(DeValue::String(text)) = self.given else {
            return Err(self.other_kind(&visitor));
        };
        let read = match text {
            DeString::Borrowed(text) => visitor.visit_borrowed_str(text),
            DeString::Owned(text) => visitor.visit_string(text),
        };
        located(read, self.span)
    }

    /// A table, or a list of a structure's fields, for a visitor that takes both.
    fn fields<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        let read = match self.given {
            Given::Value(DeValue::Table(table)) => visitor.visit_map(Entries::of(table)),
            Given::Value(DeValue::Array(list)) => visitor.visit_seq(List(list.into_iter())),
            _ => return Err(self.other_kind(&visitor)),
        };
        located(read, self.span)
    }
}

impl<'de> Deserializer<'de> for ValueDeserializer<'de> {
    type Error = Misread;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        match self.given {
            Given::Value(DeValue::String(_)) => self.string(visitor),
            Given::Value(DeValue::Boolean(_)) => self.deserialize_bool(visitor),
            Given::Value(DeValue::Float(_) | DeValue::Integer(_)) | Given::Offset(_) => {
                self.number(visitor)
            }
            Given::Value(DeValue::Array(_) | DeValue::Table(_)) => self.fields(visitor),
            Given::Value(DeValue::Datetime(_)) => Err(self.other_kind(&visitor)),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        let Given::Value(DeValue::Boolean(value)) = self.given else {
            return Err(self.other_kind(&visitor));
        };
        located(visitor.visit_bool(value), self.span)
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        self.whole(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        self.whole(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        self.whole(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        self.whole(visitor)
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        self.whole(visitor)
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        self.whole(visitor)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        self.whole(visitor)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        self.whole(visitor)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        self.number(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        self.number(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        self.string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        self.string(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        self.string(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        let Given::Value(DeValue::Array(list)) = self.given else {
            return Err(self.other_kind(&visitor));
        };
        located(visitor.visit_seq(List(list.into_iter())), self.span)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, Misread> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        let Given::Value(DeValue::Table(table)) = self.given else {
            return Err(self.other_kind(&visitor));
        };
        located(visitor.visit_map(Entries::of(table)), self.span)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misread> {
        if serde_spanned::de::is_spanned(name) {
            return visitor.visit_map(Entries::of_spanned(self, fields));
        }
        self.fields(visitor)
    }

    // A key that is there has a value, so None is a key that is missing.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misread> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misread> {
        let span = self.span.clone();
        let read = Variant::of(self).and_then(|variant| visitor.visit_enum(variant));
        located(read, span)
    }

    forward_to_deserialize_any! {
        u128 i128 char bytes byte_buf unit unit_struct tuple_struct ignored_any
    }
}

/// A whole number of a file.
enum Whole {
    Signed(i64),
    Unsigned(u64),
}

impl Whole {
    /// None for a number of more than 64 bits.
    fn of(number: &DeInteger<'_>) -> Option<Self> {
        let digits = number.as_str();
        match i64::from_str_radix(digits, number.radix()) {
            Ok(number) => Some(Self::Signed(number)),
            Err(_) => u64::from_str_radix(digits, number.radix())
                .ok()
                .map(Self::Unsigned),
        }
    }
}

fn too_large(number: &DeInteger<'_>, expected: &dyn Expected) -> Misread {
    let number = format!("integer `{}`", number.as_str());
    Misread::invalid_value(Unexpected::Other(&number), expected)
}

fn fraction(number: &DeFloat<'_>) -> Result<f64, Misread> {
    number
        .as_str()
        .parse()
        .map_err(|_| Misread::custom("floating-point number overflowed"))
}

/// The entries of a table, or the parts of a [`Spanned`] value.
struct Entries<'de> {
    entries: IntoIter<(ValueDeserializer<'de>, ValueDeserializer<'de>)>,
    /// The value behind the last key.
    value: Option<ValueDeserializer<'de>>,
}

impl<'de> Entries<'de> {
    fn of(table: DeTable<'de>) -> Self {
        let mut entries = Vec::new();
        for (key, value) in table {
            let span = key.span();
            let key = ValueDeserializer::text(key.into_inner(), span);
            entries.push((key, value.into()));
        }
        Self {
            entries: entries.into_iter(),
            value: None,
        }
    }

    /// [`Spanned`] asks for a structure of the range's start, its end, and the value.
    fn of_spanned(value: ValueDeserializer<'de>, fields: &'static [&'static str]) -> Self {
        let span = value.span.clone();
        let [start, end] = [span.start, span.end].map(|offset| ValueDeserializer {
            given: Given::Offset(offset),
            span: span.clone(),
        });
        let parts = [start, end, value];
        let mut entries = Vec::new();
        for (field, part) in fields.iter().zip(parts) {
            let key = ValueDeserializer::text(DeString::Borrowed(field), span.clone());
            entries.push((key, part));
        }
        Self {
            entries: entries.into_iter(),
            value: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Misread;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Misread> {
        let Some((key, value)) = self.entries.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Misread> {
        let Some(value) = self.value.take() else {
            return Err(Misread::custom("a value was asked for before its key"));
        };
        let span = value.span.clone();
        located(seed.deserialize(value), span)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// The values of a list.
struct List<'de>(IntoIter<Spanned<DeValue<'de>>>);

impl<'de> SeqAccess<'de> for List<'de> {
    type Error = Misread;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Misread> {
        let Some(value) = self.0.next() else {
            return Ok(None);
        };
        let span = value.span();
        let read = seed.deserialize(ValueDeserializer::from(value));
        located(read.map(Some), span)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// One of several words, alone or as the key of a table with one entry.
struct Variant<'de> {
    name: ValueDeserializer<'de>,
    content: Option<ValueDeserializer<'de>>,
}

impl<'de> Variant<'de> {
    fn of(value: ValueDeserializer<'de>) -> Result<Self, Misread> {
        match value.given {
            Given::Value(DeValue::String(_)) => Ok(Self {
                name: value,
                content: None,
            }),
            Given::Value(DeValue::Table(table)) if table.len() == 1 => {
                let mut entries = Entries::of(table);
                let (name, content) = entries.entries.next().expect("a table with one entry");
                Ok(Self {
                    name,
                    content: Some(content),
                })
            }
            Given::Value(DeValue::Table(_)) => Err(Misread::custom("wanted exactly 1 element")),
            _ => Err(Misread::custom("wanted string or table")),
        }
    }
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Misread;
    type Variant = Content<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Content<'de>), Misread> {
        let name = seed.deserialize(self.name)?;
        Ok((name, Content(self.content)))
    }
}

/// What stands behind a variant's name. Nothing for a word alone.
struct Content<'de>(Option<ValueDeserializer<'de>>);

impl<'de> Content<'de> {
    fn needed(self, expected: &dyn Expected) -> Result<ValueDeserializer<'de>, Misread> {
        match self.0 {
            Some(content) => Ok(content),
            None => Err(Misread::invalid_type(Unexpected::UnitVariant, expected)),
        }
    }
}

impl<'de> VariantAccess<'de> for Content<'de> {
    type Error = Misread;

    fn unit_variant(self) -> Result<(), Misread> {
        match self.0 {
            None => Ok(()),
            Some(content) => match &content.given {
                Given::Value(DeValue::Table(table)) if table.is_empty() => Ok(()),
                Given::Value(DeValue::Array(list)) if list.is_empty() => Ok(()),
                _ => Err(content.other_kind(&"the word alone")),
            },
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Misread> {
        seed.deserialize(self.needed(&"newtype variant")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Misread> {
        self.needed(&"tuple variant")?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misread> {
        self.needed(&"struct variant")?.fields(visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use super::*;

    fn read<V: DeserializeOwned>(text: &str) -> Result<V, Misread> {
        V::deserialize(ValueDeserializer::from(DeTable::parse(text).unwrap()))
    }

    /// A message, and the text that it is about.
    fn fault<V: DeserializeOwned + fmt::Debug>(text: &str) -> (String, &str) {
        let error = read::<V>(text).unwrap_err();
        (error.to_string(), &text[error.span().expect("a span")])
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Word,
        Number(u8),
        Pair(u8, u8),
        Table { key: u8 },
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct All {
        text: String,
        flag: bool,
        small: u8,
        fraction: f64,
        whole: f64,
        large: u64,
        hex: i64,
        none: Option<u8>,
        list: Vec<(u8, String)>,
        map: BTreeMap<String, Option<u8>>,
        kinds: Vec<Kind>,
    }

    #[test]
    fn every_kind_of_value_is_read() {
        let text = "text = 'a'\nflag = true\nsmall = 7\nfraction = 1.5\nwhole = 2\n\
            large = 18_446_744_073_709_551_615\nhex = 0xff\nlist = [[1, 'b'], [2, \"c\\n\"]]\n\
            kinds = ['word', { word = {} }, { number = 3 }, { pair = [4, 5] }, { table = { key = 6 } }]\n\
            [map]\nx = 1\n'y z' = 2\n";
        let map = [("x", 1), ("y z", 2)].map(|(key, value)| (key.to_owned(), Some(value)));
        let expected = All {
            text: "a".to_owned(),
            flag: true,
            small: 7,
            fraction: 1.5,
            whole: 2.0,
            large: u64::MAX,
            hex: 255,
            none: None,
            list: vec![(1, "b".to_owned()), (2, "c\n".to_owned())],
            map: map.into(),
            kinds: vec![
                Kind::Word,
                Kind::Word,
                Kind::Number(3),
                Kind::Pair(4, 5),
                Kind::Table { key: 6 },
            ],
        };
        assert_eq!(read::<All>(text).unwrap(), expected);
        let smaller = text.replace("18_446_744_073_709_551_615", "1");
        assert_eq!(
            read::<toml::Table>(&smaller).unwrap(),
            smaller.parse().unwrap()
        );
    }

    /// The same words as with the deserializers of the `toml` crate, at the same range.
    #[test]
    fn faults_have_the_words_and_the_range_of_toml() {
        fn same<V: DeserializeOwned + fmt::Debug>(text: &str) {
            let theirs = toml::from_str::<V>(text).unwrap_err();
            let span = theirs.span().expect("a span");
            let expected = (theirs.message().to_owned(), &text[span]);
            assert_eq!(fault::<V>(text), expected, "{text}");
        }
        type Map<V> = BTreeMap<String, V>;
        for value in [
            "'a'",
            "1",
            "-1",
            "300",
            "1.5",
            "true",
            "[1]",
            "{ a = 1 }",
            "9223372036854775808",
        ] {
            let text = format!("ok = {value}\n");
            if read::<Map<u8>>(&text).is_err() {
                same::<Map<u8>>(&text);
            }
            if read::<Map<bool>>(&text).is_err() {
                same::<Map<bool>>(&text);
            }
            if read::<Map<String>>(&text).is_err() {
                same::<Map<String>>(&text);
            }
            if read::<Map<f64>>(&text).is_err() {
                same::<Map<f64>>(&text);
            }
            if read::<Map<Vec<u8>>>(&text).is_err() {
                same::<Map<Vec<u8>>>(&text);
            }
            if read::<Map<Map<u8>>>(&text).is_err() {
                same::<Map<Map<u8>>>(&text);
            }
            same::<Map<Vec<String>>>(&text);
            same::<Map<(u8, u8)>>(&text);
            same::<Map<All>>(&text);
        }
        same::<Map<Kind>>("kind = 'other'\n");
        same::<Map<Kind>>("kind = 3\n");
        same::<Map<Kind>>("kind = 'number'\n");
        same::<Map<Kind>>("kind = { number = 'x' }\n");
        same::<Map<All>>("\n[all]\nwrong = 1\n");
        same::<All>("text = 'a'\n");
    }

    #[test]
    fn values_have_their_ranges() {
        #[derive(Debug, Deserialize)]
        struct File {
            a: Spanned<u8>,
            b: Vec<Spanned<String>>,
        }
        let file: File = read("a = 1\nb = ['c', 'd']\n").unwrap();
        assert_eq!((file.a.span(), *file.a.get_ref()), (4..5, 1));
        assert_eq!(
            (file.b[1].span(), file.b[1].get_ref().as_str()),
            (16..19, "d")
        );
        assert_eq!(
            fault::<File>("a = 'x'\nb = []\n"),
            ("invalid type: string \"x\", expected u8".to_owned(), "'x'")
        );
    }

    #[test]
    fn a_number_of_more_than_64_bits_and_a_date_are_refused() {
        type Map<V> = BTreeMap<String, V>;
        let expected = "invalid value: integer `18446744073709551616`, expected u8";
        assert_eq!(
            fault::<Map<u8>>("a = 18446744073709551616"),
            (expected.to_owned(), "18446744073709551616")
        );
        let expected = "invalid type: a date or a time, expected a string";
        assert_eq!(
            fault::<Map<String>>("a = 1979-05-27"),
            (expected.to_owned(), "1979-05-27")
        );
    }
}
