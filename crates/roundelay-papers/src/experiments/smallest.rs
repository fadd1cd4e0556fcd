//! Kind `smallest`: exhaustive searches of small networks for the smallest schedule not replayed by
//! a rule.
//!
//! Rows of each column: `found`, 1 or 0; `packets`, `nodes` and `last exit` of the result; `loads`
//! examined and `loads that fail`, with any number of congestion points;
//! `overdue packets in the model`, when the general model replays the result. The trace has the
//! coverage and the result.

use roundelay_reference::replay::search::{Bounds, Covered, Outcome as Searched, Question, Search};
use roundelay_reference::replay::{Network, Reading, Replayer, Rule, Schedule, priorities};
use serde::Deserialize;

use super::replayable::reading;
use super::{Experiment, Failed, Outcome, Row, columns};
use crate::places::Wrong;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Smallest {
    /// Columns by name.
    columns: toml::Table,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    /// A name in [`Question::ALL`].
    question: String,
    /// Maximum congestion points of a packet.
    congestion_points: usize,
    /// Definition of a congestion point: a name in [`Reading::ALL`].
    counted: String,
    /// True if nodes may idle in the original while packets wait.
    #[serde(default = "yes")]
    idling: bool,
    /// Limits of the search, in order.
    within: Vec<Within>,
}

const fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Within {
    packets: usize,
    nodes: usize,
    exit: u64,
    #[serde(default)]
    delay: u64,
}

impl Smallest {
    fn search(&self, name: &str) -> Result<Search, Failed> {
        let value = self
            .columns
            .get(name)
            .cloned()
            .ok_or_else(|| Failed(format!("columns: no '{name}'")))?;
        let column: Column = value
            .try_into()
            .map_err(|error| Failed(format!("columns.{name}: {error}")))?;
        let names = Question::ALL.map(|(name, _)| name).join("', '");
        let unknown = || {
            Failed(format!(
                "columns.{name}: question = '{}': expected one of '{names}'",
                column.question
            ))
        };
        let bounds = column.within.iter().map(
            |&Within {
                 packets,
                 nodes,
                 exit,
                 delay,
             }| Bounds {
                packets,
                nodes,
                exit,
                delay,
            },
        );
        Ok(Search {
            question: Question::named(&column.question).ok_or_else(unknown)?,
            at_most: column.congestion_points,
            reading: reading(&column.counted)?,
            may_idle: column.idling,
            bounds: bounds.collect(),
        })
    }
}

impl Experiment for Smallest {
    fn check(&self) -> Result<(), Wrong> {
        self.columns.keys().try_for_each(|name| {
            self.search(name)
                .map(drop)
                .map_err(|failed| columns::named(name, failed))
        })
    }

    fn parts(&self) -> Vec<String> {
        self.columns.keys().cloned().collect()
    }

    fn run(&self, part: &str, _seed: u64) -> Result<Outcome, Failed> {
        let search = self.search(part)?;
        let searched = search
            .run()
            .map_err(|error| Failed(format!("columns.{part}: {error}")))?;
        let sum = |what: fn(&Covered) -> u64| searched.covered.iter().map(what).sum::<u64>() as f64;
        let mut rows = vec![
            Row::scalar(part, "found", f64::from(u8::from(searched.found.is_some()))),
            Row::scalar(part, "loads", sum(|covered| covered.loads)),
            Row::scalar(part, "loads that fail", sum(|covered| covered.failing)),
        ];
        if let Some(found) = &searched.found {
            let size = found.size;
            let overdue: usize = found
                .cases
                .iter()
                .map(|(network, original)| overdue(search.question, network, original))
                .sum();
            rows.extend([
                Row::scalar(part, "packets", size.packets as f64),
                Row::scalar(part, "nodes", size.nodes as f64),
                Row::scalar(part, "last exit", size.exit as f64),
                Row::scalar(part, "overdue packets in the model", overdue as f64),
            ]);
        }
        Ok(Outcome {
            rows,
            trace: trace(&search, &searched),
        })
    }

    /// Questions are about rules: replacement is an error.
    fn is_exact(&self) -> bool {
        true
    }

    fn instead(&mut self, discipline: &str) -> Result<(), Failed> {
        Err(Failed(format!(
            "the search is for schedules that a given rule does not replay: {discipline} cannot replace the rule"
        )))
    }
}

/// The rules of the question.
fn rules(question: Question, packets: usize) -> Vec<Rule> {
    match question {
        Question::Lstf | Question::LstfFirstCome | Question::NoScheduler => vec![Rule::Lstf],
        Question::ByExit => vec![Rule::ByExit],
        Question::AnyPriorities => priorities(packets).into_iter().map(Rule::Static).collect(),
    }
}

