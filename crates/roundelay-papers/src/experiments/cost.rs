//! Kind `cost`: CPU time, or instructions and cache misses, per packet: enqueue, dequeue and
//! generation.
//!
//! For each series of loads the rows begin with its name. If it has several numbers of flows, these
//! are `x`. `time` gives `ns`, and `net ns` without the generator's cost. With several rounds it
//! also gives `deviation`, the rounds' standard deviation as a fraction of their mean.
//! `instructions` gives `instructions`, `D1 misses` and `LL misses`, each also as `net`. Both
//! compare the first of these with the basis: `over BASIS` and `net over BASIS` are the ratios.

use std::str::FromStr;

use rayon::prelude::*;
use roundelay::Fault;
use roundelay_bench::{
    Counts, FlowSet, InstructionsError, Lengths, Load, Memory, Order, Passed, Pattern, Subject,
    Timing, count, time,
};
use serde::Deserialize;
use toml::Table;

use super::columns::{Columns, model_and_basis, wrong};
use super::{Experiment, Failed, Outcome, Row, within};
use crate::figures::{deviation, mean};
use crate::locations::{self, Wrong};

/// Subjects that send a smaller share of their packets are mostly dropping.
const NEARLY_ALL: f64 = 0.99;

/// Measure, columns and loads.
#[derive(Debug, Clone)]
pub(super) struct Cost {
    measure: Measure,
    columns: Vec<Column>,
    /// Indices in `columns`.
    generator: usize,
    basis: usize,
    loads: Vec<Named>,
    pairs: u64,
    rounds: usize,
}

/// The measured quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Measure {
    /// CPU time: the median of interleaved rounds.
    Time,
    /// Instructions and cache misses, by valgrind.
    Instructions,
}

/// A column in the paper's table.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    subject: Subject,
}

/// A load and the series of its rows.
#[derive(Debug, Clone)]
struct Named {
    series: String,
    /// Number of flows, if the series has several.
    flows: Option<f64>,
    load: Load,
}

/// The `[run]` table as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    measure: Measure,
    /// Maps the paper's name of each column to a discipline, or to `none` for the generator alone.
    columns: Columns,
    /// The column for comparison.
    #[serde(default = "drr")]
    basis: String,
    /// Memory layout: packed or scattered.
    #[serde(default = "packed")]
    memory: String,
    /// Packet lengths, for series without lengths.
    #[serde(default = "thousand")]
    lengths: String,
    load: Vec<Series>,
    /// Fewest packets in a round: 1 to 10^9.
    #[serde(default = "million")]
    pairs: u64,
    /// Rounds per seed, 1 to 10000. The median counts.
    #[serde(default = "one")]
    rounds: u32,
}

/// Loads with different numbers of flows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Series {
    name: String,
    flows: Flows,
    pattern: String,
    lengths: Option<String>,
}

/// One set of flows, or several for a curve.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a set of flows or a list of sets")]
enum Flows {
    One(String),
    Several(Vec<String>),
}

fn drr() -> String {
    "DRR".to_owned()
}

fn packed() -> String {
    Memory::Packed.name().to_owned()
}

fn thousand() -> String {
    "1000".to_owned()
}

const fn million() -> u64 {
    1_000_000
}

const fn one() -> u32 {
    1
}

/// Reads the `[run]` table.
///
/// # Errors
/// The faulty key and its legal values.
pub(super) fn read(table: &Table) -> Result<Box<dyn Experiment>, Wrong> {
    Ok(Box::new(Cost::new(&locations::read(table)?)?))
}

/// Parses a text; errors get the path.
fn parsed<V: FromStr<Err: Into<Fault>>>(path: &str, text: &str) -> Result<V, Wrong> {
    text.parse().map_err(|error| Wrong::new(path, error))
}

impl Cost {
    fn new(text: &Text) -> Result<Self, Wrong> {
        let mut columns = Vec::new();
        for name in text.columns.names() {
            columns.push(Column::read(&name, &text.columns)?);
        }
        let generator = columns
            .iter()
            .position(|column| matches!(column.subject, Subject::Generator));
        let basis = columns.iter().position(|column| column.name == text.basis);
        let [generator, basis] = model_and_basis(generator, basis, &text.basis)?;
        within("pairs", text.pairs, 1..=1_000_000_000)?;
        within("rounds", text.rounds, 1..=10_000)?;
        let mut loads = Vec::new();
        for (number, series) in text.load.iter().enumerate() {
            let of_series = series.loads(text);
            loads.extend(of_series.map_err(|wrong| wrong.below(&format!("load.{number}")))?);
        }
        Ok(Self {
            measure: text.measure,
            columns,
            generator,
            basis,
            loads,
            pairs: text.pairs,
            rounds: text.rounds as usize,
        })
    }
}

