//! Time series in a bounded number of bins, for runs of unknown length.
//!
//! Bins start with a given width. When time passes the last bin, neighbours are merged in pairs and
//! the width doubles. So memory is constant, and a long run fills at least half of the bins. Times
//! before the start count in the first bin.

use roundelay::{Duration, Instant};

const DEFAULT_BINS: usize = 1024;
const DEFAULT_WIDTH: Duration = Duration::from_millis(1);

/// A bin's content: an empty value, and the merge of two neighbours.
trait Bin: Copy + Default {
    fn merged(self, later: Self) -> Self;
}

/// The bins and their time span. All bins up to the last one touched exist.
#[derive(Debug, Clone)]
struct Bins<B> {
    start: Instant,
    width: Duration,
    limit: usize,
    bins: Vec<B>,
    /// The last bin's span, because then most events need no division.
    last_from: Instant,
    last_until: Instant,
}

impl<B: Bin> Bins<B> {
    fn new(start: Instant, width: Duration, limit: usize) -> Self {
        assert!(width > Duration::ZERO, "a bin has a width");
        assert!(
            limit >= 2 && limit.is_multiple_of(2),
            "bins are merged two by two"
        );
        let last_from = start;
        let last_until = start + width;
        Self {
            start,
            width,
            limit,
            bins: vec![B::default()],
            last_from,
            last_until,
        }
    }

    /// Takes the memory for all bins at once, because growing step by step copies them.
    fn with_room(mut self) -> Self {
        self.bins.reserve_exact(self.limit - self.bins.len());
        self
    }

    /// The bin at `now`.
    #[inline]
    fn at(&mut self, now: Instant) -> &mut B {
        let last = self.bins.len() - 1;
        let index = if now >= self.last_from && now < self.last_until {
            last
        } else {
            self.reach(now)
        };
        &mut self.bins[index]
    }

    /// Index of the bin at `now`. Widens bins and adds new ones if needed.
    fn reach(&mut self, now: Instant) -> usize {
        self.widen_for(now);
        let index = (now.since(self.start).as_picos() / self.width.as_picos()) as usize;
        if index >= self.bins.len() {
            self.bins.resize(index + 1, B::default());
            self.find_last();
        }
        index
    }

    /// Adds the bin after the last one. The limit must leave room.
    fn push(&mut self, bin: B) {
        self.bins.push(bin);
        self.last_from = self.last_until;
        self.last_until = self.last_from + self.width;
    }

    /// Doubles the width until a bin can hold `now`.
    fn widen_for(&mut self, now: Instant) {
        let since = now.since(self.start).as_picos();
        while since / self.width.as_picos() >= self.limit as u64 {
            let merged = self.bins.len().div_ceil(2);
            for index in 0..merged {
                let later = self.bins.get(2 * index + 1).copied();
                let pair = self.bins[2 * index];
                self.bins[index] = later.map_or(pair, |later| pair.merged(later));
            }
            self.bins.truncate(merged);
            self.width = self.width + self.width;
            self.find_last();
        }
    }

    fn find_last(&mut self) {
        self.last_from = self.from(self.bins.len() - 1);
        self.last_until = self.last_from + self.width;
    }

    fn from(&self, index: usize) -> Instant {
        self.start + Duration::from_picos(self.width.as_picos().saturating_mul(index as u64))
    }
}

/// The packets that left within a bin's span.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Departures {
    /// The packets' bytes.
    pub bytes: u64,
    /// Their number.
    pub packets: u64,
    /// Sum of their delays in nanoseconds, up to five centuries.
    delays: u64,
    /// Their longest delay.
    longest: Duration,
}

impl Departures {
    /// Mean delay in seconds. None without packets.
    pub fn mean_delay(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.delays as f64 / 1e9 / self.packets as f64)
    }

    /// Longest delay in seconds. None without packets.
    pub fn longest_delay(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.longest.as_secs_f64())
    }
}

impl Bin for Departures {
    #[inline]
    fn merged(self, later: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(later.bytes),
            packets: self.packets + later.packets,
            delays: self.delays.saturating_add(later.delays),
            longest: self.longest.max(later.longest),
        }
    }
}

/// Departures over time. Each bin holds the bytes and the delays of the packets that left in its
/// span.
#[derive(Debug, Clone)]
pub struct DepartureSeries {
    bins: Bins<Departures>,
}

