//! Short acknowledgements of a flow go to a leaf of their own.

use roundelay::tree::{Config, Node, Tree};
use roundelay::{Acknowledgement, Control as _, FlowId, Instant, Packet, Scheduler as _, Seed};

use super::plans::node;

const FLOW: FlowId = FlowId(3);

/// Acknowledgements have a leaf that takes packets of 512 bytes at most.
fn tree() -> Tree<u32> {
    let mut plan = Config::new(node("link", "priority")).expect("a root");
    plan.add_leaf("link", node("all", "fifo")).expect("a leaf");
    let acks = Node {
        max_packet_len: 512,
        ..node("acks", "fifo")
    };
    plan.add_leaf("link", acks).expect("a leaf");
    plan.set_default("all").expect("a leaf");
    plan.sort_acknowledgements(600);
    plan.assign_acknowledgements(FLOW, "acks").expect("a leaf");
    plan.build_tree(Seed::new(1)).expect("a tree")
}

fn told(tree: &mut Tree<u32>, len: u32) {
    let ack = Acknowledgement {
        len,
        is_bare: true,
        ..Acknowledgement::default()
    };
    tree.set_acknowledgement(FLOW, Some(&ack));
}

fn arrives(tree: &mut Tree<u32>, len: u32) -> bool {
    let packet = Packet::new(FLOW, len, 0);
    tree.enqueue(Instant::ZERO, packet).is_ok()
}

fn packets(tree: &Tree<u32>) -> [u64; 2] {
    ["all", "acks"].map(|leaf| tree.backlog_of(leaf).expect("a leaf").packets)
}

#[test]
fn only_short_ones_and_only_the_next_packet() {
    let mut tree = tree();
    told(&mut tree, 52);
    assert!(arrives(&mut tree, 64));
    assert_eq!(packets(&tree), [0, 1]);
    assert!(arrives(&mut tree, 1500), "data of the flow");
    told(&mut tree, 600);
    assert!(arrives(&mut tree, 614), "too long to be short");
    assert_eq!(packets(&tree), [2, 1]);
}

/// What was told is of one packet, even if that one is refused.
#[test]
fn a_refused_acknowledgement_is_forgotten() {
    let mut tree = tree();
    told(&mut tree, 560);
    assert!(!arrives(&mut tree, 574), "longer than its leaf takes");
    assert!(arrives(&mut tree, 1500), "the next packet is data");
    assert_eq!(packets(&tree), [1, 0]);
}

/// A leaf that filters forgets it as well.
#[test]
fn a_leaf_forgets_what_is_refused_above() {
    let mut plan = Config::new(node("link", "drr")).expect("a root");
    let leaf = Node {
        max_packet_len: 512,
        ..node("up", "cake ack-filter")
    };
    plan.add_leaf("link", leaf).expect("a leaf");
    plan.set_default("up").expect("a leaf");
    let mut tree: Tree<u32> = plan.build_tree(Seed::new(1)).expect("a tree");
    for _ in 0..3 {
        told(&mut tree, 52);
        assert!(!arrives(&mut tree, 600), "longer than the leaf takes");
        assert!(arrives(&mut tree, 66), "no acknowledgement");
    }
    assert_eq!(tree.backlog_of("up").expect("a leaf").packets, 3);
    assert!(tree.take_dropped().is_none());
}
