//! Delay distribution of packets: count, mean, exact maximum, quantiles.
//!
//! Most flows are short, so a distribution keeps its first samples unchanged: exact, eight bytes
//! each. When the samples would need more memory than a coarse histogram, they move to one (with
//! the layout of G. Tene's HdrHistogram, where bucket width grows with the value).

use core::mem;

use roundelay::Duration;

/// Samples kept unchanged.
const RAW_SAMPLES: usize = 256;
/// Buckets are at most 1/128 of their values wide.
const PARTS: u64 = 128;
const PICOS_PER_NANO: u64 = 1_000;

/// A distribution of delays.
///
/// **Precision.** Count, sum, mean and maximum are exact. Quantiles are exact up to 256 samples.
/// Beyond 256, a quantile is never below the true value, and at most 1/128 of the value plus a
/// nanosecond above it.
///
/// **Memory.** 96 bytes, plus 8 bytes a sample up to 256 samples. Beyond 256 samples, 512 bytes for
/// each doubling of the largest delay above 128 ns: 12 KB for a second, 24 KB for the longest
/// representable delay.
///
/// **Limits.** A bucket counts to 2^32 - 1. When a bucket is full, further samples for it still
/// count in everything except quantiles, and [`unplaced`](Self::unplaced) is their number.
#[derive(Debug, Clone, Default)]
pub struct Delays {
    samples: Samples,
    count: u64,
    /// Picoseconds.
    sum: u128,
    maximum: Duration,
    unplaced: u64,
}

#[derive(Debug, Clone)]
enum Samples {
    /// Unchanged, in the order of arrival.
    Raw(Vec<Duration>),
    /// In nanoseconds, rounded up.
    Buckets(Buckets),
}

impl Default for Samples {
    fn default() -> Self {
        Self::Raw(Vec::new())
    }
}

impl Delays {
    /// Counts a delay.
    #[inline]
    pub fn record(&mut self, delay: Duration) {
        self.count += 1;
        self.sum += u128::from(delay.as_picos());
        self.maximum = self.maximum.max(delay);
        match &mut self.samples {
            Samples::Raw(samples) if samples.len() < RAW_SAMPLES => samples.push(delay),
            Samples::Buckets(buckets) => {
                self.unplaced += u64::from(1 - buckets.add(nanos_above(delay), 1))
            }
            Samples::Raw(_) => self.place(nanos_above(delay), 1),
        }
    }

    /// Adds another distribution's samples.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.maximum = self.maximum.max(other.maximum);
        self.unplaced += other.unplaced;
        match (&mut self.samples, &other.samples) {
            (Samples::Raw(mine), Samples::Raw(theirs))
                if mine.len() + theirs.len() <= RAW_SAMPLES =>
            {
                mine.extend(theirs)
            }
            (_, Samples::Raw(theirs)) => {
                for delay in theirs {
                    self.place(nanos_above(*delay), 1);
                }
            }
            (_, Samples::Buckets(theirs)) => {
                self.unplaced += self.samples.buckets().merge(theirs);
            }
        }
    }

    /// How many delays were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many delays the quantiles lack because their buckets were full.
    pub fn unplaced(&self) -> u64 {
        self.unplaced
    }

    /// Sum of all delays. [`Duration::MAX`] on overflow.
    pub fn sum(&self) -> Duration {
        Duration::from_picos(u64::try_from(self.sum).unwrap_or(u64::MAX))
    }

    /// Mean delay, rounded down to a picosecond. None without samples.
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum.checked_div(self.count.into())?;
        Some(Duration::from_picos(
            u64::try_from(mean).unwrap_or(u64::MAX),
        ))
    }

    /// The longest delay. None without samples.
    pub fn maximum(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.maximum)
    }

    /// The smallest delay that at least the fraction `q` of the samples does not exceed. `q` is
    /// clamped to 0 to 1, and 0 gives the smallest sample. None without samples.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        self.quantiles(&[q]).pop()
    }

    /// `points` points on the cumulative distribution: the quantiles 1/points, 2/points, ..., 1,
    /// each with its fraction. Empty without samples.
    pub fn cdf(&self, points: usize) -> Vec<(Duration, f64)> {
        let mut fractions = Vec::new();
        for point in 1..=points {
            fractions.push(point as f64 / points as f64);
        }
        let quantiles = self.quantiles(&fractions);
        quantiles.into_iter().zip(fractions).collect()
    }

    /// The [`quantile`](Self::quantile) of each of these rising fractions, found in one pass. Empty
    /// without samples.
    pub fn quantiles(&self, fractions: &[f64]) -> Vec<Duration> {
        if self.count == 0 {
            return Vec::new();
        }
        match &self.samples {
            Samples::Raw(samples) => {
                let mut sorted = samples.clone();
                sorted.sort_unstable();
                fractions
                    .iter()
                    .map(|&q| sorted[rank(q, sorted.len())])
                    .collect()
            }
            Samples::Buckets(buckets) => buckets
                .quantiles(fractions)
                .into_iter()
                .map(|nanos| Duration::from_nanos(nanos).min(self.maximum))
                .collect(),
        }
    }

    /// Counts `count` samples with this value in the histogram, as far as there is room.
    fn place(&mut self, nanos: u64, count: u32) {
        let placed = self.samples.buckets().add(nanos, count);
        self.unplaced += u64::from(count - placed);
    }
}

