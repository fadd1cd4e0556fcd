//! Trees in two worlds: packets depart at the same instants in a comparison of a capture and in a
//! simulated scenario.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use roundelay::{DropReason, Instant, Packet};
use roundelay_sim::scenario::Scenario;
use roundelay_sim::{LinkId, PacketState, Probe, Tag};
use roundelay_trace::{
    Capture, Options, PacketFate, PacketRecord, PacketSink, ReplayObserver, TreeFile, compare,
};

const TREE: &str = r#"
[[node]]
name = "link"
discipline = "wf2q_plus"
[[node]]
name = "calls"
parent = "link"
discipline = "fifo limit 5"
weight = 3
flows = ["dscp ef"]
[[node]]
name = "rest"
parent = "link"
discipline = "drr"
default = true
"#;

/// Two classes in turns of one packet; one serves the smallest flow first.
const TURNS: &str = r#"
[[node]]
name = "link"
discipline = "packet_fq"
[[node]]
name = "short"
parent = "link"
discipline = "sjf"
flows = ["dscp ef"]
[[node]]
name = "rest"
parent = "link"
discipline = "fifo"
default = true
"#;

/// Times in microseconds and lengths: more than the link can carry.
fn lists() -> [Vec<(u64, u32)>; 3] {
    let list = |first: u64, gap: u64, len: u32| {
        (0..200)
            .map(|number| {
                (
                    first + number * gap + number % 7 * 13,
                    len + (number % 5) as u32 * 100,
                )
            })
            .collect()
    };
    [
        list(0, 900, 200),
        list(150, 1100, 1000),
        list(333, 1300, 700),
    ]
}

/// Fate of a packet: arrival time, length, and start and end of the transmission, or the drop
/// reason.
type Fate = (Instant, u32, Result<(Instant, Instant), DropReason>);

struct Sink(Arc<Mutex<Vec<Fate>>>);

impl PacketSink for Sink {
    fn record(
        &mut self,
        packet: &PacketRecord,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let fate = match packet.fate {
            PacketFate::Sent { start, end, .. } => Ok((start, end)),
            PacketFate::Dropped(reason) => Err(reason),
        };
        self.0
            .lock()
            .unwrap()
            .push((packet.arrival, packet.len, fate));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Ok(())
    }
}

struct FateSink(Arc<Mutex<Vec<Fate>>>);

impl ReplayObserver for FateSink {
    fn sink(
        &mut self,
        _: &str,
        _: usize,
        _: i64,
    ) -> Result<Option<Box<dyn PacketSink>>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Some(Box::new(Sink(self.0.clone()))))
    }
}

/// A pcap of raw IPv4 with nanoseconds: one sender for each list; packets of the first `urgent`
/// senders have code point EF.
fn capture(lists: &[Vec<(u64, u32)>], urgent: u8) -> Vec<u8> {
    let mut packets: Vec<_> = lists
        .iter()
        .enumerate()
        .flat_map(|(sender, list)| list.iter().map(move |(at, len)| (*at, *len, sender as u8)))
        .collect();
    packets.sort_unstable();
    let mut bytes: Vec<u8> = [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 228]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    for (at, len, sender) in packets {
        bytes.extend(
            [
                (at / 1_000_000) as u32,
                (at % 1_000_000 * 1000) as u32,
                28,
                len,
            ]
            .iter()
            .flat_map(|word| word.to_le_bytes()),
        );
        let [high, low] = (len as u16).to_be_bytes();
        bytes.extend([
            0x45,
            if sender < urgent { 46 << 2 } else { 0 },
            high,
            low,
            0,
            0,
            0,
            0,
            64,
            17,
            0,
            0,
            10,
            0,
            0,
            0,
            10,
            0,
            0,
            1,
        ]);
        bytes.extend([0x80, sender, 0x80, 0, high, low.wrapping_sub(20), 0, 0]);
    }
    bytes
}

fn compared(lists: &[Vec<(u64, u32)>], tree: &str, urgent: u8) -> Vec<Fate> {
    let mut options = Options::new("10mbit".parse().unwrap(), Vec::new());
    options.trees = vec![TreeFile::from_toml("tree.toml", tree).unwrap()];
    fates(lists, options, urgent)
}

