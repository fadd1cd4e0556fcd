//! Whole numbers and byte counts with a legal range.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use roundelay::{Bytes, Fault, FlowConfig};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use crate::custom;

/// Reads a whole number, for `deserialize_with`. The legal range is only for messages, when the
/// value is not a whole number or does not fit `V`. Callers check it, because their error names the
/// key's owner. [`Whole`] checks its range itself.
///
/// # Errors
/// The value is not a whole number, or does not fit `V`.
pub fn whole<'de, D: Deserializer<'de>, V: TryFrom<u64>, const LEAST: u64, const MOST: u64>(
    deserializer: D,
) -> Result<V, D::Error> {
    deserializer.deserialize_any(OfType::<V, LEAST, MOST>(PhantomData))
}

/// Like [`whole`], for an optional value.
///
/// # Errors
/// The value is not a whole number, or does not fit `V`.
pub fn some_whole<'de, D: Deserializer<'de>, V: TryFrom<u64>, const LEAST: u64, const MOST: u64>(
    deserializer: D,
) -> Result<Option<V>, D::Error> {
    whole::<D, V, LEAST, MOST>(deserializer).map(Some)
}

struct OfType<V, const LEAST: u64, const MOST: u64>(PhantomData<V>);

impl<V: TryFrom<u64>, const LEAST: u64, const MOST: u64> Visitor<'_> for OfType<V, LEAST, MOST> {
    type Value = V;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number, legal range {LEAST} to {MOST}")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<V, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(custom(Fault::range(
                number,
                format_args!("{LEAST} to {MOST}"),
            ))),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<V, E> {
        V::try_from(number)
            .map_err(|_| custom(Fault::range(number, format_args!("{LEAST} to {MOST}"))))
    }
}

/// A whole number. Reading it checks the legal range.
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
                match u32::try_from(number) {
                    Ok(number) if (LEAST..=MOST).contains(&number) => Ok(Whole(number)),
                    _ => Err(custom(Fault::of_range(format_args!("{LEAST} to {MOST}")))),
                }
            }
        }

        deserializer.deserialize_any(Within)
    }
}

/// A number of bytes, as `1514` or `"1514b"`. Reading it checks the legal range.
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
                match u64::try_from(number) {
                    Ok(bytes) if (LEAST..=MOST).contains(&bytes) => Ok(Size(bytes)),
                    _ => Err(E::invalid_value(Unexpected::Signed(number), &self)),
                }
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                match text.parse() {
                    Ok(Bytes(bytes)) if (LEAST..=MOST).contains(&bytes) => Ok(Size(bytes)),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
        }

        deserializer.deserialize_any(Within)
    }
}

/// Length of a flow's or link's longest packet, in bytes.
pub type PacketLen =
    Size<{ FlowConfig::MIN_MAX_PACKET_LEN as u64 }, { FlowConfig::MAX_PACKET_LEN as u64 }>;

impl PacketLen {
    /// The number of bytes. None if it needs more than 32 bits.
    pub fn bytes(self) -> Option<u32> {
        u32::try_from(self.0).ok()
    }
}

/// Reads a text in quotes as a `V`.
///
/// # Errors
/// The value is not a text, or `V` cannot read the text.
pub fn quoted<'de, D: Deserializer<'de>, V: FromStr<Err: Into<Fault>>>(
    deserializer: D,
) -> Result<Option<V>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let value = text.parse().map_err(custom)?;
    Ok(Some(value))
}
