//! Parquet file for all points of a sweep, written and read.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use serde_json::{Value as Json, json};

use super::file::{append, properties, schema};
use super::sweep::{check_digest, with_digest, without_digest};
use super::sweep_rows::rows_of;
use crate::tables::{
    Column, GROUP_ROWS, KEYS, PointRuns, SWEEP_FIGURES, SweepRow, SweepRuns, Values, shared,
    sweep_columns,
};

/// Keys in the file's metadata: the swept keys, and the points with their labels, rows and origins.
const SWEPT: &str = "roundelay.keys";
const POINTS: &str = "roundelay.points";

impl SweepRuns {
    /// The file's content: equal runs give equal bytes.
    ///
    /// # Errors
    ///
    /// The encoder's error.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let failed = |error: ParquetError| error.to_string();
        let metadata = vec![
            (SWEPT.to_owned(), json!(self.keys).to_string()),
            (POINTS.to_owned(), points_as_json(&self.points).to_string()),
        ];
        let kinds = self.kinds();
        let file_schema = self.schema(&kinds).map_err(failed)?;
        let properties = properties(&[], &without_digest(metadata));
        let mut writer =
            SerializedFileWriter::new(Vec::new(), Arc::new(file_schema), Arc::new(properties))
                .map_err(failed)?;
        let mut rows = Vec::new();
        let mut labels: Vec<&[String]> = Vec::new();
        for point in &self.points {
            for row in &point.rows {
                rows.push(row.clone());
                labels.push(&point.labels);
                if rows.len() == GROUP_ROWS {
                    append(&mut writer, &columns(&kinds, &labels, &rows)).map_err(failed)?;
                    rows.clear();
                    labels.clear();
                }
            }
        }
        if !rows.is_empty() {
            append(&mut writer, &columns(&kinds, &labels, &rows)).map_err(failed)?;
        }
        with_digest(writer.into_inner().map_err(failed)?)
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The file is unreadable, belongs to no sweep, or is not as it was written.
    pub fn read(path: &Path) -> Result<Self, String> {
        let wrong = |problem: String| format!("{}: {problem}", path.display());
        let bytes = std::fs::read(path).map_err(|error| wrong(format!("cannot read: {error}")))?;
        // First, because the decoder panics at some damaged files.
        check_digest(&bytes).map_err(|problem| wrong(problem.to_owned()))?;
        let reader = SerializedFileReader::new(Bytes::from(bytes))
            .map_err(|error| wrong(format!("no Parquet file: {error}")))?;
        let header = reader.metadata().file_metadata();
        let other = || wrong("no file of a sweep, or one of another version".to_owned());
        let mut keys = Json::Null;
        let mut points = Json::Null;
        for entry in header.key_value_metadata().into_iter().flatten() {
            let value = entry.value.as_deref().unwrap_or_default();
            let slot = match entry.key.as_str() {
                SWEPT => &mut keys,
                POINTS => &mut points,
                _ => continue,
            };
            *slot = serde_json::from_str(value).map_err(|_| other())?;
        }
        let keys: Vec<String> = serde_json::from_value(keys).map_err(|_| other())?;
        let mut names = Vec::new();
        for field in header.schema().get_fields() {
            names.push(field.name());
        }
        let mut expected: Vec<&str> = Vec::new();
        expected.extend(keys.iter().map(String::as_str));
        expected.extend(KEYS);
        expected.extend(&*SWEEP_FIGURES);
        if names != expected {
            return Err(other());
        }
        let mut rows = Vec::new();
        for group in 0..reader.num_row_groups() {
            let read = reader
                .get_row_group(group)
                .and_then(|group| rows_of(&*group, keys.len()));
            rows.extend(read.map_err(|error| wrong(error.to_string()))?);
        }
        let points = points_of_json(&points, rows).ok_or_else(other)?;
        Ok(Self { keys, points })
    }

    /// Which type each key's values have.
    fn kinds(&self) -> Vec<Kind> {
        let mut kinds = Vec::new();
        for key in 0..self.keys.len() {
            let mut kind = Kind::Whole;
            for point in &self.points {
                let label = &point.labels[key];
                if !is_number(label) {
                    kind = Kind::Text;
                } else if label.parse::<i64>().is_err() && kind == Kind::Whole {
                    kind = Kind::Number;
                }
            }
            kinds.push(kind);
        }
        kinds
    }

