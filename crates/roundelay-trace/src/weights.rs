//! Weight rules for flows, such as `dst port 443 = 10`.
//!
//! A rule is one or more conditions joined with `and`, then `=` and a weight from 1 to 1024.
//! Conditions have the syntax of pcap-filter's primitives:
//!
//! | condition | matches |
//! |---|---|
//! | `src 10.0.0.0/8`, `dst 2001:db8::1`, `host 10.0.0.1` | packets from, to, or of an address or network; also `src host A`, `src net N` |
//! | `src port 443`, `dst port 443`, `port 443`, `dst portrange 6000-6999` | packets with that port; those without ports match none |
//! | `proto udp`, `proto 17`, `udp` | packets of a protocol; before a port or an address, `and` may be left out: `udp dst port 53` |
//! | `dscp 46`, `dscp ef` | packets of a Differentiated Services code point |
//!
//! The first matching rule decides; without a match, the default weight applies. A file has the
//! same rules as TOML:
//!
//! ```toml
//! default = 1
//!
//! [[weight]]
//! match = "dst port 443"
//! weight = 10
//! priority = 0
//! slack = "20ms"
//! deadline = "50ms"
//! ```
//!
//! The last three keys are for disciplines that use classes, slack or deadlines. A rule sets at
//! least one of the four values; flows of a rule without a weight have the default weight.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

use roundelay::Duration;
use toml::Spanned;

use crate::error::{RuleError, WeightsError};
use crate::file::{Fault, Table, Text, line};
use crate::headers::{Headers, Ports, dscp_number, protocol_number};
use crate::urgency::Urgency;

/// The legal weights.
const WEIGHTS: RangeInclusive<u32> = 1..=1024;

/// Rules in the order of evaluation, and the default weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightRules {
    rules: Vec<WeightRule>,
    default: u32,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightRule {
    conditions: Vec<Condition>,
    weight: Option<u32>,
    urgency: Urgency,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    Protocol(u8),
    CodePoint(u8),
    Port(Side, RangeInclusive<u16>),
    Network(Side, Network),
}

/// The end of a packet's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Source,
    Destination,
    Either,
}

/// All addresses with the same first `prefix` bits as `address`; the other bits of `address` are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    prefix: u8,
}

impl WeightRules {
    /// Reads one rule with conditions and weight: `dst port 443 = 10`.
    pub fn parse_rule(text: &str) -> Result<WeightRule, RuleError> {
        let mut parser = Parser::new(text);
        let conditions = parser.conditions()?;
        parser.word("=", "`and` or `=`")?;
        let weight = parser.weight()?;
        parser.end("the end of the rule")?;
        Ok(WeightRule { conditions, weight: Some(weight), urgency: Urgency::default() })
    }

    /// Reads a file of rules in TOML; `name` appears in messages.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, WeightsError> {
        Self::of_file(text).map_err(|(place, message)| WeightsError { name: name.to_owned(), line: line(text, place.start), message })
    }

    fn of_file(text: &str) -> Result<Self, Fault> {
        let file = Table::of_file(text)?.check_keys(&["default", "weight"])?;
        let mut rules = Self::default();
        if let Some(default) = file.number("default", WEIGHTS)? {
            rules.default = *default.get_ref();
        }
        for entry in file.tables("weight", &["match", "weight", "priority", "slack", "deadline"])? {
            rules.push(WeightRule::of_table(&entry)?);
        }
        Ok(rules)
    }

    /// Adds a rule after all others.
    pub fn push(&mut self, rule: WeightRule) {
        self.rules.push(rule);
    }

    /// Adds a rule before all others.
    pub fn push_first(&mut self, rule: WeightRule) {
        self.rules.insert(0, rule);
    }

    /// The rules, in order of evaluation.
    pub fn rules(&self) -> &[WeightRule] {
        &self.rules
    }

    /// The weight of a flow, 1 to 1024, by the headers of its first packet; `None` is a flow
    /// without headers and has the default weight.
    pub fn weight(&self, headers: Option<&Headers>) -> u32 {
        self.place(headers).and_then(|place| self.rules[place].weight).unwrap_or(self.default)
    }

    /// The weight of flows without a weight rule.
    pub(crate) const fn default_weight(&self) -> u32 {
        self.default
    }

    /// The weight of a code point before its first packet: only rules with no other condition
    /// count.
    pub(crate) fn weight_of_code_point(&self, dscp: u8) -> u32 {
        let of_it = |rule: &&WeightRule| rule.conditions.iter().all(|condition| *condition == Condition::CodePoint(dscp));
        self.rules.iter().find(of_it).and_then(|rule| rule.weight).unwrap_or(self.default)
    }

    /// The index in [`rules`](Self::rules) of the deciding rule.
    pub fn place(&self, headers: Option<&Headers>) -> Option<usize> {
        headers.and_then(|headers| self.rules.iter().position(|rule| rule.matches(headers)))
    }
}

