//! WF2Q: of the packets that a fluid server would have begun to send, the one that it would finish first.
//!
//! The fluid server (GPS) sends all flows that have something at once, each by its weight, to the bit; it runs along as a clock. Like `wfq`
//! the link takes the smallest finish time, but only among packets whose service in the fluid server has begun. So nobody is sent ahead of
//! his share by more than one packet, nor behind it, and nobody has to wait until that is made good.
//!
//! Source: J. Bennett, H. Zhang, "WF2Q: Worst-case Fair Weighted Fair Queueing", INFOCOM 1996.
//!
//! | paper | here |
//! |---|---|
//! | V(t) | `GpsClock::now` |
//! | S_i^k, F_i^k | `Service::start`, `Service::finish`, given at arrival |
//! | phi_i | weight over the sum of all flows' weights |
//!
//! With L_k the longest packet of flow k and L of anybody:
//!
//! | guarantee | value | test in `theorems/wf2q.rs` |
//! |---|---|---|
//! | Theorem 1 | a packet leaves no later than from the fluid server by L / R | `packets_leave_a_packet_after_the_fluid_server_at_most` |
//! | Theorem 1 | a flow's service is behind the fluid server's by L at most | `service_stays_within_a_packet_of_the_fluid_server` |
//! | Theorem 1 | and ahead of it by (1 - phi) L_k at most | the same |
//! | T-WFI | L_k / r_k - L_k / R + L / R | `t_wfi_stays_within_the_bound` |
//! | latency | L / R | `latency_stays_within_the_bound` |
//! | service order | that of the exact reference | `serves_in_the_order_of_exact_finish_times` |
//!
//! It never idles: whenever the link picks, some packet that waits has begun in the fluid server. Otherwise that one would still be at work
//! on packets that have left, and so have sent less than the link; but it has sent as much. In whole numbers this holds to the last unit
//! (`GpsClock` conserves work), as long as weights stay; while they change, the smallest start time stands in.
//!
//! No B-WFI and no fairness over intervals in which a flow has packets waiting: none is bounded. A flow whose first packet may not start
//! yet lets a long one pass. While that is sent the fluid server finishes all that the flow has, and takes the flow for idle although its
//! packets wait; its next packet starts anew at V. What it missed is not made up for, and a flow that keeps one packet waiting in this way
//! can get far less than its share for ever (`a_flow_that_always_has_a_packet_may_get_less_than_its_share`). `wf2q_plus`, where S = F of
//! the packet before while packets wait, has a bound. The paper defines fairness by delay, as T-WFI here, and that holds.
//!
//! Number format: see `GpsClock`. Virtual times that differ by less than 2^-18 bytes count as equal.
//!
//! Cost: O(log N) a packet, amortised: a flow moves through three heaps. Memory: one record a flow, and 16 bytes a packet for its times.
//!
//! Differences from the paper: those of `wfq`.

use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::{ConfigError, Parameter};
use crate::guarantees::{Bound, Guarantees, Share};
use crate::mechanisms::gps_clock::{GpsClock, Service, TOLERANCE};
use crate::mechanisms::heap::FlowHeap;
use crate::mechanisms::longest::Longest;
use crate::packet::{FlowId, Packet};
use crate::pool::{Backlog, Pool, Queue};
use crate::scheduler::{FlowConfig, Footprint, Scheduler, is_time_to_check};
use crate::schedulers::Discipline;
use crate::time::Instant;
use crate::units::Rate;
use crate::virtual_time::VirtualTime;

