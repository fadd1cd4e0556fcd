//! `docs/schedulers/README.md`: a table of all disciplines, generated from the registry and the
//! costs measured by `make costs`.

use std::fs;
use std::path::{Path, PathBuf};

use roundelay::Seed;
use roundelay::schedulers::{AnyDiscipline, Discipline, Visitor};
use roundelay::{Bytes, Control, Duration, Footprint, Share};

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/schedulers")
        .join(name)
}

/// One of a hundred equal flows on 100 Mbit/s, with packets of up to 1500 bytes.
fn share() -> Share {
    Share {
        weight: 1,
        total_weight: 100,
        least_weight: 1,
        flows: 100,
        max_packet_len: 1500,
        link_max_packet_len: 1500,
        rate: "100mbit".parse().expect("a rate"),
    }
}

/// Delay bound of a discipline for this flow, and memory.
struct Row;

impl Visitor for Row {
    type Output = (Option<Duration>, Footprint);

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        let delay = discipline
            .guarantees(&share())
            .delay(&share(), 1500)
            .map(|bound| bound.value);
        (
            delay,
            discipline
                .build::<u32>(Seed::new(1))
                .expect("the default is legal")
                .footprint(),
        )
    }
}

/// Net instructions per packet (without the generator), by the first word of the subject.
fn costs() -> Vec<(String, f64)> {
    let mut costs = net_costs("costs.json");
    for (subject, _) in &mut costs {
        subject.truncate(subject.find(' ').unwrap_or(subject.len()));
    }
    costs
}

/// Net instructions per packet in a file of costs, by subject.
fn net_costs(file: &str) -> Vec<(String, f64)> {
    let text = fs::read_to_string(page(file)).expect("a file of costs");
    let tables: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    // Files of `bench --save` from before they had a schema are a list.
    let tables = tables.get("tables").unwrap_or(&tables);
    let rows = tables[0]["a_packet"].as_array().expect("rows").iter();
    let cost = |row: &serde_json::Value| {
        let subject = row["subject"].as_str().expect("a name");
        assert!(
            row["sent"].as_f64() > Some(0.999),
            "{subject} dropped packets: its cost is not one of forwarding"
        );
        (subject.to_owned(), row["net"].as_f64().expect("a number"))
    };
    rows.map(cost).collect()
}

fn memory(footprint: &Footprint) -> String {
    let fixed = if footprint.fixed_bytes >= 1024 {
        Bytes((footprint.fixed_bytes as u64 + 512) >> 10 << 10)
    } else {
        Bytes(footprint.fixed_bytes as u64)
    };
    match footprint.bytes_per_flow {
        0 => fixed.to_string(),
        per_flow => format!("{fixed} + {per_flow}b a flow"),
    }
}

/// Instructions a packet in trees: a row a discipline of classes, a column a shape.
fn trees() -> String {
    const SHAPES: [&str; 5] = ["10", "1000", "10000", "10x100", "10x10x10"];
    let costs = net_costs("trees.json");
    let mut text = "| classes of | 10 | 1,000 | 10,000 | 10 x 100 | 10 x 10 x 10 |\n|---|---|---|---|---|---|\n".to_owned();
    for class in ["htb", "hfsc", "drr"] {
        text += &format!("| `{class}` |");
        for shape in SHAPES {
            let subject = format!("tree {class}:{shape}");
            let cost = costs.iter().find(|(name, _)| *name == subject);
            let (_, cost) = cost.unwrap_or_else(|| panic!("{subject}: make costs index"));
            text += &format!(" {cost:.0} |");
        }
        text += "\n";
    }
    text
}

