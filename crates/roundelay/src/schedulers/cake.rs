//! CAKE: a shaper, tins by code point, queues by flow and host, and COBALT on each queue.
//!
//! A packet's code point selects a tin. In the tin, hashes of its flow and hosts select a queue.
//! DRR++ serves the queues: first those that were idle, then the others in turns. A turn's quantum
//! is divided among a host's bulk flows, so that hosts share the link however many flows they have.
//! The shaper decides when the next packet may leave, and which tins keep to their part of the
//! rate. COBALT drops or marks packets where a queue stands.
//!
//! Source: T. Hoeiland-Joergensen, D. Taht, J. Morton, "Piece of CAKE: A Comprehensive Queue
//! Management Solution for Home Gateways", arXiv 1804.07617, 2018. Parameters and defaults as in
//! tc-cake(8). Orders, drops and times as in Linux 7.3, and with `linux 6.1` as in that one
//! (`peers/linux`).
//!
//! | paper, manual page | here |
//! |---|---|
//! | tin | `tin::Tin` |
//! | sparse, bulk, decaying flows | `tin::State`, in the lists of `lists.rs` |
//! | set-associative hash, hosts | `hosts.rs`, `isolation.rs` |
//! | deficit-mode shaper | `shaper.rs` |
//! | ACK filter | `acks.rs` |
//! | overflow | `overflow.rs` |
//! | COBALT | `mechanisms/cobalt.rs` |
//!
//! | guarantee | value | test in `theorems/cake.rs` |
//! |---|---|---|
//! | rate | bytes sent in any time t while packets wait: rate x t, at most a packet more | `the_link_has_the_bandwidth_and_no_burst` |
//! | hosts | of n busy hosts each gets 1 / n, however many flows it has, within .02 | `hosts_share_the_link_whatever_their_flows` |
//! | collisions | no two of eight flows share a queue | `eight_flows_never_collide` |
//! | sparse flow | its packets wait for no turn of a bulk flow | `sparse_flows_go_first` |
//! | ACK filter | what a dropped acknowledgement says, a later one in the queue says again | `filtered_acknowledgements_say_nothing_new` |
//! | tins | a tin within its part of the rate goes before those below it | `a_tin_within_its_part_goes_first` |
//!
//! Number format: picoseconds, bytes. A quantum divided among flows is rounded at random, by draws
//! from the seed, so that its mean is exact.
//!
//! Cost: O(1) a packet beside turns without credit, of which a packet of 65,536 bytes needs 218 at
//! the smallest quantum. With an ACK filter, each acknowledgement also takes a walk along its
//! queue. Memory: 1024 queues and twice 1024 hosts for each tin, allocated at the start. 12 bytes
//! for each flow whose hosts are named. With an ACK filter, 68 bytes for each packet's slot.
//!
//! Differences from Linux: the buffer counts bytes of packets, not the memory they occupy. Unless
//! `linux`, a full buffer drops from the longest queue, and among equals from the first. Packets
//! are not split. Longest packet: 65,536 bytes.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::author::{
    Acknowledgement, Age, Backlog, ConfigError, Configured, Control, Discipline, DropReason,
    Duration, Ecn, FlowId, Footprint, Handle, Hosts, Instant, Leaving as _, Limit, Links, Linux,
    LinuxFlows, LinuxLimit, Nodes, Packet, Parameter, Pool, Priority, Queues, Rate, Refusal,
    Refused, Scheduler, Seed, Storage,
};
use crate::config::{HOUR, MICROSECOND};
use crate::link_layer::{Framing, LinkLayer};
use crate::mechanisms::cobalt::{Judged, Roots, Verdict};
use crate::mechanisms::random::Random;

mod acks;
mod hosts;
mod isolation;
mod lists;
mod overflow;
mod shaper;
mod tin;
mod tins;

use acks::Acks;
use hosts::BUCKETS;
use isolation::Hasher;
use overflow::Overflow;
use shaper::Shaper;
use tin::Tin;

pub use crate::mechanisms::kernel::Kernel;
pub use acks::AckFilter;
pub use isolation::Isolation;
pub use tins::Tins;

