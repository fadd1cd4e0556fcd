//! Policers: a path that drops a fifth of what a sender sends, at the same rate in two intervals, is
//! taken to be policed. BBR then goes by that rate for a time, and does not probe for more.
//!
//! This is no part of BBR's draft, but of Linux's first version ("long-term" bandwidth), after T.
//! Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016. The constants are
//! Linux's. A short buffer that several senders fill looks the same.

use roundelay::{Duration, Instant};

/// An interval has so many rounds at least, and four times as many at most.
const ROUNDS: u32 = 4;
/// Of 256 bytes that arrive, so many more are lost in an interval that tells of a policer.
const LOST: u64 = 50;
/// Rates of two intervals are alike if they differ by this part, or by so many bytes a second.
const ALIKE_PART: u64 = 8;
const ALIKE: u64 = 500;
/// For how many rounds the rate counts.
const COUNTS_FOR: u32 = 48;
/// Linux counts the time of an interval in milliseconds.
const TICK: Duration = Duration::from_millis(1);

/// What is counted for a connection at some time: bytes that have arrived, and bytes lost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    /// When bytes last arrived.
    pub(crate) at: Instant,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
}

/// What an acknowledgement or a timeout tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tells {
    pub(crate) tally: Tally,
    /// Whether it tells of losses.
    pub(crate) loses: bool,
    pub(crate) is_round_start: bool,
    pub(crate) is_app_limited: bool,
}

/// What a sender keeps of a policer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Policer {
    /// The rate of the last interval, bytes a second; 0 before there is one. Whether it counts.
    rate: u64,
    counts: bool,
    is_sampling: bool,
    /// The interval's beginning, and its rounds; rounds of the rate if it counts.
    begin: Tally,
    rounds: u32,
}

impl Policer {
    /// The policer's rate, if there is one.
    pub(crate) fn rate(&self) -> Option<u64> {
        self.counts.then_some(self.rate)
    }

    /// A round with the policer's rate begins. Returns whether it counts no more.
    pub(crate) fn is_over(&mut self, tally: Tally) -> bool {
        self.rounds += 1;
        let is_over = self.rounds >= COUNTS_FOR;
        if is_over {
            self.forget(tally);
        }
        is_over
    }

    /// Samples, while no rate counts. Returns whether one does from now on.
    pub(crate) fn sample(&mut self, tells: Tells) -> bool {
        let Tells { tally, .. } = tells;
        // The first loss tells that the policer has no tokens left.
        if !self.is_sampling {
            if !tells.loses {
                return false;
            }
            self.begin_interval(tally);
            self.is_sampling = true;
        }
        if tells.is_app_limited {
            self.forget(tally);
            return false;
        }
        self.rounds += u32::from(tells.is_round_start);
        if self.rounds > 4 * ROUNDS {
            self.forget(tally);
            return false;
        }
        if self.rounds < ROUNDS || !tells.loses {
            return false;
        }
        let lost = tally.lost - self.begin.lost;
        let delivered = tally.delivered - self.begin.delivered;
        let millis = tally.at.since(self.begin.at).as_picos() / TICK.as_picos();
        if delivered == 0 || lost * 256 < LOST * delivered || millis == 0 {
            return false;
        }
        self.end_interval(delivered.saturating_mul(1000) / millis, tally)
    }

    /// An interval with losses ends.
    fn end_interval(&mut self, rate: u64, tally: Tally) -> bool {
        let apart = rate.abs_diff(self.rate);
        if self.rate > 0 && (apart.saturating_mul(ALIKE_PART) <= self.rate || apart <= ALIKE) {
            self.rate = u64::midpoint(rate, self.rate);
            self.counts = true;
            self.rounds = 0;
            return true;
        }
        self.rate = rate;
        self.begin_interval(tally);
        false
    }

    fn begin_interval(&mut self, tally: Tally) {
        self.begin = tally;
        self.rounds = 0;
    }

    fn forget(&mut self, tally: Tally) {
        *self = Self::default();
        self.begin_interval(tally);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 100 ms in which 10,000 bytes arrive and some are lost.
    fn rounds(policer: &mut Policer, from: u64, lost: &[u64]) -> Vec<Option<u64>> {
        let mut tally = Tally::default();
        let mut rates = Vec::new();
        for (number, lost) in (from..).zip(lost) {
            tally.at = Instant::from_nanos(number * 100_000_000);
            tally.delivered = number * 10_000;
            tally.lost = number * lost;
            policer.sample(Tells {
                tally,
                loses: *lost > 0,
                is_round_start: true,
                is_app_limited: false,
            });
            rates.push(policer.rate());
        }
        rates
    }

    /// The first loss begins an interval of four rounds, and the next interval has the same rate.
    #[test]
    fn two_intervals_of_one_rate_tell_of_a_policer() {
        let mut policer = Policer::default();
        let rates = rounds(&mut policer, 1, &[2000; 8]);
        assert_eq!(rates[..7], [None; 7]);
        assert_eq!(rates[7], Some(100_000));
        let tally = Tally::default();
        let mut left = 1;
        while !policer.is_over(tally) {
            left += 1;
        }
        assert_eq!((left, policer.rate()), (COUNTS_FOR, None));
    }

    /// 50 of 256 are 1953 of 10,000.
    #[test]
    fn fewer_losses_are_none_of_a_policer() {
        for (lost, found) in [(1954, true), (1953, false), (0, false)] {
            let rates = rounds(&mut Policer::default(), 1, &[lost; 60]);
            let has_rate = rates.iter().any(Option::is_some);
            assert_eq!(has_rate, found, "{lost} of 10,000");
        }
    }

    #[test]
    fn rates_that_differ_are_no_policers() {
        let mut policer = Policer::default();
        let mut tally = Tally::default();
        for number in 1..60_u64 {
            tally.at = Instant::from_nanos(number * 100_000_000);
            // Each interval has a rate of its own.
            tally.delivered += if number / 4 % 2 == 0 { 10_000 } else { 20_000 };
            tally.lost = tally.delivered / 4;
            let is_found = policer.sample(Tells {
                tally,
                loses: true,
                is_round_start: true,
                is_app_limited: false,
            });
            assert!(!is_found, "in round {number}");
        }
    }
}