fn index() -> String {
    let mut text = "\
# The disciplines

<!-- Made by `make index` from the registry and from costs.json; do not edit. -->

| name | what it is | steps a packet | delay promised | memory | instructions a packet |
|---|---|---|---|---|---|
"
    .to_owned();
    let costs = costs();
    for discipline in AnyDiscipline::all() {
        let info = discipline.info();
        let (delay, footprint) = discipline.visit(Row);
        let delay = delay.map_or_else(
            || "none".to_owned(),
            |delay| format!("{:.1} ms", delay.as_secs_f64() * 1e3),
        );
        let cost = costs
            .iter()
            .find(|(name, _)| name == info.name)
            .map_or_else(
                || "not measured".to_owned(),
                |(_, cost)| format!("{cost:.0}"),
            );
        text += &format!(
            "| [`{0}`]({0}.md) | {1} | {2} | {delay} | {3} | {cost} |\n",
            info.name,
            info.about,
            info.complexity,
            memory(&footprint)
        );
    }
    text += "\
\nN is the number of flows, and n the number of waiting packets.\n
**Steps** are amortised, so a single call can take O(N). A flow number above all before it moves the flow tables each time that they double. The first packet that a full buffer pushes out builds an
index of all backlogs. New hashes (`perturb` of `sfq`) move all waiting packets. If a call must be short, name the largest flow number at the start (`set_flow`), and give the port a limit that it
does not reach.\n
**Delay promised** is the worst delay that an idle flow's packet can have. The flow is one of 100 with equal weights on a link of 100 Mbit/s, and packets have at most 1500 bytes. Packets of the same
burst wait for each other in addition. At the link's rate a packet of each flow takes 12 ms. `roundelay bounds` computes the bound for your own flows, and each page names the proof and the test.\n
**Memory** is what the discipline takes without packets. The part for each flow counts for every flow number ever seen.\n
**Instructions** are those to enqueue and dequeue one packet, with storage and the flow's queue, for 512 flows of equal weights, bursts of 5 packets a flow and lengths of 1000 bytes. `make costs` counts
them under valgrind, and finds the same in every run, and nearly the same on other machines of this kind. The load stays below the disciplines' own limits. `roundelay bench` measures time and
cache misses.\n
**Tests.** Beside the tests on its page, every discipline runs in `tests/conformance` (nothing is lost, flows keep their order, nothing idles,
memory), `tests/small_worlds.rs` (every sequence of a few calls) and the fuzzer `schedulers`.\n
## Trees

Instructions to enqueue and dequeue one packet in a [tree](../trees.md) with so many leaves, which are `fifo`, in one level, two or three: 10,000 flows, bursts of 5 packets a flow, lengths of 1000
bytes. Below classes of `htb` every second packet is borrowed.

";
    text + &trees() + "
`roundelay bench --tree htb:10x100` measures such a tree, and `--tree FILE` one of your own; for a shaped queue alone name it: `roundelay bench \"cake bandwidth 10gbit\"`.\n"
}

/// `ROUNDELAY_WRITE=1` rewrites the page (`make index`).
#[test]
fn the_index_is_what_the_registry_says() {
    let path = page("README.md");
    if std::env::var_os("ROUNDELAY_WRITE").is_some() {
        fs::write(&path, index()).expect("the page can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == index(),
        "docs/schedulers/README.md is out of date: make index"
    );
    assert!(
        !written.contains("not measured"),
        "docs/schedulers/costs.json is out of date: make costs index"
    );
}

/// The README's table is written by hand.
#[test]
fn the_readme_lists_every_discipline_once() {
    let readme = fs::read_to_string(page("../../README.md")).expect("the README");
    let mut listed = readme.matches("(docs/schedulers/").count();
    listed -= readme.matches("(docs/schedulers/README.md").count();
    let all = AnyDiscipline::all();
    for discipline in &all {
        let link = format!("(docs/schedulers/{}.md)", discipline.name());
        assert_eq!(readme.matches(&link).count(), 1, "{link}");
    }
    assert_eq!(listed, all.len(), "a page that is no discipline's");
}

/// A count of disciplines is wrong as soon as one is added.
#[test]
fn no_page_counts_the_disciplines() {
    for name in ["../../README.md", "../performance.md", "../compare.md"] {
        let text = fs::read_to_string(page(name)).expect("a page");
        for (before, _) in text.match_indices(" disciplines") {
            let word = text[..before].rsplit(char::is_whitespace).next();
            let is_count = word.is_some_and(|word| word.parse::<u32>().is_ok_and(|n| n > 20));
            assert!(!is_count, "{name}: {word:?} disciplines");
        }
    }
}
