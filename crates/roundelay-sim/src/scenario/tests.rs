use std::path::Path;

use proptest::prelude::*;
use roundelay::Limit;
use roundelay::Seed;
use roundelay::author::ByCopy;
use roundelay::schedulers::{AnyDiscipline, custom, fifo};

use super::*;

const DUMBBELL: &str = r#"seed = 7
duration = "2s"
warmup = "500ms"

[topology]
template = "dumbbell"
pairs = 3
rate = "5mbit"

[queue]
core = "fifo limit 100"

[[port]]
from = "left"
to = "right"
queue = "qfq"
loss = "1%"

[[source]]
name = "steady"
kind = "cbr"
from = "s*"
to = "r*"
rate = "1mbit"
packet_len = 500
start_jitter = "10ms"
weight = 3

[[source]]
kind = "on_off"
from = "s0..1"
to = "r2"
count = 2
rate = "2mbit"
on = "100ms"
off = "100ms"
shape = 1.5
urgency = "slack 1s"
"#;

fn read(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::from_toml("mine.toml", text, Path::new("."))
}

/// What links count after the warm-up is what they count in all, less what they counted before.
#[test]
fn links_count_after_the_warm_up() {
    let counts = |duration: &str, warmup: &str| {
        let text = DUMBBELL
            .replace("duration = \"2s\"", &format!("duration = \"{duration}\""))
            .replace("warmup = \"500ms\"", &format!("warmup = \"{warmup}\""))
            .replace("rate = \"1mbit\"", "rate = \"2mbit\"")
            .replace("loss = \"1%\"", "loss = \"5%\"");
        let results = read(&text).unwrap().run(1, |_| ()).unwrap();
        let mut sums = [0; 4];
        for class in &results.classes {
            let of_class = results.links.iter();
            let of_class: Vec<_> = of_class.filter(|link| link.class == class.class).collect();
            let sum =
                |of: fn(&LinkResult) -> u64| of_class.iter().map(|link| of(link)).sum::<u64>();
            assert_eq!(class.links, of_class.len() as u64);
            assert_eq!(class.arrived, sum(|link| link.arrived));
            assert_eq!(class.lost, sum(|link| link.lost));
            let dropped: u64 = class.dropped.iter().sum();
            assert_eq!(dropped, sum(|link| link.dropped.iter().sum()));
            let loads = of_class.iter().map(|link| link.utilisation);
            assert_eq!(class.busiest, loads.fold(0.0, f64::max));
        }
        for link in &results.links {
            let dropped: u64 = link.dropped.iter().sum();
            let counted = [link.arrived, link.packets, dropped, link.lost];
            for (sum, count) in sums.iter_mut().zip(counted) {
                *sum += count;
            }
        }
        sums
    };
    let before = counts("1s", "0s");
    let after = counts("2s", "1s");
    let all = counts("2s", "0s");
    for (number, what) in ["arrived", "sent", "dropped", "lost"].iter().enumerate() {
        assert!(
            after[number] > 10 && before[number] > 10,
            "{what}: {after:?}"
        );
        assert_eq!(after[number] + before[number], all[number], "{what}");
    }
}

/// The message about the dumbbell with one piece replaced.
fn refused(piece: &str, other: &str) -> String {
    assert!(DUMBBELL.contains(piece), "no '{piece}'");
    read(&DUMBBELL.replacen(piece, other, 1))
        .map_or_else(|error| error.to_string(), |_| "it was read".to_owned())
}

