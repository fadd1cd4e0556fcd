//! Values of a wrong type in scenarios: the message is in the words of a file's author.

use std::fs;
use std::path::Path;

use roundelay_sim::scenario::{Scenario, templates};
use toml::{Table, Value};

/// A step from a table or a list to one of its values.
#[derive(Clone)]
enum Step {
    Key(String),
    Index(usize),
}

/// The ways to all values below this one.
fn ways(value: &Value, way: &[Step], all: &mut Vec<Vec<Step>>) {
    let mut below = Vec::new();
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                below.push((Step::Key(key.clone()), value));
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                below.push((Step::Index(index), value));
            }
        }
        _ => {}
    }
    for (step, value) in below {
        let way = [way, &[step]].concat();
        ways(value, &way, all);
        all.push(way);
    }
}

/// The value with another one at the end of the way.
fn replaced(value: &Value, way: &[Step], wrong: &Value) -> Value {
    let mut value = value.clone();
    let mut at = &mut value;
    for step in way {
        at = match step {
            Step::Key(key) => &mut at[key.as_str()],
            Step::Index(index) => &mut at[*index],
        };
    }
    *at = wrong.clone();
    value
}

/// Words that only Rust and serde have.
const RUST: [&str; 15] = [
    "struct ",
    "enum ",
    "variant `",
    "untagged",
    "invalid type",
    "invalid value",
    "invalid length",
    "element",
    "expected u8",
    "expected u32",
    "expected u64",
    "expected usize",
    "expected i64",
    "expected f64",
    "sequence",
];

#[test]
fn a_wrong_value_is_told_in_words_of_scenarios() {
    let scenarios = Path::new("../../examples/scenarios");
    let mut texts = Vec::new();
    for (_, text) in templates() {
        texts.push(text.to_owned());
    }
    for entry in fs::read_dir(scenarios).expect("the examples") {
        let path = entry.expect("an example").path();
        if path.extension().is_some_and(|ext| ext == "toml") {
            texts.push(fs::read_to_string(path).expect("a text"));
        }
    }
    let wrong: Vec<Value> = toml::from_str::<Table>(
        "wrong = [-5, 5000000000, 5.5, 'x', [], {}, true, [[1]], { a = 1 }, ['x', 2]]",
    )
    .expect("TOML")["wrong"]
        .as_array()
        .expect("a list")
        .clone();
    let mut refused = 0;
    for text in &texts {
        let file: Value = toml::from_str::<Table>(text).expect("TOML").into();
        let mut all = Vec::new();
        ways(&file, &[], &mut all);
        for way in &all {
            for wrong in &wrong {
                let changed = toml::to_string(&replaced(&file, way, wrong)).expect("TOML");
                let read = Scenario::from_toml("mine.toml", &changed, scenarios);
                let Err(error) = read else { continue };
                let message = error.to_string();
                let word = RUST.iter().find(|word| message.contains(**word));
                assert_eq!(word, None, "{message}\n{changed}");
                refused += 1;
            }
        }
    }
    assert!(refused > 2000, "{refused}");
}
