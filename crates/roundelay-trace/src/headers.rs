//! Packet header parser: addresses, protocol, ports, code point and ECN.
//!
//! First it reads the link layer: Ethernet with any number of VLAN tags (802.1Q, 802.1ad), PPPoE
//! sessions and MPLS, PPP, Cisco HDLC, 802.11 data frames (bare, or after radiotap, PPI, Prism or
//! AVS), Linux "cooked" captures, loopback, or raw IP. Then come IPv4 or IPv6 with extension
//! headers (by [`etherparse`]), and the ports of TCP, UDP, UDP-Lite, DCCP and SCTP, which are at
//! equal offsets in all five. The headers are the outer packet's on the link. `tunnel.rs` reads
//! packets inside.
//!
//! We decided four things. A packet cut by the snap length is valid if its ports were captured.
//! Every fragment of a datagram, even the first, has ports 0, so that all fragments share one flow.
//! ICMP and other protocols without ports have ports 0. We do not check lengths inside the headers
//! against the capture, because offloads leave these fields unset.

#![deny(clippy::indexing_slicing)]

use std::fmt;
use std::net::IpAddr;

use etherparse::err::ip::LaxHeaderSliceError;
use etherparse::{LaxIpPayloadSlice, LaxIpSlice, LaxIpv6Slice};
use roundelay::Ecn;
use serde::Serialize;

use crate::capture::{Frame, LinkType};

mod acknowledgement;
mod tunnel;
mod wifi;

pub use tunnel::Tunnel;
pub(crate) use tunnel::{bridged, innermost};

/// Ethernet's longest frame without jumbo frames, but with two VLAN tags.
const LONGEST_FRAME: u32 = 1522;
/// Ethernet's longest packet without jumbo frames, but with an 802.11 checksum after it.
const LONGEST_PACKET: u32 = 1504;

/// The longest link header that we repeat before each packet split off. The rest is padding.
const LONGEST_LINK_HEADER: u32 = 64;

/// The longest frame with an acknowledgement: TCP's and IPv6's longest headers, and as much again
/// for the link and for extension headers.
const LONGEST_ACKNOWLEDGEMENT: u32 = 256;

/// The header fields that make flows or appear in weight rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers {
    /// The source address.
    pub source: IpAddr,
    /// The destination address.
    pub destination: IpAddr,
    /// The protocol above IP and its extension headers (IANA number): 6 is TCP, 17 is UDP.
    pub protocol: u8,
    /// The source port, or 0 unless `ports` is [`Ports::Present`].
    pub source_port: u16,
    /// The destination port, or 0 unless `ports` is [`Ports::Present`].
    pub destination_port: u16,
    /// Whether the ports are valid, and if not, why.
    pub ports: Ports,
    /// The Differentiated Services code point, 0 to 63 (RFC 2474).
    pub dscp: u8,
    /// Explicit Congestion Notification (RFC 3168).
    pub ecn: Ecn,
}

impl Headers {
    /// The same with the ends exchanged.
    pub(crate) const fn reversed(&self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            ..*self
        }
    }
}

/// What a TCP header says about its segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpSegment {
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    /// Bytes of data.
    pub(crate) len: u32,
    pub(crate) is_fin: bool,
    pub(crate) is_syn: bool,
    pub(crate) is_reset: bool,
    pub(crate) is_ack: bool,
    /// The sender's clock and the other end's, which it echoes (RFC 7323), if they were captured.
    pub(crate) timestamps: Option<[u32; 2]>,
    /// The receive window before scaling.
    pub(crate) window: u16,
    /// By how much a SYN's sender shifts its later windows (RFC 7323, section 2), if it does.
    pub(crate) window_scale: Option<u8>,
}

/// Whether a packet's ports are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ports {
    /// Both ports were read.
    Present,
    /// The protocol has no ports.
    None,
    /// The packet is a fragment, maybe the first.
    Fragment,
    /// ESP. Both ports together are its Security Parameters Index.
    Spi,
    /// The protocol has ports, or may have them behind an extension header that is cut or broken.
    /// But the capture does not include them.
    Missing,
}

