//! `roundelay sweep`: identity of runs, the dataset, killed processes, failures, shards,
//! replication.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use parquet::file::reader::{FileReader, SerializedFileReader};
use roundelay_report::{SweepFile, SweepRuns};

/// A call beside a load, over 1 Mbit/s.
const SCENARIO: &str = "duration = '2s'
[topology]
template = 'dumbbell'
pairs = 2
rate = '1mbit'
delay = '5ms'
[queue]
core = 'fifo limit 20'
[[source]]
name = 'calls'
kind = 'poisson'
from = 's0'
to = 'r0'
rate = '200kbit'
packet_len = 200
[[source]]
name = 'load'
kind = 'poisson'
from = 's1'
to = 'r1'
rate = '900kbit'
";

/// Six points.
const KEYS: [&str; 2] = [
    "queue.core=fifo,fq_codel,qfq",
    "source.calls.rate=64kbit..128kbit/2",
];

/// A folder for one test, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("roundelay-sweep-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("s.toml"), SCENARIO).unwrap();
        Self(path)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
        command
            .arg("sweep")
            .args(arguments)
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn sweep(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command runs")
    }

    /// Standard output of a sweep without failures.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.sweep(arguments);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("text")
    }

    fn error(&self, arguments: &[&str], status: i32) -> String {
        let output = self.sweep(arguments);
        assert_eq!(
            output.status.code(),
            Some(status),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// States of the runs as `--why` prints them.
    fn why(&self, arguments: &[&str]) -> BTreeMap<String, String> {
        let text = self.done(&[arguments, &["--why"]].concat());
        let pair = |line: &str| {
            line.split_once(": ")
                .map(|(run, state)| (run.to_owned(), state.to_owned()))
                .expect("RUN: STATE")
        };
        text.lines().map(pair).collect()
    }

    /// All files of a dataset with their bytes.
    fn dataset(&self, name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        fn add(folder: &Path, root: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    add(&path, root, all);
                } else {
                    let name = path.strip_prefix(root).expect("below the root").to_owned();
                    all.insert(name, fs::read(&path).expect("a file"));
                }
            }
        }
        let mut all = BTreeMap::new();
        add(&self.0.join(name), &self.0.join(name), &mut all);
        all
    }

    /// The runs of a dataset at rest.
    fn runs(&self, name: &str) -> SweepRuns {
        SweepRuns::read(&self.0.join(name).join("runs.parquet")).expect("a file with all runs")
    }

    /// Takes a dataset apart into a file a point, as while a process works on it, and as earlier
    /// versions left it.
    fn take_apart(&self, name: &str) {
        let SweepRuns { keys, points } = self.runs(name);
        for point in points {
            let mut folder = self.0.join(name);
            for (key, value) in keys.iter().zip(&point.labels) {
                folder.push(format!("{key}={value}"));
            }
            let (_, identity) = &point.metadata[1];
            let path = folder.join(format!("{identity}.parquet"));
            let file = SweepFile {
                metadata: point.metadata,
                rows: point.rows,
            };
            fs::create_dir_all(&folder).unwrap();
            fs::write(path, file.bytes().unwrap()).unwrap();
        }
    }

    /// Seeds with the number of rows, of all files.
    fn seeds(&self, name: &str) -> BTreeMap<u64, usize> {
        let mut all = BTreeMap::new();
        for path in self.dataset(name).into_keys().filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "parquet")
        }) {
            let reader =
                SerializedFileReader::new(fs::File::open(self.0.join(name).join(path)).unwrap())
                    .unwrap();
            for row in reader.get_row_iter(None).unwrap() {
                let row = row.unwrap();
                let seed = row
                    .get_column_iter()
                    .find(|(name, _)| *name == "seed")
                    .unwrap()
                    .1
                    .to_string();
                *all.entry(seed.parse().unwrap()).or_insert(0) += 1;
            }
        }
        all
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Arguments of a sweep over the six points.
fn over<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["s.toml"], &KEYS[..], more].concat()
}

