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

/// Pronouns in place of nouns of the field or of the code.
const PRONOUNS: [&str; 10] = [
    "it", "its", "what", "who", "that", "so", "such", "them", "those", "they",
];
/// Most pronouns a hundred words.
const MOST_PRONOUNS: f64 = 3.0;
/// Largest part of the sentences that has three pronouns or more.
const MOST_HEAVY: f64 = 0.02;

/// Prose of a file by paragraph: comments of Rust and JavaScript, text of Markdown outside code.
fn paragraphs(path: &Path, text: &str) -> Vec<String> {
    let is_markdown = path.extension().is_some_and(|extension| extension == "md");
    let (mut all, mut fenced) = (vec![String::new()], false);
    for line in text.lines().map(str::trim_start) {
        fenced ^= is_markdown && line.starts_with("```");
        let comment = line
            .strip_prefix("//")
            .map(|rest| rest.trim_start_matches(['/', '!']));
        let prose = if is_markdown {
            Some(line).filter(|_| !fenced)
        } else {
            comment
        };
        let is_prose = |prose: &&str| {
            !prose.is_empty()
                && !["|", "#", "```"]
                    .iter()
                    .any(|start| prose.starts_with(start))
        };
        match prose.map(str::trim).filter(is_prose) {
            Some(prose) => *all.last_mut().expect("a paragraph") += &format!(" {prose}"),
            None => all.push(String::new()),
        }
    }
    all.retain(|paragraph| !paragraph.is_empty());
    all
}

/// Words and pronouns of each sentence with three words or more; code in backticks is one word.
fn sentences(paragraph: &str) -> Vec<(usize, usize)> {
    let code = paragraph
        .split('`')
        .enumerate()
        .map(|(place, part)| if place % 2 == 1 { "X" } else { part });
    let text = code.collect::<String>().to_lowercase();
    let ends = text
        .match_indices(['.', ':', ';', '?', '!'])
        .filter(|(at, _)| text[at + 1..].starts_with(' '))
        .map(|(at, _)| at + 1);
    let ends: Vec<_> = std::iter::once(0).chain(ends).chain([text.len()]).collect();
    let count = |pair: &[usize]| {
        let words: Vec<_> = text[pair[0]..pair[1]]
            .split(|c: char| !c.is_ascii_alphabetic() && c != '\'')
            .filter(|word| !word.is_empty())
            .collect();
        (
            words.len(),
            words.iter().filter(|word| PRONOUNS.contains(word)).count(),
        )
    };
    ends.windows(2)
        .map(count)
        .filter(|(words, _)| *words >= 3)
        .collect()
}

/// Files with prose below a folder.
fn prose_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let is_prose = path.extension().is_some_and(|extension| {
            ["rs", "md", "js", "mjs"]
                .iter()
                .any(|prose| extension == *prose)
        });
        if path.is_dir() && name != "node_modules" && name != "target" {
            prose_files(&path, found);
        } else if is_prose {
            found.push(path);
        }
    }
}

#[test]
fn words_are_plain() {
    let mut rooms: Vec<PathBuf> = [
        "docs",
        "examples",
        "peers",
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
    ]
    .map(|name| root().join(name))
    .into();
    for entry in fs::read_dir(root().join("crates")).expect("a folder") {
        let crate_folder = entry.expect("an entry").path();
        rooms.extend(
            ["src", "tests"]
                .map(|name| crate_folder.join(name))
                .into_iter()
                .filter(|folder| folder.exists()),
        );
    }
    let mut wordy = Vec::new();
    for room in rooms {
        let mut files = Vec::new();
        if room.is_dir() {
            prose_files(&room, &mut files)
        } else {
            files.push(room.clone())
        }
        let counts: Vec<_> = files
            .iter()
            .flat_map(|file| paragraphs(file, &fs::read_to_string(file).expect("a text")))
            .flat_map(|paragraph| sentences(&paragraph))
            .collect();
        let (words, pronouns) = counts.iter().fold((0, 0), |(words, pronouns), count| {
            (words + count.0, pronouns + count.1)
        });
        let heavy = counts.iter().filter(|(_, pronouns)| *pronouns >= 3).count() as f64
            / counts.len().max(1) as f64;
        let each_hundred = 100.0 * pronouns as f64 / words.max(1) as f64;
        if each_hundred > MOST_PRONOUNS || heavy > MOST_HEAVY {
            wordy.push(format!(
                "{}: {each_hundred:.1} pronouns a hundred words, {:.1} % heavy sentences",
                room.display(),
                heavy * 100.0
            ));
        }
    }
    assert!(
        wordy.is_empty(),
        "more than {MOST_PRONOUNS} of {PRONOUNS:?} a hundred words, or {MOST_HEAVY} of the sentences with three: {wordy:#?}"
    );
}

#[test]
fn pronouns_are_counted_by_sentence() {
    assert_eq!(
        sentences("What it is that `its` queue holds. A queue holds packets: it grows"),
        [(7, 3), (4, 0)]
    );
    let code = "//! First line\n//! and second.\nfn it() {} // it\n    /// Third.\n";
    assert_eq!(
        paragraphs(Path::new("a.rs"), code),
        [" First line and second.", " Third."]
    );
    assert_eq!(
        paragraphs(Path::new("a.md"), "One\n```\nit\n```\n| it |\ntwo"),
        [" One", " two"]
    );
}
