//! PIE (proportional integral controller enhanced): one FIFO queue with random drops on arrival
//! that hold the queueing delay at a target.
//!
//! RED drops by the length of the queue, and the right length depends on the link. PIE measures the
//! delay, as CoDel does, but drops before the packet is queued. Every `tupdate` the controller adds
//! two terms to the drop probability: `alpha` times the distance of the delay from `target`
//! (integral), and `beta` times the change of the delay (proportional). While the probability is
//! small, so are the steps.
//!
//! Source: R. Pan, P. Natarajan, F. Baker, G. White, "Proportional Integral Controller Enhanced
//! (PIE): A Lightweight Control Scheme to Address the Bufferbloat Problem", RFC 8033, 2017;
//! parameters as in tc-pie(8).
//!
//! | RFC | here |
//! |---|---|
//! | QDELAY_REF, T_UPDATE | `target`, `tupdate` |
//! | alpha, beta | `alpha` / 16 and `beta` / 16, a second |
//! | MAX_BURST, burst_allowance_ | `burst`, `burst_allowance` |
//! | drop_prob_, accu_prob_ | `probability`, `accumulated` |
//! | current_qdelay, qdelay_old_ | `Pie::delay`, `old_delay` |
//! | DQ_THRESHOLD | `MEASURED_BYTES` |
//! | mark_ecnth | `LARGEST_MARKED` |
//! | MEAN_PKTSIZE | `FRAME` |
//!
//! | guarantee | value | test in `theorems/pie.rs` |
//! |---|---|---|
//! | probability | the RFC's, at each update | `the_probability_is_the_papers` |
//! | unresponsive load r > 1 | delay `target`, loss 1 - 1/r | `a_constant_overload_waits_for_the_target` |
//! | burst of up to `burst` after a calm period | loses nothing | `bursts_within_the_allowance_lose_nothing` |
//! | delay below target / 2, probability below 0.2 | nothing is dropped | `a_short_delay_loses_nothing` |
//! | distances between drops | at least 0.85 / p, at most 8.5 / p | `drops_are_neither_close_nor_far_apart` |
//! | ECN | marks in place of drops below probability 0.1 | `capable_packets_are_marked_below_a_tenth` |
//! | idle time | costs the same for a second and a century | `a_long_pause_equals_its_updates` |
//!
//! Number format: probabilities in units of 2^-60, rounded towards zero once an update. Cost: O(1)
//! a packet. Updates are due every `tupdate`, but no timer runs: each call first does the updates
//! that have become due. Between two calls the delay does not change, so all updates but the first
//! add the same amount until the probability passes a bound of the tuning (six): one multiplication
//! for all of these. Only the decay of an empty queue goes step by step, at most 1,894 steps down
//! to 0. Memory: constant.
//!
//! Differences from the RFC: PIE is always active (5.3 turns it on when a third of the buffer is
//! full); a packet that finds at most two frames of 1514 bytes is kept; the first update comes
//! `tupdate` after the first call; a measurement of the departure rate is divided by its own bytes,
//! which may be more than DQ_THRESHOLD. `bytemode` is tc's.

use crate::author::{
    Backlog, ByCopy, ConfigError, Configured, Control, Discipline, DropReason, Duration, Handle,
    Instant, Linux, LinuxFlows, LinuxLimit, Onset, Packet, Parameter, Queues, Rate, Scheduler,
    Seed,
};
use crate::config::{HOUR, MICROSECOND};
use crate::mechanisms::random::Random;
use crate::mechanisms::signalling::SignallingQueue;

