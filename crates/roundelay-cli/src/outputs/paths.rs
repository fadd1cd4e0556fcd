//! Checks of output files: none is an input, no two are the same, and none is standard output,
//! where the table goes.

use std::path::{Path, PathBuf};

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

/// Canonical form of a path, for an existing file or a new one.
fn place(path: &Path) -> PathBuf {
    let of_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(of_folder).unwrap_or_else(|| path.to_owned())
}