impl Default for DepartureSeries {
    /// From time zero in up to 1,024 bins of 1 ms.
    fn default() -> Self {
        Self::new(Instant::ZERO, DEFAULT_WIDTH, DEFAULT_BINS)
    }
}

impl DepartureSeries {
    /// From `start` in up to `bins` bins that begin with this width.
    ///
    /// # Panics
    /// If the width is zero or the number of bins zero or odd.
    pub fn new(start: Instant, width: Duration, bins: usize) -> Self {
        Self {
            bins: Bins::new(start, width, bins),
        }
    }

    /// Takes the memory for all bins at the start, for a series that will need most of them.
    pub fn with_room(self) -> Self {
        Self {
            bins: self.bins.with_room(),
        }
    }

    /// Adds a packet that left at `now`. Times may go backwards.
    #[inline]
    pub fn depart(&mut self, now: Instant, bytes: u64, delay: Duration) {
        let bin = self.bins.at(now);
        bin.bytes = bin.bytes.saturating_add(bytes);
        bin.packets += 1;
        bin.delays = bin.delays.saturating_add(delay.as_nanos());
        bin.longest = bin.longest.max(delay);
    }

    /// Extends the series until `now`. Call this when a run ends.
    pub fn advance(&mut self, now: Instant) {
        self.bins.at(now);
    }

    /// Adds another series with the same start and width, bin by bin.
    ///
    /// # Panics
    /// If start or width differ.
    pub fn merge(&mut self, other: &Self) {
        let Bins { start, width, .. } = other.bins;
        assert!(
            self.bins.start == start && self.bins.width == width,
            "bins of both have one span"
        );
        let most = self.bins.bins.len().max(other.bins.bins.len());
        self.bins.bins.resize(most, Departures::default());
        self.bins.find_last();
        for (bin, more) in self.bins.bins.iter_mut().zip(&other.bins.bins) {
            // Most flows have mostly empty bins.
            if more.packets > 0 {
                *bin = bin.merged(*more);
            }
        }
    }

    /// The bins' current width.
    pub fn width(&self) -> Duration {
        self.bins.width
    }

    /// The departures, bin by bin from the start to the last one touched.
    pub fn departures(&self) -> &[Departures] {
        &self.bins.bins
    }

    /// Bytes per second, bin by bin. The last bin may be incomplete.
    pub fn per_second(&self) -> impl ExactSizeIterator<Item = f64> {
        let seconds = self.width().as_secs_f64();
        let bins = self.departures().iter();
        bins.map(move |bin| bin.bytes as f64 / seconds)
    }
}

/// A level within a bin's span.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// When the bin starts.
    pub start: Instant,
    /// The highest level, however short its duration.
    pub maximum: u64,
    /// The level's mean over time.
    pub mean: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct LevelBin {
    maximum: u64,
    /// Level times picoseconds.
    area: u128,
    /// Picoseconds that `area` covers.
    covered: u64,
}

impl LevelBin {
    /// The level's mean over time. If the bin is only an instant, the maximum.
    fn mean(self) -> f64 {
        match (self.covered, self.area) {
            (0, _) => self.maximum as f64,
            // Most bins of most flows. This saves them a 128-bit division.
            (_, 0) => 0.0,
            (covered, area) => area as f64 / covered as f64,
        }
    }
}

impl Bin for LevelBin {
    fn merged(self, later: Self) -> Self {
        Self {
            maximum: self.maximum.max(later.maximum),
            area: self.area + later.area,
            covered: self.covered + later.covered,
        }
    }
}

/// A level over time, such as a backlog: each bin holds the maximum and the mean over time.
#[derive(Debug, Clone)]
pub struct LevelSeries {
    bins: Bins<LevelBin>,
    level: u64,
    since: Instant,
}

impl Default for LevelSeries {
    /// From time zero in up to 1,024 bins of 1 ms.
    fn default() -> Self {
        Self::new(Instant::ZERO, DEFAULT_WIDTH, DEFAULT_BINS)
    }
}

impl LevelSeries {
    /// From `start`, with level zero, in up to `bins` bins that begin with this width.
    ///
    /// # Panics
    /// If the width is zero or the number of bins zero or odd.
    pub fn new(start: Instant, width: Duration, bins: usize) -> Self {
        Self {
            bins: Bins::new(start, width, bins),
            level: 0,
            since: start,
        }
    }

