//! The command from the user's side: output, exit status, error messages.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

/// A folder for one test, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "roundelay-command-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.0.join(name), bytes).unwrap();
        self.path(name)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

const FLOWS: u32 = 3;
const PACKETS: u32 = 600;

/// A pcap of raw IPv4: three UDP flows in turn, a packet of full size every 2 ms.
fn capture() -> Vec<u8> {
    let header = [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101];
    let mut bytes: Vec<u8> = header
        .iter()
        .flat_map(|field| field.to_le_bytes())
        .collect();
    for number in 0..PACKETS {
        let micros = number * 2000;
        bytes.extend(
            [micros / 1_000_000, micros % 1_000_000, 28, 1500]
                .iter()
                .flat_map(|field| field.to_le_bytes()),
        );
        bytes.extend([
            0x45, 0, 5, 220, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 53,
        ]);
        bytes.extend([4, (number % FLOWS) as u8, 5, 200, 0, 0]);
    }
    bytes
}

fn roundelay() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
    command
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    roundelay().args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Output of a successful run with empty stderr.
fn success(output: Output) -> String {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        (output.status.code(), stderr.as_str()),
        (Some(0), ""),
        "{stdout}"
    );
    stdout
}

/// Error message of a run with this exit status and no output.
fn failure(output: Output, status: i32) -> String {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        (output.status.code(), stdout.as_str()),
        (Some(status), ""),
        "{stderr}"
    );
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}

fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is missing in: {message}");
    }
}

#[test]
fn a_usage_error_names_what_is_legal() {
    let cases: [(&[&str], &[&str]); 29] = [
        (&["--rate", "20Mbps"], &["20Mbps", "20mbit", "160mbit"]),
        (
            &["--rate", "fast"],
            &[
                "fast",
                "expected a number and bit, kbit, mbit, gbit or tbit",
            ],
        ),
        (&["--rate", "0"], &["at least 1bit"]),
        (&["--rate", "20."], &["expected a unit"]),
        (
            &["--rate", "20"],
            &[
                "'20'",
                "expected a unit: 20mbit, or 20bit for 20 bits a second",
            ],
        ),
        (
            &["--rate", "1mbit", "purple"],
            &["no discipline is called 'purple'", "roundelay list"],
        ),
        (&["--rate", "1mbit", ""], &["no discipline is called ''"]),
        (
            &["--rate", "1mbit", "home.toml"],
            &["'home.toml' is no discipline", "--tree FILE"],
        ),
        (
            &["--rate", "1mbit", "tree home.toml"],
            &["'tree' is no discipline", "--tree FILE"],
        ),
        (
            &["--rate", "1mbit", "drr quantum 2mb"],
            &["drr: quantum 2mb: legal range 1b to 1mb"],
        ),
        (
            &["--rate", "1mbit", "drr quantum"],
            &["drr: quantum: expected a value"],
        ),
        (
            &["--rate", "1mbit", "fq_codel aim 5ms"],
            &["no parameter is called 'aim'", "target", "limit"],
        ),
        (
            &["--rate", "1mbit", "--buffer", "full"],
            &["1000p", "150kb"],
        ),
        (
            &["--rate", "1mbit", "--buffer", "0p"],
            &["0p", "1p or more", "1b or more"],
        ),
        (
            &["--rate", "1mbit", "--buffer", "0b"],
            &["0b", "1b or more"],
        ),
        (
            &["--rate", "1mbit", "drr quantum 300b quantum 400b"],
            &["drr: quantum is written twice; expected it once"],
        ),
        (
            &["--rate", "1mbit", "fqcodel"],
            &[
                "no discipline is called 'fqcodel' (did you mean 'fq_codel'?)",
                "roundelay list",
            ],
        ),
        (
            &["--rate", "1mbit", "pfifo_fast"],
            &["did you mean 'priority'?"],
        ),
        (
            &["--rate", "1mbit", "fq_codel", "target", "5ms"],
            &[
                "'target', which is a parameter: write it after its discipline",
                "one pair of quotes",
            ],
        ),
        (
            &["--rate", "1mbit", "--seed", "abc"],
            &[
                "'abc'",
                "a whole number, legal range 0 to 18446744073709551615",
            ],
        ),
        (
            &["--rate", "1mbit", "cake autorate-ingress"],
            &["autorate-ingress", "bandwidth RATE"],
        ),
        (
            &["--rate", "1mbit", "--link", "vdsl"],
            &["VDSL is 'pppoe-ptm'"],
        ),
        (
            &["--rate", "1mbit", "drr weight 3"],
            &["weights are settings of flows: --weight 'RULE = N'"],
        ),
        (
            &["--rate", "1mbit", "fq_codel targte 5ms"],
            &["did you mean 'target'?", ": flows, quantum"],
        ),
        (
            &["--rate", "1mbit", "--flow-by", "colour"],
            &["colour", "5tuple, inner, outer, src, dst or dscp"],
        ),
        (
            &["--rate", "1mbit", "--weight", "dst port 443"],
            &["column 13", "found the end", "`and` or `=`"],
        ),
        (
            &["--rate", "1mbit", "--weight", "dst port 443 = 70000"],
            &["column 16", "`70000`", "a weight from 1 to 65535"],
        ),
        (
            &["--rate", "1mbit", "--max-flows", "0"],
            &["legal range 1 to 1000000"],
        ),
        (
            &["--rate", "1mbit", "--threads", "0"],
            &["legal range 1 to 1024"],
        ),
    ];
    for (arguments, parts) in cases {
        assert_says(
            &failure(run(&[&["compare", "t.pcap"], arguments].concat()), 2),
            parts,
        );
    }
    assert_says(&failure(run(&["compare", "t.pcap"]), 2), &["--rate"]);
    assert_says(
        &failure(run(&["compare", "--rate", "1mbit"]), 2),
        &["<CAPTURE>"],
    );
    assert_says(&failure(run(&["compair"]), 2), &["compair", "compare"]);
    assert_says(&failure(run(&[]), 2), &["Usage", "compare", "list"]);
}

