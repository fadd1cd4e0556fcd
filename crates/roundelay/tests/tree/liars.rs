//! Leaves that break the contract: the tree must not panic, other leaves must be served, and
//! packets by value are accounted for by value.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use roundelay::tree::{Config, Node, Tree};
use roundelay::{Acknowledgement, ConfigError, FlowConfig, Hosts, Refused};
use roundelay::{Backlog, DropReason, Duration, FlowId, Footprint, Instant, Packet, Scheduler};
use roundelay::{Control, Seed};

use super::plans::{node, weighted};

/// A leaf's violation of the contract.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lie {
    /// None.
    Honest,
    /// Drops the whole queue in some dequeues, like an extreme AQM (known bugs 37 and 38).
    DropsAll,
    /// Returns no packet on even calls and gives no `ready_at` (known bugs 4 and 5).
    Idles,
    /// Accepts all packets and never returns any, not even to `evict`.
    Hoards,
    /// Accepts a packet and drops the same packet at once, on even calls (known bug 43).
    DropsArriving,
    /// Reports an empty backlog.
    SaysEmpty,
    /// Reports a backlog that never shrinks: the number of calls.
    SaysMore,
    /// Evicts nothing.
    KeepsAll,
    /// Returns longer packets than accepted, longer than the class's maximum.
    Lengthens,
}

const LIES: [Lie; 8] = [
    Lie::DropsAll,
    Lie::Idles,
    Lie::Hoards,
    Lie::DropsArriving,
    Lie::SaysEmpty,
    Lie::SaysMore,
    Lie::KeepsAll,
    Lie::Lengthens,
];

struct Liar {
    lie: Lie,
    queue: VecDeque<Packet<u64>>,
    dropped: VecDeque<Packet<u64>>,
    calls: u64,
}

