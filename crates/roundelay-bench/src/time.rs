//! CPU time per packet, in rounds that take turns so that whatever disturbs the machine disturbs all alike.

use roundelay::ConfigError;
use rustix::time::{ClockId, clock_gettime};

use crate::load::Load;
use crate::run::{Passed, Subject, prepare};

/// What a packet costs, enqueued and dequeued, its generation included.
#[derive(Debug, Clone)]
pub struct Timing {
    /// What was measured, as [`Subject::name`].
    pub subject: String,
    /// Nanoseconds of CPU time a packet sent, one value a round, smallest first.
    pub nanos: Vec<f64>,
    /// What came of the packets.
    pub passed: Passed,
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
    let timing = |subject: &Subject| Timing { subject: subject.name(), nanos: Vec::new(), passed: Passed::default() };
    let mut timings: Vec<_> = subjects.iter().map(timing).collect();
    for _ in 0..rounds.max(1) {
        for (subject, timing) in running.iter_mut().zip(&mut timings) {
            let start = cpu_seconds();
            let passed = subject.run(pairs);
            timing.nanos.push((cpu_seconds() - start) * 1e9 / passed.sent.max(1) as f64);
            timing.passed.offered += passed.offered;
            timing.passed.sent += passed.sent;
        }
    }
    timings.iter_mut().for_each(|timing| timing.nanos.sort_by(f64::total_cmp));
    Ok(timings)
}
