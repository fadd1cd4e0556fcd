//! CUBIC congestion control: the window is a cubic function of the time since the last loss. RFC
//! 9438, in integers.
//!
//! | RFC 9438 | here |
//! |---|---|
//! | C = 0.4, beta = 0.7 | two fifths, seven tenths |
//! | W_max | `peak`, bytes |
//! | K | `plateau`, ticks |
//! | epoch_start, cwnd_epoch | `Epoch::start`, `Epoch::base` |
//! | W_est, cwnd_prior | `Epoch::friendly`, `prior` |
//!
//! Time is in ticks of 2^-20 s, so that C (t - K)^3 is a shift. The error is below one byte plus
//! the error of a tick, which is at most 1.2 (t - K)^2 2^-20 segments. K is rounded down to a tick.
//! Windows are in bytes, and the fraction of a byte in an increase is carried to the next one.

use roundelay::{Duration, Instant};

use crate::config::Config;
use crate::custom::{CongestionControl, Feedback};

/// 4096 s, at which a cubic is far above any window.
const MOST_TICKS: u64 = 1 << 32;
/// 2^20 / 10^12 as a fraction of 2^64, rounded up so that whole ticks stay whole.
const TICKS_PER_PICO: u128 = (1_u128 << 84).div_ceil(1_000_000_000_000);
/// Fractional bits in the factor C times a segment.
const FACTOR_BITS: u32 = 8;

/// Before the first loss the window grows by at least one part in this many each round trip, as
/// measured in Linux 6.1: in a queue of 100 packets it grew from 51 to 108 segments, by 42 a second
/// while 833 arrived.
const LEAST_GROWTH: u64 = 20;

/// What CUBIC keeps for a connection.
#[derive(Debug, Clone)]
pub struct Cubic {
    /// C in bytes a cubic second, in units of 2^-8.
    factor: u128,
    segment_len: u64,
    fast_convergence: bool,
    constant_friendliness: bool,
    least_growth: bool,
    whole_segments: bool,
    /// The window at the last loss (W_max). None if the last epoch ended with a timeout and not
    /// with a loss.
    peak: Option<u64>,
    /// The window before the last reduction.
    prior: u64,
    epoch: Option<Epoch>,
}

/// A period of congestion avoidance.
#[derive(Debug, Clone)]
struct Epoch {
    start: Instant,
    plateau: u64,
    peak: u64,
    /// The window that Reno would have now (W_est), below which CUBIC does not fall.
    friendly: u64,
    friendly_credit: u64,
    credit: u64,
    paused_at: Option<Instant>,
}

impl Cubic {
    /// For segments of [`Config::segment_len`] bytes, with or without [`Config::fast_convergence`],
    /// [`Config::constant_friendliness`], [`Config::least_growth`] and [`Config::whole_segments`].
    pub fn new(config: &Config) -> Self {
        let segment_len = u64::from(config.segment_len);
        let factor = (u128::from(segment_len) << (FACTOR_BITS + 1)) / 5;
        Self {
            factor,
            segment_len,
            fast_convergence: config.fast_convergence,
            constant_friendliness: config.constant_friendliness,
            least_growth: config.least_growth,
            whole_segments: config.whole_segments,
            peak: None,
            prior: 0,
            epoch: None,
        }
    }

    /// The window once `acknowledged` more bytes are acknowledged (sections 4.2 to 4.5).
    fn grow(&mut self, now: Instant, window: u64, acknowledged: u64, round_trip: Duration) -> u64 {
        let mut epoch = self.epoch.take().unwrap_or_else(|| self.begin(now, window));
        epoch.resume(now);
        let elapsed = now.since(epoch.start);
        let catches_up = !self.constant_friendliness && epoch.friendly >= self.prior;
        epoch.grow_friendly(acknowledged, window, self.segment_len, catches_up);
        let mut grown = if self.at(&epoch, elapsed) < epoch.friendly {
            window.max(epoch.friendly)
        } else {
            let distance = self.distance(&epoch, elapsed + round_trip, window);
            window + epoch.share(distance.min(window / 2), acknowledged, window)
        };
        if self.least_growth && self.peak.is_none() {
            grown = grown.max(window + acknowledged / LEAST_GROWTH);
        }
        self.epoch = Some(epoch);
        grown
    }

