//! Workloads for the theorem tests, and what a discipline made of them.
//!
//! A [`Workload`] is a set of flows with their weights, packet lengths and arrivals; some flows answer what the scheduler does (a source
//! that keeps its backlog between two levels, one that comes back as soon as it was served). [`Workload::run`] drives any scheduler through
//! a [`Port`] and measures each flow's B-WFI and T-WFI. Everything follows from the seed, which each failure should print.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::schedulers::Discipline;
use roundelay::{DropReason, FlowConfig, FlowId, Guarantees, Instant, Limit, Observer, Packet, Port, Rate, Scheduler, Share};
use roundelay_metrics::{BitWfi, Stamp, TimeWfi};

/// A byte takes a nanosecond.
pub(crate) const RATE: u64 = 8_000_000_000;
const NANO: u64 = 1_000;

/// Lengths of a flow's packets in bytes.
#[derive(Debug, Clone)]
pub(crate) enum Lengths {
    Fixed(u32),
    /// Shortest and longest in turn.
    Alternating(u32, u32),
    Uniform(u32, u32),
    /// These, in order, round and round.
    Listed(Vec<u32>),
}

impl Lengths {
    fn of(&self, packet: usize, random: &mut Pcg64) -> u32 {
        match self {
            Self::Fixed(len) => *len,
            Self::Alternating(short, long) => [*short, *long][packet % 2],
            Self::Uniform(short, long) => random.random_range(*short..=*long),
            Self::Listed(lens) => lens[packet % lens.len()],
        }
    }
}

/// More packets of a flow, `after` nanoseconds after the scheduler gave out one of its packets and left `low` of them: up to `burst`,
/// `packets` in all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refill {
    pub(crate) low: u64,
    pub(crate) burst: u64,
    pub(crate) after: u64,
    pub(crate) packets: u64,
}

/// One flow and its traffic.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) config: FlowConfig,
    pub(crate) lengths: Lengths,
    /// Nanoseconds, rising: a packet each.
    pub(crate) arrivals: Vec<u64>,
    pub(crate) refill: Option<Refill>,
}

impl Source {
    /// A flow with `packets` packets at time zero.
    pub(crate) fn burst(weight: u32, len: u32, packets: usize) -> Self {
        let config = FlowConfig { weight, max_packet_len: len.max(FlowConfig::MIN_MAX_PACKET_LEN) };
        Self { config, lengths: Lengths::Fixed(len), arrivals: vec![0; packets], refill: None }
    }

    pub(crate) fn longest(&self) -> u32 {
        match &self.lengths {
            Lengths::Fixed(len) | Lengths::Alternating(_, len) | Lengths::Uniform(_, len) => *len,
            Lengths::Listed(lens) => lens.iter().copied().max().unwrap_or(0),
        }
    }
}

/// Flows, numbered from 0, and what they send.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    /// What it is, for failures and tables.
    pub(crate) name: &'static str,
    pub(crate) seed: u64,
    pub(crate) sources: Vec<Source>,
}

/// What came of a workload.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    /// Flows in the order of service.
    pub(crate) order: Vec<u32>,
    /// Largest B-WFI (Eq. 7) of each flow in bytes, by `roundelay-metrics`.
    pub(crate) b_wfi: Vec<f64>,
    /// The same from its definition, in exact integers, the rest of a packet on the link counted against a flow that becomes backlogged.
    pub(crate) b_wfi_by_bit: Vec<f64>,
    /// Largest T-WFI (Eq. 11) of each flow in seconds; minus infinity if no packet of it left.
    pub(crate) t_wfi: Vec<f64>,
    /// Bytes served of each flow.
    pub(crate) served: Vec<u64>,
}

impl Outcome {
    /// Bytes served.
    pub(crate) fn total(&self) -> u64 {
        self.served.iter().sum()
    }
}

/// Measured over promised: the largest of all flows. Zero where nothing is promised.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ratios {
    pub(crate) b_wfi: f64,
    pub(crate) b_wfi_by_bit: f64,
    pub(crate) t_wfi: f64,
}

impl Ratios {
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            b_wfi: self.b_wfi.max(other.b_wfi),
            b_wfi_by_bit: self.b_wfi_by_bit.max(other.b_wfi_by_bit),
            t_wfi: self.t_wfi.max(other.t_wfi),
        }
    }
}

impl Workload {
    /// A workload of any kind.
    pub(crate) fn random(seed: u64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let kind = KINDS[random.random_range(0..KINDS.len())];
        kind(seed, &mut random)
    }

