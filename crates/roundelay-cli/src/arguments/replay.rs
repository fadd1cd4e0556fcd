//! What the user types after `roundelay replay`.

use std::path::PathBuf;

use clap::Args;
use roundelay::Duration;
use roundelay_sim::replay::{Candidate, SlackRule};

use super::Runs;

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The scenario, whose run is recorded; or with --on a schedule in Parquet, as --parquet writes it
    pub(crate) scenario: PathBuf,

    /// A discipline to replay with: lstf, "lstf preempt", edf, priority, fifo and others, or omniscient, for headers that tell when each router sent each packet;
    /// give it several times to compare several [default: lstf]
    #[arg(long, value_name = "DISCIPLINE", value_parser = parse_candidate)]
    pub(crate) with: Vec<Candidate>,

    /// The network for a schedule in Parquet: a scenario, whose sources do not send
    #[arg(long, value_name = "NETWORK")]
    pub(crate) on: Option<PathBuf>,

    /// The slack that packets start with: wait, the time that each waited in the recorded run; path-end, the time until it got out; or none
    #[arg(long, value_name = "RULE", default_value = "wait", value_parser = parse_slack)]
    pub(crate) slack: SlackRule,

    /// Round slack down to multiples of this, as in 1us [default: not at all]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) resolution: Option<Duration>,

    /// T: packets that are late by more are counted apart [default: the longest time that a packet takes on a link of its path]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) threshold: Option<Duration>,

    #[command(flatten)]
    pub(crate) runs: Runs,

    /// Also run the scenario as `roundelay simulate` does, and say on standard error what recording, replaying and comparing took beside that
    #[arg(long)]
    pub(crate) plain: bool,

    /// Print JSON in place of the tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write Parquet files into this folder: schedule.parquet, a row a packet, and replays.parquet, a row a packet and discipline; one schedule only
    #[arg(long, value_name = "DIR")]
    pub(crate) parquet: Option<PathBuf>,
}

fn parse_candidate(text: &str) -> Result<Candidate, String> {
    text.parse()
}

fn parse_slack(text: &str) -> Result<SlackRule, String> {
    text.parse()
}

fn parse_time(text: &str) -> Result<Duration, String> {
    text.parse().map_err(|error: roundelay::UnitError| error.to_string())
}
