//! What stopped operators: shapers and limits that were lost, orders of filters, errors that hid
//! their reason.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use roundelay::Ecn;
use roundelay_import::{Imported, Settings, import};
use roundelay_trace::{Headers, Ports, TreeFile};

use crate::scripts::read_back;

fn read(text: &str, set: &[(&str, &str)]) -> Result<Imported, String> {
    let mut settings = Settings {
        name: "s.sh".to_owned(),
        ..Settings::default()
    };
    for (name, value) in set {
        let pair = ((*name).to_owned(), (*value).to_owned());
        settings.variables.push(pair);
    }
    let imported = import(&settings, text).map_err(|error| error.to_string())?;
    if let Err(error) = read_back(&imported.tree) {
        panic!("{error}\n{}", imported.tree);
    }
    Ok(imported)
}

#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' in:\n{text}");
    }
}

/// A script of `tests/operators`: what people run, with other addresses.
fn script(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/operators");
    fs::read_to_string(folder.join(name)).expect("a script")
}

/// A script, its variables, parts of its tree, and parts that are nowhere in tree and remarks.
type Right = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
    &'static [&'static str],
);

const RIGHT: [Right; 9] = [
    (
        "ack-filter.sh",
        &[],
        &["flows = [\"ack below 64 bytes and src 0.0.0.0/0\"]"],
        &["reserve", "left out"],
    ),
    (
        "argument-hides-root.sh",
        &[("1", "start")],
        &["ul = \"rate 256kbit\"", "fifo limit 60"],
        &[],
    ),
    ("arrays.sh", &[], &["rate = \"5mbit\""], &["ceil", "EXTRA"]),
    (
        "awk-field.sh",
        &[("IF", "eth0")],
        &["fq_codel linux"],
        &["$5"],
    ),
    (
        "isp-case-argument.sh",
        &[("1", "start")],
        &["ceil = \"80mbit\""],
        &[],
    ),
    (
        "netem-limit.sh",
        &[],
        &["discipline = \"fifo limit 20\""],
        &[],
    ),
    (
        "netem-rate.sh",
        &[],
        &[
            "tbf rate 1mbit",
            "fifo limit 1000",
            "netem delay 50ms is left out",
        ],
        &[],
    ),
    ("quotes-in-substitution.sh", &[], &["fq_codel linux"], &[]),
    ("tcconfig.sh", &[], &["ceil = \"10mbit\""], &["borrow"]),
];

#[test]
fn what_operators_run_is_read_right() {
    for (name, set, parts, nowhere) in RIGHT {
        let imported = read(&script(name), set).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_has(&imported.tree, parts);
        for part in nowhere {
            let is_told = imported
                .remarks
                .iter()
                .any(|remark| remark.text.contains(part));
            assert!(
                !is_told && !imported.tree.contains(part),
                "{name}: {part}\n{}",
                imported.tree
            );
        }
    }
}

#[test]
fn filters_whose_classes_alternate_keep_their_order() {
    let imported = read(&script("vyos-order.sh"), &[]).unwrap();
    let tree = TreeFile::from_toml("t.toml", &imported.tree).unwrap();
    let rules: Vec<&str> = tree.rules().map(|(_, leaf)| leaf).collect();
    assert_eq!(rules, ["1:a", "1:14", "1:a"], "{}", imported.tree);
}

#[test]
fn an_error_names_what_the_commands_hang_on() {
    for (name, line, parts) in [
        (
            "isp-case-argument.sh",
            8,
            &["argument $1", "--set 1=start", "4 tc commands"][..],
        ),
        (
            "argument-hides-root.sh",
            4,
            &["argument $1", "--set 1=start", "4 tc commands"],
        ),
        (
            "condition-hides-root.sh",
            2,
            &["2 tc commands that a condition"],
        ),
    ] {
        let error = read(&script(name), &[]).unwrap_err();
        assert_has(&error, parts);
        assert!(error.starts_with(&format!("s.sh:{line}: ")), "{error}");
    }
    let error = read(&script("awk-field.sh"), &[]).unwrap_err();
    assert_has(&error, &["--set IF=VALUE"]);
    assert!(!error.contains("argument"), "{error}");
}

