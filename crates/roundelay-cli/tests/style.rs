//! Style of the sources, in figures: they may fall, and never rise. STYLE.md has the rules.
//!
//! Each figure is for 1,000 lines without blanks, comments and unit tests.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Calls that a reader has to unfold in his head, several in a row.
const COMBINATORS: [&str; 38] = [
    "all",
    "and_then",
    "any",
    "chain",
    "filter",
    "filter_map",
    "flat_map",
    "fold",
    "for_each",
    "inspect",
    "is_none_or",
    "is_ok_and",
    "is_some_and",
    "map",
    "map_or",
    "map_or_else",
    "map_while",
    "max_by",
    "max_by_key",
    "min_by",
    "min_by_key",
    "or_else",
    "partition",
    "position",
    "reduce",
    "rposition",
    "scan",
    "skip_while",
    "sum",
    "take_while",
    "then",
    "then_some",
    "then_with",
    "try_fold",
    "try_for_each",
    "unwrap_or_else",
    "unzip",
    "zip",
];

/// What each package may have at most: combinators, closures with a name, lines beyond 100 columns,
/// and `let (a, b) = (x, y)`, which only swaps or takes apart.
const MOST: [(&str, [f64; 4]); 20] = [
    ("roundelay", [18.6, 1.8, 2.9, 0.5]),
    ("roundelay-sim", [25.3, 3.6, 1.4, 0.4]),
    ("roundelay-evaluate", [21.5, 1.5, 0.0, 0.0]),
    ("roundelay-trace", [25.9, 0.9, 0.7, 0.4]),
    ("roundelay-advice", [28.5, 1.9, 0.0, 0.3]),
    ("roundelay-cli", [29.3, 4.2, 1.1, 0.2]),
    ("roundelay-papers", [27.3, 1.9, 0.1, 0.3]),
    ("roundelay-report", [25.6, 1.9, 0.0, 0.2]),
    ("roundelay-live", [17.3, 3.1, 0.0, 0.2]),
    ("roundelay-reference", [15.9, 0.0, 0.0, 0.0]),
    ("roundelay-metrics", [21.3, 0.9, 0.0, 0.0]),
    ("roundelay-tcp", [19.7, 0.6, 0.0, 0.6]),
    ("roundelay-conformance", [10.6, 3.5, 0.0, 0.0]),
    ("roundelay-files", [19.6, 0.0, 0.0, 0.0]),
    ("roundelay-bench", [28.4, 5.8, 0.0, 0.0]),
    ("roundelay-verify", [29.5, 6.1, 0.0, 1.2]),
    ("roundelay-import", [25.3, 2.6, 0.0, 0.1]),
    ("roundelay-python", [15.5, 0.0, 0.4, 0.0]),
    ("roundelay-wasm", [24.0, 0.0, 0.0, 0.0]),
    ("roundelay-compare-wasm", [9.7, 0.0, 0.0, 0.0]),
];

#[derive(Debug, Default)]
struct Figures {
    lines: usize,
    combinators: usize,
    named: usize,
    wide: usize,
    tuples: usize,
}

impl Figures {
    fn of_package(package: &str) -> Self {
        let mut figures = Self::default();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../{package}/src"));
        for path in rust_files(&sources) {
            figures.add(&fs::read_to_string(path).unwrap());
        }
        figures
    }

    fn add(&mut self, source: &str) {
        let lines: Vec<&str> = source.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let text = line.trim();
            let next = lines.get(number + 1).map_or("", |next| next.trim());
            if text == "#[cfg(test)]" && next.starts_with("mod ") && next.ends_with('{') {
                return;
            }
            if text.is_empty() || text.starts_with("//") {
                continue;
            }
            let code = without_strings(text);
            self.lines += 1;
            self.combinators += combinators(&code);
            self.named += usize::from(names_a_closure(&code));
            self.tuples += usize::from(code.starts_with("let (") && code.contains(") = ("));
            self.wide += usize::from(line.chars().count() > 100);
        }
    }

    fn per_thousand(&self, count: usize) -> f64 {
        1000.0 * count as f64 / self.lines as f64
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
    files
}

/// A line without what stands between quotes, and without a comment at its end.
fn without_strings(line: &str) -> String {
    let mut code = String::new();
    let mut is_string = false;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if is_string => _ = letters.next(),
            '"' => is_string = !is_string,
            _ if is_string => {}
            _ => code.push(letter),
        }
    }
    match code.split_once("//") {
        Some((code, _)) => code.to_owned(),
        None => code,
    }
}

fn combinators(code: &str) -> usize {
    let mut count = 0;
    for part in code.split('.').skip(1) {
        let name = part.split_once('(').map_or("", |(name, _)| name);
        count += usize::from(COMBINATORS.contains(&name));
    }
    count
}

/// `let name = |..`, also with `mut` and `move`.
fn names_a_closure(code: &str) -> bool {
    let Some((name, value)) = code
        .strip_prefix("let ")
        .and_then(|rest| rest.split_once(" = "))
    else {
        return false;
    };
    let value = value.strip_prefix("move ").unwrap_or(value);
    !name.contains(['(', ':']) && value.starts_with('|')
}

#[test]
fn figures_of_style_do_not_rise() {
    let mut wrong = String::new();
    for (package, most) in MOST {
        let figures = Figures::of_package(package);
        assert!(figures.lines > 200, "{package}: {figures:?}");
        let found = [
            figures.combinators,
            figures.named,
            figures.wide,
            figures.tuples,
        ];
        let names = [
            "combinators",
            "closures with a name",
            "wide lines",
            "bindings of tuples",
        ];
        for ((name, count), most) in names.iter().zip(found).zip(most) {
            let figure = figures.per_thousand(count);
            if (10.0 * figure).round() > (10.0 * most).round() {
                _ = writeln!(
                    wrong,
                    "{package}: {figure:.1} {name} in 1,000 lines: {most} so far"
                );
            }
        }
    }
    assert!(wrong.is_empty(), "STYLE.md, plain Rust:\n{wrong}");
}

#[test]
fn every_package_has_limits() {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for entry in fs::read_dir(packages).unwrap() {
        let path = entry.unwrap().path();
        let package = path.file_name().unwrap().to_str().unwrap();
        if path.join("src").is_dir() {
            let has_limits = MOST.iter().any(|(known, _)| *known == package);
            assert!(has_limits, "{package} has no limits in MOST");
        }
    }
}

#[test]
fn figures_of_style_are_counted() {
    let mut figures = Figures::default();
    figures.add(
        "let twice = |x| 2 * x; // .map(\nlet (a, b) = (1, 2);\nlet c = \"(.map(x))\";\n\nd.iter().map(x).filter(y).len();\n#[cfg(test)]\nmod tests {\ne.map(f)",
    );
    let Figures {
        lines,
        combinators,
        named,
        wide,
        tuples,
    } = figures;
    assert_eq!([lines, combinators, named, wide, tuples], [4, 2, 1, 0, 1]);
}