    pub(crate) fn total_weight(&self) -> u64 {
        self.sources.iter().map(|source| u64::from(source.config.weight)).sum()
    }

    /// What a flow's bounds are made of. Longest packets are those that are sent, which is less than what is allowed.
    pub(crate) fn share(&self, flow: usize) -> Share {
        Share {
            weight: self.sources[flow].config.weight,
            total_weight: self.total_weight(),
            least_weight: self.sources.iter().map(|source| source.config.weight).min().unwrap_or(1),
            flows: self.sources.len() as u64,
            max_packet_len: self.sources[flow].config.max_packet_len,
            link_max_packet_len: self.sources.iter().map(Source::longest).max().unwrap_or(0),
            rate: rate(),
        }
    }

    /// What a discipline promises a flow.
    pub(crate) fn guarantees<D: Discipline>(&self, discipline: &D, flow: usize) -> Guarantees {
        discipline.guarantees(&self.share(flow))
    }

    /// How close an outcome came to what a discipline promises. `rounding` is the part of the bytes served that fixed-point arithmetic may
    /// add to each bound.
    pub(crate) fn ratios<D: Discipline>(&self, promised_by: &D, outcome: &Outcome, rounding: f64) -> Ratios {
        let slack = rounding * outcome.total() as f64;
        let of_flow = |flow| {
            let Guarantees { b_wfi, t_wfi, .. } = self.guarantees(promised_by, flow);
            let bytes = b_wfi.map_or(f64::INFINITY, |bound| bound.value as f64 + slack);
            let seconds = t_wfi.map_or(f64::INFINITY, |bound| bound.value.as_secs_f64() + slack * 8.0 / RATE as f64);
            let [b_wfi, by_bit] = [outcome.b_wfi[flow], outcome.b_wfi_by_bit[flow]];
            Ratios { b_wfi: b_wfi / bytes, b_wfi_by_bit: by_bit / bytes, t_wfi: (outcome.t_wfi[flow] / seconds).max(0.0) }
        };
        (0..self.sources.len()).map(of_flow).fold(Ratios::default(), Ratios::max)
    }

    /// A scheduler with all flows set.
    pub(crate) fn build<D: Discipline>(&self, discipline: &D) -> D::Scheduler<Stamp> {
        let mut scheduler = discipline.build(self.seed).expect("a legal configuration");
        for (flow, source) in self.sources.iter().enumerate() {
            scheduler.set_flow(FlowId(flow as u32), source.config).expect("a legal flow");
        }
        scheduler
    }

    /// Drives a discipline through it until nothing waits.
    pub(crate) fn run<D: Discipline>(&self, discipline: &D) -> Outcome {
        self.drive(self.build(discipline))
    }

    /// Drives a scheduler through it, its flows already set.
    pub(crate) fn drive<S: Scheduler<Stamp>>(&self, scheduler: S) -> Outcome {
        let mut port = Port::new(scheduler, Limit::UNBOUNDED, rate());
        let mut meter = Meter::new(self);
        let mut arrivals = Arrivals::of(self);
        loop {
            let pick = port.next_event();
            if let Some((now, flow)) = arrivals.take_until(pick) {
                let len = arrivals.next_length(self, flow);
                meter.complete_until(now);
                let packet = Packet::new(FlowId(flow as u32), len, meter.arrive(now, flow, len));
                port.arrive(now, packet, &mut meter);
            } else if let Some(pick) = pick {
                port.advance(Instant::from_picos(pick.as_picos() + 1), &mut meter);
                while let Some((flow, start)) = meter.fresh.pop_front() {
                    arrivals.served(self, flow, start, meter.waiting[flow]);
                }
            } else {
                return meter.finish();
            }
        }
    }
}

fn rate() -> Rate {
    Rate::from_bits_per_second(RATE).expect("not zero")
}

/// Arrivals to come.
struct Arrivals {
    /// Instant, flow; sorted, the next one last.
    listed: Vec<(Instant, usize)>,
    /// From refills.
    answers: Vec<(Instant, usize)>,
    sent: Vec<usize>,
    refilled: Vec<u64>,
    random: Pcg64,
}

impl Arrivals {
    fn of(workload: &Workload) -> Self {
        let of_source = |(flow, source): (usize, &Source)| {
            source.arrivals.iter().map(move |nanos| (Instant::from_nanos(*nanos), flow)).collect::<Vec<_>>()
        };
        let mut listed: Vec<_> = workload.sources.iter().enumerate().flat_map(of_source).collect();
        listed.sort_by_key(|(at, _)| *at);
        listed.reverse();
        let flows = workload.sources.len();
        Self { listed, answers: Vec::new(), sent: vec![0; flows], refilled: vec![0; flows], random: Pcg64::seed_from_u64(!workload.seed) }
    }

