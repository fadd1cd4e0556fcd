//! `roundelay applications` and `compare --react` from the user's side.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .args(arguments)
        .current_dir(root())
        .output();
    command.expect("the command runs")
}

fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

/// A folder for one test, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("roundelay-applications-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

const ONE_WAY: &str = "examples/captures/home-downlink.pcap";
const BOTH_WAYS: &str = "examples/captures/home-both.pcap.gz";

/// Requests with pauses, files and a call over one bottleneck, in which nothing is lost.
const OFFICE: &str = r#"
seed = 3
duration = "20s"
[queue]
core = "fifo limit 1000"
[[node]]
name = "entry"
[[node]]
name = "near"
host = true
[[node]]
name = "far"
host = true
[[node]]
name = "exit"
[[node]]
name = "clients"
host = true
[[link]]
from = "near"
to = "entry"
rate = "10gbit"
[[link]]
from = "far"
to = "entry"
rate = "10gbit"
[[link]]
from = "entry"
to = "exit"
rate = "10gbit"
[[link]]
from = "exit"
to = "clients"
rate = "10gbit"
[[port]]
from = "entry"
to = "exit"
rate = "8mbit"
overhead = 14
[[source]]
name = "pages"
kind = "connections"
from = "clients"
to = "near"
tcp = { preset = "linux" }
connections = [
  { round_trip = "20ms", messages = ["> 300b", "< 30000b after 4ms", "> 200b after 900ms", "< 50000b", "> 200b after 2s", "< 8000b after 10ms"] },
]
[[source]]
name = "files"
kind = "connections"
from = "clients"
to = "far"
tcp = { preset = "linux" }
connections = [
  { start = "500ms", round_trip = "40ms", messages = ["> 500b", "< 400000b", "> 500b after 1s", "< 90000b after 20ms"] },
  { start = "9s", round_trip = "40ms", messages = ["> 250b", "< 250000b"] },
]
[[source]]
name = "call"
kind = "cbr"
from = "near"
to = "clients"
rate = "80kbit"
packet_len = 200
"#;

/// A feed of which the application is the limit.
const FEED: &str = r#"[[source]]
name = "feed"
kind = "connections"
from = "clients"
to = "near"
tcp = { preset = "linux" }
connections = [
  { round_trip = "20ms", messages = ["> 300b", "< 9000b", "< 9000b after 900ms", "< 9000b after 2s", "< 9000b after 3s", "< 9000b after 3s"] },
]
"#;

/// A download without end, beside it.
const BULK: &str = r#"
[[source]]
name = "bulk"
kind = "connections"
from = "clients"
to = "far"
tcp = { preset = "linux" }
connections = [{ start = "1s", round_trip = "40ms", messages = ["> 300b", "< endless"] }]
"#;

fn simulated(path: &str) -> Value {
    replicated(path, "1")
}

fn replicated(path: &str, replicas: &str) -> Value {
    let arguments = [
        "simulate",
        path,
        "--json",
        "--quiet",
        "--replicas",
        replicas,
    ];
    serde_json::from_str(&stdout(&arguments)).expect("JSON")
}

/// The mean of a figure of a group of sources.
fn mean(results: &Value, name: &str, figure: &str) -> f64 {
    let groups = results["summary"]["groups"].as_array().expect("groups");
    let found = groups.iter().find(|group| group["name"] == name);
    let group = found.unwrap_or_else(|| panic!("no {name} in {results:#}"));
    group[figure]["mean"]
        .as_f64()
        .unwrap_or_else(|| panic!("no {figure} in {group:#}"))
}

fn near(one: f64, other: f64, part: f64) -> bool {
    (one - other).abs() <= part * other.abs()
}

/// Simulates, captures, reads the capture's applications and simulates them. The first results, the
/// scenario that was read, and its results.
fn twice(name: &str, office: &str) -> (Value, String, Value) {
    let folder = Folder::new(name);
    let office = folder.write("office.toml", office);
    let capture = folder.path("office.pcapng");
    let first = stdout(&["simulate", &office, "--json", "--pcapng", &capture]);
    let first = serde_json::from_str(&first).expect("JSON");
    let link = ["--interface", "entry to exit"];
    let read = ["applications", &capture, "--rate", "8mbit"];
    let text = stdout(&[&read[..], &link].concat());
    let again = simulated(&folder.write("again.toml", &text));
    (first, text, again)
}

