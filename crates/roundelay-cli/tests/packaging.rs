//! What a release is made of: the committed files and nothing beside them, from a folder of any name,
//! with the licences of all that it contains. Needs git, make and Python, or prints that it has not run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder's name in which each part is a trap for a shell: words, a command, a variable, quotes.
const HOSTILE: &str = "two words; touch hit $HOME 'quote";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// None where a program is missing.
fn run(folder: &Path, program: &str, words: &[&str]) -> Option<Output> {
    let mut command = Command::new(program);
    command.args(words).current_dir(folder);
    // A release of a developer's tree may be asked for in the environment.
    command.env_remove("TREE").env("ADVISORIES", "unchecked");
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("not run: {program}: {error}");
            None
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A new folder with a hostile name and these files of ours.
fn copied(name: &str, files: &[&str]) -> PathBuf {
    let id = std::process::id();
    let folder = std::env::temp_dir().join(format!("roundelay-{name}-{id} {HOSTILE}"));
    for file in files {
        let to = folder.join(file);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(root().join(file), to).expect("a file of ours");
    }
    folder
}

/// Regression: in a folder with a space in its name, `make release` removed what the first word named.
#[test]
fn no_recipe_of_a_release_splits_the_name_of_its_folder() {
    let folder = copied(
        "make",
        &[
            "Cargo.toml",
            "Makefile",
            "crates/roundelay-python/requirements.txt",
            "crates/roundelay-python/requirements-tools.txt",
        ],
    );
    for target in ["release", "release-clean-root", "package"] {
        // Below another make, it would say which folder it enters.
        let words = ["--no-print-directory", "--dry-run", target];
        let Some(output) = run(&folder, "make", &words) else {
            break;
        };
        let recipes = text(&output.stdout);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let is_release = recipes.contains("rm -rf ") || target == "release-clean-root";
        assert!(is_release, "{target}: {recipes}");
        // Outside of quotes, the folder's name would be several words.
        let bare: String = recipes.split('"').step_by(2).collect();
        assert!(!bare.contains("two words"), "{target}: {bare}");
    }
    assert!(!folder.join("hit").exists());
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn a_release_takes_no_file_that_nobody_committed() {
    let files = [
        "CHANGELOG.md",
        "CITATION.cff",
        "Cargo.toml",
        "docs/schemas/list.schema.json",
        "packaging/notices.py",
        "packaging/release.py",
    ];
    let folder = copied("tree", &files);
    fs::write(folder.join(".gitignore"), "__pycache__\n").expect("a file");
    for words in [
        "init -q",
        "add -A",
        "-c user.name=a -c user.email=a@a.invalid commit -q -m a",
    ] {
        let words: Vec<_> = words.split(' ').collect();
        let Some(output) = run(&folder, "git", &words) else {
            return;
        };
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let check = ["packaging/release.py", "check"];
    let Some(output) = run(&folder, "python3", &check) else {
        return;
    };
    let said = text(&output.stdout);
    assert!(said.contains("tree: as committed"), "{said}");
    fs::write(folder.join("docs/schemas/a\n\u{1b}[31mb .json"), "{}").expect("a file");
    let output = run(&folder, "python3", &check).expect("it ran before");
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("1 files are changed or not committed"),
        "{told}"
    );
    assert!(
        told.contains("TREE=uncommitted") && !told.contains('\u{1b}'),
        "{told}"
    );
    // Nor would it be in a package.
    let copy = "import sys; sys.path.insert(0, 'packaging'); import release, pathlib; \
                release.schemas(pathlib.Path('copied'))";
    let output = run(&folder, "python3", &["-c", copy]).expect("it ran before");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let copied = fs::read_dir(folder.join("copied"))
        .expect("a folder")
        .count();
    assert_eq!(copied, 1);
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn notices_name_each_crate_of_a_build_and_a_package_without_one_is_refused() {
    for ours in [
        "roundelay-cli",
        "roundelay-python",
        "roundelay-compare-wasm",
    ] {
        let words = ["packaging/notices.py", ours];
        let Some(output) = run(&root(), "python3", &words) else {
            return;
        };
        assert!(output.status.success(), "{}", text(&output.stderr));
        let notices = text(&output.stdout);
        let tree = [
            "tree",
            "--locked",
            "--offline",
            "-e",
            "normal,no-proc-macro",
            "--prefix",
            "none",
            "-p",
            ours,
        ];
        let output = run(&root(), env!("CARGO"), &tree).expect("cargo runs");
        let mut others = 0;
        for line in text(&output.stdout).lines() {
            // Ours stand with their folder, and macros are not in what they make.
            if line.contains(" (/") || line.contains("(proc-macro)") || line.contains("(*)") {
                continue;
            }
            let crate_and_version = line.replacen(" v", " ", 1);
            assert!(
                notices.contains(&format!("{crate_and_version} (")),
                "{ours}: {line}"
            );
            others += 1;
        }
        assert!(others > 40, "{ours}: {others} crates");
        for part in ["uPlot, in pages (MIT)", "Rust's standard library (MIT)"] {
            assert!(notices.contains(part), "{ours}: {part}");
        }
    }
    let lacking = "import sys; sys.path.insert(0, 'packaging'); import notices, release; \
                   text = notices.notices(['roundelay-cli']).replace('clap_builder', 'other'); \
                   release.verify_notices('a.deb', text, 'roundelay-cli')";
    let output = run(&root(), "python3", &["-c", lacking]).expect("it ran before");
    let told = text(&output.stderr);
    assert!(
        !output.status.success() && told.contains("lacks ['clap_builder"),
        "{told}"
    );
}
