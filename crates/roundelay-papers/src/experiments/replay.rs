//! Kind `replay`: records and replays schedules of a scenario, as `roundelay replay` does.
//!
//! Each column, or each `COLUMN by CANDIDATE` if there are several candidates, has these rows:
//!
//! * `overdue`, `overdue > T`, `worst, us`, `not longer` (the fraction that queues no longer than
//!   in the original) and `shorter` (the fraction that queues less), over all packets sent within
//!   the window.
//! * `overdue, cut`, `overdue > T, cut` and `missing, cut`: the same over packets that left the
//!   network within the window, because the authors count so.
//! * `overdue by congestion points` (a curve by the number of routers at which packets waited) and
//!   `packets by congestion points`, as a fraction of all.
//! * `delay ratio` (a curve by percent of the packets): queueing delay in the replay over the
//!   recorded delay, Figure 1 of the UPS paper.
//! * `packets`, and `T, us`.

use std::path::PathBuf;
use std::sync::Arc;

use roundelay::{Duration, Fault};
use roundelay_sim::replay::{Candidate, Count, Counting, Schedule};
use roundelay_sim::scenario::Scenario;
use serde::Deserialize;
use toml::{Table, Value};

use super::changed::{Change, changed, changed_table, changes};
use super::{Experiment, Failed, Outcome, Row, columns};
use crate::locations::Wrong;
use crate::table::canonical;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replay {
    /// Columns: changed keys of the scenario, or a discipline for the keys in `queues`. A column's
    /// `threshold` is its T.
    columns: Table,
    /// Keys of the scenario that a column's discipline replaces.
    #[serde(default = "routers")]
    queues: Vec<String>,
    /// Candidates: names with disciplines as for `--with` of `roundelay replay`, or with tables of
    /// `discipline`, `slack` and `resolution`.
    with: Table,
    /// T. By default, the longest time that a link on the packet's path takes to transmit it.
    threshold: Option<String>,
    /// The scenario, as in a file for `roundelay simulate`.
    scenario: Table,
}

fn routers() -> Vec<String> {
    vec!["queue.core".to_owned(), "queue.edge".to_owned()]
}

impl Replay {
    /// A column's changes of the scenario, and its own T if given.
    fn changes(&self, column: &str) -> Result<(Vec<Change<'_>>, Option<&str>), Wrong> {
        let mut changes = changes(("columns", &self.columns), &self.queues, column)?;
        let mut own = None;
        for change in changes.extract_if(.., |change| change.path == "threshold") {
            own = own.or(change.value.as_str());
        }
        Ok((changes, own))
    }

    /// A column's scenario, and its T if given.
    fn scenario(&self, column: &str) -> Result<(Scenario, Option<Duration>), Wrong> {
        let (changes, own) = self.changes(column)?;
        let threshold = match (own, &self.threshold) {
            (Some(text), _) => Some(time(&format!("columns.{column}.threshold"), text)?),
            (None, Some(text)) => Some(time("threshold", text)?),
            (None, None) => None,
        };
        Ok((changed(self.scenario.clone(), column, &changes)?, threshold))
    }

    /// The candidates with their names.
    fn candidates(&self) -> Result<Vec<(&str, Candidate)>, Wrong> {
        let mut candidates = Vec::new();
        for (name, value) in &self.with {
            candidates.push((name.as_str(), candidate(name, value.clone())?));
        }
        Ok(candidates)
    }
}

fn candidate(name: &str, value: Value) -> Result<Candidate, Wrong> {
    let key = format!("with.{name}");
    let wrong = |fault: Fault| Wrong::new(&key, fault.behind(format_args!("{key}: ")));
    let with: With = value
        .try_into()
        .map_err(|error: toml::de::Error| wrong(error.message().into()))?;
    let table = match with {
        With::Table(table) => table,
        With::Discipline(discipline) => CandidateTable {
            discipline,
            slack: None,
            resolution: None,
        },
    };
    let mut candidate: Candidate = table.discipline.parse().map_err(wrong)?;
    if let Some(slack) = table.slack {
        candidate.slack = slack.parse().map_err(wrong)?;
    }
    candidate.resolution = match table.resolution {
        Some(text) => time(&key, &text)?,
        None => Duration::ZERO,
    };
    Ok(candidate)
}

