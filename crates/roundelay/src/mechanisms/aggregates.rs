//! Aggregates of flows that are alike, for `qfq_plus`: which flow goes into which, what an aggregate weighs, and what it is charged.
//!
//! Flows are known here by their kind and number of members only; who they are and whose turn it is, the discipline knows. To the groups an
//! aggregate is one entity. Its slot is that of each of its flows alone, n budgets at n weights, so flows may come and go without moving it.
//!
//! Nor may they move it in time: while it has packets, its start time changes by service alone. What it is owed, its distance from V times its
//! weight, must not shrink for the flows that it has, nor grow with those that come, or V would overtake others while it gets that (Theorem 4):
//! - A flow that comes goes into an aggregate that is not late: idle, or with a start time of V or later. Of late ones it takes no more than a
//!   place that another flow has left.
//! - A flow that goes leaves its place, which counts on like an idle flow until the aggregate has been served a budget more, or is idle. By then
//!   the others have had the turn that this one may have had before them; without its weight they would be charged more for theirs.

use alloc::collections::BTreeSet;

use crate::mechanisms::entity::{Entity, MAX_SERVICE};
use crate::mechanisms::groups::{Groups, Next, Service};
use crate::packet::FlowId;
use crate::virtual_time::VirtualTime;

const NONE: u32 = u32::MAX;
/// Aggregates that are asked whether they take a flow, before another one is begun.
const MOST_ASKED: usize = 8;

/// What flows of an aggregate have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowKind {
    /// Weight of each.
    pub(crate) weight: u16,
    /// Longest packet of each.
    pub(crate) max_packet_len: u32,
}

impl FlowKind {
    /// Flows of this kind that an aggregate of at most `most` takes: no more than 64 KB worth, or the slots of other groups would be too few
    /// (Theorem 5).
    pub(crate) fn capacity(self, most: u32) -> u32 {
        (MAX_SERVICE / self.max_packet_len.clamp(1, MAX_SERVICE)).min(most)
    }
}

/// Flows that are scheduled as one.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(crate) struct Aggregate {
    pub(crate) entity: Entity,
    /// The places that were left count until it has been served up to here.
    places_until: VirtualTime,
    /// Virtual time of a byte of the whole aggregate, in 2^-16 of the usual unit.
    byte_time: u64,
    /// The flow whose turn it is, in a ring of the backlogged ones. None if the aggregate is idle.
    pub(crate) turn: u32,
    /// What its flows have in common: longest packet and weight.
    max_packet_len: u32,
    weight: u16,
    members: u8,
    /// Places that flows have left and that still count.
    left: u8,
}

const _: () = assert!(size_of::<Aggregate>() <= 64, "what a packet touches of it lies in one cache line");

impl Aggregate {
    #[inline]
    pub(crate) const fn kind(&self) -> FlowKind {
        FlowKind { weight: self.weight, max_packet_len: self.max_packet_len }
    }

    #[inline]
    pub(crate) const fn members(&self) -> u32 {
        self.members as u32
    }

    /// The flow whose turn it is.
    #[inline]
    pub(crate) const fn turn(&self) -> Option<u32> {
        if self.turn == NONE { None } else { Some(self.turn) }
    }

    #[inline]
    pub(crate) fn set_turn(&mut self, flow: Option<u32>) {
        self.turn = flow.unwrap_or(NONE);
    }

    #[inline]
    pub(crate) const fn is_backlogged(&self) -> bool {
        self.turn != NONE
    }

    /// Longest packet of each flow.
    #[inline]
    pub(crate) const fn max_packet_len(&self) -> u32 {
        self.max_packet_len
    }

    /// A longest packet for each flow, as far as packets of that length have come.
    #[inline]
    pub(crate) fn budget(&self, longest_packet: u32) -> u32 {
        self.members() * self.max_packet_len.min(longest_packet)
    }

    /// Virtual time of the whole budget.
    #[inline]
    const fn span(&self) -> u64 {
        self.entity.span_of(self.max_packet_len)
    }

    /// F - S = service / weight.
    #[inline]
    fn charge(&self, served: u32) -> u64 {
        (u64::from(served) * self.byte_time).div_ceil(1 << 16).min(self.span())
    }

    /// F of what it sends next; of what it sent last if it is idle.
    const fn finish(&self) -> VirtualTime {
        if self.is_backlogged() { self.entity.time.plus(self.span()) } else { self.entity.time }
    }

