//! Commands that return results: compare, simulate, replay, bounds.

use std::ffi::OsString;

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use roundelay_cli::call::{self, CustomControl, Host, Text};
use roundelay_report::{
    COMPARED, Document, Replayed, SIMULATED, TableOf, TableStyle, document, json,
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

fn put(
    own: &[NumberedOwn<'_>],
    fault: &Fault,
) -> Vec<(usize, roundelay::schedulers::AnyDiscipline)> {
    own.iter()
        .map(|(number, own)| (*number, own.discipline(fault)))
        .collect()
}

/// A congestion control, and its source's name.
type Chosen<'py> = (String, PyRef<'py, Control>);

fn custom(controls: Vec<Chosen<'_>>, fault: &Fault) -> Vec<(String, CustomControl)> {
    controls
        .into_iter()
        .map(|(source, control)| (source, control.custom(fault)))
        .collect()
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

fn rows<R>(
    py: Python<'_>,
    tables: &[&TableOf<R>],
    results: &R,
    name: &str,
    metadata: &Metadata,
) -> Option<PyResult<Py<Table>>> {
    let table = tables.iter().find(|table| table.name == name)?;
    Some(Table::new(&table.rows(results), metadata).and_then(|table| Py::new(py, table)))
}

impl Form {
    fn json(&self) -> String {
        match self {
            Self::Compared(compared) => compared.json(),
            Self::Ran(ran) => json(&ran.simulated),
            Self::Replayed(replayed) => json(&**replayed),
            Self::Kept(kept) => kept.json.clone(),
        }
    }

    fn html(&self) -> String {
        match self {
            Self::Compared(compared) => compared.html(),
            Self::Ran(ran) => ran.html(),
            Self::Replayed(replayed) => replayed.html(),
            Self::Kept(kept) => kept.html.clone(),
        }
    }

    fn document(&self) -> Document {
        match self {
            Self::Compared(compared) => document(&compared.advised),
            Self::Ran(ran) => ran.simulated.document(),
            Self::Replayed(replayed) => replayed.document(),
            Self::Kept(kept) => kept.document.clone(),
        }
    }

    fn metadata(&self) -> Metadata {
        match self {
            Self::Compared(compared) => compared.metadata.clone(),
            Self::Ran(ran) => ran.metadata.clone(),
            Self::Replayed(_) => Metadata::new(),
            Self::Kept(kept) => kept.metadata.clone(),
        }
    }

    fn tables(&self) -> Vec<&str> {
        match self {
            Self::Compared(_) => COMPARED.map(|table| table.name).into(),
            Self::Ran(_) => SIMULATED.map(|table| table.name).into(),
            Self::Replayed(_) => Vec::new(),
            Self::Kept(kept) => kept.tables.iter().map(|(name, _)| name.as_str()).collect(),
        }
    }

    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Py<Table>> {
        let table = match self {
            Self::Compared(compared) => rows(
                py,
                &COMPARED,
                &compared.advised.comparison,
                name,
                &compared.metadata,
            ),
            Self::Ran(ran) => rows(py, &SIMULATED, &ran.simulated, name, &ran.metadata),
            Self::Replayed(_) => None,
            Self::Kept(kept) => kept
                .tables
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, table)| Ok(table.clone_ref(py))),
        };
        table.unwrap_or_else(|| Err(PyKeyError::new_err(name.to_owned())))
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
        let table = |name: &str| Ok((name.to_owned(), form.table(slf.py(), name)?));
        let tables = form
            .tables()
            .into_iter()
            .map(table)
            .collect::<PyResult<_>>()?;
        Ok((
            slf.get_type(),
            (texts.0, texts.1, texts.2, form.metadata(), tables),
        ))
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
        let width = width
            .map(|width| whole("width", width, 0..=u16::MAX))
            .transpose()?;
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
    let own = put(&own, &fault);
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
    let own = put(&own, &fault);
    let host = Host {
        controls: custom(controls, &fault),
        ..host(&fault, given)
    };
    let report = Report::new(&host.gauge, progress);
    let ran = work::run(py, &fault, &report, || call::simulate(words, &host, &own))?;
    Ok(Outcome(Form::Ran(Box::new(ran))))
}

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
) -> PyResult<Outcome> {
    let fault = Fault::default();
    let host = Host {
        controls: custom(controls, &fault),
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
