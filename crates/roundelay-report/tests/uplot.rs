//! The chart library in the tree is the one on npm.

use std::fs;
use std::path::Path;

/// Files in the folder, and in the package.
const FILES: [(&str, &str); 3] = [
    ("uPlot.iife.min.js", "dist/uPlot.iife.min.js"),
    ("uPlot.min.css", "dist/uPlot.min.css"),
    ("LICENSE", "LICENSE"),
];

/// Where npm has not installed the package, which `make setup-npm` does, nothing is compared.
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
    for (ours, theirs) in FILES {
        let ours = fs::read(here.join("uplot").join(ours)).unwrap();
        let Ok(theirs) = fs::read(package.join(theirs)) else {
            println!("not compared: npm ci has not run in {}", here.display());
            return;
        };
        assert!(ours == theirs, "uplot is not uPlot {version} of npm");
    }
}
