//! AFD: claims of `afd.rs`, and disciplines that break them. Drop probabilities and missed updates
//! are tested beside the code.

use std::collections::VecDeque;

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use roundelay::schedulers::{Discipline, afd, drr, fifo};
use roundelay::{Control, Duration, Rate, Seed};
use roundelay::{FlowId, Instant, Limit, Packet, QueueSpec, Scheduler};
use roundelay_metrics::jain_index;

use crate::theorems::red::{LEN, Scene, Traffic};

fn build(config: afd::Config) -> afd::Afd<u64> {
    config.build(Seed::new(1)).expect("legal parameters")
}

/// Twelve senders from 0.1 to 4.3 times an equal share of 10 Mbit/s: a load of 1.6.
const RATES: [u64; 12] = [
    80, 120, 200, 400, 600, 1000, 1200, 1500, 1900, 2400, 3000, 3600,
];

fn scene() -> Scene {
    Scene {
        link: 10_000_000,
        limit: Limit::of_packets(300),
        constant: RATES.map(|kbit| kbit * 1000).to_vec(),
        seconds: 30,
        ..Default::default()
    }
}

/// Max-min fair rates: the fair rate is an equal share, among the flows that want more, of the
/// bandwidth left by the others.
fn max_min(rates: &[u64], link: u64) -> Vec<f64> {
    let mut sorted = rates.to_vec();
    sorted.sort_unstable();
    let (mut left, mut fair) = (link as f64, 0.0);
    for (served, rate) in sorted.iter().enumerate() {
        fair = left / (rates.len() - served) as f64;
        if *rate as f64 > fair {
            break;
        }
        left -= *rate as f64;
    }
    rates.iter().map(|rate| (*rate as f64).min(fair)).collect()
}

/// Jain's index of the flows' rates over their fair rates, and the largest deviation.
fn fairness(scene: &Scene, traffic: &Traffic) -> (f64, f64) {
    let seconds = (scene.seconds - scene.settle) as f64;
    let got = traffic
        .sent
        .iter()
        .map(|bytes| *bytes as f64 * 8.0 / seconds);
    let ratios: Vec<f64> = got
        .zip(max_min(&scene.constant, scene.link))
        .map(|(got, due)| got / due)
        .collect();
    let worst = ratios
        .iter()
        .map(|ratio| (ratio - 1.0).abs())
        .fold(0.0, f64::max);
    (jain_index(&ratios).unwrap_or(0.0), worst)
}

#[test]
fn unequal_senders_get_max_min_fair_rates() {
    let scene = scene();
    let of = |traffic: &Traffic| fairness(&scene, traffic);
    let afd = of(&scene.run(&afd::Config::default(), 1));
    let (fifo, drr) = (
        of(&scene.run(&fifo::Config, 1)),
        of(&scene.run(&drr::Config::default(), 1)),
    );
    println!("(Jain, largest deviation): AFD {afd:.3?}, FIFO {fifo:.3?}, DRR {drr:.3?}");
    let is_fair = |(jain, worst): (f64, f64)| jain > 0.99 && worst < 0.15;
    assert!(is_fair(afd) && is_fair(drr));
    assert!(
        !is_fair(fifo),
        "the check finds a queue that gives whoever sends more, more"
    );
}

#[test]
fn slow_flows_are_left_alone() {
    let loss = |traffic: &Traffic| (0..5).map(|flow| traffic.loss(flow)).fold(0.0, f64::max);
    let (afd, fifo) = (
        loss(&scene().run(&afd::Config::default(), 1)),
        loss(&scene().run(&fifo::Config, 1)),
    );
    println!("largest loss of flows below half of the fair rate: AFD {afd:.4}, FIFO {fifo:.4}");
    assert!(afd < 0.02 && fifo > 0.2, "{afd} {fifo}");
}

#[test]
fn the_queue_stays_around_its_target() {
    for target in [25_000, 50_000, 100_000] {
        let afd = scene().run(
            &afd::Config {
                target,
                ..Default::default()
            },
            1,
        );
        let ratio = |traffic: &Traffic| traffic.mean_backlog / target as f64;
        assert!(
            (0.6..1.4).contains(&ratio(&afd)) && afd.full == 0,
            "{:.2} of {target}",
            ratio(&afd)
        );
        assert!(
            ratio(&scene().run(&fifo::Config, 1)) > 2.0,
            "FIFO's is as long as the buffer"
        );
    }
}