/// Parameters of CAKE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The shaper's rate. None: unlimited.
    pub bandwidth: Option<Rate>,
    /// The round trip that COBALT assumes: 1 us to 1 hour.
    pub rtt: Duration,
    /// How code points select tins.
    pub tins: Tins,
    /// What has a queue of its own, and what shares the link.
    pub isolation: Isolation,
    /// Whether drops count as sent, because the queue is behind the link that it keeps from
    /// filling.
    pub ingress: bool,
    /// Which redundant acknowledgements are dropped.
    pub acks: AckFilter,
    /// Whether packets leave with code point 0. By handle, the owner of the packets clears it.
    pub wash: bool,
    /// Has no effect, because addresses are those that the driver gives.
    pub nat: bool,
    /// Whether `overhead` counts on top of the packet with its link header. Without overhead the
    /// header always counts.
    pub raw: bool,
    /// Bytes of the link header within the lengths of packets, which `overhead` replaces: 0 to 64.
    pub header: u32,
    /// Bytes that the link adds to each packet: 0 to 256.
    pub overhead: u32,
    /// Shortest packet with overhead: 0 to 256.
    pub mpu: u32,
    /// Framing after overhead and minimum.
    pub framing: Framing,
    /// Whether a full buffer drops from the queue that Linux takes for the longest.
    pub linux: bool,
    /// The kernel whose COBALT signals. The first square roots of Linux 6.1 are short by up to .06%.
    pub kernel: Kernel,
}

/// COBALT's first square roots.
const fn roots(kernel: Kernel) -> Roots {
    match kernel {
        Kernel::V7_3 => Roots::Exact,
        Kernel::V6_1 => Roots::Iterated,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            bandwidth: None,
            rtt: Duration::from_millis(100),
            tins: Tins::Diffserv3,
            isolation: Isolation::TripleIsolate,
            ingress: false,
            acks: AckFilter::Off,
            wash: false,
            nat: false,
            raw: false,
            header: 14,
            overhead: 0,
            mpu: 0,
            framing: Framing::None,
            linux: false,
            kernel: Kernel::V7_3,
        }
    }
}

/// Longest packet, as in the network layer. A longer one would need many turns.
const LONGEST_PACKET: u32 = 1 << 16;

/// An unlimited link's buffer, and the largest of all: 10,240 frames.
const MOST_BYTES: u64 = 10_240 * 1514;

/// A shaped link's smallest buffer: 4 MiB.
const LEAST_BYTES: u64 = 4 << 20;

