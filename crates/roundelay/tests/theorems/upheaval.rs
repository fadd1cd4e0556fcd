//! Weight changes and push-outs while other packets wait: the order of service beside an exact
//! fluid server, and the latency of flows with constant weights.
//!
//! Times are in nanoseconds; the link sends a byte in each.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::schedulers::{Discipline, drr, fifo, scfq, wf2q, wf2q_plus, wfq};
use roundelay::{Control, Seed};
use roundelay::{FlowConfig, FlowId, Instant, Packet, Rate, Scheduler, Share};
use roundelay_reference::{Number, Rational};

use crate::theorems::workload::RATE;

fn rational(value: u64) -> Rational {
    Rational::from_u64(value)
}

/// A packet not yet finished by the fluid server.
#[derive(Debug, Clone)]
struct Part {
    packet: usize,
    left: Rational,
    /// The weight used to time the packet; until then, the flow's.
    weight: Option<u32>,
}

#[derive(Debug, Clone, Default)]
struct Waiting {
    packet: usize,
    len: u64,
    came: Rational,
}

#[derive(Debug, Clone, Default)]
struct ExactFlow {
    weight: u32,
    queue: VecDeque<Waiting>,
    parts: VecDeque<Part>,
    start: Rational,
    finish: Rational,
    next: Rational,
}

impl ExactFlow {
    fn rate(&self) -> u64 {
        self.parts
            .front()
            .map_or(0, |part| part.weight.unwrap_or(self.weight).into())
    }

    /// Times the first waiting packet.
    fn time(&mut self) {
        let Some(head) = self.queue.front() else {
            return;
        };
        self.start = self.next.clone().max(head.came.clone());
        self.finish = self.start.clone() + rational(head.len) / rational(self.weight.into());
        self.next = self.finish.clone();
        if let Some(part) = self
            .parts
            .iter_mut()
            .find(|part| part.packet == head.packet)
        {
            part.weight = Some(self.weight);
        }
    }
}

/// The fluid server, packet by packet.
#[derive(Debug, Clone, Default)]
struct Exact {
    now: Rational,
    flows: Vec<ExactFlow>,
    /// The largest F - S of a first packet since all queues were last empty.
    longest: Rational,
}

impl Exact {
    /// The service of all backlogged flows until the first of their packets ends, per unit of
    /// weight.
    fn step(&self) -> Option<Rational> {
        let busy = self.flows.iter().filter(|flow| !flow.parts.is_empty());
        busy.map(|flow| flow.parts[0].left.clone() / rational(flow.rate()))
            .min()
    }

    fn pass(&mut self, step: &Rational) {
        self.now = self.now.clone() + step.clone();
        for flow in &mut self.flows {
            let rate = rational(flow.rate());
            if let Some(part) = flow.parts.front_mut() {
                part.left = part.left.clone() - step.clone() * rate;
                if part.left == rational(0) {
                    flow.parts.pop_front();
                }
            }
        }
    }

    fn work(&mut self, bytes: u64) {
        let mut work = rational(bytes);
        while let Some(step) = self.step().filter(|_| work > rational(0)) {
            let weight = rational(self.flows.iter().map(ExactFlow::rate).sum());
            let step = step.min(work.clone() / weight.clone());
            work -= step.clone() * weight;
            self.pass(&step);
        }
    }

    fn catch_up(&mut self, target: &Rational) {
        while self.now < *target {
            let left = target.clone() - self.now.clone();
            let step = self.step().map_or(left.clone(), |step| step.min(left));
            self.pass(&step);
        }
    }

    fn arrive(&mut self, number: usize, packet: usize, len: u64) {
        let came = self.now.clone();
        let flow = &mut self.flows[number];
        if flow.queue.is_empty() && flow.parts.is_empty() {
            flow.next = came.clone();
        }
        flow.parts.push_back(Part {
            packet,
            left: rational(len),
            weight: None,
        });
        flow.queue.push_back(Waiting { packet, len, came });
        if flow.queue.len() == 1 {
            self.time(number, true);
        }
    }

