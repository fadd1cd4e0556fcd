//! The macro behind the list of sources. It declares a module for each kind, and makes the enum of
//! all kinds with their names, examples and readers.

macro_rules! sources {
    ($($kind:ident = $module:ident,)*) => {
        $(pub mod $module;)*

        /// A kind of source with its parameters.
        #[derive(Debug, Clone, PartialEq)]
        #[cfg_attr(
            feature = "schema",
            derive(schemars::JsonSchema),
            schemars(tag = "kind", rename_all = "snake_case")
        )]
        pub enum SourceSpec {
            $(
                #[doc = concat!("Source `", stringify!($module), "`.")]
                #[cfg_attr(feature = "schema", schemars(description = $module::SENDS))]
                $kind($module::Config),
            )*
        }

        impl SourceSpec {
            /// The names of all kinds, as in scenarios.
            pub const KINDS: &'static [&'static str] = &[$(stringify!($module)),*];

            /// Two settings for each kind: what a `[[source]]` contains beside `kind` and hosts.
            /// Lists are `packets.txt` and `flows.txt`.
            pub const EXAMPLES: &'static [[&'static str; 2]] = &[$($module::EXAMPLES),*];

            /// The kind's name.
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => stringify!($module),)*
                }
            }

            pub(crate) const fn source(&self) -> &dyn source::Source {
                match self {
                    $(Self::$kind(config) => config,)*
                }
            }

            pub(crate) const fn source_mut(&mut self) -> &mut dyn source::Source {
                match self {
                    $(Self::$kind(config) => config,)*
                }
            }

            /// # Errors
            /// The kind is unknown, or `table` does not hold its parameters.
            pub(crate) fn read<'de, D: serde::Deserializer<'de>>(kind: &str, table: D) -> Result<Self, D::Error> {
                $(if kind == stringify!($module) {
                    return <$module::Config as serde::Deserialize>::deserialize(table).map(Self::$kind);
                })*
                Err(serde::de::Error::unknown_variant(kind, Self::KINDS))
            }
        }
    };
}
