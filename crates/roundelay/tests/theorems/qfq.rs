//! QFQ: service bounds (Theorems 1 and 2), sets and slots (Theorems 3 to 8), known bugs of other
//! implementations, and invariances.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::schedulers::qfq::{self, Qfq};
use roundelay::schedulers::{Discipline, drr};
use roundelay::{
    Backlog, FlowConfig, FlowId, Footprint, Guarantees, Instant, Packet, Refused, Scheduler,
};
use roundelay::{Control, Seed};
use roundelay_metrics::Stamp;

use crate::theorems::audited::{Audited, drain, put, random_operations, saturated_bursts, set};
use crate::theorems::strata;
use crate::theorems::workload::{Driven, Ratios, Refill, Source, Workload, adversaries};

const NOW: Instant = Instant::ZERO;
const RUNS: u64 = 10_000;
/// Weights up to 1024 in units of 2^-30: the part of the service by which rounding may move V
/// against a flow.
const ROUNDING: f64 = 1.0 / (1u64 << 20) as f64;

fn qfq_ratios(workload: &Workload) -> Ratios {
    workload.ratios(&qfq::Config, &workload.outcome(&qfq::Config), ROUNDING)
}

/// The largest ratio over many random workloads; checks that each ratio is at most 1.
fn largest_ratio(theorem: &str, ratio: fn(&Ratios) -> f64) {
    let mut largest = (0.0, 0, "");
    for seed in 0..RUNS {
        let workload = Workload::random(seed);
        let reached = ratio(&qfq_ratios(&workload));
        assert!(
            reached <= 1.0,
            "{theorem}, workload {} of seed {seed}: {reached} of the bound",
            workload.name
        );
        largest = if reached > largest.0 {
            (reached, seed, workload.name)
        } else {
            largest
        };
    }
    let adversarial = ratio(&qfq_ratios(&adversaries::for_start_slots()));
    println!(
        "{theorem}: largest measured/bound {:.3} in {RUNS} random workloads (seed {}, {})",
        largest.0, largest.1, largest.2
    );
    println!("{theorem}: measured/bound {adversarial:.3} in the adversarial workload");
    assert!(
        adversarial > 0.9 && adversarial <= 1.0,
        "{theorem}: the adversarial workload comes close to the bound: {adversarial}"
    );
    let workload = adversaries::for_start_slots();
    // The quantum is the longest packet, as DRR needs for constant cost.
    let drr = drr::Config { quantum: 1 << 16 };
    let drr = ratio(&workload.ratios(&qfq::Config, &workload.outcome(&drr), ROUNDING));
    println!("{theorem}: DRR reaches {drr:.3} of the same bound in the same workload");
    assert!(
        drr > 1.0,
        "{theorem}: DRR must break the bound of QFQ, or the check is blind"
    );
}

#[test]
fn theorem_1_b_wfi() {
    largest_ratio("Theorem 1", |ratios| ratios.b_wfi.max(ratios.b_wfi_by_bit));
}

#[test]
fn theorem_2_t_wfi() {
    largest_ratio("Theorem 2", |ratios| ratios.t_wfi);
}

/// Measures how late packets leave after GRC(p) = max(arrival, GRC(p - 1)) + len / r, at a byte a
/// nanosecond.
struct Timed<S> {
    scheduler: S,
    /// Weights, and their sum.
    weights: Vec<i128>,
    total: i128,
    /// GRC of the waiting packets and of the latest arrival, in nanoseconds times the flow's
    /// weight.
    waiting: Vec<VecDeque<i128>>,
    last: Vec<i128>,
    /// The largest lateness of each flow, in the same unit.
    latest: Rc<RefCell<Vec<i128>>>,
}