    /// `is_new` if the flow had no packet before.
    fn time(&mut self, flow: usize, is_new: bool) {
        let is_only = is_new
            && self
                .flows
                .iter()
                .enumerate()
                .all(|(other, others)| other == flow || others.queue.is_empty());
        let flow = &mut self.flows[flow];
        flow.time();
        let length = flow.finish.clone() - flow.start.clone();
        self.longest = if is_only {
            length
        } else {
            self.longest.clone().max(length)
        };
    }

    fn evict(&mut self, flow: usize) {
        let flow = &mut self.flows[flow];
        let packet = flow.queue.pop_back().expect("it waits").packet;
        flow.parts.retain(|part| part.packet != packet);
        if flow.queue.is_empty() {
            flow.next = flow.start.clone();
        }
    }

    /// Whether all packets sent ahead of the fluid server were timed with the present weight: with
    /// two weights in use at once, the fluid server rounds up.
    fn may_change(&self, flow: usize) -> bool {
        let flow = &self.flows[flow];
        flow.parts
            .iter()
            .all(|part| part.weight.is_none_or(|weight| weight == flow.weight))
    }

    fn set_weight(&mut self, flow: usize, weight: u32) {
        let now = self.now.clone();
        let flow = &mut self.flows[flow];
        let behind: Vec<_> = flow
            .queue
            .iter()
            .skip(1)
            .map(|waiting| (waiting.packet, waiting.len))
            .collect();
        let timed = flow.parts.iter().any(|part| part.weight.is_some());
        if weight != flow.weight && !timed {
            let whole = |(packet, len): (usize, u64)| Part {
                packet,
                left: rational(len),
                weight: None,
            };
            flow.parts = behind.into_iter().map(whole).collect();
            flow.next = now;
        }
        flow.weight = weight;
    }
}

/// The check of a discipline's choice by the exact fluid server: false for a wrong choice.
/// None: no check.
type Judge = Option<fn(&mut Exact, usize) -> bool>;

fn tolerance() -> Rational {
    rational(1) / rational(1 << 16)
}

fn heads(exact: &Exact) -> impl Iterator<Item = &ExactFlow> {
    exact.flows.iter().filter(|flow| !flow.queue.is_empty())
}

fn wfq_picks(exact: &mut Exact, flow: usize) -> bool {
    let first = heads(exact)
        .map(|head| head.finish.clone())
        .min()
        .expect("somebody waits");
    exact.catch_up(&(first.clone() - exact.longest.clone()));
    exact.flows[flow].finish <= first + tolerance()
}

fn wf2q_picks(exact: &mut Exact, flow: usize) -> bool {
    let first = heads(exact)
        .map(|head| head.start.clone())
        .min()
        .expect("somebody waits");
    exact.catch_up(&first);
    let earliest = heads(exact)
        .filter(|head| head.start <= exact.now)
        .map(|head| head.finish.clone())
        .min()
        .expect("the first");
    let own = &exact.flows[flow];
    own.start <= exact.now.clone() + tolerance() && own.finish <= earliest + tolerance()
}

/// Events of a run beside arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    weights: bool,
    evictions: bool,
}

#[derive(Debug, Clone, Copy)]
struct Record {
    flow: usize,
    len: u64,
    came: u64,
    left: Option<u64>,
}

struct Run<S> {
    scheduler: S,
    now: u64,
    free_at: u64,
    counted: u64,
    packets: Vec<Record>,
    total_weight: u64,
    exact: Exact,
    judge: Judge,
    decisions: u32,
    wrong: u32,
}

impl<S: Scheduler<usize>> Run<S> {
    fn new<D: Discipline<Scheduler<usize> = S>>(
        discipline: &D,
        weights: &[u32],
        judge: Judge,
    ) -> Self {
        let mut scheduler: S = discipline.build::<usize>(Seed::new(1)).expect("legal");
        scheduler.set_link_rate(Rate::from_bits_per_second(RATE).expect("not zero"));
        let exact = Exact {
            flows: vec![ExactFlow::default(); weights.len()],
            ..Exact::default()
        };
        let total_weight = weights.iter().copied().map(u64::from).sum();
        let (now, free_at, counted, packets, decisions, wrong) = (0, 0, 0, Vec::new(), 0, 0);
        let mut run = Self {
            scheduler,
            now,
            free_at,
            counted,
            packets,
            total_weight,
            exact,
            judge,
            decisions,
            wrong,
        };
        weights
            .iter()
            .enumerate()
            .for_each(|(flow, weight)| run.set_weight(flow, *weight));
        run
    }

