//! Stochastic fairness queueing: flows are hashed into a fixed number of buckets, and buckets are served by deficit round robin.
//!
//! However many flows there are, memory is that of the buckets. Flows that meet in a bucket share its turn, first in first out; who
//! meets whom depends on a key that outsiders don't have, and that can be changed from time to time (`perturb`) so that nobody stays in
//! bad company. When the buffer is full the longest bucket pays.
//!
//! Source: P. E. McKenney, "Stochastic Fairness Queueing", INFOCOM 1990; parameters as in tc-sfq(8). Not start-time fair queueing,
//! which is abbreviated alike.
//!
//! | paper, tc | here |
//! |---|---|
//! | queue, slot | a queue of `mechanisms/ring.rs` |
//! | number of queues, `divisor` | `Config::divisor` |
//! | perturbation of the hash, `perturb` | `Config::perturb`, `Sfq::perturb` |
//! | `allot` | `deficit` in `mechanisms/ring.rs` |
//!
//! | guarantee | value | test in `theorems/sfq.rs` |
//! |---|---|---|
//! | memory | constant, however many flows | `memory_does_not_grow_with_flows` |
//! | collision | two flows meet with probability 1 / divisor over all seeds | `two_flows_meet_in_one_of_divisor_seeds` |
//! | chosen flow numbers | do not meet more than others | `chosen_flow_numbers_spread` below |
//! | two buckets, both backlogged for an interval | served alike but for Q + 2 L bytes | `buckets_share_within_the_bound` |
//! | on-off flow among n, packets of one length | of T bytes at most T / n + 2 Q | `known_bug_30_new_flow_does_not_starve_others` |
//! | order | first in first out in each flow, also across a perturbation | `known_bug_31_perturbation_keeps_order` |
//!
//! The bound on two buckets is Shreedhar and Varghese's for deficit round robin (`drr.rs`), L being the longest packet. Nothing is
//! promised to one flow: it can meet another.
//!
//! Cost: O(1) a packet, as in `drr` for small quanta too; a perturbation moves all packets that wait, once. Memory: the buckets, taken
//! at the start, see `footprint`.
//!
//! Differences from the paper: buckets take turns by bytes, as in tc, not by packets. From tc: a bucket sends when its deficit covers
//! the packet (tc: as long as it isn't used up), so that leaving and coming back does not pay off; the longest bucket is that with the
//! most bytes, not packets, so that small packets aren't punished; a perturbation drops nothing, so `depth` and `flows` can be exceeded
//! after it until the surplus is sent; `perturb` is a period of the caller's time, not jittered. What ns-2 calls SFQ drops nothing from the longest
//! queue: its rule is `mqfq hashes 1 ns2`.

use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::{ConfigError, Kind, Parameter, saturated};
use crate::mechanisms::hash::FlowHash;
use crate::mechanisms::ring::{End, Ring};
use crate::packet::{FlowId, Packet};
use crate::pool::Backlog;
use crate::scheduler::{DropReason, Footprint, Scheduler, is_time_to_check};
use crate::schedulers::Discipline;
use crate::time::{Duration, Instant};

/// Parameters of SFQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Bytes that a bucket may send in a turn: 1 to 2^20.
    pub quantum: u32,
    /// Time between two changes of the hash's key: 1 ms to 1 hour, or zero for never.
    pub perturb: Duration,
    /// Buckets: a power of two up to 65536.
    pub divisor: u32,
    /// Most buckets that may have packets at a time: 1 to 65408. A packet that would need another is refused.
    pub flows: u32,
    /// Most packets that may wait in a bucket: 1 to 65535.
    pub depth: u32,
    /// Whether a bucket at its depth, or the longest one in a full buffer, gives up its oldest packet and not its newest.
    pub headdrop: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { quantum: 1514, perturb: Duration::ZERO, divisor: 1024, flows: 127, depth: 127, headdrop: false }
    }
}

impl Config {
    const MIN_PERTURB: Duration = Duration::from_millis(1);
    const MAX_PERTURB: Duration = Duration::from_secs(3600);
    const MAX_DIVISOR: u32 = 1 << 16;
}

