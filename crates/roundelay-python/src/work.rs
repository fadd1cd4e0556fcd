//! Native work on a thread of its own, while the calling thread waits for signals.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use roundelay_cli::Failure;
use roundelay_cli::call::Stop;

use crate::errors;
use crate::own::Fault;

/// Time between two looks for signals.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs `work` without the GIL. A signal handler's exception, KeyboardInterrupt for Ctrl-C, requests a
/// stop and is raised once the work has ended; the thread ends with the call.
///
/// # Errors
/// The exception of a signal handler or of a scheduler written in Python, else the failure of the work.
pub(crate) fn run<R: Send>(py: Python<'_>, fault: &Fault, work: impl FnOnce() -> Result<R, Failure> + Send) -> PyResult<R> {
    let stop = fault.stop();
    let (outcome, signal) = py.detach(|| waiting(stop, work));
    if let Some(error) = signal.or_else(|| fault.take()) {
        return Err(error);
    }
    match outcome {
        Err(_) => Err(PyRuntimeError::new_err("the computation panicked; its message is on standard error")),
        Ok(Ok(result)) => Ok(result),
        Ok(Err(failure)) if failure.is_stopped() => Err(PyKeyboardInterrupt::new_err(())),
        Ok(Err(failure)) => Err(errors::exception(py, &failure)),
    }
}

fn waiting<R: Send>(stop: &Stop, work: impl FnOnce() -> R + Send) -> (thread::Result<R>, Option<PyErr>) {
    thread::scope(|scope| {
        let (ending, has_ended) = mpsc::channel::<()>();
        let worker = scope.spawn(move || {
            // Dropped at the end, also by a panic.
            let _ending = ending;
            work()
        });
        let mut signal = None;
        while has_ended.recv_timeout(LOOK_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
            if let Err(error) = Python::attach(|py| py.check_signals()) {
                stop.request();
                signal.get_or_insert(error);
            }
        }
        (worker.join(), signal)
    })
}