impl Column {
    fn read(name: &str, columns: &Columns) -> Result<Self, Wrong> {
        Ok(Self {
            name: name.to_owned(),
            subject: columns
                .text(name)?
                .parse()
                .map_err(|error| wrong(name, error))?,
        })
    }
}

impl Series {
    /// # Errors
    /// The faulty key of this series.
    fn loads(&self, text: &Text) -> Result<Vec<Named>, Wrong> {
        let memory: Memory = parsed("memory", &text.memory)?;
        let pattern: Pattern = parsed("pattern", &self.pattern)?;
        let lengths: Lengths = parsed("lengths", self.lengths.as_ref().unwrap_or(&text.lengths))?;
        let (is_curve, sets) = match &self.flows {
            Flows::One(flows) => (false, std::slice::from_ref(flows)),
            Flows::Several(several) => (true, &several[..]),
        };
        let mut loads = Vec::new();
        for set in sets {
            let flows: FlowSet = parsed("flows", set)?;
            let x = f64::from(flows.flows());
            loads.push(Named {
                series: self.name.clone(),
                flows: if is_curve { Some(x) } else { None },
                load: Load {
                    flows,
                    pattern,
                    order: Order::Shortest,
                    lengths,
                    memory,
                    burst: 0,
                },
            });
        }
        Ok(loads)
    }
}

impl Named {
    /// Unique among parts, because a series lists each number of flows once.
    fn part(&self) -> String {
        format!("{}, {}", self.series, self.load.flows)
    }

    fn row(&self, column: &str, figure: &str, value: f64) -> Row {
        Row {
            x: self.flows,
            ..Row::scalar(column, format!("{}, {figure}", self.series), value)
        }
    }
}

/// One figure for all columns, in order: gross, and net of the generator's part.
struct Figure {
    name: &'static str,
    gross: Vec<f64>,
    /// Empty for a figure without a net value.
    net: Vec<f64>,
}

/// What a figure takes from the counts.
type OfCounts = fn(&Counts) -> f64;

impl Cost {
    fn figures(&self, load: &Load) -> Result<Vec<Figure>, Failed> {
        let mut subjects = Vec::new();
        for column in &self.columns {
            subjects.push(column.subject.clone());
        }
        match self.measure {
            Measure::Time => {
                let timings = time(
                    &subjects,
                    std::slice::from_ref(load),
                    self.pairs.max(load.cycle()),
                    self.rounds,
                )
                .map_err(Failed::from)?
                .remove(0);
                self.check_passed(timings.iter().map(|timing| timing.passed))?;
                let mut figures = vec![self.time(&timings)];
                if self.rounds > 1 {
                    figures.push(deviations(&timings));
                }
                Ok(figures)
            }
            Measure::Instructions => {
                let counts: Vec<_> = subjects
                    .par_iter()
                    .map(|subject| count(subject, load))
                    .collect::<Result<_, _>>()
                    .map_err(uncounted)?;
                self.check_passed(counts.iter().map(|counts| counts.passed))?;
                Ok(self.counts(&counts).into())
            }
        }
    }

    /// Rejects columns that drop, because a drop is cheaper than forwarding.
    fn check_passed(&self, passed: impl Iterator<Item = Passed>) -> Result<(), Failed> {
        for (column, passed) in self.columns.iter().zip(passed) {
            if passed.share() < NEARLY_ALL {
                return Err(Failed(format!(
                    "{} sent {:.1}% of the packets: no cost of forwarding",
                    column.name,
                    passed.share() * 100.0
                )));
            }
        }
        Ok(())
    }

    fn time(&self, timings: &[Timing]) -> Figure {
        let mut gross = Vec::new();
        let mut net = Vec::new();
        for timing in timings {
            gross.push(middle(timing.spread()));
            net.push(middle(
                timing.spread_of_difference(&timings[self.generator]),
            ));
        }
        Figure {
            name: "ns",
            gross,
            net,
        }
    }

