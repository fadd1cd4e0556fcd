//! docs/simulator/outputs.md describes all outputs of `roundelay simulate`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use parquet::basic::{LogicalType, Repetition, Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::ColumnDescriptor;

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
rate = "1500kbit"
count = 2
[[source]]
kind = "cbr"
from = "s0"
to = "r0"
rate = "100kbit"
stop = "1s"
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
    let (_, rest) = page
        .split_once(&format!("\n### {heading}\n"))
        .unwrap_or_else(|| panic!("no heading '{heading}'"));
    rest.split("\n#").next().unwrap()
}

/// A run with all outputs: the folder, and stdout with and without `--json`.
fn outputs() -> (PathBuf, String, String) {
    let folder = std::env::temp_dir().join(format!("roundelay-outputs-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let scenario = folder.join("scenario.toml");
    fs::write(&scenario, SCENARIO).unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_roundelay"))
            .arg("simulate")
            .arg(&scenario)
            .args(arguments)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    let columns = folder.join("columns");
    let json = run(&[
        "--json",
        "--parquet",
        columns.to_str().unwrap(),
        "--packets",
    ]);
    (folder, json, run(&[]))
}

/// A field of a Parquet file as `--csv` writes it.
fn text(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Bool(value) => value.to_string(),
        Field::Long(value) => value.to_string(),
        Field::UInt(value) => value.to_string(),
        Field::ULong(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        Field::Str(value) => value.clone(),
        other => panic!("{other:?}"),
    }
}

/// Names and rows of a Parquet file.
fn rows_of_parquet(path: &Path) -> Vec<Vec<String>> {
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    let names = columns
        .iter()
        .map(|column| column.name().to_owned())
        .collect();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        row.unwrap()
            .get_column_iter()
            .map(|(_, field)| text(field))
            .collect()
    });
    std::iter::once(names).chain(rows).collect()
}

/// Names and rows of a CSV file.
fn rows_of_csv(path: &Path) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_path(path)
        .unwrap();
    reader
        .records()
        .map(|record| record.unwrap().iter().map(str::to_owned).collect())
        .collect()
}

