//! Versions of the code that the papers' experiments depend on.

use std::collections::BTreeSet;

use roundelay_sim::scenario::Scenario;

use super::hash::hash;
use super::{behaviour, identity};

/// The version of a simulation in a paper's plan. It hashes the network, the files, the behaviours
/// used, and the figures of plans. None if a behaviour has no version.
pub(crate) fn version_of(scenario: &Scenario) -> Option<String> {
    let behaviours = behaviour::Behaviours::of_program();
    let origin = identity::Origin::new(
        &toml::Table::new(),
        scenario,
        &behaviours,
        &identity::FileHashes::default(),
    )
    .ok()?;
    Some(hash(&[&origin.identity(), behaviours.figures_of_plans()]))
}

/// The version of a paper's experiment beside the simulator, by kind. It hashes the kind's
/// behaviour and those of the disciplines that a plan names. None if the kind has no version,
/// because it measures this machine.
pub(crate) fn version_of_experiment(kind: &str, disciplines: &BTreeSet<String>) -> Option<String> {
    let behaviours = behaviour::Behaviours::of_program();
    let mut all = vec![behaviours.of_experiment(kind)?];
    for discipline in disciplines {
        all.extend(behaviours.of_discipline(discipline));
    }
    Some(hash(&all))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A simulation has the version of its network and of what it uses.
    #[test]
    fn a_simulation_has_a_version() {
        let version = |rate: &str, queue: &str| {
            let text = format!(
                "duration = '1s'\n[queue]\ncore = '{queue}'\n[topology]\ntemplate = \
                 'dumbbell'\npairs = 1\nrate = '{rate}'\n[[source]]\nname = 'a'\nkind = \
                 'cbr'\nfrom = 's0'\nto = 'r0'\nrate = '9kbit'\n"
            );
            version_of(&Scenario::from_toml("s.toml", &text, Path::new("")).expect("legal"))
        };
        let plain = version("1mbit", "fifo");
        assert!(plain.is_some());
        assert_eq!(plain, version("1000kbit", "fifo"));
        assert_ne!(plain, version("2mbit", "fifo"));
        assert_ne!(plain, version("1mbit", "qfq"));
    }
}
