//! Parquet file for measurements: one row per number that an experiment measured.

use std::path::Path;

use super::file::ColumnFile;
use crate::ReportError;
use crate::tables::{Column, GROUP_ROWS};

/// A number measured by an experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement<'a> {
    /// Choice of open parameters. Empty for the unmodified plan.
    pub variation: &'a str,
    /// The figure, as `RUN: FIGURE`.
    pub figure: &'a str,
    /// Position on a curve.
    pub x: Option<f64>,
    /// The run's seed.
    pub seed: u64,
    /// The number.
    pub value: f64,
}

/// Writes one row per measurement, and `metadata`, for example from
/// [`provenance`](crate::provenance).
///
/// # Errors
///
/// The operating system's error, with the file's name.
pub fn write_measurements(
    path: &Path,
    rows: &[Measurement<'_>],
    metadata: &[(String, String)],
) -> Result<(), ReportError> {
    let mut file = ColumnFile::create(path, &columns(&[]), metadata)?;
    rows.chunks(GROUP_ROWS)
        .try_for_each(|rows| file.write(&columns(rows)))?;
    file.finish()
}

fn columns(rows: &[Measurement<'_>]) -> Vec<Column> {
    vec![
        Column::of("variation", rows, |row| row.variation),
        Column::of("figure", rows, |row| row.figure),
        Column::of("x", rows, |row| row.x),
        Column::of("seed", rows, |row| row.seed),
        Column::of("value", rows, |row| row.value),
    ]
}
