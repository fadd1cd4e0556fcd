//! Kind `smallest`: searches small networks exhaustively for the smallest schedule that a rule does
//! not replay.
//!
//! Each column has the rows `found`, 1 or 0, and `packets`, `nodes` and `last exit` of the result.
//! `loads` is how many loads the search examined, and `loads that fail` how many of these fail,
//! both with any number of congestion points. `overdue packets in the model` is what the general
//! model finds when it replays the result. The trace shows the coverage and the result.

use roundelay_reference::replay::search::{Bounds, Covered, Outcome as Searched, Question, Search};
use roundelay_reference::replay::{Network, Reading, Replayer, Rule, Schedule, priorities};
use serde::Deserialize;

use super::replayable::reading;
use super::{Experiment, Failed, Outcome, Row, columns};
use crate::locations::Wrong;

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
    /// The most congestion points that a packet may have.
    congestion_points: usize,
    /// What counts as a congestion point: a name in [`Reading::ALL`].
    counted: String,
    /// True if nodes may idle in the original while packets wait.
    #[serde(default = "yes")]
    idling: bool,
    /// How far each search goes, in order.
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
        let Some(value) = self.columns.get(name).cloned() else {
            return Err(Failed(format!("columns: no '{name}'")));
        };
        let column: Column = value
            .try_into()
            .map_err(|error| Failed(format!("columns.{name}: {error}")))?;
        let Some(question) = Question::named(&column.question) else {
            let names = Question::ALL.map(|(name, _)| name).join("', '");
            return Err(Failed(format!(
                "columns.{name}: question = '{}': expected one of '{names}'",
                column.question
            )));
        };
        let mut bounds = Vec::new();
        for within in &column.within {
            bounds.push(Bounds {
                packets: within.packets,
                nodes: within.nodes,
                exit: within.exit,
                delay: within.delay,
            });
        }
        Ok(Search {
            question,
            at_most: column.congestion_points,
            reading: reading(&column.counted)?,
            may_idle: column.idling,
            bounds,
        })
    }
}

impl Experiment for Smallest {
    fn check(&self) -> Result<(), Wrong> {
        for name in self.columns.keys() {
            self.search(name)
                .map_err(|failed| columns::named(name, failed))?;
        }
        Ok(())
    }

    fn parts(&self) -> Vec<String> {
        self.columns.keys().cloned().collect()
    }

    fn run(&self, part: &str, _seed: u64) -> Result<Outcome, Failed> {
        let search = self.search(part)?;
        let searched = search
            .run()
            .map_err(|error| Failed(format!("columns.{part}: {error}")))?;
        let [loads, failing] = loads_and_failing(&searched.covered);
        let mut rows = vec![
            Row::scalar(part, "found", f64::from(u8::from(searched.found.is_some()))),
            Row::scalar(part, "loads", loads as f64),
            Row::scalar(part, "loads that fail", failing as f64),
        ];
        if let Some(found) = &searched.found {
            let size = found.size;
            let mut late = 0;
            for (network, original) in &found.cases {
                late += overdue(search.question, network, original);
            }
            rows.extend([
                Row::scalar(part, "packets", size.packets as f64),
                Row::scalar(part, "nodes", size.nodes as f64),
                Row::scalar(part, "last exit", size.exit as f64),
                Row::scalar(part, "overdue packets in the model", late as f64),
            ]);
        }
        Ok(Outcome {
            rows,
            trace: trace(&search, &searched),
        })
    }

    fn is_exact(&self) -> bool {
        true
    }

    /// Questions are about rules, so no discipline can stand in their place.
    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        Err(Failed(format!(
            "the search is for schedules that a given rule does not replay: {discipline} cannot \
             replace the rule"
        )))
    }
}

fn loads_and_failing(covered: &[Covered]) -> [u64; 2] {
    let mut sums = [0, 0];
    for size in covered {
        sums[0] += size.loads;
        sums[1] += size.failing;
    }
    sums
}

/// The rules that a replay may follow: one, or each order by priority that the packets can have.
fn rules(question: Question, packets: usize) -> Vec<Rule> {
    match question {
        Question::Lstf | Question::LstfFirstCome | Question::NoScheduler => vec![Rule::Lstf],
        Question::ByExit => vec![Rule::ByExit],
        Question::AnyPriorities => priorities(packets).into_iter().map(Rule::Static).collect(),
    }
}

/// How many packets are overdue with the best of the question's rules.
fn overdue(question: Question, network: &Network, original: &Schedule) -> usize {
    let mut fewest = None;
    for rule in rules(question, network.packets().len()) {
        let replay = Replayer::new(network, original, rule).run();
        let late = replay.overdue(original).len();
        fewest = Some(fewest.map_or(late, |fewest: usize| fewest.min(late)));
    }
    fewest.unwrap_or(0)
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
        let [loads, fail] = loads_and_failing(sizes);
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
    let mut lines = Vec::new();
    for (name, reading) in Reading::ALL {
        let mut each = Vec::new();
        let points = reading.points(network, original, replay);
        for (points, packet) in points.iter().zip(network.packets()) {
            each.push(format!("{} {points}", packet.name));
        }
        let each = each.join(", ");
        lines.push(format!("congestion points where {name}: {each}"));
    }
    lines
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
