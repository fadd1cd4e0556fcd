//! Kinds of flows, by header fields and demand: calls and games, DNS, web, other light traffic,
//! acknowledgements, bulk.
//!
//! A queue hurts each kind in its own way: a call suffers from each packet's wait, a bulk transfer
//! from what it lacks to its fair share. So advice judges each kind on its own.

use serde::Serialize;

use crate::classifier::{Flow, FlowBy};
use crate::demand::{Demand, LONGEST_OF_A_CALL};
use crate::headers::{Headers, Ports, TCP, UDP, is_of_group};
use crate::outcome::Outcome;

/// DNS, DNS over TLS or QUIC (RFC 7858, RFC 9250), multicast DNS (RFC 6762).
const DNS_PORTS: [u16; 3] = [53, 853, 5353];
/// HTTPS, which is QUIC over UDP (RFC 9114), and HTTP.
const WEB_PORTS: [u16; 2] = [443, 80];
/// Code points for telephony, signalling and interactive video (RFC 4594, table 3): EF, VA, CS5,
/// CS4, AF41 to AF43.
const PROMPT: [u8; 7] = [46, 44, 40, 32, 34, 36, 38];

/// Ports of what devices tell each other unasked, which is neither a call nor a game: DHCP, NTP,
/// NetBIOS, SNMP, syslog, DHCPv6, SSDP, WS-Discovery, BFD, BFD over several hops, LLMNR, CoAP
/// (IANA, "Service Name and Transport Protocol Port Number Registry").
const CHATTER_PORTS: [u16; 17] = [
    67, 68, 123, 137, 138, 161, 162, 514, 546, 547, 1900, 3702, 3784, 4784, 5355, 5683, 5684,
];
/// MNDP, which that registry does not list.
const MNDP_PORT: u16 = 5678;

/// A flow's packets over time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pace {
    pub(crate) packets: u64,
    /// Bytes on the link.
    pub(crate) bytes: u64,
    /// Time from the first packet to the last. A pause of more than ten seconds counts as ten.
    pub(crate) seconds: f64,
}

/// A call or game has at least this many packets, over at least this many seconds, at this many
/// packets a second or more. In the captures on which we tried these, devices poll (CoAP, BFD) up
/// to five times a second.
const CALL: (u64, f64, f64) = (10, 0.5, 10.0);
/// The highest rate for an unmarked call or game, bits per second. The published requirements for
/// video calls go up to 4 Mbit/s in one direction (full HD; Zoom 3.8, Meet and Webex less). We take
/// 5 Mbit/s because a fifth of it is for headers and repair packets. Games that send their state
/// need less than a call. Games that send pictures (streaming services) start at 10 Mbit/s, in
/// bursts like a film's.
const FASTEST: f64 = 5e6;

impl Pace {
    /// Whether packets come for long enough and often enough for a call or a game.
    fn is_of_a_call(self) -> bool {
        let (packets, seconds, rate) = CALL;
        let mean = self.packets as f64 / self.seconds;
        self.packets >= packets && self.seconds >= seconds && mean >= rate
    }

    /// Whether the rate is no higher than a call's or a game's.
    fn is_within_a_call(self) -> bool {
        self.bytes as f64 * 8.0 <= FASTEST * self.seconds
    }
}

/// What a flow most likely is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Light flow from or to port 53, 853 or 5353.
    Dns,
    /// Of ten packets or more in half a second or longer, ten a second or more while it sends: a
    /// light UDP flow other than QUIC to one receiver, in whole datagrams of at most 5 Mbit/s, on no
    /// port of DHCP, SSDP and the like; or a light flow with a code point of telephony or
    /// interactive video, but no web over TCP; also if not light, over UDP, at most at a tenth of the
    /// link's rate or like a call.
    Call,
    /// TCP or QUIC flow from or to port 443 or 80, light or with bursts above its fair share that
    /// sends at most a tenth of the link's rate.
    Web,
    /// Any other light flow: ssh, pings, ARP.
    Other,
    /// TCP flow that asks for no more than web does, and nearly only acknowledges: the reverse
    /// direction of a transfer. A lost acknowledgement costs nothing, as the next one confirms the
    /// same data; only delay counts.
    Acknowledgements,
    /// Any other flow that asks for more than its fair share.
    Bulk,
}

impl Kind {
    /// All kinds, the most sensitive to delay first.
    pub const ALL: [Self; 6] = [
        Self::Call,
        Self::Dns,
        Self::Web,
        Self::Other,
        Self::Acknowledgements,
        Self::Bulk,
    ];

