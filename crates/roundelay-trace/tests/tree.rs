//! Tree files: error messages with their locations, and a comparison with trees.

use roundelay::Seed;
use roundelay::tree::Service;
use std::io::Cursor;

use crate::common::planted::*;
use crate::common::*;
use roundelay_trace::{Capture, Options, TreeFile, compare, parse};

/// The message for the good tree after replacing `from` by `to`.
#[track_caller]
fn error(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from));
    tree_of(&GOOD.replacen(from, to, 1))
        .map(|tree| panic!("{tree:?}"))
        .unwrap_err()
        .to_string()
}

/// Checks the line and every word of a message.
#[track_caller]
fn assert_told(message: &str, line: usize, words: &[&str]) {
    assert!(
        message.starts_with(&format!("trees/t.toml:{line}: ")),
        "{message}"
    );
    words
        .iter()
        .for_each(|word| assert!(message.contains(word), "'{word}' in: {message}"));
}

#[test]
fn nodes_stand_in_any_order_and_the_root_is_the_one_without_a_parent() {
    let tree = tree_of(GOOD).unwrap();
    assert_eq!(tree.name(), "office");
    let names: Vec<_> = tree
        .config()
        .nodes()
        .map(|node| (node.name.as_str(), node.weight))
        .collect();
    assert_eq!(
        names,
        [
            ("link", 1),
            ("calls", 4),
            ("bulk", 1),
            ("web", 1),
            ("rest", 1)
        ]
    );
    assert_eq!(
        tree_of(&GOOD.replacen("name = \"office\"", "", 1))
            .unwrap()
            .name(),
        "t",
        "named after the file"
    );
    assert!(tree.config().build_tree::<()>(Seed::new(1)).is_ok());
}

#[test]
fn the_first_rule_that_matches_decides() {
    let tree = tree_of(GOOD).unwrap();
    let leaf = |port| {
        let frame = ethernet(0x0800, &ipv4(UDP, A, B, &ports(5000, port)));
        tree.leaf(Some(
            &parse(roundelay_trace::LinkType::ETHERNET, &frame).unwrap(),
        ))
        .to_owned()
    };
    assert_eq!([1001, 1002, 1003].map(leaf), ["calls", "web", "rest"]);
    assert_eq!(tree.leaf(None), "rest", "without headers");
}

#[test]
fn errors_name_the_line_and_the_node() {
    let node = |name: &str| format!("name = \"{name}\"");
    let parent = |name: &str| format!("parent = \"{name}\"");
    assert_told(
        &error(&parent("bulk"), &parent("bluk")),
        17,
        &["node 'web'", "no node is called 'bluk'"],
    );
    assert_told(
        &error(&node("web"), &node("calls")),
        16,
        &["node 'calls'", "another node has this name"],
    );
    assert_told(
        &error(
            "name = \"web\"\nparent = \"bulk\"",
            "name = \"web\"\nparent = \"calls\"",
        ),
        6,
        &["node 'calls'", "fifo cannot share", "wf2q_plus"],
    );
    assert_told(
        &error("weight = 4", "weight = 0"),
        7,
        &["node 'calls'", "weight 0", "1 to 65535"],
    );
    assert_told(
        &error("weight = 4", "weight = 65536"),
        7,
        &["node 'calls'", "weight 65536", "1 to 65535"],
    );
    assert_told(
        &error("weight = 4", "weight = 1025"),
        4,
        &["node 'calls'", "wf2q_plus: weight 1025", "1 to 1024"],
    );
    assert_told(
        &error("weight = 4", "weight = -1"),
        7,
        &["node 'calls'", "weight -1"],
    );
    assert_told(
        &error("weight = 4", "wait = 4"),
        7,
        &["node 'calls'", "unknown field `wait`", "weight"],
    );
    assert_told(
        &error("weight = 4", "weight = \"4\""),
        7,
        &[
            "node 'calls'",
            "weight \"4\"",
            "a whole number, legal range 1 to 65535",
        ],
    );
    assert_told(
        &error("maxpkt = 1514", "maxpkt = 70000"),
        19,
        &["node 'web'", "maxpkt 70000", "512b to 64kb"],
    );
    assert_told(
        &error("default = true", "default = false"),
        29,
        &["node 'link'", "default", "default = true"],
    );
    assert_told(
        &error("port 1002", "prt 1002"),
        20,
        &["node 'web'", "`prt`", "expected"],
    );
    assert_told(
        &error("drr", "rdr"),
        25,
        &["node 'rest'", "no discipline is called 'rdr'"],
    );
    assert_told(
        &error("target 10ms", "target 2h"),
        18,
        &["node 'web'", "target"],
    );
    assert_told(
        &error(
            "discipline = \"wf2q_plus\"",
            "discipline = \"wf2q_plus limit 9\"",
        ),
        13,
        &["node 'bulk'", "limit"],
    );
    let second = error("weight = 4", "weight = 4\ndefault = true");
    assert_told(
        &second,
        27,
        &["node 'rest'", "'calls' is the default leaf already"],
    );
    assert_told(
        &error(
            "discipline = \"wf2q_plus\"",
            "discipline = \"wf2q_plus\"\nflows = [\"tcp\"]",
        ),
        14,
        &["node 'bulk'", "packets go to leaves"],
    );
    assert_told(
        &error("name = \"link\"", "name = \"link\"\nparent = \"bulk\""),
        4,
        &["node 'calls'", "in a circle", "link, bulk, link"],
    );
    assert_told(
        &error(&format!("{}\n", parent("link")), ""),
        28,
        &["node 'link'", "one root", "'calls'"],
    );
    assert_told(&tree_of("").unwrap_err().to_string(), 1, &["[[node]]"]);
    assert_told(
        &tree_of("[[node]]\nname = \"a\"\nparent = \"a\"\ndiscipline = \"fifo\"")
            .unwrap_err()
            .to_string(),
        2,
        &["in a circle"],
    );
    assert_told(
        &tree_of("[[node]]\nname = \"a\"\ndiscipline = \"fifo\"")
            .unwrap_err()
            .to_string(),
        3,
        &["node 'a'", "fifo cannot share"],
    );
    assert_told(
        &tree_of("[[node]]\nname = \"a\"\ndiscipline = \"wf2q_plus\"")
            .unwrap_err()
            .to_string(),
        2,
        &["node 'a'", "default"],
    );
}

