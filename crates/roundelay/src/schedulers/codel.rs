//! CoDel: one FIFO queue with drops (or marks) at the head while a standing queue persists.
//!
//! A queue that absorbs a burst is good. A queue that never empties is only delay. CoDel measures
//! how long packets stay in the queue. If all packets of a whole `interval` have waited `target` or
//! longer, it drops one, and while this lasts another after ever shorter times. CoDel need not know
//! the link's rate, and the two times suit most paths.
//!
//! Source: K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, "Controlled Delay Active Queue
//! Management", RFC 8289, 2018. Parameters as in tc-codel(8). The decision itself:
//! `mechanisms/codel.rs`, shared with `fq_codel`.
//!
//! | RFC | here |
//! |---|---|
//! | TARGET, INTERVAL | `target`, `interval` |
//! | sojourn time | `now` less [`Packet::arrival`] |
//!
//! | guarantee | value | test in `theorems/codel.rs` |
//! |---|---|---|
//! | signals | k-th at t0 + sum of interval / sqrt(i), i < k | `drops_follow_the_control_law` |
//! | onsets | the RFC's pseudo-code, packet by packet | `onsets.rs`: `codel_begins_as_the_rfc_is_written` |
//! | queue that does not stand for an interval | loses nothing | `bursts_and_pings_lose_nothing` |
//! | packets that wait for no other | are never dropped | `known_bug_34_pings_are_never_dropped` |
//! | responsive load | waits around `target` | `delay_comes_down_to_the_target` |
//! | ECN | capable packets are marked where others are dropped | `capable_packets_are_marked_not_dropped` |
//!
//! Cost: O(1) a packet, and a square root for each drop. Memory: constant.
//!
//! Differences from the RFC: those of `mechanisms/codel.rs`. Nothing is dropped while less than a
//! frame, or less than the packet's own length, waits behind the packet. (The RFC says a frame.)

use alloc::collections::VecDeque;

use crate::author::{
    Age, Backlog, ConfigError, Configured, Control, Discipline, DropReason, Duration, Handle,
    Instant, Links, Linux, LinuxFlows, LinuxLimit, Nodes, Onset, Packet, Parameter, Pool, Queues,
    Rate, Refused, Scheduler, Seed, Storage,
};
use crate::mechanisms::codel::Target;
use crate::mechanisms::codel_queue::{self, CodelQueue, Signals};

/// Parameters of CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Acceptable time in the queue: 1 us to 1 hour.
    pub target: Duration,
    /// How long the queue may stand above the target, about a round trip time: 1 us to 1 hour.
    pub interval: Duration,
    /// Whether ECN-capable packets are marked where others are dropped.
    pub ecn: bool,
    /// Time in the queue above which each ECN-capable packet is marked, whatever CoDel says. None:
    /// never.
    pub ce_threshold: Option<Duration>,
    /// Whether times of signals follow Linux: they are in ticks of 1024 ns, 1 / sqrt(count) is
    /// computed by one step of Newton's iteration a signal, the next signal's time advances with a
    /// mark, and CoDel's state is reset when a dequeue finds the queue empty.
    pub linux: bool,
}

impl Default for Config {
    fn default() -> Self {
        let Target {
            target, interval, ..
        } = Target::DEFAULT;
        Self {
            target,
            interval,
            ecn: false,
            ce_threshold: None,
            linux: false,
        }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "codel";
    const ABOUT: &'static str =
        "controlled delay: one queue; drops packets while the delay stays above a target";
    const SOURCE: &'static str = "Nichols, Jacobson, McGregor, Iyengar, Controlled Delay Active Queue Management, RFC 8289, 2018; tc-codel(8)";
    const LINUX: Linux = Linux::Qdisc {
        name: "codel",
        flows: LinuxFlows::Unread,
        limit: LinuxLimit::Packets,
    };
    const PARAMETERS: &'static [Parameter<Self>] = &[
        codel_queue::target(|config| &mut config.target),
        codel_queue::interval(|config| &mut config.interval),
        codel_queue::marks(|config| &mut config.ecn),
        codel_queue::threshold(|config| &mut config.ce_threshold),
        Parameter::switch(
            "linux",
            "Linux's times of signals: in ticks, 1 / sqrt(count) by one step of Newton's iteration",
            |config| &mut config.linux,
        ),
    ];
    const LIVE: &'static [&'static str] = &["target", "interval", "ecn", "ce_threshold", "linux"];
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::Early];
    const QUEUES: Queues = Queues::One;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Codel<T>;
    type ByHandle = Codel<Handle, Links<Age>>;

    fn onset(&self, _link: Rate) -> Onset {
        Onset::Wait(self.target)
    }

    fn configuration<T: Send>(scheduler: &mut Codel<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }
}

impl Config {
    const fn signals(&self) -> Signals {
        Signals {
            target: Target::of(self.target, self.interval, self.linux),
            ecn: self.ecn,
            ce_threshold: self.ce_threshold,
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Codel<T, P: Storage<T> = Nodes<T>> {
    pool: Pool<T, P>,
    queue: CodelQueue,
    /// Dropped packets, not yet taken by the caller.
    dropped: VecDeque<(P::Leaving, DropReason)>,
    config: Config,
}

impl<T, P: Storage<T>> Configured<Config> for Codel<T, P> {
    fn configured(config: Config, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            pool: Pool::empty(),
            queue: CodelQueue::default(),
            dropped: VecDeque::new(),
            config,
        })
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for Codel<T, P> {
    /// Sets the packet's arrival time for CoDel.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        if let Err(reason) = self.pool.make_room_for(&packet) {
            return Err(packet.refused(reason));
        }
        self.pool.push(
            &mut self.queue.queue,
            Packet {
                arrival: now,
                ..packet
            },
        );
        Ok(())
    }

    /// The next packet, past CoDel's drops.
    fn dequeue(&mut self, now: Instant) -> Option<P::Leaving> {
        let signals = self.config.signals();
        self.queue
            .pull(&mut self.pool, signals, now, &mut self.dropped)
            .map(|(packet, _)| packet)
    }

    /// Drop tail: the newest packet.
    fn evict(&mut self) -> Option<P::Leaving> {
        let packet = self.pool.pop_tail(&mut self.queue.queue);
        self.queue.reset_if_empty();
        packet
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn take_dropped(&mut self) -> Option<(P::Leaving, DropReason)> {
        self.dropped.pop_front()
    }
}

impl<T, P: Storage<T>> Control for Codel<T, P> {
    /// 1. CoDel has nothing pending while nothing waits, unless with `linux`.
    /// 2. All waiting packets are in one queue.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.queue.check(&self.pool, self.config.linux);
        let counted = Backlog {
            packets: self.queue.queue.packets().into(),
            bytes: self.queue.queue.bytes(),
        };
        assert_eq!(counted, self.pool.backlog(), "invariant 2");
    }
}
