//! Table of a sweep: a row per run and source, with the figures of [`Summary`](crate::Summary).

use std::sync::{Arc, LazyLock};

use roundelay_sim::LinkClass;
use roundelay_sim::scenario::Results;

use super::column::Column;
use super::rows::Table;
use crate::figures::{CLASS, Figure, INDICES, LIVES, SOURCE, Worst};

/// Names of the figures of a row: of the source, on request of `[meter]`, of each class of links.
/// Seconds, bits per second, bytes, parts of 1.
pub static SWEEP_FIGURES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut names = Vec::new();
    figures(None, &mut |prefix, name, _| {
        names.push(if prefix.is_empty() {
            name
        } else {
            &*format!("{prefix}_{name}").leak()
        })
    });
    names
});

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
    let mut rows = Vec::new();
    for (number, group) in results.groups.iter().enumerate() {
        let mut values = Vec::with_capacity(SWEEP_FIGURES.len());
        figures(Some((results, number)), &mut |_, _, value| {
            values.push(value);
        });
        rows.push((Arc::from(group.name.as_str()), values));
    }
    rows
}

/// Gives `to` the prefix, name and value of each figure of source `number`; without results all
/// values are none.
fn figures(source: Option<(&Results, usize)>, to: &mut dyn FnMut(&str, &'static str, Option<f64>)) {
    fn part<R>(
        prefix: &str,
        figures: &[Figure<R>],
        of: Option<&R>,
        to: &mut dyn FnMut(&str, &'static str, Option<f64>),
    ) {
        for figure in figures {
            to(prefix, figure.name, of.and_then(figure.of));
        }
    }
    let group = source.map(|(results, number)| &results.groups[number]);
    let lives = group.and_then(|group| group.lives.as_ref());
    let worst = source.map(|(results, number)| Worst::of(results, number));
    part("", SOURCE, group, to);
    part("lives", LIVES, lives, to);
    part("", INDICES, worst.as_ref(), to);
    for class in LinkClass::ALL.map(LinkClass::name) {
        let result = source.and_then(|(results, _)| {
            let mut classes = results.classes.iter();
            classes.find(|result| result.class == class)
        });
        part(class, CLASS, result, to);
    }
}

/// A file of a sweep: the runs of one point.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SweepFile {
    /// Origin of the runs.
    pub metadata: Vec<(String, String)>,
    /// Rows by seed, sources in the order of the scenario.
    pub rows: Vec<SweepRow>,
}

/// A file of a sweep with the runs of all points, and the swept keys as columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SweepRuns {
    /// The swept keys.
    pub keys: Vec<String>,
    /// The points, in the order of the file.
    pub points: Vec<PointRuns>,
}

/// The runs of a point in such a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PointRuns {
    /// A value for each key: a text, or a number in bits per second, seconds or bytes.
    pub labels: Vec<String>,
    /// Origin of the runs, as in the metadata of a [`SweepFile`].
    pub metadata: Vec<(String, String)>,
    /// Rows by seed, sources in the order of the scenario.
    pub rows: Vec<SweepRow>,
}

/// The rows as a table in memory.
pub fn sweep_table(rows: &[SweepRow]) -> Table {
    Table {
        header: sweep_columns(&[]),
        batches: vec![sweep_columns(rows)],
    }
}

pub(crate) fn sweep_columns(rows: &[SweepRow]) -> Vec<Column> {
    let [identity, seed, replica, source] = KEYS;
    let mut columns = vec![
        Column::of(identity, rows, |row| &row.identity[..]),
        Column::of(seed, rows, |row| row.seed),
        Column::of(replica, rows, |row| row.replica),
        Column::of(source, rows, |row| &row.source[..]),
    ];
    for (number, &name) in SWEEP_FIGURES.iter().enumerate() {
        columns.push(Column::of(name, rows, |row| row.figures[number]));
    }
    columns
}
