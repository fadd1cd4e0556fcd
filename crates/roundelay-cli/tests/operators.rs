//! An operator's way: a script that people run becomes a tree, and other commands answer about it
//! and repeat what it lacks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use roundelay::Rate;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[track_caller]
fn roundelay(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
    let output = command.current_dir(root()).args(arguments).output();
    let output = output.expect("the command");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

/// What is printed as a table, in one line.
#[track_caller]
fn told(arguments: &[&str]) -> String {
    let text = roundelay(arguments);
    Vec::from_iter(text.split_whitespace()).join(" ")
}

/// A file for one test, deleted on drop.
struct File(PathBuf);

impl File {
    fn new(text: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("roundelay-operators-{}-{number}.toml", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, text).expect("written");
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("text")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// The tree of a script in the tests of `roundelay-import`.
fn imported(script: &str) -> File {
    let path = format!("crates/roundelay-import/tests/operators/{script}");
    File::new(&roundelay(&["import", &path]))
}

const CAPTURE: &str = "examples/captures/home-downlink.pcap";

/// p99 delays of web flows and of all light flows under each discipline.
fn waits(arguments: &[&str]) -> Vec<[f64; 2]> {
    let mut all = vec!["compare", CAPTURE, "--no-cost", "--json"];
    all.extend(arguments);
    let page: Value = serde_json::from_str(&roundelay(&all)).expect("JSON");
    let mut waits = Vec::new();
    for result in page["disciplines"].as_array().expect("a list") {
        let kinds = result["kinds"].as_array().expect("a list");
        let web = kinds.iter().find(|kind| kind["kind"] == "web");
        let web = web.expect("web flows")["p99"].as_f64();
        let light = result["light"]["delay"]["p99"].as_f64();
        waits.push([web.expect("a time"), light.expect("a time")]);
    }
    waits
}

/// The shaper is in the tree, and the interface has 1 Gbit/s: flows are light or bulk as on a link
/// of the shaper's rate.
#[test]
fn a_shaper_in_the_tree_judges_as_a_link_of_its_rate() {
    let trees = ["shaper-sfq.sh", "shaper-fifo.sh"].map(imported);
    let shaped = waits(&[
        "--rate",
        "1gbit",
        "--tree",
        trees[0].path(),
        "--tree",
        trees[1].path(),
    ]);
    let alone = waits(&["--rate", "5mbit", "sfq linux limit 1000", "fifo limit 1000"]);
    for (tree, alone) in shaped.iter().zip(&alone) {
        for (tree, alone) in tree.iter().zip(alone) {
            let ratio = tree / alone;
            assert!((0.8..1.25).contains(&ratio), "{shaped:?} {alone:?}");
        }
    }
    let [web, light] = shaped[0];
    assert!((0.2..0.3).contains(&web), "{web}");
    assert!((0.1..0.2).contains(&light), "{light}");
}

/// Formerly shares were of what an unshaped link would give: 0.24% of it.
#[test]
fn shares_of_senders_that_react_are_of_what_shapers_let_through() {
    let json: Value = serde_json::from_str(&roundelay(&[
        "compare",
        "examples/captures/home-both.pcap.gz",
        "--react",
        "--replicas",
        "1",
        "--rate",
        "1gbit",
        "--no-cost",
        "--json",
        "cake bandwidth 4750kbit",
        "cake bandwidth 4750kbit besteffort",
    ]))
    .unwrap();
    assert_eq!(json["reference_rate"], 4_750_000);
    for result in json["disciplines"].as_array().unwrap() {
        let kinds = result["kinds"].as_array().unwrap();
        let bulk = kinds.iter().find(|kind| kind["kind"] == "bulk").unwrap();
        let share = bulk["least_share"].as_f64().unwrap();
        assert!((0.5..=1.0).contains(&share), "{share}");
    }
}

/// Names in the tables that are printed on 80 columns: what stands before two blanks or more.
#[track_caller]
fn names_in_tables(arguments: &[&str], first: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
    let output = command.current_dir(root()).args(arguments);
    let output = output.env("COLUMNS", "80").output().expect("the command");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut tables = Vec::new();
    for table in text.split("\n\n") {
        let mut names = Vec::new();
        for line in table.lines() {
            let line = line.trim_start_matches(['*', ' ']);
            let is_row = first.iter().any(|start| line.starts_with(start));
            if let (true, Some((name, _))) = (is_row, line.split_once("  ")) {
                names.push(name.to_owned());
            }
        }
        if !names.is_empty() {
            tables.push(names);
        }
    }
    assert!(!tables.is_empty(), "{text}");
    tables
}

/// Names that begin alike stay apart where they are cut, in each table.
#[test]
fn rows_whose_names_are_cut_stay_apart() {
    let shared = "name = \"the uplink of the house at the end of the road, floor";
    let tree = |floor: &str| {
        let tree = imported("shaper-sfq.sh");
        let text = fs::read_to_string(&tree.0).expect("a tree");
        File::new(&text.replace("name = \"eth0", &format!("{shared} {floor}")))
    };
    let trees = [tree("one"), tree("two")];
    let cakes = ["dual-dsthost", "dual-srchost"];
    let cakes = cakes.map(|hosts| format!("cake bandwidth 5mbit besteffort {hosts}"));
    let tables = names_in_tables(
        &[
            "compare",
            CAPTURE,
            "--rate",
            "10mbit",
            "--no-cost",
            "--tree",
            trees[0].path(),
            "--tree",
            trees[1].path(),
            &cakes[0],
            &cakes[1],
        ],
        &["the ", "cake"],
    );
    let scenario = "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 1\n\
                    [[source]]\nkind = \"cbr\"\nfrom = \"s0\"\nto = \"r0\"\nrate = \"100kbit\"\n";
    let scenario = File::new(scenario);
    let queues = trees.each_ref().map(|tree| format!("tree {}", tree.path()));
    let simulated = names_in_tables(
        &[
            "simulate",
            scenario.path(),
            "--queue",
            &queues[0],
            "--queue",
            &queues[1],
            "--queue",
            &cakes[0],
            "--queue",
            &cakes[1],
        ],
        &["tree", "cake"],
    );
    let all = Vec::from_iter(tables.into_iter().chain(simulated));
    for mut names in all {
        assert!(names.len() >= 4, "{names:?}");
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }
}

const LEFT_OUT: &str = "netem delay 50ms is left out";

#[test]
fn compare_repeats_what_a_tree_lacks() {
    let tree = imported("netem-rate.sh");
    let told = told(&[
        "compare",
        CAPTURE,
        "--rate",
        "1gbit",
        "--no-cost",
        "--tree",
        tree.path(),
    ]);
    assert!(told.contains(LEFT_OUT), "{told}");
}

#[test]
fn simulate_repeats_what_a_tree_lacks() {
    let tree = imported("netem-rate.sh");
    let scenario = "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 1\n\
                    [[source]]\nkind = \"cbr\"\nfrom = \"s0\"\nto = \"r0\"\nrate = \"100kbit\"\n";
    let scenario = File::new(scenario);
    let queue = format!("tree {}", tree.path());
    let told = told(&["simulate", scenario.path(), "--queue", &queue]);
    assert!(told.contains(LEFT_OUT), "{told}");
}

#[test]
fn bounds_repeat_what_a_tree_lacks() {
    let tree = imported("netem-rate.sh");
    let flow = File::new(
        "[[flow]]\nname = \"netem\"\nleaf = \"root/netem\"\nburst = \"3000b\"\nrate = \"1mbit\"\n",
    );
    let told = told(&[
        "bounds",
        flow.path(),
        "--tree",
        tree.path(),
        "--rate",
        "1gbit",
    ]);
    assert!(told.contains(LEFT_OUT), "{told}");
}

/// A download whose acknowledgements share an upload's queue gets what they let it have.
#[test]
fn acknowledgements_of_a_script_go_first_in_a_simulation() {
    let tree = imported("ack-filter.sh");
    let text = fs::read_to_string(tree.path()).expect("a tree");
    let without = text.replace("flows = [\"ack below 64 bytes and src 0.0.0.0/0\"]", "");
    assert!(without.len() < text.len(), "{text}");
    let without = File::new(&without);
    let received = |tree: &File| {
        let scenario = format!(
            "duration = \"20s\"\nwarmup = \"5s\"\n\
             [[node]]\nname = \"server\"\nhost = true\n[[node]]\nname = \"router\"\n\
             [[node]]\nname = \"home\"\nhost = true\n\
             [[link]]\nfrom = \"server\"\nto = \"router\"\nrate = \"100mbit\"\ndelay = \"10ms\"\n\
             [[link]]\nfrom = \"router\"\nto = \"home\"\nrate = \"10mbit\"\n\
             [[port]]\nfrom = \"router\"\nto = \"server\"\nqueue = \"tree {}\"\n\
             [[source]]\nname = \"download\"\nkind = \"tcp\"\nfrom = \"server\"\nto = \"home\"\n\
             [[source]]\nname = \"upload\"\nkind = \"tcp\"\nfrom = \"home\"\nto = \"server\"\n",
            tree.path()
        );
        let scenario = File::new(&scenario);
        let page = roundelay(&["simulate", scenario.path(), "--json"]);
        let page: Value = serde_json::from_str(&page).expect("JSON");
        page["summary"]["groups"][0]["throughput"]["mean"]
            .as_f64()
            .unwrap_or_else(|| panic!("{page}"))
    };
    let [first, behind] = [received(&tree), received(&without)];
    assert!(first > 1.5 * behind, "{first} {behind}");
}

/// The rates to set lie below the line, a ping is short there, and both texts set them up.
#[test]
fn advise_finds_rates_below_the_line_and_writes_them_down() {
    let page = roundelay(&[
        "advise", "--down", "4mbit", "--up", "1mbit", "--link", "docsis", "--dev", "eth1", "--json",
    ]);
    let page: Value = serde_json::from_str(&page).expect("JSON");
    let mut knees = Vec::new();
    for (direction, line) in page["ways"]
        .as_array()
        .expect("a list")
        .iter()
        .zip([4e6, 1e6])
    {
        let rows = direction["rows"].as_array().expect("a list");
        let knee = direction["knee"].as_f64().expect("a rate");
        let ping = |row: &Value| row["ping_p99"].as_f64().expect("a time");
        assert!(rows[0]["rate"].is_null(), "first without a shaper");
        let chosen = rows.iter().find(|row| row["rate"].as_f64() == Some(knee));
        let chosen = chosen.expect("a row");
        // Upstream no burst fills the provider's queue, and cake counts the line's own headers, so that
        // the line's rate itself may do.
        let most = if line > 1e6 { 0.98 } else { 1.0 };
        assert!((0.5..=most).contains(&(knee / line)), "{direction}");
        assert!(ping(&rows[0]) > 2.0 * ping(chosen), "{direction}");
        let carried = chosen["carried"].as_f64().expect("a rate");
        assert!(
            carried > 0.7 * knee && carried <= 1.02 * knee,
            "{direction}"
        );
        knees.push(knee as u64);
    }
    let text = |key: &str| {
        let lines = page[key].as_array().expect("a list").iter();
        let lines = Vec::from_iter(lines.map(|line| line.as_str().expect("text")));
        lines.join("\n") + "\n"
    };
    // They can be given again: what is added is removed before, or is not there yet.
    let lines = text("script");
    let lines = Vec::from_iter(lines.lines());
    for (number, line) in lines.iter().enumerate() {
        let before = lines[..number].join("\n");
        let device = if line.contains("ifb4eth1") {
            "ifb4eth1"
        } else {
            "eth1"
        };
        let is_new = line.contains("tc qdisc add")
            && !before.contains(&format!("tc qdisc del dev {device} ingress"))
            || line.contains("ip link add") && !line.contains("ip link show");
        assert!(!is_new, "{line}");
    }
    for key in ["script", "sqm"] {
        let file = File::new(&text(key));
        for (device, rate) in [("ifb4eth1", knees[0]), ("eth1", knees[1])] {
            let tree = roundelay(&["import", file.path(), "--dev", device]);
            let rate = Rate::from_bits_per_second(rate).expect("a rate");
            let bandwidth = format!("cake linux bandwidth {rate} besteffort");
            assert!(
                tree.contains(&bandwidth),
                "{key} {device} {bandwidth}: {tree}"
            );
            for word in ["docsis", "nat", "dual-"] {
                assert!(
                    tree.contains(word) || word == "docsis",
                    "{key} {device} {word}: {tree}"
                );
            }
        }
    }
}

/// The words of a wrong line tell the legal ones, and a line that varies says what no rate can do.
#[test]
fn advise_names_kinds_of_lines_and_what_no_rate_can_do() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
    let arguments = [
        "advise", "--down", "4mbit", "--up", "1mbit", "--link", "docsys",
    ];
    let output = command.args(arguments).output().expect("the command");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("did you mean 'docsis'?"), "{said}");
    for link in ["lte", "starlink"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
        let arguments = ["advise", "--down", "2gbit", "--up", "1mbit", "--link", link];
        let output = command.args(arguments).output().expect("the command");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        let expected = format!("--down: {link}: rate 2gbit: legal range 100kbit to 1gbit");
        assert!(said.contains(&expected), "{said}");
    }
    let text = told(&[
        "advise", "--down", "2mbit", "--up", "1mbit", "--link", "lte",
    ]);
    assert!(text.contains("No fixed rate follows it"), "{text}");
    assert!(text.contains("config queue"), "{text}");
    assert!(
        text.contains("Begin with ") && !text.contains("Set "),
        "{text}"
    );
    // Its satellites have .4 to 1.6 of the rate, each for at most a quarter of the run: at the line's
    // rate a ping waits in the provider's queue, which holds 250 ms, and further below less.
    let page: Value = serde_json::from_str(&roundelay(&[
        "advise", "--down", "2mbit", "--up", "1mbit", "--link", "starlink", "--json",
    ]))
    .expect("JSON");
    let notes = page["notes"].to_string();
    assert!(notes.contains("No fixed rate follows it"), "{notes}");
    // One trace is chance, so there are three, and the rates that they would set.
    for way in page["ways"].as_array().expect("a list") {
        let knees = way["knees"].as_array().expect("a list");
        assert_eq!(knees.len(), 3, "{way}");
    }
    let rows = page["ways"][0]["rows"].as_array().expect("a list");
    let ping = |row: &Value| row["ping_p99"].as_f64().expect("a time");
    let mut shortest = f64::INFINITY;
    for row in rows {
        shortest = shortest.min(ping(row));
    }
    assert!(ping(&rows[1]) > 0.25 && shortest < 0.15, "{rows:?}");
}