#[test]
fn queues_have_the_names_of_disciplines_of_the_program() {
    let own = |name| {
        AnyDiscipline::Custom(custom::Config::new(name, |_seed| {
            ByCopy::new(fifo::Fifo::default())
        }))
    };
    let text = DUMBBELL
        .replace("\"fifo limit 100\"", "\"Mine\"")
        .replace("\"qfq\"", "\"Other limit 7\"");
    let none = |_: &Path, _: &Captured, _: Duration| Ok(Vec::new());
    let with = |disciplines: &[AnyDiscipline]| {
        Scenario::from_toml_with_own("mine.toml", &text, Path::new("."), &none, disciplines)
    };
    let scenario = with(&[own("Mine"), own("Other")]).unwrap();
    let network = &scenario.topology.network;
    let queue = |from: &str, to: &str| {
        let link = network
            .links()
            .iter()
            .find(|link| network.name(link.from) == from && network.name(link.to) == to)
            .unwrap();
        (link.queue.discipline.name(), link.queue.limit)
    };
    assert_eq!(
        queue("left", "right"),
        ("Other", Some(Limit::of_packets(7)))
    );
    assert_eq!(queue("right", "left"), ("Mine", None));
    assert!(
        with(&[own("Other")])
            .unwrap_err()
            .message()
            .contains("'Mine'")
    );
    for (wrong, expected) in [
        (
            "Mine depth 4",
            "Mine: no parameter is called 'depth': limit, memory_limit",
        ),
        ("Mine limit x", "Mine: limit x: "),
    ] {
        let text = DUMBBELL.replace("\"fifo limit 100\"", &format!("{wrong:?}"));
        let error =
            Scenario::from_toml_with_own("mine.toml", &text, Path::new("."), &none, &[own("Mine")])
                .unwrap_err();
        assert!(error.message().contains(expected), "{error}");
    }
    for name in ["fifo", "pfifo", "bfifo"] {
        assert!(
            with(&[own("Mine"), own(name)])
                .unwrap_err()
                .message()
                .starts_with(&format!("'{name}': a discipline of the program"))
        );
    }
    // Only while this scenario is read.
    let error = refused("\"fifo limit 100\"", "\"Mine\"");
    assert!(error.contains("no discipline is called 'Mine'"), "{error}");
}

#[test]
fn a_scenario_is_read() {
    let scenario = read(DUMBBELL).unwrap();
    assert_eq!(
        (scenario.name.as_str(), scenario.seed, scenario.warmup),
        ("mine", 7, Duration::from_millis(500))
    );
    let names: Vec<_> = scenario
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect();
    assert_eq!(names, ["steady", "on_off1"]);
    let network = &scenario.topology.network;
    let between = |from, to| {
        &network.links()[network
            .link_between(network.named(from).unwrap(), network.named(to).unwrap())
            .unwrap()
            .index()]
    };
    assert_eq!(
        (
            between("left", "right").queue.discipline.name(),
            between("left", "right").loss.0
        ),
        ("qfq", 10_000_000)
    );
    assert_eq!(
        (
            between("right", "left").queue.discipline.name(),
            between("right", "left").loss.0
        ),
        ("fifo", 0)
    );
    assert_eq!(scenario.groups[0].flow.unwrap().weight, 3);
    assert_eq!(
        (
            scenario.groups[0].from.len(),
            scenario.groups[1].from.len(),
            scenario.groups[1].count
        ),
        (3, 2, 2)
    );
}

/// An error in a long list names the line of the entry, and of the key if that has a line of its own.
#[test]
fn errors_of_listed_connections_name_their_lines() {
    let list = "\n[[source]]\nkind = \"connections\"\nfrom = \"s0\"\nto = \"r0\"\nconnections = [\n  \
                { messages = ['> 1kb'] },\n  { messages = ['> 1kb'] },\n]\n";
    let first = DUMBBELL.lines().count() + 7;
    for (entry, line, words) in [
        (
            "after = { connection = 7 }, ",
            first + 1,
            "after connection 7 of connection 1: legal range connections 0 to 1",
        ),
        (
            "after = { connection = 1 }, ",
            first + 1,
            "after connection 1 behind itself",
        ),
        (
            "round_trip = '61s', ",
            first + 1,
            "round_trip 61s of connection 1: legal range 0s to 60s",
        ),
        (
            "start = '2s',\n until = '1s',\n ",
            first + 2,
            "until 1s of connection 1: legal range after its start",
        ),
    ] {
        let text = format!("{DUMBBELL}{list}");
        let last = text.rfind("messages").unwrap();
        let wrong = format!("{}{entry}{}", &text[..last], &text[last..]);
        let error = read(&wrong).map_or_else(|error| error.to_string(), |_| "none".to_owned());
        let expected = format!("mine.toml:{line}: {words}");
        assert!(error.starts_with(&expected), "{expected}\n{error}");
    }
}

