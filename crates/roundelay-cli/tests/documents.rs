//! Links in the documents, and names of tests in them, exist.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Markdown files below a folder, except fetched and built ones.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
            .to_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
            documents(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// Targets of a document's links, except external ones.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target);
    let files = targets.map(|target| target.split('#').next().unwrap_or_default());
    files.filter(|file| {
        !file.is_empty() && !file.contains("://") && !file.contains(char::is_whitespace)
    })
}

#[test]
fn links_lead_to_files_that_are_there() {
    let mut all = Vec::new();
    documents(&root(), &mut all);
    let (mut count, mut dead) = (0, Vec::new());
    for document in all {
        let text = fs::read_to_string(&document).expect("a document");
        for link in links(&text) {
            count += 1;
            if !document.parent().expect("a folder").join(link).exists() {
                dead.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
    assert!(count > 100, "only {count} links were found");
}

#[test]
fn links_are_found() {
    let text = "[a](b.md), [c](d/e.md#part) and [f](https://g.h), [i](#j), `x[0](y z)`";
    assert_eq!(links(text).collect::<Vec<_>>(), ["b.md", "d/e.md"]);
}

/// All Rust sources of the crates as one text.
fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir()
            && path
                .file_name()
                .is_some_and(|name| name != "node_modules" && name != "target")
        {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            *text += &fs::read_to_string(&path).expect("a source");
        }
    }
}

/// Names of tests in a text: words in backticks with at least two underscores, which no other name
/// in these sections has.
fn test_names(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |word: &&str| {
        word.matches('_').count() > 1
            && word
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    text.split('`')
        .skip(1)
        .step_by(2)
        .map(|word| word.rsplit("::").next().unwrap_or_default())
        .filter(is_name)
}

/// Every test named in the documents exists.
#[test]
fn tests_that_documents_name_are_there() {
    let mut code = String::new();
    sources(&root().join("crates"), &mut code);
    let mut pages = Vec::new();
    documents(&root().join("docs"), &mut pages);
    let (mut count, mut missing) = (0, Vec::new());
    for page in pages {
        let text = fs::read_to_string(&page).expect("a page");
        let claims = if page.ends_with("known-bugs.md") {
            text.as_str()
        } else {
            text.split("\n## Validation").nth(1).unwrap_or_default()
        };
        for name in test_names(claims) {
            count += 1;
            // The number of a known bug stands for all its tests.
            let is_there = code.contains(&format!("fn {name}("))
                || (name.starts_with("known_bug_") && code.contains(&format!("fn {name}_")));
            if !is_there {
                missing.push(format!("{}: {name}", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(count > 200, "only {count} names were found");
}

#[test]
fn names_of_tests_are_found() {
    let text =
        "| claim | `it_is_so`, `mod::and_so_it_is` | `fifo_plus`, `qfq.rs`, `Discipline::LIVE` |";
    assert_eq!(
        test_names(text).collect::<Vec<_>>(),
        ["it_is_so", "and_so_it_is"]
    );
}