impl Samples {
    /// The histogram. Raw samples move to it.
    fn buckets(&mut self) -> &mut Buckets {
        if let Self::Raw(raw) = self {
            let mut buckets = Buckets::default();
            for delay in mem::take(raw) {
                buckets.add(nanos_above(delay), 1);
            }
            *self = Self::Buckets(buckets);
        }
        match self {
            Self::Buckets(buckets) => buckets,
            Self::Raw(_) => unreachable!("raw samples have just moved"),
        }
    }
}

/// Counts of values by bucket. Values below 2 `PARTS` have a bucket each. Beyond, each doubling of
/// the value has `PARTS` buckets of one width.
#[derive(Debug, Clone, Default)]
struct Buckets {
    counts: Vec<u32>,
    total: u64,
}

impl Buckets {
    #[inline]
    const fn index(value: u64) -> usize {
        let doublings = (2 * PARTS - 1).leading_zeros() - (value | (2 * PARTS - 1)).leading_zeros();
        (doublings as u64 * PARTS + (value >> doublings)) as usize
    }

    /// A bucket's largest value.
    const fn largest(index: usize) -> u64 {
        let doublings = (index as u64 / PARTS).saturating_sub(1);
        // In this order the largest bucket does not overflow.
        ((index as u64 - doublings * PARTS) << doublings) + ((1 << doublings) - 1)
    }

    /// Counts `count` samples with this value, as far as there is room. Returns how many it
    /// counted.
    #[inline]
    fn add(&mut self, value: u64, count: u32) -> u32 {
        let index = Self::index(value);
        if index >= self.counts.len() {
            self.grow(index);
        }
        let bucket = &mut self.counts[index];
        let placed = count.min(u32::MAX - *bucket);
        *bucket += placed;
        self.total += u64::from(placed);
        placed
    }

    #[cold]
    fn grow(&mut self, index: usize) {
        let len = (index + 1).next_multiple_of(PARTS as usize);
        self.counts.reserve_exact(len - self.counts.len());
        self.counts.resize(len, 0);
    }

