//! Scenario settings without effect are rejected or reported in notes.

use std::fs;
use std::path::{Path, PathBuf};

use roundelay_sim::SimulationError;
use roundelay_sim::scenario::{Estimate, RunError, Scenario};
use roundelay_trace::Stop;

const DUMBBELL: &str = r#"duration = "2s"
[topology]
template = "dumbbell"
pairs = 3
rate = "5mbit"
"#;

fn read_with(before: &str, sources: &str) -> Result<Scenario, String> {
    let text = format!("{DUMBBELL}{before}\n{sources}");
    Scenario::from_toml("mine.toml", &text, Path::new(".")).map_err(|error| error.to_string())
}

fn source(keys: &str) -> String {
    format!("[[source]]\nfrom = \"s*\"\nto = \"r*\"\n{keys}\n")
}

fn refused(keys: &str) -> String {
    read_with("", &source(keys)).map_or_else(|error| error, |_| "it was read".to_owned())
}

fn notes(queue: &str, keys: &str) -> Vec<String> {
    read_with(&format!("[queue]\ncore = \"{queue}\""), &source(keys))
        .unwrap()
        .notes()
}

const CBR: &str = "kind = \"cbr\"\nrate = \"1mbit\"\n";

#[test]
fn queues_are_told_of_packets_as_long_as_they_come() {
    let long = format!("{CBR}packet_len = 9000");
    for kind in [
        long.as_str(),
        "kind = \"tcp\"\ntcp = { segment_len = 8948 }",
        "kind = \"poisson\"\nrate = \"1mbit\"\nmix = [[100, 1], [4000, 1]]",
    ] {
        // The overhead of access links counts as well.
        let ports = "[queue]\ncore = \"qfq\"\nedge = \"qfq\"\nhost = \"qfq\"\n[[port]]\nfrom = \"s*\"\nto = \"left\"\noverhead = 18";
        let results = read_with(ports, &source(kind))
            .unwrap()
            .run(1, |_| ())
            .unwrap();
        let packets = results.groups[0].packets;
        assert!(
            packets.refused == 0 && packets.delivered > 50,
            "{kind}: {packets:?}"
        );
    }
    let short = refused(&format!("{CBR}packet_len = 9000\nmax_packet_len = 1514"));
    let huge = refused("kind = \"tcp\"\ntcp = { segment_len = 65500 }");
    assert_eq!(
        huge,
        "mine.toml:11: segment_len 65500: legal range 1 to 65483, as headers take 52 bytes"
    );
    assert_eq!(
        short,
        "mine.toml:13: max_packet_len 1514: legal range 9000 to 65536, as its packets have up to so many bytes"
    );
}

#[test]
fn queues_without_what_they_go_by_are_told() {
    let lacks = [
        (
            "edf",
            "deadlines (urgency = \"deadline 50ms\")",
            "deadline 5ms",
        ),
        (
            "priority",
            "priorities (urgency = \"priority 3\")",
            "priority 2",
        ),
        ("sjf", "sizes of flows (urgency = \"size 1s\")", "size 1s"),
        (
            "srpt",
            "what is left of flows (urgency = \"remaining 1s\")",
            "remaining 1s",
        ),
        ("lstf", "slack (urgency = \"slack 1s\")", "slack 1s"),
    ];
    for (queue, what, urgency) in lacks {
        assert_eq!(
            notes(queue, CBR),
            [format!(
                "No source writes {what}; these queues order packets by this field: {queue}."
            )]
        );
        assert_eq!(
            notes(
                queue,
                &format!("{CBR}packets = 10\nurgency = \"{urgency}\"")
            ),
            [""; 0],
            "{queue}"
        );
    }
    let endless =
        "Sources with endless flows: cbr0. Urgency by size puts endless flows behind all others.";
    assert_eq!(
        notes("lstf", &format!("{CBR}urgency = \"remaining 1s plus 1s\"")),
        [endless]
    );
    let room = "mqfq holds at most 100 packets, by the parameter buffer, though the limit is 500; with buffer 0 only the limit counts.";
    assert_eq!(notes("mqfq limit 500", CBR), [room]);
    assert_eq!(
        [
            notes("mqfq limit 100", CBR),
            notes("mqfq buffer 0 limit 500", CBR)
        ],
        [[""; 0]; 2],
        "nothing is smaller than it seems"
    );
    // FIFO+ reads only earlier waiting times.
    assert_eq!(notes("fifo_plus", CBR), [""; 0]);
    let mut other = read_with("", &source(CBR)).unwrap();
    other.set_queues(&"edf".parse().unwrap()).unwrap();
    assert_eq!(other.notes().len(), 1, "whoever has put the queue there");
}

