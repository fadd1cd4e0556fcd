//! Custom: a scheduler from another crate, wherever one of the registry's disciplines can stand.
//!
//! Implement [`Scheduler`] for handles and give a function that makes one. The configuration then
//! runs in `compare`, in the simulator, in benchmarks and in the conformance tests beside the
//! registry's disciplines:
//!
//! ```
//! use roundelay::schedulers::{AnyDiscipline, custom, fifo};
//! use roundelay::author::ByCopy;
//! use roundelay::{FlowId, Instant, Packet, Scheduler, Seed};
//!
//! let mine = AnyDiscipline::Custom(custom::Config::new("mine", |_seed| ByCopy::new(fifo::Fifo::default())));
//! assert_eq!(mine.to_string(), "mine");
//! let mut scheduler = mine.build(Seed::new(1))?;
//! scheduler.enqueue(Instant::ZERO, Packet::new(FlowId(0), 1500, "a")).expect("a queue takes every packet");
//! # Ok::<(), roundelay::ConfigError>(())
//! ```
//!
//! A scheduler by value, `impl<T> Scheduler<T> for Mine<T>`, serves as `ByCopy::new(Mine::new())`.
//!
//! Cost: one call through a pointer for each operation, and each packet is written into an
//! [`Arena`]'s slot and read back.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use super::fifo::Fifo;
use super::{Configured, Discipline, DisciplineInfo, Linux, Priority, Times};
use crate::arena::Arena;
use crate::by_copy::ByCopy;
use crate::config::ConfigError;
use crate::drops::DropReason;
use crate::guarantees::{Guarantees, Share};
use crate::handle::{Departure, Handle};
use crate::limit::Limit;
use crate::scheduler::Scheduler;
use crate::seed::Seed;

/// A scheduler by handle, of any type.
pub type Order = Box<dyn Scheduler<Handle, Departure> + Send>;

/// A function that makes schedulers, with the facts that drivers ask about a discipline.
#[derive(Clone)]
pub struct Config {
    /// Name in results, which should differ from the registry's names.
    pub name: &'static str,
    /// Makes a scheduler from the seed for random draws and hashes.
    pub build: Arc<dyn Fn(Seed) -> Order + Send + Sync>,
    /// Description, one line.
    pub about: &'static str,
    /// Whether flows can have weights. False by default.
    pub weighted: bool,
    /// A flow's largest weight. 1024 by default.
    pub max_weight: u32,
    /// Whether packets of one flow can leave out of arrival order. False by default.
    pub reorders: bool,
    /// Whether the scheduler can share a link among a node's children in a hierarchy, with
    /// [`Scheduler::dequeue_refilled`] and [`Scheduler::evict_flow`] as specified. False by
    /// default.
    pub interior: bool,
    /// Whether a packet may interrupt another one on the link: see [`Scheduler::preempts`]. False
    /// by default.
    pub preempts: bool,
    /// Whether a refused call may do a timer's work: see [`Discipline::has_timer`]. False by
    /// default.
    pub has_timer: bool,
    /// What [`Packet::priority`](crate::Packet::priority) means. Unread by default.
    pub priority: Priority,
    /// Which of a packet's time fields the scheduler uses. None by default.
    pub times: Times,
    /// Proven guarantees to a flow with this share of the link, audited by `compare`. None by
    /// default.
    pub guarantees: Arc<dyn Fn(&Share) -> Guarantees + Send + Sync>,
    /// Buffer limit if the user gives none. 1000 packets by default.
    pub default_limit: Limit,
}

impl Config {
    /// Schedulers made by `build`, which gets the seed. The other fields have their defaults.
    pub fn new<S>(name: &'static str, build: impl Fn(Seed) -> S + Send + Sync + 'static) -> Self
    where
        S: Scheduler<Handle, Departure> + Send + 'static,
    {
        Self {
            name,
            build: Arc::new(move |seed| Box::new(build(seed))),
            about: Self::ABOUT,
            weighted: Self::WEIGHTED,
            max_weight: Self::MAX_WEIGHT,
            reorders: Self::REORDERS,
            interior: Self::INTERIOR,
            preempts: false,
            has_timer: false,
            priority: Self::PRIORITY,
            times: Self::TIMES,
            guarantees: Arc::new(|_| Guarantees::default()),
            default_limit: Self::DEFAULT_LIMIT,
        }
    }
}

/// First in, first out, under the name `custom`.
impl Default for Config {
    fn default() -> Self {
        Self::new(Self::NAME, |_| ByCopy::new(Fifo::default()))
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Configured<Config> for Order {
    fn configured(config: Config, seed: Seed) -> Result<Self, ConfigError> {
        Ok((config.build)(seed))
    }
}

impl<T> Configured<Config> for Arena<T, Order> {
    fn configured(config: Config, seed: Seed) -> Result<Self, ConfigError> {
        Order::configured(config, seed).map(Self::new)
    }
}

impl Discipline for Config {
    const NAME: &'static str = "custom";
    const ABOUT: &'static str = "a scheduler of another program";
    const SOURCE: &'static str = "the program that made the scheduler";
    const LINUX: Linux = Linux::Absent;
    /// Any reason is possible.
    const DROPS: &'static [DropReason] = &DropReason::ALL;
    const BOUNDS: &'static [DropReason] = &DropReason::ALL;
    const COMPLEXITY: &'static str = "not stated";
    type Scheduler<T: Send> = Arena<T, Order>;
    type ByHandle = Order;

    fn name(&self) -> &'static str {
        self.name
    }

    fn default_limit(&self) -> Limit {
        self.default_limit
    }

    fn info(&self) -> DisciplineInfo {
        let Self {
            name,
            about,
            weighted,
            max_weight,
            reorders,
            interior,
            priority,
            times,
            default_limit,
            ..
        } = *self;
        DisciplineInfo {
            name,
            about,
            source: Self::SOURCE,
            linux: Self::LINUX,
            queues: Self::QUEUES,
            weighted,
            max_weight,
            reorders,
            complexity: Self::COMPLEXITY,
            drops: Self::DROPS,
            bounds: Self::BOUNDS,
            interior,
            yardstick: Self::YARDSTICK,
            priority,
            times,
            reads_hosts: false,
            reads_acknowledgements: false,
            // It runs once, because in Python each run takes its user's time.
            reads_seed: false,
            default_limit,
        }
    }

    fn priority(&self) -> Priority {
        self.priority
    }

    fn times(&self) -> Times {
        self.times
    }

    fn preempts(&self) -> bool {
        self.preempts
    }

    fn has_timer(&self) -> bool {
        self.has_timer
    }

    fn guarantees(&self, share: &Share) -> Guarantees {
        (self.guarantees)(share)
    }
}
