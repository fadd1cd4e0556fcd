//! Registry of scheduling disciplines, by name.
//!
//! To add a discipline, write a file in this folder, then add a `mod` line and a line in
//! `registry!`. Tests, documents and drivers read the registry.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::buffer::Limit;
use crate::config::{ConfigError, Kind, Parameter, alternatives, is_bare};
use crate::guarantees::{Guarantees, Share};
use crate::links::{Departure, Handle};
use crate::packet::{FlowId, Packet};
use crate::pool::Backlog;
use crate::scheduler::{DropReason, FlowConfig, Footprint, Scheduler};
use crate::suggestion;
use crate::time::Instant;
use crate::units::Rate;

pub use crate::mechanisms::rank_by::RankBy;

pub mod afd;
pub mod afq;
pub mod aifo;
pub mod choke;
pub mod codel;
pub mod custom;
pub mod drr;
pub mod edf;
pub mod fifo;
pub mod fifo_plus;
pub mod fq;
pub mod fq_codel;
pub mod gfq;
pub mod lifo;
pub mod lstf;
pub mod lstf_levels;
pub mod mqfq;
pub mod priority;
pub mod qfq;
pub mod qfq_plus;
pub mod random;
pub mod red;
pub mod s_kps;
pub mod scfq;
pub mod sfb;
pub mod sfq;
pub mod sjf;
pub mod sp_pifo;
pub mod srpt;
pub mod srr;
pub mod wf2q;
pub mod wf2q_plus;
pub mod wfq;

/// A discipline in the registry. The discipline's configuration implements this trait.
pub trait Discipline: Clone + Default + fmt::Debug + Send + Sync + 'static {
    /// Name in configurations; also the name of the file, the page and the tests.
    const NAME: &'static str;
    /// Description, one line.
    const ABOUT: &'static str;
    /// Publications.
    const SOURCE: &'static str;
    /// Parameters, without `limit` and `memory_limit`, which all disciplines have.
    const PARAMETERS: &'static [Parameter<Self>];
    /// Names of the parameters changeable while packets wait.
    const LIVE: &'static [&'static str] = &[];
    /// Whether flows can have weights.
    const WEIGHTED: bool;
    /// Whether packets of one flow can leave out of arrival order.
    const REORDERS: bool = false;
    /// Steps for each packet: `O(1)`, `O(log N)` with N flows, `O(log n)` with n waiting packets.
    const COMPLEXITY: &'static str;
    /// Meaning of [`Packet::priority`] for the discipline.
    const PRIORITY: Priority = Priority::Unread;
    /// Time field of a packet used by the discipline.
    const TIMES: Times = Times::Unread;
    /// Whether the discipline is only a baseline for comparisons, not for use at a port.
    const YARDSTICK: bool = false;
    /// Whether the discipline can share a link among the children of a node in a hierarchy, with
    /// [`Scheduler::dequeue_refilled`] and [`Scheduler::evict_flow`] as specified.
    const INTERIOR: bool = false;
    /// Buffer limit if the user gives none: `tc`'s default.
    const DEFAULT_LIMIT: Limit;
    /// The configured scheduler. The scheduler and its packets can move to another thread.
    type Scheduler<T: Send>: Scheduler<T> + Send;
    /// The same scheduler for handles in place of packets.
    type ByHandle: Scheduler<Handle, Departure> + Send;

    /// An empty scheduler. `seed` is the key of random draws and hashes: same seed, same behaviour.
    ///
    /// # Errors
    /// A parameter is out of its range.
    fn build<T: Send>(&self, seed: u64) -> Result<Self::Scheduler<T>, ConfigError>;

    /// An empty scheduler of handles, in the same order as the packets of [`build`](Self::build)'s
    /// scheduler.
    ///
    /// # Errors
    /// A parameter is out of its range.
    fn build_by_handle(&self, seed: u64) -> Result<Self::ByHandle, ConfigError>;

    /// A scheduler for a node of a hierarchy. The flows are the node's children, numbered from 0.
    /// Disciplines with hashed flows keep children apart instead.
    ///
    /// # Errors
    /// A parameter is out of its range.
    fn build_class<T: Send>(&self, seed: u64) -> Result<Self::Scheduler<T>, ConfigError> {
        self.build(seed)
    }

    /// Name of this configuration: [`NAME`](Self::NAME), unless a program names schedulers of its
    /// own ([`custom`]).
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// Registry data with the values of the parameters.
    fn info(&self) -> DisciplineInfo {
        DisciplineInfo {
            name: self.name(),
            about: Self::ABOUT,
            source: Self::SOURCE,
            weighted: Self::WEIGHTED,
            reorders: Self::REORDERS,
            complexity: Self::COMPLEXITY,
            interior: Self::INTERIOR,
            default_limit: Self::DEFAULT_LIMIT,
            parameters: parameters_of(self),
        }
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
        let Some(current) = Self::configuration(scheduler) else { return Ok(()) };
        let differs = |parameter: &&Parameter<Self>| (parameter.read)(self) != (parameter.read)(current);
        let fixed = Self::PARAMETERS.iter().filter(differs).find(|parameter| !Self::LIVE.contains(&parameter.name));
        if let Some(Parameter { name, .. }) = fixed {
            return Err(ConfigError::Fixed { discipline: Self::NAME, parameter: name });
        }
        let before = core::mem::replace(current, self.clone());
        Self::adopt(scheduler, &before);
        Ok(())
    }

    /// Configuration in use by a scheduler. None: the discipline has no parameters.
    fn configuration<T: Send>(scheduler: &mut Self::Scheduler<T>) -> Option<&mut Self> {
        let _ = scheduler;
        None
    }

    /// Adapts the state to a configuration changed from `before` in [`LIVE`](Self::LIVE)
    /// parameters.
    fn adopt<T: Send>(scheduler: &mut Self::Scheduler<T>, before: &Self) {
        let _ = (scheduler, before);
    }

    /// Meaning of [`Packet::priority`] in this configuration: [`PRIORITY`](Self::PRIORITY), unless
    /// a parameter selects another.
    fn priority(&self) -> Priority {
        Self::PRIORITY
    }

    /// Time field of a packet used in this configuration: [`TIMES`](Self::TIMES), unless a
    /// parameter selects another.
    fn times(&self) -> Times {
        Self::TIMES
    }

    /// # Errors
    /// A parameter is out of its range.
    fn check(&self) -> Result<(), ConfigError> {
        Self::PARAMETERS.iter().try_for_each(|parameter| parameter.check(Self::NAME, self))
    }
}

