//! A scheduler to drive by hand: enqueue, dequeue, no clock and no link.

use std::sync::Mutex;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use roundelay::Seed;
use roundelay::schedulers::AnyScheduler;
use roundelay::{
    Buffer, Control, DropReason, FlowConfig, FlowId, Handle, Instant, Packet as Inner, QueueSpec,
    Scheduler as _,
};
use roundelay_cli::call;

use crate::arguments::whole;
use crate::errors;
use crate::fault::Fault;
use crate::own::Own;
use crate::packet::{Drop, Packet, fields, instant};

type Payload = Option<Py<PyAny>>;

/// A queue discipline with a buffer, which you drive. Times are in seconds and must not run backwards.
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
    /// When a call happens: at the time of the one before, if none is given.
    fn at(&mut self, given: Option<&Bound<'_, PyAny>>) -> PyResult<Instant> {
        let Some(given) = given else {
            return Ok(self.now);
        };
        let now = instant("now", given)?;
        if now < self.now {
            let given_text = given.str()?.to_string();
            let legal = format!("{} or later", self.now.as_secs_f64());
            let message = format!("now {given_text}: time runs backwards; expected {legal}");
            return Err(errors::usage(given.py(), message, &given_text, &legal));
        }
        self.now = now;
        Ok(now)
    }
}

impl Scheduler {
    fn with<R>(&self, py: Python<'_>, call: impl FnOnce(&mut State) -> PyResult<R>) -> PyResult<R> {
        // Never waits for the lock: the holder may need the GIL, which this thread has.
        let mut state = self
            .state
            .try_lock()
            .map_err(|_| PyRuntimeError::new_err("the scheduler is in use by another thread"))?;
        let result = call(&mut state);
        match self.fault.take() {
            Some(error) => Err(error),
            None if self.fault.stop().is_requested() => Err(errors::contract(
                py,
                "the scheduler failed in an earlier call".to_owned(),
                None,
            )),
            None => result,
        }
    }
}

/// A flow's number.
fn flow_id(given: &Bound<'_, PyAny>) -> PyResult<FlowId> {
    Ok(FlowId(whole("flow", given, 0..=u32::MAX)?))
}

/// The packet for Python. Its object is `payload`.
fn shown(py: Python<'_>, packet: &Inner<Payload>, payload: Payload) -> PyResult<Py<Packet>> {
    let inner = Inner {
        flow: packet.flow,
        len: packet.len,
        arrival: packet.arrival,
        ecn: packet.ecn,
        priority: packet.priority,
        slack: packet.slack,
        deadline: packet.deadline,
        payload: Handle(0),
    };
    Py::new(py, Packet::new(inner, payload))
}

/// A queue as `tc` writes it.
fn read_queue(py: Python<'_>, text: &str) -> PyResult<QueueSpec> {
    call::queue(text).map_err(|failure| errors::exception(py, &failure))
}

#[pymethods]
impl Scheduler {
    #[new]
    #[pyo3(signature = (spec, own, rate, limit, seed))]
    fn new(
        py: Python<'_>,
        spec: &str,
        own: Option<&Own>,
        rate: Option<&str>,
        limit: Option<&str>,
        seed: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let fault = Fault::default();
        let mut spec = match own {
            Some(own) => QueueSpec {
                discipline: own.discipline(&fault),
                limit: None,
            },
            None => read_queue(py, spec)?,
        };
        if let Some(limit) = limit {
            spec.limit = read_queue(py, &format!("fifo limit {limit}"))?.limit;
        }
        let seed = whole("seed", seed, 0..=u64::MAX)?;
        let mut scheduler = spec
            .discipline
            .build(Seed::new(seed))
            .map_err(|error| errors::exception(py, &call::failure(error)))?;
        if let Some(rate) = rate {
            let rate = call::rate(rate).map_err(|failure| errors::exception(py, &failure))?;
            scheduler.set_link_rate(rate);
        }
        if let Some(error) = fault.take() {
            return Err(error);
        }
        let buffer = Buffer::new(spec.limit_or_default(), scheduler);
        let state = State {
            buffer,
            now: Instant::ZERO,
            dropped: Vec::new(),
            counts: Default::default(),
        };
        Ok(Self {
            state: Mutex::new(state),
            spec,
            fault,
        })
    }

