//! `roundelay objective`: R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 3.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A folder for one test, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("roundelay-objective-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.0.join(name);
        fs::write(&file, text).unwrap();
        file
    }

    /// Flows of 1 and 20 packets on one slow link at 70 % load; the table begins in line 19.
    fn flows(&self, objective: &str) -> PathBuf {
        let text = format!(
            "duration = \"12s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 4\nrate = \"5mbit\"\n[queue]\ncore = \"fifo limit 100000\"\n\
             [meter]\nstarted = [\"0s\", \"8s\"]\n[[source]]\nkind = \"arrivals\"\nfrom = [\"s*\", \"r*\"]\napart = \"core\"\nutilisation = 0.7\n\
             link_rate = \"1250kbit\"\nsizes = [[1000, 0.7], [20000, 1.0]]\ntransport = \"burst\"\npacket_len = 1000\n{objective}"
        );
        self.write("flows.toml", &text)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

const COMPLETION: &str = "[objective]\nmeasure = \"completion\"\n";

fn objective(scenario: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .arg("objective")
        .arg(scenario)
        .args(options)
        .output()
        .unwrap()
}

fn stdout(scenario: &Path, options: &[&str]) -> String {
    let output = objective(scenario, options);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn json(scenario: &Path, options: &[&str]) -> Value {
    serde_json::from_str(&stdout(scenario, &[options, &["--json"]].concat())).unwrap()
}

fn error(scenario: &Path, options: &[&str]) -> String {
    let output = objective(scenario, options);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    message
}

#[test]
fn slack_by_size_makes_flows_as_short_as_sjf_does() {
    let folder = Folder::new("size");
    let results = json(&folder.flows(COMPLETION), &["--with", "srpt"]);
    assert_eq!(
        (&results["figure"], &results["slack"]),
        (&"completion".into(), &"size 1s".into())
    );
    assert_eq!(
        (&results["lstf"]["answer"], &results["fifo"]["answer"]),
        (&"does".into(), &"does_not".into()),
        "{results:#}"
    );
    let rows = results["disciplines"].as_array().unwrap();
    let queues: Vec<_> = rows
        .iter()
        .map(|row| row["queue"].as_str().unwrap())
        .collect();
    assert_eq!(queues, ["fifo", "sjf", "lstf", "srpt"]);
    assert!(
        rows.iter()
            .all(|row| row["replicas"].as_array().unwrap().len() == 5
                && row["value"]["half_width"].is_number())
    );
    assert!(
        rows[0]["worse"]["mean"].as_f64() > Some(0.2)
            && rows[2]["worse"]["mean"].as_f64() < Some(0.02),
        "{results:#}"
    );
}

/// A deliberate fault: with equal slack LSTF is a FIFO over the path, regardless of the objective.
#[test]
fn the_wrong_slack_does_not_do() {
    let folder = Folder::new("wrong-slack");
    let written = json(
        &folder.flows(&format!("{COMPLETION}slack = \"slack 1s\"\n")),
        &[],
    );
    assert_eq!(written["lstf"]["answer"], "does_not");
    assert!(
        written["lstf"]["sentence"]
            .as_str()
            .unwrap()
            .starts_with("lstf does not do as well as sjf: its mean flow completion time is")
    );
    assert_eq!(
        json(&folder.flows(COMPLETION), &["--slack", "slack 1s"]),
        written
    );
    let one = json(&folder.flows(COMPLETION), &["--replicas", "1"]);
    assert_eq!(one["lstf"]["answer"], "cannot_tell");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let folder = Folder::new("threads");
    let scenario = folder.flows(COMPLETION);
    let [one, four] = ["1", "4"].map(|threads| {
        stdout(
            &scenario,
            &["--replicas", "3", "--json", "--threads", threads],
        )
    });
    assert!(one == four && !one.contains("\"cost\""));
    let cost = &json(&scenario, &["--replicas", "2", "--cost"])["cost"];
    assert_eq!(cost["disciplines"].as_array().unwrap().len(), 3);
    assert!(
        cost["backlog"].as_u64() >= Some(1) && cost["disciplines"][0]["over_fifo"] == 1.0,
        "{cost}"
    );
}

/// A measure on the command line has its own slack and specialist; fairness uses the available
/// figure.
#[test]
fn the_command_line_stands_in_for_the_table() {
    let folder = Folder::new("measures");
    let scenario = folder.flows(&format!(
        "{COMPLETION}slack = \"remaining 1s\"\nspecialist = \"srpt\"\nthreshold = 0.5\n"
    ));
    let tail = json(&scenario, &["--objective", "tail", "--replicas", "2"]);
    assert_eq!(
        (&tail["slack"], &tail["specialist"], &tail["figure"]),
        (
            &"slack 1s".into(),
            &"fifo_plus".into(),
            &"delay_tail".into()
        )
    );
    assert_eq!(tail["threshold"], 0.5);
    let fair = json(
        &scenario,
        &[
            "--objective",
            "fairness",
            "--slack",
            "fair 1mbit",
            "--replicas",
            "2",
        ],
    );
    assert_eq!(
        (&fair["figure"], &fair["specialist"]),
        (&"completion_by_bytes".into(), &"packet_fq".into())
    );
}

#[test]
fn the_table_and_the_page_say_the_verdict() {
    let folder = Folder::new("table");
    let page = folder.0.join("page.html");
    let table = stdout(
        &folder.flows(COMPLETION),
        &["--html", page.to_str().unwrap(), "-q", "--replicas", "3"],
    );
    for part in [
        "queue of routers",
        "worse than sjf",
        "over fifo",
        "lstf does as well as sjf",
        "fifo does not do as well",
        "Cost: ",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("id=\"chart0\"") || html.contains("id=\"chart1\""));
    assert!(html.contains("lstf does as well as sjf") && !html.contains("src=\"http"));
}

/// A buffer of five packets makes the delays of the remaining packets short.
#[test]
fn rows_are_as_written_and_loss_is_not_rewarded() {
    let folder = Folder::new("limit");
    let scenario = folder.flows(COMPLETION);
    let results = json(
        &scenario,
        &[
            "--objective",
            "tail",
            "--with",
            "lifo",
            "--with",
            "fifo  limit 5",
            "--specialist",
            "fifo limit 6",
        ],
    );
    let queues: Vec<_> = results["disciplines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["queue"].as_str().unwrap())
        .collect();
    assert_eq!(
        queues,
        ["fifo", "fifo limit 6", "lstf", "lifo", "fifo limit 5"]
    );
    assert_eq!(results["fifo"]["answer"], "cannot_tell");
    let sentence = results["fifo"]["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("but it loses none of the packets where fifo limit 6 loses "),
        "{sentence}"
    );
}

/// A run of two days would take minutes.
#[test]
fn a_figure_that_cannot_be_is_told_before_the_runs() {
    let folder = Folder::new("early");
    let text = "duration = \"172800s\"\n[topology]\ntemplate = \"dumbbell\"\n[[source]]\nkind = \"cbr\"\nfrom = \"s*\"\nto = \"r*\"\nrate = \"10kbit\"\n";
    let scenario = folder.write("open.toml", text);
    let start = std::time::Instant::now();
    assert!(
        error(&scenario, &["--objective", "completion"])
            .contains("completion cannot be told: no flow with an end")
    );
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn wrong_objectives_are_told() {
    let folder = Folder::new("wrong");
    let of = |text: &str| error(&folder.flows(text), &[]);
    assert!(of("").contains("flows.toml: no objective: add a table [objective]"));
    assert!(
        of("[objective]\nmeasure = \"speed\"\n")
            .contains("flows.toml:20: measure: 'speed': expected an objective: completion, ")
    );
    assert!(
        of("[objective]\nmeasure = \"tail\"\nthreshold = 2\n")
            .contains("flows.toml:21: threshold: 2: expected a share, legal range 0 to 1")
    );
    assert!(of("[objective]\nmeasure = \"fairness\"\n").contains(
        "flows.toml:19: [objective] slack: fairness needs one, as in slack = \"fair 10mbit\""
    ));
    assert!(
        of("[objective]\nmeasure = \"weighted-fairness\"\nslack = \"fair 1mbit\"\n")
            .contains("two flows or more that stay open")
    );
    assert!(
        of("[ objective ]\nmeasure = \"fairness\"\n")
            .contains("flows.toml:19: [objective] slack: fairness needs one")
    );
    let scenario = folder.flows(COMPLETION);
    assert!(
        error(&scenario, &["--objective", "speed"])
            .contains("completion, completion-by-bytes, tail")
    );
    assert!(error(&scenario, &["--slack", "priority 1"]).contains("expected a slack"));
    assert!(error(&scenario, &["--with", "sjf"]).contains("'sjf' would run twice"));
    assert!(
        error(&scenario, &["--html", scenario.to_str().unwrap()])
            .contains("both the scenario and --html")
    );
    assert!(error(&scenario, &["--specialist", "lsft"]).contains("lstf"));
}

/// Other commands ignore the table.
#[test]
fn the_example_runs_and_simulate_ignores_its_table() {
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios/objective.toml");
    let results = json(&example, &[]);
    assert_eq!(
        (&results["lstf"]["answer"], &results["fifo"]["answer"]),
        (&"does".into(), &"does_not".into())
    );
    let simulated = Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .arg("simulate")
        .arg(&example)
        .arg("--json")
        .output()
        .unwrap();
    let simulated: Value = serde_json::from_slice(&simulated.stdout).unwrap();
    assert_eq!(
        simulated["notes"].as_array().unwrap().len(),
        0,
        "{}",
        simulated["notes"]
    );
}

/// A call of 100 kbit/s beside TCP flows behind CoDel; the table begins in line 18.
const CALL: &str = "duration = \"6s\"\nwarmup = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 2\nrate = \"5mbit\"\n[queue]\n\
    core = \"codel limit 200\"\n[[source]]\nname = \"call\"\nkind = \"cbr\"\nfrom = \"s0\"\nto = \"r0\"\nrate = \"100kbit\"\npacket_len = 200\n\
    [[source]]\nname = \"bulk\"\nkind = \"tcp\"\nfrom = \"s*\"\nto = \"r*\"\nurgency = \"slack 10s\"\n\
    [objective]\nmeasure = \"tail\"\nsource = \"call\"\nslack = \"own\"\n";

/// In the tail over all packets, the call is hidden by TCP's packets.
#[test]
fn one_source_can_count_and_others_pay() {
    let folder = Folder::new("source");
    let scenario = folder.write("call.toml", CALL);
    let of = |results: &Value, row: usize, key: &str| {
        results["disciplines"][row][key]["mean"].as_f64().unwrap()
    };
    let call = json(&scenario, &["--replicas", "2"]);
    assert_eq!(
        (&call["source"], &call["slack"], &call["buffers"]),
        (&"call".into(), &"own".into(), &serde_json::json!(["200p"]))
    );
    assert!(
        of(&call, 2, "value") < 0.1 * of(&call, 0, "value"),
        "{call:#}"
    );
    let sources = |row: usize| call["disciplines"][row]["sources"].as_array().unwrap();
    assert_eq!(
        sources(2)
            .iter()
            .map(|source| source["name"].as_str().unwrap())
            .collect::<Vec<_>>(),
        ["call", "bulk"]
    );
    assert_eq!(
        sources(2)[0]["tail"]["mean"].as_f64().unwrap(),
        of(&call, 2, "value")
    );
    assert!(sources(2)[1]["tail"]["mean"].as_f64() > Some(0.1));
    let endless = error(
        &scenario,
        &["--objective", "completion", "--source", "bulk"],
    );
    assert!(
        endless.contains("[objective] completion of bulk cannot be told: no flow with an end"),
        "{endless}"
    );
    assert!(
        error(&scenario, &["--source", "cal"])
            .contains("no source is called 'cal' (did you mean 'call'?): call, bulk")
    );
}

/// The row of the scenario's own queues; notes on headers that no source writes, and on the slack
/// of sources without an end.
#[test]
fn own_queues_are_a_row_and_what_headers_lack_is_told() {
    let folder = Folder::new("own");
    let scenario = folder.write("call.toml", CALL);
    let results = json(
        &scenario,
        &["--with", "edf", "--replicas", "2", "--slack", "size 1s"],
    );
    let queues: Vec<_> = results["disciplines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["queue"].as_str().unwrap())
        .collect();
    assert_eq!(queues, ["fifo", "fifo_plus", "lstf", "edf", "own: codel"]);
    let notes: Vec<_> = results["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note.as_str().unwrap())
        .collect();
    let has = |start: &str, end: &str| {
        notes
            .iter()
            .any(|note| note.starts_with(start) && note.ends_with(end))
    };
    assert!(
        has("Under edf: No source writes deadlines", ": edf."),
        "{notes:?}"
    );
    assert!(
        has(
            "Under lstf: Sources with endless flows: call, bulk.",
            "behind all others."
        ),
        "{notes:?}"
    );
    let table = stdout(&scenario, &["--replicas", "2", "--no-cost"]);
    for part in [
        "99th percentile of packet delay, of call.",
        "Slack of lstf: of each source its own.",
        "Buffers of routers: 200p.",
        "own: codel",
        "p99 delay, and loss if any",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let own_is_fifo = folder.write(
        "fifo.toml",
        &CALL.replace("codel limit 200", "fifo limit 200"),
    );
    assert_eq!(
        json(&own_is_fifo, &["--replicas", "1"])["disciplines"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}

/// Interactive packets must arrive within 40 ms; bulk TCP fills the queue.
#[test]
fn deadlines_are_met_as_edf_meets_them() {
    let folder = Folder::new("deadline");
    let wanted = "[objective]\nmeasure = \"deadline\"\nsource = \"call\"\nslack = \"own\"\n[meter]\nlate = \"40ms\"\n";
    let calls = CALL
        .replace(
            "packet_len = 200\n",
            "packet_len = 200\nurgency = \"deadline 40ms\"\n",
        )
        .replace("slack 10s", "deadline 10s");
    let (network, _) = calls.split_once("[objective]").unwrap();
    let results = json(
        &folder.write("call.toml", &format!("{network}{wanted}")),
        &["--replicas", "2"],
    );
    assert_eq!(
        (&results["figure"], &results["specialist"]),
        (&"in_time".into(), &"edf".into())
    );
    let in_time = |row: usize| {
        results["disciplines"][row]["value"]["mean"]
            .as_f64()
            .unwrap()
    };
    assert!(
        in_time(0) < 0.9 && in_time(1) > 0.99 && (in_time(2) - in_time(1)).abs() < 0.01,
        "{results:#}"
    );
    assert_eq!(
        (&results["lstf"]["answer"], &results["fifo"]["answer"]),
        (&"does".into(), &"does_not".into())
    );
    let scenario = folder.write("plain.toml", network);
    let one = json(
        &scenario,
        &[
            "--objective",
            "deadline",
            "--slack",
            "deadline 40ms",
            "--source",
            "call",
            "--replicas",
            "2",
        ],
    );
    assert!(
        one["disciplines"][1]["value"]["mean"].as_f64() < Some(0.99),
        "one deadline for all does not tell calls from bulk: {one:#}"
    );
    assert!(
        error(&scenario, &["--objective", "deadline"])
            .contains("deadline needs one, as in slack = \"deadline 10ms\"")
    );
    assert!(
        error(
            &scenario,
            &["--objective", "deadline", "--slack", "slack 1s"]
        )
        .contains("which delay is late?")
    );
}

/// Two open sources have 2.1 times the link's rate, and the slack of one is a thousand times the
/// other's: hardly any packet of the second arrives. The delays of those delivered prove nothing.
#[test]
fn a_starved_source_is_told() {
    let source = |name, slack| {
        format!(
            "[[source]]\nname = \"{name}\"\nkind = \"poisson\"\nfrom = \"s0\"\nto = \"r0\"\nrate = \"10.5mbit\"\nurgency = \"slack {slack}\"\n"
        )
    };
    let network = "[topology]\ntemplate = \"dumbbell\"\npairs = 1\nrate = \"10mbit\"\naccess_rate = \"1gbit\"\n[queue]\ncore = \"fifo limit 1000000\"\n";
    let text = format!(
        "duration = \"5s\"\n{network}{}{}",
        source("now", "1s"),
        source("later", "1000s")
    );
    let folder = Folder::new("starved");
    let scenario = folder.write("starved.toml", &text);
    let told = stdout(
        &scenario,
        &[
            "--objective",
            "tail",
            "--slack",
            "own",
            "--replicas",
            "3",
            "--no-cost",
        ],
    );
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("Who pays: under lstf these sources") && words.contains("later ("),
        "{told}"
    );
    assert!(words.contains("% undelivered"), "{told}");
    assert!(!words.contains("better than both"), "{told}");
    assert!(
        words.contains("cannot be told")
            && words.contains("of the packets of one source where fifo_plus leaves undelivered"),
        "{told}"
    );
    let results = json(
        &scenario,
        &["--objective", "tail", "--slack", "own", "--replicas", "2"],
    );
    let undelivered = |row: usize| {
        results["disciplines"][row]["sources"][1]["undelivered"]["mean"]
            .as_f64()
            .unwrap()
    };
    assert!(undelivered(2) > 0.9 && undelivered(0) < 0.7, "{results:#}");
}

/// A figure that only some disciplines have is refused with their names.
#[test]
fn disciplines_without_the_figure_are_named() {
    let text = "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 1\n[[source]]\nkind = \"poisson\"\nfrom = \"s0\"\nto = \"r0\"\nrate = \"1mbit\"\n";
    let folder = Folder::new("lacking");
    let scenario = folder.write("lacking.toml", text);
    let said = error(
        &scenario,
        &[
            "--objective",
            "tail",
            "--specialist",
            "fifo_plus limit 0",
            "--no-cost",
        ],
    );
    assert!(
        said.contains(
            "tail cannot be told under fifo_plus limit 0: no packet arrives after the warm-up"
        ),
        "{said}"
    );
    let said = error(
        &scenario,
        &["--objective", "tail", "--specialist", "lstf", "--no-cost"],
    );
    assert!(
        said.contains("'lstf' would run twice") && said.contains("expected another --specialist"),
        "{said}"
    );
}

/// A source without random draws has the same figure for all seeds, and a sentence reports this.
#[test]
fn equal_seeds_are_told() {
    let told = "Each discipline has the same figure for all seeds.";
    let text = |kind: &str| {
        format!(
            "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 1\n[[source]]\nkind = \"{kind}\"\nfrom = \"s0\"\nto = \"r0\"\n\
             rate = \"5mbit\"\n"
        )
    };
    let folder = Folder::new("equal");
    for (kind, is_equal) in [("cbr", true), ("poisson", false)] {
        let scenario = folder.write("equal.toml", &text(kind));
        let words = stdout(
            &scenario,
            &["--objective", "tail", "--replicas", "3", "--no-cost"],
        );
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words.contains(told), is_equal, "{kind}: {words}");
    }
}
