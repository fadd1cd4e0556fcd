//! Where results go: places that cannot be meant are told before a run.

use crate::arguments::Simulate;
use crate::failure::Failure;
use crate::outputs::check_distinct;

/// # Errors
/// Two files are one, or one is the scenario; or `-` is meant for standard output, which has the table.
pub(super) fn check(arguments: &Simulate) -> Result<(), Failure> {
    let Simulate { scenario, log, pcapng, html, parquet, .. } = arguments;
    let files = [("--log", log), ("--pcapng", pcapng), ("--html", html)];
    for (option, path) in files.into_iter().chain([("--parquet", parquet)]) {
        if path.as_ref().is_some_and(|path| path.as_os_str() == "-") {
            let expected = if option == "--parquet" { "a folder" } else { "a file" };
            let message = format!("{option} -: standard output is for the table; expected {expected}, ./- for one that is called so");
            return Err(Failure::usage(message));
        }
    }
    let scenario = scenario.as_ref().filter(|path| path.as_os_str() != "-");
    let written = files.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?)));
    check_distinct(scenario.map(|path| ("the scenario", path.as_path())), written)
}
