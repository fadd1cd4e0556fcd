//! QFQ+: service bounds, QFQ's theorems on aggregates, the cost of M, and known bugs of other
//! implementations.

use std::sync::LazyLock;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::schedulers::qfq_plus::{self, QfqPlus};
use roundelay::schedulers::{Discipline, drr, qfq};
use roundelay::{
    ConfigError, FlowConfig, FlowId, Guarantees, Instant, Packet, Rate, Scheduler, Share,
};
use roundelay::{Control, Seed};

use crate::theorems::audited::{Audited, drain, put, random_operations, saturated_bursts, set};
use crate::theorems::qfq::lateness;
use crate::theorems::workload::{Driven, Lengths, Ratios, Refill, Source, Workload, adversaries};

const NOW: Instant = Instant::ZERO;
/// Weights up to 1024 in units of 2^-30: the part of the service by which rounding may move V
/// against a flow.
const ROUNDING: f64 = 1.0 / (1u64 << 20) as f64;
const RUNS: u64 = if cfg!(debug_assertions) { 600 } else { 10_000 };
const SIZES: [u32; 4] = [1, 2, 8, 64];

const fn of(aggregate: u32) -> qfq_plus::Config {
    qfq_plus::Config {
        aggregate,
        linux: false,
    }
}

fn build(aggregate: u32) -> QfqPlus<u64> {
    of(aggregate).build(Seed::new(0)).expect("legal")
}

fn ratios(aggregate: u32, workload: &Workload) -> Ratios {
    workload.ratios(&of(aggregate), &workload.outcome(&of(aggregate)), ROUNDING)
}

/// A random workload with flows of a few kinds, to share aggregates; some workloads have flows of
/// all kinds.
fn alike(seed: u64) -> Workload {
    let mut workload = Workload::random(seed);
    let mut random = Pcg64::seed_from_u64(seed);
    let kinds = random.random_range(1..=3.min(workload.sources.len()));
    for flow in kinds..if seed.is_multiple_of(4) {
        0
    } else {
        workload.sources.len()
    } {
        let kind = workload.sources[random.random_range(0..kinds)].clone();
        (
            workload.sources[flow].config,
            workload.sources[flow].lengths,
        ) = (kind.config, kind.lengths);
    }
    workload
}

/// QFQ's adversary with last two packets too long for one budget: the first is sent when the flow
/// is as far ahead as possible, and the flow is crowded out before the second.
fn crowded_out_between_services() -> Workload {
    let mut workload = adversaries::for_start_slots();
    workload.sources[0].lengths = Lengths::Listed(vec![2047, 2048, 2048, 1, 2048]);
    workload
}

/// Seven flows of an aggregate always have packets, and so does a heavy flow with long packets. An
/// eighth flow becomes backlogged now and then, last in the aggregate and just after the
/// aggregate's service.
fn late_among_its_own() -> Workload {
    let lengths = Lengths::Alternating(2, 2048);
    let refill = Some(Refill {
        low: 1,
        burst: 1,
        after: 0,
        packets: 100,
    });
    let own = Source {
        lengths: lengths.clone(),
        arrivals: vec![0; 2],
        refill,
        ..Source::burst(8, 2048, 0)
    };
    let heavy = Source {
        arrivals: vec![0; 2],
        refill,
        ..Source::burst(960, 65_536, 0)
    };
    let late = Source {
        lengths: Lengths::Listed(vec![2048, 2, 2048]),
        arrivals: (0..60).map(|packet| packet / 3 * 61_003).collect(),
        ..own.clone()
    };
    let sources = [vec![late], vec![own; 7], vec![heavy]].concat();
    Workload {
        name: "late among its own",
        seed: 0,
        sources,
    }
}

/// Largest measured/bound over random workloads: of B-WFI and of T-WFI, for each M.
static SURVEY: LazyLock<Vec<(u32, Ratios)>> = LazyLock::new(|| {
    let survey = SIZES.map(|aggregate| {
        let of_seed = |seed| {
            let workload = alike(seed);
            let ratios = ratios(aggregate, &workload);
            let largest = ratios.b_wfi.max(ratios.b_wfi_by_bit).max(ratios.t_wfi);
            assert!(
                largest <= 1.0,
                "M = {aggregate}, workload {} of seed {seed}: {ratios:?} of the bounds",
                workload.name
            );
            ratios
        };
        (
            aggregate,
            (0..RUNS).map(of_seed).fold(Ratios::default(), Ratios::max),
        )
    });
    survey.to_vec()
});

/// No random workload exceeds a bound, the adversarial ones come close, and DRR exceeds the bound.
fn stays_within(bound: &str, ratio: fn(&Ratios) -> f64) {
    for (aggregate, ratios) in SURVEY.iter() {
        println!(
            "{bound}, M = {aggregate}: largest measured/bound {:.3} in {RUNS} random workloads",
            ratio(ratios)
        );
        assert!(ratio(ratios) > 0.5, "the bound is hardly tried");
    }
    for aggregate in SIZES {
        let [alone, late] = [crowded_out_between_services(), late_among_its_own()]
            .map(|workload| ratio(&ratios(aggregate, &workload)));
        println!(
            "{bound}, M = {aggregate}: measured/bound {alone:.3} crowded out, {late:.3} late among its own"
        );
        assert!(
            alone <= 1.0 && late <= 1.0,
            "M = {aggregate}: {alone}, {late}"
        );
    }
    let workload = crowded_out_between_services();
    let drr = ratio(&workload.ratios(
        &of(8),
        &workload.outcome(&drr::Config { quantum: 1 << 16 }),
        ROUNDING,
    ));
    println!("{bound}: DRR reaches {drr:.3} of the bound for M = 8");
    assert!(drr > 1.0, "DRR must break the bound, or the check is blind");
}

