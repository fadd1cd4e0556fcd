//! PIE's controller as Linux has it, step by step: the parameter `linux` of `pie` and `fq_pie`.
//!
//! The kernel drops later than RFC 8033 at first, and then more, because it differs from the RFC in
//! these points:
//!
//! | | RFC 8033 | Linux |
//! |---|---|---|
//! | clock | exact | ticks of 64 ns |
//! | first update | `tupdate` after the first call | half a second after the queue was made |
//! | distance of updates | `tupdate` | `tupdate` in ticks of 4 ms, rounded up, and one more |
//! | delay of the safeguard | that of the last update | that of the last packet that left |
//! | burst allowance falls | by `tupdate` with each update | by the time between two departures |
//! | burst allowance is renewed | by an arrival | by an update |
//! | delay above 250 ms | | 0.02 more with each update |
//! | decay of an empty queue | 1/50 | 1/64 |
//! | probability | at most 1 | may exceed 1, and is 1 again when 64 bits overflow |
//! | short queue | at most two frames | less than two frames |
//! | forced signal that marks | begins a new sum | goes on, so the next packet is signalled too |
//! | rate estimator | weight 1/4 | weight 1/8, of a rate in whole bytes / 2^8 a tick |
//!
//! Source: what kernels 6.1 and 7.3 do, beside which departures, drops and marks are compared
//! packet by packet (`peers/linux`, the kinds `pie` and `fq_pie_drops` of `compare.py timed`).
//!
//! Number format: probabilities in units of 2^-56, in words of 64 bits that wrap as the kernel's
//! do. A step of the controller is alpha or beta, each in units of 2^-56 a tick and shifted for a
//! small probability, times ticks of delay.
//!
//! Updates are done when a call on the queue comes, as in `pie.rs`. Between two calls the delay does
//! not change, so a run of updates with equal steps is one multiplication.

use crate::limit::Backlog;
use crate::mechanisms::pie::{FRAME, Settings};
use crate::mechanisms::random::Random;
use crate::time::{Duration, Instant};

/// A tick of the clock of queues: 64 ns.
const TICK_PICOS: u64 = 64_000;
/// A tick of the timers: 4 ms, at the 250 a second of Debian's kernels.
const TIMER_TICK: Duration = Duration::from_millis(4);
/// When the first update comes: half a second in ticks of the timers, which the kernel rounds up to
/// eight.
const FIRST_UPDATE: Duration = Duration::from_millis(512);
/// Probability one, and the last before it.
const ONE: u64 = u64::MAX >> 8;
/// No packet is signalled below this sum of probabilities.
const CERTAINLY_KEPT: u64 = ONE / 100 * 85;
/// Each packet is signalled from this sum on.
const CERTAINLY_SIGNALLED: u64 = ONE / 2 * 17;
/// From a probability of a tenth on, the largest growth by delay and trend.
const LARGEST_STEP: i64 = (ONE / 100 * 2) as i64;
/// What is added above [`LONG_DELAY`].
const HASTE: i64 = (ONE / 50) as i64;
const LONG_DELAY: u64 = ticks_of(Duration::from_millis(250));
const BURST: u64 = ticks_of(Duration::from_millis(150));
/// Bytes of one measurement of the departure rate.
const MEASURED_BYTES: u32 = 1 << 14;
/// Ticks of the clock in a second.
const TICKS_A_SECOND: u64 = 1_000_000_000_000 / TICK_PICOS;

const fn ticks_of(time: Duration) -> u64 {
    time.as_picos() / TICK_PICOS
}

/// The bounds of the probability between which the shift of a step stays: below each a step is
/// divided by 4 once more than above, and at the highest by 2.
const BOUNDS: [u64; 6] = [
    ONE / 1_000_000,
    ONE / 100_000,
    ONE / 10_000,
    ONE / 1_000,
    ONE / 100,
    ONE / 10,
];

/// The controller of one queue.
#[derive(Debug, Clone)]
pub(crate) struct LinuxPie {
    probability: u64,
    /// Sum of the probabilities since the last drop.
    accumulated: u64,
    /// Ticks that the last packet to leave waited, 0 if it left the queue empty. With the rate
    /// estimator: the delay at the last update.
    delay: u64,
    /// The delay at the update before.
    old_delay: u64,
    /// Ticks without signals that are left.
    burst_allowance: u64,
    departures: Departures,
    /// When the next update is due. [`Instant::MAX`] before the first call.
    next_update: Instant,
}

