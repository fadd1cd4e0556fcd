//! Hierarchical fair service curve: classes with a curve each for what they are guaranteed, for how
//! they share what is left, and for what they may have at most.
//!
//! A leaf's real-time curve `rt` guarantees its packets' times. Each packet has an eligible time,
//! before which the guarantee does not need it, and a deadline. While some leaf is eligible, the
//! one with the earliest deadline sends. Otherwise classes share by `ls`, from the root down, and
//! among siblings the smallest virtual time sends. A class with `ul` waits until its upper curve
//! lets the sharing send a packet. A curve has two pieces, so delay and rate are set apart: a
//! call's packets can leave within 5 ms at 64 kbit/s, which takes 2.4 Mbit/s for 5 ms and 64 kbit/s
//! after that.
//!
//! Source: I. Stoica, H. Zhang, T. S. E. Ng, "A Hierarchical Fair Service Curve Algorithm for
//! Link-Sharing, Real-Time and Priority Services", SIGCOMM 1997. Upper limits and parameters are
//! tc-hfsc(8)'s.
//!
//! | paper | here |
//! |---|---|
//! | S(t), two pieces | [`Curve`] |
//! | D(p), E(p): deadline and eligible curves | `RealTime::deadlines`, `RealTime::eligibility` |
//! | c(p): work of the real-time criterion | `RealTime::done` |
//! | V(p): virtual curve | `Sharing::virtual_times` |
//! | w(p): total work | `Sharing::done` |
//! | upper limit curve | `Sharing::limits` |
//!
//! | guarantee | value | test in `theorems/hfsc.rs` |
//! |---|---|---|
//! | service curves, if their sum is below the link's | each packet ends by its deadline and the time of one longest packet | `packets_end_by_their_curves` |
//! | delay of a leaf that keeps to its curve | `d` of a concave curve for a first packet within m1 d, and a longest packet | `a_call_is_in_time_whatever_the_others_do` |
//! | sharing | what is left goes by the slopes of `ls` among siblings | `what_is_left_is_shared_by_ls` |
//! | upper limit | `ul` and one packet in a busy period | `the_upper_limit_holds` |
//!
//! Cost: O(log N) a level, and a look at each sibling passed over for its upper limit. Memory, by
//! `footprint`: 1,298 bytes for a leaf with its fifo in a tree, and 1,197 for an inner class.
//!
//! A changed curve begins when it is set. Even with a lower `ul`, one packet may leave at once.
//!
//! Times are ticks of 64 ns and slopes are in fixed point, as in Linux, so that packets leave in
//! Linux's order. A curve then gives a little less than was set: at most .05% at 1 Gbit/s, .5% at
//! 10, 1.7% at 34. Above that, where tc ends, slopes are finer.
//!
//! Invariants are at `check_invariants`.

mod curve;

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use self::curve::{AnchoredCurve, Work, begin_of, tick_at};
pub(super) use self::curve::{TICK, kept};
use crate::author::{
    Backlog, ByCopy, ConfigError, Configured, Control, Discipline, DropReason, FlowConfig, FlowId,
    Footprint, Handle, Instant, Linux, LinuxFlows, LinuxLimit, Packet, Queues, Reads, Refusal,
    Refused, Scheduler, Seed,
};
use crate::mechanisms::flow_table::FlowTable;
use crate::mechanisms::heap::Heap;
pub use crate::service::hfsc::{Class, Curve};
use crate::service::{HFSC as NAME, Service};

/// The number of the root, which is no class.
const ROOT: u32 = 0;
/// The last tick that a heap of ticks can have. It never comes.
const LAST: u64 = u64::MAX - 1;

