//! Readers of bytes and texts that may be anybody's: each has a fuzz target, with a corpus that the
//! tests replay. A new one without a target fails here, because the reader that no fuzzer reached was
//! the one that panicked.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How a reader's input is tried.
enum Tried {
    /// By this fuzz target, which calls it.
    By(&'static str),
    /// By this fuzz target, through another reader.
    Through(&'static str),
    /// It reads nothing of strangers, because of this.
    Own(&'static str),
}

use Tried::{By, Own, Through};

/// A file below `crates`, a public function or `FromStr for` a type, and how it is tried.
const READERS: &[(&str, &str, Tried)] = &[
    (
        "roundelay-bench/src/flow_set.rs",
        "FromStr for FlowSet",
        Own("an option of bench"),
    ),
    (
        "roundelay-bench/src/hold.rs",
        "FromStr for HoldSubject",
        Own("an option of bench"),
    ),
    (
        "roundelay-bench/src/load.rs",
        "FromStr for Lengths",
        Own("an option of bench"),
    ),
    (
        "roundelay-bench/src/load.rs",
        "FromStr for Memory",
        Own("an option of bench"),
    ),
    (
        "roundelay-bench/src/load.rs",
        "FromStr for Order",
        Own("an option of bench"),
    ),
    (
        "roundelay-bench/src/load.rs",
        "FromStr for Pattern",
        Own("an option of bench"),
    ),
    (
        "roundelay-bench/src/made_tree.rs",
        "FromStr for MadeTree",
        Own("an option of bench"),
    ),
    (
        "roundelay-bench/src/subject.rs",
        "FromStr for Subject",
        Own("an option of bench"),
    ),
    ("roundelay-cli/src/call.rs", "queue", Through("words")),
    ("roundelay-cli/src/call.rs", "rate", Through("words")),
    (
        "roundelay-cli/src/sweep/precision.rs",
        "FromStr for Precision",
        Own("an option of sweep"),
    ),
    (
        "roundelay-cli/src/sweep/session.rs",
        "commit",
        Own("results of our own workers"),
    ),
    (
        "roundelay-cli/src/sweep/shard.rs",
        "FromStr for Shard",
        Own("an option of sweep"),
    ),
    (
        "roundelay-compare-wasm/src/lib.rs",
        "compare",
        Through("capture"),
    ),
    (
        "roundelay-conformance/src/bytes.rs",
        "check_bytes",
        By("schedulers"),
    ),
    ("roundelay-files/src/reader.rs", "parse", Through("tree")),
    ("roundelay-files/src/reader.rs", "read", Through("tree")),
    (
        "roundelay-files/src/text.rs",
        "read_text",
        Own("it only limits a text's length"),
    ),
    ("roundelay-import/src/lib.rs", "import", By("import")),
    (
        "roundelay-live/src/interface.rs",
        "tap",
        Own("an interface's name in an option"),
    ),
    (
        "roundelay-live/src/recording.rs",
        "is_record",
        Through("record"),
    ),
    ("roundelay-live/src/recording.rs", "open", Through("record")),
    ("roundelay-live/src/settings.rs", "follow", Through("words")),
    (
        "roundelay-papers/src/catalogue.rs",
        "of_plan",
        Through("plan"),
    ),
    ("roundelay-papers/src/figures.rs", "parse", Through("plan")),
    ("roundelay-papers/src/plan.rs", "parse", By("plan")),
    (
        "roundelay-papers/src/plan.rs",
        "parse_beside",
        Through("plan"),
    ),
    (
        "roundelay-reference/src/replay/table.rs",
        "path",
        Own("tables of our tests"),
    ),
    (
        "roundelay-report/src/anonymous.rs",
        "text",
        Own("it replaces addresses in our own output"),
    ),
    ("roundelay-report/src/digest.rs", "add", Own("it hashes")),
    ("roundelay-report/src/digest.rs", "of", Own("it hashes")),
    (
        "roundelay-report/src/file.rs",
        "replace_file",
        Own("it writes"),
    ),
    (
        "roundelay-report/src/file.rs",
        "write_text",
        Own("it writes"),
    ),
    (
        "roundelay-report/src/no_parquet.rs",
        "read",
        Own("it refuses"),
    ),
    (
        "roundelay-report/src/no_parquet.rs",
        "read_schedule",
        Own("it refuses"),
    ),
    (
        "roundelay-report/src/parquet/schedule.rs",
        "read_schedule",
        By("schedule"),
    ),
    (
        "roundelay-report/src/parquet/sweep.rs",
        "read",
        By("schedule"),
    ),
    (
        "roundelay-report/src/parquet/sweep_runs.rs",
        "read",
        Own("a sweep's own dataset, with a seal"),
    ),
    (
        "roundelay-report/src/text.rs",
        "clean",
        Own("any text is legal, and a letter becomes a letter"),
    ),
    (
        "roundelay-report/src/text.rs",
        "width",
        Own("any text is legal"),
    ),
    (
        "roundelay-report/src/text.rs",
        "wrap",
        Own("our own sentences"),
    ),
    (
        "roundelay-sim/src/replay/candidate.rs",
        "FromStr for Candidate",
        Own("an option of replay"),
    ),
    (
        "roundelay-sim/src/replay/candidate.rs",
        "FromStr for SlackRule",
        Own("an option of replay"),
    ),
    (
        "roundelay-sim/src/scenario/file.rs",
        "from_toml",
        By("scenario"),
    ),
    (
        "roundelay-sim/src/scenario/file.rs",
        "from_toml_with",
        Through("scenario"),
    ),
    (
        "roundelay-sim/src/scenario/file.rs",
        "from_toml_with_own",
        Through("scenario"),
    ),
    (
        "roundelay-sim/src/scenario/file.rs",
        "network_from_toml",
        Through("scenario"),
    ),
    (
        "roundelay-sim/src/scenario/mod.rs",
        "parse_time",
        Through("scenario"),
    ),
    (
        "roundelay-sim/src/scenario/objective.rs",
        "FromStr for DisciplineText",
        Through("scenario"),
    ),
    (
        "roundelay-sim/src/scenario/objective.rs",
        "FromStr for Measure",
        Through("scenario"),
    ),
    (
        "roundelay-sim/src/scenario/objective.rs",
        "FromStr for SlackText",
        Through("scenario"),
    ),
    (
        "roundelay-sim/src/topologies/files.rs",
        "FromStr for Format",
        Through("scenario"),
    ),
    ("roundelay-sim/src/topologies/files.rs", "read", By("maps")),
    (
        "roundelay-trace/src/arguments.rs",
        "parse_buffer",
        By("words"),
    ),
    (
        "roundelay-trace/src/arguments.rs",
        "parse_choice",
        By("words"),
    ),
    ("roundelay-trace/src/arguments.rs", "parse_mtu", By("words")),
    (
        "roundelay-trace/src/arguments.rs",
        "parse_rate",
        By("words"),
    ),
    (
        "roundelay-trace/src/arguments.rs",
        "parse_spec",
        By("words"),
    ),
    (
        "roundelay-trace/src/capture.rs",
        "from_reader",
        By("capture"),
    ),
    ("roundelay-trace/src/capture.rs", "open", Through("capture")),
    (
        "roundelay-trace/src/classifier.rs",
        "FromStr for FlowBy",
        By("words"),
    ),
    (
        "roundelay-trace/src/filter.rs",
        "FromStr for Filter",
        By("filter"),
    ),
    (
        "roundelay-trace/src/headers.rs",
        "network_offset",
        Through("link"),
    ),
    ("roundelay-trace/src/headers.rs", "parse", By("headers")),
    ("roundelay-trace/src/link_model.rs", "read", By("words")),
    ("roundelay-trace/src/link_trace.rs", "parse", By("words")),
    (
        "roundelay-trace/src/selection.rs",
        "FromStr for Direction",
        By("words"),
    ),
    (
        "roundelay-trace/src/selection.rs",
        "FromStr for DirectionChoice",
        By("words"),
    ),
    ("roundelay-trace/src/span.rs", "parse_length", By("words")),
    ("roundelay-trace/src/span.rs", "parse_time", By("words")),
    ("roundelay-trace/src/tree.rs", "from_toml", By("tree")),
    (
        "roundelay-trace/src/weights.rs",
        "FromStr for WeightRule",
        Through("weights"),
    ),
    ("roundelay-trace/src/weights.rs", "from_toml", By("weights")),
    (
        "roundelay-trace/src/weights.rs",
        "matching",
        Through("filter"),
    ),
    (
        "roundelay-trace/src/weights.rs",
        "parse_rule",
        By("weights"),
    ),
    ("roundelay-verify/src/lib.rs", "inspect", By("log")),
    ("roundelay-verify/src/lib.rs", "verify", Through("log")),
    (
        "roundelay-wasm/src/lib.rs",
        "answer_to",
        Own("the page's own script"),
    ),
    (
        "roundelay-wasm/src/load.rs",
        "FromStr for Load",
        Own("the page's own script"),
    ),
    ("roundelay/src/config.rs", "read", Through("words")),
    (
        "roundelay/src/link_layer.rs",
        "FromStr for Framing",
        By("words"),
    ),
    (
        "roundelay/src/link_layer.rs",
        "FromStr for LinkLayer",
        By("words"),
    ),
    (
        "roundelay/src/service/hfsc.rs",
        "FromStr for Curve",
        Through("tree"),
    ),
    (
        "roundelay/src/spec.rs",
        "FromStr for QueueSpec",
        By("words"),
    ),
    ("roundelay/src/spec.rs", "parse_limit", Through("words")),
    ("roundelay/src/spec.rs", "read", Through("words")),
    (
        "roundelay/src/units.rs",
        "FromStr for Billionths",
        By("words"),
    ),
    ("roundelay/src/units.rs", "FromStr for Bytes", By("words")),
    (
        "roundelay/src/units.rs",
        "FromStr for Duration",
        By("words"),
    ),
    ("roundelay/src/units.rs", "FromStr for Rate", By("words")),
    ("roundelay-live/src/late_file.rs", "open", Own("it writes")),
    (
        "roundelay-live/src/late_file.rs",
        "replace",
        Own("it writes"),
    ),
    (
        "roundelay-live/src/slots.rs",
        "frame",
        Own("a frame that came in, see `link`"),
    ),
    (
        "roundelay-papers/src/cache.rs",
        "open",
        Own("our own cache, with a seal"),
    ),
    (
        "roundelay-papers/src/judged.rs",
        "new",
        Own("a plan that was read before"),
    ),
    (
        "roundelay-papers/src/site.rs",
        "read",
        Own("records of our own runs"),
    ),
    ("roundelay-trace/src/arguments.rs", "read", Through("words")),
    (
        "roundelay/src/fault.rs",
        "with_hint",
        Own("our own sentences"),
    ),
];

/// Rooms in which an index that a stranger's byte chooses must not panic: their files deny it.
const ROOMS: [&str; 11] = [
    "roundelay-trace/src/headers.rs",
    "roundelay-trace/src/capture.rs",
    "roundelay-trace/src/continuity.rs",
    "roundelay-trace/src/fingerprint.rs",
    "roundelay-live/src/checksum.rs",
    "roundelay-live/src/marking.rs",
    "roundelay-live/src/request.rs",
    "roundelay-live/src/recording.rs",
    "roundelay-live/src/replay.rs",
    "roundelay-verify/src/lib.rs",
    "roundelay-import/src/script/budget.rs",
];

/// Parameters that hold what somebody else wrote.
const FOREIGN: [&str; 6] = [
    "&[u8]",
    "impl Read",
    "impl BufRead",
    "text: &",
    "script: &",
    "Text<'",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|end| end == "rs") {
            all.push(path);
        }
    }
}

/// The names of readers in a source.
fn readers(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let code = source.split("#[cfg(test)]\nmod").next().unwrap_or_default();
    for part in code.split("pub fn ").skip(1) {
        let signature = part.split(['{', ';']).next().unwrap_or_default();
        let end = signature.find(['(', '<']).unwrap_or(signature.len());
        let name = &signature[..end];
        let opens = ["open", "is_record", "read", "read_schedule"].contains(&name);
        let is_foreign = FOREIGN.iter().any(|part| signature.contains(part));
        if is_foreign || (opens && signature.contains("&Path")) {
            found.push(name.to_owned());
        }
    }
    for part in code.split("FromStr for ").skip(1) {
        let name = part.split([' ', '{', '<']).next().unwrap_or_default();
        found.push(format!("FromStr for {name}"));
    }
    found
}

#[test]
fn every_reader_of_foreign_bytes_has_a_fuzz_target() {
    let crates = crates();
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(&crates).expect("crates") {
        let folder = entry.expect("an entry").path();
        let mut all = Vec::new();
        if folder.join("src").is_dir() {
            sources(&folder.join("src"), &mut all);
        }
        for path in all {
            let file = path.strip_prefix(&crates).expect("a file of ours");
            for name in readers(&fs::read_to_string(&path).expect("a source")) {
                found.insert((file.display().to_string(), name));
            }
        }
    }
    let listed: BTreeSet<_> = READERS
        .iter()
        .map(|(file, name, _)| ((*file).to_owned(), (*name).to_owned()))
        .collect();
    let unlisted: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(unlisted.is_empty(), "without a fuzz target: {unlisted:#?}");
    assert!(gone.is_empty(), "no longer there: {gone:#?}");
}

#[test]
fn every_fuzz_target_has_a_check_a_corpus_and_a_replay() {
    let fuzz = crates().join("../fuzz");
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).expect("a manifest");
    let mut replays = String::new();
    for entry in fs::read_dir(crates()).expect("crates") {
        let test = entry.expect("an entry").path().join("tests/corpora.rs");
        replays += &fs::read_to_string(test).unwrap_or_default();
    }
    for (file, name, tried) in READERS {
        let (target, is_called) = match tried {
            By(target) => (target, true),
            Through(target) => (target, false),
            Own(why) => {
                assert!(!why.is_empty(), "{file}: {name}");
                continue;
            }
        };
        assert!(
            manifest.contains(&format!("name = \"{target}\"")),
            "{target}"
        );
        assert!(
            replays.contains(&format!("(\"{target}\"")) || *target == "schedulers",
            "{target}"
        );
        let corpus = fs::read_dir(fuzz.join("corpus").join(target)).expect("a corpus");
        assert!(corpus.count() >= 5, "{target}");
        let mut check = String::new();
        for folder in ["checks", "fuzz_targets"] {
            let path = fuzz.join(folder).join(format!("{target}.rs"));
            check += &fs::read_to_string(path).unwrap_or_default();
        }
        let word = name.rsplit(' ').next().unwrap_or_default();
        assert!(
            !is_called || check.contains(word),
            "{target} does not call {file}: {name}"
        );
    }
}

#[test]
fn rooms_that_read_foreign_bytes_deny_an_unchecked_index() {
    for room in ROOMS {
        let source = fs::read_to_string(crates().join(room)).expect("a source");
        assert!(
            source.contains("#![deny(clippy::indexing_slicing)]"),
            "{room}"
        );
    }
}