#[test]
fn a_file_of_weights_that_is_wrong_is_a_usage_error_with_its_line() {
    let folder = Folder::new();
    let capture = folder.file("t.pcap", capture());
    let with = |weights: &str| {
        run(&[
            "compare",
            &capture,
            "--rate",
            "1mbit",
            "--no-cost",
            "--weights",
            weights,
        ])
    };
    let wrong = folder.file(
        "w.toml",
        "default = 1\n\n[[weight]]\nmatch = \"dst port 443\"\nweight = 0\n",
    );
    assert_says(
        &failure(with(&wrong), 2),
        &[&format!("{wrong}:5: "), "1 to 65535"],
    );
    let heavy = [
        "compare",
        &capture,
        "--rate",
        "1mbit",
        "--no-cost",
        "--weight",
        "dst port 443 = 9000",
        "drr quantum 1",
    ];
    assert!(run(&heavy).status.success(), "quanta in any ratio");
    assert_says(
        &failure(run(&[heavy.as_slice(), &["qfq"]].concat()), 2),
        &["qfq: weight 9000: legal range 1 to 1024"],
    );
    let unknown = folder.file("u.toml", "[[weight]]\nmatch = \"tos 3\"\nweight = 2\n");
    assert_says(&failure(with(&unknown), 2), &[&format!("{unknown}:2: ")]);
    assert_says(
        &failure(with("/no/such/weights.toml"), 2),
        &["/no/such/weights.toml"],
    );
    let binary = folder.file("b.toml", [0xff, 0xfe]);
    assert_says(&failure(with(&binary), 2), &[&binary]);
    let right = folder.file(
        "r.toml",
        "[[weight]]\nmatch = \"dst port 1024\"\nweight = 7\n",
    );
    assert!(with(&right).status.success());
}

/// Error messages of the operating system alone do not name the expected content.
#[test]
fn what_is_no_file_of_text_is_told_with_what_was_expected() {
    let folder = Folder::new();
    let (binary, place) = (folder.file("b.toml", [b'a', 0xff, 0xfe]), folder.path(""));
    let absent = folder.path("no.toml");
    let compare = |option: &'static str| ["compare", "t.pcap", "--rate", "1mbit", option];
    for (arguments, expected) in [
        (&compare("--weights")[..], "rules for weights in TOML"),
        (&compare("--tree"), "a tree in TOML"),
        (&["bounds", "--rate", "1mbit"], "flows in TOML"),
        (&["bench", "--check"], "what --save has written"),
    ] {
        for (path, problem) in [
            (&binary, "offset 1: no text in UTF-8"),
            (&place, "a folder"),
            (&absent, "there is no such file"),
        ] {
            let message = failure(run(&[arguments, &[path]].concat()), 2);
            assert_says(
                &message,
                &[&format!("{path}: {problem}; expected {expected}")],
            );
        }
    }
}

#[test]
fn a_capture_that_cannot_be_read_is_named() {
    let folder = Folder::new();
    let whole = capture();
    let cases = [
        ("/no/such/capture.pcap".to_owned(), vec!["cannot open"]),
        (
            "fq_codel".to_owned(),
            vec![
                "cannot open",
                "the first argument is the capture",
                "roundelay compare FILE fq_codel",
            ],
        ),
        (
            folder.0.to_str().unwrap().to_owned(),
            vec!["cannot open", "directory"],
        ),
        (
            folder.file("t.pcap.gz", [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]),
            vec!["offset 0", "gzip", "expected"],
        ),
        (folder.file("empty.pcap", []), vec!["offset 0", "expected"]),
        (
            folder.file("text.pcap", "Dear capture, please open.\n"),
            vec!["offset 0", "expected"],
        ),
        (
            folder.file("head.pcap", &whole[..20]),
            vec!["offset", "expected"],
        ),
        (folder.file("none.pcap", &whole[..24]), vec!["no packets"]),
        (
            folder.file("broken.pcap", [&whole[..], &[0xff; 16]].concat()),
            vec!["offset", "expected"],
        ),
    ];
    for (path, parts) in cases {
        let message = failure(run(&["compare", &path, "--rate", "1mbit", "--no-cost"]), 2);
        assert!(
            message.starts_with(&format!("roundelay: {path}: ")),
            "{message}"
        );
        assert_says(&message, &parts);
    }
}

#[test]
fn the_page_does_not_replace_what_was_read() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mine.pcap");
    std::fs::write(&path, capture()).expect("a capture");
    let name = path.to_str().expect("a name in UTF-8");
    let message = failure(
        run(&["compare", name, "fifo", "--rate", "5mbit", "--html", name]),
        2,
    );
    assert_says(&message, &["mine.pcap: both the capture and --html"]);
    assert_eq!(std::fs::read(&path).expect("it is there"), capture());
}

#[test]
fn a_capture_cut_in_a_packet_is_used_and_the_cut_noted() {
    let folder = Folder::new();
    let (whole, path) = (capture(), folder.path("cut.pcap"));
    fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    let stdout = success(run(&[
        "compare",
        &path,
        "--rate",
        "20mbit",
        "fifo",
        "--no-cost",
    ]));
    assert_says(
        &stdout,
        &["599 packets", "bytes at the end are a packet cut off"],
    );
}