#[test]
fn what_no_queue_looks_at_is_told() {
    let weight = format!("{CBR}name = \"heavy\"\nweight = 3");
    assert_eq!(
        notes("fifo", &weight),
        ["No queue looks at the weights of these sources: heavy."]
    );
    assert_eq!(notes("drr", &weight), [""; 0]);
    let urgent = format!("{CBR}name = \"call\"\nurgency = \"deadline 5ms\"");
    assert_eq!(
        notes("fifo", &urgent),
        ["No queue looks at the urgency of these sources: call."]
    );
    let early = read_with(
        "",
        &source(&format!("{CBR}name = \"early\"\nstop = \"1s\"")),
    )
    .unwrap();
    let early = Scenario {
        warmup: roundelay::Duration::from_secs(1),
        ..early
    };
    assert_eq!(
        early.notes(),
        ["Sources of early stop at 1s, within the warm-up: none of their packets count."]
    );
    let jitter = format!("{CBR}name = \"late\"\nstart = \"1s\"\nstart_jitter = \"1500ms\"");
    assert_eq!(
        notes("fifo", &jitter),
        ["Sources of late start as late as 2500ms and stop at 2s: some may send nothing."]
    );
}

#[test]
fn keys_that_would_do_nothing_are_refused() {
    let poisson = "kind = \"poisson\"\nrate = \"1mbit\"\nmix = [[64, 7], [1500, 1]]\n";
    assert_eq!(
        refused(&format!("{poisson}packet_len = 500")),
        "mine.toml:13: packet_len: 'mix' says how long packets are: one of both"
    );
    assert!(
        refused(&format!("{poisson}lengths = \"exponential\""))
            .starts_with("mine.toml:13: lengths: 'mix' says")
    );
    let arrivals = |keys: &str| {
        let text = format!(
            "[[source]]\nfrom = \"*\"\nkind = \"arrivals\"\nutilisation = 0.1\nlink_rate = \"1mbit\"\nsizes = \"ups\"\n{keys}\n"
        );
        read_with("", &text).map_or_else(|error| error, |_| "it was read".to_owned())
    };
    assert_eq!(
        arrivals("tcp = { ecn = true }"),
        "mine.toml:13: tcp: bursts do not go over TCP: leave it out, or transport = \"tcp\""
    );
    assert!(
        arrivals("transport = \"tcp\"\npacket_len = 500")
            .starts_with("mine.toml:14: packet_len: over TCP, tcp = { segment_len")
    );
    assert!(
        arrivals("pairs = \"all\"")
            .starts_with("mine.toml:13: pairs: flows of arrivals go between random hosts of 'from': leave this key out")
    );
    assert!(arrivals("start_jitter = \"1s\"").starts_with("mine.toml:13: start_jitter: "));
    assert_eq!(
        arrivals("transport = \"tcp\"\ntcp = { ecn = true }"),
        "it was read"
    );
}

#[test]
fn a_requested_stop_ends_a_run() {
    let text = format!("{DUMBBELL}[[source]]\nkind = \"tcp\"\nfrom = \"s0\"\nto = \"r0\"\n");
    let mut scenario = Scenario::from_toml("mine.toml", &text, Path::new(".")).unwrap();
    let plain = scenario.run(1, |_| ()).unwrap();
    let stop = Stop::default();
    scenario.topology.network.set_stop(stop.clone());
    let (mut steps, again) = (0, scenario.run(1, |_| ()).unwrap());
    assert_eq!(
        format!("{again:?}"),
        format!("{plain:?}"),
        "a stop that is not requested changes nothing"
    );
    stop.request();
    let error = scenario.run(1, |_| steps += 1).unwrap_err();
    assert_eq!(
        (error, steps),
        (RunError::Simulation(SimulationError::Stopped), 0)
    );
}

