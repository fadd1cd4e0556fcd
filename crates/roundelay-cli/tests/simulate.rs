//! `roundelay simulate` from the user's side.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use parquet::file::reader::{FileReader, SerializedFileReader};
use roundelay_sim::topologies::Template;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .arg("simulate")
        .args(arguments)
        .current_dir(root())
        .output();
    command.expect("the command runs")
}

fn stdout(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// A scenario file for one test, deleted on drop.
struct Scenario(PathBuf);

impl Scenario {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!(
            "roundelay-simulate-{}-{name}.toml",
            std::process::id()
        ));
        fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scenario {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

const SHORT: &str = r#"duration = "2s"
warmup = "100ms"
[topology]
template = "dumbbell"
pairs = 10
[queue]
core = "fifo limit 5"
[[source]]
name = "steady"
kind = "poisson"
from = "s*"
to = "r*"
rate = "450kbit"
[[source]]
name = "web"
kind = "request_response"
from = "s0"
to = "r0"
request = 400
response = 5000
think = "20ms"
"#;

#[test]
fn the_schema_names_what_scenarios_have() {
    let schema = stdout(&run(&["--schema"]));
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["title"], "Roundelay scenario");
    let kinds = schema.to_string();
    assert!(
        ["cbr", "arrivals", "leaf_spine", "rocketfuel"]
            .iter()
            .all(|name| kinds.contains(&format!("\"{name}\"")))
    );
}

/// The keys of a kind of source or of a template, in a cell of a table: each with its choices or
/// its default.
fn documented(schema: &Value, of: &Value, tag: &str) -> String {
    let cell = |key: &str, value: &Value| {
        let choices = value["$ref"].as_str().and_then(|reference| {
            schema["$defs"][reference.rsplit('/').next()?]["oneOf"].as_array()
        });
        let choices: Option<Vec<_>> =
            choices.and_then(|all| all.iter().map(|each| each["const"].as_str()).collect());
        match (&value["default"], choices) {
            (_, Some(choices)) => format!("`{key}` {}", choices.join(" or ")),
            (Value::Number(default), _) => format!("`{key}` {default}"),
            (Value::String(default), _) => format!("`{key}` {default}"),
            _ => format!("`{key}`"),
        }
    };
    let keys = of["properties"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, _)| *key != tag);
    keys.map(|(key, value)| cell(key, value))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A line of the schema's description without the full stop.
fn described(of: &Value) -> String {
    of["description"]
        .as_str()
        .unwrap()
        .replace('\n', " ")
        .trim_end_matches('.')
        .to_owned()
}

/// `ROUNDELAY_WRITE=1` rewrites the table of the page that begins with `head`.
fn check_table(page: &str, head: &str, rows: impl Iterator<Item = String>) {
    let path = root().join("docs/simulator").join(page);
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(head).expect("the head of the table");
    let after = rest.split_once("\n\n").expect("text after the table").1;
    let rule = "|---".repeat(head.matches(" | ").count() + 1);
    let new = format!(
        "{before}{head}\n{rule}|\n{}\n{after}",
        rows.collect::<String>()
    );
    if std::env::var_os("ROUNDELAY_WRITE").is_some() {
        fs::write(&path, &new).unwrap();
    } else {
        assert!(
            text == new,
            "{page}: write it anew: ROUNDELAY_WRITE=1 cargo test -p roundelay-cli --test all simulate::"
        );
    }
}

#[test]
fn the_page_has_a_row_for_every_kind_of_source() {
    let schema: Value = serde_json::from_str(&stdout(&run(&["--schema"]))).unwrap();
    let rows = schema["$defs"]["SourceTable"]["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kind| {
            let name = kind["properties"]["kind"]["const"].as_str().unwrap();
            format!(
                "| `{name}` | {} | {} |\n",
                documented(&schema, kind, "kind"),
                described(kind)
            )
        });
    check_table("scenarios.md", "| kind | keys | sends |", rows);
}

