//! SRR: turns in a round and their spread, bounds, small quanta, flows that come and go.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::schedulers::srr::{Config, Srr};
use roundelay::schedulers::{Discipline, drr, fifo, qfq};
use roundelay::{Buffer, FlowId, Instant, Limit, Packet, Scheduler};
use roundelay::{Control, Seed};

use crate::theorems::audited::{
    pull, put, quanta_at_the_edges_are_refused_or_work, random_operations, set_weight,
};
use crate::theorems::timed::{Ratios, ratios};
use crate::theorems::workload::{Driven, Lengths, Refill, Source, Workload};

const NOW: Instant = Instant::ZERO;
const LEN: u32 = 1000;

fn scheduler(quantum: u32) -> Srr<()> {
    Config { quantum }
        .build(Seed::new(0))
        .expect("a legal quantum")
}

/// The order of service of always backlogged flows of these weights, one packet a quantum, from
/// some point of a round on.
fn backlogged_order<S: Scheduler<()>>(
    mut scheduler: S,
    weights: &[u32],
    skipped: usize,
    packets: usize,
) -> Vec<usize> {
    for (flow, weight) in (0..).zip(weights) {
        set_weight(&mut scheduler, flow, *weight);
        (0..2).for_each(|_| put(&mut scheduler, flow, LEN));
    }
    let mut serve = || {
        let (flow, _) = pull(&mut scheduler).expect("backlogged");
        put(&mut scheduler, flow, LEN);
        flow as usize
    };
    (0..skipped).for_each(|_| _ = serve());
    (0..packets).map(|_| serve()).collect()
}

fn any_weights(random: &mut Pcg64Mcg) -> Vec<u32> {
    let flows = random.random_range(2..=12);
    (0..flows)
        .map(|_| {
            random
                .random_range(1..=1024u32)
                .min(1 << random.random_range(0..=10))
        })
        .collect()
}

fn counts(order: &[usize], flows: usize) -> Vec<u32> {
    (0..flows)
        .map(|flow| order.iter().filter(|served| **served == flow).count() as u32)
        .collect()
}

#[test]
fn a_round_has_as_many_turns_of_a_flow_as_its_weight() {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut unlike = 0;
    for _ in 0..60 {
        let weights = any_weights(&mut random);
        let (round, skipped) = (
            weights.iter().sum::<u32>() as usize,
            random.random_range(0..3_000),
        );
        let order = backlogged_order(scheduler(LEN), &weights, skipped, 2 * round);
        assert_eq!(
            counts(&order[..round], weights.len()),
            weights,
            "a round that begins anywhere"
        );
        assert_eq!(counts(&order[round..], weights.len()), weights);
        let of_fifo = backlogged_order(fifo::Fifo::default(), &weights, skipped, round);
        unlike += u32::from(counts(&of_fifo, weights.len()) != weights);
    }
    assert!(unlike > 50, "fifo knows no weights: {unlike} of 60");
}

/// The page's example: weights 5, 3 and 6.
#[test]
fn the_sequence_of_order_three_worked_by_hand() {
    let mut scheduler = scheduler(LEN);
    let names = ["A", "B", "C"];
    for (flow, weight) in [(2, 6), (1, 3), (0, 5)] {
        set_weight(&mut scheduler, flow, weight);
        (0..20).for_each(|_| put(&mut scheduler, flow, LEN));
    }
    let order: Vec<_> = (0..28)
        .filter_map(|_| pull(&mut scheduler))
        .map(|(flow, _)| names[flow as usize])
        .collect();
    let round = "A C B C A C A B A C B C A C";
    assert_eq!(order.join(" "), [round, round].join(" "));
}

/// For each flow, the most packets of others between two of its packets.
fn largest_gaps(order: &[usize], flows: usize) -> Vec<usize> {
    let gap = |flow| {
        let places: Vec<_> = (0..order.len())
            .filter(|place| order[*place] == flow)
            .collect();
        places
            .windows(2)
            .map(|pair| pair[1] - pair[0] - 1)
            .max()
            .unwrap_or(0)
    };
    (0..flows).map(gap).collect()
}

