//! Measurements (times or counts) as rows of figures.

use rayon::prelude::*;
use roundelay_bench::{Counts, InstructionsError, Load, LoadRefused, Subject, Timing, count, time};

use super::arguments::Bench;
use super::measured::{Measured, Row};
use crate::failure::Failure;

/// Minimum number of packets in a round: enough to make the initial order of the free list
/// irrelevant.
const PAIRS: u64 = 1_000_000;

/// Method of measurement.
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

    /// Measures subjects, the generator first, under loads with different memory and all else
    /// equal.
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
    let row = |subject: &Subject, timing: &Timing, generator: &Timing| {
        let [least, median, most] = timing.spread();
        let [_, net, _] = timing.spread_without(generator);
        let figures = vec![("ns", median), ("least ns", least), ("most ns", most)];
        Row {
            subject: subject.name(),
            figures,
            net,
            passed: timing.passed,
            saved: None,
        }
    };
    let measured = |(load, timings): (&Load, Vec<Timing>)| Measured {
        load: load.clone(),
        rows: subjects
            .iter()
            .zip(&timings)
            .map(|(subject, timing)| row(subject, timing, &timings[0]))
            .collect(),
    };
    Ok(loads.iter().zip(timings).map(measured).collect())
}

/// Counts do not depend on the load of the machine: runs in parallel.
fn counts(subjects: &[Subject], loads: &[Load]) -> Result<Vec<Measured>, Failure> {
    let of = |subject: &Subject, load: &Load| count(subject, load).map_err(uncounted);
    let measured = |load: &Load| {
        let counts: Vec<_> = subjects
            .par_iter()
            .map(|subject| of(subject, load))
            .collect::<Result<_, _>>()?;
        let rows = subjects
            .iter()
            .zip(&counts)
            .map(|(subject, own)| row_of_counts(subject, own, &counts[0]))
            .collect();
        Ok(Measured {
            load: load.clone(),
            rows,
        })
    };
    loads.iter().map(measured).collect()
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
    Failure::usage(error)
}

fn uncounted(error: InstructionsError) -> Failure {
    if let InstructionsError::Load(load) = error {
        refused(load)
    } else {
        Failure::run(error)
    }
}