    /// A byte is charged to all places, those that were left too.
    fn set_places(&mut self, members: u32, left: u32) {
        (self.members, self.left) = (members as u8, left as u8);
        self.byte_time = (u64::from(self.entity.byte_time()) << 16).div_ceil((members + left).max(1).into());
    }

    /// Whether a flow that comes would alter what is owed.
    fn is_late(&self, now: VirtualTime) -> bool {
        self.is_backlogged() && now.is_after(self.entity.time)
    }
}

impl AsRef<Entity> for Aggregate {
    #[inline]
    fn as_ref(&self) -> &Entity {
        &self.entity
    }
}

impl AsMut<Entity> for Aggregate {
    #[inline]
    fn as_mut(&mut self) -> &mut Entity {
        &mut self.entity
    }
}

/// All aggregates by number, the backlogged ones in order of service.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aggregates {
    pub(crate) groups: Groups<Aggregate>,
    /// Aggregates that have flows and room for more.
    open: BTreeSet<(FlowKind, u32)>,
    /// Aggregates without flows. One that is taken up again by its kind goes on from where it was.
    free: BTreeSet<(FlowKind, u32)>,
    /// Where a flow that comes asks first: the number asked last, so that all open ones are asked by turns.
    asked: u32,
}

impl Aggregates {
    #[inline]
    pub(crate) fn at(&self, number: u32) -> &Aggregate {
        &self.groups.entities[number as usize]
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, number: u32) -> &mut Aggregate {
        &mut self.groups.entities[number as usize]
    }

    /// The aggregate has got its first flow with packets.
    #[inline]
    pub(crate) fn activate(&mut self, number: u32) {
        let span = self.at(number).span();
        self.groups.activate(number as usize, span);
    }

    /// The aggregate has sent this much.
    #[inline]
    pub(crate) fn served(&mut self, number: u32, bytes: u32) {
        let aggregate = self.at(number);
        let charge = aggregate.charge(bytes);
        let next = match aggregate.is_backlogged() {
            false => Next::Idle,
            true if aggregate.entity.is_settled() => Next::Stays,
            true => Next::Moves(aggregate.span()),
        };
        self.groups.served(number as usize, Service { len: bytes, charge, next });
        if self.at(number).left > 0 {
            self.let_places_go(number);
        }
    }

    /// The aggregate has lost its last packet without being served.
    pub(crate) fn withdraw(&mut self, number: u32) {
        self.groups.withdraw(number as usize);
        self.let_places_go(number);
    }

    /// Takes a flow in, and says where.
    pub(crate) fn enter(&mut self, kind: FlowKind, most: u32) -> u32 {
        let number = self.find_or_create(kind);
        if self.at(number).left > 0 {
            self.at_mut(number).left -= 1;
        } else {
            self.groups.change_weight(FlowId(number), 0, kind.weight.into(), self.groups.now());
        }
        self.resize(number, 1, most);
        number
    }

    /// Lets a flow go that is idle, or no longer in the ring.
    pub(crate) fn leave(&mut self, number: u32, most: u32) {
        let aggregate = self.at_mut(number);
        aggregate.left += 1;
        aggregate.places_until = aggregate.entity.time.plus(aggregate.span());
        self.resize(number, -1, most);
        self.let_places_go(number);
    }

    /// Places that were left count no longer, once the aggregate is idle or has been served far enough. Their weight does until V has come to
    /// where they were served.
    #[cold]
    fn let_places_go(&mut self, number: u32) {
        let aggregate = self.at_mut(number);
        if !aggregate.is_backlogged() || !aggregate.places_until.is_after(aggregate.entity.time) {
            let (weight, left, finish) = (aggregate.weight, aggregate.left, aggregate.finish());
            aggregate.set_places(aggregate.members(), 0);
            self.groups.change_weight(FlowId(number), u32::from(weight) * u32::from(left), 0, finish);
        }
    }

