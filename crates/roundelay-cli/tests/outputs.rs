//! docs/simulator/outputs.md describes all outputs of `roundelay simulate`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use parquet::basic::{LogicalType, Repetition, Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use serde_json::Value;

const SCENARIO: &str = r#"duration = "2s"
[topology]
template = "dumbbell"
pairs = 3
rate = "5mbit"
[queue]
core = "fifo limit 20"
[meter]
flows = true
wfi = true
transfers = true
rates = "100ms"
sizes = [1460, 100000]
[[source]]
kind = "cbr"
from = "s0"
to = "r0"
rate = "3mbit"
[[source]]
kind = "tcp"
from = "s1..2"
to = "r1..2"
size = 200000
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text below a heading, up to the next heading.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("\n### {heading}\n")).unwrap_or_else(|| panic!("no heading '{heading}'"));
    rest.split("\n#").next().unwrap()
}

/// A run with all outputs: the folder, and stdout with and without `--json`.
fn outputs() -> (PathBuf, String, String) {
    let folder = std::env::temp_dir().join(format!("roundelay-outputs-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let scenario = folder.join("scenario.toml");
    fs::write(&scenario, SCENARIO).unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_roundelay")).arg("simulate").arg(&scenario).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let columns = folder.join("columns");
    let json = run(&["--json", "--parquet", columns.to_str().unwrap(), "--packets"]);
    (folder, json, run(&[]))
}

/// The heading for an object's keys, by path; objects of the same shape share a heading.
fn heading(path: &str, object: &serde_json::Map<String, Value>) -> String {
    let shapes = [("half_width", "interval"), ("p999", "spread"), ("on_their_way", "packets")];
    let shape = shapes.into_iter().find(|(key, _)| object.contains_key(*key));
    shape.map_or_else(|| if path.is_empty() { "The object".to_owned() } else { format!("`{path}`") }, |(_, shape)| format!("`{shape}`"))
}

fn keys(value: &Value, path: &str, found: &mut BTreeSet<(String, String)>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                found.insert((heading(path, object), key.clone()));
                keys(value, &if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, &format!("{path}[]"), found)),
        _ => {}
    }
}

/// Type of a column in the page's notation, including nullability.
fn kind(column: &ColumnDescriptor) -> String {
    let unsigned =
        |bits: i8| matches!(column.logical_type_ref(), Some(LogicalType::Integer(int)) if int.bit_width == bits && !int.is_signed);
    let text = match column.physical_type() {
        Type::INT64 if unsigned(64) => "uint64",
        Type::INT32 if unsigned(32) => "uint32",
        Type::INT64 => "int64",
        Type::DOUBLE => "double",
        Type::BOOLEAN => "bool",
        Type::BYTE_ARRAY if matches!(column.logical_type_ref(), Some(LogicalType::String)) => "text",
        other => panic!("{}: {other} has no word on the page", column.name()),
    };
    let repetition = column.self_type().get_basic_info().repetition();
    assert_ne!(repetition, Repetition::REPEATED, "{}", column.name());
    text.to_owned() + if repetition == Repetition::OPTIONAL { ", null" } else { "" }
}

#[test]
fn all_that_is_written_stands_on_the_page() {
    let page = fs::read_to_string(root().join("docs/simulator/outputs.md")).unwrap();
    let (folder, json, table) = outputs();
    let mut found = BTreeSet::new();
    keys(&serde_json::from_str(&json).unwrap(), "", &mut found);
    for name in ["flows", "links", "transfers", "rates", "packets", "hops"] {
        let file = fs::File::open(folder.join(format!("columns/{name}.parquet"))).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr();
        found.extend(schema.columns().iter().map(|column| (format!("`{name}.parquet`"), column.name().to_owned())));
        let told = section(&page, &format!("`{name}.parquet`"));
        for column in schema.columns() {
            let row = format!("| `{}` | {} |", column.name(), kind(column));
            assert!(told.contains(&row), "{name}.parquet: no row that begins with {row}");
        }
    }
    fs::remove_dir_all(folder).unwrap();
    assert!(found.len() > 120, "{}", found.len());
    let missing: Vec<_> = found.iter().filter(|(heading, key)| !section(&page, heading).contains(&format!("| `{key}`"))).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    // Each row of a section must exist in the output.
    for (heading, _) in &found {
        let rows = section(&page, heading).lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let old: Vec<_> = rows.filter(|row| !found.contains(&(heading.clone(), (*row).to_owned()))).collect();
        assert!(old.is_empty(), "{heading}: {old:?} are not written");
    }
    let terms = [
        "packet-hops",
        "sources",
        "flows",
        "throughput",
        "loss",
        "dropped",
        "mean",
        "p99",
        "max",
        "Jain",
        "transfers",
        "complete",
        "incomplete",
        "goodput",
        "by bytes",
        "sent again",
        "timeouts",
        "flows' lives",
        "of ratios",
        "ratio",
        "reordered",
        "round trip",
        "startup",
        "starved",
        "worst flow of",
        "B-WFI",
        "T-WFI",
        "links",
        "number",
        "utilisation",
        "busiest",
        "queues",
        "buffer",
        "from",
    ];
    let terms_told = section(&page, "Terms of the table");
    for term in terms {
        assert!(table.contains(term), "no {term} in\n{table}");
        assert!(terms_told.contains(&format!("| {term}")), "{term} is not on the page");
    }
}
