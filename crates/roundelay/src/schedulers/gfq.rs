//! GFQ (group fair queueing): WF2Q+ with rounded times, a calendar for each group of like flows,
//! and a scan over the groups for each packet.
//!
//! Flows whose ratios of packet length to weight are alike form a group with common slots, to which
//! their times are rounded. In a group's calendar, flows lie in the order of their rounded start
//! and finish times. Only the groups remain to be sorted, so each packet takes a scan for the
//! earliest finish among the groups whose first slot V has reached. Quick fair queueing (QFQ)
//! replaces the scan by bit operations.
//!
//! Source: D. C. Stephens, J. C. R. Bennett, H. Zhang, "Implementing Scheduling Algorithms in
//! High-Speed Networks", IEEE JSAC 17(6), 1999, in the outline of F. Checconi, P. Valente, L.
//! Rizzo, "QFQ: Efficient Packet Scheduling with Tight Bandwidth Distribution Guarantees", sections
//! 2 and 5 ("the QFQ paper"). **A reconstruction**: the outline states which times are rounded and
//! how far, a group's state, and what a packet costs. Everything else was designed here.
//!
//! | QFQ paper | here |
//! |---|---|
//! | S^k, F^k (Eq. 2) | `Flow::start`, `Flow::finish` in `mechanisms/strata.rs` |
//! | S^k rounded: down to a multiple of sigma_i | the slot |
//! | F^k rounded: up to a multiple of sigma_i, at least a slot after S^k rounded | which half of the slot |
//! | sigma_i, slot size | 2^`shift_of(i)` |
//! | V(t) (Eq. 3) | `clock` |
//!
//! | guarantee | value | test in `theorems/gfq.rs` |
//! |---|---|---|
//! | B-WFI | 2 phi sigma_i + 2 L_k + 2 phi L | `bounds_hold_in_random_and_adversarial_workloads` |
//! | T-WFI and latency | (2 sigma_i + L_k / phi + 2 L) / R | the same |
//! | V <= F^k rounded + L | Lemma 3 of S-KPS, Theorem 4 of the QFQ paper | invariants, `invariants_hold_after_each_operation` |
//!
//! **Proof.** Let S and F be the exact times, S' and F' the rounded ones: S - S' < sigma, F' - F <=
//! sigma, and F - S <= L_k / phi. A flow is served when S' <= V. After service F < S' + sigma + L_k
//! / phi, and at all times (a) S <= V + sigma + L_k / phi. The eligible flow with the smallest F'
//! is served, and therefore (b) V <= F' + L, also just after the packet was counted: the proof of
//! Theorem 4 in the QFQ paper needs only S' <= S and F <= F'. From (b), S >= F - L_k / phi >= F' -
//! sigma - L_k / phi >= V - sigma - L_k / phi - L. In an interval in which the flow is backlogged,
//! it gets phi times the rise of S, at least phi (rise of V - 2 sigma - 2 L_k / phi - L), and V
//! rises by the bytes sent on the link except for a packet, L. This is the B-WFI. A packet that
//! finds (or makes) a backlog of Q bytes at `t` has F = S(t) + Q / phi, and leaves before V is
//! beyond F + sigma + L. V is at most L behind the link. With (a) for S(t): the T-WFI. If the
//! backlog began at `t`, Q / phi is at most the time on a link of the flow's share: the latency.
//!
//! The QFQ paper has sigma_i for the one and sigma_i + L for the other distance from V, and derives
//! a B-WFI that is phi sigma_i less than QFQ's. With the missing L_k added, as in `qfq.rs`, the
//! T-WFI is indeed sigma_i / R less. But the B-WFI is only phi sigma_i - L_k less, so there is no
//! difference for packets that fill a slot (`the_b_wfi_is_not_a_whole_slot_below_that_of_qfq`).
//!
//! Number format: virtual time in 2^-30 bytes per unit of *twice* the weight, wrapping at 2^64. A
//! flow's bytes are charged rounded up, by less than one part in 2^19, and V advances rounded down,
//! by less than one part in 2^30. What is rounded off is kept for the next step.
//!
//! Cost: O(groups), 16 at most. Memory: for each flow a record, its number in a list and its key in
//! the index of the longest. Also the calendars.
//!
//! Beyond the outline: S = max(V, F) for every newly backlogged flow. QFQ's back-shift keeps the
//! order of blocked groups, which a scan does not need. Of two groups with the same finish the one
//! with the shorter slots goes first. Flows change groups, and weights leave, as in `qfq.rs`.

