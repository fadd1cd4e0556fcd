//! The [`Discipline`] trait: a scheduler's name, parameters, properties, constructors and
//! guarantees.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::config::{ConfigError, Kind, Parameter};
use crate::drops::DropReason;
use crate::flow_config::FlowConfig;
use crate::guarantees::{Guarantees, Share};
use crate::handle::{Departure, Handle};
use crate::limit::Limit;
use crate::packet::{Priority, Times};
use crate::scheduler::Scheduler;
use crate::seed::Seed;
use crate::suggestion::alternatives;
use crate::time::Duration;
use crate::units::Rate;

/// A discipline in the registry. Its configuration implements this trait.
pub trait Discipline: Clone + Default + fmt::Debug + Send + Sync + 'static {
    /// Name in configurations, which is also the name of the file, the page and the tests.
    const NAME: &'static str;
    /// Description, one line.
    const ABOUT: &'static str;
    /// Publications.
    const SOURCE: &'static str;
    /// The Linux queueing discipline with the same algorithm.
    const LINUX: Linux;
    /// Parameters, without `limit` and `memory_limit`, which all disciplines have.
    const PARAMETERS: &'static [Parameter<Self>] = &[];
    /// Names of the parameters changeable while packets wait.
    const LIVE: &'static [&'static str] = &[];
    /// How packets wait: in one queue, in one order, or in a queue for each flow.
    const QUEUES: Queues = Queues::Sorted;
    /// Whether flows can have weights.
    const WEIGHTED: bool = false;
    /// A flow's largest weight.
    const MAX_WEIGHT: u32 = FlowConfig::MAX_WEIGHT;
    /// Whether packets of one flow can leave out of arrival order.
    const REORDERS: bool = false;
    /// Steps for each packet: `O(1)`, `O(log N)` with N flows, `O(log n)` with n waiting packets.
    const COMPLEXITY: &'static str;
    /// What [`Packet::priority`](crate::Packet::priority) means to the discipline.
    const PRIORITY: Priority = Priority::Unread;
    /// Which of a packet's time fields the discipline uses.
    const TIMES: Times = Times::Unread;
    /// Whether the discipline is only a baseline for comparisons, not for use at a port.
    const YARDSTICK: bool = false;
    /// Reasons for drops at a port with this discipline. [`DropReason::Full`] is a reason for all,
    /// because a packet may be longer than the limit. Not counted: handles beyond
    /// [`Handle::LARGEST`], and packets that only a hierarchy's nodes refuse.
    const DROPS: &'static [DropReason];
    /// Reasons of [`Self::DROPS`] for drops below the buffer's limit, at the discipline's own
    /// bounds, such as a limit for one queue. Without [`DropReason::Refused`] here, the discipline
    /// refuses a packet only for its length or its flow's number, never for the backlog.
    const BOUNDS: &'static [DropReason] = &[];
    /// Whether the discipline can share a link among a node's children in a hierarchy, with
    /// [`Scheduler::dequeue_refilled`] and [`Scheduler::evict_flow`] as specified.
    const INTERIOR: bool = false;
    /// Buffer limit if the user gives none: `tc`'s default.
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    /// The configured scheduler. The scheduler and its packets can move to another thread.
    type Scheduler<T: Send>: Scheduler<T> + Configured<Self> + Send;
    /// The same scheduler by handle: the packets stay with the caller.
    type ByHandle: Scheduler<Handle, Departure> + Configured<Self> + Send;

    /// An empty scheduler. `seed` is the key for random draws and hashes: same seed, same
    /// behaviour.
    ///
    /// # Errors
    /// A parameter is out of its range.
    fn build<T: Send>(&self, seed: Seed) -> Result<Self::Scheduler<T>, ConfigError> {
        self.check()?;
        Configured::configured(self.clone(), seed)
    }

    /// An empty scheduler by handle, with the order of [`build`](Self::build)'s scheduler by value.
    ///
    /// # Errors
    /// A parameter is out of its range.
    fn build_by_handle(&self, seed: Seed) -> Result<Self::ByHandle, ConfigError> {
        self.check()?;
        Configured::configured(self.clone(), seed)
    }

    /// A scheduler for a node in a hierarchy. The flows are the node's children, numbered from 0.
    /// Disciplines that hash flows keep children apart instead.
    ///
    /// # Errors
    /// A parameter is out of its range.
    fn build_class<T: Send>(&self, seed: Seed) -> Result<Self::Scheduler<T>, ConfigError> {
        self.build(seed)
    }

    /// This configuration's name: [`NAME`](Self::NAME), unless a program names schedulers of its
    /// own ([`custom`](super::custom)).
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// Buffer limit if the user gives none: [`DEFAULT_LIMIT`](Self::DEFAULT_LIMIT), unless a
    /// program sets another one for schedulers of its own.
    fn default_limit(&self) -> Limit {
        Self::DEFAULT_LIMIT
    }

    /// Registry data.
    fn info(&self) -> DisciplineInfo {
        DisciplineInfo {
            name: self.name(),
            about: Self::ABOUT,
            source: Self::SOURCE,
            linux: Self::LINUX,
            queues: Self::QUEUES,
            weighted: Self::WEIGHTED,
            max_weight: Self::MAX_WEIGHT,
            reorders: Self::REORDERS,
            complexity: Self::COMPLEXITY,
            drops: Self::DROPS,
            bounds: Self::BOUNDS,
            interior: Self::INTERIOR,
            yardstick: Self::YARDSTICK,
            priority: self.priority(),
            times: self.times(),
            reads_hosts: self.reads_hosts(),
            reads_acknowledgements: self.reads_acknowledgements(),
            reads_seed: self.reads_seed(),
            default_limit: self.default_limit(),
        }
    }

    /// The parameters with their values.
    fn parameters(&self) -> Vec<ParameterInfo> {
        let describe = |p: &Parameter<Self>| ParameterInfo {
            name: p.name,
            value: p.text(self),
            range: (p.kind.show(p.min), p.kind.show(p.max)),
            kind: p.kind,
            about: p.about,
        };
        Self::PARAMETERS.iter().map(describe).collect()
    }

    /// The queue's condition without which no packet is dropped as [`DropReason::Early`], on a link
    /// with this rate.
    fn onset(&self, _link: Rate) -> Onset {
        Onset::Unknown
    }

    /// Proven guarantees.
    fn guarantees(&self, share: &Share) -> Guarantees {
        let _ = share;
        Guarantees::default()
    }

    /// Applies these parameters to a scheduler at work. Only [`LIVE`](Self::LIVE) parameters may
    /// differ.
    ///
    /// # Errors
    /// A parameter is out of its range, or a fixed parameter differs. The scheduler is then
    /// unchanged.
    fn reconfigure<T: Send>(&self, scheduler: &mut Self::Scheduler<T>) -> Result<(), ConfigError> {
        self.check()?;
        let Some(current) = Self::configuration(scheduler) else {
            return Ok(());
        };
        let differs = |parameter: &&Parameter<Self>| !parameter.is_same(self, current);
        let fixed = Self::PARAMETERS
            .iter()
            .filter(differs)
            .find(|parameter| !Self::LIVE.contains(&parameter.name));
        if let Some(Parameter { name, .. }) = fixed {
            return Err(ConfigError::Fixed {
                discipline: Self::NAME,
                parameter: name,
            });
        }
        let before = core::mem::replace(current, self.clone());
        Self::adopt(scheduler, &before);
        Ok(())
    }

    /// The configuration that a scheduler uses. None: the discipline has no parameters.
    fn configuration<T: Send>(scheduler: &mut Self::Scheduler<T>) -> Option<&mut Self> {
        let _ = scheduler;
        None
    }

    /// Adapts the state to a configuration changed from `before` in [`LIVE`](Self::LIVE)
    /// parameters.
    fn adopt<T: Send>(scheduler: &mut Self::Scheduler<T>, before: &Self) {
        let _ = (scheduler, before);
    }

    /// What [`Packet::priority`](crate::Packet::priority) means in this configuration:
    /// [`PRIORITY`](Self::PRIORITY), unless a parameter selects another.
    fn priority(&self) -> Priority {
        Self::PRIORITY
    }

    /// Which of a packet's time fields this configuration uses: [`TIMES`](Self::TIMES), unless a
    /// parameter selects another.
    fn times(&self) -> Times {
        Self::TIMES
    }

    /// Whether a packet may interrupt another one on the link, in a
    /// [`PreemptivePort`](crate::PreemptivePort).
    fn preempts(&self) -> bool {
        false
    }

    /// Whether the discipline shares the link among hosts in this configuration, and so needs
    /// [`Control::set_hosts`](crate::Control::set_hosts).
    fn reads_hosts(&self) -> bool {
        false
    }

    /// Whether the discipline drops redundant acknowledgements in this configuration, and so needs
    /// [`Control::set_acknowledgement`](crate::Control::set_acknowledgement).
    fn reads_acknowledgements(&self) -> bool {
        false
    }

    /// Whether another seed may change what happens to packets, because the discipline draws, or
    /// hashes flows.
    fn reads_seed(&self) -> bool {
        false
    }

    /// Whether the first call after a period does a timer's work, even a call that is refused, as
    /// with `sfq perturb`. Otherwise a refused call leaves the scheduler as before.
    fn has_timer(&self) -> bool {
        false
    }

    /// Sets what a `tc` word beside the parameters' names stands for, which is a preset for one
    /// value or for several. Returns a name for what is set, for which a text may have one word.
    /// None: the word has no meaning.
    ///
    /// # Errors
    /// The word is one of `tc`'s that this discipline does not take.
    fn set_word(&mut self, word: &str) -> Result<Option<&'static str>, ConfigError> {
        let _ = word;
        Ok(None)
    }

    /// # Errors
    /// A parameter is out of its range.
    fn check(&self) -> Result<(), ConfigError> {
        Self::PARAMETERS
            .iter()
            .try_for_each(|parameter| parameter.check(Self::NAME, self))
    }
}

