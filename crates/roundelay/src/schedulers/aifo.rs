//! AIFO (admission-in first-out): a FIFO queue that admits what a queue sorted by rank would keep.
//!
//! A full sorted queue drops the largest rank, so in the long run the smallest ranks pass, as many
//! as the link can send. One FIFO queue can pass the same packets, in another order, if it refuses
//! the others on arrival. AIFO remembers the ranks of recent packets and computes which part of
//! them lies below an arrival's rank. It admits the packet if this part is no more than the
//! buffer's free part. While the buffer is nearly empty, every packet is admitted. As the buffer
//! fills, only ever smaller ranks are.
//!
//! Source: Z. Yu, C. Hu, J. Wu, X. Sun, V. Braverman, M. Chowdhury, Z. Liu, X. Jin, "Programmable
//! Packet Scheduling with a Single Queue", SIGCOMM 2021. The behaviour is checked against the
//! authors' simulator, github.com/netx-repo/AIFO.
//!
//! | paper | here |
//! |---|---|
//! | C, c | the buffer's limit, from the [`Buffer`](crate::Buffer); the waiting packets or bytes |
//! | k | [`Config::headroom`] |
//! | W, sampling rate | [`Config::window`], [`Config::sample`] |
//! | W.quantile(p) | `smaller` / `recent.len()` |
//! | quantile <= 1 / (1 - k) (C - c) / C | `admits` |
//!
//! | guarantee | value | test in `theorems/aifo.rs` |
//! |---|---|---|
//! | c up to k C | everything is let in | `an_empty_queue_lets_everything_in` |
//! | c beyond | the inequality above, and nothing else | `admission_is_the_inequality` |
//! | the smallest rank of the window | let in as long as there is room | `the_smallest_rank_gets_in` |
//! | overload, identical distribution of ranks over time | passes about the same ranks as a sorted queue | `it_admits_what_a_sorted_queue_keeps` |
//! | equal ranks, or no limit | the decisions of `fifo` | `equal_ranks_are_a_fifo`, `without_a_limit_it_is_fifo` |
//! | order | first in first out | conformance |
//!
//! Number format: both sides of the inequality are whole numbers of 128 bits, with k in billionths,
//! so nothing is rounded.
//!
//! Cost: O(window) for each packet: a comparison with each rank remembered. Memory: 16 bytes for
//! each rank, no state per flow.
//!
//! Differences from the paper: the buffer's limit may count bytes, or both, in which case the
//! smaller free part decides. Packets without room count as dropped by the full buffer, packets
//! refused for their rank as dropped early. Beyond k C the authors' program admits a packet if its
//! part is less than the bound, the paper if it is no more than the bound. Here it is as in the
//! paper. At first no ranks are known, so every packet is admitted until one has arrived.

use alloc::vec::Vec;

use crate::author::{
    Backlog, Billionths, ByCopy, ConfigError, Configured, Control, Discipline, DropReason,
    Footprint, Handle, Instant, Limit, Linux, Onset, Packet, Parameter, Priority, Queues, Rate,
    Refused, Scheduler, Seed, Times,
};
use crate::mechanisms::signalling::SignallingQueue;
use crate::schedulers::RankBy;

/// Parameters of AIFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The rank of packets.
    pub rank: RankBy,
    /// Number of remembered ranks: 1 to 4096.
    pub window: u32,
    /// One packet in this many is remembered: 1 to 65536.
    pub sample: u32,
    /// How full the buffer may be while no packet is refused, as a part: 0 to 0.99.
    pub headroom: Billionths,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rank: RankBy::Priority,
            window: 20,
            sample: 1,
            headroom: Billionths(100_000_000),
        }
    }
}

/// Largest number of remembered ranks.
const MOST_RANKS: u32 = 1 << 12;

