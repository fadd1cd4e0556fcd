//! `roundelay import`: a script becomes a tree, and `compare --tree` takes it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Two classes of htb, the second one with a rate in bytes.
const SCRIPT: &str = "#!/bin/sh
RATE=4mbit
tc qdisc add dev eth0 root handle 1: htb default 20
tc class add dev eth0 parent 1: classid 1:1 htb rate $RATE
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 1mbit ceil $RATE prio 0
tc class add dev eth0 parent 1:1 classid 1:20 htb rate 100kbps ceil $RATE prio 1
tc qdisc add dev eth0 parent 1:20 fq_codel
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 53 0xffff flowid 1:10
";

fn roundelay(arguments: &[&str], input: &str) -> Output {
    use std::io::Write as _;
    use std::process::Stdio;
    let mut child = Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A command that fails early does not read.
    drop(stdin.write_all(input.as_bytes()));
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn a_script_becomes_a_tree_that_compare_takes() {
    let output = roundelay(&["import", "-"], SCRIPT);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(
        said.contains("standard input:6: 100kbps is 800kbit"),
        "{said}"
    );
    let tree = text(&output.stdout);
    assert!(tree.contains("# line 6: 100kbps is 800kbit"), "{tree}");
    let file = std::env::temp_dir().join(format!("roundelay-import-{}.toml", std::process::id()));
    fs::write(&file, &tree).expect("written");
    let capture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/captures/home-downlink.pcap");
    let output = roundelay(
        &[
            "compare",
            &capture.display().to_string(),
            "--rate",
            "100mbit",
            "--no-cost",
            "--tree",
            &file.display().to_string(),
            "fifo",
        ],
        "",
    );
    drop(fs::remove_file(&file));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("eth0"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn json_has_the_tree_and_the_remarks() {
    let output = roundelay(&["import", "-", "--json"], SCRIPT);
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(0), String::new())
    );
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(all["device"], "eth0");
    assert!(all["tree"].as_str().expect("a tree").contains("1:20"));
    let remarks = all["remarks"].as_array().expect("a list");
    let is_there = remarks
        .iter()
        .any(|remark| remark["line"] == 6 && remark["node"] == "1:20");
    assert!(is_there, "{remarks:?}");
}

#[test]
fn variables_and_interfaces_are_the_callers() {
    let output = roundelay(&["import", "-", "--set", "RATE=9mbit"], SCRIPT);
    assert!(text(&output.stdout).contains("rate = \"9mbit\""));
    for (arguments, input, part) in [
        (
            vec!["import", "-", "--dev", "eth1"],
            SCRIPT,
            "choose one of eth0",
        ),
        (vec!["import", "-", "--set", "RATE"], SCRIPT, "NAME=VALUE"),
        (
            vec!["import", "nowhere.sh"],
            "",
            "nowhere.sh: there is no such file",
        ),
        (
            vec!["import", "-"],
            "tc qdisc add dev eth0 root tbf rate $R",
            "standard input:1: $R has no value",
        ),
        (vec!["import", "-"], "echo\n", "tc qdisc add dev NAME root"),
    ] {
        let output = roundelay(&arguments, input);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(part), "{said}");
        assert!(output.stdout.is_empty());
    }
}