/// What is read from a simulation's capture is what was simulated: the same bytes, and completion
/// times within a twentieth. Names are those of services and sizes: here no port is well known.
#[test]
fn a_simulation_gives_itself_again() {
    let (first, text, again) = twice("self", OFFICE);
    for words in [
        "< 30000b",
        "< 50000b",
        "< 400000b",
        "< 90000b",
        "< 250000b",
        "> 200b after 90",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    for (name, read) in [("pages", "tcp short"), ("files", "tcp medium")] {
        for figure in ["throughput", "completion_mean"] {
            let [before, after] = [mean(&first, name, figure), mean(&again, read, figure)];
            assert!(
                near(after, before, 0.05),
                "{name}, {figure}: {before}, {after}\n{text}"
            );
        }
    }
}

/// Beside a transfer without end, with losses, with BBR or paced, the same messages are read, and completion
/// times are within a twentieth. With losses a run depends on which packets meet a full queue, by
/// milliseconds of its starts, so starts are drawn over more than a round trip; and short transfers
/// differ so much that 200 runs tell their mean within a tenth only. (1,000 runs agree within 2%.)
#[test]
fn a_busy_simulation_gives_itself_again() {
    for (control, paces, limit, jitter, replicas) in [
        ("cubic", "", "60", "100ms", "200"),
        ("cubic", ", pacing = true", "100", "10ms", "100"),
        ("bbr", "", "100", "10ms", "20"),
    ] {
        let folder = Folder::new(&format!("busy-{control}-{limit}"));
        let tcp = format!("\"linux\", control = \"{control}\"{paces}");
        let office = format!("{OFFICE}{BULK}")
            .replace("\"linux\"", &tcp)
            .replace("fifo limit 1000", &format!("fifo limit {limit}"));
        let before = folder.write("office.toml", &office);
        let capture = folder.path("office.pcapng");
        stdout(&["simulate", &before, "--json", "--pcapng", &capture]);
        let link = ["--rate", "8mbit", "--interface", "entry to exit"];
        let read = ["applications", &capture, "--control", control];
        let text = stdout(&[&read[..], &link].concat());
        for words in [
            "\"> 300b\", \"< 30000b",
            "\"> 200b after 90",
            "\"< 50000b",
            "\"< 400000b",
            "\"< 90000b after 2",
            "\"> 250b\", \"< 250000b",
            "\"> 300b\", \"< endless\"",
        ] {
            assert!(text.contains(words), "{control}: {words} in {text}");
        }
        let messages = text.matches("\"< ").count() + text.matches("\"> ").count();
        assert_eq!(messages, 6 + 4 + 2 + 2, "{control}: {text}");
        let jitter = format!("start_jitter = \"{jitter}\"");
        let kind = "kind = \"connections\"\n";
        let office = office.replace(kind, &format!("{kind}{jitter}\n"));
        let again = text
            .replace("start_jitter = \"10ms\"", &jitter)
            .replace("\"linux\"", &format!("\"linux\"{paces}"))
            .replace("core = \"fifo\"", &format!("core = \"fifo limit {limit}\""));
        let first = replicated(&folder.write("office.toml", &office), replicas);
        let again = replicated(&folder.write("again.toml", &again), replicas);
        let of_pages = if control == "cubic" { 0.1 } else { 0.05 };
        for (name, read, figure, part) in [
            ("pages", "tcp short", "completion_mean", of_pages),
            ("files", "tcp medium", "completion_mean", 0.05),
            ("bulk", "tcp bulk", "throughput", 0.05),
        ] {
            let [before, after] = [mean(&first, name, figure), mean(&again, read, figure)];
            println!("{control}, {name}: {before}, {after}");
            assert!(
                near(after, before, part),
                "{control}, {name}: {before}, {after}"
            );
        }
    }
}

/// A transfer without end is one again, and fills the link as before.
#[test]
fn an_endless_transfer_stays_endless() {
    let (first, text, again) = twice("endless", &format!("{OFFICE}{BULK}"));
    assert!(text.contains("\"< endless\""), "{text}");
    let [before, after] = [
        mean(&first, "bulk", "throughput"),
        mean(&again, "tcp bulk", "throughput"),
    ];
    assert!(near(after, before, 0.05), "{before}, {after}\n{text}");
}

/// Senders with BBR pace, so no acknowledgement tells that they wanted more: their data waits all the
/// time. Their applications may have been the limit, and the other end of that is tried.
#[test]
fn transfers_of_senders_that_pace_are_endless_and_open() {
    let folder = Folder::new("paced");
    let bulk = BULK.replace("\"linux\" }", "\"linux\", control = \"bbr\" }");
    let bulks = format!("{OFFICE}{bulk}{}", bulk.replace("\"bulk\"", "\"other\""));
    let office = folder.write("office.toml", &bulks);
    let capture = folder.path("office.pcapng");
    stdout(&["simulate", &office, "--json", "--pcapng", &capture]);
    let link = ["--rate", "8mbit", "--interface", "entry to exit"];
    let text = stdout(&[&["applications", &capture][..], &link].concat());
    assert_eq!(text.matches("\"< endless\"").count(), 2, "{text}");
    assert!(
        text.contains("whether 2 of the endless connections"),
        "{text}"
    );
    let react = [
        "--react",
        "--open",
        "--replicas",
        "1",
        "--json",
        "--no-cost",
    ];
    let compare = [&["compare", &capture][..], &link, &react, &["fifo"]].concat();
    let results: Value = serde_json::from_str(&stdout(&compare)).expect("JSON");
    let tried = results["reaction"]["open"].as_array().expect("ends");
    assert!(
        tried.iter().any(|end| end["value"] == "as written"),
        "{tried:?}"
    );
}

/// A simulation's capture with this receive window in all segments and no scale: captures of
/// simulations tell no window.
fn with_windows(capture: &mut [u8], window: u16) {
    const PACKET: u32 = 6;
    const SCALE: [u8; 4] = [1, 3, 3, 14];
    let mut at = 0;
    while let Some([kind, len]) = capture.get(at..at + 8).map(|head| {
        let word = |from: usize| u32::from_le_bytes(head[from..from + 4].try_into().unwrap());
        [word(0), word(4)]
    }) {
        let [ip, tcp] = [at + 28, at + 48];
        if kind == PACKET && capture[ip + 9] == 6 {
            capture[tcp + 14..tcp + 16].copy_from_slice(&window.to_be_bytes());
            let is_syn = capture[tcp + 13] & 2 != 0;
            if is_syn && capture[tcp + 24..tcp + 28] == SCALE {
                capture[tcp + 27] = 0;
            }
        }
        at += len as usize;
    }
}

/// A transfer that fills its receiver's window, while the link has room: at any rate it has a window
/// each round trip.
#[test]
fn a_receive_window_that_was_the_limit_holds() {
    let folder = Folder::new("window");
    let small = "\"linux\", window_growth = false, receive_window = 14";
    let office = format!("{OFFICE}{BULK}").replace("\"linux\"", small);
    let before = folder.write("office.toml", &office);
    let capture = folder.path("office.pcapng");
    stdout(&["simulate", &before, "--json", "--pcapng", &capture]);
    let mut bytes = fs::read(&capture).unwrap();
    with_windows(&mut bytes, 14 * 1448);
    fs::write(&capture, bytes).unwrap();
    let link = ["--rate", "8mbit", "--interface", "entry to exit"];
    let text = stdout(&[&["applications", &capture][..], &link].concat());
    let tcp = "control = \"cubic\", segment_len = 1448, window_growth = false, receive_window = 14";
    let (_, bulk) = text
        .split_once("name = \"tcp bulk by window\"")
        .unwrap_or_else(|| panic!("no window: {text}"));
    assert!(
        bulk.contains("\"< endless\"") && bulk.contains(tcp),
        "{text}"
    );
    assert!(
        text.contains("receive window, which holds here: "),
        "{text}"
    );
    let fast = |text: &str, name: &str| {
        let faster = text.replace("rate = \"8mbit\"", "rate = \"20mbit\"");
        let path = folder.write("fast.toml", &faster);
        mean(&simulated(&path), name, "throughput")
    };
    let [truth, read] = [fast(&office, "bulk"), fast(&text, "tcp bulk by window")];
    assert!(near(read, truth, 0.05), "{truth}, {read}");
    assert!(truth < 5e6, "the window is the limit: {truth}");
}

/// An application that writes two megabits a second is the limit, also while a transfer fills the
/// link beside it.
#[test]
fn a_stream_beside_a_transfer_stays_a_list_of_writes() {
    let writes = "\"< 12500b after 50ms\", ".repeat(360);
    let stream = BULK
        .replace("\"bulk\"", "\"stream\"")
        .replace("\"< endless\"", &writes);
    let (_, text, _) = twice("beside", &format!("{OFFICE}{BULK}{stream}"));
    assert_eq!(text.matches("\"< endless\"").count(), 1, "{text}");
}

/// Regression: what a call or a game writes waits beside a long queue as a file does, and was taken for
/// one where it was brief.
#[test]
fn brief_streams_beside_a_long_queue_are_no_files() {
    for (bytes, gap, count) in [(200, 20, 200), (1448, 20, 60)] {
        let writes = format!("\"< {bytes}b after {gap}ms\", ").repeat(count);
        let stream = BULK
            .replace("\"bulk\"", "\"stream\"")
            .replace("start = \"1s\"", "start = \"4s\"")
            .replace("\"< endless\"", &writes);
        let (_, text, _) = twice("brief", &format!("{OFFICE}{BULK}{stream}"));
        let whole = format!("\"< {}b\"", bytes * count);
        assert!(!text.contains(&whole), "{whole} in {text}");
        let listed = text.matches("\"< ").count();
        assert!(listed > count / 4, "{listed} messages: {text}");
    }
}

/// What `applications` writes has a bottleneck for `live`: its other direction has no overhead.
#[test]
fn the_scenario_runs_live() {
    let folder = Folder::new("live");
    let home = folder.write("home.toml", &stdout(&["applications", BOTH_WAYS]));
    let output = run(&["live", &home, "--", "true"]);
    let message = String::from_utf8_lossy(&output.stderr);
    // It runs, or the system allows no namespaces.
    let code = output.status.code();
    assert!(code == Some(0) || code == Some(1), "{message}");
    assert!(!message.contains("panicked"), "{message}");
    assert!(!message.contains("directions differ"), "{message}");
}

/// Scenarios may be as long as any file of text: the connections of an hour take megabytes.
#[test]
fn a_scenario_of_twenty_megabytes_is_read() {
    let folder = Folder::new("long");
    let comments = "# connections of an hour\n".repeat(800_000);
    let office = folder.write("office.toml", &format!("{comments}{OFFICE}"));
    stdout(&["simulate", &office, "--dry-run"]);
}

/// One direction tells no round trips: a question, not a verdict.
#[test]
fn one_direction_gets_the_question() {
    let text = stdout(&[
        "compare", ONE_WAY, "--rate", "5mbit", "--react", "fifo", "fq_codel",
    ]);
    assert!(text.contains("one direction only"), "{text}");
    assert!(text.contains("tcpdump -i INTERFACE -s 100"), "{text}");
    assert!(!text.contains("fq_codel"), "no verdict: {text}");
    // There is no figure for an output, so it is an error there.
    let output = run(&[
        "compare", ONE_WAY, "--rate", "5mbit", "--react", "fifo", "--json",
    ]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(said.contains("one direction only"), "{said}");
}

/// The call of the tests below: the example capture of both directions, at half of its rate.
const REACT: [&str; 6] = [
    "compare",
    BOTH_WAYS,
    "--rate",
    "5mbit",
    "--react",
    "--no-cost",
];

/// The columns that the tutorial's first task reads.
#[test]
fn eighty_columns_show_calls_and_how_long_the_web_takes() {
    let more = ["--replicas", "2", "fifo", "fq_codel", "qfq"];
    let output = Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .args([&REACT[..], &more].concat())
        .env("COLUMNS", "80")
        .current_dir(root())
        .output()
        .expect("the command runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut lines = text.lines().skip_while(|line| !line.contains(" calls "));
    let groups = lines.next().unwrap_or_else(|| panic!("{text}"));
    let heads = lines.next().expect("heads");
    assert!(groups.contains("web") && groups.contains("DNS"), "{text}");
    assert!(heads.contains("p99") && heads.contains("done"), "{text}");
    assert!(heads.chars().count() <= 80, "{text}");
}

/// Regression: the direction of the requests got a verdict from acknowledgements whose downloads no
/// link slowed down.
#[test]
fn a_direction_in_which_hardly_anything_reacts_gets_the_question() {
    let more = ["--direction", "from 192.168.1.0/24", "fifo", "fq_codel"];
    let text = stdout(&[&REACT[..], &more].concat());
    assert!(text.contains("hardly anything in it reacts"), "{text}");
    assert!(!text.contains("serves this traffic best"), "{text}");
}

/// Regression: with one column too many calls, DNS and web were hidden together.
#[test]
fn one_column_too_many_hides_one() {
    let more = [
        "--replicas",
        "2",
        "fq_codel linux",
        "cake besteffort",
        "fifo",
    ];
    let output = Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .args([
            "compare",
            BOTH_WAYS,
            "--rate",
            "2mbit",
            "--react",
            "--no-cost",
        ])
        .args(more)
        .env("COLUMNS", "80")
        .current_dir(root())
        .output()
        .expect("the command runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let groups = text.lines().find(|line| line.contains("── bulk"));
    let groups = groups.unwrap_or_else(|| panic!("{text}"));
    for kind in ["calls", "DNS", "web"] {
        assert!(groups.contains(kind), "{kind}: {text}");
    }
    assert!(groups.chars().count() <= 80, "{groups}");
}

/// The same table and verdict as without `--react`, from senders that react, with intervals.
#[test]
fn both_directions_get_an_answer_with_intervals() {
    let more = ["--replicas", "2", "--wide", "fifo", "fq_codel"];
    let text = stdout(&[&REACT[..], &more].concat());
    let replayed = stdout(&[
        "compare",
        BOTH_WAYS,
        "--rate",
        "5mbit",
        "--no-cost",
        "--wide",
        "fifo",
        "fq_codel",
    ]);
    for heading in [
        "light flows",
        "calls",
        "DNS",
        "least share",
        "Jain",
        "GPS lag",
        "99th percentile",
    ] {
        assert!(text.contains(heading), "{heading}: {text}");
        assert!(replayed.contains(heading), "{heading}: {replayed}");
    }
    for words in [
        "Senders react",
        "\u{b1}",
        "done p99",
        "* fq_codel",
        "fq_codel serves this traffic best",
        "With fq_codel in place of fifo: calls and games 99% of packets within",
        "web requests complete in",
        "A replay of the packets as recorded",
        "tc qdisc add",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("open-loop"), "{text}");
    assert!(!text.contains("which a replay cannot show"), "{text}");
    assert!(!text.contains("reorder"), "neither queue reorders: {text}");
}

/// All outputs of `compare`, from the same figures.
#[test]
fn senders_that_react_have_all_outputs() {
    let folder = Folder::new("outputs");
    let [html, csv] = ["page.html", "tables"].map(|name| folder.path(name));
    let more = [
        "--replicas",
        "2",
        "--json",
        "--html",
        &html,
        "--csv",
        &csv,
        "fifo",
        "fq_codel",
    ];
    let results = stdout(&[&REACT[..], &more].concat());
    let results: Value = serde_json::from_str(&results).expect("JSON");
    assert_eq!(results["reaction"]["replicas"], 2);
    let tcp = results["reaction"]["tcp"].as_f64().expect("a part");
    assert!(tcp > 0.9, "{tcp}");
    assert_eq!(results["verdict"]["best"], 1);
    for number in 0..2 {
        let result = &results["disciplines"][number];
        let [of_table, of_interval] = [
            &result["total"]["delay"]["p99"],
            &result["intervals"]["p99"]["mean"],
        ]
        .map(|figure| figure.as_f64().expect("a delay"));
        assert!(
            near(of_table, of_interval, 1e-9),
            "{of_table}, {of_interval}"
        );
        assert!(
            result["intervals"]["p99"]["half_width"].is_f64(),
            "{result}"
        );
        let kinds = result["kinds"].as_array().expect("kinds");
        let web = kinds.iter().find(|kind| kind["kind"] == "web");
        let served = &web.expect("web")["served"];
        assert!(
            served["transfers"].as_f64().expect("a number") > 30.0,
            "{served}"
        );
        assert!(served["mean"].as_f64().expect("a time") > 0.02, "{served}");
    }
    let page = fs::read_to_string(&html).unwrap();
    assert!(
        page.contains("With fq_codel in place of fifo"),
        "no sentence"
    );
    let flows = fs::read_to_string(Path::new(&csv).join("flows.csv")).unwrap();
    let tables = results["flows"].as_array().expect("flows").len();
    assert_eq!(
        flows.lines().count(),
        1 + 2 * tables,
        "a row a flow and discipline"
    );
}

/// The same seeds give the same figures, on any number of threads.
#[test]
fn senders_that_react_are_repeatable() {
    let run = |threads| {
        let more = ["--replicas", "2", "--json", "--threads", threads, "fifo"];
        let results = stdout(&[&REACT[..], &more].concat());
        let results: Value = serde_json::from_str(&results).expect("JSON");
        results["disciplines"].to_string()
    };
    assert!(run("1") == run("2"), "other figures on two threads");
}

/// Both ends of what no capture shows, and whether the verdict depends on it.
#[test]
fn what_no_capture_shows_is_tried_at_both_ends() {
    let more = ["--replicas", "1", "--open", "fifo", "fq_codel"];
    let text = stdout(&[&REACT[..], &more].concat());
    assert!(text.contains("not in the capture"), "{text}");
    for parameter in ["congestion control", "round trips"] {
        assert!(text.contains(parameter), "{parameter}: {text}");
    }
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains(
            "fq_codel is best with unknown congestion control bbr, round trips half, too"
        ),
        "{text}"
    );
    let more = [
        "--replicas",
        "1",
        "--open",
        "--json",
        "--control",
        "bbr",
        "fifo",
        "fq_codel",
    ];
    let results: Value = serde_json::from_str(&stdout(&[&REACT[..], &more].concat())).unwrap();
    let tried = results["reaction"]["open"].as_array().expect("ends");
    let values: Vec<_> = tried.iter().map(|end| &end["value"]).collect();
    assert_eq!(values, ["cubic", "half"]);
    let [as_assumed, at_the_end] = [
        &results["disciplines"][1]["total"]["loss"],
        &tried[0]["loss"],
    ];
    assert_ne!(as_assumed, at_the_end, "cubic loses as bbr");
    let output = run(&["compare", BOTH_WAYS, "--rate", "5mbit", "--open"]);
    assert_eq!(output.status.code(), Some(2));
}

/// Where the link is wide and no transfer wanted more than it got, a question asks for a capture in
/// which one does, in place of a verdict; with a download without end there is none.
#[test]
fn a_capture_without_a_large_download_gets_the_question() {
    let folder = Folder::new("wanted");
    let flat = |name: &str, office: &str, rate: &str| {
        let office = folder.write(&format!("{name}.toml"), office);
        let capture = folder.path(&format!("{name}.pcapng"));
        stdout(&["simulate", &office, "--json", "--pcapng", &capture]);
        let compare = ["compare", &capture, "--interface", "entry to exit"];
        let react = ["--rate", rate, "--react", "--replicas", "1", "--no-cost"];
        let text = stdout(&[&compare[..], &react, &["fifo", "fq_codel"]].concat());
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (_, call) = OFFICE.rsplit_once("[[source]]").expect("a call");
    let (network, _) = OFFICE.split_once("[[source]]").expect("sources");
    let quiet = format!("{network}{FEED}[[source]]{call}");
    let text = flat("quiet", &quiet, "10gbit");
    assert!(
        text.contains("no transfer wanted more than it got in the capture"),
        "{text}"
    );
    assert!(text.contains("tcpdump -i INTERFACE -s 100"), "{text}");
    assert!(!text.contains("fq_codel"), "no verdict: {text}");
    // The files end, and the network held them back.
    for (name, office, rate) in [
        ("office", OFFICE, "10gbit"),
        ("bulk", &format!("{OFFICE}{BULK}"), "8mbit"),
    ] {
        let text = flat(name, office, rate);
        assert!(!text.contains("wanted more than it got"), "{text}");
    }
}

#[test]
fn flows_that_are_no_connections_do_not_react() {
    let output = run(&[&REACT[..], &["--flow-by", "src", "fifo"]].concat());
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("expected 5tuple, inner or outer"),
        "{message}"
    );
}

/// As without `--react`: a cake without bandwidth has the link's.
#[test]
fn a_cake_that_meets_senders_is_that_of_the_link() {
    let more = [
        "--replicas",
        "1",
        "--json",
        "cake besteffort",
        "cake bandwidth 5mbit besteffort",
    ];
    let results = stdout(&[&REACT[..], &more].concat());
    let results: Value = serde_json::from_str(&results).expect("JSON");
    let disciplines = results["disciplines"].as_array().expect("disciplines");
    assert_eq!(disciplines[0]["total"], disciplines[1]["total"]);
}

/// A file that is a scenario: comments say what is open.
#[test]
fn the_scenario_says_what_is_open() {
    let text = stdout(&["applications", BOTH_WAYS]);
    for words in [
        "Wanted more than they got",
        "show nothing: cubic here",
        "- rate of the link",
        "kind = \"connections\"",
        "kind = \"recorded\"",
        "endless",
    ] {
        assert!(text.contains(words), "{words}: {}", &text[..2000]);
    }
    let folder = Folder::new("open");
    let home = folder.write("home.toml", &text);
    stdout(&["simulate", &home, "--dry-run"]);
}

/// The notes beside a scenario, as comments in it and on standard error.
fn doubts(arguments: &[&str]) -> Vec<String> {
    let output = run(&[&["applications"], arguments].concat());
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    let told = String::from_utf8(output.stderr).expect("text");
    let notes = |text: &str, start: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(start));
        Vec::from_iter(lines.map(str::to_owned))
    };
    let comments = notes(&text, "# Note: ");
    assert_eq!(comments, notes(&told, "roundelay: note: "), "{text}");
    assert!(
        text.contains("[[source]]"),
        "a scenario all the same: {text}"
    );
    comments
}

/// What `compare` asks and notes of a capture stands in the scenario, too.
#[test]
fn the_scenario_says_what_is_in_doubt() {
    assert_eq!(doubts(&[BOTH_WAYS]), [""; 0]);
    let [note] = &doubts(&[ONE_WAY])[..] else {
        panic!("one note");
    };
    assert!(note.contains("one direction only of connections"), "{note}");
    assert_eq!(doubts(&[ONE_WAY, "--round-trip", "40ms"]), [""; 0]);
    let [note] = &doubts(&[BOTH_WAYS, "--direction", "both"])[..] else {
        panic!("one note");
    };
    assert!(
        note.contains("in doubt, because the capture holds both directions of connections")
            && note.contains("--direction 'to 192.168.1.0/24' takes one link's, 4.04 Mbit/s"),
        "{note}"
    );
    let folder = Folder::new("doubts");
    let coarse = folder.path("coarse.pcap");
    fs::write(&coarse, with_ticks_of_a_second(&capture_of_both_ways())).unwrap();
    let [note] = &doubts(&[&coarse, "--rate", "5mbit"])[..] else {
        panic!("one note");
    };
    assert!(
        note.contains(
            "These applications are in doubt, because the capture's clock shows multiples"
        ),
        "{note}"
    );
}

/// The example capture of both directions, unpacked.
fn capture_of_both_ways() -> Vec<u8> {
    let output = Command::new("gzip")
        .args(["-dc", BOTH_WAYS])
        .current_dir(root())
        .output();
    output.expect("gzip runs").stdout
}

/// A capture whose clock shows whole seconds.
fn with_ticks_of_a_second(capture: &[u8]) -> Vec<u8> {
    let mut bytes = capture.to_vec();
    let mut at = 24;
    while at + 16 <= bytes.len() {
        let len = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap());
        bytes[at + 4..at + 8].fill(0);
        at += 16 + len as usize;
    }
    bytes
}