/// Formerly a sweep refused it: a behaviour without a version.
#[test]
fn slack_at_departure_can_be_swept() {
    let folder = Folder::new("departure");
    let urgent = SCENARIO.replace(
        "packet_len = 200",
        "packet_len = 200\nurgency = 'slack 5ms'",
    );
    fs::write(folder.0.join("s.toml"), urgent).unwrap();
    let arguments = [
        "s.toml",
        "queue.core=lstf",
        "source.calls.urgency=slack 5ms,slack 5ms at departure",
        "--replicas",
        "2",
    ];
    let done = folder.done(&arguments);
    assert!(
        done.contains("2 points, 4 runs: 0 cached, 4 done, 0 failed"),
        "{done}"
    );
}

#[test]
fn a_sweep_over_link_traces_knows_when_their_files_change() {
    let folder = Folder::new("link-traces");
    let port = "\n[[port]]\nfrom = 'left'\nto = 'right'\nlink_trace = 'one.trace'\n";
    fs::write(folder.0.join("s.toml"), SCENARIO.to_owned() + port).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.0.join(name), text).unwrap();
    write("one.trace", "5\n10\n15\n");
    write("two.trace", "5\n10\n100\n");
    let arguments = ["s.toml", "port.0.link_trace=one.trace,two.trace"];
    // Scenarios with files are not kept in memory, but their sources are known before a run, too.
    let unknown = [&arguments[..], &["--figure", "cals.delay_p99"]].concat();
    let message = folder.error(&unknown, 2);
    assert!(message.contains("did you mean 'calls'?"), "{message}");
    assert!(!folder.0.join("s.sweep").exists(), "nothing runs");
    let done = folder.done(&arguments);
    assert!(
        done.contains("2 points, 2 runs: 0 cached, 2 done"),
        "{done}"
    );
    assert!(folder.done(&arguments).contains("2 cached, 0 done"));
    write("two.trace", "5\n10\n11\n100\n");
    let states = folder.why(&arguments);
    let mut states: Vec<_> = states.values().map(String::as_str).collect();
    states.sort_unstable();
    assert_eq!(states[0], "cached");
    assert!(states[1].contains("1:two.trace"), "{states:?}");
    let models = [
        "s.toml",
        "port.0.link_trace=wifi stations 1,wifi stations 5,lte rate 5mbit",
    ];
    let done = folder.done(&models);
    assert!(
        done.contains("3 points, 3 runs: 0 cached, 3 done"),
        "{done}"
    );
    assert!(folder.done(&models).contains("3 cached, 0 done"));
    let error = folder.error(&["s.toml", "port.0.link_trace=none.trace"], 2);
    assert!(error.contains("cannot read 'none.trace'"), "{error}");
}

#[test]
fn a_comment_runs_nothing_and_a_changed_key_its_runs() {
    let folder = Folder::new("comment");
    let arguments = over(&["--replicas", "2"]);
    let states = folder.why(&arguments);
    assert!(
        states.len() == 12 && states.values().all(|state| state == "new"),
        "{states:?}"
    );
    assert!(!folder.0.join("s.sweep").exists(), "--why writes nothing");
    assert!(
        folder
            .done(&arguments)
            .contains("6 points, 12 runs: 0 cached, 12 done, 0 failed")
    );
    let before = folder.dataset("s.sweep");
    // Comments, the order of keys, other spellings, a name.
    let other = SCENARIO
        .replace(
            "duration = '2s'",
            "name = 'other' # a comment\nduration = \"2000ms\"",
        )
        .replace(
            "rate = '1mbit'\ndelay = '5ms'",
            "delay = '5000us'\nrate = '1000kbit'",
        );
    fs::write(folder.0.join("s.toml"), other).unwrap();
    assert!(
        folder
            .why(&arguments)
            .values()
            .all(|state| state == "cached")
    );
    assert!(folder.done(&arguments).contains("12 cached, 0 done"));
    assert_eq!(folder.dataset("s.sweep"), before);
    // More values and replicas: only these are new.
    let states = folder.why(&[
        "s.toml",
        KEYS[0],
        "source.calls.rate=64kbit..256kbit/2",
        "--replicas",
        "3",
    ]);
    assert_eq!(
        states.values().filter(|state| *state == "cached").count(),
        12
    );
    assert_eq!(states.values().filter(|state| *state == "new").count(), 15);
    // A changed key.
    fs::write(
        folder.0.join("s.toml"),
        SCENARIO.replace("'900kbit'", "'950kbit'"),
    )
    .unwrap();
    let states = folder.why(&arguments);
    let expected = "changed: source.load.rate was \"900000bit\", is \"950000bit\"";
    assert!(states.values().all(|state| state == expected), "{states:?}");
    assert!(folder.done(&arguments).contains("0 cached, 12 done"));
    assert_eq!(
        folder.dataset("s.sweep").len(),
        before.len(),
        "the old runs are replaced"
    );
    // A changed file of the scenario.
    let list = |text: &str| fs::write(folder.0.join("list.txt"), text).unwrap();
    let trace =
        "\n[[source]]\nname = 'list'\nkind = 'trace'\nfrom = 's0'\nto = 'r0'\nfile = 'list.txt'\n";
    fs::write(folder.0.join("t.toml"), SCENARIO.to_owned() + trace).unwrap();
    list("0 100\n1 200\n");
    folder.done(&["t.toml"]);
    list("0 100\n1 300\n");
    let states = folder.why(&["t.toml"]);
    assert_eq!(states.values().collect::<Vec<_>>(), ["changed: 1:list.txt"]);
}

