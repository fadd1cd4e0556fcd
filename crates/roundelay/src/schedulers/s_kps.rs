//! S-KPS: WF2Q+ on interleaved timer wheels, whose slots interleave like the marks of a ruler.
//!
//! Flows with similar ratios of packet length to weight form a group, and each group's slots end at
//! separate ticks: group 0 at every odd tick, group 1 at 2, 6, 10, ..., group 2 at 4, 12, 20, ...
//! So no tick belongs to two groups. Two containers hold the ticks of slots with flows: the
//! ineligible one by rounded start, the eligible one by rounded finish. When V reaches a tick in
//! the first, the whole slot moves to the second. The second's first tick is served next. Both are
//! bitmaps, and find-first-set gives the first tick.
//!
//! Source: M. Karsten, "SI-WF2Q: WF2Q Approximation with Small Constant Execution Overhead",
//! INFOCOM 2006. "Approximation of Generalized Processor Sharing with Interleaved Stratified Timer
//! Wheels", IEEE/ACM ToN 18(3), 2010. **A reconstruction** from sections 2 and 5 of F. Checconi, P.
//! Valente, L. Rizzo, "QFQ: Efficient Packet Scheduling with Tight Bandwidth Distribution
//! Guarantees" ("the QFQ paper"): two containers of interleaved stratified timer wheels, start
//! times rounded down by at most 4 sigma_i and finish times up by at most 2 sigma_i, a cost
//! independent of the number of groups, and slots moved in proportion to the packet's length.
//!
//! | QFQ paper | here |
//! |---|---|
//! | S^k, F^k (Eq. 2) | `Flow::start`, `Flow::finish` in `mechanisms/strata.rs` |
//! | sigma_i | 2^`shift_of(i)`; a slot of this file's wheels is 2 sigma_i wide |
//! | F^k rounded | `rounded_finish`: the next odd multiple of sigma_i |
//! | S^k rounded | `rounded_start`: two slots before |
//! | V(t) (Eq. 3) | `clock` |
//!
//! | guarantee | value | test in `theorems/s_kps.rs` |
//! |---|---|---|
//! | B-WFI | 6 phi sigma_i + L_k + 2 phi L | `bounds_hold_in_random_and_adversarial_workloads` |
//! | T-WFI and latency | (6 sigma_i + 2 L) / R | the same |
//! | V <= F^k rounded + L | Lemma 3 of S-KPS, Theorem 4 of the QFQ paper | invariants, `invariants_hold_after_each_operation` |
//!
//! **Why two slots of twice sigma_i.** A slot moves as a whole, with one rounded start and one
//! rounded finish for all its flows. If F is rounded up to the end of a slot of width w, F' - F <
//! w, and F - S <= sigma_i, then w + sigma_i before F' is not after S. The group's next tick is F'
//! - 2 w. With w = 2 sigma_i this gives the quoted bounds: F' - F < 2 sigma_i, S - S' <= 4 sigma_i.
//!
//! **Proof.** S and F are exact, S' and F' rounded. A flow is served when S' <= V, and then has F
//! <= F' = S' + 4 sigma, so at all times (a) S <= V + 4 sigma. The smallest F' among the eligible
//! is served, hence (b) V <= F' + L, also just after the packet was counted: the proof of Theorem 4
//! in the QFQ paper asks for no more than S' <= S and F <= F'. From (b), S >= F - L_k / phi >= F' -
//! 2 sigma - L_k / phi, and therefore S >= V - 2 sigma - L_k / phi - L. In a backlogged interval
//! the flow gets phi times the rise of S, at least phi (rise of V - 6 sigma - L_k / phi - L), and V
//! rises by the bytes sent but for a packet, L. This is the B-WFI. A packet that finds (or makes) a
//! backlog of Q bytes at `t` has F = S(t) + Q / phi, and leaves before V is beyond F + 2 sigma + L.
//! V is at most L behind the link. With (a) for S(t): the T-WFI. If the backlog began at `t`, Q /
//! phi is no more than the time on a link of the flow's share: the latency.
//!
//! The B-WFI is QFQ's, as corrected in `qfq.rs`, plus 3 phi sigma_i. The T-WFI is the QFQ paper's
//! plus 3 sigma_i / R, because here the 4 sigma in (a) include the packet.
//!
//! Number format: virtual time in 2^-30 bytes per unit of *twice* the weight, wrapping at 2^64. A
//! flow's bytes are charged rounded up, by less than one part in 2^19, and V advances rounded down,
//! by less than one part in 2^30. The remainder of a step is kept for the next.
//!
//! Cost: O(1) for updating the packet's flow and finding the next one, whatever the number of
//! groups. In addition, a step for each slot that V passes, in proportion to the packet's length
//! over that of the shortest slots. Memory: for each flow a record, its number in a list and its
//! key in the index of the longest. Also the lists, and 66 KB for the two containers.
//!
//! Beyond the quoted text: S = max(V, F) for every newly backlogged flow. Slots are moved when the
//! packet is taken, not during transmission. A wheel's slots need not be few, as no code walks
//! them. Flows change groups, and weights leave, as in `qfq.rs`.

