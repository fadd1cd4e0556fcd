//! Flow classifier: maps packet headers to flow numbers, in order of first appearance.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use roundelay::{Fault, FlowId};
use thiserror::Error;

use crate::capture::Frame;
use crate::headers::{
    Headers, Ports, Unparsable, UnparsableCounts, dscp_name, innermost, protocol_name,
};

/// Which header fields make a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FlowBy {
    /// Same addresses, protocol and ports. As on a link, the two directions of a connection are two
    /// flows. Two rules are those of Linux's flow dissector: in GRE, IP in IP and 6in4 the packet
    /// inside counts, and ESP's Security Parameters Index counts as its ports.
    #[default]
    FiveTuple,
    /// The same, but the packet inside also counts in VXLAN, Geneve and GTP-U.
    Inner,
    /// Same addresses, protocol and ports, always of the outer packet.
    Outer,
    /// Same source address.
    Source,
    /// Same destination address.
    Destination,
    /// Same Differentiated Services code point.
    Dscp,
}

impl FlowBy {
    /// Whether addresses, protocol and ports tell flows apart.
    pub const fn is_five_tuple(self) -> bool {
        matches!(self, Self::FiveTuple | Self::Inner | Self::Outer)
    }
}

/// Which packets a flow number stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Packets whose headers are equal under [`FlowBy`].
    Headers {
        /// The fields that are equal.
        by: FlowBy,
        /// The headers of the flow's first packet.
        first: Headers,
    },
    /// All packets that are not IP.
    NotIp,
    /// All other packets with unreadable headers: truncated, malformed, or from an unknown link
    /// type.
    Unparsable,
    /// The packets of all flows that came when the table was full.
    Others,
}

/// Gives flows their numbers, from 0 on in order of first appearance, so that equal input gives
/// equal numbers.
///
/// The hash table has a new random key in each process (SipHash), so that nobody can craft headers
/// which collide. Memory is bounded: see [`Classifier::with_max_flows`].
#[derive(Debug, Clone)]
pub struct Classifier {
    by: FlowBy,
    max_flows: usize,
    numbers: HashMap<Key, FlowId>,
    flows: Vec<Flow>,
    /// Keys and flows of recent packets, each where [`Key::slot`] puts it. Most packets find their
    /// flow here without a keyed hash. If somebody crafts keys for one slot, they only miss.
    recent: Vec<Option<(Key, FlowId)>>,
    not_ip: Option<FlowId>,
    unparsable: Option<FlowId>,
    others: Option<FlowId>,
    counts: UnparsableCounts,
}

/// How many keys of recent packets fit, a power of two.
const RECENT: usize = 256;

/// The header fields that tell flows apart, as three integers, because hashing addresses takes
/// almost twice the instructions. Unused fields are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    source: u128,
    destination: u128,
    /// Source port, destination port, IP version, protocol or code point: 16, 16, 8 and 8 bits.
    rest: u64,
}

impl Classifier {
    /// The default limit on distinct flows. A comparison sets its own, by how much memory its
    /// disciplines take.
    pub const DEFAULT_MAX_FLOWS: usize = 65_536;

    /// A classifier for up to [`Classifier::DEFAULT_MAX_FLOWS`] flows.
    pub fn new(by: FlowBy) -> Self {
        Self::with_max_flows(by, Self::DEFAULT_MAX_FLOWS)
    }

    /// A classifier for up to `max_flows` flows. All further flows share one number
    /// ([`Flow::Others`]). A flow takes a few hundred bytes.
    pub fn with_max_flows(by: FlowBy, max_flows: usize) -> Self {
        Self {
            by,
            // Leaves three numbers for the special flows, and the last one unused.
            max_flows: max_flows.min(u32::MAX as usize - 4),
            numbers: HashMap::new(),
            flows: Vec::new(),
            recent: vec![None; RECENT],
            not_ip: None,
            unparsable: None,
            others: None,
            counts: UnparsableCounts::default(),
        }
    }

