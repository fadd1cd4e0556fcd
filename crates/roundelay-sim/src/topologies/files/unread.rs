//! Which attributes of network files are ignored, and notes on them.

use std::collections::BTreeSet;

use super::graphml::Zoo;
use super::{Graph, Text};

/// Why costs have no effect.
pub(super) const IDLE: &str = "and no route goes by cost without metric = \"cost\" in [routing]";

/// Whether a key that we do not read may mean a rate or a delay: `bandwidth`, `linkCapacity`,
/// `latency_ms`.
pub(super) fn looks_like_a_quantity(key: &str) -> bool {
    const WITHIN: [&str; 6] = [
        "speed",
        "bandwidth",
        "capacity",
        "throughput",
        "delay",
        "latency",
    ];
    const AT_AN_END: [&str; 2] = ["rate", "bw"];
    let key = key.to_ascii_lowercase();
    let ends_with = |word: &&str| key.starts_with(*word) || key.ends_with(*word);
    WITHIN.iter().any(|word| key.contains(word)) || AT_AN_END.iter().any(ends_with)
}

/// Notes on a map, a sentence each.
pub(super) fn notes(zoo: &Zoo, graph: &Graph, file: Text<'_>) -> Vec<String> {
    let name = file.name;
    let all = graph.edges.len();
    let mut notes = Vec::new();
    let mut keys = BTreeSet::new();
    let mut without = 0;
    for ((_, said), edge) in zoo.edges.iter().zip(&graph.edges) {
        keys.extend(said.unread.iter().map(String::as_str));
        without += usize::from(said.has_speed && edge.rate.is_none());
    }
    if !keys.is_empty() {
        let keys = Vec::from_iter(keys).join(", ");
        notes.push(format!(
            "{name}: keys of links that look like speeds or delays are not read: {keys}. Read are \
             rate and delay with their units, LinkSpeedRaw, and \
             LinkSpeed with LinkSpeedUnits."
        ));
    }
    if without > 0 {
        notes.push(format!(
            "{name}: {without} of {all} links have no usable LinkSpeed (no number, \
            or no LinkSpeedUnits); LinkSpeed is ignored for these links."
        ));
    }
    let both = graph.edges.iter().filter(|edge| !edge.one_way).count();
    if zoo.is_directed && both > 0 {
        notes.push(format!(
            "{name}: the graph is directed, and {both} of {all} links have no link \
            back; all links are read as both ways."
        ));
    }
    notes
}