impl Scheduler<u64> for Liar {
    fn enqueue(&mut self, _now: Instant, packet: Packet<u64>) -> Result<(), Refused<u64>> {
        self.calls += 1;
        if self.lie == Lie::DropsArriving && self.calls.is_multiple_of(2) {
            self.dropped.push_back(packet);
        } else {
            self.queue.push_back(packet);
        }
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<u64>> {
        self.calls += 1;
        match self.lie {
            Lie::DropsAll if self.calls.is_multiple_of(3) => {
                self.dropped.extend(self.queue.drain(..))
            }
            Lie::Hoards => return None,
            Lie::Idles if self.calls.is_multiple_of(2) => return None,
            _ => {}
        }
        let packet = self.queue.pop_front()?;
        Some(if self.lie == Lie::Lengthens {
            Packet {
                len: packet.len * 4,
                ..packet
            }
        } else {
            packet
        })
    }

    fn evict(&mut self) -> Option<Packet<u64>> {
        if matches!(self.lie, Lie::KeepsAll | Lie::Hoards) {
            None
        } else {
            self.queue.pop_back()
        }
    }

    fn backlog(&self) -> Backlog {
        let packets = match self.lie {
            Lie::SaysEmpty => 0,
            Lie::SaysMore => self.calls,
            _ => self.queue.len() as u64,
        };
        Backlog {
            packets,
            bytes: packets * 1000,
        }
    }

    fn take_dropped(&mut self) -> Option<(Packet<u64>, DropReason)> {
        self.dropped
            .pop_front()
            .map(|packet| (packet, DropReason::Early))
    }
}

impl Control for Liar {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

/// Two classes: the first with the liar (flow 0) and an honest leaf (flow 1), the second with an
/// honest leaf (flow 2).
fn plan() -> Config {
    let mut plan = Config::new(node("link", "wf2q_plus")).unwrap();
    for (parent, name) in [("link", "first"), ("link", "second")] {
        plan.add_class(parent, node(name, "wf2q_plus")).unwrap();
    }
    for (parent, name, flow) in [
        ("first", "liar", 0),
        ("first", "near", 1),
        ("second", "far", 2),
    ] {
        plan.add_leaf(parent, node(name, "fifo")).unwrap();
        plan.assign(FlowId(flow), name).unwrap();
    }
    plan.set_default("far").unwrap();
    plan
}

fn tree(lie: Lie) -> Tree<u64, Liar> {
    let leaf = |node: &Node, _| {
        let lie = if node.name == "liar" {
            lie
        } else {
            Lie::Honest
        };
        Ok(Liar {
            lie,
            queue: VecDeque::new(),
            dropped: VecDeque::new(),
            calls: 0,
        })
    };
    Tree::with(&plan(), Seed::new(1), leaf, |node: &Node, seed| {
        node.spec.discipline.build(seed)
    })
    .unwrap()
}

/// Numbers of all packets that left the tree, each at most once.
#[derive(Default)]
struct Out(BTreeSet<u64>);

impl Out {
    fn take(&mut self, tree: &mut Tree<u64, Liar>, packet: Option<Packet<u64>>) -> Option<FlowId> {
        let dropped = std::iter::from_fn(|| tree.take_dropped())
            .map(|(packet, _)| packet)
            .collect::<Vec<_>>();
        let flow = packet.as_ref().map(|packet| packet.flow);
        for packet in dropped.into_iter().chain(packet) {
            assert!(
                self.0.insert(packet.payload),
                "packet {} came out twice",
                packet.payload
            );
        }
        flow
    }
}

#[test]
fn a_leaf_that_lies_does_not_hold_up_its_siblings() {
    for lie in LIES {
        let (mut tree, mut out) = (tree(lie), Out::default());
        let mut sent = [0; 3];
        for number in 0..3_000u64 {
            let packet = Packet::new(FlowId((number % 3) as u32), 600, number);
            tree.enqueue(Instant::from_nanos(number), packet).unwrap();
            out.take(&mut tree, None);
            if number % 7 == 0 {
                let victim = tree.evict();
                out.take(&mut tree, victim);
            }
            let packet = tree.dequeue(Instant::from_nanos(number));
            if let Some(flow) = out.take(&mut tree, packet) {
                sent[flow.index()] += 1;
            }
        }
        // Honest leaves are served to the last packet.
        for number in 3_000..12_000 {
            let packet = tree.dequeue(Instant::from_nanos(number));
            if let Some(flow) = out.take(&mut tree, packet) {
                sent[flow.index()] += 1;
            }
        }
        tree.check_invariants();
        for honest in ["near", "far"] {
            assert_eq!(
                tree.backlog_of(honest),
                Some(Backlog::default()),
                "{lie:?}: {honest} waits, {sent:?} were sent"
            );
        }
        let missing = (0..3_000)
            .filter(|number| number % 3 > 0 && !out.0.contains(number))
            .count();
        assert_eq!(
            missing, 0,
            "{lie:?}: honest leaves' packets came out, sent or given up"
        );
        assert!(sent[1] > 500 && sent[2] > 500, "{lie:?}: {sent:?}");
        // A leaf that says it is empty is not asked.
        if lie != Lie::Hoards && lie != Lie::SaysEmpty {
            assert!(
                (0..3_000).all(|number| out.0.contains(&number)),
                "{lie:?}: the liar's packets come out too"
            );
        }
        assert_eq!(
            tree.dequeue(Instant::MAX).map(|packet| packet.flow),
            None,
            "{lie:?}"
        );
    }
}

/// A leaf with a backlog, no packet and no ready time is never ready. After its removal the tree no
/// longer waits.
#[test]
fn a_tree_says_when_it_is_ready() {
    let mut hoarding = tree(Lie::Hoards);
    hoarding
        .enqueue(Instant::ZERO, Packet::new(FlowId(0), 600, 0))
        .unwrap();
    assert_eq!(
        (hoarding.dequeue(Instant::ZERO), hoarding.ready_at()),
        (None, Some(Instant::MAX))
    );
    hoarding
        .enqueue(Instant::ZERO, Packet::new(FlowId(1), 600, 1))
        .unwrap();
    assert_eq!(hoarding.ready_at(), None, "something else is ready");
    assert_eq!(
        hoarding.dequeue(Instant::ZERO).map(|packet| packet.payload),
        Some(1)
    );
    hoarding.remove("liar").unwrap();
    assert_eq!(
        (hoarding.backlog(), hoarding.ready_at()),
        (Backlog::default(), None),
        "what a leaf does not give goes with it"
    );
}

/// A shaper: serves nothing before its ready time, given by `ready_at`. Counts how often it is asked
/// for a packet or its time.
struct Later(VecDeque<Packet<u64>>, Instant, Arc<AtomicU64>);

impl Scheduler<u64> for Later {
    fn enqueue(&mut self, _now: Instant, packet: Packet<u64>) -> Result<(), Refused<u64>> {
        self.0.push_back(packet);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<u64>> {
        self.2.fetch_add(1, Ordering::Relaxed);
        if now < self.1 {
            return None;
        }
        self.1 = now + Duration::from_millis(1);
        self.0.pop_front()
    }

    fn evict(&mut self) -> Option<Packet<u64>> {
        self.0.pop_back()
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.0.len() as u64,
            bytes: self.0.iter().map(|packet| u64::from(packet.len)).sum(),
        }
    }

