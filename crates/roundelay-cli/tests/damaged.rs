//! Small files of every kind, cut off and changed: whatever the damage, the command ends with a status
//! of its own, and what it says names the file and steers no terminal.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CALLS: &str = "duration = '50ms'
[topology]
template = 'dumbbell'
pairs = 1
rate = '1mbit'
[[source]]
name = 'calls'
kind = 'cbr'
from = 's0'
to = 'r0'
rate = '500kbit'
packet_len = 200
";
const TREE: &str = "name = 'office'
[[node]]
name = 'link'
discipline = 'drr'
[[node]]
name = 'names'
parent = 'link'
discipline = 'fifo limit 50'
flows = ['dst port 53']
[[node]]
name = 'rest'
parent = 'link'
discipline = 'fq_codel'
default = true
";
const WEIGHTS: &str = "default = 1
[[weight]]
match = 'dst port 53'
weight = 4
";
const SCRIPT: &str = "DEV=eth0\ntc qdisc add dev $DEV root handle 1: htb default 10\n\
                      tc class add dev $DEV parent 1: classid 1:10 htb rate 5mbit\n";
const FLOWS: &str = "[[flow]]
name = 'names'
weight = 2
max_packet_len = '512b'
rate = '1mbit'
burst = '1kb'
";
const TRACED: &str = "duration = '50ms'
[topology]
template = 'dumbbell'
pairs = 1
rate = '1mbit'
[[port]]
from = 'left'
to = 'right'
link_trace = 'damaged'
[[source]]
name = 'calls'
kind = 'cbr'
from = 's0'
to = 'r0'
rate = '500kbit'
packet_len = 200
";
const TRACE: &str = "1\n4\n9\n12\n12\n20\n";
const MAPPED: &str = "duration = '50ms'
[topology]
file = 'damaged'
hosts_per_router = 1
access_rate = '1gbit'
access_delay = '100us'
[[source]]
name = 'calls'
kind = 'cbr'
from = 'host0'
to = 'host1'
rate = '500kbit'
packet_len = 200
";
const MAP: &str = "a b 10mbit 5ms\nb c 10mbit 5ms\n# a comment\nc a 1gbit 1ms\n";
/// What a terminal would obey.
const RED: &[u8] = b"\x1b[31m";

/// A file and the command that reads it.
struct Reader {
    file: &'static str,
    words: &'static str,
    /// What the message of a cut file says, where a shorter file is another whole one. None: a cut that
    /// leaves no whole file is an error, or the same result.
    cut: Option<&'static str>,
}

const fn reader(file: &'static str, words: &'static str) -> Reader {
    Reader {
        file,
        words,
        cut: None,
    }
}

const fn told(mut reader: Reader, cut: &'static str) -> Reader {
    reader.cut = Some(cut);
    reader
}

/// Every command that reads a file, with each kind of file. See [`prepared`] for these.
const READERS: [Reader; 16] = [
    reader("calls.toml", "simulate damaged -q"),
    reader("calls.toml", "replay damaged -q"),
    reader("calls.toml", "sweep damaged topology.rate=1mbit --why -q"),
    reader("traced.trace", "simulate traced.toml -q"),
    reader("mapped.map", "simulate mapped.toml -q"),
    reader(
        "tree.toml",
        "compare calls.pcapng --tree damaged --rate 1mbit -q --no-cost",
    ),
    reader(
        "tree.toml",
        "bounds flows.toml --tree damaged --rate 10mbit",
    ),
    reader("flows.toml", "bounds damaged drr --rate 10mbit"),
    reader(
        "weights.toml",
        "compare calls.pcapng drr --weights damaged --rate 1mbit -q --no-cost",
    ),
    reader("script.sh", "import damaged"),
    told(
        reader("record.pcapng", "verify damaged"),
        "stops without an end",
    ),
    told(
        reader("record.pcapng", "compare damaged"),
        "stops without an end",
    ),
    reader("calls.log", "verify damaged"),
    told(reader("calls.pcapng", "applications damaged"), "cut off"),
    told(
        reader(
            "calls.pcapng",
            "compare damaged drr --rate 1mbit -q --no-cost",
        ),
        "cut off",
    ),
    reader(
        "saved.json",
        "bench fifo --flows 8 --pairs 10 --rounds 1 --against damaged",
    ),
];

