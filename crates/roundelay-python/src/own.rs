//! A scheduler written in Python, as a discipline.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBool;
use roundelay::Purpose;
use roundelay::schedulers::{AnyDiscipline, Priority, Times, custom};
use roundelay::{
    Backlog, ConfigError, Control, Departure, DropReason, FlowConfig, FlowId, Footprint, Handle,
    Instant, Limit, Packet as Inner, Rate, Refusal, Refused, Scheduler,
};
use roundelay_cli::Failure;
use roundelay_cli::call;
use roundelay_conformance::Checked;

use crate::fault::Fault;
use crate::methods::{needed, optional};
use crate::packet::{Packet, not_before};
use crate::{errors, work};

/// A class of schedulers written in Python, with what is known of any discipline.
#[pyclass(frozen, module = "roundelay._native")]
pub(crate) struct Own {
    name: &'static str,
    about: &'static str,
    make: Arc<Py<PyAny>>,
    reorders: bool,
    weighted: bool,
    limit: Limit,
    priority: Priority,
    times: Times,
}

/// Legal values for a class's attribute `limit`.
const LIMITS: &str = "packets, as in 1000p, or bytes, as in 150kb";

/// Values for a class's attribute `reads`, with the packet's field that each fills.
const READS: [(&str, Priority, Times); 5] = [
    ("class", Priority::Class, Times::Unread),
    ("flow_size", Priority::FlowSize, Times::Unread),
    ("remaining", Priority::Remaining, Times::Unread),
    ("slack", Priority::Unread, Times::Slack),
    ("deadline", Priority::Unread, Times::Deadline),
];

#[pymethods]
impl Own {
    /// `make(seed)` returns a new scheduler. `limit` is as in `limit 1000p` or `150kb`. `reads` has
    /// values of [`READS`].
    #[new]
    #[pyo3(signature = (name, about, make, reorders, weighted, limit, reads = Vec::new()))]
    #[allow(clippy::too_many_arguments, reason = "attributes of a class of Python")]
    fn new(
        py: Python<'_>,
        name: &str,
        about: &str,
        make: Py<PyAny>,
        reorders: bool,
        weighted: bool,
        limit: &str,
        reads: Vec<String>,
    ) -> PyResult<Self> {
        let spec = call::queue(&format!("fifo limit {limit}")).map_err(|_| {
            let message = format!("{name}: limit {limit}: expected {LIMITS}");
            errors::usage(py, message, limit, LIMITS)
        })?;
        let limit = spec.limit_or_default();
        let mut priority = Priority::Unread;
        let mut times = Times::Unread;
        for word in &reads {
            let mut known = READS.into_iter();
            let Some((_, of_packet, time)) = known.find(|(known, ..)| known == word) else {
                let known = READS.map(|(known, ..)| known);
                return Err(errors::unknown(py, "field in reads", word, &known));
            };
            if of_packet != Priority::Unread {
                priority = of_packet;
            }
            if time != Times::Unread {
                times = time;
            }
        }
        Ok(Self {
            name: kept(name),
            about: kept(about),
            make: Arc::new(make),
            reorders,
            weighted,
            limit,
            priority,
            times,
        })
    }
}

impl Own {
    pub(crate) fn discipline(&self, fault: &Fault) -> AnyDiscipline {
        let make = Arc::clone(&self.make);
        let fault = fault.clone();
        let name = self.name;
        let reorders = self.reorders;
        let config = custom::Config::new(name, move |seed| {
            PythonScheduler::new(
                name,
                &make,
                reorders,
                seed.derive(Purpose::Draws, 0).key()[0],
                fault.clone(),
            )
        });
        AnyDiscipline::Custom(custom::Config {
            about: self.about,
            reorders,
            weighted: self.weighted,
            default_limit: self.limit,
            priority: self.priority,
            times: self.times,
            ..config
        })
    }
}

/// Keeps the text for the rest of the process: once for each name, however often it is used.
fn kept(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = kept.get(text) {
        return text;
    }
    let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
    kept.insert(text);
    text
}

const NEEDED: &str = "a scheduler has enqueue(packet, now) and dequeue(now)";

/// Bound methods of a scheduler written in Python. All after the first two are optional.
struct Methods {
    enqueue: Py<PyAny>,
    dequeue: Py<PyAny>,
    evict: Option<Py<PyAny>>,
    take_dropped: Option<Py<PyAny>>,
    ready_at: Option<Py<PyAny>>,
    set_flow: Option<Py<PyAny>>,
    remove_flow: Option<Py<PyAny>>,
    set_link_rate: Option<Py<PyAny>>,
}

