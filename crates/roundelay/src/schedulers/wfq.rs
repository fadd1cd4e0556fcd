//! WFQ, or PGPS: among the waiting packets, the earliest finish time in a fluid server goes first.
//!
//! The fluid server (GPS) serves all backlogged flows at once by weight, bit by bit, acts as a
//! clock at the link's real rate, and gives each packet's finish time. The link takes the smallest,
//! so no packet leaves later than from the fluid server by more than one packet takes. But a packet
//! may leave much earlier: a heavy flow alone among many light ones is sent far ahead of its share,
//! and then waits for all of them. `wf2q` mends this.
//!
//! Source: A. Demers, S. Keshav, S. Shenker, "Analysis and Simulation of a Fair Queueing
//! Algorithm", SIGCOMM 1989. A. Parekh, R. Gallager, "A Generalized Processor Sharing Approach to
//! Flow Control in Integrated Services Networks: The Single-Node Case", IEEE/ACM ToN 1(3), 1993.
//!
//! | paper | here |
//! |---|---|
//! | V(t) | `GpsClock::now` |
//! | S_i^k, F_i^k | `Service::start`, `Service::finish`, of the first packet of each flow |
//! | phi_i | weight over the sum of all flows' weights |
//!
//! With L the longest packet and C the largest L_n / w_n among all flows, and W the sum of all
//! weights:
//!
//! | guarantee | value | test in `theorems/wfq.rs` |
//! |---|---|---|
//! | Theorem 1 | a packet leaves no later than from the fluid server by L / R | `packets_leave_a_packet_after_the_fluid_server_at_most` |
//! | Theorem 2 | a flow's service is behind the fluid server's by L at most | `no_flow_is_a_packet_behind_the_fluid_server` |
//! | service order | that of exact fluid finish times | `serves_in_the_order_of_exact_finish_times` |
//! | latency | L / R | `latency_stays_within_the_bound` |
//! | the same while weights change and packets are pushed out | L / R | `theorems/upheaval.rs`: `latency_holds_for_flows_whose_weights_stay` |
//! | fairness | (L_j / w_j + C) W / R | `fairness_stays_within_the_bound` |
//! | B-WFI | (1 - phi)(L_k + w_k C) | `wfi_stay_within_the_bounds` |
//! | T-WFI | (W C + L) / R | `wfi_stay_within_the_bounds` |
//!
//! Latency: the fluid server gives a backlogged flow at least phi R, so it is never later than GRC.
//! For changing weights and packets pushed out see `fluid.rs`. The last three are our own, since
//! the papers state none. (1) Whenever the link picks, V is not before F - C of the sent packet,
//! because some waiting packet has S <= V. Otherwise the fluid server would still be at work on
//! departed packets and would have sent less than the link, but both have sent the same. If the
//! fluid server has sent less, since some work was for packets pushed out, V catches up. (2) Every
//! sent packet has F <= V + C. (3) If a flow k has packets from t on, the first starting at S, then
//! S >= F - C for each F sent before t, since k's packet was there already and F is not larger than
//! its finish time, or the packet came when V had reached F - C. (4) V passes the F of k's packet
//! before its transmission only while the link makes up for having been ahead, with times smaller
//! than k's, so gaps between the times of k's packets end at the largest F sent before t. With (3)
//! and (4) each other flow is sent W_j / w_j <= W_k / w_k + L_k / w_k + C in the meantime. The sum
//! over all flows is the B-WFI. (2) bounds how far k is ahead of the fluid server, which with
//! Theorem 1 gives the T-WFI. C grows with the number of flows, because one of N flows on a link
//! has W / N or less.
//!
//! Number format: see `GpsClock`. Finish times that differ by less than 2^-18 bytes count as tied.
//!
//! Cost: O(log N) a packet, amortised, because a flow is in two heaps. Memory: one record for each
//! flow, and 8 bytes for each packet, which hold V on arrival.
//!
//! Differences from the papers: V is not reset when the link is idle, but wraps. Ties go to the
//! flow with the smaller number. Fluid work on a packet is lost if the packet is pushed out. A
//! changed weight counts from the packet behind the flow's first one on, as of the last arrival or
//! departure. The port sets the link's rate. Without one, a packet counts as sent on dequeue.
//! Packets longer than 65536 bytes, and more than 4 GB of one flow, are refused.

use crate::author::{
    Bound, ByCopy, Discipline, DropReason, Guarantees, Handle, Linux, Queues, Share, VirtualTime,
};
use crate::mechanisms::fluid::{Imitation, Order, Service, TOLERANCE};
use crate::mechanisms::gps_clock::GpsClock;
use crate::mechanisms::heap::FlowHeap;

