//! Order of files: a file imports no file that imports it, directly or through others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The one circle. A tree is a discipline of the registry, and its nodes are disciplines of the
/// registry, written as queues are.
const TREE: [&str; 7] = [
    "schedulers::registry",
    "spec",
    "tree",
    "tree::below",
    "tree::class",
    "tree::config",
    "tree::shaper",
];

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
        // Paths outside of `use`.
        for word in
            source.split(|letter: char| !(letter.is_alphanumeric() || "_:".contains(letter)))
        {
            if word.starts_with("crate::") || word.starts_with("super::") {
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

#[test]
fn files_of_the_core_have_an_order() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../roundelay/src");
    let mut core = Modules::new();
    modules(&sources, "", &mut core);
    assert!(core.len() > 90, "{} files", core.len());
    let imports = imports(&core);
    assert!(imports["schedulers::drr"].contains("schedulers::discipline"));
    assert!(imports["pool"].contains("packet"), "{:?}", imports["pool"]);
    assert_eq!(circle(imports), TREE);
}

/// The crates whose files have an order, with the files of circles that are left: these may only
/// become fewer.
const SORTED: [(&str, &[&str]); 17] = [
    ("roundelay-advice", &[]),
    ("roundelay-bench", &[]),
    ("roundelay-cli", &[]),
    ("roundelay-compare-wasm", &[]),
    ("roundelay-conformance", &[]),
    ("roundelay-files", &[]),
    ("roundelay-import", &[]),
    ("roundelay-live", &[]),
    ("roundelay-metrics", &[]),
    ("roundelay-papers", &[]),
    ("roundelay-reference", &[]),
    ("roundelay-report", &[]),
    (
        "roundelay-sim",
        &[
            "agent",
            "decision",
            "edge",
            "flows",
            "headers",
            "link",
            "network",
            "packet_state",
            "probe",
            "routing",
            "simulation",
            "topologies",
            "topologies::files",
            "topologies::files::graphml",
            "topologies::files::unread",
        ],
    ),
    ("roundelay-tcp", &[]),
    (
        "roundelay-trace",
        // A dialogue becomes connections, and the types of these stand beside what reads dialogues.
        &["connections", "connections::dialogue"],
    ),
    ("roundelay-verify", &[]),
    ("roundelay-wasm", &[]),
];

#[test]
fn files_of_other_crates_have_an_order_but_for_known_circles() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (name, left) in SORTED {
        let mut files = Modules::new();
        modules(&crates.join(name).join("src"), "", &mut files);
        assert!(files.len() > 1, "{name}: {files:?}");
        assert_eq!(circle(imports(&files)), left, "{name}");
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
}