/// Meaning of [`Packet::priority`] for a discipline: the value to write into new packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Not read.
    Unread,
    /// The caller's classes: smaller goes first.
    Class,
    /// Bytes of the packet's whole flow.
    FlowSize,
    /// Bytes of the flow still to be sent, including this packet.
    Remaining,
}

/// Time field of a packet used by a discipline, beside the arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// None.
    Unread,
    /// [`Packet::slack`].
    Slack,
    /// [`Packet::deadline`].
    Deadline,
}

/// An operation on any discipline, with the discipline's static type.
pub trait Visitor {
    /// Result of the operation.
    type Output;
    /// Runs the operation.
    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output;
}

/// A discipline with its buffer's limit, as in `fq_codel limit 1000 target 5ms`.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The discipline.
    pub discipline: AnyDiscipline,
    /// The limit, where one is written.
    pub limit: Option<Limit>,
}

impl Spec {
    /// The limit: as written, else the discipline's default.
    pub fn limit_or_default(&self) -> Limit {
        self.limit.unwrap_or_else(|| self.discipline.default_limit())
    }
}

impl FromStr for Spec {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let mut discipline = AnyDiscipline::named(name)?;
        let default = discipline.default_limit();
        let mut limit = LimitReader { discipline: discipline.name(), default, limit: None, memory_bytes: None };
        let mut written: Vec<(&str, &str)> = Vec::new();
        while let Some(word) = words.next() {
            let parameter = match limit.read(word, &mut words)? {
                Some(parameter) => parameter,
                None => discipline.set(word, &mut words)?,
            };
            if let Some((_, first)) = written.iter().find(|(other, _)| *other == parameter) {
                let (first, second) = ((*first).to_owned(), word.to_owned());
                return Err(ConfigError::Repeated { discipline: discipline.name(), first, second });
            }
            written.push((parameter, word));
        }
        discipline.visit(Check)?;
        Ok(Self { limit: limit.over_default(), discipline })
    }
}

