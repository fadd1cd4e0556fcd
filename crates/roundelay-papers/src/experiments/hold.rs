//! Kind `hold`: cost of a departure and an arrival (a pair) in queues with a constant number of
//! packets, in time and instructions.
//!
//! Each column has figures that are curves over the number of packets held:
//!
//! * `ns` (the median of interleaved rounds), and `instructions`, `D1 misses` and `LL misses` by
//!   valgrind. All include the model's own cost.
//! * `net ns`, `net instructions`: the same minus the column `none`.
//! * `time over BASIS` and `instructions over BASIS`: ratios of net values.

use rayon::prelude::*;
use roundelay_bench::{HoldSubject, MOST_HELD, count_hold, time_hold};
use serde::Deserialize;
use toml::Table;

use super::columns::{Columns, model_and_basis, wrong};
use super::cost::{middle, uncounted};
use super::{Experiment, Failed, Outcome, Row, all_within, within};
use crate::locations::{self, Wrong};

/// Difference in pairs between the two counted runs. It is a full turnover of the smaller queues,
/// and enough for the mean.
const COUNTED_PAIRS: u64 = 100_000;

/// Columns, numbers of packets, and how long to measure.
#[derive(Debug, Clone)]
pub(super) struct Hold {
    columns: Vec<(String, HoldSubject)>,
    /// Indices in `columns`.
    model: usize,
    basis: usize,
    held: Vec<u32>,
    pairs: u64,
    rounds: usize,
}

/// The `[run]` table as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    /// Queues by name: `none` is the model alone, `heap` the standard library's heap. Any other
    /// text is a discipline, where `{slot}` stands for a calendar's slot that fits the load.
    columns: Columns,
    /// The column for comparison.
    basis: String,
    /// Numbers of packets held: 1 to 2^24.
    held: Vec<u32>,
    /// Pairs per round: 1 to 10^9.
    pairs: u64,
    /// Rounds per seed, 1 to 10000. The median counts.
    rounds: u32,
}

/// Reads the `[run]` table.
///
/// # Errors
/// The faulty key and its legal values.
pub(super) fn read(table: &Table) -> Result<Box<dyn Experiment>, Wrong> {
    Ok(Box::new(Hold::new(&locations::read(table)?)?))
}

impl Hold {
    fn new(text: &Text) -> Result<Self, Wrong> {
        let mut columns = Vec::new();
        for name in text.columns.names() {
            let subject = text.columns.text(&name)?.parse();
            let subject: HoldSubject = subject.map_err(|error| wrong(&name, error))?;
            columns.push((name, subject));
        }
        let model = columns
            .iter()
            .position(|(_, subject)| *subject == HoldSubject::Nothing);
        let basis = columns.iter().position(|(name, _)| *name == text.basis);
        let [model, basis] = model_and_basis(model, basis, &text.basis)?;
        all_within("held", &text.held, 1..=MOST_HELD)?;
        within("pairs", text.pairs, 1..=1_000_000_000)?;
        within("rounds", text.rounds, 1..=10_000)?;
        Ok(Self {
            columns,
            model,
            basis,
            held: text.held.clone(),
            pairs: text.pairs,
            rounds: text.rounds as usize,
        })
    }

    fn time(&self, held: u32) -> Result<Vec<Row>, Failed> {
        let mut subjects = Vec::new();
        for (_, subject) in &self.columns {
            subjects.push(subject.clone());
        }
        let timings = time_hold(&subjects, held, self.pairs, self.rounds).map_err(Failed::from)?;
        let mut gross = Vec::new();
        let mut net = Vec::new();
        for timing in &timings {
            gross.push(middle(timing.spread()));
            net.push(middle(timing.spread_of_difference(&timings[self.model])));
        }
        let mut rows = self.rows(held, "ns", &gross);
        rows.extend(self.net_rows(held, ["net ns", "time"], &net));
        Ok(rows)
    }

    fn counts(&self, held: u32) -> Result<Vec<Row>, Failed> {
        let columns = self.columns.par_iter();
        let counts: Vec<_> = columns
            .map(|(_, subject)| count_hold(subject, held, COUNTED_PAIRS))
            .collect::<Result<_, _>>()
            .map_err(uncounted)?;
        let mut gross = Vec::new();
        let mut net = Vec::new();
        let mut first = Vec::new();
        let mut last = Vec::new();
        for of_column in &counts {
            gross.push(of_column.instructions);
            net.push(of_column.instructions - counts[self.model].instructions);
            first.push(of_column.first_level_misses);
            last.push(of_column.last_level_misses);
        }
        let mut rows = self.rows(held, "instructions", &gross);
        rows.extend(self.net_rows(held, ["net instructions", "instructions"], &net));
        rows.extend(self.rows(held, "D1 misses", &first));
        rows.extend(self.rows(held, "LL misses", &last));
        Ok(rows)
    }

    /// A figure's rows, one per column.
    fn rows(&self, held: u32, figure: &str, values: &[f64]) -> Vec<Row> {
        let mut rows = Vec::new();
        for ((name, _), value) in self.columns.iter().zip(values) {
            rows.push(Row::point(name, figure, held.into(), *value));
        }
        rows
    }

