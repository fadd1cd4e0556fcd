//! Conditions on packet headers, in the syntax of pcap-filter's primitives, such as `dst port 443`.
//!
//! Weight rules join conditions with `and` ([`WeightRule`](crate::WeightRule)). Filters also know
//! `or`, `not` and parentheses ([`Filter`](crate::Filter)).

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use crate::error::RuleError;
use crate::headers::{Headers, Ports, TCP, dscp_number, protocol_number};

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The protocol above IP (IANA number).
    Protocol(u8),
    /// The Differentiated Services code point.
    CodePoint(u8),
    /// A port within this range, at this end or at either.
    Port(Side, RangeInclusive<u16>),
    /// An address in this network, at this end or at either.
    Network(Side, Network),
    /// A short acknowledgement: a TCP segment without data, with no flag but ACK, whose IP packet is
    /// shorter than this many bytes.
    Acknowledgement(u32),
}

/// An end of a packet's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Where the packet comes from.
    Source,
    /// Where the packet goes to.
    Destination,
    /// One or the other.
    Either,
}

/// All addresses whose first `prefix` bits are those of `address`. The other bits of `address` are
/// 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Condition {
    /// Whether a packet with these headers meets the condition. `is_short` says that it is a short
    /// acknowledgement.
    pub(crate) fn matches(&self, headers: &Headers, is_short: bool) -> bool {
        match self {
            Self::Acknowledgement(_) => is_short && headers.protocol == TCP,
            Self::Protocol(protocol) => headers.protocol == *protocol,
            Self::CodePoint(dscp) => headers.dscp == *dscp,
            Self::Port(..) if headers.ports != Ports::Present => false,
            Self::Port(side, ports) => {
                side.any(headers.source_port, headers.destination_port, |port| {
                    ports.contains(&port)
                })
            }
            Self::Network(side, network) => {
                side.any(headers.source, headers.destination, |address| {
                    network.contains(address)
                })
            }
        }
    }
}

impl Side {
    fn any<T>(self, source: T, destination: T, test: impl Fn(T) -> bool) -> bool {
        match self {
            Self::Source => test(source),
            Self::Destination => test(destination),
            Self::Either => test(source) || test(destination),
        }
    }
}

impl Network {
    /// The network with this prefix length around an address.
    pub(crate) fn around(address: IpAddr, prefix: u8) -> Self {
        Self {
            address: truncate(address, prefix),
            prefix,
        }
    }

    /// Reads an address, or a network if a prefix length follows. The error is the expected text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address
            .parse()
            .map_err(|_| "an address such as 10.0.0.1, 10.0.0.0/8 or 2001:db8::1".to_owned())?;
        let longest = longest_prefix(address);
        let prefix = match prefix.map(str::parse::<u8>) {
            None => longest,
            Some(Ok(prefix)) if prefix <= longest => prefix,
            Some(_) => return Err(format!("a prefix length from 0 to {longest}")),
        };
        let network = Self {
            address: truncate(address, prefix),
            prefix,
        };
        if network.address == address {
            Ok(network)
        } else {
            Err(format!("{network} (no bits set after the prefix)"))
        }
    }

    /// Writes a network of one address as this address alone.
    pub(crate) fn short(self) -> String {
        if self.prefix == longest_prefix(self.address) {
            self.address.to_string()
        } else {
            self.to_string()
        }
    }

    /// Whether the addresses are IPv4 rather than IPv6.
    pub const fn is_ipv4(self) -> bool {
        self.address.is_ipv4()
    }

    pub(crate) fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && truncate(address, self.prefix) == self.address
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix)
    }
}

fn longest_prefix(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address with 0 for all bits after the first `prefix`.
fn truncate(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => IpAddr::V4(
            (address.to_bits() & u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)).into(),
        ),
        IpAddr::V6(address) => IpAddr::V6(
            (address.to_bits() & u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0))
                .into(),
        ),
    }
}

/// The bytes that may follow `ack below`: an acknowledgement has 40 at least.
const SHORT: RangeInclusive<u32> = 41..=256;

