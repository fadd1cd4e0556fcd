//! Tables in memory or in a Parquet file: the same columns, batch by batch.

#[cfg(feature = "parquet")]
use std::path::Path;

use roundelay_sim::scenario::Measures;

use super::column::Column;
use crate::ReportError;
#[cfg(feature = "parquet")]
use crate::parquet::ColumnFile;

/// Receives a table: first the columns without rows, then each batch with rows.
pub(super) type Each<'a> = &'a mut dyn FnMut(Vec<Column>) -> Result<(), ReportError>;

/// A setting in a scenario, and whether it is made.
pub type Setting = (&'static str, fn(&Measures) -> bool);

/// A table made from the results `R`, for a Parquet file and in memory.
#[derive(Debug)]
pub struct TableOf<R> {
    /// The table's name, and the files' name without extension.
    pub name: &'static str,
    /// The setting that the table needs.
    pub needs: Option<Setting>,
    pub(super) batches: fn(&R, Each<'_>) -> Result<(), ReportError>,
}

impl<R> TableOf<R> {
    /// Whether a run with these settings has the table.
    pub fn is_wanted(&self, measures: &Measures) -> bool {
        self.needs.is_none_or(|(_, is_met)| is_met(measures))
    }

    /// Writes the table to a Parquet file, with `metadata`, for example from
    /// [`provenance`](crate::provenance).
    ///
    /// # Errors
    /// The operating system's error, with the file's name.
    #[cfg(feature = "parquet")]
    pub fn write(
        &self,
        path: &Path,
        results: &R,
        metadata: &[(String, String)],
    ) -> Result<(), ReportError> {
        let mut file: Option<ColumnFile> = None;
        (self.batches)(results, &mut |columns| match &mut file {
            Some(file) => file.write(&columns),
            None => {
                file = Some(ColumnFile::create(path, &columns, metadata)?);
                Ok(())
            }
        })?;
        file.map_or(Ok(()), ColumnFile::finish)
    }

    /// The table in memory.
    pub fn rows(&self, results: &R) -> Table {
        let mut all = Vec::new();
        let kept = (self.batches)(results, &mut |columns| {
            all.push(columns);
            Ok(())
        });
        debug_assert!(kept.is_ok(), "memory takes every batch");
        let mut all = all.into_iter();
        Table {
            header: all.next().unwrap_or_default(),
            batches: all.collect(),
        }
    }
}

/// A table in memory, with the same columns and batches as the Parquet file of the same name.
#[derive(Debug)]
pub struct Table {
    /// The columns without rows: names and types.
    pub header: Vec<Column>,
    /// Rows, in batches.
    pub batches: Vec<Vec<Column>>,
}
