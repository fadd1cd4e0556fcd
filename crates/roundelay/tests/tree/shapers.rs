//! Shapers below the root: `tbf`, `htb` and `hfsc` as classes of any discipline, and of each other.

use std::collections::BTreeMap;

use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use roundelay::schedulers::AnyDiscipline;
use roundelay::tree::{Config, Node, Problem, Service, hfsc, htb};
use roundelay::{Control as _, FlowId, Instant, Packet, Scheduler as _, Seed};
use roundelay_conformance::{Audited, Mix, operations};

use super::plans::{curved, node, of_htb, rated, weighted};

const SHAPERS: [&str; 3] = ["tbf", "htb", "hfsc"];
const OTHERS: [&str; 6] = [
    "drr",
    "priority",
    "ets strict 1 bands 3",
    "wf2q_plus",
    "qfq",
    "packet_fq",
];

/// A node of this discipline, with the settings that a parent of `above` wants.
fn below(above: &str, name: &str, discipline: &str, random: &mut Pcg64) -> Node {
    let spec = match discipline {
        "tbf" => "tbf rate 3mbit burst 3000b",
        "htb" | "hfsc" => "drr",
        other => other,
    };
    let mut made = match above {
        "htb" => {
            let (rate, ceil) = *[("1mbit", "1mbit"), ("1mbit", "9mbit"), ("3mbit", "5mbit")]
                .choose(random)
                .expect("some");
            let mut made = rated(name, spec, rate, ceil);
            if let Service::Htb(class) = &mut made.service {
                class.prio = random.random_range(0..3);
            }
            made
        }
        "hfsc" => {
            let curves = [
                ["", "m2 1mbit", ""],
                ["", "m1 4mbit d 3ms m2 1mbit", "m2 2mbit"],
                ["m1 4mbit d 3ms m2 1mbit", "m2 3mbit", ""],
            ];
            let mut made = curved(name, "fifo", *curves.choose(random).expect("some"));
            made.spec = node(name, spec).spec;
            made
        }
        _ => node(name, spec),
    };
    match discipline {
        "htb" => made = of_htb(made),
        "hfsc" => made.spec.discipline = AnyDiscipline::Hfsc(hfsc::Config),
        _ => {}
    }
    made.priority = random.random_range(0..3);
    made
}

fn root(discipline: &str) -> Node {
    let mut random = Pcg64::seed_from_u64(0);
    Node {
        priority: 0,
        ..below("", "link", discipline, &mut random)
    }
}

/// A tree of up to four levels with shapers at random nodes. Returns its number of leaves: flow f
/// goes to leaf f.
fn grown(seed: u64) -> (Config, u32) {
    let mut random = Pcg64::seed_from_u64(seed);
    let random = &mut random;
    let kinds: Vec<&str> = SHAPERS.into_iter().chain(SHAPERS).chain(OTHERS).collect();
    let first = *kinds.choose(random).expect("some");
    let mut plan = Config::new(root(first)).expect("a legal root");
    let mut open = vec![("link".to_owned(), first, 1)];
    let (mut nodes, mut leaves) = (0, 0);
    while let Some((parent, above, depth)) = open.pop() {
        let children = if above == "tbf" {
            1
        } else {
            random.random_range(1..=3)
        };
        for _ in 0..children {
            nodes += 1;
            let name = nodes.to_string();
            if depth < 4 && random.random_bool(0.6) {
                let kind = *kinds.choose(random).expect("some");
                let class = below(above, &name, kind, random);
                plan.add_class(&parent, class).expect("a legal class");
                open.push((name, kind, depth + 1));
                continue;
            }
            let spec = *["fifo", "fifo", "fq_codel", "tbf rate 2mbit burst 3000b"]
                .choose(random)
                .expect("some");
            let mut leaf = below(above, &name, "fifo", random);
            leaf.spec = node(&name, spec).spec;
            plan.add_leaf(&parent, leaf).expect("a legal leaf");
            plan.assign(FlowId(leaves), &name).expect("a leaf");
            plan.set_default(&name).expect("a leaf");
            leaves += 1;
        }
    }
    (plan, leaves)
}

