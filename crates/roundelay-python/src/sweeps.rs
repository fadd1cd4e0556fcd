//! Sweeps: on threads of this process, or as tasks that any executor runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use roundelay_cli::Failure;
use roundelay_cli::call::{self, Host, OwnParts, Stop};
use roundelay_cli::sweep::{self as command, Summary};

use crate::control::Control;
use crate::fault::Fault;
use crate::own::Own;
use crate::results::{Given, host};
use crate::tables::Table;
use crate::work::{self, Report};

/// Classes written in Python for the runs of a sweep: schedulers by name, congestion controls by
/// source, and the versions of both.
#[pyclass(frozen, module = "roundelay._native")]
pub(crate) struct Classes {
    queues: Arc<[Py<Own>]>,
    controls: Arc<[(String, Py<Control>)]>,
    versions: BTreeMap<String, String>,
}

#[pymethods]
impl Classes {
    /// `versions` by `discipline.NAME` and `control.NAME`.
    #[new]
    fn new(
        queues: Vec<Py<Own>>,
        controls: Vec<(String, Py<Control>)>,
        versions: BTreeMap<String, String>,
    ) -> Self {
        Self {
            queues: queues.into(),
            controls: controls.into(),
            versions,
        }
    }
}

impl Classes {
    /// Parts for the runs of a sweep with this stop. Each run has its own exception.
    fn parts(&self, stop: &Stop) -> OwnParts {
        let queues = Arc::clone(&self.queues);
        let controls = Arc::clone(&self.controls);
        let stop = stop.clone();
        OwnParts {
            make: Arc::new(move || parts_of_run(&queues, &controls, &stop)),
            versions: self.versions.clone(),
        }
    }
}

/// Parts for one run of the sweep with this stop.
fn parts_of_run(
    queues: &[Py<Own>],
    controls: &[(String, Py<Control>)],
    stop: &Stop,
) -> call::Parts {
    let fault = Fault::of_run(stop);
    let mut disciplines = Vec::new();
    for own in queues {
        disciplines.push(own.get().discipline(&fault));
    }
    let mut custom = Vec::new();
    for (source, control) in controls {
        custom.push((source.clone(), control.get().custom(&fault)));
    }
    call::Parts {
        disciplines,
        controls: custom,
        failure: Box::new(move || fault.take_message()),
    }
}

/// A sweep's host.
fn sweeping(fault: &Fault, given: Given, classes: Option<&Classes>) -> Host {
    Host {
        parts: classes.map(|classes| classes.parts(fault.stop())),
        ..host(fault, given)
    }
}

/// A sweep's result.
#[pyclass(frozen, module = "roundelay._native")]
pub(crate) struct Swept(Summary);

/// Runs `roundelay sweep` with these words.
///
/// # Errors
/// The command's failure. The result lists failed runs.
#[pyfunction]
#[pyo3(signature = (words, given, classes = None, progress = None))]
pub(crate) fn sweep(
    py: Python<'_>,
    words: Vec<OsString>,
    given: Given,
    classes: Option<&Classes>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Swept> {
    let fault = Fault::default();
    let host = sweeping(&fault, given, classes);
    let report = Report::new(&host.gauge, progress);
    let summary = work::run(py, &fault, &report, || call::sweep(words, &host))?;
    Ok(Swept(summary))
}

#[pymethods]
impl Swept {
    /// What `--json` prints.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.json())
    }

    /// The printed summary.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.text())
    }

    /// Why each run was done, or not: new, changed (what), cached. A line each.
    fn why(&self) -> &str {
        &self.0.why
    }

    /// The runs' rows, with the values of the swept keys.
    fn runs(&self) -> PyResult<Table> {
        Table::of_sweep(&self.0.rows)
    }
}

/// A sweep whose runs an executor does. A task is a text, and its result bytes.
#[pyclass(frozen, module = "roundelay._native")]
pub(crate) struct Session {
    session: Mutex<Option<command::Session>>,
    fault: Fault,
}

impl Session {
    /// A call on the open session. It may wait for another process that has locked the dataset, so a
    /// signal ends it.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&command::Session) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        let result = work::run(py, &self.fault, &Report::default(), || {
            match &*self.locked() {
                Some(session) => Ok(Some(call(session)?)),
                None => Ok(None),
            }
        })?;
        result.ok_or_else(has_ended)
    }

    fn locked(&self) -> MutexGuard<'_, Option<command::Session>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn has_ended() -> PyErr {
    PyRuntimeError::new_err("the sweep has ended")
}

#[pymethods]
impl Session {
    /// Opens a sweep with the command's words.
    #[new]
    #[pyo3(signature = (words, given, classes = None))]
    fn new(
        py: Python<'_>,
        words: Vec<OsString>,
        given: Given,
        classes: Option<&Classes>,
    ) -> PyResult<Self> {
        let fault = Fault::default();
        let host = sweeping(&fault, given, classes);
        let session = work::run(py, &fault, &Report::default(), || {
            call::open_sweep(words, &host)
        })?;
        Ok(Self {
            session: Mutex::new(Some(session)),
            fault,
        })
    }

    /// The runs to do, each as a text for `sweep_task`.
    fn tasks(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, command::Session::tasks)
    }

    /// Adds a result to the dataset. If a run has a result already, the second one is ignored.
    fn commit(&self, py: Python<'_>, result: &[u8]) -> PyResult<()> {
        self.with(py, |session| session.commit(result))
    }

    /// Notes a failed task.
    fn failed(&self, py: Python<'_>, task: &str, message: &str) -> PyResult<()> {
        self.with(py, |session| session.failed(task, message))
    }

    /// Completes the dataset.
    fn finish(&self, py: Python<'_>) -> PyResult<Swept> {
        let summary = work::run(py, &self.fault, &Report::default(), || {
            match self.locked().take() {
                Some(session) => Ok(Some(session.finish(true)?)),
                None => Ok(None),
            }
        })?;
        summary.map(Swept).ok_or_else(has_ended)
    }
}

/// Runs a session's task, in any process with the same version of Roundelay and of the classes.
///
/// # Errors
/// The run failed.
#[pyfunction]
#[pyo3(signature = (task, classes = None))]
pub(crate) fn sweep_task(
    py: Python<'_>,
    task: &str,
    classes: Option<&Classes>,
) -> PyResult<Vec<u8>> {
    let fault = Fault::default();
    let parts = classes.map(|classes| classes.parts(fault.stop()));
    work::run(py, &fault, &Report::default(), || {
        command::run_task(task, parts.as_ref(), fault.stop())
    })
}