#[test]
fn what_is_wrong_is_said_with_file_line_and_range() {
    let cases = [
        ("seed = 7", "sede = 7", "mine.toml:1: unknown field `sede`"),
        (
            "seed = 7",
            "hash_seed = -1",
            "mine.toml:1: hash_seed: -1: legal range 0 to 18446744073709551615",
        ),
        (
            "seed = 7",
            "seed = -7",
            "mine.toml:1: seed: -7: legal range 0 to 18446744073709551615",
        ),
        (
            "seed = 7",
            "seed = \"x\"",
            "mine.toml:1: seed \"x\": expected a whole number, legal range 0 to 18446744073709551615",
        ),
        (
            "\"2s\"",
            "2",
            "mine.toml:2: duration: 2: expected a time in s, ms, us or ns, as in \"5ms\"",
        ),
        (
            "\"2s\"",
            "nan",
            "mine.toml:2: duration: NaN: expected a time in s, ms, us or ns, as in \"5ms\"",
        ),
        (
            "\"2s\"",
            "\"2 seconds\"",
            "mine.toml:2: duration: '2 seconds': expected a time in s, ms, us or ns, as in \"5ms\"",
        ),
        (
            "\"2s\"",
            "\"-2s\"",
            "mine.toml:2: duration: '-2s': expected a time in s, ms, us or ns, as in \"5ms\", from 0 to 213 days",
        ),
        (
            "\"2s\"",
            "\"0.5ns\"",
            "mine.toml:2: duration 500ps: legal range 1ns to 200 days",
        ),
        (
            "\"2s\"",
            "\"0s\"",
            "mine.toml:2: duration 0s: legal range 1ns to 200 days",
        ),
        (
            "\"2s\"",
            "\"400ms\"",
            "mine.toml:3: warmup 500ms: legal range 0 to less than the duration, 400ms",
        ),
        (
            "rate = \"1mbit\"",
            "rate = \"1000tbit\"",
            "mine.toml:2: that would take ",
        ),
        (
            "dumbbell",
            "dumbell",
            "mine.toml:6: no template is called 'dumbell' (did you mean 'dumbbell'?): dumbbell, parking_lot, ",
        ),
        (
            "pairs = 3",
            "pears = 3",
            "mine.toml:7: unknown field `pears`, expected one of `pairs`, `rate`, `delay`, `access_rate`, `access_delay`, `access_delay_step`, `access_delay_jitter`; beside `template`",
        ),
        (
            "pairs = 3",
            "pairs = 0",
            "mine.toml:7: pairs: 0 is not in the legal range 1 to 500000",
        ),
        (
            "pairs = 3",
            "pairs = -2",
            "mine.toml:7: pairs: -2: legal range 1 to 500000",
        ),
        (
            "\"5mbit\"",
            "\"-5mbit\"",
            "mine.toml:8: rate: '-5mbit': expected a rate, as in \"10mbit\", from 1bit to 18000000tbit",
        ),
        ("\"5mbit\"", "\"5Mbps\"", "mine.toml:8: "),
        ("fifo limit 100", "fifo limit -1", "mine.toml:11: "),
        ("fifo limit 100", "fito", "mine.toml:11: "),
        (
            "from = \"left\"",
            "from = \"lift\"",
            "mine.toml:13: no link leads from 'lift' to 'right'",
        ),
        (
            "\"1%\"",
            "1.5",
            "mine.toml:17: loss: 1.5: expected a share, legal range 0 to 1",
        ),
        (
            "\"cbr\"",
            "\"cbx\"",
            "mine.toml:21: no kind of source is called 'cbx' (did you mean 'cbr'?): cbr, poisson, ",
        ),
        (
            "from = \"s*\"",
            "from = \"x*\"",
            "mine.toml:22: no host is called 'x*': hosts are 's0' to 'r2'",
        ),
        (
            "from = \"s*\"",
            "from = \"s0..3\"",
            "mine.toml:22: no node is called 's3': hosts are 's0' to 'r2'",
        ),
        (
            "from = \"s*\"",
            "from = \"s3..0\"",
            "mine.toml:22: 's3..0': from a number to one as large or larger",
        ),
        (
            "from = \"s*\"",
            "from = \"left\"",
            "mine.toml:22: 'left' is no host: routers send nothing",
        ),
        (
            "to = \"r*\"",
            "to = [\"r0\", \"r1\"]",
            "mine.toml:19: 3 senders and 2 receivers: ",
        ),
        (
            "to = \"r*\"",
            "to = \"s*\"",
            "mine.toml:23: 's0' sends to itself",
        ),
        (
            "packet_len = 500",
            "packet_len = 0",
            "mine.toml:25: packet_len 0: legal range 1 to 65535",
        ),
        (
            "packet_len = 500",
            "packet_len = -1",
            "mine.toml:25: source 'steady': packet_len: -1: expected bytes of a packet, as in 1000 or \"1000b\", at most 65536",
        ),
        (
            "packet_len = 500",
            "packet_size = 500",
            "mine.toml:25: source 'steady': unknown field `packet_size`, expected one of `rate`, `packet_len`, `gaps`, `packets`; beside `name`, `from`, `to`, `pairs`, `count`, `start`, ",
        ),
        (
            "weight = 3",
            "max_packet_len = 511",
            "mine.toml:27: max_packet_len 511: legal range 512 to 65536",
        ),
        (
            "packet_len = 500",
            "packet_len = 3000\nmax_packet_len = 1514",
            "mine.toml:26: max_packet_len 1514: legal range 3000 to 65536, as its packets have up to so many bytes",
        ),
        (
            "start_jitter = \"10ms\"",
            "start_step = \"1s\"",
            "mine.toml:26: start_step 1s: the last of 3 sources starts at 2s, legal range 0 to less than 1s",
        ),
        (
            "start_jitter = \"10ms\"",
            "start_step = \"1s\"\nstop = \"1500ms\"",
            "mine.toml:26: start_step 1s: the last of 3 sources starts at 2s, legal range 0 to less than 750ms",
        ),
        (
            "\"slack 1s\"",
            "\"cautious 1s 1gbit\"",
            "mine.toml:38: urgency: \"cautious\" is for sources over TCP: others have no tail to send",
        ),
        (
            "weight = 3",
            "dscp = 64",
            "mine.toml:27: source 'steady': dscp: 64: expected a code point, legal range 0 to 63, or a name, as in \"ef\" or \"af41\"",
        ),
        (
            "\"qfq\"",
            "\"tree\"",
            "mine.toml:16: queue: 'tree': expected a tree's name or file, as in \"tree home.toml\"",
        ),
        (
            "\"qfq\"",
            "\"tree none.toml limit 10\"",
            "mine.toml:16: cannot read 'none.toml': there is no such file; expected a tree in TOML",
        ),
        (
            "weight = 3",
            "weight = 0",
            "mine.toml:27: weight 0: legal range 1 to 1024",
        ),
        (
            "count = 2",
            "count = 0",
            "mine.toml:33: count 0: legal range 1 to 1000000",
        ),
        (
            "count = 2",
            "count = 4000000",
            "mine.toml:29: that makes 8000003 sources, legal range up to 1000000",
        ),
        (
            "shape = 1.5",
            "shape = nan",
            "mine.toml:37: shape NaN: legal range above 1, to 100",
        ),
        (
            "\"slack 1s\"",
            "\"slack 1\"",
            "mine.toml:38: urgency: '1' has no unit: expected a time in s, ms, us or ns, as in \"5ms\"",
        ),
        (
            "kind = \"cbr\"",
            "",
            "mine.toml:19: a source without a kind: cbr, ",
        ),
        (
            "name = \"steady\"",
            "name = \"on_off1\"",
            "mine.toml:29: two sources are called 'on_off1'",
        ),
        (
            "name = \"steady\"",
            "name = \"all\"",
            "mine.toml:20: 'all' is what results call all sources together: choose another name",
        ),
        ("[[source]]", "[source]\n[[source]]", "mine.toml:"),
    ];
    for (piece, other, message) in cases {
        let said = refused(piece, other);
        assert!(
            said.starts_with(message),
            "{other}\n  says     {said}\n  expected {message}"
        );
    }
}

