//! Measurements as JSON: for other programs, and for `--against` and `--check` of a later run.

use std::path::{Path, PathBuf};

use roundelay_bench::{COMPILER, Load, Order, Subject};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::huge_pages;
use super::measured::{Measured, Row};
use crate::failure::Failure;
use crate::text_file;

/// All measurements.
pub(super) fn json(measured: &[Measured]) -> String {
    format!("{:#}\n", Value::Array(measured.iter().map(table).collect()))
}

fn table(Measured { load, rows }: &Measured) -> Value {
    let Load {
        flows,
        pattern,
        order,
        lengths,
        memory,
        burst,
    } = load;
    let mut table = json!({
        "flows": flows.to_string(), "pattern": pattern.name(), "memory": memory.name(), "lengths": lengths.to_string(), "burst": burst,
        "compiler": COMPILER, "a_packet": rows.iter().map(row).collect::<Vec<_>>(),
    });
    if *order != Order::default() {
        table["order"] = order.name().into();
    }
    if huge_pages::are_asked_for() {
        table["huge_pages"] = true.into();
    }
    table
}

fn row(row: &Row) -> Value {
    let mut object = Map::new();
    object.insert("subject".to_owned(), row.subject.clone().into());
    object.extend(
        row.figures
            .iter()
            .map(|(name, value)| ((*name).to_owned(), rounded(*value).into())),
    );
    object.insert("net".to_owned(), rounded(row.net).into());
    object.extend(row.saved.map(|saved| ("was".to_owned(), saved.into())));
    object.insert("sent".to_owned(), row.passed.share().into());
    Value::Object(object)
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// A file of saved tables.
pub(super) struct Saved {
    file: PathBuf,
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
        let tables = serde_json::from_str(&text).map_err(|error| {
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

    /// The subjects and loads of the file, to measure again.
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

    /// Adds the saved cost to each row with a saved row under the same load. Returns true if there
    /// was any, not counting the generator's.
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
