//! What a source sends, as plain data.

use roundelay::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::written::{InWords, read};
use crate::agent::Agent;
use crate::sources::{SourceError, Span, Terms, burst, cbr, on_off, poisson, voip};

/// A kind of source with its parameters.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SourceSpec {
    /// Packets of one length at a constant rate.
    Cbr(Cbr),
    /// Packets after exponential gaps.
    Poisson(Poisson),
    /// A constant rate in on-times, nothing between: Pareto where a shape is given, exponential where none is.
    OnOff(OnOff),
    /// Speech: fifty packets a second while somebody talks.
    Voip(Voip),
    /// A whole flow at once, as UPS's flows over UDP.
    Burst(Burst),
}

/// Constant rate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Headers included.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Rate>")]
    pub rate: Rate,
    /// Bytes of a packet: 1 to 65,535.
    #[serde(default = "packet_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
}

/// Lengths of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lengths {
    /// All alike.
    #[default]
    Fixed,
    /// Exponential, with the mean `packet_len`.
    Exponential,
}

/// Exponential gaps.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// In the mean, headers included.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Rate>")]
    pub rate: Rate,
    /// Bytes of a packet: 1 to 65,535.
    #[serde(default = "packet_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
    /// How packets' lengths vary.
    #[serde(default)]
    pub lengths: Lengths,
    /// Lengths with their weights, in place of these: [[64, 7], [576, 4], [1500, 1]].
    #[serde(default)]
    pub mix: Vec<(u32, u32)>,
}

/// On and off.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// While on, headers included.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Rate>")]
    pub rate: Rate,
    /// Bytes of a packet: 1 to 65,535.
    #[serde(default = "packet_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
    /// Mean on-time: 1 ns to 1 day.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Duration>")]
    pub on: Duration,
    /// Mean off-time: 1 ns to 1 day.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Duration>")]
    pub off: Duration,
    /// Of Pareto times: above 1, to 100.
    #[serde(default)]
    pub shape: Option<f64>,
}

/// Speech.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Voip {
    /// Bytes of a packet: 1 to 65,535. 200: G.711 with its headers.
    #[serde(default = "speech_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
}

/// A whole flow at once.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Bytes of the flow: 1 to 2^40.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Bytes>")]
    pub size: Bytes,
    /// Bytes of a packet: 1 to 65,535; the last one has what is left.
    #[serde(default = "packet_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
}

const fn packet_len() -> u32 {
    1000
}

const fn speech_len() -> u32 {
    200
}

impl SourceSpec {
    /// Names of all kinds, as in scenarios.
    pub const KINDS: [&'static str; 5] = ["cbr", "poisson", "on_off", "voip", "burst"];

    /// The name of its kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Cbr(_) => Self::KINDS[0],
            Self::Poisson(_) => Self::KINDS[1],
            Self::OnOff(_) => Self::KINDS[2],
            Self::Voip(_) => Self::KINDS[3],
            Self::Burst(_) => Self::KINDS[4],
        }
    }

    /// The agent that sends this.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn agent(&self, terms: Terms) -> Result<Box<dyn Agent>, SourceError> {
        Ok(match self {
            Self::Cbr(Cbr { rate, packet_len }) => {
                Box::new(cbr::Cbr::new(cbr::Config { terms, rate: *rate, packet_len: *packet_len })?)
            }
            Self::Poisson(spec) => Box::new(poisson::Poisson::new(poisson::Config { terms, rate: spec.rate, lengths: spec.lengths() })?),
            Self::OnOff(OnOff { rate, packet_len, on, off, shape }) => {
                let [on, off] = [on, off].map(|mean| match *shape {
                    Some(shape) => Span::Pareto { mean: *mean, shape },
                    None => Span::Exponential(*mean),
                });
                Box::new(on_off::OnOff::new(on_off::Config { terms, rate: *rate, packet_len: *packet_len, on, off })?)
            }
            Self::Voip(Voip { packet_len }) => Box::new(voip::new(voip::Config { terms, packet_len: *packet_len })?),
            Self::Burst(Burst { size, packet_len }) => {
                Box::new(burst::Burst::new(burst::Config { terms, size_bytes: size.0, packet_len: *packet_len })?)
            }
        })
    }

    /// About how many packets it sends in `span`, at most `u64::MAX`.
    pub(super) fn packets(&self, span: Duration) -> f64 {
        let at_rate = |rate: Rate, len: f64, share: f64| rate.bits_per_second() as f64 * share / (8.0 * len.max(1.0)) * span.as_secs_f64();
        match self {
            Self::Cbr(spec) => at_rate(spec.rate, spec.packet_len.into(), 1.0),
            Self::Poisson(spec) => at_rate(spec.rate, spec.lengths().mean(), 1.0),
            Self::OnOff(spec) => {
                let (on, off) = (spec.on.as_secs_f64(), spec.off.as_secs_f64());
                at_rate(spec.rate, spec.packet_len.into(), on / (on + off).max(f64::MIN_POSITIVE))
            }
            Self::Voip(_) => 50.0 * span.as_secs_f64() * 1004.0 / (1004.0 + 1587.0),
            Self::Burst(spec) => spec.size.0 as f64 / f64::from(spec.packet_len.max(1)),
        }
    }
}

impl Poisson {
    fn lengths(&self) -> poisson::Lengths {
        match self.lengths {
            _ if !self.mix.is_empty() => poisson::Lengths::Mix(self.mix.clone()),
            Lengths::Fixed => poisson::Lengths::Fixed(self.packet_len),
            Lengths::Exponential => poisson::Lengths::Exponential(self.packet_len),
        }
    }
}