    fn schema(&self, kinds: &[Kind]) -> Result<Type, ParquetError> {
        let mut fields = Vec::new();
        for (key, kind) in self.keys.iter().zip(kinds) {
            let (physical, logical) = match kind {
                Kind::Whole => (Physical::INT64, None),
                Kind::Number => (Physical::DOUBLE, None),
                Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            };
            let field = Type::primitive_type_builder(key, physical)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(logical);
            fields.push(Arc::new(field.build()?));
        }
        fields.extend(schema(&sweep_columns(&[]))?.get_fields().iter().cloned());
        Type::group_type_builder("roundelay")
            .with_fields(fields)
            .build()
    }
}

/// The type of a key's column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Whole,
    Number,
    Text,
}

/// Whether a label is a finite number. Names like `inf` and `nan` are texts.
fn is_number(label: &str) -> bool {
    let starts = label.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    starts && label.parse::<f64>().is_ok_and(f64::is_finite)
}

fn columns(kinds: &[Kind], labels: &[&[String]], rows: &[SweepRow]) -> Vec<Column> {
    let mut columns = Vec::new();
    for (key, kind) in kinds.iter().enumerate() {
        let mut wholes = Vec::new();
        let mut numbers = Vec::new();
        let mut texts = Vec::new();
        for of_row in labels {
            let text = of_row[key].as_str();
            match kind {
                Kind::Whole => wholes.push(text.parse().unwrap_or_default()),
                Kind::Number => numbers.push(text.parse().unwrap_or_default()),
                Kind::Text => texts.push(shared(text)),
            }
        }
        let values = match kind {
            Kind::Whole => Values::Wholes(wholes),
            Kind::Number => Values::Numbers(numbers),
            Kind::Text => Values::Texts(texts),
        };
        // The schema has the name.
        columns.push(Column { name: "", values });
    }
    columns.extend(sweep_columns(rows));
    columns
}

/// Labels, number of rows and origin of each point. An origin's value is null if the point before
/// has the same. Otherwise it is the lengths of the beginning and end that both share, and what
/// stands between, because the scenarios of two points differ in a few letters.
fn points_as_json(points: &[PointRuns]) -> Json {
    let mut all = Vec::new();
    let mut before: &[(String, String)] = &[];
    for point in points {
        let mut origin = Vec::new();
        for (number, (key, value)) in point.metadata.iter().enumerate() {
            let earlier = before.get(number).filter(|(earlier, _)| earlier == key);
            let value = match earlier {
                Some((_, earlier)) if earlier == value => Json::Null,
                Some((_, earlier)) => {
                    let [start, end] = shared_ends(earlier, value);
                    json!([start, end, value[start..value.len() - end]])
                }
                None => json!([0, 0, value]),
            };
            origin.push(json!([key, value]));
        }
        all.push(json!([point.labels, point.rows.len(), origin]));
        before = &point.metadata;
    }
    Json::Array(all)
}

/// Bytes at the beginning and at the end that two texts share.
fn shared_ends(one: &str, other: &str) -> [usize; 2] {
    let both = one.bytes().zip(other.bytes());
    let mut start = both.take_while(|(one, other)| one == other).count();
    while !one.is_char_boundary(start) || !other.is_char_boundary(start) {
        start -= 1;
    }
    let rest = one[start..].bytes().rev().zip(other[start..].bytes().rev());
    let mut end = rest.take_while(|(one, other)| one == other).count();
    while !one.is_char_boundary(one.len() - end) || !other.is_char_boundary(other.len() - end) {
        end -= 1;
    }
    [start, end]
}

