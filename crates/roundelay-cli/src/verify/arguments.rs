//! Command-line arguments of `roundelay verify`.

use std::path::PathBuf;

use clap::Args;
use roundelay_trace::arguments::whole;

use super::outputs::Verifying;
use crate::outputs::Outputs;

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Log file, or the record of a live run; - reads a log from standard input
    pub(crate) log: PathBuf,

    /// Stop after this number of faults
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 10,
          value_parser = whole(1_u16..=1000))]
    pub(crate) faults: u16,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Verifying>,
}
