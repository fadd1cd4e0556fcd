//! `roundelay compare --tree`: a tree with other disciplines or alone, and errors for invalid
//! trees.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn roundelay(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
    command.current_dir(root()).args([
        "compare",
        "examples/captures/home-downlink.pcap",
        "--rate",
        "5mbit",
        "--no-cost",
    ]);
    command.args(arguments).output().unwrap()
}

/// The command in the example's first lines and in docs/trees.md.
#[test]
fn a_tree_is_compared_as_one_more_discipline() {
    let output = roundelay(&["--tree", "examples/trees/home.toml", "fifo", "--json"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let page: Value = serde_json::from_slice(&output.stdout).unwrap();
    let specs: Vec<_> = page["disciplines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["spec"].as_str().unwrap())
        .collect();
    assert_eq!(specs, ["fifo", "home"]);
    let of = |index: usize| page["disciplines"][index]["light_p99"].as_f64().unwrap();
    assert!(of(1) < of(0) / 2.0, "{} and {}", of(1), of(0));
    assert!(
        page["verdict"]["sentences"]
            .to_string()
            .contains("No tc commands for home: node 'link': Linux has no wf2q_plus")
    );
}

#[test]
fn a_tree_alone_is_all_that_is_compared() {
    let output = roundelay(&["--tree", "examples/trees/home.toml"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && text.contains("home") && !text.contains("fifo"),
        "{text}"
    );
}

#[test]
fn what_is_no_tree_is_a_usage_error_with_its_line() {
    let path = std::env::temp_dir().join(format!("roundelay-tree-{}.toml", std::process::id()));
    std::fs::write(&path, "[[node]]\nname = \"link\"\ndiscipline = \"fifo\"\n").unwrap();
    let output = roundelay(&["--tree", path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains(".toml:3: node 'link': fifo cannot share a link among children"),
        "{message}"
    );
    let missing = roundelay(&["--tree", "no-such-tree.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        String::from_utf8(missing.stderr)
            .unwrap()
            .contains("no-such-tree.toml")
    );
}
