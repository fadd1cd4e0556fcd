//! The chart library in the tree is the one on npm.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// A row of the table in the folder's README.
struct Row<'a> {
    /// The file in the folder, and in the package.
    ours: &'a str,
    theirs: &'a str,
    /// SHA-256 in hexadecimal digits.
    hash: &'a str,
}

fn rows(readme: &str) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for line in readme.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = Vec::new();
        for cell in line.split('|') {
            cells.push(cell.trim().trim_matches('`'));
        }
        let ["", ours, theirs, hash, ""] = cells[..] else {
            panic!("{line}");
        };
        rows.push(Row { ours, theirs, hash });
    }
    rows
}

fn hash(bytes: &[u8]) -> String {
    let mut digits = String::new();
    for byte in Sha256::digest(bytes) {
        digits += &format!("{byte:02x}");
    }
    digits
}

/// The files are those with the hashes that the README states: in every build, with npm or without.
#[test]
fn the_files_have_the_hashes_of_the_readme() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("uplot");
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    let mut named = vec!["README.md".to_owned()];
    for row in rows(&readme) {
        let bytes = fs::read(folder.join(row.ours)).unwrap();
        assert_eq!(hash(&bytes), row.hash, "{}", row.ours);
        named.push(row.ours.to_owned());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        files.push(entry.unwrap().file_name().into_string().unwrap());
    }
    named.sort();
    files.sort();
    assert_eq!(files, named, "each file has a row");
}

/// The hashes of the README are those of the package. Where npm has not installed it, which
/// `make setup-npm` does, the test says that it has compared nothing.
#[test]
fn the_files_are_those_of_the_registry() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(here.join("uplot/README.md")).unwrap();
    let wanted = fs::read_to_string(here.join("package.json")).unwrap();
    let (_, wanted) = wanted.split_once("\"uplot\": \"").unwrap();
    let version = wanted.split('"').next().unwrap();
    assert!(
        readme.starts_with(&format!("# uPlot {version}\n")),
        "{version}"
    );
    let package = here.join("node_modules/uplot");
    if !package.is_dir() {
        // Not `println!`, which a test that passes does not show.
        let skipped =
            "uplot: SKIPPED the comparison with npm's package: make setup-npm installs it";
        writeln!(io::stderr(), "{skipped}").unwrap();
        return;
    }
    for row in rows(&readme) {
        let bytes = fs::read(package.join(row.theirs)).unwrap();
        assert_eq!(hash(&bytes), row.hash, "{} of npm's {version}", row.theirs);
    }
}
