//! Subjects of measurements, and the results of a run.

use std::ops::AddAssign;
use std::str::FromStr;

use roundelay::schedulers::AnyDiscipline;
use roundelay::tree::Config;
use roundelay::{ConfigError, Fault, FlowId, QueueSpec};

use crate::made_tree::MadeTree;

/// A subject of measurements.
#[derive(Debug, Clone)]
pub enum Subject {
    /// The generator alone. It makes packets, keeps them in a ring and discards them, and this cost
    /// is part of every other figure.
    Generator,
    /// A discipline by value: it takes and returns packets.
    Discipline(AnyDiscipline),
    /// A discipline by handle: it takes descriptions and returns departures.
    ByHandle(AnyDiscipline),
    /// A tree, by value. Each leaf in turn gets a flow.
    Tree(TreeSubject),
}

/// A tree to measure.
#[derive(Debug, Clone)]
pub struct TreeSubject {
    /// Name in reports, and what the command's `--tree` takes: a file or a [`MadeTree`].
    pub text: String,
    /// The tree, with no flows assigned.
    pub config: Config,
}

impl TreeSubject {
    /// The tree with a leaf for each flow: leaf after leaf, and again from the first.
    pub(crate) fn with_flows(&self, flows: u32) -> AnyDiscipline {
        let mut config = self.config.clone();
        let mut leaves = Vec::new();
        for node in config.nodes() {
            if config.children_of(&node.name).is_empty() {
                leaves.push(node.name.clone());
            }
        }
        for (flow, leaf) in (0..flows).map(FlowId).zip(leaves.iter().cycle()) {
            let assigned = config.assign(flow, leaf);
            debug_assert!(assigned.is_ok(), "a leaf of the tree takes a flow");
        }
        AnyDiscipline::Tree(config)
    }
}

impl From<MadeTree> for TreeSubject {
    fn from(tree: MadeTree) -> Self {
        Self {
            text: tree.to_string(),
            config: tree.into(),
        }
    }
}

/// The beginning of a subject's name if it is a tree.
const TREE: &str = "tree ";

/// The end of a subject's name if the discipline is by handle.
pub(crate) const BY_HANDLE: &str = " by handle";

impl Subject {
    /// Name in reports.
    pub fn name(&self) -> String {
        match self {
            Self::Generator => "none".to_owned(),
            Self::Discipline(discipline) => discipline.to_string(),
            Self::ByHandle(discipline) => format!("{discipline}{BY_HANDLE}"),
            Self::Tree(tree) => format!("{TREE}{}", tree.text),
        }
    }

    /// The discipline, if the subject is one.
    pub const fn discipline(&self) -> Option<&AnyDiscipline> {
        match self {
            Self::Generator | Self::Tree(_) => None,
            Self::Discipline(discipline) | Self::ByHandle(discipline) => Some(discipline),
        }
    }
}

impl FromStr for Subject {
    type Err = Fault;

    /// Reads `none`, a [`MadeTree`] behind `tree`, or a discipline in `tc` syntax, which `by handle`
    /// may follow.
    fn from_str(text: &str) -> Result<Self, Fault> {
        if text == Self::Generator.name() {
            return Ok(Self::Generator);
        }
        if let Some(tree) = text.strip_prefix(TREE) {
            return Ok(Self::Tree(tree.parse::<MadeTree>()?.into()));
        }
        let discipline = |text: &str| text.parse::<QueueSpec>().map(|spec| spec.discipline);
        Ok(match text.strip_suffix(BY_HANDLE) {
            Some(text) => Self::ByHandle(discipline(text)?),
            None => Self::Discipline(discipline(text)?),
        })
    }
}

/// A subject under a load, ready to run.
pub trait Running {
    /// Enqueues and dequeues packets until `pairs` have been sent, or until the subject lets
    /// nothing more through. Ends when the backlog is at its minimum.
    fn run(&mut self, pairs: u64) -> Passed;
}

/// The packets that a run offered and sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    /// Packets that were offered to the subject and no longer wait.
    pub offered: u64,
    /// Packets that the subject sent. It refused or dropped the others.
    pub sent: u64,
}

impl AddAssign for Passed {
    fn add_assign(&mut self, other: Self) {
        self.offered += other.offered;
        self.sent += other.sent;
    }
}

impl Passed {
    /// The part of the offered packets that was sent. A cost is that of forwarding only if nearly
    /// all are sent.
    pub fn share(self) -> f64 {
        self.sent as f64 / self.offered.max(1) as f64
    }
}

/// The reason why a load was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadRefused {
    /// A weight, a packet length or a parameter is out of the discipline's range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The machine has too little memory.
    #[error(
        "{subject} under {load} takes about {needed_mb} MB of memory, of which {available_mb} MB \
         are free; pattern small takes a sixth of what large and full take"
    )]
    Memory {
        /// The subject, as [`Subject::name`].
        subject: String,
        /// The load.
        load: String,
        /// Megabytes (2^20 bytes) that the run needs.
        needed_mb: u64,
        /// Megabytes available.
        available_mb: u64,
    },
}