use alloc::vec::Vec;

use crate::author::{
    Backlog, Bound, ConfigError, Configured, Control, Discipline, DropReason, FlowConfig, FlowId,
    Footprint, Guarantees, Handle, Instant, Links, Linux, Nodes, Packet, Queues, Refused,
    Scheduler, Seed, Share, Storage, VirtualTime,
};
use crate::guarantees::Printed;
use crate::mechanisms::strata::{Flow, GROUPS, MIN_SLOT_SHIFT, SLOTS, Strata, own_slot, shift_of};

/// A flow runs no further ahead of V than 2 to this times sigma.
const REACH: u32 = 2;

/// S-KPS has no parameters besides the flows' weights and longest packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "s_kps";
    const ABOUT: &'static str = "simple KPS: WF2Q+ with rounded times on interleaved timer wheels";
    const SOURCE: &'static str =
        "Karsten, SI-WF2Q: WF2Q Approximation with Small Constant Execution Overhead, INFOCOM 2006";
    const LINUX: Linux = Linux::Absent;
    const WEIGHTED: bool = true;
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    const QUEUES: Queues = Queues::PerFlow;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = SKps<T>;
    type ByHandle = SKps<Handle, Links>;

    fn guarantees(&self, share: &Share) -> Guarantees {
        let slot = own_slot(share);
        let own = u64::from(share.max_packet_len);
        let any = 2 * u64::from(share.link_max_packet_len);
        let b_wfi = Bound {
            value: 6 * slot + own + share.of(any),
            source: "schedulers/s_kps.rs: 6 phi sigma_i + L_k + 2 phi L",
        };
        let late = share.rate.time_of(share.per_share(6 * slot) + any);
        let late = Bound {
            value: late,
            source: "schedulers/s_kps.rs: (6 sigma_i + 2 L) / R",
        };
        let printed = Bound {
            value: 6 * slot + share.of(any),
            source: "QFQ paper, section 5.1: 6 phi sigma_i + 2 phi L",
        };
        let printed = Printed {
            b_wfi: Some(printed),
            t_wfi: None,
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
pub struct SKps<T, P = Nodes<T>> {
    strata: Strata<T, P>,
    /// Slots with a rounded start after V, by rounded start.
    ineligible: Ticks,
    /// The other slots with flows, by rounded finish.
    eligible: Ticks,
}

/// A set of ticks (points in virtual time, multiples of the smallest slot size) within a window of
/// [`Ticks::WINDOW`]: a bitmap, a second one that marks its non-zero words, and a third one over
/// the second.
#[derive(Debug, Clone)]
struct Ticks {
    words: Vec<u64>,
    blocks: [u64; 64],
    top: u64,
    /// The first tick. Meaningless if the set is empty.
    first: VirtualTime,
}

impl Ticks {
    /// Range of comparable ticks, starting [`BEFORE`](Self::BEFORE) before V.
    const WINDOW: u64 = 1 << 18;
    /// V passes a rounded finish by at most 2^15 ticks: 64 KB at weight 1.
    const BEFORE: u64 = 1 << 16;

    fn new() -> Self {
        Self {
            words: alloc::vec![0; (Self::WINDOW / 64) as usize],
            blocks: [0; 64],
            top: 0,
            first: VirtualTime::ZERO,
        }
    }

    const fn is_empty(&self) -> bool {
        self.top == 0
    }

    const fn index(time: VirtualTime) -> usize {
        (time.bits() >> MIN_SLOT_SHIFT) as usize % Self::WINDOW as usize
    }

    fn insert(&mut self, tick: VirtualTime) {
        if self.is_empty() || self.first.is_after(tick) {
            self.first = tick;
        }
        let index = Self::index(tick);
        self.words[index / 64] |= 1 << (index % 64);
        self.blocks[index / 4096] |= 1 << (index / 64 % 64);
        self.top |= 1 << (index / 4096);
    }

    #[inline(never)]
    fn remove(&mut self, tick: VirtualTime, now: VirtualTime) {
        let index = Self::index(tick);
        self.words[index / 64] &= !(1 << (index % 64));
        if self.words[index / 64] == 0 {
            self.blocks[index / 4096] &= !(1 << (index / 64 % 64));
        }
        if self.blocks[index / 4096] == 0 {
            self.top &= !(1 << (index / 4096));
        }
        if tick == self.first {
            self.first = self.find_first(now).unwrap_or(tick);
        }
    }

    /// The first tick.
    #[inline]
    fn first(&self) -> Option<VirtualTime> {
        (!self.is_empty()).then_some(self.first)
    }

    fn contains(&self, tick: VirtualTime) -> bool {
        let index = Self::index(tick);
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    /// Number of ticks, for checks.
    fn count(&self) -> u32 {
        let mut ticks = 0;
        for block in 0..64 {
            for word in 0..64 {
                if self.top >> block & self.blocks[block] >> word & 1 == 1 {
                    ticks += self.words[block * 64 + word].count_ones();
                }
            }
        }
        ticks
    }

    /// The first tick in the window around `now`.
    fn find_first(&self, now: VirtualTime) -> Option<VirtualTime> {
        let from = now
            .minus(Self::BEFORE << MIN_SLOT_SHIFT)
            .slot_start(MIN_SLOT_SHIFT);
        let index = Self::index(from);
        let found = self.at_or_after(index).or_else(|| self.at_or_after(0))?;
        let distance = (found + Self::WINDOW as usize - index) as u64 % Self::WINDOW;
        Some(from.plus(distance << MIN_SLOT_SHIFT))
    }

    fn at_or_after(&self, index: usize) -> Option<usize> {
        let word = index / 64;
        let block = index / 4096;
        if let Some(bit) = lowest(self.words[word] & u64::MAX << (index % 64)) {
            return Some(word * 64 + bit);
        }
        let in_block = lowest(self.blocks[block] & after(word % 64)).map(|word| block * 64 + word);
        let word = in_block.or_else(|| {
            let block = lowest(self.top & after(block))?;
            Some(block * 64 + lowest(self.blocks[block])?)
        })?;
        Some(word * 64 + lowest(self.words[word])?)
    }
}

#[inline]
const fn lowest(word: u64) -> Option<usize> {
    if word == 0 {
        None
    } else {
        Some(word.trailing_zeros() as usize)
    }
}

/// All bits above this one.
const fn after(bit: usize) -> u64 {
    (u64::MAX - 1) << bit
}

const LARGEST_SLOT: u64 = 1 << (shift_of(GROUPS - 1) - MIN_SLOT_SHIFT);
const _: () = assert!(
    Ticks::BEFORE + 4 * LARGEST_SLOT < Ticks::WINDOW,
    "finish times are up to two slots of two sigma ahead of V"
);
const _: () = assert!(
    VirtualTime::FRACTION_BITS <= MIN_SLOT_SHIFT
        && FlowConfig::MAX_PACKET_LEN as u64 / 2 < Ticks::BEFORE,
    "and L behind it"
);

/// The group whose slots end at this tick.
#[inline]
const fn group_at(tick: VirtualTime) -> usize {
    (tick.bits().trailing_zeros() - MIN_SLOT_SHIFT) as usize
}

/// The list of the slot that ends at this tick.
#[inline]
const fn slot_at(tick: VirtualTime) -> usize {
    let group = group_at(tick);
    group * SLOTS as usize + (tick.bits() >> (shift_of(group) + 1)) as usize % SLOTS as usize
}

/// F rounded up to an odd multiple of sigma: the end of the flow's slot.
#[inline]
const fn rounded_finish(flow: &Flow) -> VirtualTime {
    let slot_size = 1 << flow.shift();
    flow.finish
        .plus(slot_size - 1)
        .slot_start(flow.shift() + 1)
        .plus(slot_size)
}

/// S rounded down, derived from F: two slots before the end of the flow's slot.
#[inline]
const fn rounded_start(flow: &Flow) -> VirtualTime {
    rounded_finish(flow).minus(4 << flow.shift())
}

/// The list of the flow's slot: that of the tick at which the slot ends.
#[inline]
const fn slot_of(flow: &Flow) -> usize {
    let end = (flow.finish.bits().wrapping_add((1 << flow.shift()) - 1) >> (flow.shift() + 1))
        % SLOTS as u64;
    flow.group() * SLOTS as usize + end as usize
}

impl<T, P: Storage<T>> Configured<Config> for SKps<T, P> {
    fn configured(_: Config, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            strata: Strata::new(GROUPS * SLOTS as usize, REACH),
            ineligible: Ticks::new(),
            eligible: Ticks::new(),
        })
    }
}

impl<T, P: Storage<T>> SKps<T, P> {
    /// Puts a flow with its times into its slot.
    #[inline(always)]
    fn list(&mut self, number: usize) {
        let flow = &self.strata.flows[number];
        debug_assert!(
            self.is_in_range(flow),
            "the slots of a group are told apart"
        );
        if self.strata.list(number, slot_of(flow)) {
            self.hold_slot(number);
        }
    }

    /// Puts the slot of a first flow into a container.
    #[inline(never)]
    fn hold_slot(&mut self, number: usize) {
        let flow = &self.strata.flows[number];
        let start = rounded_start(flow);
        let finish = rounded_finish(flow);
        if start.is_after(self.strata.clock.now()) {
            self.ineligible.insert(start);
        } else {
            self.eligible.insert(finish);
        }
    }

    #[inline(never)]
    fn list_newcomer(&mut self, number: usize) {
        self.list(number);
        self.update_eligible();
    }

    /// Moves the slots that V has reached, each as a whole. If no flow is eligible, V first jumps
    /// to the first start (Eq. 3).
    #[inline]
    fn update_eligible(&mut self) {
        while let Some(start) = self.ineligible.first() {
            if self.eligible.is_empty() {
                self.strata.clock.jump_to(start);
            }
            if start.is_after(self.strata.clock.now()) {
                break;
            }
            self.make_eligible(start);
        }
    }

    #[inline(never)]
    fn make_eligible(&mut self, start: VirtualTime) {
        self.ineligible.remove(start, self.strata.clock.now());
        // F' = S' + 4 sigma_i.
        self.eligible
            .insert(start.plus(4 << shift_of(group_at(start))));
    }

    #[inline(always)]
    fn dequeue_packet(&mut self) -> Option<P::Leaving> {
        // The eligible slot with the smallest F'. `serve` charges its first flow by Eq. 2.
        let tick = self.eligible.first()?;
        let served = self.strata.serve(slot_at(tick));
        if served.is_vacated {
            self.eligible.remove(tick, self.strata.clock.now());
        }
        if served.stays() {
            self.list(served.flow);
        }
        // V rises by the packet, Eq. 3, and the slots that it has passed become eligible.
        if self.strata.advance(&served) {
            self.list_newcomer(served.flow);
        }
        self.update_eligible();
        served.packet
    }

    /// Removes a flow whose last packet was dropped, not served.
    fn withdraw(&mut self, number: usize) {
        let flow = &self.strata.flows[number];
        let start = rounded_start(flow);
        let finish = rounded_finish(flow);
        if !self.strata.withdraw(number) {
            return;
        }
        if start.is_after(self.strata.clock.now()) {
            self.ineligible.remove(start, self.strata.clock.now());
        } else {
            self.eligible.remove(finish, self.strata.clock.now());
        }
        self.update_eligible();
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for SKps<T, P> {
    #[inline(always)]
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        if let Some(number) = self.strata.arrive(packet)? {
            self.list_newcomer(number);
        }
        Ok(())
    }

    #[inline(always)]
    fn dequeue(&mut self, _now: Instant) -> Option<P::Leaving> {
        self.dequeue_packet()
    }

    /// The tail of the longest backlog. An emptied flow is not charged, because the packet was not
    /// sent.
    fn evict(&mut self) -> Option<P::Leaving> {
        let (packet, number) = self.strata.evict()?;
        if self.strata.flows[number].queue.is_empty() {
            self.withdraw(number);
        }
        Some(packet)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.strata.pool.backlog()
    }
}

impl<T, P: Storage<T>> Control for SKps<T, P> {
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
        let containers = 2 * size_of_val(self.eligible.words.as_slice());
        let fixed_bytes = size_of::<Self>() + containers + self.strata.heap_bytes();
        Footprint {
            fixed_bytes,
            bytes_per_flow: Strata::<T, P>::BYTES_PER_FLOW,
        }
    }

    /// 1 and 2 are those of `mechanisms/strata.rs`.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.strata.check(slot_of);
        for flow in self.strata.backlogged() {
            self.check_flow(flow);
        }
        self.check_containers();
    }
}

