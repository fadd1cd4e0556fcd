//! Hierarchical token bucket: classes with a rate each, which lend each other what they leave.
//!
//! A class may send at its `rate`. Beyond that it borrows from its parent, up to its own `ceil`, if
//! the parent has rate left or can borrow in turn. So a link is divided by rates as long as all
//! want their parts, and what a class leaves goes to the others below the same parent: those with
//! the smallest `prio` first, and among equals by their quanta. Each decision concerns the whole
//! hierarchy at once, so a tree has one scheduler for all its connected `htb` nodes.
//!
//! Source: M. Devera, "HTB Linux queuing discipline manual, theory" and "user guide", 2002. Rules
//! and parameters are tc-htb(8)'s. For link sharing: S. Floyd, V. Jacobson, "Link-Sharing and
//! Resource Management Models for Packet Networks", IEEE/ACM ToN 3(4), 1995.
//!
//! | Devera | here |
//! |---|---|
//! | green, yellow, red | `Mode::Sends`, `Mode::Borrows`, `Mode::Waits` |
//! | self feed | `Htb::rows`, by level and priority |
//! | inner feed | `Feeds` of an inner class, by priority |
//! | wait queue | `Htb::waits`, by level |
//! | level | 0 for leaves, 7 for the topmost inner classes, one less for each step down |
//! | deficit, quantum | `State::deficits` by level, `State::quantum` |
//!
//! | guarantee | value | test in `theorems/htb.rs` |
//! |---|---|---|
//! | assured rate | a leaf that always has packets gets its rate, if the link has the sum of all rates and the burst covers a round of turns | `a_class_gets_its_rate_whatever_the_others_do` |
//! | ceiling | a leaf sends at most ceil t + cburst + one packet in any interval t | `no_leaf_sends_more_than_its_ceil` |
//! | no ceiling of sums | an inner class's ceil limits what it lends, not what leaves below send at their own rates: keep the sum of their rates within it | `leaves_send_at_their_rates_whatever_the_parent_has` |
//! | priority | what is lent goes to the smallest prio that can borrow | `what_is_lent_goes_by_priority_then_by_quantum` |
//! | sharing | what is lent is divided by quantum among equal priorities | `what_is_lent_goes_by_priority_then_by_quantum` |
//! | direct packets | those of no class go before all others | `direct_packets_go_first` below |
//! | idle | until `Scheduler::ready_at`, and then a packet leaves | `tests/tree/mod.rs` |
//!
//! A bucket is in time: `burst` bytes are as many picoseconds as they take at the rate. A class may
//! send as long as its bucket is not below zero, so it goes below by a packet, and a packet may be
//! longer than the bucket. A class sends if neither bucket is below zero, borrows if only its
//! rate's is, and waits if its ceil's is. A packet is charged to both buckets of every class from
//! the leaf up, except that below the class that lends only the ceils are charged. Debts are
//! forgotten beyond a minute.
//!
//! Cost: O(log N) a level for N classes, and a shift of a sorted list of those that take turns, which
//! counts from some thousands on: 1,673 instructions a packet with 1,000 leaves, 5,687 with 10,000. A
//! class in debt is looked at when its bucket is full
//! enough, not before. [`Scheduler::ready_at`] is called only when nothing may leave. It reads the
//! wait queues from their beginning, and in each those classes that are looked at before a packet
//! may leave: the first one, and others that are idle, stale, or wait for a class above. Memory, by
//! `footprint`: 933 bytes for a leaf with its fifo in a tree, and 1,152 for an inner class.
//!
//! Differences from Linux's htb: buckets are kept in picoseconds, where Linux has nanoseconds and
//! cuts bursts to ticks of 64 ns. A packet that belongs to no class goes to the tree's default
//! leaf, which may be the one for direct packets, as Linux's is without `default`.
//!
//! Invariants are at `check_invariants`.

mod feeds;

use alloc::boxed::Box;
use alloc::vec::Vec;

use self::feeds::Feed;
use crate::author::{
    Backlog, ByCopy, ConfigError, Configured, Control, Discipline, DropReason, Duration,
    FlowConfig, FlowId, Footprint, Handle, Instant, Linux, LinuxFlows, LinuxLimit, Packet,
    Parameter, Queues, Rate, Reads, Refusal, Refused, Scheduler, Seed,
};
use crate::mechanisms::flow_table::FlowTable;
use crate::mechanisms::heap::Heap;
use crate::service::Service;
pub use crate::service::htb::Class;
use crate::service::htb::PRIORITIES;

/// Levels of classes, leaves included.
const LEVELS: usize = 8;
/// Debts are forgotten beyond this.
const MEMORY: i64 = Duration::from_secs(60).as_picos() as i64;
/// Largest bucket, in picoseconds.
const LARGEST: u64 = 1 << 60;
/// Stands for "no class".
const NONE: u32 = u32::MAX;

