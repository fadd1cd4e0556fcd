//! Further inputs and outputs of `roundelay simulate`, and `roundelay verify`, which reads the log.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use parquet::file::reader::{FileReader, SerializedFileReader};

/// Two seconds: two senders overload a lossy link; a third sends short TCP transfers.
const SCENARIO: &str = r#"duration = "2s"
[topology]
template = "dumbbell"
pairs = 3
rate = "1mbit"
[queue]
core = "fifo limit 5"
edge = "drr limit 50"
[[port]]
from = "left"
to = "right"
loss = "3%"
jitter = "2ms"
[[source]]
name = "steady"
kind = "cbr"
from = ["s0", "s1"]
to = ["r0", "r1"]
rate = "600kbit"
start_jitter = "10ms"
[[source]]
name = "web"
kind = "arrivals"
from = ["s2", "r2"]
utilisation = 0.001
link_rate = "100mbit"
sizes = [[4000, 1.0]]
transport = "tcp"
"#;

fn run(arguments: &[&str], input: &str) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
    command
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("it wrote");
    output
}

fn stdout(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder for one test, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!(
            "roundelay-simulate-files-{}-{name}",
            std::process::id()
        ));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("scenario.toml"), SCENARIO).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Path of a new log of the scenario.
fn log(folder: &Folder) -> String {
    let path = folder.path("run.log");
    stdout(&run(
        &["simulate", &folder.path("scenario.toml"), "--log", &path],
        "",
    ));
    path
}

#[test]
fn a_log_is_verified() {
    let folder = Folder::new("verified");
    let path = log(&folder);
    let said = stdout(&run(&["verify", &path], ""));
    for piece in [
        "all of it can be",
        "2.00 s of 8 nodes and 14 links",
        "lost on wires",
        "transmissions",
        "in order within the flow",
    ] {
        assert!(said.contains(piece), "no '{piece}' in\n{said}");
    }
    assert!(
        !said.contains("– "),
        "every check had something to check:\n{said}"
    );
    // `verify` needs only the log, from a file or standard input.
    let text = fs::read_to_string(&path).unwrap();
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&run(&["verify", "-", "--json"], &text))).unwrap();
    assert_eq!(json["faults"].as_array().unwrap().len(), 0);
    assert!(
        json["totals"]["dropped"].as_u64().unwrap() > 10
            && json["totals"]["lost"].as_u64().unwrap() > 0,
        "{json}"
    );
    assert_eq!(
        json["totals"]["events"].as_u64().unwrap(),
        text.lines().count() as u64 - 1
    );
}

/// Changes one line of the log: the second that contains all of `marks`.
fn lie(log: &str, marks: &[&str], change: impl Fn(&str) -> String) -> (String, usize) {
    let fits = |line: &&str| marks.iter().all(|mark| line.contains(mark));
    let (at, line) = log
        .lines()
        .enumerate()
        .filter(|(_, line)| fits(line))
        .nth(1)
        .unwrap_or_else(|| panic!("no {marks:?}"));
    let mut lines: Vec<_> = log.lines().map(str::to_owned).collect();
    lines[at] = change(line);
    lines.retain(|line| !line.is_empty());
    (lines.join("\n") + "\n", at + 1)
}

/// Changes a number of a line.
fn number(line: &str, key: &str, change: impl Fn(u64) -> u64) -> String {
    let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
    value[key] = change(value[key].as_u64().unwrap()).into();
    value.to_string()
}

