//! Table for a sweep: a row per run and source, with the figures in [`Summary`](crate::Summary).

use std::sync::{Arc, LazyLock};

use roundelay_sim::LinkClass;
use roundelay_sim::scenario::Results;

use super::column::Column;
use super::rows::Table;
use crate::figures::{CLASS, Figure, INDICES, LIVES, SOURCE, TRANSFER, Worst};

/// Names of a row's figures: those of the source, those that `[meter]` asks for, and those of each
/// link class. In seconds, bits per second, bytes, or fractions of 1.
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

/// One run's results for one source.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepRow {
    /// The run's identity.
    pub identity: Arc<str>,
    /// The run's seed.
    pub seed: u64,
    /// The run's number among those of its point, from 0.
    pub replica: u64,
    /// The source's name, or `all`.
    pub source: Arc<str>,
    /// Values for [`SWEEP_FIGURES`].
    pub figures: Vec<Option<f64>>,
}

/// A run's sources with the values of [`SWEEP_FIGURES`].
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

/// Gives `to` the prefix, name and value of each figure of source `number`. Without results all
/// values are none.
fn figures(source: Option<(&Results, usize)>, to: &mut dyn FnMut(&str, &'static str, Option<f64>)) {
    fn part<R>(
        prefix: &str,
        figures: &[Figure<R>],
        of: Option<&R>,
        to: &mut dyn FnMut(&str, &'static str, Option<f64>),
    ) {
        for figure in figures {
            to(prefix, figure.label.name, of.and_then(figure.of));
        }
    }
    let group = source.map(|(results, number)| &results.groups[number]);
    let lives = group.and_then(|group| group.lives.as_ref());
    let worst = source.map(|(results, number)| Worst::of(results, number));
    part("", SOURCE, group, to);
    part("", TRANSFER, group, to);
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

/// A sweep's file with the runs of one point.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SweepFile {
    /// Where the runs come from.
    pub metadata: Vec<(String, String)>,
    /// Rows by seed, with sources in the scenario's order.
    pub rows: Vec<SweepRow>,
}

/// A file with the runs of all points of a sweep, and the swept keys as columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SweepRuns {
    /// The swept keys.
    pub keys: Vec<String>,
    /// The points, in the file's order.
    pub points: Vec<PointRuns>,
}

/// One point's runs in such a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PointRuns {
    /// A value for each key: a text, or a number in bits per second, seconds or bytes.
    pub labels: Vec<String>,
    /// Where the runs come from, as in a [`SweepFile`]'s metadata.
    pub metadata: Vec<(String, String)>,
    /// Rows by seed, with sources in the scenario's order.
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