#[test]
fn options_of_react_need_it() {
    let output = run(&[
        "compare",
        ONE_WAY,
        "--rate",
        "5mbit",
        "--round-trip",
        "20ms",
    ]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("--react"), "{message}");
}

/// Captures of a kernel's senders and scenarios, described in the README there.
const SENDERS: &str = "crates/roundelay-cli/tests/senders";

fn applications(capture: &str, more: &[&str]) -> String {
    let output = run(&[&["applications", capture], more].concat());
    assert!(output.status.success(), "{more:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// A scenario of the folder, simulated and captured: the results, and the capture's path.
fn captured(folder: &Folder, name: &str) -> (Value, String) {
    let capture = folder.path(&format!("{name}.pcapng"));
    let scenario = format!("{SENDERS}/{name}.toml");
    let results = stdout(&["simulate", &scenario, "--json", "--pcapng", &capture]);
    (serde_json::from_str(&results).expect("JSON"), capture)
}

/// Regression: slow start is faster than the link in front of its queue. Taken for the link's rate, it
/// made the link look idle, and two transfers that filled it lists of writes.
#[test]
fn a_slow_start_is_not_the_rate_of_the_link() {
    let capture = format!("{SENDERS}/two-uploads.pcap.gz");
    let to = ["--direction", "to 10.12.0.1"];
    let asked = ["--rate", "20mbit"];
    for more in [
        &[][..],
        &asked[..],
        &["--rate", "5mbit"],
        &["--captured-rate", "5mbit"],
    ] {
        let text = applications(&capture, &[&to[..], more].concat());
        assert_eq!(text.matches("\"> endless").count(), 2, "{more:?}");
        assert!(text.contains("without: 97% of the bytes"), "{more:?}");
    }
    let folder = Folder::new("uploads");
    let faster = folder.write(
        "20.toml",
        &applications(&capture, &[&to[..], &asked].concat()),
    );
    let rate = mean(&simulated(&faster), "tcp bulk upload", "throughput");
    assert!(
        rate > 17.5e6,
        "{rate}, and the kernel's two had 18.4 Mbit/s"
    );
}

/// Regression: pages beside two transfers were lists of writes, and downloads that a clock ended were
/// files.
#[test]
fn a_page_of_a_kernel_is_one_answer() {
    for queue in ["fifo", "fq_codel"] {
        let capture = format!("{SENDERS}/pages-{queue}.pcapng.gz");
        let text = applications(&capture, &["--interface", "down", "--rate", "4mbit"]);
        let pages = text.matches("\"< 100204b").count();
        assert!(pages >= 29, "{queue}: {pages} of 30");
        assert_eq!(text.matches("\"< endless").count(), 2, "{queue}");
    }
}

/// Captures of senders of a Linux, whose objects and chunks are known.
const KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../peers/tcp");

/// Regression: eight of 81 objects of a server with BBR were lists of writes, because they lose beside
/// a long queue and so have little of the link. Their first window is one burst, so their data was
/// there at once.
#[test]
fn an_answer_that_loses_is_one_message() {
    let capture = format!("{KERNEL}/capture-bbr.pcap.gz");
    let text = applications(&capture, &["--rate", "20mbit"]);
    let mut answers = Vec::new();
    for line in text.lines() {
        // The player asks again and again, and two transfers have no end.
        let requests = line.matches("\"> ").count();
        if requests == 1 && !line.contains("endless") {
            answers.push(line.matches("\"< ").count());
        }
    }
    assert_eq!(answers, vec![1; 82], "81 objects and a file");
}

/// Regression: a server with BBR beside others with CUBIC was taken for one of these. It measures the
/// empty path, but its flight is smaller behind some losses.
#[test]
fn a_sender_that_measures_the_path_has_bbr_whatever_its_losses_say() {
    let capture = format!("{KERNEL}/capture-mixed.pcap.gz");
    let text = applications(&capture, &["--rate", "20mbit"]);
    assert!(text.contains("1 connections show BBR"), "{}", head(&text));
    assert!(
        text.contains("1 connections heed losses"),
        "{}",
        head(&text)
    );
    assert_eq!(text.matches("control = \"bbr\"").count(), 1);
}

/// The comments that a scenario begins with.
fn head(text: &str) -> &str {
    text.split("\nseed").next().unwrap_or(text)
}

/// Regression: of two transfers without end, only one was read as such where the other one had BBR.
#[test]
fn bbr_beside_cubic_is_two_transfers_without_end() {
    let folder = Folder::new("bbr");
    let (_, capture) = captured(&folder, "bbr-beside-cubic");
    let text = applications(&capture, &["--rate", "30mbit"]);
    assert_eq!(text.matches("\"< endless").count(), 2, "{text}");
    // One of them shows that it heeds no losses.
    assert!(text.contains("1 connections show BBR"), "{text}");
    assert_eq!(text.matches("control = \"bbr\"").count(), 1, "{text}");
    let text = applications(&capture, &["--rate", "30mbit", "--control", "cubic"]);
    assert!(!text.contains("control = \"bbr\""), "{text}");
}

/// Regression: two CUBIC flows whose windows were full again five round trips after a loss were taken
/// for BBR, "certain to 80% or more".
#[test]
fn cubic_behind_a_long_queue_is_no_bbr() {
    let folder = Folder::new("long-queue");
    let (_, capture) = captured(&folder, "long-queue");
    let text = applications(&capture, &["--rate", "10mbit"]);
    assert!(text.contains("2 connections heed losses"), "{text}");
    assert!(!text.contains("control = \"bbr\""), "{text}");
}

/// Regression: a player's chunk that slow start spreads over its round trips became a write each.
#[test]
fn a_chunk_is_one_transfer() {
    let folder = Folder::new("chunks");
    let (before, capture) = captured(&folder, "chunks");
    let text = applications(&capture, &["--rate", "30mbit"]);
    assert_eq!(text.matches("\"< 409600b").count(), 7, "{text}");
    let path = folder.write("again.toml", &text);
    let again = stdout(&[
        "simulate",
        &path,
        "--queue",
        "fifo limit 100",
        "--json",
        "--replicas",
        "10",
    ]);
    let again: Value = serde_json::from_str(&again).expect("JSON");
    let [before, after] = [
        mean(&before, "video", "completion_mean"),
        mean(&again, "tcp medium", "completion_mean"),
    ];
    // Which packets of a chunk beside the file are lost differs from run to run.
    assert!(after > 0.4 && after < 2.0 * before, "{before}, {after}");
}

/// Two uploads over 10 Mbit/s beside downloads: the other direction has its rate, and what it does to
/// both.
#[test]
fn uploads_have_the_rate_of_their_direction() {
    let folder = Folder::new("up");
    let (before, capture) = captured(&folder, "uploads");
    let link = ["--interface", "entry to exit", "--rate", "30mbit"];
    let text = applications(&capture, &link);
    assert!(
        text.contains("because uploads were held back there"),
        "{text}"
    );
    // The link's own queue is asked for, and the other direction keeps its own.
    let again = folder.write("again.toml", &text);
    let again = stdout(&["simulate", &again, "--queue", "fifo limit 100", "--json"]);
    let again: Value = serde_json::from_str(&again).expect("JSON");
    let [was, is] = [
        mean(&before, "uploads", "throughput"),
        mean(&again, "tcp bulk upload", "throughput"),
    ];
    assert!(near(is, was, 0.1), "{was}, {is}: {text}");
    assert!(
        !text.contains("small_queue"),
        "that queue overflows: {text}"
    );
    let stated = ["--up-rate", "5mbit", "--up-queue", "fifo limit 50"];
    let text = applications(&capture, &[&link[..], &stated].concat());
    assert!(
        text.contains("The other direction has 5mbit with fifo limit 50"),
        "{text}"
    );
    let slower = simulated(&folder.write("slower.toml", &text));
    assert!(mean(&slower, "tcp bulk upload", "throughput") < 5e6);
    let queue = "[[port]]\nfrom = \"right\"\nto = \"exit\"\nrate = \"5mbit\"";
    assert!(text.contains(queue), "{text}");
}

/// Regression: parts of pages began when they had in the capture, however late the page was on another
/// link. Over a quarter of the rate readers fetch less, and over the captured one as much as before.
#[test]
fn readers_wait_for_their_pages() {
    let folder = Folder::new("readers");
    let (before, capture) = captured(&folder, "readers");
    let fetched = |results: &Value, name: &str| {
        let groups = results["replicas"][0]["groups"].as_array();
        let groups = groups.unwrap_or_else(|| panic!("no groups in {results:#}"));
        let group = groups.iter().find(|group| group["name"] == name);
        let group = group.unwrap_or_else(|| panic!("no {name} in {results:#}"));
        group["completion"]["count"].as_f64().expect("transfers")
    };
    let link = ["--interface", "entry to exit", "--captured-rate", "10mbit"];
    let mut found = Vec::new();
    for rate in ["10mbit", "2500kbit"] {
        let text = applications(&capture, &[&link[..], &["--rate", rate]].concat());
        assert!(
            text.contains("Begin when an answer on another connection has come"),
            "{text}"
        );
        let again = folder.write("again.toml", &text);
        let again = stdout(&["simulate", &again, "--queue", "fifo limit 100", "--json"]);
        let again: Value = serde_json::from_str(&again).expect("JSON");
        found.push(fetched(&again, "tcp pages"));
    }
    let scenario = root().join(SENDERS).join("readers.toml");
    let scenario = fs::read_to_string(scenario).expect("a scenario");
    let slower = scenario.replace("10mbit", "2500kbit");
    let slower = simulated(&folder.write("slower.toml", &slower));
    let [was, slow] = [fetched(&before, "readers"), fetched(&slower, "readers")];
    println!("{was} and {slow}, read {found:?}");
    assert!(slow < 0.75 * was, "{was}, {slow}");
    assert!(near(found[0], was, 0.05), "{found:?}");
    // Here a page waits for the part that came last in the capture, and over the slower link another
    // one may: readers are a third faster than written. If they waited for nobody, nearly all would
    // be fetched.
    assert!(found[1] < 0.75 * was, "{found:?}");
}

/// Regression: `verify` called logs of shapers impossible. Nine megabits a second meet shapers of less,
/// on a link of 20.
#[test]
fn logs_of_shapers_are_possible() {
    const SCENARIO: &str = r#"
seed = 1
duration = "2s"
[queue]
core = "fifo limit 1000"
[[node]]
name = "a"
host = true
[[node]]
name = "b"
[[node]]
name = "c"
host = true
[[link]]
from = "a"
to = "b"
rate = "1gbit"
[[link]]
from = "b"
to = "c"
rate = "20mbit"
[[source]]
name = "x"
kind = "cbr"
from = "a"
to = "c"
packet_len = 1000
rate = "9mbit"
"#;
    const TREE: &str = r#"
name = "eth0"
[[node]]
name = "1:"
discipline = "htb"
[[node]]
name = "1:1"
parent = "1:"
discipline = "htb"
rate = "6mbit"
ceil = "6mbit"
[[node]]
name = "1:10"
parent = "1:1"
discipline = "fq_codel linux limit 10240"
rate = "1mbit"
ceil = "6mbit"
flows = ["dscp ef and src 0.0.0.0/0"]
[[node]]
name = "1:30"
parent = "1:1"
discipline = "fq_codel linux limit 200"
rate = "2mbit"
ceil = "6mbit"
default = true
"#;
    let folder = Folder::new("shapers");
    let scenario = folder.write("net.toml", SCENARIO);
    let tree = format!("tree {}", folder.write("htb.toml", TREE));
    let log = folder.path("log");
    for queue in [
        &tree,
        "tbf rate 5mbit burst 5000b",
        "cake bandwidth 5mbit besteffort",
        "fq maxrate 4mbit flow_limit 10000",
    ] {
        stdout(&["simulate", &scenario, "--queue", queue, "--log", &log, "-q"]);
        let output = run(&["verify", &log]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{queue}: {said}");
        // The same log of a shaper that promises less.
        let text = fs::read_to_string(&log).unwrap();
        let slower = folder.write("slower", &text.replace("000,\"burst\":", ",\"burst\":"));
        let is_refused = !run(&["verify", &slower]).status.success();
        assert_eq!(is_refused, text.contains("\"burst\":"), "{queue}");
        // The same log without one of its rests, and with one that ends at once.
        let mut rests = text.lines().filter(|line| line.contains("\"rest\""));
        let rest = rests.nth(20).expect(queue);
        let (before, until) = rest.split_once("\"until\":").expect(queue);
        let time: u64 = number_after(rest, "\"time\":");
        let sooner = format!("{before}\"until\":{}}}", time + 1);
        assert_ne!(until, format!("{}}}", time + 1), "{queue}");
        for changed in [String::new(), sooner + "\n"] {
            let text = text.replacen(&format!("{rest}\n"), &changed, 1);
            let output = run(&["verify", &folder.write("changed", &text)]);
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains("rests from"), "{queue}: {said}");
        }
    }
}

fn number_after(text: &str, key: &str) -> u64 {
    let (_, rest) = text.split_once(key).expect(key);
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).expect(key)
}

/// The captures of the tests and the fuzzers.
fn captures() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in [
        "examples/captures",
        "peers/tcp",
        SENDERS,
        "crates/roundelay-trace/tests/compressed",
        "fuzz/corpus/capture",
    ] {
        for entry in fs::read_dir(root().join(folder)).expect(folder) {
            let path = entry.unwrap().path();
            let name = path.display().to_string();
            if name.contains(".pcap") || folder.contains("corpus") {
                found.push(path);
            }
        }
    }
    found
}

