//! Turns filters (u32, flower and matchall) into rules on headers, in the words of pcap-filter.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use roundelay::Fault;

use crate::commands::Filter;
use crate::units::whole;

/// One filter may become at most this many rules.
const MOST_RULES: usize = 256;

/// The number of TCP.
const TCP: u8 = 6;

/// Why a filter that matches a mark is no rule.
const MARK: &str = "it matches a mark, and marks are not in packets";

/// What a filter asks about a packet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Test {
    Source(IpAddr, u8),
    Destination(IpAddr, u8),
    Protocol(u8),
    SourcePort(u16, u16),
    DestinationPort(u16, u16),
    CodePoint(u8),
    /// The code point with which a packet leaves, when rules of a packet filter have written some.
    Leaving(u8),
    /// A TCP segment without data, with no flag but ACK, whose IP packet is shorter than this.
    Acknowledgement(u32),
}

/// All of these must hold.
pub(crate) type Tests = Vec<Test>;

/// A filter that we understood. A packet that meets one of the alternatives goes to the class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) alternatives: Vec<Tests>,
    /// As the script writes it: `1:10`.
    pub(crate) class: String,
    pub(crate) remarks: Vec<String>,
}

impl Rule {
    /// Below how many bytes it asks for acknowledgements.
    pub(crate) fn short(&self) -> Option<u32> {
        short(&self.alternatives)
    }
}

/// Below how many bytes these alternatives ask for acknowledgements.
pub(crate) fn short(alternatives: &[Tests]) -> Option<u32> {
    for test in alternatives.iter().flatten() {
        if let Test::Acknowledgement(below) = test {
            return Some(*below);
        }
    }
    None
}

/// Reads a filter.
///
/// # Errors
/// The message says why it cannot be a rule.
pub(crate) fn read(filter: &Filter) -> Result<Rule, Fault> {
    let mut reader = Reader::new(filter)?;
    match filter.kind.as_str() {
        "u32" => reader.u32()?,
        "flower" => reader.flower()?,
        "matchall" => reader.matchall()?,
        "fw" => {
            let mark = filter.handle.as_deref().unwrap_or("any");
            let message = format!(
                "it matches the mark {mark}, and marks are not in packets; add a rule of headers \
                 to the leaf's flows, such as \"udp dst port 53\""
            );
            return Err(Fault::new(message).with_given(mark));
        }
        kind => {
            let message = format!("filters of {kind} have no rules in a tree");
            return Err(Fault::new(message)
                .with_given(kind)
                .with_legal("u32, flower, matchall"));
        }
    }
    reader.rule()
}

/// Reads a filter on a mark, whose packets are those of these alternatives.
///
/// # Errors
/// The message says why it cannot be a rule.
pub(crate) fn marked(filter: &Filter, alternatives: &[Tests]) -> Result<Rule, Fault> {
    let mut reader = Reader::new(filter)?;
    while let Some(word) = reader.next() {
        if !reader.common(word)? {
            return Err(not_understood(word, "fw"));
        }
    }
    let family = reader.family;
    let mut rule = reader.rule()?;
    rule.alternatives.clear();
    for tests in alternatives {
        let mut tests = tests.clone();
        if let Some(is_ipv4) = family {
            if !overlap(&tests, &[every(is_ipv4)]) {
                continue;
            }
            if !tests.contains(&every(is_ipv4)) {
                tests.push(every(is_ipv4));
            }
        }
        rule.alternatives.push(tests);
    }
    Ok(rule)
}

/// A value under a mask, as u32 writes them.
#[derive(Debug, Clone, Copy)]
struct Masked<'a> {
    value: &'a str,
    mask: &'a str,
}

struct Reader<'a> {
    words: &'a [String],
    at: usize,
    /// In each group, one test must hold.
    groups: Vec<Vec<Test>>,
    /// True for IPv4, false for IPv6. None if the filter says neither.
    family: Option<bool>,
    /// IP packets shorter than this, and the match that says so.
    short: Option<(u32, String)>,
    /// The match on TCP's flags, which are ACK and no other.
    flags: Option<String>,
    class: Option<String>,
    remarks: Vec<String>,
}

