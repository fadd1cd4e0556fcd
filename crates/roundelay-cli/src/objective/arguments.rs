//! Command-line arguments of `roundelay objective`.

use roundelay_trace::arguments::read;
use std::path::PathBuf;

use clap::Args;
use roundelay_sim::scenario::{DisciplineText, Measure, SlackText};

use super::outputs::Judging;
use crate::outputs::Outputs;
use crate::runs::Runs;

#[derive(Debug, Args)]
#[command(mut_arg("replicas", |replicas| replicas.default_value("5")))]
pub(crate) struct Objective {
    /// Scenario file with a table [objective], or without one if --objective is given; - reads
    /// standard input
    pub(crate) scenario: PathBuf,

    /// Objective, instead of the one in the file: completion (mean flow completion time),
    /// completion-by-bytes, tail (99th percentile of delay), fairness, weighted-fairness (Jain's
    /// index), deadline (part of the packets in time)
    #[arg(long, value_name = "MEASURE", value_parser = read::<Measure>)]
    pub(crate) objective: Option<Measure>,

    /// Measure only packets and flows of the source with this name [default: the file's, else all
    /// sources]
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,

    /// Slack that sources write into headers for lstf: "size 1s", "remaining 1s", "slack 1s", "fair
    /// 10mbit", "deadline 10ms", or "own" for each source's own urgency [default: the file's, else
    /// that of the UPS paper]
    #[arg(long, value_name = "RULE", value_parser = read::<SlackText>)]
    pub(crate) slack: Option<SlackText>,

    /// Discipline made for the objective, compared with lstf [default: the file's, else by
    /// objective sjf, fifo_plus, packet_fq, wf2q_plus or edf]
    #[arg(long, value_name = "DISCIPLINE", value_parser = read::<DisciplineText>)]
    pub(crate) specialist: Option<DisciplineText>,

    /// Another discipline to run, as in "srpt". You can repeat it
    #[arg(long, value_name = "DISCIPLINE", value_parser = read::<DisciplineText>)]
    pub(crate) with: Vec<DisciplineText>,

    #[command(flatten)]
    pub(crate) runs: Runs,

    /// With --json: also measure the cost of a packet, the only result that differs from run to run
    #[arg(long, requires = "json")]
    pub(crate) cost: bool,

    /// Skip the cost measurement, the only result that differs from run to run
    #[arg(long, conflicts_with = "cost")]
    pub(crate) no_cost: bool,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Judging>,
}

impl Objective {
    /// Whether costs are measured.
    pub(crate) fn measures_cost(&self) -> bool {
        self.cost || !(self.outputs.has("json") || self.no_cost)
    }
}
