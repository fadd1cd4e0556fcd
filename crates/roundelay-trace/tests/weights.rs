//! Weight rules, on a line and in a file: matches and error messages.

use crate::common::*;
use proptest::prelude::*;
use roundelay::Duration;
use roundelay_trace::{Headers, LinkType, Urgency, WeightRule, WeightRules, parse};

fn tcp(source: [u8; 4], destination: [u8; 4], source_port: u16, destination_port: u16) -> Headers {
    parse(
        LinkType::RAW,
        &ipv4(
            TCP,
            source,
            destination,
            &ports(source_port, destination_port),
        ),
    )
    .unwrap()
}

fn udp6(class: u8, destination_port: u16) -> Headers {
    parse(
        LinkType::RAW,
        &ipv6(class, UDP, v6(1), v6(2), &ports(9, destination_port)),
    )
    .unwrap()
}

fn matches(rule: &str, headers: &Headers) -> bool {
    rule_of(rule).matches(headers)
}

fn rule_of(rule: &str) -> WeightRule {
    rule.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn ports_match_on_the_side_that_is_named() {
    let (there, back) = (tcp(A, B, 51_000, 443), tcp(B, A, 443, 51_000));
    for (rule, expected) in [
        ("dst port 443 = 10", (true, false)),
        ("src port 443 = 10", (false, true)),
        ("port 443 = 10", (true, true)),
        ("port 80 = 1", (false, false)),
    ] {
        assert_eq!(
            (matches(rule, &there), matches(rule, &back)),
            expected,
            "{rule}"
        );
    }
    assert!(
        matches("dst portrange 400-443 = 1", &there) && !matches("portrange 444-500 = 1", &there)
    );
}

#[test]
fn addresses_and_networks_match() {
    let headers = tcp([10, 1, 2, 3], B, 1, 2);
    for rule in [
        "src 10.0.0.0/8 = 4",
        "src 10.1.2.3 = 4",
        "src host 10.1.2.3 = 4",
        "src net 10.1.2.0/23 = 4",
        "host 10.0.0.2 = 4",
        "net 0.0.0.0/0 = 4",
        "dst 10.0.0.2/32 = 4",
    ] {
        assert!(matches(rule, &headers), "{rule}");
    }
    for rule in [
        "dst 10.1.0.0/16 = 4",
        "src 10.1.2.4 = 4",
        "src 11.0.0.0/8 = 4",
        "net ::/0 = 4",
        "src ::ffff:10.1.2.3 = 4",
    ] {
        assert!(!matches(rule, &headers), "{rule}");
    }
    let headers = udp6(0, 53);
    for (rule, expected) in [
        ("dst 2001:db8::2 = 2", true),
        ("src 2001:db8::2 = 2", false),
        ("src 2001:db8::/32 = 2", true),
        ("host 2001:db8::/127 = 2", true),
        ("dst 2001:db8::/127 = 2", false),
        ("net 0.0.0.0/0 = 2", false),
    ] {
        assert_eq!(matches(rule, &headers), expected, "{rule}");
    }
}

#[test]
fn protocols_and_code_points_match() {
    let headers = udp6(46 << 2, 53);
    for rule in [
        "proto udp = 3",
        "proto 17 = 3",
        "udp = 3",
        "proto UDP = 3",
        "dscp 46 = 20",
        "dscp ef = 20",
        "dscp EF = 20",
    ] {
        assert!(matches(rule, &headers), "{rule}");
    }
    for rule in ["proto tcp = 3", "tcp = 3", "dscp 0 = 20", "dscp af41 = 20"] {
        assert!(!matches(rule, &headers), "{rule}");
    }
}

#[test]
fn all_conditions_must_hold() {
    let headers = tcp(A, B, 51_000, 80);
    for (rule, expected) in [
        ("src 10.0.0.1 and dst port 80 = 3", true),
        ("src 10.0.0.2 and dst port 80 = 3", false),
        ("src 10.0.0.1 and dst port 81 = 3", false),
        ("tcp dst port 80 = 8", true),
        ("udp dst port 80 = 8", false),
        ("tcp and port 80 and dscp be and host 10.0.0.2 = 8", true),
        ("  tcp\tport   80=8 ", true),
    ] {
        assert_eq!(matches(rule, &headers), expected, "{rule}");
    }
}

#[test]
fn packets_without_ports_match_no_port_rule() {
    let icmp = parse(LinkType::RAW, &ipv4(1, A, B, &[0; 8])).unwrap();
    assert!(!matches("port 0 = 2", &icmp) && !matches("portrange 0-65535 = 2", &icmp));
    assert!(matches("icmp = 2", &icmp));
}

#[test]
fn the_first_rule_that_matches_decides() {
    let mut rules = WeightRules::default();
    for rule in ["dst port 443 = 10", "tcp = 3", "host 10.0.0.1 = 1024"] {
        rules.push(rule_of(rule));
    }
    assert_eq!(rules.weight(Some(&tcp(A, B, 1, 443))), 10);
    assert_eq!(rules.weight(Some(&tcp(A, B, 1, 80))), 3);
    assert_eq!(rules.weight(Some(&udp6(0, 53))), 1);
    assert_eq!(
        (
            rules.weight(None),
            rules.rules().len(),
            rules.rules()[2].weight()
        ),
        (1, 3, Some(1024))
    );
}

#[test]
fn bad_rules_say_where_and_what_is_expected() {
    let conditions = "src, dst, host, net, port, portrange, proto, dscp or a protocol such as tcp";
    let weight = "a weight from 1 to 65535";
    for (rule, column, found, expected) in [
        ("", 1, "the end", conditions),
        ("= 3", 1, "`=`", conditions),
        ("dest port 443 = 10", 1, "`dest`", conditions),
        (
            "dst prt 443 = 10",
            5,
            "`prt`",
            "port, portrange, host, net or an address",
        ),
        ("dst port 70000 = 10", 10, "`70000`", "a port: 0 to 65535"),
        ("dst port https = 10", 10, "`https`", "a port: 0 to 65535"),
        ("port -1 = 10", 6, "`-1`", "a port: 0 to 65535"),
        (
            "portrange 9-3 = 10",
            11,
            "`9-3`",
            "two ports, the lower first, such as 6000-6999",
        ),
        (
            "src 10.0.0.256 = 1",
            5,
            "`10.0.0.256`",
            "an address such as 10.0.0.1, 10.0.0.0/8 or 2001:db8::1",
        ),
        (
            "src 10.0.0.0/33 = 1",
            5,
            "`10.0.0.0/33`",
            "a prefix length from 0 to 32",
        ),
        (
            "src 2001:db8::/129 = 1",
            5,
            "`2001:db8::/129`",
            "a prefix length from 0 to 128",
        ),
        (
            "src 10.1.2.3/8 = 1",
            5,
            "`10.1.2.3/8`",
            "10.0.0.0/8 (no bits set after the prefix)",
        ),
        (
            "host = 1",
            6,
            "`=`",
            "an address such as 10.0.0.1, 10.0.0.0/8 or 2001:db8::1",
        ),
        (
            "proto quic = 1",
            7,
            "`quic`",
            "a protocol: 0 to 255, or a name such as tcp, udp, icmp",
        ),
        (
            "proto 256 = 1",
            7,
            "`256`",
            "a protocol: 0 to 255, or a name such as tcp, udp, icmp",
        ),
        (
            "dscp 64 = 1",
            6,
            "`64`",
            "a code point: 0 to 63, or a name such as ef, af41, cs1",
        ),
        ("dst port 443", 13, "the end", "`and` or `=`"),
        ("dst port 443 10", 14, "`10`", "`and` or `=`"),
        ("dst port 443 src port 1 = 3", 14, "`src`", "`and` or `=`"),
        ("dst port 443 and = 3", 18, "`=`", conditions),
        ("dst port 443 =", 15, "the end", weight),
        ("dst port 443 = 0", 16, "`0`", weight),
        ("dst port 443 = 65536", 16, "`65536`", weight),
        ("dst port 443 = -1", 16, "`-1`", weight),
        ("dst port 443 = 1.5", 16, "`1.5`", weight),
        ("dst port 443 = NaN", 16, "`NaN`", weight),
        (
            "dst port 443 = 9223372036854775808",
            16,
            "`9223372036854775808`",
            weight,
        ),
        ("dst port 443 = 3 4", 18, "`4`", "the end of the rule"),
        ("dst port 443 == 3", 15, "`=`", weight),
        ("größe 3 = 1", 1, "`größe`", conditions),
        ("tcp and größe = 1", 9, "`größe`", conditions),
    ] {
        let message = WeightRules::parse_rule(rule).unwrap_err().to_string();
        assert_eq!(
            message,
            format!("rule `{rule}`: column {column}: found {found}; expected {expected}")
        );
    }
}

#[test]
fn or_and_not_say_what_to_do_instead() {
    let message = WeightRules::parse_rule("port 80 or port 443 = 3")
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("column 9: found `or` (not supported: write one rule for each case, the first that matches decides)"),
        "{message}"
    );
    assert!(
        WeightRules::parse_rule("not port 80 = 3")
            .unwrap_err()
            .to_string()
            .contains("found `not` (not supported")
    );
}

