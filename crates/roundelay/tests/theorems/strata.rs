//! Common tests of `gfq`, `s_kps` and related schedulers: adversaries, random operations, and the
//! order of their bounds.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::schedulers::{Discipline, drr, gfq, qfq, s_kps, wf2q_plus};
use roundelay::{FlowConfig, FlowId, Instant, Packet, Scheduler};

use crate::theorems::timed::{Ratios, ratios};
use crate::theorems::workload::{Driven, SaturatedBursts, Source, Workload, adversaries};

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
        assert!(reached.are_kept(), "workload {} of seed {seed}: {reached:?}", workload.name);
        largest = largest.max(reached);
    }
    println!("{}: largest measured/bound in {runs} random workloads: {largest:.3?}", D::NAME);
    for (_, workload) in adversaries::all() {
        let reached = ratios(&workload, discipline, discipline, ROUNDING);
        assert!(reached.are_kept(), "adversarial workload: {reached:?}");
    }
    let adversarial = ratios(adversary, discipline, discipline, ROUNDING);
    println!("{}: measured/bound in the adversarial workload: {adversarial:.3?}", D::NAME);
    assert!(adversarial.b_wfi > 0.9 && adversarial.t_wfi > 0.9 && adversarial.latency.max(largest.latency) > 0.3, "{adversarial:?}");
    // The quantum is the longest packet, as DRR needs for constant cost.
    let drr = ratios(adversary, discipline, &drr::Config { quantum: 1 << 16 }, ROUNDING);
    println!("DRR reaches {drr:.3?} of the same bounds in the same workload");
    assert!(drr.b_wfi > 1.0 && drr.t_wfi > 1.0 && drr.latency > 1.0, "DRR must break the bounds, or the check is blind: {drr:?}");
}

/// Bounds in bytes and in seconds, of one flow.
fn promised<D: Discipline>(workload: &Workload, discipline: &D, flow: usize) -> (u64, u64) {
    let promised = workload.guarantees(discipline, flow);
    (promised.b_wfi.expect("promised").value, promised.t_wfi.expect("promised").value.as_picos())
}