#[test]
fn turns_are_spread() {
    let mut random = Pcg64Mcg::seed_from_u64(2);
    let (mut largest, mut of_drr) = (0.0f64, 0.0f64);
    for turn in 0..60 {
        let weights = if turn == 0 {
            vec![512, 300, 130, 37, 1]
        } else {
            any_weights(&mut random)
        };
        let round: u32 = weights.iter().sum();
        let bound = |flow: usize| {
            let others = (0..weights.len())
                .filter(|other| *other != flow)
                .map(|other| weights[other]);
            let highest = weights[flow].ilog2();
            others
                .map(|weight| {
                    f64::from(weight) / f64::from(1 << highest) + f64::from(weight.count_ones())
                })
                .sum::<f64>()
        };
        let worst = |order: Vec<usize>| {
            let gaps = largest_gaps(&order, weights.len());
            (0..weights.len())
                .map(|flow| gaps[flow] as f64 / bound(flow))
                .fold(0.0, f64::max)
        };
        let own = worst(backlogged_order(
            scheduler(LEN),
            &weights,
            0,
            3 * round as usize,
        ));
        let drr = drr::Config { quantum: LEN }
            .build(Seed::new(0))
            .expect("legal");
        largest = largest.max(own);
        of_drr = of_drr.max(worst(backlogged_order(
            drr,
            &weights,
            0,
            3 * round as usize,
        )));
        assert!(own <= 1.0, "{weights:?}: {own}");
    }
    println!("packets between two of a flow / bound: srr {largest:.3}, drr {of_drr:.1}");
    assert!(largest > 0.5, "the bound is tried");
    assert!(of_drr > 10.0, "drr sends its quanta at once");
}

/// Flow 0 becomes backlogged just after its turn, when all others carry credit over, and carries
/// over almost a packet.
fn just_missed() -> Workload {
    let arrivals = vec![40 * 513; 3];
    let mut sources = vec![Source {
        arrivals,
        lengths: Lengths::Listed(vec![15, 1500]),
        ..Source::burst(1, 1500, 0)
    }];
    sources.extend((0..40).map(|_| Source {
        // A first turn of 513 bytes leaves 1001 of 1514; with the next quantum 2500 of 2515 bytes
        // are sent.
        lengths: Lengths::Listed(vec![513, 1001 + 1, 1498]),
        arrivals: vec![0; 60],
        ..Source::burst(1, 1500, 0)
    }));
    Workload {
        name: "just_missed",
        seed: 0,
        sources,
    }
}

/// Two heavy flows: one must wait while DRR serves the other's quantum at once.
fn two_heavy() -> Workload {
    let heavy = |weight| Source::burst(weight, 1514, 1200);
    Workload {
        name: "two_heavy",
        seed: 0,
        sources: vec![heavy(512), heavy(500), heavy(12)],
    }
}

#[test]
fn bounds_hold_in_random_and_adversarial_workloads() {
    let mut largest = Ratios::default();
    for quantum in [64, 1514, 1 << 16] {
        let config = Config { quantum };
        let workloads = [just_missed(), two_heavy()]
            .into_iter()
            .chain((0..500).map(Workload::random));
        for workload in workloads {
            let reached = ratios(&workload, &config, &config, 0.0);
            assert!(
                reached.are_kept(),
                "{}, seed {}, quantum {quantum}: {reached:?}",
                workload.name,
                workload.seed
            );
            largest = largest.max(reached);
        }
    }
    let (config, drr) = (Config { quantum: 1514 }, drr::Config { quantum: 1514 });
    let adversarial = ratios(&just_missed(), &config, &config, 0.0);
    println!("measured/bound: {largest:.3?}; just missed {adversarial:.3?}");
    assert!(
        largest
            .max(adversarial)
            .all()
            .into_iter()
            .all(|ratio| ratio > 0.3),
        "the bounds are tried"
    );
    let drr = ratios(&two_heavy(), &config, &drr, 0.0);
    println!("DRR reaches {drr:.3?} of the same bounds");
    assert!(
        drr.all().into_iter().all(|ratio| ratio > 1.0),
        "DRR must break them: {drr:?}"
    );
}

