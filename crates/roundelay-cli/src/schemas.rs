//! The schemas of what the commands print with `--json`. `docs/schemas` keeps them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use roundelay_report::{
    Advised, ObjectiveResult, Printed, Replayed, SideBySide, Simulated, schema,
};

use crate::{advise, bench, bounds, disciplines, import, live, simulate, sweep, verify};

/// The schema for one kind of results: the file's name, and the text.
fn of<T: Printed>() -> (String, String) {
    let (name, _version) = T::SCHEMA.split_once('/').expect("a name and a version");
    (format!("{name}.schema.json"), schema::<T>())
}

fn all() -> Vec<(String, String)> {
    vec![
        of::<Advised>(),
        of::<Simulated>(),
        of::<SideBySide>(),
        of::<simulate::DryRun<'_>>(),
        of::<sweep::report::Report<'_>>(),
        of::<Replayed>(),
        of::<ObjectiveResult>(),
        of::<verify::outputs::Report<'_>>(),
        of::<bench::saved::Report<'_>>(),
        of::<roundelay_papers::text::Report>(),
        of::<bounds::report::Report>(),
        of::<import::outputs::Report<'_>>(),
        of::<advise::report::Report>(),
        of::<live::run::Second<'_>>(),
        of::<live::run::End<'_>>(),
        of::<disciplines::Report>(),
    ]
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas")
}

/// `ROUNDELAY_WRITE=1` writes them. If a key went, or its meaning or type changed, raise the
/// version in `SCHEMA` beside the type before you write the schema.
#[test]
fn the_schemas_are_those_of_the_types() {
    let is_written = std::env::var_os("ROUNDELAY_WRITE").is_some();
    let mut names = BTreeSet::new();
    for (name, text) in all() {
        let path = folder().join(&name);
        if is_written {
            fs::create_dir_all(folder()).unwrap();
            fs::write(&path, &text).unwrap();
        }
        assert!(
            fs::read_to_string(&path).unwrap_or_default() == text,
            "{name}: write it anew: ROUNDELAY_WRITE=1 cargo test -p roundelay-cli --lib schemas::"
        );
        names.insert(name);
    }
    for file in fs::read_dir(folder()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(names.contains(&name), "{name} is the schema of nothing");
    }
}
