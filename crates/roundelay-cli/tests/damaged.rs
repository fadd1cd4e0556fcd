//! Small files of every kind, cut off and changed: whatever the damage, the command ends with a status
//! of its own, and what it says names the file and steers no terminal.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const CALLS: &str = "duration = '50ms'
[topology]
template = 'dumbbell'
pairs = 1
rate = '1mbit'
[[source]]
name = 'calls'
kind = 'cbr'
from = 's0'
to = 'r0'
rate = '500kbit'
packet_len = 200
";
const TREE: &str = "name = 'office'
[[node]]
name = 'link'
discipline = 'drr'
[[node]]
name = 'names'
parent = 'link'
discipline = 'fifo limit 50'
flows = ['dst port 53']
[[node]]
name = 'rest'
parent = 'link'
discipline = 'fq_codel'
";
const WEIGHTS: &str = "default = 1
[[rule]]
match = 'dst port 53'
weight = 4
";
const VECTORS: &str =
    "SEQ 1500000 2 0 7\nw 65535 64240\nr 40000\n> 826\nt 534\n< 1213\nt 872\n> 10\n";
const SCRIPT: &str = "DEV=eth0\ntc qdisc add dev $DEV root handle 1: htb default 10\n\
                      tc class add dev $DEV parent 1: classid 1:10 htb rate 5mbit\n";
/// What a terminal would obey.
const RED: &[u8] = b"\x1b[31m";
/// Damages of each kind to a file.
const COUNT: usize = 6;

fn run(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .args(words)
        .current_dir(folder)
        .output()
        .expect("it runs")
}

/// Cuts, flipped bits and escape codes, spread over a file.
fn damages(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for number in 0..COUNT {
        let at = (bytes.len() - 1) * (2 * number + 1) / (2 * COUNT);
        all.push(bytes[..at].to_vec());
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 1 << (number % 8);
        all.push(flipped);
        all.push([&bytes[..at], RED, &bytes[at..]].concat());
    }
    all
}

#[test]
fn a_damaged_file_is_named_and_steers_no_terminal() {
    let folder = std::env::temp_dir().join(format!("roundelay-damaged-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/record");
    let record = fs::read(fuzz.join("fifo.pcapng")).expect("a record");
    for (name, text) in [
        ("calls.toml", CALLS.as_bytes()),
        ("tree.toml", TREE.as_bytes()),
        ("weights.toml", WEIGHTS.as_bytes()),
        ("vectors.txt", VECTORS.as_bytes()),
        ("script.sh", SCRIPT.as_bytes()),
        ("record.pcapng", &record),
    ] {
        fs::write(folder.join(name), text).expect("a file");
    }
    let made = [
        "simulate",
        "calls.toml",
        "-q",
        "--log",
        "calls.log",
        "--pcapng",
        "calls.pcapng",
    ];
    assert!(run(&folder, &made).status.success());
    let compare = [
        "compare",
        "calls.pcapng",
        "drr",
        "--rate",
        "1mbit",
        "-q",
        "--no-cost",
    ];
    let with = |words: &[&'static str]| [&compare, words].concat();
    let readers = [
        ("calls.toml", vec!["simulate", "damaged", "-q"]),
        ("tree.toml", with(&["--tree", "damaged"])),
        ("weights.toml", with(&["--weights", "damaged"])),
        ("vectors.txt", vec!["applications", "damaged"]),
        ("script.sh", vec!["import", "damaged"]),
        ("record.pcapng", vec!["verify", "damaged"]),
        ("calls.log", vec!["verify", "damaged"]),
        ("calls.pcapng", vec!["applications", "damaged"]),
    ];
    for (name, words) in readers {
        let bytes = fs::read(folder.join(name)).expect("a file");
        for damaged in damages(&bytes) {
            fs::write(folder.join("damaged"), &damaged).expect("a file");
            let output = run(&folder, &words);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let status = output.status.code();
            let shown = String::from_utf8_lossy(&damaged);
            assert!(matches!(status, Some(0..=2)), "{name}: {told}\n{shown}");
            let steers = |letter: char| letter.is_control() && !"\n\t".contains(letter);
            assert!(
                !(told.clone() + &said).contains(steers),
                "{name}: {told:?}\n{said:?}"
            );
            assert!(
                status == Some(0) || told.contains("damaged"),
                "{name}: {told}\n{shown}"
            );
        }
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn a_record_that_cannot_be_read_says_why() {
    let folder = std::env::temp_dir().join(format!("roundelay-unread-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/record");
    for (name, part) in [
        (
            "cut-at-300.pcapng",
            "cut off before the end of the settings",
        ),
        (
            "format-2.pcapng",
            "format 2, and this version reads format 1: use version \u{fffd}[31mEVIL",
        ),
    ] {
        let path = fuzz.join(name);
        for command in ["compare", "verify"] {
            let output = run(&folder, &[command, path.to_str().expect("a path")]);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{command} {name}: {told}");
            assert!(
                told.contains(part) && told.contains(name),
                "{command}: {told}"
            );
        }
    }
    // A verdict may be anybody's.
    let record = fs::read(fuzz.join("fifo.pcapng")).expect("a record");
    let at = record
        .windows(11)
        .position(|part| part == b"\"verdict\":\"");
    let mut forged = record;
    let at = at.expect("a verdict") + 11;
    forged[at..at + 13].copy_from_slice(b"\\u001b[31mEV ");
    fs::write(folder.join("forged.pcapng"), forged).expect("a file");
    let output = run(&folder, &["compare", "forged.pcapng"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("\u{fffd}[31mEV"), "{said}");
    fs::remove_dir_all(folder).expect("a folder of ours");
}