/// A heavy flow among light ones: all light flows are in one column, and have their turns between
/// two of the heavy flow's.
fn among(light: usize) -> Workload {
    let steady = |weight| Source {
        refill: Some(Refill {
            low: 1,
            burst: 1,
            after: 0,
            packets: 600,
        }),
        ..Source::burst(weight, LEN, 2)
    };
    let sources = [vec![steady(512)], vec![steady(1); light]].concat();
    Workload {
        name: "among",
        seed: 0,
        sources,
    }
}

#[test]
fn the_b_wfi_grows_with_the_number_of_flows() {
    let b_wfi = |workload: &Workload| {
        let config = Config { quantum: LEN };
        (
            workload.outcome(&config).b_wfi_by_bit[0],
            workload.outcome(&qfq::Config).b_wfi_by_bit[0],
        )
    };
    let measured = [8, 32, 128].map(|light| b_wfi(&among(light)));
    println!(
        "B-WFI of the heavy flow among 8, 32, 128 light ones: (srr, qfq) {measured:.0?} bytes"
    );
    assert!(
        measured.windows(2).all(|pair| pair[1].0 > 3.0 * pair[0].0),
        "it grows as the flows do: {measured:?}"
    );
    assert!(
        measured[2].1 < measured[2].0 / 10.0,
        "that of qfq does not: {measured:?}"
    );
}

/// SRR with a walk through each term of the longest sequence, and each turn of a term.
struct Walked {
    quantum: u64,
    weights: Vec<u32>,
    queues: Vec<VecDeque<u32>>,
    deficits: Vec<u64>,
    columns: Vec<VecDeque<usize>>,
    term: u64,
    /// Flows with a turn still to come in this term.
    turns: VecDeque<usize>,
    serving: Option<usize>,
}

impl Walked {
    fn new(quantum: u32, weights: &[u32]) -> Self {
        let flows = weights.len();
        Self {
            quantum: quantum.into(),
            weights: weights.to_vec(),
            queues: vec![VecDeque::new(); flows],
            deficits: vec![0; flows],
            columns: vec![VecDeque::new(); 11],
            term: 0,
            turns: VecDeque::new(),
            serving: None,
        }
    }

    fn put(&mut self, flow: usize, len: u32) {
        if self.queues[flow].is_empty() {
            let columns = (0..11).filter(|column| self.weights[flow] >> column & 1 == 1);
            columns.for_each(|column| self.columns[column].push_front(flow));
        }
        self.queues[flow].push_back(len);
    }

    fn pull(&mut self) -> Option<(u32, u32)> {
        if self.queues.iter().all(|queue| queue.is_empty()) {
            return None;
        }
        loop {
            while let Some(flow) = self.serving {
                let head = *self.queues[flow].front().expect("it has its turn");
                if u64::from(head) > self.deficits[flow] {
                    self.serving = None;
                    continue;
                }
                self.queues[flow].pop_front();
                self.deficits[flow] -= u64::from(head);
                if self.queues[flow].is_empty() {
                    self.deficits[flow] = 0;
                    self.serving = None;
                    self.columns
                        .iter_mut()
                        .for_each(|column| column.retain(|other| *other != flow));
                }
                return Some((flow as u32, head));
            }
            while self.turns.is_empty() {
                self.term += 1;
                let column = 10u32.checked_sub(self.term.trailing_zeros());
                self.turns = column
                    .map(|column| self.columns[column as usize].clone())
                    .unwrap_or_default();
            }
            self.serving = self.turns.pop_front();
            self.deficits[self.serving.expect("someone")] += self.quantum;
        }
    }
}

