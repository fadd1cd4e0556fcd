//! Registry of disciplines: one line each. [`AnyDiscipline`] and [`AnyScheduler`] have a variant
//! for every discipline.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::*;
use crate::arena::Arena;
use crate::config::ConfigError;
use crate::control::{Control, forward_control};
use crate::drops::{DropReason, Refused};
use crate::guarantees::{Guarantees, Share};
use crate::limit::{Backlog, Limit};
use crate::notation::{set_parameter, write_config};
use crate::packet::{FlowId, Packet};
use crate::scheduler::Scheduler;
use crate::seed::Seed;
use crate::time::Instant;
use crate::tree::{self, hfsc, htb};
use crate::units::Rate;
use crate::{not_here, suggestion};

/// One line for each discipline: `Scheduler = module`. The module is the discipline's file with the
/// scheduler and its `Config`.
macro_rules! registry {
    ($($variant:ident = $module:ident),* $(,)?) => {
        any! { $($variant = $module,)* Htb = htb, Hfsc = hfsc, Tree = tree, Custom = custom }

        $(
            /// Default parameters. Hashes and random draws have the key 0, which everyone knows, so
            /// give a seed of your own where senders choose addresses.
            impl<T> Default for $module::$variant<T> {
                fn default() -> Self {
                    // `every_scheduler_has_a_default`.
                    Self::configured($module::Config::default(), Seed::new(0)).expect("default parameters are legal")
                }
            }
        )*

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

/// Types with one variant for each discipline: those in the registry, those that are only classes
/// of trees, [`tree`] and [`custom`].
macro_rules! any {
    ($($variant:ident = $module:ident),* $(,)?) => {
        /// Any discipline, configured.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum AnyDiscipline {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $variant($module::Config),)*
        }

        $(
            impl From<$module::Config> for AnyDiscipline {
                fn from(config: $module::Config) -> Self {
                    Self::$variant(config)
                }
            }
        )*

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
            pub fn build<T: Send>(&self, seed: Seed) -> Result<AnyScheduler<T>, ConfigError> {
                Ok(match self {
                    $(Self::$variant(config) => AnyScheduler::$variant(Box::new(config.build(seed)?)),)*
                })
            }

            /// A scheduler by handle: see [`Discipline::build_by_handle`].
            ///
            /// # Errors
            /// A parameter is out of its range.
            pub fn build_by_handle(&self, seed: Seed) -> Result<custom::Order, ConfigError> {
                Ok(match self {
                    $(Self::$variant(config) => Box::new(config.build_by_handle(seed)?),)*
                })
            }

            /// An arena around the scheduler of [`build_by_handle`](Self::build_by_handle), so
            /// packets go in and out by value, in the same order as with [`build`](Self::build).
            /// Schedulers by handle are compiled once, those in [`AnyScheduler`] for each `T`. Use
            /// this if building time matters more to your program than some nanoseconds a packet.
            ///
            /// # Errors
            /// A parameter is out of its range.
            pub fn build_arena<T>(&self, seed: Seed) -> Result<AnyArena<T>, ConfigError> {
                self.build_by_handle(seed).map(Arena::new)
            }

            /// A scheduler for a node in a hierarchy: see [`Discipline::build_class`].
            ///
            /// # Errors
            /// A parameter is out of its range.
            pub fn build_class<T: Send>(&self, seed: Seed) -> Result<AnyScheduler<T>, ConfigError> {
                Ok(match self {
                    $(Self::$variant(config) => AnyScheduler::$variant(Box::new(config.build_class(seed)?)),)*
                })
            }

            /// Name of the discipline.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(config) => config.name(),)* }
            }

            /// Buffer limit if the user gives none.
            pub fn default_limit(&self) -> Limit {
                match self { $(Self::$variant(config) => config.default_limit(),)* }
            }

            /// Registry data of the discipline.
            pub fn info(&self) -> DisciplineInfo {
                match self { $(Self::$variant(config) => config.info(),)* }
            }

            /// The parameters with their values.
            pub fn parameters(&self) -> Vec<ParameterInfo> {
                match self { $(Self::$variant(config) => config.parameters(),)* }
            }

            /// Condition without which no packet is dropped early: see [`Discipline::onset`].
            pub fn onset(&self, link: Rate) -> Onset {
                match self { $(Self::$variant(config) => config.onset(link),)* }
            }

            /// Whether a packet may interrupt another one on the link: see
            /// [`Discipline::preempts`].
            pub fn preempts(&self) -> bool {
                match self { $(Self::$variant(config) => config.preempts(),)* }
            }

            /// Whether a refused call may do a timer's work: see [`Discipline::has_timer`].
            pub fn has_timer(&self) -> bool {
                match self { $(Self::$variant(config) => config.has_timer(),)* }
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

            pub(crate) fn set<'a>(&mut self, word: &str, words: &mut (impl Iterator<Item = &'a str> + Clone)) -> Result<&'static str, ConfigError> {
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

        /// A scheduler of any discipline. Boxed, because sizes differ much, and a network has
        /// thousands of ports.
        #[non_exhaustive]
        pub enum AnyScheduler<T: Send> {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $variant(Box<<$module::Config as Discipline>::Scheduler<T>>),)*
        }

        impl<T: Send> Scheduler<T> for AnyScheduler<T> {
            fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
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

            fn turn(&mut self, now: Instant) -> Option<FlowId> {
                match self { $(Self::$variant(scheduler) => scheduler.turn(now),)* }
            }

            fn set_len(&mut self, flow: FlowId, len: u32) {
                match self { $(Self::$variant(scheduler) => scheduler.set_len(flow, len),)* }
            }

            fn has_decided(&self) -> bool {
                match self { $(Self::$variant(scheduler) => scheduler.has_decided(),)* }
            }

            fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
                match self { $(Self::$variant(scheduler) => scheduler.take_dropped(),)* }
            }

        }

        impl<T: Send> AnyScheduler<T> {
            fn control(&self) -> &dyn Control {
                match self { $(Self::$variant(scheduler) => scheduler,)* }
            }

            fn control_mut(&mut self) -> &mut dyn Control {
                match self { $(Self::$variant(scheduler) => scheduler,)* }
            }
        }

        impl<T: Send> Control for AnyScheduler<T> {
            forward_control!(self, self.control(), self.control_mut());
        }
    };
}