#[test]
fn routes_that_would_fill_the_memory_are_refused() {
    let text = "duration = \"1ms\"\n[topology]\ntemplate = \"parking_lot\"\nhops = 40000\n[[source]]\nkind = \"cbr\"\nfrom = \"s*\"\nto = \"k*\"\nrate = \"1bit\"\n";
    let error = read(text).unwrap_err().to_string();
    assert_eq!(
        error,
        "mine.toml:7: routes of so many hosts take 6103 MB (2^20 bytes) of memory, legal range up to 4096"
    );
}

/// On-times of a nanosecond, nearly all without a packet, are events of the estimate.
#[test]
fn the_estimate_counts_on_times_without_a_packet() {
    let text = |duration| {
        let source = "[[source]]\nkind = \"on_off\"\nfrom = \"s0\"\nto = \"r0\"\nrate = \"100bit\"\non = \"1ns\"\noff = \"1ns\"\n";
        format!("duration = \"{duration}\"\n[topology]\ntemplate = \"dumbbell\"\n{source}")
    };
    let events = Estimate::of(&read(&text("1s")).unwrap()).events;
    assert!((5e8..5.1e8).contains(&events), "{events}");
    let error = read(&text("3600s")).unwrap_err().to_string();
    assert!(error.contains("that would take 1."), "{error}");
}