impl<'a> Reader<'a> {
    /// A reader at the filter's first word.
    fn new(filter: &'a Filter) -> Result<Self, Fault> {
        let family = match filter.protocol.as_str() {
            "ip" | "ipv4" | "0x0800" | "0x800" => Some(true),
            "ipv6" | "0x86dd" => Some(false),
            "all" => None,
            other => {
                let message = format!("packets of protocol {other} have no rules in a tree");
                return Err(Fault::new(message)
                    .with_given(other)
                    .with_legal("ip, ipv6, all"));
            }
        };
        Ok(Self {
            words: &filter.words,
            at: 0,
            groups: Vec::new(),
            family,
            short: None,
            flags: None,
            class: None,
            remarks: Vec::new(),
        })
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(word)
    }

    fn value(&mut self, of: &str) -> Result<&'a str, Fault> {
        match self.next() {
            Some(value) => Ok(value),
            None => Err(Fault::new(format!("`{of}` has no value")).with_key(of)),
        }
    }

    /// A value and its mask, which follow a field of u32.
    fn masked(&mut self, of: &str) -> Result<Masked<'a>, Fault> {
        Ok(Masked {
            value: self.value(of)?,
            mask: self.value(of)?,
        })
    }

    fn rule(mut self) -> Result<Rule, Fault> {
        self.acknowledgements()?;
        let has_address = self
            .groups
            .iter()
            .flatten()
            .any(|test| matches!(test, Test::Source(..) | Test::Destination(..)));
        if !has_address {
            let everything = match self.family {
                Some(true) => vec![every(true)],
                Some(false) => vec![every(false)],
                None if self.groups.is_empty() => vec![every(true), every(false)],
                None => Vec::new(),
            };
            if !everything.is_empty() {
                self.groups.push(everything);
            }
        }
        let mut alternatives: Vec<Tests> = vec![Vec::new()];
        for group in &self.groups {
            let mut longer = Vec::new();
            for tests in &alternatives {
                for test in group {
                    let mut tests = tests.clone();
                    tests.push(test.clone());
                    longer.push(tests);
                }
            }
            alternatives = longer;
            if alternatives.len() > MOST_RULES {
                return Err(format!("it would be more than {MOST_RULES} rules").into());
            }
        }
        let Some(class) = self.class else {
            return Err("it names no class, so it does something other than choose one".into());
        };
        Ok(Rule {
            alternatives,
            class,
            remarks: self.remarks,
        })
    }

    /// Joins a length and the flag ACK to a test on acknowledgements, which is all that a tree knows
    /// of either.
    fn acknowledgements(&mut self) -> Result<(), Fault> {
        match (self.short.take(), self.flags.take()) {
            (None, None) => {}
            (Some((below, _)), Some(_)) => self.groups.push(vec![Test::Acknowledgement(below)]),
            // Of TCP, nearly all that is so short acknowledges.
            (Some((below, _)), None) if self.groups.contains(&vec![Test::Protocol(TCP)]) => {
                self.groups.push(vec![Test::Acknowledgement(below)]);
                self.remarks.push(format!(
                    "this filter takes all TCP packets below {below} bytes; the rule here is of \
                     acknowledgements, and SYNs, FINs and segments with a few bytes of data are \
                     left out"
                ));
            }
            (Some((_, alone)), None) | (None, Some(alone)) => {
                let message = format!(
                    "`{alone}` has no counterpart in a tree's rules without the other half: they \
                     know acknowledgements below a length (`match u16 0x0000 0xffc0 at 2 match u8 \
                     0x10 0xff at 33`)"
                );
                return Err(Fault::new(message).with_given(alone));
            }
        }
        Ok(())
    }

    /// Reads the words after the matches, which all filters share.
    fn common(&mut self, word: &str) -> Result<bool, Fault> {
        match word {
            "flowid" | "classid" => self.class = Some(self.value(word)?.to_owned()),
            "action" | "police" => {
                let rest = self.words[self.at..].join(" ");
                if word == "police" || rest.contains("police") {
                    let text = "its police is left out: it drops what comes faster than a rate, \
                                without a queue";
                    self.remarks.push(text.to_owned());
                } else if rest.contains("skbedit") {
                    return Err("its action sets a priority or a mark, which a tree cannot".into());
                } else {
                    self.remarks.push(format!("its action is left out: {rest}"));
                }
                // The class may come last.
                while let Some(word) = self.next() {
                    if word == "flowid" || word == "classid" {
                        self.class = Some(self.value(word)?.to_owned());
                    }
                }
            }
            "skip_hw" | "skip_sw" | "verbose" => {}
            "hw_tc" => {
                self.value(word)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn matchall(&mut self) -> Result<(), Fault> {
        while let Some(word) = self.next() {
            if !self.common(word)? {
                return Err(not_understood(word, "matchall"));
            }
        }
        Ok(())
    }

    fn flower(&mut self) -> Result<(), Fault> {
        while let Some(word) = self.next() {
            if self.common(word)? {
                continue;
            }
            match word {
                "ip_proto" => {
                    let text = self.value(word)?;
                    self.groups.push(vec![Test::Protocol(protocol(text)?)]);
                }
                "src_ip" | "dst_ip" => {
                    let text = self.value(word)?;
                    let (address, prefix) = network(text)?;
                    self.groups.push(vec![match word {
                        "src_ip" => Test::Source(address, prefix),
                        _ => Test::Destination(address, prefix),
                    }]);
                }
                "src_port" | "dst_port" => {
                    let text = self.value(word)?;
                    let (first, last) = ports(text)?;
                    self.groups.push(vec![match word {
                        "src_port" => Test::SourcePort(first, last),
                        _ => Test::DestinationPort(first, last),
                    }]);
                }
                "ip_tos" => {
                    let text = self.value(word)?;
                    let (value, mask) = text.split_once('/').unwrap_or((text, "0xff"));
                    self.tos(Masked { value, mask })?;
                }
                "indev" | "src_mac" | "dst_mac" | "vlan_id" | "vlan_prio" | "tcp_flags"
                | "ip_ttl" | "ip_flags" | "ct_state" | "ct_mark" | "enc_key_id" => {
                    let value = self.value(word)?;
                    return Err(no_counterpart(format_args!("{word} {value}")));
                }
                _ => return Err(not_understood(word, "flower")),
            }
        }
        Ok(())
    }

    fn u32(&mut self) -> Result<(), Fault> {
        while let Some(word) = self.next() {
            if self.common(word)? {
                continue;
            }
            match word {
                "match" => self.match_of_u32()?,
                "ht" | "link" | "divisor" | "hashkey" | "order" => {
                    let message = format!(
                        "`{word}` is about u32's hash tables, which have no counterpart in a \
                         tree's rules; write a rule with the address or port for each class"
                    );
                    return Err(Fault::new(message).with_given(word));
                }
                "mark" => return Err(MARK.into()),
                "offset" | "sample" => {
                    let message = format!("`{word}` has no counterpart in rules");
                    return Err(Fault::new(message).with_given(word));
                }
                _ => return Err(not_understood(word, "u32")),
            }
        }
        Ok(())
    }

    /// Reads what follows `match`: `ip dport 53 0xffff`, `u8 0x11 0xff at 9`.
    fn match_of_u32(&mut self) -> Result<(), Fault> {
        let what = self.value("match")?;
        match what {
            "ip" | "ip6" => {
                let is_ipv4 = what == "ip";
                let groups = self.groups.len();
                let field = self.value(what)?;
                self.field(field, is_ipv4)?;
                // A match with an empty mask matches any packet.
                if self.groups.len() > groups {
                    self.of_family(is_ipv4)?;
                }
                Ok(())
            }
            "tcp" | "udp" => {
                let field = self.value(what)?;
                let masked = self.masked(field)?;
                let test = port_test(field, masked)?;
                self.groups.extend(test.map(|test| vec![test]));
                self.remarks.push(format!(
                    "`match {what} {field}` reads the ports of any protocol; in Linux, too, a \
                     match on the protocol makes it one of {what}"
                ));
                Ok(())
            }
            "u8" | "u16" | "u32" => {
                let masked = self.masked(what)?;
                let offset = match self.words.get(self.at).map(String::as_str) {
                    Some("at") => {
                        self.at += 1;
                        self.value("at")?
                    }
                    _ => "0",
                };
                self.raw(what, masked, offset)
            }
            "mark" => Err(MARK.into()),
            other => Err(no_counterpart(format_args!("match {other}"))),
        }
    }

    fn of_family(&mut self, is_ipv4: bool) -> Result<(), Fault> {
        if self.family == Some(!is_ipv4) {
            return Err("its protocol and its matches are of different versions of IP".into());
        }
        self.family = Some(is_ipv4);
        Ok(())
    }

    fn field(&mut self, field: &str, is_ipv4: bool) -> Result<(), Fault> {
        match field {
            "src" | "dst" => {
                let (address, prefix) = network(self.value(field)?)?;
                if address.is_ipv4() != is_ipv4 {
                    let message = format!("{address} is an address of the other version of IP");
                    return Err(Fault::new(message).with_given(address));
                }
                // An empty prefix matches any packet, even of the other version. As a test it would
                // match one version only, so it becomes a test only if the filter has already said
                // the version.
                if prefix > 0 || self.family == Some(is_ipv4) {
                    self.groups.push(vec![match field {
                        "src" => Test::Source(address, prefix),
                        _ => Test::Destination(address, prefix),
                    }]);
                }
            }
            "sport" | "dport" => {
                let masked = self.masked(field)?;
                let test = port_test(field, masked)?;
                self.groups.extend(test.map(|test| vec![test]));
            }
            "protocol" => {
                let Masked { value, mask } = self.masked(field)?;
                if whole(mask) == Some(0) {
                    return Ok(());
                }
                if whole(mask) != Some(0xff) {
                    let message = format!("the mask {mask} of a protocol has no counterpart");
                    return Err(Fault::new(message).with_given(mask).with_legal("0, 0xff"));
                }
                self.groups.push(vec![Test::Protocol(protocol(value)?)]);
            }
            "tos" | "dsfield" | "ds" | "priority" | "precedence" => {
                let masked = self.masked(field)?;
                self.tos(masked)?;
            }
            other => return Err(no_counterpart(format_args!("match ip {other}"))),
        }
        Ok(())
    }

    /// Reads the old TOS byte as code points.
    fn tos(&mut self, masked: Masked<'_>) -> Result<(), Fault> {
        let value: u8 = number(masked.value, "a byte, 0 to 0xff")?;
        let mask: u8 = number(masked.mask, "a byte, 0 to 0xff")?;
        if mask & 3 != 0 {
            self.remarks.push(format!(
                "its mask {mask:#04x} covers the two bits of ECN, so in Linux packets that can be \
                 marked by ECN fail it; the rule here is of code points, without these bits"
            ));
        }
        let mut points = Vec::new();
        for point in 0..64_u8 {
            if (point << 2) & mask == value & mask & 0xfc {
                points.push(Test::CodePoint(point));
            }
        }
        if points.is_empty() {
            let message = format!("no code point matches {value:#04x} under {mask:#04x}");
            return Err(Fault::new(message).with_given(masked.value));
        }
        if points.len() < 64 {
            self.groups.push(points);
        }
        Ok(())
    }

    /// Reads bits at an offset in the IPv4 header.
    fn raw(&mut self, width: &str, masked: Masked<'_>, offset: &str) -> Result<(), Fault> {
        let Masked { value, mask } = masked;
        let unknown = || {
            let given = format!("match {width} {value} {mask} at {offset}");
            Fault::new(format!("`{given}` has no counterpart")).with_given(given)
        };
        let bits: u32 = number(value, "a number of 32 bits")?;
        let mask_bits: u32 = number(mask, "a number of 32 bits")?;
        if mask_bits == 0 {
            return Ok(());
        }
        match (width, offset, mask_bits) {
            // A header without options, as nearly all have.
            ("u8", "0", 0x0f) if bits & 0x0f == 5 => self.of_family(true),
            // All bits of the length from one on are 0.
            ("u16", "2", mask) if bits & mask == 0 => {
                let below = !mask & 0xffff;
                if mask > 0xffff || !(below + 1).is_power_of_two() || !(63..256).contains(&below) {
                    return Err(unknown());
                }
                let given = format!("match {width} {value} {mask:#x} at {offset}");
                self.short = Some((below + 1, given));
                self.of_family(true)
            }
            ("u8", "33" | "nexthdr+13", 0xff) if bits == 0x10 => {
                self.flags = Some(format!("match {width} {value} 0xff at {offset}"));
                Ok(())
            }
            ("u8", "1", _) => self.tos(masked),
            ("u8", "9", 0xff) => {
                let number = u8::try_from(bits).map_err(|_| unknown())?;
                self.groups.push(vec![Test::Protocol(number)]);
                self.of_family(true)
            }
            ("u16", "20" | "22", _) => {
                let field = if offset == "20" { "sport" } else { "dport" };
                let test = port_test(field, masked)?;
                self.groups.extend(test.map(|test| vec![test]));
                self.of_family(true)
            }
            ("u32", "12" | "16", _)
                if mask_bits.leading_ones() + mask_bits.trailing_zeros() == 32 =>
            {
                let address = IpAddr::V4(Ipv4Addr::from(bits & mask_bits));
                let prefix = mask_bits.leading_ones() as u8;
                self.groups.push(vec![match offset {
                    "12" => Test::Source(address, prefix),
                    _ => Test::Destination(address, prefix),
                }]);
                self.of_family(true)
            }
            _ => Err(unknown()),
        }
    }
}

/// Matches every address.
pub(crate) fn every(is_ipv4: bool) -> Test {
    if is_ipv4 {
        Test::Source(Ipv4Addr::UNSPECIFIED.into(), 0)
    } else {
        Test::Source(Ipv6Addr::UNSPECIFIED.into(), 0)
    }
}

/// A value that tc cannot read, of a word whose filter has no rule then.
fn expected(text: &str, legal: &str) -> Fault {
    Fault::expected(format_args!("`{text}`"), legal).with_given(text)
}

fn not_understood(word: &str, kind: &str) -> Fault {
    Fault::new(format!("`{word}` of {kind} is not understood")).with_given(word)
}

fn no_counterpart(given: fmt::Arguments<'_>) -> Fault {
    Fault::new(format!("`{given}` has no counterpart in a tree's rules")).with_given(given)
}

fn number<N: TryFrom<u64>>(text: &str, legal: &str) -> Result<N, Fault> {
    let number = whole(text).and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| expected(text, legal))
}

pub(crate) fn protocol(text: &str) -> Result<u8, Fault> {
    match text {
        "tcp" => Ok(6),
        "udp" => Ok(17),
        "icmp" => Ok(1),
        "icmpv6" => Ok(58),
        "sctp" => Ok(132),
        _ => number(text, "a protocol, 0 to 255"),
    }
}

/// Reads `10.0.0.1` or `10.0.0.0/8`, and cuts the bits after the prefix.
pub(crate) fn network(text: &str) -> Result<(IpAddr, u8), Fault> {
    let wrong = || expected(text, "an address such as 10.0.0.1 or 10.0.0.0/8");
    if text == "any" || text == "default" {
        return Ok((Ipv4Addr::UNSPECIFIED.into(), 0));
    }
    let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let prefix = match prefix {
        "" => longest,
        prefix => prefix.parse().map_err(|_| wrong())?,
    };
    if prefix > longest {
        return Err(wrong());
    }
    Ok((cut(address, prefix), prefix))
}

/// The address without the bits after the prefix, which is no longer than an address.
fn cut(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V4((address.to_bits() & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V6((address.to_bits() & mask).into())
        }
    }
}

/// Reads `443` or `1000-1999`.
fn ports(text: &str) -> Result<(u16, u16), Fault> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
        _ => Err(expected(
            text,
            "a port, 0 to 65535, or a range such as 1000-1999",
        )),
    }
}