#[test]
fn terms_that_are_counted_are_those_that_would_be_walked() {
    let mut random = Pcg64Mcg::seed_from_u64(3);
    for quantum in [1, 2, 7, 100, 1000, 1514] {
        let weights = if quantum < 100 {
            [1, 1, 3, 8, 11, 32]
        } else {
            [1, 3, 8, 100, 517, 1023]
        };
        let (mut counted, mut walked) = (scheduler(quantum), Walked::new(quantum, &weights));
        (0..)
            .zip(weights)
            .for_each(|(flow, weight)| set_weight(&mut counted, flow, weight));
        // With a quantum of a byte, the walk runs through the longest sequence a thousand times a
        // packet.
        for turn in 0..if quantum < 100 { 160 } else { 2_000 } {
            if random.random_bool(if turn / 40 % 2 == 0 { 0.6 } else { 0.4 }) {
                let (flow, len) = (random.random_range(0..6), random.random_range(0..=1514));
                put(&mut counted, flow, len);
                walked.put(flow as usize, len);
            } else {
                assert_eq!(
                    pull(&mut counted),
                    walked.pull(),
                    "quantum {quantum}, call {turn}"
                );
            }
        }
    }
}

#[test]
fn known_bug_21_long_packets_and_a_quantum_of_a_byte_take_no_longer() {
    let mut scheduler = scheduler(1);
    (0..3).for_each(|flow| put(&mut scheduler, flow, 1 << 16));
    // A walk would take 65536 rounds for each packet.
    let mut served = [0; 3];
    for _ in 0..3_000 {
        let (flow, _) = pull(&mut scheduler).expect("backlogged");
        served[flow as usize] += 1;
        put(&mut scheduler, flow, 1 << 16);
    }
    assert_eq!(served, [1_000; 3]);
    put(&mut scheduler, 3, u32::MAX);
    put(&mut scheduler, 4, 1 << 31);
    let order: Vec<_> = std::iter::from_fn(|| pull(&mut scheduler))
        .map(|(flow, _)| flow)
        .collect();
    assert_eq!(order[3..], [4, 3], "{order:?}");
}

#[test]
fn known_bug_22_quanta_at_the_edges_are_refused_or_work() {
    quanta_at_the_edges_are_refused_or_work(|quantum| Config { quantum });
}

/// The quantum may change while packets wait: later turns use the new one.
#[test]
fn the_quantum_changes_at_work() {
    let mut scheduler = scheduler(LEN);
    (0..40).for_each(|number| put(&mut scheduler, number % 2, LEN));
    (0..4).for_each(|_| _ = pull(&mut scheduler));
    Config { quantum: 3 * LEN }
        .reconfigure(&mut scheduler)
        .expect("legal");
    assert!(Config { quantum: 0 }.reconfigure(&mut scheduler).is_err());
    let order: Vec<_> = (0..12)
        .filter_map(|_| pull(&mut scheduler))
        .map(|(flow, _)| flow)
        .collect();
    assert_eq!(
        order[..6].iter().sum::<u32>(),
        3,
        "three of each: {order:?}"
    );
    assert!(
        order.windows(3).any(|three| three == [0, 0, 0]),
        "three at once: {order:?}"
    );
}

/// A turn of a megabyte, already begun, ends when the quantum becomes a packet.
#[test]
fn a_turn_is_cut_when_the_quantum_is_lowered() {
    let mut scheduler = scheduler(1 << 20);
    (0..1_000).for_each(|_| put(&mut scheduler, 0, LEN));
    assert_eq!(pull(&mut scheduler), Some((0, LEN)));
    Config { quantum: LEN }
        .reconfigure(&mut scheduler)
        .expect("legal");
    (0..10).for_each(|_| put(&mut scheduler, 1, LEN));
    let order: Vec<_> = (0..6)
        .filter_map(|_| pull(&mut scheduler))
        .map(|(flow, _)| flow)
        .collect();
    assert_eq!(
        order.iter().sum::<u32>(),
        3,
        "in turns of a packet from then on: {order:?}"
    );
}