/// WF2Q has no parameters but its flows' weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "wf2q";
    const ABOUT: &'static str = "worst-case fair weighted fair queueing: never a packet away from a fluid server";
    const SOURCE: &'static str = "Bennett, Zhang, WF2Q: Worst-case Fair Weighted Fair Queueing, INFOCOM 1996";
    const PARAMETERS: &'static [Parameter<Self>] = &[];
    const WEIGHTED: bool = true;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    const COMPLEXITY: &'static str = "O(log N)";
    type Scheduler<T: Send> = Wf2q<T>;

    fn build<T: Send>(&self, _seed: u64) -> Result<Wf2q<T>, ConfigError> {
        Ok(Wf2q::default())
    }

    fn guarantees(&self, share: &Share) -> Guarantees {
        let (own, any) = (u64::from(share.max_packet_len), u64::from(share.link_max_packet_len));
        let tied = GpsClock::tied_bytes(share);
        // L is no less than L_k where both are lengths of packets that were sent; what is allowed may be more.
        let late = share.rate.time_of(share.per_share(own) + any.saturating_sub(own) + tied);
        let latency = share.rate.time_of(any + tied);
        Guarantees {
            t_wfi: Some(Bound { value: late, source: "Bennett and Zhang 1996, Theorem 2: L_k / r_k - L_k / R + L / R" }),
            latency: Some(Bound { value: latency, source: "Bennett and Zhang 1996, Theorem 1: L / R after the fluid server" }),
            ..Guarantees::default()
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Wf2q<T> {
    pool: Pool<(Service, T)>,
    flows: Vec<Flow>,
    /// The fluid server.
    clock: GpsClock,
    /// Flows whose first packet had begun in the fluid server when the link last picked, by its F.
    eligible: FlowHeap,
    /// The other flows with packets, by S of the first.
    ineligible: FlowHeap,
    longest: Longest,
}

#[derive(Debug, Clone, Default)]
struct Flow {
    queue: Queue,
    /// It was removed and goes with its last packet.
    leaves: bool,
}

impl<T> Default for Wf2q<T> {
    fn default() -> Self {
        let (pool, flows, clock) = (Pool::default(), Vec::new(), GpsClock::default());
        Self { pool, flows, clock, eligible: FlowHeap::default(), ineligible: FlowHeap::default(), longest: Longest::default() }
    }
}

impl<T> Wf2q<T> {
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
            self.ineligible.insert(number, service.start);
        }
        self.pool.push(&mut flow.queue, service.stamp(packet));
        self.longest.changed(number, flow.queue.size());
    }

    fn dequeue_packet(&mut self, now: Instant) -> Option<Packet<T>> {
        self.clock.complete();
        self.update_eligible();
        let (_, number) = self.eligible.first().or_else(|| self.ineligible.first())?;
        let flow = &mut self.flows[number];
        let packet = self.pool.pop(&mut flow.queue)?;
        self.clock.begin(now, packet.len);
        self.longest.changed(number, flow.queue.size());
        self.eligible.remove(number);
        self.ineligible.remove(number);
        if let Some(next) = self.pool.head(&flow.queue) {
            self.ineligible.insert(number, next.payload.0.start);
        } else {
            self.leave_if_removed(number);
        }
        Some(Service::unstamp(packet))
    }

    /// Whoever has begun in the fluid server.
    fn update_eligible(&mut self) {
        while let Some((start, number)) = self.ineligible.first() {
            if !self.has_begun(start) {
                break;
            }
            self.ineligible.remove(number);
            let head = self.pool.head(&self.flows[number].queue);
            self.eligible.insert(number, head.map_or(start, |head| head.payload.0.rounded_finish()));
        }
    }

    #[inline]
    fn has_begun(&self, start: VirtualTime) -> bool {
        start.since(self.clock.now()) <= TOLERANCE
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

impl<T> Scheduler<T> for Wf2q<T> {
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
            self.eligible.remove(number);
            self.ineligible.remove(number);
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
        let bytes_per_flow = size_of::<Flow>() + GpsClock::BYTES_PER_FLOW + 2 * GpsClock::BYTES_IN_HEAP + Longest::BYTES_PER_QUEUE;
        Footprint { fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES, bytes_per_flow }
    }

    /// 1. A flow with packets is in one heap, one without is in none. Who is eligible has begun.
    /// 2. The fluid server has as much to do as the link, to the last unit of work.
    /// 3. Both heaps are in order.
    fn check_invariants(&self) {
        for (number, flow) in self.flows.iter().enumerate() {
            let (early, late) = (self.eligible.contains(number), self.ineligible.contains(number));
            assert_eq!(usize::from(early) + usize::from(late), usize::from(!flow.queue.is_empty()), "invariant 1");
            let start = self.pool.head(&flow.queue).map(|head| head.payload.0.start);
            assert!(!early || start.is_some_and(|start| self.has_begun(start)), "invariant 1");
            self.pool.check_queue(&flow.queue);
        }
        self.clock.check(self.pool.backlog().bytes);
        self.eligible.check();
        self.ineligible.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flow 0 has half of the link, ten others a twentieth each: it is sent every other time.
    #[test]
    fn a_heavy_flow_takes_turns_with_the_light_ones() {
        for start in [0, u64::MAX - 1_000] {
            let mut scheduler = Wf2q { clock: GpsClock::start_at(VirtualTime::from_bits(start)), ..Wf2q::default() };
            scheduler.set_flow(FlowId(0), FlowConfig { weight: 10, ..FlowConfig::DEFAULT }).unwrap();
            for flow in [0; 11].into_iter().chain(1..=10) {
                scheduler.enqueue(Instant::ZERO, Packet::new(FlowId(flow), 1000, ())).unwrap();
            }
            let order: Vec<_> = core::iter::from_fn(|| scheduler.dequeue(Instant::ZERO)).map(|packet| packet.flow.0).collect();
            assert_eq!(order, [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0, 10, 0], "from {start}");
        }
    }
}