/// No rules: every flow has weight 1.
impl Default for WeightRules {
    fn default() -> Self {
        Self { rules: Vec::new(), default: 1 }
    }
}

impl WeightRule {
    /// Reads conditions without a weight, such as `dst port 443`, for trees.
    pub(crate) fn matching(text: &str) -> Result<Self, RuleError> {
        Ok(Self { conditions: parse_conditions(text)?, weight: None, urgency: Urgency::default() })
    }

    fn of_table(table: &Table<'_>) -> Result<Self, Fault> {
        let pattern = table.required("match", "what the rule matches, as in match = \"dst port 443\"")?;
        let conditions = parse_conditions(pattern.get_ref()).map_err(|error| table.fault(pattern.span(), error))?;
        let weight = table.number("weight", WEIGHTS)?.map(Spanned::into_inner);
        let span = |key: &str| {
            let read = |text: Text| text.get_ref().parse::<Duration>().map_err(|error| table.fault(text.span(), format!("{key}: {error}")));
            table.text(key)?.map(read).transpose()
        };
        let priority = table.number("priority", 0..=u32::MAX)?.map(Spanned::into_inner);
        let (slack, deadline) = (span("slack")?, span("deadline")?);
        if weight.or(priority).is_none() && slack.or(deadline).is_none() {
            let message = "the rule sets nothing: expected weight, priority, slack or deadline beside `match`";
            return Err(table.fault(pattern.span(), message));
        }
        Ok(Self { conditions, weight, urgency: Urgency { priority, slack: slack.unwrap_or(Duration::ZERO), deadline } })
    }

    /// Whether a packet meets all conditions.
    pub fn matches(&self, headers: &Headers) -> bool {
        self.conditions.iter().all(|condition| condition.matches(headers))
    }

    /// Priority, slack and deadline set by the rule.
    pub fn urgency(&self) -> Urgency {
        self.urgency
    }

    /// The rule's weight, 1 to 1024; none: the default weight.
    pub fn weight(&self) -> Option<u32> {
        self.weight
    }
}

impl FromStr for WeightRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        WeightRules::parse_rule(text)
    }
}

impl Condition {
    fn matches(&self, headers: &Headers) -> bool {
        match self {
            Self::Protocol(protocol) => headers.protocol == *protocol,
            Self::CodePoint(dscp) => headers.dscp == *dscp,
            Self::Port(..) if headers.ports != Ports::Present => false,
            Self::Port(side, ports) => side.any(headers.source_port, headers.destination_port, |port| ports.contains(&port)),
            Self::Network(side, network) => side.any(headers.source, headers.destination, |address| network.contains(address)),
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
    /// Parses an address, or a network if a prefix length follows; the error is the expected text.
    fn parse(text: &str) -> Result<Self, String> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| "an address such as 10.0.0.1, 10.0.0.0/8 or 2001:db8::1".to_owned())?;
        let longest = longest_prefix(address);
        let prefix = match prefix.map(str::parse::<u8>) {
            None => longest,
            Some(Ok(prefix)) if prefix <= longest => prefix,
            Some(_) => return Err(format!("a prefix length from 0 to {longest}")),
        };
        let network = Self { address: truncate(address, prefix), prefix };
        if network.address == address { Ok(network) } else { Err(format!("{network} (no bits set after the prefix)")) }
    }

    fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && truncate(address, self.prefix) == self.address
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

/// The address with all bits after the first `prefix` set to 0.
fn truncate(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => IpAddr::V4((address.to_bits() & u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)).into()),
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0)).into()),
    }
}

/// Reads the conditions of a rule.
fn parse_conditions(text: &str) -> Result<Vec<Condition>, RuleError> {
    let mut parser = Parser::new(text);
    let conditions = parser.conditions()?;
    parser.end("`and` or the end")?;
    Ok(conditions)
}