    /// Adds a packet. Returns whether this packet is in the queue after the call.
    #[pyo3(
        signature = (
            flow, length, payload = None, now = None,
            *, ecn = false, priority = None, slack = None, deadline = None
        ),
        text_signature = "($self, flow, length, payload=None, now=None, *, ecn=False, priority=0, \
                          slack=0.0, deadline=None)"
    )]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn enqueue(
        &self,
        py: Python<'_>,
        flow: &Bound<'_, PyAny>,
        length: &Bound<'_, PyAny>,
        payload: Payload,
        now: Option<&Bound<'_, PyAny>>,
        ecn: bool,
        priority: Option<&Bound<'_, PyAny>>,
        slack: Option<&Bound<'_, PyAny>>,
        deadline: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let flow = flow_id(flow)?;
        let length = whole("length", length, 1..=FlowConfig::MAX_PACKET_LEN - 1)?;
        let mut packet = Inner::new(flow, length, payload);
        if ecn || priority.is_some() || slack.is_some() || deadline.is_some() {
            let priority = match priority {
                Some(priority) => whole("priority", priority, 0..=u32::MAX)?,
                None => 0,
            };
            packet = fields(packet, ecn, priority, slack, deadline)?;
        }
        self.with(py, |state| {
            let now = state.at(now)?;
            state.dropped.clear();
            let State {
                buffer,
                dropped,
                counts,
                ..
            } = state;
            buffer.enqueue(now, packet, |packet, reason| {
                counts[reason as usize] += 1;
                dropped.push((packet, reason));
            });
            // The arriving packet is dropped: it was refused, the buffer is full, or this arrival
            // causes an early drop.
            for (packet, reason) in dropped {
                let is_arriving = match reason {
                    DropReason::Full | DropReason::Refused => true,
                    DropReason::PushedOut | DropReason::Filtered => false,
                    DropReason::Early => {
                        packet.arrival == now && packet.flow == flow && packet.len == length
                    }
                };
                if is_arriving {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// The next packet, or None: the queue is empty, or no packet may leave yet.
    #[pyo3(signature = (now = None))]
    fn dequeue(
        &self,
        py: Python<'_>,
        now: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Py<Packet>>> {
        let packet = self.with(py, |state| {
            let now = state.at(now)?;
            state.dropped.clear();
            let State {
                buffer,
                dropped,
                counts,
                ..
            } = state;
            Ok(buffer.dequeue(now, |packet, reason| {
                counts[reason as usize] += 1;
                dropped.push((packet, reason));
            }))
        })?;
        match packet {
            Some(mut packet) => {
                let payload = packet.payload.take();
                Ok(Some(shown(py, &packet, payload)?))
            }
            None => Ok(None),
        }
    }

    /// Packets dropped in the last call, in order.
    #[getter]
    fn dropped(&self, py: Python<'_>) -> PyResult<Vec<Py<Drop>>> {
        self.with(py, |state| {
            // The packets stay in the list, so a second look finds the same.
            let mut drops = Vec::with_capacity(state.dropped.len());
            for (packet, reason) in &state.dropped {
                let payload = packet.payload.as_ref().map(|payload| payload.clone_ref(py));
                let packet = shown(py, packet, payload)?;
                let reason = reason.name();
                drops.push(Py::new(py, Drop { packet, reason })?);
            }
            Ok(drops)
        })
    }

    /// Packets dropped so far, by reason: full, `pushed_out`, early, refused, filtered.
    #[getter]
    fn drops<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.with(py, |state| {
            let drops = PyDict::new(py);
            for reason in DropReason::ALL {
                drops.set_item(reason.name(), state.counts[reason as usize])?;
            }
            Ok(drops)
        })
    }

    /// Sets a flow's weight and longest packet, in bytes.
    fn set_flow(
        &self,
        py: Python<'_>,
        flow: &Bound<'_, PyAny>,
        weight: &Bound<'_, PyAny>,
        max_packet_length: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let flow = FlowId(whole("flow", flow, 0..=FlowId::LARGEST_TABLED.0)?);
        let weight = whole("weight", weight, 1..=FlowConfig::MAX_WEIGHT)?;
        let lengths = FlowConfig::MIN_MAX_PACKET_LEN..=FlowConfig::MAX_PACKET_LEN;
        let config = FlowConfig {
            weight,
            max_packet_len: whole("max_packet_length", max_packet_length, lengths)?,
        };
        self.with(py, |state| {
            let set = state.buffer.scheduler_mut().set_flow(flow, config);
            set.map_err(|error| errors::exception(py, &call::failure(error)))
        })
    }

    /// Removes a flow. A backlogged flow keeps its settings until its last packet has left.
    fn remove_flow(&self, py: Python<'_>, flow: &Bound<'_, PyAny>) -> PyResult<()> {
        let flow = flow_id(flow)?;
        self.with(py, |state| {
            state.buffer.scheduler_mut().remove_flow(flow);
            Ok(())
        })
    }

    /// Bytes in the queue.
    #[getter]
    fn backlog_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |state| Ok(state.buffer.scheduler().backlog().bytes))
    }

    /// When a discipline that idles although packets wait serves next, in seconds.
    #[getter]
    fn ready_at(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.with(py, |state| {
            let ready = state.buffer.scheduler().ready_at();
            Ok(ready.map(Instant::as_secs_f64))
        })
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
        self.with(py, |state| {
            Ok(state.buffer.scheduler().backlog().packets as usize)
        })
    }
}
