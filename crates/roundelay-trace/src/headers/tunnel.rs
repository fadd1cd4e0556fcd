//! Packets inside packets. By default we tell flows apart by the same headers as Linux's flow
//! dissector (`net/core/flow_dissector.c`). It looks into GRE, IP in IP and 6in4, and takes ESP's
//! Security Parameters Index (RFC 4303, section 2.1) for ports. On request we also look into
//! tunnels over UDP, each of which is one flow to Linux.

use etherparse::LaxIpSlice;

use super::{
    Headers, IP_IN_IP, LinkType, Ports, UDP, after, be16, datagram_protocol, network_layer, ports,
    ppp,
};
use crate::capture::Frame;

const IPV6_IN_IP: u8 = 41;
const GRE: u8 = 47;
const ESP: u8 = 50;
/// Ports of VXLAN (RFC 7348), Geneve (RFC 8926) and GTP-U (3GPP TS 29.281).
const VXLAN_PORT: u16 = 4789;
const GENEVE_PORT: u16 = 6081;
const GTP_PORT: u16 = 2152;
/// WireGuard's usual port, and the port for ESP through address translation (RFC 3948).
const WIREGUARD_PORT: u16 = 51_820;
const ESP_PORT: u16 = 4500;
const QUIC_PORT: u16 = 443;
/// The port of the TaZmen Sniffer Protocol, which mirrors use.
const TZSP_PORT: u16 = 37_008;
/// The EtherType for an Ethernet frame in GRE and Geneve.
const BRIDGED: u16 = 0x6558;
/// How deep we look into packets inside packets.
const DEEPEST: usize = 4;

/// Tunnels, by what we can tell about the flows inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tunnel {
    /// GRE, IP in IP, 6in4. The inner headers make flows.
    Open,
    /// ESP. The Security Parameters Index makes flows.
    Esp,
    /// VXLAN, Geneve, GTP-U. The outer headers make flows, unless you ask for the inner ones.
    OverUdp,
    /// WireGuard. The outer headers make flows.
    WireGuard,
    /// QUIC. A connection is one flow, whatever its streams.
    Quic,
}

impl Tunnel {
    /// All tunnels.
    pub const ALL: [Self; 5] = [
        Self::Open,
        Self::Esp,
        Self::OverUdp,
        Self::WireGuard,
        Self::Quic,
    ];

    /// The tunnel that a packet with these headers belongs to.
    #[inline]
    pub(crate) fn of(headers: &Headers) -> Option<Self> {
        match headers.protocol {
            IP_IN_IP | IPV6_IN_IP | GRE => Some(Self::Open),
            ESP => Some(Self::Esp),
            UDP if headers.ports == Ports::Present => Self::over_udp(headers),
            _ => None,
        }
    }

    fn over_udp(headers: &Headers) -> Option<Self> {
        match (headers.source_port, headers.destination_port) {
            (_, VXLAN_PORT | GENEVE_PORT | GTP_PORT) => Some(Self::OverUdp),
            (WIREGUARD_PORT, _) | (_, WIREGUARD_PORT) => Some(Self::WireGuard),
            (ESP_PORT, _) | (_, ESP_PORT) => Some(Self::Esp),
            (QUIC_PORT, _) | (_, QUIC_PORT) => Some(Self::Quic),
            _ => None,
        }
    }
}

/// The headers of a packet, or those of the packet in its tunnel: of tunnels over UDP only if asked
/// for.
#[inline]
pub(crate) fn innermost(headers: &Headers, frame: &Frame<'_>, looks_over_udp: bool) -> Headers {
    match Tunnel::of(headers) {
        Some(Tunnel::Open | Tunnel::Esp) => {}
        Some(Tunnel::OverUdp) if looks_over_udp => {}
        _ => return *headers,
    }
    if headers.ports == Ports::Fragment {
        return *headers;
    }
    let Ok(packet) = network_layer(frame.link, frame.bytes) else {
        return *headers;
    };
    match inside(packet, 0, looks_over_udp) {
        // A link's queue sees the outer code point.
        Some(inner) => Headers {
            dscp: headers.dscp,
            ecn: headers.ecn,
            ..inner
        },
        None => *headers,
    }
}

