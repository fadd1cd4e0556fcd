//! Parquet file for packets: one row per packet, written during the run.

use std::path::Path;

use super::file::ColumnFile;
use crate::ReportError;
use crate::tables::{Column, GROUP_ROWS, shared};

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// The packet was transmitted.
    Sent,
    /// Tail drop: the buffer was full on arrival.
    Full,
    /// Push-out: dropped in favour of a later arrival when the buffer was full.
    PushedOut,
    /// Dropped by active queue management.
    Early,
    /// Refused by the discipline.
    Refused,
    /// An acknowledgement that a later one repeats.
    Filtered,
}

impl Fate {
    /// All variants, in the order in which they are declared.
    pub const ALL: [Self; 6] = [
        Self::Sent,
        Self::Full,
        Self::PushedOut,
        Self::Early,
        Self::Refused,
        Self::Filtered,
    ];

    /// The value in the column `fate`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Full => "full",
            Self::PushedOut => "pushed_out",
            Self::Early => "early",
            Self::Refused => "refused",
            Self::Filtered => "filtered",
        }
    }
}

/// What became of one packet, and when. Times are in nanoseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRow {
    /// Arrival at the port.
    pub arrival_ns: i64,
    /// Index into the comparison's flows.
    pub flow: u32,
    /// Bytes on the wire.
    pub len: u32,
    /// What became of the packet.
    pub fate: Fate,
    /// When transmission starts. None for a dropped packet.
    pub start_ns: Option<i64>,
    /// When transmission ends. None for a dropped packet.
    pub end_ns: Option<i64>,
    /// Marked with ECN's CE.
    pub marked: bool,
}

/// A Parquet file of packets under construction. [`PacketFile::finish`] renames the file to its
/// final name. Without `finish` the file is removed.
#[derive(Debug)]
pub struct PacketFile {
    file: ColumnFile,
    rows: Vec<PacketRow>,
}

impl PacketFile {
    /// Starts a file, with `metadata` for its footer, for example from
    /// [`provenance`](crate::provenance).
    ///
    /// # Errors
    ///
    /// The operating system's error, with the file's name.
    pub fn create(path: &Path, metadata: &[(String, String)]) -> Result<Self, ReportError> {
        Ok(Self {
            file: ColumnFile::create(path, &columns(&[]), metadata)?,
            rows: Vec::with_capacity(GROUP_ROWS),
        })
    }

    /// Appends a row, and writes full row groups to the file.
    ///
    /// # Errors
    ///
    /// The operating system's error, with the file's name. Most likely the disk is full.
    pub fn write(&mut self, row: &PacketRow) -> Result<(), ReportError> {
        self.rows.push(*row);
        if self.rows.len() == GROUP_ROWS {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes the remaining rows and renames the file to its final name.
    ///
    /// # Errors
    ///
    /// The operating system's error, with the file's name.
    pub fn finish(mut self) -> Result<(), ReportError> {
        if !self.rows.is_empty() {
            self.flush()?;
        }
        self.file.finish()
    }

    fn flush(&mut self) -> Result<(), ReportError> {
        let columns = columns(&self.rows);
        self.rows.clear();
        self.file.write(&columns)
    }
}

fn columns(rows: &[PacketRow]) -> [Column; 7] {
    let names = Fate::ALL.map(|fate| shared(fate.name()));
    [
        Column::of("arrival_ns", rows, |row| row.arrival_ns),
        Column::of("flow", rows, |row| row.flow),
        Column::of("len", rows, |row| row.len),
        Column::of("fate", rows, |row| names[row.fate as usize].clone()),
        Column::of("start_ns", rows, |row| row.start_ns),
        Column::of("end_ns", rows, |row| row.end_ns),
        Column::of("marked", rows, |row| row.marked),
    ]
}
