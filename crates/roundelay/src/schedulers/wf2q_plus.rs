//! WF2Q+: earliest virtual finish time first, among flows with a start no later than V.
//!
//! Each backlogged flow has a virtual start and finish time, in bytes of service divided by weight.
//! The system virtual time V is the progress of a perfectly fair fluid server. Flows with a start
//! no later than V are eligible, and the eligible flow with the smallest finish time is served. No
//! scheduler that sends whole packets comes closer to its shares. The price is sorting, O(log N) a
//! packet.
//!
//! Source: J. Bennett, H. Zhang, "Hierarchical Packet Fair Queueing Algorithms", IEEE/ACM ToN 5(5),
//! 1997, in the form of the QFQ paper (F. Checconi, P. Valente, L. Rizzo, "QFQ: Efficient Packet
//! Scheduling with Tight Bandwidth Distribution Guarantees"), section 3.1.
//!
//! | paper | here |
//! |---|---|
//! | S^k, F^k (Eq. 2) | `FlowRecord::start`, `FlowRecord::finish` |
//! | V(t) (Eq. 3) | `clock` |
//! | phi_k | weight over the sum of all flows' weights |
//!
//! | guarantee | value | test in `theorems/wf2q_plus.rs` |
//! |---|---|---|
//! | service order | that of the exact reference, packet by packet | `equals_the_exact_reference` |
//! | B-WFI | 2 L_k + 2 phi L | `b_wfi_stays_within_the_bound` |
//! | T-WFI | (L_k / phi + 2 L) / R | `t_wfi_stays_within_the_bound` |
//! | latency | (L_k / phi - L_k + 2 L) / R | `latency_stays_within_the_bound` |
//! | fairness | 2 (L_k / phi - L_k + L / smallest phi) / R | `fairness_stays_within_the_bound` |
//!
//! Latency and fairness follow from the range of V, with weights that add up to w and stay
//! constant. A flow is served with S <= V, and V rises by its packet over w, so the next S is at
//! most L_k (1/w_k - 1/w) after V. Nor does V leave a waiting packet of length l behind: V is at
//! most (L - l) / w after its F. To see this, let u be the last earlier instant at which a packet
//! with a later F was chosen, or V jumped. All later service up to the packet starts after V(u) and
//! finishes by F, which is at most w (F - V(u)) - l bytes, and the packet chosen at u is one L.
//! Latency: from the instant a at which the flow became backlogged until its packet p begins, V
//! rises by no more than (L_k / phi - L_k) / w from V(a) to the first S, then by the flow's bytes
//! up to p over w_k, then by (L - l) / w. The link sends w bytes for each unit, a packet may still
//! be on the link at a, and p takes l. Fairness: a backlogged flow gets w_k bytes for each unit of
//! S, and S stays within L_k (1/w_k - 1/w) after V and (L - l) / w + l / w_k before V. The width of
//! this range, for both flows, is the bound.
//!
//! Number format: virtual time in 2^-30 bytes per unit of weight, wrapping at 2^64. Divisions keep
//! their remainders, and rounding does not add up: S, F and V are each less than a few units off.
//! Times that differ by less than 2^-18 bytes count as equal, so that flows which are exactly on
//! time, or exactly tied, are recognised whatever the weights.
//!
//! Cost: two moves between heaps a packet, O(log N). The minimum in Eq. 3 costs nothing: while a
//! flow is eligible the minimum is not above V, and otherwise the first ineligible flow has it.
//! Memory: one record for each flow, see `footprint`.
//!
//! The paper states the B-WFI as L_k + 2 phi L (section 5.1). This holds for intervals that end
//! just after a packet of the flow was sent. For intervals that end at any time, as in the paper's
//! Eq. 7, the same steps give one L_k more, and some workloads need it.
//!
//! Differences from the paper: ties go to the flow with the smaller number. A changed weight counts
//! from the flow's next head packet on. Packets longer than 65536 bytes are refused, which bounds
//! the distance of timestamps.

