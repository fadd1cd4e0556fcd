//! Output `--parquet`: tables in columns, a file each.

use std::path::{Path, PathBuf};

use roundelay::{DropReason, Instant};
use roundelay_report::{
    COMPARED, Fate, PacketFile, PacketRow, ReportError, SIMULATED, TableOf, write_measurements,
    write_replays, write_schedule,
};
use roundelay_trace::{PacketFate, PacketRecord, PacketSink};

use super::{
    COMPARED_PARTS, Comparing, One, Opened, Output, Part, SIMULATED_PARTS, SinkError, Target, Use,
    Write, file_of,
};
use crate::call::{Compared, Ran};
use crate::failure::Failure;
use crate::replay::Replays;

const SCHEDULE: &str = "schedule";
const REPLAYS: &str = "replays";

pub(super) static OUTPUT: Output = Output {
    compare: Some(Use {
        help: "Write Parquet files into this folder: flows.parquet and the packets of each discipline",
        target: Target::Folder(&COMPARED_PARTS),
        only: None,
        write: Write::During(|folder, metadata| {
            Ok(Box::new(Columns {
                folder: folder.to_owned(),
                metadata: metadata.to_vec(),
            }))
        }),
    }),
    simulate: Some(Use {
        help: "Write Parquet files into this folder: flows.parquet (a row per flow and replica) and links.parquet (a row per link and replica); keeps all flows in memory",
        target: Target::Folder(&SIMULATED_PARTS),
        only: None,
        write: Write::After(|folder, ran| write_simulated(folder, ran)),
    }),
    replay: Some(Use {
        help: "Write Parquet files into this folder: schedule.parquet (a row per packet) and replays.parquet (a row per packet and discipline); one schedule only",
        target: Target::Folder(&[Part::named(SCHEDULE), Part::named(REPLAYS)]),
        only: Some(&One::SCHEDULE),
        write: Write::After(|folder, replays| write_replayed(folder, replays)),
    }),
    papers: Some(Use {
        help: "Write the raw rows of one item to Parquet: variation, figure, x, seed, value",
        target: Target::File,
        only: Some(&One::ITEM),
        write: Write::After(|path, result| {
            write_measurements(path, &result.measurements(), &result.metadata())
                .map_err(Failure::run)
        }),
    }),
    ..Output::new("parquet")
};

/// A table's file in the folder.
pub(super) fn file(folder: &Path, name: &str) -> PathBuf {
    file_of(folder, name, &OUTPUT)
}

fn write_simulated(
    folder: &Path,
    Ran {
        simulated,
        metadata,
        ..
    }: &Ran,
) -> Result<(), Failure> {
    let mut tables = SIMULATED
        .iter()
        .filter(|table| table.is_wanted(&simulated.measures));
    tables
        .try_for_each(|table| table.write(&file(folder, table.name), simulated, metadata))
        .map_err(Failure::run)
}

fn write_replayed(folder: &Path, replays: &Replays<'_>) -> Result<(), Failure> {
    let Some(run) = replays.runs.first() else {
        return Ok(());
    };
    let Some(recorded) = &run.schedule else {
        return Ok(());
    };
    write_schedule(&file(folder, SCHEDULE), recorded, replays.metadata).map_err(Failure::run)?;
    let of_candidates = replays.candidates.iter().zip(&run.outcomes);
    let outcomes: Vec<_> = of_candidates
        .map(|(candidate, (outcome, _))| (candidate.name.as_str(), outcome))
        .collect();
    write_replays(
        &file(folder, REPLAYS),
        recorded,
        &outcomes,
        replays.metadata,
    )
    .map_err(Failure::run)
}

/// The folder of a comparison, and the footer of each file.
struct Columns {
    folder: PathBuf,
    metadata: Vec<(String, String)>,
}

impl Opened<Comparing> for Columns {
    fn sink(
        &mut self,
        name: &str,
        index: usize,
        zero_unix_nanos: i64,
    ) -> Result<Option<Box<dyn PacketSink>>, SinkError> {
        // The name of a tree may contain any character.
        let name = name.replace(|c: char| !c.is_alphanumeric() && c != '_', "-");
        let path = file(&self.folder, &format!("packets-{index}-{name}"));
        Ok(Some(Box::new(Packets::create(
            &path,
            &self.metadata,
            zero_unix_nanos,
        )?)))
    }

    fn finish(self: Box<Self>, compared: &Compared) -> Result<(), Failure> {
        let write = |table: &&TableOf<_>| {
            table.write(
                &file(&self.folder, table.name),
                &compared.comparison,
                &self.metadata,
            )
        };
        COMPARED.iter().try_for_each(write).map_err(Failure::run)
    }
}

/// The packet file of one discipline.
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
