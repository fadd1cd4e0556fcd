//! What schedulers written in Python raise, and the request to stop that follows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use roundelay_cli::call::{Notes, Stop};

/// The first exception that any scheduler written in Python raises in a call, or in one run of a
/// sweep. Requests that the call or the run stops.
#[derive(Clone, Default)]
pub(crate) struct Fault {
    first: Arc<Mutex<Option<PyErr>>>,
    stop: Stop,
    notes: Notes,
    /// Stop of the sweep to which the run belongs.
    outer: Option<Stop>,
}

impl Fault {
    /// For one run of a sweep with this stop.
    pub(crate) fn of_run(sweep: &Stop) -> Self {
        Self {
            outer: Some(sweep.clone()),
            ..Self::default()
        }
    }

    /// Whether classes written in Python should not be called any more.
    pub(crate) fn is_over(&self) -> bool {
        self.stop.is_requested() || self.outer.as_ref().is_some_and(Stop::is_requested)
    }

    /// Takes the exception, and gives its text with its notes.
    pub(crate) fn take_message(&self) -> Option<String> {
        let error = self.take()?;
        Some(Python::attach(|py| text_with_notes(py, &error)))
    }

    pub(crate) const fn stop(&self) -> &Stop {
        &self.stop
    }

    pub(crate) const fn notes(&self) -> &Notes {
        &self.notes
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.first().take()
    }

    pub(crate) fn raise(&self, error: PyErr) {
        self.first().get_or_insert(error);
        self.stop.request();
    }

    fn first(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn text_with_notes(py: Python<'_>, error: &PyErr) -> String {
    let mut notes: Vec<String> = Vec::new();
    if let Ok(attribute) = error.value(py).getattr("__notes__") {
        notes = attribute.extract().unwrap_or_default();
    }
    let notes = notes.join("; ");
    if notes.is_empty() {
        error.to_string()
    } else {
        format!("{error} ({notes})")
    }
}
