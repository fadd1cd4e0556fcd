//! The registry of disciplines for Python.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use roundelay::Limit;
use roundelay::author::Kind;
use roundelay::schedulers::{AnyDiscipline, Linux, LinuxFlows, ParameterInfo};

/// All disciplines: a dictionary each, with a list of parameters.
#[pyfunction]
pub(crate) fn disciplines(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let mut all = Vec::new();
    for discipline in AnyDiscipline::all() {
        all.push(described(py, &discipline)?);
    }
    Ok(all)
}

fn described<'py>(py: Python<'py>, discipline: &AnyDiscipline) -> PyResult<Bound<'py, PyDict>> {
    let info = discipline.info();
    let mut linux = None;
    let mut linux_flows = None;
    if let Linux::Qdisc { name, flows, .. } = info.linux {
        linux = Some(name);
        linux_flows = Some(match flows {
            LinuxFlows::Unread => "unread",
            LinuxFlows::Hashed => "hashed",
            LinuxFlows::Exact => "exact",
            LinuxFlows::Classes => "classes",
        });
    }
    let mut parameters = Vec::new();
    for parameter in &discipline.parameters() {
        parameters.push(parameter_of(py, parameter)?);
    }
    let Limit { packets, bytes } = info.default_limit;
    let entry = PyDict::new(py);
    entry.set_item("name", info.name)?;
    entry.set_item("about", info.about)?;
    entry.set_item("source", info.source)?;
    entry.set_item("linux", linux)?;
    entry.set_item("linux_flows", linux_flows)?;
    entry.set_item("weighted", info.weighted)?;
    entry.set_item("reorders", info.reorders)?;
    entry.set_item("complexity", info.complexity)?;
    entry.set_item("interior", info.interior)?;
    entry.set_item("default_limit_packets", limited(packets))?;
    entry.set_item("default_limit_bytes", limited(bytes))?;
    entry.set_item("parameters", parameters)?;
    Ok(entry)
}

/// None for no limit, which is the largest number in a [`Limit`].
fn limited(limit: u64) -> Option<u64> {
    match limit {
        u64::MAX => None,
        limit => Some(limit),
    }
}

fn parameter_of<'py>(py: Python<'py>, parameter: &ParameterInfo) -> PyResult<Bound<'py, PyDict>> {
    let (kind, words): (_, &[&str]) = match parameter.kind {
        Kind::Count => ("count", &[]),
        Kind::Size => ("size", &[]),
        Kind::Counts => ("counts", &[]),
        Kind::Sizes => ("sizes", &[]),
        Kind::Time | Kind::Seconds | Kind::Milliseconds => ("time", &[]),
        Kind::LinkRate => ("rate", &["link"]),
        Kind::Bandwidth => ("rate", &["unlimited"]),
        Kind::Number => ("number", &[]),
        Kind::Choice(words) => ("choice", words),
        Kind::Switch => ("switch", &[]),
    };
    let has_range = parameter.kind.has_range();
    let entry = PyDict::new(py);
    entry.set_item("name", parameter.name)?;
    entry.set_item("about", parameter.about)?;
    entry.set_item("kind", kind)?;
    entry.set_item("default", &parameter.value)?;
    entry.set_item("minimum", has_range.then_some(&parameter.range.0))?;
    entry.set_item("maximum", has_range.then_some(&parameter.range.1))?;
    entry.set_item("choices", words)?;
    entry.set_item("unit", parameter.kind.bare_unit())?;
    entry.set_item("legal", parameter.legal())?;
    Ok(entry)
}
