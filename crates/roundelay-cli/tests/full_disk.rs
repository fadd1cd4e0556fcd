//! A disk that is full ends a run at the first failed write, not after hours of simulation.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

use roundelay_cli::call::{self, Host};

/// A sender of 125,000 small packets a second, for 20 seconds.
const SCENARIO: &str = r#"duration = "20s"
[topology]
template = "dumbbell"
pairs = 1
rate = "1gbit"
[[source]]
kind = "cbr"
from = "s0"
to = "r0"
rate = "100mbit"
packet_len = 100
"#;

/// Runs with these outputs until the full disk ends the run. Returns the message and the part of
/// the run that was simulated.
fn run(folder: &Path, outputs: &[&str]) -> (String, f64) {
    let scenario = folder.join("long.toml");
    fs::write(&scenario, SCENARIO).unwrap();
    let words = [scenario.to_str().unwrap(), "--quiet"];
    let words = words.into_iter().chain(outputs.iter().copied());
    let host = Host::default();
    let failure = call::simulate(words.map(Into::into), &host, &[]).unwrap_err();
    assert_eq!(failure.status(), 1, "{failure}");
    assert!(!host.stop.is_requested(), "the caller asked for no stop");
    let (done, whole) = host.gauge.read();
    (failure.to_string(), done as f64 / whole as f64)
}

#[test]
fn the_first_failed_write_ends_the_run() {
    let folder = std::env::temp_dir().join(format!("roundelay-full-{}", std::process::id()));
    let tables = folder.join("tables");
    fs::create_dir_all(&tables).unwrap();
    std::os::unix::fs::symlink("/dev/full", tables.join("packets.parquet")).unwrap();
    let tables = tables.to_str().unwrap();
    let outputs: [&[&str]; 3] = [
        &["--log", "/dev/full"],
        &["--pcapng", "/dev/full"],
        &["--parquet", tables, "--packets"],
    ];
    for asked in outputs {
        let (message, part) = run(&folder, asked);
        assert!(
            message.contains("cannot write: No space left on device"),
            "{asked:?}: {message}"
        );
        // The first row group has 131,072 packets, of 2,500,000.
        assert!(part < 0.2, "{asked:?}: {part} of the run was simulated");
    }
    fs::remove_dir_all(folder).unwrap();
}