/// Regression: messages were the parser's, without the node and the range.
#[test]
fn a_value_of_another_kind_is_told_with_its_node_and_what_is_legal() {
    let whole = |range: &str| format!("expected a whole number, legal range {range}");
    for (from, to, line, words) in [
        (
            "weight = 4",
            "weight = 1.5",
            7,
            ["node 'calls': weight 1.5", &whole("1 to 65535")],
        ),
        (
            "weight = 4",
            "weight = nan",
            7,
            ["node 'calls': weight nan", &whole("1 to 65535")],
        ),
        (
            "weight = 4",
            "weight = 99999999999999999999",
            7,
            ["node 'calls': weight 999", &whole("1 to 65535")],
        ),
        (
            "weight = 4",
            "priority = -1",
            7,
            ["node 'calls': priority -1", "legal range 0 to 4294967295"],
        ),
        (
            "weight = 4",
            "priority = \"high\"",
            7,
            ["node 'calls': priority \"high\"", &whole("0 to 4294967295")],
        ),
        (
            "maxpkt = 1514",
            "maxpkt = \"1514 bytes\"",
            19,
            [
                "node 'web': maxpkt \"1514 bytes\"",
                "\"1514b\", legal range 512b to 64kb",
            ],
        ),
        (
            "maxpkt = 1514",
            "maxpkt = \"1mb\"",
            19,
            ["node 'web': maxpkt \"1mb\"", "legal range 512b to 64kb"],
        ),
        (
            "default = true",
            "default = \"yes\"",
            26,
            ["node 'rest': default \"yes\"", "expected true or false"],
        ),
        (
            "flows = [\"port 1002\"]",
            "flows = \"port 1002\"",
            20,
            [
                "node 'web': flows \"port 1002\"",
                "expected a list in brackets",
            ],
        ),
        (
            "flows = [\"port 1002\"]",
            "flows = [1002]",
            20,
            ["node 'web': flows 1002", "expected a text in quotes"],
        ),
        (
            "discipline = \"drr\"",
            "discipline = 3",
            25,
            ["node 'rest': discipline 3", "expected a text in quotes"],
        ),
        (
            "discipline = \"drr\"\n",
            "",
            22,
            ["node 'rest'", "missing field `discipline`"],
        ),
        ("name = \"rest\"\n", "", 22, ["missing field `name`", ""]),
        (
            "name = \"rest\"",
            "name = 7",
            23,
            ["name 7", "expected a text in quotes"],
        ),
        (
            "name = \"office\"",
            "nodes = 3",
            1,
            [
                "unknown field `nodes`",
                "(did you mean 'node'?), expected one of `name`, `node`, `rule`, `reserve`",
            ],
        ),
        (
            "weight = 4",
            "weight = ",
            7,
            ["not legal TOML", "in `weight =`"],
        ),
    ] {
        assert_told(&error(from, to), line, &words);
    }
    assert_told(
        &tree_of("node = 7").unwrap_err().to_string(),
        1,
        &["node 7", "[[node]]"],
    );
    let script = "#!/bin/sh\ntc qdisc add dev eth0 root handle 1: htb default 10\n";
    assert_told(
        &tree_of(script).unwrap_err().to_string(),
        2,
        &["not legal TOML", "'roundelay import'"],
    );
}