/// When packets left: for the burst allowance, and for the rate estimator.
#[derive(Debug, Clone, Copy, Default)]
struct Departures {
    /// The last departure, or the begin of the present measurement of the rate.
    since: Option<u64>,
    /// Bytes that have left in the present measurement.
    measured: Option<u32>,
    /// Bytes / 2^8 a tick. 0: not known.
    rate: u32,
}

impl LinuxPie {
    pub(crate) const fn new() -> Self {
        Self {
            probability: 0,
            accumulated: 0,
            delay: 0,
            old_delay: 0,
            burst_allowance: BURST,
            departures: Departures {
                since: None,
                measured: None,
                rate: 0,
            },
            next_update: Instant::MAX,
        }
    }

    /// Before the first call: the queue was made at this time.
    pub(crate) fn begin(&mut self, made: Instant) {
        if self.next_update == Instant::MAX {
            self.next_update = made + FIRST_UPDATE;
        }
    }

    /// Drop probability, in units of 2^-60.
    pub(crate) fn probability(&self) -> u64 {
        self.probability.min(ONE + 1) << 4
    }

    /// Whether the probability is at most so many percent.
    pub(crate) const fn is_at_most(&self, percent: u32) -> bool {
        self.probability <= ONE / 100 * percent as u64
    }

    /// Does the updates that are due at `now`. The queue has had this backlog since the last call.
    #[inline]
    pub(crate) fn advance(&mut self, settings: &Settings, now: Instant, backlog: Backlog) {
        self.begin(now);
        if now >= self.next_update {
            self.catch_up(settings, now, backlog);
        }
    }

    #[cold]
    fn catch_up(&mut self, settings: &Settings, now: Instant, backlog: Backlog) {
        let distance = distance_of_updates(settings.tupdate).as_picos();
        let due = now.since(self.next_update).as_picos() / distance + 1;
        self.next_update += Duration::from_picos(due.saturating_mul(distance));
        self.updates(settings, due, backlog.bytes);
    }

    /// `due` updates, at least one, while nothing arrives and nothing leaves.
    fn updates(&mut self, settings: &Settings, due: u64, backlog: u64) {
        self.update(settings, backlog);
        let mut left = due - 1;
        while left > 0 {
            left -= self.skip(settings, backlog, left);
            if left == 0 {
                return;
            }
            let before = self.sampled();
            self.update(settings, backlog);
            left -= 1;
            if self.sampled() == before {
                return;
            }
        }
    }

    /// What the next update goes by.
    const fn sampled(&self) -> (u64, u64, u64, u32) {
        let rate = self.departures.rate;
        (self.probability, self.delay, self.old_delay, rate)
    }

    /// Does as many of the next `most` updates as have equal steps and change nothing but the
    /// probability, and returns their number.
    fn skip(&mut self, settings: &Settings, backlog: u64, most: u64) -> u64 {
        let delay = self.sampled_delay(settings, backlog);
        if delay != self.delay || delay != self.old_delay || delay == 0 {
            return 0;
        }
        let step = self.step(settings, delay, delay);
        let above = BOUNDS.iter().position(|bound| self.probability < *bound);
        let number = if step > 0 {
            let last = above.map_or(u64::MAX, |at| BOUNDS[at] - 1);
            (last - self.probability) / step.unsigned_abs()
        } else if step < 0 {
            let first = match above {
                Some(0) => 1,
                Some(at) => BOUNDS[at - 1],
                None => BOUNDS[BOUNDS.len() - 1],
            };
            self.probability.saturating_sub(first) / step.unsigned_abs()
        } else {
            0
        };
        let number = number.min(most);
        let sum = step.wrapping_mul(number as i64);
        self.probability = self.probability.wrapping_add_signed(sum);
        number
    }

