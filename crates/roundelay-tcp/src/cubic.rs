//! CUBIC: the window as a cubic function of the time since the last loss. RFC 9438, in integers.
//!
//! | RFC 9438 | here |
//! |---|---|
//! | C = 0.4, beta = 0.7 | two fifths, seven tenths |
//! | W_max | `peak`, bytes |
//! | K | `plateau`, ticks |
//! | epoch_start, cwnd_epoch | `Epoch::start`, `Epoch::base` |
//! | W_est, cwnd_prior | `Epoch::friendly`, `prior` |
//!
//! Time is in ticks of 2^-20 s, so that C (t - K)^3 is a shift. It is exact but for a byte and what a tick makes: at most 1.2 (t - K)^2 2^-20
//! segments. K is rounded down to a tick. Windows are bytes; what an increase leaves of a byte is carried to the next.

use roundelay::{Duration, Instant};

/// 4096 s, at which a cubic is far above any window.
const MOST_TICKS: u64 = 1 << 32;
/// 2^20 / 10^12 as a fraction of 2^64.
const TICKS_PER_PICO: u128 = ((1_u128 << 84) + 500_000_000_000) / 1_000_000_000_000;
/// Of the factor that C times a segment is.
const FACTOR_BITS: u32 = 8;

/// State of the law.
#[derive(Debug, Clone)]
pub(crate) struct Cubic {
    /// C in bytes a cubic second, in units of 2^-8.
    factor: u128,
    segment_len: u64,
    /// The window at which the last loss came, if it was a loss that ended the last epoch and no timeout.
    peak: Option<u64>,
    /// The window before the last reduction.
    prior: u64,
    epoch: Option<Epoch>,
}

/// A stay in congestion avoidance.
#[derive(Debug, Clone)]
struct Epoch {
    start: Instant,
    plateau: u64,
    peak: u64,
    /// What Reno would have by now, so that CUBIC never has less.
    friendly: u64,
    friendly_credit: u64,
    credit: u64,
    paused_at: Option<Instant>,
}

impl Cubic {
    pub(crate) fn new(segment_len: u64) -> Self {
        let factor = (u128::from(segment_len) << (FACTOR_BITS + 1)) / 5;
        Self { factor, segment_len, peak: None, prior: 0, epoch: None }
    }

    /// The window after `acknowledged` more bytes (sections 4.2 to 4.5).
    pub(crate) fn grow(&mut self, now: Instant, window: u64, acknowledged: u64, round_trip: Duration) -> u64 {
        let mut epoch = self.epoch.take().unwrap_or_else(|| self.begin(now, window));
        epoch.resume(now);
        let elapsed = now.since(epoch.start);
        epoch.grow_friendly(acknowledged, window, self.segment_len, self.prior);
        let grown = if self.at(&epoch, elapsed) < epoch.friendly {
            window.max(epoch.friendly)
        } else {
            let target = self.at(&epoch, elapsed + round_trip).clamp(window, window + window / 2);
            window + epoch.share(target - window, acknowledged, window)
        };
        self.epoch = Some(epoch);
        grown
    }

    /// The clock stands still until growth goes on (section 5.8).
    pub(crate) fn pause(&mut self, now: Instant) {
        if let Some(epoch) = &mut self.epoch {
            epoch.paused_at.get_or_insert(now);
        }
    }

    /// Multiplicative decrease and fast convergence (sections 4.6, 4.7): the new threshold.
    pub(crate) fn reduce(&mut self, window: u64, flight: u64) -> u64 {
        let is_below_peak = self.peak.is_some_and(|peak| window < peak);
        self.peak = Some(if is_below_peak { window * 17 / 20 } else { window });
        self.prior = window;
        self.epoch = None;
        flight * 7 / 10
    }

    /// After a timeout the curve starts where avoidance starts (section 4.8).
    pub(crate) fn forget(&mut self) {
        self.peak = None;
        self.epoch = None;
    }

    fn begin(&self, now: Instant, window: u64) -> Epoch {
        let peak = self.peak.unwrap_or(window).max(window);
        // K^3 = (W_max - cwnd) / C, both sides in ticks cubed.
        let cubed = (u128::from(peak - window) << (60 + FACTOR_BITS)) / self.factor;
        Epoch { start: now, plateau: cube_root(cubed), peak, friendly: window, friendly_credit: 0, credit: 0, paused_at: None }
    }

    /// W_cubic (equation 1) in bytes, rounded down above the peak and up below it.
    fn at(&self, epoch: &Epoch, elapsed: Duration) -> u64 {
        let ticks = ((u128::from(elapsed.as_picos()) * TICKS_PER_PICO) >> 64) as u64;
        let distance = u128::from(ticks.abs_diff(epoch.plateau).min(MOST_TICKS));
        let bytes = ((distance * distance * distance * self.factor) >> (60 + FACTOR_BITS)) as u64;
        if ticks >= epoch.plateau { epoch.peak + bytes } else { epoch.peak.saturating_sub(bytes) }
    }
}

impl Epoch {
    fn resume(&mut self, now: Instant) {
        if let Some(paused_at) = self.paused_at.take() {
            self.start += now.since(paused_at);
        }
    }

    /// W_est (section 4.3): alpha segments a window, 9/17 until it is where the last reduction was, then one.
    fn grow_friendly(&mut self, acknowledged: u64, window: u64, segment_len: u64, prior: u64) {
        let (numerator, denominator) = if self.friendly >= prior { (1, 1) } else { (9, 17) };
        self.friendly_credit += acknowledged * segment_len * numerator;
        let unit = window * denominator;
        self.friendly += self.friendly_credit / unit;
        self.friendly_credit %= unit;
    }

    /// The part of `distance` that `acknowledged` bytes of a window's worth make.
    fn share(&mut self, distance: u64, acknowledged: u64, window: u64) -> u64 {
        let product = u128::from(distance) * u128::from(acknowledged) + u128::from(self.credit);
        self.credit = (product % u128::from(window)) as u64;
        ((product / u128::from(window)) as u64).min(distance)
    }
}

/// The largest number whose cube is at most `value`.
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
