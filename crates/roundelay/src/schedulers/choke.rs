//! CHOKe: each arriving packet is compared with a random waiting packet, and both are dropped if
//! they are of one flow.
//!
//! A flow with more than its share of a link also fills more of the queue, so its arrivals more
//! often meet a packet of the same flow. The queue thus limits unresponsive flows without any state
//! per flow: the more packets a flow sends, the more it loses. While the queue is short, nothing is
//! compared. Packets that the comparison leaves are treated as in `red`.
//!
//! Source: R. Pan, B. Prabhakar, K. Psounis, "CHOKe: A Stateless Active Queue Management Scheme for
//! Approximating Fair Bandwidth Allocation", INFOCOM 2000. Parameters as in tc-choke(8). RED's
//! decision: `early_detection.rs`. The queue before which it stands: `detecting_queue.rs`.
//!
//! | paper, tc | here |
//! |---|---|
//! | min_th, max_th | `min`, `max`, in packets |
//! | drop candidate | `Lottery::draw` |
//! | p | RED's, `early_detection.rs` |
//!
//! | guarantee | value | test in `theorems/choke.rs` |
//! |---|---|---|
//! | flow with a part h of the queue | loses an arrival, together with a waiting packet, with probability h | `an_arrival_meets_its_like_as_often_as_the_queue_holds_it` |
//! | unresponsive flow | gets less than in RED, and beyond a point less for more packets sent | `an_unresponsive_flow_is_held_down` |
//! | average below `min` | no packet is dropped | `short_queues_are_not_drawn_from` |
//! | order | first in first out | conformance |
//!
//! Cost: O(1) a packet. Memory: constant. Packets lie in a table without holes (`lottery.rs`), so
//! that one index draws a packet.
//!
//! Differences from the paper: one candidate for each arrival, as in the paper's basic form.
//! Differences from tc: a draw is uniform and needs no second try, and `min` and `max` do not
//! depend on the limit, as in `red`.

use core::convert::identity;

use crate::author::{
    Billionths, ByCopy, ConfigError, Discipline, DropReason, Handle, Limit, Linux, LinuxFlows,
    LinuxLimit, Onset, Packet, Parameter, Queues, Rate,
};
use crate::mechanisms::detecting_queue::{Admission, DetectingQueue};
use crate::mechanisms::early_detection::{
    self, DEFAULT_PROBABILITY, Settings, Thresholds, UNKNOWN_LINK_RATE, Verdict,
};
use crate::mechanisms::lottery::Lottery;

/// Parameters of CHOKe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Average queue in packets below which nothing is dropped: up to 2^20. 0: a third of `max`.
    pub min: u32,
    /// Average queue in packets from which everything is dropped: up to 2^22. 0: 250, a
    /// quarter of the default limit, as in `tc`.
    pub max: u32,
    /// Bytes of an average packet: 1 to 65536.
    pub avpkt: u32,
    /// Packets of a tolerated burst: up to 2^20. 0: (2 `min` + `max`) / 3.
    pub burst: u32,
    /// Rate by which the average decays while the queue is empty: 1 kbit/s to 10 Tbit/s. None: the
    /// link's, or 10 Mbit/s below the root of a tree.
    pub bandwidth: Option<Rate>,
    /// Drop probability when the average reaches `max`: 0 to 1.
    pub probability: Billionths,
    /// Whether ECN-capable packets are marked where RED would drop them.
    pub ecn: bool,
    /// Whether the average is Linux's: fractions of a packet have no part in the next value and in
    /// the probability, and an average of `min` is still below.
    pub linux: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            min: 0,
            max: 0,
            avpkt: 1000,
            burst: 0,
            bandwidth: None,
            probability: DEFAULT_PROBABILITY,
            ecn: false,
            linux: false,
        }
    }
}

const DEFAULT_MAX: u32 = 250;

