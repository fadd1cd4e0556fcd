//! A congestion control written in Python, for TCP in the simulator.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use roundelay::Duration;
use roundelay_cli::call::CustomControl;
use roundelay_tcp::{CongestionControl, Cubic, MAX_WINDOW, Reno};

use crate::errors;
use crate::fault::Fault;
use crate::own::seconds;

/// A connection's state when its congestion control is called.
#[pyclass(frozen, module = "roundelay")]
pub(crate) struct Feedback(roundelay_tcp::Feedback);

fn time(span: Option<Duration>) -> Option<f64> {
    span.map(Duration::as_secs_f64)
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
        let time =
            |span| time(span).map_or_else(|| "None".to_owned(), |seconds| seconds.to_string());
        format!(
            "Feedback(now={}, window={window}, threshold={threshold}, segment_length={segment_len}, acknowledged={acknowledged}, \
             in_flight={in_flight}, round_trip={}, smoothed_round_trip={})",
            self.now(),
            time(round_trip),
            time(smoothed_round_trip)
        )
    }
}

/// A class of congestion controls written in Python, or a built-in one.
#[pyclass(frozen, module = "roundelay._native")]
pub(crate) struct Control {
    name: String,
    make: Option<Arc<Py<PyAny>>>,
}

#[pymethods]
impl Control {
    /// `make()` returns a new control. None: the built-in one with this name.
    #[new]
    fn new(py: Python<'_>, name: String, make: Option<Py<PyAny>>) -> PyResult<Self> {
        if make.is_none() && !BUILT_IN.contains(&name.as_str()) {
            return Err(errors::unknown(py, "congestion control", &name, &BUILT_IN));
        }
        Ok(Self {
            name,
            make: make.map(Arc::new),
        })
    }
}

const BUILT_IN: [&str; 2] = ["reno", "cubic"];

impl Control {
    pub(crate) fn custom(&self, fault: &Fault) -> CustomControl {
        let Self { name, make } = self;
        match (make.clone(), name.as_str()) {
            (Some(make), _) => {
                let fault = fault.clone();
                let class: Arc<str> = name.as_str().into();
                CustomControl::new(name, move |_| PythonControl::new(&class, &make, &fault))
            }
            (None, "reno") => CustomControl::new(name, |_| Reno::default()),
            (None, _) => CustomControl::new(name, Cubic::new),
        }
    }
}

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
        let optional = |method: &str| PyResult::Ok(control.getattr_opt(method)?.map(Bound::unbind));
        let needed = |method: &str| {
            let missing = || {
                errors::contract(
                    py,
                    format!(
                        "{name} has no method {method}; a congestion control has on_ack(feedback) and on_loss(feedback)"
                    ),
                    None,
                )
            };
            optional(method)?.ok_or_else(missing)
        };
        let loss = needed("on_loss")?;
        let mark = optional("on_mark")?;
        let timeout = optional("on_timeout")?;
        Ok(Self {
            ack: needed("on_ack")?,
            mark: mark.unwrap_or_else(|| loss.clone_ref(py)),
            timeout: timeout.unwrap_or_else(|| loss.clone_ref(py)),
            limited: optional("on_limited")?,
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
            make.bind(py)
                .call0()
                .and_then(|control| Methods::of(py, name, &control))
        });
        let methods = methods.map_err(|error| fault.raise(error)).ok();
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
        let method = method(self.methods.as_ref().filter(|_| !self.fault.is_over())?)?;
        self.calls += 1;
        Python::attach(|py| {
            let result = Py::new(py, Feedback(*feedback))
                .and_then(|feedback| read(&method.bind(py).call1((feedback,))?));
            result
                .map_err(|error| {
                    let feedback = Feedback(*feedback).__repr__();
                    drop(error.add_note(
                        py,
                        format!(
                            "in call {} of {}: {name}({feedback})",
                            self.calls, self.name
                        ),
                    ));
                    self.fault.raise(error);
                })
                .ok()
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

/// The bytes that a method returned, rounded down.
fn bytes(returned: &Bound<'_, PyAny>, class: &str, method: &str, least: u64) -> PyResult<u64> {
    let py = returned.py();
    let legal = format!("{least} to {MAX_WINDOW} bytes");
    let wrong = |given: &str| {
        let message = format!(
            "{class}: {method} returned {given}; expected a window, a number of bytes: legal range {legal}"
        );
        Err(errors::contract(py, message, Some((given, &legal))))
    };
    let number: f64 = match returned.extract() {
        Ok(number) => number,
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            return wrong(&if returned.is_none() {
                "None".to_owned()
            } else {
                returned.get_type().name()?.to_string()
            });
        }
        // An integer beyond the range of floats.
        Err(_) => return wrong(&returned.repr()?.to_string()),
    };
    if (least as f64..=MAX_WINDOW as f64).contains(&number) {
        Ok(number as u64)
    } else {
        wrong(&returned.str()?.to_string())
    }
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
