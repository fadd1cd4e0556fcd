//! How a comparison's figures spread: over replicas, where senders react, and over seeds.

use roundelay_sim::scenario::{Interval, student_95};
use roundelay_trace::{Comparison, Delay, DisciplineResult, Kind, KindOutcome};
use schemars::JsonSchema;
use serde::Serialize;

use crate::units::{percent, seconds};

/// A discipline's figure: the mean over replicas with its interval, or a replay's figure alone.
/// None without the figure.
pub(crate) fn spread(
    result: &DisciplineResult,
    of: impl Fn(&DisciplineResult) -> Option<f64>,
) -> Option<Interval> {
    let mut values = Vec::new();
    for replica in &result.replicas {
        values.extend(of(replica));
    }
    if result.replicas.is_empty() {
        values.extend(of(result));
    }
    student_95(&values)
}

/// Half the interval, `±3.10 ms`, or nothing.
pub(crate) fn half_width(
    result: &DisciplineResult,
    of: impl Fn(&DisciplineResult) -> Option<f64>,
    in_words: fn(f64) -> String,
) -> String {
    match spread(result, of) {
        Some(Interval {
            half_width: Some(half),
            ..
        }) if half > 0.0 => format!("±{}", in_words(half)),
        _ => String::new(),
    }
}

/// A delay counts as another one from this factor and this many seconds on, a loss and a share from
/// these parts on.
const NOTABLE_FACTOR: f64 = 1.25;
const NOTABLE_SECONDS: f64 = 0.001;
const NOTABLE_LOSS: f64 = 0.01;
const NOTABLE_SHARE: f64 = 0.05;

/// The seed under which a discipline's figures differ most, and these figures. None if no seed
/// makes a notable difference.
pub(crate) fn farthest_seed(
    comparison: &Comparison,
    discipline: usize,
) -> Option<(u64, &DisciplineResult)> {
    let mut farthest = None;
    let mut most = 1.0;
    for other in &comparison.other_seeds {
        let result = &other.disciplines[discipline];
        let distance = distance(&comparison.disciplines[discipline], result);
        if distance > most {
            most = distance;
            farthest = Some((other.seed, result));
        }
    }
    farthest
}

/// How far apart two results are in the figures that a verdict quotes: 1 is the least that is
/// notable. If no flow is light, the figures over all packets count.
fn distance(one: &DisciplineResult, other: &DisciplineResult) -> f64 {
    let has_light = one.light.delay.is_some() || other.light.delay.is_some();
    let [all, others] = [one, other].map(|result| {
        if has_light {
            &result.light
        } else {
            &result.total
        }
    });
    let mut distance = of_losses(all.loss, others.loss);
    if let (Some(delay), Some(others)) = (all.delay, others.delay) {
        distance = distance.max(of_delays(delay.p99, others.p99));
    }
    for change in changes_of_kinds(one, other) {
        distance = distance.max(change.distance);
    }
    distance
}

/// A figure of one kind of flows with two seeds.
struct Change {
    figure: &'static str,
    kind: Kind,
    before: f64,
    now: f64,
    in_words: fn(f64) -> String,
    /// As from [`distance`].
    distance: f64,
}

/// The kinds' figures that a verdict quotes: for bulk the least share, for others p99 and loss.
fn changes_of_kinds(one: &DisciplineResult, other: &DisciplineResult) -> Vec<Change> {
    let mut changes = Vec::new();
    for (kind, others) in one.kinds.iter().zip(&other.kinds) {
        if let (Some(before), Some(now)) = (kind.least_share, others.least_share) {
            changes.push(Change {
                figure: "least share",
                kind: kind.kind,
                before,
                now,
                in_words: percent,
                distance: (before - now).abs() / NOTABLE_SHARE,
            });
            continue;
        }
        if let (Some(before), Some(now)) = (kind.p99, others.p99) {
            changes.push(Change {
                figure: "p99 delay",
                kind: kind.kind,
                before,
                now,
                in_words: seconds,
                distance: of_delays(before, now),
            });
        }
        changes.push(Change {
            figure: "loss",
            kind: kind.kind,
            before: kind.loss,
            now: others.loss,
            in_words: percent,
            distance: of_losses(kind.loss, others.loss),
        });
    }
    changes
}

/// The kinds' notable changes in words: `p99 delay of calls 44.3 ms, not 1.68 ms`.
pub(crate) fn notable_changes(one: &DisciplineResult, other: &DisciplineResult) -> Vec<String> {
    let mut notable = Vec::new();
    for change in changes_of_kinds(one, other) {
        if change.distance > 1.0 {
            notable.push(format!(
                "{} of {} {}, not {}",
                change.figure,
                change.kind.name(),
                (change.in_words)(change.now),
                (change.in_words)(change.before)
            ));
        }
    }
    notable
}

fn of_losses(one: f64, other: f64) -> f64 {
    (one - other).abs() / NOTABLE_LOSS
}

fn of_delays(one: f64, other: f64) -> f64 {
    if (one - other).abs() <= NOTABLE_SECONDS {
        return 0.0;
    }
    let factor = (one / other).max(other / one);
    (factor - 1.0) / (NOTABLE_FACTOR - 1.0)
}

/// The intervals of a discipline's figures, for JSON.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Intervals {
    throughput: Option<Interval>,
    loss: Option<Interval>,
    p50: Option<Interval>,
    p99: Option<Interval>,
    p999: Option<Interval>,
    max: Option<Interval>,
    light_p99: Option<Interval>,
    light_loss: Option<Interval>,
    kinds: Vec<KindIntervals>,
}

/// Those of the flows of a kind.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct KindIntervals {
    kind: Kind,
    p99: Option<Interval>,
    loss: Option<Interval>,
    least_share: Option<Interval>,
    throughput: Option<Interval>,
    done_mean: Option<Interval>,
    done_p50: Option<Interval>,
    done_p99: Option<Interval>,
}

impl Intervals {
    /// None for a replay.
    pub(crate) fn of(result: &DisciplineResult) -> Option<Self> {
        if result.replicas.is_empty() {
            return None;
        }
        let delay =
            |figure: fn(&Delay) -> f64| spread(result, |one| one.total.delay.as_ref().map(figure));
        let mut kinds = Vec::new();
        for (number, outcome) in result.kinds.iter().enumerate() {
            let figure =
                |of: fn(&KindOutcome) -> Option<f64>| spread(result, |one| of(&one.kinds[number]));
            kinds.push(KindIntervals {
                kind: outcome.kind,
                p99: figure(|kind| kind.p99),
                loss: figure(|kind| Some(kind.loss)),
                least_share: figure(|kind| kind.least_share),
                throughput: figure(|kind| Some(kind.served?.throughput)),
                done_mean: figure(|kind| kind.served?.mean),
                done_p50: figure(|kind| kind.served?.p50),
                done_p99: figure(|kind| kind.served?.p99),
            });
        }
        Some(Self {
            throughput: spread(result, |one| Some(one.total.throughput)),
            loss: spread(result, |one| Some(one.total.loss)),
            p50: delay(|delay| delay.p50),
            p99: delay(|delay| delay.p99),
            p999: delay(|delay| delay.p999),
            max: delay(|delay| delay.max),
            light_p99: spread(result, |one| Some(one.light.delay?.p99)),
            light_loss: spread(result, |one| Some(one.light.loss)),
            kinds,
        })
    }
}
