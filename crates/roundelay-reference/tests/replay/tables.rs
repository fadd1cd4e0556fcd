//! Tables: viability, reading and writing, and one replay worked by hand.

use roundelay_reference::replay::{Hop, Network, Node, Packet, Reading, Replayer, Rule, Schedule};

/// Figure 10: three congestion points of one unit.
pub(crate) fn figure_10() -> (Network, Schedule) {
    let rows = [
        ("α0", "a(0, 0), b(0, 1)"),
        ("α1", "a(1, 1), c1(2, 2), c2(3, 3)"),
        ("α2", "d1(2, 2), d2(3, 3), a(2, 4)"),
    ];
    let packets = [
        ("a", 0, "α0 α1 α2"),
        ("b", 0, "α0"),
        ("c1", 2, "α1"),
        ("c2", 3, "α1"),
        ("d1", 2, "α2"),
        ("d2", 3, "α2"),
    ];
    let network = network(&[("α0", 1), ("α1", 1), ("α2", 1)], &packets).unwrap();
    let original = Schedule::read(&network, rows).unwrap();
    (network, original)
}

fn network(nodes: &[(&str, u64)], packets: &[(&str, u64, &str)]) -> Result<Network, String> {
    let nodes: Vec<Node> = nodes
        .iter()
        .map(|(name, transmission)| Node {
            name: (*name).to_owned(),
            transmission: *transmission,
        })
        .collect();
    let packet = |(name, input, path): &(&str, u64, &str)| {
        Ok(Packet {
            name: (*name).to_owned(),
            input: *input,
            len: 1,
            path: Hop::path(&nodes, path).map_err(|error| error.0)?,
        })
    };
    let packets = packets
        .iter()
        .map(packet)
        .collect::<Result<Vec<_>, String>>()?;
    Network::new(nodes, packets).map_err(|error| error.0)
}

/// Section A.7.3 and its table, replayed by hand: b first, then c1 before a; either a or c2 must be
/// late.
#[test]
fn a_replay_worked_by_hand() {
    let (network, original) = figure_10();
    assert_eq!(
        (original.is_viable(&network), original.idles(&network)),
        (Ok(()), false)
    );
    assert_eq!(
        (0..6)
            .map(|packet| original.slack(&network, packet))
            .collect::<Vec<_>>(),
        [2, 1, 0, 0, 0, 0]
    );
    for preempts in [false, true] {
        let replay = Replayer {
            preempts,
            ..Replayer::new(&network, &original, Rule::Lstf)
        }
        .run();
        let rows = replay.rows(&network);
        let rows: Vec<_> = rows
            .iter()
            .map(|(node, row)| (node.as_str(), row.as_str()))
            .collect();
        let expected = [
            ("α0", "b(0, 0), a(0, 1)"),
            ("α1", "c1(2, 2), a(2, 3), c2(3, 4)"),
            ("α2", "d1(2, 2), d2(3, 3), a(4, 4)"),
        ];
        assert_eq!(rows, expected);
        assert_eq!(replay.overdue(&original), [(3, 1)], "c2 by a unit");
        let points =
            Reading::ALL.map(|(_, reading)| reading.points(&network, &original, &replay)[0]);
        assert_eq!(
            points,
            [1, 2, 3, 3, 3],
            "congestion points of a, by each reading"
        );
    }
}

/// A unit of length takes 4 units at α0: b interrupts a; a gets the rest of the link afterwards.
#[test]
fn preemption_worked_by_hand() {
    let (network, original) = {
        let network = network(&[("α0", 4)], &[("a", 0, "α0"), ("b", 1, "α0")]).unwrap();
        let original = Schedule::read(&network, [("α0", "b(1, 1), a(0, 5)")]).unwrap();
        (network, original)
    };
    assert_eq!(
        (original.is_viable(&network), original.idles(&network)),
        (Ok(()), true),
        "α0 idles until b comes"
    );
    let replay = |preempts| {
        Replayer {
            preempts,
            ..Replayer::new(&network, &original, Rule::Lstf)
        }
        .run()
    };
    assert_eq!(replay(true).rows(&network)[0].1, "a(0, 0 to 8), b(1, 1)");
    assert_eq!(replay(true).overdue(&original), []);
    assert_eq!(
        replay(false).overdue(&original),
        [(1, 3)],
        "b waits until 4 and leaves at 8, not at 5"
    );
    assert_eq!(
        replay(true).is_viable(&network).unwrap_err().to_string(),
        "packet a at α0: sent from 0 to 8, not in one piece of 4",
        "no original is preemptive"
    );
}

