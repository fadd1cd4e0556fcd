//! Sweeps: on threads of this process, or as tasks that any executor runs.

use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use roundelay_cli::sweep::{self as command, Summary};
use roundelay_cli::{Failure, call};

use crate::own::Fault;
use crate::results::{Given, host};
use crate::tables::Table;
use crate::work::Report;
use crate::{errors, work};

/// Result of a sweep.
#[pyclass(frozen, module = "roundelay._native")]
pub(crate) struct Swept(Summary);

/// `roundelay sweep` with these words.
///
/// # Errors
/// The command's failure; failed runs are in the result.
#[pyfunction]
#[pyo3(signature = (words, given, progress = None))]
pub(crate) fn sweep(py: Python<'_>, words: Vec<OsString>, given: Given, progress: Option<Py<PyAny>>) -> PyResult<Swept> {
    let fault = Fault::default();
    let host = host(&fault, given);
    let report = Report::new(&host.gauge, progress);
    work::run(py, &fault, &report, || call::sweep(words, &host)).map(Swept)
}

#[pymethods]
impl Swept {
    /// The output of `--json`.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.json())
    }

    /// The printed summary.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.text())
    }

    /// The rows of the runs, with the values of the swept keys.
    fn runs(&self) -> PyResult<Table> {
        Table::of_sweep(&self.0.rows)
    }
}

/// A sweep whose runs an executor does. A task is a text, and its result bytes.
#[pyclass(frozen, module = "roundelay._native")]
pub(crate) struct Session(Mutex<Option<command::Session>>);

impl Session {
    fn with<R: Send>(&self, py: Python<'_>, call: impl FnOnce(&command::Session) -> Result<R, Failure> + Send) -> PyResult<R> {
        let outcome = py.detach(|| {
            let session = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            session.as_ref().map(call)
        });
        let outcome = outcome.ok_or_else(|| PyRuntimeError::new_err("the sweep has ended"))?;
        outcome.map_err(|failure| errors::exception(py, &failure))
    }
}

#[pymethods]
impl Session {
    /// Opens a sweep with the words of the command.
    #[new]
    fn new(py: Python<'_>, words: Vec<OsString>, given: Given) -> PyResult<Self> {
        let fault = Fault::default();
        let host = host(&fault, given);
        work::run(py, &fault, &Report::default(), || call::open_sweep(words, &host)).map(|session| Self(Mutex::new(Some(session))))
    }

    /// The runs to do, each as a text for `sweep_task`.
    fn tasks(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, command::Session::tasks)
    }

    /// Adds a result to the dataset; the second result of a run is ignored.
    fn commit(&self, py: Python<'_>, result: &[u8]) -> PyResult<()> {
        self.with(py, |session| session.commit(result))
    }

    /// Notes a failed task.
    fn failed(&self, py: Python<'_>, task: &str, message: &str) -> PyResult<()> {
        self.with(py, |session| session.failed(task, message))
    }

    /// Completes the dataset.
    fn finish(&self, py: Python<'_>) -> PyResult<Swept> {
        let session = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let session = session.ok_or_else(|| PyRuntimeError::new_err("the sweep has ended"))?;
        let summary = py.detach(|| session.finish(true));
        summary.map(Swept).map_err(|failure| errors::exception(py, &failure))
    }
}

/// Runs a task of a session, in any process with the same version of Roundelay.
///
/// # Errors
/// The run failed.
#[pyfunction]
pub(crate) fn sweep_task(py: Python<'_>, task: &str) -> PyResult<Vec<u8>> {
    let fault = Fault::default();
    let stop = fault.stop().clone();
    work::run(py, &fault, &Report::default(), || command::run_task(task, &stop))
}