#[test]
fn a_longest_packet_may_have_its_unit() {
    let longest = |text: &str| {
        tree_of(&GOOD.replacen("maxpkt = 1514", text, 1))
            .unwrap()
            .config()
            .nodes()
            .find(|node| node.name == "web")
            .unwrap()
            .max_packet_len
    };
    assert_eq!(
        ["maxpkt = 1514", "maxpkt = \"1514b\"", "maxpkt = \"2kb\""].map(longest),
        [1514, 1514, 2048]
    );
}

/// A circle beside a good tree.
#[test]
fn nodes_that_lead_to_no_root_are_found() {
    let text = format!(
        "{GOOD}\n[[node]]\nname = \"x\"\nparent = \"y\"\ndiscipline = \"drr\"\n\n[[node]]\nname = \"y\"\nparent = \"x\"\ndiscipline = \"drr\"\n"
    );
    assert_told(
        &tree_of(&text).unwrap_err().to_string(),
        33,
        &["node 'x'", "in a circle", "x, y, x"],
    );
}

/// Found: to refuse a file of a million nodes took hours.
#[test]
fn a_tree_has_twenty_thousand_nodes_at_most() {
    let mut text = "[[node]]\nname = 'root'\ndiscipline = 'drr'\n".to_owned();
    for number in 0..20_000 {
        text += &format!("[[node]]\nname = '{number}'\nparent = 'root'\ndiscipline = 'fifo'\n");
    }
    let refused = TreeFile::from_toml("a.toml", &text).map(|_| ());
    let told = refused.expect_err("too many").to_string();
    assert_eq!(told, "a.toml:80001: a tree has at most 20000 nodes");
}

#[test]
fn a_tree_has_eight_levels_at_most() {
    let chain = |levels: usize| {
        let mut text = "[[node]]\nname = \"0\"\ndiscipline = \"wf2q_plus\"\n".to_owned();
        for level in 1..=levels {
            let default = if level == levels {
                "default = true\n"
            } else {
                ""
            };
            text += &format!(
                "[[node]]\nname = \"{level}\"\nparent = \"{}\"\ndiscipline = \"wf2q_plus\"\n{default}",
                level - 1
            );
        }
        tree_of(&text)
    };
    assert!(chain(8).is_ok());
    assert_told(
        &chain(9).unwrap_err().to_string(),
        3 + 4 * 8 + 3,
        &["node '9'", "at most 8 levels"],
    );
}

/// Any text gives a tree or an error, never a panic.
#[test]
fn cut_and_damaged_files_are_errors() {
    for end in 0..GOOD.len() {
        let _ = tree_of(&GOOD[..end]);
        let _ = tree_of(&format!(
            "{}{}",
            &GOOD[..end],
            &GOOD[(end + 7).min(GOOD.len())..]
        ));
    }
}