/// Why a packet has no [`Headers`], or incomplete ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unparsable {
    /// The frame is not IP, but ARP, LLDP or spanning tree.
    NotIp,
    /// We do not read this link type. See [`LinkType`]'s constants.
    UnknownLink,
    /// The capture ends inside the link or IP header.
    Truncated,
    /// An encrypted 802.11 data frame, so the packet inside is not visible.
    Encrypted,
    /// The IP header contradicts itself: its version is neither 4 nor 6, or a length is below the
    /// minimum.
    Malformed,
    /// The addresses are there but the ports are missing. See [`Ports::Missing`].
    NoPorts,
}

/// Number of packets with unreadable headers, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnparsableCounts {
    /// See [`Unparsable::NotIp`].
    pub not_ip: u64,
    /// See [`Unparsable::UnknownLink`].
    pub unknown_link: u64,
    /// See [`Unparsable::Truncated`].
    pub truncated: u64,
    /// See [`Unparsable::Encrypted`].
    pub encrypted: u64,
    /// See [`Unparsable::Malformed`].
    pub malformed: u64,
    /// See [`Unparsable::NoPorts`].
    pub no_ports: u64,
}

impl UnparsableCounts {
    /// Counts one packet.
    pub fn count(&mut self, reason: Unparsable) {
        let counter = match reason {
            Unparsable::NotIp => &mut self.not_ip,
            Unparsable::UnknownLink => &mut self.unknown_link,
            Unparsable::Truncated => &mut self.truncated,
            Unparsable::Encrypted => &mut self.encrypted,
            Unparsable::Malformed => &mut self.malformed,
            Unparsable::NoPorts => &mut self.no_ports,
        };
        *counter += 1;
    }

    /// Packets whose addresses could not be read, for another reason than that they are not IP.
    /// Encrypted ones are among them.
    pub fn unreadable(&self) -> u64 {
        self.total() - self.not_ip - self.no_ports
    }

    /// Total over all reasons.
    pub fn total(&self) -> u64 {
        self.not_ip
            + self.unknown_link
            + self.truncated
            + self.encrypted
            + self.malformed
            + self.no_ports
    }
}

impl fmt::Display for Unparsable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotIp => "not IP",
            Self::UnknownLink => "unknown link type",
            Self::Truncated => "cut inside the link or IP header",
            Self::Encrypted => "encrypted",
            Self::Malformed => "malformed IP header",
            Self::NoPorts => "cut before the ports",
        })
    }
}

/// Parses a frame's headers.
#[inline]
pub fn parse(link: LinkType, bytes: &[u8]) -> Result<Headers, Unparsable> {
    let (packet, _) = LaxIpSlice::from_slice(network_layer(link, bytes)?).map_err(unparsable)?;
    let payload = packet.payload();
    let protocol = datagram_protocol(&packet);
    let (ports, source_port, destination_port) = ports(protocol, payload);
    let traffic_class = traffic_class(&packet);
    Ok(Headers {
        source: packet.source_addr(),
        destination: packet.destination_addr(),
        protocol,
        source_port,
        destination_port,
        ports,
        dscp: traffic_class >> 2,
        ecn: ecn(traffic_class),
    })
}

/// Why the parsing library rejected an IP header.
#[cold]
fn unparsable(error: LaxHeaderSliceError) -> Unparsable {
    match error {
        LaxHeaderSliceError::Len(_) => Unparsable::Truncated,
        LaxHeaderSliceError::Content(_) => Unparsable::Malformed,
    }
}

/// The octet that holds the code point and the ECN bits.
fn traffic_class(packet: &LaxIpSlice<'_>) -> u8 {
    match packet {
        LaxIpSlice::Ipv4(packet) => {
            packet.header().dcp().value() << 2 | packet.header().ecn().value()
        }
        LaxIpSlice::Ipv6(packet) => packet.header().traffic_class(),
    }
}

/// Reads the ECN bits (RFC 3168, section 5).
fn ecn(traffic_class: u8) -> Ecn {
    match traffic_class & 3 {
        0 => Ecn::NotCapable,
        3 => Ecn::Marked,
        _ => Ecn::Capable,
    }
}