/// None if the points do not suit the rows.
fn points_of_json(json: &Json, rows: Vec<SweepRow>) -> Option<Vec<PointRuns>> {
    let mut rows = rows.into_iter();
    let mut points: Vec<PointRuns> = Vec::new();
    for entry in json.as_array()? {
        let (labels, number, origin): (Vec<String>, usize, Vec<(String, Json)>) =
            serde_json::from_value(entry.clone()).ok()?;
        let mut metadata: Vec<(String, String)> = Vec::new();
        for (index, (key, value)) in origin.into_iter().enumerate() {
            let before = points.last().and_then(|point| point.metadata.get(index));
            let before = before.filter(|(earlier, _)| *earlier == key);
            let before = before.map_or("", |(_, earlier)| earlier);
            let value = if value.is_null() {
                before.to_owned()
            } else {
                let (start, end, between): (usize, usize, String) =
                    serde_json::from_value(value).ok()?;
                let tail = before.get(before.len().checked_sub(end)?..)?;
                format!("{}{between}{tail}", before.get(..start)?)
            };
            metadata.push((key, value));
        }
        let of_point: Vec<SweepRow> = rows.by_ref().take(number).collect();
        if of_point.len() < number {
            return None;
        }
        points.push(PointRuns {
            labels,
            metadata,
            rows: of_point,
        });
    }
    rows.next().is_none().then_some(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seed: u64, source: &str) -> SweepRow {
        SweepRow {
            identity: format!("id{seed}").into(),
            seed,
            replica: seed - 7,
            source: source.into(),
            figures: (0..SWEEP_FIGURES.len())
                .map(|number| (number % 3 > 0).then_some(0.1 * number as f64 + seed as f64))
                .collect(),
        }
    }

    fn point(labels: [&str; 3], scenario: &str, rows: Vec<SweepRow>) -> PointRuns {
        PointRuns {
            labels: labels.map(str::to_owned).to_vec(),
            metadata: vec![
                ("roundelay.version".to_owned(), "0.1.0".to_owned()),
                ("roundelay.scenario".to_owned(), scenario.to_owned()),
            ],
            rows,
        }
    }

    fn runs() -> SweepRuns {
        let keys = ["queue.core", "source.calls.rate", "port.a>b c.loss"];
        SweepRuns {
            keys: keys.map(str::to_owned).to_vec(),
            points: vec![
                point(
                    ["fifo", "64000", "0"],
                    "{a: é, b: 1}",
                    vec![row(7, "x"), row(7, "all")],
                ),
                point(["fifo", "-5", "0.25"], "{a: è, b: 1}", vec![]),
                point(
                    ["inf", "128000", "1e-7"],
                    "{a: è, b: 1}",
                    vec![row(u64::MAX, "all")],
                ),
            ],
        }
    }

    fn read(bytes: &[u8], name: &str) -> Result<SweepRuns, String> {
        let name = format!("roundelay-report-{name}-{}.parquet", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        let read = SweepRuns::read(&path);
        std::fs::remove_file(&path).unwrap();
        read
    }

    #[test]
    fn runs_come_back_to_the_last_bit() {
        let bytes = runs().bytes().unwrap();
        assert_eq!(read(&bytes, "runs"), Ok(runs()));
        assert_eq!(runs().bytes().unwrap(), bytes, "equal runs, equal bytes");
        let none = SweepRuns::default();
        assert_eq!(read(&none.bytes().unwrap(), "none"), Ok(none));
    }

    #[test]
    fn keys_are_columns_with_types() {
        assert_eq!(runs().kinds(), [Kind::Text, Kind::Whole, Kind::Number]);
        let reader = SerializedFileReader::new(Bytes::from(runs().bytes().unwrap())).unwrap();
        let fields = reader.metadata().file_metadata().schema().get_fields();
        let names: Vec<&str> = fields.iter().map(|field| field.name()).take(4).collect();
        assert_eq!(
            names,
            [
                "queue.core",
                "source.calls.rate",
                "port.a>b c.loss",
                "identity"
            ]
        );
    }

    #[test]
    fn no_changed_byte_is_read() {
        let bytes = runs().bytes().unwrap();
        let mut noticed = 0;
        let offsets = (0..bytes.len()).step_by(7);
        let tried = offsets.len();
        for offset in offsets {
            let mut changed = bytes.clone();
            changed[offset] ^= 1 << (offset % 8);
            noticed += usize::from(read(&changed, "changed").is_err());
        }
        assert_eq!(noticed, tried, "every byte counts");
    }

    #[test]
    fn origins_differ_in_a_few_letters() {
        for (one, other, ends) in [
            ("abc", "abXc", [2, 1]),
            ("aa", "aaa", [2, 0]),
            ("é", "è", [0, 0]),
            ("", "x", [0, 0]),
            ("{b: 1}", "{b: 11}", [5, 1]),
        ] {
            assert_eq!(shared_ends(one, other), ends, "{one} {other}");
        }
    }
}