#[test]
fn bytes_do_not_depend_on_threads_shards_or_order() {
    let folder = Folder::new("order");
    folder.done(&over(&[
        "--replicas",
        "4",
        "--threads",
        "1",
        "--out",
        "one",
    ]));
    folder.done(&over(&[
        "--replicas",
        "4",
        "--threads",
        "4",
        "--out",
        "four",
    ]));
    let expected = folder.dataset("one");
    assert_eq!(expected.len(), 2, "all runs, and the lock");
    assert!(folder.dataset("four") == expected);
    // Replicas one by one.
    ["1", "2", "4"]
        .iter()
        .for_each(|replicas| drop(folder.done(&over(&["--replicas", replicas, "--out", "grown"]))));
    assert!(folder.dataset("grown") == expected);
    // Three shards at once, in one folder.
    let shards = ["1/3", "2/3", "3/3"].map(|shard| {
        folder
            .command(&over(&[
                "--replicas",
                "4",
                "--shard",
                shard,
                "--out",
                "shards",
                "--json",
            ]))
            .spawn()
            .unwrap()
    });
    let done = shards.map(|shard| {
        let output = shard.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        json["runs"]["done"].as_u64().unwrap()
    });
    assert_eq!(done.iter().sum::<u64>(), 24, "nothing twice: {done:?}");
    assert!(done.iter().all(|done| *done > 0), "{done:?}");
    assert!(folder.dataset("shards") == expected);
    assert_eq!(
        folder.seeds("shards"),
        (1..=4).map(|seed| (seed, 18)).collect()
    );
}

/// Kills sweeps at random times; the resumed dataset is that of an undisturbed sweep.
fn kill(name: &str, kills: usize) {
    let folder = Folder::new(name);
    let arguments = |out| over(&["--replicas", "12", "--out", out]);
    folder.done(&arguments("whole"));
    let whole = folder.dataset("whole");
    // Delays: D. Knuth's linear congruential generator (MMIX).
    let (mut state, mut killed, mut completed) = (1_u64, 0, 0);
    while killed < kills {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mut child = folder.command(&arguments("killed")).spawn().unwrap();
        std::thread::sleep(Duration::from_micros((state >> 33) % 120_000));
        if child.try_wait().unwrap().is_some() {
            let output = child.wait_with_output().unwrap();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(folder.dataset("killed") == whole, "after {killed} kills");
            fs::remove_dir_all(folder.0.join("killed")).unwrap();
            completed += 1;
        } else {
            child.kill().unwrap();
            child.wait().unwrap();
            killed += 1;
        }
    }
    folder.done(&arguments("killed"));
    assert!(
        folder.dataset("killed") == whole,
        "after {killed} kills, {completed} complete sweeps between"
    );
}

#[test]
fn a_killed_sweep_goes_on() {
    kill("killed", 10);
}

#[test]
#[ignore = "a minute: make test-full"]
fn two_hundred_kills_leave_the_same_dataset() {
    kill("killed-often", 200);
}

