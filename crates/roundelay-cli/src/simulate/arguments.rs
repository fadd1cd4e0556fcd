//! Command-line arguments of `roundelay simulate`.

use std::path::PathBuf;

use clap::Args;
use roundelay::suggestion::alternatives;

use super::outputs::Simulating;
use super::queue::{Queue, parse_queue};
use crate::outputs::{GROUP, Outputs};
use crate::runs::Runs;

#[derive(Debug, Args)]
pub(crate) struct Simulate {
    /// Scenario file; - reads standard input
    #[arg(required_unless_present_any = ["template", "schema"])]
    pub(crate) scenario: Option<PathBuf>,

    #[arg(long, value_name = "NAME", help = templates(),
          conflicts_with_all = ["scenario", "schema", "queue", "seed", "replicas", "dry_run",
                                GROUP])]
    pub(crate) template: Option<String>,

    /// Print the JSON Schema of scenarios
    #[arg(long, conflicts_with_all = ["scenario", "queue", "seed", "replicas", "dry_run", GROUP])]
    pub(crate) schema: bool,

    /// Print an approximate upper bound on events and memory, and do not run
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Use this discipline on all router ports, as in "fq_codel target 5ms", or the tree in a file,
    /// as in "tree home.toml". Host ports keep their disciplines, and buffers keep their sizes
    /// unless you set a limit. If you give several, they are compared with the same seeds
    #[arg(long, value_name = "DISCIPLINE", value_parser = parse_queue)]
    pub(crate) queue: Vec<Queue>,

    #[command(flatten)]
    pub(crate) runs: Runs,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Simulating>,
}

/// Help for `simulate --template`.
fn templates() -> String {
    let names: Vec<_> = roundelay_sim::scenario::templates()
        .map(|(name, _)| name)
        .collect();
    format!("Print a scenario to start from: {}", alternatives(&names))
}
