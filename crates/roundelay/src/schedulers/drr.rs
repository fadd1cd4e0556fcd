//! Deficit round robin: each backlogged flow in turn sends a quantum of bytes, and what is left of it counts in its next turn.
//!
//! Backlogged flows stand in a ring. A flow at the front is credited with its quantum, sends while its credit (the deficit counter)
//! covers the head packet, and goes to the back with what is left; a flow that empties leaves and forfeits it. Cheap, and fair in the
//! long run; but between two turns of a flow all others have theirs, so delay grows with the number of flows.
//!
//! Source: M. Shreedhar, G. Varghese, "Efficient Fair Queueing Using Deficit Round-Robin", IEEE/ACM ToN 4(3), 1996; parameters as in
//! tc-drr(8).
//!
//! | paper | here |
//! |---|---|
//! | Q_i, quantum | `Flow::quantum` = weight x `Config::quantum` |
//! | DC_i, deficit counter | `Flow::deficit` |
//! | active list | `ring` |
//! | F, frame: sum of all Q_i | `Share::total_weight` x `Config::quantum` |
//!
//! | guarantee | value | test in `theorems/drr.rs` |
//! |---|---|---|
//! | Lemma 2 | in m turns a flow sends m Q_i to within one packet | `turns_send_their_quanta` |
//! | B-WFI, for flows that stay within their longest packet | (1 - phi)(Q_k + L_k) + (N - 1) phi L | `b_wfi_stays_within_the_bound` |
//!
//! The last follows from Lemma 2: in an interval with m whole turns of flow k, every other flow has at most m + 1, and phi = Q_k / F.
//! No T-WFI: it would be O(N L) as well.
//!
//! Cost: O(1) a packet if the quantum is at least the longest packet. With smaller quanta a packet may take several rounds; rounds in
//! which nobody could send are not walked one by one but counted (`skip_rounds`), so that one packet costs at most two rounds.
//! Memory: one record a flow, see `footprint`.
//!
//! Differences from the paper: weights multiply the quantum. A flow whose last packet was pushed out keeps its place in the ring until
//! its turn, without credit, so that leaving needs no search; if the turn was its own, that is over.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::{ConfigError, Kind, Parameter, saturated};
use crate::guarantees::{Bound, Guarantees, Share};
use crate::longest::Longest;
use crate::packet::{FlowId, Packet};
use crate::pool::{Backlog, Pool, Queue};
use crate::scheduler::{FlowConfig, Footprint, Scheduler, is_time_to_check};
use crate::schedulers::Discipline;
use crate::time::Instant;

