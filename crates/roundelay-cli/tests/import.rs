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
        said.contains("standard input:6: 1:20: 100kbps is 800kbit"),
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
fn the_help_speaks_of_the_tree() {
    let output = roundelay(&["import", "--help"], "");
    let help = text(&output.stdout);
    assert!(help.contains("the tree's file as text"), "{help}");
    assert!(!help.contains("instead of the table"), "{help}");
}

#[test]
fn variables_and_interfaces_are_the_callers() {
    let output = roundelay(&["import", "-", "--set", "RATE=9mbit"], SCRIPT);
    assert!(text(&output.stdout).contains("rate = \"9mbit\""));
    for (arguments, input, part) in [
        (
            vec!["import", "-", "--dev", "eth1"],
            SCRIPT,
            "no interface is called 'eth1' (did you mean 'eth0'?): eth0",
        ),
        (vec!["import", "-", "--set", "RATE"], SCRIPT, "NAME=VALUE"),
        (
            vec!["import", "-", "--set", "RATTE=9mbit"],
            SCRIPT,
            "standard input: no variable of the script is called 'RATTE' (did you mean 'RATE'?)",
        ),
        (
            vec!["import", "-"],
            "tc qdsic add dev eth0 root fq_codel",
            "standard input:1: no object of tc is called 'qdsic' (did you mean 'qdisc'?)",
        ),
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
        (
            vec!["import", "-"],
            "tc qdisc add dev eth0 root cake bandwith 20mbit",
            "standard input:1: `bandwith` of cake: tc has no such word",
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

/// Names of the settings of SQM's page, in `/etc/config/sqm`.
const SETTINGS: [&str; 24] = [
    "enabled",
    "interface",
    "download",
    "upload",
    "debug_logging",
    "verbosity",
    "qdisc",
    "script",
    "qdisc_advanced",
    "squash_dscp",
    "squash_ingress",
    "ingress_ecn",
    "egress_ecn",
    "qdisc_really_really_advanced",
    "ilimit",
    "elimit",
    "itarget",
    "etarget",
    "iqdisc_opts",
    "eqdisc_opts",
    "linklayer",
    "overhead",
    "tcMPU",
    "linklayer_adaptation_mechanism",
];

/// What `compare` is given for a queue with its options, as the table of docs/import.md has it.
fn arguments(code: &str) -> Vec<&str> {
    match code.split_once(" --") {
        None => vec![code],
        Some((queue, _)) => {
            let options = code[queue.len()..].split_whitespace();
            std::iter::once(queue).chain(options).collect()
        }
    }
}

#[test]
fn the_settings_of_sqm_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/import.md")).expect("the page");
    let (_, section) = page.split_once("## OpenWrt's SQM").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("a section behind");
    for setting in SETTINGS {
        assert!(section.contains(&format!("`{setting}`")), "{setting}");
    }
    let capture = root.join("examples/captures/home-downlink.pcap");
    let capture = capture.display().to_string();
    let mut runs = 0;
    for row in section.lines().filter(|line| line.starts_with("| ")) {
        let here = row.rsplit(" | ").next().expect("a last column");
        for code in here.split('`').skip(1).step_by(2) {
            if ["import", "roundelay", "DEV", "compare", "--rate", "rtt"]
                .iter()
                .any(|word| code.starts_with(word))
            {
                continue;
            }
            let mut command = vec![
                "compare",
                &capture,
                "--rate",
                "20mbit",
                "--no-cost",
                "--to",
                "1s",
            ];
            command.extend(arguments(code));
            let output = roundelay(&command, "");
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{code}: {said}");
            runs += 1;
        }
    }
    assert!(runs >= 30, "{runs} queues");
    // What is no queue fails.
    let no_queue = roundelay(&["compare", &capture, "--rate", "20mbit", "cake fast"], "");
    assert_eq!(no_queue.status.code(), Some(2));
}
