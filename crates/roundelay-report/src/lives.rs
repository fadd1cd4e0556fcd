//! `[meter]` results over replicas: flows over their lifetimes, ranks of throughputs, worst-case
//! fair indices.

use roundelay_sim::scenario::{RankResult, Results};
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{Block, Section};
use crate::figures::{INDICES, LIVES, Means, Worst};
use crate::grid::{Column, Grid};
use crate::simulation::{GroupSummary, means};
use crate::text::clean;

/// Lifetime results of a group's flows.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LivesSummary {
    #[serde(flatten)]
    means: Means,
    /// Throughputs by rank, the smallest first.
    pub(crate) ranks: Vec<RankResult>,
}

impl LivesSummary {
    /// The results of group `number`; the last group is all groups together and has no kind. None
    /// if the meter is off.
    pub(crate) fn of(replicas: &[Results], number: usize) -> Option<Self> {
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

/// Indices of the worst flow of a group. None if no flow of the group crossed a measured link.
pub(crate) fn indices_of(replicas: &[Results], number: usize) -> Option<Means> {
    let mut worst = Vec::new();
    for results in replicas {
        worst.push(Worst::of(results, number));
    }
    let means = Means::of(INDICES, worst.iter());
    means.interval("b_wfi")?;
    Some(means)
}

/// Table of flows over their lifetimes, if measured.
pub(crate) fn lives(groups: &[GroupSummary]) -> Section {
    let mut names = Vec::new();
    let mut all = Vec::new();
    for group in groups {
        if let Some(lives) = &group.lives {
            names.push(&group.name);
            all.push(&lives.means);
        }
    }
    if all.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        Column::of("flows' lives", &names, |name| clean(name)),
        means("throughput", "throughput", &all),
        means("jain", "Jain", &all),
        means("jain_of_ratios", "of ratios", &all).spare(4),
        means("bennett_zhang", "ratio", &all).spare(2),
        means("reordering", "reordered", &all),
        means("round_trip", "round trip", &all),
        means("startup_latency", "startup", &all).spare(3),
        means("starved", "starved", &all),
    ];
    vec![Block::Table(Grid::new(columns))]
}

/// Table of worst-case fair indices, if measured.
pub(crate) fn indices(groups: &[GroupSummary]) -> Section {
    let mut names = Vec::new();
    let mut all = Vec::new();
    for group in groups {
        if let Some(indices) = &group.indices {
            names.push(&group.name);
            all.push(indices);
        }
    }
    if all.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        Column::of("worst flow of", &names, |name| clean(name)),
        means("b_wfi", "B-WFI", &all),
        means("t_wfi", "T-WFI", &all),
    ];
    vec![Block::Table(Grid::new(columns))]
}
