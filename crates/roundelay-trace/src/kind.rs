//! Kinds of flows, by header fields and demand: DNS, calls and games, web, bulk.
//!
//! A queue hurts these in different ways: a call by the wait of each packet, a bulk transfer by the
//! part of its fair share that it lacks. The verdict (`verdict.rs`) judges each kind on its own.

use roundelay_metrics::geometric_mean;
use serde::Serialize;

use crate::classifier::{Flow, FlowBy};
use crate::comparison::{Comparison, DisciplineResult, FlowSummary};
use crate::headers::{Headers, Ports};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// DNS, DNS over TLS or QUIC (RFC 7858, RFC 9250), multicast DNS (RFC 6762).
const DNS_PORTS: [u16; 3] = [53, 853, 5353];
/// HTTPS, which is QUIC over UDP (RFC 9114), and HTTP.
const WEB_PORTS: [u16; 2] = [443, 80];
/// Code points of telephony, signalling, and interactive video (RFC 4594, table 3): EF, VA, CS5, CS4,
/// AF41 to AF43.
const PROMPT: [u8; 7] = [46, 44, 40, 32, 34, 36, 38];

/// Part of the link's rate up to which a flow is modest.
const MODEST: f64 = 0.1;
/// Rate of a call with uncompressed speech and headers, at most, in bits per second.
const FASTEST_CALL: f64 = 128_000.0;

/// Mean length of a call's packets, at most: twenty milliseconds of uncompressed speech (RFC 3551) with
/// headers are 218 bytes on Ethernet.
const LONGEST_OF_A_CALL: u64 = 300;

/// How much a flow asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Less than a fair share.
    Light,
    /// More than a fair share among many flows, but a small part of the link, or no more than a call.
    Modest,
    /// More than a fair share, and a large part of the link.
    Heavy,
}

impl Demand {
    /// The demand of a flow with this mean rate and length; rates in bits per second.
    pub(crate) fn of(is_light: bool, rate: f64, mean_length: u64, link: f64) -> Self {
        let is_like_a_call = rate <= FASTEST_CALL && mean_length <= LONGEST_OF_A_CALL;
        match is_light {
            true => Self::Light,
            false if rate <= MODEST * link || is_like_a_call => Self::Modest,
            false => Self::Heavy,
        }
    }
}

/// What a flow most likely is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Light flow from or to port 53, 853 or 5353.
    Dns,
    /// Light UDP flow other than QUIC, or a flow with a code point of telephony or interactive video
    /// that is light; also if not light, over UDP, at most at a tenth of the link's rate or like a call.
    Call,
    /// Any other light flow: web pages, acknowledgements, pings.
    Web,
    /// Any other flow that asks for more than its fair share.
    Bulk,
}

impl Kind {
    /// All kinds, the most sensitive to delay first.
    pub const ALL: [Self; 4] = [Self::Call, Self::Dns, Self::Web, Self::Bulk];

    /// Name in sentences and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dns => "DNS",
            Self::Call => "calls and games",
            Self::Web => "web",
            Self::Bulk => "bulk",
        }
    }

    /// The kind of a flow with these headers in its first packet.
    pub(crate) fn of(flow: &Flow, demand: Demand) -> Self {
        match (flow, demand) {
            (Flow::Headers { by: FlowBy::FiveTuple | FlowBy::Dscp, first }, Demand::Modest)
                if PROMPT.contains(&first.dscp) && first.protocol == UDP =>
            {
                Self::Call
            }
            (_, Demand::Modest | Demand::Heavy) => Self::Bulk,
            (Flow::Headers { by, first }, Demand::Light) => Self::of_light(*by, first),
            (Flow::NotIp | Flow::Unparsable | Flow::Others, Demand::Light) => Self::Web,
        }
    }

    /// Whether a bulk flow may be a call in a crowd of flows: short packets, and a call in all but the
    /// demand.
    pub(crate) fn may_be_call(flow: &Flow, demand: Demand, mean_length: u64) -> bool {
        let would_be = Self::of(flow, demand) == Self::Bulk && Self::of(flow, Demand::Light) == Self::Call;
        would_be && demand == Demand::Modest && mean_length <= LONGEST_OF_A_CALL
    }

    fn of_light(by: FlowBy, headers: &Headers) -> Self {
        let uses = |ports: &[u16]| {
            let known = headers.ports == Ports::Present && matches!(headers.protocol, TCP | UDP);
            known && (ports.contains(&headers.source_port) || ports.contains(&headers.destination_port))
        };
        match by {
            FlowBy::FiveTuple if uses(&DNS_PORTS) => Self::Dns,
            FlowBy::FiveTuple | FlowBy::Dscp if PROMPT.contains(&headers.dscp) => Self::Call,
            FlowBy::FiveTuple if headers.protocol == UDP && !uses(&WEB_PORTS) => Self::Call,
            _ => Self::Web,
        }
    }
}

