//! SP-PIFO: a queue sorted by rank (PIFO), approximated by FIFO queues in strict priority.
//!
//! A queue takes packets with ranks from its bound on. A packet goes into the last queue whose
//! bound is not above its rank, and this rank becomes the queue's bound (push-up), so that the next
//! packet of smaller rank will not stand behind this one. A packet below the first bound goes into
//! the first queue, behind packets of larger rank. All bounds then fall by the difference
//! (push-down), so that fewer packets come to the first queue. SP-PIFO need not know how ranks are
//! distributed. Bounds follow ranks that grow with time, as LSTF's do, but waiting packets do not
//! move: in a queue that never empties, packets of large rank starve
//! (`what_waits_does_not_move_up`).
//!
//! Source: A. Gran Alcoz, A. Dietmüller, L. Vanbever, "SP-PIFO: Approximating Push-In First-Out
//! Behaviors using Strict-Priority Queues", NSDI 2020. The behaviour is checked against the
//! authors' simulator, github.com/nsg-ethz/SP-PIFO. PIFO: A. Sivaraman et al., "Programmable Packet
//! Scheduling at Line Rate", SIGCOMM 2016.
//!
//! | paper | here |
//! |---|---|
//! | rank r(p) | `RankBy::rank` |
//! | queue bounds q_1 to q_n, q_1 of the highest priority | `bounds`, from 0 |
//! | push-up, push-down, cost | `admit` |
//!
//! | guarantee | value | test in `theorems/sp_pifo.rs` |
//! |---|---|---|
//! | bounds | never fall from one queue to the next | invariant 1, `invariants_hold_whatever_comes` |
//! | a queue between two push-downs | sorted: packets leave it by rank | `without_a_push_down_each_queue_is_sorted` |
//! | as many queues as ranks, once the bounds are the ranks | the order of a PIFO, equals FIFO | `a_queue_for_each_rank_sorts` |
//! | one queue | the decisions of `fifo` | `one_queue_is_fifo` |
//! | more queues | fewer inversions, more than a PIFO's none | `inversions_fall_with_the_number_of_queues` |
//! | push-out | the newest packet of the last queue that holds any | `a_full_buffer_gives_up_the_newest_of_the_last_queue` |
//!
//! No bound on inversions is proven. Packets of falling ranks leave in the order of arrival, except
//! for as many as there are queues: `falling_ranks_are_reversed`.
//!
//! Number format: ranks and bounds are i128, in picoseconds where they are times. Neither wraps in
//! 2^60 packets.
//!
//! Cost: O(log queues) to find the queue, and a step for each queue in a push-down. Taking a packet
//! is O(1). Memory: 40 bytes for each queue, no state per flow.
//!
//! Differences from the paper: ranks from slack are LSTF's key, T included. A packet that the
//! shared buffer drops has moved the bounds already. In a switch, a full queue drops the packet and
//! the bounds stay. A full buffer drops the tail of the last queue, not the arrival to a full one.

use alloc::vec::Vec;

use crate::author::{
    Backlog, ByCopy, ConfigError, Configured, Control, Discipline, DropReason, Footprint, Handle,
    Instant, Linux, Packet, Parameter, Priority, Rate, Refused, Scheduler, Seed, Times,
};
use crate::mechanisms::levels::{self, Levels};
use crate::schedulers::RankBy;

