//! PIE's controller for one queue, as the RFC has it: the drop probability from the delay, and which
//! arrivals it hits.
//!
//! Shared by `pie`, with one queue, and `fq_pie`, with one for each flow (`queue_pie.rs`). Updates
//! are due every `tupdate`, but no timer runs. Each call on the queue first does the updates that
//! have become due ([`advance`](RfcPie::advance)). Between two calls the queue's delay does not
//! change.
//!
//! Source: R. Pan, P. Natarajan, F. Baker, G. White, RFC 8033, 2017. Names are those of `pie.rs`.

use crate::config::Parameter;
use crate::limit::Backlog;
use crate::mechanisms::random::Random;
use crate::time::{Duration, Instant};

/// The parameter `alpha`.
pub(crate) const fn alpha<C>(of: fn(&mut C) -> &mut u32) -> Parameter<C> {
    let about = "weight of the distance from the target, in sixteenths";
    Parameter::count("alpha", 0..=32, about, of)
}

/// The parameter `beta`.
pub(crate) const fn beta<C>(of: fn(&mut C) -> &mut u32) -> Parameter<C> {
    let about = "weight of the change of the delay, in sixteenths";
    Parameter::count("beta", 0..=32, about, of)
}

/// The parameter `bytemode`.
pub(crate) const fn bytemode<C>(of: fn(&mut C) -> &mut bool) -> Parameter<C> {
    let about = "drop short packets with a smaller probability, in proportion to their length";
    Parameter::switch("bytemode", about, of)
}

/// The parameter `dq_rate_estimator`.
pub(crate) const fn rate_estimator<C>(of: fn(&mut C) -> &mut bool) -> Parameter<C> {
    let about = "estimate the delay from the departure rate, not from arrival times";
    Parameter::switch("dq_rate_estimator", about, of)
}

/// The parameter `linux`.
pub(crate) const fn linux<C>(of: fn(&mut C) -> &mut bool) -> Parameter<C> {
    let about = "Linux's controller: its ticks, first update, burst allowance and long delays";
    Parameter::switch("linux", about, of)
}

/// Parameters of the controller, as in `pie.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) target: Duration,
    pub(crate) tupdate: Duration,
    pub(crate) alpha: u32,
    pub(crate) beta: u32,
    pub(crate) burst: Duration,
    pub(crate) bytemode: bool,
    pub(crate) dq_rate_estimator: bool,
    /// Whether the controller is Linux's. It stays one or the other.
    pub(crate) linux: bool,
}

/// Bits of a probability.
const BITS: u32 = 60;
/// Probability one.
pub(crate) const ONE: u64 = 1 << BITS;
/// A drop is impossible before the probabilities since the last drop add up to this.
const CERTAINLY_KEPT: u64 = ONE / 100 * 85;
/// A drop is certain from this sum on.
const CERTAINLY_DROPPED: u64 = ONE / 10 * 85;
/// Below this probability, and with a short delay, no packet is dropped.
const SMALL: u64 = ONE / 5;
/// From a probability of a tenth on, largest growth in an update: 0.02.
const LARGEST_STEP: i128 = ONE as i128 / 50;
/// Steps are divided by 2^shift while the probability is below the bound.
const TUNING: [(u64, u32); 6] = [
    (ONE / 1_000_000, 11),
    (ONE / 100_000, 9),
    (ONE / 10_000, 7),
    (ONE / 1_000, 5),
    (ONE / 100, 3),
    (ONE / 10, 1),
];
/// Bytes of a full Ethernet frame.
pub(crate) const FRAME: u32 = 1514;
/// Bytes of one measurement of the departure rate.
const MEASURED_BYTES: u64 = 1 << 14;

/// Drop probability and the state of its updates.
#[derive(Debug, Clone)]
struct Controller {
    /// Drop probability.
    probability: u64,
    /// Delay at the last update.
    old_delay: Duration,
    /// Remaining time without drops.
    burst_allowance: Duration,
    /// Time of the last update. [`Instant::MAX`] before the first call, because an option would
    /// make each queue's record larger.
    updated: Instant,
}

impl Controller {
    /// Before the first call, updates are due from this time on.
    fn begin(&mut self, now: Instant) {
        if self.updated == Instant::MAX {
            self.updated = now;
        }
    }

    /// Does the updates that have become due at `now`. Since the last call the queue has had this
    /// `delay`.
    #[inline]
    fn advance(&mut self, settings: &Settings, now: Instant, delay: Duration) {
        self.begin(now);
        let updated = self.updated;
        if now.since(updated) >= settings.tupdate {
            let due = now.since(updated).as_picos() / settings.tupdate.as_picos();
            self.updated = updated + Duration::from_picos(due * settings.tupdate.as_picos());
            self.update(settings, due, delay);
        }
    }