/// Number of overdue packets with the best of the question's rules.
fn overdue(question: Question, network: &Network, original: &Schedule) -> usize {
    let all = rules(question, network.packets().len()).into_iter();
    all.map(|rule| {
        Replayer::new(network, original, rule)
            .run()
            .overdue(original)
            .len()
    })
    .min()
    .unwrap_or(0)
}

fn trace(search: &Search, searched: &Searched) -> Vec<String> {
    let mut lines = vec![format!(
        "congestion points where {}, at most {} a packet",
        search.reading.name(),
        search.at_most
    )];
    let failing = if search.question == Question::NoScheduler {
        "demand an order"
    } else {
        "fail"
    };
    for sizes in searched
        .covered
        .chunk_by(|one, other| (one.packets, one.nodes) == (other.packets, other.nodes))
    {
        let first = sizes[0];
        let last = sizes[sizes.len() - 1];
        let sum = |what: fn(&Covered) -> u64| sizes.iter().map(what).sum::<u64>();
        let loads = sum(|size| size.loads);
        let fail = sum(|size| size.failing);
        lines.push(format!(
            "{} packets, {} nodes, exits to {}: {loads} loads, of which {fail} {failing}",
            first.packets, first.nodes, last.exit
        ));
    }
    let Some(found) = &searched.found else {
        lines.push("none found".to_owned());
        return lines;
    };
    for (number, (network, original)) in (1..).zip(&found.cases) {
        lines.push(if found.cases.len() > 1 {
            format!("case {number}:")
        } else {
            "found:".to_owned()
        });
        lines.extend(original.lines(network));
        if let [rule] = &rules(search.question, network.packets().len())[..] {
            let replay = Replayer::new(network, original, rule.clone()).run();
            let name = if *rule == Rule::Lstf {
                "LSTF, first come first served among equals"
            } else {
                "o(p)"
            };
            lines.extend(replay.replay_lines(network, original, name));
            lines.extend(points(network, original, &replay));
        }
    }
    lines
}

/// Congestion points under each reading.
fn points(network: &Network, original: &Schedule, replay: &Schedule) -> Vec<String> {
    let line = |(name, reading): (&str, Reading)| {
        let points = reading.points(network, original, replay);
        let each = points
            .iter()
            .zip(network.packets())
            .map(|(points, packet)| format!("{} {points}", packet.name));
        format!(
            "congestion points where {name}: {}",
            each.collect::<Vec<_>>().join(", ")
        )
    };
    Reading::ALL.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "[columns.LSTF]\nquestion = 'lstf'\ncongestion_points = 3\ncounted = 'some packet can wait'\n\
                        within = [{ packets = 2, nodes = 3, exit = 5 }, { packets = 3, nodes = 3, exit = 5 }]\n";

    fn run(text: &str) -> Result<Outcome, Failed> {
        toml::from_str::<Smallest>(text).unwrap().run("LSTF", 1)
    }

    #[test]
    fn what_is_found_fails_in_the_general_model_too() {
        let outcome = run(PLAN).unwrap();
        let value = |figure: &str| {
            outcome
                .rows
                .iter()
                .find(|row| row.figure == figure)
                .unwrap()
                .value
        };
        assert_eq!(
            ["found", "packets", "nodes", "last exit"].map(value),
            [1.0, 3.0, 3.0, 5.0]
        );
        assert!(value("loads") > 5_000.0 && value("overdue packets in the model") > 0.0);
        assert!(
            outcome
                .trace
                .iter()
                .any(|line| line.starts_with("  overdue: ")),
            "{:?}",
            outcome.trace
        );
        let two = run(&PLAN.replace("points = 3", "points = 2")).unwrap();
        assert_eq!(
            (two.rows[0].value, two.trace.last().map(String::as_str)),
            (0.0, Some("none found"))
        );
    }

    #[test]
    fn errors_name_the_column_and_the_range() {
        let error = |from: &str, to: &str| run(&PLAN.replace(from, to)).unwrap_err().0;
        assert!(
            error("'lstf'", "'drr'")
                .starts_with("columns.LSTF: question = 'drr': expected one of 'lstf'")
        );
        assert_eq!(
            error("packets = 2", "packets = 9"),
            "columns.LSTF: packets = 9: legal range 1 to 6"
        );
        assert!(
            error("can wait", "waits")
                .starts_with("counted = 'some packet waits': expected one of")
        );
        assert!(error("exit = 5", "exits = 5").contains("exits"));
    }
}
