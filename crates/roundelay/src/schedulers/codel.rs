//! CoDel: one FIFO queue with drops (or marks) at the head while a standing queue persists.
//!
//! A queue that absorbs a burst is good; a queue that never empties is only delay. CoDel measures
//! the packets' time in the queue: if all packets of a whole `interval` have waited `target` or
//! longer, one is dropped, and while this lasts another after ever shorter times. No knowledge of
//! the link's rate is needed, and the two times suit most paths.
//!
//! Source: K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, "Controlled Delay Active Queue Management", RFC 8289, 2018; parameters as in
//! tc-codel(8). The decision itself: `mechanisms/codel.rs`, shared with `fq_codel`.
//!
//! | RFC | here |
//! |---|---|
//! | TARGET, INTERVAL | `target`, `interval` |
//! | sojourn time | `now` less [`Packet::arrival`] |
//!
//! | guarantee | value | test in `theorems/codel.rs` |
//! |---|---|---|
//! | signals | k-th at t0 + sum of interval / sqrt(i), i < k | `drops_follow_the_control_law` |
//! | queue that does not stand for an interval | loses nothing | `bursts_and_pings_lose_nothing` |
//! | packets that wait for no other | are never dropped | `known_bug_34_pings_are_never_dropped` |
//! | responsive load | waits around `target` | `delay_comes_down_to_the_target` |
//! | ECN | capable packets are marked where others are dropped | `capable_packets_are_marked_not_dropped` |
//!
//! Cost: O(1) a packet, and a square root for each drop. Memory: constant.
//!
//! Differences from the RFC: those of `mechanisms/codel.rs`: no drops while less than a frame, or
//! less than the packet's own length, waits behind the packet (the RFC: the longest packet ever
//! seen).

use crate::buffer::Limit;
use crate::by_copy::ByCopy;
use crate::config::{ConfigError, HOUR, MICROSECOND, Parameter};
use crate::links::Handle;
use crate::mechanisms::codel::{Codel, Leaving, Target};
use crate::mechanisms::signalling::{SignallingQueue, mark};
use crate::packet::Packet;
use crate::pool::Backlog;
use crate::scheduler::{DropReason, Footprint, Scheduler};
use crate::schedulers::{Discipline, Linux, LinuxFlows};
use crate::time::{Duration, Instant};

/// Parameters of CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Acceptable time in the queue: 1 us to 1 hour.
    pub target: Duration,
    /// How long the queue may stand above the target: about a round trip time: 1 us to 1 hour.
    pub interval: Duration,
    /// Whether ECN-capable packets are marked where others are dropped.
    pub ecn: bool,
    /// Time in the queue above which each ECN-capable packet is marked, whatever CoDel says. None:
    /// never.
    pub ce_threshold: Option<Duration>,
}

impl Default for Config {
    fn default() -> Self {
        let Target { target, interval } = Target::DEFAULT;
        Self { target, interval, ecn: false, ce_threshold: None }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "codel";
    const ABOUT: &'static str = "controlled delay: one queue; drops packets while the delay stays above a target";
    const SOURCE: &'static str =
        "Nichols, Jacobson, McGregor, Iyengar, Controlled Delay Active Queue Management, RFC 8289, 2018; tc-codel(8)";
    const LINUX: Linux = Linux::Qdisc { name: "codel", flows: LinuxFlows::Unread };
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::time("target", MICROSECOND..=HOUR, "acceptable time in the queue", |config| &mut config.target),
        Parameter::time("interval", MICROSECOND..=HOUR, "time above the target before the first drop: about a round trip", |config| {
            &mut config.interval
        }),
        Parameter::switch("ecn", "mark ECN-capable packets in place of drops", |config| &mut config.ecn),
        Parameter::time_or_never("ce_threshold", "mark every ECN-capable packet that waited longer", |config| &mut config.ce_threshold),
    ];
    const LIVE: &'static [&'static str] = &["target", "interval", "ecn", "ce_threshold"];
    const WEIGHTED: bool = false;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = CodelQueue<T>;
    /// By copy. The queue type shared with `red` keeps marks and flows.
    type ByHandle = ByCopy<CodelQueue<Handle>>;

    fn build<T: Send>(&self, _seed: u64) -> Result<CodelQueue<T>, ConfigError> {
        CodelQueue::new(*self)
    }

    fn build_by_handle(&self, seed: u64) -> Result<Self::ByHandle, ConfigError> {
        self.build(seed).map(ByCopy::new)
    }

    fn configuration<T: Send>(scheduler: &mut CodelQueue<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct CodelQueue<T> {
    queue: SignallingQueue<T>,
    codel: Codel,
    config: Config,
}

impl<T> CodelQueue<T> {
    /// An empty scheduler.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { queue: SignallingQueue::default(), codel: Codel::default(), config })
    }

    /// The next packet, past CoDel's drops.
    fn dequeue_packet(&mut self, now: Instant) -> Option<Packet<T>> {
        let Config { target, interval, ecn, ce_threshold } = self.config;
        while let Some(packet) = self.queue.pop() {
            let sojourn = now.since(packet.arrival);
            let leaving = Leaving { len: packet.len, sojourn, backlog_bytes: self.queue.backlog().bytes };
            let is_bad = self.codel.judges_bad(Target { target, interval }, now, leaving);
            self.shortened();
            let kept = if is_bad { self.queue.signal(packet, ecn) } else { Some(packet) };
            if let Some(mut packet) = kept {
                if ce_threshold.is_some_and(|threshold| sojourn > threshold) {
                    mark(&mut packet);
                }
                return Some(packet);
            }
        }
        None
    }

    fn shortened(&mut self) {
        if self.queue.backlog().is_empty() {
            self.codel.emptied();
        }
    }
}

impl<T> Scheduler<T> for CodelQueue<T> {
    /// Sets the packet's arrival time for CoDel.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        self.queue.push(Packet { arrival: now, ..packet });
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        self.dequeue_packet(now)
    }

    /// Drop tail: the newest packet.
    fn evict(&mut self) -> Option<Packet<T>> {
        let packet = self.queue.pop_tail();
        self.shortened();
        packet
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
        self.queue.take_dropped()
    }

    fn footprint(&self) -> Footprint {
        Footprint { fixed_bytes: size_of::<Self>(), bytes_per_flow: 0 }
    }

    /// 1. CoDel has nothing pending while nothing waits.
    /// 2. All waiting packets are in one queue.
    fn check_invariants(&self) {
        assert!(!self.queue.backlog().is_empty() || self.codel.is_at_rest(), "invariant 1: CoDel rests while the queue is empty");
        self.queue.check();
    }
}
