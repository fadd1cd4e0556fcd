//! Quantities as people write them: a number and its unit, in quotes.
//!
//! A quantity accepts a bare number only if there is one possible unit, as for bytes and shares. A
//! time other than 0 needs its unit, because `tc` reads microseconds but most people mean seconds.
//! [`WithUnit`] is for files that follow tc, so there a bare number is legal.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use roundelay::Fault;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serializer, ser};

use crate::custom;

/// A quantity that can be read from text.
pub trait Written: Sized {
    /// What error messages expect: "a rate, as in \"10mbit\"".
    const EXPECTED: &'static str;
    /// The values that can be written. Messages add them to the description, but a key may allow
    /// fewer.
    const RANGE: &'static str = "";
    /// Reads a text.
    ///
    /// # Errors
    /// The text is no such quantity. The fault gives what is legal.
    fn from_text(text: &str) -> Result<Self, Fault>;

    /// Reads a number without a unit, if the unit is clear.
    fn from_number(number: u64) -> Option<Self> {
        let _ = number;
        None
    }

    /// Reads a number that may be negative.
    fn from_signed(number: i64) -> Option<Self> {
        u64::try_from(number).ok().and_then(Self::from_number)
    }

    /// The fault for a text that is no such quantity.
    fn wrong(text: &str) -> Fault {
        Fault::quoted(text, format_args!("{}{}", Self::EXPECTED, Self::RANGE))
    }

    /// The fault for a number that is no such quantity.
    fn wrong_number(number: impl fmt::Display) -> Fault {
        Fault::expected(number, format_args!("{}{}", Self::EXPECTED, Self::RANGE))
    }
}

/// Reads an optional pair, as in `["500ms", "2s"]`, for `deserialize_with`.
///
/// # Errors
/// There are not two values, or one is not a `V`.
pub fn some_two<'de, D: Deserializer<'de>, V: Written>(
    deserializer: D,
) -> Result<Option<[V; 2]>, D::Error> {
    let values: Vec<V> = list(deserializer)?;
    let count = values.len();
    let Ok(two) = values.try_into() else {
        let legal = "two, as in [\"500ms\", \"2s\"]";
        let fault = Fault::expected(format_args!("{count} values"), legal);
        return Err(custom(fault.with_given(count)));
    };
    Ok(Some(two))
}

/// Reads a list, for `deserialize_with`.
///
/// # Errors
/// The value is not a list, or something in it is not a `V`.
pub fn list<'de, D: Deserializer<'de>, V: Written>(deserializer: D) -> Result<Vec<V>, D::Error> {
    let mut values = Vec::new();
    for InWords(value) in Vec::<InWords<V>>::deserialize(deserializer)? {
        values.push(value);
    }
    Ok(values)
}

struct Any<V>(PhantomData<V>);

impl<V: Written> Visitor<'_> for Any<V> {
    type Value = V;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(V::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V, E> {
        V::from_text(text).map_err(custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<V, E> {
        V::from_signed(number).ok_or_else(|| custom(V::wrong_number(number)))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<V, E> {
        V::from_number(number).ok_or_else(|| custom(V::wrong_number(number)))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<V, E> {
        // Only a share may have a decimal point and no unit, so `from_text` refuses the rest.
        V::from_text(&number.to_string()).map_err(|_| custom(V::wrong_number(number)))
    }
}

/// Reads and writes a quantity, for `#[serde(with = "InWords::<Rate>")]`.
/// What it writes are defaults.
pub struct InWords<V>(pub V);

impl<V: Written> InWords<V> {
    /// Reads a quantity.
    ///
    /// # Errors
    /// The value is not a `V`.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<V, D::Error> {
        deserializer.deserialize_any(Any(PhantomData))
    }

    /// Writes a number if the quantity's text is one, and the text if not.
    pub fn serialize<S: Serializer>(value: &V, serializer: S) -> Result<S::Ok, S::Error>
    where
        V: fmt::Display,
    {
        let text = value.to_string();
        match (text.parse(), text.parse()) {
            (Ok(whole), _) => serializer.serialize_u64(whole),
            (_, Ok(number)) => serializer.serialize_f64(number),
            _ => serializer.serialize_str(&text),
        }
    }
}

impl<'de, V: Written> Deserialize<'de> for InWords<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer).map(Self)
    }
}

/// [`InWords`] for an optional quantity. It is missing by default.
pub struct Maybe<V>(PhantomData<V>);

impl<V: Written> Maybe<V> {
    /// Reads a quantity that is there.
    ///
    /// # Errors
    /// The value is not a `V`.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<V>, D::Error> {
        InWords::<V>::deserialize(deserializer).map(Some)
    }

    /// Writes a default.
    ///
    /// # Errors
    /// There is a value, but only a missing quantity is a default.
    pub fn serialize<S: Serializer>(value: &Option<V>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            None => serializer.serialize_none(),
            Some(_) => Err(ser::Error::custom("only a missing quantity is a default")),
        }
    }
}

/// A number with its unit in quotes, or a bare number in tc's unit for `V`: bits per second, or
/// microseconds. Trees and bounds read these, because they are written like tc's classes.
#[derive(Debug, Clone, Copy)]
pub struct WithUnit<V>(pub V);

impl<'de, V: Written + FromStr<Err: Into<Fault>>> Deserialize<'de> for WithUnit<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfUnit<V>(PhantomData<V>);

        impl<V: Written + FromStr<Err: Into<Fault>>> Visitor<'_> for OfUnit<V> {
            type Value = WithUnit<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "a whole number, or a number and its unit in quotes: {}",
                    V::EXPECTED
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