/// Reads a rule's conditions. Those of a `tree` may ask for acknowledgements.
pub(crate) fn parse_conditions(text: &str, of_tree: bool) -> Result<Vec<Condition>, RuleError> {
    let mut parser = Parser::new(text);
    parser.is_of_tree = of_tree;
    let conditions = parser.conditions()?;
    parser.end("`and` or the end")?;
    Ok(conditions)
}

/// A parser over a rule's words.
pub(crate) struct Parser<'a> {
    rule: &'a str,
    words: Vec<Word<'a>>,
    /// Whether `or` and `not` are legal.
    is_filter: bool,
    /// Whether `ack` is legal.
    is_of_tree: bool,
    /// Index of the next word.
    at: usize,
}

#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    /// In characters, counted from 1.
    column: usize,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(rule: &'a str) -> Self {
        Self {
            rule,
            words: words(rule),
            is_filter: false,
            is_of_tree: false,
            at: 0,
        }
    }

    pub(crate) fn of_filter(filter: &'a str) -> Self {
        Self {
            is_filter: true,
            ..Self::new(filter)
        }
    }

    /// Reads one condition or more, joined with `and`.
    pub(crate) fn conditions(&mut self) -> Result<Vec<Condition>, RuleError> {
        let mut conditions = self.primitive()?;
        while self.take("and") {
            conditions.extend(self.primitive()?);
        }
        Ok(conditions)
    }

    /// Reads a condition, with those that a bare protocol qualifies. `udp dst port 53` has two.
    pub(crate) fn primitive(&mut self) -> Result<Vec<Condition>, RuleError> {
        let mut conditions = Vec::new();
        while self.condition(&mut conditions)? && self.is_side_or_port() {}
        Ok(conditions)
    }

    /// Reads one condition. Returns true for the bare name of a protocol, which may qualify the
    /// next condition.
    fn condition(&mut self, conditions: &mut Vec<Condition>) -> Result<bool, RuleError> {
        const EXPECTED: &str =
            "src, dst, host, net, port, portrange, proto, dscp or a protocol such as tcp";
        let word = self.next(EXPECTED)?;
        let condition = match word.text {
            "src" => self.of_side(Side::Source)?,
            "dst" => self.of_side(Side::Destination)?,
            "host" | "net" | "port" | "portrange" => {
                self.at -= 1;
                self.of_side(Side::Either)?
            }
            "proto" => self
                .value(
                    "a protocol: 0 to 255, or a name such as tcp, udp, icmp",
                    protocol,
                )
                .map(Condition::Protocol)?,
            "dscp" => self
                .value(
                    "a code point: 0 to 63, or a name such as ef, af41, cs1",
                    code_point,
                )
                .map(Condition::CodePoint)?,
            "ack" if self.is_of_tree => self.short_acknowledgement()?,
            "ack" => {
                let only = "`ack` in the rules of a tree only, and here src, dst, host, net, port, \
                            portrange, proto, dscp or a protocol such as tcp";
                return Err(self.error(word, only));
            }
            name => Condition::Protocol(
                protocol_number(name).ok_or_else(|| self.error(word, EXPECTED))?,
            ),
        };
        conditions.push(condition);
        Ok(protocol_number(word.text).is_some())
    }

    /// Reads the rest of `ack below 64 bytes`.
    fn short_acknowledgement(&mut self) -> Result<Condition, RuleError> {
        self.word("below", "`below`, as in `ack below 64 bytes`")?;
        let expected = format!("a length from {} to {}", SHORT.start(), SHORT.end());
        let below = self.value(&expected, |text| match text.parse() {
            Ok(below) if SHORT.contains(&below) => Some(below),
            _ => None,
        })?;
        self.word("bytes", "`bytes`, as in `ack below 64 bytes`")?;
        Ok(Condition::Acknowledgement(below))
    }

    /// Reads the rest of a condition after `src` or `dst`: a port or an address.
    fn of_side(&mut self, side: Side) -> Result<Condition, RuleError> {
        if self.take("port") {
            return Ok(Condition::Port(
                side,
                self.value("a port: 0 to 65535", |text| {
                    text.parse().ok().map(|port: u16| port..=port)
                })?,
            ));
        }
        if self.take("portrange") {
            return Ok(Condition::Port(
                side,
                self.value("two ports, the lower first, such as 6000-6999", port_range)?,
            ));
        }
        let (named, expected) = if self.take("host") || self.take("net") {
            (true, "an address")
        } else {
            (false, "port, portrange, host, net or an address")
        };
        let word = self.next(expected)?;
        let looks_like_address = named || word.text.contains(['.', ':', '/']);
        match Network::parse(word.text) {
            Ok(network) => Ok(Condition::Network(side, network)),
            Err(wanted) if looks_like_address => Err(self.error(word, &wanted)),
            Err(_) => Err(self.error(word, expected)),
        }
    }

    /// The next word, converted by `read`.
    pub(crate) fn value<T>(
        &mut self,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, RuleError> {
        let word = self.next(expected)?;
        read(word.text).ok_or_else(|| self.error(word, expected))
    }

    fn next(&mut self, expected: &str) -> Result<Word<'a>, RuleError> {
        let Some(word) = self.words.get(self.at).copied() else {
            return Err(self.error_at_end(expected));
        };
        self.at += 1;
        Ok(word)
    }

    /// Skips the next word if it is `text`.
    pub(crate) fn take(&mut self, text: &str) -> bool {
        let next = self.words.get(self.at);
        let found = next.is_some_and(|word| word.text == text);
        self.at += usize::from(found);
        found
    }

    /// Expects this word.
    pub(crate) fn word(&mut self, text: &str, expected: &str) -> Result<(), RuleError> {
        let word = self.next(expected)?;
        if word.text == text {
            Ok(())
        } else {
            Err(self.error(word, expected))
        }
    }

    /// Expects the rule to end.
    pub(crate) fn end(&mut self, expected: &str) -> Result<(), RuleError> {
        match self.words.get(self.at) {
            None => Ok(()),
            Some(word) => Err(self.error(*word, expected)),
        }
    }

    /// The error for a next word, or an end, that is not as expected.
    pub(crate) fn fault(&self, expected: &str) -> RuleError {
        match self.words.get(self.at) {
            Some(word) => self.error(*word, expected),
            None => self.error_at_end(expected),
        }
    }

    fn is_side_or_port(&self) -> bool {
        const SIDES_AND_PORTS: [&str; 6] = ["src", "dst", "host", "net", "port", "portrange"];
        let next = self.words.get(self.at);
        next.is_some_and(|word| SIDES_AND_PORTS.contains(&word.text))
    }

    fn error(&self, word: Word<'_>, expected: &str) -> RuleError {
        let found = match word.text {
            "or" | "not" | "||" | "!" if !self.is_filter => {
                format!(
                    "`{}` (not supported: write one rule for each case, the first that matches decides)",
                    word.text
                )
            }
            text => format!("`{text}`"),
        };
        RuleError {
            rule: self.rule.to_owned(),
            column: word.column,
            found,
            word: Some(word.text.to_owned()),
            expected: expected.to_owned(),
        }
    }

    fn error_at_end(&self, expected: &str) -> RuleError {
        let column = self.rule.chars().count() + 1;
        RuleError {
            rule: self.rule.to_owned(),
            column,
            found: "the end".to_owned(),
            word: None,
            expected: expected.to_owned(),
        }
    }
}

/// Splits a rule at white space and around signs.
fn words(rule: &str) -> Vec<Word<'_>> {
    const SIGNS: [char; 4] = ['=', '(', ')', '!'];
    let ends_word = |letter: char| letter.is_whitespace() || SIGNS.contains(&letter);
    let mut words = Vec::new();
    let mut column = 1;
    for piece in rule.split_inclusive(ends_word) {
        let text = piece.trim_end_matches(ends_word);
        if !text.is_empty() {
            words.push(Word { text, column });
        }
        column += piece.chars().count();
        if piece.ends_with(SIGNS) {
            words.push(Word {
                text: &piece[piece.len() - 1..],
                column: column - 1,
            });
        }
    }
    words
}

fn protocol(text: &str) -> Option<u8> {
    text.parse().ok().or_else(|| protocol_number(text))
}

fn code_point(text: &str) -> Option<u8> {
    match text.parse() {
        Ok(dscp @ 0..=63) => Some(dscp),
        _ => dscp_number(text),
    }
}

fn port_range(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-')?;
    let ports = first.parse().ok()?..=last.parse().ok()?;
    (!ports.is_empty()).then_some(ports)
}
