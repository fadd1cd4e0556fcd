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

const SCRIPT: &str = "tc qdisc add dev eth0 root fq_codel\n";

/// A flow with a bound.
const FLOWS: &str = "[[flow]]
name = 'call'
weight = 2
max_packet_len = '512b'
rate = '1mbit'
burst = '1kb'
";

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

/// A command that writes, and how its files are judged.
struct Writer {
    /// Its arguments, in the folder `out`. Every output of every command stands in one of these.
    arguments: &'static str,
    /// Whether a file is whole, beside that of a run without faults.
    is_whole: fn(&[u8], &[u8]) -> bool,
    /// The start of files that have a test of their own.
    elsewhere: &'static str,
}

impl Writer {
    const fn new(arguments: &'static str, is_whole: fn(&[u8], &[u8]) -> bool) -> Self {
        Self {
            arguments,
            is_whole,
            elsewhere: "-",
        }
    }

    const fn except(mut self, elsewhere: &'static str) -> Self {
        self.elsewhere = elsewhere;
        self
    }
}

/// All outputs of all commands. Files lie beside the folder `out`: see [`Lab::new`] and
/// [`prepared`].
const WRITERS: [Writer; 32] = [
    Writer::new(
        "compare ../calls.pcapng fifo fq_codel --rate 1mbit --no-cost -q --threads 2 --html a.html \
         --markdown a.md --csv csv --parquet parquet",
        is_equal,
    ),
    Writer::new("compare ../calls.pcapng fifo --rate 1mbit --no-cost -q --json", is_equal),
    Writer::new("applications ../calls.pcapng", is_equal),
    Writer::new(
        "simulate ../s.toml -q --threads 1 --html a.html --log a.log --pcapng a.pcapng \
         --markdown a.md --csv csv --parquet parquet --packets",
        is_equal,
    ),
    Writer::new(
        "simulate ../s.toml -q --threads 2 --replicas 3 --html a.html --csv csv --parquet parquet",
        is_equal,
    ),
    Writer::new("simulate ../s.toml -q --json", is_equal),
    Writer::new("simulate --schema", is_equal),
    Writer::new("simulate --template dumbbell", is_equal),
    Writer::new("simulate ../s.toml --dry-run", is_equal),
    Writer::new(
        "sweep ../s.toml topology.rate=1mbit,2mbit -q --threads 2 --out d --html a.html --json",
        is_equal,
    )
    .except("d"),
    Writer::new(
        "replay ../s.toml -q --html a.html --markdown a.md --parquet parquet",
        is_equal,
    ),
    Writer::new("replay ../s.toml -q --json", is_equal),
    Writer::new(
        "objective ../objective.toml -q --replicas 2 --threads 2 --html a.html --markdown a.md",
        is_equal_but_for_figures,
    ),
    Writer::new(
        "objective ../objective.toml -q --replicas 2 --threads 2 --json",
        is_equal_but_for_figures,
    ),
    Writer::new(
        "evaluate rfc7928 pie --sections 5.1.1 --quick --replicas 1 -q --threads 2 --out d \
         --html a.html --markdown a.md --json",
        is_equal,
    )
    .except("d"),
    Writer::new("verify ../calls.log", is_equal),
    Writer::new("verify ../calls.log --json", is_equal),
    Writer::new(
        "bench fifo --flows 8 --flows 16 --pairs 10 --rounds 1 --svg a.svg --save a.json --json",
        ends_alike,
    ),
    Writer::new(
        "papers ../plan.toml -q --threads 2 --cache cache --html a.html --markdown a.md --svg a.svg \
         --parquet a.parquet --json",
        is_equal_but_for_figures,
    )
    .except("cache"),
    Writer::new(
        "papers ../plan.toml -q --threads 2 --cache cache --pages pages",
        is_equal_but_for_figures,
    )
    .except("cache"),
    Writer::new("bounds ../flows.toml drr --rate 10mbit", is_equal),
    Writer::new("bounds ../flows.toml drr --rate 10mbit --json", is_equal),
    Writer::new("advise --down 64kbit --up 64kbit -q --json", is_equal),
    Writer::new("import ../script.sh", is_equal),
    Writer::new("import ../script.sh --json", is_equal),
    // A record is written while the run lasts, and replays as far as it goes.
    Writer::new(
        "live --rate 1mbit -q --html a.html --record a.pcapng --json -- true",
        is_page,
    )
    .except("a.pcapng"),
    Writer::new(
        "plot ../drawn.json --html a.html --markdown a.md --json",
        is_equal,
    ),
    Writer::new("list", is_equal),
    Writer::new("list --json", is_equal),
    Writer::new("help fifo", is_equal),
    Writer::new("man --out pages", is_equal),
    Writer::new("completions bash", is_equal),
];

