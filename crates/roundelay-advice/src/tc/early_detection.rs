//! Parameters of `red` and `choke` in `tc` syntax. `tc` derives the kernel's values from them, and
//! refuses some values that are legal here.

use roundelay::schedulers::{choke, red};
use roundelay::{Billionths, Rate};

use super::numbers::Reason;

/// Bits that the kernel has for the average, which it stores times 2^k.
const AVERAGE_BITS: u32 = 32;
/// `tc` counts rates in bytes, at most 2^32 - 1 per second.
const MOST_BITS_PER_SECOND: u64 = 8 * u32::MAX as u64;
/// The nearest to one, because `tc` passes a probability of one to the kernel as zero.
const ALMOST_ONE: Billionths = Billionths(999_999_999);

/// The bandwidth that `tc` assumes, as the disciplines do when they do not know the link's rate.
fn default_bandwidth() -> Rate {
    Rate::from_bits_per_second(10_000_000).expect("not zero")
}

/// What both have in common. Lengths are in bytes for `red` and in packets for `choke`.
pub(super) struct EarlyDetection {
    pub(super) min: u64,
    pub(super) max: u64,
    avpkt: u32,
    burst: u32,
    /// k: an arrival moves the average by 2^-k of its difference from the queue length.
    weight_log: u32,
    bandwidth: Rate,
    probability: Billionths,
    /// How many bytes `tc` takes a unit of length to be.
    unit: u64,
}

impl EarlyDetection {
    /// `link` is the link's rate if the discipline knows it, which it does not below a tree's root.
    pub(super) fn of_red(config: &red::Config, link: Option<Rate>) -> Self {
        let (min, max, burst) = config.thresholds_and_burst();
        let red::Config {
            avpkt, probability, ..
        } = *config;
        let bandwidth = config.bandwidth.or(link).unwrap_or_else(default_bandwidth);
        Self {
            min,
            max,
            avpkt,
            burst,
            weight_log: config.weight_log(),
            bandwidth,
            probability,
            unit: 1,
        }
    }

    pub(super) fn of_choke(config: &choke::Config, link: Option<Rate>) -> Self {
        let (min, max, burst) = config.thresholds_and_burst();
        let choke::Config {
            avpkt, probability, ..
        } = *config;
        let bandwidth = config.bandwidth.or(link).unwrap_or_else(default_bandwidth);
        let min = min.into();
        let max = max.into();
        let unit = avpkt.into();
        Self {
            min,
            max,
            avpkt,
            burst,
            weight_log: config.weight_log(),
            bandwidth,
            probability,
            unit,
        }
    }

    /// All parameters as text.
    ///
    /// # Errors
    /// `tc` or the kernel does not accept the values.
    pub(super) fn words(&self) -> Result<String, Reason> {
        if !self.average_fits() {
            return Err("the kernel's 32 bits for the average do not hold max".to_owned());
        }
        if !self.slope_fits() {
            return Err("the probability rounds to 0 in tc".to_owned());
        }
        let Self {
            min, max, avpkt, ..
        } = self;
        let no_weight = "tc derives no weight of the average from min, avpkt and burst";
        let burst = self.burst_with_this_weight().ok_or(no_weight)?;
        let bandwidth =
            Rate::from_bits_per_second(self.bandwidth.bits_per_second().min(MOST_BITS_PER_SECOND))
                .unwrap_or(self.bandwidth);
        let probability = self.probability.min(ALMOST_ONE);
        Ok(format!(
            "min {min} max {max} avpkt {avpkt} burst {burst} bandwidth {bandwidth} probability \
            {probability}"
        ))
    }

    fn average_fits(&self) -> bool {
        let bits = u64::BITS - self.max.leading_zeros();
        bits + self.weight_log < AVERAGE_BITS && self.max * self.unit <= u32::MAX.into()
    }

    /// `tc` requires a slope above 2^-31 per byte between `min` and `max`, so that the slope does
    /// not round to zero.
    fn slope_fits(&self) -> bool {
        let span = u128::from((self.max - self.min) * self.unit);
        u128::from(self.probability.0) << 31 > span * u128::from(Billionths::ONE.0)
    }

    /// A burst from which `tc` derives this weight. It is the configured burst, or a close one if
    /// `tc` rounds to another weight or rejects a burst below `min`.
    fn burst_with_this_weight(&self) -> Option<u32> {
        let least = u32::try_from((self.min * self.unit).div_ceil(self.avpkt.into())).ok()?;
        let own = self.burst;
        let close = [own, own.saturating_sub(1), own.saturating_sub(2), least];
        let mut close = close.into_iter();
        close.find(|burst| self.weight_log_in_tc(*burst) == Some(self.weight_log))
    }

    /// The least k with burst + 1 - min / avpkt <= (1 - (1 - 2^-k)^burst) 2^k, by Floyd and
    /// Jacobson's rule. Here the exponent is the burst, while the paper and Roundelay use burst +
    /// 1.
    fn weight_log_in_tc(&self, burst: u32) -> Option<u32> {
        let excess = f64::from(burst) + 1.0 - (self.min * self.unit) as f64 / f64::from(self.avpkt);
        if excess < 1.0 {
            return None;
        }
        (1..32).find(|log| {
            let weight = 0.5f64.powi(*log as i32);
            excess <= (1.0 - (1.0 - weight).powi(burst as i32)) / weight
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detection(min: u64, max: u64, unit: u64) -> EarlyDetection {
        EarlyDetection {
            min,
            max,
            avpkt: 1000,
            burst: 10,
            weight_log: 8,
            bandwidth: default_bandwidth(),
            probability: Billionths(20_000_000),
            unit,
        }
    }

    /// The kernel's average has 32 bits, with the weight's, and lengths have 32 bits in bytes.
    #[test]
    fn an_average_has_its_bits() {
        for (max, unit, weight_log, fits) in [
            (1 << 22, 1, 8, true),
            (1 << 22, 1, 9, false),
            ((1 << 23) - 1, 1, 8, true),
            (1 << 23, 1, 8, false),
            (1 << 12, 1 << 19, 1, true),
            (1 << 12, 1 << 20, 1, false),
        ] {
            let mut detection = detection(0, max, unit);
            detection.weight_log = weight_log;
            assert_eq!(detection.average_fits(), fits, "{max} {unit} {weight_log}");
        }
    }

    /// The slope is above 2^-31 per byte.
    #[test]
    fn a_slope_does_not_round_to_zero() {
        for (span, unit, billionths, fits) in [
            (2, 1, 1, true),
            (3, 1, 1, false),
            ((1 << 31) - 1, 1, 1_000_000_000, true),
            (1 << 31, 1, 1_000_000_000, false),
            (1, 1000, 466, true),
            (1, 1000, 465, false),
        ] {
            let mut detection = detection(5000, 5000 + span, unit);
            detection.probability = Billionths(billionths);
            assert_eq!(detection.slope_fits(), fits, "{span} {unit} {billionths}");
        }
    }

    /// Floyd and Jacobson's rule, for lengths in bytes and in packets.
    #[test]
    fn a_burst_gives_a_weight() {
        for (min, unit) in [(5000, 1), (5, 1000)] {
            let detection = detection(min, 3 * min, unit);
            let logs = [4, 5, 10, 100].map(|burst| detection.weight_log_in_tc(burst));
            assert_eq!(logs, [None, Some(1), Some(4), Some(11)], "{min}");
        }
    }
}