/// Reader of `limit` and `memory_limit`: parameters of the buffer, common to all disciplines.
struct LimitReader {
    discipline: &'static str,
    default: Limit,
    limit: Option<Limit>,
    memory_bytes: Option<u64>,
}

impl LimitReader {
    /// The parameter named by `word`, if one of the two; the value is then read from `words`.
    fn read<'a>(&mut self, word: &str, words: &mut impl Iterator<Item = &'a str>) -> Result<Option<&'static str>, ConfigError> {
        let (discipline, parameter) =
            (self.discipline, |value: Option<&str>| value.map_or(word.to_owned(), |value| format!("{word} {value}")));
        let error =
            |value, expected: &str| ConfigError::BadValue { discipline, parameter: parameter(value), expected: expected.to_owned() };
        match word {
            "limit" => {
                let (expected, bare) = if self.default.is_in_bytes() {
                    ("bytes (limit 150kb) or packets (limit 1000p)", "b")
                } else {
                    ("packets (limit 1000) or bytes (limit 150kb)", "p")
                };
                let read = |text: &str| if is_bare(text) { parse_limit(&(text.to_owned() + bare)) } else { parse_limit(text) };
                let text = words.next();
                self.limit = Some(text.and_then(read).ok_or_else(|| error(text, expected))?);
                Ok(Some("limit"))
            }
            "memory_limit" => {
                let text = words.next().ok_or_else(|| error(None, "a size, as in 32mb"))?;
                self.memory_bytes = Some(Kind::Size.read(text).map_err(|expected| error(Some(text), &expected))?);
                Ok(Some("memory_limit"))
            }
            _ => Ok(None),
        }
    }

    /// The parameters read, in any order, over the default: `limit` in packets keeps the default's
    /// bytes, in bytes it replaces both; `memory_limit` replaces the default's bytes. None if
    /// neither was written.
    fn over_default(&self) -> Option<Limit> {
        let default = self.default;
        if self.limit.is_none() && self.memory_bytes.is_none() {
            return None;
        }
        let written = self.limit.unwrap_or(Limit::of_packets(default.packets));
        let unwritten = if written.bytes == u64::MAX { default.bytes } else { u64::MAX };
        Some(Limit { packets: written.packets, bytes: written.bytes.min(self.memory_bytes.unwrap_or(unwritten)) })
    }
}

struct Check;

impl Visitor for Check {
    type Output = Result<(), ConfigError>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        discipline.check()
    }
}

/// A buffer's limit: `1000` or `1000p` packets, `150kb` bytes. Bytes need a unit; otherwise `1.5`
/// would be a byte.
pub fn parse_limit(text: &str) -> Option<Limit> {
    let number = text.strip_suffix('p').unwrap_or(text);
    if number.ends_with(|c: char| c.is_ascii_digit()) {
        return number.parse().ok().map(Limit::of_packets);
    }
    Kind::Size.read(text).ok().map(Limit::of_bytes)
}

/// A parameter without the type of its configuration, for lists and help.
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
            (_, (min, max)) => format!("{min} to {max}"),
        }
    }
}

fn parameters_of<D: Discipline>(config: &D) -> Vec<ParameterInfo> {
    let describe = |p: &Parameter<D>| ParameterInfo {
        name: p.name,
        value: p.kind.show((p.read)(config)),
        range: (p.kind.show(p.min), p.kind.show(p.max)),
        kind: p.kind,
        about: p.about,
    };
    D::PARAMETERS.iter().map(describe).collect()
}

