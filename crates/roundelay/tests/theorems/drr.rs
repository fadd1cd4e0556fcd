//! DRR: Lemma 2, the bounds derived from Lemma 2, small quanta, and known bugs of the kernel.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::schedulers::{Discipline, drr, fifo};
use roundelay::{
    Buffer, DropReason, FlowConfig, FlowId, Instant, Limit, Observer, Packet, Port, Rate,
    Scheduler, Share,
};
use roundelay::{Control, Seed};

use crate::theorems::audited::{pull, put, quanta_at_the_edges_are_refused_or_work, set_weight};
use crate::theorems::workload::{Driven, Lengths, RATE, Refill, Source, Workload};

const NOW: Instant = Instant::ZERO;

fn scheduler(quantum: u32) -> drr::Drr<()> {
    drr::Config { quantum }
        .build(Seed::new(0))
        .expect("a legal quantum")
}

/// Lemma 2: after its m-th turn a flow has sent m Q_i less the deficit; the deficit is less than
/// the flow's longest packet.
#[test]
fn turns_send_their_quanta() {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    for quantum in [1514, 4000, 100_000] {
        let weights = [1, 3, 2, 7];
        let mut scheduler = scheduler(quantum);
        for flow in 0..4 {
            set_weight(&mut scheduler, flow, weights[flow as usize]);
            (0..8_000).for_each(|_| put(&mut scheduler, flow, random.random_range(64..=1514)));
        }
        let (mut turns, mut sent, mut last) = ([0u64; 4], [0u64; 4], None);
        for _ in 0..8_000 {
            let (flow, len) = pull(&mut scheduler).expect("backlogged");
            if let Some(before) = last.replace(flow).filter(|before| *before != flow) {
                let carried = turns[before as usize]
                    * u64::from(quantum * weights[before as usize])
                    - sent[before as usize];
                assert!(carried < 1514, "flow {before} carries {carried}");
                turns[flow as usize] += 1;
            } else if turns[flow as usize] == 0 {
                turns[flow as usize] = 1;
            }
            sent[flow as usize] += u64::from(len);
        }
        assert!(
            turns.iter().max() <= turns.iter().min().map(|least| least + 1).as_ref(),
            "{turns:?}"
        );
    }
}

/// Largest measured B-WFI over its bound, of all flows.
fn worst<D: Discipline>(workload: &Workload, discipline: &D, quantum: u32) -> f64 {
    let outcome = workload.outcome(discipline);
    let bound = |flow| {
        workload
            .guarantees(&drr::Config { quantum }, flow)
            .b_wfi
            .expect("DRR has a bound")
            .value as f64
    };
    (0..workload.sources.len())
        .map(|flow| outcome.b_wfi_by_bit[flow] / bound(flow))
        .fold(0.0, f64::max)
}

