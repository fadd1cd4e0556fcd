//! A check of a line, which holds or says in words what is wrong.

/// Ok, or what is wrong.
pub(crate) type Check = Result<(), String>;

pub(crate) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(otherwise()) }
}
