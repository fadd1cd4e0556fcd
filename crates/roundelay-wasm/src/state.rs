//! State of QFQ after a call, in bytes of service per unit of weight. It also checks the paper's
//! claims about the order.

use roundelay::author::VirtualTime;
use roundelay::schedulers::qfq::{GroupSet, View};
use serde::Serialize;

/// V, the groups in their sets, and the flows' times, all in bytes per unit of weight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct State {
    /// The virtual time V.
    pub v: f64,
    /// The sum of the flows' weights.
    pub total_weight: u64,
    /// Backlogged groups, lowest index first.
    pub groups: Vec<Group>,
    /// Flows, in the load's order. None before a flow joins.
    pub flows: Vec<Option<Times>>,
}

/// A backlogged group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The index i.
    pub index: usize,
    /// Its set's name: `ER`, `IR`, `EB` or `IB`.
    pub set: &'static str,
    /// The slot size sigma_i.
    pub slot_size: f64,
    /// The start time S_i.
    pub start: f64,
    /// The finish time F_i.
    pub finish: f64,
    /// Occupied slots, earliest first.
    pub slots: Vec<Slot>,
}

/// An occupied slot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slot {
    /// Where the slot starts, in virtual time.
    pub start: f64,
    /// Its flows' indices, in the order in which they are served.
    pub flows: Vec<usize>,
}

/// A flow's times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Times {
    /// Its group's index.
    pub group: usize,
    /// S of the head packet. None if the flow is idle.
    pub start: Option<f64>,
    /// F of the head packet. If the flow is idle, F of the last packet sent.
    pub finish: f64,
}

const READY: &str = GroupSet::EligibleReady.name();
const BLOCKED: &str = GroupSet::EligibleBlocked.name();

/// Bytes per unit of weight. Exact below 2^23, because f64 holds 53 bits and the fraction takes 30.
fn units(time: VirtualTime) -> f64 {
    time.bits() as f64 / (1u64 << VirtualTime::FRACTION_BITS) as f64
}

impl State {
    /// The shipped scheduler's state with this many flows.
    pub(crate) fn of(view: &View, flows: usize) -> Self {
        let mut groups = Vec::new();
        for group in &view.groups {
            let mut slots = Vec::new();
            for (start, flows) in &group.slots {
                slots.push(Slot {
                    start: units(*start),
                    flows: flows.iter().map(|flow| flow.index()).collect(),
                });
            }
            groups.push(Group {
                index: group.index,
                set: group.set.name(),
                slot_size: units(VirtualTime::from_bits(group.slot_size)),
                start: units(group.start),
                finish: units(group.finish),
                slots,
            });
        }
        let mut times = vec![None; flows];
        for flow in &view.flows {
            times[flow.flow.index()] = Some(Times {
                group: flow.group,
                start: flow.start.map(units),
                finish: units(flow.finish),
            });
        }
        Self {
            v: units(view.virtual_time),
            total_weight: view.total_weight,
            groups,
            flows: times,
        }
    }

    /// The group with this index, if it is backlogged.
    pub fn group(&self, index: usize) -> Option<&Group> {
        self.groups.iter().find(|group| group.index == index)
    }

    /// The lowest eligible and ready group from this index on.
    pub(crate) fn first_ready(&self, from: usize) -> Option<&Group> {
        self.groups
            .iter()
            .find(|group| group.index >= from && group.set == READY)
    }

    fn is_sorted_by_finish(&self, set: &str) -> bool {
        let groups = self.groups.iter().filter(|group| group.set == set);
        groups.is_sorted_by_key(|group| group.finish)
    }

    /// Claims in section 4.1.3 and appendix A of the paper that this state breaks: Theorems 6 and
    /// 7, and that the served group finishes first of all eligible groups.
    pub fn broken(&self) -> Vec<&'static str> {
        let eligible = self.groups.iter().filter(|group| group.start <= self.v);
        let earliest = eligible.map(|group| group.finish).min_by(f64::total_cmp);
        let served = self.first_ready(0).map(|group| group.finish);
        let mut broken = Vec::new();
        if !self.is_sorted_by_finish(READY) {
            broken.push("Theorem 6: ER is sorted by F");
        }
        if !self.is_sorted_by_finish(BLOCKED) {
            broken.push("Theorem 7: EB is sorted by F");
        }
        if served != earliest {
            broken.push("the first group of ER finishes first of all eligible groups");
        }
        broken
    }
}
