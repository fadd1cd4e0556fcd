//! Notes and commands of a comparison with trees.

use std::path::Path;

use crate::common::planted::*;
use roundelay_trace::{Capture, TreeFile};

use crate::told::{Told, compare};

fn run(capture: Capture, trees: Vec<TreeFile>, specs: &[&str], rate: &str) -> Told {
    compare(capture, &options_of(trees, specs, rate), &mut ()).unwrap()
}

#[test]
fn a_tree_is_one_more_lane_and_sorts_flows_by_their_headers() {
    // Three flows offer 24 Mbit/s to a link of 8: calls have four parts of five.
    let text = GOOD.replace("fq_codel target 10ms", "fifo");
    let other = tree_of(
        &text
            .replace("office", "even")
            .replace("weight = 4", "weight = 1"),
    )
    .unwrap();
    let comparison = run(
        capture(3, 400),
        vec![tree_of(&text).unwrap(), other],
        &["fifo", "wf2q_plus"],
        "8mbit",
    );
    let named: Vec<_> = comparison
        .disciplines
        .iter()
        .map(|result| (result.spec.as_str(), result.name))
        .collect();
    assert_eq!(
        named,
        [
            ("fifo", "fifo"),
            ("wf2q_plus", "wf2q_plus"),
            ("office", "tree"),
            ("even", "tree")
        ]
    );
    for result in &comparison.disciplines {
        assert_eq!(result.total.packets + result.total.drops.total(), 1200);
    }
    let of = |tree: usize, flow: usize| {
        comparison.disciplines[tree].flows[flow]
            .outcome
            .delay
            .unwrap()
            .max
    };
    let loss = |tree: usize| {
        comparison.disciplines[tree]
            .flows
            .iter()
            .map(|flow| flow.outcome.drops.total())
            .collect::<Vec<_>>()
    };
    assert!(
        loss(2)[0] > 0 && loss(2)[1] == 0 && loss(2)[2] == 0,
        "the leaf of the calls holds 50: {:?}",
        loss(2)
    );
    assert!(
        of(2, 0) < of(2, 1) && of(2, 0) < of(3, 0),
        "a larger weight, a shorter queue"
    );
    let again = run(capture(3, 400), vec![tree_of(&text).unwrap()], &[], "8mbit");
    assert_eq!(
        again.disciplines[0].total.bytes,
        comparison.disciplines[2].total.bytes
    );
    assert_eq!(again.verdict.best, Some(0));
}

#[test]
fn leaves_that_no_flow_goes_to_are_noted() {
    let comparison = run(capture(1, 3), vec![tree_of(GOOD).unwrap()], &[], "8mbit");
    let note = comparison
        .notes
        .iter()
        .find(|note| note.contains("office"))
        .expect("a note");
    assert!(
        note.contains("web") && !note.contains("calls") && !note.contains("rest"),
        "{note}"
    );
}

/// A tree of the other direction: its rules would match if sources were destinations.
#[test]
fn a_tree_of_the_other_direction_is_asked_about() {
    let note = |rule: &str| {
        let text = format!(
            "[[node]]\nname = \"link\"\ndiscipline = \"priority\"\n\
             [[node]]\nname = \"call\"\nparent = \"link\"\ndiscipline = \"fifo\"\n\
             flows = [\"{rule}\"]\n\
             [[node]]\nname = \"rest\"\nparent = \"link\"\ndiscipline = \"fifo\"\n\
             default = true\n"
        );
        let tree = tree_of(&text).unwrap();
        run(capture(3, 3), vec![tree], &[], "8mbit").notes.join(" ")
    };
    let asks = "is this the tree of the other direction?";
    assert!(!note("dst port 1001").contains("match no flow"));
    let reversed = note("src port 1001");
    assert!(
        reversed.contains("match no flow") && reversed.contains(asks),
        "{reversed}"
    );
    let neither = note("src port 7");
    assert!(
        neither.contains("match no flow") && !neither.contains(asks),
        "{neither}"
    );
}

/// The example: calls wait only for the few packets ahead of them, regardless of downloads, and no
/// host exceeds its share.
#[test]
fn the_example_keeps_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("examples/trees/home.toml")).unwrap();
    let tree = TreeFile::from_toml("home.toml", &text).unwrap();
    let capture = Capture::open(&root.join("examples/captures/home-downlink.pcap")).unwrap();
    let comparison = run(capture, vec![tree.clone()], &["fifo"], "5mbit");
    let call = comparison
        .flows
        .iter()
        .position(|flow| flow.label.contains("192.0.2.60"))
        .expect("the call");
    let [fifo, home] = [0, 1].map(|index| {
        comparison.disciplines[index].flows[call]
            .outcome
            .delay
            .unwrap()
            .p99
    });
    assert!(
        home < 0.006 && fifo > 1.0,
        "{home} s, and {fifo} s in a fifo"
    );
    let promised = tree
        .config()
        .leaf_guarantees("call", "5mbit".parse().unwrap())
        .unwrap();
    let worst = comparison.disciplines[1].flows[call]
        .outcome
        .delay
        .unwrap()
        .max;
    assert!(
        promised
            .t_wfi
            .is_some_and(|bound| worst < bound.value.as_secs_f64() + 0.02),
        "{worst} s and {promised:?}"
    );
    assert!(
        !comparison.notes.iter().any(|note| note.contains("home")),
        "{:?}",
        comparison.notes
    );
}

#[test]
fn a_tree_has_the_commands_of_linux_or_the_reason_why_not() {
    let verdict =
        |text: &str| run(capture(3, 40), vec![tree_of(text).unwrap()], &[], "8mbit").verdict;
    let reason = verdict(GOOD);
    assert!(reason.commands.is_empty());
    let last = reason.sentences.last().unwrap();
    assert!(
        last.starts_with(
            "No tc commands for office: node 'link': Linux has no wf2q_plus (classes of Linux are "
        ),
        "{last}"
    );
    let lines = verdict(&GOOD.replace("wf2q_plus", "drr")).commands;
    let has = |text: &str| lines.iter().any(|line| line.contains(text));
    assert!(
        has("handle 10: drr # link")
            && has("fq_codel target 10000us")
            && has("flower ip_proto udp dst_port 1001 flowid"),
        "{lines:?}"
    );
}
