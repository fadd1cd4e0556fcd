//! Reads lists of tables, written as `[[key]]`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Reads tables written as `[[key]]`. Serde would also accept a list of a table's values, but
/// [`Entry`] does not.
///
/// # Errors
/// The value is not a list of tables.
pub fn tables<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let tables = Vec::<Entry<T>>::deserialize(deserializer)?;
    Ok(tables.into_iter().map(|Entry(table)| table).collect())
}

/// A table. A list of the table's values is an error.
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
