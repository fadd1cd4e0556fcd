//! FQ-PIE: flows hashed into queues, served by deficit round robin, new queues first, with PIE on
//! each queue.
//!
//! The order of service is FQ-CoDel's, so a flow with less than a quantum a round never waits
//! behind bulk traffic. PIE holds each queue's delay at a target by random drops on arrival. Each
//! queue has a probability of its own, so a flow that fills its queue loses packets, and no other
//! does.
//!
//! Source: M. Tahiliani, "FlowQueue-PIE: A Hybrid Packet Scheduler and Active Queue Management
//! Algorithm", draft-tahiliani-tsvwg-fq-pie. Parameters as in tc-fq_pie(8). PIE:
//! `mechanisms/pie.rs`, RFC 8033. The lists: `mechanisms/new_and_old.rs`, RFC 8290.
//!
//! | draft | here |
//! |---|---|
//! | list of new queues, list of old queues | `NewAndOld` |
//! | flow (hash bucket) | `Flow` |
//! | drop probability of a queue | `QueuePie::probability` |
//!
//! | guarantee | value | test in `theorems/fq_pie.rs` |
//! |---|---|---|
//! | two queues, both backlogged for an interval | service differs by at most 2 (Q + L) bytes | `backlogged_queues_share_evenly` |
//! | idle flow's first packet | waits for at most Q + L of each other new flow | `sparse_flows_go_first` |
//! | a flow in overload | delay `target` in its queue, all other flows lose nothing | `an_overload_is_its_own_and_waits_for_the_target` |
//! | one flow | drops and marks as `pie` does | `one_flow_is_pie` |
//! | ECN | marks in place of drops below `ecn_prob` | `capable_packets_are_marked_below_ecn_prob` |
//! | full buffer | drops the arriving packet | `a_full_buffer_drops_the_arriving_packet` |
//! | memory | constant for any number of flows | `memory_does_not_grow_with_flows` |
//!
//! Updates of all queues are due at the same times, every `tupdate` from the first call on. No
//! timer runs: a call on a queue first does the queue's updates that have become due.
//!
//! Cost: O(1) a packet. A flow that returns does the updates of its absence at once. Memory: the
//! queues' records, allocated at the start.
//!
//! Differences from the draft: a packet that finds at most two frames of 1514 bytes in its queue is
//! kept, and a queue's first burst of 150 ms passes, as in `pie`. A full buffer drops the arriving
//! packet, as in Linux, where fq_codel takes the longest queue's. With `linux` each queue has the
//! kernel's controller (`mechanisms/pie_linux.rs`). Beyond 2048 queues the kernel updates those that
//! follow a tick later, which is not followed.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::author::{
    Backlog, ByCopy, ConfigError, Configured, Control, Discipline, DropReason, Duration, Ecn,
    FlowId, Footprint, Handle, Instant, Limit, Linux, LinuxFlows, LinuxLimit, Onset, Packet,
    Parameter, Pool, Queue, Queues, Rate, Refused, Scheduler, Seed,
};
use crate::config::{HOUR, MICROSECOND};
use crate::mechanisms::hash::FlowHash;
use crate::mechanisms::new_and_old::{Credit, NewAndOld, Turns};
use crate::mechanisms::pie::{self, FRAME, Settings};
use crate::mechanisms::queue_pie::QueuePie;
use crate::mechanisms::random::Random;

/// Burst that passes without drops after a calm period: tc-fq_pie(8) has no parameter for it.
const BURST: Duration = Duration::from_millis(150);