    /// `due` updates, at least one, with the same delay.
    #[cold]
    fn update(&mut self, settings: &Settings, due: u64, delay: Duration) {
        let elapsed = Duration::from_picos(due.saturating_mul(settings.tupdate.as_picos()));
        self.burst_allowance = Duration::from_picos(
            self.burst_allowance
                .as_picos()
                .saturating_sub(elapsed.as_picos()),
        );
        let decays = |old_delay| delay == Duration::ZERO && old_delay == Duration::ZERO;
        let old_delay = core::mem::replace(&mut self.old_delay, delay);
        self.step(raw_step(settings, delay, old_delay), 1, decays(old_delay));
        // From here on the delay stays.
        let raw = raw_step(settings, delay, delay);
        let mut left = due - 1;
        while left > 0 && !self.rests(raw, decays(delay)) {
            let steps = if decays(delay) {
                1
            } else {
                self.steps_to_bound(raw).min(left)
            };
            self.step(raw, steps, decays(delay));
            left -= steps;
        }
    }

    /// Whether further updates change nothing.
    fn rests(&self, raw: i128, decays: bool) -> bool {
        let is_at_end =
            (self.probability == 0 && raw <= 0) || (self.probability == ONE && raw >= 0);
        is_at_end || (self.tuned(raw) == 0 && !decays)
    }

    /// Number of updates by `raw` until the probability leaves its range of the tuning.
    fn steps_to_bound(&self, raw: i128) -> u64 {
        let (low, high) = range(self.probability);
        let step = self.tuned(raw);
        let distance = if step > 0 {
            high - self.probability
        } else {
            self.probability - low + 1
        };
        u64::try_from(u128::from(distance).div_ceil(step.unsigned_abs())).unwrap_or(u64::MAX)
    }

    /// `steps` updates by `raw` within one range of the tuning.
    fn step(&mut self, raw: i128, steps: u64, decays: bool) {
        let sum = i128::from(self.probability) + self.tuned(raw) * i128::from(steps);
        let probability = sum.clamp(0, ONE.into()) as u64;
        self.probability = if decays {
            probability - probability.div_ceil(50)
        } else {
            probability
        };
    }

    /// The step at the present probability.
    fn tuned(&self, raw: i128) -> i128 {
        match TUNING.iter().find(|(bound, _)| self.probability < *bound) {
            Some((_, shift)) => raw / (1 << shift),
            None => raw.min(LARGEST_STEP),
        }
    }

    /// Whether no packet is to be dropped for now.
    fn is_calm(&self, target: Duration) -> bool {
        self.probability < SMALL && is_short(self.old_delay, target)
    }

    fn check(&self, settings: &Settings) {
        assert!(self.probability <= ONE, "invariant 1");
        assert!(self.burst_allowance <= settings.burst, "invariant 2");
    }
}

/// An update before the tuning, in units of 2^-60.
fn raw_step(settings: &Settings, delay: Duration, old_delay: Duration) -> i128 {
    let [delay, old_delay, target] =
        [delay, old_delay, settings.target].map(|time| i128::from(time.as_picos()));
    // 4.2: p = alpha (current_qdelay - QDELAY_REF) + beta (current_qdelay - qdelay_old_).
    let sum = i128::from(settings.alpha) * (delay - target)
        + i128::from(settings.beta) * (delay - old_delay);
    // 2^60 / (16 x 10^12) = 2^44 / 5^12. The sum is below 2^71.
    (sum << 44) / 244_140_625
}

/// The range of the tuning around a probability: its lower and its upper bound.
fn range(probability: u64) -> (u64, u64) {
    let above = TUNING
        .iter()
        .position(|(bound, _)| probability < *bound)
        .unwrap_or(TUNING.len());
    let low = if above == 0 { 0 } else { TUNING[above - 1].0 };
    (low, TUNING.get(above).map_or(ONE, |(bound, _)| *bound))
}

/// Whether a delay is below half of the target.
fn is_short(delay: Duration, target: Duration) -> bool {
    delay.as_picos().saturating_mul(2) < target.as_picos()
}

/// Time in which [`MEASURED_BYTES`] leave: a moving average over periods with a standing queue.
#[derive(Debug, Clone, Default)]
struct DepartureRate {
    /// Start of the present measurement.
    start: Instant,
    /// Bytes that have left since.
    bytes: u32,
    is_measuring: bool,
    has_average: bool,
    average: Duration,
}

impl DepartureRate {
    /// A packet leaves a queue with `before` bytes. The packet's own bytes count for the time that
    /// follows.
    fn left(&mut self, now: Instant, len: u32, before: u64) {
        if self.is_measuring {
            if u64::from(self.bytes) < MEASURED_BYTES {
                self.bytes = self.bytes.saturating_add(len);
                return;
            }
            let time = (u128::from(now.since(self.start).as_picos()) * u128::from(MEASURED_BYTES)
                / u128::from(self.bytes)) as u64;
            // Weight of the newest: MEASURED_BYTES / 2^16.
            let average = self.average.as_picos();
            self.average = Duration::from_picos(if self.has_average {
                average - average / 4 + time / 4
            } else {
                time
            });
            self.has_average = true;
        }
        self.is_measuring = before >= MEASURED_BYTES;
        self.start = now;
        self.bytes = len;
    }

