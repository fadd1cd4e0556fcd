//! Subjects of measurements, and their setup under a load.

use std::marker::PhantomData;
use std::ops::AddAssign;
use std::str::FromStr;

use roundelay::Seed;
use roundelay::author::Leaving;
use roundelay::schedulers::{AnyDiscipline, Discipline, Visitor};
use roundelay::{ConfigError, Departure, FlowConfig, FlowId, Handle, Packet, QueueSpec, Scheduler};

use crate::controller::Controller;
use crate::generator::{Generator, Number, Numbered, Source, Turn, Turns};
use crate::load::{Load, Order};
use crate::memory;
use crate::nothing::Nothing;

/// A subject of measurements.
#[derive(Debug, Clone)]
pub enum Subject {
    /// The generator alone: packets are made, kept in a ring and discarded. Its cost is part of
    /// every other figure.
    Generator,
    /// A discipline that takes and returns packets.
    Discipline(AnyDiscipline),
    /// A discipline that orders handles.
    ByHandle(AnyDiscipline),
}

/// The end of a subject's name, for a discipline by handle.
const BY_HANDLE: &str = " by handle";

impl Subject {
    /// Name in reports.
    pub fn name(&self) -> String {
        match self {
            Self::Generator => "none".to_owned(),
            Self::Discipline(discipline) => discipline.to_string(),
            Self::ByHandle(discipline) => format!("{discipline}{BY_HANDLE}"),
        }
    }

    /// The discipline, if the subject is one.
    pub const fn discipline(&self) -> Option<&AnyDiscipline> {
        match self {
            Self::Generator => None,
            Self::Discipline(discipline) | Self::ByHandle(discipline) => Some(discipline),
        }
    }
}

impl FromStr for Subject {
    type Err = ConfigError;

    /// Reads `none`, or a discipline in `tc` syntax, followed by `by handle` or not.
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        if text == Self::Generator.name() {
            return Ok(Self::Generator);
        }
        let discipline = |text: &str| text.parse::<QueueSpec>().map(|spec| spec.discipline);
        match text.strip_suffix(BY_HANDLE) {
            Some(text) => discipline(text).map(Self::ByHandle),
            None => discipline(text).map(Self::Discipline),
        }
    }
}

/// A subject under a load, ready to run.
pub trait Running {
    /// Enqueues and dequeues packets until `pairs` have been sent, or until the subject lets
    /// nothing more through. Ends at the minimum of the backlog.
    fn run(&mut self, pairs: u64) -> Passed;
}

/// Packets offered and sent in a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    /// Packets offered to the subject and no longer waiting.
    pub offered: u64,
    /// Packets sent by the subject. The others were refused or dropped.
    pub sent: u64,
}

impl AddAssign for Passed {
    fn add_assign(&mut self, other: Self) {
        self.offered += other.offered;
        self.sent += other.sent;
    }
}

impl Passed {
    /// Sent packets as a part of the offered. A cost is the cost of forwarding only if nearly all
    /// are sent.
    pub fn share(self) -> f64 {
        self.sent as f64 / self.offered.max(1) as f64
    }
}

/// Reasons for a refused load.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadRefused {
    /// A weight, a packet length or a parameter is out of the discipline's range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The machine has too little memory.
    #[error(
        "{subject} under {load} takes about {needed_mb} MB of memory, of which {available_mb} MB are free; pattern small takes a sixth of what \
         large and full take"
    )]
    Memory {
        /// The subject, as [`Subject::name`].
        subject: String,
        /// The load.
        load: String,
        /// Megabytes (2^20 bytes) needed for the run.
        needed_mb: u64,
        /// Megabytes available.
        available_mb: u64,
    },
}

/// Sets up a subject under a load; [`Running::run`] then does no setup.
///
/// # Errors
/// The load does not fit the discipline's ranges or the machine's memory.
pub fn prepare(subject: &Subject, load: &Load) -> Result<Box<dyn Running>, LoadRefused> {
    memory::check(subject, load)?;
    match (subject, load.order) {
        (Subject::Generator, Order::Shortest) => Ok(under::<Generator, u32, Packet<u32>>(
            Nothing::new(load.most_packets()),
            load,
        )),
        (Subject::Generator, Order::Turns) => Ok(under::<Turns, u32, Packet<u32>>(
            Nothing::new(load.most_packets()),
            load,
        )),
        (Subject::Discipline(discipline), Order::Shortest) => {
            discipline.visit(ByValue::<Generator, u32>(load, PhantomData))
        }
        (Subject::Discipline(discipline), Order::Turns) => {
            discipline.visit(ByValue::<Turns, Turn>(load, PhantomData))
        }
        (Subject::ByHandle(discipline), Order::Shortest) => {
            discipline.visit(ByHandle::<Generator>(load, PhantomData))
        }
        (Subject::ByHandle(discipline), Order::Turns) => {
            discipline.visit(ByHandle::<Turns>(load, PhantomData))
        }
    }
}

/// A scheduler under a load.
fn under<G, N, L>(scheduler: impl Scheduler<N, L> + 'static, load: &Load) -> Box<dyn Running>
where
    G: Source + 'static,
    N: Number + 'static,
    L: Leaving + Numbered + 'static,
{
    Box::new(Controller::<_, G, N, L>::new(scheduler, load))
}

/// Sets up a subject and sends `pairs` packets through.
///
/// # Errors
/// As [`prepare`].
pub fn run_pairs(subject: &Subject, load: &Load, pairs: u64) -> Result<Passed, LoadRefused> {
    Ok(prepare(subject, load)?.run(pairs))
}

struct ByValue<'a, G, N>(&'a Load, PhantomData<(G, N)>);

