//! Kinds of sources with their parameters.

mod arrivals;

use roundelay::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) use arrivals::full_len;
pub use arrivals::{Apart, Arrivals, SizesSpec, Transport};

use super::lists::{Trace, Workload};
use super::meter::Ending;
use super::protocol::Protocol;
use crate::agent::Agent;
use crate::sources::cbr::Gaps;
use crate::sources::{
    self, MOST_PACKETS, SourceError, Span, Terms, burst, cbr, on_off, poisson, request_response, tcp, trace, video, voip, workload,
};
use crate::written::{InWords, read, some, some_whole};

/// A kind of source with its parameters.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SourceSpec {
    /// Packets of one length at a constant rate, with even or random gaps.
    Cbr(Cbr),
    /// Packets with exponential gaps.
    Poisson(Poisson),
    /// A constant rate in on-times, nothing in off-times: Pareto times with a shape, else
    /// exponential.
    OnOff(OnOff),
    /// Speech: fifty packets a second in talkspurts.
    Voip(Voip),
    /// A whole flow at once, as UPS's flows over UDP.
    Burst(Burst),
    /// A flow over TCP, with a size or without end.
    Tcp(Tcp),
    /// Requests and responses over TCP, with pauses between.
    RequestResponse(RequestResponse),
    /// Video over TCP: a segment at even intervals.
    Video(Video),
    /// Flows that arrive at random, between random hosts of `from`; `to` is left out.
    Arrivals(Arrivals),
    /// A list of packets from a file.
    Trace(Trace),
    /// A list of flows from a file; `to` is left out.
    Workload(Workload),
}

/// Constant rate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Rate, headers included.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Rate>")]
    pub rate: Rate,
    /// Bytes of a packet: 1 to 65,535.
    #[serde(default = "packet_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
    /// Gaps between packets.
    #[serde(default)]
    pub gaps: Gaps,
    /// Number of packets. Left out: no end.
    #[serde(default, deserialize_with = "some_whole::<_, _, 1, MOST_PACKETS>")]
    #[schemars(range(min = 1, max = 1_000_000_000_000u64))]
    pub packets: Option<u64>,
}

/// Lengths of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lengths {
    /// One length.
    #[default]
    Fixed,
    /// Exponential, with the mean `packet_len`.
    Exponential,
}

/// Exponential gaps.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Mean rate, headers included.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Rate>")]
    pub rate: Rate,
    /// Bytes of a packet: 1 to 65,535.
    #[serde(default = "packet_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
    /// Distribution of packet lengths.
    #[serde(default)]
    pub lengths: Lengths,
    /// Lengths with weights, in place of these: [[64, 7], [576, 4], [1500, 1]].
    #[serde(default)]
    pub mix: Vec<(u32, u32)>,
    /// Number of packets. Left out: no end.
    #[serde(default, deserialize_with = "some_whole::<_, _, 1, MOST_PACKETS>")]
    #[schemars(range(min = 1, max = 1_000_000_000_000u64))]
    pub packets: Option<u64>,
}

/// On and off.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Rate while on, headers included.
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
    /// Shape of Pareto times: above 1, to 100.
    #[serde(default)]
    pub shape: Option<f64>,
    /// Number of packets. Left out: no end.
    #[serde(default, deserialize_with = "some_whole::<_, _, 1, MOST_PACKETS>")]
    #[schemars(range(min = 1, max = 1_000_000_000_000u64))]
    pub packets: Option<u64>,
}

/// Speech.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Voip {
    /// Bytes of a packet: 1 to 65,535. 200: G.711 with headers.
    #[serde(default = "speech_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
    /// Number of packets. Left out: no end.
    #[serde(default, deserialize_with = "some_whole::<_, _, 1, MOST_PACKETS>")]
    #[schemars(range(min = 1, max = 1_000_000_000_000u64))]
    pub packets: Option<u64>,
}

/// A whole flow at once.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Bytes of the flow: 1 to 2^40.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Bytes>")]
    pub size: Bytes,
    /// Bytes of a packet: 1 to 65,535; the last packet has the rest.
    #[serde(default = "packet_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
}

/// A flow over TCP.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Bytes of data: 1 to 2^40. Left out: without end.
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "Option<InWords<Bytes>>")]
    pub size: Option<Bytes>,
    /// TCP parameters of both ends.
    #[serde(default)]
    pub tcp: Protocol,
}

/// Requests and responses.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestResponse {
    /// Bytes of a request: 1 to 2^40.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Bytes>")]
    pub request: Bytes,
    /// Bytes of a response: 1 to 2^40.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Bytes>")]
    pub response: Bytes,
    /// Mean of the exponential time from a response to the next request: 1 ns to 1 day.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Duration>")]
    pub think: Duration,
    /// TCP parameters of both ends.
    #[serde(default)]
    pub tcp: Protocol,
}

