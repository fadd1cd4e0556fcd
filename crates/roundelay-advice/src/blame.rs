//! Blame: whom the most harmful discipline hurts, by how much, and which flow suffers most.

use roundelay_trace::{Comparison, DisciplineResult, Kind, flow_harm};

use crate::answer::outcome_of;
use crate::case::Case;
use crate::harm::{NOTABLE, completion};
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
    if completion(case.comparison, theirs).is_some() {
        // What changes for users says it (`reaction.rs`).
        return None;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harm::Harm;
    use crate::sample::{HARM, STANDING, comparison};
    use crate::standing::Standing;

    /// What `of` says where the disciplines have these quotients of harm, `fit` may be recommended,
    /// and one of them is a FIFO.
    fn case<R>(
        comparison: &Comparison,
        regrets: [f64; 3],
        fit: &[usize],
        fifo: Option<usize>,
        of: impl Fn(&Case<'_>) -> R,
    ) -> R {
        let harms = regrets.map(|regret| Harm {
            regret,
            regret_among_all: regret,
            ..HARM
        });
        let standings = [0, 1, 2].map(|index| Standing {
            is_fifo: fifo == Some(index),
            ..STANDING
        });
        of(&Case {
            comparison,
            results: &comparison.disciplines,
            standings: &standings,
            harms: harms.into(),
            fit: fit.to_vec(),
            negligible: 1e-4,
        })
    }

    /// A FIFO is blamed first, and of others the most harmful that may be recommended; all may be
    /// blamed where only the best one may be recommended.
    #[test]
    fn the_blamed_one_is_a_fifo_or_the_most_harmful() {
        let comparison = comparison(&["drr", "qfq", "sfq"]);
        for (regrets, fit, fifo, expected) in [
            ([1.0, 1.2, 3.0], &[0, 1, 2][..], None, Some(2)),
            ([1.0, 1.2, 3.0], &[0, 1], None, None),
            ([1.0, 1.2, 3.0], &[0], None, Some(2)),
            ([1.0, 2.0, 3.0], &[0, 1, 2], Some(1), Some(1)),
            ([1.0, 1.2, 3.0], &[0, 1, 2], Some(1), Some(2)),
            // Notably more than the best one's, which is above 1 here.
            ([2.0, 2.2, 2.5], &[0, 1, 2], None, None),
            ([2.0, 2.2, 2.6], &[0, 1, 2], None, Some(2)),
        ] {
            let found = case(&comparison, regrets, fit, fifo, |case| worst(case, 0));
            assert_eq!(found, expected, "{regrets:?} {fit:?} {fifo:?}");
        }
    }

    /// Delay and loss of the call under drr, the best one, and under sfq.
    fn blame(kind: Kind, waits: [f64; 2], losses: [f64; 2]) -> String {
        let mut comparison = comparison(&["drr", "qfq", "sfq"]);
        for (index, (wait, loss)) in [0, 2].into_iter().zip(waits.into_iter().zip(losses)) {
            let outcome = &mut comparison.disciplines[index].kinds[0];
            (outcome.kind, outcome.p99, outcome.loss) = (kind, Some(wait), loss);
            outcome.least_share = None;
        }
        let regrets = [1.0, 1.0, 3.0];
        case(&comparison, regrets, &[0, 2], None, |case| {
            let mut reason = of_the_worst(case, 0);
            if let Some(Reason::Hurts { worst, .. }) = &mut reason {
                *worst = None;
            }
            format!("{reason:?}")
        })
    }

    #[test]
    fn blame_tells_of_delay_and_of_loss_where_they_are_more() {
        let kind = Kind::Call;
        let hurts = |wait, factor, loss| {
            let reason = Reason::Hurts {
                spec: "sfq".to_owned(),
                kind,
                flows: 1,
                wait,
                factor,
                shares_one_queue: false,
                loss,
                worst: None,
            };
            format!("{:?}", Some(reason))
        };
        let slower = blame(kind, [0.01, 0.04], [0.0, 0.0]);
        assert_eq!(slower, hurts(0.04, Some(4.0), None));
        let both = blame(kind, [0.01, 0.04], [0.0, 0.02]);
        assert_eq!(both, hurts(0.04, Some(4.0), Some(0.02)));
        let lost = blame(kind, [0.01, 0.01], [0.0, 0.02]);
        assert_eq!(lost, hurts(0.01, None, Some(0.02)));
        // A lost acknowledgement is followed by another: without a delay there is nothing to tell.
        let acks = blame(Kind::Acknowledgements, [0.01, 0.01], [0.0, 0.02]);
        assert_eq!(acks, "None");
    }

    /// Where no flow is worse off than under the winner, none is the worst.
    #[test]
    fn a_flow_that_is_as_well_off_is_not_the_worst() {
        let comparison = comparison(&["drr", "qfq", "sfq"]);
        let kind = comparison.disciplines[0].kinds[0].kind;
        let mut slow = comparison.disciplines[0].clone();
        slow.flows[0].outcome.delay.as_mut().expect("a delay").p99 += 1.0;
        let of = |loser| {
            let worst = worst_flow(&comparison, loser, &comparison.disciplines[0], kind);
            worst.is_some()
        };
        assert!(!of(&comparison.disciplines[0]));
        assert!(of(&slow));
    }
}
