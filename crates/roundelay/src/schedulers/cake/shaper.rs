//! The shaper: one point in time for the link and one for each tin, which every packet moves on by
//! its own time. It has no bucket. A packet may leave when the point has come, and lateness is made
//! up as long as packets wait.

use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The shaper of the link.
#[derive(Debug, Clone, Default)]
pub(super) struct Shaper {
    /// None: unlimited.
    pub(super) rate: Option<Rate>,
    /// When the next packet may leave.
    next: Instant,
    /// When the next packet may leave in any case. Drops that count as sent do not move it, so that
    /// they cannot stop the link. Each packet sent moves it by half as much again.
    failsafe: Instant,
}

impl Shaper {
    pub(super) fn new(rate: Option<Rate>) -> Self {
        Self {
            rate,
            ..Self::default()
        }
    }

    /// A packet comes to an empty queue. Time that has passed unused is lost.
    pub(super) fn start(&mut self, now: Instant) {
        if self.next < now {
            self.next = now;
            self.failsafe = now;
        }
    }

    /// When the next packet may leave. None: at once.
    #[inline]
    pub(super) fn ready_at(&self) -> Option<Instant> {
        self.rate.map(|_| self.next.min(self.failsafe))
    }

    /// A packet of `len` bytes leaves, or is dropped and counts as sent.
    #[inline]
    pub(super) fn advance(&mut self, len: u32, is_sent: bool) {
        let Some(rate) = self.rate else { return };
        let time = rate.time_of(len.into());
        // The deficit-mode shaper: the next packet waits for this one's time on the link.
        self.next += time;
        if is_sent {
            self.failsafe += time + Duration::from_picos(time.as_picos() / 2);
        }
    }
}

/// A tin's shaper. It delays nothing, and tells whether the tin keeps to its part of the rate.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    /// None: unlimited.
    rate: Option<Rate>,
    /// When the tin's next packet is due.
    pub(super) next: Instant,
}

impl Schedule {
    pub(super) const fn new(rate: Option<Rate>) -> Self {
        Self {
            rate,
            next: Instant::ZERO,
        }
    }

    /// A packet comes to the empty tin.
    pub(super) fn start(&mut self, now: Instant) {
        self.next = self.next.max(now);
    }

    /// A packet of `len` bytes leaves, or is dropped and counts as sent. If the tin is behind its
    /// schedule, the schedule moves on by the packet's time only, so that the tin can make up.
    /// Otherwise the next packet is due no earlier than this one's time from now.
    #[inline]
    pub(super) fn advance(&mut self, len: u32, now: Instant) {
        let Some(rate) = self.rate else { return };
        let time = rate.time_of(len.into());
        if self.next < now {
            // Within its threshold rate.
            self.next += time;
        } else {
            self.next = self.next.max(now + time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    /// 8 Mbit/s: a microsecond for each byte.
    fn rate() -> Option<Rate> {
        Rate::from_bits_per_second(8_000_000)
    }

    #[test]
    fn lateness_is_made_up_and_idle_time_is_lost() {
        let mut shaper = Shaper::new(rate());
        shaper.start(micros(10));
        shaper.advance(1000, true);
        // The packet due at 1010 leaves late, but the one after is due as if it had not.
        assert_eq!(shaper.ready_at(), Some(micros(1010)));
        shaper.advance(1000, true);
        assert_eq!(shaper.ready_at(), Some(micros(2010)));
        shaper.start(micros(2000));
        assert_eq!(
            shaper.ready_at(),
            Some(micros(2010)),
            "the link is not free before"
        );
        shaper.start(micros(5000));
        assert_eq!(shaper.ready_at(), Some(micros(5000)));
    }

    #[test]
    fn drops_that_count_as_sent_cannot_stop_the_link() {
        let mut shaper = Shaper::new(rate());
        shaper.advance(1000, true);
        (0..100).for_each(|_| shaper.advance(1000, false));
        assert_eq!(shaper.ready_at(), Some(micros(1500)));
    }
}
