//! A scheduler to drive by hand: enqueue, dequeue, no clock and no link.

use std::sync::Mutex;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use roundelay::schedulers::AnyScheduler;
use roundelay::{Buffer, DropReason, FlowConfig, FlowId, Handle, Instant, Packet as Inner, QueueSpec, Rate, Scheduler as _};
use roundelay_cli::call;

use crate::errors;
use crate::own::{Fault, Own};
use crate::packet::{Drop, Packet, fields, instant};

type Payload = Option<Py<PyAny>>;

/// A queue discipline with a buffer, driven by the caller. Times are in seconds and must not run
/// backwards.
#[pyclass(frozen, subclass, module = "roundelay._native")]
pub(crate) struct Scheduler {
    state: Mutex<State>,
    spec: QueueSpec,
    fault: Fault,
}

struct State {
    buffer: Buffer<AnyScheduler<Payload>>,
    now: Instant,
    /// Packets dropped in the last call.
    dropped: Vec<(Inner<Payload>, DropReason)>,
    counts: [u64; DropReason::ALL.len()],
}

impl State {
    /// The time of a call: the one before, if none is given.
    fn at(&mut self, now: Option<f64>) -> PyResult<Instant> {
        let Some(seconds) = now else { return Ok(self.now) };
        let now = instant("now", seconds)?;
        if now < self.now {
            let before = self.now.as_secs_f64();
            return Err(PyValueError::new_err(format!("now {seconds}: time runs backwards; expected {before} or later")));
        }
        self.now = now;
        Ok(now)
    }
}

impl Scheduler {
    fn with<R>(&self, py: Python<'_>, call: impl FnOnce(&mut State) -> PyResult<R>) -> PyResult<R> {
        // Never waits for the lock: the holder may need the GIL, which this thread has.
        let mut state = self.state.try_lock().map_err(|_| PyRuntimeError::new_err("the scheduler is in use by another thread"))?;
        let result = call(&mut state);
        match self.fault.take() {
            Some(error) => Err(error),
            None if self.fault.stop().is_requested() => {
                Err(errors::contract(py, "the scheduler failed in an earlier call".to_owned(), None))
            }
            None => result,
        }
    }
}

/// An argument of 32 bits.
///
/// # Errors
/// The number is negative or too large.
fn whole(name: &str, number: i64) -> PyResult<u32> {
    u32::try_from(number).map_err(|_| PyValueError::new_err(format!("{name} {number}: legal range 0 to {}", u32::MAX)))
}

fn shown(py: Python<'_>, packet: Inner<Payload>) -> PyResult<Py<Packet>> {
    let Inner { flow, len, arrival, ecn, priority, slack, deadline, payload } = packet;
    let inner = Inner { flow, len, arrival, ecn, priority, slack, deadline, payload: Handle(0) };
    Py::new(py, Packet::new(inner, payload))
}

#[pymethods]
impl Scheduler {
    #[new]
    #[pyo3(signature = (spec, own, rate, limit, seed))]
    fn new(py: Python<'_>, spec: &str, own: Option<&Own>, rate: Option<u64>, limit: Option<&str>, seed: u64) -> PyResult<Self> {
        let read = |text: &str| call::queue(text).map_err(|failure| errors::exception(py, &failure));
        let fault = Fault::default();
        let mut spec = match own {
            Some(own) => QueueSpec { discipline: own.discipline(&fault), limit: None },
            None => read(spec)?,
        };
        if let Some(limit) = limit {
            spec.limit = read(&format!("fifo limit {limit}"))?.limit;
        }
        let mut scheduler = spec.discipline.build(seed).map_err(|error| errors::exception(py, &call::failure(&error)))?;
        if let Some(rate) = rate {
            let rate = Rate::from_bits_per_second(rate);
            scheduler.set_link_rate(rate.ok_or_else(|| PyValueError::new_err("rate 0: legal range 1 bit/s or more"))?);
        }
        if let Some(error) = fault.take() {
            return Err(error);
        }
        let buffer = Buffer::new(spec.limit_or_default(), scheduler);
        let state = State { buffer, now: Instant::ZERO, dropped: Vec::new(), counts: Default::default() };
        Ok(Self { state: Mutex::new(state), spec, fault })
    }