    fn exact(&mut self, act: impl FnOnce(&mut Exact)) {
        if self.judge.is_some() {
            act(&mut self.exact);
        }
    }

    fn count(&mut self, until: u64) {
        let until = until.min(self.free_at);
        let bytes = until.saturating_sub(self.counted);
        self.counted = self.counted.max(until);
        self.exact(|exact| exact.work(bytes));
    }

    /// As of the last arrival or departure: `set_flow` has no time argument.
    fn set_weight(&mut self, flow: usize, weight: u32) {
        let config = FlowConfig {
            weight,
            max_packet_len: FlowConfig::MAX_PACKET_LEN,
        };
        self.scheduler
            .set_flow(FlowId(flow as u32), config)
            .expect("legal");
        self.exact(|exact| exact.set_weight(flow, weight));
        self.total_weight = self
            .total_weight
            .max(self.scheduler.total_weight().unwrap_or(0));
    }

    fn arrive(&mut self, flow: usize, len: u64) {
        self.count(self.now);
        let (packet, resting) = (
            self.packets.len(),
            self.free_at <= self.now && self.scheduler.backlog().is_empty(),
        );
        self.scheduler
            .enqueue(
                Instant::from_nanos(self.now),
                Packet::new(FlowId(flow as u32), len as u32, packet),
            )
            .expect("it fits");
        self.packets.push(Record {
            flow,
            len,
            came: self.now,
            left: None,
        });
        self.exact(|exact| {
            if resting {
                exact.flows.iter_mut().for_each(|flow| flow.parts.clear());
            }
            exact.arrive(flow, packet, len);
        });
        self.total_weight = self
            .total_weight
            .max(self.scheduler.total_weight().unwrap_or(0));
    }

    fn evict(&mut self) {
        if let Some(packet) = self.scheduler.evict() {
            self.exact(|exact| exact.evict(packet.flow.index()));
        }
    }

    /// Lets the link work until just before `until`.
    fn advance(&mut self, until: u64) {
        while self.free_at.max(self.now) < until && !self.scheduler.backlog().is_empty() {
            self.now = self.now.max(self.free_at);
            self.count(self.now);
            let packet = self
                .scheduler
                .dequeue(Instant::from_nanos(self.now))
                .expect("it never idles");
            let (flow, len) = (packet.flow.index(), u64::from(packet.len));
            if let Some(judge) = self.judge {
                self.decisions += 1;
                self.wrong += u32::from(!judge(&mut self.exact, flow));
                self.exact.flows[flow].queue.pop_front();
                self.exact.time(flow, false);
            }
            (self.counted, self.free_at) = (self.now, self.now + len);
            self.packets[packet.payload].left = Some(self.free_at);
        }
        self.now = self.now.max(until);
    }

    /// The worst lateness of the flows `of` over the latency bound of `promises`.
    fn lateness<D: Discipline>(&self, promises: &D, of: impl Iterator<Item = (usize, u32)>) -> f64 {
        let longest = self
            .packets
            .iter()
            .map(|packet| packet.len)
            .max()
            .unwrap_or(1) as u32;
        let rate = Rate::from_bits_per_second(RATE).expect("not zero");
        let ratio = |(number, weight): (usize, u32)| {
            let (total_weight, max_packet_len) = (self.total_weight, longest);
            let share = Share {
                weight,
                total_weight,
                least_weight: 1,
                flows: 100,
                max_packet_len,
                link_max_packet_len: longest,
                rate,
            };
            let bound = promises
                .guarantees(&share)
                .latency
                .expect("proven")
                .value
                .as_picos() as f64
                / 1e3;
            let (mut grc, mut worst) = (0.0f64, 0.0f64);
            for packet in self.packets.iter().filter(|packet| packet.flow == number) {
                let Some(left) = packet.left else { continue };
                grc = grc.max(packet.came as f64)
                    + packet.len as f64 * total_weight as f64 / f64::from(weight);
                worst = worst.max((left as f64 - grc) / bound);
            }
            worst
        };
        of.map(ratio).fold(0.0, f64::max)
    }
}

