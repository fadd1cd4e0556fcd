//! Verdict on an objective: does a discipline perform as well as the specialist, within a threshold
//! and with 95% confidence?

use roundelay_sim::scenario::{Figure, Interval};
use serde::Serialize;

use super::discipline::{DisciplineResult, worse};
use super::figure::name;
use super::sources::MATERIAL;
use crate::units::{percent, signed_percent as signed};

/// Does a discipline perform as well as the specialist?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The whole interval is within the threshold, and not materially more is lost or cut off than
    /// under the specialist.
    Does,
    /// The whole interval is beyond the threshold, and not materially less is lost or cut off.
    DoesNot,
    /// The threshold lies in the interval, there is no interval, or loss or cut-off flows prevent
    /// the comparison.
    CannotTell,
}

/// An answer with its sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The answer.
    pub answer: Answer,
    /// The answer as a sentence with figures.
    pub sentence: String,
}

impl Answer {
    /// `worse` is the fraction by which a discipline is worse than the specialist, over the seeds.
    pub fn of(worse: Option<Interval>, threshold: f64) -> Self {
        match worse {
            Some(Interval {
                mean,
                half_width: Some(half),
            }) if mean + half <= threshold => Self::Does,
            Some(Interval {
                mean,
                half_width: Some(half),
            }) if mean - half > threshold => Self::DoesNot,
            _ => Self::CannotTell,
        }
    }
}

impl Verdict {
    /// The verdict on the discipline `of`. Delays and completion times exist only for delivered
    /// packets and complete flows: with materially more loss or cut-off flows than the specialist,
    /// good figures prove nothing, and with materially less, bad figures prove nothing
    /// ([`Answer::CannotTell`]).
    pub fn new(
        of: &DisciplineResult,
        which: Figure,
        specialist: &DisciplineResult,
        threshold: f64,
    ) -> Self {
        let by_figure = Answer::of(of.worse, threshold);
        let mut gaps = Gap::all(of, specialist, which);
        gaps.retain(Gap::is_material);
        let is_incomparable = match by_figure {
            Answer::Does => gaps.iter().any(Gap::is_more),
            Answer::DoesNot => !gaps.iter().all(Gap::is_more),
            Answer::CannotTell => false,
        };
        let answer = if is_incomparable {
            Answer::CannotTell
        } else {
            by_figure
        };
        let queue = &of.queue;
        let other = &specialist.queue;
        let bound = percent(threshold);
        let how = of.worse.map_or_else(
            || "there is nothing to compare".to_owned(),
            |worse| format!("its {} is {}", name(which), in_words(worse)),
        );
        let gaps = gaps
            .iter()
            .map(|gap| format!(", and {}", gap.in_words(other)))
            .collect::<String>();
        let seeds = of.replicas.len();
        let sentence = match answer {
            Answer::Does => {
                format!("{queue} does as well as {other}: {how}, within {bound}{gaps}.")
            }
            Answer::DoesNot => {
                format!("{queue} does not do as well as {other}: {how}, beyond {bound}{gaps}.")
            }
            Answer::CannotTell if is_incomparable => {
                format!(
                    "Whether {queue} does as well as {other} cannot be told: {how}{}.",
                    gaps.replacen(", and", ", but", 1)
                )
            }
            Answer::CannotTell if specialist.value.is_some_and(|value| value.mean == 0.0) => {
                format!(
                    "Whether {queue} does as well as {other} cannot be told: the {} under {other} \
                     is 0.",
                    name(which)
                )
            }
            Answer::CannotTell => {
                let seeds = if seeds == 1 {
                    "1 seed".to_owned()
                } else {
                    format!("{seeds} seeds")
                };
                format!(
                    "Whether {queue} does as well as {other} cannot be told from {seeds}: {how}, \
                     the threshold {bound}{gaps}. Run more --replicas."
                )
            }
        };
        Self { answer, sentence }
    }
}

/// Whether a discipline is better than another by more than the threshold, with 95% confidence, and
/// without materially more loss, undelivered packets or cut-off flows.
pub(super) fn is_better(
    of: &DisciplineResult,
    other: &DisciplineResult,
    which: Figure,
    threshold: f64,
) -> bool {
    let is_far = match worse(which, &of.replicas, &other.replicas) {
        Some(Interval {
            mean,
            half_width: Some(half),
        }) => mean < -threshold && mean + half < 0.0,
        _ => false,
    };
    is_far
        && !Gap::all(of, other, which)
            .iter()
            .any(|gap| gap.is_material() && gap.is_more())
}

/// Fraction of packets or flows that delays and completion times leave out, under a discipline and
/// under the specialist: means over the seeds.
struct Gap {
    own: f64,
    other: f64,
    /// The verb for these packets or flows in a sentence.
    verb: &'static str,
    /// Packets or flows.
    of: &'static str,
}

