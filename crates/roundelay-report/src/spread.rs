//! How a comparison's figures spread: over replicas, where senders react, and over seeds.

use roundelay_sim::scenario::{Interval, student_95};
use roundelay_trace::{Comparison, DisciplineResult, Kind};
use serde::Serialize;

use crate::figures::{Figure, KIND, Label, Means, SERVICE, Unit};

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
    unit: Unit,
) -> String {
    match spread(result, of) {
        Some(Interval {
            half_width: Some(half),
            ..
        }) if half > 0.0 => format!("±{}", unit.text(half)),
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
    label: &'static Label,
    kind: Kind,
    before: f64,
    now: f64,
    /// As from [`distance`].
    distance: f64,
}

/// The kinds' figures that a verdict quotes: for bulk the least share, for others p99 and loss.
fn changes_of_kinds(one: &DisciplineResult, other: &DisciplineResult) -> Vec<Change> {
    let mut changes = Vec::new();
    for (outcome, others) in one.kinds.iter().zip(&other.kinds) {
        let is_bulk = outcome.least_share.is_some() && others.least_share.is_some();
        let names: &[&str] = if is_bulk {
            &["least_share"]
        } else {
            &["p99", "loss"]
        };
        for Figure { label, of } in KIND {
            if let (true, Some(before), Some(now)) =
                (names.contains(&label.name), of(outcome), of(others))
            {
                changes.push(Change {
                    label,
                    kind: outcome.kind,
                    before,
                    now,
                    distance: match label.name {
                        "least_share" => (before - now).abs() / NOTABLE_SHARE,
                        "loss" => of_losses(before, now),
                        _ => of_delays(before, now),
                    },
                });
            }
        }
    }
    changes
}

/// The kinds' notable changes in words: `p99 delay of calls 44.3 ms, not 1.68 ms`.
pub(crate) fn notable_changes(one: &DisciplineResult, other: &DisciplineResult) -> Vec<String> {
    let mut notable = Vec::new();
    for Change {
        label,
        kind,
        before,
        now,
        distance,
    } in changes_of_kinds(one, other)
    {
        if distance > 1.0 {
            let unit = label.unit;
            notable.push(format!(
                "{} of {} {}, not {}",
                label.words(),
                kind.name(),
                unit.text(now),
                unit.text(before)
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
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Intervals {
    #[serde(flatten)]
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::of_service")
    )]
    service: Means,
    kinds: Vec<KindIntervals>,
}

/// Those of the flows of a kind.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct KindIntervals {
    kind: Kind,
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::of_kind"))]
    means: Means,
}

impl Intervals {
    /// None for a replay.
    pub(crate) fn of(result: &DisciplineResult) -> Option<Self> {
        if result.replicas.is_empty() {
            return None;
        }
        let mut kinds = Vec::new();
        for (number, outcome) in result.kinds.iter().enumerate() {
            let replicas = result.replicas.iter().map(|one| &one.kinds[number]);
            kinds.push(KindIntervals {
                kind: outcome.kind,
                means: Means::of(KIND, replicas),
            });
        }
        Some(Self {
            service: Means::of(SERVICE, result.replicas.iter()),
            kinds,
        })
    }
}
