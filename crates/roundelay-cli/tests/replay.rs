//! A schedule that was recorded is replayed, as docs/simulator/outputs.md tells: R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 2.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};

const FLOWS: u64 = 4;

fn scenario(core: &str, sources: &str) -> String {
    format!(
        "duration = \"30s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = {FLOWS}\nrate = \"5mbit\"\n[queue]\ncore = \"{core} limit 100000\"\n{sources}"
    )
}

/// Rows of a Parquet file.
fn rows(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows: Result<_, _> = reader.get_row_iter(None).unwrap().collect();
    rows.unwrap()
}

/// A packet of a schedule, in picoseconds: when it came, how long it waited in all, when it had gone.
struct Packet {
    len: u64,
    sent: i64,
    waited: i64,
    end: i64,
}

/// What a scenario's run recorded: packets by flow, in the order in which they were sent.
fn record(folder: &Path, name: &str, text: &str) -> BTreeMap<u64, Vec<Packet>> {
    let (file, results) = (folder.join(format!("{name}.toml")), folder.join(name));
    fs::write(&file, text).unwrap();
    let command =
        Command::new(env!("CARGO_BIN_EXE_roundelay")).arg("simulate").arg(file).arg("--packets").arg("--parquet").arg(&results).output();
    let output = command.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut waits = BTreeMap::<u64, i64>::new();
    for hop in rows(&results.join("hops.parquet")) {
        *waits.entry(hop.get_ulong(0).unwrap()).or_default() += hop.get_long(3).unwrap() - hop.get_long(2).unwrap();
    }
    let mut flows = BTreeMap::<u64, Vec<Packet>>::new();
    for row in rows(&results.join("packets.parquet")) {
        assert_eq!(row.get_string(8).unwrap(), "delivered");
        let (len, sent, end) = (row.get_uint(5).unwrap().into(), row.get_long(6).unwrap(), row.get_long(7).unwrap());
        let packet = Packet { len, sent, waited: waits[&row.get_ulong(0).unwrap()], end };
        flows.entry(row.get_ulong(1).unwrap()).or_default().push(packet);
    }
    flows.values_mut().for_each(|packets| packets.sort_by_key(|packet| packet.sent));
    flows
}

fn seconds(picos: i64) -> String {
    format!("{}.{:012}", picos / 1_000_000_000_000, picos % 1_000_000_000_000)
}

/// Packets in which a replay was late, and the most by which it was, in picoseconds.
fn lateness(first: &BTreeMap<u64, Vec<Packet>>, again: &BTreeMap<u64, Vec<Packet>>) -> (usize, i64) {
    let pairs = first.iter().flat_map(|(flow, packets)| packets.iter().zip(&again[flow]));
    let late: Vec<_> = pairs.map(|(first, again)| again.end - first.end).filter(|late| *late > 0).collect();
    (late.len(), late.into_iter().max().unwrap_or(0))
}

/// One congestion point: LSTF that interrupts packets is never late, whatever the schedule was; one that does not is late by no more than a packet.
/// FIFO, which goes by nothing, is late by far.
#[test]
fn lstf_replays_what_a_random_queue_did() {
    let folder = std::env::temp_dir().join(format!("roundelay-replay-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let poisson = "[[source]]\nkind = \"poisson\"\nfrom = \"s*\"\nto = \"r*\"\nrate = \"1100kbit\"\npacket_len = 1000\nstop = \"20s\"\n";
    let first = record(&folder, "first", &scenario("random", poisson));
    let mut lists = String::new();
    for (flow, packets) in &first {
        let list: PathBuf = folder.join(format!("flow{flow}.txt"));
        let line = |packet: &Packet| format!("{} {} {}\n", seconds(packet.sent), packet.len, seconds(packet.waited));
        fs::write(&list, packets.iter().map(line).collect::<String>()).unwrap();
        lists +=
            &format!("[[source]]\nname = \"{flow}\"\nkind = \"trace\"\nfile = \"flow{flow}.txt\"\nfrom = \"s{flow}\"\nto = \"r{flow}\"\n");
    }
    let [exact, plain, fifo] = ["lstf preempt", "lstf", "fifo"].map(|core| {
        let again = record(&folder, &core.replace(' ', "_"), &scenario(core, &lists));
        assert_eq!(first.values().map(Vec::len).collect::<Vec<_>>(), again.values().map(Vec::len).collect::<Vec<_>>());
        lateness(&first, &again)
    });
    fs::remove_dir_all(&folder).unwrap();
    let packets: usize = first.values().map(Vec::len).sum();
    assert!(first.len() as u64 == FLOWS && packets > 9_000, "{packets}");
    let a_packet = 1_600_000_000;
    assert_eq!(exact, (0, 0));
    assert!(plain.1 <= a_packet, "{plain:?}");
    assert!(fifo.0 > packets / 10 && fifo.1 > 10 * a_packet, "{fifo:?}");
}
