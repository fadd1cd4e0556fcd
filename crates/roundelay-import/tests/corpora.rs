//! Replay of the fuzzer's corpus without a fuzzer, and of the same mutations of each file in every
//! run.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/checks/import.rs"]
mod checks;
#[path = "../../../fuzz/checks/mutate.rs"]
mod mutate;

/// The failing file's name precedes the panic.
#[test]
fn import_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/import");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("the corpus") {
        let path = entry.expect("an entry").path();
        println!("{}", path.display());
        let bytes = fs::read(path).expect("a file");
        checks::check(&bytes);
        for mutated in mutate::mutations(&bytes, 200) {
            checks::check(&mutated);
        }
        count += 1;
    }
    assert!(count >= 5, "the corpus holds {count} files");
}
