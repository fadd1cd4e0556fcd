//! Variations of a plan: as it stands, or with one value of an open parameter.

use toml::{Table, Value};

use crate::experiments::Experiment;
use crate::experiments::kinds::KINDS;
use crate::locations::Wrong;

/// A plan's `[run]` table with one choice of open parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Variation {
    /// `name = value`. Empty for the plan as it stands.
    pub name: String,
    /// Index of the varied parameter in `[[open]]`. None for the plan as it stands.
    pub open: Option<usize>,
    /// The `[run]` table without `seeds`.
    pub run: Table,
    /// How many seeds: runs have seeds 1 to this.
    pub seeds: u64,
}

impl Variation {
    pub(super) fn new(name: String, open: Option<usize>, mut run: Table) -> Result<Self, Wrong> {
        let seeds = run.remove("seeds").unwrap_or(Value::Integer(1));
        let seeds = seeds.as_integer().unwrap_or_default();
        if !(1..=10_000).contains(&seeds) {
            return Err(Wrong::new(
                "run.seeds",
                "[run] seeds: legal range 1 to 10000",
            ));
        }
        Ok(Self {
            name,
            open,
            run,
            seeds: seeds as u64,
        })
    }

    /// The variation's experiment.
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

    /// The variation's experiment, without a check of its values.
    pub(crate) fn read(&self) -> Result<Box<dyn Experiment>, Wrong> {
        let mut run = self.run.clone();
        let kinds: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        let kinds = kinds.join(", ");
        let Some(Value::String(kind)) = run.remove("kind") else {
            return Err(Wrong::new("kind", format!("kind: one of {kinds}")));
        };
        let Some((_, read)) = KINDS.iter().find(|(name, _)| *name == kind) else {
            return Err(Wrong::new("kind", format!("kind '{kind}': one of {kinds}")));
        };
        read(&run)
    }

    /// Name of the experiment's kind. Empty if the plan has none.
    pub fn kind(&self) -> &str {
        let kind = self.run.get("kind").and_then(Value::as_str);
        kind.unwrap_or_default()
    }

    /// Text for the cache key: everything that determines the runs.
    pub fn identity(&self) -> String {
        toml::to_string(&self.run).unwrap_or_else(|_| format!("{:?}", self.run))
    }
}
