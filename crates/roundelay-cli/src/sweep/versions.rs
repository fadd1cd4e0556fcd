//! Versions of the code that the papers' experiments depend on.

use std::collections::BTreeSet;

use roundelay_sim::scenario::Scenario;

use super::hash::hash;
use super::{behaviour, identity};

/// The version of a simulation in a paper's plan. It hashes the network, the files, the behaviours
/// used, and the figures of plans. None if a behaviour has no version, or if slack is written at
/// departure, because records of such runs are from before this behaviour had a version.
pub(crate) fn version_of(scenario: &Scenario) -> Option<String> {
    if behaviour::writes_at_departure(scenario) {
        return None;
    }
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
