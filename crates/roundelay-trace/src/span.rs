//! Span: the part of a capture's time that is replayed.

use std::collections::VecDeque;
use std::str::FromStr;

use roundelay::{Duration, Fault};

/// The part of a capture's time that is replayed: all of it without bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Time after the earliest packet from which packets are replayed.
    pub from: Option<Duration>,
    /// Time after the earliest packet before which packets are replayed.
    pub to: Option<Duration>,
    /// Only the part of this length with the most bytes.
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

    /// The first time and the time behind the last, in nanoseconds since the epoch, of a capture
    /// that starts at `start`.
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

/// A time with a unit, as `--from` takes it: `90s`, `5min`, `2h`, `300ms`.
///
/// # Errors
/// The text is no such time, or it is longer than 213 days.
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

/// A time with a unit, longer than a millisecond.
///
/// # Errors
/// See [`parse_time`]; or the time is shorter.
pub fn parse_length(text: &str) -> Result<Duration, Fault> {
    let length = parse_time(text)?;
    if length < Duration::from_millis(1) {
        return Err(wrong_time(text, "a millisecond or more, as in 60s"));
    }
    Ok(length)
}

/// Nanoseconds of a duration: less than 64 bits hold.
fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_picos() / 1000).unwrap_or(i64::MAX)
}

/// Finds the busiest part of a capture, from packets in the order of times.
#[derive(Debug)]
pub(crate) struct Busiest {
    length: i64,
    /// Packets of one hundredth of the length, by their first time.
    bins: VecDeque<(i64, u64)>,
    bytes: u64,
    most: Option<(u64, i64)>,
}

/// Parts of the length that are told apart.
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

    /// The first time of the busiest part and the time behind it; none without packets.
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
