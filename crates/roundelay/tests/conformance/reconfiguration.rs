//! Reconfiguration: changes of parameters while packets wait, and parameters fixed at run time.

use std::collections::BTreeMap;

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use roundelay::author::{Kind, Parameter};
use roundelay::schedulers::{AnyDiscipline, AnyScheduler, Discipline, Visitor};
use roundelay::tree::{Config, Node, Service, Tree};
use roundelay::{Buffer, ConfigError, DropReason, FlowId, Instant, Limit, Packet, Scheduler};
use roundelay::{Control, QueueSpec, Rate, Seed};
use roundelay_conformance::{Audited, Event, Mix, Operation, operations, subjects};

use crate::tree::plans::{node, of_htb, rated};

const LENGTH: usize = 600;

/// Calls before and after the change.
fn phases() -> [Vec<Operation>; 2] {
    [
        operations(Mix::FewFlows, 11, LENGTH),
        operations(Mix::FewFlows, 12, LENGTH),
    ]
}

/// Events of the calls, with a change of the scheduler to `config` in the middle; None: no change.
fn events<D: Discipline>(
    discipline: &D,
    config: Option<&D>,
) -> (Vec<Event>, Result<(), ConfigError>) {
    let [before, after] = phases();
    let mut audited = Audited::new(
        discipline.build(Seed::new(5)).expect("legal parameters"),
        D::REORDERS,
    );
    before
        .iter()
        .for_each(|operation| audited.apply(*operation).expect("the contract is kept"));
    let outcome = config.map_or(Ok(()), |config| config.reconfigure(audited.scheduler_mut()));
    audited.scheduler().check_invariants();
    audited
        .run(&after)
        .unwrap_or_else(|violation| panic!("{}: {violation:?} after a change", D::NAME));
    (audited.events().to_vec(), outcome)
}

fn try_parameter<D: Discipline>(discipline: &D, parameter: &Parameter<D>, value: u64) {
    let mut config = discipline.clone();
    parameter.write(&mut config, value);
    let (unchanged, _) = events(discipline, None);
    let (events, outcome) = events(discipline, Some(&config));
    let differs = parameter.read(&config) != parameter.read(discipline);
    let is_live = D::LIVE.contains(&parameter.name);
    if config.check().is_err() {
        assert!(
            outcome.is_err(),
            "{} {} {value}: illegal, and taken",
            D::NAME,
            parameter.name
        );
    } else if differs && !is_live {
        assert_eq!(
            outcome,
            Err(ConfigError::Fixed {
                discipline: D::NAME,
                parameter: parameter.name
            })
        );
    } else {
        return assert_eq!(outcome, Ok(()), "{} {} {value}", D::NAME, parameter.name);
    }
    assert_eq!(
        events,
        unchanged,
        "{} {} {value}: a change that failed left something behind",
        D::NAME,
        parameter.name
    );
}

struct TryAll;

impl Visitor for TryAll {
    type Output = ();

    fn visit<D: Discipline>(self, discipline: &D) {
        for name in D::LIVE {
            assert!(
                D::PARAMETERS
                    .iter()
                    .any(|parameter| parameter.name == *name),
                "{}: {name} is no parameter",
                D::NAME
            );
        }
        let mut scheduler = discipline
            .build::<u64>(Seed::new(1))
            .expect("legal parameters");
        let kept = D::configuration(&mut scheduler).map(|config| format!("{config:?}"));
        assert_eq!(
            kept.is_none(),
            D::PARAMETERS.is_empty(),
            "{}: a scheduler knows its parameters",
            D::NAME
        );
        for parameter in D::PARAMETERS {
            // Also values just beyond the range, which every discipline must refuse.
            let beyond = parameter
                .max
                .checked_add(1)
                .into_iter()
                .chain(parameter.min.checked_sub(1));
            let legal = [parameter.min, parameter.max, parameter.read(discipline)];
            legal
                .into_iter()
                .chain(beyond)
                .for_each(|value| try_parameter(discipline, parameter, value));
        }
    }
}

#[test]
fn parameters_change_while_packets_wait_or_say_that_they_cannot() {
    for discipline in AnyDiscipline::all() {
        discipline.visit(TryAll);
    }
}