/// Routes are found when a flow needs them: 764 million pairs of hosts take no time.
#[test]
fn a_fat_tree_of_27_648_hosts_is_read() {
    let text = "duration = \"1us\"\nrouting = { spread = true }\n[topology]\ntemplate = \"fat_tree\"\nk = 48\n\
                [[source]]\nkind = \"arrivals\"\nfrom = \"host*\"\nutilisation = 0.001\nlink_rate = \"10gbit\"\nsizes = \"web_search\"\n";
    assert_eq!(read(text).unwrap().groups[0].from.len(), 27_648);
}

#[test]
fn networks_are_written_out_and_who_cannot_be_reached_is_said() {
    let text = r#"duration = "1s"
[[node]]
name = "a"
host = true
[[node]]
name = "r"
[[node]]
name = "b"
host = true
[[link]]
from = "a"
to = "r"
rate = "10mbit"
[[link]]
from = "r"
to = "b"
rate = "10mbit"
delay = "5ms"
[[source]]
kind = "cbr"
from = "a"
to = "b"
rate = "1mbit"
"#;
    let classes = |scenario: &Scenario| {
        scenario
            .topology
            .network
            .links()
            .iter()
            .map(|link| link.class.name())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        classes(&read(text).unwrap()),
        ["host", "edge", "edge", "host"]
    );
    let refused = |piece: &str, other: &str| {
        read(&text.replacen(piece, other, 1))
            .unwrap_err()
            .to_string()
    };
    let one_way = |text: &str| {
        text.replacen(
            "from = \"r\"\nto = \"b\"",
            "from = \"r\"\nto = \"b\"\none_way = true",
            1,
        )
    };
    assert_eq!(
        classes(&read(&one_way(text)).unwrap()),
        ["host", "edge", "edge"],
        "nothing comes back"
    );
    let tcp = one_way(
        &text
            .replacen("kind = \"cbr\"", "kind = \"tcp\"", 1)
            .replacen("rate = \"1mbit\"\n", "", 1),
    );
    assert_eq!(
        read(&tcp).unwrap_err().to_string(),
        "mine.toml:23: there is no way from 'b' to 'a'"
    );
    assert_eq!(
        refused("from = \"a\"\nto = \"r\"", "from = \"a\"\nto = \"a\""),
        "mine.toml:12: a link from 'a' to itself"
    );
    assert_eq!(
        refused("from = \"a\"\nto = \"r\"", "from = \"x\"\nto = \"r\""),
        "mine.toml:11: no node is called 'x': a, r, b"
    );
    assert_eq!(
        refused("name = \"r\"", "name = \"a\""),
        "mine.toml:6: two nodes are called 'a'"
    );
    let both = refused("[[node]]", "[topology]\ntemplate = \"dumbbell\"\n[[node]]");
    assert_eq!(
        both,
        "mine.toml:4: the network comes from [topology]: [[port]] changes links of the network"
    );
    assert_eq!(
        read("duration = \"1s\"").unwrap_err().to_string(),
        "mine.toml: no network: [topology] with a template or a file, or [[node]] and [[link]]"
    );
}

#[test]
fn files_are_looked_for_beside_the_scenario() {
    let text = DUMBBELL.replace(
        "template = \"dumbbell\"\npairs = 3\nrate = \"5mbit\"",
        "file = \"nowhere.gml\"",
    );
    let message = read(&text).unwrap_err().to_string();
    assert!(
        message.starts_with("mine.toml:6: cannot read 'nowhere.gml': "),
        "{message}"
    );
}

