//! Scheduler contract for trees: the calls of the conformance tests on trees of one to eight
//! levels, with every discipline usable as a class, and changes of trees under load.

mod acknowledgements;
mod changes;
mod errors;
mod idle;
mod law;
mod liars;
mod limits;
mod memory;
pub(crate) mod plans;
mod shapers;
mod stand_ins;

use std::cell::RefCell;

use self::plans::{idling, node, plans};
use allocation_counter::measure;
use roundelay::schedulers::{AnyDiscipline, AnyScheduler, Discipline};
use roundelay::tree::{Config, Node, Tree};
use roundelay::{Control, Seed};
use roundelay::{DropReason, FlowConfig, FlowId, Instant, Packet, Scheduler};
use roundelay_conformance::{Audited, Event, Mix, Operation, Violation, operations};

const SEEDS: u64 = 2;
const LENGTH: usize = 1_000;

fn audit(plan: &Config, seed: u64, operations: &[Operation]) -> Result<Vec<Event>, Violation> {
    let mut audited = Audited::new(
        plan.build_tree(Seed::new(seed)).expect("a legal tree"),
        false,
    );
    audited.run(operations)?;
    audited.scheduler().check_invariants();
    // Runs again on the drained scheduler.
    audited.run(operations)?;
    Ok(audited.events().to_vec())
}

/// Packets and bytes are conserved, flows keep their order, no backlogged tree idles, and the same
/// calls give the same packets.
#[test]
fn trees_keep_the_contract_and_repeat_themselves() {
    for (name, plan) in plans().into_iter().chain(idling()) {
        for (mix, seed) in Mix::ALL
            .into_iter()
            .flat_map(|mix| (0..SEEDS).map(move |seed| (mix, seed)))
        {
            let operations = operations(mix, seed, LENGTH);
            let once = audit(&plan, seed, &operations);
            let events = once
                .unwrap_or_else(|violation| panic!("{name}, {mix:?}, seed {seed}: {violation:?}"));
            assert!(
                events.iter().any(|event| matches!(event, Event::Sent(_))),
                "{name}, {mix:?}: nothing was sent"
            );
            assert_eq!(
                audit(&plan, seed, &operations).as_ref(),
                Ok(&events),
                "{name}, {mix:?}, seed {seed}"
            );
        }
    }
}

#[test]
fn a_refusal_leaves_no_trace() {
    let mut refusals = 0;
    for (name, plan) in plans().into_iter().chain(idling()) {
        for mix in Mix::ALL {
            let mut with = Audited::new(plan.build_tree(Seed::new(1)).unwrap(), false);
            let mut without = Audited::new(plan.build_tree(Seed::new(1)).unwrap(), false);
            for operation in operations(mix, 7, LENGTH) {
                let before = with.events().len();
                with.apply(operation).unwrap();
                if matches!(with.events()[before..], [Event::Refused(_)]) {
                    refusals += 1;
                    without.skip_serial();
                } else {
                    without.apply(operation).unwrap();
                }
            }
            let accepted: Vec<_> = with
                .events()
                .iter()
                .copied()
                .filter(|event| !matches!(event, Event::Refused(_)))
                .collect();
            assert_eq!(accepted, without.events(), "{name}, {mix:?}");
        }
    }
    assert!(refusals > 1_000, "only {refusals} refusals were tested");
}

/// `Discipline::build` and `Config::build_tree` give the same scheduler.
#[test]
fn a_tree_is_a_discipline() {
    let (_, plan) = plans().swap_remove(1);
    let operations = operations(Mix::ManyFlows, 1, LENGTH);
    let mut audited = Audited::new(
        Discipline::build(&plan, Seed::new(3)).unwrap(),
        Config::REORDERS,
    );
    audited.run(&operations).unwrap();
    audited.run(&operations).unwrap();
    assert_eq!(Ok(audited.events().to_vec()), audit(&plan, 3, &operations));
    let error = Config::new(node("link", "wf2q_plus"))
        .unwrap()
        .build::<()>(Seed::new(1))
        .map(|_| ())
        .unwrap_err();
    assert!(
        error.to_string().contains("link") && error.to_string().contains("default"),
        "{error}"
    );
}

/// Bytes of the index of the longest queue: in the footprint from the start, allocated at its first
/// use.
const INDEX: i64 = 56;

/// Builds a node's scheduler and adds the allocated and the reported bytes to the sums.
fn scheduler<T: Send>(node: &Node, sums: &RefCell<(i64, i64)>) -> AnyScheduler<T> {
    let (discipline, mut built) = (&node.spec.discipline, None);
    let taken =
        measure(|| built = Some(discipline.build(Seed::new(1)).expect("a legal discipline")))
            .bytes_current;
    let scheduler: AnyScheduler<T> = built.expect("was built");
    let told = scheduler.footprint().fixed_bytes as i64;
    // Each queue has a link in the index, smaller than half of the queue's memory.
    let asleep = INDEX + taken / 2;
    assert!(
        (taken..=taken + asleep).contains(&told),
        "{}: takes {taken} bytes, says {told}",
        discipline.name()
    );
    let mut sums = sums.borrow_mut();
    *sums = (sums.0 + taken, sums.1 + told);
    scheduler
}

