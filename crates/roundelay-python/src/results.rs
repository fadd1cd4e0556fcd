//! Commands that return results: compare, simulate, replay, bounds.

use std::ffi::OsString;

use pyo3::prelude::*;
use roundelay_cli::call::{self, CustomControl, Host, Text};
use roundelay_report::{FLOWS, LINKS, RATES, Replayed, SIMULATED_FLOWS, TRANSFERS, TableStyle, json};

use crate::control::Control;
use crate::own::{Fault, Own};
use crate::tables::Table;
use crate::work::{self, Report};

/// A text in place of the file `-`: its name in messages, and its content.
pub(crate) type Given = Option<(String, String)>;

pub(crate) fn host(fault: &Fault, given: Given) -> Host {
    Host { stop: fault.stop().clone(), text: given.map(|(name, text)| Text { name, text }), ..Host::default() }
}

/// A scheduler of the caller's, with its number among the disciplines of the arguments.
type NumberedOwn<'py> = (usize, PyRef<'py, Own>);

fn put(own: &[NumberedOwn<'_>], fault: &Fault) -> Vec<(usize, roundelay::schedulers::AnyDiscipline)> {
    own.iter().map(|(number, own)| (*number, own.discipline(fault))).collect()
}

/// A congestion control, and the name of its source.
type Chosen<'py> = (String, PyRef<'py, Control>);

fn custom(controls: Vec<Chosen<'_>>, fault: &Fault) -> Vec<(String, CustomControl)> {
    controls.into_iter().map(|(source, control)| (source, control.custom(fault))).collect()
}

const fn style(width: Option<u16>) -> TableStyle {
    TableStyle { color: false, width }
}

/// Result of `compare`.
#[pyclass(frozen, module = "roundelay._native")]
pub(crate) struct Compared(call::Compared);

/// `roundelay compare` with these words.
///
/// # Errors
/// The command's failure, or the exception of a scheduler.
#[pyfunction]
#[pyo3(signature = (words, own, progress = None))]
pub(crate) fn compare(py: Python<'_>, words: Vec<OsString>, own: Vec<NumberedOwn<'_>>, progress: Option<Py<PyAny>>) -> PyResult<Compared> {
    let fault = Fault::default();
    let (own, host) = (put(&own, &fault), host(&fault, None));
    let report = Report::new(&host.gauge, progress);
    work::run(py, &fault, &report, || call::compare(words, &host, &own)).map(Compared)
}

#[pymethods]
impl Compared {
    /// The output of `--json`.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.json())
    }

    /// The page of `--html`.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.html())
    }

    /// The printed table.
    #[pyo3(signature = (width = None))]
    fn table(&self, py: Python<'_>, width: Option<u16>) -> String {
        py.detach(|| self.0.table(style(width)))
    }

    /// The rows of flows.parquet.
    fn flows(&self) -> PyResult<Table> {
        Table::new(&FLOWS.rows(&self.0.comparison), &self.0.metadata)
    }

    /// Version, seed and hash of the configuration.
    #[getter]
    fn metadata(&self) -> Vec<(String, String)> {
        self.0.metadata.clone()
    }
}

/// Result of `simulate`.
#[pyclass(frozen, module = "roundelay._native")]
pub(crate) struct Ran(call::Ran);

/// `roundelay simulate` with these words. `controls`: congestion controls by names of sources.
///
/// # Errors
/// The command's failure, or the exception of a scheduler or a congestion control.
#[pyfunction]
#[pyo3(signature = (words, given, own, controls, progress = None))]
pub(crate) fn simulate(
    py: Python<'_>,
    words: Vec<OsString>,
    given: Given,
    own: Vec<NumberedOwn<'_>>,
    controls: Vec<Chosen<'_>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Ran> {
    let fault = Fault::default();
    let (own, host) = (put(&own, &fault), Host { controls: custom(controls, &fault), ..host(&fault, given) });
    let report = Report::new(&host.gauge, progress);
    work::run(py, &fault, &report, || call::simulate(words, &host, &own)).map(Ran)
}

#[pymethods]
impl Ran {
    /// The output of `--json`.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| json(&self.0.simulated))
    }

    /// The page of `--html`.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.html())
    }

    /// The printed table.
    #[pyo3(signature = (width = None))]
    fn table(&self, py: Python<'_>, width: Option<u16>) -> String {
        py.detach(|| self.0.simulated.table(style(width)))
    }

    /// The rows of flows.parquet.
    fn flows(&self) -> PyResult<Table> {
        Table::new(&SIMULATED_FLOWS.rows(&self.0.simulated), &self.0.metadata)
    }

    /// The rows of links.parquet.
    fn links(&self) -> PyResult<Table> {
        Table::new(&LINKS.rows(&self.0.simulated), &self.0.metadata)
    }

    /// The rows of transfers.parquet; none unless the scenario measures transfers.
    fn transfers(&self) -> PyResult<Table> {
        Table::new(&TRANSFERS.rows(&self.0.simulated), &self.0.metadata)
    }

    /// The rows of rates.parquet; none unless the scenario measures rates.
    fn rates(&self) -> PyResult<Table> {
        Table::new(&RATES.rows(&self.0.simulated), &self.0.metadata)
    }

    /// Version, seed and hash of the scenario.
    #[getter]
    fn metadata(&self) -> Vec<(String, String)> {
        self.0.metadata.clone()
    }
}

/// Result of `replay`.
#[pyclass(frozen, module = "roundelay._native")]
pub(crate) struct Replays(Replayed);

/// `roundelay replay` with these words. `controls`: as in `simulate`.
///
/// # Errors
/// The command's failure.
#[pyfunction]
#[pyo3(signature = (words, given, controls, progress = None))]
pub(crate) fn replay(
    py: Python<'_>,
    words: Vec<OsString>,
    given: Given,
    controls: Vec<Chosen<'_>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Replays> {
    let fault = Fault::default();
    let host = Host { controls: custom(controls, &fault), ..host(&fault, given) };
    let report = Report::new(&host.gauge, progress);
    work::run(py, &fault, &report, || call::replay(words, &host)).map(Replays)
}

#[pymethods]
impl Replays {
    /// The output of `--json`.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| json(&self.0))
    }

    /// The page of `--html`.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.html())
    }

    /// The printed table.
    #[pyo3(signature = (width = None))]
    fn table(&self, py: Python<'_>, width: Option<u16>) -> String {
        py.detach(|| self.0.table(style(width)))
    }
}

/// The output of `roundelay bounds` with these words.
///
/// # Errors
/// The command's failure.
#[pyfunction]
pub(crate) fn bounds(py: Python<'_>, words: Vec<OsString>, given: Given) -> PyResult<String> {
    let fault = Fault::default();
    let host = host(&fault, given);
    work::run(py, &fault, &Report::default(), || call::bounds(words, &host))
}
