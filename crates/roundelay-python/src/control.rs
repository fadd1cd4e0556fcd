//! A congestion control written in Python, for TCP in the simulator.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use roundelay::Duration;
use roundelay_cli::call::CustomControl;
use roundelay_tcp::{CongestionControl, Cubic, MAX_WINDOW, Reno};

use crate::errors;
use crate::fault::Fault;
use crate::methods::{needed, optional};
use crate::own::seconds;

/// A connection's state when its congestion control is called.
#[pyclass(frozen, module = "roundelay")]
pub(crate) struct Feedback(roundelay_tcp::Feedback);

fn time(span: Option<Duration>) -> Option<f64> {
    span.map(Duration::as_secs_f64)
}

fn time_text(span: Option<Duration>) -> String {
    match span {
        Some(span) => span.as_secs_f64().to_string(),
        None => "None".to_owned(),
    }
}

#[pymethods]
impl Feedback {
    /// When the call happens, in seconds.
    #[getter]
    fn now(&self) -> f64 {
        seconds(self.0.now)
    }

    /// The congestion window before the call, bytes.
    #[getter]
    const fn window(&self) -> u64 {
        self.0.window
    }

    /// The slow start threshold before the call, bytes.
    #[getter]
    const fn threshold(&self) -> u64 {
        self.0.threshold
    }

    /// Most data in a segment, bytes.
    #[getter]
    const fn segment_length(&self) -> u64 {
        self.0.segment_len
    }

    /// Newly acknowledged data, bytes.
    #[getter]
    const fn acknowledged(&self) -> u64 {
        self.0.acknowledged
    }

    /// Data in the network, bytes.
    #[getter]
    const fn in_flight(&self) -> u64 {
        self.0.in_flight
    }

    /// The round trip measured by this acknowledgement, seconds.
    #[getter]
    fn round_trip(&self) -> Option<f64> {
        time(self.0.round_trip)
    }

    /// The smoothed round trip, seconds.
    #[getter]
    fn smoothed_round_trip(&self) -> Option<f64> {
        time(self.0.smoothed_round_trip)
    }

    fn __repr__(&self) -> String {
        let roundelay_tcp::Feedback {
            window,
            threshold,
            segment_len,
            acknowledged,
            in_flight,
            round_trip,
            smoothed_round_trip,
            ..
        } = self.0;
        format!(
            "Feedback(now={}, window={window}, threshold={threshold}, segment_length={segment_len}, acknowledged={acknowledged}, \
             in_flight={in_flight}, round_trip={}, smoothed_round_trip={})",
            self.now(),
            time_text(round_trip),
            time_text(smoothed_round_trip)
        )
    }
}

/// A class of congestion controls written in Python, or a built-in one.
#[pyclass(frozen, module = "roundelay._native")]
pub(crate) struct Control {
    name: String,
    kind: Kind,
}

enum Kind {
    /// What makes a control.
    Python(Arc<Py<PyAny>>),
    Reno,
    Cubic,
}

const BUILT_IN: [&str; 2] = ["reno", "cubic"];

#[pymethods]
impl Control {
    /// `make()` returns a new control. None: the built-in one with this name.
    #[new]
    fn new(py: Python<'_>, name: String, make: Option<Py<PyAny>>) -> PyResult<Self> {
        let kind = match (make, name.as_str()) {
            (Some(make), _) => Kind::Python(Arc::new(make)),
            (None, "reno") => Kind::Reno,
            (None, "cubic") => Kind::Cubic,
            (None, _) => {
                return Err(errors::unknown(py, "congestion control", &name, &BUILT_IN));
            }
        };
        Ok(Self { name, kind })
    }
}

impl Control {
    /// The control for a call. Exceptions of a class written in Python go to `fault`.
    pub(crate) fn custom(&self, fault: &Fault) -> CustomControl {
        let name = &self.name;
        match &self.kind {
            Kind::Python(make) => {
                let class: Arc<str> = name.as_str().into();
                let make = Arc::clone(make);
                let fault = fault.clone();
                CustomControl::new(name, move |_| PythonControl::new(&class, &make, &fault))
            }
            Kind::Reno => CustomControl::new(name, |_| Reno::default()),
            Kind::Cubic => CustomControl::new(name, Cubic::new),
        }
    }
}

const NEEDED: &str = "a congestion control has on_ack(feedback) and on_loss(feedback)";

/// Bound methods of a control written in Python.
struct Methods {
    ack: Py<PyAny>,
    loss: Py<PyAny>,
    mark: Py<PyAny>,
    timeout: Py<PyAny>,
    limited: Option<Py<PyAny>>,
}