/// A protocol number that is equal in all fragments of a datagram. Headers after the fragment
/// header do not count, because only the first fragment has them.
fn datagram_protocol(packet: &LaxIpSlice<'_>) -> u8 {
    match packet {
        LaxIpSlice::Ipv4(packet) if packet.is_payload_fragmented() => packet.header().protocol().0,
        LaxIpSlice::Ipv6(packet) if packet.is_payload_fragmented() => {
            protocol_of_ipv6_fragment(packet)
        }
        _ => packet.payload_ip_number().0,
    }
}

/// The Next Header field in the first Fragment header (RFC 8200, section 4.5).
fn protocol_of_ipv6_fragment(packet: &LaxIpv6Slice<'_>) -> u8 {
    const FRAGMENT: u8 = 44;
    const AUTHENTICATION: u8 = 51;
    let mut kind = packet.header().next_header().0;
    let mut rest = packet.extensions().slice();
    while let [next, length, ..] = *rest {
        if kind == FRAGMENT {
            return next;
        }
        // RFC 8200, section 4 counts in units of 8 octets after the first 8. RFC 4302 counts in
        // units of 4 octets after the first 8.
        let size = if kind == AUTHENTICATION {
            (usize::from(length) + 2) * 4
        } else {
            (usize::from(length) + 1) * 8
        };
        kind = next;
        rest = rest.get(size..).unwrap_or_default();
    }
    kind
}

/// The ports, if the protocol has some and the capture includes them.
#[inline]
fn ports(protocol: u8, payload: &LaxIpPayloadSlice<'_>) -> (Ports, u16, u16) {
    if payload.fragmented {
        return (Ports::Fragment, 0, 0);
    }
    match (protocol, payload.payload) {
        (TCP | UDP | DCCP | SCTP | UDP_LITE, &[a, b, c, d, ..]) => (
            Ports::Present,
            u16::from_be_bytes([a, b]),
            u16::from_be_bytes([c, d]),
        ),
        (TCP | UDP | DCCP | SCTP | UDP_LITE, _) => (Ports::Missing, 0, 0),
        // An extension header here was cut or broken, so we do not know what protocol follows it.
        (0 | 43 | 44 | 51 | 60, _) => (Ports::Missing, 0, 0),
        _ => (Ports::None, 0, 0),
    }
}

/// Where the IP header begins in a frame, if we can find one.
pub fn network_offset(link: LinkType, bytes: &[u8]) -> Option<usize> {
    let packet = network_layer(link, bytes).ok()?;
    Some(bytes.len() - packet.len())
}

/// Removes the link layer. The result starts with an IP header.
#[inline]
pub(crate) fn network_layer(link: LinkType, bytes: &[u8]) -> Result<&[u8], Unparsable> {
    match link {
        LinkType::ETHERNET => ether_type(be16(bytes, 12)?, after(bytes, 14)?),
        LinkType::RAW | LinkType::RAW_12 | LinkType::RAW_14 | LinkType::IPV4 | LinkType::IPV6 => {
            Ok(bytes)
        }
        LinkType::LINUX_SLL => ether_type(be16(bytes, 14)?, after(bytes, 16)?),
        LinkType::LINUX_SLL2 => ether_type(be16(bytes, 0)?, after(bytes, 20)?),
        LinkType::CISCO_HDLC => ether_type(be16(bytes, 2)?, after(bytes, 4)?),
        LinkType::NULL | LinkType::LOOP => loopback(bytes),
        LinkType::PPP | LinkType::PPP_HDLC => framed_ppp(bytes),
        // A direction byte comes instead of the address, or before the frame.
        LinkType::PPP_PPPD => ppp(after(bytes, 2)?),
        LinkType::PPP_WITH_DIRECTION => framed_ppp(after(bytes, 1)?),
        LinkType::PPP_ETHERNET => ppp(after(bytes, 6)?),
        _ => wireless(link, bytes),
    }
}

