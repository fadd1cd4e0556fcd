//! Links in the documents lead somewhere.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every Markdown file below a folder, what is fetched or built left out.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
            documents(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// Where a document's links lead, those to elsewhere left out.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    let files = targets.map(|target| target.split('#').next().unwrap_or_default());
    files.filter(|file| !file.is_empty() && !file.contains("://") && !file.contains(char::is_whitespace))
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
