//! RED's decision: whether an arriving packet is dropped or marked because the average queue has
//! been long.
//!
//! The decision uses a moving average of the queue length, so that bursts cause no signal. Below
//! `min` no packet is signalled. Between `min` and `max` the probability rises, and above `max`
//! every packet is signalled. The number of packets between two signals is random and uniform up to
//! a maximum, so signals neither cluster nor stay away for long.
//!
//! Source: S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM Transactions on Networking 1(4), 1993. S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED:
//! An Algorithm for Increasing the Robustness of RED's Active Queue Management", 2001. S. Floyd,
//! "Recommendation on Using the 'Gentle' Variant of RED", 2000.
//!
//! | paper | here |
//! |---|---|
//! | avg, q | `average`, `waiting` |
//! | w_q | 2^-`weight_log` |
//! | min_th, max_th, max_p | `Thresholds::min`, `max`, `EarlyDetection::probability` |
//! | count | `count`: packets since the last signal |
//! | q_time, s | `idle_since`, `packet_time` |
//! | p_b, p_a | `base`, `spaced` |
//!
//! Number format: the average is in units of 2^-48 bytes (or packets), so that its error stays
//! below 2^-16 at any weight. Probabilities are in units of 2^-32.
//!
//! Differences from the paper: `count` is 0 for the packet after a signal, as in the paper's
//! derivation. The paper's listing has 1 there, with which the packets between two signals are
//! uniform up to 1 / p_b - 1. Adaptive RED adapts at the first arrival half a second or more after
//! the last adaptation, not by a timer.
//!
//! Tests: the average against the formula in exact arithmetic, distances between signals,
//! adaptation, in `theorems/red.rs` and below.

use alloc::format;
use core::fmt::Display;

use crate::config::{ConfigError, Parameter, saturated};
use crate::limit::Backlog;
use crate::mechanisms::random::{Probability, Random};
use crate::schedulers::Onset;
use crate::time::{Duration, Instant};
use crate::units::{Billionths, Rate};

/// Rate of a link until the scheduler is told: `tc`'s default.
pub(crate) const UNKNOWN_LINK_RATE: Rate = match Rate::from_bits_per_second(10_000_000) {
    Some(rate) => rate,
    None => panic!("not zero"),
};

/// The parameter `avpkt`: bytes of an average packet.
pub(crate) const fn average_length<C>(of: fn(&mut C) -> &mut u32) -> Parameter<C> {
    Parameter::size("avpkt", 1..=1 << 16, "average length of a packet", of)
}

/// The parameter `bandwidth`. None: the link's.
pub(crate) const fn idle_rate<C>(of: fn(&mut C) -> &mut Option<Rate>) -> Parameter<C> {
    let help = "rate at which the average falls while the queue is empty; link: the link's";
    Parameter::link_rate("bandwidth", 1_000..=10_000_000_000_000, help, of)
}

/// The parameter `probability`.
pub(crate) const fn probability<C>(of: fn(&mut C) -> &mut Billionths) -> Parameter<C> {
    Parameter::number(
        "probability",
        0..=Billionths::ONE.0,
        "drop probability when the average reaches max",
        of,
    )
}

/// The parameter `probability` if the user gives none.
pub(crate) const DEFAULT_PROBABILITY: Billionths = Billionths(20_000_000);

/// What every discipline with early detection is given. Lengths are in the discipline's unit, bytes
/// or packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// 0: a third of `max`.
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// The average packet, in the unit of `min` and `max`.
    pub(crate) packet: u32,
    /// The average packet in bytes.
    pub(crate) avpkt: u32,
    /// Packets of a burst that should pass. 0: (2 `min` + `max`) / 3, in packets.
    pub(crate) burst: u32,
    /// Rate at which an empty queue forgets. None: the link's.
    pub(crate) bandwidth: Option<Rate>,
    pub(crate) probability: Billionths,
}

