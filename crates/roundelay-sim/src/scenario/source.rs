//! What a source sends, as plain data.

use std::collections::{BTreeSet, VecDeque};

use roundelay::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::Deserialize;

use super::lists::{Trace, Workload};
use super::meter::Ending;
use super::protocol::Protocol;
use crate::agent::Agent;
use crate::network::{LinkClass, Network, NodeId};
use crate::sources::cbr::Gaps;
use crate::sources::{
    MOST_PACKETS, Sizes, SourceError, Span, Terms, arrivals, burst, cbr, on_off, poisson, request_response, tcp, trace, video, voip,
    workload,
};
use crate::written::{InWords, read, some, some_whole};

/// A kind of source with its parameters.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SourceSpec {
    /// Packets of one length at a constant rate, at even or at random gaps.
    Cbr(Cbr),
    /// Packets after exponential gaps.
    Poisson(Poisson),
    /// A constant rate in on-times, nothing between: Pareto where a shape is given, exponential where none is.
    OnOff(OnOff),
    /// Speech: fifty packets a second while somebody talks.
    Voip(Voip),
    /// A whole flow at once, as UPS's flows over UDP.
    Burst(Burst),
    /// A flow over TCP, of so many bytes or without end.
    Tcp(Tcp),
    /// Requests and responses over TCP, with pauses between.
    RequestResponse(RequestResponse),
    /// Video over TCP: a segment at even intervals.
    Video(Video),
    /// Flows that arrive by themselves, between hosts of `from` drawn at random; `to` is left out.
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
    /// Headers included.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Rate>")]
    pub rate: Rate,
    /// Bytes of a packet: 1 to 65,535.
    #[serde(default = "packet_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
    /// How far apart packets leave.
    #[serde(default)]
    pub gaps: Gaps,
    /// It ends after so many packets. Left out: it has no end.
    #[serde(default, deserialize_with = "some_whole::<_, _, 1, MOST_PACKETS>")]
    #[schemars(range(min = 1, max = 1_000_000_000_000u64))]
    pub packets: Option<u64>,
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
    /// It ends after so many packets. Left out: it has no end.
    #[serde(default, deserialize_with = "some_whole::<_, _, 1, MOST_PACKETS>")]
    #[schemars(range(min = 1, max = 1_000_000_000_000u64))]
    pub packets: Option<u64>,
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
    /// It ends after so many packets. Left out: it has no end.
    #[serde(default, deserialize_with = "some_whole::<_, _, 1, MOST_PACKETS>")]
    #[schemars(range(min = 1, max = 1_000_000_000_000u64))]
    pub packets: Option<u64>,
}

/// Speech.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Voip {
    /// Bytes of a packet: 1 to 65,535. 200: G.711 with its headers.
    #[serde(default = "speech_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
    /// It ends after so many packets. Left out: it has no end.
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
    /// Bytes of a packet: 1 to 65,535; the last one has what is left.
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
    /// What both ends do.
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
    /// What both ends do.
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
    /// From one segment to the next: 1 us to 1 day.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Duration>")]
    pub interval: Duration,
    /// What both ends do.
    #[serde(default)]
    pub tcp: Protocol,
}

/// How flows that arrive are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// All at once.
    #[default]
    Burst,
    /// Over TCP.
    Tcp,
}

/// Which hosts do not send flows to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Apart {
    /// Each sends to all others.
    #[default]
    Host,
    /// Those behind one router.
    Router,
    /// Those whose nearest router with core links is the same: as in UPS, where flows go to hosts of other core routers.
    Core,
}

/// How large flows are.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SizesSpec {
    /// A distribution that is built in: ups, data_mining or web_search.
    Named(String),
    /// Bytes, and the part of all flows that are as large or smaller: [[1460, 0.5], [14600, 1.0]].
    Points(Vec<(u64, f64)>),
}

/// Flows that arrive.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// The part of its link that each host offers: above 0, to 10.
    #[schemars(range(min = 0, max = 10))]
    pub utilisation: f64,
    /// The rate that this is a part of.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Rate>")]
    pub link_rate: Rate,
    /// How large flows are.
    pub sizes: SizesSpec,
    /// Whether sizes between the points are drawn, too.
    #[serde(default)]
    pub interpolated: bool,
    /// Which hosts do not send to each other.
    #[serde(default)]
    pub apart: Apart,
    /// How flows are sent.
    #[serde(default)]
    pub transport: Transport,
    /// Bytes of a packet of a burst: 1 to 65,535.
    #[serde(default = "full_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
    /// What both ends do, where flows go over TCP.
    #[serde(default)]
    pub tcp: Protocol,
}

