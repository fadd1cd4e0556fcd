//! Common tests of `gfq`, `s_kps` and related schedulers: adversaries, random operations, and the
//! order of their bounds.

use roundelay::schedulers::{Discipline, drr, gfq, qfq, s_kps, wf2q_plus};
use roundelay::{FlowConfig, FlowId, Instant, Packet, Scheduler};

use crate::theorems::audited::Audited;
use crate::theorems::timed::{Ratios, ratios};
use crate::theorems::workload::{Driven, Source, Workload, adversaries};

const NOW: Instant = Instant::ZERO;
/// Weights up to 1024, twice, in units of 2^-30: the part of the service by which rounding may move
/// V against a flow.
pub(crate) const ROUNDING: f64 = 1.0 / (1u64 << 19) as f64;
/// All bounds of a discipline in many random workloads and in its adversary, which must come close
/// to the bounds; DRR must break each bound.
pub(crate) fn bounds_hold<D: Discipline>(discipline: &D, adversary: &Workload, runs: u64) {
    let mut largest = Ratios::default();
    for seed in 0..runs {
        let workload = Workload::random(seed);
        let reached = ratios(&workload, discipline, discipline, ROUNDING);
        assert!(
            reached.are_kept(),
            "workload {} of seed {seed}: {reached:?}",
            workload.name
        );
        largest = largest.max(reached);
    }
    println!(
        "{}: largest measured/bound in {runs} random workloads: {largest:.3?}",
        D::NAME
    );
    for (_, workload) in adversaries::all() {
        let reached = ratios(&workload, discipline, discipline, ROUNDING);
        assert!(reached.are_kept(), "adversarial workload: {reached:?}");
    }
    let adversarial = ratios(adversary, discipline, discipline, ROUNDING);
    println!(
        "{}: measured/bound in the adversarial workload: {adversarial:.3?}",
        D::NAME
    );
    assert!(
        adversarial.b_wfi > 0.9
            && adversarial.t_wfi > 0.9
            && adversarial.latency.max(largest.latency) > 0.3,
        "{adversarial:?}"
    );
    // The quantum is the longest packet, as DRR needs for constant cost.
    let drr = ratios(
        adversary,
        discipline,
        &drr::Config { quantum: 1 << 16 },
        ROUNDING,
    );
    println!("DRR reaches {drr:.3?} of the same bounds in the same workload");
    assert!(
        drr.b_wfi > 1.0 && drr.t_wfi > 1.0 && drr.latency > 1.0,
        "DRR must break the bounds, or the check is blind: {drr:?}"
    );
}

/// Bounds in bytes and in seconds, of one flow.
fn promised<D: Discipline>(workload: &Workload, discipline: &D, flow: usize) -> (u64, u64) {
    let promised = workload.guarantees(discipline, flow);
    (
        promised.b_wfi.expect("promised").value,
        promised.t_wfi.expect("promised").value.as_picos(),
    )
}

/// Coarser rounding of times gives larger bounds; each discipline keeps its own bounds in the same
/// workloads.
#[test]
fn bounds_grow_with_rounding() {
    let mut largest = [Ratios::default(); 4];
    for workload in adversaries::all()
        .map(|(_, workload)| workload)
        .into_iter()
        .chain((0..300).map(|seed| Workload::random(seed + 50_000)))
    {
        for flow in 0..workload.sources.len() {
            let bounds = [
                promised(&workload, &wf2q_plus::Config, flow),
                promised(&workload, &gfq::Config, flow),
                promised(&workload, &qfq::Config, flow),
                promised(&workload, &s_kps::Config, flow),
            ];
            let in_order = bounds
                .windows(2)
                .all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
            assert!(
                in_order,
                "{}, seed {}, flow {flow}: {bounds:?}",
                workload.name, workload.seed
            );
        }
        let reached = [
            ratios(&workload, &wf2q_plus::Config, &wf2q_plus::Config, 0.0),
            ratios(&workload, &gfq::Config, &gfq::Config, ROUNDING),
            ratios(&workload, &qfq::Config, &qfq::Config, ROUNDING),
            ratios(&workload, &s_kps::Config, &s_kps::Config, ROUNDING),
        ];
        assert!(
            reached.iter().all(|ratios| ratios.are_kept()),
            "{}, seed {}: {reached:?}",
            workload.name,
            workload.seed
        );
        for (largest, reached) in largest.iter_mut().zip(reached) {
            *largest = largest.max(reached);
        }
    }
    for (name, largest) in ["wf2q_plus", "gfq", "qfq", "s_kps"]
        .into_iter()
        .zip(largest)
    {
        println!("{name}: measured/bound {largest:.3?}");
    }
    // Each discipline exceeds another's bound: measurements tell the bounds apart, not only names.
    let coarse = adversaries::for_wide_slots();
    let others = [
        ratios(&coarse, &wf2q_plus::Config, &s_kps::Config, ROUNDING),
        ratios(&coarse, &gfq::Config, &s_kps::Config, ROUNDING),
        ratios(&coarse, &qfq::Config, &s_kps::Config, ROUNDING),
    ];
    println!("s_kps reaches {others:.3?} of the bounds of wf2q_plus, gfq and qfq");
    assert!(
        others
            .iter()
            .all(|ratios| ratios.b_wfi > 1.0 && ratios.t_wfi > 1.0),
        "{others:?}"
    );
    let rounded = adversaries::for_start_slots();
    let qfq = ratios(&rounded, &gfq::Config, &qfq::Config, ROUNDING);
    println!("qfq reaches {qfq:.3?} of the bounds of gfq");
    assert!(qfq.t_wfi > 1.0, "{qfq:?}");
}