impl Discipline for Config {
    const NAME: &'static str = "cake";
    const ABOUT: &'static str =
        "shaper, tins by code point, fair queueing by flow and host, and COBALT on each queue";
    const SOURCE: &'static str = "Hoeiland-Joergensen, Taht, Morton, Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways, arXiv 1804.07617, 2018";
    const LINUX: Linux = Linux::Qdisc {
        name: "cake",
        flows: LinuxFlows::Hashed,
        limit: LinuxLimit::Bytes,
    };
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::bandwidth(
            "bandwidth",
            1_000..=1_000_000_000_000,
            "the shaper's rate",
            |config| &mut config.bandwidth,
        ),
        Parameter::time(
            "rtt",
            MICROSECOND..=HOUR,
            "the round trip that COBALT assumes",
            |config| &mut config.rtt,
        ),
        Parameter::keyword(
            "tins",
            Tins::WORDS,
            "how code points select tins",
            |config| config.tins as u64,
            |config, choice| config.tins = Tins::of(choice),
        ),
        Parameter::keyword(
            "isolation",
            Isolation::WORDS,
            "what has a queue of its own, and what shares the link",
            |config| config.isolation as u64,
            |config, choice| config.isolation = Isolation::of(choice),
        ),
        Parameter::keyword(
            "direction",
            &["egress", "ingress"],
            "ingress: drops count as sent, because they have passed the link",
            |config| config.ingress.into(),
            |config, choice| config.ingress = choice == 1,
        ),
        Parameter::keyword(
            "acks",
            AckFilter::WORDS,
            "whether acknowledgements that later ones repeat are dropped",
            |config| config.acks as u64,
            |config, choice| config.acks = AckFilter::of(choice),
        ),
        Parameter::switch("wash", "clear the code point of each packet", |config| {
            &mut config.wash
        }),
        Parameter::switch("nat", "no effect: addresses are as given", |config| {
            &mut config.nat
        }),
        Parameter::switch(
            "raw",
            "overhead counts on top of the packet with its link header",
            |config| &mut config.raw,
        ),
        Parameter::size(
            "header",
            0..=64,
            "link header within the lengths of packets, which overhead replaces",
            |config| &mut config.header,
        ),
        Parameter::size(
            "overhead",
            0..=256,
            "bytes that the link adds to each packet",
            |config| &mut config.overhead,
        ),
        Parameter::size(
            "mpu",
            0..=256,
            "shortest packet on the link, with overhead",
            |config| &mut config.mpu,
        ),
        Parameter::keyword(
            "framing",
            &["noatm", "atm", "ptm"],
            "cells of ATM, or the bytes that PTM adds",
            |config| config.framing as u64,
            |config, choice| config.framing = Framing::ALL[choice as usize % 3],
        ),
        Parameter::switch(
            "linux",
            "a full buffer drops from the queue that Linux's heap takes for the longest",
            |config| &mut config.linux,
        ),
        Parameter::keyword(
            "kernel",
            Kernel::WORDS,
            "the kernel whose COBALT signals: linux 6.1 has another second distance",
            |config| config.kernel as u64,
            |config, word| config.kernel = Kernel::of(word),
        ),
    ];
    /// Flows that share a queue may part while packets wait, and a flow's packets may have several
    /// code points.
    const REORDERS: bool = true;
    const DROPS: &'static [DropReason] = &[
        DropReason::Full,
        DropReason::PushedOut,
        DropReason::Early,
        DropReason::Refused,
        DropReason::Filtered,
    ];
    const DEFAULT_LIMIT: Limit = Limit::of_bytes(MOST_BYTES);
    const QUEUES: Queues = Queues::Hashed;
    const COMPLEXITY: &'static str = "O(1)";
    const PRIORITY: Priority = Priority::CodePoint;
    type Scheduler<T: Send> = Cake<T>;
    type ByHandle = Cake<Handle, Links<Age>>;

    fn reads_seed(&self) -> bool {
        true
    }

    fn priority(&self) -> Priority {
        match self.tins {
            Tins::BestEffort => Priority::Unread,
            _ => Priority::CodePoint,
        }
    }

    fn reads_hosts(&self) -> bool {
        self.isolation.reads_hosts()
    }

    fn reads_acknowledgements(&self) -> bool {
        self.acks != AckFilter::Off
    }

    fn configuration<T: Send>(scheduler: &mut Cake<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    /// Four round trips at the rate, within limits.
    fn default_limit(&self) -> Limit {
        let Some(rate) = self.bandwidth else {
            return Self::DEFAULT_LIMIT;
        };
        let bits = u128::from(rate.bits_per_second()) * u128::from(self.rtt.as_nanos() / 1000);
        let bytes = (bits * 4 / 8 / 1_000_000).min(MOST_BYTES.into()) as u64;
        Limit::of_bytes(bytes.max(LEAST_BYTES))
    }

    /// tc-cake(8)'s presets for round trips and link layers.
    fn set_word(&mut self, word: &str) -> Result<Option<&'static str>, ConfigError> {
        if word == "unlimited" {
            self.bandwidth = None;
            return Ok(Some("bandwidth"));
        }
        // What Linux does by default, and packets here are.
        if word == "split-gso" {
            return Ok(Some("split-gso"));
        }
        // A word of tc that sends nothing to the kernel.
        if word == "via-ethernet" {
            return Ok(Some("via-ethernet"));
        }
        // tc's other name.
        if word == "diffserv" {
            self.tins = Tins::Diffserv4;
            return Ok(Some("tins"));
        }
        for (refused, expected) in REFUSED {
            if refused == word {
                return Err(ConfigError::BadValue {
                    discipline: Self::NAME,
                    parameter: word.into(),
                    value: None,
                    expected: expected.into(),
                });
            }
        }
        for (name, micros) in RTTS {
            if name == word {
                self.rtt = Duration::from_micros(micros);
                return Ok(Some("rtt"));
            }
        }
        let Ok(layer) = word.parse::<LinkLayer>() else {
            return Ok(None);
        };
        // Keywords add up, as in tc: a VLAN tag to the link's header.
        self.overhead += layer.overhead.unsigned_abs();
        if word == "ether-vlan" {
            return Ok(Some("ether-vlan"));
        }
        self.mpu = layer.mpu;
        self.framing = layer.framing;
        Ok(Some("link"))
    }
}