/// A copy of the example capture in which the second half comes so much later, in seconds.
fn with_a_silence(capture: &[u8], seconds: u32) -> Vec<u8> {
    let mut bytes = capture.to_vec();
    let mut at = 24;
    let half = bytes.len() / 2;
    while at + 16 <= bytes.len() {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let [time, len] = [word(at), word(at + 8)];
        if at > half {
            let later = time.wrapping_add(seconds);
            bytes[at..at + 4].copy_from_slice(&later.to_le_bytes());
        }
        at += 16 + len as usize;
    }
    bytes
}

/// Regression: a capture with a silence of months ended in a duration that `simulate` refuses. What
/// `applications` writes of any capture is a scenario.
#[test]
fn what_is_written_of_any_capture_is_a_scenario() {
    let folder = Folder::new("any");
    let mut paths = captures();
    assert!(paths.len() > 15, "{paths:?}");
    let capture = capture_of_both_ways();
    for seconds in [5000, 30_000_000, 250_000_000] {
        let path = folder.path(&format!("silent-{seconds}.pcap"));
        fs::write(&path, with_a_silence(&capture, seconds)).unwrap();
        paths.push(path.into());
    }
    let mut written = 0;
    for path in paths {
        let output = run(&["applications", path.to_str().unwrap()]);
        let text = String::from_utf8(output.stdout).expect("text");
        if !output.status.success() {
            assert_eq!(output.status.code(), Some(2), "{path:?}");
            continue;
        }
        written += 1;
        let scenario = folder.write("any.toml", &text);
        let dry = run(&["simulate", &scenario, "--dry-run"]);
        let said = String::from_utf8_lossy(&dry.stderr);
        assert!(dry.status.success(), "{path:?}: {said}");
    }
    assert!(written > 8, "{written}");
}

