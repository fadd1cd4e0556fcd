//! Any port: the port for a [`QueueSpec`], plain or preemptive, with a scheduler of any discipline.

use alloc::boxed::Box;

use crate::acknowledgement::Acknowledgement;
use crate::config::ConfigError;
use crate::control::Control;
use crate::flow_config::FlowConfig;
use crate::limit::{Backlog, Limit};
use crate::packet::{FlowId, Hosts, Packet};
use crate::port::{Observer, Port};
use crate::preemptive::{Partial, PreemptivePort};
use crate::scheduler::Scheduler as _;
use crate::schedulers::fifo::Fifo;
use crate::schedulers::{AnyArena, AnyDiscipline, AnyScheduler, Discipline as _};
use crate::seed::Seed;
use crate::spec::QueueSpec;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The port for a queue specification.
///
/// ```
/// use roundelay::{AnyPort, DropReason, FlowId, Instant, Observer, Packet, QueueSpec, Seed};
///
/// struct Sent(Vec<(&'static str, Instant)>);
///
/// impl Observer<&'static str> for Sent {
///     fn sent(&mut self, packet: Packet<&'static str>, _start: Instant, end: Instant) {
///         self.0.push((packet.payload, end));
///     }
///
///     fn dropped(&mut self, _: Packet<&'static str>, _: Instant, _: DropReason) {}
/// }
///
/// let queue: QueueSpec = "drr quantum 1500 limit 100".parse()?;
/// let (mut port, mut sent) = (AnyPort::new(&queue, "8mbit".parse().unwrap(), Seed::new(1))?, Sent(Vec::new()));
/// for (flow, payload) in [(0, "a"), (0, "b"), (1, "c")] {
///     port.arrive(Instant::ZERO, Packet::new(FlowId(flow), 1500, payload), &mut sent);
/// }
/// port.advance(Instant::MAX, &mut sent);
/// let packet_time = |packets: u64| Instant::from_nanos(1_500_000 * packets);
/// assert_eq!(sent.0, [("a", packet_time(1)), ("c", packet_time(2)), ("b", packet_time(3))]);
/// # Ok::<(), roundelay::ConfigError>(())
/// ```
pub enum AnyPort<T: Send> {
    /// FIFO, the default for the many hosts' links in a network. Calls of the scheduler are
    /// compiled for FIFO, so none takes a dispatch.
    Fifo(Port<Fifo<T>>),
    /// A port that completes each packet.
    Plain(Port<AnyScheduler<T>>),
    /// A port whose discipline interrupts packets: see
    /// [`Discipline::preempts`](crate::schedulers::Discipline::preempts). By handle, so that
    /// parts of packets need no scheduler compiled for them.
    Preemptive(Box<PreemptivePort<AnyArena<Partial<T>>, T>>),
}

/// An expression over the port, whichever of the three.
macro_rules! each {
    ($self:ident, $port:ident => $call:expr) => {
        match $self {
            AnyPort::Fifo($port) => $call,
            AnyPort::Plain($port) => $call,
            AnyPort::Preemptive($port) => $call,
        }
    };
}