impl Discipline for Config {
    const NAME: &'static str = "choke";
    const ABOUT: &'static str = "RED plus a match test: an arrival is dropped together with a random queued packet of the same flow";
    const SOURCE: &'static str = "Pan, Prabhakar, Psounis, CHOKe: A Stateless Active Queue Management Scheme for Approximating Fair Bandwidth Allocation, INFOCOM 2000";
    const LINUX: Linux = Linux::Qdisc {
        name: "choke",
        flows: LinuxFlows::Hashed,
        limit: LinuxLimit::Packets,
    };
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::count(
            "min",
            0..=1 << 20,
            "average queue in packets below which nothing is dropped; 0: a third of max",
            |config| &mut config.min,
        ),
        Parameter::count(
            "max",
            0..=1 << 22,
            "average queue in packets from which all packets are dropped; 0: 250",
            |config| &mut config.max,
        ),
        early_detection::average_length(|config| &mut config.avpkt),
        Parameter::count(
            "burst",
            0..=1 << 20,
            "burst in packets that passes without drops; 0: (2 min + max) / 3",
            |config| &mut config.burst,
        ),
        early_detection::idle_rate(|config| &mut config.bandwidth),
        early_detection::probability(|config| &mut config.probability),
        Parameter::switch(
            "ecn",
            "mark ECN-capable packets in place of RED's drops",
            |config| &mut config.ecn,
        ),
        Parameter::switch(
            "linux",
            "Linux's average: without fractions of a packet, and longer than the queue by half a packet",
            |config| &mut config.linux,
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
        "linux",
    ];
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::Early];
    const DEFAULT_LIMIT: Limit = Limit::of_packets(4 * DEFAULT_MAX as u64);
    const QUEUES: Queues = Queues::One;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Choke<T>;
    /// By copy. Packets in the middle of the queue are compared by flow and removed.
    type ByHandle = ByCopy<Choke<Handle>>;

    fn reads_seed(&self) -> bool {
        true
    }

    fn onset(&self, link: Rate) -> Onset {
        self.thresholds(link).onset(Self::IN_BYTES)
    }

    fn configuration<T: Send>(scheduler: &mut Choke<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    fn adopt<T: Send>(scheduler: &mut Choke<T>, _before: &Self) {
        scheduler.adopt();
    }

    fn check(&self) -> Result<(), ConfigError> {
        Self::PARAMETERS
            .iter()
            .try_for_each(|parameter| parameter.check(Self::NAME, self))?;
        self.settings().check(Self::NAME, identity)
    }
}

impl Config {
    /// `min`, `max` and `burst`, with zeros replaced by values computed from the others.
    pub const fn thresholds_and_burst(&self) -> (u32, u32, u32) {
        let (min, max, burst) = self.settings().thresholds_and_burst();
        (min as u32, max as u32, burst)
    }

    /// k: an arrival moves the average by 2^-k of the difference between queue and average.
    pub fn weight_log(&self) -> u32 {
        self.thresholds(UNKNOWN_LINK_RATE).weight_log
    }

    const fn settings(&self) -> Settings {
        let max = if self.max == 0 { DEFAULT_MAX } else { self.max };
        Settings {
            min: self.min as u64,
            max: max as u64,
            packet: 1,
            avpkt: self.avpkt,
            burst: self.burst,
            bandwidth: self.bandwidth,
            probability: self.probability,
        }
    }
}

/// The scheduler.
pub type Choke<T> = DetectingQueue<Config, T>;

impl Admission for Config {
    type Queue<T> = Lottery<T>;
    const IN_BYTES: bool = false;

    fn thresholds(&self, link: Rate) -> Thresholds {
        Thresholds {
            linux: self.linux,
            ..self.settings().thresholds(link)
        }
    }

    fn admit<T>(choke: &mut Choke<T>, packet: Packet<T>) -> Option<Packet<T>> {
        // Below min_th the packet is admitted without a draw.
        if !choke.detection.is_below_min() && choke.drops_candidate_of(&packet) {
            choke.queue.drop_early(packet);
            return None;
        }
        // The flows differ, so RED decides by p.
        if choke.detection.judge(&mut choke.random) == Verdict::Keep {
            return Some(packet);
        }
        choke.queue.signal(packet, choke.config.ecn)
    }
}

impl<T> Choke<T> {
    /// Draws a waiting packet, and drops it if the arriving packet is of the same flow. Returns
    /// whether it did.
    fn drops_candidate_of(&mut self, packet: &Packet<T>) -> bool {
        let waiting = &mut self.queue.waiting;
        // The drop candidate, drawn from the queue at random.
        let Some((number, _)) = waiting
            .draw(&mut self.random)
            .filter(|(_, candidate)| candidate.flow == packet.flow)
        else {
            return false;
        };
        if let Some(candidate) = waiting.remove(number) {
            self.queue.drop_early(candidate);
        }
        true
    }
}
