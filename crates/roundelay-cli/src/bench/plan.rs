//! Published tables: what to measure, and what the paper measured.

use std::path::Path;

use roundelay_bench::{FlowSet, Lengths, Load, Memory, Pattern, Subject};
use serde::Deserialize;

use super::measure::Measured;
use super::saved::subject;
use crate::failure::Failure;
use crate::text_file;

/// The plans that come with the program.
const PLANS: [(&str, &str); 4] = [
    ("qfq-table4", include_str!("../../../../papers/qfq/table4.toml")),
    ("qfq-figure10", include_str!("../../../../papers/qfq/figure10.toml")),
    ("qfq-plus-table", include_str!("../../../../papers/qfq-plus/table.toml")),
    ("qfq-plus-instructions", include_str!("../../../../papers/qfq-plus/instructions.toml")),
];

/// A plan, its words understood.
#[derive(Debug)]
pub(super) struct Plan {
    text: Text,
    lengths: Lengths,
    rows: Vec<Row>,
    /// What is measured, a column each.
    pub(super) subjects: Vec<Subject>,
}

/// A plan as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    title: String,
    source: String,
    machine: String,
    lengths: String,
    #[serde(default)]
    notes: Vec<String>,
    columns: Vec<Column>,
    rows: Vec<RowText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    /// The paper's name.
    name: String,
    /// Ours.
    run: String,
    /// The paper has values for it.
    #[serde(default = "yes")]
    published: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowText {
    flows: String,
    pattern: String,
    #[serde(default)]
    burst: u32,
    /// Nanoseconds a packet, a value for each column that has any.
    #[serde(default)]
    published: Vec<f64>,
    /// Takes long or much memory.
    #[serde(default)]
    full: bool,
}

/// One row of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) flows: FlowSet,
    pattern: Pattern,
    burst: u32,
    full: bool,
    /// Nanoseconds a packet, for each column.
    pub(super) published: Vec<Option<f64>>,
}

const fn yes() -> bool {
    true
}

impl Plan {
    /// Names of those that come with the program.
    pub(super) fn known() -> String {
        PLANS.map(|(name, _)| name).join(", ")
    }

    /// One of those that come with the program, or a file.
    pub(super) fn named(name: &str) -> Result<Self, Failure> {
        if let Some((_, text)) = PLANS.iter().find(|(known, _)| *known == name) {
            return Self::read(text).map_err(|error| Failure::usage(format!("{name}: {error}")));
        }
        let text = text_file::read(Path::new(name), &format!("{}, or a file like those in papers/", Self::known()))?;
        Self::read(&text).map_err(|error| Failure::usage(format!("{name}: {error}")))
    }

    fn read(text: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let text: Text = toml::from_str(text)?;
        let subjects: Vec<_> = text.columns.iter().map(|column| subject(&column.run)).collect::<Result<_, _>>()?;
        if !matches!(subjects.first(), Some(Subject::Generator)) {
            return Err("columns: the first one has to run none, which is taken off the others".into());
        }
        if !text.columns.iter().any(|column| column.name == BASIS) {
            return Err(format!("columns: none has the name {BASIS}, to which the others are compared").into());
        }
        let rows = text.rows.iter().map(|row| row.understood(&text.columns)).collect::<Result<_, _>>()?;
        Ok(Self { lengths: text.lengths.parse()?, rows, subjects, text })
    }

    /// The rows to measure.
    pub(super) fn rows(&self, full: bool) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| full || !row.full)
    }

    pub(super) fn loads(&self, row: &Row, memory: &[Memory]) -> Vec<Load> {
        let load =
            |&memory: &Memory| Load { flows: row.flows.clone(), pattern: row.pattern, lengths: self.lengths, memory, burst: row.burst };
        memory.iter().map(load).collect()
    }

    /// The paper's names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.text.columns.iter().map(|column| column.name.as_str())
    }

    pub(super) fn head(&self) -> String {
        let Text { title, source, machine, .. } = &self.text;
        format!("{title}\n  published: {source}; on {machine}\n\n")
    }

    pub(super) fn foot(&self) -> String {
        self.text.notes.iter().map(|note| format!("{note}\n")).collect()
    }

    /// Published and measured, with the ratio of each column to DRR's: ratios carry over from machine to machine, nanoseconds do not.
    pub(super) fn table(&self, row: &Row, measured: &[Measured]) -> String {
        let Some(first) = measured.first() else { return String::new() };
        let mut lines: Vec<(String, Vec<Option<f64>>)> = Vec::new();
        if row.published.iter().any(Option::is_some) {
            lines.push(("published, ns".to_owned(), row.published.clone()));
            self.ratios(&mut lines, "published", &row.published, row.published[0]);
        }
        for Measured { load, rows } in measured {
            let memory = load.memory.name();
            for place in (0..rows[0].figures.len()).filter(|place| !is_spread(rows[0].figures[*place].0)) {
                let values = rows.iter().map(|row| row.sends().then_some(row.figures[place].1)).collect();
                lines.push((format!("{memory}, {}", rows[0].figures[place].0), values));
            }
            let gross: Vec<_> = rows.iter().map(|row| row.sends().then(|| row.gross())).collect();
            self.ratios(&mut lines, memory, &gross, gross[0]);
        }
        let names: String = self.names().map(|name| format!("{name:>12}")).collect();
        let text = format!("{}\n{:34}{names}\n", first.load.but_memory(), "");
        lines.iter().fold(text, |text, (name, values)| text + &format!("  {name:32}{}\n", cells(values))) + "\n"
    }

    /// Lines that hold the other columns against DRR, as they are and without the generator where that is known.
    fn ratios(&self, lines: &mut Vec<(String, Vec<Option<f64>>)>, name: &str, gross: &[Option<f64>], generator: Option<f64>) {
        let basis = self.names().position(|name| name == BASIS).and_then(|place| gross[place]);
        let over = |value: Option<f64>, off: f64| Some((value? - off) / (basis? - off));
        lines.push((format!("{name}, over {BASIS}"), gross.iter().map(|value| over(*value, 0.0)).collect()));
        if let Some(generator) = generator {
            let net = gross.iter().skip(1).map(|value| over(*value, generator));
            lines.push((format!("{name}, net over net {BASIS}"), std::iter::once(None).chain(net).collect()));
        }
    }
}