/// A candidate as written.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a discipline, or a table with discipline"
)]
enum With {
    Discipline(String),
    Table(CandidateTable),
}

/// A candidate with the slack in its headers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CandidateTable {
    discipline: String,
    slack: Option<String>,
    resolution: Option<String>,
}

fn time(key: &str, text: &str) -> Result<Duration, Wrong> {
    text.parse().map_err(|error| {
        let fault: Fault = Fault::from(error);
        Wrong::new(key, fault.behind(format_args!("{key}: ")))
    })
}

impl Experiment for Replay {
    fn check(&self) -> Result<(), Wrong> {
        self.candidates()?;
        for column in self.columns.keys() {
            self.scenario(column)?;
        }
        Ok(())
    }

    fn parts(&self) -> Vec<String> {
        self.columns.keys().cloned().collect()
    }

    fn rests_on(&self, part: &str) -> Option<Scenario> {
        let (original, _) = self.scenario(part).ok()?;
        Some(original)
    }

    fn inputs(&self, part: &str) -> Option<String> {
        let (changes, own) = self.changes(part).ok()?;
        let scenario = changed_table(self.scenario.clone(), &changes).ok()?;
        let scenario = canonical(&Value::Table(scenario));
        let with = canonical(&Value::Table(self.with.clone()));
        let threshold = own.or(self.threshold.as_deref());
        Some(format!("{with} {threshold:?} {scenario}"))
    }

    fn files(&self, part: &str) -> Vec<PathBuf> {
        match self.scenario(part) {
            Ok((scenario, _)) => scenario.files,
            Err(_) => Vec::new(),
        }
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let (scenario, threshold) = self.scenario(part)?;
        let candidates = self.candidates()?;
        let keeps_starts = candidates
            .iter()
            .any(|(_, candidate)| candidate.needs_starts());
        let schedule = Schedule::record(&scenario, seed, keeps_starts, |_| {});
        let schedule = Arc::new(schedule.map_err(Failed::from)?);
        let threshold = match threshold {
            Some(threshold) => threshold,
            None => schedule.bottleneck_time(),
        };
        let mut rows = Vec::new();
        for (name, candidate) in &candidates {
            let run = if candidates.len() == 1 {
                part.to_owned()
            } else {
                format!("{part} by {name}")
            };
            let replay = schedule.replay(candidate, |_| {}).map_err(Failed::from)?;
            let drained = replay.count(&schedule, Counting::Drained, threshold);
            let cut = replay.count(&schedule, Counting::Cut, threshold);
            rows.extend(figures(&run, &drained, &cut));
            rows.push(Row::scalar(&run, "packets", schedule.packets.len() as f64));
            rows.push(Row::scalar(&run, "T, us", threshold.as_secs_f64() * 1e6));
        }
        Ok(Outcome {
            rows,
            trace: Vec::new(),
        })
    }

    fn disciplines(&self) -> Vec<&str> {
        columns::texts(&self.with)
    }

    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        for (_, candidate) in self.with.iter_mut() {
            match candidate {
                Value::Table(table) => {
                    table.insert("discipline".to_owned(), discipline.into());
                }
                other => *other = discipline.into(),
            }
        }
        Ok(())
    }
}