/// The tables of `--csv` are those of `--parquet`, for a simulation and for a comparison.
#[test]
fn csv_files_have_the_rows_of_parquet_files() {
    let folder = std::env::temp_dir().join(format!("roundelay-csv-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("scenario.toml"), SCENARIO).unwrap();
    let capture = root().join("examples/captures/home-downlink.pcap");
    let compare = [
        "compare",
        capture.to_str().unwrap(),
        "fifo",
        "fq_codel",
        "--rate",
        "5mbit",
        "--no-cost",
    ];
    let runs: [(&[&str], &[&str]); 2] = [
        (
            &["simulate", "scenario.toml", "--replicas", "2"],
            &["flows", "links", "transfers", "rates"],
        ),
        (&compare, &["flows"]),
    ];
    for (number, (words, tables)) in runs.into_iter().enumerate() {
        let [texts, columns] =
            ["texts", "columns"].map(|name| folder.join(format!("{name}-{number}")));
        let outputs = [
            "--csv",
            texts.to_str().unwrap(),
            "--parquet",
            columns.to_str().unwrap(),
        ];
        let run = Command::new(env!("CARGO_BIN_EXE_roundelay"))
            .current_dir(&folder)
            .args(words)
            .args(outputs)
            .output()
            .unwrap();
        assert!(
            run.status.success(),
            "{}",
            String::from_utf8_lossy(&run.stderr)
        );
        for table in tables {
            let [csv, parquet] = [
                rows_of_csv(&texts.join(format!("{table}.csv"))),
                rows_of_parquet(&columns.join(format!("{table}.parquet"))),
            ];
            assert!(
                csv.len() > 4 && csv == parquet,
                "{table}: {} and {} rows",
                csv.len(),
                parquet.len()
            );
        }
        assert_eq!(fs::read_dir(&texts).unwrap().count(), tables.len());
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Type of a column in the page's notation, including nullability.
fn kind(column: &ColumnDescriptor) -> String {
    let unsigned = |bits: i8| matches!(column.logical_type_ref(), Some(LogicalType::Integer(int)) if int.bit_width == bits && !int.is_signed);
    let text = match column.physical_type() {
        Type::INT64 if unsigned(64) => "uint64",
        Type::INT32 if unsigned(32) => "uint32",
        Type::INT64 => "int64",
        Type::DOUBLE => "double",
        Type::BOOLEAN => "bool",
        Type::BYTE_ARRAY if matches!(column.logical_type_ref(), Some(LogicalType::String)) => {
            "text"
        }
        other => panic!("{}: {other} has no word on the page", column.name()),
    };
    let repetition = column.self_type().get_basic_info().repetition();
    assert_ne!(repetition, Repetition::REPEATED, "{}", column.name());
    text.to_owned()
        + if repetition == Repetition::OPTIONAL {
            ", null"
        } else {
            ""
        }
}

#[test]
fn all_columns_stand_on_the_page() {
    let page = fs::read_to_string(root().join("docs/simulator/outputs.md")).unwrap();
    let (folder, _, table) = outputs();
    let mut found = BTreeSet::new();
    for name in ["flows", "links", "transfers", "rates", "packets", "hops"] {
        let file = fs::File::open(folder.join(format!("columns/{name}.parquet"))).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr();
        found.extend(
            schema
                .columns()
                .iter()
                .map(|column| (format!("`{name}.parquet`"), column.name().to_owned())),
        );
        let told = section(&page, &format!("`{name}.parquet`"));
        for column in schema.columns() {
            let row = format!("| `{}` | {} |", column.name(), kind(column));
            assert!(
                told.contains(&row),
                "{name}.parquet: no row that begins with {row}"
            );
        }
    }
    fs::remove_dir_all(folder).unwrap();
    assert!(found.len() > 80, "{}", found.len());
    let missing: Vec<_> = found
        .iter()
        .filter(|(heading, key)| !section(&page, heading).contains(&format!("| `{key}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
    // Each row of a section must exist in the output.
    for (heading, _) in &found {
        let rows = section(&page, heading)
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let old: Vec<_> = rows
            .filter(|row| !found.contains(&(heading.clone(), (*row).to_owned())))
            .collect();
        assert!(old.is_empty(), "{heading}: {old:?} are not written");
    }
    // The page has the figures' own headings: `figures::tests` of the report.
    for heading in [
        "flows",
        "throughput",
        "loss",
        "mean",
        "p99",
        "max",
        "Jain",
        "complete",
        "incomplete",
        "goodput",
        "by bytes",
        "sent again",
        "timeouts",
        "Jain of ratios",
        "ratio",
        "reordered",
        "round trip",
        "startup",
        "starved",
        "B-WFI",
        "T-WFI",
        "number",
        "utilisation",
        "busiest",
    ] {
        assert!(table.contains(heading), "no {heading} in\n{table}");
    }
    let terms = [
        "packet-hops",
        "sources",
        "dropped",
        "transfers",
        "flows' lives",
        "worst flow of",
        "links",
        "queues",
        "buffer",
        "from",
    ];
    let terms_told = section(&page, "Terms of the table");
    for term in terms {
        assert!(table.contains(term), "no {term} in\n{table}");
        assert!(
            terms_told.contains(&format!("| {term}")),
            "{term} is not on the page"
        );
    }
}

/// Regression: without `--parquet`, the rows of `--csv` ended after 4096 ended flows.
#[test]
fn csv_files_have_all_flows() {
    let folder = std::env::temp_dir().join(format!("roundelay-csv-all-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let scenario = "duration = \"1s\"\ntopology = { template = \"dumbbell\", pairs = 1 }\n\
        source = [{ kind = \"workload\", from = \"*\", file = \"flows.txt\", transport = \"burst\" }]\n";
    std::fs::write(folder.join("s.toml"), scenario).unwrap();
    let flows: String = (0..4200)
        .map(|flow| format!("{} 100 s0 r0\n", f64::from(flow) / 10_000.0))
        .collect();
    std::fs::write(folder.join("flows.txt"), flows).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_roundelay"));
    let output = command
        .current_dir(&folder)
        .args(["simulate", "s.toml", "--quiet", "--csv", "out"])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(rows_of_csv(&folder.join("out/flows.csv")).len(), 1 + 4200);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The tables as Markdown have the columns and rows of the terminal, and the verdict in bold.
#[test]
fn markdown_files_have_the_tables() {
    let folder = std::env::temp_dir().join(format!("roundelay-markdown-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("scenario.toml"), SCENARIO).unwrap();
    let capture = root().join("examples/captures/home-downlink.pcap");
    let compare = [
        "compare",
        capture.to_str().unwrap(),
        "fifo",
        "fq_codel",
        "--rate",
        "5mbit",
        "--no-cost",
    ];
    fs::write(
        folder.join("objective.toml"),
        format!("{SCENARIO}[objective]\nmeasure = \"tail\"\n"),
    )
    .unwrap();
    let objective = [
        "objective",
        "objective.toml",
        "--replicas",
        "2",
        "--no-cost",
    ];
    let runs: [(&[&str], &[&str]); 5] = [
        (
            &["simulate", "scenario.toml"],
            &[
                "## scenario",
                "| sources | flows | throughput |",
                "| queues | buffer | links | from |",
            ],
        ),
        (
            &compare,
            &[
                "home-downlink.pcap\n\n25,401 packets",
                "p99 (delay)",
                "\n**",
                "```sh\n",
                "| fifo",
            ],
        ),
        (
            &[
                "replay",
                "scenario.toml",
                "--with",
                "lstf",
                "--with",
                "fifo",
            ],
            &["## scenario", "\n|---|---:|", "\n| lstf |", "\n| fifo |"],
        ),
        (
            &objective,
            &[
                "## objective",
                "\n|---|---:|",
                "\n| fifo_plus |",
                "\n| lstf",
            ],
        ),
        (
            &["papers", "qfq", "section-4-3", "--fresh"],
            &[
                "Section 4.3",
                "| claim | verdict | deciding findings |",
                "| figure | published |",
            ],
        ),
    ];
    for (words, expected) in runs {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
        let output = command
            .current_dir(&folder)
            .args(words)
            .args(["--markdown", "result.md"])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = fs::read_to_string(folder.join("result.md")).unwrap();
        expected
            .iter()
            .for_each(|part| assert!(text.contains(part), "no {part} in\n{text}"));
    }
    fs::remove_dir_all(folder).unwrap();
}