/// HFSC itself has no parameters. Those of its classes are in [`Class`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = NAME;
    const ABOUT: &'static str = "hierarchical fair service curve: classes of a tree with curves for what is guaranteed, shared, and allowed at most";
    const SOURCE: &'static str =
        "Stoica, Zhang, Ng, A Hierarchical Fair Service Curve Algorithm, SIGCOMM 1997; tc-hfsc(8)";
    const LINUX: Linux = Linux::Qdisc {
        name: NAME,
        flows: LinuxFlows::Classes,
        limit: LinuxLimit::OfClasses,
    };
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    const QUEUES: Queues = Queues::PerFlow;
    const COMPLEXITY: &'static str = "O(log N)";
    const INTERIOR: bool = true;
    type Scheduler<T: Send> = Hfsc<T>;
    type ByHandle = ByCopy<Hfsc<Handle>>;
}

/// The real-time part of a leaf.
#[derive(Debug, Clone, Copy, Default)]
struct RealTime {
    /// c: work done by this criterion.
    done: Work,
    deadlines: AnchoredCurve,
    eligibility: AnchoredCurve,
    /// Of the head packet.
    eligible_at: u64,
    deadline: u64,
}

impl RealTime {
    /// By deadline, then by eligible time.
    const fn order(&self) -> u128 {
        (self.deadline as u128) << u64::BITS | self.eligible_at as u128
    }
}

/// The sharing part of a class, as one of its siblings.
#[derive(Debug, Clone, Copy, Default)]
struct Sharing {
    /// w: work done by either criterion.
    done: Work,
    virtual_times: AnchoredCurve,
    virtual_time: u64,
    /// Added to the curve's virtual time since the class was passed over for its upper limit.
    adjusted: u64,
    limits: AnchoredCurve,
    /// When the class's own upper limit allows its next packet.
    own_fit: u64,
    /// When this limit and those of some child below allow a packet.
    fit: u64,
    /// Its position among siblings with the same virtual time.
    turn: u64,
    /// Busy periods of the class, and of the parent at the last one.
    periods: u64,
    periods_of_parent: u64,
    /// Backlogged children. For a leaf, 1 if it has packets.
    active: u32,
}

/// A class at work.
#[derive(Debug, Clone)]
struct State {
    settings: Class,
    /// Of the root itself.
    parent: u32,
    /// None: an inner class.
    flow: Option<FlowId>,
    children: u32,
    real_time: RealTime,
    sharing: Sharing,
    /// Backlogged children by virtual time and turn, and by fit.
    by_virtual_time: BTreeSet<(u64, u64, u32)>,
    by_fit: BTreeSet<(u64, u32)>,
    /// The virtual time of the children's last service, and the largest of any that became idle.
    least: u64,
    largest: u64,
}

impl State {
    fn new(settings: Class, parent: u32, flow: Option<FlowId>) -> Self {
        Self {
            settings,
            parent,
            flow,
            children: 0,
            real_time: RealTime::default(),
            sharing: Sharing::default(),
            by_virtual_time: BTreeSet::new(),
            by_fit: BTreeSet::new(),
            least: 0,
            largest: 0,
        }
    }

