//! Commands that return results: compare, simulate, replay, bounds.

use std::ffi::OsString;

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use roundelay::schedulers::AnyDiscipline;
use roundelay_cli::call::{self, CustomControl, Host, Text};
use roundelay_report::{
    COMPARED, Document, Replayed, SIMULATED, SideBySide, TableOf, TableStyle, document, json,
};

use crate::arguments::whole;
use crate::control::Control;
use crate::fault::Fault;
use crate::own::Own;
use crate::tables::Table;
use crate::work::{self, Report};

/// A text in place of the file `-`: its name in messages, and its content.
pub(crate) type Given = Option<(String, String)>;

pub(crate) fn host(fault: &Fault, given: Given) -> Host {
    let text = given.map(|(name, text)| Text { name, text });
    Host {
        stop: fault.stop().clone(),
        notes: fault.notes().clone(),
        text,
        ..Host::default()
    }
}

/// A scheduler of your own, with its number among the disciplines of the arguments.
type NumberedOwn<'py> = (usize, PyRef<'py, Own>);

fn disciplines_of(own: &[NumberedOwn<'_>], fault: &Fault) -> Vec<(usize, AnyDiscipline)> {
    let mut disciplines = Vec::new();
    for (number, own) in own {
        disciplines.push((*number, own.discipline(fault)));
    }
    disciplines
}

/// A congestion control, and its source's name.
type Chosen<'py> = (String, PyRef<'py, Control>);

fn controls_of(chosen: Vec<Chosen<'_>>, fault: &Fault) -> Vec<(String, CustomControl)> {
    let mut controls = Vec::new();
    for (source, control) in chosen {
        controls.push((source, control.custom(fault)));
    }
    controls
}

/// Version, seed and hash of the configuration or the scenario.
type Metadata = Vec<(String, String)>;

/// A command's result, from a run or from a pickle.
#[pyclass(frozen, module = "roundelay._native")]
pub(crate) struct Outcome(Form);

enum Form {
    Compared(Box<call::Compared>),
    Ran(Box<call::Ran>),
    Replayed(Box<Replayed>),
    Queues(Box<SideBySide>),
    Drawn(Box<call::Drawn>),
    Kept(Box<Kept>),
}

/// All that a result shows.
struct Kept {
    json: String,
    html: String,
    document: Document,
    metadata: Metadata,
    tables: Vec<(String, Py<Table>)>,
}

/// Rows of the table with this name.
///
/// # Errors
/// `KeyError`: no table has the name.
fn rows<R>(
    py: Python<'_>,
    tables: &[&TableOf<R>],
    results: &R,
    name: &str,
    metadata: &Metadata,
) -> PyResult<Py<Table>> {
    for table in tables {
        if table.name == name {
            return Py::new(py, Table::new(&table.rows(results), metadata)?);
        }
    }
    Err(no_table(name))
}

fn no_table(name: &str) -> PyErr {
    PyKeyError::new_err(name.to_owned())
}

impl Form {
    fn json(&self) -> String {
        match self {
            Self::Compared(compared) => compared.json(),
            Self::Ran(ran) => json(&ran.simulated),
            Self::Replayed(replayed) => json(&**replayed),
            Self::Queues(queues) => json(&**queues),
            Self::Drawn(drawn) => json(&drawn.plotted),
            Self::Kept(kept) => kept.json.clone(),
        }
    }

    fn html(&self) -> String {
        match self {
            Self::Compared(compared) => compared.html(),
            Self::Ran(ran) => ran.html(),
            Self::Replayed(replayed) => replayed.html(),
            Self::Queues(queues) => queues.html(),
            Self::Drawn(drawn) => drawn.plotted.html(&drawn.figures),
            Self::Kept(kept) => kept.html.clone(),
        }
    }