/// Parameters of PIE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Queueing delay to hold: 1 us to 1 hour.
    pub target: Duration,
    /// Time between updates of the probability: 1 us to 1 hour.
    pub tupdate: Duration,
    /// Weight of the distance from the target, in sixteenths a second: 0 to 32.
    pub alpha: u32,
    /// Weight of the change of the delay, in sixteenths a second: 0 to 32.
    pub beta: u32,
    /// Burst that passes without drops after a calm period: up to 1 hour.
    pub burst: Duration,
    /// Whether ECN-capable packets are marked where others are dropped, while the probability is
    /// below a tenth.
    pub ecn: bool,
    /// Whether packets shorter than a frame are dropped with a smaller probability, in proportion.
    pub bytemode: bool,
    /// Whether the delay is estimated from the departure rate; otherwise by the arrival times of
    /// departing packets.
    pub dq_rate_estimator: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(15),
            alpha: 2,
            beta: 20,
            burst: Duration::from_millis(150),
            ecn: false,
            bytemode: false,
            dq_rate_estimator: false,
        }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "pie";
    const ABOUT: &'static str = "proportional integral controller: one queue; random drops on arrival hold the delay at a target";
    const SOURCE: &'static str = "Pan, Natarajan, Baker, White, Proportional Integral Controller Enhanced (PIE): A Lightweight Control Scheme to Address the Bufferbloat Problem, RFC 8033, 2017; tc-pie(8)";
    const LINUX: Linux = Linux::Qdisc {
        name: "pie",
        flows: LinuxFlows::Unread,
        limit: LinuxLimit::Packets,
    };
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::time(
            "target",
            MICROSECOND..=HOUR,
            "queueing delay to hold",
            |config| &mut config.target,
        ),
        Parameter::time(
            "tupdate",
            MICROSECOND..=HOUR,
            "time between updates of the drop probability",
            |config| &mut config.tupdate,
        ),
        Parameter::count(
            "alpha",
            0..=32,
            "weight of the distance from the target, in sixteenths",
            |config| &mut config.alpha,
        ),
        Parameter::count(
            "beta",
            0..=32,
            "weight of the change of the delay, in sixteenths",
            |config| &mut config.beta,
        ),
        Parameter::time(
            "burst",
            0..=HOUR,
            "burst that passes without drops after a calm period",
            |config| &mut config.burst,
        ),
        Parameter::switch(
            "ecn",
            "mark ECN-capable packets in place of drops, below a probability of 0.1",
            |config| &mut config.ecn,
        ),
        Parameter::switch(
            "bytemode",
            "drop short packets with a smaller probability, in proportion to their length",
            |config| &mut config.bytemode,
        ),
        Parameter::switch(
            "dq_rate_estimator",
            "estimate the delay from the departure rate, not from arrival times",
            |config| &mut config.dq_rate_estimator,
        ),
    ];
    const LIVE: &'static [&'static str] = &[
        "target",
        "tupdate",
        "alpha",
        "beta",
        "burst",
        "ecn",
        "bytemode",
        "dq_rate_estimator",
    ];
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::Early];
    const QUEUES: Queues = Queues::One;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Pie<T>;
    /// By copy. A mark is set on arrival and reported on departure.
    type ByHandle = ByCopy<Pie<Handle>>;

    fn onset(&self, _link: Rate) -> Onset {
        Onset::Backlog {
            above: 2 * u64::from(FRAME),
        }
    }

    fn configuration<T: Send>(scheduler: &mut Pie<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    fn adopt<T: Send>(scheduler: &mut Pie<T>, _before: &Self) {
        let Pie {
            controller, config, ..
        } = scheduler;
        controller.burst_allowance = controller.burst_allowance.min(config.burst);
    }
}

/// Bits of a probability.
const BITS: u32 = 60;
/// Probability one.
const ONE: u64 = 1 << BITS;
/// A drop is impossible before the probabilities since the last drop add up to this.
const CERTAINLY_KEPT: u64 = ONE / 100 * 85;
/// A drop is certain from this sum on.
const CERTAINLY_DROPPED: u64 = ONE / 10 * 85;
/// Below this probability capable packets are marked.
const LARGEST_MARKED: u64 = ONE / 10;
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
const FRAME: u32 = 1514;
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
    /// Time of the last update. None before the first call.
    updated: Option<Instant>,
}

impl Controller {
    /// Does the updates that have become due at `now`. Since the last call the queue has had this
    /// `delay`.
    #[inline]
    fn advance(&mut self, config: &Config, now: Instant, delay: Duration) {
        let updated = *self.updated.get_or_insert(now);
        if now.since(updated) >= config.tupdate {
            let due = now.since(updated).as_picos() / config.tupdate.as_picos();
            self.updated = Some(updated + Duration::from_picos(due * config.tupdate.as_picos()));
            self.update(config, due, delay);
        }
    }

    /// `due` updates, at least one, with the same delay.
    #[cold]
    fn update(&mut self, config: &Config, due: u64, delay: Duration) {
        let elapsed = Duration::from_picos(due.saturating_mul(config.tupdate.as_picos()));
        self.burst_allowance = Duration::from_picos(
            self.burst_allowance
                .as_picos()
                .saturating_sub(elapsed.as_picos()),
        );
        let decays = |old_delay| delay == Duration::ZERO && old_delay == Duration::ZERO;
        let old_delay = core::mem::replace(&mut self.old_delay, delay);
        self.step(raw_step(config, delay, old_delay), 1, decays(old_delay));
        // From here on the delay stays.
        let raw = raw_step(config, delay, delay);
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

    fn check(&self, config: &Config) {
        assert!(self.probability <= ONE, "invariant 1");
        assert!(self.burst_allowance <= config.burst, "invariant 2");
    }
}

/// An update before the tuning, in units of 2^-60.
fn raw_step(config: &Config, delay: Duration, old_delay: Duration) -> i128 {
    let [delay, old_delay, target] =
        [delay, old_delay, config.target].map(|time| i128::from(time.as_picos()));
    let sum =
        i128::from(config.alpha) * (delay - target) + i128::from(config.beta) * (delay - old_delay);
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
    /// Start of a measurement, and bytes that have left since.
    measurement: Option<(Instant, u64)>,
    average: Option<Duration>,
}

impl DepartureRate {
    /// A packet leaves a queue with `before` bytes. The packet's own bytes count for the time that
    /// follows.
    fn left(&mut self, now: Instant, len: u32, before: u64) {
        if let Some((start, bytes)) = &mut self.measurement {
            if *bytes < MEASURED_BYTES {
                *bytes += u64::from(len);
                return;
            }
            let time = (u128::from(now.since(*start).as_picos()) * u128::from(MEASURED_BYTES)
                / u128::from(*bytes)) as u64;
            // Weight of the newest: MEASURED_BYTES / 2^16.
            let average = self.average.map_or(time, |average| {
                average.as_picos() - average.as_picos() / 4 + time / 4
            });
            self.average = Some(Duration::from_picos(average));
        }
        self.measurement = (before >= MEASURED_BYTES).then(|| (now, u64::from(len)));
    }