impl<G: Source + 'static, N: Number + Send + 'static> Visitor for ByValue<'_, G, N> {
    type Output = Result<Box<dyn Running>, LoadRefused>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        let mut scheduler = discipline.build::<N>(Seed::new(1))?;
        set_flows::<N, Packet<N>>(&mut scheduler, self.0)?;
        Ok(under::<G, N, Packet<N>>(scheduler, self.0))
    }
}

struct ByHandle<'a, G>(&'a Load, PhantomData<G>);

impl<G: Source + 'static> Visitor for ByHandle<'_, G> {
    type Output = Result<Box<dyn Running>, LoadRefused>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        let mut scheduler = discipline.build_by_handle(Seed::new(1))?;
        set_flows::<Handle, Departure>(&mut scheduler, self.0)?;
        Ok(under::<G, Handle, Departure>(scheduler, self.0))
    }
}

/// Sets the flows of a load in a scheduler.
fn set_flows<T, L: Leaving>(
    scheduler: &mut impl Scheduler<T, L>,
    load: &Load,
) -> Result<(), ConfigError> {
    let max_packet_len = load.lengths.longest().max(FlowConfig::MIN_MAX_PACKET_LEN);
    let mut flows = (0..).map(FlowId).zip(load.flows.weights());
    flows.try_for_each(|(flow, weight)| {
        scheduler.set_flow(
            flow,
            FlowConfig {
                weight,
                max_packet_len,
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Lengths, Memory, Pattern};

    fn load(pattern: Pattern, memory: Memory, burst: u32) -> Load {
        let order = Order::Shortest;
        Load {
            flows: "64".parse().unwrap(),
            pattern,
            order,
            lengths: Lengths::Fixed(1000),
            memory,
            burst,
        }
    }

    fn passed(subject: &str, pattern: Pattern, pairs: u64) -> Passed {
        run_pairs(
            &subject.parse().unwrap(),
            &load(pattern, Memory::Packed, 0),
            pairs,
        )
        .unwrap()
    }

    #[test]
    fn what_is_sent_is_counted_once() {
        for pattern in Pattern::ALL {
            let (least, most) = pattern.backlog_per_flow();
            for (memory, burst) in [
                (Memory::Packed, 0),
                (Memory::Scattered, 0),
                (Memory::Packed, 32),
                (Memory::Scattered, 1),
            ] {
                for (order, subject) in [
                    (Order::Shortest, "drr"),
                    (Order::Turns, "drr"),
                    (Order::Turns, "drr by handle"),
                    (Order::Turns, "none"),
                ] {
                    let load = Load {
                        order,
                        ..load(pattern, memory, burst)
                    };
                    let passed = run_pairs(&subject.parse().unwrap(), &load, 1).unwrap();
                    let packets = 64 * (most - least);
                    assert_eq!(
                        passed,
                        Passed {
                            offered: packets,
                            sent: packets
                        },
                        "{subject} under {load}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_discipline_runs_by_handle() {
        for discipline in AnyDiscipline::all() {
            let load = Load {
                order: Order::Turns,
                ..load(Pattern::Small, Memory::Scattered, 0)
            };
            let [by_value, by_handle] = [
                Subject::Discipline(discipline.clone()),
                Subject::ByHandle(discipline),
            ]
            .map(|subject| run_pairs(&subject, &load, 1_000).unwrap());
            assert_eq!(by_value, by_handle);
            assert!(by_value.offered >= 320, "{by_value:?}");
        }
    }

    #[test]
    fn subjects_read_as_reports_write_them() {
        for name in [
            "none",
            "drr",
            "qfq_plus aggregate 2",
            "qfq_plus aggregate 2 by handle",
        ] {
            assert_eq!(name.parse::<Subject>().unwrap().name(), name);
        }
        assert!(
            "qfq_plus aggregate 0".parse::<Subject>().is_err()
                && "cakes".parse::<Subject>().is_err()
        );
    }

    #[test]
    fn what_is_refused_or_dropped_is_not_sent() {
        for spec in [
            "sfq flows 4",
            "sfq depth 1",
            "mqfq buffer 100",
            "red",
            "choke",
        ] {
            for pattern in Pattern::ALL {
                for (memory, burst) in [(Memory::Packed, 0), (Memory::Scattered, 32)] {
                    for order in Order::ALL {
                        for by in ["", BY_HANDLE] {
                            let load = Load {
                                order,
                                ..load(pattern, memory, burst)
                            };
                            let passed =
                                run_pairs(&format!("{spec}{by}").parse().unwrap(), &load, 5_000)
                                    .unwrap();
                            assert!(passed.share() < 0.9, "{spec}{by} under {load}: {passed:?}");
                        }
                    }
                }
            }
        }
        assert_eq!(passed("drr", Pattern::Small, 20_000).share(), 1.0);
    }

    #[test]
    fn what_lets_nothing_through_ends() {
        let passed = passed(
            "red min 1b max 2b burst 1 probability 1 avpkt 1000b",
            Pattern::Full,
            10_000,
        );
        assert!(passed.sent < passed.offered / 2, "{passed:?}");
    }
}