impl Methods {
    fn of(name: &str, scheduler: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            enqueue: needed(scheduler, name, "enqueue", NEEDED)?,
            dequeue: needed(scheduler, name, "dequeue", NEEDED)?,
            evict: optional(scheduler, "evict")?,
            take_dropped: optional(scheduler, "take_dropped")?,
            ready_at: optional(scheduler, "ready_at")?,
            set_flow: optional(scheduler, "set_flow")?,
            remove_flow: optional(scheduler, "remove_flow")?,
            set_link_rate: optional(scheduler, "set_link_rate")?,
        })
    }
}

/// A scheduler by handle around a Python object. It keeps the waiting packets, and counts the
/// backlog. After an exception or a request to stop the scheduler is dead: empty, and refusing.
struct PythonScheduler {
    name: &'static str,
    methods: Option<Methods>,
    /// Packets, each with the number of the call that brought it.
    waiting: Vec<Option<(Py<Packet>, u64)>>,
    /// The largest number among each flow's departures, unless the class may reorder or a note says
    /// so.
    sent: Option<HashMap<u32, u64>>,
    backlog: Backlog,
    limit: Limit,
    /// An arrival beyond the limit, not shown to a scheduler without `evict`: the buffer takes it
    /// back.
    held: Option<(Handle, u32)>,
    /// Packets that the class has dropped, asked for after a dequeue without a packet.
    dropped: VecDeque<Departure>,
    now: Instant,
    /// Calls to enqueue, dequeue and evict.
    calls: u64,
    fault: Fault,
}

impl PythonScheduler {
    fn new(name: &'static str, make: &Py<PyAny>, reorders: bool, seed: u64, fault: Fault) -> Self {
        let methods = Python::attach(|py| {
            let scheduler = make.bind(py).call1((seed,))?;
            Methods::of(name, &scheduler)
        });
        let methods = match methods {
            Ok(methods) => Some(methods),
            Err(error) => {
                fault.raise(error);
                None
            }
        };
        Self {
            name,
            methods,
            waiting: Vec::new(),
            backlog: Backlog::default(),
            limit: Limit::UNBOUNDED,
            sent: if reorders { None } else { Some(HashMap::new()) },
            held: None,
            dropped: VecDeque::new(),
            now: Instant::ZERO,
            calls: 0,
            fault,
        }
    }

    /// The methods, unless the scheduler is dead.
    fn methods(&self) -> Option<&Methods> {
        if self.fault.is_over() {
            return None;
        }
        self.methods.as_ref()
    }

    fn is_dead(&self) -> bool {
        self.methods().is_none()
    }

    /// Raises an exception with a note on the call.
    fn fail(&self, py: Python<'_>, error: PyErr, call: &str) {
        let note = format!("in call {} of {}: {call}", self.calls, self.name);
        drop(error.add_note(py, note));
        self.fault.raise(error);
    }

    /// Raises `ContractError`: a call broke the contract.
    fn broken(&self, py: Python<'_>, call: &str, what: &str) {
        let message = format!("{}: call {}, {call}: {what}", self.name, self.calls);
        self.fault.raise(errors::contract(py, message, None));
    }

    /// Whether one more packet with this length is beyond the limit.
    const fn exceeds(&self, len: u32) -> bool {
        self.backlog.packets >= self.limit.packets
            || self.backlog.bytes + len as u64 > self.limit.bytes
    }

    fn add(&mut self, len: u32) {
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(len);
    }

