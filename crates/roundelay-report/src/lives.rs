//! `[meter]` results over replicas: flows over their lifetimes, ranks of throughputs, worst-case
//! fair indices.

use roundelay_sim::scenario::{RankResult, Results};
use serde::Serialize;

use crate::document::{Block, Section};
use crate::figures::{INDICES, LIVES, Means, Worst};
use crate::grid::{Column, Grid};
use crate::simulation::GroupSummary;
use crate::text::clean;

/// Lifetime results of a group's flows.
#[derive(Debug, Clone, Serialize)]
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
        Some(Self {
            means: Means::of(
                LIVES,
                replicas
                    .iter()
                    .filter_map(|replica| replica.groups[number].lives.as_ref()),
            ),
            ranks: RankResult::of(
                replicas,
                Some(&*first.name).filter(|_| !first.kind.is_empty()),
            ),
        })
    }
}

/// Indices of the worst flow of a group. None if no flow of the group crossed a measured link.
pub(crate) fn indices_of(replicas: &[Results], number: usize) -> Option<Means> {
    let worst: Vec<_> = replicas
        .iter()
        .map(|results| Worst::of(results, number))
        .collect();
    let means = Means::of(INDICES, worst.iter());
    means.interval("b_wfi").map(|_| means)
}

/// Table of flows over their lifetimes, if measured.
pub(crate) fn lives(groups: &[GroupSummary]) -> Section {
    let groups: Vec<_> = groups
        .iter()
        .filter_map(|group| Some((&group.name, &group.lives.as_ref()?.means)))
        .collect();
    if groups.is_empty() {
        return Vec::new();
    }
    let column = |name: &str, head: &str| {
        Column::new(
            head,
            groups.iter().map(|(_, means)| means.text(name).into()),
        )
    };
    let columns = vec![
        Column::new(
            "flows' lives",
            groups.iter().map(|(name, _)| clean(name).into()),
        ),
        column("throughput", "throughput"),
        column("jain", "Jain"),
        column("jain_of_ratios", "of ratios").spare(4),
        column("bennett_zhang", "ratio").spare(2),
        column("reordering", "reordered"),
        column("round_trip", "round trip"),
        column("startup_latency", "startup").spare(3),
        column("starved", "starved"),
    ];
    vec![Block::Table(Grid::new(columns))]
}

/// Table of worst-case fair indices, if measured.
pub(crate) fn indices(groups: &[GroupSummary]) -> Section {
    let groups: Vec<_> = groups
        .iter()
        .filter_map(|group| Some((&group.name, group.indices.as_ref()?)))
        .collect();
    if groups.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        Column::new(
            "worst flow of",
            groups.iter().map(|(name, _)| clean(name).into()),
        ),
        Column::new(
            "B-WFI",
            groups
                .iter()
                .map(|(_, indices)| indices.text("b_wfi").into()),
        ),
        Column::new(
            "T-WFI",
            groups
                .iter()
                .map(|(_, indices)| indices.text("t_wfi").into()),
        ),
    ];
    vec![Block::Table(Grid::new(columns))]
}