    /// The flow of a packet, from the result of [`parse`](crate::parse).
    #[inline]
    pub fn classify(&mut self, headers: Result<&Headers, Unparsable>) -> FlowId {
        match headers {
            Ok(headers) => {
                // If the packet was cut before the ports, its addresses alone make the flow.
                if self.by.is_five_tuple() && headers.ports == Ports::Missing {
                    self.counts.count(Unparsable::NoPorts);
                }
                self.look_up(headers)
            }
            Err(reason) => self.special(reason),
        }
    }

    /// What makes a flow here.
    pub const fn by(&self) -> FlowBy {
        self.by
    }

    /// The flows. The index is their number.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The headers of a flow's first packet, for weight rules. `None` for a special or unknown
    /// flow.
    pub fn headers(&self, flow: FlowId) -> Option<&Headers> {
        self.flows.get(flow.index())?.headers()
    }

    /// The flow that stands for all flows beyond the maximum number, if there is one.
    pub const fn others(&self) -> Option<FlowId> {
        self.others
    }

    /// The most distinct flows.
    pub const fn max_flows(&self) -> usize {
        self.max_flows
    }

    /// How many packets had unreadable headers, by reason.
    pub fn unparsable(&self) -> UnparsableCounts {
        self.counts
    }

    #[inline]
    fn look_up(&mut self, headers: &Headers) -> FlowId {
        let key = Key::new(self.by, headers);
        let slot = key.slot();
        if let Some((known, flow)) = self.recent[slot]
            && known == key
        {
            return flow;
        }
        let flow = self.number(key, headers);
        self.recent[slot] = Some((key, flow));
        flow
    }

    fn number(&mut self, key: Key, headers: &Headers) -> FlowId {
        let full = self.numbers.len() >= self.max_flows;
        match self.numbers.entry(key) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(_) if full => lazily(&mut self.others, &mut self.flows, Flow::Others),
            Entry::Vacant(entry) => *entry.insert(add(
                &mut self.flows,
                Flow::Headers {
                    by: self.by,
                    first: *headers,
                },
            )),
        }
    }

    /// The flow of a packet without usable headers.
    #[cold]
    fn special(&mut self, reason: Unparsable) -> FlowId {
        self.counts.count(reason);
        match reason {
            Unparsable::NotIp => lazily(&mut self.not_ip, &mut self.flows, Flow::NotIp),
            _ => lazily(&mut self.unparsable, &mut self.flows, Flow::Unparsable),
        }
    }
}

/// Gives a flow the next number.
fn add(flows: &mut Vec<Flow>, flow: Flow) -> FlowId {
    let number = u32::try_from(flows.len()).expect("max_flows leaves room for the special flows");
    flows.push(flow);
    FlowId(number)
}

/// A special flow's number, assigned when it is first used.
fn lazily(number: &mut Option<FlowId>, flows: &mut Vec<Flow>, flow: Flow) -> FlowId {
    *number.get_or_insert_with(|| add(flows, flow))
}

impl Key {
    #[inline]
    fn new(by: FlowBy, headers: &Headers) -> Self {
        let version = if headers.source.is_ipv4() {
            4 << 8
        } else {
            6 << 8
        };
        let ports =
            u64::from(headers.source_port) << 32 | u64::from(headers.destination_port) << 16;
        let source = bits(headers.source);
        let destination = bits(headers.destination);
        match by {
            FlowBy::FiveTuple | FlowBy::Inner | FlowBy::Outer => Self {
                source,
                destination,
                rest: ports | version | u64::from(headers.protocol),
            },
            FlowBy::Source => Self {
                source,
                destination: 0,
                rest: version,
            },
            FlowBy::Destination => Self {
                source: 0,
                destination,
                rest: version,
            },
            FlowBy::Dscp => Self {
                source: 0,
                destination: 0,
                rest: u64::from(headers.dscp),
            },
        }
    }
}

/// In fewer pieces than a derived hash: IPv4 addresses are two numbers.
impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.rest);
        match (u32::try_from(self.source), u32::try_from(self.destination)) {
            (Ok(source), Ok(destination)) => {
                hasher.write_u64(u64::from(source) << 32 | u64::from(destination));
            }
            _ => {
                hasher.write_u128(self.source);
                hasher.write_u128(self.destination);
            }
        }
    }
}