/// Packets carry the fields used by their leaf's discipline: here the flow's total bytes, known
/// from the whole capture, for one leaf, and no fields for the other.
#[test]
fn packets_carry_what_their_leaf_goes_by() {
    let text = GOOD
        .replace("fq_codel target 10ms", "sjf")
        .replace("port 1002", "udp")
        .replace("udp dst port 1001", "tcp");
    // Flow 1 sends half as many packets as flow 0, each at the same time as one of flow 0.
    let mut bytes = pcap(Little, NANOS, (2, 4), 65_535, ETHERNET);
    for (number, flow) in (0..40)
        .flat_map(|number| [(number, 0u16), (number, 1)])
        .filter(|(number, flow)| number % 2 == 0 || *flow == 0)
    {
        let frame = ethernet(0x0800, &ipv4(UDP, A, B, &ports(5000, 1001 + flow)));
        bytes.extend(record_header(
            Little,
            0,
            number * 1_000_000,
            frame.len() as u32,
            1000,
        ));
        bytes.extend(frame);
    }
    let delays = |text: &str| {
        let capture = Capture::from_reader("t.pcap", Cursor::new(bytes.clone())).unwrap();
        let comparison = run(capture, vec![tree_of(text).unwrap()], &[], "6mbit");
        [0, 1].map(|flow| {
            comparison.disciplines[0].flows[flow]
                .outcome
                .delay
                .unwrap()
                .max
        })
    };
    let [large, small] = delays(&text);
    assert!(small < 0.006 && large > 0.03, "{small} {large}");
    let [large, small] = delays(&text.replace("sjf", "fifo"));
    assert!(small > 0.03 && large > 0.03, "{small} {large}");
}

#[test]
fn the_cost_of_a_tree_is_measured_like_any_other() {
    let options = Options {
        trees: vec![tree_of(GOOD).unwrap()],
        ..Options::new("8mbit".parse().unwrap(), vec!["fifo".parse().unwrap()])
    };
    let comparison = compare(capture(3, 20), &options, &mut ()).unwrap();
    assert!(
        comparison
            .disciplines
            .iter()
            .all(|result| result.cost.is_some())
    );
}

const SHAPED: &str = r#"[[node]]
name = "link"
discipline = "htb r2q 20"

[[node]]
name = "all"
parent = "link"
discipline = "htb"
rate = "20mbit"

[[node]]
name = "calls"
parent = "all"
discipline = "fifo"
rate = "2mbit"
ceil = "20mbit"
prio = 1
burst = "4kb"
cburst = 3000
quantum = 1514
flows = ["dscp ef"]

[[node]]
name = "rest"
parent = "all"
discipline = "fq_codel"
rate = "18mbit"
default = true
"#;

#[test]
fn classes_of_htb_have_the_keys_of_tc() {
    let tree = tree_of(SHAPED).unwrap();
    let of = |name: &str| {
        let mut nodes = tree.config().nodes();
        nodes.find(|node| node.name == name).unwrap().clone()
    };
    let Service::Htb(calls) = of("calls").service else {
        panic!("a class of htb")
    };
    assert_eq!(
        (calls.prio, calls.burst(), calls.cburst(), calls.quantum(20)),
        (1, 4096, 3000, 1514)
    );
    assert_eq!(calls.ceil().to_string(), "20mbit");
    let Service::Htb(rest) = of("rest").service else {
        panic!("a class of htb")
    };
    assert_eq!(
        (rest.ceil(), rest.burst(), rest.quantum(20)),
        (rest.rate, 1600, 112_500)
    );
    assert_eq!(of("link").spec.discipline.to_string(), "htb r2q 20");
    assert!(tree.config().build_tree::<()>(Seed::new(1)).is_ok());
}

#[test]
fn errors_of_classes_of_htb_name_the_line_and_the_node() {
    for (from, to, line, words) in [
        (
            "rate = \"2mbit\"\n",
            "",
            12,
            ["node 'calls'", "rate = \"10mbit\""],
        ),
        (
            "rate = \"2mbit\"",
            "rate = \"2Mbps\"",
            15,
            ["node 'calls': rate", "Mbps"],
        ),
        (
            "prio = 1",
            "prio = 8",
            17,
            ["node 'calls': prio 8", "legal range 0 to 7"],
        ),
        (
            "prio = 1",
            "priority = 1",
            17,
            ["node 'calls': priority has no effect", "prio"],
        ),
        (
            "prio = 1",
            "weight = 3",
            17,
            ["node 'calls': weight has no effect", "quantum"],
        ),
        (
            "burst = \"4kb\"",
            "burst = 0",
            18,
            ["node 'calls': burst 0", "legal range 1b to 1gb"],
        ),
        (
            "quantum = 1514",
            "quantum = \"3gb\"",
            20,
            ["node 'calls': quantum", "legal range"],
        ),
        (
            "htb r2q 20\"",
            "drr\"",
            9,
            ["node 'all'", "rate is a key of classes of htb"],
        ),
        (
            "htb r2q 20\"",
            "htb\"\nrate = \"1mbit\"",
            4,
            ["node 'link'", "the root is the link"],
        ),
        (
            "discipline = \"fifo\"",
            "discipline = \"htb\"",
            14,
            ["node 'calls'", "htb holds no packets"],
        ),
        (
            "rate = \"2mbit\"",
            "rate = 7",
            12,
            ["node 'calls'", "8bit to 100tbit"],
        ),
        (
            "quantum = 1514",
            "direct = true",
            15,
            ["node 'calls': rate has no effect", "before all classes"],
        ),
    ] {
        assert!(SHAPED.contains(from), "{from}");
        let error = tree_of(&SHAPED.replacen(from, to, 1)).unwrap_err();
        assert_told(&error.to_string(), line, &words);
    }
}

