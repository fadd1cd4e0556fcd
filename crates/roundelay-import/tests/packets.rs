//! Packets go to the leaf of the class to which the script's filters send them in Linux.

use std::net::IpAddr;

use roundelay::{Ecn, FlowId, Instant, Packet, Scheduler as _, Seed};
use roundelay_import::{Settings, import};
use roundelay_trace::{Headers, Ports, TreeFile};

use crate::scripts::imported;

/// `PROTOCOL SOURCE:PORT DESTINATION:PORT DSCP`, by numbers; addresses without brackets.
fn headers(text: &str) -> Headers {
    let words: Vec<&str> = text.split(' ').collect();
    let end = |word: &str| {
        let (address, port) = word.rsplit_once(':').expect("a port");
        let address: IpAddr = address.parse().expect("an address");
        (address, port.parse::<u16>().expect("a port"))
    };
    let ((source, source_port), (destination, destination_port)) = (end(words[1]), end(words[2]));
    Headers {
        source,
        destination,
        protocol: words[0].parse().expect("a protocol"),
        source_port,
        destination_port,
        ports: Ports::Present,
        dscp: words[3].parse().expect("a code point"),
        ecn: Ecn::NotCapable,
    }
}

#[test]
fn packets_go_where_filters_send_them() {
    for (script, packet, leaf) in [
        // A code point of a filter, another one, and IPv6, which `protocol ip` does not match.
        ("simple.sh", "17 10.0.0.1:9 10.0.0.2:9 46", "1:11"),
        ("simple.sh", "17 10.0.0.1:9 10.0.0.2:9 8", "1:13"),
        ("simple.sh", "17 10.0.0.1:9 10.0.0.2:9 10", "1:12"),
        ("simple.sh", "17 2001:db8::1:9 2001:db8::2:9 46", "1:12"),
        // Filters of an inner class come after the one that leads there; else the default.
        ("fireqos.sh", "17 192.168.3.7:5 1.1.1.1:53 0", "1:10"),
        ("fireqos.sh", "6 192.168.3.7:80 1.1.1.1:5 0", "1:22"),
        ("fireqos.sh", "6 192.168.3.7:81 1.1.1.1:5 0", "1:21"),
        ("fireqos.sh", "6 192.168.4.7:80 1.1.1.1:5 0", "1:5000"),
        // qdiscs inside classes have filters and a priomap of their own.
        ("office.sh", "6 9.9.9.9:443 10.1.2.3:7 0", "10:1"),
        ("office.sh", "17 9.9.9.9:443 10.1.2.3:7 0", "10:2"),
        ("office.sh", "17 9.9.9.9:7 10.2.2.3:5000 0", "20:1"),
        ("office.sh", "17 9.9.9.9:7 10.2.2.3:5001 4", "20:1"),
        ("office.sh", "17 9.9.9.9:7 10.2.2.3:5001 46", "20:2"),
        ("office.sh", "6 9.9.9.9:443 10.3.2.3:7 0", "1:30"),
        // Of two filters without a priority the one that was added later is tried first.
        ("drr.sh", "6 9.9.9.9:443 10.3.2.3:7 0", "1:1"),
        ("drr.sh", "6 9.9.9.9:443 11.3.2.3:7 0", "1:2"),
        ("qfq_ets.sh", "17 9.9.9.9:443 11.3.2.3:5999 0", "1:1"),
        ("qfq_ets.sh", "6 9.9.9.9:443 11.3.2.3:5999 46", "2:1"),
        ("qfq_ets.sh", "6 9.9.9.9:443 11.3.2.3:5999 0", "2:3"),
        (
            "qfq_ets.sh",
            "6 2001:db8::1:9 2001:db8::2:9 0",
            "1:unclassified",
        ),
        ("traps.sh", "6 9.9.9.9:5 11.3.2.3:80 0", "1:10"),
        ("traps.sh", "6 9.9.9.9:5 11.3.2.3:81 0", "1:direct"),
        ("qosmate.sh", "6 2001:db8::1:9 2001:db8::2:9 8", "1:15"),
        ("qosmate.sh", "17 9.9.9.9:5 11.3.2.3:3074 8", "1:11"),
        ("wonder_shaper.sh", "6 9.9.9.9:5 11.3.2.3:25 0", "1:30"),
        ("wonder_shaper.sh", "1 9.9.9.9:5 11.3.2.3:25 0", "1:10"),
        ("libreqos.sh", "6 9.9.9.9:5 100.64.0.5:25 0", "1:5"),
    ] {
        let tree = imported(script, None).tree;
        let tree = TreeFile::from_toml("tree.toml", &tree).expect("a tree");
        assert_eq!(
            tree.leaf(Some(&headers(packet))),
            leaf,
            "{script}: {packet}"
        );
    }
}