impl Discipline for Config {
    const NAME: &'static str = "sfq";
    const ABOUT: &'static str = "stochastic fairness queueing: flows hashed into buckets, buckets served by deficit round robin";
    const SOURCE: &'static str = "McKenney, Stochastic Fairness Queueing, INFOCOM 1990; tc-sfq(8)";
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter {
            name: "quantum",
            kind: Kind::Size,
            min: 1,
            max: 1 << 20,
            about: "bytes that a bucket may send in a turn; at least the longest packet keeps the cost constant",
            read: |config| config.quantum.into(),
            write: |config, value| config.quantum = saturated(value),
        },
        Parameter {
            name: "perturb",
            kind: Kind::Seconds,
            min: 0,
            max: Self::MAX_PERTURB.as_picos(),
            about: "time between two changes of the hash's key, at least 1ms (a bare number is seconds); 0 for never",
            read: |config| config.perturb.as_picos(),
            write: |config, value| config.perturb = Duration::from_picos(value),
        },
        Parameter {
            name: "divisor",
            kind: Kind::Count,
            min: 1,
            max: Self::MAX_DIVISOR as u64,
            about: "buckets: a power of two",
            read: |config| config.divisor.into(),
            write: |config, value| config.divisor = saturated(value),
        },
        Parameter {
            name: "flows",
            kind: Kind::Count,
            min: 1,
            max: 65_408,
            about: "most buckets that may have packets at a time",
            read: |config| config.flows.into(),
            write: |config, value| config.flows = saturated(value),
        },
        Parameter {
            name: "depth",
            kind: Kind::Count,
            min: 1,
            max: 65_535,
            about: "most packets that may wait in a bucket",
            read: |config| config.depth.into(),
            write: |config, value| config.depth = saturated(value),
        },
        Parameter {
            name: "headdrop",
            kind: Kind::Switch,
            min: 0,
            max: 1,
            about: "give up a bucket's oldest packet, not its newest",
            read: |config| config.headdrop.into(),
            write: |config, value| config.headdrop = value != 0,
        },
    ];
    const LIVE: &'static [&'static str] = &["quantum", "perturb", "flows", "depth", "headdrop"];
    const WEIGHTED: bool = false;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(127);
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Sfq<T>;

    fn build<T: Send>(&self, seed: u64) -> Result<Sfq<T>, ConfigError> {
        Sfq::new(*self, seed)
    }

    fn configuration<T: Send>(scheduler: &mut Sfq<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    fn adopt<T: Send>(scheduler: &mut Sfq<T>, _before: &Self) {
        scheduler.ring.set_quantum(scheduler.config.quantum);
    }

    fn check(&self) -> Result<(), ConfigError> {
        Self::PARAMETERS.iter().try_for_each(|parameter| parameter.check(Self::NAME, self))?;
        let bad = |parameter: &str, expected: &str| ConfigError::BadValue {
            discipline: Self::NAME,
            parameter: parameter.to_owned(),
            expected: expected.to_owned(),
        };
        if !self.divisor.is_power_of_two() {
            return Err(bad("divisor", "a power of two from 1 to 65536"));
        }
        if self.perturb != Duration::ZERO && self.perturb < Self::MIN_PERTURB {
            return Err(bad("perturb", "0 for never, or a time of 1ms or longer (a bare number is seconds)"));
        }
        Ok(())
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Sfq<T> {
    /// A queue for each bucket.
    ring: Ring<T>,
    /// Buckets that have packets.
    backlogged: u32,
    /// Packets given up for newer ones of their bucket, until they are taken.
    dropped: VecDeque<Packet<T>>,
    hash: FlowHash,
    seed: u64,
    /// How often the key has been changed.
    generation: u64,
    /// When that was last.
    perturbed_at: Instant,
    config: Config,
}

impl<T> Sfq<T> {
    /// An empty scheduler, its hash keyed by `seed`.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn new(config: Config, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            ring: Ring::new(config.quantum, config.divisor as usize),
            backlogged: 0,
            dropped: VecDeque::new(),
            hash: FlowHash::new(seed, 0),
            seed,
            generation: 0,
            perturbed_at: Instant::ZERO,
            config,
        })
    }

    fn bucket_of(&self, flow: FlowId) -> usize {
        self.hash.bucket(flow, self.config.divisor) as usize
    }

    fn enqueue_packet(&mut self, packet: Packet<T>) -> Result<(), Packet<T>> {
        let bucket = self.bucket_of(packet.flow);
        let waiting = self.ring.queue(bucket).packets();
        let is_deep = waiting >= self.config.depth;
        if waiting == 0 && self.backlogged >= self.config.flows || is_deep && !self.config.headdrop {
            return Err(packet);
        }
        self.append(bucket, packet);
        if is_deep {
            // After the new one has come, so that the bucket is not empty in between and keeps its credit.
            let oldest = self.ring.give_up(bucket, End::Oldest);
            self.dropped.extend(oldest);
        }
        Ok(())
    }

    fn append(&mut self, bucket: usize, packet: Packet<T>) {
        self.backlogged += u32::from(self.ring.queue(bucket).is_empty());
        let pushed = self.ring.push(bucket, packet);
        debug_assert!(pushed.is_ok(), "there is a queue for each bucket");
    }

    fn dequeue_packet(&mut self) -> Option<Packet<T>> {
        let bucket = self.ring.turn()?;
        let packet = self.ring.send();
        self.backlogged -= u32::from(self.ring.queue(bucket).is_empty());
        packet
    }

    fn perturb_if_due(&mut self, now: Instant) {
        if self.config.perturb != Duration::ZERO && now.since(self.perturbed_at) >= self.config.perturb {
            self.perturbed_at = now;
            self.perturb();
        }
    }

    /// Changes the key and moves all packets to their new buckets, one of each old bucket in turn. A flow's packets come from one bucket
    /// and go to one bucket, so their order stays.
    fn perturb(&mut self) {
        self.generation += 1;
        self.hash = FlowHash::new(self.seed, self.generation);
        let mut moving = self.ring.drain_in_turns();
        self.backlogged = 0;
        while let Some(packet) = self.ring.next_drained(&mut moving) {
            self.append(self.bucket_of(packet.flow), packet);
        }
    }
}