/// One discipline's results for the flows of one kind.
#[derive(Debug, Clone, Serialize)]
pub struct KindOutcome {
    /// The kind.
    pub kind: Kind,
    /// Flows of this kind.
    pub flows: usize,
    /// 99th percentile of delay of a typical flow, seconds: the geometric mean over the flows; none
    /// if no packet got through.
    pub p99: Option<f64>,
    /// Dropped packets of the kind divided by offered packets.
    pub loss: f64,
    /// The flow with the most harm, an index into the flows of the comparison.
    pub worst: usize,
    /// 99th percentile of that flow's delay, seconds; none if no packet got through.
    pub worst_p99: Option<f64>,
    /// That flow's loss.
    pub worst_loss: f64,
    /// For bulk: the smallest part of its fair share that a flow got, 0 to 1. The fair share is the
    /// service by an ideal GPS server until the last arrival.
    pub least_share: Option<f64>,
}

/// The part of its fair share that a flow got, 0 to 1.
pub(crate) fn share_of(comparison: &Comparison, result: &DisciplineResult, flow: usize) -> f64 {
    let fair = comparison.flows[flow].fair_rate / 8.0 * comparison.capture.seconds;
    if fair > 0.0 { (result.flows[flow].outcome.bytes as f64 / fair).min(1.0) } else { 1.0 }
}

/// The flows of a kind.
pub(crate) fn flows_of(flows: &[FlowSummary], kind: Kind) -> Vec<usize> {
    (0..flows.len()).filter(|flow| flows[*flow].kind == kind).collect()
}

/// Results of one discipline by kind, for kinds with flows. `harm` is the harm to a flow.
pub(crate) fn outcomes(
    comparison: &Comparison,
    result: &DisciplineResult,
    harm: impl Fn(&DisciplineResult, usize) -> f64,
) -> Vec<KindOutcome> {
    let outcome_of = |kind| {
        let flows = flows_of(&comparison.flows, kind);
        let worst = flows.iter().copied().max_by(|a, b| harm(result, *a).total_cmp(&harm(result, *b)).then(b.cmp(a)))?;
        let outcome = |flow: &usize| &result.flows[*flow].outcome;
        let dropped: u64 = flows.iter().map(|flow| outcome(flow).drops.total()).sum();
        let sent: u64 = flows.iter().map(|flow| outcome(flow).packets).sum();
        let least = flows.iter().map(|flow| share_of(comparison, result, *flow)).fold(1.0, f64::min);
        Some(KindOutcome {
            kind,
            flows: flows.len(),
            p99: geometric_mean(flows.iter().filter_map(|flow| Some(outcome(flow).delay?.p99))),
            loss: dropped as f64 / (dropped + sent).max(1) as f64,
            worst,
            worst_p99: outcome(&worst).delay.map(|delay| delay.p99),
            worst_loss: outcome(&worst).loss,
            least_share: (kind == Kind::Bulk).then_some(least),
        })
    };
    Kind::ALL.into_iter().filter_map(outcome_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkType;
    use crate::headers::parse;

    /// The kind of a light flow whose first packet has these fields.
    fn kind(protocol: u8, ports: (u16, u16), dscp: u8) -> Kind {
        kind_of(protocol, ports, dscp, Demand::Light)
    }

    fn kind_of(protocol: u8, ports: (u16, u16), dscp: u8, demand: Demand) -> Kind {
        let mut packet = vec![0x45, dscp << 2, 0, 40, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet.extend([ports.0.to_be_bytes(), ports.1.to_be_bytes()].concat());
        packet.extend([0, 20, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0]);
        let first = parse(LinkType(101), &packet).unwrap();
        Kind::of(&Flow::Headers { by: FlowBy::FiveTuple, first }, demand)
    }

    #[test]
    fn kinds_are_told_by_ports_protocol_and_code_point() {
        assert_eq!([kind(UDP, (53, 4000), 0), kind(TCP, (4000, 853), 0), kind(UDP, (5353, 5353), 0)], [Kind::Dns; 3]);
        assert_eq!([kind(UDP, (4000, 40_000), 0), kind(TCP, (22, 4000), 46), kind(UDP, (443, 4000), 34)], [Kind::Call; 3]);
        assert_eq!([kind(TCP, (443, 4000), 0), kind(UDP, (443, 4000), 0), kind(1, (53, 53), 0)], [Kind::Web; 3]);
        assert_eq!([Flow::NotIp, Flow::Others, Flow::Unparsable].map(|flow| Kind::of(&flow, Demand::Heavy)), [Kind::Bulk; 3]);
        let marked = [Demand::Light, Demand::Modest, Demand::Heavy].map(|demand| kind_of(UDP, (4000, 4001), 46, demand));
        assert_eq!(marked, [Kind::Call, Kind::Call, Kind::Bulk]);
    }
}