/// The tree's own memory: the footprint without the nodes' schedulers, which report their own.
#[test]
fn what_is_taken_for_nodes_and_flows_is_what_the_footprint_says() {
    for (name, plan) in plans() {
        let (mut built, sums) = (None, RefCell::default());
        let build = || {
            Tree::<u64>::with(
                &plan,
                Seed::new(1),
                |leaf, _| Ok(scheduler(leaf, &sums)),
                |class, _| Ok(scheduler(class, &sums)),
            )
        };
        let taken = measure(|| built = Some(build().expect("a legal tree"))).bytes_current;
        let told = built.expect("was built").footprint().fixed_bytes as i64;
        let of_schedulers = sums.into_inner();
        // The tree itself is on the stack.
        let (taken, told) = (
            taken - of_schedulers.0,
            told - of_schedulers.1 - INDEX - size_of::<Tree<u64>>() as i64,
        );
        // Full tables double; names and the table of 200 flows are extra.
        assert!(
            told <= taken && taken <= 2 * told + 1024,
            "{name}: takes {taken} bytes, says {told}"
        );
    }
}

/// A leaf can have a limit, with the drop reasons of a buffer. A packet that the class above has
/// taken out ahead still waits, so it counts.
#[test]
fn a_leaf_can_have_a_limit_of_its_own() {
    let mut plan = Config::new(node("link", "wf2q_plus")).unwrap();
    plan.add_leaf("link", node("short", "fifo limit 2"))
        .unwrap();
    plan.add_leaf(
        "link",
        Node {
            max_packet_len: 4000,
            ..node("fair", "drr limit 3000b")
        },
    )
    .unwrap();
    plan.add_leaf("link", node("none", "fifo limit 0")).unwrap();
    for (flow, leaf) in [(0, "short"), (1, "fair"), (2, "fair"), (3, "none")] {
        plan.assign(FlowId(flow), leaf).unwrap();
    }
    plan.set_default("short").unwrap();
    let mut tree = plan.build_tree(Seed::new(1)).unwrap();
    let mut arrive = |now: u64, flow, len| {
        let now = Instant::from_nanos(now);
        tree.enqueue(
            now,
            Packet {
                arrival: now,
                ..Packet::new(FlowId(flow), len, ())
            },
        )
        .unwrap();
        tree.take_dropped()
            .map(|(packet, reason)| (packet.flow.0, reason))
    };
    assert_eq!(
        [1, 2].map(|at| arrive(at, 0, 1000)),
        [None; 2],
        "one is taken out ahead, one waits"
    );
    assert_eq!(arrive(4, 0, 1000), Some((0, DropReason::Full)));
    assert_eq!([5, 6, 7].map(|at| arrive(at, 1, 1000)), [None; 3]);
    assert_eq!(
        arrive(8, 2, 900),
        Some((1, DropReason::PushedOut)),
        "the longest backlog's tail"
    );
    assert_eq!(
        arrive(9, 3, 64),
        Some((3, DropReason::Full)),
        "known bug 39: a limit of 0 drops and counts"
    );
    assert_eq!(
        arrive(10, 2, 3001),
        Some((2, DropReason::Full)),
        "longer than the leaf holds"
    );
}

/// The leaf's node accepts up to 9000 bytes, its discipline up to 2048 for a flow without settings.
#[test]
fn what_a_leaf_will_not_take_comes_back_as_it_was() {
    let mut plan = Config::new(node("link", "wf2q_plus")).unwrap();
    plan.add_leaf(
        "link",
        Node {
            max_packet_len: 9000,
            ..node("leaf", "qfq")
        },
    )
    .unwrap();
    plan.set_default("leaf").unwrap();
    let mut tree = plan.build_tree(Seed::new(1)).unwrap();
    let packet = Packet {
        arrival: Instant::from_nanos(5),
        ..Packet::new(FlowId(0), 5000, 7u64)
    };
    assert_eq!(
        tree.enqueue(Instant::from_nanos(9), packet)
            .map_err(|refused| refused.packet),
        Err(packet)
    );
    assert_eq!((tree.backlog().packets, tree.take_dropped()), (0, None));
}

/// A node refuses packets above its maximum length until a flow with longer packets is set.
#[test]
fn packets_longer_than_a_node_takes_are_refused() {
    for class in plans::classes() {
        let mut plan = Config::new(node("link", &class)).unwrap();
        plan.add_class("link", node("class", &class)).unwrap();
        plan.add_leaf("class", node("leaf", "fifo")).unwrap();
        plan.set_default("leaf").unwrap();
        let mut tree: Tree<()> = plan.build_tree(Seed::new(1)).unwrap();
        let packet = Packet::new(FlowId(0), 9000, ());
        assert_eq!(
            tree.enqueue(Instant::ZERO, packet)
                .map_err(|refused| refused.packet),
            Err(packet)
        );
        assert!(tree.backlog().is_empty());
        tree.set_flow(
            FlowId(0),
            FlowConfig {
                weight: 1,
                max_packet_len: 9000,
            },
        )
        .unwrap();
        assert_eq!(tree.enqueue(Instant::ZERO, packet), Ok(()), "{class}");
        assert_eq!(tree.dequeue(Instant::ZERO), Some(packet));
    }
}

/// Flows without a leaf of their own, and stray ones, go to the default leaf.
#[test]
fn flows_go_where_they_are_assigned() {
    let (_, plan) = plans().swap_remove(1);
    let tree: Tree<()> = plan.build_tree(Seed::new(1)).unwrap();
    assert_eq!(
        tree.leaf_of(FlowId(u32::MAX)),
        tree.leaf_of(FlowId(1_000_000))
    );
    assert!(
        plan.clone()
            .assign(FlowId(u32::MAX), tree.leaf_of(FlowId(0)))
            .is_err()
    );
    assert!(
        AnyDiscipline::named("tree").is_err(),
        "a tree is described by a file, not by a name"
    );
}