/// A random run. Flows of even number keep their weights.
fn random_run<D: Discipline>(
    discipline: &D,
    seed: u64,
    kind: Kind,
    judge: Judge,
) -> (Run<D::Scheduler<usize>>, Vec<u32>) {
    let mut random = Pcg64::seed_from_u64(seed);
    // Exact numbers stay short with small weights.
    let heaviest = if judge.is_some() {
        6
    } else {
        1 << random.random_range(0..=10)
    };
    let weights: Vec<u32> = (0..random.random_range(2..=if judge.is_some() { 5 } else { 12 }))
        .map(|_| random.random_range(1..=heaviest))
        .collect();
    let lens: Vec<u64> = weights
        .iter()
        .map(|_| 1 << random.random_range(6..=14))
        .collect();
    let mut run = Run::new(discipline, &weights, judge);
    for _ in 0..if judge.is_some() { 150 } else { 300 } {
        let flow = random.random_range(0..weights.len());
        match random.random_range(0..10) {
            0..5 => (0..random.random_range(1..=4))
                .for_each(|_| run.arrive(flow, random.random_range(1..=lens[flow]))),
            5..7 if kind.weights
                && flow % 2 == 1
                && (judge.is_none() || run.exact.may_change(flow)) =>
            {
                run.set_weight(flow, random.random_range(1..=weights[flow]));
            }
            5..8 if kind.evictions => (0..random.random_range(1..=5)).for_each(|_| run.evict()),
            _ => run.advance(run.now + random.random_range(1..=20_000)),
        }
    }
    run.advance(1 << 40);
    (run, weights)
}

const KINDS: [Kind; 3] = [
    Kind {
        weights: true,
        evictions: false,
    },
    Kind {
        weights: false,
        evictions: true,
    },
    Kind {
        weights: true,
        evictions: true,
    },
];

/// Decisions, and the number that differ from the exact fluid server's.
fn judged<D: Discipline>(
    discipline: &D,
    kind: Kind,
    judge: fn(&mut Exact, usize) -> bool,
    seeds: u64,
) -> (u32, u32) {
    let runs = (0..seeds).map(|seed| random_run(discipline, seed, kind, Some(judge)).0);
    runs.fold((0, 0), |sums, run| {
        (sums.0 + run.decisions, sums.1 + run.wrong)
    })
}

#[test]
fn serves_in_the_exact_order_while_weights_change_and_packets_are_pushed_out() {
    for kind in KINDS {
        let own = [
            judged(&wfq::Config, kind, wfq_picks, 60),
            judged(&wf2q::Config, kind, wf2q_picks, 60),
        ];
        let others = [
            judged(&scfq::Config, kind, wfq_picks, 10),
            judged(&wf2q_plus::Config, kind, wf2q_picks, 10),
        ];
        println!(
            "{kind:?}: decisions and wrong ones: wfq, wf2q {own:?}, scfq as wfq, wf2q_plus as wf2q {others:?}"
        );
        assert!(own.iter().all(|own| own.0 > 2_000 && own.1 == 0), "{own:?}");
        assert!(
            others.iter().all(|other| other.1 > 0),
            "others have another order"
        );
    }
}

fn lateness<D: Discipline, P: Discipline>(
    discipline: &D,
    promises: &P,
    kind: Kind,
    seeds: u64,
) -> f64 {
    let of = |seed| {
        let (run, weights) = random_run(discipline, seed, kind, None);
        run.lateness(promises, weights.into_iter().enumerate().step_by(2))
    };
    (0..seeds).map(of).fold(0.0, f64::max)
}

#[test]
fn latency_holds_for_flows_whose_weights_stay() {
    for kind in KINDS {
        let own = [
            lateness(&wfq::Config, &wfq::Config, kind, 300),
            lateness(&wf2q::Config, &wf2q::Config, kind, 300),
        ];
        let others = [
            lateness(&fifo::Config, &wfq::Config, kind, 60),
            lateness(&drr::Config::default(), &wfq::Config, kind, 60),
        ];
        println!("{kind:?}: lateness / bound: wfq, wf2q {own:.3?}, fifo, drr {others:.2?}");
        assert!(own.iter().all(|own| *own <= 1.0 && *own > 0.9), "{own:?}");
        assert!(
            others.iter().all(|other| *other > 1.0),
            "others must break it"
        );
    }
}

