//! Removal of backlogged flows: a flow's settings hold until its last packet has left, and no
//! longer.

use roundelay::schedulers::{AnyDiscipline, AnyScheduler, Discipline, Visitor};
use roundelay::{Control, Seed};
use roundelay::{Duration, FlowConfig, FlowId, Instant, Packet, Rate, Scheduler};
use roundelay_conformance::subjects;

const LEN: u32 = 1_000;
/// Counted departures, fewer than the waiting packets.
const DEPARTURES: u64 = 60;
const HEAVY: u32 = 900;

struct IsWeighted;

impl Visitor for IsWeighted {
    type Output = bool;

    fn visit<D: Discipline>(self, _discipline: &D) -> bool {
        D::WEIGHTED
    }
}

/// Schedulers of all disciplines with weights, flow 1 the heavy one.
fn weighted() -> Vec<(String, AnyScheduler<u64>)> {
    let able = AnyDiscipline::all()
        .into_iter()
        .filter(|discipline| discipline.visit(IsWeighted));
    let built = able.map(|discipline| {
        (
            discipline.to_string(),
            discipline.build(Seed::new(1)).expect("legal parameters"),
        )
    });
    let mut all: Vec<(String, AnyScheduler<u64>)> = built.collect();
    for (_, scheduler) in &mut all {
        scheduler
            .set_flow(
                FlowId(1),
                FlowConfig {
                    weight: HEAVY,
                    ..FlowConfig::DEFAULT
                },
            )
            .expect("a legal weight");
    }
    all
}

fn arrive(scheduler: &mut AnyScheduler<u64>, flow: u32, packets: u64) {
    for number in 0..packets {
        scheduler
            .enqueue(Instant::ZERO, Packet::new(FlowId(flow), LEN, number))
            .expect("short enough");
    }
}

/// The number of the heavy flow's packets among the next [`DEPARTURES`].
fn heavy_of_next(scheduler: &mut AnyScheduler<u64>) -> u64 {
    (0..DEPARTURES)
        .filter(|_| {
            scheduler
                .dequeue(Instant::ZERO)
                .is_some_and(|packet| packet.flow == FlowId(1))
        })
        .count() as u64
}

fn drain(scheduler: &mut AnyScheduler<u64>) {
    while scheduler.dequeue(Instant::ZERO).is_some() {}
}

#[test]
fn a_removed_flow_keeps_its_weight_while_it_waits_and_comes_back_without() {
    for (name, mut scheduler) in weighted() {
        arrive(&mut scheduler, 1, 2 * DEPARTURES);
        arrive(&mut scheduler, 0, 2 * DEPARTURES);
        scheduler.remove_flow(FlowId(1));
        let before = heavy_of_next(&mut scheduler);
        assert!(
            before > DEPARTURES * 9 / 10,
            "{name}: {before} packets of a flow that still waits"
        );
        drain(&mut scheduler);
        arrive(&mut scheduler, 1, 2 * DEPARTURES);
        arrive(&mut scheduler, 0, 2 * DEPARTURES);
        let after = heavy_of_next(&mut scheduler);
        assert!(
            (DEPARTURES / 4..=DEPARTURES * 3 / 4).contains(&after),
            "{name}: {after} packets of a flow that has come back"
        );
    }
}

/// The same for an empty flow, and for a flow whose last packet is evicted instead of sent.
#[test]
fn a_flow_without_packets_is_forgotten_at_once() {
    for packets in [0, 1] {
        for (name, mut scheduler) in weighted() {
            arrive(&mut scheduler, 1, packets);
            scheduler.remove_flow(FlowId(1));
            assert_eq!(scheduler.evict().is_some(), packets > 0, "{name}");
            arrive(&mut scheduler, 1, 2 * DEPARTURES);
            arrive(&mut scheduler, 0, 2 * DEPARTURES);
            let heavy = heavy_of_next(&mut scheduler);
            assert!(
                (DEPARTURES / 4..=DEPARTURES * 3 / 4).contains(&heavy),
                "{name}, {packets} packets given up: {heavy} packets"
            );
        }
    }
}

