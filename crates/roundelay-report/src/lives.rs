//! `[meter]` results over replicas: flows over their lifetimes, ranks of throughputs, worst-case
//! fair indices.

use roundelay_sim::scenario::{FlowResult, GroupLives, Interval, RankResult, Results};
use serde::Serialize;

use crate::document::{Block, Section};
use crate::grid::{Cell, Column, Grid};
use crate::simulation::{GroupSummary, figure, interval};
use crate::text::clean;
use crate::units::{bytes, percent, rate, seconds};

/// Lifetime results of a group's flows; none if no replica has the figure.
#[derive(Debug, Clone, Serialize)]
pub struct LivesSummary {
    throughput: Option<Interval>,
    jain: Option<Interval>,
    jain_of_ratios: Option<Interval>,
    reordering: Option<Interval>,
    round_trip: Option<Interval>,
    bennett_zhang: Option<Interval>,
    startup_latency: Option<Interval>,
    starved: Option<Interval>,
    correlation: Option<Interval>,
    ranks: Vec<RankResult>,
}

/// Indices of the worst flow of a group.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct IndicesSummary {
    b_wfi: Option<Interval>,
    t_wfi: Option<Interval>,
}

impl LivesSummary {
    /// Throughputs by rank, the smallest first.
    pub(crate) fn ranks(&self) -> &[RankResult] {
        &self.ranks
    }

    /// The results of group `number`; the last group is all groups together and has no kind. None
    /// if the meter is off.
    pub(crate) fn of(replicas: &[Results], number: usize) -> Option<Self> {
        let first = &replicas.first()?.groups[number];
        first.lives.as_ref()?;
        let over = |of: &dyn Fn(&GroupLives) -> Option<f64>| {
            interval(replicas.iter().map(|replica| replica.groups[number].lives.as_ref().and_then(of)))
        };
        Some(Self {
            throughput: over(&|lives| lives.throughput),
            jain: over(&|lives| lives.jain),
            jain_of_ratios: over(&|lives| lives.jain_of_ratios),
            reordering: over(&|lives| lives.reordering),
            round_trip: over(&|lives| lives.round_trip),
            bennett_zhang: over(&|lives| lives.bennett_zhang),
            startup_latency: over(&|lives| lives.startup_latency),
            starved: over(&|lives| Some(lives.starved as f64)),
            correlation: over(&|lives| lives.correlation),
            ranks: RankResult::of(replicas, Some(&*first.name).filter(|_| !first.kind.is_empty())),
        })
    }
}

/// The largest indices of a group's flows in one replica; none if no flow of the group crossed a
/// measured link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Worst {
    /// Bytes.
    pub(crate) b_wfi: Option<f64>,
    /// Seconds.
    pub(crate) t_wfi: Option<f64>,
}

/// The largest indices of group `number`; the last group is all groups together and has no kind.
pub(crate) fn worst(results: &Results, number: usize) -> Worst {
    let group = &results.groups[number];
    let mine = |flow: &&FlowResult| group.kind.is_empty() || *flow.group == *group.name;
    let largest = |of: &dyn Fn(&FlowResult) -> Option<f64>| results.flows.iter().filter(mine).filter_map(of).reduce(f64::max);
    Worst { b_wfi: largest(&|flow| Some(flow.indices?.b_wfi)), t_wfi: largest(&|flow| flow.indices?.t_wfi) }
}

impl IndicesSummary {
    /// None if no flow of the group crossed a measured link.
    pub(crate) fn of(replicas: &[Results], number: usize) -> Option<Self> {
        let over = |of: &dyn Fn(Worst) -> Option<f64>| interval(replicas.iter().map(|results| of(worst(results, number))));
        let b_wfi = over(&|worst| worst.b_wfi);
        b_wfi.map(|_| Self { b_wfi, t_wfi: over(&|worst| worst.t_wfi) })
    }
}

/// Table of flows over their lifetimes, if measured.
pub(crate) fn lives(groups: &[GroupSummary]) -> Section {
    let groups: Vec<_> = groups.iter().filter_map(|group| Some((group.name(), group.lives()?))).collect();
    if groups.is_empty() {
        return Vec::new();
    }
    let column = |head: &str, cell: &dyn Fn(&LivesSummary) -> String| Column::new(head, groups.iter().map(|(_, lives)| cell(lives).into()));
    let index = |value: f64| format!("{value:.3}");
    let columns = vec![
        Column::new("flows' lives", groups.iter().map(|(name, _)| Cell::from(clean(name)))),
        column("throughput", &|lives| figure(lives.throughput, rate)),
        column("Jain", &|lives| figure(lives.jain, index)),
        column("of ratios", &|lives| figure(lives.jain_of_ratios, index)).spare(4),
        column("ratio", &|lives| figure(lives.bennett_zhang, index)).spare(2),
        column("reordered", &|lives| figure(lives.reordering, percent)),
        column("round trip", &|lives| figure(lives.round_trip, seconds)),
        column("startup", &|lives| figure(lives.startup_latency, seconds)).spare(3),
        column("starved", &|lives| figure(lives.starved, |value| format!("{value:.1}"))),
    ];
    vec![Block::Table(Grid::new(columns))]
}

/// Table of worst-case fair indices, if measured.
pub(crate) fn indices(groups: &[GroupSummary]) -> Section {
    let groups: Vec<_> = groups.iter().filter_map(|group| Some((group.name(), group.indices()?))).collect();
    if groups.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        Column::new("worst flow of", groups.iter().map(|(name, _)| Cell::from(clean(name)))),
        Column::new("B-WFI", groups.iter().map(|(_, indices)| figure(indices.b_wfi, bytes).into())),
        Column::new("T-WFI", groups.iter().map(|(_, indices)| figure(indices.t_wfi, seconds).into())),
    ];
    vec![Block::Table(Grid::new(columns))]
}