/// A flow of weight 1024 has a thousand packets waiting when its weight is lowered: later arrivals
/// do not wait for these packets.
fn after_a_lowered_weight<D: Discipline>(discipline: &D) -> f64 {
    let mut run = Run::new(discipline, &[1024, 1], None);
    (0..1_000).for_each(|_| run.arrive(0, 1_500));
    run.advance(1);
    run.set_weight(0, 1);
    run.advance(15_001);
    run.total_weight = run.scheduler.total_weight().unwrap_or(2);
    (0..10).for_each(|_| run.arrive(1, 1_500));
    run.advance(1 << 40);
    run.lateness(&wfq::Config, [(1, 1)].into_iter())
}

#[test]
fn who_comes_after_a_weight_was_lowered_does_not_wait_for_what_had_it() {
    let [own, wf2q, fifo] = [
        after_a_lowered_weight(&wfq::Config),
        after_a_lowered_weight(&wf2q::Config),
        after_a_lowered_weight(&fifo::Config),
    ];
    println!("lateness / bound: wfq {own:.3}, wf2q {wf2q:.3}, fifo {fifo:.1}");
    assert!(own <= 1.0 && wf2q <= 1.0 && fifo > 500.0);
}

/// Many long packets, half done in the fluid server, are pushed out: the earlier arrivals do not
/// all go ahead of a later one.
fn after_push_outs<D: Discipline>(discipline: &D) -> f64 {
    let mut weights = vec![1; 601];
    weights.push(10);
    let mut run = Run::new(discipline, &weights, None);
    (1..=200).for_each(|flow| run.arrive(flow, 65_536));
    (0..436).for_each(|_| run.arrive(601, 1_500));
    run.advance(435 * 1_500);
    (201..=600).for_each(|flow| run.arrive(flow, 1_500));
    (0..201).for_each(|_| run.evict());
    run.arrive(0, 64);
    run.advance(1 << 40);
    run.lateness(&wfq::Config, [(0, 1)].into_iter())
}

#[test]
fn who_comes_after_packets_were_pushed_out_is_not_passed_by_all() {
    let [own, wf2q, fifo] = [
        after_push_outs(&wfq::Config),
        after_push_outs(&wf2q::Config),
        after_push_outs(&fifo::Config),
    ];
    println!("lateness / bound: wfq {own:.3}, wf2q {wf2q:.3}, fifo {fifo:.1}");
    assert!(own <= 1.0 && wf2q <= 1.0 && fifo > 5.0);
}

/// Lateness of the others over its bound, and the number of packets sent by a flow with a weight
/// that changes after each packet, or stays.
fn restless<D: Discipline>(discipline: &D, changes: bool) -> (f64, usize) {
    let mut run = Run::new(discipline, &[100, 1, 1, 1, 1], None);
    (0..5).for_each(|flow| (0..200).for_each(|_| run.arrive(flow, 1_000)));
    for turn in 0..400 {
        if changes {
            run.set_weight(0, 99 + turn % 2);
        }
        run.advance(run.now + 250);
    }
    let own = run
        .packets
        .iter()
        .filter(|packet| packet.flow == 0 && packet.left.is_some())
        .count();
    run.advance(1 << 40);
    (
        run.lateness(&wfq::Config, (1..5).map(|flow| (flow, 1))),
        own,
    )
}

#[test]
fn a_flow_neither_gains_nor_starves_by_changing_its_weight_all_the_time() {
    let restless = [restless(&wfq::Config, true), restless(&wf2q::Config, true)];
    let still = [
        self::restless(&wfq::Config, false),
        self::restless(&wf2q::Config, false),
    ];
    println!(
        "lateness of the others / bound, own packets: wfq, wf2q {restless:?}, with a weight that stays {still:?}"
    );
    for (restless, still) in restless.iter().zip(still) {
        assert!(
            restless.0 <= 1.0 && restless.1.abs_diff(still.1) <= 5,
            "{restless:?}, {still:?}"
        );
    }
}