/// Twenty flows are served some packets each, ahead of ten flows with one later-finishing packet
/// each, and are removed. If their weights were removed at once, V would pass those ten by half of
/// the packet or more: Theorem 4, checked by the invariants.
pub(crate) fn flows_served_ahead_leave<S: Scheduler<u64>>(
    scheduler: S,
    packets: usize,
    max_packet_len: u32,
) {
    let mut audited = Audited::new(scheduler, 30);
    for flow in 0..30 {
        audited.set_flow(flow, 1, if flow < 20 { max_packet_len } else { 1 << 16 });
    }
    (20..30).for_each(|flow| audited.enqueue(flow, 1 << 16));
    (0..20 * packets).for_each(|packet| audited.enqueue(packet % 20, max_packet_len - 1));
    let ahead: Vec<_> = (0..20 * packets)
        .filter_map(|_| audited.dequeue())
        .collect();
    assert!(ahead.iter().all(|flow| *flow < 20), "{ahead:?}");
    (0..20).for_each(|flow| audited.remove_flow(flow));
    assert_eq!(std::iter::from_fn(|| audited.dequeue()).count(), 10);
}

/// A flow takes the whole link while another is idle, until V has wrapped once, a little less, a
/// little more, and half. A packet advances V by 2^`step`; of 20 packets each flow gets 10, give or
/// take `tolerance`.
pub(crate) fn keeps_shares_when_virtual_time_wraps<S: Scheduler<u64>>(
    build: impl Fn() -> S,
    step: u32,
    tolerance: usize,
) {
    // The flow numbers are above 64, where debug builds check less often.
    let (turn, busy, idle) = (1u64 << (64 - step), FlowId(70), FlowId(71));
    for packets in [
        turn / 4,
        turn / 2 - 1,
        turn / 2,
        turn / 2 + 1,
        turn - 5,
        turn - 3,
        turn - 2,
        turn - 1,
        turn,
        turn + 1,
        turn + 2,
    ] {
        let mut scheduler = build();
        let send = |scheduler: &mut S, flow| {
            scheduler
                .enqueue(NOW, Packet::new(flow, 1 << 16, 0))
                .expect("not too long")
        };
        for flow in [busy, idle] {
            scheduler
                .set_flow(
                    flow,
                    FlowConfig {
                        weight: 1,
                        max_packet_len: 1 << 16,
                    },
                )
                .expect("legal");
            send(&mut scheduler, flow);
        }
        for _ in 0..packets {
            send(&mut scheduler, busy);
            scheduler.dequeue(NOW).expect("work is conserved");
        }
        (0..20).for_each(|packet| send(&mut scheduler, [busy, idle][packet % 2]));
        let order: Vec<_> = (0..20)
            .filter_map(|_| scheduler.dequeue(NOW))
            .map(|packet| packet.flow)
            .collect();
        let served = order.iter().filter(|flow| **flow == idle).count();
        let first = order.iter().position(|flow| *flow == idle);
        assert!(
            served.abs_diff(10) <= tolerance && first < Some(4 + tolerance),
            "after {packets} packets: {order:?}"
        );
        scheduler.check_invariants();
    }
}

