//! SCFQ: order, fairness, and the cost of the self-clock.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::schedulers::{drr, fifo, scfq, wfq};
use roundelay::{FlowConfig, FlowId, Instant, Packet, Scheduler};
use roundelay_reference::{Number, Rational};

use crate::theorems::recorded::{Record, late_to_the_table, lateness, unfairness, wfi, workloads};
use crate::theorems::workload::Workload;

const SEEDS: u64 = 150;
const NOW: Instant = Instant::ZERO;

/// Golestani's rule to the letter, in exact numbers: F = max(F of the packet before, v) + len / r,
/// given at arrival; all values are reset when the system empties.
struct Exact {
    weights: Vec<u32>,
    now: Rational,
    last: Vec<Rational>,
    waiting: Vec<VecDeque<Rational>>,
}

impl Exact {
    fn new(weights: &[u32]) -> Self {
        let zero = || Rational::from_u64(0);
        let flows = weights.len();
        Self {
            weights: weights.to_vec(),
            now: zero(),
            last: vec![zero(); flows],
            waiting: vec![VecDeque::new(); flows],
        }
    }

    fn arrive(&mut self, flow: usize, len: u32) {
        let start = self.last[flow].clone().max(self.now.clone());
        self.last[flow] =
            start + Rational::from_u64(len.into()) / Rational::from_u64(self.weights[flow].into());
        self.waiting[flow].push_back(self.last[flow].clone());
    }

    /// The tag of the packet sent for `flow`, and how much smaller the smallest tag was.
    fn send(&mut self, flow: usize) -> (Rational, Rational) {
        let least = self
            .waiting
            .iter()
            .filter_map(VecDeque::front)
            .min()
            .cloned()
            .expect("something waits");
        let sent = self.waiting[flow].pop_front().expect("it waits");
        self.now = sent.clone();
        (sent.clone(), sent - least)
    }

    /// The system is empty and its last packet has been sent.
    fn rest(&mut self) {
        self.now = Rational::from_u64(0);
        self.last.fill(Rational::from_u64(0));
    }
}

/// Random arrivals, the backlog now growing, now shrinking to nothing. Returns the number of
/// decisions, of decisions in which times fell, and of decisions not smallest by more than 2^-20
/// bytes.
fn exercise(weights: &[u32], seed: u64, scheduler: &mut impl Scheduler<()>) -> [u32; 3] {
    let (mut random, mut exact, mut counts) =
        (Pcg64Mcg::seed_from_u64(seed), Exact::new(weights), [0; 3]);
    let tolerance = Rational::from_u64(1) / Rational::from_u64(1 << 20);
    let mut last = Rational::from_u64(0);
    for (flow, weight) in (0..).zip(weights) {
        scheduler
            .set_flow(
                FlowId(flow),
                FlowConfig {
                    weight: *weight,
                    ..FlowConfig::DEFAULT
                },
            )
            .expect("a legal weight");
    }
    for call in 0..3_000 {
        if random.random_range(0..100) < if call / 200 % 2 == 0 { 55 } else { 45 } {
            let (flow, len) = (
                random.random_range(0..weights.len()),
                random.random_range(0..=1_514),
            );
            exact.arrive(flow, len);
            scheduler
                .enqueue(NOW, Packet::new(FlowId(flow as u32), len, ()))
                .expect("takes packets of up to 64 KB");
        } else if let Some(packet) = scheduler.dequeue(NOW) {
            let (sent, above) = exact.send(packet.flow.index());
            counts = [
                counts[0] + 1,
                counts[1] + u32::from(sent < &last - &tolerance),
                counts[2] + u32::from(above > tolerance),
            ];
            last = sent;
        } else {
            exact.rest();
            last = Rational::from_u64(0);
        }
        scheduler.check_invariants();
    }
    counts
}

#[test]
fn times_never_fall() {
    let (mut own, mut wfq) = ([0; 3], [0; 3]);
    for seed in 0..16 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let weights: Vec<u32> = (0..random.random_range(2..=10))
            .map(|_| random.random_range(1..=FlowConfig::MAX_WEIGHT))
            .collect();
        let sums = [
            (
                &mut own,
                exercise(&weights, seed, &mut scfq::Scfq::default()),
            ),
            (&mut wfq, exercise(&weights, seed, &mut wfq::Wfq::default())),
        ];
        for (sum, counts) in sums {
            sum.iter_mut()
                .zip(counts)
                .for_each(|(sum, count)| *sum += count);
        }
    }
    println!("decisions, times that fell, not the smallest: scfq {own:?}, wfq {wfq:?}");
    assert!(own[0] > 20_000 && own[1..] == [0, 0], "{own:?}");
    assert!(
        wfq[1] > 0 && wfq[2] > 0,
        "another discipline has other times"
    );
}

