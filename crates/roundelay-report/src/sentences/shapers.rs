//! Words on disciplines that shape to less than others with which they are compared.

use roundelay::Rate;

/// Which ones they are, and the rate at which all carry the same.
pub(super) fn shapes_to_less(slower: &[(String, Rate)]) -> String {
    let mut names = Vec::new();
    for (spec, rate) in slower {
        let written = rate.to_string();
        if spec.contains(&written) {
            names.push(spec.clone());
        } else {
            names.push(format!("{spec} ({written} at most)"));
        }
    }
    let least = slower.iter().map(|(_, rate)| *rate).min();
    let least = least.map_or_else(String::new, |rate| rate.to_string());
    format!(
        "These shape to less than the others carry: {}. With --rate {least} all carry the same.",
        names.join(", ")
    )
}

/// The verdict where the best one carries more than these.
pub(super) fn handicap(slower: &[(String, Rate)]) -> String {
    format!(
        "No queue is named the best, because they do not carry the same. {}",
        shapes_to_less(slower)
    )
}
