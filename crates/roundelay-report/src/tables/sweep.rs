//! Table of a sweep: a row per run and source, with the figures of [`Summary`](crate::Summary).

use std::sync::Arc;

use roundelay_sim::scenario::{ClassResult, GroupLives, GroupResult, Results};

use super::column::{Column, Values, shared};
use super::rows::Table;
use crate::lives::{Worst, worst};

/// Figures of a source, figures on request of `[meter]`, figures of each class of links.
/// Seconds, bits per second, bytes, parts of 1.
pub const SWEEP_FIGURES: [&str; 48] = [
    "flows",
    "throughput",
    "loss",
    "in_time",
    "edge_marked",
    "delay_mean",
    "delay_p99",
    "delay_max",
    "jain",
    "transfers",
    "incomplete",
    "completion_mean",
    "completion_p99",
    "completion_by_bytes",
    "goodput",
    "retransmissions",
    "timeouts",
    "round_trip_mean",
    "round_trip_by_bytes",
    "lives_throughput",
    "lives_jain",
    "lives_jain_of_ratios",
    "lives_reordering",
    "lives_round_trip",
    "lives_bennett_zhang",
    "lives_startup_latency",
    "lives_starved",
    "lives_correlation",
    "b_wfi",
    "t_wfi",
    "core_utilisation",
    "core_busiest",
    "core_loss",
    "core_wait_mean",
    "core_wait_p99",
    "core_wait_max",
    "edge_utilisation",
    "edge_busiest",
    "edge_loss",
    "edge_wait_mean",
    "edge_wait_p99",
    "edge_wait_max",
    "host_utilisation",
    "host_busiest",
    "host_loss",
    "host_wait_mean",
    "host_wait_p99",
    "host_wait_max",
];

/// Columns before the figures.
pub(crate) const KEYS: [&str; 4] = ["identity", "seed", "replica", "source"];

/// Results of one run for one source.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepRow {
    /// Identity of the run.
    pub identity: Arc<str>,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the run among those of its point, from 0.
    pub replica: u64,
    /// Name of the source, or `all`.
    pub source: Arc<str>,
    /// Values of [`SWEEP_FIGURES`].
    pub figures: Vec<Option<f64>>,
}

/// The sources of a run with the values of [`SWEEP_FIGURES`].
pub fn sweep_rows(results: &Results) -> Vec<(Arc<str>, Vec<Option<f64>>)> {
    let classes: Vec<Option<f64>> = ["core", "edge", "host"].iter().flat_map(|name| of_class(results, name)).collect();
    let row = |(number, group): (usize, &GroupResult)| {
        let figures = of_group(group).into_iter().chain(of_meter(results, number)).chain(classes.iter().copied());
        (Arc::from(group.name.as_str()), figures.collect())
    };
    results.groups.iter().enumerate().map(row).collect()
}

fn of_group(group: &GroupResult) -> [Option<f64>; 19] {
    let count = |number: Option<u64>| number.map(|number| number as f64);
    [
        Some(group.flows as f64),
        Some(group.throughput),
        group.loss,
        group.in_time,
        count(group.edge_marked),
        group.delay.mean,
        group.delay.p99,
        group.delay.max,
        group.jain,
        Some(group.completion.count as f64),
        Some(group.incomplete as f64),
        group.completion.mean,
        group.completion.p99,
        group.completion_by_bytes,
        group.goodput,
        count(group.retransmissions),
        count(group.timeouts),
        group.round_trip.mean,
        group.round_trip_by_bytes,
    ]
}

/// Figures on request of `[meter]`: `flows`, and the worst flow of `wfi`.
fn of_meter(results: &Results, number: usize) -> [Option<f64>; 11] {
    let lives = results.groups[number].lives.as_ref();
    let life = |of: fn(&GroupLives) -> Option<f64>| lives.and_then(of);
    let Worst { b_wfi, t_wfi } = worst(results, number);
    [
        life(|lives| lives.throughput),
        life(|lives| lives.jain),
        life(|lives| lives.jain_of_ratios),
        life(|lives| lives.reordering),
        life(|lives| lives.round_trip),
        life(|lives| lives.bennett_zhang),
        life(|lives| lives.startup_latency),
        life(|lives| Some(lives.starved as f64)),
        life(|lives| lives.correlation),
        b_wfi,
        t_wfi,
    ]
}

fn of_class(results: &Results, name: &str) -> [Option<f64>; 6] {
    let class = results.classes.iter().find(|class| class.class == name);
    let of =
        |class: &ClassResult| [Some(class.utilisation), Some(class.busiest), class.loss, class.wait.mean, class.wait.p99, class.wait.max];
    class.map_or([None; 6], of)
}

/// A file of a sweep: the runs of one point.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SweepFile {
    /// Origin of the runs.
    pub metadata: Vec<(String, String)>,
    /// Rows by seed, sources in the order of the scenario.
    pub rows: Vec<SweepRow>,
}

/// The rows as a table in memory.
pub fn sweep_table(rows: &[SweepRow]) -> Table {
    Table { header: sweep_columns(&[]), batches: vec![sweep_columns(rows)] }
}

pub(crate) fn sweep_columns(rows: &[SweepRow]) -> Vec<Column> {
    let texts = |of: fn(&SweepRow) -> &str| Values::Texts(rows.iter().map(|row| shared(of(row))).collect());
    let counts = |of: fn(&SweepRow) -> u64| Values::Counts(rows.iter().map(of).collect());
    let [identity, seed, replica, source] = KEYS;
    let mut columns = vec![
        Column { name: identity, values: texts(|row| &row.identity) },
        Column { name: seed, values: counts(|row| row.seed) },
        Column { name: replica, values: counts(|row| row.replica) },
        Column { name: source, values: texts(|row| &row.source) },
    ];
    for (number, name) in SWEEP_FIGURES.into_iter().enumerate() {
        columns.push(Column { name, values: Values::OptionalNumbers(rows.iter().map(|row| row.figures[number]).collect()) });
    }
    columns
}
