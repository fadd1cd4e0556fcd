//! The verdict's answer: what flows get under the best discipline, and what it costs.

use roundelay_trace::{Comparison, DisciplineResult, Kind, KindOutcome};

use crate::case::{Case, Extremes, SMALL_LOSS};
use crate::harm::{NOTABLE_LOSS, STRIKING};
use crate::reasons::{Cause, Reason, Share, Wait};

/// Shares of bulk flows count as equal if they differ by less than this fraction.
const SAME_SHARE: f64 = 0.01;

/// The first sentence of the verdict.
pub(crate) fn of(case: &Case<'_>, best: usize, is_contended: bool, differ: bool) -> Reason {
    let results = case.results();
    let spec = case.spec(best);
    if results.len() > 1 && results.iter().all(|result| result.total.packets == 0) {
        Reason::NothingGetsThrough
    } else if !is_contended {
        Reason::NoContention { spec }
    } else if differ || results.len() == 1 {
        praise(case, best)
    } else {
        Reason::AllAlike { spec }
    }
}

/// What each kind of flow gets, when the discipline was chosen by harm.
fn praise(case: &Case<'_>, best: usize) -> Reason {
    let spec = case.spec(best);
    let mut light = Vec::new();
    for outcome in &case.results()[best].kinds {
        if outcome.kind != Kind::Bulk {
            light.push(outcome.clone());
        }
    }
    if light.is_empty() {
        return praise_of_bulk(case, best);
    }
    if light.iter().all(|outcome| outcome.p99.is_none()) {
        return Reason::OnlyBulk { spec };
    }
    Reason::Serves {
        spec,
        is_alone: case.results().len() == 1,
        light,
    }
}

/// What flows get when all of them ask for more than their fair share.
fn praise_of_bulk(case: &Case<'_>, best: usize) -> Reason {
    let winner = &case.results()[best];
    let spec = winner.spec.clone();
    let delay = winner.total.delay.map_or(0.0, |delay| delay.p99);
    if let [flow] = &case.comparison.flows[..] {
        return Reason::Alone {
            flow: flow.label.clone(),
            spec,
            loss: winner.total.loss,
            more: most_lossy(case, winner),
            delay,
        };
    }
    let least = least_share(winner);
    let mut fairest = winner;
    let mut most = least;
    for result in case.results() {
        // `>=`: among equals, the last one wins.
        if least_share(result) >= most {
            most = least_share(result);
            fairest = result;
        }
    }
    let fairer = (most > least + SAME_SHARE).then(|| Share {
        spec: fairest.spec.clone(),
        part: most,
    });
    Reason::Divides {
        spec,
        least,
        fairer,
        delay,
    }
}

/// Which disciplines are judged by what hosts are due. The best of the others, or else the one that
/// is worst for a host, shows what it means to be judged by flow.
pub(crate) fn fairness_by_host(case: &Case<'_>, best: usize) -> Option<Reason> {
    let hosts = &case.comparison.hosts.as_ref()?.all;
    let mut specs = Vec::new();
    let mut least = 1.0_f64;
    let mut other: Option<(usize, f64, usize)> = None;
    for (index, result) in case.results().iter().enumerate() {
        let Some(fairness) = result.hosts else {
            continue;
        };
        if fairness.judged {
            specs.push(result.spec.clone());
            least = least.min(fairness.least_share);
            continue;
        }
        let is_worse = other.is_none_or(|(known, part, _)| {
            index == best || known != best && fairness.least_share < part
        });
        if is_worse {
            other = Some((index, fairness.least_share, fairness.worst));
        }
    }
    if specs.is_empty() {
        return None;
    }
    let mut host = String::new();
    let mut share = None;
    if let Some((index, part, worst)) = other {
        host.clone_from(&hosts[worst].label);
        let spec = case.spec(index);
        share = Some(Share { spec, part });
    }
    Some(Reason::JudgedByHost {
        specs,
        least,
        other: share,
        host,
    })
}

/// The smallest part of its fair share that a bulk flow gets.
pub(crate) fn least_share(result: &DisciplineResult) -> f64 {
    let mut shares = result.kinds.iter().filter_map(|kind| kind.least_share);
    shares.next().unwrap_or(1.0)
}

