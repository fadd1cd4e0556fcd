//! Kind `worst_case`: the largest B-WFI and T-WFI of disciplines over random and constructed loads,
//! over the printed and the proven bounds.
//!
//! Each column has these rows for `random loads` and `constructed loads`:
//! `B-WFI over printed bound`, `B-WFI over proven bound`, and the same for the T-WFI. For the light
//! flow in the constructed load with its largest B-WFI it has `B-WFI, bytes` and `T-WFI, ms`, each
//! measured, printed and proven. The runs `measured`, `printed` and `proven` have the same as
//! curves over the columns from 1, in slots of the light flow, without the term in L that all
//! share. If the printed B-WFI is exceeded, the trace shows this load step by step.

use roundelay::{Guarantees, QueueSpec};
use roundelay_metrics::workload::{Outcome as Measured, Ratios, Workload, adversaries};
use serde::Deserialize;

use super::columns::{self, spec, wrong};
use super::{Experiment, Failed, Outcome, Row, repetition, within};
use crate::locations::Wrong;

mod steps;

/// The fraction of the service by which rounding may move V against a flow: twice the largest
/// weight, 1024, in units of 2^-30.
const ROUNDING: f64 = 1.0 / (1u64 << 19) as f64;
/// The light flow's number in the constructed loads.
const LIGHT: usize = 0;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorstCase {
    /// Random loads: 1 to a million.
    runs: u64,
    /// The paper's name and the discipline, or a table with `discipline` and `bounds_of`, the
    /// discipline whose bounds apply.
    columns: toml::Table,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a discipline, or a table with discipline and bounds_of"
)]
enum Column {
    Own(String),
    Other(Other),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Other {
    discipline: String,
    bounds_of: String,
}

impl WorstCase {
    /// The discipline under test, and the discipline whose bounds apply.
    fn column(&self, name: &str) -> Result<(QueueSpec, QueueSpec), Wrong> {
        let Some(value) = self.columns.get(name).cloned() else {
            return Err(wrong(name, "no such column"));
        };
        let column = value.try_into::<Column>().map_err(|_| {
            wrong(
                name,
                "expected a discipline, or { discipline = .., bounds_of = .. }",
            )
        })?;
        let (serves, promises) = match &column {
            Column::Own(discipline) => (discipline, discipline),
            Column::Other(Other {
                discipline,
                bounds_of,
            }) => (discipline, bounds_of),
        };
        Ok((spec(name, serves)?, spec(name, promises)?))
    }
}

impl Experiment for WorstCase {
    fn parts(&self) -> Vec<String> {
        self.columns.keys().cloned().collect()
    }