    /// The next arrival, if it comes before the link picks or as it does.
    fn take_until(&mut self, pick: Option<Instant>) -> Option<(Instant, usize)> {
        let answer = (0..self.answers.len()).min_by_key(|index| self.answers[*index].0);
        let answer_at = answer.map(|index| self.answers[index].0);
        let at = [self.listed.last().map(|(at, _)| *at), answer_at].into_iter().flatten().min()?;
        if pick.is_some_and(|pick| pick < at) {
            return None;
        }
        match answer {
            Some(index) if answer_at == Some(at) => Some(self.answers.remove(index)),
            _ => self.listed.pop(),
        }
    }

    fn next_length(&mut self, workload: &Workload, flow: usize) -> u32 {
        self.sent[flow] += 1;
        workload.sources[flow].lengths.of(self.sent[flow] - 1, &mut self.random)
    }

    fn served(&mut self, workload: &Workload, flow: usize, start: Instant, left: u64) {
        let Some(refill) = workload.sources[flow].refill else { return };
        if left > refill.low || self.answers.iter().any(|(_, other)| *other == flow) {
            return;
        }
        let packets = refill.burst.min(refill.packets - self.refilled[flow]);
        self.refilled[flow] += packets;
        let at = Instant::from_picos(start.as_picos() + refill.after * NANO);
        self.answers.extend((0..packets).map(|_| (at, flow)));
    }
}

/// Measures.
struct Meter {
    bits: BitWfi,
    time: TimeWfi,
    exact: Lags,
    waiting: Vec<u64>,
    /// Flows served that their sources have not heard of.
    fresh: VecDeque<(usize, Instant)>,
    on_link: VecDeque<(Instant, FlowId, Stamp)>,
    outcome: Outcome,
}

/// B-WFI by its definition, in exact integers: the largest rise of (due - got) over a backlogged period. It walks all flows for each packet.
#[derive(Debug, Clone)]
pub(crate) struct Lags {
    weights: Vec<u64>,
    total_weight: u64,
    lags: Vec<Lag>,
}

/// In bytes times the sum of weights.
#[derive(Debug, Clone, Copy, Default)]
struct Lag {
    is_backlogged: bool,
    now: i128,
    worst: i128,
}

impl Lags {
    pub(crate) fn new(weights: &[u64]) -> Self {
        Self { weights: weights.to_vec(), total_weight: weights.iter().sum(), lags: vec![Lag::default(); weights.len()] }
    }

    /// A flow becomes backlogged, `rest` bytes before the end of another's packet on the link.
    pub(crate) fn becomes_backlogged(&mut self, flow: usize, rest: u64) {
        let lag = &mut self.lags[flow];
        lag.is_backlogged = true;
        lag.now = i128::from(self.weights[flow] * rest);
    }

    /// A packet of `len` bytes of a flow is sent; `is_last` if the flow has no other one.
    pub(crate) fn serve(&mut self, served: usize, len: u64, is_last: bool) {
        for (flow, lag) in self.lags.iter_mut().enumerate().filter(|(_, lag)| lag.is_backlogged) {
            // Before its own packet a flow is furthest behind, and after it least.
            lag.worst = lag.worst.max(lag.now);
            let got = if flow == served { self.total_weight * len } else { 0 };
            lag.now = (lag.now + i128::from(self.weights[flow] * len) - i128::from(got)).max(0);
        }
        self.lags[served].is_backlogged = !is_last;
    }

    /// In bytes.
    pub(crate) fn worst(&self, flow: usize) -> f64 {
        self.lags[flow].worst as f64 / self.total_weight as f64
    }
}

impl Meter {
    fn new(workload: &Workload) -> Self {
        let flows = workload.sources.len();
        let (mut bits, mut time) = (BitWfi::default(), TimeWfi::new(rate()));
        for (flow, source) in workload.sources.iter().enumerate() {
            bits.set_weight(FlowId(flow as u32), source.config.weight);
            time.set_weight(Instant::ZERO, FlowId(flow as u32), source.config.weight);
        }
        let weights: Vec<u64> = workload.sources.iter().map(|source| source.config.weight.into()).collect();
        Self {
            bits,
            time,
            exact: Lags::new(&weights),
            waiting: vec![0; flows],
            fresh: VecDeque::new(),
            on_link: VecDeque::new(),
            outcome: Outcome { served: vec![0; flows], ..Outcome::default() },
        }
    }

