//! One-way sources need no route back; packet lists with header fields.

use std::path::Path;

use roundelay::Seed;
use roundelay::{Duration, Instant};
use roundelay_sim::scenario::{Results, Scenario};
use roundelay_sim::sources::{Terms, tcp};
use roundelay_sim::{LinkConfig, Network, NetworkError, NodeId, Simulation, SimulationError};

/// A temporary folder with files, removed at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder =
            std::env::temp_dir().join(format!("roundelay-one-way-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        files
            .iter()
            .for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// From a and b over one link to c, and nothing back. At 8 Mbit/s 1000 bytes take 1 ms.
fn network(queue: &str, sources: &str) -> String {
    let node = |name: &str, more: &str| format!("[[node]]\nname = \"{name}\"\n{more}\n");
    let link = |from: &str, to: &str, rate: &str| {
        format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\none_way = true\n")
    };
    let nodes = node("a", "host = true")
        + &node("b", "host = true")
        + &node("c", "host = true")
        + &node("r", "")
        + &node("s", "");
    let links = link("a", "r", "8gbit")
        + &link("b", "r", "8gbit")
        + &link("r", "s", "8mbit")
        + &link("s", "c", "8gbit");
    format!("duration = \"1s\"\n[queue]\ncore = \"{queue}\"\n{nodes}{links}{sources}")
}

fn source(kind: &str, from: &str, keys: &str) -> String {
    format!("[[source]]\nkind = \"{kind}\"\nfrom = \"{from}\"\nto = \"c\"\n{keys}\n")
}

fn read(text: &str, folder: &Path) -> Result<Scenario, String> {
    Scenario::from_toml("mine.toml", text, folder).map_err(|error| error.to_string())
}

fn run(text: &str, folder: &Path) -> Results {
    let scenario = read(text, folder).unwrap_or_else(|error| panic!("{error}"));
    scenario
        .run(1, |_| ())
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn what_sends_one_way_needs_no_way_back() {
    let folder = Folder::new(
        "sources",
        &[("packets", "0 1000\n0.5 1000\n"), ("flows", "0 2000 a c\n")],
    );
    let sources = [
        source("cbr", "a", "rate = \"80kbit\"\npackets = 5"),
        source("burst", "b", "size = 3000"),
        source("trace", "a", "file = \"packets\""),
        "[[source]]\nkind = \"workload\"\nfrom = [\"a\", \"c\"]\nfile = \"flows\"\npacket_len = 1000\n".to_owned(),
    ];
    let results = run(&network("drr", &sources.concat()), &folder.0);
    let delivered: Vec<_> = results
        .groups
        .iter()
        .map(|group| group.packets.delivered)
        .collect();
    assert_eq!(delivered, [5, 3, 2, 2, 12]);
    let refused = read(
        &network("fifo", &source("tcp", "a", "size = 1000")),
        &folder.0,
    )
    .unwrap_err();
    assert!(
        refused.ends_with("there is no way from 'c' to 'a'"),
        "{refused}"
    );
    let refused = read(
        &network(
            "fifo",
            &source("cbr", "a", "rate = \"1mbit\"").replace("\"c\"", "\"b\""),
        ),
        &folder.0,
    )
    .unwrap_err();
    assert!(
        refused.ends_with("there is no way from 'a' to 'b'"),
        "{refused}"
    );
}

#[test]
fn an_agent_that_answers_over_no_route_ends_the_run() {
    let mut network = Network::default();
    let [one, other] = [(); 2].map(|()| network.add_node());
    let link = LinkConfig::new(
        one,
        other,
        "1mbit".parse().unwrap(),
        Duration::ZERO,
        "fifo".parse().unwrap(),
    );
    network.add_link(link).unwrap();
    let mut simulation = Simulation::new(network, Seed::new(1)).unwrap();
    let protocol = roundelay_tcp::Config::rfc();
    let source = tcp::Tcp::new(Terms::new(one, other), protocol, Some(1000));
    simulation.spawn(Box::new(source.unwrap()), Instant::ZERO);
    let error = simulation.run(Instant::MAX).unwrap_err();
    assert_eq!(
        error,
        SimulationError::Network(NetworkError::Unroutable(NodeId(1), NodeId(0)))
    );
}

/// The order of arrival of a list's packets, all sent at once and identified by their lengths.
fn order(queue: &str, list: &str) -> Vec<u64> {
    let folder = Folder::new(&format!("order-{queue}"), &[("packets", list)]);
    let scenario = read(
        &network(queue, &source("trace", "a", "file = \"packets\"")),
        &folder.0,
    )
    .unwrap();
    assert_eq!(
        scenario.notes(),
        [""; 0],
        "{queue}: the list has what the queue goes by"
    );
    let mut order = Order::default();
    scenario.run_with(1, &mut order, |_| ()).unwrap();
    order.0
}

#[derive(Default)]
struct Order(Vec<u64>);

impl roundelay_sim::Probe for Order {
    fn delivered(
        &mut self,
        _: Instant,
        packet: &roundelay::Packet<roundelay_sim::Tag>,
        _: &roundelay_sim::PacketState,
    ) {
        self.0.push(packet.len.into());
    }
}

/// The first packet has the link before the others arrive; these leave in the order of their
/// fields.
#[test]
fn queues_go_by_the_fields_of_a_list() {
    assert_eq!(
        order(
            "priority",
            "0 1000 - 9\n0.0001 1 - 5\n0.0001 2 - 3\n0.0001 3 - 4\n"
        ),
        [1000, 2, 3, 1]
    );
    assert_eq!(
        order(
            "edf",
            "0 1000 - - 1\n0.0001 1 - - 0.5\n0.0001 2 - - 0.2\n0.0001 3\n"
        ),
        [1000, 2, 1, 3]
    );
    assert_eq!(
        order(
            "lstf",
            "0 1000 1\n0.0001 1 0.3\n0.0001 2 0.2\n0.0001 3 0.1\n"
        ),
        [1000, 3, 2, 1]
    );
}