    /// Rows of net values and of their ratios to the basis, without the model.
    fn net_rows(&self, held: u32, [net, ratio]: [&str; 2], values: &[f64]) -> Vec<Row> {
        let over = format!("{ratio} over {}", self.columns[self.basis].0);
        let basis = values[self.basis];
        let ratios: Vec<_> = values.iter().map(|value| value / basis).collect();
        let mut rows = self.rows(held, net, values);
        rows.extend(self.rows(held, &over, &ratios));
        rows.retain(|row| row.run != self.columns[self.model].0);
        rows
    }
}

impl Experiment for Hold {
    /// All checks are done while reading.
    fn check(&self) -> Result<(), Wrong> {
        Ok(())
    }

    /// Two parts per number of packets. The queues take turns, so a disturbance of the machine hits
    /// all alike.
    fn parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        for measure in ["time", "instructions"] {
            for held in &self.held {
                parts.push(format!("{measure}, {held} held"));
            }
        }
        parts
    }

    /// Seeds are repetitions with the same load.
    fn run(&self, part: &str, _seed: u64) -> Result<Outcome, Failed> {
        let parts = self.parts();
        let number = parts
            .iter()
            .position(|other| other == part)
            .ok_or_else(|| Failed(format!("no part is called '{part}'")))?;
        // Parts are first all times, then all counts, each in the order of `held`.
        let held = self.held[number % self.held.len()];
        let rows = if number < self.held.len() {
            self.time(held)?
        } else {
            self.counts(held)?
        };
        Ok(Outcome {
            rows,
            trace: Vec::new(),
        })
    }

    fn runs_alone(&self) -> bool {
        true
    }

    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        let subject: HoldSubject = discipline.parse().map_err(Failed::from)?;
        for (_, column) in &mut self.columns {
            if *column != HoldSubject::Nothing {
                *column = subject.clone();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str =
        "columns = { NONE = 'none', LSTF = 'lstf', heap = 'heap', calendar = 'lstf_levels queues 4096 step {slot} map rotating' }
basis = 'LSTF'\nheld = [10, 100]\npairs = 100\nrounds = 3";

    fn hold(text: &str) -> Result<Hold, String> {
        let table: Table = text.parse().unwrap();
        locations::read(&table)
            .and_then(|text| Hold::new(&text))
            .map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn times_are_curves_over_the_packets_held() {
        let hold = hold(PLAN).unwrap();
        assert_eq!(
            hold.parts(),
            [
                "time, 10 held",
                "time, 100 held",
                "instructions, 10 held",
                "instructions, 100 held"
            ]
        );
        let rows = hold.run("time, 100 held", 1).unwrap().rows;
        let find = |run: &str, figure: &str| {
            rows.iter()
                .find(|row| row.run == run && row.figure == figure)
        };
        assert_eq!(
            find("LSTF", "time over LSTF").map(|row| (row.x, row.value)),
            Some((Some(100.0), 1.0))
        );
        assert!(
            ["ns", "net ns", "time over LSTF"]
                .iter()
                .all(|figure| find("calendar", figure).is_some())
        );
        assert!(find("NONE", "ns").is_some() && find("NONE", "net ns").is_none());
        assert_eq!(
            hold.run("time", 1).unwrap_err().to_string(),
            "no part is called 'time'"
        );
    }

    #[test]
    fn ratios_are_of_what_is_net() {
        let rows = hold(PLAN)
            .unwrap()
            .net_rows(10, ["net ns", "time"], &[0.0, 20.0, 50.0, 10.0]);
        let of = |figure: &str| {
            rows.iter()
                .filter(|row| row.figure == figure)
                .map(|row| row.value)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            [of("net ns"), of("time over LSTF")],
            [[20.0, 50.0, 10.0], [1.0, 2.5, 0.5]]
        );
    }

    #[test]
    fn a_planted_discipline_stands_in_every_column_but_the_models() {
        let mut hold = hold(PLAN).unwrap();
        hold.replace_disciplines("fifo").unwrap();
        assert_eq!(
            hold.columns
                .iter()
                .map(|(_, subject)| subject.to_string())
                .collect::<Vec<_>>(),
            ["none", "fifo", "fifo", "fifo"]
        );
    }

    #[test]
    fn what_is_wrong_with_a_plan_is_said() {
        for (from, to, expected) in [
            ("'none'", "'fifo'", "no column is 'none'"),
            (
                "basis = 'LSTF'",
                "basis = 'EDF'",
                "basis 'EDF': expected the name of a column",
            ),
            ("'lstf'", "'lsft'", "columns.LSTF: "),
            ("{slot}", "{step}", "columns.calendar: "),
            ("[10, 100]", "[0]", "held: 0 is out of range, 1 to 16777216"),
            ("[10, 100]", "[]", "held: expected a number or more"),
            ("pairs = 100", "pairs = 0", "pairs: 0 is out of range"),
            ("rounds", "turns", "unknown field `turns`"),
        ] {
            let message = hold(&PLAN.replace(from, to)).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
