//! The macro behind the list of topologies. It declares a module for each, and makes the enum of
//! all templates with their names, readers and examples.

macro_rules! topologies {
    ($($topology:ident = $module:ident,)*) => {
        $(mod $module;)*
        $(pub use $module::$topology;)*

        /// Values of `template`: a topology with its parameters.
        #[derive(Debug, Clone, PartialEq)]
        #[cfg_attr(
            feature = "schema",
            derive(schemars::JsonSchema),
            schemars(tag = "template", rename_all = "snake_case")
        )]
        pub enum Template {
            $(
                #[doc = concat!("Topology `", stringify!($module), "`.")]
                #[cfg_attr(feature = "schema", schemars(description = $module::NODES))]
                $topology($topology),
            )*
        }

        impl Template {
            /// The names of all templates, as in scenarios.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module)),*];

            /// Where each network was published. Empty if it was not.
            pub const SOURCES: &'static [&'static str] = &[$($module::SOURCE),*];

            /// A scenario for each template, from the file beside the topology's own.
            pub const EXAMPLES: &'static [&'static str] = &[$(include_str!(concat!(stringify!($module), ".toml"))),*];

            /// # Errors
            /// The template is unknown, or `table` does not hold its parameters.
            pub(crate) fn read<'de, D: serde::Deserializer<'de>>(name: &str, table: D) -> Result<Self, D::Error> {
                $(if name == stringify!($module) {
                    return <$topology as serde::Deserialize>::deserialize(table).map(Self::$topology);
                })*
                Err(serde::de::Error::unknown_variant(name, Self::NAMES))
            }

            /// Builds the network.
            ///
            /// # Errors
            /// A parameter is out of range.
            pub fn build(&self, queues: &Queues) -> Result<Topology, TopologyError> {
                match self {
                    $(Self::$topology(topology) => topology.build(queues),)*
                }
            }
        }
    };
}