#[test]
fn the_page_has_a_row_for_every_template() {
    let schema: Value = serde_json::from_str(&stdout(&run(&["--schema"]))).unwrap();
    let templates = schema["$defs"]["Template"]["oneOf"].as_array().unwrap();
    assert_eq!(templates.len(), Template::NAMES.len());
    let rows = templates
        .iter()
        .zip(Template::SOURCES)
        .map(|(template, source)| {
            let name = template["properties"]["template"]["const"]
                .as_str()
                .unwrap();
            format!(
                "| `{name}` | {} | {} | {source} |\n",
                described(template),
                documented(&schema, template, "template")
            )
        });
    check_table(
        "topologies.md",
        "| template | nodes | parameters, with defaults | from |",
        rows,
    );
}

#[test]
fn the_help_names_every_template() {
    let help = stdout(&run(&["--help"]));
    let names = Template::NAMES.iter().chain(&["nodes"]);
    names.for_each(|name| assert!(help.contains(name), "no {name} in\n{help}"));
}

#[test]
fn examples_run() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("examples/scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            count += 1;
            let output = run(&[path.to_str().unwrap(), "--dry-run"]);
            assert!(
                stdout(&output).contains("packet-hops"),
                "{}",
                path.display()
            );
        }
    }
    assert!(count >= 3);
    let results: Value =
        serde_json::from_str(&stdout(&run(&["examples/scenarios/cities.toml", "--json"]))).unwrap();
    let all = &results["replicas"][0]["groups"][0];
    assert_eq!(
        (
            all["name"].as_str(),
            all["flows"].as_u64(),
            all["packets"]["lost"].as_u64()
        ),
        (Some("everybody"), Some(90), Some(0))
    );
    // 90 flows of 2 Mbit/s without any conflict.
    let throughput = all["throughput"].as_f64().unwrap();
    assert!((1.7e8..1.9e8).contains(&throughput), "{throughput}");
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let scenario = Scenario::new("threads", SHORT);
    for form in [&["--json"][..], &[]] {
        let with = |threads: &str| {
            stdout(&run(&[
                &[scenario.path(), "--replicas", "5", "--threads", threads],
                form,
            ]
            .concat()))
        };
        assert_eq!(with("1"), with("4"));
    }
}

/// A tree in a file stands beside disciplines, and gives what the same tree gives in the scenario.
#[test]
fn a_queue_may_be_a_tree_in_a_file() {
    let tree = root().join("examples/trees/home.toml");
    let named = format!("tree {} limit 100p", tree.display());
    let written = SHORT.replace("fifo limit 5", &named);
    assert_ne!(written, SHORT);
    let (plain, treed) = (
        Scenario::new("plain", SHORT),
        Scenario::new("treed", &written),
    );
    let groups = |arguments: &[&str]| -> Value {
        let output = run(&[arguments, &["--json"]].concat());
        let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
        json["replicas"][0]["groups"].clone()
    };
    let in_scenario = groups(&[treed.path()]);
    assert_eq!(groups(&[plain.path(), "--queue", &named]), in_scenario);
    assert_ne!(groups(&[plain.path()]), in_scenario);
    let both = run(&[plain.path(), "--queue", "fifo", "--queue", &named]);
    assert!(stdout(&both).contains("tree "), "{}", stdout(&both));

    for (queue, message) in [
        ("tree", "expected a tree's file, as in \"tree home.toml\""),
        (
            "home.toml",
            "a tree of disciplines in a file: \"tree home.toml\"",
        ),
        ("tree none.toml", "none.toml"),
        ("tree none.toml limit x", "expected packets"),
    ] {
        let refused = run(&[plain.path(), "--queue", queue]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(message), "{queue}: {said}");
    }
}