#[test]
fn fairness_stays_within_the_bound() {
    let own = unfairness(&scfq::Config, &scfq::Config, workloads(2 * SEEDS));
    let others = [
        unfairness(&scfq::Config, &fifo::Config, workloads(SEEDS)),
        unfairness(&scfq::Config, &wfq::Config, workloads(SEEDS)),
    ];
    println!("unfairness / bound: scfq {own:.3}, fifo, wfq {others:.2?}");
    assert!(own <= 1.0 && own > 0.5, "{own}");
    assert!(others[0] > 1.0, "fifo must break it");
}

#[test]
fn latency_stays_within_the_bound() {
    let own = lateness(&scfq::Config, &scfq::Config, workloads(SEEDS));
    let others = [
        lateness(&scfq::Config, &fifo::Config, workloads(SEEDS)),
        lateness(&scfq::Config, &drr::Config::default(), workloads(SEEDS)),
    ];
    println!("lateness / bound: scfq {own:.3}, fifo, drr {others:.2?}");
    assert!(own <= 1.0 && own > 0.8, "{own}");
    assert!(
        others.iter().all(|late| *late > 1.0),
        "others must break it: {others:?}"
    );
}

/// A newly backlogged flow waits for a packet of every other flow; the fluid server of `wfq` avoids
/// this wait.
#[test]
fn a_heavy_flow_waits_for_all_others_as_it_comes() {
    let workload = late_to_the_table(40);
    let end = |record: Record| {
        record
            .sent
            .iter()
            .find(|packet| packet.flow == 40)
            .expect("it was sent")
            .end()
    };
    let (own, wfq) = (
        end(Record::of(&workload, &scfq::Config)),
        end(Record::of(&workload, &wfq::Config)),
    );
    assert_eq!((own, wfq), (40 * 1_500 + 64, 1_500 + 64));
}

#[test]
fn wfi_stay_within_the_bounds() {
    let heavy = std::iter::once(late_to_the_table(200)).chain(workloads(1_000));
    let (own, fifo) = (
        wfi(&scfq::Config, &scfq::Config, heavy),
        wfi(&scfq::Config, &fifo::Config, workloads(SEEDS)),
    );
    println!("of the bounds: scfq {own:.3?}, fifo {fifo:.3?}");
    assert!(
        own.b_wfi <= 1.0 && own.b_wfi_by_bit <= 1.0 && own.t_wfi <= 1.0,
        "{own:?}"
    );
    assert!(
        own.b_wfi_by_bit > 0.8 && own.t_wfi > 0.8,
        "the bounds are hardly tried: {own:?}"
    );
    assert!(
        fifo.b_wfi_by_bit > 1.0 && fifo.t_wfi > 1.0,
        "others must break them"
    );
}

/// V wraps after 2^34 bytes per unit of weight: here one and a half times, beside a flow idle for
/// ever longer.
#[test]
fn known_bug_16_who_slept_while_virtual_time_wrapped_is_not_starved() {
    let mut scheduler = scfq::Scfq::default();
    let mut send = |flow, len| {
        scheduler
            .enqueue(NOW, Packet::new(FlowId(flow), len, ()))
            .map(|()| scheduler.dequeue(NOW))
            .expect("taken")
    };
    send(1, 64);
    let turn = 1 << 18;
    for sleep in [1, 1_000, turn / 4, turn / 2, turn * 3 / 4] {
        for _ in 0..sleep {
            send(0, 1 << 16);
        }
        send(0, 0);
        assert_eq!(
            send(1, 64).map(|packet| packet.flow.0),
            Some(1),
            "after {sleep} packets"
        );
    }
}

/// A workload's name in a failure identifies the adversary.
#[test]
fn adversaries_come_first() {
    let names: Vec<_> = workloads(0)
        .map(|workload: Workload| workload.name)
        .collect();
    assert_eq!(
        names,
        ["half_and_crumbs", "one_at_a_time", "late_to_the_table"]
    );
}
