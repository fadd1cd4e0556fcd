//! Where results go: places that cannot be meant are told before a run.

use std::path::{Path, PathBuf};

use crate::arguments::Simulate;
use crate::failure::Failure;

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
    let all = [("the scenario", scenario)].into_iter().chain(files.map(|(option, path)| (option, path.as_ref())));
    let mut taken: Vec<(&str, PathBuf)> = Vec::new();
    for (option, path) in all.filter_map(|(option, path)| Some((option, path?))) {
        let place = place(path);
        if let Some((other, _)) = taken.iter().find(|(_, other)| *other == place) {
            return Err(Failure::usage(format!("{}: both {other} and {option}; expected a file each", path.display())));
        }
        taken.push((option, place));
    }
    Ok(())
}

/// Where a path leads to, whether there is a file yet or not.
fn place(path: &Path) -> PathBuf {
    let of_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(of_folder).unwrap_or_else(|| path.to_owned())
}