/// Recordings that `import --run` made of scripts of others.
#[test]
fn recordings_of_real_scripts_are_their_trees() {
    for (name, device, parts) in [
        (
            "recorded-simple.sh",
            "eth0",
            &["ceil = \"17984kbit\"", "rate = \"128kbit\"", "dscp cs1"][..],
        ),
        (
            "recorded-simplest.sh",
            "ifb4eth0",
            &["rate = \"90mbit\"", "fq_codel linux limit 1001"],
        ),
        (
            "recorded-piece_of_cake.sh",
            "eth0",
            &["cake linux bandwidth 18mbit", "besteffort"],
        ),
        (
            "recorded-wondershaper.sh",
            "eth0",
            &["ceil = \"1900kbit\"", "ack below 64 bytes", "SYNs"],
        ),
    ] {
        let settings = Settings {
            name: name.to_owned(),
            device: Some(device.to_owned()),
            ..Settings::default()
        };
        let imported = import(&settings, &script(name)).unwrap_or_else(|error| panic!("{error}"));
        read_back(&imported.tree).unwrap();
        assert_has(&imported.tree, parts);
        let is_probe = |device: &String| device.starts_with("SQM_IFB");
        assert!(
            !imported.others.iter().any(is_probe),
            "{:?}",
            imported.others
        );
    }
}

/// Marks, code points and classes that a packet filter sets are rules of headers.
#[test]
fn what_a_packet_filter_sets_is_a_rule() {
    let imported = read(&script("marks.sh"), &[]).unwrap();
    let tree = TreeFile::from_toml("t.toml", &imported.tree).unwrap();
    let headers = |protocol, source: [u8; 4], destination: [u8; 4], ports: (u16, u16)| Headers {
        source: IpAddr::from(source),
        destination: IpAddr::from(destination),
        protocol,
        source_port: ports.0,
        destination_port: ports.1,
        ports: Ports::Present,
        dscp: 0,
        ecn: Ecn::NotCapable,
    };
    let with_point = |dscp: u8, headers: Headers| Headers { dscp, ..headers };
    let (here, there) = ([192, 168, 1, 2], [198, 51, 100, 9]);
    for (headers, class) in [
        (headers(17, here, there, (5000, 53)), "1:10"),
        (headers(17, here, there, (5000, 3480)), "1:10"),
        (headers(17, here, there, (5000, 3482)), "1:30"),
        (headers(6, here, there, (5000, 443)), "1:20"),
        (headers(6, here, [192, 0, 2, 7], (5000, 443)), "1:10"),
        (headers(6, [192, 168, 1, 9], there, (5000, 80)), "1:40"),
        (headers(6, here, there, (5000, 80)), "1:30"),
        (headers(17, here, there, (51820, 53)), "1:40"),
        (headers(17, here, there, (51820, 9)), "1:40"),
        (with_point(8, headers(6, here, there, (5000, 80))), "1:40"),
        // A rule writes another code point before the filter on cs1 sees it.
        (with_point(8, headers(6, here, there, (5000, 22))), "1:30"),
    ] {
        assert_eq!(tree.leaf(Some(&headers)), class, "{headers:?}");
    }
    let reserves = tree.reserves().join(" ");
    assert_has(&reserves, &["line 15", "-m connbytes"]);
    assert!(
        !imported.tree.contains("marks are not in packets"),
        "{}",
        imported.tree
    );
}

