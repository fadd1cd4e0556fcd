//! `roundelay papers` as its users meet it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

const PLAN: &str = r#"
item = "Figure 1"
title = "Ten constant rates"
page = "section 1"
method = "Ten flows of 1 Mbit/s into a link of 5 Mbit/s."
[run]
kind = "simulate"
seeds = 3
columns = { DRR = "drr limit 50" }
[run.scenario]
duration = "2s"
topology = { template = "dumbbell", pairs = 10 }
source = [{ kind = "cbr", name = "steady", from = "s*", to = "r*", rate = "1mbit", start_jitter = "20ms" }]
[[published]]
figure = "DRR: least, kbit/s"
value = 400.0
[[claim]]
says = "Round robin shares evenly."
needs = [{ is = "ratio", of = "DRR: least, kbit/s", over = "DRR: most, kbit/s", from = 0.7 }]
expect = "holds"
[[chart]]
title = "Throughput by rank"
x = "rank"
y = "kbit/s"
curves = ["DRR: ranks, kbit/s"]
"#;

/// A folder of its own for a test, with the plan in it, gone when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("roundelay-papers-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("plan.toml"), PLAN).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Runs the plan with its cache in the folder.
    fn run(&self, options: &[&str]) -> Output {
        papers(&[&[&*self.path("plan.toml"), "--cache", &self.path("cache")], options].concat())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn papers(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roundelay")).arg("papers").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn papers_and_items_are_listed() {
    let list = papers(&[]);
    let list = text(&list.stdout);
    for item in ["qfq ", "table-2", "theorem-1", "qfq-plus ", "mqfq ", "figure-4", "afq ", "figure-16"] {
        assert!(list.contains(item), "{item}: {list}");
    }
    let one = papers(&["mqfq"]);
    assert!(text(&one.stdout).contains("figure-12") && !text(&one.stdout).contains("theorem-1"));
}

#[test]
fn published_and_ours_stand_side_by_side_with_a_verdict() {
    let folder = Folder::new("report");
    let output = folder.run(&["--check"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    assert!(report.contains("Round robin shares evenly.\n    holds\n"), "{report}");
    let line = report.lines().find(|line| line.trim().starts_with("DRR: least")).unwrap();
    assert!(line.contains("400") && line.contains("488") && line.contains("1.22"), "{line}");
    assert!(report.contains("Verdicts of 1 items are those on record."));
}

#[test]
fn a_planted_fault_fails_the_check() {
    let folder = Folder::new("fault");
    let output = folder.run(&["--check", "--instead", "fifo limit 50"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("1 verdicts differ") && text(&output.stderr).contains("'holds' on record, now does not hold"));
}

#[test]
fn a_second_run_comes_from_the_cache_and_gives_the_same() {
    let folder = Folder::new("cache");
    let json = |output: Output| -> Value { serde_json::from_slice(&output.stdout).unwrap() };
    let first = json(folder.run(&["--json"]));
    let lines = fs::read_to_string(folder.path("cache/plans.jsonl")).unwrap().lines().filter(|line| !line.is_empty()).count();
    let second = json(folder.run(&["--json"]));
    assert_eq!(lines, 3, "a line a seed");
    assert_eq!(first[0]["record"]["variations"], second[0]["record"]["variations"]);
    assert_eq!(first[0]["record"]["seconds"], second[0]["record"]["seconds"], "seconds are those of the runs, not of reading them");
    assert_eq!(first[0]["claims"][0]["verdict"], "holds");
}

#[test]
fn rows_and_drawings_are_written() {
    let folder = Folder::new("files");
    let (rows, drawing, page) = (folder.path("rows.parquet"), folder.path("chart.svg"), folder.path("page.html"));
    assert!(folder.run(&["--parquet", &rows, "--svg", &drawing, "--html", &page]).status.success());
    assert!(fs::read_to_string(page).unwrap().contains("Round robin shares evenly."));
    assert!(fs::read_to_string(drawing).unwrap().contains("Throughput by rank"));
    let reader = parquet::file::reader::SerializedFileReader::try_from(&*PathBuf::from(rows)).unwrap();
    let metadata = parquet::file::reader::FileReader::metadata(&reader);
    let names: Vec<_> = metadata.file_metadata().schema_descr().columns().iter().map(|column| column.name().to_owned()).collect();
    assert_eq!(names, ["variation", "figure", "x", "seed", "value"]);
    assert!(metadata.file_metadata().num_rows() > 60, "ten ranks and ten flows with three seeds, and more");
}

#[test]
fn what_is_wrong_is_said_with_what_is_legal() {
    let folder = Folder::new("errors");
    for (arguments, status, expected) in [
        (&["qfqq"][..], 2, "no paper is called 'qfqq': "),
        (&["qfq", "table-9"], 2, "qfq has no item 'table-9': "),
        (&["no-such-plan.toml"], 2, "there is no such file; expected a plan"),
        (&["all", "--parquet", "x.parquet"], 2, "--parquet, --svg and --html are for one item"),
        (&["qfq", "table-2", "--instead", "fiffo"], 2, "fiffo"),
    ] {
        let output = papers(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
    let plan = folder.path("plan.toml");
    let output = folder.run(&["--html", &plan]);
    assert!(output.status.code() == Some(2) && fs::read_to_string(&plan).unwrap() == PLAN, "a plan is not written over");
    fs::write(&plan, PLAN.replace("over = \"DRR: most, kbit/s\"", "over = \"DRR: mots, kbit/s\"")).unwrap();
    let output = folder.run(&[]);
    assert!(
        output.status.code() == Some(1) && text(&output.stderr).contains("DRR: mots, kbit/s was not measured"),
        "{}",
        text(&output.stderr)
    );
    fs::write(&plan, PLAN.replace("drr limit", "drrr limit")).unwrap();
    let output = folder.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("drrr"), "{}", text(&output.stderr));
}
