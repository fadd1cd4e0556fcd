//! Command-line arguments of `roundelay sweep`.

use std::path::PathBuf;

use clap::Args;
use roundelay_trace::arguments::{read, whole};

use super::outputs::Sweeping;
use super::precision::Precision;
use super::shard::Shard;
use crate::outputs::Outputs;

#[derive(Debug, Args)]
pub(crate) struct Sweep {
    /// Scenario file, or a sweep file: `scenario = "FILE"` (or a table) with tables [grid], [zip]
    /// and [[points]]; - reads standard input
    pub(crate) file: PathBuf,

    /// Key of the scenario with values, as in queue.core=fq_codel,qfq. A range doubles, as in
    /// source.calls.rate=64kbit..1mbit/2, or has steps, as in topology.delay=10ms..50ms+10ms. All
    /// combinations are run
    #[arg(value_name = "KEY=VALUES")]
    pub(crate) keys: Vec<String>,

    /// Number of runs of each point, with consecutive seeds, the same for all points [default: the
    /// sweep file's, else 1; with --until 5]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = whole(1_u32..=1_000_000))]
    pub(crate) replicas: Option<u32>,

    /// Seed of the first run of each point [default: the sweep file's, else the scenario's]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = whole(0..=u64::MAX))]
    pub(crate) seed: Option<u64>,

    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = whole(1_u16..=1024))]
    pub(crate) threads: Option<u16>,

    /// Do only part I of N of the runs, as in 3/16: for N processes without a coordinator, with one
    /// folder for all or one for each
    #[arg(long, value_name = "I/N", allow_hyphen_values = true, value_parser = read::<Shard>)]
    pub(crate) shard: Option<Shard>,

    /// Print new, changed (with the changes) or cached for each run, and run nothing
    #[arg(long, conflicts_with = "html")]
    pub(crate) why: bool,

    /// Add runs to each point until the 95% confidence interval of --figure is narrow enough:
    /// with ci=2%, half the width is at most 2% of the mean
    #[arg(long, value_name = "ci=PART", requires = "figure", conflicts_with = "shard",
          value_parser = read::<Precision>)]
    pub(crate) until: Option<Precision>,

    /// With --until: maximum number of runs of a point
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1000,
          requires = "until", value_parser = whole(2_u32..=1_000_000))]
    pub(crate) max_replicas: u32,

    /// Print means of this figure with 95% confidence intervals (--html draws them), and how they
    /// differ, seed by seed, from those at the first value of the first key. You name it
    /// SOURCE.FIGURE, as in calls.delay_p99, or FIGURE alone for all sources
    #[arg(long, value_name = "NAME")]
    pub(crate) figure: Option<String>,

    /// Run points of more than 10^10 events too: each run takes minutes or days
    #[arg(long)]
    pub(crate) long: bool,

    /// Stop at the first failed run; without this option, the other runs go on
    #[arg(long)]
    pub(crate) fail_fast: bool,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Sweeping>,

    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