#[test]
fn b_wfi_stays_within_the_bound() {
    stays_within("B-WFI", |ratios| ratios.b_wfi.max(ratios.b_wfi_by_bit));
}

#[test]
fn t_wfi_stays_within_the_bound() {
    stays_within("T-WFI", |ratios| ratios.t_wfi);
}

#[test]
fn latency_is_that_of_the_b_wfi() {
    for aggregate in SIZES {
        let worst = (0..RUNS / 3)
            .map(|seed| lateness(&alike(seed), &of(aggregate), &of(aggregate)))
            .fold(0.0, f64::max);
        let crowded = lateness(
            &crowded_out_between_services(),
            &of(aggregate),
            &of(aggregate),
        );
        println!(
            "latency, M = {aggregate}: measured/bound {worst:.3} at random, {crowded:.3} crowded out"
        );
        assert!(
            worst <= 1.0 && crowded <= 1.0 && worst.max(crowded) > 0.4,
            "M = {aggregate}: {worst}, {crowded}"
        );
    }
    let drr = lateness(
        &crowded_out_between_services(),
        &drr::Config { quantum: 1 << 16 },
        &of(8),
    );
    println!("latency: DRR reaches {drr:.3} of the bound for M = 8");
    assert!(drr > 1.0);
}

/// Found by a search: two flows alike and a heavy flow that arrives when their aggregate is ahead.
fn behind_its_own() -> Workload {
    let refill = Some(Refill {
        low: 1,
        burst: 1,
        after: 0,
        packets: 30,
    });
    let pair = |lengths: &[u32], arrivals: &[(u64, usize)]| {
        let arrivals = arrivals
            .iter()
            .flat_map(|(at, packets)| vec![*at; *packets])
            .collect();
        Source {
            lengths: Lengths::Listed(lengths.to_vec()),
            arrivals,
            refill,
            ..Source::burst(8, 2048, 0)
        }
    };
    let late = pair(&[1024, 2, 2047, 1, 2048, 1], &[(26_189, 4)]);
    let early = pair(
        &[2047, 2047, 2048, 2048, 2, 1024],
        &[(6_001, 3), (11_966, 5), (28_651, 4)],
    );
    let refill = Some(Refill {
        low: 1,
        burst: 1,
        after: 0,
        packets: 60,
    });
    let heavy = Source {
        arrivals: vec![17_304; 2],
        refill,
        ..Source::burst(504, 16_384, 0)
    };
    Workload {
        name: "behind its own",
        seed: 0,
        sources: vec![late, early, heavy],
    }
}

/// QFQ's bound plus phi (B - L) for the other budgets is not enough for a flow in a shared
/// aggregate.
#[test]
fn without_the_packets_of_the_turns_the_bound_is_exceeded() {
    let workload = behind_its_own();
    let share = workload.share(0);
    let bound = workload
        .guarantees(&of(8), 0)
        .b_wfi
        .expect("promised")
        .value as f64;
    let turns = f64::from(3 * share.max_packet_len * 2 / 3);
    let [alone, shared] = [1, 8].map(|aggregate| workload_lag(&workload, aggregate));
    println!(
        "measured {shared:.0}; the bound {bound}, without turns {}; with M = 1 {alone:.0}",
        bound - turns
    );
    assert!(shared > bound - turns && shared <= bound);
    assert!(
        alone
            <= workload
                .guarantees(&qfq::Config, 0)
                .b_wfi
                .expect("promised")
                .value as f64
    );
}

/// A heavy flow with short packets arrives while eight flows with long packets are served, one
/// after the other.
fn behind_an_aggregate() -> Workload {
    let refill = Some(Refill {
        low: 1,
        burst: 1,
        after: 0,
        packets: 40,
    });
    let long = Source {
        arrivals: vec![0; 2],
        refill,
        ..Source::burst(16, 8192, 0)
    };
    let short = Source {
        arrivals: (0..30).map(|packet| 1 + packet * 50_021).collect(),
        ..Source::burst(1024, 512, 0)
    };
    Workload {
        name: "behind an aggregate",
        seed: 0,
        sources: [vec![short], vec![long; 8]].concat(),
    }
}

/// QFQ's T-WFI plus 3 L_k / (phi R): the bound of the summary. Linux counts the extra B - L as part
/// of the device's queue.
#[test]
fn the_summarys_bound_is_exceeded_on_a_bare_link() {
    let workload = behind_an_aggregate();
    let share = workload.share(0);
    let Guarantees {
        t_wfi: Some(of_qfq),
        ..
    } = workload.guarantees(&qfq::Config, 0)
    else {
        panic!("promised")
    };
    let promised = (of_qfq.value
        + share
            .rate
            .time_of(share.per_share(3 * u64::from(share.max_packet_len))))
    .as_secs_f64();
    let measured = SIZES.map(|aggregate| workload.outcome(&of(aggregate)).t_wfi[0]);
    println!("the summary promises {promised:.9} s; measured with M = {SIZES:?}: {measured:.9?}");
    assert!(measured[0] < promised && measured[2] > 1.5 * promised);
    SIZES
        .iter()
        .for_each(|aggregate| assert!(ratios(*aggregate, &workload).t_wfi <= 1.0));
}

#[test]
fn larger_aggregates_cost_more_delay() {
    let worst = |aggregate: u32| workload_lag(&behind_an_aggregate(), aggregate);
    assert!(worst(8) > 3.0 * worst(1), "{} and {}", worst(8), worst(1));
    assert!(worst(2) > 1.2 * worst(1), "{} and {}", worst(2), worst(1));
}

