//! CPU time per packet, in interleaved rounds, so that whatever disturbs the machine hits all
//! subjects alike.

use roundelay_metrics::cpu_seconds;

use crate::load::Load;
use crate::run::prepare;
use crate::subject::{LoadRefused, Passed, Subject};

/// A packet's cost, from generation through enqueue to dequeue.
#[derive(Debug, Clone, Default)]
pub struct Timing {
    /// Nanoseconds of CPU time per sent packet, one value per round.
    pub nanos: Vec<f64>,
    /// Packets offered and sent.
    pub passed: Passed,
}

impl Timing {
    /// The smallest round, the median, the largest.
    pub fn spread(&self) -> [f64; 3] {
        spread(self.nanos.clone())
    }

    /// The smallest, median and largest difference from another subject's rounds. Noise that lasts
    /// a whole round cancels out.
    pub fn spread_of_difference(&self, other: &Self) -> [f64; 3] {
        spread(
            self.nanos
                .iter()
                .zip(&other.nanos)
                .map(|(own, other)| own - other)
                .collect(),
        )
    }

    /// The median of the ratios to another subject's rounds.
    pub fn over(&self, other: &Self) -> f64 {
        spread(
            self.nanos
                .iter()
                .zip(&other.nanos)
                .map(|(own, other)| own / other)
                .collect(),
        )[1]
    }
}

fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [
        values[0],
        values[values.len() / 2],
        values[values.len() - 1],
    ]
}

/// Measures subjects under loads, in `rounds` interleaved rounds of at least `pairs` packets each.
/// Returns the subjects' timings for each load.
///
/// A subject exists only during its round, so only one needs memory at a time, and each round has
/// new addresses.
///
/// # Errors
/// A load does not fit a discipline's ranges, or the machine's memory.
pub fn time(
    subjects: &[Subject],
    loads: &[Load],
    pairs: u64,
    rounds: usize,
) -> Result<Vec<Vec<Timing>>, LoadRefused> {
    let mut timings = vec![vec![Timing::default(); subjects.len()]; loads.len()];
    for _ in 0..rounds.max(1) {
        for (load, timings) in loads.iter().zip(&mut timings) {
            for (subject, timing) in subjects.iter().zip(timings) {
                round(subject, load, pairs, timing)?;
            }
        }
    }
    Ok(timings)
}

fn round(
    subject: &Subject,
    load: &Load,
    pairs: u64,
    timing: &mut Timing,
) -> Result<(), LoadRefused> {
    let mut running = prepare(subject, load)?;
    // Warm-up: tables reach their size, and the free list loses its initial order.
    running.run(pairs / 4 + 1);
    let start = cpu_seconds();
    let passed = running.run(pairs);
    timing
        .nanos
        .push((cpu_seconds() - start) * 1e9 / passed.sent.max(1) as f64);
    timing.passed += passed;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_compared_with_rounds() {
        let [own, other] = [vec![30.0, 10.0, 20.0], vec![25.0, 4.0, 16.0]].map(|nanos| Timing {
            nanos,
            passed: Passed::default(),
        });
        assert_eq!(own.spread(), [10.0, 20.0, 30.0]);
        assert_eq!(own.spread_of_difference(&other), [4.0, 5.0, 6.0]);
        assert_eq!(own.over(&other), 1.25);
    }
}
