//! An htb class's settings.

use crate::config::ConfigError;
use crate::units::Rate;

use super::{HTB, RATES};

/// Priorities: 0 to 7.
pub(crate) const PRIORITIES: usize = 8;

/// A class's settings, as in `tc class add .. htb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// What the class and everything below may send without borrowing: 8 bit/s to 100 Tbit/s.
    pub rate: Rate,
    /// What it may send with borrowing. None: the rate.
    pub ceil: Option<Rate>,
    /// Bytes that it may send at once at the rate: 1 to 2^30. None: 1600 bytes and what the rate
    /// sends in a nanosecond, as tc computes it on a clock of nanoseconds.
    pub burst: Option<u32>,
    /// Bytes that it may send at once at the ceil: 1 to 2^30. None: as for `burst`.
    pub cburst: Option<u32>,
    /// Who borrows first: 0, the first, to 7. Only leaves have it.
    pub prio: u32,
    /// Bytes that a leaf may send in its turn when it borrows, or among leaves of its priority: 1
    /// to 2^31 - 1. None: the rate in bytes a second over r2q, within 1000 and 200,000.
    pub quantum: Option<u32>,
}

impl Class {
    /// A class that has this rate and lends, but does not borrow.
    pub const fn new(rate: Rate) -> Self {
        Self {
            rate,
            ceil: None,
            burst: None,
            cburst: None,
            prio: 0,
            quantum: None,
        }
    }

    /// The ceiling.
    pub fn ceil(&self) -> Rate {
        self.ceil.unwrap_or(self.rate)
    }

    /// The bucket at the rate, in bytes.
    pub fn burst(&self) -> u32 {
        self.burst.unwrap_or_else(|| default_burst(self.rate))
    }

    /// The bucket at the ceiling, in bytes.
    pub fn cburst(&self) -> u32 {
        self.cburst.unwrap_or_else(|| default_burst(self.ceil()))
    }

    /// Bytes in a turn.
    pub fn quantum(&self, r2q: u32) -> u32 {
        let by_rate = self.rate.bits_per_second() / 8 / u64::from(r2q.max(1));
        // The clamped value fits.
        let by_rate = by_rate.clamp(1_000, 200_000) as u32;
        self.quantum.unwrap_or(by_rate)
    }

    /// # Errors
    /// A value is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (least, most) = (*RATES.start(), *RATES.end());
        for (name, rate) in [("rate", self.rate), ("ceil", self.ceil())] {
            if !RATES.contains(&rate.bits_per_second()) {
                let legal =
                    alloc::format!("a rate from {least}bit to {}tbit", most / 1_000_000_000_000);
                return Err(ConfigError::beside(HTB, name, rate, legal));
            }
        }
        let quantum = self.quantum.unwrap_or(1);
        for (name, value, least, most) in [
            ("burst", self.burst(), 1, 1 << 30),
            ("cburst", self.cburst(), 1, 1 << 30),
            ("prio", self.prio, 0, PRIORITIES as u64 - 1),
            ("quantum", quantum, 1, (1 << 31) - 1),
        ] {
            ConfigError::in_range(HTB, name, value.into(), least, most)?;
        }
        Ok(())
    }
}

/// What tc writes without `burst`: what the rate sends in a nanosecond, and 1600 bytes.
fn default_burst(rate: Rate) -> u32 {
    // At most 100 Tbit/s, so the quotient fits.
    (rate.bits_per_second() / 8 / 1_000_000_000) as u32 + 1600
}
