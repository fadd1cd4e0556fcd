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
//! | queue, slot | `Bucket` |
//! | number of queues, `divisor` | `Config::divisor` |
//! | perturbation of the hash, `perturb` | `Config::perturb`, `Sfq::perturb` |
//! | `allot` | `Bucket::deficit` |
//!
//! | guarantee | value | test in `theorems/sfq.rs` |
//! |---|---|---|
//! | memory | constant, however many flows | `memory_does_not_grow_with_flows` |
//! | collision | two flows meet with probability 1 / divisor over all seeds | `two_flows_meet_in_one_of_divisor_seeds` |
//! | chosen flow numbers | do not meet more than others | `chosen_flow_numbers_spread` |
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
//! after it until the surplus is sent; `perturb` is a period of the caller's time, not jittered.

use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::{ConfigError, Kind, Parameter, saturated};
use crate::hash::FlowHash;
use crate::longest::Longest;
use crate::packet::Packet;
use crate::pool::{Backlog, Pool, Queue};
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
            about: "time between two changes of the hash's key; 0 for never",
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
    pool: Pool<T>,
    buckets: Vec<Bucket>,
    /// Buckets that wait for their turn; the front one has it.
    ring: VecDeque<u32>,
    /// Turns since a packet was last sent that sent nothing.
    fruitless_turns: usize,
    /// Buckets that have packets.
    backlogged: u32,
    longest: Longest,
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

#[derive(Debug, Clone, Default)]
struct Bucket {
    queue: Queue,
    /// Bytes that it may still send in this turn, or carries to its next.
    deficit: u64,
    in_ring: bool,
}

