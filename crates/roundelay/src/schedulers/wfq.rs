//! WFQ, or PGPS: of the packets that wait, the one that a fluid server would have sent first.
//!
//! The fluid server (GPS) sends all flows that have something at once, each by its weight, to the bit. It runs along as a clock, on the
//! link's real rate, and gives each packet its finish time as it comes. The link takes the smallest: no packet leaves later than from the
//! fluid server by more than the time of one packet. It may leave much earlier, though: a heavy flow alone among many light ones is sent
//! far ahead of its share, and then waits for all of them. `wf2q` mends that.
//!
//! Source: A. Demers, S. Keshav, S. Shenker, "Analysis and Simulation of a Fair Queueing Algorithm", SIGCOMM 1989; A. Parekh, R. Gallager,
//! "A Generalized Processor Sharing Approach to Flow Control in Integrated Services Networks: The Single-Node Case", IEEE/ACM ToN 1(3),
//! 1993.
//!
//! | paper | here |
//! |---|---|
//! | V(t) | `GpsClock::now` |
//! | S_i^k, F_i^k | `Service::start`, `Service::finish`, given at arrival |
//! | phi_i | weight over the sum of all flows' weights |
//!
//! With L the longest packet of anybody, C the largest L_n / w_n of all flows and W the sum of all weights:
//!
//! | guarantee | value | test in `theorems/wfq.rs` |
//! |---|---|---|
//! | Theorem 1 | a packet leaves no later than from the fluid server by L / R | `packets_leave_a_packet_after_the_fluid_server_at_most` |
//! | Theorem 2 | a flow's service is behind the fluid server's by L at most | `no_flow_is_a_packet_behind_the_fluid_server` |
//! | service order | that of exact fluid finish times | `serves_in_the_order_of_exact_finish_times` |
//! | latency | L / R | `latency_stays_within_the_bound` |
//! | fairness | (L_j / w_j + C) W / R | `fairness_stays_within_the_bound` |
//! | B-WFI | (1 - phi)(L_k + w_k C) | `wfi_stay_within_the_bounds` |
//! | T-WFI | (W C + L) / R | `wfi_stay_within_the_bounds` |
//!
//! Latency: the fluid server gives a flow at least phi R while it has something, so it is never later than GRC. The last three are our own,
//! since the papers state none. (1) Whenever the link picks, some packet that waits has S <= V: otherwise the fluid server would still be
//! at work on packets that have left, and so have sent less than the link; but it has sent as much. (2) So whatever is sent has F <= V + C.
//! (3) A flow k has packets from t on, the first starting at S: then S >= F - C for each F sent before t, since that packet was there
//! already and F is not larger than its own, or it came when V had reached F - C. (4) V passes the F of a packet of k before it is sent
//! only while the link makes up for having been ahead, with times smaller than k's; so gaps between times of k's packets end at the largest
//! F sent before t. With (3) and (4) each other flow is sent W_j / w_j <= W_k / w_k + L_k / w_k + C in the meantime. The sum over all flows
//! is the B-WFI. (2) bounds how far k is ahead of the fluid server, which with Theorem 1 is the T-WFI. C grows with the number of flows: of
//! N that share a link, someone has W / N or less.
//!
//! Number format: see `GpsClock`. Finish times that differ by less than 2^-18 bytes count as tied.
//!
//! Cost: O(log N) a packet, amortised: a flow in two heaps. Memory: one record a flow, and 16 bytes a packet for its times.
//!
//! Differences from the papers: V does not start again when the link is idle; it wraps. Ties go to the flow with the smaller number. What
//! the fluid server has done of a packet that is pushed out, it does for the others at once. A weight that changes counts for what is left
//! in the fluid server at once, and in the packets' times from the next arrival on. The link's rate is told by the port; without one a
//! packet counts as sent when it is given out. Packets longer than 65536 bytes, and more than 4 GB of one flow, are refused.