/// Responsive senders and one unresponsive sender: the latter gets twice the fair rate, since
/// responsive senders stay below the fair rate half of the time.
#[test]
fn an_unresponsive_flow_gets_little_more_than_the_others() {
    let scene = Scene {
        constant: vec![5_000_000],
        responsive: 19,
        link: 10_000_000,
        limit: Limit::of_packets(300),
        ..Default::default()
    };
    let times_fair = |traffic: &Traffic| traffic.share(0) * 20.0;
    let (afd, fifo) = (
        times_fair(&scene.run(&afd::Config::default(), 1)),
        times_fair(&scene.run(&fifo::Config, 1)),
    );
    println!(
        "a flow of half the link's rate among 19 that respond, over its fair share: AFD {afd:.2}, FIFO {fifo:.2}"
    );
    assert!(afd < 2.5 && fifo > 5.0, "{afd} {fifo}");
}

#[test]
fn memory_does_not_grow_with_flows() {
    let mut scheduler = build(Default::default());
    let before = scheduler.footprint();
    for flow in 0..100_000u32 {
        assert!(
            scheduler
                .enqueue(
                    Instant::ZERO,
                    Packet::new(FlowId(flow.wrapping_mul(0x9e37_79b9)), LEN, 0)
                )
                .is_ok()
        );
        assert!(scheduler.dequeue(Instant::ZERO).is_some() || scheduler.take_dropped().is_some());
    }
    assert_eq!(scheduler.footprint(), before);
    assert_eq!(before.bytes_per_flow, 0);
}

#[test]
fn it_reads_as_it_is_written() {
    let spec: QueueSpec = "afd limit 300 target 25kb shadow 1000 sample 10 alpha 1.7 beta 1.9"
        .parse()
        .expect("legal");
    assert_eq!(
        spec.discipline.to_string(),
        "afd target 25kb shadow 1000 sample 10 beta 1.9"
    );
    assert!(
        "afd shadow 0".parse::<QueueSpec>().is_err()
            && "afd sample 0".parse::<QueueSpec>().is_err()
    );
}

/// A queue that the onsets' link asks.
trait Queue {
    /// A packet arrives. Returns whether it was dropped.
    fn arrive(&mut self, now: Instant, flow: u32, len: u32) -> bool;
    /// The length of the packet that leaves.
    fn leave(&mut self, now: Instant) -> Option<u32>;
    fn set_target(&mut self, bytes: u64);
}

impl Queue for afd::Afd<u64> {
    fn arrive(&mut self, now: Instant, flow: u32, len: u32) -> bool {
        let taken = self.enqueue(now, Packet::new(FlowId(flow), len, 0));
        assert!(taken.is_ok(), "it takes any packet");
        self.take_dropped().is_some()
    }

    fn leave(&mut self, now: Instant) -> Option<u32> {
        self.dequeue(now).map(|packet| packet.len)
    }

    fn set_target(&mut self, bytes: u64) {
        let config = afd::Config {
            target: bytes,
            ..Default::default()
        };
        config.reconfigure(self).expect("live");
    }
}

/// AFD in real numbers, a second time and plainly: a timer updates m_fair, and a flow's m_i is counted
/// anew for each arrival. As in `afd.rs`, m_fair is at most the whole sample.
struct Model {
    random: Pcg64,
    queue: VecDeque<u32>,
    shadow: Vec<(u32, u32)>,
    fair: f64,
    /// q_old and q_target.
    before: f64,
    target: f64,
    beta: f64,
    timer: Instant,
}

impl Model {
    const INTERVAL: Duration = Duration::from_micros(6_250);
    const SHADOW: usize = 500;

    fn new(seed: u64, beta: f64) -> Self {
        Self {
            random: Pcg64::seed_from_u64(seed),
            queue: VecDeque::new(),
            shadow: Vec::new(),
            fair: f64::INFINITY,
            before: 0.0,
            target: 50_000.0,
            beta,
            timer: Instant::ZERO + Self::INTERVAL,
        }
    }

    /// The timer's updates up to `now`.
    fn update(&mut self, now: Instant) {
        while self.timer <= now {
            self.timer += Self::INTERVAL;
            let waiting: u32 = self.queue.iter().sum();
            let waiting = f64::from(waiting);
            self.fair += 1.7 * (self.before - self.target) - self.beta * (waiting - self.target);
            self.before = waiting;
            let bytes: u32 = self.shadow.iter().map(|(_, len)| len).sum();
            if !self.shadow.is_empty() {
                let full = f64::from(bytes) * Self::SHADOW as f64 / self.shadow.len() as f64;
                self.fair = self.fair.min(full);
            }
            self.fair = self.fair.max(0.0);
        }
    }
}

impl Queue for Model {
    fn arrive(&mut self, now: Instant, flow: u32, len: u32) -> bool {
        self.update(now);
        if self.random.random_range(0..5) == 0 {
            if self.shadow.len() == Self::SHADOW {
                let old = self.random.random_range(0..Self::SHADOW);
                self.shadow.swap_remove(old);
            }
            self.shadow.push((flow, len));
        }
        let mut own = 0;
        for (sampled, len) in &self.shadow {
            own += if *sampled == flow { *len } else { 0 };
        }
        let beyond = 1.0 - self.fair / f64::from(own);
        let is_dropped = own > 0 && self.random.random::<f64>() < beyond;
        if !is_dropped {
            self.queue.push_back(len);
        }
        is_dropped
    }

