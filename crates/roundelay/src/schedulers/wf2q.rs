//! WF2Q: earliest fluid finish time first, among packets whose fluid service has begun.
//!
//! The fluid server (GPS) serves all backlogged flows at once by weight, bit by bit, and acts as a
//! clock. As in `wfq`, the link takes the smallest finish time, but only among packets whose fluid
//! service has begun. No flow gets ahead of its share, or behind, by more than one packet, and no
//! flow has to wait until an advance is made up.
//!
//! Source: J. Bennett, H. Zhang, "WF2Q: Worst-case Fair Weighted Fair Queueing", INFOCOM 1996.
//!
//! | paper | here |
//! |---|---|
//! | V(t) | `GpsClock::now` |
//! | S_i^k, F_i^k | `Service::start`, `Service::finish`, of the first packet of each flow |
//! | phi_i | weight over the sum of all flows' weights |
//!
//! With L_k the longest packet of flow k and L of all flows:
//!
//! | guarantee | value | test in `theorems/wf2q.rs` |
//! |---|---|---|
//! | Theorem 1 | a packet leaves no later than from the fluid server by L / R | `packets_leave_a_packet_after_the_fluid_server_at_most` |
//! | Theorem 1 | a flow's service is behind the fluid server's by L at most | `service_stays_within_a_packet_of_the_fluid_server` |
//! | Theorem 1 | and ahead of it by (1 - phi) L_k at most | the same |
//! | T-WFI | L_k / r_k - L_k / R + L / R | `t_wfi_stays_within_the_bound` |
//! | latency | L / R | `latency_stays_within_the_bound` |
//! | the same while weights change and packets are pushed out | L / R | `theorems/upheaval.rs`: `latency_holds_for_flows_whose_weights_stay` |
//! | service order | that of the exact reference | `serves_in_the_order_of_exact_finish_times` |
//!
//! Work conservation: whenever the link picks, the fluid service of some waiting packet has begun.
//! Otherwise the fluid server would still be at work on departed packets and would have sent less
//! than the link, but both have sent the same. In whole numbers this holds to the last unit,
//! because `GpsClock` conserves work. Fluid work on packets that were pushed out, or whose weight
//! has changed, can be lost. The fluid server may then be late, and V catches up with the smallest
//! start time. `fluid.rs` proves that the latency holds in spite of both.
//!
//! Neither B-WFI nor fairness over intervals of packet backlog is bounded. A flow whose first
//! packet is not yet eligible lets a long packet pass. Meanwhile the fluid server finishes all of
//! the flow's packets and takes the flow for idle although packets wait, so the flow's next packet
//! starts anew at V. Nobody makes up for the lost service, so a flow that keeps one packet waiting
//! in this way can get far less than its share for ever
//! (`a_flow_that_always_has_a_packet_may_get_less_than_its_share`). `wf2q_plus`, where S = F of the
//! packet before while packets wait, has a bound. The paper defines fairness by delay, as T-WFI
//! here, and the T-WFI bound holds.
//!
//! Number format: see `GpsClock`. Virtual times that differ by less than 2^-18 bytes count as
//! equal.
//!
//! Cost: O(log N) a packet, amortised, because a flow moves through three heaps. Memory: one record
//! for each flow, and 8 bytes for each packet, which hold V as it came.
//!
//! Differences from the paper: those of `wfq`.

use crate::author::{
    Bound, ByCopy, Discipline, DropReason, Guarantees, Handle, Linux, Queues, Share, VirtualTime,
};
use crate::mechanisms::fluid::{Imitation, Order, Service, TOLERANCE};
use crate::mechanisms::gps_clock::GpsClock;
use crate::mechanisms::heap::FlowHeap;

/// WF2Q has no parameters besides the flows' weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "wf2q";
    const ABOUT: &'static str =
        "worst-case fair weighted fair queueing: within one packet of a fluid server";
    const SOURCE: &'static str =
        "Bennett, Zhang, WF2Q: Worst-case Fair Weighted Fair Queueing, INFOCOM 1996";
    const LINUX: Linux = Linux::Absent;
    const WEIGHTED: bool = true;
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    /// The fluid server's arithmetic.
    const BOUNDS: &'static [DropReason] = &[DropReason::Refused];
    const QUEUES: Queues = Queues::PerFlow;
    const COMPLEXITY: &'static str = "O(log N)";
    type Scheduler<T: Send> = Wf2q<T>;
    /// By copy, because each packet carries V as it arrived.
    type ByHandle = ByCopy<Wf2q<Handle>>;

    fn guarantees(&self, share: &Share) -> Guarantees {
        let own = u64::from(share.max_packet_len);
        let any = u64::from(share.link_max_packet_len);
        let tied = GpsClock::tied_bytes(share);
        // L is no less than L_k if both are lengths of sent packets, but the allowed maximum may be
        // more.
        let late = share
            .rate
            .time_of(share.per_share(own) + any.saturating_sub(own) + tied);
        let latency = share.rate.time_of(any + tied);
        Guarantees {
            t_wfi: Some(Bound {
                value: late,
                source: "Bennett and Zhang 1996, Theorem 2: L_k / r_k - L_k / R + L / R",
            }),
            latency: Some(Bound {
                value: latency,
                source: "Bennett and Zhang 1996, Theorem 1: L / R after the fluid server",
            }),
            ..Guarantees::default()
        }
    }
}

