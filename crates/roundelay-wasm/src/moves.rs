//! Moves of QFQ: which rules of the paper a call has applied. We find them when we compare the
//! states before and after the call, so the scheduler itself is not instrumented.

use serde::Serialize;

use crate::state::{Group, State};

/// Two virtual times closer than this are equal, because the shipped scheduler rounds V down.
const ROUNDING: f64 = 1.0 / (1 << 20) as f64;

/// A rule that was used. Times are in bytes per unit of weight.
#[allow(missing_docs, reason = "a variant explains its fields")]
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum Move {
    /// A flow joins, so the sum of weights grows.
    Join { flow: usize, total_weight: u64 },
    /// A packet joins a backlogged flow's queue. Nothing else changes.
    Append { flow: usize },
    /// A newly backlogged flow gets its times: Eq. 29, or another rule. `finish_before` is the F of
    /// the flow's last packet. `blocker` is the lowest eligible and ready group above the flow's.
    Start {
        flow: usize,
        v: f64,
        finish_before: f64,
        blocker: Option<Blocker>,
        start: f64,
        finish: f64,
    },
    /// The flow enters a slot in its group: Eq. 5.
    Slot {
        flow: usize,
        group: usize,
        start: f64,
    },
    /// The choice: the first group in ER, its first slot, and the slot's first flow.
    Choose {
        flow: usize,
        group: usize,
        slot: f64,
        finish: f64,
    },
    /// V grows by the packet's length over the sum of weights: Eq. 3.
    Advance {
        len: u32,
        total_weight: u64,
        from: f64,
        to: f64,
    },
    /// The served flow's next packet gets its times: Eq. 2.
    Next {
        flow: usize,
        start: f64,
        finish: f64,
    },
    /// The served flow has no other packet, but keeps its finish time.
    Idle { flow: usize, finish: f64 },
    /// A group's times change: Eq. 6.
    Group {
        group: usize,
        start: f64,
        finish: f64,
    },
    /// A group becomes idle, so it leaves its set.
    Empty { group: usize, set: &'static str },
    /// No group is eligible, so V jumps to the earliest group's start: Eq. 3.
    Jump { from: f64, to: f64 },
    /// The flow's group enters a set: `compute_group_state`. If it was idle, `from` is None.
    State {
        group: usize,
        from: Option<&'static str>,
        to: &'static str,
    },
    /// A blocked group becomes ready: `unblock_groups`.
    Unblock {
        group: usize,
        from: &'static str,
        to: &'static str,
    },
    /// V has entered the group's first slot: `make_eligible`.
    Eligible {
        group: usize,
        from: &'static str,
        to: &'static str,
    },
}

/// The group b in Eq. 29.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Blocker {
    /// Its index.
    pub group: usize,
    /// F_b.
    pub finish: f64,
}

/// The moves when a packet arrives.
pub(crate) fn of_arrival(flow: usize, before: &State, after: &State) -> Vec<Move> {
    let mut moves = Vec::new();
    let Some(times) = after.flows[flow] else {
        return moves;
    };
    if after.total_weight != before.total_weight {
        moves.push(Move::Join {
            flow,
            total_weight: after.total_weight,
        });
    }
    if before.flows[flow].is_some_and(|times| times.start.is_some()) {
        moves.push(Move::Append { flow });
        return moves;
    }
    let group = times.group;
    let start = times.start.unwrap_or(times.finish);
    let blocker = before.first_ready(group + 1).map(|blocker| Blocker {
        group: blocker.index,
        finish: blocker.finish,
    });
    let finish_before = before.flows[flow].map_or(0.0, |times| times.finish);
    moves.push(Move::Start {
        flow,
        v: before.v,
        finish_before,
        blocker,
        start,
        finish: times.finish,
    });
    if let Some(group) = after.group(group)
        && let Some(slot) = group.slots.iter().find(|slot| slot.flows.contains(&flow))
    {
        moves.push(Move::Slot {
            flow,
            group: group.index,
            start: slot.start,
        });
    }
    moves.extend(times_of(group, before, after));
    moves.extend(jump(before.v, after.v));
    for now in &after.groups {
        moves.extend(set_of(now, before, group));
    }
    moves
}

/// The moves when a packet departs.
pub(crate) fn of_departure(flow: usize, len: u32, before: &State, after: &State) -> Vec<Move> {
    let mut moves = Vec::new();
    let Some(chosen) = before.first_ready(0) else {
        return moves;
    };
    moves.push(Move::Choose {
        flow,
        group: chosen.index,
        slot: chosen.start,
        finish: chosen.finish,
    });
    let to = before.v + f64::from(len) / before.total_weight as f64;
    if let Some(times) = after.flows[flow] {
        moves.push(match times.start {
            Some(start) => Move::Next {
                flow,
                start,
                finish: times.finish,
            },
            None => Move::Idle {
                flow,
                finish: times.finish,
            },
        });
    }
    moves.push(Move::Advance {
        len,
        total_weight: before.total_weight,
        from: before.v,
        to,
    });
    if after.group(chosen.index).is_none() {
        moves.push(Move::Empty {
            group: chosen.index,
            set: chosen.set,
        });
    }
    moves.extend(times_of(chosen.index, before, after));
    moves.extend(jump(to, after.v));
    for now in &after.groups {
        moves.extend(set_of(now, before, chosen.index));
    }
    moves
}

fn times_of(group: usize, before: &State, after: &State) -> Option<Move> {
    let now = after.group(group)?;
    let is_new = before
        .group(group)
        .is_none_or(|before| before.start != now.start);
    is_new.then_some(Move::Group {
        group,
        start: now.start,
        finish: now.finish,
    })
}

fn jump(expected: f64, to: f64) -> Option<Move> {
    (to > expected + ROUNDING).then_some(Move::Jump { from: expected, to })
}

/// How a group's set changes. The first letter of a set is E (eligible) or I, the second R (ready) or
/// B (blocked). `own` is the index of the group that holds the call's flow.
fn set_of(now: &Group, before: &State, own: usize) -> Option<Move> {
    let group = now.index;
    let to = now.set;
    let Some(from) = before.group(group).map(|before| before.set) else {
        let from = None;
        return Some(Move::State { group, from, to });
    };
    if from == to {
        return None;
    }
    let becomes_eligible = from.starts_with('I') && to.starts_with('E');
    if becomes_eligible {
        return Some(Move::Eligible { group, from, to });
    }
    Some(if group == own {
        let from = Some(from);
        Move::State { group, from, to }
    } else {
        // Another group is as eligible as before, so it can only have been unblocked.
        Move::Unblock { group, from, to }
    })
}