impl<T> Sfq<T> {
    /// An empty scheduler, its hash keyed by `seed`.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn new(config: Config, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            pool: Pool::default(),
            buckets: alloc::vec![Bucket::default(); config.divisor as usize],
            ring: VecDeque::with_capacity(config.divisor as usize),
            fruitless_turns: 0,
            backlogged: 0,
            longest: Longest::default(),
            dropped: VecDeque::new(),
            hash: FlowHash::new(seed, 0),
            seed,
            generation: 0,
            perturbed_at: Instant::ZERO,
            config,
        })
    }

    fn enqueue_packet(&mut self, packet: Packet<T>) -> Result<(), Packet<T>> {
        let number = self.hash.bucket(packet.flow, self.config.divisor) as usize;
        let queue = &self.buckets[number].queue;
        if queue.is_empty() && self.backlogged >= self.config.flows {
            return Err(packet);
        }
        if queue.packets() >= self.config.depth {
            if !self.config.headdrop {
                return Err(packet);
            }
            let oldest = self.pool.pop(&mut self.buckets[number].queue);
            self.dropped.extend(oldest);
            if self.buckets[number].queue.is_empty() {
                self.backlogged -= 1;
            }
        }
        self.append(number, packet);
        Ok(())
    }

    fn append(&mut self, number: usize, packet: Packet<T>) {
        let bucket = &mut self.buckets[number];
        if bucket.queue.is_empty() {
            self.backlogged += 1;
        }
        if !bucket.in_ring {
            bucket.in_ring = true;
            bucket.deficit = self.config.quantum.into();
            self.ring.push_back(number as u32);
        }
        self.pool.push(&mut bucket.queue, packet);
        self.longest.changed(number, bucket.queue.size());
    }

    fn dequeue_packet(&mut self) -> Option<Packet<T>> {
        loop {
            let number = *self.ring.front()? as usize;
            let bucket = &mut self.buckets[number];
            let Some(head) = self.pool.head(&bucket.queue) else {
                bucket.in_ring = false;
                self.ring.pop_front();
                continue;
            };
            if u64::from(head.len) <= bucket.deficit {
                return self.send(number);
            }
            bucket.deficit += u64::from(self.config.quantum);
            self.ring.rotate_left(1);
            self.fruitless_turns += 1;
            if self.fruitless_turns > self.ring.len() {
                self.skip_rounds();
            }
        }
    }

    fn send(&mut self, number: usize) -> Option<Packet<T>> {
        let bucket = &mut self.buckets[number];
        let packet = self.pool.pop(&mut bucket.queue)?;
        bucket.deficit -= u64::from(packet.len);
        if bucket.queue.is_empty() {
            bucket.deficit = 0;
            bucket.in_ring = false;
            self.backlogged -= 1;
            self.ring.pop_front();
        }
        self.longest.changed(number, bucket.queue.size());
        self.fruitless_turns = 0;
        Some(packet)
    }

    /// A whole round went by and nobody could send: credits all buckets with the rounds that would go by like that, at once.
    fn skip_rounds(&mut self) {
        self.fruitless_turns = 0;
        let quantum = u64::from(self.config.quantum);
        let rounds_short = |&number: &u32| {
            let bucket = &self.buckets[number as usize];
            let short = u64::from(self.pool.head(&bucket.queue)?.len).saturating_sub(bucket.deficit);
            Some(short.div_ceil(quantum))
        };
        let rounds = self.ring.iter().filter_map(rounds_short).min().unwrap_or(0).saturating_sub(1);
        for &number in &self.ring {
            let bucket = &mut self.buckets[number as usize];
            bucket.deficit += if bucket.queue.is_empty() { 0 } else { rounds * quantum };
        }
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
        let mut moving = Queue::default();
        while let Some(number) = self.ring.pop_front() {
            let bucket = &mut self.buckets[number as usize];
            if let Some(packet) = self.pool.pop(&mut bucket.queue) {
                self.pool.push(&mut moving, packet);
                self.ring.push_back(number);
            } else {
                *bucket = Bucket::default();
                self.longest.changed(number as usize, 0);
            }
        }
        self.backlogged = 0;
        self.fruitless_turns = 0;
        while let Some(packet) = self.pool.pop(&mut moving) {
            let number = self.hash.bucket(packet.flow, self.config.divisor);
            self.append(number as usize, packet);
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
        let number = self.longest.find(self.buckets.iter().map(|bucket| bucket.queue.size()))?;
        let bucket = &mut self.buckets[number];
        let queue = &mut bucket.queue;
        let packet = if self.config.headdrop { self.pool.pop(queue) } else { self.pool.pop_tail(queue) };
        if queue.is_empty() {
            bucket.deficit = 0;
            self.backlogged -= 1;
        }
        self.longest.changed(number, bucket.queue.size());
        self.debug_check();
        packet
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
        self.dropped.pop_front().map(|packet| (packet, DropReason::PushedOut))
    }

    /// The buckets, their places in the ring and, from the first time that the buffer is full, the index that finds the longest.
    fn footprint(&self) -> Footprint {
        let bytes_per_bucket = size_of::<Bucket>() + size_of::<u32>() + Longest::BYTES_PER_QUEUE;
        Footprint { fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES + self.buckets.len() * bytes_per_bucket, bytes_per_flow: 0 }
    }

    /// 1. A bucket is in the ring exactly once if it is marked so, and it is if it has packets.
    /// 2. Lemma 1 of DRR: an idle bucket carries nothing.
    /// 3. A packet is in the bucket that its flow hashes to.
    /// 4. As many buckets have packets as are counted.
    fn check_invariants(&self) {
        let mut places = alloc::vec![0; self.buckets.len()];
        self.ring.iter().for_each(|number| places[*number as usize] += 1);
        for (number, (bucket, places)) in self.buckets.iter().zip(places).enumerate() {
            assert_eq!(places, usize::from(bucket.in_ring), "invariant 1: in the ring once");
            assert!(bucket.in_ring || bucket.queue.is_empty(), "invariant 1: a backlogged bucket is in the ring");
            assert!(!bucket.queue.is_empty() || bucket.deficit == 0, "invariant 2: an idle bucket carries nothing");
            let home = self.pool.head(&bucket.queue).map(|head| self.hash.bucket(head.flow, self.config.divisor));
            assert!(home.is_none_or(|home| home as usize == number), "invariant 3: a packet is where its flow hashes to");
            self.pool.check_queue(&bucket.queue);
        }
        let backlogged = self.buckets.iter().filter(|bucket| !bucket.queue.is_empty()).count();
        assert_eq!(backlogged, self.backlogged as usize, "invariant 4: backlogged buckets are counted");
        let bytes: u64 = self.buckets.iter().map(|bucket| bucket.queue.bytes()).sum();
        assert_eq!(bytes, self.pool.backlog().bytes, "buckets' backlogs add up");
    }
}

impl<T> Sfq<T> {
    #[inline]
    fn debug_check(&self) {
        if is_time_to_check(self.buckets.len() / 16, self.pool.backlog()) {
            self.check_invariants();
        }
    }
}