impl Settings {
    /// `min`, `max` and `burst`, with zeros replaced by values computed from the others.
    pub(crate) const fn thresholds_and_burst(&self) -> (u64, u64, u32) {
        let max = self.max;
        let min = if self.min == 0 { max / 3 } else { self.min };
        // tc-red(8)'s guideline: (min + min + max) / (3 avpkt).
        let guideline = saturated((2 * min + max) / (3 * self.packet as u64));
        let burst = if self.burst == 0 {
            guideline
        } else {
            self.burst
        };
        (min, max, burst)
    }

    /// Thresholds on a link with this rate, of the paper's plain algorithm.
    pub(crate) fn thresholds(&self, link: Rate) -> Thresholds {
        let (min, max, burst) = self.thresholds_and_burst();
        Thresholds {
            min,
            max,
            probability: self.probability.into(),
            weight_log: weight_log(min, burst, self.packet),
            packet_time: self.bandwidth.unwrap_or(link).time_of(self.avpkt.into()),
            gentle: false,
            adaptive: false,
            linux: false,
        }
    }

    /// # Errors
    /// `min` is not below `max`. The message writes lengths as `shown` does.
    pub(crate) fn check<S: Display>(
        &self,
        discipline: &'static str,
        shown: fn(u64) -> S,
    ) -> Result<(), ConfigError> {
        let (min, max, _) = self.thresholds_and_burst();
        if min < max {
            return Ok(());
        }
        let expected = format!("less than max, which is {}", shown(max));
        Err(ConfigError::beside(discipline, "min", shown(min), expected))
    }
}

/// RED's parameters as the decision reads them, in the unit of `Settings`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// Probability of a signal when the average reaches `max`. If adaptive, the initial value.
    pub(crate) probability: Probability,
    /// The average moves by 2^-this of its difference from the queue.
    pub(crate) weight_log: u32,
    /// Idle time that counts as one packet of an empty queue.
    pub(crate) packet_time: Duration,
    /// Whether the probability rises further from `max` to twice `max`, before every packet is
    /// signalled.
    pub(crate) gentle: bool,
    /// Whether `probability` adapts to keep the average midway between the two thresholds.
    pub(crate) adaptive: bool,
    /// Whether the rules of Linux's choke apply. Fractions of the average then have no part in its
    /// next value and in the probability, and an average of `min` is still below. In bytes the
    /// difference does not matter. In packets the average is half a packet longer on the mean.
    pub(crate) linux: bool,
}

impl Thresholds {
    /// The average without which no packet is signalled.
    pub(crate) const fn onset(&self, in_bytes: bool) -> Onset {
        let Self {
            min: least,
            weight_log,
            packet_time,
            ..
        } = *self;
        Onset::Average {
            least,
            in_bytes,
            weight_log,
            packet_time,
        }
    }
}

/// The decision on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Keep,
    /// Drawn at random.
    Signal,
    /// The average is so long that every packet is signalled.
    Force,
}

/// State of one queue.
#[derive(Debug, Clone)]
pub(crate) struct EarlyDetection {
    thresholds: Thresholds,
    /// Rate of the link for which the thresholds hold.
    pub(crate) link_rate: Rate,
    /// In units of 2^-48.
    average: u128,
    count: u64,
    /// Start of the idle time.
    idle_since: Option<Instant>,
    observed_at: Instant,
    probability: Probability,
    adapted_at: Instant,
}

const FRACTION_BITS: u32 = 48;
const MAX_WEIGHT_LOG: u32 = 31;
const ADAPTATION_INTERVAL: Duration = Duration::from_millis(500);

impl EarlyDetection {
    /// `thresholds` hold for [`UNKNOWN_LINK_RATE`].
    pub(crate) const fn new(thresholds: Thresholds) -> Self {
        let idle_since = None;
        let observed_at = Instant::ZERO;
        let adapted_at = Instant::ZERO;
        let link_rate = UNKNOWN_LINK_RATE;
        let probability = thresholds.probability;
        Self {
            thresholds,
            link_rate,
            average: 0,
            count: 0,
            idle_since,
            observed_at,
            probability,
            adapted_at,
        }
    }