#[test]
fn a_change_is_seen_in_what_follows() {
    let parse = |text: &str| {
        text.parse::<roundelay::QueueSpec>()
            .expect("legal")
            .discipline
    };
    let mut scheduler: AnyScheduler<u64> = parse("drr quantum 100b")
        .build(Seed::new(1))
        .expect("legal");
    for flow in [0, 0, 0, 0, 0, 0, 1, 1, 1, 1] {
        scheduler
            .enqueue(Instant::ZERO, Packet::new(FlowId(flow), 100, 0))
            .expect("room");
    }
    let mut next = || scheduler.dequeue(Instant::ZERO).map(|packet| packet.flow.0);
    assert_eq!([next(), next()], [Some(0), Some(1)]);
    parse("drr quantum 300b")
        .reconfigure(&mut scheduler)
        .expect("live");
    let rest: Vec<_> = std::iter::from_fn(|| scheduler.dequeue(Instant::ZERO))
        .map(|packet| packet.flow.0)
        .collect();
    assert_eq!(
        rest,
        [0, 0, 0, 1, 1, 1, 0, 0],
        "three packets a turn, from the next turn of each on"
    );
    assert_eq!(
        parse("fifo").reconfigure(&mut scheduler),
        Err(ConfigError::OtherDiscipline { discipline: "fifo" })
    );
}

/// Known bugs 29, 39 and 40: limits that shrink below what waits, to one packet and to none.
#[test]
fn known_bug_40_a_limit_that_shrinks_drops_and_counts_the_surplus() {
    for discipline in subjects() {
        for limit in [
            Limit::of_packets(7),
            Limit::of_packets(1),
            Limit::of_packets(0),
            Limit::of_bytes(900),
            Limit::of_bytes(0),
        ] {
            let scheduler: AnyScheduler<u64> =
                discipline.build(Seed::new(3)).expect("legal parameters");
            let mut buffer = Buffer::new(Limit::UNBOUNDED, scheduler);
            let (mut offered, mut gone) = (0u64, 0u64);
            for number in 0..40u32 {
                offered += 1;
                let packet = Packet::new(FlowId(number % 5), 100 + number, u64::from(number));
                buffer.enqueue(Instant::from_nanos(number.into()), packet, |_, _| gone += 1);
            }
            buffer.set_limit(limit, |_, reason| {
                assert!(
                    matches!(reason, DropReason::PushedOut | DropReason::Early),
                    "{discipline}: {reason:?}"
                );
                gone += 1;
            });
            let backlog = buffer.scheduler().backlog();
            assert!(
                backlog.packets <= limit.packets && backlog.bytes <= limit.bytes,
                "{discipline}: {backlog:?} beyond {limit}"
            );
            assert_eq!(
                backlog.packets + gone,
                offered,
                "{discipline}: each packet waits or was counted"
            );
        }
    }
}

/// Two schedulers with the same calls; one of the two gets all flow settings again before each
/// call.
fn say_again(discipline: &AnyDiscipline) {
    for seed in 0..4 {
        let build =
            || -> AnyScheduler<u64> { discipline.build(Seed::new(5)).expect("legal parameters") };
        let [mut once, mut often] =
            [build(), build()].map(|scheduler| Audited::new(scheduler, discipline.info().reorders));
        let mut settings = BTreeMap::new();
        for operation in operations(Mix::FewFlows, seed, LENGTH) {
            match operation {
                Operation::SetFlow { flow, config } => _ = settings.insert(flow, config),
                Operation::RemoveFlow { flow } => _ = settings.remove(&flow),
                _ => {}
            }
            for (flow, config) in &settings {
                often
                    .scheduler_mut()
                    .set_flow(FlowId(*flow), *config)
                    .expect("as before");
            }
            for audited in [&mut once, &mut often] {
                audited
                    .apply(operation)
                    .unwrap_or_else(|violation| panic!("{discipline}: {violation:?}"));
            }
        }
        assert_eq!(
            once.events(),
            often.events(),
            "{discipline}, seed {seed}: a setting said again is no change"
        );
    }
}

/// Setting a flow again to its present values costs the flow nothing.
#[test]
fn a_setting_that_is_said_again_changes_nothing() {
    for discipline in AnyDiscipline::all() {
        say_again(&discipline);
    }
}