/// Queues of RouterOS, both directions of the simple ones and a tree.
#[test]
fn queues_of_routeros_are_classes_of_htb() {
    let text = script("routeros.rsc");
    let of = |device: &str| {
        let settings = Settings {
            name: "export.rsc".to_owned(),
            device: Some(device.to_owned()),
            ..Settings::default()
        };
        let imported = import(&settings, &text).unwrap_or_else(|error| panic!("{error}"));
        read_back(&imported.tree).unwrap();
        imported
    };
    let up = of("upload");
    assert_has(
        &up.tree,
        &[
            "cake linux besteffort dual-srchost nat overhead 18 mpu 64",
            "rate = \"20mbit\"",
            "fq_codel linux limit 1000 target 10ms",
            "rate = \"5mbit\"\nceil = \"10mbit\"",
            "prio = 0",
            "flows = [\"src 192.168.10.9\"]",
            "flows = [\"src 192.168.20.0/24\"]",
            "pcq of queue 'rest of home'",
            "left out: burst-limit=20M",
        ],
    );
    assert!(!up.tree.contains("1kbit"), "it is disabled: {}", up.tree);
    assert!(!up.tree.contains("only what leaves"), "{}", up.tree);
    let down = of("download");
    assert_has(
        &down.tree,
        &[
            "dual-dsthost",
            "ceil = \"50mbit\"",
            "flows = [\"dst 192.168.20.0/24\"]",
        ],
    );
    let tree = of("ether1");
    assert_has(
        &tree.tree,
        &[
            "rate = \"50mbit\"",
            "udp and dst portrange 5060-5061 and src 0.0.0.0/0",
            "udp and src portrange 5060-5061 and src 0.0.0.0/0",
            "udp and dst port 53 and src 0.0.0.0/0",
            "default = true",
        ],
    );
    // Queues have their own names.
    for (tree, names) in [
        (&up.tree, ["home", "phone", "rest of home", "guests"]),
        (&tree.tree, ["wan", "voip", "others", "wan"]),
    ] {
        for name in names {
            let line = format!("\nname = \"{name}\"\n");
            assert_eq!(tree.matches(&line).count(), 1, "{name}: {tree}");
        }
    }
    assert!(up.tree.contains("parent = \"home\""), "{}", up.tree);
    let told = Vec::from_iter(
        tree.remarks
            .iter()
            .map(|remark| (remark.line, remark.text.as_str())),
    );
    for (line, part) in [
        (8, "connection-bytes"),
        (15, "fq-codel-speed"),
        (27, "'speed'"),
    ] {
        let is_told = told
            .iter()
            .any(|(at, text)| *at == line && text.contains(part));
        assert!(is_told, "{line} {part}: {told:#?}");
    }
    for (wrong, part) in [
        (
            "/queue simple\nadd name=a max-limit=fast target=10.0.0.1",
            "export.rsc:2: 'fast'",
        ),
        (
            "/queue simple\nadd name=a queue=none-such target=10.0.0.1",
            "queue type",
        ),
        (
            "/queue tree\nadd name=a parent=b\nadd name=b parent=a",
            "circle",
        ),
    ] {
        let settings = Settings {
            name: "export.rsc".to_owned(),
            ..Settings::default()
        };
        let error = import(&settings, wrong).expect_err(wrong).to_string();
        assert!(error.contains(part), "{wrong}: {error}");
    }
}

/// Filters on acknowledgements of two lengths, and halves of one.
#[test]
fn acknowledgements_that_a_tree_cannot_tell_are_a_reserve() {
    let whole = script("ack-filter.sh");
    let line = whole.lines().last().expect("a filter");
    let other = line
        .replace("0xffc0", "0xff80")
        .replace("prio 10", "prio 11");
    let imported = read(&format!("{whole}{other}\n"), &[]).unwrap();
    assert_has(
        &imported.tree,
        &["ack below 64 bytes", "reserve = [", "below 128 bytes"],
    );
    let small = whole.replace(" match u8 0x10 0xff at 33", "");
    let imported = read(&small, &[]).unwrap();
    assert_has(
        &imported.tree,
        &["reserve = [", "SYNs", "ack below 64 bytes and src"],
    );
    let half = small.replace(" match ip protocol 6 0xff", "");
    let imported = read(&half, &[]).unwrap();
    assert_has(&imported.tree, &["reserve = [", "without the other half"]);
    assert!(!imported.tree.contains("flows = "), "{}", imported.tree);
}

#[test]
fn a_rate_of_netem_shapes_and_its_limit_is_the_queue() {
    let root = "tc qdisc add dev eth0 root netem delay 50ms rate 1mbit limit 800\n";
    let imported = read(root, &[]).unwrap();
    assert_has(
        &imported.tree,
        &[
            "tbf rate 1mbit",
            "fifo limit 800",
            "reserve = [",
            "netem delay 50ms is left out",
        ],
    );
    let alone = read("tc qdisc add dev eth0 root netem rate 1mbit\n", &[]).unwrap();
    assert_has(&alone.tree, &["tbf rate 1mbit", "fifo limit 1000"]);
    assert!(!alone.tree.contains("reserve"), "{}", alone.tree);
    for kind in ["htb rate 10mbit", "hfsc ls rate 10mbit"] {
        let (shaper, _) = kind.split_once(' ').unwrap();
        let script = format!(
            "tc qdisc add dev eth0 root handle 1: {shaper} default 1\n\
             tc class add dev eth0 parent 1: classid 1:1 {kind}\n\
             tc qdisc add dev eth0 parent 1:1 handle 10: netem delay 5ms limit 20\n"
        );
        let imported = read(&script, &[]).unwrap();
        assert_has(&imported.tree, &["discipline = \"fifo limit 20\""]);
    }
    let below = "tc qdisc add dev eth0 root handle 1: netem rate 4mbit limit 50\n\
                 tc qdisc add dev eth0 parent 1:1 handle 2: fq_codel\n";
    let imported = read(below, &[]).unwrap();
    assert_has(
        &imported.tree,
        &["tbf rate 4mbit", "fifo limit 50", "stays empty"],
    );
    assert!(read("tc qdisc add dev eth0 root netem rate fast\n", &[]).is_err());
}