/// Parser over the words of a rule.
struct Parser<'a> {
    rule: &'a str,
    words: Vec<Word<'a>>,
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
    fn new(rule: &'a str) -> Self {
        Self { rule, words: words(rule), at: 0 }
    }

    /// One condition or more, joined with `and`.
    fn conditions(&mut self) -> Result<Vec<Condition>, RuleError> {
        let mut conditions = Vec::new();
        loop {
            let bare_protocol = self.condition(&mut conditions)?;
            let goes_on = self.take("and") || (bare_protocol && self.is_side_or_port());
            if !goes_on {
                return Ok(conditions);
            }
        }
    }

    /// Parses one condition. True for the bare name of a protocol, which may qualify the next
    /// condition.
    fn condition(&mut self, conditions: &mut Vec<Condition>) -> Result<bool, RuleError> {
        const EXPECTED: &str = "src, dst, host, net, port, portrange, proto, dscp or a protocol such as tcp";
        let word = self.next(EXPECTED)?;
        let condition = match word.text {
            "src" => self.of_side(Side::Source)?,
            "dst" => self.of_side(Side::Destination)?,
            "host" | "net" | "port" | "portrange" => {
                self.at -= 1;
                self.of_side(Side::Either)?
            }
            "proto" => self.value("a protocol: 0 to 255, or a name such as tcp, udp, icmp", protocol).map(Condition::Protocol)?,
            "dscp" => self.value("a code point: 0 to 63, or a name such as ef, af41, cs1", code_point).map(Condition::CodePoint)?,
            name => Condition::Protocol(protocol_number(name).ok_or_else(|| self.error(word, EXPECTED))?),
        };
        conditions.push(condition);
        Ok(protocol_number(word.text).is_some())
    }

    /// The rest of a condition after `src` or `dst`: a port or an address.
    fn of_side(&mut self, side: Side) -> Result<Condition, RuleError> {
        if self.take("port") {
            return Ok(Condition::Port(side, self.value("a port: 0 to 65535", |text| text.parse().ok().map(|port: u16| port..=port))?));
        }
        if self.take("portrange") {
            return Ok(Condition::Port(side, self.value("two ports, the lower first, such as 6000-6999", port_range)?));
        }
        let (named, expected) =
            if self.take("host") || self.take("net") { (true, "an address") } else { (false, "port, portrange, host, net or an address") };
        let word = self.next(expected)?;
        let looks_like_address = named || word.text.contains(['.', ':', '/']);
        Network::parse(word.text)
            .map(|network| Condition::Network(side, network))
            .map_err(|wanted| self.error(word, if looks_like_address { &wanted } else { expected }))
    }

    /// The next word, converted by `read`.
    fn value<T>(&mut self, expected: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, RuleError> {
        let word = self.next(expected)?;
        read(word.text).ok_or_else(|| self.error(word, expected))
    }

    fn weight(&mut self) -> Result<u32, RuleError> {
        let expected = format!("a weight from {} to {}", WEIGHTS.start(), WEIGHTS.end());
        self.value(&expected, |text| text.parse().ok().filter(|weight| WEIGHTS.contains(weight)))
    }

    fn next(&mut self, expected: &str) -> Result<Word<'a>, RuleError> {
        let word = self.words.get(self.at).copied().ok_or_else(|| self.error_at_end(expected))?;
        self.at += 1;
        Ok(word)
    }

    /// Skips the next word if equal to `text`.
    fn take(&mut self, text: &str) -> bool {
        let found = self.words.get(self.at).is_some_and(|word| word.text == text);
        self.at += usize::from(found);
        found
    }

    /// Expects this word.
    fn word(&mut self, text: &str, expected: &str) -> Result<(), RuleError> {
        let word = self.next(expected)?;
        if word.text == text { Ok(()) } else { Err(self.error(word, expected)) }
    }

    /// Expects the end of the rule.
    fn end(&mut self, expected: &str) -> Result<(), RuleError> {
        match self.words.get(self.at) {
            None => Ok(()),
            Some(word) => Err(self.error(*word, expected)),
        }
    }

    fn is_side_or_port(&self) -> bool {
        self.words.get(self.at).is_some_and(|word| matches!(word.text, "src" | "dst" | "host" | "net" | "port" | "portrange"))
    }

    fn error(&self, word: Word<'_>, expected: &str) -> RuleError {
        let found = match word.text {
            "or" | "not" | "||" | "!" => {
                format!("`{}` (not supported: write one rule for each case, the first that matches decides)", word.text)
            }
            text => format!("`{text}`"),
        };
        RuleError { rule: self.rule.to_owned(), column: word.column, found, expected: expected.to_owned() }
    }

    fn error_at_end(&self, expected: &str) -> RuleError {
        let column = self.rule.chars().count() + 1;
        RuleError { rule: self.rule.to_owned(), column, found: "the end".to_owned(), expected: expected.to_owned() }
    }
}

/// Splits at white space and around `=`.
fn words(rule: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut column = 1;
    for piece in rule.split_inclusive(|character: char| character.is_whitespace() || character == '=') {
        let text = piece.trim_end_matches(|character: char| character.is_whitespace() || character == '=');
        if !text.is_empty() {
            words.push(Word { text, column });
        }
        column += piece.chars().count();
        if piece.ends_with('=') {
            words.push(Word { text: "=", column: column - 1 });
        }
    }
    words
}

fn protocol(text: &str) -> Option<u8> {
    text.parse().ok().or_else(|| protocol_number(text))
}

fn code_point(text: &str) -> Option<u8> {
    text.parse().ok().filter(|dscp| *dscp <= 63).or_else(|| dscp_number(text))
}

fn port_range(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-')?;
    let ports = first.parse().ok()?..=last.parse().ok()?;
    (!ports.is_empty()).then_some(ports)
}
