//! Subjects of measurements, and their setup under a load.

use std::ops::AddAssign;
use std::str::FromStr;

use roundelay::schedulers::{AnyDiscipline, Discipline, Visitor};
use roundelay::{ConfigError, FlowConfig, FlowId, QueueSpec, Scheduler};

use crate::controller::Controller;
use crate::load::Load;
use crate::memory;
use crate::nothing::Nothing;

/// A subject of measurements.
#[derive(Debug, Clone)]
pub enum Subject {
    /// The generator alone: packets are made, kept in a ring and discarded. Its cost is part of
    /// every other figure.
    Generator,
    /// A discipline.
    Discipline(AnyDiscipline),
}

impl Subject {
    /// Name in reports.
    pub fn name(&self) -> String {
        match self {
            Self::Generator => "none".to_owned(),
            Self::Discipline(discipline) => discipline.to_string(),
        }
    }
}

impl FromStr for Subject {
    type Err = ConfigError;

    /// Reads `none`, or a discipline in `tc` syntax.
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        if text == Self::Generator.name() {
            return Ok(Self::Generator);
        }
        Ok(Self::Discipline(text.parse::<QueueSpec>()?.discipline))
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
    match subject {
        Subject::Generator => Ok(Box::new(Controller::new(Nothing::new(load.most_packets()), load))),
        Subject::Discipline(discipline) => discipline.visit(Prepare(load)),
    }
}

/// Sets up a subject and sends `pairs` packets through.
///
/// # Errors
/// As [`prepare`].
pub fn run_pairs(subject: &Subject, load: &Load, pairs: u64) -> Result<Passed, LoadRefused> {
    Ok(prepare(subject, load)?.run(pairs))
}

struct Prepare<'a>(&'a Load);

impl Visitor for Prepare<'_> {
    type Output = Result<Box<dyn Running>, LoadRefused>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        let mut scheduler = discipline.build::<u32>(1)?;
        set_flows::<D>(&mut scheduler, self.0)?;
        Ok(Box::new(Controller::<D::Scheduler<u32>>::new(scheduler, self.0)))
    }
}

/// Sets the flows of a load in a scheduler.
fn set_flows<D: Discipline>(scheduler: &mut D::Scheduler<u32>, load: &Load) -> Result<(), ConfigError> {
    let max_packet_len = load.lengths.longest().max(FlowConfig::MIN_MAX_PACKET_LEN);
    let mut flows = (0..).map(FlowId).zip(load.flows.weights());
    flows.try_for_each(|(flow, weight)| scheduler.set_flow(flow, FlowConfig { weight, max_packet_len }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Lengths, Memory, Pattern};

    fn passed(spec: &str, pattern: Pattern, pairs: u64) -> Passed {
        passed_in(spec, pattern, pairs, Memory::Packed, 0)
    }

    fn passed_in(spec: &str, pattern: Pattern, pairs: u64, memory: Memory, burst: u32) -> Passed {
        let load = Load { flows: "64".parse().unwrap(), pattern, lengths: Lengths::Fixed(1000), memory, burst };
        let discipline = spec.parse::<roundelay::QueueSpec>().unwrap().discipline;
        run_pairs(&Subject::Discipline(discipline), &load, pairs).unwrap()
    }

    #[test]
    fn what_is_sent_is_counted_once() {
        for pattern in Pattern::ALL {
            let (least, most) = pattern.backlog_per_flow();
            for (memory, burst) in [(Memory::Packed, 0), (Memory::Scattered, 0), (Memory::Packed, 32), (Memory::Scattered, 1)] {
                let passed = passed_in("drr", pattern, 1, memory, burst);
                let packets = 64 * (most - least);
                assert_eq!(passed, Passed { offered: packets, sent: packets }, "{pattern:?} {memory:?} {burst}");
            }
        }
    }

    #[test]
    fn subjects_read_as_reports_write_them() {
        for name in ["none", "drr", "qfq_plus aggregate 2"] {
            assert_eq!(name.parse::<Subject>().unwrap().name(), name);
        }
        assert!("qfq_plus aggregate 0".parse::<Subject>().is_err() && "cake".parse::<Subject>().is_err());
    }

    #[test]
    fn what_is_refused_or_dropped_is_not_sent() {
        for spec in ["sfq flows 4", "sfq depth 1", "mqfq buffer 100", "red", "choke"] {
            for pattern in Pattern::ALL {
                for (memory, burst) in [(Memory::Packed, 0), (Memory::Scattered, 32)] {
                    let passed = passed_in(spec, pattern, 5_000, memory, burst);
                    assert!(passed.share() < 0.9, "{spec}, {pattern:?}, {burst}: {passed:?}");
                }
            }
        }
        assert_eq!(passed("drr", Pattern::Small, 20_000).share(), 1.0);
    }

    #[test]
    fn what_lets_nothing_through_ends() {
        let passed = passed("red min 1b max 2b burst 1 probability 1 avpkt 1000b", Pattern::Full, 10_000);
        assert!(passed.sent < passed.offered / 2, "{passed:?}");
    }
}
