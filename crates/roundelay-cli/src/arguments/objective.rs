//! What the user types after `roundelay objective`.

use std::path::PathBuf;

use clap::Args;
use roundelay_sim::scenario::{DisciplineText, Measure, SlackText};

use super::Runs;

#[derive(Debug, Args)]
#[command(mut_arg("replicas", |replicas| replicas.default_value("5")))]
pub(crate) struct Objective {
    /// The scenario, with a table [objective] unless --objective stands in for it; - reads standard input
    pub(crate) scenario: PathBuf,

    /// What is to be good, whatever the file says: completion (mean flow completion time), completion-by-bytes, tail (99th percentile of delay), fairness,
    /// weighted-fairness (Jain's index)
    #[arg(long, value_name = "MEASURE", value_parser = |text: &str| text.parse::<Measure>())]
    pub(crate) objective: Option<Measure>,

    /// The slack that all sources write for lstf: "size 1s", "remaining 1s", "slack 1s", "fair 10mbit" [default: the file's, else that of the UPS paper]
    #[arg(long, value_name = "RULE", value_parser = |text: &str| text.parse::<SlackText>())]
    pub(crate) slack: Option<SlackText>,

    /// The discipline that lstf is compared with [default: the file's, else sjf, fifo_plus, fq or wf2q_plus, by objective]
    #[arg(long, value_name = "DISCIPLINE", value_parser = |text: &str| text.parse::<DisciplineText>())]
    pub(crate) specialist: Option<DisciplineText>,

    /// A discipline to run as well, as in "srpt"; may be repeated
    #[arg(long, value_name = "DISCIPLINE", value_parser = |text: &str| text.parse::<DisciplineText>())]
    pub(crate) with: Vec<DisciplineText>,

    #[command(flatten)]
    pub(crate) runs: Runs,

    /// Print JSON in place of the table; without costs
    #[arg(long)]
    pub(crate) json: bool,

    /// With --json: measure what a packet costs as well, the one result that differs from run to run
    #[arg(long, requires = "json")]
    pub(crate) cost: bool,

    /// Do not measure what a packet costs on this machine: all other results are the same on every run
    #[arg(long, conflicts_with = "cost")]
    pub(crate) no_cost: bool,

    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

impl Objective {
    /// Whether costs are measured.
    pub(crate) const fn measures_cost(&self) -> bool {
        self.cost || !(self.json || self.no_cost)
    }
}