/// Options with a path that is read.
const READ: [&str; 10] = [
    "against",
    "anonymise-key",
    "check",
    "link-trace",
    "link-trace-down",
    "link-trace-up",
    "on",
    "recorded",
    "tree",
    "weights",
];

fn is_equal(found: &[u8], whole: &[u8]) -> bool {
    found == whole
}

/// Whether two files differ in figures at most, because they tell measured times and memory. Charts
/// have another number of points then.
fn is_equal_but_for_figures(found: &[u8], whole: &[u8]) -> bool {
    let words = |bytes: &[u8]| {
        let mut words = bytes.to_vec();
        words.retain(|byte| !byte.is_ascii_digit() && *byte != b'.');
        words
    };
    // Parquet's files of a paper have no measured figures.
    found == whole || (!whole.starts_with(b"PAR1") && words(found) == words(whole))
}

/// Whether two files have the same end: measured times change a drawing's form.
fn ends_alike(found: &[u8], whole: &[u8]) -> bool {
    found.ends_with(&whole[whole.len() - 3..])
}

fn is_page(found: &[u8], _: &[u8]) -> bool {
    found.trim_ascii_end().ends_with(b"</html>")
}

/// The commands by name, as the help lists them.
fn commands(lab: &Lab) -> Vec<String> {
    let help = String::from_utf8(lab.run(&["--help"], None).0.stdout).unwrap();
    let all = help.split_once("Commands:").unwrap().1;
    let all = all.split_once("Options:").unwrap().0;
    let mut names = Vec::new();
    for line in all.lines() {
        let name = line.strip_prefix("  ").unwrap_or_default();
        if name.starts_with(|letter: char| letter.is_ascii_lowercase()) {
            names.push(name.split(' ').next().unwrap().to_owned());
        }
    }
    assert!(names.len() > 10, "{help}");
    names
}

/// The options of a command that say where or how results go: those with a path that is not read, and
/// those of the documented table, which is made of the commands' own lists.
fn outputs_of(command: &str) -> BTreeSet<String> {
    let page = include_str!("../../../../docs/simulator/outputs.md");
    let mut outputs = BTreeSet::new();
    for (option, takes) in roundelay_cli::call::options(command) {
        let is_written = takes == "path" && !READ.contains(&option.as_str());
        let row = format!("| `--{option}");
        let is_listed = page
            .lines()
            .any(|line| line.starts_with(&row) && line.contains(&format!("| `{command}` |")));
        if is_written || is_listed || option == "json" {
            outputs.insert(option);
        }
    }
    outputs
}

/// A new command or a new output has a row above, or this fails.
#[test]
fn every_output_of_every_command_has_a_row() {
    let Some(lab) = Lab::new("rows") else {
        return;
    };
    for command in commands(&lab) {
        let mut named = BTreeSet::new();
        let mut rows = 0;
        for writer in &WRITERS {
            let mut words = writer.arguments.split_whitespace();
            if words.next() == Some(command.as_str()) {
                rows += 1;
                named.extend(words.filter_map(|word| word.strip_prefix("--")));
            }
        }
        assert!(rows > 0, "{command}: not in the table of writers");
        let mut missing = outputs_of(&command);
        missing.retain(|option| !named.contains(option.as_str()));
        assert!(missing.is_empty(), "{command}: without a row: {missing:?}");
    }
}

/// Files that the commands of the table read.
fn prepared(name: &str) -> Option<Lab> {
    let lab = Lab::new(name)?;
    fs::write(lab.path("script.sh"), SCRIPT).unwrap();
    fs::write(lab.path("flows.toml"), FLOWS).unwrap();
    let made = "simulate ../s.toml -q --pcapng ../calls.pcapng --log ../calls.log";
    let made: Vec<_> = made.split_whitespace().collect();
    let (output, _) = lab.run(&made, None);
    assert!(output.status.success(), "{}", message(&output));
    let (output, _) = lab.run(&["simulate", "../s.toml", "-q", "--json"], None);
    assert!(output.status.success(), "{}", message(&output));
    fs::write(lab.path("drawn.json"), output.stdout).unwrap();
    Some(lab)
}

const OLD: &[u8] = b"yesterday";

/// Regression: the page of `live` and the pages of `man` were emptied before they were written, so a
/// full disk left half of them.
#[test]
fn each_write_of_each_output_of_each_command_fails_in_turn() {
    // A run of these takes a second, and there is one for each fault: the long test has them.
    fail_in_turn("writes", &["write"], &[true], &["objective", "papers"]);
}

#[test]
#[ignore = "two minutes of processor time: make test-full"]
fn each_write_sync_and_rename_of_each_output_of_each_command_fails_in_turn() {
    fail_in_turn("renames", &["write", "sync", "rename"], &[false, true], &[]);
}

