//! Parquet files of packets, written during the replay.

use std::path::Path;

use roundelay::{DropReason, Instant};
use roundelay_report::{Fate, PacketFile, PacketRow, ReportError};
use roundelay_trace::{PacketFate, PacketRecord, PacketSink};

/// The packet file of one discipline.
pub(crate) struct Packets {
    file: PacketFile,
    zero_unix_nanos: i64,
}

impl Packets {
    pub(crate) fn create(path: &Path, metadata: &[(String, String)], zero_unix_nanos: i64) -> Result<Self, ReportError> {
        Ok(Self { file: PacketFile::create(path, metadata)?, zero_unix_nanos })
    }

    /// Converts to nanoseconds since the Unix epoch.
    const fn unix_nanos(&self, at: Instant) -> i64 {
        self.zero_unix_nanos.saturating_add((at.as_picos() / 1_000) as i64)
    }
}

impl PacketSink for Packets {
    fn record(&mut self, packet: &PacketRecord) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let (fate, times, marked) = match packet.fate {
            PacketFate::Sent { start, end, marked } => (Fate::Sent, Some((start, end)), marked),
            PacketFate::Dropped(DropReason::Full) => (Fate::Full, None, false),
            PacketFate::Dropped(DropReason::PushedOut) => (Fate::PushedOut, None, false),
            PacketFate::Dropped(DropReason::Early) => (Fate::Early, None, false),
            PacketFate::Dropped(DropReason::Refused) => (Fate::Refused, None, false),
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
