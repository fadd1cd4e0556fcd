//! FQ-CoDel: flows hashed into queues, served by deficit round robin, new queues first, with CoDel
//! on each queue.
//!
//! A queue that was idle goes to the list of new queues, which are served before the old ones. So a
//! flow with less than a quantum a round never waits behind bulk traffic. After a quantum, or when
//! empty, the queue goes to the end of the old list. It becomes idle only when found empty in the
//! old list, so repeated new starts gain nothing. CoDel drops (or marks) packets if a queue stands.
//! This ends the standing delay for the flow at fault, and for no other.
//!
//! Source: T. Hoeiland-Joergensen, P. McKenney, D. Taht, J. Gettys, E. Dumazet, "The Flow Queue
//! CoDel Packet Scheduler and Active Queue Management Algorithm", RFC 8290, 2018. Parameters as in
//! tc-fq_codel(8). CoDel itself: `mechanisms/codel.rs`, RFC 8289.
//!
//! | RFC 8290 | here |
//! |---|---|
//! | list of new queues, list of old queues | `NewAndOld` in `mechanisms/new_and_old.rs` |
//! | byte credits | `Credit` there |
//! | flow (hash bucket) | `Flow` |
//!
//! | guarantee | value | test in `theorems/fq_codel.rs` |
//! |---|---|---|
//! | on-off flow among n, packets of one length | of T bytes at most T / n + 2 Q | `known_bug_30_on_off_flow_gets_its_share` |
//! | two queues, both backlogged for an interval | service differs by at most 2 (Q + L) bytes | `backlogged_queues_share_evenly` |
//! | idle flow's first packet | waits for at most Q + L of each other new flow | `sparse_flows_go_first` |
//! | signals | k-th at t0 + sum of interval / sqrt(i), i < k | `drops_follow_the_control_law` |
//! | flow without a standing queue | no drops | `known_bug_34_pings_are_never_dropped` |
//! | ECN | capable packets are marked where others are dropped | `capable_packets_are_marked_not_dropped` |
//! | memory | constant for any number of flows | `memory_does_not_grow_with_flows` |
//! | chosen flow numbers | collide no more than others | `chosen_flow_numbers_spread` below |
//!
//! Cost: O(1) a packet, because rounds without credit for any queue are counted, not walked one by
//! one. An overflow drops a batch, so that the batch shares the cost of finding the longest queue.
//! Memory: the queues' records, allocated at the start.
//!
//! Differences from the RFC: an idle queue's CoDel state forgets a time above the target at once
//! (reason in `mechanisms/codel.rs`). The backlog below which CoDel does not drop is that of all
//! queues together, not of one, because many short queues can be a standing queue as well as one
//! long queue.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::author::{
    Age, Backlog, ConfigError, Configured, Control, Discipline, DropReason, Duration, FlowId,
    Footprint, Handle, Instant, Limit, Links, Linux, LinuxFlows, LinuxLimit, Nodes, Onset, Packet,
    Parameter, Pool, Queues, Rate, Refused, Scheduler, Seed, Storage,
};
use crate::mechanisms::codel::Target;
use crate::mechanisms::codel_queue::{self, CodelQueue, Signals};
use crate::mechanisms::hash::FlowHash;
use crate::mechanisms::longest::Longest;
use crate::mechanisms::new_and_old::{Credit, NewAndOld, Turns};

/// Parameters of FQ-CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Number of queues: 1 to 65536.
    pub flows: u32,
    /// Bytes a queue may send in a turn: 256 to 2^20.
    pub quantum: u32,
    /// Acceptable time in the queue: 1 us to 1 hour.
    pub target: Duration,
    /// How long a queue may be above the target, about a round trip time: 1 us to 1 hour.
    pub interval: Duration,
    /// Whether ECN-capable packets are marked where others are dropped.
    pub ecn: bool,
    /// Time in the queue above which each ECN-capable packet is marked, independent of CoDel. None:
    /// never.
    pub ce_threshold: Option<Duration>,
    /// Most packets dropped at a time when the buffer is full: 1 to 65535.
    pub drop_batch: u32,
    /// Whether lists of queues and times of signals follow Linux's fq_codel where that differs from
    /// the RFC.
    pub linux: bool,
}

