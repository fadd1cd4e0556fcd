//! Checks output files: none is an input, no two are the same, and none is standard output, because
//! the table goes there.

use std::fs;
use std::path::{Path, PathBuf};

use roundelay::Fault;
use roundelay_report::PartialFile;
use roundelay_sim::scenario::Scenario;

use crate::failure::Failure;

/// An option and the file it names.
pub(crate) type Named<'a> = (&'a str, &'a Path);

/// # Errors
/// The path is `-`, with which you may mean standard output.
pub(super) fn check_no_dash((option, path): Named<'_>, expected: &str) -> Result<(), Failure> {
    if path.as_os_str() != "-" {
        return Ok(());
    }
    let fault = Fault::wanted(expected)
        .behind(format_args!(
            "{option} -: standard output is for the table; "
        ))
        .with_hint("; ./- for a file with the name -");
    Err(Failure::usage(fault.with_given("-")))
}

/// # Errors
/// An output file is an input too, or another option writes it, or it is `-`.
pub(crate) fn check_distinct<'a>(
    read: impl IntoIterator<Item = Named<'a>>,
    written: impl IntoIterator<Item = Named<'a>>,
) -> Result<(), Failure> {
    let mut taken: Vec<(&str, PathBuf)> = read
        .into_iter()
        .map(|(option, path)| (option, canonical(path)))
        .collect();
    for (option, path) in written {
        check_no_dash((option, path), "a file")?;
        let file = canonical(path);
        if let Some((other, _)) = taken.iter().find(|(_, taken)| *taken == file) {
            let fault =
                Fault::wanted("a file each").behind(format_args!("both {other} and {option}; "));
            return Err(Failure::usage(fault.in_file(path.display().to_string(), 0)));
        }
        taken.push((option, file));
    }
    Ok(())
}

/// The scenario's file, unless it is read from standard input, and the files that it names. Outputs
/// are checked against these.
pub(crate) fn files_of<'a>(
    path: &'a Path,
    scenario: &'a Scenario,
) -> impl Iterator<Item = Named<'a>> {
    let itself = Some(("the scenario", path)).filter(|(_, path)| path.as_os_str() != "-");
    itself.into_iter().chain(
        scenario
            .files
            .iter()
            .map(|path| ("a file of the scenario", path.as_path())),
    )
}

/// Tries a folder before a run: creates it with the files that will be written there, and drops the
/// files again.
///
/// # Errors
/// The folder or a file cannot be created.
pub(super) fn try_folder(
    folder: &Path,
    files: impl IntoIterator<Item = String>,
) -> Result<(), Failure> {
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::run(format!(
            "{}: not a folder; expected a folder, new or existing, for the files",
            folder.display()
        )));
    }
    fs::create_dir_all(folder)
        .map_err(|error| Failure::run(format!("{}: {error}", folder.display())))?;
    files
        .into_iter()
        .try_for_each(|name| PartialFile::create(&folder.join(name)).map(drop))
        .map_err(Failure::run)
}

/// Whether a file is in a folder, or in a folder below it.
pub(super) fn is_within(path: &Path, folder: &Path) -> bool {
    canonical(path).starts_with(canonical(folder))
}

/// A path's canonical form, for an existing file or a new one, even in a new folder.
fn canonical(path: &Path) -> PathBuf {
    path.canonicalize()
        .unwrap_or_else(|_| match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) if folder.as_os_str().is_empty() => {
                canonical(Path::new(".")).join(name)
            }
            (Some(folder), Some(name)) => canonical(folder).join(name),
            _ => path.to_owned(),
        })
}