/// A server's own congestion control: by a rule, in a source of its own.
#[test]
fn a_rule_gives_a_server_its_control() {
    let rules = [
        "--control",
        "reno",
        "--control",
        "src port 443 and src net 203.0.113.10/32 = bbr",
    ];
    let text = applications(BOTH_WAYS, &rules);
    let (_, bbr) = text
        .split_once("control = \"bbr\"")
        .expect("a server with BBR");
    assert!(
        text.contains("control = \"reno\"") && !text.contains("\"cubic\""),
        "{text}"
    );
    assert!(bbr.contains("connections = ["), "{text}");
    let output = run(&[
        "applications",
        BOTH_WAYS,
        "--control",
        "src port 443 = vegas",
    ]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said.contains("vegas") && said.contains("reno, cubic, bbr or bbr3"),
        "{said}"
    );
}

/// Servers with a download each, of one congestion control, and files that tell nothing by
/// themselves.
const CONTROLS: &str = r#"
[[source]]
name = "bulk"
kind = "connections"
from = "clients"
to = "near"
tcp = { preset = "linux", control = "bbr" }
connections = [
  { start = "0s", round_trip = "20ms", messages = ["> 300b", "< endless"] },
  { start = "1s", round_trip = "20ms", messages = ["> 300b", "< endless"] },
]
[[source]]
name = "short"
kind = "connections"
from = "clients"
to = "near"
tcp = { preset = "linux", control = "bbr" }
connections = [
  { start = "3s", round_trip = "20ms", messages = ["> 300b", "< 60kb", "> 300b after 1s", "< 80kb"] },
  { start = "12s", round_trip = "20ms", messages = ["> 300b", "< 90kb"] },
]
"#;

