//! Units in `tc` notation: rates, sizes, times.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

use crate::fault::Fault;
use crate::time::Duration;

/// A link's rate in bits per second, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// A size in bytes, for parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// A number in billionths, for fractional parameters, so that decimal input is kept exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Billionths(pub u64);

impl Billionths {
    /// One.
    pub const ONE: Self = Self(1_000_000_000);
}

/// A number with a unit that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    text: String,
    expected: String,
}

impl UnitError {
    /// The expected notation.
    pub fn expected(&self) -> &str {
        &self.expected
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read '{}': expected {}", self.text, self.expected)
    }
}

impl From<UnitError> for Fault {
    fn from(error: UnitError) -> Self {
        Self::quoted(error.text, error.expected).behind("cannot read ")
    }
}

impl core::error::Error for UnitError {}

impl Rate {
    /// `bits` per second. None for zero.
    pub const fn from_bits_per_second(bits: u64) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }

    /// Bits per second.
    #[inline]
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Transmission time of `bytes` bytes, rounded up to a picosecond. [`Duration::MAX`] beyond the
    /// range, and for `u64::MAX` bytes at any rate, since `u64::MAX` stands for a saturated number.
    #[inline]
    pub const fn time_of(self, bytes: u64) -> Duration {
        const PICO_BITS_PER_BYTE: u64 = 8_000_000_000_000;
        if let Some(product) = bytes.checked_mul(PICO_BITS_PER_BYTE) {
            return Duration::from_picos(product.div_ceil(self.0));
        }
        let picos = (bytes as u128 * PICO_BITS_PER_BYTE as u128).div_ceil(self.0 as u128);
        Duration::from_picos(if picos > u64::MAX as u128 || bytes == u64::MAX {
            u64::MAX
        } else {
            picos as u64
        })
    }
}

/// Suffixes with their factors. The empty suffix is for a bare number.
type Units = &'static [(&'static str, u64)];

const RATES: Units = &[
    ("", 1),
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("tbit", 1_000_000_000_000),
    ("kibit", 1 << 10),
    ("mibit", 1 << 20),
    ("gibit", 1 << 30),
    ("tibit", 1 << 40),
];

const SIZES: Units = &[
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kb", 1 << 10),
    ("m", 1 << 20),
    ("mb", 1 << 20),
    ("g", 1 << 30),
    ("gb", 1 << 30),
];

/// In picoseconds. As in `tc`, a bare number is microseconds.
const TIMES: Units = &[
    ("", 1_000_000),
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("usec", 1_000_000),
    ("usecs", 1_000_000),
    ("ms", 1_000_000_000),
    ("msec", 1_000_000_000),
    ("msecs", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("sec", 1_000_000_000_000),
    ("secs", 1_000_000_000_000),
];

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let expected = "a number and bit, kbit, mbit, gbit or tbit (bits per second), as in 20mbit";
        let error = |expected: &str| UnitError {
            text: text.to_string(),
            expected: expected.to_string(),
        };
        let (number, suffix) = split(text);
        if let Some(both) = both_readings(number, suffix) {
            return Err(error(&both));
        }
        let bits = quantity(number, suffix, RATES).ok_or_else(|| error(expected))?;
        Self::from_bits_per_second(bits).ok_or_else(|| error("at least 1bit per second"))
    }
}

/// `tc` reads `mbps` as megabytes per second, but people mean megabits, so both are refused.
fn both_readings(number: &str, suffix: &str) -> Option<String> {
    let lower = suffix.to_ascii_lowercase();
    let scale = lower
        .strip_suffix("bps")
        .or_else(|| lower.strip_suffix("b/s"))
        .or_else(|| lower.strip_suffix("bit/s"))?;
    let bits = quantity(number, &format!("{scale}bit"), RATES)?;
    let eightfold = bits.checked_mul(8).and_then(Rate::from_bits_per_second)?;
    Some(format!(
        "{number}{scale}bit for bits per second, or {eightfold} for bytes per second (which is what tc takes {suffix} for)"
    ))
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, suffix) = split(text);
        // Half a byte is a mistake, but half a kilobyte is 512 bytes.
        let is_whole = !number.contains('.') || !matches!(suffix, "" | "b" | "B");
        quantity(number, suffix, SIZES).filter(|_| is_whole).map(Self).ok_or_else(|| UnitError {
            text: text.to_string(),
            expected: "a whole number of bytes, or a number and kb (1024 bytes), mb or gb, as in 1514b".to_string(),
        })
    }
}

impl FromStr for Billionths {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, suffix) = split(text);
        let value = quantity(number, suffix, &[("", Self::ONE.0)]).map(Self);
        value.ok_or_else(|| UnitError {
            text: text.to_string(),
            expected: "a number, as in 0.02".to_string(),
        })
    }
}

impl FromStr for Duration {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, suffix) = split(text);
        quantity(number, suffix, TIMES)
            .map(Self::from_picos)
            .ok_or_else(|| UnitError {
                text: text.to_string(),
                expected: expected_time("microseconds", "5ms"),
            })
    }
}