#[test]
fn a_leaf_of_htb_may_be_for_packets_of_no_class() {
    let text = |parent: &str| {
        format!(
            "{SHAPED}\n[[node]]\nname = \"past\"\nparent = \"{parent}\"\ndiscipline = \
             \"fifo\"\ndirect = true\n"
        )
    };
    let tree = tree_of(&text("link")).expect("legal");
    let past = tree.config().nodes().find(|node| node.name == "past");
    assert_eq!(past.expect("a node").service, Service::Direct);
    let error = tree_of(&text("all")).unwrap_err().to_string();
    assert!(
        error.contains("node 'past': direct is for a leaf below the topmost"),
        "{error}"
    );
    let twice = text("link") + &text("link").replace(SHAPED, "").replace("past", "again");
    let error = tree_of(&twice).unwrap_err().to_string();
    assert!(
        error.contains("node 'again'") && error.contains("one only"),
        "{error}"
    );
}

const CURVED: &str = r#"[[node]]
name = "link"
discipline = "hfsc"

[[node]]
name = "all"
parent = "link"
discipline = "hfsc"
ls = "rate 20mbit"
ul = "rate 20mbit"

[[node]]
name = "calls"
parent = "all"
discipline = "fifo"
rt = "umax 1500 dmax 5ms rate 64kbit"
flows = ["dscp ef"]

[[node]]
name = "rest"
parent = "all"
discipline = "fq_codel"
sc = "m2 18mbit"
default = true
"#;

