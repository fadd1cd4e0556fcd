//! `--anonymise` for a live run. What it tells has other addresses, no file names, and no names
//! that the user gave to a scenario's sources.

use roundelay_live::{Fidelity, QueueText, Settings, Way};
use roundelay_report::Anonymiser;
use roundelay_trace::LinkModel;

use super::home::Home;

/// Leaves out whatever uses a scenario's names.
pub(super) fn hide_names(home: &mut Home) {
    let rest = "the rest of the scenario, whose names are left out";
    home.left = vec![rest.to_owned()];
    home.lines.clear();
}

/// Puts a name with a number in place of each file. Models of links keep theirs.
pub(super) fn hide_files(settings: &mut Settings) {
    let mut trees = Vec::new();
    let mut traces = Vec::new();
    for way in Way::BOTH {
        let own = settings.way_mut(way);
        if let QueueText::Tree { name, .. } = &mut own.queue {
            *name = format!("tree-{}.toml", number(name, &mut trees));
        }
        if let Some((name, _)) = &mut own.trace
            && !matches!(LinkModel::read(name), Ok(Some(_)))
        {
            *name = format!("link-trace-{}", number(name, &mut traces));
        }
    }
    if let Some((name, _)) = &mut settings.weights.file {
        "weights.toml".clone_into(name);
    }
}

/// A name's number among those met so far, from 1.
fn number(name: &str, met: &mut Vec<String>) -> usize {
    let known = met.iter().position(|known| known == name);
    let index = known.unwrap_or(met.len());
    if known.is_none() {
        met.push(name.to_owned());
    }
    index + 1
}

/// Beginnings of reasons that name no file.
const WITHOUT_NAMES: [&str; 4] = [
    "Not simulated: the scenario has no sources",
    "Not simulated: a signal ended",
    "Not simulated: the simulation failed",
    "Not simulated: that may take",
];

/// Why there is no simulation beside the run. Any other error may name a file, so its text is left
/// out.
pub(super) fn reason(reason: &str) -> String {
    if WITHOUT_NAMES.iter().any(|known| reason.starts_with(known)) {
        return reason.to_owned();
    }
    "Not simulated, for a reason that may name files: without --anonymise the run says it."
        .to_owned()
}

/// What the run says about itself, with other addresses.
pub(super) fn anonymised(mut fidelity: Fidelity, by: &Anonymiser) -> Fidelity {
    for way in &mut fidelity.ways {
        for flow in &mut way.flows {
            flow.flow = by.text(&flow.flow);
        }
        for phase in &mut way.phases {
            for flow in &mut phase.flows {
                flow.flow = by.text(&flow.flow);
            }
            // Rules for weights may name addresses.
            if let Some(change) = &mut phase.change {
                *change = by.text(change);
            }
            for rule in phase.conditions.iter_mut().flat_map(|own| &mut own.weights) {
                *rule = by.text(rule);
            }
        }
    }
    fidelity
}
