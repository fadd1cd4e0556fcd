//! Fair queueing, packet by packet: flows hashed into bins, bins served in turn, a packet each, those that were idle first.
//!
//! What FQ-CoDel is without CoDel and without byte counts. A bin that was idle is new and has its turn before those that are not; after a
//! packet it is old. It is idle again only when its turn comes and finds it empty, so that falling silent for a moment and coming back
//! gains nothing. Fair in packets: where lengths differ, a flow of long packets gets more of the link.
//!
//! Source: R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, sections 2.3, 3.3 and 4, whose FQ is a stochastic fair queue with
//! new flows first; the round robin is that of J. Nagle, "On Packet Switches with Infinite Storage", RFC 970, 1985, and the rule for bins
//! that empty is that of RFC 8290, section 4.2.
//!
//! | paper | here |
//! |---|---|
//! | flow (hash of addresses and ports) | `Bin`, by a keyed hash of [`Packet::flow`] |
//! | new flows, old flows | `new_bins`, `old_bins` |
//!
//! | guarantee | value | test in `theorems/fq.rs` |
//! |---|---|---|
//! | two bins that have packets throughout | served alike but for 1 packet | `backlogged_bins_share_evenly` |
//! | on-off flow among n, packets of one length | of T packets at most T / n + 2 | `known_bug_30_on_off_flow_gets_its_share` |
//! | first packet of an idle flow | waits for one packet of each bin that is new by then | `idle_flows_go_first` |
//! | order | a flow's packets leave as they came | conformance |
//! | push-out | the newest packet of the bin with the most bytes | `the_longest_bin_gives_up_its_newest` |
//!
//! The first: a bin that has packets stays in the lists. Its turn as a new one puts it behind all old ones, and from then on the old ones
//! follow each other in an order that does not change, so that of two bins neither has two turns between two of the other.
//!
//! As a class of a tree it has a bin for each child, by its number and not by a hash, so that children never meet: round robin, a packet of each
//! child in turn (section 3.4 of the paper has two classes served so). A place that is held for a child takes no turn.
//!
//! Cost: O(1) a packet. Memory: the bins, taken at the start, however many flows there are; as a class one a child.
//!
//! Differences from the paper: the hash has a key, so that nobody can choose flows that meet.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::{ConfigError, Kind, Parameter, saturated};
use crate::mechanisms::hash::FlowHash;
use crate::mechanisms::longest::Longest;
use crate::packet::{FlowId, Packet};
use crate::pool::{Backlog, Pool, Queue};
use crate::scheduler::{Footprint, Scheduler, is_time_to_check};
use crate::schedulers::Discipline;
use crate::time::Instant;

/// Parameters of FQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Bins that flows are hashed into: 1 to 65536.
    pub flows: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { flows: 1024 }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "fq";
    const ABOUT: &'static str = "fair queueing by packets: flows hashed into bins, bins in turn, new ones first";
    const SOURCE: &'static str = "Mittal, Agarwal, Ratnasamy, Shenker, Universal Packet Scheduling, NSDI 2016; RFC 970; RFC 8290";
    const PARAMETERS: &'static [Parameter<Self>] = &[Parameter {
        name: "flows",
        kind: Kind::Count,
        min: 1,
        max: 1 << 16,
        about: "bins that flows are hashed into",
        read: |config| config.flows.into(),
        write: |config, value| config.flows = saturated(value),
    }];
    const WEIGHTED: bool = false;
    const INTERIOR: bool = true;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Fq<T>;

    fn build<T: Send>(&self, seed: u64) -> Result<Fq<T>, ConfigError> {
        Fq::new(*self, seed)
    }

    fn build_class<T: Send>(&self, _seed: u64) -> Result<Fq<T>, ConfigError> {
        Fq::of_children(*self)
    }

    fn configuration<T: Send>(scheduler: &mut Fq<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Fq<T> {
    pool: Pool<T>,
    bins: Vec<Bin>,
    new_bins: VecDeque<u32>,
    old_bins: VecDeque<u32>,
    longest: Longest,
    /// None: each flow has the bin of its number.
    hash: Option<FlowHash>,
    config: Config,
}

#[derive(Debug, Clone, Default)]
struct Bin {
    queue: Queue,
    /// It is in one of the lists: not idle, though it may be empty.
    is_listed: bool,
}

impl<T> Fq<T> {
    /// A scheduler with nothing in it, its hash keyed by `seed`.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn new(config: Config, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let bins = config.flows as usize;
        Ok(Self {
            pool: Pool::default(),
            bins: alloc::vec![Bin::default(); bins],
            new_bins: VecDeque::with_capacity(bins),
            old_bins: VecDeque::with_capacity(bins),
            longest: Longest::default(),
            hash: Some(FlowHash::new(seed, 0)),
            config,
        })
    }

    /// The same for a class of a tree: a bin for each child, however many `flows` there are to be.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn of_children(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let (new_bins, old_bins) = (VecDeque::new(), VecDeque::new());
        Ok(Self { pool: Pool::default(), bins: Vec::new(), new_bins, old_bins, longest: Longest::default(), hash: None, config })
    }

    fn bin(&self, flow: FlowId) -> u32 {
        self.hash.as_ref().map_or(flow.0, |hash| hash.bucket(flow, self.config.flows))
    }

    fn enqueue_packet(&mut self, packet: Packet<T>) {
        let number = self.bin(packet.flow);
        if number as usize >= self.bins.len() {
            self.bins.resize(number as usize + 1, Bin::default());
        }
        let bin = &mut self.bins[number as usize];
        if !bin.is_listed {
            bin.is_listed = true;
            self.new_bins.push_back(number);
        }
        self.pool.push(&mut bin.queue, packet);
        self.longest.changed(number as usize, bin.queue.size());
    }

    fn dequeue_packet(&mut self) -> Option<Packet<T>> {
        loop {
            let was_new = !self.new_bins.is_empty();
            let number = self.new_bins.pop_front().or_else(|| self.old_bins.pop_front())?;
            let bin = &mut self.bins[number as usize];
            let packet = self.pool.pop(&mut bin.queue);
            if packet.is_some() || was_new {
                // Even if it is empty now, lest it come back as a new one.
                self.old_bins.push_back(number);
            } else {
                bin.is_listed = false;
            }
            if packet.is_some() {
                self.longest.changed(number as usize, bin.queue.size());
                return packet;
            }
        }
    }
}