/// Parameters of HTB's qdisc. Those of its classes are in [`Class`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// A class without a quantum has its rate in bytes a second over this: 1 to 2^32 - 1.
    pub r2q: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { r2q: 10 }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "htb";
    const ABOUT: &'static str = "hierarchical token bucket: classes of a tree with a rate each, which lend what they leave, up to a ceiling";
    const SOURCE: &'static str = "Devera, HTB Linux queuing discipline manual, 2002; tc-htb(8)";
    const LINUX: Linux = Linux::Qdisc {
        name: "htb",
        flows: LinuxFlows::Classes,
        limit: LinuxLimit::OfClasses,
    };
    const PARAMETERS: &'static [Parameter<Self>] = &[Parameter::count(
        "r2q",
        1..=u32::MAX as u64,
        "a class without a quantum has its rate in bytes a second over this",
        |config| &mut config.r2q,
    )];
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    const QUEUES: Queues = Queues::PerFlow;
    const COMPLEXITY: &'static str = "O(log N)";
    const INTERIOR: bool = true;
    type Scheduler<T: Send> = Htb<T>;
    type ByHandle = ByCopy<Htb<Handle>>;

    fn configuration<T: Send>(scheduler: &mut Htb<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }
}

/// What a class may do, by its buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Green: it has rate left.
    Sends,
    /// Yellow: it has used its rate, not its ceil.
    Borrows,
    /// Red: it has used its ceil.
    Waits,
}

/// A token bucket in time: tokens are picoseconds at the rate.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    rate: Rate,
    size: i64,
    tokens: i64,
}

impl Bucket {
    /// A full bucket.
    fn full(rate: Rate, bytes: u32) -> Self {
        let size = rate.time_of(bytes.into()).as_picos().min(LARGEST) as i64;
        Self {
            rate,
            size,
            tokens: size,
        }
    }

    /// The bucket with another rate or size. What it holds stays the same in time.
    fn resized(self, rate: Rate, bytes: u32) -> Self {
        Self {
            tokens: self.tokens,
            ..Self::full(rate, bytes)
        }
    }

    /// Fills it for a time, as far as it goes, and takes a packet out.
    fn charge(&mut self, elapsed: i64, len: u32) {
        let cost = self.rate.time_of(len.into()).as_picos().min(LARGEST) as i64;
        let filled = self.tokens.saturating_add(elapsed).min(self.size);
        self.tokens = filled.saturating_sub(cost).max(1 - MEMORY);
    }
}

/// A class at work.
#[derive(Debug, Clone)]
struct State {
    settings: Class,
    /// [`NONE`] at the top.
    parent: u32,
    level: usize,
    rate: Bucket,
    ceil: Bucket,
    /// When the buckets were filled last.
    filled_at: Instant,
    mode: Mode,
    /// By bit: the priorities at which there are packets for it to send.
    active: u8,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Leaf {
        flow: FlowId,
        quantum: i64,
        /// What is left of the turn, by level at which it borrows.
        deficits: [i64; LEVELS],
    },
    Inner {
        children: u32,
        /// Children that borrow, by priority.
        feeds: Box<[Feed; PRIORITIES]>,
    },
}

impl State {
    /// Time since the buckets were filled, in picoseconds.
    fn elapsed(&self, now: Instant) -> i64 {
        now.since(self.filled_at).as_picos().min(MEMORY as u64) as i64
    }

    /// The mode after a time, and how long it lasts at least.
    fn mode_after(&self, elapsed: i64) -> (Mode, i64) {
        let of_ceil = self.ceil.tokens.saturating_add(elapsed);
        let of_rate = self.rate.tokens.saturating_add(elapsed);
        if of_ceil < 0 {
            (Mode::Waits, -of_ceil)
        } else if of_rate < 0 {
            (Mode::Borrows, -of_rate)
        } else {
            (Mode::Sends, 0)
        }
    }

    /// When the class may borrow, and when it may send.
    fn ready(&self) -> (Instant, Instant) {
        let after = |debt: i64| self.filled_at + Duration::from_picos(debt.max(0) as u64);
        let borrows = -self.ceil.tokens;
        (after(borrows), after(borrows.max(-self.rate.tokens)))
    }
}

/// What a flow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The leaf of this number.
    Leaf(u32),
    /// Packets of no class.
    Direct,
}

