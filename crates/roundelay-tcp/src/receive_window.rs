//! A receive window that grows with what arrives in a round trip. M. Fisk, W. Feng, "Dynamic
//! Right-Sizing in TCP", LACSI 2001.
//!
//! The paper offers twice what arrived in the last round trip, because a slow start doubles. But an
//! offer stands for a whole round trip, in which a slow start doubles once more. So growth counts
//! too, twice, as in Linux: six times what arrived while arrivals double, and twice what arrived
//! once they stay. Sixteen segments are added. The receiver knows the round trip because its
//! timestamps are echoed. Data is read at once, so what has arrived in order is what the
//! application has read.

use roundelay::{Duration, Instant};

use crate::config::Config;

/// The first window in bytes, and the largest number that a header can hold. It is not scaled,
/// because a SYN tells a window without scale (RFC 7323, section 2.2).
const FIRST: u64 = u16::MAX as u64;
/// Segments offered beyond the rule.
const SPARE: u64 = 16;

/// What a receiver offers, in bytes beyond the last acknowledgement.
#[derive(Debug, Clone)]
pub(crate) struct ReceiveWindow {
    /// Never less than before, and never more than `most`.
    bytes: u64,
    most: u64,
    spare: u64,
    scale: u32,
    /// The smoothed round trip, and which echo was measured last.
    round_trip: Option<Duration>,
    echoed: Instant,
    /// The round trip in progress: when it started and how many bytes had arrived by then. Then how
    /// many bytes came in the round trip before it.
    round_at: Instant,
    round_from: u64,
    before: u64,
}

/// By how much windows are shifted in headers (RFC 7323, section 2.3): the least that leaves room
/// for `most`.
pub(crate) fn scale(most: u64) -> u32 {
    let mut scale = 0;
    while scale < 14 && most > FIRST << scale {
        scale += 1;
    }
    scale
}

/// The window for a sender that has not heard of any.
pub(crate) fn first(config: &Config) -> u64 {
    FIRST.min(config.receive_window_bytes())
}

impl ReceiveWindow {
    pub(crate) fn new(config: &Config) -> Self {
        let most = config.receive_window_bytes();
        Self {
            bytes: first(config),
            most,
            spare: SPARE * u64::from(config.segment_len),
            scale: scale(most),
            round_trip: None,
            echoed: Instant::ZERO,
            round_at: Instant::ZERO,
            round_from: 0,
            before: 0,
        }
    }

    /// The window in units of the scale, rounded up, because what cannot be told exactly is still
    /// offered.
    fn units(&self) -> u64 {
        self.bytes.div_ceil(1 << self.scale)
    }

    /// Bytes accepted beyond the next byte expected.
    pub(crate) fn accepted(&self) -> u64 {
        self.units() << self.scale
    }

    /// Which number stands in the header of an acknowledgement, or of a SYN-ACK.
    pub(crate) fn advertised(&self, is_syn: bool) -> u16 {
        let number = if is_syn { self.bytes } else { self.units() };
        number.min(FIRST) as u16
    }

    /// Data has come, and now all bytes before `next` are there.
    pub(crate) fn on_data(&mut self, now: Instant, echo: Instant, next: u64) {
        if echo > self.echoed {
            self.echoed = echo;
            self.measure(now.since(echo));
        }
        let Some(round_trip) = self.round_trip else {
            return;
        };
        let arrived = next - self.round_from;
        if now.since(self.round_at) < round_trip || arrived == 0 {
            return;
        }
        let growth = if self.before == 0 {
            arrived
        } else {
            let more = arrived.saturating_sub(self.before);
            let share = u128::from(more) * u128::from(arrived) / u128::from(self.before);
            arrived.min(u64::try_from(share).unwrap_or(u64::MAX))
        };
        let offer = (2 * (arrived + 2 * growth) + self.spare).min(self.most);
        self.bytes = self.bytes.max(offer);
        self.round_at = now;
        self.round_from = next;
        self.before = arrived;
    }

    /// Smooths by an eighth, as senders do (RFC 6298).
    fn measure(&mut self, sample: Duration) {
        let Some(before) = self.round_trip else {
            self.round_trip = Some(sample);
            return;
        };
        let picos = before.as_picos() / 8 * 7 + sample.as_picos() / 8;
        self.round_trip = Some(Duration::from_picos(picos));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn window(segments: u32) -> ReceiveWindow {
        ReceiveWindow::new(&Config {
            segment_len: 1000,
            receive_window: segments,
            ..Config::linux()
        })
    }

    #[test]
    fn the_scale_is_the_least_that_has_room() {
        assert_eq!(
            [1, 65_535, 65_536, 131_070, 131_071].map(scale),
            [0, 0, 1, 1, 2]
        );
        assert_eq!(scale(u64::from(u16::MAX) << 14), 14);
        assert_eq!(scale(u64::MAX), 14);
    }

    /// In round trips of 100 ms, 29 kB arrive and then 60 kB, so six times as much and 16 kB are
    /// offered. When 60 kB arrive again, it would be twice as much, which is less, so the window
    /// stays.
    #[test]
    fn it_offers_room_for_growth() {
        let mut window = window(2000);
        assert_eq!((window.bytes, window.advertised(true)), (65_535, 65_535));
        window.on_data(at(100), at(50), 1000);
        let mut offered = Vec::new();
        for (now, next) in [(200, 30_000), (300, 90_000), (400, 150_000), (450, 900_000)] {
            window.on_data(at(now), at(now - 100), next);
            offered.push(window.bytes);
        }
        assert_eq!(offered, [6 * 29_000 + 16_000, 376_000, 376_000, 376_000]);
        assert_eq!(window.scale, 5);
        assert_eq!(window.accepted(), 376_000);
        assert_eq!(window.advertised(false), 11_750);
    }

    #[test]
    fn it_grows_to_the_most_and_never_shrinks() {
        let mut window = window(100);
        assert_eq!(window.scale, 1);
        window.on_data(at(100), at(50), 1000);
        let mut before = window.bytes;
        for round in 1..100 {
            let next = 10_000_000 + 1000 * round;
            window.on_data(at(100 + 100 * round), at(50 + 100 * round), next);
            assert!(window.bytes >= before);
            before = window.bytes;
        }
        assert_eq!((window.bytes, window.accepted()), (100_000, 100_000));
    }

    /// The scale cannot tell it exactly, but it is offered, so a window of one segment stays one.
    #[test]
    fn windows_are_rounded_up() {
        let long = ReceiveWindow::new(&Config {
            segment_len: 65_535,
            receive_window: 100,
            ..Config::linux()
        });
        assert_eq!(long.scale, 7);
        assert_eq!((long.advertised(false), long.accepted()), (512, 65_536));
        assert_eq!(window(1).accepted(), 1000);
    }
}