/// The queue's condition without which a discipline drops no packet early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Onset {
    /// No condition is stated.
    Unknown,
    /// The dropped packet has waited this long.
    Wait(Duration),
    /// More bytes than these waited when the dropped packet arrived, which was just now.
    Backlog {
        /// Bytes.
        above: u64,
    },
    /// A moving average of the whole backlog, taken at arrivals, has reached `least`.
    Average {
        /// Least average, in packets or bytes.
        least: u64,
        /// Whether the average counts bytes.
        in_bytes: bool,
        /// Each arrival moves the average by 2^-this of its distance from the backlog.
        weight_log: u32,
        /// Idle time that moves the average like the arrival of one packet at an empty queue.
        packet_time: Duration,
    },
}

/// A scheduler's constructor. Callers use [`Discipline::build`], which checks the configuration
/// before.
pub trait Configured<C>: Sized {
    /// An empty scheduler. `seed` is the key of random draws and hashes.
    ///
    /// # Errors
    /// The configuration is not legal.
    fn configured(config: C, seed: Seed) -> Result<Self, ConfigError>;
}

/// A discipline in Linux's traffic control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linux {
    /// Linux does not have the discipline.
    Absent,
    /// Linux has the discipline.
    Qdisc {
        /// The name in `tc`.
        name: &'static str,
        /// How the qdisc tells flows apart.
        flows: LinuxFlows,
        /// What the qdisc's limit counts.
        limit: LinuxLimit,
    },
}

