//! HTB: the claims of `tree/htb.rs`, and trees that break them.

use proptest::prelude::*;
use roundelay::schedulers::AnyDiscipline;
use roundelay::tree::{Config, Node, Service, htb};
use roundelay::{DropReason, FlowId, Instant, Limit, Observer, Packet, Port, Rate, Seed};

const LEN: u32 = 1500;

fn rate(text: &str) -> Rate {
    text.parse().expect("a rate")
}

fn kbit(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1000).expect("not zero")
}

fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

/// Starts of transmissions: leaf, time, length.
#[derive(Default)]
struct Log(Vec<(u32, Instant, u32)>);

impl Observer<()> for Log {
    fn sent(&mut self, packet: Packet<()>, start: Instant, _end: Instant) {
        self.0.push((packet.flow.0, start, packet.len));
    }

    fn dropped(&mut self, _packet: Packet<()>, _now: Instant, reason: DropReason) {
        panic!("a packet was dropped: {reason:?}");
    }
}

/// A tree of HTB, or of DRR with the same nodes.
struct Plan {
    config: Config,
    is_htb: bool,
}

impl Plan {
    fn new(is_htb: bool) -> Self {
        let root = Self::node("link", "drr", None, is_htb);
        let config = Config::new(root).expect("legal");
        Self { config, is_htb }
    }

    fn node(name: &str, spec: &str, class: Option<htb::Class>, of_htb: bool) -> Node {
        let mut node = Node::new(name, spec.parse().expect("a legal spec"));
        if of_htb {
            if spec == "drr" {
                node.spec.discipline = AnyDiscipline::Htb(htb::Config::default());
            }
            node.service = class.map_or(Service::Shared, Service::Htb);
        }
        node
    }

    fn class(&mut self, parent: &str, name: &str, class: htb::Class) {
        let node = Self::node(name, "drr", Some(class), self.is_htb);
        self.config.add_class(parent, node).expect("legal");
    }

    fn leaf(&mut self, parent: &str, flow: u32, class: htb::Class) {
        let name = flow.to_string();
        let node = Self::node(&name, "fifo", Some(class), self.is_htb);
        self.config.add_leaf(parent, node).expect("legal");
        self.config.assign(FlowId(flow), &name).expect("legal");
        self.config.set_default(&name).expect("legal");
    }

    /// Starts under these arrivals (microseconds, leaf, length) on a link.
    fn run(&self, link: &str, arrivals: &[(u64, u32, u32)]) -> Log {
        let tree = self.config.build_tree::<()>(Seed::new(0)).expect("legal");
        let mut port = Port::new(tree, Limit::UNBOUNDED, rate(link));
        let mut log = Log::default();
        for (micros, flow, len) in arrivals {
            port.advance(at(*micros), &mut log);
            port.arrive(at(*micros), Packet::new(FlowId(*flow), *len, ()), &mut log);
        }
        port.advance(Instant::from_nanos(u64::MAX / 2000), &mut log);
        assert_eq!(log.0.len(), arrivals.len(), "all leave");
        log
    }
}

impl Log {
    /// Bits a second of a leaf between two times in milliseconds.
    fn rate_of(&self, flow: u32, from: u64, to: u64) -> f64 {
        let mut bytes = 0;
        for (of, start, len) in &self.0 {
            if *of == flow && (at(from * 1000)..at(to * 1000)).contains(start) {
                bytes += u64::from(*len);
            }
        }
        bytes as f64 * 8000.0 / (to - from) as f64
    }

    /// Largest number of bytes that a leaf sends in an interval, over what is allowed.
    fn excess(&self, leaf: u32, rate: Rate, burst: u32) -> f64 {
        let mut sent = Vec::new();
        for (flow, start, len) in &self.0 {
            if *flow == leaf {
                sent.push((*start, f64::from(*len)));
            }
        }
        let mut worst = 0.0f64;
        for first in 0..sent.len() {
            let mut bytes = 0.0;
            for (start, len) in &sent[first..] {
                bytes += len;
                let span = start.since(sent[first].0).as_secs_f64();
                let carried = rate.bits_per_second() as f64 / 8.0 * span;
                worst = worst.max(bytes / (f64::from(burst + LEN) + carried));
            }
        }
        worst
    }
}

/// Packets of a leaf, more than it can send.
fn backlog(flow: u32, packets: u32) -> Vec<(u64, u32, u32)> {
    (0..packets).map(|_| (0, flow, LEN)).collect()
}