/// Parameters of FQ-PIE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Number of queues: 1 to 65536.
    pub flows: u32,
    /// Bytes a queue may send in a turn: 256 to 2^20.
    pub quantum: u32,
    /// Queueing delay to hold in each queue: 1 us to 1 hour.
    pub target: Duration,
    /// Time between updates of the probabilities: 1 us to 1 hour.
    pub tupdate: Duration,
    /// Weight of the distance from the target, in sixteenths a second: 0 to 32.
    pub alpha: u32,
    /// Weight of the change of the delay, in sixteenths a second: 0 to 32.
    pub beta: u32,
    /// Probability in percent below which ECN-capable packets are marked: 1 to 100.
    pub ecn_prob: u32,
    /// Whether ECN-capable packets are marked where others are dropped.
    pub ecn: bool,
    /// Whether packets shorter than a frame are dropped with a smaller probability, in proportion.
    pub bytemode: bool,
    /// Whether a queue's delay is estimated from its departure rate. Otherwise it follows from the
    /// arrival times of departing packets.
    pub dq_rate_estimator: bool,
    /// Whether the controllers are Linux's, step by step (`mechanisms/pie_linux.rs`).
    pub linux: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            flows: 1024,
            quantum: 1514,
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(15),
            alpha: 2,
            beta: 20,
            ecn_prob: 10,
            ecn: false,
            bytemode: false,
            dq_rate_estimator: false,
            linux: false,
        }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "fq_pie";
    const ABOUT: &'static str = "fair queueing with PIE on each queue, new flows first";
    const SOURCE: &'static str = "Tahiliani, FlowQueue-PIE: A Hybrid Packet Scheduler and Active Queue Management Algorithm, draft-tahiliani-tsvwg-fq-pie; tc-fq_pie(8)";
    const LINUX: Linux = Linux::Qdisc {
        name: "fq_pie",
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
        Parameter::time(
            "target",
            MICROSECOND..=HOUR,
            "queueing delay to hold in each queue",
            |config| &mut config.target,
        ),
        Parameter::time(
            "tupdate",
            MICROSECOND..=HOUR,
            "time between updates of the drop probabilities",
            |config| &mut config.tupdate,
        ),
        pie::alpha(|config| &mut config.alpha),
        pie::beta(|config| &mut config.beta),
        Parameter::size(
            "quantum",
            256..=1 << 20,
            "bytes that a queue may send in a turn",
            |config| &mut config.quantum,
        ),
        Parameter::count(
            "ecn_prob",
            1..=100,
            "probability in percent below which ECN-capable packets are marked",
            |config| &mut config.ecn_prob,
        ),
        Parameter::switch(
            "ecn",
            "mark ECN-capable packets in place of drops, below ecn_prob",
            |config| &mut config.ecn,
        ),
        pie::bytemode(|config| &mut config.bytemode),
        pie::rate_estimator(|config| &mut config.dq_rate_estimator),
        pie::linux(|config| &mut config.linux),
    ];
    const LIVE: &'static [&'static str] = &[
        "target",
        "tupdate",
        "alpha",
        "beta",
        "quantum",
        "ecn_prob",
        "ecn",
        "bytemode",
        "dq_rate_estimator",
    ];
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::Early];
    const DEFAULT_LIMIT: Limit = Limit {
        packets: 10_240,
        bytes: 32 << 20,
    };
    const QUEUES: Queues = Queues::Hashed;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = FqPie<T>;
    /// By copy. A mark is set on arrival and reported on departure.
    type ByHandle = ByCopy<FqPie<Handle>>;

    fn reads_seed(&self) -> bool {
        true
    }

    fn onset(&self, _link: Rate) -> Onset {
        Onset::Backlog {
            above: 2 * u64::from(FRAME),
        }
    }

    fn configuration<T: Send>(scheduler: &mut FqPie<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    /// Limits credits to the new quantum, because those from a longer quantum would remain.
    fn adopt<T: Send>(scheduler: &mut FqPie<T>, _before: &Self) {
        for flow in &mut scheduler.flows {
            flow.credit.limit(scheduler.config.quantum.into());
        }
    }
}

