//! Kind `collisions`: how often hashed flows share queues, by closed forms, by enumeration and by
//! the schedulers' own hashes.
//!
//! Flow y meets flow x *completely* if all queues of y are also queues of x, and *partly* if at
//! least one is. With one hash both are the same.
//!
//! Each column has rows that are curves over the number of queues:
//!
//! * `complete, by formula` and `partial, by formula` (Georg, Jechlitschek, Gorinsky, section III),
//!   for one and two hashes,
//! * `.., by enumeration` of all hash values, for small numbers of queues,
//! * `.., drawn` from schedulers with different keys.
//!
//! It also has `complete, order` and `partial, order`, the power of 1/k at which the formula falls
//! at the largest number of queues, and `largest difference, formula to enumeration`. Finally,
//! `largest error, deviations` compares the draws with the formula, in standard deviations for this
//! number of draws.

use roundelay::schedulers::AnyArena;
use roundelay::{Control, FlowId, QueueSpec};
use serde::Deserialize;

use super::columns::Columns;
use super::{Experiment, Failed, Outcome, Row, all_within, repetition, seed_of_queue, within};
use crate::locations::Wrong;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Collisions {
    /// Maps the paper's name of each column to a discipline. The number of queues is appended.
    columns: Columns,
    /// Numbers of queues, ascending, 1 to 65536.
    queues: Vec<u32>,
    /// Schedulers per number of queues, each with another key: 1 to 10000.
    keys: u64,
    /// Pairs of flows per scheduler: 1 to 10000.
    pairs: u32,
}

/// How likely two flows are to meet.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Meeting {
    complete: f64,
    partial: f64,
}

impl Meeting {
    const NEVER: Self = Self {
        complete: 0.0,
        partial: 0.0,
    };

    /// For flows with these queues: 1 or 0 each. A discipline without separate queues counts as one
    /// queue.
    fn of(x: &[usize], y: &[usize]) -> Self {
        let shared = y.iter().filter(|queue| x.contains(queue)).count();
        Self {
            complete: if shared == y.len() { 1.0 } else { 0.0 },
            partial: if shared > 0 || y.is_empty() { 1.0 } else { 0.0 },
        }
    }

    /// Section III: 1/k for one hash, and 4/k^2 - 3/k^3 and 4/k - 6/k^2 + 3/k^3 for two.
    fn by_formula(hashes: usize, queues: u32) -> Option<Self> {
        let k = f64::from(queues);
        match hashes {
            1 => Some(Self {
                complete: 1.0 / k,
                partial: 1.0 / k,
            }),
            2 => Some(Self {
                complete: 4.0 / k.powi(2) - 3.0 / k.powi(3),
                partial: 4.0 / k - 6.0 / k.powi(2) + 3.0 / k.powi(3),
            }),
            _ => None,
        }
    }

    /// Takes the mean over all hash values of both flows. None for more than 2^20 values.
    fn by_enumeration(hashes: usize, queues: u32) -> Option<Self> {
        const MOST: u64 = 1 << 20;
        let queues = u64::from(queues);
        let values = queues.checked_pow(2 * hashes as u32)?;
        if values > MOST {
            return None;
        }
        let mut sum = Self::NEVER;
        for value in 0..values {
            // Written in base `queues`, the value has one digit for each hash of each flow: the
            // queue.
            let mut digits = Vec::new();
            let mut rest = value;
            for _ in 0..2 * hashes {
                digits.push((rest % queues) as usize);
                rest /= queues;
            }
            sum = sum.and(Self::of(&digits[..hashes], &digits[hashes..]));
        }
        Some(sum.over(values as f64))
    }

    fn over(self, count: f64) -> Self {
        Self {
            complete: self.complete / count,
            partial: self.partial / count,
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            complete: self.complete + other.complete,
            partial: self.partial + other.partial,
        }
    }

