//! Scenarios to begin with, one for each topology: `roundelay simulate --template dumbbell > mine.toml`.

macro_rules! templates {
    ($($name:literal,)*) => {
        /// Names of the templates, and what they are.
        pub const TEMPLATES: &[(&str, &str)] = &[$(($name, include_str!(concat!("templates/", $name, ".toml"))),)*];
    };
}

templates! {
    "dumbbell",
    "parking_lot",
    "qfq_figure8",
    "internet2",
    "isp",
    "fat_tree",
    "leaf_spine",
    "nodes",
}

/// The template of that name.
pub fn template(name: &str) -> Option<&'static str> {
    TEMPLATES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