/// The innermost packet's headers that we can read. None if that is the outer packet.
fn inside(packet: &[u8], depth: usize, looks_over_udp: bool) -> Option<Headers> {
    let (ip, _) = LaxIpSlice::from_slice(packet).ok()?;
    let payload = ip.payload();
    let protocol = datagram_protocol(&ip);
    let next = if payload.fragmented || depth == DEEPEST {
        None
    } else {
        match protocol {
            IP_IN_IP | IPV6_IN_IP => Some(payload.payload),
            GRE => gre(payload.payload),
            UDP if looks_over_udp => over_udp(payload.payload),
            _ => None,
        }
    };
    let deeper = next.and_then(|next| inside(next, depth + 1, looks_over_udp));
    if deeper.is_some() {
        return deeper;
    }
    let (mut state, mut source_port, mut destination_port) = ports(protocol, payload);
    if protocol == ESP
        && let Some(&[a, b, c, d]) = payload.payload.first_chunk::<4>()
    {
        state = Ports::Spi;
        source_port = u16::from_be_bytes([a, b]);
        destination_port = u16::from_be_bytes([c, d]);
    } else if depth == 0 {
        return None;
    }
    Some(Headers {
        source: ip.source_addr(),
        destination: ip.destination_addr(),
        protocol,
        source_port,
        destination_port,
        ports: state,
        dscp: 0,
        ecn: roundelay::Ecn::NotCapable,
    })
}

/// The Ethernet frame inside a tunnel: GRE, ERSPAN (draft-foschiano-erspan, types I to III), VXLAN,
/// Geneve and TZSP. Mirror ports that are far away use these.
#[inline]
pub(crate) fn bridged<'a>(headers: &Headers, frame: &Frame<'a>) -> Option<&'a [u8]> {
    let may_bridge = match headers.protocol {
        GRE => headers.ports != Ports::Fragment,
        UDP => matches!(
            headers.destination_port,
            VXLAN_PORT | GENEVE_PORT | TZSP_PORT
        ),
        _ => false,
    };
    if !may_bridge {
        return None;
    }
    let packet = network_layer(frame.link, frame.bytes).ok()?;
    let (ip, _) = LaxIpSlice::from_slice(packet).ok()?;
    let payload = ip.payload().payload;
    if headers.protocol == GRE {
        return bridged_over_gre(payload);
    }
    let tunnel = payload.get(8..)?;
    match headers.destination_port {
        VXLAN_PORT => tunnel.get(8..),
        GENEVE_PORT if be16(tunnel, 2).ok()? == BRIDGED => {
            let options = usize::from(tunnel.first()? & 0x3f) * 4;
            tunnel.get(8 + options..)
        }
        TZSP_PORT => tzsp(tunnel),
        _ => None,
    }
}

fn bridged_over_gre(bytes: &[u8]) -> Option<&[u8]> {
    const ERSPAN: u16 = 0x88be;
    const ERSPAN_III: u16 = 0x22eb;
    let (flags, kind, rest) = gre_header(bytes)?;
    match kind {
        BRIDGED => Some(rest),
        // Type I has no header of its own, and no sequence numbers.
        ERSPAN if flags & SEQUENCE == 0 => Some(rest),
        ERSPAN => rest.get(8..),
        ERSPAN_III => {
            let has_more = rest.get(11)? & 1 != 0;
            rest.get(if has_more { 20 } else { 12 }..)
        }
        _ => None,
    }
}

