//! Progress bars of `roundelay simulate` and `roundelay papers`, shown only on a terminal; `script` provides one.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

const SCENARIO: &str = r#"duration = "20s"
[topology]
template = "dumbbell"
pairs = 5
[[source]]
kind = "cbr"
from = "s*"
to = "r*"
rate = "2mbit"
"#;

/// Terminal output of the command; `None` if there is no `script`.
fn in_a_terminal(name: &str, options: &str) -> Option<String> {
    let path = std::env::temp_dir().join(format!(
        "roundelay-progress-{}-{name}.toml",
        std::process::id()
    ));
    fs::write(&path, SCENARIO).unwrap();
    let shown = shown(&format!("simulate '{}' {options}", path.display()));
    fs::remove_file(&path).unwrap();
    shown
}

/// Terminal output of the command with these arguments; `None` if there is no `script`.
fn shown(arguments: &str) -> Option<String> {
    let command = format!("'{}' {arguments}", env!("CARGO_BIN_EXE_roundelay"));
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::null())
        .output();
    let output = output
        .inspect_err(|error| eprintln!("no terminal can be made: {error}"))
        .ok()?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The bar shows simulated time, total time, and events per second, over all replicas. At the end
/// the bar disappears and the table is printed.
#[test]
fn a_terminal_sees_simulated_time_and_rate() {
    for options in ["", "--replicas 3"] {
        let name = if options.is_empty() { "one" } else { "three" };
        let Some(shown) = in_a_terminal(name, options) else {
            return;
        };
        let bars: Vec<_> = shown
            .split(['\r', '\n'])
            .filter(|line| line.contains("events/s"))
            .collect();
        assert!(!bars.is_empty(), "{shown}");
        let simulated = |bar: &str| -> f64 {
            let (before, _) = bar
                .split_once(" s of 20.000 s, ")
                .unwrap_or_else(|| panic!("{bar}"));
            before.rsplit(' ').next().unwrap().parse().unwrap()
        };
        let times: Vec<_> = bars.iter().map(|bar| simulated(bar)).collect();
        assert!(
            times.is_sorted() && times.iter().all(|time| *time <= 20.0),
            "{times:?}"
        );
        assert!(shown.contains("packet-hops"), "{shown}");
    }
}

#[test]
fn the_quiet_see_none() {
    let Some(shown) = in_a_terminal("quiet", "--quiet") else {
        return;
    };
    assert!(
        !shown.contains("events/s") && shown.contains("packet-hops"),
        "{shown}"
    );
}

/// 200,000 packets of 28 bytes in raw IP.
fn large_capture() -> Vec<u8> {
    let header = [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101];
    let mut bytes: Vec<u8> = header.map(u32::to_le_bytes).concat();
    for number in 0..200_000_u32 {
        let record = [number / 10_000, number % 10_000 * 100, 28, 28];
        bytes.extend(record.map(u32::to_le_bytes).concat());
        bytes.extend([0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0]);
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2, 0, 53, 4, 0, 0, 8, 0, 0]);
    }
    bytes
}

