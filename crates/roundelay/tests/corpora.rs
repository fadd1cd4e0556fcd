//! Fuzzer corpus, replayed without a fuzzer: a regression test for faults found by fuzzing.

use std::fs;
use std::path::{Path, PathBuf};

use roundelay::schedulers::AnyDiscipline;
use roundelay_conformance::{check_bytes, subjects};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/schedulers")
}

/// The failing file's name precedes the panic.
#[test]
fn schedulers_corpus() {
    let mut count = 0;
    for entry in fs::read_dir(corpus()).expect("the corpus") {
        let path = entry.expect("an entry").path();
        println!("{}", path.display());
        check_bytes(&fs::read(path).expect("a file"));
        count += 1;
    }
    assert!(count >= subjects().len(), "the corpus holds {count} files");
}

#[test]
fn each_discipline_has_a_seed_that_names_it() {
    for subject in subjects() {
        let seed = fs::read(corpus().join(file_of(&subject))).expect("a seed");
        assert!(
            seed.starts_with(format!("{subject}\n").as_bytes()),
            "{subject}"
        );
    }
}

fn file_of(subject: &AnyDiscipline) -> String {
    subject.to_string().replace(' ', "-")
}

/// Writes the seeds again, one for each subject; files added by a fuzzer stay.
#[test]
#[ignore = "writes into fuzz/corpus"]
fn write_seeds() {
    fs::create_dir_all(corpus()).expect("a directory");
    for subject in subjects() {
        let text = format!("{subject}\n");
        let number = text.bytes().fold(0, u8::wrapping_add);
        // Some of each: arrivals of a few lengths, departures, an eviction, time, a setting, a
        // removal, mixed by a stride.
        let calls = (0..120u8).flat_map(|call| {
            [
                call.wrapping_mul(37).wrapping_add(number),
                call.wrapping_mul(11),
                call / 3,
            ]
        });
        let mut bytes = text.into_bytes();
        bytes.push(7);
        bytes.extend(calls);
        fs::write(corpus().join(file_of(&subject)), bytes).expect("a file");
    }
}