impl Config {
    const fn settings(&self) -> Settings {
        Settings {
            target: self.target,
            tupdate: self.tupdate,
            alpha: self.alpha,
            beta: self.beta,
            burst: BURST,
            bytemode: self.bytemode,
            dq_rate_estimator: self.dq_rate_estimator,
            linux: self.linux,
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct FqPie<T> {
    pool: Pool<T>,
    flows: Vec<Flow>,
    turns: NewAndOld,
    /// The queue of the packet that arrived last.
    arrived: u32,
    /// This packet found its queue idle, and no packet has left since.
    was_idle: bool,
    /// The first call, from which on updates are due.
    began: Option<Instant>,
    /// Dropped packets, not yet taken by the caller.
    dropped: VecDeque<(Packet<T>, DropReason)>,
    hash: FlowHash,
    random: Random,
    config: Config,
}

#[derive(Debug, Clone)]
struct Flow {
    queue: Queue,
    pie: QueuePie,
    credit: Credit,
}

impl Turns for Flow {
    fn credit(&mut self) -> &mut Credit {
        &mut self.credit
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

impl Flow {
    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.queue.packets().into(),
            bytes: self.queue.bytes(),
        }
    }
}

impl<T> Configured<Config> for FqPie<T> {
    fn configured(config: Config, seed: Seed) -> Result<Self, ConfigError> {
        let flows = config.flows as usize;
        let flow = Flow {
            queue: Queue::default(),
            pie: QueuePie::new(&config.settings()),
            credit: Credit::default(),
        };
        Ok(Self {
            pool: Pool::default(),
            flows: alloc::vec![flow; flows],
            turns: NewAndOld::with_capacity(flows),
            arrived: 0,
            was_idle: false,
            began: None,
            dropped: VecDeque::new(),
            hash: FlowHash::new(seed, 0),
            random: Random::new(seed),
            config,
        })
    }
}

impl<T> FqPie<T> {
    /// Drop probability of a flow's queue, from 0 to 1, in units of 2^-60.
    pub fn probability_of(&self, flow: FlowId) -> u64 {
        let number = self.hash.bucket(flow, self.config.flows);
        self.flows[number as usize].pie.probability()
    }

    /// The longest queue. Walks all queues, which is needed only when the limit shrinks, since a
    /// full buffer gives up the arriving packet.
    fn longest(&self) -> Option<usize> {
        let mut longest = None;
        let mut most = 0;
        for (number, flow) in self.flows.iter().enumerate() {
            if flow.queue.size() > most {
                most = flow.queue.size();
                longest = Some(number);
            }
        }
        longest
    }

    /// PIE's judgement of an arriving packet. None: it is dropped. It is marked in place of a drop
    /// if it may be.
    fn judged(&mut self, number: u32, now: Instant, mut packet: Packet<T>) -> Option<Packet<T>> {
        let settings = self.config.settings();
        let flow = &mut self.flows[number as usize];
        let backlog = flow.backlog();
        flow.pie.begin(*self.began.get_or_insert(now));
        // RFC 8033, 4.2: the updates of the drop probability that are due.
        flow.pie.advance(&settings, now, backlog);
        let random = &mut self.random;
        // RFC 8033, 4.1: random dropping on arrival.
        if !flow.pie.judges_bad(&settings, random, packet.len, backlog) {
            return Some(packet);
        }
        // RFC 8033, 5.1: mark a capable packet while the probability is low.
        let marks = self.config.ecn && flow.pie.may_mark(self.config.ecn_prob);
        if marks && packet.ecn != Ecn::NotCapable {
            packet.ecn = Ecn::Marked;
            return Some(packet);
        }
        flow.pie.dropped();
        self.dropped.push_back((packet, DropReason::Early));
        None
    }
}

impl<T> Scheduler<T> for FqPie<T> {
    /// Sets the packet's arrival time.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        let number = self.hash.bucket(packet.flow, self.config.flows);
        self.arrived = number;
        self.was_idle = false;
        let packet = Packet {
            arrival: now,
            ..packet
        };
        if let Some(packet) = self.judged(number, now, packet) {
            let flow = &mut self.flows[number as usize];
            self.pool.push(&mut flow.queue, packet);
            let quantum = self.config.quantum.into();
            // RFC 8290, 4.1: a queue that was idle joins the new ones, with a quantum.
            self.was_idle = self.turns.join(number, flow, quantum);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        self.was_idle = false;
        self.began.get_or_insert(now);
        loop {
            // RFC 8290, 4.2: the head of the new queues, else of the old ones.
            let number = self.turns.next(now, &mut self.flows, self.config.quantum)?;
            let flow = &mut self.flows[number as usize];
            if flow.queue.is_empty() {
                self.turns.found_empty(flow, true);
                continue;
            }
            let settings = self.config.settings();
            let before = flow.backlog();
            flow.pie.advance(&settings, now, before);
            let packet = self.pool.pop(&mut flow.queue)?;
            let left = (packet.arrival, packet.len);
            flow.pie.left(&settings, now, left, before.bytes);
            self.turns.sent(flow, packet.len);
            return Some(packet);
        }
    }

    /// The newest packet in the queue of the last arrival, which is that arrival if it waits, or
    /// else the newest in the longest queue. If this packet had ended its queue's silence, the
    /// queue is as before.
    fn evict(&mut self) -> Option<Packet<T>> {
        let mut number = self.arrived as usize;
        if self.flows[number].queue.is_empty() {
            number = self.longest()?;
        }
        let flow = &mut self.flows[number];
        flow.pie.dropped();
        let packet = self.pool.pop_tail(&mut flow.queue);
        if self.was_idle && number == self.arrived as usize {
            self.was_idle = false;
            let credit = flow.credit.bytes();
            self.turns.take_back(flow, credit);
        }
        packet
    }

    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
        self.dropped.pop_front()
    }
}

impl<T> Control for FqPie<T> {
    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        alloc::vec![self.hash.bucket(flow, self.config.flows) as usize]
    }

    /// The queues' records, their credits and slots in both lists.
    fn footprint(&self) -> Footprint {
        let bytes_per_queue = size_of::<Flow>() + NewAndOld::BYTES_PER_QUEUE;
        Footprint::fixed(size_of::<Self>() + self.flows.len() * bytes_per_queue)
    }

    /// 1. Those of both lists and of each queue's PIE.
    /// 2. A packet is in the queue of the flow's hash.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        let entries = self.turns.entries(self.flows.len());
        let settings = self.config.settings();
        let mut bytes = 0;
        for (number, flow) in self.flows.iter().enumerate() {
            bytes += flow.queue.bytes();
            flow.pie.check(&settings);
            let is_empty = flow.queue.is_empty();
            flow.credit
                .check(entries[number], is_empty, self.config.quantum);
            if let Some(head) = self.pool.head_flow(&flow.queue) {
                let home = self.hash.bucket(head, self.config.flows) as usize;
                assert_eq!(
                    home, number,
                    "invariant 2: a packet is where its flow hashes to"
                );
            }
            self.pool.check_queue(&flow.queue);
        }
        assert_eq!(bytes, self.pool.backlog().bytes, "flows' backlogs add up");
    }
}