/// A legal value of a parameter: an end of its range, one near there, the present one, or any.
fn value<D: Discipline>(random: &mut Pcg64, parameter: &Parameter<D>, config: &D) -> u64 {
    let (min, max) = (parameter.min, parameter.max);
    match random.random_range(0..6) {
        0 => min,
        1 => max,
        2 => parameter.read(config),
        3 => min.saturating_add(random.random_range(0..4)).min(max),
        4 => random.random_range(min..=max),
        // Of any size.
        _ => (min.saturating_add(1 << random.random_range(0..60))).min(max),
    }
}

/// Live parameters change between any two calls. Invariants hold after each call and each change.
struct ChangeAtAnyTime {
    seed: u64,
    mix: Mix,
}

impl Visitor for ChangeAtAnyTime {
    type Output = usize;

    fn visit<D: Discipline>(self, discipline: &D) -> usize {
        let live: Vec<_> = D::PARAMETERS
            .iter()
            .filter(|parameter| D::LIVE.contains(&parameter.name))
            .collect();
        if live.is_empty() {
            return 0;
        }
        let mut random = Pcg64::seed_from_u64(self.seed);
        let scheduler = discipline.build(Seed::new(5)).expect("legal parameters");
        let mut audited = Audited::new(scheduler, D::REORDERS);
        let mut present = discipline.clone();
        let mut changes = 0;
        let calls = operations(self.mix, self.seed, LENGTH);
        for (number, call) in calls.into_iter().enumerate() {
            let place = || {
                format!(
                    "{}, {:?}, seed {}, call {number}",
                    D::NAME,
                    self.mix,
                    self.seed
                )
            };
            if random.random_bool(0.3) {
                let mut config = present.clone();
                // Several at once, because an invariant may be about two.
                for parameter in &live {
                    if random.random_bool(0.5) {
                        let value = value(&mut random, parameter, &present);
                        parameter.write(&mut config, value);
                    }
                }
                if config.check().is_ok() {
                    let outcome = config.reconfigure(audited.scheduler_mut());
                    assert_eq!(outcome, Ok(()), "{}: {config:?}", place());
                    present = config;
                    changes += 1;
                }
                audited.scheduler().check_invariants();
            }
            let outcome = audited.apply(call);
            assert_eq!(outcome, Ok(()), "{}: {present:?}", place());
            audited.scheduler().check_invariants();
        }
        let outcome = audited.drain();
        assert_eq!(outcome, Ok(()), "{}: {present:?}", D::NAME);
        changes
    }
}

/// Every discipline, and some with other settings.
fn all_and_others() -> Vec<AnyDiscipline> {
    let mut disciplines = AnyDiscipline::all();
    let others = [
        "fq linux 6.1",
        "fq maxrate 1mbit",
        "fq_codel linux",
        "fq_pie linux",
        "pie linux",
        "codel linux",
        "sfq linux",
        "cake linux",
        "choke linux",
        "qfq_plus linux",
        "red adaptive",
        "tbf rate 1mbit burst 4000b peakrate 2mbit mtu 2000b",
    ];
    for text in others {
        let spec: roundelay::QueueSpec = text.parse().expect(text);
        disciplines.push(spec.discipline);
    }
    disciplines
}

/// What a discipline remembers to undo the last arrival (`fq`, `fq_pie`) was remembered under other
/// parameters.
#[test]
fn live_parameters_change_between_any_two_calls() {
    for discipline in all_and_others() {
        for mix in Mix::ALL {
            for seed in 0..4 {
                discipline.visit(ChangeAtAnyTime { seed, mix });
            }
        }
    }
}

/// Other values of some live parameters, as words behind the discipline's name, if they are legal.
struct OtherSettings<'a>(&'a mut Pcg64);

impl Visitor for OtherSettings<'_> {
    type Output = Option<String>;

    fn visit<D: Discipline>(self, discipline: &D) -> Option<String> {
        let mut config = discipline.clone();
        for parameter in D::PARAMETERS {
            if D::LIVE.contains(&parameter.name) && self.0.random_bool(0.5) {
                let value = value(self.0, parameter, discipline);
                parameter.write(&mut config, value);
            }
        }
        config.check().ok()?;
        let mut words = D::NAME.to_owned();
        for parameter in D::PARAMETERS {
            let value = parameter.read(&config);
            words += &match parameter.kind {
                Kind::Switch if value == 0 => format!(" no{}", parameter.name),
                Kind::Switch => format!(" {}", parameter.name),
                kind => format!(" {} {}", parameter.name, kind.show(value)),
            };
        }
        Some(words)
    }
}