/// A flow served far ahead of V gets a weight with slots 2^15 times as short.
pub(crate) fn a_flow_far_ahead_gets_short_slots<S: Scheduler<u64>>(scheduler: S) {
    let mut audited = Audited::new(scheduler, 3);
    for flow in 0..3 {
        audited.set_flow(flow, 1, 1 << 16);
        audited.enqueue(flow, 1 << 16);
    }
    audited.dequeue();
    audited.set_flow(0, 1024, 512);
    audited.set_flow(1, 1024, 512);
    for _ in 0..200 {
        (0..2).for_each(|flow| audited.enqueue(flow, 512));
        audited.dequeue();
    }
    let others = (0..3)
        .map(|flow| audited.waiting[flow].len())
        .collect::<Vec<_>>();
    assert!(
        others[0] < 200 && others[1] < 200,
        "both are served: {others:?}"
    );
}

/// A failed change and a refused packet leave the state unchanged.
pub(crate) fn refusals_change_nothing<S: Scheduler<u64> + std::fmt::Debug>(build: impl Fn() -> S) {
    let busy = || {
        let mut scheduler = build();
        for flow in 0..8 {
            let config = FlowConfig {
                weight: 1 << flow,
                max_packet_len: 512 << (flow % 4),
            };
            scheduler.set_flow(FlowId(flow), config).expect("legal");
            (0..4).for_each(|_| {
                scheduler
                    .enqueue(NOW, Packet::new(FlowId(flow), 512, 0))
                    .expect("short")
            });
        }
        assert_eq!((0..5).filter_map(|_| scheduler.dequeue(NOW)).count(), 5);
        scheduler
    };
    let before = format!("{:?}", busy());
    let configs = [
        (0, 1500),
        (1025, 1500),
        (u32::MAX, 1500),
        (10, 0),
        (10, 511),
        (10, (1 << 16) + 1),
        (10, u32::MAX),
    ];
    for (weight, max_packet_len) in configs {
        let mut scheduler = busy();
        for flow in [2, 900, FlowId::LARGEST_TABLED.0 + 1] {
            assert!(
                scheduler
                    .set_flow(
                        FlowId(flow),
                        FlowConfig {
                            weight,
                            max_packet_len
                        }
                    )
                    .is_err()
            );
        }
        assert_eq!(format!("{scheduler:?}"), before);
    }
    for (flow, len) in [
        (0, 513),
        (3, 4097),
        (0, u32::MAX),
        (5_000, 2049),
        (FlowId::LARGEST_TABLED.0 + 1, 64),
    ] {
        let (mut scheduler, packet) = (busy(), Packet::new(FlowId(flow), len, 7));
        assert_eq!(
            scheduler
                .enqueue(NOW, packet)
                .map_err(|refused| refused.packet),
            Err(packet)
        );
        assert_eq!(format!("{scheduler:?}"), before, "flow {flow}, {len} bytes");
    }
}

/// After all its packets were pushed out, a scheduler behaves as a new one, whatever was in the
/// queues.
pub(crate) fn an_emptied_scheduler_is_as_good_as_new<S: Scheduler<u64>>(build: impl Fn() -> S) {
    let fill = |scheduler: &mut S| {
        for flow in 0..6u32 {
            scheduler
                .set_flow(
                    FlowId(flow),
                    FlowConfig {
                        weight: 1 + flow * 3,
                        max_packet_len: 2048,
                    },
                )
                .expect("legal");
            (0..5).for_each(|packet| {
                scheduler
                    .enqueue(
                        NOW,
                        Packet::new(FlowId(flow), 100 + flow * 7 + packet * 300, 0),
                    )
                    .expect("short")
            });
        }
    };
    let drain = |scheduler: &mut S| {
        std::iter::from_fn(|| scheduler.dequeue(NOW))
            .map(|packet| packet.flow.0)
            .collect::<Vec<_>>()
    };
    let (mut used, mut new) = (build(), build());
    fill(&mut used);
    while used.evict().is_some() {}
    used.check_invariants();
    fill(&mut used);
    fill(&mut new);
    assert_eq!(drain(&mut used), drain(&mut new));
}

pub(crate) fn thousands_of_flows_keep_their_bounds<D: Discipline>(discipline: &D, rounding: f64) {
    let source = |flow: u32| Source {
        arrivals: vec![u64::from(flow % 7) * 10_000; 2],
        ..Source::burst(1 << (flow % 11), 64 << (flow % 6), 0)
    };
    let workload = Workload {
        name: "thousands",
        seed: 0,
        sources: (0..3_000).map(source).collect(),
    };
    let ratios = workload.ratios(discipline, &workload.outcome(discipline), rounding);
    assert!(
        ratios.b_wfi_by_bit <= 1.0 && ratios.t_wfi <= 1.0,
        "{ratios:?}"
    );
}