/// Seen in Linux 6.18: the first filter without a priority has 49152, the next one 49151.
#[test]
fn filters_without_a_priority_come_behind_those_with_one() {
    let text = "tc qdisc add dev eth0 root handle 1: htb default 3
tc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit
tc class add dev eth0 parent 1: classid 1:2 htb rate 1mbit
tc class add dev eth0 parent 1: classid 1:3 htb rate 1mbit
tc filter add dev eth0 parent 1: prio 1 protocol ip u32 match ip dport 53 0xffff flowid 1:1
tc filter add dev eth0 parent 1: protocol ip u32 match ip protocol 17 0xff flowid 1:2
tc filter add dev eth0 parent 1: protocol ip u32 match ip dport 54 0xffff flowid 1:3
";
    let tree = import(&Settings::default(), text).expect("a tree").tree;
    let tree = TreeFile::from_toml("tree.toml", &tree).expect("a tree");
    for (port, leaf) in [(53, "1:1"), (54, "1:3"), (55, "1:2")] {
        let packet = headers(&format!("17 10.0.0.1:9 10.0.0.2:{port} 0"));
        assert_eq!(tree.leaf(Some(&packet)), leaf, "port {port}");
    }
}

/// Classes 1:1 to 1:4 by the marks 1 to 4, then EF to 1:5 and CS1 to 1:6; others to 1:9.
const CLASSES: &str = "tc qdisc add dev eth0 root handle 1: htb default 9
for i in 1 2 3 4 5 6 9; do tc class add dev eth0 parent 1: classid 1:$i htb rate 1mbit; done
for i in 1 2 3 4; do tc filter add dev eth0 parent 1: prio $i handle $i fw flowid 1:$i; done
tc filter add dev eth0 parent 1: protocol ip prio 5 u32 match ip tos 0xb8 0xfc flowid 1:5
tc filter add dev eth0 parent 1: protocol ip prio 6 u32 match ip tos 0x20 0xfc flowid 1:6
";

/// Packets, as `headers` takes them, and the leaves to which a packet filter's rules lead. Returns the
/// tree's reserves, but for those on filters.
#[track_caller]
fn assert_marked(rules: &str, packets: &[(&str, &str)]) -> String {
    let settings = Settings::default();
    let imported = import(&settings, &format!("{CLASSES}{rules}")).expect("a tree");
    let tree = TreeFile::from_toml("tree.toml", &imported.tree).expect("a tree");
    for (packet, leaf) in packets {
        let found = tree.leaf(Some(&headers(packet)));
        assert_eq!(found, *leaf, "{packet}\n{}", imported.tree);
    }
    let mut reserves = tree.reserves().to_vec();
    reserves.retain(|text| !text.contains("this filter is left out"));
    reserves.join("\n")
}

/// A file of nft: tables, chains with their hooks, sets, variables.
const RULES: &str = "nft -f - <<'END'
#!/usr/sbin/nft -f
flush ruleset
define calls = { 5060, 5061 }
table inet fw {
    set slow { type ipv4_addr; flags interval
        elements = { 10.0.0.7,
                     10.1.0.0/16 }
    }
    counter all { packets 0 bytes 0 }
    chain post {
        type filter hook postrouting priority mangle; policy accept;
        udp dport $calls counter packets 3 bytes 4 meta mark set 0x1 comment \"calls # all\"
        ip saddr @slow jump slowly; meta l4proto tcp tcp dport { 80, 443 } meta mark set 3
        oifname \"wan\" meta mark set 4
    }
    chain slowly { meta mark set 2 }
    chain in { type filter hook input priority 0; udp dport 5060 meta mark set 4; }
    chain never { meta mark set 4 }
    chain last { type filter hook postrouting priority mangle + 10;
        udp dport 53 meta mark set 2
    }
    chain first { type filter hook forward priority 300;
        udp dport { 53, 54 } meta mark set 4
    }
}
END
";