use crate::author::{
    Backlog, Bound, ConfigError, Configured, Control, Discipline, DropReason, FlowConfig, FlowId,
    Footprint, Guarantees, Handle, Instant, Links, Linux, Nodes, Packet, Queues, Refused,
    Scheduler, Seed, Share, Storage, VirtualTime,
};
use crate::guarantees::Printed;
use crate::mechanisms::strata::{Flow, GROUPS, SLOTS, Strata, own_slot, shift_of};

/// Lists of a group: each slot has one for flows that finish in the slot, and one for flows that
/// finish in the next.
const HALVES: u32 = 2 * SLOTS;
/// A flow served in its slot finishes no later than two slots after the start of the slot.
const REACH: u32 = 1;

/// GFQ has no parameters besides the flows' weights and longest packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "gfq";
    const ABOUT: &'static str = "group fair queueing: WF2Q+ with rounded times; a scan over groups of flows for each packet";
    const SOURCE: &'static str = "Stephens, Bennett, Zhang, Implementing Scheduling Algorithms in High-Speed Networks, JSAC 17(6), 1999";
    const LINUX: Linux = Linux::Absent;
    const WEIGHTED: bool = true;
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    const QUEUES: Queues = Queues::PerFlow;
    const COMPLEXITY: &'static str = "O(groups)";
    type Scheduler<T: Send> = Gfq<T>;
    type ByHandle = Gfq<Handle, Links>;

    fn guarantees(&self, share: &Share) -> Guarantees {
        let slot = own_slot(share);
        let own = u64::from(share.max_packet_len);
        let any = 2 * u64::from(share.link_max_packet_len);
        let b_wfi = Bound {
            value: 2 * slot + 2 * own + share.of(any),
            source: "schedulers/gfq.rs: 2 phi sigma_i + 2 L_k + 2 phi L",
        };
        let late = share.rate.time_of(share.per_share(2 * slot + own) + any);
        let late = Bound {
            value: late,
            source: "schedulers/gfq.rs: (2 sigma_i + L_k / phi + 2 L) / R",
        };
        let printed = Printed {
            b_wfi: Some(Bound {
                value: 2 * slot + share.of(any),
                source: "QFQ paper, section 5.1: 2 phi sigma_i + 2 phi L",
            }),
            t_wfi: Some(Bound {
                value: share.rate.time_of(share.per_share(2 * slot) + any),
                source: "QFQ paper, section 5.2: (2 sigma_i + 2 L) / R",
            }),
        };
        Guarantees {
            b_wfi: Some(b_wfi),
            t_wfi: Some(late),
            latency: Some(late),
            fairness: None,
            service: None,
            printed,
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Gfq<T, P = Nodes<T>> {
    strata: Strata<T, P>,
    groups: [Group; GROUPS],
    /// Groups with flows, one bit each: only these are scanned.
    busy: u32,
}

/// The calendar of a group.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    /// Start of the first slot that holds a flow.
    start: VirtualTime,
    /// Halves of slots with flows: slot n of virtual time has the bits 2 n and 2 n + 1, modulo
    /// [`HALVES`].
    occupied: u128,
}

impl Group {
    const fn is_idle(self) -> bool {
        self.occupied == 0
    }

    /// Distance of the first occupied half from the beginning of `start`, in halves.
    fn first_half(self, shift: u32) -> u32 {
        let front = (self.start.bits() >> shift) as u32 % SLOTS;
        self.occupied.rotate_right(2 * front).trailing_zeros()
    }

    /// Brings `start` up to the first occupied slot.
    fn settle(&mut self, shift: u32) {
        if !self.is_idle() {
            self.start = self
                .start
                .plus(u64::from(self.first_half(shift) / 2) << shift);
        }
    }

    /// The earliest rounded finish time. Flows in the first half finish with their slot, flows in
    /// the second half with the next slot.
    fn finish(self, shift: u32) -> VirtualTime {
        self.start
            .plus(u64::from(1 + self.first_half(shift)) << shift)
    }
}

/// The half of a slot for a flow: the slot of S, and the second half if F is beyond the slot.
fn half_of(flow: &Flow) -> u32 {
    let shift = flow.shift();
    let is_late = flow.finish.since(flow.start.slot_start(shift)) > 1 << shift;
    2 * ((flow.start.bits() >> shift) as u32 % SLOTS) + u32::from(is_late)
}

fn slot_of(flow: &Flow) -> usize {
    flow.group() * HALVES as usize + half_of(flow) as usize
}

/// F rounded up.
fn rounded_finish(flow: &Flow) -> VirtualTime {
    flow.start
        .slot_start(flow.shift())
        .plus(u64::from(1 + half_of(flow) % 2) << flow.shift())
}

impl<T, P: Storage<T>> Configured<Config> for Gfq<T, P> {
    fn configured(_: Config, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            strata: Strata::new(GROUPS * HALVES as usize, REACH),
            groups: [Group::default(); GROUPS],
            busy: 0,
        })
    }
}