pub(super) const fn full_len() -> u32 {
    1460
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

    /// The name of its kind.
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

    /// What both ends do, if it sends over TCP.
    pub(super) const fn protocol(&self) -> Option<&Protocol> {
        match self {
            Self::Tcp(Tcp { tcp, .. }) | Self::RequestResponse(RequestResponse { tcp, .. }) | Self::Video(Video { tcp, .. }) => Some(tcp),
            Self::Arrivals(Arrivals { transport: Transport::Tcp, tcp, .. })
            | Self::Workload(Workload { transport: Transport::Tcp, tcp, .. }) => Some(tcp),
            _ => None,
        }
    }

    /// Its longest packet in bytes, headers included.
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

    /// After how many packets a source that could go on without end ends.
    pub(super) const fn packets(&self) -> Option<u64> {
        match self {
            Self::Cbr(Cbr { packets, .. })
            | Self::Poisson(Poisson { packets, .. })
            | Self::OnOff(OnOff { packets, .. })
            | Self::Voip(Voip { packets, .. }) => *packets,
            _ => None,
        }
    }

    /// How its flows end.
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

    /// Whether one of them begins flows between many hosts.
    pub(super) const fn is_of_many(&self) -> bool {
        matches!(self, Self::Arrivals(_) | Self::Workload(_))
    }

    /// What pairs of hosts send, where that is a list.
    pub(super) fn lists(&self, pairs: usize) -> Vec<Vec<trace::Entry>> {
        match self {
            Self::Trace(spec) => spec.deal(pairs),
            _ => vec![Vec::new()],
        }
    }

    /// The agent that sends this between two hosts, or a list of packets; flows that arrive do between all of `hosts`.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub(super) fn agent(&self, terms: Terms, hosts: &[arrivals::Host], list: &[trace::Entry]) -> Result<Box<dyn Agent>, SourceError> {
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
            Self::Arrivals(spec) => Box::new(arrivals::Arrivals::new(spec.config(terms, hosts)?)?),
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

impl Transport {
    pub(super) fn with(self, packet_len: u32, tcp: &Protocol) -> arrivals::Transport {
        match self {
            Self::Burst => arrivals::Transport::Burst { packet_len },
            Self::Tcp => arrivals::Transport::Tcp(tcp.config()),
        }
    }
}

impl Arrivals {
    fn config(&self, terms: Terms, hosts: &[arrivals::Host]) -> Result<arrivals::Config, SourceError> {
        let transport = self.transport.with(self.packet_len, &self.tcp);
        Ok(arrivals::Config {
            hosts: hosts.to_vec(),
            link_rate: self.link_rate,
            utilisation: self.utilisation,
            sizes: self.sizes()?,
            transport,
            start: terms.start,
            stop: terms.stop,
            urgency: terms.urgency,
            flow: terms.flow.config,
        })
    }

    pub(super) fn sizes(&self) -> Result<Sizes, SourceError> {
        let sizes = match &self.sizes {
            SizesSpec::Named(name) => Sizes::named(name).ok_or_else(|| SourceError {
                kind: "arrivals",
                parameter: "sizes",
                value: name.clone(),
                range: format!("{}, or points", Sizes::NAMES.join(", ")),
            })?,
            SizesSpec::Points(points) => Sizes::discrete(points.clone())?,
        };
        Ok(if self.interpolated { sizes.interpolated() } else { sizes })
    }

    /// The hosts with the groups that keep apart.
    pub(super) fn hosts(&self, network: &Network, hosts: &[NodeId]) -> Vec<arrivals::Host> {
        let group = |host: NodeId| match self.apart {
            Apart::Host => host,
            Apart::Router => network.leaving(host).first().map_or(host, |link| network.links()[link.index()].to),
            Apart::Core => nearest_core(network, host),
        };
        hosts.iter().map(|host| arrivals::Host { node: *host, group: group(*host).0 }).collect()
    }
}

/// The nearest router with core links, the first found of those; the host itself if there is none.
fn nearest_core(network: &Network, host: NodeId) -> NodeId {
    let (mut queue, mut seen) = (VecDeque::from([host]), BTreeSet::from([host]));
    while let Some(node) = queue.pop_front() {
        let links = || network.leaving(node).iter().map(|link| &network.links()[link.index()]);
        if links().any(|link| link.class == LinkClass::Core) {
            return node;
        }
        queue.extend(links().map(|link| link.to).filter(|next| seen.insert(*next)));
    }
    host
}
