//! Tables of `[meter]` results over replicas: flows over their lifetimes, worst-case fair indices.

use crate::document::{Block, Section};
use crate::figures::means;
use crate::grid::{Column, Grid};
use crate::summary::GroupSummary;
use crate::text::clean;

/// Table for flows over their lifetimes, if measured.
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

/// Table for worst-case fair indices, if measured.
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
