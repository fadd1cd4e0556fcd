//! Kind `simulate`: one scenario under several disciplines, columns of the paper's table.
//!
//! Rows of each column: of each group of sources `NAME throughput, kbit/s`, `NAME delay, ms` and its `deviation` and `max`, `NAME loss`; over all
//! flows that go on to the end `ranks, kbit/s` (throughputs in rising order, from rank 1), `flows, kbit/s` (by the flow's number), `least`, `most`, and
//! `utilisation` of the busiest core link.

use std::path::Path;

use roundelay_sim::scenario::{Results, Scenario};
use serde::Deserialize;
use toml::{Table, Value};

use super::{Experiment, Failed, Outcome, Row};
use crate::table::set;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Simulate {
    /// Columns: the paper's name, and the discipline that is put into `queues`, or a table of the scenario's keys that differ.
    columns: Table,
    /// Keys of the scenario that take a column's discipline.
    #[serde(default = "core")]
    queues: Vec<String>,
    /// The scenario, as in a file for `roundelay simulate`.
    scenario: Table,
}

fn core() -> Vec<String> {
    vec!["queue.core".to_owned()]
}

impl Simulate {
    fn scenario(&self, column: &str) -> Result<Scenario, Failed> {
        let mut table = self.scenario.clone();
        match self.columns.get(column) {
            Some(discipline @ Value::String(_)) => {
                for path in &self.queues {
                    set(&mut table, path, discipline.clone()).map_err(Failed)?;
                }
            }
            Some(Value::Table(changes)) => {
                for (path, value) in changes {
                    set(&mut table, path, value.clone()).map_err(Failed)?;
                }
            }
            _ => return Err(Failed(format!("columns.{column}: expected a discipline, or a table of keys of the scenario"))),
        }
        let text = toml::to_string(&table).map_err(Failed::from)?;
        Scenario::from_toml(column, &text, Path::new(".")).map_err(Failed::from)
    }
}

impl Experiment for Simulate {
    fn parts(&self) -> Vec<String> {
        self.columns.keys().cloned().collect()
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let results = self.scenario(part)?.run(seed, |_| ()).map_err(Failed::from)?;
        Ok(Outcome { rows: rows(part, &results), trace: Vec::new() })
    }

    fn instead(&mut self, discipline: &str) -> Result<(), Failed> {
        let discipline = Value::String(discipline.to_owned());
        for column in self.columns.iter_mut().map(|(_, column)| column) {
            match column {
                Value::Table(changes) => {
                    let paths: Vec<_> = changes.keys().filter(|path| self.queues.contains(path)).cloned().collect();
                    paths.into_iter().for_each(|path| drop(changes.insert(path, discipline.clone())));
                }
                other => *other = discipline.clone(),
            }
        }
        Ok(())
    }
}

fn rows(run: &str, results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for group in &results.groups {
        let mut tell = |figure: &str, value: Option<f64>, scale: f64| {
            rows.extend(value.map(|value| Row::scalar(run, format!("{} {figure}", group.name), value * scale)));
        };
        tell("throughput, kbit/s", Some(group.throughput), 1e-3);
        tell("delay, ms", group.delay.mean, 1e3);
        tell("delay deviation, ms", group.delay_deviation, 1e3);
        tell("delay max, ms", group.delay.max, 1e3);
        tell("loss", group.loss, 1.0);
        tell("Jain's index", group.jain, 1.0);
    }
    let rates: Vec<_> = results.flows.iter().filter(|flow| flow.open).map(|flow| (flow.number, flow.throughput / 1e3)).collect();
    rows.extend(rates.iter().map(|(number, rate)| Row::point(run, "flows, kbit/s", *number as f64, *rate)));
    let mut ranks: Vec<_> = rates.iter().map(|(_, rate)| *rate).collect();
    ranks.sort_by(f64::total_cmp);
    rows.extend((1_u32..).zip(&ranks).map(|(rank, rate)| Row::point(run, "ranks, kbit/s", rank.into(), *rate)));
    if let (Some(least), Some(most)) = (ranks.first(), ranks.last()) {
        rows.extend([Row::scalar(run, "least, kbit/s", *least), Row::scalar(run, "most, kbit/s", *most)]);
    }
    let core = results.classes.iter().find(|class| class.class == "core");
    rows.extend(core.map(|core| Row::scalar(run, "utilisation", core.busiest)));
    rows
}
