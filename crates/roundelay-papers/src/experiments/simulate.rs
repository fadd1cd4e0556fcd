//! Kind `simulate`: one scenario under several disciplines, the columns of the paper's table.
//!
//! The rows below are those of each column, or of each `COLUMN by SCHEME` if the plan has schemes.
//!
//! With `measures = "transfers"` there are rows for each group of sources. They cover the transfers
//! that count (`[meter] started` and `complete` of the scenario, which needs `transfers = true`):
//!
//! * `NAME completion, s` and `NAME round trip, s` are means, and `.. by bytes, s` are means
//!   weighted by bytes. `NAME transfers` is the number, and `NAME incomplete` the fraction cut off.
//! * Curves: `NAME completion, s by per cent` (of the transfers), `NAME completion, s by size` and
//!   `NAME round trip, s by size` (by the bytes of half a decade), each with `p10` and `p99` after
//!   its name.
//! * For packets: `NAME delay, s`, `NAME delay p99, s`, `NAME delay, s by per cent`, `NAME loss`.
//!
//! With `measures = "rates"`, the rows come from `[meter] rates` of the scenario. They are curves
//! by the end of each interval in ms: `NAME Jain's index` (over the bytes that each flow receives
//! in the interval) and `NAME rate, Mbit/s` (mean over the flows).
//!
//! Otherwise the rows cover flows that are open until the end:
//!
//! * For each group of sources: `NAME throughput, kbit/s`, `NAME delay, ms` and its `deviation` and
//!   `max`, `NAME loss`, `NAME Jain's index`. Groups with several flows also have
//!   `NAME least, kbit/s`, `NAME most, kbit/s` and `NAME flows below a tenth of fair`. Groups with
//!   four flows or more have `NAME slowest quarter, kbit/s` (a mean) and
//!   `NAME fastest quarter less the others, kbit/s` (sums of flows).
//! * For all flows: `flows, kbit/s` (a curve by the flow's number), `ranks, kbit/s` (throughputs in
//!   ascending order, from rank 1), `ranks, fair shares` (the same over the fair share, by the
//!   percent of flows), `least, kbit/s`, `most, kbit/s`, `deviation, kbit/s`, and the numbers of
//!   flows `flows below a tenth of fair`, `flows below half of fair`, `flows above twice fair`. The
//!   fair share is the core link's rate over the number of flows.
//! * `utilisation` of the busiest core link.
//! * If the core hashes flows into queues, `NAME throughput with N queues, kbit/s`: the mean over
//!   the group's flows with N different queues, in runs with such flows.
//! * With `greedy`, `others meeting none of its queues, kbit/s`, `.. some of ..`, `.. all of ..`:
//!   means over the other groups' flows, by how many of their queues the named group also has. With
//!   them comes `flows meeting all of its queues`, the number of these flows.
//! * With `counts`, a number of flows for each.
//! * With `by_round_trip`, `throughput by round trip, kbit/s` (a curve by the propagation delay
//!   there and back, in ms), `round trip exponent` (the slope of the logarithms) and
//!   `round trip correlation` (of the logarithms). `whole round trip exponent` and
//!   `whole round trip correlation` take as round trip the mean delay of the flow's packets, waits
//!   included, and the propagation delay back.

mod figures;
mod rates;
mod transfers;

use roundelay::Seed;
use std::collections::BTreeMap;

use roundelay_sim::scenario::{self, Scenario};
use serde::Deserialize;
use toml::{Table, Value};

use super::changed::{Change, changed, changed_table, changes};
use super::{Experiment, Failed, Outcome};
use crate::locations::Wrong;
use crate::table::canonical;
use figures::{Count, Figures};

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Simulate {
    /// Maps the paper's name of each column to a discipline for the keys in `queues`, or to a table
    /// of changed keys of the scenario.
    columns: Table,
    /// Keys of the scenario that a column's discipline replaces.
    #[serde(default = "core")]
    queues: Vec<String>,
    /// Rows with a number of flows, by name.
    #[serde(default)]
    counts: BTreeMap<String, Count>,
    /// The group for the rows of `others meeting .. of its queues`.
    greedy: Option<String>,
    /// True to write throughput by round-trip time.
    #[serde(default)]
    by_round_trip: bool,
    /// Schemes, for a paper's table with two dimensions. Each column runs under each scheme, as
    /// part `COLUMN by SCHEME`. Schemes are written like columns. A column's key `SCHEME: PATH`
    /// holds for this scheme only and is applied last.
    #[serde(default)]
    schemes: Table,
    /// The measured quantities.
    #[serde(default)]
    measures: Measures,
    /// The scenario, as in a file for `roundelay simulate`.
    scenario: Table,
}

/// The measured quantities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Measures {
    /// Throughputs of flows that are open until the end.
    #[default]
    Flows,
    /// Completion times of flows that end.
    Transfers,
    /// Rates over time.
    Rates,
}

fn core() -> Vec<String> {
    vec!["queue.core".to_owned()]
}

impl Simulate {
    /// A part's scenario. With one seed, all parts meet the same traffic, and their queues draw and
    /// hash with the same seeds.
    fn scenario(&self, part: &str) -> Result<Scenario, Wrong> {
        changed(self.scenario.clone(), part, &self.changes(part)?)
    }

