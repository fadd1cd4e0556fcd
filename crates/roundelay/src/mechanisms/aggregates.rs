//! Aggregates of flows of one kind, for `qfq_plus`: who is a member, and each aggregate's weight
//! and charge.
//!
//! This module knows flows only by kind and number of members. Who they are and whose turn it is,
//! the discipline knows. The groups see an aggregate as one entity. Its slot is that of each single
//! flow, n budgets at n weights, so flows may join and leave without moving the aggregate.
//!
//! Nor may members move an aggregate in time, so only service changes a backlogged aggregate's
//! start time. Its lag, (V - S) x weight, must not shrink for the present flows nor grow with a new
//! flow, or V would overtake other aggregates while the lag is served (Theorem 4):
//! - A new flow joins an aggregate that is not late: idle, or with a start time of V or later. A
//!   late aggregate takes a new flow only into a vacated membership.
//! - A leaving flow vacates its membership, which still counts like an idle flow until the
//!   aggregate has been served one more budget or is idle. By then the other flows have had the
//!   turn that may have been due to the leaving flow. Without the vacated weight they would be
//!   charged more for their turns.

use alloc::collections::BTreeSet;

use crate::mechanisms::entity::{Entity, MAX_SERVICE};
use crate::mechanisms::groups::{Groups, Next, Service};
use crate::packet::FlowId;
use crate::virtual_time::VirtualTime;

const NONE: u32 = u32::MAX;
/// Aggregates tried for a new flow before another aggregate is created.
const MOST_ASKED: usize = 8;

/// The common properties of an aggregate's flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowKind {
    /// Weight of each.
    pub(crate) weight: u16,
    /// Longest packet of each.
    pub(crate) max_packet_len: u32,
}

impl FlowKind {
    /// Most flows of this kind in one aggregate, at most `most`. Their budget is no more than 64
    /// KB, because other groups would need too many slots otherwise (Theorem 5).
    pub(crate) fn capacity(self, most: u32) -> u32 {
        (MAX_SERVICE / self.max_packet_len.clamp(1, MAX_SERVICE)).min(most)
    }
}

/// Flows scheduled as one entity.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(crate) struct Aggregate {
    pub(crate) entity: Entity,
    /// Vacated memberships count until the aggregate's start time has reached this value.
    vacancies_until: VirtualTime,
    /// A byte's virtual time for the whole aggregate, in 2^-16 of the usual unit.
    byte_time: u64,
    /// The flow with the turn, in a ring of backlogged flows. `NONE` if the aggregate is idle.
    pub(crate) turn: u32,
    /// Longest packet and weight of each flow.
    max_packet_len: u32,
    weight: u16,
    members: u8,
    /// Vacated memberships that still count.
    left: u8,
}

const _: () = assert!(
    size_of::<Aggregate>() <= 64,
    "what a packet touches of it lies in one cache line"
);

impl Aggregate {
    #[inline]
    pub(crate) const fn kind(&self) -> FlowKind {
        FlowKind {
            weight: self.weight,
            max_packet_len: self.max_packet_len,
        }
    }

    #[inline]
    pub(crate) const fn members(&self) -> u32 {
        self.members as u32
    }