/// Parameters of SP-PIFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// FIFO queues: 1 to 4096.
    pub queues: u32,
    /// The rank of packets.
    pub rank: RankBy,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            queues: 8,
            rank: RankBy::Slack,
        }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "sp_pifo";
    const ABOUT: &'static str = "SP-PIFO: a queue sorted by rank, approximated by FIFO queues in strict priority with adaptive bounds";
    const SOURCE: &'static str = "Gran Alcoz, Dietmüller, Vanbever, SP-PIFO: Approximating Push-In First-Out Behaviors using Strict-Priority Queues, NSDI 2020";
    const LINUX: Linux = Linux::Absent;
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::count(
            "queues",
            1..=levels::MOST as u64,
            "number of FIFO queues in strict priority",
            |config| &mut config.queues,
        ),
        Parameter::choice(
            "rank",
            RankBy::WORDS,
            "rank of a packet: slack as in lstf, priority or deadline",
            |config| config.rank.index(),
            |config, value| config.rank = RankBy::at(value).unwrap_or(config.rank),
        ),
    ];
    const REORDERS: bool = true;
    const TIMES: Times = Times::Slack;
    const COMPLEXITY: &'static str = "O(queues)";
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::PushedOut];
    type Scheduler<T: Send> = SpPifo<T>;
    /// By copy for now. To use links, only `mechanisms/levels.rs` would have to change.
    type ByHandle = ByCopy<SpPifo<Handle>>;

    fn configuration<T: Send>(scheduler: &mut SpPifo<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    fn priority(&self) -> Priority {
        self.rank.priority()
    }

    fn times(&self) -> Times {
        self.rank.times()
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct SpPifo<T> {
    levels: Levels<T>,
    /// The smallest rank of each queue. The first queue takes all ranks.
    bounds: Vec<i128>,
    link_rate: Option<Rate>,
    config: Config,
}

impl<T> Configured<Config> for SpPifo<T> {
    fn configured(config: Config, _: Seed) -> Result<Self, ConfigError> {
        let levels = Levels::new(config.queues);
        Ok(Self {
            bounds: alloc::vec![0; levels.count()],
            levels,
            link_rate: None,
            config,
        })
    }
}

impl<T> SpPifo<T> {
    /// Returns the queue for a rank and updates the bounds.
    fn admit(&mut self, rank: i128) -> usize {
        // The last queue with q_i <= r(p).
        let reached = self.bounds.partition_point(|bound| *bound <= rank);
        let queue = reached.saturating_sub(1);
        let cost = self.bounds[queue] - rank;
        if cost > 0 {
            // Push-down: q_j = q_j - cost, for all queues.
            self.bounds.iter_mut().for_each(|bound| *bound -= cost);
        }
        // Push-up: q_i = r(p).
        self.bounds[queue] = rank;
        queue
    }
}

impl<T> Scheduler<T> for SpPifo<T> {
    /// Sets the packet's arrival, the instant from which slack is spent.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        let rank = self.config.rank.rank(&packet, now, self.link_rate);
        let queue = self.admit(rank);
        self.levels.push(
            queue,
            Packet {
                arrival: now,
                ..packet
            },
        );
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<T>> {
        self.levels.pop(self.levels.first_from(0)?)
    }

    /// The newest packet of the last queue with packets.
    fn evict(&mut self) -> Option<Packet<T>> {
        self.levels.pop_tail(self.levels.last_from(0)?)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.levels.backlog()
    }
}

impl<T> Control for SpPifo<T> {
    /// Ranks by slack depend on the rate. Packets already in the queue keep their rank.
    fn set_link_rate(&mut self, rate: Rate) {
        self.link_rate = Some(rate);
    }

    fn footprint(&self) -> Footprint {
        Footprint::fixed(
            size_of::<Self>() + self.levels.heap_bytes() + size_of_val(self.bounds.as_slice()),
        )
    }

    /// 1. Bounds never fall from one queue to the next.
    /// 2. Each queue has a bound.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.levels.check();
        assert!(self.bounds.is_sorted(), "invariant 1: {:?}", self.bounds);
        assert_eq!(self.bounds.len(), self.levels.count(), "invariant 2");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use crate::time::{Duration, Slack};

    fn build(queues: u32, rank: RankBy) -> SpPifo<u32> {
        Config { queues, rank }.build(Seed::new(0)).expect("legal")
    }

    /// Enqueues packets with these priorities. Returns each one's queue, and the bounds afterwards.
    fn bounds_after(queues: u32, ranks: &[u32]) -> Vec<(usize, Vec<i128>)> {
        let mut scheduler = build(queues, RankBy::Priority);
        ranks
            .iter()
            .map(|rank| (scheduler.admit((*rank).into()), scheduler.bounds.clone()))
            .collect()
    }

    /// Three queues. Ranks 1, 3 and 2 push up, and 1 reaches the first bound. 0 is one below it, so
    /// all bounds fall by 1.
    #[test]
    fn push_up_and_push_down_worked_by_hand() {
        let expected = [
            (2, [0, 0, 1]),
            (2, [0, 0, 3]),
            (1, [0, 2, 3]),
            (0, [1, 2, 3]),
            (0, [0, 1, 2]),
            (2, [0, 1, 9]),
            (1, [0, 5, 9]),
            (1, [0, 5, 9]),
        ];
        let found = bounds_after(3, &[1, 3, 2, 1, 0, 9, 5, 5]);
        assert_eq!(
            found,
            expected.map(|(queue, bounds)| (queue, bounds.to_vec()))
        );
    }

    /// Ranks 1 and 3 stand in the last queue, 2 in the second, 1 and 0 in the first: two
    /// inversions.
    #[test]
    fn what_leaves_is_the_first_of_the_first_queue() {
        let mut scheduler = build(3, RankBy::Priority);
        for (number, priority) in (0..).zip([1, 3, 2, 1, 0]) {
            scheduler
                .enqueue(
                    Instant::ZERO,
                    Packet {
                        priority,
                        ..Packet::new(FlowId(0), 100, number)
                    },
                )
                .expect("all packets are taken");
        }
        assert_eq!(
            scheduler.evict().map(|packet| packet.payload),
            Some(1),
            "rank 3, the tail of the last queue"
        );
        let order: Vec<_> = core::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
            .map(|packet| packet.payload)
            .collect();
        assert_eq!(order, [3, 4, 2, 0]);
    }

    #[test]
    fn ranks_by_slack_count_the_arrival_and_the_time_on_the_link() {
        let order = |rank, rate: Option<Rate>| {
            let mut scheduler = build(64, rank);
            rate.into_iter()
                .for_each(|rate| scheduler.set_link_rate(rate));
            // Due at 30, 20 and 25 microseconds, without the time on the link: a nanosecond a byte.
            for (number, (micros, slack, len)) in
                (0..).zip([(10, 20, 1), (11, 9, 9000), (12, 13, 1)])
            {
                let slack = Slack::of(Duration::from_micros(slack));
                let deadline = Instant::from_nanos(100 - u64::from(number));
                let packet = Packet {
                    slack,
                    deadline,
                    priority: number,
                    ..Packet::new(FlowId(0), len, number)
                };
                scheduler
                    .enqueue(Instant::ZERO + Duration::from_micros(micros), packet)
                    .expect("all packets are taken");
            }
            core::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
                .map(|packet| packet.payload)
                .collect::<Vec<_>>()
        };
        let rate = Rate::from_bits_per_second(8_000_000_000);
        assert_eq!(
            [order(RankBy::Slack, None), order(RankBy::Slack, rate)],
            [[1, 2, 0], [2, 1, 0]]
        );
        assert_eq!(
            [order(RankBy::Priority, rate), order(RankBy::Deadline, rate)],
            [[0, 1, 2], [2, 1, 0]]
        );
    }

    #[test]
    fn bounds_do_not_wrap() {
        let mut scheduler = build(2, RankBy::Slack);
        for round in 0..1000 {
            let slack = Slack::from_picos(if round % 2 == 0 { i64::MAX } else { i64::MIN });
            let now = if round < 500 {
                Instant::ZERO
            } else {
                Instant::MAX
            };
            scheduler
                .enqueue(
                    now,
                    Packet {
                        slack,
                        ..Packet::new(FlowId(0), u32::MAX, 0)
                    },
                )
                .expect("all packets are taken");
        }
        scheduler.check_invariants();
    }
}