#[test]
fn classes_of_hfsc_have_the_curves_of_tc() {
    let tree = tree_of(CURVED).unwrap();
    let of = |name: &str| {
        let mut nodes = tree.config().nodes();
        let node = nodes.find(|node| node.name == name).unwrap();
        match node.service {
            Service::Hfsc(class) => {
                [class.rt, class.ls, class.ul].map(|curve| curve.map(|curve| curve.to_string()))
            }
            _ => panic!("a class of hfsc"),
        }
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(of("all"), [None, some("m2 20mbit"), some("m2 20mbit")]);
    assert_eq!(
        of("calls"),
        [some("m1 2400kbit d 5ms m2 64kbit"), None, None]
    );
    assert_eq!(of("rest"), [some("m2 18mbit"), some("m2 18mbit"), None]);
    assert!(tree.config().build_tree::<()>(Seed::new(1)).is_ok());
}

#[test]
fn errors_of_classes_of_hfsc_name_the_line_and_the_node() {
    for (from, to, line, words) in [
        (
            "sc = \"m2 18mbit\"\n",
            "",
            20,
            ["node 'rest'", "ls = \"m2 10mbit\""],
        ),
        (
            "sc = \"m2 18mbit\"",
            "sc = \"18mbit\"",
            23,
            ["node 'rest'", "m1 10mbit d 10ms m2 2mbit"],
        ),
        (
            "sc = \"m2 18mbit\"",
            "sc = \"m2 1mbit\"\nls = \"m2 1mbit\"",
            24,
            ["node 'rest'", "sc stands for rt and ls"],
        ),
        (
            "sc = \"m2 18mbit\"",
            "rate = \"1mbit\"",
            23,
            ["node 'rest'", "rate is a key of classes of htb"],
        ),
        (
            "sc = \"m2 18mbit\"",
            "weight = 3",
            23,
            ["node 'rest'", "the key is ls"],
        ),
        (
            "dmax 5ms",
            "dmax 5xs",
            16,
            ["node 'calls'", "hfsc: dmax 5xs: expected a number and"],
        ),
        ("rt = \"umax", "ul = \"umax", 13, ["node 'calls'", "ls = "]),
        (
            "discipline = \"hfsc\"\nls",
            "discipline = \"hfsc\"\nrt",
            6,
            ["node 'all'", "ls"],
        ),
    ] {
        assert!(CURVED.contains(from), "{from}");
        let error = tree_of(&CURVED.replacen(from, to, 1)).unwrap_err();
        assert_told(&error.to_string(), line, &words);
    }
}

/// Results go by name, so two trees of one interface must not have the same.
#[test]
fn trees_of_one_name_have_that_of_their_file_or_a_number() {
    let tree = |(file, name): (&str, &str)| {
        let node = "[[node]]\nname = \"a\"\ndiscipline = \"drr\"\n\
                    [[node]]\nname = \"b\"\nparent = \"a\"\ndiscipline = \"fifo\"\ndefault = true\n";
        let text = format!("name = \"{name}\"\n{node}");
        TreeFile::from_toml(file, &text).expect("a tree")
    };
    let files = [
        ("a/sqm.toml", "eth0"),
        ("lan.toml", "lan"),
        ("b/sqm.toml", "eth0"),
        ("mine.toml", "eth0"),
    ];
    let names = |files_are_secret| {
        let mut trees = files.map(tree);
        TreeFile::tell_apart(&mut trees, files_are_secret);
        trees.map(|tree| tree.name().to_owned())
    };
    assert_eq!(
        names(false),
        ["eth0 (a/sqm)", "lan", "eth0 (b/sqm)", "eth0 (mine)"]
    );
    assert_eq!(names(true), ["eth0 (1)", "lan", "eth0 (2)", "eth0 (3)"]);
    let mut twice = [("a/sqm.toml", "eth0"); 2].map(tree);
    TreeFile::tell_apart(&mut twice, false);
    let names = twice.map(|tree| tree.name().to_owned());
    assert_eq!(names, ["eth0 (a/sqm) (1)", "eth0 (a/sqm) (2)"]);
}

/// Flows of the example capture, each with what it counts as and its fair share.
fn judged(trees: Vec<TreeFile>, specs: &[&str], rate: &str) -> (u64, Vec<(String, bool, f64)>) {
    let folder = env!("CARGO_MANIFEST_DIR");
    let path = format!("{folder}/../../examples/captures/home-downlink.pcap");
    let capture = Capture::open(path.as_ref()).unwrap();
    let comparison = run(capture, trees, specs, rate);
    let mut flows = Vec::new();
    for flow in comparison.flows {
        flows.push((format!("{:?}", flow.kind), flow.light, flow.fair_rate));
    }
    (comparison.reference_rate, flows)
}

/// Regression: behind a shaper of 5 Mbit/s on a link of 1 Gbit/s every flow was light.
#[test]
fn light_and_bulk_and_fair_shares_refer_to_the_smallest_rate_that_shapes_a_packet() {
    let shaper = |rate: &str| {
        tree_of(&format!(
            "[[node]]\nname = \"1:\"\ndiscipline = \"htb\"\n[[node]]\nname = \"1:1\"\nparent = \
             \"1:\"\ndiscipline = \"sfq\"\nrate = \"{rate}\"\ndefault = true\n"
        ))
        .unwrap()
    };
    let link = judged(Vec::new(), &["fifo"], "5mbit");
    assert!(link.1.iter().any(|(_, light, _)| !light));
    let in_the_tree = judged(vec![shaper("5mbit"), shaper("6mbit")], &[], "1gbit");
    assert_eq!(in_the_tree, link);
    for spec in [
        "cake bandwidth 5mbit",
        "tbf rate 5mbit burst 10kb latency 50ms",
    ] {
        assert_eq!(judged(Vec::new(), &[spec], "1gbit"), link, "{spec}");
    }
    let unshaped = judged(Vec::new(), &["fifo"], "1gbit");
    assert!(unshaped.1.iter().all(|(_, light, _)| *light));
    assert_eq!(judged(vec![shaper("2gbit")], &[], "1gbit"), unshaped);
}

/// It took minutes: each node searched for its parent among all nodes.
#[test]
fn a_tree_of_thousands_of_nodes_is_read_soon() {
    let mut text = "[[node]]\nname = 'link'\ndiscipline = 'drr'\n".to_owned();
    for number in 0..5000 {
        text += &format!("[[node]]\nname = 'n{number}'\nparent = 'link'\ndiscipline = 'fifo'\n");
    }
    text += "default = true\n";
    let begun = std::time::Instant::now();
    let tree = TreeFile::from_toml("a.toml", &text).expect("a tree");
    assert_eq!(tree.leaves().count(), 1);
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}
