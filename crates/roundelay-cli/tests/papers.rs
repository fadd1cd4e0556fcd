//! `roundelay papers` from the user's side.

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

/// A folder with the plan for one test, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("roundelay-papers-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("plan.toml"), PLAN).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Runs the plan with the cache in this folder.
    fn run(&self, options: &[&str]) -> Output {
        papers(
            &[
                &[&*self.path("plan.toml"), "--cache", &self.path("cache")],
                options,
            ]
            .concat(),
        )
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn papers(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .arg("papers")
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn papers_and_items_are_listed() {
    let list = papers(&[]);
    let list = text(&list.stdout);
    for item in [
        "qfq ",
        "table-2",
        "theorem-1",
        "qfq-plus ",
        "mqfq ",
        "figure-4",
        "afq ",
        "figure-16",
    ] {
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
    assert!(
        report.contains("Round robin shares evenly.\n    holds\n"),
        "{report}"
    );
    let line = report
        .lines()
        .find(|line| line.trim().starts_with("DRR: least"))
        .unwrap();
    assert!(
        line.contains("400") && line.contains("488") && line.contains("1.22"),
        "{line}"
    );
    assert!(report.contains("All verdicts of 1 item are as their plans expect."));
}

#[test]
fn a_planted_fault_fails_the_check() {
    let folder = Folder::new("fault");
    let output = folder.run(&["--check", "--instead", "fifo limit 50"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(
        text(&output.stderr).contains("1 verdicts differ")
            && text(&output.stderr).contains("expected 'holds', now does not hold")
    );
    assert!(text(&output.stderr).contains("hold under fifo limit 50 as well: 0\n"));
}

#[test]
fn a_claim_that_holds_under_another_discipline_as_well_is_listed() {
    let folder = Folder::new("as-well");
    let output = folder.run(&["--instead", "qfq limit 50"]);
    let listed = "Claims of the papers that hold under qfq limit 50 as well: 1\n  plans plan: Round robin shares evenly.\n";
    assert!(
        text(&output.stderr).contains(listed),
        "{}",
        text(&output.stderr)
    );
}

/// Even with --fresh, and if the full record is of an older plan or older code.
#[test]
fn a_quick_run_leaves_a_full_record_alone() {
    let folder = Folder::new("full-stays");
    let pages = folder.path("pages");
    let record = || fs::read_to_string(folder.path("pages/records/plans/plan.json")).unwrap();
    let full = folder.run(&["--full", "--pages", &pages]);
    assert!(full.status.success(), "{}", text(&full.stderr));
    let today = record();
    for key in ["version", "behaviour", "plan"] {
        let mut older: Value = serde_json::from_str(&today).unwrap();
        older[key] = "another".into();
        let older = older.to_string();
        fs::write(folder.path("pages/records/plans/plan.json"), &older).unwrap();
        for fresh in [&[][..], &["--fresh"]] {
            let quick = folder.run(&[&["--pages", &*pages], fresh].concat());
            let message = text(&quick.stderr);
            assert_eq!(quick.status.code(), Some(1), "{key} {fresh:?}: {message}");
            assert!(message.contains("there is a full record"), "{message}");
            assert!(record() == older, "{key} {fresh:?}");
        }
    }
}

/// A full record of older code stays until another one has all seeds.
#[test]
fn a_full_record_of_older_code_stays_until_it_is_made_again() {
    let folder = Folder::new("older-stays");
    let pages = folder.path("pages");
    let file = folder.path("pages/records/plans/plan.json");
    let full = |options: &[&str]| folder.run(&[&["--full", "--pages", &*pages], options].concat());
    assert!(full(&[]).status.success());
    let mut older: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    older["behaviour"] = "another".into();
    let older = older.to_string();
    fs::write(&file, &older).unwrap();
    let other = folder.path("other");
    let plan = folder.path("plan.toml");
    let words = ["--full", "--budget", "0s", "--pages", &*pages];
    let left = papers(&[&words[..], &[&*plan, "--cache", &*other]].concat());
    assert!(left.status.success());
    let told = "plans plan: 0 of 3 runs are done";
    assert!(text(&left.stderr).contains(told), "{}", text(&left.stderr));
    assert!(fs::read_to_string(&file).unwrap() == older);
    assert!(
        full(&["--budget", "0s"]).status.success(),
        "all runs are in this cache"
    );
    assert!(fs::read_to_string(&file).unwrap() != older);
}

#[test]
fn a_check_without_time_for_a_run_fails() {
    let folder = Folder::new("no-time");
    let output = folder.run(&["--budget", "0s", "--check", "--fresh"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let told = "plans plan: 0 of 3 runs are done, and no time was left";
    assert!(
        text(&output.stderr).contains(told),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_second_run_comes_from_the_cache_and_gives_the_same() {
    let folder = Folder::new("cache");
    let json = |output: Output| -> Value { serde_json::from_slice(&output.stdout).unwrap() };
    let first = json(folder.run(&["--json"]));
    crate::json::check(&first.to_string(), "papers");
    let lines = fs::read_to_string(folder.path("cache/plans.jsonl"))
        .unwrap()
        .lines()
        .filter(|line| !line.is_empty())
        .count();
    let second = json(folder.run(&["--json"]));
    assert_eq!(lines, 3, "a line a seed");
    assert_eq!(
        first["items"][0]["record"]["variations"],
        second["items"][0]["record"]["variations"]
    );
    assert_eq!(
        first["items"][0]["record"]["seconds"], second["items"][0]["record"]["seconds"],
        "seconds are those of the runs, not of reading them"
    );
    assert_eq!(first["items"][0]["claims"][0]["verdict"], "holds");
}

#[test]
fn rows_and_drawings_are_written() {
    let folder = Folder::new("files");
    let (rows, drawing, page) = (
        folder.path("rows.parquet"),
        folder.path("chart.svg"),
        folder.path("page.html"),
    );
    assert!(
        folder
            .run(&["--parquet", &rows, "--svg", &drawing, "--html", &page])
            .status
            .success()
    );
    assert!(
        fs::read_to_string(page)
            .unwrap()
            .contains("Round robin shares evenly.")
    );
    assert!(
        fs::read_to_string(drawing)
            .unwrap()
            .contains("Throughput by rank")
    );
    let reader =
        parquet::file::reader::SerializedFileReader::try_from(&*PathBuf::from(rows)).unwrap();
    let metadata = parquet::file::reader::FileReader::metadata(&reader);
    let names: Vec<_> = metadata
        .file_metadata()
        .schema_descr()
        .columns()
        .iter()
        .map(|column| column.name().to_owned())
        .collect();
    assert_eq!(names, ["variation", "figure", "x", "seed", "value"]);
    assert!(
        metadata.file_metadata().num_rows() > 60,
        "ten ranks and ten flows with three seeds, and more"
    );
}

#[test]
fn what_is_wrong_is_said_with_what_is_legal() {
    let folder = Folder::new("errors");
    for (arguments, status, expected) in [
        (
            &["qfqq"][..],
            2,
            "no paper is called 'qfqq' (did you mean 'qfq'?): ",
        ),
        (&["nothing"], 2, "no paper is called 'nothing': "),
        (
            &["qfq", "tabel-2"],
            2,
            "no item of qfq is called 'tabel-2' (did you mean 'table-2'?): ",
        ),
        (
            &["ups", "table", "1"],
            2,
            "no item of ups is called 'table 1' (did you mean 'table-1'?): ",
        ),
        (
            &["ups", "figure", "4"],
            2,
            "no item of ups is called 'figure 4' (did you mean 'figure-4'?): ",
        ),
        (
            &["mqfq", "theorem-1"],
            2,
            "no item of mqfq is called 'theorem-1': figure-1, figure-2, ",
        ),
        (
            &["all", "figure4"],
            2,
            "no item is called 'figure4' (did you mean 'figure-4'?): ",
        ),
        (
            &["no-such-plan.toml"],
            2,
            "there is no such file; expected a plan",
        ),
        (
            &["all", "--parquet", "x.parquet"],
            2,
            "--parquet tells of one item, not of ",
        ),
        (&["qfq", "table-2", "--instead", "fiffo"], 2, "fiffo"),
        (
            &["qfq", "table-2", "--seeds", "8..5"],
            2,
            "or the first and the last of them as in 5..8",
        ),
        (
            &["qfq", "table-2", "--budget", "30"],
            2,
            "as in 90s, 30min or 2h",
        ),
    ] {
        let output = papers(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        assert!(
            text(&output.stderr).contains(expected),
            "{}",
            text(&output.stderr)
        );
    }
    let plan = folder.path("plan.toml");
    let output = folder.run(&["--html", &plan]);
    assert!(
        output.status.code() == Some(2) && fs::read_to_string(&plan).unwrap() == PLAN,
        "a plan is not written over"
    );
    fs::write(
        &plan,
        PLAN.replace(
            "over = \"DRR: most, kbit/s\"",
            "over = \"DRR: mots, kbit/s\"",
        ),
    )
    .unwrap();
    let output = folder.run(&[]);
    assert!(
        output.status.code() == Some(1)
            && text(&output.stderr).contains("DRR: mots, kbit/s was not measured"),
        "{}",
        text(&output.stderr)
    );
}

/// Formerly, an error in a plan's scenario appeared after the start of the run, without the line of
/// the plan, and with exit status 1.
#[test]
fn an_error_in_a_plan_has_its_file_and_line() {
    let folder = Folder::new("lines");
    let plan = folder.path("plan.toml");
    for (from, to, line, expected) in [
        (
            "drr limit",
            "drrr limit",
            9,
            "columns.DRR: no discipline is called 'drrr'",
        ),
        ("pairs = 10", "pears = 10", 12, "unknown field `pears`"),
        ("seeds = 3", "seeds = 30000", 8, "legal range 1 to 10000"),
        (
            "rate = \"1mbit\"",
            "rate = \"1\"",
            13,
            "'1' has no unit: expected a rate",
        ),
        ("kind = \"cbr\"", "kind = \"cbs\"", 13, "cbs"),
    ] {
        fs::write(&plan, PLAN.replace(from, to)).unwrap();
        let output = folder.run(&[]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(&format!("plan.toml:{line}: ")) && message.contains(expected),
            "{message}"
        );
    }
}

#[test]
fn what_cannot_be_drawn_or_written_is_told_before_a_run() {
    let folder = Folder::new("places");
    let drawing = folder.path("drawing.svg");
    let output = papers(&[
        "qfq",
        "theorem-1",
        "--svg",
        &drawing,
        "--cache",
        &folder.path("cache"),
    ]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains(
            "Theorem 1 has no chart; these of qfq have one: section-5, table-4, figure-10"
        ),
        "{message}"
    );
    assert!(
        !PathBuf::from(folder.path("cache")).exists(),
        "nothing was run"
    );
    for option in ["--html", "--svg", "--parquet"] {
        let output = folder.run(&[option, "-"]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(&format!(
                "{option} -: standard output is for the table; expected a file"
            )),
            "{message}"
        );
    }
}

/// Regression: an unwritable path was told after the runs, which were in the cache then.
#[test]
fn outputs_are_tried_before_the_first_run() {
    let folder = Folder::new("tried");
    for option in ["--parquet", "--svg", "--html"] {
        let output = folder.run(&[option, &folder.path("no-such-folder/file")]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(
            message.contains("no-such-folder/file: cannot create: there is no folder")
                && output.stdout.is_empty(),
            "{message}"
        );
    }
    let output = folder.run(&["--pages", &folder.path("plan.toml")]);
    assert!(
        output.status.code() == Some(1) && output.stdout.is_empty(),
        "{}",
        text(&output.stderr)
    );
    let output = folder.run(&["--pages", "-"]);
    assert!(
        text(&output.stderr)
            .contains("--pages -: standard output is for the table; expected a folder"),
        "{}",
        text(&output.stderr)
    );
    assert!(!folder.0.join("cache").exists(), "nothing ran");
}

/// Regression: `--html` wrote over a plan's topology file, and over a page of `--pages`.
#[test]
fn no_output_is_an_input_of_the_plan_or_a_page() {
    let folder = Folder::new("inputs");
    let (map, plan) = (folder.path("map.gml"), folder.path("plan.toml"));
    let refused = |option: &str, path: &str, expected: &str| {
        let output = folder.run(&[option, path, "--pages", &folder.path("pages")]);
        let message = text(&output.stderr);
        assert!(
            output.status.code() == Some(2) && message.contains(expected),
            "{message}"
        );
    };
    refused(
        "--html",
        &folder.path("pages/index.md"),
        "--html would write into the folder of --pages",
    );
    refused(
        "--svg",
        &folder.path("pages/new/chart.svg"),
        "--svg would write into the folder of --pages",
    );
    let cities = include_str!("../../../examples/scenarios/cities.gml");
    fs::write(&map, cities).unwrap();
    let topology = format!("topology = {{ file = '{map}' }}");
    let own = PLAN
        .replace(
            "topology = { template = \"dumbbell\", pairs = 10 }",
            &topology,
        )
        .replace(
            "\"s*\", to = \"r*\"",
            "\"host*\", to = \"host*\", pairs = \"all\"",
        );
    fs::write(&plan, own).unwrap();
    refused(
        "--html",
        &map,
        "map.gml: both a file of the plan's scenario and --html; expected a file each",
    );
    assert_eq!(fs::read_to_string(&map).unwrap(), cities);
    let (other, run) = (folder.path("other.toml"), PLAN.find("[run]").unwrap());
    fs::write(&other, PLAN).unwrap();
    fs::write(
        &plan,
        format!(
            "{}like = 'other'\n{}",
            &PLAN[..run],
            &PLAN[PLAN.find("[[published]]").unwrap()..]
        ),
    )
    .unwrap();
    refused(
        "--parquet",
        &other,
        "other.toml: both the plan that it is like and --parquet",
    );
}

/// Formerly `--check` took a plan with its value and an open value swapped for the same: both
/// verdicts were 'holds if'.
#[test]
fn a_swapped_open_value_fails_the_check() {
    let folder = Folder::new("swapped");
    let conditional = PLAN.replace(
        "from = 0.7 }]\nexpect = \"holds\"",
        "from = 0.7 }]\nbecause = \"a queue takes packets in order\"\nexpect = \"holds, but not if\"",
    ) + "[[open]]\nparameter = \"columns.DRR\"\nvalues = [\"fifo limit 50\"]\nsays = \"The discipline.\"\n";
    fs::write(folder.path("plan.toml"), &conditional).unwrap();
    let output = folder.run(&["--check"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (drr, fifo) = ("\"drr limit 50\"", "\"fifo limit 50\"");
    let swapped = conditional
        .replace(drr, "\"\"")
        .replace(fifo, drr)
        .replace("\"\"", fifo);
    fs::write(folder.path("plan.toml"), swapped).unwrap();
    let output = folder.run(&["--check"]);
    let message = text(&output.stderr);
    assert!(
        output.status.code() == Some(1)
            && message.contains(
                "expected 'holds, but not if', now fails as the plan stands, holds with columns.DRR = drr limit 50"
            ),
        "{message}"
    );
}

/// Runs on record are kept, whichever command made them; a record tells how many it lacks.
#[test]
fn a_record_is_made_by_several_commands() {
    let folder = Folder::new("parts");
    let pages = folder.path("pages");
    let full = |options: &[&str]| {
        let output = folder.run(&[&["--full", "--fresh", "--pages", &*pages], options].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    let record = || -> Value {
        let json = fs::read_to_string(folder.path("pages/records/plans/plan.json")).unwrap();
        serde_json::from_str(&json).unwrap()
    };
    full(&["--seeds", "2..2"]);
    assert_eq!(record()["seeds"], serde_json::json!([2]));
    // --fresh makes the record anew; without it, the record's runs stay.
    let more = |options: &[&str]| {
        let output = folder.run(&[&["--full", "--pages", &*pages], options].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    assert!(more(&["--seeds", "1"]).contains("undecided (2 runs)"));
    assert_eq!(record()["seeds"], serde_json::json!([1, 2]));
    assert!(
        more(&["--budget", "0s"]).contains("undecided (2 runs)"),
        "no time for a third"
    );
    assert!(more(&["--budget", "1h"]).contains("    holds\n"));
    let whole = record();
    assert_eq!(whole["seeds"], serde_json::json!([1, 2, 3]));
    full(&[]);
    assert_eq!(record()["variations"], whole["variations"]);
}

/// Formerly a search, a worked example or a run of AFQ's decisions was never older than the code.
#[test]
fn a_record_of_another_version_or_plan_fails_the_check() {
    let folder = Folder::new("versions");
    let pages = folder.path("pages");
    let file = folder.path("pages/records/afq/section-3-3.json");
    let item = |options: &[&str]| {
        let words = ["afq", "section-3-3", "--full", "--pages", &pages];
        let output = papers(&[&words, options].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    let check = || papers(&["--check", "--pages", &pages]);
    let read = || -> Value { serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap() };
    let write = |record: &Value| fs::write(&file, record.to_string()).unwrap();
    item(&["--fresh"]);
    let record = read();
    assert!(record["experiment"].is_string() && record["behaviour"].is_null());
    assert!(check().status.success(), "{}", text(&check().stderr));
    let again =
        format!("'roundelay papers afq section-3-3 --full --pages {pages}' records it again");
    for (key, why, mark) in [
        ("experiment", "with older code", "(older code)"),
        ("plan", "for an older plan", "recorded for an older plan"),
    ] {
        let mut other = record.clone();
        other[key] = "0123456789abcdef".into();
        write(&other);
        let output = check();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        let told = format!(
            "1 problem of the records in {pages}\n  afq section-3-3: recorded {why}; {again}"
        );
        assert!(message.contains(&told), "{message}");
        let page = fs::read_to_string(folder.path("pages/afq.md")).unwrap();
        assert!(page.contains(mark), "{page}");
        item(&[]);
        assert_eq!(read()["variations"], record["variations"]);
        assert!(check().status.success(), "recorded again");
    }
}

/// A record from before the versions of experiments is examined by one run.
#[test]
fn a_record_without_a_version_gets_one_if_a_run_agrees() {
    let folder = Folder::new("unversioned");
    let pages = folder.path("pages");
    let file = folder.path("pages/records/afq/section-3-3.json");
    let words = ["afq", "section-3-3", "--full", "--pages", &pages];
    let item = || {
        let output = papers(&[&words[..], &["--cache", &folder.path("cache")]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let json = fs::read_to_string(&file).unwrap();
        serde_json::from_str::<Value>(&json).unwrap()
    };
    let record = item();
    let mut before = record.clone();
    before.as_object_mut().unwrap().remove("experiment");
    // Told by the seconds: those of a record that is kept.
    before["seconds"] = 77.0.into();
    fs::write(&file, before.to_string()).unwrap();
    let output = papers(&["--check", "--pages", &pages]);
    let message = text(&output.stderr);
    assert!(
        output.status.success()
            && message.contains("1 record may be older than its experiment")
            && message.ends_with("\n  roundelay papers afq section-3-3 --full\n"),
        "{message}"
    );
    let kept = item();
    assert_eq!(kept["experiment"], record["experiment"]);
    assert_eq!(kept["seconds"], 77.0);
    let figures = before["variations"][0]["curves"].as_object_mut().unwrap();
    for points in figures.values_mut() {
        points[0][1][0] = 9.0.into();
    }
    fs::write(&file, before.to_string()).unwrap();
    let anew = item();
    assert_eq!(anew["variations"], record["variations"]);
    assert_ne!(anew["seconds"], 77.0);
}

/// A plan's faults are run, and a claim that keeps its verdict under a fault is told.
#[test]
fn planted_faults_are_noticed_or_told() {
    let folder = Folder::new("faults");
    let fault = "[[fault]]\nname = \"one queue\"\nnoticed = [\"Round robin shares evenly.\"]\n";
    let wrong = format!("{PLAN}{fault}instead = \"fifo limit 50\"\n");
    fs::write(folder.path("plan.toml"), &wrong).unwrap();
    let output = folder.run(&["--faults"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    assert!(
        report.contains("notices: Round robin shares evenly.")
            && report.ends_with("The planted fault is noticed.\n"),
        "{report}"
    );
    let right = wrong.replace("\"fifo limit 50\"", "\"drr limit 40\"");
    fs::write(folder.path("plan.toml"), right).unwrap();
    let output = folder.run(&["--faults"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("MISSES IT: Round robin"));
    assert!(text(&output.stderr).contains("'one queue' by 'Round robin shares evenly.'"));
    let page = folder.path("page.html");
    assert!(folder.run(&["--html", &page]).status.success());
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains("Which wrong discipline would be noticed?"),
        "{page}"
    );
}

/// Formerly one run was exact, and `--seeds 2` told the number of runs of the plan.
#[test]
fn fewer_than_three_runs_decide_nothing_and_tell_their_number() {
    let folder = Folder::new("few");
    for (seeds, words) in [("1", "undecided (1 run)"), ("2", "undecided (2 runs)")] {
        let output = folder.run(&["--seeds", seeds, "--check"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let report = text(&output.stdout);
        assert!(report.contains(&format!("    {words}\n")), "{report}");
        assert!(
            report.contains("but for 1 that these runs leave undecided"),
            "{report}"
        );
    }
    let three = folder.run(&["--seeds", "3"]);
    assert!(text(&three.stdout).contains("    holds\n"));
}

#[test]
fn our_own_claims_are_apart_in_json_and_text() {
    let folder = Folder::new("ours");
    let ours = PLAN.replace("expect =", "ours = true\nexpect =");
    fs::write(folder.path("plan.toml"), ours).unwrap();
    let json: Value = serde_json::from_slice(&folder.run(&["--json"]).stdout).unwrap();
    assert_eq!(json["items"][0]["claims"][0]["ours"], true);
    let report = folder.run(&[]).stdout;
    assert!(text(&report).contains("Round robin shares evenly. (ours)\n"));
}

/// Reasons in a plan explain the verdict on the examined discipline; they are left out for a
/// replacement.
#[test]
fn reasons_are_of_the_discipline_examined() {
    let folder = Folder::new("reasons");
    let failing = PLAN.replace(
        "from = 0.7 }]\nexpect = \"holds\"",
        "from = 1.7 }]\nbecause = \"rounds are short\"\nexpect = \"does not hold\"",
    );
    fs::write(folder.path("plan.toml"), failing).unwrap();
    let own = folder.run(&[]);
    assert!(
        text(&own.stdout).contains("does not hold: rounds are short"),
        "{}",
        text(&own.stdout)
    );
    let planted = folder.run(&["--instead", "fifo limit 50"]);
    assert!(
        text(&planted.stdout).contains("    does not hold\n"),
        "{}",
        text(&planted.stdout)
    );
}

/// Regression: without a home folder, whoever was first to make the cache in `/tmp` chose its results.
#[cfg(target_os = "linux")]
#[test]
fn without_a_home_the_cache_is_in_a_folder_that_others_cannot_have_made() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    let folder = Folder::new("homeless");
    let user = fs::metadata(&folder.0).unwrap().uid();
    let own = folder.0.join(format!("roundelay-{user}"));
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
        command.args(["papers", &folder.path("plan.toml")]);
        command.env_remove("HOME").env_remove("XDG_CACHE_HOME");
        let output = command.env("TMPDIR", &folder.0).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr).to_owned()
    };
    let cached = || fs::read_dir(own.join("papers")).map_or(0, Iterator::count);
    assert_eq!(run(), "");
    assert_eq!(fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
    assert_eq!(cached(), 2, "runs and a lock");
    assert_eq!(run(), "");

    let expected =
        format!("expected a folder of user {user} with mode 0700; remove it, or set HOME");
    let refused = |message: &str| {
        assert!(message.contains(&expected), "{message}");
        assert!(message.contains("going on without a cache"), "{message}");
    };
    fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).unwrap();
    refused(&run());
    let moved = folder.0.join("others");
    fs::rename(&own, &moved).unwrap();
    fs::set_permissions(&moved, fs::Permissions::from_mode(0o700)).unwrap();
    symlink(&moved, &own).unwrap();
    refused(&run());
}