/// Coarser rounding of times gives larger bounds; each discipline keeps its own bounds in the same
/// workloads.
#[test]
fn bounds_grow_with_rounding() {
    let mut largest = [Ratios::default(); 4];
    for workload in adversaries::all().map(|(_, workload)| workload).into_iter().chain((0..300).map(|seed| Workload::random(seed + 50_000)))
    {
        for flow in 0..workload.sources.len() {
            let bounds = [
                promised(&workload, &wf2q_plus::Config, flow),
                promised(&workload, &gfq::Config, flow),
                promised(&workload, &qfq::Config, flow),
                promised(&workload, &s_kps::Config, flow),
            ];
            let in_order = bounds.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
            assert!(in_order, "{}, seed {}, flow {flow}: {bounds:?}", workload.name, workload.seed);
        }
        let reached = [
            ratios(&workload, &wf2q_plus::Config, &wf2q_plus::Config, 0.0),
            ratios(&workload, &gfq::Config, &gfq::Config, ROUNDING),
            ratios(&workload, &qfq::Config, &qfq::Config, ROUNDING),
            ratios(&workload, &s_kps::Config, &s_kps::Config, ROUNDING),
        ];
        assert!(reached.iter().all(|ratios| ratios.are_kept()), "{}, seed {}: {reached:?}", workload.name, workload.seed);
        for (largest, reached) in largest.iter_mut().zip(reached) {
            *largest = largest.max(reached);
        }
    }
    for (name, largest) in ["wf2q_plus", "gfq", "qfq", "s_kps"].into_iter().zip(largest) {
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
    assert!(others.iter().all(|ratios| ratios.b_wfi > 1.0 && ratios.t_wfi > 1.0), "{others:?}");
    let rounded = adversaries::for_start_slots();
    let qfq = ratios(&rounded, &gfq::Config, &qfq::Config, ROUNDING);
    println!("qfq reaches {qfq:.3?} of the bounds of gfq");
    assert!(qfq.t_wfi > 1.0, "{qfq:?}");
}

/// A scheduler with separate records: the waiting packets of each flow, by serial number.
pub(crate) struct Audited<S> {
    pub(crate) scheduler: S,
    waiting: Vec<VecDeque<(u64, u32)>>,
    limits: Vec<u32>,
    removed: Vec<bool>,
    serial: u64,
}

impl<S: Scheduler<u64>> Audited<S> {
    pub(crate) fn new(scheduler: S, flows: usize) -> Self {
        let limits = vec![FlowConfig::DEFAULT.max_packet_len; flows];
        Self { scheduler, waiting: vec![Default::default(); flows], limits, removed: vec![false; flows], serial: 0 }
    }

    pub(crate) fn enqueue(&mut self, flow: usize, len: u32) {
        self.serial += 1;
        let packet = Packet::new(FlowId(flow as u32), len, self.serial);
        match self.scheduler.enqueue(NOW, packet) {
            Ok(()) => self.waiting[flow].push_back((self.serial, len)),
            Err(back) => assert!(back == packet && len > self.limits[flow], "only what is too long comes back, as it was"),
        }
        self.check();
    }

    pub(crate) fn dequeue(&mut self) -> Option<usize> {
        let packet = self.scheduler.dequeue(NOW);
        let flow = packet.map(|packet| {
            let first = self.waiting[packet.flow.index()].pop_front();
            assert_eq!(first, Some((packet.payload, packet.len)), "first in, first out");
            packet.flow.index()
        });
        self.check();
        flow
    }

    fn evict(&mut self) {
        let packet = self.scheduler.evict();
        assert_eq!(packet.is_none(), self.waiting.iter().all(|queue| queue.is_empty()), "something is given up if anything waits");
        if let Some(packet) = packet {
            let last = self.waiting[packet.flow.index()].pop_back();
            assert_eq!(last, Some((packet.payload, packet.len)), "the tail goes");
        }
        self.check();
    }

    pub(crate) fn set_flow(&mut self, flow: usize, weight: u32, max_packet_len: u32) {
        self.scheduler.set_flow(FlowId(flow as u32), FlowConfig { weight, max_packet_len }).expect("legal");
        self.limits[flow] = max_packet_len;
        self.removed[flow] = false;
        self.check();
    }

    fn remove_flow(&mut self, flow: usize) {
        self.scheduler.remove_flow(FlowId(flow as u32));
        self.removed[flow] = true;
        self.check();
    }

    /// A removed flow keeps its configuration until its last packet has left.
    fn check(&mut self) {
        for flow in (0..self.limits.len()).filter(|flow| self.removed[*flow] && self.waiting[*flow].is_empty()) {
            self.limits[flow] = FlowConfig::DEFAULT.max_packet_len;
        }
        self.scheduler.check_invariants();
        let packets: usize = self.waiting.iter().map(|queue| queue.len()).sum();
        assert_eq!(self.scheduler.backlog().packets, packets as u64, "work is conserved");
    }
}

fn any_config(random: &mut Pcg64) -> (u32, u32) {
    let octave = random.random_range(0..=10);
    let weight = (1u32 << octave).min(random.random_range(1..=1024));
    let octave = random.random_range(0..=7);
    (weight, random.random_range(512..=512 << octave))
}

/// Enqueues, dequeues, evicts, sets and removes at random, in phases of filling and draining.
pub(crate) fn random_operations<S: Scheduler<u64>>(scheduler: S, seed: u64, steps: usize, changes: f64) {
    let mut random = Pcg64::seed_from_u64(seed);
    let flows = random.random_range(1..=40);
    let mut audited = Audited::new(scheduler, flows);
    for flow in 0..flows {
        let (weight, max_packet_len) = any_config(&mut random);
        audited.set_flow(flow, weight, max_packet_len);
    }
    let mut pressure = 0.5;
    for step in 0..steps {
        let flow = random.random_range(0..flows);
        if step % 50 == 0 {
            pressure = [0.3, 0.5, 0.7, 0.9][random.random_range(0..4)];
        }
        if random.random_bool(changes) {
            match random.random_range(0..6) {
                0 | 1 => audited.evict(),
                2 => audited.remove_flow(flow),
                _ => {
                    let (weight, max_packet_len) = any_config(&mut random);
                    audited.set_flow(flow, weight, max_packet_len);
                }
            }
        } else if random.random_bool(pressure) {
            let limit = audited.limits[flow];
            let len = [0, 1, limit, limit + 1, random.random_range(0..=limit)][random.random_range(0..5)];
            audited.enqueue(flow, len);
        } else {
            audited.dequeue();
        }
    }
    while audited.dequeue().is_some() {}
}

/// The workload that breaks the listings in `qfq_start_time.rs`: bursts of light flows beside heavy
/// ones, on a link filled by the flows. Here a newly backlogged flow starts at V, not at QFQ's
/// start time.
pub(crate) fn saturated_bursts<S: Scheduler<u64>>(scheduler: S, seed: u64) {
    let mut traffic = SaturatedBursts::new(seed);
    let mut audited = Audited::new(scheduler, traffic.weights().len());
    for (flow, weight) in traffic.weights().iter().enumerate() {
        audited.set_flow(flow, *weight as u32, 1024 * traffic.shares()[flow].1 as u32);
    }
    for _ in 0..SaturatedBursts::STEPS {
        for (flow, len) in traffic.next(|flow| audited.waiting[flow].len()) {
            audited.enqueue(flow, 1024 * len as u32);
        }
        audited.dequeue();
    }
    while audited.dequeue().is_some() {}
}

/// Twenty flows are served some packets each, ahead of ten flows with one later-finishing packet
/// each, and are removed. If their weights were removed at once, V would pass those ten by half of
/// the packet or more: Theorem 4, checked by the invariants.
pub(crate) fn flows_served_ahead_leave<S: Scheduler<u64>>(scheduler: S, packets: usize, max_packet_len: u32) {
    let mut audited = Audited::new(scheduler, 30);
    for flow in 0..30 {
        audited.set_flow(flow, 1, if flow < 20 { max_packet_len } else { 1 << 16 });
    }
    (20..30).for_each(|flow| audited.enqueue(flow, 1 << 16));
    (0..20 * packets).for_each(|packet| audited.enqueue(packet % 20, max_packet_len - 1));
    let ahead: Vec<_> = (0..20 * packets).filter_map(|_| audited.dequeue()).collect();
    assert!(ahead.iter().all(|flow| *flow < 20), "{ahead:?}");
    (0..20).for_each(|flow| audited.remove_flow(flow));
    assert_eq!(std::iter::from_fn(|| audited.dequeue()).count(), 10);
}

/// A flow takes the whole link while another is idle, until V has wrapped once, a little less, a
/// little more, and half.
pub(crate) fn keeps_shares_when_virtual_time_wraps<S: Scheduler<u64>>(build: impl Fn() -> S) {
    // Two flows of weight 1, twice: a packet advances V by 2^44. The flow numbers are above 64,
    // where debug builds check less often.
    const TURN: u64 = 1 << (64 - 44);
    let (busy, idle) = (FlowId(70), FlowId(71));
    for packets in [TURN / 4, TURN / 2 - 1, TURN / 2, TURN / 2 + 1, TURN - 5, TURN - 2, TURN - 1, TURN, TURN + 1, TURN + 2] {
        let mut scheduler = build();
        let send = |scheduler: &mut S, flow| scheduler.enqueue(NOW, Packet::new(flow, 1 << 16, 0)).expect("not too long");
        for flow in [busy, idle] {
            scheduler.set_flow(flow, FlowConfig { weight: 1, max_packet_len: 1 << 16 }).expect("legal");
            send(&mut scheduler, flow);
        }
        for _ in 0..packets {
            send(&mut scheduler, busy);
            scheduler.dequeue(NOW).expect("work is conserved");
        }
        (0..20).for_each(|packet| send(&mut scheduler, [busy, idle][packet % 2]));
        let order: Vec<_> = (0..20).filter_map(|_| scheduler.dequeue(NOW)).map(|packet| packet.flow).collect();
        let served = order.iter().filter(|flow| **flow == idle).count();
        let first = order.iter().position(|flow| *flow == idle);
        assert!((6..=14).contains(&served) && first < Some(8), "after {packets} packets: {order:?}");
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
    let others = (0..3).map(|flow| audited.waiting[flow].len()).collect::<Vec<_>>();
    assert!(others[0] < 200 && others[1] < 200, "both are served: {others:?}");
}

/// A failed change and a refused packet leave the state unchanged.
pub(crate) fn refusals_change_nothing<S: Scheduler<u64> + std::fmt::Debug>(build: impl Fn() -> S) {
    let busy = || {
        let mut scheduler = build();
        for flow in 0..8 {
            let config = FlowConfig { weight: 1 << flow, max_packet_len: 512 << (flow % 4) };
            scheduler.set_flow(FlowId(flow), config).expect("legal");
            (0..4).for_each(|_| scheduler.enqueue(NOW, Packet::new(FlowId(flow), 512, 0)).expect("short"));
        }
        assert_eq!((0..5).filter_map(|_| scheduler.dequeue(NOW)).count(), 5);
        scheduler
    };
    let before = format!("{:?}", busy());
    let configs = [(0, 1500), (1025, 1500), (u32::MAX, 1500), (10, 0), (10, 511), (10, (1 << 16) + 1), (10, u32::MAX)];
    for (weight, max_packet_len) in configs {
        let mut scheduler = busy();
        for flow in [2, 900, FlowId::LARGEST_TABLED.0 + 1] {
            assert!(scheduler.set_flow(FlowId(flow), FlowConfig { weight, max_packet_len }).is_err());
        }
        assert_eq!(format!("{scheduler:?}"), before);
    }
    for (flow, len) in [(0, 513), (3, 4097), (0, u32::MAX), (5_000, 2049), (FlowId::LARGEST_TABLED.0 + 1, 64)] {
        let (mut scheduler, packet) = (busy(), Packet::new(FlowId(flow), len, 7));
        assert_eq!(scheduler.enqueue(NOW, packet), Err(packet));
        assert_eq!(format!("{scheduler:?}"), before, "flow {flow}, {len} bytes");
    }
}

/// After all its packets were pushed out, a scheduler behaves as a new one, whatever was in the
/// queues.
pub(crate) fn an_emptied_scheduler_is_as_good_as_new<S: Scheduler<u64>>(build: impl Fn() -> S) {
    let fill = |scheduler: &mut S| {
        for flow in 0..6u32 {
            scheduler.set_flow(FlowId(flow), FlowConfig { weight: 1 + flow * 3, max_packet_len: 2048 }).expect("legal");
            (0..5).for_each(|packet| scheduler.enqueue(NOW, Packet::new(FlowId(flow), 100 + flow * 7 + packet * 300, 0)).expect("short"));
        }
    };
    let drain = |scheduler: &mut S| std::iter::from_fn(|| scheduler.dequeue(NOW)).map(|packet| packet.flow.0).collect::<Vec<_>>();
    let (mut used, mut new) = (build(), build());
    fill(&mut used);
    while used.evict().is_some() {}
    used.check_invariants();
    fill(&mut used);
    fill(&mut new);
    assert_eq!(drain(&mut used), drain(&mut new));
}

pub(crate) fn thousands_of_flows_keep_their_bounds<D: Discipline>(discipline: &D) {
    let source =
        |flow: u32| Source { arrivals: vec![u64::from(flow % 7) * 10_000; 2], ..Source::burst(1 << (flow % 11), 64 << (flow % 6), 0) };
    let workload = Workload { name: "thousands", seed: 0, sources: (0..3_000).map(source).collect() };
    let ratios = workload.ratios(discipline, &workload.outcome(discipline), ROUNDING);
    assert!(ratios.b_wfi_by_bit <= 1.0 && ratios.t_wfi <= 1.0, "{ratios:?}");
}
