//! A rule's conditions as keys of flower filters (tc-flower(8)).

use roundelay_trace::{Condition, Side, WeightRule};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The filters of a rule. Each has a family, and keys that start with a space.
pub(super) fn filters(rule: &WeightRule) -> Vec<(&'static str, String)> {
    let mut filters = Vec::new();
    for one in matches(rule) {
        one.add_filters(&mut filters);
    }
    filters
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
                filters.push((family, protocol + &self.words));
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
            Condition::Protocol(_) | Condition::CodePoint(_) => vec![Side::Either],
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
            .map(|(family, words)| family.to_owned() + &words)
            .collect()
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
