//! Tables in memory or in a Parquet file: the same columns, batch by batch.

use std::path::Path;

use super::column::{Column, ColumnFile};
use crate::ReportError;

/// Receives a table: first the columns without rows, then each batch of rows.
pub(super) type Each<'a> = &'a mut dyn FnMut(Vec<Column>) -> Result<(), ReportError>;

/// Writes a table to a Parquet file.
pub(super) fn write(
    path: &Path,
    metadata: &[(String, String)],
    table: impl FnOnce(Each<'_>) -> Result<(), ReportError>,
) -> Result<(), ReportError> {
    let mut file: Option<ColumnFile> = None;
    table(&mut |columns| match &mut file {
        Some(file) => file.write(&columns),
        None => {
            file = Some(ColumnFile::create(path, &columns, metadata)?);
            Ok(())
        }
    })?;
    file.map_or(Ok(()), ColumnFile::finish)
}

/// A table in memory, with the columns and the batches of the Parquet file of the same name.
#[derive(Debug)]
pub struct Table {
    /// The columns without rows: names and types.
    pub header: Vec<Column>,
    /// Batches of rows.
    pub batches: Vec<Vec<Column>>,
}

impl Table {
    pub(super) fn of(table: impl FnOnce(Each<'_>) -> Result<(), ReportError>) -> Self {
        let mut all = Vec::new();
        let kept = table(&mut |columns| {
            all.push(columns);
            Ok(())
        });
        debug_assert!(kept.is_ok(), "memory takes every batch");
        let mut all = all.into_iter();
        Self { header: all.next().unwrap_or_default(), batches: all.collect() }
    }
}