/// Results under several queues are those of each queue alone, and differences are taken seed by
/// seed.
#[test]
fn queues_stand_side_by_side_with_paired_differences() {
    let home = "examples/scenarios/home.toml";
    let ask = |queues: &[&str], more: &[&str]| {
        let mut arguments = vec![home];
        for queue in queues {
            arguments.extend(["--queue", queue]);
        }
        arguments.extend(more);
        run(&arguments)
    };
    let json = |queues: &[&str]| -> Value {
        let output = ask(queues, &["--replicas", "2", "--json"]);
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    let both = json(&["fq_codel", "fifo"]);
    for (place, queue) in ["fq_codel", "fifo"].into_iter().enumerate() {
        let together = &both["queues"][place];
        assert_eq!(together["queue"], queue);
        assert_eq!(
            together["simulated"]["replicas"],
            json(&[queue])["replicas"]
        );
    }
    // Calls are the first group; no transfer ends in them, so their figure is the p99 delay.
    let delay = |place: usize, replica: usize| {
        let replica = &both["queues"][place]["simulated"]["replicas"][replica];
        replica["groups"][0]["delay"]["p99"].as_f64().unwrap()
    };
    let (mut first, mut difference) = (0.0, 0.0);
    for replica in 0..2 {
        first += delay(0, replica) / 2.0;
        difference += (delay(1, replica) - delay(0, replica)) / 2.0;
    }
    let verdict = &both["verdicts"][0];
    assert_eq!(verdict["group"], "calls");
    assert_eq!(verdict["figure"], "delay_p99");
    let found = verdict["differences"][0]["mean"].as_f64().unwrap();
    assert!((found - difference / first).abs() < 1e-9, "{found}");
    let text = verdict["text"].as_str().unwrap();
    assert!(text.starts_with("calls: p99 delay "), "{text}");
    assert!(
        text.contains("under fq_codel; ") && text.ends_with("less than under fifo."),
        "{text}"
    );
    // Under the FIFO hardly a film becomes complete, so the mean of those that do tells nothing.
    let all = both["verdicts"].as_array().unwrap();
    let films = all.iter().find(|verdict| verdict["group"] == "films");
    let films = films.expect("films");
    assert_eq!(films["figure"], "throughput");
    let told = films["text"].as_str().unwrap();
    assert!(
        told.contains("throughput ") && told.contains(" Transfers that did not become complete: "),
        "{told}"
    );
    // One seed cannot tell what is chance, but it has figures.
    let alone = stdout(&ask(&["fq_codel", "fifo"], &[]));
    let words = alone.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("ms under fifo, of one seed."), "{alone}");
    let shown = stdout(&ask(&["fq_codel", "fifo"], &["--replicas", "2"]));
    assert!(shown.contains(text.split(';').next().unwrap()), "{shown}");
    assert!(shown.contains("+"), "{shown}");
    // What the other queue does for each group, in one sentence; of one seed, nothing is sure.
    let verdicts = both["verdicts"].as_array().unwrap();
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, told) = words.split_once("fifo beside fq_codel: ").expect(&shown);
    let worse = told.split_once("worse for ").expect(&shown).1;
    assert!(worse.starts_with("calls"), "{shown}");
    for verdict in verdicts {
        assert!(told.contains(verdict["group"].as_str().unwrap()), "{told}");
    }
    assert!(!alone.contains("fifo beside fq_codel"), "{alone}");
    // What the sentence is about is in the table of a narrow terminal.
    let calls = shown.split("\ncalls ").nth(1).expect("a table of calls");
    assert!(shown.contains("p99 delay ─"), "{shown}");
    assert!(
        calls
            .lines()
            .nth(2)
            .is_some_and(|line| line.contains(" ms")),
        "{shown}"
    );
    assert!(alone.contains("--replicas 10 tells"), "{alone}");
    for (queues, more, message) in [
        (
            &["fifo", "fifo"][..],
            &[][..],
            "--queue 'fifo' stands twice",
        ),
        (
            &["fifo", "drr"],
            &["--csv", "x"],
            "--csv: only of one queue",
        ),
        (
            &["fifo", "drr"],
            &["--dry-run"],
            "--dry-run is of one --queue",
        ),
    ] {
        let refused = ask(queues, more);
        assert_eq!(refused.status.code(), Some(2));
        let found = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(found.contains(message), "{found}");
    }
}

#[test]
fn replicas_have_seeds_of_their_own_and_intervals() {
    let scenario = Scenario::new("replicas", SHORT);
    let results: Value = serde_json::from_str(&stdout(&run(&[
        scenario.path(),
        "--replicas",
        "4",
        "--seed",
        "7",
        "--json",
    ])))
    .unwrap();
    let seeds: Vec<_> = results["replicas"]
        .as_array()
        .unwrap()
        .iter()
        .map(|replica| replica["seed"].as_u64().unwrap())
        .collect();
    assert_eq!(seeds, [7, 8, 9, 10]);
    let group = |replica: usize| {
        results["replicas"][replica]["groups"][0]["throughput"]
            .as_f64()
            .unwrap()
    };
    let mean = (0..4).map(group).sum::<f64>() / 4.0;
    let throughput = &results["summary"]["groups"][0]["throughput"];
    assert!((throughput["mean"].as_f64().unwrap() - mean).abs() < 1e-6 * mean);
    assert!(throughput["half_width"].as_f64().unwrap() > 0.0);
    let alone: Value =
        serde_json::from_str(&stdout(&run(&[scenario.path(), "--seed", "9", "--json"]))).unwrap();
    assert_eq!(alone["replicas"][0], results["replicas"][2]);
}