    /// The buckets with samples: largest value and count.
    fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(index, count)| (Self::largest(index), *count))
    }

    /// Adds another histogram's counts, as far as there is room. Returns how many found no room.
    fn merge(&mut self, other: &Self) -> u64 {
        if other.counts.len() > self.counts.len() {
            self.grow(other.counts.len() - 1);
        }
        let mut unplaced = 0;
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            let sum = u64::from(*mine) + u64::from(*theirs);
            *mine = u32::try_from(sum).unwrap_or(u32::MAX);
            unplaced += sum - u64::from(*mine);
        }
        self.total += other.total - unplaced;
        unplaced
    }

    /// For each of these rising fractions q, the largest value in the first bucket at which the
    /// fraction q of the samples is reached. 0 without samples.
    fn quantiles(&self, fractions: &[f64]) -> Vec<u64> {
        let mut buckets = self.iter();
        let mut found = Vec::with_capacity(fractions.len());
        let mut value = 0;
        let mut seen = 0;
        for q in fractions {
            let wanted = ((q.clamp(0.0, 1.0) * self.total as f64).ceil() as u64).max(1);
            while seen < wanted
                && let Some((largest, count)) = buckets.next()
            {
                value = largest;
                seen += u64::from(count);
            }
            found.push(if seen < wanted { 0 } else { value });
        }
        found
    }
}

/// Rounded up: quantiles are never below the true value.
fn nanos_above(delay: Duration) -> u64 {
    delay.as_picos().div_ceil(PICOS_PER_NANO)
}

