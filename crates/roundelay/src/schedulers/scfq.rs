//! SCFQ: self-clocked fair queueing, where the virtual time is the finish tag of the packet on the
//! link.
//!
//! A packet's finish time is that of the flow's previous packet plus length over weight, and the
//! smallest goes first. A newly backlogged flow starts from the finish time of the packet on the
//! link. This is the simplest possible clock, and it keeps backlogged flows as close together as
//! any discipline can. But a clock that jumps from packet to packet runs ahead, so a newly
//! backlogged flow may have to wait for a packet of every other flow.
//!
//! Source: S. J. Golestani, "A Self-Clocked Fair Queueing Scheme for Broadband Applications",
//! INFOCOM 1994. Delay: P. Goyal, S. Lam, H. Vin, "Determining End-to-End Delay Bounds in
//! Heterogeneous Networks", NOSSDAV 1995.
//!
//! | paper | here |
//! |---|---|
//! | v(t), finish tag of the packet in service | `Scfq::now` |
//! | F_k^i, of the head packet | `Times::finish` |
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
//! W_k / w_k + L_k / w_k + L_n / w_n for each other flow. Summed over all flows this is (1 - phi)
//! L_k, and phi L_n for each other flow.
//!
//! Number format: virtual time in 2^-30 bytes per unit of weight, wrapping at 2^64. Divisions keep
//! their remainders while a flow has packets. Times are rounded down by less than a unit, and ties
//! are by the rounded times.
//!
//! Cost: one move in a heap for each packet, O(log N). Memory: one record for each flow, see
//! `footprint`.
//!
//! Differences from the paper: V is not reset when the link falls idle. No reset is needed: an idle
//! flow starts at V whatever was sent before, because its last finish time is no later. Ties go to
//! the flow with the smaller number. A changed weight counts from the flow's next head packet on.
//! Packets longer than 65536 bytes are refused, which bounds the distance of times.

use crate::author::{
    Backlog, Bound, ConfigError, Configured, Control, Discipline, DropReason, FlowConfig, FlowId,
    Footprint, Guarantees, Handle, Instant, Links, Linux, Nodes, Packet, Queues, Refused,
    Scheduler, Seed, Share, Storage, VirtualTime,
};
use crate::mechanisms::flow_table::FlowTable;
use crate::mechanisms::heap::FlowHeap;
use crate::mechanisms::longest::Longest;

/// SCFQ has no parameters besides the flows' weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "scfq";
    const ABOUT: &'static str = "self-clocked fair queueing: by finish times; the virtual time is the finish time of the packet on the link";
    const SOURCE: &'static str =
        "Golestani, A Self-Clocked Fair Queueing Scheme for Broadband Applications, INFOCOM 1994";
    const LINUX: Linux = Linux::Absent;
    const WEIGHTED: bool = true;
    const INTERIOR: bool = true;
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    const QUEUES: Queues = Queues::PerFlow;
    const COMPLEXITY: &'static str = "O(log N)";
    type Scheduler<T: Send> = Scfq<T>;
    type ByHandle = Scfq<Handle, Links>;

    fn guarantees(&self, share: &Share) -> Guarantees {
        let own = u64::from(share.max_packet_len);
        let any = u64::from(share.link_max_packet_len);
        let others = any * share.flows.saturating_sub(1);
        let b_wfi = own + share.of(others);
        let late = share.rate.time_of(others);
        let lightest = Share {
            weight: share.least_weight,
            ..*share
        };
        let apart = share
            .rate
            .time_of(share.per_share(own) + lightest.per_share(any));
        let each_other = "a packet of each other flow, (N - 1) L / R: Goyal, Lam, Vin 1995, and proof in scfq.rs";
        Guarantees {
            b_wfi: Some(Bound {
                value: b_wfi,
                source: "L_k + (N - 1) phi L: proof in scfq.rs",
            }),
            t_wfi: Some(Bound {
                value: late,
                source: each_other,
            }),
            latency: Some(Bound {
                value: late,
                source: each_other,
            }),
            fairness: Some(Bound {
                value: apart,
                source: "Golestani 1994, Theorem 1: L_i / r_i + L_j / r_j",
            }),
            ..Guarantees::default()
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Scfq<T, P = Nodes<T>> {
    flows: FlowTable<T, Times, P>,
    /// v(t): F of the packet on the link, or of the last packet sent.
    now: VirtualTime,
    /// Flows with packets, by F of the first.
    backlogged: FlowHeap,
}

#[derive(Debug, Clone, Default)]
struct Times {
    /// F of the head packet. Meaningless while the flow is idle.
    finish: VirtualTime,
    /// Remainder of F's division, in units of 1 / weight.
    remainder: u64,
}

impl Times {
    /// F of a head packet of `len` bytes that starts at `start`.
    #[inline]
    fn finish_after(&mut self, start: VirtualTime, len: u32, weight: u32) {
        let scaled = (u64::from(len) << VirtualTime::FRACTION_BITS) + self.remainder;
        let weight = u64::from(weight);
        self.finish = start.plus(scaled / weight);
        self.remainder = scaled % weight;
    }
}

impl<T, P: Storage<T>> Configured<Config> for Scfq<T, P> {
    fn configured(_: Config, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            flows: FlowTable::default(),
            now: VirtualTime::ZERO,
            backlogged: FlowHeap::default(),
        })
    }
}

impl<T, P: Storage<T>> Scfq<T, P> {
    fn set_weight(&mut self, number: usize, weight: u32) {
        let flow = self.flows.record(number);
        if flow.weight != weight {
            (flow.weight, flow.state.remainder) = (weight, 0);
        }
    }

