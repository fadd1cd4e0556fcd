//! Outputs of `roundelay simulate` added by `[meter]` of a scenario.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::Value;

/// Two TCP transfers of one and seven segments, 10 ms from the router, and two bursts.
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

/// A folder with the scenario for one test, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, meter: &str) -> Self {
        let folder = Self(
            std::env::temp_dir().join(format!("roundelay-meter-{}-{name}", std::process::id())),
        );
        fs::create_dir_all(&folder.0).unwrap();
        folder.write(meter);
        folder
    }

    fn write(&self, meter: &str) {
        fs::write(
            self.0.join("scenario.toml"),
            format!("{SCENARIO}[meter]\n{meter}\n"),
        )
        .unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn simulate(&self, arguments: &[&str]) -> Output {
        let command = Command::new(env!("CARGO_BIN_EXE_roundelay"))
            .arg("simulate")
            .arg(self.path("scenario.toml"))
            .args(arguments)
            .output();
        command.expect("the command runs")
    }

    fn rows(&self, name: &str) -> Vec<Row> {
        let reader = SerializedFileReader::new(fs::File::open(self.0.join(name)).unwrap()).unwrap();
        reader
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn stdout(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter()
        .find(|(column, _)| *column == name)
        .unwrap_or_else(|| panic!("there is no column {name}"))
        .1
}

fn text(value: &str) -> Field {
    Field::Str(value.to_owned())
}

/// Picoseconds of 10 ms; of a SYN or an acknowledgement, and of a full segment, over two links of 1
/// Gbit/s.
const WAY: i64 = 10_000_000_000;
const BARE: i64 = 640_000;
const DATA: i64 = 24_160_000;

#[test]
fn transfers_are_rows_with_times_in_picoseconds() {
    let folder = Folder::new("transfers", "transfers = true");
    stdout(&folder.simulate(&["--replicas", "2", "--parquet", &folder.path("results")]));
    let rows = folder.rows("results/transfers.parquet");
    assert_eq!(rows.len(), 2 * 4);
    assert_eq!(
        [0, 4].map(|row: usize| field(&rows[row], "seed").clone()),
        [Field::ULong(1), Field::ULong(2)]
    );
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
        (
            "round_trip_ps",
            Field::Long(2 * WAY + BARE + (BARE + DATA) / 2),
        ),
    ] {
        assert_eq!(field(one, name), &expected, "{name}");
    }
    assert_eq!(
        (field(whole, "group"), field(whole, "complete")),
        (&text("bursts"), &Field::Bool(true))
    );
    assert_eq!(field(cut_off, "start_ps"), &Field::Long(1_995_000_000_000));
    assert_eq!(
        (field(cut_off, "complete"), field(cut_off, "delivered_ps")),
        (&Field::Bool(false), &Field::Null)
    );
    for name in [
        "acknowledged_ps",
        "retransmissions",
        "timeouts",
        "round_trip_ps",
    ] {
        assert_eq!(
            (field(whole, name), field(cut_off, name)),
            (&Field::Null, &Field::Null),
            "{name}"
        );
    }
}

/// A stale file of transfers is refused: it would be taken for transfers of the new run. JSON
/// output never lists transfers.
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

/// Means over identical replicas equal the values of a single one; table and page have them too.
#[test]
fn means_by_bytes_are_told() {
    let folder = Folder::new("means", "complete = \"acknowledged\"\nsizes = [1460]");
    let json: Value =
        serde_json::from_str(&stdout(&folder.simulate(&["--json", "--replicas", "3"]))).unwrap();
    let of = |figure: &str| {
        json["summary"]["groups"][3][figure]["mean"]
            .as_f64()
            .unwrap()
    };
    let group = |figure: &str| json["replicas"][0]["groups"][3][figure].as_f64().unwrap();
    assert_eq!(json["summary"]["groups"][3]["name"], "all");
    for figure in ["completion_by_bytes", "round_trip_by_bytes"] {
        assert!((of(figure) - group(figure)).abs() < 1e-12, "{figure}");
    }
    let round_trip = &json["replicas"][0]["groups"][3]["round_trip"]["mean"];
    assert!((of("round_trip_mean") - round_trip.as_f64().unwrap()).abs() < 1e-12);
    let sizes = json["replicas"][0]["groups"][3]["sizes"]
        .as_array()
        .unwrap();
    assert_eq!(
        sizes
            .iter()
            .map(|size| size["up_to"].as_u64())
            .collect::<Vec<_>>(),
        [Some(1460), None]
    );
    let page = folder.path("page.html");
    let table = stdout(&folder.simulate(&["--html", &page]));
    assert!(table.contains("by bytes"), "{table}");
    let page = fs::read_to_string(page).unwrap();
    for piece in [
        "colspan=\"6\" scope=\"colgroup\">Completion time<",
        "colspan=\"3\" scope=\"colgroup\">Round trip<",
        "all, up to 1.46 KB",
        "all, larger",
        "id=\"completion\"",
    ] {
        assert!(page.contains(piece), "{piece}");
    }
}

/// Two hundred steps of each link and source, in JSON as in the files, which add up to what the
/// sources received; nothing of it unless asked for.
#[test]
fn links_and_sources_over_time_are_rows_and_json() {
    let folder = Folder::new("over-time", "over_time = true");
    let results = folder.path("results");
    let outputs = ["--replicas", "2", "--parquet", &results, "--json"];
    let json: Value = serde_json::from_str(&stdout(&folder.simulate(&outputs))).unwrap();
    let sources = folder.rows("results/sources_over_time.parquet");
    let links = folder.rows("results/links_over_time.parquet");
    assert_eq!((sources.len(), links.len()), (2 * 3 * 200, 2 * 4 * 200));
    let replica = &json["replicas"][1];
    let over_time = &replica["over_time"];
    assert_eq!(over_time["step"], 0.01);
    for (number, group) in over_time["groups"].as_array().unwrap().iter().enumerate() {
        let throughput = group["throughput"].as_array().unwrap();
        assert_eq!(throughput.len(), 200);
        let mut sum = 0.0;
        for (step, rate) in throughput.iter().enumerate() {
            let row = &sources[(3 + number) * 200 + step];
            sum += rate.as_f64().unwrap() / 200.0;
            assert_eq!(field(row, "seed"), &Field::ULong(2));
            assert_eq!(
                field(row, "end_ps"),
                &Field::Long(10_000_000_000 * (step as i64 + 1))
            );
            assert_eq!(
                field(row, "throughput"),
                &Field::Double(rate.as_f64().unwrap())
            );
            let delay = group["delay_max"][step].as_f64();
            let told = delay.map_or(Field::Null, Field::Double);
            assert_eq!(field(row, "delay_max"), &told);
            assert_eq!(delay.is_some(), *rate != 0.0);
        }
        let mean = replica["groups"][number]["throughput"].as_f64().unwrap();
        assert!((sum - mean).abs() < 1e-6 * mean, "{sum} {mean}");
    }
    let utilisation = field(&links[0], "utilisation");
    let first = over_time["links"][0]["utilisation"][0].as_f64().unwrap();
    assert!(
        first > 0.0 && utilisation == &Field::Double(first),
        "{utilisation:?}"
    );

    let mut waited = 0;
    for (step, row) in links[..200].iter().enumerate() {
        for name in ["wait_mean", "wait_max"] {
            let wait = json["replicas"][0]["over_time"]["links"][0][name][step].as_f64();
            assert_eq!(field(row, name), &wait.map_or(Field::Null, Field::Double));
            waited += u32::from(wait.is_some_and(|wait| wait > 0.0));
        }
    }
    assert!(waited > 0, "no packet waited");

    let plain = Folder::new("no-time", "flows = false");
    let results = plain.path("results");
    let text = stdout(&plain.simulate(&["--parquet", &results, "--json"]));
    assert!(!text.contains("\"over_time\""));
    assert!(
        !PathBuf::from(results)
            .join("links_over_time.parquet")
            .exists()
    );
}

/// At 1 Gbit/s a packet takes 8 us or less: a burst of 5,000 bytes arrives in one interval, ten
/// milliseconds later.
#[test]
fn rates_are_rows_and_a_chart() {
    let folder = Folder::new("rates", "rates = \"5ms\"");
    let (results, page) = (folder.path("results"), folder.path("page.html"));
    let told =
        stdout(&folder.simulate(&["--replicas", "2", "--parquet", &results, "--html", &page]));
    let rows = folder.rows("results/rates.parquet");
    let of = |row: &Row| ["seed", "flow", "start_ps", "bytes"].map(|name| field(row, name).clone());
    let millisecond = 1_000_000_000;
    let (uint, long) = (Field::ULong, Field::Long);
    let of_flow = |flow: u64, seed: u64| {
        rows.iter()
            .map(of)
            .filter(|row| row[..2] == [uint(seed), uint(flow)])
            .collect::<Vec<_>>()
    };
    for seed in [1, 2] {
        // A SYN and a segment of 1,460 bytes with a header of 50; the burst, after slightly more
        // than ten milliseconds.
        assert_eq!(
            of_flow(0, seed),
            [
                [uint(seed), uint(0), long(10 * millisecond), uint(40)],
                [uint(seed), uint(0), long(30 * millisecond), uint(1510)]
            ]
        );
        assert_eq!(
            of_flow(1, seed),
            [[uint(seed), uint(1), long(10 * millisecond), uint(5000)]]
        );
    }
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains("id=\"fairness\"") && page.contains("received in each 5.00 ms"),
        "a chart"
    );
    let (_, data) = page
        .split_once("<script type=\"application/json\" id=\"data\">")
        .unwrap();
    let data: Value = serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
    let curves = data["fairness"]["curves"].as_array().unwrap();
    assert_eq!(
        curves
            .iter()
            .map(|curve| curve["name"].as_str().unwrap())
            .collect::<Vec<_>>(),
        ["all", "bursts"]
    );
    assert_eq!(
        (
            data["fairness"]["step"].as_f64(),
            curves[0]["jain"].as_array().unwrap().len()
        ),
        (Some(0.005), 400)
    );
    // In the third interval two of the four flows receive 40 and 5,000 bytes; one of the two bursts
    // receives everything.
    let jain = |curve: usize, place: usize| curves[curve]["jain"][place].as_f64();
    assert!((jain(0, 2).unwrap() - 5040_f64.powi(2) / (4.0 * (1600.0 + 25e6))).abs() < 1e-4);
    assert_eq!((jain(1, 2), jain(1, 3)), (Some(0.5), None));
    folder.write("");
    let plain =
        stdout(&folder.simulate(&["--replicas", "2", "--html", &folder.path("plain.html")]));
    assert_eq!(told, plain);
    assert!(
        !fs::read_to_string(folder.path("plain.html"))
            .unwrap()
            .contains("id=\"fairness\"")
    );
    let stale = folder.simulate(&["--parquet", &results]);
    assert!(
        String::from_utf8_lossy(&stale.stderr)
            .contains("rates.parquet: left by another run with [meter] rates")
    );
}

/// Large memory use is reported before the run.
#[test]
fn much_memory_is_told_before_a_run() {
    let folder = Folder::new("memory", "rates = \"100us\"");
    let path = folder.path("scenario.toml");
    let text = fs::read_to_string(&path)
        .unwrap()
        .replace("duration = \"2s\"", "duration = \"50s\"");
    let many =
        "[[source]]\nkind = \"cbr\"\nfrom = \"a\"\nto = \"b\"\nrate = \"100mbit\"\ncount = 1000\n";
    fs::write(&path, text.replace("[meter]", &format!("{many}[meter]"))).unwrap();
    let told = stdout(&folder.simulate(&["--dry-run"]));
    assert!(
        told.contains("Note: Series of rates take up to ")
            && told.contains("500000 intervals of 100us"),
        "{told}"
    );
}