/// Video.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// Bytes of a segment: 1 to 2^40.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Bytes>")]
    pub segment: Bytes,
    /// Time between segments: 1 us to 1 day.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Duration>")]
    pub interval: Duration,
    /// TCP parameters of both ends.
    #[serde(default)]
    pub tcp: Protocol,
}

const fn packet_len() -> u32 {
    1000
}

const fn speech_len() -> u32 {
    200
}

impl SourceSpec {
    /// Names of all kinds, as in scenarios.
    pub const KINDS: [&'static str; 11] =
        ["cbr", "poisson", "on_off", "voip", "burst", "tcp", "request_response", "video", "arrivals", "trace", "workload"];

    /// Name of the kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Cbr(_) => "cbr",
            Self::Poisson(_) => "poisson",
            Self::OnOff(_) => "on_off",
            Self::Voip(_) => "voip",
            Self::Burst(_) => "burst",
            Self::Tcp(_) => "tcp",
            Self::RequestResponse(_) => "request_response",
            Self::Video(_) => "video",
            Self::Arrivals(_) => "arrivals",
            Self::Trace(_) => "trace",
            Self::Workload(_) => "workload",
        }
    }

    /// TCP parameters of both ends, for sources over TCP.
    pub(super) const fn protocol(&self) -> Option<&Protocol> {
        match self {
            Self::Tcp(Tcp { tcp, .. }) | Self::RequestResponse(RequestResponse { tcp, .. }) | Self::Video(Video { tcp, .. }) => Some(tcp),
            Self::Arrivals(Arrivals { transport: Transport::Tcp, tcp, .. })
            | Self::Workload(Workload { transport: Transport::Tcp, tcp, .. }) => Some(tcp),
            _ => None,
        }
    }

    /// The longest packet in bytes, headers included.
    pub(super) fn longest_packet(&self) -> u32 {
        if let Some(tcp) = self.protocol().map(Protocol::config) {
            return tcp.segment_len.saturating_add(tcp.header_len);
        }
        match self {
            Self::Cbr(Cbr { packet_len, .. })
            | Self::OnOff(OnOff { packet_len, .. })
            | Self::Voip(Voip { packet_len, .. })
            | Self::Burst(Burst { packet_len, .. })
            | Self::Arrivals(Arrivals { packet_len, .. })
            | Self::Workload(Workload { packet_len, .. }) => *packet_len,
            Self::Poisson(spec) => spec.lengths().longest(),
            Self::Trace(spec) => spec.packets.iter().map(|packet| packet.len).max().unwrap_or(0),
            Self::Tcp(_) | Self::RequestResponse(_) | Self::Video(_) => 0,
        }
    }

    /// Number of packets until the source ends, if set.
    pub(super) const fn packets(&self) -> Option<u64> {
        match self {
            Self::Cbr(Cbr { packets, .. })
            | Self::Poisson(Poisson { packets, .. })
            | Self::OnOff(OnOff { packets, .. })
            | Self::Voip(Voip { packets, .. }) => *packets,
            _ => None,
        }
    }

    /// The rate of one source while sending, headers included; none without a rate of its own.
    pub(super) fn rate(&self) -> Option<Rate> {
        match self {
            Self::Cbr(Cbr { rate, .. }) | Self::Poisson(Poisson { rate, .. }) | Self::OnOff(OnOff { rate, .. }) => Some(*rate),
            Self::Voip(Voip { packet_len, .. }) => voip::rate(*packet_len),
            _ => None,
        }
    }

    /// Mean seconds between packets, for sources with one mean rate all the time.
    pub(super) fn mean_gap(&self) -> Option<f64> {
        let len = match self {
            Self::Cbr(spec) => f64::from(spec.packet_len),
            Self::Poisson(spec) => spec.lengths().mean(),
            _ => return None,
        };
        self.rate().map(|rate| len * 8.0 / rate.bits_per_second() as f64)
    }

    /// The way in which flows end.
    pub(super) fn ending(&self) -> Ending {
        if let Some(packets) = self.packets() {
            return Ending::After(packets);
        }
        match self {
            Self::Burst(_) => Ending::Silent,
            Self::Arrivals(spec) if spec.transport == Transport::Burst => Ending::Silent,
            Self::Workload(spec) if spec.transport == Transport::Burst => Ending::Silent,
            Self::Tcp(spec) if spec.size.is_none() => Ending::Never,
            _ => Ending::Told,
        }
    }

    /// Whether one source begins flows between many hosts.
    pub(super) const fn is_of_many(&self) -> bool {
        matches!(self, Self::Arrivals(_) | Self::Workload(_))
    }

    /// Whether the source may complete anything: a flow with an end, a response, a segment of
    /// video.
    pub(super) fn may_complete(&self) -> bool {
        match self {
            Self::Cbr(_) | Self::Poisson(_) | Self::OnOff(_) | Self::Voip(_) => self.packets().is_some(),
            Self::Trace(_) => false,
            Self::Tcp(tcp) => tcp.size.is_some(),
            Self::Burst(_) | Self::RequestResponse(_) | Self::Video(_) | Self::Arrivals(_) | Self::Workload(_) => true,
        }
    }

    /// Whether flows end by themselves, in any run and with any queues.
    pub(super) const fn always_ends(&self) -> bool {
        matches!(self, Self::Burst(_) | Self::Arrivals(_) | Self::Workload(_))
    }

    /// Lists of packets for pairs of hosts, if the source sends lists.
    pub(super) fn lists(&self, pairs: usize) -> Vec<Vec<trace::Entry>> {
        match self {
            Self::Trace(spec) => spec.deal(pairs),
            _ => vec![Vec::new()],
        }
    }

    /// The agent for two hosts, or for a list of packets; `arrivals` sends between all of `hosts`.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub(super) fn agent(
        &self,
        terms: Terms,
        hosts: &[sources::arrivals::Host],
        list: &[trace::Entry],
    ) -> Result<Box<dyn Agent>, SourceError> {
        Ok(match self {
            Self::Cbr(spec) => Box::new(cbr::Cbr::new(spec.config(terms))?),
            Self::Poisson(spec) => Box::new(poisson::Poisson::new(spec.config(terms))?),
            Self::OnOff(spec) => Box::new(on_off::OnOff::new(spec.config(terms))?),
            Self::Voip(Voip { packet_len, packets }) => {
                Box::new(voip::new(voip::Config { terms, packet_len: *packet_len, packets: *packets })?)
            }
            Self::Burst(Burst { size, packet_len }) => {
                Box::new(burst::Burst::new(burst::Config { terms, size_bytes: size.0, packet_len: *packet_len })?)
            }
            Self::Tcp(Tcp { size, tcp }) => {
                let size_bytes = size.map(|Bytes(size)| size);
                Box::new(tcp::Tcp::new(tcp::Config { terms, protocol: tcp.config(), size_bytes })?)
            }
            Self::RequestResponse(RequestResponse { request, response, think, tcp }) => {
                let (request_bytes, response_bytes, think) = (request.0, response.0, Span::Exponential(*think));
                let protocol = tcp.config();
                let config = request_response::Config { terms, protocol, request_bytes, response_bytes, think };
                Box::new(request_response::RequestResponse::new(config)?)
            }
            Self::Video(Video { segment, interval, tcp }) => {
                let config = video::Config { terms, protocol: tcp.config(), segment_bytes: segment.0, interval: *interval };
                Box::new(video::Video::new(config)?)
            }
            Self::Arrivals(spec) => Box::new(sources::arrivals::Arrivals::new(spec.config(terms, hosts)?)?),
            Self::Trace(_) => {
                let flows = list.iter().map(|packet| packet.flow + 1).max().unwrap_or(0);
                let Terms { flow, start, start_jitter, stop, urgency } = terms;
                let flows = vec![flow; flows as usize];
                Box::new(trace::Trace::new(trace::Config { flows, packets: list.to_vec(), start, start_jitter, stop, urgency })?)
            }
            Self::Workload(spec) => Box::new(workload::Workload::new(spec.config(terms))?),
        })
    }
}

impl Cbr {
    fn config(&self, terms: Terms) -> cbr::Config {
        cbr::Config { terms, rate: self.rate, packet_len: self.packet_len, gaps: self.gaps, packets: self.packets }
    }
}

impl Poisson {
    fn config(&self, terms: Terms) -> poisson::Config {
        poisson::Config { terms, rate: self.rate, lengths: self.lengths(), packets: self.packets }
    }

    pub(super) fn lengths(&self) -> poisson::Lengths {
        match self.lengths {
            _ if !self.mix.is_empty() => poisson::Lengths::Mix(self.mix.clone()),
            Lengths::Fixed => poisson::Lengths::Fixed(self.packet_len),
            Lengths::Exponential => poisson::Lengths::Exponential(self.packet_len),
        }
    }
}

impl OnOff {
    fn config(&self, terms: Terms) -> on_off::Config {
        let [on, off] = [self.on, self.off].map(|mean| match self.shape {
            Some(shape) => Span::Pareto { mean, shape },
            None => Span::Exponential(mean),
        });
        on_off::Config { terms, rate: self.rate, packet_len: self.packet_len, on, off, packets: self.packets }
    }
}