/// Words of tc-cake(8) that have no meaning here, with what to write instead and why.
const REFUSED: [(&str, &str); 3] = [
    (
        "autorate-ingress",
        "bandwidth RATE, because its estimate follows the kernel's timers and the spacing of \
         arrivals at one machine",
    ),
    (
        "no-split-gso",
        "split-gso, because packets here are those of the wire; `compare --mtu none` keeps frames \
         that an interface merged",
    ),
    (
        "fwmark",
        "diffserv3, diffserv4 or diffserv8, because packets here have code points but no marks of \
         a firewall",
    ),
];

/// Presets of round trips, in microseconds: tc-cake(8), "Round trip time parameters".
const RTTS: [(&str, u64); 8] = [
    ("datacentre", 100),
    ("lan", 1_000),
    ("metro", 10_000),
    ("regional", 30_000),
    ("internet", 100_000),
    ("oceanic", 300_000),
    ("satellite", 1_000_000),
    ("interplanetary", 3_600_000_000),
];

impl Config {
    /// What the link makes of lengths.
    const fn layer(&self) -> LinkLayer {
        let is_raw = self.raw || self.overhead == 0;
        let header = if is_raw { 0 } else { self.header as i32 };
        LinkLayer {
            raw: is_raw,
            overhead: self.overhead as i32 - header,
            mpu: self.mpu,
            framing: self.framing,
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Cake<T, P: Storage<T> = Nodes<T>> {
    pool: Pool<T, P>,
    tins: Vec<Tin>,
    /// The tin whose turn it is, on an unlimited link.
    turn: usize,
    shaper: Shaper,
    layer: LinkLayer,
    hasher: Hasher,
    /// None without a filter.
    acks: Option<Box<Acks>>,
    random: Random,
    overflow: Overflow,
    /// Dropped packets, not yet taken by the caller.
    dropped: VecDeque<(P::Leaving, DropReason)>,
    /// Time of the last call, for push-outs.
    now: Instant,
    config: Config,
}

impl<T, P: Storage<T>> Configured<Config> for Cake<T, P> {
    fn configured(config: Config, seed: Seed) -> Result<Self, ConfigError> {
        let parts = config.tins.parts(config.bandwidth);
        let mut tins = Vec::with_capacity(parts.len());
        for part in parts {
            tins.push(Tin::new(
                part,
                config.rtt,
                roots(config.kernel),
                config.isolation,
            ));
        }
        Ok(Self {
            pool: Pool::empty(),
            tins,
            turn: 0,
            shaper: Shaper::new(config.bandwidth),
            layer: config.layer(),
            hasher: Hasher::new(config.isolation, seed),
            acks: Acks::new(config.acks).map(Box::new),
            random: Random::new(seed),
            overflow: Overflow::default(),
            dropped: VecDeque::new(),
            now: Instant::ZERO,
            config,
        })
    }
}

impl<T, P: Storage<T>> Cake<T, P> {
    fn enqueue_packet(&mut self, packet: Packet<T>, now: Instant) {
        let number = self.config.tins.tin_of(packet.priority);
        let tin = &mut self.tins[number];
        let bucket = tin.bucket(self.hasher.of(packet.flow));
        if tin.packets == 0 {
            tin.schedule.start(now);
        }
        if self.pool.backlog().is_empty() {
            self.shaper.start(now);
        }
        let priority = if self.config.wash { 0 } else { packet.priority };
        let flow = packet.flow;
        self.pool
            .push(&mut tin.flows[bucket].queue, Packet { priority, ..packet });
        tin.arrived(bucket, &mut self.random);
        if let Some(acks) = &mut self.acks {
            let queue = &mut tin.flows[bucket].queue;
            acks.arrived(flow, Some(queue.tail));
            if let Some(slot) = acks.redundant(&self.pool, queue) {
                self.drop_redundant(number, bucket, slot, now);
            }
        }
        let size = self.tins[number].flows[bucket].queue.size();
        self.overflow.grew(number, bucket, size);
    }

    /// Drops the acknowledgement that the packet which has just come makes redundant.
    fn drop_redundant(&mut self, number: usize, bucket: usize, slot: u32, now: Instant) {
        let tin = &mut self.tins[number];
        let queue = &mut tin.flows[bucket].queue;
        let Some((packet, len)) = self.pool.remove(queue, slot) else {
            return;
        };
        tin.packets -= 1;
        self.dropped.push_back((packet, DropReason::Filtered));
        if self.config.ingress {
            let len = self.layer.len_on_link(len);
            tin.schedule.advance(len, now);
            self.shaper.advance(len, false);
        }
    }

    fn dequeue_packet(&mut self, now: Instant) -> Option<P::Leaving> {
        let mut if_decaying = true;
        loop {
            // Drops that count as sent may have stopped the link, or emptied the queue.
            if self.pool.backlog().is_empty() || self.shaper.ready_at().is_some_and(|at| at > now) {
                return None;
            }
            let number = self.choose_tin(now);
            while let Some(bucket) = self.tins[number].first(if_decaying) {
                if_decaying = false;
                if self.tins[number].ends_turn(bucket, &mut self.random) {
                    continue;
                }
                match self.pull(number, bucket, now) {
                    Pulled::Packet(packet) => return Some(packet),
                    Pulled::Charged => {}
                    Pulled::Empty => break,
                }
            }
            // A handle that its owner has queued twice breaks its queue: what is counted behind it
            // cannot be reached.
            if !self.tins.iter().any(Tin::has_flows) {
                return None;
            }
        }
    }

    /// The tin to serve. Some tin has packets.
    fn choose_tin(&mut self, now: Instant) -> usize {
        if self.shaper.rate.is_none() {
            return self.next_turn();
        }
        // The last one that is due, else the one that is due first.
        let mut chosen = 0;
        let mut earliest = Instant::MAX;
        for (number, tin) in self.tins.iter().enumerate() {
            let next = tin.schedule.next;
            if tin.has_flows() && (next <= now || next <= earliest) {
                chosen = number;
                earliest = next;
            }
        }
        chosen
    }

    /// Deficit round robin over the tins.
    fn next_turn(&mut self) -> usize {
        loop {
            let tin = &mut self.tins[self.turn];
            if tin.deficit >= 0 && tin.has_flows() {
                return self.turn;
            }
            if tin.deficit <= 0 {
                tin.deficit += i64::from(tin.turn);
            }
            self.turn = (self.turn + 1) % self.tins.len();
            if self.turn == 0 && !self.tins.iter().any(Tin::has_flows) {
                return self.turn;
            }
        }
    }

    /// A queue's next packet, past COBALT's drops. A queue's last packet is never dropped.
    fn pull(&mut self, number: usize, bucket: usize, now: Instant) -> Pulled<P::Leaving> {
        let tin = &mut self.tins[number];
        let rivals = if self.config.ingress {
            tin.bulk_flows()
        } else {
            0
        };
        loop {
            let flow = &mut tin.flows[bucket];
            let Some(age) = self.pool.head_age(&flow.queue) else {
                tin.found_empty(bucket, now);
                return Pulled::Empty;
            };
            let len = self.layer.len_on_link(flow.queue.head_len());
            let Some(mut packet) = self.pool.pop(&mut flow.queue) else {
                return Pulled::Empty;
            };
            tin.packets -= 1;
            self.overflow.shrank(number, bucket, flow.queue.size());
            let judged = Judged {
                sojourn: now.since(age.arrival),
                takes_marks: age.ecn != Ecn::NotCapable,
                rivals,
            };
            let draw = || (self.random.next() >> 32) as u32;
            let verdict = flow.cobalt.judge(&tin.settings, now, judged, draw);
            if verdict == Verdict::Drop && !flow.queue.is_empty() {
                self.dropped.push_back((packet, DropReason::Early));
                if self.config.ingress {
                    tin.charge(bucket, len, now);
                    self.shaper.advance(len, false);
                    return Pulled::Charged;
                }
                continue;
            }
            if verdict == Verdict::Mark && age.ecn == Ecn::Capable {
                packet.mark();
            }
            tin.charge(bucket, len, now);
            self.shaper.advance(len, true);
            self.overflow.sent();
            return Pulled::Packet(packet);
        }
    }
}

/// What a queue gave.
enum Pulled<L> {
    Packet(L),
    /// A drop that counts as sent, so the queue's turn may be over.
    Charged,
    Empty,
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for Cake<T, P> {
    /// Sets the packet's arrival time for COBALT.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        let has_room = if packet.len > LONGEST_PACKET {
            Err(Refusal::TooLong {
                most: LONGEST_PACKET,
            })
        } else {
            self.pool.make_room_for(&packet)
        };
        if let Err(reason) = has_room {
            if let Some(acks) = &mut self.acks {
                acks.arrived(packet.flow, None);
            }
            return Err(packet.refused(reason));
        }
        self.now = now;
        let arrival = now;
        self.enqueue_packet(Packet { arrival, ..packet }, now);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<P::Leaving> {
        self.now = now;
        self.dequeue_packet(now)
    }

    /// The head of the longest queue, whose BLUE then drops more.
    fn evict(&mut self) -> Option<P::Leaving> {
        let flows = self.tins.iter().flat_map(|tin| &tin.flows);
        let sizes = flows.map(|flow| flow.queue.size());
        let (number, bucket) = self.overflow.find(self.config.linux, sizes)?;
        let tin = &mut self.tins[number];
        let flow = &mut tin.flows[bucket];
        flow.cobalt.overflowed(&tin.settings, self.now);
        let len = self.layer.len_on_link(flow.queue.head_len());
        let packet = self.pool.pop(&mut flow.queue)?;
        tin.packets -= 1;
        self.overflow.shrank(number, bucket, flow.queue.size());
        if self.config.ingress {
            tin.schedule.advance(len, self.now);
            self.shaper.advance(len, false);
        }
        Some(packet)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn ready_at(&self) -> Option<Instant> {
        if self.pool.backlog().is_empty() {
            return None;
        }
        self.shaper.ready_at()
    }

    fn take_dropped(&mut self) -> Option<(P::Leaving, DropReason)> {
        self.dropped.pop_front()
    }
}

impl<T, P: Storage<T>> Control for Cake<T, P> {
    fn set_hosts(&mut self, flow: FlowId, hosts: Hosts) -> Result<(), ConfigError> {
        self.hasher.set_hosts(Config::NAME, flow, hosts)
    }

    fn set_acknowledgement(&mut self, flow: FlowId, acknowledgement: Option<&Acknowledgement>) {
        if let Some(acks) = &mut self.acks {
            acks.announce(flow, acknowledgement);
        }
    }

    /// The flow's first choice of a queue, in each tin. While other flows have this one, the flow
    /// has another from the same set of eight.
    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        let own = self.hasher.of(flow).queue as usize % BUCKETS;
        let is_blind = self.config.isolation == Isolation::Flowblind;
        alloc::vec![if is_blind { 0 } else { own }]
    }

    /// Tins with their queues and hosts and, from the first full buffer on, the index for the
    /// longest queue. Hosts of flows are not counted.
    fn footprint(&self) -> Footprint {
        let tins = self.tins.len() * (size_of::<Tin>() + Tin::BYTES);
        let overflow = Overflow::bytes(self.config.linux, self.tins.len());
        Footprint {
            fixed_bytes: size_of::<Self>() + tins + overflow,
            bytes_per_flow: 0,
        }
    }

    /// 1 to 4 in `tin.rs`.
    /// 5. All packets of the pool are in queues.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        let mut packets = 0;
        for tin in &self.tins {
            tin.check();
            packets += u64::from(tin.packets);
            for flow in &tin.flows {
                self.pool.check_queue(&flow.queue);
            }
        }
        assert_eq!(
            packets,
            self.pool.backlog().packets,
            "invariant 5: the pool's packets are in queues"
        );
    }
}
