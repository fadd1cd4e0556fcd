//! Pacing: intervals between packets whose long-run rate is exact.

use roundelay::{Duration, Rate};

/// Intervals between packets of one length at a rate. An interval is seldom a whole number of
/// picoseconds, so the remainder is carried to the next interval. Beat n comes floor(n bits / rate)
/// after the first one, for any n.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    whole: u64,
    /// Fractions of a picosecond in units of 1 / `rate`: each interval's, and what is carried so
    /// far.
    rest: u64,
    carried: u64,
    rate: u64,
}

impl Pace {
    pub(crate) fn new(rate: Rate, len: u32) -> Self {
        let rate = rate.bits_per_second();
        let bits = u128::from(len) * 8_000_000_000_000;
        let whole = u64::try_from(bits / u128::from(rate)).unwrap_or(u64::MAX);
        Self {
            whole,
            rest: (bits % u128::from(rate)) as u64,
            carried: 0,
            rate,
        }
    }

    /// The time from this beat to the next one.
    #[inline]
    pub(crate) fn beat(&mut self) -> Duration {
        let carried = u128::from(self.carried) + u128::from(self.rest);
        let is_full = carried >= u128::from(self.rate);
        self.carried = (carried - if is_full { u128::from(self.rate) } else { 0 }) as u64;
        Duration::from_picos(self.whole.saturating_add(u64::from(is_full)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_do_not_drift() {
        for (rate, len) in [
            (150_000, 1000),
            (7, 1),
            (999_999_999_999_989, 1514),
            (u64::MAX, u32::MAX),
            (3_000, u32::MAX),
        ] {
            let mut pace = Pace::new(Rate::from_bits_per_second(rate).unwrap(), len);
            let mut at = 0_u128;
            for beat in 1..=1000_u128 {
                at += u128::from(pace.beat().as_picos());
                assert_eq!(
                    at,
                    beat * u128::from(len) * 8_000_000_000_000 / u128::from(rate),
                    "{rate} bit/s, {len} bytes, beat {beat}"
                );
            }
        }
    }
}