#[test]
fn the_table_goes_to_stdout_without_colors_where_it_is_no_terminal() {
    let folder = Folder::new();
    let capture = folder.file("t.pcap", capture());
    let stdout = success(run(&["compare", &capture, "--rate", "4mbit", "--no-cost"]));
    assert_says(
        &stdout,
        &[
            "600 packets, 3 flows",
            "fifo",
            "sfq linux",
            "fq_codel linux",
            "cake besteffort",
            "fq_pie",
        ],
    );
    assert!(!stdout.contains('\x1b'), "{stdout}");
    let colorless = roundelay()
        .env("NO_COLOR", "1")
        .args(["compare", &capture, "--rate", "4mbit", "--no-cost"])
        .output()
        .unwrap();
    assert_eq!(success(colorless), stdout);
    let with_colors = |no_color: &str| {
        let mut command = roundelay();
        command
            .env("FORCE_COLOR", "1")
            .env("NO_COLOR", no_color)
            .args(["compare", &capture, "--rate", "4mbit", "--no-cost"]);
        success(command.output().unwrap())
    };
    assert!(
        with_colors("").contains('\x1b'),
        "FORCE_COLOR asks for them"
    );
    assert_eq!(with_colors("1"), stdout, "NO_COLOR is stronger");
}

/// The option is stronger than both variables, and every command has it.
#[test]
fn colours_are_as_asked_for() {
    let folder = Folder::new();
    let capture = folder.file("t.pcap", capture());
    let compare = ["compare", &capture, "fifo", "qfq", "--rate", "4mbit"];
    let has_colours = |variable: &str, option: &str| {
        let mut command = roundelay();
        command.env(variable, "1").args(compare).arg(option);
        success(command.output().unwrap()).contains('\x1b')
    };
    assert!(has_colours("NO_COLOR", "--color=always"));
    assert!(!has_colours("FORCE_COLOR", "--color=never"));
    assert!(has_colours("FORCE_COLOR", "--color=auto"));
    assert!(!has_colours("NO_COLOR", "--color=auto"));
    let scenario = "duration = '1s'\n[topology]\ntemplate = 'dumbbell'\n[[source]]\nkind = 'cbr'\nfrom = 's*'\nto = 'r*'\nrate = '1mbit'\n";
    let file = folder.file("s.toml", scenario);
    for command in ["simulate", "replay"] {
        let output = run(&[command, &file, "--quiet", "--color", "always"]);
        assert!(success(output).contains('\x1b'), "{command}");
    }
    let before = run(&["--color", "never", "list"]);
    assert!(!success(before).is_empty());
    let wrong = run(&["list", "--color", "sometimes"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("auto, always, never"));
}

#[test]
fn help_knows_what_command_was_meant() {
    let output = run(&["help", "compre"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("did you mean the command 'compare'?"));
    // A name of tc, as compare takes it.
    let prio = success(run(&["help", "prio"]));
    assert!(
        prio.starts_with("'prio' in tc is 'priority' here."),
        "{prio}"
    );
    assert!(prio.contains("\npriority: "), "{prio}");
    assert!(!success(run(&["help", "priority"])).contains("in tc is"));
    assert!(success(run(&["help", "bfifo"])).starts_with("'bfifo' in tc is 'fifo' here."));
    assert_eq!(
        success(run(&["help", "sch_cake"])),
        success(run(&["help", "cake"]))
    );
    // Classes of trees, and qdiscs that are no queues.
    for (class, keys) in [("htb", "ceil"), ("hfsc", "umax 1500 dmax 5ms")] {
        let help = success(run(&["help", class]));
        assert!(
            help.contains(keys) && help.contains("docs/trees.md"),
            "{help}"
        );
    }
    // All that read a discipline give the same reason.
    for arguments in [
        &["help", "netem"][..],
        &["help", "netem delay 1ms"],
        &["compare", "t.pcap", "--rate", "1mbit", "netem delay 1ms"],
        &["simulate", "t.toml", "--queue", "netem"],
        &["replay", "t.toml", "--with", "netem"],
        &["bench", "netem"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2));
        let told = text(&output.stderr);
        assert!(
            told.contains("netem is no discipline here: delay and loss belong to the link"),
            "{arguments:?}: {told}"
        );
    }
    assert!(!success(run(&["help", "fq_codel linux"])).contains("in tc is"));
    let output = run(&["help", "fq_codl"]);
    assert!(text(&output.stderr).contains("did you mean 'fq_codel'?"));
}

/// Errors in arguments and in files begin alike; help has no prefix.
#[test]
fn errors_have_one_prefix() {
    for arguments in [
        &["compare", "t.pcap", "--rate", "x"][..],
        &["compare", "--nonsense"],
        &["simulate", "missing.toml"],
    ] {
        let output = run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.starts_with("roundelay: "), "{stderr}");
    }
    let help = text(&run(&[]).stderr);
    assert!(help.starts_with("Compare queue disciplines"), "{help}");
}

#[test]
fn json_is_the_same_on_every_run_with_any_number_of_threads() {
    let folder = Folder::new();
    let capture = folder.file("t.pcap", capture());
    let with = |threads| {
        success(run(&[
            "compare",
            &capture,
            "--rate",
            "4mbit",
            "--no-cost",
            "--json",
            "--threads",
            threads,
        ]))
    };
    let first = with("1");
    assert_eq!(first, with("2"));
    assert_eq!(first, with("1"));
    let comparison: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(comparison["capture"]["packets"], PACKETS);
    assert_eq!(comparison["disciplines"].as_array().unwrap().len(), 5);
    assert!(
        comparison["disciplines"]
            .as_array()
            .unwrap()
            .iter()
            .all(|discipline| discipline["cost"].is_null())
    );
    let costed: Value = serde_json::from_str(&success(run(&[
        "compare", &capture, "--rate", "4mbit", "--json", "fifo",
    ])))
    .unwrap();
    assert!(costed["disciplines"][0]["cost"]["nanos_per_packet"].is_number());
}

