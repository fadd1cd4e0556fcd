//! Columns for tables: a name, and values in one of a few types.

use bytes::Bytes;
use roundelay::Instant;

/// Rows per batch, except in the last. They take a few megabytes of memory, and are enough for
/// readers of Parquet to skip batches.
pub(crate) const GROUP_ROWS: usize = 128 * 1024;

/// A named column.
#[derive(Debug)]
pub struct Column {
    pub(crate) name: &'static str,
    pub(crate) values: Values,
}

/// A column's values.
#[derive(Debug)]
pub enum Cells<'a> {
    /// Signed numbers: times in nanoseconds or picoseconds, as the column's name says.
    Signed(&'a [i64]),
    /// Signed numbers or nothing.
    OptionalSigned(&'a [Option<i64>]),
    /// 32-bit unsigned numbers.
    Small(&'a [u32]),
    /// Unsigned numbers.
    Unsigned(&'a [u64]),
    /// Unsigned numbers or nothing.
    OptionalUnsigned(&'a [Option<u64>]),
    /// Floating-point numbers.
    Numbers(&'a [f64]),
    /// Floating-point numbers or nothing.
    OptionalNumbers(&'a [Option<f64>]),
    /// True or false.
    Flags(&'a [bool]),
    /// Texts.
    Texts(Vec<&'a str>),
}

/// A column's values, in one of the types used here.
#[derive(Debug)]
pub(crate) enum Values {
    /// Ascending instants, stored as differences. Nanoseconds or picoseconds, according to the
    /// column's name.
    Times(Vec<i64>),
    OptionalTimes(Vec<Option<i64>>),
    /// Signed numbers in any order.
    #[cfg(feature = "parquet")]
    Wholes(Vec<i64>),
    /// Unsigned, stored in the bits of Parquet's signed type.
    Small(Vec<u32>),
    Counts(Vec<u64>),
    OptionalCounts(Vec<Option<u64>>),
    Numbers(Vec<f64>),
    OptionalNumbers(Vec<Option<f64>>),
    Flags(Vec<bool>),
    /// UTF-8. Rows share the bytes of repeated names.
    Texts(Vec<Bytes>),
}

/// Each type of values has one variant.
macro_rules! variants {
    ($($type:ty => $variant:ident,)*) => {
        $(impl From<Vec<$type>> for Values {
            fn from(values: Vec<$type>) -> Self {
                Self::$variant(values)
            }
        })*
    };
}

variants! {
    i64 => Times,
    Option<i64> => OptionalTimes,
    u32 => Small,
    u64 => Counts,
    Option<u64> => OptionalCounts,
    f64 => Numbers,
    Option<f64> => OptionalNumbers,
    bool => Flags,
    Bytes => Texts,
}

impl From<Vec<&str>> for Values {
    fn from(values: Vec<&str>) -> Self {
        Self::Texts(values.into_iter().map(shared).collect())
    }
}

impl Column {
    /// A value for each row.
    pub(crate) fn of<R, V>(
        name: &'static str,
        rows: impl IntoIterator<Item = R>,
        value: impl FnMut(R) -> V,
    ) -> Self
    where
        Values: From<Vec<V>>,
    {
        Self {
            name,
            values: rows.into_iter().map(value).collect::<Vec<V>>().into(),
        }
    }

    /// The column's name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The values.
    pub fn cells(&self) -> Cells<'_> {
        match &self.values {
            Values::Times(values) => Cells::Signed(values),
            #[cfg(feature = "parquet")]
            Values::Wholes(values) => Cells::Signed(values),
            Values::OptionalTimes(values) => Cells::OptionalSigned(values),
            Values::Small(values) => Cells::Small(values),
            Values::Counts(values) => Cells::Unsigned(values),
            Values::OptionalCounts(values) => Cells::OptionalUnsigned(values),
            Values::Numbers(values) => Cells::Numbers(values),
            Values::OptionalNumbers(values) => Cells::OptionalNumbers(values),
            Values::Flags(values) => Cells::Flags(values),
            Values::Texts(values) => Cells::Texts(
                values
                    .iter()
                    .map(|text| str::from_utf8(text).unwrap_or_default())
                    .collect(),
            ),
        }
    }
}

/// Picoseconds since the start, as in [`Values::Times`].
pub(crate) fn picos(at: Instant) -> i64 {
    at.as_picos().cast_signed()
}

/// A text for [`Values::Texts`].
pub(crate) fn shared(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}