    /// Adds a packet. Returns whether this packet is in the queue after the call.
    #[pyo3(signature = (flow, length, payload = None, now = None, *, ecn = false, priority = 0, slack = 0.0, deadline = None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn enqueue(
        &self,
        py: Python<'_>,
        flow: i64,
        length: i64,
        payload: Payload,
        now: Option<f64>,
        ecn: bool,
        priority: i64,
        slack: f64,
        deadline: Option<f64>,
    ) -> PyResult<bool> {
        if !(1..i64::from(FlowConfig::MAX_PACKET_LEN)).contains(&length) {
            return Err(PyValueError::new_err(format!("length {length}: legal range 1 to {} bytes", FlowConfig::MAX_PACKET_LEN - 1)));
        }
        let (flow, length, priority) = (whole("flow", flow)?, whole("length", length)?, whole("priority", priority)?);
        let mut packet = Inner::new(FlowId(flow), length, payload);
        if ecn || priority != 0 || slack != 0.0 || deadline.is_some() {
            packet = fields(packet, ecn, priority, slack, deadline)?;
        }
        self.with(py, |state| {
            let now = state.at(now)?;
            state.dropped.clear();
            let State { buffer, dropped, counts, .. } = state;
            buffer.enqueue(now, packet, |packet, reason| {
                counts[reason as usize] += 1;
                dropped.push((packet, reason));
            });
            if dropped.is_empty() {
                return Ok(true);
            }
            // The drop of the arriving packet: a refusal, a full buffer, or an early drop of a packet
            // with this arrival.
            let is_it = |(packet, reason): &(Inner<Payload>, DropReason)| match reason {
                DropReason::Full | DropReason::Refused => true,
                DropReason::PushedOut => false,
                DropReason::Early => packet.arrival == now && packet.flow.0 == flow && packet.len == length,
            };
            Ok(!dropped.iter().any(is_it))
        })
    }

    /// The next packet, or None: the queue is empty, or no packet may leave yet.
    #[pyo3(signature = (now = None))]
    fn dequeue(&self, py: Python<'_>, now: Option<f64>) -> PyResult<Option<Py<Packet>>> {
        let packet = self.with(py, |state| {
            let now = state.at(now)?;
            state.dropped.clear();
            let State { buffer, dropped, counts, .. } = state;
            Ok(buffer.dequeue(now, |packet, reason| {
                counts[reason as usize] += 1;
                dropped.push((packet, reason));
            }))
        })?;
        packet.map(|packet| shown(py, packet)).transpose()
    }

    /// Packets dropped in the last call, in order.
    #[getter]
    fn dropped(&self, py: Python<'_>) -> PyResult<Vec<Py<Drop>>> {
        self.with(py, |state| {
            // The packets stay in the list: a second look finds the same.
            let mut again = Vec::with_capacity(state.dropped.len());
            let all = state.dropped.iter().map(|(packet, reason)| {
                let Inner { flow, len, arrival, ecn, priority, slack, deadline, .. } = *packet;
                let payload = packet.payload.as_ref().map(|payload| payload.clone_ref(py));
                let packet = shown(py, Inner { flow, len, arrival, ecn, priority, slack, deadline, payload })?;
                Py::new(py, Drop { packet, reason: reason.name() })
            });
            for drop in all {
                again.push(drop?);
            }
            Ok(again)
        })
    }

    /// Packets dropped so far, by reason: full, `pushed_out`, early, refused.
    #[getter]
    fn drops<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.with(py, |state| {
            let drops = PyDict::new(py);
            DropReason::ALL.iter().try_for_each(|reason| drops.set_item(reason.name(), state.counts[*reason as usize]))?;
            Ok(drops)
        })
    }

    /// Sets a flow's weight and longest packet, in bytes.
    fn set_flow(&self, py: Python<'_>, flow: i64, weight: i64, max_packet_length: i64) -> PyResult<()> {
        let (flow, weight) = (whole("flow", flow)?, whole("weight", weight)?);
        let config = FlowConfig { weight, max_packet_len: whole("max_packet_length", max_packet_length)? };
        self.with(py, |state| {
            let set = config.check(self.spec.discipline.name(), FlowId(flow));
            let set = set.and_then(|()| state.buffer.scheduler_mut().set_flow(FlowId(flow), config));
            set.map_err(|error| errors::exception(py, &call::failure(&error)))
        })
    }

    /// Removes a flow; a backlogged flow keeps its settings until its last packet has left.
    fn remove_flow(&self, py: Python<'_>, flow: i64) -> PyResult<()> {
        let flow = whole("flow", flow)?;
        self.with(py, |state| {
            state.buffer.scheduler_mut().remove_flow(FlowId(flow));
            Ok(())
        })
    }

    /// Bytes in the queue.
    #[getter]
    fn backlog_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |state| Ok(state.buffer.scheduler().backlog().bytes))
    }

    /// The time of the next service of a discipline that idles although packets wait, seconds.
    #[getter]
    fn ready_at(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.with(py, |state| Ok(state.buffer.scheduler().ready_at().map(Instant::as_secs_f64)))
    }

    /// The discipline with its parameters, as `tc` writes them.
    #[getter]
    fn spec(&self) -> String {
        self.spec.discipline.to_string()
    }

    /// The buffer's limit: `1000p`, `150kb`.
    #[getter]
    fn limit(&self) -> String {
        self.spec.limit_or_default().to_string()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |state| Ok(state.buffer.scheduler().backlog().packets as usize))
    }
}