fn fates(lists: &[Vec<(u64, u32)>], mut options: Options, urgent: u8) -> Vec<Fate> {
    options.measure_cost = false;
    options.buffer = Some(roundelay::Limit::of_packets(30));
    let fates = Arc::default();
    let capture =
        Capture::from_reader("lists", std::io::Cursor::new(capture(lists, urgent))).unwrap();
    compare(capture, &options, &mut FateSink(Arc::clone(&fates))).unwrap();
    sorted(std::mem::take(&mut fates.lock().unwrap()))
}

#[derive(Default)]
struct AtLinkZero(Vec<Fate>);

impl Probe for AtLinkZero {
    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        _: &PacketState,
        [start, end]: [Instant; 2],
    ) {
        if link == LinkId(0) {
            self.0.push((packet.arrival, packet.len, Ok((start, end))));
        }
    }

    fn dropped(
        &mut self,
        _: Instant,
        _: LinkId,
        packet: &Packet<Tag>,
        _: &PacketState,
        reason: DropReason,
    ) {
        self.0.push((packet.arrival, packet.len, Err(reason)));
    }
}

/// A temporary folder, removed at the end of the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn folder(name: &str) -> Folder {
    let folder =
        std::env::temp_dir().join(format!("roundelay-sim-trees-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("tree.toml"), TREE).unwrap();
    Folder(folder)
}

fn scenario(
    folder: &Folder,
    queue: &str,
    lists: &[Vec<(u64, u32)>],
    marks: [&str; 3],
) -> Result<Scenario, String> {
    let mut text = format!(
        "duration = \"10s\"\n[queue]\nhost = \"{queue}\"\n[[node]]\nname = \"a\"\nhost = true\n[[node]]\nname = \"b\"\nhost = true\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"10mbit\"\n"
    );
    for (number, (list, marks)) in lists.iter().zip(marks).enumerate() {
        let lines: String = list
            .iter()
            .map(|(at, len)| format!("{}.{:06} {len}\n", at / 1_000_000, at % 1_000_000))
            .collect();
        std::fs::write(folder.0.join(format!("list{number}")), lines).unwrap();
        text += &format!(
            "[[source]]\nkind = \"trace\"\nfrom = \"a\"\nto = \"b\"\nfile = \"list{number}\"\n{marks}\n"
        );
    }
    Scenario::from_toml("mine.toml", &text, &folder.0).map_err(|error| error.to_string())
}

fn simulated(scenario: &Scenario) -> Vec<Fate> {
    let mut probe = AtLinkZero::default();
    scenario.run_with(1, &mut probe, |_| ()).unwrap();
    sorted(probe.0)
}

fn sorted(mut fates: Vec<Fate>) -> Vec<Fate> {
    fates.sort_by_key(|(at, len, fate)| (*at, *len, fate.ok()));
    fates
}

/// One class with one child, as in the core's law of trees.
fn only_child(parent: &str, leaf: &str) -> String {
    format!(
        "[[node]]\nname = \"link\"\ndiscipline = \"{parent}\"\n[[node]]\nname = \"all\"\nparent = \"link\"\ndiscipline = \"{leaf}\"\ndefault = true\n"
    )
}

/// Disciplines that neither hash nor draw, whose packets need no marks of their own.
fn exact() -> Vec<String> {
    let mut specs = Vec::new();
    for discipline in roundelay::schedulers::AnyDiscipline::all() {
        let info = discipline.info();
        if !info.reads_seed {
            specs.push(info.name.to_owned());
        }
    }
    specs
}

/// Panics with the first packet that differs.
fn assert_same(tree: &[Fate], alone: &[Fate], what: &str) {
    assert_eq!(tree.len(), alone.len(), "{what}");
    for (number, (tree, alone)) in tree.iter().zip(alone).enumerate() {
        assert_eq!(tree, alone, "{what}, packet {number}");
    }
}

#[test]
fn an_only_child_is_the_leaf_alone_in_both_worlds() {
    let (lists, folder) = (lists(), folder("law"));
    let in_network = |queue: &str| simulated(&scenario(&folder, queue, &lists, [""; 3]).unwrap());
    for leaf in exact() {
        let options = Options::new("10mbit".parse().unwrap(), vec![leaf.parse().unwrap()]);
        let alone = fates(&lists, options, 0);
        let simulated_alone = in_network(&format!("{leaf} limit 30p"));
        for parent in ["priority", "ets strict 1 bands 2"] {
            let tree = only_child(parent, &leaf);
            let what = format!("{leaf} below {parent}");
            assert_same(&compared(&lists, &tree, 0), &alone, &what);
            std::fs::write(folder.0.join("only.toml"), tree).unwrap();
            let simulated = in_network("tree only.toml limit 30");
            assert_same(&simulated, &simulated_alone, &format!("{what}, simulated"));
        }
    }
}

#[test]
fn a_tree_does_the_same_in_a_comparison_and_in_a_simulation() {
    let (lists, folder) = (lists(), folder("worlds"));
    let queue = "tree tree.toml limit 30";
    let compared = compared(&lists, TREE, 1);
    let dropped = compared.iter().filter(|(_, _, fate)| fate.is_err()).count();
    assert!(
        compared.len() == 600 && (50..550).contains(&dropped),
        "{dropped} of {}",
        compared.len()
    );
    let marked = scenario(&folder, queue, &lists, ["dscp = \"ef\"", "", ""]).unwrap();
    assert_eq!(simulated(&marked), compared);
    // The numeric code point has the same effect; without the mark, packets go to another leaf.
    assert_eq!(
        simulated(&scenario(&folder, queue, &lists, ["dscp = 46", "", ""]).unwrap()),
        compared
    );
    assert_ne!(
        simulated(&scenario(&folder, queue, &lists, [""; 3]).unwrap()),
        compared
    );
}

/// UPS's "FQ: SJF/FIFO" (Table 1) and its classes in turns (Table 3a).
#[test]
fn classes_that_take_turns_do_the_same_in_both() {
    let (lists, folder) = (lists(), folder("turns"));
    std::fs::write(folder.0.join("turns.toml"), TURNS).unwrap();
    let compared = compared(&lists, TURNS, 2);
    let size = "urgency = \"size 1s\"";
    let urgent = format!("{size}\ndscp = \"ef\"");
    let marks = [urgent.as_str(), &urgent, size];
    assert_eq!(
        simulated(&scenario(&folder, "tree turns.toml limit 30", &lists, marks).unwrap()),
        compared
    );
    // The smallest flow, the first list, goes before the second list in the same class.
    let plain = TURNS.replace("\"sjf\"", "\"fifo\"");
    std::fs::write(folder.0.join("plain.toml"), plain).unwrap();
    assert_ne!(
        simulated(&scenario(&folder, "tree plain.toml limit 30", &lists, marks).unwrap()),
        compared
    );
}

/// The tables of a tree file as written in a scenario under the name `name`.
fn written_out(name: &str, tree: &str) -> String {
    format!(
        "[trees.{name}]\n{}",
        tree.replace("[[node]]", &format!("[[trees.{name}.node]]"))
    )
}

#[test]
fn a_tree_can_be_written_out_in_a_scenario() {
    let (lists, folder) = (lists(), folder("written"));
    let marks = ["dscp = \"ef\"", "", ""];
    let in_file = simulated(&scenario(&folder, "tree tree.toml limit 30", &lists, marks).unwrap());
    let last = format!("\n{}", written_out("home", TREE));
    let here = |more: &str| {
        scenario(
            &folder,
            "tree home limit 30",
            &lists,
            ["dscp = \"ef\"", "", more],
        )
    };
    let written = here(&last).unwrap();
    assert_eq!(simulated(&written), in_file);
    assert_eq!(written.run(1, |_| ()).unwrap().links[0].queue, "tree home");
    assert!(
        !written.files.iter().any(|file| file.ends_with("home")),
        "no file is looked for"
    );
    let named = here(&last.replace("[trees.home]", "[trees.home]\nname = \"office\"")).unwrap();
    assert_eq!(named.topology.network.links()[0].ordering(), "tree office");
    let port = format!("[[port]]\nfrom = \"a\"\nto = \"b\"\nqueue = \"tree home\"\n{last}");
    assert_eq!(
        scenario(&folder, "fifo", &lists, ["", "", &port])
            .unwrap()
            .topology
            .network
            .links()[0]
            .ordering(),
        "tree home"
    );
}

#[test]
fn what_is_no_tree_in_a_scenario_is_said_with_its_line() {
    let (lists, folder) = (lists(), folder("written-wrong"));
    let refused =
        |queue: &str, more: &str| scenario(&folder, queue, &lists, ["", "", more]).unwrap_err();
    let home = written_out("home", TREE);
    let interior = refused("tree home", &home.replace("wf2q_plus", "fifo"));
    let line = |message: &str| {
        message
            .split(':')
            .nth(1)
            .and_then(|line| line.parse::<usize>().ok())
    };
    assert!(
        interior.starts_with("mine.toml:")
            && interior.contains("node 'link': fifo cannot share a link"),
        "{interior}"
    );
    assert_eq!(line(&interior), Some(35), "{interior}");
    let idle = refused("fifo", &home);
    assert_eq!(
        idle,
        "mine.toml:31: no queue is 'tree home': name it in [queue] or a [[port]]"
    );
    let other = refused("tree house", &home);
    assert!(
        other.starts_with("mine.toml:3: cannot read 'house': there is no such file")
            && other.ends_with("; [trees] has 'home'"),
        "{other}"
    );
    let key = refused(
        "tree home",
        &home.replace("default = true", "fallback = true"),
    );
    assert!(
        key.contains("node 'rest': unknown field `fallback`"),
        "{key}"
    );
    assert_eq!(
        refused("tree home", "[trees.home]\nname = \"x\""),
        "mine.toml:31: a tree has nodes: [[node]], each with a name and a discipline"
    );
    assert_eq!(
        refused("tree home", "[trees]\nhome = 3"),
        "mine.toml:32: expected a table, as in [trees.home]"
    );
}

/// The log of a tree is valid, and results use the tree's name.
#[test]
fn a_tree_is_logged_and_named() {
    let folder = folder("log");
    let scenario = scenario(
        &folder,
        "tree tree.toml limit 30",
        &lists(),
        ["dscp = \"ef\"", "", ""],
    )
    .unwrap();
    let mut bytes = Vec::new();
    let mut log = roundelay_sim::log::Log::new(&mut bytes, &scenario.topology.network);
    let (results, _) = scenario.run_with(1, &mut log, |_| ()).unwrap();
    log.finish(Instant::ZERO + scenario.duration).unwrap();
    drop(log);
    assert_eq!(
        (
            results.links[0].queue.as_str(),
            results.links[0].buffer.as_str()
        ),
        ("tree tree", "30p")
    );
    let verified = roundelay_verify::verify(&bytes[..]).unwrap();
    assert!(
        verified.delivered > 50 && verified.dropped > 50,
        "{verified:?}"
    );
}

#[test]
fn what_is_no_tree_is_said_with_its_own_line() {
    let folder = folder("wrong");
    std::fs::write(
        folder.0.join("wrong.toml"),
        "[[node]]\nname = \"link\"\ndiscipline = \"fifo\"\n",
    )
    .unwrap();
    let refused = |queue: &str| scenario(&folder, queue, &lists(), [""; 3]).unwrap_err();
    assert!(
        refused("tree wrong.toml")
            .starts_with("wrong.toml:3: node 'link': fifo cannot share a link"),
        "{}",
        refused("tree wrong.toml")
    );
    assert!(refused("tree none.toml").starts_with(
        "mine.toml:3: cannot read 'none.toml': there is no such file; expected a tree in TOML"
    ));
    assert!(refused("tree tree.toml limit much").starts_with("mine.toml:3: "));
}