/// Index of the smallest of `count` sorted samples that at least the fraction `q` does not exceed.
fn rank(q: f64, count: usize) -> usize {
    ((q.clamp(0.0, 1.0) * count as f64).ceil() as usize).clamp(1, count) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn recorded(picos: &[u64]) -> Delays {
        let mut delays = Delays::default();
        picos
            .iter()
            .for_each(|&picos| delays.record(Duration::from_picos(picos)));
        delays
    }

    #[test]
    fn few_samples_are_exact() {
        let delays = recorded(&[50, 10, 40, 20, 30]);
        let quantile = |q| delays.quantile(q).map(Duration::as_picos);
        assert_eq!(
            [0.0, 0.2, 0.21, 0.5, 0.99, 1.0, 7.0].map(quantile),
            [10, 10, 20, 30, 50, 50, 50].map(Some)
        );
        assert_eq!(delays.mean(), Some(Duration::from_picos(30)));
        assert_eq!(
            (delays.count(), delays.sum(), delays.maximum()),
            (5, Duration::from_picos(150), delays.quantile(1.0))
        );
        let tens = [10, 20, 30, 40, 50].map(Duration::from_picos);
        assert_eq!(
            delays.cdf(5),
            tens.into_iter()
                .zip([0.2, 0.4, 0.6, 0.8, 1.0])
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_merge_counts_what_full_buckets_have_no_room_for() {
        let full = || {
            let mut buckets = Buckets::default();
            assert_eq!(buckets.add(5, u32::MAX - 1), u32::MAX - 1);
            assert_eq!(buckets.add(300, 2), 2);
            buckets
        };
        let mut one = full();
        let mut other = full();
        other.add(70_000, 1);
        assert_eq!(one.merge(&other), u64::from(u32::MAX) - 2);
        let sum: u64 = one.counts.iter().map(|count| u64::from(*count)).sum();
        assert_eq!(
            (one.total, sum, one.counts.len()),
            (sum, u64::from(u32::MAX) + 5, other.counts.len())
        );
    }

    #[test]
    fn nothing_comes_of_nothing() {
        let delays = Delays::default();
        assert_eq!(
            (delays.quantile(0.5), delays.mean(), delays.maximum()),
            (None, None, None)
        );
        assert!(delays.cdf(10).is_empty());
    }

    #[test]
    fn any_delay_can_be_told() {
        let mut delays = recorded(&[0; 300]);
        delays.record(Duration::MAX);
        assert_eq!(
            (delays.count(), delays.unplaced(), delays.maximum()),
            (301, 0, Some(Duration::MAX))
        );
        assert_eq!(
            (delays.quantile(0.99), delays.quantile(1.0)),
            (Some(Duration::ZERO), Some(Duration::MAX))
        );
        delays.record(Duration::MAX);
        assert_eq!(delays.sum(), Duration::MAX);
    }

    /// Around each power of two: each value is in the first bucket that is not below.
    #[test]
    fn buckets_follow_each_other() {
        for power in 0..64 {
            for value in [
                (1_u64 << power) - 1,
                1 << power,
                (1 << power) + 1,
                (1 << power) + (1 << power) / 3,
                u64::MAX,
            ] {
                let (index, largest) = (
                    Buckets::index(value),
                    Buckets::largest(Buckets::index(value)),
                );
                assert!(
                    value <= largest && largest - value <= value / PARTS,
                    "{value}: {largest}"
                );
                assert!(
                    index == 0 || Buckets::largest(index - 1) < value,
                    "{value}: bucket {index}"
                );
            }
        }
    }

    #[test]
    fn memory_is_what_the_documentation_says() {
        assert!(size_of::<Delays>() <= 96, "{}", size_of::<Delays>());
        let kilobytes = |longest: Duration| {
            let mut delays = recorded(&[1_000; 300]);
            delays.record(longest);
            match &delays.samples {
                Samples::Buckets(buckets) => (4 * buckets.counts.capacity()) as f64 / 1e3,
                Samples::Raw(_) => panic!("too many samples to keep"),
            }
        };
        assert!(
            kilobytes(Duration::from_millis(100)) < 11.5,
            "{}",
            kilobytes(Duration::from_millis(100))
        );
        assert!(
            kilobytes(Duration::from_secs(1)) < 13.0,
            "{}",
            kilobytes(Duration::from_secs(1))
        );
        assert!(
            kilobytes(Duration::MAX) < 26.0,
            "{}",
            kilobytes(Duration::MAX)
        );
    }

    #[test]
    fn full_buckets_are_told() {
        let mut delays = recorded(&[5_000_000; 300]);
        let nanos = 5_000;
        delays.place(nanos, u32::MAX - 302);
        delays.place(nanos, 5);
        assert_eq!(delays.unplaced(), 3, "the bucket had room for two");
        delays.place(1 << 40, 4);
        delays.place(1 << 40, 4);
        assert_eq!(delays.unplaced(), 3, "other buckets have room");
        let full = delays.clone();
        delays.merge(&full);
        assert_eq!(delays.unplaced(), 3 + 3 + u64::from(u32::MAX));
        assert!(
            delays.quantile(0.5) >= Some(Duration::from_nanos(nanos)),
            "quantiles still work"
        );
    }

    /// Samples of all magnitudes.
    fn picos() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((0u32..50).prop_flat_map(|bits| 0..=1u64 << bits), 1..600)
    }

    proptest! {
        #[test]
        fn quantiles_of_one_pass_are_those_of_single_passes(picos in prop::collection::vec(0u64..1_000_000_000, 1..600), points in 1usize..200) {
            let delays = recorded(&picos);
            let fractions: Vec<f64> = (0..=points).map(|point| point as f64 / points as f64).collect();
            let single: Vec<_> = fractions.iter().filter_map(|q| delays.quantile(*q)).collect();
            prop_assert_eq!(delays.quantiles(&fractions), single);
        }

        #[test]
        fn quantiles_are_within_the_stated_error(samples in picos(), q in 0.0..=1.0f64) {
            let mut sorted = samples.clone();
            sorted.sort_unstable();
            let exact = sorted[rank(q, sorted.len())];
            let told = recorded(&samples).quantile(q).unwrap_or_default().as_picos();
            prop_assert!(told >= exact && told <= exact + exact / 128 + 1_000, "{} for {}", told, exact);
        }

        #[test]
        fn a_merged_distribution_is_that_of_all_samples(one in picos(), two in picos()) {
            let mut merged = recorded(&one);
            merged.merge(&recorded(&two));
            let all = recorded(&[one, two].concat());
            prop_assert_eq!((merged.count(), merged.sum(), merged.maximum()), (all.count(), all.sum(), all.maximum()));
            prop_assert_eq!(merged.cdf(20), all.cdf(20));
        }
    }
}