/// A temporary folder with files, removed at the end of the test.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &[u8])]) -> Self {
        let path =
            std::env::temp_dir().join(format!("roundelay-scenario-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        files
            .iter()
            .for_each(|(name, bytes)| std::fs::write(path.join(name), bytes).unwrap());
        Self(path)
    }

    /// A dumbbell of two seconds with one source; the source's first key is in line 6.
    fn read(&self, source: &str) -> Result<Scenario, ScenarioError> {
        let text = format!(
            "duration = \"2s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 2\n[[source]]\n{source}\nfrom = \"s*\"\n"
        );
        Scenario::from_toml("mine.toml", &text, &self.0)
    }

    fn refused(&self, source: &str) -> String {
        self.read(source)
            .map_or_else(|error| error.to_string(), |_| "it was read".to_owned())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

const FLOWS: &[u8] = b"1.5 3000 s0 s1\n0.5 1000 s0 s1\n1.75 9 s1 s0\n9 9 s1 s0\n";

#[test]
fn what_is_no_list_is_refused() {
    let files: [(&str, &[u8]); 6] = [
        ("empty", b"\n\n"),
        ("late", b"5 100\n"),
        ("packets", b"0 100\n"),
        ("flows", FLOWS),
        (
            "latin",
            b"0 100                                                              \n\xfc",
        ),
        ("binary", b"\x1f\x8b\x08"),
    ];
    let folder = Folder::new("no-list", &files);
    let trace = |file: &str, more: &str| {
        folder.refused(&format!(
            "file = \"{file}\"\nkind = \"trace\"\nto = \"r*\"\n{more}"
        ))
    };
    assert_eq!(trace("packets", ""), "it was read");
    assert_eq!(
        trace("empty", ""),
        "mine.toml:6: 'empty' has no packet before the end of the run"
    );
    assert_eq!(
        trace("late", ""),
        "mine.toml:6: 'late' has no packet before the end of the run"
    );
    assert_eq!(
        trace(".", ""),
        "mine.toml:6: cannot read '.': a folder; expected a list of packets or a capture"
    );
    assert_eq!(
        trace("none", ""),
        "mine.toml:6: cannot read 'none': there is no such file; expected a list of packets or a capture"
    );
    let offset =
        "cannot read 'latin': offset 68: no text in UTF-8; expected a list of packets or a capture";
    assert_eq!(trace("latin", ""), format!("mine.toml:6: {offset}"));
    assert!(
        trace("binary", "").contains("is no text, and there is nobody to read captures"),
        "{}",
        trace("binary", "")
    );
    let by = "'packets' is a list, which is one flow: flow_by is for captures, leave it out";
    assert_eq!(
        trace("packets", "flow_by = \"5tuple\""),
        format!("mine.toml:9: {by}")
    );
    let workload = |file: &str, more: &str| {
        folder.refused(&format!("file = \"{file}\"\nkind = \"workload\"\n{more}"))
    };
    assert_eq!(workload("flows", "start = \"1s\""), "it was read");
    let start = ", its times counted from its start at 1500ms";
    assert_eq!(
        workload("flows", "start = \"1.5s\""),
        format!("mine.toml:6: 'flows' has no flow before the end of the run{start}")
    );
    assert_eq!(
        workload("flows", "stop = \"0.5s\""),
        "mine.toml:6: 'flows' has no flow before its stop at 500ms"
    );
    assert_eq!(
        workload("empty", ""),
        "mine.toml:6: 'empty' has no flow before the end of the run"
    );
    assert_eq!(
        workload(".", ""),
        "mine.toml:6: cannot read '.': a folder; expected a list of flows"
    );
    assert_eq!(
        workload("binary", ""),
        "mine.toml:6: cannot read 'binary': offset 1: no text in UTF-8; expected a list of flows"
    );
}

#[test]
fn networks_that_are_no_text_are_refused() {
    let folder = Folder::new("no-network", &[("net.gml", b"graph [ \xff ]")]);
    let refused = |file: &str| {
        let text = DUMBBELL.replace(
            "template = \"dumbbell\"\npairs = 3\nrate = \"5mbit\"",
            &format!("file = \"{file}\"\nformat = \"gml\""),
        );
        Scenario::from_toml("mine.toml", &text, &folder.0)
            .unwrap_err()
            .to_string()
    };
    let expected = "expected a network in the format gml";
    assert_eq!(
        refused("net.gml"),
        format!("mine.toml:6: cannot read 'net.gml': offset 8: no text in UTF-8; {expected}")
    );
    assert_eq!(
        refused("."),
        format!("mine.toml:6: cannot read '.': a folder; {expected}")
    );
}

/// The estimate of a list covers the time between start and stop.
#[test]
fn an_estimate_of_a_list_ends_with_the_run() {
    let folder = Folder::new(
        "estimate",
        &[
            ("packets", b"0 100\n0.5 100\n1 100\n1.9 100\n"),
            ("flows", FLOWS),
        ],
    );
    let estimate = |source: &str| Estimate::of(&folder.read(source).unwrap());
    let trace = |more: &str| {
        estimate(&format!(
            "file = \"packets\"\nkind = \"trace\"\nto = \"r*\"\n{more}"
        ))
        .packets
    };
    assert_eq!(
        [trace(""), trace("start = \"1s\""), trace("stop = \"0.5s\"")],
        [8.0, 4.0, 2.0],
        "of two pairs"
    );
    let workload = |more: &str| {
        estimate(&format!(
            "file = \"flows\"\nkind = \"workload\"\npacket_len = 1000\n{more}"
        ))
    };
    let packets = ["", "start = \"1s\"", "start = \"250ms\"\nstop = \"1.75s\""]
        .map(|more| workload(more).packets);
    assert_eq!(packets, [1.0 + 3.0 + 1.0, 1.0, 1.0]);
    // The list is after the first second: only packets of that second are estimated to wait at
    // once.
    let long = "1.5 1 s0 s1\n".repeat(100_000);
    std::fs::write(folder.0.join("flows"), long).unwrap();
    assert!(
        workload("").memory > 100_000.0 * 2.0 * 24.0,
        "lists take memory"
    );
}

#[test]
fn an_estimate_counts_packets_and_hops() {
    let text = DUMBBELL
        .split("\n[[source]]\nkind = \"on_off\"")
        .next()
        .unwrap();
    let estimate = Estimate::of(&read(text).unwrap());
    assert_eq!(
        (estimate.packets, estimate.packet_hops, estimate.events),
        (1500.0, 4500.0, 10_500.0)
    );
    assert!(
        (50_000.0..1e6).contains(&estimate.memory),
        "{}",
        estimate.memory
    );
}

/// All sent packets are accounted for.
fn check_conservation(results: &Results) {
    for group in &results.groups {
        let Fates {
            sent,
            delivered,
            full,
            pushed_out,
            early,
            refused,
            filtered,
            lost,
            edge_dropped,
            on_their_way,
            ..
        } = group.packets;
        assert_eq!(
            sent,
            delivered
                + full
                + pushed_out
                + early
                + refused
                + filtered
                + lost
                + edge_dropped
                + on_their_way,
            "{}",
            group.name
        );
    }
}

#[test]
fn templates_run() {
    for (name, text) in templates() {
        let scenario = Scenario::from_toml(name, text, Path::new("."))
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.notes(), [""; 0], "{name}");
        let results = scenario
            .run(scenario.seed, |_| ())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        check_conservation(&results);
        assert!(
            results
                .groups
                .iter()
                .all(|group| group.packets.delivered > 0),
            "{name}: {results:#?}"
        );
        // At least the true cost, and below six times the true cost.
        let Estimate {
            packet_hops,
            events,
            ..
        } = Estimate::of(&scenario);
        let shares = [
            packet_hops / results.packet_hops as f64,
            events / results.events as f64,
        ];
        assert!(
            shares.iter().all(|share| (1.0..6.0).contains(share)),
            "{name}: {shares:?} of {} packet-hops, {} events",
            results.packet_hops,
            results.events
        );
    }
}

#[test]
fn same_seed_same_results() {
    let scenario = read(DUMBBELL).unwrap();
    let run = |seed| scenario.run(seed, |_| ()).unwrap();
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).flows, run(2).flows);
}

