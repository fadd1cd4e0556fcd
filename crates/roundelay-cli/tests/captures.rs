//! What `roundelay compare` and `roundelay simulate` read: compressed captures, from files and
//! standard input; and the link's overhead on the command line.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::folder::Folder;

fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
    command.env_remove("NO_COLOR").env("COLUMNS", "1000");
    let command = command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that reads no input may have ended.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn json(arguments: &[&str], input: &[u8]) -> Value {
    let output = run(arguments, input);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn compare(path: &str, more: &[&str], input: &[u8]) -> Value {
    let mut comparison = json(
        &[
            &[
                "compare",
                path,
                "fifo",
                "fq_codel",
                "--rate",
                "100kbit",
                "--no-cost",
                "--json",
            ],
            more,
        ]
        .concat(),
        input,
    );
    comparison["capture"]["name"] = Value::Null;
    comparison
}

fn error(arguments: &[&str]) -> String {
    let rate: &[&str] = if arguments[0] == "--rate" {
        &[]
    } else {
        &["--rate", "1mbit"]
    };
    let output = run(&[&["compare", "none.pcap"], rate, arguments].concat(), b"");
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

fn compressed(ending: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../roundelay-trace/tests/compressed")
        .join(format!("forty.pcap.{ending}"))
}

/// 40 packets of raw IP in three flows: the content of the compressed files.
fn forty() -> Vec<u8> {
    let mut bytes: Vec<u8> = [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101]
        .iter()
        .flat_map(|field| field.to_le_bytes())
        .collect();
    for number in 0..40_u32 {
        bytes.extend(
            [1_700_000_000, number * 1000, 60, 60]
                .iter()
                .flat_map(|field: &u32| field.to_le_bytes()),
        );
        bytes.extend([
            0x45,
            0,
            0,
            60,
            0,
            number as u8,
            0,
            0,
            64,
            17,
            0,
            0,
            10,
            0,
            0,
            1 + (number % 3) as u8,
            10,
            0,
            0,
            9,
        ]);
        bytes.extend(
            [1000 + (number % 3) as u16, 53, 40, 0]
                .iter()
                .flat_map(|port| port.to_be_bytes()),
        );
        bytes.extend((0..32).map(|place| (number * place % 251) as u8));
    }
    bytes
}

#[test]
fn compressed_captures_are_compared_like_their_content() {
    let folder = Folder::new("captures");
    let plain = compare(&folder.file("forty.pcap", forty()), &[], b"");
    assert_eq!(plain["capture"]["packets"], 40);
    for ending in ["gz", "zst", "xz"] {
        let bytes = fs::read(compressed(ending)).unwrap();
        assert_eq!(
            compare(compressed(ending).to_str().unwrap(), &[], b""),
            plain,
            "{ending}"
        );
        assert_eq!(
            compare(&folder.file("no-ending", &bytes), &[], b""),
            plain,
            "{ending}, by content"
        );
        assert_eq!(compare("-", &[], &bytes), plain, "{ending}, standard input");
    }
}

/// Regression: a look whether the file is a record of `roundelay live` took the start out of the
/// pipe, and what was left began with "unknown first bytes".
#[cfg(unix)]
#[test]
fn a_named_pipe_is_read_as_its_file_is() {
    let folder = Folder::new("captures");
    let plain = compare(&folder.file("forty.pcap", forty()), &[], b"");
    let pipe = folder.0.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, forty())
    });
    assert_eq!(compare(pipe.to_str().unwrap(), &[], b""), plain);
    writer.join().unwrap().unwrap();
}

#[test]
fn a_compressed_capture_cut_short_is_used_and_the_cut_noted() {
    let folder = Folder::new("captures");
    for ending in ["gz", "zst", "xz"] {
        let bytes = fs::read(compressed(ending)).unwrap();
        let cut = compare(&folder.file("cut", &bytes[..bytes.len() - 60]), &[], b"");
        let packets = cut["capture"]["packets"].as_u64().unwrap();
        assert!((19..40).contains(&packets), "{ending}: {packets}");
        let notes = cut["capture"]["notes"].to_string();
        assert!(
            notes.contains("1 compressed file is cut off: the packets after the cut are missing."),
            "{ending}: {notes}"
        );
    }
}

