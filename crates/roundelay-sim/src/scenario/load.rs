//! Load of a source: packets, flows and transfers without losses or congestion.

use roundelay::{Duration, Instant};

use super::source::{SourceSpec, Transport};
use super::{Arrivals, Cbr, OnOff, RequestResponse, Workload};
use crate::sources::cbr::Gaps;
use crate::sources::workload;

/// Packets of one source: mean, and variance of random amounts. Over TCP: packets with data, plus
/// one each way to open the connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Load {
    mean: f64,
    variance: f64,
    /// The maximum of one source.
    most: f64,
}

/// Means of talkspurts and pauses in seconds, and packets a second during talkspurts, as of the
/// source `voip`.
const SPEECH: (f64, f64, f64) = (1.004, 1.587, 50.0);

impl Load {
    const fn exact(packets: f64) -> Self {
        Self { mean: packets, variance: 0.0, most: f64::INFINITY }
    }

    /// `times` random events of `each` packets, independent of each other.
    fn drawn(times: f64, each: f64) -> Self {
        Self { variance: times * each * each, ..Self::exact(times * each) }
    }

    /// Exponential on- and off-times of an alternating renewal process: the variance grows with
    /// time (D. Cox, "Renewal Theory", 1962, section 7).
    fn by_turns(on: f64, off: f64, rate: f64, seconds: f64) -> Self {
        let cycle = (on + off).max(f64::MIN_POSITIVE);
        let variance = 2.0 * (on * off).powi(2) / cycle.powi(3) * seconds * rate * rate;
        Self { variance, ..Self::exact(rate * seconds * on / cycle) }
    }

    /// Upper estimate for `sources` sources: four standard deviations above the mean.
    pub(super) fn of(self, sources: f64) -> f64 {
        // Exact amounts, which may be infinite, have no deviation.
        let drawn = if self.variance == 0.0 { 0.0 } else { 4.0 * (self.variance * sources).sqrt() };
        (self.mean * sources + drawn).min(self.most * sources)
    }

    /// Limits the load of a source with a maximum number of packets.
    fn up_to(self, packets: Option<u64>) -> Self {
        Self { most: packets.map_or(f64::INFINITY, |packets| packets as f64), ..self }
    }
}

fn at_rate(rate: roundelay::Rate, len: f64, seconds: f64) -> f64 {
    rate.bits_per_second() as f64 / (8.0 * len.max(1.0)) * seconds
}

impl SourceSpec {
    /// Packets that one source sends in `span`. `round_trip`: shortest time of a request.
    /// `fastest`: highest rate of a route, in bits a second. `hosts`: number of hosts of
    /// `arrivals`.
    pub(super) fn load(&self, span: Duration, round_trip: Duration, fastest: f64, hosts: f64) -> Load {
        let seconds = span.as_secs_f64();
        let load = match self {
            Self::Cbr(spec) => spec.load(seconds),
            Self::Poisson(spec) => Load::drawn(at_rate(spec.rate, spec.lengths().mean(), seconds), 1.0),
            Self::OnOff(spec) => spec.load(seconds),
            Self::Voip(_) => Load::by_turns(SPEECH.0, SPEECH.1, SPEECH.2, seconds),
            Self::Burst(spec) => Load::exact(segments(spec.size.0, spec.packet_len)),
            Self::Tcp(spec) => Load::exact(spec.size.map_or(f64::INFINITY, |size| self.segments(size.0) + 1.0)),
            Self::RequestResponse(spec) => {
                Load::drawn(spec.requests(span, round_trip), self.segments(spec.request.0) + self.segments(spec.response.0))
            }
            Self::Video(spec) => {
                Load::exact((seconds / spec.interval.as_secs_f64().max(1e-6)).ceil() * self.segments(spec.segment.0) + 1.0)
            }
            Self::Arrivals(spec) => spec.load(seconds, hosts, self.segment_len(), fastest),
            Self::Trace(spec) => Load::exact(spec.packets.partition_point(|packet| packet.at < Instant::ZERO + span) as f64),
            Self::Workload(Workload { flows, transport, .. }) => {
                let beginning = if *transport == Transport::Tcp { 1.0 } else { 0.0 };
                let of_flow = |flow: &workload::Entry| self.segments(flow.size_bytes) + beginning;
                Load::exact(flows.iter().take_while(|flow| flow.at < Instant::ZERO + span).map(of_flow).sum())
            }
        };
        load.up_to(self.packets())
    }