#[test]
fn files_of_nft_are_read() {
    let packets = [
        ("17 10.0.0.1:9 10.0.0.2:5061 0", "1:1"),
        ("17 10.0.0.7:9 10.0.0.2:5061 0", "1:2"),
        ("17 10.1.3.4:9 10.0.0.2:9 0", "1:2"),
        ("6 10.1.3.4:9 10.0.0.2:443 0", "1:3"),
        ("6 2001:db8::1:9 2001:db8::2:80 0", "1:3"),
        // A chain of another hook, one that nobody enters, and another interface mark nothing here.
        ("6 10.0.0.1:9 10.0.0.2:22 0", "1:9"),
        // The hook decides first, then the priority.
        ("17 10.0.0.1:9 10.0.0.2:54 0", "1:4"),
        ("17 10.0.0.1:9 10.0.0.2:53 0", "1:2"),
        ("6 10.0.0.1:9 10.0.0.2:22 46", "1:5"),
    ];
    let reserves = assert_marked(RULES, &packets);
    assert!(reserves.is_empty(), "{reserves}");
    // From a file that the script writes, and from a pipe; as commands in one word, too.
    let written = RULES.replace("nft -f - ", "cat > /tmp/rules.nft ");
    assert_marked(&format!("{written}nft -f /tmp/rules.nft\n"), &packets);
    let one = "nft 'add table inet fw; add chain inet fw post { type filter hook postrouting \
               priority 0; }; add rule inet fw post udp dport { 5060, 5061 } meta mark set 1'\n";
    assert_marked(one, &packets[..1]);
    for rules in [
        "nft -f /etc/fw.nft\n",
        "nft -f - <<'E'\ninclude \"/etc/fw.nft\"\nE\n",
    ] {
        let reserves = assert_marked(rules, &[]);
        assert!(reserves.contains("reads from /etc/fw.nft"), "{reserves}");
    }
    for how in ["-nf", "-a -f", "--file", "-D x=1 --file"] {
        let rules = RULES.replace("nft -f", &format!("nft {how}"));
        let reserves = assert_marked(&rules, &packets);
        assert!(reserves.is_empty(), "{how}: {reserves}");
    }
    let rules = format!("{written}nft --file=/tmp/rules.nft\n");
    assert_marked(&rules, &packets);
    // Nothing but a check.
    for check in ["-c -f", "-cf", "--check -f"] {
        let rules = RULES.replace("nft -f", &format!("nft {check}"));
        assert_marked(&rules, &[("17 10.0.0.1:9 10.0.0.2:5061 0", "1:9")]);
    }
    let options = "nft -a add rule ip fw post udp dport 5061 mark set 1\nnft -D p=5062 -f - <<'E'\n\
                   add rule ip fw post udp dport $p mark set 2\nE\n";
    let last = ("17 10.0.0.1:9 10.0.0.2:5062 0", "1:2");
    let reserves = assert_marked(options, &[packets[0], last]);
    assert!(reserves.is_empty(), "{reserves}");
    let include = "nft -f - <<'E'\ninclude \"/etc/fw.nft\"\nE\n";
    let reserves = assert_marked(include, &[]);
    assert!(!reserves.contains("--run"), "{reserves}");
    // A set of which nothing is known, a map, interfaces that may be ours, chains without a name.
    for rule in [
        "oifname @wans meta mark set 1",
        "oifname vmap { eth0 : jump never }; udp dport 53 meta mark set 1",
        "ip protocol vmap { udp : jump never }; udp dport 53 meta mark set 1",
        "iifname { \"eth0\", \"lan\" } meta mark set 1",
        "udp dport 53 jump { meta mark set 1; }",
        "ip saddr @hosts meta mark set 1",
        "meta mark set ip dscp map { ef : 1 }",
    ] {
        let rules = format!("nft -f - <<'E'\ntable inet fw {{ chain post {{\n{rule}\n}} }}\nE\n");
        let reserves = assert_marked(&rules, &[("17 10.0.0.1:9 10.0.0.2:9 0", "1:9")]);
        assert!(
            reserves.contains("this rule of nft is left out"),
            "{reserves}"
        );
    }
}

/// Rules, chains and elements of sets are there until something removes them.
#[test]
fn what_is_removed_is_gone() {
    const TABLE: &str = "table inet fw { set ports { type inet_service; elements = { 53, 54 }; }
chain post { type filter hook forward priority 0; udp dport @ports meta mark set 1; } }\n";
    const OTHER: &str = "table inet fw { set ports { type inet_service; elements = { 99 }; }
chain post { type filter hook postrouting priority 0; udp dport @ports meta mark set 1; } }\n";
    let of = |port: u16| format!("17 10.0.0.1:9 10.0.0.2:{port} 0");
    for (rules, [first, second, third]) in [
        (
            format!("{TABLE}flush set inet fw ports\nadd element inet fw ports {{ 99 }}"),
            ["1:9", "1:9", "1:1"],
        ),
        (
            format!("{TABLE}delete element inet fw ports {{ 53 }}"),
            ["1:9", "1:1", "1:9"],
        ),
        (
            format!("{TABLE}delete table inet fw\n{OTHER}"),
            ["1:9", "1:9", "1:1"],
        ),
        (
            format!("{TABLE}destroy table inet fw\n{OTHER}"),
            ["1:9", "1:9", "1:1"],
        ),
        (
            format!("{TABLE}flush ruleset\n{OTHER}"),
            ["1:9", "1:9", "1:1"],
        ),
        (format!("{TABLE}flush ruleset ip6"), ["1:1", "1:1", "1:9"]),
        // The sets of a table that is flushed stay, and so do its chains with their hooks.
        (
            format!(
                "{TABLE}flush table inet fw\nadd rule inet fw post udp dport @ports mark set 1"
            ),
            ["1:1", "1:1", "1:9"],
        ),
        // A chain that was deleted is not at its old hook.
        (
            format!(
                "{TABLE}delete chain inet fw post\nadd chain inet fw post\n\
                 add rule inet fw post udp dport @ports mark set 1"
            ),
            ["1:9", "1:9", "1:9"],
        ),
    ] {
        let script = format!("nft -f - <<'E'\n{rules}\nE\n");
        let [a, b, c] = [53, 54, 99].map(of);
        let reserves = assert_marked(&script, &[(&a, first), (&b, second), (&c, third)]);
        assert!(reserves.is_empty(), "{rules}: {reserves}");
    }
    let rule = "-t mangle -A POSTROUTING -p udp -j MARK --set-mark 1";
    for (then, leaf) in [
        ("iptables -t mangle -F", "1:9"),
        ("iptables -t mangle -F POSTROUTING", "1:9"),
        ("iptables -t mangle -F FORWARD", "1:1"),
        ("iptables -F", "1:1"),
        ("ip6tables -t mangle -F", "1:1"),
        (
            "iptables -w 2 -t mangle -D POSTROUTING -p udp -j MARK --set-mark 1",
            "1:9",
        ),
        (
            "iptables -t mangle -D POSTROUTING -p udp -j MARK --set-mark 2",
            "1:1",
        ),
    ] {
        let rules = format!("iptables {rule}\n{then}\n");
        let reserves = assert_marked(&rules, &[(&of(53), leaf)]);
        assert!(reserves.is_empty(), "{then}: {reserves}");
    }
    for then in [
        "iptables -t mangle -D POSTROUTING 1",
        "iptables -t mangle -R POSTROUTING 1 -p tcp -j MARK --set-mark 2",
        "nft add rule ip fw post tcp dport 7 mark set 1\nnft delete rule ip fw post handle 4",
        "nft replace rule ip mangle POSTROUTING handle 4 meta mark set 2",
    ] {
        let reserves = assert_marked(&format!("iptables {rule}\n{then}\n"), &[]);
        assert!(reserves.contains("by a number"), "{then}: {reserves}");
    }
}