    /// Changes the parameters. An adapted probability survives, unless the probability or
    /// `adaptive` changes.
    pub(crate) fn adopt(&mut self, thresholds: Thresholds) {
        let before = core::mem::replace(&mut self.thresholds, thresholds);
        if (thresholds.probability, thresholds.adaptive) != (before.probability, before.adaptive) {
            self.probability = thresholds.probability;
        }
    }

    /// A packet arrives with `waiting` bytes or packets in the queue.
    pub(crate) fn observe(&mut self, now: Instant, waiting: u64) {
        if let Some(since) = self.idle_since {
            // After an idle time: m = (time - q_time) / s, avg = (1 - w_q)^m avg.
            let packet_time = self.thresholds.packet_time.as_picos().max(1);
            let packets = now.since(since).as_picos() / packet_time;
            self.average = scaled(self.average, power(self.thresholds.weight_log, packets));
            // The rest counts next time. Otherwise arrivals that are all dropped would keep the
            // average up.
            self.idle_since = Some(since + Duration::from_picos(packets * packet_time));
        } else {
            let average = self.average_for();
            // avg = avg + w_q (q - avg).
            let difference = ((u128::from(waiting) << FRACTION_BITS) as i128) - average as i128;
            self.average =
                (self.average as i128 + (difference >> self.thresholds.weight_log)) as u128;
        }
        self.observed_at = now;
        if self.thresholds.adaptive && now.since(self.adapted_at) >= ADAPTATION_INTERVAL {
            self.adapted_at = now;
            self.adapt();
        }
    }

    /// A packet has entered the queue.
    pub(crate) const fn entered(&mut self) {
        self.idle_since = None;
    }

    /// A packet has left. If the queue is now empty, the idle time starts: at `now`, or at the last
    /// arrival if `now` is None, which means unknown.
    pub(crate) fn left(&mut self, now: Option<Instant>, backlog: Backlog) {
        if backlog.is_empty() {
            self.idle_since
                .get_or_insert(now.unwrap_or(self.observed_at));
        }
    }

    pub(crate) const fn is_below_min(&self) -> bool {
        let min = (self.thresholds.min as u128) << FRACTION_BITS;
        self.average < min || self.thresholds.linux && self.average == min
    }

    /// The average as its next value and the probability have it.
    const fn average_for(&self) -> u128 {
        if self.thresholds.linux {
            self.average >> FRACTION_BITS << FRACTION_BITS
        } else {
            self.average
        }
    }

    /// The decision on the observed packet.
    pub(crate) fn judge(&mut self, random: &mut Random) -> Verdict {
        if self.is_below_min() {
            self.count = 0;
            return Verdict::Keep;
        }
        let base = self.base();
        if base == Probability::ALWAYS {
            self.count = 0;
            return Verdict::Force;
        }
        // A mark with probability p_a, after which count begins anew.
        let is_drawn = random.chance(self.spaced(base));
        self.count = if is_drawn {
            0
        } else {
            self.count.saturating_add(1)
        };
        if is_drawn {
            Verdict::Signal
        } else {
            Verdict::Keep
        }
    }

    /// p_b, for an average of `min` or more.
    fn base(&self) -> Probability {
        let average = self.average_for();
        let above = |threshold: u64| average.saturating_sub(u128::from(threshold) << FRACTION_BITS);
        let span = |from: u64, to: u64| u128::from(to.saturating_sub(from)) << FRACTION_BITS;
        let min = self.thresholds.min;
        let max = self.thresholds.max;
        if self.average < u128::from(max) << FRACTION_BITS {
            // p_b = max_p (avg - min_th) / (max_th - min_th).
            return Probability::ratio(above(min), span(min, max)).times(self.probability);
        }
        if !self.thresholds.gentle {
            return Probability::ALWAYS;
        }
        let rest = Probability::ALWAYS.minus(self.probability);
        self.probability
            .plus(Probability::ratio(above(max), span(0, max)).times(rest))
    }

    /// p_a = p_b / (1 - count p_b), which makes every distance up to 1 / p_b equally likely.
    fn spaced(&self, base: Probability) -> Probability {
        let units = u128::from(base.as_units());
        let one = u128::from(Probability::ALWAYS.as_units());
        Probability::ratio(units, one.saturating_sub(units * u128::from(self.count)))
    }

