//! Link trace: the times at which a link can deliver a full packet, as mahimahi's mm-link reads them.
//!
//! A trace has a line for each such time, in milliseconds from its start; it begins again after its
//! last line. At each time the link carries the bytes of a full packet: of one packet, the rest of
//! one and the start of the next, or several short ones. What no packet uses then is lost. The queue
//! chooses a packet when the link begins to carry it, not before.

use roundelay::{Duration, Instant, LinkLayer};

use crate::settings::SettingsError;

/// Bytes of a full packet of Ethernet, and of the IP packet in it.
const FRAME: u32 = 1514;
const PACKET: u32 = 1500;
/// The longest trace: 24 days.
const LONGEST: u64 = 1 << 31;

/// A trace, and how far the link has come.
#[derive(Debug, Clone)]
pub(crate) struct LinkTrace {
    /// Times in milliseconds, never falling.
    times: Vec<u64>,
    /// Bytes at each time.
    bytes: u64,
    /// Number of the time at which the link carried bytes last, counted over all rounds.
    number: u64,
    /// Bytes carried then.
    used: u64,
}

impl LinkTrace {
    /// Reads a trace; `name` is for messages.
    ///
    /// # Errors
    /// A line is no time, with the file, the line and what is legal.
    pub(crate) fn parse(name: &str, text: &str, layer: LinkLayer) -> Result<Self, SettingsError> {
        let mut times = Vec::new();
        let mut last = 0;
        for (number, line) in text.lines().enumerate() {
            let wrong = |expected: String| {
                let line: String = line.chars().take(40).collect();
                SettingsError(format!(
                    "{name}:{}: '{line}': expected {expected}",
                    number + 1
                ))
            };
            let time = line.trim().parse().ok().filter(|time| *time <= LONGEST);
            let Some(time) = time else {
                return Err(wrong(format!(
                    "a time in whole milliseconds, 0 to {LONGEST}, at which the link delivers a packet"
                )));
            };
            if time < last {
                return Err(wrong(format!(
                    "a time not before that of the line before, {last}"
                )));
            }
            last = time;
            times.push(time);
        }
        if last == 0 {
            return Err(SettingsError(format!(
                "{name}: a link trace needs a line with a time above 0: expected times in milliseconds, one a line"
            )));
        }
        let full = if layer.raw { FRAME } else { PACKET };
        Ok(Self {
            times,
            bytes: layer.len_on_link(full).into(),
            number: 0,
            used: 0,
        })
    }

    /// Bits per second on average, at least 1.
    pub(crate) fn mean_rate(&self) -> u64 {
        let bits = self.times.len() as u128 * u128::from(self.bytes) * 8;
        let mean = bits * 1000 / u128::from(self.round());
        u64::try_from(mean).unwrap_or(u64::MAX).max(1)
    }

    /// Milliseconds of a round.
    fn round(&self) -> u64 {
        self.times.last().copied().unwrap_or(1)
    }

    /// The time with a number.
    fn time(&self, number: u64) -> Instant {
        let count = self.times.len() as u64;
        let millis = number / count * self.round() + self.times[(number % count) as usize];
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// The first number whose time is not before an instant.
    fn first_at(&self, from: Instant) -> u64 {
        let millis = from
            .as_picos()
            .div_ceil(Duration::from_millis(1).as_picos());
        let count = self.times.len() as u64;
        // The end of a round is the start of the next.
        let rounds = millis.saturating_sub(1) / self.round();
        let rest = millis - rounds * self.round();
        let place = self.times.partition_point(|time| *time < rest);
        rounds * count + place as u64
    }

    /// The first time from an instant on at which the link can carry a byte, and its number.
    fn seek(&self, from: Instant) -> (u64, Instant) {
        let has_more = self.used < self.bytes;
        let next = self.first_at(from).max(self.number);
        let number = if next == self.number && !has_more {
            next + 1
        } else {
            next
        };
        (number, self.time(number))
    }

    /// The first time from an instant on at which the link can begin to carry a packet.
    pub(crate) fn next(&self, from: Instant) -> Instant {
        self.seek(from).1
    }

    /// Carries a packet from an instant on: the time of its last byte.
    pub(crate) fn carry(&mut self, from: Instant, len: u32) -> Instant {
        let mut left = u64::from(len);
        let (number, mut end) = self.seek(from);
        if number != self.number {
            (self.number, self.used) = (number, 0);
        }
        loop {
            let now = left.min(self.bytes - self.used);
            self.used += now;
            left -= now;
            if left == 0 {
                return end;
            }
            (self.number, self.used) = (self.number + 1, 0);
            end = self.time(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn trace(text: &str) -> LinkTrace {
        LinkTrace::parse("x", text, LinkLayer::NONE).expect("a trace")
    }

    #[test]
    fn a_packet_takes_the_bytes_of_as_many_times_as_it_needs() {
        let mut trace = trace("2\n5\n5\n10\n");
        assert_eq!(trace.next(Instant::ZERO), millis(2));
        assert_eq!(trace.carry(millis(2), 1514), millis(2));
        // A half at 5, the rest and 757 more at 5 again.
        assert_eq!(trace.next(millis(2)), millis(5));
        assert_eq!(trace.carry(millis(5), 757), millis(5));
        assert_eq!(trace.carry(millis(5), 1514), millis(5));
        assert_eq!(
            trace.carry(millis(5), 758),
            millis(10),
            "a byte is too much"
        );
        // What is left of 10 is lost, as no packet was there; the second round begins.
        assert_eq!(trace.next(millis(11)), millis(12));
        assert_eq!(trace.carry(millis(12), 3 * 1514), millis(15));
        assert_eq!(trace.next(millis(15)), millis(20));
        assert_eq!(trace.next(millis(20 + 1)), millis(22));
    }

    #[test]
    fn a_time_of_zero_comes_once_at_the_start_and_then_with_the_end_of_each_round() {
        let mut trace = trace("0\n4\n");
        for expected in [0, 4, 4, 8, 8, 12] {
            let next = trace.next(Instant::ZERO);
            assert_eq!(next, millis(expected));
            trace.carry(next, 1514);
        }
    }

    #[test]
    fn the_mean_rate_is_that_of_full_packets() {
        // Two packets of 1514 bytes in 10 ms.
        let mean = trace("3\n10\n").mean_rate();
        assert_eq!(mean, 2 * 1514 * 8 * 100);
        let layer = LinkLayer::with_overhead(20);
        let trace = LinkTrace::parse("x", "10\n", layer).expect("a trace");
        assert_eq!(trace.mean_rate(), 1520 * 8 * 100);
    }

    #[test]
    fn wrong_lines_are_told_with_file_line_and_what_is_legal() {
        for (text, expected) in [
            ("", "x: a link trace needs a line with a time above 0"),
            ("0\n0\n", "x: a link trace needs a line with a time above 0"),
            (
                "1\nfive\n",
                "x:2: 'five': expected a time in whole milliseconds, 0 to",
            ),
            (
                "1\n-5\n",
                "x:2: '-5': expected a time in whole milliseconds",
            ),
            (
                "1\n1.5\n",
                "x:2: '1.5': expected a time in whole milliseconds",
            ),
            ("99999999999\n", "x:1: '99999999999': expected a time"),
            (
                "7\n6\n",
                "x:2: '6': expected a time not before that of the line before, 7",
            ),
        ] {
            let error = LinkTrace::parse("x", text, LinkLayer::NONE).expect_err(text);
            assert!(error.0.starts_with(expected), "{text}: {error}");
        }
    }
}