/// The numbers of the bits that are set, from the lowest on.
fn bits(mut set: u8) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lowest = (set != 0).then_some(set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        lowest
    })
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Htb<T> {
    /// The leaves' packets.
    table: FlowTable<T, Option<Place>>,
    /// The flow of packets that belong to no class.
    direct: Option<FlowId>,
    /// By number.
    classes: Vec<Option<State>>,
    /// Classes that send and have packets, by level and priority.
    rows: Box<[[Feed; PRIORITIES]; LEVELS]>,
    /// By level, a bit for each priority whose row has classes.
    taken: [u8; LEVELS],
    /// Classes that do not send, by level: when they are looked at again, in picoseconds.
    waits: [Heap<u64>; LEVELS],
    config: Config,
    /// The latest time argument of all calls.
    now: Instant,
}

impl<T> Configured<Config> for Htb<T> {
    fn configured(config: Config, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            table: FlowTable::default(),
            direct: None,
            classes: Vec::new(),
            rows: Box::default(),
            taken: [0; LEVELS],
            waits: Default::default(),
            config,
            now: Instant::ZERO,
        })
    }
}

impl<T> Scheduler<T> for Htb<T> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        let Some(place) = self.place_of(packet.flow) else {
            return Err(packet.refused(Refusal::NoClass));
        };
        if let Err(reason) = self.table.make_room_for(&packet, u32::MAX) {
            return Err(packet.refused(reason));
        }
        self.now = self.now.max(now);
        if self.table.push(packet)
            && let Place::Leaf(leaf) = place
        {
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
        if let Some(flow) = self.direct_turn() {
            self.now = self.now.max(now);
            return self.send_direct(flow, refill);
        }
        let (leaf, level) = self.choose(now)?;
        self.send(leaf, level, refill)
    }

    fn turn(&mut self, now: Instant) -> Option<FlowId> {
        if let Some(flow) = self.direct_turn() {
            self.now = self.now.max(now);
            return Some(flow);
        }
        let (leaf, _) = self.choose(now)?;
        match self.class(leaf)?.kind {
            Kind::Leaf { flow, .. } => Some(flow),
            Kind::Inner { .. } => None,
        }
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
        if self.table[flow.index()].queue.is_empty() {
            self.deactivate(flow);
        }
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.table.backlog()
    }

    /// Nothing changes before some class with packets is looked at again, so only those count that
    /// are looked at before the earliest time found so far.
    fn ready_at(&self) -> Option<Instant> {
        if self.table.backlog().is_empty() {
            return None;
        }
        let has_sender = self.taken.iter().any(|priorities| *priorities != 0);
        if has_sender || self.direct_turn().is_some() {
            return Some(self.now);
        }
        let mut earliest = Instant::MAX;
        for waits in &self.waits {
            waits.visit_below(earliest.as_picos(), &mut |number| {
                if let Some(state) = self.class(number as u32)
                    && state.active != 0
                {
                    earliest = earliest.min(self.ready_of(state));
                }
                earliest.as_picos()
            });
        }
        Some(earliest)
    }
}

impl<T> Htb<T> {
    fn place_of(&self, flow: FlowId) -> Option<Place> {
        self.table.get(flow.index())?.state
    }

    /// The flow of packets of no class, if it has any.
    fn direct_turn(&self) -> Option<FlowId> {
        let flow = self.direct?;
        (!self.table[flow.index()].queue.is_empty()).then_some(flow)
    }

    fn class(&self, number: u32) -> Option<&State> {
        self.classes.get(number as usize)?.as_ref()
    }

    fn class_mut(&mut self, number: u32) -> Option<&mut State> {
        self.classes.get_mut(number as usize)?.as_mut()
    }

    /// The leaf that sends next, and the level that lends.
    fn choose(&mut self, now: Instant) -> Option<(u32, usize)> {
        self.now = self.now.max(now);
        // The lowest level at which anyone sends, there the smallest priority.
        for level in 0..LEVELS {
            // Wait queue: classes whose debts are paid change their colour.
            self.look_again(level);
            for priority in bits(self.taken[level]) {
                if let Some(leaf) = self.next_leaf(level, priority) {
                    return Some((leaf, level));
                }
            }
        }
        None
    }

    /// The feed below an inner class, or the row of a level if the class is [`NONE`].
    fn feed_mut(&mut self, class: u32, level: usize, priority: usize) -> Option<&mut Feed> {
        if class == NONE {
            return Some(&mut self.rows[level][priority]);
        }
        match &mut self.class_mut(class)?.kind {
            Kind::Inner { feeds, .. } => Some(&mut feeds[priority]),
            Kind::Leaf { .. } => None,
        }
    }

    /// The leaf whose turn it is in a row. Goes down from class to class, by whose turn it is in
    /// each.
    fn next_leaf(&mut self, level: usize, priority: usize) -> Option<u32> {
        let mut path = [NONE; LEVELS];
        let mut depth = 0;
        loop {
            let feed = self.feed_mut(path[depth], level, priority)?;
            if feed.is_empty() {
                return None;
            }
            if let Some(number) = feed.turn() {
                if matches!(self.class(number)?.kind, Kind::Leaf { .. }) {
                    return Some(number);
                }
                depth += 1;
                path[depth] = number;
            } else {
                // This class's round is over, so its next one begins, and in the feed above the
                // turn is the next class's.
                feed.rewind();
                if depth > 0 {
                    depth -= 1;
                    self.feed_mut(path[depth], level, priority)?.advance();
                }
            }
        }
    }