#[test]
fn lies_in_a_log_are_found_with_their_lines() {
    let folder = Folder::new("lies");
    let honest = fs::read_to_string(log(&folder)).unwrap();
    let event = |name: &str| format!(r#""event":"{name}""#);
    type Change = fn(&str) -> String;
    let lies: [(&str, &str, Change); 8] = [
        ("deliver", "is not on its way", |line| {
            format!("{line}\n{line}")
        }),
        ("transmit", "ps on this link, not", |line| {
            number(line, "end", |end| end - 1)
        }),
        ("transmit", "bits take", |line| {
            number(line, "end", |end| end + 1)
        }),
        ("arrive", "the link begins at", |line| {
            number(line, "link", |link| (link + 2) % 14)
        }),
        ("send", "is not on its way", |_| String::new()),
        ("drop", "wait, and the queue holds", |_| String::new()),
        ("close", "of its packets were sent", |line| {
            number(line, "sent", |sent| sent + 1)
        }),
        ("lose", "loses nothing", |line| {
            number(line, "link", |link| link + 1)
        }),
    ];
    for (name, what, change) in lies {
        let (text, line) = lie(&honest, &[&event(name)], change);
        let output = run(&["verify", "-"], &text);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", stderr(&output));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let fault = said
            .lines()
            .find(|line| line.starts_with("standard input:") && line.contains(what));
        let fault = fault.unwrap_or_else(|| panic!("{name}: no '{what}' in\n{said}"));
        let found: usize = fault.split(':').nth(1).unwrap().parse().unwrap();
        assert!(
            found >= line,
            "{name}: the fault is in line {line}, not in {found}"
        );
        // Both streams count alike.
        let (first, message) = (said.lines().next().unwrap(), stderr(&output));
        let count = |text: &str, before: &str, after: &str| {
            let rest = text
                .split_once(before)
                .unwrap_or_else(|| panic!("{text}"))
                .1;
            rest.trim_end().trim_end_matches(after).to_owned()
        };
        assert_eq!(
            count(first, "standard input: ", "."),
            count(&message, "no network does that: ", "")
        );
    }
}

#[test]
fn what_is_no_log_is_a_wrong_use() {
    let folder = Folder::new("no-log");
    let text = fs::read_to_string(log(&folder)).unwrap();
    let cut = &text[..text.len() - 20];
    let cases = [
        (
            "duration = 1",
            "standard input:1: not a simulation log: the first line is not a log's (expected value at column 1); expected a file written by",
        ),
        ("", "standard input:1: the log is empty"),
        (
            &text[..20],
            "standard input:1: not a simulation log: it is cut off",
        ),
        (
            &text.replacen(r#""format":4"#, r#""format":7"#, 1),
            "standard input:1: format 7, and this version reads 4: write the log anew",
        ),
        (
            &text.replacen(r#""event":"send""#, r#""event":"sent""#, 1),
            ": unknown variant `sent`",
        ),
        (
            &text.replacen(r#""rate":"#, r#""rate":-"#, 1),
            "standard input:1: invalid",
        ),
    ];
    for (input, message) in cases {
        let output = run(&["verify", "-"], input);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(
            output.stdout.is_empty() && stderr(&output).contains(message),
            "{}",
            stderr(&output)
        );
    }
    let missing = run(&["verify", "nowhere.log"], "");
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        stderr(&missing).ends_with(
            "nowhere.log: there is no such file; expected a file written by `roundelay simulate \
             --log`, or the record of `roundelay live`\n"
        ),
        "{}",
        stderr(&missing)
    );
    // A log without its last lines is a valid log of a run that was cut off (status 1).
    let whole_lines = &text[..text.trim_end().rfind('\n').unwrap() + 1];
    for cut in [whole_lines, cut] {
        let output = run(&["verify", "-"], cut);
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stdout).contains("without an end"));
    }
}

/// One wrong value for a link invalidates all its transmissions: one fault is reported, the rest is
/// counted.
#[test]
fn a_fault_is_told_before_its_wake() {
    let folder = Folder::new("wake");
    let text = fs::read_to_string(log(&folder)).unwrap();
    let slow = text.replacen(r#""rate":1000000"#, r#""rate":2000000"#, 1);
    let output = run(&["verify", "-"], &slow);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let faults = said
        .lines()
        .filter(|line| line.starts_with("standard input:") && line.contains("bits take"))
        .count();
    assert_eq!((output.status.code(), faults), (Some(1), 1), "{said}");
    assert!(
        said.contains(" more about the link left > right, which may follow from it")
            && said.contains(" lines that may follow"),
        "{said}"
    );
    let json: serde_json::Value =
        serde_json::from_slice(&run(&["verify", "-", "--json"], &slow).stdout).unwrap();
    assert!(json["faults"][0]["wake"].as_u64().unwrap() > 50, "{json}");
}

#[test]
fn what_is_odd_about_a_scenario_is_told() {
    let folder = Folder::new("odd-scenario");
    let path = folder.path("scenario.toml");
    let note = "Note: No source writes deadlines (urgency = \"deadline 50ms\"); these queues order packets by this field: edf.";
    let plain = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for arguments in [&["--queue", "edf"][..], &["--queue", "edf", "--dry-run"]] {
        let said = plain(stdout(&run(
            &[&["simulate", path.as_str()], arguments].concat(),
            "",
        )));
        assert!(said.contains(note), "{said}");
    }
    assert!(!stdout(&run(&["simulate", &path], "")).contains("Note:"));
    let estimate = stdout(&run(&["simulate", &path, "--dry-run"], ""));
    assert!(estimate.contains("\nat most about "), "{estimate}");
    let both = run(
        &[
            "simulate",
            &path,
            "--dry-run",
            "--html",
            &folder.path("page.html"),
        ],
        "",
    );
    assert!(
        both.status.code() == Some(2) && stderr(&both).contains("--html: --dry-run runs nothing"),
        "{}",
        stderr(&both)
    );
}

/// A missing file is a usage error (status 2), for every kind of file.
#[test]
fn files_that_are_not_there_are_a_wrong_use() {
    for arguments in [
        &["simulate", "none"][..],
        &["compare", "none", "--rate", "1mbit"],
        &["verify", "none"],
        &["bounds", "none"],
    ] {
        assert_eq!(run(arguments, "").status.code(), Some(2), "{arguments:?}");
    }
    let no_capture = run(&["compare", "README.md", "--rate", "1mbit"], "");
    assert_eq!(no_capture.status.code(), Some(2), "{}", stderr(&no_capture));
    assert!(stdout(&run(&["--help"], "")).contains("Exit status: 0 success; 1 "));
}

#[test]
fn tables_are_as_wide_as_is_asked_for() {
    let folder = Folder::new("columns");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let widest = |columns: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
        command
            .args(["simulate", &folder.path("scenario.toml")])
            .current_dir(&root)
            .env("COLUMNS", columns);
        stdout(&command.output().unwrap())
            .lines()
            .map(|line| line.chars().count())
            .max()
            .unwrap()
    };
    assert!(
        widest("60") <= 60 && widest("100") > 60,
        "{} and {}",
        widest("60"),
        widest("100")
    );
    assert_eq!(
        widest("wide"),
        widest("100"),
        "what is no number says nothing"
    );
}

#[test]
fn a_run_is_the_same_with_and_without_listeners() {
    let folder = Folder::new("same");
    let (scenario, log, capture) = (
        folder.path("scenario.toml"),
        folder.path("a.log"),
        folder.path("a.pcapng"),
    );
    let plain = stdout(&run(&["simulate", &scenario, "--json"], ""));
    let watched = stdout(&run(
        &[
            "simulate", &scenario, "--json", "--log", &log, "--pcapng", &capture,
        ],
        "",
    ));
    assert_eq!(plain, watched);
    let again = folder.path("b.log");
    stdout(&run(&["simulate", &scenario, "--log", &again], ""));
    assert!(
        fs::read(&log).unwrap() == fs::read(&again).unwrap(),
        "same scenario, same log"
    );
}

#[test]
fn logs_are_of_one_run() {
    let folder = Folder::new("one");
    let scenario = folder.path("scenario.toml");
    for option in ["--log", "--pcapng"] {
        let path = folder.path("file");
        let output = run(
            &["simulate", &scenario, option, &path, "--replicas", "2"],
            "",
        );
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains(&format!("{option} tells of one run, not of 2 replicas")),
            "{}",
            stderr(&output)
        );
        assert!(!Path::new(&path).exists());
    }
    let output = run(
        &[
            "simulate",
            &scenario,
            "--parquet",
            &folder.path("columns"),
            "--packets",
            "--replicas",
            "2",
        ],
        "",
    );
    assert!(
        output.status.code() == Some(2) && stderr(&output).contains("--packets tells of one run"),
        "{}",
        stderr(&output)
    );
    let output = run(
        &["simulate", &scenario, "--log", "no-such-folder/run.log"],
        "",
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("no-such-folder/run.log: cannot create"),
        "{}",
        stderr(&output)
    );
}

/// Packet files of one run are not left beside flow files of another.
#[test]
fn columns_of_two_runs_do_not_mix() {
    let folder = Folder::new("mixed");
    let (scenario, results) = (folder.path("scenario.toml"), folder.path("results"));
    stdout(&run(
        &["simulate", &scenario, "--parquet", &results, "--packets"],
        "",
    ));
    let output = run(
        &["simulate", &scenario, "--parquet", &results, "--seed", "2"],
        "",
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("packets.parquet: left by another run with --packets"),
        "{}",
        stderr(&output)
    );
    stdout(&run(
        &[
            "simulate",
            &scenario,
            "--parquet",
            &results,
            "--packets",
            "--seed",
            "2",
        ],
        "",
    ));
}