    /// The name for sentences and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dns => "DNS",
            Self::Call => "calls and games",
            Self::Web => "web",
            Self::Other => "other light traffic",
            Self::Acknowledgements => "acknowledgements",
            Self::Bulk => "bulk",
        }
    }

    /// The kind of a flow whose first packet has these headers. `is_bare` says that nearly all
    /// packets are bare acknowledgements.
    pub(crate) fn of(flow: &Flow, demand: Demand, is_bare: bool, pace: Pace) -> Self {
        let Flow::Headers { by, first } = flow else {
            return if demand == Demand::Light {
                Self::Other
            } else {
                Self::Bulk
            };
        };
        let is_one = by.is_five_tuple();
        let is_small = matches!(demand, Demand::Light | Demand::Bursty);
        let is_light = demand == Demand::Light;
        let is_prompt = is_prompt(*by, first) && pace.is_of_a_call();
        match demand {
            Demand::Light if is_one && uses(first, &DNS_PORTS) => Self::Dns,
            Demand::Light if is_prompt => Self::Call,
            Demand::Bursty | Demand::Modest if is_prompt && first.protocol == UDP => Self::Call,
            _ if is_one && is_small && is_bare => Self::Acknowledgements,
            _ if is_one && is_small && uses(first, &WEB_PORTS) => Self::Web,
            _ if is_one && is_light && may_call(first, pace) => Self::Call,
            _ if is_light => Self::Other,
            _ => Self::Bulk,
        }
    }

    /// Whether a bulk flow may be a call in a crowd of flows: an unmarked UDP flow of short packets
    /// that is a call in everything except its demand.
    pub(crate) fn may_be_call(flow: &Flow, demand: Demand, mean_length: u64, pace: Pace) -> bool {
        let is_unmarked = flow
            .headers()
            .is_some_and(|headers| headers.protocol == UDP && !PROMPT.contains(&headers.dscp));
        let would_be = Self::of(flow, demand, false, pace) == Self::Bulk
            && Self::of(flow, Demand::Light, false, pace) == Self::Call;
        is_unmarked && would_be && demand != Demand::Heavy && mean_length <= LONGEST_OF_A_CALL
    }
}

/// Whether a light flow may be a call: whole UDP datagrams to one receiver, at a call's pace, on no
/// chatter port. Calls and games send no fragments, because losing one would cost the whole
/// datagram (RFC 8085, section 3.2). Files over UDP (NFS) do.
fn may_call(headers: &Headers, pace: Pace) -> bool {
    if !pace.is_of_a_call() || !pace.is_within_a_call() || headers.ports == Ports::Fragment {
        return false;
    }
    let is_to_many = is_of_group(headers.destination);
    let is_chatter = uses(headers, &CHATTER_PORTS) || uses(headers, &[MNDP_PORT]);
    headers.protocol == UDP && !is_to_many && !is_chatter
}

/// Whether the flow uses one of these ports.
fn uses(headers: &Headers, ports: &[u16]) -> bool {
    let known = headers.ports == Ports::Present && matches!(headers.protocol, TCP | UDP);
    known && (ports.contains(&headers.source_port) || ports.contains(&headers.destination_port))
}

/// Whether the code point is one for telephony or interactive video, and equal in all the flow's
/// packets. A web page over TCP is neither, whatever a network marks it with.
fn is_prompt(by: FlowBy, headers: &Headers) -> bool {
    let is_page = headers.protocol == TCP && uses(headers, &WEB_PORTS);
    let tells_flows = (by.is_five_tuple() && !is_page) || by == FlowBy::Dscp;
    tells_flows && PROMPT.contains(&headers.dscp)
}

/// One discipline's results for the flows of one kind.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindOutcome {
    /// The kind.
    pub kind: Kind,
    /// Flows of this kind.
    pub flows: usize,
    /// 99th percentile of delay of the kind's packets, seconds; none if no packet got through.
    pub p99: Option<f64>,
    /// Dropped packets of the kind divided by offered packets.
    pub loss: f64,
    /// The flow with the most harm, an index into the flows of the comparison.
    pub worst: usize,
    /// 99th percentile of that flow's delay, seconds; none if no packet got through.
    pub worst_p99: Option<f64>,
    /// That flow's loss.
    pub worst_loss: f64,
    /// The highest 99th percentile of delay of a flow, seconds; none if no packet got through. The
    /// flow with the most harm may have a lower one, and lose more.
    pub longest_p99: Option<f64>,
    /// For bulk: the smallest part of its fair share that a flow got, 0 to 1. The fair share is the
    /// service by an ideal GPS server until the last arrival. This server serves hosts if the
    /// discipline is judged by these.
    pub least_share: Option<f64>,
    /// What users get, where senders react; none in a replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
}

/// What the users of a kind's flows get, where senders react.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Served {
    /// Bits per second over the link.
    pub throughput: f64,
    /// Requests with their responses, and files, that were complete when the capture's time was
    /// over. Connections without end have none.
    pub transfers: f64,
    /// Those begun that were not complete.
    pub unfinished: f64,
    /// Mean time from the request until the last byte is there, seconds; none without a transfer.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
}