/// Every interface but one that is named, of which this may be one.
#[test]
fn rules_of_nft_name_interfaces_that_are_not_meant() {
    for (rule, leaf) in [
        ("oifname != \"wan\" udp dport 53 meta mark set 1", "1:1"),
        ("oifname != \"eth0\" udp dport 53 meta mark set 1", "1:9"),
        ("oifname != \"eth*\" udp dport 53 meta mark set 1", "1:9"),
        (
            "oifname != { \"wan\", \"lan\" } udp dport 53 meta mark set 1",
            "1:1",
        ),
        ("oifname == \"eth0\" udp dport 53 meta mark set 1", "1:1"),
        ("oif ne wan udp dport 53 meta mark set 1", "1:1"),
        ("iifname != eth0 udp dport 53 meta mark set 1", "1:1"),
    ] {
        let rules = format!(
            "nft -f - <<'E'\ntable inet fw {{ chain post {{ type filter hook forward priority 0;\n{rule}\n}} }}\nE\n"
        );
        let reserves = assert_marked(&rules, &[("17 10.0.0.1:9 10.0.0.2:53 0", leaf)]);
        assert!(reserves.is_empty(), "{rule}: {reserves}");
    }
    let old = "iptables -t mangle -A POSTROUTING -o ! wan -p udp -j MARK --set-mark 1\n";
    assert!(assert_marked(old, &[]).contains("left out"));
}

/// What leaves by the interface passes PREROUTING or OUTPUT, FORWARD and POSTROUTING, and not INPUT.
#[test]
fn rules_count_at_the_hooks_that_packets_pass() {
    let rules = "iptables -t mangle -A POSTROUTING -p udp --dport 3 -j MARK --set-mark 3
iptables -t mangle -A FORWARD -p udp -j MARK --set-mark 2
iptables -t mangle -A PREROUTING -p udp --dport 1 -j MARK --set-mark 1
iptables -t mangle -A PREROUTING -p tcp -j MARK --set-mark 1
iptables -t mangle -A OUTPUT -p 132 -j MARK --set-mark 4
iptables -t mangle -A INPUT -j MARK --set-mark 4
nft add chain ip fw pre '{ type filter hook prerouting priority -400 ; }'
nft add rule ip fw pre tcp dport 7 meta mark set 3
";
    let reserves = assert_marked(
        rules,
        &[
            ("17 10.0.0.1:9 10.0.0.2:3 0", "1:3"),
            ("17 10.0.0.1:9 10.0.0.2:1 0", "1:2"),
            ("6 10.0.0.1:9 10.0.0.2:1 0", "1:1"),
            ("132 10.0.0.1:9 10.0.0.2:4 0", "1:4"),
            ("6 10.0.0.1:9 10.0.0.2:7 0", "1:1"),
            ("1 10.0.0.1:9 10.0.0.2:7 0", "1:9"),
        ],
    );
    assert!(reserves.is_empty(), "{reserves}");
}