use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::{ConfigError, Parameter};
use crate::guarantees::{Bound, Guarantees, Share};
use crate::mechanisms::gps_clock::{GpsClock, Service};
use crate::mechanisms::heap::FlowHeap;
use crate::mechanisms::longest::Longest;
use crate::packet::{FlowId, Packet};
use crate::pool::{Backlog, Pool, Queue};
use crate::scheduler::{FlowConfig, Footprint, Scheduler, is_time_to_check};
use crate::schedulers::Discipline;
use crate::time::Instant;
use crate::units::Rate;

/// WFQ has no parameters but its flows' weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "wfq";
    const ABOUT: &'static str = "weighted fair queueing (PGPS): in the order in which a fluid server would finish";
    const SOURCE: &'static str = "Demers, Keshav, Shenker, SIGCOMM 1989; Parekh, Gallager, IEEE/ACM ToN 1(3), 1993";
    const PARAMETERS: &'static [Parameter<Self>] = &[];
    const WEIGHTED: bool = true;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    const COMPLEXITY: &'static str = "O(log N)";
    type Scheduler<T: Send> = Wfq<T>;

    fn build<T: Send>(&self, _seed: u64) -> Result<Wfq<T>, ConfigError> {
        Ok(Wfq::default())
    }

    fn guarantees(&self, share: &Share) -> Guarantees {
        let (own, any) = (u64::from(share.max_packet_len), u64::from(share.link_max_packet_len));
        // Of the lightest flow: C in bytes of the link's, and in bytes of this flow's.
        let lightest = Share { weight: share.least_weight, ..*share };
        let (ahead, own_ahead) = (lightest.per_share(any), (any * u64::from(share.weight)).div_ceil(share.least_weight.max(1).into()));
        let tied = GpsClock::tied_bytes(share);
        let late = |bytes: u64| share.rate.time_of(bytes + tied);
        let one_packet = "Parekh and Gallager 1993, Theorem 1: L / R after the fluid server";
        let b_wfi = (own + own_ahead) - share.of(own + own_ahead).saturating_sub(1) + tied;
        Guarantees {
            b_wfi: Some(Bound { value: b_wfi, source: "(1 - phi)(L_k + w_k max L_n / w_n): proof in wfq.rs" }),
            t_wfi: Some(Bound { value: late(ahead + any), source: "(W max L_n / w_n + L) / R: proof in wfq.rs" }),
            latency: Some(Bound { value: late(any), source: one_packet }),
            fairness: Some(Bound { value: late(2 * ahead), source: "L_j / r_j + max L_n / r_n: proof in wfq.rs" }),
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Wfq<T> {
    pool: Pool<(Service, T)>,
    flows: Vec<Flow>,
    /// The fluid server.
    clock: GpsClock,
    /// Flows with packets, by F of the first of them.
    backlogged: FlowHeap,
    longest: Longest,
}

#[derive(Debug, Clone, Default)]
struct Flow {
    queue: Queue,
    /// It was removed and goes with its last packet.
    leaves: bool,
}

impl<T> Default for Wfq<T> {
    fn default() -> Self {
        let (pool, flows, clock) = (Pool::default(), Vec::new(), GpsClock::default());
        Self { pool, flows, clock, backlogged: FlowHeap::default(), longest: Longest::default() }
    }
}

impl<T> Wfq<T> {
    fn flow_mut(&mut self, flow: usize) -> &mut Flow {
        if flow >= self.flows.len() {
            self.flows.resize_with(flow + 1, Flow::default);
        }
        &mut self.flows[flow]
    }

    fn enqueue_packet(&mut self, packet: Packet<T>) {
        let number = packet.flow.index();
        let service = self.clock.arrive(number, packet.len);
        self.flow_mut(number);
        let flow = &mut self.flows[number];
        if flow.queue.is_empty() {
            self.backlogged.insert(number, service.rounded_finish());
        }
        self.pool.push(&mut flow.queue, service.stamp(packet));
        self.longest.changed(number, flow.queue.size());
    }

    fn dequeue_packet(&mut self, now: Instant) -> Option<Packet<T>> {
        self.clock.complete();
        let (_, number) = self.backlogged.first()?;
        let flow = &mut self.flows[number];
        let packet = self.pool.pop(&mut flow.queue)?;
        self.clock.begin(now, packet.len);
        self.longest.changed(number, flow.queue.size());
        self.backlogged.remove(number);
        if let Some(next) = self.pool.head(&flow.queue) {
            self.backlogged.insert(number, next.payload.0.rounded_finish());
        } else {
            self.leave_if_removed(number);
        }
        Some(Service::unstamp(packet))
    }

    fn leave_if_removed(&mut self, number: usize) {
        if core::mem::take(&mut self.flows[number].leaves) {
            self.clock.forget(number);
        }
    }

    #[inline]
    fn debug_check(&self) {
        if is_time_to_check(self.flows.len(), self.pool.backlog()) {
            self.check_invariants();
        }
    }
}

impl<T> Scheduler<T> for Wfq<T> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        if !packet.flow.fits_a_table() || !self.clock.has_room_for(packet.flow.index(), packet.len) {
            return Err(packet);
        }
        self.clock.advance(now);
        self.enqueue_packet(packet);
        self.debug_check();
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        let packet = self.dequeue_packet(now);
        self.debug_check();
        packet
    }

    /// The tail of the longest backlog, which the fluid server gives up as well.
    fn evict(&mut self) -> Option<Packet<T>> {
        let number = self.longest.find(self.flows.iter().map(|flow| flow.queue.size()))?;
        let flow = &mut self.flows[number];
        let packet = self.pool.pop_tail(&mut flow.queue)?;
        self.longest.changed(number, flow.queue.size());
        self.clock.withdraw(number, packet.len);
        if flow.queue.is_empty() {
            self.backlogged.remove(number);
            self.leave_if_removed(number);
        }
        self.debug_check();
        Some(Service::unstamp(packet))
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.clock.set_link_rate(rate);
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(Config::NAME, flow)?;
        self.flow_mut(flow.index()).leaves = false;
        self.clock.set_weight(flow.index(), config.weight);
        self.debug_check();
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        let Some(record) = self.flows.get_mut(flow.index()) else { return };
        record.leaves = true;
        if record.queue.is_empty() {
            self.leave_if_removed(flow.index());
        }
        self.debug_check();
    }

    /// Flows that have left count until the fluid server is through with them.
    fn total_weight(&self) -> Option<u64> {
        Some(self.clock.known_weight())
    }

    fn footprint(&self) -> Footprint {
        let bytes_per_flow = size_of::<Flow>() + GpsClock::BYTES_PER_FLOW + GpsClock::BYTES_IN_HEAP + Longest::BYTES_PER_QUEUE;
        Footprint { fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES, bytes_per_flow }
    }

    /// 1. A flow is in the heap if it has packets; the heap is in order.
    /// 2. The fluid server has as much to do as the link, to the last unit of work.
    fn check_invariants(&self) {
        for (number, flow) in self.flows.iter().enumerate() {
            assert_eq!(self.backlogged.contains(number), !flow.queue.is_empty(), "invariant 1");
            self.pool.check_queue(&flow.queue);
        }
        self.backlogged.check();
        self.clock.check(self.pool.backlog().bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flow 0 has half of the link, ten others a twentieth each: of packets that come at once it is sent ten in a row.
    #[test]
    fn a_heavy_flow_is_sent_ahead_of_its_share() {
        for start in [0, u64::MAX - 1_000] {
            let clock = GpsClock::start_at(crate::virtual_time::VirtualTime::from_bits(start));
            let mut scheduler = Wfq { clock, ..Wfq::default() };
            scheduler.set_flow(FlowId(0), FlowConfig { weight: 10, ..FlowConfig::DEFAULT }).unwrap();
            for flow in [0; 11].into_iter().chain(1..=10) {
                scheduler.enqueue(Instant::ZERO, Packet::new(FlowId(flow), 1000, ())).unwrap();
            }
            let order: Vec<_> = core::iter::from_fn(|| scheduler.dequeue(Instant::ZERO)).map(|packet| packet.flow.0).collect();
            assert_eq!(order, [[0; 10].as_slice(), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[0]].concat(), "from {start}");
        }
    }
}