/// A network with a queue of forty packets, in which two of BBR lose all the time.
fn lossy() -> String {
    let (network, _) = OFFICE.split_once("[[source]]").expect("sources");
    network.replace("fifo limit 1000", "fifo limit 40")
}

/// A page is too short to show its congestion control, and takes that of its host's downloads.
#[test]
fn a_short_transfer_takes_the_sign_of_its_host() {
    let folder = Folder::new("signs");
    for (control, sign) in [("bbr", "show BBR"), ("cubic", "heed losses")] {
        let text = lossy() + &CONTROLS.replace("\"bbr\"", &format!("\"{control}\""));
        let scenario = folder.write("signs.toml", &text);
        let capture = folder.path("signs.pcapng");
        stdout(&["simulate", &scenario, "--json", "--pcapng", &capture]);
        let link = ["--interface", "entry to exit", "--rate", "8mbit"];
        let read = stdout(&[&["applications", &capture][..], &link].concat());
        assert!(read.contains(" 0 show nothing"), "{control}: {read}");
        assert!(read.contains(sign), "{control}: {read}");
        assert!(
            read.contains("by others of their server"),
            "{control}: {read}"
        );
        let other = if control == "bbr" { "cubic" } else { "bbr" };
        assert!(!read.contains(&format!("control = \"{other}\"")), "{read}");
    }
}