impl<S: Scheduler<Stamp>> Scheduler<Stamp> for Timed<S> {
    fn enqueue(&mut self, now: Instant, packet: Packet<Stamp>) -> Result<(), Refused<Stamp>> {
        let (flow, arrival) = (packet.flow.index(), i128::from(now.as_picos() / 1000));
        self.last[flow] =
            self.last[flow].max(arrival * self.weights[flow]) + i128::from(packet.len) * self.total;
        self.waiting[flow].push_back(self.last[flow]);
        self.scheduler.enqueue(now, packet)
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<Stamp>> {
        let packet = self.scheduler.dequeue(now)?;
        let (flow, end) = (
            packet.flow.index(),
            i128::from(now.as_picos() / 1000) + i128::from(packet.len),
        );
        let late =
            end * self.weights[flow] - self.waiting[flow].pop_front().expect("first in, first out");
        let latest = &mut self.latest.borrow_mut()[flow];
        *latest = late.max(*latest);
        Some(packet)
    }

    fn evict(&mut self) -> Option<Packet<Stamp>> {
        None
    }

    fn backlog(&self) -> Backlog {
        self.scheduler.backlog()
    }
}

impl<S: Scheduler<Stamp>> Control for Timed<S> {
    fn footprint(&self) -> Footprint {
        self.scheduler.footprint()
    }
}

/// The largest lateness of `served_by` over the latency bound of `promised_by`.
pub(crate) fn lateness<D: Discipline, P: Discipline>(
    workload: &Workload,
    served_by: &D,
    promised_by: &P,
) -> f64 {
    let weights: Vec<i128> = workload
        .sources
        .iter()
        .map(|source| source.config.weight.into())
        .collect();
    let flows = weights.len();
    let latest = Rc::new(RefCell::new(vec![0; flows]));
    let timed = Timed {
        scheduler: workload.scheduler(served_by),
        total: weights.iter().sum(),
        weights: weights.clone(),
        waiting: vec![VecDeque::new(); flows],
        last: vec![0; flows],
        latest: Rc::clone(&latest),
    };
    let slack = ROUNDING * workload.driven(timed).total() as f64;
    let ratio = |(flow, late): (usize, &i128)| {
        let bound = workload
            .guarantees(promised_by, flow)
            .latency
            .expect("promised")
            .value;
        // A nanosecond for truncation.
        *late as f64 / weights[flow] as f64 / (bound.as_secs_f64() * 1e9 + slack + 1.0)
    };
    latest
        .borrow()
        .iter()
        .enumerate()
        .map(ratio)
        .fold(0.0, f64::max)
}

#[test]
fn latency_is_that_of_the_b_wfi() {
    let worst = (0..RUNS / 4).map(|seed| {
        (
            lateness(&Workload::random(seed), &qfq::Config, &qfq::Config),
            seed,
        )
    });
    let (worst, seed) = worst
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .expect("not empty");
    let crowded = lateness(&adversaries::for_start_slots(), &qfq::Config, &qfq::Config);
    let drr = lateness(
        &adversaries::for_start_slots(),
        &drr::Config { quantum: 1 << 16 },
        &qfq::Config,
    );
    println!(
        "latency: measured/bound {worst:.3} at random (seed {seed}), {crowded:.3} crowded out; DRR {drr:.3}"
    );
    assert!(worst <= 1.0 && crowded <= 1.0 && worst.max(crowded) > 0.5 && drr > 1.0);
}

/// Theorems 1 and 2 as printed, in bytes and in seconds.
fn as_printed(workload: &Workload, flow: usize) -> (f64, f64) {
    let Guarantees {
        b_wfi: Some(b_wfi),
        t_wfi: Some(t_wfi),
        ..
    } = workload.guarantees(&qfq::Config, flow).as_printed()
    else {
        panic!("both are promised")
    };
    (b_wfi.value as f64, t_wfi.value.as_secs_f64())
}

/// A packet less than the proven bounds: 3 phi sigma + 2 phi L in bytes, (3 sigma + 2 L) / R in
/// seconds.
#[test]
fn the_printed_bounds_lack_a_packet() {
    let workload = adversaries::for_start_slots();
    let share = workload.share(0);
    let missing = u64::from(share.max_packet_len);
    let proven = workload.guarantees(&qfq::Config, 0);
    let printed = proven.as_printed();
    assert_eq!(
        proven.b_wfi.map(|bound| bound.value - missing),
        printed.b_wfi.map(|bound| bound.value)
    );
    let late = share.rate.time_of(share.per_share(missing));
    assert_eq!(
        proven.t_wfi.map(|bound| bound.value - late),
        printed.t_wfi.map(|bound| bound.value)
    );
    assert_eq!(
        printed.b_wfi.map(|bound| bound.value),
        Some(3 * 2048 + share.of(2 * 65_408))
    );
}

/// The printed bounds do not hold: the proofs miss that a flow may be two slots ahead of V.
#[test]
fn theorems_1_and_2_as_printed_are_exceeded() {
    let workload = adversaries::for_start_slots();
    let outcome = workload.outcome(&qfq::Config);
    let (bytes, seconds) = as_printed(&workload, 0);
    println!(
        "B-WFI: measured {:.0} bytes, printed bound {bytes}",
        outcome.b_wfi_by_bit[0]
    );
    println!(
        "T-WFI: measured {:.6} s, printed bound {seconds:.6} s",
        outcome.t_wfi[0]
    );
    assert!(outcome.b_wfi[0] > 1.2 * bytes && outcome.t_wfi[0] > 1.2 * seconds);
    let mut largest = (0.0f64, 0.0f64);
    for seed in 0..RUNS / 4 {
        let workload = Workload::random(seed);
        let outcome = workload.outcome(&qfq::Config);
        for flow in 0..workload.sources.len() {
            let (bytes, seconds) = as_printed(&workload, flow);
            largest = (
                largest.0.max(outcome.b_wfi_by_bit[flow] / bytes),
                largest.1.max(outcome.t_wfi[flow] / seconds),
            );
        }
    }
    println!(
        "random workloads reach {:.3} of the printed B-WFI and {:.3} of the printed T-WFI",
        largest.0, largest.1
    );
}

#[test]
fn theorems_3_to_8_hold_after_each_operation() {
    let runs = if cfg!(debug_assertions) { 150 } else { 1500 };
    for seed in 0..runs {
        random_operations(
            Qfq::default(),
            seed,
            500,
            [0.0, 0.02, 0.2][seed as usize % 3],
            40,
            true,
        );
    }
    (0..20 * runs).for_each(|seed| saturated_bursts(Qfq::default(), seed));
}

#[test]
fn known_bug_16_a_flow_keeps_its_share_after_virtual_time_wrapped() {
    strata::keeps_shares_when_virtual_time_wraps(Qfq::default, 45, 3);
}

/// The complete state of a scheduler, for comparison.
fn state<T: std::fmt::Debug>(scheduler: &T) -> String {
    format!("{scheduler:?}")
}

/// A scheduler in the middle of work, in several groups.
fn busy() -> Qfq<u64> {
    let mut qfq = Qfq::<u64>::default();
    for flow in 0..8 {
        set(&mut qfq, flow, 1 << flow, 512 << (flow % 4));
        (0..4).for_each(|_| put(&mut qfq, flow, 512));
    }
    assert_eq!((0..5).filter_map(|_| qfq.dequeue(NOW)).count(), 5);
    qfq
}

/// CVE-2023-31436 and its return: the longest packet is set from a huge MTU, and the group index
/// exceeds the array.
#[test]
fn known_bug_01_a_longest_packet_out_of_range_is_refused() {
    for max_packet_len in [0, 511, (1 << 16) + 1, i32::MAX as u32, u32::MAX] {
        let mut qfq = busy();
        assert!(
            qfq.set_flow(
                FlowId(3),
                FlowConfig {
                    weight: 1,
                    max_packet_len
                }
            )
            .is_err()
        );
        assert_eq!(state(&qfq), state(&busy()));
    }
    let mut qfq = Qfq::<u64>::default();
    set(&mut qfq, 0, 1, 1 << 16);
    put(&mut qfq, 0, 1 << 16);
    assert_eq!(
        drain(&mut qfq),
        [0],
        "the longest packet at the smallest weight"
    );
}

/// CVE-2023-3611: a packet is longer than the limit of its class.
#[test]
fn known_bug_02_a_packet_longer_than_the_longest_changes_nothing() {
    let mut qfq = busy();
    for (flow, len) in [(0, 513), (3, 4097), (0, u32::MAX), (5_000, 2049)] {
        let packet = Packet::new(FlowId(flow), len, 7);
        assert_eq!(
            qfq.enqueue(NOW, packet).map_err(|refused| refused.packet),
            Err(packet)
        );
        assert_eq!(state(&qfq), state(&busy()), "flow {flow}, {len} bytes");
    }
}

/// CVE-2026-22999: a change fails half-way.
#[test]
fn known_bug_07_a_change_that_fails_changes_nothing() {
    for (weight, max_packet_len) in [(0, 1500), (1025, 1500), (u32::MAX, 1500), (10, 0), (0, 0)] {
        let mut qfq = busy();
        assert!(
            qfq.set_flow(
                FlowId(2),
                FlowConfig {
                    weight,
                    max_packet_len
                }
            )
            .is_err()
        );
        assert!(
            qfq.set_flow(
                FlowId(900),
                FlowConfig {
                    weight,
                    max_packet_len
                }
            )
            .is_err()
        );
        assert_eq!(state(&qfq), state(&busy()));
        assert_eq!(drain(&mut qfq), drain(&mut busy()));
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
    let order = workload.outcome(&qfq::Config).order;
    let windows = order[..200]
        .windows(6)
        .filter(|window| !window.contains(&0) || window.iter().all(|flow| *flow == 0));
    assert_eq!(
        windows.count(),
        0,
        "A and the Bs alternate, give or take: {:?}",
        &order[..60]
    );
    assert!(qfq_ratios(&workload).t_wfi <= 1.0);
}

/// QFQ+'s budget wrapped: the longest packet was set below the length of a waiting packet.
#[test]
fn known_bug_11_a_longest_packet_may_be_lowered_below_what_waits() {
    let mut audited = Audited::new(Qfq::default(), 3);
    for flow in 0..3 {
        audited.set_flow(flow, 1, 1 << 16);
        (0..8).for_each(|packet| audited.enqueue(flow, 1 << (16 - packet)));
    }
    audited.dequeue();
    audited.set_flow(0, 1, 512);
    audited.set_flow(1, 1024, 512);
    let order: Vec<_> = std::iter::from_fn(|| audited.dequeue()).collect();
    assert_eq!(order.len(), 23);
    assert!(
        order.iter().position(|flow| *flow == 2) < Some(12),
        "nobody has the link alone: {order:?}"
    );
}

/// A class is removed during its service and charged too much: other classes starve.
#[test]
fn known_bug_12_a_removed_flow_leaves_the_others_their_share() {
    let mut qfq = busy();
    for flow in 4..8 {
        qfq.remove_flow(FlowId(flow));
    }
    assert_eq!(qfq.backlog().packets, 27, "what waits still goes");
    let order = drain(&mut qfq);
    assert!((0..8).all(|flow| order.iter().filter(|served| **served == flow).count() <= 4));
    (0..8).for_each(|flow| put(&mut qfq, flow, 512));
    assert_eq!(drain(&mut qfq).len(), 8, "removed flows may come again");
}

/// A class is re-weighted while waiting: its slot is outside the array, or the class is lost.
#[test]
fn known_bug_13_weights_and_lengths_may_change_at_any_time() {
    let runs = if cfg!(debug_assertions) { 100 } else { 1000 };
    (0..runs)
        .for_each(|seed| random_operations(Qfq::default(), 1_000_000 + seed, 600, 0.4, 40, true));
}

/// The same, by hand: a flow served far ahead of V gets a weight with slots 2^15 times as short.
#[test]
fn known_bug_13_a_flow_far_ahead_gets_short_slots() {
    strata::a_flow_far_ahead_gets_short_slots(Qfq::default());
}

/// V jumped while the only flow was in service, and that flow starved behind new arrivals.
#[test]
fn known_bug_14_flows_that_come_back_at_once_share_the_link() {
    let refill = Some(Refill {
        low: 0,
        burst: 1,
        after: 0,
        packets: 1000,
    });
    let sources = vec![
        Source {
            refill,
            ..Source::burst(1, 1500, 1)
        },
        Source {
            refill,
            arrivals: vec![700],
            ..Source::burst(1, 1500, 0)
        },
    ];
    let order = Workload {
        name: "coming back",
        seed: 0,
        sources,
    }
    .outcome(&qfq::Config)
    .order;
    assert!(
        order[..1000]
            .windows(6)
            .all(|window| window.contains(&0) && window.contains(&1)),
        "{:?}",
        &order[..40]
    );
}

/// V crosses many slots at once: the shift by their number overflows, and groups stay ineligible.
#[test]
fn known_bug_15_v_crosses_many_slots_at_once() {
    let mut audited = Audited::new(Qfq::default(), 3);
    audited.set_flow(0, 1, 1 << 16);
    audited.set_flow(1, 1, 512);
    audited.enqueue(1, 1);
    audited.enqueue(1, 1);
    audited.dequeue();
    for round in 0..40 {
        audited.enqueue(0, 1 << 16);
        audited.dequeue();
        audited.enqueue(1, 1 + round);
        if round == 20 {
            audited.set_flow(2, 1024, 512);
        }
        audited.enqueue(2, 64);
        audited.dequeue();
    }
    while audited.dequeue().is_some() {}
}

/// CVE-2026-43496 and others: the head packet of a class changes while the parent serves the class.
/// A flow refilled during service continues as if all its packets had waited; a flow refilled after
/// the idle check does not.
#[test]
fn known_bug_18_a_flow_that_is_refilled_keeps_its_place() {
    let start = || {
        let mut qfq = Qfq::default();
        for flow in 0..20 {
            set(&mut qfq, flow, 1 + flow % 7, 1000);
            put(&mut qfq, flow, 700);
        }
        qfq
    };
    let (mut refilled, mut full, mut too_late) = (start(), start(), start());
    (0..20).for_each(|flow| (0..60).for_each(|_| put(&mut full, flow, 700)));
    let mut differ = 0;
    for _ in 0..300 {
        let expected = full.dequeue(NOW).map(|packet| packet.flow);
        let served = refilled.dequeue_refilled(NOW, &mut |flow| Some(Packet::new(flow, 700, 0)));
        assert_eq!(served.map(|packet| packet.flow), expected);
        let served = too_late.dequeue(NOW).map(|packet| packet.flow);
        put(&mut too_late, served.expect("work is conserved").0, 700);
        differ += u32::from(served != expected);
    }
    assert_eq!(refilled.backlog().packets, 20, "one each");
    assert!(differ > 0, "the test sees who comes too late");
}

/// After all its packets were pushed out, a scheduler behaves as a new one, whatever was in the
/// queues.
#[test]
fn known_bug_53_an_emptied_scheduler_is_as_good_as_new() {
    strata::an_emptied_scheduler_is_as_good_as_new(Qfq::default);
    // Flows emptied by service may be ahead of V; their bounds hold all the same.
    let again = Source {
        arrivals: (0..40).map(|packet| packet / 4 * 30_000).collect(),
        ..Source::burst(3, 1500, 0)
    };
    let other = Source {
        arrivals: (0..30).map(|packet| packet / 3 * 30_000).collect(),
        ..Source::burst(1, 700, 0)
    };
    let ratios = qfq_ratios(&Workload {
        name: "emptied again and again",
        seed: 0,
        sources: vec![again, other],
    });
    assert!(
        ratios.b_wfi_by_bit <= 1.0 && ratios.t_wfi <= 1.0,
        "{ratios:?}"
    );
}

#[test]
fn flow_numbers_do_not_matter_to_the_bounds() {
    for seed in 0..500 {
        let mut workload = Workload::random(seed);
        workload.sources.reverse();
        let ratios = qfq_ratios(&workload);
        assert!(
            ratios.b_wfi_by_bit <= 1.0 && ratios.t_wfi <= 1.0,
            "seed {seed}: {ratios:?}"
        );
    }
}

#[test]
fn a_flow_that_never_sends_does_not_matter_to_the_bounds() {
    for seed in 0..500 {
        let mut workload = Workload::random(seed);
        workload
            .sources
            .insert(0, Source::burst(1 + (seed % 1024) as u32, 1500, 0));
        let ratios = qfq_ratios(&workload);
        assert!(
            ratios.b_wfi_by_bit <= 1.0 && ratios.t_wfi <= 1.0,
            "seed {seed}: {ratios:?}"
        );
    }
}

/// Only ratios of weights count. With powers of two, and a sum that is one, nothing is rounded.
#[test]
fn twice_the_weights_give_the_same_order() {
    for seed in 0..500 {
        let mut workload = Workload::random(seed);
        workload
            .sources
            .iter_mut()
            .for_each(|source| source.config.weight = 1 << (source.config.weight.ilog2()).min(9));
        let mut rest = workload.total_weight().next_power_of_two() - workload.total_weight();
        while rest > 0 {
            let weight = rest.min(512) as u32;
            workload.sources.push(Source::burst(weight, 512, 0));
            rest -= u64::from(weight);
        }
        let order = workload.outcome(&qfq::Config).order;
        workload
            .sources
            .iter_mut()
            .for_each(|source| source.config.weight *= 2);
        assert_eq!(
            workload.outcome(&qfq::Config).order,
            order,
            "seed {seed}, {}",
            workload.name
        );
    }
}

#[test]
fn long_run_shares_are_the_weights() {
    let weights = [1, 3, 10, 50, 200, 1024];
    let workload = Workload {
        name: "shares",
        seed: 1,
        sources: weights
            .map(|weight| Source::burst(weight, 1500, 1))
            .to_vec(),
    };
    let mut qfq = qfq::Config.build::<u64>(Seed::new(0)).expect("legal");
    let mut random = Pcg64::seed_from_u64(1);
    for (flow, weight) in weights.iter().enumerate() {
        set(&mut qfq, flow as u32, *weight, 1500);
        (0..50).for_each(|_| put(&mut qfq, flow as u32, random.random_range(64..=1500)));
    }
    let mut served = [0u64; 6];
    for _ in 0..40_000 {
        let packet = qfq.dequeue(NOW).expect("work is conserved");
        served[packet.flow.index()] += u64::from(packet.len);
        put(&mut qfq, packet.flow.0, random.random_range(64..=1500));
    }
    let total: u64 = served.iter().sum();
    for (flow, got) in served.into_iter().enumerate() {
        let bound = workload
            .guarantees(&qfq::Config, flow)
            .b_wfi
            .expect("promised")
            .value;
        let due = workload.share(flow).of(total);
        // A flow may be ahead and others behind, but not by more than two slots.
        assert!(
            got + bound >= due && got <= due + 2 * bound,
            "flow {flow} got {got} bytes and was due {due}"
        );
    }
}

#[test]
fn thousands_of_flows_keep_their_bounds() {
    strata::thousands_of_flows_keep_their_bounds(&qfq::Config, ROUNDING);
}

/// The rows of a Markdown file's tables, without headings and rules.
fn rows(markdown: &str) -> impl Iterator<Item = Vec<&str>> {
    let tables = markdown.lines().filter(|line| {
        line.starts_with("| ") && !line.starts_with("| flow") && !line.starts_with("| call")
    });
    tables.map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

#[test]
fn the_sets_worked_by_hand() {
    let names = ["A", "B", "D", "E", "X"];
    let flow = |name: &str| {
        names
            .iter()
            .position(|known| *known == name)
            .expect("a known flow") as u32
    };
    let mut qfq = Qfq::<u64>::default();
    let mut calls = 0;
    for (number, row) in rows(include_str!("../traces/qfq-sets.md")).enumerate() {
        let words: Vec<_> = row[0].split_whitespace().collect();
        match words[..] {
            ["enqueue", name, len, "x", packets] => {
                let len = len.parse().expect("a length");
                (0..packets.parse().expect("a number"))
                    .for_each(|_: u32| put(&mut qfq, flow(name), len));
            }
            ["dequeue"] => {
                let served = qfq
                    .dequeue(NOW)
                    .map_or("none", |packet| names[packet.flow.index()]);
                assert_eq!(served, row[1], "row {number}: {row:?}");
            }
            [name] => set(
                &mut qfq,
                flow(name),
                row[1].parse().expect("a weight"),
                row[2].parse().expect("a length"),
            ),
            _ => panic!("row {number} is not understood: {row:?}"),
        }
        qfq.check_invariants();
        calls += 1;
    }
    assert_eq!(calls, 5 + 25, "all rows were read");
}
