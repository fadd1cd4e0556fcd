//! What stopped operators: shapers and limits that were lost, orders of filters, errors that hid
//! their reason.

use roundelay_import::{Imported, Settings, import};

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
fn filters_whose_classes_alternate_keep_their_order() {
    let script = "tc qdisc add dev wan0 root handle 1: htb default 20\n\
         tc class add dev wan0 parent 1: classid 1:a htb rate 20mbit\n\
         tc class add dev wan0 parent 1: classid 1:14 htb rate 20mbit\n\
         tc class add dev wan0 parent 1: classid 1:20 htb rate 40mbit\n\
         tc filter add dev wan0 parent 1: protocol ip prio 1 u32 match ip dst 10.99.9.0/24 flowid 1:a\n\
         tc filter add dev wan0 parent 1: protocol ip prio 1 u32 match ip dst 10.99.1.5/32 flowid 1:14\n\
         tc filter add dev wan0 parent 1: protocol ip prio 2 u32 match ip dst 10.99.1.0/24 flowid 1:a\n";
    let imported = read(script, &[]).unwrap();
    let tree = roundelay_trace::TreeFile::from_toml("t.toml", &imported.tree).unwrap();
    let rules: Vec<&str> = tree.rules().map(|(_, leaf)| leaf).collect();
    assert_eq!(rules, ["1:a", "1:14", "1:a"], "{}", imported.tree);
}

#[test]
fn a_time_without_unit_is_told() {
    let imported = read("tc qdisc add dev eth0 root fq_codel target 5\n", &[]).unwrap();
    assert_has(&imported.remarks[0].text, &["5 is 5us", "5ms"]);
}

const SHAPE: &str = "tc qdisc add dev lan0 root handle 1: htb default 99
tc class add dev lan0 parent 1: classid 1:99 htb rate 1mbit";

#[test]
fn an_error_names_what_the_commands_hang_on() {
    let cases = [
        (
            format!(
                "shape() {{\n{SHAPE}\n}}\ncase $1 in\nstart) shape ;;\nstop) tc qdisc del dev lan0 root ;;\nesac\n"
            ),
            "s.sh:5: ",
        ),
        (
            format!("if [ \"$1\" = off ]; then\ntc qdisc del dev lan0 root\nelse\n{SHAPE}\nfi\n"),
            "s.sh:1: ",
        ),
    ];
    for (script, place) in cases {
        let error = read(&script, &[]).unwrap_err();
        assert_has(
            &error,
            &[place, "argument $1", "--set 1=start", "tc commands"],
        );
        read(&script, &[("1", "start")]).unwrap();
    }
    let checked =
        format!("tc qdisc show dev lan0 | grep -q htb\nif [[ $? -ne 0 ]]; then\n{SHAPE}\nfi\n");
    let error = read(&checked, &[]).unwrap_err();
    assert_has(&error, &["s.sh:2: ", "2 tc commands that a condition"]);
}

#[test]
fn arrays_quotes_and_words_of_awk_are_the_shells() {
    let class = "tc class add dev eth0 parent 1: classid 1:2 htb rate 5mbit \"${EXTRA[@]}\"\n";
    let with = |array: &str| {
        format!("{array}\ntc qdisc add dev eth0 root handle 1: htb default 2\n{class}")
    };
    let empty = read(&with("EXTRA=()"), &[]).unwrap();
    assert!(!empty.tree.contains("ceil"), "{}", empty.tree);
    let two = read(&with("EXTRA=(ceil 9mbit)\nEXTRA+=(prio 3)"), &[]).unwrap();
    assert_has(&two.tree, &["ceil = \"9mbit\"", "prio = 3"]);
    let given = read(&with("EXTRA=(\"$(cat opts)\")"), &[("EXTRA", "ceil 8mbit")]).unwrap();
    assert_has(&given.tree, &["ceil = \"8mbit\""]);
    let awk = "IF=$(ip route | awk '/default/ {print $5}')\ntc qdisc add dev $IF root fq_codel\n";
    let error = read(awk, &[]).unwrap_err();
    assert_has(&error, &["--set IF=VALUE"]);
    assert!(!error.contains("argument"), "{error}");
    read(awk, &[("IF", "eth0")]).unwrap();
    let quotes = "x=\"$(sed -n \"s/.*\\\"(user)\\\".*/\\1/p\" /etc/users)\"\ntc qdisc add dev eth0 root fq_codel\n";
    read(quotes, &[]).unwrap();
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