    fn check(&self) -> Result<(), Wrong> {
        within("runs", self.runs, 1..=1_000_000)?;
        for column in self.columns.keys() {
            self.column(column)?;
        }
        Ok(())
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let (serves, promises) = self.column(part)?;
        let examined = Examined { serves, promises };
        let loads = (0..self.runs).map(|number| Workload::random(repetition(seed, number)));
        let random = examined.largest(loads)?;
        let constructed = examined.largest(adversaries::all().into_iter().map(|(_, load)| load))?;
        let mut rows = ratio_rows(part, "random loads", random);
        rows.extend(ratio_rows(part, "constructed loads", constructed));
        let mut names = self.columns.keys();
        let index = names.position(|name| name == part);
        let x = index.map_or(0.0, |index| index as f64 + 1.0);
        let (light, trace) = examined.light_flow(part, x)?;
        rows.extend(light);
        Ok(Outcome { rows, trace })
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn disciplines(&self) -> Vec<&str> {
        columns::texts(&self.columns)
    }

    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        let parts = self.parts();
        for part in parts {
            let (_, promises) = self.column(&part)?;
            let bounds_of = promises.discipline.to_string();
            let other = toml::Table::from_iter([
                ("discipline".to_owned(), discipline.into()),
                ("bounds_of".to_owned(), bounds_of.into()),
            ]);
            self.columns.insert(part, other.into());
        }
        Ok(())
    }
}

fn ratio_rows(column: &str, loads: &str, [printed, proven]: [Ratios; 2]) -> Vec<Row> {
    let [printed_b_wfi, proven_b_wfi] =
        [printed, proven].map(|ratios| ratios.b_wfi.max(ratios.b_wfi_by_bit));
    let figures = [
        ("B-WFI over printed bound", printed_b_wfi),
        ("B-WFI over proven bound", proven_b_wfi),
        ("T-WFI over printed bound", printed.t_wfi),
        ("T-WFI over proven bound", proven.t_wfi),
    ];
    figures
        .map(|(figure, value)| Row::scalar(column, format!("{loads}, {figure}"), value))
        .into()
}

/// A discipline under test, and the discipline whose bounds apply.
struct Examined {
    serves: QueueSpec,
    promises: QueueSpec,
}

impl Examined {
    /// The largest ratios over all loads, to the printed and the proven bounds.
    fn largest(&self, loads: impl Iterator<Item = Workload>) -> Result<[Ratios; 2], Failed> {
        let mut largest = [Ratios::default(); 2];
        for load in loads {
            let outcome = load.run(&self.serves.discipline).map_err(Failed::from)?;
            let promised = |flow| self.promises.discipline.guarantees(&load.share(flow));
            let reached = [
                load.ratios_to(&outcome, ROUNDING, |flow| promised(flow).as_printed()),
                load.ratios_to(&outcome, ROUNDING, promised),
            ];
            largest = [largest[0].max(reached[0]), largest[1].max(reached[1])];
        }
        Ok(largest)
    }

    /// The light flow's figures in the constructed load with its largest B-WFI, and the steps up to
    /// the maximum.
    fn light_flow(&self, column: &str, x: f64) -> Result<(Vec<Row>, Vec<String>), Failed> {
        let mut worst: Option<(&str, Workload, Measured)> = None;
        for (name, load) in adversaries::all() {
            let outcome = load.run(&self.serves.discipline).map_err(Failed::from)?;
            let is_worse = match &worst {
                Some((.., known)) => outcome.b_wfi_by_bit[LIGHT] > known.b_wfi_by_bit[LIGHT],
                None => true,
            };
            if is_worse {
                worst = Some((name, load, outcome));
            }
        }
        let Some((name, load, outcome)) = worst else {
            return Ok((Vec::new(), Vec::new()));
        };
        let promised = self.promises.discipline.guarantees(&load.share(LIGHT));
        let indices = Indices::all(&outcome, promised);
        let mut rows = Vec::new();
        for indices in &indices {
            rows.extend(indices.rows(column, x, &load));
        }
        let exceeds = indices[0].bytes > indices[1].bytes;
        let steps = if exceeds {
            self.steps(name, &load, promised)?
        } else {
            Vec::new()
        };
        Ok((rows, steps))
    }

    fn steps(
        &self,
        name: &str,
        load: &Workload,
        promised: Guarantees,
    ) -> Result<Vec<String>, Failed> {
        let (_, events) = load
            .record(&self.serves.discipline, LIGHT)
            .map_err(Failed::from)?;
        let rounding = steps::Rounding::of(self.serves.discipline.name());
        Ok(steps::lines(name, load, LIGHT, promised, rounding, &events))
    }
}

/// The light flow's B-WFI and T-WFI, either measured or as bounds.
struct Indices {
    what: &'static str,
    bytes: f64,
    seconds: f64,
}

impl Indices {
    /// Measured, printed and proven values.
    fn all(outcome: &Measured, promised: Guarantees) -> [Self; 3] {
        let bound = |what, Guarantees { b_wfi, t_wfi, .. }: Guarantees| Self {
            what,
            bytes: b_wfi.map_or(f64::INFINITY, |bound| bound.value as f64),
            seconds: t_wfi.map_or(f64::INFINITY, |bound| bound.value.as_secs_f64()),
        };
        let measured = Self {
            what: "measured",
            bytes: outcome.b_wfi_by_bit[LIGHT],
            seconds: outcome.t_wfi[LIGHT],
        };
        [
            measured,
            bound("printed", promised.as_printed()),
            bound("proven", promised),
        ]
    }

