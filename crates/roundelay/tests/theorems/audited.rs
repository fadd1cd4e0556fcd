//! Calls on a scheduler with a check after each: packets leave in order, none is lost, refused
//! packets come back, and invariants hold.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::Seed;
use roundelay::schedulers::Discipline;
use roundelay::{FlowConfig, FlowId, Instant, Packet, Scheduler};

use crate::theorems::workload::SaturatedBursts;

const NOW: Instant = Instant::ZERO;

/// An infallible `enqueue` of a packet without content.
pub(crate) fn put<T: Default>(scheduler: &mut impl Scheduler<T>, flow: u32, len: u32) {
    assert!(
        scheduler
            .enqueue(NOW, Packet::new(FlowId(flow), len, T::default()))
            .is_ok(),
        "takes a packet of {len} bytes"
    );
}

/// The next packet's flow and length.
pub(crate) fn pull<T>(scheduler: &mut impl Scheduler<T>) -> Option<(u32, u32)> {
    scheduler
        .dequeue(NOW)
        .map(|packet| (packet.flow.0, packet.len))
}

/// The flows of all packets, in the order of departures.
pub(crate) fn drain<T>(scheduler: &mut impl Scheduler<T>) -> Vec<u32> {
    std::iter::from_fn(|| pull(scheduler))
        .map(|(flow, _)| flow)
        .collect()
}

pub(crate) fn set<T>(
    scheduler: &mut impl Scheduler<T>,
    flow: u32,
    weight: u32,
    max_packet_len: u32,
) {
    scheduler
        .set_flow(
            FlowId(flow),
            FlowConfig {
                weight,
                max_packet_len,
            },
        )
        .expect("legal");
}

pub(crate) fn set_weight<T>(scheduler: &mut impl Scheduler<T>, flow: u32, weight: u32) {
    set(scheduler, flow, weight, FlowConfig::DEFAULT.max_packet_len);
}

/// A scheduler with separate records: the waiting packets of each flow, by serial number.
pub(crate) struct Audited<S> {
    pub(crate) scheduler: S,
    pub(crate) waiting: Vec<VecDeque<(u64, u32)>>,
    limits: Vec<u32>,
    removed: Vec<bool>,
    serial: u64,
}

impl<S: Scheduler<u64>> Audited<S> {
    pub(crate) fn new(scheduler: S, flows: usize) -> Self {
        let limits = vec![FlowConfig::DEFAULT.max_packet_len; flows];
        Self {
            scheduler,
            waiting: vec![Default::default(); flows],
            limits,
            removed: vec![false; flows],
            serial: 0,
        }
    }

    fn packet(&mut self, flow: usize, len: u32) -> Packet<u64> {
        self.serial += 1;
        Packet::new(FlowId(flow as u32), len, self.serial)
    }

    pub(crate) fn enqueue(&mut self, flow: usize, len: u32) {
        let packet = self.packet(flow, len);
        match self.scheduler.enqueue(NOW, packet) {
            Ok(()) => self.waiting[flow].push_back((self.serial, len)),
            Err(back) => assert!(
                back.packet == packet && len > self.limits[flow],
                "only what is too long comes back, as it was"
            ),
        }
        self.check();
    }

    pub(crate) fn dequeue(&mut self) -> Option<usize> {
        let packet = self.scheduler.dequeue(NOW);
        self.sent(packet)
    }

    /// As in a node of a hierarchy: the served flow gets another packet of `len` bytes before the
    /// scheduler checks whether the flow is idle.
    pub(crate) fn dequeue_refilled(&mut self, len: u32) -> Option<usize> {
        let refill = self.packet(0, len);
        let waiting = &mut self.waiting;
        let packet = self.scheduler.dequeue_refilled(NOW, &mut |flow| {
            waiting[flow.index()].push_back((refill.payload, len));
            Some(Packet { flow, ..refill })
        });
        self.sent(packet)
    }

    fn sent(&mut self, packet: Option<Packet<u64>>) -> Option<usize> {
        let flow = packet.map(|packet| {
            let first = self.waiting[packet.flow.index()].pop_front();
            assert_eq!(
                first,
                Some((packet.payload, packet.len)),
                "first in, first out"
            );
            packet.flow.index()
        });
        self.forget_removed();
        self.check();
        flow
    }

    pub(crate) fn evict(&mut self) {
        let packet = self.scheduler.evict();
        assert_eq!(
            packet.is_none(),
            self.waiting.iter().all(|queue| queue.is_empty()),
            "something is given up if anything waits"
        );
        self.gone(packet);
    }

    pub(crate) fn evict_flow(&mut self, flow: usize) {
        let packet = self.scheduler.evict_flow(FlowId(flow as u32));
        assert_eq!(
            packet.is_none(),
            self.waiting[flow].is_empty(),
            "a flow with packets gives one up"
        );
        assert!(
            packet.is_none_or(|packet| packet.flow.index() == flow),
            "its own"
        );
        self.gone(packet);
    }

