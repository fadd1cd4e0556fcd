//! Span: which part of a capture's time is replayed.

use std::collections::VecDeque;
use std::str::FromStr;

use roundelay::{Duration, Fault};

/// Which part of a capture's time is replayed. Without bounds, all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// How long after the earliest packet the replay starts.
    pub from: Option<Duration>,
    /// How long after the earliest packet the replay ends.
    pub to: Option<Duration>,
    /// Only the part with this length that has the most bytes.
    pub busiest: Option<Duration>,
}

impl Span {
    /// Whether the whole capture is replayed.
    pub(crate) fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    /// Whether `from` or `to` is given.
    pub(crate) const fn has_bounds(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// The first time and the time after the last, in nanoseconds since the epoch, if the capture
    /// starts at `start`.
    pub(crate) fn times(&self, start: i64) -> (i64, i64) {
        let from = match self.from {
            Some(time) => start.saturating_add(nanos(time)),
            None => i64::MIN,
        };
        let to = match self.to {
            Some(time) => start.saturating_add(nanos(time)),
            None => i64::MAX,
        };
        (from, to)
    }
}

/// Reads a time with a unit, as `--from` takes it: `90s`, `5min`, `2h`, `300ms`.
///
/// # Errors
/// The text is no such time, or is longer than 213 days.
pub fn parse_time(text: &str) -> Result<Duration, Fault> {
    read_time(text).ok_or_else(|| {
        wrong_time(
            text,
            "a time with a unit, h, min, s or ms, as in 90s, up to 213 days",
        )
    })
}

fn wrong_time(text: &str, legal: &str) -> Fault {
    Fault::expected(format_args!("`{text}`"), legal)
        .behind("time ")
        .with_given(text)
}

fn read_time(text: &str) -> Option<Duration> {
    for (unit, seconds) in [("min", 60), ("h", 3600)] {
        let Some(number) = text.strip_suffix(unit) else {
            continue;
        };
        let time = Duration::from_str(&format!("{number}s")).ok()?;
        let picos = time.as_picos().checked_mul(seconds)?;
        return Some(Duration::from_picos(picos));
    }
    if !text.contains(|letter: char| letter.is_ascii_alphabetic()) {
        return None;
    }
    Duration::from_str(text).ok()
}

/// Reads a time with a unit that is longer than a millisecond.
///
/// # Errors
/// See [`parse_time`], or the time is shorter.
pub fn parse_length(text: &str) -> Result<Duration, Fault> {
    let length = parse_time(text)?;
    if length < Duration::from_millis(1) {
        return Err(wrong_time(text, "a millisecond or more, as in 60s"));
    }
    Ok(length)
}

/// A duration's nanoseconds, which fit into less than 64 bits.
fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_picos() / 1000).unwrap_or(i64::MAX)
}

/// Finds a capture's busiest part. Packets must come in the order of their times.
#[derive(Debug)]
pub(crate) struct Busiest {
    length: i64,
    /// Bytes of packets within a hundredth of the length, with the first one's time.
    bins: VecDeque<(i64, u64)>,
    bytes: u64,
    most: Option<(u64, i64)>,
}

/// How many parts of the length we tell apart.
const BINS: i64 = 100;

impl Busiest {
    pub(crate) fn new(length: Duration) -> Self {
        Self {
            length: nanos(length),
            bins: VecDeque::new(),
            bytes: 0,
            most: None,
        }
    }

    pub(crate) fn count(&mut self, time: i64, bytes: u64) {
        while let Some((first, before)) = self.bins.front()
            && time.saturating_sub(*first) >= self.length
        {
            self.bytes -= before;
            self.bins.pop_front();
        }
        self.bytes += bytes;
        match self.bins.back_mut() {
            Some((first, before)) if time - *first < self.length / BINS => *before += bytes,
            _ => self.bins.push_back((time, bytes)),
        }
        let start = self.bins.front().map_or(time, |(first, _)| *first);
        if self.most.is_none_or(|(most, _)| self.bytes > most) {
            self.most = Some((self.bytes, start));
        }
    }

    /// When the busiest part starts, and the time after it. None without packets.
    pub(crate) fn times(&self) -> Option<(i64, i64)> {
        let (_, start) = self.most?;
        Some((start, start.saturating_add(self.length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_part_starts_at_its_first_packet() {
        let mut busiest = Busiest::new(Duration::from_millis(1000));
        for (millis, bytes) in [
            (0, 10),
            (900, 10),
            (5000, 8),
            (5400, 8),
            (5999, 8),
            (6000, 9),
        ] {
            busiest.count(millis * 1_000_000, bytes);
        }
        // From 5.4 s on there are 25 bytes, from 5 s on 24.
        assert_eq!(busiest.times(), Some((5_400_000_000, 6_400_000_000)));
    }

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("90s"), Ok(Duration::from_millis(90_000)));
        assert_eq!(parse_time("1.5min"), Ok(Duration::from_millis(90_000)));
        assert_eq!(parse_time("2h"), Ok(Duration::from_millis(7_200_000)));
        for wrong in ["90", "", "s", "-1s", "9999h", "1day"] {
            let message = parse_time(wrong).unwrap_err();
            assert!(
                message.message().contains("expected a time with a unit"),
                "{message}"
            );
        }
        assert!(
            parse_length("1us")
                .unwrap_err()
                .message()
                .contains("a millisecond or more")
        );
    }
}
