//! SCFQ: self-clocked fair queueing; virtual time is the finish tag of the packet on the link.
//!
//! A packet's finish time is that of the flow's previous packet plus length over weight; the
//! smallest goes first. A newly backlogged flow starts from the finish time of the packet on the
//! link. This is the simplest possible clock, and keeps backlogged flows as close together as any
//! discipline can. But a clock that jumps from packet to packet runs ahead: a newly backlogged flow
//! may have to wait for a packet of every other flow.
//!
//! Source: S. J. Golestani, "A Self-Clocked Fair Queueing Scheme for Broadband Applications", INFOCOM 1994; delay: P. Goyal, S. Lam, H.
//! Vin, "Determining End-to-End Delay Bounds in Heterogeneous Networks", NOSSDAV 1995.
//!
//! | paper | here |
//! |---|---|
//! | v(t), finish tag of the packet in service | `Scfq::now` |
//! | F_k^i, of the head packet | `Flow::finish` |
//! | r_k, rate | weight over the sum of all weights, of the link's rate |
//!
//! With phi a flow's share, L_k its longest packet, L the longest of all flows, and N flows:
//!
//! | guarantee | value | test in `theorems/scfq.rs` |
//! |---|---|---|
//! | fairness (Theorem 1) | L_i / r_i + L_j / r_j | `fairness_stays_within_the_bound` |
//! | latency | sum of the others' L_n, (N - 1) L / R | `latency_stays_within_the_bound` |
//! | T-WFI | the same | `wfi_stay_within_the_bounds` |
//! | B-WFI | L_k + (N - 1) phi L | `wfi_stay_within_the_bounds` |
//! | order | each packet sent has the smallest time of all, and times never fall | `times_never_fall` |
//!
//! Latency and T-WFI: from the arrival of a packet at V to its departure, only packets with times
//! up to its own, F, are sent. Each other flow sends w_n (F - V) bytes and one packet: either the
//! rest of the packet on the link or a packet that started before V. With F - V = (the flow's own
//! bytes) / w_k, both bounds follow. B-WFI: by the same count, while k is backlogged W_n / w_n <=
//! W_k / w_k + L_k / w_k + L_n / w_n for each other flow; the sum over all flows is (1 - phi) L_k
//! and phi L_n of each.
//!
//! Number format: virtual time in 2^-30 bytes per unit of weight, wrapping at 2^64. Divisions keep their remainders while a flow has
//! packets. Times are rounded down by less than a unit; ties are by the rounded times.
//!
//! Cost: one move in a heap a packet, O(log N). Memory: one record a flow, see `footprint`.
//!
//! Differences from the paper: V is not reset when the link falls idle. No reset is needed, since
//! no relevant finish time is behind V: an idle flow starts at V whatever was sent before, since
//! its last finish time is no later. Ties go to the flow with the smaller number. A changed weight
//! counts from the flow's next head packet on. Packets longer than 65536 bytes are refused, which
//! bounds the distance of times.

use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::{ConfigError, Parameter};
use crate::guarantees::{Bound, Guarantees, Share};
use crate::links::{Handle, Links};
use crate::mechanisms::heap::FlowHeap;
use crate::mechanisms::longest::Longest;
use crate::packet::{FlowId, Packet};
use crate::pool::{Backlog, Nodes, Places, Pool, Queue};
use crate::scheduler::{FlowConfig, Footprint, Refusal, Scheduler};
use crate::schedulers::{Discipline, Linux};
use crate::time::Instant;
use crate::virtual_time::VirtualTime;

