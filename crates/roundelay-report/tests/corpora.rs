//! Replay of the fuzzer's corpus of schedules without a fuzzer, and of the same mutations of each
//! file in every run.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/checks/mutate.rs"]
mod mutate;
#[path = "../../../fuzz/checks/schedule.rs"]
mod schedule;

#[test]
fn schedule_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/schedule");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        let bytes = fs::read(path).unwrap();
        schedule::check(&bytes);
        mutate::mutations(&bytes, 60).for_each(|mutated| schedule::check(&mutated));
        count += 1;
    }
    assert!(count >= 5, "the corpus holds {count} files");
}