impl Methods {
    fn of(py: Python<'_>, name: &str, control: &Bound<'_, PyAny>) -> PyResult<Self> {
        let loss = needed(control, name, "on_loss", NEEDED)?;
        let mark = optional(control, "on_mark")?;
        let timeout = optional(control, "on_timeout")?;
        Ok(Self {
            ack: needed(control, name, "on_ack", NEEDED)?,
            mark: mark.unwrap_or_else(|| loss.clone_ref(py)),
            timeout: timeout.unwrap_or_else(|| loss.clone_ref(py)),
            limited: optional(control, "on_limited")?,
            loss,
        })
    }
}

/// One connection's control, around a Python object. After an exception or a request to stop, the
/// control leaves window and threshold as they are.
struct PythonControl {
    name: Arc<str>,
    methods: Option<Methods>,
    calls: u64,
    fault: Fault,
}

impl PythonControl {
    fn new(name: &Arc<str>, make: &Py<PyAny>, fault: &Fault) -> Self {
        let methods = Python::attach(|py| {
            let control = make.bind(py).call0()?;
            Methods::of(py, name, &control)
        });
        let methods = match methods {
            Ok(methods) => Some(methods),
            Err(error) => {
                fault.raise(error);
                None
            }
        };
        Self {
            name: Arc::clone(name),
            methods,
            calls: 0,
            fault: fault.clone(),
        }
    }

    /// Calls a method. None after an exception.
    fn call<R>(
        &mut self,
        name: &str,
        method: fn(&Methods) -> Option<&Py<PyAny>>,
        feedback: &roundelay_tcp::Feedback,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>,
    ) -> Option<R> {
        if self.fault.is_over() {
            return None;
        }
        let method = method(self.methods.as_ref()?)?;
        self.calls += 1;
        Python::attach(|py| match answer(py, method, feedback, read) {
            Ok(answer) => Some(answer),
            Err(error) => {
                let shown = Feedback(*feedback).__repr__();
                let note = format!("in call {} of {}: {name}({shown})", self.calls, self.name);
                drop(error.add_note(py, note));
                self.fault.raise(error);
                None
            }
        })
    }

    /// Calls a method that returns a window or threshold.
    fn ask(
        &mut self,
        name: &str,
        method: fn(&Methods) -> Option<&Py<PyAny>>,
        feedback: &roundelay_tcp::Feedback,
        before: u64,
    ) -> u64 {
        let class = Arc::clone(&self.name);
        self.call(name, method, feedback, |returned| {
            bytes(returned, &class, name, feedback.segment_len)
        })
        .unwrap_or(before)
    }
}

/// What a method returns to the feedback, read by `read`.
fn answer<R>(
    py: Python<'_>,
    method: &Py<PyAny>,
    feedback: &roundelay_tcp::Feedback,
    read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>,
) -> PyResult<R> {
    let feedback = Py::new(py, Feedback(*feedback))?;
    let returned = method.bind(py).call1((feedback,))?;
    read(&returned)
}

/// The bytes that a method returned, rounded down.
fn bytes(returned: &Bound<'_, PyAny>, class: &str, method: &str, least: u64) -> PyResult<u64> {
    let py = returned.py();
    let given = match returned.extract::<f64>() {
        Ok(number) if (least as f64..=MAX_WINDOW as f64).contains(&number) => {
            return Ok(number as u64);
        }
        Ok(_) => returned.str()?.to_string(),
        Err(_) if returned.is_none() => "None".to_owned(),
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            returned.get_type().name()?.to_string()
        }
        // An integer beyond the range of floats.
        Err(_) => returned.repr()?.to_string(),
    };
    let legal = format!("{least} to {MAX_WINDOW} bytes");
    let message = format!(
        "{class}: {method} returned {given}; expected a window, a number of bytes: legal range \
         {legal}"
    );
    Err(errors::contract(py, message, Some((&given, &legal))))
}

impl CongestionControl for PythonControl {
    fn on_ack(&mut self, feedback: &roundelay_tcp::Feedback) -> u64 {
        self.ask(
            "on_ack",
            |methods| Some(&methods.ack),
            feedback,
            feedback.window,
        )
    }

    fn on_limited(&mut self, feedback: &roundelay_tcp::Feedback) {
        self.call(
            "on_limited",
            |methods| methods.limited.as_ref(),
            feedback,
            |_| Ok(()),
        );
    }

    fn on_loss(&mut self, feedback: &roundelay_tcp::Feedback) -> u64 {
        self.ask(
            "on_loss",
            |methods| Some(&methods.loss),
            feedback,
            feedback.threshold,
        )
    }

    fn on_mark(&mut self, feedback: &roundelay_tcp::Feedback) -> u64 {
        self.ask(
            "on_mark",
            |methods| Some(&methods.mark),
            feedback,
            feedback.threshold,
        )
    }

    fn on_timeout(&mut self, feedback: &roundelay_tcp::Feedback) -> u64 {
        self.ask(
            "on_timeout",
            |methods| Some(&methods.timeout),
            feedback,
            feedback.threshold,
        )
    }
}