    fn document(&self) -> Document {
        match self {
            Self::Compared(compared) => document(&compared.advised),
            Self::Ran(ran) => ran.simulated.document(),
            Self::Replayed(replayed) => replayed.document(),
            Self::Queues(queues) => queues.document(),
            Self::Drawn(drawn) => drawn.plotted.document(),
            Self::Kept(kept) => kept.document.clone(),
        }
    }

    fn metadata(&self) -> Metadata {
        match self {
            Self::Compared(compared) => compared.metadata.clone(),
            Self::Ran(ran) => ran.metadata.clone(),
            Self::Replayed(_) | Self::Queues(_) | Self::Drawn(_) => Metadata::new(),
            Self::Kept(kept) => kept.metadata.clone(),
        }
    }

    fn tables(&self) -> Vec<&str> {
        match self {
            Self::Compared(_) => COMPARED.map(|table| table.name).into(),
            Self::Ran(_) => SIMULATED.map(|table| table.name).into(),
            Self::Replayed(_) | Self::Queues(_) | Self::Drawn(_) => Vec::new(),
            Self::Kept(kept) => kept.tables.iter().map(|(name, _)| name.as_str()).collect(),
        }
    }

    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Py<Table>> {
        match self {
            Self::Compared(compared) => rows(
                py,
                &COMPARED,
                &compared.advised.comparison,
                name,
                &compared.metadata,
            ),
            Self::Ran(ran) => rows(py, &SIMULATED, &ran.simulated, name, &ran.metadata),
            Self::Replayed(_) | Self::Queues(_) | Self::Drawn(_) => Err(no_table(name)),
            Self::Kept(kept) => {
                for (known, table) in &kept.tables {
                    if known == name {
                        return Ok(table.clone_ref(py));
                    }
                }
                Err(no_table(name))
            }
        }
    }
}

/// Arguments for [`Outcome::new`].
type Parts = (String, String, String, Metadata, Vec<(String, Py<Table>)>);

#[pymethods]
impl Outcome {
    /// Takes a result out of a pickle.
    #[new]
    fn new(
        json: String,
        html: String,
        document: &str,
        metadata: Metadata,
        tables: Vec<(String, Py<Table>)>,
    ) -> PyResult<Self> {
        let document = serde_json::from_str(document);
        let document = document.map_err(|error| {
            PyValueError::new_err(format!("a result of another version of Roundelay: {error}"))
        })?;
        Ok(Self(Form::Kept(Box::new(Kept {
            json,
            html,
            document,
            metadata,
            tables,
        }))))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, Parts)> {
        let form = &slf.get().0;
        let texts = slf.py().detach(|| {
            let document = serde_json::to_string(&form.document());
            let document = document.expect("plain data with string keys always serialises");
            (form.json(), form.html(), document)
        });
        let mut tables = Vec::new();
        for name in form.tables() {
            tables.push((name.to_owned(), form.table(slf.py(), name)?));
        }
        let (json, html, document) = texts;
        let parts = (json, html, document, form.metadata(), tables);
        Ok((slf.get_type(), parts))
    }

    /// What `--json` prints.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.json())
    }

    /// The page that `--html` writes.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.html())
    }

    /// The printed report.
    #[pyo3(signature = (width = None))]
    fn text(&self, py: Python<'_>, width: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
        let width = match width {
            Some(width) => Some(whole("width", width, 0..=u16::MAX)?),
            None => None,
        };
        Ok(py.detach(|| {
            self.0.document().text(TableStyle {
                color: false,
                width,
            })
        }))
    }

    /// The printed report, as a part of an HTML page.
    fn part(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.document().html())
    }

    /// Rows of the Parquet file with this name. None where the scenario does not measure them.
    fn rows(&self, py: Python<'_>, name: &str) -> PyResult<Py<Table>> {
        self.0.table(py, name)
    }

    /// Version, seed and hash of the configuration or the scenario.
    #[getter]
    fn metadata(&self) -> Metadata {
        self.0.metadata()
    }
}