    fn arrive(&mut self, now: Instant, flow: usize, len: u32) -> Stamp {
        if self.waiting[flow] == 0 {
            let others = self.on_link.back().filter(|(_, on_link, _)| on_link.index() != flow);
            let rest = others.map_or(0, |(end, ..)| end.since(now).as_picos().div_ceil(NANO));
            self.exact.becomes_backlogged(flow, rest);
        }
        self.waiting[flow] += 1;
        self.bits.arrive(FlowId(flow as u32), len);
        self.time.arrive(now, FlowId(flow as u32), len)
    }

    fn complete_until(&mut self, now: Instant) {
        while let Some((end, flow, stamp)) = self.on_link.front().copied().filter(|(end, ..)| *end <= now) {
            self.on_link.pop_front();
            self.time.complete(end, flow, stamp);
        }
    }

    fn finish(mut self) -> Outcome {
        self.complete_until(Instant::MAX);
        assert!(self.waiting.iter().all(|packets| *packets == 0), "each packet that arrived has left");
        let flows = 0..self.waiting.len() as u32;
        self.outcome.b_wfi = flows.clone().map(|flow| self.bits.worst(FlowId(flow))).collect();
        self.outcome.t_wfi = flows.map(|flow| self.time.worst(FlowId(flow)).unwrap_or(f64::NEG_INFINITY)).collect();
        self.outcome.b_wfi_by_bit = (0..self.waiting.len()).map(|flow| self.exact.worst(flow)).collect();
        self.outcome
    }
}

impl Observer<Stamp> for Meter {
    fn sent(&mut self, packet: Packet<Stamp>, start: Instant, end: Instant) {
        let flow = packet.flow.index();
        self.complete_until(start);
        self.waiting[flow] -= 1;
        self.exact.serve(flow, packet.len.into(), self.waiting[flow] == 0);
        self.bits.serve(packet.flow, packet.len);
        self.on_link.push_back((end, packet.flow, packet.payload));
        self.fresh.push_back((flow, start));
        self.outcome.order.push(packet.flow.0);
        self.outcome.served[flow] += u64::from(packet.len);
    }

    fn dropped(&mut self, packet: Packet<Stamp>, _now: Instant, reason: DropReason) {
        panic!("a packet of {:?} with {} bytes was dropped: {reason:?}", packet.flow, packet.len);
    }
}

/// The kinds of random workloads.
const KINDS: [fn(u64, &mut Pcg64) -> Workload; 7] = [mix, on_off, saturated, synchronized, single_packets, returning, short_and_long];

/// Any weight, small ones more often.
fn weight(random: &mut Pcg64) -> u32 {
    (1 << random.random_range(0..=10)).min(random.random_range(1..=FlowConfig::MAX_WEIGHT))
}

/// Any longest packet, short ones more often, and what is set for it: the same, more, or the least that can be set.
fn longest(random: &mut Pcg64) -> (u32, u32) {
    let octave = random.random_range(0..=10);
    let len = random.random_range(64..=64 << octave);
    let least = len.max(FlowConfig::MIN_MAX_PACKET_LEN);
    let allowed = if random.random_bool(0.7) { least } else { random.random_range(least..=FlowConfig::MAX_PACKET_LEN) };
    (len, allowed)
}

fn source(random: &mut Pcg64) -> Source {
    let (len, max_packet_len) = longest(random);
    let lengths = match random.random_range(0..4) {
        0 => Lengths::Alternating(64.min(len), len),
        1 => Lengths::Uniform(1, len),
        _ => Lengths::Fixed(len),
    };
    Source { config: FlowConfig { weight: weight(random), max_packet_len }, lengths, arrivals: Vec::new(), refill: None }
}

/// Arrivals with exponential gaps of this mean.
fn exponential(random: &mut Pcg64, packets: usize, mean: f64) -> Vec<u64> {
    let mut at = 0.0;
    let mut next = || {
        at -= mean * (1.0 - random.random::<f64>()).ln();
        at as u64
    };
    (0..packets).map(|_| next()).collect()
}

/// Poisson arrivals, the link loaded from a half to twice its rate.
fn mix(seed: u64, random: &mut Pcg64) -> Workload {
    let flows = random.random_range(2..=12);
    let load = random.random_range(0.5..2.0);
    let sources = (0..flows).map(|_| {
        let mut source = source(random);
        let mean = f64::from(source.longest()) * f64::from(flows) / load;
        source.arrivals = exponential(random, 120 / flows as usize, mean);
        source
    });
    Workload { name: "mix", seed, sources: sources.collect() }
}