    /// How far the window is below the curve. Where both are counted in whole segments, so is the
    /// curve's distance from its peak: below the peak the curve comes up to a segment early.
    fn distance(&self, epoch: &Epoch, elapsed: Duration, window: u64) -> u64 {
        let curve = self.at(epoch, elapsed);
        if !self.whole_segments {
            return curve.saturating_sub(window);
        }
        let peak = self.whole(epoch.peak);
        let from_peak = self.whole(curve.abs_diff(epoch.peak));
        let target = if curve < epoch.peak {
            peak.saturating_sub(from_peak)
        } else {
            peak + from_peak
        };
        target.saturating_sub(self.whole(window))
    }

    /// The whole segments in so many bytes, in bytes.
    const fn whole(&self, bytes: u64) -> u64 {
        bytes / self.segment_len * self.segment_len
    }

    /// Stops the clock until growth continues (section 5.8).
    fn pause(&mut self, now: Instant) {
        if let Some(epoch) = &mut self.epoch {
            epoch.paused_at.get_or_insert(now);
        }
    }

    /// Multiplicative decrease and fast convergence (sections 4.6, 4.7). Returns the new threshold.
    fn reduce(&mut self, window: u64, flight: u64) -> u64 {
        let is_below_peak = self.fast_convergence && self.peak.is_some_and(|peak| window < peak);
        self.peak = Some(if is_below_peak {
            window * 17 / 20
        } else {
            window
        });
        self.prior = window;
        self.epoch = None;
        flight * 7 / 10
    }

    /// After a timeout the curve starts when congestion avoidance starts (section 4.8).
    fn forget(&mut self) {
        self.peak = None;
        self.epoch = None;
    }

    fn begin(&self, now: Instant, window: u64) -> Epoch {
        let peak = self.peak.unwrap_or(window).max(window);
        // K^3 = (W_max - cwnd) / C, both sides in ticks cubed.
        let cubed = (u128::from(peak - window) << (60 + FACTOR_BITS)) / self.factor;
        Epoch {
            start: now,
            plateau: cube_root(cubed),
            peak,
            friendly: window,
            friendly_credit: 0,
            credit: 0,
            paused_at: None,
        }
    }

    /// W_cubic (equation 1) in bytes, rounded down above the peak and up below it.
    fn at(&self, epoch: &Epoch, elapsed: Duration) -> u64 {
        let ticks = ((u128::from(elapsed.as_picos()) * TICKS_PER_PICO) >> 64) as u64;
        let distance = u128::from(ticks.abs_diff(epoch.plateau).min(MOST_TICKS));
        let bytes = ((distance * distance * distance * self.factor) >> (60 + FACTOR_BITS)) as u64;
        if ticks >= epoch.plateau {
            epoch.peak + bytes
        } else {
            epoch.peak.saturating_sub(bytes)
        }
    }
}

impl CongestionControl for Cubic {
    #[inline]
    fn on_ack(&mut self, feedback: &Feedback) -> u64 {
        let Feedback {
            now,
            window,
            acknowledged,
            smoothed_round_trip,
            ..
        } = *feedback;
        let round_trip = smoothed_round_trip.unwrap_or(Duration::ZERO);
        feedback
            .slow_start()
            .unwrap_or_else(|| self.grow(now, window, acknowledged, round_trip))
    }

    #[inline]
    fn on_limited(&mut self, feedback: &Feedback) {
        self.pause(feedback.now);
    }

    fn on_loss(&mut self, feedback: &Feedback) -> u64 {
        self.reduce(feedback.window, feedback.in_flight)
            .max(2 * self.segment_len)
    }

    fn on_timeout(&mut self, feedback: &Feedback) -> u64 {
        let threshold = self.on_loss(feedback);
        self.forget();
        threshold
    }
}

impl Epoch {
    fn resume(&mut self, now: Instant) {
        if let Some(paused_at) = self.paused_at.take() {
            self.start += now.since(paused_at);
        }
    }

