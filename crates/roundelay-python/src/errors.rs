//! The command's errors as Python exceptions.

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use roundelay::Fault;
use roundelay_cli::{Argument, Failure};

static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static USAGE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static CONTRACT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static WRONG_TYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception for a failed call. `roundelay._errors` has the classes.
pub(crate) fn exception(py: Python<'_>, failure: &Failure) -> PyErr {
    let fault = failure.fault();
    let (kind, options, value) = match failure.argument() {
        Some(Argument::Value { option, value }) => ("value", vec![option], Some(value)),
        Some(Argument::Empty(option)) => ("empty", vec![option], None),
        Some(Argument::Unknown(option)) => ("unknown", vec![option], None),
        Some(Argument::Missing(options)) => ("missing", options.iter().collect(), None),
        Some(Argument::Conflict { option, others }) => {
            let mut options = vec![option];
            options.extend(others);
            ("conflict", options, None)
        }
        Some(Argument::Other) | None => ("", Vec::new(), None),
    };
    // As `_errors.Told` has them, in two tuples because PyO3 takes twelve values at most.
    let about_fault = (
        failure.status(),
        failure.to_string(),
        fault.message(),
        fault.owner(),
        fault.key(),
        fault.given(),
        fault.legal(),
        fault.meant(),
        fault.file(),
        fault.line(),
    );
    let about_options = (kind, options, value);
    let fields = (about_fault, about_options);
    made(&MAKE, py, "roundelay._errors", "of_command", fields)
}

/// `roundelay.ContractError`: a scheduler or a congestion control written in Python broke the
/// contract. `detail`: the wrong value and the legal ones.
pub(crate) fn contract(py: Python<'_>, message: String, detail: Option<(&str, &str)>) -> PyErr {
    let (given, legal) = detail.unzip();
    let fields = (message, given, legal);
    made(&CONTRACT, py, "roundelay._errors", "contract", fields)
}

/// The exception for a name that is not in a list.
pub(crate) fn unknown(py: Python<'_>, noun: &str, given: &str, known: &[&str]) -> PyErr {
    let legal = known.join(", ");
    let fault = Fault::no_such(noun, given, known);
    wrong(py, fault.to_string(), given, &legal, fault.meant())
}

/// The exception for a wrong value.
pub(crate) fn usage(py: Python<'_>, message: String, given: &str, legal: &str) -> PyErr {
    wrong(py, message, given, legal, None)
}

/// The exception for a number that is out of range.
pub(crate) fn out_of_range(name: &str, given: &Bound<'_, PyAny>, legal: &str) -> PyErr {
    // Python writes no integer with more than 4300 digits.
    let text = match given.str() {
        Ok(text) => text.to_string(),
        Err(_) => "a longer number".to_owned(),
    };
    let message = format!("{name} {text}: legal range {legal}");
    usage(given.py(), message, &text, legal)
}

/// The exception for an argument that has another type.
pub(crate) fn wrong_type(name: &str, expected: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let fields = (name, expected, given);
    made(
        &WRONG_TYPE,
        given.py(),
        "roundelay._words",
        "wrong_type",
        fields,
    )
}

fn wrong(py: Python<'_>, message: String, given: &str, legal: &str, meant: Option<&str>) -> PyErr {
    let fields = (message, given, legal, meant);
    made(&USAGE, py, "roundelay._errors", "usage", fields)
}

/// The exception that a function of the package makes of these fields. If the function itself fails,
/// its own exception.
fn made<'py>(
    function: &PyOnceLock<Py<PyAny>>,
    py: Python<'py>,
    module: &str,
    name: &str,
    fields: impl PyCallArgs<'py>,
) -> PyErr {
    let exception = match function.import(py, module, name) {
        Ok(function) => function.call1(fields),
        Err(error) => return error,
    };
    match exception {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
