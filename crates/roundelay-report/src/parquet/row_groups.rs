//! Rows from a simulation on their way into a Parquet file, written group by group.

use std::path::Path;

use bytes::Bytes;
use roundelay_sim::Network;
use roundelay_trace::Stop;

use super::file::ColumnFile;
use crate::ReportError;
use crate::tables::{Column, GROUP_ROWS, shared};

/// Makes columns from rows. The second argument has the links' names, by number.
type Columns<R, const N: usize> = fn(&[R], &[Bytes]) -> [Column; N];

/// A file under construction. [`RowGroups::finish`] renames it to its final name. Without `finish`
/// it is removed.
#[derive(Debug)]
pub(super) struct RowGroups<R, const N: usize> {
    file: ColumnFile,
    rows: Vec<R>,
    columns: Columns<R, N>,
    links: Vec<Bytes>,
    failure: Option<ReportError>,
    /// Ends the run at the first failed write.
    pub(super) stop: Stop,
}

impl<R, const N: usize> RowGroups<R, N> {
    /// # Errors
    ///
    /// The operating system's error, with the file's name.
    pub(super) fn create(
        path: &Path,
        network: &Network,
        metadata: &[(String, String)],
        columns: Columns<R, N>,
    ) -> Result<Self, ReportError> {
        let mut links = Vec::new();
        for link in network.links() {
            let name = roundelay_sim::link_name(&network.name(link.from), &network.name(link.to));
            links.push(shared(name.as_str()));
        }
        Ok(Self {
            file: ColumnFile::create(path, &columns(&[], &[]), metadata)?,
            rows: Vec::with_capacity(GROUP_ROWS),
            columns,
            links,
            failure: None,
            stop: Stop::default(),
        })
    }

    pub(super) fn push(&mut self, row: R) {
        self.rows.push(row);
        if self.rows.len() == GROUP_ROWS {
            self.flush();
        }
    }

    /// The first failed write, if any.
    pub(super) const fn failure(&self) -> Option<&ReportError> {
        self.failure.as_ref()
    }

    /// Writes the remaining rows.
    ///
    /// # Errors
    ///
    /// The operating system's error, from this call or an earlier write, with the file's name.
    pub(super) fn finish(mut self) -> Result<(), ReportError> {
        if !self.rows.is_empty() {
            self.flush();
        }
        match self.failure {
            Some(error) => Err(error),
            None => self.file.finish(),
        }
    }

    fn flush(&mut self) {
        let columns = (self.columns)(&self.rows, &self.links);
        self.rows.clear();
        if self.failure.is_some() {
            return;
        }
        if let Err(error) = self.file.write(&columns) {
            self.failure = Some(error);
            self.stop.request();
        }
    }
}