impl Key {
    /// The slot among recent keys: the upper bits of a product (Knuth, The Art of Computer
    /// Programming 3, section 6.4, multiplicative hashing).
    #[inline]
    fn slot(&self) -> usize {
        let addresses = self.source.rotate_left(1) ^ self.destination;
        let folded = (addresses >> 64) as u64 ^ addresses as u64 ^ self.rest.rotate_left(32);
        let product = folded.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (product >> (u64::BITS - RECENT.ilog2())) as usize
    }
}

/// The address as an integer. The key has the IP version in another field.
#[inline]
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl Flow {
    /// The headers of the flow's first packet, or `None` for special flows.
    pub fn headers(&self) -> Option<&Headers> {
        match self {
            Self::Headers { first, .. } => Some(first),
            Self::NotIp | Self::Unparsable | Self::Others => None,
        }
    }
}

/// `tcp 10.0.0.1:443 > 10.0.0.2:51000`, `icmp 10.0.0.1 > 10.0.0.2`, `src 10.0.0.1`, `dscp 46 (EF)`,
/// `not IP`.
impl fmt::Display for Flow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Headers {
                by: FlowBy::FiveTuple | FlowBy::Inner | FlowBy::Outer,
                first,
            } => write_five_tuple(formatter, first),
            Self::Headers {
                by: FlowBy::Source,
                first,
            } => write!(formatter, "src {}", first.source),
            Self::Headers {
                by: FlowBy::Destination,
                first,
            } => write!(formatter, "dst {}", first.destination),
            Self::Headers {
                by: FlowBy::Dscp,
                first,
            } => write_code_point(formatter, first.dscp),
            Self::NotIp => formatter.write_str("not IP"),
            Self::Unparsable => formatter.write_str("unparsable"),
            Self::Others => formatter.write_str("other flows"),
        }
    }
}

fn write_five_tuple(formatter: &mut fmt::Formatter<'_>, headers: &Headers) -> fmt::Result {
    match protocol_name(headers.protocol) {
        Some(name) => formatter.write_str(name)?,
        None => write!(formatter, "proto {}", headers.protocol)?,
    }
    let &Headers {
        source,
        destination,
        source_port,
        destination_port,
        ports,
        ..
    } = headers;
    formatter.write_str(" ")?;
    match ports {
        Ports::Present => {
            write_end(formatter, source, source_port)?;
            formatter.write_str(" > ")?;
            write_end(formatter, destination, destination_port)
        }
        Ports::Spi => {
            let index = u32::from(source_port) << 16 | u32::from(destination_port);
            write!(formatter, "{source} > {destination} SPI {index:#x}")
        }
        Ports::Fragment => write!(formatter, "{source} > {destination} fragments"),
        Ports::None | Ports::Missing => write!(formatter, "{source} > {destination}"),
    }
}

/// Writes `10.0.0.1:443` as `SocketAddr` does. IPv4 is written digit by digit because a capture may
/// have a million flows: one with a single packet takes 28,810 instructions, and 30,650 with the
/// formatter.
fn write_end(formatter: &mut fmt::Formatter<'_>, address: IpAddr, port: u16) -> fmt::Result {
    let IpAddr::V4(address) = address else {
        return write!(formatter, "{}", SocketAddr::new(address, port));
    };
    let mut text = String::with_capacity("255.255.255.255:65535".len());
    let [first, rest @ ..] = address.octets();
    push_number(&mut text, first.into());
    for octet in rest {
        text.push('.');
        push_number(&mut text, octet.into());
    }
    text.push(':');
    push_number(&mut text, port);
    formatter.write_str(&text)
}

/// Adds a number in decimal digits.
fn push_number(text: &mut String, number: u16) {
    for power in [10_000, 1_000, 100, 10, 1] {
        if number >= power || power == 1 {
            let digit = (number / power % 10) as u8;
            text.push(char::from(b'0' + digit));
        }
    }
}

fn write_code_point(formatter: &mut fmt::Formatter<'_>, dscp: u8) -> fmt::Result {
    match dscp_name(dscp) {
        Some(name) => write!(formatter, "dscp {dscp} ({name})"),
        None => write!(formatter, "dscp {dscp}"),
    }
}