/// Removes the link layer of an 802.11 frame.
fn wireless(link: LinkType, bytes: &[u8]) -> Result<&[u8], Unparsable> {
    match link {
        LinkType::IEEE802_11 => wifi::frame(bytes, false),
        LinkType::RADIOTAP => wifi::radiotap(bytes),
        LinkType::PRISM => wifi::frame(after(bytes, wifi::prism_len(bytes)?)?, false),
        LinkType::AVS => wifi::frame(after(bytes, wifi::avs_len(bytes)?)?, false),
        LinkType::PPI => match wifi::ppi(bytes)? {
            (number, frame) if number == u32::from(LinkType::IEEE802_11.0) => {
                wifi::frame(frame, false)
            }
            (number, frame) if number == u32::from(LinkType::ETHERNET.0) => {
                network_layer(LinkType::ETHERNET, frame)
            }
            _ => Err(Unparsable::UnknownLink),
        },
        _ => Err(Unparsable::UnknownLink),
    }
}

impl Frame<'_> {
    /// The length on the link, in bytes. It is `original_len` without what the capturing host put
    /// in front: headers before an 802.11 frame (radiotap, PPI, Prism, AVS), which are never on the
    /// air, and a direction byte before a PPP frame. A Linux cooked capture's header counts,
    /// because it is about as long as the Ethernet header that it replaces.
    #[inline]
    pub fn len_on_link(&self) -> u32 {
        let host_header = match self.link {
            LinkType::RADIOTAP => wifi::radiotap_len(self.bytes),
            LinkType::PPI => wifi::ppi_len(self.bytes),
            LinkType::PRISM => wifi::prism_len(self.bytes),
            LinkType::AVS => wifi::avs_len(self.bytes),
            LinkType::PPP_WITH_DIRECTION => Ok(1),
            _ => return self.original_len,
        };
        // We leave an illegal header where it is.
        let len = u32::try_from(host_header.unwrap_or(0))
            .ok()
            .and_then(|header| self.original_len.checked_sub(header));
        len.unwrap_or(self.original_len)
    }

    /// Whether the packet is longer than any on an Ethernet without jumbo frames. Long frames alone
    /// do not show this, because tunnel and 802.11 headers make them from usual packets.
    #[inline]
    pub fn exceeds_ethernet(&self) -> bool {
        self.len_on_link() > LONGEST_FRAME
            && self.packet().is_none_or(|(_, rest)| rest > LONGEST_PACKET)
    }

    /// Splits the frame for a wire whose longest IP packet has `mtu` bytes. None if this wire
    /// carries the frame as it is. A tag or a label more than usual makes no difference.
    pub(crate) fn pieces(&self, headers: &Headers, mtu: u32) -> Option<Pieces> {
        const TAGS: u32 = LONGEST_PACKET - 1500;
        const TCP_HEADER: u32 = 20;
        const UDP_HEADER: u32 = 8;
        // The shortest frame with such a packet has no link header.
        if self.original_len <= mtu + TAGS {
            return None;
        }
        let len = self.network_len();
        if len <= mtu + TAGS || headers.ports == Ports::Fragment {
            return None;
        }
        let (packet, _) = self.packet()?;
        let first = *packet.first()?;
        let ip = match first >> 4 {
            4 => u32::from(first & 15) * 4,
            _ => 40,
        };
        let transport = match headers.protocol {
            TCP => packet
                .get(ip as usize + 12)
                .map_or(TCP_HEADER, |offset| u32::from(offset >> 4) * 4)
                .max(TCP_HEADER),
            UDP => UDP_HEADER,
            _ => 0,
        };
        let header = ip + transport;
        let most = mtu.checked_sub(header).filter(|most| *most > 0)?;
        let payload = len.checked_sub(header).filter(|payload| *payload > 0)?;
        let count = payload.div_ceil(most);
        Some(Pieces {
            count,
            full: header + most,
            last: header + payload - (count - 1) * most,
            link_header: self
                .len_on_link()
                .saturating_sub(len)
                .min(LONGEST_LINK_HEADER),
        })
    }

    /// The true length of a frame that a tool cut together with its length. It is the length in the
    /// IP header, if the frame claims to be whole and is shorter.
    #[inline]
    pub(crate) fn uncut_len(&self) -> Option<u32> {
        if self.bytes.len() != self.original_len as usize {
            return None;
        }
        let (packet, rest) = self.packet()?;
        let len = ip_len(packet).filter(|len| *len > rest)?;
        self.original_len.checked_add(len - rest)
    }

    /// The packet's bytes after the link headers, and how long the rest of the frame is.
    fn packet(&self) -> Option<(&[u8], u32)> {
        let packet = network_layer(self.link, self.bytes).ok()?;
        let before = u32::try_from(self.bytes.len() - packet.len()).unwrap_or(u32::MAX);
        Some((packet, self.original_len.saturating_sub(before)))
    }

    /// Whether the frame is a TCP segment without data and SYN: an acknowledgement or the end of a
    /// connection. Losing one delays nobody. If the capture ends before the flags the length
    /// decides, and up to 60 bytes of TCP count as a header (RFC 9293, section 3.1).
    pub(crate) fn is_bare_acknowledgement(&self) -> bool {
        const LONGEST_HEADER: usize = 60;
        const SYN: u8 = 0b10;
        if self.original_len > LONGEST_ACKNOWLEDGEMENT {
            return false;
        }
        let Ok(packet) = network_layer(self.link, self.bytes) else {
            return false;
        };
        let Ok((ip, _)) = LaxIpSlice::from_slice(packet) else {
            return false;
        };
        let payload = ip.payload();
        let Some(len) =
            ip_len(packet).filter(|_| !payload.fragmented && datagram_protocol(&ip) == TCP)
        else {
            return false;
        };
        let before = payload.payload.as_ptr() as usize - packet.as_ptr() as usize;
        let segment = (len as usize).saturating_sub(before);
        match payload.payload {
            [_, _, _, _, _, _, _, _, _, _, _, _, offset, flags, ..] => {
                segment <= usize::from(offset >> 4) * 4 && flags & SYN == 0
            }
            _ => segment <= LONGEST_HEADER,
        }
    }

    /// The identification in an IPv4 header. None if the sender leaves it 0.
    pub(crate) fn identification(&self) -> Option<u16> {
        let (packet, _) = self.packet()?;
        if packet.first()? >> 4 != 4 {
            return None;
        }
        be16(packet, 4).ok().filter(|number| *number != 0)
    }

    /// The packet's TCP header, if it was captured at least up to the flags.
    pub(crate) fn tcp_segment(&self) -> Option<TcpSegment> {
        let packet = network_layer(self.link, self.bytes).ok()?;
        let (ip, _) = LaxIpSlice::from_slice(packet).ok()?;
        let payload = ip.payload();
        if payload.fragmented || datagram_protocol(&ip) != TCP {
            return None;
        }
        let header = payload.payload;
        let before = header.as_ptr() as usize - packet.as_ptr() as usize;
        let flags = byte(header, 13).ok()?;
        let header_len = u32::from(byte(header, 12).ok()? >> 4) * 4;
        let number = |at| Some(u32::from_be_bytes(*header.get(at..)?.first_chunk()?));
        let is_syn = flags & 2 != 0;
        // With segmentation offload, the header may lack the length.
        let len = ip_len(packet).unwrap_or_else(|| self.network_len());
        Some(TcpSegment {
            sequence: number(4)?,
            acknowledgement: number(8)?,
            len: len.saturating_sub(before as u32).saturating_sub(header_len),
            is_fin: flags & 1 != 0,
            is_syn,
            is_reset: flags & 4 != 0,
            is_ack: flags & 16 != 0,
            timestamps: timestamps(header, header_len as usize),
            window: be16(header, 14).unwrap_or(0),
            window_scale: if is_syn {
                window_scale(header, header_len as usize)
            } else {
                None
            },
        })
    }

    /// How long the network layer is, in bytes: the IP packet inside the frame, without VLAN tags,
    /// PPPoE and MPLS labels, and without a short Ethernet frame's padding. If an 802.11 frame has
    /// several packets, all counts that follows the first one's headers. Other packets (ARP) count
    /// as the frame without its first link header.
    pub fn network_len(&self) -> u32 {
        let Some((packet, rest)) = self.packet() else {
            return self.len_on_link().saturating_sub(link_header(self.link));
        };
        let is_wireless = matches!(
            self.link,
            LinkType::IEEE802_11
                | LinkType::RADIOTAP
                | LinkType::PRISM
                | LinkType::AVS
                | LinkType::PPI
        );
        ip_len(packet)
            .filter(|len| *len < rest && !is_wireless)
            .unwrap_or(rest)
    }
}

