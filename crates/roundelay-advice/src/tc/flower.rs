//! A rule's conditions as keys of flower filters (tc-flower(8)), or of u32 filters if it is about
//! acknowledgements, because flower has no lengths.

use std::ops::RangeInclusive;

use roundelay_trace::{Condition, Side, WeightRule};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The filters of a rule. Each has a family, and the words from its kind on.
pub(super) fn filters(rule: &WeightRule) -> Vec<(&'static str, String)> {
    let mut filters = Vec::new();
    if let Some(below) = rule.short_acknowledgements() {
        for family in ["ip", "ipv6"] {
            for words in acknowledgements(rule, below, family == "ip") {
                filters.push((family, format!("u32{words}")));
            }
        }
        return filters;
    }
    for one in matches(rule) {
        one.add_filters(&mut filters);
    }
    filters
}

/// The keys of u32 for a rule on acknowledgements: a TCP header right behind IP's, no flag but ACK,
/// and a length below.
fn acknowledgements(rule: &WeightRule, below: u32, is_ipv4: bool) -> Vec<String> {
    /// Bytes of IPv6's header, which its length does not count.
    const HEADER: u32 = 40;
    let head = match is_ipv4 {
        true => " match ip protocol 6 0xff match u8 0x05 0x0f at 0",
        false => " match u8 0x06 0xff at 6",
    };
    // Where TCP's header begins, and which lengths are short.
    let tcp = if is_ipv4 { 20 } else { 40 };
    let lengths = match is_ipv4 {
        true => of_range("u16", 2, 0..=most_below(below)),
        false => of_range("u16", 4, 0..=most_below(below.saturating_sub(HEADER))),
    };
    let version = if is_ipv4 { "ip" } else { "ip6" };
    let mut all = vec![format!("{head} match u8 0x10 0xff at {}", tcp + 13)];
    let mut groups = vec![lengths];
    for condition in rule.conditions() {
        let mut group = Vec::new();
        match condition {
            Condition::Acknowledgement(_) | Condition::Protocol(TCP) => continue,
            Condition::Protocol(_) => {}
            Condition::CodePoint(dscp) if is_ipv4 => {
                group.push(format!(" match u8 {:#04x} 0xfc at 1", dscp << 2));
            }
            Condition::CodePoint(dscp) => {
                group.push(format!(
                    " match u16 {:#06x} 0x0fc0 at 0",
                    u16::from(*dscp) << 6
                ));
            }
            Condition::Port(side, ports) => {
                for (is_source, offset) in [(true, tcp), (false, tcp + 2)] {
                    if has_side(*side, is_source) {
                        group.extend(of_range("u16", offset, ports.clone()));
                    }
                }
            }
            Condition::Network(side, network) if network.is_ipv4() == is_ipv4 => {
                for (is_source, end) in [(true, "src"), (false, "dst")] {
                    if has_side(*side, is_source) {
                        group.push(format!(" match {version} {end} {network}"));
                    }
                }
            }
            Condition::Network(..) => {}
        }
        groups.push(group);
    }
    for group in groups {
        let mut longer = Vec::new();
        for words in &all {
            for one in &group {
                longer.push(format!("{words}{one}"));
            }
        }
        all = longer;
    }
    all
}

/// The largest number of 16 bits below this one.
fn most_below(bytes: u32) -> u16 {
    bytes.saturating_sub(1).min(u16::MAX.into()) as u16
}

fn has_side(side: Side, is_source: bool) -> bool {
    match side {
        Side::Source => is_source,
        Side::Destination => !is_source,
        Side::Either => true,
    }
}

/// Matches of u32 for the numbers of a range: one for each block of numbers with the same first
/// bits.
fn of_range(width: &str, offset: u32, range: RangeInclusive<u16>) -> Vec<String> {
    let mut matches = Vec::new();
    let mut first = u32::from(*range.start());
    let last = u32::from(*range.end());
    while first <= last {
        // The largest block that starts here and does not go beyond the last number.
        let mut size = 1_u32 << first.trailing_zeros().min(16);
        while first + size - 1 > last {
            size /= 2;
        }
        let mask = 0x1_0000 - size;
        matches.push(format!(
            " match {width} {first:#06x} {mask:#06x} at {offset}"
        ));
        first += size;
    }
    matches
}

/// A filter: its family, and the keys of flower.
#[derive(Debug, Clone, Default)]
struct Match {
    /// `ip` or `ipv6`. None stands for both.
    family: Option<&'static str>,
    protocol: Option<u8>,
    words: String,
    /// A port is matched. For a port, flower needs a protocol.
    has_port: bool,
    /// Two conditions exclude each other.
    is_void: bool,
}

