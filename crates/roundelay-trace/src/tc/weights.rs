//! Classes and filters for weights of flows (tc-flower(8), tc-flow(8)).
//!
//! Each rule has classes of its weight. A flower filter of the rule continues in a chain, whose flow
//! filter hashes flows into these classes. Filters stand in the order of the rules: the first match
//! decides, as in the comparison.

use crate::conditions::{Condition, Side};
use crate::weights::WeightRule;

/// Classes that the flows of a rule are hashed into.
pub(super) const CLASSES_A_RULE: u32 = 16;
/// Largest sum of weights of a qfq in Linux.
pub(super) const MOST_WEIGHT: u64 = 1 << 16;
/// Largest number of rules: classes and priorities of filters are 16 bits.
pub(super) const MOST_RULES: usize = 200;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// A filter: its family, and the keys of flower.
#[derive(Debug, Clone, Default)]
struct Match {
    /// `ip` or `ipv6`; none for both.
    family: Option<&'static str>,
    protocol: Option<u8>,
    words: String,
    /// A port is matched, for which flower needs a protocol.
    has_port: bool,
    /// Two conditions exclude each other.
    is_void: bool,
}

impl Match {
    fn with(&self, condition: &Condition, side: Side) -> Self {
        let mut next = self.clone();
        let end = if side == Side::Source { "src" } else { "dst" };
        match condition {
            Condition::Protocol(protocol) => {
                next.is_void |= next.protocol.is_some_and(|other| other != *protocol);
                next.protocol = Some(*protocol);
            }
            Condition::CodePoint(dscp) => next.words += &format!(" ip_tos {:#x}/0xfc", dscp << 2),
            Condition::Port(_, ports) => {
                next.has_port = true;
                let last = if ports.start() == ports.end() { String::new() } else { format!("-{}", ports.end()) };
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

    /// One filter for each family and, if a port is matched, for each protocol with ports.
    fn filters(&self) -> Vec<(&'static str, String)> {
        let families = self.family.map_or_else(|| vec!["ip", "ipv6"], |family| vec![family]);
        let protocols = match self.protocol {
            None if self.has_port => vec![Some(TCP), Some(UDP)],
            protocol => vec![protocol],
        };
        let of = |family| protocols.iter().map(move |protocol| (family, protocol.map_or_else(String::new, protocol_word) + &self.words));
        families.into_iter().filter(|_| !self.is_void).flat_map(of).collect()
    }
}

fn protocol_word(protocol: u8) -> String {
    match protocol {
        TCP => " ip_proto tcp".to_owned(),
        UDP => " ip_proto udp".to_owned(),
        other => format!(" ip_proto {other:#x}"),
    }
}

/// The matches of a rule: a condition on either end is two.
fn matches(rule: &WeightRule) -> Vec<Match> {
    let expand = |all: Vec<Match>, condition: &Condition| {
        let sides = match condition {
            Condition::Port(Side::Either, _) | Condition::Network(Side::Either, _) => vec![Side::Source, Side::Destination],
            Condition::Port(side, _) | Condition::Network(side, _) => vec![*side],
            Condition::Protocol(_) | Condition::CodePoint(_) => vec![Side::Either],
        };
        all.iter().flat_map(|one| sides.iter().map(|side| one.with(condition, *side))).collect()
    };
    rule.conditions().iter().fold(vec![Match::default()], expand)
}

/// Commands for the classes of all rules and their filters. `class` gives a class's words for a
/// weight, `hash` the flow filter's keys.
pub(super) fn commands(rules: &[WeightRule], default: u32, class: impl Fn(u32) -> String, hash: &str) -> Vec<String> {
    let (mut lines, mut priority) = (Vec::new(), 0);
    for (rule, number) in rules.iter().zip(1_u32..) {
        let (base, class) = (256 * number, class(rule.weight().unwrap_or(default)));
        lines.push(format!(
            "for i in $(seq {} {}); do tc class add dev $DEV parent 10: classid 10:$(printf %x $i) {class}; done",
            base + 1,
            base + CLASSES_A_RULE
        ));
        lines.push(format!(
            "tc filter add dev $DEV parent 10: chain {number} protocol all prio 1 handle 1 flow hash keys {hash} divisor {CLASSES_A_RULE} \
             baseclass 10:{:x}",
            base + 1
        ));
        for (family, words) in matches(rule).iter().flat_map(Match::filters) {
            priority += 1;
            lines.push(format!(
                "tc filter add dev $DEV parent 10: protocol {family} prio {priority} flower{words} action goto chain {number}"
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters(rule: &str) -> Vec<String> {
        let lines = commands(&[rule.parse().unwrap()], 1, |weight| format!("qfq weight {weight}"), "src");
        let words = |line: &String| Some(line.split_once(" protocol ")?.1.split_once(" action")?.0.to_owned());
        lines.iter().filter_map(words).collect()
    }

    #[test]
    fn conditions_become_keys_of_flower() {
        assert_eq!(
            filters("tcp dst port 443 = 5"),
            ["ip prio 1 flower ip_proto tcp dst_port 443", "ipv6 prio 2 flower ip_proto tcp dst_port 443"]
        );
        assert_eq!(filters("src 10.0.0.0/8 = 2"), ["ip prio 1 flower src_ip 10.0.0.0/8"]);
        assert_eq!(filters("dscp ef and src 2001:db8::1 = 2"), ["ipv6 prio 1 flower ip_tos 0xb8/0xfc src_ip 2001:db8::1/128"]);
        assert_eq!(filters("udp portrange 10-20 and host 10.0.0.1 = 2").len(), 4, "either end of both");
        assert_eq!(
            filters("dst portrange 6000-6999 = 2")[..2],
            ["ip prio 1 flower ip_proto tcp dst_port 6000-6999", "ip prio 2 flower ip_proto udp dst_port 6000-6999"]
        );
        assert_eq!(filters("src 10.0.0.1 and dst 2001:db8::1 = 2"), [""; 0], "no packet has both");
        assert_eq!(filters("tcp and udp = 2"), [""; 0]);
    }

    #[test]
    fn a_rule_has_classes_and_a_chain() {
        let lines = commands(&["udp = 7".parse().unwrap()], 1, |weight| format!("drr quantum {}", 1500 * weight), "src,dst");
        assert_eq!(
            lines[..2],
            [
                "for i in $(seq 257 272); do tc class add dev $DEV parent 10: classid 10:$(printf %x $i) drr quantum 10500; done",
                "tc filter add dev $DEV parent 10: chain 1 protocol all prio 1 handle 1 flow hash keys src,dst divisor 16 baseclass 10:101",
            ]
        );
    }
}
