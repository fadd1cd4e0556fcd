//! A schedule in columns, one row a packet, written and read; and its replays, one row a packet and candidate.

use std::fs::File;
use std::path::Path;

use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use roundelay_sim::Direction;
use roundelay_sim::replay::{Line, Replay, Schedule};

use super::column::{Column, ColumnFile, GROUP_ROWS, Values};
use crate::ReportError;

/// Writes a schedule, a row a packet, and `metadata` such as [`provenance`](crate::provenance) gives.
///
/// # Errors
///
/// What the operating system said, with the file's name.
pub fn write_schedule(path: &Path, schedule: &Schedule, metadata: &[(String, String)]) -> Result<(), ReportError> {
    let mut file = ColumnFile::create(path, &columns(schedule, 0..0), metadata)?;
    for first in (0..schedule.packets.len()).step_by(GROUP_ROWS) {
        file.write(&columns(schedule, first..(first + GROUP_ROWS).min(schedule.packets.len())))?;
    }
    file.finish()
}

fn columns(schedule: &Schedule, rows: std::ops::Range<usize>) -> Vec<Column> {
    let packets = &schedule.packets[rows.clone()];
    let ends = |of: fn(&roundelay_sim::replay::Flow) -> roundelay_sim::NodeId| {
        let name = |flow: u32| ByteArray::from(schedule.network().name(of(&schedule.flows[flow as usize])).as_str());
        Values::Texts(packets.iter().map(|packet| name(packet.flow)).collect())
    };
    let times = |of: fn(&roundelay_sim::replay::Packet) -> roundelay::Instant| {
        Values::Times(packets.iter().map(|packet| of(packet).as_picos().cast_signed()).collect())
    };
    let waits = packets.iter().map(|packet| schedule.waited(packet).as_picos()).collect();
    let points = packets.iter().map(|packet| packet.congestion_points.into()).collect();
    vec![
        Column { name: "packet", values: Values::Counts(rows.map(|row| row as u64).collect()) },
        Column { name: "flow", values: Values::Counts(packets.iter().map(|packet| packet.flow.into()).collect()) },
        Column { name: "from", values: ends(|flow| flow.from) },
        Column { name: "to", values: ends(|flow| flow.to) },
        Column { name: "back", values: Values::Flags(packets.iter().map(|packet| packet.direction == Direction::Backward).collect()) },
        Column { name: "length", values: Values::Small(packets.iter().map(|packet| packet.len).collect()) },
        Column { name: "input_ps", values: times(|packet| packet.input) },
        Column { name: "output_ps", values: times(|packet| packet.output) },
        Column { name: "waited_ps", values: Values::Times(waits) },
        Column { name: "congestion_points", values: Values::Small(points) },
    ]
}

/// Writes what became of each packet under each candidate: replays in the order of their names.
///
/// # Errors
///
/// What the operating system said, with the file's name.
pub fn write_replays(
    path: &Path,
    schedule: &Schedule,
    replays: &[(&str, &Replay)],
    metadata: &[(String, String)],
) -> Result<(), ReportError> {
    let group = |with: &str, replay: Option<&Replay>, rows: std::ops::Range<usize>| {
        let late = |row: usize| replay.and_then(|replay| replay.late(row, &schedule.packets[row]));
        let ended = |row: usize| late(row).and(replay).map(|replay| replay.outputs[row].as_picos().cast_signed());
        vec![
            Column { name: "with", values: Values::Texts(rows.clone().map(|_| ByteArray::from(with)).collect()) },
            Column { name: "packet", values: Values::Counts(rows.clone().map(|row| row as u64).collect()) },
            Column { name: "output_ps", values: Values::OptionalTimes(rows.clone().map(ended).collect()) },
            Column {
                name: "late_ps",
                values: Values::OptionalTimes(rows.map(|row| late(row).map(|late| late.as_picos().cast_signed())).collect()),
            },
        ]
    };
    let mut file = ColumnFile::create(path, &group("", None, 0..0), metadata)?;
    for (with, replay) in replays {
        for first in (0..schedule.packets.len()).step_by(GROUP_ROWS) {
            file.write(&group(with, Some(replay), first..(first + GROUP_ROWS).min(schedule.packets.len())))?;
        }
    }
    file.finish()
}

/// Reads a schedule as [`write_schedule`] writes it. Of its columns flow, from, to, back, length, `input_ps` and `output_ps` are read; back may be missing.
///
/// # Errors
///
/// It cannot be read, or has not these columns; the message names the file, and the row where it is one.
pub fn read_schedule(path: &Path) -> Result<Vec<Line>, String> {
    let wrong = |what: String| format!("{}: {what}", path.display());
    let file = File::open(path).map_err(|error| wrong(format!("cannot read: {error}; expected a schedule in Parquet")))?;
    let reader = SerializedFileReader::new(file).map_err(|error| wrong(format!("no Parquet file: {error}")))?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let place = |name: &str| schema.columns().iter().position(|column| column.name() == name);
    let need = |name: &str| {
        let expected = "flow, from, to, length, input_ps and output_ps";
        place(name).ok_or_else(|| wrong(format!("no column '{name}'; expected {expected}, as roundelay replay --parquet writes them")))
    };
    let [flow, from, to, length] = [need("flow")?, need("from")?, need("to")?, need("length")?];
    let [input, output, back] = [need("input_ps")?, need("output_ps")?, place("back").unwrap_or(usize::MAX)];
    let line = |row: &Row| -> Result<Line, ParquetError> {
        Ok(Line {
            flow: row.get_ulong(flow)?,
            from: row.get_string(from)?.clone(),
            to: row.get_string(to)?.clone(),
            is_back: back < usize::MAX && row.get_bool(back)?,
            len: row.get_uint(length)?,
            input_ps: row.get_long(input)?,
            output_ps: row.get_long(output)?,
        })
    };
    let rows = reader.get_row_iter(None).map_err(|error| wrong(error.to_string()))?;
    (0_u64..)
        .zip(rows)
        .map(|(number, row)| row.and_then(|row| line(&row)).map_err(|error| wrong(format!("row {number}: {error}"))))
        .collect()
}