impl KindOutcome {
    /// The outcome for all packets of these flows together. `find_worst_flows` finds the worst flow
    /// later.
    pub(crate) fn of(kind: Kind, flows: &[usize], together: &Outcome) -> Self {
        let p99 = together.delay.map(|delay| delay.p99);
        let worst = flows[0];
        let worst_p99 = p99;
        let worst_loss = together.loss;
        Self {
            kind,
            flows: flows.len(),
            p99,
            loss: together.loss,
            worst,
            worst_p99,
            worst_loss,
            longest_p99: p99,
            least_share: None,
            served: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkType;
    use crate::headers::parse;

    /// The kind of a light flow whose first packet has these fields.
    fn kind(protocol: u8, ports: (u16, u16), dscp: u8) -> Kind {
        kind_of(protocol, ports, dscp, Demand::Light, false)
    }

    fn kind_of(protocol: u8, ports: (u16, u16), dscp: u8, demand: Demand, is_bare: bool) -> Kind {
        let mut packet = vec![
            0x45,
            dscp << 2,
            0,
            40,
            0,
            0,
            0,
            0,
            64,
            protocol,
            0,
            0,
            10,
            0,
            0,
            1,
            10,
            0,
            0,
            2,
        ];
        packet.extend([ports.0.to_be_bytes(), ports.1.to_be_bytes()].concat());
        packet.extend([0, 20, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0]);
        let first = parse(LinkType(101), &packet).unwrap();
        Kind::of(
            &Flow::Headers {
                by: FlowBy::FiveTuple,
                first,
            },
            demand,
            is_bare,
            STEADY,
        )
    }

    /// A call's.
    const STEADY: Pace = pace(100, 2.0);

    /// Of packets of 200 bytes.
    const fn pace(packets: u64, seconds: f64) -> Pace {
        Pace {
            packets,
            bytes: 200 * packets,
            seconds,
        }
    }

    /// Regression: 93 of 93 "calls" of a public sample were LLMNR, SSDP, NetBIOS and the like.
    #[test]
    fn chatter_is_no_call() {
        for port in CHATTER_PORTS.into_iter().chain([MNDP_PORT]) {
            assert_eq!(kind(UDP, (port, 4000), 0), Kind::Other, "from port {port}");
            assert_eq!(kind(UDP, (4000, port), 0), Kind::Other, "to port {port}");
        }
        assert_eq!(kind(UDP, (4000, 1900), 46), Kind::Call, "marked EF");
    }

    #[test]
    fn a_call_has_a_rate_a_duration_and_one_receiver() {
        let first = |destination: [u8; 4]| Headers {
            source: [10, 0, 0, 1].into(),
            destination: destination.into(),
            protocol: UDP,
            source_port: 4000,
            destination_port: 5000,
            ports: Ports::Present,
            dscp: 0,
            ecn: roundelay::Ecn::NotCapable,
        };
        let of = |destination, packets, seconds| {
            let flow = Flow::Headers {
                by: FlowBy::FiveTuple,
                first: first(destination),
            };
            Kind::of(&flow, Demand::Light, false, pace(packets, seconds))
        };
        let one = [10, 0, 0, 2];
        assert_eq!(of(one, 10, 0.5), Kind::Call);
        assert_eq!(of(one, 9, 0.5), Kind::Other, "too few packets");
        assert_eq!(of(one, 100, 0.4), Kind::Other, "too short");
        assert_eq!(of(one, 100, 10.1), Kind::Other, "too slow");
        assert_eq!(of([239, 1, 1, 1], 100, 2.0), Kind::Other, "multicast");
        assert_eq!(of([255; 4], 100, 2.0), Kind::Other, "broadcast");
    }

    /// Regression: NFS in fragments at 6 Mbit/s was a call.
    #[test]
    fn a_call_has_a_highest_rate_and_whole_datagrams() {
        let of = |ports, dscp, bytes| {
            let flow = Flow::Headers {
                by: FlowBy::FiveTuple,
                first: Headers {
                    source: [10, 0, 0, 1].into(),
                    destination: [10, 0, 0, 2].into(),
                    protocol: UDP,
                    source_port: 4000,
                    destination_port: 5000,
                    ports,
                    dscp,
                    ecn: roundelay::Ecn::NotCapable,
                },
            };
            let pace = Pace {
                packets: 1000,
                bytes,
                seconds: 2.0,
            };
            Kind::of(&flow, Demand::Light, false, pace)
        };
        assert_eq!(of(Ports::Present, 0, 1_250_000), Kind::Call, "5 Mbit/s");
        assert_eq!(of(Ports::Present, 0, 1_250_001), Kind::Other, "faster");
        assert_eq!(of(Ports::Present, 34, 1_500_000), Kind::Call, "AF41");
        assert_eq!(of(Ports::Fragment, 0, 200_000), Kind::Other, "fragments");
        assert_eq!(
            of(Ports::Fragment, 34, 200_000),
            Kind::Call,
            "fragments, AF41"
        );
    }

    /// Regression: one NTP packet with code point EF was a call, and so were pages marked by a network.
    #[test]
    fn a_code_point_alone_makes_no_call() {
        let of = |protocol, ports: (u16, u16), dscp, packets, seconds| {
            let flow = Flow::Headers {
                by: FlowBy::FiveTuple,
                first: Headers {
                    source: [10, 0, 0, 1].into(),
                    destination: [10, 0, 0, 2].into(),
                    protocol,
                    source_port: ports.0,
                    destination_port: ports.1,
                    ports: Ports::Present,
                    dscp,
                    ecn: roundelay::Ecn::NotCapable,
                },
            };
            Kind::of(&flow, Demand::Light, false, pace(packets, seconds))
        };
        assert_eq!(of(UDP, (123, 123), 46, 1, 0.0), Kind::Other, "NTP");
        assert_eq!(of(UDP, (4000, 4001), 46, 100, 2.0), Kind::Call);
        assert_eq!(of(TCP, (443, 4001), 40, 12, 0.011), Kind::Web, "short");
        assert_eq!(of(TCP, (443, 4001), 40, 100, 2.0), Kind::Web, "long");
        assert_eq!(of(UDP, (5683, 5683), 0, 100, 2.0), Kind::Other, "CoAP");
        assert_eq!(of(UDP, (49_152, 3784), 0, 100, 2.0), Kind::Other, "BFD");
    }

    const DEMANDS: [Demand; 4] = [Demand::Light, Demand::Bursty, Demand::Modest, Demand::Heavy];

    #[test]
    fn kinds_are_told_by_ports_protocol_and_code_point() {
        assert_eq!(
            [
                kind(UDP, (53, 4000), 0),
                kind(TCP, (4000, 853), 0),
                kind(UDP, (5353, 5353), 0)
            ],
            [Kind::Dns; 3]
        );
        assert_eq!(
            [
                kind(UDP, (4000, 40_000), 0),
                kind(TCP, (22, 4000), 46),
                kind(UDP, (443, 4000), 34)
            ],
            [Kind::Call; 3]
        );
        assert_eq!(
            [
                kind(TCP, (443, 4000), 0),
                kind(UDP, (443, 4000), 0),
                kind(1, (53, 53), 0)
            ],
            [Kind::Web, Kind::Web, Kind::Other]
        );
        let unknown = [Flow::NotIp, Flow::Others, Flow::Unparsable];
        assert_eq!(
            unknown.map(|flow| Kind::of(&flow, Demand::Light, false, STEADY)),
            [Kind::Other; 3]
        );
        assert_eq!(
            unknown.map(|flow| Kind::of(&flow, Demand::Bursty, false, STEADY)),
            [Kind::Bulk; 3]
        );
    }

    #[test]
    fn a_larger_demand_makes_bulk_but_for_marks_and_bursts_of_pages() {
        let of = |protocol, ports, dscp| {
            DEMANDS.map(|demand| kind_of(protocol, ports, dscp, demand, false))
        };
        assert_eq!(
            of(UDP, (4000, 4001), 46),
            [Kind::Call, Kind::Call, Kind::Call, Kind::Bulk]
        );
        assert_eq!(
            of(TCP, (4000, 4001), 46),
            [Kind::Call, Kind::Bulk, Kind::Bulk, Kind::Bulk]
        );
        assert_eq!(
            of(UDP, (443, 4001), 0),
            [Kind::Web, Kind::Web, Kind::Bulk, Kind::Bulk]
        );
        assert_eq!(
            of(TCP, (22, 4001), 0),
            [Kind::Other, Kind::Bulk, Kind::Bulk, Kind::Bulk]
        );
        assert_eq!(
            of(UDP, (53, 4001), 0),
            [Kind::Dns, Kind::Bulk, Kind::Bulk, Kind::Bulk]
        );
    }

    #[test]
    fn tcp_without_data_acknowledges() {
        let of = |ports, dscp| DEMANDS.map(|demand| kind_of(TCP, ports, dscp, demand, true));
        assert_eq!(
            of((4000, 443), 0),
            [
                Kind::Acknowledgements,
                Kind::Acknowledgements,
                Kind::Bulk,
                Kind::Bulk
            ]
        );
        assert_eq!(
            of((4000, 22), 0),
            [
                Kind::Acknowledgements,
                Kind::Acknowledgements,
                Kind::Bulk,
                Kind::Bulk
            ]
        );
        assert_eq!(
            [of((4000, 53), 0)[0], of((4000, 22), 46)[0]],
            [Kind::Dns, Kind::Call]
        );
    }
}
