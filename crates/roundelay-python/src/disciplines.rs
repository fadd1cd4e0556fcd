//! The registry of disciplines for Python.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use roundelay::Limit;
use roundelay::author::Kind;
use roundelay::schedulers::{AnyDiscipline, Linux, LinuxFlows, ParameterInfo};

/// All disciplines: a dictionary each, with a list of parameters.
#[pyfunction]
pub(crate) fn disciplines(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    AnyDiscipline::all()
        .iter()
        .map(|discipline| described(py, discipline))
        .collect()
}

fn described<'py>(py: Python<'py>, discipline: &AnyDiscipline) -> PyResult<Bound<'py, PyDict>> {
    let info = discipline.info();
    let (linux, linux_flows) = match info.linux {
        Linux::Absent => (None, None),
        Linux::Qdisc { name, flows, .. } => (Some(name), Some(flows)),
    };
    let linux_flows = linux_flows.map(|flows| match flows {
        LinuxFlows::Unread => "unread",
        LinuxFlows::Hashed => "hashed",
        LinuxFlows::Exact => "exact",
        LinuxFlows::Classes => "classes",
    });
    let Limit { packets, bytes } = info.default_limit;
    let some = |number: u64| (number != u64::MAX).then_some(number);
    let all = PyDict::new(py);
    all.set_item("name", info.name)?;
    all.set_item("about", info.about)?;
    all.set_item("source", info.source)?;
    all.set_item("linux", linux)?;
    all.set_item("linux_flows", linux_flows)?;
    all.set_item("weighted", info.weighted)?;
    all.set_item("reorders", info.reorders)?;
    all.set_item("complexity", info.complexity)?;
    all.set_item("interior", info.interior)?;
    all.set_item("default_limit_packets", some(packets))?;
    all.set_item("default_limit_bytes", some(bytes))?;
    let parameters: Vec<_> = info
        .parameters
        .iter()
        .map(|parameter| parameter_of(py, parameter))
        .collect::<PyResult<_>>()?;
    all.set_item("parameters", parameters)?;
    Ok(all)
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
    let all = PyDict::new(py);
    all.set_item("name", parameter.name)?;
    all.set_item("about", parameter.about)?;
    all.set_item("kind", kind)?;
    all.set_item("default", &parameter.value)?;
    all.set_item("minimum", has_range.then_some(&parameter.range.0))?;
    all.set_item("maximum", has_range.then_some(&parameter.range.1))?;
    all.set_item("choices", words)?;
    all.set_item("unit", parameter.kind.bare_unit())?;
    all.set_item("legal", parameter.legal())?;
    Ok(all)
}