/// Where no transfer shows its congestion control, the verdict is tried with both, without a
/// question. A stated one is not tried.
#[test]
fn a_default_is_tried_both_ways() {
    let folder = Folder::new("default");
    let scenario = folder.write("office.toml", OFFICE);
    let capture = folder.path("office.pcapng");
    stdout(&["simulate", &scenario, "--json", "--pcapng", &capture]);
    let compare = [
        "compare",
        &capture,
        "--interface",
        "entry to exit",
        "--rate",
        "8mbit",
    ];
    let react = ["--react", "--replicas", "1", "--no-cost", "--json"];
    let tried = |more: &[&str]| {
        let all = [&compare[..], &react, more, &["fifo", "fq_codel"]].concat();
        let results: Value = serde_json::from_str(&stdout(&all)).expect("JSON");
        let reaction = &results["reaction"];
        let open = reaction["open"].as_array().cloned().unwrap_or_default();
        (open, reaction["shown"].as_f64().expect("a part"))
    };
    let (open, shown) = tried(&[]);
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(open[0]["parameter"], "unknown congestion control");
    assert_eq!((open[0]["value"].as_str(), shown), (Some("bbr"), 0.0));
    assert!(tried(&["--control", "cubic"]).0.is_empty());
}

/// A player whose buffer is full asks for a chunk each two seconds, however long the one before
/// took.
#[test]
fn a_player_keeps_its_clock() {
    let (network, _) = OFFICE.split_once("[[source]]").expect("sources");
    let chunk = "\"> 300b every 2s\", \"< 200kb\"";
    let chunks = [chunk; 8].join(", ");
    let video = format!(
        "[[source]]\nname = \"video\"\nkind = \"connections\"\nfrom = \"clients\"\nto = \"near\"\n\
         tcp = {{ preset = \"linux\" }}\nconnections = [{{ round_trip = \"20ms\", messages = [\
         \"> 300b\", \"< 200kb\", {chunks}] }}]\n"
    );
    let file = BULK.replace("< endless", "< 6mb").replace("1s", "5s");
    let folder = Folder::new("player");
    let scenario = folder.write("player.toml", &format!("{network}{video}{file}"));
    let capture = folder.path("player.pcapng");
    stdout(&["simulate", &scenario, "--json", "--pcapng", &capture]);
    let text = applications(
        &capture,
        &["--interface", "entry to exit", "--rate", "8mbit"],
    );
    let clocks = text.matches(" every ").count();
    assert!(clocks >= 7, "{clocks}: {text}");
    assert!(
        text.contains(" every 2.0") || text.contains(" every 2s") || text.contains("every 19"),
        "{text}"
    );
}