fn run(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .args(words)
        .current_dir(folder)
        .output()
        .expect("it runs")
}

/// A folder with small files of every kind.
fn prepared(name: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("roundelay-damaged-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/record");
    let record = fs::read(fuzz.join("fifo.pcapng")).expect("a record");
    for (name, text) in [
        ("calls.toml", CALLS.as_bytes()),
        ("traced.toml", TRACED.as_bytes()),
        ("traced.trace", TRACE.as_bytes()),
        ("mapped.toml", MAPPED.as_bytes()),
        ("mapped.map", MAP.as_bytes()),
        ("tree.toml", TREE.as_bytes()),
        ("flows.toml", FLOWS.as_bytes()),
        ("weights.toml", WEIGHTS.as_bytes()),
        ("script.sh", SCRIPT.as_bytes()),
        ("record.pcapng", &record),
    ] {
        fs::write(folder.join(name), text).expect("a file");
    }
    for words in [
        "simulate calls.toml -q --log calls.log --pcapng calls.pcapng",
        "bench fifo --flows 8 --pairs 10 --rounds 1 --save saved.json",
    ] {
        let words: Vec<_> = words.split(' ').collect();
        let output = run(&folder, &words);
        assert!(output.status.success(), "{output:?}");
    }
    folder
}

/// How a file was damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Cut,
    Flipped,
    Escape,
}

fn damaged(bytes: &[u8], at: usize, damage: Damage) -> Vec<u8> {
    match damage {
        Damage::Cut => bytes[..at].to_vec(),
        Damage::Flipped => {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 1 << (at % 8);
            flipped
        }
        Damage::Escape => [&bytes[..at], RED, &bytes[at..]].concat(),
    }
}

/// Calls in this process, whose standard output and error are files.
struct Calls {
    folder: PathBuf,
    said: PathBuf,
    told: PathBuf,
}

impl Calls {
    /// Status, standard output, standard error.
    fn call(&self, words: &str) -> (u8, String, String) {
        for path in [&self.said, &self.told] {
            fs::write(path, "").expect("a file");
        }
        let words = words.split(' ').map(Into::into);
        let status = roundelay_cli::main(["roundelay".into()].into_iter().chain(words));
        let text = |path: &Path| String::from_utf8(fs::read(path).expect("a file")).expect("text");
        (status, text(&self.said), text(&self.told))
    }

    /// One reader with each damage at so many places of its file, spread evenly.
    /// Returns messages that lack the file or the place, each with its first case.
    fn read_damaged(&self, reader: &Reader, places: usize) -> BTreeMap<String, String> {
        let mut vague = BTreeMap::new();
        let Reader { file, words, cut } = reader;
        let bytes = fs::read(self.folder.join(file)).expect("a file");
        let path = self.folder.join("damaged");
        fs::write(&path, &bytes).expect("a file");
        let (status, whole, told) = self.call(words);
        assert_eq!(status, 0, "{words}: {told}");
        let step = bytes.len().div_ceil(places);
        for at in (0..bytes.len()).step_by(step) {
            for damage in [Damage::Cut, Damage::Flipped, Damage::Escape] {
                let content = damaged(&bytes, at, damage);
                fs::write(&path, &content).expect("a file");
                let (status, said, told) = self.call(words);
                let case = format!("{words}, {file}, {damage:?} at {at}: {status}, {told:?}");
                assert!(status <= 2, "{case}");
                let steers = |letter: char| letter.is_control() && !"\n\t".contains(letter);
                assert!(!told.contains(steers), "{case}");
                assert!(!said.contains(steers), "{case}: {said:?}");
                if status != 0 {
                    // Flows of a file may name leaves that a tree no longer has.
                    let is_named = told.contains("damaged") || told.contains("flows.toml: flow");
                    // A record whose marks are gone is a capture like others.
                    let is_capture = damage != Damage::Cut && told.contains("--rate <RATE>");
                    if !(is_capture || is_named && has_place(&told)) {
                        vague.entry(told.clone()).or_insert(case.clone());
                    }
                }
                if damage == Damage::Cut
                    && status == 0
                    && said != whole
                    && let Some(cut) = cut
                    && !is_shorter(&content)
                {
                    assert!((told + &said).contains(cut), "a cut is not told: {case}");
                }
            }
        }
        vague
    }
}