#[test]
fn two_of_a_kind_are_told_apart_by_their_limits() {
    let folder = Folder::new();
    let capture = folder.file("t.pcap", capture());
    let stdout = success(run(&[
        "compare",
        &capture,
        "--rate",
        "4mbit",
        "--no-cost",
        "fifo",
        "fifo limit 10",
        "fifo limit 30000b",
    ]));
    assert_says(&stdout, &["fifo limit 10 ", "fifo limit 30000b"]);
}

#[test]
fn a_dash_reads_standard_input() {
    let folder = Folder::new();
    let path = folder.file("t.pcap", capture());
    let arguments = ["compare", "-", "--rate", "4mbit", "--no-cost", "fifo"];
    let stdout = success(
        roundelay()
            .args(arguments)
            .stdin(File::open(path).unwrap())
            .output()
            .unwrap(),
    );
    assert_says(&stdout, &["standard input", "600 packets"]);
    assert_says(
        &failure(roundelay().args(arguments).output().unwrap(), 2),
        &["standard input: offset 0"],
    );
}

#[test]
#[cfg(unix)]
fn a_path_need_not_be_unicode() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let path = folder.0.join(OsStr::from_bytes(b"caf\xe9.pcap"));
    fs::write(&path, capture()).unwrap();
    let with = |path: &Path| {
        roundelay()
            .arg("compare")
            .arg(path)
            .args(["--rate", "4mbit", "--no-cost", "fifo"])
            .output()
            .unwrap()
    };
    assert_says(&success(with(&path)), &["600 packets"]);
    assert_says(
        &failure(with(&folder.0.join(OsStr::from_bytes(b"th\xe9.pcap"))), 2),
        &["cannot open"],
    );
}

#[test]
#[cfg(unix)]
fn a_reader_that_stops_reading_is_no_failure() {
    let folder = Folder::new();
    let capture = folder.file("t.pcap", capture());
    for arguments in [
        &[
            "compare",
            &capture,
            "--rate",
            "4mbit",
            "--no-cost",
            "--json",
        ][..],
        &["list"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let mut child = roundelay()
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), text(&output.stderr).as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_a_failure() {
    let folder = Folder::new();
    let capture = folder.file("t.pcap", capture());
    let common = ["compare", &capture, "--rate", "4mbit", "--no-cost", "fifo"];
    for arguments in [
        &common[..],
        &["--help"],
        &["--version"],
        &["sweep", "--help"],
    ] {
        let output = roundelay()
            .args(arguments)
            .stdout(File::create("/dev/full").unwrap())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_says(&failure(output, 1), &["standard output", "space"]);
    }
    assert_says(
        &failure(run(&[&common[..], &["--html", "/dev/full"]].concat()), 1),
        &["/dev/full: cannot write"],
    );
}

#[test]
fn files_that_cannot_be_written_are_named() {
    let folder = Folder::new();
    let capture = folder.file("t.pcap", capture());
    let common = ["compare", &capture, "--rate", "4mbit", "--no-cost", "fifo"];
    let page = folder.path("no-such-folder/report.html");
    assert_says(
        &failure(run(&[&common[..], &["--html", &page]].concat()), 1),
        &[&page, "there is no folder"],
    );
    let not_a_folder = folder.file("file", "");
    assert_says(
        &failure(
            run(&[&common[..], &["--parquet", &not_a_folder]].concat()),
            1,
        ),
        &[&not_a_folder],
    );
    assert_says(
        &failure(
            run(&[
                &common[..],
                &["--parquet", &format!("{not_a_folder}/below")],
            ]
            .concat()),
            1,
        ),
        &[&not_a_folder],
    );
    assert_eq!(
        folder.names(),
        ["file", "t.pcap"],
        "nothing half-written stays"
    );
}

#[test]
fn the_page_is_whole() {
    let folder = Folder::new();
    let (capture, page) = (folder.file("t.pcap", capture()), folder.path("report.html"));
    success(run(&[
        "compare",
        &capture,
        "--rate",
        "4mbit",
        "--no-cost",
        "--html",
        &page,
    ]));
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.starts_with("<!") && html.trim_end().ends_with("</html>"));
    assert_eq!(folder.names(), ["report.html", "t.pcap"]);
}

fn rows(path: &Path) -> i64 {
    SerializedFileReader::new(File::open(path).unwrap())
        .unwrap()
        .metadata()
        .file_metadata()
        .num_rows()
}

#[test]
fn parquet_holds_every_packet_of_each_discipline_and_every_flow() {
    let folder = Folder::new();
    let (capture, columns) = (
        folder.file("t.pcap", capture()),
        folder.0.join("deep/columns"),
    );
    let specs = ["fifo limit 10", "qfq", "fifo", "fq_codel"];
    let arguments = [
        &[
            "compare",
            &capture,
            "--rate",
            "4mbit",
            "--no-cost",
            "--parquet",
            columns.to_str().unwrap(),
        ],
        &specs[..],
    ];
    success(run(&arguments.concat()));
    for name in [
        "packets-0-fifo",
        "packets-1-qfq",
        "packets-2-fifo",
        "packets-3-fq_codel",
    ] {
        assert_eq!(
            rows(&columns.join(format!("{name}.parquet"))),
            i64::from(PACKETS),
            "{name}"
        );
    }
    assert_eq!(rows(&columns.join("flows.parquet")), i64::from(FLOWS) * 4);
    assert_eq!(fs::read_dir(&columns).unwrap().count(), 5);
}

#[test]
fn a_run_that_fails_midway_leaves_no_packet_files() {
    let folder = Folder::new();
    let broken = folder.file("broken.pcap", [capture(), vec![0xff; 16]].concat());
    failure(
        run(&[
            "compare",
            &broken,
            "--rate",
            "4mbit",
            "--no-cost",
            "--parquet",
            &folder.path("columns"),
        ]),
        2,
    );
    assert_eq!(
        fs::read_dir(folder.path("columns")).map_or(0, Iterator::count),
        0
    );
}

#[test]
fn list_and_help_tell_of_all_disciplines() {
    let names = ["fifo", "drr", "sfq", "wf2q_plus", "qfq", "fq_codel"];
    assert_says(&success(run(&["list"])), &names);
    let listed: Value = serde_json::from_str(&success(run(&["list", "--json"]))).unwrap();
    let listed = listed["disciplines"].as_array().unwrap();
    assert!(
        names
            .iter()
            .all(|name| listed.iter().any(|entry| entry["name"] == *name)),
        "{listed:?}"
    );
    for entry in listed {
        let name = entry["name"].as_str().unwrap();
        let help = success(run(&["help", name]));
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert_says(
            &help,
            &[
                &format!("{name}: "),
                "limit",
                "legal range",
                "Source: ",
                "docs/schedulers/",
            ],
        );
    }
    assert_says(&success(run(&["help", "qfq"])), &["(weight)", "1 to 1024"]);
    assert_says(
        &success(run(&["help", "fq_codel"])),
        &["target", "5ms", "interval", "ecn or noecn"],
    );
    assert_says(
        &failure(run(&["help", "nonsense"]), 2),
        &["no discipline is called 'nonsense'", "roundelay list"],
    );
    assert_says(
        &failure(run(&["help", "fqcodel"]), 2),
        &["did you mean 'fq_codel'?"],
    );
    assert_says(
        &success(run(&["help", "sfq"])),
        &[
            "bare number",
            "0s to 3600s",
            " s\n",
            "Each parameter may be written once",
        ],
    );
    assert_says(
        &success(run(&["help"])),
        &["compare", "bounds", "list", "completions"],
    );
    assert_says(&success(run(&["--version"])), &[env!("CARGO_PKG_VERSION")]);
}

/// Usage lines begin with the program's name, not with the subcommand's.
#[test]
fn usage_begins_with_the_name_of_the_program() {
    for command in [
        "compare",
        "bench",
        "bounds",
        "simulate",
        "list",
        "completions",
    ] {
        let usage = format!("Usage: roundelay {command}");
        assert_says(&success(run(&["help", command])), &[&usage]);
        assert_says(&success(run(&[command, "--help"])), &[&usage]);
    }
}

/// Messages may contain text from files.
#[test]
fn a_message_cannot_steer_the_terminal() {
    let folder = Folder::new();
    let tree = folder.file(
        "t.toml",
        "[[node]]\nname = \"a\\u001b[2Jb\"\ndiscipline = \"fifo\"\n",
    );
    let message = failure(
        run(&["compare", "t.pcap", "--rate", "1mbit", "--tree", &tree]),
        2,
    );
    assert!(
        message.contains("node 'a\u{fffd}[2Jb': a name has") && !message.contains('\x1b'),
        "{message}"
    );
}

#[test]
fn completions_are_scripts() {
    for shell in ["bash", "zsh", "fish"] {
        assert_says(
            &success(run(&["completions", shell])),
            &["roundelay", "compare", "rate"],
        );
    }
    let mut bash = match Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => return println!("skipped: no bash: {error}"),
    };
    bash.stdin
        .take()
        .unwrap()
        .write_all(&run(&["completions", "bash"]).stdout)
        .unwrap();
    assert!(bash.wait().unwrap().success());
    assert_says(&failure(run(&["completions", "csh"]), 2), &["csh", "bash"]);
}