/// Invariants.
impl<T, P: Storage<T>> SKps<T, P> {
    /// 3. F is rounded up by less than 2 sigma, S down by at most 4 sigma, and no slot is two
    ///    slots.
    /// 4. A flow starts no more than 4 sigma after V.
    /// 5. V <= F rounded + L (Lemma 3 of S-KPS, Theorem 4 of the QFQ paper), in debug builds, which
    ///    keep L.
    fn check_flow(&self, flow: &Flow) {
        let now = self.strata.clock.now();
        let slot_size = 1i64 << flow.shift();
        assert!(
            (0..2 * slot_size).contains(&rounded_finish(flow).since(flow.finish)),
            "invariant 3: F rounded"
        );
        assert!(
            (0..=4 * slot_size).contains(&flow.start.since(rounded_start(flow))),
            "invariant 3: S rounded"
        );
        assert!(self.is_in_range(flow), "invariant 3: slots are told apart");
        assert!(flow.start.since(now) <= 4 * slot_size, "invariant 4");
        let latest = rounded_finish(flow).plus(self.strata.largest_step());
        assert!(
            !cfg!(debug_assertions) || !now.is_after(latest),
            "invariant 5"
        );
    }

    /// 6. The containers hold exactly the backlogged flows' slots: the ineligible one those with a
    ///    rounded start after V.
    /// 7. Work conservation: if a flow is backlogged, one is eligible.
    /// 8. The first tick is the earliest finish among all flows whose slot has begun.
    /// 9. The first tick of the ineligible container is the earliest one there.
    fn check_containers(&self) {
        let now = self.strata.clock.now();
        let held = self.ineligible.count() + self.eligible.count();
        assert_eq!(
            held as usize,
            self.strata.occupied_slots(),
            "invariant 6: nothing but what has flows"
        );
        let mut earliest: Option<VirtualTime> = None;
        for flow in self.strata.backlogged() {
            let start = rounded_start(flow);
            let finish = rounded_finish(flow);
            let is_held = if start.is_after(now) {
                self.ineligible.contains(start)
            } else {
                earliest = Some(earliest.map_or(finish, |earliest| earliest.earlier(finish)));
                self.eligible.contains(finish)
            };
            assert!(is_held, "invariant 6: what has flows is held");
        }
        assert_eq!(
            self.eligible.is_empty(),
            self.backlog().is_empty(),
            "invariant 7"
        );
        assert_eq!(earliest, self.eligible.first(), "invariant 8");
        assert_eq!(
            self.ineligible.first(),
            self.ineligible.find_first(now),
            "invariant 9"
        );
    }

