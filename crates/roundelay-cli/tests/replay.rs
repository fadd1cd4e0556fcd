//! `roundelay replay`: R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 2.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

const SOURCES: &str = "[[source]]\nkind = \"poisson\"\nfrom = \"s*\"\nto = \"r*\"\nrate = \"1100kbit\"\npacket_len = 1000\n";

/// A folder for one test, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("roundelay-replay-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Four senders and one bottleneck.
    fn scenario(&self, queue: &str) -> PathBuf {
        let text = format!(
            "duration = \"10s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 4\nrate = \"5mbit\"\n[queue]\ncore = \"{queue} limit 100000\"\n{SOURCES}"
        );
        self.write("scenario.toml", &text)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.0.join(name);
        fs::write(&file, text).unwrap();
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn replay(scenario: &std::path::Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .arg("replay")
        .arg(scenario)
        .args(options)
        .output()
        .unwrap()
}

fn json(scenario: &std::path::Path, options: &[&str]) -> Value {
    let output = replay(scenario, &[options, &["--json"]].concat());
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn error(scenario: &std::path::Path, options: &[&str]) -> String {
    let output = replay(scenario, options);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    message
}

fn all(results: &Value, candidate: usize) -> &Value {
    &results["candidates"][candidate]["replicas"][0]["drained"]["all"]
}

/// One congestion point: preemptive LSTF is never late for any schedule; non-preemptive LSTF is
/// late by at most a packet; FIFO, which reads no header, is late by far.
#[test]
fn lstf_replays_what_a_random_queue_did() {
    let folder = Folder::new("random");
    let results = json(
        &folder.scenario("random"),
        &[
            "--with",
            "lstf preempt",
            "--with",
            "lstf",
            "--with",
            "fifo",
            "--with",
            "omniscient",
        ],
    );
    let packets = results["recorded"][0]["packets"].as_u64().unwrap();
    assert!(
        packets > 5_000 && results["recorded"][0]["flows"] == 4,
        "{}",
        results["recorded"]
    );
    assert_eq!(results["recorded"][0]["threshold_ps"], 1_600_000_000);
    assert_eq!(all(&results, 0)["overdue"], 0);
    assert_eq!(all(&results, 3)["overdue"], 0);
    assert!(
        all(&results, 1)["worst_ps"].as_u64().unwrap() <= 1_600_000_000,
        "{}",
        all(&results, 1)
    );
    let fifo = all(&results, 2);
    assert!(
        fifo["overdue_by_threshold"].as_u64().unwrap() > packets / 10
            && fifo["worst_ps"].as_u64().unwrap() > 16_000_000_000
    );
    assert_eq!(results["candidates"][2]["with"], "fifo");
    let table = String::from_utf8(
        replay(
            &folder.scenario("random"),
            &["--with", "lstf preempt", "--with", "fifo", "-q"],
        )
        .stdout,
    )
    .unwrap();
    let table = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        table.contains("fifo does not replay the schedule: ")
            && table.contains(" by more than T, the latest by "),
        "{table}"
    );
    assert!(
        table.contains(
            "lstf preempt replays the schedule: no packet leaves the network later than recorded."
        ),
        "{table}"
    );
}

/// A schedule from Parquet is replayed like the recorded run, on the same network or another.
#[test]
fn a_schedule_in_a_file_is_the_schedule_of_the_run() {
    let folder = Folder::new("listed");
    let (scenario, columns) = (folder.scenario("random"), folder.0.join("columns"));
    let with = ["--with", "lstf", "--with", "priority"];
    let recorded = json(
        &scenario,
        &[&with[..], &["--parquet", columns.to_str().unwrap()]].concat(),
    );
    let network = folder.write(
        "network.toml",
        "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 4\nrate = \"5mbit\"\n",
    );
    let schedule = columns.join("schedule.parquet");
    let listed = json(
        &schedule,
        &[&with[..], &["--on", network.to_str().unwrap()]].concat(),
    );
    for candidate in [0, 1] {
        assert_eq!(all(&recorded, candidate), all(&listed, candidate));
    }
    assert!(all(&recorded, 1)["packets"].as_u64() > Some(5_000));
    assert!(columns.join("replays.parquet").metadata().unwrap().len() > 10_000);
    let warm = "duration = \"1s\"\nwarmup = \"500ms\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 4\nrate = \"5mbit\"\n";
    let warm = json(
        &schedule,
        &["--on", folder.write("warm.toml", warm).to_str().unwrap()],
    );
    assert!(all(&warm, 0)["packets"].as_u64() < all(&listed, 0)["packets"].as_u64());
    let slow = folder.write(
        "slow.toml",
        "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 4\nrate = \"1mbit\"\n",
    );
    let message = error(&schedule, &["--on", slow.to_str().unwrap()]);
    assert!(
        message.contains("schedule.parquet: row 0: output_ps")
            && message.contains("legal range from the input"),
        "{message}"
    );
    let small = folder.write(
        "small.toml",
        "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 2\nrate = \"5mbit\"\n",
    );
    let message = error(&schedule, &["--on", small.to_str().unwrap()]);
    assert!(message.contains("is no host of the network"), "{message}");
    let text = folder.write("text.parquet", "input_ps,output_ps\n");
    let message = error(&text, &["--on", network.to_str().unwrap()]);
    assert!(message.contains("no Parquet file"), "{message}");
}

/// The same bytes for any number of threads; results of replicas have means and intervals.
#[test]
fn results_do_not_depend_on_threads() {
    let folder = Folder::new("threads");
    let scenario = folder.scenario("sjf");
    let options = [
        "--with",
        "lstf",
        "--with",
        "edf",
        "--replicas",
        "3",
        "--json",
    ];
    let [one, four] = ["1", "4"]
        .map(|threads| replay(&scenario, &[&options[..], &["--threads", threads]].concat()).stdout);
    assert_eq!(one, four);
    let results: Value = serde_json::from_slice(&one).unwrap();
    assert_eq!(results["recorded"].as_array().unwrap().len(), 3);
    assert!(results["candidates"][0]["drained"]["overdue"]["half_width"].is_number());
    assert_eq!(
        results["candidates"][0]["replicas"], results["candidates"][1]["replicas"],
        "EDF decides as LSTF does"
    );
}

/// The table shows T, both ways of counting, congestion points and delay ratios.
#[test]
fn the_table_says_what_it_counts() {
    let folder = Folder::new("table");
    let output = replay(
        &folder.scenario("lifo"),
        &[
            "--threshold",
            "1ms",
            "--slack",
            "path-end",
            "--resolution",
            "1us",
            "--plain",
            "-q",
        ],
    );
    let table = String::from_utf8(output.stdout).unwrap();
    for part in [
        "T = 1.00 ms",
        "drained",
        "cut",
        "congestion points",
        "delay ratio",
        "lstf replays the schedule: no packet",
        "o - i, rounded down to multiples of 1us",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let plain = String::from_utf8(output.stderr).unwrap();
    assert!(
        plain.contains("a plain run takes") && plain.contains("times as long"),
        "{plain}"
    );
}

/// The page has the tables, a chart of delays and one of congestion points, with a curve for each
/// discipline.
#[test]
fn the_page_has_tables_and_charts() {
    let folder = Folder::new("page");
    let page = folder.0.join("page.html");
    let output = replay(
        &folder.scenario("lifo"),
        &[
            "--with",
            "lstf",
            "--with",
            "fifo",
            "--html",
            page.to_str().unwrap(),
        ],
    );
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let html = fs::read_to_string(&page).unwrap();
    for part in [
        "id=\"chart1\"",
        "\"name\":\"fifo\"",
        "Queueing delay in the replay over that recorded",
        "congestion points",
        "T = 1.60 ms",
        // Whole numbers of routers are categories: a tick stood at half a router.
        "\"names\":[\"0\",",
        "\"dots\":true",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("src=\"http"));
    assert!(
        error(&folder.scenario("lifo"), &["--html", "-"])
            .contains("standard output is for the table")
    );
}

#[test]
fn wrong_input_is_told() {
    let folder = Folder::new("wrong");
    let scenario = folder.scenario("fifo");
    assert!(error(&scenario, &["--with", "lsft"]).contains("lstf"));
    assert!(error(&scenario, &["--with", "lstf", "--with", "lstf"]).contains("named twice"));
    assert!(error(&scenario, &["--slack", "much"]).contains("wait, path-end or none"));
    assert!(
        error(&scenario, &["--threshold", "1x"])
            .contains("'1x': expected a time in s, ms, us or ns")
    );
    assert!(
        error(&scenario, &["--resolution", "10"])
            .contains("'10' has no unit: expected a time in s, ms, us or ns")
    );
    assert!(
        error(&scenario, &["--parquet", "x", "--replicas", "2"]).contains("tells of one schedule")
    );
    assert!(error(&scenario, &["--parquet", "-"]).contains("standard output is for the table"));
    assert!(error(&folder.0.join("none.toml"), &[]).contains("none.toml"));
    let schedule = folder.write("schedule.parquet", "");
    let on = scenario.to_str().unwrap();
    assert!(error(&schedule, &["--on", on, "--seed", "1"]).contains("has no seed"));
    assert!(error(&schedule, &[]).contains("a schedule in Parquet needs --on"));
    assert!(
        error(&scenario, &["--on", on])
            .contains("--on is for a schedule in Parquet; leave out --on")
    );
    assert!(
        error(&schedule, &["--on", on, "--with", "omniscient"])
            .contains("does not tell when each router sent each packet")
    );
    let lossy = fs::read_to_string(&scenario).unwrap()
        + "[[port]]\nfrom = \"left\"\nto = \"right\"\nloss = \"1%\"\n";
    let message = error(&folder.write("lossy.toml", &lossy), &[]);
    assert!(message.contains("its wire loses packets"), "{message}");
}

/// Oddities of a capture are reported, as in `simulate`.
#[test]
fn notes_on_captures_are_told() {
    let folder = Folder::new("notes");
    let mut capture = fs::read("../../examples/captures/home-downlink.pcap").unwrap();
    capture.truncate(20_000);
    fs::write(folder.0.join("cut.pcap"), capture).unwrap();
    let source = "[[source]]\nkind = \"trace\"\nfile = \"cut.pcap\"\nfrom = \"s*\"\nto = \"r*\"\n";
    let text = format!(
        "duration = \"60s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 2\nrate = \"20mbit\"\n{source}"
    );
    let results = json(&folder.write("cut.toml", &text), &[]);
    assert!(
        results["notes"][0].as_str().unwrap().contains("cut.pcap"),
        "{}",
        results["notes"]
    );
}

/// Notes on options without effect on a discipline, and on the step of priorities.
#[test]
fn headers_that_are_not_read_are_told() {
    let folder = Folder::new("headers");
    let scenario = folder.scenario("lifo");
    let notes = |arguments: &[&str]| json(&scenario, arguments)["notes"].to_string();
    let told = notes(&[
        "--with",
        "lstf",
        "--with",
        "edf",
        "--with",
        "priority",
        "--resolution",
        "1us",
    ]);
    assert!(
        told.contains("say nothing to edf, priority") && !told.contains("nothing to lstf"),
        "{told}"
    );
    assert!(told.contains("o(p) in steps of"), "{told}");
    assert_eq!(notes(&["--with", "lstf", "--with", "fifo"]), "[]");
    assert!(error(&scenario, &["--with", "omnicient"]).contains("omniscient"));
}
