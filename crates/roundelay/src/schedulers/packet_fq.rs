//! Packet FQ: fair queueing by packets. Flows are hashed into bins, which are served round robin
//! with one packet a turn, new bins first.
//!
//! This is FQ-CoDel without CoDel and without byte counts. A bin that was idle is new and goes
//! before all old bins. After a packet the bin is old. An old bin becomes idle only in a turn
//! without a packet, so a short silence gains nothing. It is fair in packets, so a flow with longer
//! packets gets more of the link.
//!
//! Source: R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, sections 2.3, 3.3 and 4,
//! where FQ is a stochastic fair queue with new flows first. Round robin: J. Nagle, "On Packet
//! Switches with Infinite Storage", RFC 970, 1985. Rule for emptied bins: RFC 8290, section 4.2.
//!
//! | paper | here |
//! |---|---|
//! | flow (hash of addresses and ports) | `Bin`, by a keyed hash of [`Packet::flow`] |
//! | new flows, old flows | `new_bins`, `old_bins` |
//!
//! | guarantee | value | test in `theorems/packet_fq.rs` |
//! |---|---|---|
//! | two bins backlogged throughout | service differs by at most 1 packet | `backlogged_bins_share_evenly` |
//! | on-off flow among n, packets of one length | of T packets at most T / n + 2 | `known_bug_30_on_off_flow_gets_its_share` |
//! | first packet of an idle flow | waits for one packet of each bin already new | `idle_flows_go_first` |
//! | order | packets of a flow leave in order of arrival | conformance |
//! | push-out | the newest packet of the bin with the most bytes | `the_longest_bin_gives_up_its_newest` |
//!
//! Reason for the first: a backlogged bin stays in the lists. Its turn as a new bin puts it behind
//! all old bins. From then on the order of the old bins does not change, so two bins' turns
//! alternate.
//!
//! As a tree's class, FQ has a bin for each child, by number and not by hash, so children never
//! collide. They send a packet each in turn (the two classes in section 3.4 of the paper). A
//! child's placeholder packet takes no turn.
//!
//! Cost: O(1) a packet. Memory: the bins, allocated at the start for any number of flows. As a
//! class, one bin for each child.
//!
//! Differences from the paper: the hash has a key from the seed, so that outsiders who do not know
//! the seed cannot choose colliding flows.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::author::{
    Backlog, ConfigError, Configured, Control, Discipline, DropReason, FlowId, Footprint, Handle,
    Instant, Links, Linux, Nodes, Packet, Parameter, Pool, Queue, Queues, Reads, Refusal, Refused,
    Scheduler, Seed, Storage,
};
use crate::mechanisms::hash::FlowHash;
use crate::mechanisms::longest::Longest;

/// Parameters of packet FQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Number of bins: 1 to 65536.
    pub flows: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { flows: 1024 }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "packet_fq";
    const ABOUT: &'static str =
        "fair queueing by packets: flows hashed into bins, bins in turn, new ones first";
    const SOURCE: &'static str = "Mittal, Agarwal, Ratnasamy, Shenker, Universal Packet Scheduling, NSDI 2016; RFC 970; RFC 8290";
    const LINUX: Linux = Linux::Absent;
    const PARAMETERS: &'static [Parameter<Self>] = &[Parameter::count(
        "flows",
        1..=1 << 16,
        "number of bins for flows",
        |config| &mut config.flows,
    )];
    const INTERIOR: bool = true;
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::PushedOut];
    const QUEUES: Queues = Queues::Hashed;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = PacketFq<T>;
    type ByHandle = PacketFq<Handle, Links<FlowId>>;

    fn reads_seed(&self) -> bool {
        true
    }

    fn build_class<T: Send>(&self, _seed: Seed) -> Result<PacketFq<T>, ConfigError> {
        PacketFq::of_children(*self)
    }

    fn configuration<T: Send>(scheduler: &mut PacketFq<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct PacketFq<T, P = Nodes<T>> {
    pool: Pool<T, P>,
    bins: Vec<Bin>,
    new_bins: VecDeque<u32>,
    old_bins: VecDeque<u32>,
    longest: Longest,
    /// None: a flow's bin is the flow's number.
    hash: Option<FlowHash>,
    config: Config,
}

#[derive(Debug, Clone, Default)]
struct Bin {
    queue: Queue,
    /// The bin is in a list, so it is not idle, but it may be empty.
    is_listed: bool,
}

impl<T> PacketFq<T> {
    /// An empty scheduler for a tree's class, with a bin for each child, regardless of `flows`.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn of_children(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let new_bins = VecDeque::new();
        let old_bins = VecDeque::new();
        Ok(Self {
            pool: Pool::empty(),
            bins: Vec::new(),
            new_bins,
            old_bins,
            longest: Longest::default(),
            hash: None,
            config,
        })
    }
}

impl<T, P: Storage<T>> Configured<Config> for PacketFq<T, P> {
    fn configured(config: Config, seed: Seed) -> Result<Self, ConfigError> {
        let bins = config.flows as usize;
        Ok(Self {
            pool: Pool::empty(),
            bins: alloc::vec![Bin::default(); bins],
            new_bins: VecDeque::with_capacity(bins),
            old_bins: VecDeque::with_capacity(bins),
            longest: Longest::default(),
            hash: Some(FlowHash::new(seed, 0)),
            config,
        })
    }
}