    /// All slots of a group lie between L before V, rounded finishes counting, and 3.5 slots after
    /// V: fewer than [`SLOTS`].
    fn is_in_range(&self, flow: &Flow) -> bool {
        let ahead = rounded_finish(flow).since(self.strata.clock.now());
        let slots = (i64::from(SLOTS) - 8) << (flow.shift() + 1);
        (-slots..=7 << flow.shift()).contains(&ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_belong_to_one_group_each() {
        let at = |tick: u64| group_at(VirtualTime::from_bits(tick << MIN_SLOT_SHIFT));
        let groups: Vec<_> = (1..16).map(at).collect();
        assert_eq!(
            groups,
            [0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0],
            "the marks of a ruler"
        );
    }

    proptest! {
        #[test]
        fn the_first_tick_is_found_wherever_the_window_is(
            now in any::<u64>(),
            ticks in prop::collection::btree_set(0..Ticks::WINDOW, 1..40),
            kept in 0usize..40,
        ) {
            let now = VirtualTime::from_bits(now);
            let from = now.minus(Ticks::BEFORE << MIN_SLOT_SHIFT).slot_start(MIN_SLOT_SHIFT);
            let at = |tick: u64| from.plus(tick << MIN_SLOT_SHIFT);
            let mut set = Ticks::new();
            ticks.iter().for_each(|tick| set.insert(at(*tick)));
            for tick in ticks.iter().take(kept) {
                prop_assert_eq!((set.first(), set.find_first(now)), (Some(at(*tick)), Some(at(*tick))));
                set.remove(at(*tick), now);
            }
            prop_assert_eq!(set.first(), ticks.iter().nth(kept).map(|tick| at(*tick)));
            prop_assert_eq!(set.is_empty(), ticks.len() <= kept);
        }
    }

    /// Weights 4 and 1: slots of 1024 and 4096 bytes per unit of weight, ends of slots at odd
    /// multiples of half of that.
    #[test]
    fn slots_of_two_groups_interleave() {
        let mut scheduler = SKps::default();
        scheduler
            .set_flow(
                FlowId(0),
                FlowConfig {
                    weight: 4,
                    max_packet_len: 2048,
                },
            )
            .expect("legal");
        for flow in [0, 0, 0, 0, 0, 0, 0, 0, 1, 1] {
            scheduler
                .enqueue(Instant::ZERO, Packet::new(FlowId(flow), 2048, ()))
                .expect("short");
        }
        let order: Vec<_> = core::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
            .map(|packet| packet.flow.0)
            .collect();
        // Finish times 512, 1024, 1536, ... are rounded to 512, 1536, 1536, 2560, 2560, ...; 2048
        // and 4096 to 2048 and 6144.
        assert_eq!(order, [0, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    }
}