/// The expected notation for a time, where a bare number has the unit `bare`.
pub(crate) fn expected_time(bare: &str, example: &str) -> String {
    format!("a number and s, ms, us or ns (a bare number is {bare}, as in tc), as in {example}")
}

fn split(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    text.split_at(end)
}

/// `number` times its unit, exactly and rounded down. None if either is unknown or the product is
/// too large.
fn quantity(number: &str, suffix: &str, units: Units) -> Option<u64> {
    let (_, unit) = units
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(suffix))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || fraction.len() > 12 {
        return None;
    }
    let scaled = digits
        .parse::<u128>()
        .ok()?
        .checked_mul(u128::from(*unit))?;
    u64::try_from(scaled / 10u128.pow(fraction.len() as u32)).ok()
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = RATES[1..6]
            .iter()
            .rev()
            .find(|(_, size)| self.0.is_multiple_of(*size))
            .unwrap_or(&RATES[1]);
        write!(f, "{}{unit}", self.0 / size)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMED: [(&str, u64); 4] =
            [("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10), ("b", 1)];
        let (unit, size) = NAMED
            .into_iter()
            .find(|(_, size)| self.0 >= *size && self.0.is_multiple_of(*size))
            .unwrap_or(NAMED[3]);
        write!(f, "{}{unit}", self.0 / size)
    }
}

impl fmt::Display for Billionths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{}.{:09}", self.0 / Self::ONE.0, self.0 % Self::ONE.0);
        f.write_str(digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_read_as_tc_writes_them() {
        for (text, bits) in [
            ("20mbit", 20_000_000),
            ("1.5Mbit", 1_500_000),
            ("9600", 9_600),
            ("1gibit", 1 << 30),
            ("2tbit", 2_000_000_000_000),
        ] {
            assert_eq!(
                text.parse::<Rate>().map(Rate::bits_per_second),
                Ok(bits),
                "{text}"
            );
        }
    }

    #[test]
    fn mbps_is_refused_with_both_readings() {
        let error = "20Mbps".parse::<Rate>().unwrap_err().to_string();
        assert!(
            error.contains("20mbit") && error.contains("160mbit"),
            "{error}"
        );
        for bad in [
            "",
            "mbit",
            "20 mbit",
            "-1mbit",
            "0",
            "1e6",
            "20mb",
            "1.2.3mbit",
            "99999999999999999999",
        ] {
            assert!(bad.parse::<Rate>().is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_and_times() {
        assert_eq!("1514b".parse(), Ok(Bytes(1514)));
        assert_eq!("32mb".parse(), Ok(Bytes(32 << 20)));
        assert_eq!("5ms".parse(), Ok(Duration::from_millis(5)));
        assert_eq!("100".parse(), Ok(Duration::from_micros(100)));
        assert_eq!("0.5s".parse(), Ok(Duration::from_millis(500)));
        assert!("5 parsecs".parse::<Duration>().is_err());
    }

    #[test]
    fn what_is_shown_reads_back() {
        for bits in [1, 999, 1_000, 1_500_000, 20_000_000, 3_000_000_000] {
            let rate = Rate(bits);
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
        for bytes in [0, 1, 1023, 1024, 1514, 32 << 20] {
            assert_eq!(Bytes(bytes).to_string().parse(), Ok(Bytes(bytes)));
        }
        for number in [0, 1, 20_000_000, 1_000_000_000, 1_700_000_000, u64::MAX].map(Billionths) {
            assert_eq!(number.to_string().parse(), Ok(number));
        }
        assert_eq!(
            ["0.02", "1", ".5", "1.7"].map(|text| text
                .parse::<Billionths>()
                .map(|number| number.to_string())
                .ok()),
            ["0.02", "1", "0.5", "1.7"].map(|text| Some(text.to_string()))
        );
        assert!(
            ["", ".", "-1", "1e-3", "2%", "1b"]
                .into_iter()
                .all(|bad| bad.parse::<Billionths>().is_err())
        );
        for span in [
            Duration::ZERO,
            Duration::from_micros(1500),
            Duration::from_picos(7),
        ] {
            assert_eq!(span.to_string().parse(), Ok(span));
        }
    }

    #[test]
    fn time_on_the_link_is_exact_and_rounded_up() {
        let rate: Rate = "8mbit".parse().unwrap();
        assert_eq!(rate.time_of(1500), Duration::from_micros(1500));
        assert_eq!(Rate(3).time_of(1), Duration::from_picos(2_666_666_666_667));
        assert_eq!(
            Rate(8_000_000_000_000).time_of(1 << 40),
            Duration::from_picos(1 << 40)
        );
        assert_eq!(Rate(1).time_of(u64::MAX), Duration::MAX);
        assert_eq!(
            Rate(u64::MAX).time_of(u64::MAX),
            Duration::MAX,
            "a number of bytes that has saturated"
        );
    }
}