registry! {
    Fifo = fifo,
    Lifo = lifo,
    Random = random,
    Priority = priority,
    Ets = ets,
    Sjf = sjf,
    Srpt = srpt,
    FifoPlus = fifo_plus,
    Edf = edf,
    Lstf = lstf,
    LstfLevels = lstf_levels,
    SpPifo = sp_pifo,
    Drr = drr,
    Srr = srr,
    PacketFq = packet_fq,
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
    Tbf = tbf,
    Red = red,
    Choke = choke,
    Aifo = aifo,
    Afd = afd,
    Sfb = sfb,
    Codel = codel,
    FqCodel = fq_codel,
    Pie = pie,
    FqPie = fq_pie,
    Cake = cake,
    Fq = fq,
}

/// A scheduler of any discipline by handle, with the packets in an arena: see
/// [`AnyDiscipline::build_arena`].
pub type AnyArena<T> = Arena<T, custom::Order>;

fn unknown_discipline(name: &str) -> ConfigError {
    if let Some(why) = not_here::reason(name) {
        return ConfigError::NotHere {
            name: name.to_owned(),
            why,
        };
    }
    let known: Vec<_> = AnyDiscipline::all()
        .iter()
        .map(AnyDiscipline::name)
        .collect();
    let meant = suggestion::discipline(name, known.iter().copied());
    let has_it = |discipline: &AnyDiscipline| {
        discipline
            .parameters()
            .iter()
            .any(|parameter| parameter.name == name)
    };
    let is_parameter =
        ["limit", "memory_limit"].contains(&name) || AnyDiscipline::all().iter().any(has_it);
    ConfigError::UnknownDiscipline {
        name: name.to_owned(),
        is_parameter,
        meant,
        known: known.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Default` of a scheduler relies on this.
    #[test]
    fn every_scheduler_has_a_default() {
        for discipline in AnyDiscipline::all() {
            assert!(
                discipline
                    .build::<u8>(Seed::new(0))
                    .is_ok_and(|scheduler| scheduler.backlog().is_empty()),
                "{discipline}"
            );
        }
    }
}