const FILE: &str = r#"
# Shares of the uplink.
default = 2

[[weight]]
match = "dst port 443"
weight = 10

[[weight]]
match = "udp"
weight = 1024
"#;

#[test]
fn a_file_of_rules() {
    let rules = WeightRules::from_toml("weights.toml", FILE).unwrap();
    assert_eq!(rules.weight(Some(&tcp(A, B, 1, 443))), 10);
    assert_eq!(rules.weight(Some(&udp6(0, 443))), 10);
    assert_eq!(rules.weight(Some(&udp6(0, 53))), 1024);
    assert_eq!(
        (rules.weight(Some(&tcp(A, B, 1, 80))), rules.weight(None)),
        (2, 2)
    );
    assert_eq!(
        WeightRules::from_toml("weights.toml", "").unwrap(),
        WeightRules::default()
    );
}

#[test]
fn bad_files_name_the_line_and_the_legal_range() {
    let entry = |pattern: &str, weight: &str| {
        format!("[[weight]]\nmatch = \"{pattern}\"\nweight = {weight}\n")
    };
    for (text, expected) in [
        (
            entry("tcp", "70000"),
            "w.toml:3: weight 70000: legal range 1 to 65535",
        ),
        (
            entry("tcp", "0"),
            "w.toml:3: weight 0: legal range 1 to 65535",
        ),
        (
            entry("tcp", "-9223372036854775808"),
            "w.toml:3: weight -9223372036854775808: legal range 1 to 65535",
        ),
        (
            "\ndefault = 65536".to_owned(),
            "w.toml:2: default 65536: legal range 1 to 65535",
        ),
        (
            entry("dst prt 443", "1"),
            "w.toml:2: rule `dst prt 443`: column 5: found `prt`; expected port, portrange, host, net or an address",
        ),
        (
            entry("tcp = 3", "1"),
            "w.toml:2: rule `tcp = 3`: column 5: found `=`; expected `and` or the end",
        ),
        (
            entry("tcp", "1") + &entry("", "1"),
            "w.toml:5: rule ``: column 1: found the end; \
             expected src, dst, host, net, port, portrange, proto, dscp or a protocol such as tcp",
        ),
    ] {
        assert_eq!(
            WeightRules::from_toml("w.toml", &text)
                .unwrap_err()
                .to_string(),
            expected
        );
    }
}

