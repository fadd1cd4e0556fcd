//! LEDBAT congestion control: yields to others by keeping the delay that it adds at a target (RFC
//! 6817).
//!
//! | RFC 6817 | here |
//! |---|---|
//! | TARGET, section 2.4.2: at most 100 ms | `target` |
//! | GAIN, section 2.4.2: at most 1, so that the window grows no faster than Reno's | `gain`; RFC 7928, section 5.4, asks for 10 |
//! | ALLOWED_INCREASE, 1 | [`ALLOWED_INCREASE`] |
//! | MIN_CWND, 2 | [`LEAST_WINDOW`] |
//! | BASE_HISTORY, 10 minutes | [`BASE_HISTORY`] |
//! | CURRENT_FILTER, the minimum of 4 samples | [`CURRENT_FILTER`] |
//!
//! Guarantees, tested in `tests/theorems/ledbat.rs`: alone on a link, the delay that it adds stays
//! around the target; with a gain of 1 the window never grows faster than Reno's, and with any gain
//! never faster than in slow start; a loss halves the window.
//!
//! The sender computes each one-way delay from the timestamps of an acknowledgement: when it left
//! the receiver, less when the data left the sender. Both clocks are one here, and the RFC needs
//! differences alone. A receiver that delays acknowledgements adds its wait to the delay.

use std::collections::VecDeque;

use roundelay::{Duration, Instant};

use crate::custom::{CongestionControl, Feedback};

/// Segments by which the window may exceed the flight.
const ALLOWED_INCREASE: u64 = 1;
/// The smallest window in segments, but for the one after a timeout.
const LEAST_WINDOW: u64 = 2;
/// Minutes whose least delays are kept.
const BASE_HISTORY: usize = 10;
/// Samples of which the least is the current delay.
const CURRENT_FILTER: usize = 4;
const MINUTE: Duration = Duration::from_secs(60);

/// What LEDBAT keeps for a connection.
#[derive(Debug, Clone)]
pub(crate) struct Ledbat {
    target: Duration,
    gain: u32,
    /// The least one-way delay of each of the last minutes, the current one last.
    base: VecDeque<Duration>,
    /// When the current minute began.
    minute: Instant,
    /// The last one-way delays.
    current: VecDeque<Duration>,
    /// What the window lacks of the law because windows are whole bytes, in parts of `target` times
    /// a byte times a byte.
    rest: i128,
}

impl Ledbat {
    pub(crate) fn new(target: Duration, gain: u32) -> Self {
        Self {
            target,
            gain,
            base: VecDeque::new(),
            minute: Instant::ZERO,
            current: VecDeque::new(),
            rest: 0,
        }
    }

    /// An acknowledgement tells of a one-way delay: update_base_delay and update_current_delay.
    pub(crate) fn note_delay(&mut self, now: Instant, delay: Duration) {
        if self.base.is_empty() || now.since(self.minute) >= MINUTE {
            self.minute = now;
            self.base.push_back(delay);
            if self.base.len() > BASE_HISTORY {
                self.base.pop_front();
            }
        } else if let Some(least) = self.base.back_mut() {
            *least = delay.min(*least);
        }
        self.current.push_back(delay);
        if self.current.len() > CURRENT_FILTER {
            self.current.pop_front();
        }
    }

    /// The delay that queues add now. None before the first sample.
    fn queuing_delay(&self) -> Option<Duration> {
        let base = *self.base.iter().min()?;
        let current = *self.current.iter().min()?;
        Some(current.max(base) - base)
    }

    /// The law: cwnd += GAIN (TARGET - queuing_delay) / TARGET * bytes_newly_acked * MSS / cwnd.
    fn follow(&mut self, feedback: &Feedback) -> u64 {
        let Feedback {
            window,
            acknowledged,
            segment_len,
            in_flight,
            ..
        } = *feedback;
        let Some(delay) = self.queuing_delay() else {
            return window;
        };
        let target = i128::from(self.target.as_picos());
        let off_target = target - i128::from(delay.as_picos());
        let whole = target * i128::from(window);
        let change =
            i128::from(self.gain) * off_target * i128::from(acknowledged) * i128::from(segment_len)
                + self.rest;
        self.rest = change.rem_euclid(whole);
        let least = LEAST_WINDOW * segment_len;
        let wanted = i128::from(window) + change.div_euclid(whole);
        let flight = in_flight + acknowledged;
        let most = (flight + ALLOWED_INCREASE * segment_len).max(least);
        wanted.clamp(i128::from(least), i128::from(most)) as u64
    }
}