#[test]
fn a_wrong_point_is_refused_before_the_first_run() {
    let folder = Folder::new("refused");
    for (keys, expected) in [
        (
            "queue.core=fifo,qfqq",
            "s.toml: queue.core=qfqq: core: no discipline is called 'qfqq' (did you mean 'qfq'?)",
        ),
        (
            "queue.core=fifo,red min 30kb max 20kb limit 100",
            "red: min 30kb: expected less than max",
        ),
    ] {
        let message = folder.error(&["s.toml", keys, "--replicas", "2"], 2);
        assert!(message.contains(expected), "{message}");
        assert!(!folder.0.join("s.sweep").exists(), "nothing ran");
    }
}

#[test]
fn wrong_keys_are_refused_before_a_run() {
    let folder = Folder::new("wrong");
    for (arguments, expected) in [
        (
            vec!["s.toml", "source.cals.rate=64kbit"],
            "no source is called 'cals' (did you mean 'calls'?): calls, load",
        ),
        (
            vec!["s.toml", "queue.core=fq_codle"],
            "did you mean 'fq_codel'?",
        ),
        (
            vec!["s.toml", "queu.core=fifo"],
            "unknown field `queu` (did you mean 'queue'?)",
        ),
        (vec!["s.toml", "source.calls.packet_len=0"], "packet_len"),
        (
            vec!["s.toml", "source.calls.rate=1mbit..2mbit"],
            "a range without a step",
        ),
        (vec!["s.toml", "seed=1,2"], "--seed and --replicas set them"),
        // Formerly a sweep of one scenario took this key for a choice, and ran its own.
        (
            vec!["s.toml", "scenario=a.toml,b.toml"],
            "unknown field `scenario`",
        ),
        (vec!["s.toml", "queue.core"], "expected KEY=VALUES"),
        (
            vec!["s.toml", "queue.core=fifo,fifo"],
            "two points are the same: queue.core=fifo",
        ),
        (vec!["s.toml", "--shard", "4/3"], "I from 1 to N"),
        (
            vec!["s.toml", "--out", "-"],
            "--out -: standard output is for the table; expected a folder",
        ),
        (
            vec!["s.toml", "--figure", "calls.delay_p9"],
            "did you mean 'delay_p99'?",
        ),
        (
            vec!["s.toml", "--figure", "cals.delay_p99"],
            "did you mean 'calls'?",
        ),
    ] {
        let message = folder.error(&arguments, 2);
        assert!(message.contains(expected), "{arguments:?}: {message}");
        let dataset = folder.0.join("s.sweep");
        assert!(!dataset.exists(), "{arguments:?}: nothing runs");
    }
    fs::write(
        folder.0.join("broken.toml"),
        SCENARIO.replace("pairs = 2", "pears = 2"),
    )
    .unwrap();
    let message = folder.error(&["broken.toml", "queue.core=fifo,qfq"], 2);
    assert!(
        message.starts_with("roundelay: broken.toml:4: ")
            && message.contains("unknown field `pears`"),
        "{message}"
    );
    folder.done(&["s.toml", "queue.core=fifo", "--out", "d"]);
    let message = folder.error(&["s.toml", "source.calls.rate=64kbit", "--out", "d"], 2);
    assert!(
        message.contains("d: has a sweep over queue.core; this one is over source.calls.rate"),
        "{message}"
    );
}

#[test]
fn a_sweep_file_has_grid_zip_and_points() {
    let folder = Folder::new("file");
    let text = "scenario = 's.toml'\nreplicas = 2\nseed = 7\n[grid]\nqueue.core = ['fifo', 'qfq']\n[zip]\n'topology.rate' = ['1mbit', '2mbit']\n'topology.delay' = ['5ms', '10ms']\n";
    fs::write(folder.0.join("sweep.toml"), text).unwrap();
    assert!(
        folder
            .done(&["sweep.toml", "--out", "a"])
            .contains("4 points, 8 runs")
    );
    assert_eq!(folder.seeds("a"), [(7, 12), (8, 12)].into());
    let SweepRuns { keys, points } = folder.runs("a");
    assert_eq!(keys, ["queue.core", "topology.rate", "topology.delay"]);
    let labels: Vec<_> = points.into_iter().map(|point| point.labels).collect();
    assert!(
        labels.contains(&["qfq", "2000000", "0.01"].map(str::to_owned).to_vec()),
        "{labels:?}"
    );
    assert!(
        folder
            .done(&[
                "sweep.toml",
                "queue.core=packet_fq",
                "--replicas",
                "1",
                "--out",
                "b"
            ])
            .contains("2 points, 2 runs")
    );
}

