//! Kind `replay`: records and replays schedules of a scenario, as `roundelay replay` does.
//!
//! Rows of each column, or of `COLUMN by CANDIDATE` for several candidates:
//!
//! * `overdue`, `overdue > T`, `worst, us`, `not longer` (the part with no increase in queueing
//!   delay) and `shorter` (the part with a decrease), over all packets sent within the window;
//! * `overdue, cut`, `overdue > T, cut` and `missing, cut`: the same over packets that left the
//!   network within the window, the authors' method of counting;
//! * `overdue by congestion points` (a curve by the number of routers at which packets waited) and
//!   `packets by congestion points`, a part of all;
//! * `delay ratio` (a curve by percent of the packets): queueing delay in the replay over the
//!   recorded delay, Figure 1 of the UPS paper;
//! * `packets`, and `T, us`.

use std::path::PathBuf;
use std::sync::Arc;

use roundelay::Duration;
use roundelay_sim::replay::{Candidate, Count, Counting, Schedule};
use roundelay_sim::scenario::Scenario;
use serde::Deserialize;
use toml::{Table, Value};

use super::changed::{changed, changes};
use super::{Experiment, Failed, Outcome, Row, columns};
use crate::places::Wrong;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replay {
    /// Columns: changed keys of the scenario, or a discipline for the keys in `queues`; `threshold`
    /// of a column is its T.
    columns: Table,
    /// Keys of the scenario to set to a column's discipline.
    #[serde(default = "routers")]
    queues: Vec<String>,
    /// Candidates: names, and disciplines as for `--with` of `roundelay replay`; or tables with
    /// `discipline`, `slack` and `resolution`.
    with: Table,
    /// T; default: the longest transmission time of a packet on a link of its path.
    threshold: Option<String>,
    /// The scenario, as in a file for `roundelay simulate`.
    scenario: Table,
}

fn routers() -> Vec<String> {
    vec!["queue.core".to_owned(), "queue.edge".to_owned()]
}

impl Replay {
    /// The scenario of a column, and its T if given.
    fn scenario(&self, column: &str) -> Result<(Scenario, Option<Duration>), Wrong> {
        let (own, changes): (Vec<_>, Vec<_>) =
            changes(("columns", &self.columns), &self.queues, column)?
                .into_iter()
                .partition(|change| change.path == "threshold");
        let own = own
            .first()
            .and_then(|change| change.value.as_str())
            .map(|text| (format!("columns.{column}.threshold"), text));
        let threshold = own.or_else(|| {
            self.threshold
                .as_deref()
                .map(|text| ("threshold".to_owned(), text))
        });
        let threshold = threshold.map(|(key, text)| time(&key, text)).transpose()?;
        Ok((changed(self.scenario.clone(), column, &changes)?, threshold))
    }

    /// The candidates with their names.
    fn candidates(&self) -> Result<Vec<(&str, Candidate)>, Wrong> {
        let candidate = |(name, value): (&String, &Value)| -> Result<Candidate, Wrong> {
            let wrong = |message: String| {
                Wrong::new(format!("with.{name}"), format!("with.{name}: {message}"))
            };
            let with: With = value
                .clone()
                .try_into()
                .map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?;
            let (discipline, slack, resolution) = match with {
                With::Discipline(discipline) => (discipline, None, None),
                With::Table(Told {
                    discipline,
                    slack,
                    resolution,
                }) => (discipline, slack, resolution),
            };
            let candidate: Candidate = discipline.parse().map_err(wrong)?;
            let slack = slack.map_or(Ok(candidate.slack), |slack| slack.parse().map_err(wrong))?;
            let resolution = resolution.map_or(Ok(Duration::ZERO), |text| {
                time(&format!("with.{name}"), &text)
            })?;
            Ok(Candidate {
                slack,
                resolution,
                ..candidate
            })
        };
        self.with
            .iter()
            .map(|entry| Ok((entry.0.as_str(), candidate(entry)?)))
            .collect()
    }
}

