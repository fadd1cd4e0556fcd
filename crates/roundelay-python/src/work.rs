//! Native work on a thread of its own, while the calling thread waits for signals and reports
//! progress.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use roundelay_cli::Failure;
use roundelay_cli::call::{Gauge, Stop};

use crate::errors;
use crate::fault::Fault;

/// Time between two checks for signals.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A call's progress: reported to a Python function, if any, as the work done and all work.
#[derive(Default)]
pub(crate) struct Report {
    gauge: Gauge,
    to: Option<Py<PyAny>>,
    reported: AtomicU64,
}

impl Report {
    pub(crate) fn new(gauge: &Gauge, to: Option<Py<PyAny>>) -> Self {
        Self {
            gauge: gauge.clone(),
            to,
            reported: AtomicU64::new(0),
        }
    }

    /// Calls the function, if there is progress.
    fn tell(&self, py: Python<'_>) -> PyResult<()> {
        let Some(to) = &self.to else {
            return Ok(());
        };
        let (done, whole) = self.gauge.read();
        if whole > 0 && done > self.reported.swap(done, Ordering::Relaxed) {
            to.call1(py, (done.min(whole), whole))?;
        }
        Ok(())
    }
}

/// Runs a thread's work with a Python thread state that lasts as long as the thread. Without one,
/// each call to a scheduler written in Python would make a state and delete it again, which takes
/// several microseconds.
pub(crate) fn with_state(work: Box<dyn FnOnce() + Send + '_>) {
    Python::attach(|py| py.detach(work));
}

/// Runs `work` without the GIL. If a signal handler raises an exception (KeyboardInterrupt for
/// Ctrl-C), or the function for progress does, a stop is requested and the exception is raised once
/// the work has ended. The thread ends with the call.
///
/// # Errors
/// The exception of a signal handler or of a scheduler written in Python, else the failure of the
/// work.
pub(crate) fn run<R: Send>(
    py: Python<'_>,
    fault: &Fault,
    report: &Report,
    work: impl FnOnce() -> Result<R, Failure> + Send,
) -> PyResult<R> {
    let stop = fault.stop();
    let (outcome, signal) = py.detach(|| run_beside(stop, report, work));
    if let Some(error) = signal.or_else(|| fault.take()) {
        return Err(error);
    }
    match outcome {
        Err(_) => Err(PyRuntimeError::new_err(
            "the computation failed; its message is on standard error",
        )),
        Ok(Ok(result)) => {
            report.tell(py)?;
            Ok(result)
        }
        Ok(Err(failure)) if failure.is_stopped_by_caller() => Err(PyKeyboardInterrupt::new_err(())),
        Ok(Err(failure)) => Err(errors::exception(py, &failure)),
    }
}

/// Runs `work` on a thread of its own, while this thread asks for signals and reports progress.
/// Returns the work's result, and the first exception of a signal handler or of the function for
/// progress.
fn run_beside<R: Send>(
    stop: &Stop,
    report: &Report,
    work: impl FnOnce() -> R + Send,
) -> (thread::Result<R>, Option<PyErr>) {
    thread::scope(|scope| {
        let (ending, has_ended) = mpsc::channel::<()>();
        let worker = scope.spawn(move || {
            // Dropped at the end, also by a panic.
            let _ending = ending;
            // As in `with_state`: the thread keeps its Python state while it works.
            Python::attach(|py| py.detach(work))
        });
        let mut signal = None;
        while has_ended.recv_timeout(LOOK_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
            let checked = Python::attach(|py| {
                py.check_signals()?;
                report.tell(py)
            });
            if let Err(error) = checked {
                stop.request();
                signal.get_or_insert(error);
            }
        }
        (worker.join(), signal)
    })
}
