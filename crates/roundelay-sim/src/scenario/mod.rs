//! Scenarios: a network, what it carries and for how long, in a TOML file.
//!
//! [`Scenario::from_toml`] reads one and checks all that can be known before a run: whoever is named is there, every pair has a route, every number is
//! in its range, and the work is less than 10^12 events. [`Scenario::run`] runs it with one seed. The keys are in [`schema`].

mod curves;
mod edge_codel;
mod entry;
mod estimate;
mod file;
mod files;
mod group;
mod interval;
mod lists;
mod lives;
mod load;
mod measures;
mod meter;
mod notes;
mod objective;
mod pairs;
mod port_meter;
mod protocol;
mod rates;
mod reader;
mod replicas;
mod results;
mod run;
mod source;
mod template;
mod topology;
mod transfers;
mod trees;
mod unused;
mod yardsticks;

use std::path::PathBuf;

use roundelay::Duration;

pub use crate::topologies::files::FileError as ScenarioError;
pub use curves::{Curves, GroupCurves, LinkCurves};
pub use estimate::{Estimate, MOST_EVENTS};
pub use file::schema;
pub use files::ReadCapture;
pub use interval::{Interval, student_95};
pub use lists::{FlowBy, Trace, Workload};
pub use lives::FlowLife;
pub use measures::{Completion, Measures};
pub use objective::{DisciplineText, Figure, Measure, Objective, SlackText};
pub use pairs::Pairing;
pub use port_meter::Backlogged;
pub use protocol::{Control, Flavour, Preset, Protocol};
pub use rates::{FlowRates, Rates};
pub use replicas::{ModeResult, RankResult};
pub use results::{ClassResult, Fates, FlowResult, GroupResult, LinkResult, Results, SizeResult, Spread};
pub use run::{Progress, RunError};
pub use source::{
    Apart, Arrivals, Burst, Cbr, Lengths, OnOff, Poisson, RequestResponse, SizesSpec, SourceSpec, Tcp, Transport, Video, Voip,
};
pub use template::{TEMPLATES, template};
pub use transfers::Transfer;
pub use yardsticks::{FlowIndices, GroupLives};

use crate::edge::EdgeControl;
use crate::network::NodeId;
use crate::sources::Urgency;
use crate::topologies::Topology;

/// A scenario, checked.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// Of all that is drawn.
    pub seed: u64,
    /// Of hashes and draws of queues, and of the hash that spreads flows over routes, whichever seed a run has. None: the run's seed.
    pub hash_seed: Option<u64>,
    /// How long it lasts.
    pub duration: Duration,
    /// What happens before counts for nothing.
    pub warmup: Duration,
    /// Where it plays.
    pub topology: Topology,
    /// Who sends.
    pub groups: Vec<Group>,
    /// Files that it names: lists, captures, maps, trees.
    pub files: Vec<PathBuf>,
    /// What is measured on request, and which transfers count.
    pub measures: Measures,
    /// What its user wants good; no run looks at it.
    pub objective: Option<Objective>,
    /// Whether results keep all flows, however many end: a few hundred bytes each. If not, those beyond the first 4,096 to end are left out.
    pub keeps_all_flows: bool,
}

/// Sources that are alike but for their ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// What it is called in results.
    pub name: String,
    /// What each of them sends.
    pub source: SourceSpec,
    /// Hosts that they send from.
    pub from: Vec<NodeId>,
    /// Hosts that they send to.
    pub to: Vec<NodeId>,
    /// Who sends to whom.
    pub pairs: Pairing,
    /// Sources of each pair.
    pub count: u32,
    /// When the first one starts.
    pub start: Duration,
    /// Each starts so much later than the one before.
    pub start_step: Duration,
    /// And up to so much later again, drawn evenly.
    pub start_jitter: Duration,
    /// When all stop.
    pub stop: Option<Duration>,
    /// What queues with weights are told; none: what they take for granted.
    pub flow: Option<roundelay::FlowConfig>,
    /// What packets say of their urgency.
    pub urgency: Urgency,
    /// Active queue management where their packets leave the network; None: there is none.
    pub edge_codel: Option<EdgeControl>,
    /// Their Differentiated Services code point, 0 to 63, by which trees may sort them.
    pub dscp: u8,
}

#[cfg(test)]
mod tests;