/// Packets and bytes are conserved, flows keep their order, all packets leave at last, a tree that
/// gives nothing tells a later time, and the same calls give the same packets.
#[test]
fn random_trees_with_shapers_keep_the_contract() {
    let (mut sent, mut waits) = (0, 0);
    for seed in 0..300 {
        let (plan, _) = grown(seed);
        let mix = Mix::ALL[seed as usize % Mix::ALL.len()];
        let operations = operations(mix, seed, 400);
        let mut runs = Vec::new();
        for _ in 0..2 {
            let tree = plan.build_tree(Seed::new(seed)).expect("a legal tree");
            let mut audited = Audited::new(tree, false);
            for operation in &operations {
                if let Err(violation) = audited.apply(*operation) {
                    panic!("seed {seed}, {mix:?}: {violation:?} in {plan:#?}");
                }
                waits += usize::from(audited.scheduler().ready_at().is_some());
            }
            if let Err(violation) = audited.drain() {
                panic!("seed {seed}, {mix:?}: {violation:?} at the end in {plan:#?}");
            }
            runs.push(audited.events().to_vec());
        }
        sent += runs[0].len();
        assert_eq!(runs[0], runs[1], "seed {seed}");
    }
    assert!(sent > 20_000 && waits > 10_000, "{sent} {waits}");
}

/// A packet: leaf, length, arrival in microseconds.
type Arrival = (u32, u32, u64);

/// Departures on a link of 10 Mbit/s: nanoseconds and numbers. With `probes` the tree is also asked
/// in between, where it must give nothing before the time that it told.
fn departures(plan: &Config, arrivals: &[Arrival], probes: bool) -> Vec<(u64, u32)> {
    let link = "10mbit".parse::<roundelay::Rate>().expect("a rate");
    let mut tree = plan.build_tree::<u32>(Seed::new(1)).expect("a legal tree");
    tree.set_link_rate(link);
    let mut arrivals = (0..).zip(arrivals).peekable();
    let (mut now, mut free_at) = (Instant::ZERO, Instant::ZERO);
    let mut sent = Vec::new();
    let mut empty_calls = 0;
    loop {
        while let Some((number, (leaf, len, _))) =
            arrivals.next_if(|(_, (.., at))| Instant::from_nanos(at * 1000) <= now)
        {
            let packet = Packet {
                arrival: now,
                ..Packet::new(FlowId(*leaf), *len, number)
            };
            tree.enqueue(now, packet).expect("it is taken");
        }
        let mut next = free_at;
        if free_at <= now {
            if let Some(packet) = tree.dequeue(now) {
                sent.push((now.as_picos() / 1000, packet.payload));
                free_at = now + link.time_of(packet.len.into());
                next = free_at;
                empty_calls = 0;
            } else {
                next = Instant::MAX;
                empty_calls += 1;
                assert!(empty_calls < 200, "it tells times at which nothing leaves");
                if let Some(ready) = tree.ready_at() {
                    assert!(ready > now, "it tells {ready:?} at {now:?}");
                    next = ready;
                }
            }
            tree.check_invariants();
        }
        if let Some((_, (.., at))) = arrivals.peek() {
            next = next.min(Instant::from_nanos(at * 1000));
        }
        if next == Instant::MAX {
            assert!(tree.backlog().is_empty(), "packets are stuck: {sent:?}");
            return sent;
        }
        if probes && free_at <= now {
            let middle = now.as_picos() + next.since(now).as_picos() / 2;
            let early = tree.dequeue(Instant::from_picos(middle));
            assert_eq!(early, None, "it gives a packet before {next:?}");
        }
        now = next;
    }
}