impl<T, P: Storage<T>> Gfq<T, P> {
    /// Puts a flow with its times into its group's calendar.
    fn list(&mut self, number: usize) {
        let flow = &self.strata.flows[number];
        let group = flow.group();
        let half = half_of(flow);
        let start = flow.start.slot_start(flow.shift());
        debug_assert!(self.is_in_range(flow), "Theorem 5");
        self.strata
            .list(number, group * HALVES as usize + half as usize);
        self.busy |= 1 << group;
        let group = &mut self.groups[group];
        if group.is_idle() || group.start.is_after(start) {
            group.start = start;
        }
        group.occupied |= 1 << half;
    }

    /// Half a slot in a group has lost its last flow.
    fn vacate(&mut self, group: usize, half: u32) {
        let state = &mut self.groups[group];
        state.occupied &= !(1 << half);
        state.settle(shift_of(group));
        if state.is_idle() {
            self.busy &= !(1 << group);
        }
    }

    /// Groups that hold flows.
    fn busy_groups(&self) -> impl Iterator<Item = usize> {
        let next = |set: &u32| Some(set & (set - 1)).filter(|rest| *rest != 0);
        core::iter::successors(Some(self.busy).filter(|set| *set != 0), next)
            .map(|set| set.trailing_zeros() as usize % GROUPS)
    }

    /// Eq. 3: V is not before the first slot of all groups.
    fn jump(&mut self) {
        let starts = self.busy_groups().map(|group| self.groups[group].start);
        if let Some(first) = starts.reduce(VirtualTime::earlier) {
            self.strata.clock.jump_to(first);
        }
    }

    /// The scan: among the groups whose first slot has begun, finds the one with the earliest
    /// finish.
    fn first_group(&self) -> Option<usize> {
        let (now, finish) = (self.strata.clock.now(), |group: usize| {
            self.groups[group].finish(shift_of(group))
        });
        let eligible = self
            .busy_groups()
            .filter(|group| !self.groups[*group].start.is_after(now));
        eligible.reduce(|first, group| {
            if finish(first).is_after(finish(group)) {
                group
            } else {
                first
            }
        })
    }