    /// When some child fits.
    fn fit_below(&self) -> u64 {
        self.by_fit.first().map_or(0, |(fit, _)| *fit)
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Hfsc<T> {
    /// The leaves' packets. Each flow has its class's number.
    table: FlowTable<T, Option<u32>>,
    /// By number. The first is the root.
    classes: Vec<Option<State>>,
    /// Leaves with a packet that is not yet eligible, by its eligible time.
    later: Heap<u64>,
    /// Leaves with an eligible packet, by deadline, then by eligible time.
    eligible: Heap<u128>,
    /// Turns given so far, so that the first of two equals is the older.
    turns: u64,
    /// The latest time argument of all calls.
    now: Instant,
}

impl<T> Configured<Config> for Hfsc<T> {
    fn configured(_: Config, _: Seed) -> Result<Self, ConfigError> {
        let root = State::new(Class::default(), ROOT, None);
        Ok(Self {
            table: FlowTable::default(),
            classes: alloc::vec![Some(root)],
            later: Heap::default(),
            eligible: Heap::default(),
            turns: 0,
            now: Instant::ZERO,
        })
    }
}

impl<T> Scheduler<T> for Hfsc<T> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        let Some(leaf) = self.leaf_of(packet.flow) else {
            return Err(packet.refused(Refusal::NoClass));
        };
        if let Err(reason) = self.table.make_room_for(&packet, u32::MAX) {
            return Err(packet.refused(reason));
        }
        self.now = self.now.max(now);
        if self.table.push(packet) {
            self.activate(leaf);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        self.dequeue_refilled(now, &mut |_| None)
    }

    fn dequeue_refilled(
        &mut self,
        now: Instant,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<Packet<T>> {
        let (leaf, is_real_time) = self.choose(now)?;
        let flow = self.class(leaf)?.flow?;
        let packet = self.table.pop(flow.index(), refill).0?;
        self.served(leaf, packet.len, is_real_time);
        Some(packet)
    }

    fn turn(&mut self, now: Instant) -> Option<FlowId> {
        let (leaf, _) = self.choose(now)?;
        self.class(leaf)?.flow
    }

    fn set_len(&mut self, flow: FlowId, len: u32) {
        self.table.set_len(flow.index(), len);
    }

    /// The tail of the longest backlog.
    fn evict(&mut self) -> Option<Packet<T>> {
        let flow = self.table.longest()?;
        self.evict_flow(FlowId(flow as u32))
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<Packet<T>> {
        let packet = self.table.pop_tail(flow.index())?;
        if self.table[flow.index()].queue.is_empty()
            && let Some(leaf) = self.leaf_of(flow)
        {
            self.forget_deadline(leaf);
            self.share_out(leaf, 0, true);
            self.leave_if_removed(leaf);
        }
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.table.backlog()
    }

    fn ready_at(&self) -> Option<Instant> {
        if self.table.backlog().is_empty() {
            return None;
        }
        let root = self.class(ROOT)?;
        let by_sharing = root.by_fit.first().map_or(u64::MAX, |(fit, _)| *fit);
        let later = self.later.first_key().unwrap_or(u64::MAX);
        let eligible = self.eligible.first_key().map_or(u64::MAX, |_| 0);
        let tick = by_sharing.min(later).min(eligible);
        Some(Instant::from_picos(begin_of(tick)))
    }
}

impl<T> Hfsc<T> {
    fn leaf_of(&self, flow: FlowId) -> Option<u32> {
        self.table.get(flow.index())?.state
    }

    /// The leaf that sends next, and whether by the real-time criterion.
    fn choose(&mut self, now: Instant) -> Option<(u32, bool)> {
        self.now = self.now.max(now);
        self.find_eligible();
        // The real-time criterion first, then the link-sharing criterion.
        match self.eligible.first() {
            Some((_, leaf)) => Some((leaf as u32, true)),
            None => Some((self.next_by_sharing()?, false)),
        }
    }

    /// The tick that it is.
    const fn tick(&self) -> u64 {
        tick_at(self.now.as_picos())
    }

    fn class(&self, number: u32) -> Option<&State> {
        self.classes.get(number as usize)?.as_ref()
    }

    fn class_mut(&mut self, number: u32) -> Option<&mut State> {
        self.classes.get_mut(number as usize)?.as_mut()
    }

    /// The length of a leaf's head packet.
    fn next_len(&self, leaf: u32) -> Option<u32> {
        let flow = self.class(leaf)?.flow?;
        self.table.get(flow.index())?.queue.next_len()
    }

    /// Leaves whose eligible time has come.
    fn find_eligible(&mut self) {
        let now = self.tick();
        while self.later.first_key().is_some_and(|at| at <= now)
            && let Some((_, leaf)) = self.later.first()
        {
            self.later.remove(leaf);
            if let Some(state) = self.class(leaf as u32) {
                let order = state.real_time.order();
                self.eligible.insert(leaf, order);
            }
        }
    }

    /// Goes from the root down, to the child with the smallest virtual time among those whose upper
    /// limits allow a packet.
    fn next_by_sharing(&mut self) -> Option<u32> {
        let now = self.tick();
        let mut number = ROOT;
        loop {
            let state = self.class(number)?;
            if state.flow.is_some() {
                return Some(number);
            }
            let mut chosen = None;
            for &(virtual_time, _, child) in &state.by_virtual_time {
                if self.class(child)?.sharing.fit <= now {
                    chosen = Some((virtual_time, child));
                    break;
                }
            }
            let (virtual_time, child) = chosen?;
            let state = self.class_mut(number)?;
            state.least = state.least.max(virtual_time);
            number = child;
        }
    }

    /// A leaf has a packet again.
    fn activate(&mut self, leaf: u32) {
        let now = self.tick();
        let Some(state) = self.class_mut(leaf) else {
            return;
        };
        if let Some(curve) = state.settings.rt {
            // The deadline curve: the smaller of what it was and the curve from now on.
            let part = &mut state.real_time;
            part.deadlines.lower_to(&curve, now, part.done);
            part.eligibility = part.deadlines;
            if curve.is_convex() {
                part.eligibility = part.eligibility.without_first_piece();
            }
        }
        self.set_deadline(leaf, true);
        if self
            .class(leaf)
            .is_some_and(|state| state.settings.ls.is_some())
        {
            self.join(leaf);
        }
    }

    /// Sets the deadline of a leaf's head packet and, if asked for, its eligible time.
    fn set_deadline(&mut self, leaf: u32, with_eligible: bool) {
        self.forget_deadline(leaf);
        let Some(len) = self.next_len(leaf) else {
            return;
        };
        let Some(state) = self.class_mut(leaf) else {
            return;
        };
        if state.settings.rt.is_none() {
            return;
        }
        let part = &mut state.real_time;
        if with_eligible {
            // e = E^-1(c).
            part.eligible_at = part.eligibility.time_of(part.done).min(LAST);
        }
        // d = D^-1(c + l).
        part.deadline = part.deadlines.time_of(part.done + Work::from(len));
        let at = part.eligible_at;
        self.later.insert(leaf as usize, at);
    }

    fn forget_deadline(&mut self, leaf: u32) {
        self.later.remove(leaf as usize);
        self.eligible.remove(leaf as usize);
    }

    /// A leaf's packet has been chosen, by either criterion.
    fn served(&mut self, leaf: u32, len: u32, is_real_time: bool) {
        let is_last = self.next_len(leaf).is_none();
        self.share_out(leaf, len, is_last);
        if is_real_time && let Some(state) = self.class_mut(leaf) {
            state.real_time.done += Work::from(len);
        }
        self.set_deadline(leaf, is_real_time);
        if is_last {
            self.leave_if_removed(leaf);
        }
    }

    /// Enters a class among its backlogged siblings, and classes above that were idle.
    fn join(&mut self, leaf: u32) {
        let now = self.tick();
        let mut number = leaf;
        let mut becomes_active = true;
        while number != ROOT {
            let Some(mut state) = self.classes.get_mut(number as usize).and_then(Option::take)
            else {
                return;
            };
            let parent_number = state.parent;
            if becomes_active {
                becomes_active = state.sharing.active == 0;
                state.sharing.active += 1;
            }
            if becomes_active && let Some(parent) = self.class_mut(parent_number) {
                begin_period(&mut state, parent, now);
            }
            let fit = (state.sharing.fit, number);
            self.classes[number as usize] = Some(state);
            if becomes_active {
                self.enter(number);
                if let Some(parent) = self.class_mut(parent_number) {
                    parent.by_fit.insert(fit);
                }
            }
            self.set_fit(number);
            number = parent_number;
        }
    }

    /// Enters a class among its siblings, behind those with the same virtual time.
    fn enter(&mut self, number: u32) {
        self.turns += 1;
        let turn = self.turns;
        let Some(state) = self.class_mut(number) else {
            return;
        };
        state.sharing.turn = turn;
        let (parent, key) = (state.parent, (state.sharing.virtual_time, turn, number));
        if let Some(parent) = self.class_mut(parent) {
            parent.by_virtual_time.insert(key);
        }
    }

    /// Sets when the upper limits of a backlogged class and of some child allow a packet.
    fn set_fit(&mut self, number: u32) {
        let Some(state) = self.class_mut(number) else {
            return;
        };
        let fit = state.sharing.own_fit.max(state.fit_below());
        let before = core::mem::replace(&mut state.sharing.fit, fit);
        let parent = state.parent;
        if state.sharing.active > 0
            && fit != before
            && let Some(parent) = self.class_mut(parent)
        {
            parent.by_fit.remove(&(before, number));
            parent.by_fit.insert((fit, number));
        }
    }

    /// [`set_fit`](Self::set_fit) for the class and for all above.
    fn set_fit_up(&mut self, class: u32) {
        let mut number = class;
        while number != ROOT {
            self.set_fit(number);
            let Some(state) = self.class(number) else {
                return;
            };
            number = state.parent;
        }
    }

    /// Counts a packet for the leaf and all above, whose virtual times go on. After its last packet
    /// the leaf becomes idle, and so do classes above that have no other child.
    fn share_out(&mut self, leaf: u32, len: u32, is_last: bool) {
        let mut number = leaf;
        let mut becomes_idle = is_last
            && self
                .class(leaf)
                .is_some_and(|state| state.settings.ls.is_some());
        while number != ROOT {
            let Some(state) = self.class_mut(number) else {
                return;
            };
            let parent = state.parent;
            let part = &mut state.sharing;
            part.done += Work::from(len);
            if part.active == 0 {
                number = parent;
                continue;
            }
            let before = (part.virtual_time, part.turn, number);
            if becomes_idle {
                part.active -= 1;
                becomes_idle = part.active == 0;
            }
            // v = V^-1(w).
            part.virtual_time = part
                .virtual_times
                .time_of(part.done)
                .saturating_add(part.adjusted);
            if state.settings.ul.is_some() {
                part.own_fit = part.limits.time_of(part.done);
            }
            let (reached, fit) = (part.virtual_time, part.fit);
            let Some(siblings) = self.class_mut(parent) else {
                return;
            };
            siblings.by_virtual_time.remove(&before);
            let least = siblings.least;
            if becomes_idle {
                siblings.by_fit.remove(&(fit, number));
                siblings.largest = siblings.largest.max(reached.max(least));
            }
            if let Some(state) = self.class_mut(number)
                && reached < least
            {
                // It was passed over for its upper limit, and does not make up for that.
                state.sharing.adjusted += least - reached;
                state.sharing.virtual_time = least;
            }
            if !becomes_idle {
                self.enter(number);
                self.set_fit(number);
            }
            number = parent;
        }
    }

    fn leave_if_removed(&mut self, leaf: u32) {
        let Some(flow) = self.class(leaf).and_then(|state| state.flow) else {
            return;
        };
        if self.table.has_left(flow.index()) {
            self.remove_class(flow, leaf);
        }
    }

    /// Removes a leaf without packets, and with it all inner classes that have no other child.
    fn remove_class(&mut self, flow: FlowId, leaf: u32) {
        let record = self.table.record(flow.index());
        record.weight = 0;
        record.state = None;
        let mut number = leaf;
        while number != ROOT {
            let Some(state) = self.classes[number as usize].take() else {
                return;
            };
            number = state.parent;
            let Some(parent) = self.class_mut(number) else {
                return;
            };
            parent.children -= 1;
            if parent.children > 0 {
                return;
            }
        }
    }
}

/// A class becomes backlogged. Its virtual time is the mean of its siblings' smallest and largest,
/// or where the last busy period below the parent has ended.
fn begin_period(state: &mut State, parent: &mut State, now: u64) {
    let part = &mut state.sharing;
    if let Some(&(last, ..)) = parent.by_virtual_time.last() {
        let mean = if parent.least == 0 {
            last
        } else {
            parent.least / 2 + last / 2 + (parent.least % 2 + last % 2) / 2
        };
        // Within one busy period of the parent the virtual time does not go back. The root counts
        // no periods, so its children always join in the middle.
        if parent.sharing.periods != part.periods_of_parent || mean > part.virtual_time {
            part.virtual_time = mean;
        }
    } else {
        part.virtual_time = parent.largest;
        parent.least = 0;
    }
    if let Some(curve) = state.settings.ls {
        part.virtual_times
            .lower_to(&curve, part.virtual_time, part.done);
    }
    part.adjusted = 0;
    part.periods += 1;
    part.periods_of_parent = parent.sharing.periods + u64::from(parent.sharing.active == 0);
    part.fit = 0;
    if let Some(curve) = state.settings.ul {
        part.limits.lower_to(&curve, now, part.done);
        part.own_fit = part.limits.time_of(part.done);
    }
}

impl<T> Hfsc<T> {
    /// Adds a class, or changes its curves from now on.
    fn set(&mut self, number: u32, parent: u32, settings: Class, flow: Option<FlowId>) {
        let now = self.tick();
        let index = number as usize;
        if index >= self.classes.len() {
            self.classes.resize_with(index + 1, || None);
        }
        if self.classes[index].is_none() {
            self.classes[index] = Some(State::new(settings, parent, flow));
            if let Some(parent) = self.class_mut(parent) {
                parent.children += 1;
            }
        }
        let was_shared = self
            .class(number)
            .is_some_and(|state| state.settings.ls.is_some());
        let has_packets = self.next_len(number).is_some();
        if flow.is_some() && was_shared && settings.ls.is_none() && has_packets {
            self.share_out(number, 0, true);
        }
        let Some(state) = self.class_mut(number) else {
            return;
        };
        let is_new = state.sharing.done == 0 && state.sharing.active == 0;
        let before = core::mem::replace(&mut state.settings, settings);
        let (real_time, sharing) = (&mut state.real_time, &mut state.sharing);
        if let Some(curve) = settings.rt
            && (is_new || before.rt != settings.rt)
        {
            real_time.deadlines = AnchoredCurve::new(&curve, now, real_time.done);
            real_time.eligibility = real_time.deadlines;
            if curve.is_convex() {
                real_time.eligibility = real_time.eligibility.without_first_piece();
            }
        }
        if let Some(curve) = settings.ls
            && (is_new || before.ls != settings.ls)
        {
            let at = sharing.virtual_time.saturating_sub(sharing.adjusted);
            sharing.virtual_times = AnchoredCurve::new(&curve, at, sharing.done);
        }
        if before.ul != settings.ul || is_new {
            sharing.own_fit = 0;
            if let Some(curve) = settings.ul {
                sharing.limits = AnchoredCurve::new(&curve, now, sharing.done);
                sharing.own_fit = sharing.limits.time_of(sharing.done);
            }
        }
        if flow.is_some() && has_packets {
            self.set_deadline(number, true);
            if !was_shared && settings.ls.is_some() {
                self.join(number);
            }
        }
        self.set_fit_up(number);
    }
}

impl<T> Control for Hfsc<T> {
    fn names_turns(&self) -> bool {
        true
    }

    /// A deadline is the end of the next packet on the curve.
    fn reads(&self, flow: FlowId) -> Reads {
        let leaf = self.leaf_of(flow).and_then(|leaf| self.class(leaf));
        match leaf {
            Some(State { settings, .. }) if settings.rt.is_none() => Reads::InTurn,
            _ => Reads::Ahead,
        }
    }

    fn set_class(&mut self, flow: FlowId, path: &[(u32, Service)]) -> Result<(), ConfigError> {
        let mut classes = Vec::new();
        for (number, service) in path {
            let Service::Hfsc(class) = service else {
                return Err(service.wanted(NAME));
            };
            class.check()?;
            classes.push((*number, *class));
        }
        let Some(&(leaf, _)) = classes.first() else {
            return Ok(());
        };
        let mut parent = ROOT;
        for (number, class) in classes.into_iter().rev() {
            let of = (number == leaf).then_some(flow);
            self.set(number, parent, class, of);
            parent = number;
        }
        let record = self.table.record(flow.index());
        record.weight = 1;
        record.state = Some(leaf);
        self.table.stay(flow.index());
        Ok(())
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check_up_to(FlowConfig::LARGEST_WEIGHT, NAME, flow)
    }

    fn remove_flow(&mut self, flow: FlowId) {
        if let Some(leaf) = self.leaf_of(flow)
            && self.table.remove(flow)
        {
            self.remove_class(flow, leaf);
        }
    }

    fn footprint(&self) -> Footprint {
        let of_class = size_of::<Option<State>>()
            + Heap::<u64>::BYTES_PER_POSITION
            + Heap::<u128>::BYTES_PER_POSITION;
        let classes = self.classes.len() * of_class;
        Footprint {
            fixed_bytes: size_of::<Self>() + classes,
            bytes_per_flow: FlowTable::<T, Option<u32>>::BYTES_PER_FLOW,
        }
    }

    /// 1. A leaf with `rt` has a deadline if it has packets, and only then: in one of both sets.
    /// 2. A class with `ls` is in its parent's order if it is backlogged, and only then: a leaf
    ///    with packets, an inner class with a child that is.
    /// 3. A class fits when its own upper limit allows it and some child below fits.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.table.check();
        let mut deadlines = 0;
        for (number, state) in self.classes.iter().enumerate() {
            let Some(state) = state else { continue };
            let number = number as u32;
            let part = &state.sharing;
            let children = state.by_virtual_time.len();
            assert_eq!(children, state.by_fit.len(), "invariant 2");
            if number == ROOT {
                continue;
            }
            let has_packets = self.next_len(number).is_some();
            let expected = match state.flow {
                Some(_) => usize::from(has_packets && state.settings.ls.is_some()),
                None => children,
            };
            assert_eq!(part.active as usize, expected, "invariant 2");
            let parent = self.class(state.parent).expect("a class has a parent");
            let key = (part.virtual_time, part.turn, number);
            let is_in = parent.by_virtual_time.contains(&key);
            assert_eq!(is_in, part.active > 0, "invariant 2");
            let fits = parent.by_fit.contains(&(part.fit, number));
            assert_eq!(fits, part.active > 0, "invariant 2");
            if part.active > 0 {
                let fit = part.own_fit.max(state.fit_below());
                assert_eq!(part.fit, fit, "invariant 3");
            }
            let real_time = &state.real_time;
            let at = self.later.key(number as usize);
            let order = self.eligible.key(number as usize);
            let (waits, is_due) = (at.is_some(), order.is_some());
            assert!(!waits || at == Some(real_time.eligible_at), "invariant 1");
            assert!(!is_due || order == Some(real_time.order()), "invariant 1");
            let wanted = has_packets && state.settings.rt.is_some();
            assert_eq!(waits || is_due, wanted, "invariant 1");
            assert!(!(waits && is_due), "invariant 1");
            deadlines += usize::from(wanted);
        }
        let listed = self.later.len() + self.eligible.len();
        assert_eq!(listed, deadlines, "invariant 1");
        self.later.check();
        self.eligible.check();
    }
}
