//! Replay of the fuzzers' corpora without a fuzzer, and of the same mutations of each file in every
//! run.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/checks/log.rs"]
mod log;
#[path = "../../../fuzz/checks/maps.rs"]
mod maps;
#[path = "../../../fuzz/checks/mutate.rs"]
mod mutate;
#[path = "../../../fuzz/checks/scenario.rs"]
mod scenario;

/// Runs a check on every file of a corpus, and on mutations of it; the failing file's name precedes
/// the panic.
fn replay(name: &str, mutations: u64, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut count = 0;
    for entry in fs::read_dir(folder.join(name)).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        let bytes = fs::read(path).unwrap();
        check(&bytes);
        mutate::mutations(&bytes, mutations).for_each(|mutated| check(&mutated));
        count += 1;
    }
    assert!(count >= 5, "corpus {name} holds {count} files");
}

#[test]
fn scenario_corpus() {
    replay("scenario", 60, scenario::check);
}

#[test]
fn maps_corpus() {
    replay("maps", 60, maps::check);
}

#[test]
fn log_corpus() {
    replay("log", 60, log::check);
}
