//! Scenarios to start from: `roundelay simulate --template dumbbell > mine.toml`.

use crate::topologies::Template;

/// Names and texts: one scenario for each topology, and one that lists a network node by node.
pub fn templates() -> impl Iterator<Item = (&'static str, &'static str)> {
    let examples = Template::NAMES.iter().zip(Template::EXAMPLES);
    examples
        .map(|(name, text)| (*name, *text))
        .chain([("nodes", include_str!("nodes.toml"))])
}

/// The template that has this name.
pub fn template(name: &str) -> Option<&'static str> {
    templates()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| text)
}