    fn sub(&mut self, len: u32) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(len);
    }

    /// Notes the first packet sent after a later one from its flow.
    fn check_order(&mut self, flow: u32, number: u64) {
        let Some(sent) = &mut self.sent else { return };
        let latest = sent.entry(flow).or_default();
        if number < *latest {
            self.fault
                .notes()
                .add(call::reordering_note(self.name, "a flow"));
            self.sent = None;
        } else {
            *latest = number;
        }
    }

    /// The packet that Python returned, if waiting here. `is_sent`: sent rather than dropped.
    fn take(
        &mut self,
        py: Python<'_>,
        returned: &Bound<'_, PyAny>,
        is_sent: bool,
        call: &str,
    ) -> Option<Departure> {
        let Ok(packet) = returned.cast::<Packet>() else {
            let kind = match returned.get_type().name() {
                Ok(name) => name.to_string(),
                Err(_) => "an object".to_owned(),
            };
            let what = format!("returned {kind}; expected a packet that waits, or None");
            self.broken(py, call, &what);
            return None;
        };
        let handle = packet.get().handle();
        let waiting = match self.waiting.get_mut(handle.index()) {
            Some(slot) => slot.take_if(|(kept, _)| kept.is(packet)),
            None => None,
        };
        let Some((_, number)) = waiting else {
            let what = "returned a packet that does not wait: sent before, or of another queue";
            self.broken(py, call, what);
            return None;
        };
        if is_sent {
            self.check_order(packet.get().flow(), number);
        }
        self.sub(packet.get().length());
        Some(Departure {
            handle,
            mark: packet.get().is_marked(),
        })
    }

    /// Calls a method that returns a packet or None. Only `dequeue` gets the time, so with a time the
    /// packet is sent, and without one it is evicted or dropped.
    fn ask(
        &mut self,
        py: Python<'_>,
        method: fn(&Methods) -> Option<&Py<PyAny>>,
        now: Option<Instant>,
        call: &str,
    ) -> Option<Departure> {
        self.calls += 1;
        let method = method(self.methods()?)?;
        let returned = match now {
            Some(now) => method.bind(py).call1((seconds(now),)),
            None => method.bind(py).call0(),
        };
        match returned {
            Err(error) => {
                self.fail(py, error, call);
                None
            }
            Ok(nothing) if nothing.is_none() => None,
            Ok(packet) => self.take(py, &packet, now.is_some(), call),
        }
    }

    fn dequeued(&mut self, py: Python<'_>, now: Instant) -> Option<Departure> {
        let call = format!("dequeue(now={})", seconds(now));
        let departure = self.ask(py, |methods| Some(&methods.dequeue), Some(now), &call);
        if departure.is_some() || self.backlog.packets == 0 || self.is_dead() {
            return departure;
        }
        while let Some(dropped) = self.ask_dropped(py) {
            self.dropped.push_back(dropped);
        }
        if self.backlog.is_empty() || self.is_dead() {
            return None;
        }
        if let Some(why) = self.why_idling_is_wrong(now) {
            let packets = self.backlog.packets;
            let what = format!("returned None although {packets} packets wait, and {why}");
            self.broken(py, &call, &what);
        }
        None
    }

    /// Asks for a packet that the class has dropped.
    fn ask_dropped(&mut self, py: Python<'_>) -> Option<Departure> {
        self.ask(
            py,
            |methods| methods.take_dropped.as_ref(),
            None,
            "take_dropped()",
        )
    }

    /// Why the class may not leave the link idle although packets wait. None: it names a later time.
    fn why_idling_is_wrong(&self, now: Instant) -> Option<&'static str> {
        let Some(Methods {
            ready_at: Some(_), ..
        }) = self.methods()
        else {
            return Some("there is no method ready_at");
        };
        match self.ready_at() {
            Some(ready) if ready > now => None,
            // A driver that is told no later time would never ask again.
            _ => Some("ready_at names no later time"),
        }
    }
}

/// A time for Python.
pub(crate) fn seconds(at: Instant) -> f64 {
    at.as_picos() as f64 / 1e12
}

/// The time that the method `ready_at` returns.
fn ready_time(method: &Bound<'_, PyAny>) -> PyResult<Option<Instant>> {
    let ready = method.call0()?;
    if ready.is_none() {
        return Ok(None);
    }
    Ok(Some(not_before("ready_at", &ready)?))
}

/// Offers a packet to the method `enqueue`. None if it refuses the packet.
fn offer(
    enqueue: &Bound<'_, PyAny>,
    packet: Inner<Handle>,
    now: Instant,
) -> PyResult<Option<Py<Packet>>> {
    let shown = Py::new(enqueue.py(), Packet::new(packet, None))?;
    let result = enqueue.call1((&shown, seconds(now)))?;
    if is_refusal(&result) {
        return Ok(None);
    }
    Ok(Some(shown))
}

/// Whether the result of `enqueue` is False, a refusal. None and True accept the packet.
fn is_refusal(result: &Bound<'_, PyAny>) -> bool {
    result
        .cast::<PyBool>()
        .is_ok_and(|accepted| !accepted.is_true())
}