    fn both(self) -> [(&'static str, f64); 2] {
        [("complete", self.complete), ("partial", self.partial)]
    }
}

impl Collisions {
    fn scheduler(&self, column: &str, queues: u32, seed: u64) -> Result<AnyArena<()>, Failed> {
        let discipline = self.columns.text(column)?;
        let spec = match format!("{discipline} queues {queues}").parse::<QueueSpec>() {
            Ok(spec) => spec,
            Err(_) => discipline.parse().map_err(Failed::from)?,
        };
        let seed = seed_of_queue(seed);
        spec.discipline.build_arena(seed).map_err(Failed::from)
    }

    fn draws(&self) -> f64 {
        self.keys as f64 * f64::from(self.pairs)
    }

    /// Takes the mean over the hashes of schedulers with keys from this seed.
    fn drawn(&self, column: &str, queues: u32, seed: u64) -> Result<Meeting, Failed> {
        let mut sum = Meeting::NEVER;
        for key in 0..self.keys {
            let scheduler = self.scheduler(column, queues, repetition(seed, key))?;
            for pair in 0..self.pairs {
                let x = scheduler.queues_of(FlowId(2 * pair));
                let y = scheduler.queues_of(FlowId(2 * pair + 1));
                sum = sum.and(Meeting::of(&x, &y));
            }
        }
        Ok(sum.over(self.draws()))
    }
}

impl Experiment for Collisions {
    fn parts(&self) -> Vec<String> {
        self.columns.names()
    }

    fn check(&self) -> Result<(), Wrong> {
        self.columns.check()?;
        all_within("queues", &self.queues, 1..=65_536)?;
        within("keys", self.keys, 1..=10_000)?;
        within("pairs", self.pairs, 1..=10_000)
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let hashes = self.scheduler(part, 1, seed)?.queues_of(FlowId(0)).len();
        let mut rows = Vec::new();
        let mut largest_error = 0.0_f64;
        let mut largest_difference = 0.0_f64;
        for queues in &self.queues {
            let drawn = self.drawn(part, *queues, seed)?;
            let point = Point::new(hashes, *queues, drawn);
            rows.extend(point.rows(part));
            largest_error = largest_error.max(point.error(self.draws()));
            largest_difference = largest_difference.max(point.difference());
        }
        rows.push(Row::scalar(
            part,
            "largest error, deviations",
            largest_error,
        ));
        rows.push(Row::scalar(
            part,
            "largest difference, formula to enumeration",
            largest_difference,
        ));
        rows.extend(orders(part, hashes, *self.queues.last().unwrap_or(&1)));
        Ok(Outcome {
            rows,
            trace: Vec::new(),
        })
    }

    fn disciplines(&self) -> Vec<&str> {
        self.columns.texts()
    }

    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        self.columns.replace_disciplines(discipline);
        Ok(())
    }
}

/// All results for one number of queues.
#[derive(Debug)]
struct Point {
    queues: u32,
    formula: Option<Meeting>,
    enumeration: Option<Meeting>,
    drawn: Meeting,
}

impl Point {
    fn new(hashes: usize, queues: u32, drawn: Meeting) -> Self {
        Self {
            queues,
            formula: Meeting::by_formula(hashes, queues),
            enumeration: Meeting::by_enumeration(hashes, queues),
            drawn,
        }
    }

    fn rows(&self, run: &str) -> Vec<Row> {
        let ways = [
            ("by formula", self.formula),
            ("by enumeration", self.enumeration),
            ("drawn", Some(self.drawn)),
        ];
        let mut rows = Vec::new();
        for (how, meeting) in ways {
            let Some(meeting) = meeting else {
                continue;
            };
            for (name, chance) in meeting.both() {
                let figure = format!("{name}, {how}");
                rows.push(Row::point(run, figure, self.queues.into(), chance));
            }
        }
        rows
    }

    /// The larger error among the drawn values, in standard deviations for `draws` draws.
    fn error(&self, draws: f64) -> f64 {
        let Some(formula) = self.formula else {
            return 0.0;
        };
        let mut largest = 0.0_f64;
        for ((_, expected), (_, drawn)) in formula.both().iter().zip(self.drawn.both()) {
            let deviation = (expected * (1.0 - expected) / draws).sqrt();
            let difference = (drawn - expected).abs();
            largest = largest.max(if deviation == 0.0 {
                difference * draws
            } else {
                difference / deviation
            });
        }
        largest
    }