/// Parameters of DRR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Bytes that a flow of weight 1 may send in a turn: 1 to 2^20.
    pub quantum: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { quantum: 1514 }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "drr";
    const ABOUT: &'static str = "deficit round robin: a quantum of bytes for each flow in turn";
    const SOURCE: &'static str = "Shreedhar, Varghese, Efficient Fair Queueing Using Deficit Round-Robin, IEEE/ACM ToN 4(3), 1996";
    const PARAMETERS: &'static [Parameter<Self>] = &[Parameter {
        name: "quantum",
        kind: Kind::Size,
        min: 1,
        max: 1 << 20,
        about: "bytes that a flow of weight 1 may send in a turn; at least the longest packet keeps the cost constant",
        read: |config| config.quantum.into(),
        write: |config, value| config.quantum = saturated(value),
    }];
    const LIVE: &'static [&'static str] = &["quantum"];
    const WEIGHTED: bool = true;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Drr<T>;

    fn build<T: Send>(&self, _seed: u64) -> Result<Drr<T>, ConfigError> {
        Drr::new(*self)
    }

    fn configuration<T: Send>(scheduler: &mut Drr<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    fn adopt<T: Send>(scheduler: &mut Drr<T>, before: &Self) {
        for flow in &mut scheduler.flows {
            flow.quantum = flow.quantum / before.quantum * scheduler.config.quantum;
        }
    }

    fn guarantees(&self, share: &Share) -> Guarantees {
        let turn = u64::from(self.quantum) * u64::from(share.weight) + u64::from(share.max_packet_len);
        let others = u64::from(share.link_max_packet_len) * share.flows.saturating_sub(1);
        let value = turn - share.of(turn).saturating_sub(1).min(turn) + share.of(others);
        let source = "from Shreedhar and Varghese 1996, Lemma 2: (1 - phi)(Q_k + L_k) + (N - 1) phi L";
        Guarantees { b_wfi: Some(Bound { value, source }), ..Guarantees::default() }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Drr<T> {
    pool: Pool<T>,
    flows: Vec<Flow>,
    /// Flows that wait for their turn; the front one has it.
    ring: VecDeque<u32>,
    /// Turns since a packet was last sent that sent nothing.
    fruitless_turns: usize,
    longest: Longest,
    config: Config,
}

#[derive(Debug, Clone)]
struct Flow {
    queue: Queue,
    /// Bytes that it may still send in this turn, or carries to its next.
    deficit: u64,
    quantum: u32,
    in_ring: bool,
    /// It was removed and loses its quantum with its last packet.
    leaves: bool,
}

impl<T> Drr<T> {
    /// # Errors
    /// A parameter is out of its range.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let (pool, flows, ring) = (Pool::default(), Vec::new(), VecDeque::new());
        Ok(Self { pool, flows, ring, fruitless_turns: 0, longest: Longest::default(), config })
    }

    fn flow_mut(&mut self, flow: usize) -> &mut Flow {
        if flow >= self.flows.len() {
            let quantum = self.config.quantum;
            self.flows.resize_with(flow + 1, || Flow { queue: Queue::default(), deficit: 0, quantum, in_ring: false, leaves: false });
        }
        &mut self.flows[flow]
    }

    fn enqueue_packet(&mut self, packet: Packet<T>) {
        let number = packet.flow.index();
        self.flow_mut(number);
        let flow = &mut self.flows[number];
        if flow.queue.is_empty() {
            flow.deficit = flow.quantum.into();
            if !flow.in_ring {
                flow.in_ring = true;
                self.ring.push_back(packet.flow.0);
            }
        }
        self.pool.push(&mut flow.queue, packet);
        self.longest.changed(number, flow.queue.size());
    }

    fn dequeue_packet(&mut self) -> Option<Packet<T>> {
        loop {
            let number = *self.ring.front()? as usize;
            let flow = &mut self.flows[number];
            let Some(head) = self.pool.head(&flow.queue) else {
                flow.in_ring = false;
                self.ring.pop_front();
                continue;
            };
            if u64::from(head.len) <= flow.deficit {
                return self.send(number);
            }
            flow.deficit += u64::from(flow.quantum);
            self.ring.rotate_left(1);
            self.fruitless_turns += 1;
            if self.fruitless_turns > self.ring.len() {
                self.skip_rounds();
            }
        }
    }

    fn send(&mut self, number: usize) -> Option<Packet<T>> {
        let flow = &mut self.flows[number];
        let packet = self.pool.pop(&mut flow.queue)?;
        flow.deficit -= u64::from(packet.len);
        if flow.queue.is_empty() {
            self.end_backlog(number);
        }
        self.longest.changed(number, self.flows[number].queue.size());
        self.fruitless_turns = 0;
        Some(packet)
    }

    /// The flow has lost its last packet: it forfeits its credit, and its turn if it has it. Coming back it must not find the turn open and
    /// the credit new.
    fn end_backlog(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        flow.deficit = 0;
        if self.ring.front() == Some(&(number as u32)) {
            flow.in_ring = false;
            self.ring.pop_front();
        }
        if flow.leaves {
            flow.leaves = false;
            flow.quantum = self.config.quantum;
        }
    }

    /// A whole round went by and nobody could send: credits all flows with the rounds that would go by like that, at once.
    fn skip_rounds(&mut self) {
        self.fruitless_turns = 0;
        let rounds_short = |&number: &u32| {
            let flow = &self.flows[number as usize];
            let short = u64::from(self.pool.head(&flow.queue)?.len).saturating_sub(flow.deficit);
            Some(short.div_ceil(flow.quantum.into()))
        };
        let rounds = self.ring.iter().filter_map(rounds_short).min().unwrap_or(0).saturating_sub(1);
        for &number in &self.ring {
            let flow = &mut self.flows[number as usize];
            flow.deficit += if flow.queue.is_empty() { 0 } else { rounds * u64::from(flow.quantum) };
        }
    }
}

impl<T> Scheduler<T> for Drr<T> {
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        if !packet.flow.fits_a_table() {
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

    /// The tail of the longest backlog.
    fn evict(&mut self) -> Option<Packet<T>> {
        let number = self.longest.find(self.flows.iter().map(|flow| flow.queue.size()))?;
        let flow = &mut self.flows[number];
        let packet = self.pool.pop_tail(&mut flow.queue);
        if flow.queue.is_empty() {
            self.end_backlog(number);
        }
        self.longest.changed(number, self.flows[number].queue.size());
        self.debug_check();
        packet
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(Config::NAME, flow)?;
        let quantum = self.config.quantum * config.weight;
        let flow = self.flow_mut(flow.index());
        flow.quantum = quantum;
        flow.leaves = false;
        self.debug_check();
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        let Some(record) = self.flows.get_mut(flow.index()) else { return };
        record.leaves = true;
        if record.queue.is_empty() {
            record.leaves = false;
            record.quantum = self.config.quantum;
        }
    }

    fn footprint(&self) -> Footprint {
        let bytes_per_flow = size_of::<Flow>() + size_of::<u32>() + Longest::BYTES_PER_QUEUE;
        Footprint { fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES, bytes_per_flow }
    }

    /// 1. A flow is in the ring exactly once if it is marked so, and it is if it has packets.
    /// 2. An idle flow carries nothing.
    fn check_invariants(&self) {
        let mut places = alloc::vec![0; self.flows.len()];
        self.ring.iter().for_each(|number| places[*number as usize] += 1);
        for (flow, places) in self.flows.iter().zip(places) {
            assert_eq!(places, usize::from(flow.in_ring), "invariant 1: in the ring once");
            assert!(flow.in_ring || flow.queue.is_empty(), "invariant 1: a backlogged flow is in the ring");
            assert!(!flow.queue.is_empty() || flow.deficit == 0, "invariant 2: an idle flow carries nothing");
            self.pool.check_queue(&flow.queue);
        }
        let bytes: u64 = self.flows.iter().map(|flow| flow.queue.bytes()).sum();
        assert_eq!(bytes, self.pool.backlog().bytes, "flows' backlogs add up");
    }
}

impl<T> Drr<T> {
    #[inline]
    fn debug_check(&self) {
        if is_time_to_check(self.flows.len(), self.pool.backlog()) {
            self.check_invariants();
        }
    }
}
