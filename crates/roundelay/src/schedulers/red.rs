//! RED (random early detection): one queue with random drops or marks before the queue is full.
//!
//! A full queue signals all senders at once, so all back off and return together. RED signals a few
//! senders while there is still room. While the queue's moving average is below `min`, it signals
//! none. Between `min` and `max`, the part of packets that it drops (or marks) grows linearly up to
//! `probability`. Flows with more packets are hit more often, so responsive senders pay about in
//! proportion to their rate.
//!
//! Source: S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM Transactions on Networking 1(4), 1993. Adaptive RED: S. Floyd, R. Gummadi, S. Shenker,
//! 2001. Parameters as in tc-red(8). The decision itself: `early_detection.rs`. The queue before
//! which it stands: `detecting_queue.rs`.
//!
//! | paper, tc | here |
//! |---|---|
//! | min_th, max_th, max_p | `min`, `max`, `probability` |
//! | w_q | from `burst` and `avpkt`, a power of two |
//! | s, the time that a packet takes | `avpkt` at `bandwidth` |
//!
//! | guarantee | value | test in `theorems/red.rs` |
//! |---|---|---|
//! | average below `min` | no packet is dropped | `short_queues_and_bursts_lose_nothing` |
//! | average between | with p_b = `probability` (avg - min) / (max - min), 2 p_b / (1 + p_b) of the packets | `the_drop_rate_grows_linearly` |
//! | distances between drops | uniform from 1 to 1 / p_b | `drops_are_spaced_uniformly_not_geometrically` |
//! | average above `max` | every packet | `a_queue_beyond_max_takes_nothing` |
//! | ECN | capable packets are marked where others are dropped, or let in with `nodrop` | `capable_packets_are_marked_not_dropped` |
//! | senders that back off | are not all signalled at once | `senders_do_not_go_back_all_together` |
//!
//! Cost: O(1) a packet, with a division while the average is above `min`. Memory: constant.
//!
//! Differences from the paper: lengths are in bytes, as in tc, but a long packet is as likely to be
//! dropped as a short one. w_q is the largest power of two with room for a burst of `burst`
//! packets, as in tc. Different from tc, the power for an idle time is exact and not from a table.
//! `min` defaults to a third of `max` and `max` to three times `min`, because a configuration does
//! not know its buffer's limit. A `burst` below `min` is legal, and `gentle` is new.

use alloc::borrow::ToOwned;

use crate::author::{
    Billionths, ByCopy, Bytes, ConfigError, Discipline, DropReason, Handle, Limit, Linux,
    LinuxFlows, LinuxLimit, Onset, Packet, Parameter, Queues, Rate,
};
use crate::mechanisms::detecting_queue::{Admission, DetectingQueue};
use crate::mechanisms::early_detection::{
    self, DEFAULT_PROBABILITY, Settings, Thresholds, UNKNOWN_LINK_RATE, Verdict,
};
use crate::mechanisms::signalling::{OneQueue, mark};

/// Parameters of RED.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Average queue in bytes below which no packet is dropped: up to 2^30. 0: a third of `max`.
    pub min: u64,
    /// Average queue in bytes from which all packets are dropped: up to 2^32. 0: three times `min`,
    /// or 90000 if `min` is 0 too.
    pub max: u64,
    /// Bytes of an average packet: 1 to 65536.
    pub avpkt: u32,
    /// Packets of a burst that should pass: up to 2^20. 0: (2 `min` + `max`) / (3 `avpkt`).
    pub burst: u32,
    /// Rate by which the average decays while the queue is empty: 1 kbit/s to 10 Tbit/s. None: the
    /// link's, or 10 Mbit/s below the root of a tree.
    pub bandwidth: Option<Rate>,
    /// Drop probability when the average reaches `max`: 0 to 1.
    pub probability: Billionths,
    /// Whether ECN-capable packets are marked where others are dropped.
    pub ecn: bool,
    /// With `ecn`: whether all packets are dropped beyond `max`.
    pub harddrop: bool,
    /// With `ecn`: whether packets without ECN capability are never dropped, not even beyond `max`
    /// unless `harddrop` is set.
    pub nodrop: bool,
    /// Whether `probability` is adapted, twice a second, to keep the average half-way between `min`
    /// and `max`.
    pub adaptive: bool,
    /// Whether the probability keeps growing above `max`, up to one at twice `max`.
    pub gentle: bool,
}

impl Default for Config {
    fn default() -> Self {
        let ecn = false;
        let harddrop = false;
        let nodrop = false;
        let adaptive = false;
        let gentle = false;
        Self {
            min: 0,
            max: 0,
            avpkt: 1000,
            burst: 0,
            bandwidth: None,
            probability: DEFAULT_PROBABILITY,
            ecn,
            harddrop,
            nodrop,
            adaptive,
            gentle,
        }
    }
}

const DEFAULT_MAX: u64 = 90_000;

