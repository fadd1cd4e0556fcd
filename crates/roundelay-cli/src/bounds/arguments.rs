//! Command-line arguments of `roundelay bounds`.

use std::path::PathBuf;

use clap::Args;
use roundelay::{QueueSpec, Rate};
use roundelay_trace::arguments::{parse_rate, parse_spec, whole};

use super::outputs::Bounding;
use crate::outputs::Outputs;

#[derive(Debug, Args)]
pub(crate) struct Bounds {
    /// TOML file with flows and the links on their path: see docs/bounds.md
    pub(crate) flows: PathBuf,

    /// Disciplines in tc syntax; default: all with a proven delay bound
    #[arg(value_parser = parse_spec)]
    pub(crate) disciplines: Vec<QueueSpec>,

    /// Tree of classes in TOML, in place of disciplines: each flow takes the leaf of its name
    #[arg(long, value_name = "FILE", conflicts_with_all = ["disciplines", "hops"])]
    pub(crate) tree: Option<PathBuf>,

    /// Rate of links without a rate in the file: 20mbit, 1gbit
    #[arg(long, allow_hyphen_values = true, value_parser = parse_rate)]
    pub(crate) rate: Option<Rate>,

    /// Number of links in series, if the file lists none
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1,
          value_parser = whole(1_u16..=1000))]
    pub(crate) hops: u16,

    /// Also print the parts of each delay bound, and where each is proven
    #[arg(long, conflicts_with = "json")]
    pub(crate) sources: bool,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Bounding>,
}
