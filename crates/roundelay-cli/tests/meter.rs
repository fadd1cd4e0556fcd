//! What `[meter]` of a scenario adds to the outputs of `roundelay simulate`.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::Value;

/// Two transfers over TCP of one and seven segments, 10 ms from the router, and two bursts.
const SCENARIO: &str = r#"duration = "2s"
[[node]]
name = "r"
[[node]]
name = "a"
host = true
[[node]]
name = "b"
host = true
[[link]]
from = "a"
to = "r"
rate = "1gbit"
delay = "10ms"
[[link]]
from = "b"
to = "r"
rate = "1gbit"
[[source]]
name = "one"
kind = "tcp"
from = "a"
to = "b"
size = 1460
tcp = { preset = "ns2_newreno" }
[[source]]
name = "seven"
kind = "tcp"
from = "a"
to = "b"
size = 10220
start = "1s"
tcp = { preset = "ns2_newreno" }
[[source]]
name = "bursts"
kind = "burst"
from = "b"
to = "a"
size = 5000
count = 2
start_step = "1995ms"
"#;

/// A folder of its own with the scenario, gone when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, meter: &str) -> Self {
        let folder = Self(std::env::temp_dir().join(format!("roundelay-meter-{}-{name}", std::process::id())));
        fs::create_dir_all(&folder.0).unwrap();
        folder.write(meter);
        folder
    }

    fn write(&self, meter: &str) {
        fs::write(self.0.join("scenario.toml"), format!("{SCENARIO}[meter]\n{meter}\n")).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn simulate(&self, arguments: &[&str]) -> Output {
        let command =
            Command::new(env!("CARGO_BIN_EXE_roundelay")).arg("simulate").arg(self.path("scenario.toml")).args(arguments).output();
        command.expect("the command runs")
    }

    fn rows(&self, name: &str) -> Vec<Row> {
        let reader = SerializedFileReader::new(fs::File::open(self.0.join(name)).unwrap()).unwrap();
        reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter().find(|(column, _)| *column == name).unwrap_or_else(|| panic!("there is no column {name}")).1
}

fn text(value: &str) -> Field {
    Field::Str(value.to_owned())
}

/// Picoseconds of 10 ms, and of a SYN or an acknowledgement and of a full segment over two links of 1 Gbit/s.
const WAY: i64 = 10_000_000_000;
const BARE: i64 = 640_000;
const DATA: i64 = 24_160_000;

#[test]
fn transfers_are_rows_with_times_in_picoseconds() {
    let folder = Folder::new("transfers", "transfers = true");
    stdout(&folder.simulate(&["--replicas", "2", "--parquet", &folder.path("results")]));
    let rows = folder.rows("results/transfers.parquet");
    assert_eq!(rows.len(), 2 * 4);
    assert_eq!([0, 4].map(|row: usize| field(&rows[row], "seed").clone()), [Field::ULong(1), Field::ULong(2)]);
    let (one, whole, cut_off) = (&rows[0], &rows[1], &rows[3]);
    for (name, expected) in [
        ("flow", Field::ULong(0)),
        ("group", text("one")),
        ("from", text("a")),
        ("to", text("b")),
        ("start_ps", Field::Long(0)),
        ("bytes", Field::ULong(1460)),
        ("delivered_ps", Field::Long(3 * WAY + 2 * BARE + DATA)),
        ("acknowledged_ps", Field::Long(4 * WAY + 3 * BARE + DATA)),
        ("complete", Field::Bool(true)),
        ("retransmissions", Field::ULong(0)),
        ("timeouts", Field::ULong(0)),
        ("round_trip_ps", Field::Long(2 * WAY + BARE + (BARE + DATA) / 2)),
    ] {
        assert_eq!(field(one, name), &expected, "{name}");
    }
    assert_eq!((field(whole, "group"), field(whole, "complete")), (&text("bursts"), &Field::Bool(true)));
    assert_eq!(field(cut_off, "start_ps"), &Field::Long(1_995_000_000_000));
    assert_eq!((field(cut_off, "complete"), field(cut_off, "delivered_ps")), (&Field::Bool(false), &Field::Null));
    for name in ["acknowledged_ps", "retransmissions", "timeouts", "round_trip_ps"] {
        assert_eq!((field(whole, name), field(cut_off, name)), (&Field::Null, &Field::Null), "{name}");
    }
}

/// A file of transfers beside flows of a run without it would be taken for theirs; and JSON has no list of them.
#[test]
fn transfers_of_another_run_are_told() {
    let folder = Folder::new("stale", "transfers = true");
    let results = folder.path("results");
    let listed = stdout(&folder.simulate(&["--json", "--parquet", &results]));
    folder.write("");
    let output = folder.simulate(&["--parquet", &results]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(message.contains("transfers.parquet: left by another run with [meter] transfers; expected [meter] transfers"), "{message}");
    assert_eq!(listed, stdout(&folder.simulate(&["--json"])));
}

/// Means over replicas that are all alike are those of one of them; the table and the page have them, too.
#[test]
fn means_by_bytes_are_told() {
    let folder = Folder::new("means", "complete = \"acknowledged\"\nsizes = [1460]");
    let json: Value = serde_json::from_str(&stdout(&folder.simulate(&["--json", "--replicas", "3"]))).unwrap();
    let of = |figure: &str| json["summary"]["groups"][3][figure]["mean"].as_f64().unwrap();
    let group = |figure: &str| json["replicas"][0]["groups"][3][figure].as_f64().unwrap();
    assert_eq!(json["summary"]["groups"][3]["name"], "all");
    for figure in ["completion_by_bytes", "round_trip_by_bytes"] {
        assert!((of(figure) - group(figure)).abs() < 1e-12, "{figure}");
    }
    let round_trip = &json["replicas"][0]["groups"][3]["round_trip"]["mean"];
    assert!((of("round_trip_mean") - round_trip.as_f64().unwrap()).abs() < 1e-12);
    let sizes = json["replicas"][0]["groups"][3]["sizes"].as_array().unwrap();
    assert_eq!(sizes.iter().map(|size| size["up_to"].as_u64()).collect::<Vec<_>>(), [Some(1460), None]);
    let page = folder.path("page.html");
    let table = stdout(&folder.simulate(&["--html", &page]));
    assert!(table.contains("by bytes"), "{table}");
    let page = fs::read_to_string(page).unwrap();
    for piece in [">By bytes<", ">Round trip by bytes<", "all, up to 1.46 KB", "all, larger", "id=\"completion\""] {
        assert!(page.contains(piece), "{piece}");
    }
}