/// Three flows of 1 Mbit/s from 0.5 s to 2 s, through a link of 5 Mbit/s that loses 1%.
#[test]
fn what_counts_is_what_comes_after_the_warmup() {
    let text = DUMBBELL
        .split("\n[[source]]\nkind = \"on_off\"")
        .next()
        .unwrap();
    let mut steps = Vec::new();
    let results = read(text)
        .unwrap()
        .run(7, |progress| steps.push(progress.now))
        .unwrap();
    let steady = &results.groups[0];
    assert_eq!(
        (results.groups.len(), steady.flows, steady.packets.sent),
        (1, 3, 1125)
    );
    check_conservation(&results);
    assert!(
        (1..30).contains(&steady.packets.lost) && steady.packets.full == 0,
        "{:?}",
        steady.packets
    );
    assert!(
        (2.9e6..3.0e6).contains(&steady.throughput) && steady.jain.unwrap() > 0.999,
        "{steady:?}"
    );
    // 30 ms of propagation, 40 + 800 + 40 us of transmission, and some waiting.
    let delay = steady.delay;
    assert!(
        delay.mean.unwrap() >= 0.030_88 && delay.max.unwrap() < 0.034,
        "{delay:?}"
    );
    assert_eq!((steps.len(), steps[199]), (200, Duration::from_secs(2)));
    let core = &results.classes[0];
    assert_eq!(
        (core.class, core.links, core.busiest_link.as_str()),
        ("core", 2, "left > right")
    );
    assert!((core.busiest - 0.6).abs() < 0.01, "{core:?}");
    let mut senders: Vec<_> = results.flows.iter().map(|flow| &*flow.from).collect();
    senders.sort_unstable();
    assert_eq!(senders, ["s0", "s1", "s2"]);
}

