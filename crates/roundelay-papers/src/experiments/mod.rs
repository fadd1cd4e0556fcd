//! Kinds of experiments: a file and a line in [`KINDS`] each.
//!
//! A plan's `[run]` table says by `kind` which one it is; its other keys are the fields of that kind's struct. An experiment gives [`Row`]s,
//! numbers with names, and knows nothing of what was published or claimed.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use toml::Table;

use crate::places::{self, Wrong};

mod changed;
mod collisions;
mod columns;
mod cost;
mod deadlines;
mod decisions;
mod footprint;
mod hierarchy;
mod hold;
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
    /// What was measured: a column of the paper's table, often a discipline under the paper's name for it.
    pub run: String,
    /// Which figure, with its unit where it has one: `f0 delay, ms`.
    pub figure: String,
    /// Where on a curve, for figures that are curves: a rank, a number of flows.
    pub x: Option<f64>,
    /// The number.
    pub value: f64,
}

impl Row {
    /// A figure that is one number.
    pub fn scalar(run: &str, figure: impl Into<String>, value: f64) -> Self {
        Self { run: run.to_owned(), figure: figure.into(), x: None, value }
    }

    /// A point of a curve.
    pub fn point(run: &str, figure: impl Into<String>, x: f64, value: f64) -> Self {
        Self { x: Some(x), ..Self::scalar(run, figure, value) }
    }
}

/// What one part of an experiment gave with one seed.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Outcome {
    /// What was measured.
    pub rows: Vec<Row>,
    /// A counterexample, step by step, where a claim can fail for one: what happens, a line each.
    #[serde(default)]
    pub trace: Vec<String>,
}

/// An experiment that a plan's `[run]` table describes.
pub trait Experiment: Send + Sync {
    /// Whether it can be run: each number is in its range, each discipline is known.
    ///
    /// # Errors
    /// The key that is wrong, and its legal range.
    fn check(&self) -> Result<(), Wrong>;

    /// Its parts, which run side by side and are cached each by itself: columns, often.
    fn parts(&self) -> Vec<String>;

    /// Runs a part with a seed. Same part, same seed: same outcome, costs aside.
    ///
    /// # Errors
    /// What failed.
    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed>;

    /// Whether nothing else may run meanwhile, as where time is measured.
    fn runs_alone(&self) -> bool {
        false
    }

    /// The same with another discipline in the place of every one that is examined: a planted fault, which verdicts must notice. None where
    /// there is no discipline.
    fn instead(&mut self, discipline: &str) -> Result<(), Failed>;
}

/// Why an experiment could not be run, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub String);

impl Failed {
    /// From an error that says it.
    pub fn from(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl From<Wrong> for Failed {
    fn from(wrong: Wrong) -> Self {
        Self(wrong.message)
    }
}

/// # Errors
/// A number outside its legal range.
fn within<N: PartialOrd + Display>(path: &str, number: N, legal: RangeInclusive<N>) -> Result<(), Wrong> {
    if legal.contains(&number) {
        return Ok(());
    }
    Err(Wrong::new(path, format!("{path}: {number} is out of range, {} to {}", legal.start(), legal.end())))
}

/// The same for each number of a list, which may not be empty.
fn all_within<N: PartialOrd + Display + Copy>(path: &str, numbers: &[N], legal: RangeInclusive<N>) -> Result<(), Wrong> {
    if numbers.is_empty() {
        return Err(Wrong::new(path, format!("{path}: expected a number or more, each {} to {}", legal.start(), legal.end())));
    }
    numbers.iter().try_for_each(|number| within(path, *number, legal.clone()))
}

type Read = fn(&Table) -> Result<Box<dyn Experiment>, Wrong>;

fn read<E: Experiment + DeserializeOwned + 'static>(table: &Table) -> Result<Box<dyn Experiment>, Wrong> {
    Ok(Box::new(places::read::<E>(table)?))
}

/// All kinds, by their names in plans.
pub const KINDS: &[(&str, Read)] = &[
    ("collisions", read::<collisions::Collisions>),
    ("cost", cost::read),
    ("deadlines", read::<deadlines::Deadlines>),
    ("footprint", read::<footprint::Memory>),
    ("hierarchy", read::<hierarchy::Hierarchy>),
    ("hold", hold::read),
    ("leftover", read::<leftover::Leftover>),
    ("listings", read::<listings::Listings>),
    ("promise", read::<promise::Promise>),
    ("reordering", read::<reordering::Reordering>),
    ("replay", read::<replay::Replay>),
    ("replayable", read::<replayable::Replayable>),
    ("simulate", read::<simulate::Simulate>),
    ("smallest", read::<smallest::Smallest>),
    ("turns", read::<turns::Turns>),
    ("worked_schedule", read::<worked_schedule::WorkedSchedule>),
    ("worst_case", read::<worst_case::WorstCase>),
];