/// The column to which the others are compared.
const BASIS: &str = "DRR";

fn is_spread(figure: &str) -> bool {
    figure == "least ns" || figure == "most ns"
}

fn cells(values: &[Option<f64>]) -> String {
    values.iter().map(|value| value.map_or_else(|| format!("{:>12}", "-"), |value| format!("{value:12.2}"))).collect()
}

impl RowText {
    fn understood(&self, columns: &[Column]) -> Result<Row, Box<dyn std::error::Error>> {
        let expected = columns.iter().filter(|column| column.published).count();
        if !self.published.is_empty() && self.published.len() != expected {
            let (flows, pattern, found) = (&self.flows, &self.pattern, self.published.len());
            return Err(format!("rows: flows {flows}, pattern {pattern}: {found} published values for {expected} columns").into());
        }
        let mut values = self.published.iter().copied();
        let published = columns.iter().map(|column| if column.published { values.next() } else { None }).collect();
        Ok(Row { flows: self.flows.parse()?, pattern: self.pattern.parse()?, burst: self.burst, full: self.full, published })
    }
}

#[cfg(test)]
mod tests {
    use roundelay_bench::Passed;

    use super::*;
    use crate::bench::measure;

    #[test]
    fn the_plans_are_understood_and_hold_what_was_published() {
        let plan = |name| Plan::named(name).unwrap();
        let table = plan("qfq-table4");
        assert_eq!(table.rows(true).count(), 21);
        assert_eq!(table.rows(true).flat_map(|row| &row.published).map(|value| value.unwrap()).sum::<f64>(), 41_158.0);
        assert_eq!(table.names().collect::<Vec<_>>(), ["NONE", "FIFO", "DRR", "QFQ", "S-KPS", "WF2Q+"]);
        let figure = plan("qfq-figure10");
        for row in figure.rows(true).filter(|row| row.published[0].is_some()) {
            let same = table.rows(true).find(|other| other.flows.flows() == row.flows.flows() && other.pattern == row.pattern);
            assert_eq!(same.map(|same| &same.published), Some(&row.published), "the figure's points are the table's");
        }
        assert!(figure.rows(false).count() < figure.rows(true).count());
        let plus = plan("qfq-plus-table");
        assert_eq!(plan("qfq-plus-instructions").names().collect::<Vec<_>>(), plus.names().collect::<Vec<_>>());
        assert_eq!(plus.rows(true).filter_map(|row| row.published[1]).sum::<f64>(), 89.0 + 102.0 + 267.0 + 253.0);
        assert_eq!(plus.rows(true).filter_map(|row| row.published[4]).sum::<f64>(), 63.0 + 71.0 + 225.0 + 187.0);
    }

    const PLAN: &str = "title = 'a'\nsource = 'b'\nmachine = 'c'\nlengths = '1000'
columns = [{ name = 'NONE', run = 'none' }, { name = 'DRR', run = 'drr' }, { name = 'M', run = 'qfq_plus aggregate 2', published = false }]
rows = [{ flows = '8', pattern = 'small', published = [10.0, 30.0] }]";

    #[test]
    fn published_and_measured_stand_above_each_other() {
        let plan = Plan::read(PLAN).unwrap();
        let row = plan.rows(false).next().unwrap();
        assert_eq!(row.published, [Some(10.0), Some(30.0), None]);
        let load = plan.loads(row, &[Memory::Scattered]).remove(0);
        let cost = |gross: f64| measure::Row {
            subject: String::new(),
            figures: vec![("ns", gross), ("least ns", 0.0), ("most ns", 0.0)],
            net: gross - 4.0,
            passed: Passed { offered: 1, sent: 1 },
            saved: None,
        };
        let text = plan.table(row, &[Measured { load, rows: vec![cost(4.0), cost(8.0), cost(16.0)] }]);
        let line = |name: &str| {
            text.lines().find(|line| line.trim().starts_with(name)).unwrap().split_whitespace().rev().take(3).collect::<Vec<_>>()
        };
        assert_eq!(line("published, ns"), ["-", "30.00", "10.00"]);
        assert_eq!(line("scattered, over DRR"), ["2.00", "1.00", "0.50"]);
        assert_eq!(line("scattered, net over net DRR"), ["3.00", "1.00", "-"]);
        assert!(!text.contains("least"), "{text}");
    }

    #[test]
    fn what_is_wrong_with_a_plan_is_said() {
        for (from, to, expected) in [
            ("[10.0, 30.0]", "[10.0]", "1 published values for 2 columns"),
            ("run = 'none'", "run = 'fifo'", "has to run none"),
            ("'DRR'", "'drr'", "none has the name DRR"),
            ("'small'", "'medium'", "small, large or full"),
            ("flows", "flaws", "flaws"),
            ("aggregate 2", "aggregate 0", "1 to 64"),
        ] {
            let error = Plan::read(&PLAN.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