/// Nothing leaves before the time that is told, and asking before it changes nothing.
#[test]
fn nothing_leaves_before_the_time_that_is_told() {
    for seed in 0..200 {
        let (plan, leaves) = grown(seed);
        let mut random = Pcg64::seed_from_u64(seed);
        let mut arrivals: Vec<Arrival> = Vec::new();
        let mut at = 0;
        for _ in 0..60 {
            let len = random.random_range(40..1500);
            arrivals.push((random.random_range(0..leaves), len, at));
            if random.random_bool(0.4) {
                at += random.random_range(0..6000);
            }
        }
        let sent = departures(&plan, &arrivals, false);
        assert_eq!(sent, departures(&plan, &arrivals, true), "seed {seed}");
        let mut last = BTreeMap::new();
        for (_, number) in &sent {
            let leaf = arrivals[*number as usize].0;
            let before = last.insert(leaf, *number);
            assert!(before.is_none_or(|before| before < *number), "seed {seed}");
        }
        let has_aqm = plan
            .nodes()
            .any(|node| node.spec.discipline.name() == "fq_codel");
        assert!(has_aqm || sent.len() == arrivals.len(), "seed {seed}");
    }
}

/// All trees of a root, a class and a class or leaves below it, with each sequence of packets over
/// two leaves: nothing gets stuck.
#[test]
fn no_packet_is_stuck_in_any_small_tree() {
    let kinds: Vec<&str> = SHAPERS.into_iter().chain(OTHERS).collect();
    let mut trees = 0;
    for first in &kinds {
        for second in &kinds {
            for third in kinds.iter().map(|kind| Some(*kind)).chain([None]) {
                let mut random = Pcg64::seed_from_u64(trees);
                let plan = small(first, second, third, &mut random);
                trees += 1;
                for pattern in 0..27_u32 {
                    let mut arrivals = Vec::new();
                    let mut left = pattern;
                    for at in 0..6 {
                        let len = [100, 900, 1500][(pattern as usize + at) % 3];
                        arrivals.push((
                            left % 3 % 2,
                            len,
                            at as u64 * u64::from(pattern % 5) * 300,
                        ));
                        left = if at == 2 { pattern + 1 } else { left / 3 };
                    }
                    let sent = departures(&plan, &arrivals, false);
                    assert_eq!(sent.len(), 6, "{first} {second} {third:?} {pattern}");
                }
            }
        }
    }
    assert_eq!(trees, 810);
}

fn small(first: &str, second: &str, third: Option<&str>, random: &mut Pcg64) -> Config {
    let mut plan = Config::new(root(first)).expect("a legal root");
    let class = below(first, "class", second, random);
    plan.add_class("link", class).expect("a legal class");
    let (mut above, mut parent) = (second, "class");
    if let Some(third) = third {
        let inner = below(above, "inner", third, random);
        plan.add_class("class", inner).expect("a legal class");
        (above, parent) = (third, "inner");
    }
    // The second leaf is beside the first, or where there is room for it.
    let places = [(above, parent), (second, "class"), (first, "link")];
    let room = places.iter().skip(usize::from(third.is_none()));
    let second_place = if above == "tbf" {
        room.copied()
            .find(|(above, name)| *above != "tbf" && *name != parent)
    } else {
        Some((above, parent))
    };
    let leaf = below(above, "0", "fifo", random);
    plan.add_leaf(parent, leaf).expect("a legal leaf");
    plan.set_default("0").expect("a leaf");
    if let Some((above, parent)) = second_place {
        let leaf = below(above, "1", "fifo", random);
        plan.add_leaf(parent, leaf).expect("a legal leaf");
        plan.assign(FlowId(1), "1").expect("a leaf");
    }
    plan
}