/// Bursts with silence between them.
fn on_off(seed: u64, random: &mut Pcg64) -> Workload {
    let flows = random.random_range(2..=8);
    let sources = (0..flows).map(|_| {
        let mut source = source(random);
        let burst = random.random_range(1..=8);
        let gap = u64::from(source.longest()) * random.random_range(1..=40);
        let phase = random.random_range(0..=gap);
        source.arrivals = (0..100 / flows).map(|packet| phase + packet / burst * gap).collect();
        source
    });
    Workload { name: "on_off", seed, sources: sources.collect() }
}

/// Every flow keeps its backlog between two levels.
fn saturated(seed: u64, random: &mut Pcg64) -> Workload {
    let flows = random.random_range(2..=10);
    let sources = (0..flows).map(|_| {
        let mut source = source(random);
        let (low, burst) = (random.random_range(0..=3), random.random_range(1..=5));
        source.arrivals = vec![0; (low + burst) as usize];
        source.refill = Some(Refill { low, burst, after: 0, packets: 80 / flows });
        source
    });
    Workload { name: "saturated", seed, sources: sources.collect() }
}

/// Bursts of equal light flows at one instant, beside a few heavy ones that never run dry: V overtakes finish times.
fn synchronized(seed: u64, random: &mut Pcg64) -> Workload {
    let (light, heavy) = (random.random_range(2..=24), random.random_range(1..=3));
    let len = random.random_range(64..=1500);
    let bursts: Vec<u64> = (0..random.random_range(1..=3)).map(|_| random.random_range(0..60_000)).collect();
    let mut sources: Vec<_> = (0..light).map(|_| Source { arrivals: bursts.clone(), ..Source::burst(1, len, 0) }).collect();
    sources.iter_mut().for_each(|source| source.arrivals.sort_unstable());
    for _ in 0..heavy {
        let mut source = Source::burst(1 << random.random_range(2..=10), random.random_range(64..=1500), 2);
        source.refill = Some(Refill { low: 1, burst: 1, after: 0, packets: 40 });
        sources.push(source);
    }
    Workload { name: "synchronized", seed, sources }
}

/// Each packet is a flow of its own.
fn single_packets(seed: u64, random: &mut Pcg64) -> Workload {
    let sources = (0..60).map(|_| {
        let mut source = source(random);
        source.arrivals = vec![random.random_range(0..100_000)];
        source
    });
    Workload { name: "single_packets", seed, sources: sources.collect() }
}

/// Flows with one packet that come back at once, or a little later, when it was served.
fn returning(seed: u64, random: &mut Pcg64) -> Workload {
    let flows = random.random_range(2..=10);
    let sources = (0..flows).map(|_| {
        let mut source = source(random);
        let after = [0, 1, u64::from(source.longest()), random.random_range(0..20_000)][random.random_range(0..4)];
        source.arrivals = vec![0];
        source.refill = Some(Refill { low: 0, burst: 1, after, packets: 100 / flows });
        source
    });
    Workload { name: "returning", seed, sources: sources.collect() }
}

/// The shortest and the longest packets in turn.
fn short_and_long(seed: u64, random: &mut Pcg64) -> Workload {
    let flows = random.random_range(2..=6);
    let sources = (0..flows).map(|_| {
        let mut source = source(random);
        source.lengths = Lengths::Alternating(1, source.config.max_packet_len);
        source.arrivals = exponential(random, 80 / flows as usize, 3_000.0);
        source
    });
    Workload { name: "short_and_long", seed, sources: sources.collect() }
}

/// Without packets on the link when a flow becomes backlogged both measures of B-WFI are the same; otherwise they differ by phi L at most.
#[test]
fn both_measures_of_b_wfi_agree() {
    for seed in 0..300 {
        let workload = Workload::random(seed);
        let outcome = workload.run(&roundelay::schedulers::qfq::Config);
        for flow in 0..workload.sources.len() {
            let share = workload.share(flow);
            let difference = outcome.b_wfi_by_bit[flow] - outcome.b_wfi[flow];
            let most = if workload.name == "saturated" { 0 } else { share.of(share.link_max_packet_len.into()) };
            assert!((-1e-6..=most as f64 + 1e-6).contains(&difference), "seed {seed}, flow {flow}: they differ by {difference}");
        }
    }
}
