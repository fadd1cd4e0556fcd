//! Trees: H-PFQ's bound on every leaf's service, link sharing, and trees of one level; with
//! schedulers that must fail each test.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::schedulers::{AnyDiscipline, AnyScheduler, Discipline, wf2q_plus};
use roundelay::tree::{Config, Node, StandIn, Tree};
use roundelay::{
    Backlog, ConfigError, FlowConfig, FlowId, Footprint, Instant, Packet, Refused, Scheduler,
};
use roundelay::{Control, Seed};
use roundelay_metrics::Stamp;

use crate::theorems::workload::{Driven, Outcome, RATE, Refill, Source, Workload};

fn node(name: &str, spec: &str, weight: u32, max_packet_len: u32) -> Node {
    Node {
        weight,
        max_packet_len,
        ..Node::new(name, spec.parse().expect("a legal spec"))
    }
}

/// A tree with the flows of a workload as leaves; the workload's weights are the leaves' shares of
/// the link.
struct Planned {
    plan: Config,
    workload: Workload,
}

/// Draws a tree over flows.
struct Growth<'a> {
    plan: Config,
    class: &'a str,
    workload: &'a Workload,
    /// Each flow's share of the link, as a fraction.
    shares: Vec<(u64, u64)>,
    classes: u32,
}

impl Planned {
    /// A random tree of up to `levels` levels.
    fn random(workload: Workload, class: &str, levels: usize, random: &mut Pcg64) -> Self {
        loop {
            let plan = Config::new(node("root", class, 1, FlowConfig::MAX_PACKET_LEN)).unwrap();
            let shares = vec![(1, 1); workload.sources.len()];
            let mut growth = Growth {
                plan,
                class,
                workload: &workload,
                shares,
                classes: 0,
            };
            growth.grow(
                "root",
                &(0..workload.sources.len()).collect::<Vec<_>>(),
                levels,
                (1, 1),
                random,
            );
            let Growth {
                mut plan, shares, ..
            } = growth;
            plan.set_default("leaf 0").unwrap();
            if let Some(planned) = Self::of(plan, workload.clone(), &shares) {
                return planned;
            }
        }
    }

    /// None if the shares have no small enough common denominator.
    fn of(plan: Config, mut workload: Workload, shares: &[(u64, u64)]) -> Option<Self> {
        let whole = shares.iter().try_fold(1u64, |whole, (_, of)| {
            Some(whole / gcd(whole, *of) * of).filter(|whole| *whole <= 1 << 24)
        })?;
        for (source, (part, of)) in workload.sources.iter_mut().zip(shares) {
            source.config.weight = u32::try_from(whole / of * part).expect("a part of the whole");
        }
        assert_eq!(workload.total_weight(), whole, "the leaves share the link");
        Some(Self { plan, workload })
    }

    fn run(&self) -> Outcome {
        self.workload
            .driven(self.plan.build_tree::<Stamp>(Seed::new(1)).unwrap())
    }

    /// With other schedulers in the classes.
    fn run_with<I: Scheduler<StandIn>>(&self, class: impl Fn() -> I) -> Outcome {
        let leaf = |node: &Node, seed| node.spec.discipline.build::<Stamp>(seed);
        self.workload.driven(
            Tree::<Stamp, AnyScheduler<Stamp>, I>::with(&self.plan, Seed::new(1), leaf, |_, _| {
                Ok(class())
            })
            .unwrap(),
        )
    }

    /// Largest measured indices of all leaves over the bounds of the plan.
    fn worst(&self, outcome: &Outcome) -> (f64, f64) {
        let rate = roundelay::Rate::from_bits_per_second(RATE).unwrap();
        let quotients = (0..self.workload.sources.len()).map(|flow| {
            let promised = self
                .plan
                .leaf_guarantees(&format!("leaf {flow}"), rate)
                .unwrap();
            let (bits, time) = (
                promised.b_wfi.expect("proven").value,
                promised.t_wfi.expect("proven").value,
            );
            (
                outcome.b_wfi_by_bit[flow] / bits as f64,
                outcome.t_wfi[flow] / time.as_secs_f64(),
            )
        });
        quotients.fold((0.0, 0.0), |(bits, time): (f64, f64), (b, t)| {
            (bits.max(b), time.max(t))
        })
    }
}

