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
