//! Files of text that users hand over: whatever else a path leads to is told with what was expected there.

use std::io::ErrorKind;
use std::path::Path;

use crate::failure::Failure;

/// Reads a file that should hold `what`.
///
/// # Errors
/// It is not there, is a folder, cannot be read, or holds no text.
pub(crate) fn read(path: &Path, what: &str) -> Result<String, Failure> {
    let name = path.display();
    let wrong = |problem: String| Failure::usage(format!("{name}: {problem}; expected {what}"));
    if path.is_dir() {
        return Err(wrong("a folder".to_owned()));
    }
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => wrong("there is no such file".to_owned()),
        _ => wrong(format!("cannot read: {error}")),
    })?;
    String::from_utf8(bytes).map_err(|error| wrong(format!("offset {}: no text in UTF-8", error.utf8_error().valid_up_to())))
}
