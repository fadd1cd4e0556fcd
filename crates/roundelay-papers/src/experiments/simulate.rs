//! Kind `simulate`: one scenario under several disciplines, columns of the paper's table.
//!
//! Rows of each column, or of `COLUMN by SCHEME` where there are schemes.
//!
//! With `measures = "transfers"`, of each group of sources, over transfers that count (`[meter] started` and `complete` of the scenario, which needs
//! `transfers = true`):
//!
//! * `NAME completion, s` and `NAME round trip, s`: means; `.. by bytes, s`: means weighted by bytes; `NAME transfers`, and `NAME incomplete`, the part of
//!   them that was cut off;
//! * curves: `NAME completion, s by per cent` (of the transfers), `NAME completion, s by size` and `NAME round trip, s by size` (by the bytes of half a
//!   decade), each with `p10` and `p99` after its name;
//! * of packets: `NAME delay, s`, `NAME delay p99, s`, `NAME delay, s by per cent`, `NAME loss`.
//!
//! With `measures = "rates"`, from `[meter] rates` of the scenario: curves by the end of each interval in ms, `NAME Jain's index` (of what each flow received in
//! it) and `NAME rate, Mbit/s` (mean over the flows).
//!
//! Otherwise, over flows that go on to the end:
//!
//! * of each group of sources: `NAME throughput, kbit/s`, `NAME delay, ms` and its `deviation` and `max`, `NAME loss`, `NAME Jain's index`; where a group
//!   has several flows also `NAME least, kbit/s`, `NAME most, kbit/s` and `NAME flows below a tenth of fair`;
//! * of all flows: `flows, kbit/s` (a curve by the flow's number), `ranks, kbit/s` (throughputs in rising order, from rank 1), `ranks, fair shares` (the same
//!   over the fair share, by the per cent of flows), `least, kbit/s`, `most, kbit/s`, `deviation, kbit/s`, and the numbers of flows `flows below a tenth
//!   of fair`, `flows below half of fair`, `flows above twice fair`. The fair share is the core link's rate over the number of flows;
//! * `utilisation` of the busiest core link;
//! * where the core hashes flows into queues, `NAME throughput with N queues, kbit/s`: the mean of the group's flows that have so many different
//!   queues, in runs that have such flows;
//! * with `greedy`, `others meeting none of its queues, kbit/s`, `.. some of ..`, `.. all of ..`: means of the other groups' flows by how many of their
//!   queues are queues of the group that this key names; and `flows meeting all of its queues`, their number;
//! * with `counts`, a number of flows for each;
//! * with `by_round_trip`, `throughput by round trip, kbit/s` (a curve by the propagation delay there and back, in ms), `round trip exponent` (the slope
//!   of the logarithms) and `round trip correlation` (of the logarithms).

mod figures;
mod rates;
mod transfers;

use std::collections::BTreeMap;

use roundelay_sim::scenario::{self, Scenario};
use serde::Deserialize;
use toml::{Table, Value};

use super::changed::{Change, changed, changes};
use super::{Experiment, Failed, Outcome};
use crate::places::Wrong;
use figures::Figures;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Simulate {
    /// Columns: the paper's name, and the discipline that is put into `queues`, or a table of the scenario's keys that differ.
    columns: Table,
    /// Keys of the scenario that take a column's discipline.
    #[serde(default = "core")]
    queues: Vec<String>,
    /// Rows that count flows, by their names.
    #[serde(default)]
    counts: BTreeMap<String, Count>,
    /// The group whose queues others meet.
    greedy: Option<String>,
    /// Whether throughput is told by round-trip time.
    #[serde(default)]
    by_round_trip: bool,
    /// Schemes, where the paper's table has two dimensions: each column runs under each scheme, as part `COLUMN by SCHEME`. Written as columns are; a column's
    /// key `SCHEME: PATH` is for that scheme alone and comes last.
    #[serde(default)]
    schemes: Table,
    /// What is told of flows.
    #[serde(default)]
    measures: Measures,
    /// The scenario, as in a file for `roundelay simulate`.
    scenario: Table,
}