/// The Ethernet frame inside TZSP: four bytes, then fields up to the end field.
fn tzsp(bytes: &[u8]) -> Option<&[u8]> {
    const PADDING: u8 = 0;
    const END: u8 = 1;
    const IN_ETHERNET: u16 = 1;
    if be16(bytes, 2).ok()? != IN_ETHERNET {
        return None;
    }
    let mut rest = bytes.get(4..)?;
    loop {
        match *rest {
            [END, ref frame @ ..] => return Some(frame),
            [PADDING, ref next @ ..] => rest = next,
            [_, len, ref value @ ..] => rest = value.get(usize::from(len)..)?,
            _ => return None,
        }
    }
}

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
const ACKNOWLEDGEMENT: u16 = 0x0080;

/// A GRE header's flags and protocol, and what follows (RFC 2784, RFC 2890).
fn gre_header(bytes: &[u8]) -> Option<(u16, u16, &[u8])> {
    let flags = be16(bytes, 0).ok()?;
    let kind = be16(bytes, 2).ok()?;
    let mut header = 4;
    for (flag, len) in [(CHECKSUM, 4), (KEY, 4), (SEQUENCE, 4)] {
        header += if flags & flag == 0 { 0 } else { len };
    }
    Some((flags, kind, bytes.get(header..)?))
}

/// The packet inside GRE. Version 1 is PPTP's (RFC 2637).
fn gre(bytes: &[u8]) -> Option<&[u8]> {
    let (flags, kind, rest) = gre_header(bytes)?;
    match flags & 7 {
        0 if flags & ROUTING == 0 => packet_of(kind, rest),
        1 if kind == 0x880b => {
            let acknowledgement = if flags & ACKNOWLEDGEMENT == 0 { 0 } else { 4 };
            let frame = rest.get(acknowledgement..)?;
            ppp(frame.strip_prefix(&[0xff, 0x03]).unwrap_or(frame)).ok()
        }
        _ => None,
    }
}

/// The packet after a header with this EtherType.
fn packet_of(kind: u16, bytes: &[u8]) -> Option<&[u8]> {
    match kind {
        0x0800 | 0x86dd => Some(bytes),
        BRIDGED => network_layer(LinkType::ETHERNET, bytes).ok(),
        _ => None,
    }
}

/// The packet inside a VXLAN, Geneve or GTP-U datagram.
fn over_udp(datagram: &[u8]) -> Option<&[u8]> {
    let port = be16(datagram, 2).ok()?;
    let tunnel = after(datagram, 8).ok()?;
    match port {
        // RFC 7348, section 5: eight bytes, then an Ethernet frame.
        VXLAN_PORT => network_layer(LinkType::ETHERNET, tunnel.get(8..)?).ok(),
        // RFC 8926, section 3.4: options in units of four bytes.
        GENEVE_PORT => {
            let options = usize::from(tunnel.first()? & 0x3f) * 4;
            packet_of(be16(tunnel, 2).ok()?, tunnel.get(8 + options..)?)
        }
        GTP_PORT => gtp(tunnel),
        _ => None,
    }
}

/// The packet inside a G-PDU of GTP-U version 1 (TS 29.281, section 5).
fn gtp(bytes: &[u8]) -> Option<&[u8]> {
    const VERSION_AND_TYPE: u8 = 0x30;
    const OPTIONAL_FIELDS: u8 = 0x07;
    const G_PDU: u8 = 255;
    let &[flags, kind, ..] = bytes else {
        return None;
    };
    if flags & 0xf0 != VERSION_AND_TYPE || kind != G_PDU {
        return None;
    }
    if flags & OPTIONAL_FIELDS == 0 {
        return bytes.get(8..);
    }
    // An extension header starts with its length in units of four bytes and ends with the next
    // one's type.
    let mut at = 12;
    let mut next = *bytes.get(11)?;
    while next != 0 {
        let len = usize::from(*bytes.get(at)?) * 4;
        next = *bytes.get(at + len.checked_sub(1)?)?;
        at += len;
    }
    bytes.get(at..)
}