/// Packets that are forwarded never pass OUTPUT, so rules there do not decide about them.
#[test]
fn forwarded_packets_do_not_pass_output() {
    let output = "iptables -t mangle -A OUTPUT -p udp -j DSCP --set-dscp-class EF\n";
    let udp = "17 10.0.0.1:9 10.0.0.2:9 0";
    for chain in ["PREROUTING", "FORWARD"] {
        let other = format!("iptables -t mangle -A {chain} -p udp -j DSCP --set-dscp-class CS1\n");
        for rules in [format!("{output}{other}"), format!("{other}{output}")] {
            let reserves = assert_marked(&rules, &[(udp, "1:6")]);
            assert!(reserves.contains("this one is of output"), "{reserves}");
        }
    }
    // A mark of OUTPUT is no mark of a forwarded packet.
    let rules = "iptables -t mangle -A OUTPUT -p udp -j MARK --set-mark 1
iptables -t mangle -A FORWARD -p udp -m mark --mark 0 -j MARK --set-mark 2
";
    let reserves = assert_marked(rules, &[(udp, "1:2")]);
    assert!(reserves.contains("this one is of output"), "{reserves}");
    // POSTROUTING is for both, and what OUTPUT alone decides is no contradiction.
    let rules = "iptables -t mangle -A OUTPUT -p udp -j MARK --set-mark 1
iptables -t mangle -A FORWARD -p tcp -j MARK --set-mark 2
iptables -t mangle -A POSTROUTING -p udp --dport 3 -j MARK --set-mark 3
";
    let packets = [(udp, "1:1"), ("17 10.0.0.1:9 10.0.0.2:3 0", "1:3")];
    let reserves = assert_marked(rules, &packets);
    assert!(reserves.is_empty(), "{reserves}");
}

/// A rule for packets without a mark writes code points over those of rules that set no mark.
#[test]
fn code_points_are_written_anew_on_packets_without_a_mark() {
    let udp = "17 10.0.0.1:9 10.0.0.2:9 0";
    let first = "iptables -t mangle -A POSTROUTING -p udp -j DSCP --set-dscp-class CS1\n";
    let asks = "iptables -t mangle -A POSTROUTING -p udp -m mark --mark 0 -j";
    let inner = "iptables -t mangle -A QOS -j DSCP --set-dscp-class EF\n";
    for second in [
        format!("{asks} DSCP --set-dscp-class EF\n"),
        format!("{asks} QOS\n{inner}"),
    ] {
        let reserves = assert_marked(&format!("{first}{second}"), &[(udp, "1:5")]);
        assert!(reserves.is_empty(), "{reserves}");
        // A mark before it keeps it away, from all its packets or from some.
        let mark = "iptables -t mangle -A POSTROUTING -p udp -j MARK --set-mark 7\n";
        let reserves = assert_marked(&format!("{first}{mark}{second}"), &[(udp, "1:6")]);
        assert!(reserves.is_empty(), "{reserves}");
        let zero = "iptables -t mangle -A POSTROUTING -p udp -j MARK --set-mark 0\n";
        let rules = format!("{first}{mark}{zero}{second}");
        assert_marked(&rules, &[(udp, "1:5")]);
        let mark = mark.replace("udp", "udp --dport 53");
        let reserves = assert_marked(&format!("{first}{mark}{second}"), &[(udp, "1:5")]);
        assert!(
            reserves.contains("for packets without a mark"),
            "{reserves}"
        );
    }
    // A mark that was taken away is none.
    let rules = "iptables -t mangle -A POSTROUTING -j MARK --set-mark 1
iptables -t mangle -A POSTROUTING -p udp -j MARK --set-mark 0
iptables -t mangle -A POSTROUTING -m mark --mark 0 -j MARK --set-mark 2
";
    let packets = [(udp, "1:2"), ("6 10.0.0.1:9 10.0.0.2:9 0", "1:1")];
    let reserves = assert_marked(rules, &packets);
    assert!(reserves.is_empty(), "{reserves}");
}

/// ACCEPT leaves all chains, and RETURN the one that it stands in. What is decided before them is
/// decided for a mark or for a code point, not for both.
#[test]
fn chains_end_for_what_was_decided() {
    let udp = "17 10.0.0.1:9 10.0.0.2:9 0";
    for (end, leaf) in [("ACCEPT", "1:1"), ("RETURN", "1:2")] {
        let rules = format!(
            "iptables -t mangle -A POSTROUTING -j QOS
iptables -t mangle -A POSTROUTING -p udp -j MARK --set-mark 2
iptables -t mangle -A QOS -p udp -j MARK --set-mark 1
iptables -t mangle -A QOS -p udp -j {end}
"
        );
        let reserves = assert_marked(&rules, &[(udp, leaf)]);
        assert!(reserves.is_empty(), "{end}: {reserves}");
    }
    let rules = "iptables -t mangle -A POSTROUTING -p udp -j DSCP --set-dscp-class EF
iptables -t mangle -A POSTROUTING -p udp -j RETURN
iptables -t mangle -A POSTROUTING -j MARK --set-mark 1
";
    let reserves = assert_marked(rules, &[]);
    assert!(reserves.contains("it ends its chain"), "{reserves}");
}

