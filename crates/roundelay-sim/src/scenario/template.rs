//! Scenario templates, one a topology: `roundelay simulate --template dumbbell > mine.toml`.

macro_rules! templates {
    ($($name:literal,)*) => {
        /// Names and texts of the templates.
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

/// The template of this name.
pub fn template(name: &str) -> Option<&'static str> {
    TEMPLATES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