/// Bytes that each flow sends in `seconds` on a link of 10 Mbit/s, all leaves backlogged, and the
/// most bytes of flow 0 beyond 1 Mbit/s in any interval.
fn shares(plan: &Config, flows: u32, seconds: u64) -> (Vec<u64>, i64) {
    let link = "10mbit".parse::<roundelay::Rate>().expect("a rate");
    let mut tree = plan.build_tree::<()>(Seed::new(1)).expect("a legal tree");
    tree.set_link_rate(link);
    let mut sent = vec![0; flows as usize];
    let mut now = Instant::ZERO;
    for flow in (0..flows).cycle().take(20 * flows as usize) {
        tree.enqueue(now, Packet::new(FlowId(flow), 1000, ()))
            .expect("it is taken");
    }
    let (mut least, mut most) = (0_i64, 0_i64);
    while now < Instant::from_nanos(seconds * 1_000_000_000) {
        let Some(packet) = tree.dequeue(now) else {
            now = tree.ready_at().expect("packets wait");
            continue;
        };
        let flow = packet.flow;
        if flow == FlowId(0) {
            // Bytes sent less those of the rate: the largest rise is what an interval has beyond.
            let of_rate = (now.as_picos() / 8_000_000) as i64;
            least = least.min(sent[0] as i64 - of_rate);
            most = most.max(sent[0] as i64 + 1000 - of_rate - least);
        }
        sent[flow.index()] += u64::from(packet.len);
        tree.enqueue(now, packet).expect("it is taken");
        now += link.time_of(packet.len.into());
    }
    (sent, most)
}

/// A class of 1 Mbit/s below any discipline: it gets its rate and not more, its siblings get the
/// rest of the link.
#[test]
fn the_rate_of_a_class_is_kept_below_any_parent() {
    for shaper in SHAPERS {
        for above in OTHERS.into_iter().chain(SHAPERS) {
            if above == "tbf" {
                continue;
            }
            let mut random = Pcg64::seed_from_u64(3);
            let of = |name: &str, discipline: &str, random: &mut Pcg64| {
                let mut made = below(above, name, discipline, random);
                made.service = match above {
                    "htb" => Service::Htb(htb::Class {
                        quantum: Some(1500),
                        ..htb::Class::new("10mbit".parse().expect("a rate"))
                    }),
                    "hfsc" => curved("", "fifo", ["", "m2 4mbit", ""]).service,
                    _ => Service::Shared,
                };
                made
            };
            let mut plan = Config::new(root(above)).expect("legal");
            let mut class = of("class", shaper, &mut random);
            class.priority = 0;
            if shaper == "tbf" {
                class.spec = node("", "tbf rate 1mbit burst 3000b").spec;
            }
            plan.add_class("link", class).expect("legal");
            let mut leaf = node("0", "fifo");
            leaf.service = match shaper {
                "htb" => rated("", "fifo", "1mbit", "1mbit").service,
                "hfsc" => curved("", "fifo", ["", "m2 1mbit", "m2 1mbit"]).service,
                _ => Service::Shared,
            };
            if above == shaper && shaper != "tbf" {
                // An inner class of the same scheduler.
                leaf.max_packet_len = 1 << 16;
            }
            plan.add_leaf("class", leaf).expect("legal");
            let mut other = of("1", "fifo", &mut random);
            other.priority = 1;
            plan.add_leaf("link", other).expect("legal");
            plan.set_default("0").expect("a leaf");
            plan.assign(FlowId(1), "1").expect("a leaf");
            let (sent, beyond) = shares(&plan, 2, 10);
            // 1,250,000 bytes at the rate.
            assert!(
                (1_230_000..1_255_000).contains(&sent[0]),
                "{shaper} below {above}: {sent:?}"
            );
            assert!(
                beyond <= 5_000,
                "{shaper} below {above}: {beyond} beyond the rate"
            );
            assert!(
                sent[0] + sent[1] > 12_450_000,
                "{shaper} below {above}: {sent:?} of 12,500,000"
            );
        }
    }
}