impl Discipline for Config {
    const NAME: &'static str = "aifo";
    const ABOUT: &'static str = "admission-controlled FIFO: one FIFO queue that admits the packets a queue sorted by rank would keep";
    const SOURCE: &'static str =
        "Yu et al., Programmable Packet Scheduling with a Single Queue, SIGCOMM 2021";
    const LINUX: Linux = Linux::Absent;
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::choice(
            "rank",
            RankBy::WORDS,
            "rank of a packet: slack as in lstf, priority or deadline",
            |config| config.rank.index(),
            |config, value| config.rank = RankBy::at(value).unwrap_or(config.rank),
        ),
        Parameter::count(
            "window",
            1..=MOST_RANKS as u64,
            "ranks in the window of recent packets",
            |config| &mut config.window,
        ),
        Parameter::count(
            "sample",
            1..=1 << 16,
            "sampling interval: one of this many packets enters the window",
            |config| &mut config.sample,
        ),
        Parameter::number(
            "headroom",
            0..=990_000_000,
            "share of the buffer below which no packet is refused",
            |config| &mut config.headroom,
        ),
    ];
    const LIVE: &'static [&'static str] = &["headroom"];
    const PRIORITY: Priority = Priority::Class;
    const QUEUES: Queues = Queues::One;
    const COMPLEXITY: &'static str = "O(window)";
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::Early];
    type Scheduler<T: Send> = Aifo<T>;
    /// By copy. The queue type shared with `red` keeps marks and flows.
    type ByHandle = ByCopy<Aifo<Handle>>;

    /// An empty queue admits every rank.
    fn onset(&self, _link: Rate) -> Onset {
        Onset::Backlog { above: 0 }
    }

    fn configuration<T: Send>(scheduler: &mut Aifo<T>) -> Option<&mut Self> {
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
pub struct Aifo<T> {
    queue: SignallingQueue<T>,
    /// C. The default until the buffer sets the limit.
    limit: Limit,
    /// Ranks of recent packets, admitted or not.
    recent: Vec<i128>,
    /// Index of the oldest rank, once the window is full.
    oldest: usize,
    /// Arrivals before the next remembered one.
    until_sample: u32,
    link_rate: Option<Rate>,
    config: Config,
}

impl<T> Configured<Config> for Aifo<T> {
    fn configured(config: Config, _: Seed) -> Result<Self, ConfigError> {
        let queue = SignallingQueue::default();
        let recent = Vec::with_capacity(config.window as usize);
        Ok(Self {
            queue,
            limit: Config::DEFAULT_LIMIT,
            recent,
            oldest: 0,
            until_sample: 0,
            link_rate: None,
            config,
        })
    }
}

impl<T> Aifo<T> {
    /// Whether a packet of this rank is admitted: its quantile among the recent ranks is no more
    /// than the free part of the buffer over 1 - k.
    fn admits(&self, rank: i128) -> bool {
        // W.quantile(p), times the size of W.
        let smaller = self.recent.iter().filter(|recent| **recent < rank).count();
        let backlog = self.queue.backlog();
        self.is_free(smaller, backlog.packets, self.limit.packets)
            && self.is_free(smaller, backlog.bytes, self.limit.bytes)
    }

    /// smaller / |W| <= (C - c) / ((1 - k) C), without the divisions. Without a limit no packet is
    /// refused.
    fn is_free(&self, smaller: usize, waiting: u64, capacity: u64) -> bool {
        if capacity == u64::MAX {
            return true;
        }
        let one = u128::from(Billionths::ONE.0);
        let needed =
            smaller as u128 * (one - u128::from(self.config.headroom.0)) * u128::from(capacity);
        needed <= self.recent.len() as u128 * one * u128::from(capacity.saturating_sub(waiting))
    }

    /// Remembers the rank of one packet in `sample`, in place of the oldest one if the window is
    /// full.
    fn remember(&mut self, rank: i128) {
        if self.until_sample > 0 {
            self.until_sample -= 1;
            return;
        }
        self.until_sample = self.config.sample - 1;
        if self.recent.len() < self.config.window as usize {
            return self.recent.push(rank);
        }
        self.recent[self.oldest] = rank;
        self.oldest = (self.oldest + 1) % self.recent.len();
    }
}

impl<T> Scheduler<T> for Aifo<T> {
    /// Sets the packet's arrival, the instant from which slack is spent.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        let packet = Packet {
            arrival: now,
            ..packet
        };
        let rank = self.config.rank.rank(&packet, now, self.link_rate);
        // Admission control: the quantile of the rank against the free part of the queue.
        if self.admits(rank) {
            self.queue.push(packet);
        } else {
            self.queue.drop_early(packet);
        }
        // The window learns every sampled rank, admitted or not.
        self.remember(rank);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<T>> {
        self.queue.pop()
    }

    /// Drop tail: the newest packet.
    fn evict(&mut self) -> Option<Packet<T>> {
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

impl<T> Control for Aifo<T> {
    /// Ranks by slack depend on the rate. Packets already in the queue keep their rank.
    fn set_link_rate(&mut self, rate: Rate) {
        self.link_rate = Some(rate);
    }

    /// C.
    fn set_buffer_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    fn footprint(&self) -> Footprint {
        Footprint::fixed(size_of::<Self>() + self.config.window as usize * size_of::<i128>())
    }

    /// 1. No more ranks are remembered than there is room for, and the oldest is one of them.
    /// 2. All waiting packets are in one queue.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        assert!(
            self.recent.len() <= self.config.window as usize
                && (self.oldest < self.recent.len() || self.recent.is_empty() && self.oldest == 0),
            "invariant 1"
        );
        assert!(
            self.until_sample < self.config.sample,
            "invariant 1: the next one is remembered in time"
        );
        self.queue.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;

    /// A queue of ten packets with `window` 4 and k = 0.2, with this many waiting packets and these
    /// recent ranks.
    fn holding(waiting: u32, recent: &[u32]) -> Aifo<u32> {
        let config = Config {
            window: 4,
            headroom: Billionths(200_000_000),
            ..Config::default()
        };
        let mut scheduler = config.build(Seed::new(0)).expect("legal");
        scheduler.set_buffer_limit(Limit::of_packets(10));
        (0..waiting).for_each(|number| scheduler.queue.push(Packet::new(FlowId(0), 100, number)));
        recent
            .iter()
            .for_each(|rank| scheduler.remember((*rank).into()));
        scheduler
    }

    /// Of ranks 1, 2, 3 and 4 rank 3 is above a half: (10 - c) / 8 is at least a half up to c = 6.
    /// Rank 5 is above all: c = 2. Rank 1: c = 10.
    #[test]
    fn the_inequality_worked_by_hand() {
        let most_waiting = |rank: i128| {
            (0..=10)
                .filter(|waiting| holding(*waiting, &[4, 1, 3, 2]).admits(rank))
                .max()
        };
        assert_eq!(
            [1, 2, 3, 4, 5].map(most_waiting),
            [Some(10), Some(8), Some(6), Some(4), Some(2)]
        );
        let admitted = (0..=10)
            .map(|waiting| holding(waiting, &[4, 1, 3, 2]).admits(3))
            .filter(|admits| *admits)
            .count();
        assert_eq!(admitted, 7, "0 to 6");
    }

    #[test]
    fn the_window_forgets_the_oldest_rank() {
        let scheduler = holding(0, &[9, 8, 7, 6, 1, 2]);
        assert_eq!(
            (scheduler.recent.clone(), scheduler.oldest),
            (alloc::vec![1, 2, 7, 6], 2)
        );
        assert!(holding(10, &[]).admits(1 << 40), "no rank has come");
    }

    #[test]
    fn one_packet_in_so_many_is_remembered() {
        let mut scheduler: Aifo<u32> = Config {
            sample: 3,
            ..Config::default()
        }
        .build(Seed::new(0))
        .expect("legal");
        (0..10).for_each(|rank| scheduler.remember(rank));
        assert_eq!(scheduler.recent, [0, 3, 6, 9]);
    }

    #[test]
    fn of_packets_and_bytes_the_smaller_free_part_decides() {
        let admits = |limit| {
            let mut scheduler = holding(4, &[1, 2, 3, 4]);
            scheduler.set_buffer_limit(limit);
            scheduler.admits(4)
        };
        // Three quarters are smaller: 0.6 of the buffer must be free. Four packets of 100 bytes
        // wait.
        assert!(
            admits(Limit::of_packets(10))
                && admits(Limit::of_bytes(1000))
                && admits(Limit::UNBOUNDED)
        );
        assert!(
            !admits(Limit::of_packets(9))
                && !admits(Limit {
                    packets: 10,
                    bytes: 999
                })
                && !admits(Limit {
                    packets: 9,
                    bytes: 1000
                })
        );
    }
}
