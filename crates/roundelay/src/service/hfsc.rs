//! An hfsc class's settings: service curves.

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::config::ConfigError;
use crate::time::Duration;
use crate::units::{Bytes, Rate, UnitError};

use super::{HFSC, RATES};

/// A class's curves, as in `tc class add .. hfsc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Class {
    /// What a leaf is guaranteed, whatever the others do.
    pub rt: Option<Curve>,
    /// How the class and its siblings share what is left. Without it, a leaf gets what `rt` says
    /// and no more.
    pub ls: Option<Curve>,
    /// What the sharing gives at most.
    pub ul: Option<Curve>,
}

impl Class {
    /// # Errors
    /// A class has no curve, an upper limit without a share, or a value out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.rt.is_none() && self.ls.is_none() {
            let expected = "a curve: rt, ls or sc, as in ls = \"m2 10mbit\"";
            return Err(ConfigError::beside(
                HFSC,
                "class",
                "without rt and ls",
                expected,
            ));
        }
        if self.ls.is_none()
            && let Some(ul) = self.ul
        {
            let expected = "an ls with it, as it limits what the sharing gives";
            return Err(ConfigError::beside(HFSC, "ul", ul, expected));
        }
        for (name, curve) in [("rt", self.rt), ("ls", self.ls), ("ul", self.ul)] {
            if let Some(curve) = curve {
                curve.check(name)?;
            }
        }
        Ok(())
    }
}

/// A service curve: at least `m1 t` in the first time `d`, then `m2` more a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Curve {
    /// Slope of the first piece. None: nothing.
    pub m1: Option<Rate>,
    /// Length of the first piece, up to 1000 seconds.
    pub d: Duration,
    /// Slope of the second piece. None: nothing.
    pub m2: Option<Rate>,
}

impl Curve {
    /// A straight line.
    pub const fn line(rate: Rate) -> Self {
        Self {
            m1: None,
            d: Duration::ZERO,
            m2: Some(rate),
        }
    }

    /// tc's other way to write a curve: `umax` bytes leave within `dmax`, and the rate is `rate`.
    pub fn of_packets(umax: u32, dmax: Duration, rate: Rate) -> Self {
        let needed = rate.time_of(umax.into());
        if needed > dmax {
            // Faster than the rate at first.
            let bits =
                (u128::from(umax) * 8_000_000_000_000).div_ceil(u128::from(dmax.as_picos().max(1)));
            let m1 = Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX));
            return Self {
                m1,
                d: dmax,
                m2: Some(rate),
            };
        }
        Self {
            m1: None,
            d: dmax - needed,
            m2: Some(rate),
        }
    }

    /// What the curve gives in a time, in bits times 10^12.
    pub(crate) fn bits(&self, time: Duration) -> u128 {
        let (m1, m2) = self.slopes();
        let first = time.min(self.d).as_picos();
        m1 * u128::from(first) + m2 * u128::from(time.as_picos() - first)
    }

    /// Bits a second of each piece.
    pub(crate) fn slopes(&self) -> (u128, u128) {
        (bits(self.m1).into(), bits(self.m2).into())
    }

    /// Bytes a second of each piece, rounded down as tc does.
    pub(crate) fn bytes_per_second(&self) -> [u64; 2] {
        [self.m1, self.m2].map(|rate| bits(rate) / 8)
    }

    /// Whether the second piece is at least as steep as the first.
    pub(crate) fn is_convex(&self) -> bool {
        let [m1, m2] = self.bytes_per_second();
        m1 <= m2
    }

    /// # Errors
    /// Both slopes are nothing, or a value is out of its range.
    pub(crate) fn check(&self, name: &'static str) -> Result<(), ConfigError> {
        if self.m2.is_none() && (self.m1.is_none() || self.d.as_picos() == 0) {
            let expected = "a rate, as in \"m2 10mbit\"";
            return Err(ConfigError::beside(HFSC, name, "of 0", expected));
        }
        for rate in [self.m1, self.m2].into_iter().flatten() {
            if !RATES.contains(&rate.bits_per_second()) {
                let legal = "a rate from 8bit to 100tbit";
                return Err(ConfigError::beside(HFSC, name, rate, legal));
            }
        }
        if self.d > Duration::from_secs(1000) {
            let legal = "a time up to 1000s";
            return Err(ConfigError::beside(HFSC, name, self.d, legal));
        }
        Ok(())
    }
}

/// As tc writes it: `m1 10mbit d 10ms m2 2mbit` with `m1` and `d` left out for a line, or `umax 1500
/// dmax 10ms rate 2mbit` with `umax` and `dmax` left out for a line.
impl FromStr for Curve {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let words = Words::of(text)?;
        match words.keys[..] {
            ["m1", "d", "m2"] | ["d", "m2"] | ["m2"] => Ok(Self {
                m1: words.rate("m1")?,
                d: words.time("d")?,
                m2: words.rate("m2")?,
            }),
            ["umax", "dmax", "rate"] | ["dmax", "rate"] | ["rate"] => {
                let Some(rate) = words.rate("rate")? else {
                    return Err(unreadable(text));
                };
                let umax = words.value("umax").unwrap_or("0");
                let Bytes(umax) = umax.parse().map_err(|error| wrong("umax", umax, &error))?;
                let umax = u32::try_from(umax).map_err(|_| unreadable(text))?;
                Ok(Self::of_packets(umax, words.time("dmax")?, rate))
            }
            _ => Err(unreadable(text)),
        }
    }
}

/// Keys with their values.
struct Words<'a> {
    keys: Vec<&'a str>,
    values: Vec<&'a str>,
}

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Result<Self, ConfigError> {
        let mut keys = Vec::new();
        let mut values = Vec::new();
        let mut words = text.split_whitespace();
        while let Some(key) = words.next() {
            keys.push(key);
            values.push(words.next().ok_or_else(|| unreadable(text))?);
        }
        Ok(Self { keys, values })
    }

    fn value(&self, key: &str) -> Option<&'a str> {
        let at = self.keys.iter().position(|other| *other == key)?;
        Some(self.values[at])
    }

    /// A slope. Zero is legal, and means none.
    fn rate(&self, key: &str) -> Result<Option<Rate>, ConfigError> {
        match self.value(key) {
            None | Some("0" | "0bit") => Ok(None),
            Some(text) => match text.parse() {
                Ok(rate) => Ok(Some(rate)),
                Err(error) => Err(wrong(key, text, &error)),
            },
        }
    }

    fn time(&self, key: &str) -> Result<Duration, ConfigError> {
        let text = self.value(key).unwrap_or("0");
        text.parse().map_err(|error| wrong(key, text, &error))
    }
}

fn unreadable(text: &str) -> ConfigError {
    let expected = "a curve, as in \"m1 10mbit d 10ms m2 2mbit\" or \"umax 1500 dmax 10ms rate \
        2mbit\"";
    ConfigError::beside(HFSC, "curve", text, expected)
}

fn wrong(key: &str, given: &str, why: &UnitError) -> ConfigError {
    ConfigError::beside(HFSC, key, given, why.expected())
}

fn bits(rate: Option<Rate>) -> u64 {
    rate.map_or(0, Rate::bits_per_second)
}

impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.d.as_picos() > 0 {
            match self.m1 {
                Some(m1) => write!(f, "m1 {m1} ")?,
                None => write!(f, "m1 {}bit ", bits(self.m1))?,
            }
            write!(f, "d {} ", self.d)?;
        }
        match self.m2 {
            Some(m2) => write!(f, "m2 {m2}"),
            None => write!(f, "m2 {}bit", bits(self.m2)),
        }
    }
}
