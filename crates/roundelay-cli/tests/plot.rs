//! `roundelay plot`: results of several commands side by side, by what they print with --json.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use crate::folder::Folder;

const SCENARIO: &str = "duration = \"2s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 2\n\
    rate = \"5mbit\"\ndelay = \"5ms\"\n[queue]\ncore = \"fifo\"\n[[source]]\nname = \"download\"\n\
    kind = \"tcp\"\nfrom = \"s0\"\nto = \"r0\"\n[[source]]\nname = \"calls\"\nkind = \"cbr\"\n\
    from = \"s1\"\nto = \"r1\"\nrate = \"64kbit\"\npacket_len = 200\n";

fn run(folder: &Folder, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
    let output = command.args(arguments).current_dir(&folder.0).output();
    output.expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// What a command prints, kept in a file.
fn kept(folder: &Folder, file: &str, arguments: &[&str]) {
    let output = run(folder, arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    folder.file(file, &output.stdout);
}

/// Two scenarios, two queues and a replay.
fn results(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("s.toml", SCENARIO);
    folder.file("t.toml", SCENARIO.replace("fifo", "fq_codel"));
    kept(&folder, "s.json", &["simulate", "s.toml", "--json"]);
    kept(&folder, "t.json", &["simulate", "t.toml", "--json"]);
    let two = [
        "simulate", "s.toml", "--queue", "fifo", "--queue", "drr", "--json",
    ];
    kept(&folder, "two.json", &two);
    folder
}

/// The curves of a page's charts: each chart's title with its curves' names.
fn charts(folder: &Folder, page: &str) -> Vec<(String, Vec<String>)> {
    let page = fs::read_to_string(folder.0.join(page)).expect("a page");
    let (_, data) = page.split_once("id=\"data\">").expect("data");
    let (data, _) = data.split_once("</script>").expect("its end");
    let data: Value = serde_json::from_str(data).expect("JSON");
    let mut charts = Vec::new();
    for chart in data.as_array().expect("charts") {
        let mut names = Vec::new();
        for curve in chart["curves"].as_array().expect("curves") {
            names.push(curve["name"].as_str().expect("a name").to_owned());
        }
        charts.push((chart["title"].as_str().expect("a title").to_owned(), names));
    }
    charts
}

#[test]
fn two_files_are_two_curves_in_a_chart_for_each_kind_of_packets() {
    let folder = results("plot");
    let output = run(&folder, &["plot", "s.json", "t.json", "--html", "p.html"]);
    let told = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(told.contains("The p99 delay of calls is "), "{told}");
    assert!(told.contains(" with t, and "), "{told}");
    let charts = charts(&folder, "p.html");
    let both = vec!["s".to_owned(), "t".to_owned()];
    for title in [
        "Download: delay of packets",
        "Download: mean delay over time",
        "Calls: delay of packets",
        "Calls: mean delay over time",
    ] {
        assert!(
            charts.contains(&(title.to_owned(), both.clone())),
            "{title}: {charts:?}"
        );
    }
    let one = [
        "plot",
        "s.json",
        "t.json",
        "--figure",
        "delay_cdf",
        "--kind",
        "calls",
    ];
    let output = run(&folder, &[&one[..], &["--html", "p.html"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(self::charts(&folder, "p.html").len(), 1);
}

#[test]
fn queues_of_one_file_and_of_several_have_their_names() {
    let folder = results("plot-queues");
    let output = run(&folder, &["plot", "two.json", "--json"]);
    let printed = text(&output.stdout);
    crate::json::check(&printed, "plot");
    let plotted: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(plotted["results"][1]["label"], "drr");
    let calls = &plotted["results"][1]["kinds"][1];
    assert_eq!(calls["name"], "calls");
    let cdf = calls["delay_cdf"].as_array().expect("points");
    assert!(cdf.len() > 10 && cdf[cdf.len() - 1][1] == 1.0, "{calls}");
    let over_time = calls["delay_over_time"].as_array().expect("points");
    assert!(over_time.len() > 20, "{calls}");
    let output = run(&folder, &["plot", "two.json", "s.json"]);
    let told = text(&output.stdout);
    for label in ["two: fifo", "two: drr", " s "] {
        assert!(told.contains(label), "{label}: {told}");
    }
    // The page of two queues draws with the same charts.
    let two = [
        "simulate", "s.toml", "--queue", "fifo", "--queue", "drr", "--html", "p.html",
    ];
    assert!(run(&folder, &two).status.success());
    let drawn = charts(&folder, "p.html");
    let names = ["fifo", "drr"].map(str::to_owned).to_vec();
    assert!(
        drawn.contains(&("Calls: delay of packets".to_owned(), names)),
        "{drawn:?}"
    );
}

/// The kinds of a replay, and the phases of a live run, are results like others.
#[test]
fn a_replay_and_a_live_run_stand_beside_each_other() {
    let folder = results("plot-live");
    let capture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/captures/home-downlink.pcap"
    );
    let compare = [
        "compare",
        capture,
        "fifo",
        "drr",
        "--rate",
        "5mbit",
        "--no-cost",
        "--json",
    ];
    kept(&folder, "c.json", &compare);
    let told = text(&run(&folder, &["plot", "c.json", "--kind", "calls"]).stdout);
    assert!(
        told.contains("calls and games") && !told.contains("bulk"),
        "{told}"
    );
    let mut live = vec!["live", "--rate", "300kbit", "fifo", "--json", "--at"];
    live.extend(["300ms queue drr", "--", "bash", "-c"]);
    live.push("for i in {1..60}; do echo 1 > /dev/udp/{far}/9; sleep .01; done");
    let output = run(&folder, &live);
    if !output.status.success() {
        println!("not run: {}", text(&output.stderr));
        return;
    }
    folder.file("l.json", &output.stdout);
    let told = text(&run(&folder, &["plot", "s.json", "l.json"]).stdout);
    assert!(told.contains("up, short UDP"), "{told}");
    assert!(
        told.contains("l: 300kbit under fifo, 0.00 to 0.30 s"),
        "{told}"
    );
    assert!(told.contains("l: 300kbit under drr, "), "{told}");
}

#[test]
fn a_wrong_file_is_told_with_what_is_right() {
    let folder = results("plot-wrong");
    folder.file("list.json", r#"{"schema": "list/1"}"#);
    folder.file("old.json", r#"{"schema": "simulate/1", "name": "s"}"#);
    folder.file("other.json", "{}");
    for (arguments, part) in [
        (vec!["plot", "s.toml"], "s.toml: bad JSON: "),
        (vec!["plot", "no.json"], "there is no such file"),
        (
            vec!["plot", "list.json"],
            "list/1 has no delays to draw; expected what compare",
        ),
        (vec!["plot", "old.json"], "run roundelay simulate again"),
        (vec!["plot", "other.json"], "no result of roundelay"),
        (
            vec!["plot", "s.json", "--kind", "nope"],
            "no kind of packets is called 'nope': download, calls",
        ),
        (vec!["plot", "s.json", "--html", "s.json"], "s.json"),
        (vec!["plot", "s.json", "--figure", "loss"], "delay_cdf"),
        (vec!["plot"], "FILE"),
    ] {
        let output = run(&folder, &arguments);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(part), "{arguments:?}: {told}");
    }
    let kept = fs::read_to_string(folder.0.join("s.json")).expect("the result");
    assert!(
        kept.starts_with('{'),
        "a result is not overwritten by its page"
    );
}
