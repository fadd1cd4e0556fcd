//! Links in the documents, and names of tests in them, exist.

use std::collections::BTreeSet;
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
        .map(last_name)
        .filter(is_name)
}

/// Every promise of SECURITY.md has its tests: a function, or all of a module where the name ends
/// with `::`.
#[test]
fn tests_that_promises_name_are_there() {
    let mut code = String::new();
    sources(&root().join("crates"), &mut code);
    let text = fs::read_to_string(root().join("SECURITY.md")).expect("the promises");
    let quoted = text.split('`').skip(1).step_by(2);
    let (mut count, mut missing) = (0, Vec::new());
    for word in quoted.filter(|word| word.contains("::")) {
        count += 1;
        let is_there = match word.strip_suffix("::") {
            Some(module) => code.contains(&format!("mod {};", last_name(module))),
            None => code.contains(&format!("fn {}(", last_name(word))),
        };
        if !is_there {
            missing.push(word);
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(count > 30, "only {count} names were found");
}

fn last_name(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or_default()
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

/// Names that the sources define: items, dependencies, and the files and folders themselves.
fn names_defined(folder: &Path, names: &mut BTreeSet<String>) {
    const KEYWORDS: [&str; 8] = [
        "fn", "struct", "enum", "trait", "mod", "const", "type", "static",
    ];
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || name == "target" || name == "node_modules" {
            continue;
        }
        names.insert(name.to_string());
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into()));
        if path.is_dir() {
            names_defined(&path, names);
        } else if name.ends_with(".rs") || name.ends_with(".toml") {
            let text = fs::read_to_string(&path).expect("a source");
            let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
            let words: Vec<_> = text.split(|c| !is_of_word(c)).collect();
            for pair in words.windows(2) {
                if KEYWORDS.contains(&pair[0]) || name == "Cargo.toml" {
                    names.insert(pair[1].to_owned());
                }
            }
            for rest in text.split("macro_rules! ").skip(1) {
                let name = rest.split(|c| !is_of_word(c)).next();
                names.extend(name.map(str::to_owned));
            }
        }
    }
}

/// The names that a document quotes: identifiers, paths of modules and of files.
fn names_quoted(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|quoted| {
        let path = quoted.split('<').next().unwrap_or_default();
        let is_of_path = |c: char| c.is_ascii_alphanumeric() || "_:./".contains(c);
        let begins = path.starts_with(|c: char| c.is_ascii_alphabetic());
        let name = path.trim_end_matches('/').rsplit([':', '/']).next();
        name.filter(|_| begins && path.chars().all(is_of_path))
    })
}

/// A module that ARCHITECTURE.md names exists, and so do types, functions, files and crates.
#[test]
fn names_in_the_architecture_are_there() {
    // Words of the language, of the command line, of tc and of Python.
    const OTHERS: [&str; 7] = [
        "Box",
        "From",
        "man",
        "memory_limit",
        "stab",
        "abi3",
        "rd.papers",
    ];
    let mut defined = BTreeSet::new();
    names_defined(&root(), &mut defined);
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("a document");
    let (mut count, mut gone) = (0, Vec::new());
    for name in names_quoted(&text) {
        count += 1;
        let stem = name.split('.').next().unwrap_or_default();
        if !defined.contains(name) && !defined.contains(stem) && !OTHERS.contains(&name) {
            gone.push(name);
        }
    }
    assert!(gone.is_empty(), "not in the sources: {gone:?}");
    assert!(count > 200, "only {count} names were found");
}

#[test]
fn a_name_that_is_gone_is_found() {
    let text = "`tests/purity.rs` and `Scheduler<T>`, `mod::gone`, `a phrase`, `--option`";
    let quoted: Vec<_> = names_quoted(text).collect();
    assert_eq!(quoted, ["purity.rs", "Scheduler", "gone"]);
    let mut defined = BTreeSet::new();
    names_defined(&root().join("crates/roundelay/src"), &mut defined);
    assert!(defined.contains("port.rs") && defined.contains("Scheduler"));
    assert!(!defined.contains("gone_and_never_there"));
}