/// A capture is read once before it is replayed, to find what to replay of it. Formerly nothing was
/// shown meanwhile.
#[test]
fn a_terminal_sees_the_first_reading_of_a_capture() {
    let path = std::env::temp_dir().join(format!(
        "roundelay-progress-{}-readings.pcap",
        std::process::id()
    ));
    fs::write(&path, large_capture()).unwrap();
    let file = path.display();
    let compare = format!("compare '{file}' --rate 50mbit --no-cost fifo");
    let applications = format!("applications '{file}'");
    for (arguments, is_shown) in [
        (compare.clone(), true),
        (compare + " --quiet", false),
        (applications, true),
    ] {
        let Some(shown) = shown(&arguments) else {
            break;
        };
        for reading in ["reading 1 of 2, ", "reading 2 of 2, "] {
            assert_eq!(shown.contains(reading), is_shown, "{arguments}: {shown}");
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .arg("compare")
        .arg(&path)
        .args(["fifo", "--rate", "50mbit", "--no-cost"])
        .output()
        .unwrap();
    fs::remove_file(&path).unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// A capture of 20 GB, a header, a record that cannot be and a hole in the file: the estimate comes
/// before the error.
#[test]
fn a_long_comparison_is_announced() {
    let path = std::env::temp_dir().join(format!(
        "roundelay-progress-{}-long.pcap",
        std::process::id()
    ));
    let header: Vec<u8> = [
        0xa1b2_c3d4_u32,
        2 | 4 << 16,
        0,
        0,
        65_535,
        101,
        0,
        0,
        u32::MAX,
        u32::MAX,
    ]
    .iter()
    .flat_map(|field| field.to_le_bytes())
    .collect();
    let first_line = |bytes: u64, more: &[&str]| {
        fs::write(&path, &header).unwrap();
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(bytes)
            .unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
        command
            .args(["compare", "--rate", "50mbit", "--no-cost"])
            .arg(&path)
            .args(more);
        let mut run = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(run.stderr.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        run.kill().unwrap();
        run.wait().unwrap();
        line
    };
    let announced = first_line(20_000_000_000, &["fifo", "drr"]);
    let parts = [
        "roundelay: about 200,000,000 packets, if a packet takes 100 bytes",
        "through 2 queues",
        "(--max-flows); Ctrl-C",
    ];
    assert!(
        parts.iter().all(|part| announced.contains(part)),
        "{announced}"
    );
    let many_flows = first_line(
        1_000_000_000,
        &["--max-flows", "1000000", "fifo", "drr", "qfq"],
    );
    assert!(
        many_flows.contains("4.7 GB of memory if there are 1000000 flows"),
        "{many_flows}"
    );
    for (bytes, more) in [
        (20_000_000_000, &["fifo", "--quiet"][..]),
        (1_000_000_000, &["fifo", "drr", "qfq"]),
    ] {
        let line = first_line(bytes, more);
        assert!(!line.contains("Ctrl-C"), "{line}");
    }
    fs::remove_file(&path).unwrap();
}

/// On-times of a nanosecond without a packet: 5e9 events. The estimate comes before the run,
/// without a terminal too.
#[test]
fn a_long_run_is_announced() {
    let path = std::env::temp_dir().join(format!(
        "roundelay-progress-{}-long.toml",
        std::process::id()
    ));
    let source = "kind = \"on_off\"\nfrom = \"s*\"\nto = \"r*\"\nrate = \"100bit\"\non = \"1ns\"\noff = \"1ns\"\n";
    fs::write(
        &path,
        SCENARIO.split("kind").next().unwrap().to_owned() + source,
    )
    .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
    let mut run = command
        .args(["simulate", "--long"])
        .arg(&path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(run.stderr.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    run.kill().unwrap();
    run.wait().unwrap();
    fs::remove_file(&path).unwrap();
    assert!(
        line.starts_with("roundelay: at most about ")
            && line.contains(" events, ten to thirty million a second"),
        "{line}"
    );
}

/// Formerly the bar of the papers began with "0s left", before anything was known of the runs.
#[test]
fn a_papers_bar_tells_no_time_left_before_it_knows_one() {
    let Some(shown) = shown("papers qfq theorem-3 --seeds 3 --fresh") else {
        return;
    };
    let bars: Vec<_> = shown
        .split(['\r', '\n'])
        .filter(|line| line.contains(" runs, qfq theorem-3"))
        .collect();
    assert!(
        bars.first().is_some_and(|bar| bar.contains(" 0 of ")),
        "{shown}"
    );
    for bar in bars {
        let is_first = bar.contains(" 0 of ");
        assert!(!is_first || !bar.contains("left"), "{bar}");
        assert!(!bar.contains(", 0 seconds left"), "{bar}");
    }
}