/// What a Linux qdisc's limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinuxLimit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
    /// Packets or bytes: one of two qdiscs, `pfifo` or `bfifo`, holds the packets.
    Either,
    /// Packets and bytes.
    Both,
    /// The qdisc has no limit. Its classes have queues with limits of their own.
    OfClasses,
}

/// How packets wait in a discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queues {
    /// In one queue for all flows. Packets that are not dropped leave first in, first out.
    One,
    /// In one order for all flows: by rank, by class, or drawn.
    Sorted,
    /// In a queue for each flow.
    PerFlow,
    /// In a fixed number of queues. A hash of the flow selects the queue, so flows may share one.
    Hashed,
}

/// How a Linux qdisc tells flows apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinuxFlows {
    /// The qdisc does not look at flows.
    Unread,
    /// The qdisc hashes addresses, protocol and ports.
    Hashed,
    /// The qdisc has a queue for each flow, told by addresses, protocol and ports.
    Exact,
    /// The qdisc has a class for each flow, and filters put packets into classes.
    Classes,
}

/// An operation on any discipline, with the discipline's static type.
pub trait Visitor {
    /// Result of the operation.
    type Output;
    /// Runs the operation.
    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output;
}

/// A discipline's registry data, without the type.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct DisciplineInfo {
    /// [`Discipline::NAME`].
    pub name: &'static str,
    /// [`Discipline::ABOUT`].
    pub about: &'static str,
    /// [`Discipline::SOURCE`].
    pub source: &'static str,
    /// [`Discipline::LINUX`].
    pub linux: Linux,
    /// [`Discipline::QUEUES`].
    pub queues: Queues,
    /// [`Discipline::WEIGHTED`].
    pub weighted: bool,
    /// [`Discipline::MAX_WEIGHT`].
    pub max_weight: u32,
    /// [`Discipline::REORDERS`].
    pub reorders: bool,
    /// [`Discipline::COMPLEXITY`].
    pub complexity: &'static str,
    /// [`Discipline::DROPS`].
    pub drops: &'static [DropReason],
    /// [`Discipline::BOUNDS`].
    pub bounds: &'static [DropReason],
    /// [`Discipline::INTERIOR`].
    pub interior: bool,
    /// [`Discipline::YARDSTICK`].
    pub yardstick: bool,
    /// [`Discipline::priority`].
    pub priority: Priority,
    /// [`Discipline::times`].
    pub times: Times,
    /// [`Discipline::reads_hosts`].
    pub reads_hosts: bool,
    /// [`Discipline::reads_acknowledgements`].
    pub reads_acknowledgements: bool,
    /// [`Discipline::reads_seed`].
    pub reads_seed: bool,
    /// [`Discipline::DEFAULT_LIMIT`].
    pub default_limit: Limit,
}

/// A parameter without its configuration's type, for lists and help.
#[derive(Debug, Clone)]
pub struct ParameterInfo {
    /// Name in configurations.
    pub name: &'static str,
    /// Value with unit.
    pub value: String,
    /// Smallest and largest legal value, with units.
    pub range: (String, String),
    /// Kind of value.
    pub kind: Kind,
    /// Description, one line.
    pub about: &'static str,
}

impl ParameterInfo {
    /// Legal values in words: `1b to 1mb`, `slack, priority or deadline`, `ecn or noecn`.
    pub fn legal(&self) -> String {
        match (self.kind, &self.range) {
            (Kind::Switch, _) => format!("{0} or no{0}", self.name),
            (Kind::Choice(words), _) => alternatives(words),
            (Kind::Bandwidth, (min, max)) => format!("{min} to {max}, or unlimited"),
            (_, (min, max)) => format!("{min} to {max}"),
        }
    }
}
