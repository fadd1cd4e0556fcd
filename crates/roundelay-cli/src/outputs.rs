//! Files that are written: none is one that is read, no two are one, and none is standard output, which has the table.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file, and the option that names it.
pub(crate) type Named<'a> = (&'a str, &'a Path);

/// # Errors
/// A path is `-`, which may be meant for standard output.
pub(crate) fn check_no_dash((option, path): Named<'_>, expected: &str) -> Result<(), Failure> {
    if path.as_os_str() != "-" {
        return Ok(());
    }
    Err(Failure::usage(format!("{option} -: standard output is for the table; expected {expected}, ./- for one that is called so")))
}

/// # Errors
/// A file that is written is one that is read, or one that is written by another option, or `-`.
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

/// Where a path leads to, whether there is a file yet or not.
fn place(path: &Path) -> PathBuf {
    let of_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(of_folder).unwrap_or_else(|| path.to_owned())
}
