//! `roundelay evaluate rfc7928`: scenarios by queues, marks, one dataset.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// A folder for one test, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("roundelay-evaluate-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn evaluate(&self, words: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_roundelay"))
            .args(["evaluate", "rfc7928"])
            .args(words.split_whitespace())
            .current_dir(&self.0)
            .output()
            .unwrap()
    }

    fn stdout(&self, words: &str) -> String {
        let output = self.evaluate(words);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}: {told}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn refused(&self, words: &str) -> String {
        let output = self.evaluate(words);
        assert_eq!(output.status.code(), Some(2), "{words}");
        String::from_utf8(output.stderr).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// The values of a figure by queue.
fn cells<'a>(result: &'a Value, scenario: &str, id: &str) -> Vec<&'a Value> {
    let named = |list: &'a Value, key: &str, name: &str| {
        let mut all = list.as_array().unwrap().iter();
        let found = all.find(|entry| entry[key] == name);
        found.unwrap_or_else(|| panic!("{scenario}: {name}"))
    };
    let scenario = named(&result["scenarios"], "name", scenario);
    let row = named(&scenario["rows"], "id", id);
    row["cells"].as_array().unwrap().iter().collect()
}

/// All scenarios run under two queues beside fifo, each figure has a value, and each queue a
/// sentence. Short runs judge nothing but that.
#[test]
fn all_sections_have_values_for_all_queues() {
    let folder = Folder::new("all");
    let text = folder.stdout("pie codel --quick --replicas 1 --json -q");
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["schema"], "evaluate/1");
    assert_eq!(
        result["queues"],
        serde_json::json!(["fifo", "pie", "codel"])
    );
    assert_eq!(result["is_quick"], true);
    let mut figures = 0;
    for scenario in result["scenarios"].as_array().unwrap() {
        for row in scenario["rows"].as_array().unwrap() {
            for cell in row["cells"].as_array().unwrap() {
                let name = &scenario["name"];
                // No page is complete within ten seconds of some mixes.
                let may_lack = row["id"] == "flow_completion_time";
                assert!(may_lack || cell["values"][0].is_number(), "{name}: {row}");
                figures += usize::from(cell["values"][0].is_number());
            }
        }
    }
    assert!(figures > 3 * 70, "{figures}");
    for sentence in result["sentences"].as_array().unwrap() {
        assert!(
            sentence.as_str().unwrap().contains("figures are good"),
            "{sentence}"
        );
    }
    // What the RFC's queue managers are for.
    let delays = cells(&result, "8.2.4", "queueing_delay_p99");
    assert!(delays[1]["values"][0].as_f64() < delays[0]["values"][0].as_f64());
    assert_eq!(delays[1]["to_fifo"], "better");
    assert_eq!(delays[0]["to_fifo"], Value::Null);
}

/// An evaluation goes on where another one ended: runs in the dataset are not repeated, and those of
/// another queue join them.
#[test]
fn it_is_a_sweep_that_goes_on() {
    let folder = Folder::new("resumed");
    let words = "--quick --sections 5.1.1,5.2 --replicas 2 --out d -q --json";
    let dataset = || fs::read(folder.0.join("d/runs.parquet")).unwrap();
    let first = folder.stdout(&format!("pie {words}"));
    let one = dataset();
    assert_eq!(folder.stdout(&format!("pie {words}")), first);
    assert_eq!(one, dataset());
    let both = folder.stdout(&format!("pie codel {words}"));
    assert!(dataset().len() > one.len());
    let first: Value = serde_json::from_str(&first).unwrap();
    let both: Value = serde_json::from_str(&both).unwrap();
    for id in ["queueing_delay_p99", "link_use"] {
        let before = cells(&first, "5.2", id);
        assert_eq!(before, cells(&both, "5.2", id)[..2], "{id}");
    }
}

/// Regression: a bare limit is in bytes under `red`, so that it dropped everything.
#[test]
fn all_queues_have_the_buffer_of_the_scenario_whatever_their_unit() {
    let folder = Folder::new("units");
    let words = "red afd sfb --quick --sections 5.2 --replicas 1 -q --json";
    for values in cells_of(&folder, words, "link_use") {
        assert!(values[0].as_f64() > Some(0.1), "{values}");
    }
}

/// A scenario that the command prints is one that `simulate` runs as it is, and a queue's own limit
/// stays.
#[test]
fn a_scenario_is_printed_and_a_limit_of_its_own_stays() {
    let folder = Folder::new("printed");
    let text = folder.stdout("--scenario 8.2.3");
    fs::write(folder.0.join("s.toml"), &text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .args(["simulate", "s.toml", "--dry-run"])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    assert!(output.status.success());
    let short = "fifo_plus --quick --sections 5.2 --replicas 1 -q --json";
    let equal = cells_of(&folder, short, "loss_ratio");
    assert_eq!(equal[0], equal[1], "in one flow fifo_plus is fifo");
    let long = "pfifo_x";
    assert!(folder.refused(long).contains("pfifo"), "an unknown queue");
}

fn cells_of(folder: &Folder, words: &str, id: &str) -> Vec<Value> {
    let result: Value = serde_json::from_str(&folder.stdout(words)).unwrap();
    let cells = cells(&result, "5.2", id);
    cells
        .into_iter()
        .map(|cell| cell["values"].clone())
        .collect()
}

#[test]
fn wrong_arguments_are_told_with_what_is_legal() {
    let folder = Folder::new("wrong");
    for (words, told) in [
        (
            "fq_codel --sections 5.9",
            "--sections: no section is called '5.9'",
        ),
        ("fq_codel --sections 5.9", "8.2.6-100ms"),
        ("fq_codel --sections 1", "no section is called '1'"),
        ("--scenario 5.1.2", "choose one of 5.1.2-iw3, 5.1.2-iw10"),
        ("fq_codel fq_codel", "queue 'fq_codel' stands twice"),
        ("fq_codl", "did you mean 'fq_codel'"),
        ("", "QUEUE"),
    ] {
        let message = folder.refused(words).to_lowercase();
        assert!(message.contains(&told.to_lowercase()), "{words}: {message}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .args(["evaluate", "rfc9999", "fifo"])
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("rfc7928"), "{message}");
    assert_eq!(
        fs::read_dir(&folder.0).unwrap().count(),
        0,
        "nothing was written"
    );
}

/// The table, Markdown and the page have the sentence, the thresholds and the marks.
#[test]
fn all_outputs_have_sentences_thresholds_and_marks() {
    let folder = Folder::new("outputs");
    let words = "pie --quick --sections 8.2.2 --replicas 1 -q --html a.html --markdown a.md";
    let table = folder.stdout(words);
    let [page, markdown] = ["a.html", "a.md"].map(|name| fs::read_to_string(folder.0.join(name)));
    for text in [table, page.unwrap(), markdown.unwrap()] {
        for part in [
            "pie has a bad p99 queueing delay",
            "20.0 ms, 50.0 ms",
            "✗",
            "8.2.2",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