/// Flow 0 becomes backlogged just after its turn; the others each have their turn, with credit left
/// over from the last one.
fn just_missed() -> Workload {
    let after_a_round = |packets: u64| (0..packets).map(|_| 20 * 513).collect();
    let mut sources = vec![Source {
        arrivals: after_a_round(3),
        ..Source::burst(1, 1500, 0)
    }];
    sources.extend((0..20).map(|_| Source {
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

#[test]
fn b_wfi_stays_within_the_bound() {
    let mut largest = (0.0f64, 0.0f64);
    for quantum in [64, 1514, 20_000] {
        for seed in 0..400 {
            let workload = Workload::random(seed);
            let kept = worst(&workload, &drr::Config { quantum }, quantum);
            assert!(
                kept <= 1.0,
                "{} of the bound: {}, seed {seed}, quantum {quantum}",
                kept,
                workload.name
            );
            largest = (
                largest.0.max(kept),
                largest.1.max(worst(&workload, &fifo::Config, quantum)),
            );
        }
    }
    let missed = worst(&just_missed(), &drr::Config { quantum: 1514 }, 1514);
    println!(
        "b_wfi / bound: random {:.3}, just missed {missed:.3}; fifo {:.1}",
        largest.0, largest.1
    );
    assert!(
        missed <= 1.0 && missed.max(largest.0) > 0.3,
        "the workloads come near the bound"
    );
    assert!(largest.1 > 1.0, "fifo must break it");
}

/// The share of one of these flows, with packets of up to 1514 bytes.
fn share(weights: &[u32], flow: usize) -> Share {
    Share {
        weight: weights[flow],
        total_weight: weights.iter().map(|weight| u64::from(*weight)).sum(),
        least_weight: weights.iter().copied().min().unwrap_or(1),
        flows: weights.len() as u64,
        max_packet_len: 1514,
        link_max_packet_len: 1514,
        rate: Rate::from_bits_per_second(RATE).expect("not zero"),
    }
}

/// Largest difference of service per weight between two flows, over all intervals with both
/// backlogged, over the fairness bound: the largest of all pairs.
fn fairness<S: Scheduler<()>>(
    scheduler: &mut S,
    weights: &[u32],
    quantum: u32,
    random: &mut Pcg64Mcg,
) -> f64 {
    let flows = weights.len();
    let promised = |flow| {
        drr::Config { quantum }
            .guarantees(&share(weights, flow))
            .fairness
            .expect("promised")
            .value
            .as_secs_f64()
    };
    let seconds_per_weight = share(weights, 0).total_weight as f64 * 8.0 / RATE as f64;
    let mut normalised = vec![0.0f64; flows];
    let mut extremes = vec![vec![(0.0f64, 0.0f64); flows]; flows];
    let mut worst = 0.0f64;
    // Flow 0 arrives with as much as all others: the order of arrival is not the order due.
    for flow in (0..flows).rev() {
        set_weight(scheduler, flow as u32, weights[flow]);
        (0..if flow == 0 { 2_000 } else { 100 })
            .for_each(|_| put(scheduler, flow as u32, random.random_range(64..=1514)));
    }
    for _ in 0..5_000 {
        let (flow, len) = pull(scheduler).expect("backlogged");
        put(
            scheduler,
            flow,
            if random.random_bool(0.5) {
                1514
            } else {
                random.random_range(64..=1514)
            },
        );
        normalised[flow as usize] += f64::from(len) / f64::from(weights[flow as usize]);
        for (one, two) in (0..flows).flat_map(|one| (0..one).map(move |two| (one, two))) {
            let ahead = normalised[one] - normalised[two];
            let (least, most) = &mut extremes[one][two];
            (*least, *most) = (least.min(ahead), most.max(ahead));
            worst =
                worst.max((*most - *least) * seconds_per_weight / promised(one).min(promised(two)));
        }
    }
    worst
}

/// As Theorem 2 of the paper, but per flow: over any interval two backlogged flows get equal
/// service per weight, except for the quantum of weight 1 and a packet of each.
#[test]
fn backlogged_flows_are_served_alike() {
    let mut random = Pcg64Mcg::seed_from_u64(2);
    let mut largest = 0.0f64;
    for quantum in [1, 700, 1514, 30_000] {
        for weights in [
            vec![1; 4],
            vec![1, 1, 10],
            (0..8).map(|_| random.random_range(1..=10)).collect(),
        ] {
            let measured = fairness(&mut scheduler(quantum), &weights, quantum, &mut random);
            assert!(
                measured <= 1.0,
                "{measured} of the bound at quantum {quantum}"
            );
            largest = largest.max(measured);
            let of_fifo = fairness(&mut fifo::Fifo::default(), &weights, quantum, &mut random);
            assert!(of_fifo > 1.0, "fifo must break it: {of_fifo}");
        }
    }
    println!("fairness / bound: {largest:.3}");
    assert!(largest > 0.8);
}

/// The departure time of a packet on a link of the flow's share of the rate, in seconds.
struct Due(f64);

/// Lateness of packets: completion less [`Due`], the largest of each flow.
struct Lateness(Vec<f64>);

impl Observer<Due> for Lateness {
    fn sent(&mut self, packet: Packet<Due>, _start: Instant, end: Instant) {
        let worst = &mut self.0[packet.flow.index()];
        *worst = worst.max(end.since(Instant::ZERO).as_secs_f64() - packet.payload.0);
    }

    fn dropped(&mut self, _packet: Packet<Due>, _now: Instant, _reason: DropReason) {
        panic!("nothing is dropped");
    }
}

/// Lateness over the latency bound, the largest of all flows. Arrivals: nanoseconds, flow, length.
fn latency<S: Scheduler<Due>>(
    mut scheduler: S,
    weights: &[u32],
    quantum: u32,
    arrivals: &[(u64, usize, u32)],
) -> f64 {
    for (flow, weight) in weights.iter().enumerate() {
        scheduler
            .set_flow(
                FlowId(flow as u32),
                FlowConfig {
                    weight: *weight,
                    ..FlowConfig::DEFAULT
                },
            )
            .expect("a legal weight");
    }
    let rate = share(weights, 0).rate;
    let (mut port, mut lateness) = (
        Port::new(scheduler, Limit::UNBOUNDED, rate),
        Lateness(vec![f64::MIN; weights.len()]),
    );
    let mut due = vec![0.0f64; weights.len()];
    for &(nanos, flow, len) in arrivals {
        let now = Instant::from_nanos(nanos);
        port.advance(now, &mut lateness);
        due[flow] = due[flow].max(nanos as f64 * 1e-9)
            + f64::from(len) * 8.0 / RATE as f64 / share_of(weights, flow);
        port.arrive(
            now,
            Packet::new(FlowId(flow as u32), len, Due(due[flow])),
            &mut lateness,
        );
    }
    port.drain(&mut lateness);
    let promised = |flow| {
        drr::Config { quantum }
            .guarantees(&share(weights, flow))
            .latency
            .expect("promised")
            .value
            .as_secs_f64()
    };
    (0..weights.len())
        .map(|flow| lateness.0[flow] / promised(flow))
        .fold(0.0, f64::max)
}

fn share_of(weights: &[u32], flow: usize) -> f64 {
    f64::from(weights[flow]) / share(weights, flow).total_weight as f64
}

/// Bursts of all flows, some just as another begins.
fn bursts(flows: usize, random: &mut Pcg64Mcg) -> Vec<(u64, usize, u32)> {
    let mut arrivals = Vec::new();
    for _ in 0..40 {
        let (at, flow) = (
            random.random_range(0..300_000),
            random.random_range(0..flows),
        );
        let (shortest, longest) = [(1514, 1514), (64, 1514), (1, 100)][random.random_range(0..3)];
        arrivals.extend(
            (0..random.random_range(1..30))
                .map(|_| (at, flow, random.random_range(shortest..=longest))),
        );
    }
    arrivals.sort_by_key(|(at, ..)| *at);
    arrivals
}

/// Flow 0 gets a byte when each other flow has sent one byte and carries 1513: all but one send two
/// quanta less a byte before flow 0's turn.
fn just_too_late(others: usize) -> Vec<(u64, usize, u32)> {
    let mut arrivals: Vec<_> = (1..=others)
        .flat_map(|flow| [1, 1514, 1513, 1].map(|len| (0, flow, len)))
        .collect();
    arrivals.push((others as u64 - 1, 0, 1));
    arrivals
}

/// GRC with (F - Q_k + (N - 1) L + L_k) / R.
#[test]
fn latency_stays_within_the_bound() {
    let mut random = Pcg64Mcg::seed_from_u64(5);
    let (mut kept, mut of_fifo) = (0.0f64, 0.0f64);
    for quantum in [1, 300, 1514, 4000, 30_000] {
        for _ in 0..40 {
            let weights: Vec<u32> = (0..random.random_range(2..8))
                .map(|_| random.random_range(1..=8))
                .collect();
            let arrivals = bursts(weights.len(), &mut random);
            kept = kept.max(latency(
                drr::Config { quantum }.build(Seed::new(0)).expect("legal"),
                &weights,
                quantum,
                &arrivals,
            ));
            of_fifo = of_fifo.max(latency(fifo::Fifo::default(), &weights, quantum, &arrivals));
        }
    }
    let late = latency(
        drr::Config { quantum: 1514 }
            .build(Seed::new(0))
            .expect("legal"),
        &[1; 30],
        1514,
        &just_too_late(29),
    );
    println!("latency / bound: random {kept:.3}, just too late {late:.3}; fifo {of_fifo:.1}");
    assert!(kept <= 1.0 && (0.9..=1.0).contains(&late), "{kept}, {late}");
    assert!(of_fifo > 1.0, "fifo must break it: {of_fifo}");
}

/// The largest lateness of packets that arrive after a change of weights and quanta, in any flow's
/// turn, over the latency bound of the new values.
fn latency_after_changes(
    before: (u32, &[u32]),
    after: (u32, &[u32]),
    served: u32,
    random: &mut Pcg64Mcg,
) -> f64 {
    let (mut scheduler, weights) = (scheduler(before.0), after.1);
    for (flow, weight) in (0..).zip(before.1).skip(1) {
        set_weight(&mut scheduler, flow, *weight);
        (0..30).for_each(|_| put(&mut scheduler, flow, random.random_range(1..=1514)));
    }
    (0..served).for_each(|_| _ = refill(&mut scheduler, random));
    // A weight set only for a moment has no effect.
    for (flow, weight) in (0..).zip(weights) {
        set_weight(&mut scheduler, flow, random.random_range(1..=1024));
        set_weight(&mut scheduler, flow, *weight);
    }
    drr::Config { quantum: after.0 }
        .reconfigure(&mut scheduler)
        .expect("a legal quantum");
    let promised = drr::Config { quantum: after.0 }
        .guarantees(&share(weights, 0))
        .latency
        .expect("promised")
        .value
        .as_secs_f64();
    (0..30).for_each(|_| put(&mut scheduler, 0, random.random_range(1..=1514)));
    let (mut all, mut got, mut late) = (0.0f64, 0.0f64, 0.0f64);
    while scheduler.backlog().packets > 30 * (weights.len() as u64 - 1) {
        let (flow, len) = pull(&mut scheduler).expect("backlogged");
        all += f64::from(len);
        if flow == 0 {
            got += f64::from(len);
            late = late.max(all - got / share_of(weights, 0));
        } else {
            put(&mut scheduler, flow, random.random_range(1..=1514));
        }
    }
    late * 8.0 / RATE as f64 / promised
}

/// A turn in progress is cut as if begun with the smaller quantum.
#[test]
fn what_comes_after_a_change_has_the_new_latency() {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let (heavy, light) = ([1, 1024], [1, 1]);
    let lowered = latency_after_changes((1514, &heavy), (1514, &light), 1, &mut random);
    let smaller = latency_after_changes((1 << 20, &light), (1514, &light), 1, &mut random);
    println!(
        "latency / bound: weight 1024 to 1: {lowered:.3}, quantum 1 MB to 1514 bytes: {smaller:.3}"
    );
    assert!(lowered <= 1.0 && smaller <= 1.0, "{lowered}, {smaller}");
    let mut largest = 0.0f64;
    for _ in 0..300 {
        let flows = random.random_range(2..8);
        let mut any = || {
            (0..flows)
                .map(|_| 1 << random.random_range(0..=6))
                .collect::<Vec<u32>>()
        };
        let (before, after) = (any(), any());
        let mut quantum = || [1, 300, 1514, 4000][random.random_range(0..4)];
        let (before, after) = ((quantum(), &before[..]), (quantum(), &after[..]));
        let late = latency_after_changes(before, after, random.random_range(0..100), &mut random);
        assert!(late <= 1.0, "{late}: {before:?} to {after:?}");
        largest = largest.max(late);
    }
    println!("random changes: {largest:.3}");
    assert!(largest > 0.3, "the bound is tried");
}

/// A flow with one packet at a time, refilled during service, against a flow with all packets
/// queued: the same packets in the same order.
#[test]
fn a_refilled_flow_is_one_that_was_never_empty() {
    let mut random = Pcg64Mcg::seed_from_u64(6);
    let lens: Vec<Vec<u32>> = (0..4)
        .map(|_| (0..200).map(|_| random.random_range(1..=1514)).collect())
        .collect();
    for quantum in [100, 1514, 5000] {
        let (mut node, mut whole, mut returning) =
            (scheduler(quantum), scheduler(quantum), scheduler(quantum));
        for flow in 0..4 {
            lens[flow as usize]
                .iter()
                .for_each(|len| put(&mut whole, flow, *len));
            put(&mut node, flow, lens[flow as usize][0]);
            put(&mut returning, flow, lens[flow as usize][0]);
        }
        let mut next = [1; 4];
        let mut differs = false;
        for _ in 0..800 {
            let mut refill = |flow: FlowId| {
                next[flow.index()] += 1;
                lens[flow.index()]
                    .get(next[flow.index()] - 1)
                    .map(|len| Packet::new(flow, *len, ()))
            };
            let served = node
                .dequeue_refilled(NOW, &mut refill)
                .map(|packet| (packet.flow.0, packet.len));
            assert_eq!(served, pull(&mut whole), "quantum {quantum}");
            // Without the refill, the flow forfeits its deficit each time.
            let Some((flow, len)) = pull(&mut returning) else {
                continue;
            };
            differs |= served != Some((flow, len));
            let sent = lens[flow as usize]
                .iter()
                .position(|known| *known == len)
                .unwrap_or(0);
            lens[flow as usize]
                .get(sent + 1)
                .into_iter()
                .for_each(|len| put(&mut returning, flow, *len));
        }
        assert!(
            differs,
            "a flow that comes back after it was served is another matter, quantum {quantum}"
        );
        assert!(node.backlog().is_empty() && whole.backlog().is_empty());
    }
}

/// `evict_flow` removes the newest packet of a flow: in a tree, the stand-in of a child whose own
/// packet was pushed out. An emptied flow keeps its turn in the round.
#[test]
fn a_flow_can_be_told_to_give_up_its_newest_packet() {
    let mut scheduler = scheduler(1514);
    for (flow, len) in [(0, 100), (1, 200), (1, 300), (2, 1000)] {
        put(&mut scheduler, flow, len);
    }
    let mut give_up = |flow| scheduler.evict_flow(FlowId(flow)).map(|packet| packet.len);
    assert_eq!(
        [give_up(1), give_up(1), give_up(1), give_up(7)],
        [Some(300), Some(200), None, None]
    );
    put(&mut scheduler, 1, 400);
    assert_eq!(
        std::iter::from_fn(|| pull(&mut scheduler)).collect::<Vec<_>>(),
        [(0, 100), (1, 400), (2, 1000)]
    );
}

/// DRR that walks each round, as in the paper.
struct Walked {
    quantum: u64,
    queues: Vec<VecDeque<u32>>,
    deficits: Vec<u64>,
    ring: VecDeque<usize>,
}

impl Walked {
    fn put(&mut self, flow: usize, len: u32) {
        if self.queues[flow].is_empty() {
            self.ring.push_back(flow);
            self.deficits[flow] = self.quantum;
        }
        self.queues[flow].push_back(len);
    }

    fn pull(&mut self) -> Option<(u32, u32)> {
        loop {
            let flow = *self.ring.front()?;
            let head = *self.queues[flow].front()?;
            if u64::from(head) <= self.deficits[flow] {
                self.queues[flow].pop_front();
                self.deficits[flow] -= u64::from(head);
                if self.queues[flow].is_empty() {
                    self.ring.pop_front();
                }
                return Some((flow as u32, head));
            }
            self.deficits[flow] += self.quantum;
            self.ring.rotate_left(1);
        }
    }
}

#[test]
fn rounds_that_are_counted_are_those_that_would_be_walked() {
    let mut random = Pcg64Mcg::seed_from_u64(3);
    for quantum in [1, 2, 7, 100, 1000, 1514] {
        let mut counted = scheduler(quantum);
        let mut walked = Walked {
            quantum: quantum.into(),
            queues: vec![VecDeque::new(); 6],
            deficits: vec![0; 6],
            ring: VecDeque::new(),
        };
        for turn in 0..6_000 {
            if random.random_bool(if turn / 500 % 2 == 0 { 0.6 } else { 0.4 }) {
                let (flow, len) = (random.random_range(0..6), random.random_range(0..=1514));
                put(&mut counted, flow as u32, len);
                walked.put(flow, len);
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
    // A walk round by round would take 65536 rounds a packet, seven thousand million in all.
    for number in 0..100_000 {
        let (flow, _) = pull(&mut scheduler).expect("backlogged");
        assert_eq!(flow, number % 3);
        put(&mut scheduler, flow, 1 << 16);
    }
    put(&mut scheduler, 3, u32::MAX);
    put(&mut scheduler, 4, 1 << 31);
    let order: Vec<_> = std::iter::from_fn(|| pull(&mut scheduler))
        .map(|(flow, _)| flow)
        .collect();
    assert_eq!(order, [1, 2, 0, 4, 3]);
}

#[test]
fn known_bug_22_quanta_at_the_edges_are_refused_or_work() {
    quanta_at_the_edges_are_refused_or_work(|quantum| drr::Config { quantum });
}

/// Quanta in any ratio: with a quantum of a byte, weights are the quanta of tc's classes.
#[test]
fn weights_are_quanta_in_bytes() {
    let mut scheduler = scheduler(1);
    let quanta = [1_514, 9_000, 65_535];
    (0..3).for_each(|flow| set_weight(&mut scheduler, flow, quanta[flow as usize]));
    (0..3).for_each(|flow| (0..200).for_each(|_| put(&mut scheduler, flow, 1_000)));
    let mut turns = vec![(0, 0u32)];
    for (flow, _) in (0..300).filter_map(|_| pull(&mut scheduler)) {
        match turns.last_mut() {
            Some((last, packets)) if *last == flow => *packets += 1,
            _ => turns.push((flow, 1)),
        }
    }
    // Quantum and rest: 1514, 2028 (514 + 1514), 1542, 2056; 9000; 65535, 66070 (535 + 65535).
    assert_eq!(
        turns[..9],
        [
            (0, 1),
            (1, 9),
            (2, 65),
            (0, 2),
            (1, 9),
            (2, 66),
            (0, 1),
            (1, 9),
            (2, 65)
        ]
    );
    let refused = scheduler
        .set_flow(
            FlowId(0),
            FlowConfig {
                weight: 65_536,
                ..FlowConfig::DEFAULT
            },
        )
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "drr: weight 65536: legal range 1 to 65535"
    );
    assert_eq!(drr::Config::default().info().max_weight, 65_535);
    // A turn has at most u32::MAX bytes.
    let mut scheduler = self::scheduler(1 << 20);
    set_weight(&mut scheduler, 0, 65_535);
    put(&mut scheduler, 0, 1_000);
    drr::Config { quantum: 1_000_000 }
        .reconfigure(&mut scheduler)
        .expect("live");
    scheduler.check_invariants();
    assert_eq!(pull(&mut scheduler), Some((0, 1_000)));
}

#[test]
fn known_bug_19_a_flow_that_empties_and_returns_is_in_the_ring_once() {
    let mut scheduler = scheduler(1514);
    for _ in 0..10 {
        // Flow 1 loses its only packet to an eviction while waiting for its turn, and comes back.
        put(&mut scheduler, 0, 100);
        put(&mut scheduler, 1, 1000);
        assert_eq!(scheduler.evict().map(|packet| packet.flow.0), Some(1));
        put(&mut scheduler, 1, 50);
        scheduler.check_invariants();
    }
    let order: Vec<_> = std::iter::from_fn(|| pull(&mut scheduler)).collect();
    assert_eq!(order.len(), 20);
    assert_eq!(order.iter().filter(|(flow, _)| *flow == 1).count(), 10);
}

#[test]
fn known_bug_20_no_flow_number_is_special() {
    let mut scheduler = scheduler(1514);
    let numbers = [0, 1, 0xff, 0x100, 0x7fff, 0xffff, 0x1_0000, 0xf_ffff];
    numbers
        .into_iter()
        .for_each(|flow| put(&mut scheduler, flow, 1514));
    assert_eq!(
        std::iter::from_fn(|| pull(&mut scheduler))
            .map(|(flow, _)| flow)
            .collect::<Vec<_>>(),
        numbers
    );
}

/// Found by FPerf (NSDI 2023) in fair queues that forget a flow as soon as the flow is empty: a
/// flow that comes back at once must not be served before waiting flows.
#[test]
fn an_on_off_flow_among_backlogged_ones_gets_its_share() {
    for (start, gap) in [(4, 2), (5, 1)] {
        let mut scheduler = scheduler(100);
        let (slots, flows) = (1_004, 5);
        let mut served = [0; 5];
        for slot in 0..slots {
            (0..4).for_each(|flow| put(&mut scheduler, flow, 100));
            if slot >= start && (slot - start) % gap == 0 {
                put(&mut scheduler, 4, 100);
            }
            served[pull(&mut scheduler).expect("backlogged").0 as usize] += 1;
        }
        assert!(
            served[4] <= slots / flows + 2,
            "start {start}, gap {gap}: {served:?}"
        );
        assert!(
            served[..4]
                .iter()
                .all(|packets| *packets >= slots / flows - 2),
            "start {start}, gap {gap}: {served:?}"
        );
    }
}

/// A flow sends in its turn, loses the rest of its queue to an overflow and comes back at once: it
/// must not begin another turn.
#[test]
fn a_flow_pushed_out_in_its_turn_gets_no_second_one() {
    let limit = 100_000;
    let mut buffer = Buffer::new(Limit::of_bytes(limit), scheduler(1_500));
    let arrive = |buffer: &mut Buffer<_>, flow, len| {
        let mut victims = Vec::new();
        buffer.enqueue(NOW, Packet::new(FlowId(flow), len, ()), |packet, _| {
            victims.push(packet.flow.0)
        });
        victims
    };
    let room = |buffer: &Buffer<drr::Drr<()>>| (limit - buffer.scheduler().backlog().bytes) as u32;
    let (mut others, mut sent) = ((1..=200).cycle(), 0);
    for _ in 0..50 {
        // Flow 0 sends a packet, and keeps one that fills the buffer.
        arrive(&mut buffer, 0, 1_000);
        let rest = room(&buffer);
        arrive(&mut buffer, 0, rest);
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

/// Flows 0, 1 and 2 each have a packet when that of `victim` is pushed out for flow 3, and then the
/// victim has a new one. Returns the flows in the order in which they are served.
fn order_after_push_out(victim: u32) -> Vec<u32> {
    let mut buffer = Buffer::new(Limit::of_bytes(1_000), scheduler(1_500));
    let mut pushed_out = Vec::new();
    let mut arrive = |flow, len| {
        buffer.enqueue(NOW, Packet::new(FlowId(flow), len, ()), |packet, _| {
            pushed_out.push(packet.flow.0);
        });
    };
    for flow in 0..3 {
        arrive(flow, if flow == victim { 600 } else { 100 });
    }
    arrive(3, 300);
    arrive(victim, 100);
    assert_eq!(pushed_out, [victim]);
    let mut order = Vec::new();
    while let Some(packet) = buffer.dequeue(NOW, |_, _| ()) {
        order.push(packet.flow.0);
    }
    order
}

#[test]
fn a_flow_pushed_out_keeps_its_position_but_at_the_front() {
    assert_eq!(order_after_push_out(1), [0, 1, 2, 3]);
    assert_eq!(order_after_push_out(2), [0, 1, 2, 3]);
    // It is flow 0's turn, though it has sent nothing yet.
    assert_eq!(order_after_push_out(0), [1, 2, 3, 0]);
}

/// Stiliadis and Varma, 1998: DRR is a latency-rate server. From the start of its backlog, a flow
/// with the share Q_k / F gets at least this share of the link's service after (3 F - 2 Q_k) bytes,
/// for quanta no smaller than the longest packet. Returns the latency over (3 F - 2 Q_k).
fn latency_of_bound<S: Scheduler<()>>(
    scheduler: &mut S,
    weights: &[u32],
    quantum: u32,
    random: &mut Pcg64Mcg,
) -> f64 {
    let frame: u32 = weights.iter().map(|weight| weight * quantum).sum();
    let (own, frame) = (f64::from(weights[0] * quantum), f64::from(frame));
    for flow in (1..weights.len()).rev() {
        set_weight(scheduler, flow as u32, weights[flow]);
        (0..30).for_each(|_| put(scheduler, flow as u32, random.random_range(1..=1514)));
    }
    set_weight(scheduler, 0, weights[0]);
    for _ in 0..random.random_range(0..200) {
        refill(scheduler, random);
    }
    (0..500).for_each(|_| put(scheduler, 0, random.random_range(1..=1514)));
    let (mut all, mut got, mut latency) = (0.0f64, 0.0f64, 0.0f64);
    while got < 200_000.0 {
        let (flow, len) = refill(scheduler, random);
        all += f64::from(len);
        if flow == 0 {
            // A packet counts as unsent until its last bit has left.
            latency = latency.max(all - got * frame / own);
            got += f64::from(len);
        }
    }
    latency / (3.0 * frame - 2.0 * own)
}

/// Serves a packet and enqueues another for the same flow.
fn refill<S: Scheduler<()>>(scheduler: &mut S, random: &mut Pcg64Mcg) -> (u32, u32) {
    let (flow, len) = pull(scheduler).expect("backlogged");
    put(scheduler, flow, random.random_range(1..=1514));
    (flow, len)
}

#[test]
fn latency_stays_within_that_of_a_latency_rate_server() {
    let mut random = Pcg64Mcg::seed_from_u64(4);
    let (mut kept, mut of_fifo) = (0.0f64, 0.0f64);
    for _ in 0..60 {
        let quantum = random.random_range(1514..4000);
        let weights: Vec<u32> = (0..random.random_range(2..8))
            .map(|_| random.random_range(1..=8))
            .collect();
        kept = kept.max(latency_of_bound(
            &mut scheduler(quantum),
            &weights,
            quantum,
            &mut random,
        ));
        of_fifo = of_fifo.max(latency_of_bound(
            &mut fifo::Fifo::default(),
            &weights,
            quantum,
            &mut random,
        ));
    }
    println!("latency / bound: {kept:.3}; fifo {of_fifo:.1}");
    assert!(kept <= 1.0 && kept > 0.3, "{kept}");
    assert!(of_fifo > 1.0, "fifo must break it: {of_fifo}");
}

#[test]
fn flows_that_keep_returning_gain_nothing() {
    // One packet at a time, back at once after service, against one flow with a hundred packets
    // always.
    let mut returning = Source::burst(1, 1500, 1);
    returning.refill = Some(Refill {
        low: 0,
        burst: 1,
        after: 0,
        packets: 300,
    });
    let workload = Workload {
        name: "returning",
        seed: 0,
        sources: vec![returning, Source::burst(1, 1500, 300)],
    };
    let order = workload.outcome(&drr::Config { quantum: 1514 }).order;
    let first = order[..400].iter().filter(|flow| **flow == 0).count();
    assert!((190..=210).contains(&first), "{first} of 400");
}

/// Packets of 100 bytes of two backlogged flows, of weights 2 and 1, over some turns; `change` may
/// alter the scheduler first.
fn turns_of_two_and_one(
    mut scheduler: drr::Drr<()>,
    change: impl FnOnce(&mut drr::Drr<()>),
) -> Vec<u32> {
    set_weight(&mut scheduler, 0, 2);
    (0..24).for_each(|packet| put(&mut scheduler, packet % 2, 100));
    change(&mut scheduler);
    (0..12)
        .filter_map(|_| pull(&mut scheduler))
        .map(|(flow, _)| flow)
        .collect()
}

#[test]
fn a_new_quantum_leaves_the_weights_as_they_were() {
    let change = |scheduler: &mut drr::Drr<()>| {
        drr::Config { quantum: 200 }
            .reconfigure(scheduler)
            .expect("live")
    };
    // The turn in progress keeps two packets; later turns have two and four.
    assert_eq!(
        turns_of_two_and_one(scheduler(100), change),
        [0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0]
    );
    let forgets_weights = |scheduler: &mut drr::Drr<()>| {
        change(scheduler);
        set_weight(scheduler, 0, 1);
    };
    assert_eq!(
        turns_of_two_and_one(scheduler(100), forgets_weights),
        [1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0],
        "the check finds it"
    );
}

#[test]
fn a_removed_flow_keeps_its_weight_until_it_is_empty_and_no_longer() {
    let mut scheduler = scheduler(100);
    set_weight(&mut scheduler, 0, 2);
    let order = |scheduler: &mut drr::Drr<()>| {
        [0, 0, 0, 0, 1, 1]
            .into_iter()
            .for_each(|flow| put(scheduler, flow, 100));
        scheduler.remove_flow(FlowId(0));
        std::iter::from_fn(|| pull(scheduler))
            .map(|(flow, _)| flow)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        order(&mut scheduler),
        [0, 0, 1, 0, 0, 1],
        "it sends what waits by its weight"
    );
    assert_eq!(
        order(&mut scheduler),
        [0, 1, 0, 1, 0, 0],
        "when it comes back it is a flow like any other"
    );
}