#[test]
fn a_time_without_unit_is_told() {
    let imported = read("tc qdisc add dev eth0 root fq_codel target 5\n", &[]).unwrap();
    assert_has(&imported.remarks[0].text, &["5 is 5us", "5ms"]);
}

#[test]
fn arrays_are_the_shells() {
    let class = "tc class add dev eth0 parent 1: classid 1:2 htb rate 5mbit \"${EXTRA[@]}\"\n";
    let with = |array: &str| {
        format!("{array}\ntc qdisc add dev eth0 root handle 1: htb default 2\n{class}")
    };
    let two = read(&with("EXTRA=(ceil 9mbit)\nEXTRA+=(prio 3)"), &[]).unwrap();
    assert_has(&two.tree, &["ceil = \"9mbit\"", "prio = 3"]);
    let given = read(&with("EXTRA=(\"$(cat opts)\")"), &[("EXTRA", "ceil 8mbit")]).unwrap();
    assert_has(&given.tree, &["ceil = \"8mbit\""]);
    let deep = "\"$(".repeat(100_000);
    assert!(read(&deep, &[]).is_err());
}

#[test]
fn a_remark_comes_once_with_its_lines_and_is_true() {
    let script = "tc qdisc add dev eth0 root handle 1: htb default 1\n\
         tc class add dev eth0 parent 1: classid 1:1 htb rate 32gbit\n\
         tc filter add dev eth0 parent 1: handle 7 fw flowid 1:1\n\
         tc filter add dev eth0 parent 1: handle 7 fw flowid 1:1\n";
    let imported = read(script, &[]).unwrap();
    let of_marks: Vec<_> = imported
        .remarks
        .iter()
        .filter(|remark| remark.text.contains("mark"))
        .collect();
    assert_eq!(of_marks.len(), 1, "{:?}", imported.remarks);
    assert_eq!(of_marks[0].lines, [3, 4]);
    let r2q = imported
        .remarks
        .iter()
        .any(|remark| remark.text.contains("r2q"));
    assert!(!r2q, "classes at the root cannot borrow");
}

/// A tree has one length for acknowledgements, whether marks, classes or filters ask for them.
#[test]
fn lengths_of_acknowledgements_are_one() {
    let asks =
        |length: u32| format!("-p tcp --tcp-flags SYN,RST,ACK ACK -m length --length :{length}");
    let (short, long) = (asks(63), asks(99));
    let text = format!(
        "tc qdisc add dev eth0 root handle 1: htb default 20\n\
         tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit\n\
         tc class add dev eth0 parent 1: classid 1:20 htb rate 2mbit\n\
         tc filter add dev eth0 parent 1: protocol ip handle 1 fw flowid 1:10\n\
         tc filter add dev eth0 parent 1: protocol ip handle 2 fw flowid 1:10\n\
         iptables -t mangle -A POSTROUTING {short} -j MARK --set-mark 1\n\
         iptables -t mangle -A POSTROUTING {long} -d 10.0.0.0/8 -j MARK --set-mark 2\n\
         iptables -t mangle -A POSTROUTING {long} -d 10.1.0.0/16 -j CLASSIFY --set-class 1:10\n"
    );
    let imported = read(&text, &[]).unwrap();
    let tree = TreeFile::from_toml("t.toml", &imported.tree).unwrap();
    let reserves = tree.reserves().join(" ");
    // The last rule that matches decides, so its length is the first.
    let parts = "below 64 bytes, another one on those below 100, and a tree has one length";
    assert_eq!(reserves.matches(parts).count(), 1, "{}", imported.tree);
}
