//! Errors of the command as Python exceptions.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use roundelay_cli::{Detail, Failure};

static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static CONTRACT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception of a failed call: `roundelay._errors` has the classes.
pub(crate) fn exception(py: Python<'_>, failure: &Failure) -> PyErr {
    let Detail { given, legal, meant } = failure.detail();
    let make = MAKE.import(py, "roundelay._errors", "of_command");
    let made = make.and_then(|make| make.call1((failure.status(), failure.to_string(), given, legal, meant)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// `roundelay.ContractError`: a scheduler written in Python broke the contract.
pub(crate) fn contract(py: Python<'_>, message: String) -> PyErr {
    let made = CONTRACT.import(py, "roundelay._errors", "ContractError").and_then(|class| class.call1((message,)));
    made.map_or_else(|error| error, PyErr::from_value)
}
