//! Determinism: the code of this crate has no floats, no clock and no unordered collections, so all
//! machines give equal runs.

use std::fs;
use std::path::{Path, PathBuf};

const IMPURE: [&str; 7] = [
    "f32",
    "f64",
    "HashMap",
    "HashSet",
    "SystemTime",
    "Instant::now",
    "thread",
];

/// Code without comments and without the tests at the end.
fn impurities(text: &str) -> Vec<&str> {
    let code = text
        .split("#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    code.lines()
        .filter(|line| {
            IMPURE
                .iter()
                .any(|word| line.split("//").next().unwrap_or_default().contains(word))
        })
        .collect()
}

/// The files of a folder and of the folders in it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn sources_are_pure() {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(sources.len() > 8);
    assert!(
        sources
            .iter()
            .any(|source| source.ends_with("rack/detection.rs"))
    );
    for source in sources {
        assert_eq!(
            impurities(&fs::read_to_string(&source).expect("a source")),
            Vec::<&str>::new(),
            "{}",
            source.display()
        );
    }
}

#[test]
fn impurities_are_found() {
    assert_eq!(
        impurities("let x: f64 = 1.0;\n// f64\n#[cfg(test)]\nmod tests { f32 }").len(),
        1
    );
}
