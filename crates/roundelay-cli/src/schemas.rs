//! The schemas of what the commands print with `--json`, in `docs/schemas`, and of scenarios. They
//! are made here alone, so that no build of the command has code for them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use roundelay_report::{
    Advised, Evaluated, ObjectiveResult, Plotted, Printed, Replayed, SideBySide, Simulated, schema,
};
use serde_json::Value;

use crate::{advise, bench, bounds, disciplines, import, live, simulate, sweep, verify};

/// The schema for one kind of results: the file's name, and the text.
fn of<T: Printed + schemars::JsonSchema>() -> (String, String) {
    let (name, _version) = T::SCHEMA.split_once('/').expect("a name and a version");
    (format!("{name}.schema.json"), schema::<T>())
}

fn of_outputs() -> Vec<(String, String)> {
    vec![
        of::<Advised>(),
        of::<Simulated>(),
        of::<SideBySide>(),
        of::<simulate::DryRun<'_>>(),
        of::<sweep::report::Report<'_>>(),
        of::<Replayed>(),
        of::<Plotted>(),
        of::<ObjectiveResult>(),
        of::<Evaluated>(),
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

/// The keys that have neither a description nor a definition of their own.
fn without_meaning(schema: &Value) -> Vec<String> {
    let mut mute = Vec::new();
    if let Value::Array(parts) = schema {
        mute.extend(parts.iter().flat_map(without_meaning));
    }
    for (name, part) in schema.as_object().into_iter().flatten() {
        mute.extend(without_meaning(part));
        if name != "properties" {
            continue;
        }
        for (key, value) in part.as_object().into_iter().flatten() {
            if value.get("description").is_none() && !value.to_string().contains("$ref") {
                mute.push(key.clone());
            }
        }
    }
    mute
}

/// `ROUNDELAY_WRITE=1` writes the schemas. If a key went, or its meaning or type changed, raise the
/// version in `SCHEMA` beside the type before you write the schema.
#[test]
fn the_schemas_are_those_of_the_types() {
    let is_written = std::env::var_os("ROUNDELAY_WRITE").is_some();
    let mut names = BTreeSet::new();
    let check = |path: &Path, text: &str| {
        if is_written {
            fs::write(path, text).unwrap();
        }
        assert!(
            fs::read_to_string(path).unwrap_or_default() == text,
            "{}: write it anew: ROUNDELAY_WRITE=1 cargo test -p roundelay-cli --lib schemas::",
            path.display()
        );
    };
    let of_sim = folder().join("../../crates/roundelay-sim/src/scenario/schema.json");
    check(&of_sim, &roundelay_sim::scenario::schema());
    for (name, text) in of_outputs() {
        check(&folder().join(&name), &text);
        let mute = without_meaning(&serde_json::from_str(&text).unwrap());
        assert!(mute.is_empty(), "{name}: no word about {mute:?}");
        names.insert(name);
    }
    for file in fs::read_dir(folder()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(names.contains(&name), "{name} is the schema of nothing");
    }
}