impl<T> Scheduler<T> for Fq<T> {
    /// Refuses children beyond [`FlowId::LARGEST_TABLED`].
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        if self.hash.is_none() && packet.flow > FlowId::LARGEST_TABLED {
            return Err(packet);
        }
        self.enqueue_packet(packet);
        self.debug_check();
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<T>> {
        let packet = self.dequeue_packet();
        self.debug_check();
        packet
    }

    /// A packet without length holds the place of a child: the bin has its turn still.
    fn dequeue_refilled(&mut self, _now: Instant, refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>) -> Option<Packet<T>> {
        let packet = self.dequeue_packet()?;
        let next = refill(packet.flow);
        next.into_iter().for_each(|next| self.enqueue_packet(next));
        if packet.len == 0 && self.hash.is_none() {
            // It went behind all others as its packet left.
            self.old_bins.pop_back().into_iter().for_each(|bin| self.old_bins.push_front(bin));
        }
        self.debug_check();
        Some(packet)
    }

    /// The tail of the longest bin.
    fn evict(&mut self) -> Option<Packet<T>> {
        let number = self.longest.find(self.bins.iter().map(|bin| bin.queue.size()))?;
        let bin = &mut self.bins[number];
        let packet = self.pool.pop_tail(&mut bin.queue);
        self.longest.changed(number, bin.queue.size());
        self.debug_check();
        packet
    }

    /// As a class only, where a bin is a flow's own.
    fn evict_flow(&mut self, flow: FlowId) -> Option<Packet<T>> {
        let bin = self.bins.get_mut(flow.index()).filter(|_| self.hash.is_none())?;
        let packet = self.pool.pop_tail(&mut bin.queue);
        self.longest.changed(flow.index(), bin.queue.size());
        self.debug_check();
        packet
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        alloc::vec![self.bin(flow) as usize]
    }

    /// The bins, their places in both lists and, from the first time that the buffer is full, the index that finds the longest.
    fn footprint(&self) -> Footprint {
        let bytes_per_bin = size_of::<Bin>() + 2 * size_of::<u32>() + Longest::BYTES_PER_QUEUE;
        Footprint { fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES + self.bins.len() * bytes_per_bin, bytes_per_flow: 0 }
    }

    /// 1. A bin is in one list, once, if it is marked so, else in none; it is if it has packets.
    /// 2. A packet is in the bin that its flow hashes to, or that has its flow's number.
    fn check_invariants(&self) {
        let mut places = alloc::vec![0; self.bins.len()];
        self.new_bins.iter().chain(&self.old_bins).for_each(|number| places[*number as usize] += 1);
        for (number, (bin, places)) in self.bins.iter().zip(places).enumerate() {
            assert_eq!(places, usize::from(bin.is_listed), "invariant 1: in one list, once");
            assert!(bin.is_listed || bin.queue.is_empty(), "invariant 1: a backlogged bin is in a list");
            let home = self.pool.head(&bin.queue).map(|head| self.bin(head.flow));
            assert!(home.is_none_or(|home| home as usize == number), "invariant 2: a packet is where its flow hashes to");
            self.pool.check_queue(&bin.queue);
        }
        let bytes: u64 = self.bins.iter().map(|bin| bin.queue.bytes()).sum();
        assert_eq!(bytes, self.pool.backlog().bytes, "bins' backlogs add up");
    }
}

impl<T> Fq<T> {
    #[inline]
    fn debug_check(&self) {
        if is_time_to_check(self.bins.len() / 16, self.pool.backlog()) {
            self.check_invariants();
        }
    }
}
