//! One row a packet, written as they come.

use std::path::Path;

use parquet::data_type::ByteArray;

use super::column::{Column, ColumnFile, GROUP_ROWS, Values};
use crate::ReportError;

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It was transmitted.
    Sent,
    /// The buffer was full when it arrived.
    Full,
    /// The buffer was full when another arrived, and this one gave way.
    PushedOut,
    /// Active queue management dropped it.
    Early,
    /// The discipline would not take it.
    Refused,
}

impl Fate {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 5] = [Self::Sent, Self::Full, Self::PushedOut, Self::Early, Self::Refused];

    /// As it is written in the column `fate`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Full => "full",
            Self::PushedOut => "pushed_out",
            Self::Early => "early",
            Self::Refused => "refused",
        }
    }
}

/// What became of one packet, and when. Times are in nanoseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRow {
    /// When it came to the port.
    pub arrival_ns: i64,
    /// Index into the flows of the comparison.
    pub flow: u32,
    /// Bytes on the wire.
    pub len: u32,
    /// What became of it.
    pub fate: Fate,
    /// When its transmission started; none if it was dropped.
    pub start_ns: Option<i64>,
    /// When its transmission ended; none if it was dropped.
    pub end_ns: Option<i64>,
    /// Whether it was marked with ECN's CE.
    pub marked: bool,
}

/// A Parquet file of packets, in the making: it takes its name in [`PacketFile::finish`], and vanishes if it never comes to that.
#[derive(Debug)]
pub struct PacketFile {
    file: ColumnFile,
    rows: Vec<PacketRow>,
}

impl PacketFile {
    /// Starts a file, with `metadata` such as [`provenance`](crate::provenance) gives for its footer.
    ///
    /// # Errors
    ///
    /// What the operating system said, with the file's name.
    pub fn create(path: &Path, metadata: &[(String, String)]) -> Result<Self, ReportError> {
        Ok(Self { file: ColumnFile::create(path, &columns(&[]), metadata)?, rows: Vec::with_capacity(GROUP_ROWS) })
    }

    /// Appends a row; every so many rows a group of them goes to the file.
    ///
    /// # Errors
    ///
    /// What the operating system said, with the file's name: most likely that the disk is full.
    pub fn write(&mut self, row: &PacketRow) -> Result<(), ReportError> {
        self.rows.push(*row);
        if self.rows.len() == GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    /// Writes what is left, and gives the file its name.
    ///
    /// # Errors
    ///
    /// What the operating system said, with the file's name.
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
    let names = Fate::ALL.map(|fate| ByteArray::from(fate.name()));
    [
        Column { name: "arrival_ns", values: Values::Times(rows.iter().map(|row| row.arrival_ns).collect()) },
        Column { name: "flow", values: Values::Small(rows.iter().map(|row| row.flow).collect()) },
        Column { name: "len", values: Values::Small(rows.iter().map(|row| row.len).collect()) },
        Column { name: "fate", values: Values::Texts(rows.iter().map(|row| names[row.fate as usize].clone()).collect()) },
        Column { name: "start_ns", values: Values::OptionalTimes(rows.iter().map(|row| row.start_ns).collect()) },
        Column { name: "end_ns", values: Values::OptionalTimes(rows.iter().map(|row| row.end_ns).collect()) },
        Column { name: "marked", values: Values::Flags(rows.iter().map(|row| row.marked).collect()) },
    ]
}
