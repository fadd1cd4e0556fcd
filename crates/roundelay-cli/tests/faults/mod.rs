//! Faults by the loop, as SQLite is tested: the n-th write, sync, rename, allocation or start of a
//! thread fails, for n = 1 to the last. Whatever fails, the status and the message are right, files
//! are whole or as they were, nothing is left over, and what was said to be done is not lost.
//!
//! Needs Linux with glibc and a C compiler; prints a reason where one is missing.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter::successors;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use roundelay_report::{SweepFile, SweepRow, SweepRuns, unsealed};
use serde_json::Value;

const SCENARIO: &str = "duration = '50ms'
[topology]
template = 'dumbbell'
pairs = 1
rate = '1mbit'
[[source]]
name = 'calls'
kind = 'cbr'
from = 's0'
to = 'r0'
rate = '500kbit'
packet_len = 200
";

/// A scenario with an objective.
const OBJECTIVE: &str = include_str!("objective.toml");

/// A paper's plan with one experiment of a few milliseconds.
const PLAN: &str = include_str!("plan.toml");

/// Calls that fail, and the words of their errors.
const CALLS: [(&str, &str); 4] = [
    ("write", "No space left on device (os error 28)"),
    ("sync", "Input/output error (os error 5)"),
    ("rename", "Input/output error (os error 5)"),
    ("thread", "Resource temporarily unavailable (os error 11)"),
];

/// Files by path.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A folder for one test with the preloaded library, deleted on drop.
struct Lab(PathBuf);

