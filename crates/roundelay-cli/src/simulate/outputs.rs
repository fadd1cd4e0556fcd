//! Checks of output paths before a run.

use std::path::PathBuf;

use roundelay_sim::scenario::{Measures, Scenario};

use crate::arguments::Simulate;
use crate::failure::Failure;
use crate::outputs::{check_distinct, check_no_dash};

/// Files in the folder of `--parquet`, and the option each needs.
const COLUMNS: [(&str, Option<Asked>); 6] = [
    ("flows.parquet", None),
    ("links.parquet", None),
    ("packets.parquet", Some(Asked::Packets)),
    ("hops.parquet", Some(Asked::Packets)),
    ("transfers.parquet", Some(Asked::Transfers)),
    ("rates.parquet", Some(Asked::Rates)),
];

/// An option that adds a Parquet file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Packets,
    Transfers,
    Rates,
}

impl Asked {
    const fn is_met(self, arguments: &Simulate, measures: &Measures) -> bool {
        match self {
            Self::Packets => arguments.packets,
            Self::Transfers => measures.transfers,
            Self::Rates => measures.rates.is_some(),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Packets => "--packets",
            Self::Transfers => "[meter] transfers",
            Self::Rates => "[meter] rates",
        }
    }
}

/// # Errors
/// Two files are the same, an output is the scenario or one of its files, or a path is `-`, where
/// the table goes.
pub(super) fn check(arguments: &Simulate, scenario: &Scenario) -> Result<(), Failure> {
    let (read, measures) = (&scenario.files, &scenario.measures);
    let Simulate { scenario, log, pcapng, html, parquet, .. } = arguments;
    let files = [("--log", log), ("--pcapng", pcapng), ("--html", html)];
    parquet.as_deref().map_or(Ok(()), |folder| check_no_dash(("--parquet", folder), "a folder"))?;
    let scenario = scenario.as_deref().filter(|path| path.as_os_str() != "-");
    let read = read.iter().map(|path| ("a file of the scenario", path.as_path()));
    let columns = columns(arguments, measures);
    let columns = columns.iter().map(|path| ("--parquet", path.as_path()));
    let written = files.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?)));
    check_stale(arguments, measures)?;
    check_distinct(scenario.map(|path| ("the scenario", path)).into_iter().chain(read), written.chain(columns))
}

/// Rejects packet files of an earlier run in the folder: they would be taken for packets of the new
/// flows.
fn check_stale(arguments: &Simulate, measures: &Measures) -> Result<(), Failure> {
    let Some(folder) = &arguments.parquet else { return Ok(()) };
    let unasked =
        |(name, asked): &(&str, Option<Asked>)| Some((folder.join(name), asked.filter(|asked| !asked.is_met(arguments, measures))?));
    let Some((path, asked)) = COLUMNS.iter().filter_map(unasked).find(|(path, _)| path.exists()) else { return Ok(()) };
    let (path, asked) = (path.display(), asked.name());
    Err(Failure::usage(format!("{path}: left by another run with {asked}; expected {asked}, or a folder without it")))
}

/// Files written by `--parquet`.
pub(super) fn columns(arguments: &Simulate, measures: &Measures) -> Vec<PathBuf> {
    let is_wanted = |asked: &Option<Asked>| asked.is_none_or(|asked| asked.is_met(arguments, measures));
    let names = || COLUMNS.iter().filter(|(_, asked)| is_wanted(asked)).map(|(name, _)| name);
    arguments.parquet.iter().flat_map(|folder| names().map(|name| folder.join(name))).collect()
}