/// tbf over a class and htb over tbf: what the tbf gets is shared below it, and what it leaves goes
/// to others.
#[test]
fn shapers_stand_in_each_other() {
    let mut plan = Config::new(of_htb(node("link", "drr"))).expect("legal");
    let all = of_htb(rated("all", "drr", "8mbit", "8mbit"));
    plan.add_class("link", all).expect("legal");
    let slow = rated("slow", "tbf rate 2mbit burst 4000b", "4mbit", "8mbit");
    plan.add_class("all", slow).expect("legal");
    plan.add_class("slow", node("shares", "drr"))
        .expect("legal");
    plan.add_leaf("shares", weighted("0", "fifo", 1))
        .expect("legal");
    plan.add_leaf("shares", weighted("1", "fifo", 3))
        .expect("legal");
    let rest = rated("2", "fq_codel", "4mbit", "8mbit");
    plan.add_leaf("all", rest).expect("legal");
    plan.set_default("2").expect("a leaf");
    for leaf in 0..2 {
        plan.assign(FlowId(leaf), &leaf.to_string())
            .expect("a leaf");
    }
    let (sent, _) = shares(&plan, 3, 10);
    let near = |value: u64, wanted: u64| value.abs_diff(wanted) < wanted / 50;
    assert!(
        near(sent[0], 625_000) && near(sent[1], 1_875_000),
        "{sent:?}"
    );
    assert!(near(sent[2], 7_500_000), "{sent:?}");
}

/// A child of a root of priority that gives nothing does not hold up the lower ones, and goes before
/// them as soon as it may.
#[test]
fn lower_priorities_go_on_while_a_shaper_waits() {
    let mut plan = Config::new(node("link", "priority")).expect("legal");
    let shaper = Node {
        priority: 0,
        ..node("fast", "tbf rate 1mbit burst 1000b")
    };
    plan.add_class("link", shaper).expect("legal");
    plan.add_leaf("fast", node("0", "fifo")).expect("legal");
    let low = Node {
        priority: 1,
        ..node("1", "fifo")
    };
    plan.add_leaf("link", low).expect("legal");
    plan.set_default("0").expect("a leaf");
    plan.assign(FlowId(1), "1").expect("a leaf");
    let arrivals: Vec<Arrival> = (0..24).map(|at| (at % 2, 1000, 0)).collect();
    let sent = departures(&plan, &arrivals, true);
    // 1000 bytes are 8 ms at 1 Mbit/s and .8 ms on the link: the bucket lets one of eleven pass.
    let order: Vec<u32> = sent.iter().map(|(_, number)| number % 2).collect();
    assert_eq!(order[..12], [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1]);
    assert_eq!(
        (sent[10].0, sent[14].0),
        (8_000_000, 16_000_000),
        "{sent:?}"
    );
}

#[test]
fn tbf_has_one_child_and_no_limit_as_a_class() {
    let mut plan = Config::new(node("link", "tbf rate 1mbit")).expect("legal");
    plan.add_leaf("link", node("0", "fifo")).expect("legal");
    let parent = "link".to_owned();
    let second = plan
        .add_leaf("link", node("1", "fifo"))
        .expect_err("refused");
    assert_eq!(second.problem, Problem::OneChild { parent });
    assert!(
        second.to_string().contains("tbf, which has one child"),
        "{second}"
    );
    for limited in ["tbf rate 1mbit limit 10kb", "tbf rate 1mbit latency 5ms"] {
        let refused = Config::new(node("link", limited)).expect_err("refused");
        assert_eq!(refused.problem, Problem::LimitOfClass, "{limited}");
    }
    // A packet longer than the bucket never leaves, and is refused at its arrival.
    let mut plan = Config::new(node("link", "drr")).expect("legal");
    plan.add_class("link", node("class", "tbf rate 1mbit burst 900b"))
        .expect("legal");
    plan.add_leaf("class", node("0", "fifo")).expect("legal");
    plan.set_default("0").expect("a leaf");
    let mut tree = plan.build_tree(Seed::new(1)).expect("legal");
    let long = Packet::new(FlowId(0), 901, ());
    assert_eq!(
        tree.enqueue(Instant::ZERO, long)
            .map_err(|refused| refused.packet),
        Err(long)
    );
    assert!(
        tree.enqueue(Instant::ZERO, Packet::new(FlowId(0), 900, ()))
            .is_ok()
    );
    let wider = Node {
        ..node("class", "tbf rate 1mbit burst 2000b")
    };
    tree.set_node(wider).expect("legal");
    assert_eq!(tree.enqueue(Instant::ZERO, long), Ok(()));
}