    /// Takes the memory for all bins at the start, for a series that will need most of them.
    pub fn with_room(self) -> Self {
        Self {
            bins: self.bins.with_room(),
            ..self
        }
    }

    /// Sets the level to `value` from `now` on. A time before the last change counts as the last
    /// change.
    #[inline]
    pub fn level(&mut self, now: Instant, value: u64) {
        let now = now.max(self.since);
        self.advance(now);
        self.level = value;
        let bin = self.bins.at(now);
        bin.maximum = bin.maximum.max(value);
    }

    /// Extends the level unchanged until `now`. [`level`](Self::level) calls this itself, so you
    /// need to call it only at the end of a run.
    #[inline]
    pub fn advance(&mut self, now: Instant) {
        if now > self.bins.last_until {
            self.cross_bins(now);
        } else {
            self.cover(now);
        }
    }

    /// The level in each bin from the start to the last one touched.
    pub fn levels(&self) -> impl ExactSizeIterator<Item = Level> {
        self.bins.bins.iter().enumerate().map(|(index, bin)| Level {
            start: self.bins.from(index),
            maximum: bin.maximum,
            mean: bin.mean(),
        })
    }

    /// Counts the level up to `until`, within the last bin or at its end.
    #[inline]
    fn cover(&mut self, until: Instant) {
        let span = until.since(self.since).as_picos();
        let last = self.bins.bins.len() - 1;
        let bin = &mut self.bins.bins[last];
        bin.area += u128::from(self.level) * u128::from(span);
        bin.covered += span;
        self.since = self.since.max(until);
    }