    fn rows(&self, column: &str, x: f64, load: &Workload) -> Vec<Row> {
        let share = load.share(LIGHT);
        let slot = f64::from(adversaries::SLOT);
        let of_link = 2.0 * f64::from(share.link_max_packet_len);
        let phi = f64::from(share.weight) / share.total_weight as f64;
        // Lateness in bytes, at the flow's share.
        let late = self.seconds * share.rate.bits_per_second() as f64 / 8.0 * phi;
        let mut rows = vec![
            Row::scalar(column, format!("B-WFI {}, bytes", self.what), self.bytes),
            Row::scalar(
                column,
                format!("T-WFI {}, ms", self.what),
                self.seconds * 1e3,
            ),
        ];
        rows.push(Row::point(
            self.what,
            "B-WFI, slots",
            x,
            (self.bytes - phi * of_link) / slot,
        ));
        rows.push(Row::point(
            self.what,
            "T-WFI, slots",
            x,
            (late - phi * of_link) / slot,
        ));
        rows.retain(|row| row.value.is_finite());
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "runs = 20\ncolumns = { QFQ = 'qfq', DRR = { discipline = 'drr quantum 65536b', bounds_of = 'qfq' } }";

    fn value(outcome: &Outcome, run: &str, figure: &str) -> f64 {
        outcome
            .rows
            .iter()
            .find(|row| row.run == run && row.figure == figure)
            .unwrap()
            .value
    }

    /// Printed are 3 phi sigma_i + 2 phi L = 6144 + 128 bytes; proven are 2048 more.
    #[test]
    fn qfq_exceeds_what_is_printed_and_keeps_what_is_proven() {
        let experiment: WorstCase = toml::from_str(PLAN).unwrap();
        let qfq = experiment.run("QFQ", 1).unwrap();
        let figure = |figure: &str| value(&qfq, "QFQ", figure);
        assert_eq!(
            [
                figure("B-WFI printed, bytes"),
                figure("B-WFI proven, bytes")
            ],
            [6272.0, 8320.0]
        );
        assert!(
            figure("constructed loads, B-WFI over printed bound") > 1.2
                && figure("constructed loads, B-WFI over proven bound") < 1.0
        );
        assert!(
            figure("random loads, B-WFI over printed bound") < 1.0
                && figure("constructed loads, T-WFI over printed bound") > 1.2
        );
        assert!(
            (value(&qfq, "printed", "B-WFI, slots") - 3.0).abs() < 1e-3
                && value(&qfq, "measured", "B-WFI, slots") > 3.8
        );
        assert!(qfq.trace.len() > 10);
    }

    #[test]
    fn drr_is_held_to_the_bounds_of_another_and_so_is_what_is_planted() {
        let mut experiment: WorstCase = toml::from_str(PLAN).unwrap();
        let drr = experiment.run("DRR", 1).unwrap();
        assert!(value(&drr, "DRR", "constructed loads, B-WFI over proven bound") > 1.0);
        experiment
            .replace_disciplines("drr quantum 65536b")
            .unwrap();
        let planted = experiment.run("QFQ", 1).unwrap();
        assert_eq!(
            value(&planted, "QFQ", "B-WFI measured, bytes"),
            value(&drr, "DRR", "B-WFI measured, bytes")
        );
        assert_eq!(value(&planted, "QFQ", "B-WFI proven, bytes"), 8320.0);
    }

    #[test]
    fn errors_name_the_column() {
        let error = |columns: &str| {
            toml::from_str::<WorstCase>(&format!("runs = 1\ncolumns.a = {columns}"))
                .unwrap()
                .check()
                .unwrap_err()
                .to_string()
        };
        assert!(
            error("'qfk'").starts_with("columns.a: ") && error("3").ends_with("bounds_of = .. }")
        );
    }
}