fn figures(run: &str, drained: &Count, cut: &Count) -> Vec<Row> {
    let figures = [
        ("overdue", drained.all.part(drained.all.overdue)),
        (
            "overdue > T",
            drained.all.part(drained.all.overdue_by_threshold),
        ),
        ("worst, us", drained.all.worst_ps as f64 / 1e6),
        ("not longer", drained.ratios.not_longer),
        ("shorter", drained.ratios.shorter),
        ("overdue, cut", cut.all.part(cut.all.overdue)),
        (
            "overdue > T, cut",
            cut.all.part(cut.all.overdue_by_threshold),
        ),
        ("missing, cut", cut.all.part(cut.all.missing)),
    ];
    let mut rows = Vec::from(figures.map(|(figure, value)| Row::scalar(run, figure, value)));
    for (points, counted) in drained.by_congestion_points.iter().enumerate() {
        if counted.packets == 0 {
            continue;
        }
        let points = points as f64;
        let overdue = counted.part(counted.overdue);
        let packets = counted.packets as f64 / drained.all.packets as f64;
        rows.push(Row::point(
            run,
            "overdue by congestion points",
            points,
            overdue,
        ));
        rows.push(Row::point(
            run,
            "packets by congestion points",
            points,
            packets,
        ));
    }
    for [part, ratio] in &drained.ratios.quantiles {
        rows.push(Row::point(run, "delay ratio", part * 100.0, *ratio));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(with: &str) -> Replay {
        let text = format!(
            "columns = {{ random = \"random limit 100000\", sjf = {{ \"queue.core\" = \"sjf limit 100000\", threshold = \"1ns\" }} }}\nwith = {{ {with} }}\n\
             [scenario]\nduration = \"1s\"\ntopology = {{ template = \"dumbbell\", pairs = 3, rate = \"5mbit\" }}\n\
             source = [{{ kind = \"poisson\", from = \"s*\", to = \"r*\", rate = \"1400kbit\", packet_len = 500 }}]"
        );
        text.parse::<Table>().unwrap().try_into().unwrap()
    }

    fn value(outcome: &Outcome, run: &str, figure: &str) -> f64 {
        outcome
            .rows
            .iter()
            .find(|row| row.run == run && row.figure == figure)
            .unwrap_or_else(|| panic!("{run}: {figure}"))
            .value
    }

    #[test]
    fn one_congestion_point_is_replayed_and_fifo_is_not() {
        let plan = plan("LSTF = \"lstf preempt\", FIFO = \"fifo\"");
        assert_eq!(plan.parts(), ["random", "sjf"]);
        let outcome = plan.run("random", 1).unwrap();
        assert_eq!(value(&outcome, "random by LSTF", "overdue"), 0.0);
        assert!(value(&outcome, "random by FIFO", "overdue > T") > 0.1);
        assert_eq!(value(&outcome, "random by LSTF", "T, us"), 800.0);
        assert_eq!(
            value(&plan.run("sjf", 1).unwrap(), "sjf by LSTF", "T, us"),
            0.001
        );
    }

    #[test]
    fn coarse_slack_replays_worse() {
        let plan =
            plan("exact = \"lstf\", coarse = { discipline = \"lstf\", resolution = \"1s\" }");
        let outcome = plan.run("random", 1).unwrap();
        assert!(
            value(&outcome, "random by exact", "overdue > T") + 0.1
                < value(&outcome, "random by coarse", "overdue > T")
        );
    }

    #[test]
    fn a_planted_fault_shows() {
        let mut plan = plan("LSTF = \"lstf\"");
        let before = value(&plan.run("random", 1).unwrap(), "random", "overdue > T");
        plan.replace_disciplines("fifo").unwrap();
        assert!(value(&plan.run("random", 1).unwrap(), "random", "overdue > T") > before + 0.1);
    }

    #[test]
    fn errors_name_the_key() {
        let wrong = |plan: Replay| plan.run("random", 1).unwrap_err().0;
        assert!(wrong(plan("LSTF = \"lsft\"")).contains("with.LSTF"));
        assert!(
            wrong(plan("LSTF = { discipline = \"lstf\", slack = \"much\" }"))
                .contains("with.LSTF: 'much' is no slack")
        );
        assert!(wrong(plan("LSTF = 3")).contains("with.LSTF"));
        assert!(
            wrong(Replay {
                threshold: Some("much".to_owned()),
                ..plan("LSTF = \"lstf\"")
            })
            .contains("threshold: ")
        );
    }
}