#[test]
fn replicas_without_anything_random_have_a_note() {
    let notes = |name: &str, text: &str, replicas: &str| -> Value {
        let scenario = Scenario::new(name, text);
        let results: Value = serde_json::from_str(&stdout(&run(&[
            scenario.path(),
            "--replicas",
            replicas,
            "--json",
        ])))
        .unwrap();
        results["notes"].clone()
    };
    let note =
        "all 3 replicas are equal: nothing random had an effect, and ±0 is no confidence interval";
    let constant = SHORT
        .rsplit_once("[[source]]")
        .unwrap()
        .0
        .replace("poisson", "cbr");
    assert!(
        notes("equal", &constant, "3")
            .as_array()
            .unwrap()
            .contains(&note.into())
    );
    for (text, replicas) in [(&*constant, "1"), (SHORT, "3")] {
        assert!(
            !notes("random", text, replicas)
                .to_string()
                .contains("replicas are equal")
        );
    }
}

/// The page says first what was tested and what came out, then draws, then lists.
#[test]
fn the_page_answers_then_draws_then_lists() {
    let scenario = Scenario::new("page", SHORT);
    let page = scenario.0.with_extension("html");
    let output = run(&[scenario.path(), "--html", page.to_str().unwrap()]);
    assert!(output.status.success());
    let html = fs::read_to_string(&page).unwrap();
    fs::remove_file(&page).unwrap();
    let mut places = Vec::new();
    for piece in [
        "<h1 id=\"answer\">Under fifo, the p99 delay of steady is ",
        "<dt>steady, p99 delay</dt>",
        "<dt>web, mean completion time</dt>",
        "id=\"sources-title\"",
        "id=\"delay\"",
        "id=\"throughput\"",
        "id=\"latency\"",
        "id=\"links-title\"",
    ] {
        let place = html.find(piece);
        assert!(place.is_some(), "no {piece}");
        places.push(place);
    }
    assert!(places.is_sorted(), "{places:?}");
}

/// The page of several queues has charts for each group, with a curve for each queue.
#[test]
fn queues_side_by_side_have_charts() {
    let scenario = Scenario::new("charts", SHORT);
    let page = scenario.0.with_extension("html");
    let path = page.to_str().unwrap();
    let queues = ["--queue", "fq_codel", "--queue", "fifo", "--replicas", "3"];
    let output = run(&[&[scenario.path(), "--html", path], &queues[..]].concat());
    assert!(output.status.success());
    let html = fs::read_to_string(&page).unwrap();
    fs::remove_file(&page).unwrap();
    for title in ["Steady: delay of packets", "Steady: mean delay over time"] {
        let (_, chart) = html
            .split_once(&format!("\"title\":\"{title}\""))
            .expect(title);
        let places = ["\"name\":\"fq_codel\"", "\"name\":\"fifo\""].map(|name| chart.find(name));
        assert!(
            places[0].is_some() && places.is_sorted(),
            "{title}: {places:?}"
        );
    }
    assert!(
        html.contains("p99 delay") && html.contains(" ±"),
        "intervals in words"
    );
    assert!(
        html.contains("<h1>fifo beside fq_codel: "),
        "the heading is the summary"
    );
}