/// A port under a mask. None if the mask is 0.
fn port_test(field: &str, masked: Masked<'_>) -> Result<Option<Test>, Fault> {
    let value: u16 = number(masked.value, "a number from 0 to 65535")?;
    let mask: u16 = number(masked.mask, "a number from 0 to 65535")?;
    if mask == 0 {
        return Ok(None);
    }
    if mask.leading_ones() + mask.trailing_zeros() != 16 {
        let message = format!("the mask {mask:#x} of a port is no range of ports");
        return Err(Fault::new(message).with_given(masked.mask));
    }
    let first = value & mask;
    let last = first | !mask;
    match field {
        "sport" | "src" => Ok(Some(Test::SourcePort(first, last))),
        "dport" | "dst" => Ok(Some(Test::DestinationPort(first, last))),
        other => Err(no_counterpart(format_args!("match .. {other}"))),
    }
}

/// Writes tests in the words of a tree's rules.
pub(crate) fn written(tests: &[Test]) -> String {
    let mut parts = Vec::new();
    for test in tests {
        if is_implied(test, tests) {
            continue;
        }
        let part = match test {
            Test::Protocol(6) => "tcp".to_owned(),
            Test::Protocol(17) => "udp".to_owned(),
            Test::Protocol(1) => "icmp".to_owned(),
            Test::Protocol(number) => format!("proto {number}"),
            Test::Source(address, prefix) => format!("src {}", of_network(address, *prefix)),
            Test::Destination(address, prefix) => format!("dst {}", of_network(address, *prefix)),
            Test::SourcePort(first, last) => of_ports("src", *first, *last),
            Test::DestinationPort(first, last) => of_ports("dst", *first, *last),
            Test::CodePoint(point) | Test::Leaving(point) => {
                format!("dscp {}", code_point(*point))
            }
            Test::Acknowledgement(below) => format!("ack below {below} bytes"),
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    // Protocols come before ports, as people write them.
    parts.sort_by_key(|part| part.contains(' '));
    parts.join(" and ")
}

/// Whether a test asks only for an IP version, when another asks for some addresses of that
/// version, or for TCP, when another asks for its acknowledgements.
fn is_implied(test: &Test, tests: &[Test]) -> bool {
    let is_short = |test: &Test| matches!(test, Test::Acknowledgement(_));
    if *test == Test::Protocol(TCP) && tests.iter().any(is_short) {
        return true;
    }
    let Test::Source(all, 0) = test else {
        return false;
    };
    for other in tests {
        if let Test::Source(address, prefix) | Test::Destination(address, prefix) = other
            && *prefix > 0
            && address.is_ipv4() == all.is_ipv4()
        {
            return true;
        }
    }
    false
}

fn of_network(address: &IpAddr, prefix: u8) -> String {
    let longest = if address.is_ipv4() { 32 } else { 128 };
    if prefix == longest {
        address.to_string()
    } else {
        format!("{address}/{prefix}")
    }
}

fn of_ports(side: &str, first: u16, last: u16) -> String {
    if first == last {
        format!("{side} port {first}")
    } else {
        format!("{side} portrange {first}-{last}")
    }
}

fn code_point(point: u8) -> String {
    match point {
        46 => "ef".to_owned(),
        point if point % 8 == 0 => format!("cs{}", point / 8),
        point => point.to_string(),
    }
}

/// Asks for the code points with which packets leave.
pub(crate) fn ask_at_leaving(alternatives: &mut [Tests]) {
    for test in alternatives.iter_mut().flatten() {
        if let Test::CodePoint(point) = test {
            *test = Test::Leaving(*point);
        }
    }
}

/// The same tests on packets that leave with the code point with which they came.
pub(crate) fn at_arrival(tests: &[Test]) -> Tests {
    let mut all = tests.to_vec();
    for test in &mut all {
        if let Test::Leaving(point) = test {
            *test = Test::CodePoint(*point);
        }
    }
    all
}

/// The code point with which packets come that the tests ask for.
pub(crate) fn code_point_of(tests: &[Test]) -> Option<u8> {
    for test in tests {
        if let Test::CodePoint(point) = test {
            return Some(*point);
        }
    }
    None
}

/// The code point with which packets leave that the tests ask for.
pub(crate) fn leaving(tests: &[Test]) -> Option<u8> {
    for test in tests {
        if let Test::Leaving(point) = test {
            return Some(*point);
        }
    }
    None
}

/// The tests that do not ask for the code point with which a packet leaves.
pub(crate) fn without_leaving(tests: &[Test]) -> Tests {
    let mut all = tests.to_vec();
    all.retain(|test| !matches!(test, Test::Leaving(_)));
    all
}

/// Whether one of these covers `tests`.
pub(crate) fn one_covers(alternatives: &[Tests], tests: &Tests) -> bool {
    for early in alternatives {
        if covers(early, tests) {
            return true;
        }
    }
    false
}

/// Whether a packet can meet one of these and `tests`.
pub(crate) fn one_overlaps(alternatives: &[Tests], tests: &Tests) -> bool {
    for early in alternatives {
        if overlap(early, tests) {
            return true;
        }
    }
    false
}

/// Whether some packet can meet both.
pub(crate) fn overlap(left: &[Test], right: &[Test]) -> bool {
    for one in left {
        for other in right {
            let is_apart = match (one, other) {
                (Test::Protocol(one), Test::Protocol(other)) => one != other,
                (Test::CodePoint(one), Test::CodePoint(other))
                | (Test::Leaving(one), Test::Leaving(other)) => one != other,
                (Test::Acknowledgement(_), Test::Protocol(number))
                | (Test::Protocol(number), Test::Acknowledgement(_)) => *number != TCP,
                (Test::SourcePort(a, b), Test::SourcePort(c, d))
                | (Test::DestinationPort(a, b), Test::DestinationPort(c, d)) => b < c || d < a,
                (Test::Source(one, a), Test::Source(other, b))
                | (Test::Destination(one, a), Test::Destination(other, b)) => {
                    networks_apart(one, *a, other, *b)
                }
                (Test::Source(one, _), Test::Destination(other, _))
                | (Test::Destination(one, _), Test::Source(other, _)) => {
                    one.is_ipv4() != other.is_ipv4()
                }
                _ => false,
            };
            if is_apart {
                return false;
            }
        }
    }
    true
}

/// Whether every packet that meets the late tests meets the early ones too.
pub(crate) fn covers(early: &[Test], late: &[Test]) -> bool {
    early
        .iter()
        .all(|test| late.iter().any(|other| is_met(test, other)))
}

/// Whether every packet that meets `by` meets `test`.
fn is_met(test: &Test, by: &Test) -> bool {
    match (test, by) {
        (Test::SourcePort(first, last), Test::SourcePort(a, b))
        | (Test::DestinationPort(first, last), Test::DestinationPort(a, b)) => {
            first <= a && b <= last
        }
        (
            Test::Source(all, 0) | Test::Destination(all, 0),
            Test::Source(address, _) | Test::Destination(address, _),
        ) => all.is_ipv4() == address.is_ipv4(),
        (Test::Source(one, a), Test::Source(other, b))
        | (Test::Destination(one, a), Test::Destination(other, b)) => {
            a <= b && !networks_apart(one, *a, other, *b)
        }
        (Test::Protocol(number), Test::Acknowledgement(_)) => *number == TCP,
        _ => test == by,
    }
}

fn networks_apart(one: &IpAddr, a: u8, other: &IpAddr, b: u8) -> bool {
    let shorter = a.min(b);
    one.is_ipv4() != other.is_ipv4() || cut(*one, shorter) != cut(*other, shorter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Parent;

    fn rules(kind: &str, protocol: &str, words: &str) -> Result<Vec<String>, Fault> {
        let rule = read(&Filter {
            line: 1,
            parent: Parent::Root,
            priority: 1,
            protocol: protocol.to_owned(),
            kind: kind.to_owned(),
            words: words.split_whitespace().map(str::to_owned).collect(),
            handle: Some("0x10".to_owned()),
        })?;
        Ok(rule
            .alternatives
            .iter()
            .map(|tests| written(tests))
            .collect())
    }

    #[test]
    fn filters_become_rules() {
        for (kind, protocol, words, expected) in [
            (
                "u32",
                "ip",
                "match udp dst 53 0xffff flowid 1:10",
                vec!["dst port 53 and src 0.0.0.0/0"],
            ),
            (
                "u32",
                "ip",
                "match ip dport 53 0xffff flowid 1:10",
                vec!["dst port 53 and src 0.0.0.0/0"],
            ),
            (
                "u32",
                "ip",
                "match ip dst 10.1.2.3/24 flowid 1:10",
                vec!["dst 10.1.2.0/24"],
            ),
            (
                "u32",
                "ip",
                "match ip src 10.0.0.1 match ip protocol 6 0xff flowid 1:10",
                vec!["tcp and src 10.0.0.1"],
            ),
            (
                "u32",
                "all",
                "match u32 0 0 at 0 flowid 1:10",
                vec!["src 0.0.0.0/0", "src ::/0"],
            ),
            (
                "u32",
                "all",
                "match ip protocol 0 0x00 flowid 1:11",
                vec!["src 0.0.0.0/0", "src ::/0"],
            ),
            (
                "u32",
                "all",
                "match ip dst 0.0.0.0/0 flowid 1:11",
                vec!["src 0.0.0.0/0", "src ::/0"],
            ),
            (
                "u32",
                "ipv6",
                "match ip protocol 0 0 flowid 1:11",
                vec!["src ::/0"],
            ),
            (
                "u32",
                "ip",
                "match ip sport 0x1000 0xf000 flowid 1:1",
                vec!["src portrange 4096-8191 and src 0.0.0.0/0"],
            ),
            (
                "u32",
                "ip",
                "match ip tos 0xb8 0xfc flowid 1:1",
                vec!["dscp ef and src 0.0.0.0/0"],
            ),
            (
                "u32",
                "ip",
                "match u8 0x11 0xff at 9 match u16 53 0xffff at 22 flowid 1:1",
                vec!["udp and dst port 53 and src 0.0.0.0/0"],
            ),
            (
                "u32",
                "ipv6",
                "match ip6 dst 2001:db8::/32 flowid 1:1",
                vec!["dst 2001:db8::/32"],
            ),
            (
                "flower",
                "ip",
                "ip_proto udp dst_port 5000-5010 flowid 1:1",
                vec!["udp and dst portrange 5000-5010 and src 0.0.0.0/0"],
            ),
            (
                "flower",
                "ipv6",
                "ip_tos 0x20/0xfc classid 1:1",
                vec!["dscp cs1 and src ::/0"],
            ),
            ("matchall", "ip", "flowid 1:1", vec!["src 0.0.0.0/0"]),
            (
                "u32",
                "ip",
                "match ip protocol 6 0xff match u8 0x05 0x0f at 0 match u16 0x0000 0xffc0 at 2 \
                 match u8 0x10 0xff at 33 flowid 1:10",
                vec!["ack below 64 bytes and src 0.0.0.0/0"],
            ),
        ] {
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(rules(kind, protocol, words), Ok(expected), "{kind} {words}");
        }
    }

    #[test]
    fn what_is_no_rule_says_why() {
        for (kind, protocol, words, part) in [
            ("fw", "ip", "flowid 1:10", "mark 0x10"),
            ("u32", "arp", "match u32 0 0 flowid 1:1", "protocol arp"),
            (
                "u32",
                "ip",
                "match u8 0x10 0xff at 33 flowid 1:1",
                "without the other half",
            ),
            (
                "u32",
                "ip",
                "match u16 0x0000 0xffc1 at 2 flowid 1:1",
                "no counterpart",
            ),
            (
                "u32",
                "ip",
                "ht 2: match ip dst 1.2.3.4 flowid 1:1",
                "hash tables",
            ),
            ("u32", "ip", "match ip dport 53", "no value"),
            (
                "u32",
                "ip",
                "match ip dport x 0xffff flowid 1:1",
                "0 to 65535",
            ),
            (
                "u32",
                "ip",
                "match ip dport 53 0x0f0f flowid 1:1",
                "no range",
            ),
            (
                "u32",
                "ip",
                "match ip6 dst ::1 flowid 1:1",
                "different versions",
            ),
            ("flower", "ip", "vlan_id 3 flowid 1:1", "vlan_id 3"),
            ("flower", "ip", "dst_port 9-3 flowid 1:1", "9-3"),
            (
                "matchall",
                "ip",
                "action mirred egress redirect dev ifb0",
                "names no class",
            ),
            ("bpf", "ip", "obj x flowid 1:1", "filters of bpf"),
        ] {
            let error = rules(kind, protocol, words).expect_err(words);
            assert!(error.message().contains(part), "{kind} {words}: {error}");
        }
    }

    #[test]
    fn rules_that_no_packet_meets_together_do_not_overlap() {
        let of = |words: &str| {
            let rule = rules("u32", "ip", &format!("{words} flowid 1:1"));
            rule.expect("a rule")
        };
        assert_eq!(of("match ip dport 0 0"), ["src 0.0.0.0/0"]);
        let port = |port| vec![Test::DestinationPort(port, port)];
        assert!(!overlap(&port(53), &port(54)));
        assert!(overlap(&port(53), &[Test::Protocol(17)]));
        assert!(!overlap(&[every(true)], &[every(false)]));
        let both = [Test::CodePoint(8), every(true)];
        assert!(covers(&[Test::CodePoint(8)], &both));
        assert!(covers(&both, &both));
        assert!(!covers(&both, &[Test::CodePoint(8)]));
        assert!(!covers(&[every(false)], &both));
        assert!(covers(&[Test::SourcePort(1, 9)], &[Test::SourcePort(2, 3)]));
        assert!(!covers(
            &[Test::SourcePort(2, 3)],
            &[Test::SourcePort(1, 9)]
        ));
    }
}
