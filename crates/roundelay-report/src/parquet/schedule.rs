//! Parquet files for a schedule (one row per packet, written and read) and for its replays (one row
//! per packet and candidate).

use std::fs::File;
use std::path::Path;
use std::thread;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use roundelay::Fault;
use roundelay_sim::Direction;
use roundelay_sim::replay::{Line, Replay, Schedule};

use super::file::{ColumnFile, check_pages};
use crate::ReportError;
use crate::tables::{Column, GROUP_ROWS, picos, shared};

/// Writes a schedule with one row per packet, and `metadata`, for example from
/// [`provenance`](crate::provenance).
///
/// # Errors
///
/// The operating system's error, with the file's name.
pub fn write_schedule(
    path: &Path,
    schedule: &Schedule,
    metadata: &[(String, String)],
) -> Result<(), ReportError> {
    // Columns without rows tell the file its schema.
    let mut file = ColumnFile::create(path, &columns(schedule, 0..0), metadata)?;
    let packets = schedule.packets.len();
    for first in (0..packets).step_by(GROUP_ROWS) {
        let rows = first..(first + GROUP_ROWS).min(packets);
        file.write(&columns(schedule, rows))?;
    }
    file.finish()
}

fn columns(schedule: &Schedule, rows: std::ops::Range<usize>) -> Vec<Column> {
    let packets = &schedule.packets[rows.clone()];
    let name = |node| shared(schedule.network().name(node).as_str());
    vec![
        Column::of("packet", rows, |row| row as u64),
        Column::of("flow", packets, |packet| u64::from(packet.flow)),
        Column::of("from", packets, |packet| {
            name(schedule.flows[packet.flow as usize].from)
        }),
        Column::of("to", packets, |packet| {
            name(schedule.flows[packet.flow as usize].to)
        }),
        Column::of("back", packets, |packet| {
            packet.direction == Direction::Backward
        }),
        Column::of("length", packets, |packet| packet.len),
        Column::of("input_ps", packets, |packet| picos(packet.input)),
        Column::of("output_ps", packets, |packet| picos(packet.output)),
        Column::of("waited_ps", packets, |packet| {
            schedule.waited(packet).as_picos()
        }),
        Column::of("congestion_points", packets, |packet| {
            u32::from(packet.congestion_points)
        }),
    ]
}

/// Writes each packet's result under each candidate. Replays are in the order of their names.
///
/// # Errors
///
/// The operating system's error, with the file's name.
pub fn write_replays(
    path: &Path,
    schedule: &Schedule,
    replays: &[(&str, &Replay)],
    metadata: &[(String, String)],
) -> Result<(), ReportError> {
    let mut file = ColumnFile::create(path, &replayed(schedule, "", None, 0..0), metadata)?;
    for (with, replay) in replays {
        for first in (0..schedule.packets.len()).step_by(GROUP_ROWS) {
            let rows = first..(first + GROUP_ROWS).min(schedule.packets.len());
            file.write(&replayed(schedule, with, Some(replay), rows))?;
        }
    }
    file.finish()
}

fn replayed(
    schedule: &Schedule,
    with: &str,
    replay: Option<&Replay>,
    rows: std::ops::Range<usize>,
) -> Vec<Column> {
    vec![
        Column::of("with", rows.clone(), |_| with),
        Column::of("packet", rows.clone(), |row| row as u64),
        Column::of("output_ps", rows.clone(), |row| {
            let replay = replay?;
            replay.late(row, &schedule.packets[row])?;
            Some(picos(replay.outputs[row]))
        }),
        Column::of("late_ps", rows, |row| {
            let late = replay?.late(row, &schedule.packets[row])?;
            Some(late.as_picos().cast_signed())
        }),
    ]
}

/// A schedule's columns that are read. Columns after the sixth are optional.
const READ: [&str; 7] = [
    "flow",
    "from",
    "to",
    "length",
    "input_ps",
    "output_ps",
    "back",
];
const NEEDED: usize = 6;

/// The name of the thread that decodes Parquet files of others. If it panics, the file is at fault.
pub const DECODER: &str = "Parquet decoder";