    fn dequeue_packet(&mut self) -> Option<P::Leaving> {
        // The eligible flow with the smallest F'. `serve` charges it by Eq. 2.
        let group = self.first_group()?;
        let shift = shift_of(group);
        let front = (self.groups[group].start.bits() >> shift) as u32 % SLOTS;
        let half = (2 * front + self.groups[group].first_half(shift)) % HALVES;
        let served = self.strata.serve(group * HALVES as usize + half as usize);
        if served.is_vacated {
            self.vacate(group, half);
        }
        if served.stays() {
            self.list(served.flow);
        }
        // V rises by the packet, Eq. 3.
        if self.strata.advance(&served) {
            self.list(served.flow);
        }
        self.jump();
        served.packet
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for Gfq<T, P> {
    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        if let Some(number) = self.strata.arrive(packet)? {
            self.list(number);
            self.jump();
        }
        Ok(())
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant) -> Option<P::Leaving> {
        self.dequeue_packet()
    }

    /// The tail of the longest backlog. An emptied flow is not charged for the packet, which was
    /// not sent.
    fn evict(&mut self) -> Option<P::Leaving> {
        let (packet, number) = self.strata.evict()?;
        let flow = &self.strata.flows[number];
        if flow.queue.is_empty() {
            let group = flow.group();
            let half = half_of(flow);
            if self.strata.withdraw(number) {
                self.vacate(group, half);
            }
            self.jump();
        }
        Some(packet)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.strata.pool.backlog()
    }
}

impl<T, P: Storage<T>> Control for Gfq<T, P> {
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        self.strata.set_flow(Config::NAME, flow, config)?;
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        self.strata.remove_flow(flow);
    }

    fn total_weight(&self) -> Option<u64> {
        Some(self.strata.total_weight())
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            fixed_bytes: size_of::<Self>() + self.strata.heap_bytes(),
            bytes_per_flow: Strata::<T, P>::BYTES_PER_FLOW,
        }
    }

    /// 1 and 2 are the invariants of `mechanisms/strata.rs`.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.strata.check(slot_of);
        for group in 0..GROUPS {
            self.check_group(group);
        }
        for flow in self.strata.backlogged() {
            self.check_flow(flow);
        }
        self.check_choice();
    }
}

/// Invariants.
impl<T, P: Storage<T>> Gfq<T, P> {
    /// 3. A half is marked if a flow lies there, and a group starts with its first marked half or
    ///    the half before.
    fn check_group(&self, group: usize) {
        let state = self.groups[group];
        let shift = shift_of(group);
        let mut occupied = 0;
        let mut first: Option<VirtualTime> = None;
        let mut finish: Option<VirtualTime> = None;
        for flow in self.strata.backlogged() {
            if flow.group() == group {
                let start = flow.start.slot_start(shift);
                let end = rounded_finish(flow);
                occupied |= 1 << half_of(flow);
                first = Some(first.map_or(start, |first| first.earlier(start)));
                finish = Some(finish.map_or(end, |finish| finish.earlier(end)));
            }
        }
        assert_eq!(occupied, state.occupied, "invariant 3");
        assert_eq!(
            self.busy >> group & 1 == 0,
            state.is_idle(),
            "invariant 3: busy if it holds flows"
        );
        if let (Some(first), Some(finish)) = (first, finish) {
            assert_eq!(
                first, state.start,
                "invariant 3: starts with its first flow"
            );
            assert_eq!(
                finish,
                state.finish(shift),
                "invariant 3: the first half finishes first"
            );
        }
    }

    /// 4. F is rounded up, by no more than a slot.
    /// 5. Theorem 3: no flow is further ahead of V than the end of V's slot.
    /// 6. Theorem 4: V <= F rounded + L, in debug builds, where L is kept.
    fn check_flow(&self, flow: &Flow) {
        let now = self.strata.clock.now();
        let shift = flow.shift();
        let finish = rounded_finish(flow);
        assert!(
            (0..=1 << shift).contains(&finish.since(flow.finish)),
            "invariant 4"
        );
        let slot_end = now.plus((1 << shift) - 1).slot_start(shift);
        assert!(
            !flow.start.slot_start(shift).is_after(slot_end),
            "invariant 5: Theorem 3"
        );
        let latest = finish.plus(self.strata.largest_step());
        assert!(
            !cfg!(debug_assertions) || !now.is_after(latest),
            "invariant 6: Theorem 4"
        );
    }

