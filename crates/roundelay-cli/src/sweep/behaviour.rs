//! Behaviour versions: fingerprints of disciplines, sources, TCP and the simulator, and the ones
//! that a scenario uses.
//!
//! `behaviours.json` has a fingerprint for each name: the hash of the results of canonical runs. A
//! test repeats the runs and fails if the file is stale (`fingerprints.rs`). The version of a run
//! is therefore the behaviour of the code, not of a commit or a file's time.

#[cfg(test)]
mod fingerprints;

use std::collections::{BTreeMap, BTreeSet};

use roundelay::{Duration, LinkLayer};
use roundelay_sim::scenario::{Control, Flavour, Preset, Protocol, Scenario};
use roundelay_sim::sources::Urgency;
use roundelay_sim::{DecisionCost, LinkConfig};

/// The checked-in fingerprints.
const TABLE: &str = include_str!("../../behaviours.json");
/// Name of the figures of the papers' plans.
const FIGURES: &str = "papers.simulate";
/// Kinds of the papers' experiments without a fingerprint: they measure the time, or count the
/// instructions, of this build on this machine.
#[cfg(test)]
const MEASUREMENTS: [&str; 2] = ["cost", "hold"];

/// Fingerprints by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Behaviours(BTreeMap<String, String>);

impl Behaviours {
    /// The fingerprints of this program.
    pub(super) fn of_program() -> Self {
        Self(serde_json::from_str(TABLE).expect("a test compares the table with the code"))
    }

    /// The table with the versions of a program's own parts.
    pub(super) fn with(mut self, versions: &BTreeMap<String, String>) -> Self {
        self.0.extend(
            versions
                .iter()
                .map(|(name, version)| (name.clone(), version.clone())),
        );
        self
    }

    /// The table after a change of one behaviour.
    #[cfg(test)]
    pub(super) fn changed(mut self, name: &str) -> Self {
        self.0.insert(name.to_owned(), "changed".to_owned());
        self
    }

    /// Fingerprints of the behaviours that a scenario uses.
    ///
    /// # Errors
    /// A behaviour has no fingerprint: a discipline from outside.
    pub(super) fn of(&self, scenario: &Scenario) -> Result<BTreeMap<String, String>, String> {
        let find = |name: String| match self.0.get(&name) {
            Some(hash) => Ok((name, hash.clone())),
            None => Err(format!(
                "{name}: a behaviour without a version; sweeps run the disciplines of 'roundelay list'"
            )),
        };
        let mut all: BTreeMap<_, _> = used(scenario)
            .into_iter()
            .map(find)
            .collect::<Result<_, _>>()?;
        for group in &scenario.groups {
            let Some(control) = &group.control else {
                continue;
            };
            // A built-in control of the program has the fingerprint of its setting.
            let version = ["control", "tcp.control"]
                .iter()
                .find_map(|kind| self.0.get(&format!("{kind}.{}", control.name())));
            let version = version.ok_or_else(|| {
                format!(
                    "congestion control {}: a behaviour without a version",
                    control.name()
                )
            })?;
            all.insert(
                format!("congestion.{}", group.name),
                format!("{} {version}", control.name()),
            );
        }
        Ok(all)
    }

    /// Fingerprint of the figures of the papers' plans.
    pub(super) fn figures_of_plans(&self) -> &str {
        &self.0[FIGURES]
    }

    /// Fingerprint of a kind of the papers' experiments.
    pub(super) fn of_experiment(&self, kind: &str) -> Option<&str> {
        self.0.get(&format!("papers.{kind}")).map(String::as_str)
    }

    /// Fingerprint of a discipline.
    pub(super) fn of_discipline(&self, name: &str) -> Option<&str> {
        self.0
            .get(&format!("discipline.{name}"))
            .map(String::as_str)
    }