/// The timestamps in a TCP header of this length, if they were captured.
fn timestamps(header: &[u8], len: usize) -> Option<[u32; 2]> {
    const TIMESTAMPS: u8 = 8;
    match *option(header, len, TIMESTAMPS)? {
        [_, _, a, b, c, d, e, f, g, h] => Some([
            u32::from_be_bytes([a, b, c, d]),
            u32::from_be_bytes([e, f, g, h]),
        ]),
        _ => None,
    }
}

/// A SYN's option on how to shift windows.
fn window_scale(header: &[u8], len: usize) -> Option<u8> {
    const WINDOW_SCALE: u8 = 3;
    match *option(header, len, WINDOW_SCALE)? {
        [_, _, shift] => Some(shift),
        _ => None,
    }
}

/// The option with this kind in a TCP header of this length, with its kind and length.
fn option(header: &[u8], len: usize, wanted: u8) -> Option<&[u8]> {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    let mut options = header.get(20..len.min(header.len()))?;
    loop {
        let (&kind, rest) = options.split_first()?;
        if kind == NOTHING {
            options = rest;
            continue;
        }
        let len = usize::from(*rest.first()?);
        if kind == END || len < 2 {
            return None;
        }
        if kind == wanted {
            return options.get(..len);
        }
        options = options.get(len..)?;
    }
}

