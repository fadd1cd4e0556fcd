//! Subjects of measurements, and what a run of one gives.

use std::ops::AddAssign;
use std::str::FromStr;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{ConfigError, QueueSpec};

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
pub(crate) const BY_HANDLE: &str = " by handle";

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
