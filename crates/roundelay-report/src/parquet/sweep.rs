//! Parquet file of a point of a sweep: a row per run and source, with the figures of
//! [`Summary`](crate::Summary).

use std::path::Path;
use std::sync::{Arc, LazyLock};

use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use roundelay_sim::scenario::{ClassResult, GroupLives, GroupResult, Results};

use super::column::{Column, Values, schema, small_file};
use super::rows::Table;
use crate::lives::{Worst, worst};

/// Figures of a source, figures on request of `[meter]`, figures of each class of links.
/// Seconds, bits per second, bytes, parts of 1.
pub const SWEEP_FIGURES: [&str; 48] = [
    "flows",
    "throughput",
    "loss",
    "in_time",
    "edge_marked",
    "delay_mean",
    "delay_p99",
    "delay_max",
    "jain",
    "transfers",
    "incomplete",
    "completion_mean",
    "completion_p99",
    "completion_by_bytes",
    "goodput",
    "retransmissions",
    "timeouts",
    "round_trip_mean",
    "round_trip_by_bytes",
    "lives_throughput",
    "lives_jain",
    "lives_jain_of_ratios",
    "lives_reordering",
    "lives_round_trip",
    "lives_bennett_zhang",
    "lives_startup_latency",
    "lives_starved",
    "lives_correlation",
    "b_wfi",
    "t_wfi",
    "core_utilisation",
    "core_busiest",
    "core_loss",
    "core_wait_mean",
    "core_wait_p99",
    "core_wait_max",
    "edge_utilisation",
    "edge_busiest",
    "edge_loss",
    "edge_wait_mean",
    "edge_wait_p99",
    "edge_wait_max",
    "host_utilisation",
    "host_busiest",
    "host_loss",
    "host_wait_mean",
    "host_wait_p99",
    "host_wait_max",
];

/// Columns before the figures.
const KEYS: [&str; 4] = ["identity", "seed", "replica", "source"];

/// Results of one run for one source.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepRow {
    /// Identity of the run.
    pub identity: Arc<str>,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the run among those of its point, from 0.
    pub replica: u64,
    /// Name of the source, or `all`.
    pub source: Arc<str>,
    /// Values of [`SWEEP_FIGURES`].
    pub figures: Vec<Option<f64>>,
}

/// The sources of a run with the values of [`SWEEP_FIGURES`].
pub fn sweep_rows(results: &Results) -> Vec<(Arc<str>, Vec<Option<f64>>)> {
    let classes: Vec<Option<f64>> = ["core", "edge", "host"].iter().flat_map(|name| of_class(results, name)).collect();
    let row = |(number, group): (usize, &GroupResult)| {
        let figures = of_group(group).into_iter().chain(of_meter(results, number)).chain(classes.iter().copied());
        (Arc::from(group.name.as_str()), figures.collect())
    };
    results.groups.iter().enumerate().map(row).collect()
}

fn of_group(group: &GroupResult) -> [Option<f64>; 19] {
    let count = |number: Option<u64>| number.map(|number| number as f64);
    [
        Some(group.flows as f64),
        Some(group.throughput),
        group.loss,
        group.in_time,
        count(group.edge_marked),
        group.delay.mean,
        group.delay.p99,
        group.delay.max,
        group.jain,
        Some(group.completion.count as f64),
        Some(group.incomplete as f64),
        group.completion.mean,
        group.completion.p99,
        group.completion_by_bytes,
        group.goodput,
        count(group.retransmissions),
        count(group.timeouts),
        group.round_trip.mean,
        group.round_trip_by_bytes,
    ]
}

/// Figures on request of `[meter]`: `flows`, and the worst flow of `wfi`.
fn of_meter(results: &Results, number: usize) -> [Option<f64>; 11] {
    let lives = results.groups[number].lives.as_ref();
    let life = |of: fn(&GroupLives) -> Option<f64>| lives.and_then(of);
    let Worst { b_wfi, t_wfi } = worst(results, number);
    [
        life(|lives| lives.throughput),
        life(|lives| lives.jain),
        life(|lives| lives.jain_of_ratios),
        life(|lives| lives.reordering),
        life(|lives| lives.round_trip),
        life(|lives| lives.bennett_zhang),
        life(|lives| lives.startup_latency),
        life(|lives| Some(lives.starved as f64)),
        life(|lives| lives.correlation),
        b_wfi,
        t_wfi,
    ]
}

fn of_class(results: &Results, name: &str) -> [Option<f64>; 6] {
    let class = results.classes.iter().find(|class| class.class == name);
    let of =
        |class: &ClassResult| [Some(class.utilisation), Some(class.busiest), class.loss, class.wait.mean, class.wait.p99, class.wait.max];
    class.map_or([None; 6], of)
}

/// A file of a sweep: the runs of one point.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SweepFile {
    /// Origin of the runs.
    pub metadata: Vec<(String, String)>,
    /// Rows by seed, sources in the order of the scenario.
    pub rows: Vec<SweepRow>,
}

