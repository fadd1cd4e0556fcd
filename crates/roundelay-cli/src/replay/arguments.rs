//! Command-line arguments of `roundelay replay`.

use std::path::PathBuf;

use clap::Args;
use roundelay::Duration;
use roundelay_sim::replay::{Candidate, SlackRule};
use roundelay_sim::scenario::parse_time;
use roundelay_trace::arguments::read;

use super::outputs::Replaying;
use crate::outputs::Outputs;
use crate::runs::Runs;

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Scenario file to record; with --on: a schedule in Parquet, as written by --parquet
    pub(crate) scenario: PathBuf,

    /// Discipline for the replay: lstf, "lstf preempt", edf, priority, fifo and others, or
    /// omniscient (headers with the recorded departure time at every router); repeat to compare
    /// several [default: lstf]
    #[arg(long, value_name = "DISCIPLINE", value_parser = read::<Candidate>)]
    pub(crate) with: Vec<Candidate>,

    /// Network for a schedule in Parquet: a scenario file; its sources do not send
    #[cfg_attr(not(feature = "parquet"), arg(hide = true))]
    #[arg(long, value_name = "NETWORK")]
    pub(crate) on: Option<PathBuf>,

    /// Initial slack of a packet: wait (its time in queues in the recorded run), path-end (its time
    /// in the network in the recorded run), or none
    #[arg(long, value_name = "RULE", default_value = "wait", value_parser = read::<SlackRule>)]
    pub(crate) slack: SlackRule,

    /// Round slack down to multiples of this time, as in 1us [default: no rounding]
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", value_parser = parse_time)]
    pub(crate) resolution: Option<Duration>,

    /// T: packets overdue by more than T are counted separately [default: the longest transmission
    /// time of a packet on a link of its path]
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", value_parser = parse_time)]
    pub(crate) threshold: Option<Duration>,

    #[command(flatten)]
    pub(crate) runs: Runs,

    /// Also run the scenario as `roundelay simulate` does, and print on standard error the extra
    /// time of recording, replaying and comparing
    #[arg(long)]
    pub(crate) plain: bool,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Replaying>,
}
