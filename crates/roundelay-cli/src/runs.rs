//! Command-line arguments of repeated runs: seeds, threads, progress.

use std::io::{self, IsTerminal};

use clap::Args;
use roundelay::Duration;
use roundelay_trace::arguments::whole;

use crate::failure::Failure;
use crate::progress::{Gauge, JointProgress};

#[derive(Debug, Args)]
pub(crate) struct Runs {
    /// Seed of all random draws [default: the scenario's]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = whole(0..=u64::MAX))]
    pub(crate) seed: Option<u64>,

    /// Number of runs, with consecutive seeds; figures are then means with 95% confidence intervals
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1,
          value_parser = whole(1_u16..=10_000))]
    pub(crate) replicas: u16,

    /// Run a scenario of more than 10^10 events too: it takes minutes or days
    #[arg(long)]
    pub(crate) long: bool,

    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = whole(1_u16..=1024))]
    pub(crate) threads: Option<u16>,

    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl Runs {
    /// The number of runs. The first has the seed `first_seed`.
    ///
    /// # Errors
    /// The last run's seed would exceed 2^64 - 1.
    pub(crate) fn count(&self, first_seed: u64) -> Result<u64, Failure> {
        self.count_at_least(1, first_seed)
    }

    /// The number of runs, where fewer than `least` would tell nothing.
    ///
    /// # Errors
    /// As [`Runs::count`].
    pub(crate) fn count_at_least(&self, least: u64, first_seed: u64) -> Result<u64, Failure> {
        let runs = u64::from(self.replicas).max(least);
        match first_seed.checked_add(runs - 1) {
            Some(_) => Ok(runs),
            None => Err(Failure::usage(format!(
                "seed {first_seed}: the last replica's must be below 2^64"
            ))),
        }
    }

    /// Shared progress for `runs` runs, each until `end`. No bar with `--quiet` or without a
    /// terminal.
    pub(crate) fn joint_progress(&self, end: Duration, runs: u64, gauge: &Gauge) -> JointProgress {
        JointProgress::new(end, runs, gauge, !self.quiet && io::stderr().is_terminal())
    }
}
