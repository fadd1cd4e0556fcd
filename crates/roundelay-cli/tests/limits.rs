//! Files without an end, and other inputs that would take all memory or time, are refused.

use std::fs::File;
use std::process::{Command, Stdio};

/// Regression: `simulate /dev/zero` read until the memory was used up.
#[cfg(target_os = "linux")]
#[test]
fn text_without_end_is_refused() {
    // A plan is named like one.
    let plan = std::env::temp_dir().join(format!("roundelay-endless-{}.toml", std::process::id()));
    std::os::unix::fs::symlink("/dev/zero", &plan).unwrap();
    let plan = plan.to_str().unwrap();
    let commands: [&[&str]; 9] = [
        &["simulate", "/dev/zero"],
        &["simulate", "-"],
        &["sweep", "/dev/zero"],
        &["replay", "/dev/zero"],
        &["objective", "/dev/zero"],
        &["bounds", "/dev/zero"],
        &["papers", plan],
        &[
            "compare",
            "any.pcap",
            "fifo",
            "--rate",
            "1mbit",
            "--weights",
            "/dev/zero",
        ],
        &[
            "compare",
            "any.pcap",
            "--rate",
            "1mbit",
            "--tree",
            "/dev/zero",
        ],
    ];
    for arguments in commands {
        let output = Command::new(env!("CARGO_BIN_EXE_roundelay"))
            .args(arguments)
            .stdin(Stdio::from(File::open("/dev/zero").unwrap()))
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(
            message.contains("longer than 64 MB, the limit for text; expected "),
            "{arguments:?}: {message}"
        );
    }
    std::fs::remove_file(plan).unwrap();
}

/// A time of 1 ns in place of 1 ms makes a million times as many events.
#[test]
fn a_run_of_more_than_ten_thousand_million_events_is_refused_without_a_word_for_it() {
    let scenario = "duration = '100s'
[topology]
template = 'dumbbell'
pairs = 1
rate = '100gbit'
[[source]]
kind = 'on_off'
from = 's0'
to = 'r0'
rate = '100gbit'
on = '1ns'
off = '1ns'
packet_len = 20
";
    let folder = std::env::temp_dir().join(format!("roundelay-long-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("long.toml");
    std::fs::write(&path, scenario).unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_roundelay"))
            .args(arguments)
            .arg(&path)
            .current_dir(&folder)
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), message)
    };
    for command in ["simulate", "replay", "sweep"] {
        let (status, message) = run(&[command]);
        assert!(
            status == Some(2) && message.contains("events a run") && message.contains("--long"),
            "{command}: {status:?} {message}"
        );
    }
    // The estimate is told, and the run is legal with a word for it.
    assert_eq!(run(&["simulate", "--dry-run"]).0, Some(0));
    assert_eq!(run(&["simulate", "--dry-run", "--long"]).0, Some(0));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Regression: an ESC in an argument reached the terminal.
#[test]
fn an_error_in_the_arguments_has_no_control_characters() {
    let output = Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .args(["simulate", "--\u{1b}]0;owned\u{7}", "\u{1b}[31m"])
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        message.contains("owned") && !message.contains('\u{1b}'),
        "{message:?}"
    );
}

/// Regression: `--csv FILE` said "File exists".
#[test]
fn a_file_in_place_of_a_folder_is_called_so() {
    let file = std::env::temp_dir().join(format!("roundelay-no-folder-{}", std::process::id()));
    std::fs::write(&file, "mine").unwrap();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .args(["simulate", "examples/scenarios/home.toml", "--csv"])
        .arg(&file)
        .current_dir(root)
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("not a folder; expected a folder"),
        "{message}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    std::fs::remove_file(file).unwrap();
}
