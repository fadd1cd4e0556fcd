//! What the user types after `roundelay replay`.

use std::path::PathBuf;

use clap::Args;
use roundelay::Duration;
use roundelay_sim::replay::{Candidate, SlackRule};

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

    /// T: packets that are late by more are counted apart [default: the time of the longest packet on the slowest link]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) threshold: Option<Duration>,

    /// Seed of all that is drawn [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Schedules to record and replay, each with the seed after the one before; figures are then means with 95% confidence intervals
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) replicas: u16,

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

    /// Threads to use [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,
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