/// What a packet longer than the link's is split into, as the sender's network card would do it.
/// Each piece has the headers again, and all but the last are full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pieces {
    /// How many there are.
    pub(crate) count: u32,
    /// Bytes in a full IP packet.
    pub(crate) full: u32,
    /// Bytes in the last one.
    pub(crate) last: u32,
    /// Bytes in the link header before each.
    pub(crate) link_header: u32,
}

impl Pieces {
    /// Bytes in all of them, with link headers.
    pub(crate) const fn bytes(&self) -> u64 {
        let full = (self.count as u64 - 1) * self.full as u64;
        full + self.last as u64 + self.count as u64 * self.link_header as u64
    }
}

/// The length in an IP header, if it was captured and offloading has not left it 0.
fn ip_len(packet: &[u8]) -> Option<u32> {
    let field = |at| be16(packet, at).ok().map(u32::from);
    match byte(packet, 0).ok()? >> 4 {
        4 => field(2).filter(|len| *len >= 20),
        6 => field(4).filter(|len| *len > 0).map(|len| len + 40),
        _ => None,
    }
}

/// Bytes in the link header before a packet that is not IP.
const fn link_header(link: LinkType) -> u32 {
    match link {
        LinkType::ETHERNET => 14,
        LinkType::LINUX_SLL => 16,
        LinkType::LINUX_SLL2 => 20,
        LinkType::CISCO_HDLC | LinkType::NULL | LinkType::LOOP => 4,
        _ => 0,
    }
}

/// Follows EtherTypes through VLAN tags, PPPoE and MPLS labels.
#[inline]
fn ether_type(mut kind: u16, mut bytes: &[u8]) -> Result<&[u8], Unparsable> {
    loop {
        match kind {
            0x0800 | 0x86dd => return Ok(bytes),
            // 802.1Q, 802.1ad, and two numbers used before 802.1ad.
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
                (kind, bytes) = (be16(bytes, 2)?, after(bytes, 4)?)
            }
            0x8864 => return ppp(after(bytes, 6)?),
            0x8847 | 0x8848 => return mpls(bytes),
            _ => return Err(Unparsable::NotIp),
        }
    }
}

/// PPP with or without the address and control fields of HDLC (RFC 1662).
fn framed_ppp(bytes: &[u8]) -> Result<&[u8], Unparsable> {
    ppp(bytes.strip_prefix(&[0xff, 0x03]).unwrap_or(bytes))
}

/// The IP packet after PPP's protocol field (RFC 1661, section 2; RFC 1332; RFC 5072), or after
/// MPLS labels (RFC 3032, section 4).
fn ppp(bytes: &[u8]) -> Result<&[u8], Unparsable> {
    match be16(bytes, 0)? {
        0x0021 | 0x0057 => after(bytes, 2),
        0x0281 | 0x0283 => mpls(after(bytes, 2)?),
        _ => Err(Unparsable::NotIp),
    }
}

