//! Time types: [`Instant`], [`Duration`] and [`Slack`] in picoseconds. Time is always an argument,
//! because nothing in this crate reads a clock.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A point in time: picoseconds since the caller's zero.
///
/// A `u64` of picoseconds ends after 213 days. Your driver must handle longer spans, because
/// arithmetic here saturates and never wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A span of time in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

/// Time that a packet can still lose before it is late, in picoseconds. Negative for a late packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Slack(i64);

const PICOS_PER_NANO: u64 = 1_000;
const PICOS_PER_SECOND: f64 = 1e12;

impl Instant {
    /// The caller's zero.
    pub const ZERO: Self = Self(0);
    /// The largest instant: 213 days after zero.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `picos` picoseconds after zero.
    #[inline]
    pub const fn from_picos(picos: u64) -> Self {
        Self(picos)
    }

    /// The instant `nanos` nanoseconds after zero, at most [`Instant::MAX`].
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos.saturating_mul(PICOS_PER_NANO))
    }

    /// Picoseconds since zero.
    #[inline]
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// Seconds since zero, for display.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PICOS_PER_SECOND
    }

    /// The time from `earlier` to here. Zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The longest span: 213 days.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `picos` picoseconds.
    #[inline]
    pub const fn from_picos(picos: u64) -> Self {
        Self(picos)
    }

    /// A span of `nanos` nanoseconds, at most [`Duration::MAX`].
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos.saturating_mul(PICOS_PER_NANO))
    }

    /// A span of `micros` microseconds, at most [`Duration::MAX`].
    #[inline]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(PICOS_PER_NANO * 1_000))
    }

    /// A span of `millis` milliseconds, at most [`Duration::MAX`].
    #[inline]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(PICOS_PER_NANO * 1_000_000))
    }

    /// A span of `secs` seconds, at most [`Duration::MAX`].
    #[inline]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(PICOS_PER_NANO * 1_000_000_000))
    }

    /// Whether this is [`Duration::MAX`], where arithmetic saturates. The true value may be longer,
    /// so it is no upper bound.
    #[inline]
    pub const fn is_saturated(self) -> bool {
        self.0 == u64::MAX
    }

    /// Picoseconds.
    #[inline]
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0 / PICOS_PER_NANO
    }

    /// Seconds, for display.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PICOS_PER_SECOND
    }
}

/// At most [`Duration::MAX`].
impl From<core::time::Duration> for Duration {
    fn from(span: core::time::Duration) -> Self {
        Self(
            u64::try_from(span.as_nanos().saturating_mul(PICOS_PER_NANO.into()))
                .unwrap_or(u64::MAX),
        )
    }
}

/// Rounded down to nanoseconds.
impl From<Duration> for core::time::Duration {
    fn from(span: Duration) -> Self {
        Self::from_nanos(span.as_nanos())
    }
}

impl Slack {
    /// Just in time.
    pub const ZERO: Self = Self(0);

    /// From picoseconds.
    #[inline]
    pub const fn from_picos(picos: i64) -> Self {
        Self(picos)
    }

    /// A slack of this span, saturating at 106 days.
    #[inline]
    pub const fn of(span: Duration) -> Self {
        Self(if span.0 > i64::MAX as u64 {
            i64::MAX
        } else {
            span.0 as i64
        })
    }

    /// Picoseconds.
    #[inline]
    pub const fn as_picos(self) -> i64 {
        self.0
    }

    /// The slack left after a wait.
    #[inline]
    #[must_use]
    pub const fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_sub_unsigned(wait.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Duration {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Duration {
    /// In the largest unit without a fraction: `5ms`. So 1.5 s is written `1500ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 5] = [
            ("s", 1_000_000_000_000),
            ("ms", 1_000_000_000),
            ("us", 1_000_000),
            ("ns", 1_000),
            ("ps", 1),
        ];
        let (unit, size) = UNITS
            .into_iter()
            .find(|(_, size)| self.0.is_multiple_of(*size))
            .unwrap_or(UNITS[4]);
        write!(f, "{}{unit}", self.0 / size)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn spans_of_the_standard_library_are_read_and_given() {
        use core::time::Duration as Standard;
        assert_eq!(
            Duration::from(Standard::from_millis(5)),
            Duration::from_millis(5)
        );
        assert_eq!(Duration::from(Standard::MAX), Duration::MAX);
        assert_eq!(
            Standard::from(Duration::from_picos(2_999)),
            Standard::from_nanos(2)
        );
    }

    #[test]
    fn units_agree_and_saturate() {
        assert_eq!(Duration::from_secs(3), Duration::from_millis(3_000));
        assert_eq!(Duration::from_millis(3), Duration::from_micros(3_000));
        assert_eq!(Duration::from_micros(3), Duration::from_nanos(3_000));
        assert_eq!(Duration::from_nanos(3), Duration::from_picos(3_000));
        assert_eq!(
            Instant::ZERO + Duration::from_nanos(3),
            Instant::from_nanos(3)
        );
        let of = [
            Duration::from_nanos,
            Duration::from_micros,
            Duration::from_millis,
            Duration::from_secs,
        ];
        assert_eq!(of.map(|of| of(u64::MAX)), [Duration::MAX; 4]);
        assert_eq!(Instant::from_nanos(u64::MAX), Instant::MAX);
    }

    #[test]
    fn whole_nanoseconds_are_rounded_down_and_seconds_are_not_rounded() {
        let span = Duration::from_picos(1_500_000_000_999);
        assert_eq!(
            (span.as_nanos(), span.as_picos()),
            (1_500_000_000, 1_500_000_000_999)
        );
        let half = Duration::from_millis(2_500);
        assert_eq!(
            (half.as_secs_f64(), (Instant::ZERO + half).as_secs_f64()),
            (2.5, 2.5)
        );
    }

    #[test]
    fn differences_end_at_zero() {
        let short = Duration::from_millis(2);
        let long = Duration::from_millis(5);
        assert_eq!(
            (long - short, short - long),
            (Duration::from_millis(3), Duration::ZERO)
        );
        let early = Instant::ZERO + short;
        let late = Instant::ZERO + long;
        assert_eq!(
            (late.since(early), early.since(late)),
            (Duration::from_millis(3), Duration::ZERO)
        );
    }

    #[test]
    fn slack_becomes_negative_and_stops_at_what_can_be_told() {
        let slack = Slack::of(Duration::from_nanos(5));
        assert_eq!(
            (slack, slack.after(Duration::from_nanos(7))),
            (Slack::from_picos(5_000), Slack::from_picos(-2_000))
        );
        assert_eq!(Slack::of(Duration::MAX).as_picos(), i64::MAX);
        assert_eq!(
            Slack::of(Duration::MAX)
                .after(Duration::MAX)
                .after(Duration::MAX)
                .as_picos(),
            i64::MIN
        );
    }

    #[test]
    fn an_instant_is_written_as_the_time_since_zero() {
        assert_eq!(
            (Instant::ZERO + Duration::from_millis(1_500)).to_string(),
            "1500ms"
        );
    }
}