    /// Counts the level bin by bin. Each bin is entered once: O(1) amortised over bins and
    /// doublings.
    fn cross_bins(&mut self, now: Instant) {
        // Widening first limits the steps to the number of bins.
        self.bins.widen_for(now);
        while now > self.bins.last_until {
            self.cover(self.bins.last_until);
            self.bins.push(LevelBin {
                maximum: self.level,
                ..LevelBin::default()
            });
        }
        self.cover(now);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    const fn nanos(nanos: u64) -> Duration {
        Duration::from_nanos(nanos)
    }

    /// Bytes, bin by bin.
    fn sums(series: &DepartureSeries) -> Vec<u64> {
        series.departures().iter().map(|bin| bin.bytes).collect()
    }

    #[test]
    fn bins_double_when_time_runs_beyond_them() {
        let mut series = DepartureSeries::new(at(100), nanos(10), 4);
        for time in [100, 109, 110, 139] {
            series.depart(at(time), 1, Duration::ZERO);
        }
        assert_eq!(
            (sums(&series), series.width()),
            (vec![2, 1, 0, 1], nanos(10))
        );
        series.depart(at(140), 5, Duration::ZERO);
        assert_eq!((sums(&series), series.width()), (vec![3, 1, 5], nanos(20)));
        series.depart(at(99), 7, Duration::ZERO);
        assert_eq!(
            sums(&series),
            [10, 1, 5],
            "what is before the start counts in the first bin"
        );
        series.depart(at(100 + 10_000), 1, Duration::ZERO);
        assert_eq!(
            (sums(&series).iter().sum::<u64>(), series.width()),
            (17, nanos(2_560))
        );
        assert_eq!(series.per_second().next(), Some(16.0 / 2_560e-9));
    }

    /// Widening and merging keep all packets and the longest delay.
    #[test]
    fn departures_keep_their_delays() {
        let mut series = DepartureSeries::new(at(0), nanos(10), 4);
        series.depart(at(5), 100, nanos(2));
        series.depart(at(9), 50, nanos(8));
        series.depart(at(25), 10, nanos(3));
        let first = series.departures()[0];
        assert_eq!((first.bytes, first.packets), (150, 2));
        assert_eq!(
            (first.mean_delay(), first.longest_delay()),
            (Some(5e-9), Some(8e-9))
        );
        assert_eq!(series.departures()[1].mean_delay(), None);
        let mut other = DepartureSeries::new(at(0), nanos(10), 4);
        other.depart(at(15), 1, nanos(4));
        for series in [&mut series, &mut other] {
            series.advance(at(79));
        }
        series.merge(&other);
        assert_eq!((series.width(), series.departures().len()), (nanos(20), 4));
        let first = series.departures()[0];
        assert_eq!((first.bytes, first.packets), (151, 3));
        assert_eq!(first.longest_delay(), Some(8e-9));
        let told = first.mean_delay().unwrap();
        assert!((told - 14e-9 / 3.0).abs() < 1e-15, "{told}");
        assert_eq!(series.per_second().next(), Some(151.0 / 20e-9));
        assert_eq!(series.departures()[3].longest_delay(), None);
    }

    #[test]
    fn the_end_of_time_has_a_bin() {
        let mut series = DepartureSeries::default();
        series.depart(Instant::MAX, 1, Duration::ZERO);
        series.depart(Instant::MAX, 1, Duration::ZERO);
        series.depart(Instant::ZERO, 1, Duration::ZERO);
        assert_eq!(sums(&series).iter().sum::<u64>(), 3);
        let mut levels = LevelSeries::default();
        levels.level(Instant::ZERO, 3);
        levels.advance(Instant::MAX);
        assert!(
            levels
                .levels()
                .all(|level| level.mean == 3.0 && level.maximum == 3)
        );
    }

    #[test]
    fn a_level_is_averaged_over_time() {
        let mut series = LevelSeries::new(at(0), nanos(10), 4);
        series.level(at(5), 8);
        series.level(at(20), 2);
        series.level(at(22), 100);
        series.level(at(22), 0);
        series.advance(at(30));
        let levels: Vec<_> = series
            .levels()
            .map(|level| (level.maximum, level.mean))
            .collect();
        assert_eq!(levels, [(8, 4.0), (8, 8.0), (100, 0.4)]);
    }

    /// Integrates a step function from `from` to `until`, both in nanoseconds, and finds its
    /// maximum there.
    fn integrate(steps: &[(u64, u64)], from: u64, until: u64) -> (u64, f64) {
        let mut area = 0;
        let mut maximum = 0;
        for (index, &(start, value)) in steps.iter().enumerate() {
            let end = steps.get(index + 1).map_or(u64::MAX, |next| next.0);
            let span = end.min(until).saturating_sub(start.max(from));
            area += span * value;
            if span > 0 || (from..until).contains(&start) {
                maximum = maximum.max(value);
            }
        }
        (maximum, area as f64 / (until - from) as f64)
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_events(events in prop::collection::vec((0u64..3_000, 0u64..100), 1..200), bins in 1usize..9) {
            let mut series = DepartureSeries::new(at(17), nanos(3), 2 * bins);
            for &(time, amount) in &events {
                series.depart(at(time), amount, Duration::ZERO);
            }
            prop_assert!(sums(&series).len() <= 2 * bins);
            let width = series.width().as_nanos();
            for (index, &sum) in sums(&series).iter().enumerate() {
                let inside = |time: u64| time.saturating_sub(17) / width == index as u64;
                prop_assert_eq!(sum, events.iter().filter(|event| inside(event.0)).map(|event| event.1).sum::<u64>());
            }
        }

        #[test]
        fn levels_are_integrals_of_the_steps(gaps in prop::collection::vec((0u64..60, 0u64..100), 1..200), bins in 1usize..9) {
            let mut series = LevelSeries::new(at(17), nanos(3), 2 * bins);
            let mut steps = vec![(17, 0)];
            for &(gap, value) in &gaps {
                let time = steps[steps.len() - 1].0 + gap;
                steps.push((time, value));
                series.level(at(time), value);
            }
            let end = steps[steps.len() - 1].0 + 1;
            series.advance(at(end));
            let width = series.bins.width.as_nanos();
            let levels: Vec<_> = series.levels().collect();
            prop_assert!(levels.len() <= 2 * bins);
            for (index, level) in levels.iter().enumerate() {
                let from = 17 + width * index as u64;
                let (maximum, mean) = integrate(&steps, from, end.min(from + width));
                prop_assert_eq!(level.start, at(from));
                prop_assert_eq!(level.maximum, maximum, "bin {} of {:?}", index, levels);
                prop_assert!((level.mean - mean).abs() < 1e-9, "{} is {}", level.mean, mean);
            }
        }
    }
}