/// The order of the sequence follows the highest column with flows; light flows have their turns
/// throughout.
#[test]
fn heavy_flows_that_come_and_go_starve_nobody() {
    let mut scheduler = scheduler(LEN);
    for (flow, weight) in [(0, 1), (1, 2), (2, 1024), (3, 700)] {
        set_weight(&mut scheduler, flow, weight);
    }
    let (mut served, mut heavy) = ([0u32; 4], 0);
    (0..2).for_each(|flow| (0..2).for_each(|_| put(&mut scheduler, flow, LEN)));
    for turn in 0..40_000 {
        // The heavy flows have a few packets now and then, to change the order often.
        if turn % 7 == 0 {
            put(&mut scheduler, 2 + turn / 7 % 2, LEN);
        }
        let (flow, _) = pull(&mut scheduler).expect("backlogged");
        served[flow as usize] += 1;
        if flow < 2 {
            put(&mut scheduler, flow, LEN);
        } else {
            heavy += 1;
        }
    }
    assert!(
        heavy > 5_000 && served[1].abs_diff(2 * served[0]) < 2_000,
        "{served:?}"
    );
    // Beside an always backlogged flow, a light flow has its one turn in each round.
    let order = backlogged_order(self::scheduler(LEN), &[1, 1024], 0, 5 * 1025);
    assert_eq!(counts(&order, 2), [5, 5 * 1024]);
}

/// Weights change while packets wait: later rounds have as many turns as the new weights.
#[test]
fn a_weight_that_changes_counts_at_once() {
    let mut random = Pcg64Mcg::seed_from_u64(5);
    for _ in 0..40 {
        let (before, after) = (any_weights(&mut random), any_weights(&mut random));
        let mut scheduler = scheduler(LEN);
        let serve = |scheduler: &mut Srr<()>| {
            let (flow, _) = pull(scheduler).expect("backlogged");
            put(scheduler, flow, LEN);
            flow as usize
        };
        for (flow, weight) in (0..).zip(&before) {
            set_weight(&mut scheduler, flow, *weight);
            (0..2).for_each(|_| put(&mut scheduler, flow, LEN));
        }
        (0..random.random_range(0..500)).for_each(|_| _ = serve(&mut scheduler));
        let weights: Vec<u32> = before
            .iter()
            .zip(after.iter().chain(std::iter::repeat(&1)))
            .map(|(_, after)| *after)
            .collect();
        for (flow, weight) in (0..).zip(&weights) {
            set_weight(&mut scheduler, flow, *weight);
        }
        // The visit and the turn at the time of the change come to their end.
        (0..before.len()).for_each(|_| _ = serve(&mut scheduler));
        let round = weights.iter().sum::<u32>() as usize;
        let order: Vec<_> = (0..round).map(|_| serve(&mut scheduler)).collect();
        assert_eq!(counts(&order, weights.len()), weights, "after {before:?}");
    }
}

#[test]
fn known_bug_13_flows_may_change_come_and_go_at_any_time() {
    for seed in 0..100 {
        let quantum = [1, 300, 1514, 1 << 20][seed as usize % 4];
        let scheduler = Config { quantum }.build(Seed::new(0)).expect("legal");
        random_operations(
            scheduler,
            seed,
            400,
            [0.02, 0.2, 0.4][seed as usize % 3],
            1_000,
            false,
        );
    }
}

/// A flow that returns at once, each time with one packet, has no more turns than an always
/// backlogged flow.
#[test]
fn flows_that_keep_returning_gain_nothing() {
    for weight in [1, 5, 1024] {
        let returning = Source {
            refill: Some(Refill {
                low: 0,
                burst: 1,
                after: 0,
                packets: 600,
            }),
            ..Source::burst(weight, LEN, 1)
        };
        let workload = Workload {
            name: "returning",
            seed: 0,
            sources: vec![returning, Source::burst(weight, LEN, 600)],
        };
        let order = workload.outcome(&Config { quantum: LEN }).order;
        let first = order[..800].iter().filter(|flow| **flow == 0).count();
        assert!(
            (390..=410).contains(&first),
            "{first} of 800 at weight {weight}"
        );
    }
}