/// The tables of replicas have means, so the drops in them are means too, on the terminal and on
/// the page.
#[test]
fn drops_of_replicas_are_means() {
    let scenario = Scenario::new("drops", SHORT);
    let path = scenario.0.with_extension("html");
    let arguments = [scenario.path(), "--replicas", "4"];
    let json: Value =
        serde_json::from_str(&stdout(&run(&[&arguments[..], &["--json"]].concat()))).unwrap();
    let mut full = 0.0;
    let mut on_link = 0.0;
    for replica in json["replicas"].as_array().unwrap() {
        full += replica["groups"][0]["packets"]["full"].as_f64().unwrap();
        for link in replica["links"].as_array().unwrap() {
            if link["from"] == "left" && link["to"] == "right" {
                on_link += link["dropped"][0].as_f64().unwrap();
            }
        }
    }
    let mean = full / 4.0;
    assert!(mean >= 10.0, "{mean}");
    let mut wide = Command::new(env!("CARGO_BIN_EXE_roundelay"));
    wide.arg("simulate").args(arguments).env("COLUMNS", "200");
    wide.arg("--html").arg(&path);
    let table = stdout(&wide.output().unwrap());
    let row = table.lines().find(|line| line.starts_with("steady"));
    let expected = format!(" {:.0} full", mean.round());
    assert!(
        row.unwrap().contains(&expected),
        "no '{expected}' in\n{table}"
    );
    let page = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    for (table, row, sum) in [
        ("sources", ">steady<", full),
        ("links", ">left &gt; right<", on_link),
    ] {
        let table = page.split(&format!("<table id=\"{table}\"")).nth(1);
        let cells = table.unwrap().split(row).nth(1).unwrap();
        let cells = cells.split("</tr>").next().unwrap();
        let expected = format!(">{:.0} full<", (sum / 4.0).round());
        assert!(cells.contains(&expected), "no '{expected}' in {cells}");
    }
}

/// `60%` and .6 are one load; what is neither is refused.
#[test]
fn a_utilisation_may_be_written_in_percent() {
    let with = |utilisation: &str| {
        let text = format!(
            "duration = \"100ms\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 4\n[[source]]\n\
             name = \"load\"\nkind = \"arrivals\"\nfrom = \"s*\"\nutilisation = {utilisation}\n\
             link_rate = \"10mbit\"\nsizes = \"web_search\"\n"
        );
        let scenario = Scenario::new("percent", &text);
        run(&[scenario.path(), "--json"])
    };
    assert_eq!(stdout(&with("\"60%\"")), stdout(&with("0.6")));
    for (wrong, message) in [
        ("\"60\"", "expected a fraction, as in 0.6 or \"60%\""),
        ("\"%\"", "expected a fraction"),
        ("true", "expected a fraction"),
        ("\"2000%\"", "above 0, to 10"),
    ] {
        let refused = with(wrong);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(message), "{wrong}: {said}");
    }
}

#[test]
fn the_table_has_sources_transfers_and_links() {
    let scenario = Scenario::new("table", SHORT);
    let table = stdout(&run(&[scenario.path()]));
    for piece in [
        "steady",
        "web",
        "all",
        "throughput",
        "Jain",
        "completion time",
        "core",
        "busiest",
        "full",
        "seed 1",
    ] {
        assert!(table.contains(piece), "no '{piece}' in\n{table}");
    }
    assert!(
        table.lines().all(|line| line.chars().count() <= 100),
        "{table}"
    );
}

/// The table has a column for marks of Edge-CoDel if there are any.
#[test]
fn the_table_has_marks_of_edge_codel() {
    let text = "duration = \"3s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 4\nrate = \"5mbit\"\n[queue]\ncore = \"fifo limit 200\"\n\
        [[source]]\nname = \"bulk\"\nkind = \"tcp\"\nfrom = \"s*\"\nto = \"r*\"\ntcp = { ecn = true }\nedge_codel = { mark = true }\n";
    let table = |text: &str| {
        let scenario = Scenario::new("edge-marks", text);
        stdout(&run(&[scenario.path()]))
    };
    assert!(table(text).contains("edge marks"), "{}", table(text));
    assert!(!table(&text.replace("edge_codel = { mark = true }\n", "")).contains("edge marks"));
}

#[test]
fn what_is_wrong_is_said_and_the_status_is_2() {
    let scenario = Scenario::new("wrong", &SHORT.replace("pairs = 10", "pairs = 0"));
    let cases: [(&[&str], &str); 5] = [
        (
            &[scenario.path()],
            "toml:5: pairs: 0 is not in the legal range 1 to 500000",
        ),
        (&["nowhere.toml"], "nowhere.toml: "),
        (
            &["--template", "dumbell"],
            "no template is called 'dumbell' (did you mean 'dumbbell'?): dumbbell, ",
        ),
        (&[], "required"),
        (
            &[scenario.path(), "--replicas", "0"],
            "legal range 1 to 10000",
        ),
    ];
    for (arguments, message) in cases {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(message), "{arguments:?} says {said}");
    }
}