/// Among the disciplines that may be recommended, the one that loses most, if it loses notably more
/// than the winner.
fn most_lossy(case: &Case<'_>, winner: &DisciplineResult) -> Option<Share> {
    let mut most: Option<&DisciplineResult> = None;
    for index in &case.fit {
        let result = &case.results()[*index];
        if most.is_none_or(|most| result.total.loss >= most.total.loss) {
            most = Some(result);
        }
    }
    let most = most?;
    (most.total.loss > winner.total.loss + NOTABLE_LOSS).then(|| Share {
        spec: most.spec.clone(),
        part: most.total.loss,
    })
}

/// The flow whose p99 differs most between disciplines, if by more than `STRIKING`. A flow counts
/// only if it gets packets through under every discipline.
pub(crate) fn standout(case: &Case<'_>) -> Option<Reason> {
    let mut striking = STRIKING;
    let mut found = None;
    for flow in 0..case.comparison.flows.len() {
        let Some(waits) = waits(case.comparison, flow) else {
            continue;
        };
        let mut extremes = Extremes::NONE;
        for wait in &waits {
            extremes.add(*wait);
        }
        let factor = extremes.ratio();
        let is_more = factor > striking || (found.is_some() && factor == striking);
        if extremes.most > case.negligible && is_more {
            striking = factor;
            found = Some((flow, waits));
        }
    }
    let (flow, waits) = found?;
    // Among equal waits, the first counts as the shortest and the last as the longest.
    let mut shortest = 0;
    let mut longest = 0;
    for (index, wait) in waits.iter().enumerate() {
        if *wait < waits[shortest] {
            shortest = index;
        }
        if *wait >= waits[longest] {
            longest = index;
        }
    }
    let wait_under = |index: usize| Wait {
        spec: case.spec(index),
        p99: waits[index],
    };
    Some(Reason::Standout {
        flow: case.comparison.flows[flow].label.clone(),
        shortest: wait_under(shortest),
        longest: wait_under(longest),
    })
}

/// The flow's p99 under each discipline. None if nothing gets through under one of them.
fn waits(comparison: &Comparison, flow: usize) -> Option<Vec<f64>> {
    let mut waits = Vec::new();
    for result in &comparison.disciplines {
        waits.push(result.flows[flow].outcome.delay?.p99);
    }
    Some(waits)
}

/// What the best discipline costs, and what else may have decided.
pub(crate) fn caveats(case: &Case<'_>, best: usize) -> Vec<Reason> {
    let winner = &case.results()[best];
    let spec = winner.spec.clone();
    let drops = winner.total.drops;
    let mut caveats = Vec::new();
    if winner.total.loss > SMALL_LOSS {
        let cause = if drops.early * 2 > drops.total() {
            Cause::Early
        } else if drops.refused * 2 > drops.total() {
            Cause::Refused
        } else {
            Cause::Full
        };
        caveats.push(Reason::Loses {
            spec: spec.clone(),
            loss: winner.total.loss,
            cause,
            is_answered: case.comparison.reaction.is_some(),
        });
    }
    let marked = winner.total.part_marked();
    if marked > SMALL_LOSS && case.comparison.reaction.is_none() {
        caveats.push(Reason::Marks {
            spec: spec.clone(),
            part: marked,
        });
    }
    let late = winner.total.reordered;
    if late > 0 {
        caveats.push(Reason::Reorders {
            spec,
            packets: late,
            part: late as f64 / winner.total.packets.max(1) as f64,
        });
    }
    caveats.extend(cost_of_cake(case, winner));
    // A discipline with a shorter buffer earns no credit for its shorter delay. But if no buffer
    // overflowed, the buffers cannot have decided.
    let mut results = case.results().iter();
    let unlike = results.any(|result| result.limit != winner.limit);
    let mut drops = case.results().iter().map(|result| result.total.drops);
    if unlike && drops.any(|drops| drops.full + drops.pushed_out > 0) {
        caveats.push(Reason::DifferentBuffers);
    }
    caveats
}

/// What cake costs beside `fq_codel`, if both are known. It matters because at high rates the
/// processor limits cake first.
fn cost_of_cake(case: &Case<'_>, winner: &DisciplineResult) -> Option<Reason> {
    if winner.name != "cake" {
        return None;
    }
    let other = case
        .results()
        .iter()
        .find(|result| result.name == "fq_codel")?;
    let ours = winner.cost?;
    let theirs = other.cost?;
    if !ours.is_certain() || !theirs.is_certain() {
        return None;
    }
    Some(Reason::CostsMore {
        spec: winner.spec.clone(),
        nanos: ours.nanos_per_packet,
        other: other.spec.clone(),
        theirs: theirs.nanos_per_packet,
    })
}