    /// The flow with the turn.
    #[inline]
    pub(crate) const fn turn(&self) -> Option<u32> {
        if self.turn == NONE {
            None
        } else {
            Some(self.turn)
        }
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

    /// Budget: one longest packet for each flow, limited to the longest packet length seen.
    #[inline]
    pub(crate) fn budget(&self, longest_packet: u32) -> u32 {
        self.members() * self.max_packet_len.min(longest_packet)
    }

    /// Virtual time of the whole budget: n budgets at n weights, the same as one flow's.
    #[inline]
    const fn span(&self) -> u64 {
        self.entity.span_of(self.max_packet_len)
    }

    /// F - S = service / weight.
    #[inline]
    fn charge(&self, served: u32) -> u64 {
        (u64::from(served) * self.byte_time)
            .div_ceil(1 << 16)
            .min(self.span())
    }

    /// F of the next service, or of the last service if idle.
    const fn finish(&self) -> VirtualTime {
        if self.is_backlogged() {
            self.entity.time.plus(self.span())
        } else {
            self.entity.time
        }
    }

    /// Bytes are charged over all memberships, vacated ones included.
    fn set_memberships(&mut self, members: u32, left: u32) {
        (self.members, self.left) = (members as u8, left as u8);
        self.byte_time =
            (u64::from(self.entity.byte_time()) << 16).div_ceil((members + left).max(1).into());
    }

    /// Whether a new flow would change the lag.
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

/// All aggregates by number. Backlogged ones are in service order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aggregates {
    pub(crate) groups: Groups<Aggregate>,
    /// Aggregates with flows and room for more.
    open: BTreeSet<(FlowKind, u32)>,
    /// Aggregates without flows. An aggregate reused by its own kind keeps its timestamps.
    free: BTreeSet<(FlowKind, u32)>,
    /// Where the next search for an open aggregate starts: at the number tried last, so that all
    /// open aggregates are tried in turn.
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

    /// The aggregate has its first backlogged flow.
    #[inline]
    pub(crate) fn activate(&mut self, number: u32) {
        let span = self.at(number).span();
        self.groups.activate(number as usize, span);
    }

    /// Charges a service of `bytes` bytes to the aggregate.
    #[inline]
    pub(crate) fn served(&mut self, number: u32, bytes: u32) {
        let aggregate = self.at(number);
        let charge = aggregate.charge(bytes);
        let next = match aggregate.is_backlogged() {
            false => Next::Idle,
            true if aggregate.entity.is_settled() => Next::Stays,
            true => Next::Moves(aggregate.span()),
        };
        self.groups.served(
            number as usize,
            Service {
                len: bytes,
                charge,
                next,
            },
        );
        if self.at(number).left > 0 {
            self.end_vacancies(number);
        }
    }

    /// The aggregate has lost its last packet without being served.
    pub(crate) fn withdraw(&mut self, number: u32) {
        self.groups.withdraw(number as usize);
        self.end_vacancies(number);
    }

    /// Admits a flow. Returns the number of the aggregate.
    pub(crate) fn enter(&mut self, kind: FlowKind, most: u32) -> u32 {
        let number = self.find_or_create(kind);
        if self.at(number).left > 0 {
            self.at_mut(number).left -= 1;
        } else {
            self.groups
                .change_weight(FlowId(number), 0, kind.weight.into(), self.groups.now());
        }
        self.resize(number, 1, most);
        number
    }

    /// Removes a flow, which must be idle or no longer in the ring.
    pub(crate) fn leave(&mut self, number: u32, most: u32) {
        let aggregate = self.at_mut(number);
        aggregate.left += 1;
        aggregate.vacancies_until = aggregate.entity.time.plus(aggregate.span());
        self.resize(number, -1, most);
        self.end_vacancies(number);
    }

    /// Drops vacated memberships once the aggregate is idle or has been served far enough. Their
    /// weight counts until V has reached the finish time of their service.
    #[cold]
    fn end_vacancies(&mut self, number: u32) {
        let aggregate = self.at_mut(number);
        if !aggregate.is_backlogged() || !aggregate.vacancies_until.is_after(aggregate.entity.time)
        {
            let weight = aggregate.weight;
            let left = aggregate.left;
            let finish = aggregate.finish();
            aggregate.set_memberships(aggregate.members(), 0);
            self.groups.change_weight(
                FlowId(number),
                u32::from(weight) * u32::from(left),
                0,
                finish,
            );
        }
    }

    fn find_or_create(&mut self, kind: FlowKind) -> u32 {
        if let Some(number) = self.ask(kind) {
            return number;
        }
        if let Some((_, number)) = self.free.range((kind, 0)..=(kind, NONE)).next() {
            return *number;
        }
        // A record with a leaving weight under its number in the clock must not go to another kind.
        let unowned = self
            .free
            .iter()
            .take(MOST_ASKED)
            .copied()
            .find(|(_, number)| !self.groups.has_leaving_weight(FlowId(*number)));
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

    /// An open aggregate for a flow, preferably one with a vacated membership, else one that is not
    /// late. Tries at most `MOST_ASKED`.
    fn ask(&mut self, kind: FlowKind) -> Option<u32> {
        let now = self.groups.now();
        let first = (kind, self.asked);
        let by_turns = self
            .open
            .range(first..=(kind, NONE))
            .chain(self.open.range((kind, 0)..first));
        let mut open = by_turns.map(|(_, number)| *number).take(MOST_ASKED);
        let last = open.clone().last()?;
        let with_vacancy = open.clone().find(|number| self.at(*number).left > 0);
        let taking = with_vacancy.or_else(|| open.find(|number| !self.at(*number).is_late(now)));
        self.asked = taking.unwrap_or(last);
        taking
    }

    fn create(&self, kind: FlowKind) -> Aggregate {
        let FlowKind {
            weight,
            max_packet_len,
        } = kind;
        let mut entity = Entity::UNKNOWN;
        let now = self.groups.now();
        entity.time = now;
        entity.set(weight.into(), max_packet_len, 0);
        Aggregate {
            entity,
            vacancies_until: now,
            byte_time: 0,
            turn: NONE,
            max_packet_len,
            weight,
            members: 0,
            left: 0,
        }
    }

    /// Changes how many flows an aggregate has by `by`, to at most `most`, and updates the sets of
    /// open and free aggregates.
    pub(crate) fn resize(&mut self, number: u32, by: i32, most: u32) {
        let aggregate = self.at_mut(number);
        aggregate.set_memberships(
            aggregate.members().saturating_add_signed(by),
            aggregate.left.into(),
        );
        let members = aggregate.members();
        let kind = aggregate.kind();
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

    /// 1. The groups hold the backlogged aggregates (`Groups::check`).
    /// 2. An aggregate never exceeds its capacity. It is open with flows and room for more, and
    ///    free without flows.
    /// 7. Vacated memberships belong to a backlogged aggregate not yet served to `vacancies_until`.
    pub(crate) fn check(&self, members: &[u32], most: u32) {
        self.groups
            .check(|aggregate| aggregate.is_backlogged().then(|| aggregate.span()));
        assert_eq!(members.len(), self.groups.entities.len());
        for (number, (aggregate, members)) in (0..).zip(self.groups.entities.iter().zip(members)) {
            let kind = aggregate.kind();
            let backlogged = aggregate.is_backlogged();
            let capacity = kind.capacity(most);
            assert_eq!(aggregate.members(), *members, "invariant 2: counted");
            assert!(*members <= capacity, "invariant 2: no more than it takes");
            assert_eq!(
                self.open.contains(&(kind, number)),
                (1..capacity).contains(members),
                "invariant 2: open"
            );
            assert_eq!(
                self.free.contains(&(kind, number)),
                *members == 0,
                "invariant 2: free"
            );
            let counts = backlogged && aggregate.vacancies_until.is_after(aggregate.entity.time);
            assert!(aggregate.left == 0 || counts, "invariant 7");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For any remainder of the division by the number of flows, F - S is exactly the slot length.
    #[test]
    fn a_budget_used_up_is_charged_exactly() {
        for (members, max_packet_len) in
            (1..=64).flat_map(|members| [512, 1000, 1024, 65_536].map(|len| (members, len)))
        {
            let mut aggregates = Aggregates::default();
            for _ in 0..members {
                aggregates.enter(
                    FlowKind {
                        weight: 1,
                        max_packet_len,
                    },
                    64,
                );
            }
            let aggregate = aggregates.at(0);
            let served = aggregate.budget(max_packet_len);
            assert_eq!(served, aggregate.members() * max_packet_len);
            assert_eq!(aggregate.charge(served), u64::from(max_packet_len) << 30);
            assert!(aggregate.charge(served - 1) < u64::from(max_packet_len) << 30);
        }
    }
}
