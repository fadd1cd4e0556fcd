//! Order of dependencies: each package may only depend on packages earlier in this list. Test
//! files: each is compiled.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

const ORDER: [&str; 20] = [
    "roundelay",
    "roundelay-conformance",
    "roundelay-reference",
    "roundelay-metrics",
    "roundelay-tcp",
    "roundelay-verify",
    "roundelay-files",
    "roundelay-import",
    "roundelay-trace",
    "roundelay-advice",
    "roundelay-wasm",
    "roundelay-sim",
    "roundelay-evaluate",
    "roundelay-live",
    "roundelay-bench",
    "roundelay-report",
    "roundelay-compare-wasm",
    "roundelay-papers",
    "roundelay-cli",
    "roundelay-python",
];

/// The workspace's packages with the names of their dependencies, excluding dev-dependencies.
fn packages() -> Vec<(String, Vec<String>)> {
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value =
        serde_json::from_slice(&cargo.stdout).expect("cargo metadata is JSON");
    let name = |value: &serde_json::Value| value["name"].as_str().expect("a name").to_owned();
    let dependencies = |package: &serde_json::Value| {
        let all = package["dependencies"].as_array().expect("a list").iter();
        all.filter(|dependency| dependency["kind"].as_str() != Some("dev"))
            .map(name)
            .collect()
    };
    let packages = metadata["packages"].as_array().expect("a list").iter();
    packages
        .map(|package| (name(package), dependencies(package)))
        .collect()
}

fn violations(packages: &[(String, Vec<String>)]) -> Vec<String> {
    let place = |name: &str| ORDER.iter().position(|known| *known == name);
    let mut found = Vec::new();
    for (package, dependencies) in packages {
        let Some(own) = place(package) else {
            found.push(format!("{package} has no place in the order"));
            continue;
        };
        let ours = dependencies
            .iter()
            .filter(|dependency| dependency.starts_with("roundelay"));
        found.extend(
            ours.filter(|dependency| place(dependency).is_none_or(|place| place >= own))
                .map(|to| format!("{package} -> {to}")),
        );
        if own == 0 && !dependencies.is_empty() {
            found.push(format!("the core depends on {}", dependencies.join(", ")));
        }
    }
    found
}

/// Packages of the command with their features, as `cargo tree` lists them.
fn packages_with_features(arguments: &[&str]) -> BTreeSet<String> {
    let cargo = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--offline",
            "--package",
            "roundelay-cli",
        ])
        .args([
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p} [{f}]",
        ])
        .args(arguments)
        .output()
        .expect("cargo runs");
    assert!(
        cargo.status.success(),
        "{}",
        String::from_utf8_lossy(&cargo.stderr)
    );
    let mut packages = BTreeSet::new();
    for line in String::from_utf8(cargo.stdout).expect("text").lines() {
        let line = line.trim_end_matches(" (*)");
        if !line.starts_with("roundelay-cli ") {
            packages.insert(line.to_owned());
        }
    }
    packages
}

/// A package with other features is compiled again, and so is all that depends on it.
#[test]
fn the_full_command_compiles_nothing_again_after_make_compare() {
    let compare = packages_with_features(&["--no-default-features", "--features", "parquet"]);
    let full = packages_with_features(&[]);
    let again: Vec<_> = compare.difference(&full).collect();
    assert!(compare.len() > 100 && full.len() > compare.len());
    assert!(again.is_empty(), "other features: {again:?}");
}

#[test]
fn dependencies_run_one_way() {
    assert_eq!(violations(&packages()), Vec::<String>::new());
}

#[test]
fn the_rule_finds_what_breaks_it() {
    let broken = [
        (
            "roundelay-metrics".to_owned(),
            vec!["roundelay-trace".to_owned()],
        ),
        ("roundelay".to_owned(), vec!["libc".to_owned()]),
    ];
    assert_eq!(violations(&broken).len(), 2);
}

/// The metrics do not depend on the reference.
#[test]
fn oracle_and_yardsticks_are_independent() {
    let packages = packages();
    let (_, dependencies) = packages
        .iter()
        .find(|(name, _)| name == "roundelay-metrics")
        .expect("it is there");
    assert!(!dependencies.contains(&"roundelay-reference".to_owned()));
}

/// Names of the crates that the command is built from, with these options of `cargo tree`.
fn crates_of_the_command(options: &[&str]) -> Vec<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "tree",
        "--locked",
        "--offline",
        "-p",
        "roundelay-cli",
        "-e",
        "normal,build",
        "--prefix",
        "none",
        "--format",
        "{lib}",
    ]);
    let tree = cargo.args(options).output().expect("cargo runs");
    assert!(
        tree.status.success(),
        "{}",
        String::from_utf8_lossy(&tree.stderr)
    );
    String::from_utf8(tree.stdout)
        .expect("names of crates")
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_command_without_parquet_needs_none_of_its_crates() {
    let of_parquet = |options: &[&str]| {
        let mut found = crates_of_the_command(options);
        found.retain(|name| {
            ["parquet", "arrow", "thrift", "snap"]
                .iter()
                .any(|part| name.starts_with(part))
        });
        found
    };
    assert_eq!(of_parquet(&["--no-default-features"]), Vec::<String>::new());
    assert!(of_parquet(&[]).iter().any(|name| name == "parquet"));
}

/// A registry shows a package's README, and a package must bring its licences.
#[test]
fn every_package_has_its_readme_and_licences() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in ORDER {
        let folder = root.join("crates").join(name);
        let read = |file: &str| {
            fs::read_to_string(folder.join(file)).unwrap_or_else(|_| panic!("{name}: no {file}"))
        };
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let expected = fs::read_to_string(root.join(licence)).expect("a licence");
            assert!(read(licence) == expected, "{name}: another {licence}");
        }
        let readme = read("README.md");
        assert!(readme.starts_with(&format!("# {name}\n\n")), "{name}");
        assert!(readme.len() > 300, "{name}: {readme}");
        let manifest = read("Cargo.toml");
        assert!(manifest.contains("\nreadme = \"README.md\"\n"), "{name}");
        if manifest.contains("\ninclude = [") {
            for file in ["\"/README.md\"", "\"/LICENSE-*\""] {
                assert!(manifest.contains(file), "{name}: include lacks {file}");
            }
        }
    }
}

/// A file beside `tests/main.rs` without a `mod` line there would never be compiled.
#[test]
fn every_test_file_is_compiled() {
    let mut files = 0;
    for package in
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).expect("the packages")
    {
        let tests = package.expect("a package").path().join("tests");
        let Ok(main) = fs::read_to_string(tests.join("main.rs")) else {
            continue;
        };
        let manifest = fs::read_to_string(tests.join("../Cargo.toml")).expect("a manifest");
        for entry in fs::read_dir(&tests).expect("tests") {
            let path = entry.expect("a file").path();
            let name = path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            if name == "main" || path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let is_compiled = main.contains(&format!("mod {name};"))
                || manifest.contains(&format!("path = \"tests/{name}.rs\""));
            assert!(
                is_compiled,
                "{}: 'mod {name};' is missing in main.rs",
                path.display()
            );
            files += 1;
        }
    }
    assert!(files > 60, "{files} files");
}