impl<T> Scheduler<T> for Sfq<T> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        self.perturb_if_due(now);
        let outcome = self.enqueue_packet(packet);
        self.debug_check();
        outcome
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        self.perturb_if_due(now);
        let packet = self.dequeue_packet();
        self.debug_check();
        packet
    }

    /// The tail of the longest bucket; with `headdrop` its head.
    fn evict(&mut self) -> Option<Packet<T>> {
        let bucket = self.ring.longest()?;
        let packet = self.ring.give_up(bucket, if self.config.headdrop { End::Oldest } else { End::Newest });
        self.backlogged -= u32::from(self.ring.queue(bucket).is_empty());
        self.debug_check();
        packet
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
        self.dropped.pop_front().map(|packet| (packet, DropReason::PushedOut))
    }

    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        alloc::vec![self.bucket_of(flow)]
    }

    /// The buckets, their places in the ring and, from the first time that the buffer is full, the index that finds the longest.
    fn footprint(&self) -> Footprint {
        let buckets = self.ring.queues() * Ring::<T>::BYTES_PER_QUEUE;
        Footprint { fixed_bytes: size_of::<Self>() + Ring::<T>::FIXED_BYTES + buckets, bytes_per_flow: 0 }
    }

    /// 1. Those of the ring; a packet is in the bucket that its flow hashes to.
    /// 2. As many buckets have packets as are counted.
    fn check_invariants(&self) {
        self.ring.check_invariants(|bucket, packet| self.bucket_of(packet.flow) == bucket);
        let backlogged = (0..self.ring.queues()).filter(|bucket| !self.ring.queue(*bucket).is_empty()).count();
        assert_eq!(backlogged, self.backlogged as usize, "invariant 2: backlogged buckets are counted");
    }
}

impl<T> Sfq<T> {
    #[inline]
    fn debug_check(&self) {
        if is_time_to_check(self.ring.queues() / 16, self.ring.backlog()) {
            self.check_invariants();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;

    /// A hundred thousand flow numbers that meet in one bucket of 1024 under a hash of their low bits.
    #[test]
    fn chosen_flow_numbers_spread() {
        let config = Config { flows: 65_408, depth: 65_535, ..Config::default() };
        let mut scheduler = Sfq::new(config, 1).expect("legal");
        for number in 0..100_000u32 {
            // Not through `enqueue`, which checks invariants.
            let taken = scheduler.enqueue_packet(Packet::new(FlowId(number.wrapping_mul(1024)), 1514, number));
            assert!(taken.is_ok());
        }
        let lengths = || (0..1024).map(|bucket| scheduler.ring.queue(bucket).packets());
        // 97.7 on average, with a standard deviation of 9.9.
        assert!(lengths().max() <= Some(160) && lengths().min() >= Some(50));
        assert!((0..100_000u32).all(|number| number.wrapping_mul(1024) % 1024 == 0), "without a key they would be in one");
    }
}