    fn send_direct(
        &mut self,
        flow: FlowId,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<Packet<T>> {
        let (packet, record) = self.table.pop(flow.index(), refill);
        if record.queue.is_empty() {
            self.deactivate(flow);
        }
        packet
    }

    fn send(
        &mut self,
        leaf: u32,
        level: usize,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<Packet<T>> {
        let state = self.class(leaf)?;
        let priority = state.settings.prio as usize;
        let turns = if level == 0 { NONE } else { state.parent };
        let Kind::Leaf { flow, .. } = state.kind else {
            return None;
        };
        let (packet, record) = self.table.pop(flow.index(), refill);
        let is_last = record.queue.is_empty();
        let packet = packet?;
        // The deficit at this level. The next in the feed has the turn if it is used up.
        if self.ends_turn(leaf, level, packet.len) {
            self.feed_mut(turns, level, priority)?.advance();
        }
        if is_last {
            self.deactivate(flow);
        }
        self.charge(leaf, level, packet.len);
        Some(packet)
    }

    /// Charges a packet to the leaf and all above. Below the level that lends, only the ceils.
    fn charge(&mut self, leaf: u32, lends: usize, len: u32) {
        let mut number = leaf;
        let now = self.now;
        while let Some(state) = self.class_mut(number) {
            let elapsed = state.elapsed(now);
            if state.level >= lends {
                state.rate.charge(elapsed, len);
            } else {
                // Without the bucket's size as a cap, as in Linux's `htb_charge_class`. A class
                // that borrows is in debt, so it needs none.
                state.rate.tokens = state.rate.tokens.saturating_add(elapsed);
            }
            state.ceil.charge(elapsed, len);
            state.filled_at = now;
            let parent = state.parent;
            self.change_mode(number);
            number = parent;
        }
    }

    /// Deficit round robin: takes a packet off a leaf's deficit at a level. True if its quantum is
    /// used up, which ends its turn.
    fn ends_turn(&mut self, leaf: u32, level: usize, len: u32) -> bool {
        let Some(state) = self.class_mut(leaf) else {
            return false;
        };
        let Kind::Leaf {
            quantum, deficits, ..
        } = &mut state.kind
        else {
            return false;
        };
        deficits[level] -= i64::from(len);
        if deficits[level] >= 0 {
            return false;
        }
        deficits[level] += *quantum;
        true
    }

    /// Takes the mode that the buckets give, filled up to now. A class whose mode changes leaves
    /// its feeds and joins others, and is looked at again when its debt is paid.
    fn change_mode(&mut self, number: u32) {
        let now = self.now;
        let Some(state) = self.class(number) else {
            return;
        };
        let (mode, wait) = state.mode_after(state.elapsed(now));
        let before = state.mode;
        if mode == before {
            return;
        }
        self.leave_feeds(number);
        if let Some(state) = self.class_mut(number) {
            state.mode = mode;
        }
        self.join_feeds(number);
        self.stop_waiting(number, before);
        self.wait(number, wait);
    }

    fn stop_waiting(&mut self, number: u32, mode: Mode) {
        if let Some(state) = self.class(number)
            && mode != Mode::Sends
        {
            let level = state.level;
            self.waits[level].remove(number as usize);
        }
    }

    fn wait(&mut self, number: u32, time: i64) {
        let now = self.now;
        if let Some(state) = self.class_mut(number)
            && state.mode != Mode::Sends
        {
            let at = now + Duration::from_picos(time.max(1) as u64);
            let level = state.level;
            self.waits[level].insert(number as usize, at.as_picos().min(u64::MAX - 1));
        }
    }

    /// Looks at the classes of a level whose debts should be paid by now.
    fn look_again(&mut self, level: usize) {
        let now = self.now.as_picos();
        while self.waits[level].first_key().is_some_and(|at| at <= now)
            && let Some((_, number)) = self.waits[level].first()
        {
            self.waits[level].remove(number);
            let number = number as u32;
            let Some(state) = self.class(number) else {
                return;
            };
            let (mode, wait) = state.mode_after(state.elapsed(self.now));
            if mode == state.mode {
                // The debt has grown since.
                self.wait(number, wait);
            } else {
                self.change_mode(number);
            }
        }
    }

    /// A leaf has a packet again.
    fn activate(&mut self, leaf: u32) {
        if let Some(state) = self.class_mut(leaf) {
            state.active = 1 << state.settings.prio;
        }
        self.join_feeds(leaf);
    }

    /// A flow has lost its last packet.
    fn deactivate(&mut self, flow: FlowId) {
        let Some(place) = self.place_of(flow) else {
            return;
        };
        if let Place::Leaf(leaf) = place {
            self.leave_feeds(leaf);
            if let Some(state) = self.class_mut(leaf) {
                state.active = 0;
            }
        }
        if self.table.has_left(flow.index()) {
            self.forget(flow, place);
        }
    }

    /// Removes a flow without packets.
    fn forget(&mut self, flow: FlowId, place: Place) {
        let record = self.table.record(flow.index());
        record.weight = 0;
        record.state = None;
        match place {
            Place::Leaf(leaf) => self.remove_class(leaf),
            Place::Direct => self.direct = None,
        }
    }

    fn join_feeds(&mut self, number: u32) {
        let active = self.class(number).map_or(0, |state| state.active);
        for priority in bits(active) {
            self.join_feed(number, priority);
        }
    }

    fn leave_feeds(&mut self, number: u32) {
        let active = self.class(number).map_or(0, |state| state.active);
        for priority in bits(active) {
            self.leave_feed(number, priority);
        }
    }

    /// Enters an active class where its mode has it take turns: in the row of its level, or in its
    /// parent's feed. A parent that has a first packet to send is entered in turn.
    fn join_feed(&mut self, number: u32, priority: usize) {
        let mut number = number;
        while let Some(state) = self.class(number) {
            if state.active & 1 << priority == 0 {
                return;
            }
            let (level, parent) = (state.level, state.parent);
            match state.mode {
                Mode::Waits => return,
                Mode::Sends => {
                    self.taken[level] |= 1 << priority;
                    return self.rows[level][priority].insert(number);
                }
                Mode::Borrows if parent == NONE => return,
                Mode::Borrows => {}
            }
            let Some(feed) = self.feed_mut(parent, 0, priority) else {
                return;
            };
            let had_others = !feed.is_empty();
            feed.insert(number);
            if had_others {
                return;
            }
            if let Some(parent) = self.class_mut(parent) {
                parent.active |= 1 << priority;
            }
            number = parent;
        }
    }

    /// The reverse of [`join_feed`](Self::join_feed).
    fn leave_feed(&mut self, number: u32, priority: usize) {
        let Some(state) = self.class(number) else {
            return;
        };
        if state.active & 1 << priority == 0 {
            return;
        }
        let (level, parent) = (state.level, state.parent);
        match state.mode {
            Mode::Waits => return,
            Mode::Sends => {
                let row = &mut self.rows[level][priority];
                row.remove_in_turn(number);
                if row.is_empty() {
                    self.taken[level] &= !(1 << priority);
                }
                return;
            }
            Mode::Borrows => {}
        }
        let Some(feed) = self
            .feed_mut(parent, level, priority)
            .filter(|_| parent != NONE)
        else {
            return;
        };
        feed.remove(number);
        if feed.is_empty() {
            // The parent has no packet left at this priority, so it leaves its own feed.
            self.leave_feed(parent, priority);
            if let Some(parent) = self.class_mut(parent) {
                parent.active &= !(1 << priority);
            }
        }
    }

    /// When a leaf may send, or leaves below a class that may borrow from it now: as soon as a
    /// class from there up sends and all below that one may borrow.
    fn ready_of(&self, first: &State) -> Instant {
        let mut earliest = Instant::MAX;
        // Up the path: this class lends as soon as it sends and all below may borrow.
        let mut below = Instant::ZERO;
        let mut state = Some(first);
        while let Some(class) = state {
            let (borrows, sends) = class.ready();
            earliest = earliest.min(sends.max(below));
            below = below.max(borrows);
            state = self.class(class.parent);
        }
        earliest
    }

    /// Adds a class with full buckets, or changes its settings.
    fn set(
        &mut self,
        number: u32,
        parent: u32,
        level: usize,
        settings: Class,
        flow: Option<FlowId>,
    ) {
        let quantum = settings.quantum(self.config.r2q).into();
        if let Some(state) = self.class_mut(number) {
            state.rate = state.rate.resized(settings.rate, settings.burst());
            state.ceil = state.ceil.resized(settings.ceil(), settings.cburst());
            let moves = state.settings.prio != settings.prio && flow.is_some() && state.active != 0;
            if let Kind::Leaf { quantum: own, .. } = &mut state.kind {
                *own = quantum;
            }
            if moves {
                self.leave_feeds(number);
            }
            if let Some(state) = self.class_mut(number) {
                state.settings = settings;
            }
            if moves {
                self.activate(number);
            }
            return;
        }
        let index = number as usize;
        if index >= self.classes.len() {
            self.classes.resize_with(index + 1, || None);
        }
        let kind = match flow {
            Some(flow) => Kind::Leaf {
                flow,
                quantum,
                deficits: [0; LEVELS],
            },
            None => Kind::Inner {
                children: 0,
                feeds: Box::default(),
            },
        };
        self.classes[index] = Some(State {
            settings,
            parent,
            level,
            rate: Bucket::full(settings.rate, settings.burst()),
            ceil: Bucket::full(settings.ceil(), settings.cburst()),
            filled_at: self.now,
            mode: Mode::Sends,
            active: 0,
            kind,
        });
        if let Some(Kind::Inner { children, .. }) =
            self.class_mut(parent).map(|parent| &mut parent.kind)
        {
            *children += 1;
        }
    }

    /// A flow gets its place.
    fn settle(&mut self, flow: FlowId, place: Place) {
        let record = self.table.record(flow.index());
        record.weight = 1;
        record.state = Some(place);
        self.table.stay(flow.index());
    }

    /// Removes a leaf without packets, and with it all inner classes that have no other child.
    fn remove_class(&mut self, leaf: u32) {
        let mut number = leaf;
        while let Some(state) = self.class(number) {
            let (mode, parent) = (state.mode, state.parent);
            self.stop_waiting(number, mode);
            self.classes[number as usize] = None;
            let Some(Kind::Inner { children, .. }) =
                self.class_mut(parent).map(|parent| &mut parent.kind)
            else {
                return;
            };
            *children -= 1;
            if *children > 0 {
                return;
            }
            number = parent;
        }
    }
}

impl<T> Control for Htb<T> {
    fn names_turns(&self) -> bool {
        true
    }

    fn reads(&self, _flow: FlowId) -> Reads {
        Reads::WhenSent
    }

    fn set_class(&mut self, flow: FlowId, path: &[(u32, Service)]) -> Result<(), ConfigError> {
        if let [(_, Service::Direct)] = path {
            self.direct = Some(flow);
            self.settle(flow, Place::Direct);
            return Ok(());
        }
        let mut classes = Vec::new();
        for (number, service) in path {
            let Service::Htb(class) = service else {
                return Err(service.wanted(Config::NAME));
            };
            class.check()?;
            classes.push((*number, *class));
        }
        let Some(&(leaf, _)) = classes.first() else {
            return Ok(());
        };
        let mut parent = NONE;
        let mut level = LEVELS;
        for (number, class) in classes.into_iter().rev() {
            let is_leaf = number == leaf;
            level = if is_leaf {
                0
            } else {
                level.saturating_sub(1).max(1)
            };
            self.set(number, parent, level, class, is_leaf.then_some(flow));
            parent = number;
        }
        self.settle(flow, Place::Leaf(leaf));
        Ok(())
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check_up_to(FlowConfig::LARGEST_WEIGHT, Config::NAME, flow)
    }

    fn remove_flow(&mut self, flow: FlowId) {
        if let Some(place) = self.place_of(flow)
            && self.table.remove(flow)
        {
            self.forget(flow, place);
        }
    }

    fn footprint(&self) -> Footprint {
        let mut fixed_bytes = size_of::<Self>() + size_of::<[[Feed; PRIORITIES]; LEVELS]>();
        for state in &self.classes {
            fixed_bytes += size_of::<Option<State>>() + Heap::<u64>::BYTES_PER_POSITION;
            if state
                .as_ref()
                .is_some_and(|state| matches!(state.kind, Kind::Inner { .. }))
            {
                fixed_bytes += size_of::<[Feed; PRIORITIES]>();
            }
        }
        Footprint {
            fixed_bytes,
            bytes_per_flow: FlowTable::<T, Option<Place>>::BYTES_PER_FLOW,
        }
    }

    /// 1. A leaf is active at its priority if it has packets, and only then.
    /// 2. An inner class is active at a priority if a child of it borrows there, and only then.
    /// 3. A class that sends is in its level's row at the priorities at which it is active, and
    ///    nowhere else. Rows that are taken are known.
    /// 4. A class that borrows is in its parent's feeds at the priorities at which it is active,
    ///    and nowhere else. A class that waits is nowhere.
    /// 5. Classes that do not send are looked at again, once, and not later than their debt is
    ///    paid.
    /// 6. A turn is a member's.
    /// 7. A packet may leave at the earliest time that a leaf with packets has, or at once. Direct
    ///    packets always may.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.table.check();
        self.check_ready();
        let mut waiting = 0;
        for (number, state) in self.classes.iter().enumerate() {
            let Some(state) = state else { continue };
            let number = number as u32;
            self.check_active(state);
            for priority in 0..PRIORITIES {
                let is_active = state.active & 1 << priority != 0;
                let in_row = self.rows[state.level][priority].has(number);
                assert_eq!(
                    in_row,
                    is_active && state.mode == Mode::Sends,
                    "invariant 3"
                );
                let parent = self.class(state.parent).map(|parent| &parent.kind);
                if let Some(Kind::Inner { feeds, .. }) = parent {
                    let in_feed = feeds[priority].has(number);
                    assert_eq!(
                        in_feed,
                        is_active && state.mode == Mode::Borrows,
                        "invariant 4"
                    );
                    feeds[priority].check();
                }
            }
            let looked_at = self.waits[state.level].key(number as usize);
            let is_listed = looked_at.is_some();
            assert_eq!(is_listed, state.mode != Mode::Sends, "invariant 5");
            waiting += usize::from(is_listed);
            let (borrows, sends) = state.ready();
            let due = if state.mode == Mode::Waits {
                borrows
            } else {
                sends
            };
            let due = due.max(self.now + Duration::from_picos(1)).as_picos();
            assert!(looked_at.is_none_or(|at| at <= due), "invariant 5");
        }
        let listed: usize = self.waits.iter().map(Heap::len).sum();
        assert_eq!(listed, waiting, "invariant 5");
        for (level, waits) in self.waits.iter().enumerate() {
            waits.check();
            for (priority, row) in self.rows[level].iter().enumerate() {
                let is_taken = self.taken[level] & 1 << priority != 0;
                assert_eq!(is_taken, !row.is_empty(), "invariant 3");
            }
        }
        for row in self.rows.iter().flatten() {
            row.check();
            assert!(
                row.iter().all(|number| self.class(number).is_some()),
                "invariant 3"
            );
        }
    }
}

impl<T> Htb<T> {
    fn check_ready(&self) {
        let mut earliest = self.direct_turn().map(|_| self.now);
        for state in self.classes.iter().flatten() {
            if matches!(state.kind, Kind::Leaf { .. }) && state.active != 0 {
                let ready = self.ready_of(state).max(self.now);
                earliest = Some(earliest.map_or(ready, |earliest: Instant| earliest.min(ready)));
            }
        }
        let told = self.ready_at().map(|ready| ready.max(self.now));
        assert_eq!(told, earliest, "invariant 7");
    }

