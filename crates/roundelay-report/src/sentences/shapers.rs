//! Words on disciplines that shape to less than others with which they are compared.

use roundelay::Rate;

/// Which ones they are.
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
    format!(
        "These shape to less than the others carry: {}.",
        names.join(", ")
    )
}

/// How to compare them fairly.
pub(super) fn all_carry_the_same(slower: &[(String, Rate)]) -> String {
    let least = slower.iter().map(|(_, rate)| *rate).min();
    let least = least.map_or_else(String::new, |rate| rate.to_string());
    format!("With --rate {least} all carry the same.")
}

/// The verdict where the best one carries more than these.
pub(super) fn handicap(slower: &[(String, Rate)]) -> String {
    format!(
        "No queue is named the best: they do not carry the same. {} {} Or give the same rate to \
         each shaper.",
        shapes_to_less(slower),
        all_carry_the_same(slower)
    )
}