    fn time_of(&self, bytes: u64) -> Duration {
        let time = u128::from(self.average.unwrap_or_default().as_picos()) * u128::from(bytes)
            / u128::from(MEASURED_BYTES);
        Duration::from_picos(u64::try_from(time).unwrap_or(u64::MAX))
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Pie<T> {
    queue: SignallingQueue<T>,
    controller: Controller,
    /// Sum of the probabilities since the last drop.
    accumulated: u64,
    /// Time in the queue of the packet that left last.
    sojourn: Duration,
    departures: DepartureRate,
    random: Random,
    config: Config,
}

impl<T> Configured<Config> for Pie<T> {
    fn configured(config: Config, seed: Seed) -> Result<Self, ConfigError> {
        let controller = Controller {
            probability: 0,
            old_delay: Duration::ZERO,
            burst_allowance: config.burst,
            updated: None,
        };
        let queue = SignallingQueue::default();
        let departures = DepartureRate::default();
        Ok(Self {
            queue,
            controller,
            accumulated: 0,
            sojourn: Duration::ZERO,
            departures,
            random: Random::new(seed),
            config,
        })
    }
}

impl<T> Pie<T> {
    /// Drop probability, from 0 to 1, in units of 2^-60.
    pub const fn probability(&self) -> u64 {
        self.controller.probability
    }

    /// The present delay: zero for an empty queue.
    fn delay(&self) -> Duration {
        let Backlog { packets, bytes } = self.queue.backlog();
        match self.config.dq_rate_estimator {
            _ if packets == 0 => Duration::ZERO,
            true => self.departures.time_of(bytes),
            false => self.sojourn,
        }
    }

    fn advance(&mut self, now: Instant) {
        let delay = self.delay();
        self.controller.advance(&self.config, now, delay);
    }

    /// Whether to signal at the arrival of a packet of `len` bytes. De-randomized: see
    /// [`CERTAINLY_KEPT`] and [`CERTAINLY_DROPPED`].
    fn judges_bad(&mut self, len: u32) -> bool {
        let Self {
            controller, config, ..
        } = self;
        let has_allowance = controller.burst_allowance > Duration::ZERO;
        if has_allowance
            || controller.is_calm(config.target)
            || self.queue.backlog().bytes <= 2 * u64::from(FRAME)
        {
            return false;
        }
        let probability = match controller.probability {
            all if config.bytemode && len < FRAME => all / u64::from(FRAME) * u64::from(len),
            all => all,
        };
        self.accumulated = if probability == 0 {
            0
        } else {
            self.accumulated + probability
        };
        let is_bad = self.accumulated >= CERTAINLY_DROPPED
            || self.accumulated >= CERTAINLY_KEPT
                && self.random.next() >> (u64::BITS - BITS) < probability;
        if is_bad {
            self.accumulated = 0;
        }
        is_bad
    }

    /// Gives a new burst allowance after congestion.
    fn renew_allowance(&mut self) {
        let target = self.config.target;
        let delay = self.delay();
        if self.controller.probability == 0
            && is_short(delay, target)
            && is_short(self.controller.old_delay, target)
        {
            self.controller.burst_allowance = self.config.burst;
        }
    }
}

impl<T> Scheduler<T> for Pie<T> {
    /// Sets the packet's arrival time.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        self.advance(now);
        self.renew_allowance();
        let packet = Packet {
            arrival: now,
            ..packet
        };
        let marks = self.config.ecn && self.controller.probability < LARGEST_MARKED;
        let kept = if self.judges_bad(packet.len) {
            self.queue.signal(packet, marks)
        } else {
            Some(packet)
        };
        if let Some(packet) = kept {
            self.queue.push(packet);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        self.advance(now);
        let before = self.queue.backlog().bytes;
        let packet = self.queue.pop()?;
        self.sojourn = now.since(packet.arrival);
        self.departures.left(now, packet.len, before);
        Some(packet)
    }

    /// Drop tail: the newest packet. As any drop, this starts a new sum of probabilities.
    fn evict(&mut self) -> Option<Packet<T>> {
        self.accumulated = 0;
        self.queue.pop_tail()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
        self.queue.take_dropped()
    }
}

impl<T> Control for Pie<T> {
    /// 1. The drop probability is at most one.
    /// 2. The burst allowance is at most `burst`.
    /// 3. The sum of the probabilities since the last drop is below 8.5: the packet that reaches
    ///    8.5 is dropped.
    /// 4. All waiting packets are in one queue.
    fn check_invariants(&self) {
        self.controller.check(&self.config);
        assert!(self.accumulated < CERTAINLY_DROPPED, "invariant 3");
        self.queue.check();
    }
}