/// A candidate as written.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum With {
    Discipline(String),
    Table(Told),
}

/// A candidate with the slack in its headers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    discipline: String,
    slack: Option<String>,
    resolution: Option<String>,
}

fn time(key: &str, text: &str) -> Result<Duration, Wrong> {
    text.parse()
        .map_err(|error| Wrong::new(key, format!("{key}: {error}")))
}

impl Experiment for Replay {
    fn check(&self) -> Result<(), Wrong> {
        self.candidates()?;
        self.columns
            .keys()
            .try_for_each(|column| self.scenario(column).map(drop))
    }

    fn parts(&self) -> Vec<String> {
        self.columns.keys().cloned().collect()
    }

    fn rests_on(&self, part: &str) -> Option<Scenario> {
        self.scenario(part).ok().map(|(original, _)| original)
    }

    fn files(&self, part: &str) -> Vec<PathBuf> {
        self.scenario(part)
            .map(|(scenario, _)| scenario.files)
            .unwrap_or_default()
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let (scenario, threshold) = self.scenario(part)?;
        let candidates = self.candidates()?;
        let keeps_starts = candidates
            .iter()
            .any(|(_, candidate)| candidate.needs_starts());
        let schedule = Arc::new(
            Schedule::record(&scenario, seed, keeps_starts, |_| {}).map_err(Failed::from)?,
        );
        let threshold = threshold.unwrap_or_else(|| schedule.bottleneck_time());
        let mut rows = Vec::new();
        for (name, candidate) in &candidates {
            let run = if candidates.len() == 1 {
                part.to_owned()
            } else {
                format!("{part} by {name}")
            };
            let replay = schedule.replay(candidate, |_| {}).map_err(Failed::from)?;
            let [drained, cut] = [Counting::Drained, Counting::Cut]
                .map(|counting| replay.count(&schedule, counting, threshold));
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

    fn instead(&mut self, discipline: &str) -> Result<(), Failed> {
        for (_, candidate) in self.with.iter_mut() {
            match candidate {
                Value::Table(table) => drop(table.insert(
                    "discipline".to_owned(),
                    Value::String(discipline.to_owned()),
                )),
                other => *other = Value::String(discipline.to_owned()),
            }
        }
        Ok(())
    }
}

fn figures(run: &str, drained: &Count, cut: &Count) -> Vec<Row> {
    let part = |count: &Count, of: fn(&Count) -> u64| count.all.part(of(count));
    let scalar = |figure: &str, value| Row::scalar(run, figure, value);
    let mut rows = vec![
        scalar("overdue", part(drained, |count| count.all.overdue)),
        scalar(
            "overdue > T",
            part(drained, |count| count.all.overdue_by_threshold),
        ),
        scalar("worst, us", drained.all.worst_ps as f64 / 1e6),
        scalar("not longer", drained.ratios.not_longer),
        scalar("shorter", drained.ratios.shorter),
        scalar("overdue, cut", part(cut, |count| count.all.overdue)),
        scalar(
            "overdue > T, cut",
            part(cut, |count| count.all.overdue_by_threshold),
        ),
        scalar("missing, cut", part(cut, |count| count.all.missing)),
    ];
    for (points, counted) in drained
        .by_congestion_points
        .iter()
        .enumerate()
        .filter(|(_, counted)| counted.packets > 0)
    {
        let point = |figure: &str, value| Row::point(run, figure, points as f64, value);
        rows.push(point(
            "overdue by congestion points",
            counted.part(counted.overdue),
        ));
        rows.push(point(
            "packets by congestion points",
            counted.packets as f64 / drained.all.packets as f64,
        ));
    }
    rows.extend(
        drained
            .ratios
            .quantiles
            .iter()
            .map(|[part, ratio]| Row::point(run, "delay ratio", part * 100.0, *ratio)),
    );
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
        plan.instead("fifo").unwrap();
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
