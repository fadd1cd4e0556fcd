//! LSTF (least slack time first): the packet with the least slack left leaves first.
//!
//! A packet carries its slack, the waiting time that is left on the way. Each node subtracts the
//! wait in its queue, so the next nodes can make up for a delay. With slack set to the delay under
//! another scheduler, LSTF replays that network's schedule. It does so exactly if packets may be
//! interrupted and no packet passes more than two congestion points. No other scheduler with
//! equally little knowledge does better. Slack set by simple heuristics gives fairness, short
//! completion times or short tails.
//!
//! Source: R. Mittal, R. Agarwal, S. Ratnasamy, S. Shenker, "Universal Packet Scheduling", NSDI
//! 2016, sections 2, 5 and appendix A. J. Y.-T. Leung, "A New Algorithm for Scheduling Periodic
//! Real-Time Tasks", Algorithmica 4, 1989.
//!
//! | paper | here |
//! |---|---|
//! | slack(p, a), slack on arrival at node a | [`Packet::slack`] |
//! | i(p, a), arrival | [`Packet::arrival`] |
//! | T(p, a), transmission time | a part of `last_bit_due`, zero as long as [`Control::set_link_rate`] has not been called |
//! | slack(p, a) + i(p, a) + T(p, a), the deciding term (section 5) | `last_bit_due`, the key |
//!
//! The key is the instant by which the last bit must be sent. The paper ranks by the last bit's
//! slack, slack - (t - i) + T at time t, and t is the same for all compared packets. T matters if
//! lengths differ: of two packets with the same slack, the short one must leave sooner. With T,
//! LSTF also equals earliest deadline first (A.5), which meets all of a node's deadlines whenever
//! any order does. Without T, LSTF does not. A port tells the scheduler its rate. Without a port,
//! LSTF ranks by slack + arrival alone, which is the paper's order if all packets on a link have
//! one length.
//!
//! | guarantee | value | test in `theorems/lstf.rs` |
//! |---|---|---|
//! | order | no packet leaves while one has less slack left; equals are FIFO | `it_decides_as_the_reference_sorts` |
//! | A.5 | the decisions of `edf` with deadlines o(p) - tmin + T | `edf_with_static_deadlines_decides_as_lstf_does` |
//! | 3.2 | the decisions of `fifo_plus`, if all packets start with the same slack | `theorems/fifo_plus.rs` |
//! | replay, at most two congestion points a packet, `preempt` | no packet overdue | `two_congestion_points_are_replayed` |
//! | replay, three | can fail | `figure_10`, `three_congestion_points_can_fail` |
//! | push-out | the newest packet with the most slack left, the arriving one only if it has | `a_full_buffer_gives_up_the_most_slack` |
//!
//! Number format: keys are i128 picoseconds, because 64 bits do not hold the sum of an instant and
//! a slack. So nothing saturates.
//!
//! Cost: O(log n) with n waiting packets. Memory: a key and a slot for each packet, no state per
//! flow.
//!
//! Differences from the paper: slack in picoseconds, not nanoseconds. The scheduler does not update
//! a packet's slack on departure. Like all disciplines here, LSTF hands packets out unchanged, and
//! the driver subtracts the wait, whatever the node's discipline (the paper's fair queues keep
//! slack as well). The wait is end - arrival - T, preempted or not. With `preempt` a
//! [`PreemptivePort`](crate::PreemptivePort) interrupts the packet on the link for one whose last
//! bit is due earlier, never for an equal.

use crate::author::{
    Backlog, ByCopy, ConfigError, Configured, Control, Discipline, DropReason, Handle, Instant,
    Linux, Packet, Parameter, Rate, Refused, Scheduler, Seed, Times,
};
use crate::mechanisms::rank_by::last_bit_due;
use crate::mechanisms::ranked::Ranked;

/// Parameters of LSTF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    /// Whether a packet with less slack left may interrupt the packet on the link, in a preemptive
    /// port.
    pub preempt: bool,
}

impl Discipline for Config {
    const NAME: &'static str = "lstf";
    const ABOUT: &'static str =
        "least slack time first: the packet with the least remaining slack goes first";
    const SOURCE: &'static str =
        "Mittal, Agarwal, Ratnasamy, Shenker, Universal Packet Scheduling, NSDI 2016";
    const LINUX: Linux = Linux::Absent;
    const PARAMETERS: &'static [Parameter<Self>] = &[Parameter::switch(
        "preempt",
        "interrupt a transmission for a packet with less slack, in a port that supports preemption (theory only)",
        |config| &mut config.preempt,
    )];
    const LIVE: &'static [&'static str] = &["preempt"];
    const REORDERS: bool = true;
    const TIMES: Times = Times::Slack;
    const COMPLEXITY: &'static str = "O(log n)";
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::PushedOut];
    type Scheduler<T: Send> = Lstf<T>;
    /// By copy, because slots belong to ranks, not to packets in queues.
    type ByHandle = ByCopy<Lstf<Handle>>;

    fn configuration<T: Send>(scheduler: &mut Lstf<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    fn preempts(&self) -> bool {
        self.preempt
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Lstf<T> {
    /// By the instant at which the last bit is due.
    waiting: Ranked<i128, T>,
    link_rate: Option<Rate>,
    config: Config,
}

impl<T> Configured<Config> for Lstf<T> {
    fn configured(config: Config, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            waiting: Ranked::default(),
            link_rate: None,
            config,
        })
    }
}

impl<T> Lstf<T> {
    /// The deciding term: when a packet's last bit is due, given its slack at `since`.
    fn last_bit_due(&self, packet: &Packet<T>, since: Instant) -> i128 {
        last_bit_due(packet, since, self.link_rate)
    }
}

impl<T> Scheduler<T> for Lstf<T> {
    /// Sets the packet's arrival, the instant from which slack is spent.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        // The slack of all waiting packets falls alike, so a rank at arrival is enough.
        self.waiting.push(
            self.last_bit_due(&packet, now),
            Packet {
                arrival: now,
                ..packet
            },
        );
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<T>> {
        // The packet whose last bit will have the least slack left when it is transmitted.
        self.waiting.pop_first()
    }

    /// The newest packet with the most slack left.
    fn evict(&mut self) -> Option<Packet<T>> {
        self.waiting.pop_last()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }

    /// Whether a waiting packet's last bit is due before that of `sending`, whose slack is as of
    /// now.
    fn preempts(&self, now: Instant, sending: &Packet<T>) -> bool {
        let due = self.last_bit_due(sending, now);
        self.config.preempt && self.waiting.first_key().is_some_and(|first| first < due)
    }
}

impl<T> Control for Lstf<T> {
    /// The rate decides how much sooner a short packet must leave than a long one. Applies to
    /// packets that arrive later.
    fn set_link_rate(&mut self, rate: Rate) {
        self.link_rate = Some(rate);
    }

    /// 1. Each packet is ranked by when its last bit is due, then by arrival.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.waiting.check();
        let slack_and_arrival = |packet: &Packet<T>| {
            i128::from(packet.arrival.as_picos()) + i128::from(packet.slack.as_picos())
        };
        let least = self
            .waiting
            .first()
            .map(|(_, first)| slack_and_arrival(first));
        assert!(
            self.waiting.first_key() >= least,
            "invariant 1: not before its slack is spent"
        );
    }
}