/// Runs each command of the table but the `slow` ones with each fault. `old`: whether there are files of an earlier run, and
/// calls keep failing.
fn fail_in_turn(name: &str, calls: &[&'static str], old: &[bool], slow: &[&str]) {
    let Some(lab) = prepared(name) else {
        return;
    };
    for writer in &WRITERS {
        let arguments: Vec<_> = writer.arguments.split_whitespace().collect();
        if slow.contains(&arguments[0]) {
            continue;
        }
        lab.clear();
        let (output, _) = lab.run(&arguments, None);
        let told = message(&output);
        if !output.status.success() && arguments[0] == "live" {
            println!("live: not run: {told}");
            continue;
        }
        assert!(output.status.success(), "{arguments:?}: {told}");
        let whole = lab.files();
        let elsewhere = lab.path("out").join(writer.elsewhere);
        let mut faults = 0;
        for call in calls.iter().copied() {
            for has_old in old.iter().copied() {
                for number in 1.. {
                    lab.clear();
                    if has_old {
                        put_old(&whole, &elsewhere);
                    }
                    let fault = Fault {
                        call,
                        number,
                        lasts: has_old,
                    };
                    let (output, has_failed) = lab.run(&arguments, Some(&fault));
                    if !has_failed {
                        break;
                    }
                    faults += 1;
                    let told = message(&output);
                    let words = CALLS.iter().find(|(name, _)| *name == call).unwrap().1;
                    let is_told = told.contains("roundelay: ") && told.contains(words);
                    let status = output.status.code();
                    assert!(
                        status == Some(1) && is_told,
                        "{arguments:?}, {fault:?}: {status:?}, {told}"
                    );
                    for (path, bytes) in lab.files() {
                        if path.starts_with(&elsewhere) || (has_old && bytes == OLD) {
                            continue;
                        }
                        let name = path.display();
                        let same = whole.get(&path);
                        assert!(same.is_some(), "{arguments:?}, {fault:?}: {name} is left");
                        assert!(
                            (writer.is_whole)(&bytes, &whole[&path]),
                            "{arguments:?}, {fault:?}: {name} is torn"
                        );
                    }
                }
            }
        }
        assert!(faults > 0, "{arguments:?}: nothing failed");
    }
}

/// Files of an earlier run.
fn put_old(whole: &Files, elsewhere: &Path) {
    for path in whole.keys() {
        if !path.starts_with(elsewhere) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, OLD).unwrap();
        }
    }
}

/// The time of day goes a day ahead and back all the time. Nothing but a live run's stamps goes by it.
#[test]
fn a_clock_that_is_set_again_and_again_changes_no_result() {
    let Some(lab) = prepared("clock") else {
        return;
    };
    let commands = [
        "sweep ../s.toml topology.rate=1mbit,2mbit --replicas 2 --threads 2 --out d -q",
        "simulate ../s.toml -q --log a.log --pcapng a.pcapng --parquet parquet --packets",
        "compare ../calls.pcapng fifo fq_codel --rate 1mbit --no-cost -q --html a.html",
    ];
    let set = |number| Fault {
        call: "clock",
        number,
        lasts: true,
    };
    for command in commands {
        let arguments: Vec<_> = command.split_whitespace().collect();
        lab.clear();
        let (output, _) = lab.run(&arguments, None);
        assert!(output.status.success(), "{}", message(&output));
        let whole = lab.files();
        for number in [1, 3] {
            lab.clear();
            let (output, _) = lab.run(&arguments, Some(&set(number)));
            assert!(output.status.success(), "{command}: {}", message(&output));
            check_files(&set(number), &lab.files(), &whole, true);
        }
    }
    lab.clear();
    let near = "for i in {1..30}; do echo $i > /dev/udp/{far}/9; sleep .03; done";
    let live = [
        "live", "--rate", "1mbit", "--record", "r.pcapng", "--", "bash", "-c", near,
    ];
    // Both clocks are read a few times as the run begins, and then about ten times a second.
    let (output, is_set) = lab.run(&live, Some(&set(7)));
    if message(&output).contains("no network namespaces here") {
        println!("live: not run: {}", message(&output));
        return;
    }
    let told = message(&output);
    assert!(output.status.success() && is_set, "{told}");
    assert!(told.contains("The clock was set"), "{told}");
    let (output, _) = lab.run(&["compare", "r.pcapng"], None);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", message(&output));
    assert!(said.contains("all the same in the replay"), "{said}");
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
                // A line of its own describes each point.
                let Some(point) = run["point"].as_str() else {
                    assert!(run["described"].is_string(), "{run}");
                    continue;
                };
                let point = point.to_owned();
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