    fn difference(&self) -> f64 {
        let (Some(formula), Some(enumeration)) = (self.formula, self.enumeration) else {
            return 0.0;
        };
        let complete = (formula.complete - enumeration.complete).abs();
        let partial = (formula.partial - enumeration.partial).abs();
        complete.max(partial)
    }
}

/// The power of 1/k at which probabilities fall when k doubles.
fn orders(run: &str, hashes: usize, queues: u32) -> Vec<Row> {
    let (Some(once), Some(twice)) = (
        Meeting::by_formula(hashes, queues),
        Meeting::by_formula(hashes, 2 * queues),
    ) else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for ((name, once), (_, twice)) in once.both().iter().zip(twice.both()) {
        let figure = format!("{name}, order");
        rows.push(Row::scalar(run, figure, (once / twice).log2()));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(columns: &str) -> Collisions {
        let table: toml::Table =
            format!("queues = [2, 3, 16]\nkeys = 20\npairs = 500\ncolumns = {columns}")
                .parse()
                .unwrap();
        table.try_into().unwrap()
    }

    fn value(outcome: &Outcome, figure: &str, x: Option<f64>) -> f64 {
        outcome
            .rows
            .iter()
            .find(|row| row.figure == figure && row.x == x)
            .unwrap_or_else(|| panic!("{figure}: {:?}", outcome.rows))
            .value
    }

    #[test]
    fn formulas_are_what_enumeration_counts() {
        for hashes in 1..=2 {
            for queues in [1, 2, 3, 5, 16, 32] {
                let [formula, counted] = [Meeting::by_formula, Meeting::by_enumeration]
                    .map(|by| by(hashes, queues).unwrap().both());
                assert!(
                    formula
                        .iter()
                        .zip(counted)
                        .all(|(one, other)| (one.1 - other.1).abs() < 1e-12),
                    "{formula:?}, {counted:?}"
                );
            }
        }
        assert_eq!(
            Meeting::by_formula(2, 16).map(|meeting| (meeting.complete * 1e6).round()),
            Some(14_893.0)
        );
    }

    #[test]
    fn keyed_hashes_meet_as_often_as_the_formulas_say_and_one_queue_for_all_does_not() {
        let mut plan = plan("{ SFQ = \"mqfq hashes 1\", MQFQ = \"mqfq\" }");
        for column in plan.parts() {
            let outcome = plan.run(&column, 1).unwrap();
            assert!(
                value(&outcome, "largest error, deviations", None) < 4.0,
                "{outcome:?}"
            );
            assert!(value(&outcome, "largest difference, formula to enumeration", None) < 1e-12);
        }
        let outcome = plan.run("MQFQ", 1).unwrap();
        assert_eq!(value(&outcome, "complete, by formula", Some(2.0)), 0.625);
        assert!((value(&outcome, "complete, order", None) - 2.0).abs() < 0.05);
        plan.replace_disciplines("fifo").unwrap();
        let outcome = plan.run("MQFQ", 1).unwrap();
        assert_eq!(value(&outcome, "complete, drawn", Some(16.0)), 1.0);
    }

    #[test]
    fn what_cannot_be_run_is_told() {
        assert!(
            plan("{ A = 1 }")
                .check()
                .unwrap_err()
                .to_string()
                .starts_with("columns.A: expected a discipline")
        );
        assert!(plan("{ A = \"nothing\" }").check().is_err());
        let wrong = Collisions {
            keys: 1_000_000_000_000,
            ..plan("{ A = \"mqfq\" }")
        }
        .check()
        .unwrap_err();
        assert_eq!(
            (wrong.path.as_str(), wrong.fault.message()),
            ("keys", "keys: 1000000000000 is out of range, 1 to 10000")
        );
        assert!(
            Collisions {
                queues: vec![2, 0],
                ..plan("{ A = \"mqfq\" }")
            }
            .check()
            .is_err()
        );
    }
}
