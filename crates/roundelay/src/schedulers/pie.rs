//! PIE (proportional integral controller enhanced): one FIFO queue with random drops on arrival
//! that hold the queueing delay at a target.
//!
//! RED drops by the queue's length, but the right length depends on the link. PIE measures the
//! delay, as CoDel does, but drops before the packet is queued. Every `tupdate` the controller adds
//! two terms to the drop probability: `alpha` times the delay's distance from `target` (integral),
//! and `beta` times the delay's change (proportional). While the probability is small, so are the
//! steps.
//!
//! Source: R. Pan, P. Natarajan, F. Baker, G. White, "Proportional Integral Controller Enhanced
//! (PIE): A Lightweight Control Scheme to Address the Bufferbloat Problem", RFC 8033, 2017.
//! Parameters as in tc-pie(8).
//!
//! | RFC | here |
//! |---|---|
//! | QDELAY_REF, T_UPDATE | `target`, `tupdate` |
//! | alpha, beta | `alpha` / 16 and `beta` / 16, a second |
//! | MAX_BURST, burst_allowance_ | `burst`, `burst_allowance` in `mechanisms/pie.rs` |
//! | drop_prob_, accu_prob_ | `probability`, `accumulated` there |
//! | current_qdelay, qdelay_old_ | `RfcPie::delay`, `old_delay` there |
//! | DQ_THRESHOLD | `MEASURED_BYTES` there |
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
//! a packet. Updates are due every `tupdate`, but no timer runs, so each call first does the
//! updates that have become due. Between two calls the delay does not change, so all updates but
//! the first add the same amount until the probability passes one of the tuning's six bounds. One
//! multiplication does all of these. Only the decay of an empty queue goes step by step, at most
//! 1,894 steps down to 0. Memory: constant.
//!
//! Differences from the RFC: PIE is always active (5.3 turns it on when a third of the buffer is
//! full). A packet that finds at most two frames of 1514 bytes is kept. The first update comes
//! `tupdate` after the first call. An emptied queue has no delay, where appendix A keeps that of the
//! packet that left last. The probability decays as in 4.2 and appendix A, and not as in appendix B.
//! A measurement of the departure rate is divided by its own bytes, which may be more than
//! DQ_THRESHOLD. `bytemode` is tc's. With `linux` the controller is the kernel's
//! (`mechanisms/pie_linux.rs`).

use crate::author::{
    Backlog, ByCopy, ConfigError, Configured, Control, Discipline, DropReason, Duration, Handle,
    Instant, Linux, LinuxFlows, LinuxLimit, Onset, Packet, Parameter, Queues, Rate, Refused,
    Scheduler, Seed,
};
use crate::config::{HOUR, MICROSECOND};
use crate::mechanisms::pie::{self, FRAME, Settings};
use crate::mechanisms::queue_pie::QueuePie;
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
    /// Whether the delay is estimated from the departure rate. Otherwise it follows from the
    /// arrival times of departing packets.
    pub dq_rate_estimator: bool,
    /// Whether the controller is Linux's, step by step (`mechanisms/pie_linux.rs`).
    pub linux: bool,
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
            linux: false,
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
        pie::alpha(|config| &mut config.alpha),
        pie::beta(|config| &mut config.beta),
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
        pie::bytemode(|config| &mut config.bytemode),
        pie::rate_estimator(|config| &mut config.dq_rate_estimator),
        pie::linux(|config| &mut config.linux),
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

    fn reads_seed(&self) -> bool {
        true
    }

    fn onset(&self, _link: Rate) -> Onset {
        Onset::Backlog {
            above: 2 * u64::from(FRAME),
        }
    }

    fn configuration<T: Send>(scheduler: &mut Pie<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    fn adopt<T: Send>(scheduler: &mut Pie<T>, _before: &Self) {
        scheduler.pie.limit_allowance(scheduler.config.burst);
    }
}

/// Below this probability, in percent, capable packets are marked.
const LARGEST_MARKED: u32 = 10;

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Pie<T> {
    queue: SignallingQueue<T>,
    pie: QueuePie,
    random: Random,
    config: Config,
}

impl Config {
    const fn settings(&self) -> Settings {
        Settings {
            target: self.target,
            tupdate: self.tupdate,
            alpha: self.alpha,
            beta: self.beta,
            burst: self.burst,
            bytemode: self.bytemode,
            dq_rate_estimator: self.dq_rate_estimator,
            linux: self.linux,
        }
    }
}

impl<T> Configured<Config> for Pie<T> {
    fn configured(config: Config, seed: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            queue: SignallingQueue::default(),
            pie: QueuePie::new(&config.settings()),
            random: Random::new(seed),
            config,
        })
    }
}

impl<T> Pie<T> {
    /// Drop probability, from 0 to 1, in units of 2^-60.
    pub fn probability(&self) -> u64 {
        self.pie.probability()
    }
}

impl<T> Scheduler<T> for Pie<T> {
    /// Sets the packet's arrival time.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        let settings = self.config.settings();
        let backlog = self.queue.backlog();
        self.pie.advance(&settings, now, backlog);
        let packet = Packet {
            arrival: now,
            ..packet
        };
        let random = &mut self.random;
        let kept = if self.pie.judges_bad(&settings, random, packet.len, backlog) {
            let marks = self.config.ecn && self.pie.may_mark(LARGEST_MARKED);
            self.queue.signal(packet, marks)
        } else {
            Some(packet)
        };
        match kept {
            Some(packet) => self.queue.push(packet),
            None => self.pie.dropped(),
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        let settings = self.config.settings();
        let before = self.queue.backlog();
        self.pie.advance(&settings, now, before);
        let packet = self.queue.pop()?;
        let left = (packet.arrival, packet.len);
        self.pie.left(&settings, now, left, before.bytes);
        Some(packet)
    }

    /// Drop tail: the newest packet.
    fn evict(&mut self) -> Option<Packet<T>> {
        self.pie.dropped();
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
    /// The drop rule and the queue hold each by itself.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.pie.check(&self.config.settings());
        self.queue.check();
    }
}