    /// One update of the probability.
    fn update(&mut self, settings: &Settings, backlog: u64) {
        let delay = self.sampled_delay(settings, backlog);
        if settings.dq_rate_estimator {
            self.old_delay = self.delay;
        }
        let old_delay = self.old_delay;
        let step = self.step(settings, delay, old_delay);
        let before = self.probability;
        self.probability = before.wrapping_add_signed(step);
        // A queue with packets and without delay is too short to tell.
        let mut decays = delay == 0 && old_delay == 0 && backlog == 0;
        if step > 0 && self.probability < before {
            self.probability = ONE;
            decays = false;
        } else if step <= 0 && self.probability > before {
            self.probability = 0;
        }
        if decays {
            self.probability -= self.probability / 64;
        }
        self.delay = delay;
        let is_short = |delay| delay < ticks_of(settings.target) / 2;
        if is_short(delay)
            && is_short(old_delay)
            && self.probability == 0
            && (!settings.dq_rate_estimator || self.departures.rate > 0)
        {
            // The congestion is over: the next burst passes, and measurements begin anew.
            self.burst_allowance = BURST;
            self.accumulated = 0;
            self.departures = Departures::default();
        }
        self.old_delay = delay;
    }

    /// The delay that an update goes by.
    fn sampled_delay(&self, settings: &Settings, backlog: u64) -> u64 {
        if !settings.dq_rate_estimator {
            return self.delay;
        }
        // The kernel's number of 32 bits.
        let scaled = (backlog as u32) << 8;
        u64::from(scaled.checked_div(self.departures.rate).unwrap_or(0))
    }

    /// What an update adds to the probability.
    fn step(&self, settings: &Settings, delay: u64, old_delay: u64) -> i64 {
        let shift = match BOUNDS.iter().position(|bound| self.probability < *bound) {
            Some(at) => 1 + 2 * (BOUNDS.len() - 1 - at) as u32,
            None => 0,
        };
        // Each shift of the kernel cuts, and together they cut the same.
        let weight =
            |sixteenths: u32| ((u64::from(sixteenths) * (ONE / TICKS_A_SECOND)) >> 4) >> shift;
        let distance = delay.wrapping_sub(ticks_of(settings.target));
        let change = delay.wrapping_sub(old_delay);
        let mut step = (weight(settings.alpha).wrapping_mul(distance) as i64)
            .wrapping_add(weight(settings.beta).wrapping_mul(change) as i64);
        if step > LARGEST_STEP && self.probability >= ONE / 10 {
            step = LARGEST_STEP;
        }
        if delay > LONG_DELAY {
            step = step.wrapping_add(HASTE);
        }
        step
    }

    /// Whether to signal at the arrival of a packet of `len` bytes.
    pub(crate) fn judges_bad(
        &mut self,
        settings: &Settings,
        random: &mut Random,
        len: u32,
        backlog: Backlog,
    ) -> bool {
        let is_calm = self.delay < ticks_of(settings.target) / 2 && self.probability < ONE / 5;
        if self.burst_allowance > 0 || is_calm || backlog.bytes < 2 * u64::from(FRAME) {
            return false;
        }
        let probability = if settings.bytemode && len <= FRAME {
            self.probability / u64::from(FRAME) * u64::from(len)
        } else {
            self.probability
        };
        self.accumulated = if probability == 0 {
            0
        } else {
            self.accumulated.wrapping_add(probability)
        };
        if self.accumulated < CERTAINLY_KEPT {
            return false;
        }
        if self.accumulated >= CERTAINLY_SIGNALLED {
            return true;
        }
        let is_bad = random.next() >> 8 < probability;
        if is_bad {
            self.accumulated = 0;
        }
        is_bad
    }

    /// A packet that came at `arrival` leaves the queue, in which so many bytes stay.
    pub(crate) fn left(
        &mut self,
        settings: &Settings,
        now: Instant,
        arrival: Instant,
        len: u32,
        stay: u64,
    ) {
        let now = now.as_picos() / TICK_PICOS;
        let passed = if settings.dq_rate_estimator {
            self.measure(now, len, stay)
        } else {
            let waited = now.saturating_sub(arrival.as_picos() / TICK_PICOS);
            self.delay = if stay > 0 { waited } else { 0 };
            let since = self.departures.since.replace(now);
            since.map_or(0, |since| now.saturating_sub(since))
        };
        self.burst_allowance = self.burst_allowance.saturating_sub(passed);
    }