/// The headers that tell a packet's flow: its own, or those of the packet inside.
#[inline]
pub(crate) fn flow_headers(by: FlowBy, headers: &Headers, frame: &Frame<'_>) -> Headers {
    match by {
        FlowBy::FiveTuple => innermost(headers, frame, false),
        FlowBy::Inner => innermost(headers, frame, true),
        FlowBy::Outer | FlowBy::Source | FlowBy::Destination | FlowBy::Dscp => *headers,
    }
}

impl FlowBy {
    /// The words that [`FlowBy::from_str`] reads.
    pub const NAMES: &str = "5tuple, inner, outer, src, dst or dscp";
}

/// An unknown definition of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("flows by `{found}`: expected {}", FlowBy::NAMES)]
pub struct FlowByError {
    /// The word found.
    pub found: String,
}

impl From<FlowByError> for Fault {
    fn from(error: FlowByError) -> Self {
        Self::new(error.to_string())
            .with_given(error.found)
            .with_legal(FlowBy::NAMES)
    }
}

impl FromStr for FlowBy {
    type Err = FlowByError;

    fn from_str(text: &str) -> Result<Self, FlowByError> {
        match text {
            "5tuple" => Ok(Self::FiveTuple),
            "inner" => Ok(Self::Inner),
            "outer" => Ok(Self::Outer),
            "src" => Ok(Self::Source),
            "dst" => Ok(Self::Destination),
            "dscp" => Ok(Self::Dscp),
            _ => Err(FlowByError {
                found: text.to_owned(),
            }),
        }
    }
}

/// Writes the word that [`FlowBy::from_str`] reads.
impl fmt::Display for FlowBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::FiveTuple => "5tuple",
            Self::Inner => "inner",
            Self::Outer => "outer",
            Self::Source => "src",
            Self::Destination => "dst",
            Self::Dscp => "dscp",
        })
    }
}

#[cfg(test)]
mod tests {
    use roundelay::Ecn;

    use super::*;

    fn headers(source_port: u16) -> Headers {
        let address = IpAddr::from([10, 0, 0, 1]);
        Headers {
            source: address,
            destination: address,
            protocol: 17,
            source_port,
            destination_port: 53,
            ports: Ports::Present,
            dscp: 0,
            ecn: Ecn::NotCapable,
        }
    }

    #[test]
    fn ends_are_written_as_of_sockets() {
        let mut ends = vec!["[fe80::1]:443".parse::<SocketAddr>().unwrap()];
        for port in [0, 9, 10, 443, 9_999, 10_000, 65_535] {
            for octets in [[0, 0, 0, 0], [10, 0, 99, 1], [255, 100, 200, 9]] {
                ends.push(SocketAddr::from((octets, port)));
            }
        }
        for end in ends {
            let first = Headers {
                source: end.ip(),
                source_port: end.port(),
                ..headers(0)
            };
            let by = FlowBy::FiveTuple;
            let text = Flow::Headers { by, first }.to_string();
            assert_eq!(text, format!("udp {end} > 10.0.0.1:53"));
        }
    }

    /// Four times as many flows as slots for recent ones: each slot is taken by several.
    #[test]
    fn flows_that_share_a_slot_are_told_apart() {
        let mut classifier = Classifier::new(FlowBy::FiveTuple);
        let ports = 0..4 * RECENT as u16;
        let mut by_slot = vec![Vec::new(); RECENT];
        for port in ports.clone() {
            assert_eq!(classifier.classify(Ok(&headers(port))), FlowId(port.into()));
            by_slot[Key::new(FlowBy::FiveTuple, &headers(port)).slot()].push(port);
        }
        let shared = by_slot.iter().filter(|ports| ports.len() > 1);
        assert!(shared.count() > RECENT / 2, "{by_slot:?}");
        // Those of one slot push each other out.
        for _ in 0..2 {
            for port in by_slot.iter().flatten() {
                let flow = classifier.classify(Ok(&headers(*port)));
                assert_eq!(flow, FlowId((*port).into()));
            }
        }
        assert_eq!(classifier.flows().len(), 4 * RECENT);
    }
}
