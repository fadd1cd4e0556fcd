//! Variations of a plan: as it stands, or with one value of an open parameter.

use toml::{Table, Value};

use crate::experiments::{Experiment, KINDS};
use crate::places::Wrong;

/// The `[run]` table of a plan with one choice of open parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Variation {
    /// `name = value`; empty for the plan as it stands.
    pub name: String,
    /// Index of the varied parameter in `[[open]]`; None for the plan as it stands.
    pub open: Option<usize>,
    /// The `[run]` table without `seeds`.
    pub run: Table,
    /// Number of seeds: runs have seeds 1 to this.
    pub seeds: u64,
}

impl Variation {
    pub(super) fn new(name: String, open: Option<usize>, mut run: Table) -> Result<Self, Wrong> {
        let seeds = run.remove("seeds").unwrap_or(Value::Integer(1));
        let seeds = seeds
            .as_integer()
            .and_then(|seeds| u64::try_from(seeds).ok())
            .filter(|seeds| (1..=10_000).contains(seeds));
        Ok(Self {
            name,
            open,
            run,
            seeds: seeds
                .ok_or_else(|| Wrong::new("run.seeds", "[run] seeds: legal range 1 to 10000"))?,
        })
    }

    /// The experiment of the variation.
    ///
    /// # Errors
    /// An unknown kind, or the faulty key, by its path in `[run]`.
    pub fn experiment(&self) -> Result<Box<dyn Experiment>, Wrong> {
        let experiment = self.read()?;
        experiment.check()?;
        if experiment.parts().is_empty() {
            Err(Wrong::new("columns", "nothing to run: a column or more"))
        } else {
            Ok(experiment)
        }
    }

    /// The experiment of the variation, without a check of its values.
    pub(crate) fn read(&self) -> Result<Box<dyn Experiment>, Wrong> {
        let mut run = self.run.clone();
        let kind = run
            .remove("kind")
            .and_then(|kind| kind.as_str().map(str::to_owned));
        let known = || {
            KINDS
                .iter()
                .map(|(name, _)| *name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let kind = kind.ok_or_else(|| Wrong::new("kind", format!("kind: one of {}", known())))?;
        let read = KINDS
            .iter()
            .find(|(name, _)| *name == kind)
            .map(|(_, read)| read);
        let read =
            read.ok_or_else(|| Wrong::new("kind", format!("kind '{kind}': one of {}", known())))?;
        read(&run)
    }

    /// Name of the experiment's kind; empty if the plan has none.
    pub fn kind(&self) -> &str {
        let kind = self.run.get("kind").and_then(Value::as_str);
        kind.unwrap_or_default()
    }

    /// Text for the cache key: everything that determines the runs.
    pub fn identity(&self) -> String {
        toml::to_string(&self.run).unwrap_or_else(|_| format!("{:?}", self.run))
    }
}