/// A tree reacts as a discipline does: a leaf alone gives what the discipline gives.
#[test]
fn senders_react_to_trees() {
    let folder = std::env::temp_dir().join(format!("react-tree-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let tree = folder.join("alone.toml");
    let text = "[[node]]\nname = \"link\"\ndiscipline = \"priority\"\n[[node]]\nname = \"all\"\nparent = \
                \"link\"\ndiscipline = \"codel\"\ndefault = true\n";
    fs::write(&tree, text).expect("written");
    let tree = tree.display().to_string();
    let more = [
        "--replicas",
        "1",
        "--json",
        "--buffer",
        "1000",
        "codel",
        "--tree",
        &tree,
    ];
    let all: Value = serde_json::from_str(&stdout(&[&REACT[..], &more].concat())).expect("JSON");
    let [discipline, tree] = [0, 1].map(|number| &all["disciplines"][number]);
    assert_eq!(tree["spec"], "alone");
    assert_eq!(discipline["total"], tree["total"]);
    assert!(all["reaction"]["replay"].is_array());
    drop(fs::remove_dir_all(&folder));
}

/// Regression: the command for the other direction would have overwritten the first one's report.
#[test]
fn the_other_direction_has_a_report_of_its_own() {
    let folder = std::env::temp_dir().join(format!("other-report-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let page = folder.join("page.html").display().to_string();
    let call = [
        "compare",
        BOTH_WAYS,
        "--rate",
        "5mbit",
        "--no-cost",
        "fifo",
        "--html",
        &page,
    ];
    let told = stdout(&call);
    let other = told.lines().find(|line| line.contains("roundelay compare"));
    let other = other.unwrap_or_else(|| panic!("{told}"));
    assert!(other.contains("page-other.html"), "{other}");
    assert!(folder.join("page.html").exists());
    drop(fs::remove_dir_all(&folder));
}