/// The lag of the first flow, in bytes.
fn workload_lag(workload: &Workload, aggregate: u32) -> f64 {
    workload.outcome(&of(aggregate)).b_wfi_by_bit[0]
}

/// Sixteen equal flows, in the order in which aggregates of eight take them: one always backlogged,
/// seven sending a tenth of their share, and eight always backlogged.
fn among_light_flows() -> Workload {
    let refill = Some(Refill {
        low: 1,
        burst: 1,
        after: 0,
        packets: 4_000,
    });
    let busy = Source {
        arrivals: vec![0; 2],
        refill,
        ..Source::burst(1, 1000, 0)
    };
    let light = |flow: u64| Source {
        arrivals: (0..20)
            .map(|packet| packet * 160_000 + flow * 20_011)
            .collect(),
        ..Source::burst(1, 1000, 0)
    };
    let sources = [
        vec![busy.clone()],
        (1..8).map(light).collect(),
        vec![busy; 8],
    ]
    .concat();
    Workload {
        name: "among light flows",
        seed: 0,
        sources,
    }
}

/// An aggregate is due the weights of all its flows while one of them has packets. Flows of other
/// aggregates get their shares, but no part of the unused share of light flows: only M = 1 divides
/// that by weight, as QFQ does.
#[test]
fn what_a_light_flow_leaves_goes_to_its_aggregate() {
    const PACKETS: usize = 2_880;
    let shares = |order: Vec<u32>| {
        let sent = |flow: u32| {
            order[..PACKETS]
                .iter()
                .filter(|served| **served == flow)
                .count() as f64
                * 16.0
                / PACKETS as f64
        };
        [sent(0), (8..16).map(sent).fold(f64::INFINITY, f64::min)]
    };
    let workload = among_light_flows();
    let qfq = shares(workload.outcome(&qfq::Config).order);
    let [one, two, eight] =
        [1, 2, 8].map(|aggregate| shares(workload.outcome(&of(aggregate)).order));
    println!(
        "shares of the flow among light ones, and elsewhere: QFQ {qfq:.2?}; M = 1, 2, 8: {one:.2?} {two:.2?} {eight:.2?}"
    );
    for [fellow, elsewhere] in [qfq, one] {
        assert!(
            (fellow / elsewhere - 1.0).abs() < 0.05 && elsewhere > 1.6,
            "what is left is shared by weight"
        );
    }
    assert!(
        (eight[0] - 7.3).abs() < 0.15 && (eight[1] - 1.0).abs() < 0.05,
        "eight shares less seven tenths, and one share"
    );
    assert!(two[0] > 1.8 * two[1] && two[0] < eight[0]);
}

/// Where no two packets fit a budget, each service is one packet, and aggregates of one flow are
/// QFQ's flows.
#[test]
fn with_one_flow_in_an_aggregate_and_packets_above_half_the_longest_it_is_qfq() {
    let mut differ = 0;
    for seed in 0..400 {
        let mut workload = Workload::random(seed);
        for source in &mut workload.sources {
            source.lengths = Lengths::Uniform(
                source.config.max_packet_len / 2 + 1,
                source.config.max_packet_len,
            );
        }
        assert_eq!(
            workload.outcome(&of(1)).order,
            workload.outcome(&qfq::Config).order,
            "seed {seed}, {}",
            workload.name
        );
        differ += u32::from(workload.outcome(&of(8)).order != workload.outcome(&qfq::Config).order);
    }
    assert!(differ > 0, "larger aggregates differ");
    let short = (0..50)
        .map(Workload::random)
        .filter(|workload| workload.outcome(&of(1)).order != workload.outcome(&qfq::Config).order);
    assert!(short.count() > 0, "shorter packets go several at a time");
}

#[test]
fn theorems_3_to_8_of_qfq_hold_after_each_operation() {
    let runs = if cfg!(debug_assertions) { 60 } else { 1500 };
    for seed in 0..runs {
        let (aggregate, kinds) = (SIZES[seed as usize % 4], 1 + seed as usize % 5);
        random_operations(
            build(aggregate),
            seed,
            400,
            [0.0, 0.02, 0.2][seed as usize % 3],
            kinds,
            true,
        );
    }
    (0..20 * runs).for_each(|seed| saturated_bursts(build(SIZES[seed as usize % 4]), seed));
}

/// A scheduler in the middle of a service, with aggregates of several kinds.
fn busy() -> QfqPlus<u64> {
    let mut scheduler = build(4);
    for flow in 0..12 {
        set(&mut scheduler, flow, 1 << (flow % 3), 512 << (flow % 3));
        (0..4).for_each(|_| put(&mut scheduler, flow, 512));
    }
    assert_eq!((0..6).filter_map(|_| scheduler.dequeue(NOW)).count(), 6);
    scheduler
}

