//! Aggregates of flows that are alike, for `qfq_plus`: which flow goes into which, what an aggregate weighs, and what it is charged.
//!
//! Flows are known here by their kind and number of members only; who they are and whose turn it is, the discipline knows. To the groups an
//! aggregate is one entity. Its slot is that of each of its flows alone, n budgets at n weights, so flows may come and go without moving it.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::mechanisms::groups::{Entity, Groups, MAX_SERVICE};
use crate::packet::FlowId;

const NONE: u32 = u32::MAX;

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
pub(crate) struct Aggregate {
    pub(crate) entity: Entity,
    /// Virtual time of a byte of the whole aggregate, in 2^-16 of the usual unit.
    byte_time: u64,
    /// Whose weights V counts under this name. An aggregate created anew is another one.
    owner: FlowId,
    /// The flow whose turn it is, in a ring of the backlogged ones. None if the aggregate is idle.
    turn: u32,
    pub(crate) members: u32,
    pub(crate) kind: FlowKind,
}

const _: () = assert!(size_of::<Aggregate>() <= 64, "what a packet touches of it lies in one cache line");

impl Aggregate {
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

    /// A longest packet for each flow, as far as packets of that length have come.
    #[inline]
    pub(crate) fn budget(&self, longest_packet: u32) -> u32 {
        self.members * self.kind.max_packet_len.min(longest_packet)
    }

    /// Virtual time of the whole budget.
    #[inline]
    const fn span(&self) -> u64 {
        self.entity.span_of(self.kind.max_packet_len)
    }

    /// F = S + service / weight.
    #[inline]
    fn charge(&mut self, served: u32) {
        let charge = (u64::from(served) * self.byte_time).div_ceil(1 << 16);
        self.entity.finish = self.entity.start.plus(charge.min(self.span()));
    }

    fn set_members(&mut self, members: u32) {
        self.members = members;
        self.byte_time = (u64::from(self.entity.byte_time()) << 16).div_ceil(members.max(1).into());
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
    /// Aggregates that have flows and take more.
    open: BTreeSet<(FlowKind, u32)>,
    /// Numbers of aggregates without flows.
    free: Vec<u32>,
    /// Aggregates that there have been.
    created: u32,
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
        let aggregate = self.at_mut(number);
        aggregate.charge(bytes);
        let next = aggregate.is_backlogged().then(|| aggregate.span());
        self.groups.served(number as usize, bytes, next);
    }

    /// Takes a flow in, and says where. An aggregate that has packets starts anew (Eq. 29): what it was owed must not grow with its weight,
    /// or V would overtake others while it gets that (Theorem 4).
    pub(crate) fn enter(&mut self, kind: FlowKind, most: u32) -> u32 {
        let number = self.find_or_create(kind);
        let starts_anew = self.at(number).is_backlogged();
        if starts_anew {
            self.groups.withdraw(number as usize);
        }
        self.resize(number, 1, most);
        self.groups.change_weight(self.at(number).owner, 0, kind.weight.into(), self.groups.now());
        if starts_anew {
            self.activate(number);
        }
        number
    }

    /// Lets a flow go that is idle, or no longer in the ring. Its weight counts until V has come to where it was served.
    pub(crate) fn leave(&mut self, number: u32, most: u32) {
        self.resize(number, -1, most);
        let Aggregate { owner, kind, ref entity, .. } = *self.at(number);
        self.groups.change_weight(owner, kind.weight.into(), 0, entity.finish);
    }

    fn find_or_create(&mut self, kind: FlowKind) -> u32 {
        if let Some((_, number)) = self.open.range((kind, 0)..=(kind, NONE)).next() {
            return *number;
        }
        let mut entity = Entity::UNKNOWN;
        entity.finish = self.groups.now();
        entity.set(kind.weight.into(), kind.max_packet_len);
        let owner = FlowId(self.created);
        self.created = self.created.wrapping_add(1);
        let aggregate = Aggregate { entity, byte_time: 0, owner, turn: NONE, members: 0, kind };
        if let Some(number) = self.free.pop() {
            *self.at_mut(number) = aggregate;
            return number;
        }
        self.groups.entities.push(aggregate);
        self.groups.entities.len() as u32 - 1
    }

    /// So many flows more or less, in aggregates of at most `most`; and whether it is open or free then.
    pub(crate) fn resize(&mut self, number: u32, by: i32, most: u32) {
        let aggregate = self.at_mut(number);
        aggregate.set_members(aggregate.members.saturating_add_signed(by));
        let (members, kind) = (aggregate.members, aggregate.kind);
        if (1..kind.capacity(most)).contains(&members) {
            self.open.insert((kind, number));
        } else {
            self.open.remove(&(kind, number));
        }
        if members == 0 {
            self.free.push(number);
        }
    }

    /// 1. The groups hold the aggregates that have packets (`Groups::check`).
    /// 2. An aggregate has no more flows than it takes, and is open while it takes more and free when it has none.
    pub(crate) fn check(&self, members: &[u32], most: u32) {
        self.groups.check(Aggregate::is_backlogged);
        assert_eq!(members.len(), self.groups.entities.len());
        for (number, (aggregate, members)) in (0..).zip(self.groups.entities.iter().zip(members)) {
            let capacity = aggregate.kind.capacity(most);
            assert_eq!(aggregate.members, *members, "invariant 2: counted");
            assert!(*members <= capacity, "invariant 2: no more than it takes");
            assert_eq!(self.open.contains(&(aggregate.kind, number)), (1..capacity).contains(members), "invariant 2: open");
            assert_eq!(self.free.contains(&number), *members == 0, "invariant 2: free");
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
            let aggregate = aggregates.at_mut(0);
            let served = aggregate.budget(max_packet_len);
            assert_eq!(served, aggregate.members * max_packet_len);
            aggregate.charge(served);
            assert_eq!(aggregate.entity.finish.since(aggregate.entity.start), i64::from(max_packet_len) << 30);
            aggregate.charge(served - 1);
            assert!(aggregate.entity.finish.since(aggregate.entity.start) < i64::from(max_packet_len) << 30);
        }
    }
}