#[derive(Debug, Clone)]
struct Family {
    parent: htb::Class,
    leaves: Vec<htb::Class>,
}

fn class() -> impl Strategy<Value = htb::Class> {
    let burst = prop_oneof![Just(None), (1u32..9000).prop_map(Some)];
    (
        200u64..4000,
        1u64..4,
        burst.clone(),
        burst,
        0u32..3,
        500u32..4000,
    )
        .prop_map(|(rate, more, burst, cburst, prio, quantum)| htb::Class {
            rate: kbit(rate),
            ceil: Some(kbit(rate * more)),
            burst,
            cburst,
            prio,
            quantum: Some(quantum),
        })
}

fn families() -> impl Strategy<Value = Vec<Family>> {
    let family = (class(), prop::collection::vec(class(), 1..4))
        .prop_map(|(parent, leaves)| Family { parent, leaves });
    prop::collection::vec(family, 1..4)
}

/// The plan, and each leaf.
fn grown(families: &[Family], is_htb: bool) -> (Plan, Vec<(htb::Class, u32)>) {
    let mut plan = Plan::new(is_htb);
    let mut classes = Vec::new();
    let mut flow = 0;
    for (number, family) in families.iter().enumerate() {
        let name = format!("family {number}");
        plan.class("link", &name, family.parent);
        for leaf in &family.leaves {
            plan.leaf(&name, flow, *leaf);
            classes.push((*leaf, flow));
            flow += 1;
        }
    }
    (plan, classes)
}

fn worst_excess(families: &[Family], is_htb: bool, arrivals: &[(u64, u32, u32)]) -> f64 {
    let (plan, classes) = grown(families, is_htb);
    let log = plan.run("1gbit", arrivals);
    let mut worst = 0.0f64;
    for (class, flow) in classes {
        worst = worst.max(log.excess(flow, class.ceil(), class.cburst()));
    }
    worst
}

fn arrivals(families: &[Family], packets: &[(u64, u32, u32)]) -> Vec<(u64, u32, u32)> {
    let leaves: usize = families.iter().map(|family| family.leaves.len()).sum();
    let mut now = 0;
    let mut arrivals = Vec::new();
    for (gap, flow, len) in packets {
        now += gap;
        arrivals.push((now, flow % leaves as u32, *len));
    }
    arrivals
}

proptest! {
    #[test]
    fn no_leaf_sends_more_than_its_ceil(
        families in families(),
        packets in prop::collection::vec((prop_oneof![3 => Just(0u64), 1 => 0u64..9000], 0u32..99, 40..=LEN), 1..150),
    ) {
        let arrivals = arrivals(&families, &packets);
        let excess = worst_excess(&families, true, &arrivals);
        prop_assert!(excess <= 1.0 + 1e-9, "{excess} times what is allowed");
    }
}

#[test]
fn the_check_finds_what_has_no_ceil() {
    let class = htb::Class::new(rate("1mbit"));
    let families = vec![Family {
        parent: class,
        leaves: vec![class, class],
    }];
    let arrivals = [backlog(0, 30), backlog(1, 30)].concat();
    assert!(worst_excess(&families, false, &arrivals) > 2.0, "drr");
    let used = worst_excess(&families, true, &arrivals);
    assert!((0.9..=1.0).contains(&used), "{used}: the ceil is used");
}

/// Three leaves of 5, 2 and 1 of 9.5 Mbit/s; the burst covers a round of turns.
fn unequal(is_htb: bool) -> Plan {
    let mut plan = Plan::new(is_htb);
    let ceil = Some(rate("9500kbit"));
    plan.class("link", "all", htb::Class::new(rate("9500kbit")));
    for (flow, own) in [(0, "5mbit"), (1, "2mbit"), (2, "1mbit")] {
        let class = htb::Class {
            ceil,
            burst: Some(15_000),
            prio: 2 - flow,
            quantum: Some(1500),
            ..htb::Class::new(rate(own))
        };
        plan.leaf("all", flow, class);
    }
    plan
}

