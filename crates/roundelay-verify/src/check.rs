//! A check of a line: it holds, or its fault in words.

/// Ok, or a description of the fault.
pub(crate) type Check = Result<(), String>;

pub(crate) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(otherwise()) }
}
