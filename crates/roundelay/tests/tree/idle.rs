//! Leaves without packets: `priority`, strict bands of `ets` and `tbf` ask them, as in Linux, and
//! `fq_codel` and `fq_pie` then end the turns of their flows. `htb` and `drr` do not.

use roundelay::tree::{Config, Node, Service, Tree};
use roundelay::{FlowId, Instant, Packet, Scheduler as _, Seed};

use super::plans::{node, of_htb, rated};

const WHALE: FlowId = FlowId(1);
const SHRIMP: FlowId = FlowId(2);
const OTHER: FlowId = FlowId(3);

/// A tree with this root, a leaf of two flows, and one behind it if there is a second node.
fn tree(root: Node, first: Node, second: Option<Node>) -> Tree<&'static str> {
    let name = root.name.clone();
    let mut plan = Config::new(root).expect("a legal root");
    let leaf = first.name.clone();
    plan.add_leaf(&name, first).expect("a legal leaf");
    plan.set_default(&leaf).expect("a leaf");
    if let Some(second) = second {
        let other = second.name.clone();
        plan.add_leaf(&name, second).expect("a legal leaf");
        plan.assign(OTHER, &other).expect("a leaf");
    }
    plan.build_tree(Seed::new(1)).expect("a legal tree")
}

/// A flow sends a packet of nearly its whole quantum, and the leaf is then empty while the tree is
/// asked again. If the leaf was asked, the flow is new afterwards, and comes behind one that came
/// before it. If not, the flow still has the turn.
fn order(tree: Tree<&'static str>) -> Vec<&'static str> {
    order_after(tree, |_| ())
}

/// The same with a change while the leaf is empty.
fn order_after(
    mut tree: Tree<&'static str>,
    change: impl FnOnce(&mut Tree<&'static str>),
) -> Vec<&'static str> {
    let mut sent = Vec::new();
    let send = |tree: &mut Tree<&'static str>, sent: &mut Vec<_>| {
        sent.extend(tree.dequeue(Instant::ZERO).map(|packet| packet.payload));
    };
    let arrive = |tree: &mut Tree<&'static str>, flow, len, name| {
        let taken = tree.enqueue(Instant::ZERO, Packet::new(flow, len, name));
        assert!(taken.is_ok(), "{name}");
    };
    arrive(&mut tree, WHALE, 1500, "whale 1");
    send(&mut tree, &mut sent);
    change(&mut tree);
    if tree.leaf_of(OTHER) != tree.leaf_of(WHALE) {
        arrive(&mut tree, OTHER, 100, "other");
    }
    send(&mut tree, &mut sent);
    arrive(&mut tree, SHRIMP, 100, "shrimp");
    arrive(&mut tree, WHALE, 1500, "whale 2");
    send(&mut tree, &mut sent);
    send(&mut tree, &mut sent);
    sent
}

fn at(priority: u32, node: Node) -> Node {
    Node { priority, ..node }
}

const ASKED: [&str; 2] = ["shrimp", "whale 2"];
const NOT_ASKED: [&str; 2] = ["whale 2", "shrimp"];

#[test]
fn a_strict_class_asks_its_idle_children_in_their_order() {
    for leaf in ["fq_codel linux", "fq_codel", "fq_pie"] {
        for class in ["priority", "ets strict 2 bands 2", "ets strict 1 bands 2"] {
            for (own, other, expected) in [(0, 1, ASKED), (1, 0, NOT_ASKED)] {
                if own == 1 && class.contains("strict 1") {
                    continue;
                }
                let first = at(own, node("leaf", leaf));
                let second = at(other, node("other", "fifo"));
                let sent = order(tree(node("link", class), first, Some(second)));
                assert_eq!(sent[..2], ["whale 1", "other"], "{class}: {leaf}");
                assert_eq!(sent[2..], expected, "{class}, band {own}: {leaf}");
            }
        }
    }
}

/// An idle child is asked by the priority that it has now.
#[test]
fn settings_of_idle_children_count_at_once() {
    let behind = || {
        let first = at(2, node("leaf", "fq_codel linux"));
        let second = at(1, node("other", "fifo"));
        tree(node("link", "priority"), first, Some(second))
    };
    assert_eq!(order(behind())[2..], NOT_ASKED);
    let sent = order_after(behind(), |tree| {
        let before_the_other = at(0, node("leaf", "fq_codel linux"));
        tree.set_node(before_the_other).expect("a legal change");
    });
    assert_eq!(sent[2..], ASKED);
}

#[test]
fn a_class_asks_all_idle_children_when_it_has_no_packet() {
    for leaf in ["fq_codel linux", "fq_codel", "fq_pie"] {
        for class in [
            "priority",
            "ets strict 1 bands 1",
            "tbf rate 1gbit burst 9kb",
        ] {
            let sent = order(tree(node("link", class), node("leaf", leaf), None));
            assert_eq!(sent[1..], ASKED, "{class}: {leaf}");
        }
    }
}

/// A class of htb that has paid for all packets of the test before they come.
fn quick(mut node: Node) -> Node {
    if let Service::Htb(class) = &mut node.service {
        (class.burst, class.cburst) = (Some(1 << 20), Some(1 << 20));
    }
    node
}

#[test]
fn classes_in_turn_do_not_ask_idle_children() {
    for leaf in ["fq_codel linux", "fq_codel", "fq_pie"] {
        for class in ["drr", "ets bands 2"] {
            let second = at(1, node("other", "fifo"));
            let sent = order(tree(node("link", class), node("leaf", leaf), Some(second)));
            assert_eq!(sent[2..], NOT_ASKED, "{class}: {leaf}");
        }
        let first = quick(rated("leaf", leaf, "1gbit", "1gbit"));
        let second = quick(rated("other", "fifo", "1gbit", "1gbit"));
        let sent = order(tree(of_htb(node("link", "drr")), first, Some(second)));
        assert_eq!(sent[2..], NOT_ASKED, "htb: {leaf}");
    }
}

/// A bucket in a band of `priority`: who asks the bucket asks its child.
#[test]
fn an_idle_class_asks_its_own_children() {
    let mut plan = Config::new(node("link", "priority")).expect("a legal root");
    let bucket = at(0, node("bucket", "tbf rate 1gbit burst 9kb"));
    plan.add_class("link", bucket).expect("a legal class");
    let leaf = node("leaf", "fq_codel linux");
    plan.add_leaf("bucket", leaf).expect("a legal leaf");
    let other = at(1, node("other", "fifo"));
    plan.add_leaf("link", other).expect("a legal leaf");
    plan.set_default("leaf").expect("a leaf");
    plan.assign(OTHER, "other").expect("a leaf");
    let sent = order(plan.build_tree(Seed::new(1)).expect("a legal tree"));
    assert_eq!(sent[2..], ASKED);
}
