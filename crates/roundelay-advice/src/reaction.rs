//! What senders that react tell beyond a replay: what changes for users, whether the replay agrees,
//! and what the capture leaves open.

use roundelay_trace::reaction::{Basis, Reaction};
use roundelay_trace::{Comparison, DisciplineResult, Kind, KindOutcome, Options};

use crate::reasons::{Change, Reason, Trust};
use crate::standing::Standing;
use crate::verdict::Choice;
use crate::{tc, verdict};

/// Which discipline the best one is compared with: `fifo`, because most links have it, else the
/// most harmful.
fn other(standings: &[Standing], choice: &Choice) -> Option<usize> {
    let mut others = Vec::from_iter(0..standings.len());
    others.retain(|index| *index != choice.best);
    if let Some(fifo) = others.iter().find(|index| standings[**index].is_fifo) {
        return Some(*fifo);
    }
    // Where all do as much harm, the best one may be called the most harmful.
    if others.contains(&choice.worst) {
        return Some(choice.worst);
    }
    others.first().copied()
}

/// The reasons that only senders that react give.
pub(crate) fn reasons(
    comparison: &Comparison,
    options: &Options,
    standings: &[Standing],
    choice: &Choice,
) -> Vec<Reason> {
    let Some(reaction) = &comparison.reaction else {
        return Vec::new();
    };
    let mut reasons = Vec::new();
    // The verdict at both ends of each range that no capture shows, such as round trips.
    let mut verdicts_at_ends = Vec::new();
    for end in &reaction.open {
        verdicts_at_ends.push([
            end.parameter.to_owned(),
            end.value.clone(),
            comparison.disciplines[end.best].spec.clone(),
        ]);
    }
    let assumptions = (!verdicts_at_ends.is_empty()).then(|| Reason::Open {
        spec: comparison.disciplines[choice.best].spec.clone(),
        ends: verdicts_at_ends,
    });
    if !choice.is_contended {
        if !reaction.basis.wants_more() {
            reasons.push(Reason::NothingWantedMore);
        }
        reasons.extend(assumptions);
        return reasons;
    }
    if let Some(other) = other(standings, choice) {
        reasons.push(changes(comparison, choice.best, other, reaction.replicas));
    }
    if comparison.disciplines.len() > 1 {
        reasons.push(replayed(comparison, options, reaction, choice.best));
        reasons.extend(assumptions);
    }
    reasons
}

fn changes(comparison: &Comparison, best: usize, other: usize, replicas: usize) -> Reason {
    let [ours, theirs] = [best, other].map(|index| &comparison.disciplines[index]);
    let mut changes = Vec::new();
    for (number, kind) in ours.kinds.iter().enumerate() {
        let pair = Pair {
            ours,
            theirs,
            number,
        };
        let is_bulk = kind.kind == Kind::Bulk;
        let mut change = Change {
            kind: kind.kind,
            p99: None,
            done: pair.differing(|kind| kind.served?.mean),
            throughput: None,
            loss: pair.differing(|kind| Some(kind.loss)),
        };
        if is_bulk {
            change.throughput = pair.differing(|kind| Some(kind.served?.throughput));
        } else if kind.served.is_none_or(|served| served.mean.is_none()) {
            change.p99 = pair.differing(|kind| kind.p99);
        }
        if change.p99.or(change.done).or(change.throughput).is_some() {
            changes.push(change);
        }
    }
    Reason::Changes {
        spec: ours.spec.clone(),
        other: theirs.spec.clone(),
        changes,
        loss: [ours.total.loss, theirs.total.loss],
        replicas,
    }
}

/// A kind of flow under two disciplines.
struct Pair<'a> {
    ours: &'a DisciplineResult,
    theirs: &'a DisciplineResult,
    /// The kind's index.
    number: usize,
}

/// Nobody feels a difference smaller than this part of a figure, or than this time.
const UNFELT: f64 = 0.05;
const UNFELT_SECONDS: f64 = 0.001;

impl Pair<'_> {
    /// The figure under both, if they differ by more than a little and every run of one lies beyond
    /// every run of the other.
    fn differing(&self, of: fn(&KindOutcome) -> Option<f64>) -> Option<[f64; 2]> {
        let mut ranges = Vec::new();
        let mut means = Vec::new();
        for result in [self.ours, self.theirs] {
            let mut range = (f64::INFINITY, f64::NEG_INFINITY);
            for replica in &result.replicas {
                if let Some(value) = of(&replica.kinds[self.number]) {
                    range = (range.0.min(value), range.1.max(value));
                }
            }
            ranges.push(range);
            means.push(of(&result.kinds[self.number])?);
        }
        let is_apart = ranges[0].1 < ranges[1].0 || ranges[1].1 < ranges[0].0;
        let gap = (means[0] - means[1]).abs();
        let is_felt = gap > UNFELT * means[0].max(means[1]) && gap > UNFELT_SECONDS;
        (is_apart && is_felt).then(|| [means[0], means[1]])
    }
}

/// Whether the replay of the same packets chooses the same discipline.
fn replayed(
    comparison: &Comparison,
    options: &Options,
    reaction: &Reaction,
    best: usize,
) -> Reason {
    let replay = &reaction.replay;
    let commands = tc::all_commands(replay, options);
    let standings = Standing::of_all(replay, options, &commands);
    let chosen = verdict::best(replay, &replay.disciplines, &standings);
    let spec = comparison.disciplines[chosen].spec.clone();
    if chosen == best {
        let [reacting, replayed] = [comparison, replay].map(|of| of.disciplines[best].total.loss);
        return Reason::ReplayAgrees {
            spec,
            reacting,
            replayed,
        };
    }
    let Basis { tcp, quic, .. } = reaction.basis;
    Reason::ReplayParts {
        replayed: spec,
        spec: comparison.disciplines[best].spec.clone(),
        trust: if quic > tcp {
            Trust::Neither
        } else {
            Trust::Reacting
        },
        quic,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::STANDING;

    /// A FIFO, else the most harmful; never the best one.
    #[test]
    fn the_best_is_compared_with_another() {
        let of = |count: usize, fifo: Option<usize>, best, worst| {
            let standings: Vec<Standing> = (0..count)
                .map(|index| Standing {
                    is_fifo: fifo == Some(index),
                    ..STANDING
                })
                .collect();
            let choice = Choice {
                best,
                worst,
                reasons: Vec::new(),
                is_contended: true,
                is_indifferent: false,
            };
            other(&standings, &choice)
        };
        assert_eq!(of(3, Some(2), 0, 1), Some(2));
        assert_eq!(of(3, Some(0), 0, 2), Some(2));
        assert_eq!(of(3, None, 1, 2), Some(2));
        // All do as much harm: then any other one.
        assert_eq!(of(2, None, 0, 0), Some(1));
        assert_eq!(of(1, Some(0), 0, 0), None);
    }
}