#[test]
fn runs_are_added_until_the_interval_is_narrow_enough() {
    let folder = Folder::new("until");
    let arguments = [
        "s.toml",
        "queue.core=fifo,qfq",
        "--until",
        "ci=5%",
        "--figure",
        "calls.delay_mean",
        "--json",
    ];
    let json: serde_json::Value = serde_json::from_str(&folder.done(&arguments)).unwrap();
    let points = json["figure"]["points"].as_array().unwrap();
    for point in points {
        let [mean, half] =
            ["mean", "half_width"].map(|key| point["interval"][key].as_f64().unwrap());
        assert!(half <= 0.05 * mean && mean > 0.0, "{point}");
    }
    let runs: Vec<_> = points
        .iter()
        .map(|point| point["runs"].as_u64().unwrap())
        .collect();
    assert!(
        runs[0] > runs[1],
        "the delay under fifo varies more: {runs:?}"
    );
    // Pairs with the same seeds: as many as both points have.
    let difference = &points[1]["difference"];
    assert_eq!(
        (difference["from"].as_str(), difference["pairs"].as_u64()),
        (Some("fifo"), Some(runs[1]))
    );
    assert!(difference["mean"].as_f64().unwrap() < 0.0, "{difference}");
    // The number of runs is a matter of the results alone.
    let again: serde_json::Value = serde_json::from_str(
        &folder.done(&[&arguments[..], &["--threads", "1", "--out", "again"]].concat()),
    )
    .unwrap();
    assert_eq!(again["figure"], json["figure"]);
    assert!(folder.dataset("again") == folder.dataset("s.sweep"));
    let most = folder.done(&[
        "s.toml",
        "--until",
        "ci=0.01%",
        "--figure",
        "delay_mean",
        "--max-replicas",
        "9",
        "--json",
        "--out",
        "most",
    ]);
    assert!(most.contains("\"done\": 9"), "{most}");
}

/// Pairing by seeds removes the variance that both disciplines share: the interval of the mean
/// difference is narrower than that of either mean.
#[test]
fn differences_are_paired_by_seed() {
    let folder = Folder::new("paired");
    let arguments = [
        "s.toml",
        "queue.core=fifo limit 20,fifo limit 21",
        "--replicas",
        "10",
        "--figure",
        "load.throughput",
        "--json",
    ];
    let json: serde_json::Value = serde_json::from_str(&folder.done(&arguments)).unwrap();
    let points = json["figure"]["points"].as_array().unwrap();
    let half = |value: &serde_json::Value| value["half_width"].as_f64().unwrap();
    assert!(
        half(&points[1]["difference"]) < 0.5 * half(&points[1]["interval"]),
        "{points:?}"
    );
    assert!(points[0]["difference"].is_null());
}

/// Without a figure the summary answers for a usual one, and says how to see another, which runs
/// nothing again.
#[test]
fn a_sweep_without_a_figure_answers_and_says_how_to_see_another() {
    let folder = Folder::new("hint");
    let done = folder.done(&over(&[]));
    for part in [
        "6 points, 6 runs: 0 cached, 6 done, 0 failed",
        "--figure throughput, delay_p99, loss, completion_mean or SOURCE.FIGURE",
        "are not repeated",
        "\nThe p99 delay of all sources is ",
    ] {
        assert!(done.contains(part), "{part}: {done}");
    }
    for figure in ["throughput", "delay_p99", "loss", "calls.delay_p99"] {
        let shown = folder.done(&over(&["--figure", figure]));
        assert!(shown.contains("6 cached, 0 done"), "{figure}: {shown}");
        assert!(shown.contains("queue.core") && shown.contains("fq_codel"));
        assert!(!shown.contains("--figure throughput"), "{shown}");
    }
}