/// Reads the parameter named by `word`, with the value from `words`, and returns the parameter's
/// name.
fn set_parameter<'a, D: Discipline>(
    config: &mut D,
    word: &str,
    words: &mut impl Iterator<Item = &'a str>,
) -> Result<&'static str, ConfigError> {
    for parameter in D::PARAMETERS {
        let mut written = word;
        let value = match parameter.kind {
            Kind::Switch if word == parameter.name => 1,
            Kind::Switch if word.strip_prefix("no") == Some(parameter.name) => 0,
            kind if word == parameter.name && kind != Kind::Switch => {
                let bad = |written: String, expected| bad_value(parameter, written, expected);
                written = words.next().ok_or_else(|| bad(word.to_owned(), "a value after it".to_owned()))?;
                kind.read(written).map_err(|expected| bad(format!("{word} {written}"), expected))?
            }
            _ => continue,
        };
        (parameter.write)(config, value);
        return parameter.check(D::NAME, config).map(|()| parameter.name).map_err(|error| as_written(error, written));
    }
    Err(unknown_parameter::<D>(word))
}

/// Error for a missing or unreadable value, with the legal values.
fn bad_value<D: Discipline>(parameter: &Parameter<D>, written: String, expected: String) -> ConfigError {
    let expected = match parameter.kind {
        Kind::Choice(words) => alternatives(words),
        kind => format!("{expected}, legal range {} to {}", kind.show(parameter.min), kind.show(parameter.max)),
    };
    ConfigError::BadValue { discipline: D::NAME, parameter: written, expected }
}

fn unknown_parameter<D: Discipline>(word: &str) -> ConfigError {
    let known: Vec<_> = D::PARAMETERS.iter().map(|p| p.name).chain(["limit", "memory_limit"]).collect();
    let meant = suggestion::nearest(word, known.iter().copied());
    ConfigError::UnknownParameter { discipline: D::NAME, parameter: word.to_owned(), meant, known: known.join(", ") }
}

fn unknown_discipline(name: &str) -> ConfigError {
    let known: Vec<_> = AnyDiscipline::all().iter().map(AnyDiscipline::name).collect();
    let meant = suggestion::discipline(name, known.iter().copied());
    let has_it = |discipline: &AnyDiscipline| discipline.info().parameters.iter().any(|parameter| parameter.name == name);
    let is_parameter = ["limit", "memory_limit"].contains(&name) || AnyDiscipline::all().iter().any(has_it);
    ConfigError::UnknownDiscipline { name: name.to_owned(), is_parameter, meant, known: known.join(", ") }
}

/// The error with the user's text in place of the configuration's value, which may be saturated.
fn as_written(mut error: ConfigError, written: &str) -> ConfigError {
    if let ConfigError::OutOfRange { value, .. } = &mut error {
        *value = written.to_owned();
    }
    error
}

/// Writes the configuration in the user's syntax: the name, then each parameter with a value other
/// than the default.
fn write_config<D: Discipline>(config: &D, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(config.name())?;
    let default = D::default();
    for parameter in D::PARAMETERS {
        let value = (parameter.read)(config);
        if value == (parameter.read)(&default) {
            continue;
        }
        match (parameter.kind, value) {
            (Kind::Switch, 0) => write!(f, " no{}", parameter.name)?,
            (Kind::Switch, _) => write!(f, " {}", parameter.name)?,
            (kind, value) => write!(f, " {} {}", parameter.name, kind.show(value))?,
        }
    }
    Ok(())
}

/// One line a discipline: `Variant = module`. The module is the discipline's file with the
/// `Config`.
macro_rules! registry {
    ($($variant:ident = $module:ident),* $(,)?) => {
        any! { $($variant = $module,)* Custom = custom }

        impl AnyDiscipline {
            /// Every discipline with its default parameters, in the order of the registry.
            pub fn all() -> Vec<Self> {
                alloc::vec![$(Self::$variant($module::Config::default()),)*]
            }

            /// The discipline of this name with its default parameters.
            ///
            /// # Errors
            /// No discipline has this name.
            pub fn named(name: &str) -> Result<Self, ConfigError> {
                match name {
                    $($module::Config::NAME => Ok(Self::$variant($module::Config::default())),)*
                    _ => Err(unknown_discipline(name)),
                }
            }
        }
    };
}

