//! Behaviour versions: fingerprints of disciplines, sources, TCP and the simulator, and which of
//! them a scenario uses.
//!
//! `behaviours.json` has a fingerprint for each name, which hashes what canonical runs give. A test
//! repeats these runs and fails if the file is stale (`fingerprints.rs`). So a run's version says
//! how the code behaves, not which commit it is from or when the file was written.

#[cfg(test)]
mod fingerprints;

use std::collections::{BTreeMap, BTreeSet};

use roundelay::{Duration, LinkLayer};
use roundelay_sim::scenario::{
    Control, Flavour, Offload, Preset, Protocol, Scenario, SlowStart, SourceSpec,
};
use roundelay_sim::sources::Urgency;
use roundelay_sim::{DecisionCost, LinkConfig};

/// The checked-in fingerprints.
const TABLE: &str = include_str!("../../behaviours.json");
/// The name for the figures of the papers' plans.
const FIGURES: &str = "papers.simulate";
/// Kinds of the papers' experiments that have no fingerprint, because they measure this build's
/// time on this machine, or count its instructions.
#[cfg(test)]
const MEASUREMENTS: [&str; 2] = ["cost", "hold"];

/// Fingerprints by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Behaviours(BTreeMap<String, String>);

impl Behaviours {
    /// This program's fingerprints.
    pub(super) fn of_program() -> Self {
        Self(serde_json::from_str(TABLE).expect("a test compares the table with the code"))
    }

    /// The table, together with the versions of a program's own parts.
    pub(super) fn with(mut self, versions: &BTreeMap<String, String>) -> Self {
        self.0.extend(versions.clone());
        self
    }

    /// The table after one behaviour has changed.
    #[cfg(test)]
    pub(super) fn changed(mut self, name: &str) -> Self {
        self.0.insert(name.to_owned(), "changed".to_owned());
        self
    }

    /// Fingerprints of the behaviours that a scenario uses.
    ///
    /// # Errors
    /// A behaviour has no fingerprint, because the discipline is from outside.
    pub(super) fn of(&self, scenario: &Scenario) -> Result<BTreeMap<String, String>, String> {
        let mut all = BTreeMap::new();
        for name in used(scenario) {
            let Some(hash) = self.0.get(&name) else {
                return Err(format!(
                    "{name}: a behaviour without a version; sweeps run the disciplines of \
                     'roundelay list'"
                ));
            };
            all.insert(name, hash.clone());
        }
        for group in &scenario.groups {
            let Some(control) = &group.control else {
                continue;
            };
            // A built-in control that the program sets has the fingerprint of its setting.
            let name = control.name();
            let own = self.0.get(&format!("control.{name}"));
            let built_in = self.0.get(&format!("tcp.control.{name}"));
            let Some(version) = own.or(built_in) else {
                return Err(format!(
                    "congestion control {name}: a behaviour without a version"
                ));
            };
            let behaviour = format!("congestion.{}", group.name);
            all.insert(behaviour, format!("{name} {version}"));
        }
        Ok(all)
    }

    /// Fingerprint of the figures that the papers' plans make.
    pub(super) fn figures_of_plans(&self) -> &str {
        &self.0[FIGURES]
    }

    /// Fingerprint of one kind of the papers' experiments.
    pub(super) fn of_experiment(&self, kind: &str) -> Option<&str> {
        self.0.get(&format!("papers.{kind}")).map(String::as_str)
    }

    /// A discipline's fingerprint.
    pub(super) fn of_discipline(&self, name: &str) -> Option<&str> {
        self.0
            .get(&format!("discipline.{name}"))
            .map(String::as_str)
    }

    /// Hashes all fingerprints. Programs with equal results have equal hashes.
    pub(super) fn hash(&self) -> String {
        let mut texts = Vec::new();
        for (name, hash) in &self.0 {
            texts.push(name.as_str());
            texts.push(hash.as_str());
        }
        super::hash::hash(&texts)
    }
}

/// The names of the behaviours that a scenario uses.
fn used(scenario: &Scenario) -> BTreeSet<String> {
    let mut names = BTreeSet::from(["engine".to_owned()]);
    for link in scenario.topology.network.links() {
        add_link(link, &mut names);
    }
    if scenario.topology.network.routing().spread.is_some() {
        names.insert("routing.spread".to_owned());
    }
    for group in &scenario.groups {
        names.insert(format!("source.{}", group.source.kind()));
        if matches!(&group.source, SourceSpec::Trace(trace) if trace.is_dealt) {
            names.insert("capture".to_owned());
        }
        if let Some(protocol) = group.source.protocol() {
            add_tcp(protocol, &mut names);
        }
        add_urgency(&group.urgency, &mut names);
        if group.edge_codel.is_some() {
            names.insert("edge_codel".to_owned());
        }
    }
    names
}

