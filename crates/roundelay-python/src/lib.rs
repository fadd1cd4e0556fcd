//! `roundelay._native`: the Python package's compiled module.
//!
//! Calls take the words of the command line and run the command's own code
//! ([`roundelay_cli::call`]), so checks, defaults, messages and results are the command's. The
//! typed interface is Python, in `python/roundelay`. The types here serve that code and have no
//! stable interface of their own.
//!
//! The GIL is released while native code runs, and acquired for each call of a scheduler or a
//! congestion control written in Python. The calling thread waits, and asks Python for signals
//! every 20 ms, so that Ctrl-C works.

mod arguments;
mod by_hand;
mod control;
mod disciplines;
mod errors;
mod fault;
mod methods;
mod own;
mod packet;
mod results;
mod sweeps;
mod tables;
mod work;

use pyo3::prelude::*;

/// The compiled part of the package `roundelay`. No state relies on the GIL, because classes are
/// frozen, with locks or atomics for what changes, and so are the process's few statics.
#[pymodule(gil_used = false)]
mod _native {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::path::PathBuf;

    use pyo3::prelude::*;
    use roundelay_cli::call;

    #[pymodule_export]
    use crate::by_hand::Scheduler;
    #[pymodule_export]
    use crate::control::{Control, Feedback};
    #[pymodule_export]
    use crate::disciplines::disciplines;
    #[pymodule_export]
    use crate::own::{Own, check};
    #[pymodule_export]
    use crate::packet::{Drop, Packet};
    #[pymodule_export]
    use crate::results::{Outcome, bounds, compare, plot, replay, simulate, simulate_queues};
    #[pymodule_export]
    use crate::sweeps::{Classes, Session, Swept, sweep, sweep_task};
    #[pymodule_export]
    use crate::tables::{Table, unpickled_table};

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        call::set_around_threads(crate::work::with_state);
        Ok(())
    }

    /// Version of Roundelay.
    #[pymodule_export]
    #[allow(
        non_upper_case_globals,
        reason = "the name that Python programs expect"
    )]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// The command `roundelay` with these arguments, the program's name first. Returns the exit
    /// status. `file` is the file of this module.
    #[pyfunction]
    fn main(py: Python<'_>, file: PathBuf, arguments: Vec<OsString>) -> u8 {
        call::set_program_file(file);
        py.detach(|| roundelay_cli::main(arguments))
    }

    /// As `main`, but a failure of the command is an exception and is not printed.
    #[pyfunction]
    fn attempt(py: Python<'_>, file: PathBuf, arguments: Vec<OsString>) -> PyResult<u8> {
        call::set_program_file(file);
        py.detach(|| roundelay_cli::attempt(arguments))
            .map_err(|failure| crate::errors::exception(py, &failure))
    }

    /// All papers' items: [paper, item, title, label, description] and whether there is a plan.
    #[pyfunction]
    fn papers(py: Python<'_>) -> PyResult<Vec<([String; 5], bool)>> {
        let items = call::papers().map_err(|failure| crate::errors::exception(py, &failure))?;
        let mut papers = Vec::new();
        for item in items {
            let texts = [item.paper, item.item, item.title, item.label, item.about];
            papers.push((texts, item.runs));
        }
        Ok(papers)
    }

    /// A command's options with what each takes: `path`, `value` or nothing (`switch`).
    #[pyfunction]
    fn options(command: &str) -> BTreeMap<String, call::Takes> {
        call::options(command).into_iter().collect()
    }

    /// The JSON Schema for scenarios.
    #[pyfunction]
    fn schema() -> &'static str {
        call::schema()
    }

    /// The text of a scenario to start from.
    #[pyfunction]
    fn template(name: &str) -> Option<&'static str> {
        call::template(name)
    }
}