/// Changes while shapers wait: a higher rate wakes a class, packets of removed nodes come back.
#[test]
fn changes_reach_shapers_that_wait() {
    let mut plan = Config::new(node("link", "drr")).expect("legal");
    plan.add_class("link", node("class", "tbf rate 8kbit burst 1000b"))
        .expect("legal");
    plan.add_class("class", of_htb(node("inner", "drr")))
        .expect("legal");
    for leaf in ["0", "1"] {
        plan.add_leaf("inner", rated(leaf, "fifo", "8mbit", "8mbit"))
            .expect("legal");
    }
    plan.add_leaf("link", node("2", "fifo")).expect("legal");
    plan.set_default("2").expect("a leaf");
    for leaf in 0..2 {
        plan.assign(FlowId(leaf), &leaf.to_string())
            .expect("a leaf");
    }
    let mut tree = plan.build_tree::<u32>(Seed::new(1)).expect("legal");
    for number in 0..8 {
        let packet = Packet::new(FlowId(number % 2), 1000, number);
        tree.enqueue(Instant::ZERO, packet).expect("it is taken");
    }
    assert!(tree.dequeue(Instant::ZERO).is_some());
    assert_eq!(tree.dequeue(Instant::ZERO), None);
    let second = Instant::from_nanos(1_000_000_000);
    assert_eq!(tree.ready_at(), Some(second));
    tree.check_invariants();
    // An eighth of a second for what took a second.
    tree.set_node(node("class", "tbf rate 64kbit burst 1000b"))
        .expect("legal");
    tree.check_invariants();
    let eighth = Instant::from_nanos(125_000_000);
    assert_eq!(tree.ready_at(), Some(eighth));
    assert!(tree.dequeue(eighth).is_some());
    let mut kept = 6;
    while let Some(victim) = tree.evict() {
        kept -= 1;
        tree.check_invariants();
        assert!(victim.flow.0 < 2);
        if kept == 3 {
            break;
        }
    }
    tree.remove("0").expect("it is not the default");
    tree.check_invariants();
    tree.remove("class").expect("it is not the default");
    tree.check_invariants();
    let mut dropped = 0;
    while tree.take_dropped().is_some() {
        dropped += 1;
    }
    assert_eq!((dropped, tree.backlog().packets), (3, 0));
    assert_eq!(tree.ready_at(), None);
}

/// An htb below a root of priority is asked in its turn: what arrives before that counts.
#[test]
fn a_shaper_below_a_root_of_priority_chooses_in_its_turn() {
    for (above, wanted) in [("priority", [0, 1, 3, 2]), ("wf2q_plus", [0, 1, 2, 3])] {
        let mut plan = Config::new(node("link", above)).expect("legal");
        let shaper = of_htb(Node {
            priority: 1,
            ..node("class", "drr")
        });
        plan.add_class("link", shaper).expect("legal");
        let of = |name: &str, prio| {
            let mut made = rated(name, "fifo", "1mbit", "9mbit");
            made.service = Service::Htb(htb::Class {
                prio,
                ..htb::Class::new("1mbit".parse().expect("a rate"))
            });
            made
        };
        plan.add_leaf("class", of("low", 1)).expect("legal");
        plan.add_leaf("class", of("high", 0)).expect("legal");
        plan.add_leaf("link", node("first", "fifo")).expect("legal");
        plan.set_default("first").expect("a leaf");
        plan.assign(FlowId(2), "low").expect("a leaf");
        plan.assign(FlowId(3), "high").expect("a leaf");
        let arrivals = [(0, 1000, 0), (0, 1000, 0), (2, 500, 0), (3, 500, 100)];
        let mut order = Vec::new();
        for (_, number) in departures(&plan, &arrivals, false) {
            order.push(number);
        }
        if above == "wf2q_plus" {
            // The htb has chosen ahead.
            order.retain(|number| *number >= 2);
            assert_eq!(order, [2, 3], "{above}");
        } else {
            assert_eq!(order, wanted, "{above}");
        }
    }
}