    /// Additive increase, multiplicative decrease (Adaptive RED, section 4), to keep the average in
    /// the middle fifth between `min` and `max`.
    fn adapt(&mut self) {
        let least = Probability::from(Billionths(10_000_000));
        let most = Probability::from(Billionths(500_000_000));
        let span = self.thresholds.max - self.thresholds.min;
        let at =
            |tenths: u64| u128::from(self.thresholds.min * 10 + span * tenths) << FRACTION_BITS;
        if self.average * 10 > at(6) && self.probability <= most {
            // Increase by alpha = min(0.01, max_p / 4). That `least` is 0.01 as well is chance.
            let quarter = self.probability.times(Probability::ratio(1, 4));
            self.probability = self.probability.plus(least.min(quarter));
        } else if self.average * 10 < at(4) && self.probability >= least {
            self.probability = self.probability.times(Probability::ratio(9, 10));
        }
    }

    pub(crate) fn check(&self, expected: &Thresholds) {
        assert_eq!(
            self.thresholds, *expected,
            "thresholds are those of the parameters"
        );
        assert!(
            self.thresholds.min < self.thresholds.max,
            "the thresholds are in order"
        );
        assert!(self.probability <= Probability::ALWAYS, "a probability");
        assert!(
            self.average < 1 << (64 + FRACTION_BITS),
            "an average of lengths"
        );
    }
}

/// The smallest weight_log with which a burst of `burst` packets of `avpkt` into an empty queue
/// leaves the average below `min` (the paper, section VI): L + 1 + ((1 - w)^(L + 1) - 1) / w < min
/// / avpkt.
pub(crate) fn weight_log(min: u64, burst: u32, avpkt: u32) -> u32 {
    let packets = u64::from(burst) + 1;
    let avpkt = u128::from(avpkt);
    let excess = (u128::from(packets) * avpkt).saturating_sub(min.into());
    let forgotten =
        |log: &u32| (((1 << 64) - u128::from(power(*log, packets))) * avpkt) >> (64 - log);
    (1..MAX_WEIGHT_LOG)
        .find(|log| excess <= forgotten(log))
        .unwrap_or(MAX_WEIGHT_LOG)
}

/// (1 - 2^-`log`)^`exponent` in units of 2^-64, rounded down. 1 becomes 2^64 - 1.
fn power(log: u32, mut exponent: u64) -> u64 {
    let times = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    let mut base = (1u64 << (64 - log)).wrapping_neg();
    let mut result = u64::MAX;
    while exponent > 0 && result > 0 {
        if exponent % 2 == 1 {
            result = times(result, base);
        }
        base = times(base, base);
        exponent /= 2;
    }
    result
}