    fn gone(&mut self, packet: Option<Packet<u64>>) {
        if let Some(packet) = packet {
            let last = self.waiting[packet.flow.index()].pop_back();
            assert_eq!(last, Some((packet.payload, packet.len)), "the tail goes");
        }
        self.forget_removed();
        self.check();
    }

    pub(crate) fn set_flow(&mut self, flow: usize, weight: u32, max_packet_len: u32) {
        self.scheduler
            .set_flow(
                FlowId(flow as u32),
                FlowConfig {
                    weight,
                    max_packet_len,
                },
            )
            .expect("legal");
        self.limits[flow] = max_packet_len;
        self.removed[flow] = false;
        self.check();
    }

    pub(crate) fn remove_flow(&mut self, flow: usize) {
        self.scheduler.remove_flow(FlowId(flow as u32));
        self.removed[flow] = true;
        self.forget_removed();
        self.check();
    }

    /// A removed flow keeps its configuration until its last packet has left.
    fn forget_removed(&mut self) {
        for flow in (0..self.limits.len())
            .filter(|flow| self.removed[*flow] && self.waiting[*flow].is_empty())
        {
            self.limits[flow] = FlowConfig::DEFAULT.max_packet_len;
        }
    }

    fn check(&self) {
        self.scheduler.check_invariants();
        let packets: usize = self.waiting.iter().map(|queue| queue.len()).sum();
        assert_eq!(
            self.scheduler.backlog().packets,
            packets as u64,
            "work is conserved"
        );
    }
}

pub(crate) fn any_config(random: &mut Pcg64) -> (u32, u32) {
    let octave = random.random_range(0..=10);
    let weight = (1u32 << octave).min(random.random_range(1..=1024));
    let octave = random.random_range(0..=7);
    (weight, random.random_range(512..=512 << octave))
}

/// Enqueues, dequeues, evicts, sets and removes at random, in phases of filling and draining. Flows
/// have `kinds` pairs of weight and length. `is_interior`: whether the scheduler can be a node of a
/// tree.
pub(crate) fn random_operations<S: Scheduler<u64>>(
    scheduler: S,
    seed: u64,
    steps: usize,
    changes: f64,
    kinds: usize,
    is_interior: bool,
) {
    let mut random = Pcg64::seed_from_u64(seed);
    let flows = random.random_range(1..=40);
    let mut audited = Audited::new(scheduler, flows);
    let kinds: Vec<_> = (0..kinds).map(|_| any_config(&mut random)).collect();
    let any_config = |random: &mut Pcg64| kinds[random.random_range(0..kinds.len())];
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
            match random.random_range(0..if is_interior { 8 } else { 6 }) {
                1 if is_interior => audited.evict_flow(flow),
                0 | 1 => audited.evict(),
                2 => audited.remove_flow(flow),
                // A packet refilled by a node can be longer than the configured length.
                3 | 4 if is_interior => {
                    audited.dequeue_refilled(random.random_range(0..=1 << 16));
                }
                _ => {
                    let (weight, max_packet_len) = any_config(&mut random);
                    audited.set_flow(flow, weight, max_packet_len);
                }
            }
        } else if random.random_bool(pressure) {
            let limit = audited.limits[flow];
            let len =
                [0, 1, limit, limit + 1, random.random_range(0..=limit)][random.random_range(0..5)];
            audited.enqueue(flow, len);
        } else {
            audited.dequeue();
        }
    }
    while audited.dequeue().is_some() {}
}

/// The workload that breaks the listings in `qfq_start_time.rs`: bursts of light flows beside heavy
/// ones, on a link filled by the flows. In QFQ a newly backlogged flow starts at QFQ's start time,
/// in the schedulers of `strata.rs` at V.
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

/// Bug 22: quanta out of range are refused with the range, and those at its ends work.
pub(crate) fn quanta_at_the_edges_are_refused_or_work<D: Discipline>(
    with_quantum: impl Fn(u32) -> D,
) {
    for quantum in [0, (1 << 20) + 1, 1 << 31, u32::MAX] {
        let error = with_quantum(quantum)
            .build::<()>(Seed::new(0))
            .err()
            .expect("out of range")
            .to_string();
        assert!(
            error.contains(&format!("{}: quantum", D::NAME)) && error.contains("1b to 1mb"),
            "{error}"
        );
    }
    for quantum in [1, 255, 256, 1 << 20] {
        let mut scheduler = with_quantum(quantum)
            .build::<()>(Seed::new(0))
            .expect("legal");
        set_weight(&mut scheduler, 1, FlowConfig::MAX_WEIGHT);
        (0..10).for_each(|number| put(&mut scheduler, number % 2, 1 << 16));
        assert_eq!(drain(&mut scheduler).len(), 10, "quantum {quantum}");
    }
}