/// Man pages have what the help has, and groff reads them without a warning.
#[test]
fn every_command_has_a_man_page() {
    let folder = Folder::new();
    assert_eq!(success(run(&["man", "--out", &folder.path("man")])), "");
    let help = success(run(&["--help"]));
    let mut pages = 1;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    for line in commands.lines().take_while(|line| !line.is_empty()) {
        // The description of a command may go on in the next line.
        if !line.starts_with("  ") || line.starts_with("   ") {
            continue;
        }
        let name = line.split_whitespace().next().unwrap();
        let page = success(run(&["man", name]));
        let file = folder.path(&format!("man/roundelay-{name}.1"));
        assert_eq!(fs::read_to_string(file).unwrap(), page);
        for section in ["EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"] {
            assert!(page.contains(section), "{name}: {section}");
        }
        for option in success(run(&["help", name])).split_whitespace() {
            if let Some(option) = option.strip_prefix("--").filter(|word| !word.is_empty()) {
                let end = option.find(|c: char| !(c.is_alphanumeric() || c == '-'));
                let option = option[..end.unwrap_or(option.len())].replace('-', "\\-");
                assert!(page.contains(&option), "{name}: --{option}");
            }
        }
        pages += usize::from(name == "live") + 1;
    }
    assert!(success(run(&["man"])).contains("roundelay\\-compare(1)"));
    assert!(success(run(&["man", "live"])).contains("roundelay\\-live\\-set(1)"));
    assert!(success(run(&["man", "live-set"])).contains("\\-\\-way"));
    let files = fs::read_dir(folder.path("man")).unwrap();
    assert_eq!(files.count(), pages);
    assert_says(
        &failure(run(&["man", "compre"]), 2),
        &["did you mean 'compare'?"],
    );
    for file in fs::read_dir(folder.path("man")).unwrap() {
        let path = file.unwrap().path();
        let mut groff = Command::new("groff");
        groff
            .args(["-man", "-Tutf8", "-k", "-ww", "-rHY=0"])
            .arg(&path);
        let output = match groff.output() {
            Ok(output) => output,
            Err(error) => return println!("skipped: no groff: {error}"),
        };
        let warnings = text(&output.stderr);
        assert!(
            output.status.success() && warnings.is_empty(),
            "{}: {warnings}",
            path.display()
        );
    }
}