impl Growth<'_> {
    fn grow(
        &mut self,
        parent: &str,
        flows: &[usize],
        levels: usize,
        share: (u64, u64),
        random: &mut Pcg64,
    ) {
        let mut groups: Vec<Vec<usize>> =
            vec![Vec::new(); random.random_range(1..=flows.len().min(4))];
        let count = groups.len();
        flows
            .iter()
            .enumerate()
            .for_each(|(index, flow)| groups[index % count].push(*flow));
        if levels == 1 {
            groups = flows.iter().map(|flow| vec![*flow]).collect();
        }
        let weights: Vec<u32> = groups
            .iter()
            .map(|_| [1, 1, 2, 3, 8][random.random_range(0..5)])
            .collect();
        let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        for (group, weight) in groups.iter().zip(weights) {
            let share = (share.0 * u64::from(weight), share.1 * total);
            let longest = group
                .iter()
                .map(|flow| self.workload.sources[*flow].config.max_packet_len)
                .max()
                .expect("some flow");
            if levels == 1 || (group.len() == 1 && random.random_bool(0.5)) {
                self.leaf(parent, group[0], weight, share);
            } else {
                self.classes += 1;
                let name = format!("class {}", self.classes);
                self.plan
                    .add_class(parent, node(&name, self.class, weight, longest))
                    .unwrap();
                self.grow(&name, group, levels - 1, share, random);
            }
        }
    }

    fn leaf(&mut self, parent: &str, flow: usize, weight: u32, share: (u64, u64)) {
        let name = format!("leaf {flow}");
        let longest = self.workload.sources[flow].config.max_packet_len;
        self.plan
            .add_leaf(parent, node(&name, "fifo", weight, longest))
            .unwrap();
        self.plan.assign(FlowId(flow as u32), &name).unwrap();
        let common = gcd(share.0, share.1);
        self.shares[flow] = (share.0 / common, share.1 / common);
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Children take turns, a packet each, whatever their weights.
#[derive(Default)]
struct Turns {
    queue: VecDeque<Packet<StandIn>>,
}

impl Scheduler<StandIn> for Turns {
    fn enqueue(&mut self, _now: Instant, packet: Packet<StandIn>) -> Result<(), Refused<StandIn>> {
        self.queue.push_back(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<StandIn>> {
        self.queue.pop_front()
    }

    fn evict(&mut self) -> Option<Packet<StandIn>> {
        self.queue.pop_back()
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<Packet<StandIn>> {
        let newest = self.queue.iter().rposition(|packet| packet.flow == flow)?;
        self.queue.remove(newest)
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.queue.len() as u64,
            bytes: self.queue.iter().map(|packet| u64::from(packet.len)).sum(),
        }
    }
}

impl Control for Turns {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

/// WF2Q+ that does not hold the place of a child with a chosen packet: the child looks idle until
/// the packet has left.
#[derive(Default)]
struct Forgetful {
    scheduler: wf2q_plus::Wf2qPlus<StandIn>,
    places: Vec<Packet<StandIn>>,
}

impl Scheduler<StandIn> for Forgetful {
    fn enqueue(&mut self, now: Instant, packet: Packet<StandIn>) -> Result<(), Refused<StandIn>> {
        self.scheduler.enqueue(now, packet)
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<StandIn>> {
        self.dequeue_refilled(now, &mut |_| None)
    }

    fn dequeue_refilled(
        &mut self,
        now: Instant,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<StandIn>>,
    ) -> Option<Packet<StandIn>> {
        if let Some(place) = self.places.pop() {
            refill(place.flow);
            return Some(place);
        }
        let places = &mut self.places;
        self.scheduler.dequeue_refilled(now, &mut |flow| {
            let next = refill(flow)?;
            if next.payload == StandIn::Head {
                return Some(next);
            }
            places.push(next);
            None
        })
    }

    fn evict(&mut self) -> Option<Packet<StandIn>> {
        self.scheduler.evict()
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<Packet<StandIn>> {
        let place = self.places.iter().position(|place| place.flow == flow);
        self.scheduler
            .evict_flow(flow)
            .or_else(|| place.map(|place| self.places.remove(place)))
    }

    fn backlog(&self) -> Backlog {
        let Backlog { packets, bytes } = self.scheduler.backlog();
        Backlog {
            packets: packets + self.places.len() as u64,
            bytes,
        }
    }
}

impl Control for Forgetful {
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        self.scheduler.set_flow(flow, config)
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

/// A chain of classes under a root shared with a rival. The last class has an always backlogged
/// light leaf and a heavy leaf with just one packet waiting as its last one leaves.
fn one_waiting(levels: usize, len: u32) -> Planned {
    let kept = |weight, len, low, packets| {
        let refill = Refill {
            low,
            burst: 1,
            after: 0,
            packets,
        };
        Source {
            refill: Some(refill),
            ..Source::burst(weight, len, low as usize + 1)
        }
    };
    let sources = vec![
        kept(1, len, 1, 300),
        kept(1, 1500, 2, 300),
        kept(1, 1500, 2, 300),
    ];
    let mut plan = Config::new(node("0", "wf2q_plus", 1, 1500)).unwrap();
    for level in 1..levels {
        plan.add_class(
            &(level - 1).to_string(),
            node(&level.to_string(), "wf2q_plus", 4, 1500),
        )
        .unwrap();
    }
    let last = (levels - 1).to_string();
    plan.add_leaf(&last, node("leaf 0", "fifo", 15, len.max(512)))
        .unwrap();
    plan.add_leaf(&last, node("leaf 1", "fifo", 1, 1500))
        .unwrap();
    plan.add_leaf("0", node("leaf 2", "fifo", 1, 1500)).unwrap();
    (0..3).for_each(|flow| plan.assign(FlowId(flow), &format!("leaf {flow}")).unwrap());
    plan.set_default("leaf 2").unwrap();
    let shares = if levels == 1 {
        [(15, 17), (1, 17), (1, 17)]
    } else {
        [(3, 4), (1, 20), (1, 5)]
    };
    Planned::of(
        plan,
        Workload {
            name: "one_waiting",
            seed: 0,
            sources,
        },
        &shares,
    )
    .expect("small shares")
}

/// A leaf with half of its class, which has half of the link, sends ahead while alone; then all
/// others arrive, in its class and beside the class, with packets of the maximum length.
fn made_to_wait() -> Planned {
    let mut ahead = Source::burst(1, 1500, 2);
    ahead.refill = Some(Refill {
        low: 1,
        burst: 1,
        after: 0,
        packets: 120,
    });
    let late = |number: u64| Source {
        arrivals: vec![1 + number % 3; 4],
        ..Source::burst(1, 1500, 0)
    };
    let sources: Vec<_> = std::iter::once(ahead).chain((0..24).map(late)).collect();
    let mut plan = Config::new(node("root", "wf2q_plus", 1, 1500)).unwrap();
    plan.add_class("root", node("class", "wf2q_plus", 12, 1500))
        .unwrap();
    let mut shares = Vec::new();
    for flow in 0..25u32 {
        let (parent, weight) = if flow <= 12 {
            ("class", if flow == 0 { 12 } else { 1 })
        } else {
            ("root", 1)
        };
        plan.add_leaf(parent, node(&format!("leaf {flow}"), "fifo", weight, 1500))
            .unwrap();
        plan.assign(FlowId(flow), &format!("leaf {flow}")).unwrap();
        shares.push(if flow <= 12 {
            (u64::from(weight), 48)
        } else {
            (1, 24)
        });
    }
    plan.set_default("leaf 0").unwrap();
    Planned::of(
        plan,
        Workload {
            name: "made_to_wait",
            seed: 0,
            sources,
        },
        &shares,
    )
    .expect("small shares")
}

fn random_trees(class: &str, seeds: u64) -> impl Iterator<Item = Planned> {
    (0..seeds).map(move |seed| {
        let mut random = Pcg64::seed_from_u64(seed);
        let levels = [2, 2, 3, 3, 4, 8][random.random_range(0..6)];
        Planned::random(Workload::random(seed), class, levels, &mut random)
    })
}

/// Disciplines that can be classes and promise a B-WFI.
fn promising_classes() -> Vec<String> {
    let able = AnyDiscipline::all()
        .into_iter()
        .map(|discipline| discipline.info())
        .filter(|info| info.interior);
    let promises = |class: &String| {
        let mut plan = Config::new(node("root", class, 1, 1500)).unwrap();
        plan.add_leaf("root", node("leaf", "fifo", 1, 1500))
            .unwrap();
        plan.leaf_guarantees("leaf", "1mbit".parse().unwrap())
            .unwrap()
            .b_wfi
            .is_some()
    };
    able.map(|info| info.name.to_owned())
        .filter(promises)
        .collect()
}

#[test]
fn b_wfi_stays_within_the_bound() {
    let (mut own, mut turns, mut forgetful) = (0.0f64, 0.0f64, 0.0f64);
    let adversarial = [
        one_waiting(1, 1500),
        one_waiting(2, 64),
        one_waiting(3, 1500),
        one_waiting(8, 700),
        made_to_wait(),
    ];
    let mut tried = 0.0f64;
    for planned in adversarial
        .into_iter()
        .chain(random_trees("wf2q_plus", 400))
    {
        let (name, seed) = (planned.workload.name, planned.workload.seed);
        let (bits, _) = planned.worst(&planned.run());
        assert!(
            bits <= 1.0,
            "{name}, seed {seed}: {bits} of the bound in {:?}",
            planned.plan
        );
        own = own.max(bits);
        turns = turns.max(planned.worst(&planned.run_with(Turns::default)).0);
        if name == "one_waiting" {
            forgetful = forgetful.max(planned.worst(&planned.run_with(Forgetful::default)).0);
        }
        if name == "made_to_wait" {
            tried = bits;
        }
    }
    println!(
        "b_wfi / bound: H-WF2Q+ {own:.3} (made to wait {tried:.3}), classes that take turns {turns:.2}, without places {forgetful:.2}"
    );
    assert!(tried > 0.3, "the bound is hardly tried: {tried}");
    assert!(turns > 1.0 && forgetful > 1.0, "others must break it");
}

/// Each class with the bound of its own discipline.
#[test]
fn b_wfi_of_other_classes_stays_within_their_bounds() {
    for class in promising_classes() {
        let worst = random_trees(&class, 100)
            .map(|planned| planned.worst(&planned.run()).0)
            .fold(0.0, f64::max);
        println!("b_wfi / bound in trees of {class}: {worst:.3}");
        assert!(worst <= 1.0, "{class}: {worst}");
    }
}

/// DRR in the classes breaks the bound of WF2Q+.
#[test]
fn b_wfi_of_wf2q_plus_is_broken_by_drr_in_a_class() {
    let Some(_) = promising_classes().iter().find(|class| *class == "drr") else {
        return;
    };
    let drr = || {
        AnyDiscipline::named("drr")
            .and_then(|drr| drr.build::<StandIn>(Seed::new(1)))
            .unwrap()
    };
    let worst = random_trees("wf2q_plus", 200)
        .map(|planned| planned.worst(&planned.run_with(drr)).0)
        .fold(0.0, f64::max);
    println!("b_wfi / bound of H-WF2Q+ with drr in the classes: {worst:.2}");
    assert!(worst > 1.0, "{worst}");
}

#[test]
fn t_wfi_stays_within_the_bound() {
    let (mut own, mut turns) = (0.0f64, 0.0f64);
    for planned in [one_waiting(3, 64), made_to_wait()]
        .into_iter()
        .chain(random_trees("wf2q_plus", 400))
    {
        let (name, seed) = (planned.workload.name, planned.workload.seed);
        let (_, time) = planned.worst(&planned.run());
        assert!(
            time <= 1.0,
            "{name}, seed {seed}: {time} of the bound in {:?}",
            planned.plan
        );
        own = own.max(time);
        turns = turns.max(planned.worst(&planned.run_with(Turns::default)).1);
    }
    println!("t_wfi / bound: H-WF2Q+ {own:.3}, classes that take turns {turns:.2}");
    assert!(own > 0.2, "the bound is hardly tried: {own}");
    assert!(turns > 1.0, "others must break it");
}

/// One level has no class below the root, so nothing is chosen ahead: each packet leaves in the
/// order of the discipline alone.
#[test]
fn one_level_of_wf2q_plus_is_wf2q_plus() {
    let mut packets = 0;
    for seed in 0..400 {
        let workload = Workload::random(seed);
        let mut plan = Config::new(node("root", "wf2q_plus", 1, 1500)).unwrap();
        for (flow, source) in workload.sources.iter().enumerate() {
            let name = format!("leaf {flow}");
            plan.add_leaf(
                "root",
                Node {
                    weight: source.config.weight,
                    ..node(&name, "fifo", 1, source.config.max_packet_len)
                },
            )
            .unwrap();
            plan.assign(FlowId(flow as u32), &name).unwrap();
        }
        plan.set_default("leaf 0").unwrap();
        let order = workload
            .driven(plan.build_tree(Seed::new(1)).unwrap())
            .order;
        assert_eq!(
            order,
            workload.outcome(&wf2q_plus::Config).order,
            "seed {seed}"
        );
        packets += order.len();
    }
    assert!(packets > 20_000, "{packets}");
}

/// Bytes served of each flow while the flows in `active` are always backlogged, out of `packets`
/// packets of 1000 bytes.
fn served<S: Scheduler<()>>(
    scheduler: &mut S,
    flows: u32,
    active: &[u32],
    packets: u32,
) -> Vec<u64> {
    let mut served = vec![0; flows as usize];
    let send = |scheduler: &mut S, flow| {
        scheduler
            .enqueue(Instant::ZERO, Packet::new(FlowId(flow), 1000, ()))
            .unwrap()
    };
    active
        .iter()
        .for_each(|flow| (0..3).for_each(|_| send(scheduler, *flow)));
    for _ in 0..packets {
        let packet = scheduler.dequeue(Instant::ZERO).expect("backlogged");
        served[packet.flow.index()] += 1;
        send(scheduler, packet.flow.0);
    }
    while scheduler.dequeue(Instant::ZERO).is_some() {}
    served
}

/// Three classes: A (5 of 8) with leaves 0 and 1 (3:1) and a class with leaves 2 and 3 (1:1) of
/// weight 4, B (2 of 8) with leaf 4, C (1 of 8) with leaf 5. Shares in 128ths.
fn shared(class: &str) -> (Config, [u64; 6]) {
    let mut plan = Config::new(node("link", class, 1, 1500)).unwrap();
    let mut add = |parent, name, weight, is_class| {
        let made = node(name, if is_class { class } else { "fifo" }, weight, 1500);
        if is_class {
            plan.add_class(parent, made)
        } else {
            plan.add_leaf(parent, made)
        }
        .unwrap();
    };
    for (parent, name, weight, is_class) in [
        ("link", "A", 5, true),
        ("A", "0", 3, false),
        ("A", "1", 1, false),
        ("A", "AA", 4, true),
        ("AA", "2", 1, false),
        ("AA", "3", 1, false),
        ("link", "B", 2, true),
        ("B", "4", 1, false),
        ("link", "C", 1, true),
        ("C", "5", 7, false),
    ] {
        add(parent, name, weight, is_class);
    }
    (0..6).for_each(|flow| plan.assign(FlowId(flow), &flow.to_string()).unwrap());
    plan.set_default("5").unwrap();
    (plan, [30, 10, 20, 20, 32, 16])
}

/// Whether each flow got its part of 12800 packets, to within `slack` packets.
fn is_shared(served: &[u64], parts: &[u64], slack: u64) -> bool {
    let whole: u64 = parts.iter().sum();
    served
        .iter()
        .zip(parts)
        .all(|(got, part)| got.abs_diff(part * 12_800 / whole) <= slack)
}

#[test]
fn shares_at_every_level_follow_the_weights() {
    for class in promising_classes() {
        let (plan, parts) = shared(&class);
        let mut tree = plan.build_tree(Seed::new(1)).unwrap();
        let all = served(&mut tree, 6, &[0, 1, 2, 3, 4, 5], 12_800);
        assert!(is_shared(&all, &parts, 24), "{class}: {all:?}");
    }
    let (plan, parts) = shared("wf2q_plus");
    let leaf = |node: &Node, seed| node.spec.discipline.build::<()>(seed);
    let mut turns = Tree::<(), AnyScheduler<()>, Turns>::with(&plan, Seed::new(1), leaf, |_, _| {
        Ok(Turns::default())
    })
    .unwrap();
    let all = served(&mut turns, 6, &[0, 1, 2, 3, 4, 5], 12_800);
    assert!(
        !is_shared(&all, &parts, 24),
        "classes that take turns must not: {all:?}"
    );
}

/// Link sharing: when leaf 2 rests leaf 3 has all of AA, when all but leaf 0 rest it has all of A,
/// and when B rests A and C share; a flat WF2Q+ with the same shares gives every flow a part of the
/// unused share.
#[test]
fn what_a_class_leaves_goes_to_its_siblings() {
    // The required parts, and the sending flows.
    let cases = [
        ([30, 10, 0, 40, 32, 16], vec![0, 1, 3, 4, 5]),
        ([80, 0, 0, 0, 32, 16], vec![0, 4, 5]),
        ([0, 1, 0, 4, 0, 1], vec![1, 3, 5]),
    ];
    let (plan, shares) = shared("wf2q_plus");
    let flat = || {
        let mut flat = wf2q_plus::Config.build::<()>(Seed::new(1)).unwrap();
        for (flow, share) in (0..).zip(shares) {
            flat.set_flow(
                FlowId(flow),
                FlowConfig {
                    weight: share as u32,
                    ..FlowConfig::DEFAULT
                },
            )
            .unwrap();
        }
        flat
    };
    for (parts, active) in cases {
        for class in promising_classes() {
            let got = served(
                &mut shared(&class).0.build_tree(Seed::new(1)).unwrap(),
                6,
                &active,
                12_800,
            );
            assert!(is_shared(&got, &parts, 24), "{class}, {active:?}: {got:?}");
        }
        let got = served(
            &mut plan.build_tree(Seed::new(1)).unwrap(),
            6,
            &active,
            12_800,
        );
        assert!(is_shared(&got, &parts, 8), "{active:?}: {got:?}");
        let got = served(&mut flat(), 6, &active, 12_800);
        assert!(
            !is_shared(&got, &parts, 24),
            "flat, {active:?}: {got:?} must not follow {parts:?}"
        );
    }
}