    /// W_est (section 4.3): alpha segments for each window, where alpha is 9/17, or 1 once W_est
    /// has reached cwnd_prior.
    fn grow_friendly(
        &mut self,
        acknowledged: u64,
        window: u64,
        segment_len: u64,
        catches_up: bool,
    ) {
        let (numerator, denominator) = if catches_up { (1, 1) } else { (9, 17) };
        self.friendly_credit += acknowledged * segment_len * numerator;
        let unit = window * denominator;
        self.friendly += self.friendly_credit / unit;
        self.friendly_credit %= unit;
    }

    /// Which share of `distance` comes with `acknowledged` bytes of a window.
    fn share(&mut self, distance: u64, acknowledged: u64, window: u64) -> u64 {
        let product = u128::from(distance) * u128::from(acknowledged) + u128::from(self.credit);
        self.credit = (product % u128::from(window)) as u64;
        ((product / u128::from(window)) as u64).min(distance)
    }
}

/// The integer cube root of `value`, rounded down.
fn cube_root(value: u128) -> u64 {
    let mut root = 0_u128;
    for bit in (0..43).rev() {
        let candidate = root | 1 << bit;
        if candidate * candidate * candidate <= value {
            root = candidate;
        }
    }
    root as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    const SEGMENT: u64 = 1000;
    const CONFIG: Config = Config {
        segment_len: SEGMENT as u32,
        ..Config::rfc()
    };
    /// 256 ticks are exactly 5^12 ps.
    const TICKS: u64 = 256;
    const PICOS: u64 = 244_140_625;

    fn after(units: u64) -> Duration {
        Duration::from_picos(units * PICOS)
    }

    fn begun(window: u64, peak: u64) -> (Cubic, Epoch) {
        let mut cubic = Cubic::new(&CONFIG);
        cubic.peak = Some(peak);
        let epoch = cubic.begin(Instant::ZERO, window);
        (cubic, epoch)
    }

    /// At multiples of 256 ticks time is exact, and C = 0.4 times 1000 bytes is an integer. So to
    /// the byte, W(t) = C (t - K)^3 + W_max.
    #[test]
    fn the_curve_is_exact_to_the_byte() {
        for (window, peak) in [
            (70_000, 100_000),
            (700_000, 1_000_000),
            (2000, 2000),
            (7_000_000, 10_000_000),
        ] {
            let (cubic, epoch) = begun(window, peak);
            for unit in (0..400_000_u64).step_by(1013) {
                let distance = i128::from(unit * TICKS) - i128::from(epoch.plateau);
                let above = 2 * i128::from(SEGMENT) * distance.pow(3) / (5 << 60);
                let exact = (i128::from(peak) + above).max(0) as u64;
                assert_eq!(
                    cubic.at(&epoch, after(unit)),
                    exact,
                    "{window} {peak} after {unit}"
                );
            }
        }
    }

    /// With other segment lengths C times a segment is a fraction, so the error is at most 2^-8 of
    /// a byte.
    #[test]
    fn segments_of_any_length_keep_the_curve() {
        for segment_len in [1, 536, 1448, 1460, 9000, 65_535_u64] {
            let cubic = Cubic::new(&Config {
                segment_len: segment_len as u32,
                ..CONFIG
            });
            let epoch = cubic.begin(Instant::ZERO, 1000);
            for seconds in [1_u64, 10, 100] {
                let exact = segment_len * 2 * seconds.pow(3) / 5;
                let found = cubic.at(&epoch, Duration::from_secs(seconds)) - 1000;
                // One tick of time adds 1.2 t^2 segments a second.
                let tolerance =
                    1 + exact * 3 / (seconds << 20) + seconds.pow(3) / (1 << FACTOR_BITS);
                assert!(
                    found.abs_diff(exact) <= tolerance,
                    "{segment_len} after {seconds} s: {found}, exact {exact}"
                );
            }
        }
    }

    /// K: the curve starts at the window, up to the error because K is rounded down to a tick, and
    /// reaches the peak after K.
    #[test]
    fn the_curve_starts_at_the_window_and_reaches_the_peak() {
        for (window, peak) in [
            (70_000_u64, 100_000_u64),
            (700_000, 1_000_000),
            (70_000_000, 100_000_000),
        ] {
            let (cubic, epoch) = begun(window, peak);
            let start = cubic.at(&epoch, Duration::ZERO);
            // 1.2 K^2 segments a second, for one tick.
            let seconds = (epoch.plateau >> 20) + 1;
            assert!(
                start.abs_diff(window) <= 1 + (6 * SEGMENT * seconds * seconds).div_ceil(5 << 20),
                "{start} {window}"
            );
            assert_eq!(cubic.at(&epoch, after(epoch.plateau.div_ceil(TICKS))), peak);
        }
        // K = cbrt(30 / 0.4) = 4.217163 s for a window of 100 segments.
        let (_, epoch) = begun(70_000, 100_000);
        assert_eq!(epoch.plateau, 4_422_016);
    }

    /// Below the peak a window in whole segments grows as soon as the curve is above it. Above the
    /// peak it waits until the curve is a whole segment further.
    #[test]
    fn whole_segments_come_early_below_the_peak_and_late_above() {
        let (mut cubic, epoch) = begun(70_000, 100_000);
        let plateau = Duration::from_micros(epoch.plateau * 1_000_000 / (1 << 20));
        // The curve is .4 segments from its peak a second before and behind it.
        let [before, behind] = [
            plateau - Duration::from_secs(1),
            plateau + Duration::from_secs(1),
        ];
        assert!(cubic.distance(&epoch, before, 99_000).abs_diff(600) <= 3);
        assert!(cubic.distance(&epoch, behind, 100_000).abs_diff(400) <= 3);
        cubic.whole_segments = true;
        assert_eq!(cubic.distance(&epoch, before, 99_000), 1000);
        assert_eq!(cubic.distance(&epoch, behind, 100_000), 0);
        // 3.2 segments after two seconds.
        let behind = plateau + Duration::from_secs(2);
        assert_eq!(cubic.distance(&epoch, behind, 100_900), 3000);
    }

    #[test]
    fn cube_roots_are_rounded_down() {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(3);
        for bits in 1..126 {
            let value = random.random_range(0..1_u128 << bits);
            let root = u128::from(cube_root(value));
            assert!(root.pow(3) <= value && (root + 1).pow(3) > value, "{value}");
        }
        assert_eq!([0, 1, 7, 8, 26, 27].map(cube_root), [0, 1, 1, 2, 2, 3]);
    }

    /// One segment is acknowledged in each segment's share of the round trip. The window follows
    /// the curve within 1.5 segments.
    #[test]
    fn windows_follow_the_curve() {
        let (mut cubic, epoch) = begun(70_000, 100_000);
        cubic.prior = 100_000;
        let mut window = 70_000;
        let mut picos = 0;
        let round_trip = Duration::from_millis(200);
        while picos < 8_000_000_000_000 {
            picos += round_trip.as_picos() * SEGMENT / window;
            let now = Instant::from_picos(picos);
            window = cubic.grow(now, window, SEGMENT, round_trip);
            let curve = cubic.at(&epoch, now.since(Instant::ZERO)).max(70_000);
            assert!(
                window.abs_diff(curve) < 1500,
                "{window}, curve {curve} at {now}"
            );
        }
        assert!(window > 115_000);
    }

    /// If round trips are short, CUBIC grows as Reno does: 9/17 of a segment a round trip up to the
    /// window at the last loss, then one.
    #[test]
    fn short_round_trips_grow_as_reno_does() {
        let mut cubic = Cubic::new(&CONFIG);
        let mut window = cubic.reduce(20_000, 20_000);
        let mut now = Instant::ZERO;
        assert_eq!(window, 14_000);
        let mut windows = vec![window];
        for _ in 0..24 {
            let full = window;
            for _ in 0..full / SEGMENT {
                now += Duration::from_picos(1_000_000_000 * SEGMENT / full);
                window = cubic.grow(now, window, SEGMENT, Duration::from_millis(1));
            }
            windows.push(window);
        }
        let rise =
            |from: usize, to: usize| (windows[to] - windows[from]) as f64 / (to - from) as f64;
        assert!(
            (rise(0, 10) - 9000.0 / 17.0).abs() < 30.0 && (rise(16, 24) - 1000.0).abs() < 60.0,
            "{windows:?}"
        );
    }

    /// RFC 8312, section 4.2: W_est grows by 3 (1 - beta) / (1 + beta) = 9/17 of a segment,
    /// whatever the window at the last loss was.
    #[test]
    fn friendliness_may_be_constant() {
        let rise = |constant_friendliness| {
            let mut cubic = Cubic::new(&Config {
                constant_friendliness,
                ..CONFIG
            });
            let mut window = cubic.reduce(20_000, 20_000);
            let mut now = Instant::ZERO;
            let mut windows = Vec::new();
            for _ in 0..24 {
                let full = window;
                for _ in 0..full / SEGMENT {
                    now += Duration::from_picos(1_000_000_000 * SEGMENT / full);
                    window = cubic.grow(now, window, SEGMENT, Duration::from_millis(1));
                }
                windows.push(window);
            }
            (windows[23] - windows[15]) as f64 / 8.0
        };
        assert!((rise(true) - 9000.0 / 17.0).abs() < 30.0, "{}", rise(true));
        assert!(rise(false) > 940.0, "{}", rise(false));
    }

    /// Linux 6.1, one flow in a queue of 100 packets at 10 Mbit/s: 51 segments after HyStart, and
    /// 110 after 1.43 s, in which 1,191 packets arrive. So the window grows by one for each twenty.
    #[test]
    fn before_the_first_loss_a_window_may_grow_by_a_twentieth() {
        let grown = |least_growth, is_after_loss| {
            let mut cubic = Cubic::new(&Config {
                least_growth,
                ..CONFIG
            });
            if is_after_loss {
                cubic.reduce(51_000, 51_000);
            }
            let mut window = 51_000;
            for packet in 1..=1191_u64 {
                let now = Instant::ZERO + Duration::from_micros(1200 * packet);
                window = cubic.grow(now, window, SEGMENT, Duration::from_millis(100));
            }
            window
        };
        assert_eq!(grown(true, false), 51_000 + 1191 * 50);
        assert!(grown(false, false) < 75_000, "{}", grown(false, false));
        assert_eq!(grown(true, true), grown(false, true));
    }

    #[test]
    fn losses_reduce_to_seven_tenths_and_make_room() {
        let mut cubic = Cubic::new(&CONFIG);
        assert_eq!(
            (cubic.reduce(100_000, 100_000), cubic.peak),
            (70_000, Some(100_000))
        );
        assert_eq!(
            (cubic.reduce(90_000, 90_000), cubic.peak),
            (63_000, Some(76_500)),
            "below the last peak: (1 + 0.7) / 2 of it"
        );
        let mut cubic = Cubic::new(&Config {
            fast_convergence: false,
            ..CONFIG
        });
        cubic.reduce(100_000, 100_000);
        assert_eq!(
            (cubic.reduce(90_000, 90_000), cubic.peak),
            (63_000, Some(90_000))
        );
        cubic.forget();
        assert_eq!(cubic.begin(Instant::ZERO, 63_000).plateau, 0);
    }

    /// Time does not count while the window is not in full use.
    #[test]
    fn pauses_do_not_count() {
        let run = |pause: u64| {
            let (mut cubic, _) = begun(70_000, 100_000);
            let mut window = 70_000;
            for segment in 0..500 {
                let at = segment * 2 + if segment >= 250 { pause } else { 0 };
                window = cubic.grow(
                    Instant::ZERO + Duration::from_millis(at),
                    window,
                    SEGMENT,
                    Duration::from_millis(200),
                );
                if segment == 249 {
                    cubic.pause(Instant::ZERO + Duration::from_millis(2 * 250));
                }
            }
            window
        };
        assert_eq!(run(0), run(5000));
    }
}