/// `--html` is a page on the figure: without --figure on the 99th percentile of the delay.
#[test]
fn a_page_answers_draws_and_lists_the_points() {
    let folder = Folder::new("page");
    let printed = folder.done(&over(&["--replicas", "3", "--html", "page.html"]));
    let page = fs::read_to_string(folder.0.join("page.html")).unwrap();
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(place("<h1>The p99 delay of all sources is ") < place("id=\"chart0\""));
    assert!(place("id=\"chart0\"") < place("All points"));
    for name in ["fifo", "fq_codel", "qfq"] {
        let line = format!("\"name\":\"{name}\",\"values\"");
        assert_eq!(page.matches(&line).count(), 1, "{line}");
    }
    assert!(page.contains("rate of calls, kbit/s"), "units");
    assert!(page.contains("6 points, 18 runs: 0 cached, 18 done, 0 failed"));
    assert!(printed.contains("all.delay_p99"), "{printed}");
    // Of known runs, and another figure.
    folder.done(&over(&[
        "--replicas",
        "3",
        "--html",
        "page.html",
        "--figure",
        "load.throughput",
    ]));
    let page = fs::read_to_string(folder.0.join("page.html")).unwrap();
    assert!(page.contains("<h1>The throughput of load is "), "{page}");
    assert!(page.contains("18 cached, 0 done"));
}

#[test]
fn a_page_has_a_path_of_its_own() {
    let folder = Folder::new("page-path");
    let error = |arguments: &[&str]| folder.error(&over(arguments), 2);
    assert!(error(&["--html", "s.toml"]).contains("s.toml"));
    assert!(error(&["--html", "-"]).contains("standard output is for the table"));
    assert!(error(&["--html", "p.html", "--why"]).contains("cannot be used with"));
    let error = error(&["--html", "d/p.html", "--out", "d"]);
    assert!(
        error.contains("would write into the folder of --out"),
        "{error}"
    );
    assert!(!folder.0.join("d").exists() && !folder.0.join("s.sweep").exists());
}

/// A dataset at rest is one file with the swept keys as columns: thousands of files cost a reader
/// hundreds of times as much.
#[test]
fn a_dataset_at_rest_is_one_file() {
    let folder = Folder::new("one-file");
    let sweep = |more: &[&str]| folder.done(&over(&[&["--out", "d"], more].concat()));
    sweep(&["--replicas", "2"]);
    let whole = folder.dataset("d");
    let names: Vec<_> = whole
        .keys()
        .map(|path| path.display().to_string())
        .collect();
    assert_eq!(names, [".lock", "runs.parquet"]);
    let SweepRuns { keys, points } = folder.runs("d");
    assert_eq!(keys, ["queue.core", "source.calls.rate"]);
    assert_eq!(points.len(), 6);
    assert_eq!(points[0].labels, ["fifo", "64000"]);
    let seeds: Vec<u64> = points[5].rows.iter().map(|row| row.seed).collect();
    assert_eq!(seeds, [1, 1, 1, 2, 2, 2], "two sources and all");
    // Known runs come from there, and more replicas go there.
    assert!(sweep(&["--replicas", "2", "--figure", "calls.loss"]).contains("12 cached, 0 done"));
    assert!(folder.dataset("d") == whole, "nothing new");
    assert!(sweep(&["--replicas", "3"]).contains("12 cached, 6 done"));
    assert_eq!(folder.runs("d").points[0].rows.len(), 9);
}

/// Regression: who may write to the folder of a dataset could lead a sweep to files and folders of
/// others, by symbolic links under names that are known in advance.
#[cfg(unix)]
#[test]
fn links_in_a_dataset_lead_nowhere() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = Folder::new("links");
    let victim = folder.0.join("victim");
    fs::write(&victim, "precious").unwrap();
    fs::create_dir(folder.0.join("d")).unwrap();
    let dataset = |name: &str| folder.0.join("d").join(name);
    symlink(&victim, dataset(".runs.partial")).unwrap();
    let arguments = over(&["--out", "d"]);
    folder.done(&arguments);
    let file = dataset("runs.parquet");
    assert!(fs::symlink_metadata(&file).unwrap().is_file());
    // The mode of a file that is replaced stays.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    folder.done(&over(&["--out", "d", "--replicas", "2"]));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    fs::remove_file(dataset(".runs.partial")).unwrap();
    // Journals of ended processes are removed, so none may lie elsewhere.
    let others = folder.0.join("others/1-2");
    fs::create_dir_all(&others).unwrap();
    symlink(folder.0.join("others"), dataset(".journal")).unwrap();
    let message = folder.error(&over(&["--out", "d", "--replicas", "3"]), 1);
    assert!(
        message.contains("d/.journal is a symbolic link; expected a folder")
            || message.contains("d: .journal is a symbolic link; expected a folder"),
        "{message}"
    );
    assert!(others.is_dir());
    // A point's folder is the place of its runs, and other runs there are removed. Links that no sweep
    // uses do no harm.
    fs::write(others.join("data.parquet"), "precious").unwrap();
    symlink(folder.0.join("others"), dataset("latest")).unwrap();
    let point = "queue.core=fifo/source.calls.rate=64000";
    fs::create_dir(dataset("queue.core=fifo")).unwrap();
    symlink(&others, dataset(point)).unwrap();
    fs::remove_file(dataset(".journal")).unwrap();
    let message = folder.error(&over(&["--out", "d", "--replicas", "3"]), 1);
    assert!(
        message.contains("source.calls.rate=64000 is a symbolic link; expected a folder"),
        "{message}"
    );
    assert!(others.join("data.parquet").is_file());
    fs::remove_file(dataset(point)).unwrap();
    folder.done(&over(&["--out", "d", "--replicas", "3"]));
    fs::remove_file(dataset(".lock")).unwrap();
    symlink(&victim, dataset(".lock")).unwrap();
    let message = folder.error(&arguments, 1);
    assert!(
        message.contains("d/.lock: a symbolic link; expected a file"),
        "{message}"
    );
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}