/// Types with one variant for each discipline: those of the registry, and [`custom`].
macro_rules! any {
    ($($variant:ident = $module:ident),* $(,)?) => {
        /// Any discipline, configured.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum AnyDiscipline {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $variant($module::Config),)*
        }

        impl AnyDiscipline {
            /// Runs `visitor` with the discipline's static type. A driver calls this once a run,
            /// and the driver's loop is compiled for each discipline.
            pub fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
                match self {
                    $(Self::$variant(config) => visitor.visit(config),)*
                }
            }

            /// A scheduler of this discipline in an [`AnyScheduler`], for networks of mixed
            /// routers.
            ///
            /// # Errors
            /// A parameter is out of its range.
            pub fn build<T: Send>(&self, seed: u64) -> Result<AnyScheduler<T>, ConfigError> {
                Ok(match self {
                    $(Self::$variant(config) => AnyScheduler::$variant(Box::new(config.build(seed)?)),)*
                })
            }

            /// A scheduler of handles: see [`Discipline::build_by_handle`].
            ///
            /// # Errors
            /// A parameter is out of its range.
            pub fn build_by_handle(&self, seed: u64) -> Result<custom::Order, ConfigError> {
                Ok(match self {
                    $(Self::$variant(config) => Box::new(config.build_by_handle(seed)?),)*
                })
            }

            /// A scheduler for a node of a hierarchy: see [`Discipline::build_class`].
            ///
            /// # Errors
            /// A parameter is out of its range.
            pub fn build_class<T: Send>(&self, seed: u64) -> Result<AnyScheduler<T>, ConfigError> {
                Ok(match self {
                    $(Self::$variant(config) => AnyScheduler::$variant(Box::new(config.build_class(seed)?)),)*
                })
            }

            /// Name of the discipline.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(config) => config.name(),)* }
            }

            /// Registry data of the discipline.
            pub fn info(&self) -> DisciplineInfo {
                match self { $(Self::$variant(config) => config.info(),)* }
            }

            /// Guarantees to a flow: see [`Discipline::guarantees`].
            pub fn guarantees(&self, share: &Share) -> Guarantees {
                match self { $(Self::$variant(config) => config.guarantees(share),)* }
            }

            /// Applies these parameters to a scheduler at work: see [`Discipline::reconfigure`].
            ///
            /// # Errors
            /// The scheduler is of another discipline, a parameter is out of its range, or a fixed
            /// parameter differs. The scheduler is then unchanged.
            pub fn reconfigure<T: Send>(&self, scheduler: &mut AnyScheduler<T>) -> Result<(), ConfigError> {
                match (self, scheduler) {
                    $((Self::$variant(config), AnyScheduler::$variant(scheduler)) => config.reconfigure(scheduler),)*
                    _ => Err(ConfigError::OtherDiscipline { discipline: self.name() }),
                }
            }

            fn set<'a>(&mut self, word: &str, words: &mut impl Iterator<Item = &'a str>) -> Result<&'static str, ConfigError> {
                match self {
                    $(Self::$variant(config) => set_parameter(config, word, words),)*
                }
            }
        }

        impl fmt::Display for AnyDiscipline {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(config) => write_config(config, f),)*
                }
            }
        }

        /// A scheduler of any discipline. Boxed: sizes differ much, and a network has thousands of
        /// ports.
        #[non_exhaustive]
        pub enum AnyScheduler<T: Send> {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $variant(Box<<$module::Config as Discipline>::Scheduler<T>>),)*
        }

        impl<T: Send> Scheduler<T> for AnyScheduler<T> {
            fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
                match self { $(Self::$variant(scheduler) => scheduler.enqueue(now, packet),)* }
            }

            fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
                match self { $(Self::$variant(scheduler) => scheduler.dequeue(now),)* }
            }

            fn enqueue_burst(&mut self, now: Instant, packets: &mut Vec<Packet<T>>) {
                match self { $(Self::$variant(scheduler) => scheduler.enqueue_burst(now, packets),)* }
            }

            fn dequeue_burst(&mut self, now: Instant, most: usize, into: &mut Vec<Packet<T>>) {
                match self { $(Self::$variant(scheduler) => scheduler.dequeue_burst(now, most, into),)* }
            }

            fn evict(&mut self) -> Option<Packet<T>> {
                match self { $(Self::$variant(scheduler) => scheduler.evict(),)* }
            }

            fn dequeue_refilled(&mut self, now: Instant, refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>) -> Option<Packet<T>> {
                match self { $(Self::$variant(scheduler) => scheduler.dequeue_refilled(now, refill),)* }
            }

            fn evict_flow(&mut self, flow: FlowId) -> Option<Packet<T>> {
                match self { $(Self::$variant(scheduler) => scheduler.evict_flow(flow),)* }
            }

            fn preempts(&self, now: Instant, sending: &Packet<T>) -> bool {
                match self { $(Self::$variant(scheduler) => scheduler.preempts(now, sending),)* }
            }

            fn backlog(&self) -> Backlog {
                match self { $(Self::$variant(scheduler) => scheduler.backlog(),)* }
            }

            fn ready_at(&self) -> Option<Instant> {
                match self { $(Self::$variant(scheduler) => scheduler.ready_at(),)* }
            }

            fn has_decided(&self) -> bool {
                match self { $(Self::$variant(scheduler) => scheduler.has_decided(),)* }
            }

            fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
                match self { $(Self::$variant(scheduler) => scheduler.take_dropped(),)* }
            }

            fn set_link_rate(&mut self, rate: Rate) {
                match self { $(Self::$variant(scheduler) => scheduler.set_link_rate(rate),)* }
            }

            fn set_buffer_limit(&mut self, limit: Limit) {
                match self { $(Self::$variant(scheduler) => scheduler.set_buffer_limit(limit),)* }
            }

            fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
                match self { $(Self::$variant(scheduler) => scheduler.set_flow(flow, config),)* }
            }

            fn remove_flow(&mut self, flow: FlowId) {
                match self { $(Self::$variant(scheduler) => scheduler.remove_flow(flow),)* }
            }

            fn total_weight(&self) -> Option<u64> {
                match self { $(Self::$variant(scheduler) => scheduler.total_weight(),)* }
            }

            fn queues_of(&self, flow: FlowId) -> Vec<usize> {
                match self { $(Self::$variant(scheduler) => scheduler.queues_of(flow),)* }
            }

            fn footprint(&self) -> Footprint {
                match self { $(Self::$variant(scheduler) => scheduler.footprint(),)* }
            }

            fn footprint_parts(&self) -> Vec<(&'static str, Footprint)> {
                match self { $(Self::$variant(scheduler) => scheduler.footprint_parts(),)* }
            }

            fn check_invariants(&self) {
                match self { $(Self::$variant(scheduler) => scheduler.check_invariants(),)* }
            }
        }
    };
}