/// `roundelay compare` with these words.
///
/// # Errors
/// The command's failure, or the exception of a scheduler.
#[pyfunction]
#[pyo3(signature = (words, own, progress = None))]
pub(crate) fn compare(
    py: Python<'_>,
    words: Vec<OsString>,
    own: Vec<NumberedOwn<'_>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let fault = Fault::default();
    let own = disciplines_of(&own, &fault);
    let host = host(&fault, None);
    let report = Report::new(&host.gauge, progress);
    let compared = work::run(py, &fault, &report, || call::compare(words, &host, &own))?;
    Ok(Outcome(Form::Compared(Box::new(compared))))
}

/// `roundelay simulate` with these words. `controls` are congestion controls by source name.
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
) -> PyResult<Outcome> {
    let fault = Fault::default();
    let own = disciplines_of(&own, &fault);
    let host = Host {
        controls: controls_of(controls, &fault),
        draws: true,
        ..host(&fault, given)
    };
    let report = Report::new(&host.gauge, progress);
    let ran = work::run(py, &fault, &report, || call::simulate(words, &host, &own))?;
    Ok(Outcome(Form::Ran(Box::new(ran))))
}

/// `roundelay simulate` with these words, which name several queues, or with one beside those that
/// the scenario has.
///
/// # Errors
/// The command's failure, or the exception of a scheduler or a congestion control.
#[pyfunction]
#[pyo3(signature = (words, given, own, controls, pair, progress = None))]
pub(crate) fn simulate_queues(
    py: Python<'_>,
    words: Vec<OsString>,
    given: Given,
    own: Vec<NumberedOwn<'_>>,
    controls: Vec<Chosen<'_>>,
    pair: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let fault = Fault::default();
    let own = disciplines_of(&own, &fault);
    let host = Host {
        controls: controls_of(controls, &fault),
        draws: true,
        is_paired: pair,
        ..host(&fault, given)
    };
    let report = Report::new(&host.gauge, progress);
    let queues = work::run(py, &fault, &report, || {
        call::simulate_queues(words, &host, &own)
    })?;
    Ok(Outcome(Form::Queues(Box::new(queues))))
}

/// `roundelay plot` for results as JSON, each with its label.
///
/// # Errors
/// The command's failure.
#[pyfunction]
#[pyo3(signature = (results, figure, kinds))]
pub(crate) fn plot(
    py: Python<'_>,
    results: Vec<(String, String)>,
    figure: Option<String>,
    kinds: Vec<String>,
) -> PyResult<Outcome> {
    let fault = Fault::default();
    let drawn = work::run(py, &fault, &Report::default(), || {
        call::plot(results, figure.as_deref(), &kinds)
    })?;
    Ok(Outcome(Form::Drawn(Box::new(drawn))))
}

/// `roundelay replay` with these words. `given` is a scenario as text, in place of the file `-`, and
/// `controls` are congestion controls by the names of their sources.
///
/// # Errors
/// The command's failure, or the exception of a congestion control.
#[pyfunction]
#[pyo3(signature = (words, given, controls, progress = None))]
pub(crate) fn replay(
    py: Python<'_>,
    words: Vec<OsString>,
    given: Given,
    controls: Vec<Chosen<'_>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let fault = Fault::default();
    let host = Host {
        controls: controls_of(controls, &fault),
        ..host(&fault, given)
    };
    let report = Report::new(&host.gauge, progress);
    let replayed = work::run(py, &fault, &report, || call::replay(words, &host))?;
    Ok(Outcome(Form::Replayed(Box::new(replayed))))
}

/// What `roundelay bounds` prints with these words.
///
/// # Errors
/// The command's failure.
#[pyfunction]
pub(crate) fn bounds(py: Python<'_>, words: Vec<OsString>, given: Given) -> PyResult<String> {
    let fault = Fault::default();
    let host = host(&fault, given);
    work::run(py, &fault, &Report::default(), || {
        call::bounds(words, &host)
    })
}
