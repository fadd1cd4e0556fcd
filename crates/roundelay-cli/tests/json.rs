//! What the commands print with `--json` is what the schemas in `docs/schemas` say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

/// What these schemas use of JSON Schema, draft 2020-12. Keys that no schema names are faults here,
/// so that the schemas are complete; for other checkers such keys are legal.
struct Schema(Value);

/// Words about a schema, which allow or forbid nothing.
const WORDS: [&str; 7] = [
    "$schema",
    "$id",
    "$defs",
    "title",
    "description",
    "format",
    "default",
];

impl Schema {
    fn named(name: &str) -> Self {
        let path = root().join(format!("docs/schemas/{name}.schema.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}", path.display()));
        Self(serde_json::from_str(&text).expect("JSON"))
    }

    /// The faults of a value, each with its place.
    fn faults(&self, value: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        self.check(&self.0, value, "", &mut faults);
        faults
    }

    fn check(&self, schema: &Value, value: &Value, place: &str, faults: &mut Vec<String>) {
        let Value::Object(rules) = schema else {
            if schema == &Value::Bool(false) {
                faults.push(format!("{place}: not allowed"));
            }
            return;
        };
        for (rule, wanted) in rules {
            let is_kept = match rule.as_str() {
                "type" => has_type(wanted, value),
                "const" => value == wanted,
                "enum" => list(wanted).contains(value),
                "minimum" => value.as_f64() >= wanted.as_f64() || !value.is_number(),
                "maximum" => value.as_f64() <= wanted.as_f64() || !value.is_number(),
                "minItems" => length(value).is_none_or(|length| length >= number(wanted)),
                "maxItems" => length(value).is_none_or(|length| length <= number(wanted)),
                "uniqueItems" => repeated(value).is_none(),
                "required" => missing(wanted, value).is_none(),
                "anyOf" => self.matching(wanted, value) > 0,
                "oneOf" => self.matching(wanted, value) == 1,
                "$ref" => {
                    self.check(self.definition(wanted), value, place, faults);
                    true
                }
                "properties" | "additionalProperties" | "items" | "prefixItems" => true,
                word if WORDS.contains(&word) => true,
                _ => panic!("{place}: the rule {rule} is new"),
            };
            if !is_kept {
                faults.push(format!("{place}: {rule} {wanted}, not {value}"));
            }
        }
        match value {
            Value::Object(keys) => self.check_keys(rules, keys, place, faults),
            Value::Array(items) => self.check_items(rules, items, place, faults),
            _ => {}
        }
    }

    fn check_keys(
        &self,
        rules: &Map<String, Value>,
        keys: &Map<String, Value>,
        place: &str,
        faults: &mut Vec<String>,
    ) {
        let known = rules.get("properties");
        let others = rules.get("additionalProperties");
        for (key, value) in keys {
            let place = format!("{place}/{key}");
            match known.and_then(|known| known.get(key)).or(others) {
                Some(schema) => self.check(schema, value, &place, faults),
                None if known.is_some() => faults.push(format!("{place}: in no schema")),
                None => {}
            }
        }
    }

    fn check_items(
        &self,
        rules: &Map<String, Value>,
        items: &[Value],
        place: &str,
        faults: &mut Vec<String>,
    ) {
        let first = rules.get("prefixItems").map_or(&[][..], list);
        for (number, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(number).or(rules.get("items")) {
                self.check(schema, item, &format!("{place}/{number}"), faults);
            }
        }
    }

    /// Number of alternatives that a value is in accord with.
    fn matching(&self, alternatives: &Value, value: &Value) -> usize {
        let mut number = 0;
        for schema in list(alternatives) {
            let mut faults = Vec::new();
            self.check(schema, value, "", &mut faults);
            number += usize::from(faults.is_empty());
        }
        number
    }