    fn check_active(&self, state: &State) {
        match &state.kind {
            Kind::Leaf { flow, .. } => {
                let has_packets = !self.table[flow.index()].queue.is_empty();
                let expected = u8::from(has_packets) << state.settings.prio;
                assert_eq!(state.active, expected, "invariant 1");
            }
            Kind::Inner { feeds, .. } => {
                let mut expected = 0;
                for (priority, feed) in feeds.iter().enumerate() {
                    expected |= u8::from(!feed.is_empty()) << priority;
                }
                assert_eq!(state.active, expected, "invariant 2");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u32 = 1000;

    fn rate(text: &str) -> Rate {
        text.parse().expect("a rate")
    }

    fn class(of: &str, ceil: &str) -> Class {
        Class {
            ceil: Some(rate(ceil)),
            ..Class::new(rate(of))
        }
    }

    /// Leaves below one inner class, number 0: leaf n + 1 is that of flow n.
    fn family(parent: Class, leaves: &[Class]) -> Htb<u32> {
        let mut htb = Htb::configured(Config::default(), Seed::new(0)).expect("legal");
        for (flow, leaf) in (0..).zip(leaves) {
            let path = [(flow + 1, Service::Htb(*leaf)), (0, Service::Htb(parent))];
            htb.set_class(FlowId(flow), &path).expect("legal");
        }
        htb
    }

    fn arrive(htb: &mut Htb<u32>, flow: u32, packets: u32) {
        for number in 0..packets {
            let packet = Packet::new(FlowId(flow), LEN, number);
            htb.enqueue(Instant::ZERO, packet).expect("it has a class");
        }
        htb.check_invariants();
    }

    /// Flows in order of departure with the time in microseconds, until the queue is empty.
    fn departures(htb: &mut Htb<u32>) -> Vec<(u64, u32)> {
        let mut sent = Vec::new();
        let mut now = Instant::ZERO;
        while !htb.backlog().is_empty() {
            if let Some(packet) = htb.dequeue(now) {
                sent.push((now.as_picos() / 1_000_000, packet.flow.0));
            } else {
                let ready = htb.ready_at().expect("packets wait");
                assert!(ready > now, "it idles until a later time");
                now = ready;
            }
            htb.check_invariants();
        }
        sent
    }

    /// 1600 bytes at once: two packets, the second with a debt of 400 bytes, 3.2 ms at 1 Mbit/s.
    #[test]
    fn a_class_sends_its_burst_then_at_its_rate() {
        let mut htb = family(class("10mbit", "10mbit"), &[class("1mbit", "1mbit")]);
        arrive(&mut htb, 0, 4);
        assert_eq!(
            departures(&mut htb),
            [(0, 0), (0, 0), (3_200, 0), (11_200, 0)]
        );
    }

    /// Two leaves of 1 Mbit/s that may borrow from 4 Mbit/s. Each sends its burst of 1600 bytes and
    /// the rest of a packet, so the parent has sent four packets: a debt of 2400 bytes, 4.8 ms.
    #[test]
    fn classes_lend_what_they_leave() {
        let leaf = class("1mbit", "4mbit");
        let parent = class("4mbit", "4mbit");
        let mut htb = family(parent, &[leaf, leaf]);
        arrive(&mut htb, 0, 6);
        arrive(&mut htb, 1, 2);
        let sent = departures(&mut htb);
        assert_eq!(
            sent,
            [
                // Each leaf's first packets, by turns of one class each: no class has a debt.
                (0, 0),
                (0, 1),
                (0, 0),
                (0, 1),
                // The leaf has earned 400 bytes by 3.2 ms, before the parent has 2400 by 4.8 ms. Its
                // packet puts the parent off by 2 ms, and so does each that is lent.
                (3_200, 0),
                (6_800, 0),
                (8_800, 0),
                (10_800, 0),
            ]
        );
    }

    /// Two packets of no class come while a class with rate and priority waits.
    #[test]
    fn direct_packets_go_first() {
        let leaf = class("1mbit", "1mbit");
        let mut htb = family(leaf, &[leaf]);
        let path = [(9, Service::Direct)];
        htb.set_class(FlowId(9), &path).expect("legal");
        arrive(&mut htb, 0, 3);
        arrive(&mut htb, 9, 2);
        assert_eq!(
            departures(&mut htb),
            [(0, 9), (0, 9), (0, 0), (0, 0), (3_200, 0)]
        );
        arrive(&mut htb, 9, 1);
        htb.remove_flow(FlowId(9));
        assert_eq!(departures(&mut htb), [(0, 9)]);
        let gone = Packet::new(FlowId(9), LEN, 0);
        let refused = Err(gone.refused(Refusal::NoClass));
        assert_eq!(htb.enqueue(Instant::ZERO, gone), refused);
    }

    #[test]
    fn the_smaller_prio_borrows_first() {
        let leaf = |prio| Class {
            prio,
            burst: Some(1),
            cburst: Some(100_000),
            ..class("8bit", "100mbit")
        };
        let parent = Class {
            burst: Some(100_000),
            cburst: Some(100_000),
            ..class("100mbit", "100mbit")
        };
        let mut htb = family(parent, &[leaf(3), leaf(1), leaf(3)]);
        for flow in 0..3 {
            arrive(&mut htb, flow, 3);
        }
        let mut order = Vec::new();
        for _ in 0..9 {
            order.extend(htb.dequeue(Instant::ZERO).map(|packet| packet.flow.0));
            htb.check_invariants();
        }
        // One packet each from the bursts, then what is lent.
        assert_eq!(order, [1, 0, 2, 1, 1, 0, 2, 0, 2]);
    }

    #[test]
    fn defaults_are_those_of_tc() {
        let slow = Class::new(rate("64kbit"));
        assert_eq!((slow.burst(), slow.quantum(10)), (1600, 1000));
        let fast = Class::new(rate("100gbit"));
        assert_eq!((fast.burst(), fast.quantum(10)), (1612, 200_000));
        assert_eq!(Class::new(rate("10mbit")).quantum(100), 12_500);
    }

    #[test]
    fn a_removed_class_leaves_with_its_last_packet() {
        let leaf = class("1mbit", "1mbit");
        let mut htb = family(leaf, &[leaf, leaf]);
        arrive(&mut htb, 0, 1);
        htb.remove_flow(FlowId(0));
        htb.remove_flow(FlowId(1));
        htb.check_invariants();
        let gone = Packet::new(FlowId(1), LEN, 0);
        assert!(htb.enqueue(Instant::ZERO, gone).is_err());
        assert!(htb.dequeue(Instant::ZERO).is_some());
        assert!(htb.classes.iter().all(Option::is_none));
        htb.check_invariants();
    }

    #[test]
    fn illegal_settings_are_refused() {
        let legal = class("1mbit", "1mbit");
        for (wrong, says) in [
            (class("7bit", "1mbit"), "rate"),
            (Class { prio: 8, ..legal }, "prio"),
            (
                Class {
                    burst: Some(0),
                    ..legal
                },
                "burst",
            ),
            (
                Class {
                    cburst: Some(1 << 31),
                    ..legal
                },
                "cburst",
            ),
            (
                Class {
                    quantum: Some(0),
                    ..legal
                },
                "quantum",
            ),
        ] {
            let error = wrong.check().expect_err("it is illegal").to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(legal.check().is_ok());
    }
}