/// Filters see the code point that rules have written, and rules that which those before have.
#[test]
fn code_points_are_those_that_rules_have_written() {
    let rules = "iptables -t mangle -A POSTROUTING -p udp --dport 53 -j DSCP --set-dscp-class CS1
iptables -t mangle -A POSTROUTING -s 10.0.0.7 -j DSCP --set-dscp-class EF
iptables -t mangle -A POSTROUTING -p tcp -j DSCP --set-dscp 0
";
    let packets = [
        ("17 10.0.0.1:9 10.0.0.2:9 46", "1:5"),
        ("17 10.0.0.1:9 10.0.0.2:9 8", "1:6"),
        ("17 10.0.0.1:9 10.0.0.2:53 46", "1:6"),
        ("17 10.0.0.1:9 10.0.0.2:53 0", "1:6"),
        ("17 10.0.0.7:9 10.0.0.2:53 8", "1:5"),
        ("6 10.0.0.7:9 10.0.0.2:53 46", "1:9"),
        ("6 10.0.0.1:9 10.0.0.2:53 8", "1:9"),
        // A rule of IPv4.
        ("6 2001:db8::1:9 2001:db8::2:9 8", "1:9"),
    ];
    let reserves = assert_marked(rules, &packets);
    assert!(reserves.is_empty(), "{reserves}");
    // All code points go behind rules that still saw them.
    let reserves = assert_marked(
        "iptables -t mangle -A OUTPUT -p udp --dport 123 -j DSCP --set-dscp-class AF42
iptables -t mangle -A POSTROUTING -m dscp --dscp-class AF42 -j MARK --set-mark 1
iptables -t mangle -A POSTROUTING -m dscp --dscp-class CS1 -j MARK --set-mark 2
iptables -t mangle -A POSTROUTING -j DSCP --set-dscp 0
",
        &[
            ("17 10.0.0.1:9 10.0.0.2:123 0", "1:1"),
            ("17 10.0.0.1:9 10.0.0.2:9 36", "1:1"),
            ("17 10.0.0.1:9 10.0.0.2:9 8", "1:2"),
            ("17 10.0.0.1:9 10.0.0.2:9 46", "1:9"),
        ],
    );
    assert!(
        reserves.contains("written anew"),
        "of port 123 in CS1: {reserves}"
    );
    let reserves = assert_marked(
        "iptables -t mangle -A PREROUTING -j DSCP --set-dscp 0
iptables -t mangle -A POSTROUTING -m dscp --dscp-class CS1 -j MARK --set-mark 2
",
        &[("17 10.0.0.1:9 10.0.0.2:9 8", "1:9")],
    );
    assert!(reserves.is_empty(), "{reserves}");
}

/// Packets of no class leave before those of any class, whatever its prio and its rate, and without
/// a class's rate.
#[test]
fn direct_packets_leave_before_all_classes() {
    let imported = imported("traps.sh", None).tree;
    let written = TreeFile::from_toml("tree.toml", &imported).expect("a tree");
    let mut plan = written.config().clone();
    plan.assign(FlowId(1), "1:10").expect("a leaf");
    plan.assign(FlowId(2), "1:direct").expect("a leaf");
    let mut tree = plan.build_tree(Seed::new(1)).expect("a legal tree");
    for (flow, name) in [
        (1, "class"),
        (1, "class"),
        (2, "direct"),
        (2, "direct"),
        (2, "direct"),
    ] {
        let packet = Packet::new(FlowId(flow), 1500, name);
        tree.enqueue(Instant::ZERO, packet).expect("room");
    }
    let sent = core::iter::from_fn(|| tree.dequeue(Instant::ZERO)).map(|packet| packet.payload);
    let sent: Vec<_> = sent.collect();
    assert_eq!(sent[..4], ["direct", "direct", "direct", "class"]);
}

/// A mark that no filter asks for takes packets from a mark that one asks for: they go on behind the
/// filters on marks.
#[test]
fn a_later_mark_without_a_filter_undoes_an_earlier_one() {
    let rules = "iptables -t mangle -A POSTROUTING -p udp -j MARK --set-mark 1
iptables -t mangle -A POSTROUTING -p udp --dport 7 -j MARK --set-mark 99
iptables -t mangle -A POSTROUTING -p udp --dport 8 -j MARK --set-mark 0
iptables -t mangle -A POSTROUTING -p tcp -j MARK --set-mark 98
";
    let reserves = assert_marked(
        rules,
        &[
            ("17 10.0.0.1:9 10.0.0.2:9 0", "1:1"),
            ("17 10.0.0.1:9 10.0.0.2:7 0", "1:9"),
            ("17 10.0.0.1:9 10.0.0.2:8 0", "1:9"),
            ("17 10.0.0.1:9 10.0.0.2:7 46", "1:5"),
            ("17 10.0.0.1:9 10.0.0.2:9 46", "1:1"),
            ("6 10.0.0.1:9 10.0.0.2:7 46", "1:5"),
        ],
    );
    assert!(reserves.is_empty(), "{reserves}");
}

