//! A packet as Python sees it, and how times are converted.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use roundelay::{Ecn, Handle, Instant, Packet as Inner, Slack};

use crate::arguments::number;
use crate::errors;

const PICOS: f64 = 1e12;

/// A time in seconds, to the picosecond.
///
/// # Errors
/// The time is negative, no number, or beyond 213 days.
pub(crate) fn instant(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Instant> {
    of_picos(name, given, (number(name, given)? * PICOS).round())
}

/// The first picosecond that Python reads as this time or a later one: a class that waits for the
/// time is not asked too early.
///
/// # Errors
/// As above.
pub(crate) fn not_before(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Instant> {
    let seconds = number(name, given)?;
    let mut picos = (seconds * PICOS).ceil();
    while picos / PICOS < seconds {
        // Beyond 2^53 ps the step of a float is more than one.
        picos = (picos + 1.0).max(picos.next_up());
    }
    of_picos(name, given, picos)
}

fn of_picos(name: &str, given: &Bound<'_, PyAny>, picos: f64) -> PyResult<Instant> {
    if picos >= 0.0 && picos < u64::MAX as f64 {
        return Ok(Instant::from_picos(picos as u64));
    }
    Err(errors::out_of_range(name, given, "0 to 18446744 s"))
}

/// A packet in a queue. Times are in seconds.
#[pyclass(frozen, module = "roundelay")]
pub(crate) struct Packet {
    inner: Inner<Handle>,
    payload: Option<Py<PyAny>>,
    marked: AtomicBool,
}

impl Packet {
    pub(crate) const fn new(inner: Inner<Handle>, payload: Option<Py<PyAny>>) -> Self {
        let marked = AtomicBool::new(matches!(inner.ecn, Ecn::Marked));
        Self {
            inner,
            payload,
            marked,
        }
    }

    pub(crate) const fn handle(&self) -> Handle {
        self.inner.payload
    }

    pub(crate) fn is_marked(&self) -> bool {
        self.marked.load(Ordering::Relaxed)
    }
}

#[pymethods]
impl Packet {
    /// Number of the packet's flow.
    #[getter]
    pub(crate) const fn flow(&self) -> u32 {
        self.inner.flow.0
    }

    /// Bytes on the link.
    #[getter]
    pub(crate) const fn length(&self) -> u32 {
        self.inner.len
    }

    /// The caller's object.
    #[getter]
    fn payload(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.payload.as_ref().map(|payload| payload.clone_ref(py))
    }

    /// Arrival at the queue, seconds.
    #[getter]
    fn arrival(&self) -> f64 {
        self.inner.arrival.as_picos() as f64 / PICOS
    }

    /// Smaller goes first, in disciplines that serve by priority.
    #[getter]
    const fn priority(&self) -> u32 {
        self.inner.priority
    }

    /// Queueing time still allowed, seconds.
    #[getter]
    fn slack(&self) -> f64 {
        self.inner.slack.as_picos() as f64 / PICOS
    }

    /// When the receiver needs the packet, in seconds. None without a deadline.
    #[getter]
    fn deadline(&self) -> Option<f64> {
        match self.inner.deadline {
            Instant::MAX => None,
            deadline => Some(deadline.as_picos() as f64 / PICOS),
        }
    }

    /// Whether the packet may be marked instead of dropped (ECN).
    #[getter]
    fn ecn(&self) -> bool {
        self.inner.ecn != Ecn::NotCapable
    }

    /// Whether a queue has marked the packet (ECN's CE).
    #[getter]
    fn marked(&self) -> bool {
        self.is_marked()
    }

    /// Marks the packet with ECN's CE.
    fn mark(&self) {
        self.marked.store(true, Ordering::Relaxed);
    }

    fn __repr__(&self) -> String {
        format!(
            "Packet(flow={}, length={})",
            self.inner.flow.0, self.inner.len
        )
    }
}

/// A packet that was dropped, with the reason.
#[pyclass(frozen, module = "roundelay")]
pub(crate) struct Drop {
    /// The packet.
    #[pyo3(get)]
    pub(crate) packet: Py<Packet>,
    /// Why: full, `pushed_out`, early or refused.
    #[pyo3(get)]
    pub(crate) reason: &'static str,
}

#[pymethods]
impl Drop {
    fn __repr__(&self) -> String {
        format!(
            "Drop({}, reason={:?})",
            self.packet.get().__repr__(),
            self.reason
        )
    }
}

/// The fields that a caller may give to a packet.
pub(crate) fn fields<T>(
    packet: Inner<T>,
    ecn: bool,
    priority: u32,
    slack: Option<&Bound<'_, PyAny>>,
    deadline: Option<&Bound<'_, PyAny>>,
) -> PyResult<Inner<T>> {
    let ecn = if ecn { Ecn::Capable } else { Ecn::NotCapable };
    let slack = match slack {
        Some(slack) => slack_of(slack)?,
        None => packet.slack,
    };
    let deadline = match deadline {
        Some(deadline) => instant("deadline", deadline)?,
        None => Instant::MAX,
    };
    Ok(Inner {
        ecn,
        priority,
        slack,
        deadline,
        ..packet
    })
}

fn slack_of(given: &Bound<'_, PyAny>) -> PyResult<Slack> {
    let picos = (number("slack", given)? * PICOS).round();
    if picos.is_nan() || picos.abs() >= i64::MAX as f64 {
        return Err(errors::out_of_range(
            "slack",
            given,
            "-9223372 to 9223372 s",
        ));
    }
    Ok(Slack::from_picos(picos as i64))
}