impl Default for Config {
    fn default() -> Self {
        let Target {
            target, interval, ..
        } = Target::DEFAULT;
        Self {
            flows: 1024,
            quantum: 1514,
            target,
            interval,
            ecn: true,
            ce_threshold: None,
            drop_batch: 64,
            linux: false,
        }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "fq_codel";
    const ABOUT: &'static str = "fair queueing with CoDel on each queue, new flows first";
    const SOURCE: &'static str = "Hoeiland-Joergensen, McKenney, Taht, Gettys, Dumazet, The Flow Queue CoDel Packet Scheduler and AQM Algorithm, RFC 8290, 2018";
    const LINUX: Linux = Linux::Qdisc {
        name: "fq_codel",
        flows: LinuxFlows::Hashed,
        limit: LinuxLimit::Both,
    };
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::count(
            "flows",
            1..=1 << 16,
            "number of queues for flows",
            |config| &mut config.flows,
        ),
        Parameter::size(
            "quantum",
            256..=1 << 20,
            "bytes that a queue may send in a turn",
            |config| &mut config.quantum,
        ),
        codel_queue::target(|config| &mut config.target),
        codel_queue::interval(|config| &mut config.interval),
        codel_queue::marks(|config| &mut config.ecn),
        codel_queue::threshold(|config| &mut config.ce_threshold),
        Parameter::count(
            "drop_batch",
            1..=65_535,
            "largest number of packets dropped at once when the buffer is full",
            |config| &mut config.drop_batch,
        ),
        Parameter::switch(
            "linux",
            "Linux's rules for new queues found empty and for times of signals",
            |config| &mut config.linux,
        ),
    ];
    const LIVE: &'static [&'static str] = &[
        "quantum",
        "target",
        "interval",
        "ecn",
        "ce_threshold",
        "drop_batch",
    ];
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Early];
    /// `evict` halves a queue.
    const BOUNDS: &'static [DropReason] = &[DropReason::PushedOut];
    const DEFAULT_LIMIT: Limit = Limit {
        packets: 10_240,
        bytes: 32 << 20,
    };
    const QUEUES: Queues = Queues::Hashed;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = FqCodel<T>;
    type ByHandle = FqCodel<Handle, Links<Age>>;

    fn reads_seed(&self) -> bool {
        true
    }

    fn onset(&self, _link: Rate) -> Onset {
        Onset::Wait(self.target)
    }

    fn configuration<T: Send>(scheduler: &mut FqCodel<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    /// Limits credits to the new quantum, because those from a longer quantum would remain. Related
    /// to known bug 22.
    fn adopt<T: Send>(scheduler: &mut FqCodel<T>, _before: &Self) {
        for flow in &mut scheduler.flows {
            flow.credit.limit(scheduler.config.quantum.into());
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct FqCodel<T, P: Storage<T> = Nodes<T>> {
    pool: Pool<T, P>,
    flows: Vec<Flow>,
    turns: NewAndOld,
    longest: Longest,
    /// Dropped packets, not yet taken by the caller.
    dropped: VecDeque<(P::Leaving, DropReason)>,
    hash: FlowHash,
    config: Config,
}

#[derive(Debug, Clone, Default)]
struct Flow {
    queue: CodelQueue,
    credit: Credit,
}

impl<T, P: Storage<T>> Configured<Config> for FqCodel<T, P> {
    fn configured(config: Config, seed: Seed) -> Result<Self, ConfigError> {
        let flows = config.flows as usize;
        Ok(Self {
            pool: Pool::empty(),
            flows: alloc::vec![Flow::default(); flows],
            turns: NewAndOld::with_capacity(flows),
            longest: Longest::default(),
            dropped: VecDeque::new(),
            hash: FlowHash::new(seed, 0),
            config,
        })
    }
}

impl<T, P: Storage<T>> FqCodel<T, P> {
    fn enqueue_packet(&mut self, packet: Packet<T>) {
        let number = self.hash.bucket(packet.flow, self.config.flows);
        let flow = &mut self.flows[number as usize];
        self.turns.join(number, flow, self.config.quantum.into());
        self.pool.push(&mut flow.queue.queue, packet);
        self.longest.changed(number as usize, flow.size());
    }

    fn dequeue_packet(&mut self, now: Instant) -> Option<P::Leaving> {
        let signals = self.config.signals();
        loop {
            let number = self.turns.next(now, &mut self.flows, self.config.quantum)?;
            let flow = &mut self.flows[number as usize];
            // CoDel's dequeue of this queue. A packet takes its bytes from the credit.
            let pulled = flow
                .queue
                .pull(&mut self.pool, signals, now, &mut self.dropped);
            self.longest.changed(number as usize, flow.size());
            if let Some((packet, len)) = pulled {
                self.turns.sent(flow, len);
                return Some(packet);
            }
            self.turns.found_empty(flow, self.config.linux);
        }
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

impl Flow {
    /// Backlog in the index of the longest.
    fn size(&self) -> u64 {
        self.queue.queue.size()
    }
}

impl Turns for Flow {
    fn credit(&mut self) -> &mut Credit {
        &mut self.credit
    }

    fn is_empty(&self) -> bool {
        self.queue.queue.is_empty()
    }

    fn became_idle(&mut self, _now: Instant) {
        self.queue.found_empty();
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for FqCodel<T, P> {
    /// Sets the packet's arrival time for CoDel.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        if let Err(reason) = self.pool.make_room_for(&packet) {
            return Err(packet.refused(reason));
        }
        self.enqueue_packet(Packet {
            arrival: now,
            ..packet
        });
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<P::Leaving> {
        self.dequeue_packet(now)
    }

    /// The head of the longest queue. Packets behind the head are dropped too, up to half of the
    /// queue's bytes or `drop_batch` packets. See [`take_dropped`](Self::take_dropped).
    fn evict(&mut self) -> Option<P::Leaving> {
        let number = self.longest.find(self.flows.iter().map(Flow::size))?;
        let flow = &mut self.flows[number];
        let queue = &mut flow.queue.queue;
        // At least half of the bytes go, but in Linux half rounded down.
        let keep = if self.config.linux {
            queue.size().div_ceil(2)
        } else {
            queue.size() / 2
        };
        let before = queue.packets();
        let first = self.pool.pop(queue);
        for _ in 1..self.config.drop_batch {
            if queue.size() <= keep {
                break;
            }
            self.dropped.extend(
                self.pool
                    .pop(queue)
                    .map(|packet| (packet, DropReason::PushedOut)),
            );
        }
        if self.config.linux {
            let packets = before - flow.queue.queue.packets();
            flow.queue.overflowed(packets);
        } else {
            flow.queue.reset_if_empty();
        }
        self.longest.changed(number, flow.size());
        first
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn take_dropped(&mut self) -> Option<(P::Leaving, DropReason)> {
        self.dropped.pop_front()
    }
}

impl<T, P: Storage<T>> Control for FqCodel<T, P> {
    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        alloc::vec![self.hash.bucket(flow, self.config.flows) as usize]
    }

    /// The queues' records, their slots in both lists and, from the first full buffer on, the index
    /// for the longest queue.
    fn footprint(&self) -> Footprint {
        let bytes_per_queue =
            size_of::<Flow>() + NewAndOld::BYTES_PER_QUEUE + Longest::BYTES_PER_QUEUE;
        Footprint {
            fixed_bytes: size_of::<Self>()
                + Longest::FIXED_BYTES
                + self.flows.len() * bytes_per_queue,
            bytes_per_flow: 0,
        }
    }

    /// 1. A flow marked as listed is in one list, once. Other flows are in none. Flows with packets
    ///    are listed.
    /// 2. RFC 8290, section 4.2: credit never exceeds a quantum.
    /// 3. A packet is in the queue that the flow's hash gives.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        let entries = self.turns.entries(self.flows.len());
        let mut bytes = 0;
        for (number, flow) in self.flows.iter().enumerate() {
            bytes += flow.queue.queue.bytes();
            flow.credit
                .check(entries[number], flow.is_empty(), self.config.quantum);
            if let Some(flow) = self.pool.head_flow(&flow.queue.queue) {
                let home = self.hash.bucket(flow, self.config.flows) as usize;
                assert_eq!(
                    home, number,
                    "invariant 3: a packet is where its flow hashes to"
                );
            }
            flow.queue.check(&self.pool, self.config.linux);
        }
        assert_eq!(bytes, self.pool.backlog().bytes, "flows' backlogs add up");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;

    fn without_drops(quantum: u32) -> FqCodel<u32> {
        Config {
            quantum,
            target: Duration::from_secs(3600),
            ..Config::default()
        }
        .build(Seed::new(1))
        .expect("legal")
    }

    /// 100,000 flow numbers, all in one of 1024 queues under a hash of the low bits.
    #[test]
    fn chosen_flow_numbers_spread() {
        let mut scheduler = without_drops(1514);
        // `enqueue` would check invariants each time.
        (0..100_000u32).for_each(|number| {
            scheduler.enqueue_packet(Packet::new(FlowId(number.wrapping_mul(1024)), 256, number))
        });
        let lengths = || {
            scheduler
                .flows
                .iter()
                .map(|flow| flow.queue.queue.packets())
        };
        // 97.7 on average, with a standard deviation of 9.9.
        assert!(lengths().max() <= Some(160) && lengths().min() >= Some(50));
        assert!(
            (0..100_000u32).all(|number| number.wrapping_mul(1024) % 1024 == 0),
            "without a key they would be in one"
        );
    }
}