/// In a table for both versions, a header of one is in packets of this one alone.
#[test]
fn headers_of_a_version_are_in_its_packets_alone() {
    let (four, six) = (
        "17 10.0.0.1:9 10.0.0.2:9 46",
        "17 2001:db8::1:9 2001:db8::2:9 46",
    );
    for (rule, leaves) in [
        ("ip dscp ef meta mark set 1", ["1:1", "1:9"]),
        ("ip6 dscp ef meta mark set 1", ["1:5", "1:1"]),
        ("ip protocol udp meta mark set 1", ["1:1", "1:9"]),
        ("meta l4proto udp meta mark set 1", ["1:1", "1:1"]),
        (
            "ip saddr 10.0.0.1 ip6 dscp ef meta mark set 1",
            ["1:5", "1:9"],
        ),
    ] {
        let rules = format!("nft add rule inet fw post {rule}\n");
        let reserves = assert_marked(&rules, &[(four, leaves[0]), (six, leaves[1])]);
        assert!(reserves.is_empty(), "{rule}: {reserves}");
    }
}

/// The kernel runs no chain of a table that sleeps, until it is added without this flag.
#[test]
fn tables_that_sleep_mark_nothing() {
    let table = "nft -f - <<'E'
table inet fw { flags dormant; chain post { type filter hook postrouting priority 0;
udp dport 7 meta mark set 1
} }
E
";
    let packet = "17 10.0.0.1:9 10.0.0.2:7 0";
    assert_marked(table, &[(packet, "1:9")]);
    assert_marked(
        &format!("{table}nft add table inet fw\n"),
        &[(packet, "1:1")],
    );
}

/// Rules that are restored are those of so many commands, and those that a table had are gone.
#[test]
fn rules_that_are_restored_count() {
    let before = "iptables -t mangle -A POSTROUTING -p tcp -j MARK --set-mark 2\n";
    let restored = |options: &str| {
        format!(
            "{before}iptables-restore{options} <<'E'
# Generated
*mangle
:POSTROUTING ACCEPT [0:0]
:calls - [0:0]
[3:120] -A POSTROUTING -p udp -m comment --comment \"to calls\" -j calls
-A calls -p udp --dport 7 -j MARK --set-mark 1
COMMIT
*nat
-A POSTROUTING -o eth0 -j MASQUERADE
COMMIT
E
"
        )
    };
    let (udp, tcp) = ("17 10.0.0.1:9 10.0.0.2:7 0", "6 10.0.0.1:9 10.0.0.2:7 0");
    let reserves = assert_marked(&restored(""), &[(udp, "1:1"), (tcp, "1:9")]);
    assert!(reserves.is_empty(), "{reserves}");
    assert_marked(&restored(" --noflush"), &[(udp, "1:1"), (tcp, "1:2")]);
    let reserves = assert_marked("iptables-restore < /etc/rules\n", &[]);
    assert!(reserves.contains("--run` reads them"), "{reserves}");
    // In a document that is expanded, quotes hold words together, too.
    let expanded = restored("").replace("<<'E'", "<<E");
    let reserves = assert_marked(&expanded, &[(udp, "1:1"), (tcp, "1:9")]);
    assert!(reserves.is_empty(), "{reserves}");
    // A test, another table, rules that nobody commits.
    for (options, from, to) in [
        (" -t", "", ""),
        (" -T nat", "", ""),
        ("", "COMMIT\n*nat", "*nat"),
    ] {
        let rules = restored(options).replace(from, to);
        assert_marked(&rules, &[(udp, "1:9")]);
    }
    assert_marked(&restored(" -wT mangle"), &[(udp, "1:1")]);
    // A chain of one's own is emptied though rules are kept.
    let kept = restored(" -n").replace(
        "-p tcp -j MARK",
        "-j calls\niptables -t mangle -A calls -p tcp -j MARK",
    );
    assert_marked(&kept, &[(udp, "1:1"), (tcp, "1:9")]);
    // What needs no rules needs no reserve.
    for quiet in [
        "iptables-restore --version\n",
        "iptables-restore -t < /etc/rules\n",
    ] {
        assert_eq!(assert_marked(quiet, &[]), "");
    }
}

#[test]
fn chains_that_are_renamed_keep_their_rules_or_are_a_reserve() {
    let renamed = "iptables -t mangle -N a\niptables -t mangle -E a b\n";
    assert_eq!(assert_marked(renamed, &[]), "", "it has no rules");
    let renamed = "iptables -t mangle -A a -p udp -j CLASSIFY --set-class 1:1
iptables -t mangle -E a POSTROUTING
";
    let reserves = assert_marked(renamed, &[]);
    assert!(reserves.contains("renames a chain"), "{reserves}");
    let rules = "nft add rule inet fw a udp dport 7 meta mark set 1
nft add rule inet fw post jump a
nft rename chain inet fw a b
nft add rule inet fw b udp dport 8 meta mark set 2
";
    let packets = [
        ("17 10.0.0.1:9 10.0.0.2:7 0", "1:1"),
        ("17 10.0.0.1:9 10.0.0.2:8 0", "1:2"),
    ];
    assert_eq!(assert_marked(rules, &packets), "");
}