    fn leave(&mut self, now: Instant) -> Option<u32> {
        self.update(now);
        self.queue.pop_front()
    }

    fn set_target(&mut self, bytes: u64) {
        self.target = bytes as f64;
    }
}

/// Six flows of .5 to 5 Mbit/s with a pause of half a second, for five seconds.
fn onsets() -> Vec<(Instant, u32, u32)> {
    let mut random = Pcg64::seed_from_u64(7);
    let mut arrivals = Vec::new();
    for (flow, kbits) in [500, 1_000, 2_000, 3_500, 4_000, 5_000]
        .into_iter()
        .enumerate()
    {
        let mut nanos = random.random_range(0..10_000_000_u64);
        while nanos < 5_000_000_000 {
            let len: u32 = random.random_range(200..1500);
            if !(1_500_000_000..2_000_000_000).contains(&nanos) {
                arrivals.push((Instant::from_nanos(nanos), flow as u32, len));
            }
            let pace = u64::from(len) * 8_000_000 / kbits;
            nanos += random.random_range(pace / 2..pace * 3 / 2);
        }
    }
    arrivals.sort_unstable();
    arrivals
}

/// What is dropped in each tenth of a second. The link of 10 Mbit/s has 5 from 3 s on, and the queue
/// has another target from 4 s on.
fn dropped_by_tenths(queue: &mut impl Queue, arrivals: &[(Instant, u32, u32)]) -> Vec<f64> {
    let second = |number| Instant::ZERO + Duration::from_secs(number);
    let mut dropped = vec![0.0; 50];
    let (mut free_at, mut waiting, mut has_new_target) = (Instant::ZERO, 0_u64, false);
    for (at, flow, len) in arrivals {
        while waiting > 0 && free_at < *at {
            let kbits = if free_at < second(3) { 10_000 } else { 5_000 };
            let rate = Rate::from_bits_per_second(kbits * 1_000).expect("a rate");
            let left = queue.leave(free_at).expect("packets wait");
            waiting -= 1;
            free_at += rate.time_of(left.into());
        }
        if *at >= second(4) && !has_new_target {
            queue.set_target(20_000);
            has_new_target = true;
        }
        if queue.arrive(*at, *flow, *len) {
            dropped[(at.since(Instant::ZERO).as_nanos() / 100_000_000) as usize] += 1.0;
            continue;
        }
        waiting += 1;
        if waiting == 1 {
            free_at = free_at.max(*at);
        }
    }
    dropped
}

/// Mean and variance of the mean for each tenth of a second.
fn over_seeds(run: impl Fn(u64) -> Vec<f64>) -> Vec<(f64, f64)> {
    const SEEDS: u64 = 100;
    let runs: Vec<Vec<f64>> = (0..SEEDS).map(run).collect();
    let count = SEEDS as f64;
    let mut all = Vec::new();
    for tenth in 0..50 {
        let sum: f64 = runs.iter().map(|run| run[tenth]).sum();
        let mean = sum / count;
        let squares: f64 = runs.iter().map(|run| (run[tenth] - mean).powi(2)).sum();
        all.push((mean, squares / (count - 1.0) / count));
    }
    all
}

/// The tenths in which the means are further apart than chance has it once in thousands of runs.
fn tenths_apart(ours: &[(f64, f64)], theirs: &[(f64, f64)]) -> Vec<usize> {
    let mut apart = Vec::new();
    for (tenth, (our, their)) in ours.iter().zip(theirs).enumerate() {
        let most = 4.5 * (our.1 + their.1).sqrt() + 1e-9;
        if (our.0 - their.0).abs() > most {
            apart.push(tenth);
        }
    }
    apart
}

/// From the first packet on, after a pause, at another rate of the link and with another target, the
/// drops of each tenth of a second are those of the model.
#[test]
fn onsets_are_those_of_an_exact_model() {
    let arrivals = onsets();
    let model = |beta| over_seeds(|seed| dropped_by_tenths(&mut Model::new(seed, beta), &arrivals));
    let ours = over_seeds(|seed| {
        let mut afd = afd::Config::default()
            .build(Seed::new(seed))
            .expect("legal");
        dropped_by_tenths(&mut afd, &arrivals)
    });
    let total: f64 = ours.iter().map(|(mean, _)| mean).sum();
    assert!((4_000.0..7_000.0).contains(&total), "{total} dropped a run");
    let apart = tenths_apart(&ours, &model(1.8));
    assert!(apart.is_empty(), "tenths of a second: {apart:?}");
    let apart = tenths_apart(&ours, &model(1.85));
    assert!(!apart.is_empty(), "another gain is found");
}
