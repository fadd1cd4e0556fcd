//! Checks of output files: none is an input, no two are the same, and none is standard output,
//! where the table goes.

use std::fs;
use std::path::{Path, PathBuf};

use roundelay_report::PartialFile;
use roundelay_sim::scenario::Scenario;

use super::OpenFile;
use crate::failure::Failure;

/// An option and the file it names.
pub(crate) type Named<'a> = (&'a str, &'a Path);

/// # Errors
/// The path is `-`, possibly meant as standard output.
pub(crate) fn check_no_dash((option, path): Named<'_>, expected: &str) -> Result<(), Failure> {
    if path.as_os_str() != "-" {
        return Ok(());
    }
    Err(Failure::usage(format!("{option} -: standard output is for the table; expected {expected}; ./- for a file with the name -")))
}

/// # Errors
/// An output file is also an input, or the output of another option, or `-`.
pub(crate) fn check_distinct<'a>(
    read: impl IntoIterator<Item = Named<'a>>,
    written: impl IntoIterator<Item = Named<'a>>,
) -> Result<(), Failure> {
    let mut taken: Vec<(&str, PathBuf)> = read.into_iter().map(|(option, path)| (option, place(path))).collect();
    for (option, path) in written {
        check_no_dash((option, path), "a file")?;
        let place = place(path);
        if let Some((other, _)) = taken.iter().find(|(_, other)| *other == place) {
            return Err(Failure::usage(format!("{}: both {other} and {option}; expected a file each", path.display())));
        }
        taken.push((option, place));
    }
    Ok(())
}

/// Checks the output files of a command, and opens those asked for: an unwritable path is an error before
/// the run. `read`: the files that the command reads.
///
/// # Errors
/// As [`check_distinct`], or a file cannot be created.
pub(crate) fn open_files<'a, const N: usize>(
    read: impl IntoIterator<Item = Named<'a>>,
    files: [(&'a str, &'a Option<PathBuf>); N],
) -> Result<[Option<OpenFile>; N], Failure> {
    check_distinct(read, files.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?))))?;
    let mut opened = [const { None }; N];
    for (file, (_, path)) in opened.iter_mut().zip(files) {
        *file = path.as_deref().map(OpenFile::create).transpose()?;
    }
    Ok(opened)
}

/// Files that a scenario reads, for the checks of outputs.
pub(crate) fn files_of(scenario: &Scenario) -> impl Iterator<Item = Named<'_>> {
    scenario.files.iter().map(|path| ("a file of the scenario", path.as_path()))
}

/// Creates a folder with the files to be written there, and drops the files again, before a run.
///
/// # Errors
/// The folder or a file cannot be created.
pub(crate) fn try_folder(folder: &Path, files: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::run(format!("{}: {error}", folder.display())))?;
    files.into_iter().try_for_each(|name| PartialFile::create(&folder.join(name)).map(drop)).map_err(Failure::run)
}

/// Canonical form of a path, for an existing file or a new one.
fn place(path: &Path) -> PathBuf {
    let of_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(of_folder).unwrap_or_else(|| path.to_owned())
}