/// The `tc` commands for a discipline.
fn commands(capture: &str, spec: &str, flow_by: &str) -> Vec<String> {
    let weight = if flow_by == "dscp" {
        &["--weight", "dscp ef = 20"][..]
    } else {
        &[]
    };
    let arguments = [
        "compare",
        capture,
        "--rate",
        "5mbit",
        "--no-cost",
        "--json",
        "--flow-by",
        flow_by,
        spec,
    ];
    let stdout = success(run(&[&arguments, weight].concat()));
    let comparison: Value = serde_json::from_str(&stdout).unwrap();
    comparison["verdict"]["commands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line.as_str().unwrap().to_owned())
        .collect()
}

/// Creates a virtual interface.
#[cfg(target_os = "linux")]
const FENCE: &str = "ip link add there type veth peer name back || exit 99\nDEV=there\n";

#[cfg(target_os = "linux")]
fn in_a_network_of_its_own(script: &str) -> Option<Output> {
    Command::new("unshare")
        .args(["--net", "sh", "-c", script])
        .output()
        .ok()
}

#[cfg(target_os = "linux")]
fn networks_and_tc_can_be_had() -> bool {
    let tc = Command::new("tc").arg("-V").output();
    tc.is_ok_and(|output| output.status.success())
        && in_a_network_of_its_own(FENCE).is_some_and(|output| output.status.success())
}

/// Runs commands on a virtual interface in a separate network namespace, each regardless of earlier
/// failures. A shell syntax error is a failure, since the shell would skip the remaining commands.
#[cfg(target_os = "linux")]
fn run_in_a_network_of_its_own(commands: &[String]) -> String {
    let script = commands.iter().fold(FENCE.to_owned(), |script, line| {
        format!("{script}{{ :\n{line}\n}} 2>&1\n")
    });
    let output = in_a_network_of_its_own(&(script + "echo all was run\n")).unwrap();
    assert!(
        output.stderr.is_empty(),
        "{} in {commands:#?}",
        text(&output.stderr)
    );
    text(&output.stdout)
        .strip_suffix("all was run\n")
        .unwrap()
        .to_owned()
}

/// The kernel may lack a discipline; a syntax error reported by `tc` is our mistake.
#[test]
#[cfg(target_os = "linux")]
fn tc_understands_the_commands() {
    if !networks_and_tc_can_be_had() {
        return println!("skipped: needs tc and the right to make network namespaces");
    }
    let folder = Folder::new();
    let capture = folder.file("t.pcap", capture());
    let specs = [
        "fifo",
        "fifo limit 128000b",
        "drr",
        "drr quantum 3000b",
        "qfq",
        "sfq",
        "sfq perturb 10s quantum 3kb headdrop",
        "sfq limit 150kb",
        "fq_codel",
        "fq_codel limit 1000 target 1500us interval 30ms quantum 300b noecn",
        "fq_codel limit 4mb flows 100 ce_threshold 1ms drop_batch 10",
        "codel",
        "codel limit 150kb target 1500ns interval 3600s ecn ce_threshold 7200s",
        "pie",
        "pie limit 150kb target 4s tupdate 1us alpha 1 beta 32 ecn bytemode dq_rate_estimator",
        "red",
        "red limit 1000p max 300kb avpkt 1500b probability 1 bandwidth 10tbit ecn harddrop nodrop adaptive",
        "red limit 10kb burst 10 bandwidth 1kbit probability 0.0001",
        "choke",
        "choke limit 1000000000 min 10 max 30 avpkt 1500b burst 11 bandwidth 10tbit probability 1 ecn",
        "choke limit 1mb min 1 max 3",
        "sfb",
        "sfb rehash 0 db 86400s target 1048576 increment 1 decrement 0.000000001 penalty_rate 1000000 limit 1mb",
        "qfq_plus",
        "qfq_plus aggregate 1",
        "qfq_plus aggregate 3",
        "qfq_plus aggregate 64",
        "priority",
        "priority limit 128000b",
    ];
    let known_refusals = [
        "qdisc kind is unknown",
        "must match existing qdisc",
        "Qdisc doesn't exist",
        "Failed to find specified qdisc",
        "RTNETLINK answers",
        "not classful",
        "talking to the kernel",
    ];
    let otherwise = ["drr", "qfq", "qfq_plus aggregate 3", "sfb"]
        .into_iter()
        .flat_map(|spec| ["src", "dst", "dscp"].map(|by| (spec, by)));
    for (spec, flow_by) in specs
        .into_iter()
        .map(|spec| (spec, "5tuple"))
        .chain(otherwise)
    {
        let commands = commands(&capture, spec, flow_by);
        assert!(commands.len() >= 3, "{spec}: {commands:?}");
        // A packet without a class would be dropped.
        let classful = commands.iter().any(|line| line.contains("classid 10:"));
        assert_eq!(
            classful,
            commands.iter().any(|line| line.contains("protocol all")),
            "{spec}: {commands:?}"
        );
        let said = run_in_a_network_of_its_own(&commands);
        let complaints: Vec<_> = said
            .lines()
            .filter(|line| {
                !line.starts_with("Warning: ")
                    && !known_refusals.iter().any(|refusal| line.contains(refusal))
            })
            .collect();
        assert!(
            complaints.is_empty(),
            "{spec}: {complaints:?} from {commands:#?}"
        );
    }
    for spec in [
        "wf2q_plus",
        "red gentle",
        "pie burst 0",
        "choke limit 100",
        "sfb bins 23",
    ] {
        assert_eq!(
            commands(&capture, spec, "5tuple"),
            Vec::<String>::new(),
            "none are known"
        );
    }
    for (wrong, complaint) in [
        ("fq_codel limit 5parsecs", "Illegal"),
        ("red limit 1mb avpkt 1000 burst 1", "too small"),
        ("sfb bins 9", "What"),
    ] {
        let said = run_in_a_network_of_its_own(&[
            "# a comment".to_owned(),
            format!("tc qdisc replace dev $DEV root {wrong}"),
        ]);
        assert!(said.contains(complaint), "a mistake would be seen: {said}");
    }
}

#[test]
fn by_default_those_of_linux_are_compared_on_a_screen() {
    let folder = Folder::new();
    let capture = folder.file("t.pcap", capture());
    let with = |words: &[&str]| {
        success(run(&[
            &["compare", &capture, "--rate", "4mbit", "--no-cost"],
            words,
        ]
        .concat()))
    };
    let names = |words: &[&str]| -> Vec<String> {
        let page: Value = serde_json::from_str(&with(&[words, &["--json"]].concat())).unwrap();
        page["disciplines"]
            .as_array()
            .unwrap()
            .iter()
            .map(|each| each["spec"].as_str().unwrap().to_owned())
            .collect()
    };
    let deployed = [
        "fq_codel linux",
        "cake besteffort",
        "fq_pie",
        "sfq linux",
        "fifo",
    ];
    assert_eq!(names(&[]), deployed);
    assert_eq!(
        names(&["all"]).len(),
        success(run(&["list"])).lines().count()
    );
    let screen = with(&[]);
    assert!(
        screen.contains("  tc qdisc add") && screen.lines().count() <= 40,
        "{screen}"
    );
    assert!(
        screen.contains("Use --wide.") && !screen.contains("µs") && !screen.contains(" %"),
        "{screen}"
    );
    let wide = with(&["--wide"]);
    assert!(
        wide.contains("GPS lag") && wide.contains("p99.9") && !wide.contains("Left out"),
        "{wide}"
    );
}

/// A limit of nothing is refused as `--buffer 0p` is.
#[test]
fn a_buffer_holds_something() {
    let folder = Folder::new();
    let capture = folder.file("t.pcap", capture());
    let compare = |words: &[&str]| {
        failure(
            run(&[&["compare", &capture, "--rate", "4mbit"], words].concat()),
            2,
        )
    };
    for words in [
        &["fifo limit 0"][..],
        &["fifo", "drr limit 0b"],
        &["fifo", "--buffer", "0p"],
    ] {
        let message = compare(words);
        assert!(
            message.contains(
                "expected packets, 1p or more (1000p), or bytes, 1b or more (150kb, 4mb, 1gb)"
            ),
            "{message}"
        );
    }
}

/// Regression: "1 packets", "headers of link type link type 999".
#[test]
fn one_packet_and_an_unknown_link_are_named_well() {
    let folder = Folder::new();
    let whole = capture();
    let lone = folder.file("one.pcap", &whole[..24 + 16 + 28]);
    let text = success(run(&[
        "compare",
        &lone,
        "--rate",
        "4mbit",
        "--no-cost",
        "fifo",
    ]));
    assert!(text.contains("1 packet, 1 flow by 5tuple"), "{text}");
    let mut unknown = whole;
    unknown[20..24].copy_from_slice(&999_u32.to_le_bytes());
    let message = failure(
        run(&[
            "compare",
            &folder.file("unknown.pcap", unknown),
            "--rate",
            "4mbit",
        ]),
        2,
    );
    assert!(
        message.contains("headers of link type 999 are not read"),
        "{message}"
    );
    let message = failure(
        run(&["compare", &lone, "--rate", "4mbit", "--html", "-"]),
        2,
    );
    assert!(
        message.contains("--html -: standard output is for the table; expected a file"),
        "{message}"
    );
}

#[test]
fn wrong_values_are_answered_with_the_range_and_their_key() {
    let folder = Folder::new();
    let capture = folder.file("t.pcap", capture());
    let message = |words: &[&str]| failure(run(&[&["compare", &capture], words].concat()), 2);
    let text = message(&["--rate", "20", "fifo"]);
    assert!(
        text.contains("--rate")
            && text.contains("expected a unit: 20mbit, or 20bit")
            && text.contains("legal range 1bit to"),
        "{text}"
    );
    let text = message(&["--rate", "4mbit", "--seed", "x"]);
    assert!(
        text.contains("--seed") && text.contains("legal range 0 to 18446744073709551615"),
        "{text}"
    );
    let text = message(&["--rate", "4mbit", "--buffer", "0p"]);
    assert!(
        text.contains("--buffer") && text.contains("1p or more"),
        "{text}"
    );
}

/// Instructions of a comparison of a capture with this number of flows, of two packets each.
fn instructions(folder: &Folder, flows: u32) -> u64 {
    let mut bytes = capture();
    let record = bytes[24..24 + 16 + 28].to_vec();
    bytes.truncate(24);
    for number in 0..2 * flows {
        bytes.extend(&record);
        let end = bytes.len();
        bytes[end - 12..end - 8].copy_from_slice(&(number % flows).to_be_bytes());
    }
    let capture = folder.file(&format!("{flows}.pcap"), bytes);
    let mut command = Command::new("valgrind");
    command
        .args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            env!("CARGO_BIN_EXE_roundelay"),
            "compare",
        ])
        .arg(capture);
    command.args([
        "--rate",
        "1gbit",
        "--no-cost",
        "--json",
        "--threads",
        "1",
        "--max-flows",
        "100000",
        "fifo",
        "drr",
        "wf2q_plus",
    ]);
    let output = command.output().expect("valgrind");
    let said = text(&output.stderr);
    let (_, count) = said
        .split_once("Collected : ")
        .unwrap_or_else(|| panic!("{said}"));
    count.split_whitespace().next().unwrap().parse().unwrap()
}