impl<T: Send> AnyPort<T> {
    /// An empty port with a free link. `seed` is the key for the scheduler's random draws and
    /// hashes.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn new(queue: &QueueSpec, rate: Rate, seed: Seed) -> Result<Self, ConfigError> {
        let discipline = &queue.discipline;
        let limit = queue.limit_or_default();
        Ok(if let AnyDiscipline::Fifo(config) = discipline {
            Self::Fifo(Port::new(config.build(seed)?, limit, rate))
        } else if discipline.preempts() {
            Self::Preemptive(Box::new(PreemptivePort::new(
                discipline.build_arena(seed)?,
                limit,
                rate,
            )))
        } else {
            Self::Plain(Port::new(discipline.build(seed)?, limit, rate))
        })
    }

    /// Time for each decision: see [`Port::set_decision_cost`]. A preemptive port decides in no
    /// time, and ignores the call.
    pub const fn set_decision_cost(&mut self, cost: Duration) {
        match self {
            Self::Fifo(port) => port.set_decision_cost(cost),
            Self::Plain(port) => port.set_decision_cost(cost),
            Self::Preemptive(_) => (),
        }
    }

    /// Changes the buffer's limit. Excess packets are dropped.
    pub fn set_limit(&mut self, now: Instant, limit: Limit, observer: &mut impl Observer<T>) {
        each!(self, port => port.set_limit(now, limit, observer))
    }

    /// The link's rate.
    pub const fn rate(&self) -> Rate {
        each!(self, port => port.rate())
    }

    /// Time of the port's next event: a decision, or the end of a packet on a preemptive link. None
    /// while there is nothing to send.
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        each!(self, port => port.next_event())
    }

    /// Whether the next event is the end of a packet on a preemptive link, not a decision.
    #[inline]
    pub fn ends_next(&self) -> bool {
        match self {
            Self::Preemptive(port) => port.ends_next(),
            _ => false,
        }
    }

    /// A packet arrives. Call [`advance`](Self::advance) up to `now` before.
    #[inline]
    pub fn arrive(&mut self, now: Instant, packet: Packet<T>, observer: &mut impl Observer<T>) {
        each!(self, port => port.arrive(now, packet, observer))
    }

    /// Handles the next event.
    #[inline]
    pub fn work(&mut self, observer: &mut impl Observer<T>) {
        match self {
            Self::Fifo(port) => port.pick(observer),
            Self::Plain(port) => port.pick(observer),
            Self::Preemptive(port) if port.ends_next() => port.end(observer),
            Self::Preemptive(port) => port.pick(observer),
        }
    }

    /// Runs the link up to just before `until`.
    pub fn advance(&mut self, until: Instant, observer: &mut impl Observer<T>) {
        each!(self, port => port.advance(until, observer))
    }

    /// Adds or changes a flow: see [`Control::set_flow`](crate::Control::set_flow).
    ///
    /// # Errors
    /// A value out of its legal range, with the state as it was.
    pub fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        each!(self, port => port.scheduler_mut().set_flow(flow, config))
    }

    /// Names a flow's hosts: see [`Control::set_hosts`](crate::Control::set_hosts).
    ///
    /// # Errors
    /// The discipline reads hosts, and the flow's number is beyond [`FlowId::LARGEST_TABLED`].
    pub fn set_hosts(&mut self, flow: FlowId, hosts: Hosts) -> Result<(), ConfigError> {
        each!(self, port => port.scheduler_mut().set_hosts(flow, hosts))
    }

    /// Tells what the flow's next packet acknowledges: see
    /// [`Control::set_acknowledgement`](crate::Control::set_acknowledgement).
    pub fn set_acknowledgement(&mut self, flow: FlowId, acknowledgement: Option<&Acknowledgement>) {
        each!(self, port => port.scheduler_mut().set_acknowledgement(flow, acknowledgement))
    }

    /// Removes a flow: see [`Control::remove_flow`](crate::Control::remove_flow).
    pub fn remove_flow(&mut self, flow: FlowId) {
        each!(self, port => port.scheduler_mut().remove_flow(flow))
    }

    /// Sends a flow to a leaf of a [`tree`](crate::tree), from its next packet on.
    ///
    /// # Errors
    /// The scheduler is no tree, the tree has no such leaf, or the flow's number is beyond
    /// [`FlowId::LARGEST_TABLED`].
    pub fn assign(&mut self, flow: FlowId, leaf: &str) -> Result<(), ConfigError> {
        match self {
            Self::Plain(port) => port.scheduler_mut().assign(flow, leaf),
            Self::Fifo(_) | Self::Preemptive(_) => Err(ConfigError::no_tree(leaf)),
        }
    }

    /// Sends a flow's short acknowledgements to a leaf of their own: see
    /// [`Control::assign_acknowledgements`](crate::Control::assign_acknowledgements).
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn assign_acknowledgements(&mut self, flow: FlowId, leaf: &str) -> Result<(), ConfigError> {
        match self {
            Self::Plain(port) => port.scheduler_mut().assign_acknowledgements(flow, leaf),
            Self::Fifo(_) | Self::Preemptive(_) => Err(ConfigError::no_tree(leaf)),
        }
    }

    /// Queued packets and bytes, without the packet on the link.
    pub fn backlog(&self) -> Backlog {
        match self {
            Self::Fifo(port) => port.scheduler().backlog(),
            Self::Plain(port) => port.scheduler().backlog(),
            Self::Preemptive(port) => port.backlog(),
        }
    }
}