/// A node of a tree with other settings, all of them legal: those of its discipline, and its own.
fn other_node(node: &Node, is_leaf: bool, random: &mut Pcg64) -> Node {
    let mut node = node.clone();
    let words = node.spec.discipline.visit(OtherSettings(random));
    let spec = words.and_then(|words| words.parse::<QueueSpec>().ok());
    if let Some(spec) = spec {
        node.spec.discipline = spec.discipline;
    }
    node.priority = random.random_range(0..3);
    if is_leaf && random.random_bool(0.3) {
        node.spec.limit = Some(Limit::of_packets(random.random_range(0..20)));
    }
    match &mut node.service {
        Service::Htb(class) => {
            let rate = random.random_range(1_000_000..1_000_000_000);
            class.rate = Rate::from_bits_per_second(rate).expect("not 0");
            class.ceil = Some(class.rate);
            node.priority = 0;
        }
        Service::Shared => node.weight = random.random_range(1..10),
        _ => node.priority = 0,
    }
    node
}

/// A leaf of this discipline and one beside it, below a class below the root.
fn family(class: &str, leaf: &AnyDiscipline) -> Config {
    let (root, child) = if class == "htb" {
        (
            of_htb(node("link", "drr")),
            of_htb(rated("class", "drr", "1gbit", "1gbit")),
        )
    } else {
        (node("link", class), node("class", class))
    };
    let mut plan = Config::new(root).expect("a legal root");
    plan.add_class("link", child).expect("a legal class");
    for name in ["leaf", "beside"] {
        let mut made = if class == "htb" {
            rated(name, "fifo", "1gbit", "1gbit")
        } else {
            node(name, "fifo")
        };
        made.max_packet_len = 1 << 16;
        if name == "leaf" {
            made.spec.discipline = leaf.clone();
        }
        plan.add_leaf("class", made).expect("a legal leaf");
    }
    for flow in 0..200 {
        let name = ["leaf", "leaf", "beside"][flow as usize % 3];
        plan.assign(FlowId(flow), name).expect("a leaf");
    }
    plan.set_default("leaf").expect("a leaf");
    plan
}

/// `Tree::set_node` between any two calls, as `live_parameters_change_between_any_two_calls` for a
/// discipline alone: each legal change is taken, and invariants of the tree and of all disciplines in
/// it hold.
fn change_nodes(class: &str, leaf: &AnyDiscipline, seed: u64, mix: Mix) -> usize {
    let plan = family(class, leaf);
    let tree: Tree<u64> = plan.build_tree(Seed::new(5)).expect("a legal tree");
    let mut random = Pcg64::seed_from_u64(seed);
    let mut audited = Audited::new(tree, true);
    let mut changes = 0;
    for (number, call) in operations(mix, seed, LENGTH).into_iter().enumerate() {
        let place = || format!("{leaf} below {class}, {mix:?}, seed {seed}, call {number}");
        if random.random_bool(0.3) {
            let nodes: Vec<Node> = audited.scheduler().config().nodes().cloned().collect();
            let which = random.random_range(0..nodes.len());
            let changed = if which == 0 {
                nodes[0].clone()
            } else {
                other_node(&nodes[which], which > 1, &mut random)
            };
            let outcome = audited.scheduler_mut().set_node(changed.clone());
            assert!(outcome.is_ok(), "{}: {outcome:?} for {changed:?}", place());
            changes += 1;
            audited.scheduler().check_invariants();
            // A smaller limit, or a shorter longest packet.
            let outcome = audited.take_dropped();
            assert_eq!(outcome, Ok(()), "{}", place());
        }
        let outcome = audited.apply(call);
        assert_eq!(outcome, Ok(()), "{}", place());
        audited.scheduler().check_invariants();
    }
    let outcome = audited.drain();
    assert_eq!(outcome, Ok(()), "{leaf} below {class}");
    changes
}

#[test]
fn settings_of_a_trees_nodes_change_between_any_two_calls() {
    let mut changes = 0;
    for leaf in all_and_others() {
        for (seed, class) in (0..).zip(["drr", "priority", "wf2q_plus", "htb"]) {
            for mix in [Mix::FewFlows, Mix::Overflowing, Mix::OddLengths] {
                changes += change_nodes(class, &leaf, seed, mix);
            }
        }
    }
    assert!(changes > 50_000, "{changes}");
}