/// Regression: a sweep waited for ever for a reader of a named pipe in place of its lock.
#[cfg(unix)]
#[test]
fn a_named_pipe_in_a_dataset_is_refused_at_once() {
    let folder = Folder::new("pipes");
    for (name, prefix) in [
        (".lock", "d/.lock"),
        (".journal/1-2/runs.jsonl", "d/.journal"),
    ] {
        let pipe = folder.0.join("d").join(name);
        fs::create_dir_all(pipe.parent().unwrap()).unwrap();
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let message = folder.error(&over(&["--out", "d"]), 1);
        let expected = format!("{prefix}: not a regular file; expected a file");
        assert!(message.contains(&expected), "{message}");
        fs::remove_file(pipe).unwrap();
    }
}

/// Files of earlier versions, and those of a process killed before or after the one file was
/// written, are found and become that file.
#[test]
fn files_of_points_become_one_file() {
    let folder = Folder::new("apart");
    let arguments = over(&["--replicas", "2", "--out", "d"]);
    folder.done(&arguments);
    let whole = folder.dataset("d");
    for is_before in [true, false] {
        folder.take_apart("d");
        if is_before {
            fs::remove_file(folder.0.join("d/runs.parquet")).unwrap();
        }
        assert!(folder.dataset("d").len() > 6);
        let states = folder.why(&arguments);
        assert!(states.values().all(|state| state == "cached"), "{states:?}");
        assert!(folder.done(&arguments).contains("12 cached, 0 done"));
        assert!(folder.dataset("d") == whole, "before: {is_before}");
    }
}

