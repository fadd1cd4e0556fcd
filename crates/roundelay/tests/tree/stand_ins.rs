//! Stand-ins: the packet that represents a child in its class has the slack, deadline and arrival
//! time of the child's next packet.

use roundelay::schedulers::AnyDiscipline;
use roundelay::tree::{Config, Node, StandIn, Tree};
use roundelay::{
    Backlog, Duration, FlowId, Footprint, Instant, Packet, Rate, Refused, Scheduler, Slack,
};
use roundelay::{Control, Seed};

use super::plans::node;

/// Two classes below the root, and two leaves below the given parents.
fn plan(parents: [&str; 2], class: &str) -> Config {
    let mut plan = Config::new(node("link", "afq quantum 1000b")).unwrap();
    for name in ["first", "second"] {
        plan.add_class("link", node(name, class)).unwrap();
    }
    for (flow, (parent, name)) in (0..).zip(parents.into_iter().zip(["one", "two"])) {
        plan.add_leaf(parent, node(name, "fifo")).unwrap();
        plan.assign(FlowId(flow), name).unwrap();
    }
    plan.set_default("two").unwrap();
    plan
}

/// A tree with any discipline as root, also one not usable as a class: the root's choices leave at
/// once, so the root holds no slots.
fn tree(plan: &Config, root: &str) -> Tree<u64> {
    let root = AnyDiscipline::named(root).unwrap();
    let class = |node: &Node, seed| {
        if node.name == "link" {
            root.build(seed)
        } else {
            node.spec.discipline.build(seed)
        }
    };
    let leaf = |node: &Node, seed| node.spec.discipline.build(seed);
    Tree::with(plan, Seed::new(1), leaf, class).unwrap()
}

/// Flows of the packets in departure order. Each of two flows has two packets of 1000 bytes, with
/// slack and deadline in milliseconds.
fn order(mut tree: Tree<u64>) -> Vec<u32> {
    for (flow, millis) in [(0, 30), (0, 5), (1, 20), (1, 40)] {
        let time = Duration::from_millis(millis);
        let (slack, deadline) = (Slack::of(time), Instant::ZERO + time);
        tree.enqueue(
            Instant::ZERO,
            Packet {
                slack,
                deadline,
                ..Packet::new(FlowId(flow), 1000, 0)
            },
        )
        .unwrap();
    }
    std::iter::from_fn(|| tree.dequeue(Instant::ZERO))
        .map(|packet| packet.flow.0)
        .collect()
}

/// At the root 20 comes before 30, then 30 before 40, then 5 before 40.
#[test]
fn a_root_goes_by_slack_and_deadline_of_what_is_next() {
    for root in ["lstf", "fifo_plus", "edf"] {
        assert_eq!(
            order(tree(&plan(["link"; 2], "wf2q_plus"), root)),
            [1, 0, 0, 1],
            "{root}"
        );
        assert_eq!(
            order(tree(&plan(["first", "second"], "wf2q_plus"), root)),
            [1, 0, 0, 1],
            "{root} over classes"
        );
    }
    assert_eq!(
        order(tree(&plan(["link"; 2], "wf2q_plus"), "fifo")),
        [0, 1, 0, 1],
        "goes by neither"
    );
}

/// A class has chosen the first packet before any other arrived; then 5 comes before 20.
#[test]
fn a_class_goes_by_the_deadline_of_what_is_next() {
    let with = |parents| {
        plan(parents, "afq quantum 1000b")
            .build_tree(Seed::new(1))
            .unwrap()
    };
    assert_eq!(order(with(["link"; 2])), [1, 0, 0, 1]);
    assert_eq!(order(with(["first", "second"])), [1, 0, 0, 1]);
    assert_eq!(order(with(["first"; 2])), [0, 0, 1, 1]);
}

/// A class discipline by the arrival time of stand-ins: oldest first, the last enqueued of equals.
struct OldestFirst(Vec<Packet<StandIn>>);

impl Scheduler<StandIn> for OldestFirst {
    fn enqueue(&mut self, _now: Instant, packet: Packet<StandIn>) -> Result<(), Refused<StandIn>> {
        self.0.push(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<StandIn>> {
        let (oldest, _) = self
            .0
            .iter()
            .enumerate()
            .rev()
            .min_by_key(|(_, packet)| packet.arrival)?;
        Some(self.0.remove(oldest))
    }

    fn evict(&mut self) -> Option<Packet<StandIn>> {
        self.0.pop()
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.0.len() as u64,
            bytes: self.0.iter().map(|packet| u64::from(packet.len)).sum(),
        }
    }
}

impl Control for OldestFirst {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

#[test]
fn what_stands_for_a_child_says_when_it_came() {
    let root = |_: &_, _| Ok(OldestFirst(Vec::new()));
    let mut tree = Tree::<u64, _, _>::with(
        &plan(["link"; 2], "wf2q_plus"),
        Seed::new(1),
        |node, seed| node.spec.discipline.build::<u64>(seed),
        root,
    )
    .unwrap();
    for (at, flow) in [(1, 0), (2, 1), (3, 0), (3, 1)] {
        tree.enqueue(Instant::from_nanos(at), Packet::new(FlowId(flow), 1000, at))
            .unwrap();
    }
    let sent: Vec<_> = (4..8)
        .filter_map(|at| tree.dequeue(Instant::from_nanos(at)))
        .map(|packet| packet.flow.0)
        .collect();
    assert_eq!(sent, [0, 1, 0, 1]);
}

/// At 8 Mbit/s a packet of 1500 bytes with 1 ms of slack has left after 2.5 ms, one of 500 bytes
/// with 1.2 ms after 1.7 ms.
#[test]
fn a_root_that_reckons_with_the_link_hears_of_its_rate() {
    let first = |rate: Option<Rate>| {
        let mut tree = tree(&plan(["link"; 2], "wf2q_plus"), "lstf");
        rate.into_iter().for_each(|rate| tree.set_link_rate(rate));
        for (flow, len, micros) in [(0, 1500, 1000), (1, 500, 1200)] {
            let slack = Slack::of(Duration::from_micros(micros));
            tree.enqueue(
                Instant::ZERO,
                Packet {
                    slack,
                    ..Packet::new(FlowId(flow), len, 0)
                },
            )
            .unwrap();
        }
        tree.dequeue(Instant::ZERO).map(|packet| packet.flow)
    };
    assert_eq!(first(None), Some(FlowId(0)), "goes by slack alone");
    assert_eq!(
        first(Rate::from_bits_per_second(8_000_000)),
        Some(FlowId(1))
    );
}
