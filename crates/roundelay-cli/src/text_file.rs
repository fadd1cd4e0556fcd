//! Reads text files named by users; errors tell the expected content.

use std::io::ErrorKind;
use std::path::Path;

use roundelay_trace::Stop;

use crate::failure::Failure;
use crate::pipe;

/// Reads a file; `what` describes its expected content.
///
/// # Errors
/// The file is missing, a folder, unreadable, or not UTF-8; or a stop was requested.
pub(crate) fn read(path: &Path, what: &str, stop: &Stop) -> Result<String, Failure> {
    let name = path.display();
    let wrong = |problem: String| Failure::usage(format!("{name}: {problem}; expected {what}"));
    if path.is_dir() {
        return Err(wrong("a folder".to_owned()));
    }
    let bytes = pipe::read(path, stop).map_err(|error| match error.kind() {
        _ if stop.is_requested() => Failure::stopped(),
        ErrorKind::NotFound => wrong("there is no such file".to_owned()),
        _ => wrong(format!("cannot read: {error}")),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        wrong(format!(
            "offset {}: no text in UTF-8",
            error.utf8_error().valid_up_to()
        ))
    })
}
