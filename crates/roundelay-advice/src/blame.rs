//! Blame: whom the most harmful discipline hurts, by how much, and which flow suffers most.

use roundelay_trace::{Comparison, DisciplineResult, Kind, flow_harm};

use crate::answer::outcome_of;
use crate::case::Case;
use crate::harm::NOTABLE;
use crate::reasons::{Fate, Reason, Worst};

/// Whom the worst discipline hurts.
pub(crate) fn of_the_worst(case: &Case<'_>, best: usize) -> Option<Reason> {
    let worst = worst(case, best)?;
    let kind = case.harms[worst].hurt?;
    let loser = &case.results()[worst];
    let winner = &case.results()[best];
    let theirs = outcome_of(loser, kind)?;
    let ours = outcome_of(winner, kind)?;
    let spec = loser.spec.clone();
    if let (Some(least), Some(best)) = (theirs.least_share, ours.least_share) {
        return Some(Reason::HurtsBulk {
            spec,
            flow: case.comparison.flows[theirs.worst].label.clone(),
            least,
            best,
            winner: winner.spec.clone(),
        });
    }
    let flows = theirs.flows;
    let Some(wait) = theirs.p99 else {
        return Some(Reason::LocksOut { spec, kind, flows });
    };
    let worst_flow = worst_flow(case.comparison, loser, winner, kind);
    let factor = ours.p99.map_or(1.0, |least| wait / least);
    let is_lost = theirs.loss > ours.loss && kind != Kind::Acknowledgements;
    if factor < NOTABLE && !is_lost {
        let worst = worst_flow?;
        return Some(Reason::HurtsOne { spec, kind, worst });
    }
    Some(Reason::Hurts {
        spec,
        kind,
        flows,
        wait,
        factor: (factor >= NOTABLE).then_some(factor),
        shares_one_queue: case.standings[worst].one_queue,
        loss: is_lost.then_some(theirs.loss),
        worst: worst_flow.filter(|_| flows > 1),
    })
}

/// The discipline whose harm shows what the best one is for. Most links have a FIFO, so it is a
/// FIFO if one does notably more harm than the best. Otherwise it is the first with the most harm,
/// on the same condition. Looks only at disciplines that may be recommended, if there are several.
fn worst(case: &Case<'_>, best: usize) -> Option<usize> {
    let everyone: Vec<usize> = (0..case.harms.len()).collect();
    let rivals = if case.fit.len() > 1 {
        &case.fit
    } else {
        &everyone
    };
    let limit = NOTABLE * case.harms[best].regret;
    let is_worse = |index: usize| case.harms[index].regret > limit;
    let mut fifos = rivals
        .iter()
        .filter(|index| case.standings[**index].is_fifo);
    if let Some(fifo) = fifos.next()
        && is_worse(*fifo)
    {
        return Some(*fifo);
    }
    let mut most: Option<usize> = None;
    for index in rivals.iter().copied() {
        let regret = case.harms[index].regret;
        if most.is_none_or(|most| regret > case.harms[most].regret) {
            most = Some(index);
        }
    }
    most.filter(|most| is_worse(*most))
}

/// The flow of this kind whose harm grows most from the winner to the worst discipline.
fn worst_flow(
    comparison: &Comparison,
    loser: &DisciplineResult,
    winner: &DisciplineResult,
    kind: Kind,
) -> Option<Worst> {
    let mut most = 0.0;
    let mut worst = None;
    for flow in comparison.flows_of(kind) {
        let harm = flow_harm(comparison, loser, flow);
        let more = harm - flow_harm(comparison, winner, flow);
        // `==`: among equals, the last one wins.
        if more > most || (worst.is_some() && more == most) {
            most = more;
            worst = Some(flow);
        }
    }
    let flow = worst?;
    Some(Worst {
        flow: comparison.flows[flow].label.clone(),
        theirs: Fate::of(&loser.flows[flow].outcome),
        ours: Fate::of(&winner.flows[flow].outcome),
    })
}