impl Scheduler<Handle, Departure> for PythonScheduler {
    fn enqueue(&mut self, now: Instant, packet: Inner<Handle>) -> Result<(), Refused<Handle>> {
        self.now = now;
        let Some(methods) = self.methods() else {
            return Err(packet.refused(Refusal::Other));
        };
        if methods.evict.is_none() && self.exceeds(packet.len) {
            self.held = Some((packet.payload, packet.len));
            self.add(packet.len);
            return Ok(());
        }
        let index = packet.payload.index();
        if index >= self.waiting.len() {
            self.waiting.resize_with(index + 1, || None);
        }
        self.calls += 1;
        let accepted = Python::attach(|py| {
            let enqueue = self.methods()?.enqueue.bind(py);
            match offer(enqueue, packet, now) {
                Ok(accepted) => accepted,
                Err(error) => {
                    let Inner { flow, len, .. } = packet;
                    let shown = format!("Packet(flow={}, length={len})", flow.0);
                    let call = format!("enqueue({shown}, now={})", seconds(now));
                    self.fail(py, error, &call);
                    None
                }
            }
        });
        let Some(shown) = accepted else {
            return Err(packet.refused(Refusal::Other));
        };
        self.waiting[index] = Some((shown, self.calls));
        self.add(packet.len);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Departure> {
        self.now = now;
        if self.is_dead() || self.backlog.is_empty() {
            return None;
        }
        Python::attach(|py| self.dequeued(py, now))
    }

    fn evict(&mut self) -> Option<Departure> {
        if let Some((handle, len)) = self.held.take() {
            self.sub(len);
            return Some(Departure {
                handle,
                mark: false,
            });
        }
        if self.is_dead() || self.backlog.is_empty() {
            return None;
        }
        Python::attach(|py| {
            if self.methods()?.evict.is_none() {
                let departure = self.dequeued(py, self.now);
                if departure.is_none() && !self.is_dead() {
                    let what = "no packet to drop: the class has no method evict, and dequeue \
                                returned None";
                    self.broken(py, "evict()", what);
                }
                return departure;
            }
            let evicted = self.ask(py, |methods| methods.evict.as_ref(), None, "evict()");
            if evicted.is_none() && !self.is_dead() {
                let packets = self.backlog.packets;
                let what = format!("returned None although {packets} packets wait");
                self.broken(py, "evict()", &what);
            }
            evicted
        })
    }

    fn backlog(&self) -> Backlog {
        if self.is_dead() {
            Backlog::default()
        } else {
            self.backlog
        }
    }

    fn ready_at(&self) -> Option<Instant> {
        let method = self.methods()?.ready_at.as_ref()?;
        Python::attach(|py| match ready_time(method.bind(py)) {
            Ok(ready) => ready,
            Err(error) => {
                self.fail(py, error, "ready_at()");
                None
            }
        })
    }

    fn take_dropped(&mut self) -> Option<(Departure, DropReason)> {
        if let Some(dropped) = self.dropped.pop_front() {
            return Some((dropped, DropReason::Early));
        }
        self.methods()?.take_dropped.as_ref()?;
        let dropped = Python::attach(|py| self.ask_dropped(py))?;
        Some((dropped, DropReason::Early))
    }
}

impl Control for PythonScheduler {
    fn set_link_rate(&mut self, rate: Rate) {
        let Some(Methods {
            set_link_rate: Some(method),
            ..
        }) = self.methods()
        else {
            return;
        };
        Python::attach(|py| {
            if let Err(error) = method.bind(py).call1((rate.bits_per_second(),)) {
                self.fail(py, error, "set_link_rate(rate)");
            }
        });
    }

    fn set_buffer_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        let Some(Methods {
            set_flow: Some(method),
            ..
        }) = self.methods()
        else {
            return Ok(());
        };
        let FlowId(flow) = flow;
        let FlowConfig {
            weight,
            max_packet_len,
        } = config;
        Python::attach(|py| {
            if let Err(error) = method.bind(py).call1((flow, weight, max_packet_len)) {
                let call = format!("set_flow({flow}, {weight}, {max_packet_len})");
                self.fail(py, error, &call);
            }
        });
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        let Some(Methods {
            remove_flow: Some(method),
            ..
        }) = self.methods()
        else {
            return;
        };
        Python::attach(|py| {
            if let Err(error) = method.bind(py).call1((flow.0,)) {
                self.fail(py, error, &format!("remove_flow({})", flow.0));
            }
        });
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

/// Runs the conformance check. Returns the numbers of calls, of packets sent, dropped and refused.
///
/// # Errors
/// The exception of the scheduler, or `ContractError` with the first call that breaks the contract.
#[pyfunction]
pub(crate) fn check(py: Python<'_>, own: &Own) -> PyResult<(usize, usize, usize, usize)> {
    let fault = Fault::default();
    let discipline = own.discipline(&fault);
    let outcome = work::run(py, &fault, &work::Report::default(), || {
        Ok::<_, Failure>(roundelay_conformance::check(&discipline))
    })?;
    match outcome {
        Ok(Checked {
            calls,
            sent,
            dropped,
            refused,
        }) => Ok((calls, sent, dropped, refused)),
        Err(broken) => {
            let message = format!("{}: {broken}", own.name);
            Err(errors::contract(py, message, None))
        }
    }
}
