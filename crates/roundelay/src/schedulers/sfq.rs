//! Stochastic fairness queueing (SFQ): flows are hashed into a fixed number of buckets, served by
//! deficit round robin.
//!
//! Only the buckets take memory, however many flows there are. Flows in one bucket share a turn,
//! first in first out. Collisions depend on a secret key, and a new key from time to time
//! (`perturb`) ends unlucky ones. A full buffer drops from the longest bucket.
//!
//! Source: P. E. McKenney, "Stochastic Fairness Queueing", INFOCOM 1990. Parameters as in
//! tc-sfq(8). This is not start-time fair queueing, which has the same abbreviation.
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
//! | memory | constant for any number of flows | `memory_does_not_grow_with_flows` |
//! | collision | two flows collide with probability 1 / divisor over all seeds | `two_flows_meet_in_one_of_divisor_seeds` |
//! | chosen flow numbers | collide no more than others | `chosen_flow_numbers_spread` below |
//! | two buckets, both backlogged for an interval | service differs by at most Q + 2 L bytes | `buckets_share_within_the_bound` |
//! | on-off flow among n, packets of one length | of T bytes at most T / n + 2 Q | `known_bug_30_new_flow_does_not_starve_others` |
//! | order | first in first out in each flow, also across a perturbation | `known_bug_31_perturbation_keeps_order` |
//!
//! The bound for two buckets is Shreedhar and Varghese's for deficit round robin (`drr.rs`), with L
//! the longest packet. A single flow has no guarantee, because of collisions.
//!
//! Cost: O(1) a packet, as in `drr` for small quanta too. A perturbation moves all waiting packets
//! once. Memory: the buckets, allocated at the start, see `footprint`.
//!
//! Differences from the paper: buckets take turns by bytes, as in tc, not by packets. From tc: a
//! bucket sends when the deficit covers the packet (tc: until the deficit is used up), so leaving
//! and returning gains nothing. The longest bucket is the one with the most bytes, not packets,
//! which protects small packets. A perturbation drops nothing, so `depth` and `flows` can be
//! exceeded afterwards until the surplus is sent. `perturb` is a period of the caller's time, not
//! jittered. ns-2's SFQ drops nothing from the longest queue. For that rule, use `mqfq hashes 1
//! ns2`.

mod linux;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::author::{
    Backlog, ConfigError, Configured, Control, Discipline, DropReason, Duration, FlowId, Footprint,
    Handle, Instant, Limit, Links, Linux, LinuxFlows, LinuxLimit, Nodes, Packet, Parameter, Queues,
    Refusal, Refused, Scheduler, Seed, Storage,
};
use crate::mechanisms::hash::FlowHash;
use crate::mechanisms::ring::{End, Ring};
use linux::Turns;

/// Parameters of SFQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Bytes a bucket may send in a turn: 1 to 2^20.
    pub quantum: u32,
    /// Time between two changes of the hash's key: 1 ms to 1 hour, or zero for never.
    pub perturb: Duration,
    /// Buckets: a power of two up to 65536.
    pub divisor: u32,
    /// Most buckets with packets at a time: 1 to 65408. A packet for one more bucket is refused.
    pub flows: u32,
    /// Most packets waiting in a bucket: 1 to 65535.
    pub depth: u32,
    /// Whether a bucket at `depth`, or the longest bucket in a full buffer, drops the oldest packet
    /// and not the newest.
    pub headdrop: bool,
    /// Whether turns and push-out follow Linux's sfq.
    pub linux: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            quantum: 1514,
            perturb: Duration::ZERO,
            divisor: 1024,
            flows: 127,
            depth: 127,
            headdrop: false,
            linux: false,
        }
    }
}

impl Config {
    const MIN_PERTURB: Duration = Duration::from_millis(1);
    const MAX_PERTURB: Duration = Duration::from_secs(3600);
    const MAX_DIVISOR: u32 = 1 << 16;
    /// Largest depth in Linux.
    pub const LINUX_DEPTH: u32 = 127;