impl SweepFile {
    /// The file's content: equal rows and metadata give equal bytes.
    ///
    /// # Errors
    ///
    /// The encoder's error.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        // Reading the schema's text costs as much as the file.
        static SCHEMA: LazyLock<Arc<Type>> = LazyLock::new(|| Arc::new(schema(&columns(&[])).expect("names of columns are legal")));
        small_file(&SCHEMA, &columns(&self.rows), &self.metadata).map_err(|error| error.to_string())
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The file is unreadable, or no file of a sweep.
    pub fn read(path: &Path) -> Result<Self, String> {
        let wrong = |problem: String| format!("{}: {problem}", path.display());
        let file = std::fs::File::open(path).map_err(|error| wrong(format!("cannot read: {error}")))?;
        let reader = SerializedFileReader::new(file).map_err(|error| wrong(format!("no Parquet file: {error}")))?;
        let header = reader.metadata().file_metadata();
        let names: Vec<_> = header.schema().get_fields().iter().map(|field| field.name().to_owned()).collect();
        if !names.iter().map(String::as_str).eq(KEYS.into_iter().chain(SWEEP_FIGURES)) {
            return Err(wrong("no file of a sweep, or one of another version".to_owned()));
        }
        let entries = header.key_value_metadata().into_iter().flatten();
        let metadata = entries.filter_map(|entry| Some((entry.key.clone(), entry.value.clone()?)));
        let metadata = metadata.filter(|(key, _)| key.starts_with("roundelay.")).collect();
        let rows = reader.get_row_iter(None).map_err(|error| wrong(error.to_string()))?;
        let rows = rows.map(|row| row.and_then(|row| read_row(&row)).map_err(|error| wrong(error.to_string())));
        Ok(Self { metadata, rows: rows.collect::<Result<_, _>>()? })
    }
}

fn read_row(row: &Row) -> Result<SweepRow, ParquetError> {
    let (mut texts, mut numbers, mut figures) = (Vec::new(), Vec::new(), Vec::new());
    for (_, field) in row.get_column_iter() {
        match field {
            Field::Str(text) => texts.push(Arc::from(text.as_str())),
            Field::ULong(number) => numbers.push(*number),
            Field::Double(value) => figures.push(Some(*value)),
            Field::Null => figures.push(None),
            other => return Err(ParquetError::General(format!("a value of another type: {other}"))),
        }
    }
    let (Ok([identity, source]), Ok([seed, replica])) = (<[_; 2]>::try_from(texts), <[_; 2]>::try_from(numbers)) else {
        return Err(ParquetError::General("a row without its keys".to_owned()));
    };
    Ok(SweepRow { identity, seed, replica, source, figures })
}

/// The rows as a table in memory.
pub fn sweep_table(rows: &[SweepRow]) -> Table {
    Table { header: columns(&[]), batches: vec![columns(rows)] }
}

fn columns(rows: &[SweepRow]) -> Vec<Column> {
    let texts = |of: fn(&SweepRow) -> &str| Values::Texts(rows.iter().map(|row| ByteArray::from(of(row))).collect());
    let counts = |of: fn(&SweepRow) -> u64| Values::Counts(rows.iter().map(of).collect());
    let [identity, seed, replica, source] = KEYS;
    let mut columns = vec![
        Column { name: identity, values: texts(|row| &row.identity) },
        Column { name: seed, values: counts(|row| row.seed) },
        Column { name: replica, values: counts(|row| row.replica) },
        Column { name: source, values: texts(|row| &row.source) },
    ];
    for (number, name) in SWEEP_FIGURES.into_iter().enumerate() {
        columns.push(Column { name, values: Values::OptionalNumbers(rows.iter().map(|row| row.figures[number]).collect()) });
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_sweep_comes_back_to_the_last_bit() {
        let row = |seed: u64, source: &str| SweepRow {
            identity: "ab".into(),
            seed,
            replica: seed - 7,
            source: source.into(),
            figures: (0..SWEEP_FIGURES.len()).map(|number| (number % 3 > 0).then_some(0.1 * number as f64 + 0.2)).collect(),
        };
        let metadata = vec![("roundelay.point".to_owned(), "cd".to_owned())];
        let file = SweepFile { metadata, rows: vec![row(7, "calls"), row(7, "all"), row(u64::MAX, "all")] };
        let path = std::env::temp_dir().join(format!("roundelay-report-sweep-{}.parquet", std::process::id()));
        std::fs::write(&path, file.bytes().unwrap()).unwrap();
        let read = SweepFile::read(&path);
        std::fs::write(&path, "PAR1").unwrap();
        let broken = SweepFile::read(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read, Ok(file.clone()));
        assert_eq!(file.bytes(), read.unwrap().bytes());
        assert!(broken.unwrap_err().contains("no Parquet file"));
    }
}