use crate::author::{
    Backlog, Bound, ConfigError, Configured, Control, Discipline, DropReason, FlowConfig, FlowId,
    Footprint, Guarantees, Handle, Instant, Links, Linux, Nodes, Packet, Queues, Refused,
    Scheduler, Seed, Share, Storage, VirtualClock, VirtualTime,
};
use crate::guarantees::Printed;
use crate::mechanisms::flow_table::{FlowRecord, FlowTable};
use crate::mechanisms::heap::FlowHeap;
use crate::mechanisms::longest::Longest;
use crate::virtual_time::MAX_AHEAD;

/// WF2Q+ has no parameters besides the flows' weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "wf2q_plus";
    const ABOUT: &'static str =
        "worst-case fair weighted fair queueing plus: WF2Q's fairness with a simpler virtual time";
    const SOURCE: &'static str =
        "Bennett, Zhang, Hierarchical Packet Fair Queueing Algorithms, IEEE/ACM ToN 5(5), 1997";
    const LINUX: Linux = Linux::Absent;
    const WEIGHTED: bool = true;
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    const QUEUES: Queues = Queues::PerFlow;
    const COMPLEXITY: &'static str = "O(log N)";
    const INTERIOR: bool = true;
    type Scheduler<T: Send> = Wf2qPlus<T>;
    type ByHandle = Wf2qPlus<Handle, Links>;

    fn guarantees(&self, share: &Share) -> Guarantees {
        let own = u64::from(share.max_packet_len);
        let any = u64::from(share.link_max_packet_len);
        let b_wfi = Bound {
            value: 2 * own + share.of(2 * any),
            source: "QFQ paper, Eq. 9 with exact timestamps: 2 L_k + 2 phi L",
        };
        let late = share.rate.time_of(share.per_share(own) + 2 * any);
        let t_wfi = Bound {
            value: late,
            source: "QFQ paper, section 5.2: (L_k / phi + 2 L) / R",
        };
        let ahead = share.per_share(own).saturating_sub(own);
        let latency = Bound {
            value: share.rate.time_of(ahead + 2 * any),
            source: "wf2q_plus.rs: (L_k / phi - L_k + 2 L) / R",
        };
        let apart = share.rate.time_of(2 * (ahead + share.per_least_share(any)));
        let fairness = Bound {
            value: apart,
            source: "wf2q_plus.rs: 2 (L_k / phi - L_k + L / smallest phi) / R",
        };
        let printed = Bound {
            value: own + share.of(2 * any),
            source: "QFQ paper, section 5.1: L_k + 2 phi L",
        };
        let printed = Printed {
            b_wfi: Some(printed),
            t_wfi: None,
        };
        Guarantees {
            b_wfi: Some(b_wfi),
            t_wfi: Some(t_wfi),
            latency: Some(latency),
            fairness: Some(fairness),
            service: None,
            printed,
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Wf2qPlus<T, P = Nodes<T>> {
    flows: FlowTable<T, Times, P>,
    clock: VirtualClock,
    /// Backlogged flows with a start no later than V, by finish time.
    eligible: FlowHeap,
    /// The other backlogged flows, by start time.
    ineligible: FlowHeap,
}

#[derive(Debug, Clone, Default)]
struct Times {
    /// S of the head packet.
    start: VirtualTime,
    /// F of the head packet, or of the last packet if the flow is idle.
    finish: VirtualTime,
    /// Remainder of F's division, in units of 1 / weight.
    remainder: u64,
}

/// Virtual times no further apart than this count as equal: 2^-18 bytes.
const TOLERANCE: u64 = 1 << ROUNDED_BITS;
const ROUNDED_BITS: u32 = 12;

impl Times {
    /// F = S + len / weight.
    #[inline]
    fn finish_after(&mut self, len: u32, weight: u32) {
        let scaled = (u64::from(len) << VirtualTime::FRACTION_BITS) + self.remainder;
        let weight = u64::from(weight);
        self.finish = self.start.plus(scaled / weight);
        self.remainder = scaled % weight;
    }

    /// F, rounded so that tied flows compare as equal.
    #[inline]
    const fn rounded_finish(&self) -> VirtualTime {
        self.finish
            .plus(1 << (ROUNDED_BITS - 1))
            .slot_start(ROUNDED_BITS)
    }
}

impl<T, P: Storage<T>> Configured<Config> for Wf2qPlus<T, P> {
    fn configured(_: Config, _: Seed) -> Result<Self, ConfigError> {
        let eligible = FlowHeap::default();
        let ineligible = FlowHeap::default();
        Ok(Self {
            flows: FlowTable::default(),
            clock: VirtualClock::default(),
            eligible,
            ineligible,
        })
    }
}

impl<T, P: Storage<T>> Wf2qPlus<T, P> {
    fn set_weight(&mut self, number: usize, weight: u32) {
        let id = FlowId(number as u32);
        let flow = self.flows.record(number);
        let before = flow.weight;
        if weight == before {
            return;
        }
        let finish = flow.state.finish;
        (flow.weight, flow.state.remainder) = (weight, 0);
        if weight > before {
            self.clock.add_weight(id, weight - before);
        } else if weight < before {
            self.clock.remove_weight(id, before - weight, finish);
            self.let_weights_go();
        }
    }

    /// Eq. 2 on a newly backlogged flow.
    fn activate(&mut self, number: usize, len: u32) {
        let now = self.clock.now();
        let FlowRecord {
            weight,
            state: times,
            ..
        } = &mut self.flows[number];
        // Eq. 2: S = max(F, V).
        let ahead = times.finish.since(now);
        if (0..=MAX_AHEAD).contains(&ahead) {
            times.start = times.finish;
        } else {
            (times.start, times.remainder) = (now, 0);
        }
        // Eq. 2: F = S + l / phi.
        times.finish_after(len, *weight);
        self.sort_in(number);
        self.update_eligible();
    }

    fn sort_in(&mut self, number: usize) {
        let times = &self.flows[number].state;
        if self.is_eligible(times.start) {
            self.eligible.insert(number, times.rounded_finish());
        } else {
            self.ineligible.insert(number, times.start);
        }
    }

    #[inline]
    fn is_eligible(&self, start: VirtualTime) -> bool {
        start.since(self.clock.now()) <= TOLERANCE as i64
    }

    /// Eq. 3's minimum. Moves newly eligible flows.
    #[inline]
    fn update_eligible(&mut self) {
        let Some(first) = self.ineligible.first_key() else {
            return;
        };
        if self.eligible.is_empty() {
            // Eq. 3: V is not before the first start of a backlogged flow.
            self.clock.jump_to(first);
        }
        if self.is_eligible(first) {
            self.admit_eligible();
        }
    }

    #[inline(never)]
    fn admit_eligible(&mut self) {
        let eligible = &mut self.eligible;
        let flows = &self.flows;
        let limit = self.clock.now().plus(TOLERANCE);
        self.ineligible.take_up_to(limit, |number| {
            eligible.insert(number, flows[number].state.rounded_finish())
        });
    }

    #[inline]
    fn dequeue_packet(
        &mut self,
        refill: impl FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<P::Leaving> {
        // The eligible flow that finishes first in the fluid server.
        let (_, number) = self.eligible.first()?;
        let len = self.flows[number].queue.head_len();
        let (packet, flow) = self.flows.pop(number, refill);
        // Eq. 3: W(t1, t2) over the sum of weights.
        self.clock.advance_exactly(len);
        let next = flow.queue.next_len();
        self.let_weights_go();
        match next {
            Some(len) => self.go_on(number, len),
            None => {
                self.eligible.remove(number);
                self.leave_if_removed(number);
            }
        }
        self.update_eligible();
        packet
    }

    /// Eq. 2 on a served flow with another packet: S = F.
    #[inline]
    fn go_on(&mut self, number: usize, len: u32) {
        let FlowRecord {
            weight,
            state: times,
            ..
        } = &mut self.flows[number];
        times.start = times.finish;
        times.finish_after(len, *weight);
        let start = times.start;
        let finish = times.rounded_finish();
        if self.is_eligible(start) {
            self.eligible.change(number, finish);
        } else {
            self.eligible.remove(number);
            self.ineligible.insert(number, start);
        }
    }

    /// Removes the tail of a flow's queue. An emptied flow is not charged, because the packet was
    /// not sent.
    fn evict_from(&mut self, number: usize) -> Option<P::Leaving> {
        let packet = self.flows.pop_tail(number)?;
        let flow = &mut self.flows[number];
        if flow.queue.is_empty() {
            flow.state.finish = flow.state.start;
            self.eligible.remove(number);
            self.ineligible.remove(number);
            self.leave_if_removed(number);
            self.let_weights_go();
            self.update_eligible();
        }
        Some(packet)
    }

    #[inline]
    fn let_weights_go(&mut self) {
        if self.clock.has_leaving() {
            self.clock.let_go(self.flows.backlog().is_empty());
        }
    }

    fn leave_if_removed(&mut self, number: usize) {
        if self.flows.has_left(number) {
            self.set_weight(number, 0);
        }
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for Wf2qPlus<T, P> {
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        if let Err(reason) = self
            .flows
            .make_room_for(&packet, FlowConfig::MAX_PACKET_LEN)
        {
            return Err(packet.refused(reason));
        }
        let number = packet.flow.index();
        let len = packet.len;
        if self.flows.record(number).weight == 0 {
            // An unknown flow joins with weight 1.
            self.set_weight(number, FlowConfig::DEFAULT.weight);
        }
        if self.flows.push(packet) {
            self.activate(number, len);
        }
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
        self.evict_from(number)
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<P::Leaving> {
        self.evict_from(flow.index())
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }
}

impl<T, P: Storage<T>> Control for Wf2qPlus<T, P> {
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

    fn total_weight(&self) -> Option<u64> {
        Some(self.clock.total_weight())
    }

    fn footprint(&self) -> Footprint {
        let bytes_per_flow =
            FlowTable::<T, Times, P>::BYTES_PER_FLOW + 2 * FlowHeap::BYTES_PER_FLOW;
        Footprint {
            fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES,
            bytes_per_flow,
        }
    }

    /// 1. A backlogged flow is in one heap, chosen by its start relative to V. An idle flow is in
    ///    none.
    /// 2. Work conservation: if a flow is backlogged, one is eligible.
    /// 3. Both heaps are in order, and F = S plus the head packet's bytes over the weight when the
    ///    packet became head.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        for (number, flow) in self.flows.iter().enumerate() {
            let early = self.eligible.contains(number);
            let late = self.ineligible.contains(number);
            let is_late = !self.is_eligible(flow.state.start);
            assert_eq!(
                (early, late),
                if flow.queue.is_empty() {
                    (false, false)
                } else {
                    (!is_late, is_late)
                },
                "invariant 1"
            );
            assert!(
                flow.queue.is_empty() || flow.state.finish.since(flow.state.start) >= 0,
                "invariant 3"
            );
        }
        self.flows.check();
        assert_eq!(
            self.eligible.is_empty(),
            self.flows.backlog().is_empty(),
            "invariant 2"
        );
        self.eligible.check();
        self.ineligible.check();
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Flows 0 and 1 have weights 3 and 1 and send 1000-byte packets, so V advances by 250 with
    /// each.
    #[test]
    fn heavier_flows_go_first_but_not_ahead_of_their_share() {
        for start in [0, u64::MAX - 1_000] {
            let mut scheduler = Wf2qPlus {
                clock: VirtualClock::start_at(VirtualTime::from_bits(start)),
                ..Wf2qPlus::default()
            };
            scheduler
                .set_flow(
                    FlowId(0),
                    FlowConfig {
                        weight: 3,
                        ..FlowConfig::DEFAULT
                    },
                )
                .unwrap();
            for flow in [0, 0, 0, 0, 1, 1] {
                scheduler
                    .enqueue(Instant::ZERO, Packet::new(FlowId(flow), 1000, ()))
                    .unwrap();
            }
            let order: Vec<_> = core::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
                .map(|packet| packet.flow.0)
                .collect();
            assert_eq!(order, [0, 1, 0, 0, 0, 1], "from {start}");
        }
    }

    /// The clock turns half-way while flow 0 is idle: the old finish time then looks far ahead.
    #[test]
    fn a_flow_that_was_idle_for_half_a_turn_of_the_clock_is_not_starved() {
        let mut scheduler = Wf2qPlus::default();
        let packet = |flow| Packet::new(FlowId(flow), 1500, ());
        scheduler.enqueue(Instant::ZERO, packet(0)).unwrap();
        scheduler.dequeue(Instant::ZERO);
        scheduler
            .clock
            .jump_to(scheduler.clock.now().plus(i64::MAX as u64));
        scheduler.clock.jump_to(scheduler.clock.now().plus(1 << 50));
        for flow in [1, 1, 1, 0] {
            scheduler.enqueue(Instant::ZERO, packet(flow)).unwrap();
        }
        let order: Vec<_> = core::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
            .map(|packet| packet.flow.0)
            .collect();
        assert_eq!(order, [0, 1, 1, 1]);
    }

    /// A class's child supplies packets one by one, in the same order as if all of them waited.
    #[test]
    fn packets_that_refill_leave_as_those_that_wait() {
        let lens = [
            [1000, 300, 700, 1500],
            [64, 64, 1500, 800],
            [1500, 1500, 10, 0],
        ];
        let mut waiting = Wf2qPlus::default();
        let mut refilled = Wf2qPlus::default();
        let mut next = [1usize; 3];
        for (flow, lens) in (0..).zip(lens) {
            for scheduler in [&mut waiting, &mut refilled] {
                scheduler
                    .set_flow(
                        FlowId(flow),
                        FlowConfig {
                            weight: 1 + flow,
                            ..FlowConfig::DEFAULT
                        },
                    )
                    .unwrap();
            }
            lens.iter().for_each(|len| {
                waiting
                    .enqueue(Instant::ZERO, Packet::new(FlowId(flow), *len, ()))
                    .unwrap()
            });
            refilled
                .enqueue(Instant::ZERO, Packet::new(FlowId(flow), lens[0], ()))
                .unwrap();
        }
        for _ in 0..12 {
            let packet = refilled.dequeue_refilled(Instant::ZERO, &mut |flow| {
                let len = *lens[flow.index()].get(next[flow.index()])?;
                next[flow.index()] += 1;
                Some(Packet::new(flow, len, ()))
            });
            assert_eq!(packet, waiting.dequeue(Instant::ZERO));
        }
        assert_eq!(
            (refilled.backlog(), waiting.dequeue(Instant::ZERO)),
            (Backlog::default(), None)
        );
    }

    #[test]
    fn a_child_that_lost_what_stood_for_it_is_not_charged() {
        let mut scheduler = Wf2qPlus::default();
        for flow in [0, 1] {
            scheduler
                .enqueue(Instant::ZERO, Packet::new(FlowId(flow), 1500, ()))
                .unwrap();
        }
        assert_eq!(scheduler.evict_flow(FlowId(7)), None);
        assert_eq!(
            scheduler.evict_flow(FlowId(0)).map(|packet| packet.flow),
            Some(FlowId(0))
        );
        let times = &scheduler.flows[0].state;
        assert_eq!(times.finish, times.start);
        assert_eq!(
            scheduler.dequeue(Instant::ZERO).map(|packet| packet.flow),
            Some(FlowId(1))
        );
        assert_eq!(scheduler.evict_flow(FlowId(1)), None);
    }
}