/// The outcome of a kind under a discipline.
pub(crate) fn outcome_of(result: &DisciplineResult, kind: Kind) -> Option<&KindOutcome> {
    result.kinds.iter().find(|outcome| outcome.kind == kind)
}

#[cfg(test)]
mod tests {
    use roundelay_trace::{Cost, Drops};

    use super::*;
    use crate::sample::{STANDING, comparison};

    /// The caveats of drr beside qfq, after this change of its figures.
    fn caveats_of(change: impl FnOnce(&mut [DisciplineResult])) -> Vec<Reason> {
        let mut comparison = comparison(&["drr", "qfq"]);
        change(&mut comparison.disciplines);
        let standings = [STANDING; 2];
        let case = Case::new(&comparison, &comparison.disciplines, &standings);
        caveats(&case, 0)
    }

    /// What is said of cake's cost where its slowest run took so many times its median.
    fn cost_beside(slowest: f64) -> Option<Reason> {
        let mut comparison = comparison(&["cake", "fq_codel"]);
        for (result, nanos) in comparison.disciplines.iter_mut().zip([90.0, 40.0]) {
            result.cost = Some(Cost {
                nanos_per_packet: nanos,
                range: (nanos, nanos * slowest),
                packets: 50_000,
            });
        }
        let standings = [STANDING; 2];
        let case = Case::new(&comparison, &comparison.disciplines, &standings);
        cost_of_cake(&case, &comparison.disciplines[0])
    }

    /// A cost whose runs differ by more than half is no argument.
    #[test]
    fn costs_argue_only_where_they_are_known() {
        let Some(Reason::CostsMore { nanos, theirs, .. }) = cost_beside(1.4) else {
            panic!("costs are no argument");
        };
        assert_eq!([nanos, theirs], [90.0, 40.0]);
        assert!(cost_beside(1.6).is_none());
    }

    /// The cause of a loss is what caused more than half of it.
    #[test]
    fn a_loss_has_the_cause_of_its_greater_part() {
        let causes = |loss, drops| {
            let caveats = caveats_of(|results| {
                (results[0].total.loss, results[0].total.drops) = (loss, drops);
            });
            let mut causes = Vec::new();
            for caveat in caveats {
                match caveat {
                    Reason::Loses { cause, .. } => causes.push(cause),
                    other => panic!("{other:?}"),
                }
            }
            causes
        };
        let drops = |early, refused, full| Drops {
            full,
            pushed_out: 0,
            early,
            refused,
            filtered: 0,
        };
        assert_eq!(causes(0.02, drops(6, 0, 5)), [Cause::Early]);
        assert_eq!(causes(0.02, drops(5, 0, 5)), [Cause::Full]);
        assert_eq!(causes(0.02, drops(0, 6, 5)), [Cause::Refused]);
        assert_eq!(causes(0.02, drops(0, 5, 5)), [Cause::Full]);
        assert_eq!(causes(0.02, drops(1, 2, 3)), [Cause::Full]);
        assert_eq!(causes(0.01, drops(6, 0, 5)), [], "too small a loss");
    }

    #[test]
    fn marks_late_packets_and_short_buffers_are_caveats() {
        assert!(caveats_of(|_| ()).is_empty());
        let marked = caveats_of(|results| results[0].total.marked = 50);
        assert!(matches!(marked[..], [Reason::Marks { .. }]), "{marked:?}");
        let few = caveats_of(|results| results[0].total.marked = 1);
        assert!(few.is_empty(), "{few:?}");
        let late = caveats_of(|results| results[0].total.reordered = 1);
        assert!(
            matches!(late[..], [Reason::Reorders { packets: 1, .. }]),
            "{late:?}"
        );
        // Another buffer decides where some buffer drops packets.
        let other = "7p".to_owned();
        let unlike = caveats_of(|results| results[1].limit = other.clone());
        assert!(unlike.is_empty(), "{unlike:?}");
        let full = caveats_of(|results| results[1].total.drops.full = 1);
        assert!(full.is_empty(), "{full:?}");
        let both = caveats_of(|results| {
            results[1].limit = other.clone();
            results[1].total.drops.full = 1;
        });
        assert!(matches!(both[..], [Reason::DifferentBuffers]), "{both:?}");
    }
}