impl CongestionControl for Ledbat {
    fn on_ack(&mut self, feedback: &Feedback) -> u64 {
        self.follow(feedback)
    }

    /// At most once a round trip: cwnd = min(cwnd, max(cwnd / 2, MIN_CWND * MSS)).
    fn on_loss(&mut self, feedback: &Feedback) -> u64 {
        self.rest = 0;
        let half = (feedback.window / 2).max(LEAST_WINDOW * feedback.segment_len);
        half.min(feedback.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Duration = Duration::from_millis(100);

    fn feedback(window: u64) -> Feedback {
        Feedback {
            now: Instant::ZERO,
            window,
            threshold: u64::MAX,
            segment_len: 1000,
            acknowledged: 1000,
            in_flight: window,
            round_trip: None,
            smoothed_round_trip: None,
        }
    }

    fn delayed(gain: u32, base: u64, current: u64) -> Ledbat {
        let mut ledbat = Ledbat::new(TARGET, gain);
        ledbat.note_delay(Instant::ZERO, Duration::from_millis(base));
        for _ in 0..CURRENT_FILTER {
            ledbat.note_delay(Instant::ZERO, Duration::from_millis(current));
        }
        ledbat
    }

    /// The window of ten segments grows by 100 bytes an acknowledgement without queue, by half of it
    /// at half the target, stays at the target, and shrinks as fast at twice the target.
    #[test]
    fn the_window_follows_the_distance_from_the_target() {
        for (current, window) in [(20, 10_100), (70, 10_050), (120, 10_000), (220, 9_900)] {
            let mut ledbat = delayed(1, 20, current);
            assert_eq!(ledbat.on_ack(&feedback(10_000)), window, "{current}");
        }
        assert_eq!(delayed(10, 20, 20).on_ack(&feedback(10_000)), 11_000);
    }

    /// A third of a byte three times is a byte.
    #[test]
    fn no_part_of_a_byte_is_lost() {
        let mut ledbat = delayed(1, 20, 20);
        let mut window = 3_000_000;
        for _ in 0..3 {
            window = ledbat.on_ack(&feedback(window));
        }
        assert_eq!(window, 3_000_000 + 1, "1000 * 1000 / 3000000 is a third");
    }

    #[test]
    fn the_window_stays_within_a_segment_of_the_flight() {
        let limited = Feedback {
            in_flight: 2000,
            ..feedback(10_000)
        };
        assert_eq!(delayed(1, 20, 20).on_ack(&limited), 2000 + 1000 + 1000);
        assert_eq!(delayed(1, 20, 900).on_ack(&feedback(2_100)), 2_000);
    }

    /// A base delay that no longer holds is forgotten after ten minutes.
    #[test]
    fn the_base_delay_is_of_the_last_ten_minutes() {
        let mut ledbat = delayed(1, 20, 50);
        for minute in 1..10 {
            let now = Instant::ZERO + Duration::from_secs(60 * minute);
            ledbat.note_delay(now, Duration::from_millis(50));
            assert_eq!(ledbat.queuing_delay(), Some(Duration::from_millis(30)));
        }
        let now = Instant::ZERO + Duration::from_secs(600);
        ledbat.note_delay(now, Duration::from_millis(50));
        assert_eq!(ledbat.queuing_delay(), Some(Duration::ZERO));
    }

    #[test]
    fn a_loss_halves_the_window_down_to_two_segments() {
        for (window, half) in [
            (10_000, 5_000),
            (3_000, 2_000),
            (2_000, 2_000),
            (1_000, 1_000),
        ] {
            assert_eq!(delayed(1, 20, 20).on_loss(&feedback(window)), half);
        }
    }
}