#[test]
fn parquet_has_a_row_a_replica_and_flow() {
    let scenario = Scenario::new("parquet", SHORT);
    let folder =
        std::env::temp_dir().join(format!("roundelay-simulate-{}-parquet", std::process::id()));
    stdout(&run(&[
        scenario.path(),
        "--replicas",
        "2",
        "--parquet",
        folder.to_str().unwrap(),
    ]));
    let rows = |name: &str| {
        let file = fs::File::open(folder.join(name)).unwrap();
        SerializedFileReader::new(file)
            .unwrap()
            .metadata()
            .file_metadata()
            .num_rows()
    };
    // Ten steady flows, and two between client and server; 20 pairs of access links, and the pair
    // between the routers.
    assert_eq!(
        (rows("flows.parquet"), rows("links.parquet")),
        (2 * 12, 2 * 42)
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_template_can_be_run() {
    let text = stdout(&run(&["--template", "parking_lot"]));
    assert!(text.starts_with("# One flow crosses three bottlenecks"));
    let scenario = Scenario::new(
        "template",
        &text
            .replace("\"20s\"", "\"2s\"")
            .replace("\"5s\"", "\"1s\""),
    );
    assert!(stdout(&run(&[scenario.path(), "-q"])).contains("long way"));
}

/// Formerly, a missing discipline in a table of decision costs was reported as a failed run,
/// without the file.
#[test]
fn a_discipline_without_a_decision_cost_is_a_wrong_use() {
    let scenario =
        std::env::temp_dir().join(format!("roundelay-decision-{}.toml", std::process::id()));
    let port = "[[port]]\nfrom = \"left\"\nto = \"right\"\nqueue = \"afq\"\ndecision = { afq = \"1ms\", drr = \"1ms\" }\n";
    let source = "[[source]]\nkind = \"cbr\"\nfrom = \"s0\"\nto = \"r0\"\nrate = \"1mbit\"\n";
    fs::write(
        &scenario,
        format!(
            "duration = \"1s\"\ntopology = {{ template = \"dumbbell\", pairs = 1 }}\n{port}{source}"
        ),
    )
    .unwrap();
    let path = scenario.to_str().unwrap();
    let queue = |discipline: &str| run(&[path, "--queue", discipline]);
    let (known, unknown) = (queue("drr"), queue("qfq"));
    fs::remove_file(&scenario).unwrap();
    assert!(
        known.status.success(),
        "{}",
        String::from_utf8_lossy(&known.stderr)
    );
    let message = String::from_utf8_lossy(&unknown.stderr);
    assert_eq!(unknown.status.code(), Some(2), "{message}");
    let expected = format!(
        "{path}: --queue: link left > right: qfq: decision: expected a time for qfq, 0 if its decisions cost none; the table has afq, drr"
    );
    assert!(message.contains(&expected), "{message}");
}

/// A home behind a line of 20 Mbit/s, with a download, a ping and a way back that is not slow.
const LINE: &str = r#"
duration = "4s"
warmup = "1s"
[[node]]
name = "server"
host = true
[[node]]
name = "isp"
[[node]]
name = "router"
[[node]]
name = "home"
host = true
[[link]]
from = "server"
to = "isp"
rate = "1gbit"
delay = "10ms"
[[link]]
from = "isp"
to = "router"
rate = "1gbit"
[[link]]
from = "router"
to = "home"
rate = "1gbit"
[[port]]
from = "isp"
to = "router"
rate = "20mbit"
[[source]]
name = "download"
kind = "tcp"
from = "server"
to = "home"
[[source]]
name = "ping"
kind = "cbr"
from = "home"
to = "server"
rate = "8kbit"
packet_len = 98
"#;

/// Regression: a shaper for the line was on the way back and at the home too, and fq_codel had 1000
/// packets in `simulate` and 10,240 in `compare`.
#[test]
fn a_queue_shapes_where_it_stands_and_has_its_own_limit() {
    let scenario = Scenario::new("line", LINE);
    let links = |queue: &str| -> Vec<(String, String, String)> {
        let output = run(&[scenario.path(), "--queue", queue, "--json"]);
        let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let mut links = Vec::new();
        for link in json["replicas"][0]["links"].as_array().unwrap() {
            let text = |name: &str| link[name].as_str().unwrap().to_owned();
            let ends = format!("{} > {}", text("from"), text("to"));
            links.push((ends, text("queue"), text("buffer")));
        }
        links
    };
    let shaped = |queue: &str| {
        let mut found = Vec::new();
        for (ends, text, _) in links(queue) {
            if text.contains("16mbit") || text.starts_with("tree") {
                found.push(ends);
            }
        }
        found
    };
    assert_eq!(shaped("cake bandwidth 16mbit"), ["isp > router"]);
    let folder = std::env::temp_dir().join(format!("shaped-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let tree = folder.join("line.toml");
    let text = "[[node]]\nname = \"root\"\ndiscipline = \"htb\"\n[[node]]\nname = \"all\"\nparent = \
                \"root\"\ndiscipline = \"fq_codel\"\nrate = \"16mbit\"\ndefault = true\n";
    std::fs::write(&tree, text).unwrap();
    assert_eq!(
        shaped(&format!("tree {}", tree.display())),
        ["isp > router"]
    );
    drop(std::fs::remove_dir_all(&folder));
    // A rate that no link reaches shapes none, so the queue goes everywhere, as others do.
    let everywhere = |queue: &str, name: &str| {
        let all = links(queue);
        all.iter()
            .filter(|(_, text, _)| text.contains(name))
            .count()
    };
    assert_eq!(everywhere("cake bandwidth 2gbit", "cake"), 4);
    assert_eq!(everywhere("fq_codel", "fq_codel"), 4);
    for (ends, queue, buffer) in links("fq_codel") {
        if queue.contains("fq_codel") {
            assert!(buffer.contains("10240p"), "{ends}: {buffer}");
        }
    }
}

/// Regression: a ping that waits 50 us under a FIFO and 480 ns under cake was "worse" for it.
#[test]
fn differences_that_nobody_notices_make_no_queue_better() {
    let text = LINE.replace("kind = \"tcp\"", "kind = \"cbr\"\nrate = \"10mbit\"");
    let scenario = Scenario::new("nothing", &text);
    let queues = ["--queue", "fq_codel", "--queue", "fifo limit 5000"];
    let output = run(&[&[scenario.path(), "--replicas", "3"], &queues[..]].concat());
    let words = stdout(&output);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("no notable difference for download, ping"),
        "{words}"
    );
    assert!(
        words.contains("ping: no queue is notably better in p99 delay"),
        "{words}"
    );
}

/// Fairness by host: eight flows of one host and one of another.
#[test]
fn hosts_have_an_index_and_a_least_share() {
    let sources = "[[source]]\nname = \"eight\"\nkind = \"cbr\"\nfrom = \"s0\"\nto = \"r0\"\nrate = \
                   \"3mbit\"\ncount = 8\n[[source]]\nname = \"one\"\nkind = \"cbr\"\nfrom = \"s1\"\nto = \
                   \"r1\"\nrate = \"8mbit\"\n";
    let of = |queue: &str| -> Value {
        let text = format!(
            "duration = \"4s\"\nwarmup = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = \
             2\nrate = \"10mbit\"\n[queue]\ncore = \"{queue}\"\n{sources}"
        );
        let scenario = Scenario::new("hosts", &text);
        let json = stdout(&run(&[scenario.path(), "--json"]));
        let json: Value = serde_json::from_str(&json).unwrap();
        let table = stdout(&run(&[scenario.path()]));
        assert!(table.contains("hosts"), "{table}");
        json["replicas"][0]["groups"][2].clone()
    };
    let figures =
        |group: &Value| ["jain", "jain_hosts", "least_host"].map(|name| group[name].as_f64());
    let [flows, hosts, least] = figures(&of("cake dual-dsthost")).map(Option::unwrap);
    assert!(
        flows < 0.6 && hosts > 0.999 && least > 0.98,
        "{flows} {hosts} {least}"
    );
    let [flows, hosts, least] = figures(&of("cake flows")).map(Option::unwrap);
    assert!(
        flows > 0.999 && hosts < 0.7 && least < 0.25,
        "{flows} {hosts} {least}"
    );
}