/// A scenario's source reads captures through the same door.
#[test]
fn a_scenario_s_source_reads_compressed_captures() {
    let folder = Folder::new("captures");
    let scenario = |name: &str, bytes: &[u8]| {
        folder.file(name, bytes);
        let text = format!(
            "duration = \"1s\"\n[[node]]\nname = \"a\"\nhost = true\n[[node]]\nname = \"b\"\nhost = true\n[[link]]\nfrom = \"a\"\nto = \"b\"\n\
             rate = \"5mbit\"\n[[source]]\nkind = \"trace\"\nfile = \"{name}\"\nfrom = \"a\"\nto = \"b\"\n"
        );
        let mut results = json(
            &["simulate", &folder.file("scenario.toml", text), "--json"],
            b"",
        );
        results["config_hash"] = Value::Null;
        results
    };
    let plain = scenario("forty.pcap", &forty());
    assert!(plain.to_string().contains("\"delivered\":40"), "{plain}");
    for ending in ["gz", "zst", "xz"] {
        assert_eq!(
            scenario("packed", &fs::read(compressed(ending)).unwrap())["groups"],
            plain["groups"],
            "{ending}"
        );
    }
}

#[test]
fn the_link_s_overhead_is_written_as_in_tc() {
    let folder = Folder::new("captures");
    let path = folder.file("forty.pcap", forty());
    let bytes = |arguments: &[&str]| {
        compare(&path, arguments, b"")["capture"]["bytes"]
            .as_u64()
            .unwrap()
            / 40
    };
    assert_eq!(bytes(&[]), 60);
    assert_eq!(bytes(&["--link", "raw"]), 60);
    assert_eq!(bytes(&["--link", "docsis"]), 78);
    assert_eq!(bytes(&["--link", "ethernet ether-vlan"]), 102);
    assert_eq!(bytes(&["--link", "pppoe-llcsnap"]), 3 * 53);
    assert_eq!(bytes(&["--overhead", "38", "--mpu", "120"]), 120);
    assert_eq!(bytes(&["--overhead", "-14"]), 46);
    assert_eq!(bytes(&["--framing", "ptm"]), 61);
    assert_eq!(
        bytes(&[
            "--link",
            "pppoe-llcsnap",
            "--framing",
            "none",
            "--overhead",
            "22"
        ]),
        82
    );
    let comparison = compare(&path, &["--link", "docsis"], b"");
    assert_eq!(comparison["capture"]["link"], "overhead 18 mpu 64");
    assert_eq!(compare(&path, &[], b"")["capture"].get("link"), None);
}

#[test]
fn wrong_numbers_are_refused_with_the_legal_range() {
    let rate = "legal range 1bit to 18000000tbit";
    for (option, value, range) in [
        ("--rate", "1e99", rate),
        ("--rate", "99999999999gbit", rate),
        ("--rate", "-5mbit", rate),
        ("--rate", "20", rate),
        ("--mpu", "-1", "legal range 0 to 65535"),
        ("--overhead", "x", "legal range -64 to 65535"),
        ("--buffer", "-1p", "expected packets, 1p or more"),
        ("--max-flows", "0", "legal range 1 to 1000000"),
        ("--max-flows", "-1", "legal range 1 to 1000000"),
        ("--seed", "-1", "legal range 0 to 18446744073709551615"),
    ] {
        let error = error(&[option, value]);
        assert!(
            error.contains(&format!("invalid value '{value}' for '{option}"))
                && error.contains(range),
            "{option} {value}: {error}"
        );
    }
}

#[test]
fn wrong_overheads_are_refused_with_the_legal_range() {
    assert!(
        error(&["--link", "docsi"])
            .contains("no kind of link is called 'docsi' (did you mean 'docsis'?): raw, ")
    );
    assert!(error(&["--framing", "adsl"]).contains("no framing is called 'adsl': none, atm, ptm"));
    assert!(error(&["--overhead", "-65"]).contains(
        "'-65' for '--overhead <BYTES>': expected a whole number, legal range -64 to 65535"
    ));
    assert!(error(&["--overhead", "65536"]).contains("legal range -64 to 65535"));
    assert!(error(&["--mpu", "65536"]).contains("legal range 0 to 65535"));
}