/// The leaf of the largest rate has the last prio, so it gets no loan.
#[test]
fn a_class_gets_its_rate_whatever_the_others_do() {
    let arrivals = [backlog(0, 3000), backlog(1, 3000), backlog(2, 3000)].concat();
    let log = unequal(true).run("10mbit", &arrivals);
    for (flow, own) in [(0, 5e6), (1, 2e6), (2, 1e6)] {
        let got = log.rate_of(flow, 100, 4100);
        assert!(got >= 0.99 * own, "leaf {flow} got {got} bit/s of {own}");
    }
    let got = unequal(false)
        .run("10mbit", &arrivals)
        .rate_of(0, 100, 4100);
    assert!(got < 4e6, "drr gives equal parts: {got}");
}

/// What leaf 2 of prio 0 can use it gets; with it idle, prio 1.
#[test]
fn what_is_lent_goes_by_priority_then_by_quantum() {
    let all = [backlog(0, 3000), backlog(1, 3000), backlog(2, 3000)].concat();
    let log = unequal(true).run("10mbit", &all);
    let near = |got: f64, expected: f64| {
        assert!((got / expected - 1.0).abs() < 0.03, "{got}, not {expected}")
    };
    // 1.5 Mbit/s are lent.
    near(log.rate_of(0, 100, 4100), 5e6);
    near(log.rate_of(1, 100, 4100), 2e6);
    near(log.rate_of(2, 100, 4100), 2.5e6);
    let two = [backlog(0, 3000), backlog(1, 3000)].concat();
    let log = unequal(true).run("10mbit", &two);
    near(log.rate_of(0, 100, 4100), 5e6);
    near(log.rate_of(1, 100, 4100), 4.5e6);

    let mut plan = Plan::new(true);
    plan.class("link", "all", htb::Class::new(rate("9mbit")));
    for (flow, quantum) in [(0, 1500), (1, 4500)] {
        let class = htb::Class {
            ceil: Some(rate("9mbit")),
            quantum: Some(quantum),
            ..htb::Class::new(rate("500kbit"))
        };
        plan.leaf("all", flow, class);
    }
    let log = plan.run("10mbit", &two);
    near(log.rate_of(0, 100, 4100), 0.5e6 + 2e6);
    near(log.rate_of(1, 100, 4100), 0.5e6 + 6e6);
}

/// The sum of the leaves' rates is what counts: the parent's ceil limits only what it lends.
#[test]
fn leaves_send_at_their_rates_whatever_the_parent_has() {
    let mut plan = Plan::new(true);
    plan.class("link", "all", htb::Class::new(rate("1mbit")));
    let own = htb::Class {
        ceil: Some(rate("8mbit")),
        ..htb::Class::new(rate("2mbit"))
    };
    plan.leaf("all", 0, own);
    plan.leaf("all", 1, own);
    let log = plan.run("10mbit", &[backlog(0, 1000), backlog(1, 1000)].concat());
    for flow in [0, 1] {
        let got = log.rate_of(flow, 100, 2100);
        assert!((got / 2e6 - 1.0).abs() < 0.02, "{got}");
    }
}

/// Devera's example: A with two services, and B. What one service of A leaves, the other gets; B
/// gets what both leave.
#[test]
fn what_a_class_leaves_goes_to_its_siblings_first() {
    let within = |of: &str, ceil: &str| htb::Class {
        ceil: Some(rate(ceil)),
        burst: Some(15_000),
        quantum: Some(1500),
        ..htb::Class::new(rate(of))
    };
    let mut plan = Plan::new(true);
    plan.class("link", "all", within("1mbit", "1mbit"));
    plan.class("all", "a", within("400kbit", "1mbit"));
    plan.leaf("all", 2, within("600kbit", "1mbit"));
    plan.leaf("a", 0, within("300kbit", "1mbit"));
    plan.leaf("a", 1, within("100kbit", "1mbit"));
    // From 20 s on leaf 0 has nothing: its 300 kbit/s are leaf 1's.
    let first = backlog(0, 20 * 300 / 12);
    let arrivals = [first, backlog(1, 1000), backlog(2, 4000)].concat();
    let log = plan.run("100mbit", &arrivals);
    let near = |got: f64, expected: f64| {
        assert!((got / expected - 1.0).abs() < 0.04, "{got}, not {expected}")
    };
    near(log.rate_of(0, 2000, 18_000), 300e3);
    near(log.rate_of(1, 2000, 18_000), 100e3);
    near(log.rate_of(2, 2000, 18_000), 600e3);
    near(log.rate_of(1, 21_000, 30_000), 400e3);
    near(log.rate_of(2, 21_000, 30_000), 600e3);
}
