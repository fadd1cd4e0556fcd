//! Kinds of experiments: a file and a line in [`KINDS`](kinds::KINDS) each.
//!
//! The key `kind` in a plan's `[run]` table selects the kind. The other keys are the fields of its
//! struct. An experiment returns [`Row`]s, which are numbers with names, and knows nothing about
//! published numbers or claims.

use roundelay::Purpose;
use roundelay::Seed;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use roundelay_sim::scenario::Scenario;

use crate::locations::Wrong;

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

/// One number that an experiment measured with one seed.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Row {
    /// The column in the paper's table, often a discipline under the paper's name.
    pub run: String,
    /// Name of the figure, with its unit: `f0 delay, ms`.
    pub figure: String,
    /// Position on a curve: a rank, a number of flows. None for a scalar.
    pub x: Option<f64>,
    /// The number.
    pub value: f64,
}

impl Row {
    /// A figure that is one number.
    pub fn scalar(run: &str, figure: impl Into<String>, value: f64) -> Self {
        Self {
            run: run.to_owned(),
            figure: figure.into(),
            x: None,
            value,
        }
    }

    /// A point on a curve.
    pub fn point(run: &str, figure: impl Into<String>, x: f64, value: f64) -> Self {
        Self {
            x: Some(x),
            ..Self::scalar(run, figure, value)
        }
    }
}

/// The seed for an experiment's only queue. The first link of a simulation has the same.
pub(crate) const fn seed_of_queue(seed: u64) -> Seed {
    Seed::new(seed).derive(Purpose::Queue, 0)
}

/// The seed for one of many repetitions within a run.
pub(crate) const fn repetition(seed: u64, number: u64) -> u64 {
    Seed::new(seed).derive(Purpose::Repetition, number).key()[0]
}

/// What a part of an experiment returns for one seed.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Outcome {
    /// Measured numbers.
    pub rows: Vec<Row>,
    /// A counterexample step by step, if one can refute a claim. Each line is an event.
    #[serde(default)]
    pub trace: Vec<String>,
}

/// An experiment described by a plan's `[run]` table.
pub trait Experiment: Send + Sync {
    /// Checks the ranges of numbers and the names of disciplines.
    ///
    /// # Errors
    /// The faulty key and its legal range.
    fn check(&self) -> Result<(), Wrong>;

    /// Names of the parts, often columns. Parts run in parallel and are cached separately.
    fn parts(&self) -> Vec<String>;

    /// Runs a part with a seed. The same part and seed give the same outcome, except for costs.
    ///
    /// # Errors
    /// Why the run failed.
    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed>;

    /// The scenario of a part whose outcome depends only on the simulator and on the plans'
    /// figures.
    fn simulated(&self, _part: &str) -> Option<Scenario> {
        None
    }

    /// The scenario behind a part's outcome, for the version of a record: all that the outcome
    /// depends on in the simulator. Unlike with [`simulated`](Self::simulated), the outcome may
    /// depend on more.
    fn rests_on(&self, part: &str) -> Option<Scenario> {
        self.simulated(part)
    }

    /// All values that a part's outcome depends on beside the seed, as a text that does not depend
    /// on names and the order of keys. Parts with the same text, of any plan, have the same rows
    /// but for the part's name at the beginning of their runs. None if the part depends on its
    /// whole `[run]` table.
    fn inputs(&self, _part: &str) -> Option<String> {
        None
    }

    /// Disciplines, as written in the plan, that the outcome depends on beside those in the
    /// simulator. They belong to the version of a record.
    fn disciplines(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Files that a part's scenario reads.
    fn files(&self, part: &str) -> Vec<PathBuf> {
        self.simulated(part)
            .map(|scenario| scenario.files)
            .unwrap_or_default()
    }

    /// True if one run is as good as many. This is so if nothing is drawn, or if the run is a
    /// search whose extent is stated, because the counterexamples that a search finds are no
    /// estimate.
    fn is_exact(&self) -> bool {
        false
    }

    /// True if nothing else may run at the same time, because the experiment measures time.
    fn runs_alone(&self) -> bool {
        false
    }

    /// Replaces every examined discipline by another one. This plants a fault, which verdicts must
    /// detect.
    ///
    /// # Errors
    /// The experiment has no discipline to replace, or the replacement is invalid.
    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed>;
}

/// Why an experiment failed, in words.
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

/// Checks each number in a list, and that the list is not empty.
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