/// Programs that share marks have bits of their own: a rule decides about the bits that it sets.
#[test]
fn bits_of_marks_are_apart() {
    let filters = "for i in 1 2 3 4; do tc filter del dev eth0 parent 1: prio $i; done
tc filter add dev eth0 parent 1: prio 1 handle 1/0xff fw flowid 1:1
tc filter add dev eth0 parent 1: prio 2 handle 0x100/0xf00 fw flowid 1:2
";
    let rules = "iptables -t mangle -A POSTROUTING -p udp -j MARK --set-xmark 1/0xff
iptables -t mangle -A POSTROUTING -p udp --dport 7 -j MARK --set-xmark 0x100/0x3f00
iptables -t mangle -A POSTROUTING -p tcp -j MARK --set-xmark 0x100/0x3f00
iptables -t mangle -A POSTROUTING -p tcp --dport 7 -j MARK --set-xmark 0x200/0x3f00
iptables -t mangle -A POSTROUTING -p udp --dport 8 -m mark --mark 0/0x3f00 -j CLASSIFY --set-class 1:3
iptables -t mangle -A POSTROUTING -p udp --dport 7 -m mark --mark 0/0x3f00 -j CLASSIFY --set-class 1:4
";
    let reserves = assert_marked(
        &format!("{filters}{rules}"),
        &[
            ("17 10.0.0.1:9 10.0.0.2:9 0", "1:1"),
            ("17 10.0.0.1:9 10.0.0.2:7 0", "1:1"),
            ("17 10.0.0.1:9 10.0.0.2:8 0", "1:3"),
            ("6 10.0.0.1:9 10.0.0.2:9 0", "1:2"),
            ("6 10.0.0.1:9 10.0.0.2:7 0", "1:9"),
        ],
    );
    assert!(reserves.is_empty(), "{reserves}");
    let part = "iptables -t mangle -A POSTROUTING -p udp -j MARK --set-xmark 1/0x0f\n";
    let reserves = assert_marked(&format!("{filters}{part}"), &[]);
    assert!(reserves.contains("bits of the mark"), "{reserves}");
}

/// An htb inside a class of an htb has classes and direct packets of its own, and the class above
/// limits both. `flowid 1:0` names no class, so its packets are direct although there is a `default`.
#[test]
fn an_htb_inside_an_htb_is_one_of_its_own() {
    let script = include_str!("operators/htb_in_htb.sh");
    let imported = import(&Settings::default(), script).expect("a tree").tree;
    let written = TreeFile::from_toml("tree.toml", &imported).expect("a tree");
    for (packet, leaf) in [
        ("17 10.254.0.1:9 10.255.0.1:9 46", "1:direct"),
        ("17 10.254.0.1:9 10.255.0.1:9 0", "1:30"),
        ("17 10.254.0.1:9 10.255.0.1:9 4", "10:1"),
        ("17 10.254.0.4:9 10.255.0.1:9 4", "10:2"),
        ("17 10.254.0.1:9 10.255.0.1:9 8", "10:direct"),
    ] {
        assert_eq!(written.leaf(Some(&headers(packet))), leaf, "{packet}");
    }
    let mut plan = written.config().clone();
    plan.assign(FlowId(1), "10:1").expect("a leaf");
    plan.assign(FlowId(2), "10:direct").expect("a leaf");
    let mut tree = plan.build_tree(Seed::new(1)).expect("a legal tree");
    for number in 0..100 {
        for flow in [1, 2] {
            let packet = Packet::new(FlowId(flow), 1500, number);
            tree.enqueue(Instant::ZERO, packet).expect("room");
        }
    }
    // The direct ones first, at the 6 Mbit/s of the class above. Their buckets let a packet or two
    // through at once.
    let (mut now, mut direct, mut bytes) = (Instant::ZERO, 0, 0_u64);
    while direct < 100 {
        let Some(packet) = tree.dequeue(now) else {
            now = tree.ready_at().expect("packets wait");
            continue;
        };
        assert!(packet.flow == FlowId(2), "direct packets go first");
        direct += 1;
        bytes += 1500;
        let most = now.since(Instant::ZERO).as_nanos() * 6 / 8_000 + 2 * 1_600 + 1_500;
        assert!(bytes <= most, "{bytes} bytes, at most {most}");
    }
}

/// Two without handles have direct packets of their own.
#[test]
fn nested_htbs_need_no_handles() {
    let script = "tc qdisc add dev eth0 root handle 1: htb default 10
tc class add dev eth0 parent 1: classid 1:10 htb rate 2mbit
tc class add dev eth0 parent 1: classid 1:11 htb rate 2mbit
tc qdisc add dev eth0 parent 1:10 htb
tc qdisc add dev eth0 parent 1:11 htb
";
    let imported = import(&Settings::default(), script).expect("a tree").tree;
    let tree = TreeFile::from_toml("tree.toml", &imported).expect("a tree");
    let packet = headers("17 10.0.0.1:9 10.0.0.2:9 0");
    assert_eq!(tree.leaf(Some(&packet)), "1:10 htb:direct");
}