#[test]
fn a_rule_may_say_more_than_a_weight() {
    let text = "[[weight]]\nmatch = \"tcp\"\nweight = 3\npriority = 2\nslack = \"20ms\"\ndeadline = \"0.5s\"\n\n\
                [[weight]]\nmatch = \"udp\"\nweight = 1\n";
    let rules = WeightRules::from_toml("w.toml", text).unwrap();
    let urgency = rules.rules()[0].urgency();
    assert_eq!(
        urgency,
        Urgency {
            priority: Some(2),
            slack: Duration::from_millis(20),
            deadline: Some(Duration::from_millis(500))
        }
    );
    assert_eq!(rules.rules()[1].urgency(), Urgency::default());
    assert_eq!(
        (
            rules.rule_index(Some(&tcp(A, B, 1, 2))),
            rules.rule_index(Some(&udp6(1, 2))),
            rules.rule_index(None)
        ),
        (Some(0), Some(1), None)
    );
    for (line, expected) in [
        (
            "priority = -1",
            "w.toml:4: priority -1: legal range 0 to 4294967295",
        ),
        ("slack = \"fast\"", "w.toml:4: slack: cannot read 'fast'"),
        (
            "deadline = \"5 parsecs\"",
            "w.toml:4: deadline: cannot read",
        ),
        (
            "deadlin = \"5ms\"",
            "w.toml:4: unknown field `deadlin` (did you mean 'deadline'?), expected one of `match`, `weight`, `priority`, `slack`, `deadline`",
        ),
    ] {
        let text = format!("[[weight]]\nmatch = \"tcp\"\nweight = 3\n{line}\n");
        let message = WeightRules::from_toml("w.toml", &text)
            .unwrap_err()
            .to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn a_rule_says_any_one_of_four_things() {
    for line in [
        "weight = 9",
        "priority = 2",
        "slack = \"20ms\"",
        "deadline = \"50ms\"",
    ] {
        let text = format!(
            "default = 3\n[[weight]]\nmatch = \"tcp\"\n{line}\n\n[[weight]]\nmatch = \"tcp\"\nweight = 7\n"
        );
        let rules = WeightRules::from_toml("w.toml", &text).unwrap();
        let headers = tcp(A, B, 1, 2);
        assert_eq!(
            rules.rule_index(Some(&headers)),
            Some(0),
            "{line}: the first rule decides"
        );
        let weight = if line.starts_with("weight") { 9 } else { 3 };
        assert_eq!(
            (rules.weight(Some(&headers)), rules.rules()[0].weight()),
            (weight, (weight == 9).then_some(9)),
            "{line}"
        );
        assert_eq!(
            rules.rules()[0].urgency() == Urgency::default(),
            weight == 9,
            "{line}"
        );
    }
}

#[test]
fn bad_toml_names_the_line() {
    for (text, line, word) in [
        (
            "[[weight]]\nmatch = \"tcp\"\nweight = 1.5\n",
            3,
            "weight 1.5: expected a whole number, legal range 1 to 65535",
        ),
        (
            "[[weight]]\nmatch = \"tcp\"\nweight = nan\n",
            3,
            "weight nan: expected a whole number, legal range 1 to 65535",
        ),
        (
            "[[weight]]\nmatch = \"tcp\"\nweigth = 1\n",
            3,
            "unknown field `weigth` (did you mean 'weight'?)",
        ),
        (
            "# rules\n[[weights]]\nmatch = \"tcp\"\nweight = 1\n",
            2,
            "unknown field `weights` (did you mean 'weight'?), expected `default` or `weight`",
        ),
        (
            "\n[[weight]]\nmatch = \"tcp\"\n",
            3,
            "the rule sets nothing: expected weight, priority, slack or deadline",
        ),
        ("[[weight]]\nweight = 3\n", 1, "missing field `match`"),
        (
            "[[weight]]\nmatch = \"tcp\"\nmatch = \"udp\"\n",
            3,
            "duplicate key",
        ),
        (
            "default = 99999999999999999999\n",
            1,
            "default 99999999999999999999: expected a whole number, legal range 1 to 65535",
        ),
        ("default = [1]\n", 1, "default [1]: expected a whole number"),
        (
            "[[weight]]\nmatch = 80\n",
            2,
            "match 80: expected a text in quotes",
        ),
        (
            "[[weight]]\nmatch = \"tcp\"\nslack = 20\n",
            3,
            "slack 20: expected a text in quotes",
        ),
        (
            "weight = 3\n",
            1,
            "weight 3: expected a list in brackets, or tables headed [[weight]]",
        ),
        (
            "[weight]\nmatch = \"udp\"\n",
            1,
            "weight [weight]: expected a list in brackets, or tables headed [[weight]]",
        ),
        (
            "default = 5\n[weight]\n",
            2,
            "weight [weight]: expected a list in brackets, or tables headed [[weight]]",
        ),
        (
            "weight = [[\"tcp\", 3]]\n",
            1,
            "weight [\"tcp\", 3]: expected a table",
        ),
        ("a = [[[[", 1, "not legal TOML"),
    ] {
        let message = WeightRules::from_toml("w.toml", text)
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with(&format!("w.toml:{line}: ")) && message.contains(word),
            "{message}"
        );
    }
}

#[test]
fn deep_nesting_is_refused() {
    let text = format!("a = {}", "[".repeat(100_000));
    assert!(WeightRules::from_toml("w.toml", &text).is_err());
}

proptest! {
    #[test]
    fn any_text_gives_rules_or_an_error(
        text in "\\PC{0,60}",
        words in prop::collection::vec(prop::sample::select(vec![
            "src", "dst", "port", "net", "tcp", "and", "=", "3", "10.0.0.0/8", "::/0", "dscp", "ef", "proto", "portrange", "1-2",
        ]), 0..8),
    ) {
        for rule in [text.clone(), words.join(" "), format!("{} {text}", words.join(" "))] {
            if let Err(error) = WeightRules::parse_rule(&rule) {
                prop_assert!(error.column <= rule.chars().count() + 1);
            }
            let _ = WeightRules::from_toml("w.toml", &rule);
        }
    }

    /// A network contains the addresses with the same first bits; reference: bit by bit.
    #[test]
    fn networks_compare_the_first_bits(address in any::<u32>(), network in any::<u32>(), prefix in 0..=32_u32) {
        let same = (0..prefix).all(|bit| address.rotate_left(bit) >> 31 == network.rotate_left(bit) >> 31);
        let kept = (0..32).filter(|bit| *bit < prefix).fold(0, |kept, bit| kept | (network & (1 << (31 - bit))));
        let rule = format!("src {}/{prefix} = 2", std::net::Ipv4Addr::from(kept));
        prop_assert_eq!(matches(&rule, &tcp(address.to_be_bytes(), B, 1, 2)), same);
    }
}
