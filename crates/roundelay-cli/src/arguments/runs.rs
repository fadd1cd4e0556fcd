//! What the user types about runs of a scenario: seeds, threads, progress.

use std::io::{self, IsTerminal};

use clap::Args;
use rayon::{ThreadPool, ThreadPoolBuilder};
use roundelay::Duration;

use crate::failure::Failure;
use crate::progress::Meeting;

#[derive(Debug, Args)]
pub(crate) struct Runs {
    /// Seed of all that is drawn [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Runs, each with the seed after the one before; figures are then means with 95% confidence intervals
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) replicas: u16,

    /// Threads to use [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl Runs {
    /// How many runs there are, the first with this seed.
    ///
    /// # Errors
    /// The last one's seed is none.
    pub(crate) fn count(&self, first_seed: u64) -> Result<u64, Failure> {
        let runs = u64::from(self.replicas);
        match first_seed.checked_add(runs - 1) {
            Some(_) => Ok(runs),
            None => Err(Failure::usage(format!("seed {first_seed}: the last replica's must be below 2^64"))),
        }
    }

    /// The threads.
    ///
    /// # Errors
    /// The operating system has none.
    pub(crate) fn pool(&self) -> Result<ThreadPool, Failure> {
        ThreadPoolBuilder::new().num_threads(self.threads.unwrap_or(0).into()).build().map_err(Failure::run)
    }

    /// The progress of so many runs, each until `end`, if anybody sees it.
    pub(crate) fn meeting(&self, end: Duration, runs: u64) -> Option<Meeting> {
        (!self.quiet && io::stderr().is_terminal()).then(|| Meeting::new(end, runs))
    }
}
