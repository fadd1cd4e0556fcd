//! Methods of objects written in Python.

use pyo3::prelude::*;

use crate::errors;

/// A bound method, if the object has it.
pub(crate) fn optional(object: &Bound<'_, PyAny>, method: &str) -> PyResult<Option<Py<PyAny>>> {
    match object.getattr_opt(method)? {
        Some(method) => Ok(Some(method.unbind())),
        None => Ok(None),
    }
}

/// A bound method that the object's class must have. `all_needed` says which these are, as in "a
/// scheduler has enqueue(packet, now) and dequeue(now)".
///
/// # Errors
/// `ContractError`: the class has no such method.
pub(crate) fn needed(
    object: &Bound<'_, PyAny>,
    class: &str,
    method: &str,
    all_needed: &str,
) -> PyResult<Py<PyAny>> {
    if let Some(method) = optional(object, method)? {
        return Ok(method);
    }
    let message = format!("{class} has no method {method}; {all_needed}");
    Err(errors::contract(object.py(), message, None))
}
