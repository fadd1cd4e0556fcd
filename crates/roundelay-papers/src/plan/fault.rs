//! Planted faults, as written in a plan: a wrong discipline or rule, and the claims that have to
//! notice it. `planted.rs` runs them.

use serde::Deserialize;
use toml::Table;

use super::{Claim, Setting};

/// A wrong discipline or rule, and the claims that must not keep their verdict.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The fault in words.
    pub name: String,
    /// A discipline that replaces all examined ones.
    pub instead: Option<String>,
    /// Values by dotted path in `run`.
    #[serde(default)]
    pub set: Table,
    /// Claims that notice the fault, by `id` or `says`.
    pub noticed: Vec<String>,
    /// The setting in which the fault runs: quick, or medium for claims that the quick setting does
    /// not judge.
    #[serde(default)]
    pub setting: Setting,
    /// True if the fault runs in `make test`.
    #[serde(default)]
    pub cheap: bool,
}

/// Why no planted fault would change one of the paper's claims.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CannotTell {
    /// The reason.
    pub because: String,
}

impl Fault {
    /// True if this claim has to notice the fault.
    pub(crate) fn is_noticed_by(&self, claim: &Claim) -> bool {
        self.noticed.iter().any(|name| claim.is_called(name))
    }

    /// What the fault changes, as in "`fifo` in place of each discipline examined".
    pub fn description(&self) -> String {
        let mut changes = Vec::new();
        if let Some(discipline) = &self.instead {
            changes.push(format!(
                "`{discipline}` in place of each discipline examined"
            ));
        }
        for (path, value) in &self.set {
            changes.push(format!("`{path} = {value}`"));
        }
        changes.join(", ")
    }
}
