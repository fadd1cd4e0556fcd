//! Command-line arguments of `roundelay import`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use roundelay::Fault;

use super::outputs::Importing;
use crate::outputs::Outputs;

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Shell script with tc commands, these commands alone, /etc/config/sqm of OpenWrt, or an export
    /// of RouterOS; it is read and not run. - reads standard input
    #[arg(required_unless_present = "run")]
    pub(crate) script: Option<PathBuf>,

    /// Run the command behind -- in a sandbox, record the tc commands that it would have run, and
    /// import these. It has no network, cannot write outside of memory, sees no home but the
    /// script's folder, and ends after 10 s
    #[arg(long, requires = "command_line", conflicts_with_all = ["script", "set"])]
    pub(crate) run: bool,

    /// Interface to import; default: the one with the most classes
    #[arg(long, value_name = "NAME")]
    pub(crate) dev: Option<String>,

    /// Value of a variable of the script, which wins over the script's own. You can repeat it
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, String)>,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Importing>,

    /// With --run: the script and its arguments
    #[arg(last = true, value_name = "COMMAND", requires = "run")]
    pub(crate) command_line: Vec<OsString>,
}

/// `NAME=VALUE`; the value may be empty.
fn assignment(text: &str) -> Result<(String, String), Fault> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Fault::wanted("NAME=VALUE, as in UPLINK=20mbit").with_given(text)),
    }
}