/// The error must come before a run of a million seconds.
#[test]
fn places_that_cannot_be_written_to_are_told_before_a_run() {
    let folder = Folder::new("places");
    let (scenario, file) = (folder.path("scenario.toml"), folder.path("file"));
    fs::write(
        &scenario,
        SCENARIO.replace("duration = \"2s\"", "duration = \"1000000s\""),
    )
    .unwrap();
    fs::write(&file, "").unwrap();
    let cases = [
        ("--html", "no-such-folder/page.html", "cannot create"),
        ("--parquet", &file, "file: not a folder; expected a folder"),
    ];
    for (option, path, message) in cases {
        let output = run(&["simulate", &scenario, option, path], "");
        assert_eq!(output.status.code(), Some(1), "{option}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Waits until the command has created a file with `mark` in its name in the folder; sends a
/// signal, and waits for the end.
#[cfg(unix)]
fn interrupt(
    mut child: std::process::Child,
    signal: &str,
    folder: &str,
    mark: &str,
) -> Option<i32> {
    while !names(folder).iter().any(|name| name.contains(mark)) {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it goes on for long enough"
        );
        std::thread::yield_now();
    }
    assert!(
        Command::new("kill")
            .args([&format!("-{signal}"), &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    for _ in 0..600 {
        if let Some(status) = child.try_wait().unwrap() {
            return std::os::unix::process::ExitStatusExt::signal(&status);
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    child.kill().unwrap();
    panic!("it goes on after SIG{signal}");
}

/// True if the tests themselves run with this signal ignored, as under `nohup`: their child
/// processes then ignore it too.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.unwrap_or(0) >> (signal - 1) & 1 == 1
}

/// An interrupted run leaves no incomplete file.
#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_nothing() {
    for (name, number) in [("HUP", 1), ("INT", 2), ("QUIT", 3), ("TERM", 15)]
        .into_iter()
        .filter(|(_, number)| !is_ignored(*number))
    {
        let folder = Folder::new(&format!("interrupted-{name}"));
        let long = SCENARIO.replace("duration = \"2s\"", "duration = \"1000000s\"");
        fs::write(folder.path("scenario.toml"), long).unwrap();
        let [log, capture, results] =
            ["run.log", "run.pcapng", "results"].map(|name| folder.path(name));
        let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
        command.args([
            "simulate",
            &folder.path("scenario.toml"),
            "--log",
            &log,
            "--pcapng",
            &capture,
        ]);
        let child = command
            .args(["--parquet", &results, "--packets"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The file of hops is created last. The exit status is that of the signal.
        assert_eq!(interrupt(child, name, &results, "hops"), Some(number));
        assert!(names(&results).is_empty(), "{:?}", names(&results));
        assert_eq!(
            names(folder.0.to_str().unwrap()),
            ["results", "scenario.toml"]
        );
    }
}

/// Signals ignored through `nohup` or a shell do not end the process; a file beyond the size limit
/// is an ordinary error.
#[cfg(unix)]
#[test]
fn what_is_to_be_ignored_is_ignored_and_large_files_are_errors() {
    let folder = Folder::new("ignored");
    let [scenario, capture] = ["scenario.toml", "run.pcapng"].map(|name| folder.path(name));
    let program = env!("CARGO_BIN_EXE_roundelay");
    let shell = |words: &str| {
        Command::new("sh")
            .args([
                "-c",
                &format!("{words} {program} simulate {scenario} --pcapng {capture}"),
            ])
            .output()
            .unwrap()
    };
    let output = shell("ulimit -f 100; exec");
    assert!(
        output.status.code() == Some(1) && stderr(&output).contains("run.pcapng"),
        "{:?} {}",
        output.status,
        stderr(&output)
    );
    assert_eq!(names(folder.0.to_str().unwrap()), ["scenario.toml"]);
    let text = SCENARIO.replace("duration = \"2s\"", "duration = \"60s\"");
    fs::write(&scenario, text).unwrap();
    let mut child = Command::new("sh");
    child.args([
        "-c",
        &format!("trap '' INT; exec {program} simulate {scenario} --pcapng {capture}"),
    ]);
    let child = child
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(
        interrupt(child, "INT", folder.0.to_str().unwrap(), "run.pcapng"),
        None
    );
    assert!(Path::new(&capture).exists(), "it went on to the end");
}

/// The comparison waits for more of its capture, which it reads to the end before it compares.
#[cfg(unix)]
#[test]
fn an_interrupted_comparison_leaves_nothing() {
    if is_ignored(2) {
        return;
    }
    let folder = Folder::new("compared");
    let capture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(CAPTURE);
    let capture = fs::read(capture).unwrap();
    let results = folder.path("results");
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
    let arguments = "compare - fifo drr --rate 5mbit --no-cost --parquet";
    command
        .args(arguments.split(' '))
        .arg(&results)
        .stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    // More than a pipe holds: the child reads.
    input.write_all(&capture).unwrap();
    let mark = Path::new(&results).file_name().unwrap().to_str().unwrap();
    let parent = folder.0.to_str().unwrap();
    assert_eq!(interrupt(child, "INT", parent, mark), Some(2));
    assert!(names(&results).is_empty(), "{:?}", names(&results));
}

/// tshark, if installed, reads the capture: each link is an interface with the link's name.
#[test]
fn wireshark_reads_the_capture() {
    let folder = Folder::new("pcapng");
    let capture = folder.path("run.pcapng");
    stdout(&run(
        &[
            "simulate",
            &folder.path("scenario.toml"),
            "--pcapng",
            &capture,
        ],
        "",
    ));
    assert_eq!(fs::read(&capture).unwrap()[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    let fields = [
        "-T",
        "fields",
        "-e",
        "frame.interface_name",
        "-e",
        "frame.len",
        "-e",
        "ip.src",
        "-e",
        "_ws.malformed",
    ];
    let Ok(tshark) = Command::new("tshark")
        .args(["-r", &capture])
        .args(fields)
        .output()
    else {
        return;
    };
    let text = stdout(&tshark);
    let rows: Vec<Vec<_>> = text
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert!(
        rows.len() > 500 && rows.iter().all(|row| row[3].is_empty()),
        "{} packets",
        rows.len()
    );
    for name in [
        "left to right",
        "right to left",
        "s0 to left",
        "right to r2",
    ] {
        assert!(rows.iter().any(|row| row[0] == name), "nothing on '{name}'");
    }
    assert!(
        rows.iter()
            .any(|row| row[1] == "1000" && row[2] == "10.0.0.2"),
        "{:?}",
        rows[0]
    );
    // Packets of a host, as described in docs/simulator/outputs.md: retransmissions are the only
    // anomalies of its connections.
    let host = folder.path("host.pcapng");
    let filter = "frame.interface_name in {\"s2 to left\", \"left to s2\"}";
    stdout(
        &Command::new("tshark")
            .args(["-r", &capture, "-Y", filter, "-w", &host])
            .output()
            .unwrap(),
    );
    let odd = "tcp.analysis.ack_lost_segment || tcp.analysis.lost_segment || tcp.analysis.keep_alive || tcp.checksum.status == 0";
    let check = [
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "ip.check_checksum:TRUE",
        "-Y",
    ];
    let of = |filter: &str| {
        stdout(
            &Command::new("tshark")
                .args(["-r", &host])
                .args(check)
                .arg(filter)
                .output()
                .unwrap(),
        )
        .lines()
        .count()
    };
    assert_eq!((of(odd), of("tcp.flags.syn == 1 && tcp.len > 0")), (0, 0));
    assert!(of("tcp.len > 0 && tcp.flags.ack == 1") > 0 && of("tcp.len > 0 && tcp.seq == 1") > 0);
}

/// Data of the page's script.
fn embedded(page: &str) -> serde_json::Value {
    let (_, data) = page
        .split_once("<script type=\"application/json\" id=\"data\">")
        .expect("data");
    serde_json::from_str(data.split("</script>").next().unwrap()).expect("JSON")
}

#[test]
fn a_page_has_all_and_needs_nothing() {
    let folder = Folder::new("page");
    let (scenario, path) = (folder.path("scenario.toml"), folder.path("page.html"));
    let json = stdout(&run(
        &["simulate", &scenario, "--json", "--html", &path],
        "",
    ));
    let results: serde_json::Value = serde_json::from_str(&json).unwrap();
    let page = fs::read_to_string(&path).unwrap();
    let sections = [
        "id=\"sources\"",
        "id=\"transfers\"",
        "id=\"sizes\"",
        "id=\"classes\"",
        "id=\"links\"",
        "id=\"flows\"",
        "roundelay.config_hash",
    ];
    for piece in sections.iter().chain(&[
        "Content-Security-Policy",
        "left &gt; right",
        "drr, buffer 50p",
        "[[source]]",
        "rate = &quot;600kbit&quot;",
    ]) {
        assert!(page.contains(piece), "no '{piece}'");
    }
    for foreign in ["http://", "https://", "src="] {
        let own = page.matches(foreign).count()
            - page.matches("http://www.w3.org/").count() * usize::from(foreign == "http://");
        let allowed = page
            .match_indices(foreign)
            .filter(|(at, _)| page[*at..].starts_with("https://github.com/leeoniya/uPlot"))
            .count();
        assert_eq!(own, allowed, "{foreign}");
    }
    let data = embedded(&page);
    // 200 steps of the first link, the one with drops; the drops equal those in the results.
    let link = &data["links"][0];
    assert_eq!(link["name"], "left > right");
    let sum = |key: &str| {
        link[key]
            .as_array()
            .unwrap()
            .iter()
            .map(|value| value.as_f64().unwrap())
            .sum::<f64>()
    };
    let told = results["replicas"][0]["links"]
        .as_array()
        .unwrap()
        .iter()
        .find(|link| link["from"] == "left" && link["to"] == "right")
        .unwrap();
    let dropped: f64 = told["dropped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value.as_f64().unwrap())
        .sum();
    assert_eq!(sum("dropped"), dropped);
    assert!((sum("utilisation") / 200.0 - told["utilisation"].as_f64().unwrap()).abs() < 0.01);
    assert_eq!(link["backlog"].as_array().unwrap().len(), 200);
    let delay = data["groups"][0]["delay"].as_array().unwrap();
    assert_eq!(delay.last().unwrap()[0].as_f64().unwrap() as f32, {
        let max = results["replicas"][0]["groups"][0]["delay"]["max"]
            .as_f64()
            .unwrap();
        format!("{max:.4e}").parse::<f64>().unwrap() as f32
    });
    let sizes = results["replicas"][0]["groups"][1]["sizes"]
        .as_array()
        .unwrap();
    assert_eq!(sizes[0]["up_to"], 10_000, "4000 bytes are up to 10 KB");
    assert_eq!(
        sizes[0]["completion"],
        results["replicas"][0]["groups"][1]["completion"]
    );
    assert!(
        results["replicas"][0]["groups"][1]["round_trip"]["mean"]
            .as_f64()
            .unwrap()
            > 0.0
    );
}

#[test]
fn a_page_of_replicas_has_intervals_and_a_row_each() {
    let folder = Folder::new("replicas");
    let path = folder.path("page.html");
    stdout(&run(
        &[
            "simulate",
            &folder.path("scenario.toml"),
            "--replicas",
            "3",
            "--seed",
            "5",
            "--html",
            &path,
        ],
        "",
    ));
    let page = fs::read_to_string(&path).unwrap();
    assert!(!page.contains("p99 <"), "two columns that look alike");
    for piece in [
        "id=\"replicas\"",
        "colspan=\"2\" scope=\"colgroup\">Completion time<",
        "seed 5<",
        "seed 7<",
        " ±",
        "3 replicas: figures are means",
        "of the first replica, seed 5",
    ] {
        assert!(page.contains(piece), "no '{piece}'");
    }
}

/// Names come from untrusted files.
#[test]
fn names_cannot_break_the_page() {
    let folder = Folder::new("hostile");
    let (scenario, path) = (folder.path("hostile.toml"), folder.path("page.html"));
    let hostile = "</script><script>alert(1)</script><!--";
    let named = SCENARIO
        .replace("\"steady\"", &format!("\"{hostile}\""))
        .replace("duration", &format!("name = \"{hostile}\"\nduration"));
    fs::write(&scenario, named).unwrap();
    stdout(&run(&["simulate", &scenario, "--html", &path], ""));
    let page = fs::read_to_string(&path).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("<!--"));
    assert_eq!(embedded(&page)["groups"][0]["name"], hostile);
}

#[test]
fn a_scenario_comes_by_standard_input() {
    let folder = Folder::new("input");
    let json = |arguments: &[&str], input: &str| -> serde_json::Value {
        let arguments = [&["simulate"], arguments, &["--json"]].concat();
        serde_json::from_str(&stdout(&run(&arguments, input))).unwrap()
    };
    let (from_file, from_input) = (
        json(&[&folder.path("scenario.toml")], ""),
        json(&["-"], SCENARIO),
    );
    assert_eq!(from_file["replicas"], from_input["replicas"]);
    assert_eq!(from_input["name"], "standard input");
    let output = run(&["simulate", "-"], "duration = 1");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output)
            .contains("standard input:1: duration: 1: expected a time in s, ms, us or ns"),
        "{}",
        stderr(&output)
    );
}

/// `--queue` changes the queues of routers, and keeps buffer sizes.
#[test]
fn one_scenario_runs_under_several_disciplines() {
    let folder = Folder::new("queue");
    let scenario = folder.path("scenario.toml");
    let queues = |arguments: &[&str]| -> Vec<String> {
        let output = run(
            &[&["simulate", &scenario, "--json"], arguments].concat(),
            "",
        );
        let results: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let links = results["replicas"][0]["links"].as_array().unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let mut all: Vec<_> = links
            .iter()
            .map(|link| {
                format!(
                    "{}: {} {}",
                    text(&link["class"]),
                    text(&link["queue"]),
                    text(&link["buffer"])
                )
            })
            .collect();
        all.sort();
        all.dedup();
        all
    };
    let host = "host: fifo no limit";
    assert_eq!(queues(&[]), ["core: fifo 5p", "edge: drr 50p", host]);
    assert_eq!(
        queues(&["--queue", "qfq"]),
        ["core: qfq 5p", "edge: qfq 50p", host]
    );
    assert_eq!(
        queues(&["--queue", "qfq limit 7"]),
        ["core: qfq 7p", "edge: qfq 7p", host]
    );
    let loss = |queue: &str| {
        let output = run(&["simulate", &scenario, "--json", "--queue", queue], "");
        let results: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        results["replicas"][0]["groups"][0]["packets"].clone()
    };
    assert_ne!(loss("fifo"), loss("drr"), "they make a difference");
    let wrong = run(&["simulate", &scenario, "--queue", "fifa"], "");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("fifa"), "{}", stderr(&wrong));
    // The page, and the hash of its configuration, show the change.
    let hash = |arguments: &[&str]| {
        let path = folder.path("page.html");
        stdout(&run(
            &[&["simulate", &scenario, "--html", &path], arguments].concat(),
            "",
        ));
        let page = fs::read_to_string(&path).unwrap();
        assert_eq!(
            page.contains("In the queues of routers, whatever is said below: qfq"),
            !arguments.is_empty()
        );
        page.split_once("config_hash</dt><dd>")
            .unwrap()
            .1
            .split('<')
            .next()
            .unwrap()
            .to_owned()
    };
    assert_ne!(hash(&[]), hash(&["--queue", "qfq"]));
}

#[test]
fn the_table_names_disciplines_and_buffers() {
    let folder = Folder::new("table");
    let table = stdout(&run(&["simulate", &folder.path("scenario.toml")], ""));
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().take(4).collect())
        .collect();
    for row in [
        ["core:", "fifo", "5p", "2"],
        ["edge:", "drr", "50p", "6"],
        ["host:", "fifo", "no", "limit"],
    ] {
        assert!(rows.contains(&row.to_vec()), "no {row:?} in\n{table}");
    }
}

/// Both commands create the folder of `--parquet`, including its parents.
#[test]
fn folders_are_made_where_there_are_none() {
    let folder = Folder::new("folders");
    let (one, other) = (folder.path("a/b"), folder.path("c/d"));
    stdout(&run(
        &["simulate", &folder.path("scenario.toml"), "--parquet", &one],
        "",
    ));
    let capture = "examples/captures/home-downlink.pcap";
    stdout(&run(
        &[
            "compare",
            capture,
            "fifo",
            "--rate",
            "5mbit",
            "--no-cost",
            "--parquet",
            &other,
        ],
        "",
    ));
    assert!(
        Path::new(&one).join("flows.parquet").is_file()
            && Path::new(&other).join("flows.parquet").is_file()
    );
}

const CAPTURE: &str = "examples/captures/home-downlink.pcap";

/// A host sends the capture to another over a link, as `compare` does over a port.
fn replay(folder: &Folder, source: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let capture = root.join(CAPTURE).canonicalize().unwrap();
    let text = format!(
        "duration = \"300s\"\n[queue]\nhost = \"fifo limit 100\"\n{}\n[[link]]\nfrom = \"a0\"\nto = \"b0\"\nrate = \"5mbit\"\n\
         [[link]]\nfrom = \"a1\"\nto = \"b1\"\nrate = \"5mbit\"\n[[source]]\nkind = \"trace\"\nfile = \"{}\"\n{source}\n",
        ["a0", "a1", "b0", "b1"]
            .map(|name| format!("[[node]]\nname = \"{name}\"\nhost = true"))
            .join("\n"),
        capture.display()
    );
    let path = folder.path("replay.toml");
    fs::write(&path, text).unwrap();
    path
}

fn group(scenario: &str, more: &[&str]) -> serde_json::Value {
    let results: serde_json::Value = serde_json::from_str(&stdout(&run(
        &[&["simulate", scenario, "--json"], more].concat(),
        "",
    )))
    .unwrap();
    results["replicas"][0]["groups"][0].clone()
}

/// A capture gives the same flows, packets and drops in a simulation as in `compare`.
#[test]
fn a_capture_is_sent_as_compare_replays_it() {
    let folder = Folder::new("capture");
    let compared = run(
        &[
            "compare",
            CAPTURE,
            "fifo limit 100",
            "--rate",
            "5mbit",
            "--no-cost",
            "--json",
        ],
        "",
    );
    let compared: serde_json::Value = serde_json::from_str(&stdout(&compared)).unwrap();
    let simulated = group(&replay(&folder, "from = \"a0\"\nto = \"b0\""), &[]);
    assert_eq!(
        simulated["flows"].as_u64(),
        Some(compared["flows"].as_array().unwrap().len() as u64)
    );
    assert_eq!(simulated["packets"]["sent"], compared["capture"]["packets"]);
    let total = &compared["disciplines"][0]["total"];
    assert!(total["drops"]["full"].as_u64().unwrap() > 100, "{total}");
    assert_eq!(
        (
            &simulated["packets"]["full"],
            &simulated["packets"]["delivered"]
        ),
        (&total["drops"]["full"], &total["packets"])
    );
    let longest = |value: &serde_json::Value| value["delay"]["max"].as_f64().unwrap();
    assert!(
        (longest(&simulated) / longest(total) - 1.0).abs() < 1e-5,
        "{} and {}",
        longest(&simulated),
        longest(total)
    );
}

/// UDP packets of raw IP: time in milliseconds, whether from the other end, bytes in the IP header
/// and bytes of the frame.
fn packets_of(list: &[(u32, bool, u16, u32)]) -> Vec<u8> {
    let header = [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101];
    let mut bytes = header.map(u32::to_le_bytes).concat();
    for (number, (millis, is_back, len, frame_len)) in list.iter().enumerate() {
        let captured = 28.min(*frame_len);
        let record = [millis / 1000, millis % 1000 * 1000, captured, *frame_len];
        bytes.extend(record.map(u32::to_le_bytes).concat());
        let (ends, ports) = match is_back {
            false => ([10, 0, 0, 1, 192, 168, 1, 2], [0, 80, 4, 0]),
            true => ([192, 168, 1, 2, 10, 0, 0, 1], [4, 0, 0, 80]),
        };
        let first = [&[0x45, 0], &len.to_be_bytes()[..], &[0, number as u8]].concat();
        let packet = [&first[..], &[0, 0, 64, 17, 0, 0], &ends, &ports, &[0; 4]].concat();
        bytes.extend(&packet[..captured as usize]);
    }
    bytes
}

/// A source mends a capture as `compare` does: formerly both directions went one way, packets out
/// of order stood still until the clock was past them, and frames merged by offloading stayed whole.
#[test]
fn a_capture_is_mended_as_compare_mends_it() {
    let folder = Folder::new("mended");
    // 20 packets down and 10 up; the last three come late in the file, one is merged of three, and
    // one was cut with its length.
    let mut list = Vec::new();
    for number in 0..17_u32 {
        list.push((number * 10, false, 1000, 1000));
        if number % 2 == 0 {
            list.push((number * 10 + 1, true, 60, 60));
        }
    }
    list.push((400, false, 1000, 1000));
    list.push((350, true, 60, 60));
    list.push((300, false, 4020, 4020));
    list.push((500, false, 900, 28));
    let path = folder.path("mixed.pcap");
    fs::write(&path, packets_of(&list)).unwrap();
    let scenario = replay(&folder, "from = \"a0\"\nto = \"b0\"");
    let text = fs::read_to_string(&scenario).unwrap();
    let mut old = "";
    for line in text.lines() {
        if line.starts_with("file = ") {
            old = line;
        }
    }
    let simulated = |keys: &str| {
        fs::write(
            &scenario,
            text.replace(old, &format!("file = \"mixed.pcap\"\n{keys}")),
        )
        .unwrap();
        let output = run(&["simulate", &scenario, "--json"], "");
        let results: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let packets = &results["replicas"][0]["groups"][0]["packets"];
        (
            packets["sent"].as_u64().unwrap(),
            results["replicas"][0]["links"][0]["bytes"]
                .as_u64()
                .unwrap_or(0),
            results["notes"].to_string(),
        )
    };
    let compared = |options: &[&str]| {
        let words = [
            "compare",
            &path,
            "fifo limit 100",
            "--rate",
            "5mbit",
            "--no-cost",
            "--json",
        ];
        let output = run(&[&words, options].concat(), "");
        let results: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        results["capture"]["packets"].as_u64().unwrap()
    };
    let (sent, _, notes) = simulated("");
    // 17, one late, three of the merged one, and the cut one.
    assert_eq!((sent, compared(&[])), (22, 22), "{notes}");
    for part in [
        "Sent: one direction of one link, the one with the larger load (that of compare --direction ",
        "because the capture holds both directions of 1 connection",
        "are out of order in the file and were put in the order of times",
        "1 packet is longer than 1500 bytes, as offloading makes them, and was split into 3",
        "1 frame was cut by a tool together with its length",
    ] {
        assert!(notes.contains(part), "{part} is missing in {notes}");
    }
    for (keys, options, packets) in [
        ("direction = \"both\"", &["--direction", "both"][..], 32),
        ("mtu = \"none\"", &["--mtu", "none"], 20),
        ("mtu = 600", &["--mtu", "600"], compared(&["--mtu", "600"])),
        (
            "direction = \"to 10.0.0.1\"",
            &["--direction", "to 10.0.0.1"],
            10,
        ),
    ] {
        let (sent, _, notes) = simulated(keys);
        assert_eq!(
            (sent, compared(options)),
            (packets, packets),
            "{keys}: {notes}"
        );
        assert_eq!(
            notes.contains("Sent: one direction"),
            keys.starts_with("mtu"),
            "{keys}: {notes}"
        );
    }
}

#[test]
fn a_wrong_direction_or_length_of_a_capture_is_told_with_its_line() {
    let folder = Folder::new("wrong-direction");
    for (keys, expected) in [
        ("direction = \"up\"", "auto, both, in, out"),
        ("direction = \"from 1.2.3\"", "from 1.2.3"),
        ("direction = \"from 1.2.3.4\"", "none of this direction"),
        ("mtu = 100", "legal range 576 to 65535"),
        ("mtu = \"some\"", "legal range 576 to 65535"),
    ] {
        let scenario = replay(&folder, &format!("from = \"a0\"\nto = \"b0\"\n{keys}"));
        let output = run(&["simulate", &scenario], "");
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{keys}: {said}");
        assert!(
            said.contains("replay.toml:") && said.contains(expected),
            "{keys}: {said}"
        );
    }
    fs::write(folder.path("packets.txt"), "0 1000\n").unwrap();
    let scenario = replay(&folder, "from = \"a0\"\nto = \"b0\"\nmtu = 1400");
    let text = fs::read_to_string(&scenario).unwrap();
    let mut old = "";
    for line in text.lines() {
        if line.starts_with("file = ") {
            old = line;
        }
    }
    fs::write(&scenario, text.replace(old, "file = \"packets.txt\"")).unwrap();
    let said = stderr(&run(&["simulate", &scenario], ""));
    assert!(said.contains("mtu is for captures, leave it out"), "{said}");
}

#[test]
fn flows_of_a_capture_are_dealt_out() {
    let folder = Folder::new("dealt");
    let one = group(&replay(&folder, "from = \"a0\"\nto = \"b0\""), &[]);
    let scenario = replay(&folder, "from = [\"a0\", \"a1\"]\nto = [\"b0\", \"b1\"]");
    let results: serde_json::Value =
        serde_json::from_str(&stdout(&run(&["simulate", &scenario, "--json"], ""))).unwrap();
    let (two, links) = (
        &results["replicas"][0]["groups"][0],
        results["replicas"][0]["links"].as_array().unwrap(),
    );
    assert_eq!(
        (&two["flows"], &two["packets"]["sent"]),
        (&one["flows"], &one["packets"]["sent"])
    );
    let sent = |from: &str| {
        links.iter().find(|link| link["from"] == from).unwrap()["arrived"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(
        sent("a0") + sent("a1"),
        one["packets"]["sent"].as_u64().unwrap()
    );
    assert!(sent("a0") > 0 && sent("a1") > 0);
    // By sender alone there are fewer flows, and a part of the time has fewer packets.
    let by_sender = group(
        &replay(&folder, "from = \"a0\"\nto = \"b0\"\nflow_by = \"src\""),
        &[],
    );
    assert!(by_sender["flows"].as_u64() < one["flows"].as_u64());
    let cut = group(
        &replay(
            &folder,
            "from = \"a0\"\nto = \"b0\"\nstart = \"1s\"\nstop = \"3s\"",
        ),
        &[],
    );
    assert!(cut["packets"]["sent"].as_u64().unwrap() < one["packets"]["sent"].as_u64().unwrap());
}

#[test]
fn captures_that_cannot_be_read_are_told_with_their_line() {
    let folder = Folder::new("broken-capture");
    let broken = folder.path("broken.pcap");
    fs::write(&broken, [0xd4, 0xc3, 0xb2, 0xa1, 2, 0]).unwrap();
    let scenario = replay(&folder, "from = \"a0\"\nto = \"b0\"");
    let text = fs::read_to_string(&scenario).unwrap();
    let line = text
        .lines()
        .position(|line| line.starts_with("file = "))
        .unwrap();
    let changed = |from: &str, to: &str| {
        fs::write(
            &scenario,
            text.replace(
                text.lines().nth(line).unwrap(),
                &format!("{from} = \"{to}\""),
            ),
        )
        .unwrap();
        let output = run(&["simulate", &scenario], "");
        assert_eq!(output.status.code(), Some(2));
        stderr(&output)
    };
    let said = changed("file", &broken);
    assert!(
        said.contains(&format!("replay.toml:{}: ", line + 1)) && said.contains("broken.pcap"),
        "{said}"
    );
    let said = changed("file", "nowhere.pcap");
    assert!(said.contains("cannot read 'nowhere.pcap'"), "{said}");
    let said = changed("flow_by = \"port\"\nfile", &broken);
    assert!(
        said.contains("unknown value `port`, expected one of `5tuple`, `src`, `dst`, `dscp`"),
        "{said}"
    );
}

/// A capture with these packet headers (time, captured bytes, bytes on the wire), followed by an
/// incomplete packet.
fn pcap(packets: &[(u32, u32, u32)], rest: &[u8]) -> Vec<u8> {
    let header = [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101];
    let mut bytes: Vec<u8> = header
        .iter()
        .flat_map(|field| field.to_le_bytes())
        .collect();
    for (seconds, captured, original) in packets {
        bytes.extend(
            [*seconds, 0, *captured, *original]
                .iter()
                .flat_map(|field| field.to_le_bytes()),
        );
        bytes.extend(vec![0; *captured as usize]);
    }
    [&bytes, rest].concat()
}

#[test]
fn what_is_odd_about_a_capture_is_told() {
    let folder = Folder::new("odd");
    let path = folder.path("odd.pcap");
    fs::write(
        &path,
        pcap(
            &[
                (5, 0, 100),
                (4, 0, 100_000),
                (6, 0, 2_000),
                (7, 0, 0),
                (8, 20, 10),
            ],
            &[1, 2, 3],
        ),
    )
    .unwrap();
    let scenario = replay(&folder, "from = \"a0\"\nto = \"b0\"");
    let text = fs::read_to_string(&scenario).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("file = "))
        .unwrap();
    fs::write(&scenario, text.replace(line, "file = \"odd.pcap\"")).unwrap();
    let results: serde_json::Value =
        serde_json::from_str(&stdout(&run(&["simulate", &scenario, "--json"], ""))).unwrap();
    let notes: Vec<_> = results["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note.as_str().unwrap())
        .collect();
    let expected = [
        "5 packets whose headers could not be read share a flow of their own.",
        "1 packet is out of order in the file and was put in the order of times.",
        "2 packets are longer than 1500 bytes: ",
        "1 packet is longer than 65,535 bytes and was taken for so many.",
        "1 packet has no bytes and was taken for one.",
        "3 bytes at the end are a packet cut off and were left out.",
        "1 packet has a length on the wire below the captured length; the captured length counts.",
    ];
    assert_eq!(notes.len(), expected.len(), "{notes:?}");
    for (note, expected) in notes.iter().zip(expected) {
        assert!(note.starts_with(&format!("{path}: {expected}")), "{note}");
    }
    let page = folder.path("page.html");
    let table = stdout(&run(&["simulate", &scenario, "--html", &page], ""));
    assert!(
        table.contains("\nNote: ") && table.contains("packet cut off"),
        "{table}"
    );
    let page = fs::read_to_string(page).unwrap();
    assert!(
        expected.iter().all(|note| page.contains(note)),
        "the page tells what the table does"
    );
    // `compare` reports at most one note more.
    let compared = stdout(&run(
        &[
            "compare",
            &path,
            "fifo",
            "--rate",
            "5mbit",
            "--no-cost",
            "--json",
        ],
        "",
    ));
    let compared: serde_json::Value = serde_json::from_str(&compared).unwrap();
    assert!(
        compared["capture"]["notes"].as_array().unwrap().len() <= notes.len() + 1,
        "{compared}"
    );
}

#[test]
fn a_broken_compressed_capture_is_told_as_compare_tells_it() {
    let folder = Folder::new("compressed");
    let path = folder.path("home.pcap.gz");
    fs::write(&path, [&[0x1f, 0x8b, 8][..], &[0; 7], &[7; 40]].concat()).unwrap();
    let scenario = replay(&folder, "from = \"a0\"\nto = \"b0\"");
    let text = fs::read_to_string(&scenario).unwrap();
    let line = text
        .lines()
        .position(|line| line.starts_with("file = "))
        .unwrap();
    fs::write(
        &scenario,
        text.replace(text.lines().nth(line).unwrap(), "file = \"home.pcap.gz\""),
    )
    .unwrap();
    let compared = stderr(&run(&["compare", &path, "fifo", "--rate", "5mbit"], ""));
    let message = compared.trim_end().trim_start_matches("roundelay: ");
    assert!(
        message.contains("home.pcap.gz: offset 0: broken gzip data (")
            && message.contains("; expected a whole file"),
        "{message}"
    );
    let output = run(&["simulate", &scenario], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).ends_with(&format!("replay.toml:{}: {message}\n", line + 1)),
        "{}",
        stderr(&output)
    );
}

#[test]
fn results_have_files_of_their_own() {
    let folder = Folder::new("own");
    let (scenario, path) = (folder.path("scenario.toml"), folder.path("run"));
    let other_way = folder.path("./run");
    let (list, results) = (folder.path("packets.txt"), folder.path("results"));
    fs::write(&list, "0 1000\n").unwrap();
    fs::create_dir(&results).unwrap();
    let trace =
        "[[source]]\nkind = \"trace\"\nfile = \"packets.txt\"\nfrom = \"s0\"\nto = \"r0\"\n";
    let text = format!("{SCENARIO}{trace}");
    fs::write(&scenario, &text).unwrap();
    let cases: [(&[&str], &str); 10] = [
        (
            &["--log", "-"],
            "--log -: standard output is for the table; expected a file; ./- for a file with the name -",
        ),
        (&["--pcapng", "-"], "--pcapng -: "),
        (&["--html", "-"], "--html -: "),
        (
            &["--parquet", "-"],
            "--parquet -: standard output is for the table; expected a folder",
        ),
        (
            &["--log", &path, "--pcapng", &other_way],
            "run: both --log and --pcapng; expected a file each",
        ),
        (
            &["--log", &path, "--html", &path],
            "run: both --html and --log; expected a file each",
        ),
        (
            &["--html", &scenario],
            "scenario.toml: both the scenario and --html; expected a file each",
        ),
        (
            &["--pcapng", &list],
            "packets.txt: both a file of the scenario and --pcapng; expected a file each",
        ),
        (
            &[
                "--parquet",
                &results,
                "--html",
                &folder.path("results/flows.parquet"),
            ],
            "flows.parquet: both --html and --parquet",
        ),
        (
            &[
                "--parquet",
                &results,
                "--packets",
                "--log",
                &folder.path("results/hops.parquet"),
            ],
            "hops.parquet: both --packets and --log",
        ),
    ];
    for (options, message) in cases {
        let output = run(&[&["simulate", &scenario], options].concat(), "");
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(
            stderr(&output).contains(message),
            "{options:?} says {}",
            stderr(&output)
        );
    }
    for command in [
        &["replay"][..],
        &[
            "objective",
            "--objective",
            "tail",
            "--slack",
            "size 1s",
            "--no-cost",
        ],
    ] {
        let output = run(&[command, &[&scenario, "--html", &list]].concat(), "");
        assert_eq!(
            output.status.code(),
            Some(2),
            "{command:?}: {}",
            stderr(&output)
        );
        assert!(
            stderr(&output).contains("packets.txt: both a file of the scenario and --html"),
            "{}",
            stderr(&output)
        );
    }
    assert!(!Path::new(&path).exists() && fs::read_to_string(&scenario).unwrap() == text);
    assert!(names(&results).is_empty() && fs::read_to_string(&list).unwrap() == "0 1000\n");
}

/// Regression: a drop of the arrival and of a packet of its flow empties the queue during a
/// decision, which goes on; the log was refused.
#[test]
fn decisions_outlast_drops_that_empty_the_queue() {
    let folder = Folder::new("decision");
    let (scenario, log) = (folder.path("choke.toml"), folder.path("choke.log"));
    let text = "seed = 1\nduration = \"2s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 3\nrate = \"3mbit\"\n\
        [queue]\ncore = \"choke min 1 max 3\"\n[[port]]\nfrom = \"left\"\nto = \"right\"\ndecision = \"1ms\"\n\
        [[source]]\nname = \"b\"\nkind = \"burst\"\nfrom = \"s*\"\nto = \"r*\"\nsize = \"90kb\"\npacket_len = 1500\ncount = 5\n\
        start_step = \"100ms\"\n";
    fs::write(&scenario, text).unwrap();
    stdout(&run(&["simulate", &scenario, "--log", &log], ""));
    let output = run(&["verify", &log], "");
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
}

#[test]
fn what_is_no_scenario_is_told_with_what_was_expected() {
    let folder = Folder::new("no-scenario");
    let path = folder.path("latin.toml");
    fs::write(&path, b"name = \"\xfc\"").unwrap();
    let said = |path: &str| {
        let output = run(&["simulate", path], "");
        assert_eq!(output.status.code(), Some(2));
        stderr(&output)
    };
    assert!(
        said(&path)
            .ends_with("latin.toml: offset 8: no text in UTF-8; expected a scenario in TOML\n"),
        "{}",
        said(&path)
    );
    assert!(
        said(folder.0.to_str().unwrap()).ends_with(": a folder; expected a scenario in TOML\n")
    );
    assert!(
        said("nowhere.toml")
            .ends_with("nowhere.toml: there is no such file; expected a scenario in TOML\n")
    );
}

/// The row of the sum is identified by its position; no source may have its name.
#[test]
fn the_sum_has_its_name_and_place_to_itself() {
    let folder = Folder::new("sum");
    let (scenario, path) = (folder.path("scenario.toml"), folder.path("page.html"));
    stdout(&run(&["simulate", &scenario, "--html", &path], ""));
    let page = fs::read_to_string(&path).unwrap();
    let sums: Vec<_> = page
        .match_indices("<tr class=\"sum\"")
        .map(|(at, _)| &page[at..at + 200])
        .collect();
    assert!(
        sums.len() >= 3 && sums.iter().all(|row| row.contains(">all")),
        "sources, transfers, sizes: {sums:?}"
    );
    fs::write(&scenario, SCENARIO.replace("\"web\"", "\"all\"")).unwrap();
    let output = run(&["simulate", &scenario], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output)
            .contains("scenario.toml:22: 'all' is what results call all sources together"),
        "{}",
        stderr(&output)
    );
}

/// Flows in the format of the UPS authors' files: seconds, bytes, from, to.
#[test]
fn a_workload_is_sent_as_it_is_written() {
    let folder = Folder::new("workload");
    fs::write(
        folder.0.join("links.txt"),
        "0 1 10mbit 5ms\n2 0 100mbit 1ms\n3 1 100mbit 1ms\n",
    )
    .unwrap();
    fs::write(
        folder.0.join("workload.txt"),
        "0.5 1460 2 3\n0.1 14600 3 2\n\n7 1460 2 3\n",
    )
    .unwrap();
    let with = |more: &str| {
        let path = folder.path("ups.toml");
        let text = format!(
            "duration = \"5s\"\n[topology]\nfile = \"links.txt\"\nhosts_per_router = 0\n[[source]]\n\
             kind = \"workload\"\nfile = \"workload.txt\"\nfrom = \"*\"\n{more}"
        );
        fs::write(&path, text).unwrap();
        path
    };
    let bursts = group(&with(""), &[]);
    assert_eq!(
        (
            bursts["flows"].as_u64(),
            bursts["packets"]["delivered"].as_u64()
        ),
        (Some(2), Some(11)),
        "the third begins after the end"
    );
    assert_eq!(bursts["completion"]["count"].as_u64(), Some(2));
    assert!(
        stdout(&run(&["simulate", &with("")], ""))
            .contains("Note: workload.txt: 1 of 3 flows comes after the end of the run")
    );
    // One packet over 100, 10 and 100 Mbit/s, plus 7 ms of propagation.
    let fastest = bursts["sizes"][0]["completion"]["max"].as_f64().unwrap();
    assert!(
        (fastest - (2.0 * 1460.0 * 8.0 / 1e8 + 1460.0 * 8.0 / 1e7 + 0.007)).abs() < 1e-9,
        "{fastest}"
    );
    let tcp = group(&with("transport = \"tcp\""), &[]);
    assert_eq!(tcp["completion"]["count"].as_u64(), Some(2));
    assert!(
        tcp["completion"]["mean"].as_f64() > bursts["completion"]["mean"].as_f64(),
        "there is a handshake"
    );
    assert!(
        stdout(&run(&["simulate", &with(""), "--dry-run"], ""))
            .contains("at most about 1.10e1 packets")
    );
    let cases = [
        ("0.5 1460 2 9\n", "workload.txt:1: '9' is no host of 'from'"),
        (
            "0.5 1460 2 3\n0.6 many 2 3\n",
            "workload.txt:2: '0.6 many 2 3': expected seconds, bytes and two hosts",
        ),
        ("0.5 1460 2 2\n", "workload.txt:1: '2' sends to itself"),
        (
            "9 1460 2 3\n",
            "'workload.txt' has no flow before the end of the run",
        ),
        (
            "1 0 2 3\n",
            "workload.txt:1: size 0: legal range 1 to 1099511627776",
        ),
    ];
    for (text, message) in cases {
        fs::write(folder.0.join("workload.txt"), text).unwrap();
        let output = run(&["simulate", &with("")], "");
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

/// A row for each finished packet: the same number as in the log, with the same fates.
#[test]
fn packets_are_told_one_by_one() {
    let folder = Folder::new("packets");
    let (columns, path) = (folder.path("columns"), folder.path("run.log"));
    stdout(&run(
        &[
            "simulate",
            &folder.path("scenario.toml"),
            "--parquet",
            &columns,
            "--packets",
            "--log",
            &path,
        ],
        "",
    ));
    let verified: serde_json::Value =
        serde_json::from_str(&stdout(&run(&["verify", &path, "--json"], ""))).unwrap();
    let file = fs::File::open(Path::new(&columns).join("packets.parquet")).unwrap();
    let mut fates = std::collections::BTreeMap::new();
    for row in SerializedFileReader::new(file)
        .unwrap()
        .get_row_iter(None)
        .unwrap()
    {
        let row: std::collections::BTreeMap<_, _> = row
            .unwrap()
            .get_column_iter()
            .map(|(name, field)| (name.clone(), field.to_string()))
            .collect();
        let fate = row["fate"].trim_matches('"').to_owned();
        let end = row["end_ps"].parse::<u64>().ok();
        assert!(
            end.is_none_or(|end| end >= row["sent_ps"].parse().unwrap())
                && end.is_none() == (fate == "on_its_way"),
            "{row:?}"
        );
        assert_eq!(
            ["delivered", "on_its_way"].contains(&&*fate),
            row["link"] == "\"\"",
            "{row:?}"
        );
        assert!(
            row["len"] == "1000" || row["flow"].parse::<u64>().unwrap() > 1,
            "{row:?}"
        );
        *fates.entry(fate).or_insert(0) += 1;
    }
    let of = |fate: &str| fates.get(fate).copied().unwrap_or(0);
    let totals = &verified["totals"];
    assert_eq!(
        (Some(of("delivered")), Some(of("lost"))),
        (totals["delivered"].as_u64(), totals["lost"].as_u64())
    );
    assert_eq!(
        Some(of("on_its_way")),
        totals["on_their_way"].as_u64(),
        "{totals}"
    );
    assert_eq!(
        Some(of("full") + of("pushed_out") + of("early") + of("refused")),
        totals["dropped"].as_u64()
    );
    assert!(of("full") > 10 && of("lost") > 0, "{fates:?}");
}

/// Rows of a Parquet file, as texts by column name.
fn rows(path: &Path) -> Vec<std::collections::BTreeMap<String, String>> {
    let file = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let rows = file.get_row_iter(None).unwrap();
    rows.map(|row| {
        row.unwrap()
            .get_column_iter()
            .map(|(name, field)| (name.clone(), field.to_string()))
            .collect()
    })
    .collect()
}

/// The schedule of a run: each packet goes from the end of one link to the next, and its waiting
/// time is the rest of its time.
#[test]
fn hops_are_told_one_by_one() {
    let folder = Folder::new("hops");
    let columns = folder.path("columns");
    stdout(&run(
        &[
            "simulate",
            &folder.path("scenario.toml"),
            "--parquet",
            &columns,
            "--packets",
        ],
        "",
    ));
    let mut hops = std::collections::BTreeMap::<String, Vec<_>>::new();
    for hop in rows(&Path::new(&columns).join("hops.parquet")) {
        let [arrival, start, end] =
            ["arrival_ps", "start_ps", "end_ps"].map(|name| hop[name].parse::<u64>().unwrap());
        hops.entry(hop["packet"].clone()).or_default().push((
            hop["link"].clone(),
            arrival,
            start,
            end,
        ));
    }
    let (mut delivered, mut data) = (0, 0);
    for packet in rows(&Path::new(&columns).join("packets.parquet")) {
        let path = hops.remove(&packet["packet"]).unwrap_or_default();
        let mut ready = packet["sent_ps"].parse::<u64>().unwrap();
        for (link, arrival, start, end) in &path {
            // Between two hops: the links' propagation delay of 10 ms and up to 2 ms of jitter.
            assert!(
                (ready..=ready + 12_000_000_000).contains(arrival)
                    && start >= arrival
                    && end > start,
                "{packet:?} {link}"
            );
            ready = *end;
        }
        let number = packet["sequence"].parse::<u64>().ok();
        assert!(
            packet["back"] != "true"
                || number.is_none() && packet["acknowledgement"].parse::<u64>().is_ok(),
            "{packet:?}"
        );
        data += u64::from(number.is_some());
        if packet["fate"] == "\"delivered\"" {
            delivered += 1;
            assert_eq!(path.len(), 3, "{packet:?}");
            assert!(
                packet["end_ps"].parse::<u64>().unwrap() >= ready
                    && path[1].0.contains("left > right")
                    || packet["back"] == "true"
                    || packet["flow"] != "0"
            );
        }
    }
    assert!(
        hops.is_empty() && delivered > 100 && data > 0,
        "each hop is some packet's"
    );
}

/// A dry run names links with a trace, and `verify` knows them in the log.
#[test]
fn links_with_a_trace_are_named_before_a_run_and_verified_after_it() {
    let folder = Folder::new("link-trace");
    let text = fs::read_to_string(folder.path("scenario.toml")).expect("a scenario");
    let port = "\n[[port]]\nfrom = \"left\"\nto = \"right\"\nlink_trace = \"x.trace\"\n";
    fs::write(folder.path("traced.toml"), text + port).expect("a file");
    fs::write(folder.path("x.trace"), "3\n4\n10\n").expect("a file");
    let scenario = folder.path("traced.toml");
    let dry = stdout(&run(&["simulate", &scenario, "--dry-run"], ""));
    assert!(
        dry.contains("left > right follows x.trace, 3.63 Mbit/s on average\n"),
        "{dry}"
    );
    let dry = stdout(&run(&["simulate", &scenario, "--dry-run", "--json"], ""));
    let numbers: serde_json::Value = serde_json::from_str(&dry).expect("JSON");
    assert_eq!(numbers["traces"][0]["rate"], 3 * 1514 * 8 * 100);
    // A model, with the mean of what the scenario's seed draws.
    let traced = fs::read_to_string(&scenario).expect("a scenario");
    let model = traced.replace("x.trace", "lte rate 2mbit length 5s");
    fs::write(folder.path("model.toml"), model).expect("a file");
    let model = folder.path("model.toml");
    let dry = stdout(&run(&["simulate", &model, "--dry-run"], ""));
    assert!(
        dry.contains("left > right follows lte rate 2mbit length 5s, 2.00 Mbit/s on average\n"),
        "{dry}"
    );
    let wifi = traced.replace("x.trace", "wifi length 5s");
    fs::write(&model, wifi).expect("a file");
    let means = ["1", "2"].map(|seed| {
        let dry = stdout(&run(
            &["simulate", &model, "--dry-run", "--seed", seed, "--json"],
            "",
        ));
        let numbers: serde_json::Value = serde_json::from_str(&dry).expect("JSON");
        numbers["traces"][0]["rate"].as_u64().expect("a rate")
    });
    assert_ne!(means[0], means[1]);
    let log = folder.path("run.log");
    stdout(&run(&["simulate", &scenario, "--log", &log], ""));
    stdout(&run(&["verify", &log], ""));
    // The log of another trace.
    let text = fs::read_to_string(&log).expect("a log");
    fs::write(&log, text.replacen("[3,4,10]", "[3,5,10]", 1)).expect("a file");
    let output = run(&["verify", &log], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("the link's trace"));
    // No output may take the place of the trace.
    let trace = folder.path("x.trace");
    let output = run(&["simulate", &scenario, "--log", &trace], "");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