impl<T, P: Storage<T>> PacketFq<T, P> {
    fn bin(&self, flow: FlowId) -> u32 {
        match &self.hash {
            Some(hash) => hash.bucket(flow, self.config.flows),
            None => flow.0,
        }
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

    /// The next packet with flow and length.
    #[inline]
    fn dequeue_packet(&mut self) -> Option<(P::Leaving, Option<FlowId>, u32)> {
        loop {
            let was_new = !self.new_bins.is_empty();
            let number = if was_new {
                self.new_bins.pop_front()?
            } else {
                self.old_bins.pop_front()?
            };
            let bin = &mut self.bins[number as usize];
            let flow = self.pool.head_flow(&bin.queue);
            let len = bin.queue.head_len();
            let packet = self.pool.pop(&mut bin.queue);
            if packet.is_some() || was_new {
                // Also when empty now, because the bin must not come back as a new one.
                self.old_bins.push_back(number);
            } else {
                bin.is_listed = false;
            }
            if let Some(packet) = packet {
                self.longest.changed(number as usize, bin.queue.size());
                return Some((packet, flow, len));
            }
        }
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for PacketFq<T, P> {
    /// Refuses children beyond [`FlowId::LARGEST_TABLED`].
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        if self.hash.is_none() && packet.flow > FlowId::LARGEST_TABLED {
            return Err(packet.refused(Refusal::FlowNumber));
        }
        if let Err(reason) = self.pool.make_room_for(&packet) {
            return Err(packet.refused(reason));
        }
        self.enqueue_packet(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<P::Leaving> {
        let (packet, ..) = self.dequeue_packet()?;
        Some(packet)
    }

    /// A packet without length is a child's placeholder, so the bin keeps the turn.
    fn dequeue_refilled(
        &mut self,
        _now: Instant,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<P::Leaving> {
        let (packet, flow, len) = self.dequeue_packet()?;
        if let Some(next) = flow.and_then(refill) {
            assert!(
                self.pool.make_room_for(&next).is_ok(),
                "a refilled packet fits"
            );
            self.enqueue_packet(next);
        }
        if len == 0 && self.hash.is_none() {
            // The bin went behind all others when the packet left.
            self.old_bins.rotate_right(1);
        }
        Some(packet)
    }

    /// The tail of the longest bin.
    fn evict(&mut self) -> Option<P::Leaving> {
        let number = self
            .longest
            .find(self.bins.iter().map(|bin| bin.queue.size()))?;
        let bin = &mut self.bins[number];
        let packet = self.pool.pop_tail(&mut bin.queue);
        self.longest.changed(number, bin.queue.size());
        packet
    }

    /// As a class only, with a bin for each flow.
    fn evict_flow(&mut self, flow: FlowId) -> Option<P::Leaving> {
        if self.hash.is_some() {
            return None;
        }
        let bin = self.bins.get_mut(flow.index())?;
        let packet = self.pool.pop_tail(&mut bin.queue);
        self.longest.changed(flow.index(), bin.queue.size());
        packet
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    /// Bins without packets before it lose their turns, as in a dequeue.
    fn turn(&mut self, _now: Instant) -> Option<FlowId> {
        loop {
            let was_new = !self.new_bins.is_empty();
            let list = if was_new {
                &mut self.new_bins
            } else {
                &mut self.old_bins
            };
            let number = *list.front()?;
            let bin = &mut self.bins[number as usize];
            if !bin.queue.is_empty() {
                return Some(FlowId(number));
            }
            list.pop_front();
            if was_new {
                self.old_bins.push_back(number);
            } else {
                bin.is_listed = false;
            }
        }
    }

    fn set_len(&mut self, flow: FlowId, len: u32) {
        if let Some(bin) = self.bins.get_mut(flow.index()) {
            self.pool.set_head_len(&mut bin.queue, len);
            self.longest.changed(flow.index(), bin.queue.size());
        }
    }
}

impl<T, P: Storage<T>> Control for PacketFq<T, P> {
    /// As a class only, with a bin for each flow.
    fn names_turns(&self) -> bool {
        self.hash.is_none()
    }

    fn reads(&self, _flow: FlowId) -> Reads {
        Reads::WhenSent
    }

    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        alloc::vec![self.bin(flow) as usize]
    }

    /// The bins, their slots in both lists and, from the first full buffer on, the index for the
    /// longest bin.
    fn footprint(&self) -> Footprint {
        let bytes_per_bin = size_of::<Bin>() + 2 * size_of::<u32>() + Longest::BYTES_PER_QUEUE;
        Footprint {
            fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES + self.bins.len() * bytes_per_bin,
            bytes_per_flow: 0,
        }
    }

    /// 1. A bin marked as listed is in one list, once. Other bins are in none. Bins with packets
    ///    are listed.
    /// 2. A packet is in the bin that the flow's hash, or its number, gives.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        let mut entries = alloc::vec![0; self.bins.len()];
        for list in [&self.new_bins, &self.old_bins] {
            for number in list {
                entries[*number as usize] += 1;
            }
        }
        let mut bytes = 0;
        for (number, bin) in self.bins.iter().enumerate() {
            bytes += bin.queue.bytes();
            assert_eq!(
                entries[number],
                usize::from(bin.is_listed),
                "invariant 1: in one list, once"
            );
            assert!(
                bin.is_listed || bin.queue.is_empty(),
                "invariant 1: a backlogged bin is in a list"
            );
            if let Some(flow) = self.pool.head_flow(&bin.queue) {
                let home = self.bin(flow) as usize;
                assert_eq!(
                    home, number,
                    "invariant 2: a packet is where its flow hashes to"
                );
            }
            self.pool.check_queue(&bin.queue);
        }
        assert_eq!(bytes, self.pool.backlog().bytes, "bins' backlogs add up");
    }
}
