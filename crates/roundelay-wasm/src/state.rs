//! State of QFQ after a call, in bytes of service per unit of weight, and checks of the order.

use roundelay::author::VirtualTime;
use roundelay::schedulers::qfq::{GroupSet, View};
use serde::Serialize;

/// V, the groups in their sets, and the flows' times. Times are in bytes per unit of weight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct State {
    /// V.
    pub v: f64,
    /// The sum of the flows' weights.
    pub total_weight: u64,
    /// Backlogged groups, lowest index first.
    pub groups: Vec<Group>,
    /// Flows, in the order of the load; None before a flow joins.
    pub flows: Vec<Option<Times>>,
}

/// A backlogged group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The index i.
    pub index: usize,
    /// Name of its set: `ER`, `IR`, `EB` or `IB`.
    pub set: &'static str,
    /// sigma_i.
    pub slot_size: f64,
    /// S_i.
    pub start: f64,
    /// F_i.
    pub finish: f64,
    /// Occupied slots, earliest first.
    pub slots: Vec<Slot>,
}

/// An occupied slot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slot {
    /// Start of the slot.
    pub start: f64,
    /// Indices of its flows, in service order.
    pub flows: Vec<usize>,
}

/// Times of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Times {
    /// Index of its group.
    pub group: usize,
    /// S of the head packet; None if idle.
    pub start: Option<f64>,
    /// F of the head packet; of the last packet sent if idle.
    pub finish: f64,
}

pub(crate) const READY: &str = GroupSet::EligibleReady.name();
const BLOCKED: &str = GroupSet::EligibleBlocked.name();

/// Bytes per unit of weight: exact below 2^23.
fn units(time: VirtualTime) -> f64 {
    time.bits() as f64 / (1u64 << VirtualTime::FRACTION_BITS) as f64
}

impl State {
    /// The state of the shipped scheduler with this number of flows.
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

    /// The group of this index, if backlogged.
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

    /// Broken claims of section 4.1.3 and appendix A of the paper: Theorems 6 and 7, and the claim
    /// that the served group finishes first of all eligible ones.
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