impl Gap {
    /// Gaps in lost packets. If the figure is over packets, also in packets that are in the network
    /// at the end, and if it is a delay or a completion time, in cut-off flows. The fraction of
    /// packets in time counts lost packets as late, but not packets in the network.
    fn all(of: &DisciplineResult, specialist: &DisciplineResult, which: Figure) -> Vec<Self> {
        let mean = |part: Option<Interval>| part.map_or(0.0, |part| part.mean);
        let loss = Self {
            own: mean(of.loss),
            other: mean(specialist.loss),
            verb: "loses",
            of: "packets",
        };
        let cut_off = Self {
            own: of.mean_cut_off(),
            other: specialist.mean_cut_off(),
            verb: "leaves unfinished",
            of: "flows",
        };
        let undelivered = Self {
            own: mean(of.undelivered),
            other: mean(specialist.undelivered),
            verb: "leaves undelivered",
            of: "packets of one source",
        };
        match which {
            Figure::InTime => vec![undelivered],
            Figure::Jain => vec![loss, undelivered],
            Figure::DelayTail => vec![loss, undelivered, cut_off],
            Figure::Completion | Figure::CompletionByBytes => vec![loss, cut_off],
        }
    }

    fn is_material(&self) -> bool {
        (self.own - self.other).abs() > MATERIAL
    }

    fn is_more(&self) -> bool {
        self.own > self.other
    }

    /// `it loses 19.6% of the packets where fifo loses none`.
    fn in_words(&self, specialist: &str) -> String {
        let part = |part: f64| {
            if part > 0.0 {
                percent(part)
            } else {
                "none".to_owned()
            }
        };
        let Self { verb, of, .. } = self;
        format!(
            "it {verb} {} of the {of} where {specialist} {verb} {}",
            part(self.own),
            part(self.other)
        )
    }
}

