//! Units in `[run]` tables: text such as `1ms` or `20mbit`, parsed to the field's type.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

fn parsed<V: FromStr<Err: Display>, E: Error>(text: &str) -> Result<V, E> {
    text.parse()
        .map_err(|error| E::custom(format!("{text}: {error}")))
}

/// A required value.
pub(super) fn read<'de, D: Deserializer<'de>, V: FromStr<Err: Display>>(
    deserializer: D,
) -> Result<V, D::Error> {
    parsed(&String::deserialize(deserializer)?)
}

/// An optional value.
pub(super) fn some<'de, D: Deserializer<'de>, V: FromStr<Err: Display>>(
    deserializer: D,
) -> Result<Option<V>, D::Error> {
    read(deserializer).map(Some)
}

/// A list of values.
pub(super) fn list<'de, D: Deserializer<'de>, V: FromStr<Err: Display>>(
    deserializer: D,
) -> Result<Vec<V>, D::Error> {
    Vec::<String>::deserialize(deserializer)?
        .iter()
        .map(|text| parsed(text))
        .collect()
}