    fn time_of(&self, bytes: u64) -> Duration {
        let time =
            u128::from(self.average.as_picos()) * u128::from(bytes) / u128::from(MEASURED_BYTES);
        Duration::from_picos(u64::try_from(time).unwrap_or(u64::MAX))
    }
}

/// The RFC's controller of one queue, and what it knows of the queue.
#[derive(Debug, Clone)]
pub(crate) struct RfcPie {
    controller: Controller,
    /// Sum of the probabilities since the last drop.
    accumulated: u64,
    /// Time in the queue of the packet that left last.
    sojourn: Duration,
    departures: DepartureRate,
}

impl RfcPie {
    /// Of an empty queue, with the whole burst allowance. Updates are due from the first call on.
    pub(crate) fn new(burst: Duration) -> Self {
        Self {
            controller: Controller {
                probability: 0,
                old_delay: Duration::ZERO,
                burst_allowance: burst,
                updated: Instant::MAX,
            },
            accumulated: 0,
            sojourn: Duration::ZERO,
            departures: DepartureRate::default(),
        }
    }

    /// The present delay: zero for an empty queue.
    fn delay(&self, settings: &Settings, backlog: Backlog) -> Duration {
        match settings.dq_rate_estimator {
            _ if backlog.packets == 0 => Duration::ZERO,
            true => self.departures.time_of(backlog.bytes),
            false => self.sojourn,
        }
    }

    /// Does the updates that have become due at `now`. The queue has had this backlog since the
    /// last call.
    #[inline]
    pub(crate) fn advance(&mut self, settings: &Settings, now: Instant, backlog: Backlog) {
        let delay = self.delay(settings, backlog);
        self.controller.advance(settings, now, delay);
    }

    /// Whether to signal at the arrival of a packet of `len` bytes. De-randomized: see
    /// [`CERTAINLY_KEPT`] and [`CERTAINLY_DROPPED`].
    pub(crate) fn judges_bad(
        &mut self,
        settings: &Settings,
        random: &mut Random,
        len: u32,
        backlog: Backlog,
    ) -> bool {
        self.renew_allowance(settings, backlog);
        let controller = &self.controller;
        let has_allowance = controller.burst_allowance > Duration::ZERO;
        if has_allowance
            || controller.is_calm(settings.target)
            || backlog.bytes <= 2 * u64::from(FRAME)
        {
            return false;
        }
        let probability = match controller.probability {
            all if settings.bytemode && len < FRAME => all / u64::from(FRAME) * u64::from(len),
            all => all,
        };
        self.accumulated = if probability == 0 {
            0
        } else {
            self.accumulated + probability
        };
        // 5.4: no drop below the first bound of accu_prob_, and always one from the second on.
        let is_bad = self.accumulated >= CERTAINLY_DROPPED
            || self.accumulated >= CERTAINLY_KEPT
                && random.next() >> (u64::BITS - BITS) < probability;
        if is_bad {
            self.accumulated = 0;
        }
        is_bad
    }

    /// Gives a new burst allowance after congestion.
    fn renew_allowance(&mut self, settings: &Settings, backlog: Backlog) {
        let target = settings.target;
        let delay = self.delay(settings, backlog);
        if self.controller.probability == 0
            && is_short(delay, target)
            && is_short(self.controller.old_delay, target)
        {
            // 4.4: burst_allowance_ = MAX_BURST.
            self.controller.burst_allowance = settings.burst;
        }
    }

    /// A packet that waited for `sojourn` leaves the queue, which had `before` bytes.
    pub(crate) fn left(&mut self, now: Instant, sojourn: Duration, len: u32, before: u64) {
        self.sojourn = sojourn;
        self.departures.left(now, len, before);
    }

    /// Before the first call: updates are due from this time on.
    pub(crate) fn begin(&mut self, began: Instant) {
        self.controller.begin(began);
    }

    /// Drop probability, in units of 1 / [`ONE`].
    pub(crate) const fn probability(&self) -> u64 {
        self.controller.probability
    }

    /// A packet was dropped. This starts a new sum of probabilities.
    pub(crate) fn dropped(&mut self) {
        self.accumulated = 0;
    }

    /// The largest burst allowance has become smaller.
    pub(crate) fn limit_allowance(&mut self, burst: Duration) {
        self.controller.burst_allowance = self.controller.burst_allowance.min(burst);
    }

    /// 1. The drop probability is at most one.
    /// 2. The burst allowance is at most `burst`.
    /// 3. The sum of the probabilities since the last drop is below 8.5, because the packet that
    ///    reaches 8.5 is dropped.
    pub(crate) fn check(&self, settings: &Settings) {
        self.controller.check(settings);
        assert!(self.accumulated < CERTAINLY_DROPPED, "invariant 3");
    }
}
