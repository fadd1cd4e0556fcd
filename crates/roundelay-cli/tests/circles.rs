//! Order of files: a file imports no file that imports it, directly or through others.
//!
//! One kind of import does not count: a file that names its own children, as `capture.rs` does those
//! in `capture/`. They are its parts, and they may use what it defines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

type Modules = BTreeMap<String, String>;

/// Sources by module, without comments and unit tests.
fn modules(folder: &Path, above: &str, into: &mut Modules) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("a file").path();
        let stem = path.file_stem().expect("a name").to_string_lossy();
        let module = match (&*stem, above) {
            ("lib" | "mod", _) => above.to_owned(),
            (stem, "") => stem.to_owned(),
            (stem, above) => format!("{above}::{stem}"),
        };
        if path.is_dir() {
            modules(&path, &module, into);
        } else {
            let source = fs::read_to_string(&path).expect("a source");
            into.insert(module, code(&source));
        }
    }
}

fn code(source: &str) -> String {
    let mut code = String::new();
    let mut lines = source.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().map_or("", |next| next.trim());
        if line.trim() == "#[cfg(test)]" && next.starts_with("mod ") && next.ends_with('{') {
            break;
        }
        code += line.split("//").next().unwrap_or("");
        code.push('\n');
    }
    code
}

/// Paths of `use a::{b, c::d};`: `a::b` and `a::c::d`.
fn paths(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((above, list)) = tree.split_once('{') else {
        let name = tree.split(" as ").next().unwrap_or("");
        return vec![name.to_owned()];
    };
    let list = list.strip_suffix('}').expect("a closing brace");
    let mut found = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (at, letter) in list.char_indices().chain([(list.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let item = &list[start..at];
                if !item.trim().is_empty() {
                    found.extend(paths(&format!("{above}{}", item.trim())));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// A path in `module`, from the root of the crate. None: of another crate.
fn absolute(module: &str, path: &str, modules: &Modules) -> Option<Vec<String>> {
    let mut names: Vec<String> = path.split("::").map(str::to_owned).collect();
    let mut above: Vec<String> = module.split("::").map(str::to_owned).collect();
    above.retain(|name| !name.is_empty());
    if names[0] == "crate" {
        names.remove(0);
        return Some(names);
    }
    if names[0] == "super" || names[0] == "self" {
        while names.first().is_some_and(|name| name == "super") {
            names.remove(0);
            above.pop();
        }
        names.retain(|name| name != "self");
    } else {
        let mut child = above.clone();
        child.push(names[0].clone());
        if !modules.contains_key(&child.join("::")) {
            return None;
        }
    }
    above.extend(names);
    Some(above)
}

/// Where a module takes the names from that it passes on with `pub use`.
type Passed = BTreeMap<(String, String), Vec<String>>;

/// The module in which the item of a path stands.
fn home(path: &[String], modules: &Modules, passed: &Passed) -> String {
    let mut module = String::new();
    for (at, name) in path.iter().enumerate() {
        let mut child = module.clone();
        if !child.is_empty() {
            child += "::";
        }
        child += name;
        let is_last = at + 1 == path.len();
        let is_module = modules.contains_key(&child);
        let from = passed.get(&(module.clone(), name.clone()));
        match from {
            Some(from) if is_last || !is_module => {
                let rest = &path[at + 1..];
                return home(&[from, rest].concat(), modules, passed);
            }
            _ if is_module => module = child,
            _ => break,
        }
    }
    module
}

/// The statements that begin with `word`, without it, up to the semicolon.
fn statements<'a>(source: &'a str, word: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for part in source.split(';') {
        let part = part.trim_start();
        let last = part
            .rfind(&format!("\n{word}"))
            .map_or(part, |at| &part[at + 1..]);
        if let Some(tree) = last.strip_prefix(word) {
            found.push(tree);
        }
    }
    found
}

/// Modules with the modules that they import.
fn imports(modules: &Modules) -> BTreeMap<String, BTreeSet<String>> {
    let mut passed = Passed::new();
    for (module, source) in modules {
        for word in ["pub use ", "pub(crate) use ", "pub(super) use "] {
            for path in statements(source, word).into_iter().flat_map(paths) {
                if let Some(path) = absolute(module, &path, modules) {
                    let name = path.last().expect("a name").clone();
                    passed.insert((module.clone(), name), path);
                }
            }
        }
    }
    let mut imports = BTreeMap::new();
    for (module, source) in modules {
        let mut homes = BTreeSet::new();
        let mut found: Vec<_> = statements(source, "use ")
            .into_iter()
            .flat_map(paths)
            .collect();
        // Paths outside of `use`, also those that begin with the name of a child. What ends in `::` is
        // the beginning of a list in braces, found above.
        for word in
            source.split(|letter: char| !(letter.is_alphanumeric() || "_:".contains(letter)))
        {
            if word.contains("::") && !word.starts_with("::") && !word.ends_with("::") {
                found.push(word.trim_end_matches(':').to_owned());
            }
        }
        for path in found {
            if let Some(path) = absolute(module, &path, modules) {
                homes.insert(home(&path, modules, &passed));
            }
        }
        homes.remove(module);
        homes.remove("");
        let children = format!("{module}::");
        homes.retain(|home| !home.starts_with(&children));
        imports.insert(module.clone(), homes);
    }
    imports
}

/// The modules left when those without imports among the others, and those that no other imports,
/// are taken away again and again.
fn circle(mut imports: BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    loop {
        let mut imported = BTreeSet::new();
        for homes in imports.values() {
            imported.extend(homes.clone());
        }
        let before = imports.len();
        let left: BTreeSet<String> = imports.keys().cloned().collect();
        imports.retain(|module, homes| {
            homes.retain(|home| left.contains(home));
            !homes.is_empty() && imported.contains(module)
        });
        if imports.len() == before {
            return imports.into_keys().collect();
        }
    }
}

/// The core has one circle, because its types have one: a tree is a discipline of the registry, and
/// its nodes are disciplines of the registry. Without that one import all files have an order.
#[test]
fn files_of_the_core_have_an_order() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../roundelay/src");
    let mut core = Modules::new();
    modules(&sources, "", &mut core);
    assert!(core.len() > 90, "{} files", core.len());
    let mut imports = imports(&core);
    assert!(imports["schedulers::drr"].contains("schedulers::discipline"));
    assert!(imports["pool"].contains("packet"), "{:?}", imports["pool"]);
    assert!(imports["tree"].contains("schedulers::registry"));
    let registry = imports.get_mut("schedulers::registry").expect("a file");
    assert!(registry.remove("tree"));
    assert_eq!(circle(imports), [""; 0]);
}

const SORTED: [&str; 19] = [
    "roundelay-advice",
    "roundelay-bench",
    "roundelay-cli",
    "roundelay-compare-wasm",
    "roundelay-conformance",
    "roundelay-evaluate",
    "roundelay-files",
    "roundelay-import",
    "roundelay-live",
    "roundelay-metrics",
    "roundelay-papers",
    "roundelay-python",
    "roundelay-reference",
    "roundelay-report",
    "roundelay-sim",
    "roundelay-tcp",
    "roundelay-trace",
    "roundelay-verify",
    "roundelay-wasm",
];

#[test]
fn files_of_other_crates_have_an_order() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in SORTED {
        let mut files = Modules::new();
        modules(&crates.join(name).join("src"), "", &mut files);
        assert!(files.len() > 1, "{name}: {files:?}");
        assert_eq!(circle(imports(&files)), [""; 0], "{name}");
    }
}

#[test]
fn a_circle_of_files_is_found() {
    let files = |scheduler: &str| {
        let sources = [
            ("", "mod pool;\nmod scheduler;\npub use pool::Pool;"),
            ("packet", "use core::fmt;"),
            (
                "pool",
                "use crate::packet::Packet;\n\nuse crate::scheduler::{self, a::Refusal};",
            ),
            ("scheduler", scheduler),
        ];
        let sources = sources.map(|(name, source)| (name.to_owned(), source.to_owned()));
        circle(imports(&Modules::from(sources)))
    };
    assert_eq!(files("use crate::packet::Packet;"), [""; 0]);
    assert_eq!(files("use crate::{Pool, packet};"), ["pool", "scheduler"]);
    assert_eq!(files("fn of(pool: &crate::Pool) {}"), ["pool", "scheduler"]);
    assert_eq!(files("use super::pool::Link;"), ["pool", "scheduler"]);

    // `scheduler::a` and `scheduler::b` are parts of `scheduler`.
    let parts = |b: &str| {
        let sources = [
            ("", "mod scheduler;"),
            (
                "scheduler",
                "mod a;\nmod b;\n\nfn run() {\n    a::run(b::run());\n}",
            ),
            (
                "scheduler::a",
                "use super::b::Refusal;\n\nuse super::Packet;",
            ),
            ("scheduler::b", b),
        ];
        let sources = sources.map(|(name, source)| (name.to_owned(), source.to_owned()));
        circle(imports(&Modules::from(sources)))
    };
    assert_eq!(parts("use super::Packet;"), [""; 0]);
    assert_eq!(parts("use super::a;"), ["scheduler::a", "scheduler::b"]);
}