#[test]
fn what_is_not_viable_is_told_with_packet_node_and_times() {
    let (network, _) = figure_10();
    let wrong = |rows: [(&str, &str); 3]| {
        Schedule::read(&network, rows)
            .unwrap()
            .is_viable(&network)
            .unwrap_err()
            .to_string()
    };
    let (first, second, third) = (
        "a(0, 0), b(0, 1)",
        "a(1, 1), c1(2, 2), c2(3, 3)",
        "d1(2, 2), d2(3, 3), a(2, 4)",
    );
    let with = |row| wrong([("α0", first), ("α1", row), ("α2", third)]);
    assert_eq!(
        with("a(0, 1), c1(2, 2), c2(3, 3)"),
        "packet a at α1: arrival 0 given, 1 follows from its input time and path"
    );
    assert_eq!(
        with("a(1, 0), c1(2, 2), c2(3, 3)"),
        "packet a at α1: scheduled at 0, before its last bit is there at 1"
    );
    assert_eq!(
        with("a(1, 1), c1(2, 3), c2(3, 3)"),
        "node α1: c2 is scheduled at 3, while c1 is sent until 4"
    );
    assert_eq!(
        wrong([
            ("α0", first),
            ("α1", second),
            ("α2", "d1(2, 2), d2(3, 3), a(2, 3)")
        ]),
        "node α2: d2 is scheduled at 3, while a is sent until 4"
    );
    let mut short =
        Schedule::read(&network, [("α0", first), ("α1", second), ("α2", third)]).unwrap();
    short.0[0].pop();
    assert_eq!(
        short.is_viable(&network).unwrap_err().to_string(),
        "packet a: 2 stays for a path of 3 nodes"
    );
}

#[test]
fn tables_that_cannot_be_read_are_errors() {
    let (network, original) = figure_10();
    let error = |node: &str, row: &str| Schedule::read(&network, [(node, row)]).unwrap_err().0;
    assert_eq!(
        error("α7", "a(0, 0)"),
        "α7 = \"a(0, 0)\": no node is called so"
    );
    assert_eq!(
        error("α0", "e(0, 0)"),
        "α0 = \"e(0, 0)\": no packet is called 'e'"
    );
    assert_eq!(
        error("α0", "c1(0, 0)"),
        "α0 = \"c1(0, 0)\": c1 does not pass this node"
    );
    assert_eq!(
        error("α0", "a(0, 0), a(0, 1)"),
        "α0 = \"a(0, 0), a(0, 1)\": a stands there twice"
    );
    assert_eq!(
        error("α0", "a 0, 0"),
        "α0 = \"a 0, 0\": 'a 0, 0': expected packet(arrival, scheduling)"
    );
    assert!(
        error("α0", "a(0, -1)")
            .ends_with("'-1': expected a whole number of units, 0 to 1000000000000")
    );
    assert_eq!(error("α0", "a(0, 0)"), "packet a has no entry at α1");
    let rows = original.rows(&network);
    assert_eq!(
        Schedule::read(
            &network,
            rows.iter().map(|(node, row)| (node.as_str(), row.as_str()))
        )
        .unwrap(),
        original
    );
}

#[test]
fn networks_out_of_range_are_errors() {
    let error = |nodes: &[(&str, u64)], path: &str| network(nodes, &[("a", 0, path)]).unwrap_err();
    assert_eq!(
        error(&[("α0", 0)], "α0"),
        "node α0: transmission = 0: legal range 1 to 1000000"
    );
    assert_eq!(
        error(&[("α0", 1)], "α0 α0"),
        "packet a: the path passes node number 0 twice"
    );
    assert_eq!(
        error(&[("α0", 1)], ""),
        "packet a: the path has to have a node or more"
    );
    assert_eq!(
        error(&[("α0", 1)], "+1 α0"),
        "packet a: propagation to the first node has to be 0: the input time is that of arrival there"
    );
    assert_eq!(
        error(&[("α0", 1)], "α0 +2"),
        "path 'α0 +2': a delay has to stand before a node"
    );
    assert_eq!(
        error(&[("α0", 1)], "α1"),
        "path 'α1': no node is called 'α1'"
    );
    assert_eq!(error(&[], "α0"), "path 'α0': no node is called 'α0'");
    assert_eq!(
        network(&[("α0", 1)], &[]).unwrap_err(),
        "0 packets: legal range 1 to 1000"
    );
}
