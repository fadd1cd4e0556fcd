//! Measurements as JSON, for other programs and for a later run's `--against` and `--check`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use roundelay_bench::{COMPILER, Load, Order, Subject};
use roundelay_report::Printed;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::huge_pages;
use super::measured::{Measured, Row};
use crate::failure::Failure;
use crate::text_file;

/// All measurements.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Report<'a> {
    /// A table for each load.
    tables: Vec<TableReport<'a>>,
}

impl Printed for Report<'_> {
    const SCHEMA: &'static str = "bench/1";
}

/// The cost of each subject under one load.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct TableReport<'a> {
    /// Number of flows, as in the option.
    flows: String,
    /// The load: who sends, as in the option.
    pattern: &'static str,
    /// Whether packets and flows lie packed or scattered.
    memory: &'static str,
    /// Lengths of packets, as in the option.
    lengths: String,
    /// Packets that arrive together.
    burst: u32,
    /// The compiler of this program.
    compiler: &'static str,
    /// A row for each subject: first the generator alone, called none.
    a_packet: Vec<RowReport<'a>>,
    /// In which order the generator takes the flows, unless it is the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<&'static str>,
    /// Whether packets and flows lie in huge pages.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    huge_pages: bool,
}

/// The cost of one subject per packet.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RowReport<'a> {
    /// A discipline with its parameters, or none.
    subject: &'a str,
    /// Figures with the generator's cost: nanoseconds (ns) and their spread, or instructions.
    #[serde(flatten)]
    figures: BTreeMap<&'static str, f64>,
    /// The first figure without the generator's cost.
    net: f64,
    /// The cost in the file of --against.
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<Option<f64>>,
    /// Share of the packets that got through.
    sent: f64,
}

impl<'a> Report<'a> {
    pub(super) fn of(measured: &'a [Measured]) -> Self {
        let mut tables = Vec::new();
        for each in measured {
            tables.push(TableReport::of(each));
        }
        Self { tables }
    }
}

impl<'a> TableReport<'a> {
    fn of(measured: &'a Measured) -> Self {
        let Measured { load, rows } = measured;
        let mut a_packet = Vec::new();
        for row in rows {
            a_packet.push(RowReport::of(row));
        }
        Self {
            flows: load.flows.to_string(),
            pattern: load.pattern.name(),
            memory: load.memory.name(),
            lengths: load.lengths.to_string(),
            burst: load.burst,
            compiler: COMPILER,
            a_packet,
            order: (load.order != Order::default()).then(|| load.order.name()),
            huge_pages: huge_pages::are_asked_for(),
        }
    }
}

impl<'a> RowReport<'a> {
    fn of(row: &'a Row) -> Self {
        let mut figures = BTreeMap::new();
        for (name, value) in &row.figures {
            figures.insert(*name, rounded(*value));
        }
        Self {
            subject: &row.subject,
            figures,
            net: rounded(row.net),
            was: row
                .saved
                .map(|saved| Some(saved).filter(|saved| saved.is_finite())),
            sent: row.passed.share(),
        }
    }
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// A file with saved tables.
pub(super) struct Saved {
    file: PathBuf,
    tables: Vec<Table>,
}

#[derive(Debug, Deserialize)]
struct File {
    tables: Vec<Table>,
}

#[derive(Debug, Deserialize)]
struct Table {
    flows: String,
    pattern: String,
    order: Option<String>,
    memory: String,
    lengths: String,
    #[serde(default)]
    burst: u32,
    #[serde(default)]
    huge_pages: bool,
    #[serde(default)]
    compiler: String,
    a_packet: Vec<SavedRow>,
}

#[derive(Debug, Deserialize)]
struct SavedRow {
    subject: String,
    net: f64,
    #[serde(flatten)]
    figures: Map<String, Value>,
}

impl Saved {
    pub(super) fn read(file: &Path) -> Result<Self, Failure> {
        let text = text_file::read(
            file,
            "what --save has written",
            &roundelay_trace::Stop::default(),
        )?;
        let read = if text.trim_start().starts_with('[') {
            // Files were written like this before they had a schema.
            serde_json::from_str(&text)
        } else {
            serde_json::from_str(&text).map(|File { tables }| tables)
        };
        let tables = read.map_err(|error| {
            Failure::usage(format!(
                "{}: not written by --save: {error}",
                file.display()
            ))
        })?;
        Ok(Self {
            file: file.to_owned(),
            tables,
        })
    }

    /// The file's subjects and loads, to measure them again.
    pub(super) fn measurements(&self) -> Result<Vec<(Vec<Subject>, Load)>, Failure> {
        let measurement = |table: &Table| -> Result<_, Box<dyn std::error::Error>> {
            let load = Load {
                flows: table.flows.parse()?,
                pattern: table.pattern.parse()?,
                order: table
                    .order
                    .as_deref()
                    .map_or(Ok(Order::default()), str::parse)?,
                lengths: table.lengths.parse()?,
                memory: table.memory.parse()?,
                burst: table.burst,
            };
            let subjects: Vec<_> = table
                .a_packet
                .iter()
                .map(|row| row.subject.parse())
                .collect::<Result<_, _>>()?;
            if !matches!(subjects.first(), Some(Subject::Generator)) {
                return Err("the first row is not that of none".into());
            }
            Ok((subjects, load))
        };
        self.tables
            .iter()
            .map(measurement)
            .collect::<Result<_, _>>()
            .map_err(|error| Failure::usage(format!("{}: {error}", self.file.display())))
    }

    /// Adds the saved cost to each row that has one under the same load. Returns whether there was
    /// any, not counting the generator's.
    pub(super) fn compare(&self, measured: &mut [Measured]) -> Result<bool, Failure> {
        let mut has_compared = false;
        for Measured { load, rows } in measured {
            let Some(table) = self.tables.iter().find(|table| table.is_under(load)) else {
                continue;
            };
            for row in rows {
                let saved = table
                    .a_packet
                    .iter()
                    .find(|saved| saved.subject == row.subject);
                row.saved = Some(saved.map_or(Ok(f64::NAN), |saved| self.cost(saved, row))?);
                has_compared |= saved.is_some() && row.subject != Subject::Generator.name();
            }
        }
        Ok(has_compared)
    }

    fn cost(&self, saved: &SavedRow, row: &Row) -> Result<f64, Failure> {
        let unit = row.figures[0].0;
        let gross = saved.figures.get(unit).and_then(Value::as_f64);
        let gross = gross.ok_or_else(|| {
            Failure::usage(format!(
                "{}: holds no {unit} of {}",
                self.file.display(),
                row.subject
            ))
        })?;
        Ok(if row.subject == Subject::Generator.name() {
            gross
        } else {
            saved.net
        })
    }

    /// A note for the error message, if another compiler made the file.
    pub(super) fn other_compiler(&self) -> String {
        match self.tables.iter().find(|table| table.compiler != COMPILER) {
            Some(table) => {
                format!(
                    ", which was counted with {} and this with {COMPILER}: the difference may be \
                     the compiler's",
                    table.compiler
                )
            }
            None => String::new(),
        }
    }
}

impl Table {
    fn is_under(&self, load: &Load) -> bool {
        let own = [&self.flows, &self.pattern, &self.lengths, &self.memory];
        let other = [
            &load.flows.to_string(),
            load.pattern.name(),
            &load.lengths.to_string(),
            load.memory.name(),
        ];
        own.iter().zip(other).all(|(own, other)| *own == other)
            && self.order.as_deref().unwrap_or(Order::default().name()) == load.order.name()
            && (self.burst, self.huge_pages) == (load.burst, huge_pages::are_asked_for())
    }
}
