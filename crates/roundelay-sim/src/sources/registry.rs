//! The list of sources. A new kind is a file and a line here: the reader of scenarios, the JSON
//! Schema, the documented table, estimates and the tests of all kinds follow.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};

use super::source::Source;
use super::{Protocol, arrivals, burst, cbr, on_off, poisson, request_response, tcp, trace, video, voip, workload};

macro_rules! sources {
    ($($kind:ident = $module:ident,)*) => {
        /// A kind of source with its parameters.
        #[derive(Debug, Clone, PartialEq, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum SourceSpec {
            $(
                #[doc = concat!("Source `", stringify!($module), "`.")]
                #[schemars(description = $module::SENDS)]
                $kind($module::Config),
            )*
        }

        impl SourceSpec {
            /// Names of all kinds, as in scenarios.
            pub const KINDS: &'static [&'static str] = &[$(stringify!($module)),*];

            /// What each kind sends, in a sentence.
            pub const SENDS: &'static [&'static str] = &[$($module::SENDS),*];

            /// Two settings of each kind: the keys of a `[[source]]` without `kind` and hosts. Lists
            /// are `packets.txt` and `flows.txt`.
            pub const EXAMPLES: &'static [[&'static str; 2]] = &[$($module::EXAMPLES),*];

            /// Name of the kind.
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => stringify!($module),)*
                }
            }

            pub(crate) const fn source(&self) -> &dyn Source {
                match self {
                    $(Self::$kind(config) => config,)*
                }
            }

            pub(crate) const fn source_mut(&mut self) -> &mut dyn Source {
                match self {
                    $(Self::$kind(config) => config,)*
                }
            }

            /// # Errors
            /// The kind is unknown, or its parameters are not those in `table`.
            pub(crate) fn read<'de, D: Deserializer<'de>>(kind: &str, table: D) -> Result<Self, D::Error> {
                $(if kind == stringify!($module) {
                    return $module::Config::deserialize(table).map(Self::$kind);
                })*
                Err(D::Error::unknown_variant(kind, Self::KINDS))
            }
        }
    };
}

sources! {
    Cbr = cbr,
    Poisson = poisson,
    OnOff = on_off,
    Voip = voip,
    Burst = burst,
    Tcp = tcp,
    RequestResponse = request_response,
    Video = video,
    Arrivals = arrivals,
    Trace = trace,
    Workload = workload,
}

impl SourceSpec {
    /// TCP parameters of both ends, for sources over TCP.
    pub fn protocol(&self) -> Option<&Protocol> {
        self.source().facts().tcp
    }

    /// Whether one source begins flows between many hosts, all of `from`.
    pub fn is_of_many(&self) -> bool {
        self.source().facts().is_of_many()
    }
}
