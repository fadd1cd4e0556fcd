//! Does the pending runs of a sweep on the threads of one process.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::session::{Job, Session};
use crate::failure::Failure;
use crate::threads::in_pool;

/// Runs everything that is pending.
///
/// # Errors
/// The dataset cannot be written, or a stop was requested.
pub(super) fn run(session: &mut Session) -> Result<(), Failure> {
    let jobs = session.pending()?;
    run_jobs(session, &jobs)
}

/// Runs announced jobs in parallel.
pub(super) fn run_jobs(session: &Session, jobs: &[Job]) -> Result<(), Failure> {
    let bar = bar(session, jobs.len())?;
    session.gauge.start(jobs.len() as u64);
    let one = |job: &Job| {
        session.run(*job)?;
        session.gauge.add(1);
        bar.inc(1);
        Ok(())
    };
    let outcome: Result<(), String> = in_pool(session.arguments.threads, || {
        jobs.par_iter().map(one).collect()
    })?;
    bar.finish_and_clear();
    if session.stop.is_requested() {
        Err(Failure::stopped())
    } else {
        outcome.map_err(Failure::run)
    }
}

/// Shows on a terminal how far the runs have come.
fn bar(session: &Session, runs: usize) -> Result<ProgressBar, Failure> {
    if session.arguments.quiet || runs == 0 || !std::io::stderr().is_terminal() {
        return Ok(ProgressBar::hidden());
    }
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} runs, {eta} left")
        .map_err(Failure::run)?;
    Ok(ProgressBar::new(runs as u64).with_style(style))
}