/// Adds the names, as in `behaviours.json`, that a link uses.
fn add_link(link: &LinkConfig, names: &mut BTreeSet<String>) {
    let mut add = |is_used: bool, name: &str| {
        if is_used {
            names.insert(name.to_owned());
        }
    };
    add(link.tree.is_some(), "tree");
    add(link.preempted_at().is_some(), "preemption");
    add(link.decision != DecisionCost::NONE, "decision");
    add(link.layer != LinkLayer::NONE, "link_layer");
    add(link.trace.is_some(), "link_trace");
    add(link.loss.0 > 0, "loss");
    add(link.jitter > Duration::ZERO, "jitter");
    if let Some(model) = link.trace.as_ref().and_then(|trace| trace.model()) {
        names.insert(format!("link_model.{}", model.name()));
    }
    for discipline in link.disciplines() {
        names.insert(format!("discipline.{}", discipline.name()));
    }
}

/// Adds the names that a TCP protocol uses. A preset stands for its own loss repair, congestion
/// control and options.
fn add_tcp(protocol: &Protocol, names: &mut BTreeSet<String>) {
    let preset = match protocol.preset {
        Preset::Rfc => "rfc",
        Preset::Linux => "linux",
        Preset::Ns2Newreno => "ns2_newreno",
        Preset::Ns2Tahoe => "ns2_tahoe",
        Preset::Ns2Reno => "ns2_reno",
    };
    names.insert(format!("tcp.preset.{preset}"));
    if let Some(flavour) = protocol.flavour {
        let name = match flavour {
            Flavour::Tahoe => "tahoe",
            Flavour::Reno => "reno",
            Flavour::NewReno => "newreno",
            Flavour::Sack => "sack",
        };
        names.insert(format!("tcp.flavour.{name}"));
    }
    if let Some(control) = protocol.control {
        let name = match control {
            Control::Reno => "reno",
            Control::Cubic => "cubic",
            Control::Bbr => "bbr",
            Control::Bbr3 => "bbr3",
            Control::Ledbat => "ledbat",
        };
        names.insert(format!("tcp.control.{name}"));
    }
    if let Some(slow_start) = protocol.slow_start {
        let name = match slow_start {
            SlowStart::UntilLoss => "until_loss",
            SlowStart::ByBytes => "by_bytes",
            SlowStart::HyStartPlusPlus => "hystart++",
            SlowStart::HyStart => "hystart",
        };
        names.insert(format!("tcp.slow_start.{name}"));
    }
    let offload = match protocol.offload {
        Some(Offload::Split) => Some("split"),
        Some(Offload::Whole) => Some("whole"),
        Some(Offload::None) | None => None,
    };
    if let Some(name) = offload {
        names.insert(format!("tcp.offload.{name}"));
    }
    for (is_on, name) in [
        (protocol.ecn, "ecn"),
        (protocol.pacing, "pacing"),
        (protocol.wrap_differences, "wrap_differences"),
        (protocol.quick_acknowledgements, "quick_acknowledgements"),
        (protocol.window_growth, "window_growth"),
        (protocol.constant_friendliness, "constant_friendliness"),
        (protocol.unpaced_start, "unpaced_start"),
        (protocol.least_growth, "least_growth"),
        (protocol.whole_segments, "whole_segments"),
        (protocol.proportional_reduction, "proportional_reduction"),
        (
            protocol.timeout_above_round_trip,
            "timeout_above_round_trip",
        ),
        (protocol.rack, "rack"),
        (protocol.tail_loss_probe, "tail_loss_probe"),
    ] {
        if is_on == Some(true) {
            names.insert(format!("tcp.option.{name}"));
        }
    }
}

/// Adds the names that a rule of urgency uses.
fn add_urgency(rule: &Urgency, names: &mut BTreeSet<String>) {
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
            add_urgency(rule, names);
            "plus"
        }
        Urgency::AtDeparture(rule) => {
            add_urgency(rule, names);
            "at_departure"
        }
        Urgency::Custom(_) => "custom",
    };
    names.insert(format!("urgency.{name}"));
}
