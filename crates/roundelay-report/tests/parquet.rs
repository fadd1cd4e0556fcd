//! Parquet files, written and read back.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use parquet::basic::Encoding;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use roundelay_report::{FLOWS, Fate, PacketFile, PacketRow, ReportError, provenance};

use crate::sample;

const ROWS: usize = 300_000;

fn folder(name: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("roundelay-report-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Rows with every fate, flow numbers and lengths up to the largest, and times before the epoch.
fn row(index: usize) -> PacketRow {
    let fate = Fate::ALL[index % 5];
    let arrival_ns = index as i64 * 1_234_567 - 1_000_000_000;
    let sent = fate == Fate::Sent;
    PacketRow {
        arrival_ns,
        flow: u32::MAX - (index % 17) as u32,
        len: 64 + (index % 1451) as u32,
        fate,
        start_ns: sent.then_some(arrival_ns + 5_000),
        end_ns: sent.then_some(arrival_ns + 17_000 + index as i64 % 991),
        marked: index.is_multiple_of(3),
    }
}

fn read(path: &Path) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(path).unwrap()).unwrap()
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter()
        .find(|(column, _)| *column == name)
        .unwrap_or_else(|| panic!("there is no column {name}"))
        .1
}

fn written(path: &Path, rows: usize) {
    let mut file = PacketFile::create(path, &provenance("0.1.0", 42, "fifo limit 10p")).unwrap();
    for index in 0..rows {
        file.write(&row(index)).unwrap();
    }
    file.finish().unwrap();
}

fn optional(value: Option<i64>) -> Field {
    value.map_or(Field::Null, Field::Long)
}

#[test]
fn packets_come_back_as_they_were() {
    let folder = folder("packets");
    let path = folder.join("packets.parquet");
    written(&path, ROWS);
    let reader = read(&path);
    let mut rows = 0;
    for (index, found) in reader.get_row_iter(None).unwrap().enumerate() {
        let (found, wanted) = (found.unwrap(), row(index));
        assert_eq!(field(&found, "arrival_ns"), &Field::Long(wanted.arrival_ns));
        assert_eq!(field(&found, "flow"), &Field::UInt(wanted.flow));
        assert_eq!(field(&found, "len"), &Field::UInt(wanted.len));
        assert_eq!(
            field(&found, "fate"),
            &Field::Str(wanted.fate.name().to_owned())
        );
        assert_eq!(field(&found, "start_ns"), &optional(wanted.start_ns));
        assert_eq!(field(&found, "end_ns"), &optional(wanted.end_ns));
        assert_eq!(field(&found, "marked"), &Field::Bool(wanted.marked));
        rows += 1;
    }
    assert_eq!(rows, ROWS);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn packets_are_in_groups_with_their_origin_in_the_footer() {
    let folder = folder("groups");
    let path = folder.join("packets.parquet");
    written(&path, ROWS);
    let reader = read(&path);
    let groups: Vec<i64> = reader
        .metadata()
        .row_groups()
        .iter()
        .map(|group| group.num_rows())
        .collect();
    assert_eq!(groups, [131_072, 131_072, 300_000 - 262_144]);
    let column = |place: usize| reader.metadata().row_group(0).column(place);
    assert!(
        column(3)
            .encodings()
            .any(|encoding| encoding == Encoding::RLE_DICTIONARY),
        "fates are few"
    );
    assert!(
        column(0)
            .encodings()
            .any(|encoding| encoding == Encoding::DELTA_BINARY_PACKED),
        "times grow"
    );
    let entries = reader
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .unwrap();
    let value = |key: &str| {
        entries
            .iter()
            .find(|entry| entry.key == key)
            .and_then(|entry| entry.value.clone())
    };
    assert_eq!(value("roundelay.version").as_deref(), Some("0.1.0"));
    assert_eq!(value("roundelay.seed").as_deref(), Some("42"));
    assert_eq!(value("roundelay.config_hash").unwrap().len(), 16);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn no_packets_are_a_legal_file() {
    let folder = folder("none");
    let path = folder.join("packets.parquet");
    written(&path, 0);
    assert_eq!(read(&path).metadata().file_metadata().num_rows(), 0);
    assert_eq!(
        read(&path)
            .metadata()
            .file_metadata()
            .schema()
            .get_fields()
            .len(),
        7
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_abandoned_file_is_not_there() {
    let folder = folder("abandoned");
    let mut file = PacketFile::create(&folder.join("packets.parquet"), &[]).unwrap();
    for index in 0..200_000 {
        file.write(&row(index)).unwrap();
    }
    drop(file);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn flows_come_back_as_they_were() {
    let folder = folder("flows");
    let path = folder.join("flows.parquet");
    let mut comparison = sample::advised().comparison;
    comparison.disciplines[0].flows[2].outcome.delay = None;
    FLOWS
        .write(
            &path,
            &comparison,
            &provenance(comparison.version, comparison.seed, ""),
        )
        .unwrap();
    let rows: Vec<Row> = read(&path)
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let flows = comparison.flows.len();
    assert_eq!(rows.len(), flows * comparison.disciplines.len());
    for (place, row) in rows.iter().enumerate() {
        let (discipline, flow) = (&comparison.disciplines[place / flows], place % flows);
        let result = &discipline.flows[flow];
        assert_eq!(field(row, "spec"), &Field::Str(discipline.spec.clone()));
        assert_eq!(
            field(row, "label"),
            &Field::Str(comparison.flows[flow].label.clone())
        );
        assert_eq!(field(row, "flow"), &Field::ULong(flow as u64));
        assert_eq!(field(row, "packets"), &Field::ULong(result.outcome.packets));
        assert_eq!(
            field(row, "drops_early"),
            &Field::ULong(result.outcome.drops.early)
        );
        assert_eq!(field(row, "lag"), &Field::Double(result.lag));
        assert_eq!(
            field(row, "t_wfi_bound"),
            &result.t_wfi_bound.map_or(Field::Null, Field::Double)
        );
        assert_eq!(field(row, "latency"), &Field::Double(result.latency));
        assert_eq!(
            field(row, "fairness_bound"),
            &result.fairness_bound.map_or(Field::Null, Field::Double)
        );
        assert_eq!(
            field(row, "delay_p99"),
            &result
                .outcome
                .delay
                .map_or(Field::Null, |delay| Field::Double(delay.p99))
        );
    }
    fs::remove_dir_all(folder).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let mut file = PacketFile::create(Path::new("/dev/full"), &[]).unwrap();
    let failed = (0..ROWS)
        .map(row)
        .try_for_each(|row| file.write(&row))
        .and_then(|()| file.finish());
    let error = failed.unwrap_err();
    let ReportError::File { source, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull, "{error}");
    assert!(
        error.to_string().starts_with("/dev/full: cannot write: "),
        "{error}"
    );
}