/// Regression: a sum over all flows in the result of each flow took time with the square of the
/// flows.
#[test]
#[ignore = "run by make test-full: a minute under valgrind"]
fn the_work_of_a_comparison_is_linear_in_the_flows() {
    let folder = Folder::new();
    let [one, two, four] = [2000, 4000, 8000].map(|flows| instructions(&folder, flows));
    let growth = (four - two) as f64 / (two - one) as f64;
    assert!(
        (1.8..2.2).contains(&growth),
        "{one}, {two}, {four} instructions: {growth}, where a square has 4"
    );
}

/// With less and less memory a run ends well, or with a message and status 1: no abort.
#[test]
#[cfg(target_os = "linux")]
fn out_of_memory_is_an_error() {
    // Each packet is a flow: tables grow with the capture.
    let mut bytes = capture();
    let record = bytes[24..24 + 16 + 28].to_vec();
    bytes.truncate(24);
    for number in 0..60_000_u32 {
        bytes.extend(&record);
        let end = bytes.len();
        bytes[end - 12..end - 8].copy_from_slice(&number.to_be_bytes());
    }
    let folder = Folder::new();
    let capture = folder.file("many.pcap", bytes);
    let written = folder.0.join("written");
    let run_within = |kilobytes: u32| {
        let limited = format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command
            .args(["-c", &limited, env!("CARGO_BIN_EXE_roundelay"), "compare"])
            .arg(&capture);
        command.args([
            "--rate",
            "50mbit",
            "--no-cost",
            "--json",
            "--max-flows",
            "60000",
            "fifo",
            "qfq",
            "fq_codel",
            "wf2q_plus",
        ]);
        command.arg("--parquet").arg(&written);
        command.stdin(Stdio::null()).output().unwrap()
    };
    // The program itself has 38 MB in a debug build: with less the system does not start it.
    let runs = [60_000, 70_000, 80_000, 100_000, 130_000, 160_000].map(run_within);
    let mut refused = 0;
    for output in runs {
        let stderr = text(&output.stderr);
        match output.status.code() {
            Some(0) => {}
            Some(1) => {
                refused += u32::from(
                    stderr.starts_with("roundelay: out of memory: the system refuses ")
                        && stderr.contains("--max-flows"),
                );
            }
            status => panic!("{status:?}: {stderr}"),
        }
        assert!(
            !stderr.contains("memory allocation of") && !stderr.contains("panicked"),
            "{stderr}"
        );
    }
    assert!(refused > 0, "no run had too little memory");
    let left = fs::read_dir(&written)
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect::<Vec<_>>();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().ends_with(".partial")),
        "{left:?}"
    );
    assert!(run_within(4_000_000).status.success());
}