/// A root of tbf over priority: while the bucket fills, a packet of higher priority that arrives goes
/// first. Elsewhere a class has chosen one packet ahead.
#[test]
fn a_priority_class_below_a_bucket_decides_when_the_bucket_is_full() {
    for (above, wanted) in [
        ("tbf rate 1mbit burst 1000b", [0, 2, 1]),
        ("priority", [0, 2, 1]),
        ("drr", [0, 1, 2]),
    ] {
        let mut plan = Config::new(node("link", above)).expect("legal");
        let mut parent = "link";
        if !above.starts_with("tbf") {
            let bucket = node("bucket", "tbf rate 1mbit burst 1000b");
            plan.add_class("link", bucket).expect("legal");
            parent = "bucket";
        }
        plan.add_class(parent, node("bands", "priority"))
            .expect("legal");
        for (name, priority) in [("high", 0), ("low", 1)] {
            let leaf = Node {
                priority,
                ..node(name, "fifo")
            };
            plan.add_leaf("bands", leaf).expect("legal");
        }
        plan.set_default("low").expect("a leaf");
        plan.assign(FlowId(1), "high").expect("a leaf");
        // The second waits for 8 ms; the third, shorter one, comes after 3.
        let arrivals = [(0, 1000, 0), (0, 1000, 0), (1, 500, 3000)];
        let sent = departures(&plan, &arrivals, true);
        let order: Vec<u32> = sent.iter().map(|(_, number)| *number).collect();
        assert_eq!(order, wanted, "{above}");
        // 500 bytes are 4 ms.
        let second = if wanted[1] == 2 { 4_000_000 } else { 8_000_000 };
        assert_eq!((sent[1].0, sent[2].0), (second, 12_000_000), "{above}");
    }
}

/// A leaf beside a shaper keeps its bound, and one below another discipline than the root's has none.
#[test]
fn only_leaves_that_the_root_serves_have_bounds_by_curves_and_rates() {
    let link = "10mbit".parse().expect("a rate");
    let mut plan = Config::new(root("hfsc")).expect("legal");
    let curves = ["m2 1mbit", "m2 1mbit", ""];
    let with = |name: &str, spec: &str| {
        let mut made = curved(name, "fifo", curves);
        made.spec = node(name, spec).spec;
        made
    };
    plan.add_leaf("link", with("beside", "fifo"))
        .expect("legal");
    plan.add_class("link", with("bucket", "tbf rate 1mbit burst 3000b"))
        .expect("legal");
    plan.add_leaf("bucket", node("below", "fifo"))
        .expect("legal");
    plan.add_class("link", with("shares", "drr"))
        .expect("legal");
    let mut inner = node("inner", "drr");
    inner.spec.discipline = AnyDiscipline::Hfsc(hfsc::Config);
    plan.add_class("shares", inner).expect("legal");
    plan.add_leaf("inner", with("deep", "fifo")).expect("legal");
    for (leaf, has_service) in [("beside", true), ("below", false), ("deep", false)] {
        let guarantees = plan.leaf_guarantees(leaf, link).expect("a leaf");
        assert_eq!(guarantees.service.is_some(), has_service, "{leaf}");
        assert!(guarantees.b_wfi.is_none(), "{leaf}");
    }
}