    fn definition(&self, reference: &Value) -> &Value {
        let path = reference.as_str().expect("a reference");
        let path = path.strip_prefix('#').expect("within the schema");
        self.0.pointer(path).expect("a definition")
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn length(value: &Value) -> Option<u64> {
    value.as_array().map(|items| items.len() as u64)
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// The first item of a list that stands there again.
fn repeated(value: &Value) -> Option<&Value> {
    let items = value.as_array()?;
    for (number, item) in items.iter().enumerate() {
        if items[number + 1..].contains(item) {
            return Some(item);
        }
    }
    None
}

/// The first required key that an object lacks.
fn missing<'a>(wanted: &'a Value, value: &Value) -> Option<&'a Value> {
    let object = value.as_object()?;
    let is_missing = |key: &&Value| !object.contains_key(key.as_str().expect("a name"));
    list(wanted).iter().find(is_missing)
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    let names = match wanted {
        Value::Array(names) => names.as_slice(),
        one => std::slice::from_ref(one),
    };
    let is_integer = value.is_u64() || value.is_i64();
    names.iter().any(|name| match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("integer") => is_integer,
        Some("number") => value.is_number(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => panic!("the type {name} is new"),
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Checks a result, as text, against the schema that it names, and that it is this one.
pub(crate) fn check(text: &str, name: &str) {
    let value: Value = serde_json::from_str(text).expect("JSON");
    let named = value["schema"].as_str().expect("the name of a schema");
    assert_eq!(named.split_once('/').expect("a version").0, name);
    let faults = Schema::named(name).faults(&value);
    assert!(faults.is_empty(), "{name}: {faults:#?}");
}

/// A folder for one test, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("roundelay-json-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Checks what a command prints with `--json`; its status may tell of a fault that it found.
    fn check(&self, name: &str, arguments: &[&str]) {
        let output = Command::new(env!("CARGO_BIN_EXE_roundelay"))
            .current_dir(&self.0)
            .args(arguments)
            .arg("--json")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        let status = output.status.code();
        assert!(matches!(status, Some(0 | 1)), "{arguments:?}: {told}");
        check(&String::from_utf8(output.stdout).unwrap(), name);
    }

    fn run(&self, arguments: &[&str]) {
        let status = Command::new(env!("CARGO_BIN_EXE_roundelay"))
            .current_dir(&self.0)
            .args(arguments)
            .status()
            .unwrap();
        assert!(status.success(), "{arguments:?}");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn the_check_finds_what_is_wrong() {
    let schema = Schema::named("list");
    let good = json!({"schema": "list/1", "disciplines": [{"name": "a", "about": "b", "weighted": true, "linux": null}]});
    assert_eq!(schema.faults(&good), Vec::<String>::new());
    let wrong = [
        ("/schema", json!("list/2")),
        ("/disciplines", json!({})),
        ("/disciplines/0/weighted", json!("yes")),
        ("/disciplines/0/linux", json!(1)),
        ("/disciplines/0", json!({"name": "a"})),
        (
            "/disciplines/0",
            json!({"name": "a", "about": "b", "weighted": true, "linux": null, "more": 1}),
        ),
    ];
    for (place, value) in wrong {
        let mut bad = good.clone();
        *bad.pointer_mut(place).unwrap() = value;
        assert_eq!(schema.faults(&bad).len(), 1, "{bad}");
    }
}

#[test]
fn compare_and_list_are_as_their_schemas_say() {
    let folder = Folder::new("compare");
    folder.check("list", &["list"]);
    for capture in ["home-downlink.pcap", "home-both.pcap.gz"] {
        let capture = root().join("examples/captures").join(capture);
        let capture = capture.to_str().unwrap();
        folder.check(
            "compare",
            &["compare", capture, "fifo", "qfq", "--rate", "5mbit"],
        );
    }
}

const SCENARIO: &str = r#"
duration = "2s"
[topology]
template = "dumbbell"
pairs = 2
rate = "2mbit"
[queue]
core = "drr limit 50"
[meter]
over_time = true
[[source]]
kind = "cbr"
name = "calls"
from = "s*"
to = "r*"
rate = "1100kbit"
[[source]]
kind = "web_page"
document = "40kb"
objects = 3
object = "10kb"
think = "200ms"
name = "web"
from = "s1"
to = "r1"
[objective]
measure = "tail"
source = "calls"
"#;

#[test]
fn results_of_networks_are_as_their_schemas_say() {
    let folder = Folder::new("networks");
    fs::write(folder.0.join("s.toml"), SCENARIO).unwrap();
    folder.check("simulate", &["simulate", "s.toml", "--replicas", "2"]);
    folder.check("simulate-dry-run", &["simulate", "s.toml", "--dry-run"]);
    let two = ["simulate", "s.toml", "--queue", "fifo", "--queue", "qfq"];
    folder.check("simulate-queues", &two);
    let cbr = SCENARIO
        .split("[[source]]\nkind = \"web_page\"")
        .next()
        .unwrap();
    fs::write(folder.0.join("cbr.toml"), cbr).unwrap();
    folder.check("replay", &["replay", "cbr.toml"]);
    folder.check("objective", &["objective", "s.toml", "--replicas", "2"]);
    folder.check(
        "objective",
        &["objective", "s.toml", "--replicas", "2", "--cost"],
    );
    folder.check(
        "sweep",
        &[
            "sweep",
            "s.toml",
            "queue.core=fifo,qfq",
            "--figure",
            "delay_mean",
            "--replicas",
            "2",
        ],
    );
    let evaluate = "evaluate rfc7928 pie --quick --sections 8.2.2,6.2-5ms --replicas 2";
    let evaluate: Vec<_> = evaluate.split_whitespace().collect();
    folder.check("evaluate", &evaluate);
    folder.run(&["simulate", "s.toml", "--log", "log", "--quiet"]);
    folder.check("verify", &["verify", "log"]);
    let log = fs::read_to_string(folder.0.join("log")).unwrap();
    let without: Vec<_> = log
        .lines()
        .filter(|line| !line.contains("\"deliver\""))
        .collect();
    fs::write(folder.0.join("wrong"), without.join("\n")).unwrap();
    folder.check("verify", &["verify", "wrong"]);
}

const FLOWS: &str = "[[flow]]\nname = \"call\"\nweight = 2\nrate = \"1mbit\"\nburst = \"3kb\"\nmax_packet_len = 1500\n\
    [[flow]]\nname = \"rest\"\nrate = \"2mbit\"\nburst = \"9kb\"\nmax_packet_len = 1500\n";

const SCRIPT: &str = "tc qdisc add dev eth0 root handle 1: htb default 20\n\
    tc class add dev eth0 parent 1: classid 1:20 htb rate 100kbps ceil 4mbit\n";

#[test]
fn bounds_costs_and_imports_are_as_their_schemas_say() {
    let folder = Folder::new("bounds");
    fs::write(folder.0.join("flows.toml"), FLOWS).unwrap();
    folder.check(
        "bounds",
        &["bounds", "flows.toml", "--rate", "8mbit", "--hops", "2"],
    );
    fs::write(folder.0.join("script"), SCRIPT).unwrap();
    folder.check("import", &["import", "script"]);
    let bench = [
        "bench", "drr", "--rounds", "2", "--pairs", "200", "--flows", "8",
    ];
    folder.check("bench", &bench);
    folder.run(&[&bench[..], &["--save", "saved.json"]].concat());
    check(
        &fs::read_to_string(folder.0.join("saved.json")).unwrap(),
        "bench",
    );
    folder.check(
        "bench",
        &[&bench[..], &["--against", "saved.json"]].concat(),
    );
}

/// Files of --save from before they had a schema are a list, as docs/schedulers/costs.json is.
#[test]
fn costs_saved_as_a_list_are_still_read() {
    let folder = Folder::new("list");
    let bench = [
        "bench", "drr", "--rounds", "2", "--pairs", "200", "--flows", "8",
    ];
    folder.run(&[&bench[..], &["--save", "saved.json"]].concat());
    let saved = fs::read_to_string(folder.0.join("saved.json")).unwrap();
    let saved: Value = serde_json::from_str(&saved).unwrap();
    fs::write(folder.0.join("list.json"), saved["tables"].to_string()).unwrap();
    folder.run(&[&bench[..], &["--against", "list.json"]].concat());
}