    /// Checks that the scenario measures the required quantities.
    fn measured(&self, measures: &scenario::Measures) -> Result<(), Wrong> {
        let needed = match self.measures {
            Measures::Transfers if !measures.transfers => "meter.transfers = true",
            Measures::Rates if measures.rates.is_none() => "meter.rates, as in \"1ms\"",
            _ => return Ok(()),
        };
        Err(Wrong::new(
            "measures",
            format!("measures: needs scenario.{needed}"),
        ))
    }

    /// A part's changes: first the scheme's, then the column's.
    fn changes(&self, part: &str) -> Result<Vec<Change<'_>>, Wrong> {
        let of = |column: &str| changes(("columns", &self.columns), &self.queues, column);
        let Some((column, scheme)) = self
            .pairs()
            .find(|pair| self.schemes.contains_key(pair.1) && name(*pair) == part)
        else {
            return of(part);
        };
        let mut all = changes(("schemes", &self.schemes), &self.queues, scheme)?;
        for change in of(column)? {
            match change.path.split_once(": ") {
                Some((of, path)) if of == scheme => all.push(Change { path, ..change }),
                Some((of, _)) if self.schemes.contains_key(of) => {}
                _ => all.push(change),
            }
        }
        Ok(all)
    }

    /// All pairs of column and scheme.
    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.columns.keys().flat_map(|column| {
            self.schemes
                .keys()
                .map(move |scheme| (column.as_str(), scheme.as_str()))
        })
    }
}

/// A column's name under a scheme.
fn name((column, scheme): (&str, &str)) -> String {
    format!("{column} by {scheme}")
}

impl Experiment for Simulate {
    fn check(&self) -> Result<(), Wrong> {
        for part in self.parts() {
            self.measured(&self.scenario(&part)?.measures)?;
        }
        Ok(())
    }

    fn parts(&self) -> Vec<String> {
        if self.schemes.is_empty() {
            self.columns.keys().cloned().collect()
        } else {
            self.pairs().map(name).collect()
        }
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let scenario = self.scenario(part)?;
        let results = scenario.run(seed, |_| ()).map_err(Failed::from)?;
        let rows = match self.measures {
            Measures::Flows => Figures {
                run: part,
                counts: &self.counts,
                greedy: self.greedy.as_deref(),
                by_round_trip: self.by_round_trip,
                scenario: &scenario,
                results: &results,
                seed: Seed::new(scenario.hash_seed.unwrap_or(seed)),
            }
            .rows()?,
            Measures::Transfers => transfers::rows(part, &scenario, &results),
            Measures::Rates => rates::rows(part, &results),
        };
        Ok(Outcome {
            rows,
            trace: Vec::new(),
        })
    }

    fn simulated(&self, part: &str) -> Option<Scenario> {
        self.scenario(part).ok()
    }

    fn inputs(&self, part: &str) -> Option<String> {
        let changes = self.changes(part).ok()?;
        let scenario = changed_table(self.scenario.clone(), &changes).ok()?;
        let scenario = canonical(&Value::Table(scenario));
        let Self {
            measures,
            counts,
            greedy,
            by_round_trip,
            ..
        } = self;
        Some(format!(
            "{measures:?} {counts:?} {greedy:?} {by_round_trip} {scenario}"
        ))
    }

    /// Replaces what the plan examines: the columns or, if there are schemes, these and the queues
    /// that a column sets for one of them.
    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        let discipline = Value::String(discipline.to_owned());
        if self.schemes.is_empty() {
            replace_in_entries(&mut self.columns, &self.queues, &discipline);
        } else {
            replace_in_entries(&mut self.schemes, &self.queues, &discipline);
            self.replace_queues_of_schemes(&discipline);
        }
        Ok(())
    }
}

impl Simulate {
    /// Replaces the queues that columns set for a scheme, as "LSTF: queue.core" in the datacenter
    /// of Figure 2.
    fn replace_queues_of_schemes(&mut self, discipline: &Value) {
        for (_, column) in self.columns.iter_mut() {
            let Value::Table(changes) = column else {
                continue;
            };
            replace_queues(changes, discipline, |key| match key.split_once(": ") {
                Some((_scheme, path)) => self.queues.iter().any(|queue| queue == path),
                None => false,
            });
        }
    }
}

/// Replaces the discipline of each column or scheme, or the queues that it sets.
fn replace_in_entries(entries: &mut Table, queues: &[String], discipline: &Value) {
    for (_, entry) in entries.iter_mut() {
        if let Value::Table(changes) = entry {
            replace_queues(changes, discipline, |key| {
                queues.iter().any(|queue| queue == key)
            });
        } else {
            *entry = discipline.clone();
        }
    }
}

/// Sets the keys that name a queue to `discipline`.
fn replace_queues(changes: &mut Table, discipline: &Value, names_a_queue: impl Fn(&str) -> bool) {
    for (key, value) in changes.iter_mut() {
        if names_a_queue(key) {
            *value = discipline.clone();
        }
    }
    // Trees without a queue are an error of the scenario.
    let mut values = changes.iter().filter_map(|(_, value)| value.as_str());
    if !values.any(|text| text.starts_with("tree ")) {
        changes.remove("trees");
    }
}

#[cfg(test)]
mod tests;