    /// Hash of all fingerprints: equal for programs with equal results.
    pub(super) fn hash(&self) -> String {
        super::hash::hash(
            &self
                .0
                .iter()
                .flat_map(|(name, hash)| [name.as_str(), hash.as_str()])
                .collect::<Vec<_>>(),
        )
    }
}

/// Names of the behaviours that a scenario uses.
fn used(scenario: &Scenario) -> BTreeSet<String> {
    let mut all = BTreeSet::from(["engine".to_owned()]);
    for link in scenario.topology.network.links() {
        of_link(link, &mut all);
    }
    if scenario.topology.network.routing().spread.is_some() {
        all.insert("routing.spread".to_owned());
    }
    for group in &scenario.groups {
        all.insert(format!("source.{}", group.source.kind()));
        group
            .source
            .protocol()
            .into_iter()
            .for_each(|protocol| of_tcp(protocol, &mut all));
        urgency(&group.urgency, &mut all);
        if group.edge_codel.is_some() {
            all.insert("edge_codel".to_owned());
        }
    }
    all
}

/// True if a source writes its packets' slack at their departure from the host.
pub(super) fn writes_at_departure(scenario: &Scenario) -> bool {
    used(scenario).contains("urgency.at_departure")
}

fn of_link(link: &LinkConfig, all: &mut BTreeSet<String>) {
    let mut add = |is_used: bool, name: &str| {
        if is_used {
            all.insert(name.to_owned());
        }
    };
    add(link.tree.is_some(), "tree");
    add(link.preempted_at().is_some(), "preemption");
    add(link.decision != DecisionCost::NONE, "decision");
    add(link.layer != LinkLayer::NONE, "link_layer");
    add(link.trace.is_some(), "link_trace");
    add(link.loss.0 > 0, "loss");
    add(link.jitter > Duration::ZERO, "jitter");
    for discipline in link.disciplines() {
        all.insert(format!("discipline.{}", discipline.name()));
    }
}

/// A preset stands for its own loss repair, congestion control and options.
fn of_tcp(protocol: &Protocol, all: &mut BTreeSet<String>) {
    let preset = match protocol.preset {
        Preset::Rfc => "rfc",
        Preset::Ns2Newreno => "ns2_newreno",
        Preset::Ns2Tahoe => "ns2_tahoe",
        Preset::Ns2Reno => "ns2_reno",
    };
    let flavour = protocol.flavour.map(|flavour| match flavour {
        Flavour::Tahoe => "flavour.tahoe",
        Flavour::Reno => "flavour.reno",
        Flavour::NewReno => "flavour.newreno",
        Flavour::Sack => "flavour.sack",
    });
    let control = protocol.control.map(|control| match control {
        Control::Reno => "control.reno",
        Control::Cubic => "control.cubic",
    });
    let option =
        |is_on: Option<bool>, name: &'static str| is_on.filter(|is_on| *is_on).map(|_| name);
    let options = [
        option(protocol.ecn, "option.ecn"),
        option(protocol.pacing, "option.pacing"),
        option(protocol.wrap_differences, "option.wrap_differences"),
    ];
    all.insert(format!("tcp.preset.{preset}"));
    all.extend(
        [flavour, control]
            .into_iter()
            .chain(options)
            .flatten()
            .map(|name| format!("tcp.{name}")),
    );
}

fn urgency(rule: &Urgency, all: &mut BTreeSet<String>) {
    let name = match rule {
        Urgency::None => return,
        Urgency::Priority(_) => "priority",
        Urgency::Constant(_) => "slack",
        Urgency::FlowSize(_) => "size",
        Urgency::Remaining(_) => "remaining",
        Urgency::Fair(_) => "fair",
        Urgency::Cautious { .. } => "cautious",
        Urgency::Deadline(_) => "deadline",
        Urgency::Plus(rule, _) => {
            urgency(rule, all);
            "plus"
        }
        Urgency::AtDeparture(rule) => {
            urgency(rule, all);
            "at_departure"
        }
        Urgency::Custom(_) => "custom",
    };
    all.insert(format!("urgency.{name}"));
}