/// A removed flow keeps new settings made before its last packet left.
#[test]
fn a_flow_that_is_set_again_stays() {
    for (name, mut scheduler) in weighted() {
        arrive(&mut scheduler, 1, 1);
        scheduler.remove_flow(FlowId(1));
        scheduler
            .set_flow(
                FlowId(1),
                FlowConfig {
                    weight: HEAVY,
                    ..FlowConfig::DEFAULT
                },
            )
            .expect("a legal weight");
        drain(&mut scheduler);
        arrive(&mut scheduler, 1, 2 * DEPARTURES);
        arrive(&mut scheduler, 0, 2 * DEPARTURES);
        let heavy = heavy_of_next(&mut scheduler);
        assert!(heavy > DEPARTURES * 9 / 10, "{name}: {heavy} packets");
    }
}

/// Only for disciplines with a sum of weights, by which their fluid server shares.
#[test]
fn the_sum_of_weights_is_that_of_the_flows_that_wait() {
    let mut telling = Vec::new();
    for (name, mut scheduler) in weighted() {
        scheduler
            .set_flow(
                FlowId(2),
                FlowConfig {
                    weight: 30,
                    ..FlowConfig::DEFAULT
                },
            )
            .expect("a legal weight");
        for flow in [0, 1, 2] {
            arrive(&mut scheduler, flow, 1);
        }
        if let Some(total) = scheduler.total_weight() {
            assert_eq!(total, u64::from(1 + HEAVY + 30), "{name}");
            telling.push(name);
        }
    }
    assert_eq!(
        telling,
        [
            "wfq",
            "wf2q",
            "wf2q_plus",
            "gfq",
            "qfq",
            "qfq_plus",
            "s_kps"
        ]
    );
}

/// A reduced weight leaves the sum once no packet waits and the fluid server, if any, is idle.
#[test]
fn a_weight_that_shrinks_counts_no_longer_when_the_link_has_rested() {
    let hour = |hour: u64| Instant::ZERO + Duration::from_secs(3_600 * hour);
    for (name, mut scheduler) in weighted() {
        scheduler.set_link_rate(Rate::from_bits_per_second(8_000_000).expect("not zero"));
        arrive(&mut scheduler, 1, 5);
        drain(&mut scheduler);
        scheduler
            .set_flow(
                FlowId(1),
                FlowConfig {
                    weight: 5,
                    ..FlowConfig::DEFAULT
                },
            )
            .expect("a legal weight");
        for now in [hour(1), hour(2)] {
            scheduler
                .enqueue(now, Packet::new(FlowId(0), LEN, 0))
                .expect("short enough");
            assert!(scheduler.dequeue(now).is_some(), "{name}");
        }
        assert!(
            scheduler.total_weight().is_none_or(|total| total == 1 + 5),
            "{name}: {:?}",
            scheduler.total_weight()
        );
    }
}

/// The sum of weights after removal of a heavy flow, idle by departures or by evictions.
#[test]
fn a_removed_weight_is_gone_when_nothing_waits() {
    for discipline in subjects() {
        let total = |by_eviction: bool| {
            let mut scheduler = discipline.build(Seed::new(1)).expect("legal parameters");
            for (flow, weight) in [(0, 100), (1, 1)] {
                scheduler
                    .set_flow(
                        FlowId(flow),
                        FlowConfig {
                            weight,
                            ..FlowConfig::DEFAULT
                        },
                    )
                    .expect("a legal weight");
                for number in 0..3 {
                    scheduler
                        .enqueue(Instant::ZERO, Packet::new(FlowId(flow), 500, number))
                        .expect("a legal packet");
                }
            }
            scheduler.dequeue(Instant::ZERO);
            scheduler.remove_flow(FlowId(0));
            while !scheduler.backlog().is_empty() {
                let _ = if by_eviction {
                    scheduler.evict()
                } else {
                    scheduler.dequeue(Instant::ZERO)
                };
                while scheduler.take_dropped().is_some() {}
            }
            scheduler.total_weight()
        };
        let name = discipline.info().name;
        // The fluid server of `wfq` and `wf2q` finishes later.
        if !matches!(name, "wfq" | "wf2q") && discipline.info().weighted {
            assert!(
                total(true).is_none_or(|total| total == 1),
                "{discipline}: {:?}",
                total(true)
            );
            assert_eq!(total(true), total(false), "{discipline}");
        }
    }
}
