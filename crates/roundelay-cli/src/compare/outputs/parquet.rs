//! The output `--parquet` of a comparison: flows, and each discipline's packets.

use std::path::{Path, PathBuf};

use roundelay::{DropReason, Instant};
use roundelay_report::{COMPARED, Fate, PacketFile, PacketRow, ReportError};
use roundelay_trace::{PacketFate, PacketRecord, PacketSink};

use super::Comparing;
use crate::compare::result::Compared;
use crate::failure::Failure;
use crate::outputs::{Opened, SinkError, table_file};

/// A comparison's folder, and what goes into each file's footer.
pub(super) struct Columns {
    pub(super) folder: PathBuf,
    pub(super) metadata: Vec<(String, String)>,
}

impl Opened<Comparing> for Columns {
    fn sink(
        &mut self,
        name: &str,
        index: usize,
        zero_unix_nanos: i64,
    ) -> Result<Option<Box<dyn PacketSink>>, SinkError> {
        // A tree's name may contain any character.
        let name = name.replace(|c: char| !c.is_alphanumeric() && c != '_', "-");
        let path = table_file(&self.folder, &format!("packets-{index}-{name}"), "parquet");
        Ok(Some(Box::new(Packets::create(
            &path,
            &self.metadata,
            zero_unix_nanos,
        )?)))
    }

    fn finish(self: Box<Self>, compared: &Compared) -> Result<(), Failure> {
        for table in COMPARED {
            let path = table_file(&self.folder, table.name, "parquet");
            table
                .write(&path, &compared.advised.comparison, &self.metadata)
                .map_err(Failure::run)?;
        }
        Ok(())
    }
}

/// One discipline's packet file.
struct Packets {
    file: PacketFile,
    zero_unix_nanos: i64,
}

impl Packets {
    fn create(
        path: &Path,
        metadata: &[(String, String)],
        zero_unix_nanos: i64,
    ) -> Result<Self, ReportError> {
        Ok(Self {
            file: PacketFile::create(path, metadata)?,
            zero_unix_nanos,
        })
    }

    /// Converts to nanoseconds since the Unix epoch.
    const fn unix_nanos(&self, at: Instant) -> i64 {
        self.zero_unix_nanos
            .saturating_add((at.as_picos() / 1_000) as i64)
    }
}

impl PacketSink for Packets {
    fn record(
        &mut self,
        packet: &PacketRecord,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let (fate, times, marked) = match packet.fate {
            PacketFate::Sent { start, end, marked } => (Fate::Sent, Some((start, end)), marked),
            PacketFate::Dropped(DropReason::Full) => (Fate::Full, None, false),
            PacketFate::Dropped(DropReason::PushedOut) => (Fate::PushedOut, None, false),
            PacketFate::Dropped(DropReason::Early) => (Fate::Early, None, false),
            PacketFate::Dropped(DropReason::Refused) => (Fate::Refused, None, false),
            PacketFate::Dropped(DropReason::Filtered) => (Fate::Filtered, None, false),
        };
        let row = PacketRow {
            arrival_ns: self.unix_nanos(packet.arrival),
            flow: packet.flow.0,
            len: packet.len,
            fate,
            start_ns: times.map(|(start, _)| self.unix_nanos(start)),
            end_ns: times.map(|(_, end)| self.unix_nanos(end)),
            marked,
        };
        Ok(self.file.write(&row)?)
    }

    fn finish(self: Box<Self>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.file.finish()?)
    }
}
