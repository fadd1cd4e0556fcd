//! Kind `simulate`: one scenario under several disciplines, columns of the paper's table.
//!
//! Rows of each column, over flows that go on to the end:
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

use std::collections::BTreeMap;

use roundelay_sim::scenario::Scenario;
use serde::Deserialize;
use toml::{Table, Value};

use super::changed::{changed, changes};
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
    /// The scenario, as in a file for `roundelay simulate`.
    scenario: Table,
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
    /// The scenario of a column. Its hashes have a key of their own, so that no two columns, seeds or scenarios share their collisions.
    fn scenario(&self, column: &str, hash_seed: u64) -> Result<Scenario, Wrong> {
        let mut table = self.scenario.clone();
        table.insert("hash_seed".to_owned(), Value::Integer(hash_seed as i64));
        changed(table, column, &changes(&self.columns, &self.queues, column)?)
    }

    /// FNV-1a of all that tells this run from others, in 62 bits.
    fn hash_seed(&self, column: &str, seed: u64) -> Result<u64, Failed> {
        let scenario = toml::to_string(&self.scenario).map_err(Failed::from)?;
        let text = format!("{column}\n{seed}\n{scenario}");
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Ok(hash >> 2)
    }
}

impl Experiment for Simulate {
    fn check(&self) -> Result<(), Wrong> {
        self.columns.keys().try_for_each(|column| self.scenario(column, 1).map(drop))
    }

    fn parts(&self) -> Vec<String> {
        self.columns.keys().cloned().collect()
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let hash_seed = self.hash_seed(part, seed)?;
        let scenario = self.scenario(part, hash_seed)?;
        let results = scenario.run(seed, |_| ()).map_err(Failed::from)?;
        let figures = Figures { run: part, plan: self, scenario: &scenario, results: &results, hash_seed };
        Ok(Outcome { rows: figures.rows()?, trace: Vec::new() })
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

#[cfg(test)]
mod tests;