    /// An unknown flow joins with weight 1.
    fn enqueue_packet(&mut self, packet: Packet<T>) {
        let number = packet.flow.index();
        let len = packet.len;
        if self.flows.record(number).weight == 0 {
            self.set_weight(number, FlowConfig::DEFAULT.weight);
        }
        let flow = &mut self.flows[number];
        if flow.queue.is_empty() {
            flow.state.remainder = 0;
            // F_k^i = max(F_k^(i-1), v(a)) + L_k^i / r_k. An idle flow's last finish time is not
            // after v(a).
            flow.state.finish_after(self.now, len, flow.weight);
            self.backlogged.insert(number, flow.state.finish);
        }
        self.flows.push(packet);
    }

    /// `refill` is asked for the flow's next packet while the flow still counts as backlogged.
    #[inline]
    fn dequeue_packet(
        &mut self,
        refill: impl FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<P::Leaving> {
        let (finish, number) = self.backlogged.first()?;
        let (packet, flow) = self.flows.pop(number, refill);
        // v(t) is the finish tag of the packet that goes into service.
        self.now = finish;
        if let Some(next) = flow.queue.next_len() {
            // The flow stays backlogged, so its next packet starts at F_k^(i-1).
            flow.state.finish_after(finish, next, flow.weight);
            self.backlogged.change(number, flow.state.finish);
        } else {
            self.end_backlog(number);
        }
        packet
    }

    fn end_backlog(&mut self, number: usize) {
        self.backlogged.remove(number);
        if self.flows.has_left(number) {
            self.set_weight(number, 0);
        }
    }

    /// Removes the flow's newest packet. V does not change because the packet was not sent.
    fn drop_tail(&mut self, number: usize) -> Option<P::Leaving> {
        let packet = self.flows.pop_tail(number)?;
        if self.flows[number].queue.is_empty() {
            self.end_backlog(number);
        }
        Some(packet)
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for Scfq<T, P> {
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        if let Err(reason) = self
            .flows
            .make_room_for(&packet, FlowConfig::MAX_PACKET_LEN)
        {
            return Err(packet.refused(reason));
        }
        self.enqueue_packet(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<P::Leaving> {
        self.dequeue_packet(|_| None)
    }

    fn dequeue_refilled(
        &mut self,
        _now: Instant,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<P::Leaving> {
        self.dequeue_packet(refill)
    }

    /// The tail of the longest backlog.
    fn evict(&mut self) -> Option<P::Leaving> {
        let number = self.flows.longest()?;
        self.drop_tail(number)
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<P::Leaving> {
        self.drop_tail(flow.index())
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }
}

impl<T, P: Storage<T>> Control for Scfq<T, P> {
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(Config::NAME, flow)?;
        self.flows.stay(flow.index());
        self.set_weight(flow.index(), config.weight);
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        if self.flows.remove(flow) {
            self.set_weight(flow.index(), 0);
        }
    }

    fn footprint(&self) -> Footprint {
        let bytes_per_flow = FlowTable::<T, Times, P>::BYTES_PER_FLOW + FlowHeap::BYTES_PER_FLOW;
        Footprint {
            fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES,
            bytes_per_flow,
        }
    }

    /// 1. A flow is in the heap if it has packets. The heap is in order.
    /// 2. F of a head packet is 0 to `MAX_PACKET_LEN` bytes, at weight 1, after V.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        for (number, flow) in self.flows.iter().enumerate() {
            assert_eq!(
                self.backlogged.contains(number),
                !flow.queue.is_empty(),
                "invariant 1"
            );
            if !flow.queue.is_empty() {
                let most = i64::from(FlowConfig::MAX_PACKET_LEN) << VirtualTime::FRACTION_BITS;
                assert!(
                    (0..=most).contains(&flow.state.finish.since(self.now)),
                    "invariant 2"
                );
            }
        }
        self.flows.check();
        self.backlogged.check();
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn packet(flow: u32, len: u32) -> Packet<()> {
        Packet::new(FlowId(flow), len, ())
    }

    fn drain(scheduler: &mut Scfq<()>) -> Vec<u32> {
        core::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
            .map(|packet| packet.flow.0)
            .collect()
    }

    /// A packet that arrives during a transmission starts at the finish time of the packet on the
    /// link: after flow 1's 100 bytes that is 100, and flow 2's 50 bytes end at 150, behind flow
    /// 0's at 120.
    #[test]
    fn the_packet_on_the_link_is_the_clock() {
        for start in [0, u64::MAX - 1_000] {
            let mut scheduler = Scfq {
                now: VirtualTime::from_bits(start),
                ..Scfq::default()
            };
            scheduler.enqueue(Instant::ZERO, packet(0, 120)).unwrap();
            scheduler.enqueue(Instant::ZERO, packet(1, 100)).unwrap();
            assert_eq!(
                scheduler.dequeue(Instant::ZERO).map(|packet| packet.flow.0),
                Some(1)
            );
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
            core::iter::from_fn(|| scheduler.dequeue_refilled(Instant::ZERO, &mut refill))
                .map(|packet| packet.flow.0)
                .collect();
        assert_eq!(order, [0, 1, 0, 0]);
        scheduler.enqueue(Instant::ZERO, packet(3, 7)).unwrap();
        assert_eq!(
            scheduler.evict_flow(FlowId(3)).map(|packet| packet.len),
            Some(7)
        );
        assert!(
            scheduler.evict_flow(FlowId(3)).is_none() && scheduler.evict_flow(FlowId(99)).is_none()
        );
    }
}