/// Reads a schedule written by [`write_schedule`]. It reads the columns flow, from, to, back,
/// length, `input_ps` and `output_ps`, with numbers of any integer type. The column back is
/// optional.
///
/// # Errors
///
/// The file is unreadable or lacks a column. The message names the file, the column and, if known,
/// the row.
pub fn read_schedule(path: &Path) -> Result<Vec<Line>, Fault> {
    // The decoder panics at some footers that no encoder writes.
    let decoded = thread::scope(|scope| {
        let thread = thread::Builder::new().name(DECODER.to_owned());
        let decoding = thread.spawn_scoped(scope, || decode(path))?;
        Ok(decoding.join())
    });
    let broken = |what: String| Fault::new(what).in_file(path.display().to_string(), 0);
    match decoded {
        Ok(Ok(lines)) => lines,
        Ok(Err(_)) => Err(broken("damaged: its footer contradicts itself".to_owned())),
        Err(error) => Err(broken(std::io::Error::to_string(&error))),
    }
}

fn decode(path: &Path) -> Result<Vec<Line>, Fault> {
    let name = path.display().to_string();
    let wrong = |fault: Fault| fault.in_file(&*name, 0);
    let unreadable = |error: std::io::Error| {
        wrong(Fault::wanted("a schedule in Parquet").behind(format_args!("cannot read: {error}; ")))
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let reader = SerializedFileReader::new(file.try_clone().map_err(unreadable)?)
        .map_err(|error| wrong(format!("no Parquet file: {error}").into()))?;
    check_pages(&mut file, reader.metadata().file_metadata()).map_err(|what| wrong(what.into()))?;
    let columns = columns_read(reader.metadata().file_metadata().schema()).map_err(wrong)?;
    let rows = reader
        .get_row_iter(Some(columns))
        .map_err(|error| wrong(error.to_string().into()))?;
    let mut lines = Vec::new();
    for (number, row) in (0_u64..).zip(rows) {
        let row = row.map_err(|error| wrong(format!("row {number}: {error}").into()))?;
        lines.push(
            line_of(&row).map_err(|what| wrong(what.behind(format_args!("row {number}: "))))?,
        );
    }
    Ok(lines)
}

/// The columns to read, in [`READ`]'s order.
fn columns_read(schema: &Type) -> Result<Type, Fault> {
    let mut fields = Vec::new();
    for (number, name) in READ.into_iter().enumerate() {
        let mut fields_of_file = schema.get_fields().iter();
        match fields_of_file.find(|field| field.name() == name) {
            Some(field) if field.is_primitive() => fields.push(field.clone()),
            Some(_) => {
                return Err(Fault::wanted("one").behind(format_args!(
                    "column '{name}' holds more than one value a row; "
                )));
            }
            None if number < NEEDED => {
                let needed = READ[..NEEDED].join(", ");
                let legal = format!("{needed}, as roundelay replay --parquet writes them");
                return Err(Fault::wanted(legal).behind(format_args!("no column '{name}'; ")));
            }
            None => {}
        }
    }
    Type::group_type_builder(schema.name())
        .with_fields(fields)
        .build()
        .map_err(|error| error.to_string().into())
}

/// Reads a row, whose columns are in [`READ`]'s order.
fn line_of(row: &Row) -> Result<Line, Fault> {
    let mut fields = row.get_column_iter();
    // Only the last column, `back`, may be missing. Then all packets go there, and none back.
    let mut next = || match fields.next() {
        Some((name, field)) => (name.as_str(), field),
        None => ("back", &Field::Bool(false)),
    };
    Ok(Line {
        flow: whole(next())?,
        from: text(next())?,
        to: text(next())?,
        len: whole(next())?,
        input_ps: whole(next())?,
        output_ps: whole(next())?,
        is_back: match next() {
            (_, Field::Bool(is_back)) => *is_back,
            (name, field) => {
                return Err(wrong(name, field, "true or false"));
            }
        },
    })
}

fn wrong(name: &str, field: &Field, legal: &str) -> Fault {
    Fault::wanted(legal)
        .behind(format_args!("column '{name}': {field}; "))
        .with_given(field)
}

/// An integer of any type in the file, within the range of its field.
fn whole<N: TryFrom<i128> + Bounded>((name, field): (&str, &Field)) -> Result<N, Fault> {
    let value: Option<i128> = match field {
        Field::Byte(value) => Some((*value).into()),
        Field::Short(value) => Some((*value).into()),
        Field::Int(value) => Some((*value).into()),
        Field::Long(value) => Some((*value).into()),
        Field::UByte(value) => Some((*value).into()),
        Field::UShort(value) => Some((*value).into()),
        Field::UInt(value) => Some((*value).into()),
        Field::ULong(value) => Some((*value).into()),
        _ => None,
    };
    let value = value.and_then(|value| N::try_from(value).ok());
    value.ok_or_else(|| {
        let legal = format!("a whole number, legal range {}", N::RANGE);
        wrong(name, field, &legal)
    })
}

fn text((name, field): (&str, &Field)) -> Result<String, Fault> {
    match field {
        Field::Str(text) => Ok(text.clone()),
        other => Err(wrong(name, other, "the name of a node")),
    }
}

/// Integers in a line, with their range as text.
trait Bounded {
    const RANGE: &'static str;
}

impl Bounded for u64 {
    const RANGE: &'static str = "0 to 18446744073709551615";
}

impl Bounded for u32 {
    const RANGE: &'static str = "0 to 4294967295";
}

impl Bounded for i64 {
    const RANGE: &'static str = "-9223372036854775808 to 9223372036854775807";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::Values;

    fn written(name: &str, length: Values, more: Option<Column>) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!(
            "roundelay-schedule-{name}-{}.parquet",
            std::process::id()
        ));
        let texts = |text: &str| Values::Texts(vec![shared(text)]);
        let mut columns: Vec<_> = more.into_iter().collect();
        columns.extend([
            Column {
                name: "output_ps",
                values: Values::Times(vec![9]),
            },
            Column {
                name: "input_ps",
                values: Values::Counts(vec![7]),
            },
            Column {
                name: "flow",
                values: Values::Small(vec![3]),
            },
            Column {
                name: "from",
                values: texts("left"),
            },
            Column {
                name: "to",
                values: texts("right"),
            },
            Column {
                name: "length",
                values: length,
            },
        ]);
        let mut file = ColumnFile::create(&path, &columns, &[]).unwrap();
        file.write(&columns).unwrap();
        file.finish().unwrap();
        path
    }

    /// Files of other programs: any order of columns, any integer type, additional columns.
    #[test]
    fn columns_of_other_programs_are_read() {
        let path = written(
            "others",
            Values::Times(vec![1500]),
            Some(Column {
                name: "note",
                values: Values::Texts(vec!["x".into()]),
            }),
        );
        let lines = read_schedule(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let [
            Line {
                flow: 3,
                from,
                to,
                is_back: false,
                len: 1500,
                input_ps: 7,
                output_ps: 9,
            },
        ] = &lines[..]
        else {
            panic!("{lines:?}")
        };
        assert_eq!((from.as_str(), to.as_str()), ("left", "right"));
    }

    #[test]
    fn a_changed_byte_gives_no_panic_and_one_of_a_page_no_other_schedule() {
        let path = written("mutated", Values::Times(vec![1500]), None);
        let bytes = std::fs::read(&path).unwrap();
        let lines = |read: Result<Vec<Line>, Fault>| read.map(|lines| format!("{lines:?}"));
        let whole = lines(read_schedule(&path)).unwrap();
        // The digest covers the pages. The footer behind them, with the columns' types, has none, so
        // what is wrong there may be a panic of the decoder.
        let footer = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap());
        let pages = bytes.len() - 8 - footer as usize;
        let mut broken = 0;
        // A bit of each byte, in turn.
        for bit in (0..8 * bytes.len()).step_by(7) {
            let index = bit / 8;
            let mut changed = bytes.clone();
            changed[index] ^= 1 << (bit % 8);
            std::fs::write(&path, changed).unwrap();
            let read = lines(read_schedule(&path));
            let is_same = read.as_ref().is_ok_and(|lines| *lines == whole);
            let is_footer = index >= pages;
            assert!(
                is_same || is_footer || read.is_err(),
                "byte {index}: {read:?}"
            );
            broken += u32::from(read.is_err_and(|error| error.to_string().contains("contradicts")));
        }
        assert!(broken > 0, "no footer at which the decoder panics");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn errors_name_column_row_and_range() {
        for (name, length, message) in [
            (
                "negative",
                Values::Times(vec![-1]),
                "row 0: column 'length': -1; expected a whole number, legal range 0 to 4294967295",
            ),
            (
                "text",
                Values::Texts(vec!["long".into()]),
                "row 0: column 'length': \"long\"; expected a whole number",
            ),
        ] {
            let path = written(name, length, None);
            let error = read_schedule(&path).unwrap_err();
            std::fs::remove_file(&path).unwrap();
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}