/// A burst of 10 packets of 1000 bytes: 10 times 8 ms on the bottleneck, then 30 ms of propagation
/// and 80 us on each access link.
#[test]
fn a_burst_is_complete_when_its_last_packet_arrives() {
    let text = r#"duration = "1s"
[topology]
template = "dumbbell"
pairs = 1
rate = "1mbit"
[[source]]
kind = "burst"
from = "s0"
to = "r0"
size = 10000
start = "100ms"
"#;
    let group = &read(text).unwrap().run(1, |_| ()).unwrap().groups[0];
    assert_eq!(
        (
            group.completion.count,
            group.completion.mean,
            group.incomplete
        ),
        (1, Some(0.11016), 0)
    );
    let full = &read(&text.replace("[[source]]", "[queue]\ncore = \"fifo limit 3\"\n[[source]]"))
        .unwrap()
        .run(1, |_| ())
        .unwrap()
        .groups[0];
    assert_eq!(
        (
            full.completion.count,
            full.incomplete,
            full.packets.delivered,
            full.packets.full
        ),
        (0, 1, 4, 6)
    );
}

/// MQFQ's dumbbell with drop tail and flows in step: the link carries a packet each 1.6 ms from
/// 31.76 ms on, and 62,481 arrive within 100 s, as in eight other simulators.
#[test]
fn flows_in_step_are_those_of_other_simulators() {
    let text = template("dumbbell")
        .unwrap()
        .replace("mqfq limit 100", "fifo limit 100")
        .replace("start_jitter = \"50ms\"", "");
    let text = text
        .replace("duration = \"10s\"", "duration = \"100s\"")
        .replace("warmup = \"1s\"", "warmup = 0");
    let results = read(&text).unwrap().run(1, |_| ()).unwrap();
    let group = &results.groups[0];
    assert_eq!(
        (group.packets.sent, group.packets.delivered),
        (93_750, 62_481)
    );
    assert!(
        (group.jain.unwrap() - 0.6726).abs() < 1e-4,
        "{:?}",
        group.jain
    );
}

/// Each of four hosts sends to one other, drawn by the seed.
#[test]
fn pairs_at_random_depend_on_the_seed_alone() {
    let text = DUMBBELL.replace("to = \"r*\"", "to = \"*\"\npairs = \"random\"");
    let scenario = read(&text).unwrap();
    let group = &scenario.groups[0];
    let pairs: Vec<_> = (0..8)
        .map(|seed| group.source_pairs(Seed::new(seed)))
        .collect();
    assert!(
        pairs
            .iter()
            .flatten()
            .all(|(from, to)| from != to && group.to.contains(to))
    );
    assert_eq!(pairs[3], group.source_pairs(Seed::new(3)));
    assert!(pairs.iter().any(|other| *other != pairs[0]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// A damaged scenario is read, or refused with a message.
    #[test]
    fn damaged_scenarios_do_no_harm(spots in prop::collection::vec((0..DUMBBELL.len(), prop::sample::select(b"\0 \n\"[]=0-9.eE*#".to_vec())), 0..6)) {
        let mut bytes = DUMBBELL.as_bytes().to_vec();
        spots.into_iter().for_each(|(at, byte)| bytes[at] = byte);
        if let Err(error) = read(&String::from_utf8_lossy(&bytes)) {
            prop_assert!(error.to_string().starts_with("mine.toml:") && error.message().len() > 5);
        }
    }
}