/// The packet below an MPLS label stack (RFC 3032). Because no field names its type, we recognise
/// an IP packet by its version.
fn mpls(mut bytes: &[u8]) -> Result<&[u8], Unparsable> {
    const BOTTOM_OF_STACK: u8 = 1;
    while byte(bytes, 2)? & BOTTOM_OF_STACK == 0 {
        bytes = after(bytes, 4)?;
    }
    let packet = after(bytes, 4)?;
    match byte(packet, 0)? >> 4 {
        4 | 6 => Ok(packet),
        _ => Err(Unparsable::NotIp),
    }
}

/// The packet after the address family, in either byte order. IPv4 is 2 everywhere, but IPv6 has a
/// different number on each system.
fn loopback(bytes: &[u8]) -> Result<&[u8], Unparsable> {
    let family = *bytes.first_chunk::<4>().ok_or(Unparsable::Truncated)?;
    match u32::from_le_bytes(family).min(u32::from_be_bytes(family)) {
        2 | 10 | 23 | 24 | 28 | 30 => after(bytes, 4),
        _ => Err(Unparsable::NotIp),
    }
}

fn byte(bytes: &[u8], at: usize) -> Result<u8, Unparsable> {
    bytes.get(at).copied().ok_or(Unparsable::Truncated)
}

#[inline]
fn be16(bytes: &[u8], at: usize) -> Result<u16, Unparsable> {
    match bytes.get(at..at + 2) {
        Some(&[high, low]) => Ok(u16::from_be_bytes([high, low])),
        _ => Err(Unparsable::Truncated),
    }
}

#[inline]
fn after(bytes: &[u8], at: usize) -> Result<&[u8], Unparsable> {
    bytes.get(at..).ok_or(Unparsable::Truncated)
}

/// Whether an address belongs to a group: multicast or broadcast.
pub(crate) fn is_of_group(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_multicast() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_multicast(),
    }
}

const IP_IN_IP: u8 = 4;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const DCCP: u8 = 33;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

/// Named protocols above IP (IANA, "Assigned Internet Protocol Numbers").
const PROTOCOLS: &[(u8, &str)] = &[
    (1, "icmp"),
    (2, "igmp"),
    (IP_IN_IP, "ipip"),
    (TCP, "tcp"),
    (UDP, "udp"),
    (DCCP, "dccp"),
    (41, "ip6ip"),
    (46, "rsvp"),
    (47, "gre"),
    (50, "esp"),
    (51, "ah"),
    (58, "icmp6"),
    (88, "eigrp"),
    (89, "ospf"),
    (103, "pim"),
    (112, "vrrp"),
    (SCTP, "sctp"),
    (UDP_LITE, "udplite"),
];

/// A protocol number's name in lower case, if it is listed.
pub fn protocol_name(number: u8) -> Option<&'static str> {
    PROTOCOLS
        .iter()
        .find(|(known, _)| *known == number)
        .map(|(_, name)| *name)
}

/// The number of the protocol with this name, in any case.
pub fn protocol_number(name: &str) -> Option<u8> {
    PROTOCOLS
        .iter()
        .find(|(_, known)| known.eq_ignore_ascii_case(name))
        .map(|(number, _)| *number)
}

/// Named code points (RFC 2474, 2597, 3246, 5865, 8622).
const CODE_POINTS: &[(u8, &str)] = &[
    (0, "CS0"),
    (1, "LE"),
    (8, "CS1"),
    (10, "AF11"),
    (12, "AF12"),
    (14, "AF13"),
    (16, "CS2"),
    (18, "AF21"),
    (20, "AF22"),
    (22, "AF23"),
    (24, "CS3"),
    (26, "AF31"),
    (28, "AF32"),
    (30, "AF33"),
    (32, "CS4"),
    (34, "AF41"),
    (36, "AF42"),
    (38, "AF43"),
    (40, "CS5"),
    (44, "VA"),
    (46, "EF"),
    (48, "CS6"),
    (56, "CS7"),
];

