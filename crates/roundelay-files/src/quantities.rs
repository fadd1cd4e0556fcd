//! Quantities that several kinds of files use: rates, times, bytes, link layers and shares.

use std::str::FromStr;

use roundelay::{Billionths, Bytes, Duration, Fault, Framing, LinkLayer, LinkLayerError, Rate};

use crate::Written;

fn has_unit(text: &str) -> bool {
    text.ends_with(|c: char| c.is_ascii_alphabetic())
}

fn no_unit<V: Written>(text: &str) -> Fault {
    Fault::wanted(format_args!("{}{}", V::EXPECTED, V::RANGE))
        .behind(format_args!("'{text}' has no unit: "))
        .with_given(text)
}

fn with_unit<V: Written + FromStr<Err: Into<Fault>>>(text: &str) -> Result<V, Fault> {
    if !has_unit(text) {
        return Err(no_unit::<V>(text));
    }
    text.parse().map_err(|error: V::Err| {
        if text.starts_with('-') {
            // The type's own error asks only for a unit, but the number has one. So we give the
            // range.
            V::wrong(text)
        } else {
            error.into()
        }
    })
}

impl Written for Rate {
    const EXPECTED: &'static str = "a rate, as in \"10mbit\"";
    const RANGE: &'static str = ", from 1bit to 18000000tbit";

    fn from_text(text: &str) -> Result<Self, Fault> {
        with_unit(text)
    }
}

impl Written for Duration {
    const EXPECTED: &'static str = "a time in s, ms, us or ns, as in \"5ms\"";
    const RANGE: &'static str = ", from 0 to 213 days";

    fn from_text(text: &str) -> Result<Self, Fault> {
        // `tc` accepts a time without a unit, but here a unit is required.
        if !has_unit(text) {
            return Err(no_unit::<Self>(text));
        }
        text.parse().map_err(|_| Self::wrong(text))
    }

    fn from_number(number: u64) -> Option<Self> {
        (number == 0).then_some(Self::ZERO)
    }
}

impl Written for Bytes {
    const EXPECTED: &'static str = "bytes, as in 1000 or \"1000b\"";
    const RANGE: &'static str = ", legal range from 1";

    fn from_text(text: &str) -> Result<Self, Fault> {
        with_unit(text)
    }

    fn from_number(number: u64) -> Option<Self> {
        Some(Self(number))
    }
}

/// A packet's length in bytes.
impl Written for u32 {
    const EXPECTED: &'static str = "bytes of a packet, as in 1000 or \"1000b\"";
    const RANGE: &'static str = ", at most 65536";

    fn from_text(text: &str) -> Result<Self, Fault> {
        if has_unit(text)
            && let Ok(Bytes(bytes)) = text.parse()
            && let Ok(bytes) = Self::try_from(bytes)
        {
            return Ok(bytes);
        }
        Err(Self::wrong(text))
    }

    fn from_number(number: u64) -> Option<Self> {
        Self::try_from(number).ok()
    }
}

/// Bytes added to a packet, or taken away if negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overhead(pub i32);

impl Written for Overhead {
    const EXPECTED: &'static str =
        "bytes added to a packet, legal range -64 to 65535, as in 38 or \"38b\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let (sign, bytes) = match text.strip_prefix('-') {
            Some(bytes) => (-1, bytes),
            None => (1, text),
        };
        let Bytes(bytes) = with_unit(bytes).map_err(|_| Self::wrong(text))?;
        let bytes = i64::try_from(bytes).map_err(|_| Self::wrong(text))?;
        Self::from_signed(sign * bytes).ok_or_else(|| Self::wrong(text))
    }

    fn from_number(number: u64) -> Option<Self> {
        i64::try_from(number).ok().and_then(Self::from_signed)
    }

    fn from_signed(number: i64) -> Option<Self> {
        i32::try_from(number).ok().map(Self)
    }
}

impl Written for LinkLayer {
    const EXPECTED: &'static str = "a kind of link, as in \"docsis\" or \"ethernet ether-vlan\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: LinkLayerError| error.into())
    }
}

impl Written for Framing {
    const EXPECTED: &'static str = "a framing: \"none\", \"atm\" or \"ptm\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: LinkLayerError| error.into())
    }
}

impl Written for Billionths {
    const EXPECTED: &'static str = "a share, legal range 0 to 1, as in 0.01 or \"1%\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let (number, parts) = match text.strip_suffix('%') {
            Some(number) => (number, 100),
            None => (text, 1),
        };
        if let Ok(Self(share)) = number.trim().parse() {
            let share = Self(share / parts);
            if share <= Self::ONE {
                return Ok(share);
            }
        }
        Err(Fault::quoted(text, Self::EXPECTED))
    }

    fn from_number(number: u64) -> Option<Self> {
        match number {
            0 => Some(Self(0)),
            1 => Some(Self::ONE),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_need_their_unit() {
        assert_eq!(Duration::from_text("5ms"), Ok(Duration::from_millis(5)));
        assert_eq!(
            Duration::from_text("10").unwrap_err().to_string(),
            "'10' has no unit: expected a time in s, ms, us or ns, as in \"5ms\", from 0 to 213 days"
        );
        for wrong in [
            "5m",
            "5x",
            "5 sec",
            "1e400s",
            "s",
            "2s 3ms",
            "300h",
            "-5s",
            "18500000s",
        ] {
            let message = Duration::from_text(wrong).unwrap_err().to_string();
            assert_eq!(
                message,
                format!(
                    "'{wrong}': expected a time in s, ms, us or ns, as in \"5ms\", from 0 to 213 days"
                )
            );
        }
        assert!(Duration::from_text("18400000s").is_ok());
        assert_eq!(Duration::from_number(0), Some(Duration::ZERO));
        assert_eq!(Duration::from_number(10), None);
    }

    #[test]
    fn shares_are_written_in_two_ways() {
        assert_eq!(Billionths::from_text("1%"), Ok(Billionths(10_000_000)));
        assert_eq!(Billionths::from_text("0.01"), Ok(Billionths(10_000_000)));
        for wrong in ["1.5", "NaN", "-0.1", "200%", "inf"] {
            assert!(Billionths::from_text(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_share_of_any_size_is_refused_without_an_overflow() {
        assert_eq!(Billionths::from_number(0), Some(Billionths(0)));
        assert_eq!(Billionths::from_number(1), Some(Billionths::ONE));
        for number in [2, 18_446_744_074, u64::MAX] {
            assert_eq!(Billionths::from_number(number), None, "{number}");
        }
    }
}