/// `2.1% worse (95% interval -0.5% to 4.7%)`.
fn in_words(worse: Interval) -> String {
    let Interval { mean, half_width } = worse;
    let side = if mean < 0.0 { "better" } else { "worse" };
    let interval = half_width.map(|half| {
        format!(
            " (95% interval {} to {})",
            signed(mean - half),
            signed(mean + half)
        )
    });
    if mean == 0.0 && half_width == Some(0.0) {
        return "the same for each seed".to_owned();
    }
    format!(
        "{} {side}{}",
        percent(mean.abs()),
        interval.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::super::discipline::ObjectiveRun;
    use super::*;

    const fn interval(mean: f64, half: f64) -> Option<Interval> {
        Some(Interval {
            mean,
            half_width: Some(half),
        })
    }

    #[test]
    fn an_answer_needs_the_whole_interval() {
        assert_eq!(Answer::of(interval(0.02, 0.03), 0.05), Answer::Does);
        assert_eq!(Answer::of(interval(0.02, 0.04), 0.05), Answer::CannotTell);
        assert_eq!(Answer::of(interval(0.10, 0.04), 0.05), Answer::DoesNot);
        assert_eq!(Answer::of(interval(-0.30, 0.04), 0.0), Answer::Does);
        assert_eq!(
            Answer::of(
                Some(Interval {
                    mean: 0.0,
                    half_width: None
                }),
                0.05
            ),
            Answer::CannotTell
        );
        assert_eq!(Answer::of(None, 0.05), Answer::CannotTell);
    }

    fn runs(values: &[f64]) -> Vec<ObjectiveRun> {
        (1..)
            .zip(values)
            .map(|(seed, value)| ObjectiveRun {
                seed,
                value: *value,
                loss: None,
                undelivered: 0.0,
                complete: 99,
                incomplete: 1,
            })
            .collect()
    }

    fn verdict(values: &[f64], specialist: &[f64], which: Figure) -> Verdict {
        verdict_of(runs(values), runs(specialist), which)
    }

    fn verdict_of(own: Vec<ObjectiveRun>, specialist: Vec<ObjectiveRun>, which: Figure) -> Verdict {
        let own = DisciplineResult::new("lstf".to_owned(), which, own, &specialist, &[]);
        Verdict::new(
            &own,
            which,
            &DisciplineResult::new(
                "sjf".to_owned(),
                which,
                specialist.clone(),
                &specialist,
                &[],
            ),
            0.05,
        )
    }

    /// A queue of five packets has short delays, but only for the packets not dropped.
    #[test]
    fn loss_is_not_rewarded() {
        let with = |value: f64, loss: f64| {
            runs(&[value, value])
                .into_iter()
                .map(|run| ObjectiveRun {
                    loss: Some(loss),
                    ..run
                })
                .collect()
        };
        let told = verdict_of(with(0.5, 0.196), with(1.0, 0.0), Figure::DelayTail);
        assert_eq!(told.answer, Answer::CannotTell);
        assert!(
            told.sentence
                .ends_with("50.0% better (95% interval -50.0% to -50.0%), but it loses 19.6% of the packets where sjf loses none."),
            "{told:?}"
        );
        let told = verdict_of(with(2.0, 0.0), with(1.0, 0.196), Figure::DelayTail);
        assert_eq!(told.answer, Answer::CannotTell);
        assert!(
            told.sentence
                .contains("but it loses none of the packets where sjf loses 19.6%"),
            "{told:?}"
        );
        let told = verdict_of(with(2.0, 0.196), with(1.0, 0.0), Figure::DelayTail);
        assert!(
            told.answer == Answer::DoesNot && told.sentence.contains("and it loses 19.6%"),
            "{told:?}"
        );
        assert_eq!(
            verdict_of(with(1.0, 0.0), with(1.0, 0.196), Figure::DelayTail).answer,
            Answer::Does
        );
        assert_eq!(
            verdict_of(with(1.0, 0.012), with(1.0, 0.005), Figure::DelayTail).answer,
            Answer::Does
        );
    }

    /// Packets that wait until the end of the run are in no figure over packets.
    #[test]
    fn packets_left_in_the_network_are_not_rewarded() {
        let with = |value: f64, undelivered: f64| {
            runs(&[value, value])
                .into_iter()
                .map(|run| ObjectiveRun { undelivered, ..run })
                .collect()
        };
        for (which, good) in [
            (Figure::DelayTail, 0.5),
            (Figure::InTime, 2.0),
            (Figure::Jain, 2.0),
        ] {
            let told = verdict_of(with(good, 0.5), with(1.0, 0.001), which);
            assert_eq!(told.answer, Answer::CannotTell);
            assert!(
                told.sentence.ends_with("but it leaves undelivered 50.0% of the packets of one source where sjf leaves undelivered 0.10%."),
                "{told:?}"
            );
            assert_eq!(
                verdict_of(with(good, 0.002), with(1.0, 0.001), which).answer,
                Answer::Does
            );
        }
    }

    /// A discipline is better only beyond the threshold, with confidence, and not by leaving
    /// packets or flows out.
    #[test]
    fn better_needs_an_interval_and_the_same_packets() {
        let row = |values: &[f64], loss: f64| {
            let runs: Vec<_> = runs(values)
                .into_iter()
                .map(|run| ObjectiveRun {
                    loss: Some(loss),
                    ..run
                })
                .collect();
            DisciplineResult::new(
                "any".to_owned(),
                Figure::DelayTail,
                runs.clone(),
                &runs,
                &[],
            )
        };
        let better = |own: &[f64], other: &[f64], loss| {
            is_better(&row(own, loss), &row(other, 0.0), Figure::DelayTail, 0.05)
        };
        assert!(better(&[0.5, 0.51, 0.49], &[1.0, 1.0, 1.0], 0.0));
        assert!(
            !better(&[0.5, 0.51, 0.49], &[1.0, 1.0, 1.0], 0.2),
            "more loss"
        );
        assert!(
            !better(&[0.98, 0.97, 0.98], &[1.0, 1.0, 1.0], 0.0),
            "within the threshold"
        );
        assert!(
            !better(&[0.2, 1.5, 0.5], &[1.0, 1.0, 1.0], 0.0),
            "no confidence"
        );
        assert!(!better(&[0.5], &[1.0], 0.0), "one seed");
    }

    /// No packet is in time under the specialist: more seeds would not help.
    #[test]
    fn a_figure_of_zero_is_no_reference() {
        let told = verdict(&[0.0, 0.0], &[0.0, 0.0], Figure::InTime);
        assert_eq!(
            told.sentence,
            "Whether lstf does as well as sjf cannot be told: the part of the packets in time under sjf is 0."
        );
    }

    /// Flows that wait until the end of the run are missing from every mean.
    #[test]
    fn starvation_is_not_rewarded() {
        let with = |value: f64, incomplete: u64| {
            runs(&[value, value])
                .into_iter()
                .map(|run| ObjectiveRun { incomplete, ..run })
                .collect()
        };
        let told = verdict_of(with(0.5, 33), with(1.0, 1), Figure::Completion);
        assert_eq!(told.answer, Answer::CannotTell);
        assert!(
            told.sentence.ends_with(
                "but it leaves unfinished 25.0% of the flows where sjf leaves unfinished 1.0%."
            ),
            "{told:?}"
        );
        assert_eq!(
            verdict_of(with(0.5, 2), with(1.0, 1), Figure::Completion).answer,
            Answer::Does
        );
        assert_eq!(
            verdict_of(with(1.0, 33), with(1.0, 1), Figure::Jain).answer,
            Answer::Does
        );
    }

    #[test]
    fn seeds_are_compared_one_by_one() {
        // The seeds differ by a factor of ten, the disciplines by 2%.
        let told = verdict(&[1.02, 10.2], &[1.0, 10.0], Figure::Completion);
        assert_eq!(told.answer, Answer::Does);
        assert!(
            told.sentence
                .starts_with("lstf does as well as sjf: its mean flow completion time is 2.0% worse (95% interval +2.0% to +2.0%)"),
            "{told:?}"
        );
        let told = verdict(&[0.5, 0.5], &[1.0, 1.0], Figure::Jain);
        assert!(
            told.answer == Answer::DoesNot && told.sentence.contains("50.0% worse"),
            "{told:?}"
        );
        let told = verdict(&[1.0], &[1.0], Figure::Completion);
        assert!(
            told.sentence.contains("cannot be told from 1 seed")
                && told.sentence.contains("--replicas"),
            "{told:?}"
        );
    }
}
