//! Reads text files that users name. Errors tell what the file should contain.

use std::io::ErrorKind;
use std::path::Path;

use roundelay::Fault;
use roundelay_trace::Stop;

use crate::failure::Failure;
use crate::pipe;

/// Reads a file. `what` says what it should contain.
///
/// # Errors
/// The file is missing, a folder, unreadable, or not UTF-8, or a stop was requested.
pub(crate) fn read(path: &Path, what: &str, stop: &Stop) -> Result<String, Failure> {
    let name = path.display();
    let wrong = |problem: &str| {
        let fault = Fault::wanted(what).behind(format_args!("{problem}; "));
        Failure::usage(fault.in_file(name.to_string(), 0))
    };
    if path.is_dir() {
        return Err(wrong("a folder"));
    }
    let bytes = pipe::read(path, stop).map_err(|error| match error.kind() {
        _ if stop.is_requested() => Failure::stopped(),
        ErrorKind::NotFound => wrong("there is no such file"),
        _ => wrong(&format!("cannot read: {error}")),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        wrong(&format!("offset {valid}: no text in UTF-8"))
    })
}