    /// The rate estimator. Returns the ticks of a measurement that ends. As in Linux, the packet
    /// that begins a measurement counts in it.
    fn measure(&mut self, now: u64, len: u32, stay: u64) -> u64 {
        let is_long = stay >= MEASURED_BYTES.into();
        let departures = &mut self.departures;
        if is_long && departures.measured.is_none() {
            departures.since = Some(now);
            departures.measured = Some(0);
        }
        let (Some(measured), Some(since)) = (departures.measured, departures.since) else {
            return 0;
        };
        let measured = measured.saturating_add(len);
        departures.measured = Some(measured);
        let passed = now.saturating_sub(since);
        if measured < MEASURED_BYTES || passed == 0 {
            return 0;
        }
        let rate = (u64::from(measured << 8) / passed) as u32;
        departures.rate = match departures.rate {
            0 => rate,
            average => average - (average >> 3) + (rate >> 3),
        };
        departures.measured = is_long.then_some(0);
        if is_long {
            departures.since = Some(now);
        }
        passed
    }

    /// A packet was dropped, for whatever reason.
    pub(crate) fn dropped(&mut self) {
        self.accumulated = 0;
    }

    /// 1. The burst allowance is never more than a whole one.
    pub(crate) fn check(&self) {
        assert!(self.burst_allowance <= BURST, "invariant 1");
    }
}

/// Time between two updates. A timer is set in ticks, and never comes early.
fn distance_of_updates(tupdate: Duration) -> Duration {
    let ticks = tupdate.as_picos().div_ceil(TIMER_TICK.as_picos()) + 1;
    Duration::from_picos(ticks.saturating_mul(TIMER_TICK.as_picos()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn settings(estimates: bool, alpha: u32, beta: u32) -> Settings {
        Settings {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(15),
            alpha,
            beta,
            burst: Duration::from_millis(150),
            bytemode: false,
            dq_rate_estimator: estimates,
            linux: true,
        }
    }

    fn state(pie: &LinuxPie) -> (u64, u64, u64, u64, u64, u32) {
        let rate = pie.departures.rate;
        (
            pie.probability,
            pie.accumulated,
            pie.delay,
            pie.old_delay,
            pie.burst_allowance,
            rate,
        )
    }

    proptest! {
        /// Updates at once beside updates one by one.
        #[test]
        fn updates_at_once_are_updates_one_by_one(
            estimates: bool,
            alpha in 0_u32..33,
            beta in 0_u32..33,
            per_mille in 0_u64..2_000,
            exponent in 0_u32..8,
            delay in prop_oneof![Just(0), 0_u64..500_000, 3_000_000_u64..8_000_000],
            backlog in prop_oneof![Just(0), 0_u64..200_000],
            rate in prop_oneof![Just(0), 1_u32..500],
            due in 1_u64..30_000,
        ) {
            let settings = settings(estimates, alpha, beta);
            let mut at_once = LinuxPie::new();
            at_once.probability = ONE / 1_000 * per_mille / 10_u64.pow(exponent);
            at_once.delay = delay;
            at_once.old_delay = delay / 2;
            at_once.departures.rate = rate;
            at_once.burst_allowance = 0;
            let mut one_by_one = at_once.clone();
            at_once.updates(&settings, due, backlog);
            for _ in 0..due {
                one_by_one.update(&settings, backlog);
            }
            prop_assert_eq!(state(&at_once), state(&one_by_one));
        }
    }

    /// A tick of 4 ms more than what is asked for, rounded up.
    #[test]
    fn updates_are_a_tick_late() {
        for (asked, comes) in [(15, 20), (16, 20), (17, 24), (20, 24), (30, 36), (1, 8)] {
            let distance = distance_of_updates(Duration::from_millis(asked));
            assert_eq!(distance, Duration::from_millis(comes), "{asked} ms");
        }
    }

    /// A year in a queue that nobody serves: the probability goes around and around.
    #[test]
    fn a_year_costs_little() {
        let settings = settings(false, 2, 20);
        let mut pie = LinuxPie::new();
        pie.delay = LONG_DELAY + 1;
        pie.updates(&settings, 365 * 86_400 * 50, 5_000);
        assert!(pie.probability >= ONE);
    }
}
