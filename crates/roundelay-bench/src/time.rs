//! CPU time per packet, in rounds that take turns so that whatever disturbs the machine disturbs all alike.

use roundelay::ConfigError;
use rustix::time::{ClockId, clock_gettime};

use crate::load::Load;
use crate::run::{Subject, prepare};

/// What a packet costs, enqueued and dequeued, its generation included.
#[derive(Debug, Clone)]
pub struct Timing {
    /// What was measured, as [`Subject::name`].
    pub subject: String,
    /// Nanoseconds of CPU time a packet, one value a round, smallest first.
    pub nanos: Vec<f64>,
}

impl Timing {
    /// The middle round.
    pub fn median(&self) -> f64 {
        self.nanos[self.nanos.len() / 2]
    }

    /// Smallest and largest round.
    pub fn spread(&self) -> (f64, f64) {
        (self.nanos[0], self.nanos[self.nanos.len() - 1])
    }
}

/// CPU seconds of this thread.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Measures subjects under one load in `rounds` interleaved rounds of at least `pairs` packets each.
///
/// # Errors
/// The load does not fit a discipline's ranges.
pub fn time(subjects: &[Subject], load: &Load, pairs: u64, rounds: usize) -> Result<Vec<Timing>, ConfigError> {
    let mut running: Vec<_> = subjects.iter().map(|subject| prepare(subject, load)).collect::<Result<_, _>>()?;
    // What grows has grown and the list of free packets has lost its order.
    for subject in &mut running {
        subject.run(pairs / 4 + 1);
    }
    let mut nanos = vec![Vec::with_capacity(rounds.max(1)); subjects.len()];
    for _ in 0..rounds.max(1) {
        for (subject, nanos) in running.iter_mut().zip(&mut nanos) {
            let start = cpu_seconds();
            let done = subject.run(pairs);
            nanos.push((cpu_seconds() - start) * 1e9 / done as f64);
        }
    }
    let timing = |(subject, mut nanos): (&Subject, Vec<f64>)| {
        nanos.sort_by(f64::total_cmp);
        Timing { subject: subject.name(), nanos }
    };
    Ok(subjects.iter().zip(nanos).map(timing).collect())
}
