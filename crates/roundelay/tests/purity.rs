//! Purity of the core: no clock, I/O, ambient randomness or dependencies; crates depend on each
//! other in one direction.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path());
    let nested = entries.map(|path| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    });
    nested
        .flatten()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// A file's code without comments and without the tests at the end.
fn code(text: &str) -> Vec<&str> {
    let code = text
        .split("#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    code.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect()
}

/// Words that the core must not use, with reasons.
const IMPURE: [(&str, &str); 11] = [
    ("std::", "the core is no_std"),
    ("SystemTime", "time comes in as an argument"),
    ("Instant::now", "time comes in as an argument"),
    ("HashMap", "its order differs from run to run"),
    ("HashSet", "its order differs from run to run"),
    ("thread", "a scheduler is a data structure"),
    ("static mut", "nothing is shared"),
    ("Atomic", "nothing is shared"),
    ("println", "no output"),
    ("f32", "state is integers"),
    ("f64", "state is integers"),
];

/// Lines with seconds for human readers.
fn is_for_people(line: &str) -> bool {
    ["PICOS_PER_SECOND", "as_secs_f64"]
        .iter()
        .any(|name| line.contains(name))
}

fn impurities(text: &str) -> Vec<String> {
    let found = |line: &str| {
        let of_line = IMPURE
            .iter()
            .filter(|(word, _)| line.contains(word) && !is_for_people(line));
        of_line
            .map(|(word, reason)| format!("'{word}': {reason}: {line}"))
            .collect::<Vec<_>>()
    };
    code(text).into_iter().flat_map(found).collect()
}

#[test]
fn the_core_reads_no_clock_and_keeps_no_floats() {
    let sources = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(sources.len() > 10);
    let all = sources.iter().flat_map(|path| {
        let of_file = impurities(&fs::read_to_string(path).expect("a file"));
        of_file
            .into_iter()
            .map(move |impurity| format!("{}: {impurity}", path.display()))
    });
    assert_eq!(all.collect::<Vec<_>>(), Vec::<String>::new());
}

/// Files that number the runs of a set of replicas: `seed`, `seed + 1`, and so on. Everywhere else a
/// seed is derived, because sums meet: link k of one run would draw what link k + 1 of its
/// neighbour draws.
const NUMBER_RUNS: [&str; 10] = [
    "roundelay-cli/src/advise.rs",
    "roundelay-cli/src/compare/react.rs",
    "roundelay-cli/src/runs.rs",
    "roundelay-cli/src/objective.rs",
    "roundelay-cli/src/replay.rs",
    "roundelay-cli/src/simulate.rs",
    "roundelay-cli/src/sweep/report.rs",
    "roundelay-cli/src/sweep/session.rs",
    "roundelay-cli/src/sweep/until.rs",
    "roundelay-trace/src/compare/options.rs",
];

/// Whether a line of code computes with a seed.
fn computes_with_a_seed(line: &str) -> bool {
    let computations = [
        " + ",
        " ^ ",
        " * ",
        " - ",
        ".wrapping_",
        ".checked_",
        ".saturating_",
    ];
    let is_followed = line
        .split("seed")
        .skip(1)
        .any(|rest| computations.iter().any(|what| rest.starts_with(what)));
    is_followed || line.contains("!seed")
}

#[test]
fn seeds_are_derived_and_never_added_to() {
    assert!(computes_with_a_seed(
        "port(config, hash_seed.wrapping_add(id.0.into()))"
    ));
    assert!(computes_with_a_seed("alike(seed * self.random + number)"));
    assert!(computes_with_a_seed("Pcg64Mcg::seed_from_u64(!seed)"));
    assert!(computes_with_a_seed("mix(seed ^ mix(number))"));
    assert!(!computes_with_a_seed(
        "seed.derive(Purpose::Queue, id.0.into())"
    ));
    let mut found = Vec::new();
    for path in files(&crates()) {
        let path_text = path.to_string_lossy().replace('\\', "/");
        let is_source = path_text.contains("/src/") && !path_text.ends_with("tests.rs");
        let numbers_runs = NUMBER_RUNS.iter().any(|file| path_text.ends_with(file));
        if !is_source || numbers_runs {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a file");
        for line in code(&text) {
            if computes_with_a_seed(line) {
                found.push(format!("{path_text}: {}", line.trim()));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// Files with unsafe code or with names that count as unsafe: a hint to the processor, the
/// command's allocator, calls to Linux, and the names of WebAssembly's exports and imports. In order
/// of their paths.
const UNSAFE: [&str; 10] = [
    "roundelay/src/prefetch.rs",
    "roundelay-cli/src/allocator.rs",
    "roundelay-compare-wasm/src/lib.rs",
    "roundelay-live/src/sys/keeper.rs",
    "roundelay-live/src/sys/mapping.rs",
    "roundelay-live/src/sys/packet.rs",
    "roundelay-live/src/sys/sandbox.rs",
    "roundelay-live/src/sys/xdp.rs",
    "roundelay-live/src/sys.rs",
    "roundelay-wasm/src/lib.rs",
];

#[test]
fn unsafe_code_is_in_the_listed_files() {
    let is_unsafe = |path: &PathBuf| {
        code(&fs::read_to_string(path).expect("a file"))
            .iter()
            .any(|line| line.contains("unsafe"))
    };
    let sources = files(&crates())
        .into_iter()
        // This file looks for the word.
        .filter(|path| !path.ends_with("roundelay/tests/purity.rs"));
    let mut found: Vec<_> = sources.filter(is_unsafe).collect();
    found.sort();
    let is_known = found
        .iter()
        .zip(UNSAFE)
        .all(|(found, known)| found.ends_with(known));
    assert!(
        found.len() == UNSAFE.len() && is_known,
        "unsafe code, or leave for it, in {found:?}"
    );
}

#[test]
fn impurities_are_found() {
    for line in [
        "let now = std::time::Instant::now();",
        "state: f64,",
        "use alloc::HashMap;",
    ] {
        assert!(!impurities(line).is_empty(), "{line}");
    }
    assert!(impurities("// std::time\n#[cfg(test)]\nmod tests { use std::f64; }").is_empty());
}

#[test]
fn the_core_is_no_std() {
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"))
        .expect("a file");
    assert!(lib.contains("no_std)]") && lib.contains("extern crate alloc;"));
}

/// Layers of crates: later rows may depend on earlier rows, crates in one row not on each other.
const ORDER: [&[&str]; 9] = [
    &["roundelay"],
    &[
        "roundelay-conformance",
        "roundelay-reference",
        "roundelay-metrics",
        "roundelay-tcp",
        "roundelay-verify",
        "roundelay-files",
        "roundelay-import",
    ],
    &["roundelay-trace", "roundelay-wasm"],
    &[
        "roundelay-sim",
        "roundelay-live",
        "roundelay-bench",
        "roundelay-advice",
    ],
    &["roundelay-evaluate"],
    &["roundelay-report"],
    &["roundelay-papers", "roundelay-compare-wasm"],
    &["roundelay-cli"],
    &["roundelay-python"],
];

fn rank(name: &str) -> Option<usize> {
    ORDER.iter().position(|row| row.contains(&name))
}

/// Names under `[dependencies]`.
fn dependencies(manifest: &str) -> Vec<String> {
    let section = manifest
        .split("\n[dependencies]")
        .nth(1)
        .unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let name = |line: &str| {
        line.split(['=', '.', ' '])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    section
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(name)
        .collect()
}

fn manifests() -> BTreeMap<String, String> {
    let entries = fs::read_dir(crates())
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path());
    let named = |path: PathBuf| {
        Some((
            path.file_name()?.to_str()?.to_owned(),
            fs::read_to_string(path.join("Cargo.toml")).ok()?,
        ))
    };
    entries.filter_map(named).collect()
}

#[test]
fn the_core_has_no_dependencies() {
    assert_eq!(
        dependencies(&manifests()["roundelay"]),
        Vec::<String>::new()
    );
}

#[test]
fn crates_depend_one_way() {
    for (name, manifest) in manifests() {
        let own = rank(&name).unwrap_or_else(|| panic!("{name} has no place in the order"));
        for dependency in dependencies(&manifest)
            .iter()
            .filter(|dependency| dependency.starts_with("roundelay"))
        {
            assert!(
                rank(dependency).is_some_and(|other| other < own),
                "{name} must not depend on {dependency}"
            );
        }
    }
}
