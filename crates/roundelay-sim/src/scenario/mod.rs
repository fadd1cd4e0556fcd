//! Scenarios: TOML files with a network, its traffic and a duration.
//!
//! [`Scenario::from_toml`] reads a scenario and checks everything that can be known before a run:
//! named hosts exist, every pair has a route, every number is in range, and the estimate is at most
//! 10^12 events. [`Scenario::run`] runs the scenario with one seed. [`SCHEMA`] lists the keys.

mod at_link;
mod control;
mod curves;
mod edge_codel;
mod entry;
mod estimate;
mod file;
mod flow_meter;
mod group;
mod interval;
mod link_state;
mod lives;
mod measures;
mod meter;
mod notes;
mod objective;
mod paces;
mod pairs;
mod port_meter;
mod rates;
mod ratio;
mod replicas;
mod results;
mod run;
#[cfg(feature = "schema")]
pub(crate) mod schema;
mod template;
mod topology;
mod transfers;
mod trees;
mod yardsticks;

use std::path::PathBuf;

use roundelay::{Duration, Fault};
use roundelay_files::Written as _;
use roundelay_tcp::CustomControl;

pub use crate::files::ReadCapture;
pub use crate::sources::captured::{Captured, FlowBy};
pub use crate::sources::{Control, Flavour, Offload, Preset, Protocol, SlowStart, SourceSpec};
pub use at_link::AtLink;
pub use control::ControlError;
pub use curves::{Curves, GroupCurves, LinkCurves};
pub use estimate::{Estimate, MOST_EVENTS};
pub use file::SCHEMA;
#[cfg(feature = "schema")]
pub use file::schema;
pub use interval::{Interval, student_95};
pub use lives::FlowLife;
pub use measures::{Completion, Measures};
pub use objective::{DisciplineText, Figure, Measure, Objective, SlackText};
pub use pairs::Pairing;
pub use port_meter::Backlogged;
pub use rates::{FlowRates, Rates};
pub use replicas::{ModeResult, RankResult};
pub use results::{
    ClassResult, Fates, FlowResult, GroupResult, LinkResult, Results, SizeResult, Spread,
};
/// An error in a scenario, with the file and the line.
pub use roundelay::Fault as ScenarioError;
pub use run::{Progress, RunError};
pub use template::{template, templates};
pub use transfers::Transfer;
pub use yardsticks::{FlowIndices, GroupLives};

use crate::edge::EdgeControl;
use crate::ids::NodeId;
use crate::sources::Urgency;
use crate::topologies::Topology;

/// A time with a unit, as you write it in scenarios and commands: `5ms`.
///
/// # Errors
/// Not a time, or a number without a unit.
pub fn parse_time(text: &str) -> Result<Duration, Fault> {
    Duration::from_text(text)
}

/// A scenario that passed all checks.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The name in results.
    pub name: String,
    /// Seed of all random draws.
    pub seed: u64,
    /// Seed for the queues' hashes and draws, and for the hash that spreads flows over routes, in
    /// all runs. If None, each run's own seed.
    pub hash_seed: Option<u64>,
    /// The run's length.
    pub duration: Duration,
    /// Warm-up: how much time at the start results do not count.
    pub warmup: Duration,
    /// The network.
    pub topology: Topology,
    /// The sources.
    pub groups: Vec<Group>,
    /// Files that the scenario names: lists, captures, maps, trees.
    pub files: Vec<PathBuf>,
    /// Which measurements the scenario asks for, and which transfers count.
    pub measures: Measures,
    /// The user's objective. Runs ignore it.
    pub objective: Option<Objective>,
    /// Whether results keep all ended flows, which takes a few hundred bytes each, or only the
    /// first 4,096.
    pub keeps_all_flows: bool,
}

/// Sources that differ only in their hosts and start times.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The name in results.
    pub name: String,
    /// What kind each source is, and its parameters.
    pub source: SourceSpec,
    /// Sending hosts.
    pub from: Vec<NodeId>,
    /// Receiving hosts.
    pub to: Vec<NodeId>,
    /// Which host sends to which.
    pub pairs: Pairing,
    /// Sources for each pair.
    pub count: u32,
    /// When the first source starts.
    pub start: Duration,
    /// How much later each source starts than the one before.
    pub start_step: Duration,
    /// How much later each source may start, drawn evenly from 0 to this.
    pub start_jitter: Duration,
    /// When all sources stop.
    pub stop: Option<Duration>,
    /// How queues with weights treat the flows. If None, the queues use their defaults.
    pub flow: Option<roundelay::FlowConfig>,
    /// How urgent packets are, which the sources write into them.
    pub urgency: Urgency,
    /// A program's congestion control, set by [`Scenario::set_control`].
    pub control: Option<CustomControl>,
    /// Active queue management where packets leave the network, if there is any.
    pub edge_codel: Option<EdgeControl>,
    /// Differentiated Services code point, 0 to 63, which trees may classify by.
    pub dscp: u8,
}

#[cfg(test)]
mod tests;
