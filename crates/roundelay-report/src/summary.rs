//! Means and 95% confidence intervals over the replicas of a simulation, by group of sources and by
//! class of links.

use roundelay_sim::scenario::{RankResult, Results};
use serde::Serialize;

use crate::figures::{CLASS, INDICES, LIVES, Means, SOURCE, TRANSFER, Worst};

/// Means and confidence intervals.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// By group.
    pub groups: Vec<GroupSummary>,
    /// By class of links.
    pub classes: Vec<ClassSummary>,
}

/// Summary of a group.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupSummary {
    /// Name of the group.
    pub(crate) name: String,
    #[serde(flatten)]
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::of_sources")
    )]
    pub(crate) means: Means,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lives: Option<LivesSummary>,
    /// Of the worst flow; none if no flow of the group crossed a measured link.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::of_indices")
    )]
    pub(crate) indices: Option<Means>,
}

/// Summary of a class of links.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClassSummary {
    /// core, edge or host.
    pub(crate) class: &'static str,
    #[serde(flatten)]
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::of_classes")
    )]
    pub(crate) means: Means,
}

/// Lifetime results of a group's flows.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LivesSummary {
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::of_lives"))]
    pub(crate) means: Means,
    /// Throughputs by rank, the smallest first.
    pub(crate) ranks: Vec<RankResult>,
}

impl LivesSummary {
    /// The results of group `number`. The last group is all groups together and has no kind. None
    /// if the meter is off.
    fn of(replicas: &[Results], number: usize) -> Option<Self> {
        let first = &replicas.first()?.groups[number];
        first.lives.as_ref()?;
        let all = replicas.iter();
        let lives = all.filter_map(|replica| replica.groups[number].lives.as_ref());
        let group = if first.kind.is_empty() {
            None
        } else {
            Some(&*first.name)
        };
        Some(Self {
            means: Means::of(LIVES, lives),
            ranks: RankResult::of(replicas, group),
        })
    }
}

impl Summary {
    pub(crate) fn of(replicas: &[Results]) -> Self {
        let Some(first) = replicas.first() else {
            return Self::default();
        };
        let mut summary = Self::default();
        for (number, group) in first.groups.iter().enumerate() {
            let results = replicas.iter().map(|replica| &replica.groups[number]);
            summary.groups.push(GroupSummary {
                name: group.name.clone(),
                means: Means::of(SOURCE, results.clone()).and(Means::of(TRANSFER, results)),
                lives: LivesSummary::of(replicas, number),
                indices: indices_of(replicas, number),
            });
        }
        for (number, class) in first.classes.iter().enumerate() {
            let results = replicas.iter().map(|replica| &replica.classes[number]);
            summary.classes.push(ClassSummary {
                class: class.class,
                means: Means::of(CLASS, results),
            });
        }
        summary
    }
}

/// Indices of a group's worst flow. None if no flow of the group crossed a measured link.
fn indices_of(replicas: &[Results], number: usize) -> Option<Means> {
    let mut worst = Vec::new();
    for results in replicas {
        worst.push(Worst::of(results, number));
    }
    let means = Means::of(INDICES, worst.iter());
    means.interval("b_wfi")?;
    Some(means)
}