/// Whether a message says where in the file.
fn has_place(told: &str) -> bool {
    let has_line = told
        .split("damaged:")
        .skip(1)
        .any(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
    // What is missing in the whole file has no place in it.
    const WORDS: [&str; 14] = [
        "offset ",
        "packet ",
        "line ",
        "cut off",
        "stops ",
        "empty",
        "no network",
        "a scenario without a source",
        "no link: a network",
        "holds no ",
        "no network does that",
        "no command of tc",
        "neither a template nor a file",
        "gives other departures than the run",
    ];
    has_line || told.contains("flows.toml: flow") || WORDS.iter().any(|word| told.contains(word))
}

/// Whether a capture that was cut ends with a whole block, so that nobody can know.
fn is_shorter(capture: &[u8]) -> bool {
    let mut rest = capture;
    while let Some(len) = rest.get(4..8) {
        let len = u32::from_le_bytes([len[0], len[1], len[2], len[3]]) as usize;
        if len < 12 || rest.len() < len {
            return false;
        }
        rest = &rest[len..];
    }
    rest.is_empty()
}

/// The calls, in a process of their own: see [`in_turn`].
#[test]
#[ignore = "another test starts it"]
fn calls_on_damaged_files() {
    let Some(places) = std::env::var_os("ROUNDELAY_PLACES") else {
        return;
    };
    let places = places.to_str().and_then(|places| places.parse().ok());
    let folder = std::env::current_dir().expect("a folder");
    let calls = Calls {
        said: folder.join("said"),
        told: folder.join("told"),
        folder,
    };
    let mut vague = BTreeMap::new();
    for reader in &READERS {
        vague.extend(calls.read_damaged(reader, places.expect("a number")));
    }
    let cases: Vec<&str> = vague.values().map(String::as_str).collect();
    assert!(
        cases.is_empty(),
        "no file or no place:\n{}",
        cases.join("\n")
    );
}

/// Runs those calls, many thousand, without a process for each.
fn in_turn(places: &str) {
    let folder = prepared(places);
    let open = |name: &str| {
        let mut options = fs::OpenOptions::new();
        options.create(true).append(true).open(folder.join(name))
    };
    let status = Command::new(std::env::current_exe().expect("this program"))
        .args([
            "damaged::calls_on_damaged_files",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env("ROUNDELAY_PLACES", places)
        .env_remove("FORCE_COLOR")
        .current_dir(&folder)
        .stdout(open("said").expect("a file"))
        .stderr(open("told").expect("a file"))
        .status()
        .expect("it runs");
    let told = fs::read_to_string(folder.join("told")).unwrap_or_default();
    assert!(status.success(), "{told}");
    fs::remove_dir_all(folder).expect("a folder of ours");
}

#[test]
fn a_damaged_file_is_named_and_steers_no_terminal() {
    in_turn("24");
}

#[test]
#[ignore = "two minutes: make test-full"]
fn every_cut_and_every_flip_of_small_files_is_named_and_steers_no_terminal() {
    in_turn("1000000");
}

#[test]
fn a_record_that_cannot_be_read_says_why() {
    let folder = std::env::temp_dir().join(format!("roundelay-unread-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/record");
    for (name, part) in [
        (
            "cut-at-300.pcapng",
            "cut off before the end of the settings",
        ),
        (
            "format-2.pcapng",
            "format 2, and this version reads format 1: use version \u{fffd}[31mEVIL",
        ),
    ] {
        let path = fuzz.join(name);
        for command in ["compare", "verify"] {
            let output = run(&folder, &[command, path.to_str().expect("a path")]);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{command} {name}: {told}");
            assert!(
                told.contains(part) && told.contains(name),
                "{command}: {told}"
            );
        }
    }
    // A verdict may be anybody's.
    let record = fs::read(fuzz.join("fifo.pcapng")).expect("a record");
    let at = record
        .windows(11)
        .position(|part| part == b"\"verdict\":\"");
    let mut forged = record;
    let at = at.expect("a verdict") + 11;
    forged[at..at + 13].copy_from_slice(b"\\u001b[31mEV ");
    fs::write(folder.join("forged.pcapng"), forged).expect("a file");
    let output = run(&folder, &["compare", "forged.pcapng"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("\u{fffd}[31mEV"), "{said}");
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// A capture of two segments of a connection, so many days apart.
fn days_apart(days: u32) -> Vec<u8> {
    let mut capture = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        capture.extend(word.to_le_bytes());
    }
    for seconds in [0, days * 86_400] {
        let mut packet = vec![0x45, 0, 0, 140, 0, 1, 0x40, 0, 64, 6, 0, 0];
        packet.extend([10, 0, 0, 1, 10, 0, 0, 2, 0xc0, 0, 1, 187]);
        packet.extend(seconds.to_be_bytes());
        packet.extend([0, 0, 0, 0, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
        packet.resize(140, 0);
        for word in [1_700_000_000 + seconds, 0, 140, 140] {
            capture.extend(word.to_le_bytes());
        }
        capture.extend(packet);
    }
    capture
}

/// Regression: `applications` wrote what `simulate` refused.
#[test]
fn a_scenario_of_applications_is_one_that_simulate_reads_however_long_the_capture() {
    let folder = std::env::temp_dir().join(format!("roundelay-days-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    for days in [199, 214, 20_000] {
        fs::write(folder.join("days.pcap"), days_apart(days)).expect("a file");
        let written = run(&folder, &["applications", "days.pcap"]);
        let told = String::from_utf8_lossy(&written.stderr).into_owned();
        assert!(written.status.success(), "{days}: {told}");
        fs::write(folder.join("days.toml"), written.stdout).expect("a file");
        let read = run(&folder, &["simulate", "days.toml", "--dry-run"]);
        let told = String::from_utf8_lossy(&read.stderr);
        assert!(read.status.success(), "{days}: {told}");
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}

/// A frame of zstd (RFC 8878, section 3.1.1) with a capture: the file's header, then packets of 256 KiB
/// of zeros, each in 24 bytes.
fn zstd_bomb(packets: u32) -> Vec<u8> {
    fn block(frame: &mut Vec<u8>, kind: u32, len: u32, content: &[u8]) {
        frame.extend(&(kind << 1 | len << 3).to_le_bytes()[..3]);
        frame.extend(content);
    }
    fn words(words: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in words {
            bytes.extend(word.to_le_bytes());
        }
        bytes
    }
    const RAW: u32 = 0;
    const REPEATED: u32 = 1;
    const HALF: u32 = 131_072;
    let mut frame = b"\x28\xb5\x2f\xfd\0\x38".to_vec();
    let header = words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 2 * HALF, 1]);
    block(&mut frame, RAW, 24, &header);
    for _ in 0..packets {
        let record = words(&[1_700_000_000, 0, 2 * HALF, 2 * HALF]);
        block(&mut frame, RAW, 16, &record);
        block(&mut frame, REPEATED, HALF, b"\0");
        block(&mut frame, REPEATED, HALF, b"\0");
    }
    // The last block.
    frame.extend([1, 0, 0]);
    frame
}

/// A gigabyte in 100 KB of zstd, half of one in 600 KB of xz, within 400 MB of addresses.
#[cfg(target_os = "linux")]
#[test]
fn a_bomb_takes_time_and_no_memory() {
    let folder = std::env::temp_dir().join(format!("roundelay-bombs-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("bomb.zst"), zstd_bomb(4096)).expect("a file");
    let mut xz = include_bytes!("bombs/header.xz").to_vec();
    for _ in 0..2048 {
        xz.extend(include_bytes!("bombs/packet.xz"));
    }
    fs::write(folder.join("bomb.xz"), xz).expect("a file");
    for (name, packets) in [("bomb.zst", "4,096 packets"), ("bomb.xz", "2,048 packets")] {
        let call = format!(
            "ulimit -v 400000; exec \"$0\" compare {name} fifo --rate 1gbit -q --no-cost --threads 1"
        );
        let output = Command::new("bash")
            .args(["-c", &call, env!("CARGO_BIN_EXE_roundelay")])
            .current_dir(&folder)
            .output()
            .expect("bash runs");
        let said = String::from_utf8_lossy(&output.stdout);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {told}");
        assert!(said.contains(packets), "{name}: {said}");
    }
    fs::remove_dir_all(folder).expect("a folder of ours");
}