/// What people write by analogy, with the hint that they need.
#[test]
fn near_misses_get_a_hint() {
    for (arguments, hint) in [
        (
            &["live", "eth0", "eth1", "fq_codel"][..],
            "--between NEAR eth1",
        ),
        (
            &["simulate", "--duration", "10s", "x.toml"],
            "duration = \"10s\"",
        ),
        (
            &["compare", "x.pcap", "--rate", "5mbit", "cake dual-dst-host"],
            "did you mean 'dual-dsthost'?",
        ),
        (
            &["compare", "x.pcap", "--rate", "5mbit,20mbit"],
            "one rate a call",
        ),
        (
            &["compare", "x.pcap", "--rate", "5mbit", "dualpi2"],
            "fq_codel and cake are nearest",
        ),
    ] {
        let message = failure(run(arguments), 2);
        assert!(message.contains(hint), "{message}");
        assert!(!message.contains("as a value, use"), "{message}");
    }
}

/// Regression: cake with dual isolation, which gives two hosts with eight flows and one half of the
/// link each, was said to hurt bulk.
#[test]
fn the_verdict_says_which_fairness_it_judges() {
    let mut packets = Vec::new();
    for flow in 0..9_u8 {
        let (host, gap) = if flow < 8 { (10, 4000) } else { (20, 1500) };
        let mut micros = u32::from(flow);
        while micros < 2_000_000 {
            packets.push((micros, flow, host));
            micros += gap;
        }
    }
    packets.sort_unstable();
    let mut bytes = Vec::new();
    for field in [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101] {
        bytes.extend(field.to_le_bytes());
    }
    for (micros, flow, host) in packets {
        for field in [micros / 1_000_000, micros % 1_000_000, 28, 1500] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend([0x45, 0, 5, 220, 0, 0, 0, 0, 64, 17, 0, 0]);
        bytes.extend([203, 0, 113, flow, 192, 168, 1, host]);
        bytes.extend([19, 136, 39, 16 + flow, 5, 200, 0, 0]);
    }
    let file = std::env::temp_dir().join(format!("eight-and-one-{}.pcap", std::process::id()));
    fs::write(&file, bytes).expect("written");
    let path = file.display().to_string();
    let of = |more: &[&str]| {
        let all = [
            &["compare", &path, "--rate", "10mbit", "--no-cost"][..],
            more,
        ]
        .concat();
        let told = success(run(&all));
        told.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let told = of(&["--wide", "cake dual-dsthost", "cake flows"]);
    assert!(!told.contains("hurts bulk"), "{told}");
    assert!(
        told.contains("cake dual-dsthost shares the link by host and is judged by that"),
        "{told}"
    );
    assert!(
        told.contains("under cake flows, 192.168.1.20 gets 22"),
        "{told}"
    );
    assert!(told.contains("hosts"), "{told}");
    let told = of(&["--wide", "cake flows", "drr"]);
    assert!(!told.contains("host"), "{told}");
    drop(fs::remove_file(&file));
}