impl Match {
    fn with(&self, condition: &Condition, side: Side) -> Self {
        let mut next = self.clone();
        let end = if side == Side::Source { "src" } else { "dst" };
        match condition {
            // See `acknowledgements`.
            Condition::Acknowledgement(_) => next.is_void = true,
            Condition::Protocol(protocol) => {
                next.is_void |= next.protocol.is_some_and(|other| other != *protocol);
                next.protocol = Some(*protocol);
            }
            Condition::CodePoint(dscp) => next.words += &format!(" ip_tos {:#x}/0xfc", dscp << 2),
            Condition::Port(_, ports) => {
                next.has_port = true;
                let last = if ports.start() == ports.end() {
                    String::new()
                } else {
                    format!("-{}", ports.end())
                };
                next.words += &format!(" {end}_port {}{last}", ports.start());
            }
            Condition::Network(_, network) => {
                let family = if network.is_ipv4() { "ip" } else { "ipv6" };
                next.is_void |= next.family.is_some_and(|other| other != family);
                next.family = Some(family);
                next.words += &format!(" {end}_ip {network}");
            }
        }
        next
    }

    /// Adds a filter for each family. If a port is matched, adds one for each protocol that has
    /// ports.
    fn add_filters(&self, filters: &mut Vec<(&'static str, String)>) {
        if self.is_void {
            return;
        }
        let families = match self.family {
            Some(family) => vec![family],
            None => vec!["ip", "ipv6"],
        };
        let protocols = match self.protocol {
            None if self.has_port => vec![Some(TCP), Some(UDP)],
            protocol => vec![protocol],
        };
        for family in families {
            for protocol in &protocols {
                let protocol = protocol.map(protocol_word).unwrap_or_default();
                filters.push((family, format!("flower{protocol}{}", self.words)));
            }
        }
    }
}

fn protocol_word(protocol: u8) -> String {
    match protocol {
        TCP => " ip_proto tcp".to_owned(),
        UDP => " ip_proto udp".to_owned(),
        other => format!(" ip_proto {other:#x}"),
    }
}

/// What a rule matches. A condition on either end makes two matches.
fn matches(rule: &WeightRule) -> Vec<Match> {
    let mut all = vec![Match::default()];
    for condition in rule.conditions() {
        let sides = match condition {
            Condition::Port(Side::Either, _) | Condition::Network(Side::Either, _) => {
                vec![Side::Source, Side::Destination]
            }
            Condition::Port(side, _) | Condition::Network(side, _) => vec![*side],
            Condition::Protocol(_) | Condition::CodePoint(_) | Condition::Acknowledgement(_) => {
                vec![Side::Either]
            }
        };
        let mut next = Vec::new();
        for one in &all {
            for side in &sides {
                next.push(one.with(condition, *side));
            }
        }
        all = next;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters(rule: &str) -> Vec<String> {
        super::filters(&WeightRule::matching(rule).unwrap())
            .into_iter()
            .map(|(family, words)| format!("{family} {words}").replace(" flower", ""))
            .collect()
    }

    #[test]
    fn acknowledgements_become_keys_of_u32() {
        let head =
            "ip u32 match ip protocol 6 0xff match u8 0x05 0x0f at 0 match u8 0x10 0xff at 33";
        let all = filters("ack below 64 bytes and dst 10.0.0.0/8");
        assert_eq!(
            all,
            [format!(
                "{head} match u16 0x0000 0xffc0 at 2 match ip dst 10.0.0.0/8"
            )]
        );
        let all = filters("ack below 96 bytes and src port 443");
        assert_eq!(
            all[1],
            format!("{head} match u16 0x0040 0xffe0 at 2 match u16 0x01bb 0xffff at 20")
        );
        assert!(
            all[2].contains(
                "match u8 0x10 0xff at 53 match u16 0x0000 0xffe0 at 4 match u16 0x01bb 0xffff at 40"
            ),
            "{all:?}"
        );
        assert_eq!(filters("udp and ack below 64 bytes"), [""; 0]);
    }

    #[test]
    fn conditions_become_keys_of_flower() {
        assert_eq!(
            filters("tcp dst port 443"),
            [
                "ip ip_proto tcp dst_port 443",
                "ipv6 ip_proto tcp dst_port 443"
            ]
        );
        assert_eq!(filters("src 10.0.0.0/8"), ["ip src_ip 10.0.0.0/8"]);
        assert_eq!(
            filters("dscp ef and src 2001:db8::1"),
            ["ipv6 ip_tos 0xb8/0xfc src_ip 2001:db8::1/128"]
        );
        assert_eq!(
            filters("udp portrange 10-20 and host 10.0.0.1").len(),
            4,
            "either end of both"
        );
        assert_eq!(
            filters("dst portrange 6000-6999")[..2],
            [
                "ip ip_proto tcp dst_port 6000-6999",
                "ip ip_proto udp dst_port 6000-6999"
            ]
        );
        assert_eq!(
            filters("src 10.0.0.1 and dst 2001:db8::1"),
            [""; 0],
            "no packet has both"
        );
        assert_eq!(filters("tcp and udp"), [""; 0]);
    }
}
