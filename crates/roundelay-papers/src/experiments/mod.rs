//! Kinds of experiments: a file and a line in [`KINDS`](kinds::KINDS) each.
//!
//! The key `kind` in a plan's `[run]` table selects the kind; the other keys are the fields of its
//! struct. An experiment returns [`Row`]s, numbers with names, without any knowledge of published
//! numbers or claims.

use roundelay::Purpose;
use roundelay::Seed;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use roundelay_sim::scenario::Scenario;

use crate::places::Wrong;

mod changed;
mod collisions;
mod columns;
mod cost;
mod deadlines;
mod decisions;
mod footprint;
mod hierarchy;
mod hold;
pub mod kinds;
mod leftover;
mod listings;
mod promise;
mod reordering;
mod replay;
mod replayable;
mod simulate;
mod smallest;
mod turns;
mod worked_schedule;
mod worst_case;
mod written;

/// One measured number of an experiment with one seed.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Row {
    /// The column of the paper's table, often a discipline under the paper's name.
    pub run: String,
    /// Name of the figure, with its unit: `f0 delay, ms`.
    pub figure: String,
    /// Position on a curve: a rank, a number of flows. None for a scalar.
    pub x: Option<f64>,
    /// The number.
    pub value: f64,
}

impl Row {
    /// A figure of one number.
    pub fn scalar(run: &str, figure: impl Into<String>, value: f64) -> Self {
        Self {
            run: run.to_owned(),
            figure: figure.into(),
            x: None,
            value,
        }
    }

    /// A point of a curve.
    pub fn point(run: &str, figure: impl Into<String>, x: f64, value: f64) -> Self {
        Self {
            x: Some(x),
            ..Self::scalar(run, figure, value)
        }
    }
}

/// The seed of an experiment's only queue, as of the first link of a simulation.
pub(crate) const fn seed_of_queue(seed: u64) -> Seed {
    Seed::new(seed).derive(Purpose::Queue, 0)
}

/// The seed of one of many repetitions within a run.
pub(crate) const fn repetition(seed: u64, number: u64) -> u64 {
    Seed::new(seed).derive(Purpose::Repetition, number).key()[0]
}

/// Result of a part of an experiment with one seed.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Outcome {
    /// Measured numbers.
    pub rows: Vec<Row>,
    /// A counterexample step by step, if a claim can fail by one: a line per event.
    #[serde(default)]
    pub trace: Vec<String>,
}

/// An experiment described by a plan's `[run]` table.
pub trait Experiment: Send + Sync {
    /// Checks ranges of numbers and names of disciplines.
    ///
    /// # Errors
    /// The faulty key and its legal range.
    fn check(&self) -> Result<(), Wrong>;

    /// Names of the parts, often columns; parts run in parallel and are cached separately.
    fn parts(&self) -> Vec<String>;

    /// Runs a part with a seed. The same part and seed give the same outcome, except for costs.
    ///
    /// # Errors
    /// The reason of the failure.
    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed>;

    /// The scenario of a part whose outcome depends on the simulator and on the figures of plans
    /// alone.
    fn simulated(&self, _part: &str) -> Option<Scenario> {
        None
    }

    /// A scenario with all that the outcome of a part depends on in the simulator, for the version
    /// of a record. Unlike [`simulated`](Self::simulated), the outcome may depend on more.
    fn rests_on(&self, part: &str) -> Option<Scenario> {
        self.simulated(part)
    }

    /// Disciplines that the outcome depends on beside those of the simulator, as written in the plan,
    /// for the version of a record.
    fn disciplines(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Files that the scenario of a part reads.
    fn files(&self, part: &str) -> Vec<PathBuf> {
        self.simulated(part)
            .map(|scenario| scenario.files)
            .unwrap_or_default()
    }

    /// True if one run is as good as many, because nothing is drawn, or because the run is a search
    /// of stated extent: how many counterexamples it finds is no estimate.
    fn is_exact(&self) -> bool {
        false
    }

    /// True if nothing else may run at the same time, as for measurements of time.
    fn runs_alone(&self) -> bool {
        false
    }

    /// Replaces every examined discipline by another one: a deliberate fault, which verdicts must
    /// detect.
    ///
    /// # Errors
    /// The experiment has no discipline to replace, or the replacement is invalid.
    fn instead(&mut self, discipline: &str) -> Result<(), Failed>;
}

/// Reason of a failed experiment, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub String);

impl Failed {
    /// Converts any error to its text.
    pub fn from(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl From<Wrong> for Failed {
    fn from(wrong: Wrong) -> Self {
        Self(wrong.to_string())
    }
}

/// # Errors
/// The number is outside its legal range.
fn within<N: PartialOrd + Display>(
    path: &str,
    number: N,
    legal: RangeInclusive<N>,
) -> Result<(), Wrong> {
    if legal.contains(&number) {
        return Ok(());
    }
    Err(Wrong::new(
        path,
        format!(
            "{path}: {number} is out of range, {} to {}",
            legal.start(),
            legal.end()
        ),
    ))
}

/// Checks each number of a list, and that the list is not empty.
fn all_within<N: PartialOrd + Display + Copy>(
    path: &str,
    numbers: &[N],
    legal: RangeInclusive<N>,
) -> Result<(), Wrong> {
    if numbers.is_empty() {
        return Err(Wrong::new(
            path,
            format!(
                "{path}: expected a number or more, each {} to {}",
                legal.start(),
                legal.end()
            ),
        ));
    }
    numbers
        .iter()
        .try_for_each(|number| within(path, *number, legal.clone()))
}