/// Points with other values stay in the file, with a note; a point with another origin replaces
/// that with the same values.
#[test]
fn other_points_stay_in_the_file() {
    let folder = Folder::new("others");
    folder.done(&["s.toml", "queue.core=fifo,qfq", "--out", "d"]);
    let printed = folder.done(&["s.toml", "queue.core=drr", "--out", "d"]);
    assert!(
        printed.contains("2 points in the dataset with other values"),
        "{printed}"
    );
    let labels = || {
        let points = folder.runs("d").points;
        points
            .into_iter()
            .map(|point| point.labels[0].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(labels(), ["drr", "fifo", "qfq"]);
    // Without labels in their files, points outside the plan stay where they are.
    folder.take_apart("d");
    fs::remove_file(folder.0.join("d/runs.parquet")).unwrap();
    folder.done(&["s.toml", "queue.core=fifo,qfq", "--out", "d"]);
    assert_eq!(labels(), ["fifo", "qfq"]);
    assert!(folder.0.join("d/queue.core=drr").exists());
    // Another duration: the same values with another origin.
    let longer = SCENARIO.replace("duration = '2s'", "duration = '3s'");
    fs::write(folder.0.join("s.toml"), longer).unwrap();
    let states = folder.why(&["s.toml", "queue.core=qfq", "--out", "d"]);
    let changed = "changed: duration was \"2s\", is \"3s\"";
    assert_eq!(states.values().collect::<Vec<_>>(), [changed]);
    folder.done(&["s.toml", "queue.core=qfq", "--out", "d"]);
    assert_eq!(labels(), ["fifo", "qfq"], "not twice");
}

#[test]
fn a_damaged_file_with_all_runs_is_an_error() {
    let folder = Folder::new("damaged");
    folder.done(&["s.toml", "queue.core=fifo", "--out", "d"]);
    let path = folder.0.join("d/runs.parquet");
    let mut bytes = fs::read(&path).unwrap();
    bytes[1000] ^= 1;
    fs::write(&path, bytes).unwrap();
    let error = folder.error(&["s.toml", "queue.core=fifo", "--out", "d"], 1);
    assert!(
        error.contains("runs.parquet: damaged: not as it was written"),
        "{error}"
    );
    assert!(
        error.contains("or none: without it all its runs are run again"),
        "{error}"
    );
    let error = folder.error(&["s.toml", "queue.core=fifo", "--out", "d", "--why"], 1);
    assert!(error.contains("runs.parquet"), "{error}");
}

/// `[meter]` figures of a source in the dataset are those of `simulate`, and null where not asked
/// for.
#[test]
fn figures_of_the_meter_are_columns() {
    let folder = Folder::new("meter");
    fs::write(
        folder.0.join("asked.toml"),
        SCENARIO.replace(
            "[topology]",
            "[meter]\nflows = true\nwfi = true\n[topology]",
        ),
    )
    .unwrap();
    let simulated = Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .args(["simulate", "asked.toml", "--json"])
        .current_dir(&folder.0)
        .output();
    let json: serde_json::Value = serde_json::from_slice(&simulated.unwrap().stdout).unwrap();
    folder.done(&[
        "s.toml",
        "meter.wfi=true,false",
        "meter.flows=true",
        "--out",
        "d",
    ]);
    let names = [
        "throughput",
        "jain",
        "jain_of_ratios",
        "reordering",
        "round_trip",
        "bennett_zhang",
        "startup_latency",
        "starved",
        "correlation",
    ];
    let mut compared = 0;
    for point in folder.runs("d").points {
        let is_asked = point.labels[0] == "true";
        for (row, group) in point
            .rows
            .iter()
            .zip(json["summary"]["groups"].as_array().unwrap())
        {
            assert_eq!(*row.source, *group["name"].as_str().unwrap());
            let column = |name: &str| {
                row.figures[roundelay_report::SWEEP_FIGURES
                    .iter()
                    .position(|known| *known == name)
                    .unwrap()]
            };
            for name in names {
                assert_eq!(
                    column(&format!("lives_{name}")),
                    group["lives"][name]["mean"].as_f64(),
                    "{name}"
                );
            }
            for name in ["b_wfi", "t_wfi"] {
                assert_eq!(
                    column(name),
                    group["indices"][name]["mean"].as_f64().filter(|_| is_asked),
                    "{name}"
                );
                compared += usize::from(column(name).is_some());
            }
        }
    }
    assert_eq!(compared, 6);
}

/// Two processes do the same runs at once: the dataset is that of one.
#[test]
fn two_processes_at_once_leave_the_dataset_of_one() {
    let folder = Folder::new("both");
    let arguments = |out| over(&["--replicas", "6", "--threads", "1", "--out", out]);
    folder.done(&arguments("one"));
    let both = [
        folder.command(&arguments("both")).spawn().unwrap(),
        folder.command(&arguments("both")).spawn().unwrap(),
    ];
    for child in both {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert!(folder.dataset("both") == folder.dataset("one"));
}

/// Values that are no names of folders, or hard for a shell, come back from the dataset.
#[test]
fn values_with_signs_are_points_of_their_own() {
    let folder = Folder::new("signs");
    let keys = r#"name=["a/b"],"#;
    let error = folder.error(&["s.toml", keys], 2);
    assert!(error.contains("no value in TOML"), "{error}");
    folder.done(&["s.toml", "name=a/b,a%2Fb,..,é=1,it's", "--out", "d"]);
    let points = folder.runs("d").points;
    let names: Vec<_> = points.iter().map(|point| &point.labels[0][..]).collect();
    assert_eq!(names, ["..", "a%2Fb", "a/b", "it's", "é=1"]);
    assert!(
        folder
            .done(&["s.toml", "name=a/b,a%2Fb,..,é=1,it's", "--out", "d"])
            .contains("5 cached")
    );
}