    fn ready_at(&self) -> Option<Instant> {
        self.2.fetch_add(1, Ordering::Relaxed);
        Some(self.1)
    }
}

const fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// Any setting has it ready at another time.
impl Control for Later {
    fn set_flow(&mut self, _flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        self.1 = at(config.weight.into());
        Ok(())
    }

    fn set_hosts(&mut self, _flow: FlowId, hosts: Hosts) -> Result<(), ConfigError> {
        self.1 = at(hosts.source.into());
        Ok(())
    }

    fn set_acknowledgement(&mut self, _flow: FlowId, _acknowledgement: Option<&Acknowledgement>) {
        self.1 = at(1);
    }

    fn remove_flow(&mut self, _flow: FlowId) {
        self.1 = at(7);
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

/// Two packets in each leaf, none ready: the second class's leaf until 2 ms, the first class's two
/// leaves until 5 ms.
fn all_asleep() -> Tree<u64, Later> {
    all_asleep_and_counted().0
}

/// The same, and how often leaves have been asked for a packet or their times.
fn all_asleep_and_counted() -> (Tree<u64, Later>, Arc<AtomicU64>) {
    let asked = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&asked);
    let leaf = move |node: &Node, _| {
        let start = at(if node.name == "far" { 2 } else { 5 });
        Ok(Later(VecDeque::new(), start, Arc::clone(&counts)))
    };
    let mut tree = Tree::with(&plan(), Seed::new(1), leaf, |node: &Node, seed| {
        node.spec.discipline.build(seed)
    })
    .unwrap();
    for number in 0..6 {
        tree.enqueue(
            Instant::ZERO,
            Packet::new(FlowId((number % 3) as u32), 600, number),
        )
        .unwrap();
    }
    (tree, asked)
}

/// Milliseconds and flows of the departures, if the tree is called at each time from `ready_at`.
fn departures(mut tree: Tree<u64, Later>) -> Vec<(u64, u32)> {
    let (mut now, mut sent) = (Instant::ZERO, Vec::new());
    while !tree.backlog().is_empty() {
        match tree.dequeue(now) {
            Some(packet) => sent.push((now.as_picos() / 1_000_000_000, packet.flow.0)),
            None => {
                now = tree
                    .ready_at()
                    .filter(|ready| *ready > now)
                    .expect("says when")
            }
        }
    }
    sent
}

/// Shapers as leaves: the tree idles only until the first ready time, and asks each leaf at its
/// own.
#[test]
fn leaves_that_idle_are_asked_when_they_are_ready() {
    let sent = departures(all_asleep());
    assert_eq!(sent[..2], [(2, 2), (3, 2)], "{sent:?}");
    assert_eq!(sent.len(), 6);
    assert!(
        sent[2..].iter().all(|(at, _)| (5..=6).contains(at)),
        "{sent:?}"
    );
}

/// A decision costs nothing for the leaves that sleep until later.
#[test]
fn leaves_that_idle_are_not_asked_before_they_are_ready() {
    let (mut tree, asked) = all_asleep_and_counted();
    let before = asked.load(Ordering::Relaxed);
    for _ in 0..10 {
        assert_eq!(tree.dequeue(at(1)), None);
        assert_eq!(tree.ready_at(), Some(at(2)));
    }
    assert_eq!(asked.load(Ordering::Relaxed), before);
    assert!(tree.dequeue(at(2)).is_some());
    assert!(asked.load(Ordering::Relaxed) > before);
}

/// A leaf may be ready at another time after a setting of one of its flows.
#[test]
fn leaves_that_idle_are_asked_for_their_times_after_settings() {
    let mut tree = all_asleep();
    let flow = FlowId(2);
    assert_eq!(tree.ready_at(), Some(at(2)));
    let config = FlowConfig {
        weight: 3,
        ..FlowConfig::DEFAULT
    };
    tree.set_flow(flow, config).unwrap();
    assert_eq!(tree.ready_at(), Some(at(3)));
    let hosts = Hosts {
        source: 4,
        destination: 0,
    };
    tree.set_hosts(flow, hosts).unwrap();
    assert_eq!(tree.ready_at(), Some(at(4)));
    tree.set_acknowledgement(flow, None);
    assert_eq!(tree.ready_at(), Some(at(1)));
    tree.remove_flow(flow);
    assert_eq!(tree.ready_at(), Some(at(5)), "the other leaves are first");
    tree.check_invariants();
}

#[test]
fn leaves_that_idle_are_asked_though_another_one_is_removed() {
    let mut tree = all_asleep();
    tree.remove("liar").unwrap();
    assert_eq!(
        std::iter::from_fn(|| tree.take_dropped())
            .map(|(packet, _)| packet.flow)
            .collect::<Vec<_>>(),
        [FlowId(0); 2]
    );
    assert_eq!(departures(tree), [(2, 2), (3, 2), (5, 1), (6, 1)]);
}

/// An AQM empties its leaf by drops while the class asks for the next packet. The other leaves are
/// still served.
#[test]
fn known_bug_38_a_leaf_that_an_aqm_empties_does_not_stall_its_siblings() {
    let mut plan = plan();
    plan.add_leaf(
        "first",
        weighted("aqm", "fq_codel flows 2 target 1us interval 1us", 4),
    )
    .unwrap();
    plan.assign(FlowId(9), "aqm").unwrap();
    let mut tree: Tree<u64> = plan.build_tree(Seed::new(1)).unwrap();
    let (mut dropped, mut near) = (0, 0);
    for number in 0..20_000u64 {
        let now = Instant::from_nanos(number * 50_000);
        for (flow, every) in [(1, 2), (9, 1), (9, 3)] {
            if number % every == 0 {
                tree.enqueue(
                    now,
                    Packet {
                        arrival: now,
                        ..Packet::new(FlowId(flow), 1500, number)
                    },
                )
                .unwrap();
            }
        }
        near += u64::from(
            tree.dequeue(now)
                .is_some_and(|packet| packet.flow == FlowId(1)),
        );
        dropped += std::iter::from_fn(|| tree.take_dropped()).count();
        if number % 100 == 99 {
            // Drains the tree.
            while tree.dequeue(now).is_some() {}
            dropped += std::iter::from_fn(|| tree.take_dropped()).count();
            assert!(tree.backlog().is_empty() && tree.ready_at().is_none());
        }
    }
    tree.check_invariants();
    assert!(
        dropped > 1_000 && near > 1_000,
        "{dropped} dropped, {near} of the sibling's served"
    );
}