    /// 7. Work conservation: if a flow is backlogged, one is eligible.
    /// 8. The scan finds the earliest finish among all flows whose slot has begun.
    fn check_choice(&self) {
        let chosen = self.first_group();
        assert_eq!(chosen.is_none(), self.backlog().is_empty(), "invariant 7");
        let now = self.strata.clock.now();
        let mut earliest: Option<VirtualTime> = None;
        for flow in self.strata.backlogged() {
            if !flow.start.slot_start(flow.shift()).is_after(now) {
                let finish = rounded_finish(flow);
                earliest = Some(earliest.map_or(finish, |earliest| earliest.earlier(finish)));
            }
        }
        assert_eq!(
            earliest,
            chosen.map(|group| self.groups[group].finish(shift_of(group))),
            "invariant 8"
        );
    }

    /// Theorem 5: a flow starts within the first 2 + L / sigma slots of its group.
    fn is_in_range(&self, flow: &Flow) -> bool {
        let group = &self.groups[flow.group()];
        let shift = flow.shift();
        let distance = flow.start.slot_start(shift).since(group.start) >> shift;
        let slots = 2 + (self.strata.largest_step() >> shift) as i64 + 1;
        group.is_idle()
            || (1 - slots.min(SLOTS.into())..slots.min(SLOTS.into())).contains(&distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(gfq: &mut Gfq<()>) -> alloc::vec::Vec<u32> {
        core::iter::from_fn(|| gfq.dequeue(Instant::ZERO))
            .map(|packet| packet.flow.0)
            .collect()
    }

    /// Two flows in one slot: the flow that finishes in the slot goes before the flow that finishes
    /// in the next, though backlogged later.
    #[test]
    fn within_a_slot_the_earlier_finish_goes_first() {
        let mut gfq = Gfq::default();
        for (flow, len) in [(0, 1_000), (1, 1_000), (2, 100)] {
            gfq.enqueue(Instant::ZERO, Packet::new(FlowId(flow), 500, ()))
                .expect("short");
            gfq.enqueue(Instant::ZERO, Packet::new(FlowId(flow), len + 1_000, ()))
                .expect("short");
        }
        // All have slots of 2048 bytes. The second packets start at 500 and finish at 2500, 2500
        // and 1600.
        assert_eq!(order(&mut gfq), [0, 1, 2, 2, 0, 1]);
    }

    /// V has wrapped once while the flow was idle, and stands a little before the flow's last
    /// finish: further away than its group allows.
    #[test]
    fn a_finish_time_from_before_the_wrap_is_forgotten() {
        let mut gfq = Gfq::default();
        gfq.set_flow(
            FlowId(0),
            FlowConfig {
                weight: 1024,
                max_packet_len: 1024,
            },
        )
        .expect("legal");
        gfq.enqueue(Instant::ZERO, Packet::new(FlowId(0), 1024, ()))
            .expect("short");
        assert_eq!(order(&mut gfq), [0]);
        let far = gfq.strata.flows[0].finish.since(gfq.strata.clock.now()) as u64 + (1 << 46);
        gfq.strata
            .clock
            .jump_to(gfq.strata.clock.now().plus(i64::MAX as u64));
        gfq.strata
            .clock
            .jump_to(gfq.strata.clock.now().plus(i64::MAX as u64 + 2 - far));
        let now = gfq.strata.clock.now();
        assert!(
            gfq.strata.flows[0].finish.is_after(now),
            "it looks far ahead"
        );
        gfq.enqueue(Instant::ZERO, Packet::new(FlowId(0), 1024, ()))
            .expect("short");
        assert_eq!(gfq.strata.flows[0].start, now, "a new start");
    }
}