/// `value` times `factor` in units of 2^-64.
fn scaled(value: u128, factor: u64) -> u128 {
    let high = value >> 64;
    let low = value & u128::from(u64::MAX);
    let factor = u128::from(factor);
    high * factor + ((low * factor) >> 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const THRESHOLDS: Thresholds = Thresholds {
        min: 30_000,
        max: 90_000,
        probability: Probability::NEVER,
        weight_log: 5,
        packet_time: Duration::from_micros(800),
        gentle: false,
        adaptive: false,
        linux: false,
    };

    fn with(probability: u64) -> Thresholds {
        Thresholds {
            probability: Billionths(probability).into(),
            ..THRESHOLDS
        }
    }

    /// State with an average of `average` bytes.
    fn at(thresholds: &Thresholds, average: u64) -> EarlyDetection {
        EarlyDetection {
            average: u128::from(average) << FRACTION_BITS,
            ..EarlyDetection::new(*thresholds)
        }
    }

    fn average(red: &EarlyDetection) -> f64 {
        red.average as f64 / (1u64 << FRACTION_BITS) as f64
    }

    /// Queues of 0 to 16 packets, 8 on average. Linux's average is half a packet longer, and an
    /// average of `min` is still below.
    #[test]
    fn linux_leaves_fractions_of_the_average_out() {
        let means = [false, true].map(|linux| {
            let thresholds = Thresholds {
                min: 8,
                max: 24,
                weight_log: 4,
                linux,
                ..THRESHOLDS
            };
            let mut detection = EarlyDetection::new(thresholds);
            let mut random = Random::new(Seed::new(1));
            let mut sum = 0.0;
            for _ in 0..200_000 {
                detection.observe(Instant::ZERO, u64::from(random.below(17)));
                sum += detection.average as f64 / (1u64 << FRACTION_BITS) as f64;
            }
            detection.average = 8 << FRACTION_BITS;
            assert_eq!(detection.is_below_min(), linux);
            sum / 200_000.0
        });
        assert!(
            (means[0] - 8.0).abs() < 0.05 && (means[1] - 8.5).abs() < 0.05,
            "{means:?}"
        );
    }

    proptest! {
        /// avg = (1 - w) avg + w q in exact arithmetic: after n packets a whole number over 2^(n
        /// k). Ours is rounded down by less than 2^k units.
        #[test]
        fn the_average_is_the_papers(queue in prop::collection::vec(0u64..400_000, 1..20), k in 1u32..=3) {
            let thresholds = Thresholds { weight_log: k, ..THRESHOLDS };
            let mut red = EarlyDetection::new(thresholds);
            let mut exact = 0u128;
            let mut bits = 0;
            for waiting in queue {
                red.observe(Instant::ZERO, waiting);
                exact = exact * ((1 << k) - 1) + (u128::from(waiting) << bits);
                bits += k;
                let short = (exact << FRACTION_BITS) - (red.average << bits);
                prop_assert!(short < 1 << (bits + k), "short of {} by {}", exact, short);
            }
        }

        /// Long runs and slow averages, compared in floating point.
        #[test]
        fn the_average_does_not_stray(queue in prop::collection::vec(0u64..400_000, 1..400), weight_log in 1u32..=31) {
            let thresholds = Thresholds { weight_log, ..THRESHOLDS };
            let mut red = EarlyDetection::new(thresholds);
            let weight = 0.5f64.powi(weight_log as i32);
            let mut expected = 0.0;
            for waiting in queue {
                red.observe(Instant::ZERO, waiting);
                expected = (1.0 - weight) * expected + weight * waiting as f64;
                prop_assert!((average(&red) - expected).abs() < 1.0 / 65_536.0, "{} for {}", average(&red), expected);
            }
        }

        #[test]
        fn an_idle_queue_is_forgotten_packet_by_packet(start in 0u64..1 << 40, packets in 0u64..10_000, weight_log in 1u32..=20) {
            let thresholds = Thresholds { weight_log, ..THRESHOLDS };
            let mut red = at(&thresholds, start);
            red.left(Some(Instant::ZERO), Backlog::default());
            red.observe(Instant::from_nanos(packets * 800_000 + 799_999), 0);
            let expected = start as f64 * (1.0 - 0.5f64.powi(weight_log as i32)).powi(packets as i32);
            prop_assert!((average(&red) - expected).abs() <= expected * 1e-9 + 1e-3, "{} for {}", average(&red), expected);
        }

        #[test]
        fn dropped_arrivals_do_not_stop_the_idle_clock(gaps in prop::collection::vec(0u64..5_000_000, 1..100)) {
            let mut once = at(&THRESHOLDS, 500_000);
            let mut often = at(&THRESHOLDS, 500_000);
            once.left(Some(Instant::ZERO), Backlog::default());
            often.left(Some(Instant::ZERO), Backlog::default());
            let end = gaps.into_iter().fold(Instant::ZERO, |now, gap| {
                often.observe(now, 0);
                now + Duration::from_nanos(gap)
            });
            once.observe(end, 0);
            often.observe(end, 0);
            prop_assert!((average(&once) - average(&often)).abs() < 1e-3);
        }

        #[test]
        fn a_burst_stays_below_min(min in 1u64..200_000, burst in 0u32..2_000, avpkt in 1u32..2_000) {
            let thresholds = Thresholds { weight_log: weight_log(min, burst, avpkt), ..THRESHOLDS };
            // Packets numbered from 1, as in the paper's sum.
            let after_burst = |thresholds: &Thresholds| {
                let mut red = EarlyDetection::new(*thresholds);
                (1..=u64::from(burst)).for_each(|packet| red.observe(Instant::ZERO, packet * u64::from(avpkt)));
                average(&red)
            };
            prop_assert!(after_burst(&thresholds) <= min as f64 + 1e-3);
            let quicker = Thresholds { weight_log: thresholds.weight_log - 1, ..thresholds };
            prop_assert!(quicker.weight_log == 0 || after_burst(&quicker) > min as f64 - 1e-3, "the smallest that does");
        }
    }

    /// Distances between signals with the average fixed.
    fn distances(thresholds: &Thresholds, average: u64, packets: usize) -> Vec<usize> {
        let mut red = at(thresholds, average);
        let mut random = Random::new(Seed::new(3));
        let verdicts: Vec<_> = (0..packets)
            .map(|_| red.judge(&mut random) != Verdict::Keep)
            .collect();
        verdicts
            .split(|is_signal| *is_signal)
            .map(|kept| kept.len() + 1)
            .collect()
    }

    #[test]
    fn every_distance_up_to_a_most_is_as_likely() {
        // p_b is half of 0.1: distances from 1 to 20.
        let distances = distances(&with(100_000_000), 60_000, 200_000);
        let count = distances.len() as f64;
        let longest = distances.iter().max();
        // p_b is short by 2^-32, so the largest distance has a tiny chance of being missed.
        assert_eq!(longest, Some(&20));
        for distance in 1..=20 {
            let hits = distances.iter().filter(|other| **other == distance).count() as f64;
            assert!(
                (hits - count / 20.0).abs() < 5.0 * (count / 20.0).sqrt(),
                "{hits} of {count} at {distance}"
            );
        }
    }

    #[test]
    fn thresholds_hold_to_the_byte() {
        let thresholds = with(20_000_000);
        let mut random = Random::new(Seed::new(1));
        let mut verdict =
            |thresholds: &Thresholds, average| at(thresholds, average).judge(&mut random);
        assert_eq!(verdict(&thresholds, 29_999), Verdict::Keep);
        assert_eq!(
            verdict(&thresholds, 30_000),
            Verdict::Keep,
            "with probability zero"
        );
        assert_eq!(verdict(&thresholds, 90_000), Verdict::Force);
        let gentle = Thresholds {
            gentle: true,
            ..thresholds
        };
        assert_eq!(verdict(&gentle, 180_000), Verdict::Force);
        assert_eq!(at(&gentle, 90_000).base(), gentle.probability);
        let half_way = at(&gentle, 135_000).base().as_units() as f64 / (1u64 << 32) as f64;
        assert!((half_way - 0.51).abs() < 1e-6, "{half_way}");
    }

    #[test]
    fn adaptation_goes_up_by_steps_and_down_by_tenths() {
        let thresholds = Thresholds {
            adaptive: true,
            ..with(20_000_000)
        };
        let probability = |red: &EarlyDetection| {
            (red.probability.as_units() as f64 / (1u64 << 32) as f64 * 1e6).round() / 1e6
        };
        let adapted = |average, millis: u64| {
            let mut red = at(&thresholds, average);
            (0..=millis)
                .for_each(|milli| red.observe(Instant::from_nanos(milli * 1_000_000), average));
            probability(&red)
        };
        assert_eq!(adapted(70_000, 499), 0.02);
        assert_eq!(adapted(70_000, 500), 0.025, "a quarter");
        assert_eq!(adapted(50_000, 500), 0.018);
        assert_eq!(
            adapted(60_000, 10_000),
            0.02,
            "in the middle nothing changes"
        );
        assert!(
            (0.5..0.52).contains(&adapted(89_000, 60_000)),
            "a half and a step is the most"
        );
        assert!(
            (0.008..0.01).contains(&adapted(10_000, 60_000)),
            "a hundredth less a tenth is the least"
        );
    }
}
