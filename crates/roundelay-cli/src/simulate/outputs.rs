//! Where results go: places that cannot be meant are told before a run.

use std::path::PathBuf;

use crate::arguments::Simulate;
use crate::failure::Failure;
use crate::outputs::{check_distinct, check_no_dash};

/// Files in the folder of `--parquet`; the last two with `--packets`.
const COLUMNS: [&str; 4] = ["flows.parquet", "links.parquet", "packets.parquet", "hops.parquet"];

/// `read` are the files that the scenario names.
///
/// # Errors
/// Two files are one, or one is the scenario or what it names; or `-` is meant for standard output, which has the table.
pub(super) fn check(arguments: &Simulate, read: &[PathBuf]) -> Result<(), Failure> {
    let Simulate { scenario, log, pcapng, html, parquet, .. } = arguments;
    let files = [("--log", log), ("--pcapng", pcapng), ("--html", html)];
    parquet.as_deref().map_or(Ok(()), |folder| check_no_dash(("--parquet", folder), "a folder"))?;
    let scenario = scenario.as_deref().filter(|path| path.as_os_str() != "-");
    let read = read.iter().map(|path| ("a file of the scenario", path.as_path()));
    let columns = columns(arguments);
    let columns = columns.iter().map(|path| ("--parquet", path.as_path()));
    let written = files.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?)));
    check_stale(arguments)?;
    check_distinct(scenario.map(|path| ("the scenario", path)).into_iter().chain(read), written.chain(columns))
}

/// Packets of another run beside these flows would be taken for theirs.
fn check_stale(arguments: &Simulate) -> Result<(), Failure> {
    let folder = arguments.parquet.iter().filter(|_| !arguments.packets);
    let stale = folder.flat_map(|folder| COLUMNS[2..].iter().map(|name| folder.join(name))).find(|path| path.exists());
    let message =
        |path: PathBuf| format!("{}: left by another run with --packets; expected --packets, or a folder without it", path.display());
    stale.map_or(Ok(()), |path| Err(Failure::usage(message(path))))
}

/// The files that `--parquet` writes.
pub(super) fn columns(arguments: &Simulate) -> Vec<PathBuf> {
    let names = if arguments.packets { &COLUMNS[..] } else { &COLUMNS[..2] };
    let folder = arguments.parquet.iter();
    folder.flat_map(|folder| names.iter().map(|name| folder.join(name))).collect()
}