/// What is told of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Measures {
    /// Throughputs of flows that go on to the end.
    #[default]
    Flows,
    /// Completion times of flows that end.
    Transfers,
    /// Rates over time.
    Rates,
}

/// Flows of a group, or of all, whose throughput is in a range.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Count {
    /// None: all groups.
    group: Option<String>,
    /// Kbit/s, inclusive.
    #[serde(default)]
    from: f64,
    /// Kbit/s, exclusive; none: no upper end.
    below: Option<f64>,
}

fn core() -> Vec<String> {
    vec!["queue.core".to_owned()]
}

impl Simulate {
    /// The scenario of a part. Its hashes have a key of their own, so that no two parts, seeds or scenarios share their collisions.
    fn scenario(&self, part: &str, hash_seed: u64) -> Result<Scenario, Wrong> {
        let mut table = self.scenario.clone();
        table.insert("hash_seed".to_owned(), Value::Integer(hash_seed as i64));
        changed(table, part, &self.changes(part)?)
    }

    /// Whether the scenario measures what is to be told.
    fn measured(&self, measures: &scenario::Measures) -> Result<(), Wrong> {
        let needed = match self.measures {
            Measures::Transfers if !measures.transfers => "meter.transfers = true",
            Measures::Rates if measures.rates.is_none() => "meter.rates, as in \"1ms\"",
            _ => return Ok(()),
        };
        Err(Wrong::new("measures", format!("measures: needs scenario.{needed}")))
    }

    /// What a part changes: its scheme first, then its column.
    fn changes(&self, part: &str) -> Result<Vec<Change<'_>>, Wrong> {
        let of = |column: &str| changes(("columns", &self.columns), &self.queues, column);
        let Some((column, scheme)) = self.pairs().find(|pair| self.schemes.contains_key(pair.1) && name(*pair) == part) else {
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

    /// Each column with each scheme.
    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.columns.keys().flat_map(|column| self.schemes.keys().map(move |scheme| (column.as_str(), scheme.as_str())))
    }

    /// FNV-1a of all that tells this run from others, in 62 bits.
    fn hash_seed(&self, part: &str, seed: u64) -> Result<u64, Failed> {
        let scenario = toml::to_string(&self.scenario).map_err(Failed::from)?;
        let text = format!("{part}\n{seed}\n{scenario}");
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Ok(hash >> 2)
    }
}

/// What a column under a scheme is called.
fn name((column, scheme): (&str, &str)) -> String {
    format!("{column} by {scheme}")
}

impl Experiment for Simulate {
    fn check(&self) -> Result<(), Wrong> {
        self.parts().iter().try_for_each(|part| self.measured(&self.scenario(part, 1)?.measures))
    }

    fn parts(&self) -> Vec<String> {
        if self.schemes.is_empty() { self.columns.keys().cloned().collect() } else { self.pairs().map(name).collect() }
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let hash_seed = self.hash_seed(part, seed)?;
        let scenario = self.scenario(part, hash_seed)?;
        let results = scenario.run(seed, |_| ()).map_err(Failed::from)?;
        let rows = match self.measures {
            Measures::Flows => Figures { run: part, plan: self, scenario: &scenario, results: &results, hash_seed }.rows()?,
            Measures::Transfers => transfers::rows(part, &scenario, &results),
            Measures::Rates => rates::rows(part, &results),
        };
        Ok(Outcome { rows, trace: Vec::new() })
    }

    fn instead(&mut self, discipline: &str) -> Result<(), Failed> {
        let discipline = Value::String(discipline.to_owned());
        let examined = if self.schemes.is_empty() { &mut self.columns } else { &mut self.schemes };
        for column in examined.iter_mut().map(|(_, column)| column) {
            match column {
                Value::Table(changes) => {
                    let paths: Vec<_> = changes.keys().filter(|path| self.queues.contains(path)).cloned().collect();
                    paths.into_iter().for_each(|path| drop(changes.insert(path, discipline.clone())));
                    // Trees that no queue names any more are an error of the scenario.
                    if !changes.values().any(|value| value.as_str().is_some_and(|text| text.starts_with("tree "))) {
                        changes.remove("trees");
                    }
                }
                other => *other = discipline.clone(),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
