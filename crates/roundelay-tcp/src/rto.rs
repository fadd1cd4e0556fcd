//! TCP's retransmission timer and round-trip estimate: RFC 6298.

use roundelay::{Duration, Instant};

use crate::config::Config;

/// Round-trip estimate, timeout and deadline.
#[derive(Debug, Clone)]
pub(crate) struct RetransmissionTimer {
    /// SRTT in picoseconds. None before the first sample.
    smoothed: Option<u64>,
    /// RTTVAR in picoseconds.
    variation: u64,
    /// RTO, with backoff.
    timeout: Duration,
    deadline: Option<Instant>,
}

impl RetransmissionTimer {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            smoothed: None,
            variation: 0,
            timeout: config.initial_timeout,
            deadline: None,
        }
    }

    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed.map(Duration::from_picos)
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(crate) fn restart(&mut self, now: Instant) {
        self.deadline = Some(now + self.timeout);
    }

    pub(crate) fn start_if_off(&mut self, now: Instant) {
        if self.deadline.is_none() {
            self.restart(now);
        }
    }

    pub(crate) fn stop(&mut self) {
        self.deadline = None;
    }

    /// Doubles the timeout (5.5) and starts the timer (5.6).
    pub(crate) fn back_off(&mut self, now: Instant, config: &Config) {
        self.timeout = (self.timeout + self.timeout).min(config.max_timeout);
        self.restart(now);
    }

    /// If the SYN was retransmitted, data starts with a timeout of at least three seconds (5.7), or
    /// with the initial timeout if that is longer.
    pub(crate) fn reset_after_lost_syn(&mut self, config: &Config) {
        let least = Duration::from_secs(3)
            .min(config.max_timeout)
            .max(config.initial_timeout);
        self.timeout = self.timeout_by_estimate(config).unwrap_or(least).max(least);
    }

    /// Adds a round-trip sample (2.2, 2.3). Ends the backoff.
    pub(crate) fn sample(&mut self, round_trip: Duration, config: &Config) {
        let sample = round_trip.max(config.granularity).as_picos();
        match self.smoothed {
            None => (self.smoothed, self.variation) = (Some(sample), sample / 2),
            Some(smoothed) if config.wrap_differences => {
                self.sample_in_16_bits(smoothed, sample, config.granularity)
            }
            Some(smoothed) => {
                // The variation uses the old mean, so it comes first.
                self.variation =
                    self.variation - self.variation / 4 + smoothed.abs_diff(sample) / 4;
                self.smoothed = Some(smoothed - smoothed / 8 + sample / 8);
            }
        }
        self.timeout = self.timeout_by_estimate(config).unwrap_or(self.timeout);
    }

    /// ns-2's `TcpAgent::rtt_update`: the difference to the mean and the one to the variation are
    /// `short`s of ticks. Neither estimate falls below its last bit, which is an eighth of a tick
    /// and a quarter.
    fn sample_in_16_bits(&mut self, smoothed: u64, sample: u64, tick: Duration) {
        let tick = tick.as_picos() as i64;
        let [smoothed, sample, variation] =
            [smoothed, sample, self.variation].map(|picos| picos as i64);
        let difference = (sample / tick - smoothed / tick) as i16;
        let smoothed = smoothed + i64::from(difference) * tick / 8;
        let beyond = (i64::from(difference.wrapping_abs()) - variation / tick) as i16;
        let variation = variation + i64::from(beyond) * tick / 4;
        self.smoothed = Some(smoothed.max(tick / 8) as u64);
        self.variation = variation.max(tick / 4) as u64;
    }

    fn timeout_by_estimate(&self, config: &Config) -> Option<Duration> {
        let least = if config.timeout_above_round_trip {
            config.min_timeout
        } else {
            config.granularity
        };
        let margin = self.variation.saturating_mul(4).max(least.as_picos());
        let timeout = Duration::from_picos(self.smoothed?.saturating_add(margin));
        Some(timeout.clamp(config.min_timeout, config.max_timeout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: Config = Config {
        min_timeout: Duration::from_millis(1),
        granularity: Duration::from_micros(1),
        ..Config::rfc()
    };

    /// 2.2: SRTT = R, RTTVAR = R/2, RTO = R + 4 R/2. 2.3 with R' = 60 ms: RTTVAR = 3/4 50 + 1/4 40,
    /// SRTT = 7/8 100 + 1/8 60.
    #[test]
    fn estimates_follow_the_rfc() {
        let mut timer = RetransmissionTimer::new(&CONFIG);
        assert_eq!(timer.timeout(), Duration::from_secs(1));
        timer.sample(Duration::from_millis(100), &CONFIG);
        assert_eq!(
            (timer.smoothed(), Duration::from_picos(timer.variation)),
            (Some(Duration::from_millis(100)), Duration::from_millis(50))
        );
        assert_eq!(timer.timeout(), Duration::from_millis(300));
        timer.sample(Duration::from_millis(60), &CONFIG);
        assert_eq!(
            (timer.smoothed(), Duration::from_picos(timer.variation)),
            (
                Some(Duration::from_millis(95)),
                Duration::from_micros(47_500)
            )
        );
        assert_eq!(timer.timeout(), Duration::from_millis(285));
    }

    #[test]
    fn backing_off_doubles_up_to_the_most_and_a_sample_ends_it() {
        let mut timer = RetransmissionTimer::new(&CONFIG);
        for expected in [2, 4, 8, 16, 32, 60, 60] {
            timer.back_off(Instant::ZERO, &CONFIG);
            assert_eq!(timer.timeout(), Duration::from_secs(expected));
            assert_eq!(
                timer.deadline(),
                Some(Instant::ZERO + Duration::from_secs(expected))
            );
        }
        timer.sample(Duration::from_millis(100), &CONFIG);
        assert_eq!(timer.timeout(), Duration::from_millis(300));
    }

    /// If the round trip is constant, the margin shrinks to the clock's tick, and the timeout to
    /// the minimum.
    #[test]
    fn the_margin_is_never_less_than_a_tick() {
        let config = Config {
            granularity: Duration::from_millis(10),
            ..CONFIG
        };
        let mut timer = RetransmissionTimer::new(&config);
        for _ in 0..200 {
            timer.sample(Duration::from_millis(100), &config);
        }
        assert_eq!(timer.timeout(), Duration::from_millis(110));
        let config = Config {
            min_timeout: Duration::from_millis(200),
            ..config
        };
        timer.sample(Duration::from_millis(100), &config);
        assert_eq!(timer.timeout(), Duration::from_millis(200));
    }

    /// The round trip is always 100 ms, so its variation shrinks, and the least timeout comes on
    /// top.
    #[test]
    fn the_least_timeout_may_count_above_the_round_trip() {
        let config = Config {
            timeout_above_round_trip: true,
            min_timeout: Duration::from_millis(200),
            ..CONFIG
        };
        let mut timer = RetransmissionTimer::new(&config);
        for _ in 0..200 {
            timer.sample(Duration::from_millis(100), &config);
        }
        assert_eq!(timer.timeout(), Duration::from_millis(300));
    }

    /// 200 ms is 100,000 ticks above the mean of 100 ms, which is -31,072 in 16 bits, so the mean
    /// falls by an eighth of 31.072 ms. 132 ms is 32,000 ticks above, which 16 bits hold.
    #[test]
    fn differences_beyond_16_bits_change_sign() {
        let config = Config {
            wrap_differences: true,
            ..CONFIG
        };
        let after = |sample: u64, config: &Config| {
            let mut timer = RetransmissionTimer::new(config);
            timer.sample(Duration::from_millis(100), config);
            timer.sample(Duration::from_millis(sample), config);
            (timer.smoothed(), Duration::from_picos(timer.variation))
        };
        let micros = Duration::from_micros;
        assert_eq!(after(200, &config), (Some(micros(96_116)), micros(45_268)));
        assert_eq!(after(132, &config), after(132, &CONFIG));
        assert_ne!(after(200, &config), after(200, &CONFIG));
    }

    #[test]
    fn data_waits_three_seconds_after_a_lost_syn() {
        let mut timer = RetransmissionTimer::new(&CONFIG);
        timer.back_off(Instant::ZERO, &CONFIG);
        timer.sample(Duration::from_millis(100), &CONFIG);
        timer.reset_after_lost_syn(&CONFIG);
        assert_eq!(timer.timeout(), Duration::from_secs(3));
    }
}