/// A turn of an aggregate serves a longest packet for each flow: DRR inside, and the budget for the
/// whole turn.
#[test]
fn an_aggregate_sends_its_budget_and_its_flows_take_turns() {
    let mut scheduler = build(3);
    for flow in 0..4 {
        set(&mut scheduler, flow, 1, 1500);
        (0..9).for_each(|_| put(&mut scheduler, flow, 500));
    }
    put(&mut scheduler, 0, 1500);
    let order = drain(&mut scheduler);
    assert_eq!(
        order[..9],
        [0, 0, 0, 1, 1, 1, 2, 2, 2],
        "three flows, a turn each of 1500 bytes"
    );
    assert_eq!(
        order[9..12],
        [3, 3, 3],
        "the fourth flow is an aggregate of its own"
    );
    assert_eq!(order[12..24], [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
}

/// CVE-2023-31436 and its return in 158810b2: the longest packet is set from a huge MTU, and the
/// group index exceeds the array.
#[test]
fn known_bugs_01_and_03_a_longest_packet_out_of_range_is_refused() {
    for max_packet_len in [0, 511, (1 << 16) + 1, i32::MAX as u32, u32::MAX] {
        let mut scheduler = busy();
        assert!(
            scheduler
                .set_flow(
                    FlowId(3),
                    FlowConfig {
                        weight: 1,
                        max_packet_len
                    }
                )
                .is_err()
        );
        assert_eq!(format!("{scheduler:?}"), format!("{:?}", busy()));
    }
    for aggregate in SIZES {
        let mut scheduler = build(aggregate);
        (0..9).for_each(|flow| set(&mut scheduler, flow, 1, 1 << 16));
        (0..9).for_each(|flow| put(&mut scheduler, flow, 1 << 16));
        assert_eq!(
            drain(&mut scheduler).len(),
            9,
            "the longest packets at the smallest weight"
        );
    }
}

/// CVE-2023-3611: a packet is longer than the limit of its class.
#[test]
fn known_bug_02_a_packet_longer_than_the_longest_changes_nothing() {
    let mut scheduler = busy();
    for (flow, len) in [(0, 513), (3, 513), (2, 2049), (0, u32::MAX), (5_000, 2049)] {
        let packet = Packet::new(FlowId(flow), len, 7);
        assert_eq!(
            scheduler
                .enqueue(NOW, packet)
                .map_err(|refused| refused.packet),
            Err(packet)
        );
        assert_eq!(
            format!("{scheduler:?}"),
            format!("{:?}", busy()),
            "flow {flow}, {len} bytes"
        );
    }
}

/// CVE-2026-22976: a reset meets an inactive aggregate. Here: all packets are removed in any state,
/// in any order, and the flows are set again.
#[test]
fn known_bug_06_an_emptied_scheduler_is_as_good_as_new() {
    for served in 0..42 {
        let mut scheduler = busy();
        assert_eq!(
            (0..served).filter_map(|_| scheduler.dequeue(NOW)).count(),
            served as usize
        );
        for flow in 0..12 {
            scheduler.remove_flow(FlowId((flow * 5) % 12));
        }
        while scheduler.evict_flow(FlowId(served % 12)).is_some() {}
        while scheduler.evict().is_some() {}
        scheduler.check_invariants();
        assert_eq!(scheduler.total_weight(), Some(0), "nobody is left");
        let (mut new, flows) = (build(4), [0, 1, 2, 3, 0, 1]);
        for scheduler in [&mut scheduler, &mut new] {
            flows.iter().for_each(|flow| put(scheduler, *flow, 512));
        }
        assert_eq!(
            drain(&mut scheduler),
            drain(&mut new),
            "after {served} packets"
        );
    }
}

/// CVE-2026-22999: a change fails half-way.
#[test]
fn known_bug_07_a_change_that_fails_changes_nothing() {
    for (weight, max_packet_len) in [(0, 1500), (1025, 1500), (u32::MAX, 1500), (10, 0), (0, 0)] {
        let mut scheduler = busy();
        assert!(
            scheduler
                .set_flow(
                    FlowId(2),
                    FlowConfig {
                        weight,
                        max_packet_len
                    }
                )
                .is_err()
        );
        assert!(
            scheduler
                .set_flow(
                    FlowId(900),
                    FlowConfig {
                        weight,
                        max_packet_len
                    }
                )
                .is_err()
        );
        for aggregate in [0, 65, u32::MAX] {
            assert!(matches!(
                of(aggregate).reconfigure(&mut scheduler),
                Err(ConfigError::OutOfRange { .. })
            ));
        }
        assert_eq!(format!("{scheduler:?}"), format!("{:?}", busy()));
    }
}

/// Linux 87f40dd6ce70: V advanced by the largest sum of weights instead of the actual sum; few
/// light flows had bursts and delays.
#[test]
fn known_bug_09_few_light_flows_keep_their_delay() {
    let heavy = Source {
        refill: Some(Refill {
            low: 2,
            burst: 1,
            after: 0,
            packets: 200,
        }),
        ..Source::burst(10, 1500, 4)
    };
    let sources = [vec![heavy], vec![Source::burst(1, 1500, 20); 10]].concat();
    let workload = Workload {
        name: "ten to one",
        seed: 0,
        sources,
    };
    let order = workload.outcome(&of(1)).order;
    let windows = order[..200]
        .windows(6)
        .filter(|window| !window.contains(&0) || window.iter().all(|flow| *flow == 0));
    assert_eq!(
        windows.count(),
        0,
        "A and the Bs alternate, give or take: {:?}",
        &order[..60]
    );
    let order = workload.outcome(&of(8)).order;
    assert!(
        order[..200].windows(22).all(|window| window.contains(&0)),
        "no more than an aggregate at a time: {:?}",
        &order[..60]
    );
    SIZES
        .iter()
        .for_each(|aggregate| assert!(ratios(*aggregate, &workload).t_wfi <= 1.0));
}

/// Linux 7d18a07: a device with the longest queue length gave M = 0, and a shift by M was
/// undefined.
#[test]
fn known_bug_10_sizes_of_aggregates_at_the_edges() {
    for aggregate in [0, 65, 1 << 31, u32::MAX] {
        assert!(
            of(aggregate).build::<()>(Seed::new(0)).is_err(),
            "{aggregate}"
        );
    }
    for aggregate in [1, 64] {
        let mut scheduler = build(aggregate);
        (0..200).for_each(|flow| set(&mut scheduler, flow, 1024, 512));
        (0..400).for_each(|packet| put(&mut scheduler, packet % 200, 512));
        let order = drain(&mut scheduler);
        assert!(
            (0..200).all(|flow| order[..200].contains(&flow)),
            "each has a packet in the first round"
        );
    }
}

/// QFQ+'s budget wrapped: the longest packet was set below the length of a waiting packet.
#[test]
fn known_bug_11_a_longest_packet_may_be_lowered_below_what_waits() {
    for aggregate in SIZES {
        let mut audited = Audited::new(build(aggregate), 3);
        for flow in 0..3 {
            audited.set_flow(flow, 1, 1 << 16);
            (0..8).for_each(|packet| audited.enqueue(flow, 1 << (16 - packet)));
        }
        audited.dequeue();
        audited.set_flow(0, 1, 512);
        audited.set_flow(1, 1024, 512);
        (0..20).for_each(|_| audited.enqueue(0, 512));
        let order: Vec<_> = std::iter::from_fn(|| audited.dequeue()).collect();
        assert_eq!(order.len(), 43);
        assert!(
            order.iter().position(|flow| *flow == 2) < Some(12),
            "nobody has the link alone: {order:?}"
        );
    }
}

/// A class is removed during its service and charged too much: other classes starve.
#[test]
fn known_bug_12_a_flow_removed_in_its_service_leaves_the_others_their_share() {
    for served in 0..20 {
        let mut audited = Audited::new(build(8), 16);
        for flow in 0..16 {
            audited.set_flow(flow, 1 + flow as u32 / 8, 1500);
            (0..8).for_each(|_| audited.enqueue(flow, 1500));
        }
        (0..served).for_each(|_| assert!(audited.dequeue().is_some()));
        let removed = [0, 1, 2, 3, 4, 5, 6];
        for flow in removed {
            audited.remove_flow(flow);
            while !audited.waiting[flow].is_empty() {
                audited.evict_flow(flow);
            }
        }
        let next: Vec<_> = (0..30).filter_map(|_| audited.dequeue()).collect();
        assert!(
            next.contains(&7),
            "after {served}: the one that stays is not charged for the others: {next:?}"
        );
        removed.iter().for_each(|flow| audited.enqueue(*flow, 512));
        while audited.dequeue().is_some() {}
    }
}

/// A class is re-weighted while waiting or in service: its slot is outside the array, or the class
/// is lost.
#[test]
fn known_bug_13_weights_and_lengths_may_change_at_any_time() {
    let runs = if cfg!(debug_assertions) { 80 } else { 1000 };
    (0..runs).for_each(|seed| {
        random_operations(
            build(SIZES[seed as usize % 4]),
            1_000_000 + seed,
            500,
            0.4,
            2 + seed as usize % 20,
            true,
        )
    });
}

/// V jumped while the only aggregate was in service, and that aggregate starved behind new
/// arrivals.
#[test]
fn known_bug_14_v_stays_while_an_aggregate_is_served() {
    let refill = Some(Refill {
        low: 0,
        burst: 1,
        after: 0,
        packets: 1000,
    });
    let late = Source {
        refill,
        arrivals: vec![700],
        ..Source::burst(1, 1500, 0)
    };
    let sources = vec![
        Source {
            refill,
            ..Source::burst(1, 1500, 1)
        },
        late,
    ];
    for aggregate in SIZES {
        let order = Workload {
            name: "coming back",
            seed: 0,
            sources: sources.clone(),
        }
        .outcome(&of(aggregate))
        .order;
        assert!(
            order[..1000]
                .windows(8)
                .all(|window| window.contains(&0) && window.contains(&1)),
            "{:?}",
            &order[..40]
        );
    }
    // A light aggregate far ahead of V is served alone; a heavy flow arrives during the service.
    let mut scheduler = build(8);
    (0..2).for_each(|flow| set(&mut scheduler, flow, 1, 1500));
    set(&mut scheduler, 2, 1000, 1500);
    (0..40).for_each(|packet| put(&mut scheduler, packet % 2, 1500));
    assert_eq!((0..7).filter_map(|_| scheduler.dequeue(NOW)).count(), 7);
    (0..200).for_each(|_| put(&mut scheduler, 2, 1500));
    let order: Vec<_> = (0..100)
        .filter_map(|_| scheduler.dequeue(NOW))
        .map(|packet| packet.flow.0)
        .collect();
    assert!(
        order[2..].iter().filter(|flow| **flow == 2).count() > 90,
        "the heavy flow has nearly all of the link: {order:?}"
    );
}

/// V crosses many slots at once: the shift by their number overflows, and groups stay ineligible.
#[test]
fn known_bug_15_v_crosses_many_slots_at_once() {
    let mut audited = Audited::new(build(8), 12);
    (0..8).for_each(|flow| audited.set_flow(flow, 1, 8192));
    audited.set_flow(8, 1, 512);
    audited.enqueue(8, 1);
    for round in 0..40 {
        (0..8).for_each(|flow| audited.enqueue(flow, 8192));
        (0..8).for_each(|_| assert!(audited.dequeue().is_some()));
        audited.enqueue(8, 1 + round);
        audited.set_flow(9, if round % 20 < 10 { 1024 } else { 1 }, 512);
        audited.enqueue(9, 64);
        (0..2).for_each(|_| assert!(audited.dequeue().is_some()));
    }
    while audited.dequeue().is_some() {}
}

/// A flow takes the whole link while another is idle, until V has wrapped once, a little less, a
/// little more, and half.
#[test]
fn known_bug_16_a_flow_keeps_its_share_after_virtual_time_wrapped() {
    // As in QFQ's test: a packet advances V by 2^45. Different lengths give two aggregates.
    const TURN: u64 = 1 << (64 - 45);
    let (busy, idle) = (FlowId(70), FlowId(71));
    for packets in [
        TURN / 2 - 1,
        TURN / 2 + 1,
        TURN - 2,
        TURN - 1,
        TURN,
        TURN + 1,
    ] {
        let mut scheduler: QfqPlus<u64> = build(8);
        let send = |scheduler: &mut QfqPlus<u64>, flow| {
            scheduler
                .enqueue(NOW, Packet::new(flow, 65_535, 0))
                .expect("not too long")
        };
        for (flow, max_packet_len) in [(busy, 65_535), (idle, 1 << 16)] {
            scheduler
                .set_flow(
                    flow,
                    FlowConfig {
                        weight: 1,
                        max_packet_len,
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
        assert!(
            (7..=13).contains(&served),
            "after {packets} packets: {order:?}"
        );
        scheduler.check_invariants();
    }
}

/// CVE-2026-43496 and others: the head packet of a class changes while the parent serves the class.
/// A flow refilled during service continues as if all its packets had waited.
#[test]
fn known_bug_18_a_flow_that_is_refilled_keeps_its_place() {
    for aggregate in SIZES {
        let (mut refilled, mut full) = (build(aggregate), build(aggregate));
        for flow in 0..20 {
            for scheduler in [&mut refilled, &mut full] {
                set(scheduler, flow, 1 + flow % 3, 1000);
                put(scheduler, flow, 700);
            }
        }
        (0..20).for_each(|flow| (0..30).for_each(|_| put(&mut full, flow, 700)));
        for _ in 0..300 {
            let mut refill = |flow| Some(Packet::new(flow, 700, 0));
            let served = refilled
                .dequeue_refilled(NOW, &mut refill)
                .map(|packet| packet.flow);
            assert_eq!(served, full.dequeue(NOW).map(|packet| packet.flow));
        }
        assert_eq!(refilled.backlog().packets, 20, "one each");
    }
}

/// Nine light flows, each an aggregate, wait in one slot while a heavy flow goes first, until they
/// are two slots late. Then all aggregates but the last grow: if their lag grew too, the last would
/// wait for all of it.
#[test]
fn what_an_aggregate_is_owed_does_not_grow_with_its_flows() {
    let (mut scheduler, heavy) = (build(64), 1_000);
    for flow in 0..9 {
        set(&mut scheduler, flow, 1, 2048 - flow);
        (0..if flow < 8 { 40 } else { 1 }).for_each(|_| put(&mut scheduler, flow, 2048 - flow));
    }
    set(&mut scheduler, heavy, 1015, 1 << 16);
    (0..100).for_each(|_| put(&mut scheduler, heavy, 1 << 16));
    let served = (0..59)
        .filter_map(|_| scheduler.dequeue(NOW))
        .filter(|packet| packet.flow.0 == heavy);
    assert_eq!(served.count(), 59, "the heavy flow goes first");
    for flow in (9..9 * 31).filter(|flow| flow % 9 < 8) {
        set(&mut scheduler, flow, 1, 2048 - flow % 9);
    }
    let mut light = 0;
    while let Some(packet) = scheduler.dequeue(NOW).filter(|packet| packet.flow.0 != 8) {
        scheduler.check_invariants();
        light += u32::from(packet.flow.0 != heavy);
    }
    assert!(
        light <= 32,
        "it waits for {light} packets of light flows, more than one aggregate may send"
    );
}

/// M may change while packets wait: after the change no aggregate is larger.
#[test]
fn the_size_of_aggregates_changes_while_packets_wait() {
    let mut scheduler = busy();
    for aggregate in [1, 64, 2, 8, 3] {
        of(aggregate).reconfigure(&mut scheduler).expect("legal");
        scheduler.check_invariants();
        (0..12).for_each(|flow| put(&mut scheduler, flow, 500));
        assert_eq!((0..12).filter_map(|_| scheduler.dequeue(NOW)).count(), 12);
    }
    assert_eq!(drain(&mut scheduler).len(), 42);
}

/// A flow with a far too large `maxpkt` does not hold the link longer.
#[test]
fn a_longest_packet_set_too_large_holds_up_nobody() {
    let mut scheduler = build(1);
    set(&mut scheduler, 0, 1, 1 << 16);
    set(&mut scheduler, 1, 1, 512);
    (0..100).for_each(|packet| put(&mut scheduler, packet % 2, 500));
    let order = drain(&mut scheduler);
    let alternates = |order: &[u32]| {
        order
            .windows(9)
            .all(|window| window.contains(&0) && window.contains(&1))
    };
    assert!(alternates(&order[..80]), "{order:?}");
    // With a budget of 64 KB flow 0 would send its whole queue at once.
    let at_once: Vec<_> = [1].into_iter().chain([0; 50]).chain([1; 49]).collect();
    assert!(!alternates(&at_once[..80]), "the check finds it");
}

/// Flows that are always backlogged, beside others that come, go and change. The service due to
/// each is its weight over the sum of weights reported by the scheduler, packet by packet.
struct Company<S> {
    scheduler: S,
    /// The backlogged flows: lengths, weight, lag since the flow was furthest ahead, and the
    /// largest lag.
    stay: Vec<(Lengths, u32, f64, f64)>,
    random: Pcg64,
    least_total: u64,
    sent: u64,
}

impl<S: Scheduler<u64>> Company<S> {
    fn new(
        scheduler: S,
        kinds: impl IntoIterator<Item = (FlowConfig, Lengths)>,
        seed: u64,
    ) -> Self {
        let random = Pcg64::seed_from_u64(seed);
        let mut company = Self {
            scheduler,
            stay: Vec::new(),
            random,
            least_total: u64::MAX,
            sent: 0,
        };
        for (config, lengths) in kinds {
            let flow = company.stay.len();
            company.set(flow, config);
            company.stay.push((lengths, config.weight, 0.0, 0.0));
            (0..3).for_each(|_| company.put(flow));
        }
        company
    }

    fn set(&mut self, flow: usize, config: FlowConfig) {
        self.scheduler
            .set_flow(FlowId(flow as u32), config)
            .expect("legal");
    }

    fn put(&mut self, flow: usize) {
        let len = match &self.stay[flow].0 {
            Lengths::Uniform(short, long) => self.random.random_range(*short..=*long),
            Lengths::Fixed(len) => *len,
            _ => panic!("not used here"),
        };
        self.scheduler
            .enqueue(NOW, Packet::new(FlowId(flow as u32), len, 0))
            .expect("not too long");
    }

    fn dequeue(&mut self, otherwise: u64) {
        let total = self.scheduler.total_weight().unwrap_or(otherwise);
        self.least_total = self.least_total.min(total);
        let Packet { flow, len, .. } = self
            .scheduler
            .dequeue(NOW)
            .expect("they always have packets");
        self.sent += u64::from(len);
        for (number, (_, weight, behind, most)) in self.stay.iter_mut().enumerate() {
            *behind += f64::from(len) * f64::from(*weight) / total as f64;
            *most = most.max(*behind);
            if number == flow.index() {
                *behind = (*behind - f64::from(len)).max(0.0);
            }
        }
        if flow.index() < self.stay.len() {
            self.put(flow.index());
        }
    }

    /// The largest measured/bound of all backlogged flows, with packets of up to `longest`.
    fn ratio(&self, aggregate: u32, kinds: &[FlowConfig], flows: u64, longest: u32) -> f64 {
        let rate = Rate::from_bits_per_second(8_000_000_000).expect("legal");
        let ratio = |((_, weight, _, most), config): (&(Lengths, u32, f64, f64), &FlowConfig)| {
            let (weight, total_weight, max_packet_len) =
                (*weight, self.least_total, config.max_packet_len);
            let share = Share {
                weight,
                total_weight,
                least_weight: 1,
                flows,
                max_packet_len,
                link_max_packet_len: longest,
                rate,
            };
            let bound = of(aggregate)
                .guarantees(&share)
                .b_wfi
                .expect("promised")
                .value;
            most / (bound as f64 + ROUNDING * self.sent as f64)
        };
        self.stay.iter().zip(kinds).map(ratio).fold(0.0, f64::max)
    }
}

const OFTEN: [usize; 3] = [1, 10, 100];
const PACKETS: usize = if cfg!(debug_assertions) {
    3_000
} else {
    100_000
};

fn alike_or_not(is_alike: bool, weight: u32) -> Vec<FlowConfig> {
    (0..64)
        .map(|flow| FlowConfig {
            weight,
            max_packet_len: if is_alike { 1500 } else { 1500 + flow },
        })
        .collect()
}

/// Sixty-four backlogged flows, alike or not, while `change` is called every one, ten and hundred
/// packets. The second argument of `change` is the number of earlier calls.
fn takes_nothing(what: &str, weight: u32, change: impl Fn(&mut dyn Scheduler<u64>, u32)) {
    for (aggregate, is_alike) in SIZES
        .into_iter()
        .flat_map(|aggregate| [(aggregate, false), (aggregate, true)])
    {
        let kinds = alike_or_not(is_alike, weight);
        for every in OFTEN {
            let mut company = Company::new(
                build(aggregate),
                kinds.iter().map(|kind| (*kind, Lengths::Fixed(1500))),
                1,
            );
            for packet in 0..PACKETS {
                if packet % every == 0 {
                    change(&mut company.scheduler, (packet / every) as u32);
                }
                company.dequeue(0);
            }
            let ratio = company.ratio(aggregate, &kinds, 64 + 100, 2048);
            println!(
                "{what}: M = {aggregate}, alike: {is_alike}, every {every} packets: measured/bound {ratio:.3}"
            );
            assert!(
                ratio <= 1.0,
                "M = {aggregate}, alike: {is_alike}, every {every} packets: {ratio:.3} of the bound"
            );
        }
    }
}

#[test]
fn an_idle_flow_that_joins_and_leaves_takes_nothing_from_its_aggregate() {
    let kind = FlowConfig {
        weight: 1,
        max_packet_len: 1500,
    };
    takes_nothing("joins and leaves at once", 1, |scheduler, _| {
        scheduler.set_flow(FlowId(100), kind).expect("legal");
        scheduler.remove_flow(FlowId(100));
    });
    takes_nothing(
        "joins, and leaves the next time",
        1,
        |scheduler, turn| match turn % 2 {
            0 => scheduler.set_flow(FlowId(100), kind).expect("legal"),
            _ => scheduler.remove_flow(FlowId(100)),
        },
    );
    takes_nothing(
        "ten join one by one, and leave one by one",
        1,
        |scheduler, turn| match turn % 20 {
            flow @ 0..10 => scheduler.set_flow(FlowId(100 + flow), kind).expect("legal"),
            flow => scheduler.remove_flow(FlowId(90 + flow)),
        },
    );
}

#[test]
fn a_flow_with_packets_that_comes_and_goes_takes_nothing_from_its_aggregate() {
    takes_nothing(
        "comes with a packet, goes when it has left",
        1,
        |scheduler, turn| {
            let flow = FlowId(100 + turn % 50);
            scheduler
                .set_flow(
                    flow,
                    FlowConfig {
                        weight: 1,
                        max_packet_len: 1500,
                    },
                )
                .expect("legal");
            scheduler
                .enqueue(
                    NOW,
                    Packet::new(flow, [1500, 64, 1500, 1][turn as usize / 50 % 4], 0),
                )
                .expect("not too long");
            scheduler.remove_flow(flow);
        },
    );
}

/// Each flow goes after its turn, and the next has its turn with one flow fewer: if weights left
/// with the flows, the rest of the turn would be charged to fewer and fewer flows, and the
/// remaining flow would pay for everything.
#[test]
fn flows_that_go_one_by_one_after_a_packet_take_nothing_from_their_aggregate() {
    takes_nothing("seven at a time", 1, |scheduler, _| {
        let visitors = if scheduler.backlog().packets == 64 * 3 {
            100..107
        } else {
            0..0
        };
        for flow in visitors.map(FlowId) {
            scheduler
                .set_flow(
                    flow,
                    FlowConfig {
                        weight: 1,
                        max_packet_len: 1500,
                    },
                )
                .expect("legal");
            scheduler
                .enqueue(NOW, Packet::new(flow, 1500, 0))
                .expect("not too long");
            scheduler.remove_flow(flow);
        }
    });
}

#[test]
fn an_unknown_flow_that_comes_with_a_packet_takes_nothing_from_its_aggregate() {
    takes_nothing("unknown, once", 1, |scheduler, turn| {
        let flow = FlowId(100 + turn % 5_000);
        scheduler
            .enqueue(NOW, Packet::new(flow, [64, 2048][turn as usize % 2], 0))
            .expect("not too long");
        scheduler.remove_flow(flow);
    });
}

/// The changed flow keeps its share too.
#[test]
fn a_flow_that_is_re_weighted_takes_nothing_and_loses_nothing() {
    let set = |scheduler: &mut dyn Scheduler<u64>, flow, weight, max_packet_len| {
        scheduler
            .set_flow(
                FlowId(flow),
                FlowConfig {
                    weight,
                    max_packet_len,
                },
            )
            .expect("legal");
    };
    takes_nothing("one, up and down", 1000, |scheduler, turn| {
        set(scheduler, 0, 1000 + turn % 2, 1500)
    });
    takes_nothing("all by turns, up and down", 1000, |scheduler, turn| {
        set(scheduler, turn % 64, 1000 + turn / 64 % 2, 1500 + turn % 64)
    });
    takes_nothing("an idle one, up and down", 1000, |scheduler, turn| {
        set(scheduler, 100, 1000 + turn % 2, 1500)
    });
    takes_nothing("one, longer and shorter", 1000, |scheduler, turn| {
        set(scheduler, 0, 1000, 1500 + turn % 2)
    });
}

/// Backlogged flows of a few kinds; other flows of the same kinds are set, re-weighted, removed and
/// refilled at random.
fn comings_and_goings<S: Scheduler<u64>>(scheduler: S, seed: u64, aggregate: u32) -> f64 {
    let mut random = Pcg64::seed_from_u64(seed);
    let kinds: Vec<_> = (0..random.random_range(1..=3))
        .map(|_| FlowConfig {
            weight: 1 << random.random_range(0..=4),
            max_packet_len: 512 << random.random_range(0..=3),
        })
        .collect();
    let stay: Vec<_> = (0..random.random_range(2..=40))
        .map(|_| kinds[random.random_range(0..kinds.len())])
        .collect();
    let lengths = |config: &FlowConfig, random: &mut Pcg64| {
        Lengths::Uniform(
            random.random_range(1..=config.max_packet_len),
            config.max_packet_len,
        )
    };
    let stay_and_send: Vec<_> = stay
        .iter()
        .map(|config| (*config, lengths(config, &mut random)))
        .collect();
    let mut company = Company::new(scheduler, stay_and_send, seed);
    let changes = [0.02, 0.2, 0.8][seed as usize % 3];
    let others = stay.len()..stay.len() + 1 + random.random_range(0..20);
    // If the scheduler does not report a sum: as if all others were there with the largest weight.
    let otherwise = stay
        .iter()
        .map(|config| u64::from(config.weight))
        .sum::<u64>()
        + 17 * others.len() as u64;
    for _ in 0..PACKETS / 5 {
        while random.random_bool(changes) {
            let (flow, config) = (
                random.random_range(others.clone()),
                kinds[random.random_range(0..kinds.len())],
            );
            let put = |company: &mut Company<S>, len| {
                company
                    .scheduler
                    .enqueue(NOW, Packet::new(FlowId(flow as u32), len, 0))
                    .is_ok()
            };
            match random.random_range(0..5) {
                0 => company.set(flow, config),
                1 => company.set(
                    flow,
                    FlowConfig {
                        weight: config.weight + 1,
                        ..config
                    },
                ),
                2 => company.scheduler.remove_flow(FlowId(flow as u32)),
                _ => {
                    put(&mut company, random.random_range(0..=config.max_packet_len));
                }
            }
        }
        company.dequeue(otherwise);
    }
    company.ratio(aggregate, &stay, others.end as u64, 4096)
}

#[test]
fn whoever_comes_goes_and_changes_those_who_stay_keep_the_bound() {
    let runs = if cfg!(debug_assertions) { 120 } else { 3_000 };
    for aggregate in SIZES {
        let ratios =
            (0..runs).map(|seed| (comings_and_goings(build(aggregate), seed, aggregate), seed));
        let (worst, seed) = ratios
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .expect("not empty");
        println!("comings and goings, M = {aggregate}: measured/bound {worst:.3} (seed {seed})");
        assert!(worst <= 1.0, "M = {aggregate}, seed {seed}: {worst}");
    }
    let drr = |seed| {
        comings_and_goings(
            drr::Config { quantum: 1 << 16 }
                .build(Seed::new(1))
                .expect("legal"),
            seed,
            8,
        )
    };
    let drr = (0..20).map(drr).fold(0.0, f64::max);
    println!("comings and goings: DRR reaches {drr:.3} of the bound for M = 8");
    assert!(drr > 1.0, "DRR must break the bound, or the check is blind");
}
