//! `--anonymise` of a live run: what is told of it has other addresses, and no names of files.

use roundelay_live::{Fidelity, QueueText, Settings, Way};
use roundelay_report::Anonymiser;
use roundelay_trace::LinkModel;

/// Names in place of files. Models of links keep theirs.
pub(super) fn hide_files(settings: &mut Settings) {
    for way in Way::BOTH {
        let own = settings.way_mut(way);
        if let QueueText::Tree { name, .. } = &mut own.queue {
            *name = "tree.toml".to_owned();
        }
        if let Some((name, _)) = &mut own.trace
            && !matches!(LinkModel::read(name), Ok(Some(_)))
        {
            *name = "link-trace".to_owned();
        }
    }
}

/// What the run says about itself, with other addresses.
pub(super) fn anonymised(mut fidelity: Fidelity, by: &Anonymiser) -> Fidelity {
    for way in &mut fidelity.ways {
        for flow in &mut way.flows {
            flow.flow = by.text(&flow.flow);
        }
    }
    fidelity
}
