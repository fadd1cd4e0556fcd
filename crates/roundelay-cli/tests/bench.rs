//! `roundelay bench` from the user's side. Measurements differ from run to run; the form of
//! printed, saved and compared results does not.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

/// A folder for one test, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "roundelay-bench-{}-{}",
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
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A short run of the command.
fn bench(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
    let pairs = if words.contains(&"--pairs") {
        &[][..]
    } else {
        &["--pairs", "200"]
    };
    command
        .args(["bench", "--rounds", "2"])
        .args(pairs)
        .args(words)
        .output()
        .unwrap()
}

fn text(words: &[&str]) -> String {
    let output = bench(words);
    assert!(
        output.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn error(words: &[&str], status: i32) -> String {
    let output = bench(words);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{words:?}: {message}");
    message
}

fn json(words: &[&str]) -> Value {
    serde_json::from_str(&text(&[words, &["--json"]].concat())).unwrap()
}

#[test]
fn none_and_fifo_stand_beside_what_was_asked_for_in_both_memories() {
    let text = text(&["drr", "--flows", "8", "--burst", "0", "--burst", "32"]);
    let heads: Vec<_> = text.lines().filter(|line| line.contains("flows")).collect();
    assert_eq!(
        heads,
        [
            "8 flows, small, lengths 1000",
            "8 flows, small, lengths 1000, bursts of 32"
        ]
    );
    assert_eq!(text.matches("packed").count(), 2);
    assert_eq!(text.matches("scattered").count(), 2);
    let subjects = ["none", "fifo", "drr"].map(|name| {
        text.lines()
            .filter(|line| line.trim().starts_with(name))
            .count()
    });
    assert_eq!(subjects, [2, 2, 2]);
}

#[test]
fn trees_are_measured_by_word_and_by_file() {
    let folder = Folder::new();
    let file = folder.path("office.toml");
    let office = "[[node]]\nname = 'link'\ndiscipline = 'htb'\n[[node]]\nname = 'all'\nparent = \
                  'link'\ndiscipline = 'fifo'\nrate = '1gbit'\ndefault = true\n";
    fs::write(&file, office).unwrap();
    let trees = ["--tree", "htb:2x2", "--tree", "drr+hfsc:3", "--tree", &file];
    let tables = &json(&[&trees[..], &["--flows", "8", "--memory", "packed"]].concat())["tables"];
    let rows = tables[0]["a_packet"].as_array().unwrap();
    let subjects: Vec<_> = rows.iter().map(|row| &row["subject"]).collect();
    let of_file = format!("tree {file}");
    assert_eq!(
        subjects,
        ["none", "fifo", "tree htb:2x2", "tree drr+hfsc:3", &of_file]
    );
    for row in rows {
        assert_eq!(row["sent"], 1.0, "{row}");
    }
    for (word, told) in [
        ("htb:0", "'htb:0': expected disciplines from the root down"),
        ("sfqq:3", "sfqq"),
        ("fifo:3", "fifo"),
        ("none.toml", "none.toml"),
    ] {
        let message = error(&["--tree", word], 2);
        assert!(message.contains(told), "{message}");
    }
}

#[test]
fn json_says_what_was_measured() {
    let tables = &json(&[
        "qfq",
        "--flows",
        "2:3",
        "--pattern",
        "full",
        "--lengths",
        "64-1500",
        "--memory",
        "packed",
        "--burst",
        "4",
    ])["tables"];
    let table = &tables[0];
    assert_eq!(tables.as_array().unwrap().len(), 1);
    for (key, value) in [
        ("flows", "2:3"),
        ("pattern", "full"),
        ("memory", "packed"),
        ("lengths", "64-1500"),
    ] {
        assert_eq!(table[key], value);
    }
    assert_eq!(table["burst"], 4);
    assert!(table["compiler"].as_str().unwrap().starts_with("rustc "));
    let rows = table["a_packet"].as_array().unwrap();
    assert_eq!(
        rows.iter()
            .map(|row| row["subject"].as_str().unwrap())
            .collect::<Vec<_>>(),
        ["none", "fifo", "qfq"]
    );
    for row in rows {
        let [least, median, most] =
            ["least ns", "ns", "most ns"].map(|key| row[key].as_f64().unwrap());
        assert!(0.0 < least && least <= median && median <= most, "{row}");
        assert_eq!(row["sent"], 1.0);
    }
    assert_eq!(rows[0]["net"], 0.0);
}

#[test]
fn what_was_saved_is_compared() {
    let folder = Folder::new();
    let file = folder.path("saved.json");
    text(&["drr", "--flows", "8", "--save", &file]);
    let mut saved: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    for table in saved["tables"].as_array_mut().unwrap() {
        table["a_packet"][2]["net"] = json!(4000.0);
    }
    fs::write(&file, saved.to_string()).unwrap();
    let report = json(&["drr", "qfq", "--flows", "8", "--against", &file]);
    let rows = &report["tables"][0]["a_packet"];
    assert_eq!(rows[2]["was"], 4000.0, "the net cost then");
    assert_eq!(
        rows[0]["was"], saved["tables"][0]["a_packet"][0]["ns"],
        "none is compared as it is"
    );
    assert!(rows[3]["was"].is_null(), "{}", rows[3]);
    let text = text(&["drr", "--flows", "8", "--flows", "9", "--against", &file]);
    assert_eq!(
        text.matches("ratio").count(),
        2,
        "9 flows were not saved: {text}"
    );
}

#[test]
fn a_file_that_cannot_be_compared_is_refused() {
    let folder = Folder::new();
    let file = folder.path("saved.json");
    fs::write(&file, "{}").unwrap();
    assert!(error(&["drr", "--against", &file], 2).contains("not written by --save"));
    assert!(error(&["drr", "--against", &folder.path("none.json")], 2).contains("none.json"));
    let row = json!({"subject": "none", "instructions": 100.0, "net": 0.0});
    let table = json!([{"flows": "8", "pattern": "small", "memory": "packed", "lengths": "1000", "a_packet": [row]}]);
    fs::write(&file, table.to_string()).unwrap();
    assert!(error(&["drr", "--flows", "8", "--against", &file], 2).contains("holds no ns of none"));
    fs::write(&file, table.to_string().replace("small", "medium")).unwrap();
    assert!(error(&["--check", &file], 2).contains("small, large or full"));
    fs::write(&file, table.to_string().replace("none", "drr")).unwrap();
    assert!(error(&["--check", &file], 2).contains("the first row is not that of none"));
}

#[test]
fn a_drawing_needs_several_numbers_of_flows() {
    let folder = Folder::new();
    assert!(
        error(
            &["drr", "--flows", "8", "--svg", &folder.path("drawing.svg")],
            2
        )
        .contains("two numbers of flows")
    );
    let output = bench(&["drr", "--flows", "8", "--svg", &folder.path("drawing.svg")]);
    assert!(output.stdout.is_empty(), "told before the run");
}

/// Regression: a path that could not be written was told after all measurements.
#[test]
fn outputs_are_tried_before_the_first_measurement() {
    let folder = Folder::new();
    for option in ["--save", "--svg"] {
        let output = bench(&[
            "drr",
            "--flows",
            "8",
            "--flows",
            "16",
            option,
            &folder.path("no-such-folder/file"),
        ]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(
            message.contains("no-such-folder/file: cannot create: there is no folder")
                && output.stdout.is_empty(),
            "{message}"
        );
    }
    let saved = folder.path("saved.json");
    fs::write(&saved, "[]").unwrap();
    assert!(
        error(
            &["drr", "--flows", "8", "--against", &saved, "--save", &saved],
            2
        )
        .contains("both --against and --save")
    );
    assert_eq!(fs::read_to_string(&saved).unwrap(), "[]");
    let names = fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["saved.json"],
        "nothing partial stays"
    );
}

#[test]
fn errors_name_what_is_legal() {
    for (words, parts) in [
        (
            ["--pairs", "0"],
            ["'0'", "a whole number", "legal range 1 to"],
        ),
        (
            ["--pairs", "many"],
            ["'many'", "a whole number", "legal range 1 to"],
        ),
        (
            ["--flows", "0"],
            [
                "flows '0'",
                "weights from 1 to 1024",
                "flows from 1 to 1048576 in all",
            ],
        ),
        (
            ["--flows", "2m"],
            [
                "flows '2m'",
                "weights from 1 to 1024",
                "legal range 1 to 1048576",
            ],
        ),
        (
            ["--flows", "-1"],
            [
                "flows '-1'",
                "no whole number",
                "flows from 1 to 1048576 in all",
            ],
        ),
        (
            ["--flows", "99999999999"],
            [
                "flows '99999999999'",
                "is out of range",
                "flows from 1 to 1048576 in all",
            ],
        ),
        (
            ["--burst", "-1"],
            ["'-1'", "a whole number", "legal range 0 to 1024"],
        ),
    ] {
        let message = error(&words, 2);
        parts
            .iter()
            .for_each(|part| assert!(message.contains(part), "{part}: {message}"));
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    for words in [
        ["--tolerance", "3"].as_slice(),
        &["--burst", "1025"],
        &["--huge-pages", "--instructions"],
    ] {
        error(words, 2);
    }
}

/// Huge pages are not available on every system.
#[test]
fn huge_pages_are_there_or_it_says_what_is_missing() {
    let folder = Folder::new();
    let saved = folder.path("saved.json");
    let output = bench(&[
        "drr",
        "--flows",
        "8",
        "--pairs",
        "100",
        "--huge-pages",
        "--save",
        &saved,
    ]);
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    match output.status.code() {
        Some(0) => {
            assert!(
                stdout.starts_with("In huge pages.") && stdout.contains("drr"),
                "{stdout}"
            );
            let message = error(
                &["drr", "--flows", "8", "--pairs", "100", "--against", &saved],
                2,
            );
            assert!(
                message.contains("the file has none of the measured rows"),
                "what lay in huge pages is another thing: {message}"
            );
        }
        status => assert!(
            status == Some(1)
                && stderr.contains("transparent_hugepage")
                && stderr.contains("glibc"),
            "{status:?}: {stderr}"
        ),
    }
}