    fn find_or_create(&mut self, kind: FlowKind) -> u32 {
        if let Some(number) = self.ask(kind) {
            return number;
        }
        if let Some((_, number)) = self.free.range((kind, 0)..=(kind, NONE)).next() {
            return *number;
        }
        // A record that still has a weight under its number in the clock is not for another kind to take up.
        let unowned = self.free.iter().take(MOST_ASKED).copied().find(|(_, number)| !self.groups.has_leaving_weight(FlowId(*number)));
        let number = unowned.map_or(self.groups.entities.len() as u32, |(_, number)| number);
        let aggregate = self.create(kind);
        if let Some(record) = unowned {
            self.free.remove(&record);
            *self.at_mut(number) = aggregate;
        } else {
            self.groups.entities.push(aggregate);
        }
        number
    }

    /// An open aggregate that takes a flow: better one with a place that was left, or one that is not late. Only a few are asked.
    fn ask(&mut self, kind: FlowKind) -> Option<u32> {
        let (now, first) = (self.groups.now(), (kind, self.asked));
        let by_turns = self.open.range(first..=(kind, NONE)).chain(self.open.range((kind, 0)..first));
        let mut open = by_turns.map(|(_, number)| *number).take(MOST_ASKED);
        let last = open.clone().last()?;
        let with_place = open.clone().find(|number| self.at(*number).left > 0);
        let taking = with_place.or_else(|| open.find(|number| !self.at(*number).is_late(now)));
        self.asked = taking.unwrap_or(last);
        taking
    }

    fn create(&self, kind: FlowKind) -> Aggregate {
        let FlowKind { weight, max_packet_len } = kind;
        let mut entity = Entity::UNKNOWN;
        let now = self.groups.now();
        entity.time = now;
        entity.set(weight.into(), max_packet_len, 0);
        Aggregate { entity, places_until: now, byte_time: 0, turn: NONE, max_packet_len, weight, members: 0, left: 0 }
    }

    /// So many flows more or less, in aggregates of at most `most`; and whether it is open or free then.
    pub(crate) fn resize(&mut self, number: u32, by: i32, most: u32) {
        let aggregate = self.at_mut(number);
        aggregate.set_places(aggregate.members().saturating_add_signed(by), aggregate.left.into());
        let (members, kind) = (aggregate.members(), aggregate.kind());
        if (1..kind.capacity(most)).contains(&members) {
            self.open.insert((kind, number));
        } else {
            self.open.remove(&(kind, number));
        }
        if members == 0 {
            self.free.insert((kind, number));
        } else {
            self.free.remove(&(kind, number));
        }
    }

    /// 1. The groups hold the aggregates that have packets (`Groups::check`).
    /// 2. An aggregate has no more flows than it takes, and is open while it takes more and free when it has none.
    /// 7. Places that were left are those of an aggregate that has packets and has not been served as far as they count.
    pub(crate) fn check(&self, members: &[u32], most: u32) {
        self.groups.check(|aggregate| aggregate.is_backlogged().then(|| aggregate.span()));
        assert_eq!(members.len(), self.groups.entities.len());
        for (number, (aggregate, members)) in (0..).zip(self.groups.entities.iter().zip(members)) {
            let (kind, backlogged) = (aggregate.kind(), aggregate.is_backlogged());
            let capacity = kind.capacity(most);
            assert_eq!(aggregate.members(), *members, "invariant 2: counted");
            assert!(*members <= capacity, "invariant 2: no more than it takes");
            assert_eq!(self.open.contains(&(kind, number)), (1..capacity).contains(members), "invariant 2: open");
            assert_eq!(self.free.contains(&(kind, number)), *members == 0, "invariant 2: free");
            let counts = backlogged && aggregate.places_until.is_after(aggregate.entity.time);
            assert!(aggregate.left == 0 || counts, "invariant 7");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a division by the number of flows leaves over: F is as far from S as a slot is long, not a bit further.
    #[test]
    fn a_budget_used_up_is_charged_exactly() {
        for (members, max_packet_len) in (1..=64).flat_map(|members| [512, 1000, 1024, 65_536].map(|len| (members, len))) {
            let mut aggregates = Aggregates::default();
            for _ in 0..members {
                aggregates.enter(FlowKind { weight: 1, max_packet_len }, 64);
            }
            let aggregate = aggregates.at(0);
            let served = aggregate.budget(max_packet_len);
            assert_eq!(served, aggregate.members() * max_packet_len);
            assert_eq!(aggregate.charge(served), u64::from(max_packet_len) << 30);
            assert!(aggregate.charge(served - 1) < u64::from(max_packet_len) << 30);
        }
    }
}