/// The scheduler.
pub type Wf2q<T> = Imitation<T, ByFinishOfBegun>;

/// Flows, by whether the fluid server has begun their first packet.
#[derive(Debug, Clone, Default)]
pub struct ByFinishOfBegun {
    /// Flows whose first packet had begun at the link's last pick, by F.
    eligible: FlowHeap,
    /// The others, by S.
    ineligible: FlowHeap,
}

impl ByFinishOfBegun {
    #[inline]
    fn update_eligible(&mut self, now: VirtualTime, head: impl Fn(usize) -> Service) {
        if self
            .ineligible
            .first_key()
            .is_some_and(|start| has_begun(start, now))
        {
            self.admit_begun(now, head);
        }
    }

    #[inline(never)]
    fn admit_begun(&mut self, now: VirtualTime, head: impl Fn(usize) -> Service) {
        let eligible = &mut self.eligible;
        self.ineligible.take_up_to(now.plus(TOLERANCE), |flow| {
            eligible.insert(flow, head(flow).rounded_finish())
        });
    }
}

#[inline]
const fn has_begun(start: VirtualTime, now: VirtualTime) -> bool {
    start.since(now) <= TOLERANCE as i64
}

impl Order for ByFinishOfBegun {
    const NAME: &'static str = Config::NAME;
    const BYTES_PER_FLOW: usize = 2 * FlowHeap::BYTES_PER_FLOW;

    #[inline]
    fn insert(&mut self, flow: usize, head: Service) {
        self.ineligible.insert(flow, head.start);
    }

    #[inline]
    fn remove(&mut self, flow: usize) {
        self.eligible.remove(flow);
        self.ineligible.remove(flow);
    }

    #[inline]
    fn replace(&mut self, flow: usize, head: Service) {
        self.remove(flow);
        self.insert(flow, head);
    }

    /// If no flow is eligible, V catches up with the smallest S.
    fn choose(&mut self, clock: &mut GpsClock, head: impl Fn(usize) -> Service) -> Option<usize> {
        self.update_eligible(clock.now(), &head);
        if self.eligible.is_empty() {
            let start = self.ineligible.first_key()?;
            clock.catch_up(start.minus(TOLERANCE));
            self.update_eligible(clock.now(), &head);
        }
        self.eligible.first().map(|(_, flow)| flow)
    }

    fn check(&self, flow: usize, head: Option<Service>, now: VirtualTime) {
        let early = self.eligible.contains(flow);
        let late = self.ineligible.contains(flow);
        assert_eq!(
            usize::from(early) + usize::from(late),
            usize::from(head.is_some()),
            "flows with packets are in one heap"
        );
        assert!(
            !early || head.is_some_and(|head| has_begun(head.start, now)),
            "who is eligible has begun"
        );
        if flow == 0 {
            self.eligible.check();
            self.ineligible.check();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::flow_config::FlowConfig;
    use crate::packet::{FlowId, Packet};
    use crate::scheduler::Scheduler;
    use crate::time::Instant;
    use alloc::vec::Vec;

    /// Flow 0 has half of the link, ten others a twentieth each: flow 0 sends every other packet.
    #[test]
    fn a_heavy_flow_takes_turns_with_the_light_ones() {
        for start in [0, u64::MAX - 1_000] {
            let mut scheduler = Wf2q::start_at(VirtualTime::from_bits(start));
            scheduler
                .set_flow(
                    FlowId(0),
                    FlowConfig {
                        weight: 10,
                        ..FlowConfig::DEFAULT
                    },
                )
                .unwrap();
            for flow in [0; 11].into_iter().chain(1..=10) {
                scheduler
                    .enqueue(Instant::ZERO, Packet::new(FlowId(flow), 1000, ()))
                    .unwrap();
            }
            let order: Vec<_> = core::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
                .map(|packet| packet.flow.0)
                .collect();
            assert_eq!(
                order,
                [
                    0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0, 10, 0
                ],
                "from {start}"
            );
        }
    }
}