registry! {
    Fifo = fifo,
    Lifo = lifo,
    Random = random,
    Priority = priority,
    Sjf = sjf,
    Srpt = srpt,
    FifoPlus = fifo_plus,
    Edf = edf,
    Lstf = lstf,
    LstfLevels = lstf_levels,
    SpPifo = sp_pifo,
    Drr = drr,
    Srr = srr,
    Fq = fq,
    Sfq = sfq,
    Mqfq = mqfq,
    Afq = afq,
    Scfq = scfq,
    Wfq = wfq,
    Wf2q = wf2q,
    Wf2qPlus = wf2q_plus,
    Gfq = gfq,
    Qfq = qfq,
    QfqPlus = qfq_plus,
    SKps = s_kps,
    Red = red,
    Choke = choke,
    Aifo = aifo,
    Afd = afd,
    Sfb = sfb,
    Codel = codel,
    FqCodel = fq_codel,
}

/// Registry data of a discipline, without the type.
#[derive(Debug, Clone)]
pub struct DisciplineInfo {
    /// [`Discipline::NAME`].
    pub name: &'static str,
    /// [`Discipline::ABOUT`].
    pub about: &'static str,
    /// [`Discipline::SOURCE`].
    pub source: &'static str,
    /// [`Discipline::WEIGHTED`].
    pub weighted: bool,
    /// [`Discipline::REORDERS`].
    pub reorders: bool,
    /// [`Discipline::COMPLEXITY`].
    pub complexity: &'static str,
    /// [`Discipline::INTERIOR`].
    pub interior: bool,
    /// [`Discipline::DEFAULT_LIMIT`].
    pub default_limit: Limit,
    /// Parameters with values.
    pub parameters: Vec<ParameterInfo>,
}

impl AnyDiscipline {
    /// Buffer limit if the user gives none.
    pub fn default_limit(&self) -> Limit {
        self.info().default_limit
    }
}