/// A flow sends in its turn, loses the rest of its queue to an overflow and comes back at once: it
/// must not begin another turn.
#[test]
fn a_flow_pushed_out_in_its_turn_gets_no_second_one() {
    let limit = 100_000;
    let mut buffer = Buffer::new(Limit::of_bytes(limit), scheduler(1_500));
    let arrive = |buffer: &mut Buffer<Srr<()>>, flow, len| {
        let mut victims = Vec::new();
        buffer.enqueue(NOW, Packet::new(FlowId(flow), len, ()), |packet, _| {
            victims.push(packet.flow.0)
        });
        victims
    };
    let (mut others, mut sent) = ((1..=200).cycle(), 0);
    for _ in 0..50 {
        // Flow 0 sends a packet, and keeps one that fills the buffer.
        arrive(&mut buffer, 0, 1_000);
        let room = limit - buffer.scheduler().backlog().bytes;
        arrive(&mut buffer, 0, room as u32);
        let packet = buffer.dequeue(NOW, |_, _| ()).expect("backlogged");
        sent += if packet.flow == FlowId(0) {
            packet.len
        } else {
            0
        };
        // The others fill the buffer in small steps, until flow 0's packet is pushed out.
        let mut victims = Vec::new();
        while victims.is_empty() {
            victims = arrive(&mut buffer, others.next().expect("endless"), 10);
        }
        assert_eq!(victims, [0]);
    }
    assert!(
        sent <= 2 * 1_500,
        "{sent} bytes while two hundred others wait for their turn"
    );
}

#[test]
fn known_bug_19_a_flow_that_empties_and_returns_has_its_turns_once() {
    let mut scheduler = scheduler(1514);
    for _ in 0..10 {
        put(&mut scheduler, 0, 100);
        put(&mut scheduler, 1, 1000);
        assert_eq!(scheduler.evict().map(|packet| packet.flow.0), Some(1));
        put(&mut scheduler, 1, 50);
        scheduler.check_invariants();
    }
    let order: Vec<_> = std::iter::from_fn(|| pull(&mut scheduler)).collect();
    assert_eq!(order.iter().filter(|(flow, _)| *flow == 1).count(), 10);
    assert_eq!(order.len(), 20);
}

/// A flow pushed out just before its turn does not cost the following flows their turns.
#[test]
fn a_flow_pushed_out_before_its_turn_costs_no_other_its_turn() {
    let mut scheduler = scheduler(LEN);
    for (flow, lens) in [(0, &[LEN, LEN][..]), (1, &[10 * LEN]), (2, &[LEN, LEN])] {
        lens.iter().for_each(|len| put(&mut scheduler, flow, *len));
    }
    assert_eq!(
        pull(&mut scheduler),
        Some((2, LEN)),
        "a column is served from the flow that came last"
    );
    assert_eq!(scheduler.evict().map(|packet| packet.flow.0), Some(1));
    let order: Vec<_> = std::iter::from_fn(|| pull(&mut scheduler))
        .map(|(flow, _)| flow)
        .collect();
    assert_eq!(
        order,
        [0, 2, 0],
        "flow 0 stands behind flow 1, and flow 2 has had its turn"
    );
}

#[test]
fn a_removed_flow_keeps_its_weight_until_it_is_empty_and_no_longer() {
    let mut scheduler = scheduler(LEN);
    set_weight(&mut scheduler, 0, 3);
    let turns = |scheduler: &mut Srr<()>| {
        (0..12).for_each(|packet| put(scheduler, packet % 2, LEN));
        scheduler.remove_flow(FlowId(0));
        let order: Vec<_> = std::iter::from_fn(|| pull(scheduler))
            .map(|(flow, _)| flow as usize)
            .collect();
        counts(&order[..4], 2)
    };
    assert_eq!(
        turns(&mut scheduler),
        [3, 1],
        "it sends what waits by its weight"
    );
    assert_eq!(
        turns(&mut scheduler),
        [2, 2],
        "when it comes back it is a flow like any other"
    );
}
