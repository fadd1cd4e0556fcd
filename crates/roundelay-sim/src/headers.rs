//! Which headers a flow's packets have, for the rules in trees and for captures
//! ([`pcapng`](crate::pcapng)).

use std::net::{IpAddr, Ipv4Addr};

use roundelay::Ecn;
use roundelay_trace::{Headers, Ports};

use crate::ids::{FlowNumber, NodeId};

/// Header fields that all flows in a group share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// IP protocol number (IANA): 17 for UDP, 6 for TCP.
    pub protocol: u8,
    /// Differentiated Services code point, 0 to 63 (RFC 2474).
    pub dscp: u8,
}

/// UDP, best effort.
impl Default for Marks {
    fn default() -> Self {
        Self {
            protocol: 17,
            dscp: 0,
        }
    }
}

/// A node's IPv4 address: 10.0.0.0/8 plus the low 24 bits of the node's number.
pub(crate) fn address(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::from(10 << 24 | node.0 & 0xff_ffff)
}

/// A flow's ports, the source's first. Together they hold 30 bits of the flow number, enough for
/// 2^30 flows between two nodes.
pub(crate) fn ports(flow: FlowNumber) -> [u16; 2] {
    [
        0x8000 | (flow.0 & 0x7fff) as u16,
        0x8000 | (flow.0 >> 15 & 0x7fff) as u16,
    ]
}

/// The headers on packets from a flow's source to its destination.
pub(crate) fn forward(
    flow: FlowNumber,
    [from, to]: [NodeId; 2],
    Marks { protocol, dscp }: Marks,
) -> Headers {
    let [source_port, destination_port] = ports(flow);
    let [source, destination] = [from, to].map(|node| IpAddr::V4(address(node)));
    Headers {
        source,
        destination,
        protocol,
        source_port,
        destination_port,
        ports: Ports::Present,
        dscp,
        // Each packet has its own, and captures take it from there. No rule of a tree reads it.
        ecn: Ecn::NotCapable,
    }
}

/// The headers on replies, with addresses and ports swapped.
pub(crate) const fn backward(headers: Headers) -> Headers {
    let Headers {
        source,
        destination,
        source_port,
        destination_port,
        ..
    } = headers;
    Headers {
        source: destination,
        destination: source,
        source_port: destination_port,
        destination_port: source_port,
        ..headers
    }
}