/// WFQ has no parameters besides the flows' weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "wfq";
    const ABOUT: &'static str = "weighted fair queueing (PGPS): packets in the order in which a fluid server would finish them";
    const SOURCE: &'static str =
        "Demers, Keshav, Shenker, SIGCOMM 1989; Parekh, Gallager, IEEE/ACM ToN 1(3), 1993";
    const LINUX: Linux = Linux::Absent;
    const WEIGHTED: bool = true;
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    /// The fluid server's arithmetic.
    const BOUNDS: &'static [DropReason] = &[DropReason::Refused];
    const QUEUES: Queues = Queues::PerFlow;
    const COMPLEXITY: &'static str = "O(log N)";
    type Scheduler<T: Send> = Wfq<T>;
    /// By copy, because each packet carries V as it arrived.
    type ByHandle = ByCopy<Wfq<Handle>>;

    fn guarantees(&self, share: &Share) -> Guarantees {
        let own = u64::from(share.max_packet_len);
        let any = u64::from(share.link_max_packet_len);
        // The lightest flow's C, in bytes that the link sends and in bytes that this flow sends.
        let lightest = Share {
            weight: share.least_weight,
            ..*share
        };
        let ahead = lightest.per_share(any);
        let own_ahead = (any * u64::from(share.weight)).div_ceil(share.least_weight.max(1).into());
        let tied = GpsClock::tied_bytes(share);
        let late = |bytes: u64| share.rate.time_of(bytes + tied);
        let one_packet = "Parekh and Gallager 1993, Theorem 1: L / R after the fluid server";
        let b_wfi = (own + own_ahead) - share.of(own + own_ahead).saturating_sub(1) + tied;
        Guarantees {
            b_wfi: Some(Bound {
                value: b_wfi,
                source: "(1 - phi)(L_k + w_k max L_n / w_n): proof in wfq.rs",
            }),
            t_wfi: Some(Bound {
                value: late(ahead + any),
                source: "(W max L_n / w_n + L) / R: proof in wfq.rs",
            }),
            latency: Some(Bound {
                value: late(any),
                source: one_packet,
            }),
            fairness: Some(Bound {
                value: late(2 * ahead),
                source: "L_j / r_j + max L_n / r_n: proof in wfq.rs",
            }),
            ..Guarantees::default()
        }
    }
}

/// The scheduler.
pub type Wfq<T> = Imitation<T, ByFinish>;

/// Flows by F of their first packets.
#[derive(Debug, Clone, Default)]
pub struct ByFinish {
    backlogged: FlowHeap,
    /// The largest F - S that a first packet had since the heap was last empty.
    longest: u64,
}

impl Order for ByFinish {
    const NAME: &'static str = Config::NAME;
    const BYTES_PER_FLOW: usize = FlowHeap::BYTES_PER_FLOW;

    #[inline]
    fn insert(&mut self, flow: usize, head: Service) {
        let length = head.finish.since(head.start) as u64;
        self.longest = if self.backlogged.is_empty() {
            length
        } else {
            self.longest.max(length)
        };
        self.backlogged.insert(flow, head.rounded_finish());
    }

    #[inline]
    fn remove(&mut self, flow: usize) {
        self.backlogged.remove(flow);
    }

    #[inline]
    fn replace(&mut self, flow: usize, head: Service) {
        self.longest = self.longest.max(head.finish.since(head.start) as u64);
        self.backlogged.change(flow, head.rounded_finish());
    }

    /// Every sent packet has F <= V + C. If not, all waiting packets have an S after V, so V
    /// catches up.
    #[inline]
    fn choose(&mut self, clock: &mut GpsClock, _: impl Fn(usize) -> Service) -> Option<usize> {
        let (finish, flow) = self.backlogged.first()?;
        clock.catch_up(finish.minus(self.longest + TOLERANCE));
        Some(flow)
    }

    fn check(&self, flow: usize, head: Option<Service>, _: VirtualTime) {
        assert_eq!(
            self.backlogged.contains(flow),
            head.is_some(),
            "flows with packets are in the heap"
        );
        assert!(
            head.is_none_or(|head| head.finish.since(head.start) as u64 <= self.longest),
            "no packet takes longer"
        );
        if flow == 0 {
            self.backlogged.check();
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

    /// Flow 0 has half of the link, ten others a twentieth each: of simultaneous arrivals flow 0
    /// sends ten in a row.
    #[test]
    fn a_heavy_flow_is_sent_ahead_of_its_share() {
        for start in [0, u64::MAX - 1_000] {
            let mut scheduler = Wfq::start_at(VirtualTime::from_bits(start));
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
                [[0; 10].as_slice(), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[0]].concat(),
                "from {start}"
            );
        }
    }
}
