//! Measures times or counts, and makes rows of figures from them.

use rayon::prelude::*;
use roundelay_bench::{Counts, InstructionsError, Load, LoadRefused, Subject, count, time};

use super::arguments::Bench;
use super::measured::{Measured, Row};
use crate::failure::Failure;

/// Fewest packets in a round, so that the free list's initial order no longer matters.
const PAIRS: u64 = 1_000_000;

/// The method.
pub(super) enum Measure {
    /// CPU time: at least `pairs` packets in each of `rounds` rounds.
    Time { pairs: u64, rounds: usize },
    /// Instructions and cache misses.
    Instructions,
}

impl Measure {
    pub(super) fn new(arguments: &Bench) -> Self {
        if arguments.instructions {
            return Self::Instructions;
        }
        Self::Time {
            pairs: arguments.pairs.unwrap_or(PAIRS),
            rounds: arguments.rounds.into(),
        }
    }

    /// Measures subjects, the generator first, under loads that differ in memory alone.
    pub(super) fn run(
        &self,
        subjects: &[Subject],
        loads: &[Load],
    ) -> Result<Vec<Measured>, Failure> {
        match *self {
            Self::Instructions => counts(subjects, loads),
            Self::Time { pairs, rounds } => timings(subjects, loads, pairs, rounds),
        }
    }
}

fn timings(
    subjects: &[Subject],
    loads: &[Load],
    pairs: u64,
    rounds: usize,
) -> Result<Vec<Measured>, Failure> {
    let pairs = loads.iter().map(Load::cycle).fold(pairs, u64::max);
    let timings = time(subjects, loads, pairs, rounds).map_err(refused)?;
    let mut all = Vec::new();
    for (load, timings) in loads.iter().zip(timings) {
        let generator = &timings[0];
        let mut rows = Vec::new();
        for (subject, timing) in subjects.iter().zip(&timings) {
            let [least, median, most] = timing.spread();
            let [_, net, _] = timing.spread_of_difference(generator);
            rows.push(Row {
                subject: subject.name(),
                figures: vec![("ns", median), ("least ns", least), ("most ns", most)],
                net,
                passed: timing.passed,
                saved: None,
            });
        }
        all.push(Measured {
            load: load.clone(),
            rows,
        });
    }
    Ok(all)
}

/// Runs in parallel, because counts do not depend on the machine's load.
fn counts(subjects: &[Subject], loads: &[Load]) -> Result<Vec<Measured>, Failure> {
    let mut all = Vec::new();
    for load in loads {
        let counts: Result<Vec<Counts>, InstructionsError> = subjects
            .par_iter()
            .map(|subject| count(subject, load))
            .collect();
        let counts = counts.map_err(uncounted)?;
        let generator = &counts[0];
        let mut rows = Vec::new();
        for (subject, own) in subjects.iter().zip(&counts) {
            rows.push(row_of_counts(subject, own, generator));
        }
        all.push(Measured {
            load: load.clone(),
            rows,
        });
    }
    Ok(all)
}

fn row_of_counts(subject: &Subject, own: &Counts, generator: &Counts) -> Row {
    let &Counts {
        instructions,
        first_level_misses,
        last_level_misses,
        passed,
    } = own;
    let figures = vec![
        ("instructions", instructions),
        ("D1 misses", first_level_misses),
        ("LL misses", last_level_misses),
    ];
    Row {
        subject: subject.name(),
        figures,
        net: instructions - generator.instructions,
        passed,
        saved: None,
    }
}

fn refused(error: LoadRefused) -> Failure {
    Failure::refused(error)
}

fn uncounted(error: InstructionsError) -> Failure {
    if let InstructionsError::Load(load) = error {
        refused(load)
    } else {
        Failure::run(error)
    }
}