    /// On-times that one source draws in `span` without sending a packet.
    pub(super) fn idle_rounds(&self, span: Duration) -> f64 {
        let Self::OnOff(spec) = self else { return 0.0 };
        let seconds = span.as_secs_f64();
        // A source ends with its last packet.
        let interval = f64::from(spec.packet_len) * 8.0 / spec.rate.bits_per_second() as f64;
        let most = spec.packets.map_or(f64::INFINITY, |packets| packets as f64 * (interval / spec.on.as_secs_f64() + 1.0));
        let rounds = seconds / (spec.on + spec.off).as_secs_f64();
        (rounds.min(most) - spec.load(seconds).mean).max(0.0)
    }

    /// Flows that one source opens in `span`.
    pub(super) fn flows(&self, span: Duration, hosts: f64) -> Load {
        match self {
            Self::Arrivals(spec) => Load::drawn(spec.flows(span.as_secs_f64(), hosts), 1.0),
            Self::Workload(spec) => Load::exact(spec.flows.iter().take_while(|flow| flow.at < Instant::ZERO + span).count() as f64),
            Self::Trace(spec) if spec.is_dealt => Load::exact(spec.packets.iter().map(|packet| packet.flow + 1).max().unwrap_or(0).into()),
            Self::RequestResponse(_) => Load::exact(2.0),
            _ => Load::exact(1.0),
        }
    }

    /// Upper estimate of the transfers that one source begins in `span`. `round_trip`: shortest
    /// time of a request.
    pub(super) fn transfers(&self, span: Duration, round_trip: Duration, hosts: f64) -> Load {
        match self {
            Self::RequestResponse(spec) => Load::drawn(spec.requests(span, round_trip), 1.0),
            Self::Video(spec) => Load::exact((span.as_secs_f64() / spec.interval.as_secs_f64().max(1e-6)).ceil()),
            _ => self.flows(span, hosts),
        }
    }

    /// Bytes of data in a full packet of a flow.
    fn segment_len(&self) -> u32 {
        self.protocol().map_or_else(|| self.longest_packet(), |tcp| tcp.config().segment_len)
    }

    fn segments(&self, bytes: u64) -> f64 {
        segments(bytes, self.segment_len())
    }
}

fn segments(bytes: u64, len: u32) -> f64 {
    bytes.div_ceil(u64::from(len.max(1))) as f64
}

impl RequestResponse {
    /// Mean number of requests of one client, with the shortest time for each answer.
    fn requests(&self, span: Duration, round_trip: Duration) -> f64 {
        span.as_secs_f64() / (self.think + round_trip).as_secs_f64().max(1e-6) + 1.0
    }
}

impl Cbr {
    /// A renewal process: a variance of the gaps of a twelfth of their squared mean gives a
    /// variance of the number of packets of a twelfth of its mean (D. Cox, "Renewal Theory", 1962,
    /// section 3.3).
    fn load(&self, seconds: f64) -> Load {
        let mean = at_rate(self.rate, self.packet_len.into(), seconds).ceil();
        Load { variance: if self.gaps == Gaps::Random { mean / 12.0 } else { 0.0 }, ..Load::exact(mean) }
    }
}

impl OnOff {
    /// Pareto on-times may last for the whole run: no useful bound of the variance.
    fn load(&self, seconds: f64) -> Load {
        let rate = at_rate(self.rate, self.packet_len.into(), 1.0);
        match self.shape {
            Some(_) => Load::exact(rate * seconds),
            None => Load::by_turns(self.on.as_secs_f64(), self.off.as_secs_f64(), rate, seconds),
        }
    }
}

impl Arrivals {
    /// Mean number of flows.
    fn flows(&self, seconds: f64, hosts: f64) -> f64 {
        let mean = self.sizes().map_or(f64::INFINITY, |sizes| sizes.mean().max(1.0));
        self.utilisation * self.link_rate.bits_per_second() as f64 / 8.0 / mean * seconds * hosts
    }

    /// Each flow fills its last packet in part and, over TCP, begins with a packet without data.
    /// Starts are spread evenly over time; by the end, a flow over TCP has sent at most the
    /// capacity of the route.
    fn load(&self, seconds: f64, hosts: f64, segment_len: u32, fastest: f64) -> Load {
        let Ok(sizes) = self.sizes() else { return Load::exact(0.0) };
        let flows = self.flows(seconds, hosts);
        let rate = if self.transport == Transport::Tcp { fastest / 8.0 } else { f64::INFINITY };
        let most = rate * seconds;
        // A flow with a duration of the fraction t of the whole time is cut off if it begins in the
        // last fraction t.
        let packets = |bytes: f64| (bytes / f64::from(segment_len.max(1))).ceil() + 1.0;
        let part = |size: f64| (size / most).min(1.0);
        let mean = sizes.mean_of(|size| packets(size.min(most)) * (1.0 - part(size) / 2.0));
        let square = sizes.mean_of(|size| packets(size.min(most)).powi(2) * (1.0 - part(size) * 2.0 / 3.0));
        Load { variance: flows * square, ..Load::exact(flows * mean) }
    }
}
