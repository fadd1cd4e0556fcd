//! Command-line arguments of `roundelay import`.

use std::path::PathBuf;

use clap::Args;
use roundelay::Fault;

use super::outputs::Importing;
use crate::outputs::Outputs;

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Shell script with tc commands, or these commands alone; - reads standard input
    pub(crate) script: PathBuf,

    /// Interface to import; default: the one with the most classes
    #[arg(long, value_name = "NAME")]
    pub(crate) dev: Option<String>,

    /// Value of a variable of the script, which wins over the script's own. You can repeat it
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, String)>,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Importing>,
}

/// `NAME=VALUE`; the value may be empty.
fn assignment(text: &str) -> Result<(String, String), Fault> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Fault::wanted("NAME=VALUE, as in UPLINK=20mbit").with_given(text)),
    }
}