/// SCFQ has no parameters besides the flows' weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "scfq";
    const ABOUT: &'static str =
        "self-clocked fair queueing: by finish times; the virtual time is the finish time of the packet on the link";
    const SOURCE: &'static str = "Golestani, A Self-Clocked Fair Queueing Scheme for Broadband Applications, INFOCOM 1994";
    const LINUX: Linux = Linux::Absent;
    const PARAMETERS: &'static [Parameter<Self>] = &[];
    const WEIGHTED: bool = true;
    const INTERIOR: bool = true;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    const COMPLEXITY: &'static str = "O(log N)";
    type Scheduler<T: Send> = Scfq<T>;
    type ByHandle = Scfq<Handle, Links>;

    fn build<T: Send>(&self, _seed: u64) -> Result<Scfq<T>, ConfigError> {
        Ok(Scfq::default())
    }

    fn build_by_handle(&self, _seed: u64) -> Result<Self::ByHandle, ConfigError> {
        Ok(Scfq::empty())
    }

    fn guarantees(&self, share: &Share) -> Guarantees {
        let (own, any) = (u64::from(share.max_packet_len), u64::from(share.link_max_packet_len));
        let others = any * share.flows.saturating_sub(1);
        let b_wfi = own + share.of(others);
        let late = share.rate.time_of(others);
        let lightest = Share { weight: share.least_weight, ..*share };
        let apart = share.rate.time_of(share.per_share(own) + lightest.per_share(any));
        let each_other = "a packet of each other flow, (N - 1) L / R: Goyal, Lam, Vin 1995, and proof in scfq.rs";
        Guarantees {
            b_wfi: Some(Bound { value: b_wfi, source: "L_k + (N - 1) phi L: proof in scfq.rs" }),
            t_wfi: Some(Bound { value: late, source: each_other }),
            latency: Some(Bound { value: late, source: each_other }),
            fairness: Some(Bound { value: apart, source: "Golestani 1994, Theorem 1: L_i / r_i + L_j / r_j" }),
            ..Guarantees::default()
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Scfq<T, P = Nodes<T>> {
    pool: Pool<T, P>,
    flows: Vec<Flow>,
    /// v(t): F of the packet on the link, or of the last packet sent.
    now: VirtualTime,
    /// Flows with packets, by F of the first.
    backlogged: FlowHeap,
    longest: Longest,
}

#[derive(Debug, Clone, Default)]
struct Flow {
    queue: Queue,
    /// F of the head packet; meaningless while the flow is idle.
    finish: VirtualTime,
    /// Remainder of F's division, in units of 1 / weight.
    remainder: u64,
    /// Zero: unknown flow.
    weight: u32,
    /// Removed: the record goes with the last packet.
    leaves: bool,
}

impl Flow {
    /// F of a head packet of `len` bytes that starts at `start`.
    #[inline]
    fn finish_after(&mut self, start: VirtualTime, len: u32) {
        let scaled = (u64::from(len) << VirtualTime::FRACTION_BITS) + self.remainder;
        let weight = u64::from(self.weight);
        self.finish = start.plus(scaled / weight);
        self.remainder = scaled % weight;
    }
}

impl<T> Default for Scfq<T> {
    fn default() -> Self {
        Self::empty()
    }
}

impl<T, P: Places<T>> Scfq<T, P> {
    /// An empty scheduler.
    fn empty() -> Self {
        let (pool, flows, now) = (Pool::empty(), Vec::new(), VirtualTime::ZERO);
        Self { pool, flows, now, backlogged: FlowHeap::default(), longest: Longest::default() }
    }
}

impl<T, P: Places<T>> Scfq<T, P> {
    /// Gives a flow a record; an unknown flow joins with weight 1.
    fn know(&mut self, flow: usize) {
        if flow >= self.flows.len() {
            self.flows.resize_with(flow + 1, Flow::default);
        }
        if self.flows[flow].weight == 0 {
            self.set_weight(flow, FlowConfig::DEFAULT.weight);
        }
    }

    fn set_weight(&mut self, number: usize, weight: u32) {
        let flow = &mut self.flows[number];
        if flow.weight != weight {
            (flow.weight, flow.remainder) = (weight, 0);
        }
    }

    fn enqueue_packet(&mut self, packet: Packet<T>) {
        let (number, len) = (packet.flow.index(), packet.len);
        self.know(number);
        let flow = &mut self.flows[number];
        if flow.queue.is_empty() {
            flow.remainder = 0;
            flow.finish_after(self.now, len);
            self.backlogged.insert(number, flow.finish);
        }
        self.pool.push(&mut flow.queue, packet);
        self.longest.changed(number, flow.queue.size());
    }

    /// `refill` is asked for the flow's next packet while the flow still counts as backlogged.
    #[inline]
    fn dequeue_packet(&mut self, mut refill: impl FnMut(FlowId) -> Option<Packet<T>>) -> Option<P::Leaving> {
        let (finish, number) = self.backlogged.first()?;
        let flow = &mut self.flows[number];
        let packet = self.pool.pop(&mut flow.queue)?;
        if let Some(more) = refill(FlowId(number as u32)).filter(|more| self.pool.makes_room_for(more)) {
            debug_assert!(more.flow.index() == number && more.len <= FlowConfig::MAX_PACKET_LEN, "a node takes its children's packets");
            self.pool.push(&mut flow.queue, more);
        }
        self.now = finish;
        self.longest.changed(number, flow.queue.size());
        if let Some(next) = flow.queue.next_len() {
            flow.finish_after(finish, next);
            self.backlogged.change(number, flow.finish);
        } else {
            self.backlogged.remove(number);
            self.leave_if_removed(number);
        }
        Some(packet)
    }

    /// Removes the flow's newest packet. V does not change: the packet was not sent.
    fn drop_tail(&mut self, number: usize) -> Option<P::Leaving> {
        let flow = self.flows.get_mut(number)?;
        let packet = self.pool.pop_tail(&mut flow.queue)?;
        self.longest.changed(number, flow.queue.size());
        if flow.queue.is_empty() {
            self.backlogged.remove(number);
            self.leave_if_removed(number);
        }
        Some(packet)
    }

    fn leave_if_removed(&mut self, number: usize) {
        if core::mem::take(&mut self.flows[number].leaves) {
            self.set_weight(number, 0);
        }
    }
}

impl<T, P: Places<T>> Scheduler<T, P::Leaving> for Scfq<T, P> {
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        if packet.len > FlowConfig::MAX_PACKET_LEN || !packet.flow.fits_a_table() || !self.pool.makes_room_for(&packet) {
            return Err(packet);
        }
        self.enqueue_packet(packet);
        Ok(())
    }

    fn refusal(&self, packet: &Packet<T>) -> Option<Refusal> {
        Refusal::of_tabled(packet, FlowConfig::MAX_PACKET_LEN).or_else(|| self.pool.refusal(packet))
    }

    fn dequeue(&mut self, _now: Instant) -> Option<P::Leaving> {
        self.dequeue_packet(|_| None)
    }

    fn dequeue_refilled(&mut self, _now: Instant, refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>) -> Option<P::Leaving> {
        self.dequeue_packet(refill)
    }

    /// The tail of the longest backlog.
    fn evict(&mut self) -> Option<P::Leaving> {
        let number = self.longest.find(self.flows.iter().map(|flow| flow.queue.size()))?;
        self.drop_tail(number)
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<P::Leaving> {
        self.drop_tail(flow.index())
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(Config::NAME, flow)?;
        self.know(flow.index());
        self.flows[flow.index()].leaves = false;
        self.set_weight(flow.index(), config.weight);
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        let Some(record) = self.flows.get_mut(flow.index()).filter(|record| record.weight > 0) else { return };
        record.leaves = true;
        if record.queue.is_empty() {
            self.leave_if_removed(flow.index());
        }
    }

    fn footprint(&self) -> Footprint {
        let bytes_per_flow = size_of::<Flow>() + FlowHeap::BYTES_PER_FLOW + Longest::BYTES_PER_QUEUE;
        Footprint { fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES, bytes_per_flow }
    }

    /// 1. A flow is in the heap if it has packets; the heap is in order.
    /// 2. F of a head packet is 0 to `MAX_PACKET_LEN` bytes, at weight 1, after V.
    /// 3. Flows with packets are known.
    fn check_invariants(&self) {
        for (number, flow) in self.flows.iter().enumerate() {
            assert_eq!(self.backlogged.contains(number), !flow.queue.is_empty(), "invariant 1");
            if !flow.queue.is_empty() {
                let most = i64::from(FlowConfig::MAX_PACKET_LEN) << VirtualTime::FRACTION_BITS;
                assert!((0..=most).contains(&flow.finish.since(self.now)), "invariant 2");
            }
            assert!(flow.weight > 0 || flow.queue.is_empty() && !flow.leaves, "invariant 3");
            self.pool.check_queue(&flow.queue);
        }
        self.backlogged.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(flow: u32, len: u32) -> Packet<()> {
        Packet::new(FlowId(flow), len, ())
    }

    fn drain(scheduler: &mut Scfq<()>) -> Vec<u32> {
        core::iter::from_fn(|| scheduler.dequeue(Instant::ZERO)).map(|packet| packet.flow.0).collect()
    }

    /// A packet that arrives during a transmission starts at the finish time of the packet on the
    /// link: after flow 1's 100 bytes that is 100, and flow 2's 50 bytes end at 150, behind flow
    /// 0's at 120.
    #[test]
    fn the_packet_on_the_link_is_the_clock() {
        for start in [0, u64::MAX - 1_000] {
            let mut scheduler = Scfq { now: VirtualTime::from_bits(start), ..Scfq::default() };
            scheduler.enqueue(Instant::ZERO, packet(0, 120)).unwrap();
            scheduler.enqueue(Instant::ZERO, packet(1, 100)).unwrap();
            assert_eq!(scheduler.dequeue(Instant::ZERO).map(|packet| packet.flow.0), Some(1));
            scheduler.enqueue(Instant::ZERO, packet(2, 50)).unwrap();
            assert_eq!(drain(&mut scheduler), [0, 2], "from {start}");
        }
    }

    /// The child's next packet arrives while the node still counts the child as backlogged: it
    /// starts at the previous finish time.
    #[test]
    fn a_refilled_flow_goes_on_where_it_was() {
        let mut scheduler = Scfq::default();
        scheduler.enqueue(Instant::ZERO, packet(0, 100)).unwrap();
        scheduler.enqueue(Instant::ZERO, packet(1, 150)).unwrap();
        let mut left = 2;
        let mut refill = |flow: FlowId| {
            left -= i32::from(flow.0 == 0);
            (flow.0 == 0 && left >= 0).then(|| packet(0, 100))
        };
        let order: Vec<_> =
            core::iter::from_fn(|| scheduler.dequeue_refilled(Instant::ZERO, &mut refill)).map(|packet| packet.flow.0).collect();
        assert_eq!(order, [0, 1, 0, 0]);
        scheduler.enqueue(Instant::ZERO, packet(3, 7)).unwrap();
        assert_eq!(scheduler.evict_flow(FlowId(3)).map(|packet| packet.len), Some(7));
        assert!(scheduler.evict_flow(FlowId(3)).is_none() && scheduler.evict_flow(FlowId(99)).is_none());
    }
}