    /// The depth in force. Linux takes larger ones for [`LINUX_DEPTH`](Self::LINUX_DEPTH).
    fn depth(&self) -> u32 {
        if self.linux {
            self.depth.min(Self::LINUX_DEPTH)
        } else {
            self.depth
        }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "sfq";
    const ABOUT: &'static str = "stochastic fairness queueing: flows hashed into buckets, buckets served by deficit round robin";
    const SOURCE: &'static str = "McKenney, Stochastic Fairness Queueing, INFOCOM 1990; tc-sfq(8)";
    const LINUX: Linux = Linux::Qdisc {
        name: "sfq",
        flows: LinuxFlows::Hashed,
        limit: LinuxLimit::Packets,
    };
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::size(
            "quantum",
            1..=1 << 20,
            "bytes that a bucket may send in a turn; the longest packet or more for constant cost",
            |config| &mut config.quantum,
        ),
        Parameter::seconds(
            "perturb",
            0..=Self::MAX_PERTURB.as_picos(),
            "time between two changes of the hash's key, at least 1ms (a bare number is seconds); 0: never",
            |config| &mut config.perturb,
        ),
        Parameter::count(
            "divisor",
            1..=Self::MAX_DIVISOR as u64,
            "number of buckets: a power of two",
            |config| &mut config.divisor,
        ),
        Parameter::count(
            "flows",
            1..=65_408,
            "largest number of buckets with packets at a time",
            |config| &mut config.flows,
        ),
        Parameter::count(
            "depth",
            1..=65_535,
            "largest number of packets in a bucket",
            |config| &mut config.depth,
        ),
        Parameter::switch(
            "headdrop",
            "drop a bucket's oldest packet, not the newest",
            |config| &mut config.headdrop,
        ),
        Parameter::switch(
            "linux",
            "turns and push-out by the rules of Linux's sfq",
            |config| &mut config.linux,
        ),
    ];
    const LIVE: &'static [&'static str] = &["quantum", "perturb", "flows", "depth", "headdrop"];
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    /// Packets in a bucket (`depth`) and backlogged buckets (`flows`).
    const BOUNDS: &'static [DropReason] = &[DropReason::PushedOut, DropReason::Refused];
    const DEFAULT_LIMIT: Limit = Limit::of_packets(127);
    const QUEUES: Queues = Queues::Hashed;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Sfq<T>;
    type ByHandle = Sfq<Handle, Links<FlowId>>;

    fn reads_seed(&self) -> bool {
        true
    }

    fn has_timer(&self) -> bool {
        self.perturb > Duration::ZERO
    }

    fn configuration<T: Send>(scheduler: &mut Sfq<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    fn adopt<T: Send>(scheduler: &mut Sfq<T>, _before: &Self) {
        scheduler.ring.set_quantum(scheduler.config.quantum);
    }

    fn check(&self) -> Result<(), ConfigError> {
        Self::PARAMETERS
            .iter()
            .try_for_each(|parameter| parameter.check(Self::NAME, self))?;
        if !self.divisor.is_power_of_two() {
            return Err(ConfigError::beside(
                Self::NAME,
                "divisor",
                self.divisor,
                "a power of two from 1 to 65536",
            ));
        }
        if self.perturb != Duration::ZERO && self.perturb < Self::MIN_PERTURB {
            let expected = "0 for never, or a time of 1ms or longer (a bare number is seconds)";
            return Err(ConfigError::beside(
                Self::NAME,
                "perturb",
                self.perturb,
                expected,
            ));
        }
        Ok(())
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Sfq<T, P: Storage<T> = Nodes<T>> {
    /// A queue for each bucket.
    ring: Ring<T, P>,
    /// Number of buckets with packets.
    backlogged: u32,
    /// Packets dropped for newer packets in the same bucket, not yet taken by the caller.
    dropped: VecDeque<P::Leaving>,
    hash: FlowHash,
    seed: Seed,
    /// Number of key changes.
    generation: u64,
    /// Time of the last key change.
    perturbed_at: Instant,
    /// In place of the ring, with [`Config::linux`].
    linux: Option<Box<Turns<T, P>>>,
    config: Config,
}

impl<T, P: Storage<T>> Configured<Config> for Sfq<T, P> {
    fn configured(config: Config, seed: Seed) -> Result<Self, ConfigError> {
        let divisor = config.divisor as usize;
        let linux = config.linux.then(|| Box::new(Turns::new(divisor)));
        Ok(Self {
            ring: Ring::empty(config.quantum, if config.linux { 0 } else { divisor }),
            backlogged: 0,
            dropped: VecDeque::new(),
            hash: FlowHash::new(seed, 0),
            seed,
            generation: 0,
            perturbed_at: Instant::ZERO,
            linux,
            config,
        })
    }
}

impl<T, P: Storage<T>> Sfq<T, P> {
    fn bucket_of(&self, flow: FlowId) -> usize {
        self.hash.bucket(flow, self.config.divisor) as usize
    }

    fn enqueue_packet(&mut self, packet: Packet<T>) -> Result<(), Refused<T>> {
        if self.linux.is_some() {
            return self.enqueue_as_linux(packet);
        }
        let bucket = self.bucket_of(packet.flow);
        let waiting = self.ring.queue(bucket).packets();
        let is_deep = waiting >= self.config.depth;
        if waiting == 0 && self.backlogged >= self.config.flows {
            return Err(packet.refused(Refusal::NoQueueFree));
        }
        if is_deep && !self.config.headdrop {
            return Err(packet.refused(Refusal::QueueFull));
        }
        let was_empty = self.ring.queue(bucket).is_empty();
        self.ring.push(bucket, packet)?;
        self.backlogged += u32::from(was_empty);
        if is_deep {
            // After the push, so the bucket is not empty in between and keeps the credit.
            let oldest = self.ring.give_up(bucket, End::Oldest);
            self.dropped.extend(oldest);
        }
        Ok(())
    }

    #[cold]
    fn enqueue_as_linux(&mut self, packet: Packet<T>) -> Result<(), Refused<T>> {
        let (
            number,
            Config {
                quantum,
                flows,
                headdrop,
                ..
            },
            depth,
        ) = (
            self.bucket_of(packet.flow),
            self.config,
            self.config.depth(),
        );
        let Some(turns) = &mut self.linux else {
            return Err(packet.refused(Refusal::Other));
        };
        let waiting = turns.packets_in(number);
        if waiting == 0 && turns.backlogged() >= flows as usize {
            return Err(packet.refused(Refusal::NoQueueFree));
        }
        if waiting >= depth && !headdrop {
            return Err(packet.refused(Refusal::QueueFull));
        }
        if let Err(reason) = turns.make_room_for(&packet) {
            return Err(packet.refused(reason));
        }
        if waiting >= depth {
            self.dropped.extend(turns.exchange(number, packet));
        } else {
            turns.push(number, packet, quantum);
        }
        Ok(())
    }

    fn dequeue_packet(&mut self) -> Option<P::Leaving> {
        if let Some(turns) = &mut self.linux {
            return turns.send(self.config.quantum);
        }
        let bucket = self.ring.turn()?;
        let packet = self.ring.send();
        self.backlogged -= u32::from(self.ring.queue(bucket).is_empty());
        packet
    }

    fn perturb_if_due(&mut self, now: Instant) {
        if self.config.perturb != Duration::ZERO
            && now.since(self.perturbed_at) >= self.config.perturb
        {
            self.perturbed_at = now;
            self.perturb();
        }
    }

    /// Changes the key and moves all packets to new buckets, one from each old bucket in turn. A
    /// flow's packets come from one bucket and go to one bucket, so their order stays.
    fn perturb(&mut self) {
        self.generation += 1;
        self.hash = FlowHash::new(self.seed, self.generation);
        if let Some(turns) = &mut self.linux {
            let mut moving = turns.drain_in_turns();
            while let Some(flow) = turns.next_drained(&moving) {
                let bucket = self.hash.bucket(flow, self.config.divisor) as usize;
                turns.put_back(&mut moving, bucket, self.config.quantum);
            }
            return;
        }
        let mut moving = self.ring.drain_in_turns();
        self.backlogged = 0;
        while let Some(flow) = self.ring.next_drained(&moving) {
            let bucket = self.bucket_of(flow);
            self.backlogged += u32::from(self.ring.queue(bucket).is_empty());
            self.ring.put_back(&mut moving, bucket);
        }
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for Sfq<T, P> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        self.perturb_if_due(now);
        self.enqueue_packet(packet)
    }

    fn dequeue(&mut self, now: Instant) -> Option<P::Leaving> {
        self.perturb_if_due(now);
        self.dequeue_packet()
    }

    /// The tail of the longest bucket, or its head with `headdrop`.
    fn evict(&mut self) -> Option<P::Leaving> {
        if let Some(turns) = &mut self.linux {
            return turns.evict(self.config.headdrop);
        }
        let bucket = self.ring.longest()?;
        let packet = self.ring.give_up(
            bucket,
            if self.config.headdrop {
                End::Oldest
            } else {
                End::Newest
            },
        );
        self.backlogged -= u32::from(self.ring.queue(bucket).is_empty());
        packet
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.linux
            .as_ref()
            .map_or(self.ring.backlog(), |turns| turns.backlog())
    }

    fn take_dropped(&mut self) -> Option<(P::Leaving, DropReason)> {
        self.dropped
            .pop_front()
            .map(|packet| (packet, DropReason::PushedOut))
    }
}

impl<T, P: Storage<T>> Control for Sfq<T, P> {
    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        alloc::vec![self.bucket_of(flow)]
    }

    /// The buckets, their slots in the ring and, from the first full buffer on, the index for the
    /// longest bucket.
    fn footprint(&self) -> Footprint {
        let of_linux = if self.linux.is_some() {
            self.config.divisor as usize * Turns::<T, P>::BYTES_PER_BUCKET
        } else {
            0
        };
        let buckets = self.ring.queues() * Ring::<T, P>::BYTES_PER_QUEUE + of_linux;
        Footprint {
            fixed_bytes: size_of::<Self>() + Ring::<T, P>::FIXED_BYTES + buckets,
            bytes_per_flow: 0,
        }
    }

    /// 1. The ring's invariants. A packet is in the bucket that the flow's hash gives.
    /// 2. `backlogged` is the number of buckets with packets.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        if let Some(turns) = &self.linux {
            return turns.check_invariants(|bucket, flow| self.bucket_of(flow) == bucket);
        }
        self.ring
            .check_invariants(|bucket, flow| self.bucket_of(flow) == bucket);
        let backlogged = (0..self.ring.queues())
            .filter(|bucket| !self.ring.queue(*bucket).is_empty())
            .count();
        assert_eq!(
            backlogged, self.backlogged as usize,
            "invariant 2: backlogged buckets are counted"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::packet::FlowId;

    /// Numbers that leave of one packet from each of six flows, then three more of the first.
    fn left(config: Config, limit: u64) -> Vec<u32> {
        let mut buffer = Buffer::new(
            Limit::of_packets(limit),
            config.build(Seed::new(1)).expect("legal"),
        );
        for number in 0..9 {
            let packet = Packet::new(FlowId(if number < 6 { number } else { 0 }), 1000, number);
            buffer.enqueue(Instant::ZERO, packet, |_, _| {});
        }
        core::iter::from_fn(|| buffer.dequeue(Instant::ZERO, |_, _| {}))
            .map(|packet| packet.payload)
            .collect()
    }

    #[test]
    fn in_linux_no_more_buckets_have_packets_than_the_limit_is() {
        let linux = Config {
            linux: true,
            ..Config::default()
        };
        assert_eq!(
            left(linux, 4),
            [0, 1, 2, 3],
            "arrivals are dropped, and a second packet of the longest bucket"
        );
        assert_ne!(left(Config::default(), 4), [0, 1, 2, 3]);
    }

    #[test]
    fn in_linux_a_bucket_holds_127_packets() {
        let flood = |linux: bool| {
            let mut scheduler = Config {
                depth: 200,
                linux,
                ..Config::default()
            }
            .build(Seed::new(1))
            .expect("legal");
            (0..300)
                .filter(|number| {
                    scheduler
                        .enqueue(Instant::ZERO, Packet::new(FlowId(0), 100, *number))
                        .is_ok()
                })
                .count()
        };
        assert_eq!([true, false].map(flood), [127, 200]);
    }

    /// 100,000 flow numbers, all in one of 1024 buckets under a hash of the low bits.
    #[test]
    fn chosen_flow_numbers_spread() {
        let config = Config {
            flows: 65_408,
            depth: 65_535,
            ..Config::default()
        };
        let mut scheduler = config.build(Seed::new(1)).expect("legal");
        for number in 0..100_000u32 {
            // `enqueue` would check invariants each time.
            let taken = scheduler.enqueue_packet(Packet::new(
                FlowId(number.wrapping_mul(1024)),
                1514,
                number,
            ));
            assert!(taken.is_ok());
        }
        let lengths = || (0..1024).map(|bucket| scheduler.ring.queue(bucket).packets());
        // 97.7 on average, with a standard deviation of 9.9.
        assert!(lengths().max() <= Some(160) && lengths().min() >= Some(50));
        assert!(
            (0..100_000u32).all(|number| number.wrapping_mul(1024) % 1024 == 0),
            "without a key they would be in one"
        );
    }
}