impl Discipline for Config {
    const NAME: &'static str = "red";
    const ABOUT: &'static str =
        "random early detection: one queue that drops at random before it is full";
    const SOURCE: &'static str = "Floyd, Jacobson, Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM Transactions on Networking 1(4), 1993; tc-red(8)";
    const LINUX: Linux = Linux::Qdisc {
        name: "red",
        flows: LinuxFlows::Unread,
        limit: LinuxLimit::Bytes,
    };
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::size64(
            "min",
            0..=1 << 30,
            "average queue below which nothing is dropped; 0: a third of max",
            |config| &mut config.min,
        ),
        Parameter::size64(
            "max",
            0..=1 << 32,
            "average queue from which all packets are dropped; 0: three times min",
            |config| &mut config.max,
        ),
        early_detection::average_length(|config| &mut config.avpkt),
        Parameter::count(
            "burst",
            0..=1 << 20,
            "burst in packets that passes without drops; 0: (2 min + max) / (3 avpkt)",
            |config| &mut config.burst,
        ),
        early_detection::idle_rate(|config| &mut config.bandwidth),
        early_detection::probability(|config| &mut config.probability),
        Parameter::switch(
            "ecn",
            "mark ECN-capable packets in place of drops",
            |config| &mut config.ecn,
        ),
        Parameter::switch(
            "harddrop",
            "with ecn: drop ECN-capable packets too when the average is above max",
            |config| &mut config.harddrop,
        ),
        Parameter::switch(
            "nodrop",
            "with ecn: no early drops of packets without ECN; with harddrop only below max",
            |config| &mut config.nodrop,
        ),
        Parameter::switch(
            "adaptive",
            "adapt the probability so that the average stays half-way between min and max",
            |config| &mut config.adaptive,
        ),
        Parameter::switch(
            "gentle",
            "raise the probability above max gradually, to 1 at twice max",
            |config| &mut config.gentle,
        ),
    ];
    const LIVE: &'static [&'static str] = &[
        "min",
        "max",
        "avpkt",
        "burst",
        "bandwidth",
        "probability",
        "ecn",
        "harddrop",
        "nodrop",
        "adaptive",
        "gentle",
    ];
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::Early];
    const DEFAULT_LIMIT: Limit = Limit::of_bytes(4 * DEFAULT_MAX);
    const QUEUES: Queues = Queues::One;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Red<T>;
    /// By copy. A mark is set on arrival and reported on departure.
    type ByHandle = ByCopy<Red<Handle>>;

    fn reads_seed(&self) -> bool {
        true
    }

    fn onset(&self, link: Rate) -> Onset {
        self.thresholds(link).onset(Self::IN_BYTES)
    }

    fn configuration<T: Send>(scheduler: &mut Red<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    fn adopt<T: Send>(scheduler: &mut Red<T>, _before: &Self) {
        scheduler.adopt();
    }

    fn check(&self) -> Result<(), ConfigError> {
        Self::PARAMETERS
            .iter()
            .try_for_each(|parameter| parameter.check(Self::NAME, self))?;
        if self.nodrop && !self.ecn {
            let expected =
                "ecn as well: without ECN nodrop has no meaning, and tc refuses it".to_owned();
            return Err(ConfigError::BadValue {
                discipline: Self::NAME,
                parameter: "nodrop".to_owned(),
                value: None,
                expected,
            });
        }
        self.settings().check(Self::NAME, Bytes)
    }
}

impl Config {
    /// `min`, `max` and `burst`. A value of zero is derived from the others.
    pub fn thresholds_and_burst(&self) -> (u64, u64, u32) {
        self.settings().thresholds_and_burst()
    }

    /// k: an arrival moves the average by a 2^k-th of the distance to the queue length.
    pub fn weight_log(&self) -> u32 {
        self.thresholds(UNKNOWN_LINK_RATE).weight_log
    }

    const fn settings(&self) -> Settings {
        let max = match (self.min, self.max) {
            (0, 0) => DEFAULT_MAX,
            (min, 0) => 3 * min,
            (_, max) => max,
        };
        Settings {
            min: self.min,
            max,
            packet: self.avpkt,
            avpkt: self.avpkt,
            burst: self.burst,
            bandwidth: self.bandwidth,
            probability: self.probability,
        }
    }
}

/// The scheduler.
pub type Red<T> = DetectingQueue<Config, T>;

impl Admission for Config {
    type Queue<T> = OneQueue<T>;
    const IN_BYTES: bool = true;

    fn thresholds(&self, link: Rate) -> Thresholds {
        Thresholds {
            gentle: self.gentle,
            adaptive: self.adaptive,
            ..self.settings().thresholds(link)
        }
    }

    fn admit<T>(red: &mut Red<T>, mut packet: Packet<T>) -> Option<Packet<T>> {
        let Self {
            ecn,
            harddrop,
            nodrop,
            ..
        } = red.config;
        // Between min_th and max_th, mark with probability p_a (`Signal`). Beyond, mark always
        // (`Force`).
        match red.detection.judge(&mut red.random) {
            Verdict::Keep => Some(packet),
            Verdict::Force if harddrop => red.queue.signal(packet, false),
            Verdict::Signal | Verdict::Force if ecn && nodrop => {
                mark(&mut packet);
                Some(packet)
            }
            Verdict::Signal | Verdict::Force => red.queue.signal(packet, ecn),
        }
    }
}