/// A temporary folder with files, removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path =
            std::env::temp_dir().join(format!("roundelay-inputs-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        files
            .iter()
            .for_each(|(name, text)| fs::write(path.join(name), text).unwrap());
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn what_comes_after_the_end_is_told() {
    let folder = Folder::new(
        "late",
        &[
            ("packets", "0 100\n1 100\n1.5 100\n7 100\n"),
            ("flows", "0 9 s0 s1\n3 9 s0 s1\n"),
        ],
    );
    let notes = |source: &str| {
        Scenario::from_toml("mine.toml", &format!("{DUMBBELL}{source}"), &folder.0)
            .unwrap()
            .notes()
    };
    let trace = |keys: &str| {
        notes(&source(&format!(
            "kind = \"trace\"\nfile = \"packets\"\n{keys}"
        )))
    };
    assert_eq!(
        trace(""),
        ["packets: 1 of 4 packets comes after the end of the run and is not sent."]
    );
    assert_eq!(
        trace("start = \"1s\""),
        ["packets: 3 of 4 packets come after the end of the run and are not sent."]
    );
    let flows = notes("[[source]]\nkind = \"workload\"\nfrom = \"s*\"\nfile = \"flows\"\n");
    assert_eq!(
        flows,
        ["flows: 1 of 2 flows comes after the end of the run and is not sent."]
    );
}

#[test]
fn what_a_network_file_does_not_need_is_refused() {
    let folder = Folder::new(
        "network",
        &[
            ("twice", "a b 10 20\n"),
            ("rates", "a b 1mbit 5ms\nb c 1mbit 2mbit\n"),
            ("edges", "a b 10mbit 5ms 3\nb c\n"),
        ],
    );
    let read = |keys: &str| {
        let text = format!(
            "duration = \"1s\"\n[topology]\n{keys}\n[[source]]\nkind = \"cbr\"\nrate = \"1mbit\"\nfrom = \"*\"\nto = \"*\"\npairs = \"random\"\n"
        );
        Scenario::from_toml("mine.toml", &text, &folder.0)
            .map_or_else(|error| error.to_string(), |_| "it was read".to_owned())
    };
    assert_eq!(read("file = \"edges\""), "it was read");
    assert_eq!(
        read("file = \"twice\""),
        "twice:1: '20': a second cost, expected one"
    );
    assert_eq!(
        read("file = \"rates\""),
        "rates:2: '2mbit': a second rate, expected one"
    );
    assert_eq!(
        read("file = \"edges\"\nhosts_per_router = 0\naccess_rate = \"1mbit\""),
        "mine.toml:5: access_rate: no host is attached with hosts_per_router = 0"
    );
    assert!(
        read("file = \"edges\"\nrates = \"1mbit\"")
            .ends_with("; beside `file`, `format`, `second`")
    );
}

#[test]
fn what_a_network_does_not_use_is_refused_or_told() {
    let text = |queue: &str, links: &str| {
        format!(
            "duration = \"1s\"\n[queue]\n{queue}\n[[node]]\nname = \"a\"\nhost = true\n[[node]]\nname = \"r\"\n[[node]]\nname = \"b\"\nhost = true\n[[link]]\nfrom = \"a\"\nto = \"r\"\nrate = \"1mbit\"\n[[link]]\nfrom = \"r\"\nto = \"b\"\nrate = \"1mbit\"\n{links}\n[[source]]\nfrom = \"a\"\nto = \"b\"\n{CBR}"
        )
    };
    let read = |queue: &str, links: &str| {
        Scenario::from_toml("mine.toml", &text(queue, links), Path::new("."))
            .map_err(|error| error.to_string())
    };
    assert!(
        read("core = \"drr\"", "").is_ok(),
        "edges are as the core where nothing else is said"
    );
    let refused = read("core = \"drr\"\nedge = \"fifo\"", "").unwrap_err();
    assert_eq!(
        refused,
        "mine.toml:3: core: no link of this class; the network has links of edge and host"
    );
    let twice = "[[link]]\nfrom = \"r\"\nto = \"b\"\nrate = \"2mbit\"";
    let note = "2 links lie beside another one, as from r to b: without [routing] spread = true one of both carries all.";
    assert_eq!(read("edge = \"drr\"", twice).unwrap().notes(), [note]);
    assert_eq!(
        read(
            "edge = \"drr\"",
            &format!("{twice}\n[routing]\nspread = true")
        )
        .unwrap()
        .notes(),
        [""; 0]
    );
    let cost = "[[port]]\nfrom = \"r\"\nto = \"b\"\ncost = 3";
    assert!(
        read("edge = \"drr\"", cost)
            .unwrap_err()
            .contains(": cost: it counts where [routing] has metric = \"cost\"")
    );
    assert!(
        read(
            "edge = \"drr\"",
            &format!("{cost}\n[routing]\nmetric = \"cost\"")
        )
        .is_ok()
    );
}

/// TCP transfers share the capacity of links, whatever their number.
#[test]
fn an_estimate_of_transfers_is_a_bound_and_a_close_one() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios");
    for name in ["mqfq-tcp.toml", "home.toml"] {
        let text = fs::read_to_string(examples.join(name)).unwrap();
        let mut scenario = Scenario::from_toml(name, &text, &examples).unwrap();
        (scenario.duration, scenario.warmup) = (
            roundelay::Duration::from_secs(10),
            roundelay::Duration::ZERO,
        );
        let (estimate, results) = (Estimate::of(&scenario), scenario.run(1, |_| ()).unwrap());
        let share = estimate.packet_hops / results.packet_hops as f64;
        assert!(
            (1.0..3.0).contains(&share),
            "{name}: {} packet-hops, estimated {}",
            results.packet_hops,
            estimate.packet_hops
        );
    }
    let bulk = |count: u32| {
        Estimate::of(&read_with("", &source(&format!("kind = \"tcp\"\ncount = {count}"))).unwrap())
            .packet_hops
    };
    assert!(
        (bulk(100) / bulk(1) - 1.0).abs() < 0.01,
        "{} and {}",
        bulk(100),
        bulk(1)
    );
}

/// Notes about a map, and the host names of routers.
#[test]
fn what_a_map_says_and_nobody_heeds_is_told() {
    let folder = Folder::new(
        "map",
        &[
            ("edges", "A B 10\nB C 10mbit 5\n"),
            ("plain", "A B 10mbit 5ms\n"),
            ("weights.intra", "A B 2.5\n"),
        ],
    );
    fs::write(
        folder.0.join("map.gml"),
        "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 bandwidth 5 ] ]",
    )
    .unwrap();
    let read = |file: &str, from: &str, more: &str| {
        let source = format!(
            "[[source]]\nkind = \"cbr\"\nrate = \"1mbit\"\nfrom = \"{from}\"\nto = \"host1\"\n"
        );
        let text = format!("duration = \"2s\"\n[topology]\nfile = \"{file}\"\n{more}\n{source}");
        Scenario::from_toml("mine.toml", &text, &folder.0).map_err(|error| error.to_string())
    };
    let notes = |file: &str, more: &str| read(file, "host0", more).unwrap().notes();
    let idle = "and no route goes by cost without metric = \"cost\" in [routing]";
    assert_eq!(
        notes("edges", ""),
        [format!(
            "edges:1: '10' is a cost, {idle}; rates and delays have units, as in 10mbit and 5ms."
        )]
    );
    assert_eq!(notes("edges", "[routing]\nmetric = \"delay\"").len(), 1);
    assert_eq!(
        notes("weights.intra", ""),
        [format!("weights.intra: each weight is a cost, {idle}.")]
    );
    for file in ["edges", "weights.intra"] {
        assert_eq!(notes(file, "[routing]\nmetric = \"cost\""), [""; 0]);
    }
    assert_eq!(notes("plain", ""), [""; 0]);
    assert_eq!(notes("map.gml", "").len(), 1);

    let refused = |from: &str, more: &str| {
        read("edges", from, more).map_or_else(|error| error, |_| "it was read".to_owned())
    };
    let none = "is no host: routers send nothing";
    assert_eq!(
        refused("B", ""),
        format!("mine.toml:8: 'B' {none}; the host behind it is 'host1'")
    );
    assert_eq!(
        refused("B", "hosts_per_router = 2"),
        format!("mine.toml:8: 'B' {none}; the 2 hosts behind it are 'host2', 'host3'")
    );
    let many = format!(
        "mine.toml:8: 'B' {none}; the 5 hosts behind it are 'host5', 'host6', 'host7' and so on"
    );
    assert_eq!(refused("B", "hosts_per_router = 5"), many);
}