impl Drop for Lab {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

impl Lab {
    /// None without a C compiler.
    fn new(name: &str) -> Option<Self> {
        let folder =
            std::env::temp_dir().join(format!("roundelay-faults-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("s.toml"), SCENARIO).unwrap();
        fs::write(folder.join("plan.toml"), PLAN).unwrap();
        fs::write(folder.join("objective.toml"), OBJECTIVE).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/fail.c");
        let built = Command::new("cc")
            .args([
                "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o",
            ])
            .arg(folder.join("fail.so"))
            .arg(source)
            .arg("-ldl")
            .output();
        match built {
            Err(error) => {
                println!("not run: no C compiler `cc`: {error}");
                None
            }
            Ok(output) => {
                let message = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{message}");
                Some(Self(folder))
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Runs the command in the folder `out`. With a fault, also tells whether a call has failed.
    fn run(&self, arguments: &[&str], fault: Option<&Fault>) -> (Output, bool) {
        let mark = self.path("mark");
        drop(fs::remove_file(&mark));
        // `env` sets the library for the command alone, and `timeout` ends one that hangs.
        let mut command = Command::new("timeout");
        command.args(["120", "env"]);
        if let Some(Fault {
            call,
            number,
            lasts,
        }) = fault
        {
            command.arg(format!("LD_PRELOAD={}", self.path("fail.so").display()));
            command.arg(format!("FAIL_MARK={}", mark.display()));
            command.args([format!("FAIL_CALL={call}"), format!("FAIL_NUMBER={number}")]);
            command.args(lasts.then_some("FAIL_LASTS=1"));
        }
        let out = self.path("out");
        fs::create_dir_all(&out).unwrap();
        command
            .arg(env!("CARGO_BIN_EXE_roundelay"))
            .args(arguments)
            .current_dir(out);
        (command.output().unwrap(), mark.exists())
    }

    /// All files in the folder `out`.
    fn files(&self) -> Files {
        let mut all = Files::new();
        add(&self.path("out"), &mut all);
        all
    }

    fn clear(&self) {
        drop(fs::remove_dir_all(self.path("out")));
    }
}

fn add(folder: &Path, all: &mut Files) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add(&path, all);
        } else {
            all.insert(path.clone(), fs::read(path).unwrap());
        }
    }
}

#[derive(Debug)]
struct Fault {
    call: &'static str,
    number: u32,
    /// All later calls fail too, as on a disk that stays full.
    lasts: bool,
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs with every fault of every kind. `check` gets the fault, and the output of the run in which
/// it happened.
fn all_faults(lab: &Lab, arguments: &[&str], check: impl Fn(&Fault, &Output)) -> u32 {
    let mut faults = 0;
    for (call, words) in CALLS {
        for lasts in [false, true] {
            for number in 1.. {
                let fault = Fault {
                    call,
                    number,
                    lasts,
                };
                // What a run leaves would make the next do less.
                lab.clear();
                let (output, has_failed) = lab.run(arguments, Some(&fault));
                if !has_failed {
                    break;
                }
                faults += 1;
                let message = message(&output);
                match output.status.code() {
                    // The thread that waits for signals.
                    Some(0) => assert_eq!(call, "thread", "{fault:?}: {message}"),
                    status => {
                        assert_eq!(status, Some(1), "{fault:?}: {message}");
                        assert!(
                            message.starts_with("roundelay: ") && message.contains(words),
                            "{fault:?}: {message}"
                        );
                    }
                }
                check(&fault, &output);
            }
        }
    }
    faults
}

/// Files are whole or absent: those of a run without faults, or none.
fn check_files(fault: &Fault, found: &Files, whole: &Files, is_done: bool) {
    for (path, bytes) in found {
        let name = path.display();
        let expected = whole.get(path);
        assert!(expected.is_some(), "{fault:?}: {name} is left over");
        assert!(expected == Some(bytes), "{fault:?}: {name} is not whole");
    }
    if is_done {
        assert_eq!(found.len(), whole.len(), "{fault:?}: a file is missing");
    }
}

#[test]
fn every_output_is_whole_or_absent_whatever_fails() {
    let Some(lab) = Lab::new("outputs") else {
        return;
    };
    let arguments = "simulate ../s.toml -q --threads 1 --html a.html --log a.log --pcapng a.pcapng \
                     --markdown a.md --csv csv --parquet parquet --packets";
    let arguments: Vec<_> = arguments.split_whitespace().collect();
    let (output, _) = lab.run(&arguments, None);
    assert!(output.status.success(), "{}", message(&output));
    let whole = lab.files();
    assert_eq!(whole.len(), 10);
    lab.clear();
    let faults = all_faults(&lab, &arguments, |fault, output| {
        check_files(fault, &lab.files(), &whole, output.status.success());
        lab.clear();
    });
    assert!(faults > 100, "only {faults} faults");
}

/// Regression: the page was emptied before it was written, so a full disk left half of it.
#[test]
fn a_page_of_a_live_run_is_whole_or_as_it_was() {
    let Some(lab) = Lab::new("live-page") else {
        return;
    };
    let (trial, _) = lab.run(&["live", "--rate", "1mbit", "-q", "--", "true"], None);
    if !trial.status.success() {
        println!("not run: {}", message(&trial));
        return;
    }
    let arguments = [
        "live", "--rate", "1mbit", "-q", "--html", "a.html", "--", "true",
    ];
    let old = b"a page of yesterday".to_vec();
    let mut faults = 0;
    for call in ["write", "sync", "rename"] {
        for has_old in [true, false] {
            for number in 1.. {
                lab.clear();
                fs::create_dir_all(lab.path("out")).unwrap();
                if has_old {
                    fs::write(lab.path("out/a.html"), &old).unwrap();
                }
                let fault = Fault {
                    call,
                    number,
                    lasts: true,
                };
                let (output, has_failed) = lab.run(&arguments, Some(&fault));
                if !has_failed {
                    break;
                }
                faults += 1;
                let told = message(&output);
                let files = lab.files();
                let page = files.get(&lab.path("out/a.html"));
                let is_whole = page.is_some_and(|page| page.trim_ascii_end().ends_with(b"</html>"));
                let is_as_before = page == has_old.then_some(&old);
                assert!(is_whole || is_as_before, "{fault:?}: {told}");
                assert!(files.len() <= 1, "{fault:?}: {:?}", files.keys());
                assert_eq!(output.status.code(), Some(1), "{fault:?}: {told}");
            }
        }
    }
    assert!(faults >= 6, "only {faults} faults");
}

/// Runs a command that writes pages and tables with every fault of every kind. Of its files, only
/// these count whose bytes `comparable` gives.
fn pages_are_whole_or_absent(
    name: &str,
    arguments: &str,
    comparable: impl Fn(&Path, Vec<u8>) -> Option<Vec<u8>>,
) {
    let Some(lab) = Lab::new(name) else {
        return;
    };
    // Packets of the scenario, for `compare`.
    let capture = ["simulate", "../s.toml", "-q", "--pcapng", "../calls.pcapng"];
    assert!(lab.run(&capture, None).0.status.success());
    let arguments: Vec<_> = arguments.split_whitespace().collect();
    let pages = || {
        let mut pages = Files::new();
        for (path, bytes) in lab.files() {
            let bytes = comparable(&path, bytes);
            pages.extend(bytes.map(|bytes| (path, bytes)));
        }
        pages
    };
    let run = || {
        lab.clear();
        let (output, _) = lab.run(&arguments, None);
        assert!(output.status.success(), "{name}: {}", message(&output));
        pages()
    };
    run();
    let whole = run();
    assert!(!whole.is_empty());
    let faults = all_faults(&lab, &arguments, |fault, output| {
        check_files(fault, &pages(), &whole, output.status.success());
    });
    assert!(faults > 10, "{name}: only {faults} faults");
}

/// All files count, to the byte.
fn as_written(_path: &Path, bytes: Vec<u8>) -> Option<Vec<u8>> {
    Some(bytes)
}

#[test]
fn pages_of_a_comparison_are_whole_or_absent() {
    let arguments = "compare ../calls.pcapng fifo fq_codel --rate 1mbit --no-cost -q --threads 2 \
                     --html a.html --csv csv --parquet parquet";
    pages_are_whole_or_absent("compare", arguments, as_written);
}

#[test]
fn pages_of_a_replay_are_whole_or_absent() {
    let arguments = "replay ../s.toml -q --html a.html --markdown a.md --parquet parquet";
    pages_are_whole_or_absent("replay", arguments, as_written);
}

#[test]
fn a_page_of_a_sweep_is_whole_or_absent() {
    let arguments =
        "sweep ../s.toml topology.rate=1mbit,2mbit -q --threads 2 --out d --html a.html";
    // The dataset has a test of its own.
    let page = |path: &Path, bytes| path.ends_with("a.html").then_some(bytes);
    pages_are_whole_or_absent("sweep-page", arguments, page);
}

#[test]
fn pages_of_several_runs_are_whole_or_absent() {
    let arguments = "simulate ../s.toml -q --threads 2 --replicas 3 --html a.html --csv csv \
                     --parquet parquet";
    pages_are_whole_or_absent("replicas", arguments, as_written);
}

#[test]
#[ignore = "a minute of processor time: make test-full"]
fn pages_of_papers_and_objectives_are_whole_or_absent() {
    // The cache has a test of its own.
    let papers = "papers ../plan.toml --threads 2 --cache ../cache --html a.html --markdown a.md \
                  --parquet a.parquet";
    pages_are_whole_or_absent("papers", papers, without_figures);
    let objective = "objective ../objective.toml -q --replicas 2 --threads 2 --html a.html \
                     --markdown a.md";
    pages_are_whole_or_absent("objective", objective, without_figures);
}

/// Pages without their digits, because they tell measured times and memory. Parquet files have no
/// measured figures.
fn without_figures(path: &Path, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    if path.extension().is_none_or(|end| end != "parquet") {
        bytes.retain(|byte| !byte.is_ascii_digit() && *byte != b'.');
    }
    Some(bytes)
}

/// A file has its name once its bytes are on disk, and the run is done once the name is there too.
#[test]
fn a_file_is_synced_and_then_its_folder() {
    let Some(lab) = Lab::new("syncs") else {
        return;
    };
    let arguments = ["simulate", "../s.toml", "-q", "--html", "a.html"];
    let (output, _) = lab.run(&arguments, None);
    assert!(output.status.success(), "{}", message(&output));
    let whole = lab.files();
    let run = |call, number| {
        lab.clear();
        let fault = Fault {
            call,
            number,
            lasts: false,
        };
        let (output, has_failed) = lab.run(&arguments, Some(&fault));
        let files = lab.files();
        check_files(&fault, &files, &whole, false);
        (has_failed, output.status.code(), files.len())
    };
    assert_eq!(run("sync", 1), (true, Some(1), 0), "the file");
    assert_eq!(run("sync", 2), (true, Some(1), 1), "its folder");
    assert_eq!(run("sync", 3), (false, Some(0), 1), "no more");
    let is_ignored = run("sync of a folder", 1);
    assert_eq!(is_ignored, (true, Some(0), 1), "a file system that cannot");
}

/// Runs of a point in a file of a sweep, which has all points or one.
fn points_in(path: &Path) -> Result<Vec<(String, Vec<SweepRow>)>, String> {
    let mut points = Vec::new();
    if path.ends_with("runs.parquet") {
        for point in SweepRuns::read(path)?.points {
            points.push((identity_in(&point.metadata), point.rows));
        }
    } else {
        let file = SweepFile::read(path)?;
        points.push((identity_in(&file.metadata), file.rows));
    }
    Ok(points)
}

fn identity_in(metadata: &[(String, String)]) -> String {
    let mut entries = metadata.iter();
    let entry = entries.find(|(key, _)| key == "roundelay.point");
    entry.expect("the point's identity").1.clone()
}

/// Whole lines of a journal or a cache.
fn lines_in(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().filter_map(unsealed);
    lines.map(|line| line.parse().unwrap()).collect()
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Runs of a sweep that are kept in its journals and its results, as point and seed. Rows of the
/// results must be among `rows`.
fn kept_runs(files: &Files, rows: &[SweepRow]) -> Result<BTreeSet<(String, u64)>, String> {
    let mut kept = BTreeSet::new();
    for (path, bytes) in files {
        if has_extension(path, "parquet") {
            for (point, read) in points_in(path)? {
                for row in read {
                    if !rows.contains(&row) {
                        return Err(format!("{}: another row", path.display()));
                    }
                    kept.insert((point.clone(), row.seed));
                }
            }
        }
        if has_extension(path, "jsonl") {
            for run in lines_in(bytes) {
                let point = run["point"].as_str().unwrap().to_owned();
                kept.insert((point, run["seed"].as_u64().unwrap()));
            }
        }
    }
    Ok(kept)
}

/// The number before a word in a sweep's summary, such as `4 runs: 3 cached, 1 done, 0 failed`.
fn number_of(word: &str, output: &Output) -> usize {
    let text = String::from_utf8_lossy(&output.stdout);
    let words: Vec<_> = text.split([' ', ',', '\n']).collect();
    let place = words.iter().position(|found| *found == word);
    let place = place.unwrap_or_else(|| panic!("no {word}: {text}"));
    words[place - 1].parse().unwrap()
}

/// The next sweep finds all runs in the journal and the results of a sweep that failed, runs the
/// others, and the dataset becomes the same as without the fault.
#[test]
fn a_sweep_loses_no_run_and_ends_in_the_same_dataset_whatever_fails() {
    let Some(lab) = Lab::new("sweep") else {
        return;
    };
    let arguments = "sweep ../s.toml topology.rate=1mbit,2mbit --replicas 2 --threads 1 --out d";
    let arguments: Vec<_> = arguments.split_whitespace().collect();
    let (output, _) = lab.run(&arguments, None);
    assert!(output.status.success(), "{}", message(&output));
    let whole = lab.files();
    let is_result = |path: &&PathBuf| has_extension(path, "parquet");
    let results: Vec<_> = whole.keys().filter(is_result).collect();
    assert_eq!(results.len(), 1, "{results:?}");
    let points = points_in(results[0]).unwrap().into_iter();
    let rows: Vec<_> = points.flat_map(|(_, rows)| rows).collect();
    assert_eq!(rows.len(), 4, "two points with two seeds");
    lab.clear();
    let partly = Cell::new(0);
    let again = |fault: &Fault| {
        let kept = kept_runs(&lab.files(), &rows);
        let kept = kept.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        partly.set(partly.get() + u32::from((1..4).contains(&kept.len())));
        let (output, _) = lab.run(&arguments, None);
        assert!(output.status.success(), "{fault:?}: {}", message(&output));
        let found = [number_of("cached", &output), number_of("done", &output)];
        let expected = [kept.len(), 4 - kept.len()];
        assert_eq!(found, expected, "{fault:?}: runs cached and done");
        check_files(fault, &lab.files(), &whole, true);
        lab.clear();
    };
    let faults = all_faults(&lab, &arguments, |fault, output| {
        if output.status.success() {
            assert_eq!(number_of("done", output), 4, "{fault:?}");
            check_files(fault, &lab.files(), &whole, true);
        }
        again(fault);
    });
    assert!(faults > 10, "only {faults} faults");
    assert!(partly.get() > 4, "{} faults amid the runs", partly.get());
    // Before the journal is removed, all files of the file system are on disk.
    let fault = Fault {
        call: "syncfs",
        number: 1,
        lasts: false,
    };
    let (output, _) = lab.run(&arguments, Some(&fault));
    let message = message(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("Input/output error"), "{message}");
    let names: Vec<_> = lab.files().into_keys().collect();
    let has_journal = names.iter().any(|path| path.ends_with("runs.jsonl"));
    assert!(has_journal, "{names:?}");
    again(&fault);
}

/// The keys of the cached runs, in the file's order.
fn cached_keys(files: &Files) -> Vec<String> {
    let mut keys = Vec::new();
    for (path, bytes) in files {
        if has_extension(path, "jsonl") {
            for run in lines_in(bytes) {
                keys.push(run["key"].as_str().unwrap().to_owned());
            }
        }
    }
    keys
}

/// A run in the cache is the one that was run, and is not run again.
#[test]
fn the_cache_of_papers_has_whole_runs_whatever_fails() {
    let Some(lab) = Lab::new("cache") else {
        return;
    };
    let arguments = ["papers", "../plan.toml", "--cache", "cache"];
    let (output, _) = lab.run(&arguments, None);
    assert!(output.status.success(), "{}", message(&output));
    let report = output.stdout;
    let mut all = cached_keys(&lab.files());
    all.sort();
    assert_eq!(all.len(), 3, "a run for each seed");
    lab.clear();
    let partly = Cell::new(0);
    let faults = all_faults(&lab, &arguments, |fault, _| {
        let before = cached_keys(&lab.files());
        partly.set(partly.get() + u32::from((1..3).contains(&before.len())));
        let (output, _) = lab.run(&arguments, None);
        assert!(output.status.success(), "{fault:?}: {}", message(&output));
        assert_eq!(output.stdout, report, "{fault:?}");
        let mut after = cached_keys(&lab.files());
        assert!(after.starts_with(&before), "{fault:?}: {after:?}");
        // A lost run would have been run, and written, twice.
        after.sort();
        assert_eq!(after, all, "{fault:?}: {before:?} were cached");
        lab.clear();
    });
    assert!(faults > 2, "only {faults} faults");
    assert!(partly.get() > 0, "no fault amid the runs");
}

/// Whether memory failed where the program cannot answer. The C library ends the program itself if it
/// cannot register a thread's destructor. The standard library takes the memory of each `Thread` from
/// the system, beyond the command's allocator, and aborts without it. The command's own message
/// ends in status 1, so it says that the allocator was asked.
fn is_aborted(message: &str) -> bool {
    message.contains("Fatal glibc error")
        || message.contains("memory allocation of") && !message.contains("roundelay: out of memory")
}

/// Regression: a failed allocation could wait for ever for a lock that its own thread held.
#[test]
fn a_failed_allocation_ends_the_run_with_a_message_and_without_leftovers() {
    let Some(lab) = Lab::new("memory") else {
        return;
    };
    let arguments = "simulate ../s.toml -q --threads 1 --html a.html --log a.log --parquet parquet";
    let arguments: Vec<_> = arguments.split_whitespace().collect();
    let (output, _) = lab.run(&arguments, None);
    assert!(output.status.success(), "{}", message(&output));
    let whole = lab.files();
    lab.clear();
    let (mut faults, mut aborted) = (0, 0);
    // Every one of the first, which prepare, and then fewer: a run has thousands.
    let numbers = successors(Some(1), |number| Some(number + 1 + number / 30));
    for number in numbers {
        let fault = Fault {
            call: "allocation",
            number,
            lasts: number % 2 == 0,
        };
        let (output, has_failed) = lab.run(&arguments, Some(&fault));
        if !has_failed {
            break;
        }
        faults += 1;
        let message = message(&output);
        if is_aborted(&message) {
            // Nothing could tidy up, but files under their names are whole, and the next run removes
            // what is left.
            let mut found = lab.files();
            found.retain(|path, _| !has_extension(path, "partial"));
            check_files(&fault, &found, &whole, false);
            let (output, _) = lab.run(&arguments, None);
            assert!(output.status.success(), "{fault:?}: {output:?}");
            check_files(&fault, &lab.files(), &whole, true);
            lab.clear();
            aborted += 1;
            continue;
        }
        if !output.status.success() {
            assert_eq!(output.status.code(), Some(1), "{fault:?}: {message}");
            assert!(
                message.contains("out of memory") || message.contains("os error"),
                "{fault:?}: {message}"
            );
        }
        check_files(&fault, &lab.files(), &whole, output.status.success());
        lab.clear();
    }
    assert!(faults > 50, "only {faults} faults");
    // A run of a release program aborts at ten of its 10,772 allocations.
    assert!(aborted < 10, "{aborted} of {faults} runs aborted");
}