/// A Differentiated Services code point's name in capitals, if it has one.
pub fn dscp_name(dscp: u8) -> Option<&'static str> {
    CODE_POINTS
        .iter()
        .find(|(known, _)| *known == dscp)
        .map(|(_, name)| *name)
}

/// The code point with this name, in any case. `be` and `df` mean best effort.
pub fn dscp_number(name: &str) -> Option<u8> {
    if name.eq_ignore_ascii_case("be") || name.eq_ignore_ascii_case("df") {
        return Some(0);
    }
    CODE_POINTS
        .iter()
        .find(|(_, known)| known.eq_ignore_ascii_case(name))
        .map(|(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Tap;

    /// A TCP header of this many bytes, with these flags.
    fn tcp(len: usize, flags: u8) -> Vec<u8> {
        let mut header = vec![0; len];
        (header[12], header[13]) = ((len / 4) as u8 * 16, flags);
        header
    }

    /// An Ethernet frame with this IPv4 payload and fragment field.
    fn of_ipv4(payload: &[u8], fragment: u16) -> Vec<u8> {
        let length = (20 + payload.len() as u16).to_be_bytes();
        let ip = [
            &[
                0x45,
                0,
                length[0],
                length[1],
                0,
                1,
                (fragment >> 8) as u8,
                fragment as u8,
                64,
                TCP,
                0,
                0,
            ][..],
            &[10; 8],
        ]
        .concat();
        [&[2; 12][..], &[8, 0], &ip, payload].concat()
    }

    /// An Ethernet frame with this IPv6 payload, which begins with the header of this number.
    fn of_ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u16).to_be_bytes();
        [
            &[2; 12][..],
            &[0x86, 0xdd],
            &[0x60, 0, 0, 0, length[0], length[1], next, 64],
            &[1; 32],
            payload,
        ]
        .concat()
    }

    /// Whether the frame acknowledges, of which `captured` bytes are captured.
    fn acknowledges(frame: &[u8], captured: usize) -> bool {
        let bytes = &frame[..captured.min(frame.len())];
        Frame {
            time_nanos: 0,
            original_len: frame.len() as u32,
            link: LinkType::ETHERNET,
            bytes,
            tap: Tap::default(),
        }
        .is_bare_acknowledgement()
    }

    #[test]
    fn a_segment_without_data_acknowledges() {
        let of_hop_by_hop = [&[TCP, 0, 0, 0, 0, 0, 0, 0][..], &tcp(32, 0x10)].concat();
        let padded = [of_ipv4(&tcp(20, 0x10), 0), vec![0; 6]].concat();
        for (frame, what) in [
            (of_ipv4(&tcp(20, 0x10), 0), "IPv4"),
            (
                of_ipv4(&tcp(44, 0x10), 0),
                "timestamps and a selective acknowledgement",
            ),
            (padded, "the shortest Ethernet frame"),
            (of_ipv4(&tcp(20, 0x04), 0), "RST"),
            (of_ipv6(TCP, &tcp(32, 0x10)), "IPv6"),
            (of_ipv6(0, &of_hop_by_hop), "IPv6 with an extension header"),
        ] {
            assert!(
                acknowledges(&frame, 1514) && acknowledges(&frame, 64),
                "{what}"
            );
        }
    }

    #[test]
    fn other_segments_do_not() {
        let with_data = |len: usize| [tcp(20, 0x10), vec![0; len]].concat();
        let unset = {
            let mut frame = of_ipv4(&with_data(40), 0);
            (frame[16], frame[17]) = (0, 0);
            frame
        };
        for (frame, what) in [
            (of_ipv4(&with_data(1), 0), "a byte of data"),
            (of_ipv6(TCP, &with_data(1)), "a byte of data over IPv6"),
            (of_ipv4(&tcp(40, 0x02), 0), "SYN"),
            (of_ipv4(&tcp(40, 0x12), 0), "SYN and ACK"),
            (of_ipv4(&tcp(20, 0x10), 0x2000), "a fragment"),
            (unset, "a length that offloading leaves unset"),
        ] {
            assert!(!acknowledges(&frame, 1514), "{what}");
        }
        assert!(
            !acknowledges(&of_ipv6(TCP, &with_data(60)), 60),
            "cut before the flags, and longer than a header"
        );
    }
}