    fn counts(&self, counts: &[Counts]) -> [Figure; 3] {
        let figures: [(&str, OfCounts); 3] = [
            ("instructions", |counts| counts.instructions),
            ("D1 misses", |counts| counts.first_level_misses),
            ("LL misses", |counts| counts.last_level_misses),
        ];
        figures.map(|(name, of)| {
            let gross: Vec<_> = counts.iter().map(of).collect();
            let generator = gross[self.generator];
            let net = gross.iter().map(|count| count - generator).collect();
            Figure { name, gross, net }
        })
    }

    fn rows(&self, named: &Named, figures: &[Figure]) -> Vec<Row> {
        let basis = &self.columns[self.basis].name;
        let mut rows = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let name = &column.name;
            for figure in figures {
                rows.push(named.row(name, figure.name, figure.gross[index]));
                if let Some(net) = figure.net.get(index) {
                    rows.push(named.row(name, &format!("net {}", figure.name), *net));
                }
            }
            let Figure { gross, net, .. } = &figures[0];
            let over = gross[index] / gross[self.basis];
            let net_over = net[index] / net[self.basis];
            rows.push(named.row(name, &format!("over {basis}"), over));
            rows.push(named.row(name, &format!("net over {basis}"), net_over));
        }
        rows
    }
}

/// Divides the rounds' standard deviation by their mean, for each column.
fn deviations(timings: &[Timing]) -> Figure {
    let mut gross = Vec::new();
    for Timing { nanos, .. } in timings {
        gross.push(deviation(nanos) / mean(nanos));
    }
    Figure {
        name: "deviation",
        gross,
        net: Vec::new(),
    }
}

/// The median of `[smallest, median, largest]`.
pub(super) const fn middle([_, middle, _]: [f64; 3]) -> f64 {
    middle
}

pub(super) fn uncounted(error: InstructionsError) -> Failed {
    match error {
        InstructionsError::NoValgrind(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Failed("valgrind is not installed".to_owned())
        }
        other => Failed::from(other),
    }
}

impl Experiment for Cost {
    /// All checks are done while reading.
    fn check(&self) -> Result<(), Wrong> {
        Ok(())
    }

    /// One part per load. Its columns take turns, so a disturbance of the machine hits all alike.
    fn parts(&self) -> Vec<String> {
        self.loads.iter().map(Named::part).collect()
    }

    /// Seeds are repetitions with the same load.
    fn run(&self, part: &str, _seed: u64) -> Result<Outcome, Failed> {
        let named = self.loads.iter().find(|named| named.part() == part);
        let named = named.ok_or_else(|| Failed(format!("no load is called '{part}'")))?;
        Ok(Outcome {
            rows: self.rows(named, &self.figures(&named.load)?),
            trace: Vec::new(),
        })
    }

    fn is_exact(&self) -> bool {
        self.measure != Measure::Time
    }

    fn runs_alone(&self) -> bool {
        self.measure == Measure::Time
    }

    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        let subject: Subject = discipline.parse().map_err(Failed::from)?;
        for column in &mut self.columns {
            if !matches!(column.subject, Subject::Generator) {
                column.subject = subject.clone();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "measure = 'time'\npairs = 100\ncolumns = { NONE = 'none', DRR = 'drr', QFQ = 'qfq' }
load = [{ name = 'small', flows = ['1', '8'], pattern = 'small' }, { name = 'mix', flows = '1:8,2:4', pattern = 'full', lengths = '64' }]";

    fn cost(text: &str) -> Result<Cost, String> {
        let table: Table = text.parse().unwrap();
        locations::read(&table)
            .and_then(|text| Cost::new(&text))
            .map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn each_load_is_a_part_and_curves_have_the_number_of_flows() {
        let cost = cost(PLAN).unwrap();
        assert_eq!(cost.parts(), ["small, 1", "small, 8", "mix, 1:8,2:4"]);
        assert!(
            cost.runs_alone(),
            "another experiment beside it would be measured too"
        );
        let rows = cost.run("small, 8", 1).unwrap().rows;
        let find = |run: &str, figure: &str| {
            rows.iter()
                .find(|row| row.run == run && row.figure == figure)
                .unwrap()
        };
        assert_eq!(find("QFQ", "small, ns").x, Some(8.0));
        assert_eq!(find("NONE", "small, net ns").value, 0.0);
        assert_eq!(
            [
                find("DRR", "small, over DRR").value,
                find("DRR", "small, net over DRR").value
            ],
            [1.0, 1.0]
        );
        assert!(
            cost.run("mix, 1:8,2:4", 1)
                .unwrap()
                .rows
                .iter()
                .all(|row| row.x.is_none())
        );
        assert_eq!(
            cost.run("mix", 1).unwrap_err().to_string(),
            "no load is called 'mix'"
        );
    }

    #[test]
    fn figures_are_net_of_the_generator_and_over_the_basis() {
        let cost = cost(PLAN).unwrap();
        let counts = [10.0, 30.0, 50.0].map(|instructions| Counts {
            instructions,
            first_level_misses: instructions / 10.0,
            last_level_misses: 0.0,
            passed: Passed {
                offered: 1,
                sent: 1,
            },
        });
        let rows = cost.rows(&cost.loads[2], &cost.counts(&counts));
        let value = |run: &str, figure: &str| {
            rows.iter()
                .find(|row| row.run == run && row.figure == format!("mix, {figure}"))
                .unwrap()
                .value
        };
        assert_eq!(
            [
                value("QFQ", "instructions"),
                value("QFQ", "net instructions"),
                value("QFQ", "net D1 misses")
            ],
            [50.0, 40.0, 4.0]
        );
        assert_eq!(
            [value("QFQ", "over DRR"), value("QFQ", "net over DRR")],
            [50.0 / 30.0, 2.0]
        );
    }

    #[test]
    fn several_rounds_have_a_deviation() {
        let nanos = |nanos: [f64; 3]| Timing {
            nanos: nanos.to_vec(),
            ..Timing::default()
        };
        let noisy = deviations(&[nanos([9.0, 10.0, 11.0]), nanos([7.0; 3])]);
        assert_eq!(noisy.gross, [0.1, 0.0]);
        let figures = |plan: &str| {
            let rows = cost(plan).unwrap().run("small, 8", 1).unwrap().rows;
            let rows = rows.into_iter().filter(|row| row.run == "QFQ");
            rows.map(|row| row.figure).collect::<Vec<_>>()
        };
        let several = figures(&PLAN.replace("pairs", "rounds = 3\npairs"));
        assert!(several.contains(&"small, deviation".to_owned()));
        assert!(!several.contains(&"small, net deviation".to_owned()));
        assert!(!figures(PLAN).contains(&"small, deviation".to_owned()));
    }

    #[test]
    fn a_column_that_drops_has_no_cost() {
        let cost = cost(&PLAN.replace(
            "'qfq'",
            "'red min 1b max 2b burst 1 probability 1 avpkt 1000b'",
        ))
        .unwrap();
        let message = cost.run("mix, 1:8,2:4", 1).unwrap_err().to_string();
        assert!(
            message.starts_with("QFQ sent ") && message.ends_with("no cost of forwarding"),
            "{message}"
        );
    }

    #[test]
    fn a_planted_discipline_stands_in_every_column_but_the_generators() {
        let mut cost = cost(PLAN).unwrap();
        cost.replace_disciplines("fifo").unwrap();
        assert_eq!(
            cost.columns
                .iter()
                .map(|column| column.subject.name())
                .collect::<Vec<_>>(),
            ["none", "fifo", "fifo"]
        );
    }

    #[test]
    fn what_is_wrong_with_a_plan_is_said() {
        for (from, to, expected) in [
            ("'none'", "'fifo'", "no column is 'none'"),
            (
                "DRR =",
                "RR =",
                "basis 'DRR': expected the name of a column",
            ),
            ("'qfq'", "'qfx'", "columns.QFQ: "),
            ("'small' }", "'medium' }", "small, large or full"),
            ("'64'", "'0'", "lengths '0'"),
            ("'1:8,2:4'", "'0'", "flows '0'"),
            ("'time'", "'space'", "unknown value `space`"),
            ("pairs", "pears", "unknown field `pears`"),
            ("100", "0", "pairs: 0 is out of range, 1 to 1000000000"),
        ] {
            let message = cost(&PLAN.replace(from, to)).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
